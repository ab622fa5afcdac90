/* SPDX-License-Identifier: MIT */
/* Messages of a worker to its supervisor: fixed-size structs over a pipe. Both ends are the same executable, so a
 * message is the bytes of a struct. A header with a magic word detects anything else. The supervisor answers with
 * single bytes on a second pipe. The end of that pipe, when the supervisor has died, means stop, too. */
#ifndef GNN_RUN_WIRE_H
#define GNN_RUN_WIRE_H

#include "harness/base/histogram.h"
#include "harness/base/reading.h"
#include "harness/base/sizes.h"
#include "harness/oocgnn.h"
#include "harness/system/intent.h"
#include "harness/system/system.h"

/* File descriptors of the worker's pipes. */
enum { GNN_WORKER_OUT_FD = 3, GNN_WORKER_CONTROL_FD = 4 };

enum {
    GNN_WIRE_MAGIC = 0x6f6f6367,
    GNN_WIRE_BYTES_MAX = 65536, /* room of an empty pipe */
};

enum gnn_wire_type {
    GNN_WIRE_OPENED,
    GNN_WIRE_PROGRESS,
    GNN_WIRE_EPOCH_BEGIN,
    GNN_WIRE_EPOCH_END,
    GNN_WIRE_ACCURACY,
    GNN_WIRE_SERIES,
    GNN_WIRE_DONE,
    GNN_WIRE_RANK_LOST,
    GNN_WIRE_ERROR
};

/* GO answers EPOCH_BEGIN and EPOCH_END. The worker pauses until it arrives. What the supervisor reads of the group and
 * of the page cache thus belongs to the epoch alone, without evaluation. Any other byte means stop. */
enum gnn_wire_command { GNN_COMMAND_INTERRUPT = 'i', GNN_COMMAND_TIME = 't', GNN_COMMAND_GO = 'g' };

enum { GNN_WIRE_RULES_MAX = 8 };

/* Parameters at 0 that a rule of the system replaced by a number. */
struct gnn_wire_rules {
    uint32_t count;
    struct {
        char name[GNN_NAME_MAX];
        uint32_t value;
    } of[GNN_WIRE_RULES_MAX];
};

struct gnn_wire_opened {
    struct gnn_dataset dataset; /* its pointers are NULL */
    struct gnn_intent intent;
    char profile_digest[40];  /* "" without a profile */
    char costs_digest[40];    /* "" if costs are ideal */
    uint64_t readahead_bytes; /* of a modelled machine's device; GNN_UNKNOWN: measured world */
    uint64_t plan_fixed_bytes, plan_batches_bytes;
    struct gnn_wire_rules rules;
    uint64_t parameters;    /* number of the model's parameters */
    uint64_t open_ns;       /* time of the system's open: calibration, preprocessing */
    struct gnn_gpu_identity gpu; /* of rank 0 */
    bool flushes_denormals; /* harness/base/denormals.h: for the worker and so for the threads it started */
};

struct gnn_wire_progress {
    uint64_t epoch, batches_done, batches_total;
    double loss;
};

/* --batches N: estimated time of the whole epoch (harness/run/worker/extrapolate.h). */
struct gnn_extrapolation {
    uint64_t full_ns;         /* the warm-up as measured, all other mini-batches at the mean */
    uint64_t low_ns, high_ns; /* 95 % interval of the mean (Student's t over the groups), for the same sum; GNN_UNKNOWN:
                               * not settled */
    uint32_t warmup, used;    /* numbers of mini-batches */
    uint32_t groups;          /* independent groups of mini-batches, or phases; 0: fewer than four groups */
    bool settled;             /* false: too few groups, or the mini-batches get faster or slower */
};

/* What the run has used so far. On a modelled machine all values are the model's, group included. In the measured world
 * the group is unknown here, because the supervisor reads it. */
struct gnn_machine_usage {
    bool modelled_machine;
    uint64_t cpu_ns; /* CPU time of the whole process */
    uint64_t major_faults;
    uint64_t page_hits, page_misses; /* touched pages that were cached, and that were not; GNN_UNKNOWN: not counted */
    struct gnn_group_reading group;
    struct gnn_sizes device_reads; /* on a modelled machine: sizes of the device's read requests */
};

/* The start of an epoch. All but the number is 0 after the first: it is what came before that, all ranks together. */
struct gnn_wire_begin {
    uint64_t epoch;
    uint64_t clock_ns;              /* the world's clock */
    struct gnn_machine_usage usage; /* CPU time of all ranks */
    uint64_t requested_bytes, requested_ios, requested_write_bytes, requested_write_ios;
    uint64_t buffered_write_bytes; /* explicit writes into the page cache, and writes through mappings */
};

struct gnn_wire_epoch {
    uint64_t epoch;
    uint64_t wall_ns;
    struct gnn_machine_usage before, after;
    bool has_device;                /* the back-end has a device or models one */
    struct gnn_device_times device; /* times of the epoch */
    bool has_values;                /* false: compute was modelled, there is no loss */
    bool extrapolated;
    bool trained_otherwise;         /* digests of the spots, as sampled and as trained, differ */
    uint64_t spots;                 /* mini-batches whose digest was compared (gnn_is_spot) */
    struct gnn_extrapolation full;  /* --batches: the whole epoch */
    struct gnn_percentiles batches; /* times between ends of training steps of rank 0, the first from the start */
    struct gnn_percentiles reads;   /* durations of reads from storage, all ranks (storage/read_times.h) */
    struct gnn_sizes read_sizes;    /* sizes of these reads */
    uint64_t buffered_write_bytes;  /* explicit writes into the page cache, and writes through mappings, all ranks */
    uint64_t mapped_write_bytes;    /* part of it: writes through mappings */
    struct gnn_epoch_result result; /* names of figures are not valid here: see figure_names */
    char figure_names[GNN_FIGURES_MAX][GNN_NAME_MAX];
};

/* Ranking quality of a split's edges (model/ranking.h); NAN if it is empty. */
struct gnn_link_quality {
    double mrr;                     /* among all nodes except those that make a true edge; or among sampled ones */
    double raw_mrr;                 /* among all nodes; NAN if candidates were sampled */
    double hits_1, hits_3, hits_10; /* as mrr */
    uint64_t queries;               /* two for each edge */
    uint64_t own_first;             /* queries whose own end ranks first as in mrr; GNN_UNKNOWN if candidates were
                                     * sampled */
};

/* Quality of the classification of a split's nodes, in [0, 1]. NAN if the split is empty. */
struct gnn_node_quality {
    double accuracy;
    double roc_auc; /* NAN also unless the dataset has two classes and the split has both */
    double macro_f1;
};

enum { GNN_WIRE_SPLIT = 8 };

struct gnn_wire_accuracy {
    uint64_t epoch;
    struct gnn_node_quality valid, test;
    char valid_split[GNN_WIRE_SPLIT], test_split[GNN_WIRE_SPLIT]; /* names of the evaluated splits; "" for links */
    bool links;                                                   /* the task has link rankings instead: */
    struct gnn_link_quality valid_links, test_links;
};

enum { GNN_WIRE_POINTS = 16 };

/* Intervals of a simulated run's time series, sent at its end. */
struct gnn_wire_series {
    uint32_t count;
    struct gnn_series_point points[GNN_WIRE_POINTS];
};

struct gnn_wire_done {
    uint64_t model_hash; /* over the bits of all parameters */
    uint64_t allocated_peak_bytes;
    uint64_t clock_ns; /* the world's clock at the end */
};

/* One of several workers ended without leaving its group of ranks. The process that noticed kills all of them next. */
struct gnn_wire_rank_lost {
    uint32_t rank;
    int wait_status;
};

struct gnn_wire_message {
    uint32_t magic;
    uint32_t type; /* enum gnn_wire_type */
    union {
        struct gnn_wire_opened opened;
        struct gnn_wire_progress progress;
        struct gnn_wire_begin begin;
        struct gnn_wire_epoch epoch; /* EPOCH_END */
        struct gnn_wire_accuracy accuracy;
        struct gnn_wire_series series;
        struct gnn_wire_done done;
        struct gnn_wire_rank_lost rank_lost;
        struct gnn_err error;
    } as;
};

/* A worker continues to train after it has sent a message: it never waits for the supervisor to read. */
_Static_assert(sizeof(struct gnn_wire_message) <= GNN_WIRE_BYTES_MAX, "a message fits into an empty pipe");
/* Writes the whole message. GNN_EIO: the other end is closed. */
GNN_MUST_CHECK enum gnn_status gnn_wire_send(int fd, const struct gnn_wire_message *message, struct gnn_err *err);

/* Reads one whole message. *end is true at a clean end of file. GNN_ESHORT: the message is incomplete, because the
 * worker was killed. */
GNN_MUST_CHECK enum gnn_status gnn_wire_receive(int fd, struct gnn_wire_message *message, bool *end,
                                                struct gnn_err *err);

#endif

/* SPDX-License-Identifier: MIT */
/* What a worker tells its supervisor: fixed-size messages over a pipe. Both ends are the same executable, so
 * a message is the bytes of a struct; a header with a magic word catches anything else. The supervisor talks
 * back with single bytes on a second pipe, whose end of file (the supervisor died) means stop as well. */
#ifndef GNN_RUN_WIRE_H
#define GNN_RUN_WIRE_H

#include "harness/base/histogram.h"
#include "harness/base/reading.h"
#include "harness/base/sizes.h"
#include "harness/oocgnn.h"
#include "harness/system/intent.h"
#include "harness/system/system.h"

/* The worker finds its pipes at these numbers. */
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

/* GO answers EPOCH_BEGIN and EPOCH_END, at which the worker stands still: what the supervisor reads of the
 * group and of the page cache in between is the epoch's alone, not the evaluation's. Anything else means
 * stop. */
enum gnn_wire_command { GNN_COMMAND_INTERRUPT = 'i', GNN_COMMAND_TIME = 't', GNN_COMMAND_GO = 'g' };

enum { GNN_WIRE_RULES_MAX = 8 };

/* Parameters at 0 that a rule of the system gave a number. */
struct gnn_wire_rules {
    uint32_t count;
    struct {
        char name[GNN_NAME_MAX];
        uint32_t value;
    } of[GNN_WIRE_RULES_MAX];
};

struct gnn_wire_opened {
    struct gnn_dataset dataset; /* its pointers are the worker's, and NULL here */
    struct gnn_intent intent;
    char profile_digest[40];  /* "" without a profile */
    char costs_digest[40];    /* "" where costs are ideal */
    uint64_t readahead_bytes; /* of a modelled machine's device; GNN_UNKNOWN: the machine is this one */
    uint64_t plan_fixed_bytes, plan_batches_bytes;
    struct gnn_wire_rules rules;
    uint64_t parameters;    /* of the model */
    uint64_t open_ns;       /* the system's open: calibration, preprocessing */
    bool flushes_denormals; /* harness/base/denormals.h: the worker, and so the threads it started */
};

struct gnn_wire_progress {
    uint64_t epoch, batches_done, batches_total;
    double loss;
};

/* --batches N: what the whole epoch would take (harness/run/worker/extrapolate.h). */
struct gnn_extrapolation {
    uint64_t full_ns;         /* warm-up as it was, all others at the mean */
    uint64_t low_ns, high_ns; /* 95 % interval of the mean (Student's t over the groups), for the same sum */
    uint32_t warmup, used;    /* mini-batches */
};

/* What the run has used so far. Of a modelled machine everything is the model's, and the group too, which in the
 * measured world is read from outside (unknown here). */
struct gnn_machine_usage {
    bool modelled_machine;
    uint64_t cpu_ns; /* of the whole process */
    uint64_t major_faults;
    uint64_t page_hits, page_misses; /* touched pages that were cached, and that were not; GNN_UNKNOWN: not counted */
    struct gnn_group_reading group;
    struct gnn_sizes device_reads; /* of a modelled machine: how large the requests were that its device read */
};

struct gnn_wire_epoch {
    uint64_t epoch;
    uint64_t wall_ns;
    struct gnn_machine_usage before, after;
    bool has_device;                /* the back-end has a device, or models one */
    struct gnn_device_times device; /* of the epoch */
    bool has_values;                /* false: compute was modelled, there is no loss */
    bool extrapolated;
    bool trained_otherwise;         /* the digests of the spots, sampled and trained, differ */
    uint64_t spots;                 /* mini-batches whose digest was compared (gnn_is_spot) */
    struct gnn_extrapolation full;  /* --batches: the whole epoch */
    struct gnn_percentiles batches; /* from one training step's end to the next, the first from the start; of rank 0 */
    struct gnn_percentiles reads;   /* how long reads of storage took, of all ranks (storage/read_times.h) */
    struct gnn_sizes read_sizes;    /* and how large they were */
    struct gnn_epoch_result result; /* names of figures are not valid here: see figure_names */
    char figure_names[GNN_FIGURES_MAX][GNN_NAME_MAX];
};

/* How well a split's edges ranked (model/ranking.h); NAN where it is empty. */
struct gnn_link_quality {
    double mrr;                     /* among all nodes without those that make a true edge; or among sampled ones */
    double raw_mrr;                 /* with them; NAN where candidates were sampled */
    double hits_1, hits_3, hits_10; /* as mrr */
};

struct gnn_wire_accuracy {
    uint64_t epoch;
    double valid, test; /* shares in [0, 1]; NAN where the split is empty */
    bool links;         /* the task has ranks instead: */
    struct gnn_link_quality valid_links, test_links;
};

enum { GNN_WIRE_POINTS = 16 };

/* Intervals of a simulated run's time series, told at its end. */
struct gnn_wire_series {
    uint32_t count;
    struct gnn_series_point points[GNN_WIRE_POINTS];
};

struct gnn_wire_done {
    uint64_t model_hash; /* over every parameter's bits */
    uint64_t allocated_peak_bytes;
    uint64_t clock_ns; /* the world's own, at the end */
};

/* One of several workers ended without a word; the one that noticed kills them all next. */
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
        struct gnn_wire_epoch epoch; /* EPOCH_BEGIN fills epoch.epoch only */
        struct gnn_wire_accuracy accuracy;
        struct gnn_wire_series series;
        struct gnn_wire_done done;
        struct gnn_wire_rank_lost rank_lost;
        struct gnn_err error;
    } as;
};

/* A worker that has sent one message goes on training: it never waits for the supervisor to read. */
_Static_assert(sizeof(struct gnn_wire_message) <= GNN_WIRE_BYTES_MAX, "a message fits into an empty pipe");
/* Writes the whole message; GNN_EIO if the other end is gone. */
GNN_MUST_CHECK enum gnn_status gnn_wire_send(int fd, const struct gnn_wire_message *message, struct gnn_err *err);

/* Reads one whole message. *end is true at a clean end of file; a torn message is GNN_ESHORT (the worker was
 * killed). */
GNN_MUST_CHECK enum gnn_status gnn_wire_receive(int fd, struct gnn_wire_message *message, bool *end,
                                                struct gnn_err *err);

#endif

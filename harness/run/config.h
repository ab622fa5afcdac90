/* SPDX-License-Identifier: MIT */
/* The configuration of a run after defaults, preset and command line. One option table serves the parser, the help, the
 * record, the job files and the arguments that the supervisor gives its worker. */
#ifndef GNN_RUN_CONFIG_H
#define GNN_RUN_CONFIG_H

#include "harness/base/id_width.h"
#include "harness/base/option.h"
#include "harness/oocgnn.h"
#include "harness/system/system.h"

enum { GNN_SETS_MAX = 48, GNN_SET_MAX = 128 };

enum gnn_world_kind { GNN_WORLD_MEASURED, GNN_WORLD_SIMULATED };
/* cgroup: the kernel, page cache included. program: the world's own allocations alone. */
enum gnn_cap_kind { GNN_CAP_CGROUP, GNN_CAP_PROGRAM };
enum gnn_evaluate { GNN_EVALUATE_NEVER, GNN_EVALUATE_LAST, GNN_EVALUATE_EACH };

struct gnn_run_config {
    char system[GNN_TEXT_MAX];
    char dataset[GNN_TEXT_MAX]; /* a registry name, or a directory (has a '/') */
    char data_dir[GNN_TEXT_MAX];
    char preset[GNN_TEXT_MAX];
    uint32_t scale_divisor;
    uint32_t dim; /* 0: the only one prepared */
    enum gnn_id_width id_width;
    char generate[GNN_TEXT_MAX]; /* options of the generator for a computed graph, "name=value,..." */

    enum gnn_task_kind task;
    enum gnn_decoder decoder; /* from here to candidates: of GNN_TASK_LINK */
    enum gnn_optimizer optimizer;
    bool encoder; /* vectors are scored behind the model */
    double embedding_lr;
    uint32_t negatives, chunks;
    double degree_share;
    uint32_t candidates; /* that an edge is ranked among; 0: all nodes */

    enum gnn_model_kind model;
    uint32_t hidden, heads;
    bool gat_width_total;
    enum gnn_gcn_norm gcn_norm;
    double dropout, lr, weight_decay;

    struct gnn_u32_list fanout;
    uint32_t batch_size, epochs, max_batches;
    uint32_t batches; /* train so many after the warm-up and extrapolate; 0 = whole epochs */
    uint32_t warmup;  /* mini-batches before them */
    bool sample_only, floyd_biased;
    uint32_t workers;
    uint32_t segments; /* 0: as many as workers */
    uint64_t seed;

    enum gnn_world_kind world;
    char profile[GNN_TEXT_MAX];
    char costs[GNN_TEXT_MAX]; /* "ideal", or a file of what released programs spend besides */
    char compute[GNN_TEXT_MAX];
    char fault[GNN_TEXT_MAX];     /* harness/run/fault_option.h; "" = none */
    enum gnn_precision precision; /* of a GPU's products */
    bool step_graphs;             /* a GPU's training step is launched as one graph */
    uint32_t compute_threads;
    enum gnn_ring_engine io_engine;

    uint64_t memory_bytes; /* the cap; 0 = none */
    uint64_t swap_bytes;
    enum gnn_cap_kind cap_kind;
    uint64_t device_bps, device_iops;
    char device_readahead[GNN_TEXT_MAX]; /* gnn_run_readahead; "" = the device's own */
    bool cold;
    uint64_t time_limit_ns; /* 0 = none */
    enum gnn_evaluate evaluate;
    uint64_t interval_ns; /* of the probes */
    char db[GNN_TEXT_MAX];
    char trace_loss[GNN_TEXT_MAX]; /* file for one line a step, or "" */
    bool bound;                    /* count the bound behind the run */
    bool json, details, quiet;

    uint32_t set_count;
    char sets[GNN_SETS_MAX][GNN_SET_MAX]; /* "system.key=value" */
};

/* ---- options.c ---- */

extern const struct gnn_option gnn_run_options[]; /* every field above except sets */
extern const char *const gnn_run_option_groups[];  /* the options' groups in the order of help, NULL behind */

void gnn_run_config_defaults(struct gnn_run_config *config);

/* Appends "system.key=value"; GNN_EUSAGE when malformed or too many. gnn_system_configure checks the key. */
GNN_MUST_CHECK enum gnn_status gnn_run_config_set(struct gnn_run_config *config, const char *text, struct gnn_err *err);

/* Whether --compute is a model, so that there are no values: loss and accuracy stay unknown. */
bool gnn_compute_is_modelled(const struct gnn_run_config *config);
/* Whether --compute is "cuda" or "cuda:N"; *device: N, 0 without. */
bool gnn_compute_is_cuda(const struct gnn_run_config *config, uint32_t *device);

/* Segments of the training nodes: --segments, or one a worker. */
uint32_t gnn_run_segments(const struct gnn_run_config *config);

/* Width of features or vectors that the dataset is opened with: --dim, or what stands for it; 0: the only one there. */
uint32_t gnn_run_dim(const struct gnn_run_config *config);

/* Whether --costs adds nothing to those of the profile. */
bool gnn_run_costs_are_ideal(const struct gnn_run_config *config);

/* Whether --device-readahead was given; *bytes: what, UINT64_MAX where it is no size. */
bool gnn_run_readahead(const struct gnn_run_config *config, uint64_t *bytes);

/* Mini-batches an epoch trains at most; 0 = all. */
uint32_t gnn_run_max_batches(const struct gnn_run_config *config);

/* Whether the run's graph is computed (simulated world, a registry name) instead of read from a prepared dataset. */
bool gnn_run_dataset_is_computed(const struct gnn_run_config *config);

/* Writes the dataset's directory: config->dataset itself if it names a directory, else data_dir/NAME-1_K. */
void gnn_run_dataset_dir(const struct gnn_run_config *config, char *path, size_t path_bytes);

/* ---- checks.c ---- */

/* Checks options against each other, the system's parameters, and what this build has; changes nothing. GNN_EUSAGE,
 * GNN_ENOTSUP with the option and what to say instead. */
GNN_MUST_CHECK enum gnn_status gnn_run_config_check(const struct gnn_run_config *config, struct gnn_err *err);

/* ---- system.c ---- */

/* Finds a system by name; GNN_EUSAGE names near misses and what this build has. */
GNN_MUST_CHECK enum gnn_status gnn_system_find(const char *name, const struct gnn_system **out, struct gnn_err *err);

/* Makes the system's config from its defaults and this run's sets; free() it. */
GNN_MUST_CHECK enum gnn_status gnn_system_configure(const struct gnn_system *system,
                                                    const struct gnn_run_config *config, void **out,
                                                    struct gnn_err *err);

#endif

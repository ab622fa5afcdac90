/* SPDX-License-Identifier: MIT */
/* The configuration of a run after defaults, preset and command line. One option table serves the parser, the help, the
 * record, the job files and the arguments that the supervisor passes to its worker. */
#ifndef GNN_RUN_CONFIG_H
#define GNN_RUN_CONFIG_H

#include "harness/base/half.h"
#include "harness/base/id_width.h"
#include "harness/base/option.h"
#include "harness/oocgnn.h"
#include "harness/system/system.h"

enum { GNN_SETS_MAX = 48, GNN_SET_MAX = 128 };

enum gnn_world_kind { GNN_WORLD_MEASURED, GNN_WORLD_SIMULATED };
/* What enforces the memory limit. cgroup: the kernel, page cache included. program: only the world's own allocations
 * are limited. */
enum gnn_cap_kind { GNN_CAP_CGROUP, GNN_CAP_PROGRAM };
enum gnn_evaluate { GNN_EVALUATE_NEVER, GNN_EVALUATE_LAST, GNN_EVALUATE_EACH };

struct gnn_run_config {
    char system[GNN_TEXT_MAX];  /* a name, or the path of a shared object (has a '/') */
    char dataset[GNN_TEXT_MAX]; /* a registry name, or a directory (has a '/') */
    char data_dir[GNN_TEXT_MAX];
    char preset[GNN_TEXT_MAX];
    uint32_t scale_divisor;
    uint32_t dim; /* 0: the only one prepared */
    enum gnn_id_width id_width;
    enum gnn_feature_type feature_type;
    char generate[GNN_TEXT_MAX]; /* generator options for a computed graph, "name=value,..." */

    enum gnn_task_kind task;
    enum gnn_decoder decoder; /* up to candidates: only for GNN_TASK_LINK */
    enum gnn_relation_start relation_start;
    enum gnn_optimizer optimizer;
    bool encoder; /* vectors are the output of the model */
    double embedding_lr;
    double n3;
    enum gnn_negative_set negative_set;
    uint32_t negatives, chunks;
    double degree_share;
    uint32_t candidates; /* nodes that an edge is ranked among; 0: all */

    enum gnn_model_kind model;
    uint32_t hidden, heads;
    bool gat_width_total, gcn_maps_sources;
    enum gnn_gcn_norm gcn_norm;
    double dropout, lr, weight_decay;

    struct gnn_u32_list fanout;
    uint32_t batch_size, epochs, max_batches;
    uint32_t batches; /* mini-batches to train after the warm-up, then extrapolate; 0 = whole epochs */
    uint32_t warmup;  /* mini-batches of the warm-up */
    bool sample_only, floyd_biased;
    uint32_t workers;
    uint32_t segments; /* 0: one per worker */
    uint64_t seed;

    enum gnn_world_kind world;
    char profile[GNN_TEXT_MAX];
    char profile_set[GNN_TEXT_MAX]; /* changed parameters, gnn_profile_open_changed; "" = none */
    char costs[GNN_TEXT_MAX];       /* "ideal", or a file with the costs of released programs */
    char compute[GNN_TEXT_MAX];
    char fault[GNN_TEXT_MAX];     /* harness/run/fault_option.h; "" = none */
    enum gnn_precision precision; /* precision of a GPU's products */
    bool step_graphs;             /* launch a GPU's training step as one graph */
    uint32_t compute_threads;
    enum gnn_ring_engine io_engine;

    uint64_t memory_bytes; /* memory limit; 0 = none */
    uint64_t swap_bytes;
    enum gnn_cap_kind cap_kind;
    uint64_t device_bps, device_iops;
    char device_readahead[GNN_TEXT_MAX]; /* gnn_run_readahead; "" = the device's own */
    bool cold;
    uint64_t time_limit_ns; /* 0 = none */
    enum gnn_evaluate evaluate;
    uint64_t interval_ns; /* interval of the probes */
    char db[GNN_TEXT_MAX];
    char trace_loss[GNN_TEXT_MAX]; /* file with one line per step, or "" */
    char trace_io[GNN_TEXT_MAX];   /* file with one line per read or write, or "" */
    char trace_rows[GNN_TEXT_MAX]; /* file with the rows of every mini-batch, or "" */
    bool bound;                    /* compute the minimum reads after the run */
    bool json, details, quiet;

    uint32_t set_count;
    char sets[GNN_SETS_MAX][GNN_SET_MAX]; /* "system.key=value" */
};

/* ---- options.c ---- */

extern const struct gnn_option gnn_run_options[]; /* one for every field above except sets */
extern const char *const gnn_run_option_groups[]; /* groups of options in the order of help; ends with NULL */

/* Sets every option to its default, without sets. */
void gnn_run_config_defaults(struct gnn_run_config *config);

/* Appends "system.key=value". GNN_EUSAGE: it is malformed, or there are too many. gnn_system_configure checks the
 * key. */
GNN_MUST_CHECK enum gnn_status gnn_run_config_set(struct gnn_run_config *config, const char *text, struct gnn_err *err);

/* Appends a list of changes "SECTION.KEY=VALUE,..." to --profile-set. GNN_EUSAGE: the list is too long.
 * gnn_machine_resolve checks the changes. */
GNN_MUST_CHECK enum gnn_status gnn_run_config_change(struct gnn_run_config *config, const char *changes,
                                                     struct gnn_err *err);

/* Returns whether --compute is a model. Nothing is computed then: loss and accuracy stay unknown. */
bool gnn_compute_is_modelled(const struct gnn_run_config *config);
/* Returns whether --compute is "cuda" or "cuda:N"; *device: N, or 0. */
bool gnn_compute_is_cuda(const struct gnn_run_config *config, uint32_t *device);

/* Returns the number of segments of the training nodes: --segments, or one per worker. */
uint32_t gnn_run_segments(const struct gnn_run_config *config);

/* Returns the width of features or vectors that the dataset is opened with: --dim, or the option that replaces it. 0:
 * the only width that is prepared. */
uint32_t gnn_run_dim(const struct gnn_run_config *config);

/* Returns whether --costs adds nothing to the profile's costs. */
bool gnn_run_costs_are_ideal(const struct gnn_run_config *config);

/* Returns whether --device-readahead was given; *bytes: its value, UINT64_MAX if it is not a size. */
bool gnn_run_readahead(const struct gnn_run_config *config, uint64_t *bytes);

/* Returns the most mini-batches that an epoch trains; 0 = all. */
uint32_t gnn_run_max_batches(const struct gnn_run_config *config);

/* Returns whether the dataset is a graph of the registry that can be computed without a disk. */
bool gnn_run_dataset_is_procedural(const struct gnn_run_config *config);
/* Returns whether the run's graph is computed (simulated world, a registry name) instead of read from a prepared
 * dataset. */
bool gnn_run_dataset_is_computed(const struct gnn_run_config *config);

/* Writes the dataset's directory: config->dataset itself if it names a directory, else data_dir/NAME-1_K. */
void gnn_run_dataset_dir(const struct gnn_run_config *config, char *path, size_t path_bytes);

/* Fails: no dataset is in `dir`, where the run looked for it. The message has the command that makes it. */
GNN_MUST_CHECK enum gnn_status gnn_run_dataset_missing(const struct gnn_run_config *config, const char *dir,
                                                       struct gnn_err *err);

/* Writes the command that generates the run's dataset, which must be one of the registry, and returns text. */
const char *gnn_run_dataset_command(const struct gnn_run_config *config, char *text, size_t text_bytes);

/* Fails: --task link was asked for, and `what` is no knowledge graph. The message has a command that makes one. */
GNN_MUST_CHECK enum gnn_status gnn_run_dataset_without_links(const struct gnn_run_config *config, const char *what,
                                                             struct gnn_err *err);

/* ---- checks.c ---- */

/* Checks options against each other, the system's parameters, and the features of this build; changes nothing.
 * GNN_EUSAGE, GNN_ENOTSUP: the message has the option and the remedy. */
GNN_MUST_CHECK enum gnn_status gnn_run_config_check(const struct gnn_run_config *config, struct gnn_err *err);

/* Checks that the system trains on a GPU, or on the CPU; a run that samples only needs neither. GNN_ENOTSUP. */
GNN_MUST_CHECK enum gnn_status gnn_run_check_device(const struct gnn_run_config *config, bool gpu, struct gnn_err *err);

/* ---- system.c ---- */

/* Finds a system by name, or opens the shared object at a path (harness/run/plugin.h). A name is also that of an object
 * which this process has opened. GNN_EUSAGE: the message has similar names and the systems of this build. For a path,
 * errors as gnn_plugin_open. */
GNN_MUST_CHECK enum gnn_status gnn_system_find(const char *name, const struct gnn_system **out, struct gnn_err *err);

/* Returns the name of the run's system: that of the table, also where --system is a path. If there is no such system,
 * returns the value of --system. */
const char *gnn_run_system_name(const struct gnn_run_config *config);

/* Returns the system's place in the registry, from 0, or UINT32_MAX if there is no such system. */
uint32_t gnn_system_place(const char *name);

/* Makes the system's configuration from its defaults and this run's sets; free it with free(). GNN_EUSAGE: a parameter
 * is unknown or its value is invalid. */
GNN_MUST_CHECK enum gnn_status gnn_system_configure(const struct gnn_system *system,
                                                    const struct gnn_run_config *config, void **out,
                                                    struct gnn_err *err);

#endif

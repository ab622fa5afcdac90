/* Everything a run is told, after defaults, preset and command line: one option table serves the parser, the
 * help, the record, the job files and the hand-over from the supervisor to its worker. */
#ifndef GNN_RUN_CONFIG_H
#define GNN_RUN_CONFIG_H

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

    uint32_t model; /* enum gnn_model_kind */
    uint32_t hidden;
    uint32_t heads;
    bool gat_width_total;
    uint32_t gcn_norm; /* enum gnn_gcn_norm */
    double dropout;
    double lr;
    double weight_decay;

    struct gnn_u32_list fanout;
    uint32_t batch_size;
    uint32_t epochs;
    uint32_t max_batches;
    uint32_t batches; /* train so many after the warm-up and extrapolate; 0 = whole epochs */
    uint32_t warmup;  /* mini-batches before them */
    bool sample_only;
    bool floyd_biased;
    uint64_t seed;

    uint32_t world; /* enum gnn_world_kind */
    char profile[GNN_TEXT_MAX];
    char compute[GNN_TEXT_MAX];
    char fault[GNN_TEXT_MAX]; /* harness/run/fault_option.h; "" = none */
    uint32_t compute_threads;
    uint32_t io_engine; /* enum gnn_ring_engine */

    uint64_t memory_bytes; /* the cap; 0 = none */
    uint64_t swap_bytes;
    uint32_t cap_kind; /* enum gnn_cap_kind */
    uint64_t device_bps;
    uint64_t device_iops;
    bool cold;
    uint64_t time_limit_ns; /* 0 = none */
    uint32_t evaluate;      /* enum gnn_evaluate */
    uint64_t interval_ns;   /* of the probes */
    char db[GNN_TEXT_MAX];
    char trace_loss[GNN_TEXT_MAX]; /* file for one line a step, or "" */
    bool json;
    bool quiet;

    uint32_t set_count;
    char sets[GNN_SETS_MAX][GNN_SET_MAX]; /* "gnndrive.extractors=4" */
};

extern const struct gnn_option gnn_run_options[]; /* every field above except sets */

void gnn_run_config_defaults(struct gnn_run_config *config);

/* "system.key=value"; GNN_EUSAGE when malformed or too many. The key itself is checked when the system is
 * known. */
GNN_MUST_CHECK enum gnn_status gnn_run_config_set(struct gnn_run_config *config, const char *text, struct gnn_err *err);

/* Checks fields against each other and against this build; fills what follows from others (GAT's fan-out). */
GNN_MUST_CHECK enum gnn_status gnn_run_config_check(const struct gnn_run_config *config, struct gnn_err *err);

/* The named system; GNN_EUSAGE lists what there is. */
GNN_MUST_CHECK enum gnn_status gnn_system_find(const char *name, const struct gnn_system **out, struct gnn_err *err);

/* A new config of the system with defaults and this run's sets applied; free() it. */
GNN_MUST_CHECK enum gnn_status gnn_system_configure(const struct gnn_system *system,
                                                    const struct gnn_run_config *config, void **out,
                                                    struct gnn_err *err);

/* Mini-batches an epoch trains at most; 0 = all. */
uint32_t gnn_run_max_batches(const struct gnn_run_config *config);

/* Whether the run's graph is computed (simulated world, a registry name) instead of read from a prepared dataset. */
bool gnn_run_dataset_is_computed(const struct gnn_run_config *config);

/* Directory of the dataset: config->dataset itself if it names a directory, else data_dir/NAME-1_K. */
void gnn_run_dataset_dir(const struct gnn_run_config *config, char *path, size_t path_bytes);

#endif

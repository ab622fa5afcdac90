/* SPDX-License-Identifier: MIT */
/* A small dataset made in a temporary directory, and one run of a system on it: what the tests of systems share.
 * Feature c of node v is train_feature(v, c), so that a test knows what every gathered row must hold. */
#ifndef GNN_TESTS_TRAIN_GRAPH_H
#define GNN_TESTS_TRAIN_GRAPH_H

#include "harness/system/plan.h"
#include "harness/world/profile.h"

struct train_graph_config {
    uint32_t nodes, mean_degree, dim, classes, train;
    uint64_t seed;
    uint32_t id_bytes;              /* of neighbour IDs on disk; 0 = 4 */
    uint32_t hub_every, hub_degree; /* nodes 0, hub_every, ... draw so many neighbours; 0 = none does */
    enum gnn_feature_type feature_type;
    bool is_rounded; /* float32 with the values that float16 would have */
};

struct train_graph {
    struct gnn_dataset dataset;
    gnn_node *indices; /* (edge_count), also on disk */
};

float train_feature(gnn_node node, uint32_t column);
/* The same as a model reads it from a file of this type: float16 has rounded it. */
float train_stored_feature(enum gnn_feature_type type, gnn_node node, uint32_t column);

/* Writes ids (count) to a file, id_bytes each. */
void train_write_ids(const char *path, const gnn_node *ids, uint64_t count, uint32_t id_bytes);

/* cmocka assertions fail on errors. Degrees are skewed: some nodes have none, a few have many. */
void train_graph_open(const struct train_graph_config *config, struct train_graph *out);
void train_graph_close(struct train_graph *graph); /* removes the directory */

enum { TRAIN_BATCHES_MAX = 512, TRAIN_CORES = 2 };

/* A system's options, as struct train_run takes them. */
#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A system opened on a graph. Fill the first part (train_run_init gives defaults), then train_run_open. */
struct train_run {
    const char *system;
    const char *const *options; /* "name=value" ..., NULL; may be NULL */
    struct gnn_workload workload;
    struct gnn_model_config model_config;
    const struct gnn_tensor_ops *backend; /* instead of those that the next members choose; may be NULL */
    struct gnn_tensor *plan_on;           /* train_run_plan alone: the back-end that is planned for; NULL: none */
    bool cpu;                             /* the CPU back-end instead of the reference */
    bool device;                          /* the reference with a memory of its own (device_tensor.h) */
    /* In a simulated world: the modelled back-end of this machine, its GPU if `device`. No values: check_rows is
     * false. */
    const struct gnn_profile *modelled;
    enum gnn_ring_engine io_engine;
    bool check_rows; /* compare every training input with train_feature */
    uint64_t cap_bytes;
    uint32_t stop_after;     /* raises the stop flag after so many steps; 0 = never */
    struct gnn_world *world; /* the caller's */
    uint32_t rank;           /* one of several workers: what they share is the caller's */
    struct gnn_ranks *ranks;
    struct gnn_average *average;
    void *shared;

    /* filled */
    const struct gnn_system *table;
    struct gnn_env env;
    void *config, *state;
    struct gnn_tensor_ops ops; /* the back-end's, with the model's first reduction watched */
    const gnn_real *input;     /* of the step in progress */
    atomic_bool stop;
    uint32_t step_count; /* of the epoch */
    uint32_t order[TRAIN_BATCHES_MAX];
    double loss[TRAIN_BATCHES_MAX];       /* by batch number */
    uint64_t trained_digest, spot_digest; /* of the views that were trained, and of those among them that are spots */
    uint32_t wrong_values;
    uint32_t *seen;   /* (node_count) times a node was a seed in this epoch */
    uint32_t *needed; /* (node_count) times a node was in a batch in this epoch */
    struct gnn_epoch_result result;
    struct gnn_err err;
};

void train_run_init(struct train_run *run, struct gnn_world *world, const char *system);
enum gnn_status train_run_plan(struct train_run *run, const struct train_graph *graph, struct gnn_memory_plan *plan);
enum gnn_status train_run_open(struct train_run *run, const struct train_graph *graph);
/* What several ranks share, before they are opened: closed by run->table->close_shared. run: of any rank. */
enum gnn_status train_run_open_shared(struct train_run *run, const struct train_graph *graph, void **shared);
/* After an epoch that ended well, fails the test unless the system did what it said it would, and trained what it
 * sampled: the digests of both are equal. */
enum gnn_status train_run_epoch(struct train_run *run, uint64_t epoch);
void train_run_close(struct train_run *run);

/* Fails the test with the system's name and the error's message unless the status is GNN_OK. */
#define must_run(status, run) train_run_must((status), (run), __FILE__, __LINE__)
void train_run_must(enum gnn_status status, const struct train_run *run, const char *file, int line);

/* Every training node was a seed of the epoch exactly once, and no other node was. */
void train_run_each_seed_once(const struct train_run *run);

uint64_t train_run_extra(const struct train_run *run, const char *name);

#endif

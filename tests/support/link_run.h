/* SPDX-License-Identifier: MIT */
/* A small knowledge graph on the disk, and runs of a system that learns its links, for tests of systems. */
#ifndef GNN_TESTS_LINK_RUN_H
#define GNN_TESTS_LINK_RUN_H

#include "harness/system/plan.h"
#include "harness/world/profile.h"
#include "tests/support/data_files.h"

enum { LINK_RUN_STEPS_MAX = 1024 };

/* Imports a graph of random edges below root (a fresh directory) and writes its dataset's path to out. Both directions
 * of every edge are in its neighbour lists. */
struct link_graph {
    uint32_t nodes, relations, edges;
    uint64_t seed;
};
void link_graph_import(const struct link_graph *graph, const char *root, char out[DATA_PATH]);

struct link_run {
    /* set before link_run_open; link_run_init fills in what is usual */
    const char *system;
    const char *const *options; /* "name=value", NULL-terminated; NULL: none */
    struct gnn_world *world;
    const struct gnn_profile *modelled; /* the simulated machine's; NULL: computed by the CPU back-end */
    struct gnn_workload workload;       /* batches of 20, 9 negatives in 3 chunks, half of them ends; no encoder */
    struct gnn_link_config link_config; /* ComplEx, Adagrad */
    struct gnn_model_config model_config;
    uint64_t cap_bytes;

    /* opened */
    struct gnn_dataset *dataset;
    const struct gnn_system *table;
    struct gnn_env env;
    void *config, *state;

    /* of the last epoch */
    struct gnn_epoch_result result;
    uint32_t step_count;
    double loss[LINK_RUN_STEPS_MAX];
    uint64_t spot_digest;
    /* Called for every step, before it is noted; NULL: not. */
    void (*look)(void *ctx, const struct gnn_batch_view *batch);
    void *look_ctx;
    struct gnn_err err;
};

void link_run_init(struct link_run *run, struct gnn_world *world, const char *system, const char *dir, uint32_t dim);
enum gnn_status link_run_plan(struct link_run *run, struct gnn_memory_plan *plan);
enum gnn_status link_run_open(struct link_run *run);
enum gnn_status link_run_epoch(struct link_run *run, uint64_t epoch);
/* (node_count, dim) */
void link_run_vectors(struct link_run *run, gnn_real *out);
uint64_t link_run_figure(const struct link_run *run, const char *name);
void link_run_close(struct link_run *run); /* also after an open that failed */

#endif

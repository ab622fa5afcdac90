/* SPDX-License-Identifier: MIT */
/* The topology in memory, in CSC: the in-neighbours of every node, one list after the other. It is a neighbour source
 * for each sampler thread. With dependent mini-batches it replaces the sampler's draws by its own.
 *
 * Source   dmlc/dgl, graphbolt/src/fused_csc_sampling_graph.cc; include/graphbolt/continuous_seed.h for dependence
 * Memory   4 bytes an edge
 * Threads  A source is one thread's. The topology is constant once it is open. */
#ifndef GRAPHBOLT_TOPOLOGY_H
#define GRAPHBOLT_TOPOLOGY_H

#include "harness/system/sampling.h"

struct graphbolt_topology;

/* Reads all lists into memory, past the page cache if direct. dependency: as the option; workers: samplers. Errors of
 * the file, GNN_ENOMEM, GNN_ECAP. The caller must close *out even after an error. */
GNN_MUST_CHECK enum gnn_status graphbolt_topology_open(const struct gnn_env *env, bool direct, uint32_t dependency,
                                                       uint32_t workers, struct graphbolt_topology **out,
                                                       struct gnn_err *err);
void graphbolt_topology_close(struct graphbolt_topology *topology); /* accepts NULL */
/* Returns the bytes of the lists, for memory plans. */
uint64_t graphbolt_topology_bytes(const struct gnn_dataset *dataset);
/* Returns the bytes that open also holds while it reads. */
uint64_t graphbolt_topology_scan_bytes(const struct gnn_dataset *dataset);

/* Opens the source of a worker: gnn_sampling_config.open_source. ctx is the topology. */
GNN_MUST_CHECK enum gnn_status graphbolt_topology_source(void *ctx, uint32_t worker, struct gnn_neighbour_source **out,
                                                         struct gnn_err *err);
/* Prepares a worker's source for the draw of mini-batch k of an epoch with `batches`. Does nothing without
 * dependence. */
void graphbolt_topology_begin_batch(struct graphbolt_topology *topology, uint32_t worker, uint64_t epoch, uint32_t k,
                                    uint32_t batches);

#endif

/* SPDX-License-Identifier: MIT */
/* Node-wise neighbour sampling over any neighbour source (GraphSAGE, Hamilton et al. 2017, section 3.1).
 *
 * A mini-batch depends on (seed, epoch, batch) and the graph only. The draw for destination v at hop l is keyed by
 * (seed, epoch, batch, l, v in original IDs). */
#ifndef GNN_SAMPLE_H
#define GNN_SAMPLE_H

#include "harness/base/block.h"
#include "harness/graph/dataset.h"
#include "harness/oocgnn.h"
#include "harness/world/world.h"

/* ---- where neighbour lists come from ---- */

/* Delivers the neighbours of a whole hop at once: edge offsets in, neighbour IDs out, in the same order. One handle
 * serves one thread. If handles share state, the source synchronises it. */
struct gnn_neighbour_source;
struct gnn_neighbour_source_ops {
    const char *name;
    enum gnn_status (*fetch)(struct gnn_neighbour_source *source, const uint64_t *edge_offset, uint64_t count,
                             gnn_node *out, struct gnn_err *err);
    /* Optional; replaces fetch if present. It also receives the lists: the draws of nodes[i] are
     * edge_offset[row_start[i] .. row_start[i + 1]), ascending. Output as above. Nodes are < node_count. */
    enum gnn_status (*fetch_lists)(struct gnn_neighbour_source *source, const gnn_node *nodes,
                                   const uint32_t *row_start, uint32_t row_count, const uint64_t *edge_offset,
                                   gnn_node *out, struct gnn_err *err);
    void (*close)(struct gnn_neighbour_source *source); /* accepts NULL */
};
struct gnn_neighbour_source {
    const struct gnn_neighbour_source_ops *ops; /* implementations embed this struct first */
};

/* Opens a source that reads a mapping of neighbour IDs of `id_bytes` bytes through the page cache. The caller keeps the
 * mapping open. Close *out with gnn_source_close. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_source_mapped(struct gnn_world *world, struct gnn_map *indices, uint32_t id_bytes,
                                                 struct gnn_neighbour_source **out, struct gnn_err *err);
/* Closes a source of any kind; accepts NULL. */
void gnn_source_close(struct gnn_neighbour_source *source);

/* ---- the order of an epoch ---- */

/* Writes a permutation of `nodes`, keyed by (seed, epoch), to order (count), which may be `nodes` itself. Batch k is
 * order[k * batch_size .. min(count, (k + 1) * batch_size)). */
void gnn_epoch_order(uint64_t seed, uint64_t epoch, const gnn_node *nodes, uint32_t count, gnn_node *order);

/* ---- a batch's memory ---- */

/* Owns the arrays of one sampled mini-batch. It is reused from batch to batch and grows during warm-up only. */
struct gnn_batch;
GNN_MUST_CHECK enum gnn_status gnn_batch_open(struct gnn_world *world, struct gnn_batch **out, struct gnn_err *err);
void gnn_batch_close(struct gnn_world *world, struct gnn_batch *batch);
const struct gnn_batch_view *gnn_batch_view(const struct gnn_batch *batch);

/* ---- the sampler ---- */

struct gnn_sampler_config {
    uint64_t seed;
    uint32_t layers;
    uint32_t fanout[GNN_LAYERS_MAX]; /* from the seeds outward */
    bool floyd_biased;               /* draw as the released samplers do, off by one (draw.h), to match their traces */
    const gnn_node *original_id;     /* (node_count) for renumbered graphs, NULL = identity: for random keys and the
                                      * digest */
    bool framework; /* the released program uses a framework's sampler: decides what an edge costs (GNN_WORK_*) */
};

struct gnn_sampler; /* one per thread */

struct gnn_sample_counters {
    uint64_t batches;
    uint64_t sampled_nodes; /* sum of node_count */
    uint64_t sampled_edges; /* sum of edge_count over the blocks */
    uint64_t batch_digest;  /* sum over (epoch, batch, layer, dst, src) in original IDs, in any order (digest.h) */
    uint64_t spot_digest;   /* share of the mini-batches that gnn_is_spot selects */
};

/* Returns whether a mini-batch is among the one in 64 that are checked twice. Its digest after sampling and its digest
 * after training must agree, whatever stages are between the two. */
static inline bool gnn_is_spot(uint64_t batch)
{
    return batch % 64 == 0;
}

/* Adds a mini-batch's digest to the counters. */
static inline void gnn_count_digest(struct gnn_sample_counters *counters, uint64_t batch, uint64_t digest)
{
    counters->batch_digest += digest;
    counters->spot_digest += gnn_is_spot(batch) ? digest : 0;
}

/* Opens a sampler; world, dataset and source stay the caller's and must outlive it. GNN_EUSAGE: the number of layers or
 * a fan-out is out of its range. */
GNN_MUST_CHECK enum gnn_status gnn_sampler_open(struct gnn_world *world, const struct gnn_sampler_config *config,
                                                const struct gnn_dataset *dataset, struct gnn_neighbour_source *source,
                                                struct gnn_sampler **out, struct gnn_err *err);
void gnn_sampler_close(struct gnn_sampler *sampler);

/* Samples batch `batch` of `epoch` for the given seed nodes into `out`, and adds to the sampler's counters. New nodes
 * get local IDs in the order of discovery: targets in local order, the neighbours of each in the order of its list.
 * GNN_EFORMAT: a seed or a neighbour is outside the graph, or a seed occurs twice. GNN_EUSAGE: no seeds, more seeds
 * than nodes, or a block too large. Otherwise errors of the source and of gnn_batch_reserve. After an error the view of
 * `out` is empty. */
GNN_MUST_CHECK enum gnn_status gnn_sampler_sample(struct gnn_sampler *sampler, uint64_t epoch, uint64_t batch,
                                                  const gnn_node *seeds, uint32_t seed_count, struct gnn_batch *out,
                                                  struct gnn_err *err);
void gnn_sampler_counters(const struct gnn_sampler *sampler, struct gnn_sample_counters *out);

/* Returns the digest of one finished batch. It equals what the sampler counted for it. For blocks that were not made by
 * a sampler. */
uint64_t gnn_batch_digest(const struct gnn_batch_view *batch, const gnn_node *original_id);

/* Returns the bound on a mini-batch's nodes: n_L <= min(N, B * prod(1 + s_l)). Writes the bound of each hop l to
 * nodes[l] (layers + 1) unless `nodes` is NULL. */
uint64_t gnn_sample_node_bound(uint32_t node_count, uint32_t batch_size, const uint32_t *fanout, uint32_t layers,
                               uint32_t *nodes);

#endif

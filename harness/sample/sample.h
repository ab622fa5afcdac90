/* SPDX-License-Identifier: MIT */
/* Node-wise neighbour sampling over any neighbour source (GraphSAGE, Hamilton et al. 2017, section 3.1).
 *
 * A mini-batch depends on (seed, epoch, batch) and the graph alone: the draw for destination v at hop l is keyed by
 * (seed, epoch, batch, l, v in original IDs). */
#ifndef GNN_SAMPLE_H
#define GNN_SAMPLE_H

#include "harness/base/block.h"
#include "harness/graph/dataset.h"
#include "harness/oocgnn.h"
#include "harness/world/world.h"

/* ---- where neighbour lists come from ---- */

/* A source answers a whole hop at once: edge offsets in, neighbour IDs out, in the same order. One handle serves one
 * thread; shared state behind it is the source's own business. */
struct gnn_neighbour_source;
struct gnn_neighbour_source_ops {
    const char *name;
    enum gnn_status (*fetch)(struct gnn_neighbour_source *source, const uint64_t *edge_offset, uint64_t count,
                             gnn_node *out, struct gnn_err *err);
    /* Optional, called instead of fetch where present: the same with the lists named. The draws of nodes[i] are
     * edge_offset[row_start[i] .. row_start[i + 1]), ascending; out as above. Nodes are < node_count. */
    enum gnn_status (*fetch_lists)(struct gnn_neighbour_source *source, const gnn_node *nodes,
                                   const uint32_t *row_start, uint32_t row_count, const uint64_t *edge_offset,
                                   gnn_node *out, struct gnn_err *err);
    void (*close)(struct gnn_neighbour_source *source); /* accepts NULL */
};
struct gnn_neighbour_source {
    const struct gnn_neighbour_source_ops *ops; /* implementations embed this struct first */
};

/* The page cache: gathers through a mapping, of IDs of id_bytes, that the caller keeps open. */
GNN_MUST_CHECK enum gnn_status gnn_source_mapped(struct gnn_world *world, struct gnn_map *indices, uint32_t id_bytes,
                                                 struct gnn_neighbour_source **out, struct gnn_err *err);
void gnn_source_close(struct gnn_neighbour_source *source);

/* ---- the order of an epoch ---- */

/* Fills order (count; may be nodes itself) with a permutation of nodes keyed by (seed, epoch). Batch k is order[k *
 * batch_size .. min(count, (k + 1) * batch_size)). */
void gnn_epoch_order(uint64_t seed, uint64_t epoch, const gnn_node *nodes, uint32_t count, gnn_node *order);

/* ---- a batch's memory ---- */

/* Owns the arrays of one sampled mini-batch; reused from batch to batch, grows at warm-up only. */
struct gnn_batch;
GNN_MUST_CHECK enum gnn_status gnn_batch_open(struct gnn_world *world, struct gnn_batch **out, struct gnn_err *err);
void gnn_batch_close(struct gnn_world *world, struct gnn_batch *batch);
const struct gnn_batch_view *gnn_batch_view(const struct gnn_batch *batch);

/* ---- the sampler ---- */

struct gnn_sampler_config {
    uint64_t seed;
    uint32_t layers;
    uint32_t fanout[GNN_LAYERS_MAX]; /* from the seeds outward */
    bool floyd_biased;               /* the released samplers' off-by-one, to match traces (draw.h) */
    const gnn_node *original_id;     /* (node_count) for renumbered graphs, NULL = identity: RNG keys, digest */
    bool framework; /* the released program draws with a framework's sampler: what an edge costs (GNN_WORK_*) */
};

struct gnn_sampler; /* one per thread */

struct gnn_sample_counters {
    uint64_t batches;
    uint64_t sampled_nodes; /* sum of node_count */
    uint64_t sampled_edges; /* sum of edge_count over the blocks */
    uint64_t batch_digest;  /* of (epoch, batch, layer, dst, src) in original IDs, in any order */
    uint64_t spot_digest;   /* the part of it that the mini-batches of gnn_is_spot make */
};

/* One mini-batch in 64 is looked at twice: its digest when it was sampled and its digest when it was trained must
 * agree, whatever lay between the two. */
static inline bool gnn_is_spot(uint64_t batch)
{
    return batch % 64 == 0;
}

/* Adds a mini-batch's digest. */
static inline void gnn_count_digest(struct gnn_sample_counters *counters, uint64_t batch, uint64_t digest)
{
    counters->batch_digest += digest;
    counters->spot_digest += gnn_is_spot(batch) ? digest : 0;
}

GNN_MUST_CHECK enum gnn_status gnn_sampler_open(struct gnn_world *world, const struct gnn_sampler_config *config,
                                                const struct gnn_dataset *dataset, struct gnn_neighbour_source *source,
                                                struct gnn_sampler **out, struct gnn_err *err);
void gnn_sampler_close(struct gnn_sampler *sampler);

/* Samples batch `batch` of `epoch` for the given seed nodes into out. Counts into the sampler's counters. Seeds or
 * neighbours outside the graph and repeated seeds are GNN_EFORMAT; after a failure out's view is empty. New nodes get
 * local IDs in order of discovery: targets in local order, each one's neighbours in the order of its list. */
GNN_MUST_CHECK enum gnn_status gnn_sampler_sample(struct gnn_sampler *sampler, uint64_t epoch, uint64_t batch,
                                                  const gnn_node *seeds, uint32_t seed_count, struct gnn_batch *out,
                                                  struct gnn_err *err);
void gnn_sampler_counters(const struct gnn_sampler *sampler, struct gnn_sample_counters *out);

/* The digest of one finished batch, equal to what the sampler counted for it: for blocks that came another way. */
uint64_t gnn_batch_digest(const struct gnn_batch_view *batch, const gnn_node *original_id);

/* n_L <= min(N, B * prod(1 + s_l)); nodes[l] of hop l in nodes (layers + 1) when not NULL. */
uint64_t gnn_sample_node_bound(uint32_t node_count, uint32_t batch_size, const uint32_t *fanout, uint32_t layers,
                               uint32_t *nodes);

#endif

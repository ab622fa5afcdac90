/* SPDX-License-Identifier: MIT */
/* Resident subgraphs: reads the edge buckets of the partitions in memory and sorts them (MariusGNN, EuroSys 2023,
 * sections 3 and 4.1). Two counting sorts over local IDs make the sampler's arrays.
 *
 * The edge list of a state is kept as it was read, bucket by bucket. The next state copies from it what stays resident
 * and reads the rest. These are c * c buckets at first and g (2 c - g) after a swap of g partitions.
 *
 * Threads  One thread builds at a time. Meanwhile any thread may read the other graph.
 * Memory   Of each graph 8 bytes an edge as read, 4 for each sorted copy, and (1 + directions) * 4 bytes a local ID. It
 *          grows to the largest state. */
#ifndef MARIUSGNN_RESIDENT_EDGES_H
#define MARIUSGNN_RESIDENT_EDGES_H

#include "harness/world/world.h"
#include "systems/mariusgnn/store.h"
#include "systems/mariusgnn/subgraph.h"

enum { MARIUS_GRAPHS_MAX = 2, MARIUS_BUCKET_PIECE_BYTES = 128 << 10 };
enum { MARIUS_RELEASED_EDGE_BYTES = 64, MARIUS_RELEASED_NODE_BYTES = 8 };

struct marius_edges_config {
    const struct marius_store *store; /* must outlive the edges */
    uint32_t nodes;                   /* N */
    enum gnn_ring_engine engine;
    uint32_t depth;  /* reads in flight */
    uint32_t slots;  /* c */
    uint32_t graphs; /* alive: 1, or 2 if one is built while the other is sampled */
    bool direct;
    bool single;    /* a request for each bucket; false: adjacent buckets share a request (a piece at most) */
    bool out_edges; /* sorted by source, too */
    bool released;  /* takes as much more memory as the released code, which has four copies in 8-byte IDs */
};

struct marius_resident_edges;

GNN_MUST_CHECK enum gnn_status marius_edges_open(struct gnn_world *world, const struct marius_edges_config *config,
                                                 struct marius_resident_edges **out, struct gnn_err *err);
void marius_edges_close(struct marius_resident_edges *edges); /* accepts NULL */
/* Returns the memory in bytes for states of `resident_edges` edges. */
uint64_t marius_edges_bytes(const struct marius_edges_config *config, uint32_t rows, uint64_t resident_edges);

/* Builds graph `which` for partitions (slots, MARIUS_NONE: an empty slot). from is another graph, with the state
 * before, whose buckets are copied. With MARIUS_NONE every bucket is read. Returns GNN_EUSAGE if there are 2^32 - 1
 * edges or more, or GNN_EFORMAT if an edge is in the wrong bucket. Returns errors of the file and the allocator, too.
 * After an error the graph is empty. */
GNN_MUST_CHECK enum gnn_status marius_edges_build(struct marius_resident_edges *edges, uint32_t which,
                                                  const uint32_t *partitions, uint32_t from, struct gnn_err *err);
const struct marius_subgraph *marius_edges_graph(const struct marius_resident_edges *edges, uint32_t which);

struct marius_edges_counters {
    uint64_t read_buckets, copied_buckets; /* without empty ones */
    uint64_t read_bytes, reads;            /* as requested from storage, alignment included */
    uint64_t read_edges;
    uint64_t sort_ns; /* mapping and sorting */
};
/* Returns the counts since the last call. No thread may be building. */
void marius_edges_take_counters(struct marius_resident_edges *edges, struct marius_edges_counters *out);

#endif

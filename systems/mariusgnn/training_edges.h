/* SPDX-License-Identifier: MIT */
/* The training edges of link prediction, state by state: X_1, X_2 and so on (MariusGNN, EuroSys 2023, sections 3 and
 * 5.1). Each of the p x p edge buckets belongs to one state of an epoch; its edges are read when that state is at hand,
 * or while the one before trains, into a set of their own. Where everything is resident there is one set with all edges
 * of the dataset, in its order, read once.
 *
 * Edges have the dataset's node IDs. Which of a set's edges stands where in the epoch is a keyed permutation, in
 * constant memory, as for every system (harness/sample/link_batch.h): with one set the very same.
 *
 * Threads  one reads; the set that is not read meanwhile may be looked at by any */
#ifndef MARIUSGNN_TRAINING_EDGES_H
#define MARIUSGNN_TRAINING_EDGES_H

#include "systems/mariusgnn/store.h"

enum { MARIUS_SETS_MAX = 2 };

struct marius_training_edges_config {
    const struct marius_store *store; /* outlives it; its triples and old_to_new */
    uint32_t slots;                   /* c */
    uint32_t sets;                    /* 1, or 2 where one is read while the other is trained */
    uint32_t depth;                   /* reads in flight */
    bool whole;                       /* all of the dataset's edges, without buckets */
    bool direct, single;              /* as in struct marius_edges_config */
};

struct marius_training_edges;

/* Errors of the ring and the allocator. *out is the caller's to close also on an error. */
GNN_MUST_CHECK enum gnn_status marius_training_edges_open(const struct gnn_env *env,
                                                          const struct marius_training_edges_config *config,
                                                          struct marius_training_edges **out, struct gnn_err *err);
void marius_training_edges_close(struct marius_training_edges *edges); /* accepts NULL */
/* Memory for states of so many edges. */
uint64_t marius_training_edges_bytes(const struct marius_training_edges_config *config, uint64_t state_edges);

/* Fills set `which` with the buckets that state_of (p, p) gives to `state`, whose partitions are resident (slots). With
 * `whole` all three are unused, and what is there is not read again. GNN_EFORMAT: an edge that is not of its bucket, a
 * relation that is none; errors of the file and the allocator. After one, the set is empty. */
GNN_MUST_CHECK enum gnn_status marius_training_edges_read(struct marius_training_edges *edges, uint32_t which,
                                                          uint32_t state, const uint32_t *resident,
                                                          const uint32_t *state_of, struct gnn_err *err);
uint32_t marius_training_edges_count(const struct marius_training_edges *edges, uint32_t which);
/* Copies positions [first, first + count) of the set's order in state `state` of an epoch. */
void marius_training_edges_take(const struct marius_training_edges *edges, uint32_t which, uint64_t epoch,
                                uint32_t state, uint32_t first, uint32_t count, struct gnn_triple *out);

struct marius_training_edges_counters {
    uint64_t buckets;           /* that have edges */
    uint64_t read_bytes, reads; /* as asked of storage, alignment included */
};
/* Since the last call; nobody reads. */
void marius_training_edges_take_counters(struct marius_training_edges *edges,
                                         struct marius_training_edges_counters *out);

#endif

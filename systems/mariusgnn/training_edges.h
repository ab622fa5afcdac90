/* SPDX-License-Identifier: MIT */
/* The training edges of link prediction, state by state: X_1, X_2 and so on (MariusGNN, EuroSys 2023, sections 3 and
 * 5.1). Each of the p x p edge buckets belongs to one state of an epoch. Its edges are read into a separate set when
 * that state begins, or while the one before trains. If everything is resident, there is one set with all edges of the
 * dataset, in its order, read once.
 *
 * Edges have the dataset's node IDs. A keyed permutation in constant memory gives the order of a set's edges in the
 * epoch. With one set it is the permutation of every system (harness/sample/link_batch.h).
 *
 * Threads  One thread reads. Meanwhile any thread may use the other set. */
#ifndef MARIUSGNN_TRAINING_EDGES_H
#define MARIUSGNN_TRAINING_EDGES_H

#include "systems/mariusgnn/store.h"

enum { MARIUS_SETS_MAX = 2 };

struct marius_training_edges_config {
    const struct marius_store *store; /* must outlive the edges; has triples and old_to_new */
    uint32_t slots;                   /* c */
    uint32_t sets;                    /* 1, or 2 if one is read while the other is trained */
    uint32_t depth;                   /* reads in flight */
    bool whole;                       /* all of the dataset's edges, without buckets */
    bool direct, single;              /* as in struct marius_edges_config */
};

struct marius_training_edges;

/* Opens empty sets. Returns errors of the ring and the allocator; the caller must close *out even then. */
GNN_MUST_CHECK enum gnn_status marius_training_edges_open(const struct gnn_env *env,
                                                          const struct marius_training_edges_config *config,
                                                          struct marius_training_edges **out, struct gnn_err *err);
void marius_training_edges_close(struct marius_training_edges *edges); /* accepts NULL */
/* Returns the memory in bytes for states of `state_edges` edges. */
uint64_t marius_training_edges_bytes(const struct marius_training_edges_config *config, uint64_t state_edges);

/* Reads into set `which` the buckets that state_of (p, p) assigns to `state`, whose partitions are resident (slots).
 * With `whole` these three are unused, and the edges are read only once. Returns GNN_EFORMAT if an edge is in the wrong
 * bucket or has an invalid relation. Returns errors of the file and the allocator, too. After an error the set is
 * empty. */
GNN_MUST_CHECK enum gnn_status marius_training_edges_read(struct marius_training_edges *edges, uint32_t which,
                                                          uint32_t state, const uint32_t *resident,
                                                          const uint32_t *state_of, struct gnn_err *err);
uint32_t marius_training_edges_count(const struct marius_training_edges *edges, uint32_t which);
/* Copies positions [first, first + count) of the set's order in state `state` of an epoch to out. */
void marius_training_edges_take(const struct marius_training_edges *edges, uint32_t which, uint64_t epoch,
                                uint32_t state, uint32_t first, uint32_t count, struct gnn_triple *out);

struct marius_training_edges_counters {
    uint64_t buckets;           /* without empty ones */
    uint64_t read_bytes, reads; /* as requested from storage, alignment included */
};
/* Returns the counts since the last call. No thread may be reading. */
void marius_training_edges_take_counters(struct marius_training_edges *edges,
                                         struct marius_training_edges_counters *out);

#endif

/* SPDX-License-Identifier: MIT */
/* The local IDs of one mini-batch as bits: which of the marked IDs are new, and the position of a node in the batch.
 * MariusGNN (EuroSys 2023), section 4.1, computeNextDelta.
 *
 * Life     Reserve. Per mini-batch: begin, `know` (nodes found otherwise), mark and take for each hop, place, find.
 *          Release.
 * Memory   24 bytes for 64 local IDs, 4 a node of the batch. Between mini-batches only begin and take write zeros.
 * Time     Functions begin, take and place read a word for every 64 local IDs. The rest is per node or per
 *          neighbour. */
#ifndef MARIUSGNN_DENSE_MARKS_H
#define MARIUSGNN_DENSE_MARKS_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"

/* 64 local IDs. */
struct marius_known {
    uint64_t bits;
    uint64_t before; /* known ones below these 64, after place */
};

struct marius_marks {
    uint64_t *mark;             /* bits of neighbours since the last take; all zero outside a hop */
    struct marius_known *known; /* of the batch so far */
    uint32_t *place;            /* of the n-th known local ID, in ascending order: its position in the batch */
    uint32_t words;             /* of the batch's subgraph */
};

static inline uint64_t marius_marks_words(uint32_t local_count)
{
    return gnn_div_up(local_count, 64);
}

/* Returns the bytes for local IDs below local_count and batches of up to `nodes` nodes. */
uint64_t marius_marks_bytes(uint32_t local_count, uint32_t nodes);
/* Allocates the arrays. *marks must be zero. Returns GNN_ENOMEM or GNN_ECAP; the caller must release *marks even
 * then. */
GNN_MUST_CHECK enum gnn_status marius_marks_reserve(struct gnn_world *world, struct marius_marks *marks,
                                                    uint32_t local_count, uint32_t nodes, struct gnn_err *err);
void marius_marks_release(struct gnn_world *world, struct marius_marks *marks);

/* Begins a mini-batch without nodes. */
void marius_marks_begin(struct marius_marks *marks, uint32_t local_count);
/* Adds nodes that the mini-batch does not have yet. */
void marius_marks_know(struct marius_marks *marks, const uint32_t *locals, uint32_t count);

static inline void marius_marks_prefetch(const struct marius_marks *marks, uint32_t local)
{
    __builtin_prefetch(&marks->mark[local / 64], 1);
}

static inline void marius_marks_mark(struct marius_marks *marks, uint32_t local)
{
    marks->mark[local / 64] |= UINT64_C(1) << (local % 64);
}

/* Adds the marked local IDs that the mini-batch does not have yet and clears all marks. Writes the added IDs to out,
 * ascending, and returns their number. */
uint32_t marius_marks_take(struct marius_marks *marks, uint32_t *out);

/* Records the positions of all nodes of the mini-batch for marius_marks_find, until begin. locals (count) are its local
 * IDs, in the batch's order. */
void marius_marks_place(struct marius_marks *marks, const uint32_t *locals, uint32_t count);

/* Returns the number of known local IDs below this known one. */
static inline uint64_t marius_marks_rank(const struct marius_marks *marks, uint32_t local)
{
    const struct marius_known *const known = &marks->known[local / 64];
    const uint64_t below = known->bits & ((UINT64_C(1) << (local % 64)) - 1);
    return known->before + (uint64_t)__builtin_popcountll(below);
}

/* Replaces known local IDs by their positions in the batch. */
void marius_marks_find(const struct marius_marks *marks, uint32_t *locals, uint32_t count);

#endif

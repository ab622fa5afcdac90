/* SPDX-License-Identifier: MIT */
/* The local IDs of one mini-batch as bits: which are new among those marked (MariusGNN, EuroSys 2023, section 4.1,
 * computeNextDelta), and where a node stands in the batch.
 *
 * Life     reserve -> per mini-batch: begin, know (nodes found otherwise), { mark, take } for each hop, place, then
 *          find -> release
 * Memory   24 bytes for 64 local IDs, 4 a node of the batch; not zeroed between mini-batches but by begin and take
 * Time     begin, take and place read a word for every 64 local IDs; the rest is per node or per neighbour */
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
    uint32_t *place;            /* of the n-th known local ID, in ascending order: where it stands in the batch */
    uint32_t words;             /* of the batch's subgraph */
};

static inline uint64_t marius_marks_words(uint32_t local_count)
{
    return gnn_div_up(local_count, 64);
}

/* Bytes for local IDs below local_count and batches of up to `nodes` nodes. */
uint64_t marius_marks_bytes(uint32_t local_count, uint32_t nodes);
/* *marks is zero; to be released also after an error. */
GNN_MUST_CHECK enum gnn_status marius_marks_reserve(struct gnn_world *world, struct marius_marks *marks,
                                                    uint32_t local_count, uint32_t nodes, struct gnn_err *err);
void marius_marks_release(struct gnn_world *world, struct marius_marks *marks);

/* Forgets the batch before. */
void marius_marks_begin(struct marius_marks *marks, uint32_t local_count);
/* Adds nodes that were not known. */
void marius_marks_know(struct marius_marks *marks, const uint32_t *locals, uint32_t count);

static inline void marius_marks_prefetch(const struct marius_marks *marks, uint32_t local)
{
    __builtin_prefetch(&marks->mark[local / 64], 1);
}

static inline void marius_marks_mark(struct marius_marks *marks, uint32_t local)
{
    marks->mark[local / 64] |= UINT64_C(1) << (local % 64);
}

/* Moves the marked local IDs that are not known yet to out, ascending, and knows them; returns how many. Marks are
 * gone. */
uint32_t marius_marks_take(struct marius_marks *marks, uint32_t *out);

/* locals (count): every known one, in the batch's order. From now on find works, until begin. */
void marius_marks_place(struct marius_marks *marks, const uint32_t *locals, uint32_t count);

/* Known local IDs below this known one. */
static inline uint64_t marius_marks_rank(const struct marius_marks *marks, uint32_t local)
{
    const struct marius_known *const known = &marks->known[local / 64];
    const uint64_t below = known->bits & ((UINT64_C(1) << (local % 64)) - 1);
    return known->before + (uint64_t)__builtin_popcountll(below);
}

/* Replaces known local IDs by where each stands in the batch. */
void marius_marks_find(const struct marius_marks *marks, uint32_t *locals, uint32_t count);

#endif

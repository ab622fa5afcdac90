/* Which thread samples which mini-batches, and which seeds they have: a static rule, so threads never meet during an
 * epoch (paper, section 3.1).
 *
 *   consecutive   thread i: floor(M / n) batches in a row, the first M mod n threads one more (paper; sampling only)
 *   interleaved   thread i: batches i, i + n, … (always with training: batches are wanted in order)
 *   release       as consecutive, but thread i's first seed is number i * floor(M / n), not B times that: the released
 *                 code's bug. Seeds repeat between threads; kept to reproduce published capped figures (README) */
#ifndef RINGSAMPLER_SPLIT_H
#define RINGSAMPLER_SPLIT_H

#include "systems/ringsampler/ringsampler.h"

/* Batches first, first + step, …: `count` of them. */
struct rs_share {
    uint32_t first, count, step;
};
struct rs_share rs_share_of(const struct ringsampler *s, uint32_t thread);

/* Returns the seeds of batch (or request) `number` of the epoch; *count of them. */
const gnn_node *rs_seeds(const struct ringsampler *s, uint32_t number, uint32_t *count);

#endif

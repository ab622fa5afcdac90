/* SPDX-License-Identifier: MIT */
/* Offset-based sampling: which positions of the edge file a target draws, before anything is read (paper, section 3.1,
 * Figure 2, steps 2 and 3). Without replacement the draws are the harness's (harness/sample/draw.h), so blocks equal
 * those of every other exact system. */
#ifndef RINGSAMPLER_OFFSETS_H
#define RINGSAMPLER_OFFSETS_H

#include "harness/sample/draw.h"
#include "systems/ringsampler/blocks.h"

#include <assert.h>

enum { RS_PREFETCH_TARGETS = 16 };

/* Draws the positions of target v into out (fanout) and returns their number: min(degree, fanout). Without replacement
 * they ascend. With replacement they are in the order drawn, with repeats. */
static inline uint32_t rs_draw_node(const struct rs_hop *hop, gnn_node v, uint64_t *out)
{
    assert(hop->indptr[v] <= hop->indptr[v + 1]);
    const uint64_t begin = hop->indptr[v], degree = hop->indptr[v + 1] - begin;
    const uint64_t key = gnn_rng_fold(hop->draw_key, v);
    if (!hop->replace || degree <= hop->fanout)
        return gnn_draw(key, begin, degree, hop->fanout, hop->biased, out);
    struct gnn_rng rng = gnn_rng_at(key);
    for (uint32_t i = 0; i < hop->fanout; i++)
        out[i] = begin + gnn_rng_below(&rng, degree);
    return hop->fanout;
}

/* Draws likewise for target t. Targets should be taken one after another. */
static inline uint32_t rs_draw(const struct rs_hop *hop, uint32_t t, uint64_t *out)
{
    if (t + RS_PREFETCH_TARGETS < hop->target_count)
        __builtin_prefetch(hop->indptr + hop->targets[t + RS_PREFETCH_TARGETS]);
    return rs_draw_node(hop, hop->targets[t], out);
}

#endif

/* SPDX-License-Identifier: MIT */
/* Draws which positions of a neighbour list a node samples. All randomness of sampling is here.
 *
 * This is Floyd's method (Bentley and Floyd, CACM 30(9), 1987). For j = g - s .. g - 1 it draws t uniformly from [0,
 * j]. It takes t, or j if t is taken already. Released samplers (torch_sparse's sample_adj, used by PyG+, Ginex and
 * GNNDrive) draw t from [0, j): the argument `biased`. */
#ifndef GNN_SAMPLE_DRAW_H
#define GNN_SAMPLE_DRAW_H

#include "harness/base/rng.h"
#include "harness/oocgnn.h"

_Static_assert(GNN_FANOUT_MAX <= 64, "a short draw is a set of 64 bits");

/* Returns the key of all draws of one hop. Hops count from 1, the seeds' own, outward. The destination's original ID is
 * folded into it for each draw. */
static inline uint64_t gnn_draw_hop_key(uint64_t sample_key, uint64_t epoch, uint64_t batch, uint32_t hop)
{
    return gnn_rng_fold(gnn_rng_fold(gnn_rng_fold(sample_key, epoch), batch), hop);
}

/* Draws value[i] uniformly from [0, bound + i) for i < count; bound + count <= 2^32. The values are those of successive
 * calls of gnn_rng_below(). That function rarely rejects a number. So all are drawn together first, and drawn again if
 * one may have been rejected. */
static inline void gnn_draw_numbers(uint64_t key, uint64_t bound, uint32_t count, uint64_t *value)
{
    bool thrown_away = false;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t bits = gnn_splitmix64_at(key, i), below = bound + i;
        const uint64_t low = (bits & UINT32_MAX) * below, high = (bits >> 32) * below + (low >> 32);
        value[i] = high >> 32;
        thrown_away |= (high << 32 | (low & UINT32_MAX)) < below; /* may have been rejected */
    }
    if (!thrown_away)
        return;
    struct gnn_rng rng = gnn_rng_at(key);
    for (uint32_t i = 0; i < count; i++)
        value[i] = gnn_rng_below(&rng, bound + i);
}

/* Draws from a list of up to 64 entries. The set is one 64-bit word, so it is read out in ascending order. No branch
 * depends on a drawn number. */
static inline uint32_t gnn_draw_short(uint64_t key, uint32_t degree, uint32_t fanout, bool biased, uint64_t begin,
                                      uint64_t *out)
{
    uint64_t chosen = 0, value[GNN_FANOUT_MAX];
    const uint32_t first = degree - fanout;
    gnn_draw_numbers(key, (uint64_t)first + !biased, fanout, value);
    for (uint32_t i = 0; i < fanout; i++) {
        const uint64_t taken = 0 - (chosen >> value[i] & 1); /* all bits, or none */
        chosen |= UINT64_C(1) << (value[i] ^ ((value[i] ^ (first + i)) & taken));
    }
    for (uint32_t i = 0; i < fanout; i++, chosen &= chosen - 1)
        out[i] = begin + (uint64_t)__builtin_ctzll(chosen);
    return fanout;
}

/* Draws from a list of any length. `out` is kept in ascending order by insertion; j is larger than all positions taken
 * before. */
static inline uint32_t gnn_draw_long(struct gnn_rng *rng, uint64_t degree, uint32_t fanout, bool biased, uint64_t begin,
                                     uint64_t *out)
{
    uint32_t taken = 0;
    for (uint64_t j = degree - fanout; j < degree; j++, taken++) {
        const uint64_t position = begin + gnn_rng_below(rng, j + !biased);
        uint32_t at = taken;
        while (at > 0 && out[at - 1] > position)
            at--;
        if (at > 0 && out[at - 1] == position) {
            out[taken] = begin + j;
            continue;
        }
        for (uint32_t i = taken; i > at; i--)
            out[i] = out[i - 1];
        out[at] = position;
    }
    return taken;
}

/* Draws from the list of edges begin .. begin + degree. Writes the edge offsets, ascending, to out (fanout) and returns
 * their number, min(degree, fanout). key: that of the hop, with the destination folded in. */
static inline uint32_t gnn_draw(uint64_t key, uint64_t begin, uint64_t degree, uint32_t fanout, bool biased,
                                uint64_t *out)
{
    if (degree <= fanout) {
        for (uint32_t i = 0; i < degree; i++)
            out[i] = begin + i;
        return (uint32_t)degree;
    }
    if (degree <= 64)
        return gnn_draw_short(key, (uint32_t)degree, fanout, biased, begin, out);
    struct gnn_rng rng = gnn_rng_at(key);
    return gnn_draw_long(&rng, degree, fanout, biased, begin, out);
}

#endif

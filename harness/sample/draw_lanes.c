/* SPDX-License-Identifier: MIT */
#include "harness/sample/draw_lanes.h"

#include "harness/base/rng_lanes.h"

#include <assert.h>
#include <string.h>

_Static_assert((int)GNN_WIDE_LANES == (int)GNN_LANES, "a lane a row");

/* Fills drawn[i] with a number of [0, bound + i) of every row, as gnn_draw_numbers() does. Returns whether one may have
 * to be thrown away. */
static bool draw_numbers(const gnn_wide *keys, const gnn_wide *bounds, uint32_t fanout, gnn_lanes *drawn)
{
    gnn_wide key = *keys, bound = *bounds, thrown_away = {0};
    for (uint32_t i = 0; i < fanout; i++, bound += 1) {
        key += GNN_RNG_GOLDEN;
        gnn_wide bits = key;
        gnn_mix64_lanes(&bits);
        const gnn_wide low = (bits & UINT32_MAX) * bound, high = (bits >> 32) * bound + (low >> 32);
        drawn[i] = __builtin_convertvector(high >> 32, gnn_lanes);
        thrown_away |= (gnn_wide)((high << 32 | (low & UINT32_MAX)) < bound);
    }
    uint64_t any = 0;
    for (uint32_t lane = 0; lane < GNN_LANES; lane++)
        any |= thrown_away[lane];
    return any != 0;
}

/* Floyd's method: a number that its row has already gives way to the last position so far, which is last + i and larger
 * than all before. Puts drawn in order as it goes. */
static void take(gnn_lanes *drawn, const gnn_lanes *last, uint32_t fanout)
{
    for (uint32_t i = 0; i < fanout; i++) {
        gnn_lanes number = drawn[i], taken = {0};
        for (uint32_t k = 0; k < i; k++)
            taken |= (gnn_lanes)(drawn[k] == number);
        number ^= (number ^ (*last + i)) & taken;
        for (uint32_t k = 0; k < i; k++)
            gnn_lanes_order(&drawn[k], &number);
        drawn[i] = number;
    }
}

static void draw_one_by_one(const struct gnn_draw_lanes *lanes, uint64_t hop_key, uint32_t fanout, bool biased,
                            uint64_t *out)
{
    for (uint32_t lane = 0; lane < lanes->count; lane++)
        (void)gnn_draw(gnn_rng_fold(hop_key, lanes->node[lane]), lanes->begin[lane], lanes->degree[lane], fanout,
                       biased, out + lanes->at[lane]);
}

void gnn_draw_lanes(const struct gnn_draw_lanes *lanes, uint64_t hop_key, uint32_t fanout, bool biased, uint64_t *out)
{
    gnn_lanes node, degree, drawn[GNN_FANOUT_MAX];
    assert(fanout <= GNN_FANOUT_MAX);
    assert(lanes->count <= GNN_LANES);
    memcpy(&node, lanes->node, sizeof node);
    memcpy(&degree, lanes->degree, sizeof degree);
    const gnn_lanes first = degree - fanout;
    const gnn_wide bound = __builtin_convertvector(first, gnn_wide) + !biased;
    const gnn_wide hop = hop_key + (gnn_wide){0};
    gnn_wide key = __builtin_convertvector(node, gnn_wide);
    gnn_rng_fold_lanes(&hop, &key);
    if (draw_numbers(&key, &bound, fanout, drawn)) {
        draw_one_by_one(lanes, hop_key, fanout, biased, out);
        return;
    }
    take(drawn, &first, fanout);
    for (uint32_t lane = 0; lane < lanes->count; lane++) {
        const uint32_t *const position = (const uint32_t *)drawn + lane;
        uint64_t *const row = out + lanes->at[lane];
        for (uint32_t i = 0; i < fanout; i++)
            row[i] = lanes->begin[lane] + position[(size_t)i * GNN_LANES];
    }
}

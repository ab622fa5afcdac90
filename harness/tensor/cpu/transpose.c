/* SPDX-License-Identifier: MIT */
#include "harness/tensor/cpu/transpose.h"
#include "harness/tensor/cpu/state.h"

#include <string.h>

/* start[j + 1] = where source j's edges begin: placing an edge moves it on, and the last one leaves it at their end. */
static void count_edges(const struct gnn_cpu_transpose *by_source, const struct gnn_block *b, bool self)
{
    uint32_t *const start = by_source->start;
    memset(start, 0, (b->src_count + UINT64_C(2)) * sizeof *start);
    for (uint32_t e = 0; e < b->edge_count; e++)
        start[b->col[e] + 2]++;
    for (uint32_t i = 0; self && i < b->dst_count; i++)
        start[i + 2]++;
    for (uint32_t j = 2; j < b->src_count + 2; j++)
        start[j] += start[j - 1];
}

bool gnn_cpu_transpose_begin(struct gnn_tensor *t, const struct gnn_block *b, bool self, struct gnn_cpu_transpose *out)
{
    struct gnn_cpu_state *const state = gnn_cpu_state(t);
    const uint64_t edges = (uint64_t)b->edge_count + (self ? b->dst_count : 0);
    const uint64_t edge_bytes = gnn_mul_bytes(edges, sizeof *out->edge);
    const uint64_t start_bytes = gnn_mul_bytes(b->src_count + UINT64_C(2), sizeof *out->start);
    if (state == NULL || edges > UINT32_MAX || b->src_count > UINT32_MAX - 2 ||
        !gnn_cpu_reserve(t, &state->transpose, edge_bytes + start_bytes))
        return false;
    void *const start = (char *)state->transpose.data + edge_bytes;
    *out = (struct gnn_cpu_transpose){.edge = state->transpose.data, .start = start, .edges = (uint32_t)edges};
    count_edges(out, b, self);
    return true;
}

/* SPDX-License-Identifier: MIT */
#include "systems/agnes/targets.h"

#include <assert.h>

uint64_t agnes_targets_bytes(uint64_t targets, uint64_t positions)
{
    const uint64_t bytes =
        gnn_mul_bytes(targets, 2 * sizeof(struct agnes_target) + gnn_mul_bytes(2 * sizeof(uint32_t), positions));
    return bytes + bytes / 16; /* buffers that grow */
}

void agnes_targets_open(struct gnn_world *world, struct agnes_targets *out)
{
    *out = (struct agnes_targets){
        .world = world,
        .all = {.name = "agnes targets"},
        .next = {.name = "agnes targets"},
        .lists = {{.name = "agnes positions of targets"}, {.name = "agnes positions of targets"}}};
}

void agnes_targets_close(struct agnes_targets *targets)
{
    if (targets->world == NULL)
        return;
    gnn_buffer_close(targets->world, &targets->all);
    gnn_buffer_close(targets->world, &targets->next);
    for (int i = 0; i < 2; i++)
        gnn_buffer_close(targets->world, &targets->lists[i]);
    *targets = (struct agnes_targets){.world = NULL};
}

enum gnn_status agnes_targets_begin(struct agnes_targets *targets, const uint32_t *seeds, uint32_t batches,
                                    struct gnn_err *err)
{
    uint64_t count = 0, t = 0;
    for (uint32_t j = 0; j < batches; j++)
        count += seeds[j];
    targets->count = 0;
    targets->turn = 0;
    GNN_TRY(gnn_buffer_reserve(targets->world, &targets->all, count * sizeof(struct agnes_target), err));
    GNN_TRY(gnn_buffer_reserve(targets->world, &targets->next, count * sizeof(struct agnes_target), err));
    GNN_TRY(gnn_buffer_reserve(targets->world, &targets->lists[0], count * sizeof(uint32_t), err));
    struct agnes_target *const all = targets->all.data;
    uint32_t *const positions = targets->lists[0].data;
    for (uint32_t j = 0; j < batches; j++)
        for (uint32_t p = 0; p < seeds[j]; p++, t++) {
            all[t] = (struct agnes_target){.batch = j, .count = 1, .start = t};
            positions[t] = p;
        }
    assert(t == count);
    targets->count = count;
    return GNN_OK;
}

enum gnn_status agnes_targets_reserve(struct agnes_targets *targets, uint32_t fanout, struct gnn_err *err)
{
    struct agnes_target *const next = targets->next.data;
    uint64_t start = 0;
    for (uint64_t t = 0; t < targets->count; t++) {
        const struct agnes_target *const now = agnes_targets_at(targets, t);
        next[t] = (struct agnes_target){.batch = now->batch, .start = start};
        start += now->count * (UINT64_C(1) + fanout);
    }
    return gnn_buffer_reserve(targets->world, &targets->lists[targets->turn ^ 1], start * sizeof(uint32_t), err);
}

uint64_t agnes_targets_grow(struct agnes_targets *targets, uint64_t first, uint64_t end, const uint32_t *row_start,
                            const uint32_t *col, uint32_t *marks, uint32_t *stamp)
{
    struct agnes_target *const next = targets->next.data;
    uint32_t *const grown = targets->lists[targets->turn ^ 1].data;
    uint64_t looked = 0;
    for (uint64_t t = first; t < end; t++) {
        const uint32_t *const positions = agnes_targets_positions(targets, t);
        const uint32_t count = agnes_targets_at(targets, t)->count, mark = ++*stamp;
        uint32_t *const out = grown + next[t].start;
        uint32_t n = 0;
        assert(mark != 0);
        for (uint32_t i = 0; i < count; i++) {
            marks[positions[i]] = mark;
            out[n++] = positions[i];
        }
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t e = row_start[positions[i]]; e < row_start[positions[i] + 1]; e++, looked++)
                if (marks[col[e]] != mark) {
                    marks[col[e]] = mark;
                    out[n++] = col[e];
                }
        next[t].count = n;
    }
    return looked;
}

void agnes_targets_turn(struct agnes_targets *targets)
{
    const struct gnn_buffer all = targets->all;
    targets->all = targets->next;
    targets->next = all;
    targets->turn ^= 1;
}

/* SPDX-License-Identifier: MIT */
#include "harness/sample/sort_row.h"

#include "harness/sample/lanes.h"

#include <assert.h>
#include <string.h>

enum { LANES = 16 };
_Static_assert(GNN_FANOUT_MAX % LANES == 0, "a row fits into whole vectors");

/* Sixteen columns side by side: the compiler makes of it what the processor has. */
typedef uint32_t columns __attribute__((vector_size(4 * LANES)));

/* Every column goes to the place of its rank: how many come before it, equal ones in their order. No jump depends on a
 * value, so that nothing waits for a jump foreseen wrongly, as insertion does at each column that repeats a node of the
 * mini-batch. */
void gnn_sort_row(uint32_t *row, uint32_t count, uint64_t readable)
{
    static const columns lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    uint32_t value[GNN_FANOUT_MAX], rank[GNN_FANOUT_MAX];
    if (count < 2)
        return;
    for (uint32_t first = 0; first < count; first += LANES) {
        columns values = {0}, ranks = {0};
        if (first + LANES <= readable)
            memcpy(&values, row + first, sizeof values);
        else
            memcpy(&values, row + first, (count - first) * sizeof *row);
        for (uint32_t i = 0; i < count; i++) {
            const columns after = (columns)(lane + first > i); /* all bits: places behind i */
            ranks -= (columns)(row[i] < values - after);       /* behind it an equal one comes later, too */
        }
        memcpy(value + first, &values, sizeof values);
        memcpy(rank + first, &ranks, sizeof ranks);
    }
    for (uint32_t i = 0; i < count; i++)
        row[rank[i]] = value[i];
}

/* Up to GNN_LANES rows one behind the other. */
struct group {
    uint32_t first[GNN_LANES]; /* column of each; lanes without a row repeat the last one */
    gnn_lanes length;
    uint32_t count, longest;
    uint32_t end; /* behind the last row */
};

static void find_rows(const uint32_t *row_start, uint32_t origin, uint32_t count, struct group *group)
{
    group->count = count;
    group->longest = 0;
    group->end = row_start[count] - origin;
    for (uint32_t lane = 0; lane < GNN_LANES; lane++) {
        const uint32_t row = gnn_min_u32(lane, count - 1), length = row_start[row + 1] - row_start[row];
        group->first[lane] = row_start[row] - origin;
        group->length[lane] = length;
        group->longest = gnn_max_u32(group->longest, length);
    }
    assert(group->longest <= GNN_FANOUT_MAX);
}

/* Moves each column of every row past the larger ones before it. What comes behind a row counts as larger than any. */
static void order(const uint32_t *in, const struct group *group, gnn_lanes *sorted)
{
    for (uint32_t i = 0; i < group->longest; i++) {
        gnn_lanes column;
        for (uint32_t lane = 0; lane < GNN_LANES; lane++)
            column[lane] = in[group->first[lane] + i];
        column |= (gnn_lanes)(group->length <= i);
        for (uint32_t k = 0; k < i; k++)
            gnn_lanes_order(&sorted[k], &column);
        sorted[i] = column;
    }
}

/* Writes each row as if it were the longest, so that no jump depends on its length: the next writes over the rest. */
static void put(const gnn_lanes *sorted, const struct group *group, uint32_t *out)
{
    for (uint32_t lane = 0; lane < group->count; lane++) {
        const uint32_t *const column = (const uint32_t *)sorted + lane;
        const uint32_t count = gnn_min_u32(group->longest, group->end - group->first[lane]);
        for (uint32_t i = 0; i < count; i++)
            out[group->first[lane] + i] = column[(size_t)i * GNN_LANES];
    }
}

static void sort_one_by_one(const uint32_t *in, const struct group *group, uint32_t *out)
{
    memmove(out + group->first[0], in + group->first[0], (group->end - group->first[0]) * sizeof *out);
    for (uint32_t lane = 0; lane < group->count; lane++)
        gnn_sort_row(out + group->first[lane], group->length[lane], group->end - group->first[lane]);
}

void gnn_sort_rows(const uint32_t *in, const uint32_t *row_start, uint32_t row_count, uint64_t readable, uint32_t *out)
{
    for (uint32_t at = 0; at < row_count; at += GNN_LANES) {
        gnn_lanes sorted[GNN_FANOUT_MAX];
        struct group group;
        find_rows(row_start + at, row_start[0], gnn_min_u32(row_count - at, GNN_LANES), &group);
        if (group.first[GNN_LANES - 1] + (uint64_t)group.longest > readable) {
            sort_one_by_one(in, &group, out);
            continue;
        }
        order(in, &group, sorted);
        put(sorted, &group, out);
    }
}

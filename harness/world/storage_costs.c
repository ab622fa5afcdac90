/* SPDX-License-Identifier: MIT */
#include "harness/world/storage_costs.h"

#include <assert.h>

/* Returns the time between two reads of `bytes` at depth d: between the sizes of the grid and beyond its largest in
 * proportion, below its smallest as of that. */
static uint64_t read_ps(const struct gnn_profile_storage *st, uint64_t bytes, uint32_t d)
{
    const uint32_t last = st->size_count - 1;
    if (bytes <= st->size_bytes[0])
        return st->read_ps[0][d];
    if (bytes > st->size_bytes[last])
        return st->read_ps[last][d] * bytes / st->size_bytes[last];
    uint32_t s = 1;
    while (st->size_bytes[s] < bytes)
        s++;
    const uint64_t above = bytes - st->size_bytes[s - 1], below = st->size_bytes[s] - bytes;
    return (st->read_ps[s - 1][d] * below + st->read_ps[s][d] * above) / (above + below);
}

/* Returns the least over the depths, and over the larger reads of the grid, which would bring the bytes as well. */
static uint64_t best_read_ps(const struct gnn_profile_storage *st, uint64_t bytes)
{
    uint64_t best = UINT64_MAX;
    for (uint32_t d = 0; d < st->depth_count; d++) {
        best = gnn_min_u64(best, read_ps(st, bytes, d));
        for (uint32_t s = 0; s < st->size_count; s++)
            if (st->size_bytes[s] >= bytes)
                best = gnn_min_u64(best, st->read_ps[s][d]);
    }
    return best;
}

void gnn_storage_costs_of(const struct gnn_profile_storage *st, uint64_t read_bytes, struct gnn_storage_costs *out)
{
    const uint64_t ps_per_s = UINT64_C(1000000000000);
    const uint64_t rate = st->write_sustained_bytes_per_s > 0 ? st->write_sustained_bytes_per_s : st->write_bytes_per_s;
    assert(st->size_count > 0);
    assert(st->devices > 0);
    assert(st->depth[0] == 1);
    assert(rate > 0);
    assert(read_bytes > 0);
    *out = (struct gnn_storage_costs){.read_ps = best_read_ps(st, read_bytes) / st->devices,
                                      .alone_ps = read_ps(st, read_bytes, 0),
                                      .page_ps = UINT64_MAX,
                                      .page_write_ps = ps_per_s / st->devices * GNN_PAGE_BYTES / rate};
    for (uint32_t s = 0; s < st->size_count; s++) {
        const uint64_t ps = best_read_ps(st, st->size_bytes[s]) * GNN_PAGE_BYTES / st->size_bytes[s];
        out->page_ps = gnn_min_u64(out->page_ps, ps / st->devices);
    }
}

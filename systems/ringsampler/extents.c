/* SPDX-License-Identifier: MIT */
#include "systems/ringsampler/extents.h"

#include "harness/base/id_width.h"

#include <assert.h>

uint32_t rs_bits(uint64_t largest)
{
    return largest == 0 ? 1 : 64 - (uint32_t)__builtin_clzll(largest);
}

struct rs_extent rs_extent_at(const struct rs_extent_rules *rules, const uint64_t *entries, uint64_t begin,
                              uint64_t count)
{
    assert(begin < count);
    assert(rules->units_max > 0);
    struct rs_extent x = {
        .begin = begin, .end = begin + 1, .first_unit = rs_unit_of(rules, entries[begin]), .units = 1};
    for (; !rules->one_each && x.end < count; x.end++) {
        const uint64_t unit = rs_unit_of(rules, entries[x.end]);
        assert(unit >= x.first_unit + x.units - 1);
        if (!rs_extent_reaches(rules, &x, unit))
            break;
        x.units = unit - x.first_unit + 1;
    }
    return x;
}

/* Compiled for each width on its own. */
static inline void scatter(const struct rs_extent_rules *rules, const uint64_t *entries, const struct rs_extent *extent,
                           const void *data, uint32_t id_bytes, uint32_t *out)
{
    const uint64_t first = extent->first_unit << rules->unit_shift;
    const uint64_t slot_mask = (UINT64_C(1) << rules->slot_bits) - 1;
    for (uint64_t e = extent->begin; e < extent->end; e++) {
        const uint64_t entry = entries[e & rules->index_mask];
        out[entry & slot_mask] = gnn_id_at(data, id_bytes, (entry >> rules->slot_bits) - first);
    }
}

void rs_extent_scatter(const struct rs_extent_rules *rules, const uint64_t *entries, const struct rs_extent *extent,
                       const void *data, uint32_t *out)
{
    assert(extent->begin < extent->end);
    if (rules->id_bytes == sizeof *out)
        scatter(rules, entries, extent, data, sizeof *out, out);
    else
        scatter(rules, entries, extent, data, sizeof(uint64_t), out);
}

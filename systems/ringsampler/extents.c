#include "systems/ringsampler/extents.h"

#include "harness/base/id_width.h"

#include <assert.h>

enum { PART_BITS = 8, INSERTION_MAX = 32 };
_Static_assert(RS_PARTS == 1 << PART_BITS, "a part for every value of the bits");

uint32_t rs_bits(uint64_t largest)
{
    return largest == 0 ? 1 : 64 - (uint32_t)__builtin_clzll(largest);
}

static void insertion_sort(uint64_t *keys, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        const uint64_t key = keys[i];
        uint64_t at = i;
        for (; at > 0 && keys[at - 1] > key; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* In place (McIlroy, Bostic, McIlroy, "Engineering Radix Sort", 1993): every key is carried to its group, and the key
 * that stood there is carried on. */
void rs_partition(uint64_t *keys, uint64_t count, uint32_t high_bit, uint64_t starts[RS_PARTS + 1])
{
    assert(high_bit <= 64);
    const uint32_t shift = high_bit > PART_BITS ? high_bit - PART_BITS : 0;
    uint64_t next[RS_PARTS] = {0};
    for (uint64_t i = 0; i < count; i++)
        next[keys[i] >> shift & (RS_PARTS - 1)]++;
    uint64_t sum = 0;
    for (uint32_t g = 0; g < RS_PARTS; g++) {
        starts[g] = sum;
        sum += next[g];
        next[g] = starts[g];
    }
    starts[RS_PARTS] = sum;
    for (uint32_t g = 0; g < RS_PARTS; g++)
        while (next[g] < starts[g + 1]) {
            uint64_t key = keys[next[g]];
            for (uint32_t home = key >> shift & (RS_PARTS - 1); home != g; home = key >> shift & (RS_PARTS - 1)) {
                const uint64_t carried = keys[next[home]];
                keys[next[home]++] = key;
                key = carried;
            }
            keys[next[g]++] = key;
        }
}

void rs_sort(uint64_t *keys, uint64_t count, uint32_t low_bit, uint32_t high_bit)
{
    if (count <= INSERTION_MAX) {
        insertion_sort(keys, count);
        return;
    }
    if (high_bit <= low_bit)
        return;
    uint64_t starts[RS_PARTS + 1];
    rs_partition(keys, count, high_bit, starts);
    if (high_bit <= low_bit + PART_BITS)
        return; /* the bits below low_bit need not be in order */
    for (uint32_t g = 0; g < RS_PARTS; g++)
        if (starts[g + 1] - starts[g] > 1)
            rs_sort(keys + starts[g], starts[g + 1] - starts[g], low_bit, high_bit - PART_BITS);
}

uint64_t rs_sort_work(uint64_t count)
{
    uint64_t steps = 1;
    for (uint64_t group = count; group > INSERTION_MAX; group /= RS_PARTS)
        steps++;
    return gnn_mul_bytes(count, steps);
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

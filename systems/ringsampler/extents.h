/* SPDX-License-Identifier: MIT */
/* Positions with the slots of their values, sorted by place in the file and joined into reads: the coalescing of
 * grouped.c and sorted.c.
 *
 * An entry is position << slot_bits | slot. The slot is an index into a u32 array (`out`). */
#ifndef RINGSAMPLER_EXTENTS_H
#define RINGSAMPLER_EXTENTS_H

#include "harness/base/sort_keys.h"
#include "harness/oocgnn.h"

/* Returns the bits that values up to `largest` take, at least 1. */
uint32_t rs_bits(uint64_t largest);

struct rs_extent_rules {
    uint32_t slot_bits;
    uint32_t unit_shift; /* the smallest read (a sector or block) holds 2^unit_shift positions */
    uint64_t gap_units;  /* unneeded units that a read continues through */
    uint64_t units_max;  /* of one read */
    uint64_t index_mask; /* entries are a circular array of index_mask + 1; UINT64_MAX: a plain one */
    bool one_each;       /* a read for every entry, even if entries share units */
    uint32_t id_bytes;   /* of a value in the file: 4 or 8 */
};

/* A read: units [first_unit, first_unit + units), for entries [begin, end). */
struct rs_extent {
    uint64_t begin, end;
    uint64_t first_unit, units;
};

static inline uint64_t rs_unit_of(const struct rs_extent_rules *rules, uint64_t entry)
{
    return entry >> rules->slot_bits >> rules->unit_shift;
}

/* Returns whether the read may be extended to `unit`, which must not be before its last unit. */
static inline bool rs_extent_reaches(const struct rs_extent_rules *rules, const struct rs_extent *extent, uint64_t unit)
{
    return unit <= extent->first_unit + extent->units + rules->gap_units &&
           unit - extent->first_unit < rules->units_max;
}

/* Returns the read that starts with entries[begin]; entries (count > begin) are sorted unless one_each. */
struct rs_extent rs_extent_at(const struct rs_extent_rules *rules, const uint64_t *entries, uint64_t begin,
                              uint64_t count);
/* Stores out[slot] = value for the extent's entries. data has the extent's units. */
void rs_extent_scatter(const struct rs_extent_rules *rules, const uint64_t *entries, const struct rs_extent *extent,
                       const void *data, uint32_t *out);

#endif

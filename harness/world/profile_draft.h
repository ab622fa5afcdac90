/* SPDX-License-Identifier: MIT */
/* What a profile's text says so far, and what reads it: profile_value.c one figure, profile_grid.c the read grid,
 * profile_parse.c the keys and the whole. A file of this list calls those before it. Internal to them. */
#ifndef GNN_WORLD_PROFILE_DRAFT_H
#define GNN_WORLD_PROFILE_DRAFT_H

#include "harness/base/ini.h"
#include "harness/base/near_miss.h"
#include "harness/world/profile.h"

#include <xxhash.h>

enum unit {
    UNIT_COUNT,
    UNIT_BYTES,
    UNIT_PS,
    UNIT_NS,
    UNIT_PLAIN_US, /* microseconds without a unit, as rows of the read grid have them */
    UNIT_RATE,
    UNIT_PER_S,
    UNIT_FLOPS,
    UNIT_HZ,
    UNIT_VERSION,
    UNIT_CORES,
    UNIT_MOMENT,
    UNIT_TEXT
};

#define COUNT_MAX UINT64_C(65536)
#define RATE_MAX UINT64_C(1000000000000000000)
#define SECOND_PS UINT64_C(1000000000000)
#define SECOND_NS UINT64_C(1000000000)

enum { GNN_PROFILE_KEYS_MAX = 128 }; /* of the table in profile_parse.c */

/* The figures as they are read, before they become a profile. */
struct draft {
    struct gnn_profile profile;
    uint64_t read_latency_ps, read_iops, read_bytes_per_s;
    char costs[GNN_NAME_MAX];
    char model[128];
};

struct parse {
    const char *path; /* of the file being read: the profile's or that of its costs */
    struct draft draft;
    bool seen[GNN_PROFILE_KEYS_MAX];
    uint32_t depths_line, gpu_line;
    bool released;      /* the file is one of [released] costs */
    XXH3_state_t *hash; /* over the texts read */
    struct gnn_err *err;
};

/* ---- profile_value.c ---- */
/* Parses text[0..len) in the unit: bytes, picoseconds, nanoseconds, a rate a second, thousandths of a core, 1000 x
 * major + minor of a version, seconds since 1970. Returns false where it is none, or no whole number of those. */
bool gnn_profile_value(enum unit unit, const char *text, size_t len, uint64_t *out);
/* Returns what a message calls for: "a size as 512, 128K, 24G". */
const char *gnn_profile_unit_words(enum unit unit);
/* Fails with file, line, key and value, and `what` is wrong with it. */
GNN_MUST_CHECK enum gnn_status gnn_profile_refuse(struct parse *p, const struct gnn_ini_entry *entry, const char *what);
/* A figure is followed by where it comes from: a word, then perhaps ": why". *figure_len is the first part. */
GNN_MUST_CHECK enum gnn_status gnn_profile_check_source(struct parse *p, const struct gnn_ini_entry *entry,
                                                        size_t *figure_len);

/* ---- profile_grid.c ---- */
/* Returns whether a key of [storage] is one of the grid: read_depths, read_us.SIZE, read_scattered_us.SIZE. */
bool gnn_profile_is_of_grid(const char *key);
/* Offers the keys of the grid, with the size that the key seems to end in: behind its dot, or from its first digit. */
void gnn_profile_offer_grid(struct gnn_near_miss *near, const char *key);
/* Parses the entry of such a key. GNN_EFORMAT. */
GNN_MUST_CHECK enum gnn_status gnn_profile_parse_grid(struct parse *p, const struct gnn_ini_entry *entry);
/* Fills the grid from latency, IOPS and bandwidth; none was given. */
void gnn_profile_expand_curve(struct draft *draft);

#endif

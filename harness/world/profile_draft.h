/* SPDX-License-Identifier: MIT */
/* The state of parsing a profile's text, and the functions that do it. They are in profile_value.c (one parameter),
 * profile_file.c (name and digest), profile_grid.c (the read grid) and profile_parse.c (the keys and the whole). Each
 * of these files calls only those before it. Internal to these files. */
#ifndef GNN_WORLD_PROFILE_DRAFT_H
#define GNN_WORLD_PROFILE_DRAFT_H

#include "harness/base/ini.h"
#include "harness/base/near_miss.h"
#include "harness/world/profile.h"

#include <xxhash.h>

enum unit {
    UNIT_COUNT,
    UNIT_BYTES,
    UNIT_PS, /* from here to UNIT_CORES: times and rates */
    UNIT_NS,
    UNIT_PLAIN_US, /* microseconds without a unit, as in rows of the read grid */
    UNIT_RATE,
    UNIT_PER_S,
    UNIT_FLOPS,
    UNIT_CORES,
    UNIT_HZ,
    UNIT_VERSION,
    UNIT_MOMENT,
    UNIT_TEXT
};

#define COUNT_MAX UINT64_C(65536)
#define RATE_MAX UINT64_C(1000000000000000000)
#define SECOND_PS UINT64_C(1000000000000)
#define SECOND_NS UINT64_C(1000000000)

enum { GNN_PROFILE_KEYS_MAX = 128 }; /* keys in the table of profile_parse.c */

/* The parameters as they are read, before they become a profile. */
struct draft {
    struct gnn_profile profile;
    char costs[GNN_NAME_MAX];
    char model[128];
};

struct parse {
    const char *path; /* of the file being read: the profile or its costs */
    struct draft draft;
    bool seen[GNN_PROFILE_KEYS_MAX];
    uint32_t depths_line, gpu_line;
    bool released;         /* the file is a file of [released] costs */
    const char *gpu_model; /* released: of the profile that gets the costs; "": none or not known */
    XXH3_state_t *hash;    /* over the texts read */
    struct gnn_err *err;
};

/* ---- profile_file.c ---- */
/* Takes the name of the profile from the path of its file, or returns GNN_EUSAGE if it is empty or too long. */
GNN_MUST_CHECK enum gnn_status gnn_profile_set_name(struct parse *p);
GNN_MUST_CHECK enum gnn_status gnn_profile_begin_hash(struct parse *p); /* or GNN_ENOMEM */
/* Ends the hash over everything that was read. */
void gnn_profile_end_hash(struct parse *p, char digest[40]);

/* ---- profile_value.c ---- */
/* Parses text[0..len) in the unit: bytes, picoseconds, nanoseconds, a rate per second, thousandths of a core, 1000 x
 * major + minor of a version, seconds since 1970. Returns false if the text is not such a value, or not a whole number
 * of these. */
bool gnn_profile_value(enum unit unit, const char *text, size_t len, uint64_t *out);
/* Writes and returns the value with the largest unit that is not above it: "2.5us". */
const char *gnn_profile_format(enum unit unit, uint64_t value, char *text, size_t text_bytes);
/* Returns a description of the unit for messages: "a size as 512, 128K, 24G". */
const char *gnn_profile_unit_words(enum unit unit);
/* Returns GNN_EFORMAT with file, line, key, value and the reason `what`. */
GNN_MUST_CHECK enum gnn_status gnn_profile_refuse(struct parse *p, const struct gnn_ini_entry *entry, const char *what);
/* Checks the source behind a parameter: a word, then optionally ": why". *figure_len is the length of the parameter.
 * Returns GNN_EFORMAT if there is no valid source. */
GNN_MUST_CHECK enum gnn_status gnn_profile_check_source(struct parse *p, const struct gnn_ini_entry *entry,
                                                        size_t *figure_len);

/* ---- profile_grid.c ---- */
/* Returns whether a key of [storage] belongs to the grid: read_depths, read_us.SIZE, read_scattered_us.SIZE. */
bool gnn_profile_is_of_grid(const char *key);
/* Offers the keys of the grid as near misses, with the size at the end of `key`: behind its dot, or from its first
 * digit. */
void gnn_profile_offer_grid(struct gnn_near_miss *near, const char *key);
/* Parses the entry of such a key, or returns GNN_EFORMAT. */
GNN_MUST_CHECK enum gnn_status gnn_profile_parse_grid(struct parse *p, const struct gnn_ini_entry *entry);
/* Fills the grid from latency, IOPS and bandwidth. The profile must not have a grid. */
void gnn_profile_expand_curve(struct draft *draft);

#endif

/* SPDX-License-Identifier: MIT */
/* Sizes, times and ratios as people write them. One table serves parsing and printing. */
#ifndef GNN_BASE_UNITS_H
#define GNN_BASE_UNITS_H

#include "harness/oocgnn.h"

/* "320M" = 320 MiB (the papers' GB are GiB, as docker and cgroups read them); K M G T, optional iB or B; "1.5G"; plain
 * digits are bytes. GNN_EUSAGE on anything else ("16GB!", "-1", overflow). */
GNN_MUST_CHECK enum gnn_status gnn_parse_bytes(const char *text, uint64_t *out, struct gnn_err *err);

/* "30m", "90s", "1.5h", "250ms", "10us", "5ns"; plain digits are seconds. */
GNN_MUST_CHECK enum gnn_status gnn_parse_duration_ns(const char *text, uint64_t *out, struct gnn_err *err);

/* "1/100" or "0.01" or "1": scale = 1 / K with K integer >= 1. */
GNN_MUST_CHECK enum gnn_status gnn_parse_scale(const char *text, uint32_t *divisor, struct gnn_err *err);

/* Plain decimal integers, nothing else. */
GNN_MUST_CHECK enum gnn_status gnn_parse_u64(const char *text, uint64_t *out, struct gnn_err *err);

/* "10,10,10" into values[0..*count); at most max entries, each in [1, limit]. */
GNN_MUST_CHECK enum gnn_status gnn_parse_u32_list(const char *text, uint32_t *values, uint32_t max, uint32_t limit,
                                                  uint32_t *count, struct gnn_err *err);

/* "2026-11-24T17:33:34Z", ISO 8601 in UTC to the second and nothing shorter, into seconds since 1970; from then on. */
GNN_MUST_CHECK enum gnn_status gnn_parse_utc(const char *text, uint64_t *unix_s, struct gnn_err *err);

/* "1.50 GiB", "12.3 s", "98.1 k": for people, three significant digits or more; return text. */
const char *gnn_format_bytes(uint64_t bytes, char *text, size_t text_bytes);
const char *gnn_format_duration(uint64_t ns, char *text, size_t text_bytes);
const char *gnn_format_count(double count, char *text, size_t text_bytes);
/* As gnn_parse_utc reads it: GNN_UTC_BYTES are room enough. Up to the year 9999. */
enum { GNN_UTC_BYTES = sizeof "2026-11-24T17:33:34Z" };
const char *gnn_format_utc(uint64_t unix_s, char *text, size_t text_bytes);

#endif

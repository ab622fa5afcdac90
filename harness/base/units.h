/* SPDX-License-Identifier: MIT */
/* Sizes, times and ratios as people write them. One table serves parsing and printing. */
#ifndef GNN_BASE_UNITS_H
#define GNN_BASE_UNITS_H

#include "harness/oocgnn.h"

/* Parses a size. "320M" is 320 MiB: the papers' GB are GiB, as docker and cgroups read them. Units are K, M, G and T,
 * with optional iB or B; "1.5G" is valid, and plain digits are bytes. Returns GNN_EUSAGE for anything else ("16GB!",
 * "-1", overflow). */
GNN_MUST_CHECK enum gnn_status gnn_parse_bytes(const char *text, uint64_t *out, struct gnn_err *err);

/* Parses a duration: "30m", "90s", "1.5h", "250ms", "10us", "5ns"; plain digits are seconds. Returns GNN_EUSAGE for
 * anything else. */
GNN_MUST_CHECK enum gnn_status gnn_parse_duration_ns(const char *text, uint64_t *out, struct gnn_err *err);

/* Parses a scale 1/K with an integer K >= 1 into *divisor = K: "1/100", "0.01" or "1". Returns GNN_EUSAGE for anything
 * else. */
GNN_MUST_CHECK enum gnn_status gnn_parse_scale(const char *text, uint32_t *divisor, struct gnn_err *err);

/* Parses a plain decimal integer. Returns GNN_EUSAGE for anything else. */
GNN_MUST_CHECK enum gnn_status gnn_parse_u64(const char *text, uint64_t *out, struct gnn_err *err);

/* Parses "10,10,10" into values[0..*count). Returns GNN_EUSAGE for more than max entries, or an entry outside [1,
 * limit]. */
GNN_MUST_CHECK enum gnn_status gnn_parse_u32_list(const char *text, uint32_t *values, uint32_t max, uint32_t limit,
                                                  uint32_t *count, struct gnn_err *err);

/* Parses ISO 8601 in UTC, "2026-11-24T17:33:34Z", into seconds since 1970. Returns GNN_EUSAGE for shorter forms and for
 * times before 1970. */
GNN_MUST_CHECK enum gnn_status gnn_parse_utc(const char *text, uint64_t *unix_s, struct gnn_err *err);

/* Write "1.50 GiB", "12.3 s" or "98.1 k" for people, with at least three significant digits or a whole number. Return
 * text. */
const char *gnn_format_bytes(uint64_t bytes, char *text, size_t text_bytes);
const char *gnn_format_duration(uint64_t ns, char *text, size_t text_bytes);
const char *gnn_format_count(double count, char *text, size_t text_bytes);
/* Writes the time as gnn_parse_utc() reads it, up to the year 9999. text_bytes >= GNN_UTC_BYTES is enough. Returns
 * text. */
enum { GNN_UTC_BYTES = sizeof "2026-11-24T17:33:34Z" };
const char *gnn_format_utc(uint64_t unix_s, char *text, size_t text_bytes);

#endif

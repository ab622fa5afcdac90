/* SPDX-License-Identifier: MIT */
/* Values as reports write them; "-" is unknown. Each function returns `text` or a constant. */
#ifndef GNN_RECORD_REPORT_CELLS_H
#define GNN_RECORD_REPORT_CELLS_H

#include "harness/base/units.h"
#include "harness/oocgnn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 32 };

static inline const char *bytes_text(uint64_t bytes, char text[TEXT_BYTES])
{
    return bytes == GNN_UNKNOWN ? "-" : gnn_format_bytes(bytes, text, TEXT_BYTES);
}

/* Writes seconds, so that the values of a column are easy to compare. */
static inline const char *time_text(uint64_t ns, char text[TEXT_BYTES])
{
    if (ns == GNN_UNKNOWN)
        return "-";
    const double seconds = 1e-9 * (double)ns;
    (void)snprintf(text, TEXT_BYTES, "%.*f", seconds >= 100 ? 1 : seconds >= 1 ? 2 : 4, seconds);
    return text;
}

static inline const char *count_text(uint64_t count, char text[TEXT_BYTES])
{
    return count == GNN_UNKNOWN ? "-" : gnn_format_count((double)count, text, TEXT_BYTES);
}

static inline const char *pct_text(double pct, const char *format, char text[TEXT_BYTES])
{
    if (!isfinite(pct))
        return "-";
    (void)snprintf(text, TEXT_BYTES, strcmp(format, "2") == 0 ? "%.2f" : "%.1f", pct);
    return text;
}

static inline const char *or_dash(const char *text)
{
    return text[0] == '\0' ? "-" : text;
}

#endif

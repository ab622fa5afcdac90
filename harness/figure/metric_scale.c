/* SPDX-License-Identifier: MIT */
#include "harness/figure/metric.h"

#include <ctype.h>
#include <string.h>

/* Returns whether the name is that of a quantile: the time of one request is the same at every scale. */
static bool is_quantile(const char *name)
{
    for (const char *at = name; (at = strstr(at, "_p")) != NULL; at += 2)
        if (isdigit((unsigned char)at[2]))
            return true;
    return false;
}

bool gnn_metric_shrinks(const char *name)
{
    static const char *const units[] = {"_s", "_min", "_ns", "_gib", "_bytes"};
    static const char *const counts[] = {"reads", "asks", "nodes", "edges"};
    const size_t length = strcspn(name, "@"); /* an epoch follows */
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const size_t part = strlen(counts[i]);
        if (strncmp(name, counts[i], part) == 0 && (part == length || name[part] == '.'))
            return true;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t part = strlen(units[i]);
        if (length > part && strncmp(name + length - part, units[i], part) == 0)
            return !is_quantile(name);
    }
    return false;
}

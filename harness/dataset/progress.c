/* SPDX-License-Identifier: MIT */
#include "harness/base/units.h"
#include "harness/dataset/prepare.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "features-d128    42 %  1.20 GiB/s  3.1 s left" */
void gnn_progress_terminal(void *ctx, const struct gnn_progress *progress)
{
    FILE *out = ctx;
    if (!isatty(fileno(out)))
        return;
    char rate[32], left[32] = "";
    const bool bytes = strcmp(progress->unit, "B") == 0;
    if (bytes)
        (void)gnn_format_bytes((uint64_t)progress->rate, rate, sizeof rate);
    else
        (void)gnn_format_count(progress->rate, rate, sizeof rate);
    const double share = progress->total > 0 ? 100.0 * (double)progress->done / (double)progress->total : 100;
    if (!progress->phase_ended && progress->left_s >= 0)
        (void)gnn_format_duration((uint64_t)(progress->left_s * 1e9), left, sizeof left);
    (void)fprintf(out, "\r\033[K%-16s %3.0f %%  %s%s%s/s%s%s", progress->phase, share, rate, bytes ? "" : " ",
                  bytes ? "" : progress->unit, left[0] != '\0' ? "  " : "", left);
    (void)fputs(progress->phase_ended ? "\n" : left[0] != '\0' ? " left" : "", out);
    (void)fflush(out);
}

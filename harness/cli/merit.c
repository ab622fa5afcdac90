/* SPDX-License-Identifier: MIT */
#include "harness/cli/merit.h"

#include "harness/record/summary.h"

#include <math.h>
#include <stdlib.h>

static double error_of(const struct gnn_figure_ratio *ratio)
{
    return fabs(gnn_figure_ratio_error(ratio->ours, ratio->published));
}

static bool is_beyond_1(const struct gnn_figure_ratio *ratio)
{
    return (ratio->published > 1 && ratio->ours <= 1) || (ratio->published < 1 && ratio->ours >= 1);
}

/* Errors of all ratios or of quotients, as they are or with every one 1, into errors; returns how many. */
static uint32_t take_errors(const struct gnn_figure_ratios *ratios, bool quotients, bool all_1, double *errors)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ratios->count; i++) {
        const struct gnn_figure_ratio *const row = &ratios->rows[i];
        if (row->is_quotient || !quotients)
            errors[count++] = all_1 ? fabs(log2(row->published)) : error_of(row);
    }
    return count;
}

enum gnn_status gnn_figure_ratios_merit(const struct gnn_figure_ratios *ratios, double about,
                                        struct gnn_ratio_merit *out, struct gnn_err *err)
{
    double *errors;
    const double none = (double)NAN;
    *out = (struct gnn_ratio_merit){.median = none, .quotient_median = none, .null_median = none};
    if (ratios->count == 0)
        return GNN_OK;
    GNN_NEW(errors, ratios->count, err, "the errors of %u ratios", ratios->count);
    for (uint32_t i = 0; i < ratios->count; i++) {
        const struct gnn_figure_ratio *const row = &ratios->rows[i];
        const double error = error_of(row);
        out->near += error <= log2(about) ? 1 : 0;
        out->within_2 += error <= 1 ? 1 : 0;
        out->beyond_1 += row->is_quotient && is_beyond_1(row) ? 1 : 0;
        if (out->worst == NULL || error > error_of(out->worst))
            out->worst = row;
    }
    out->median = gnn_median(errors, take_errors(ratios, false, false, errors));
    out->quotients = take_errors(ratios, true, false, errors);
    if (out->quotients > 0) {
        out->quotient_median = gnn_median(errors, out->quotients);
        out->null_median = gnn_median(errors, take_errors(ratios, true, true, errors));
    }
    free(errors);
    return GNN_OK;
}

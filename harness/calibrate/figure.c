/* SPDX-License-Identifier: MIT */
#include "harness/calibrate/figure.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct gnn_figure gnn_figure_of(double *values, uint32_t count)
{
    assert(count > 0);
    qsort(values, count, sizeof *values, compare);
    const double median = count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
    /* Of three values the quartiles are the outer two: half of them lie between. */
    const double apart = values[count - 1 - count / 4] - values[count / 4];
    return (struct gnn_figure){.value = median, .spread = median != 0 ? apart / fabs(median) : 0};
}

enum gnn_status gnn_figures_measure(gnn_repeat_fn *fn, void *ctx, uint32_t repeats, uint32_t count,
                                    struct gnn_figure *out, struct gnn_err *err)
{
    double seen[GNN_FIGURES_MAX][GNN_REPEATS_MAX], values[GNN_FIGURES_MAX];
    assert(repeats >= 1);
    assert(repeats <= GNN_REPEATS_MAX);
    assert(count >= 1);
    assert(count <= GNN_FIGURES_MAX);
    GNN_TRY(fn(ctx, values, err));
    for (uint32_t r = 0; r < repeats; r++) {
        GNN_TRY(fn(ctx, values, err));
        for (uint32_t i = 0; i < count; i++) {
            assert(isfinite(values[i]));
            seen[i][r] = values[i];
        }
    }
    for (uint32_t i = 0; i < count; i++)
        out[i] = gnn_figure_of(seen[i], repeats);
    return GNN_OK;
}

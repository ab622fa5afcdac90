/* SPDX-License-Identifier: MIT */
#include "harness/figure/ratio.h"

#include "harness/base/grow.h"
#include "harness/base/words.h"
#include "harness/figure/metric.h"
#include "harness/figure/values.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which predicates are ratios ---- */

/* What the leaves of a side are. */
struct side {
    const struct gnn_paper_figure *figure;
    uint32_t measured;  /* metrics of runs */
    uint32_t given;     /* sizes of the dataset, which are chosen here */
    uint32_t published; /* published values */
    uint32_t printed;   /* numbers that the paper prints */
    bool as_factor;     /* one of them is printed as a factor */
};

/* The row that prints a number for the figure as a result; NULL: none does, or as a setting or a bound. */
static const struct gnn_published_row *find_printed(const struct gnn_paper_figure *figure, double number)
{
    static const char *const relations[] = {"exact", "about", "up_to", NULL};
    static const char *const units[] = {"x", "ratio", "percent", "s", "min", "ms", "GB", "TB", "GB/s", NULL};
    for (uint32_t i = 0; i < figure->published.count; i++) {
        const struct gnn_published_row *const row = &figure->published.rows[i];
        const double value = gnn_published_value(row);
        if (gnn_figure_prints(figure, row) && isfinite(value) && fabs(value - number) <= 1e-9 * fabs(number) &&
            gnn_list_has(relations, row->relation) && gnn_list_has(units, row->unit))
            return row;
    }
    return NULL;
}

static void count_leaf(void *ctx, const char *metric, double number)
{
    struct side *const side = ctx;
    if (metric[0] != '\0') {
        if (gnn_metric_of_paper(metric))
            side->published++;
        else if (gnn_metric_of_dataset(metric))
            side->given++;
        else
            side->measured++;
        return;
    }
    /* That things are alike is no printed number. */
    const struct gnn_published_row *const row = number == 1 ? NULL : find_printed(side->figure, number);
    side->printed += row != NULL ? 1 : 0;
    side->as_factor =
        side->as_factor || (row != NULL && (strcmp(row->unit, "x") == 0 || strcmp(row->unit, "ratio") == 0));
}

bool gnn_figure_ratio_kind(const struct gnn_paper_figure *figure, const struct gnn_predicate *predicate,
                           struct gnn_ratio_kind *out)
{
    struct side left = {.figure = figure}, right = {.figure = figure};
    *out = (struct gnn_ratio_kind){.is_each = false};
    if (!gnn_predicate_is_about(predicate))
        return false;
    gnn_predicate_leaves(predicate, 0, count_leaf, &left);
    gnn_predicate_leaves(predicate, 1, count_leaf, &right);
    out->is_each = right.published > 0;
    out->is_quotient = right.as_factor || right.published + right.printed > 1;
    return left.measured > 0 && right.measured + right.given == 0 && right.published + right.printed > 0;
}

/* ---- their table ---- */

void gnn_figure_ratios_close(struct gnn_figure_ratios *ratios)
{
    free(ratios->rows);
    *ratios = (struct gnn_figure_ratios){.count = 0};
}

struct gnn_figure_ratio *gnn_figure_ratios_add(struct gnn_figure_ratios *ratios)
{
    struct gnn_figure_ratio *const rows = gnn_grow(ratios->rows, ratios->count, &ratios->room, sizeof *rows);
    if (rows == NULL)
        return NULL;
    ratios->rows = rows;
    assert(ratios->count < ratios->room);
    rows[ratios->count] = (struct gnn_figure_ratio){.ours = 0};
    return &rows[ratios->count++];
}

static int by_ours(const void *a, const void *b)
{
    const struct gnn_figure_ratio *const left = a, *const right = b;
    return (left->ours > right->ours) - (left->ours < right->ours);
}

void gnn_figure_ratios_merge(struct gnn_figure_ratios *ratios, uint32_t first)
{
    assert(first <= ratios->count);
    const uint32_t count = ratios->count - first;
    struct gnn_figure_ratio *const rows = &ratios->rows[first];
    if (count < 2)
        return;
    qsort(rows, count, sizeof *rows, by_ours);
    bool all = true;
    for (uint32_t i = 0; i < count; i++)
        all = all && rows[i].holds;
    rows[0].ours = (rows[(count - 1) / 2].ours + rows[count / 2].ours) / 2;
    rows[0].holds = all;
    (void)snprintf(rows[0].where, sizeof rows[0].where, "median of %u", count);
    ratios->count = first + 1;
}

double gnn_figure_ratio_error(double ours, double published)
{
    assert(published > 0);
    return ours > 0 ? log2(ours / published) : (double)-INFINITY;
}

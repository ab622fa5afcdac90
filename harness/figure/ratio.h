/* SPDX-License-Identifier: MIT */
/* Ratios: what was measured over what the paper prints, for the predicates that compare the two by ~. */
#ifndef GNN_FIGURE_RATIO_H
#define GNN_FIGURE_RATIO_H

#include "harness/figure/figure.h"

/* What a predicate compares with a printed number. */
struct gnn_ratio_kind {
    bool is_quotient; /* of two values: 1 means that they are equal, which percentages and rates do not have */
    bool is_each;     /* each combination has a printed number of its own */
};

/* Returns whether the predicate is a ratio, and writes its kind to *out. A ratio compares by ~. Its left side has a
 * metric that runs measure, so sizes of the dataset alone are none. Its right side has a published value, or a number
 * other than 1 that the figure's published values contain as exact, about or up_to. */
bool gnn_figure_ratio_kind(const struct gnn_paper_figure *figure, const struct gnn_predicate *predicate,
                           struct gnn_ratio_kind *out);

struct gnn_figure_ratio {
    char figure[GNN_NAME_MAX], predicate[GNN_NAME_MAX];
    char where[256]; /* "dataset=twitter"; "" if no axis is free; "median of 3" if several share a printed number */
    char reason[GNN_FIGURE_LINE];
    double ours, published;
    bool holds, is_quotient, is_each; /* as gnn_ratio_kind */
};

struct gnn_figure_ratios {
    uint32_t count, room;
    struct gnn_figure_ratio *rows; /* (count) owned */
};
void gnn_figure_ratios_close(struct gnn_figure_ratios *ratios); /* accepts a zeroed one */

/* Returns a zeroed row at the end, or NULL if memory runs out. */
struct gnn_figure_ratio *gnn_figure_ratios_add(struct gnn_figure_ratios *ratios);

/* Replaces the rows from `first` on, if they are several, by one: their median, which holds if all hold. */
void gnn_figure_ratios_merge(struct gnn_figure_ratios *ratios, uint32_t first);

/* Returns log2(ours / published): 1 if ours is twice as large. -INFINITY if ours is not positive. published > 0 */
double gnn_figure_ratio_error(double ours, double published);

#endif

/* SPDX-License-Identifier: MIT */
/* The values of a figure's configurations: from the records, and as published. */
#ifndef GNN_FIGURE_VALUES_H
#define GNN_FIGURE_VALUES_H

#include "harness/figure/figure.h"

enum { GNN_REPETITIONS_MAX = 64 }; /* most runs of a configuration */

/* Loads the recorded repetitions of every configuration, of this build or of any, at most `most` each. Returns errors
 * of the database. */
GNN_MUST_CHECK enum gnn_status gnn_figure_load(struct gnn_paper_figure *figure, bool any_build, uint32_t most,
                                               struct gnn_err *err);

/* Fills out with the figure as a source of values for predicates. out points into the figure. */
void gnn_figure_values(const struct gnn_paper_figure *figure, struct gnn_value_source *out);

/* A metric of a series at one value of each axis, over the repetitions and all values of the key in `over`. */
struct gnn_figure_value {
    enum gnn_value_state state;
    double median, least, most; /* if known; median: the mean with `average = mean` */
    uint32_t runs;
    uint32_t lost;    /* configurations without a number, of those that `over` puts together */
    const char *word; /* of these: `OOM`, `N/A`, `failed`, `not run`, ...; "": none, or not in the figure */
};
struct gnn_figure_value gnn_figure_value_at(const struct gnn_paper_figure *figure, const char *metric, uint32_t series,
                                            const uint32_t *at);

/* Finds the place that the values at `at` are relative to, by the figure's key `relative`. Returns whether there is
 * one; base may be `at` itself. */
bool gnn_figure_base(const struct gnn_paper_figure *figure, const uint32_t *at, uint32_t base[GNN_AXES_MAX]);

/* Returns whether `at` is such a place itself. */
bool gnn_figure_is_base(const struct gnn_paper_figure *figure, const uint32_t *at);

/* Returns the median of a metric there over that at its base, or NAN if one of them is unknown. */
double gnn_figure_relative(const struct gnn_paper_figure *figure, const char *metric, uint32_t series,
                           const uint32_t *at);

/* Returns the divisor of a metric's published values, to compare them with runs of the figure. It is K at scale 1/K if
 * the metric shrinks with the graph, otherwise 1. */
uint32_t gnn_figure_published_divisor(const struct gnn_paper_figure *figure, uint32_t metric);

/* Returns whether the row is of this figure. */
bool gnn_figure_prints(const struct gnn_paper_figure *figure, const struct gnn_published_row *row);

/* Returns the published row of a metric at that place, or NULL if there is none. */
const struct gnn_published_row *gnn_figure_published(const struct gnn_paper_figure *figure, uint32_t metric,
                                                     uint32_t series, const uint32_t *at);

/* Returns what the figure's published numbers are divided by: 0 without a published value, otherwise 1, or K if any of
 * them is. */
uint32_t gnn_figure_divisor_shown(const struct gnn_paper_figure *figure);

/* The accuracy of a series after each epoch, from its run that trains, with the epoch time of the other run. */
struct gnn_figure_progress {
    const struct gnn_run_record *run;
    double epoch_s;
    uint32_t epochs;              /* so far */
    double seconds, accuracy_pct; /* at the end of the last of these epochs */
};
/* Starts before the first epoch. Returns false if there is no such run; gnn_figure_progress_next() then returns false,
 * too. */
bool gnn_figure_progress_begin(struct gnn_figure_progress *progress, const struct gnn_paper_figure *figure,
                               uint32_t series, const uint32_t *at);
/* Advances to the next epoch. Returns false if there is none. */
bool gnn_figure_progress_next(struct gnn_figure_progress *progress);

/* Returns the configuration of a series at one value of each axis, or NULL if there is none. The one that trains is
 * returned only if there is no other. */
const struct gnn_figure_cell *gnn_figure_find(const struct gnn_paper_figure *figure, uint32_t series,
                                              const uint32_t *at);

/* Counts the configurations that are possible, and those of them that are recorded. */
void gnn_figure_count(const struct gnn_paper_figure *figure, uint32_t *cells, uint32_t *recorded);

#endif

/* SPDX-License-Identifier: MIT */
/* Predicates: what a paper says that its figure shows, as text in the figure's file.
 *
 *   epoch_s[A, dim=128] / epoch_s[B, dim=128] ~ 16.9     about 16.9
 *   epoch_s[A] < epoch_s[B] < epoch_s[C]                 at every combination of the axes that no value names
 *   max(epoch_s[A] / epoch_s[B]) ~ 8.76                  the largest over them; min and mean likewise
 *   rises(epoch_s[A])   falls(..)   flat(..)             along the x axis, at every combination of the others
 *   argmin(epoch_s[A]) = 1M                              where on the x axis it is least; argmax likewise
 *   oom[A, memory=8G] = 1                                1: ended so, 0: did not
 *
 * metric[SERIES, axis=value, ...]; + - * / and brackets; < <= > >=, = exactly, ~ within the tolerance for "about".
 * Numbers may end in K, M, G (1024). How far "about", "flat" and noise reach is in plots/figures/tolerances.ini alone.
 *
 * A combination of axes with a cell that the figure does not have, or that ended without a number (out of memory, out
 * of time, not possible), has no say. One that was not run makes the predicate not measurable, unless another already
 * does not hold. */
#ifndef GNN_FIGURE_PREDICATE_H
#define GNN_FIGURE_PREDICATE_H

#include "harness/oocgnn.h"

enum {
    GNN_AXES_MAX = 5,
    GNN_AXIS_VALUES_MAX = 64,
    GNN_AXIS_VALUE_BYTES = 64,
    GNN_PREDICATE_NODES_MAX = 64,
    GNN_OPERANDS_MAX = 6,
};

/* A key of a figure's cells and the values it takes. */
struct gnn_axis {
    char key[GNN_NAME_MAX];
    uint32_t count;
    char values[GNN_AXIS_VALUES_MAX][GNN_AXIS_VALUE_BYTES];
};

enum gnn_value_state {
    GNN_VALUE_KNOWN,
    GNN_VALUE_NONE,    /* the figure has no such cell */
    GNN_VALUE_WORD,    /* it ended without a number */
    GNN_VALUE_MISSING, /* it was not run, or it failed */
};

/* What predicates are about: named series over axes, of which the first is x. */
struct gnn_value_source {
    uint32_t axis_count;
    const struct gnn_axis *axes; /* (axis_count) */
    uint32_t series_count;
    const char *const *series; /* (series_count) names */
    bool (*has_metric)(const char *metric);
    /* The value of a metric of a series at one value of each axis; *value is left alone unless it is known. */
    enum gnn_value_state (*value)(void *ctx, const char *metric, uint32_t series, const uint32_t *at, double *value);
    void *ctx;
};

struct gnn_tolerances {
    double about; /* a ratio this factor off, either way, is still about as published */
    double flat;  /* the largest over the least value of a flat curve */
    double noise; /* a step against a curve's direction by less than this factor is none */
};

struct gnn_predicate_node {
    int kind;
    int left, right; /* nodes; -1: none */
    double number;
    char metric[GNN_NAME_MAX];
    uint32_t series;
    int32_t at[GNN_AXES_MAX]; /* index of the value that is named; -1: the axis is free */
};

struct gnn_predicate {
    int shape; /* comparison, rises, falls, flat */
    struct gnn_predicate_node nodes[GNN_PREDICATE_NODES_MAX];
    uint32_t node_count, operand_count;
    int operands[GNN_OPERANDS_MAX];    /* nodes */
    char between[GNN_OPERANDS_MAX][4]; /* "<" stands between operands 0 and 1 at [0] */
};

/* Parses text against the names of the source. GNN_EUSAGE says what was expected, and where; GNN_ENOENT which series,
 * axis or value the source has not. */
GNN_MUST_CHECK enum gnn_status gnn_predicate_parse(const char *text, const struct gnn_value_source *source,
                                                   struct gnn_predicate *out, struct gnn_err *err);

enum gnn_verdict_of_predicate { GNN_HOLDS, GNN_HOLDS_NOT, GNN_NOT_MEASURABLE };

/* One combination of the free axes: its operands' values; of rises, falls and flat the step or spread judged. */
struct gnn_judged {
    char where[256]; /* "dataset=cora, model=sage"; "" where nothing is free */
    uint32_t count;
    double values[GNN_OPERANDS_MAX];
    bool holds;
};
typedef void gnn_judged_fn(void *ctx, const struct gnn_judged *judged);

struct gnn_outcome {
    enum gnn_verdict_of_predicate verdict;
    uint32_t judged, held; /* combinations */
    uint32_t words;        /* that ended without a number */
    uint32_t missing;      /* that were not run */
};

/* Judges every combination; fn (may be NULL) is told of each that has values. It holds if it holds at all of them. */
void gnn_predicate_judge(const struct gnn_predicate *predicate, const struct gnn_value_source *source,
                         const struct gnn_tolerances *tolerances, gnn_judged_fn *fn, void *ctx,
                         struct gnn_outcome *out);

/* Whether it compares a ratio with a number it is about: then *published is the number. */
bool gnn_predicate_is_ratio(const struct gnn_predicate *predicate, double *published);

#endif

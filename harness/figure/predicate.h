/* SPDX-License-Identifier: MIT */
/* Predicates: the findings of a paper as conditions on the values of its figure, as text in the figure's file.
 *
 *   `epoch_s[A, dim=128] / epoch_s[B, dim=128] ~ 16.9`  About 16.9.
 *   `epoch_s[A] < epoch_s[B] < epoch_s[C]`              At every combination of the axes without a value.
 *   `max(epoch_s[A] / epoch_s[B]) ~ 8.76`               The largest over the combinations; also min, mean, median.
 *   `rises(epoch_s[A])`, `falls(..)`                    Along the x axis, at every combination of the others.
 *   `never_falls(epoch_s[A])`, `never_rises(..)`        The same, or without a change.
 *   `flat(epoch_s[A])`                                  Without a change beyond its tolerance.
 *   `argmin(epoch_s[A]) = 1M`                           The x value of the minimum; argmax likewise.
 *   `exponent(epoch_s[A]) < 1`                          The exponent of the power law through the points along x.
 *   `epoch_s[A, dim=64|128] < 3`                        At these values of an axis.
 *   `oom[A, memory=8G] = 1`                             The run ended so (1) or not (0).
 *
 * Syntax. A value is metric[SERIES, axis=value, ...]. An axis may have several: axis=value|value. Operators are + - * /
 * and brackets, and max(a, b) and min(a, b) of two. Comparisons are < <= > >=, = (equal) and ~ (within the tolerance
 * for "about"). Numbers may end in K, M, G (1024). The tolerances for "about", "flat" and noise are in
 * experiments/papers/tolerances.ini only.
 *
 * An expression has the same syntax without a comparison. A metric without brackets
 * is one of the run itself.
 *
 * Curves. No step between neighbours is against the direction by more than noise. A curve that rises or falls also
 * changes from its first point to its last by more than noise. One that never rises or never falls does not change
 * against its direction by more than noise.
 *
 * Verdict. A combination is ignored if the figure does not have it, or if a run ended without a number (out of memory,
 * timeout, not possible). If a run is missing, the predicate is not measurable, unless it fails at another
 * combination. */
#ifndef GNN_FIGURE_PREDICATE_H
#define GNN_FIGURE_PREDICATE_H

#include "harness/oocgnn.h"

enum {
    GNN_AXES_MAX = 8,
    GNN_AXIS_VALUES_MAX = 64,
    GNN_AXIS_VALUE_BYTES = 64,
    GNN_PREDICATE_NODES_MAX = 64,
    GNN_OPERANDS_MAX = 8,
};
_Static_assert(GNN_AXIS_VALUES_MAX <= 64, "sets of an axis's values have 64 bits");

/* The series of a metric without brackets: that of the run itself. */
#define GNN_SERIES_OWN UINT32_MAX

/* An option of a figure's runs and the values that it has. */
struct gnn_axis {
    char key[GNN_NAME_MAX];
    uint32_t count;
    char values[GNN_AXIS_VALUES_MAX][GNN_AXIS_VALUE_BYTES];
};

/* Returns the place of a value on an axis, or its count of values if it has no such value. */
uint32_t gnn_axis_find(const struct gnn_axis *axis, const char *value);

/* Advances `at` to the next combination of the axes in `set` (1 << axis); the last one changes fastest. Returns false
 * after the last combination, with the first one. */
bool gnn_axes_advance(const struct gnn_axis *axes, uint32_t count, uint32_t set, uint32_t *at);

/* Returns a value of an axis as a number ("8G", "0.5"), or NAN if it is none. */
double gnn_axis_number(const char *text);

enum gnn_value_state {
    GNN_VALUE_KNOWN,
    GNN_VALUE_NONE,    /* the figure does not have this combination */
    GNN_VALUE_WORD,    /* the run ended without a number */
    GNN_VALUE_MISSING, /* the run is missing or failed, or does not have the metric */
};

/* The values that predicates refer to: named series over axes, of which the first is x. */
struct gnn_value_source {
    uint32_t axis_count;
    const struct gnn_axis *axes; /* (axis_count) */
    uint32_t series_count;
    const char *const *series; /* names, (series_count) */
    bool (*has_metric)(const void *ctx, const char *metric);
    /* Returns the state of a metric of a series at one value of each axis. *value is set only if it is known. */
    enum gnn_value_state (*value)(const void *ctx, const char *metric, uint32_t series, const uint32_t *at,
                                  double *value);
    const void *ctx;
};

struct gnn_tolerances {
    double about; /* largest factor, up or down, between a ratio and the published one that still counts as "about" */
    double flat;  /* largest ratio between maximum and minimum of a flat curve */
    double noise; /* a change of a curve by less than this factor is ignored */
};

struct gnn_predicate_node {
    int kind;
    int left, right; /* nodes; -1: none */
    double number;
    char metric[GNN_NAME_MAX];
    uint32_t series;
    int32_t at[GNN_AXES_MAX];     /* index of the value; -1: the axis is free */
    uint64_t among[GNN_AXES_MAX]; /* set of the values that a free axis takes; 0: all */
};

struct gnn_predicate {
    int shape; /* comparison, or that of a curve */
    struct gnn_predicate_node nodes[GNN_PREDICATE_NODES_MAX];
    uint32_t node_count, operand_count;
    int operands[GNN_OPERANDS_MAX];    /* nodes */
    char between[GNN_OPERANDS_MAX][4]; /* sign between operands 0 and 1 at [0], and so on */
};

/* Parses text against the names of the source. Returns GNN_EUSAGE, which names what was expected and where. Returns
 * GNN_ENOENT if the source does not have the series, axis or value. */
GNN_MUST_CHECK enum gnn_status gnn_predicate_parse(const char *text, const struct gnn_value_source *source,
                                                   struct gnn_predicate *out, struct gnn_err *err);

/* Parses an expression, which has one operand. Errors are those of gnn_predicate_parse(). */
GNN_MUST_CHECK enum gnn_status gnn_expression_parse(const char *text, const struct gnn_value_source *source,
                                                    struct gnn_predicate *out, struct gnn_err *err);

/* Evaluates an expression at one value of each axis. Returns its state; *value is set only if it is known. */
enum gnn_value_state gnn_expression_value(const struct gnn_predicate *expression, const struct gnn_value_source *source,
                                          const uint32_t *at, double *value);

enum gnn_verdict_of_predicate { GNN_HOLDS, GNN_HOLDS_NOT, GNN_NOT_MEASURABLE };

/* One combination of the free axes, with its operands' values. A curve has two values: its worst step between
 * neighbours, and its last point over its first. A flat one has one: the maximum over the minimum. */
struct gnn_judged {
    char where[256]; /* "dataset=cora, model=sage"; "" if no axis is free */
    uint32_t count;
    double values[GNN_OPERANDS_MAX];
    bool holds;
};
typedef void gnn_judged_fn(void *ctx, const struct gnn_judged *judged);

struct gnn_outcome {
    enum gnn_verdict_of_predicate verdict;
    uint32_t judged, held; /* combinations of the free axes that were judged, that hold */
    uint32_t
        with_number;  /* combinations behind them: also those inside max, min, mean, argmin, argmax and of a curve */
    uint32_t words;   /* the same without a number: out of memory, timeout, not possible */
    uint32_t missing; /* combinations with a missing run */
};

/* Judges every combination, and calls fn (may be NULL) for each one that has values. The predicate holds if it holds at
 * all of them. */
void gnn_predicate_judge(const struct gnn_predicate *predicate, const struct gnn_value_source *source,
                         const struct gnn_tolerances *tolerances, gnn_judged_fn *fn, void *ctx,
                         struct gnn_outcome *out);

/* Returns whether the predicate compares two operands by ~. */
bool gnn_predicate_is_about(const struct gnn_predicate *predicate);

/* Calls fn for every leaf of an operand: with the metric of a value, or with "" and a number. */
typedef void gnn_leaf_fn(void *ctx, const char *metric, double number);
void gnn_predicate_leaves(const struct gnn_predicate *predicate, uint32_t operand, gnn_leaf_fn *fn, void *ctx);

#endif

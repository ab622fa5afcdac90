/* SPDX-License-Identifier: MIT */
#include "harness/figure/predicate.h"

#include "harness/base/plain_text.h"
#include "harness/base/units.h"
#include "harness/figure/predicate_nodes.h"
#include "harness/record/summary.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool gnn_predicate_is_about(const struct gnn_predicate *predicate)
{
    return predicate->shape == SHAPE_COMPARISON && predicate->operand_count == 2 &&
           strcmp(predicate->between[0], "~") == 0;
}

static void visit_leaves(const struct gnn_predicate *predicate, int at, gnn_leaf_fn *fn, void *ctx)
{
    if (at < 0)
        return;
    const struct gnn_predicate_node *const node = &predicate->nodes[at];
    if (node->kind == NODE_NUMBER || node->kind == NODE_VALUE)
        fn(ctx, node->metric, node->number);
    visit_leaves(predicate, node->left, fn, ctx);
    visit_leaves(predicate, node->right, fn, ctx);
}

void gnn_predicate_leaves(const struct gnn_predicate *predicate, uint32_t operand, gnn_leaf_fn *fn, void *ctx)
{
    assert(operand < predicate->operand_count);
    visit_leaves(predicate, predicate->operands[operand], fn, ctx);
}

/* ---- evaluating ---- */

enum { POINTS_MAX = 4096 /* run configurations of a figure */ };
static const uint32_t ALONG_X = 1; /* the set of the first axis */

struct reckoning {
    const struct gnn_predicate *predicate;
    const struct gnn_value_source *source;
};

/* A value that may not be there. The combinations inside of it are those that a fold or a curve goes through: those
 * that have a number, and those that ended without one. */
struct term {
    enum gnn_value_state state;
    double value;
    uint32_t known, words;
};

/* Adds an inner term's combinations, itself where it has none inside. */
static void add_inside(struct term *sum, const struct term *inner)
{
    sum->known += inner->state == GNN_VALUE_KNOWN ? gnn_max_u32(inner->known, 1) : inner->known;
    sum->words += inner->state == GNN_VALUE_WORD ? gnn_max_u32(inner->words, 1) : inner->words;
}

/* Which state two terms have together: what is no combination of the figure has no say, whatever else it lacks. */
static enum gnn_value_state together(enum gnn_value_state a, enum gnn_value_state b)
{
    static const enum gnn_value_state order[] = {GNN_VALUE_NONE, GNN_VALUE_MISSING, GNN_VALUE_WORD};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (a == order[i] || b == order[i])
            return order[i];
    return GNN_VALUE_KNOWN;
}

static bool folds(int kind)
{
    return kind == NODE_MAX || kind == NODE_MIN || kind == NODE_MEAN || kind == NODE_MEDIAN;
}

/* Goes along x and leaves the other axes free. */
static bool goes_along(int kind)
{
    return kind == NODE_ARGMIN || kind == NODE_ARGMAX || kind == NODE_EXPONENT;
}

/* Returns the set of axes that a node leaves to be run through. */
static uint32_t free_of(const struct reckoning *r, int at)
{
    uint32_t set = 0;
    if (at < 0 || folds(r->predicate->nodes[at].kind))
        return 0;
    const struct gnn_predicate_node *const node = &r->predicate->nodes[at];
    for (uint32_t a = 0; a < r->source->axis_count; a++)
        set |= node->kind == NODE_VALUE && node->series != GNN_SERIES_OWN && node->at[a] < 0 ? UINT32_C(1) << a : 0;
    set |= free_of(r, node->left) | free_of(r, node->right);
    return goes_along(node->kind) ? set & ~ALONG_X : set;
}

uint32_t gnn_axis_find(const struct gnn_axis *axis, const char *value)
{
    uint32_t at = 0;
    while (at < axis->count && strcmp(axis->values[at], value) != 0)
        at++;
    return at;
}

bool gnn_axes_advance(const struct gnn_axis *axes, uint32_t count, uint32_t set, uint32_t *at)
{
    for (uint32_t a = count; a-- > 0;) {
        if ((set >> a & 1) == 0)
            continue;
        if (++at[a] < axes[a].count)
            return true;
        at[a] = 0;
    }
    return false;
}

static struct term evaluate(const struct reckoning *r, int at_node, const uint32_t *at);

/* The known values of a node over a set of axes, with the place of each on the x axis. */
struct points {
    struct term all; /* its state: MISSING if a run is missing, WORD if every one ended without a number, or NONE */
    uint32_t count, x[POINTS_MAX];
    double y[POINTS_MAX];
};

static void collect(const struct reckoning *r, int node, uint32_t set, const uint32_t *outside, struct points *out)
{
    uint32_t at[GNN_AXES_MAX] = {0};
    out->all = (struct term){.state = GNN_VALUE_NONE};
    out->count = 0;
    for (uint32_t a = 0; a < r->source->axis_count; a++)
        at[a] = (set >> a & 1) != 0 ? 0 : outside[a];
    do {
        const struct term term = evaluate(r, node, at);
        add_inside(&out->all, &term);
        if (term.state == GNN_VALUE_MISSING) {
            out->all.state = GNN_VALUE_MISSING;
            return;
        }
        if (term.state == GNN_VALUE_KNOWN && out->count < POINTS_MAX) {
            out->x[out->count] = at[0];
            out->y[out->count++] = term.value;
        }
        if (term.state == GNN_VALUE_KNOWN || (term.state == GNN_VALUE_WORD && out->count == 0))
            out->all.state = term.state;
    } while (gnn_axes_advance(r->source->axes, r->source->axis_count, set, at));
}

/* Returns the number of the smallest or largest point, of several the first. */
static uint32_t extreme(const struct points *points, bool largest)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < points->count; i++)
        if (largest ? points->y[i] > points->y[best] : points->y[i] < points->y[best])
            best = i;
    return best;
}

/* The slope of the straight line through the logarithms of x and of the points, by least squares. */
static double slope_of(const struct reckoning *r, const struct points *points)
{
    double count = points->count, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    for (uint32_t i = 0; i < points->count; i++) {
        const double x = log(gnn_axis_number(r->source->axes[0].values[points->x[i]])), y = log(points->y[i]);
        sum_x += x;
        sum_y += y;
        sum_xx += x * x;
        sum_xy += x * y;
    }
    return (count * sum_xy - sum_x * sum_y) / (count * sum_xx - sum_x * sum_x);
}

/* One number of all values of the inner node: over every axis that it leaves free, or along x. */
static struct term summarise(const struct reckoning *r, const struct gnn_predicate_node *node, const uint32_t *outside)
{
    struct points points;
    double sum = 0;
    collect(r, node->left, folds(node->kind) ? free_of(r, node->left) : ALONG_X, outside, &points);
    struct term out = points.all;
    if (out.state == GNN_VALUE_MISSING)
        return out;
    if (points.count == 0) {
        out.state = node->kind == NODE_EXPONENT ? GNN_VALUE_WORD : out.state;
        return out;
    }
    for (uint32_t i = 0; i < points.count; i++)
        sum += points.y[i];
    const uint32_t best = extreme(&points, node->kind == NODE_MAX || node->kind == NODE_ARGMAX);
    switch (node->kind) {
    case NODE_MEAN:
        out.value = sum / points.count;
        break;
    case NODE_MEDIAN:
        out.value = gnn_median(points.y, points.count);
        break;
    case NODE_EXPONENT:
        out.value = slope_of(r, &points);
        out.state = isfinite(out.value) ? GNN_VALUE_KNOWN : GNN_VALUE_WORD;
        break;
    case NODE_ARGMIN:
    case NODE_ARGMAX:
        out.value = gnn_axis_number(r->source->axes[0].values[points.x[best]]);
        break;
    default:
        out.value = points.y[best];
    }
    return out;
}

double gnn_axis_number(const char *text)
{
    uint64_t bytes;
    char *end = NULL;
    const double number = strtod(text, &end);
    if (end != text && *end == '\0')
        return number;
    return gnn_parse_bytes(text, &bytes, NULL) == GNN_OK ? (double)bytes : (double)NAN;
}

static double combine(int kind, double left, double right)
{
    return kind == NODE_ADD        ? left + right
           : kind == NODE_SUBTRACT ? left - right
           : kind == NODE_MULTIPLY ? left * right
           : kind == NODE_LARGER   ? fmax(left, right)
           : kind == NODE_SMALLER  ? fmin(left, right)
                                   : left / right;
}

static struct term look_up(const struct reckoning *r, const struct gnn_predicate_node *node, const uint32_t *outside)
{
    uint32_t at[GNN_AXES_MAX];
    struct term term = {.value = 0};
    memcpy(at, outside, sizeof at);
    for (uint32_t a = 0; a < r->source->axis_count; a++) {
        at[a] = node->at[a] >= 0 ? (uint32_t)node->at[a] : at[a];
        if (node->among[a] != 0 && (node->among[a] >> at[a] & 1) == 0)
            return (struct term){.state = GNN_VALUE_NONE};
    }
    term.state = r->source->value(r->source->ctx, node->metric, node->series, at, &term.value);
    return term;
}

static struct term evaluate(const struct reckoning *r, int at_node, const uint32_t *at)
{
    assert(at_node >= 0);
    const struct gnn_predicate_node *const node = &r->predicate->nodes[at_node];
    if (node->kind == NODE_NUMBER)
        return (struct term){.state = GNN_VALUE_KNOWN, .value = node->number};
    if (node->kind == NODE_VALUE)
        return look_up(r, node, at);
    if (folds(node->kind) || goes_along(node->kind))
        return summarise(r, node, at);
    const struct term left = evaluate(r, node->left, at), right = evaluate(r, node->right, at);
    struct term term = {.state = together(left.state, right.state),
                        .known = left.known + right.known,
                        .words = left.words + right.words};
    if (term.state == GNN_VALUE_KNOWN)
        term.value = combine(node->kind, left.value, right.value);
    if (!isfinite(term.value)) /* by a zero: no number */
        term.state = GNN_VALUE_WORD;
    return term;
}

enum gnn_value_state gnn_expression_value(const struct gnn_predicate *expression, const struct gnn_value_source *source,
                                          const uint32_t *at, double *value)
{
    const struct reckoning r = {.predicate = expression, .source = source};
    assert(expression->operand_count == 1);
    const struct term term = evaluate(&r, expression->operands[0], at);
    if (term.state == GNN_VALUE_KNOWN)
        *value = term.value;
    return term.state;
}

/* ---- judging ---- */

/* What is judged of a curve. */
struct curve {
    double step;   /* the worst between neighbours: the least of one that rises, the largest of one that falls */
    double ends;   /* last over first */
    double spread; /* largest over least */
};

/* Whether a curve of that shape has steps up. */
static bool goes_up(int shape)
{
    return shape == SHAPE_RISES || shape == SHAPE_NEVER_FALLS;
}

/* A curve that rises has no step down, and its ends are apart; one that never falls may be flat. */
static bool curve_holds(int shape, const struct curve *curve, const struct gnn_tolerances *t)
{
    switch (shape) {
    case SHAPE_RISES:
        return curve->step >= 1 / t->noise && curve->ends > t->noise;
    case SHAPE_FALLS:
        return curve->step <= t->noise && curve->ends < 1 / t->noise;
    case SHAPE_NEVER_RISES:
        return curve->step <= t->noise && curve->ends <= t->noise;
    case SHAPE_NEVER_FALLS:
        return curve->step >= 1 / t->noise && curve->ends >= 1 / t->noise;
    default:
        return curve->spread <= t->flat;
    }
}

static bool sign_holds(const char *sign, double left, double right, const struct gnn_tolerances *tolerances)
{
    if (strcmp(sign, "~") == 0)
        return left > 0 && right > 0 && left / right <= tolerances->about && right / left <= tolerances->about;
    if (strcmp(sign, "=") == 0)
        return fabs(left - right) <= 1e-9 * fmax(fabs(left), fabs(right));
    return sign[0] == '<' ? left < right || (sign[1] == '=' && left <= right)
                          : left > right || (sign[1] == '=' && left >= right);
}

static struct term judge_comparison(const struct reckoning *r, const uint32_t *at,
                                    const struct gnn_tolerances *tolerances, struct gnn_judged *out)
{
    const struct gnn_predicate *const p = r->predicate;
    struct term whole = {.state = GNN_VALUE_KNOWN};
    out->count = p->operand_count;
    for (uint32_t i = 0; i < p->operand_count; i++) {
        const struct term term = evaluate(r, p->operands[i], at);
        whole.state = together(whole.state, term.state);
        whole.known += term.known;
        whole.words += term.words;
        out->values[i] = term.value;
    }
    out->holds = true;
    for (uint32_t i = 0; i + 1 < p->operand_count; i++)
        out->holds = out->holds && sign_holds(p->between[i], out->values[i], out->values[i + 1], tolerances);
    return whole;
}

/* Goes through the known points of the x axis. */
static struct term judge_shape(const struct reckoning *r, const uint32_t *at, const struct gnn_tolerances *tolerances,
                               struct gnn_judged *out)
{
    const bool flat = r->predicate->shape == SHAPE_FLAT;
    struct curve curve = {.step = 0};
    struct points points;
    collect(r, r->predicate->operands[0], ALONG_X, at, &points);
    if (points.all.state == GNN_VALUE_MISSING)
        return points.all;
    points.all.state = GNN_VALUE_WORD;
    if (points.count < 2)
        return points.all;
    for (uint32_t i = 1; i < points.count; i++) {
        const double step = points.y[i] / points.y[i - 1];
        if (i == 1 || (goes_up(r->predicate->shape) ? step < curve.step : step > curve.step))
            curve.step = step;
    }
    curve.ends = points.y[points.count - 1] / points.y[0];
    curve.spread = points.y[extreme(&points, true)] / points.y[extreme(&points, false)];
    if (flat ? isfinite(curve.spread) : isfinite(curve.step) && isfinite(curve.ends))
        points.all.state = GNN_VALUE_KNOWN;
    out->count = flat ? 1 : 2;
    out->values[0] = flat ? curve.spread : curve.step;
    out->values[1] = flat ? 0 : curve.ends;
    out->holds = curve_holds(r->predicate->shape, &curve, tolerances);
    return points.all;
}

static void tell_where(const struct gnn_value_source *source, uint32_t set, const uint32_t *at, char *text,
                       size_t text_bytes)
{
    text[0] = '\0';
    for (uint32_t a = 0; a < source->axis_count; a++)
        if ((set >> a & 1) != 0 && source->axes[a].count > 1)
            gnn_text_list(text, text_bytes, "%s=%s", source->axes[a].key, source->axes[a].values[at[a]]);
}

static void count(struct gnn_outcome *out, const struct term *whole, bool holds)
{
    struct term inside = {.known = 0};
    add_inside(&inside, whole);
    out->judged += whole->state == GNN_VALUE_KNOWN ? 1 : 0;
    out->held += whole->state == GNN_VALUE_KNOWN && holds ? 1 : 0;
    out->missing += whole->state == GNN_VALUE_MISSING ? 1 : 0;
    if (whole->state == GNN_VALUE_KNOWN || whole->state == GNN_VALUE_WORD) {
        out->with_number += inside.known;
        out->words += inside.words;
    }
}

void gnn_predicate_judge(const struct gnn_predicate *predicate, const struct gnn_value_source *source,
                         const struct gnn_tolerances *tolerances, gnn_judged_fn *fn, void *ctx, struct gnn_outcome *out)
{
    const struct reckoning r = {.predicate = predicate, .source = source};
    uint32_t at[GNN_AXES_MAX] = {0}, set = 0;
    *out = (struct gnn_outcome){.judged = 0};
    for (uint32_t i = 0; i < predicate->operand_count; i++)
        set |= free_of(&r, predicate->operands[i]);
    if (predicate->shape != SHAPE_COMPARISON)
        set &= ~ALONG_X; /* the curve runs through x */
    do {
        struct gnn_judged judged = {.count = 1};
        const struct term whole = predicate->shape == SHAPE_COMPARISON ? judge_comparison(&r, at, tolerances, &judged)
                                                                       : judge_shape(&r, at, tolerances, &judged);
        count(out, &whole, judged.holds);
        tell_where(source, set, at, judged.where, sizeof judged.where);
        if (fn != NULL && whole.state == GNN_VALUE_KNOWN)
            fn(ctx, &judged);
    } while (gnn_axes_advance(source->axes, source->axis_count, set, at));
    out->verdict = out->held < out->judged                ? GNN_HOLDS_NOT
                   : out->missing > 0 || out->judged == 0 ? GNN_NOT_MEASURABLE
                                                          : GNN_HOLDS;
}

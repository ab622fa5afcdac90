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

enum { FOLDED_MAX = 1024 /* run configurations of a figure */ };

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

/* Adds the axes that a node leaves to be run through. */
static void add_free(const struct reckoning *r, int at, bool *is_free)
{
    if (at < 0)
        return;
    const struct gnn_predicate_node *const node = &r->predicate->nodes[at];
    if (folds(node->kind))
        return;
    bool below[GNN_AXES_MAX] = {false};
    add_free(r, node->left, below);
    add_free(r, node->right, below);
    for (uint32_t a = 0; a < r->source->axis_count; a++) {
        const bool own = node->kind == NODE_VALUE && node->series != GNN_SERIES_OWN && node->at[a] < 0;
        if ((below[a] && !(goes_along(node->kind) && a == 0)) || own)
            is_free[a] = true;
    }
}

/* Goes to the next combination of the free axes; false: there is none. */
static bool advance(const struct gnn_value_source *source, const bool *is_free, uint32_t *at)
{
    for (uint32_t a = source->axis_count; a-- > 0;) {
        if (!is_free[a])
            continue;
        if (++at[a] < source->axes[a].count)
            return true;
        at[a] = 0;
    }
    return false;
}

static struct term evaluate(const struct reckoning *r, int at_node, const uint32_t *at);

/* The largest, least, mean or median value over every axis that the inner node leaves free. */
static struct term fold(const struct reckoning *r, const struct gnn_predicate_node *node, const uint32_t *outside)
{
    bool is_free[GNN_AXES_MAX] = {false};
    uint32_t at[GNN_AXES_MAX] = {0};
    struct term folded = {.state = GNN_VALUE_NONE, .value = 0};
    double values[FOLDED_MAX];
    uint32_t known = 0;
    add_free(r, node->left, is_free);
    for (uint32_t a = 0; a < r->source->axis_count; a++)
        at[a] = is_free[a] ? 0 : outside[a];
    do {
        const struct term term = evaluate(r, node->left, at);
        if (term.state == GNN_VALUE_MISSING)
            return term;
        add_inside(&folded, &term);
        if (term.state == GNN_VALUE_WORD && known == 0)
            folded.state = GNN_VALUE_WORD;
        if (term.state != GNN_VALUE_KNOWN)
            continue;
        const bool better = node->kind == NODE_MAX ? term.value > folded.value : term.value < folded.value;
        if (node->kind == NODE_MEAN)
            folded.value += term.value;
        else if (known == 0 || better)
            folded.value = term.value;
        folded.state = GNN_VALUE_KNOWN;
        values[gnn_min_u32(known, FOLDED_MAX - 1)] = term.value;
        known++;
    } while (advance(r->source, is_free, at));
    if (node->kind == NODE_MEAN && known > 0)
        folded.value /= known;
    if (node->kind == NODE_MEDIAN && known > 0)
        folded.value = gnn_median(values, gnn_min_u32(known, FOLDED_MAX));
    return folded;
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

/* Where on the x axis the inner node is least or largest. */
static struct term seek(const struct reckoning *r, const struct gnn_predicate_node *node, const uint32_t *outside)
{
    uint32_t at[GNN_AXES_MAX];
    struct term found = {.state = GNN_VALUE_NONE, .value = 0};
    double best = 0;
    memcpy(at, outside, sizeof at);
    for (at[0] = 0; at[0] < r->source->axes[0].count; at[0]++) {
        const struct term term = evaluate(r, node->left, at);
        if (term.state == GNN_VALUE_MISSING)
            return term;
        add_inside(&found, &term);
        if (term.state == GNN_VALUE_WORD && found.state == GNN_VALUE_NONE)
            found.state = GNN_VALUE_WORD;
        if (term.state != GNN_VALUE_KNOWN)
            continue;
        if (found.state != GNN_VALUE_KNOWN || (node->kind == NODE_ARGMIN ? term.value < best : term.value > best)) {
            best = term.value;
            found.state = GNN_VALUE_KNOWN;
            found.value = gnn_axis_number(r->source->axes[0].values[at[0]]);
        }
    }
    return found;
}

/* Sums over the points of a straight line. */
struct line {
    double count, x, y, xx, xy;
};

/* The slope of the straight line through the logarithms of x and of the inner node, by least squares. */
static struct term find_exponent(const struct reckoning *r, const struct gnn_predicate_node *node,
                                 const uint32_t *outside)
{
    uint32_t at[GNN_AXES_MAX];
    struct term found = {.state = GNN_VALUE_WORD};
    struct line sum = {.count = 0};
    memcpy(at, outside, sizeof at);
    for (at[0] = 0; at[0] < r->source->axes[0].count; at[0]++) {
        const struct term term = evaluate(r, node->left, at);
        if (term.state == GNN_VALUE_MISSING)
            return term;
        add_inside(&found, &term);
        if (term.state != GNN_VALUE_KNOWN)
            continue;
        const double x = log(gnn_axis_number(r->source->axes[0].values[at[0]])), y = log(term.value);
        sum = (struct line){sum.count + 1, sum.x + x, sum.y + y, sum.xx + x * x, sum.xy + x * y};
    }
    found.value = (sum.count * sum.xy - sum.x * sum.y) / (sum.count * sum.xx - sum.x * sum.x);
    if (isfinite(found.value))
        found.state = GNN_VALUE_KNOWN;
    return found;
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
    if (folds(node->kind))
        return fold(r, node, at);
    if (node->kind == NODE_EXPONENT)
        return find_exponent(r, node, at);
    if (goes_along(node->kind))
        return seek(r, node, at);
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
    struct term points; /* state of the curve, and the combinations behind its points */
    double step;        /* the worst between neighbours: the least of one that rises, the largest of one that falls */
    double ends;        /* last over first */
    double spread;      /* largest over least */
};

/* Whether a curve of that shape has steps up. */
static bool goes_up(int shape)
{
    return shape == SHAPE_RISES || shape == SHAPE_NEVER_FALLS;
}

/* Goes through the known points of the x axis. */
static struct curve judge_curve(const struct reckoning *r, const uint32_t *outside)
{
    uint32_t at[GNN_AXES_MAX], known = 0;
    struct curve curve = {.points = {.state = GNN_VALUE_WORD}};
    double first = 0, before = 0, least = 0, most = 0;
    memcpy(at, outside, sizeof at);
    for (at[0] = 0; at[0] < r->source->axes[0].count; at[0]++) {
        const struct term term = evaluate(r, r->predicate->operands[0], at);
        if (term.state == GNN_VALUE_MISSING)
            return (struct curve){.points = {.state = GNN_VALUE_MISSING}};
        add_inside(&curve.points, &term);
        if (term.state != GNN_VALUE_KNOWN)
            continue;
        const double step = known > 0 ? term.value / before : 1;
        if (known == 1 || (known > 1 && (goes_up(r->predicate->shape) ? step < curve.step : step > curve.step)))
            curve.step = step;
        first = known == 0 ? term.value : first;
        least = known == 0 ? term.value : fmin(least, term.value);
        most = known == 0 ? term.value : fmax(most, term.value);
        before = term.value;
        known++;
    }
    curve.ends = before / first;
    curve.spread = most / least;
    const bool flat = r->predicate->shape == SHAPE_FLAT;
    if (known > 1 && (flat ? isfinite(curve.spread) : isfinite(curve.step) && isfinite(curve.ends)))
        curve.points.state = GNN_VALUE_KNOWN;
    return curve;
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

static struct term judge_shape(const struct reckoning *r, const uint32_t *at, const struct gnn_tolerances *tolerances,
                               struct gnn_judged *out)
{
    const int shape = r->predicate->shape;
    const struct curve curve = judge_curve(r, at);
    out->count = shape == SHAPE_FLAT ? 1 : 2;
    out->values[0] = shape == SHAPE_FLAT ? curve.spread : curve.step;
    out->values[1] = shape == SHAPE_FLAT ? 0 : curve.ends;
    out->holds = curve_holds(shape, &curve, tolerances);
    return curve.points;
}

static void tell_where(const struct gnn_value_source *source, const bool *is_free, const uint32_t *at, char *text,
                       size_t text_bytes)
{
    text[0] = '\0';
    for (uint32_t a = 0; a < source->axis_count; a++)
        if (is_free[a] && source->axes[a].count > 1)
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
    bool is_free[GNN_AXES_MAX] = {false};
    uint32_t at[GNN_AXES_MAX] = {0};
    *out = (struct gnn_outcome){.judged = 0};
    for (uint32_t i = 0; i < predicate->operand_count; i++)
        add_free(&r, predicate->operands[i], is_free);
    if (predicate->shape != SHAPE_COMPARISON)
        is_free[0] = false; /* the curve runs through x */
    do {
        struct gnn_judged judged = {.count = 1};
        const struct term whole = predicate->shape == SHAPE_COMPARISON ? judge_comparison(&r, at, tolerances, &judged)
                                                                       : judge_shape(&r, at, tolerances, &judged);
        count(out, &whole, judged.holds);
        tell_where(source, is_free, at, judged.where, sizeof judged.where);
        if (fn != NULL && whole.state == GNN_VALUE_KNOWN)
            fn(ctx, &judged);
    } while (advance(source, is_free, at));
    out->verdict = out->held < out->judged                ? GNN_HOLDS_NOT
                   : out->missing > 0 || out->judged == 0 ? GNN_NOT_MEASURABLE
                                                          : GNN_HOLDS;
}

/* SPDX-License-Identifier: MIT */
#include "harness/figure/predicate.h"

#include "harness/base/near_miss.h"
#include "harness/base/units.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum node_kind {
    NODE_NUMBER,
    NODE_VALUE,
    NODE_ADD,
    NODE_SUBTRACT,
    NODE_MULTIPLY,
    NODE_DIVIDE,
    NODE_MAX, /* over every free axis below */
    NODE_MIN,
    NODE_MEAN,
    NODE_ARGMIN, /* along x */
    NODE_ARGMAX,
};

enum shape { SHAPE_COMPARISON, SHAPE_RISES, SHAPE_FALLS, SHAPE_FLAT };

/* ---- parsing ---- */

struct parser {
    const char *text, *at;
    const struct gnn_value_source *source;
    struct gnn_predicate *out;
    uint32_t depth;
    struct gnn_err *err;
};

enum { DEPTH_MAX = 16 };

static enum gnn_status refuse(const struct parser *p, const char *what)
{
    return gnn_fail(p->err, GNN_EUSAGE, "%s, found \"%.24s\" in \"%s\"", what, p->at, p->text);
}

static void skip_blanks(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static bool takes(struct parser *p, const char *word)
{
    skip_blanks(p);
    if (strncmp(p->at, word, strlen(word)) != 0)
        return false;
    p->at += strlen(word);
    return true;
}

static enum gnn_status add_node(struct parser *p, int kind, int left, int right, int *out)
{
    struct gnn_predicate *const predicate = p->out;
    if (predicate->node_count == GNN_PREDICATE_NODES_MAX)
        return refuse(p, "the predicate is too long");
    *out = (int)predicate->node_count;
    struct gnn_predicate_node *const node = &predicate->nodes[predicate->node_count++];
    *node = (struct gnn_predicate_node){.kind = kind, .left = left, .right = right};
    for (uint32_t a = 0; a < GNN_AXES_MAX; a++)
        node->at[a] = -1;
    return GNN_OK;
}

static enum gnn_status parse_sum(struct parser *p, int *out);

/* Copies up to one of `ends`, without blanks around. */
static enum gnn_status take_until(struct parser *p, const char *ends, char *text, size_t text_bytes)
{
    skip_blanks(p);
    size_t length = strcspn(p->at, ends);
    const char *const from = p->at;
    if (p->at[length] == '\0')
        return refuse(p, "a bracket is not closed");
    p->at += length;
    while (length > 0 && isspace((unsigned char)from[length - 1]))
        length--;
    if (length == 0 || length >= text_bytes)
        return refuse(p, "expected a name or a value");
    memcpy(text, from, length);
    text[length] = '\0';
    return GNN_OK;
}

static enum gnn_status find_series(struct parser *p, const char *name, uint32_t *out)
{
    struct gnn_near_miss near;
    gnn_near_miss_start(&near, name);
    for (uint32_t i = 0; i < p->source->series_count; i++) {
        if (strcmp(p->source->series[i], name) == 0) {
            *out = i;
            return GNN_OK;
        }
        gnn_near_miss_offer(&near, p->source->series[i]);
    }
    return gnn_fail(p->err, GNN_ENOENT, "\"%s\": the figure has no series \"%s\"%s", p->text, name,
                    gnn_near_miss_text(&near));
}

/* Binds one axis of a value: "dim=128". */
static enum gnn_status bind_axis(struct parser *p, const char *key, const char *value, struct gnn_predicate_node *node)
{
    for (uint32_t a = 0; a < p->source->axis_count; a++) {
        const struct gnn_axis *const axis = &p->source->axes[a];
        if (strcmp(axis->key, key) != 0)
            continue;
        for (uint32_t v = 0; v < axis->count; v++)
            if (strcmp(axis->values[v], value) == 0) {
                node->at[a] = (int32_t)v;
                return GNN_OK;
            }
        return gnn_fail(p->err, GNN_ENOENT, "\"%s\": %s takes no value %s in this figure", p->text, key, value);
    }
    return gnn_fail(p->err, GNN_ENOENT, "\"%s\": the figure has no axis \"%s\"", p->text, key);
}

/* "metric" was read and the bracket is open: "[SERIES, axis=value]". */
static enum gnn_status parse_value(struct parser *p, const char *metric, int *out)
{
    char name[GNN_NAME_MAX], value[GNN_AXIS_VALUE_BYTES];
    if (!p->source->has_metric(metric))
        return gnn_fail(p->err, GNN_EUSAGE, "\"%s\": no metric \"%s\"", p->text, metric);
    GNN_TRY(add_node(p, NODE_VALUE, -1, -1, out));
    struct gnn_predicate_node *const node = &p->out->nodes[*out];
    (void)snprintf(node->metric, sizeof node->metric, "%s", metric);
    GNN_TRY(take_until(p, ",]", name, sizeof name));
    GNN_TRY(find_series(p, name, &node->series));
    while (takes(p, ",")) {
        GNN_TRY(take_until(p, "=", name, sizeof name));
        p->at++;
        GNN_TRY(take_until(p, ",]", value, sizeof value));
        GNN_TRY(bind_axis(p, name, value, node));
    }
    return takes(p, "]") ? GNN_OK : refuse(p, "expected ] or a comma");
}

/* "name" was read and the bracket is open: "(sum)". */
static enum gnn_status parse_function(struct parser *p, const char *name, int *out)
{
    static const struct {
        const char *name;
        int kind;
    } functions[] = {
        {"max", NODE_MAX}, {"min", NODE_MIN}, {"mean", NODE_MEAN}, {"argmin", NODE_ARGMIN}, {"argmax", NODE_ARGMAX}};
    int inner;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0) {
            GNN_TRY(parse_sum(p, &inner));
            GNN_TRY(add_node(p, functions[i].kind, inner, -1, out));
            return takes(p, ")") ? GNN_OK : refuse(p, "expected )");
        }
    return gnn_fail(p->err, GNN_EUSAGE, "\"%s\": no function \"%s\"; there are max, min, mean, argmin, argmax", p->text,
                    name);
}

static enum gnn_status parse_number(struct parser *p, int *out)
{
    static const char letters[] = "KMG";
    char *end = NULL;
    const double number = strtod(p->at, &end);
    if (end == p->at || !isfinite(number))
        return refuse(p, "expected a number, a value or a function");
    p->at = end;
    const char *const letter = *end != '\0' ? strchr(letters, *end) : NULL;
    GNN_TRY(add_node(p, NODE_NUMBER, -1, -1, out));
    p->out->nodes[*out].number = letter == NULL ? number : number * exp2(10.0 * (double)(letter - letters + 1));
    p->at += letter != NULL ? 1 : 0;
    return GNN_OK;
}

static enum gnn_status parse_factor(struct parser *p, int *out)
{
    char name[GNN_NAME_MAX];
    skip_blanks(p);
    if (takes(p, "(")) {
        if (++p->depth > DEPTH_MAX)
            return refuse(p, "brackets go too deep");
        GNN_TRY(parse_sum(p, out));
        p->depth--;
        return takes(p, ")") ? GNN_OK : refuse(p, "expected )");
    }
    size_t length = 0;
    while (isalnum((unsigned char)p->at[length]) || p->at[length] == '_' || p->at[length] == '.')
        length++;
    if (length == 0 || !isalpha((unsigned char)p->at[0]))
        return parse_number(p, out);
    if (length >= sizeof name)
        return refuse(p, "the name is too long");
    memcpy(name, p->at, length);
    name[length] = '\0';
    p->at += length;
    if (takes(p, "["))
        return parse_value(p, name, out);
    if (!takes(p, "("))
        return refuse(p, "expected [ or ( behind a name");
    if (++p->depth > DEPTH_MAX)
        return refuse(p, "brackets go too deep");
    GNN_TRY(parse_function(p, name, out));
    p->depth--;
    return GNN_OK;
}

static enum gnn_status parse_product(struct parser *p, int *out)
{
    GNN_TRY(parse_factor(p, out));
    for (;;) {
        const int kind = takes(p, "*") ? NODE_MULTIPLY : takes(p, "/") ? NODE_DIVIDE : -1;
        int right;
        if (kind < 0)
            return GNN_OK;
        GNN_TRY(parse_factor(p, &right));
        GNN_TRY(add_node(p, kind, *out, right, out));
    }
}

static enum gnn_status parse_sum(struct parser *p, int *out)
{
    GNN_TRY(parse_product(p, out));
    for (;;) {
        const int kind = takes(p, "+") ? NODE_ADD : takes(p, "-") ? NODE_SUBTRACT : -1;
        int right;
        if (kind < 0)
            return GNN_OK;
        GNN_TRY(parse_product(p, &right));
        GNN_TRY(add_node(p, kind, *out, right, out));
    }
}

/* The sign between two operands; false: there is none. */
static bool take_sign(struct parser *p, char sign[4])
{
    static const char *const signs[] = {"<=", ">=", "<", ">", "=", "~"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (takes(p, signs[i])) {
            (void)snprintf(sign, 4, "%s", signs[i]);
            return true;
        }
    return false;
}

static enum gnn_status parse_comparison(struct parser *p)
{
    struct gnn_predicate *const out = p->out;
    for (bool more = true; more;) {
        if (out->operand_count == GNN_OPERANDS_MAX)
            return refuse(p, "the comparison is too long");
        GNN_TRY(parse_sum(p, &out->operands[out->operand_count++]));
        more = out->operand_count < GNN_OPERANDS_MAX && take_sign(p, out->between[out->operand_count - 1]);
    }
    return out->operand_count > 1 ? GNN_OK : refuse(p, "expected a comparison");
}

enum gnn_status gnn_predicate_parse(const char *text, const struct gnn_value_source *source, struct gnn_predicate *out,
                                    struct gnn_err *err)
{
    static const struct {
        const char *word;
        int shape;
    } shapes[] = {{"rises(", SHAPE_RISES}, {"falls(", SHAPE_FALLS}, {"flat(", SHAPE_FLAT}};
    struct parser p = {.text = text, .at = text, .source = source, .out = out, .err = err};
    *out = (struct gnn_predicate){.shape = SHAPE_COMPARISON};
    assert(source->axis_count <= GNN_AXES_MAX);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && out->shape == SHAPE_COMPARISON; i++)
        if (takes(&p, shapes[i].word))
            out->shape = shapes[i].shape;
    if (out->shape == SHAPE_COMPARISON) {
        GNN_TRY(parse_comparison(&p));
    } else {
        out->operand_count = 1;
        GNN_TRY(parse_sum(&p, &out->operands[0]));
        if (!takes(&p, ")"))
            return refuse(&p, "expected )");
    }
    skip_blanks(&p);
    return *p.at == '\0' ? GNN_OK : refuse(&p, "expected the end");
}

bool gnn_predicate_is_ratio(const struct gnn_predicate *predicate, double *published)
{
    if (predicate->shape != SHAPE_COMPARISON || predicate->operand_count != 2 ||
        strcmp(predicate->between[0], "~") != 0)
        return false;
    const struct gnn_predicate_node *const right = &predicate->nodes[predicate->operands[1]];
    *published = right->number;
    return right->kind == NODE_NUMBER && right->number > 0;
}

/* ---- evaluating ---- */

struct reckoning {
    const struct gnn_predicate *predicate;
    const struct gnn_value_source *source;
};

/* A value that may not be there. */
struct term {
    enum gnn_value_state state;
    double value;
};

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
    return kind == NODE_MAX || kind == NODE_MIN || kind == NODE_MEAN;
}

static bool seeks(int kind)
{
    return kind == NODE_ARGMIN || kind == NODE_ARGMAX;
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
        const bool own = node->kind == NODE_VALUE && node->at[a] < 0;
        if ((below[a] && !(seeks(node->kind) && a == 0)) || own)
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

/* The largest, least or mean value over every axis that the inner node leaves free. */
static struct term fold(const struct reckoning *r, const struct gnn_predicate_node *node, const uint32_t *outside)
{
    bool is_free[GNN_AXES_MAX] = {false};
    uint32_t at[GNN_AXES_MAX] = {0};
    struct term folded = {.state = GNN_VALUE_NONE, .value = 0};
    uint32_t known = 0;
    add_free(r, node->left, is_free);
    for (uint32_t a = 0; a < r->source->axis_count; a++)
        at[a] = is_free[a] ? 0 : outside[a];
    do {
        const struct term term = evaluate(r, node->left, at);
        if (term.state == GNN_VALUE_MISSING)
            return term;
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
        known++;
    } while (advance(r->source, is_free, at));
    if (node->kind == NODE_MEAN && known > 0)
        folded.value /= known;
    return folded;
}

/* A value of the x axis as a number: "8G", "512". */
static double number_of(const char *text)
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
        if (term.state != GNN_VALUE_KNOWN)
            continue;
        if (found.state != GNN_VALUE_KNOWN || (node->kind == NODE_ARGMIN ? term.value < best : term.value > best)) {
            best = term.value;
            found = (struct term){.state = GNN_VALUE_KNOWN, .value = number_of(r->source->axes[0].values[at[0]])};
        }
    }
    return found;
}

static double combine(int kind, double left, double right)
{
    return kind == NODE_ADD        ? left + right
           : kind == NODE_SUBTRACT ? left - right
           : kind == NODE_MULTIPLY ? left * right
                                   : left / right;
}

static struct term look_up(const struct reckoning *r, const struct gnn_predicate_node *node, const uint32_t *outside)
{
    uint32_t at[GNN_AXES_MAX];
    struct term term = {.value = 0};
    memcpy(at, outside, sizeof at);
    for (uint32_t a = 0; a < r->source->axis_count; a++)
        at[a] = node->at[a] >= 0 ? (uint32_t)node->at[a] : at[a];
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
    if (seeks(node->kind))
        return seek(r, node, at);
    const struct term left = evaluate(r, node->left, at), right = evaluate(r, node->right, at);
    struct term term = {.state = together(left.state, right.state), .value = 0};
    if (term.state == GNN_VALUE_KNOWN)
        term.value = combine(node->kind, left.value, right.value);
    if (!isfinite(term.value)) /* by a zero: no number */
        term.state = GNN_VALUE_WORD;
    return term;
}

/* ---- judging ---- */

/* What is judged of a curve: the least step of one that rises, the largest of one that falls, the spread of a flat
 * one. */
static struct term judge_curve(const struct reckoning *r, const uint32_t *outside)
{
    uint32_t at[GNN_AXES_MAX], known = 0;
    struct term worst = {.state = GNN_VALUE_NONE, .value = 1};
    double before = 0, least = 0, most = 0;
    memcpy(at, outside, sizeof at);
    for (at[0] = 0; at[0] < r->source->axes[0].count; at[0]++) {
        const struct term term = evaluate(r, r->predicate->operands[0], at);
        if (term.state == GNN_VALUE_MISSING)
            return term;
        if (term.state != GNN_VALUE_KNOWN)
            continue;
        const double step = known > 0 ? term.value / before : 1;
        if (known == 1 || (known > 1 && (r->predicate->shape == SHAPE_RISES ? step < worst.value : step > worst.value)))
            worst.value = step;
        least = known == 0 ? term.value : fmin(least, term.value);
        most = known == 0 ? term.value : fmax(most, term.value);
        before = term.value;
        known++;
    }
    if (r->predicate->shape == SHAPE_FLAT)
        worst.value = most / least;
    worst.state = known < 2 || !isfinite(worst.value) ? GNN_VALUE_WORD : GNN_VALUE_KNOWN;
    return worst;
}

static bool curve_holds(int shape, double value, const struct gnn_tolerances *tolerances)
{
    return shape == SHAPE_RISES   ? value >= 1 / tolerances->noise
           : shape == SHAPE_FALLS ? value <= tolerances->noise
                                  : value <= tolerances->flat;
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

static enum gnn_value_state judge_comparison(const struct reckoning *r, const uint32_t *at,
                                             const struct gnn_tolerances *tolerances, struct gnn_judged *out)
{
    const struct gnn_predicate *const p = r->predicate;
    enum gnn_value_state state = GNN_VALUE_KNOWN;
    out->count = p->operand_count;
    for (uint32_t i = 0; i < p->operand_count; i++) {
        const struct term term = evaluate(r, p->operands[i], at);
        state = together(state, term.state);
        out->values[i] = term.value;
    }
    out->holds = true;
    for (uint32_t i = 0; i + 1 < p->operand_count; i++)
        out->holds = out->holds && sign_holds(p->between[i], out->values[i], out->values[i + 1], tolerances);
    return state;
}

static void tell_where(const struct gnn_value_source *source, const bool *is_free, const uint32_t *at, char *text,
                       size_t text_bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t a = 0; a < source->axis_count; a++)
        if (is_free[a] && source->axes[a].count > 1 && used < text_bytes)
            used += (size_t)snprintf(text + used, text_bytes - used, "%s%s=%s", used == 0 ? "" : ", ",
                                     source->axes[a].key, source->axes[a].values[at[a]]);
}

static void count(struct gnn_outcome *out, enum gnn_value_state state, bool holds)
{
    out->judged += state == GNN_VALUE_KNOWN ? 1 : 0;
    out->held += state == GNN_VALUE_KNOWN && holds ? 1 : 0;
    out->words += state == GNN_VALUE_WORD ? 1 : 0;
    out->missing += state == GNN_VALUE_MISSING ? 1 : 0;
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
        enum gnn_value_state state;
        if (predicate->shape == SHAPE_COMPARISON) {
            state = judge_comparison(&r, at, tolerances, &judged);
        } else {
            const struct term term = judge_curve(&r, at);
            state = term.state;
            judged.values[0] = term.value;
            judged.holds = curve_holds(predicate->shape, term.value, tolerances);
        }
        count(out, state, judged.holds);
        tell_where(source, is_free, at, judged.where, sizeof judged.where);
        if (fn != NULL && state == GNN_VALUE_KNOWN)
            fn(ctx, &judged);
    } while (advance(source, is_free, at));
    out->verdict = out->held < out->judged                ? GNN_HOLDS_NOT
                   : out->missing > 0 || out->judged == 0 ? GNN_NOT_MEASURABLE
                                                          : GNN_HOLDS;
}

/* SPDX-License-Identifier: MIT */
#include "harness/base/near_miss.h"
#include "harness/figure/predicate.h"
#include "harness/figure/predicate_nodes.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct parser {
    const char *text, *at;
    const struct gnn_value_source *source;
    struct gnn_predicate *out;
    uint32_t depth;
    bool is_expression;
    struct gnn_err *err;
};

enum { DEPTH_MAX = 17 /* sums within each other: 16 brackets */, VALUES_BYTES = 4 * GNN_AXIS_VALUE_BYTES };

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
        return refuse(p, "the formula is too long");
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

/* Binds one axis of a value: "dim=128", or restricts it: "dim=64|128". */
static enum gnn_status bind_axis(const struct parser *p, const char *key, char *values, struct gnn_predicate_node *node)
{
    uint32_t a = 0;
    while (a < p->source->axis_count && strcmp(p->source->axes[a].key, key) != 0)
        a++;
    if (a == p->source->axis_count)
        return gnn_fail(p->err, GNN_ENOENT, "\"%s\": the figure has no axis \"%s\"", p->text, key);
    const bool several = strchr(values, '|') != NULL;
    for (char *value = strsep(&values, "|"); value != NULL; value = strsep(&values, "|")) {
        const uint32_t v = gnn_axis_find(&p->source->axes[a], value);
        if (v == p->source->axes[a].count)
            return gnn_fail(p->err, GNN_ENOENT, "\"%s\": %s takes no value %s in this figure", p->text, key, value);
        if (several)
            node->among[a] |= UINT64_C(1) << v;
        else
            node->at[a] = (int32_t)v;
    }
    return GNN_OK;
}

static enum gnn_status add_value(struct parser *p, const char *metric, int *out)
{
    if (!p->source->has_metric(p->source->ctx, metric))
        return gnn_fail(p->err, GNN_EUSAGE, "\"%s\": no metric \"%s\"", p->text, metric);
    GNN_TRY(add_node(p, NODE_VALUE, -1, -1, out));
    struct gnn_predicate_node *const node = &p->out->nodes[*out];
    (void)snprintf(node->metric, sizeof node->metric, "%s", metric);
    node->series = GNN_SERIES_OWN;
    return GNN_OK;
}

/* "metric" was read and the bracket is open: "[SERIES, axis=value]". */
static enum gnn_status parse_value(struct parser *p, const char *metric, int *out)
{
    char name[GNN_NAME_MAX], values[VALUES_BYTES];
    GNN_TRY(add_value(p, metric, out));
    struct gnn_predicate_node *const node = &p->out->nodes[*out];
    GNN_TRY(take_until(p, ",]", name, sizeof name));
    GNN_TRY(find_series(p, name, &node->series));
    while (takes(p, ",")) {
        GNN_TRY(take_until(p, "=", name, sizeof name));
        p->at++;
        GNN_TRY(take_until(p, ",]", values, sizeof values));
        GNN_TRY(bind_axis(p, name, values, node));
    }
    return takes(p, "]") ? GNN_OK : refuse(p, "expected ] or a comma");
}

/* "name" was read and the bracket is open: "(sum)", or "(sum, sum)" for the larger or smaller of two. */
static enum gnn_status parse_function(struct parser *p, const char *name, int *out)
{
    static const struct {
        const char *name;
        int kind, of_two;
    } functions[] = {{"max", NODE_MAX, NODE_LARGER}, {"min", NODE_MIN, NODE_SMALLER}, {"mean", NODE_MEAN, -1},
                     {"median", NODE_MEDIAN, -1},    {"argmin", NODE_ARGMIN, -1},     {"argmax", NODE_ARGMAX, -1},
                     {"exponent", NODE_EXPONENT, -1}};
    int inner, second;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0) {
            GNN_TRY(parse_sum(p, &inner));
            if (functions[i].of_two >= 0 && takes(p, ",")) {
                GNN_TRY(parse_sum(p, &second));
                GNN_TRY(add_node(p, functions[i].of_two, inner, second, out));
            } else {
                GNN_TRY(add_node(p, functions[i].kind, inner, -1, out));
            }
            return takes(p, ")") ? GNN_OK : refuse(p, "expected )");
        }
    return gnn_fail(p->err, GNN_EUSAGE,
                    "\"%s\": no function \"%s\"; there are max, min, mean, median, argmin, argmax, exponent", p->text,
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

/* Returns the length of the name at the start of text, 0 if there is none: letters, digits, _ and dots, a star between
 * two dots ("stage.*.cpu_s"), and an epoch behind @. */
static size_t name_length(const char *text)
{
    size_t length = 0;
    if (!isalpha((unsigned char)text[0]))
        return 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_' || text[length] == '.' || text[length] == '@' ||
           (text[length] == '*' && text[length - 1] == '.' && text[length + 1] == '.'))
        length++;
    return length;
}

static enum gnn_status parse_factor(struct parser *p, int *out)
{
    char name[GNN_NAME_MAX];
    skip_blanks(p);
    if (takes(p, "(")) {
        GNN_TRY(parse_sum(p, out));
        return takes(p, ")") ? GNN_OK : refuse(p, "expected )");
    }
    const size_t length = name_length(p->at);
    if (length == 0)
        return parse_number(p, out);
    if (length >= sizeof name)
        return refuse(p, "the name is too long");
    memcpy(name, p->at, length);
    name[length] = '\0';
    p->at += length;
    if (takes(p, "["))
        return parse_value(p, name, out);
    if (!takes(p, "("))
        return p->is_expression ? add_value(p, name, out) : refuse(p, "expected [ or ( behind a name");
    return parse_function(p, name, out);
}

/* Products of factors, or sums of products. */
static enum gnn_status parse_chain(struct parser *p, bool sum, int *out)
{
    int left = -1, kind = -1;
    do {
        GNN_TRY(sum ? parse_chain(p, false, out) : parse_factor(p, out));
        if (left >= 0)
            GNN_TRY(add_node(p, kind, left, *out, out));
        left = *out;
        kind = takes(p, sum ? "+" : "*")   ? (sum ? NODE_ADD : NODE_MULTIPLY)
               : takes(p, sum ? "-" : "/") ? (sum ? NODE_SUBTRACT : NODE_DIVIDE)
                                           : -1;
    } while (kind >= 0);
    return GNN_OK;
}

static enum gnn_status parse_sum(struct parser *p, int *out)
{
    if (++p->depth > DEPTH_MAX)
        return refuse(p, "brackets go too deep");
    GNN_TRY(parse_chain(p, true, out));
    p->depth--;
    return GNN_OK;
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
    } shapes[] = {{"rises(", SHAPE_RISES},
                  {"falls(", SHAPE_FALLS},
                  {"never_rises(", SHAPE_NEVER_RISES},
                  {"never_falls(", SHAPE_NEVER_FALLS},
                  {"flat(", SHAPE_FLAT}};
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

enum gnn_status gnn_expression_parse(const char *text, const struct gnn_value_source *source, struct gnn_predicate *out,
                                     struct gnn_err *err)
{
    struct parser p = {.text = text, .at = text, .source = source, .out = out, .is_expression = true, .err = err};
    *out = (struct gnn_predicate){.shape = SHAPE_COMPARISON, .operand_count = 1};
    assert(source->axis_count <= GNN_AXES_MAX);
    GNN_TRY(parse_sum(&p, &out->operands[0]));
    skip_blanks(&p);
    return *p.at == '\0' ? GNN_OK : refuse(&p, "expected an operator or the end");
}

/* SPDX-License-Identifier: MIT */
#include "harness/run/sweep/grid.h"

#include "harness/base/units.h"
#include "harness/run/config.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct gnn_option *gnn_grid_option(const char *name)
{
    const struct gnn_option *option = gnn_run_options;
    const char *const dot = strchr(name, '.');
    if (dot != NULL) {
        const struct gnn_system *system;
        char owner[GNN_NAME_MAX];
        (void)snprintf(owner, sizeof owner, "%.*s", (int)gnn_min_u64((uint64_t)(dot - name), GNN_NAME_MAX - 1), name);
        if (gnn_system_find(owner, &system, NULL) != GNN_OK)
            return NULL;
        option = system->options;
        name = dot + 1;
    }
    while (option->name != NULL && strcmp(option->name, name) != 0)
        option++;
    return option->name != NULL ? option : NULL;
}

/* Whether a comma belongs to a value of this option, so that bars alone part values. */
static bool holds_commas(const struct gnn_option *option)
{
    if (option == NULL || option->type == GNN_OPT_U32_LIST)
        return true;
    const char *const unit = option->unit != NULL ? option->unit : "";
    return option->type == GNN_OPT_TEXT &&
           (strchr(unit, ',') != NULL || strcmp(unit, "DIR") == 0 || strcmp(unit, "FILE") == 0);
}

static bool is_counted(const struct gnn_option *option)
{
    return option != NULL &&
           (option->type == GNN_OPT_U32 || option->type == GNN_OPT_U64 || option->type == GNN_OPT_BYTES);
}

static enum gnn_status add_value(const char *text, struct gnn_grid_values *out, struct gnn_err *err)
{
    assert(strlen(text) < GNN_TEXT_MAX);
    if (out->count == GNN_GRID_VALUES_MAX)
        return gnn_fail(err, GNN_EUSAGE, "more than %d values", GNN_GRID_VALUES_MAX);
    (void)snprintf(out->of[out->count++], GNN_TEXT_MAX, "%s", text);
    return GNN_OK;
}

/* ---- ranges ---- */

struct range {
    uint64_t low, high, step;
    bool multiplied;
};

static enum gnn_status parse_number(const struct gnn_option *option, const char *text, uint64_t *out,
                                    struct gnn_err *err)
{
    return option->type == GNN_OPT_BYTES ? gnn_parse_bytes(text, out, err) : gnn_parse_u64(text, out, err);
}

/* Parses "LOW..HIGH", "LOW..HIGH+STEP" or "LOW..HIGH*FACTOR"; text is cut up. */
static enum gnn_status parse_range(const struct gnn_option *option, char *text, struct range *out, struct gnn_err *err)
{
    char *const dots = strstr(text, "..");
    assert(dots != NULL);
    char *const sign = strpbrk(dots + 2, "+*");
    out->multiplied = sign != NULL && *sign == '*';
    out->step = 1;
    if (sign == NULL && option->type == GNN_OPT_BYTES)
        return gnn_fail(err, GNN_EUSAGE, "\"%s\": the step is missing; write 8G..128G*2 or 8G..32G+8G", text);
    if (out->multiplied)
        GNN_TRY(gnn_parse_u64(sign + 1, &out->step, err));
    else if (sign != NULL)
        GNN_TRY(parse_number(option, sign + 1, &out->step, err));
    if (sign != NULL)
        *sign = '\0';
    *dots = '\0';
    GNN_TRY(parse_number(option, text, &out->low, err));
    GNN_TRY(parse_number(option, dots + 2, &out->high, err));
    if (out->low > out->high)
        return gnn_fail(err, GNN_EUSAGE, "the range from %s to %s ends before it begins", text, dots + 2);
    if (out->step < (out->multiplied ? 2 : 1) || (out->multiplied && out->low == 0))
        return gnn_fail(err, GNN_EUSAGE, "the range from %s to %s does not get on: steps are 1 or more, factors 2",
                        text, dots + 2);
    return GNN_OK;
}

static enum gnn_status add_number(const struct gnn_option *option, uint64_t value, struct gnn_grid_values *out,
                                  struct gnn_err *err)
{
    char text[32];
    struct gnn_option plain = *option; /* formatted where the value stands */
    plain.offset = 0;
    if (option->type == GNN_OPT_BYTES)
        gnn_option_format(&plain, &value, text, sizeof text);
    else
        (void)snprintf(text, sizeof text, "%" PRIu64, value);
    return add_value(text, out, err);
}

static enum gnn_status add_range(const struct gnn_option *option, char *text, struct gnn_grid_values *out,
                                 struct gnn_err *err)
{
    struct range range;
    GNN_TRY(parse_range(option, text, &range, err));
    for (uint64_t value = range.low; value <= range.high;) {
        GNN_TRY(add_number(option, value, out, err));
        uint64_t next;
        if (range.multiplied ? __builtin_mul_overflow(value, range.step, &next)
                             : __builtin_add_overflow(value, range.step, &next))
            break;
        value = next;
    }
    return GNN_OK;
}

/* ---- lists ---- */

/* Adds what is between two separators, without the blanks around it. */
static enum gnn_status add_piece(const struct gnn_option *option, const char *text, size_t length,
                                 struct gnn_grid_values *out, struct gnn_err *err)
{
    char piece[GNN_TEXT_MAX];
    for (; length > 0 && isspace((unsigned char)text[0]); length--)
        text++;
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    if (length >= GNN_TEXT_MAX)
        return gnn_fail(err, GNN_EUSAGE, "a value has more than %d characters", GNN_TEXT_MAX - 1);
    memcpy(piece, text, length);
    piece[length] = '\0';
    const bool searched = strncmp(piece, GNN_GRID_LEAST, strlen(GNN_GRID_LEAST)) == 0;
    if (is_counted(option) && strstr(piece, "..") != NULL && !searched)
        return add_range(option, piece, out, err);
    return add_value(piece, out, err);
}

enum gnn_status gnn_grid_values(const struct gnn_option *option, const char *text, struct gnn_grid_values *out,
                                struct gnn_err *err)
{
    const char *const separators = holds_commas(option) ? "|" : "|,";
    out->count = 0;
    for (const char *at = text; at != NULL;) {
        const char *const end = strpbrk(at, separators);
        GNN_TRY(add_piece(option, at, end == NULL ? strlen(at) : (size_t)(end - at), out, err));
        at = end == NULL ? NULL : end + 1;
    }
    assert(out->count > 0);
    return GNN_OK;
}

bool gnn_grid_has(const struct gnn_grid_values *values, const char *text)
{
    for (uint32_t i = 0; i < values->count; i++)
        if (strcmp(values->of[i], text) == 0)
            return true;
    return false;
}

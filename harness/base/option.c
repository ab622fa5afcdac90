/* SPDX-License-Identifier: MIT */
#include "harness/base/option.h"

#include "harness/base/near_miss.h"
#include "harness/base/units.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The unit with a blank before it; "" for none, and for sizes, whose text has it. */
static const char *unit_of(const struct gnn_option *option, char *text, size_t text_bytes)
{
    const bool has_unit = option->unit != NULL && option->unit[0] != '\0' && option->type != GNN_OPT_BYTES;
    (void)snprintf(text, text_bytes, "%s%s", has_unit ? " " : "", has_unit ? option->unit : "");
    return text;
}

static bool has_limits(const struct gnn_option *option)
{
    return option->min != 0 || option->max != 0;
}

/* A limit as the user would write it. */
static const char *limit_text(const struct gnn_option *option, double limit, char *text, size_t text_bytes)
{
    if (option->type == GNN_OPT_BYTES)
        return gnn_format_bytes((uint64_t)limit, text, text_bytes);
    (void)snprintf(text, text_bytes, "%.15g", limit);
    return text;
}

static const char *join_choices(const struct gnn_option *option, const char *between, char *text, size_t text_bytes)
{
    size_t used = 0;
    assert(option->choices != NULL);
    assert(option->choices[0] != NULL);
    for (uint32_t i = 0; option->choices[i] != NULL && used < text_bytes; i++)
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", i == 0 ? "" : between, option->choices[i]);
    return text;
}

const char *gnn_option_range(const struct gnn_option *option, char *text, size_t text_bytes)
{
    char low[40], high[40];
    text[0] = '\0';
    if (option->type == GNN_OPT_CHOICE)
        return join_choices(option, ", ", text, text_bytes);
    if (option->type == GNN_OPT_U32_LIST && option->max > 0)
        (void)snprintf(text, text_bytes, "each at most %.15g", option->max);
    else if (has_limits(option))
        (void)snprintf(text, text_bytes, "%s to %s", limit_text(option, option->min, low, sizeof low),
                       limit_text(option, option->max, high, sizeof high));
    return text;
}

static enum gnn_status check_limits(const struct gnn_option *option, const char *value, double number,
                                    struct gnn_err *err)
{
    char range[GNN_RANGE_BYTES], unit[GNN_NAME_MAX];
    assert(option->min <= option->max);
    if (!has_limits(option) || (number >= option->min && number <= option->max))
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE, "option %s: \"%s\" is outside %s%s", option->name, value,
                    gnn_option_range(option, range, sizeof range), unit_of(option, unit, sizeof unit));
}

static enum gnn_status set_bool(const struct gnn_option *option, void *to, const char *value, struct gnn_err *err)
{
    static const char *const words[2][4] = {{"false", "no", "off", "0"}, {"true", "yes", "on", "1"}};
    for (int truth = 0; truth < 2; truth++)
        for (int i = 0; i < 4; i++)
            if (strcmp(value, words[truth][i]) == 0) {
                *(bool *)to = truth == 1;
                return GNN_OK;
            }
    return gnn_fail(err, GNN_EUSAGE, "option %s: \"%s\" is neither true (yes, on, 1) nor false (no, off, 0)",
                    option->name, value);
}

static enum gnn_status set_integer(const struct gnn_option *option, void *to, const char *value, struct gnn_err *err)
{
    uint64_t number = 0;
    const uint64_t top = option->type == GNN_OPT_U32 ? UINT32_MAX : UINT64_MAX;
    const bool bytes = option->type == GNN_OPT_BYTES;
    struct gnn_err cause = {0};
    const enum gnn_status status =
        bytes ? gnn_parse_bytes(value, &number, &cause) : gnn_parse_u64(value, &number, &cause);
    if (status != GNN_OK)
        return gnn_fail(err, status, "option %s: %s", option->name, cause.message);
    GNN_TRY(check_limits(option, value, (double)number, err));
    if (number > top)
        return gnn_fail(err, GNN_EUSAGE, "option %s: \"%s\" is above %" PRIu64, option->name, value, top);
    if (option->type == GNN_OPT_U32)
        *(uint32_t *)to = (uint32_t)number;
    else
        *(uint64_t *)to = number;
    return GNN_OK;
}

static enum gnn_status set_f64(const struct gnn_option *option, void *to, const char *value, struct gnn_err *err)
{
    char *end = NULL;
    errno = 0;
    const double number = strtod(value, &end);
    if (end == value || *end != '\0' || errno == ERANGE || !isfinite(number))
        return gnn_fail(err, GNN_EUSAGE, "option %s: \"%s\" is not a finite number", option->name, value);
    GNN_TRY(check_limits(option, value, number, err));
    *(double *)to = number;
    return GNN_OK;
}

static enum gnn_status set_choice(const struct gnn_option *option, void *to, const char *value, struct gnn_err *err)
{
    char words[GNN_RANGE_BYTES];
    for (uint32_t i = 0; option->choices[i] != NULL; i++) {
        if (strcmp(value, option->choices[i]) == 0) {
            *(uint32_t *)to = i;
            return GNN_OK;
        }
    }
    return gnn_fail(err, GNN_EUSAGE, "option %s: \"%s\" is none of %s", option->name, value,
                    join_choices(option, ", ", words, sizeof words));
}

static enum gnn_status set_text(const struct gnn_option *option, void *to, const char *value, struct gnn_err *err)
{
    const size_t bytes = strlen(value) + 1;
    if (bytes > GNN_TEXT_MAX)
        return gnn_fail(err, GNN_EUSAGE, "option %s: \"%.40s...\" has more than %d characters", option->name, value,
                        GNN_TEXT_MAX - 1);
    memcpy(to, value, bytes);
    return GNN_OK;
}

/* The types that base/units.h parses whole; its message is prefixed with the option's name. */
static enum gnn_status set_parsed(const struct gnn_option *option, void *to, const char *value, struct gnn_err *err)
{
    struct gnn_err cause = {0};
    struct gnn_u32_list *const list = to;
    enum gnn_status status;
    if (option->type == GNN_OPT_DURATION)
        status = gnn_parse_duration_ns(value, to, &cause);
    else if (option->type == GNN_OPT_SCALE)
        status = gnn_parse_scale(value, to, &cause);
    else
        status = gnn_parse_u32_list(value, list->values, GNN_LAYERS_MAX, (uint32_t)option->max, &list->count, &cause);
    return status == GNN_OK ? GNN_OK : gnn_fail(err, status, "option %s: %s", option->name, cause.message);
}

typedef enum gnn_status set_fn(const struct gnn_option *option, void *to, const char *value, struct gnn_err *err);

static const struct {
    const char *words; /* what stands where a range would */
    set_fn *set;
} types[] = {
    [GNN_OPT_BOOL] = {"true or false", set_bool},  [GNN_OPT_U32] = {"whole number", set_integer},
    [GNN_OPT_U64] = {"whole number", set_integer}, [GNN_OPT_F64] = {"number", set_f64},
    [GNN_OPT_BYTES] = {"size", set_integer},       [GNN_OPT_CHOICE] = {"one of", set_choice},
    [GNN_OPT_TEXT] = {"text", set_text},           [GNN_OPT_DURATION] = {"time", set_parsed},
    [GNN_OPT_SCALE] = {"ratio", set_parsed},       [GNN_OPT_U32_LIST] = {"whole numbers with commas", set_parsed},
};
_Static_assert(sizeof types / sizeof *types == GNN_OPT_U32_LIST + 1, "an entry for each type");

static enum gnn_status set_value(const struct gnn_option *option, void *config, const char *value, struct gnn_err *err)
{
    assert(value != NULL);
    assert(option->help != NULL);
    assert(option->type <= GNN_OPT_U32_LIST);
    return types[option->type].set(option, (char *)config + option->offset, value, err);
}

void gnn_option_defaults(const struct gnn_option *table, void *config)
{
    for (const struct gnn_option *option = table; option->name != NULL; option++) {
        struct gnn_err err = {0};
        const enum gnn_status status = set_value(option, config, option->def, &err);
        assert(status == GNN_OK);
        (void)status;
    }
}

enum gnn_status gnn_option_set(const struct gnn_option *table, void *config, const char *name, const char *value,
                               struct gnn_err *err)
{
    struct gnn_near_miss near;
    gnn_near_miss_start(&near, name);
    for (const struct gnn_option *option = table; option->name != NULL; option++) {
        if (strcmp(option->name, name) == 0)
            return set_value(option, config, value, err);
        gnn_near_miss_offer(&near, option->name);
    }
    return gnn_fail(err, GNN_EUSAGE, "no option \"%s\"%s", name, gnn_near_miss_text(&near));
}

/* Fewest digits that read back as the same double. */
static void format_f64(double value, char *text, size_t text_bytes)
{
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(text, text_bytes, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

/* The largest unit that divides the value, so that no digit is lost. */
static void format_exact_bytes(uint64_t bytes, char *text, size_t text_bytes)
{
    static const char letters[] = "KMGT";
    uint32_t unit = 0;
    while (bytes != 0 && unit < 4 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    (void)snprintf(text, text_bytes, "%" PRIu64 "%.*s", bytes, unit == 0 ? 0 : 1, letters + (unit == 0 ? 0 : unit - 1));
}

static void format_list(const struct gnn_u32_list *list, char *text, size_t text_bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < list->count && used < text_bytes; i++)
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%" PRIu32, i == 0 ? "" : ",", list->values[i]);
}

void gnn_option_format(const struct gnn_option *option, const void *config, char *text, size_t text_bytes)
{
    const void *const from = (const char *)config + option->offset;
    switch (option->type) {
    case GNN_OPT_BOOL:
        (void)snprintf(text, text_bytes, "%s", *(const bool *)from ? "true" : "false");
        return;
    case GNN_OPT_U32:
    case GNN_OPT_SCALE:
        (void)snprintf(text, text_bytes, "%s%" PRIu32, option->type == GNN_OPT_SCALE ? "1/" : "",
                       *(const uint32_t *)from);
        return;
    case GNN_OPT_U64:
    case GNN_OPT_DURATION:
        (void)snprintf(text, text_bytes, "%" PRIu64 "%s", *(const uint64_t *)from,
                       option->type == GNN_OPT_DURATION ? "ns" : "");
        return;
    case GNN_OPT_F64:
        format_f64(*(const double *)from, text, text_bytes);
        return;
    case GNN_OPT_BYTES:
        format_exact_bytes(*(const uint64_t *)from, text, text_bytes);
        return;
    case GNN_OPT_CHOICE:
        (void)snprintf(text, text_bytes, "%s", option->choices[*(const uint32_t *)from]);
        return;
    case GNN_OPT_TEXT:
        (void)snprintf(text, text_bytes, "%s", (const char *)from);
        return;
    case GNN_OPT_U32_LIST:
        format_list(from, text, text_bytes);
        return;
    }
}

void gnn_option_help(const struct gnn_option *table, FILE *out)
{
    char range[GNN_RANGE_BYTES], unit[GNN_NAME_MAX];
    for (const struct gnn_option *option = table; option->name != NULL; option++) {
        (void)gnn_option_range(option, range, sizeof range);
        const char *const lead = range[0] == '\0' ? "" : option->type == GNN_OPT_CHOICE ? " " : "; ";
        (void)fprintf(out, "%s=%s%s\n    %s%s%s\n    %s\n", option->name, option->def,
                      unit_of(option, unit, sizeof unit), types[option->type].words, lead, range, option->help);
        if (option->source != NULL)
            (void)fprintf(out, "    source: %s\n", option->source);
    }
}

/* A table's cell: a bar in it is escaped. */
static void put_cell(const char *text, FILE *out)
{
    (void)fputs(" ", out);
    for (; *text != '\0'; text++)
        (void)fprintf(out, *text == '|' ? "\\%c" : "%c", *text);
    (void)fputs(" |", out);
}

void gnn_option_markdown(const struct gnn_option *table, FILE *out)
{
    char range[GNN_RANGE_BYTES], unit[GNN_NAME_MAX];
    (void)fputs("| parameter | meaning | default | range | source |\n|---|---|---|---|---|\n", out);
    for (const struct gnn_option *option = table; option->name != NULL; option++) {
        (void)fprintf(out, "| `%s` |", option->name);
        put_cell(option->help, out);
        if (option->def[0] == '\0')
            (void)fputs(" empty |", out);
        else
            (void)fprintf(out, " `%s`%s |", option->def, unit_of(option, unit, sizeof unit));
        (void)gnn_option_range(option, range, sizeof range);
        put_cell(range[0] == '\0' ? types[option->type].words : range, out);
        put_cell(option->source == NULL ? "ours" : option->source, out);
        (void)fputs("\n", out);
    }
}

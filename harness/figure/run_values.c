/* SPDX-License-Identifier: MIT */
#include "harness/figure/run_values.h"

#include "harness/base/plain_text.h"
#include "harness/base/units.h"
#include "harness/record/summary.h"
#include "harness/run/config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns what the record has of a key, which may be written to `number`; NULL: nothing. Columns know more than options
 * of a dataset that was given by its directory. */
static const char *recorded(const struct gnn_run_record *run, const char *key, char number[32])
{
    const char *const value = gnn_kv_get(&run->config, key);
    if (strcmp(key, "system") == 0)
        return run->system;
    if (strcmp(key, "dataset") == 0)
        return run->dataset;
    if (strcmp(key, "tag") == 0)
        return run->tag;
    if (strcmp(key, "scale") == 0 && run->scale_divisor != GNN_UNKNOWN)
        (void)snprintf(number, 32, "1/%" PRIu64, run->scale_divisor);
    else if (strcmp(key, "dim") == 0 && run->dim != GNN_UNKNOWN)
        (void)snprintf(number, 32, "%" PRIu64, run->dim);
    else
        return value != NULL ? value : gnn_kv_get(&run->environment, key);
    return number;
}

/* Writes a size as it was typed if it is short, else rounded. */
static double put_bytes(const char *value, char text[GNN_AXIS_VALUE_BYTES])
{
    uint64_t bytes = 0;
    const size_t length = strlen(value);
    if (gnn_parse_bytes(value, &bytes, NULL) == GNN_OK && (length > 5 || strchr("KMGT", value[length - 1]) == NULL))
        (void)gnn_format_bytes(bytes, text, GNN_AXIS_VALUE_BYTES);
    return (double)bytes;
}

/* Writes a recorded value as a reader writes it, and returns its rank. */
static double put_value(const struct gnn_option *option, const char *value, char text[GNN_AXIS_VALUE_BYTES])
{
    char number[GNN_SHORT_NUMBER_BYTES];
    uint32_t divisor = 1, choice = 0;
    uint64_t ns = 0;
    (void)snprintf(text, GNN_AXIS_VALUE_BYTES, "%.*s", GNN_AXIS_VALUE_BYTES - 1,
                   value[0] == '\0' ? "none" : gnn_text_short_number(value, number));
    switch (option != NULL ? option->type : GNN_OPT_TEXT) {
    case GNN_OPT_BYTES:
        return put_bytes(value, text);
    case GNN_OPT_DURATION:
        if (gnn_parse_duration_ns(value, &ns, NULL) == GNN_OK)
            (void)gnn_format_duration(ns, text, GNN_AXIS_VALUE_BYTES);
        return (double)ns;
    case GNN_OPT_SCALE:
        return gnn_parse_scale(value, &divisor, NULL) == GNN_OK ? 1.0 / divisor : 0;
    case GNN_OPT_BOOL:
        (void)snprintf(text, GNN_AXIS_VALUE_BYTES, "%s", strcmp(value, "true") == 0 ? "yes" : "no");
        return strcmp(value, "true") == 0 ? 1 : 0;
    case GNN_OPT_CHOICE:
        while (option->choices[choice] != NULL && strcmp(option->choices[choice], value) != 0)
            choice++;
        return choice;
    case GNN_OPT_U32:
    case GNN_OPT_U64:
    case GNN_OPT_F64:
        return strtod(value, NULL);
    case GNN_OPT_TEXT:
    case GNN_OPT_U32_LIST:
        break;
    }
    return 0;
}

bool gnn_run_value(const struct gnn_run_record *run, const struct gnn_run_key *key, char text[GNN_AXIS_VALUE_BYTES],
                   double *rank)
{
    char number[32];
    const char *const value = recorded(run, key->axis.key, number);
    const uint64_t inherited_bytes = gnn_run_inherited_bytes(run);
    if (value == NULL)
        return false;
    *rank = put_value(key->option, value, text);
    gnn_text_make_plain(text);
    if (strcmp(key->axis.key, "system") == 0)
        *rank = gnn_system_place(value);
    if (strcmp(key->axis.key, "memory") != 0 || strcmp(value, "0") != 0)
        return true;
    *rank = inherited_bytes == GNN_UNKNOWN ? (double)INFINITY : (double)inherited_bytes;
    if (inherited_bytes == GNN_UNKNOWN)
        (void)snprintf(text, GNN_AXIS_VALUE_BYTES, "none");
    else /* the container's limit */
        (void)snprintf(text, GNN_AXIS_VALUE_BYTES, "%s inherited",
                       gnn_format_bytes(inherited_bytes, number, sizeof number));
    return true;
}

bool gnn_run_key_has_names(const struct gnn_run_key *key)
{
    static const bool names[] = {
        [GNN_OPT_TEXT] = true, [GNN_OPT_CHOICE] = true, [GNN_OPT_BOOL] = true, [GNN_OPT_U32_LIST] = true};
    return key->option == NULL || names[key->option->type];
}

enum gnn_status gnn_run_key_add(struct gnn_run_key *key, const char *value, double rank, struct gnn_err *err)
{
    struct gnn_axis *const axis = &key->axis;
    for (uint32_t i = 0; i < axis->count; i++)
        if (strcmp(axis->values[i], value) == 0)
            return GNN_OK;
    if (axis->count == GNN_AXIS_VALUES_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%s has more than %d values. Choose some with --where '%s=A|B'.", axis->key,
                        GNN_AXIS_VALUES_MAX, axis->key);
    uint32_t at = axis->count++;
    for (; at > 0 && key->ranks[at - 1] > rank; at--) {
        memcpy(axis->values[at], axis->values[at - 1], sizeof axis->values[at]);
        key->ranks[at] = key->ranks[at - 1];
    }
    key->ranks[at] = rank;
    (void)snprintf(axis->values[at], sizeof axis->values[at], "%s", value);
    return GNN_OK;
}

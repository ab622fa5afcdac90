/* SPDX-License-Identifier: MIT */
#include "harness/cli/where.h"

#include "harness/base/words.h"
#include "harness/record/series.h"
#include "harness/run/config.h"
#include "harness/run/plugin.h"
#include "harness/run/sweep/grid.h"

#include <stdio.h>
#include <string.h>

enum { VALUES_BYTES = 4 * GNN_TEXT_MAX };

/* Fails with names that are similar to that of an option that does not exist. */
static enum gnn_status no_option(const char *name, struct gnn_err *err)
{
    const struct gnn_system *system;
    char owner[GNN_NAME_MAX];
    const char *const dot = strchr(name, '.');
    if (dot == NULL)
        return gnn_option_set(gnn_run_options, NULL, name, "", err);
    (void)snprintf(owner, sizeof owner, "%.*s", (int)gnn_min_u64((uint64_t)(dot - name), sizeof owner - 1), name);
    struct gnn_err cause = {0};
    if (gnn_system_find(owner, &system, &cause) != GNN_OK)
        return gnn_fail(err, cause.status, "%s; for a system of your own, put --where system=./FILE.so first",
                        cause.message);
    return gnn_option_set(system->options, NULL, dot + 1, "", err);
}

/* Writes a value as records have it. */
static enum gnn_status format(const char *name, const char *value, char text[GNN_TEXT_MAX], struct gnn_err *err)
{
    union {
        char text[GNN_TEXT_MAX];
        uint64_t number;
        struct gnn_u32_list list;
    } parsed;
    const struct gnn_option *const option = gnn_grid_option(name);
    struct gnn_option alone[2] = {{.name = NULL}};
    if (option == NULL)
        return no_option(name, err);
    if (strcmp(name, "system") == 0 && gnn_plugin_is_path(value)) { /* records have its name */
        const struct gnn_system *system;
        GNN_TRY(gnn_system_find(value, &system, err));
        (void)snprintf(text, GNN_TEXT_MAX, "%s", system->name);
        return GNN_OK;
    }
    alone[0] = *option;
    alone[0].offset = 0;
    GNN_TRY(gnn_option_set(alone, &parsed, option->name, value, err));
    gnn_option_format(alone, &parsed, text, GNN_TEXT_MAX);
    return GNN_OK;
}

/* Writes a value of an option or a fact as the record has it; value NULL: only checks that there is one. `what` begins
 * the message. GNN_EUSAGE. */
static enum gnn_status recorded_text(const char *what, const char *name, const char *value, char text[GNN_TEXT_MAX],
                                     struct gnn_err *err)
{
    struct gnn_err cause = {0};
    (void)snprintf(text, GNN_TEXT_MAX, "%s", value != NULL ? value : "");
    if (gnn_list_has(gnn_run_facts, name) || (value == NULL && gnn_grid_option(name) != NULL))
        return GNN_OK;
    const enum gnn_status status = format(name, value != NULL ? value : "", text, &cause);
    if (status != GNN_OK)
        return gnn_fail(err, status, "%s %s%s%s: %s; `oocgnn run --help` has the options", what, name,
                        value == NULL ? "" : "=", value == NULL ? "" : value, cause.message);
    if (strcmp(name, "scale") == 0 && strcmp(text, "1/1") == 0)
        (void)snprintf(text, GNN_TEXT_MAX, "1");
    return GNN_OK;
}

enum gnn_status gnn_where_check_key(const char *what, const char *key, struct gnn_err *err)
{
    char unused[GNN_TEXT_MAX];
    return recorded_text(what, key, NULL, unused, err);
}

/* Writes every value as records have it, with bars between them. */
static enum gnn_status join_values(const char *key, const struct gnn_grid_values *values, char text[VALUES_BYTES],
                                   struct gnn_err *err)
{
    char value[GNN_TEXT_MAX];
    size_t used = 0;
    for (uint32_t i = 0; i < values->count; i++) {
        GNN_TRY(recorded_text("--where", key, values->of[i], value, err));
        used += (size_t)snprintf(text + used, VALUES_BYTES - used, "%s%s", i > 0 ? "|" : "", value);
        if (used >= VALUES_BYTES)
            return gnn_fail(err, GNN_EUSAGE, "--where %s: more than %d characters; name fewer values", key,
                            VALUES_BYTES - 1);
    }
    return GNN_OK;
}

enum gnn_status gnn_where_add(struct gnn_kv_list *where, const char *word, struct gnn_err *err)
{
    char key[GNN_TEXT_MAX], text[VALUES_BYTES];
    struct gnn_grid_values values;
    struct gnn_err cause = {0};
    const char *const equals = strchr(word, '=');
    if (equals == NULL || equals == word || equals - word >= GNN_TEXT_MAX)
        return gnn_fail(err, GNN_EUSAGE, "--where %s: expected OPTION=VALUE, as in --where hidden=256", word);
    (void)snprintf(key, sizeof key, "%.*s", (int)(equals - word), word);
    const char *const before = gnn_kv_get(where, key);
    if (before != NULL)
        return gnn_fail(err, GNN_EUSAGE, "--where %s: %s is restricted to %s already; write both as --where '%s=A|B'",
                        word, key, before, key);
    if (gnn_grid_values(gnn_grid_option(key), equals + 1, &values, &cause) != GNN_OK)
        return gnn_fail(err, cause.status, "--where %s: %s", word, cause.message);
    GNN_TRY(join_values(key, &values, text, err));
    return gnn_kv_set(where, key, text, err);
}

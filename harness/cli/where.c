/* SPDX-License-Identifier: MIT */
#include "harness/cli/where.h"

#include "harness/record/series.h"
#include "harness/run/config.h"
#include "harness/run/sweep/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_BYTES = 4 * GNN_TEXT_MAX };

static bool is_fact(const char *key)
{
    for (const char *const *fact = gnn_run_facts; *fact != NULL; fact++)
        if (strcmp(*fact, key) == 0)
            return true;
    return false;
}

/* Finds the table of an option of `oocgnn run`, or of a system's parameter; *bytes of its owner's configuration. */
static enum gnn_status find_options(const char *name, const struct gnn_option **options, size_t *bytes,
                                    struct gnn_err *err)
{
    const char *const dot = strchr(name, '.');
    *options = gnn_run_options;
    *bytes = sizeof(struct gnn_run_config);
    if (dot == NULL)
        return GNN_OK;
    const struct gnn_system *system;
    char owner[GNN_NAME_MAX];
    (void)snprintf(owner, sizeof owner, "%.*s", (int)gnn_min_u64((uint64_t)(dot - name), GNN_NAME_MAX - 1), name);
    GNN_TRY(gnn_system_find(owner, &system, err));
    *options = system->options;
    *bytes = system->config_bytes;
    return GNN_OK;
}

static enum gnn_status set_recorded(const char *name, const char *value, char text[GNN_TEXT_MAX], struct gnn_err *err)
{
    const struct gnn_option *options;
    size_t bytes;
    GNN_TRY(find_options(name, &options, &bytes, err));
    const char *const dot = strchr(name, '.'), *const key = dot == NULL ? name : dot + 1;
    const struct gnn_option *option = options;
    while (option->name != NULL && strcmp(option->name, key) != 0)
        option++;
    char *const config = calloc(1, bytes + 1);
    if (config == NULL)
        return gnn_fail(err, GNN_ENOMEM, "the options of %s", name);
    gnn_option_defaults(options, config);
    enum gnn_status status = GNN_OK;
    if (value != NULL || option->name == NULL) /* an unknown name is reported with its near misses */
        status = gnn_option_set(options, config, key, value != NULL ? value : "", err);
    if (status == GNN_OK && value != NULL)
        gnn_option_format(option, config, text, GNN_TEXT_MAX);
    free(config);
    return status;
}

/* Writes a value of an option as the record has it; value NULL: only checks that there is such an option. `what`
 * begins the message. GNN_EUSAGE. */
static enum gnn_status recorded_text(const char *what, const char *name, const char *value, char text[GNN_TEXT_MAX],
                                     struct gnn_err *err)
{
    struct gnn_err cause = {0};
    if (is_fact(name)) {
        (void)snprintf(text, GNN_TEXT_MAX, "%s", value != NULL ? value : "");
        return GNN_OK;
    }
    const enum gnn_status status = set_recorded(name, value, text, &cause);
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

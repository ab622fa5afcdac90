/* SPDX-License-Identifier: MIT */
#include "harness/run/record_config.h"

#include "harness/base/plain_text.h"
#include "harness/run/identity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static enum gnn_status unknown(const struct gnn_run_record *run, const char *key, const char *why, struct gnn_err *err)
{
    const char *const build = gnn_kv_get(&run->environment, "build.revision");
    char shown[64];
    return gnn_fail(err, GNN_EUSAGE, "run %" PRId64 " has an option that this build rejects: %s: %s; use build %s",
                    run->run_id, gnn_text_plain(key, shown, sizeof shown), why,
                    build != NULL ? build : "of the run, which its record does not name");
}

static enum gnn_status set_option(const struct gnn_run_record *run, const struct gnn_kv *pair,
                                  struct gnn_run_config *config, struct gnn_err *err)
{
    struct gnn_err cause = {0};
    if (!gnn_run_option_counts(pair->key))
        return GNN_OK;
    if (gnn_option_set(gnn_run_options, config, pair->key, pair->value, &cause) != GNN_OK)
        return unknown(run, pair->key, cause.message, err);
    return GNN_OK;
}

/* Adds a parameter of the system unless its value is the default, which needs no room among the sets. */
static enum gnn_status set_parameter(const struct gnn_run_record *run, const struct gnn_system *system,
                                     const void *usual, const struct gnn_kv *pair, struct gnn_run_config *config,
                                     struct gnn_err *err)
{
    char text[GNN_TEXT_MAX * 3], value[GNN_TEXT_MAX];
    struct gnn_err cause = {0};
    const char *const name = strchr(pair->key, '.') + 1;
    for (const struct gnn_option *o = system->options; o->name != NULL; o++)
        if (strcmp(o->name, name) == 0) {
            gnn_option_format(o, usual, value, sizeof value);
            if (strcmp(value, pair->value) == 0)
                return GNN_OK;
        }
    (void)snprintf(text, sizeof text, "%s=%s", pair->key, pair->value);
    if (gnn_run_config_set(config, text, &cause) != GNN_OK)
        return unknown(run, pair->key, cause.message, err);
    return GNN_OK;
}

static enum gnn_status set_parameters(const struct gnn_run_record *run, struct gnn_run_config *config,
                                      struct gnn_err *err)
{
    const struct gnn_system *system;
    struct gnn_err cause = {0};
    void *usual, *settings;
    if (gnn_system_find(config->system, &system, &cause) != GNN_OK)
        return unknown(run, "system", cause.message, err);
    GNN_TRY(gnn_system_configure(system, config, &usual, err));
    enum gnn_status status = GNN_OK;
    for (uint32_t i = 0; i < run->config.count && status == GNN_OK; i++) {
        const struct gnn_kv *const pair = &run->config.items[i];
        if (strchr(pair->key, '.') != NULL && pair->value != NULL)
            status = set_parameter(run, system, usual, pair, config, err);
    }
    free(usual);
    if (status != GNN_OK)
        return status;
    if (gnn_system_configure(system, config, &settings, &cause) != GNN_OK)
        return unknown(run, config->system, cause.message, err);
    free(settings);
    return GNN_OK;
}

static void list_missing(const struct gnn_run_record *run, char *missing, size_t missing_bytes)
{
    missing[0] = '\0';
    for (const struct gnn_option *o = gnn_run_options; o->name != NULL; o++)
        if (gnn_run_option_counts(o->name) && gnn_kv_get(&run->config, o->name) == NULL)
            gnn_text_list(missing, missing_bytes, "%s", o->name);
}

enum gnn_status gnn_record_config(const struct gnn_run_record *run, struct gnn_run_config *config, char *missing,
                                  size_t missing_bytes, struct gnn_err *err)
{
    gnn_run_config_defaults(config);
    for (uint32_t i = 0; i < run->config.count; i++)
        if (run->config.items[i].value != NULL && strchr(run->config.items[i].key, '.') == NULL)
            GNN_TRY(set_option(run, &run->config.items[i], config, err));
    GNN_TRY(set_parameters(run, config, err));
    list_missing(run, missing, missing_bytes);
    return GNN_OK;
}

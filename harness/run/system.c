/* SPDX-License-Identifier: MIT */
/* From names to systems and their parameters. */
#include "harness/base/near_miss.h"
#include "harness/run/config.h"
#include "harness/run/plugin.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum gnn_status gnn_system_find(const char *name, const struct gnn_system **out, struct gnn_err *err)
{
    struct gnn_near_miss near;
    if (gnn_plugin_is_path(name))
        return gnn_plugin_open(name, out, err);
    gnn_near_miss_start(&near, name);
    for (const struct gnn_system *const *s = gnn_systems; *s != NULL; s++) {
        assert((*s)->abi == GNN_SYSTEM_ABI);
        if (strcmp((*s)->name, name) == 0) {
            *out = *s;
            return GNN_OK;
        }
        gnn_near_miss_offer(&near, (*s)->name);
    }
    if (name[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE, "--system is missing; this build has: %s", near.known);
    const struct gnn_system *const loaded = gnn_plugin_named(name);
    if (loaded != NULL) {
        *out = loaded;
        return GNN_OK;
    }
    const size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".so") == 0)
        return gnn_fail(err, GNN_EUSAGE, "unknown system \"%s\"; a file is given with a '/': ./%s", name, name);
    const char *const miss = gnn_near_miss_text(&near);
    return gnn_fail(err, GNN_EUSAGE, "unknown system \"%s\"%s%s build has: %s", name, miss,
                    miss[0] == '\0' ? "; this" : " This", near.known);
}

const char *gnn_run_system_name(const struct gnn_run_config *config)
{
    const struct gnn_system *system;
    return gnn_system_find(config->system, &system, NULL) == GNN_OK ? system->name : config->system;
}

uint32_t gnn_system_place(const char *name)
{
    for (uint32_t i = 0; gnn_systems[i] != NULL; i++)
        if (strcmp(gnn_systems[i]->name, name) == 0)
            return i;
    return UINT32_MAX;
}

/* Returns a config of the system with every default, freed with free(); NULL: out of memory. */
static void *new_settings(const struct gnn_system *system, struct gnn_err *err)
{
    void *const settings = calloc(1, system->config_bytes + 1);
    if (settings == NULL)
        (void)gnn_fail(err, GNN_ENOMEM, "configuration of %s", system->name);
    else
        gnn_option_defaults(system->options, settings);
    return settings;
}

/* Applies "system.key=value" if it is meant for this system; another system's setting (a sweep's [global] has them) is
 * checked and left. */
static enum gnn_status apply_set(const struct gnn_system *system, void *settings, const char *text, struct gnn_err *err)
{
    char owner[GNN_SET_MAX], key[GNN_SET_MAX];
    const char *const dot = strchr(text, '.');
    const char *const equals = strchr(text, '=');
    assert(dot != NULL); /* gnn_run_config_set let it in */
    assert(equals > dot);
    (void)snprintf(owner, sizeof owner, "%.*s", (int)(dot - text), text);
    (void)snprintf(key, sizeof key, "%.*s", (int)(equals - dot - 1), dot + 1);
    if (strcmp(owner, system->name) == 0)
        return gnn_option_set(system->options, settings, key, equals + 1, err);
    const struct gnn_system *other;
    GNN_TRY(gnn_system_find(owner, &other, err));
    void *const unused = new_settings(other, err);
    const enum gnn_status status =
        unused == NULL ? GNN_ENOMEM : gnn_option_set(other->options, unused, key, equals + 1, err);
    free(unused);
    return status;
}

enum gnn_status gnn_system_configure(const struct gnn_system *system, const struct gnn_run_config *config, void **out,
                                     struct gnn_err *err)
{
    assert(config->set_count <= GNN_SETS_MAX);
    void *const settings = new_settings(system, err);
    if (settings == NULL)
        return GNN_ENOMEM;
    for (uint32_t i = 0; i < config->set_count; i++) {
        struct gnn_err cause = {0};
        const enum gnn_status status = apply_set(system, settings, config->sets[i], &cause);
        if (status != GNN_OK) {
            free(settings);
            return gnn_fail(err, status, "--set %s: %s", config->sets[i], cause.message);
        }
    }
    *out = settings;
    return GNN_OK;
}

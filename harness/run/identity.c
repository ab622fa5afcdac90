/* SPDX-License-Identifier: MIT */
#include "harness/run/identity.h"

#include "harness/base/data_dirs.h"
#include "harness/base/own_groups.h"
#include "harness/run/plugin.h"
#include "harness/run/record_fill.h"
#include "harness/world/profile.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Options that say where a run is told, not what it is. */
static const char *const told[] = {"db",       "json",       "details", "quiet", "trace-loss",
                                   "trace-io", "trace-rows", "bound",   NULL};
/* Options in which runs that are compared may differ. */
static const char *const compared[] = {"system", "compute", NULL};

/* Options that count only if they differ from their default, so that records of builds without them still count.
 * Those of systems are marked in their tables (gnn_option.added). */
static const struct {
    const char *key, *unset;
} set_only[] = {{"profile-set", ""},           {"feature-type", "f32"},        {"negative-set", "sampled"},
                {"gcn-maps-sources", "false"}, {"relation-start", "identity"}, {"n3", "0"}};

static bool is_among(const char *const *words, const char *word)
{
    while (*words != NULL && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

bool gnn_run_option_counts(const char *name)
{
    return !is_among(told, name);
}

static bool is_unset(const char *key, const char *value)
{
    for (size_t i = 0; i < sizeof set_only / sizeof *set_only; i++)
        if (strcmp(set_only[i].key, key) == 0)
            return strcmp(set_only[i].unset, value) == 0;
    return false;
}

static bool counts(const char *key, enum gnn_identity what)
{
    if (!gnn_run_option_counts(key))
        return false;
    return what == GNN_IDENTITY_RUN || (!is_among(compared, key) && strchr(key, '.') == NULL);
}

static void add_pair(struct gnn_checksum *sum, const char *key, const char *value)
{
    gnn_checksum_add(sum, key, strlen(key) + 1);
    gnn_checksum_add(sum, value, strlen(value) + 1);
}

/* Adds what stands in the profile's file and in that of the costs: their names do not say what the machine is. */
static enum gnn_status add_profile(struct gnn_checksum *sum, const struct gnn_run_config *config, const char *name,
                                   struct gnn_err *err)
{
    struct gnn_data_dirs found;
    struct gnn_profile *profile;
    if (name[0] == '\0')
        return GNN_OK;
    gnn_data_dirs(&found);
    GNN_TRY(gnn_profile_open(name, found.dirs, &profile, err));
    add_pair(sum, "profile.digest", profile->digest);
    const enum gnn_status status =
        gnn_run_costs_are_ideal(config) ? GNN_OK : gnn_profile_add_costs(profile, config->costs, found.dirs, err);
    if (profile->costs_digest[0] != '\0')
        add_pair(sum, "costs.digest", profile->costs_digest);
    gnn_profile_close(profile);
    return status;
}

/* The P of "model:P/gpu" or "model:P"; "" for a back-end that computes. */
static void modelled_profile(const struct gnn_run_config *config, char *name, size_t name_bytes)
{
    name[0] = '\0';
    if (!gnn_compute_is_modelled(config))
        return;
    (void)snprintf(name, name_bytes, "%s", config->compute + strlen("model:"));
    char *const slash = strrchr(name, '/');
    if (slash != NULL && (strcmp(slash, "/gpu") == 0 || strcmp(slash, "/cpu") == 0))
        *slash = '\0';
}

/* Adds the memory limit of this process's container or control group if the run has no limit of its own. */
static void add_inherited(struct gnn_checksum *sum, const struct gnn_run_config *config)
{
    const bool own = config->memory_bytes != 0 && config->cap_kind == GNN_CAP_CGROUP;
    const uint64_t bytes = own || config->world != GNN_WORLD_MEASURED ? GNN_UNKNOWN : gnn_inherited_memory_bytes();
    char text[32];
    if (bytes == GNN_UNKNOWN)
        return;
    (void)snprintf(text, sizeof text, "%" PRIu64, bytes);
    add_pair(sum, "memory.inherited", text);
}

/* Whether a pair of the list has the default of an option of the system that was added later. */
static bool is_added_default(const struct gnn_system *system, const char *key, const char *value)
{
    const size_t length = strlen(system->name);
    if (strncmp(key, system->name, length) != 0 || key[length] != '.')
        return false;
    for (const struct gnn_option *o = system->options; o->name != NULL; o++)
        if (o->added && strcmp(o->name, key + length + 1) == 0)
            return strcmp(o->def, value) == 0;
    return false;
}

/* Adds what the object contains: a build of it is another system. */
static enum gnn_status add_plugin(struct gnn_checksum *sum, const struct gnn_run_config *config, struct gnn_err *err)
{
    char digest[GNN_CHECKSUM_TEXT];
    if (!gnn_plugin_is_path(config->system))
        return GNN_OK;
    GNN_TRY(gnn_plugin_digest(config->system, digest, err));
    add_pair(sum, GNN_PLUGIN_DIGEST_KEY, digest);
    return GNN_OK;
}

static enum gnn_status add_all(struct gnn_checksum *sum, const struct gnn_run_config *config, enum gnn_identity what,
                               struct gnn_err *err)
{
    struct gnn_kv_list all = {0};
    const struct gnn_system *system = NULL;
    enum gnn_status status = gnn_record_list_config(config, &all, err);
    GNN_NEXT(status, gnn_system_find(config->system, &system, err));
    for (uint32_t i = 0; i < all.count && status == GNN_OK; i++) {
        assert(all.items[i].value != NULL);
        const char *const key = all.items[i].key, *const value = all.items[i].value;
        if (!is_unset(key, value) && counts(key, what) && !is_added_default(system, key, value))
            add_pair(sum, key, value);
    }
    gnn_kv_clear(&all);
    add_inherited(sum, config);
    GNN_NEXT(status, add_profile(sum, config, config->profile, err));
    if (status != GNN_OK || what == GNN_IDENTITY_WORKLOAD)
        return status;
    GNN_TRY(add_plugin(sum, config, err));
    char compute[sizeof config->compute];
    modelled_profile(config, compute, sizeof compute);
    return add_profile(sum, config, compute, err);
}

enum gnn_status gnn_run_identity(const struct gnn_run_config *config, enum gnn_identity what,
                                 char text[GNN_CHECKSUM_TEXT], struct gnn_err *err)
{
    struct gnn_checksum *sum;
    text[0] = '\0';
    GNN_TRY(gnn_checksum_open(&sum, err));
    const enum gnn_status status = add_all(sum, config, what, err);
    if (status == GNN_OK)
        gnn_checksum_text(sum, text);
    gnn_checksum_close(sum);
    return status;
}

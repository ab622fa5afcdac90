/* SPDX-License-Identifier: MIT */
#include "harness/cli/bound_run.h"

#include "harness/base/data_dirs.h"
#include "harness/base/units.h"
#include "harness/record/summary.h"
#include "harness/run/validity.h"
#include "harness/world/measured/measured.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const struct gnn_bound_room gnn_bound_room_usual = {.accesses_max = 1000000000};

/* ---- a configuration's mini-batches ---- */

static enum gnn_status open_computed(struct gnn_world *world, const struct gnn_run_config *config,
                                     struct gnn_lists **out, struct gnn_err *err)
{
    const struct gnn_registry_entry *entry;
    struct gnn_generate_options options;
    GNN_TRY(gnn_registry_find(config->dataset, &entry, err));
    gnn_option_defaults(gnn_generate_table, &options);
    options.dim = config->dim;
    options.feature_type = config->feature_type;
    GNN_TRY(gnn_generate_set(&options, config->generate, err));
    return gnn_lists_open_computed(world, entry, &options, config->scale_divisor, out, err);
}

/* A run of the simulated world computes a registry's graph; any other reads what is prepared. Where nothing is, the
 * registry's stands for it. */
static enum gnn_status open_lists(struct gnn_world *world, const struct gnn_run_config *config, struct gnn_lists **out,
                                  struct gnn_err *err)
{
    char dir[GNN_TEXT_MAX * 2], meta[GNN_TEXT_MAX * 2 + 8];
    const struct gnn_registry_entry *entry;
    struct stat info;
    if (gnn_run_dataset_is_computed(config))
        return open_computed(world, config, out, err);
    gnn_run_dataset_dir(config, dir, sizeof dir);
    (void)snprintf(meta, sizeof meta, "%s/meta", dir);
    if (stat(meta, &info) == 0)
        return gnn_lists_open_prepared(world, dir, gnn_run_dim(config), config->feature_type, out, err);
    if (gnn_registry_find(config->dataset, &entry, NULL) != GNN_OK || entry->kind != GNN_REGISTRY_PROCEDURAL)
        return gnn_run_dataset_missing(config, dir, err);
    return open_computed(world, config, out, err);
}

enum gnn_status gnn_bound_source_open(const struct gnn_run_config *config, const struct gnn_bound_room *room,
                                      struct gnn_bound_source *out, struct gnn_err *err)
{
    const struct gnn_measured_config measured = {.memory_limit_bytes = 0};
    *out = (struct gnn_bound_source){.config = {.seed = config->seed,
                                                .batch_size = config->batch_size,
                                                .fanout = config->fanout,
                                                .epochs = config->epochs,
                                                .max_batches = gnn_run_max_batches(config),
                                                .floyd_biased = config->floyd_biased,
                                                .accesses_max = room->accesses_max,
                                                .stop = room->stop}};
    enum gnn_status status = gnn_world_measured_open(&measured, &out->world, err);
    GNN_NEXT(status, open_lists(out->world, config, &out->lists, err));
    GNN_NEXT(status, gnn_row_trace_open(out->world, out->lists, &out->config, &out->trace, err));
    if (status != GNN_OK)
        gnn_bound_source_close(out);
    return status;
}

void gnn_bound_source_close(struct gnn_bound_source *source)
{
    gnn_row_trace_close(source->trace);
    gnn_lists_close(source->lists);
    gnn_world_measured_close(source->world);
    *source = (struct gnn_bound_source){.world = NULL};
}

enum gnn_status gnn_bound_profile(const char *name, const char *changes, struct gnn_profile **out, struct gnn_err *err)
{
    struct gnn_data_dirs found;
    gnn_data_dirs(&found);
    return gnn_profile_open_changed(name, changes, found.dirs, out, err);
}

/* ---- a recorded run ---- */

/* The configuration of a record, as far as this program knows its options. */
static enum gnn_status config_of(const struct gnn_run_record *run, struct gnn_run_config *config, struct gnn_err *err)
{
    gnn_run_config_defaults(config);
    for (const struct gnn_option *o = gnn_run_options; o->name != NULL; o++) {
        const char *const value = gnn_kv_get(&run->config, o->name);
        if (value != NULL)
            GNN_TRY(gnn_option_set(gnn_run_options, config, o->name, value, err));
    }
    config->epochs = run->epoch_count;
    return GNN_OK;
}

/* Bytes of GPUs that could hold rows beside the host's; GNN_UNKNOWN: the record does not tell. */
static enum gnn_status device_bytes(const struct gnn_run_record *run, const struct gnn_run_config *config,
                                    uint64_t *out, struct gnn_err *err)
{
    char name[GNN_TEXT_MAX];
    struct gnn_profile *profile;
    uint32_t device;
    const char *const recorded = gnn_kv_get(&run->environment, "gpu.memory_bytes");
    *out = 0;
    if (gnn_compute_is_cuda(config, &device)) {
        *out = GNN_UNKNOWN;
        return recorded == NULL ? GNN_OK : gnn_parse_u64(recorded, out, err);
    }
    const size_t length = strlen(config->compute);
    if (!gnn_compute_is_modelled(config) || length < 4 || strcmp(config->compute + length - 4, "/gpu") != 0)
        return GNN_OK;
    (void)snprintf(name, sizeof name, "%.*s", (int)(length - strlen("model:") - 4), config->compute + strlen("model:"));
    GNN_TRY(gnn_bound_profile(name, config->profile_set, &profile, err));
    *out = gnn_mul_bytes(profile->gpu.memory_bytes, profile->gpu.devices);
    gnn_profile_close(profile);
    return GNN_OK;
}

/* Why the run has no bound; NULL: it may have one. */
static const char *no_bound(const struct gnn_run_record *run, const struct gnn_run_config *config)
{
    if (run->epoch_count == 0)
        return "no epoch was finished";
    if (config->sample_only)
        return "it gathered no rows (--sample-only)";
    if (config->task != GNN_TASK_NODES)
        return "rows of --task link are written, too";
    if (config->workers > 1 || gnn_run_segments(config) > 1)
        return "the mini-batches of several workers are not counted";
    if (gnn_run_cap_not_enforced(run))
        return "its memory limit leaves the page cache out (--cap program), so it may hold more rows than the limit";
    return NULL;
}

/* Whether each epoch's mini-batches are those that were sampled here. */
static bool same_batches(const struct gnn_run_record *run, const struct gnn_row_trace *trace)
{
    uint32_t count;
    const struct gnn_row_trace_epoch *const epochs = gnn_row_trace_epochs(trace, &count);
    assert(count == run->epoch_count);
    for (uint32_t e = 0; e < count; e++)
        if (!run->epochs[e].counters.has_digest || run->epochs[e].counters.batch_digest != epochs[e].batch_digest)
            return false;
    return true;
}

/* Writes why the mini-batches give the run no bound; "": they give one. */
static void say_unfit(const struct gnn_run_record *run, const struct gnn_row_trace *trace, uint64_t memory_bytes,
                      char why[GNN_BOUND_WHY_BYTES])
{
    char limit[32], least[32];
    const uint64_t least_bytes = gnn_row_trace_memory_min(trace);
    why[0] = '\0';
    const char *const recorded = gnn_kv_get(&run->environment, GNN_ENVIRONMENT_DIGEST_VERSION);
    const char *const version = recorded != NULL ? recorded : GNN_DIGEST_VERSION_FIRST;
    if (strtoul(version, NULL, 10) != gnn_row_trace_digest_version())
        (void)snprintf(why, GNN_BOUND_WHY_BYTES,
                       "its batch digests have version %.8s, this program makes version %" PRIu32
                       ", and the two cannot be compared; run it again",
                       version, gnn_row_trace_digest_version());
    else if (!same_batches(run, trace))
        (void)snprintf(why, GNN_BOUND_WHY_BYTES,
                       "its mini-batches are not those of its seed (other or reused samples)");
    else if (memory_bytes < least_bytes)
        (void)snprintf(
            why, GNN_BOUND_WHY_BYTES,
            "its memory of %s is below its largest mini-batch (%s), whose rows are together in memory by the "
            "bound's premise",
            gnn_format_bytes(memory_bytes, limit, sizeof limit), gnn_format_bytes(least_bytes, least, sizeof least));
}

/* Writes the bound, and the verdict on a run that is below it. */
static enum gnn_status write_bound(struct gnn_run_record *run, const char *db_path, uint64_t bytes, struct gnn_err *err)
{
    struct gnn_db *db;
    GNN_TRY(gnn_kv_setf(&run->environment, err, GNN_ENVIRONMENT_BOUND, "%" PRIu64, bytes));
    GNN_TRY(gnn_db_open(db_path, GNN_DB_WRITE, &db, err));
    const char *const text = gnn_kv_get(&run->environment, GNN_ENVIRONMENT_BOUND);
    enum gnn_status status = gnn_db_set_environment(db, run->run_id, GNN_ENVIRONMENT_BOUND, text, err);
    if (status == GNN_OK && !gnn_validity_check_bound(run))
        status = gnn_db_judge(db, run, err);
    gnn_db_close(db);
    return status;
}

static enum gnn_status count_bound(const struct gnn_row_trace *trace, uint32_t epochs, uint64_t memory_bytes,
                                   uint64_t *bytes, struct gnn_err *err)
{
    uint64_t *rows, sum = 0;
    GNN_NEW(rows, epochs, err, "rows of %" PRIu32 " epochs", epochs);
    const enum gnn_status status = gnn_row_trace_least(trace, &memory_bytes, 1, rows, err);
    for (uint32_t e = 0; e < epochs && status == GNN_OK; e++)
        sum += rows[e];
    free(rows);
    *bytes = gnn_mul_bytes(sum, gnn_row_trace_row_bytes(trace));
    return status;
}

enum gnn_status gnn_bound_of_run(struct gnn_run_record *run, const char *db, const struct gnn_bound_room *room,
                                 char why[GNN_BOUND_WHY_BYTES], struct gnn_err *err)
{
    struct gnn_run_config config;
    struct gnn_bound_source source;
    uint64_t device, bytes = 0, memory_bytes = UINT64_MAX;
    why[0] = '\0';
    GNN_TRY(config_of(run, &config, err));
    const char *reason = no_bound(run, &config);
    if (reason == NULL) {
        GNN_TRY(device_bytes(run, &config, &device, err));
        reason = device == GNN_UNKNOWN ? "how much memory its GPU has is not recorded" : NULL;
    }
    if (reason != NULL) {
        (void)snprintf(why, GNN_BOUND_WHY_BYTES, "%s", reason);
        return GNN_OK;
    }
    if (config.memory_bytes > 0)
        memory_bytes = gnn_add_bytes(gnn_add_bytes(config.memory_bytes, config.swap_bytes), device);
    GNN_TRY(gnn_bound_source_open(&config, room, &source, err));
    enum gnn_status status = GNN_OK;
    say_unfit(run, source.trace, memory_bytes, why);
    if (why[0] == '\0') {
        status = count_bound(source.trace, run->epoch_count, memory_bytes, &bytes, err);
        GNN_NEXT(status, write_bound(run, db, bytes, err));
    }
    gnn_bound_source_close(&source);
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "harness/run/floor.h"

#include "harness/base/data_dirs.h"
#include "harness/base/log.h"
#include "harness/base/units.h"
#include "harness/record/summary.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const double ns_per_s = 1e9, ps_per_ns = 1e3;

/* ---- the device ---- */

/* The run goes on without figures of its device: they are of use in its record alone. */
static struct gnn_profile *find_profile(const struct gnn_run_config *config)
{
    const char *const name = config->world == GNN_WORLD_SIMULATED ? config->profile : "this";
    struct gnn_data_dirs found;
    struct gnn_profile *profile = NULL;
    struct gnn_err cause = {0};
    gnn_data_dirs(&found);
    const char *const changes = config->world == GNN_WORLD_SIMULATED ? config->profile_set : "";
    const enum gnn_status status = gnn_profile_open_changed(name, changes, found.dirs, &profile, &cause);
    if (status != GNN_OK && status != GNN_EUSAGE) /* it is there, and no profile */
        gnn_log_warn("%s; the record will have no floor", cause.message);
    return profile;
}

/* A machine changes, and its kernel: figures of another day may be off by a third. */
static void warn_of_age(const struct gnn_profile *profile)
{
    char text[GNN_PROFILE_AGE_BYTES];
    const uint64_t now_s = (uint64_t)time(NULL);
    if (strcmp(profile->machine_id, "this") == 0 && gnn_profile_is_old(profile, now_s))
        gnn_log_warn("profile %s: %s; `oocgnn calibrate` measures this machine anew", profile->name,
                     gnn_profile_age_text(profile, now_s, text, sizeof text));
}

static const char *name_profile(const struct gnn_profile *profile, char *text, size_t text_bytes)
{
    (void)snprintf(text, text_bytes, "%s %s", profile->name, profile->digest);
    return text;
}

const char *gnn_floor_calibration(char *text, size_t text_bytes)
{
    const struct gnn_run_config measured = {.world = GNN_WORLD_MEASURED};
    struct gnn_profile *const profile = find_profile(&measured);
    if (profile != NULL)
        (void)name_profile(profile, text, text_bytes);
    gnn_profile_close(profile);
    return profile != NULL ? text : NULL;
}

static enum gnn_status note_profile(const struct gnn_profile *profile, struct gnn_kv_list *environment,
                                    struct gnn_err *err)
{
    char moment[GNN_UTC_BYTES];
    char text[GNN_TEXT_MAX];
    GNN_TRY(gnn_kv_set(environment, GNN_ENVIRONMENT_FLOOR, name_profile(profile, text, sizeof text), err));
    if (profile->calibrated_s == 0)
        return GNN_OK;
    return gnn_kv_set(environment, GNN_ENVIRONMENT_CALIBRATED,
                      gnn_format_utc(profile->calibrated_s, moment, sizeof moment), err);
}

enum gnn_status gnn_floor_open(const struct gnn_run_config *config, struct gnn_kv_list *environment,
                               struct gnn_floor *out, struct gnn_err *err)
{
    struct gnn_profile *const profile = find_profile(config);
    *out = (struct gnn_floor){
        .device_bps = config->device_bps, .device_iops = config->device_iops, .trains = !config->sample_only};
    if (profile == NULL)
        return gnn_kv_set(environment, GNN_ENVIRONMENT_FLOOR, NULL, err);
    out->has_device = true;
    out->device = profile->storage;
    warn_of_age(profile);
    const enum gnn_status status = note_profile(profile, environment, err);
    gnn_profile_close(profile);
    return status;
}

struct reads {
    uint64_t bytes, ios;
};

/* Counts what the device delivered; false without a counter of its reads. What was asked for stands in for it where it
 * was asked for past the page cache, in which it may have lain otherwise. */
static bool count_reads(const struct gnn_floor *floor, const struct gnn_record_counters *c, struct reads *out)
{
    *out = (struct reads){.bytes = c->device_read_bytes, .ios = c->device_read_ios};
    if ((out->bytes == GNN_UNKNOWN || out->ios == GNN_UNKNOWN) && floor->direct)
        *out = (struct reads){.bytes = c->requested_bytes, .ios = c->requested_ios};
    return out->bytes != GNN_UNKNOWN && out->ios != GNN_UNKNOWN;
}

static uint64_t count_writes(const struct gnn_record_counters *c)
{
    return c->device_write_bytes != GNN_UNKNOWN ? c->device_write_bytes : c->requested_write_bytes;
}

/* Of reads and writes that come together, the share of the lesser that costs the device nothing: none where they take
 * turns, or disturb each other; all where it does both at once. */
static double share_beside(const struct gnn_profile_storage *d)
{
    if (d->mixed_bytes_per_s == 0)
        return 0;
    const double read_share = GNN_MIXED_READ_PERCENT / 100.0, bytes = GNN_MIXED_BYTES;
    const double read_ns = read_share * gnn_storage_best_read_ps(d, GNN_MIXED_BYTES) / ps_per_ns;
    const double write_ns = (1 - read_share) * bytes / (double)d->write_bytes_per_s * ns_per_s;
    const double together_ns = bytes / (double)d->mixed_bytes_per_s * ns_per_s;
    return fmin(fmax((read_ns + write_ns - together_ns) / fmin(read_ns, write_ns), 0), 1);
}

/* How long so much takes at so much a second; no time where there is no such limit. */
static double limited_ns(uint64_t amount, uint64_t per_s)
{
    return per_s == 0 ? 0 : (double)amount / (double)per_s * ns_per_s;
}

uint64_t gnn_floor_device_ns(const struct gnn_floor *floor, const struct gnn_record_epoch *epoch)
{
    const struct gnn_profile_storage *const d = &floor->device;
    const uint64_t written_bytes = count_writes(&epoch->counters);
    struct reads reads;
    if (!floor->has_device || !count_reads(floor, &epoch->counters, &reads) || written_bytes == GNN_UNKNOWN)
        return GNN_UNKNOWN;
    assert(d->devices > 0);
    const uint64_t mean_bytes = reads.ios > 0 ? reads.bytes / reads.ios : 0;
    const double read_ns = (double)reads.ios * gnn_storage_best_read_ps(d, mean_bytes) / ps_per_ns / d->devices;
    const double write_ns = limited_ns(written_bytes, d->write_bytes_per_s) / d->devices;
    double ns = read_ns + write_ns - share_beside(d) * fmin(read_ns, write_ns);
    ns = fmax(ns, limited_ns(reads.bytes, floor->device_bps));
    ns = fmax(ns, limited_ns(reads.ios, floor->device_iops));
    ns = fmax(ns, limited_ns(written_bytes, floor->device_bps));
    return (uint64_t)llround(ns);
}

/* ---- training ---- */

static const struct gnn_record_stage *training_stage(const struct gnn_record_epoch *epoch)
{
    assert(epoch->stage_count <= GNN_RECORD_STAGES_MAX);
    for (uint32_t i = 0; i < epoch->stage_count; i++)
        if (strcmp(epoch->stages[i].stage, "train") == 0)
            return &epoch->stages[i];
    return NULL;
}

uint64_t gnn_floor_training_ns(const struct gnn_floor *floor, const struct gnn_record_epoch *epoch)
{
    const uint64_t accelerator_ns = gnn_recorded_figure(epoch, GNN_FIGURE_GPU_BUSY);
    const struct gnn_record_stage *const stage = training_stage(epoch);
    if (!floor->trains)
        return 0;
    if (stage == NULL || stage->workers == GNN_UNKNOWN || stage->workers == 0 || stage->work_ns == GNN_UNKNOWN ||
        stage->wait_compute_ns == GNN_UNKNOWN)
        return GNN_UNKNOWN;
    /* Without a core there is no work: what a thread was runnable for is not what its work takes. */
    const uint64_t work_ns = gnn_min_u64(stage->work_ns, stage->cpu_ns);
    const uint64_t stage_ns = (work_ns + stage->wait_compute_ns) / stage->workers;
    return accelerator_ns == GNN_UNKNOWN ? stage_ns : gnn_max_u64(stage_ns, accelerator_ns);
}

/* ---- both ---- */

static void add_figure(struct gnn_record_epoch *epoch, const char *name, uint64_t ns)
{
    if (ns == GNN_UNKNOWN)
        return;
    assert(epoch->figure_count < GNN_RECORD_FIGURES_MAX);
    struct gnn_record_figure *const figure = &epoch->figures[epoch->figure_count++];
    (void)snprintf(figure->name, sizeof figure->name, "%s", name);
    figure->value = ns;
}

void gnn_floor_add(const struct gnn_floor *floor, struct gnn_record_epoch *epoch)
{
    const uint64_t device_ns = gnn_floor_device_ns(floor, epoch);
    const uint64_t training_ns = gnn_floor_training_ns(floor, epoch);
    _Static_assert(GNN_UNKNOWN == UINT64_MAX, "what is unknown leaves no floor");
    add_figure(epoch, GNN_FIGURE_FLOOR_DEVICE, device_ns);
    add_figure(epoch, GNN_FIGURE_FLOOR_TRAINING, training_ns);
    add_figure(epoch, GNN_FIGURE_FLOOR, gnn_max_u64(device_ns, training_ns)); /* unknown is the largest */
}

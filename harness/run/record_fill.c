/* SPDX-License-Identifier: MIT */
#include "harness/run/record_fill.h"

#include "harness/base/log.h"
#include "harness/base/plain_text.h"
#include "harness/base/units.h"
#include "harness/dataset/earlier.h"
#include "harness/dataset/prepare.h"
#include "harness/dataset/read.h"
#include "harness/run/plugin.h"
#include "harness/run/preset.h"
#include "harness/run/validity.h"
#include "harness/sample/digest.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Figures of an epoch that are the harness's own: those added here, those of its floor (floor.h), and those of sizes,
 * asked for and the device's: four ends and the classes that have any. */
enum { OWN_FIGURES = 40, FLOOR_FIGURES = 3, SIZE_FIGURES = 2 * (4 + GNN_SIZE_CLASSES) };

/* record/ does not know what a system is; here both sides' limits meet. */
_Static_assert((int)GNN_RECORD_STAGES_MAX == (int)GNN_STAGES_MAX, "the record holds every stage of a pipeline");
_Static_assert((int)GNN_RECORD_FIGURES_MAX >=
                   (int)GNN_FIGURES_MAX + (int)OWN_FIGURES + (int)FLOOR_FIGURES + (int)SIZE_FIGURES,
               "the record holds every figure");
_Static_assert(sizeof(((struct gnn_record_figure *)0)->name) == GNN_NAME_MAX, "copy_name cuts at GNN_NAME_MAX");
_Static_assert(sizeof(((struct gnn_record_stage *)0)->stage) == GNN_NAME_MAX, "copy_name cuts at GNN_NAME_MAX");

static void copy_name(char *to, const char *from)
{
    (void)snprintf(to, GNN_NAME_MAX, "%.*s", GNN_NAME_MAX - 1, from);
}

/* The last part of a dataset directory, or the name itself. */
static const char *dataset_name(const char *dataset)
{
    const char *const slash = strrchr(dataset, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : dataset;
}

enum gnn_status gnn_record_list_config(const struct gnn_run_config *config, struct gnn_kv_list *out,
                                       struct gnn_err *err)
{
    char value[GNN_TEXT_MAX], key[GNN_TEXT_MAX];
    for (const struct gnn_option *o = gnn_run_options; o->name != NULL; o++) {
        gnn_option_format(o, config, value, sizeof value);
        GNN_TRY(gnn_kv_set(out, o->name, value, err));
    }
    const struct gnn_system *system;
    GNN_TRY(gnn_system_find(config->system, &system, err));
    GNN_TRY(gnn_kv_set(out, "system", system->name, err)); /* the path of an object says nothing about it */
    void *settings;
    GNN_TRY(gnn_system_configure(system, config, &settings, err));
    enum gnn_status status = GNN_OK;
    for (const struct gnn_option *o = system->options; o->name != NULL && status == GNN_OK; o++) {
        gnn_option_format(o, settings, value, sizeof value);
        (void)snprintf(key, sizeof key, "%s.%s", system->name, o->name);
        status = gnn_kv_set(out, key, value, err);
    }
    free(settings);
    return status;
}

/* "sage"; of links "distmult", or "sage distmult" behind an encoder. */
static void fill_model(const struct gnn_run_config *config, struct gnn_run_record *run)
{
    assert(config->model < GNN_MODEL_KINDS);
    if (config->task == GNN_TASK_NODES)
        copy_name(run->model, gnn_model_names[config->model]);
    else
        (void)snprintf(run->model, sizeof run->model, "%s%s%s", config->encoder ? gnn_model_names[config->model] : "",
                       config->encoder ? " " : "", gnn_decoder_words[config->decoder]);
}

/* Names the object that a system came from. */
static enum gnn_status fill_plugin(const struct gnn_run_config *config, struct gnn_run_record *run, struct gnn_err *err)
{
    char digest[GNN_CHECKSUM_TEXT];
    const char *const slash = strrchr(config->system, '/');
    if (!gnn_plugin_is_path(config->system))
        return GNN_OK;
    GNN_TRY(gnn_plugin_digest(config->system, digest, err));
    GNN_TRY(gnn_kv_set(&run->environment, GNN_PLUGIN_FILE_KEY, slash + 1, err));
    return gnn_kv_set(&run->environment, GNN_PLUGIN_DIGEST_KEY, digest, err);
}

enum gnn_status gnn_record_fill_config(const struct gnn_run_config *config, struct gnn_run_record *run,
                                       struct gnn_err *err)
{
    copy_name(run->system, gnn_run_system_name(config));
    copy_name(run->dataset, dataset_name(config->dataset));
    fill_model(config, run);
    copy_name(run->preset, config->preset);
    copy_name(run->world, config->world == GNN_WORLD_SIMULATED ? "simulated" : "measured");
    copy_name(run->profile, config->profile);
    copy_name(run->compute, config->sample_only ? "" : config->compute);
    copy_name(run->io_engine, config->io_engine == GNN_RING_URING ? "uring" : "pool");
    copy_name(run->variant, config->sample_only ? "sample-only" : "");
    run->scale_divisor = config->scale_divisor;
    run->dim = gnn_run_dim(config) == 0 ? GNN_UNKNOWN : gnn_run_dim(config);
    run->batch_size = config->batch_size;
    run->epochs_planned = config->epochs;
    run->seed = config->seed;
    run->cap_bytes = config->memory_bytes == 0 ? GNN_UNKNOWN : config->memory_bytes;
    run->cap_swap_bytes = config->memory_bytes == 0 ? GNN_UNKNOWN : config->swap_bytes;
    copy_name(run->cap_enforcement,
              config->world == GNN_WORLD_SIMULATED && config->memory_bytes != 0 ? "simulated" : "none");
    run->device_bps = config->device_bps == 0 ? GNN_UNKNOWN : config->device_bps;
    run->device_iops = config->device_iops == 0 ? GNN_UNKNOWN : config->device_iops;
    run->cold_asked = config->cold ? 1 : 0;
    GNN_TRY(gnn_record_list_config(config, &run->config, err));
    GNN_TRY(fill_plugin(config, run, err));
    copy_name(run->fanout, gnn_kv_get(&run->config, "fanout"));
    if (!gnn_run_costs_are_ideal(config)) /* `step` and `process_start` are divided by it */
        GNN_TRY(gnn_kv_setf(&run->environment, err, "costs.piece_divisor", "%" PRIu32, config->scale_divisor));
    if (config->preset[0] == '\0')
        return GNN_OK;
    char held[GNN_TEXT_MAX * 4];
    GNN_TRY(gnn_preset_held(config, held, sizeof held, err));
    return gnn_kv_set(&run->environment, "preset.held", held, err);
}

/* The width that the run will take, as gnn_dataset_open chooses it. */
static uint32_t dim_of(const struct gnn_run_config *config, const struct gnn_meta *meta)
{
    return gnn_run_dim(config) != 0 ? gnn_run_dim(config) : gnn_meta_first_dim(meta, config->feature_type);
}

/* Runs accept the graph of an earlier version, whose numbers are not those of the present one. */
static void tell_earlier(const struct gnn_run_config *config, const char *dir, const struct gnn_meta *meta)
{
    char word[GNN_TEXT_MAX];
    const char *const lacks = gnn_dataset_lacks_since(meta);
    if (lacks == NULL || config->quiet)
        return;
    gnn_log_warn("%s has the graph %s of an earlier version, without %s, so results differ from those of the present "
                 "graph; `oocgnn prepare %s --scale 1/%" PRIu32 " --dim %" PRIu32 " --out %s-new` generates that one",
                 dir, meta->name, lacks, meta->name, meta->scale_divisor, meta->dims[0],
                 gnn_shell_word(dir, word, sizeof word));
}

static enum gnn_status fill_from_meta(const struct gnn_run_config *config, const char *dir, const struct gnn_meta *meta,
                                      struct gnn_run_record *run, struct gnn_err *err)
{
    if (config->scale_divisor != 1 && config->scale_divisor != meta->scale_divisor)
        return gnn_fail(err, GNN_EUSAGE,
                        "--scale 1/%" PRIu32 ": the dataset in %s has scale 1/%" PRIu32
                        "; leave --scale out, or name another one",
                        config->scale_divisor, dir, meta->scale_divisor);
    if (config->task == GNN_TASK_LINK && meta->relation_count == 0)
        return gnn_run_dataset_without_links(config, dir, err);
    char digest[GNN_CHECKSUM_TEXT], features[32];
    const uint32_t dim = dim_of(config, meta);
    copy_name(run->dataset, meta->name);
    run->scale_divisor = meta->scale_divisor;
    run->dim = dim;
    gnn_meta_features_name(dim, config->feature_type, features, sizeof features);
    const uint32_t id_bytes = gnn_id_width_bytes(config->id_width);
    const char *const indices = gnn_meta_indices_name(id_bytes);
    const bool links = meta->relation_count > 0; /* edges instead of features */
    if ((gnn_meta_find_file(meta, features) == NULL && !links) || gnn_meta_find_file(meta, indices) == NULL)
        return GNN_OK; /* no such width: the worker says so */
    gnn_meta_digest(meta, dim, config->feature_type, id_bytes, digest);
    run->dataset_bytes =
        gnn_meta_expected_bytes(meta, "indptr") + gnn_meta_expected_bytes(meta, indices) +
        (links ? gnn_meta_expected_bytes(meta, gnn_meta_triples_name(0)) : gnn_meta_expected_bytes(meta, features));
    return gnn_kv_set(&run->environment, "dataset.digest", digest, err);
}

enum gnn_status gnn_record_fill_dataset(const struct gnn_run_config *config, const char *dir,
                                        struct gnn_run_record *run, struct gnn_err *err)
{
    const struct gnn_registry_entry *entry;
    if (gnn_run_dataset_is_computed(config)) {
        GNN_TRY(gnn_registry_find(config->dataset, &entry, err));
        run->dim = config->dim != 0 ? config->dim : entry->dim;
        return GNN_OK;
    }
    struct gnn_meta *meta;
    GNN_NEW(meta, 1, err, "meta of %s", dir);
    enum gnn_status status = gnn_read_meta(dir, meta, err);
    GNN_NEXT(status, fill_from_meta(config, dir, meta, run, err));
    if (status == GNN_OK)
        tell_earlier(config, dir, meta);
    free(meta);
    return status;
}

enum gnn_status gnn_record_fill_opened(const struct gnn_wire_opened *opened, struct gnn_run_record *run,
                                       struct gnn_err *err)
{
    const struct gnn_dataset *const d = &opened->dataset;
    copy_name(run->dataset, d->name);
    run->scale_divisor = d->scale_divisor;
    run->dim = d->dim;
    run->dataset_bytes = d->topology_bytes + d->feature_bytes;
    run->direct_asked = 0;
    for (uint32_t i = 0; i < opened->intent.file_count; i++)
        if ((opened->intent.files[i].how & GNN_READS_DIRECT) != 0)
            run->direct_asked = 1;
    struct gnn_kv_list *const env = &run->environment;
    GNN_TRY(gnn_kv_set(env, "dataset.digest", d->digest, err));
    GNN_TRY(gnn_kv_setf(env, err, GNN_ENVIRONMENT_DIGEST_VERSION, "%d", GNN_DIGEST_VERSION));
    GNN_TRY(gnn_kv_set(env, "cpu.denormals", opened->flushes_denormals ? "flushed" : "kept", err));
    if (opened->profile_digest[0] != '\0')
        GNN_TRY(gnn_kv_set(env, "profile.digest", opened->profile_digest, err));
    if (opened->costs_digest[0] != '\0')
        GNN_TRY(gnn_kv_set(env, "costs.digest", opened->costs_digest, err));
    if (opened->readahead_bytes != GNN_UNKNOWN)
        GNN_TRY(gnn_kv_setf(env, err, "device.readahead_bytes", "%" PRIu64, opened->readahead_bytes));
    GNN_TRY(gnn_kv_setf(env, err, "dataset.nodes", "%" PRIu32, d->node_count));
    GNN_TRY(gnn_kv_setf(env, err, "dataset.edges", "%" PRIu64, d->edge_count));
    GNN_TRY(gnn_kv_setf(env, err, "dataset.classes", "%" PRIu32, d->class_count));
    GNN_TRY(gnn_kv_setf(env, err, "dataset.train", "%" PRIu32, d->train.count));
    GNN_TRY(gnn_kv_setf(env, err, "dataset.valid", "%" PRIu32, d->valid.count));
    GNN_TRY(gnn_kv_setf(env, err, "dataset.test", "%" PRIu32, d->test.count));
    if (opened->intent.batches != GNN_UNKNOWN) /* epochs differ */
        GNN_TRY(gnn_kv_setf(env, err, "epoch.batches", "%" PRIu64, opened->intent.batches));
    GNN_TRY(gnn_kv_setf(env, err, GNN_ENVIRONMENT_WHOLE_BATCHES, "%" PRIu64, opened->intent.whole_batches));
    if (opened->intent.seeds != GNN_UNKNOWN)
        GNN_TRY(gnn_kv_setf(env, err, "epoch.seeds", "%" PRIu64, opened->intent.seeds));
    for (uint32_t i = 0; i < opened->rules.count; i++) {
        char key[GNN_NAME_MAX * 2 + 8];
        (void)snprintf(key, sizeof key, "rule.%s.%s", run->system, opened->rules.of[i].name);
        GNN_TRY(gnn_kv_setf(env, err, key, "%" PRIu32, opened->rules.of[i].value));
    }
    GNN_TRY(gnn_kv_setf(env, err, "plan.fixed_bytes", "%" PRIu64, opened->plan_fixed_bytes));
    GNN_TRY(gnn_kv_setf(env, err, "plan.batches_bytes", "%" PRIu64, opened->plan_batches_bytes));
    GNN_TRY(gnn_kv_setf(env, err, "system.open_ns", "%" PRIu64, opened->open_ns));
    return gnn_kv_setf(env, err, "model.parameters", "%" PRIu64, opened->parameters);
}

static uint64_t difference(uint64_t after, uint64_t before)
{
    return after == GNN_UNKNOWN || before == GNN_UNKNOWN || after < before ? GNN_UNKNOWN : after - before;
}

/* Returns what the device took, or GNN_UNKNOWN if a part of it went into the page cache of a group that misses that. */
static uint64_t device_writes(uint64_t write_bytes, const struct gnn_group_reading *group, uint64_t buffered_bytes)
{
    return group->misses_buffered_writes == 1 && buffered_bytes > 0 ? GNN_UNKNOWN : write_bytes;
}

static void fill_counters(const struct gnn_wire_epoch *wire, const struct gnn_group_reading *before,
                          const struct gnn_group_reading *after, struct gnn_record_counters *out)
{
    const struct gnn_counters *const c = &wire->result.counters;
    *out = (struct gnn_record_counters){
        .elapsed_ns = wire->wall_ns,
        .cpu_ns = wire->after.cpu_ns - wire->before.cpu_ns,
        .needed_bytes = c->needed_bytes,
        .requested_bytes = c->requested_bytes,
        .requested_ios = c->requested_ios,
        .requested_write_bytes = wire->mapped_write_bytes > 0 ? GNN_UNKNOWN : c->requested_write_bytes,
        .requested_write_ios = wire->mapped_write_bytes > 0 ? GNN_UNKNOWN : c->requested_write_ios,
        .device_read_bytes = difference(after->read_bytes, before->read_bytes),
        .device_read_ios = difference(after->read_ios, before->read_ios),
        .device_write_bytes =
            device_writes(difference(after->write_bytes, before->write_bytes), after, wire->buffered_write_bytes),
        .cache_hits = c->cache_hits,
        .cache_misses = c->cache_misses,
        .cache_evictions = c->cache_evictions,
        .rows_asked = c->rows_asked,
        .rows_read = c->rows_read,
        .sampled_nodes = c->sample.sampled_nodes,
        .sampled_edges = c->sample.sampled_edges,
        .batches = c->sample.batches,
        .batch_digest = c->sample.batch_digest,
        .has_digest = c->sample.sampled_nodes != 0,
        .peak_memory_bytes = after->peak_bytes,
        .page_cache_bytes = after->file_bytes,
        .refaults = difference(after->refaults, before->refaults),
        .prepare_disk_bytes = c->prepare_disk_bytes,
    };
}

void gnn_record_fill_before(const struct gnn_wire_begin *wire, const struct gnn_group_reading *group,
                            uint64_t elapsed_ns, struct gnn_record_counters *out)
{
    gnn_record_counters_unknown(out);
    out->elapsed_ns = elapsed_ns;
    out->cpu_ns = wire->usage.cpu_ns;
    out->requested_bytes = wire->requested_bytes;
    out->requested_ios = wire->requested_ios;
    out->requested_write_bytes = wire->requested_write_bytes;
    out->requested_write_ios = wire->requested_write_ios;
    out->device_read_bytes = group->read_bytes;
    out->device_read_ios = group->read_ios;
    out->device_write_bytes = device_writes(group->write_bytes, group, wire->buffered_write_bytes);
    out->peak_memory_bytes = group->peak_bytes;
    out->page_cache_bytes = group->file_bytes;
    out->refaults = group->refaults;
}

static void fill_stage(const struct gnn_stage_time *t, struct gnn_record_stage *out)
{
    gnn_record_stage_unknown(out);
    copy_name(out->stage, t->stage);
    out->workers = t->workers;
    out->items = t->items;
    out->wall_ns = t->wall_ns;
    out->work_ns = t->work_ns;
    out->cpu_ns = t->cpu_ns;
    out->queued_ns = t->queued_ns;
    out->wait_io_ns = t->wait_ns[GNN_WAIT_IO];
    out->wait_queue_ns = t->wait_ns[GNN_WAIT_QUEUE];
    out->wait_lock_ns = t->wait_ns[GNN_WAIT_LOCK];
    out->wait_compute_ns = t->wait_ns[GNN_WAIT_COMPUTE];
    out->wait_resource_ns = t->wait_ns[GNN_WAIT_RESOURCE];
}

static void add_figure(struct gnn_record_epoch *out, const char *name, uint64_t value)
{
    assert(out->figure_count < GNN_RECORD_FIGURES_MAX);
    struct gnn_record_figure *const figure = &out->figures[out->figure_count++];
    copy_name(figure->name, name);
    figure->value = value;
}

/* wall_ns stays what was run; the whole epoch stands beside it with its spread. */
static void add_extrapolation(struct gnn_record_epoch *out, const struct gnn_extrapolation *full)
{
    add_figure(out, GNN_FIGURE_FULL_EPOCH, full->full_ns);
    add_figure(out, GNN_FIGURE_FULL_EPOCH_SETTLED, full->settled ? 1 : 0);
    add_figure(out, GNN_FIGURE_FULL_EPOCH_GROUPS, full->groups);
    if (full->settled) {
        add_figure(out, GNN_FIGURE_FULL_EPOCH_LOW, full->low_ns);
        add_figure(out, GNN_FIGURE_FULL_EPOCH_HIGH, full->high_ns);
    }
    add_figure(out, "warmup_batches", full->warmup);
    add_figure(out, "extrapolated_from_batches", full->used);
}

/* gpu_busy_ns over the epoch's wall time is the share in which the device's stream computed. */
static void add_device(struct gnn_record_epoch *out, const struct gnn_device_times *device)
{
    add_figure(out, GNN_FIGURE_GPU_BUSY, device->kernel_ns);
    add_figure(out, GNN_FIGURE_GPU_COPY, device->copy_ns);
    add_figure(out, GNN_FIGURE_GPU_UPLOADED, device->uploaded_bytes);
    add_figure(out, GNN_FIGURE_GPU_DOWNLOADED, device->downloaded_bytes);
    add_figure(out, "gpu_launches", device->launches);
    if (device->held_ns > 0)
        add_figure(out, "gpu_held_ns", device->held_ns);
    if (device->graph_steps > 0) {
        add_figure(out, "gpu_graph_steps", device->graph_steps);
        add_figure(out, "gpu_graph_builds", device->graph_builds);
    }
    if (device->plain_step_ns > 0) {
        add_figure(out, "gpu_plain_step_ns", device->plain_step_ns);
        add_figure(out, "gpu_graph_step_ns", device->graph_step_ns);
        add_figure(out, "step_graphs", device->graph_step_ns <= device->plain_step_ns);
    }
}

/* Adds "read_bytes_p50" and the like of reads that are called `of`, and "reads_to_4K", how many had a size of that
 * class, of each class that has any. */
static void add_sizes(struct gnn_record_epoch *out, const char *of, const struct gnn_sizes *sizes)
{
    static const struct {
        const char *name;
        double share;
    } ends[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1}};
    char name[GNN_NAME_MAX], most[8];
    if (sizes->count == 0)
        return;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        (void)snprintf(name, sizeof name, "%s_bytes_%s", of, ends[i].name);
        add_figure(out, name, gnn_sizes_quantile(sizes, ends[i].share));
    }
    for (uint32_t i = 0; i < GNN_SIZE_CLASSES; i++) {
        if (sizes->of_class[i] == 0)
            continue;
        (void)snprintf(name, sizeof name, "%ss_to_%s", of, gnn_size_class_name(i, most));
        add_figure(out, name, sizes->of_class[i]);
    }
}

/* What a mean of the epoch hides: how long a mini-batch took after the one before it, how long reads took,
 * and how large they were. */
static void add_distributions(struct gnn_record_epoch *out, const struct gnn_wire_epoch *wire)
{
    if (wire->batches.count > 0) {
        add_figure(out, "batch_p50_ns", wire->batches.p50_ns);
        add_figure(out, "batch_p90_ns", wire->batches.p90_ns);
        add_figure(out, "batch_p99_ns", wire->batches.p99_ns);
        add_figure(out, "batch_max_ns", wire->batches.max_ns);
    }
    if (wire->reads.count > 0) {
        add_figure(out, "reads_timed", wire->reads.count);
        add_figure(out, "read_p50_ns", wire->reads.p50_ns);
        add_figure(out, "read_p90_ns", wire->reads.p90_ns);
        add_figure(out, "read_p99_ns", wire->reads.p99_ns);
        add_figure(out, "read_p999_ns", wire->reads.p999_ns);
        add_figure(out, "read_max_ns", wire->reads.max_ns);
    }
    add_sizes(out, "read", &wire->read_sizes);
    const struct gnn_sizes of_device = gnn_sizes_since(&wire->after.device_reads, &wire->before.device_reads);
    add_sizes(out, "device_read", &of_device);
}

static void add_share(struct gnn_record_epoch *out, const char *name, double share)
{
    if (isfinite(share))
        add_figure(out, name, (uint64_t)llround(1e6 * share));
}

static void add_queries(struct gnn_record_epoch *out, const char *queries, const char *own_first,
                        const struct gnn_link_quality *quality)
{
    if (quality->own_first == GNN_UNKNOWN)
        return;
    assert(quality->own_first <= quality->queries);
    add_figure(out, queries, quality->queries);
    add_figure(out, own_first, quality->own_first);
}

void gnn_record_fill_accuracy(const struct gnn_wire_accuracy *wire, struct gnn_record_epoch *out)
{
    out->valid_accuracy = wire->valid.accuracy;
    out->test_accuracy = wire->test.accuracy;
    if (!wire->links) {
        add_share(out, GNN_FIGURE_VALID_ROC_AUC, wire->valid.roc_auc);
        add_share(out, GNN_FIGURE_TEST_ROC_AUC, wire->test.roc_auc);
        add_share(out, GNN_FIGURE_VALID_MACRO_F1, wire->valid.macro_f1);
        add_share(out, GNN_FIGURE_TEST_MACRO_F1, wire->test.macro_f1);
        return;
    }
    add_queries(out, GNN_FIGURE_VALID_QUERIES, GNN_FIGURE_VALID_OWN_FIRST, &wire->valid_links);
    add_queries(out, GNN_FIGURE_TEST_QUERIES, GNN_FIGURE_TEST_OWN_FIRST, &wire->test_links);
    out->valid_mrr = wire->valid_links.mrr;
    out->valid_raw_mrr = wire->valid_links.raw_mrr;
    out->valid_hits_1 = wire->valid_links.hits_1;
    out->valid_hits_3 = wire->valid_links.hits_3;
    out->valid_hits_10 = wire->valid_links.hits_10;
    out->test_mrr = wire->test_links.mrr;
    out->test_raw_mrr = wire->test_links.raw_mrr;
    out->test_hits_1 = wire->test_links.hits_1;
    out->test_hits_3 = wire->test_links.hits_3;
    out->test_hits_10 = wire->test_links.hits_10;
}

enum gnn_status gnn_record_fill_splits(const struct gnn_wire_accuracy *wire, struct gnn_run_record *run,
                                       struct gnn_err *err)
{
    if (wire->links)
        return GNN_OK;
    GNN_TRY(gnn_kv_set(&run->environment, GNN_VALID_SPLIT_KEY, wire->valid_split, err));
    return gnn_kv_set(&run->environment, GNN_TEST_SPLIT_KEY, wire->test_split, err);
}

void gnn_record_fill_epoch(const struct gnn_wire_epoch *wire, const struct gnn_group_reading *before,
                           const struct gnn_group_reading *after, uint64_t stolen_ns, struct gnn_record_epoch *out)
{
    const struct gnn_epoch_result *const r = &wire->result;
    gnn_record_epoch_unknown(out);
    out->epoch = wire->epoch;
    out->wall_ns = wire->wall_ns;
    out->prepare_ns = r->prepare_ns;
    if (r->seeds > 0 && wire->has_values) {
        out->loss = r->loss_sum / (double)r->seeds;
        out->train_accuracy = (double)r->correct / (double)r->seeds;
    }
    fill_counters(wire, before, after, &out->counters);
    assert(r->stage_count <= GNN_RECORD_STAGES_MAX);
    out->stage_count = r->stage_count;
    for (uint32_t i = 0; i < r->stage_count; i++)
        fill_stage(&r->stages[i], &out->stages[i]);
    if (r->seeds > 0)
        add_figure(out, GNN_FIGURE_SEEDS, r->seeds);
    add_figure(out, "process_cpu_ns", wire->after.cpu_ns - wire->before.cpu_ns);
    add_figure(out, "major_faults", wire->after.major_faults - wire->before.major_faults);
    if (wire->after.page_hits != GNN_UNKNOWN) {
        add_figure(out, "page_hits", wire->after.page_hits - wire->before.page_hits);
        add_figure(out, "page_misses", wire->after.page_misses - wire->before.page_misses);
    }
    if (stolen_ns != GNN_UNKNOWN)
        add_figure(out, GNN_FIGURE_STOLEN, stolen_ns);
    if (wire->has_device)
        add_device(out, &wire->device);
    if (wire->extrapolated)
        add_extrapolation(out, &wire->full);
    if (wire->spots > 0)
        add_figure(out, "digest_spots", wire->spots);
    add_distributions(out, wire);
    if (after->anon_bytes != GNN_UNKNOWN)
        add_figure(out, "anon_bytes", after->anon_bytes);
    assert(out->figure_count <= (uint32_t)OWN_FIGURES + (uint32_t)SIZE_FIGURES);
    for (uint32_t i = 0; i < r->figure_count; i++)
        add_figure(out, wire->figure_names[i], r->figures[i].value);
}

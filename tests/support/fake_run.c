/* SPDX-License-Identifier: MIT */
#include "tests/support/fake_run.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const double second_ns = 1e9;

static void set(char *field, size_t bytes, const char *text)
{
    (void)snprintf(field, bytes, "%s", text);
}

static void fake_stage(struct gnn_record_epoch *epoch, const char *name, uint64_t workers, double work_s, double io_s,
                       double resource_s, double wall_s)
{
    struct gnn_record_stage *stage = &epoch->stages[epoch->stage_count++];
    gnn_record_stage_unknown(stage);
    set(stage->stage, sizeof stage->stage, name);
    const double count = (double)workers;
    stage->workers = workers;
    stage->items = 1208;
    stage->wall_ns = (uint64_t)(count * wall_s * second_ns);
    stage->work_ns = (uint64_t)(count * work_s * second_ns);
    stage->cpu_ns = stage->work_ns;
    stage->queued_ns = 0;
    stage->wait_io_ns = (uint64_t)(count * io_s * second_ns);
    stage->wait_lock_ns = 0;
    stage->wait_compute_ns = 0;
    stage->wait_resource_ns = (uint64_t)(count * resource_s * second_ns);
    stage->wait_queue_ns = stage->wall_ns - stage->work_ns - stage->wait_io_ns - stage->wait_resource_ns;
}

static void fake_counters(struct gnn_record_counters *counters, double share)
{
    gnn_record_counters_unknown(counters);
    counters->needed_bytes = (uint64_t)(2.1e9 * share);
    counters->requested_bytes = (uint64_t)(2.4e9 * share);
    counters->requested_ios = (uint64_t)(4.6e6 * share);
    counters->device_read_bytes = (uint64_t)(19.3e9 * share);
    counters->device_read_ios = (uint64_t)(4.7e6 * share);
    counters->device_write_bytes = 0;
    counters->cache_hits = (uint64_t)(1.2e6 * share);
    counters->cache_misses = (uint64_t)(3.4e6 * share);
    counters->sampled_nodes = (uint64_t)(4.6e6 * share);
    counters->sampled_edges = (uint64_t)(9.8e6 * share);
    counters->batches = 1208;
    counters->batch_digest = UINT64_C(0xfedcba9876543210);
    counters->has_digest = true;
    counters->peak_memory_bytes = 320 << 20;
    counters->refaults = 0;
}

void fake_figure(struct gnn_record_epoch *epoch, const char *name, uint64_t value)
{
    assert(epoch->figure_count < GNN_RECORD_FIGURES_MAX);
    struct gnn_record_figure *const figure = &epoch->figures[epoch->figure_count++];
    set(figure->name, sizeof figure->name, name);
    figure->value = value;
}

static void fake_epoch(struct gnn_run_record *run, double slow)
{
    struct gnn_record_epoch epoch;
    gnn_record_epoch_unknown(&epoch);
    const double wall_s = slow * (run->epoch_count == 0 ? 1.15 : 1.0);
    epoch.epoch = run->epoch_count;
    epoch.complete = 1;
    epoch.wall_ns = (uint64_t)(wall_s * second_ns);
    epoch.prepare_ns = 0;
    epoch.loss = 2.5 / (1.0 + run->epoch_count);
    epoch.train_accuracy = 0.5;
    epoch.test_accuracy = 0.61 + 0.01 * run->epoch_count;
    fake_counters(&epoch.counters, 1.0);
    fake_stage(&epoch, "sample", 2, 0.25 * wall_s, 0.55 * wall_s, 0, wall_s);
    fake_stage(&epoch, "extract", 4, 0.1 * wall_s, 0.6 * wall_s, 0.1 * wall_s, wall_s);
    fake_stage(&epoch, "train", 1, 0.3 * wall_s, 0, 0, wall_s);
    if (strcmp(run->system, "gnndrive") == 0)
        fake_stage(&epoch, "release", 1, 0.02 * wall_s, 0, 0, wall_s);
    fake_figure(&epoch, "wait_list_rows", 17);
    struct gnn_err err = {0};
    const enum gnn_status status = gnn_run_record_add_epoch(run, &epoch, &err);
    assert(status == GNN_OK);
    (void)status;
}

/* What the system read, sorted and wrote while it opened. */
static void fake_opening(struct gnn_record_counters *before)
{
    before->elapsed_ns = UINT64_C(1500000000);
    before->cpu_ns = UINT64_C(1250000000);
    before->device_read_bytes = UINT64_C(35) << 20;
    before->device_read_ios = 120;
    before->device_write_bytes = UINT64_C(3) << 20;
    before->requested_bytes = UINT64_C(34) << 20;
    before->requested_ios = 110;
    before->requested_write_bytes = UINT64_C(2) << 20;
    before->requested_write_ios = 7;
}

void fake_run(struct gnn_run_record *run, const char *system, double slow, uint32_t epochs, uint64_t seed)
{
    gnn_run_record_init(run);
    run->status = GNN_RUN_OK;
    run->valid = 1;
    run->wall_ns = (uint64_t)(slow * 1.3 * (double)epochs * second_ns);
    set(run->system, sizeof run->system, system);
    set(run->dataset, sizeof run->dataset, "papers100m");
    set(run->model, sizeof run->model, "sage");
    set(run->world, sizeof run->world, "measured");
    set(run->compute, sizeof run->compute, "cpu");
    set(run->io_engine, sizeof run->io_engine, "uring");
    set(run->fanout, sizeof run->fanout, "10,10,10");
    run->scale_divisor = 100;
    run->dim = 128;
    run->batch_size = 10;
    run->epochs_planned = epochs;
    run->seed = seed;
    run->dataset_bytes = UINT64_C(640) << 20;
    run->cap_bytes = 320 << 20;
    run->cap_swap_bytes = 0;
    set(run->cap_enforcement, sizeof run->cap_enforcement, "cgroup-v1");
    run->cap_read_back_bytes = 320 << 20;
    run->oom_kills = 0;
    run->cold_asked = 1;
    run->cold_observed = 1;
    run->direct_observed = 0;
    run->resident_start_bytes = 0;
    fake_counters(&run->counters, epochs);
    fake_opening(&run->before);
    for (uint32_t e = 0; e < epochs; e++)
        fake_epoch(run, slow);
    struct gnn_err err = {0};
    enum gnn_status status = gnn_kv_set(&run->config, "batch", "10", &err);
    if (status == GNN_OK)
        status = gnn_kv_set(&run->environment, "build.revision", "0123456789ab", &err);
    if (status == GNN_OK)
        status = gnn_kv_set(&run->environment, "gpu.name", NULL, &err);
    assert(status == GNN_OK);
    (void)status;
}

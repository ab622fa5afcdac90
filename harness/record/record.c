#include "harness/record/record.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *gnn_run_status_name(enum gnn_run_status status)
{
    static const char *const names[GNN_RUN_STATUS_COUNT] = {
        [GNN_RUN_RUNNING] = "running", [GNN_RUN_OK] = "ok",
        [GNN_RUN_OOM] = "oom",         [GNN_RUN_GPU_OOM] = "gpu_oom",
        [GNN_RUN_OOT] = "oot",         [GNN_RUN_FAILED] = "failed",
        [GNN_RUN_INVALID] = "invalid", [GNN_RUN_INTERRUPTED] = "interrupted",
    };
    assert(status >= 0);
    assert(status < GNN_RUN_STATUS_COUNT);
    assert(names[status] != NULL);
    return names[status];
}

void gnn_record_counters_unknown(struct gnn_record_counters *counters)
{
    *counters = (struct gnn_record_counters){
        .needed_bytes = GNN_UNKNOWN,
        .requested_bytes = GNN_UNKNOWN,
        .requested_ios = GNN_UNKNOWN,
        .device_read_bytes = GNN_UNKNOWN,
        .device_read_ios = GNN_UNKNOWN,
        .device_write_bytes = GNN_UNKNOWN,
        .cache_hits = GNN_UNKNOWN,
        .cache_misses = GNN_UNKNOWN,
        .cache_evictions = GNN_UNKNOWN,
        .sampled_nodes = GNN_UNKNOWN,
        .sampled_edges = GNN_UNKNOWN,
        .batches = GNN_UNKNOWN,
        .has_digest = false,
        .peak_memory_bytes = GNN_UNKNOWN,
        .page_cache_bytes = GNN_UNKNOWN,
        .refaults = GNN_UNKNOWN,
        .prepare_disk_bytes = GNN_UNKNOWN,
    };
}

void gnn_record_stage_unknown(struct gnn_record_stage *stage)
{
    *stage = (struct gnn_record_stage){
        .workers = GNN_UNKNOWN,
        .items = GNN_UNKNOWN,
        .wall_ns = GNN_UNKNOWN,
        .work_ns = GNN_UNKNOWN,
        .cpu_ns = GNN_UNKNOWN,
        .wait_io_ns = GNN_UNKNOWN,
        .wait_queue_ns = GNN_UNKNOWN,
        .wait_lock_ns = GNN_UNKNOWN,
        .wait_compute_ns = GNN_UNKNOWN,
        .wait_resource_ns = GNN_UNKNOWN,
    };
}

void gnn_record_epoch_unknown(struct gnn_record_epoch *epoch)
{
    memset(epoch, 0, sizeof *epoch); /* padding too: the struct may be written to a pipe */
    epoch->wall_ns = GNN_UNKNOWN;
    epoch->prepare_ns = GNN_UNKNOWN;
    epoch->loss = NAN;
    epoch->train_accuracy = NAN;
    epoch->valid_accuracy = NAN;
    epoch->test_accuracy = NAN;
    gnn_record_counters_unknown(&epoch->counters);
}

void gnn_run_record_init(struct gnn_run_record *run)
{
    *run = (struct gnn_run_record){
        .status = GNN_RUN_RUNNING,
        .valid = -1,
        .wall_ns = GNN_UNKNOWN,
        .scale_divisor = GNN_UNKNOWN,
        .dim = GNN_UNKNOWN,
        .batch_size = GNN_UNKNOWN,
        .epochs_planned = GNN_UNKNOWN,
        .seed = GNN_UNKNOWN,
        .dataset_bytes = GNN_UNKNOWN,
        .cap_bytes = GNN_UNKNOWN,
        .cap_swap_bytes = GNN_UNKNOWN,
        .cap_read_back_bytes = GNN_UNKNOWN,
        .swap_read_back_bytes = GNN_UNKNOWN,
        .oom_kills = GNN_UNKNOWN,
        .device_bps = GNN_UNKNOWN,
        .device_iops = GNN_UNKNOWN,
        .cold_asked = -1,
        .cold_observed = -1,
        .direct_asked = -1,
        .direct_observed = -1,
        .resident_start_bytes = GNN_UNKNOWN,
        .resident_end_bytes = GNN_UNKNOWN,
    };
    gnn_record_counters_unknown(&run->counters);
}

void gnn_run_record_free(struct gnn_run_record *run)
{
    if (run == NULL)
        return;
    gnn_kv_clear(&run->config);
    gnn_kv_clear(&run->environment);
    free(run->epochs);
    free(run->series);
    run->epochs = NULL;
    run->series = NULL;
    run->epoch_count = run->epoch_room = 0;
    run->series_count = run->series_room = 0;
}

/* Room for one more item; NULL: out of memory, and items are as they were. */
static void *grow(void *items, uint32_t count, uint32_t *room, size_t item_bytes)
{
    assert(count <= *room);
    if (count < *room)
        return items;
    const uint32_t wanted = *room == 0 ? 8 : *room * 2;
    void *grown = realloc(items, wanted * item_bytes);
    if (grown != NULL)
        *room = wanted;
    return grown;
}

enum gnn_status gnn_run_record_add_epoch(struct gnn_run_record *run, const struct gnn_record_epoch *epoch,
                                         struct gnn_err *err)
{
    assert(epoch->stage_count <= GNN_RECORD_STAGES_MAX);
    assert(epoch->figure_count <= GNN_RECORD_FIGURES_MAX);
    struct gnn_record_epoch *epochs = grow(run->epochs, run->epoch_count, &run->epoch_room, sizeof *epochs);
    if (epochs == NULL)
        return gnn_fail(err, GNN_ENOMEM, "epoch %u of a record", run->epoch_count);
    run->epochs = epochs;
    run->epochs[run->epoch_count++] = *epoch;
    return GNN_OK;
}

enum gnn_status gnn_run_record_add_point(struct gnn_run_record *run, const struct gnn_series_point *point,
                                         struct gnn_err *err)
{
    struct gnn_series_point *series = grow(run->series, run->series_count, &run->series_room, sizeof *series);
    if (series == NULL)
        return gnn_fail(err, GNN_ENOMEM, "point %u of a series", run->series_count);
    run->series = series;
    run->series[run->series_count++] = *point;
    return GNN_OK;
}

void gnn_run_record_reason(struct gnn_run_record *run, const char *format, ...)
{
    size_t used = strlen(run->reasons);
    assert(used < sizeof run->reasons);
    if (used > 0 && used + 1 < sizeof run->reasons) {
        run->reasons[used++] = '\n';
        run->reasons[used] = '\0';
    }
    va_list args;
    va_start(args, format);
    (void)vsnprintf(run->reasons + used, sizeof run->reasons - used, format, args);
    va_end(args);
}

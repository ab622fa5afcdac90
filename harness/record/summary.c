/* SPDX-License-Identifier: MIT */
#include "harness/record/summary.h"

#include "harness/base/units.h"
#include "harness/record/columns.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool gnn_run_withholds_times(const struct gnn_run_record *run)
{
    return run->status == GNN_RUN_INVALID || run->valid == 0;
}

static void add(uint64_t *sum, uint64_t value)
{
    *sum = *sum == GNN_UNKNOWN || value == GNN_UNKNOWN ? GNN_UNKNOWN : *sum + value;
}

void gnn_stage_parts(const struct gnn_record_stage *st, uint64_t parts_ns[GNN_STAGE_PARTS])
{
    const uint64_t parts[GNN_STAGE_PARTS] = {st->work_ns,      st->wait_io_ns,      st->wait_queue_ns,
                                             st->wait_lock_ns, st->wait_compute_ns, st->wait_resource_ns};
    memcpy(parts_ns, parts, sizeof parts);
}

bool gnn_run_cap_not_enforced(const struct gnn_run_record *run)
{
    return run->cap_bytes != GNN_UNKNOWN && strcmp(run->cap_enforcement, GNN_CAP_IN_PROGRAM) == 0;
}

uint64_t gnn_run_inherited_bytes(const struct gnn_run_record *run)
{
    const char *const text = gnn_kv_get(&run->environment, GNN_ENVIRONMENT_INHERITED);
    if (text == NULL || (run->cap_bytes != GNN_UNKNOWN && !gnn_run_cap_not_enforced(run)))
        return GNN_UNKNOWN;
    return strtoull(text, NULL, 10);
}

const char *gnn_run_limit_mark(const struct gnn_run_record *run)
{
    if (gnn_run_cap_not_enforced(run))
        return " (limit not enforced)";
    return gnn_run_inherited_bytes(run) != GNN_UNKNOWN ? " (limit inherited)" : "";
}

const char *gnn_run_shared_dataset(const struct gnn_run_record *run)
{
    return gnn_kv_get(&run->environment, GNN_ENVIRONMENT_SHARED);
}

/* Returns the number that an option or a fact of the record has, 0: none. */
static uint64_t number_in(const struct gnn_kv_list *list, const char *key)
{
    const char *const text = gnn_kv_get(list, key);
    uint64_t number = 0;
    return text != NULL && gnn_parse_u64(text, &number, NULL) == GNN_OK ? number : 0;
}

const char *gnn_run_part(const struct gnn_run_record *run, char text[GNN_PART_BYTES])
{
    const uint64_t whole = number_in(&run->environment, GNN_ENVIRONMENT_WHOLE_BATCHES); /* 0: an older record */
    const uint64_t batches = number_in(&run->config, "batches"), most = number_in(&run->config, "max-batches");
    const uint64_t workers = gnn_max_u64(number_in(&run->config, "workers"), 1);
    const uint64_t limit =
        gnn_mul_bytes(batches > 0 ? gnn_add_bytes(batches, number_in(&run->config, "warmup")) : most, workers);
    const uint64_t used =
        run->epoch_count > 0 ? gnn_recorded_figure(&run->epochs[0], "extrapolated_from_batches") : GNN_UNKNOWN;
    text[0] = '\0';
    if (used != GNN_UNKNOWN)
        (void)snprintf(text, GNN_PART_BYTES, "extrapolated from %" PRIu64 " mini-batches", used);
    else if (limit > 0 && whole > limit)
        (void)snprintf(text, GNN_PART_BYTES, "first %" PRIu64 " of %" PRIu64 " mini-batches", limit, whole);
    else if (most > 0 && whole == 0)
        (void)snprintf(text, GNN_PART_BYTES, "first %" PRIu64 " mini-batches", limit);
    return text;
}

const char *gnn_run_system_text(const struct gnn_run_record *run, char text[GNN_SYSTEM_TEXT_BYTES])
{
    char part[GNN_PART_BYTES];
    gnn_run_part(run, part);
    (void)snprintf(text, GNN_SYSTEM_TEXT_BYTES, "%s%s%s%s%s%s%s", run->system[0] == '\0' ? "-" : run->system,
                   run->variant[0] == '\0' ? "" : " ", run->variant, gnn_run_limit_mark(run),
                   part[0] == '\0' ? "" : " (", part, part[0] == '\0' ? "" : ")");
    return text;
}

uint32_t gnn_run_stage_sums(const struct gnn_run_record *run, struct gnn_record_stage *sums)
{
    uint32_t count = 0;
    for (uint32_t e = 0; e < run->epoch_count; e++)
        for (uint32_t i = 0; i < run->epochs[e].stage_count; i++) {
            const struct gnn_record_stage *stage = &run->epochs[e].stages[i];
            uint32_t at = 0;
            while (at < count && strcmp(sums[at].stage, stage->stage) != 0)
                at++;
            if (at < count)
                gnn_table_add(&gnn_table_stages, stage, &sums[at]);
            else if (count < GNN_RECORD_STAGES_MAX)
                sums[count++] = *stage;
        }
    return count;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

double gnn_median(double *values, uint32_t count)
{
    if (count == 0)
        return (double)NAN;
    qsort(values, count, sizeof *values, compare_doubles);
    return count % 2 == 1 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

double gnn_percentile(const double *values, uint32_t count, double percent)
{
    assert(percent > 0);
    assert(percent <= 100);
    if (count == 0)
        return (double)NAN;
    const uint32_t rank = (uint32_t)ceil(percent * (double)count / 100);
    return values[(rank < 1 ? 1 : rank > count ? count : rank) - 1];
}

uint64_t gnn_recorded_figure(const struct gnn_record_epoch *epoch, const char *name)
{
    assert(epoch->figure_count <= GNN_RECORD_FIGURES_MAX);
    for (uint32_t i = 0; i < epoch->figure_count; i++)
        if (strcmp(epoch->figures[i].name, name) == 0)
            return epoch->figures[i].value;
    return GNN_UNKNOWN;
}

uint64_t gnn_run_bound_bytes(const struct gnn_run_record *run)
{
    const char *const text = gnn_kv_get(&run->environment, GNN_ENVIRONMENT_BOUND);
    uint64_t bytes = GNN_UNKNOWN;
    return text != NULL && gnn_parse_u64(text, &bytes, NULL) == GNN_OK ? bytes : GNN_UNKNOWN;
}

bool gnn_run_has_halves(const struct gnn_run_record *run)
{
    const char *const type = gnn_kv_get(&run->config, "feature-type");
    return type != NULL && strcmp(type, "f16") == 0;
}

uint64_t gnn_run_row_bytes(const struct gnn_run_record *run)
{
    const uint64_t value_bytes = gnn_run_has_halves(run) ? sizeof(uint16_t) : sizeof(float);
    return run->dim == GNN_UNKNOWN ? GNN_UNKNOWN : gnn_mul_bytes(run->dim, value_bytes);
}

double gnn_run_bound_ratio(const struct gnn_run_record *run)
{
    const uint64_t bound_bytes = gnn_run_bound_bytes(run);
    uint64_t rows = 0;
    if (bound_bytes == GNN_UNKNOWN || bound_bytes == 0 || run->dim == GNN_UNKNOWN || run->epoch_count == 0)
        return (double)NAN;
    for (uint32_t e = 0; e < run->epoch_count; e++) {
        const uint64_t open_rows = gnn_recorded_figure(&run->epochs[e], GNN_FIGURE_OPEN_ROWS);
        add(&rows, run->epochs[e].counters.rows_read);
        add(&rows, open_rows == GNN_UNKNOWN ? 0 : open_rows);
    }
    if (rows == GNN_UNKNOWN)
        return (double)NAN;
    return (double)rows * (double)gnn_run_row_bytes(run) / (double)bound_bytes;
}

uint64_t gnn_run_floor_ns(const struct gnn_run_record *run)
{
    uint64_t floor_ns = 0;
    if (run->epoch_count == 0 || gnn_run_withholds_times(run))
        return GNN_UNKNOWN;
    for (uint32_t e = 0; e < run->epoch_count; e++)
        add(&floor_ns, gnn_recorded_figure(&run->epochs[e], GNN_FIGURE_FLOOR));
    return floor_ns;
}

/* Of a part of an epoch (--batches) both are the part's. */
double gnn_run_floor_ratio(const struct gnn_run_record *run)
{
    const uint64_t floor_ns = gnn_run_floor_ns(run);
    uint64_t wall_ns = 0;
    for (uint32_t e = 0; e < run->epoch_count; e++)
        add(&wall_ns, run->epochs[e].wall_ns);
    if (floor_ns == GNN_UNKNOWN || floor_ns == 0 || wall_ns == GNN_UNKNOWN)
        return (double)NAN;
    return (double)wall_ns / (double)floor_ns;
}

bool gnn_epoch_is_unsettled(const struct gnn_record_epoch *epoch)
{
    return gnn_recorded_figure(epoch, GNN_FIGURE_FULL_EPOCH_SETTLED) == 0;
}

bool gnn_run_is_unsettled(const struct gnn_run_record *run)
{
    for (uint32_t e = 0; e < run->epoch_count; e++)
        if (gnn_epoch_is_unsettled(&run->epochs[e]))
            return true;
    return false;
}

uint64_t gnn_epoch_whole_ns(const struct gnn_record_epoch *epoch)
{
    if (gnn_epoch_is_unsettled(epoch))
        return GNN_UNKNOWN;
    const uint64_t full_ns = gnn_recorded_figure(epoch, GNN_FIGURE_FULL_EPOCH);
    return full_ns != GNN_UNKNOWN ? full_ns : epoch->wall_ns;
}

bool gnn_run_counts_epoch(const struct gnn_run_record *run, uint32_t epoch)
{
    assert(epoch < run->epoch_count);
    return run->epochs[epoch].complete != 0 && (epoch > 0 || run->epoch_count == 1);
}

const struct gnn_record_epoch *gnn_run_last_epoch(const struct gnn_run_record *run)
{
    for (uint32_t e = run->epoch_count; e-- > 0;)
        if (gnn_run_counts_epoch(run, e))
            return &run->epochs[e];
    return run->epoch_count > 0 ? &run->epochs[run->epoch_count - 1] : NULL;
}

double gnn_run_epoch_median(const struct gnn_run_record *run, gnn_epoch_fn *fn, const char *name)
{
    double *const values = calloc(run->epoch_count + UINT32_C(1), sizeof *values);
    uint32_t count = 0;
    for (uint32_t e = 0; e < run->epoch_count && values != NULL; e++) {
        const double value = gnn_run_counts_epoch(run, e) ? fn(run, &run->epochs[e], name) : (double)NAN;
        if (isfinite(value))
            values[count++] = value;
    }
    const double median = count > 0 ? gnn_median(values, count) : (double)NAN;
    free(values);
    return median;
}

static double whole_ns(const struct gnn_run_record *run, const struct gnn_record_epoch *epoch, const char *name)
{
    (void)run, (void)name;
    const uint64_t ns = gnn_epoch_whole_ns(epoch);
    return ns == GNN_UNKNOWN ? (double)NAN : (double)ns;
}

uint64_t gnn_run_first_epoch_ns(const struct gnn_run_record *run)
{
    return run->epoch_count == 0 || gnn_run_withholds_times(run) ? GNN_UNKNOWN : gnn_epoch_whole_ns(&run->epochs[0]);
}

uint64_t gnn_run_epoch_ns(const struct gnn_run_record *run)
{
    const bool withheld = gnn_run_withholds_times(run) || gnn_run_is_unsettled(run);
    const double median_ns = withheld ? (double)NAN : gnn_run_epoch_median(run, whole_ns, NULL);
    return isfinite(median_ns) ? (uint64_t)llround(median_ns) : GNN_UNKNOWN;
}

uint64_t gnn_run_later_epoch_ns(const struct gnn_run_record *run)
{
    return run->epoch_count < 2 ? GNN_UNKNOWN : gnn_run_epoch_ns(run);
}

double gnn_run_io_wait_pct(const struct gnn_run_record *run)
{
    if (gnn_run_withholds_times(run))
        return (double)NAN;
    struct gnn_record_stage sums[GNN_RECORD_STAGES_MAX];
    const uint32_t count = gnn_run_stage_sums(run, sums);
    uint64_t wall_ns = 0;
    uint64_t wait_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        add(&wall_ns, sums[i].wall_ns);
        add(&wait_ns, sums[i].wait_io_ns);
    }
    if (wall_ns == 0 || wall_ns == GNN_UNKNOWN || wait_ns == GNN_UNKNOWN)
        return (double)NAN;
    return 100.0 * (double)wait_ns / (double)wall_ns;
}

bool gnn_run_gpu_busy(const struct gnn_run_record *run, uint64_t *busy_ns, uint64_t *wall_ns)
{
    *busy_ns = *wall_ns = 0;
    for (uint32_t e = 0; e < run->epoch_count; e++) {
        add(busy_ns, gnn_recorded_figure(&run->epochs[e], GNN_FIGURE_GPU_BUSY));
        add(wall_ns, run->epochs[e].wall_ns);
    }
    return !gnn_run_withholds_times(run) && *busy_ns != GNN_UNKNOWN && *wall_ns != GNN_UNKNOWN && *wall_ns > 0;
}

struct gnn_gpu_copies gnn_run_gpu_copies(const struct gnn_run_record *run)
{
    struct gnn_gpu_copies sum = {0};
    for (uint32_t e = 0; e < run->epoch_count; e++) {
        const struct gnn_record_epoch *const epoch = &run->epochs[e];
        add(&sum.copy_ns, gnn_recorded_figure(epoch, GNN_FIGURE_GPU_COPY));
        add(&sum.uploaded_bytes, gnn_recorded_figure(epoch, GNN_FIGURE_GPU_UPLOADED));
        add(&sum.downloaded_bytes, gnn_recorded_figure(epoch, GNN_FIGURE_GPU_DOWNLOADED));
    }
    return sum;
}

double gnn_gpu_copy_rate(const struct gnn_gpu_copies *copies)
{
    uint64_t bytes = copies->uploaded_bytes;
    add(&bytes, copies->downloaded_bytes);
    if (bytes == GNN_UNKNOWN || copies->copy_ns == GNN_UNKNOWN || copies->copy_ns == 0)
        return (double)NAN;
    return 1e9 * (double)bytes / (double)copies->copy_ns;
}

double gnn_run_cpu_pct(const struct gnn_run_record *run)
{
    double sum = 0, weight = 0;
    for (uint32_t i = 0; i < run->series_count && !gnn_run_withholds_times(run); i++) {
        const struct gnn_series_point *point = &run->series[i];
        if (!isfinite(point->cpu_pct) || point->interval_ns == GNN_UNKNOWN)
            continue;
        sum += point->cpu_pct * (double)point->interval_ns;
        weight += (double)point->interval_ns;
    }
    return weight > 0 ? sum / weight : (double)NAN;
}

double gnn_run_test_accuracy(const struct gnn_run_record *run)
{
    for (uint32_t e = run->epoch_count; e-- > 0;)
        if (isfinite(run->epochs[e].test_accuracy))
            return run->epochs[e].test_accuracy;
    return (double)NAN;
}

double gnn_run_test_mrr(const struct gnn_run_record *run)
{
    for (uint32_t e = run->epoch_count; e-- > 0;)
        if (isfinite(run->epochs[e].test_mrr))
            return run->epochs[e].test_mrr;
    return (double)NAN;
}

/* The last known value of a figure; GNN_UNKNOWN: none. */
static uint64_t last_figure(const struct gnn_run_record *run, const char *name)
{
    uint64_t value = GNN_UNKNOWN;
    for (uint32_t e = run->epoch_count; e-- > 0 && value == GNN_UNKNOWN;)
        value = gnn_recorded_figure(&run->epochs[e], name);
    return value;
}

static double last_ratio(uint64_t part, uint64_t whole)
{
    return part == GNN_UNKNOWN || whole == GNN_UNKNOWN || whole == 0 ? (double)NAN : (double)part / (double)whole;
}

double gnn_run_test_roc_auc(const struct gnn_run_record *run)
{
    return last_ratio(last_figure(run, GNN_FIGURE_TEST_ROC_AUC), 1000000);
}

double gnn_run_test_macro_f1(const struct gnn_run_record *run)
{
    return last_ratio(last_figure(run, GNN_FIGURE_TEST_MACRO_F1), 1000000);
}

double gnn_run_test_own_first(const struct gnn_run_record *run)
{
    return last_ratio(last_figure(run, GNN_FIGURE_TEST_OWN_FIRST), last_figure(run, GNN_FIGURE_TEST_QUERIES));
}

/* ---- caption ---- */

static void say(char *text, size_t text_bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Appends, with a comma where something stands already. */
static void say(char *text, size_t text_bytes, const char *format, ...)
{
    size_t used = strlen(text);
    assert(used < text_bytes);
    if (used > 0 && used + 2 < text_bytes) {
        memcpy(text + used, ", ", 3);
        used += 2;
    }
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text + used, text_bytes - used, format, args);
    va_end(args);
}

static void say_cap(const struct gnn_run_record *run, char *text, size_t text_bytes)
{
    char bytes[32];
    const uint64_t inherited_bytes = gnn_run_inherited_bytes(run);
    if (run->cap_bytes != GNN_UNKNOWN)
        say(text, text_bytes, "memory limit %s (%s%s)", gnn_format_bytes(run->cap_bytes, bytes, sizeof bytes),
            gnn_run_cap_not_enforced(run) && inherited_bytes == GNN_UNKNOWN
                ? "not enforced; the page cache has the whole machine"
            : gnn_run_cap_not_enforced(run)   ? "not enforced"
            : run->cap_enforcement[0] == '\0' ? "enforcement unknown"
                                              : run->cap_enforcement,
            run->cap_swap_bytes != GNN_UNKNOWN && run->cap_swap_bytes > 0 ? ", swap allowed" : "");
    if (inherited_bytes != GNN_UNKNOWN)
        say(text, text_bytes, "memory limit %s (inherited)", gnn_format_bytes(inherited_bytes, bytes, sizeof bytes));
    else if (run->cap_bytes == GNN_UNKNOWN)
        say(text, text_bytes, "no memory limit");
}

static void say_storage(const struct gnn_run_record *run, char *text, size_t text_bytes)
{
    say(text, text_bytes, "%s",
        run->cold_observed == 1   ? "cold start"
        : run->cold_observed == 0 ? "warm start"
                                  : "page cache at start unknown");
    char number[32], key[GNN_NAME_MAX + 4];
    (void)snprintf(key, sizeof key, "%s.io", run->system);
    const char *const reads = gnn_kv_get(&run->config, key);
    if (reads != NULL && strcmp(reads, "buffered") == 0)
        say(text, text_bytes, "buffered reads");
    if (strcmp(run->io_engine, "pool") == 0)
        say(text, text_bytes, "pread threads instead of io_uring");
    const char *const readahead = gnn_kv_get(&run->config, "device-readahead");
    if (readahead != NULL && readahead[0] != '\0')
        say(text, text_bytes, "device readahead %s", readahead);
    if (run->device_bps != GNN_UNKNOWN)
        say(text, text_bytes, "disk limited to %s/s", gnn_format_bytes(run->device_bps, number, sizeof number));
    if (run->device_iops != GNN_UNKNOWN)
        say(text, text_bytes, "disk limited to %s I/Os per second",
            gnn_format_count((double)run->device_iops, number, sizeof number));
}

/* Says how reliable the time of a part is: its interval, or why it is not settled and what to do. */
static void say_reliability(const struct gnn_run_record *run, char *text, size_t text_bytes)
{
    const struct gnn_record_epoch *const epoch = &run->epochs[0];
    const uint64_t low_ns = gnn_recorded_figure(epoch, GNN_FIGURE_FULL_EPOCH_LOW);
    const uint64_t high_ns = gnn_recorded_figure(epoch, GNN_FIGURE_FULL_EPOCH_HIGH);
    if (gnn_epoch_is_unsettled(epoch))
        say(text, text_bytes, GNN_NOT_SETTLED ": %s",
            gnn_recorded_figure(epoch, GNN_FIGURE_FULL_EPOCH_GROUPS) == 0
                ? "too few independent mini-batches (raise --batches)"
                : "mini-batches get faster or slower (raise --warmup)");
    else if (gnn_run_is_unsettled(run))
        say(text, text_bytes, "a later epoch " GNN_NOT_SETTLED);
    else if (low_ns != GNN_UNKNOWN && high_ns != GNN_UNKNOWN)
        say(text, text_bytes, "95 %% interval of the first epoch %.4g to %.4g s %s", 1e-9 * (double)low_ns,
            1e-9 * (double)high_ns,
            gnn_recorded_figure(epoch, GNN_FIGURE_FULL_EPOCH_SETTLED) == GNN_UNKNOWN ? "(not tested for drift)"
                                                                                     : "if mini-batches stay alike");
}

/* A part of an epoch represents the whole: says how large it is, and how reliable. */
static void say_part(const struct gnn_run_record *run, char *text, size_t text_bytes)
{
    char part[GNN_PART_BYTES];
    if (strncmp(gnn_run_part(run, part), "first ", strlen("first ")) == 0)
        say(text, text_bytes, "only the %s of each epoch", part);
    if (run->epoch_count == 0 || gnn_run_withholds_times(run))
        return;
    const struct gnn_record_epoch *const epoch = &run->epochs[0];
    if (gnn_recorded_figure(epoch, GNN_FIGURE_FULL_EPOCH) == GNN_UNKNOWN)
        return;
    say(text, text_bytes, "epoch extrapolated from %" PRIu64 " mini-batches after %" PRIu64,
        gnn_recorded_figure(epoch, "extrapolated_from_batches"), gnn_recorded_figure(epoch, "warmup_batches"));
    say_reliability(run, text, text_bytes);
    say(text, text_bytes, "counters and stages of those mini-batches alone");
}

/* The model's width too, where the record has it. */
static void say_model(const struct gnn_run_record *run, char *text, size_t text_bytes)
{
    const char *const hidden = gnn_kv_get(&run->config, "hidden"), *const heads = gnn_kv_get(&run->config, "heads");
    say(text, text_bytes, "model %s", run->model);
    if (hidden != NULL && strcmp(run->variant, "sample-only") != 0)
        say(text, text_bytes, "hidden %s", hidden);
    if (hidden != NULL && heads != NULL && strcmp(run->model, "gat") == 0)
        say(text, text_bytes, "%s heads", heads);
}

void gnn_run_caption(const struct gnn_run_record *run, char *text, size_t text_bytes)
{
    assert(text_bytes >= GNN_CAPTION_BYTES);
    text[0] = '\0';
    say(text, text_bytes, "%s world", run->world[0] == '\0' ? "unknown" : run->world);
    say(text, text_bytes, "%s", run->dataset);
    if (run->scale_divisor != GNN_UNKNOWN)
        say(text, text_bytes, run->scale_divisor == 1 ? "scale 1" : "scale 1/%" PRIu64, run->scale_divisor);
    if (run->dim != GNN_UNKNOWN)
        say(text, text_bytes, "dim %" PRIu64, run->dim);
    if (gnn_run_has_halves(run))
        say(text, text_bytes, "f16 features");
    const char *const id_bytes = gnn_kv_get(&run->config, "id-bytes");
    if (id_bytes != NULL && strcmp(id_bytes, "4") != 0)
        say(text, text_bytes, "neighbour IDs of %s bytes", id_bytes);
    if (run->model[0] != '\0')
        say_model(run, text, text_bytes);
    if (run->batch_size != GNN_UNKNOWN)
        say(text, text_bytes, "batch %" PRIu64, run->batch_size);
    const char *const workers = gnn_kv_get(&run->config, "workers");
    if (workers != NULL && strcmp(workers, "1") != 0)
        say(text, text_bytes, "%s workers", workers);
    if (run->fanout[0] != '\0')
        say(text, text_bytes, "fan-out %s", run->fanout);
    say_cap(run, text, text_bytes);
    say_storage(run, text, text_bytes);
    if (strcmp(run->variant, "sample-only") != 0)
        say(text, text_bytes, "compute %s", run->compute[0] == '\0' ? "unknown" : run->compute);
    if (run->profile[0] != '\0')
        say(text, text_bytes, "profile %s", run->profile);
    const char *const changes = gnn_kv_get(&run->config, "profile-set");
    if (changes != NULL && changes[0] != '\0')
        say(text, text_bytes, "profile changed: %s", changes);
    const char *const costs = gnn_kv_get(&run->config, "costs");
    if (costs != NULL && run->profile[0] != '\0')
        say(text, text_bytes, "costs %s", costs);
    say_part(run, text, text_bytes);
    const char *const fault = gnn_kv_get(&run->config, "fault");
    if (fault != NULL && fault[0] != '\0')
        say(text, text_bytes, "with injected faults (%s)", fault);
}

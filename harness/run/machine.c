/* SPDX-License-Identifier: MIT */
#include "harness/run/machine_state.h"

#include "harness/base/clock.h"
#include "harness/base/data_dirs.h"
#include "harness/base/own_memory.h"
#include "harness/dataset/read.h"
#include "harness/storage/read_times.h"
#include "harness/tensor/modelled/modelled.h"
#include "harness/world/measured/measured.h"
#include "harness/world/simulated/simulated.h"
#include "harness/world/traced.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/resource.h>

/* ---- the world ---- */

static void slow_down(struct gnn_profile *profile, double factor)
{
    struct gnn_profile_storage *const st = &profile->storage;
    for (uint32_t i = 0; i < st->size_count; i++)
        for (uint32_t d = 0; d < st->depth_count; d++) {
            st->read_ps[i][d] = (uint64_t)((double)st->read_ps[i][d] * factor);
            st->scattered_ps[i][d] = (uint64_t)((double)st->scattered_ps[i][d] * factor);
        }
    st->write_latency_ns = (uint64_t)((double)st->write_latency_ns * factor);
    st->write_bytes_per_s = (uint64_t)((double)st->write_bytes_per_s / factor) + 1;
    st->write_iops = (uint64_t)((double)st->write_iops / factor) + 1;
    if (st->mixed_bytes_per_s > 0)
        st->mixed_bytes_per_s = (uint64_t)((double)st->mixed_bytes_per_s / factor) + 1;
    if (st->write_sustained_bytes_per_s > 0)
        st->write_sustained_bytes_per_s =
            gnn_min_u64((uint64_t)((double)st->write_sustained_bytes_per_s / factor) + 1, st->write_bytes_per_s);
}

/* Of all modelled GPUs, as far as the work they were given is done. */
static uint64_t gpu_busy_ns(const struct gnn_machine *m, uint64_t now_ns)
{
    uint64_t busy_ns = 0;
    for (uint32_t rank = 0; rank < m->config->workers; rank++) {
        struct gnn_modelled_counts counts;
        if (m->tensors[rank] == NULL)
            continue;
        gnn_modelled_counts(m->tensors[rank], &counts);
        const uint64_t to_come_ns = counts.stream_free_ns > now_ns ? counts.stream_free_ns - now_ns : 0;
        busy_ns += counts.busy_ns - gnn_min_u64(to_come_ns, counts.busy_ns);
    }
    return busy_ns;
}

/* The simulated world's on_tick. */
static uint64_t take_reading(void *ctx, uint64_t now_ns)
{
    struct gnn_machine *const m = ctx;
    struct gnn_simulated_counts counts;
    gnn_world_simulated_glance(m->inner, &counts);
    const struct gnn_virtual_reading reading = {.now_ns = now_ns,
                                                .cpu_busy_ns = counts.cpu_busy_ns,
                                                .io_sleep_ns = counts.io_sleep_ns,
                                                .device_busy_ns = counts.device_busy_ns,
                                                .read_bytes = counts.device_read_bytes,
                                                .read_ios = counts.device_read_ios,
                                                .write_bytes = counts.device_write_bytes,
                                                .gpu_busy_ns =
                                                    m->series->gpus > 0 ? gpu_busy_ns(m, now_ns) : GNN_UNKNOWN,
                                                .major_faults = counts.page_major_faults,
                                                .refaults = counts.pages_refaulted,
                                                .anon_bytes = m->slowed.process_bytes + counts.charged_bytes,
                                                .file_bytes = counts.cached_bytes};
    return gnn_virtual_series_add(m->series, &reading);
}

uint32_t gnn_machine_series(const struct gnn_machine *m, uint32_t first, uint32_t max, struct gnn_series_point *out)
{
    const uint32_t count = m->series != NULL ? m->series->count : 0;
    const uint32_t got = gnn_min_u32(max, count - gnn_min_u32(first, count));
    for (uint32_t i = 0; i < got; i++)
        gnn_virtual_series_point(m->series, first + i, &out[i]);
    return got;
}

/* The simulated world's on_fill. */
static void trace_fill(void *ctx, const struct gnn_page_fill *fill)
{
    const struct gnn_io_request request = {.action = GNN_IO_READ,
                                           .file = fill->file,
                                           .offset_bytes = fill->offset_bytes,
                                           .len_bytes = fill->len_bytes,
                                           .now_ns = fill->now_ns,
                                           .done_ns = fill->done_ns};
    gnn_io_trace_add(ctx, &request);
}

static enum gnn_status open_simulated(struct gnn_machine *m, gnn_deadlock_fn *on_deadlock, struct gnn_err *err)
{
    GNN_TRY(gnn_machine_open_profile(m->config, "--profile", m->config->profile, &m->profile, err));
    m->slowed = *m->profile;
    uint64_t readahead_bytes;
    if (gnn_run_readahead(m->config, &readahead_bytes))
        m->slowed.storage.readahead_bytes = readahead_bytes;
    if (m->faults.device_slowdown != 1)
        slow_down(&m->slowed, m->faults.device_slowdown);
    GNN_NEW(m->series, 1, err, "the run's time series");
    m->series->cores = m->slowed.cpu.cores;
    m->series->devices = m->slowed.storage.devices;
    const struct gnn_simulated_config config = {.profile = &m->slowed,
                                                .cap_bytes = m->config->memory_bytes,
                                                .on_deadlock = on_deadlock,
                                                .on_tick = take_reading,
                                                .on_tick_ctx = m,
                                                .on_fill = m->trace != NULL ? trace_fill : NULL,
                                                .on_fill_ctx = m->trace};
    return gnn_world_simulated_open(&config, &m->inner, err);
}

/* A simulated machine counts the process it is (process_bytes); several workers are as many. Pinned is charged at
 * once. */
static enum gnn_status hold_other_processes(struct gnn_machine *m, struct gnn_err *err)
{
    if (!m->simulated || m->config->workers == 1)
        return GNN_OK;
    return gnn_mem_alloc(m->inner, "the other workers' processes",
                         gnn_mul_bytes(m->config->workers - 1, m->slowed.process_bytes),
                         GNN_MEM_FEATURES | GNN_MEM_PINNED, &m->other_processes, err);
}

/* What the process will take beside the world's memory once it runs: back-end, stacks, page tables, rings. `oocgnn
 * calibrate` finds 1.4 MB in all, most of which is there before this is asked. */
static const uint64_t process_grows_bytes = UINT64_C(2) << 20;

/* A further thread that computes has a stack, and where products are large a buffer of BLAS: for plans. */
static const uint64_t compute_thread_bytes = UINT64_C(2) << 20;

/* What this process holds beside the world's allocations. */
static uint64_t beside_world_bytes(const struct gnn_machine *m)
{
    struct gnn_mem_usage world = {0};
    if (m->inner != NULL)
        gnn_mem_usage(m->inner, &world);
    const uint64_t own_bytes = gnn_own_memory_bytes();
    return own_bytes > world.current_bytes ? own_bytes - world.current_bytes : 0;
}

/* What the measured world may allocate, 0 for any amount. Under a control group that is what the process leaves of the
 * cap: what can never fit is refused by name, not killed by the kernel later. */
static uint64_t allocation_limit(const struct gnn_machine *m)
{
    const struct gnn_run_config *const config = m->config;
    const uint64_t cap_bytes = config->memory_bytes;
    if (cap_bytes == 0 || config->cap_kind == GNN_CAP_PROGRAM)
        return cap_bytes;
    const uint64_t own_bytes = beside_world_bytes(m) + process_grows_bytes;
    const uint64_t room_bytes = gnn_add_bytes(cap_bytes, config->swap_bytes);
    return room_bytes > own_bytes ? room_bytes - own_bytes : 1;
}

void gnn_machine_limit(struct gnn_machine *m)
{
    gnn_world_measured_limit(m->inner, allocation_limit(m));
}

/* What `oocgnn calibrate` found here, if anybody asked it. */
static void open_calibrated(struct gnn_machine *m)
{
    struct gnn_data_dirs found;
    gnn_data_dirs(&found);
    if (!m->simulated && gnn_profile_open("this", found.dirs, &m->calibrated, NULL) != GNN_OK)
        m->calibrated = NULL;
}

static enum gnn_status open_worlds(struct gnn_machine *m, gnn_deadlock_fn *on_deadlock, struct gnn_err *err)
{
    GNN_TRY(gnn_faults_parse(m->config->fault, &m->faults, err));
    if (m->config->trace_io[0] != '\0')
        GNN_TRY(gnn_io_trace_open("--trace-io", m->config->trace_io, &m->trace, err));
    const struct gnn_measured_config measured = {.memory_limit_bytes = allocation_limit(m),
                                                 .processes = m->config->workers > 1};
    GNN_TRY(m->simulated ? open_simulated(m, on_deadlock, err) : gnn_world_measured_open(&measured, &m->inner, err));
    m->world = m->inner;
    GNN_TRY(hold_other_processes(m, err));
    if (m->config->fault[0] != '\0') {
        GNN_TRY(gnn_world_faulty_open(m->inner, &m->faults.plan, &m->faulty, err));
        m->world = m->faulty;
    }
    if (m->trace == NULL)
        return GNN_OK;
    GNN_TRY(gnn_world_traced_open(m->world, m->trace, &m->traced, err));
    m->world = m->traced;
    return GNN_OK;
}

enum gnn_status gnn_machine_open(const struct gnn_run_config *config, gnn_deadlock_fn *on_deadlock,
                                 struct gnn_machine **out, struct gnn_err *err)
{
    struct gnn_machine *m;
    GNN_NEW(m, 1, err, "the run's machine");
    m->config = config;
    m->simulated = config->world == GNN_WORLD_SIMULATED;
    *out = m;
    open_calibrated(m);
    GNN_TRY(open_worlds(m, on_deadlock, err));
    GNN_TRY(gnn_read_times_open(&m->read_times, err));
    m->world->read_times = m->read_times;
    return GNN_OK;
}

void gnn_machine_close(struct gnn_machine *m)
{
    if (m == NULL)
        return;
    for (uint32_t rank = GNN_RANKS_MAX; rank-- > 0;) /* those that share a device after its first */
        if (m->tensors[rank] != NULL)
            m->tensors[rank]->ops->close(m->tensors[rank]);
    gnn_synthetic_close(m->world, m->synthetic);
    if (m->dataset != NULL)
        gnn_dataset_close(m->world, m->dataset);
    if (m->inner != NULL)
        gnn_mem_free(m->inner, m->other_processes);
    gnn_world_traced_close(m->traced);
    gnn_world_faulty_close(m->faulty);
    if (m->simulated)
        gnn_world_simulated_close(m->inner);
    else
        gnn_world_measured_close(m->inner);
    gnn_io_trace_close(m->trace);
    gnn_read_times_close(m->read_times);
    gnn_profile_close(m->calibrated);
    gnn_profile_close(m->compute);
    gnn_profile_close(m->profile);
    free(m->series);
    free(m);
}

struct gnn_world *gnn_machine_world(struct gnn_machine *m)
{
    return m->world;
}

void gnn_machine_trace_epoch(struct gnn_machine *m, uint64_t epoch)
{
    if (m->trace != NULL)
        gnn_io_trace_epoch(m->trace, epoch);
}

enum gnn_status gnn_machine_trace_check(struct gnn_machine *m, struct gnn_err *err)
{
    return m->trace != NULL ? gnn_io_trace_check(m->trace, err) : GNN_OK;
}

enum gnn_status gnn_machine_trace_finish(struct gnn_machine *m, struct gnn_err *err)
{
    return m->trace != NULL ? gnn_io_trace_finish(m->trace, err) : GNN_OK;
}

void gnn_machine_read_times(struct gnn_machine *m, struct gnn_read_tally *out)
{
    *out = (struct gnn_read_tally){.times.count = 0};
    gnn_read_times_take(m->read_times, out);
}

bool gnn_machine_ranks_are_processes(const struct gnn_machine *m)
{
    return !m->simulated;
}

void gnn_machine_forked(struct gnn_machine *m)
{
    assert(!m->simulated);
    gnn_world_measured_forked(m->inner);
}

/* ---- the dataset ---- */

static enum gnn_status open_synthetic(struct gnn_machine *m, struct gnn_err *err)
{
    struct gnn_generate_options options = {0};
    gnn_option_defaults(gnn_generate_table, &options);
    options.dim = m->config->dim;
    options.id_width = m->config->id_width;
    options.feature_type = m->config->feature_type;
    GNN_TRY(gnn_generate_set(&options, m->config->generate, err));
    GNN_TRY(gnn_synthetic_open(m->world, m->config->dataset, &options, m->config->scale_divisor, &m->synthetic, err));
    const struct gnn_dataset *const d = gnn_synthetic_dataset(m->synthetic);
    if (!m->simulated)
        return GNN_OK;
    GNN_TRY(gnn_world_simulated_add_file(m->inner, d->indices_path, gnn_synthetic_indices(m->synthetic), err));
    return gnn_world_simulated_add_file(m->inner, d->features_path, gnn_synthetic_features(m->synthetic), err);
}

static enum gnn_status computed_dataset(struct gnn_machine *m, const struct gnn_dataset **out, struct gnn_err *err)
{
    if (m->config->task == GNN_TASK_LINK)
        return gnn_run_dataset_without_links(m->config, m->config->dataset, err);
    GNN_TRY(open_synthetic(m, err));
    if (m->config->sample_only)
        gnn_synthetic_drop_labels(m->world, m->synthetic);
    *out = gnn_synthetic_dataset(m->synthetic);
    return GNN_OK;
}

enum gnn_status gnn_machine_planned_dataset(struct gnn_machine *m, const struct gnn_dataset **out, struct gnn_err *err)
{
    return gnn_run_dataset_is_procedural(m->config) ? computed_dataset(m, out, err) : gnn_machine_dataset(m, out, err);
}

/* Fails for link prediction on a dataset without triples, whose features of a missing width are beside the point. */
static enum gnn_status check_links(const struct gnn_machine *m, const char *dir, struct gnn_err *err)
{
    struct gnn_err unread = {0};
    if (m->config->task != GNN_TASK_LINK)
        return GNN_OK;
    struct gnn_meta *meta;
    GNN_NEW(meta, 1, err, "meta of %s", dir);
    const bool links = gnn_read_meta(dir, meta, &unread) != GNN_OK || meta->relation_count > 0;
    free(meta);
    return links ? GNN_OK : gnn_run_dataset_without_links(m->config, dir, err); /* opening names what is unreadable */
}

enum gnn_status gnn_machine_dataset(struct gnn_machine *m, const struct gnn_dataset **out, struct gnn_err *err)
{
    if (gnn_run_dataset_is_computed(m->config))
        return computed_dataset(m, out, err);
    char dir[GNN_TEXT_MAX * 2];
    gnn_run_dataset_dir(m->config, dir, sizeof dir);
    GNN_TRY(check_links(m, dir, err));
    GNN_TRY(gnn_dataset_open(m->world, dir, gnn_run_dim(m->config), m->config->feature_type,
                             gnn_id_width_bytes(m->config->id_width), &m->dataset, err));
    if (m->config->task == GNN_TASK_NODES && m->dataset->relation_count > 0)
        return gnn_fail(err, GNN_EUSAGE, "%s is a knowledge graph without training nodes; add --task link", dir);
    if (m->config->sample_only)
        gnn_dataset_drop_labels(m->world, m->dataset);
    *out = m->dataset;
    return GNN_OK;
}

/* ---- what the record asks ---- */

static void measured_usage(struct gnn_machine_usage *out)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    out->cpu_ns = gnn_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    out->major_faults = (uint64_t)usage.ru_majflt;
}

static void simulated_usage(const struct gnn_machine *m, struct gnn_machine_usage *out)
{
    struct gnn_simulated_counts counts;
    assert(m->simulated);
    gnn_world_simulated_counts(m->inner, &counts);
    out->cpu_ns = counts.cpu_busy_ns;
    out->major_faults = counts.page_major_faults;
    out->page_hits = counts.page_hits + counts.page_minor_faults;
    out->page_misses = counts.page_major_faults;
    out->device_reads = counts.device_read_sizes;
    struct gnn_group_reading *const group = &out->group;
    group->limit_bytes = m->config->memory_bytes == 0 ? GNN_UNKNOWN : m->config->memory_bytes;
    const uint64_t process_bytes = m->slowed.process_bytes;
    group->current_bytes = process_bytes + counts.charged_bytes + counts.cached_bytes;
    group->peak_bytes = process_bytes + counts.charged_peak_bytes;
    group->oom_kills = 0;
    group->anon_bytes = process_bytes + counts.charged_bytes;
    group->file_bytes = counts.cached_bytes;
    group->refaults = counts.pages_refaulted;
    group->major_faults = counts.page_major_faults;
    group->read_bytes = counts.device_read_bytes;
    group->read_ios = counts.device_read_ios;
    group->write_bytes = counts.device_write_bytes;
    group->write_ios = counts.device_write_ios;
    group->misses_buffered_writes = 0;
}

void gnn_machine_usage(struct gnn_machine *m, struct gnn_machine_usage *out)
{
    *out = (struct gnn_machine_usage){
        .modelled_machine = m->simulated, .page_hits = GNN_UNKNOWN, .page_misses = GNN_UNKNOWN};
    gnn_group_reading_unknown(&out->group);
    if (m->simulated)
        simulated_usage(m, out);
    else
        measured_usage(out);
}

const char *gnn_machine_costs_digest(const struct gnn_machine *m)
{
    return m->profile != NULL ? m->profile->costs_digest : "";
}

uint64_t gnn_machine_readahead(const struct gnn_machine *m)
{
    return m->profile == NULL ? GNN_UNKNOWN : m->slowed.storage.readahead_bytes;
}

const struct gnn_profile_storage *gnn_machine_storage(const struct gnn_machine *m)
{
    if (m->simulated)
        return &m->slowed.storage;
    return m->calibrated != NULL ? &m->calibrated->storage : NULL;
}

const struct gnn_profile_cpu *gnn_machine_cpu(const struct gnn_machine *m)
{
    if (m->simulated)
        return &m->slowed.cpu;
    return m->calibrated != NULL ? &m->calibrated->cpu : NULL;
}

const char *gnn_machine_profile_digest(const struct gnn_machine *m)
{
    if (m->profile != NULL)
        return m->profile->digest;
    return m->compute != NULL ? m->compute->digest : "";
}

uint64_t gnn_machine_process_bytes(const struct gnn_machine *m)
{
    if (m->simulated)
        return m->slowed.process_bytes;
    const uint64_t threads_bytes = (gnn_max_u32(m->config->compute_threads, 1) - 1) * compute_thread_bytes;
    return beside_world_bytes(m) + m->tensor_bytes + process_grows_bytes + threads_bytes;
}

uint32_t gnn_machine_cores(const struct gnn_machine *m)
{
    return m->simulated ? m->slowed.cpu.cores : gnn_machine_own_cores();
}

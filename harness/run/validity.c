/* SPDX-License-Identifier: MIT */
#include "harness/run/validity.h"

#include "harness/record/summary.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

struct context {
    const struct gnn_run_config *config;
    const struct gnn_validity_facts *facts;
    struct gnn_run_record *run;
};

/* Adds a reason with expected and actual; false, as the check's answer. */
#define BROKEN(c, ...) (gnn_run_record_reason((c)->run, __VA_ARGS__), false)

/* A check returns true when the invariant holds. */
typedef bool check_fn(const struct context *c);

static bool all_epochs(const struct context *c)
{
    if (c->run->epoch_count == c->config->epochs)
        return true;
    return BROKEN(c, "%u of %u epochs finished", c->run->epoch_count, c->config->epochs);
}

static bool batches_counted(const struct context *c)
{
    const bool any = c->facts->batches_expected == GNN_UNKNOWN; /* epochs differ */
    for (uint32_t i = 0; i < c->run->epoch_count && !any; i++) {
        const uint64_t batches = c->run->epochs[i].counters.batches;
        if (batches != c->facts->batches_expected)
            return BROKEN(c, "epoch %u trained %" PRIu64 " mini-batches, expected %" PRIu64, i, batches,
                          c->facts->batches_expected);
    }
    return true;
}

/* What the system meant to train: every training node once an epoch, unless an option says otherwise. */
static bool seeds_counted(const struct context *c)
{
    const uint64_t expected = c->facts->seeds_expected;
    const bool any = expected == GNN_UNKNOWN; /* epochs differ */
    for (uint32_t i = 0; i < c->run->epoch_count && !c->config->sample_only && !any; i++) {
        const uint64_t found = gnn_recorded_figure(&c->run->epochs[i], GNN_FIGURE_SEEDS);
        const uint64_t seeds = found == GNN_UNKNOWN ? 0 : found;
        if (seeds != expected)
            return BROKEN(c, "epoch %u trained %" PRIu64 " seeds, expected %" PRIu64, i, seeds, expected);
    }
    return true;
}

/* What lies between sampling and training (spools, traces, assembly) has changed no block that was looked at. */
static bool trained_as_sampled(const struct context *c)
{
    if (!c->facts->trained_otherwise)
        return true;
    return BROKEN(c, "epoch %" PRIu64 " trained other blocks than it sampled: their digests differ",
                  c->facts->trained_otherwise_epoch);
}

/* The accuracies of a run are those of the splits that their columns name. */
static bool evaluated_as_named(const struct context *c)
{
    static const char *const names[][2] = {{GNN_VALID_SPLIT_KEY, "valid"}, {GNN_TEST_SPLIT_KEY, "test"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *const found = gnn_kv_get(&c->run->environment, names[i][0]);
        if (found != NULL && strcmp(found, names[i][1]) != 0)
            return BROKEN(c, "%s_accuracy was computed on the nodes of the split %s", names[i][1], found);
    }
    return true;
}

static bool loss_finite(const struct context *c)
{
    if (gnn_compute_is_modelled(c->config))
        return true; /* no values, no loss */
    for (uint32_t i = 0; i < c->run->epoch_count && !c->config->sample_only; i++)
        if (!isfinite(c->run->epochs[i].loss))
            return BROKEN(c, "the loss of epoch %u is not finite", i);
    return true;
}

static bool cap_respected(const struct context *c)
{
    if (c->run->cap_bytes == GNN_UNKNOWN ||
        (c->config->cap_kind != GNN_CAP_CGROUP && c->config->world == GNN_WORLD_MEASURED))
        return true;
    /* The kernel rounds the limit to pages. */
    const uint64_t limit_bytes = c->run->cap_read_back_bytes;
    if (limit_bytes == GNN_UNKNOWN || limit_bytes > c->run->cap_bytes)
        return BROKEN(c, "the memory limit of %" PRIu64 " B was read back as %" PRIu64 " B", c->run->cap_bytes,
                      limit_bytes);
    const uint64_t peaks[] = {c->run->counters.peak_memory_bytes, c->facts->peak_bytes};
    uint64_t peak_bytes = 0;
    for (size_t i = 0; i < 2; i++)
        peak_bytes = peaks[i] == GNN_UNKNOWN ? peak_bytes : gnn_max_u64(peak_bytes, peaks[i]);
    if (peak_bytes > c->run->cap_bytes)
        return BROKEN(c, "peak memory %" PRIu64 " B exceeds the memory limit of %" PRIu64 " B", peak_bytes,
                      c->run->cap_bytes);
    return true;
}

static bool started_cold(const struct context *c)
{
    if (c->run->cold_asked != 1 || c->run->cold_observed == 1)
        return true;
    if (c->run->cold_observed != 0)
        return BROKEN(c, "a cold start was asked for, but could not be observed");
    return BROKEN(c,
                  "a cold start was asked for, but %" PRIu64
                  " B of the dataset stayed in the page cache (another process maps it?)",
                  c->run->resident_start_bytes);
}

/* Pages that the run brings in are charged to its group, which cannot have more of them than its limit. */
static bool cache_within_cap(const struct context *c)
{
    const uint64_t start_bytes = c->run->resident_start_bytes, most_bytes = c->facts->resident_most_bytes;
    const bool limited = c->config->world == GNN_WORLD_MEASURED && c->config->cap_kind == GNN_CAP_CGROUP;
    if (!limited || c->run->cap_bytes == GNN_UNKNOWN || start_bytes == GNN_UNKNOWN)
        return true;
    if (most_bytes <= gnn_add_bytes(start_bytes, c->run->cap_bytes))
        return true;
    return BROKEN(c,
                  "%" PRIu64 " B of the dataset came into the page cache, more than the memory limit of %" PRIu64
                  " B allows: another process read the dataset during the run; repeat it without that process",
                  most_bytes - start_bytes, c->run->cap_bytes);
}

/* A direct read that fills the page cache after all was none. */
static bool stayed_direct(const struct context *c)
{
    if (c->run->direct_asked != 1 || c->run->direct_observed != 0)
        return true;
    return BROKEN(c, "direct reads were asked for, but the files they read came into the page cache (another process "
                     "reads them?)");
}

/* Compares what direct reads asked for with what the device delivered: within 2 %, for counters that lag. */
static bool device_moved(const struct context *c)
{
    if (!c->facts->direct)
        return true;
    const struct gnn_record_counters *const k = &c->run->counters;
    if (k->requested_bytes == GNN_UNKNOWN || k->device_read_bytes == GNN_UNKNOWN)
        return true;
    if ((double)k->device_read_bytes >= 0.98 * (double)k->requested_bytes)
        return true;
    return BROKEN(c, "direct reads asked for %" PRIu64 " B, the device delivered %" PRIu64 " B", k->requested_bytes,
                  k->device_read_bytes);
}

/* Explicit reads ask for a row at least once per miss. */
static bool misses_read(const struct context *c)
{
    const struct gnn_record_counters *const k = &c->run->counters;
    if (k->requested_bytes == GNN_UNKNOWN || k->cache_misses == GNN_UNKNOWN || c->run->dim == GNN_UNKNOWN)
        return true;
    const uint64_t least_bytes = gnn_mul_bytes(k->cache_misses, gnn_run_row_bytes(c->run));
    if (k->requested_bytes >= least_bytes)
        return true;
    return BROKEN(c, "%" PRIu64 " rows were missed, %" PRIu64 " B, but %" PRIu64 " B were read", k->cache_misses,
                  least_bytes, k->requested_bytes);
}

static uint64_t parts_of(const struct gnn_record_stage *st)
{
    uint64_t parts_ns[GNN_STAGE_PARTS];
    gnn_stage_parts(st, parts_ns);
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < GNN_STAGE_PARTS; i++)
        sum_ns += parts_ns[i] == GNN_UNKNOWN ? 0 : parts_ns[i];
    return sum_ns;
}

static bool stages_accounted(const struct context *c)
{
    for (uint32_t i = 0; i < c->run->epoch_count; i++) {
        if (c->run->epochs[i].stage_count == 0)
            return BROKEN(c, "epoch %u reported no stage times", i);
        for (uint32_t s = 0; s < c->run->epochs[i].stage_count; s++) {
            const struct gnn_record_stage *const st = &c->run->epochs[i].stages[s];
            const uint64_t parts_ns = parts_of(st);
            if (fabs((double)parts_ns - (double)st->wall_ns) <= 0.01 * (double)st->wall_ns)
                continue;
            return BROKEN(c, "epoch %u stage %s: work and waits make %" PRIu64 " ns of %" PRIu64 " ns", i, st->stage,
                          parts_ns, st->wall_ns);
        }
    }
    return true;
}

/* What was prepared in an epoch took no longer than the epoch. */
static bool prepared_within(const struct context *c)
{
    for (uint32_t i = 0; i < c->run->epoch_count; i++) {
        const struct gnn_record_epoch *const e = &c->run->epochs[i];
        if (e->prepare_ns != GNN_UNKNOWN && e->wall_ns != GNN_UNKNOWN && e->prepare_ns > e->wall_ns)
            return BROKEN(c, "epoch %u prepared for %" PRIu64 " ns of its %" PRIu64 " ns", i, e->prepare_ns,
                          e->wall_ns);
    }
    return true;
}

/* A device works one epoch's ops within that epoch, but for what its event times round. */
static bool device_within_epoch(const struct context *c)
{
    for (uint32_t i = 0; i < c->run->epoch_count; i++) {
        const struct gnn_record_epoch *const e = &c->run->epochs[i];
        const uint64_t busy_ns = gnn_recorded_figure(e, GNN_FIGURE_GPU_BUSY);
        if (busy_ns != GNN_UNKNOWN && e->wall_ns != GNN_UNKNOWN && (double)busy_ns > 1.01 * (double)e->wall_ns)
            return BROKEN(c, "epoch %u: the GPU was busy for %" PRIu64 " ns of %" PRIu64 " ns", i, busy_ns, e->wall_ns);
    }
    return true;
}

/* Checks that a stage's work is time on a core or in line for one, as the kernel counted both. What is more is a wait
 * that nothing named. Allowed for are a tenth of the stage's time, which the kernel's clocks may leave out
 * (interrupts), 20 ms a worker, and once more the time in line: a verdict may not depend on the machine's other work.
 * A stage whose workers ran for less than a second is not judged, as a few turns of other processes weigh as much as a
 * wait there.
 * What a hypervisor took is in neither clock of a thread: no stage lost more than all cores did. What a GPU's driver
 * slept in its calls is a wait as well, which the back-end reports. */
static bool work_explained(const struct context *c)
{
    for (uint32_t i = 0; i < c->run->epoch_count; i++) {
        const uint64_t stolen_ns = gnn_recorded_figure(&c->run->epochs[i], GNN_FIGURE_STOLEN);
        for (uint32_t s = 0; s < c->run->epochs[i].stage_count; s++) {
            const struct gnn_record_stage *const st = &c->run->epochs[i].stages[s];
            if (st->queued_ns == GNN_UNKNOWN || st->cpu_ns == GNN_UNKNOWN || st->work_ns == GNN_UNKNOWN)
                continue;
            if (st->wall_ns < gnn_mul_bytes(st->workers, 1000000000))
                continue;
            const uint64_t known_ns = gnn_add_bytes(st->cpu_ns, st->queued_ns);
            const uint64_t seen_ns = gnn_add_bytes(known_ns, stolen_ns == GNN_UNKNOWN ? 0 : stolen_ns);
            const uint64_t unseen_ns = st->wall_ns / 10 + gnn_mul_bytes(st->workers, 20000000);
            const uint64_t allowed_ns = gnn_add_bytes(unseen_ns, st->queued_ns);
            if (st->work_ns <= gnn_add_bytes(seen_ns, allowed_ns))
                continue;
            return BROKEN(c,
                          "epoch %u stage %s: %" PRIu64 " ns of work, but %" PRIu64 " ns on a core and %" PRIu64
                          " ns in line for one: a wait was not counted",
                          i, st->stage, st->work_ns, st->cpu_ns, st->queued_ns);
        }
    }
    return true;
}

static bool not_killed(const struct context *c)
{
    if (c->run->oom_kills == GNN_UNKNOWN || c->run->oom_kills == 0)
        return true;
    return BROKEN(c, "the kernel killed %" PRIu64 " process(es) of the run for memory", c->run->oom_kills);
}

static check_fn *const checks[] = {
    all_epochs,       batches_counted, seeds_counted,    trained_as_sampled,  evaluated_as_named, loss_finite,
    cap_respected,    started_cold,    cache_within_cap, misses_read,         stayed_direct,      device_moved,
    stages_accounted, work_explained,  prepared_within,  device_within_epoch, not_killed};

uint32_t gnn_validity_check(const struct gnn_run_config *config, const struct gnn_validity_facts *facts,
                            struct gnn_run_record *run)
{
    const struct context context = {.config = config, .facts = facts, .run = run};
    uint32_t failed = 0;
    assert(run->epoch_count <= run->epoch_room);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        failed += checks[i](&context) ? 0 : 1;
    return failed;
}

bool gnn_validity_check_bound(struct gnn_run_record *run)
{
    const double ratio = gnn_run_bound_ratio(run);
    if (run->status != GNN_RUN_OK || !(ratio < 1))
        return true;
    const uint64_t bound_bytes = gnn_run_bound_bytes(run);
    gnn_run_record_reason(run,
                          "the system counted %" PRIu64 " B of rows read, but no exact system reads less than %" PRIu64
                          " B for these mini-batches with this memory: reads were not counted, or rows were used that "
                          "were not read",
                          (uint64_t)llround(ratio * (double)bound_bytes), bound_bytes);
    run->valid = 0;
    run->status = GNN_RUN_INVALID;
    return false;
}

/* SPDX-License-Identifier: MIT */
#include "harness/run/worker/epochs.h"

#include "harness/base/clock.h"
#include "harness/base/rng.h"
#include "harness/run/worker/evaluate.h"
#include "harness/run/worker/evaluate_links.h"
#include "harness/run/worker/extrapolate.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRESS_INTERVAL_NS = 250 * 1000 * 1000 };

/* Notes what depends on the world's clock: the time from step to step, the steps to extrapolate from, and the time
 * limit where that clock is not the supervisor's. */
static void note_step(struct gnn_run_worker *w)
{
    if (w->config->world == GNN_WORLD_SIMULATED && w->config->time_limit_ns != 0 &&
        gnn_now_ns(w->world) > w->config->time_limit_ns) {
        w->time_passed = true;
        atomic_store(w->control->stop, true);
    }
    const uint64_t now_ns = gnn_now_ns(w->world);
    gnn_histogram_add(&w->between, now_ns - w->last_step_ns);
    w->last_step_ns = now_ns;
    if (w->step_ns != NULL && w->steps_done < gnn_run_max_batches(w->config))
        w->step_ns[w->steps_done] = now_ns;
    if (++w->steps_ever == w->die_at_batch && w->env.rank == w->die_rank)
        (void)raise(SIGKILL);
}

void gnn_run_worker_on_step(void *ctx, const struct gnn_batch_view *batch, const struct gnn_step_result *step)
{
    struct gnn_run_worker *const w = ctx;
    assert(step->correct <= (uint64_t)w->workload.batch_size * gnn_env_workers(&w->env));
    note_step(w);
    w->steps_done++;
    if (gnn_is_spot(batch->batch)) {
        w->spots++;
        w->spot_digest += gnn_batch_digest(batch, NULL);
    }
    if (w->env.rank > 0)
        return;
    if (w->trace != NULL) /* a failed write is kept by the stream: flush_traces() */
        (void)fprintf(w->trace, "%" PRIu64 " %" PRIu64 " %a %u\n", batch->epoch, batch->batch, step->loss,
                      step->correct);
    if (w->rows != NULL)
        gnn_row_file_add(w->rows, batch);
    const uint64_t now_ns = gnn_host_now_ns();
    if (now_ns - w->progress_ns < PROGRESS_INTERVAL_NS)
        return;
    w->progress_ns = now_ns;
    const uint64_t total = w->intent.batches == GNN_UNKNOWN ? w->intent.whole_batches : w->intent.batches;
    struct gnn_wire_message message = {0};
    message.as.progress = (struct gnn_wire_progress){
        .epoch = w->epoch, .batches_done = w->steps_done, .batches_total = total, .loss = step->loss};
    gnn_control_send(&message, GNN_WIRE_PROGRESS);
}

/* Flushes after every epoch, so that a trace that cannot be written ends the run instead of being cut in silence. */
static enum gnn_status flush_traces(struct gnn_run_worker *w, struct gnn_err *err)
{
    GNN_TRY(gnn_machine_trace_check(w->machine, err));
    if (w->rows != NULL)
        GNN_TRY(gnn_row_file_check(w->rows, err));
    if (w->trace == NULL)
        return GNN_OK;
    errno = 0;
    if (fflush(w->trace) == 0 && ferror(w->trace) == 0)
        return GNN_OK;
    return gnn_fail(err, errno == ENOSPC ? GNN_ENOSPC : GNN_EIO, "--trace-loss %s: %s", w->config->trace_loss,
                    errno != 0 ? strerror(errno) : "a write failed");
}

/* Extrapolates from the steps of the epoch; fewer batches than asked for are all there are, and stay as they are. */
static void extrapolate(const struct gnn_run_worker *w, uint64_t start_ns, struct gnn_wire_epoch *e)
{
    const uint64_t all = w->intent.whole_batches;
    if (w->step_ns == NULL || w->steps_done < (uint64_t)w->config->warmup + 2 || w->steps_done >= all)
        return;
    if (w->phases.batches != 0)
        gnn_extrapolate_phases(w->step_ns, &w->phases, start_ns, all, &e->full);
    else
        gnn_extrapolate(w->step_ns, (uint32_t)w->steps_done, w->config->warmup, start_ns, all, &e->full);
    e->extrapolated = true;
}

/* Compares what was trained with what was sampled, where every mini-batch that was sampled was trained. */
static void compare_spots(const struct gnn_run_worker *w, struct gnn_wire_epoch *e)
{
    const struct gnn_sample_counters *const sampled = &e->result.counters.sample;
    if (w->steps_done != sampled->batches)
        return;
    e->spots = w->spots;
    e->trained_otherwise = w->spot_digest != sampled->spot_digest;
}

/* ---- what all ranks did, as one ---- */

static void merge_stage(struct gnn_epoch_result *out, const struct gnn_stage_time *stage)
{
    uint32_t i = 0;
    while (i < out->stage_count && strcmp(out->stages[i].stage, stage->stage) != 0)
        i++;
    assert(i < GNN_STAGES_MAX);
    if (i == out->stage_count) {
        out->stages[out->stage_count++] = *stage;
        return;
    }
    struct gnn_stage_time *const sum = &out->stages[i];
    sum->workers += stage->workers;
    sum->items += stage->items;
    sum->wall_ns += stage->wall_ns;
    sum->cpu_ns += stage->cpu_ns;
    sum->queued_ns = gnn_add_bytes(sum->queued_ns, stage->queued_ns);
    sum->work_ns += stage->work_ns;
    for (int kind = 0; kind < GNN_WAIT_KINDS; kind++)
        sum->wait_ns[kind] += stage->wait_ns[kind];
}

static void merge_figure(struct gnn_epoch_result *out, const struct gnn_figure *figure)
{
    for (uint32_t i = 0; i < out->figure_count; i++) {
        uint64_t *const value = &out->figures[i].value;
        if (strcmp(out->figures[i].name, figure->name) != 0)
            continue;
        *value = figure->is_size ? gnn_max_u64(*value, figure->value) : *value + figure->value;
        return;
    }
    assert(out->figure_count < GNN_FIGURES_MAX);
    out->figures[out->figure_count++] = *figure;
}

/* Unknown with anything is unknown. */
static void add_count(uint64_t *sum, uint64_t more)
{
    *sum = *sum == GNN_UNKNOWN || more == GNN_UNKNOWN ? GNN_UNKNOWN : *sum + more;
}

static void merge_counters(struct gnn_counters *sum, const struct gnn_counters *more)
{
    sum->sample.batches += more->sample.batches;
    sum->sample.sampled_nodes += more->sample.sampled_nodes;
    sum->sample.sampled_edges += more->sample.sampled_edges;
    sum->sample.batch_digest += more->sample.batch_digest; /* a sum modulo 2^64, as over batches */
    sum->sample.spot_digest += more->sample.spot_digest;
    add_count(&sum->needed_bytes, more->needed_bytes);
    add_count(&sum->requested_bytes, more->requested_bytes);
    add_count(&sum->requested_ios, more->requested_ios);
    add_count(&sum->cache_hits, more->cache_hits);
    add_count(&sum->cache_misses, more->cache_misses);
    add_count(&sum->cache_evictions, more->cache_evictions);
    add_count(&sum->rows_asked, more->rows_asked);
    add_count(&sum->rows_read, more->rows_read);
    add_count(&sum->prepare_disk_bytes, more->prepare_disk_bytes);
}

/* Amounts are summed over the ranks, sizes and the time to prepare are the largest; the epoch's wall time is that of
 * the slowest rank, because the clock is read when all have met. */
static void merge_result(struct gnn_epoch_result *out, const struct gnn_epoch_result *more)
{
    out->loss_sum += more->loss_sum;
    out->seeds += more->seeds;
    out->correct += more->correct;
    out->prepare_ns = gnn_max_u64(out->prepare_ns, more->prepare_ns);
    merge_counters(&out->counters, &more->counters);
    for (uint32_t i = 0; i < more->stage_count; i++)
        merge_stage(out, &more->stages[i]);
    for (uint32_t i = 0; i < more->figure_count; i++)
        merge_figure(out, &more->figures[i]);
}

/* Devices work side by side: the busiest one's time stands for the epoch's, what they moved and launched adds up. */
static void merge_device(struct gnn_device_times *sum, const struct gnn_device_times *more)
{
    sum->kernel_ns = gnn_max_u64(sum->kernel_ns, more->kernel_ns);
    sum->held_ns = gnn_max_u64(sum->held_ns, more->held_ns);
    sum->copy_ns = gnn_max_u64(sum->copy_ns, more->copy_ns);
    sum->uploaded_bytes += more->uploaded_bytes;
    sum->downloaded_bytes += more->downloaded_bytes;
    sum->launches += more->launches;
    sum->graph_steps += more->graph_steps;
    sum->graph_builds += more->graph_builds;
    sum->plain_step_ns = gnn_max_u64(sum->plain_step_ns, more->plain_step_ns);
    sum->graph_step_ns = gnn_max_u64(sum->graph_step_ns, more->graph_step_ns);
}

/* Adds to rank 0's epoch what the others reported. */
static void merge_reports(struct gnn_run_worker *w, struct gnn_wire_epoch *e)
{
    for (uint32_t rank = 1; rank < gnn_ranks_count(w->env.ranks); rank++) {
        const struct gnn_rank_report *const report = gnn_ranks_report(w->env.ranks, rank);
        merge_result(&e->result, &report->result);
        e->after.cpu_ns += report->cpu_ns;
        e->after.major_faults += report->major_faults;
        merge_device(&e->device, &report->device);
        gnn_read_tally_merge(&w->reads, &report->reads);
        e->spots += report->spots;
        e->trained_otherwise = e->trained_otherwise || report->trained_otherwise;
    }
}

/* What a rank other than 0 leaves for it. */
static void fill_report(struct gnn_run_worker *w, struct gnn_wire_epoch *e)
{
    gnn_machine_usage(w->machine, &e->after);
    struct gnn_rank_report *const report = gnn_ranks_report(w->env.ranks, w->env.rank);
    compare_spots(w, e);
    if (w->own_process)
        gnn_machine_read_times(w->machine, &report->reads);
    report->result = e->result;
    report->device = e->device;
    report->spots = e->spots;
    report->trained_otherwise = e->trained_otherwise;
    report->cpu_ns = w->own_process ? e->after.cpu_ns - e->before.cpu_ns : 0;
    report->major_faults = w->own_process ? e->after.major_faults - e->before.major_faults : 0;
}

/* Tells the supervisor; the epoch is over on every rank. */
static void end_epoch(struct gnn_run_worker *w, uint64_t start_ns, struct gnn_wire_message *message)
{
    struct gnn_wire_epoch *const e = &message->as.epoch;
    compare_spots(w, e);
    gnn_machine_read_times(w->machine, &w->reads);
    merge_reports(w, e);
    e->has_values = !gnn_compute_is_modelled(w->config);
    e->batches = gnn_histogram_percentiles(&w->between);
    e->reads = gnn_histogram_percentiles(&w->reads.times);
    e->read_sizes = w->reads.sizes;
    e->buffered_write_bytes = w->reads.buffered_write_bytes + w->reads.put_bytes;
    e->mapped_write_bytes = w->reads.put_bytes;
    extrapolate(w, start_ns, e);
    assert(e->result.stage_count <= GNN_STAGES_MAX);
    assert(e->result.figure_count <= GNN_FIGURES_MAX);
    for (uint32_t i = 0; i < e->result.figure_count; i++)
        (void)snprintf(e->figure_names[i], sizeof e->figure_names[i], "%s", e->result.figures[i].name);
    gnn_control_announce(w->control, message, GNN_WIRE_EPOCH_END);
}

/* Leaves for rank 0 what this rank's own process did before the first epoch. */
static void report_opening(struct gnn_run_worker *w)
{
    struct gnn_machine_usage usage;
    struct gnn_rank_report *const report = gnn_ranks_report(w->env.ranks, w->env.rank);
    gnn_machine_usage(w->machine, &usage);
    gnn_machine_read_times(w->machine, &report->reads);
    report->cpu_ns = usage.cpu_ns;
}

/* What all ranks did before the first epoch. */
static void fill_opening(struct gnn_run_worker *w, struct gnn_wire_begin *begin)
{
    begin->clock_ns = gnn_observed_ns(w->world);
    gnn_machine_usage(w->machine, &begin->usage);
    gnn_machine_read_times(w->machine, &w->reads);
    for (uint32_t rank = 1; rank < gnn_ranks_count(w->env.ranks); rank++) {
        const struct gnn_rank_report *const report = gnn_ranks_report(w->env.ranks, rank);
        gnn_read_tally_merge(&w->reads, &report->reads);
        begin->usage.cpu_ns += report->cpu_ns;
    }
    begin->requested_bytes = w->reads.read_bytes;
    begin->requested_ios = w->reads.sizes.count;
    begin->requested_write_bytes = w->reads.write_bytes;
    begin->requested_write_ios = w->reads.writes;
    begin->buffered_write_bytes = w->reads.buffered_write_bytes + w->reads.put_bytes;
}

/* Pauses until the supervisor has read the group's counters. */
static void announce_epoch(struct gnn_run_worker *w, uint64_t epoch)
{
    struct gnn_wire_message message = {0};
    message.as.begin.epoch = epoch;
    if (epoch == 0)
        fill_opening(w, &message.as.begin);
    gnn_control_announce(w->control, &message, GNN_WIRE_EPOCH_BEGIN);
}

/* What the device did since this was asked last. */
static void take_device_times(const struct gnn_run_worker *w, struct gnn_wire_epoch *e)
{
    e->has_device = w->env.tensor != NULL && !w->env.tensor->host_memory;
    if (e->has_device)
        w->env.tensor->ops->take_times(w->env.tensor, &e->device);
}

static enum gnn_status train_epoch(struct gnn_run_worker *w, uint64_t epoch, struct gnn_err *err)
{
    struct gnn_wire_message message = {0};
    struct gnn_wire_epoch *const e = &message.as.epoch;
    e->epoch = epoch;
    if (epoch == 0 && w->own_process)
        report_opening(w);
    GNN_TRY(gnn_ranks_meet(w->env.ranks, err)); /* all are open, and have read the last epoch's reports */
    if (w->env.rank == 0)
        announce_epoch(w, epoch);
    w->epoch = epoch;
    w->steps_done = w->spots = w->spot_digest = 0;

    take_device_times(w, e); /* evaluation and open are not the epoch's */
    gnn_machine_usage(w->machine, &e->before);
    if (w->env.rank == 0 || w->own_process) /* what was read outside of epochs is not theirs */
        gnn_machine_read_times(w->machine, &w->reads);
    GNN_TRY(gnn_ranks_meet(w->env.ranks, err)); /* the supervisor has read the group's counters */
    const uint64_t start_ns = gnn_now_ns(w->world);
    w->between = (struct gnn_histogram){.count = 0};
    w->last_step_ns = start_ns;
    gnn_machine_trace_epoch(w->machine, epoch + 1);
    GNN_TRY(w->system->train_epoch(w->system_state, epoch, &e->result, err));
    take_device_times(w, e);
    if (w->env.rank > 0)
        fill_report(w, e);
    GNN_TRY(gnn_ranks_meet(w->env.ranks, err)); /* the slowest is there */
    gnn_machine_trace_epoch(w->machine, 0);
    e->wall_ns = gnn_now_ns(w->world) - start_ns;
    gnn_machine_usage(w->machine, &e->after);
    assert(e->after.cpu_ns >= e->before.cpu_ns);
    w->trained = w->trained || e->result.seeds > 0;
    if (w->env.rank == 0)
        end_epoch(w, start_ns, &message);
    return GNN_OK;
}

/* The vectors are the system's, so that it stays open. */
static enum gnn_status evaluate_links(struct gnn_run_worker *w, uint64_t epoch, struct gnn_err *err)
{
    struct gnn_wire_message message = {0};
    struct gnn_wire_accuracy *const a = &message.as.accuracy;
    const struct gnn_node_quality none = {NAN, NAN, NAN};
    *a = (struct gnn_wire_accuracy){.epoch = epoch, .valid = none, .test = none, .links = true};
    GNN_TRY(gnn_evaluate_links(&w->env, w->system, w->system_state, w->config->candidates, &a->valid_links,
                               &a->test_links, err));
    gnn_control_send(&message, GNN_WIRE_ACCURACY);
    return GNN_OK;
}

/* Evaluates the nodes of a split, and notes which split it was. */
static enum gnn_status evaluate_nodes(const struct gnn_run_worker *w, const struct gnn_split *split,
                                      struct gnn_node_quality *quality, char name[GNN_WIRE_SPLIT], struct gnn_err *err)
{
    assert(strlen(split->name) < GNN_WIRE_SPLIT);
    (void)snprintf(name, GNN_WIRE_SPLIT, "%s", split->name);
    return gnn_evaluate_split(&w->env, split, quality, err);
}

static enum gnn_status evaluate_epoch(struct gnn_run_worker *w, uint64_t epoch, struct gnn_err *err)
{
    const bool last = epoch + 1 == w->workload.epochs;
    if (w->env.rank > 0 || !w->trained || gnn_compute_is_modelled(w->config) ||
        w->config->evaluate == GNN_EVALUATE_NEVER || (w->config->evaluate == GNN_EVALUATE_LAST && !last))
        return GNN_OK;
    if (w->workload.task == GNN_TASK_LINK)
        return evaluate_links(w, epoch, err);
    if (last) { /* its memory is the evaluation's now, which so needs no more than training did */
        w->system->close(w->system_state);
        w->system_state = NULL;
    }
    struct gnn_wire_message message = {0};
    struct gnn_wire_accuracy *const a = &message.as.accuracy;
    a->epoch = epoch;
    GNN_TRY(evaluate_nodes(w, &w->dataset->valid, &a->valid, a->valid_split, err));
    GNN_TRY(evaluate_nodes(w, &w->dataset->test, &a->test, a->test_split, err));
    gnn_control_send(&message, GNN_WIRE_ACCURACY);
    return GNN_OK;
}

/* Folds the bits of count reals of the back-end into the hash. GNN_ENUMBER when one of them is not finite. */
static enum gnn_status hash_values(const struct gnn_run_worker *w, const char *name, const gnn_real *at, uint64_t count,
                                   uint64_t *hash, struct gnn_err *err)
{
    gnn_real *values;
    bool finite = true;
    GNN_NEW(values, count, err, "the values of %s", name);
    w->env.tensor->ops->download(w->env.tensor, values, at, count * sizeof *values);
    for (uint64_t k = 0; k < count; k++) {
        uint32_t bits;
        memcpy(&bits, &values[k], sizeof bits);
        *hash = gnn_rng_fold(*hash, bits);
        finite = finite && isfinite(values[k]);
    }
    free(values);
    if (!finite)
        return gnn_fail(err, GNN_ENUMBER, "parameter %s is not finite after the last mini-batch of epoch %" PRIu64,
                        name, w->epoch);
    return GNN_OK;
}

/* Hashes the bits of every parameter, relations among them: equal models, equal hash. 0 without values. GNN_ENUMBER
 * when one of them is not finite. */
static enum gnn_status hash_model(const struct gnn_run_worker *w, uint64_t *out, struct gnn_err *err)
{
    *out = 0;
    if (gnn_compute_is_modelled(w->config))
        return GNN_OK;
    for (uint32_t i = 0; w->env.model != NULL && i < gnn_model_param_count(w->env.model); i++) {
        const struct gnn_param p = gnn_model_param(w->env.model, i);
        GNN_TRY(hash_values(w, p.name, p.value, (uint64_t)p.rows * p.cols, out, err));
    }
    for (uint32_t k = 0; w->env.link != NULL && k < 2; k++) {
        const struct gnn_link_table r = gnn_link_relations(w->env.link, k);
        GNN_TRY(hash_values(w, "relations", r.value, (uint64_t)r.rows * r.cols, out, err));
    }
    return GNN_OK;
}

/* Every rank averaged the same gradients, so every rank's parameters have the same bits. */
static enum gnn_status check_models(const struct gnn_run_worker *w, uint64_t hash, struct gnn_err *err)
{
    if (w->env.ranks == NULL)
        return GNN_OK;
    ((struct gnn_rank_report *)gnn_ranks_report(w->env.ranks, w->env.rank))->model_hash = hash;
    GNN_TRY(gnn_ranks_meet(w->env.ranks, err));
    for (uint32_t rank = 0; rank < gnn_ranks_count(w->env.ranks); rank++) {
        const struct gnn_rank_report *const report = gnn_ranks_report(w->env.ranks, rank);
        if (report->model_hash != hash)
            return gnn_fail(err, GNN_EBUG, "worker %" PRIu32 " trained other parameters than worker %" PRIu32, rank,
                            w->env.rank);
    }
    return GNN_OK;
}

enum gnn_status gnn_run_worker_epochs(struct gnn_run_worker *w, struct gnn_err *err)
{
    assert(w->workload.epochs > 0);
    for (uint64_t epoch = 0; epoch < w->workload.epochs; epoch++) {
        if (atomic_load(w->control->stop))
            return gnn_fail(err, GNN_ECANCELLED, "stopped before epoch %" PRIu64, epoch);
        GNN_TRY(train_epoch(w, epoch, err));
        GNN_TRY(flush_traces(w, err));
        GNN_TRY(evaluate_epoch(w, epoch, err));
    }
    struct gnn_wire_message message = {0};
    struct gnn_mem_usage usage;
    uint64_t hash = 0;
    GNN_TRY(hash_model(w, &hash, err));
    GNN_TRY(check_models(w, hash, err));
    if (w->env.rank > 0)
        return GNN_OK;
    gnn_mem_usage(w->world, &usage);
    message.as.done = (struct gnn_wire_done){
        .model_hash = hash, .allocated_peak_bytes = usage.peak_bytes, .clock_ns = gnn_now_ns(w->world)};
    gnn_control_send(&message, GNN_WIRE_DONE);
    return GNN_OK;
}

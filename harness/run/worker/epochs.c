#include "harness/run/worker/epochs.h"

#include "harness/base/clock.h"
#include "harness/base/rng.h"
#include "harness/run/worker/evaluate.h"
#include "harness/run/worker/extrapolate.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRESS_INTERVAL_NS = 250 * 1000 * 1000 };

/* Notes what depends on the world's clock: the steps to extrapolate from, and the time limit where that clock is not
 * the supervisor's. */
static void note_step(struct gnn_run_worker *w)
{
    if (w->config->world == GNN_WORLD_SIMULATED && w->config->time_limit_ns != 0 &&
        gnn_now_ns(w->world) > w->config->time_limit_ns) {
        w->time_passed = true;
        atomic_store(&w->control.stop, true);
    }
    if (w->step_ns != NULL && w->steps_done < gnn_run_max_batches(w->config))
        w->step_ns[w->steps_done] = gnn_now_ns(w->world);
    if (++w->steps_ever == w->die_at_batch)
        (void)raise(SIGKILL);
}

void gnn_run_worker_on_step(void *ctx, const struct gnn_batch_view *batch, const struct gnn_step_result *step)
{
    struct gnn_run_worker *const w = ctx;
    assert(step->correct <= w->workload.batch_size);
    note_step(w);
    w->steps_done++;
    if (gnn_is_spot(batch->batch)) {
        w->spots++;
        w->spot_digest += gnn_batch_digest(batch, NULL);
    }
    if (w->trace != NULL) /* a failed write is kept by the stream: flush_trace() */
        (void)fprintf(w->trace, "%" PRIu64 " %" PRIu64 " %a %u\n", batch->epoch, batch->batch, step->loss,
                      step->correct);
    const uint64_t now_ns = gnn_host_now_ns();
    if (now_ns - w->progress_ns < PROGRESS_INTERVAL_NS)
        return;
    w->progress_ns = now_ns;
    struct gnn_wire_message message = {0};
    message.as.progress = (struct gnn_wire_progress){
        .epoch = w->epoch, .batches_done = w->steps_done, .batches_total = w->intent.batches, .loss = step->loss};
    gnn_control_send(&message, GNN_WIRE_PROGRESS);
}

/* Flushes after every epoch, so that a trace that cannot be written ends the run instead of being cut in silence. */
static enum gnn_status flush_trace(struct gnn_run_worker *w, struct gnn_err *err)
{
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

static enum gnn_status train_epoch(struct gnn_run_worker *w, uint64_t epoch, struct gnn_err *err)
{
    struct gnn_wire_message message = {0};
    struct gnn_wire_epoch *const e = &message.as.epoch;
    e->epoch = epoch;
    gnn_control_announce(&w->control, &message, GNN_WIRE_EPOCH_BEGIN);
    w->epoch = epoch;
    w->steps_done = w->spots = w->spot_digest = 0;

    gnn_machine_usage(w->machine, &e->before);
    const uint64_t start_ns = gnn_now_ns(w->world);
    GNN_TRY(w->system->train_epoch(w->system_state, epoch, &e->result, err));
    e->wall_ns = gnn_now_ns(w->world) - start_ns;
    gnn_machine_usage(w->machine, &e->after);
    assert(e->after.cpu_ns >= e->before.cpu_ns);
    e->has_values = !gnn_compute_is_modelled(w->config);
    extrapolate(w, start_ns, e);
    compare_spots(w, e);
    w->trained = w->trained || e->result.seeds > 0;
    assert(e->result.stage_count <= GNN_STAGES_MAX);
    assert(e->result.figure_count <= GNN_FIGURES_MAX);
    for (uint32_t i = 0; i < e->result.figure_count; i++)
        (void)snprintf(e->figure_names[i], sizeof e->figure_names[i], "%s", e->result.figures[i].name);
    gnn_control_announce(&w->control, &message, GNN_WIRE_EPOCH_END);
    return GNN_OK;
}

static enum gnn_status evaluate_epoch(struct gnn_run_worker *w, uint64_t epoch, struct gnn_err *err)
{
    const bool last = epoch + 1 == w->workload.epochs;
    if (!w->trained || gnn_compute_is_modelled(w->config) || w->config->evaluate == GNN_EVALUATE_NEVER ||
        (w->config->evaluate == GNN_EVALUATE_LAST && !last))
        return GNN_OK;
    if (last) { /* its memory is the evaluation's now, which so needs no more than training did */
        w->system->close(w->system_state);
        w->system_state = NULL;
    }
    struct gnn_wire_message message = {0};
    struct gnn_wire_accuracy *const a = &message.as.accuracy;
    a->epoch = epoch;
    GNN_TRY(gnn_evaluate_split(&w->env, &w->dataset->valid, &a->valid, err));
    GNN_TRY(gnn_evaluate_split(&w->env, &w->dataset->test, &a->test, err));
    gnn_control_send(&message, GNN_WIRE_ACCURACY);
    return GNN_OK;
}

/* Hashes the bits of every parameter: equal models, equal hash. 0 without values. GNN_ENUMBER when one of them is not
 * finite. */
static enum gnn_status hash_model(const struct gnn_run_worker *w, uint64_t *out, struct gnn_err *err)
{
    uint64_t hash = 0;
    const bool has_values = w->env.model != NULL && !gnn_compute_is_modelled(w->config);
    bool finite = true;
    for (uint32_t i = 0; has_values && i < gnn_model_param_count(w->env.model); i++) {
        const struct gnn_param p = gnn_model_param(w->env.model, i);
        const uint64_t count = (uint64_t)p.rows * p.cols;
        gnn_real *values;
        GNN_NEW(values, count, err, "the values of %s", p.name);
        w->env.tensor->ops->download(w->env.tensor, values, p.value, count * sizeof *values);
        for (uint64_t k = 0; k < count; k++) {
            uint32_t bits;
            memcpy(&bits, &values[k], sizeof bits);
            hash = gnn_rng_fold(hash, bits);
            finite = finite && isfinite(values[k]);
        }
        free(values);
        if (!finite)
            return gnn_fail(err, GNN_ENUMBER, "parameter %s is not finite after the last mini-batch of epoch %" PRIu64,
                            p.name, w->epoch);
    }
    *out = hash;
    return GNN_OK;
}

enum gnn_status gnn_run_worker_epochs(struct gnn_run_worker *w, struct gnn_err *err)
{
    assert(w->workload.epochs > 0);
    for (uint64_t epoch = 0; epoch < w->workload.epochs; epoch++) {
        if (atomic_load(&w->control.stop))
            return gnn_fail(err, GNN_ECANCELLED, "stopped before epoch %" PRIu64, epoch);
        GNN_TRY(train_epoch(w, epoch, err));
        GNN_TRY(flush_trace(w, err));
        GNN_TRY(evaluate_epoch(w, epoch, err));
    }
    struct gnn_wire_message message = {0};
    struct gnn_mem_usage usage;
    gnn_mem_usage(w->world, &usage);
    uint64_t hash = 0;
    GNN_TRY(hash_model(w, &hash, err));
    message.as.done = (struct gnn_wire_done){
        .model_hash = hash, .allocated_peak_bytes = usage.peak_bytes, .clock_ns = gnn_now_ns(w->world)};
    gnn_control_send(&message, GNN_WIRE_DONE);
    return GNN_OK;
}

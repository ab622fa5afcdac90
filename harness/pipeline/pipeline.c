/* SPDX-License-Identifier: MIT */
/* Workers, the first error, and the split of every stage's time.
 *
 * One mutex guards the state. Stopping goes: the first caller keeps its status and message, then runs the cancel
 * callbacks outside the lock (they take locks of their own), and gnn_pipeline_run does not return before they have
 * finished, so that the caller may free what they touch. */
#include "harness/pipeline/pipeline.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slot { /* of one worker */
    struct gnn_worker worker;
    const struct stage *stage;
    struct gnn_thread *thread;
    struct gnn_time_split split; /* written by the worker at its end, read after its join */
};

struct stage {
    char name[GNN_NAME_MAX];
    gnn_stage_fn *run;
    void *ctx;
    uint32_t workers;
    struct slot *slots; /* (workers) */
};

_Static_assert(sizeof((struct stage *)0)->name == sizeof((struct gnn_stage_time *)0)->stage, "copied whole");

struct cancel { /* one of the three */
    void (*fn)(void *target);
    void *target;
    struct gnn_queue *queue;
    struct gnn_reorder *reorder;
};

struct gnn_pipeline {
    struct gnn_world *world;
    struct stage stages[GNN_STAGES_MAX];
    uint32_t stage_count;
    struct cancel *cancels; /* (cancel_count) */
    uint32_t cancel_count;
    atomic_bool stopping;
    struct gnn_mutex *mutex; /* guards the three below */
    struct gnn_cond *cancelled;
    struct gnn_err first; /* status GNN_OK: nothing went wrong */
    bool running;
    bool cancelling; /* callbacks are being run */
};

enum gnn_status gnn_pipeline_open(struct gnn_world *world, struct gnn_pipeline **out, struct gnn_err *err)
{
    struct gnn_pipeline *pipeline;
    GNN_NEW(pipeline, 1, err, "pipeline");
    *out = pipeline;
    pipeline->world = world;
    atomic_init(&pipeline->stopping, false);
    GNN_TRY(gnn_mutex_open(world, &pipeline->mutex, err));
    return gnn_cond_open(world, &pipeline->cancelled, err);
}

void gnn_pipeline_close(struct gnn_pipeline *pipeline)
{
    if (pipeline == NULL)
        return;
    assert(!pipeline->running);
    for (uint32_t s = 0; s < pipeline->stage_count; s++)
        free(pipeline->stages[s].slots);
    for (uint32_t i = 0; i < pipeline->cancel_count; i++) {
        gnn_queue_close(pipeline->cancels[i].queue);
        gnn_reorder_close(pipeline->cancels[i].reorder);
    }
    free(pipeline->cancels);
    gnn_cond_close(pipeline->world, pipeline->cancelled);
    gnn_mutex_close(pipeline->world, pipeline->mutex);
    free(pipeline);
}

enum gnn_status gnn_pipeline_stage(struct gnn_pipeline *pipeline, const char *name, uint32_t workers, gnn_stage_fn *run,
                                   void *ctx, struct gnn_err *err)
{
    assert(!pipeline->running);
    if (pipeline->stage_count == GNN_STAGES_MAX)
        return gnn_fail(err, GNN_EBUG, "stage %s is one more than %d", name, GNN_STAGES_MAX);
    if (workers < 1 || workers > GNN_WORKERS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "stage %s has %u workers; give it 1 to %d", name, workers, GNN_WORKERS_MAX);
    struct slot *slots;
    GNN_NEW(slots, workers, err, "stage %s: %u workers", name, workers);
    struct stage *const stage = &pipeline->stages[pipeline->stage_count++];
    *stage = (struct stage){.run = run, .ctx = ctx, .workers = workers, .slots = slots};
    assert(strlen(name) < sizeof stage->name);
    (void)snprintf(stage->name, sizeof stage->name, "%s", name);
    for (uint32_t w = 0; w < workers; w++) {
        slots[w].stage = stage;
        slots[w].worker = (struct gnn_worker){.world = pipeline->world, .pipeline = pipeline, .index = w};
    }
    return GNN_OK;
}

static enum gnn_status add_cancel(struct gnn_pipeline *pipeline, struct cancel **out, struct gnn_err *err)
{
    assert(!pipeline->running);
    const size_t count = pipeline->cancel_count + (size_t)1;
    struct cancel *const larger = reallocarray(pipeline->cancels, count, sizeof *larger);
    if (larger == NULL)
        return gnn_fail(err, GNN_ENOMEM, "pipeline: %zu cancel callbacks", count);
    pipeline->cancels = larger;
    *out = &larger[pipeline->cancel_count++];
    **out = (struct cancel){.fn = NULL};
    return GNN_OK;
}

enum gnn_status gnn_pipeline_on_cancel(struct gnn_pipeline *pipeline, void (*cancel)(void *target), void *target,
                                       struct gnn_err *err)
{
    struct cancel *added = NULL;
    GNN_TRY(add_cancel(pipeline, &added, err));
    added->fn = cancel;
    added->target = target;
    return GNN_OK;
}

enum gnn_status gnn_pipeline_queue(struct gnn_pipeline *pipeline, const char *name, uint32_t capacity,
                                   struct gnn_queue **out, struct gnn_err *err)
{
    struct cancel *added = NULL;
    GNN_TRY(add_cancel(pipeline, &added, err));
    GNN_TRY(gnn_queue_open(pipeline->world, name, capacity, &added->queue, err));
    *out = added->queue;
    return GNN_OK;
}

enum gnn_status gnn_pipeline_reorder(struct gnn_pipeline *pipeline, uint32_t window, uint64_t end,
                                     struct gnn_reorder **out, struct gnn_err *err)
{
    struct cancel *added = NULL;
    GNN_TRY(add_cancel(pipeline, &added, err));
    GNN_TRY(gnn_reorder_open(pipeline->world, window, &added->reorder, err));
    *out = added->reorder;
    gnn_reorder_reset(*out, 0, end);
    return GNN_OK;
}

/* Keeps the first error; its caller runs the callbacks if workers are running. */
static void stop_with(struct gnn_pipeline *pipeline, const struct gnn_err *cause)
{
    assert(cause->status != GNN_OK);
    gnn_mutex_lock(pipeline->world, pipeline->mutex);
    const bool first = pipeline->first.status == GNN_OK;
    if (first) {
        pipeline->first = *cause;
        pipeline->cancelling = pipeline->running;
        atomic_store(&pipeline->stopping, true);
    }
    const bool cancel = first && pipeline->cancelling;
    gnn_mutex_unlock(pipeline->world, pipeline->mutex);
    if (!cancel)
        return;
    for (uint32_t i = 0; i < pipeline->cancel_count; i++) {
        const struct cancel *const one = &pipeline->cancels[i];
        if (one->fn != NULL)
            one->fn(one->target);
        gnn_queue_cancel(one->queue);
        gnn_reorder_cancel(one->reorder);
    }
    gnn_mutex_lock(pipeline->world, pipeline->mutex);
    pipeline->cancelling = false;
    gnn_cond_broadcast(pipeline->world, pipeline->cancelled);
    gnn_mutex_unlock(pipeline->world, pipeline->mutex);
}

void gnn_pipeline_stop(struct gnn_pipeline *pipeline, enum gnn_status status, const char *message)
{
    struct gnn_err cause = {0};
    (void)gnn_fail(&cause, status, "%s", message);
    stop_with(pipeline, &cause);
}

bool gnn_pipeline_stopping(struct gnn_pipeline *pipeline)
{
    return atomic_load(&pipeline->stopping);
}

static void worker_main(void *arg)
{
    struct slot *const slot = arg;
    const struct stage *const stage = slot->stage;
    struct gnn_err err = {0};
    const enum gnn_status status = stage->run(stage->ctx, &slot->worker, &err);
    /* A queue that was cancelled gives GNN_ECANCELLED without a text; the text of a cause is never replaced. */
    if (status != GNN_OK) {
        (void)gnn_fail(&err, status, "stage %s, worker %u: %s", stage->name, slot->worker.index,
                       gnn_status_name(status));
        stop_with(slot->worker.pipeline, &err);
    }
    gnn_thread_split(slot->worker.world, &slot->split);
}

/* Starts the workers one after another; a failure stops those already running. */
static void start_workers(struct gnn_pipeline *pipeline)
{
    for (uint32_t s = 0; s < pipeline->stage_count; s++) {
        for (uint32_t w = 0; w < pipeline->stages[s].workers; w++) {
            struct slot *const slot = &pipeline->stages[s].slots[w];
            struct gnn_err err = {0};
            if (gnn_pipeline_stopping(pipeline))
                return;
            if (gnn_thread_start(pipeline->world, slot->stage->name, worker_main, slot, &slot->thread, &err) !=
                GNN_OK) {
                slot->thread = NULL;
                stop_with(pipeline, &err);
                return;
            }
        }
    }
}

static void clear_workers(struct gnn_pipeline *pipeline)
{
    for (uint32_t s = 0; s < pipeline->stage_count; s++) {
        for (uint32_t w = 0; w < pipeline->stages[s].workers; w++) {
            struct slot *const slot = &pipeline->stages[s].slots[w];
            *slot = (struct slot){.worker = slot->worker, .stage = slot->stage};
            slot->worker.items = 0;
        }
    }
}

static void join_workers(struct gnn_pipeline *pipeline)
{
    for (uint32_t s = 0; s < pipeline->stage_count; s++)
        for (uint32_t w = 0; w < pipeline->stages[s].workers; w++)
            gnn_thread_join(pipeline->world, pipeline->stages[s].slots[w].thread);
}

/* Ends the run: waits for callbacks in progress, takes the error out, readies the pipeline for another run. */
static struct gnn_err take_first_error(struct gnn_pipeline *pipeline)
{
    gnn_mutex_lock(pipeline->world, pipeline->mutex);
    while (pipeline->cancelling)
        (void)gnn_cond_wait(pipeline->world, pipeline->cancelled, pipeline->mutex, GNN_NO_DEADLINE, GNN_WAIT_LOCK);
    const struct gnn_err first = pipeline->first;
    pipeline->first = (struct gnn_err){0};
    pipeline->running = false;
    atomic_store(&pipeline->stopping, false);
    gnn_mutex_unlock(pipeline->world, pipeline->mutex);
    return first;
}

enum gnn_status gnn_pipeline_run(struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    assert(!pipeline->running);
    assert(pipeline->stage_count > 0);
    clear_workers(pipeline);
    gnn_mutex_lock(pipeline->world, pipeline->mutex);
    pipeline->running = true;
    gnn_mutex_unlock(pipeline->world, pipeline->mutex);
    start_workers(pipeline);
    join_workers(pipeline);
    const struct gnn_err first = take_first_error(pipeline);
    if (first.status != GNN_OK && err != NULL && err->status == GNN_OK)
        *err = first; /* with the file and line of the cause */
    return first.status;
}

uint32_t gnn_pipeline_times(const struct gnn_pipeline *pipeline, struct gnn_stage_time *out, uint32_t max)
{
    assert(!pipeline->running);
    const uint32_t count = gnn_min_u32(pipeline->stage_count, max);
    for (uint32_t s = 0; s < count; s++) {
        const struct stage *const stage = &pipeline->stages[s];
        struct gnn_stage_time *const time = &out[s];
        *time = (struct gnn_stage_time){.workers = stage->workers};
        memcpy(time->stage, stage->name, sizeof time->stage);
        uint64_t waits_ns = 0;
        for (uint32_t w = 0; w < stage->workers; w++) {
            const struct slot *const slot = &stage->slots[w];
            time->items += slot->worker.items;
            time->wall_ns += slot->split.wall_ns;
            time->cpu_ns += slot->split.cpu_ns;
            time->queued_ns = gnn_add_bytes(time->queued_ns, slot->split.queued_ns);
            for (int kind = 0; kind < GNN_WAIT_KINDS; kind++) {
                time->wait_ns[kind] += slot->split.wait_ns[kind];
                waits_ns += slot->split.wait_ns[kind];
            }
        }
        /* If waits exceed the wall time (double counting), work is 0 and the sum check of the run's validity fails. */
        time->work_ns = time->wall_ns > waits_ns ? time->wall_ns - waits_ns : 0;
    }
    return count;
}

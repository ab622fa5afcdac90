/* SPDX-License-Identifier: MIT */
#include "harness/pipeline/team.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>

struct job {
    gnn_part_fn *fn;
    void *ctx;
};

struct task_list {
    struct gnn_task *head, **tail;
};

/* One worker's share of gnn_team_each. */
struct loop {
    struct gnn_task task; /* first: a task is cast to its loop */
    struct gnn_team *team;
};

struct gnn_team {
    struct gnn_world *world;
    uint32_t workers;
    struct loop *loops; /* (workers) */
    atomic_uint_fast64_t loop_next;
    uint64_t loop_end;
    gnn_each_fn *each;
    void *each_ctx;

    struct gnn_mutex *mutex;
    struct gnn_cond *posted, *returned;
    /* under the mutex */
    struct job job;
    uint64_t job_number; /* of the last posted job; 0 = none yet */
    uint32_t working;    /* workers that have not finished their part of it */
    struct task_list given, finished;
    uint32_t asleep; /* workers that wait for work */
    bool waking;     /* one of them was woken and has not looked yet */
    bool done, cancelled;
};

/* ---- lists ---- */

static void list_clear(struct task_list *list)
{
    list->head = NULL;
    list->tail = &list->head;
}

static void list_append(struct task_list *list, struct gnn_task *task)
{
    task->next = NULL;
    *list->tail = task;
    list->tail = &task->next;
}

/* Removes the oldest; NULL when there is none. */
static struct gnn_task *list_remove(struct task_list *list)
{
    struct gnn_task *task = list->head;
    if (task == NULL)
        return NULL;
    list->head = task->next;
    if (list->head == NULL)
        list->tail = &list->head;
    return task;
}

/* ---- life ---- */

static enum gnn_status run_loop(struct gnn_task *task, uint32_t worker, struct gnn_err *err)
{
    struct gnn_team *team = ((struct loop *)task)->team;
    for (;;) {
        const uint64_t i = atomic_fetch_add(&team->loop_next, 1);
        if (i >= team->loop_end)
            return GNN_OK;
        GNN_TRY(team->each(team->each_ctx, worker, i, err));
    }
}

enum gnn_status gnn_team_open(struct gnn_world *world, uint32_t workers, struct gnn_team **out, struct gnn_err *err)
{
    assert(workers > 0);
    assert(workers <= GNN_WORKERS_MAX);
    struct gnn_team *team;
    GNN_NEW(team, 1, err, "team of %" PRIu32 " workers", workers);
    *out = team;
    team->world = world;
    team->workers = workers;
    GNN_NEW(team->loops, workers, err, "team of %" PRIu32 " workers", workers);
    for (uint32_t w = 0; w < workers; w++)
        team->loops[w] = (struct loop){.task = {.run = run_loop}, .team = team};
    GNN_TRY(gnn_mutex_open(world, &team->mutex, err));
    GNN_TRY(gnn_cond_open(world, &team->posted, err));
    return gnn_cond_open(world, &team->returned, err);
}

void gnn_team_close(struct gnn_team *team)
{
    if (team == NULL)
        return;
    gnn_cond_close(team->world, team->returned);
    gnn_cond_close(team->world, team->posted);
    gnn_mutex_close(team->world, team->mutex);
    free(team->loops);
    free(team);
}

static void set_flag(struct gnn_team *team, bool *flag)
{
    gnn_mutex_lock(team->world, team->mutex);
    *flag = true;
    gnn_cond_broadcast(team->world, team->posted);
    gnn_cond_broadcast(team->world, team->returned);
    gnn_mutex_unlock(team->world, team->mutex);
}

void gnn_team_done(struct gnn_team *team)
{
    set_flag(team, &team->done);
}

static void cancel(void *target)
{
    struct gnn_team *team = target;
    set_flag(team, &team->cancelled);
}

/* Wakes one worker for what was given, unless one is on its way already: that one wakes the next if there is more than
 * it takes. So whoever gives tasks pays for one wake-up of a burst, and small tasks wake no crowd. */
static void wake_one(struct gnn_team *team)
{
    if (team->given.head == NULL || team->asleep == 0 || team->waking)
        return;
    team->waking = true;
    gnn_cond_signal(team->world, team->posted);
}

/* ---- the driver ---- */

void gnn_team_post(struct gnn_team *team, gnn_part_fn *fn, void *ctx)
{
    gnn_mutex_lock(team->world, team->mutex);
    assert(team->working == 0);
    assert(!team->done);
    team->job = (struct job){fn, ctx};
    team->job_number++;
    team->working = team->workers;
    gnn_cond_broadcast(team->world, team->posted);
    gnn_mutex_unlock(team->world, team->mutex);
}

enum gnn_status gnn_team_wait(struct gnn_team *team)
{
    gnn_mutex_lock(team->world, team->mutex);
    while (team->working > 0 && !team->cancelled)
        (void)gnn_cond_wait(team->world, team->returned, team->mutex, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
    const bool cancelled = team->cancelled;
    gnn_mutex_unlock(team->world, team->mutex);
    return cancelled ? GNN_ECANCELLED : GNN_OK;
}

void gnn_team_give(struct gnn_team *team, struct gnn_task *task)
{
    assert(task->run != NULL);
    gnn_mutex_lock(team->world, team->mutex);
    assert(!team->done);
    list_append(&team->given, task);
    wake_one(team);
    gnn_mutex_unlock(team->world, team->mutex);
}

enum gnn_status gnn_team_take(struct gnn_team *team, bool wait, struct gnn_task **task)
{
    gnn_mutex_lock(team->world, team->mutex);
    while (wait && team->finished.head == NULL && !team->cancelled)
        (void)gnn_cond_wait(team->world, team->returned, team->mutex, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
    const bool cancelled = team->cancelled;
    *task = cancelled ? NULL : list_remove(&team->finished);
    gnn_mutex_unlock(team->world, team->mutex);
    return cancelled ? GNN_ECANCELLED : GNN_OK;
}

enum gnn_status gnn_team_each(struct gnn_team *team, uint64_t count, gnn_each_fn *each, void *ctx)
{
    atomic_store(&team->loop_next, 0);
    team->loop_end = count;
    team->each = each;
    team->each_ctx = ctx;
    const uint32_t used = (uint32_t)gnn_min_u64(count, team->workers);
    for (uint32_t w = 0; w < used; w++)
        gnn_team_give(team, &team->loops[w].task);
    for (uint32_t w = 0; w < used; w++) {
        struct gnn_task *task;
        GNN_TRY(gnn_team_take(team, true, &task));
        assert(task != NULL);
    }
    return GNN_OK;
}

/* ---- a worker ---- */

/* Sleeps until the job after `jobs_done` is posted, a task is given, or no more will come: then both are empty. */
static enum gnn_status next_work(struct gnn_team *team, uint64_t jobs_done, struct job *job, struct gnn_task **task)
{
    gnn_mutex_lock(team->world, team->mutex);
    while (team->job_number <= jobs_done && team->given.head == NULL && !team->done && !team->cancelled) {
        team->asleep++;
        (void)gnn_cond_wait(team->world, team->posted, team->mutex, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
        team->asleep--;
        team->waking = false;
    }
    const bool cancelled = team->cancelled, posted = team->job_number > jobs_done;
    *job = posted ? team->job : (struct job){NULL, NULL};
    *task = posted || cancelled ? NULL : list_remove(&team->given);
    wake_one(team);
    gnn_mutex_unlock(team->world, team->mutex);
    return cancelled ? GNN_ECANCELLED : GNN_OK;
}

/* Gives a task back, or tells that a part of the job (task NULL) is done. */
static void work_done(struct gnn_team *team, struct gnn_task *task)
{
    gnn_mutex_lock(team->world, team->mutex);
    assert(task != NULL || team->working > 0);
    if (task != NULL)
        list_append(&team->finished, task);
    if (task != NULL || --team->working == 0)
        gnn_cond_broadcast(team->world, team->returned); /* only the driver sleeps there */
    gnn_mutex_unlock(team->world, team->mutex);
}

static enum gnn_status work_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct gnn_team *team = ctx;
    assert(worker->index < team->workers);
    for (uint64_t jobs_done = 0;;) {
        struct job job;
        struct gnn_task *task;
        GNN_TRY(next_work(team, jobs_done, &job, &task));
        if (job.fn != NULL) {
            GNN_TRY(job.fn(job.ctx, worker->index, team->workers, err));
            work_done(team, NULL);
            jobs_done++;
            worker->items += worker->index == 0;
        } else if (task != NULL) {
            GNN_TRY(task->run(task, worker->index, err));
            work_done(team, task);
            worker->items++;
        } else {
            return GNN_OK;
        }
    }
}

enum gnn_status gnn_team_stage(struct gnn_team *team, struct gnn_pipeline *pipeline, const char *name,
                               struct gnn_err *err)
{
    gnn_mutex_lock(team->world, team->mutex);
    team->job_number = 0;
    team->working = 0;
    list_clear(&team->given);
    list_clear(&team->finished);
    team->done = team->cancelled = false;
    gnn_mutex_unlock(team->world, team->mutex);
    GNN_TRY(gnn_pipeline_on_cancel(pipeline, cancel, team, err));
    return gnn_pipeline_stage(pipeline, name, team->workers, work_stage, team, err);
}

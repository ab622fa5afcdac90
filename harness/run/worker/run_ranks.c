/* SPDX-License-Identifier: MIT */
#include "harness/run/worker/run_ranks.h"

#include "harness/run/worker/evaluate.h"
#include "harness/run/worker/evaluate_links.h"
#include "harness/run/worker/rank_processes.h"

#include <assert.h>
#include <unistd.h>

/* What the ranks share besides the worker's machine and dataset. */
struct shared {
    struct gnn_run_worker *w;
    gnn_run_rank_fn *run;
    struct gnn_ranks *ranks;
    struct gnn_average_memory *average; /* NULL when sample_only */
    void *system;
};

/* ---- opened once ---- */

/* Reals of the gradients that pass through shared memory. */
static uint64_t shared_reals(const struct gnn_run_worker *w)
{
    const bool none = w->workload.sample_only || w->workload.workers == 1 || gnn_machine_all_reduce(w->machine) != NULL;
    return none ? 0 : gnn_model_gradient_count(&w->model_config);
}

enum gnn_status gnn_run_plan_fill(struct gnn_run_worker *w, struct gnn_err *err)
{
    if (w->config->evaluate == GNN_EVALUATE_EACH && w->config->epochs > 1 && !w->workload.sample_only &&
        !gnn_compute_is_modelled(w->config))
        w->env.evaluation_bytes = w->workload.task == GNN_TASK_LINK
                                      ? gnn_evaluate_links_bytes(&w->env, w->config->candidates)
                                      : gnn_evaluate_bytes(&w->env);
    gnn_plan_begin(&w->plan, &w->env);
    if (shared_reals(w) > 0)
        gnn_plan_shared(&w->plan, "gradients of the workers", "--hidden",
                        gnn_average_memory_bytes(w->workload.workers, shared_reals(w)));
    return w->system->plan != NULL ? w->system->plan(&w->env, w->system_config, &w->plan, err) : GNN_OK;
}

enum gnn_status gnn_run_plan(struct gnn_run_worker *w, struct gnn_err *err)
{
    GNN_TRY(gnn_run_plan_fill(w, err));
    return gnn_plan_check(&w->plan, "", err);
}

static enum gnn_status open_shared(struct shared *s, struct gnn_err *err)
{
    struct gnn_run_worker *const w = s->w;
    GNN_TRY(gnn_ranks_open(w->world, w->workload.workers, sizeof(struct gnn_rank_report), &s->ranks, err));
    GNN_TRY(gnn_run_plan(w, err));
    if (!w->workload.sample_only)
        GNN_TRY(gnn_average_memory_open(w->world, s->ranks, shared_reals(w), &s->average, err));
    w->env.ranks = s->ranks;
    assert(w->system->open_shared != NULL);
    GNN_TRY(w->system->open_shared(&w->env, w->system_config, &s->system, err));
    w->env.shared = s->system;
    return GNN_OK;
}

static void close_shared(struct shared *s)
{
    if (s->system != NULL)
        s->w->system->close_shared(s->system);
    gnn_average_memory_close(s->average);
    gnn_ranks_close(s->ranks);
}

/* ---- a rank ---- */

/* Makes w the rank of that number; its average needs the rank's tensor, which open_rank opens. */
static void become(const struct shared *s, struct gnn_run_worker *w, uint32_t rank)
{
    w->env.rank = rank;
    w->env.workload = &w->workload;
    w->env.model_config = &w->model_config;
    w->env.on_step_ctx = w;
    w->model_config.rank = rank;
    if (s->average != NULL)
        w->env.average = &w->average;
    const struct gnn_average_config config = {.memory = s->average,
                                              .rank = rank,
                                              .all_reduce = gnn_machine_all_reduce(w->machine),
                                              .all_reduce_ctx = w->machine};
    if (s->average != NULL)
        gnn_average_init(&w->average, &config);
}

/* The first failure of any rank says more than what became of rank 0. */
static enum gnn_status outcome(const struct shared *s, enum gnn_status status, struct gnn_err *err)
{
    uint32_t rank;
    const struct gnn_err *const first = gnn_ranks_failure(s->ranks, &rank);
    if (first == NULL)
        return status;
    struct gnn_err whole = {0};
    status = gnn_fail(&whole, first->status, "worker %u of %u: %s", rank, s->w->workload.workers, first->message);
    *err = whole;
    return status;
}

/* ---- as processes ---- */

/* Ends a process that was forked for a rank: what the parent opened is the parent's to close. */
static _Noreturn void leave(const struct shared *s, uint32_t rank, enum gnn_status status)
{
    gnn_ranks_leave(s->ranks, rank);
    _exit(status == GNN_OK ? 0 : 1);
}

static enum gnn_status run_processes(struct shared *s, struct gnn_err *err)
{
    struct gnn_run_worker *const w = s->w;
    struct gnn_rank_processes processes;
    uint32_t rank;
    enum gnn_status status = gnn_rank_processes_start(&processes, s->ranks, &rank, err);
    gnn_machine_forked(w->machine);
    w->control->stop = gnn_ranks_stop(s->ranks);
    w->env.stop = w->control->stop;
    become(s, w, rank);
    if (rank > 0) {
        w->own_process = true;
        gnn_machine_read_times(w->machine, &w->reads); /* what the process read that this one was forked from */
        leave(s, rank, s->run(w, err));
    }
    GNN_NEXT(status, gnn_control_open(w->control, gnn_ranks_stop(s->ranks), err));
    GNN_NEXT(status, s->run(w, err));
    if (status != GNN_OK)
        gnn_ranks_cancel(s->ranks, 0, err);
    gnn_rank_processes_join(&processes);
    return status;
}

/* ---- as threads ---- */

struct rank_thread {
    const struct shared *shared;
    struct gnn_run_worker w;
    struct gnn_thread *thread;
    struct gnn_err err;
};

static void rank_thread(void *arg)
{
    struct rank_thread *const t = arg;
    (void)!t->shared->run(&t->w, &t->err); /* kept by the group of ranks */
}

static enum gnn_status run_threads(struct shared *s, struct gnn_err *err)
{
    struct gnn_run_worker *const w = s->w;
    const uint32_t count = w->workload.workers;
    struct rank_thread *threads;
    GNN_NEW(threads, count, err, "%u workers", count);
    enum gnn_status status = GNN_OK;
    become(s, w, 0);
    if (!w->workload.sample_only)
        status = gnn_machine_tensor(w->machine, 0, &w->env.tensor, err);
    for (uint32_t rank = 1; rank < count && status == GNN_OK; rank++) {
        threads[rank] = (struct rank_thread){.shared = s, .w = *w};
        threads[rank].w.step_ns = NULL; /* rank 0's steps are everybody's */
        become(s, &threads[rank].w, rank);
        if (!w->workload.sample_only) /* in the order of the ranks, as gnn_machine_tensor asks for */
            status = gnn_machine_tensor(w->machine, rank, &threads[rank].w.env.tensor, err);
        GNN_NEXT(status, gnn_thread_start(w->world, "worker", rank_thread, &threads[rank], &threads[rank].thread, err));
    }
    GNN_NEXT(status, s->run(w, err));
    if (status != GNN_OK)
        gnn_ranks_cancel(s->ranks, 0, err);
    for (uint32_t rank = 1; rank < count; rank++) {
        gnn_thread_join(w->world, threads[rank].thread);
        w->time_passed = w->time_passed || threads[rank].w.time_passed;
    }
    free(threads);
    return status;
}

enum gnn_status gnn_run_ranks(struct gnn_run_worker *w, gnn_run_rank_fn *run, struct gnn_err *err)
{
    struct shared s = {.w = w, .run = run};
    enum gnn_status status = open_shared(&s, err);
    if (status == GNN_OK)
        status = gnn_machine_ranks_are_processes(w->machine) ? run_processes(&s, err) : run_threads(&s, err);
    status = outcome(&s, status, err);
    close_shared(&s);
    return status;
}

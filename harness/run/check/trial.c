/* SPDX-License-Identifier: MIT */
#include "harness/run/check/trial.h"

#include "harness/run/machine.h"
#include "harness/system/intent.h"
#include "harness/system/plan.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct trial {
    const struct gnn_trial_setup *setup;
    struct gnn_trial_outcome *out;
    struct gnn_machine *machine;
    struct gnn_world *faulty; /* NULL without faults */
    struct gnn_watch watch;
    const struct gnn_dataset *dataset;
    float *features; /* (node_count, dim) of the file; NULL where there are no values */
    struct gnn_workload workload;
    struct gnn_model_config model_config;
    struct gnn_env env;
    struct gnn_tensor *tensor;
    const struct gnn_tensor_ops *real_ops;
    struct gnn_tensor_ops ops; /* the back-end's, with the first reduction watched */
    const gnn_real *input;     /* of the step in progress */
    void *config, *state;
    atomic_bool stop;
    struct gnn_trial_epoch *epoch; /* that is running */
    uint32_t *seen;                /* (node_count) times a node was a seed in this epoch */
    struct gnn_err err;
};

/* ---- what is watched ---- */

static struct trial *trial_of(struct gnn_tensor *t)
{
    return (struct trial *)((char *)(uintptr_t)t->ops - offsetof(struct trial, ops));
}

/* The op that reads the input first in GraphSAGE's layer 0. */
static void watched_reduce(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat out, const struct gnn_block *b,
                           struct gnn_mat x, uint32_t *argmax)
{
    struct trial *const trial = trial_of(t);
    if (trial->input == NULL)
        trial->input = x.data;
    trial->real_ops->segment_reduce(t, kind, out, b, x, argmax);
}

static void compare_rows(struct trial *t, const struct gnn_batch_view *batch)
{
    const uint32_t dim = t->dataset->dim;
    for (uint32_t i = 0; i < batch->node_count; i++) {
        const float *const stored = t->features + (size_t)batch->nodes[i] * dim;
        const gnn_real *const given = t->input + (size_t)i * dim;
        for (uint32_t c = 0; c < dim; c++) {
            if (given[c] == stored[c])
                continue;
            if (t->epoch->wrong_values++ == 0) {
                t->epoch->wrong_batch = batch->batch;
                t->epoch->wrong_node = batch->nodes[i];
            }
        }
    }
}

static void on_step(void *ctx, const struct gnn_batch_view *batch, const struct gnn_step_result *step)
{
    struct trial *const t = ctx;
    struct gnn_trial_epoch *const e = t->epoch;
    if (t->features != NULL && t->input != NULL)
        compare_rows(t, batch);
    t->input = NULL;
    for (uint32_t i = 0; i < batch->seed_count; i++)
        if (batch->nodes[i] < t->dataset->node_count)
            t->seen[batch->nodes[i]]++;
    e->trained_digest += gnn_batch_digest(batch, NULL);
    e->nodes += batch->node_count;
    if (e->steps < GNN_TRIAL_STEPS_MAX) {
        e->batch_of[e->steps] = batch->batch;
        e->loss[e->steps] = step->loss;
    }
    e->steps++;
    if (t->setup->stop_after > 0 && e->steps == t->setup->stop_after && e != &t->out->again)
        atomic_store(&t->stop, true);
}

/* ---- opening ---- */

static void on_deadlock(void *ctx, const char *report)
{
    (void)ctx;
    (void)fprintf(stderr, "deadlock: %s\n", report);
    _exit(3);
}

static void fill_env(struct trial *t)
{
    const struct gnn_run_config *const c = t->setup->config;
    t->workload = (struct gnn_workload){.seed = c->seed,
                                        .batch_size = c->batch_size,
                                        .layers = c->fanout.count,
                                        .epochs = GNN_TRIAL_EPOCHS,
                                        .workers = 1,
                                        .segments = 1};
    memcpy(t->workload.fanout, c->fanout.values, sizeof t->workload.fanout);
    t->model_config = (struct gnn_model_config){.kind = c->model,
                                                .layers = c->fanout.count,
                                                .in_dim = t->dataset->dim,
                                                .hidden = c->hidden,
                                                .heads = c->heads,
                                                .classes = t->dataset->class_count,
                                                .dropout = c->dropout,
                                                .lr = c->lr,
                                                .seed = c->seed};
    t->env = (struct gnn_env){.world = &t->watch.base,
                              .dataset = t->dataset,
                              .workload = &t->workload,
                              .tensor = t->tensor,
                              .model_config = &t->model_config,
                              .io_engine = c->io_engine,
                              .storage = gnn_machine_storage(t->machine),
                              .cpu = gnn_machine_cpu(t->machine),
                              .cores = gnn_max_u32(gnn_machine_cores(t->machine), 1),
                              .cap_bytes = c->memory_bytes,
                              .stop = &t->stop,
                              .on_step = on_step,
                              .on_step_ctx = t,
                              .on_device = gnn_machine_on_device(t->machine)};
}

/* Reads the whole file: the truth that inputs are compared with. */
static enum gnn_status read_features(struct trial *t)
{
    const size_t values = (size_t)t->dataset->node_count * t->dataset->dim;
    if (gnn_compute_is_modelled(t->setup->config))
        return GNN_OK; /* no values */
    GNN_NEW(t->features, values, &t->err, "features of the check");
    FILE *const file = fopen(t->dataset->features_path, "rb");
    const size_t got = file == NULL ? 0 : fread(t->features, sizeof *t->features, values, file);
    if (file != NULL)
        (void)fclose(file);
    return got == values ? GNN_OK : gnn_fail(&t->err, GNN_EIO, "%s: cannot be read", t->dataset->features_path);
}

static enum gnn_status open_worlds(struct trial *t)
{
    static const struct gnn_fault_plan none = {.seed = 0};
    GNN_TRY(gnn_machine_open(t->setup->config, on_deadlock, &t->machine, &t->err));
    GNN_TRY(gnn_machine_dataset(t->machine, &t->dataset, &t->err));
    GNN_TRY(gnn_machine_tensor(t->machine, 0, &t->tensor, &t->err));
    struct gnn_world *world = gnn_machine_world(t->machine);
    if (memcmp(&t->setup->faults, &none, sizeof none) != 0) {
        GNN_TRY(gnn_world_faulty_open(world, &t->setup->faults, &t->faulty, &t->err));
        world = t->faulty;
    }
    gnn_watch_init(&t->watch, world);
    t->real_ops = t->tensor->ops;
    t->ops = *t->real_ops;
    t->ops.segment_reduce = watched_reduce;
    t->tensor->ops = &t->ops;
    fill_env(t);
    GNN_NEW(t->seen, t->dataset->node_count, &t->err, "seeds of the check");
    return read_features(t);
}

static enum gnn_status plan(struct trial *t)
{
    struct gnn_memory_plan plan;
    gnn_plan_begin(&plan, &t->env);
    if (t->setup->system->plan == NULL)
        return GNN_OK;
    GNN_TRY(t->setup->system->plan(&t->env, t->config, &plan, &t->err));
    t->out->has_plan = true;
    t->out->plan_is_advisory = plan.advisory;
    t->out->plan_bytes = gnn_plan_bytes(&plan);
    return gnn_plan_check(&plan, "", &t->err);
}

static enum gnn_status open_system(struct trial *t)
{
    const struct gnn_system *const system = t->setup->system;
    struct gnn_intent intent;
    if (system->complete != NULL)
        system->complete(&t->env, t->config);
    GNN_TRY(plan(t));
    GNN_TRY(gnn_model_open(t->tensor, &t->model_config, &t->env.model, &t->err));
    GNN_TRY(system->open(&t->env, t->config, &t->state, &t->err));
    gnn_intent_begin(&t->env, &intent);
    if (system->intend != NULL)
        system->intend(t->state, &intent);
    t->out->batches_intended = intent.batches;
    t->out->seeds_intended = intent.seeds;
    return GNN_OK;
}

/* ---- epochs ---- */

static void note_error(struct trial *t)
{
    if (t->out->message[0] == '\0')
        (void)snprintf(t->out->message, sizeof t->out->message, "%.*s", GNN_TRIAL_TEXT - 1, t->err.message);
}

static void run_epoch(struct trial *t, uint64_t number, struct gnn_trial_epoch *e)
{
    struct gnn_epoch_result *const result = calloc(1, sizeof *result);
    const struct gnn_split *const train = &t->dataset->train;
    *e = (struct gnn_trial_epoch){.status = GNN_ENOMEM};
    if (result == NULL)
        return;
    t->epoch = e;
    t->input = NULL;
    t->err = (struct gnn_err){.status = GNN_OK};
    memset(t->seen, 0, t->dataset->node_count * sizeof *t->seen);
    e->status = t->setup->system->train_epoch(t->state, number, result, &t->err);
    note_error(t);
    e->sampled_digest = result->counters.sample.batch_digest;
    e->batches = result->counters.sample.batches;
    e->rows_asked = result->counters.rows_asked;
    e->seeds = result->seeds;
    e->loss_sum = result->loss_sum;
    for (uint32_t i = 0; i < train->count; i++) {
        e->seeds_missed += t->seen[train->nodes[i]] == 0 ? 1 : 0;
        e->seeds_repeated += t->seen[train->nodes[i]] > 1 ? 1 : 0;
    }
    free(result);
}

static void run_epochs(struct trial *t)
{
    for (uint32_t e = 0; e < GNN_TRIAL_EPOCHS; e++) {
        run_epoch(t, e, &t->out->epoch[e]);
        if (t->out->epoch[e].status == GNN_OK)
            continue;
        atomic_store(&t->stop, false);
        if (t->setup->repeats)
            run_epoch(t, e, &t->out->again);
        return;
    }
}

/* ---- closing ---- */

static void close_all(struct trial *t)
{
    struct gnn_mem_usage usage = {0};
    if (t->watch.inner != NULL)
        gnn_mem_usage(t->watch.inner, &usage);
    t->out->peak_bytes = usage.peak_bytes;
    if (t->state != NULL)
        t->setup->system->close(t->state);
    for (int kind = 0; kind < GNN_WATCHED; kind++)
        t->out->left[kind] = atomic_load(&t->watch.open[kind]);
    t->out->written_bytes = atomic_load(&t->watch.written_bytes);
    if (t->faulty != NULL)
        gnn_world_faulty_counts(t->faulty, &t->out->faults);
    if (t->machine != NULL)
        t->out->clock_ns = gnn_now_ns(gnn_machine_world(t->machine));
    for (int kind = 0; kind < GNN_WATCHED; kind++)
        if (t->out->left[kind] != 0)
            return; /* the world asserts that all of it is closed; the process ends now */
    gnn_model_close(t->env.model);
    if (t->tensor != NULL && t->real_ops != NULL)
        t->tensor->ops = t->real_ops;
    gnn_world_faulty_close(t->faulty);
    gnn_machine_close(t->machine);
    free(t->features);
    free(t->seen);
    free(t->config);
}

static uint32_t open_descriptors(void)
{
    uint32_t count = 0;
    DIR *const all = opendir("/proc/self/fd");
    while (all != NULL && readdir(all) != NULL)
        count++;
    if (all != NULL)
        (void)closedir(all);
    return count;
}

void gnn_trial_here(const struct gnn_trial_setup *setup, struct gnn_trial_outcome *out)
{
    struct trial *const t = calloc(1, sizeof *t);
    const uint32_t before = open_descriptors();
    *out = (struct gnn_trial_outcome){.opened = GNN_ENOMEM};
    if (t == NULL)
        return;
    t->setup = setup;
    t->out = out;
    out->has_values = !gnn_compute_is_modelled(setup->config);
    out->opened = gnn_system_configure(setup->system, setup->config, &t->config, &t->err);
    GNN_NEXT(out->opened, open_worlds(t));
    GNN_NEXT(out->opened, open_system(t));
    note_error(t);
    if (out->opened == GNN_OK)
        run_epochs(t);
    close_all(t);
    const uint32_t after = open_descriptors();
    out->left_descriptors = after > before ? after - before : 0;
    out->ended = true;
    free(t);
}

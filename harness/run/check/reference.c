/* SPDX-License-Identifier: MIT */
/* The reference of the checks: one thread, one mini-batch at a time, exact reads of single rows. */
#include "harness/run/check/trial.h"
#include "harness/storage/exact.h"
#include "harness/system/plan.h"
#include "harness/system/training.h"

#include <stdlib.h>

static const struct gnn_option options[] = {{.name = NULL}};

struct reference {
    const struct gnn_env *env;
    struct gnn_sampling *sampling;
    struct gnn_batch *batch;
    struct gnn_file *features;
    struct gnn_training training;
    struct gnn_train_input input;
};

static enum gnn_status reference_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    const struct gnn_sampling_config sampling = {.workers = 1};
    struct reference *r;
    (void)config;
    GNN_NEW(r, 1, err, "reference");
    *state = r;
    r->env = env;
    GNN_TRY(gnn_sampling_open(env, &sampling, &r->sampling, err));
    GNN_TRY(gnn_batch_open(env->world, &r->batch, err));
    GNN_TRY(gnn_dataset_file_open(env, GNN_DATASET_FEATURES, 0, &r->features, NULL, err));
    gnn_training_open(env, &r->training);
    return gnn_train_input_open(env, "reference rows", GNN_TRANSFER_BLOCKING, &r->input, err);
}

static void reference_close(void *state)
{
    struct reference *const r = state;
    if (r == NULL)
        return;
    gnn_train_input_close(&r->input);
    gnn_training_close(&r->training);
    gnn_file_close(r->env->world, r->features);
    gnn_batch_close(r->env->world, r->batch);
    gnn_sampling_close(r->sampling);
    free(r);
}

static enum gnn_status train_one(struct reference *r, uint32_t k, struct gnn_err *err)
{
    const uint32_t row_bytes = r->env->dataset->row_bytes;
    GNN_TRY(gnn_sampling_draw(r->sampling, 0, k, r->batch, err));
    const struct gnn_batch_view *const view = gnn_batch_view(r->batch);
    GNN_TRY(gnn_train_input_reserve(&r->input, view->node_count, err));
    for (uint32_t i = 0; i < view->node_count; i++)
        GNN_TRY(gnn_read_all(r->env->world, r->features, (uint64_t)view->nodes[i] * row_bytes,
                             (char *)r->input.rows.data + (uint64_t)i * row_bytes, row_bytes, err));
    return gnn_training_step(&r->training, view, &r->input, err);
}

static enum gnn_status reference_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out,
                                             struct gnn_err *err)
{
    struct reference *const r = state;
    gnn_sampling_begin(r->sampling, epoch);
    gnn_training_begin(&r->training);
    for (uint32_t k = 0; k < gnn_sampling_batches(r->sampling); k++)
        GNN_TRY(train_one(r, k, err));
    gnn_training_result(&r->training, out);
    gnn_sampling_counters(r->sampling, &out->counters.sample);
    return GNN_OK;
}

const struct gnn_system gnn_check_reference = {
    .abi = GNN_SYSTEM_ABI,
    .name = "reference",
    .title = "reference of the checks",
    .variants = GNN_VARIANT_CPU,
    .options = options,
    .config_bytes = 0,
    .open = reference_open,
    .train_epoch = reference_train_epoch,
    .close = reference_close,
};

/* SPDX-License-Identifier: MIT */
#include "harness/system/train_input.h"

#include <assert.h>
#include <inttypes.h>

const char *const gnn_transfer_words[] = {"blocking", "ahead", NULL}; /* in the order of enum gnn_transfer */

static bool goes_ahead(const struct gnn_train_input *input)
{
    return input->transfer == GNN_TRANSFER_AHEAD && gnn_env_on_device(input->env);
}

enum gnn_status gnn_train_input_open(const struct gnn_env *env, const char *name, enum gnn_transfer transfer,
                                     struct gnn_train_input *out, struct gnn_err *err)
{
    *out = (struct gnn_train_input){.env = env, .transfer = transfer};
    const bool ahead = goes_ahead(out);
    gnn_rows_init(&out->rows, env, name,
                  !gnn_env_on_device(env) ? GNN_ROWS_TENSOR
                  : ahead                 ? GNN_ROWS_PINNED
                                          : GNN_ROWS_HOST);
    gnn_rows_init(&out->device, env, "uploaded input", GNN_ROWS_TENSOR);
    GNN_MEM_NEW(env->world, out->labels, env->workload->batch_size, "labels of a batch", GNN_MEM_PLAIN, err);
    if (!ahead)
        return GNN_OK;
    GNN_TRY(env->tensor->ops->resident_open(env->tensor, &out->room, err));
    return env->tensor->ops->event_open(env->tensor, &out->landed, err);
}

void gnn_train_input_close(struct gnn_train_input *input)
{
    if (input->env == NULL)
        return;
    struct gnn_tensor *tensor = input->env->tensor;
    if (input->landed != NULL)
        tensor->ops->event_wait(tensor, input->landed); /* before its memory goes */
    gnn_rows_close(&input->rows);
    gnn_rows_close(&input->device);
    if (goes_ahead(input)) {
        tensor->ops->resident_close(tensor, input->room);
        tensor->ops->event_close(tensor, input->landed);
    }
    if (input->labels != NULL)
        gnn_mem_free(input->env->world, input->labels);
    *input = (struct gnn_train_input){.env = NULL};
}

enum gnn_status gnn_train_input_reserve(struct gnn_train_input *input, uint64_t count, struct gnn_err *err)
{
    struct gnn_tensor *tensor = input->env->tensor;
    if (goes_ahead(input))
        tensor->ops->event_wait(tensor, input->landed); /* its rows may be on their way */
    return gnn_rows_reserve(&input->rows, count, err);
}

/* Copies the labels of the seeds. */
static enum gnn_status take_labels(struct gnn_train_input *input, const struct gnn_batch_view *batch,
                                   struct gnn_err *err)
{
    const struct gnn_dataset *d = input->env->dataset;
    assert(batch->seed_count <= input->env->workload->batch_size);
    for (uint32_t i = 0; i < batch->seed_count; i++) {
        const int32_t label = d->labels[batch->nodes[i]];
        if (label < 0)
            return gnn_fail(err, GNN_EFORMAT, "%s: training node %" PRIu32 " has no label", d->dir, batch->nodes[i]);
        input->labels[i] = label;
    }
    return GNN_OK;
}

enum gnn_status gnn_train_input_stage(struct gnn_train_input *input, uint32_t lane, const struct gnn_batch_view *batch,
                                      const uint32_t *row_numbers, struct gnn_err *err)
{
    struct gnn_tensor *tensor = input->env->tensor;
    const struct gnn_batch_lists lists = {
        .view = batch, .labels = input->labels, .rows = row_numbers, .wider_ids_bytes = input->wider_ids_bytes};
    assert(!input->in_use);
    if (!goes_ahead(input))
        return GNN_OK;
    GNN_TRY(take_labels(input, batch, err));
    tensor->ops->range(tensor, "copy");
    enum gnn_status status = tensor->ops->resident_stage(tensor, input->room, lane, &lists, err);
    if (status == GNN_OK && input->rows.data != NULL) {
        assert(input->rows.capacity >= batch->node_count);
        status = gnn_rows_reserve(&input->device, batch->node_count, err);
        if (status == GNN_OK)
            tensor->ops->upload_async(tensor, lane, input->device.data, input->rows.data,
                                      (uint64_t)batch->node_count * input->env->dataset->row_bytes);
    }
    tensor->ops->event_record(tensor, input->landed, lane);
    tensor->ops->range(tensor, NULL);
    input->staged = status == GNN_OK;
    input->epoch = batch->epoch;
    input->batch = batch->batch;
    return status;
}

/* Copies the rows now, out of pageable memory, where ops read others than the host's. */
static enum gnn_status upload(struct gnn_train_input *input, uint32_t count, struct gnn_err *err)
{
    struct gnn_tensor *tensor = input->env->tensor;
    assert(input->rows.capacity >= count);
    GNN_TRY(gnn_rows_reserve(&input->device, count, err));
    tensor->ops->range(tensor, "copy");
    tensor->ops->upload(tensor, input->device.data, input->rows.data, (uint64_t)count * input->env->dataset->row_bytes);
    tensor->ops->range(tensor, NULL);
    return GNN_OK;
}

enum gnn_status gnn_train_input_use(struct gnn_train_input *input, const struct gnn_batch_view *batch,
                                    const gnn_real **x, struct gnn_err *err)
{
    struct gnn_tensor *tensor = input->env->tensor;
    const bool device = gnn_env_on_device(input->env);
    assert(!input->in_use);
    if (input->staged) { /* the batch that was staged is the batch that trains */
        assert(input->epoch == batch->epoch);
        assert(input->batch == batch->batch);
        tensor->ops->event_await(tensor, input->landed, GNN_LANE_STREAM);
        tensor->ops->resident_use(tensor, input->room);
    } else {
        GNN_TRY(take_labels(input, batch, err));
        if (device && input->rows.data != NULL)
            GNN_TRY(upload(input, batch->node_count, err));
    }
    input->in_use = true;
    *x = device ? input->device.data : input->rows.data;
    return GNN_OK;
}

void gnn_train_input_end(struct gnn_train_input *input)
{
    assert(input->in_use);
    if (input->staged)
        input->env->tensor->ops->resident_use(input->env->tensor, NULL);
    input->in_use = input->staged = false;
}

void gnn_train_input_plan(struct gnn_memory_plan *plan, enum gnn_transfer transfer, uint32_t lanes, uint32_t inputs)
{
    const struct gnn_env *env = plan->env;
    const uint32_t layers = env->workload->layers;
    if (!gnn_env_on_device(env) || env->workload->sample_only)
        return;
    const uint64_t lists = gnn_batch_bytes(&plan->largest, layers), rows = gnn_plan_rows_bytes(plan);
    gnn_plan_device(plan, "inputs of mini-batches", "--batch or --fanout",
                    gnn_mul_bytes(transfer == GNN_TRANSFER_AHEAD ? inputs : 1, gnn_add_bytes(rows, lists)));
    if (transfer == GNN_TRANSFER_AHEAD) /* two halves a lane */
        gnn_plan_in_flight(plan, "staging of mini-batches' lists", "--batch or --fanout",
                           gnn_mul_bytes(lists, UINT64_C(2) * lanes));
}

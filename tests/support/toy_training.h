/* SPDX-License-Identifier: MIT */
/* What a model has learnt after a few steps on a toy batch, for tests that train it in two ways and compare. Header
 * only; needs toy_block.h's memory. */
#ifndef GNN_TESTS_TOY_TRAINING_H
#define GNN_TESTS_TOY_TRAINING_H

#include "harness/model/model.h"
#include "tests/support/toy_block.h"

enum { TOY_STEPS = 3 };

struct toy_data {
    struct gnn_batch_view batch;
    gnn_real *x;
    int32_t *labels;
};

/* Random rows and labels of a random batch. */
static inline struct toy_data toy_data_open(uint64_t seed, const struct gnn_model_config *config, uint32_t seeds,
                                            uint32_t growth)
{
    struct gnn_rng rng = gnn_rng_at(seed);
    struct toy_data data = {.batch = toy_batch(&rng, config->layers, seeds, growth, (struct toy_degree){0, 10})};
    data.x = toy_reals(&rng, (uint64_t)data.batch.node_count * config->in_dim, -1, 1);
    data.labels = toy_labels(&rng, seeds, config->classes);
    return data;
}

static inline void toy_data_close(struct toy_data *data)
{
    toy_batch_free(&data->batch);
    free(data->x);
    free(data->labels);
}

/* The losses of the steps, the gradients of the first and the values after the last, parameter after parameter. */
struct toy_outcome {
    double loss[TOY_STEPS];
    uint64_t count;
    gnn_real *gradient, *value;
    uint64_t peak_bytes;
};

static inline void toy_copy_params(const struct gnn_model *model, bool gradients, gnn_real *out)
{
    for (uint32_t p = 0; p < gnn_model_param_count(model); p++) {
        const struct gnn_param param = gnn_model_param(model, p);
        const uint64_t count = (uint64_t)param.rows * param.cols;
        memcpy(out, gradients ? param.grad : param.value, count * sizeof *out);
        out += count;
    }
}

/* Takes the steps; the caller frees the outcome whatever the status: GNN_ENOMEM where memory was refused. */
static inline enum gnn_status toy_train(struct gnn_model *model, struct toy_data *data, struct toy_outcome *out)
{
    *out = (struct toy_outcome){.count = 0};
    for (uint32_t p = 0; p < gnn_model_param_count(model); p++)
        out->count += (uint64_t)gnn_model_param(model, p).rows * gnn_model_param(model, p).cols;
    out->gradient = calloc(out->count + 1, sizeof *out->gradient);
    out->value = calloc(out->count + 1, sizeof *out->value);
    assert(out->gradient != NULL && out->value != NULL);
    for (uint32_t s = 0; s < TOY_STEPS; s++) {
        struct gnn_step_result result;
        data->batch.batch = s;
        const enum gnn_status status = gnn_model_train(model, &data->batch, data->x, data->labels, &result, NULL);
        if (status != GNN_OK)
            return status;
        assert(result.finite);
        out->loss[s] = result.loss;
        if (s == 0)
            toy_copy_params(model, true, out->gradient);
    }
    toy_copy_params(model, false, out->value);
    return GNN_OK;
}

static inline void toy_outcome_free(struct toy_outcome *out)
{
    free(out->gradient);
    free(out->value);
}

static inline bool toy_same_bits(const struct toy_outcome *a, const struct toy_outcome *b)
{
    const uint64_t bytes = a->count * sizeof *a->value;
    return memcmp(a->loss, b->loss, sizeof a->loss) == 0 && memcmp(a->gradient, b->gradient, bytes) == 0 &&
           memcmp(a->value, b->value, bytes) == 0;
}

#endif

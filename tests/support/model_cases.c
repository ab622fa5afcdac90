/* SPDX-License-Identifier: MIT */
#include "tests/support/model_cases.h"

#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { STEPS = 6, BATCHES = 3, SEEDS = 24 };

struct gnn_model_config toy_model_config(enum gnn_model_kind kind)
{
    return (struct gnn_model_config){.kind = kind,
                                     .layers = 3,
                                     .in_dim = 12,
                                     .hidden = 32,
                                     .heads = 4,
                                     .classes = 7,
                                     .dropout = 0.5,
                                     .lr = 0.003,
                                     .gat_width_total = true,
                                     .seed = 5};
}

/* ---- one mini-batch on the host ---- */

struct host_batch {
    struct gnn_batch_view view;
    gnn_real *x;
    uint64_t x_bytes;
    int32_t *labels;
};

static struct host_batch draw(const struct gnn_model_config *config, uint64_t key)
{
    struct gnn_rng rng = gnn_rng_at(key);
    struct host_batch batch = {.view = toy_batch(&rng, config->layers, SEEDS, 1, (struct toy_degree){0, 4})};
    const uint64_t count = (uint64_t)batch.view.node_count * config->in_dim;
    batch.x = toy_reals(&rng, count, -1, 1);
    batch.x_bytes = count * sizeof *batch.x;
    batch.labels = toy_labels(&rng, SEEDS, config->classes);
    return batch;
}

static void drop(struct host_batch *batch)
{
    toy_batch_free(&batch->view);
    free(batch->x);
    free(batch->labels);
}

/* Its rows go up, then one step. */
static enum gnn_status step_on(struct gnn_tensor *t, struct gnn_model *model, const struct host_batch *batch,
                               struct gnn_step_result *result, struct gnn_err *err)
{
    void *input = NULL;
    enum gnn_status status = t->ops->alloc(t, "input", batch->x_bytes, &input, err);
    if (status != GNN_OK)
        return status;
    t->ops->upload(t, input, batch->x, batch->x_bytes);
    status = gnn_model_train(model, &batch->view, input, batch->labels, result, err);
    t->ops->free(t, input);
    return status;
}

/* ---- several, against the CPU ---- */

typedef uint64_t count_fn(const struct gnn_tensor *t);

/* losses (STEPS). Returns the allocations of the last step. */
static uint64_t train(const struct gnn_tensor_ops *table, enum gnn_model_kind kind, count_fn *allocations,
                      double *losses)
{
    const struct gnn_model_config config = toy_model_config(kind);
    struct toy_memory memory = {0};
    struct gnn_tensor *t = toy_tensor_open(table, &memory, 1);
    struct gnn_model *model = NULL;
    uint64_t before = 0;
    assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
    for (uint32_t step = 0; step < STEPS; step++) {
        struct host_batch batch = draw(&config, 100 + (uint64_t)(step % BATCHES));
        struct gnn_step_result result = {0};
        struct gnn_err err = {0};
        before = allocations != NULL ? allocations(t) : 0;
        if (step_on(t, model, &batch, &result, &err) != GNN_OK)
            fail_msg("%s on %s, step %u: %s", gnn_model_names[kind], table->name, step, err.message);
        losses[step] = result.loss;
        drop(&batch);
    }
    const uint64_t last = allocations != NULL ? allocations(t) - before : 0;
    gnn_model_close(model);
    t->ops->close(t);
    return last;
}

void model_cases_against_cpu(const struct gnn_tensor_ops *table, uint64_t (*allocations)(const struct gnn_tensor *t))
{
    for (enum gnn_model_kind kind = GNN_MODEL_SAGE; kind < GNN_MODEL_KINDS; kind++) {
        double here[STEPS], again[STEPS], cpu[STEPS];
        if (train(table, kind, allocations, here) != 0)
            fail_msg("%s on %s: a mini-batch like one before allocates", gnn_model_names[kind], table->name);
        (void)train(table, kind, NULL, again);
        (void)train(&gnn_tensor_cpu, kind, NULL, cpu);
        for (uint32_t step = 0; step < STEPS; step++) {
            if (!(fabs(here[step] - cpu[step]) <= 1e-4 * fabs(cpu[step])))
                fail_msg("%s on %s, step %u: loss %.9g, on the CPU %.9g", gnn_model_names[kind], table->name, step,
                         here[step], cpu[step]);
            if (memcmp(&here[step], &again[step], sizeof here[step]) != 0)
                fail_msg("%s on %s, step %u: loss %.17g, in a second run %.17g", gnn_model_names[kind], table->name,
                         step, here[step], again[step]);
        }
    }
}

enum gnn_status model_case_step(struct gnn_tensor *t, struct gnn_err *err)
{
    const struct gnn_model_config config = toy_model_config(GNN_MODEL_SAGE);
    struct host_batch batch = draw(&config, 7);
    struct gnn_model *model = NULL;
    struct gnn_step_result result;
    enum gnn_status status = gnn_model_open(t, &config, &model, err);
    if (status == GNN_OK)
        status = step_on(t, model, &batch, &result, err);
    gnn_model_close(model);
    drop(&batch);
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "tests/support/link_run.h"

#include "harness/base/rng.h"
#include "harness/dataset/prepare.h"
#include "harness/graph/triples.h"
#include "harness/system/link_training.h"
#include "harness/tensor/cpu/cpu.h"
#include "harness/tensor/modelled/modelled.h"
#include "tests/support/must.h"
#include "tests/support/system_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* ---- the graph ---- */

void link_graph_import(const struct link_graph *graph, const char *root, char out[DATA_PATH])
{
    char in[DATA_PATH];
    struct gnn_rng rng = gnn_rng_at(graph->seed);
    struct gnn_import_options options;
    struct gnn_err err = {0};
    size_t length = 0;
    char *const text = malloc((size_t)graph->edges * 24);
    assert_non_null(text);
    for (uint32_t i = 0; i < graph->edges; i++)
        length += (size_t)sprintf(text + length, "%u\t%u\t%u\n", (unsigned)gnn_rng_below(&rng, graph->nodes),
                                  (unsigned)gnn_rng_below(&rng, graph->relations),
                                  (unsigned)gnn_rng_below(&rng, graph->nodes));
    (void)mkdir(data_path(in, root, "in"), 0777);
    data_write(in, "train.txt", text, length);
    free(text);
    gnn_option_defaults(gnn_import_table, &options);
    options.nodes = graph->nodes;
    options.add_reverse = true;
    const struct gnn_import_source source = {.format = GNN_IMPORT_TRIPLES, .from = in};
    const struct gnn_prepare_job job = {.out_dir = data_path(out, root, "kg")};
    must(gnn_prepare_import(&source, &options, &job, &err), &err);
}

/* ---- a run ---- */

void link_run_init(struct link_run *run, struct gnn_world *world, const char *system, const char *dir, uint32_t dim)
{
    *run = (struct link_run){.system = system, .world = world};
    must(gnn_dataset_open(world, dir, dim, GNN_F32, 4, &run->dataset, &run->err), &run->err);
    run->workload = (struct gnn_workload){.task = GNN_TASK_LINK,
                                          .negatives = {.seed = 8, .count = 9, .chunks = 3, .degree_share = 0.5},
                                          .seed = 8,
                                          .batch_size = 20,
                                          .epochs = 1};
    run->link_config = (struct gnn_link_config){.decoder = GNN_DECODER_COMPLEX,
                                                .optimizer = GNN_OPTIMIZER_ADAGRAD,
                                                .dim = dim,
                                                .relations = run->dataset->relation_count,
                                                .lr = 0.05};
    run->model_config = (struct gnn_model_config){.kind = GNN_MODEL_SAGE, .hidden = 8, .heads = 2, .seed = 8};
}

static void on_step(void *ctx, const struct gnn_batch_view *batch, const struct gnn_step_result *step)
{
    struct link_run *const run = ctx;
    if (run->look != NULL)
        run->look(run->look_ctx, batch);
    assert_true(run->step_count < LINK_RUN_STEPS_MAX);
    assert_int_equal(batch->batch, run->step_count); /* in order */
    run->loss[run->step_count++] = step->loss;
    if (gnn_is_spot(batch->batch))
        run->spot_digest += gnn_batch_digest(batch, NULL);
}

static void configure(struct link_run *run)
{
    run->table = system_find(run->system);
    run->config = system_configure(run->table, run->options);
    run->model_config.layers = run->workload.layers;
    run->model_config.in_dim = run->model_config.classes = run->dataset->dim;
    run->model_config.lr = run->link_config.lr;
    run->model_config.optimizer = run->link_config.optimizer;
    run->env = (struct gnn_env){.world = run->world,
                                .dataset = run->dataset,
                                .workload = &run->workload,
                                .model_config = &run->model_config,
                                .link_config = &run->link_config,
                                .cores = 2,
                                .cap_bytes = run->cap_bytes,
                                .on_step = on_step,
                                .on_step_ctx = run};
    if (run->table->complete != NULL)
        run->table->complete(&run->env, run->config);
}

enum gnn_status link_run_plan(struct link_run *run, struct gnn_memory_plan *plan)
{
    configure(run);
    gnn_plan_begin(plan, &run->env);
    enum gnn_status status = run->table->plan(&run->env, run->config, plan, &run->err);
    GNN_NEXT(status, gnn_plan_check(plan, "", &run->err));
    return status;
}

enum gnn_status link_run_open(struct link_run *run)
{
    const struct gnn_tensor_env tensor = system_tensor_env(run->world);
    const struct gnn_tensor_ops *const ops = run->modelled != NULL ? &gnn_tensor_modelled : &gnn_tensor_cpu;
    configure(run);
    GNN_TRY(ops->open(&tensor, run->modelled, &run->env.tensor, &run->err));
    GNN_TRY(gnn_link_open(run->env.tensor, &run->link_config, &run->env.link, &run->err));
    if (run->workload.layers > 0)
        GNN_TRY(gnn_model_open(run->env.tensor, &run->model_config, &run->env.model, &run->err));
    return run->table->open(&run->env, run->config, &run->state, &run->err);
}

enum gnn_status link_run_epoch(struct link_run *run, uint64_t epoch)
{
    run->result = (struct gnn_epoch_result){.loss_sum = 0};
    run->step_count = 0;
    run->spot_digest = 0;
    GNN_TRY(run->table->train_epoch(run->state, epoch, &run->result, &run->err));
    assert_int_equal(run->result.counters.sample.batches, run->step_count);
    assert_true(run->spot_digest == run->result.counters.sample.spot_digest);
    return GNN_OK;
}

void link_run_vectors(struct link_run *run, gnn_real *out)
{
    const uint32_t nodes = run->dataset->node_count;
    gnn_node *const all = malloc(nodes * sizeof *all);
    assert_non_null(all);
    for (gnn_node v = 0; v < nodes; v++)
        all[v] = v;
    must(run->table->read_embeddings(run->state, all, nodes, out, &run->err), &run->err);
    free(all);
}

uint64_t link_run_figure(const struct link_run *run, const char *name)
{
    return system_figure(&run->result, name);
}

void link_run_close(struct link_run *run)
{
    if (run->table != NULL)
        run->table->close(run->state);
    free(run->config);
    gnn_model_close(run->env.model);
    gnn_link_close(run->env.link);
    if (run->env.tensor != NULL)
        run->env.tensor->ops->close(run->env.tensor);
    gnn_dataset_close(run->world, run->dataset);
}

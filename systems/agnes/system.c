/* AGNES: block-wise storage I/O and hyperbatch processing. See README.md.
 *
 * Source   AGNES (KDD 2026); where paper and released code differ, the paper is the default (specs/agnes.md section 7)
 * Memory   sizes.c; under accounting=full graph buffer and feature cache get what the cap leaves
 * Errors   those of the files and rings (GNN_EIO, GNN_ESHORT, GNN_EFORMAT, GNN_ENOTSUP without direct I/O), GNN_ENOMEM,
 *          GNN_ECAP, GNN_EUSAGE, GNN_ECANCELLED */
#include "systems/agnes/agnes.h"

#include <inttypes.h>
#include <stdlib.h>

static enum gnn_status agnes_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                  struct gnn_err *err)
{
    struct agnes_sizes sizes;
    (void)env;
    return agnes_size(config, 0, &sizes, plan, err);
}

/* Training nodes under their new names, in the order of the dataset's list: permuted alike, epoch by epoch. */
static enum gnn_status open_seeds(struct agnes *s, struct gnn_err *err)
{
    const struct gnn_dataset *const d = s->env->dataset;
    const gnn_node *const order = s->files.new_to_old;
    const uint64_t bytes = d->train.count * (uint64_t)sizeof(gnn_node);
    void *train = NULL, *permuted = NULL, *names = NULL;
    if (d->train.count == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s has no training nodes", d->dir);
    GNN_TRY(gnn_mem_alloc(s->env->world, "agnes training nodes", bytes, GNN_MEM_PLAIN, &train, err));
    s->train = train;
    GNN_TRY(gnn_mem_alloc(s->env->world, "order of the epoch", bytes, GNN_MEM_PLAIN, &permuted, err));
    s->order = permuted;
    memcpy(s->train, d->train.nodes, bytes);
    if (order == NULL)
        return GNN_OK;
    GNN_TRY(gnn_mem_alloc(s->env->world, "agnes new names of nodes", d->node_count * (uint64_t)sizeof(gnn_node),
                          GNN_MEM_PLAIN, &names, err));
    gnn_node *const new_of = names;
    for (uint32_t v = 0; v < d->node_count; v++)
        new_of[order[v]] = v;
    for (uint32_t i = 0; i < d->train.count; i++)
        s->train[i] = new_of[s->train[i]];
    gnn_mem_free(s->env->world, names);
    return GNN_OK;
}

static enum gnn_status open_training(struct agnes *s, struct gnn_err *err)
{
    const bool on_host = s->env->tensor->host_memory;
    s->reload = (struct gnn_buffer){.name = "agnes reloaded rows", .mem_flags = GNN_MEM_FEATURES};
    for (uint32_t i = 0; i < AGNES_INPUTS; i++) {
        s->items[i].blocks.name = "agnes blocks in training";
        s->items[i].nodes.name = "agnes nodes in training";
        gnn_rows_init(&s->items[i].rows, s->env, "agnes input", on_host);
    }
    return gnn_training_open(s->env, &s->training, err);
}

static enum gnn_status open_all(struct agnes *s, struct gnn_err *err)
{
    struct gnn_memory_plan plan;
    GNN_TRY(agnes_layout_open(s->env, s->config, &s->files, err));
    gnn_plan_begin(&plan, s->env);
    GNN_TRY(agnes_size(s->config, s->files.index.blocks, &s->sizes, &plan, err));
    GNN_TRY(gnn_plan_check(&plan, "", err));
    GNN_TRY(open_seeds(s, err));
    GNN_TRY(agnes_sampling_open(s, err));
    if (s->env->workload->sample_only)
        return GNN_OK;
    GNN_TRY(agnes_gathering_open(s, err));
    return open_training(s, err);
}

static void agnes_close(void *state)
{
    struct agnes *const s = state;
    if (s == NULL)
        return;
    struct gnn_world *const world = s->env->world;
    gnn_training_close(&s->training);
    for (uint32_t i = 0; i < AGNES_INPUTS; i++) {
        gnn_rows_close(&s->items[i].rows);
        gnn_buffer_close(world, &s->items[i].blocks);
        gnn_buffer_close(world, &s->items[i].nodes);
    }
    gnn_buffer_close(world, &s->reload);
    agnes_gathering_close(s);
    agnes_sampling_close(s);
    gnn_mem_free(world, s->order);
    gnn_mem_free(world, s->train);
    agnes_layout_close(world, &s->files);
    free(s);
}

static enum gnn_status agnes_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct agnes *const s = calloc(1, sizeof *s);
    if (s == NULL)
        return gnn_fail(err, GNN_ENOMEM, "agnes: state");
    *state = s;
    s->env = env;
    s->config = config;
    return open_all(s, err);
}

static enum gnn_status agnes_train_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    return agnes_epoch(state, epoch, out, err);
}

const struct gnn_system gnn_system_agnes = {
    .abi = GNN_SYSTEM_ABI,
    .name = "agnes",
    .title = "AGNES (KDD 2026)",
    .options = agnes_options,
    .config_bytes = sizeof(struct agnes_config),
    .plan = agnes_plan,
    .open = agnes_open,
    .train_epoch = agnes_train_epoch,
    .close = agnes_close,
};

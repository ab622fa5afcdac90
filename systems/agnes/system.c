/* SPDX-License-Identifier: MIT */
/* AGNES: block-wise storage I/O and hyperbatch processing. See README.md.
 *
 * Source   AGNES (KDD 2026); where paper and released code differ, the paper is the default
 * Memory   sizes.c; under accounting=full graph buffer and feature cache get what the cap leaves
 * Errors   those of the files and rings (GNN_EIO, GNN_ESHORT, GNN_EFORMAT, GNN_ENOTSUP without direct I/O), GNN_ENOMEM,
 *          GNN_ECAP, GNN_EUSAGE, GNN_ECANCELLED */
#include "systems/agnes/agnes.h"

#include "systems/agnes/rows.h"
#include "systems/agnes/stages.h"

/* Threads: the paper's 16, on as many cores. */
static void agnes_complete(const struct gnn_env *env, void *config)
{
    struct agnes_config *const c = config;
    c->workers = gnn_threads(c->workers, gnn_min_u32(env->cores, 16));
}

static enum gnn_status agnes_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                  struct gnn_err *err)
{
    struct agnes_sizes sizes;
    GNN_TRY(agnes_size(config, 0, &sizes, plan, err));
    gnn_plan_part(plan, "preparing of the layout",
                  "agnes.layout=input, or prepare it by a run with a larger memory limit",
                  agnes_layout_least_bytes(env, config))
        ->phases = 1 << AGNES_PREPARING;
    return GNN_OK;
}

/* ---- open ---- */

/* Converts the training nodes, which keep the order of the dataset's list: epochs permute both alike. */
static enum gnn_status open_seeds(struct agnes *agnes, struct gnn_err *err)
{
    const struct agnes_setup *const setup = &agnes->setup;
    const struct gnn_split *const train = &setup->env->dataset->train;
    struct gnn_world *const world = setup->env->world;
    GNN_MEM_NEW(world, agnes->train, train->count, "agnes training nodes", GNN_MEM_PLAIN, err);
    GNN_TRY(gnn_batch_order_open(setup->env, agnes->train, &agnes->order, err));
    agnes_node *old_to_new = NULL;
    if (setup->files.new_to_old != NULL)
        GNN_TRY(agnes_layout_invert(world, setup->files.new_to_old, setup->env->dataset->node_count, &old_to_new, err));
    for (uint32_t i = 0; i < train->count; i++)
        agnes->train[i] = agnes_to_new(old_to_new, train->nodes[i]);
    gnn_mem_free(world, old_to_new);
    return GNN_OK;
}

static enum gnn_status open_sampling(struct agnes *agnes, struct gnn_err *err)
{
    const struct agnes_setup *const setup = &agnes->setup;
    GNN_NEW(agnes->hyperbatches, setup->sizes.alive, err, "agnes hyperbatches");
    for (uint32_t i = 0; i < setup->sizes.alive; i++)
        GNN_TRY(agnes_hyperbatch_open(setup, &agnes->hyperbatches[i], err));
    GNN_TRY(agnes_progress_open(agnes, err));
    GNN_TRY(gnn_team_open(setup->env->world, setup->config->workers, &agnes->sampling_team, err));
    return agnes_sampling_open(setup, agnes->sampling_team, &agnes->sampling, err);
}

static enum gnn_status open_gathering(struct agnes *agnes, struct gnn_err *err)
{
    const struct agnes_setup *const setup = &agnes->setup;
    GNN_TRY(gnn_team_open(setup->env->world, setup->config->workers, &agnes->gathering_team, err));
    GNN_TRY(agnes_gathering_open(setup, agnes->gathering_team, &agnes->gathering, err));
    assert(setup->sizes.row_sets <= AGNES_ALIVE_MAX - 1);
    for (uint32_t i = 0; i < setup->sizes.row_sets; i++) {
        GNN_TRY(agnes_feature_cache_open(setup, &agnes->row_sets[i].cache, err));
        GNN_TRY(agnes_spill_open(setup, &agnes->row_sets[i].spill, err));
    }
    GNN_NEW(agnes->assembly, 1, err, "agnes assembly");
    gnn_training_open(setup->env, &agnes->training);
    return agnes_assembly_open(setup, agnes->assembly, err);
}

static enum gnn_status open_parts(struct agnes *agnes, struct gnn_err *err)
{
    struct agnes_setup *const setup = &agnes->setup;
    struct gnn_memory_plan plan;
    if (setup->env->dataset->train.count == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s has no training nodes: use a dataset with a training set",
                        setup->env->dataset->dir);
    GNN_TRY(agnes_layout_open(setup->env, setup->config, &setup->files, err));
    gnn_plan_begin(&plan, setup->env);
    GNN_TRY(agnes_size(setup->config, setup->files.index.blocks, &setup->sizes, &plan, err));
    GNN_TRY(gnn_plan_check(&plan, "", err));
    GNN_TRY(open_seeds(agnes, err));
    GNN_TRY(open_sampling(agnes, err));
    return setup->env->workload->sample_only ? GNN_OK : open_gathering(agnes, err);
}

static void agnes_intend(const void *state, struct gnn_intent *intent)
{
    const struct agnes_setup *const setup = &((const struct agnes *)state)->setup;
    struct gnn_world *const world = setup->env->world;
    const uint32_t how = setup->config->io == AGNES_IO_DIRECT ? GNN_READS_DIRECT : GNN_READS_BUFFERED;
    const uint32_t made = setup->files.prepared.written_bytes > 0 ? GNN_READS_MADE : 0;
    if (setup->sizes.first < setup->sizes.hyperbatch) /* no part is like another */
        gnn_intent_phases(intent, (uint32_t)intent->whole_batches, "agnes.first");
    else
        gnn_intent_phases(intent, setup->sizes.hyperbatch, "agnes.hyperbatch");
    intent->prepares_next = setup->config->overlap == AGNES_OVERLAP_EPOCHS;
    gnn_intent_reads(intent, gnn_file_path(world, setup->files.graph), how | made);
    if (setup->files.features == NULL)
        return;
    gnn_intent_reads(intent, gnn_file_path(world, setup->files.features), how | made);
    gnn_intent_reads(intent, NULL, how); /* spools and spilled rows */
}

static void agnes_close(void *state)
{
    struct agnes *const agnes = state;
    if (agnes == NULL)
        return;
    struct gnn_world *const world = agnes->setup.env->world;
    if (agnes->assembly != NULL)
        agnes_assembly_close(agnes->assembly);
    free(agnes->assembly);
    gnn_training_close(&agnes->training);
    for (uint32_t i = 0; i < agnes->setup.sizes.row_sets; i++) {
        agnes_spill_close(agnes->row_sets[i].spill);
        agnes_feature_cache_close(agnes->row_sets[i].cache);
    }
    agnes_gathering_close(agnes->gathering);
    agnes_sampling_close(agnes->sampling);
    for (uint32_t i = 0; agnes->hyperbatches != NULL && i < agnes->setup.sizes.alive; i++)
        agnes_hyperbatch_close(&agnes->hyperbatches[i]);
    free(agnes->hyperbatches);
    gnn_progress_close(agnes->progress);
    gnn_team_close(agnes->gathering_team);
    gnn_team_close(agnes->sampling_team);
    gnn_batch_order_close(&agnes->order);
    gnn_mem_free(world, agnes->train);
    agnes_layout_close(world, &agnes->setup.files);
    free(agnes);
}

static enum gnn_status agnes_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct agnes *agnes;
    GNN_NEW(agnes, 1, err, "agnes");
    *state = agnes;
    agnes->setup.env = env;
    agnes->setup.config = config;
    return open_parts(agnes, err);
}

const struct gnn_system gnn_system_agnes = {
    .abi = GNN_SYSTEM_ABI,
    .name = "agnes",
    .title = "AGNES (KDD 2026)",
    .variants = GNN_VARIANT_CPU | GNN_VARIANT_GPU | GNN_VARIANT_SAMPLE_ONLY,
    .options = agnes_options,
    .config_bytes = sizeof(struct agnes_config),
    .complete = agnes_complete,
    .plan = agnes_plan,
    .open = agnes_open,
    .intend = agnes_intend,
    .train_epoch = agnes_epoch,
    .close = agnes_close,
};

/* SPDX-License-Identifier: MIT */
/* presort: rows sorted ahead of their use, by windows of mini-batches. See README.md.
 *
 * Memory   sizes.c
 * Errors   those of files and rings, GNN_ENOTSUP without direct I/O, GNN_ECAP; a full disk is none */
#include "harness/system/plan.h"

#include "systems/presort/handout.h"
#include "systems/presort/load.h"
#include "systems/presort/rounds.h"
#include "systems/presort/spool.h"

#include <stdlib.h>

static enum gnn_status presort_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                    struct gnn_err *err)
{
    struct presort_sizes sizes;
    (void)env;
    return presort_size(config, ((const struct presort_config *)config)->topology, GNN_UNKNOWN, NULL, &sizes, plan,
                        err);
}

/* Chooses every size; again once it is known where the lists are, what they take in memory, and what they say. */
static enum gnn_status choose_sizes(struct presort_setup *setup, enum presort_topology_kind topology,
                                    uint64_t resident_bytes, const struct presort_uses *uses, struct gnn_err *err)
{
    struct gnn_memory_plan plan;
    gnn_plan_begin(&plan, setup->env);
    GNN_TRY(presort_size(setup->config, topology, resident_bytes, uses, &setup->sizes, &plan, err));
    return gnn_plan_check(&plan, "", err);
}

/* The lists are in memory: the sizes that they leave room for. */
static enum gnn_status choose_beside_lists(struct presort_setup *setup, struct gnn_err *err)
{
    struct presort_uses uses;
    if (!setup->env->workload->sample_only)
        GNN_TRY(presort_uses_count(setup->env, setup->topology, &uses, err));
    return choose_sizes(setup, PRESORT_TOPOLOGY_RESIDENT, presort_topology_bytes(setup->topology),
                        setup->env->workload->sample_only ? NULL : &uses, err);
}

static enum gnn_status open_topology(struct presort *s, struct gnn_err *err)
{
    struct presort_setup *const setup = &s->setup;
    GNN_TRY(choose_sizes(setup, setup->config->topology, GNN_UNKNOWN, NULL, err));
    const struct presort_topology_config topology = {.kind = setup->config->topology,
                                                     .direct = setup->config->io == PRESORT_IO_DIRECT,
                                                     .room_bytes = setup->sizes.topology_bytes};
    const uint64_t start_ns = gnn_now_ns(setup->env->world);
    GNN_TRY(presort_topology_open(setup->env, &topology, &setup->topology, err));
    if (setup->topology != NULL)
        GNN_TRY(choose_beside_lists(setup, err));
    s->topology_ns = gnn_now_ns(setup->env->world) - start_ns;
    if (setup->topology != NULL)
        return GNN_OK;
    if (setup->config->topology != PRESORT_TOPOLOGY_AUTO)
        return GNN_OK;
    const bool swept = presort_can_sweep(setup->env, setup->config, setup->sizes.topology_bytes);
    return choose_sizes(setup, swept ? PRESORT_TOPOLOGY_SWEPT : PRESORT_TOPOLOGY_MAPPED, GNN_UNKNOWN, NULL, err);
}

/* What sweeping the lists needs: tapes for what training draws again, and rounds. */
static enum gnn_status open_rounds(struct presort *s, struct gnn_err *err)
{
    struct presort_setup *const setup = &s->setup;
    if (setup->sizes.topology != PRESORT_TOPOLOGY_SWEPT)
        return GNN_OK;
    setup->tapes = s->tapes;
    for (uint32_t i = 0; i < PRESORT_ALIVE && !setup->env->workload->sample_only; i++)
        GNN_TRY(gnn_file_open(setup->env->world, setup->scratch_dir,
                              GNN_OPEN_WRITE | GNN_OPEN_SCRATCH | presort_direct_flag(setup->config), &s->tapes[i],
                              err));
    GNN_TRY(presort_rounds_open(setup, &setup->rounds, err));
    return setup->env->workload->sample_only ? GNN_OK : presort_spool_open(setup, &s->spool, err);
}

static enum gnn_status open_sampling(struct presort *s, struct gnn_err *err)
{
    const struct gnn_env *const env = s->setup.env;
    GNN_TRY(presort_sampling_open(&s->setup, s->spool, &s->sampling, err));
    return env->workload->sample_only ? gnn_batch_open(env->world, &s->drawn, err) : GNN_OK;
}

static enum gnn_status open_training(struct presort *s, struct gnn_err *err)
{
    struct presort_setup *const setup = &s->setup;
    const struct gnn_env *const env = setup->env;
    GNN_TRY(gnn_dataset_file_open(env, GNN_DATASET_FEATURES, presort_direct_flag(setup->config), &setup->features,
                                  &setup->align_bytes, err));
    setup->scratch = s->scratch;
    GNN_TRY(presort_preparer_open(setup, &s->preparer, err));
    for (uint32_t i = 0; i < PRESORT_ALIVE; i++) {
        GNN_TRY(presort_hyperbatch_open(setup, &s->hyperbatches[i], err));
        GNN_TRY(presort_scratch_open(setup, &s->scratch[i], err));
    }
    GNN_TRY(presort_loader_open(setup, &s->loader, err));
    GNN_TRY(gnn_progress_open(env->world, PRESORT_COUNTS, &s->progress, err));
    GNN_TRY(presort_handout_open(env->world, s->progress, &s->handout, err));
    for (uint32_t i = 0; i < presort_inputs(&setup->sizes); i++) {
        GNN_TRY(gnn_batch_open(env->world, &s->batches[i], err));
        GNN_TRY(gnn_train_input_open(env, "presort input", setup->config->transfer, &s->inputs[i], err));
        GNN_TRY(gnn_train_input_reserve(&s->inputs[i], setup->sizes.input_rows, err));
    }
    gnn_training_open(env, &s->training);
    return GNN_OK;
}

static enum gnn_status presort_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct presort *s;
    GNN_NEW(s, 1, err, "presort's state");
    *state = s;
    s->setup.env = env;
    s->setup.config = config;
    s->setup.scratch_dir = s->setup.config->scratch_dir[0] != '\0' ? s->setup.config->scratch_dir : env->dataset->dir;
    GNN_TRY(open_topology(s, err));
    GNN_TRY(open_rounds(s, err));
    GNN_TRY(open_sampling(s, err));
    return env->workload->sample_only ? GNN_OK : open_training(s, err);
}

static void presort_close(void *state)
{
    struct presort *const s = state;
    if (s == NULL)
        return;
    struct gnn_world *const world = s->setup.env->world;
    for (uint32_t i = 0; i < PRESORT_INPUTS_MAX; i++) {
        gnn_train_input_close(&s->inputs[i]);
        gnn_batch_close(world, s->batches[i]);
    }
    gnn_training_close(&s->training);
    presort_handout_close(s->handout);
    gnn_progress_close(s->progress);
    presort_loader_close(s->loader);
    for (uint32_t i = 0; i < PRESORT_ALIVE; i++) {
        presort_hyperbatch_close(&s->hyperbatches[i]);
        presort_scratch_close(world, &s->scratch[i]);
    }
    presort_preparer_close(s->preparer);
    gnn_file_close(world, s->setup.features);
    gnn_batch_close(world, s->drawn);
    gnn_sampling_close(s->sampling);
    presort_spool_close(s->spool);
    presort_rounds_close(s->setup.rounds);
    for (uint32_t i = 0; i < PRESORT_ALIVE; i++)
        gnn_file_close(world, s->tapes[i]);
    presort_topology_close(s->setup.topology);
    free(s);
}

/* How the neighbour lists are read: swept ones through a mapping as well, where there is no room on the disk. */
static uint32_t lists_use(const struct presort *s, uint32_t how)
{
    const bool swept = s->setup.rounds != NULL;
    if (s->setup.topology == NULL && !swept)
        return GNN_READS_MAPPED;
    return s->spool != NULL ? how | GNN_READS_MAPPED : how;
}

static void presort_intend(const void *state, struct gnn_intent *intent)
{
    const struct presort *const s = state;
    const struct gnn_dataset *const d = s->setup.env->dataset;
    const uint32_t how = s->setup.config->io == PRESORT_IO_DIRECT ? GNN_READS_DIRECT : GNN_READS_BUFFERED;
    gnn_sampling_intend(s->sampling, intent);
    gnn_intent_reads(intent, d->indices_path, lists_use(s, how));
    if (s->setup.env->workload->sample_only)
        return;
    intent->prepares_next = s->setup.config->ahead;
    gnn_intent_phases(intent, s->setup.sizes.hyperbatch, "presort.hyperbatch");
    gnn_intent_reads(intent, d->features_path, how);
    gnn_intent_reads(intent, NULL, how); /* sorted rows */
}

const struct gnn_system gnn_system_presort = {
    .abi = GNN_SYSTEM_ABI,
    .name = "presort",
    .title = "presort: rows sorted ahead by window (ours)",
    .variants = GNN_VARIANT_CPU | GNN_VARIANT_GPU | GNN_VARIANT_SAMPLE_ONLY,
    .options = presort_options,
    .config_bytes = sizeof(struct presort_config),
    .plan = presort_plan,
    .open = presort_open,
    .intend = presort_intend,
    .train_epoch = presort_epoch,
    .close = presort_close,
};

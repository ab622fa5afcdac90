/* SPDX-License-Identifier: MIT */
/* PyG+: memory-mapped out-of-core training; the page cache is the only cache. See README.md.
 *
 * Source   the memory-mapped baseline shipped with Ginex (PVLDB 15(11), 2022), reused in GNNDrive (ICPP 2024)
 * Memory   gnn_sampling's order and samplers; prefetch * W + 2 mini-batches (3 with transfer=ahead); two gathered
 *          inputs of n_L rows
 * Errors   those of the mappings (GNN_EIO, GNN_EFORMAT, GNN_ENOENT), GNN_ENOMEM, GNN_ECAP, GNN_ECANCELLED */
#include "systems/pygplus/pygplus.h"

#include "harness/graph/triples.h"

#include <inttypes.h>
#include <stdlib.h>

/* Threads: the released 32 and 128, by core; what is drawn ahead stays a small part of the epoch. */
static void pygplus_complete(const struct gnn_env *env, void *config)
{
    struct pygplus_config *const c = config;
    const uint32_t eighth = gnn_max_u32(gnn_epoch_batches(env) / 8, 2);
    c->workers = gnn_threads(c->workers, gnn_min_u32(gnn_min_u32(env->cores, 32), eighth));
    c->gather_threads = gnn_threads(c->gather_threads, gnn_min_u32(8 * env->cores, 128));
}

static enum gnn_status pygplus_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                    struct gnn_err *err)
{
    const struct pygplus_config *c = config;
    gnn_plan_part(plan, "ballast of the workers", "pygplus.ballast_bytes", gnn_mul_bytes(c->ballast_bytes, c->workers));
    if (env->workload->task == GNN_TASK_LINK) {
        if (c->drop_last_train || c->transfer != GNN_TRANSFER_BLOCKING)
            return gnn_fail(err, GNN_EUSAGE,
                            "pygplus.drop_last_train and pygplus.transfer require --task nodes: remove them");
        pygplus_link_plan(env, c, plan);
        return GNN_OK;
    }
    gnn_plan_part(plan, "samplers", "pygplus.workers", gnn_sampling_bytes(env, c->workers));
    gnn_plan_in_flight(plan, "mini-batches sampled ahead", "pygplus.workers or pygplus.prefetch",
                       gnn_mul_bytes(gnn_batch_reserved_bytes(env->dataset, env->workload),
                                     (uint64_t)c->prefetch * c->workers + pygplus_delivered(env, c)));
    if (!env->workload->sample_only)
        gnn_plan_in_flight(plan, "gathered inputs", "--batch or --fanout",
                           gnn_mul_bytes(PYGPLUS_INPUTS, gnn_plan_rows_bytes(plan)));
    gnn_train_input_plan(plan, c->transfer, 1, PYGPLUS_INPUTS);
    gnn_training_plan(plan, GNN_PLAN_ALL_PHASES);
    const uint64_t mapped =
        env->dataset->indices_bytes +
        (env->workload->sample_only ? 0 : env->dataset->node_count * (uint64_t)env->dataset->row_bytes);
    gnn_plan_part(plan, "page tables of the mappings", NULL, mapped / GNN_PAGE_BYTES * sizeof(uint64_t));
    return GNN_OK;
}

static enum gnn_status open_samplers(struct pygplus *s, struct gnn_err *err)
{
    const struct gnn_env *env = s->env;
    const struct gnn_sampling_config sampling = {
        .workers = s->config->workers,
        .advice = s->config->readahead,
        .floyd_biased = env->floyd_biased || s->config->floyd == PYGPLUS_FLOYD_BIASED,
        .framework = true,
    };
    if (pygplus_links(s))
        GNN_TRY(gnn_link_sampling_open(env, sampling.workers, sampling.advice, sampling.floyd_biased, &s->link_sampling,
                                       err));
    else
        GNN_TRY(gnn_sampling_open(env, &sampling, &s->sampling, err));
    s->item_count = s->config->prefetch * s->config->workers + pygplus_delivered(s->env, s->config);
    GNN_NEW(s->items, s->item_count, err, "pygplus: %" PRIu32 " mini-batches", s->item_count);
    GNN_NEW(s->tokens, s->config->workers, err, "pygplus: queues of %" PRIu32 " workers", s->config->workers);
    for (uint32_t i = 0; i < s->item_count; i++)
        GNN_TRY(pygplus_links(s) ? gnn_link_item_open(env, &s->items[i].link, err)
                                 : gnn_batch_open(env->world, &s->items[i].batch, err));
    const uint64_t ballast = gnn_mul_bytes(s->config->ballast_bytes, s->config->workers);
    return gnn_mem_hold(env->world, "pygplus ballast", ballast, &s->ballast, err);
}

static enum gnn_status open_features(struct pygplus *s, struct gnn_err *err)
{
    const struct gnn_env *env = s->env;
    GNN_TRY(gnn_dataset_file_open(env, GNN_DATASET_FEATURES, 0, &s->features, NULL, err));
    GNN_TRY(gnn_map_open(env->world, s->features, s->config->readahead, &s->features_map, err));
    GNN_TRY(gnn_team_open(env->world, s->config->gather_threads, &s->gather, err));
    gnn_training_open(env, &s->training);
    for (uint32_t i = 0; i < PYGPLUS_INPUTS; i++)
        GNN_TRY(gnn_train_input_open(env, "pygplus gathered input", s->config->transfer, &s->input[i], err));
    return GNN_OK;
}

static void pygplus_intend(const void *state, struct gnn_intent *intent)
{
    const struct pygplus *const s = state;
    if (pygplus_links(s)) { /* its own files have no names: nobody else can look at them */
        char path[GNN_TRIPLES_PATH];
        gnn_triples_path(s->env->dataset, GNN_TRIPLES_TRAIN, path);
        gnn_intent_reads(intent, path, GNN_READS_MAPPED);
        if (s->env->workload->layers > 0)
            gnn_intent_reads(intent, s->env->dataset->indices_path, GNN_READS_MAPPED);
        return;
    }
    gnn_sampling_intend(s->sampling, intent);
    gnn_intent_reads(intent, s->env->dataset->indices_path, GNN_READS_MAPPED);
    if (s->env->workload->sample_only)
        return;
    gnn_intent_reads(intent, s->env->dataset->features_path, GNN_READS_MAPPED);
    if (!s->config->drop_last_train || intent->batches == 0)
        return;
    uint32_t last;
    (void)gnn_sampling_seeds(s->sampling, (uint32_t)intent->batches - 1, &last);
    intent->seeds -= last;
    intent->whole_batches--;
}

static void pygplus_close(void *state)
{
    struct pygplus *s = state;
    if (s == NULL)
        return;
    struct gnn_world *w = s->env->world;
    for (uint32_t i = 0; i < PYGPLUS_INPUTS; i++)
        gnn_train_input_close(&s->input[i]);
    gnn_training_close(&s->training);
    pygplus_link_close(s);
    gnn_team_close(s->gather);
    gnn_map_close(w, s->features_map);
    gnn_file_close(w, s->features);
    gnn_mem_free(w, s->ballast);
    for (uint32_t i = 0; s->items != NULL && i < s->item_count; i++) {
        gnn_batch_close(w, s->items[i].batch);
        gnn_link_item_close(s->env, &s->items[i].link);
    }
    free(s->tokens);
    free(s->items);
    gnn_sampling_close(s->sampling);
    gnn_link_sampling_close(s->link_sampling);
    free(s);
}

static enum gnn_status pygplus_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct pygplus *s;
    GNN_NEW(s, 1, err, "pygplus: state");
    *state = s;
    s->env = env;
    s->config = config;
    GNN_TRY(open_samplers(s, err));
    if (pygplus_links(s))
        return pygplus_link_open(s, err);
    return env->workload->sample_only ? GNN_OK : open_features(s, err);
}

const struct gnn_system gnn_system_pygplus = {
    .abi = GNN_SYSTEM_ABI,
    .name = "pygplus",
    .title = "PyG+ (memory-mapped PyTorch Geometric, as in Ginex 2022 and GNNDrive 2024)",
    .variants = GNN_VARIANT_CPU | GNN_VARIANT_GPU | GNN_VARIANT_SAMPLE_ONLY | GNN_VARIANT_LINK,
    .options = pygplus_options,
    .config_bytes = sizeof(struct pygplus_config),
    .complete = pygplus_complete,
    .plan = pygplus_plan,
    .open = pygplus_open,
    .intend = pygplus_intend,
    .train_epoch = pygplus_train_epoch,
    .read_embeddings = pygplus_read_embeddings,
    .close = pygplus_close,
};

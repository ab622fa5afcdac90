/* SPDX-License-Identifier: MIT */
#include "harness/system/sampling.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

const char *const gnn_map_advice_words[] = {[GNN_MAP_RANDOM] = "off", [GNN_MAP_NORMAL] = "kernel", NULL};
_Static_assert(sizeof(enum gnn_map_advice) == sizeof(uint32_t), "GNN_OPT_CHOICE writes 32 bits");

struct lane {
    struct gnn_neighbour_source *source;
    struct gnn_sampler *sampler;
    struct gnn_sample_counters before; /* the sampler's counters when the epoch began */
    uint32_t first_seed, end_seed;     /* of `order` */
    uint32_t first_batch, end_batch;
};

struct gnn_sampling {
    const struct gnn_env *env;
    struct gnn_sampling_config config;
    struct gnn_file *file;
    struct gnn_map *map;
    struct lane *lanes; /* (workers) */
    gnn_node *order;    /* (gnn_epoch_nodes) of this rank */
    gnn_node *scratch;  /* (gnn_segment_nodes) a segment's permutation; NULL where the rank has one segment */
    uint32_t batches;
    uint64_t epoch;
};

/* Worker w's seeds and batches; all of them when the order is global. */
static void divide(struct gnn_sampling *s)
{
    const uint32_t total = gnn_epoch_nodes(s->env), batch_size = s->env->workload->batch_size;
    const uint32_t limit = s->env->workload->max_batches > 0 ? s->env->workload->max_batches : UINT32_MAX;
    uint32_t batches = 0;
    for (uint32_t w = 0; w < s->config.workers; w++) {
        struct lane *lane = &s->lanes[w];
        lane->first_seed = s->config.segments ? (uint32_t)((uint64_t)total * w / s->config.workers) : 0;
        lane->end_seed = s->config.segments ? (uint32_t)((uint64_t)total * (w + 1) / s->config.workers) : total;
        lane->first_batch = s->config.segments ? batches : 0;
        lane->end_batch =
            gnn_min_u32(lane->first_batch + (uint32_t)gnn_div_up(lane->end_seed - lane->first_seed, batch_size), limit);
        lane->first_batch = gnn_min_u32(lane->first_batch, limit);
        batches = lane->end_batch;
    }
    s->batches = batches;
}

static enum gnn_status open_lane(struct gnn_sampling *s, uint32_t worker, struct gnn_err *err)
{
    struct lane *const lane = &s->lanes[worker];
    const struct gnn_env *env = s->env;
    struct gnn_sampler_config config = {.seed = env->workload->seed,
                                        .layers = env->workload->layers,
                                        .floyd_biased = s->config.floyd_biased,
                                        .framework = s->config.framework};
    memcpy(config.fanout, env->workload->fanout, sizeof config.fanout);
    if (s->config.open_source != NULL)
        GNN_TRY(s->config.open_source(s->config.open_source_ctx, worker, &lane->source, err));
    else
        GNN_TRY(gnn_source_mapped(env->world, s->map, env->dataset->id_bytes, &lane->source, err));
    return gnn_sampler_open(env->world, &config, env->dataset, lane->source, &lane->sampler, err);
}

enum gnn_status gnn_sampling_open(const struct gnn_env *env, const struct gnn_sampling_config *config,
                                  struct gnn_sampling **out, struct gnn_err *err)
{
    assert(config->workers > 0);
    if (env->dataset->train.count == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s has no training nodes", env->dataset->dir);
    struct gnn_sampling *s;
    GNN_NEW(s, 1, err, "sampling stage");
    *out = s;
    s->env = env;
    s->config = *config;
    if (config->open_source == NULL) {
        GNN_TRY(gnn_dataset_file_open(env, GNN_DATASET_INDICES, 0, &s->file, NULL, err));
        GNN_TRY(gnn_map_open(env->world, s->file, config->advice, &s->map, err));
    }
    assert(!config->segments || gnn_segments(env) == 1);
    const uint32_t segment = gnn_segment_nodes(env);
    if (segment == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s has %" PRIu32 " training nodes, fewer than --segments %" PRIu32,
                        env->dataset->dir, env->dataset->train.count, gnn_segments(env));
    GNN_MEM_NEW(env->world, s->order, gnn_epoch_nodes(env), "order of the epoch", GNN_MEM_PLAIN, err);
    if (gnn_epoch_nodes(env) > segment)
        GNN_MEM_NEW(env->world, s->scratch, segment, "order of a segment", GNN_MEM_PLAIN, err);
    GNN_NEW(s->lanes, config->workers, err, "%" PRIu32 " samplers", config->workers);
    for (uint32_t w = 0; w < config->workers; w++)
        GNN_TRY(open_lane(s, w, err));
    divide(s);
    return GNN_OK;
}

void gnn_sampling_close(struct gnn_sampling *s)
{
    if (s == NULL)
        return;
    for (uint32_t w = 0; s->lanes != NULL && w < s->config.workers; w++) {
        gnn_sampler_close(s->lanes[w].sampler);
        gnn_source_close(s->lanes[w].source);
    }
    free(s->lanes);
    gnn_mem_free(s->env->world, s->scratch);
    gnn_mem_free(s->env->world, s->order);
    gnn_map_close(s->env->world, s->map);
    gnn_file_close(s->env->world, s->file);
    free(s);
}

/* Puts the permutation of one of this rank's segments where its mini-batches are: of each, the `own`-th of `of` equal
 * pieces (the last mini-batch's pieces are shorter, and equal too). */
static void place_segment(struct gnn_sampling *s, const gnn_node *permutation, uint32_t own, uint32_t of)
{
    const uint32_t segment = gnn_segment_nodes(s->env), piece = s->env->workload->batch_size / of;
    for (uint32_t at = 0; at < segment; at += piece) {
        const uint32_t count = gnn_min_u32(segment - at, piece);
        memcpy(s->order + (uint64_t)at * of + (uint64_t)own * count, permutation + at, count * sizeof *permutation);
    }
}

/* The order of a rank whose training nodes come from segments, each shuffled inside itself. A segment's permutation
 * depends on (seed, segment, epoch) alone: however many ranks share the segments, step k trains the same nodes. */
static void order_segments(struct gnn_sampling *s)
{
    const struct gnn_env *const env = s->env;
    const uint32_t own = gnn_segments(env) / gnn_env_workers(env), segment = gnn_segment_nodes(env);
    for (uint32_t i = 0; i < own; i++) {
        const uint32_t index = env->rank * own + i;
        gnn_node *const permutation = own == 1 ? s->order : s->scratch;
        gnn_epoch_order(gnn_rng_fold(env->workload->seed, index), s->epoch,
                        env->dataset->train.nodes + (uint64_t)index * segment, segment, permutation);
        if (own > 1)
            place_segment(s, permutation, i, own);
    }
}

void gnn_sampling_begin(struct gnn_sampling *s, uint64_t epoch)
{
    const struct gnn_split *train = &s->env->dataset->train;
    const uint64_t seed = s->env->workload->seed;
    s->epoch = epoch;
    for (uint32_t w = 0; w < s->config.workers; w++) {
        struct lane *lane = &s->lanes[w];
        gnn_sampler_counters(lane->sampler, &lane->before);
        if (s->config.segments)
            gnn_epoch_order(gnn_rng_fold(seed, w), epoch, train->nodes + lane->first_seed,
                            lane->end_seed - lane->first_seed, s->order + lane->first_seed);
    }
    if (gnn_segments(s->env) > 1)
        order_segments(s);
    else if (!s->config.segments)
        gnn_epoch_order(seed, epoch, train->nodes, train->count, s->order);
}

void gnn_sampling_intend(const struct gnn_sampling *s, struct gnn_intent *intent)
{
    const uint32_t parts = s->config.segments ? s->config.workers : 1;
    intent->batches = s->batches;
    intent->seeds = intent->whole_batches = 0;
    for (uint32_t w = 0; w < parts; w++)
        intent->whole_batches +=
            gnn_div_up(s->lanes[w].end_seed - s->lanes[w].first_seed, s->env->workload->batch_size);
    for (uint32_t k = 0; k < s->batches && !s->env->workload->sample_only; k++) {
        uint32_t count;
        (void)gnn_sampling_seeds(s, k, &count);
        intent->seeds += count;
    }
}

uint32_t gnn_sampling_batches(const struct gnn_sampling *s)
{
    return s->batches;
}

void gnn_sampling_range(const struct gnn_sampling *s, uint32_t worker, uint32_t *first, uint32_t *end)
{
    assert(worker < s->config.workers);
    *first = s->lanes[worker].first_batch;
    *end = s->lanes[worker].end_batch;
}

const gnn_node *gnn_sampling_seeds(const struct gnn_sampling *s, uint32_t k, uint32_t *count)
{
    assert(k < s->batches);
    const struct lane *lane = s->lanes;
    while (k >= lane->end_batch)
        lane++;
    const uint32_t batch_size = s->env->workload->batch_size;
    const uint64_t start = lane->first_seed + (uint64_t)(k - lane->first_batch) * batch_size;
    *count = (uint32_t)gnn_min_u64(lane->end_seed - start, batch_size);
    return s->order + start;
}

enum gnn_status gnn_sampling_draw(struct gnn_sampling *s, uint32_t worker, uint32_t k, struct gnn_batch *out,
                                  struct gnn_err *err)
{
    assert(worker < s->config.workers);
    GNN_TRY(gnn_check_stop(s->env, err));
    uint32_t count;
    const gnn_node *seeds = gnn_sampling_seeds(s, k, &count);
    return gnn_sampler_sample(s->lanes[worker].sampler, s->epoch, k, seeds, count, out, err);
}

void gnn_sampling_counters(const struct gnn_sampling *s, struct gnn_sample_counters *out)
{
    *out = (struct gnn_sample_counters){.batches = 0};
    for (uint32_t w = 0; w < s->config.workers; w++) {
        struct gnn_sample_counters now;
        gnn_sampler_counters(s->lanes[w].sampler, &now);
        const struct gnn_sample_counters *before = &s->lanes[w].before;
        out->batches += now.batches - before->batches;
        out->sampled_nodes += now.sampled_nodes - before->sampled_nodes;
        out->sampled_edges += now.sampled_edges - before->sampled_edges;
        out->batch_digest += now.batch_digest - before->batch_digest; /* a sum modulo 2^64 */
        out->spot_digest += now.spot_digest - before->spot_digest;
    }
}

/* SPDX-License-Identifier: MIT */
#include "harness/system/link_sampling.h"

#include "harness/graph/triples.h"
#include "harness/system/batch_size.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

struct lane {
    struct gnn_neighbour_source *source;
    struct gnn_sampler *sampler;       /* NULL without layers */
    uint64_t *index;                   /* (3 * batch_size) entries of the file of edges */
    struct gnn_triple *edges;          /* (batch_size) */
    struct gnn_sample_counters before; /* the sampler's counters when the epoch began */
    uint64_t batches, nodes, digest, spots;
};

struct gnn_link_sampling {
    const struct gnn_env *env;
    uint32_t workers;
    bool floyd_biased;
    struct gnn_file *edge_file, *list_file;
    struct gnn_map *edge_map, *list_map;
    struct lane *lanes; /* (workers) */
    uint64_t epoch;
};

/* ---- items ---- */

enum gnn_status gnn_link_item_open(const struct gnn_env *env, struct gnn_link_item *out, struct gnn_err *err)
{
    const struct gnn_workload *const load = env->workload;
    *out = (struct gnn_link_item){.edges = NULL};
    GNN_TRY(gnn_link_batch_open(env->world, &load->negatives, env->dataset->node_count, load->batch_size, &out->edges,
                                err));
    return load->layers > 0 ? gnn_batch_open(env->world, &out->blocks, err) : GNN_OK;
}

void gnn_link_item_close(const struct gnn_env *env, struct gnn_link_item *item)
{
    gnn_batch_close(env->world, item->blocks);
    gnn_link_batch_close(item->edges);
    *item = (struct gnn_link_item){.edges = NULL};
}

const struct gnn_batch_view *gnn_link_item_view(const struct gnn_link_item *item)
{
    return item->blocks != NULL ? gnn_batch_view(item->blocks) : &item->plain;
}

/* ---- opening ---- */

static enum gnn_status open_lane(struct gnn_link_sampling *s, struct lane *lane, struct gnn_err *err)
{
    const struct gnn_env *const env = s->env;
    const uint32_t batch_size = env->workload->batch_size;
    GNN_MEM_NEW(env->world, lane->index, 3 * (uint64_t)batch_size, "places of a batch's edges", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(env->world, lane->edges, batch_size, "edges of a batch", GNN_MEM_PLAIN, err);
    if (env->workload->layers == 0)
        return GNN_OK;
    struct gnn_sampler_config config = {
        .seed = env->workload->seed, .layers = env->workload->layers, .floyd_biased = s->floyd_biased};
    memcpy(config.fanout, env->workload->fanout, sizeof config.fanout);
    GNN_TRY(gnn_source_mapped(env->world, s->list_map, env->dataset->id_bytes, &lane->source, err));
    return gnn_sampler_open(env->world, &config, env->dataset, lane->source, &lane->sampler, err);
}

enum gnn_status gnn_link_sampling_open(const struct gnn_env *env, uint32_t workers, enum gnn_map_advice advice,
                                       bool floyd_biased, struct gnn_link_sampling **out, struct gnn_err *err)
{
    struct gnn_link_sampling *s;
    assert(workers > 0);
    if (env->dataset->triple_count[GNN_TRIPLES_TRAIN] == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s has no training edges", env->dataset->dir);
    GNN_NEW(s, 1, err, "sampling of edges");
    *out = s;
    *s = (struct gnn_link_sampling){.env = env, .workers = workers, .floyd_biased = floyd_biased};
    GNN_TRY(gnn_triples_file(env->world, env->dataset, GNN_TRIPLES_TRAIN, &s->edge_file, err));
    GNN_TRY(gnn_map_open(env->world, s->edge_file, advice, &s->edge_map, err));
    if (env->workload->layers > 0) {
        GNN_TRY(gnn_dataset_file_open(env, GNN_DATASET_INDICES, 0, &s->list_file, NULL, err));
        GNN_TRY(gnn_map_open(env->world, s->list_file, advice, &s->list_map, err));
    }
    GNN_NEW(s->lanes, workers, err, "%" PRIu32 " samplers of edges", workers);
    for (uint32_t w = 0; w < workers; w++)
        GNN_TRY(open_lane(s, &s->lanes[w], err));
    return GNN_OK;
}

void gnn_link_sampling_close(struct gnn_link_sampling *s)
{
    if (s == NULL)
        return;
    struct gnn_world *const w = s->env->world;
    for (uint32_t i = 0; s->lanes != NULL && i < s->workers; i++) {
        gnn_sampler_close(s->lanes[i].sampler);
        gnn_source_close(s->lanes[i].source);
        gnn_mem_free(w, s->lanes[i].index);
        gnn_mem_free(w, s->lanes[i].edges);
    }
    free(s->lanes);
    gnn_map_close(w, s->list_map);
    gnn_map_close(w, s->edge_map);
    gnn_file_close(w, s->list_file);
    gnn_file_close(w, s->edge_file);
    free(s);
}

/* ---- an epoch ---- */

void gnn_link_sampling_begin(struct gnn_link_sampling *s, uint64_t epoch)
{
    s->epoch = epoch;
    for (uint32_t w = 0; w < s->workers; w++) {
        struct lane *const lane = &s->lanes[w];
        lane->batches = lane->nodes = lane->digest = lane->spots = 0;
        if (lane->sampler != NULL)
            gnn_sampler_counters(lane->sampler, &lane->before);
    }
}

/* Brings the edges of batch k, in the epoch's order, out of the mapping. */
static enum gnn_status take_edges(struct gnn_link_sampling *s, struct lane *lane, uint32_t k, uint32_t *count,
                                  struct gnn_err *err)
{
    const struct gnn_env *const env = s->env;
    const uint32_t all = gnn_train_count(env), batch_size = env->workload->batch_size;
    const uint64_t first = (uint64_t)k * batch_size;
    assert(first < all);
    *count = (uint32_t)gnn_min_u64(batch_size, all - first);
    for (uint32_t i = 0; i < *count; i++)
        for (uint32_t f = 0; f < 3; f++)
            lane->index[3 * (uint64_t)i + f] =
                3 * (uint64_t)gnn_epoch_edge(env->workload->seed, s->epoch, all, (uint32_t)first + i) + f;
    GNN_TRY(
        gnn_map_gather_u32(env->world, s->edge_map, lane->index, 3 * (uint64_t)*count, &lane->edges[0].source, err));
    for (uint32_t i = 0; i < *count; i++)
        if (lane->edges[i].relation >= env->dataset->relation_count)
            return gnn_fail(err, GNN_EFORMAT, "%s: an edge has relation %" PRIu32 ", expected below %" PRIu32,
                            env->dataset->dir, lane->edges[i].relation, env->dataset->relation_count);
    return GNN_OK;
}

enum gnn_status gnn_link_sampling_draw(struct gnn_link_sampling *s, uint32_t worker, uint32_t k,
                                       struct gnn_link_item *item, struct gnn_err *err)
{
    assert(worker < s->workers);
    struct lane *const lane = &s->lanes[worker];
    uint32_t count = 0;
    GNN_TRY(gnn_check_stop(s->env, err));
    GNN_TRY(take_edges(s, lane, k, &count, err));
    GNN_TRY(gnn_link_batch_fill(item->edges, s->epoch, k, lane->edges, count, NULL, 0, err));
    const uint32_t nodes = item->edges->view.node_count;
    if (lane->sampler != NULL)
        GNN_TRY(gnn_sampler_sample(lane->sampler, s->epoch, k, item->edges->nodes, nodes, item->blocks, err));
    else
        item->plain = (struct gnn_batch_view){
            .epoch = s->epoch, .batch = k, .seed_count = nodes, .node_count = nodes, .nodes = item->edges->nodes};
    lane->batches++;
    lane->nodes += nodes;
    lane->digest += item->edges->digest;
    return GNN_OK;
}

void gnn_link_sampling_counters(const struct gnn_link_sampling *s, struct gnn_sample_counters *out)
{
    *out = (struct gnn_sample_counters){.batches = 0};
    for (uint32_t w = 0; w < s->workers; w++) {
        const struct lane *const lane = &s->lanes[w];
        struct gnn_sample_counters now = {.sampled_nodes = lane->nodes}, before = {.batches = 0};
        if (lane->sampler != NULL) {
            gnn_sampler_counters(lane->sampler, &now);
            before = lane->before;
        }
        out->batches += lane->batches;
        out->sampled_nodes += now.sampled_nodes - before.sampled_nodes;
        out->sampled_edges += now.sampled_edges - before.sampled_edges;
        out->batch_digest += lane->digest + now.batch_digest - before.batch_digest; /* a sum modulo 2^64 */
        out->spot_digest += now.spot_digest - before.spot_digest;
    }
}

/* ---- sizes ---- */

uint64_t gnn_link_item_bytes(const struct gnn_env *env)
{
    const struct gnn_workload *const load = env->workload;
    const uint64_t edges = gnn_link_batch_bytes(&load->negatives, env->dataset->node_count, load->batch_size);
    return gnn_add_bytes(edges, load->layers > 0 ? gnn_batch_reserved_bytes(env->dataset, load) : 0);
}

uint64_t gnn_link_sampling_bytes(const struct gnn_env *env, uint32_t workers)
{
    const struct gnn_workload *const load = env->workload;
    uint64_t lane = (uint64_t)load->batch_size * (3 * sizeof(uint64_t) + sizeof(struct gnn_triple));
    if (load->layers > 0)
        lane = gnn_add_bytes(lane, gnn_sampler_bytes(env->dataset, load));
    return gnn_mul_bytes(workers, lane);
}

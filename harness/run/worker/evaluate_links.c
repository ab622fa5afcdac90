/* SPDX-License-Identifier: MIT */
#include "harness/run/worker/evaluate_links.h"

#include "harness/base/rng.h"
#include "harness/graph/triples.h"
#include "harness/model/ranking.h"
#include "harness/system/rows.h"
#include "harness/system/sampling.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    QUERIES_MAX = 256,    /* edges scored at once */
    SCORES_MAX = 1 << 24, /* scores held at once */
    SEEDS_MAX = 512,      /* of a batch of the encoder's inference */
    SAMPLED_BATCH = 10000 /* edges that share sampled candidates */
};

struct evaluation {
    const struct gnn_env *env;
    const struct gnn_system *system;
    void *state; /* the system's */
    uint32_t candidates;
    gnn_real *vectors;       /* (node_count, dim) behind the encoder, on the back-end */
    gnn_real *queries;       /* (QUERIES_MAX, dim) */
    gnn_real *scores, *rows; /* (query_rows, columns), on the back-end and on the host */
    uint32_t query_rows;     /* edges scored at once */
    struct gnn_rows host;    /* where the system's vectors are read, for a device */
    struct gnn_known *known; /* NULL: candidates are sampled */
    struct gnn_link_batch *sampled;
};

/* ---- sizes ---- */

static uint32_t columns_of(const struct gnn_env *env, uint32_t candidates)
{
    return candidates > 0 ? candidates : env->dataset->node_count;
}

static uint32_t query_rows(const struct gnn_env *env, uint32_t candidates)
{
    return gnn_max_u32(gnn_min_u32(QUERIES_MAX, SCORES_MAX / columns_of(env, candidates)), 1);
}

static struct gnn_negative_config sampled_config(const struct gnn_env *env, uint32_t candidates)
{
    return (struct gnn_negative_config){
        .seed = gnn_rng_fork(env->workload->seed, "evaluate"), .count = candidates, .chunks = 1, .degree_share = 0.5};
}

uint64_t gnn_evaluate_links_bytes(const struct gnn_env *env, uint32_t candidates)
{
    const struct gnn_dataset *const d = env->dataset;
    const struct gnn_negative_config sampled = sampled_config(env, candidates);
    const uint64_t scores = (uint64_t)query_rows(env, candidates) * columns_of(env, candidates) * sizeof(gnn_real);
    const uint64_t others = candidates == 0 ? gnn_known_bytes(d)
                                            : gnn_link_batch_bytes(&sampled, d->node_count, SAMPLED_BATCH) +
                                                  (uint64_t)candidates * d->row_bytes;
    return gnn_add_bytes(gnn_mul_bytes(d->node_count, d->row_bytes), gnn_add_bytes(2 * scores, others));
}

/* ---- vectors of all nodes ---- */

/* Vectors of these nodes, where ops read them. */
static enum gnn_status bring_vectors(struct evaluation *e, const gnn_node *nodes, uint32_t count, gnn_real *to,
                                     struct gnn_err *err)
{
    struct gnn_tensor *const t = e->env->tensor;
    if (!gnn_env_on_device(e->env))
        return e->system->read_embeddings(e->state, nodes, count, to, err);
    GNN_TRY(gnn_rows_reserve(&e->host, count, err));
    GNN_TRY(e->system->read_embeddings(e->state, nodes, count, e->host.data, err));
    t->ops->upload(t, to, e->host.data, (uint64_t)count * e->env->dataset->row_bytes);
    return GNN_OK;
}

/* Vectors as they are. */
static enum gnn_status read_vectors(struct evaluation *e, struct gnn_err *err)
{
    const struct gnn_dataset *const d = e->env->dataset;
    gnn_node nodes[QUERIES_MAX];
    for (uint32_t first = 0; first < d->node_count; first += QUERIES_MAX) {
        const uint32_t count = gnn_min_u32(QUERIES_MAX, d->node_count - first);
        for (uint32_t i = 0; i < count; i++)
            nodes[i] = first + i;
        GNN_TRY(bring_vectors(e, nodes, count, e->vectors + (uint64_t)first * d->dim, err));
    }
    return GNN_OK;
}

/* What the encoder needs besides. */
struct inference {
    struct gnn_file *file;
    struct gnn_map *map;
    struct gnn_neighbour_source *source;
    struct gnn_sampler *sampler;
    struct gnn_batch *batch;
    struct gnn_rows rows;
};

static enum gnn_status open_inference(const struct evaluation *e, struct inference *in, struct gnn_err *err)
{
    struct gnn_world *const w = e->env->world;
    const struct gnn_workload *const load = e->env->workload;
    struct gnn_sampler_config config = {
        .seed = gnn_rng_fork(load->seed, "evaluate"), .layers = load->layers, .floyd_biased = e->env->floyd_biased};
    memcpy(config.fanout, load->fanout, sizeof config.fanout);
    gnn_rows_init(&in->rows, e->env, "evaluation inputs", GNN_ROWS_TENSOR);
    GNN_TRY(gnn_file_open(w, e->env->dataset->indices_path, GNN_OPEN_READ, &in->file, err));
    GNN_TRY(gnn_map_open(w, in->file, GNN_MAP_RANDOM, &in->map, err));
    GNN_TRY(gnn_source_mapped(w, in->map, e->env->dataset->id_bytes, &in->source, err));
    GNN_TRY(gnn_sampler_open(w, &config, e->env->dataset, in->source, &in->sampler, err));
    return gnn_batch_open(w, &in->batch, err);
}

static void close_inference(const struct evaluation *e, struct inference *in)
{
    struct gnn_world *const w = e->env->world;
    gnn_rows_close(&in->rows);
    gnn_batch_close(w, in->batch);
    gnn_sampler_close(in->sampler);
    gnn_source_close(in->source);
    gnn_map_close(w, in->map);
    gnn_file_close(w, in->file);
}

static enum gnn_status encode_all(struct evaluation *e, struct inference *in, struct gnn_err *err)
{
    const struct gnn_dataset *const d = e->env->dataset;
    struct gnn_tensor *const t = e->env->tensor;
    gnn_node nodes[SEEDS_MAX];
    for (uint32_t first = 0; first < d->node_count; first += SEEDS_MAX) {
        const uint32_t count = gnn_min_u32(SEEDS_MAX, d->node_count - first);
        const gnn_real *out;
        for (uint32_t i = 0; i < count; i++)
            nodes[i] = first + i;
        GNN_TRY(gnn_sampler_sample(in->sampler, 0, first / SEEDS_MAX, nodes, count, in->batch, err));
        const struct gnn_batch_view *const view = gnn_batch_view(in->batch);
        GNN_TRY(gnn_rows_reserve(&in->rows, view->node_count, err));
        GNN_TRY(bring_vectors(e, view->nodes, view->node_count, in->rows.data, err));
        GNN_TRY(gnn_model_encode(e->env->model, view, in->rows.data, false, &out, err));
        t->ops->copy(t, e->vectors + (uint64_t)first * d->dim, out, (uint64_t)count * d->dim);
        t->ops->synchronize(t); /* the next batch's lists lie where this one's do */
    }
    return GNN_OK;
}

static enum gnn_status find_vectors(struct evaluation *e, struct gnn_err *err)
{
    if (e->env->workload->layers == 0)
        return read_vectors(e, err);
    struct inference in = {.file = NULL};
    enum gnn_status status = open_inference(e, &in, err);
    GNN_NEXT(status, encode_all(e, &in, err));
    close_inference(e, &in);
    return status;
}

/* ---- ranking ---- */

struct ranks {
    struct gnn_ranking filtered, raw;
    uint64_t own_first; /* queries whose own end ranks first */
};

/* Scores of these edges' queries against x, on the host. */
static enum gnn_status score(struct evaluation *e, uint32_t side, const uint32_t *ends, const uint32_t *relations,
                             uint32_t count, struct gnn_mat x, struct gnn_err *err)
{
    struct gnn_tensor *const t = e->env->tensor;
    const struct gnn_mat q = {e->queries, count, e->env->dataset->dim}, scores = {e->scores, count, x.rows};
    GNN_TRY(gnn_link_queries(e->env->link, side, e->vectors, ends, relations, count, q, err));
    gnn_link_scores(e->env->link, q, x, scores);
    t->ops->synchronize(t);
    t->ops->download(t, e->rows, e->scores, (uint64_t)count * x.rows * sizeof *e->rows);
    return GNN_OK;
}

static gnn_node end_of(const struct gnn_triple *edge, uint32_t side)
{
    return side == 0 ? edge->source : edge->target;
}

/* Returns whether the node that the query starts from ranks first: it makes no known edge, and no other candidate has a
 * higher score. Its score is at least that of the true edge. */
static bool own_end_first(const struct evaluation *e, uint32_t side, gnn_node own, const gnn_real *scores,
                          const struct gnn_triple *known, uint64_t known_count)
{
    uint64_t above = 0;
    for (uint32_t x = 0; x < e->env->dataset->node_count; x++)
        above += scores[x] > scores[own];
    for (uint64_t i = 0; i < known_count; i++) {
        if (end_of(&known[i], side) == own)
            return false;
        above -= scores[end_of(&known[i], side)] > scores[own];
    }
    return above == 0;
}

/* The true edge is among all nodes, and among the known ones. */
static void rank_among_all(const struct evaluation *e, uint32_t side, const struct gnn_triple *edge,
                           const gnn_real *scores, struct ranks *out)
{
    uint64_t known = 0, above_known = 0;
    const gnn_node own = end_of(edge, 1 - side);
    const gnn_real positive = scores[end_of(edge, side)];
    const uint64_t above = gnn_rank_count(scores, e->env->dataset->node_count, positive);
    const struct gnn_triple *const edges = gnn_known_find(e->known, side, own, edge->relation, &known);
    for (uint64_t i = 0; i < known; i++)
        above_known += gnn_ranks_above(scores[end_of(&edges[i], side)], positive);
    assert(above_known >= 1);
    assert(above_known <= above);
    gnn_ranking_add(&out->raw, above);
    gnn_ranking_add(&out->filtered, above - above_known + 1);
    if (scores[own] >= positive)
        out->own_first += own_end_first(e, side, own, scores, edges, known);
}

static enum gnn_status rank_side(struct evaluation *e, uint32_t side, const struct gnn_triple *edges, uint32_t count,
                                 struct ranks *out, struct gnn_err *err)
{
    uint32_t ends[QUERIES_MAX] = {0}, relations[QUERIES_MAX] = {0};
    const uint32_t nodes = e->env->dataset->node_count;
    assert(count <= QUERIES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        ends[i] = end_of(&edges[i], 1 - side);
        relations[i] = edges[i].relation;
    }
    GNN_TRY(score(e, side, ends, relations, count, (struct gnn_mat){e->vectors, nodes, e->env->dataset->dim}, err));
    for (uint32_t i = 0; i < count; i++)
        rank_among_all(e, side, &edges[i], e->rows + (uint64_t)i * nodes, out);
    return GNN_OK;
}

/* Edges [first, first + count) of a sampled batch against its candidates; x: their vectors. */
static enum gnn_status rank_sampled(struct evaluation *e, uint32_t side, const struct gnn_triple *edges, uint32_t first,
                                    uint32_t count, struct gnn_mat x, struct ranks *out, struct gnn_err *err)
{
    uint32_t ends[QUERIES_MAX] = {0}, answers[QUERIES_MAX] = {0}, relations[QUERIES_MAX] = {0};
    gnn_real positive[QUERIES_MAX];
    struct gnn_tensor *const t = e->env->tensor;
    const uint32_t dim = e->env->dataset->dim;
    const uint32_t *const own = e->sampled->view.own[side];
    for (uint32_t i = 0; i < count; i++) {
        ends[i] = end_of(&edges[first + i], 1 - side);
        answers[i] = end_of(&edges[first + i], side);
        relations[i] = edges[first + i].relation;
    }
    GNN_TRY(score(e, side, ends, relations, count, x, err));
    /* The scores have been downloaded: their room takes the other ends and what they score. */
    gnn_real *const others = e->scores, *const pairs = others + (uint64_t)count * dim;
    t->ops->gather_rows(t, others, e->vectors, dim, answers, count, dim);
    gnn_link_pair_scores(e->env->link, (struct gnn_mat){e->queries, count, dim}, (struct gnn_mat){others, count, dim},
                         pairs);
    t->ops->synchronize(t);
    t->ops->download(t, positive, pairs, count * sizeof *positive);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t rank = 1;
        for (uint32_t j = 0; j < x.rows; j++)
            rank += own[j] != first + i && gnn_ranks_above(e->rows[(uint64_t)i * x.rows + j], positive[i]);
        gnn_ranking_add(&out->filtered, rank);
    }
    return GNN_OK;
}

static enum gnn_status rank_sampled_batch(struct evaluation *e, uint64_t number, const struct gnn_triple *edges,
                                          uint32_t count, gnn_real *vectors, struct ranks *out, struct gnn_err *err)
{
    struct gnn_tensor *const t = e->env->tensor;
    const uint32_t dim = e->env->dataset->dim;
    const struct gnn_mat x = {vectors, e->candidates, dim};
    GNN_TRY(gnn_link_batch_fill(e->sampled, 0, number, edges, count, NULL, 0, err));
    for (uint32_t side = 0; side < 2; side++) {
        gnn_node *nodes;
        GNN_NEW(nodes, e->candidates, err, "candidates");
        for (uint32_t j = 0; j < e->candidates; j++)
            nodes[j] = e->sampled->nodes[e->sampled->view.negative[side][j]];
        t->ops->gather_rows(t, vectors, e->vectors, dim, nodes, e->candidates, dim);
        enum gnn_status status = GNN_OK;
        for (uint32_t at = 0; at < count && status == GNN_OK; at += e->query_rows)
            status = rank_sampled(e, side, edges, at, gnn_min_u32(e->query_rows, count - at), x, out, err);
        free(nodes);
        GNN_TRY(status);
    }
    return GNN_OK;
}

static enum gnn_status check_stop(const struct evaluation *e, struct gnn_err *err)
{
    if (e->env->stop != NULL && atomic_load(e->env->stop))
        return gnn_fail(err, GNN_ECANCELLED, "stopped while evaluating");
    return GNN_OK;
}

static enum gnn_status rank_split(struct evaluation *e, const struct gnn_triple *edges, uint32_t count,
                                  struct ranks *out, struct gnn_err *err)
{
    struct gnn_tensor *const t = e->env->tensor;
    if (e->candidates == 0) {
        for (uint32_t at = 0; at < count; at += e->query_rows)
            for (uint32_t side = 0; side < 2; side++) {
                GNN_TRY(check_stop(e, err));
                GNN_TRY(rank_side(e, side, edges + at, gnn_min_u32(e->query_rows, count - at), out, err));
            }
        return GNN_OK;
    }
    void *vectors = NULL;
    GNN_TRY(t->ops->alloc(t, "candidates", (uint64_t)e->candidates * e->env->dataset->row_bytes, &vectors, err));
    enum gnn_status status = GNN_OK;
    for (uint32_t at = 0; at < count && status == GNN_OK; at += SAMPLED_BATCH) {
        status = check_stop(e, err);
        GNN_NEXT(status, rank_sampled_batch(e, at / SAMPLED_BATCH, edges + at, gnn_min_u32(SAMPLED_BATCH, count - at),
                                            vectors, out, err));
    }
    t->ops->free(t, vectors);
    return status;
}

/* ---- both splits ---- */

static enum gnn_status evaluate_split(struct evaluation *e, enum gnn_triple_split split, struct gnn_link_quality *out,
                                      struct gnn_err *err)
{
    struct gnn_triple *edges = NULL;
    struct ranks ranks = {.raw = {.queries = 0}};
    GNN_TRY(gnn_triples_load(e->env->world, e->env->dataset, split, &edges, err));
    const enum gnn_status status = rank_split(e, edges, e->env->dataset->triple_count[split], &ranks, err);
    gnn_mem_free(e->env->world, edges);
    const struct gnn_ranking *const r = &ranks.filtered;
    *out = (struct gnn_link_quality){.mrr = gnn_ranking_mrr(r),
                                     .raw_mrr = gnn_ranking_mrr(&ranks.raw),
                                     .hits_1 = gnn_ranking_share(r, (double)r->hits_1),
                                     .hits_3 = gnn_ranking_share(r, (double)r->hits_3),
                                     .hits_10 = gnn_ranking_share(r, (double)r->hits_10),
                                     .queries = r->queries,
                                     .own_first = e->candidates == 0 ? ranks.own_first : GNN_UNKNOWN};
    return status;
}

static enum gnn_status take_memory(const struct evaluation *e, uint64_t reals, gnn_real **out, struct gnn_err *err)
{
    void *data = NULL;
    GNN_TRY(
        e->env->tensor->ops->alloc(e->env->tensor, "ranks of edges", gnn_mul_bytes(reals, sizeof **out), &data, err));
    *out = data;
    return GNN_OK;
}

static enum gnn_status open_evaluation(struct evaluation *e, struct gnn_err *err)
{
    const struct gnn_dataset *const d = e->env->dataset;
    const uint64_t scores = (uint64_t)e->query_rows * gnn_max_u32(columns_of(e->env, e->candidates), d->dim + 1);
    GNN_TRY(take_memory(e, (uint64_t)d->node_count * d->dim, &e->vectors, err));
    GNN_TRY(take_memory(e, (uint64_t)QUERIES_MAX * d->dim, &e->queries, err));
    GNN_TRY(take_memory(e, scores, &e->scores, err));
    GNN_MEM_NEW(e->env->world, e->rows, scores, "ranks of edges", GNN_MEM_PLAIN, err);
    if (e->candidates == 0)
        return gnn_known_open(e->env->world, d, &e->known, err);
    const struct gnn_negative_config config = sampled_config(e->env, e->candidates);
    return gnn_link_batch_open(e->env->world, &config, d->node_count, SAMPLED_BATCH, &e->sampled, err);
}

static void close_evaluation(struct evaluation *e)
{
    struct gnn_tensor *const t = e->env->tensor;
    gnn_rows_close(&e->host);
    gnn_link_batch_close(e->sampled);
    gnn_known_close(e->known);
    gnn_mem_free(e->env->world, e->rows);
    t->ops->free(t, e->scores);
    t->ops->free(t, e->queries);
    t->ops->free(t, e->vectors);
}

enum gnn_status gnn_evaluate_links(const struct gnn_env *env, const struct gnn_system *system, void *state,
                                   uint32_t candidates, struct gnn_link_quality *valid, struct gnn_link_quality *test,
                                   struct gnn_err *err)
{
    struct evaluation e = {.env = env,
                           .system = system,
                           .state = state,
                           .candidates = candidates,
                           .query_rows = query_rows(env, candidates)};
    assert(env->link != NULL);
    gnn_rows_init(&e.host, env, "evaluated vectors", GNN_ROWS_HOST);
    assert(system->read_embeddings != NULL);
    enum gnn_status status = open_evaluation(&e, err);
    GNN_NEXT(status, find_vectors(&e, err));
    GNN_NEXT(status, evaluate_split(&e, GNN_TRIPLES_VALID, valid, err));
    GNN_NEXT(status, evaluate_split(&e, GNN_TRIPLES_TEST, test, err));
    close_evaluation(&e);
    return status;
}

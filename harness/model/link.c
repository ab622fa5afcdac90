/* SPDX-License-Identifier: MIT */
#include "harness/model/link.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

const char *const gnn_decoder_words[] = {"distmult", "complex", "transe", NULL}; /* in the order of the enum */

const char *const gnn_relation_start_words[] = {"identity", "random", NULL};

/* Workspaces of a chunk: the query's two inputs, the query, the other end; their gradients; negatives and scores. */
enum {
    END,
    RELATION,
    QUERY,
    OTHER,
    D_END,
    D_RELATION,
    D_QUERY,
    D_OTHER,
    NEGATIVES,
    D_NEGATIVES,
    SCORES,
    KEPT,
    PAIRS,
    WORKS
};

struct gnn_link {
    struct gnn_tensor *tensor;
    struct gnn_link_config config;
    struct gnn_link_table relations[2];
    struct {
        gnn_real *data;
        uint64_t count; /* reals */
    } work[WORKS];
    uint64_t step;
};

/* ---- opening ---- */

static enum gnn_status check_config(const struct gnn_tensor *t, const struct gnn_link_config *config,
                                    struct gnn_err *err)
{
    if (t->ops->link == NULL)
        return gnn_fail(err, GNN_ENOTSUP, "the %s back-end cannot predict links; use --compute cpu", t->ops->name);
    if ((unsigned)config->decoder >= GNN_DECODER_KINDS)
        return gnn_fail(err, GNN_EUSAGE, "decoder %u does not exist; use distmult, complex or transe",
                        (unsigned)config->decoder);
    if ((unsigned)config->optimizer >= GNN_OPTIMIZERS)
        return gnn_fail(err, GNN_EUSAGE, "optimizer %u does not exist; use adam or adagrad",
                        (unsigned)config->optimizer);
    if (config->dim < 1 || config->dim > GNN_DIM_MAX)
        return gnn_fail(err, GNN_EUSAGE, "embedding dimension %u: must be 1 to %d", config->dim, GNN_DIM_MAX);
    if (config->decoder == GNN_DECODER_COMPLEX && config->dim % 2 != 0)
        return gnn_fail(err, GNN_EUSAGE, "embedding dimension %u: complex takes an even one, half of it imaginary",
                        config->dim);
    if (config->relations < 1)
        return gnn_fail(err, GNN_EUSAGE, "no relations: the dataset must have at least one");
    if (!(config->lr >= 0 && isfinite(config->lr)))
        return gnn_fail(err, GNN_EUSAGE, "learning rate %g: must be 0 or more", config->lr);
    if (!(config->n3 >= 0 && isfinite(config->n3)))
        return gnn_fail(err, GNN_EUSAGE, "penalty on long vectors %g: must be 0 or more", config->n3);
    if (config->n3 > 0 && t->ops->link->cubes_back == NULL)
        return gnn_fail(err, GNN_ENOTSUP,
                        "the %s back-end has no penalty on long vectors; use --compute cpu, or --n3 0", t->ops->name);
    return GNN_OK;
}

/* Relations begin as the one that changes nothing: 1 of a product, 0 of a sum. */
static void set_identity(struct gnn_tensor *t, enum gnn_decoder decoder, const struct gnn_link_table *table)
{
    const uint64_t count = (uint64_t)table->rows * table->cols;
    t->ops->fill(t, table->value, count, decoder == GNN_DECODER_TRANSE ? 0 : 1);
    for (uint32_t r = 0; decoder == GNN_DECODER_COMPLEX && r < table->rows; r++)
        t->ops->fill(t, table->value + (uint64_t)r * table->cols + table->cols / 2, table->cols / 2, 0);
}

static enum gnn_status set_random(struct gnn_tensor *t, uint64_t key, const struct gnn_link_table *table,
                                  struct gnn_err *err)
{
    const uint64_t count = (uint64_t)table->rows * table->cols;
    struct gnn_rng rng = gnn_rng_at(key);
    gnn_real *values;
    GNN_NEW(values, count, err, "vectors of relations");
    for (uint64_t k = 0; k < count; k++)
        values[k] = (gnn_real)(2 * gnn_rng_unit(&rng) - 1);
    t->ops->upload(t, table->value, values, count * sizeof *values);
    t->ops->synchronize(t);
    free(values);
    return GNN_OK;
}

/* index: 0 for (s, r), 1 for its inverse. */
static enum gnn_status open_relations(struct gnn_link *link, uint32_t index, struct gnn_err *err)
{
    struct gnn_link_table *const table = &link->relations[index];
    struct gnn_tensor *t = link->tensor;
    const uint32_t states = gnn_optimizer_states(link->config.optimizer);
    const uint64_t count = (uint64_t)link->config.relations * link->config.dim;
    void *data = NULL;
    GNN_TRY(t->ops->alloc(t, "relations", gnn_mul_bytes(count, (2 + states) * sizeof(gnn_real)), &data, err));
    table->value = data;
    table->grad = table->value + count;
    table->state = table->grad + count;
    table->rows = link->config.relations;
    table->cols = link->config.dim;
    t->ops->fill(t, table->grad, count * (1 + states), 0);
    if (link->config.start == GNN_RELATIONS_RANDOM)
        return set_random(t, gnn_rng_fold(gnn_rng_fork(link->config.seed, "relations"), index), table, err);
    set_identity(t, link->config.decoder, table);
    return GNN_OK;
}

enum gnn_status gnn_link_open(struct gnn_tensor *tensor, const struct gnn_link_config *config, struct gnn_link **out,
                              struct gnn_err *err)
{
    struct gnn_link *link;
    GNN_TRY(check_config(tensor, config, err));
    GNN_NEW(link, 1, err, "link model");
    *link = (struct gnn_link){.tensor = tensor, .config = *config};
    enum gnn_status status = open_relations(link, 0, err);
    GNN_NEXT(status, open_relations(link, 1, err));
    return GNN_OPENED(status, link, out, gnn_link_close);
}

void gnn_link_close(struct gnn_link *link)
{
    if (link == NULL)
        return;
    struct gnn_tensor *t = link->tensor;
    for (uint32_t w = 0; w < WORKS; w++)
        t->ops->free(t, link->work[w].data);
    for (uint32_t k = 0; k < 2; k++)
        t->ops->free(t, link->relations[k].value);
    free(link);
}

struct gnn_link_table gnn_link_relations(const struct gnn_link *link, uint32_t index)
{
    assert(index < 2);
    return link->relations[index];
}

/* ---- workspaces ---- */

static void work_sizes(const struct gnn_link_config *config, uint64_t edges, uint64_t negatives, uint64_t *reals)
{
    const bool distances = config->decoder == GNN_DECODER_TRANSE;
    for (uint32_t w = END; w <= D_OTHER; w++)
        reals[w] = edges * config->dim;
    reals[NEGATIVES] = reals[D_NEGATIVES] = negatives * config->dim;
    reals[SCORES] = edges * negatives;
    reals[KEPT] = distances ? edges * negatives : 0;
    reals[PAIRS] = edges;
}

static enum gnn_status reserve(struct gnn_link *link, uint32_t work, uint64_t count, struct gnn_err *err)
{
    struct gnn_tensor *t = link->tensor;
    if (count <= link->work[work].count)
        return GNN_OK;
    t->ops->free(t, link->work[work].data);
    link->work[work].data = NULL;
    link->work[work].count = 0;
    void *data = NULL;
    GNN_TRY(t->ops->alloc(t, "link workspace", gnn_mul_bytes(count, sizeof(gnn_real)), &data, err));
    link->work[work].data = data;
    link->work[work].count = count;
    return GNN_OK;
}

static enum gnn_status reserve_chunk(struct gnn_link *link, uint64_t edges, uint64_t negatives, struct gnn_err *err)
{
    uint64_t reals[WORKS] = {0};
    work_sizes(&link->config, edges, negatives, reals);
    for (uint32_t w = 0; w < WORKS; w++)
        GNN_TRY(reserve(link, w, reals[w], err));
    return GNN_OK;
}

uint64_t gnn_link_bytes(const struct gnn_link_config *config, uint32_t chunk_edges, uint32_t negatives)
{
    uint64_t reals[WORKS] = {0};
    uint64_t sum = (uint64_t)config->relations * config->dim * 2 * (2 + gnn_optimizer_states(config->optimizer));
    work_sizes(config, chunk_edges, negatives, reals);
    for (uint32_t w = 0; w < WORKS; w++)
        sum = gnn_add_bytes(sum, reals[w]);
    return gnn_mul_bytes(sum, sizeof(gnn_real));
}

static struct gnn_mat work_mat(const struct gnn_link *link, uint32_t work, uint32_t rows)
{
    assert((uint64_t)rows * link->config.dim <= link->work[work].count);
    return (struct gnn_mat){link->work[work].data, rows, link->config.dim};
}

/* ---- one chunk, one side ---- */

struct chunk {
    uint32_t side;                  /* 1: negatives stand in the target's place */
    uint32_t edges, negatives;      /* how many */
    const uint32_t *asks, *answers; /* (edges) rows of the ends: the query's, and the one it is scored against */
    const uint32_t *relation;       /* (edges) */
    const uint32_t *negative, *own; /* (negatives) */
    const uint32_t *masked;         /* (edges) places in scores that do not count, or NULL */
    struct gnn_mat scores;          /* (edges, negatives) */
};

/* The table of relations of a side: targets are asked for by (s, r), sources by (d, r inverse). */
static struct gnn_link_table *side_table(struct gnn_link *link, uint32_t side)
{
    assert(side < 2);
    return &link->relations[1 - side];
}

static struct chunk chunk_of(const struct gnn_link *link, const struct gnn_link_view *view, uint32_t index,
                             uint32_t side)
{
    const uint32_t first = index * view->chunk_edges;
    const uint64_t negatives = gnn_link_chunk_first(view, index);
    assert(first < view->edge_count);
    struct chunk c = {.side = side,
                      .edges = gnn_link_chunk_edges(view, index),
                      .negatives = gnn_link_chunk_negatives(view, index),
                      .asks = view->end[1 - side] + first,
                      .answers = view->end[side] + first,
                      .relation = view->relation + first,
                      .negative = view->negative[side] + negatives,
                      .own = view->own[side] + negatives,
                      .masked = view->masked[side] != NULL ? view->masked[side] + first : NULL};
    c.scores = (struct gnn_mat){link->work[SCORES].data, c.edges, c.negatives};
    return c;
}

static void gather(struct gnn_tensor *t, struct gnn_mat out, const gnn_real *table, const uint32_t *rows)
{
    t->ops->gather_rows(t, out.data, table, out.cols, rows, out.rows, out.cols);
}

/* A score of minus infinity adds nothing to the loss and has no gradient. The place of a gradient that is not needed
 * yet holds the infinities. */
static void mask_scores(struct gnn_link *link, const struct chunk *c)
{
    struct gnn_tensor *t = link->tensor;
    const struct gnn_mat mask = {link->work[D_QUERY].data, c->edges, 1};
    t->ops->fill(t, mask.data, c->edges, -(gnn_real)INFINITY);
    t->ops->link->scatter_add(t, c->scores.data, c->masked, mask);
}

/* Scores of the chunk's edges (PAIRS) and of their negatives (SCORES, and KEPT for distances). */
static void score_chunk(struct gnn_link *link, const struct chunk *c, const gnn_real *h)
{
    struct gnn_tensor *t = link->tensor;
    const struct gnn_mat end = work_mat(link, END, c->edges), relation = work_mat(link, RELATION, c->edges);
    const struct gnn_mat q = work_mat(link, QUERY, c->edges), other = work_mat(link, OTHER, c->edges);
    const struct gnn_mat negatives = work_mat(link, NEGATIVES, c->negatives);
    gather(t, end, h, c->asks);
    gather(t, relation, side_table(link, c->side)->value, c->relation);
    gather(t, other, h, c->answers);
    gather(t, negatives, h, c->negative);
    t->ops->link->combine(t, link->config.decoder, q, end, relation);
    t->ops->link->pair_scores(t, link->config.decoder, link->work[PAIRS].data, q, other);
    gnn_link_scores(link, q, negatives, c->scores);
    if (link->config.decoder == GNN_DECODER_TRANSE)
        t->ops->copy(t, link->work[KEPT].data, c->scores.data, (uint64_t)c->edges * c->negatives);
    if (c->masked != NULL)
        mask_scores(link, c);
}

/* Adds the penalty's gradient to that of the edges' own vectors: both ends and the relation. */
static void penalise(struct gnn_link *link, const struct chunk *c)
{
    static const struct {
        uint32_t value, grad;
    } works[] = {{END, D_END}, {RELATION, D_RELATION}, {OTHER, D_OTHER}};
    struct gnn_tensor *const t = link->tensor;
    for (size_t w = 0; w < sizeof works / sizeof *works && link->config.n3 > 0; w++)
        t->ops->link->cubes_back(t, link->config.decoder, work_mat(link, works[w].grad, c->edges), link->config.n3,
                                 work_mat(link, works[w].value, c->edges));
}

/* The gradient of all scores lies in PAIRS and SCORES: brings it to queries, other ends, negatives and relations. */
static void score_chunk_back(struct gnn_link *link, const struct chunk *c, gnn_real *dh)
{
    struct gnn_tensor *t = link->tensor;
    const enum gnn_decoder decoder = link->config.decoder;
    const struct gnn_mat q = work_mat(link, QUERY, c->edges), dq = work_mat(link, D_QUERY, c->edges);
    const struct gnn_mat x = work_mat(link, NEGATIVES, c->negatives), dx = work_mat(link, D_NEGATIVES, c->negatives);
    const struct gnn_mat other = work_mat(link, OTHER, c->edges), d_other = work_mat(link, D_OTHER, c->edges);
    const struct gnn_mat end = work_mat(link, END, c->edges), d_end = work_mat(link, D_END, c->edges);
    const struct gnn_mat r = work_mat(link, RELATION, c->edges), dr = work_mat(link, D_RELATION, c->edges);
    gnn_real beta = 0;
    if (decoder == GNN_DECODER_TRANSE) {
        const struct gnn_mat kept = {link->work[KEPT].data, c->edges, c->negatives};
        t->ops->link->distances_back(t, c->scores, kept, q, x, dq, dx);
        beta = 1;
    }
    t->ops->gemm(t, false, false, 1, c->scores, x, beta, dq);
    t->ops->gemm(t, true, false, 1, c->scores, q, beta, dx);
    t->ops->link->pair_scores_back(t, decoder, dq, d_other, link->work[PAIRS].data, q, other);
    t->ops->link->combine_back(t, decoder, d_end, dr, dq, end, r);
    penalise(link, c);
    t->ops->link->scatter_add(t, dh, c->asks, d_end);
    t->ops->link->scatter_add(t, dh, c->answers, d_other);
    t->ops->link->scatter_add(t, dh, c->negative, dx);
    t->ops->link->scatter_add(t, side_table(link, c->side)->grad, c->relation, dr);
}

/* ---- a step ---- */

static enum gnn_status check_device(struct gnn_tensor *t, struct gnn_err *err)
{
    return t->ops->check != NULL ? t->ops->check(t, err) : GNN_OK;
}

enum gnn_status gnn_link_train(struct gnn_link *link, const struct gnn_link_view *view, const gnn_real *h, gnn_real *dh,
                               double *loss, bool *finite, struct gnn_err *err)
{
    struct gnn_tensor *t = link->tensor;
    const uint64_t relation_reals = (uint64_t)link->config.relations * link->config.dim;
    assert(view->edge_count > 0);
    assert(view->chunk_edges > 0);
    assert(view->negative_count > 0);
    GNN_TRY(reserve_chunk(link, gnn_min_u32(view->chunk_edges, view->edge_count), view->negative_count, err));
    *loss = 0;
    t->ops->fill(t, dh, (uint64_t)view->node_count * link->config.dim, 0);
    for (uint32_t k = 0; k < 2; k++)
        t->ops->fill(t, link->relations[k].grad, relation_reals, 0);
    for (uint32_t index = 0; index < gnn_link_chunks(view); index++)
        for (uint32_t side = 0; side < 2; side++) {
            const struct chunk c = chunk_of(link, view, index, side);
            score_chunk(link, &c, h);
            t->ops->link->loss(t, c.scores, link->work[PAIRS].data, c.own, loss);
            score_chunk_back(link, &c, dh);
        }
    link->step++;
    for (uint32_t k = 0; k < 2; k++)
        gnn_optimizer_step(t, link->config.optimizer, link->config.lr, link->step, link->relations[k].value,
                           link->relations[k].grad, link->relations[k].state, relation_reals);
    t->ops->synchronize(t);
    GNN_TRY(check_device(t, err));
    *finite = t->no_values || isfinite(*loss);
    return GNN_OK;
}

void gnn_link_set_step(struct gnn_link *link, uint64_t step)
{
    link->step = step;
}

/* ---- scoring ---- */

enum gnn_status gnn_link_queries(struct gnn_link *link, uint32_t side, const gnn_real *h, const uint32_t *end,
                                 const uint32_t *relation, uint32_t count, struct gnn_mat q, struct gnn_err *err)
{
    struct gnn_tensor *t = link->tensor;
    assert(q.rows == count);
    assert(q.cols == link->config.dim);
    GNN_TRY(reserve(link, END, (uint64_t)count * link->config.dim, err));
    GNN_TRY(reserve(link, RELATION, (uint64_t)count * link->config.dim, err));
    const struct gnn_mat a = work_mat(link, END, count), r = work_mat(link, RELATION, count);
    gather(t, a, h, end);
    gather(t, r, side_table(link, side)->value, relation);
    t->ops->link->combine(t, link->config.decoder, q, a, r);
    return GNN_OK;
}

void gnn_link_scores(struct gnn_link *link, struct gnn_mat q, struct gnn_mat x, struct gnn_mat scores)
{
    struct gnn_tensor *t = link->tensor;
    t->ops->gemm(t, false, true, 1, q, x, 0, scores);
    if (link->config.decoder == GNN_DECODER_TRANSE)
        t->ops->link->distances(t, scores, q, x);
}

void gnn_link_pair_scores(struct gnn_link *link, struct gnn_mat q, struct gnn_mat x, gnn_real *out)
{
    link->tensor->ops->link->pair_scores(link->tensor, link->config.decoder, out, q, x);
}

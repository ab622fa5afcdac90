/* SPDX-License-Identifier: MIT */
/* Link prediction on the back-ends against what PyTorch computed (make_golden_link.py): scores of edges and of their
 * negatives on both sides, losses, gradients of vectors and relations, and what the harness's training stage makes of
 * vectors, relations and the optimiser's state in five steps, each with rows of its own. */
#include "harness/system/link_training.h"
#include "tests/support/device_tensor.h"
#include "tests/support/measured_world.h"
#include "tests/support/must.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VERSION = 2, STEPS_MAX = 8, NODES_MAX = 32, DIM_MAX = 16, LIST_MAX = 64, REALS_MAX = NODES_MAX * DIM_MAX };

/* An entry may be off by this part of itself plus a tenth of this part of the largest entry beside it. A fifth of each
 * is enough on the machine where they were made. */
static const struct tolerances {
    double score;    /* of sums of six products; TransE's candidates come from a difference of squares */
    double loss;     /* of sums of 14 logarithms */
    double gradient; /* of sums of some dozens of terms; after the first step of vectors that are off themselves */
    double end;      /* of five steps, each of which divides by a gradient's size: rounding of a short one tells */
} tolerance = {.score = 1e-5, .loss = 5e-6, .gradient = 5e-5, .end = 5e-5};

/* ---- reading ---- */

struct header {
    char magic[8];
    uint32_t version, decoder, optimizer, dim, relations, nodes, edges, chunk_edges, negatives, steps;
    double lr;
    char generator[96];
};
_Static_assert(sizeof(struct header) == 152, "as make_golden_link.py packs it");

enum { VECTORS, FORWARD, INVERSE, TABLES }; /* relations of (s, r), and of the inverse */

struct golden_step {
    uint32_t end[2][LIST_MAX], relation[LIST_MAX];
    uint32_t negative[2][LIST_MAX], own[2][LIST_MAX];
    double positive[2][LIST_MAX], candidate[2][LIST_MAX];
    double loss, grad[TABLES][REALS_MAX];
};

struct golden {
    const char *path;
    struct header header;
    float start[TABLES][REALS_MAX];
    struct golden_step step[STEPS_MAX];
    double end[TABLES][REALS_MAX], moment[2][REALS_MAX];
};

static uint32_t rows_of(const struct header *h, int table)
{
    return table == VECTORS ? h->nodes : h->relations;
}

/* Negatives of a side, all chunks together. */
static uint32_t negatives_of(const struct header *h)
{
    return (uint32_t)gnn_div_up(h->edges, h->chunk_edges) * h->negatives;
}

static void take(FILE *file, void *to, uint64_t count, size_t item_bytes, uint64_t room)
{
    assert_true(count <= room);
    assert_int_equal(fread(to, item_bytes, count, file), count);
}

static void read_header(struct golden *g, FILE *file)
{
    struct header *const h = &g->header;
    take(file, h, 1, sizeof *h, 1);
    if (memcmp(h->magic, "GNNLINK", 8) != 0 || h->version != VERSION)
        fail_msg("%s: not a golden file of version %d; run tests/golden/make_golden_link.py", g->path, VERSION);
    assert_true(h->steps <= STEPS_MAX);
    assert_true(h->nodes <= NODES_MAX && h->relations <= NODES_MAX && h->dim <= DIM_MAX);
    assert_true(h->edges <= NODES_MAX && h->negatives <= NODES_MAX);
    (void)printf("%s: %s\n", g->path, h->generator);
}

static void read_tables(const struct header *h, FILE *file, double tables[TABLES][REALS_MAX])
{
    for (int t = 0; t < TABLES; t++)
        take(file, tables[t], (uint64_t)rows_of(h, t) * h->dim, sizeof(double), REALS_MAX);
}

static void read_step(const struct header *h, FILE *file, struct golden_step *s)
{
    for (int k = 0; k < 3; k++)
        take(file, k < 2 ? s->end[k] : s->relation, h->edges, sizeof(uint32_t), LIST_MAX);
    for (int side = 0; side < 2; side++) {
        take(file, s->negative[side], negatives_of(h), sizeof(uint32_t), LIST_MAX);
        take(file, s->own[side], negatives_of(h), sizeof(uint32_t), LIST_MAX);
    }
    for (int side = 0; side < 2; side++) {
        take(file, s->positive[side], h->edges, sizeof(double), LIST_MAX);
        take(file, s->candidate[side], (uint64_t)h->edges * h->negatives, sizeof(double), LIST_MAX);
    }
    take(file, &s->loss, 1, sizeof s->loss, 1);
    read_tables(h, file, s->grad);
}

static struct golden *read_golden(const char *path)
{
    struct golden *const g = calloc(1, sizeof *g);
    assert_non_null(g);
    g->path = path;
    FILE *const file = fopen(path, "rbe");
    if (file == NULL)
        fail_msg("%s is missing: run the tests from the repository's root", path);
    read_header(g, file);
    const struct header *const h = &g->header;
    for (int t = 0; t < TABLES; t++)
        take(file, g->start[t], (uint64_t)rows_of(h, t) * h->dim, sizeof(float), REALS_MAX);
    for (uint32_t k = 0; k < h->steps; k++)
        read_step(h, file, &g->step[k]);
    read_tables(h, file, g->end);
    for (uint32_t m = 0; m < gnn_optimizer_states((enum gnn_optimizer)h->optimizer); m++)
        take(file, g->moment[m], (uint64_t)h->nodes * h->dim, sizeof(double), REALS_MAX);
    assert_int_equal(fgetc(file), EOF);
    (void)fclose(file);
    return g;
}

/* ---- a run ---- */

/* The tables of all nodes lie on the host; a step has the rows of its nodes, as a system brings them. */
struct learner {
    const struct golden *golden;
    const struct golden_step *step;
    struct toy_memory memory;
    struct gnn_dataset dataset;
    struct gnn_workload load;
    struct gnn_link_config config;
    struct gnn_env env;
    struct gnn_link_training training;
    struct gnn_err err;
    float table[GNN_EMBEDDING_TABLES_MAX][REALS_MAX];
    gnn_node nodes[NODES_MAX]; /* of this step, in order of arrival */
    uint32_t local[NODES_MAX]; /* by node: its row in this step, or GNN_NODE_NONE */
    uint32_t end[2][LIST_MAX], negative[2][LIST_MAX];
    struct gnn_link_batch edges; /* nothing but its view and its nodes */
};

static void learner_open(struct learner *l, const struct golden *g, const struct gnn_tensor_ops *ops,
                         struct gnn_world *world)
{
    const struct header *const h = &g->header;
    memset(l, 0, sizeof *l);
    l->golden = g;
    l->dataset.dim = h->dim;
    l->dataset.row_bytes = (uint32_t)(h->dim * sizeof(float));
    l->config = (struct gnn_link_config){.decoder = (enum gnn_decoder)h->decoder,
                                         .optimizer = (enum gnn_optimizer)h->optimizer,
                                         .dim = h->dim,
                                         .relations = h->relations,
                                         .lr = h->lr};
    l->load.task = GNN_TASK_LINK;
    l->env = (struct gnn_env){.world = world,
                              .dataset = &l->dataset,
                              .workload = &l->load,
                              .tensor = toy_tensor_open(ops, &l->memory, 1),
                              .link_config = &l->config};
    must(gnn_link_open(l->env.tensor, &l->config, &l->env.link, &l->err), &l->err);
    for (uint32_t k = 0; k < 2; k++)
        ops->upload(l->env.tensor, gnn_link_relations(l->env.link, k).value, g->start[FORWARD + k],
                    (uint64_t)h->relations * h->dim * sizeof(float));
    memcpy(l->table[0], g->start[VECTORS], sizeof g->start[VECTORS]);
    gnn_link_training_open(&l->env, &l->training);
}

static void learner_close(struct learner *l)
{
    gnn_link_training_close(&l->training);
    gnn_link_close(l->env.link);
    l->env.tensor->ops->close(l->env.tensor);
    assert_int_equal(l->memory.current_bytes, 0);
}

static uint32_t row_of(struct learner *l, gnn_node node)
{
    assert_true(node < l->golden->header.nodes);
    if (l->local[node] == GNN_NODE_NONE) {
        l->local[node] = l->edges.view.node_count;
        l->nodes[l->edges.view.node_count++] = node;
    }
    return l->local[node];
}

/* The mini-batch of step k over the rows of its own nodes. */
static void begin_step(struct learner *l, uint32_t k)
{
    const struct header *const h = &l->golden->header;
    const struct golden_step *const s = l->step = &l->golden->step[k];
    memset(l->local, 0xff, sizeof l->local);
    l->edges = (struct gnn_link_batch){.nodes = l->nodes};
    for (uint32_t i = 0; i < h->edges; i++)
        for (uint32_t side = 0; side < 2; side++)
            l->end[side][i] = row_of(l, s->end[side][i]);
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t j = 0; j < negatives_of(h); j++)
            l->negative[side][j] = row_of(l, s->negative[side][j]);
    l->edges.view = (struct gnn_link_view){.batch = k,
                                           .node_count = l->edges.view.node_count,
                                           .edge_count = h->edges,
                                           .end = {l->end[0], l->end[1]},
                                           .relation = s->relation,
                                           .chunk_edges = h->chunk_edges,
                                           .negative_count = h->negatives,
                                           .negative = {l->negative[0], l->negative[1]},
                                           .own = {s->own[0], s->own[1]}};
}

/* Rows of the step's nodes, of every table, to where the training stage takes them, or back. */
static void move_rows(struct learner *l, bool back)
{
    const uint32_t dim = l->golden->header.dim;
    for (uint32_t t = 0; t < l->training.tables; t++)
        for (uint32_t i = 0; i < l->edges.view.node_count; i++) {
            float *const there = l->table[t] + (uint64_t)l->nodes[i] * dim;
            float *const here = l->training.rows[t].data + (uint64_t)i * dim;
            memcpy(back ? there : here, back ? here : there, dim * sizeof *here);
        }
}

/* ---- comparing ---- */

static void compare(const struct learner *l, const char *what, const float *found, const double *expected,
                    uint64_t count, double part)
{
    double largest = 0;
    for (uint64_t k = 0; k < count; k++)
        largest = fmax(largest, fabs(expected[k]));
    for (uint64_t k = 0; k < count; k++)
        if (!(fabs((double)found[k] - expected[k]) <= part * (fabs(expected[k]) + 0.1 * largest)))
            fail_msg("%s on %s, step %u: %s[%u] is %.9g, PyTorch says %.9g", l->golden->path, l->env.tensor->ops->name,
                     (unsigned)l->edges.view.batch, what, (unsigned)k, (double)found[k], expected[k]);
}

static float *device_reals(struct learner *l, uint64_t count)
{
    void *data = NULL;
    must(l->env.tensor->ops->alloc(l->env.tensor, "reals of a golden file", count * sizeof(float), &data, &l->err),
         &l->err);
    return data;
}

/* Scores of one side: of the edges, and of every edge against its chunk's negatives, on rows x (nodes, dim). */
static void check_side(struct learner *l, uint32_t side, const float *x)
{
    const struct header *const h = &l->golden->header;
    const struct gnn_link_view *const v = &l->edges.view;
    struct gnn_tensor *const t = l->env.tensor;
    float positive[LIST_MAX], candidate[LIST_MAX];
    float *const out = device_reals(l, LIST_MAX);
    const struct gnn_mat q = {device_reals(l, REALS_MAX), h->edges, h->dim};
    const struct gnn_mat other = {device_reals(l, REALS_MAX), h->edges, h->dim};
    must(gnn_link_queries(l->env.link, side, x, v->end[1 - side], v->relation, h->edges, q, &l->err), &l->err);
    t->ops->gather_rows(t, other.data, x, h->dim, v->end[side], h->edges, h->dim);
    gnn_link_pair_scores(l->env.link, q, other, out);
    t->ops->synchronize(t);
    t->ops->download(t, positive, out, h->edges * sizeof *positive);
    for (uint32_t first = 0; first < h->edges; first += h->chunk_edges) {
        const uint32_t edges = gnn_min_u32(h->chunk_edges, h->edges - first), n = h->negatives;
        const struct gnn_mat rows = {q.data + (uint64_t)first * h->dim, edges, h->dim};
        const struct gnn_mat negatives = {other.data, n, h->dim};
        t->ops->gather_rows(t, negatives.data, x, h->dim, v->negative[side] + first / h->chunk_edges * n, n, h->dim);
        gnn_link_scores(l->env.link, rows, negatives, (struct gnn_mat){out, edges, n});
        t->ops->synchronize(t);
        t->ops->download(t, candidate + first * n, out, (uint64_t)edges * n * sizeof *candidate);
    }
    compare(l, "score of an edge", positive, l->step->positive[side], h->edges, tolerance.score);
    compare(l, "score of a negative", candidate, l->step->candidate[side], (uint64_t)h->edges * h->negatives,
            tolerance.score);
    t->ops->free(t, out);
    t->ops->free(t, q.data);
    t->ops->free(t, other.data);
}

/* Before a step: the rows of its nodes have been brought. */
static void check_scores(struct learner *l)
{
    const uint64_t count = (uint64_t)l->edges.view.node_count * l->golden->header.dim;
    float *const x = device_reals(l, count);
    l->env.tensor->ops->upload(l->env.tensor, x, l->training.rows[0].data, count * sizeof *x);
    for (uint32_t side = 0; side < 2; side++)
        check_side(l, side, x);
    l->env.tensor->ops->free(l->env.tensor, x);
}

static void check_relations(struct learner *l, const char *what, bool gradients, const double *const expected[2],
                            double part)
{
    const struct header *const h = &l->golden->header;
    const uint64_t count = (uint64_t)h->relations * h->dim;
    float found[REALS_MAX];
    for (uint32_t k = 0; k < 2; k++) {
        const struct gnn_link_table table = gnn_link_relations(l->env.link, k);
        l->env.tensor->ops->download(l->env.tensor, found, gradients ? table.grad : table.value, count * sizeof *found);
        compare(l, what, found, expected[k], count, part);
    }
}

/* After a step: the gradient of the rows that it had; PyTorch's of all others is 0. */
static void check_gradients(struct learner *l)
{
    const uint32_t dim = l->golden->header.dim, nodes = l->edges.view.node_count;
    const struct golden_step *const s = l->step;
    const double *const relations[2] = {s->grad[FORWARD], s->grad[INVERSE]};
    float rows[REALS_MAX], found[REALS_MAX] = {0};
    l->env.tensor->ops->download(l->env.tensor, rows, l->training.d_targets.data, (uint64_t)nodes * dim * sizeof *rows);
    for (uint32_t i = 0; i < nodes; i++)
        memcpy(found + (uint64_t)l->nodes[i] * dim, rows + (uint64_t)i * dim, dim * sizeof *rows);
    compare(l, "gradient of the vectors", found, s->grad[VECTORS], (uint64_t)l->golden->header.nodes * dim,
            tolerance.gradient);
    check_relations(l, "gradient of relations", true, relations, tolerance.gradient);
}

static void check_end(struct learner *l)
{
    const struct golden *const g = l->golden;
    const double *const relations[2] = {g->end[FORWARD], g->end[INVERSE]};
    const uint64_t count = (uint64_t)g->header.nodes * g->header.dim;
    compare(l, "vectors after the last step", l->table[0], g->end[VECTORS], count, tolerance.end);
    for (uint32_t m = 0; m + 1 < l->training.tables; m++)
        compare(l, m == 0 ? "first moment" : "second moment", l->table[1 + m], g->moment[m], count, tolerance.end);
    check_relations(l, "relations after the last step", false, relations, tolerance.end);
}

static void check_case(const struct golden *g, const struct gnn_tensor_ops *ops, struct gnn_world *world)
{
    struct learner *const l = malloc(sizeof *l);
    assert_non_null(l);
    learner_open(l, g, ops, world);
    for (uint32_t k = 0; k < g->header.steps; k++) {
        begin_step(l, k);
        const uint32_t nodes = l->edges.view.node_count;
        const struct gnn_link_item item = {
            .edges = &l->edges, .plain = {.batch = k, .seed_count = nodes, .node_count = nodes, .nodes = l->nodes}};
        must(gnn_link_training_reserve(&l->training, nodes, &l->err), &l->err);
        move_rows(l, false);
        check_scores(l);
        const double before = l->training.loss_sum;
        must(gnn_link_training_step(&l->training, &item, &l->err), &l->err);
        const double loss = l->training.loss_sum - before;
        if (!(fabs(loss - l->step->loss) <= tolerance.loss * l->step->loss))
            fail_msg("%s on %s: loss of step %u is %.9g, PyTorch says %.9g", g->path, ops->name, k, loss,
                     l->step->loss);
        check_gradients(l);
        move_rows(l, true);
    }
    check_end(l);
    learner_close(l);
    free(l);
}

static const char *const files[] = {"tests/golden/link_distmult.bin",     "tests/golden/link_complex.bin",
                                    "tests/golden/link_transe.bin",       "tests/golden/link_distmult_adam.bin",
                                    "tests/golden/link_complex_adam.bin", "tests/golden/link_transe_adam.bin"};

static void test_against_pytorch(void **state)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct golden *const g = read_golden(files[i]);
        check_case(g, &gnn_tensor_ref, *state);
        check_case(g, &gnn_tensor_cpu, *state);
        free(g);
    }
}

/* What the upload forgets or the host reads from the device's memory shows. */
static void test_a_memory_of_its_own(void **state)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct golden *const g = read_golden(files[i]);
        check_case(g, &device_tensor, *state);
        free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_pytorch),
        cmocka_unit_test(test_a_memory_of_its_own),
    };
    return cmocka_run_group_tests_name("links against PyTorch", tests, measured_world_open, measured_world_close);
}

/* SPDX-License-Identifier: MIT */
/* Negatives of link prediction (--negative-set) against NumPy (make_golden_link_sets.py): mini-batches as the harness
 * makes them, their loss, and the gradients of vectors and relations. */
#include "harness/model/link.h"
#include "harness/sample/link_batch.h"
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

enum { VERSION = 1, CASES_MAX = 16, REALS_MAX = 128, EDGES_MAX = 16, TABLES = 3 };

struct header {
    char magic[8];
    uint32_t version, dim, relations, nodes, edges, chunks, pool, cases;
};
_Static_assert(sizeof(struct header) == 40, "as make_golden_link_sets.py packs it");

struct golden_case {
    uint32_t decoder, set;
    double loss, grad[TABLES][REALS_MAX]; /* of vectors, (s, r), inverse */
};

struct golden {
    struct header header;
    struct gnn_triple edges[EDGES_MAX];
    float start[TABLES][REALS_MAX];
    struct golden_case of[CASES_MAX];
};

/* ---- reading ---- */

static uint32_t reals_of(const struct header *h, int table)
{
    return (table == 0 ? h->nodes : h->relations) * h->dim;
}

static void take(FILE *file, void *to, size_t item_bytes, uint64_t count, uint64_t room)
{
    assert_true(count <= room);
    assert_int_equal(fread(to, item_bytes, count, file), count);
}

static void read_edges(struct golden *g, FILE *file)
{
    for (int column = 0; column < 3; column++) {
        uint32_t values[EDGES_MAX];
        take(file, values, sizeof *values, g->header.edges, EDGES_MAX);
        for (uint32_t i = 0; i < g->header.edges; i++)
            *(column == 0   ? &g->edges[i].source
              : column == 1 ? &g->edges[i].relation
                            : &g->edges[i].target) = values[i];
    }
}

static void read_golden(struct golden *g)
{
    FILE *const file = fopen("tests/golden/link_sets.bin", "rbe");
    if (file == NULL)
        fail_msg("tests/golden/link_sets.bin is missing: run the tests from the repository's root");
    struct header *const h = &g->header;
    take(file, h, sizeof *h, 1, 1);
    assert_memory_equal(h->magic, "GNNSETS", 8);
    assert_int_equal(h->version, VERSION);
    assert_in_range(h->cases, 9, CASES_MAX);
    read_edges(g, file);
    for (int t = 0; t < TABLES; t++)
        take(file, g->start[t], sizeof(float), reals_of(h, t), REALS_MAX);
    for (uint32_t c = 0; c < h->cases; c++) {
        take(file, &g->of[c].decoder, sizeof(uint32_t), 1, 1);
        take(file, &g->of[c].set, sizeof(uint32_t), 1, 1);
        take(file, &g->of[c].loss, sizeof(double), 1, 1);
        for (int t = 0; t < TABLES; t++)
            take(file, g->of[c].grad[t], sizeof(double), reals_of(h, t), REALS_MAX);
    }
    assert_int_equal(fgetc(file), EOF);
    (void)fclose(file);
}

/* ---- a step ---- */

static void compare(const char *what, const struct golden_case *g, const char *ops, const float *found,
                    const double *expected, uint32_t count)
{
    double largest = 0;
    for (uint32_t k = 0; k < count; k++)
        largest = fmax(largest, fabs(expected[k]));
    for (uint32_t k = 0; k < count; k++)
        if (!(fabs((double)found[k] - expected[k]) <= 2e-5 * largest))
            fail_msg("%s %s on %s: %s[%u] is %.9g, NumPy says %.9g", gnn_decoder_words[g->decoder],
                     gnn_negative_set_words[g->set], ops, what, k, (double)found[k], expected[k]);
}

static float *upload(struct gnn_tensor *t, const float *from, uint64_t count, struct gnn_err *err)
{
    void *data = NULL;
    must(t->ops->alloc(t, "reals of a golden file", count * sizeof *from, &data, err), err);
    t->ops->upload(t, data, from, count * sizeof *from);
    return data;
}

/* Gradients of the mini-batch's rows, by node. */
static void check_vectors(const struct golden *g, const struct golden_case *c, const struct gnn_link_batch *batch,
                          struct gnn_tensor *t, const float *dh)
{
    const uint32_t dim = g->header.dim;
    float rows[REALS_MAX], found[REALS_MAX] = {0};
    t->ops->download(t, rows, dh, (uint64_t)batch->view.node_count * dim * sizeof *rows);
    for (uint32_t i = 0; i < batch->view.node_count; i++)
        memcpy(found + (uint64_t)batch->nodes[i] * dim, rows + (uint64_t)i * dim, dim * sizeof *rows);
    compare("gradient of the vectors", c, t->ops->name, found, c->grad[0], reals_of(&g->header, 0));
}

static void check_step(const struct golden *g, const struct golden_case *c, const struct gnn_link_batch *batch,
                       struct gnn_tensor *t, struct gnn_err *err)
{
    const struct header *const h = &g->header;
    const struct gnn_link_config config = {.decoder = (enum gnn_decoder)c->decoder,
                                           .optimizer = GNN_OPTIMIZER_ADAGRAD,
                                           .dim = h->dim,
                                           .relations = h->relations};
    const uint64_t reals = (uint64_t)batch->view.node_count * h->dim;
    struct gnn_link *link = NULL;
    float rows[REALS_MAX], found[REALS_MAX];
    double loss = 0;
    bool finite = false;
    must(gnn_link_open(t, &config, &link, err), err);
    for (int k = 1; k < TABLES; k++)
        t->ops->upload(t, gnn_link_relations(link, (uint32_t)k - 1).value, g->start[k],
                       reals_of(h, k) * sizeof *g->start[k]);
    for (uint32_t i = 0; i < batch->view.node_count; i++)
        memcpy(rows + (uint64_t)i * h->dim, g->start[0] + (uint64_t)batch->nodes[i] * h->dim, h->dim * sizeof *rows);
    float *const x = upload(t, rows, reals, err), *const dh = upload(t, rows, reals, err);
    must(gnn_link_train(link, &batch->view, x, dh, &loss, &finite, err), err);
    assert_true(finite);
    if (!(fabs(loss - c->loss) <= 2e-6 * c->loss))
        fail_msg("%s %s on %s: loss %.9g, NumPy says %.9g", gnn_decoder_words[c->decoder],
                 gnn_negative_set_words[c->set], t->ops->name, loss, c->loss);
    check_vectors(g, c, batch, t, dh);
    for (int k = 1; k < TABLES; k++) {
        t->ops->download(t, found, gnn_link_relations(link, (uint32_t)k - 1).grad, reals_of(h, k) * sizeof *found);
        compare("gradient of relations", c, t->ops->name, found, c->grad[k], reals_of(h, k));
    }
    t->ops->free(t, x);
    t->ops->free(t, dh);
    gnn_link_close(link);
}

/* The pool of one node leaves nothing to chance. */
static void check_case(const struct golden *g, const struct golden_case *c, const struct gnn_tensor_ops *ops,
                       struct gnn_world *world)
{
    const struct header *const h = &g->header;
    const struct gnn_negative_config config = {
        .seed = 3, .set = (enum gnn_negative_set)c->set, .count = 1, .chunks = h->chunks};
    const bool all = c->set == GNN_NEGATIVES_ALL;
    struct toy_memory memory = {0};
    struct gnn_tensor *const t = toy_tensor_open(ops, &memory, 1);
    struct gnn_link_batch *batch = NULL;
    struct gnn_err err = {0};
    must(gnn_link_batch_open(world, &config, h->nodes, h->edges, &batch, &err), &err);
    must(gnn_link_batch_fill(batch, 0, 0, g->edges, h->edges, all ? NULL : &h->pool, all ? 0 : 1, &err), &err);
    check_step(g, c, batch, t, &err);
    gnn_link_batch_close(batch);
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
}

static void check_cases(const struct gnn_tensor_ops *ops, struct gnn_world *world)
{
    struct golden *const g = calloc(1, sizeof *g);
    assert_non_null(g);
    read_golden(g);
    for (uint32_t c = 0; c < g->header.cases; c++)
        check_case(g, &g->of[c], ops, world);
    free(g);
}

static void test_against_numpy(void **state)
{
    check_cases(&gnn_tensor_ref, *state);
    check_cases(&gnn_tensor_cpu, *state);
}

/* What the host reads from the device's memory shows. */
static void test_a_memory_of_its_own(void **state)
{
    check_cases(&device_tensor, *state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_numpy),
        cmocka_unit_test(test_a_memory_of_its_own),
    };
    return cmocka_run_group_tests_name("negatives against NumPy", tests, measured_world_open, measured_world_close);
}

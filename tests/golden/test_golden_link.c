/* Link prediction on the back-ends against vectors whose gradients nobody wrote down (make_golden_link.py). */
#include "harness/model/link.h"
#include "tests/support/must.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS_MAX = 8, NODES_MAX = 32, DIM_MAX = 16, LIST_MAX = 64 };

struct header {
    char magic[8];
    uint32_t version, decoder, optimizer, dim, relations, nodes, edges, chunk_edges, negatives, steps;
    double lr;
};
_Static_assert(sizeof(struct header) == 56, "as make_golden_link.py packs it");

struct golden {
    struct header header;
    uint32_t lists[7][LIST_MAX]; /* source, target, relation; negatives and own of side 0, of side 1 */
    float start[3][NODES_MAX * DIM_MAX];
    double loss[STEPS_MAX], grad[NODES_MAX * DIM_MAX], end[3][NODES_MAX * DIM_MAX];
};

static void take(FILE *file, void *to, uint64_t count, size_t item_bytes, uint64_t room)
{
    assert_true(count <= room);
    assert_int_equal(fread(to, item_bytes, count, file), count);
}

static struct golden *read_golden(const char *path)
{
    struct golden *const g = calloc(1, sizeof *g);
    FILE *const file = fopen(path, "rbe");
    if (file == NULL)
        fail_msg("%s is missing: run the tests from the repository's root", path);
    take(file, &g->header, 1, sizeof g->header, 1);
    assert_memory_equal(g->header.magic, "GNNLINK", 8);
    assert_int_equal(g->header.version, 1);
    const struct header *const h = &g->header;
    const uint32_t shared = (h->edges + h->chunk_edges - 1) / h->chunk_edges * h->negatives;
    for (int k = 0; k < 7; k++)
        take(file, g->lists[k], k < 3 ? h->edges : shared, sizeof(uint32_t), LIST_MAX);
    for (int k = 0; k < 3; k++)
        take(file, g->start[k], (k == 0 ? h->nodes : h->relations) * (uint64_t)h->dim, sizeof(float),
             NODES_MAX * DIM_MAX);
    take(file, g->loss, h->steps, sizeof(double), STEPS_MAX);
    take(file, g->grad, h->nodes * (uint64_t)h->dim, sizeof(double), NODES_MAX * DIM_MAX);
    for (int k = 0; k < 3; k++)
        take(file, g->end[k], (k == 0 ? h->nodes : h->relations) * (uint64_t)h->dim, sizeof(double),
             NODES_MAX * DIM_MAX);
    assert_int_equal(fgetc(file), EOF);
    (void)fclose(file);
    return g;
}

static void compare(const char *what, const float *found, const double *expected, uint64_t count, double tolerance)
{
    double largest = 0;
    for (uint64_t k = 0; k < count; k++)
        largest = fmax(largest, fabs(expected[k]));
    for (uint64_t k = 0; k < count; k++)
        if (!(fabs((double)found[k] - expected[k]) <= tolerance * (fabs(expected[k]) + 0.1 * largest)))
            fail_msg("%s[%u]: %.9g, expected %.9g", what, (unsigned)k, (double)found[k], expected[k]);
}

/* Rows that no edge touches are left out of a step, as the run does it: this updates those that one does. */
static void step_rows(struct gnn_tensor *t, const struct golden *g, uint64_t number, float *h, const float *dh,
                      float *state)
{
    const struct header *const d = &g->header;
    const uint32_t shared = (d->edges + d->chunk_edges - 1) / d->chunk_edges * d->negatives;
    bool touched[NODES_MAX] = {false};
    for (int k = 0; k < 7; k++)
        for (uint32_t j = 0; (k < 2 || k == 3 || k == 5) && j < (k < 2 ? d->edges : shared); j++)
            touched[g->lists[k][j]] = true;
    for (uint32_t i = 0; i < d->nodes; i++)
        if (touched[i])
            gnn_optimizer_step(t, (enum gnn_optimizer)d->optimizer, d->lr, number, h + i * d->dim, dh + i * d->dim,
                               state + (uint64_t)2 * i * d->dim, d->dim);
}

static void check_case(const char *path, const struct gnn_tensor_ops *ops)
{
    struct golden *const g = read_golden(path);
    const struct header *const d = &g->header;
    struct toy_memory memory = {0};
    struct gnn_tensor *const t = toy_tensor_open(ops, &memory, 1);
    const struct gnn_link_config config = {.decoder = (enum gnn_decoder)d->decoder,
                                           .optimizer = (enum gnn_optimizer)d->optimizer,
                                           .dim = d->dim,
                                           .relations = d->relations,
                                           .lr = d->lr};
    const struct gnn_link_view view = {.node_count = d->nodes,
                                       .edge_count = d->edges,
                                       .end = {g->lists[0], g->lists[1]},
                                       .relation = g->lists[2],
                                       .chunk_edges = d->chunk_edges,
                                       .negative_count = d->negatives,
                                       .negative = {g->lists[3], g->lists[5]},
                                       .own = {g->lists[4], g->lists[6]}};
    struct gnn_link *link = NULL;
    struct gnn_err err = {0};
    const uint64_t count = (uint64_t)d->nodes * d->dim, relation_count = (uint64_t)d->relations * d->dim;
    float dh[NODES_MAX * DIM_MAX], state[2 * NODES_MAX * DIM_MAX] = {0};
    must(gnn_link_open(t, &config, &link, &err), &err);
    for (uint32_t k = 0; k < 2; k++)
        memcpy(gnn_link_relations(link, k).value, g->start[1 + k], relation_count * sizeof(float));
    for (uint32_t s = 0; s < d->steps; s++) {
        double loss;
        bool finite;
        must(gnn_link_train(link, &view, g->start[0], dh, &loss, &finite, &err), &err);
        if (fabs(loss - g->loss[s]) > 1e-5 * g->loss[s])
            fail_msg("%s, %s: loss %u is %.9g, expected %.9g", path, ops->name, s, loss, g->loss[s]);
        if (s == 0)
            compare("gradient", dh, g->grad, count, 2e-5);
        step_rows(t, g, s + 1, g->start[0], dh, state);
    }
    compare("vectors", g->start[0], g->end[0], count, 1e-4);
    for (uint32_t k = 0; k < 2; k++)
        compare("relations", gnn_link_relations(link, k).value, g->end[1 + k], relation_count, 1e-4);
    gnn_link_close(link);
    t->ops->close(t);
    free(g);
}

static void test_against_golden_vectors(void **state)
{
    (void)state;
    static const char *const files[] = {"tests/golden/link_distmult.bin", "tests/golden/link_complex.bin",
                                        "tests/golden/link_transe.bin", "tests/golden/link_distmult_adam.bin"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        check_case(files[i], &gnn_tensor_ref);
        check_case(files[i], &gnn_tensor_cpu);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_golden_vectors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

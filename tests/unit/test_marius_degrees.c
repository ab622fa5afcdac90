/* SPDX-License-Identifier: MIT */
/* MariusGNN's estimate of the largest mini-batch against mini-batches that are drawn here, node by node. */
#include "harness/base/rng.h"
#include "systems/mariusgnn/mariusgnn.h"
#include "tests/differential/systems.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { HOPS = 3, FANOUT = 10, MANY_BATCHES = 4000, MANY_NODES = 1 << 30 };

/* In-degrees of a power law with the given mean at most; out-degrees likewise, of another node. */
static void degrees_fill(struct marius_degrees *out, double mean)
{
    struct marius_degree_sample *const nodes = &out->nodes;
    double sum = 0;
    nodes->count = MARIUS_DEGREES_MAX;
    for (uint32_t i = 0; i < nodes->count; i++) {
        const double rank = (i + 0.5) / nodes->count;
        nodes->of[i].in = (uint32_t)fmin(mean / 3 / sqrt(rank * rank * rank), 400);
        nodes->of[(i * 389 + 77) % nodes->count].out = nodes->of[i].in;
        sum += nodes->of[i].in;
    }
    out->train = *nodes;
    for (uint32_t i = 0; i < nodes->count; i++) {
        out->train.of[i].in += nodes->of[i].in / 2;
        out->train.of[i].out += nodes->of[i].out / 2;
    }
    out->mean = sum / nodes->count;
}

struct drawing {
    const struct marius_degrees *degrees;
    double share, trained; /* as in marius_drawn_from */
    struct gnn_rng rng;
};

/* Draws the sources of a node, of which a share is resident, and theirs. Returns the nodes found. */
static uint64_t draw_tree(struct drawing *d, uint32_t degree, uint32_t hops)
{
    struct gnn_rng *const rng = &d->rng;
    uint64_t found = 0;
    uint32_t resident = 0;
    for (uint32_t i = 0; i < degree; i++)
        resident += gnn_rng_unit(rng) < d->share;
    for (uint32_t i = 0; i < resident && i < FANOUT; i++) {
        const struct marius_degree_sample *const from =
            gnn_rng_unit(rng) < d->trained ? &d->degrees->train : &d->degrees->nodes;
        uint32_t source; /* in proportion to the out-degree */
        do
            source = (uint32_t)gnn_rng_below(rng, from->count);
        while (gnn_rng_below(rng, 800) >= from->of[source].out);
        found += 1 + (hops > 1 ? draw_tree(d, from->of[source].in, hops - 1) : 0);
    }
    return found;
}

static uint64_t draw_largest(struct drawing *d, uint32_t targets, uint32_t batches)
{
    uint64_t largest = 0;
    for (uint32_t b = 0; b < batches; b++) {
        uint64_t nodes = targets;
        for (uint32_t t = 0; t < targets; t++) {
            const uint32_t at = (uint32_t)gnn_rng_below(&d->rng, d->degrees->train.count);
            nodes += draw_tree(d, d->degrees->train.of[at].in, HOPS);
        }
        largest = gnn_max_u64(largest, nodes);
    }
    return largest;
}

static uint64_t estimate(const struct drawing *d, uint32_t targets)
{
    const struct marius_dense_config dense = {.layers = HOPS, .fanout = {FANOUT, FANOUT, FANOUT}};
    const struct marius_drawn_from from = {.local_count = MANY_NODES,
                                           .edge_count = UINT64_C(1) << 40,
                                           .share = d->share,
                                           .trained = d->trained,
                                           .targets = targets};
    struct gnn_batch_size largest;
    marius_largest_batch(d->degrees, &dense, &from, &largest);
    return largest.nodes[HOPS];
}

/* Training nodes have half as many neighbours again as others. */
static void no_batch_is_larger_than_the_estimate(void **state)
{
    (void)state;
    static const struct {
        double share, trained;
        uint32_t targets, batches;
    } cases[] = {{0.25, 0, 10, MANY_BATCHES},
                 {0.25, 0, 100, MANY_BATCHES / 10},
                 {0.12, 0, 10, MANY_BATCHES},
                 {0.2, 0.9, 10, MANY_BATCHES}};
    struct marius_degrees *const degrees = calloc(1, sizeof *degrees);
    assert_non_null(degrees);
    degrees_fill(degrees, 12);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct drawing d = {.degrees = degrees,
                            .share = cases[i].share,
                            .trained = cases[i].trained,
                            .rng = gnn_rng_at(gnn_rng_fork(17, "largest"))};
        const uint64_t drawn = draw_largest(&d, cases[i].targets, cases[i].batches);
        const uint64_t most = estimate(&d, cases[i].targets);
        print_message("share %.2f, %.1f training nodes, %u targets: largest of %u mini-batches %llu nodes, estimate "
                      "%llu\n",
                      d.share, d.trained, cases[i].targets, cases[i].batches, (unsigned long long)drawn,
                      (unsigned long long)most);
        assert_true(drawn <= most);
        assert_true(2 * most <= 3 * drawn);
    }
    free(degrees);
}

/* Moves edges from the buckets that lead into the first k partitions to the first bucket. Their sum stays. */
static void gather_into_first(struct marius_store *store, uint32_t first)
{
    const uint32_t p = store->partitions;
    uint64_t *const edges = calloc((size_t)p * p, sizeof *edges);
    assert_non_null(edges);
    for (uint32_t b = 0; b < p * p; b++)
        edges[b] = store->bucket_start[b + 1] - store->bucket_start[b];
    for (uint32_t from = first; from < p; from++)
        for (uint32_t to = 0; to < first; to++) {
            const uint64_t moved = edges[from * p + to] / 2;
            edges[from * p + to] -= moved;
            edges[0] += moved;
        }
    for (uint32_t b = 0; b < p * p; b++)
        store->bucket_start[b + 1] = store->bucket_start[b] + edges[b];
    free(edges);
}

/* The largest mini-batch of an open system, by what its store holds. */
static struct gnn_batch_size largest_of(struct train_run *run)
{
    const struct marius *const m = run->state;
    struct marius_sizes sizes;
    struct gnn_memory_plan plan;
    gnn_plan_begin(&plan, &run->env);
    must_run(marius_size(m->config, &m->store, NULL, &sizes, &plan, &run->err), run);
    return sizes.largest;
}

/* Training nodes whose neighbours are training nodes find more of them in memory. */
static void training_nodes_that_are_neighbours_make_larger_batches(void **state)
{
    (void)state;
    struct fixture f;
    struct train_run run;
    fixture_open(&f, .graph = &usual);
    train_run_init(&run, f.world, "mariusgnn");
    run.options = OPTIONS("io=buffered", "partitions=30", "capacity=9", "edges=in");
    must_run(train_run_open(&run, &f.graph), &run);
    struct marius *const m = run.state;
    assert_true(m->sizes.training_first);
    const struct gnn_batch_size before = largest_of(&run);
    gather_into_first(&m->store, m->sizes.training);
    const struct gnn_batch_size after = largest_of(&run);
    assert_true(after.nodes[1] > before.nodes[1]);
    assert_true(3 * after.edges > 4 * before.edges); /* 1.39; by the resident edges alone 1.28 */
    train_run_close(&run);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_batch_is_larger_than_the_estimate),
        cmocka_unit_test(training_nodes_that_are_neighbours_make_larger_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

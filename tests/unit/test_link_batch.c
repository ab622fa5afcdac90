/* SPDX-License-Identifier: MIT */
/* Mini-batches of edges: each edge once an epoch, negatives by their shares, masks, the same from the same seed. */
#include "harness/base/rng.h"
#include "harness/sample/link_batch.h"
#include "tests/support/fixture.h"
#include "tests/support/seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 500, EDGES = 90, BATCH = 100, COUNT = 40, CHUNKS = 4 };

static void random_edges(struct gnn_triple *edges, uint32_t count)
{
    struct gnn_rng rng = gnn_rng_at(test_seed());
    for (uint32_t i = 0; i < count; i++)
        edges[i] = (struct gnn_triple){(gnn_node)gnn_rng_below(&rng, NODES), (uint32_t)gnn_rng_below(&rng, 7),
                                       (gnn_node)gnn_rng_below(&rng, NODES)};
}

static void test_every_edge_once_an_epoch(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1, 2, 97, 1024};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        bool seen[2][1024] = {{false}};
        uint32_t moved = 0;
        for (uint32_t i = 0; i < counts[c]; i++) {
            for (uint64_t epoch = 0; epoch < 2; epoch++) {
                const uint32_t edge = gnn_epoch_edge(3, epoch, counts[c], i);
                assert_true(edge < counts[c]);
                assert_false(seen[epoch][edge]);
                seen[epoch][edge] = true;
            }
            moved += gnn_epoch_edge(3, 0, counts[c], i) != gnn_epoch_edge(3, 1, counts[c], i);
        }
        assert_true(counts[c] < 97 || moved > counts[c] / 2);
    }
}

/* Whether an edge outside the chunk that begins at first has this row as its end. */
static bool ends_elsewhere(const struct gnn_link_view *v, uint32_t side, uint32_t row, uint32_t first)
{
    for (uint32_t i = 0; i < v->edge_count; i++)
        if ((i < first || i >= first + v->chunk_edges) && v->end[side][i] == row)
            return true;
    return false;
}

/* Of every edge, and of every negative with its side and chunk, by themselves. */
static uint64_t plain_digest(const struct gnn_link_batch *b, const struct gnn_triple *edges)
{
    const struct gnn_link_view *const v = &b->view;
    const uint64_t key = gnn_rng_fold(gnn_rng_fold(gnn_rng_fold(0, v->epoch), v->batch), GNN_NODE_NONE);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < v->edge_count; i++)
        sum += gnn_rng_fold(gnn_rng_fold(gnn_rng_fold(key, edges[i].source), edges[i].relation), edges[i].target);
    for (uint64_t side = 0; side < 2; side++)
        for (uint64_t chunk = 0; chunk < gnn_link_chunks(v); chunk++)
            for (uint32_t k = 0; k < COUNT; k++)
                sum += gnn_rng_fold(gnn_rng_fold(gnn_rng_fold(key, side), chunk),
                                    b->nodes[v->negative[side][chunk * COUNT + k]]);
    return sum;
}

/* What is an end of an edge of the same chunk says of which; nothing else does. */
static void check_lists(const struct gnn_link_batch *b, const struct gnn_triple *edges, uint32_t count,
                        double degree_share)
{
    const struct gnn_link_view *const v = &b->view;
    uint32_t of_edges = 0, masked = 0;
    assert_int_equal(v->edge_count, count);
    assert_int_equal(v->chunk_edges, (count + CHUNKS - 1) / CHUNKS);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(b->nodes[v->end[0][i]], edges[i].source);
        assert_int_equal(b->nodes[v->end[1][i]], edges[i].target);
        assert_int_equal(v->relation[i], edges[i].relation);
    }
    for (uint32_t i = 0; i < v->node_count; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_int_not_equal(b->nodes[i], b->nodes[j]);
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t j = 0; j < gnn_link_chunks(v) * COUNT; j++) {
            const uint32_t own = v->own[side][j], first = j / COUNT * v->chunk_edges;
            assert_true(v->negative[side][j] < v->node_count);
            const bool of_edge = j % COUNT >= COUNT - gnn_negative_from_edges(&b->config);
            of_edges += of_edge;
            if (own == GNN_NODE_NONE) {
                assert_true(!of_edge || ends_elsewhere(v, side, v->negative[side][j], first));
                continue;
            }
            assert_true(of_edge);
            masked++;
            assert_true(first + own < count && own < v->chunk_edges);
            assert_int_equal(v->negative[side][j], v->end[side][first + own]);
        }
    assert_int_equal(b->digest, plain_digest(b, edges));
    assert_int_equal(of_edges, 2 * gnn_link_chunks(v) * (uint32_t)(degree_share * COUNT + 0.5));
    assert_true((masked > 0) == (degree_share > 0)); /* a quarter of those from edges */
}

static void test_lists(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_triple edges[EDGES];
    random_edges(edges, EDGES);
    fixture_open(&f, .scratch = true);
    static const double shares[] = {0, 0.5, 1};
    for (size_t i = 0; i < 3; i++) {
        const struct gnn_negative_config config = {
            .seed = 5, .count = COUNT, .chunks = CHUNKS, .degree_share = shares[i]};
        struct gnn_link_batch *b = NULL;
        must(gnn_link_batch_open(f.world, &config, NODES, BATCH, &b, &f.err), &f.err);
        must(gnn_link_batch_fill(b, 1, 2, edges, EDGES, NULL, 0, &f.err), &f.err);
        check_lists(b, edges, EDGES, shares[i]);
        assert_true(b->view.node_count <= gnn_link_node_bound(&config, BATCH, NODES));
        must(gnn_link_batch_fill(b, 1, 3, edges, 1, NULL, 0, &f.err), &f.err); /* a last one of one edge */
        assert_int_equal(gnn_link_chunks(&b->view), 1);
        gnn_link_batch_close(b);
    }
    fixture_close(&f);
}

/* The digest is a fact of (seed, epoch, batch, edges): the same on another object, another for each of these. */
static void test_the_same_from_the_same_seed(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_triple edges[EDGES];
    random_edges(edges, EDGES);
    fixture_open(&f, .scratch = true);
    uint64_t digests[5];
    for (size_t i = 0; i < 5; i++) {
        const struct gnn_negative_config config = {
            .seed = i == 2 ? 6 : 5, .count = COUNT, .chunks = CHUNKS, .degree_share = 0.5};
        struct gnn_link_batch *b = NULL;
        must(gnn_link_batch_open(f.world, &config, NODES, i == 1 ? EDGES : BATCH, &b, &f.err), &f.err);
        must(gnn_link_batch_fill(b, i == 3 ? 2 : 1, i == 4 ? 3 : 2, edges, EDGES, NULL, 0, &f.err), &f.err);
        digests[i] = b->digest;
        gnn_link_batch_close(b);
    }
    assert_int_equal(digests[0], digests[1]);
    for (size_t i = 2; i < 5; i++)
        assert_int_not_equal(digests[0], digests[i]);
    fixture_close(&f);
}

/* With a pool, uniform negatives come from it alone, and all of it comes up. */
static void test_negatives_from_a_pool(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_triple edges[EDGES];
    static const gnn_node pool[] = {7, 100, 499};
    const struct gnn_negative_config config = {.seed = 1, .count = COUNT, .chunks = CHUNKS};
    struct gnn_link_batch *b = NULL;
    uint32_t seen[3] = {0};
    random_edges(edges, EDGES);
    fixture_open(&f, .scratch = true);
    must(gnn_link_batch_open(f.world, &config, NODES, BATCH, &b, &f.err), &f.err);
    must(gnn_link_batch_fill(b, 0, 0, edges, EDGES, pool, 3, &f.err), &f.err);
    for (uint32_t j = 0; j < CHUNKS * COUNT; j++) {
        const gnn_node node = b->nodes[b->view.negative[0][j]];
        assert_true(node == 7 || node == 100 || node == 499);
        seen[node == 7 ? 0 : node == 100 ? 1 : 2]++;
    }
    for (int i = 0; i < 3; i++)
        assert_true(seen[i] > 20);
    gnn_link_batch_close(b);
    fixture_close(&f);
}

/* Behind the sampled ones, which are those of the default, come the ends that queries start from. */
static void test_ends_of_queries(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_triple edges[EDGES];
    struct gnn_negative_config config = {.seed = 5, .count = COUNT, .chunks = CHUNKS, .degree_share = 0.5};
    struct gnn_link_batch *plain = NULL, *b = NULL;
    uint32_t loops = 0;
    random_edges(edges, EDGES);
    edges[3].target = edges[3].source;
    fixture_open(&f, .scratch = true);
    must(gnn_link_batch_open(f.world, &config, NODES, BATCH, &plain, &f.err), &f.err);
    config.set = GNN_NEGATIVES_OWN;
    must(gnn_link_batch_open(f.world, &config, NODES, BATCH, &b, &f.err), &f.err);
    must(gnn_link_batch_fill(plain, 1, 2, edges, EDGES, NULL, 0, &f.err), &f.err);
    must(gnn_link_batch_fill(b, 1, 2, edges, EDGES, NULL, 0, &f.err), &f.err);
    const struct gnn_link_view *const v = &b->view;
    assert_int_equal(v->node_count, plain->view.node_count);
    assert_int_equal(v->negative_count, COUNT + v->chunk_edges);
    assert_true(v->negative_count <= gnn_negative_most(&config, BATCH, NODES));
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t chunk = 0; chunk < gnn_link_chunks(v); chunk++) {
            const uint64_t at = gnn_link_chunk_first(v, chunk), first = (uint64_t)chunk * v->chunk_edges;
            const uint32_t in_chunk = gnn_min_u32(v->chunk_edges, (uint32_t)(EDGES - first));
            const uint64_t row = (uint64_t)chunk * COUNT;
            assert_memory_equal(v->negative[side] + at, plain->view.negative[side] + row, COUNT * sizeof(uint32_t));
            assert_memory_equal(v->own[side] + at, plain->view.own[side] + row, COUNT * sizeof(uint32_t));
            assert_int_equal(gnn_link_chunk_negatives(v, chunk), COUNT + in_chunk);
            for (uint32_t i = 0; i < in_chunk; i++) {
                const struct gnn_triple *const edge = &edges[first + i];
                const bool loop = edge->source == edge->target;
                loops += loop;
                assert_int_equal(b->nodes[v->negative[side][at + COUNT + i]], side == 1 ? edge->source : edge->target);
                assert_int_equal(v->own[side][at + COUNT + i], loop ? i : GNN_NODE_NONE);
            }
        }
    assert_true(loops >= 2);
    assert_int_not_equal(b->digest, plain->digest);
    gnn_link_batch_close(plain);
    gnn_link_batch_close(b);
    fixture_close(&f);
}

/* Every node of the graph, or of the pool, once. An edge's true end is masked where its score is. */
static void test_all_nodes(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_triple edges[EDGES];
    gnn_node pool[NODES];
    const struct gnn_negative_config config = {.seed = 5, .set = GNN_NEGATIVES_ALL, .count = 1, .chunks = CHUNKS};
    random_edges(edges, EDGES);
    for (uint32_t i = 0; i < NODES; i++)
        pool[i] = NODES - 1 - i;
    fixture_open(&f, .scratch = true);
    uint64_t digests[2];
    for (int pooled = 0; pooled < 2; pooled++) {
        struct gnn_link_batch *b = NULL;
        bool seen[NODES] = {false};
        must(gnn_link_batch_open(f.world, &config, NODES, EDGES, &b, &f.err), &f.err);
        must(gnn_link_batch_fill(b, 1, 2, edges, EDGES, pooled ? pool : NULL, pooled ? NODES : 0, &f.err), &f.err);
        const struct gnn_link_view *const v = &b->view;
        assert_int_equal(v->negative_count, NODES);
        assert_int_equal(v->node_count, NODES);
        assert_int_equal(gnn_link_node_bound(&config, EDGES, NODES), NODES);
        assert_int_equal(gnn_negative_most(&config, EDGES, NODES), NODES);
        for (uint32_t j = 0; j < NODES; j++) {
            assert_false(seen[b->nodes[v->negative[0][j]]]);
            seen[b->nodes[v->negative[0][j]]] = true;
        }
        for (uint32_t side = 0; side < 2; side++)
            for (uint32_t i = 0; i < EDGES; i++) {
                const uint32_t masked = v->masked[side][i];
                assert_int_equal(masked / NODES, i % v->chunk_edges);
                assert_int_equal(b->nodes[v->negative[side][masked % NODES]],
                                 side == 1 ? edges[i].target : edges[i].source);
            }
        digests[pooled] = b->digest;
        gnn_link_batch_close(b);
    }
    assert_int_equal(digests[0], digests[1]);
    fixture_close(&f);
}

static void test_refusals(void **state)
{
    (void)state;
    struct fixture f;
    struct gnn_link_batch *b = NULL;
    const struct gnn_triple outside = {.source = 3, .target = NODES};
    const struct gnn_negative_config good = {.count = 1, .chunks = 1}, none = {.count = 0, .chunks = 1},
                                     share = {.count = 1, .chunks = 1, .degree_share = 1.5},
                                     many = {.count = INT32_MAX, .chunks = 1},
                                     all = {.set = GNN_NEGATIVES_ALL, .count = 1, .chunks = 2};
    fixture_open(&f, .scratch = true);
    assert_int_equal(gnn_link_batch_open(f.world, &none, NODES, BATCH, &b, &f.err), GNN_EUSAGE);
    f.err = (struct gnn_err){0};
    assert_int_equal(gnn_link_batch_open(f.world, &share, NODES, BATCH, &b, &f.err), GNN_EUSAGE);
    f.err = (struct gnn_err){0};
    assert_int_equal(gnn_link_batch_open(f.world, &many, NODES, BATCH, &b, &f.err), GNN_EUSAGE);
    assert_non_null(strstr(f.err.message, "1 chunks of 2147483647 negatives"));
    f.err = (struct gnn_err){0};
    assert_int_equal(gnn_link_batch_open(f.world, &all, UINT32_MAX / 16, 34, &b, &f.err), GNN_EUSAGE);
    assert_non_null(strstr(f.err.message, "chunks of 17 edges compared with all 268435455 nodes"));
    f.err = (struct gnn_err){0};
    must(gnn_link_batch_open(f.world, &good, NODES, BATCH, &b, &f.err), &f.err);
    assert_int_equal(gnn_link_batch_fill(b, 0, 0, &outside, 1, NULL, 0, &f.err), GNN_EFORMAT);
    assert_non_null(strstr(f.err.message, "nodes 3 and 500"));
    gnn_link_batch_close(b);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_edge_once_an_epoch),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_the_same_from_the_same_seed),
        cmocka_unit_test(test_negatives_from_a_pool),
        cmocka_unit_test(test_ends_of_queries),
        cmocka_unit_test(test_all_nodes),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("link_batch", tests, NULL, NULL);
}

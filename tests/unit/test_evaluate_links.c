/* SPDX-License-Identifier: MIT */
/* Ranks of a whole evaluation against a plain second count: every query, every candidate, one at a time. */
#include "harness/base/rng.h"
#include "harness/dataset/prepare.h"
#include "harness/graph/triples.h"
#include "harness/run/worker/evaluate_links.h"
#include "harness/sample/link_batch.h"
#include "harness/world/measured/measured.h"
#include "tests/support/data_files.h"
#include "tests/support/device_tensor.h"
#include "tests/support/link_cases.h"
#include "tests/support/must.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { NODES = 30, RELATIONS = 3, DIM = 4, EDGES = 200, HELD = 25, CANDIDATES = 500 };
enum { TOGETHER = 10000, MANY = TOGETHER + 30 }; /* edges that share candidates, and more of them */

/* Vectors of small whole numbers, so that scores are exact and ties are many. */
static gnn_real vectors[NODES * DIM];

static enum gnn_status read_vectors(void *state, const gnn_node *nodes, uint32_t count, gnn_real *out,
                                    struct gnn_err *err)
{
    (void)state;
    (void)err;
    for (uint32_t i = 0; i < count; i++)
        memcpy(out + (uint64_t)i * DIM, vectors + (uint64_t)nodes[i] * DIM, DIM * sizeof *out);
    return GNN_OK;
}

static void write_split(const char *in, const char *name, struct gnn_rng *rng, uint32_t count)
{
    const size_t size = (size_t)count * 16;
    char *const text = malloc(size);
    size_t length = 0;
    assert_non_null(text);
    for (uint32_t i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, size - length, "%u\t%u\t%u\n", (unsigned)gnn_rng_below(rng, NODES),
                                   (unsigned)gnn_rng_below(rng, RELATIONS), (unsigned)gnn_rng_below(rng, NODES));
    data_write(in, name, text, length);
    free(text);
}

struct plain {
    double filtered, raw;
    uint64_t hits[3]; /* filtered ranks up to 1, 3 and 10 */
    uint64_t own_first;
};

static void count_hits(struct plain *sum, uint64_t rank)
{
    static const uint64_t borders[3] = {1, 3, 10};
    for (int k = 0; k < 3; k++)
        sum->hits[k] += rank <= borders[k];
}

static bool is_known(struct gnn_triple *const splits[3], const struct gnn_dataset *d, const struct gnn_triple *edge)
{
    for (int s = 0; s < 3; s++)
        for (uint32_t i = 0; i < d->triple_count[s]; i++)
            if (memcmp(&splits[s][i], edge, sizeof *edge) == 0)
                return true;
    return false;
}

/* MRR of a split, by the definition. */
static struct plain rank_plainly(const struct gnn_link_config *config, gnn_real relations[2][RELATIONS * DIM],
                                 const struct gnn_dataset *d, struct gnn_triple *const splits[3], int split)
{
    struct plain sum = {0};
    for (uint32_t i = 0; i < d->triple_count[split]; i++)
        for (uint32_t side = 0; side < 2; side++) {
            const struct gnn_triple edge = splits[split][i];
            const gnn_real *const a = vectors + (side == 1 ? edge.source : edge.target) * DIM;
            const gnn_real *const r = relations[1 - side] + edge.relation * DIM;
            const double mine = link_score(config, a, r, vectors + (side == 1 ? edge.target : edge.source) * DIM);
            const gnn_node own = side == 1 ? edge.source : edge.target;
            const double own_score = link_score(config, a, r, a);
            uint64_t raw = 1, filtered = 1;
            struct gnn_triple other = edge;
            *(side == 1 ? &other.target : &other.source) = own;
            bool own_first = !is_known(splits, d, &other) && own_score >= mine;
            for (gnn_node x = 0; x < NODES; x++) {
                *(side == 1 ? &other.target : &other.source) = x;
                own_first = own_first &&
                            (link_score(config, a, r, vectors + x * DIM) <= own_score || is_known(splits, d, &other));
                if (memcmp(&other, &edge, sizeof edge) == 0 || link_score(config, a, r, vectors + x * DIM) < mine)
                    continue;
                raw++;
                filtered += !is_known(splits, d, &other);
            }
            sum.own_first += own_first;
            sum.raw += 1 / (double)raw;
            sum.filtered += 1 / (double)filtered;
            count_hits(&sum, filtered);
        }
    return sum;
}

/* The same among candidates that a batch of edges shares: half of them are ends of its edges, and an end of the very
 * edge does not count. 500 of 30 nodes: every rank is many times as deep. Returns how many did not count. */
static uint32_t rank_batch(const struct gnn_link_config *config, gnn_real relations[2][RELATIONS * DIM],
                           const struct gnn_link_batch *batch, const struct gnn_triple *edges, uint32_t count,
                           struct plain *sum)
{
    uint32_t left_out = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t side = 0; side < 2; side++) {
            const gnn_real *const a = vectors + (side == 1 ? edges[i].source : edges[i].target) * DIM;
            const gnn_real *const r = relations[1 - side] + edges[i].relation * DIM;
            const gnn_node answer = side == 1 ? edges[i].target : edges[i].source;
            const double mine = link_score(config, a, r, vectors + answer * DIM);
            uint64_t rank = 1;
            for (uint32_t j = 0; j < CANDIDATES; j++) {
                const gnn_node x = batch->nodes[batch->view.negative[side][j]];
                const bool own = batch->view.own[side][j] == i;
                left_out += own;
                rank += !own && link_score(config, a, r, vectors + x * DIM) >= mine;
            }
            sum->filtered += 1 / (double)rank;
            count_hits(sum, rank);
        }
    return left_out;
}

static struct plain rank_among_sampled(struct gnn_world *world, const struct gnn_link_config *config,
                                       gnn_real relations[2][RELATIONS * DIM], const struct gnn_dataset *d,
                                       const struct gnn_triple *edges, int split, uint64_t seed)
{
    const struct gnn_negative_config draws = {
        .seed = gnn_rng_fork(seed, "evaluate"), .count = CANDIDATES, .chunks = 1, .degree_share = 0.5};
    struct gnn_link_batch *batch = NULL;
    struct gnn_err err = {0};
    struct plain sum = {0};
    must(gnn_link_batch_open(world, &draws, NODES, TOGETHER, &batch, &err), &err);
    for (uint32_t at = 0; at < d->triple_count[split]; at += TOGETHER) {
        const uint32_t count = gnn_min_u32(d->triple_count[split] - at, TOGETHER);
        must(gnn_link_batch_fill(batch, 0, at / TOGETHER, edges + at, count, NULL, 0, &err), &err);
        assert_true(rank_batch(config, relations, batch, edges + at, count, &sum) > 0);
    }
    gnn_link_batch_close(batch);
    return sum;
}

static void check_hits(const struct gnn_link_quality *found, const struct plain *plain, double queries)
{
    const double hits[3] = {found->hits_1, found->hits_3, found->hits_10};
    for (int k = 0; k < 3; k++)
        assert_true(fabs(hits[k] - (double)plain->hits[k] / queries) < 1e-12);
}

static void check_decoder(struct gnn_world *world, const struct gnn_dataset *d, enum gnn_decoder decoder,
                          const struct gnn_tensor_ops *ops, bool all_nodes)
{
    gnn_real relations[2][RELATIONS * DIM];
    struct toy_memory memory = {0};
    struct gnn_tensor *const t = toy_tensor_open(ops, &memory, 1);
    const struct gnn_link_config config = {.decoder = decoder, .dim = DIM, .relations = RELATIONS};
    const struct gnn_workload load = {.task = GNN_TASK_LINK, .seed = 4, .batch_size = 10};
    struct gnn_env env = {.world = world, .dataset = d, .workload = &load, .tensor = t, .link_config = &config};
    const struct gnn_system system = {.name = "fake", .read_embeddings = read_vectors};
    struct gnn_rng rng = gnn_rng_at(9);
    struct gnn_triple *splits[3] = {NULL};
    struct gnn_link_quality quality[2], sampled[2];
    struct gnn_err err = {0};
    must(gnn_link_open(t, &config, &env.link, &err), &err);
    for (uint32_t k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < RELATIONS * DIM; i++)
            relations[k][i] = i < DIM ? 1 : (gnn_real)((double)gnn_rng_below(&rng, 5) - 2); /* 1: own ends win */
        t->ops->upload(t, gnn_link_relations(env.link, k).value, relations[k], sizeof relations[k]);
    }
    for (int s = 0; s < 3; s++)
        must(gnn_triples_load(world, d, (enum gnn_triple_split)s, &splits[s], &err), &err);
    if (all_nodes)
        must(gnn_evaluate_links(&env, &system, NULL, 0, &quality[0], &quality[1], &err), &err);
    must(gnn_evaluate_links(&env, &system, NULL, CANDIDATES, &sampled[0], &sampled[1], &err), &err);
    for (int s = 0; s < 2; s++) {
        const double queries = 2.0 * d->triple_count[1 + s];
        if (all_nodes) {
            const struct plain plain = rank_plainly(&config, relations, d, splits, 1 + s);
            assert_true(fabs(quality[s].mrr - plain.filtered / queries) < 1e-12);
            assert_true(fabs(quality[s].raw_mrr - plain.raw / queries) < 1e-12);
            check_hits(&quality[s], &plain, queries);
            assert_int_equal(quality[s].queries, 2 * d->triple_count[1 + s]);
            assert_int_equal(quality[s].own_first, plain.own_first);
            assert_true(plain.own_first > 0);
            assert_true(plain.own_first < quality[s].queries);
        }
        const struct plain among = rank_among_sampled(world, &config, relations, d, splits[1 + s], 1 + s, load.seed);
        assert_true(fabs(sampled[s].mrr - among.filtered / queries) < 1e-12);
        check_hits(&sampled[s], &among, queries);
        assert_true(isnan(sampled[s].raw_mrr));
        assert_true(sampled[s].own_first == GNN_UNKNOWN);
    }
    for (int s = 0; s < 3; s++)
        gnn_mem_free(world, splits[s]);
    gnn_link_close(env.link);
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
}

/* Imports random edges, of which `tested` are the test split, and draws the vectors. */
static void open_graph(void **state, uint32_t tested, struct gnn_world **world, struct gnn_dataset **d)
{
    char in[DATA_PATH], out[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_rng rng = gnn_rng_at(2);
    struct gnn_import_options options;
    gnn_option_defaults(gnn_import_table, &options);
    options.nodes = NODES;
    (void)mkdir(data_path(in, *state, "in"), 0777);
    write_split(in, "train.txt", &rng, EDGES);
    write_split(in, "valid.txt", &rng, HELD);
    write_split(in, "test.txt", &rng, tested);
    const struct gnn_import_source source = {.format = GNN_IMPORT_TRIPLES, .from = in};
    const struct gnn_prepare_job job = {.out_dir = data_path(out, *state, "kg")};
    must(gnn_prepare_import(&source, &options, &job, &err), &err);
    must(gnn_world_measured_open(&(struct gnn_measured_config){0}, world, &err), &err);
    must(gnn_dataset_open(*world, out, DIM, GNN_F32, 4, d, &err), &err);
    for (uint32_t i = 0; i < NODES * DIM; i++)
        vectors[i] = (gnn_real)((double)gnn_rng_below(&rng, 5) - 2);
}

static void test_ranks_are_those_of_a_plain_count(void **state)
{
    struct gnn_world *world = NULL;
    struct gnn_dataset *d = NULL;
    open_graph(state, HELD, &world, &d);
    check_decoder(world, d, GNN_DECODER_DISTMULT, &gnn_tensor_cpu, true);
    check_decoder(world, d, GNN_DECODER_COMPLEX, &gnn_tensor_cpu, true);
    /* faults where its memory is taken for the host's */
    check_decoder(world, d, GNN_DECODER_DISTMULT, &device_tensor, true);
    gnn_dataset_close(world, d);
    gnn_world_measured_close(world);
}

/* The released code evaluates 10 000 edges at a time, whose candidates are the same nodes. */
static void test_ten_thousand_edges_share_their_candidates(void **state)
{
    struct gnn_world *world = NULL;
    struct gnn_dataset *d = NULL;
    open_graph(state, MANY, &world, &d);
    assert_int_equal(d->triple_count[2], MANY);
    check_decoder(world, d, GNN_DECODER_DISTMULT, &gnn_tensor_cpu, false);
    gnn_dataset_close(world, d);
    gnn_world_measured_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ranks_are_those_of_a_plain_count, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_ten_thousand_edges_share_their_candidates, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("evaluate_links", tests, NULL, NULL);
}

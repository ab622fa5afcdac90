/* Ranks of a whole evaluation against a plain second count: every query, every candidate, one at a time. */
#include "harness/base/rng.h"
#include "harness/dataset/prepare.h"
#include "harness/graph/triples.h"
#include "harness/run/worker/evaluate_links.h"
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

enum { NODES = 30, RELATIONS = 3, DIM = 4, EDGES = 200, HELD = 25 };

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
    char text[EDGES * 16];
    size_t length = 0;
    for (uint32_t i = 0; i < count; i++)
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%u\t%u\t%u\n", (unsigned)gnn_rng_below(rng, NODES),
                             (unsigned)gnn_rng_below(rng, RELATIONS), (unsigned)gnn_rng_below(rng, NODES));
    data_write(in, name, text, length);
}

struct plain {
    double filtered, raw;
    uint64_t first;
};

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
            uint64_t raw = 1, filtered = 1;
            for (gnn_node x = 0; x < NODES; x++) {
                struct gnn_triple other = edge;
                *(side == 1 ? &other.target : &other.source) = x;
                if (memcmp(&other, &edge, sizeof edge) == 0 || link_score(config, a, r, vectors + x * DIM) < mine)
                    continue;
                raw++;
                filtered += !is_known(splits, d, &other);
            }
            sum.raw += 1 / (double)raw;
            sum.filtered += 1 / (double)filtered;
            sum.first += filtered == 1;
        }
    return sum;
}

static void check_decoder(struct gnn_world *world, const struct gnn_dataset *d, enum gnn_decoder decoder,
                          const struct gnn_tensor_ops *ops)
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
            relations[k][i] = (gnn_real)((double)gnn_rng_below(&rng, 5) - 2);
        t->ops->upload(t, gnn_link_relations(env.link, k).value, relations[k], sizeof relations[k]);
    }
    for (int s = 0; s < 3; s++)
        must(gnn_triples_load(world, d, (enum gnn_triple_split)s, &splits[s], &err), &err);
    must(gnn_evaluate_links(&env, &system, NULL, 0, &quality[0], &quality[1], &err), &err);
    must(gnn_evaluate_links(&env, &system, NULL, 500, &sampled[0], &sampled[1], &err), &err);
    for (int s = 0; s < 2; s++) {
        const struct plain plain = rank_plainly(&config, relations, d, splits, 1 + s);
        const double queries = 2.0 * d->triple_count[1 + s];
        assert_true(fabs(quality[s].mrr - plain.filtered / queries) < 1e-12);
        assert_true(fabs(quality[s].raw_mrr - plain.raw / queries) < 1e-12);
        assert_true(fabs(quality[s].hits_1 - (double)plain.first / queries) < 1e-12);
        /* 500 of 30 nodes: every rank is many times as deep. */
        assert_true(sampled[s].mrr > 0 && sampled[s].mrr < quality[s].raw_mrr);
        assert_true(isnan(sampled[s].raw_mrr));
    }
    for (int s = 0; s < 3; s++)
        gnn_mem_free(world, splits[s]);
    gnn_link_close(env.link);
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
}

static void test_ranks_are_those_of_a_plain_count(void **state)
{
    char in[DATA_PATH], out[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_world *world = NULL;
    struct gnn_dataset *d = NULL;
    struct gnn_rng rng = gnn_rng_at(2);
    struct gnn_import_options options;
    gnn_option_defaults(gnn_import_table, &options);
    options.nodes = NODES;
    (void)mkdir(data_path(in, *state, "in"), 0777);
    write_split(in, "train.txt", &rng, EDGES);
    write_split(in, "valid.txt", &rng, HELD);
    write_split(in, "test.txt", &rng, HELD);
    const struct gnn_import_source source = {.format = GNN_IMPORT_TRIPLES, .from = in};
    const struct gnn_prepare_job job = {.out_dir = data_path(out, *state, "kg")};
    must(gnn_prepare_import(&source, &options, &job, &err), &err);
    must(gnn_world_measured_open(&(struct gnn_measured_config){0}, &world, &err), &err);
    must(gnn_dataset_open(world, out, DIM, 4, &d, &err), &err);
    for (uint32_t i = 0; i < NODES * DIM; i++)
        vectors[i] = (gnn_real)((double)gnn_rng_below(&rng, 5) - 2);
    check_decoder(world, d, GNN_DECODER_DISTMULT, &gnn_tensor_cpu);
    check_decoder(world, d, GNN_DECODER_COMPLEX, &gnn_tensor_cpu);
    check_decoder(world, d, GNN_DECODER_DISTMULT, &device_tensor); /* faults where its memory is taken for the host's */
    gnn_dataset_close(world, d);
    gnn_world_measured_close(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ranks_are_those_of_a_plain_count, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("evaluate_links", tests, NULL, NULL);
}

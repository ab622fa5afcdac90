/* SPDX-License-Identifier: MIT */
/* A system that learns links against a plain loop over arrays in memory: the same vectors to the bit, so that no update
 * of a vector or of the optimiser's state is lost on its way through files, caches or threads. */
#include "harness/dataset/prepare.h"
#include "harness/graph/triples.h"
#include "harness/system/link_training.h"
#include "tests/support/data_files.h"
#include "tests/support/fixture.h"
#include "tests/support/hang.h"
#include "tests/support/toy_block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 70, RELATIONS = 3, DIM = 12, EDGES = 230, EPOCHS = 3 };

struct learning {
    struct fixture f;
    struct gnn_dataset *dataset;
    struct toy_memory memory;
    struct gnn_workload load;
    struct gnn_link_config config;
    struct gnn_env env;
};

static void learning_open(struct learning *l, const char *dir, enum gnn_optimizer optimizer)
{
    memset(l, 0, sizeof *l);
    fixture_open(&l->f, .scratch = true);
    must(gnn_dataset_open(l->f.world, dir, DIM, GNN_F32, 4, &l->dataset, &l->f.err), &l->f.err);
    l->load = (struct gnn_workload){.task = GNN_TASK_LINK,
                                    .negatives = {.seed = 8, .count = 9, .chunks = 3, .degree_share = 0.5},
                                    .seed = 8,
                                    .batch_size = 20,
                                    .epochs = EPOCHS};
    l->config = (struct gnn_link_config){
        .decoder = GNN_DECODER_COMPLEX, .optimizer = optimizer, .dim = DIM, .relations = RELATIONS, .lr = 0.05};
    l->env = (struct gnn_env){.world = l->f.world,
                              .dataset = l->dataset,
                              .workload = &l->load,
                              .tensor = toy_tensor_open(&gnn_tensor_cpu, &l->memory, 1),
                              .link_config = &l->config,
                              .cores = 2};
    must(gnn_link_open(l->env.tensor, &l->config, &l->env.link, &l->f.err), &l->f.err);
}

static void learning_close(struct learning *l)
{
    gnn_link_close(l->env.link);
    l->env.tensor->ops->close(l->env.tensor);
    gnn_dataset_close(l->f.world, l->dataset);
    fixture_close(&l->f);
    assert_int_equal(l->memory.current_bytes, 0);
}

/* ---- the plain loop ---- */

static void learn_plainly(const char *dir, enum gnn_optimizer optimizer, gnn_real *out)
{
    struct learning l;
    struct gnn_link_sampling *sampling = NULL;
    struct gnn_link_training training;
    struct gnn_link_item item;
    learning_open(&l, dir, optimizer);
    gnn_real *const tables = calloc((size_t)GNN_EMBEDDING_TABLES_MAX * NODES * DIM, sizeof *tables);
    for (gnn_node v = 0; v < NODES; v++)
        gnn_embedding_init(l.load.seed, v, DIM, tables + v * DIM);
    must(gnn_link_sampling_open(&l.env, 1, GNN_MAP_NORMAL, false, &sampling, &l.f.err), &l.f.err);
    must(gnn_link_item_open(&l.env, &item, &l.f.err), &l.f.err);
    gnn_link_training_open(&l.env, &training);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        gnn_link_sampling_begin(sampling, epoch);
        for (uint32_t k = 0; k < gnn_epoch_batches(&l.env); k++) {
            must(gnn_link_sampling_draw(sampling, 0, k, &item, &l.f.err), &l.f.err);
            const struct gnn_batch_view *const view = gnn_link_item_view(&item);
            must(gnn_link_training_reserve(&training, view->node_count, &l.f.err), &l.f.err);
            for (uint32_t t = 0; t < training.tables; t++)
                for (uint32_t i = 0; i < view->node_count; i++)
                    memcpy(training.rows[t].data + i * DIM, tables + (t * NODES + view->nodes[i]) * DIM,
                           DIM * sizeof *tables);
            must(gnn_link_training_step(&training, &item, &l.f.err), &l.f.err);
            for (uint32_t t = 0; t < training.tables; t++)
                for (uint32_t i = 0; i < view->node_count; i++)
                    memcpy(tables + (t * NODES + view->nodes[i]) * DIM, training.rows[t].data + i * DIM,
                           DIM * sizeof *tables);
        }
    }
    memcpy(out, tables, (size_t)NODES * DIM * sizeof *out);
    free(tables);
    gnn_link_training_close(&training);
    gnn_link_item_close(&l.env, &item);
    gnn_link_sampling_close(sampling);
    learning_close(&l);
}

/* ---- a system ---- */

static void learn_with(const struct gnn_system *system, const char *dir, enum gnn_optimizer optimizer, gnn_real *out)
{
    struct learning l;
    void *state = NULL, *config;
    gnn_node nodes[NODES];
    learning_open(&l, dir, optimizer);
    config = calloc(1, system->config_bytes);
    gnn_option_defaults(system->options, config);
    for (const struct gnn_option *o = system->options; o->name != NULL; o++)
        if (strcmp(o->name, "io") == 0) /* a temporary directory may have no direct reads */
            must(gnn_option_set(system->options, config, "io", "buffered", &l.f.err), &l.f.err);
    if (system->complete != NULL)
        system->complete(&l.env, config);
    must(system->open(&l.env, config, &state, &l.f.err), &l.f.err);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        struct gnn_epoch_result result = {0};
        must(system->train_epoch(state, epoch, &result, &l.f.err), &l.f.err);
        assert_int_equal(result.seeds, EDGES);
    }
    for (gnn_node v = 0; v < NODES; v++)
        nodes[v] = v;
    must(system->read_embeddings(state, nodes, NODES, out, &l.f.err), &l.f.err);
    system->close(state);
    free(config);
    learning_close(&l);
}

static void import_graph(const char *root, char out[DATA_PATH])
{
    char in[DATA_PATH], text[EDGES * 16];
    struct gnn_rng rng = gnn_rng_at(12);
    struct gnn_import_options options;
    struct gnn_err err = {0};
    size_t length = 0;
    for (uint32_t i = 0; i < EDGES; i++)
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%u\t%u\t%u\n", (unsigned)gnn_rng_below(&rng, NODES),
                             (unsigned)gnn_rng_below(&rng, RELATIONS), (unsigned)gnn_rng_below(&rng, NODES));
    (void)mkdir(data_path(in, root, "in"), 0777);
    data_write(in, "train.txt", text, length);
    gnn_option_defaults(gnn_import_table, &options);
    options.nodes = NODES;
    const struct gnn_import_source source = {.format = GNN_IMPORT_TRIPLES, .from = in};
    const struct gnn_prepare_job job = {.out_dir = data_path(out, root, "kg")};
    must(gnn_prepare_import(&source, &options, &job, &err), &err);
}

static void test_vectors_are_those_of_a_plain_loop(void **state)
{
    char dir[DATA_PATH];
    uint32_t systems = 0;
    import_graph(*state, dir);
    end_a_hang();
    for (int optimizer = 0; optimizer < GNN_OPTIMIZERS; optimizer++) {
        gnn_real plain[NODES * DIM], found[NODES * DIM];
        learn_plainly(dir, (enum gnn_optimizer)optimizer, plain);
        for (const struct gnn_system *const *s = gnn_systems; *s != NULL; s++) {
            if (((*s)->variants & GNN_VARIANT_LINK) == 0)
                continue;
            systems++;
            learn_with(*s, dir, (enum gnn_optimizer)optimizer, found);
            if (memcmp(plain, found, sizeof plain) != 0)
                fail_msg("%s, %s: other vectors than a plain loop", (*s)->name, gnn_optimizer_words[optimizer]);
        }
    }
    assert_true(systems >= 2);
    (void)alarm(0);
}

/* A mini-batch of 16 targets whose neighbourhoods hold 104 nodes. Rows of vectors and of each state, of the gradients
 * of targets and, behind an encoder, of all nodes; Adam's two states once more, side by side; an eighth as reserve. */
static void test_rows_of_a_step_by_hand(void **state)
{
    (void)state;
    static const struct {
        uint32_t layers;
        enum gnn_optimizer optimizer;
        uint64_t rows;
    } cases[] = {{0, GNN_OPTIMIZER_ADAGRAD, 54},  /* 16 + 16 + 16 */
                 {0, GNN_OPTIMIZER_ADAM, 108},    /* 16 + 2 x 16 + 16 + 2 x 16 */
                 {2, GNN_OPTIMIZER_ADAGRAD, 369}, /* 104 + 104 + 16 + 104 */
                 {2, GNN_OPTIMIZER_ADAM, 720}};   /* 104 + 2 x 104 + 16 + 104 + 2 x 104 */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct gnn_dataset dataset = {.row_bytes = 48};
        const struct gnn_workload load = {.layers = cases[i].layers};
        const struct gnn_link_config config = {.optimizer = cases[i].optimizer};
        const struct gnn_env env = {.dataset = &dataset, .workload = &load, .link_config = &config};
        struct gnn_batch_size size = {.nodes = {16}};
        if (cases[i].layers == 2)
            size.nodes[1] = 40, size.nodes[2] = 104;
        assert_int_equal(gnn_link_training_bytes(&env, &size), cases[i].rows * 48);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_a_step_by_hand),
        cmocka_unit_test_setup_teardown(test_vectors_are_those_of_a_plain_loop, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("links against a plain loop", tests, NULL, NULL);
}

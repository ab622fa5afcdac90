/* SPDX-License-Identifier: MIT */
/* GNNDrive's sizes by hand: queue depths, Mb, S, rows per slot, what a batch may hold, items in flight
 * (GNNDrive section 4.2: deadlock rule; systems/gnndrive/README.md: parameters). */
#include "systems/gnndrive/gnndrive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 100000 };

struct setting {
    struct gnn_dataset dataset;
    struct gnn_workload load;
    struct gnn_env env;
    struct gnndrive_config config;
};

static void set(struct setting *s, uint32_t dim)
{
    *s = (struct setting){
        .dataset = {.node_count = NODES, .dim = dim, .row_bytes = 4 * dim},
        .load = {.batch_size = 100, .layers = 2, .fanout = {10, 10}},
        .config = {.samplers = 3, .extractors = 2, .buffer_mult = 1, .joint = true, .depth = 8},
    };
    s->env = (struct gnn_env){.dataset = &s->dataset, .workload = &s->load};
}

static void test_sizes_by_hand(void **state)
{
    (void)state;
    const struct {
        uint32_t dim, align, extractors, extract_queue, train_queue, mult, slots, batch_nodes;
        bool joint, buffered;
        /* expected */
        uint32_t qe, qt, s, limit, items, group, load_bytes;
        bool holds_all;
    } cases[] = {
        /* defaults: Q_e = Ns + 2, Q_t = Ne, S = (Q_t + 1) Mb, items = Ns + Q_e + Ne + Q_t + 2 */
        {128, 512, 2, 0, 0, 1, 0, 1000, true, false, 5, 2, 3000, 1500, 14, 1, 512, false},
        {128, 512, 4, 0, 0, 1, 0, 1000, true, false, 5, 4, 5000, 1250, 18, 1, 512, false},
        {128, 512, 2, 6, 4, 2, 0, 1000, true, false, 6, 4, 10000, 5000, 17, 1, 512, false},
        {128, 512, 3, 0, 0, 1, 3000, 1000, true, false, 5, 3, 3000, 1000, 16, 1, 512, false},
        {128, 512, 2, 0, 0, 8, 0, 9000, true, false, 5, 2, NODES, 12100, 14, 1, 512, true},
        {128, 512, 2, 0, 0, 1, 0, 11000, true, false, 5, 2, 33000, 12100, 14, 1, 512, false}, /* the bound */
        /* rows below the alignment come in groups, and a slot holds one */
        {32, 512, 2, 0, 0, 1, 0, 1000, true, false, 5, 2, 3000, 1500, 14, 4, 512, false},
        {32, 4096, 2, 0, 0, 1, 0, 1000, true, false, 5, 2, 3000, 1500, 14, 32, 4096, false},
        {32, 512, 2, 0, 0, 9, 0, 1000, true, false, 5, 2, 25000, 12100, 14, 4, 512, true},
        {32, 512, 2, 0, 0, 1, 0, 1000, false, false, 5, 2, 3000, 1500, 14, 1, 128, false},
        {32, 512, 2, 0, 0, 1, 0, 1000, true, true, 5, 2, 3000, 1500, 14, 1, 128, false},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct setting s;
        struct gnndrive_sizes sizes;
        struct gnn_err err = {0};
        set(&s, cases[c].dim);
        s.config.extractors = cases[c].extractors;
        s.config.extract_queue = cases[c].extract_queue;
        s.config.train_queue = cases[c].train_queue;
        s.config.buffer_mult = cases[c].mult;
        s.config.slots = cases[c].slots;
        s.config.joint = cases[c].joint;
        s.config.io = cases[c].buffered ? GNNDRIVE_IO_BUFFERED : GNNDRIVE_IO_DIRECT;
        const enum gnn_status status =
            gnndrive_size(&s.env, &s.config, cases[c].batch_nodes, cases[c].align, &sizes, &err);
        const bool right = status == GNN_OK && sizes.extract_queue == cases[c].qe && sizes.train_queue == cases[c].qt &&
                           sizes.slots == cases[c].s && sizes.node_limit == cases[c].limit &&
                           sizes.items == cases[c].items && sizes.holds_all == cases[c].holds_all &&
                           sizes.layout.rows_per_load == cases[c].group &&
                           sizes.layout.load_bytes == cases[c].load_bytes;
        if (!right)
            fail_msg("case %zu: %s: Q_e %u, Q_t %u, S %u, limit %u, items %u, holds_all %d, G %u, Z %u", c, err.message,
                     sizes.extract_queue, sizes.train_queue, sizes.slots, sizes.node_limit, sizes.items,
                     sizes.holds_all, sizes.layout.rows_per_load, sizes.layout.load_bytes);
    }
}

/* One slot below Ne x Mb is refused, Ne x Mb is not. */
static void test_the_reservation_is_the_limit(void **state)
{
    (void)state;
    for (uint32_t slots = 2999; slots <= 3000; slots++) {
        struct setting s;
        struct gnndrive_sizes sizes;
        struct gnn_err err = {0};
        set(&s, 128);
        s.config.extractors = 3;
        s.config.slots = slots;
        assert_int_equal(gnndrive_size(&s.env, &s.config, 1000, 512, &sizes, &err), slots < 3000 ? GNN_EUSAGE : GNN_OK);
    }
}

static void test_nodes_of_a_batch(void **state)
{
    (void)state;
    struct setting s;
    set(&s, 128);
    /* The bound is 100 x 11 x 11 = 12100, above N / 20 = 5000: to be measured. */
    assert_int_equal(gnndrive_batch_nodes(&s.env, &s.config), 0);
    s.load.batch_size = 41; /* 4961 */
    assert_int_equal(gnndrive_batch_nodes(&s.env, &s.config), 4961);
    s.load.batch_size = 42; /* 5082 */
    assert_int_equal(gnndrive_batch_nodes(&s.env, &s.config), 0);
    s.config.batch_nodes = 7000; /* the user's, but never above the bound of 5082 */
    assert_int_equal(gnndrive_batch_nodes(&s.env, &s.config), 5082);
    s.config.batch_nodes = 3000;
    assert_int_equal(gnndrive_batch_nodes(&s.env, &s.config), 3000);
    /* 1.1 x the largest, rounded up, never above the bound. */
    assert_int_equal(gnndrive_measured_batch_nodes(&s.env, 1000), 1100);
    assert_int_equal(gnndrive_measured_batch_nodes(&s.env, 1001), 1102);
    assert_int_equal(gnndrive_measured_batch_nodes(&s.env, 5000), 5082);
}

/* With a GPU the buffer and the input leave the host's plan, and Ne x staging loads enter it. */
static void test_staging(void **state)
{
    (void)state;
    struct gnn_tensor gpu = {.host_memory = false}, cpu = {.host_memory = true};
    static uint64_t indptr[NODES + 1];
    for (uint32_t v = 0; v <= NODES; v++)
        indptr[v] = UINT64_C(10) * v;
    const struct {
        uint32_t asked, extractors, staging;
    } cases[] = {{0, 2, 1000}, {0, 3, 1000}, {17, 2, 17}, {1200, 2, 1200}, {5000, 2, 1500}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct setting s;
        struct gnndrive_sizes sizes[2];
        struct gnn_memory_plan plan[2];
        struct gnn_err err = {0};
        set(&s, 128);
        s.dataset.indptr = indptr;
        s.dataset.edge_count = indptr[NODES];
        s.config.staging = cases[c].asked;
        s.config.extractors = cases[c].extractors;
        for (int on_gpu = 0; on_gpu < 2; on_gpu++) {
            s.env.tensor = on_gpu ? &gpu : &cpu;
            assert_int_equal(gnndrive_size(&s.env, &s.config, 1000, 512, &sizes[on_gpu], &err), GNN_OK);
            gnn_plan_begin(&plan[on_gpu], &s.env);
            gnndrive_plan_parts(&s.config, &sizes[on_gpu], &plan[on_gpu]);
        }
        assert_int_equal(sizes[0].staging, 0);
        assert_int_equal(sizes[1].staging, cases[c].staging);
        const uint64_t slots = 512 * ((uint64_t)sizes[0].slots - cases[c].extractors * cases[c].staging),
                       input = gnn_plan_rows_bytes(&plan[0]);
        /* of blocks, labels and aliases: two halves an extractor */
        const uint64_t lists = 2 * cases[c].extractors * gnn_batch_bytes(&plan[1].largest, s.load.layers);
        assert_int_equal(gnn_plan_bytes(&plan[0]) - gnn_plan_bytes(&plan[1]), slots + input - lists);
        assert_int_equal(gnn_plan_in_flight_bytes(&plan[0]) - gnn_plan_in_flight_bytes(&plan[1]), input - lists);
        assert_int_equal(gnn_plan_device_bytes(&plan[0]), 0);
        assert_true(gnn_plan_device_bytes(&plan[1]) >= 512 * (uint64_t)sizes[1].slots);
    }
}

/* Mb and S as in the paper's figures: seeds x fan-outs, five of them in the buffer; or the buffer in bytes. */
static void test_the_papers_buffer(void **state)
{
    (void)state;
    struct setting s;
    struct gnndrive_sizes sizes;
    struct gnn_err err = {0};
    set(&s, 128);
    s.dataset.node_count = 111059956;
    s.load = (struct gnn_workload){.batch_size = 1000, .layers = 3, .fanout = {10, 10, 10}};
    s.config.samplers = s.config.extractors = 4;
    s.config.batch_rule = GNNDRIVE_BATCH_PRODUCT;
    const uint32_t batch_nodes = gnndrive_batch_nodes(&s.env, &s.config);
    assert_int_equal(batch_nodes, 1000000);
    assert_int_equal(gnndrive_size(&s.env, &s.config, batch_nodes, 512, &sizes, &err), GNN_OK);
    assert_int_equal(sizes.slots, 5000000);
    assert_int_equal(sizes.node_limit, 1250000);
    s.config.batch_rule = GNNDRIVE_BATCH_BOUND;
    assert_int_equal(gnndrive_batch_nodes(&s.env, &s.config), 1331000);

    s.config.buffer_share = 50; /* of no cap: as if it were not there */
    s.config.slots = 6000000;
    assert_int_equal(gnndrive_size(&s.env, &s.config, 1331000, 512, &sizes, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "gnndrive.buffer_share"));
    s.config.slots = 0;
    assert_int_equal(gnndrive_size(&s.env, &s.config, 1331000, 512, &sizes, &err), GNN_OK);
    assert_int_equal(sizes.slots, 5 * 1331000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_by_hand),
        cmocka_unit_test(test_the_papers_buffer),
        cmocka_unit_test(test_the_reservation_is_the_limit),
        cmocka_unit_test(test_nodes_of_a_batch),
        cmocka_unit_test(test_staging),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

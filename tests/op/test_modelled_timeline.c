/* SPDX-License-Identifier: MIT */
/* The modelled GPU's time lines: the stream, the bus, lanes, events, a mini-batch's lists, several ranks, and threads
 * that copy beside one that computes. */
#include "harness/tensor/modelled/modelled.h"
#include "tests/support/modelled_clock.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_stream_runs_behind_the_caller(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    gnn_real *const p = NULL;
    t->ops->fill(t, p, 25000, 0);        /* launched at 100, 10000 ns of work: ends 10100 */
    assert_int_equal(clock.now_ns, 100); /* the caller paid the launch alone */
    t->ops->add(t, p, p, 2500);          /* launched at 200, starts 10100, ends 13100 */
    assert_int_equal(clock.now_ns, 200);
    t->ops->synchronize(t);
    assert_int_equal(clock.now_ns, 13100);
    assert_int_equal(clock.waited_ns, 12900);
    t->ops->synchronize(t);
    assert_int_equal(clock.now_ns, 13100);
    clock_compute(&clock, 6900);
    t->ops->fill(t, p, 250, 0); /* an idle stream starts it when it is launched: 20100 + 100 */
    t->ops->synchronize(t);
    assert_int_equal(clock.now_ns, 20200);
    struct gnn_modelled_counts counts;
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.busy_ns, 13100);
    assert_int_equal(counts.ops, 3);
    assert_int_equal(counts.launches, 3);
    t->ops->close(t);
}

static void test_an_all_reduce_is_a_ring(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    t->ops->fill(t, NULL, 25000, 0); /* ends 10100 */
    /* 4 ranks: 6 rounds of 4000 bytes at 4 GB/s and 30 ns, behind the fill; the caller waits */
    gnn_modelled_all_reduce(t, 4, 16000);
    assert_int_equal(clock.now_ns, 10100 + 6 * (1000 + 30));
    gnn_modelled_all_reduce(t, 2, 16001); /* launched at once; 2 rounds of 8001 bytes, rounded up */
    assert_int_equal(clock.now_ns, 10100 + 6 * (1000 + 30) + 100 + 2 * (2001 + 30));
    t->ops->close(t);

    /* CPU, 4 ranks: the gradient copied out and the mean back (32000 bytes moved each), a fourth of all four gradients
     * read and of the mean written; 1 GB/s of one core */
    clock = (struct clock){0};
    t = open_modelled(&clock, &profile, false, 1);
    gnn_modelled_all_reduce(t, 4, 16000);
    assert_int_equal(clock.now_ns, 32000 + 16000 + 4000 + 32000);
    t->ops->close(t);
}

/* More ranks than GPUs: those of one GPU share its stream, its bus and its memory. */
static void test_two_ranks_share_a_gpu(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *const t = open_modelled(&clock, &profile, true, 1);
    struct gnn_tensor *const other = open_beside(&clock, &profile, true, 1, t);
    void *memory, *more = NULL;
    struct gnn_err err = {0};
    t->ops->fill(t, NULL, 25000, 0);        /* ends 10100 */
    other->ops->fill(other, NULL, 2500, 0); /* launched at 200, behind it: ends 11100 */
    other->ops->synchronize(other);
    assert_int_equal(clock.now_ns, 11100);
    assert_int_equal(other->ops->alloc(other, "most", 900 << 10, &memory, &err), GNN_OK);
    assert_int_equal(t->ops->alloc(t, "some", 200 << 10, &more, &err), GNN_EGPU);
    other->ops->free(other, memory);
    err = (struct gnn_err){0};
    assert_int_equal(t->ops->alloc(t, "some", 200 << 10, &more, &err), GNN_OK);
    t->ops->free(t, more);
    other->ops->close(other);
    t->ops->close(t);
}

static void test_copies_beside_the_stream(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    gnn_real *const p = NULL;
    t->ops->fill(t, p, 250000, 0);             /* at 100; ends 100100 */
    t->ops->upload_async(t, 0, p, NULL, 4000); /* called at 200; 250 to 2250 */
    t->ops->upload_async(t, 1, p, NULL, 4000); /* called at 300; the bus is taken: 2250 to 4250 */
    t->ops->upload_async(t, 0, p, NULL, 2000); /* called at 400; 4250 to 5250 */
    assert_int_equal(clock.now_ns, 400);
    t->ops->upload_wait(t, 1);
    assert_int_equal(clock.now_ns, 4250);
    t->ops->upload_wait(t, 0);
    assert_int_equal(clock.now_ns, 5250); /* long before the stream is free */
    t->ops->upload_wait(t, 2);            /* nothing was given to it */
    assert_int_equal(clock.now_ns, 5250);
    /* a pageable copy waits for the stream: 100100 + 50 + 1000 */
    t->ops->upload(t, p, NULL, 1000);
    assert_int_equal(clock.now_ns, 101150);
    char text[8] = "garbage";
    t->ops->download(t, text, p, sizeof text); /* called at 101250, + 50 + 8 */
    assert_int_equal(clock.now_ns, 101308);
    assert_memory_equal(text, "\0\0\0\0\0\0\0", 8);
    struct gnn_modelled_counts counts;
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.uploaded_bytes, 11000);
    assert_int_equal(counts.downloaded_bytes, 8);
    assert_int_equal(counts.bus_busy_ns, 2000 + 2000 + 1000 + 1000 + 8);
    t->ops->close(t);
}

static void test_blocks_cross_once_a_step(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    const struct gnn_mat x = {NULL, 3, 4}, out = {NULL, 2, 4};
    struct gnn_modelled_counts counts;
    for (uint32_t step = 1; step <= 2; step++) {
        t->ops->segment_reduce(t, GNN_REDUCE_MEAN, out, &block, x, NULL);
        t->ops->segment_reduce_back(t, GNN_REDUCE_MEAN, x, &block, out, NULL);
        t->ops->synchronize(t);
        gnn_modelled_counts(t, &counts);
        assert_int_equal(counts.uploaded_bytes, step * BLOCK_BYTES);
    }
    const uint64_t before_ns = clock.now_ns;
    const int32_t labels[2] = {0, 1};
    double loss = 0;
    uint32_t correct = 9;
    t->ops->softmax_nll(t, (struct gnn_mat){NULL, 2, 3}, labels, &loss, &correct);
    assert_true(isnan(loss));
    assert_int_equal(correct, 0);
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.uploaded_bytes, 2 * BLOCK_BYTES + 8);
    assert_int_equal(counts.downloaded_bytes, 12);
    /* labels 100 + 50 + 8; two launches, 104 FLOPs in 11 ns; the result 100 while that runs, + 50 + 12 */
    assert_int_equal(clock.now_ns - before_ns, 158 + 200 + 100 + 50 + 12);
    t->ops->close(t);
}

/* Where the profile has a framework's costs, a step lasts at least 1000 ns + 10 a edge: 1030 for three. Ops that take
 * longer are not stretched, and without a step nothing is. */
static void test_a_frameworks_step(void **state)
{
    (void)state;
    static const struct {
        uint64_t reals, ends_ns; /* of a fill of 0.4 ns a real, launched at 100 */
    } cases[] = {{250, 1030}, {2325, 1030}, {2500, 1100}};
    struct gnn_profile profile = round_profile();
    profile.framework = (struct gnn_profile_framework){.step_ns = 1000, .step_edge_ps = 10000, .milli_cores = 500};
    const struct gnn_batch_view view = {.layer_count = 1, .seed_count = 2, .node_count = 3, .blocks = {block}};
    const struct gnn_batch_lists lists = {.view = &view};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clock clock = {0};
        struct gnn_tensor *const t = open_modelled(&clock, &profile, true, 1);
        t->ops->step_begin(t, &lists);
        t->ops->fill(t, NULL, cases[i].reals, 0);
        t->ops->step_end(t);
        t->ops->synchronize(t);
        assert_int_equal(clock.now_ns, cases[i].ends_ns);
        t->ops->fill(t, NULL, 250, 0);
        t->ops->synchronize(t);
        assert_int_equal(clock.now_ns, cases[i].ends_ns + 200);
        t->ops->close(t);
    }
}

/* Lists that were staged cross in one pinned copy, beside the stream, and are not asked for again. */
static void test_a_staged_batch_crosses_once_ahead(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    const int32_t labels[2] = {0, 1};
    const uint32_t rows[3] = {2, 0, 1};
    const struct gnn_batch_view view = {.layer_count = 1, .seed_count = 2, .node_count = 3, .blocks = {block}};
    const struct gnn_batch_lists lists = {.view = &view, .labels = labels, .rows = rows};
    const struct gnn_mat x = {NULL, 3, 4}, out = {NULL, 2, 4};
    struct gnn_resident *room = NULL;
    struct gnn_modelled_counts counts;
    uint32_t correct;
    double loss;
    enum { BYTES = BLOCK_BYTES + 8 + 12 };
    assert_int_equal(t->ops->resident_open(t, &room, NULL), GNN_OK);
    t->ops->fill(t, NULL, 25000, 0); /* at 100; ends 10100 */
    assert_int_equal(t->ops->resident_stage(t, room, 0, &lists, NULL), GNN_OK);
    const uint64_t staged_ns = 100 + 2 * BYTES + 100; /* a core copies it at 1 GB/s read and written, a launch */
    assert_int_equal(clock.now_ns, staged_ns);
    t->ops->resident_use(t, room);
    t->ops->step_begin(t, &lists);
    t->ops->gather_rows(t, NULL, NULL, 4, rows, 3, 4);
    t->ops->segment_reduce(t, GNN_REDUCE_MEAN, out, &block, x, NULL);
    t->ops->softmax_nll(t, (struct gnn_mat){NULL, 2, 3}, labels, &loss, &correct);
    t->ops->step_end(t);
    assert_int_equal(clock.now_ns, staged_ns + 400); /* four launches: nothing was waited for */
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.uploaded_bytes, BYTES);
    assert_int_equal(counts.bus_busy_ns, BYTES / 2);
    assert_int_equal(counts.downloaded_bytes, 0);
    t->ops->synchronize(t);
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.downloaded_bytes, 12);
    t->ops->resident_use(t, NULL);
    t->ops->resident_close(t, room);
    struct gnn_device_times times;
    t->ops->take_times(t, &times);
    assert_int_equal(times.uploaded_bytes, BYTES);
    assert_int_equal(times.downloaded_bytes, 12);
    assert_int_equal(times.kernel_ns, counts.busy_ns);
    assert_int_equal(times.launches, counts.launches);
    t->ops->take_times(t, &times);
    assert_int_equal(times.copy_ns + times.kernel_ns + times.launches, 0); /* since the last call */
    t->ops->close(t);
}

/* The host waits in none of these: lane after stream, stream after lane. */
static void test_events_order_lanes_and_the_stream(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    struct gnn_event *event = NULL;
    gnn_real *const p = NULL;
    assert_int_equal(t->ops->event_open(t, &event, NULL), GNN_OK);
    t->ops->event_wait(t, event); /* was never recorded: has passed */
    assert_int_equal(clock.now_ns, 0);
    t->ops->fill(t, p, 25000, 0); /* at 100; ends 10100 */
    t->ops->event_record(t, event, GNN_LANE_STREAM);
    t->ops->event_await(t, event, 3);
    t->ops->upload_async(t, 3, p, NULL, 4000); /* called at 200; 10100 to 12100 */
    t->ops->event_record(t, event, 3);
    t->ops->event_await(t, event, GNN_LANE_STREAM);
    t->ops->fill(t, p, 250, 0); /* launched at 300; 12100 to 12200 */
    assert_int_equal(clock.now_ns, 300);
    t->ops->event_wait(t, event);
    assert_int_equal(clock.now_ns, 12100);
    t->ops->synchronize(t);
    assert_int_equal(clock.now_ns, 12200);
    t->ops->event_close(t, event);
    t->ops->close(t);
}

/* Many rows in one launch, and gathers that read the host's memory: the bus is charged, and the stream waits for it. */
static void test_rows_out_of_pinned_memory(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    static gnn_real table[100];
    const uint32_t rows[5] = {4, 3, 2, 1, 0};
    struct gnn_modelled_counts counts;
    assert_int_equal(t->ops->pin(t, "table", table, sizeof table, NULL), GNN_OK);
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.pinned_bytes, sizeof table);
    t->ops->upload_rows(t, 0, NULL, rows, table, rows, 5, 80); /* at 100; 150 to 350 */
    assert_int_equal(clock.now_ns, 100);
    t->ops->upload_wait(t, 0);
    assert_int_equal(clock.now_ns, 350);
    t->ops->gather_rows(t, NULL, table, 20, rows, 5, 20); /* the list: 450 + 50 + 20; the rows: + 50 + 200 */
    assert_int_equal(clock.now_ns, 350 + 100 + 50 + 20 + 100);
    t->ops->synchronize(t); /* 770, then 420 in order at 10 GB/s, 400 at random at 5 */
    const uint64_t gathered_ns = clock.now_ns;
    assert_int_equal(gathered_ns, 770 + 42 + 80);
    const struct gnn_placement placement = {.place = NULL};
    t->ops->gather_placed(t, NULL, &placement, rows, 5, 20, 2); /* two of them cross */
    t->ops->synchronize(t);
    assert_int_equal(clock.now_ns, gathered_ns + 100 + 50 + 20 + 50 + 80 + 42 + 80);
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.uploaded_bytes, 400 + 20 + 400 + 20 + 160);
    const struct gnn_placement halves = {.place = NULL, .type = GNN_F16};
    const uint64_t placed_ns = clock.now_ns;
    t->ops->gather_placed(t, NULL, &halves, rows, 5, 20, 2); /* half the bytes cross, and half are read at random */
    t->ops->synchronize(t);
    assert_int_equal(clock.now_ns, placed_ns + 100 + 50 + 20 + 100 + 42 + 40); /* the launch: 100; the bus: 50 + 40 */
    const uint64_t widened_ns = clock.now_ns;
    t->ops->gather_halves(t, NULL, (const uint16_t *)(const void *)table, 20, rows, 5, 20);
    t->ops->synchronize(t);
    assert_int_equal(clock.now_ns, widened_ns + 100 + 50 + 20 + 50 + 100 + 42 + 40);
    const uint64_t listed_ns = clock.now_ns;
    t->ops->gather_halves(t, NULL, NULL, 20, NULL, 5, 20); /* no list, the device's own memory: 600 B in order */
    t->ops->synchronize(t);
    assert_int_equal(clock.now_ns - listed_ns, 100 + 60);
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.uploaded_bytes, 1000 + 20 + 80 + 20 + 200);
    t->ops->unpin(t, table);
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.pinned_bytes, 0);
    t->ops->close(t);
}

enum { LANES = 4, COPIES = 2000 };

struct uploader {
    struct gnn_tensor *t;
    uint32_t lane;
    pthread_t thread;
};

static void *upload_many(void *arg)
{
    const struct uploader *u = arg;
    for (uint32_t i = 0; i < COPIES; i++) {
        u->t->ops->upload_async(u->t, u->lane, NULL, NULL, 512);
        if (i % 64 == 63)
            u->t->ops->upload_wait(u->t, u->lane);
    }
    u->t->ops->upload_wait(u->t, u->lane);
    return NULL;
}

static void test_uploads_beside_a_trainer(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    struct uploader uploaders[LANES];
    for (uint32_t l = 0; l < LANES; l++) {
        uploaders[l] = (struct uploader){.t = t, .lane = l};
        assert_int_equal(pthread_create(&uploaders[l].thread, NULL, upload_many, &uploaders[l]), 0);
    }
    for (uint32_t i = 0; i < 500; i++) {
        void *p = NULL;
        assert_int_equal(t->ops->alloc(t, "p", 4096, &p, NULL), GNN_OK);
        t->ops->fill(t, p, 1024, 0);
        t->ops->synchronize(t);
        t->ops->free(t, p);
    }
    for (uint32_t l = 0; l < LANES; l++)
        assert_int_equal(pthread_join(uploaders[l].thread, NULL), 0);
    struct gnn_modelled_counts counts;
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.uploaded_bytes, LANES * COPIES * 512);
    assert_int_equal(counts.bus_busy_ns, LANES * COPIES * 256);
    assert_int_equal(counts.memory_bytes, 0);
    assert_true(atomic_load(&clock.now_ns) >= counts.bus_busy_ns);
    t->ops->close(t);
}

/* A block whose lists are the head of the one before brings none of its own. */
static void test_shared_lists_cross_once(void **state)
{
    (void)state;
    const struct gnn_profile profile = round_profile();
    struct clock clock = {0};
    struct gnn_tensor *t = open_modelled(&clock, &profile, true, 1);
    const struct gnn_block head = {.dst_count = 1, .src_count = 2, .edge_count = 2, .row_start = row_start, .col = col};
    const struct gnn_batch_view view = {.layer_count = 2, .seed_count = 1, .node_count = 3, .blocks = {block, head}};
    const struct gnn_batch_lists lists = {.view = &view};
    struct gnn_resident *room = NULL;
    struct gnn_modelled_counts counts;
    assert_int_equal(t->ops->resident_open(t, &room, NULL), GNN_OK);
    assert_int_equal(t->ops->resident_stage(t, room, 0, &lists, NULL), GNN_OK);
    gnn_modelled_counts(t, &counts);
    assert_int_equal(counts.uploaded_bytes, BLOCK_BYTES);
    t->ops->resident_close(t, room);
    t->ops->close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream_runs_behind_the_caller),
        cmocka_unit_test(test_an_all_reduce_is_a_ring),
        cmocka_unit_test(test_two_ranks_share_a_gpu),
        cmocka_unit_test(test_copies_beside_the_stream),
        cmocka_unit_test(test_blocks_cross_once_a_step),
        cmocka_unit_test(test_a_frameworks_step),
        cmocka_unit_test(test_a_staged_batch_crosses_once_ahead),
        cmocka_unit_test(test_shared_lists_cross_once),
        cmocka_unit_test(test_events_order_lanes_and_the_stream),
        cmocka_unit_test(test_rows_out_of_pinned_memory),
        cmocka_unit_test(test_uploads_beside_a_trainer),
    };
    return cmocka_run_group_tests_name("modelled_timeline", tests, NULL, NULL);
}

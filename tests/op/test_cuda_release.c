/* SPDX-License-Identifier: MIT */
/* GNNDrive's slots on a device (section 4.2, release): a slot is written again only after an event behind the gather
 * that read it was waited for. The back-end is the CUDA one on the test suite's launcher; its table is watched. A wait
 * that is left out, or an event that is recorded ahead of the gather, shows at the first slot that is used again,
 * whoever is fast. */
#include "harness/tensor/cuda/backend.h"
#include "tests/support/fixture.h"

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS_MAX = 4096, GATHERS_MAX = 64, BATCH_ROWS_MAX = 512, DIM = 128 };

/* A gather that is not known to be over. */
struct gather {
    bool open;
    const struct gnn_event *event; /* behind it; NULL: none yet */
    uint32_t count, rows[BATCH_ROWS_MAX];
};

static struct watch {
    pthread_mutex_t mutex;
    const char *table;          /* the slots */
    uint32_t readers[ROWS_MAX]; /* open gathers of a row of the slots */
    bool was_read[ROWS_MAX];    /* since it was written */
    struct gather gathers[GATHERS_MAX];
    uint32_t waits, used_again, overwritten;
} watch = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void watched_gather_rows(struct gnn_tensor *t, gnn_real *out, const gnn_real *table, uint64_t row_stride,
                                const uint32_t *rows, uint32_t count, uint32_t cols)
{
    uint32_t g = 0;
    assert(row_stride == DIM);
    assert(count <= BATCH_ROWS_MAX);
    (void)pthread_mutex_lock(&watch.mutex);
    assert(watch.table == NULL || watch.table == (const char *)table);
    watch.table = (const char *)table;
    while (g < GATHERS_MAX && watch.gathers[g].open)
        g++;
    assert(g < GATHERS_MAX);
    watch.gathers[g] = (struct gather){.open = true, .count = count};
    memcpy(watch.gathers[g].rows, rows, count * sizeof *rows);
    for (uint32_t i = 0; i < count; i++) {
        assert(rows[i] < ROWS_MAX);
        watch.readers[rows[i]]++;
        watch.was_read[rows[i]] = true;
    }
    (void)pthread_mutex_unlock(&watch.mutex);
    gnn_tensor_cuda.gather_rows(t, out, table, row_stride, rows, count, cols);
}

static void watched_event_record(struct gnn_tensor *t, struct gnn_event *event, uint32_t lane)
{
    gnn_tensor_cuda.event_record(t, event, lane);
    (void)pthread_mutex_lock(&watch.mutex);
    for (uint32_t g = 0; lane == GNN_LANE_STREAM && g < GATHERS_MAX; g++)
        if (watch.gathers[g].open && watch.gathers[g].event == NULL)
            watch.gathers[g].event = event;
    (void)pthread_mutex_unlock(&watch.mutex);
}

static void watched_event_wait(struct gnn_tensor *t, struct gnn_event *event)
{
    gnn_tensor_cuda.event_wait(t, event);
    (void)pthread_mutex_lock(&watch.mutex);
    for (struct gather *g = watch.gathers; g < watch.gathers + GATHERS_MAX; g++) {
        if (!g->open || g->event != event)
            continue;
        for (uint32_t i = 0; i < g->count; i++)
            watch.readers[g->rows[i]]--;
        g->open = false;
        watch.waits++;
    }
    (void)pthread_mutex_unlock(&watch.mutex);
}

/* A row of the slots is about to be written. */
static void note_write(const char *at)
{
    if (watch.table == NULL || at < watch.table || at >= watch.table + ROWS_MAX * (size_t)DIM * sizeof(gnn_real))
        return;
    const size_t row = (size_t)(at - watch.table) / (DIM * sizeof(gnn_real));
    watch.overwritten += watch.readers[row] > 0;
    watch.used_again += watch.was_read[row];
    watch.was_read[row] = false;
}

static void watched_upload_async(struct gnn_tensor *t, uint32_t lane, void *dst, const void *host_src, uint64_t bytes)
{
    (void)pthread_mutex_lock(&watch.mutex);
    for (uint64_t at = 0; at < bytes; at += DIM * sizeof(gnn_real))
        note_write((const char *)dst + at);
    (void)pthread_mutex_unlock(&watch.mutex);
    gnn_tensor_cuda.upload_async(t, lane, dst, host_src, bytes);
}

static void watched_upload_rows(struct gnn_tensor *t, uint32_t lane, void *table, const uint32_t *to,
                                const void *host_rows, const uint32_t *from, uint32_t count, uint64_t row_bytes)
{
    (void)pthread_mutex_lock(&watch.mutex);
    for (uint32_t i = 0; i < count; i++)
        note_write((const char *)table + to[i] * row_bytes);
    (void)pthread_mutex_unlock(&watch.mutex);
    gnn_tensor_cuda.upload_rows(t, lane, table, to, host_rows, from, count, row_bytes);
}

static void expect_slots_in_order(struct fixture *f, const char *const *options)
{
    enum { EPOCHS = 2 };
    struct train_run run;
    watch = (struct watch){.mutex = PTHREAD_MUTEX_INITIALIZER};
    train_run_init(&run, f->world, "gnndrive");
    run.options = options;
    run.backend = &gnn_tensor_cuda;
    must_run(train_run_open(&run, &f->graph), &run);
    run.ops.gather_rows = watched_gather_rows;
    run.ops.event_record = watched_event_record;
    run.ops.event_wait = watched_event_wait;
    run.ops.upload_async = watched_upload_async;
    run.ops.upload_rows = watched_upload_rows;
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        must_run(train_run_epoch(&run, epoch), &run);
        train_run_each_seed_once(&run);
    }
    print_message("%u slots used again, %u gathers\n", watch.used_again, watch.waits);
    assert_true(watch.used_again > 500); /* or nothing was to be seen */
    assert_int_equal(watch.overwritten, 0);
    assert_int_equal(watch.waits, EPOCHS * 20);
    train_run_close(&run);
}

static void test_a_slot_is_used_again_after_its_event(void **state)
{
    (void)state;
    static const struct train_graph_config graph = {
        .nodes = 2000, .mean_degree = 5, .dim = DIM, .classes = 5, .train = 400, .seed = 3};
    struct fixture f;
    fixture_open(&f, .graph = &graph);
    expect_slots_in_order(&f, OPTIONS("io=buffered", "batch_nodes=340", "slots=680", "extractors=2"));
    expect_slots_in_order(
        &f, OPTIONS("io=buffered", "batch_nodes=340", "slots=680", "extractors=2", "in_order=true", "coalesce=true"));
    expect_slots_in_order(
        &f, OPTIONS("io=buffered", "batch_nodes=340", "slots=340", "extractors=1", "staging=50", "transfer=gather"));
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_slot_is_used_again_after_its_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Several workers train what one would: the mini-batches are the union, losses and parameters agree, whether the ranks
 * are processes or threads and whether they share one feature buffer or not. One worker's batch is that of all together
 * over the same segments (harness/system/sampling.h); dropout is off, its masks are each rank's own. */
#include "tests/differential/systems.h"
#include "tests/support/hang.h"
#include "tests/support/sanitizers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS_MAX = 4, SEGMENTS = 4, TOGETHER = 24, PARAMS_MAX = 4096, STEPS = 7 };

/* Of one rank, in memory that all processes share. */
struct outcome {
    enum gnn_status status;
    char message[GNN_ERR_MAX];
    double loss[EPOCHS][STEPS];
    float params[PARAMS_MAX];
    uint32_t param_count, wrong_values, steps;
    uint64_t seeds, rows, loads;
};

struct shared {
    struct train_graph graph;
    struct fixture *fixture;
    uint32_t workers;
    enum gnn_model_kind kind;
    const char *const *options;
    bool device;
    struct gnn_ranks *ranks;
    struct gnn_average_memory *memory;
    void *system;
    struct outcome *outcome; /* (RANKS_MAX) */
};

static void fill(struct shared *s, struct train_run *run, uint32_t rank)
{
    train_run_init(run, s->fixture->world, "gnndrive");
    run->workload.workers = s->workers;
    run->workload.segments = SEGMENTS;
    run->workload.batch_size = TOGETHER / s->workers;
    run->model_config.kind = s->kind;
    run->model_config.dropout = 0;
    run->options = s->options;
    run->device = s->device;
    run->check_rows = s->kind == GNN_MODEL_SAGE;
    run->rank = rank;
    run->ranks = s->ranks;
    run->shared = s->system;
}

static void keep_params(const struct train_run *run, struct outcome *out)
{
    out->param_count = 0;
    for (uint32_t i = 0; i < gnn_model_param_count(run->env.model); i++) {
        const struct gnn_param p = gnn_model_param(run->env.model, i);
        const uint32_t count = p.rows * p.cols;
        assert_true(out->param_count + count <= PARAMS_MAX);
        run->env.tensor->ops->download(run->env.tensor, out->params + out->param_count, p.value,
                                       count * sizeof *out->params);
        out->param_count += count;
    }
}

static enum gnn_status train(struct train_run *run, struct shared *s, struct outcome *out)
{
    GNN_TRY(train_run_open(run, &s->graph));
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        GNN_TRY(gnn_ranks_meet(s->ranks, &run->err));
        GNN_TRY(train_run_epoch(run, epoch));
        memcpy(out->loss[epoch], run->loss, sizeof out->loss[epoch]);
        out->steps = run->step_count;
        out->seeds += run->result.seeds;
        out->rows += run->result.counters.cache_hits + run->result.counters.cache_misses;
        out->loads += run->result.counters.cache_misses;
    }
    out->wrong_values = run->wrong_values;
    keep_params(run, out);
    return GNN_OK;
}

static void train_rank(struct shared *s, uint32_t rank)
{
    struct outcome *const out = &s->outcome[rank];
    struct train_run *const run = malloc(sizeof *run);
    struct gnn_average average;
    assert_non_null(run);
    fill(s, run, rank);
    if (s->workers > 1) {
        const struct gnn_average_config config = {.memory = s->memory, .rank = rank};
        gnn_average_init(&average, &config);
        run->average = &average;
    }
    out->status = train(run, s, out);
    (void)snprintf(out->message, sizeof out->message, "%s", run->err.message);
    if (out->status != GNN_OK)
        gnn_ranks_cancel(s->ranks, rank, &run->err);
    train_run_close(run);
    free(run);
}

struct rank_thread {
    struct shared *shared;
    uint32_t rank;
    struct gnn_thread *thread;
};

static void rank_thread(void *arg)
{
    struct rank_thread *const t = arg;
    train_rank(t->shared, t->rank);
}

static void as_threads(struct shared *s)
{
    struct rank_thread threads[RANKS_MAX];
    struct gnn_err err = {0};
    for (uint32_t r = 0; r < s->workers; r++) {
        threads[r] = (struct rank_thread){.shared = s, .rank = r};
        must(gnn_thread_start(s->fixture->world, "rank", rank_thread, &threads[r], &threads[r].thread, &err), &err);
    }
    for (uint32_t r = 0; r < s->workers; r++)
        gnn_thread_join(s->fixture->world, threads[r].thread);
}

static void as_processes(struct shared *s)
{
    pid_t pids[RANKS_MAX] = {0};
    for (uint32_t r = 1; r < s->workers; r++) {
        pids[r] = fork();
        assert_true(pids[r] >= 0);
        if (pids[r] == 0) {
            gnn_world_measured_forked(s->fixture->inner);
            train_rank(s, r);
            _exit(0);
        }
    }
    gnn_world_measured_forked(s->fixture->inner);
    train_rank(s, 0);
    for (uint32_t r = 1; r < s->workers; r++) {
        int status;
        assert_int_equal(waitpid(pids[r], &status, 0), pids[r]);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("rank %u ended with %x", r, (unsigned)status);
    }
}

struct way {
    uint32_t workers;
    bool processes, device;
    const char *const *options;
};

/* Trains and leaves every rank's outcome; a mapping of RANKS_MAX of them, the caller's to unmap. */
static struct outcome *run_way(const struct way *way, enum gnn_model_kind kind)
{
    struct fixture f;
    struct shared s = {.fixture = &f,
                       .workers = way->workers,
                       .kind = kind,
                       .options = way->options,
                       .device = way->device,
                       .outcome = mmap(NULL, RANKS_MAX * sizeof(struct outcome), PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
    fixture_open(&f, .graph = &usual, .measured = {.processes = way->processes});
    s.graph = f.graph;
    assert_true(s.outcome != MAP_FAILED);
    struct train_run sizing = {.config = NULL};
    if (way->workers > 1) {
        const struct gnn_model_config config = {.kind = kind,
                                                .layers = 2,
                                                .in_dim = f.graph.dataset.dim,
                                                .hidden = 8,
                                                .heads = 2,
                                                .classes = f.graph.dataset.class_count};
        must(gnn_ranks_open(f.world, way->workers, 0, &s.ranks, &f.err), &f.err);
        must(gnn_average_memory_open(f.world, s.ranks, gnn_model_gradient_count(&config), &s.memory, &f.err), &f.err);
        fill(&s, &sizing, 0);
        must(train_run_open_shared(&sizing, &s.graph, &s.system), &sizing.err);
    }
    if (way->processes)
        as_processes(&s);
    else
        as_threads(&s);
    if (way->workers > 1)
        sizing.table->close_shared(s.system);
    free(sizing.config);
    gnn_average_memory_close(s.memory);
    gnn_ranks_close(s.ranks);
    fixture_close(&f);
    for (uint32_t r = 0; r < way->workers; r++)
        if (s.outcome[r].status != GNN_OK)
            fail_msg("rank %u: %s", r, s.outcome[r].message);
    return s.outcome;
}

static double apart(double a, double b)
{
    return fabs(a - b) / fmax(fmax(fabs(a), fabs(b)), 1);
}

/* Adam divides by the root of its second moment: a gradient that is 0 but for rounding may move its parameter by lr in
 * either direction. None of these models has one (their biases included) within these few steps. */
static void compare(const struct outcome *one, const struct outcome *several, uint32_t workers)
{
    uint64_t seeds = 0;
    for (uint32_t r = 0; r < workers; r++) {
        const struct outcome *const o = &several[r];
        assert_int_equal(o->steps, STEPS);
        assert_int_equal(o->wrong_values, 0);
        assert_int_equal(o->param_count, one->param_count);
        assert_memory_equal(o->params, several[0].params, o->param_count * sizeof *o->params); /* to the bit */
        seeds += o->seeds;
        for (uint32_t e = 0; e < EPOCHS; e++)
            for (uint32_t k = 0; k < STEPS; k++)
                if (apart(o->loss[e][k], one->loss[e][k]) > 1e-6)
                    fail_msg("epoch %u step %u: %.9g, one process has %.9g", e, k, o->loss[e][k], one->loss[e][k]);
    }
    assert_int_equal(seeds, one->seeds);
    assert_int_equal(seeds, EPOCHS * (TRAIN / SEGMENTS * SEGMENTS));
    for (uint32_t i = 0; i < one->param_count; i++)
        if (apart((double)several->params[i], (double)one->params[i]) > 1e-6)
            fail_msg("parameter %u: %.9g, one process has %.9g", i, (double)several->params[i], (double)one->params[i]);
}

static void test_workers_train_what_one_process_would(void **state)
{
    (void)state;
    const struct way one = {.workers = 1, .options = OPTIONS("io=buffered", "in_order=true")};
    const struct way ways[] = {
        {2, true, false, OPTIONS("io=buffered", "in_order=true")},
        {4, true, false, OPTIONS("io=buffered", "in_order=true")},
        {4, true, false, OPTIONS("io=buffered", "in_order=true", "rank_buffers=own", "samplers=1", "extractors=1")},
        {2, true, true, OPTIONS("io=buffered", "in_order=true")},
        {2, false, false, OPTIONS("io=buffered", "in_order=true", "extractors=3")},
        {4, false, false, OPTIONS("io=buffered", "in_order=true", "valid=batch", "batch_nodes=200")},
        {4, false, false, OPTIONS("io=buffered", "in_order=true", "rank_buffers=own")},
        {4, false, true, OPTIONS("io=buffered", "in_order=true", "staging=5")},
        {4, true, true, OPTIONS("io=buffered", "in_order=true", "staging=1", "extractors=3")},
        {4, false, true, OPTIONS("io=buffered", "in_order=true", "staging=2", "extractors=3", "lock_submit=true")},
        {2, false, true, OPTIONS("io=buffered", "in_order=true", "staging=3", "serial_extract=true")},
        {2, false, true, OPTIONS("io=buffered", "in_order=true", "staging=3", "rank_buffers=own")},
    };
    /* Not GCN: the factor of a source counts its targets in the whole block, so it depends on who shares the batch. */
    const int kinds[] = {GNN_MODEL_SAGE, GNN_MODEL_GAT};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const int kind = kinds[i];
        struct outcome *const expected = run_way(&one, (enum gnn_model_kind)kind);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            if (ways[w].processes && SANITIZERS_SHADOW_PERCENT > 100)
                continue; /* ThreadSanitizer does not see other processes */
            struct outcome *const several = run_way(&ways[w], (enum gnn_model_kind)kind);
            compare(expected, several, ways[w].workers);
            assert_int_equal(munmap(several, RANKS_MAX * sizeof *several), 0);
        }
        assert_int_equal(munmap(expected, RANKS_MAX * sizeof *expected), 0);
    }
}

/* Out of order nothing but the mini-batches is promised; a small shared buffer must neither deadlock nor mix rows. */
static void test_workers_in_any_order_train_every_seed(void **state)
{
    (void)state;
    const struct way ways[] = {
        {2, false, false, OPTIONS("io=buffered", "batch_nodes=140", "extractors=1", "slots=280", "train_queue=1")},
        {4, false, false, OPTIONS("io=buffered", "batch_nodes=110", "extractors=2", "slots=880", "train_queue=3")},
        {4, true, false, OPTIONS("io=buffered", "batch_nodes=110", "extractors=2", "slots=880")},
        {4, false, true, OPTIONS("io=buffered", "extractors=3", "staging=2", "valid=batch")},
        {4, true, true, OPTIONS("io=buffered", "extractors=2", "staging=4")},
    };
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        if (ways[w].processes && SANITIZERS_SHADOW_PERCENT > 100)
            continue;
        struct outcome *const several = run_way(&ways[w], GNN_MODEL_SAGE);
        uint64_t seeds = 0;
        for (uint32_t r = 0; r < ways[w].workers; r++) {
            assert_int_equal(several[r].wrong_values, 0);
            assert_memory_equal(several[r].params, several[0].params, several[0].param_count * sizeof(float));
            seeds += several[r].seeds;
        }
        assert_int_equal(seeds, EPOCHS * (TRAIN / SEGMENTS * SEGMENTS));
        assert_int_equal(munmap(several, RANKS_MAX * sizeof *several), 0);
    }
}

/* What one rank loads into what all share is there for the others: they read less than with one each. */
static void expect_fewer_reads(const struct way *shared, const struct way *own, uint64_t *loads)
{
    uint64_t rows[2] = {0};
    for (size_t w = 0; w < 2; w++) {
        struct outcome *const several = run_way(w == 0 ? shared : own, GNN_MODEL_SAGE);
        loads[w] = 0;
        for (uint32_t r = 0; r < 4; r++) {
            loads[w] += several[r].loads;
            rows[w] += several[r].rows;
        }
        assert_int_equal(munmap(several, RANKS_MAX * sizeof *several), 0);
    }
    assert_int_equal(rows[0], rows[1]);
    assert_true(loads[1] > loads[0]);
}

static void test_a_shared_buffer_is_read_into_once(void **state)
{
    (void)state;
    const struct way shared = {4, false, false, OPTIONS("io=buffered", "in_order=true", "slots=900")};
    const struct way own = {4, false, false, OPTIONS("io=buffered", "in_order=true", "rank_buffers=own", "slots=900")};
    uint64_t loads[2];
    expect_fewer_reads(&shared, &own, loads);
    assert_true(loads[0] <= usual.nodes); /* it holds everything: no row is read twice */
}

static void test_what_another_rank_staged_is_not_read_again(void **state)
{
    (void)state;
    const struct way shared = {4, false, true, OPTIONS("io=buffered", "in_order=true", "staging=120")};
    const struct way own = {4, false, true, OPTIONS("io=buffered", "in_order=true", "rank_buffers=own", "staging=120")};
    uint64_t loads[2];
    expect_fewer_reads(&shared, &own, loads);
}

/* ---- the mini-batches themselves ---- */

struct edge {
    uint64_t epoch;
    uint32_t batch, layer, dst, src;
};

struct edges {
    struct edge *items;
    size_t count, room;
};

static void add_edges(struct edges *edges, const struct gnn_batch_view *view)
{
    for (uint32_t layer = 0; layer < view->layer_count; layer++) {
        const struct gnn_block *const b = &view->blocks[layer];
        for (uint32_t dst = 0; dst < b->dst_count; dst++)
            for (uint32_t e = b->row_start[dst]; e < b->row_start[dst + 1]; e++) {
                if (edges->count == edges->room) {
                    edges->room = 2 * edges->room + 1024;
                    edges->items = realloc(edges->items, edges->room * sizeof *edges->items);
                    assert_non_null(edges->items);
                }
                edges->items[edges->count++] =
                    (struct edge){view->epoch, (uint32_t)view->batch, layer, view->nodes[dst], view->nodes[b->col[e]]};
            }
    }
}

static int by_all(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct edge));
}

static void sort_distinct(struct edges *edges)
{
    size_t kept = 0;
    qsort(edges->items, edges->count, sizeof *edges->items, by_all);
    for (size_t i = 0; i < edges->count; i++)
        if (kept == 0 || by_all(&edges->items[kept - 1], &edges->items[i]) != 0)
            edges->items[kept++] = edges->items[i];
    edges->count = kept;
}

static void draw_all(struct fixture *f, uint32_t workers, struct edges *edges)
{
    const struct gnn_sampling_config config = {.workers = 1};
    struct gnn_batch *batch;
    must(gnn_batch_open(f->world, &batch, &f->err), &f->err);
    f->workload.workers = workers;
    f->workload.segments = SEGMENTS;
    f->workload.batch_size = TOGETHER / workers;
    for (uint32_t rank = 0; rank < workers; rank++) {
        struct gnn_sampling *sampling;
        f->env.rank = rank;
        must(gnn_sampling_open(&f->env, &config, &sampling, &f->err), &f->err);
        assert_int_equal(gnn_sampling_batches(sampling), STEPS);
        assert_int_equal(gnn_epoch_batches(&f->env), STEPS);
        for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
            gnn_sampling_begin(sampling, epoch);
            for (uint32_t k = 0; k < STEPS; k++) {
                must(gnn_sampling_draw(sampling, 0, k, batch, &f->err), &f->err);
                add_edges(edges, gnn_batch_view(batch));
            }
        }
        gnn_sampling_close(sampling);
    }
    gnn_batch_close(f->world, batch);
    sort_distinct(edges);
}

static void test_the_union_is_what_one_process_draws(void **state)
{
    (void)state;
    struct fixture f;
    struct edges one = {0};
    fixture_open(&f, .graph = &usual);
    draw_all(&f, 1, &one);
    assert_true(one.count > 1000);
    for (uint32_t workers = 2; workers <= 4; workers *= 2) {
        struct edges several = {0};
        draw_all(&f, workers, &several);
        assert_int_equal(several.count, one.count);
        assert_memory_equal(several.items, one.items, one.count * sizeof *one.items);
        free(several.items);
    }
    free(one.items);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_union_is_what_one_process_draws),
        cmocka_unit_test(test_workers_train_what_one_process_would),
        cmocka_unit_test(test_workers_in_any_order_train_every_seed),
        cmocka_unit_test(test_a_shared_buffer_is_read_into_once),
        cmocka_unit_test(test_what_another_rank_staged_is_not_read_again),
    };
    end_a_hang();
    return cmocka_run_group_tests_name("workers", tests, NULL, NULL);
}

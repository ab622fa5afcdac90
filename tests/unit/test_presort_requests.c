/* SPDX-License-Identifier: MIT */
/* presort's requests, one by one: a sweep, blocks written and read back, direct rows are those of the plan, and where
 * everything has room nothing is read twice (docs/invariants.md, presort: 4, 8). */
#include "tests/support/hang.h"
#include "tests/support/io_log.h"
#include "tests/support/presort_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* The requests of an epoch, by what they were for. The sweep's ring is opened before that of the writes. */
struct requests {
    const struct io_log *log;
    uint64_t begin, end;
    uint32_t writes; /* their ring; UINT32_MAX: there are none */
    struct gnn_file *features;
};

static struct requests requests_of(const struct io_log *log, uint64_t begin, const struct presort *s)
{
    struct requests r = {log, begin, io_log_count(log), UINT32_MAX, s->setup.features};
    for (uint64_t i = begin; i < r.end; i++)
        if (io_log_request(log, i)->write)
            r.writes = io_log_request(log, i)->ring;
    return r;
}

enum purpose { SWEEP, WRITE, READ_BACK, DIRECT };

static enum purpose purpose_of(const struct requests *r, const struct io_request *request)
{
    if (request->write)
        return WRITE;
    if (request->file != r->features)
        return READ_BACK;
    return r->writes != UINT32_MAX && request->ring + 1 == r->writes ? SWEEP : DIRECT;
}

/* Takes the next request for a purpose from *at on; fails the test where there is none. */
static const struct io_request *take(const struct requests *r, enum purpose purpose, uint64_t *at)
{
    while (*at < r->end) {
        const struct io_request *const request = io_log_request(r->log, (*at)++);
        if (purpose_of(r, request) == purpose)
            return request;
    }
    fail_msg("a request is missing");
    return NULL;
}

static void none_is_left(const struct requests *r, enum purpose purpose, uint64_t at)
{
    for (; at < r->end; at++)
        assert_true(purpose_of(r, io_log_request(r->log, at)) != purpose);
}

static uint64_t sectors(const struct presort_setup *s, uint64_t bytes)
{
    return gnn_round_up(bytes, s->align_bytes) / s->align_bytes;
}

/* The bytes of a read of rows [first, last], in whole sectors up to `end_bytes`. */
static void expect_rows(const struct presort_setup *s, const struct io_request *r, gnn_node first, gnn_node last,
                        uint64_t end_bytes)
{
    const uint64_t row_bytes = s->env->dataset->row_bytes;
    const uint64_t begin = gnn_round_down(first * row_bytes, s->align_bytes);
    const uint64_t end = gnn_min_u64(sectors(s, (last + UINT64_C(1)) * row_bytes) * s->align_bytes, end_bytes);
    assert_int_equal(r->offset_bytes, begin);
    assert_int_equal(r->len_bytes, end - begin);
    assert_in_range(r->result, gnn_min_u64(end, s->env->dataset->feature_bytes) - begin, r->len_bytes);
}

/* Whether two rows are nearer than a request costs, or share a sector. */
static bool near(const struct presort_setup *s, gnn_node row, gnn_node next)
{
    const uint64_t row_bytes = s->env->dataset->row_bytes;
    return next - row <= s->sizes.costs.random_bytes / row_bytes ||
           next * row_bytes / s->align_bytes < sectors(s, (row + UINT64_C(1)) * row_bytes);
}

/* One ascending sweep over the rows of a set: a request goes on through what costs less than another. What is less than
 * a sector at the file's end comes without a ring. */
static void expect_sweep(const struct requests *r, const struct presort_setup *s, const bool *sorted)
{
    const struct gnn_dataset *const d = s->env->dataset;
    const uint64_t most = gnn_max_u64(s->config->sweep_read, gnn_round_up(d->row_bytes, 4096) + 8192);
    uint64_t at = r->begin;
    for (gnn_node v = 0; v < d->node_count; v++) {
        if (!sorted[v])
            continue;
        const uint64_t begin = gnn_round_down((uint64_t)v * d->row_bytes, s->align_bytes);
        gnn_node last = v;
        for (gnn_node w = v + 1; w < d->node_count; w++) {
            const uint64_t end = sectors(s, (w + UINT64_C(1)) * d->row_bytes) * s->align_bytes;
            if (!near(s, last, w) || end - begin > most)
                break;
            if (sorted[w])
                last = w;
        }
        expect_rows(s, take(r, SWEEP, &at), v, last, gnn_round_down(d->feature_bytes, s->align_bytes));
        v = last;
    }
    none_is_left(r, SWEEP, at);
}

/* Each block of the scratch file is written once, and read once when that has been done: those of a window in the order
 * of its rows. Returns the blocks. */
static uint64_t expect_blocks(const struct requests *r, const struct presort_hyperbatch *x, uint32_t row_bytes)
{
    uint64_t at = r->begin, written = r->begin, blocks = 0;
    while (blocks < x->blocks) {
        const struct io_request *const w = take(r, WRITE, &written);
        assert_ptr_equal(w->file, x->scratch->file);
        assert_int_equal(w->offset_bytes, blocks++ * x->block_bytes);
        assert_in_range(w->len_bytes, 1, x->block_bytes);
        assert_int_equal(w->len_bytes % 4096, 0);
    }
    none_is_left(r, WRITE, written);
    bool *const seen = calloc(blocks + 1, sizeof *seen);
    for (uint32_t j = 0; j < x->windows; j++) {
        uint64_t rows = 0, before = 0;
        for (uint32_t i = presort_begin_of(x->load_end, j); i < x->load_end[j]; i++)
            rows += (x->loads[i].slot & PRESORT_SORTED_LOAD) != 0;
        for (bool first = true; rows > 0; first = false) {
            const uint64_t of_block = gnn_min_u64(rows, x->block_rows);
            const struct io_request *const b = take(r, READ_BACK, &at);
            assert_ptr_equal(b->file, x->scratch->file);
            assert_int_equal(b->len_bytes, gnn_round_up(of_block * row_bytes, 4096));
            assert_true(first || b->offset_bytes > before);
            before = b->offset_bytes;
            assert_false(seen[before / x->block_bytes]);
            seen[before / x->block_bytes] = true;
            rows -= of_block;
        }
    }
    none_is_left(r, READ_BACK, at);
    free(seen);
    return blocks;
}

/* A block is read when its write has been told, and with its length. */
static void expect_written_first(const struct requests *r)
{
    for (uint64_t i = r->begin; i < r->end; i++) {
        const struct io_request *const back = io_log_request(r->log, i);
        const struct io_request *write = NULL;
        for (uint64_t k = r->begin; k < i && purpose_of(r, back) == READ_BACK; k++) {
            const struct io_request *const w = io_log_request(r->log, k);
            if (w->write && w->offset_bytes == back->offset_bytes)
                write = w;
        }
        if (purpose_of(r, back) != READ_BACK)
            continue;
        assert_non_null(write);
        assert_true(write->told < back->handed_over);
        assert_int_equal(write->len_bytes, back->len_bytes);
    }
}

/* Reads of the direct rows, window by window, ascending: one goes on to the next row as the sweep does, in whole
 * sectors of the file and no further than its buffer. Returns how many. */
static uint64_t expect_direct(const struct requests *r, const struct presort_setup *s,
                              const struct presort_hyperbatch *x)
{
    const struct gnn_dataset *const d = s->env->dataset;
    uint64_t at = r->begin, reads = 0;
    for (uint32_t j = 0; j < x->windows; j++) {
        gnn_node rows[900];
        uint32_t count = 0;
        for (uint32_t i = presort_begin_of(x->load_end, j); i < x->load_end[j]; i++)
            if ((x->loads[i].slot & PRESORT_SORTED_LOAD) == 0)
                rows[count++] = x->loads[i].row;
        for (uint32_t i = 0, next; i < count; i = next, reads++) {
            const uint64_t begin = gnn_round_down((uint64_t)rows[i] * d->row_bytes, s->align_bytes);
            for (next = i + 1; next < count && near(s, rows[next - 1], rows[next]); next++) {
                const uint64_t end = sectors(s, (rows[next] + UINT64_C(1)) * d->row_bytes) * s->align_bytes;
                if (end - begin > s->config->merge || end > d->feature_bytes)
                    break;
            }
            expect_rows(s, take(r, DIRECT, &at), rows[i], rows[next - 1], UINT64_MAX);
        }
    }
    none_is_left(r, DIRECT, at);
    return reads;
}

/* An epoch that begins with nothing in memory and is one hyperbatch. */
static void check_requests(struct train_run *run, const struct io_log *log, uint64_t epoch, uint64_t *direct,
                           uint64_t *blocks)
{
    const struct presort *const s = run->state;
    const struct presort_hyperbatch *const x = &s->hyperbatches[0];
    const uint32_t nodes = run->env.dataset->node_count, row_bytes = run->env.dataset->row_bytes;
    const uint64_t begin = io_log_count(log);
    must_run(train_run_epoch(run, epoch), run);
    const struct requests r = requests_of(log, begin, s);
    bool *const sorted = calloc(nodes, sizeof *sorted), *const loaded = calloc(nodes, sizeof *loaded);
    assert_true(sorted != NULL && loaded != NULL);
    assert_int_equal(train_run_extra(run, "hyperbatches"), 1);
    for (uint32_t i = 0; i < x->load_end[x->windows - 1]; i++) {
        sorted[x->loads[i].row] |= (x->loads[i].slot & PRESORT_SORTED_LOAD) != 0;
        loaded[x->loads[i].row] = true;
    }
    for (gnn_node v = 0; v < nodes; v++) /* nothing was there before */
        assert_int_equal(loaded[v], run->needed[v] > 0);
    expect_sweep(&r, &s->setup, sorted);
    *blocks += expect_blocks(&r, x, row_bytes);
    expect_written_first(&r);
    const uint64_t reads = expect_direct(&r, &s->setup, x);
    assert_int_equal(reads, train_run_extra(run, "direct_reads"));
    assert_true(s->setup.config->merge > 0 || reads == train_run_extra(run, "direct_loads"));
    *direct += reads;
    free(loaded);
    free(sorted);
}

static void test_requests_are_those_of_the_plan(void **state)
{
    (void)state;
    static const struct train_graph_config straddling = {
        .nodes = 900, .mean_degree = 6, .dim = 100, .classes = 5, .train = TRAIN, .seed = 11};
    const char *const *const cases[] = {
        OPTIONS(SMALL, "ahead=false", "first=8", "classes=sorted"),
        OPTIONS(SMALL, "ahead=false", "first=8", "classes=sorted", "block=4K", "sweep_read=4K", "random_read=1K"),
        OPTIONS(SMALL, "ahead=false", "first=8", "classes=direct", "depth=3"),
        OPTIONS(SMALL, "ahead=false", "first=8", "random_read=1600", "window=2"),
        OPTIONS("row_memory=130K", "ahead=false", "first=8", "classes=sorted", "window=1", "sweep_read=8K",
                "random_read=5K"),
        OPTIONS("row_memory=130K", "ahead=false", "first=8", "classes=direct"),
        OPTIONS("row_memory=130K", "ahead=false", "first=8", "random_read=1600", "window=2"),
        OPTIONS("row_memory=130K", "ahead=false", "first=8", "classes=sorted", "random_read=1"),
        OPTIONS("row_memory=130K", "ahead=false", "first=8", "classes=direct", "random_read=1", "merge=4K", "depth=2"),
        OPTIONS("row_memory=130K", "ahead=false", "first=8", "classes=direct", "merge=0"),
    };
    enum { CASES = sizeof cases / sizeof *cases, BUFFERED = 4 };
    static const bool has_direct[CASES] = {false, false, true, true, false, true, true, false, true, true};
    static const bool has_sorted[CASES] = {true, true, false, true, true, false, true, true, false, false};
    for (int kind = 0; kind < 4; kind++)
        for (size_t c = 0; c < CASES; c++) {
            struct fixture f;
            struct train_run run;
            uint64_t direct = 0, blocks = 0;
            fixture_open(&f, .graph = kind / 2 == 0 ? &usual : &straddling, .simulated = kind % 2 == 1);
            if (c < BUFFERED || f.direct) {
                struct io_log *const log = io_log_open(f.world);
                open_run(&run, &f, cases[c]);
                for (uint64_t epoch = EPOCHS; epoch-- > 0;) /* out of order: each begins anew */
                    check_requests(&run, log, epoch, &direct, &blocks);
                assert_int_equal(direct > 0, has_direct[c]);
                assert_int_equal(blocks > 0, has_sorted[c]);
                train_run_close(&run);
                io_log_close(log);
            }
            fixture_close(&f);
        }
}

/* ---- where little is left to choose ---- */

/* Every neighbour is drawn, so that each epoch uses the same rows, and all of them have room: the first epoch asks for
 * each once, and later ones for nothing. */
static void test_where_everything_fits_nothing_is_read_twice(void **state)
{
    (void)state;
    const char *const *const cases[] = {
        OPTIONS("io=buffered", "row_memory=2M", "classes=direct"),
        OPTIONS("io=buffered", "row_memory=2M", "classes=sorted", "first=8"),
        OPTIONS("io=buffered", "row_memory=2M", "window=1"),
    };
    for (int simulated = 0; simulated < 2; simulated++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            struct fixture f;
            struct train_run run;
            fixture_open(&f, .graph = &usual, .simulated = simulated);
            struct io_log *const log = io_log_open(f.world);
            train_run_init(&run, f.world, "presort");
            run.options = cases[c];
            run.workload.epochs = EPOCHS;
            run.workload.fanout[0] = run.workload.fanout[1] = GNN_FANOUT_MAX;
            run.check_rows = !simulated;
            run.modelled = simulated ? &f.profile : NULL;
            must_run(train_run_open(&run, &f.graph), &run);
            for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                const uint64_t before = io_log_count(log);
                uint64_t used = 0;
                must_run(train_run_epoch(&run, epoch), &run);
                assert_int_equal(run.wrong_values, 0);
                for (gnn_node v = 0; v < usual.nodes; v++)
                    used += run.needed[v] > 0;
                assert_int_equal(run.result.counters.cache_misses, epoch == 0 ? used : 0);
                assert_int_equal(run.result.counters.cache_evictions, 0);
                if (epoch > 0)
                    assert_int_equal(io_log_count(log), before);
                const struct requests r = requests_of(log, before, run.state);
                uint64_t end = 0, at = r.begin;
                for (uint32_t k = 0; c == 1 && k < train_run_extra(&run, "sweep_reads"); k++) {
                    const struct io_request *const read = take(&r, SWEEP, &at);
                    assert_true(read->offset_bytes >= end);
                    end = read->offset_bytes + read->len_bytes;
                }
                if (c == 0)
                    assert_int_equal(r.writes, UINT32_MAX);
            }
            train_run_close(&run);
            io_log_close(log);
            fixture_close(&f);
        }
}

/* A window that has room for a whole epoch: nothing is left to replace, its rows come in once, and the scratch file is
 * one run, written and read from its beginning to its end. */
static void test_one_window_is_one_run(void **state)
{
    (void)state;
    static const struct train_graph_config wide = {
        .nodes = 5000, .mean_degree = 6, .dim = 32, .classes = 5, .train = TRAIN, .seed = 11};
    for (int simulated = 0; simulated < 2; simulated++) {
        struct fixture f;
        struct train_run run;
        fixture_open(&f, .graph = &wide, .simulated = simulated);
        struct io_log *const log = io_log_open(f.world);
        open_run(&run, &f,
                 OPTIONS("io=buffered", "row_memory=2M", "window_share=50", "classes=sorted", "ahead=false", "first=8",
                         "block=8K"));
        const struct presort *const s = run.state;
        for (uint64_t epoch = EPOCHS; epoch-- > 0;) {
            const uint64_t begin = io_log_count(log);
            uint64_t used = 0, blocks = 0;
            must_run(train_run_epoch(&run, epoch), &run);
            const struct requests r = requests_of(log, begin, s);
            for (gnn_node v = 0; v < wide.nodes; v++)
                used += run.needed[v] > 0;
            assert_int_equal(train_run_extra(&run, "windows"), 1);
            assert_int_equal(train_run_extra(&run, "window_rows") >= used, true);
            assert_int_equal(run.result.counters.cache_misses, used);
            for (uint64_t at = r.begin; blocks < s->hyperbatches[0].blocks; blocks++)
                assert_int_equal(take(&r, READ_BACK, &at)->offset_bytes, blocks * s->hyperbatches[0].block_bytes);
            assert_int_equal(blocks, gnn_div_up(used, s->hyperbatches[0].block_rows));
        }
        train_run_close(&run);
        io_log_close(log);
        fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_are_those_of_the_plan),
        cmocka_unit_test(test_where_everything_fits_nothing_is_read_twice),
        cmocka_unit_test(test_one_window_is_one_run),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The threads of the CPU back-end: who takes part, that nobody's part shows in a result, and what is left of it all
 * where a thread or memory is refused. */
#include "harness/tensor/cpu/cpu.h"
#include "tests/support/op_cases.h"
#include "tests/support/toy_block.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static const uint32_t thread_counts[] = {1, 2, 3, 5};
enum { COUNTS = sizeof thread_counts / sizeof *thread_counts };

static struct gnn_share *open_share(uint32_t threads)
{
    struct gnn_share *share;
    assert_int_equal(gnn_share_open(threads, pthread_create, &share, NULL), GNN_OK);
    assert_int_equal(share != NULL, threads > 1);
    return share;
}

/* ---- ranges ---- */

struct marks {
    uint8_t *times; /* (items) */
    _Atomic uint32_t ranges;
};

static void mark(const void *loop, uint64_t first, uint64_t end)
{
    struct marks *const m = (struct marks *)(uintptr_t)loop;
    atomic_fetch_add(&m->ranges, 1);
    for (uint64_t k = first; k < end; k++)
        m->times[k]++; /* a plain byte: two threads on one item are a race that the sanitizer sees */
}

static void test_every_item_once(void **state)
{
    (void)state;
    static const struct {
        uint64_t items, item_bytes;
        uint32_t ranges; /* where there are threads */
    } cases[] = {
        {0, 1 << 20, 0},
        {1, 1 << 30, 1}, /* one item cannot be shared */
        {2, 1 << 20, 2},
        {7, 1 << 20, 7},
        {1000, 0, 1},
        {1000, GNN_SHARE_LOOP_BYTES / 1000, 1}, /* just too short */
        {1024, GNN_SHARE_LOOP_BYTES / 1024, 4},
        {1025, GNN_SHARE_LOOP_BYTES / 1024, 5},
        {100000, 100, 77},
    };
    for (uint32_t c = 0; c < COUNTS; c++) {
        struct gnn_share *const share = open_share(thread_counts[c]);
        for (uint32_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            struct marks marks = {.times = calloc(cases[k].items + 1, 1)};
            assert_non_null(marks.times);
            gnn_share_run(share, cases[k].items, cases[k].item_bytes, mark, &marks);
            for (uint64_t i = 0; i < cases[k].items; i++)
                assert_int_equal(marks.times[i], 1);
            assert_int_equal(marks.times[cases[k].items], 0);
            const uint32_t alone = cases[k].items > 0;
            assert_int_equal(marks.ranges, share == NULL ? alone : cases[k].ranges);
            free(marks.times);
        }
        gnn_share_close(share);
    }
}

/* Loops so short that threads wake while the next one is being posted, or the one after it. */
static void test_many_loops(void **state)
{
    (void)state;
    enum { ITEMS = 8, ROUNDS = 4000 };
    struct gnn_share *const share = open_share(3);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint8_t times[ITEMS] = {0};
        struct marks marks = {.times = times};
        gnn_share_run(share, ITEMS, GNN_SHARE_RANGE_BYTES, mark, &marks);
        for (uint32_t k = 0; k < ITEMS; k++)
            assert_int_equal(times[k], 1);
    }
    gnn_share_close(share);
}

/* ---- who takes part ---- */

struct meeting {
    _Atomic uint32_t present;
    uint32_t expected;
};

/* Every range waits until as many threads are inside one. */
static void meet(const void *loop, uint64_t first, uint64_t end)
{
    (void)first, (void)end;
    struct meeting *const m = (struct meeting *)(uintptr_t)loop;
    atomic_fetch_add(&m->present, 1);
    while (atomic_load(&m->present) < m->expected)
        (void)sched_yield();
}

static void test_all_threads_take_part(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < COUNTS; c++) {
        struct gnn_share *const share = open_share(thread_counts[c]);
        struct meeting meeting = {.expected = thread_counts[c]};
        gnn_share_run(share, thread_counts[c], GNN_SHARE_LOOP_BYTES, meet, &meeting);
        assert_int_equal(meeting.present, thread_counts[c]);
        gnn_share_close(share);
    }
}

struct place {
    pthread_t caller;
    struct gnn_share *share;
    _Atomic uint32_t elsewhere;
};

static void look(const void *loop, uint64_t first, uint64_t end)
{
    (void)first, (void)end;
    struct place *const p = (struct place *)(uintptr_t)loop;
    if (!pthread_equal(pthread_self(), p->caller))
        atomic_fetch_add(&p->elsewhere, 1);
}

/* A loop inside a loop finds the pool at work: whoever runs it does so alone. */
static void look_inside(const void *loop, uint64_t first, uint64_t end)
{
    (void)first, (void)end;
    struct place inner = {.caller = pthread_self()};
    struct place *const outer = (struct place *)(uintptr_t)loop;
    gnn_share_run(outer->share, 64, GNN_SHARE_LOOP_BYTES, look, &inner);
    atomic_fetch_add(&outer->elsewhere, inner.elsewhere);
}

static void test_short_and_inner_loops_stay(void **state)
{
    (void)state;
    struct gnn_share *const share = open_share(3);
    struct place place = {.caller = pthread_self(), .share = share};
    for (uint32_t round = 0; round < 100; round++)
        gnn_share_run(share, 1000, GNN_SHARE_LOOP_BYTES / 1000, look, &place);
    assert_int_equal(place.elsewhere, 0);
    for (uint32_t round = 0; round < 20; round++)
        gnn_share_run(share, 8, GNN_SHARE_LOOP_BYTES, look_inside, &place);
    assert_int_equal(place.elsewhere, 0);
    gnn_share_close(share);
}

/* ---- refusals ---- */

static _Atomic uint32_t starts, running, refused_start; /* number of the start that fails, from 1 */
static void *(*_Atomic body)(void *);

static void *counted(void *arg)
{
    atomic_fetch_add(&running, 1);
    void *(*const run)(void *) = atomic_load(&body);
    void *const result = run(arg);
    atomic_fetch_sub(&running, 1);
    return result;
}

static int start_or_refuse(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    atomic_store(&body, run);
    return atomic_fetch_add(&starts, 1) + 1 == refused_start ? EAGAIN : pthread_create(thread, attr, counted, arg);
}

static void test_a_thread_that_does_not_start(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    for (uint32_t nth = 1; nth <= THREADS; nth++) {
        struct toy_memory memory = {0};
        const struct gnn_tensor_env env = {.threads = THREADS, .alloc = toy_alloc, .free = toy_free, .ctx = &memory};
        struct gnn_tensor *t = NULL;
        struct gnn_err err = {0};
        starts = 0;
        refused_start = nth;
        const enum gnn_status status = gnn_cpu_open(&env, start_or_refuse, &t, &err);
        if (nth == THREADS) { /* one more than are started */
            assert_int_equal(status, GNN_OK);
            t->ops->close(t);
        } else {
            char number[32];
            (void)snprintf(number, sizeof number, "thread %u of %u", nth + 1, THREADS);
            assert_int_equal(status, GNN_ENOMEM);
            assert_null(t);
            assert_non_null(strstr(err.message, number));
            assert_non_null(strstr(err.message, "--compute-threads"));
        }
        assert_int_equal(starts, nth == THREADS ? THREADS - 1 : nth);
        assert_int_equal(running, 0);
        assert_int_equal(memory.current_bytes, 0);
    }
}

enum { DST = 600, SRC = 1500, COLS = 128, HEADS = 2 };

/* The gradients of a sum, a weighted sum and attention over the block, one after the other in out. */
static void backward(struct gnn_tensor *t, struct gnn_rng rng, const struct gnn_block *b, gnn_real *out)
{
    const uint64_t wide = (uint64_t)SRC * COLS, slots = (uint64_t)b->edge_count + DST;
    gnn_real *const dout = toy_reals(&rng, (uint64_t)DST * COLS, -1, 1), *const x = toy_reals(&rng, wide, -1, 1);
    gnn_real *const weight = toy_reals(&rng, slots * HEADS, 0, 1);
    gnn_real *const small = toy_reals(&rng, (uint64_t)SRC * HEADS * 4 + 4 * COLS, -1, 1);
    const struct gnn_mat d = {dout, DST, COLS};
    memset(out, 0, 3 * wide * sizeof *out);
    t->ops->segment_reduce_back(t, GNN_REDUCE_MEAN, (struct gnn_mat){out, SRC, COLS}, b, d, NULL);
    t->ops->spmm_back(t, (struct gnn_mat){out + wide, SRC, COLS}, b, weight, d);
    gnn_real *const scores = small + 4 * COLS;
    const struct gnn_attention att = {.heads = HEADS,
                                      .slope = 0.2f,
                                      .a_src = small,
                                      .a_dst = small + COLS,
                                      .u = {x, SRC, COLS},
                                      .s = {scores, SRC, HEADS},
                                      .d = {scores + SRC * HEADS, DST, HEADS},
                                      .alpha = weight};
    gnn_real *const dalpha = toy_reals(&rng, slots * HEADS, 0, 0);
    const struct gnn_attention_grad grad = {.du = {out + 2 * wide, SRC, COLS},
                                            .da_src = small + 2 * COLS,
                                            .da_dst = small + 3 * COLS,
                                            .ds = {scores + 2 * SRC * HEADS, SRC, HEADS},
                                            .dd = {scores + 3 * SRC * HEADS, DST, HEADS},
                                            .dalpha = dalpha};
    t->ops->gat_back(t, &grad, &att, b, d);
    free(dout);
    free(x);
    free(weight);
    free(small);
    free(dalpha);
}

/* Where the transposed block gets no memory its rows are scattered: the same bits, and nothing is kept. */
static void test_a_transpose_without_memory(void **state)
{
    (void)state;
    struct gnn_rng rng = gnn_rng_at(11);
    struct gnn_block b = toy_block(&rng, DST, SRC, (struct toy_degree){1, 9});
    const uint64_t bytes = 3ull * SRC * COLS * sizeof(gnn_real);
    gnn_real *const got = malloc(bytes), *const want = malloc(bytes);
    assert_true(got != NULL && want != NULL);
    for (uint32_t nth = 0; nth <= 3; nth++) {
        struct toy_memory memory = {0};
        struct gnn_tensor *const t = toy_tensor_open(&gnn_tensor_cpu, &memory, 1 + nth % 2);
        const uint64_t before = memory.allocations;
        memory.fail_after = nth == 0 ? 0 : before + nth;
        backward(t, rng, &b, nth == 0 ? want : got);
        if (nth == 0) /* the sum's, kept for the product's, and one with the self-loops */
            assert_int_equal(memory.allocations - before, 2);
        else
            assert_int_equal(memcmp(got, want, bytes), 0);
        t->ops->close(t);
        assert_int_equal(memory.current_bytes, 0);
    }
    free(got);
    free(want);
    toy_block_free(&b);
}

/* ---- results ---- */

static void test_threads_change_no_bit(void **state)
{
    (void)state;
    op_cases_same_bits_on_threads(&gnn_tensor_cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_item_once),
        cmocka_unit_test(test_many_loops),
        cmocka_unit_test(test_all_threads_take_part),
        cmocka_unit_test(test_short_and_inner_loops_stay),

        cmocka_unit_test(test_a_thread_that_does_not_start),
        cmocka_unit_test(test_a_transpose_without_memory),

        cmocka_unit_test(test_threads_change_no_bit),
    };
    (void)alarm(300);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

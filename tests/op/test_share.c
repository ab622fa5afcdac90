/* SPDX-License-Identifier: MIT */
/* The threads of the CPU back-end: who takes part, that nobody's part shows in a result, and what is left of it all
 * where a thread or memory is refused. */
#include "harness/tensor/cpu/cpu.h"
#include "harness/tensor/cpu/gemm.h"
#include "harness/tensor/cpu/kernels.h"
#include "harness/tensor/cpu/state.h"
#include "tests/support/hang.h"
#include "tests/support/op_cases.h"
#include "tests/support/toy_block.h"

#include <errno.h>
#include <math.h>
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
            assert_int_equal(status, GNN_ETHREADS);
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

/* ---- products ---- */

static void test_cuts_by_hand(void **state)
{
    (void)state;
    static const struct {
        bool trans_a;
        uint32_t rows, cols, inner;
        struct gnn_gemm_cut cut;
    } cases[] = {
        {false, 1, 1, 1, {false, 1, 16}},
        {false, 100, 256, 1 << 20, {false, 1, 112}},
        {false, 383, 256, 128, {false, 1, 384}}, /* below two panels that are worth it */
        {false, 384, 256, 128, {false, 2, 192}},
        {false, 1023, 256, 128, {false, 2, 512}},
        {false, 1024, 256, 128, {false, 2, 512}},
        {false, 1100, 256, 128, {false, 2, 560}},
        {false, 2047, 256, 128, {false, 2, 1024}},
        {false, 3072, 256, 128, {false, 3, 1024}},
        {false, 8192, 256, 128, {false, 8, 1024}},
        {false, 16384, 256, 128, {false, 8, 2048}},
        {false, 100000, 256, 128, {false, 48, 2096}},
        {true, 100000, 256, 128, {false, 48, 2096}}, /* sums too short to be cut */
        {true, 256, 128, 1279, {false, 2, 128}},
        {true, 255, 128, 1279, {false, 1, 256}},
        {true, 256, 128, 1280, {true, 2, 768}},
        {true, 256, 128, 4095, {true, 2, 2112}},
        {true, 256, 128, 4096, {true, 2, 2112}},
        {true, 256, 128, 6143, {true, 2, 3072}},
        {true, 256, 128, 6200, {true, 4, 1728}}, /* in steps of 192; four parts, not three */
        {true, 256, 128, 10240, {true, 8, 1344}},
        {true, 256, 128, 1000000, {true, 8, 125184}},
        {true, 256, 256, 1000000, {true, 4, 250176}}, /* room for four of 256 KiB beside the first */
        {true, 512, 512, 1000000, {true, 2, 500160}},
        {true, 512, 513, 1000000, {false, 2, 256}}, /* no room for a second part */
        {true, 1040, 513, 1000000, {false, 2, 528}},
    };
    for (uint32_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct gnn_gemm_cut cut = gnn_gemm_cut(cases[c].trans_a, cases[c].rows, cases[c].cols, cases[c].inner),
                                  want = cases[c].cut;
        if (cut.of_sums != want.of_sums || cut.count != want.count || cut.step != want.step)
            fail_msg("case %u: %s cut into %u of %u", c, cut.of_sums ? "sums" : "rows", cut.count, cut.step);
        /* all of it, and no part empty */
        const uint64_t length = cut.of_sums ? cases[c].inner : cases[c].rows;
        assert_true((uint64_t)cut.count * cut.step >= length);
        assert_true((uint64_t)(cut.count - 1) * cut.step < length);
    }
    assert_int_equal(gnn_gemm_cut(false, 0, 5, 3).count, 0);
    assert_int_equal(gnn_gemm_cut(true, 7, 5, 0).count, 1); /* the result is written all the same */
}

struct product_case {
    bool trans_a, trans_b;
    uint32_t rows, cols, inner;
    float alpha, beta;
    bool by_kernels; /* where there are some */
};

/* What a back-end has of kernels before it multiplies. */
enum kernels { KERNELS_AS_NEEDED, KERNELS_REFUSED, KERNELS_ALL_TAKEN };

static void prepare_kernels(struct gnn_tensor *t, enum kernels kernels)
{
    struct gnn_tile_kernels *const have = &gnn_cpu_state(t)->kernels;
    have->refused = kernels == KERNELS_REFUSED;
    struct gnn_tile tile = {6, 0, 8, 8, 512, 512, false, false};
    while (kernels == KERNELS_ALL_TAKEN && have->count < GNN_TILE_KERNELS_MOST && tile.cols < GNN_TILE_KERNELS_MOST) {
        tile.cols++;
        (void)gnn_tile_kernel(have, &tile);
    }
}

/* The product on so many threads; the caller frees it. With beta 0 what was in c is NaN. */
static float *multiply_with(const struct product_case *p, uint32_t threads, const struct gnn_tensor_ops *table,
                            enum kernels kernels, const float *a, const float *b, const float *c)
{
    const uint64_t count = (uint64_t)p->rows * p->cols;
    struct toy_memory memory = {0};
    struct gnn_tensor *const t = toy_tensor_open(table, &memory, threads);
    const bool on_cpu = table == &gnn_tensor_cpu;
    float *const out = malloc(count * sizeof *out);
    assert_non_null(out);
    if (on_cpu)
        prepare_kernels(t, kernels);
    for (uint64_t k = 0; k < count; k++)
        out[k] = p->beta == 0 ? (float)NAN : c[k];
    t->ops->gemm(
        t, p->trans_a, p->trans_b, p->alpha,
        (struct gnn_mat){(float *)(uintptr_t)a, p->trans_a ? p->inner : p->rows, p->trans_a ? p->rows : p->inner},
        (struct gnn_mat){(float *)(uintptr_t)b, p->trans_b ? p->cols : p->inner, p->trans_b ? p->inner : p->cols},
        p->beta, (struct gnn_mat){out, p->rows, p->cols});
    if (on_cpu && kernels == KERNELS_AS_NEEDED && gnn_narrow_kernels() != NULL)
        assert_int_equal(gnn_cpu_state(t)->kernels.count > 0, p->by_kernels);
    t->ops->close(t);
    return out;
}

static float *multiply_on(const struct product_case *p, uint32_t threads, const struct gnn_tensor_ops *table,
                          const float *a, const float *b, const float *c)
{
    return multiply_with(p, threads, table, KERNELS_AS_NEEDED, a, b, c);
}

static void expect_product(const struct product_case *p, uint32_t number, const float *got, const float *wanted)
{
    for (uint64_t k = 0; k < (uint64_t)p->rows * p->cols; k++)
        if (!(fabsf(got[k] - wanted[k]) <= 1e-6f * (float)p->inner))
            fail_msg("product %u, element %llu: %.9g, expected %.9g", number, (unsigned long long)k, (double)got[k],
                     (double)wanted[k]);
}

static void check_product(const struct product_case *p, uint32_t number)
{
    struct gnn_rng rng = gnn_rng_at(23 + number);
    const uint64_t count = (uint64_t)p->rows * p->cols;
    float *const a = toy_reals(&rng, (uint64_t)p->rows * p->inner, -1, 1);
    float *const b = toy_reals(&rng, (uint64_t)p->inner * p->cols, -1, 1), *const c = toy_reals(&rng, count, -1, 1);
    float *const plain = multiply_on(p, 1, &gnn_tensor_ref, a, b, c);
    float *const one = multiply_on(p, 1, &gnn_tensor_cpu, a, b, c);
    expect_product(p, number, one, plain);
    for (enum kernels kernels = KERNELS_REFUSED; kernels <= KERNELS_ALL_TAKEN; kernels++) {
        float *const by_blas = multiply_with(p, 2, &gnn_tensor_cpu, kernels, a, b, c);
        expect_product(p, number, by_blas, plain);
        free(by_blas);
    }
    for (uint32_t n = 1; n < COUNTS; n++) {
        float *const more = multiply_on(p, thread_counts[n], &gnn_tensor_cpu, a, b, c);
        if (memcmp(one, more, count * sizeof *one) != 0)
            fail_msg("product %u: %u threads give other bits than one", number, thread_counts[n]);
        free(more);
    }
    free(a);
    free(b);
    free(c);
    free(plain);
    free(one);
}

/* Panels of rows and parts of sums, the last ones shorter, from matrices of every orientation. */
static void test_products_are_cut(void **state)
{
    (void)state;
    static const struct product_case cases[] = {
        {false, false, 3100, 33, 20, 0.75f, 0, false},
        {false, true, 3100, 33, 20, 0.75f, 1, false},
        {true, false, 3100, 33, 20, 0.75f, 0.5f, false},
        {true, true, 3100, 33, 20, 0.75f, 0, false},
        {true, false, 40, 50, 9001, 0.75f, 0, false},
        {true, true, 40, 50, 9001, 0.75f, 0, false},
        {true, false, 17, 19, 4100, 0.75f, -0.5f, false},
        {true, false, 300, 200, 12011, 0.75f, 1, false},
        {false, true, 40, 50, 9001, 0.75f, 0, false},
        /* by kernels: tiles of rows, then single ones */
        {false, false, 3100, 33, 20, 1, 0, true},
        {false, true, 3100, 33, 20, 1, 1, true},
        {false, false, 6, 7, 1, 1, 1, true},
        {false, true, 64, 172, 256, 1, 0, true},
        /* tiles of terms, then by BLAS what is left; sums that are cut, panels of rows, the last one shorter */
        {true, false, 40, 50, 9001, 1, 0, true},
        {true, false, 300, 200, 12011, 1, 1, true},
        {true, false, 390, 21, 1000, 1, 1, true},
        {true, false, 390, 21, 64, 1, 0, true},
        /* by BLAS: none, too few, another factor, other orientations, a matrix that no cache of a core holds */
        {false, false, 0, 33, 20, 1, 0, false},
        {true, false, 0, 33, 100, 1, 0, false},
        {false, false, 5, 33, 20, 1, 0, false},
        {false, true, 63, 33, 20, 1, 0, false},
        {true, false, 390, 21, 63, 1, 0, false},
        {true, true, 3100, 33, 20, 1, 0, false},
        {false, false, 3100, 33, 20, 1, 0.5f, false},
        {false, false, 100, 700, 200, 1, 1, false},
        {true, false, 400, 700, 200, 1, 1, false},
    };
    for (uint32_t k = 0; k < sizeof cases / sizeof *cases; k++)
        check_product(&cases[k], k);
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

        cmocka_unit_test(test_cuts_by_hand),
        cmocka_unit_test(test_products_are_cut),

        cmocka_unit_test(test_threads_change_no_bit),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

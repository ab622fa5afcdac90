/* SPDX-License-Identifier: MIT */
/* The CUDA back-end's kernels and its ops, run on the host by the test suite's launcher: every op over the whole table
 * against the reference, the same bits on a second run, models trained as on the CPU, no allocation in steady state, a
 * device that is full. What a launcher cannot show stands in tests/support/cuda_host.h. */
#include "harness/tensor/cuda/backend.h"
#include "tests/support/golden_cases.h"
#include "tests/support/half_cases.h"
#include "tests/support/model_cases.h"
#include "tests/support/op_cases.h"
#include "tests/support/toy_block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern uint64_t cuda_host_capacity_bytes; /* tests/support/cuda_host.cc: of devices opened next */

static void test_every_op_against_the_reference(void **state)
{
    (void)state;
    const bool contracted = getenv("OOCGNN_CUDA_PTX") != NULL; /* nvcc's code: tests/support/cuda_host_ptx.h */
    op_cases_against_reference(&gnn_tensor_cuda, contracted ? OP_ROUNDING_FUSED : OP_ROUNDING_PIECES);
}

static void test_a_second_run_gives_the_same_bits(void **state)
{
    (void)state;
    op_cases_same_bits(&gnn_tensor_cuda, false);
}

static void test_activations_hide_no_nan(void **state)
{
    (void)state;
    op_cases_pass_nan_on(&gnn_tensor_cuda);
}

static void test_every_half_is_widened(void **state)
{
    (void)state;
    half_cases_gather(&gnn_tensor_cuda);
    half_cases_placed(&gnn_tensor_cuda);
}

static void test_models_are_those_of_pytorch(void **state)
{
    (void)state;
    golden_cases_against_pytorch(&gnn_tensor_cuda);
}

static void test_losses_are_those_of_the_cpu(void **state)
{
    (void)state;
    model_cases_against_cpu(&gnn_tensor_cuda, gnn_cuda_allocations);
}

/* ---- sources with many edges ---- */

enum { SOURCES = 13, COLS = 4 };
/* around one piece of 64 edges, around two, and of many; each begins at another place of a tile of 64 */
static const uint32_t degrees[SOURCES] = {3, 64, 65, 0, 63, 128, 129, 1, 200, 640, 66, 193, 2};

/* Targets with one edge each. Source j has degree[j] of them, spread over all targets. */
static struct gnn_block block_of(const uint32_t *degree, uint32_t *edges)
{
    uint32_t left[SOURCES], count = 0;
    for (uint32_t j = 0; j < SOURCES; j++)
        count += left[j] = degree[j];
    uint32_t *const row_start = malloc((count + 1) * sizeof *row_start), *const col = malloc(count * sizeof *col);
    assert_true(row_start != NULL && col != NULL);
    for (uint32_t e = 0, j = 0; e < count; j = (j + 5) % SOURCES)
        if (left[j] > 0) {
            left[j]--;
            row_start[e] = e;
            col[e++] = j;
        }
    row_start[count] = *edges = count;
    return (struct gnn_block){count, count, count, row_start, col};
}

/* dx (SOURCES, cols) = the sums of dout over the targets, on a back-end. */
static void sums_of(const struct gnn_tensor_ops *table, const struct gnn_block *b, const gnn_real *dout, uint32_t cols,
                    gnn_real *dx)
{
    struct toy_memory memory = {0};
    struct gnn_tensor *const t = toy_tensor_open(table, &memory, 1);
    const uint64_t bytes = (uint64_t)b->dst_count * cols * sizeof(gnn_real);
    void *in = NULL, *out = NULL;
    assert_int_equal(t->ops->alloc(t, "dout", bytes, &in, NULL), GNN_OK);
    assert_int_equal(t->ops->alloc(t, "dx", bytes, &out, NULL), GNN_OK);
    t->ops->upload(t, in, dout, bytes);
    t->ops->fill(t, out, bytes / sizeof(gnn_real), 0);
    t->ops->segment_reduce_back(t, GNN_REDUCE_MEAN, (struct gnn_mat){out, b->src_count, cols}, b,
                                (struct gnn_mat){in, b->dst_count, cols}, NULL);
    t->ops->download(t, dx, out, SOURCES * cols * sizeof *dx);
    t->ops->free(t, in);
    t->ops->free(t, out);
    t->ops->close(t);
}

/* Sums of small integers are exact in any order: every edge counts once, whichever piece it is in. */
static void test_every_edge_of_a_hub_counts_once(void **state)
{
    (void)state;
    for (uint32_t cols = 1; cols <= COLS; cols += COLS - 1) {
        uint32_t edges = 0;
        struct gnn_rng rng = gnn_rng_at(3);
        struct gnn_block b = block_of(degrees, &edges);
        gnn_real *const dout = malloc((uint64_t)edges * cols * sizeof *dout);
        gnn_real found[SOURCES * COLS], expected[SOURCES * COLS];
        assert_non_null(dout);
        for (uint32_t k = 0; k < edges * cols; k++)
            dout[k] = (gnn_real)gnn_rng_below(&rng, 1000);
        sums_of(&gnn_tensor_cuda, &b, dout, cols, found);
        sums_of(&gnn_tensor_ref, &b, dout, cols, expected);
        for (uint32_t k = 0; k < SOURCES * cols; k++)
            if (found[k] != expected[k])
                fail_msg("source %u with %u edges: %.9g, the reference has %.9g", k / cols, degrees[k / cols],
                         (double)found[k], (double)expected[k]);
        free(dout);
        toy_block_free(&b);
    }
}

/* A source's sum has the same bits wherever its edges are among those of others. */
static void test_the_sum_of_a_hub_is_its_own(void **state)
{
    (void)state;
    enum { HUB = 9 };
    gnn_real sum[2][COLS];
    for (uint32_t run = 0; run < 2; run++) {
        uint32_t own[SOURCES], edges = 0, seen = 0;
        memcpy(own, degrees, sizeof own);
        own[0] += run * 37; /* its pieces begin elsewhere */
        struct gnn_rng rng = gnn_rng_at(4);
        struct gnn_block b = block_of(own, &edges);
        gnn_real *const value = toy_reals(&rng, degrees[HUB], -1, 1);
        gnn_real *const dout = calloc(edges, COLS * sizeof *dout), found[SOURCES * COLS];
        assert_non_null(dout);
        for (uint32_t e = 0; e < edges; e++)
            for (uint32_t c = 0; b.col[e] == HUB && c < COLS; c++, seen += c == COLS)
                dout[e * COLS + c] = value[seen] * (gnn_real)(c + 1);
        sums_of(&gnn_tensor_cuda, &b, dout, COLS, found);
        memcpy(sum[run], &found[HUB * COLS], sizeof sum[run]);
        free(value);
        free(dout);
        toy_block_free(&b);
    }
    assert_memory_equal(sum[0], sum[1], sizeof sum[0]);
}

static void test_a_full_device_is_a_result(void **state)
{
    (void)state;
    uint32_t failed = 0, finished = 0;
    for (uint64_t capacity = 1 << 10; finished == 0; capacity *= 2) {
        struct toy_memory memory = {0};
        struct gnn_err err = {0};
        cuda_host_capacity_bytes = capacity;
        struct gnn_tensor *t = toy_tensor_open(&gnn_tensor_cuda, &memory, 1);
        const enum gnn_status status = model_case_step(t, &err);
        assert_true(status == GNN_OK || status == GNN_EGPU);
        assert_true(status == GNN_OK || strstr(err.message, "full") != NULL);
        failed += status != GNN_OK;
        finished += status == GNN_OK;
        t->ops->close(t);
    }
    cuda_host_capacity_bytes = UINT64_MAX;
    assert_true(failed > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_op_against_the_reference),  cmocka_unit_test(test_a_second_run_gives_the_same_bits),
        cmocka_unit_test(test_activations_hide_no_nan),         cmocka_unit_test(test_every_half_is_widened),
        cmocka_unit_test(test_models_are_those_of_pytorch),     cmocka_unit_test(test_losses_are_those_of_the_cpu),
        cmocka_unit_test(test_every_edge_of_a_hub_counts_once), cmocka_unit_test(test_the_sum_of_a_hub_is_its_own),
        cmocka_unit_test(test_a_full_device_is_a_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

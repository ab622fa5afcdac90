/* SPDX-License-Identifier: MIT */
/* Generated kernels against sums in double precision: every kind of tile, what they read and write to the byte, and
 * what is left where there can be none. */
#include "harness/tensor/cpu/kernels.h"
#include "harness/tensor/cpu/tile_kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096 };

/* Floats that begin, or end, where memory does: what is read or written beside them stops the test. */
enum fence { FENCE_BEFORE, FENCE_BEHIND, FENCES };

struct fenced {
    void *pages;
    uint64_t bytes;
    float *data;
};

static struct fenced fenced_floats(uint64_t count, enum fence fence)
{
    const uint64_t size = count * sizeof(float), room = (size + PAGE - 1) / PAGE * PAGE;
    struct fenced f = {.bytes = room + 2 * PAGE};
    f.pages = mmap(NULL, f.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f.pages != MAP_FAILED);
    assert_int_equal(mprotect((char *)f.pages + PAGE, room, PROT_READ | PROT_WRITE), 0);
    f.data = (float *)(void *)((char *)f.pages + PAGE + (fence == FENCE_BEHIND ? room - size : 0));
    for (uint64_t k = 0; k < count; k++)
        f.data[k] = (float)((k * 7919 + 13) % 1009) / 1009 - 0.5f;
    return f;
}

static void fenced_free(struct fenced *f)
{
    assert_int_equal(munmap(f->pages, f->bytes), 0);
}

static void need_kernels(void)
{
    if (gnn_narrow_kernels() == NULL) {
        print_message("this build has no libxsmm, or this processor no AVX2: BLAS does all products\n");
        skip();
    }
}

/* Elements of a matrix of so many rows, of which the last one ends where its columns end. */
static uint64_t extent(uint32_t rows, uint32_t cols, uint32_t stride)
{
    return (uint64_t)(rows - 1) * stride + cols;
}

static void check_tile(struct gnn_tile_kernels *kernels, const struct gnn_tile *t, enum fence fence)
{
    struct fenced a = fenced_floats(
        t->trans_a ? extent(t->terms, t->rows, t->a_stride) : extent(t->rows, t->terms, t->a_stride), fence);
    struct fenced b = fenced_floats(extent(t->terms, t->cols, t->b_stride), fence);
    struct fenced c = fenced_floats(extent(t->rows, t->cols, t->c_stride), fence);
    struct fenced before = fenced_floats(extent(t->rows, t->cols, t->c_stride), fence);
    gnn_tile_fn *const fn = gnn_tile_kernel(kernels, t);
    assert_non_null(fn);
    if (!t->add) /* what was there may be anything */
        for (uint32_t i = 0; i < t->rows; i++)
            for (uint32_t j = 0; j < t->cols; j++)
                c.data[(uint64_t)i * t->c_stride + j] = (float)NAN;
    fn(b.data, a.data, c.data);
    for (uint64_t k = 0; k < extent(t->rows, t->cols, t->c_stride); k++) {
        const uint32_t i = (uint32_t)(k / t->c_stride), j = (uint32_t)(k % t->c_stride);
        double sum = t->add ? (double)before.data[k] : 0;
        for (uint32_t n = 0; j < t->cols && n < t->terms; n++)
            sum += (double)a.data[t->trans_a ? n * t->a_stride + i : i * t->a_stride + n] *
                   (double)b.data[n * t->b_stride + j];
        if (j >= t->cols && c.data[k] != before.data[k])
            fail_msg("row %u: column %u lies beside the tile and was written", i, j);
        if (j < t->cols && !(fabs((double)c.data[k] - sum) <= 1e-7 * t->terms))
            fail_msg("%u x %u x %u, row %u, column %u: %.9g, expected %.9g", t->rows, t->cols, t->terms, i, j,
                     (double)c.data[k], sum);
    }
    fenced_free(&a);
    fenced_free(&b);
    fenced_free(&c);
    fenced_free(&before);
}

static void test_tiles_are_products(void **state)
{
    (void)state;
    need_kernels();
    static const struct gnn_tile tiles[] = {
        {6, 256, 128, 128, 256, 256, false, false}, {6, 256, 128, 128, 256, 256, false, true},
        {1, 256, 128, 128, 256, 256, false, true},  {6, 64, 128, 512, 64, 256, false, false},
        {6, 172, 256, 256, 172, 172, false, false}, {1, 172, 256, 256, 172, 172, false, false},
        {6, 1, 1, 1, 1, 1, false, false},           {1, 1, 3, 5, 7, 9, false, true},
        {6, 17, 5, 8, 20, 19, false, true},         {6, 33, 7, 7, 33, 40, false, false},
        {6, 16, 9, 9, 16, 16, false, true},         {1, 80, 31, 40, 80, 81, false, false},
        {256, 128, 64, 256, 128, 128, true, true},  {256, 128, 64, 256, 128, 128, true, false},
        {172, 256, 64, 172, 256, 256, true, true},  {3, 5, 64, 4, 6, 7, true, true},
        {182, 21, 64, 390, 21, 21, true, true},
    };
    for (int without_avx512 = 0; without_avx512 < 2; without_avx512++) {
        struct gnn_tile_kernels kernels = {.without_avx512 = without_avx512 != 0};
        for (size_t k = 0; k < sizeof tiles / sizeof *tiles; k++)
            for (enum fence fence = FENCE_BEFORE; fence < FENCES; fence++)
                check_tile(&kernels, &tiles[k], fence);
        assert_int_equal(kernels.count, sizeof tiles / sizeof *tiles);
        gnn_tile_kernels_close(&kernels);
    }
}

static void test_a_kernel_is_generated_once(void **state)
{
    (void)state;
    need_kernels();
    struct gnn_tile tile = {6, 32, 16, 16, 32, 32, false, false};
    struct gnn_tile_kernels kernels = {0};
    gnn_tile_fn *const first = gnn_tile_kernel(&kernels, &tile);
    assert_non_null(first);
    assert_ptr_equal(gnn_tile_kernel(&kernels, &tile), first);
    assert_int_equal(kernels.count, 1);
    uint32_t *const size[] = {&tile.rows, &tile.cols, &tile.terms, &tile.a_stride, &tile.b_stride, &tile.c_stride};
    for (uint32_t k = 0; k < sizeof size / sizeof *size; k++) { /* each of these makes it another one */
        const uint32_t was = *size[k];
        *size[k] = k < 3 ? was / 2 : was * 2;
        assert_ptr_not_equal(gnn_tile_kernel(&kernels, &tile), first);
        *size[k] = was;
    }
    tile.add = true;
    assert_ptr_not_equal(gnn_tile_kernel(&kernels, &tile), first);
    tile.trans_a = true;
    assert_ptr_not_equal(gnn_tile_kernel(&kernels, &tile), first);
    assert_int_equal(kernels.count, 9);
    gnn_tile_kernels_close(&kernels);
    assert_int_equal(kernels.count, 0);
}

static void test_places_run_out(void **state)
{
    (void)state;
    need_kernels();
    struct gnn_tile_kernels kernels = {0};
    struct gnn_tile tile = {6, 0, 8, 8, 512, 512, false, false};
    for (uint32_t k = 0; k < GNN_TILE_KERNELS_MOST; k++) {
        tile.cols = k + 1;
        assert_non_null(gnn_tile_kernel(&kernels, &tile));
    }
    tile.cols = GNN_TILE_KERNELS_MOST + 1;
    assert_null(gnn_tile_kernel(&kernels, &tile));
    tile.cols = 1;
    assert_non_null(gnn_tile_kernel(&kernels, &tile)); /* what is there stays */
    gnn_tile_kernels_close(&kernels);
}

/* In a process that may not execute what it wrote: the caller has BLAS, and the system is asked once. */
static int in_a_strict_process(void)
{
    enum { SET_MDWE = 65, REFUSE_EXEC_GAIN = 1 }; /* of Linux 6.3; older headers lack the names */
    static const struct gnn_tile tile = {6, 32, 16, 16, 32, 32, false, false};
    struct gnn_tile_kernels kernels = {0};
    if (prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) != 0)
        return 2;
    const bool none = gnn_tile_kernel(&kernels, &tile) == NULL;
    const bool remembered = kernels.refused && kernels.count == 0 && gnn_tile_kernel(&kernels, &tile) == NULL;
    gnn_tile_kernels_close(&kernels);
    return none && remembered ? 0 : 1;
}

static void test_a_refusal_is_remembered(void **state)
{
    (void)state;
    need_kernels();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(in_a_strict_process());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2) {
        print_message("this kernel is older than 6.3: it refuses no process to execute what it wrote\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles_are_products),
        cmocka_unit_test(test_a_kernel_is_generated_once),
        cmocka_unit_test(test_places_run_out),
        cmocka_unit_test(test_a_refusal_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

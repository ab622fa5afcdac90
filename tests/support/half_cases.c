/* SPDX-License-Identifier: MIT */
#include "tests/support/half_cases.h"

#include "tests/support/toy_training.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { HALVES = 1 << 16 };

static void *alloc(struct gnn_tensor *t, uint64_t bytes)
{
    void *memory = NULL;
    assert_int_equal(t->ops->alloc(t, "of a test of halves", bytes, &memory, NULL), GNN_OK);
    return memory;
}

/* Every half once, in an order in which neighbours differ in kind. */
static uint16_t *every_half(void)
{
    uint16_t *const halves = malloc(HALVES * sizeof *halves);
    assert_non_null(halves);
    for (uint32_t i = 0; i < HALVES; i++)
        halves[i] = (uint16_t)(i * 40503U);
    return halves;
}

/* Downloads out (count) and compares it with what is wanted. */
static void expect_bits(struct gnn_tensor *t, const void *out, const float *want, uint64_t count, const char *what,
                        uint32_t cols)
{
    float *const got = malloc(count * sizeof *got);
    assert_non_null(got);
    t->ops->synchronize(t);
    t->ops->download(t, got, out, count * sizeof *got);
    for (uint64_t k = 0; k < count; k++)
        if (memcmp(&got[k], &want[k], sizeof *got) != 0)
            fail_msg("%s on %s, %u columns: element %llu is %a, expected %a", what, t->ops->name, cols,
                     (unsigned long long)k, (double)got[k], (double)want[k]);
    free(got);
}

static void gather_once(struct gnn_tensor *t, const uint16_t *halves, uint32_t cols, uint32_t stride, bool listed)
{
    const uint32_t rows = HALVES / stride;
    uint16_t *const table = alloc(t, HALVES * sizeof *halves);
    gnn_real *const out = alloc(t, (uint64_t)rows * cols * sizeof *out);
    float *const want = malloc((uint64_t)rows * cols * sizeof *want);
    uint32_t *const list = malloc(rows * sizeof *list);
    t->ops->upload(t, table, halves, HALVES * sizeof *halves);
    t->ops->fill(t, out, (uint64_t)rows * cols, -1);
    for (uint32_t i = 0; i < rows; i++) {
        list[i] = listed ? (rows - 1 - i) : i;
        gnn_halves_widen_plain(halves + (uint64_t)list[i] * stride, cols, want + (uint64_t)i * cols);
    }
    t->ops->gather_halves(t, out, table, stride, listed ? list : NULL, rows, cols);
    expect_bits(t, out, want, (uint64_t)rows * cols, listed ? "gather_halves by a list" : "gather_halves", cols);
    t->ops->free(t, table);
    t->ops->free(t, out);
    free(list);
    free(want);
}

void half_cases_gather(const struct gnn_tensor_ops *table)
{
    static const uint32_t widths[][2] = {{1, 1}, {3, 3}, {4, 4}, {20, 24}, {64, 64}, {100, 101}, {1024, 1024}};
    struct toy_memory memory = {0};
    struct gnn_tensor *const t = toy_tensor_open(table, &memory, 1);
    uint16_t *const halves = every_half();
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int listed = 0; listed < 2; listed++)
            gather_once(t, halves, widths[w][0], widths[w][1], listed != 0);
    t->ops->close(t);
    free(halves);
}

void half_cases_placed(const struct gnn_tensor_ops *table)
{
    enum { ROWS = 60, STRIDE = 104 };
    static const uint32_t widths[] = {1, 5, 32, 100};
    struct toy_memory memory = {0};
    struct gnn_tensor *const t = toy_tensor_open(table, &memory, 1);
    uint16_t *const halves = every_half(), *const tables = alloc(t, HALVES * sizeof *halves);
    uint32_t *const place = alloc(t, ROWS * sizeof *place), host_place[ROWS], rows[ROWS];
    t->ops->upload(t, tables, halves, HALVES * sizeof *halves);
    for (uint32_t i = 0; i < ROWS; i++) {
        host_place[i] = i % 3 == 2 ? GNN_PLACE_NONE : gnn_place(i % 3, ROWS - 1 - i);
        rows[i] = (i * 7) % ROWS;
    }
    t->ops->upload(t, place, host_place, sizeof host_place);
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        const uint32_t cols = widths[w];
        float want[ROWS * STRIDE];
        gnn_real *const out = alloc(t, (uint64_t)ROWS * cols * sizeof *out);
        const struct gnn_placement placement = {
            .table = {{tables, cols}, {tables + HALVES / 2, STRIDE}}, .place = place, .type = GNN_F16};
        t->ops->fill(t, out, (uint64_t)ROWS * cols, 7);
        for (uint32_t i = 0; i < ROWS; i++) {
            const uint32_t at = rows[i], from = ROWS - 1 - at;
            for (uint32_t c = 0; c < cols; c++)
                want[i * cols + c] = at % 3 == 2   ? 7.0f
                                     : at % 3 == 0 ? gnn_half_widen(halves[from * cols + c])
                                                   : gnn_half_widen(halves[HALVES / 2 + from * STRIDE + c]);
        }
        t->ops->gather_placed(t, out, &placement, rows, ROWS, cols, 0);
        expect_bits(t, out, want, (uint64_t)ROWS * cols, "gather_placed of halves", cols);
        t->ops->free(t, out);
    }
    t->ops->free(t, tables);
    t->ops->free(t, place);
    t->ops->close(t);
    free(halves);
}

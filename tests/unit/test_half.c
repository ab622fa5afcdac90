/* SPDX-License-Identifier: MIT */
/* Half precision, bit by bit: every half against its definition, the vector code against the plain code, narrowing of
 * every half and of the values around the middle between two halves. */
#include "harness/base/half.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { HALVES = 1 << 16, INFINITE = 0x7c00, SIGN = 0x8000 };

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The definition: (-1)^sign 2^(e - 15) (1 + f / 1024), and 2^-14 (f / 1024) where e is 0. */
static double defined_value(uint32_t half)
{
    const int exponent = (int)(half >> 10 & 31);
    const double fraction = (half & 0x3ff) / 1024.0;
    const double magnitude = exponent == 0 ? ldexp(fraction, -14) : ldexp(1 + fraction, exponent - 15);
    return (half & SIGN) != 0 ? -magnitude : magnitude;
}

static void test_widen_every_half(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < HALVES; h++) {
        const float got = gnn_half_widen((uint16_t)h);
        const uint32_t fraction = h & 0x3ff, sign = (h & SIGN) << 16;
        if ((h & INFINITE) != INFINITE) {
            assert_true((double)got == defined_value(h));
            assert_int_equal(signbit(got) != 0, (h & SIGN) != 0); /* of zeros and subnormals, too */
        } else if (fraction == 0) {
            assert_int_equal(bits_of(got), sign | 0x7f800000);
        } else {
            assert_int_equal(bits_of(got), sign | 0x7fc00000 | fraction << 13);
        }
    }
}

static void test_narrow_returns_every_half(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < HALVES; h++) {
        const bool is_nan = (h & INFINITE) == INFINITE && (h & 0x3ff) != 0;
        assert_int_equal(gnn_half_narrow(gnn_half_widen((uint16_t)h)), is_nan ? (h | 0x200) : h);
    }
}

/* Between two neighbours, the middle goes to the even one, and the floats next to the middle to the nearer one. */
static void test_narrow_rounds_to_nearest_even(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < INFINITE; h++) {
        const double low = defined_value(h), high = h + 1 == INFINITE ? 65536 : defined_value(h + 1);
        const float middle = (float)((low + high) / 2);
        assert_true((double)middle == (low + high) / 2);
        const uint16_t even = (uint16_t)(h + (h & 1));
        for (uint32_t sign = 0; sign <= SIGN; sign += SIGN) {
            const float way = sign == 0 ? 1.0f : -1.0f;
            assert_int_equal(gnn_half_narrow(way * middle), sign | even);
            assert_int_equal(gnn_half_narrow(way * nextafterf(middle, 0)), sign | h);
            assert_int_equal(gnn_half_narrow(way * nextafterf(middle, INFINITY)), sign | (h + 1));
        }
    }
    assert_int_equal(gnn_half_narrow(GNN_HALF_MAX), INFINITE - 1);
    assert_int_equal(gnn_half_narrow(GNN_HALF_OVERFLOW), INFINITE);
    assert_int_equal(gnn_half_narrow(nextafterf(GNN_HALF_OVERFLOW, 0)), INFINITE - 1);
    assert_int_equal(gnn_half_narrow(INFINITY), INFINITE);
    assert_int_equal(gnn_half_narrow(-INFINITY), SIGN | INFINITE);
    assert_int_equal(gnn_half_narrow(from_bits(1)), 0); /* a subnormal float */
    assert_int_equal(gnn_half_narrow(from_bits(0x80000001)), SIGN);
}

/* Every number of elements up to several vectors, at every alignment, and nothing behind the last one. */
static void check_lengths(const uint16_t *halves, const float *values)
{
    enum { MOST = 40, GUARD = 0x5a };
    for (uint32_t first = 0; first < 9; first++)
        for (uint32_t count = 0; count <= MOST; count++) {
            float wide[MOST + 1], plain_wide[MOST + 1];
            uint16_t narrow[MOST + 1], plain_narrow[MOST + 1];
            memset(wide, GUARD, sizeof wide);
            memset(plain_wide, GUARD, sizeof plain_wide);
            memset(narrow, GUARD, sizeof narrow);
            memset(plain_narrow, GUARD, sizeof plain_narrow);
            gnn_halves_widen(halves + first, count, wide);
            gnn_halves_widen_plain(halves + first, count, plain_wide);
            gnn_halves_narrow(values + first, count, narrow);
            gnn_halves_narrow_plain(values + first, count, plain_narrow);
            assert_memory_equal(wide, plain_wide, sizeof wide);
            assert_memory_equal(narrow, plain_narrow, sizeof narrow);
        }
}

static void test_vectors_equal_plain_code(void **state)
{
    (void)state;
    uint16_t *const halves = malloc(HALVES * sizeof *halves), *const back = malloc(2 * HALVES * sizeof *back);
    float *const wide = malloc(2 * HALVES * sizeof *wide);
    for (uint32_t h = 0; h < HALVES; h++)
        halves[h] = (uint16_t)h;
    gnn_halves_widen(halves, HALVES, wide);
    gnn_halves_widen_plain(halves, HALVES, wide + HALVES);
    assert_memory_equal(wide, wide + HALVES, HALVES * sizeof *wide);
    for (uint32_t step = 0; step < 3; step++) /* the halves, the floats behind them and the middles */
        for (uint32_t exponent = 0; exponent < 256; exponent++) {
            for (uint32_t i = 0; i < HALVES; i++)
                wide[i] = from_bits((i & 1) << 31 | exponent << 23 | (i >> 1 << 8 | (step == 2 ? 0x80 : step)));
            gnn_halves_narrow(wide, HALVES, back);
            gnn_halves_narrow_plain(wide, HALVES, back + HALVES);
            assert_memory_equal(back, back + HALVES, HALVES * sizeof *back);
        }
    check_lengths(halves + 0x03f0, wide);
    free(halves);
    free(back);
    free(wide);
}

static void test_bytes_and_words(void **state)
{
    (void)state;
    assert_int_equal(gnn_feature_type_bytes(GNN_F32), 4);
    assert_int_equal(gnn_feature_type_bytes(GNN_F16), 2);
    assert_string_equal(gnn_feature_type_words[GNN_F32], "f32");
    assert_string_equal(gnn_feature_type_words[GNN_F16], "f16");
    assert_null(gnn_feature_type_words[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widen_every_half),
        cmocka_unit_test(test_narrow_returns_every_half),
        cmocka_unit_test(test_narrow_rounds_to_nearest_even),
        cmocka_unit_test(test_vectors_equal_plain_code),
        cmocka_unit_test(test_bytes_and_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

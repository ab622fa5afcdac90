/* SPDX-License-Identifier: MIT */
/* Which kernels OpenBLAS is told to take: better ones where it fell back to those of any processor, else none. That a
 * program of this tree runs with them is tests/cli/test_cli.c's. */
#include "harness/tensor/cpu/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_only_the_fallback_is_replaced(void **state)
{
    static const struct {
        struct gnn_blas_facts facts;
        const char *better; /* NULL: the choice stands */
    } cases[] = {
        {{.taken = "Prescott", .has_avx2 = true, .has_avx512 = true}, "SkylakeX"},
        {{.taken = "Prescott", .has_avx2 = true}, "Haswell"},
        {{.taken = "Prescott"}, NULL},
        {{.taken = "Prescott", .has_avx512 = true}, NULL}, /* no such processor: nothing is taken for granted */
        {{.taken = "Haswell", .has_avx2 = true, .has_avx512 = true}, NULL}, /* known, and chosen */
        {{.taken = "SkylakeX", .has_avx2 = true, .has_avx512 = true}, NULL},
        {{.taken = "Zen", .has_avx2 = true}, NULL},
        {{.taken = "NEOVERSEN1"}, NULL},
        /* Kernels that were named stand, also where this program named them: else it would start itself for ever. */
        {{.taken = "Prescott", .told = "Prescott", .has_avx2 = true, .has_avx512 = true}, NULL},
        {{.taken = "Prescott", .told = "SkylakeX", .told_here = true, .has_avx2 = true, .has_avx512 = true}, NULL},
        {{.taken = "Prescott", .told = "", .has_avx2 = true}, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const better = gnn_blas_better_kernels(&cases[i].facts);
        if ((better == NULL) != (cases[i].better == NULL) || (better != NULL && strcmp(better, cases[i].better) != 0))
            fail_msg("case %zu: %s", i, better == NULL ? "its choice stands" : better);
    }
}

/* Valgrind's processor has no AVX-512, whatever this one has; without AVX2 nothing was named that it could stop at. */
static void test_what_is_counted_has_no_avx512(void **state)
{
    const struct gnn_blas_facts newest = {.taken = "SkylakeX", .has_avx2 = true, .has_avx512 = true};
    const struct gnn_blas_facts oldest = {.taken = "Prescott"};
    (void)state;
    assert_string_equal(gnn_blas_countable_setting(&newest), "OPENBLAS_CORETYPE=Haswell");
    assert_null(gnn_blas_countable_setting(&oldest));
}

static void test_who_named_them_is_told(void **state)
{
    struct gnn_blas_facts facts;
    (void)state;
    assert_int_equal(unsetenv("OPENBLAS_CORETYPE"), 0);
    assert_int_equal(setenv("OOCGNN_NAMED_KERNELS", "Haswell", 1), 0);
    gnn_blas_look(&facts);
    assert_null(facts.told);
    assert_false(facts.told_here);
    assert_int_equal(setenv("OPENBLAS_CORETYPE", "Haswell", 1), 0);
    gnn_blas_look(&facts);
    assert_string_equal(facts.told, "Haswell");
    assert_true(facts.told_here);
    assert_int_equal(setenv("OPENBLAS_CORETYPE", "Zen", 1), 0); /* the user's, in a shell that this program started */
    gnn_blas_look(&facts);
    assert_false(facts.told_here);
    assert_int_equal(unsetenv("OPENBLAS_CORETYPE"), 0);
    assert_int_equal(unsetenv("OOCGNN_NAMED_KERNELS"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_the_fallback_is_replaced),
        cmocka_unit_test(test_what_is_counted_has_no_avx512),
        cmocka_unit_test(test_who_named_them_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

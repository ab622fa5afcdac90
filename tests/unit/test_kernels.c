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
        const char *taken;
        bool has_avx2, has_avx512;
        const char *better; /* NULL: the choice stands */
    } cases[] = {
        {"Prescott", true, true, "SkylakeX"},
        {"Prescott", true, false, "Haswell"},
        {"Prescott", false, false, NULL},
        {"Prescott", false, true, NULL}, /* no such processor: nothing is taken for granted */
        {"Haswell", true, true, NULL},   /* known, and chosen: so some are by their makers' advice */
        {"SkylakeX", true, true, NULL},
        {"Zen", true, false, NULL},
        {"NEOVERSEN1", false, false, NULL},
        {"", true, true, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const better = gnn_blas_better_kernels(cases[i].taken, cases[i].has_avx2, cases[i].has_avx512);
        if (cases[i].better == NULL)
            assert_null(better);
        else {
            assert_non_null(better);
            assert_string_equal(better, cases[i].better);
        }
    }
}

/* Started again a program would come here a second time; a variable that the user set is his. */
static void test_what_the_user_names_stands(void **state)
{
    char *const nothing[] = {NULL};
    (void)state;
    assert_int_equal(setenv("OPENBLAS_CORETYPE", "Prescott", 1), 0);
    gnn_blas_use_better_kernels(nothing);
    assert_string_equal(getenv("OPENBLAS_CORETYPE"), "Prescott");
    assert_int_equal(unsetenv("OPENBLAS_CORETYPE"), 0);
}

/* Valgrind's processor has no AVX-512, whatever this one has. */
static void test_what_is_counted_has_no_avx512(void **state)
{
    char setting[GNN_BLAS_SETTING_BYTES];
    (void)state;
    gnn_blas_countable_kernels(setting);
    assert_true(strcmp(setting, "OPENBLAS_CORETYPE=Haswell") == 0 ||
                strcmp(setting, "OPENBLAS_CORETYPE=Prescott") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_the_fallback_is_replaced),
        cmocka_unit_test(test_what_the_user_names_stands),
        cmocka_unit_test(test_what_is_counted_has_no_avx512),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

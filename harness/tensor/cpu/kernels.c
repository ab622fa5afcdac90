#include "harness/tensor/cpu/kernels.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char variable[] = "OPENBLAS_CORETYPE";

const char *gnn_blas_better_kernels(const char *taken, bool has_avx2, bool has_avx512)
{
    if (strcmp(taken, "Prescott") != 0 || !has_avx2)
        return NULL;
    return has_avx512 ? "SkylakeX" : "Haswell";
}

static bool has_avx2(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

/* What SkylakeX's kernels need. */
static bool has_avx512(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

void gnn_blas_use_better_kernels(char *const argv[])
{
    const char *const better = gnn_blas_better_kernels(gnn_blas_kernels(), has_avx2(), has_avx512());
    if (better == NULL || getenv(variable) != NULL || setenv(variable, better, 0) != 0)
        return;
    (void)execv("/proc/self/exe", argv);
    (void)unsetenv(variable); /* it does not say what this process uses */
}

void gnn_blas_countable_kernels(char setting[GNN_BLAS_SETTING_BYTES])
{
    (void)snprintf(setting, GNN_BLAS_SETTING_BYTES, "%s=%s", variable, has_avx2() ? "Haswell" : "Prescott");
}

const char *gnn_blas_kernels(void)
{
    return openblas_get_corename();
}

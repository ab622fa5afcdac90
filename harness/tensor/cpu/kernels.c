/* SPDX-License-Identifier: MIT */
#include "harness/tensor/cpu/kernels.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE "OPENBLAS_CORETYPE"
static const char mark[] = "OOCGNN_NAMED_KERNELS"; /* the value that this program gave the variable */
enum { PATH_BYTES = 4096 };

void gnn_blas_look(struct gnn_blas_facts *out)
{
    const char *const told = getenv(VARIABLE), *const told_here = getenv(mark);
    *out = (struct gnn_blas_facts){.taken = openblas_get_corename(), .told = told};
    out->told_here = told != NULL && told_here != NULL && strcmp(told, told_here) == 0;
#ifdef __x86_64__
    out->has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    out->has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
#endif
}

const char *gnn_blas_better_kernels(const struct gnn_blas_facts *facts)
{
    if (facts->told != NULL || strcmp(facts->taken, "Prescott") != 0 || !facts->has_avx2)
        return NULL;
    return facts->has_avx512 ? "SkylakeX" : "Haswell";
}

void gnn_blas_use_better_kernels(char *const argv[])
{
    struct gnn_blas_facts facts;
    char path[PATH_BYTES]; /* not the link's: a process is called by the last part of what was started */
    gnn_blas_look(&facts);
    const char *const better = gnn_blas_better_kernels(&facts);
    const ssize_t length = better == NULL ? -1 : readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0 || setenv(VARIABLE, better, 1) != 0)
        return;
    path[length] = '\0';
    if (setenv(mark, better, 1) == 0)
        (void)execv(path, argv);
    (void)unsetenv(VARIABLE); /* it does not say what this process uses */
    (void)unsetenv(mark);
}

const char *gnn_blas_countable_setting(const struct gnn_blas_facts *facts)
{
    return facts->has_avx2 ? VARIABLE "=Haswell" : NULL;
}

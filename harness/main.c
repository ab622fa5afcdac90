/* SPDX-License-Identifier: MIT */
#include "harness/base/denormals.h"
#include "harness/cli/cli.h"
#include "harness/tensor/cpu/kernels.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Whether the shell limits this kind of memory. */
static bool is_limited(int resource)
{
    struct rlimit limit;
    return getrlimit((__rlimit_resource_t)resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

int main(int argc, char **argv)
{
    gnn_blas_use_better_kernels(argv);
    gnn_denormals_flush();
    const int status = gnn_cli(argc, argv);
    /* Where OpenBLAS could not start its threads for want of memory, it waits for them at exit, for ever. */
    if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA)) {
        (void)fflush(NULL);
        _exit(status);
    }
    return status;
}

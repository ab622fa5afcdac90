/* SPDX-License-Identifier: MIT */
/* BLAS for the products, vector loops for the rest, on a few threads. */
#include "harness/tensor/cpu/cpu.h"
#include "harness/tensor/cpu/gemm.h"
#include "harness/tensor/cpu/link.h"
#include "harness/tensor/cpu/sage.h"
#include "harness/tensor/host.h"

#include <cblas.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Whether the shell lets the process have less memory than it may ask for. */
static bool memory_is_limited(void)
{
    struct rlimit space, data;
    return getrlimit(RLIMIT_AS, &space) == 0 && getrlimit(RLIMIT_DATA, &data) == 0 &&
           (space.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY);
}

/* OpenBLAS maps a buffer for each of its calls at a time, keeps it, and asks for ever when it is refused. Where memory
 * is limited one is made now, if it can be, and calls of BLAS are not shared: no second call will ask. */
static enum gnn_status make_buffer(struct gnn_err *err)
{
    enum { BUFFER_BYTES = 64 << 20, SIDE = 256 };
    void *const room =
        mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    float *const matrix = calloc((size_t)SIDE * SIDE, sizeof *matrix);
    if (room != MAP_FAILED)
        (void)munmap(room, BUFFER_BYTES);
    if (room == MAP_FAILED || matrix == NULL) {
        free(matrix);
        return gnn_fail(err, GNN_ENOMEM, "the buffer of BLAS, %d bytes; raise ulimit -v and ulimit -d", BUFFER_BYTES);
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, SIDE, SIDE, SIDE, 0.5f, matrix, SIDE, matrix, SIDE, 1, matrix,
                SIDE);
    free(matrix);
    return GNN_OK;
}

static void close_state(struct gnn_tensor *t)
{
    struct gnn_cpu_state *const state = gnn_cpu_state(t);
    gnn_share_close(state->share);
    gnn_host_free(t, state->transpose.data);
    gnn_host_free(t, state->sums.data);
    gnn_tile_kernels_close(&state->kernels);
    free(state->parts);
    free(state);
}

/* OpenBLAS is to have no threads of its own (gemm.h), which is the whole process's setting. */
enum gnn_status gnn_cpu_open(const struct gnn_tensor_env *env, gnn_share_start *start, struct gnn_tensor **out,
                             struct gnn_err *err)
{
    const bool limited = memory_is_limited();
    openblas_set_num_threads(1);
    if (limited)
        GNN_TRY(make_buffer(err));
    struct gnn_tensor *t;
    GNN_TRY(gnn_host_open(&gnn_tensor_cpu, env, &t, err));
    struct gnn_cpu_state *const state = calloc(1, sizeof *state);
    float *const parts = malloc(2 * (size_t)GNN_GEMM_PARTS_BYTES);
    if (state == NULL || parts == NULL) {
        free(state);
        free(parts);
        gnn_host_close(t);
        return gnn_fail(err, GNN_ENOMEM, "tensor back-end \"cpu\"");
    }
    *state = (struct gnn_cpu_state){.threads = env->threads, .one_product = limited, .parts = parts};
    ((struct gnn_host_tensor *)t)->own = state;
    ((struct gnn_host_tensor *)t)->close_own = close_state;
    const enum gnn_status status = gnn_share_open(env->threads, start, &state->share, err);
    return GNN_OPENED(status, t, out, gnn_host_close);
}

static enum gnn_status cpu_open(const struct gnn_tensor_env *env, const struct gnn_profile *profile,
                                struct gnn_tensor **out, struct gnn_err *err)
{
    return gnn_cpu_open(env, pthread_create, out, err);
}

#define HOST(op) .op = gnn_host_##op,
#define CPU(op) .op = gnn_cpu_##op,

/* clang-format off */
const struct gnn_tensor_ops gnn_tensor_cpu = {
    .name = "cpu", .open = cpu_open, .gemm = gnn_cpu_gemm, .link = &gnn_cpu_link,
    .gat_rows = &gnn_cpu_gat_rows, .sage = &gnn_cpu_sage,
    GNN_TENSOR_MEMORY_OPS(HOST) GNN_TENSOR_PLAIN_OPS(CPU) GNN_TENSOR_TUNED_OPS(CPU)
};
/* clang-format on */

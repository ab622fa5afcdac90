/* BLAS for the products, vector loops on a few threads for the rest. */
#include "harness/tensor/cpu/cpu.h"
#include "harness/tensor/cpu/link.h"
#include "harness/tensor/host.h"
#include "harness/tensor/shapes.h"

#include <assert.h>
#include <cblas.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* OpenBLAS maps a buffer for each thread at its first product, and asks for ever when it is refused. Where memory is
 * limited by the shell the buffers are made now, if they can be. */
static enum gnn_status make_buffers(uint32_t threads, struct gnn_err *err)
{
    enum { BUFFER_BYTES = 64 << 20, SIDE = 256 };
    struct rlimit space, data;
    if (getrlimit(RLIMIT_AS, &space) != 0 || getrlimit(RLIMIT_DATA, &data) != 0 ||
        (space.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY))
        return GNN_OK;
    const size_t bytes = (size_t)threads * BUFFER_BYTES;
    void *const room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    float *const matrix = calloc((size_t)SIDE * SIDE, sizeof *matrix);
    if (room != MAP_FAILED)
        (void)munmap(room, bytes);
    if (room == MAP_FAILED || matrix == NULL) {
        free(matrix);
        return gnn_fail(err, GNN_ENOMEM, "the buffers of BLAS, %zu bytes; raise ulimit -v and ulimit -d", bytes);
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
    free(state);
}

/* The thread count of OpenBLAS belongs to the process: the back-end opened last decides. */
enum gnn_status gnn_cpu_open(const struct gnn_tensor_env *env, gnn_share_start *start, struct gnn_tensor **out,
                             struct gnn_err *err)
{
    openblas_set_num_threads((int)env->threads);
    GNN_TRY(make_buffers(env->threads, err));
    struct gnn_tensor *t;
    GNN_TRY(gnn_host_open(&gnn_tensor_cpu, env, &t, err));
    struct gnn_cpu_state *const state = calloc(1, sizeof *state);
    if (state == NULL) {
        gnn_host_close(t);
        return gnn_fail(err, GNN_ENOMEM, "tensor back-end \"cpu\"");
    }
    state->threads = env->threads;
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

static void cpu_gemm(struct gnn_tensor *t, bool trans_a, bool trans_b, gnn_real alpha, struct gnn_mat a,
                     struct gnn_mat b, gnn_real beta, struct gnn_mat c)
{
    const uint32_t inner = gnn_gemm_inner(trans_a, trans_b, a, b, c);
    assert(a.rows <= INT32_MAX);
    assert(b.rows <= INT32_MAX);
    assert(c.rows <= INT32_MAX);
    cblas_sgemm(CblasRowMajor, trans_a ? CblasTrans : CblasNoTrans, trans_b ? CblasTrans : CblasNoTrans,
                (blasint)c.rows, (blasint)c.cols, (blasint)inner, alpha, a.data, (blasint)a.cols, b.data,
                (blasint)b.cols, beta, c.data, (blasint)c.cols);
}

#define HOST(op) .op = gnn_host_##op,
#define CPU(op) .op = gnn_cpu_##op,

/* clang-format off */
const struct gnn_tensor_ops gnn_tensor_cpu = {
    .name = "cpu", .open = cpu_open, .gemm = cpu_gemm, .link = &gnn_cpu_link,
    GNN_TENSOR_MEMORY_OPS(HOST) GNN_TENSOR_PLAIN_OPS(CPU) GNN_TENSOR_TUNED_OPS(CPU)
};
/* clang-format on */

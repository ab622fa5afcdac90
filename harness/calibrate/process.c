/* SPDX-License-Identifier: MIT */
/* What the process itself takes of a memory cap: everything that is not in the world's large allocations. Measured
 * first, before this command has taken memory of its own: the world open, the tensor back-end open and warm (BLAS keeps
 * buffers), a few threads started. Files the program is mapped from are shared with others and not counted. */
#include "harness/base/own_memory.h"
#include "harness/calibrate/internal.h"
#include "harness/tensor/tensor.h"

enum { WARM_ROWS = 2048, WARM_COLS = 256, THREADS = 8, KERNEL_STACK_BYTES = 16384 };

static void idle_main(void *arg)
{
    (void)arg;
}

static enum gnn_status start_threads(struct gnn_world *world, struct gnn_err *err)
{
    struct gnn_thread *threads[THREADS] = {NULL};
    enum gnn_status status = GNN_OK;
    for (uint32_t i = 0; status == GNN_OK && i < THREADS; i++)
        status = gnn_thread_start(world, "idle", idle_main, NULL, &threads[i], err);
    for (uint32_t i = 0; i < THREADS; i++)
        gnn_thread_join(world, threads[i]);
    return status;
}

/* One product of the size training has. */
static enum gnn_status warm_up(struct gnn_tensor *tensor, struct gnn_err *err)
{
    const struct gnn_tensor_ops *const ops = tensor->ops;
    const uint64_t x_count = (uint64_t)WARM_ROWS * WARM_COLS, w_count = (uint64_t)WARM_COLS * WARM_COLS;
    void *memory = NULL;
    GNN_TRY(ops->alloc(tensor, "warm-up", (2 * x_count + w_count) * sizeof(gnn_real), &memory, err));
    gnn_real *const data = memory;
    const struct gnn_mat x = {.data = data, .rows = WARM_ROWS, .cols = WARM_COLS},
                         y = {.data = data + x_count, .rows = WARM_ROWS, .cols = WARM_COLS},
                         w = {.data = data + 2 * x_count, .rows = WARM_COLS, .cols = WARM_COLS};
    ops->gemm(tensor, false, false, 1, x, w, 0, y);
    ops->free(tensor, memory);
    return GNN_OK;
}

enum gnn_status gnn_bench_process(struct gnn_bench *bench, struct gnn_err *err)
{
    struct gnn_tensor *tensor = NULL;
    GNN_TRY(gnn_bench_tensor_open(bench, NULL, &tensor, err));
    enum gnn_status status = warm_up(tensor, err);
    GNN_NEXT(status, start_threads(bench->world, err));
    const uint64_t held = gnn_own_memory_bytes() + (uint64_t)THREADS * KERNEL_STACK_BYTES;
    tensor->ops->close(tensor);
    GNN_TRY(status);
    struct gnn_mem_usage usage;
    gnn_mem_usage(bench->world, &usage);
    bench->out->figure[GNN_FIGURE_PROCESS] = (struct gnn_figure){.value = (double)(held - usage.current_bytes)};
    return held > usage.current_bytes + (uint64_t)THREADS * KERNEL_STACK_BYTES
               ? GNN_OK
               : gnn_fail(err, GNN_ENOTSUP, "/proc/self/status does not report the memory of this process");
}

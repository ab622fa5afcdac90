/* SPDX-License-Identifier: MIT */
/* runtime.h on CUDA's libraries: cuBLAS for GEMM, CUB for the stable sort. */
#include "harness/tensor/cuda/device_state.h"

#include <cub/device/device_radix_sort.cuh>

#if __has_include(<nccl.h>)
#include "harness/tensor/cuda/nccl_calls.h"

#include <nccl.h>
static_assert(sizeof(struct gnn_nccl_name) == sizeof(ncclUniqueId), "a group's name");
static_assert(GNN_NCCL_SUCCESS == (int)ncclSuccess && GNN_NCCL_IN_PROGRESS == (int)ncclInProgress, "results");
static_assert(GNN_NCCL_FLOAT == (int)ncclFloat32 && GNN_NCCL_SUM == (int)ncclSum, "what is summed");
static_assert(offsetof(struct gnn_nccl_config, blocking) == offsetof(ncclConfig_t, blocking), "a configuration's head");
#endif

enum { WORKSPACE_BYTES = 32 << 20 }; /* what cuBLAS' manual recommends for sm_90; less for older ones */

static cublasComputeType_t product_of(enum gnn_precision precision)
{
    return precision == GNN_PRECISION_TF32   ? CUBLAS_COMPUTE_32F_FAST_TF32
           : precision == GNN_PRECISION_BF16 ? CUBLAS_COMPUTE_32F_FAST_16BF
                                             : CUBLAS_COMPUTE_32F;
}

enum gnn_status gnn_device_products_open(struct gnn_device *d, enum gnn_precision precision, struct gnn_err *err)
{
    d->product = product_of(precision);
    GNN_TRY(gnn_device_alloc(d, "workspace of cuBLAS", WORKSPACE_BYTES, &d->workspace, err));
    cublasStatus_t blas = cublasCreate(&d->blas);
    if (blas == CUBLAS_STATUS_SUCCESS)
        blas = cublasSetStream(d->blas, d->compute);
    if (blas == CUBLAS_STATUS_SUCCESS)
        blas = cublasSetWorkspace(d->blas, d->workspace, WORKSPACE_BYTES);
    if (blas == CUBLAS_STATUS_SUCCESS)
        return GNN_OK;
    return gnn_fail(err, GNN_ENOTSUP, "CUDA device %d: cuBLAS: %s", d->number, cublasGetStatusString(blas));
}

void gnn_device_products_close(struct gnn_device *d)
{
    if (d->blas != NULL)
        (void)cublasDestroy(d->blas);
    gnn_device_free(d, d->workspace);
}

uint64_t gnn_device_sort_bytes(uint32_t count)
{
    size_t bytes = 0;
    (void)cub::DeviceRadixSort::SortPairs(NULL, bytes, (const uint32_t *)NULL, (uint32_t *)NULL, (const uint32_t *)NULL,
                                          (uint32_t *)NULL, (int)count);
    return gnn_max_u64(bytes, 1);
}

void gnn_device_sort(struct gnn_device *d, void *scratch, uint64_t scratch_bytes, const uint32_t *keys,
                     uint32_t *keys_out, const uint32_t *values, uint32_t *values_out, uint32_t count,
                     uint32_t key_bits)
{
    assert(count <= INT32_MAX);
    size_t bytes = scratch_bytes;
    gnn_device_work_begin(d);
    gnn_device_watch(d,
                     cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, keys_out, values, values_out, (int)count, 0,
                                                     (int)key_bits, d->compute),
                     "sort of a block");
}

/* Row-major c = op(a) op(b) is column-major c' = op(b)' op(a)': the operands change places. */
void gnn_device_gemm(struct gnn_device *d, bool trans_a, bool trans_b, float alpha, struct gnn_mat a, struct gnn_mat b,
                     float beta, struct gnn_mat c)
{
    const uint32_t inner = trans_a ? a.rows : a.cols;
    assert(inner > 0);
    gnn_device_work_begin(d);
    const cublasStatus_t status =
        cublasGemmEx(d->blas, trans_b ? CUBLAS_OP_T : CUBLAS_OP_N, trans_a ? CUBLAS_OP_T : CUBLAS_OP_N, (int)c.cols,
                     (int)c.rows, (int)inner, &alpha, b.data, CUDA_R_32F, (int)b.cols, a.data, CUDA_R_32F, (int)a.cols,
                     &beta, c.data, CUDA_R_32F, (int)c.cols, d->product, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS)
        gnn_device_keep(d, GNN_EIO, "GEMM", cublasGetStatusString(status));
}

/* What back-ends that live in host memory share: the open state and the memory ops. */
#ifndef GNN_TENSOR_HOST_H
#define GNN_TENSOR_HOST_H

#include "harness/tensor/tensor.h"

struct gnn_host_tensor {
    struct gnn_tensor base;
    struct gnn_tensor_env env;
};

GNN_MUST_CHECK enum gnn_status gnn_host_open(const struct gnn_tensor_ops *ops, const struct gnn_tensor_env *env,
                                             struct gnn_tensor **out, struct gnn_err *err);
void gnn_host_close(struct gnn_tensor *t);
enum gnn_status gnn_host_alloc(struct gnn_tensor *t, const char *name, uint64_t bytes, void **out, struct gnn_err *err);
void gnn_host_free(struct gnn_tensor *t, void *ptr);
void gnn_host_upload(struct gnn_tensor *t, void *dst, const void *host_src, uint64_t bytes);
void gnn_host_upload_async(struct gnn_tensor *t, uint32_t lane, void *dst, const void *host_src, uint64_t bytes);
void gnn_host_upload_wait(struct gnn_tensor *t, uint32_t lane);
void gnn_host_download(struct gnn_tensor *t, void *host_dst, const void *src, uint64_t bytes);
void gnn_host_copy(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count);
void gnn_host_synchronize(struct gnn_tensor *t);

#endif

/* SPDX-License-Identifier: MIT */
/* The part of NCCL that group.cc calls. Declared here because NCCL is loaded at run time. So neither the build nor the
 * plugin depends on NCCL. products.cu compares these declarations with NCCL's own header if it is present. */
#ifndef GNN_TENSOR_CUDA_NCCL_CALLS_H
#define GNN_TENSOR_CUDA_NCCL_CALLS_H

#include <stddef.h>

struct ncclComm;

enum {
    GNN_NCCL_SUCCESS = 0,
    GNN_NCCL_IN_PROGRESS = 7, /* of a non-blocking communicator: poll its state until it changes */
    GNN_NCCL_FLOAT = 7,
    GNN_NCCL_SUM = 0,
    GNN_NCCL_NAME_BYTES = 128,
    GNN_NCCL_OLDEST = 21400 /* the first version with non-blocking communicators */
};

struct gnn_nccl_name {
    char bytes[GNN_NCCL_NAME_BYTES];
};

/* As in version GNN_NCCL_OLDEST. Later versions accept it and use defaults for newer fields. */
struct gnn_nccl_config {
    size_t bytes;
    unsigned magic, version;
    int blocking;
};
#define GNN_NCCL_MAGIC 0xcafebeefu

struct gnn_nccl {
    int (*get_version)(int *version);
    int (*get_unique_id)(struct gnn_nccl_name *name);
    int (*comm_init)(struct ncclComm **comm, int ranks, struct gnn_nccl_name name, int rank,
                     struct gnn_nccl_config *config);
    int (*async_error)(struct ncclComm *comm, int *state);
    int (*all_reduce)(const void *from, void *to, size_t count, int type, int op, struct ncclComm *comm, void *stream);
    int (*finalize)(struct ncclComm *comm);
    int (*destroy)(struct ncclComm *comm);
    int (*abort)(struct ncclComm *comm);
    const char *(*error_string)(int result);
    const char *(*last_error)(struct ncclComm *comm);
};

#endif

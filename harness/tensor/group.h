/* SPDX-License-Identifier: MIT */
/* Devices that train one model, a process and a device each (GNNDrive section 4.3): they sum their gradients among
 * themselves, without the host's memory. A table beside struct gnn_tensor_ops, because a back-end may lack it
 * (ops->group is NULL: where the host computes, gradients meet in its memory, ranks/average.h).
 *
 * Order    one rank makes the group's name and hands it to the others; all join; each sums as often as every other; all
 *          leave, before the back-end is closed.
 * Threads  the one that computes.
 * Failure  a rank that fails tells the others by other means (config.fails), which config.goes_on asks: who waits for
 *          its device then ends with GNN_ECANCELLED. After any failure the rank is in no group any more. */
#ifndef GNN_TENSOR_GROUP_H
#define GNN_TENSOR_GROUP_H

#include "harness/tensor/tensor.h"

struct gnn_group_name {
    unsigned char bytes[128];
};

struct gnn_group_config {
    struct gnn_group_name name;
    uint32_t ranks, rank;
    /* GNN_OK while every rank goes on, else GNN_ECANCELLED. Asked while this rank waits for others. */
    enum gnn_status (*goes_on)(void *ctx, struct gnn_err *err);
    /* A join or a sum failed on this rank. Called before the others can notice, so that what they notice is not taken
     * for the cause. */
    void (*fails)(void *ctx, const struct gnn_err *why);
    void *ctx;
};

struct gnn_group_ops {
    /* What sums, with its version, into text; needs no device. GNN_ENOTSUP where it is missing or too old, with the
     * remedy. */
    enum gnn_status (*find)(char *text, size_t text_bytes, struct gnn_err *err);
    /* Makes the name of a new group. GNN_ENOTSUP as above; GNN_EIO. */
    enum gnn_status (*name)(struct gnn_group_name *out, struct gnn_err *err);
    /* Returns when all ranks have joined. GNN_ENOTSUP, GNN_EIO, GNN_ECANCELLED. */
    enum gnn_status (*join)(struct gnn_tensor *t, const struct gnn_group_config *config, struct gnn_err *err);
    /* values (count), on the device, become the sum over the ranks of weight times values, the same bits on every rank.
     * A weight of 0 leaves out what its rank has, numbers or not. GNN_EIO, GNN_ECANCELLED. */
    enum gnn_status (*sum)(struct gnn_tensor *t, gnn_real *values, uint64_t count, gnn_real weight,
                           struct gnn_err *err);
    void (*leave)(struct gnn_tensor *t); /* not joined: does nothing */
};

#endif

/* SPDX-License-Identifier: MIT */
/* Devices that train one model, with one process per device (GNNDrive section 4.3). They sum their gradients directly,
 * without host memory. A separate table, because a back-end may lack it. If ops->group is NULL, gradients are summed in
 * host memory (ranks/average.h).
 *
 * Order    One rank makes the group's name and passes it to the others. All ranks join, and all call sum equally often.
 *          All leave before the back-end is closed.
 * Threads  Only the computing thread calls.
 * Failure  A rank that fails reports it to the others through config.fails, and config.goes_on returns it there. A rank
 *          that waits for its device then returns GNN_ECANCELLED. After any failure the rank has left the group. */
#ifndef GNN_TENSOR_GROUP_H
#define GNN_TENSOR_GROUP_H

#include "harness/tensor/tensor.h"

struct gnn_group_name {
    unsigned char bytes[128];
};

struct gnn_group_config {
    struct gnn_group_name name;
    uint32_t ranks, rank;
    /* Returns GNN_OK while every rank continues, else GNN_ECANCELLED. Called while this rank waits for others. */
    enum gnn_status (*goes_on)(void *ctx, struct gnn_err *err);
    /* Reports that a join or a sum failed on this rank. Called before the other ranks can notice, so that they do not
     * take their own symptom for the cause. */
    void (*fails)(void *ctx, const struct gnn_err *why);
    void *ctx;
};

struct gnn_group_ops {
    /* Writes the name and version of the library that sums to text, or returns GNN_ENOTSUP with the remedy if it is
     * missing or too old. Needs no device. */
    enum gnn_status (*find)(char *text, size_t text_bytes, struct gnn_err *err);
    /* Makes the name of a new group, or returns GNN_ENOTSUP as above or GNN_EIO. */
    enum gnn_status (*name)(struct gnn_group_name *out, struct gnn_err *err);
    /* Returns when all ranks have joined, or returns GNN_ENOTSUP, GNN_EIO or GNN_ECANCELLED. */
    enum gnn_status (*join)(struct gnn_tensor *t, const struct gnn_group_config *config, struct gnn_err *err);
    /* Replaces values (count), on the device, by the sum over the ranks of weight times values, or returns GNN_EIO or
     * GNN_ECANCELLED. The result has the same bits on every rank. With weight 0 a rank's values are ignored, NaN
     * included. */
    enum gnn_status (*sum)(struct gnn_tensor *t, gnn_real *values, uint64_t count, gnn_real weight,
                           struct gnn_err *err);
    void (*leave)(struct gnn_tensor *t); /* does nothing unless the rank has joined */
};

#endif

/* SPDX-License-Identifier: MIT */
/* The reference back-end behind a memory of its own, as a GPU has: pointers it hands out cannot be dereferenced (their
 * pages are closed), its ops take nothing else, and copies given to a lane are made when somebody waits for them, from
 * registered memory alone. A batch that was staged is computed on as it was then, and must still be the host's. So a
 * missed upload, a read into device memory, a buffer reused before its copy landed, and a batch that changed behind its
 * staging show. */
#ifndef GNN_TESTS_DEVICE_TENSOR_H
#define GNN_TESTS_DEVICE_TENSOR_H

#include "harness/tensor/tensor.h"

extern const struct gnn_tensor_ops device_tensor;

/* Where the test may look at a device pointer. */
const void *device_tensor_look(const struct gnn_tensor *t, const void *device_ptr);
/* Copies made so far through lanes. */
uint64_t device_tensor_lane_copies(const struct gnn_tensor *t);

struct device_tensor_counts {
    uint64_t given_copies, row_launches;                    /* of lanes */
    uint64_t staged_batches, used_batches, unstaged_blocks; /* unstaged: an op's block that no batch in use holds */
    uint32_t open_events, open_residents;
    uint32_t refuse_pin; /* the pin that is refused, counted down; 0: none is */
    bool in_step;
};
void device_tensor_counts(const struct gnn_tensor *t, struct device_tensor_counts *out);
/* The nth pin from now on fails. */
void device_tensor_refuse_pin(struct gnn_tensor *t, uint32_t nth);

#endif

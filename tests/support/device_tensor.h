/* The reference back-end behind a memory of its own, as a GPU has: pointers it hands out cannot be dereferenced (their
 * pages are closed), its ops take nothing else, and copies given to a lane are made when the lane is waited for. So a
 * missed upload, a read into device memory, and a buffer reused before its copy landed show. */
#ifndef GNN_TESTS_DEVICE_TENSOR_H
#define GNN_TESTS_DEVICE_TENSOR_H

#include "harness/tensor/tensor.h"

extern const struct gnn_tensor_ops device_tensor;

/* Where the test may look at a device pointer. */
const void *device_tensor_look(const struct gnn_tensor *t, const void *device_ptr);
/* Copies made so far through lanes. */
uint64_t device_tensor_lane_copies(const struct gnn_tensor *t);

#endif

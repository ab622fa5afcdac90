/* SPDX-License-Identifier: MIT */
/* Reads arrays of a dictionary that torch.save of PyTorch 1.6 or later wrote: a zip archive of a pickle and of the
 * numbers of its tensors. Internal to harness/dataset/. */
#ifndef GNN_DATASET_TORCH_DICT_H
#define GNN_DATASET_TORCH_DICT_H

#include "harness/dataset/npy.h"

struct gnn_torch_array {
    struct gnn_npy *npy;
    unsigned char *numbers; /* of a NumPy array; NULL for a tensor */
};

/* Opens the array under the first of the keys (NULL-terminated) that the dictionary has. Sets *found to false if it has
 * none of them. The pickle, which has all numbers of NumPy arrays, takes at most memory_bytes. Returns GNN_EFORMAT for
 * any other file, with the line of Python that converts it, or GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status gnn_torch_open(const char *path, const char *const *keys, uint64_t memory_bytes,
                                              struct gnn_torch_array *out, bool *found, struct gnn_err *err);
void gnn_torch_close(struct gnn_torch_array *array); /* accepts a zeroed one */

#endif

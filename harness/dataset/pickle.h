/* SPDX-License-Identifier: MIT */
/* Reads the dictionaries of arrays that torch.save pickles: tensors, whose numbers are in files next to the pickle, and
 * NumPy arrays, whose numbers are in it. Nothing of a pickle is executed: calls that build no array, and objects of
 * other kinds, become values without content. Internal to harness/dataset/.
 * Sources: Lib/pickletools.py of CPython, which documents the operations; torch/serialization.py of PyTorch. */
#ifndef GNN_DATASET_PICKLE_H
#define GNN_DATASET_PICKLE_H

#include "harness/dataset/npy.h"

enum { GNN_PICKLE_KEY = 32 };

/* An array of the dictionary. header describes its numbers, one after the other. */
struct gnn_pickle_array {
    struct gnn_npy_header header;
    char storage[GNN_PICKLE_KEY]; /* tensor: name of the file with its numbers; "" for a NumPy array */
    uint64_t storage_first;       /* tensor: number of the file with which it starts */
    uint64_t storage_items;       /* tensor: numbers in the file */
    const unsigned char *bytes;   /* NumPy array: its numbers, inside the pickle */
    uint64_t byte_count;
    bool utf8; /* bytes are text, a character per byte of the numbers */
};

/* Finds the array under the first of the keys (NULL-terminated) that the pickled dictionary has. A dictionary of one
 * array in its place counts as this array. *found is false if it has none of the keys. path is for messages. Returns
 * GNN_EFORMAT for bytes that are no pickle of a dictionary, or for another value under the key. */
GNN_MUST_CHECK enum gnn_status gnn_pickle_find(const unsigned char *bytes, uint64_t len, const char *const *keys,
                                               const char *path, struct gnn_pickle_array *out, bool *found,
                                               struct gnn_err *err);

#endif

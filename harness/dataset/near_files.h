/* SPDX-License-Identifier: MIT */
/* Finds files whose names resemble one that is missing. Internal to harness/dataset/. */
#ifndef GNN_DATASET_NEAR_FILES_H
#define GNN_DATASET_NEAR_FILES_H

#include "harness/oocgnn.h"

enum { GNN_NEAR_BYTES = 256 };

/* Writes the names of up to three files in dir that contain one of the words to text, with commas between, and returns
 * it. Words match in any case; their list ends with NULL. No such file: "". */
const char *gnn_near_files(const char *dir, const char *const *words, char text[GNN_NEAR_BYTES]);

/* The same of the first members of a NumPy archive, without words. */
const char *gnn_near_members(const char *archive, char text[GNN_NEAR_BYTES]);

#endif

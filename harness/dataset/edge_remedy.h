/* SPDX-License-Identifier: MIT */
/* Commands that make pairs of other texts, for messages. Internal to harness/dataset/. */
#ifndef GNN_DATASET_EDGE_REMEDY_H
#define GNN_DATASET_EDGE_REMEDY_H

#include "harness/dataset/edge_text.h"
#include "harness/dataset/output.h"

enum { GNN_EDGE_REMEDY_BYTES = 4 * GNN_OUTPUT_PATH };

/* The command that writes pairs from METIS's lists of neighbours if the path follows it. */
extern const char gnn_edge_metis[];
bool gnn_edge_is_metis(const char *path);

/* Writes the way to read the file whose line number `at` is no pair, as the end of a message, or "". `large`: an ID of
 * it does not fit into 64 bits. */
void gnn_edge_remedy(const struct gnn_edge_text *text, const char *line, uint64_t at, bool large,
                     char remedy[GNN_EDGE_REMEDY_BYTES]);

#endif

/* SPDX-License-Identifier: MIT */
/* The fixed R-MAT graph on which sampling speed is compared: `kron`. Internal to harness/dataset/.
 *
 * With L levels [23] there are N = 2^L nodes and E = 16 N edges. "Output k of seed s" is that of splitmix64
 * (harness/base/rng.h). It can be computed alone.
 *
 *   `edges`  Bit l of edge e, the most significant first, is drawn from u. The latter is the top 53 bits of output
 *            L e + l of seed 42.
 *            Source and destination bit are `0, 0 if u < floor(0.57 * 2^53); else 0, 1 if u < floor(0.76 * 2^53);
 *            else 1, 0 if u < floor(0.95 * 2^53); else 1, 1`.
 *   `names`  Both ends x become p[x], where p is the Fisher-Yates permutation of 0 … N - 1:
 *            `for i = N - 1 down to 1: swap p[i] with p[next output of seed 43 mod (i + 1)]`.
 *   `lists`  Grouped by renamed source, in the order of e. A node's neighbours are these out-edges. Lists are not
 *            ascending, contain duplicates and self-loops, and more than half of them are empty.
 *   `seeds`  Drawn from the n nodes that have an out-edge, ascending:
 *            `for i = 0 …: swap entry i with entry i + (output i of seed 44 mod (n - i))`.
 *            The seeds are the first 100 000 entries. The file `seeds` (u32) keeps this order. The train split is the
 *            same set, ascending as every split is. There are no valid and test splits.
 *
 * Sizes. At 23 levels there are 134 217 728 edges, and 3 850 813 nodes have an out-edge. The largest list has 244 119
 * entries. Labels (2 classes) and features (width 1 by default) are hashes without meaning, because the graph is for
 * sampling.
 *
 * Memory. Per node, indptr needs 8 B, the names 4 B, and the counters of each thread 4 B. A window holds at most
 * GNN_KRON_WINDOW_EDGES list entries (1 GiB). More edges than that require more passes over the recipe. */
#ifndef GNN_DATASET_KRON_H
#define GNN_DATASET_KRON_H

#include "harness/dataset/prepare.h"

enum {
    GNN_KRON_EDGES_PER_NODE = 16,
    GNN_KRON_SEEDS = 100000,
    GNN_KRON_LEVELS_MIN = 4,
    GNN_KRON_LEVELS_MAX = 30,
    GNN_KRON_WINDOW_EDGES = 1 << 28,
};

/* Generates kron as gnn_prepare_generate() does. Options are dim, threads, levels and id_width. Returns GNN_EUSAGE for
 * any other option that is not at its default, or for a scale other than 1/1. Returns GNN_ECAP if a list is longer than
 * window_edges. That limits the entries that are held at a time; tests use a small one. The result is the same for any
 * value. */
GNN_MUST_CHECK enum gnn_status gnn_prepare_kron(const struct gnn_registry_entry *entry, uint32_t scale_divisor,
                                                const struct gnn_generate_options *options, uint64_t window_edges,
                                                const struct gnn_prepare_job *job, struct gnn_err *err);

/* Computes the seeds in their order. Reads the list lengths from indptr (nodes + 1), and permutes `ids` (nodes;
 * scratch). Returns how many of the first entries of `ids` are seeds. */
uint32_t gnn_kron_seeds(const uint64_t *indptr, uint32_t nodes, gnn_node *ids);

#endif

/* SPDX-License-Identifier: MIT */
/* The fixed R-MAT graph on which sampling speed is compared: `kron`. Internal to harness/dataset/.
 *
 * With L levels [23] there are N = 2^L nodes and E = 16 N edges. "Output k of seed s" is that of splitmix64, whose
 * outputs are addressable (harness/base/rng.h).
 *
 *   edges    bit l of edge e, the most significant first, comes from u = the top 53 bits of output L e + l of seed 42:
 *            u < floor(0.57 * 2^53): source bit 0, destination bit 0; else u < floor(0.76 * 2^53): 0, 1;
 *            else u < floor(0.95 * 2^53): 1, 0; else 1, 1
 *   names    both ends x become p[x], p the Fisher-Yates permutation of 0 … N - 1: for i = N - 1 down to 1, swap p[i]
 *            with p[next output of seed 43 mod (i + 1)]
 *   lists    grouped by renamed source, in the order of e: a node's "neighbours" are these out-edges. Lists are not
 *            ascending, hold duplicates and self-loops, and more than half of them are empty
 *   seeds    of the n nodes with an out-edge, ascending: for i = 0 … swap entry i with entry i + (output i of seed 44
 *            mod (n - i)); the first 100 000 entries. The file `seeds` (u32) keeps this order; the train split is the
 *            same set, ascending as every split is. There are no valid and test splits.
 *
 * At 23 levels: 134 217 728 edges, the largest list has 244 119, 3 850 813 nodes have an out-edge. Labels (2 classes)
 * and features (width 1 by default) are hashes without meaning: the graph is for sampling.
 *
 * Memory: 8 B a node for indptr, 4 B for the names, 4 B a thread for counters, and a window of at most
 * GNN_KRON_WINDOW_EDGES list entries (1 GiB); more edges than that take further passes over the recipe. */
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

/* gnn_prepare_generate for kron. options: dim, threads and levels; any other that is not at its default is GNN_EUSAGE,
 * as is a scale other than 1/1. window_edges bounds the entries held at a time (tests take few); it does not change the
 * result. GNN_ECAP: a list longer than that. */
GNN_MUST_CHECK enum gnn_status gnn_prepare_kron(const struct gnn_registry_entry *entry, uint32_t scale_divisor,
                                                const struct gnn_generate_options *options, uint64_t window_edges,
                                                const struct gnn_prepare_job *job, struct gnn_err *err);

/* The seeds in their order: reads the counts from indptr (nodes + 1), permutes `ids` (nodes; scratch) and returns how
 * many of its first entries are seeds. */
uint32_t gnn_kron_seeds(const uint64_t *indptr, uint32_t nodes, gnn_node *ids);

#endif

/* SPDX-License-Identifier: MIT */
/* The cost of every tensor operation: floating-point operations, bytes and launches, and the time that they take on a
 * roofline. All cost formulas are here. All time lines are in timeline.c.
 *
 * Counting rules
 *   Reals are 4 bytes. A matrix is read or written once: caches hold data that an op reads twice.
 *   Rows reached through a list (gathers, the sources of a block) move at the gather rate. Other data streams.
 *   A row that is added to at a random place is read and written: twice its bytes.
 *   An exponential or logarithm counts 10 FLOPs, a dropout decision 12.
 *   An op is one launch, or two if a result must be complete in between.
 *
 * Symbols: E edges, D targets and S sources of a block. C columns, H heads, W = heads x channels, slots = E + D. */
#ifndef GNN_TENSOR_COST_H
#define GNN_TENSOR_COST_H

#include "harness/tensor/tensor.h"

/* Rows and columns of the tiles in which a product's result is computed, in vector registers and on a GPU. */
enum { GNN_CPU_TILE = 16, GNN_GPU_TILE = 64 };

struct gnn_cost {
    uint64_t flops;
    uint64_t stream_bytes; /* read or written in order */
    uint64_t gather_bytes; /* read or written at random places */
    uint32_t launches;
    uint64_t operands; /* elements of a product's two operands, which are copied into the order of the tiles first */
};

/* The machine that an op runs on, all of its cores together. */
struct gnn_roof {
    uint64_t flops_per_s;
    uint64_t stream_bytes_per_s;
    uint64_t gather_bytes_per_s;
    uint32_t gemm_tile;      /* rows and columns of the tiles of a product's result */
    uint64_t operands_per_s; /* 0: copying operands is included in flops_per_s */
};

/* Returns max(flops / rate + operands / rate, stream / rate + gather / rate), each quotient rounded up, without
 * launches. */
uint64_t gnn_cost_ns(const struct gnn_cost *cost, const struct gnn_roof *roof);

/* Returns bytes (or FLOPs) / rate in nanoseconds, rounded up. */
uint64_t gnn_transfer_ns(uint64_t bytes, uint64_t bytes_per_s);

struct gnn_cost gnn_cost_fill(uint64_t count);
struct gnn_cost gnn_cost_copy(uint64_t count);
struct gnn_cost gnn_cost_gather_rows(uint64_t count, uint64_t cols);
/* Halves are 2 bytes. Rows without a list are read in order. */
struct gnn_cost gnn_cost_gather_halves(uint64_t count, uint64_t cols, bool listed);
/* Returns the cost of (m, k) x (k, n). A product computes tiles of the result. A last tile that is partly outside takes
 * as long as a full one, so m and n are rounded up to `tile`. Both operands are first copied into the order of the
 * tiles, which dominates small products. Nothing else is assumed about shapes: k counts as long, and cores count as
 * busy even with few tiles (libraries then split k). */
struct gnn_cost gnn_cost_gemm(uint64_t m, uint64_t n, uint64_t k, bool accumulates, uint32_t tile);
struct gnn_cost gnn_cost_add_bias(uint64_t rows, uint64_t cols);
struct gnn_cost gnn_cost_column_sum(uint64_t rows, uint64_t cols);
struct gnn_cost gnn_cost_add(uint64_t count);
struct gnn_cost gnn_cost_segment_reduce(enum gnn_reduce kind, const struct gnn_block *b, uint64_t cols);
struct gnn_cost gnn_cost_segment_reduce_back(enum gnn_reduce kind, const struct gnn_block *b, uint64_t cols);
struct gnn_cost gnn_cost_gcn_weights(const struct gnn_block *b);
struct gnn_cost gnn_cost_spmm(const struct gnn_block *b, uint64_t cols);
struct gnn_cost gnn_cost_spmm_back(const struct gnn_block *b, uint64_t cols);
struct gnn_cost gnn_cost_gat_scores(uint64_t src, uint64_t dst, uint64_t heads, uint64_t width);
struct gnn_cost gnn_cost_gat_softmax(const struct gnn_block *b, uint64_t heads);
struct gnn_cost gnn_cost_gat_attend(const struct gnn_block *b, uint64_t heads, uint64_t width);
struct gnn_cost gnn_cost_gat_back(const struct gnn_block *b, uint64_t heads, uint64_t width);
struct gnn_cost gnn_cost_head_mean(uint64_t rows, uint64_t channels, uint64_t heads); /* and its transpose */
struct gnn_cost gnn_cost_activate(enum gnn_activation act, uint64_t rows, uint64_t cols, bool bias, bool drop);
struct gnn_cost gnn_cost_activate_back(uint64_t rows, uint64_t cols, bool drop);
struct gnn_cost gnn_cost_softmax_nll(uint64_t rows, uint64_t classes);
struct gnn_cost gnn_cost_adam(uint64_t count);

/* Costs of link prediction (harness/tensor/link.h), over count elements, or over rows against shared candidates. */
struct gnn_cost gnn_cost_link_combine(uint64_t count);
struct gnn_cost gnn_cost_link_combine_back(uint64_t count);
struct gnn_cost gnn_cost_link_pairs(uint64_t rows, uint64_t cols);
struct gnn_cost gnn_cost_link_pairs_back(uint64_t count);
struct gnn_cost gnn_cost_link_distances(uint64_t rows, uint64_t candidates, uint64_t cols);
struct gnn_cost gnn_cost_link_distances_back(uint64_t rows, uint64_t candidates, uint64_t cols);
struct gnn_cost gnn_cost_link_cubes_back(uint64_t count);
struct gnn_cost gnn_cost_scatter_add(uint64_t count, uint64_t cols);
struct gnn_cost gnn_cost_adagrad(uint64_t count);

/* Returns the bytes of the arrays of a block that an accelerator needs: row starts and columns. */
uint64_t gnn_cost_block_bytes(const struct gnn_block *b);

#endif

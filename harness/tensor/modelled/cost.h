/* SPDX-License-Identifier: MIT */
/* What every tensor operation costs: floating-point operations, bytes, launches; and how long that takes on a given
 * roofline. The one place that knows formulas; timeline.c knows time lines.
 *
 * Counting rules
 *   - reals are 4 bytes; a matrix is read or written once (caches hold what an op reads twice)
 *   - rows reached through a list (gathers, the sources of a block) move at the gather rate, all else streams
 *   - a row that is added to at a random place is read and written: twice its bytes
 *   - an exponential or logarithm counts 10 FLOPs, a dropout decision 12
 *   - an op is one launch unless a result must be complete before its second half starts
 *
 * E edges, D targets and S sources of a block; C columns; H heads; W = heads x channels; slots = E + D. */
#ifndef GNN_TENSOR_COST_H
#define GNN_TENSOR_COST_H

#include "harness/tensor/tensor.h"

/* Rows and columns of the tiles in which a product's result is computed: on vector registers, and on a GPU. */
enum { GNN_CPU_TILE = 16, GNN_GPU_TILE = 64 };

struct gnn_cost {
    uint64_t flops;
    uint64_t stream_bytes; /* read or written in order */
    uint64_t gather_bytes; /* read or written at random places */
    uint32_t launches;
    uint64_t operands; /* elements of a product's two operands, which it brings into order before it multiplies */
};

/* The machine an op runs on, all of its cores together. */
struct gnn_roof {
    uint64_t flops_per_s;
    uint64_t stream_bytes_per_s;
    uint64_t gather_bytes_per_s;
    uint32_t gemm_tile;      /* rows and columns of a product's result are computed in tiles of so many */
    uint64_t operands_per_s; /* 0: bringing them into order is in flops_per_s */
};

/* max(flops / rate + operands / rate, stream / rate + gather / rate), each rounded up; launches are not in it. */
uint64_t gnn_cost_ns(const struct gnn_cost *cost, const struct gnn_roof *roof);

/* bytes (or FLOPs) / rate in nanoseconds, rounded up. */
uint64_t gnn_transfer_ns(uint64_t bytes, uint64_t bytes_per_s);

struct gnn_cost gnn_cost_fill(uint64_t count);
struct gnn_cost gnn_cost_copy(uint64_t count);
struct gnn_cost gnn_cost_gather_rows(uint64_t count, uint64_t cols);
/* (m, k) x (k, n). A product works in tiles of the result: a last tile that is partly outside takes as long as a full
 * one, so m and n count rounded up to `tile`. Both operands are copied into the order of the tiles first, which is what
 * small products take longest for. That is all that is assumed about shapes: k is taken as long enough, and few tiles
 * are not taken to leave cores idle (libraries split k then). */
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

/* Link prediction (harness/tensor/link.h), over count elements or rows against shared candidates. */
struct gnn_cost gnn_cost_link_combine(uint64_t count);
struct gnn_cost gnn_cost_link_combine_back(uint64_t count);
struct gnn_cost gnn_cost_link_pairs(uint64_t rows, uint64_t cols);
struct gnn_cost gnn_cost_link_pairs_back(uint64_t count);
struct gnn_cost gnn_cost_link_distances(uint64_t rows, uint64_t candidates, uint64_t cols);
struct gnn_cost gnn_cost_link_distances_back(uint64_t rows, uint64_t candidates, uint64_t cols);
struct gnn_cost gnn_cost_scatter_add(uint64_t count, uint64_t cols);
struct gnn_cost gnn_cost_adagrad(uint64_t count);

/* Bytes of the arrays an accelerator needs of a block: row starts and columns. */
uint64_t gnn_cost_block_bytes(const struct gnn_block *b);

#endif

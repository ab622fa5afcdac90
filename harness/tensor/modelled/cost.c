/* SPDX-License-Identifier: MIT */
#include "harness/tensor/modelled/cost.h"

#include <assert.h>

static const uint64_t real_bytes = 4;
static const uint64_t half_bytes = 2;
static const uint64_t index_bytes = 4; /* of a row number, an edge offset, a label */
static const uint64_t exp_flops = 10;  /* exp, log, expm1 */
static const uint64_t hash_flops = 12; /* one dropout decision */
static const uint64_t adam_flops = 13; /* one parameter's update */

static const uint64_t second_ns = 1000000000;

uint64_t gnn_transfer_ns(uint64_t bytes, uint64_t bytes_per_s)
{
    assert(bytes_per_s > 0);
    const unsigned __int128 scaled = (unsigned __int128)bytes * second_ns;
    return (uint64_t)((scaled + bytes_per_s - 1) / bytes_per_s);
}

uint64_t gnn_cost_ns(const struct gnn_cost *cost, const struct gnn_roof *roof)
{
    const uint64_t operands_ns = roof->operands_per_s == 0 ? 0 : gnn_transfer_ns(cost->operands, roof->operands_per_s);
    return gnn_max_u64(gnn_transfer_ns(cost->flops, roof->flops_per_s) + operands_ns,
                       gnn_transfer_ns(cost->stream_bytes, roof->stream_bytes_per_s) +
                           gnn_transfer_ns(cost->gather_bytes, roof->gather_bytes_per_s));
}

uint64_t gnn_cost_block_bytes(const struct gnn_block *b)
{
    return index_bytes * (UINT64_C(1) + b->dst_count + b->edge_count);
}

/* Returns the cost of an operation that is no product. */
static struct gnn_cost work(uint64_t flops, uint64_t stream_bytes, uint64_t gather_bytes, uint32_t launches)
{
    return (struct gnn_cost){
        .flops = flops, .stream_bytes = stream_bytes, .gather_bytes = gather_bytes, .launches = launches};
}

/* One pass over `count` elements. */
static struct gnn_cost elementwise(uint64_t count, uint64_t flops_each, uint64_t reals_each)
{
    return work(count * flops_each, real_bytes * count * reals_each, 0, 1);
}

/* ---- dense ---- */

struct gnn_cost gnn_cost_fill(uint64_t count)
{
    return elementwise(count, 0, 1);
}

struct gnn_cost gnn_cost_copy(uint64_t count)
{
    return elementwise(count, 0, 2);
}

struct gnn_cost gnn_cost_gather_rows(uint64_t count, uint64_t cols)
{
    const uint64_t bytes = real_bytes * count * cols;
    return work(0, bytes + index_bytes * count, bytes, 1);
}

struct gnn_cost gnn_cost_gather_halves(uint64_t count, uint64_t cols, bool listed)
{
    const uint64_t written = real_bytes * count * cols, read = half_bytes * count * cols;
    return listed ? work(0, written + index_bytes * count, read, 1) : work(0, written + read, 0, 1);
}

struct gnn_cost gnn_cost_gemm(uint64_t m, uint64_t n, uint64_t k, bool accumulates, uint32_t tile)
{
    const uint64_t bytes = real_bytes * (m * k + k * n + m * n * (accumulates ? 2 : 1));
    struct gnn_cost cost = work(2 * gnn_round_up(m, tile) * gnn_round_up(n, tile) * k, bytes, 0, 1);
    cost.operands = m * k + k * n;
    return cost;
}

struct gnn_cost gnn_cost_add_bias(uint64_t rows, uint64_t cols)
{
    return work(rows * cols, real_bytes * (2 * rows * cols + cols), 0, 1);
}

/* Partial sums of stripes of rows, then their sum. */
struct gnn_cost gnn_cost_column_sum(uint64_t rows, uint64_t cols)
{
    return work(rows * cols, real_bytes * (rows * cols + cols), 0, 2);
}

struct gnn_cost gnn_cost_add(uint64_t count)
{
    return elementwise(count, 1, 3);
}

struct gnn_cost gnn_cost_head_mean(uint64_t rows, uint64_t channels, uint64_t heads)
{
    return elementwise(rows * channels, heads + 1, heads + 1);
}

struct gnn_cost gnn_cost_activate(enum gnn_activation act, uint64_t rows, uint64_t cols, bool bias, bool drop)
{
    const uint64_t act_flops[] = {[GNN_ACT_NONE] = 0, [GNN_ACT_RELU] = 1, [GNN_ACT_ELU] = exp_flops};
    const uint64_t each = bias + act_flops[act] + (drop ? hash_flops : 0);
    return work(rows * cols * each, real_bytes * (2 * rows * cols + (bias ? cols : 0)), 0, 1);
}

struct gnn_cost gnn_cost_activate_back(uint64_t rows, uint64_t cols, bool drop)
{
    return elementwise(rows * cols, 2 + (drop ? hash_flops : 0), 3);
}

/* Row by row: maximum, sum of exponentials, gradient in place; then the loss over rows. */
struct gnn_cost gnn_cost_softmax_nll(uint64_t rows, uint64_t classes)
{
    const uint64_t flops = rows * (classes * (exp_flops + 4) + exp_flops);
    return work(flops, real_bytes * 2 * rows * classes + index_bytes * rows, 0, 2);
}

/* Reads parameter, gradient and both moments; writes all but the gradient. */
struct gnn_cost gnn_cost_adam(uint64_t count)
{
    return elementwise(count, adam_flops, 7);
}

/* ---- link prediction ---- */

/* A complex product: six operations for two elements. */
struct gnn_cost gnn_cost_link_combine(uint64_t count)
{
    return elementwise(count, 3, 3);
}

struct gnn_cost gnn_cost_link_combine_back(uint64_t count)
{
    return elementwise(count, 6, 5);
}

struct gnn_cost gnn_cost_link_pairs(uint64_t rows, uint64_t cols)
{
    return work(rows * cols * 3, real_bytes * (2 * rows * cols + rows), 0, 1);
}

struct gnn_cost gnn_cost_link_pairs_back(uint64_t count)
{
    return elementwise(count, 4, 5);
}

/* The lengths of both sides' rows, then a root for each score. */
struct gnn_cost gnn_cost_link_distances(uint64_t rows, uint64_t candidates, uint64_t cols)
{
    const uint64_t scores = rows * candidates, inputs = (rows + candidates) * cols;
    return work(2 * inputs + 4 * scores, real_bytes * (inputs + 2 * scores), 0, 2);
}

/* A division for each score; sums over rows and over columns; both sides' rows scaled. */
struct gnn_cost gnn_cost_link_distances_back(uint64_t rows, uint64_t candidates, uint64_t cols)
{
    const uint64_t scores = rows * candidates, inputs = (rows + candidates) * cols;
    return work(3 * scores + inputs, real_bytes * (4 * scores + 2 * inputs), 0, 2);
}

/* A modulus and its products; reads the vector and its gradient, and writes the gradient. */
struct gnn_cost gnn_cost_link_cubes_back(uint64_t count)
{
    return elementwise(count, 5, 3);
}

struct gnn_cost gnn_cost_scatter_add(uint64_t count, uint64_t cols)
{
    const uint64_t bytes = real_bytes * count * cols;
    return work(count * cols, bytes + index_bytes * count, 2 * bytes, 1);
}

/* Reads value, gradient and state; writes value and state. */
struct gnn_cost gnn_cost_adagrad(uint64_t count)
{
    return elementwise(count, 7, 5);
}

/* ---- over a block ---- */

static uint64_t slots_of(const struct gnn_block *b)
{
    return (uint64_t)b->edge_count + b->dst_count;
}

/* Rows of the sources are gathered, rows of the targets written. MAX writes the winners too. */
struct gnn_cost gnn_cost_segment_reduce(enum gnn_reduce kind, const struct gnn_block *b, uint64_t cols)
{
    const uint64_t edges = b->edge_count, targets = b->dst_count;
    const uint64_t target_bytes = real_bytes + (kind == GNN_REDUCE_MAX ? index_bytes : 0);
    return work((edges + (kind == GNN_REDUCE_MEAN ? targets : 0)) * cols,
                gnn_cost_block_bytes(b) + target_bytes * targets * cols, real_bytes * edges * cols, 1);
}

/* Rows of the targets are read, rows of the sources added to; MAX adds to the winners alone. */
struct gnn_cost gnn_cost_segment_reduce_back(enum gnn_reduce kind, const struct gnn_block *b, uint64_t cols)
{
    const uint64_t added = kind == GNN_REDUCE_MAX ? b->dst_count : b->edge_count, targets = b->dst_count;
    const uint64_t target_bytes = real_bytes + (kind == GNN_REDUCE_MAX ? index_bytes : 0);
    return work(added * cols * (kind == GNN_REDUCE_MEAN ? 2 : 1),
                gnn_cost_block_bytes(b) + target_bytes * targets * cols, 2 * real_bytes * added * cols, 1);
}

/* Sums over sources first, then every edge's weight from its source's sum. */
struct gnn_cost gnn_cost_gcn_weights(const struct gnn_block *b)
{
    const uint64_t edges = b->edge_count;
    return work(edges * (exp_flops + 2), 2 * gnn_cost_block_bytes(b) + real_bytes * (b->src_count + 3 * edges),
                3 * real_bytes * edges, 2);
}

struct gnn_cost gnn_cost_spmm(const struct gnn_block *b, uint64_t cols)
{
    const uint64_t edges = b->edge_count, targets = b->dst_count;
    return work(2 * edges * cols, gnn_cost_block_bytes(b) + real_bytes * (edges + targets * cols),
                real_bytes * edges * cols, 1);
}

struct gnn_cost gnn_cost_spmm_back(const struct gnn_block *b, uint64_t cols)
{
    struct gnn_cost cost = gnn_cost_spmm(b, cols);
    cost.gather_bytes *= 2;
    return cost;
}

/* s of all sources, d of the targets, which are the first of them: u is read once. */
struct gnn_cost gnn_cost_gat_scores(uint64_t src, uint64_t dst, uint64_t heads, uint64_t width)
{
    const uint64_t bytes = real_bytes * (src * width + 2 * width + (src + dst) * heads);
    return work(2 * (src + dst) * width, bytes, 0, 1);
}

/* Per slot and head: score, exponential, quotient. */
struct gnn_cost gnn_cost_gat_softmax(const struct gnn_block *b, uint64_t heads)
{
    const uint64_t scores = slots_of(b) * heads, sums = b->dst_count * heads;
    return work(scores * (exp_flops + 6), gnn_cost_block_bytes(b) + real_bytes * (scores + sums), real_bytes * scores,
                1);
}

struct gnn_cost gnn_cost_gat_attend(const struct gnn_block *b, uint64_t heads, uint64_t width)
{
    const uint64_t slots = slots_of(b);
    return work(2 * slots * width, gnn_cost_block_bytes(b) + real_bytes * (slots * heads + b->dst_count * width),
                real_bytes * slots * width, 1);
}

/* Zeroing of du, ds, dd; per slot <dout, u> and du += alpha dout; the softmax's derivative into ds, dd; then du, da_src
 * and da_dst from ds and dd. */
struct gnn_cost gnn_cost_gat_back(const struct gnn_block *b, uint64_t heads, uint64_t width)
{
    const uint64_t src = b->src_count, dst = b->dst_count, slots = slots_of(b);
    const uint64_t zeroed = src * width + (src + dst) * heads;
    const uint64_t per_slot = 4 * slots * heads + dst * width;
    const uint64_t finish = 3 * src * width + (src + dst) * heads + 4 * width;
    return (struct gnn_cost){
        .flops = 4 * slots * width + 8 * slots * heads + 4 * (src + dst) * width,
        .stream_bytes = 2 * gnn_cost_block_bytes(b) + real_bytes * (zeroed + per_slot + finish),
        .gather_bytes = real_bytes * (3 * slots * width + 2 * slots * heads),
        .launches = 4,
    };
}

#include "harness/tensor/modelled/cost.h"

#include <assert.h>

static const uint64_t real_bytes = 4;
static const uint64_t index_bytes = 4; /* of a row number, an edge offset, a label */
static const uint64_t exp_flops = 10;  /* exp, log, expm1 */
static const uint64_t hash_flops = 12; /* one dropout decision */
static const uint64_t adam_flops = 13; /* one parameter's update */

static const uint64_t second_ns = 1000000000;

static uint64_t ratio_ns(uint64_t amount, uint64_t per_s)
{
    assert(per_s > 0);
    const unsigned __int128 scaled = (unsigned __int128)amount * second_ns;
    return (uint64_t)((scaled + per_s - 1) / per_s);
}

uint64_t gnn_transfer_ns(uint64_t bytes, uint64_t bytes_per_s)
{
    return ratio_ns(bytes, bytes_per_s);
}

uint64_t gnn_cost_ns(const struct gnn_cost *cost, const struct gnn_roof *roof)
{
    return gnn_max_u64(ratio_ns(cost->flops, roof->flops_per_s),
                       ratio_ns(cost->stream_bytes, roof->stream_bytes_per_s) +
                           ratio_ns(cost->gather_bytes, roof->gather_bytes_per_s));
}

uint64_t gnn_cost_block_bytes(const struct gnn_block *b)
{
    return index_bytes * (UINT64_C(1) + b->dst_count + b->edge_count);
}

/* ---- dense ---- */

struct gnn_cost gnn_cost_fill(uint64_t count)
{
    return (struct gnn_cost){.stream_bytes = real_bytes * count, .launches = 1};
}

struct gnn_cost gnn_cost_copy(uint64_t count)
{
    return (struct gnn_cost){.stream_bytes = 2 * real_bytes * count, .launches = 1};
}

struct gnn_cost gnn_cost_gather_rows(uint64_t count, uint64_t cols)
{
    return (struct gnn_cost){.stream_bytes = real_bytes * count * cols + index_bytes * count,
                             .gather_bytes = real_bytes * count * cols,
                             .launches = 1};
}

struct gnn_cost gnn_cost_gemm(uint64_t m, uint64_t n, uint64_t k, bool accumulates, uint32_t tile)
{
    return (struct gnn_cost){
        .flops = 2 * gnn_round_up(m, tile) * gnn_round_up(n, tile) * k,
        .stream_bytes = real_bytes * (m * k + k * n + m * n * (accumulates ? 2 : 1)),
        .launches = 1,
    };
}

struct gnn_cost gnn_cost_add_bias(uint64_t rows, uint64_t cols)
{
    return (struct gnn_cost){
        .flops = rows * cols, .stream_bytes = real_bytes * (2 * rows * cols + cols), .launches = 1};
}

/* Partial sums of stripes of rows, then their sum. */
struct gnn_cost gnn_cost_column_sum(uint64_t rows, uint64_t cols)
{
    return (struct gnn_cost){.flops = rows * cols, .stream_bytes = real_bytes * (rows * cols + cols), .launches = 2};
}

struct gnn_cost gnn_cost_add(uint64_t count)
{
    return (struct gnn_cost){.flops = count, .stream_bytes = 3 * real_bytes * count, .launches = 1};
}

struct gnn_cost gnn_cost_head_mean(uint64_t rows, uint64_t channels, uint64_t heads)
{
    return (struct gnn_cost){.flops = rows * channels * (heads + 1),
                             .stream_bytes = real_bytes * rows * channels * (heads + 1),
                             .launches = 1};
}

struct gnn_cost gnn_cost_activate(enum gnn_activation act, uint64_t rows, uint64_t cols, bool bias, bool drop)
{
    const uint64_t each = (bias ? 1u : 0u) +
                          (act == GNN_ACT_ELU    ? exp_flops
                           : act == GNN_ACT_RELU ? 1u
                                                 : 0u) +
                          (drop ? hash_flops : 0u);
    return (struct gnn_cost){
        .flops = rows * cols * each, .stream_bytes = real_bytes * (2 * rows * cols + (bias ? cols : 0)), .launches = 1};
}

struct gnn_cost gnn_cost_activate_back(uint64_t rows, uint64_t cols, bool drop)
{
    return (struct gnn_cost){.flops = rows * cols * (2 + (drop ? hash_flops : 0u)),
                             .stream_bytes = 3 * real_bytes * rows * cols,
                             .launches = 1};
}

/* Row by row: maximum, sum of exponentials, gradient in place; then the loss over rows. */
struct gnn_cost gnn_cost_softmax_nll(uint64_t rows, uint64_t classes)
{
    return (struct gnn_cost){.flops = rows * (classes * (exp_flops + 4) + exp_flops),
                             .stream_bytes = real_bytes * 2 * rows * classes + index_bytes * rows,
                             .launches = 2};
}

/* Reads parameter, gradient and both moments; writes all but the gradient. */
struct gnn_cost gnn_cost_adam(uint64_t count)
{
    return (struct gnn_cost){.flops = adam_flops * count, .stream_bytes = 7 * real_bytes * count, .launches = 1};
}

/* ---- over a block ---- */

/* Rows of the sources are gathered, rows of the targets written. MAX writes the winners too. */
struct gnn_cost gnn_cost_segment_reduce(enum gnn_reduce kind, const struct gnn_block *b, uint64_t cols)
{
    const uint64_t edges = b->edge_count, targets = b->dst_count;
    return (struct gnn_cost){
        .flops = (edges + (kind == GNN_REDUCE_MEAN ? targets : 0)) * cols,
        .stream_bytes =
            gnn_cost_block_bytes(b) + (real_bytes + (kind == GNN_REDUCE_MAX ? index_bytes : 0u)) * targets * cols,
        .gather_bytes = real_bytes * edges * cols,
        .launches = 1,
    };
}

/* Rows of the targets are read, rows of the sources added to; MAX adds to the winners alone. */
struct gnn_cost gnn_cost_segment_reduce_back(enum gnn_reduce kind, const struct gnn_block *b, uint64_t cols)
{
    const bool winners = kind == GNN_REDUCE_MAX;
    const uint64_t added = winners ? b->dst_count : b->edge_count, targets = b->dst_count;
    return (struct gnn_cost){
        .flops = added * cols * (kind == GNN_REDUCE_MEAN ? 2 : 1),
        .stream_bytes = gnn_cost_block_bytes(b) + (real_bytes + (winners ? index_bytes : 0u)) * targets * cols,
        .gather_bytes = 2 * real_bytes * added * cols,
        .launches = 1,
    };
}

/* Sums over sources first, then every edge's weight from its source's sum. */
struct gnn_cost gnn_cost_gcn_weights(const struct gnn_block *b)
{
    const uint64_t edges = b->edge_count, sources = b->src_count;
    return (struct gnn_cost){
        .flops = edges * (exp_flops + 2),
        .stream_bytes = 2 * gnn_cost_block_bytes(b) + real_bytes * (sources + 3 * edges),
        .gather_bytes = 3 * real_bytes * edges,
        .launches = 2,
    };
}

struct gnn_cost gnn_cost_spmm(const struct gnn_block *b, uint64_t cols)
{
    const uint64_t edges = b->edge_count, targets = b->dst_count;
    return (struct gnn_cost){.flops = 2 * edges * cols,
                             .stream_bytes = gnn_cost_block_bytes(b) + real_bytes * (edges + targets * cols),
                             .gather_bytes = real_bytes * edges * cols,
                             .launches = 1};
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
    return (struct gnn_cost){.flops = 2 * (src + dst) * width,
                             .stream_bytes = real_bytes * (src * width + 2 * width + (src + dst) * heads),
                             .launches = 1};
}

/* Per slot and head: score, exponential, quotient. */
struct gnn_cost gnn_cost_gat_softmax(const struct gnn_block *b, uint64_t heads)
{
    const uint64_t slots = UINT64_C(0) + b->edge_count + b->dst_count;
    return (struct gnn_cost){
        .flops = slots * heads * (exp_flops + 6),
        .stream_bytes = gnn_cost_block_bytes(b) + real_bytes * heads * (slots + b->dst_count),
        .gather_bytes = real_bytes * slots * heads,
        .launches = 1,
    };
}

struct gnn_cost gnn_cost_gat_attend(const struct gnn_block *b, uint64_t heads, uint64_t width)
{
    const uint64_t slots = UINT64_C(0) + b->edge_count + b->dst_count;
    return (struct gnn_cost){
        .flops = 2 * slots * width,
        .stream_bytes = gnn_cost_block_bytes(b) + real_bytes * (slots * heads + b->dst_count * width),
        .gather_bytes = real_bytes * slots * width,
        .launches = 1,
    };
}

/* Zeroing of du, ds, dd; per slot <dout, u> and du += alpha dout; the softmax's derivative into ds, dd; then du, da_src
 * and da_dst from ds and dd. */
struct gnn_cost gnn_cost_gat_back(const struct gnn_block *b, uint64_t heads, uint64_t width)
{
    const uint64_t src = b->src_count, dst = b->dst_count, slots = UINT64_C(0) + b->edge_count + dst;
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

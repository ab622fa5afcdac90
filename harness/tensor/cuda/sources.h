/* SPDX-License-Identifier: MIT */
/* Sums over the entries of a source in a transposed block. A source with up to GNN_CUDA_PIECE entries is summed at
 * once. The entries of any other source are cut into pieces, counted from its first. The pieces are summed in parallel,
 * and then added up in their order. So a hub does not leave one warp with a large part of a block. The order of all
 * additions depends only on the source's own entries.
 *
 * A row of partial sums belongs to a tile of GNN_CUDA_PIECE adjacent entries. A piece belongs to the tile in which it
 * begins. At most two pieces begin in a tile. One is of the source with the tile's first entry; its row is 2 * tile.
 * The other is the first piece of the source with the tile's last entry; its row is 2 * tile + 1.
 *
 * A term gives what is summed: its number type, its columns, the summand of entry p of source j, and the sum's begin
 * and end. A narrow term has few columns, and takes a thread for each number instead of a warp for each row. */
#ifndef GNN_TENSOR_CUDA_SOURCES_H
#define GNN_TENSOR_CUDA_SOURCES_H

#include "harness/tensor/cuda/block.h"

enum { GNN_CUDA_PIECE = 64 };

/* Entries [first, end) of a source. */
struct gnn_cuda_piece {
    uint32_t source, first, end;
};

/* Returns the rows of partial sums of a block. 0: no source can have more than a piece. */
static inline uint64_t gnn_cuda_piece_rows(uint32_t edge_count)
{
    return edge_count <= GNN_CUDA_PIECE ? 0 : 2 * gnn_div_up(edge_count, GNN_CUDA_PIECE);
}

/* Returns the piece of a row, which is empty if none has it. */
__device__ inline struct gnn_cuda_piece gnn_cuda_piece_at(const struct gnn_cuda_block &b, uint64_t row)
{
    const bool second = row % 2 != 0;
    const uint32_t tile = (uint32_t)(row / 2) * GNN_CUDA_PIECE;
    const uint32_t tile_end = b.edge_count - tile < GNN_CUDA_PIECE ? b.edge_count : tile + GNN_CUDA_PIECE;
    const uint32_t j = b.entry_src[second ? tile_end - 1 : tile];
    const uint32_t first = b.src_start[j], end = b.src_start[j + 1];
    if (end - first <= GNN_CUDA_PIECE || (second && first <= tile))
        return {j, 0, 0};
    const uint32_t before = second ? 0 : (tile - first + GNN_CUDA_PIECE - 1) / GNN_CUDA_PIECE;
    const uint32_t begin = first + before * GNN_CUDA_PIECE;
    if (begin >= tile_end || begin >= end)
        return {j, 0, 0};
    return {j, begin, end - begin < GNN_CUDA_PIECE ? end : begin + GNN_CUDA_PIECE};
}

/* Returns the row of the piece that begins at entry `begin` of a source whose first entry is `first`. */
__device__ inline uint64_t gnn_cuda_piece_row(uint32_t first, uint32_t begin)
{
    return begin / GNN_CUDA_PIECE * UINT64_C(2) + (begin == first && begin % GNN_CUDA_PIECE != 0);
}

__device__ inline float gnn_cuda_plus(float a, float b)
{
    return a + b;
}

__device__ inline float4 gnn_cuda_plus(float4 a, float4 b)
{
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

__device__ inline float gnn_cuda_times(float a, float factor)
{
    return a * factor;
}

__device__ inline float4 gnn_cuda_times(float4 a, float factor)
{
    return {a.x * factor, a.y * factor, a.z * factor, a.w * factor};
}

/* Returns sum plus the summands of the piece. */
template <typename Term>
__device__ inline typename Term::real gnn_cuda_sum_entries(typename Term::real sum, const struct gnn_cuda_block &b,
                                                           const Term &term, struct gnn_cuda_piece piece, uint32_t c)
{
    for (uint32_t p = piece.first; p < piece.end; p++)
        sum = gnn_cuda_plus(sum, term.at(b, piece.source, p, c));
    return sum;
}

template <typename Term>
__device__ inline void gnn_cuda_sum_piece(typename Term::real *partial, const struct gnn_cuda_block &b,
                                          const Term &term, uint64_t row, uint32_t c)
{
    const struct gnn_cuda_piece piece = gnn_cuda_piece_at(b, row);
    if (piece.first < piece.end)
        partial[row * term.cols + c] = gnn_cuda_sum_entries(typename Term::real{}, b, term, piece, c);
}

/* Writes the partial sums (gnn_cuda_piece_rows, term.cols) of the sources with more than a piece. */
template <typename Term>
__global__ void gnn_cuda_source_pieces(typename Term::real *partial, struct gnn_cuda_block b, Term term, uint64_t rows)
{
    if constexpr (Term::NARROW) {
        for (uint64_t k = gnn_thread(); k < rows * term.cols; k += gnn_threads())
            gnn_cuda_sum_piece(partial, b, term, k / term.cols, (uint32_t)(k % term.cols));
    } else {
        for (uint64_t row = gnn_warp(); row < rows; row += gnn_warps())
            for (uint32_t c = gnn_lane(); c < term.cols; c += GNN_WARP)
                gnn_cuda_sum_piece(partial, b, term, row, c);
    }
}

template <typename Term>
__device__ inline void gnn_cuda_sum_source(typename Term::real *out, const struct gnn_cuda_block &b, const Term &term,
                                           const typename Term::real *partial, uint64_t j, uint32_t c)
{
    const uint32_t first = b.src_start[j], end = b.src_start[j + 1];
    if (Term::ADDS && first == end)
        return;
    typename Term::real *const to = out + j * term.cols + c;
    typename Term::real sum = {};
    if (Term::ADDS)
        sum = *to;
    if (end - first <= GNN_CUDA_PIECE)
        sum = gnn_cuda_sum_entries(sum, b, term, {(uint32_t)j, first, end}, c);
    else
        for (uint32_t begin = first; begin < end; begin += GNN_CUDA_PIECE)
            sum = gnn_cuda_plus(sum, partial[gnn_cuda_piece_row(first, begin) * term.cols + c]);
    *to = term.end(b, (uint32_t)j, c, sum);
}

/* Writes the sum of every source (src_count, term.cols), or adds it if the term ADDS. */
template <typename Term>
__global__ void gnn_cuda_source_sums(typename Term::real *out, struct gnn_cuda_block b, Term term,
                                     const typename Term::real *partial)
{
    if constexpr (Term::NARROW) {
        for (uint64_t k = gnn_thread(); k < b.src_count * (uint64_t)term.cols; k += gnn_threads())
            gnn_cuda_sum_source(out, b, term, partial, k / term.cols, (uint32_t)(k % term.cols));
    } else {
        for (uint64_t j = gnn_warp(); j < b.src_count; j += gnn_warps())
            for (uint32_t c = gnn_lane(); c < term.cols; c += GNN_WARP)
                gnn_cuda_sum_source(out, b, term, partial, j, c);
    }
}

#endif

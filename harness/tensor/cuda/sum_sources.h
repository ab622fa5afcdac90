/* SPDX-License-Identifier: MIT */
/* Launches the kernels of sources.h. */
#ifndef GNN_TENSOR_CUDA_SUM_SOURCES_H
#define GNN_TENSOR_CUDA_SUM_SOURCES_H

#include "harness/tensor/cuda/sources.h"
#include "harness/tensor/cuda/state.h"

/* Writes the sums of `term` over every source of a transposed block to out (src_count, term.cols), or adds them. If the
 * device is full, the error is kept for check. */
template <typename Term>
static void cuda_sum_sources(struct cuda_backend *b, typename Term::real *out, const struct gnn_cuda_block *block,
                             const Term &term)
{
    typedef typename Term::real real;
    const uint64_t rows = gnn_cuda_piece_rows(block->edge_count), lanes = Term::NARROW ? term.cols : (uint32_t)GNN_WARP;
    if (!cuda_reserve(b, &b->pieces, "partial sums of sources", rows * term.cols * sizeof(real)))
        return;
    real *partial = (real *)b->pieces.data;
    GNN_LAUNCH(b->device, gnn_cuda_source_pieces<Term>, rows * lanes, partial, *block, term, rows);
    GNN_LAUNCH(b->device, gnn_cuda_source_sums<Term>, block->src_count * lanes, out, *block, term, partial);
}

#endif

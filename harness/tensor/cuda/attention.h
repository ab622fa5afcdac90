/* SPDX-License-Identifier: MIT */
/* Kernels of GAT's attention on one block: scores, edge softmax with one self-loop per target, the weighted sum, and
 * the backward pass. Slots of target i start at row_start[i] + i: first the row's edges, last the self-loop. If an
 * edge's source is the target itself, the slot of the edge holds alpha = 0.
 *
 * The backward pass has no atomics. A first kernel writes the gradient of every slot by target. A second one sums them
 * by source along the transposed block, a third one sums over nodes. */
#ifndef GNN_TENSOR_CUDA_ATTENTION_H
#define GNN_TENSOR_CUDA_ATTENTION_H

#include "harness/tensor/cuda/sources.h"

/* struct gnn_attention with device pointers, passed by value. */
struct gnn_cuda_attention {
    uint32_t heads, channels;
    float slope;
    const float *a_src, *a_dst; /* (heads * channels) */
    const float *u;             /* (src_count, heads * channels) */
    float *s, *d;               /* (src_count, heads), (dst_count, heads) */
    float *alpha;               /* (edge_count + dst_count, heads) */
};

__device__ inline uint64_t gnn_cuda_width(const struct gnn_cuda_attention &a)
{
    return (uint64_t)a.heads * a.channels;
}

/* Returns the source of slot k of target i. */
__device__ inline uint32_t gnn_cuda_slot_source(const struct gnn_cuda_block &b, uint32_t i, uint32_t k)
{
    const uint32_t e = b.row_start[i] + k;
    return e < b.row_start[i + 1] ? b.col[e] : i;
}

__device__ inline uint32_t gnn_cuda_slots(const struct gnn_cuda_block &b, uint32_t i)
{
    return b.row_start[i + 1] - b.row_start[i] + 1;
}

__device__ inline float gnn_cuda_score(const struct gnn_cuda_attention &a, uint32_t i, uint32_t j, uint32_t h)
{
    const float e = a.s[j * (uint64_t)a.heads + h] + a.d[i * (uint64_t)a.heads + h];
    return e > 0 ? e : e * a.slope;
}

/* s_j = <a_src, u_j> and, for targets, d_j = <a_dst, u_j>: a warp a (node, head). */
__global__ void gnn_cuda_gat_scores(struct gnn_cuda_attention a, uint32_t src_count, uint32_t dst_count)
{
    for (uint64_t k = gnn_warp(); k < (uint64_t)src_count * a.heads; k += gnn_warps()) {
        const uint64_t j = k / a.heads, h = k % a.heads;
        const float *u = a.u + j * gnn_cuda_width(a) + h * a.channels;
        float s = 0, d = 0;
        for (uint32_t c = gnn_lane(); c < a.channels; c += GNN_WARP) {
            s += a.a_src[h * a.channels + c] * u[c];
            d += a.a_dst[h * a.channels + c] * u[c];
        }
        s = gnn_warp_sum(s);
        d = gnn_warp_sum(d);
        if (gnn_lane() == 0) {
            a.s[k] = s;
            if (j < dst_count)
                a.d[k] = d;
        }
    }
}

/* Computes alpha of every slot by softmax. A thread does a (target, head), because rows are only as long as the
 * fan-out. */
__global__ void gnn_cuda_gat_softmax(struct gnn_cuda_attention a, struct gnn_cuda_block b)
{
    for (uint64_t t = gnn_thread(); t < (uint64_t)b.dst_count * a.heads; t += gnn_threads()) {
        const uint32_t i = (uint32_t)(t / a.heads), h = (uint32_t)(t % a.heads), slots = gnn_cuda_slots(b, i);
        float *alpha = a.alpha + ((uint64_t)b.row_start[i] + i) * a.heads + h;
        float max = gnn_cuda_score(a, i, i, h), sum = 0;
        for (uint32_t k = 0; k < slots; k++)
            max = fmaxf(max, gnn_cuda_score(a, i, gnn_cuda_slot_source(b, i, k), h));
        for (uint32_t k = 0; k < slots; k++) {
            const uint32_t j = gnn_cuda_slot_source(b, i, k);
            const bool dropped = k + 1 < slots && j == i;
            alpha[k * (uint64_t)a.heads] = dropped ? 0 : expf(gnn_cuda_score(a, i, j, h) - max);
            sum += alpha[k * (uint64_t)a.heads];
        }
        for (uint32_t k = 0; k < slots; k++)
            alpha[k * (uint64_t)a.heads] /= sum + 1e-16f;
    }
}

/* out_i = sum of alpha u over the slots: a warp a target, its lanes over heads and channels. */
__global__ void gnn_cuda_gat_attend(float *out, struct gnn_cuda_attention a, struct gnn_cuda_block b)
{
    const uint64_t width = gnn_cuda_width(a);
    for (uint64_t i = gnn_warp(); i < b.dst_count; i += gnn_warps()) {
        const uint32_t slots = gnn_cuda_slots(b, (uint32_t)i);
        const float *alpha = a.alpha + (b.row_start[i] + i) * a.heads;
        for (uint64_t c = gnn_lane(); c < width; c += GNN_WARP) {
            float sum = 0;
            for (uint32_t k = 0; k < slots; k++)
                sum += alpha[k * (uint64_t)a.heads + c / a.channels] *
                       a.u[gnn_cuda_slot_source(b, (uint32_t)i, k) * width + c];
            out[i * width + c] = sum;
        }
    }
}

/* dalpha of every slot = <dout_i, u_j>: a warp a (target, head). */
__global__ void gnn_cuda_gat_dalpha(float *dalpha, struct gnn_cuda_attention a, struct gnn_cuda_block b,
                                    const float *dout)
{
    const uint64_t width = gnn_cuda_width(a);
    for (uint64_t t = gnn_warp(); t < (uint64_t)b.dst_count * a.heads; t += gnn_warps()) {
        const uint32_t i = (uint32_t)(t / a.heads), h = (uint32_t)(t % a.heads), slots = gnn_cuda_slots(b, i);
        const float *from = dout + i * width + h * (uint64_t)a.channels;
        for (uint32_t k = 0; k < slots; k++) {
            const float *u = a.u + gnn_cuda_slot_source(b, i, k) * width + h * (uint64_t)a.channels;
            float sum = 0;
            for (uint32_t c = gnn_lane(); c < a.channels; c += GNN_WARP)
                sum += from[c] * u[c];
            sum = gnn_warp_sum(sum);
            if (gnn_lane() == 0)
                dalpha[((uint64_t)b.row_start[i] + i + k) * a.heads + h] = sum;
        }
    }
}

/* dalpha becomes the gradient of the score before the leaky ReLU, and dd_i its sum: a thread a (target, head). */
__global__ void gnn_cuda_gat_dscore(float *dalpha, float *dd, struct gnn_cuda_attention a, struct gnn_cuda_block b)
{
    for (uint64_t t = gnn_thread(); t < (uint64_t)b.dst_count * a.heads; t += gnn_threads()) {
        const uint32_t i = (uint32_t)(t / a.heads), h = (uint32_t)(t % a.heads), slots = gnn_cuda_slots(b, i);
        const uint64_t first = ((uint64_t)b.row_start[i] + i) * a.heads + h;
        float g = 0, total = 0;
        for (uint32_t k = 0; k < slots; k++)
            g += a.alpha[first + k * (uint64_t)a.heads] * dalpha[first + k * (uint64_t)a.heads];
        for (uint32_t k = 0; k < slots; k++) {
            const uint64_t at = first + k * (uint64_t)a.heads, j = gnn_cuda_slot_source(b, i, k);
            const float de = a.alpha[at] * (dalpha[at] - g);
            const float dr = a.s[j * a.heads + h] + a.d[i * (uint64_t)a.heads + h] > 0 ? de : de * a.slope;
            dalpha[at] = dr;
            total += dr;
        }
        dd[t] = total;
    }
}

/* Returns the slot of edge e, whose target is i. */
__device__ inline uint64_t gnn_cuda_edge_slot(uint32_t e, uint32_t i)
{
    return (uint64_t)e + i;
}

/* ds_j: the scores' gradients summed over the slots of source j, its self-loop last. */
struct gnn_cuda_dscore_term {
    typedef float real;
    static const bool NARROW = true, ADDS = false;
    uint32_t cols; /* heads */
    const float *dscore;

    __device__ float at(const struct gnn_cuda_block &b, uint32_t, uint32_t p, uint32_t h) const
    {
        return dscore[gnn_cuda_edge_slot(b.src_edge[p], b.src_dst[p]) * cols + h];
    }
    __device__ float end(const struct gnn_cuda_block &b, uint32_t j, uint32_t h, float sum) const
    {
        return j < b.dst_count ? sum + dscore[gnn_cuda_edge_slot(b.row_start[j + 1], j) * cols + h] : sum;
    }
};

/* du_j = sum over its slots of alpha dout_i, plus ds_j a_src and, for targets, dd_j a_dst. */
struct gnn_cuda_du_term {
    typedef float real;
    static const bool NARROW = false, ADDS = false;
    uint32_t cols; /* heads * channels */
    struct gnn_cuda_attention a;
    const float *ds, *dd, *dout;

    __device__ float at(const struct gnn_cuda_block &b, uint32_t, uint32_t p, uint32_t c) const
    {
        const uint32_t i = b.src_dst[p];
        const float alpha = a.alpha[gnn_cuda_edge_slot(b.src_edge[p], i) * a.heads + c / a.channels];
        return alpha * dout[i * (uint64_t)cols + c];
    }
    __device__ float end(const struct gnn_cuda_block &b, uint32_t j, uint32_t c, float sum) const
    {
        const uint64_t h = c / a.channels;
        if (j < b.dst_count) {
            const uint64_t slot = gnn_cuda_edge_slot(b.row_start[j + 1], j);
            sum += a.alpha[slot * a.heads + h] * dout[j * (uint64_t)cols + c];
        }
        sum += ds[j * (uint64_t)a.heads + h] * a.a_src[c];
        if (j < b.dst_count)
            sum += dd[j * (uint64_t)a.heads + h] * a.a_dst[c];
        return sum;
    }
};

/* Part p of parts of da (heads * channels) = sum over nodes of dscore_j u_j: gnn_cuda_column_total adds the parts. */
__global__ void gnn_cuda_gat_da(float *partial, const float *dscore, struct gnn_cuda_attention a, uint32_t nodes,
                                uint32_t parts)
{
    const uint64_t width = gnn_cuda_width(a);
    for (uint64_t k = gnn_thread(); k < parts * width; k += gnn_threads()) {
        const uint64_t c = k % width, h = c / a.channels, part = k / width;
        const uint64_t first = nodes * part / parts, end = nodes * (part + 1) / parts;
        float sum = 0;
        for (uint64_t j = first; j < end; j++)
            sum += dscore[j * a.heads + h] * a.u[j * width + c];
        partial[k] = sum;
    }
}

#endif

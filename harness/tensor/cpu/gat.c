/* Graph attention (Velickovic et al. 2018) on rows of heads * channels floats. */
#include "harness/tensor/cpu/cpu.h"
#include "harness/tensor/cpu/lanes.h"
#include "harness/tensor/ref/ref.h"
#include "harness/tensor/shapes.h"

#include <math.h>

struct forward {
    struct gnn_attention att;
    struct gnn_block block;
    struct gnn_mat out;
};

/* ---- forward ---- */

static void score_rows(const void *loop, uint64_t first, uint64_t end)
{
    const struct gnn_attention att = ((const struct forward *)loop)->att;
    const uint64_t heads = att.heads, channels = att.u.cols / heads;
    for (uint32_t j = (uint32_t)first; j < end; j++)
        for (uint32_t h = 0; h < att.heads; h++) {
            const float *u = gnn_mat_row(att.u, j) + h * channels;
            gnn_mat_row(att.s, j)[h] = gnn_lane_dot(att.a_src + h * channels, u, channels);
            if (j < att.d.rows)
                gnn_mat_row(att.d, j)[h] = gnn_lane_dot(att.a_dst + h * channels, u, channels);
        }
}

void gnn_cpu_gat_scores(struct gnn_tensor *t, const struct gnn_attention *att)
{
    const struct forward loop = {.att = *att};
    gnn_cpu_share(t, att->u.rows, att->u.cols * sizeof(float), score_rows, &loop);
}

static void softmax_row(const struct gnn_attention *att, const struct gnn_slots *row)
{
    const uint64_t heads = att->heads;
    const uint32_t count = row->edges + 1;
    const float *d = gnn_mat_row(att->d, row->self);
    float *alpha = att->alpha + row->first * heads;
    for (uint32_t k = 0; k < count; k++) {
        const float *s = gnn_mat_row(att->s, gnn_slot_source(row, k));
        for (uint32_t h = 0; h < heads; h++) {
            const float e = s[h] + d[h];
            alpha[k * heads + h] = e > 0 ? e : e * att->slope;
        }
    }
    for (uint32_t h = 0; h < heads; h++) {
        float max = alpha[h], sum = 0;
        for (uint32_t k = 1; k < count; k++)
            max = fmaxf(max, alpha[k * heads + h]);
        for (uint32_t k = 0; k < count; k++) {
            const bool dropped = k < row->edges && row->col[k] == row->self;
            alpha[k * heads + h] = dropped ? 0 : gnn_lane_exp(alpha[k * heads + h] - max);
            sum += alpha[k * heads + h];
        }
        const float scale = 1 / (sum + 1e-16f);
        for (uint32_t k = 0; k < count; k++)
            alpha[k * heads + h] *= scale;
    }
}

static void softmax_rows(const void *loop, uint64_t first, uint64_t end)
{
    const struct forward *const l = loop;
    for (uint32_t i = (uint32_t)first; i < end; i++) {
        const struct gnn_slots row = gnn_row_slots(&l->block, i);
        softmax_row(&l->att, &row);
    }
}

void gnn_cpu_gat_softmax(struct gnn_tensor *t, const struct gnn_attention *att, const struct gnn_block *b)
{
    const uint64_t exponential = 8; /* takes as long as moving so many floats */
    const struct forward loop = {.att = *att, .block = *b};
    gnn_cpu_share(t, b->dst_count, gnn_cpu_row_bytes(b->edge_count, b->dst_count, exponential * att->heads),
                  softmax_rows, &loop);
}

static void attend_rows(const void *loop, uint64_t first, uint64_t end)
{
    const struct forward l = *(const struct forward *)loop;
    const uint64_t heads = l.att.heads, channels = l.att.u.cols / heads;
    for (uint32_t i = (uint32_t)first; i < end; i++) {
        const struct gnn_slots row = gnn_row_slots(&l.block, i);
        gnn_cpu_prefetch_edges(&l.block, i, l.att.u);
        for (uint32_t h = 0; h < heads; h++) {
            const float *alpha = l.att.alpha + row.first * heads + h;
            const struct gnn_cpu_rows rows = {.x = l.att.u.data + h * channels,
                                              .stride = l.att.u.cols,
                                              .col = row.col,
                                              .count = row.edges,
                                              .weight = alpha,
                                              .weight_stride = l.att.heads};
            float *sum = gnn_mat_row(l.out, i) + h * channels;
            gnn_cpu_sum_rows(sum, channels, &rows);
            gnn_lane_axpy(sum, alpha[row.edges * heads], gnn_mat_row(l.att.u, i) + h * channels, channels);
        }
    }
}

void gnn_cpu_gat_attend(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                        const struct gnn_block *b)
{
    gnn_attend_shapes(out, att, b);
    const struct forward loop = {.att = *att, .block = *b, .out = out};
    gnn_cpu_share(t, b->dst_count, gnn_cpu_row_bytes(b->edge_count, b->dst_count, out.cols), attend_rows, &loop);
}

/* ---- backward: over the targets, then over the sources, then over the columns ---- */

struct backward {
    struct gnn_attention_grad grad;
    struct gnn_attention att;
    struct gnn_block block;
    struct gnn_mat dout;
    struct gnn_cpu_transpose by_source;
    uint32_t piece; /* columns that a thread takes of the attention vectors */
};

/* Turns dalpha of a row's slots into the gradient of their scores, before the leaky ReLU; dd is its sum. */
static void target_back(const struct backward *l, const struct gnn_slots *row, uint32_t h)
{
    const struct gnn_attention *att = &l->att;
    const uint64_t heads = att->heads, channels = att->u.cols / heads;
    const float *alpha = att->alpha + row->first * heads + h, *dout = gnn_mat_row(l->dout, row->self) + h * channels;
    float *dalpha = l->grad.dalpha + row->first * heads + h;
    float g = 0;
    for (uint32_t k = 0; k <= row->edges; k++) {
        const uint32_t j = gnn_slot_source(row, k);
        dalpha[k * heads] = gnn_lane_dot(dout, gnn_mat_row(att->u, j) + h * channels, channels);
        g += alpha[k * heads] * dalpha[k * heads];
    }
    const float target = gnn_mat_row(att->d, row->self)[h];
    float sum = 0;
    for (uint32_t k = 0; k <= row->edges; k++) {
        const uint32_t j = gnn_slot_source(row, k);
        const float de = alpha[k * heads] * (dalpha[k * heads] - g);
        dalpha[k * heads] = gnn_mat_row(att->s, j)[h] + target > 0 ? de : de * att->slope;
        sum += dalpha[k * heads];
    }
    gnn_mat_row(l->grad.dd, row->self)[h] = sum;
}

static void targets_back(const void *loop, uint64_t first, uint64_t end)
{
    const struct backward *const l = loop;
    for (uint32_t i = (uint32_t)first; i < end; i++) {
        const struct gnn_slots row = gnn_row_slots(&l->block, i);
        gnn_cpu_prefetch_edges(&l->block, i, l->att.u);
        for (uint32_t h = 0; h < l->att.heads; h++)
            target_back(l, &row, h);
    }
}

/* What source j gets through one slot of target i. */
static void slot_back(const struct backward *l, uint32_t j, uint32_t i, uint64_t slot)
{
    const uint64_t heads = l->att.heads, channels = l->att.u.cols / heads;
    const float *alpha = l->att.alpha + slot * heads, *dalpha = l->grad.dalpha + slot * heads;
    float *du = gnn_mat_row(l->grad.du, j), *ds = gnn_mat_row(l->grad.ds, j);
    const float *dout = gnn_mat_row(l->dout, i);
    for (uint32_t h = 0; h < heads; h++) {
        gnn_lane_axpy(du + h * channels, alpha[h], dout + h * channels, channels);
        ds[h] += dalpha[h];
    }
}

/* What reaches u_j through its scores: du_j += ds_j a, on both sides. ds_j is complete. */
static void scores_back(const struct backward *l, uint32_t j)
{
    const uint64_t heads = l->att.heads, channels = l->att.u.cols / heads;
    float *du = gnn_mat_row(l->grad.du, j);
    for (uint32_t h = 0; h < heads; h++)
        gnn_lane_axpy(du + h * channels, gnn_mat_row(l->grad.ds, j)[h], l->att.a_src + h * channels, channels);
    for (uint32_t h = 0; j < l->grad.dd.rows && h < heads; h++)
        gnn_lane_axpy(du + h * channels, gnn_mat_row(l->grad.dd, j)[h], l->att.a_dst + h * channels, channels);
}

static void clear_sources(const struct backward *l, uint32_t first, uint32_t count)
{
    memset(gnn_mat_row(l->grad.du, first), 0, (uint64_t)count * l->grad.du.cols * sizeof(float));
    memset(gnn_mat_row(l->grad.ds, first), 0, (uint64_t)count * l->grad.ds.cols * sizeof(float));
}

/* Fetches what slot_back reads of the edges that come next: alpha and dalpha lie in the order of the targets. */
static void prefetch_slots(const struct backward *l, uint32_t start, uint32_t count)
{
    const uint64_t end = gnn_min_u64(UINT64_C(0) + start + count + GNN_PREFETCH_ROWS, l->by_source.edges);
    for (uint64_t e = UINT64_C(0) + start + GNN_PREFETCH_ROWS; e < end; e++) {
        const uint64_t slot = l->by_source.edge[e].of.slot;
        __builtin_prefetch(l->att.alpha + slot * l->att.heads);
        __builtin_prefetch(l->grad.dalpha + slot * l->att.heads);
    }
}

static void sources_back(const void *loop, uint64_t first, uint64_t end)
{
    const struct backward *const l = loop;
    for (uint32_t j = (uint32_t)first; j < end; j++) {
        const uint32_t start = l->by_source.start[j], count = l->by_source.start[j + 1] - start;
        gnn_cpu_prefetch_targets(&l->by_source, start, count, l->dout);
        prefetch_slots(l, start, count);
        clear_sources(l, j, 1);
        for (uint32_t k = start; k < start + count; k++)
            slot_back(l, j, l->by_source.edge[k].target, l->by_source.edge[k].of.slot);
        scores_back(l, j);
    }
}

/* The same without a transpose, on one thread. */
static void scatter_back(const struct backward *l)
{
    clear_sources(l, 0, l->block.src_count);
    for (uint32_t i = 0; i < l->block.dst_count; i++) {
        const struct gnn_slots row = gnn_row_slots(&l->block, i);
        for (uint32_t k = 0; k <= row.edges; k++)
            slot_back(l, gnn_slot_source(&row, k), i, row.first + k);
    }
    for (uint32_t j = 0; j < l->block.src_count; j++)
        scores_back(l, j);
}

static void place_slots(const struct backward *l)
{
    for (uint32_t i = 0; i < l->block.dst_count; i++) {
        const struct gnn_slots row = gnn_row_slots(&l->block, i);
        for (uint32_t k = 0; k <= row.edges; k++)
            *gnn_cpu_transpose_next(&l->by_source, gnn_slot_source(&row, k)) =
                (struct gnn_cpu_edge){.target = i, .of.slot = (uint32_t)row.first + k};
    }
}

/* da += sum_j w_j u_j over columns [first, end), w_j one for each head. */
static void add_weighted(float *da, const float *w, const float *u, uint64_t first, uint64_t end, uint64_t channels)
{
    for (uint64_t c = first; c < end;) {
        const uint64_t h = c / channels, to = gnn_min_u64((h + 1) * channels, end);
        gnn_lane_axpy(da + c, w[h], u + c, to - c);
        c = to;
    }
}

/* The attention vectors' gradients: da = sum_j ds_j u_j in the order of the rows, so a column is one thread's. */
static void vectors_back(const void *loop, uint64_t first, uint64_t end)
{
    const struct backward *const l = loop;
    const uint64_t channels = l->att.u.cols / l->att.heads, from = first * l->piece;
    const uint64_t to = gnn_min_u64(end * l->piece, l->att.u.cols);
    memset(l->grad.da_src + from, 0, (to - from) * sizeof(float));
    memset(l->grad.da_dst + from, 0, (to - from) * sizeof(float));
    for (uint32_t j = 0; j < l->att.u.rows; j++) {
        const float *u = gnn_mat_row(l->att.u, j);
        add_weighted(l->grad.da_src, gnn_mat_row(l->grad.ds, j), u, from, to, channels);
        if (j < l->grad.dd.rows)
            add_weighted(l->grad.da_dst, gnn_mat_row(l->grad.dd, j), u, from, to, channels);
    }
}

void gnn_cpu_gat_back(struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                      const struct gnn_block *b, struct gnn_mat dout)
{
    gnn_attend_shapes(dout, att, b);
    const uint64_t share = gnn_div_up(att->u.cols, gnn_cpu_threads(t));
    struct backward loop = {
        .grad = *grad, .att = *att, .block = *b, .dout = dout, .piece = (uint32_t)gnn_round_up(share, GNN_LINE_FLOATS)};
    const uint64_t slots = (uint64_t)b->edge_count + b->dst_count;
    gnn_cpu_share(t, b->dst_count, gnn_cpu_row_bytes(slots, b->dst_count, dout.cols), targets_back, &loop);
    if (slots * dout.cols * sizeof(float) < GNN_SHARE_LOOP_BYTES ||
        !gnn_cpu_transpose_begin(t, b, true, &loop.by_source)) {
        scatter_back(&loop);
    } else {
        place_slots(&loop);
        gnn_cpu_share(t, b->src_count, gnn_cpu_row_bytes(slots, b->src_count, dout.cols), sources_back, &loop);
    }
    gnn_cpu_share(t, gnn_div_up(att->u.cols, loop.piece), (uint64_t)att->u.rows * loop.piece * sizeof(float),
                  vectors_back, &loop);
}

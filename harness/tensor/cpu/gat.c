/* SPDX-License-Identifier: MIT */
/* Graph attention (Velickovic et al. 2018) on rows of heads * channels floats, and on rows that all heads share
 * (gat_rows.h). */
#include "harness/tensor/cpu/cpu.h"
#include "harness/tensor/cpu/gemm.h"
#include "harness/tensor/cpu/lanes.h"
#include "harness/tensor/ref/ref.h"
#include "harness/tensor/shapes.h"

#include <math.h>

struct forward {
    struct gnn_attention att;
    struct gnn_head_cols cols;
    struct gnn_block block;
    struct gnn_mat out;
};

/* ---- forward ---- */

/* Rows follow each other, but the hardware stops fetching ahead where a page ends, which is every few of them. */
static void prefetch_next(struct gnn_mat x, uint32_t row)
{
    if (row + GNN_PREFETCH_ROWS < x.rows)
        gnn_prefetch_row(gnn_mat_row(x, row + GNN_PREFETCH_ROWS), x.cols);
}

static void score_rows(const void *loop, uint64_t first, uint64_t end)
{
    const struct gnn_attention att = ((const struct forward *)loop)->att;
    const struct gnn_head_cols cols = ((const struct forward *)loop)->cols;
    uint32_t j = (uint32_t)first;
    for (; j + 2 <= end; j += 2) {
        const float *const u[2] = {gnn_mat_row(att.u, j), gnn_mat_row(att.u, j + 1)};
        prefetch_next(att.u, j);
        prefetch_next(att.u, j + 1);
        gnn_lane_dots_of_two((float *const[2]){gnn_mat_row(att.s, j), gnn_mat_row(att.s, j + 1)}, att.a_src, cols.count,
                             u, cols.step, att.heads, cols.count);
    }
    if (j < end)
        gnn_lane_dots(gnn_mat_row(att.s, j), att.a_src, cols.count, gnn_mat_row(att.u, j), cols.step, att.heads,
                      cols.count);
    for (j = (uint32_t)first; j < gnn_min_u64(end, att.d.rows); j++)
        gnn_lane_dots(gnn_mat_row(att.d, j), att.a_dst, cols.count, gnn_mat_row(att.u, j), cols.step, att.heads,
                      cols.count);
}

static void scores(struct gnn_tensor *t, const struct gnn_attention *att, struct gnn_head_cols cols)
{
    const struct forward loop = {.att = *att, .cols = cols};
    gnn_cpu_share(t, att->u.rows, att->u.cols * sizeof(float), score_rows, &loop);
}

void gnn_cpu_gat_scores(struct gnn_tensor *t, const struct gnn_attention *att)
{
    scores(t, att, gnn_own_cols(att));
}

/* Heads that stand side by side in a slot are taken four at a time, or one: `width` is constant where these are
 * called, so that four are one vector. */

/* Scores of `width` heads, less each head's largest. The leaky ReLU is the larger of two, as its slope is at most 1:
 * the signs of scores cannot be predicted, so nothing branches on them. */
static inline void score_slots(const struct gnn_attention *att, const struct gnn_slots *row, uint32_t h, uint32_t width)
{
    const uint64_t heads = att->heads;
    const float slope = att->slope;
    const float *const d = gnn_mat_row(att->d, row->self) + h;
    float *const alpha = att->alpha + row->first * heads + h;
    float max[4];
    for (uint32_t l = 0; l < width; l++)
        max[l] = -INFINITY;
    for (uint32_t k = 0; k <= row->edges; k++) {
        const float *const s = gnn_mat_row(att->s, gnn_slot_source(row, k)) + h;
        for (uint32_t l = 0; l < width; l++) {
            const float e = s[l] + d[l], less = e * slope, leaky = less > e ? less : e;
            alpha[k * heads + l] = leaky;
            max[l] = leaky > max[l] ? leaky : max[l];
        }
    }
    for (uint32_t k = 0; k <= row->edges; k++)
        for (uint32_t l = 0; l < width; l++)
            alpha[k * heads + l] -= max[l];
}

static inline void normalise_slots(const struct gnn_attention *att, const struct gnn_slots *row, uint32_t h,
                                   uint32_t width)
{
    const uint64_t heads = att->heads;
    float *const alpha = att->alpha + row->first * heads + h;
    float sum[4] = {0};
    for (uint32_t k = 0; k <= row->edges; k++)
        for (uint32_t l = 0; l < width; l++)
            sum[l] += alpha[k * heads + l];
    for (uint32_t l = 0; l < width; l++)
        sum[l] = 1 / (sum[l] + 1e-16f);
    for (uint32_t k = 0; k <= row->edges; k++)
        for (uint32_t l = 0; l < width; l++)
            alpha[k * heads + l] *= sum[l];
}

static void softmax_row(const struct gnn_attention *att, const struct gnn_slots *row)
{
    const uint64_t heads = att->heads, count = (row->edges + UINT64_C(1)) * heads;
    const uint32_t fours = att->heads / 4 * 4;
    float *const alpha = att->alpha + row->first * heads;
    for (uint32_t h = 0; h < fours; h += 4)
        score_slots(att, row, h, 4);
    for (uint32_t h = fours; h < heads; h++)
        score_slots(att, row, h, 1);
    for (uint64_t k = 0; k < count; k++)
        alpha[k] = gnn_lane_exp(alpha[k]);
    for (uint32_t k = 0; k < row->edges; k++)
        if (row->col[k] == row->self) /* the slot behind the edges has it */
            memset(alpha + k * heads, 0, heads * sizeof *alpha);
    for (uint32_t h = 0; h < fours; h += 4)
        normalise_slots(att, row, h, 4);
    for (uint32_t h = fours; h < heads; h++)
        normalise_slots(att, row, h, 1);
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
    const uint64_t heads = l.att.heads, count = l.cols.count;
    for (uint32_t i = (uint32_t)first; i < end; i++) {
        const struct gnn_slots row = gnn_row_slots(&l.block, i);
        gnn_cpu_prefetch_edges(&l.block, i, l.att.u);
        for (uint32_t h = 0; h < heads; h++) {
            const float *alpha = l.att.alpha + row.first * heads + h;
            const struct gnn_cpu_rows rows = {.x = l.att.u.data + h * l.cols.step,
                                              .stride = l.att.u.cols,
                                              .col = row.col,
                                              .count = row.edges,
                                              .weight = alpha,
                                              .weight_stride = l.att.heads};
            float *sum = gnn_mat_row(l.out, i) + h * count;
            gnn_cpu_sum_rows(sum, count, &rows);
            gnn_lane_axpy(sum, alpha[row.edges * heads], gnn_mat_row(l.att.u, i) + h * l.cols.step, count);
        }
    }
}

static void attend(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att, const struct gnn_block *b,
                   struct gnn_head_cols cols)
{
    gnn_attend_cols(out, att, b, cols);
    const struct forward loop = {.att = *att, .cols = cols, .block = *b, .out = out};
    gnn_cpu_share(t, b->dst_count, gnn_cpu_row_bytes(b->edge_count, b->dst_count, out.cols), attend_rows, &loop);
}

void gnn_cpu_gat_attend(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                        const struct gnn_block *b)
{
    attend(t, out, att, b, gnn_own_cols(att));
}

/* ---- backward: over the targets, then over the sources, then over the columns ---- */

struct backward {
    struct gnn_attention_grad grad;
    struct gnn_attention att;
    struct gnn_head_cols cols;
    struct gnn_block block;
    struct gnn_mat dout;
    struct gnn_cpu_transpose by_source;
    uint32_t piece; /* columns that a thread takes of the attention vectors */
};

/* Turns dalpha of a row's slots into the gradient of their scores, before the leaky ReLU; dd is its sum. Of `width`
 * heads, as above. */
static inline void target_back(const struct backward *l, const struct gnn_slots *row, uint32_t h, uint32_t width)
{
    const struct gnn_attention *const att = &l->att;
    const uint64_t heads = att->heads;
    const float slope = att->slope;
    const float *const alpha = att->alpha + row->first * heads + h, *const target = gnn_mat_row(att->d, row->self) + h;
    float *const dalpha = l->grad.dalpha + row->first * heads + h;
    float g[4] = {0}, sum[4] = {0};
    for (uint32_t k = 0; k <= row->edges; k++)
        for (uint32_t c = 0; c < width; c++)
            g[c] += alpha[k * heads + c] * dalpha[k * heads + c];
    for (uint32_t k = 0; k <= row->edges; k++) {
        const float *const s = gnn_mat_row(att->s, gnn_slot_source(row, k)) + h;
        for (uint32_t c = 0; c < width; c++) {
            const float de = alpha[k * heads + c] * (dalpha[k * heads + c] - g[c]);
            dalpha[k * heads + c] = de * (s[c] + target[c] > 0 ? 1 : slope);
            sum[c] += dalpha[k * heads + c];
        }
    }
    memcpy(gnn_mat_row(l->grad.dd, row->self) + h, sum, width * sizeof *sum);
}

/* Fetches the rows of the two edges that come some rows behind edge e: beside the arithmetic of every pair as many
 * lines as the processor waits for at a time, where a whole target's at once would stop it. */
static void prefetch_pair(const struct backward *l, uint64_t e)
{
    const uint64_t first = e + GNN_PREFETCH_ROWS, end = gnn_min_u64(first + 2, l->block.edge_count);
    for (uint64_t k = first; k < end; k++)
        gnn_prefetch_row(gnn_mat_row(l->att.u, l->block.col[k]), l->att.u.cols);
}

/* dalpha of a row's slots, all heads of two slots together. */
static void slots_back(const struct backward *l, const struct gnn_slots *row)
{
    const uint64_t heads = l->att.heads, count = l->cols.count, step = l->cols.step;
    const float *const dout = gnn_mat_row(l->dout, row->self);
    float *const dalpha = l->grad.dalpha + row->first * heads;
    uint32_t k = 0;
    for (; k + 1 <= row->edges; k += 2) {
        prefetch_pair(l, UINT64_C(0) + l->block.row_start[row->self] + k);
        const float *const u[2] = {gnn_mat_row(l->att.u, gnn_slot_source(row, k)),
                                   gnn_mat_row(l->att.u, gnn_slot_source(row, k + 1))};
        gnn_lane_dots_of_two((float *const[2]){dalpha + k * heads, dalpha + (k + 1) * heads}, dout, count, u, step,
                             heads, count);
    }
    if (k == row->edges)
        gnn_lane_dots(dalpha + k * heads, dout, count, gnn_mat_row(l->att.u, row->self), step, heads, count);
}

static void targets_back(const void *loop, uint64_t first, uint64_t end)
{
    const struct backward *const l = loop;
    for (uint32_t i = (uint32_t)first; i < end; i++) {
        const struct gnn_slots row = gnn_row_slots(&l->block, i);
        slots_back(l, &row);
        uint32_t h = 0;
        for (; h + 4 <= l->att.heads; h += 4)
            target_back(l, &row, h, 4);
        for (; h < l->att.heads; h++)
            target_back(l, &row, h, 1);
    }
}

/* What every head h adds to a row of u, w_h times row h of `from`: to its own columns, or all to the same ones. */
static void add_heads(float *u, const float *w, const float *from, uint64_t heads, struct gnn_head_cols cols)
{
    uint64_t h = 0;
    for (; cols.step == 0 && h + 4 <= heads; h += 4) {
        const float *const head = from + h * cols.count;
        const float *const four[4] = {head, head + cols.count, head + 2 * cols.count, head + 3 * cols.count};
        gnn_lane_add_four(u, w + h, four, cols.count);
    }
    for (; h < heads; h++)
        gnn_lane_axpy(u + h * cols.step, w[h], from + h * cols.count, cols.count);
}

/* What source j gets through one slot of target i. */
static void slot_back(const struct backward *l, uint32_t j, uint32_t i, uint64_t slot)
{
    const uint64_t heads = l->att.heads;
    const float *dalpha = l->grad.dalpha + slot * heads;
    float *ds = gnn_mat_row(l->grad.ds, j);
    add_heads(gnn_mat_row(l->grad.du, j), l->att.alpha + slot * heads, gnn_mat_row(l->dout, i), heads, l->cols);
    for (uint32_t h = 0; h < heads; h++)
        ds[h] += dalpha[h];
}

/* What reaches u_j through its scores: du_j += ds_j a, on both sides. ds_j is complete. */
static void scores_back(const struct backward *l, uint32_t j)
{
    float *du = gnn_mat_row(l->grad.du, j);
    add_heads(du, gnn_mat_row(l->grad.ds, j), l->att.a_src, l->att.heads, l->cols);
    if (j < l->grad.dd.rows)
        add_heads(du, gnn_mat_row(l->grad.dd, j), l->att.a_dst, l->att.heads, l->cols);
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

/* da += w_h u_h over columns [first, end) of u, which are one head's each, or every head's. */
static void add_weighted(float *da, const float *w, const float *u, const struct backward *l, uint64_t first,
                         uint64_t end)
{
    const uint64_t count = l->cols.count;
    for (uint64_t h = 0; l->cols.step == 0 && h < l->att.heads; h++)
        gnn_lane_axpy(da + h * count + first, w[h], u + first, end - first);
    for (uint64_t c = first; l->cols.step > 0 && c < end;) {
        const uint64_t h = c / count, to = gnn_min_u64((h + 1) * count, end);
        gnn_lane_axpy(da + c, w[h], u + c, to - c);
        c = to;
    }
}

/* The attention vectors' gradients: da = sum_j ds_j u_j in the order of the rows, so a column is one thread's. */
static void vectors_back(const void *loop, uint64_t first, uint64_t end)
{
    const struct backward *const l = loop;
    const uint64_t from = first * l->piece, to = gnn_min_u64(end * l->piece, l->att.u.cols);
    const uint64_t rounds = l->cols.step == 0 ? l->att.heads : 1;
    for (uint64_t k = 0; k < rounds; k++) {
        memset(l->grad.da_src + k * l->att.u.cols + from, 0, (to - from) * sizeof(float));
        memset(l->grad.da_dst + k * l->att.u.cols + from, 0, (to - from) * sizeof(float));
    }
    for (uint32_t j = 0; j < l->att.u.rows; j++) {
        const float *u = gnn_mat_row(l->att.u, j);
        add_weighted(l->grad.da_src, gnn_mat_row(l->grad.ds, j), u, l, from, to);
        if (j < l->grad.dd.rows)
            add_weighted(l->grad.da_dst, gnn_mat_row(l->grad.dd, j), u, l, from, to);
    }
}

static void back(struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                 const struct gnn_block *b, struct gnn_mat dout, struct gnn_head_cols cols)
{
    const uint64_t share = gnn_div_up(att->u.cols, gnn_cpu_threads(t));
    struct backward loop = {.grad = *grad,
                            .att = *att,
                            .cols = cols,
                            .block = *b,
                            .dout = dout,
                            .piece = (uint32_t)gnn_round_up(share, GNN_LINE_FLOATS)};
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

void gnn_cpu_gat_back(struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                      const struct gnn_block *b, struct gnn_mat dout)
{
    gnn_attend_shapes(dout, att, b);
    back(t, grad, att, b, dout, gnn_own_cols(att));
}

/* ---- rows as they come ---- */

static void rows_scores(struct gnn_tensor *t, const struct gnn_attention *att)
{
    scores(t, att, gnn_shared_cols(att));
}

static void rows_attend(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                        const struct gnn_block *b)
{
    attend(t, out, att, b, gnn_shared_cols(att));
}

/* Where nobody asks for the gradient of x that of the attention vectors needs no sum over a source's edges: stripes of
 * targets add up what their slots do, while the rows are in the cache, and the stripes' sums are added in their order.
 * How many there are depends on the sizes alone. */
enum { STRIPES_MOST = 64, STRIPE_TARGETS = 16 };

struct stripes {
    struct backward back;
    uint64_t width;   /* of an attention vector */
    uint32_t targets; /* of each but the last */
    float *sums;      /* of both vectors, of every stripe but the first, whose sums are the result's beginning */
};

static float *stripe_sum(const struct stripes *l, uint64_t stripe, bool src)
{
    if (stripe == 0)
        return src ? l->back.grad.da_src : l->back.grad.da_dst;
    return l->sums + (2 * (stripe - 1) + (src ? 0 : 1)) * l->width;
}

/* What a row's slots add to the attention vectors' gradients: dalpha x_j on the sources' side, dd x_i on the row's. */
static void add_vectors(const struct backward *l, const struct gnn_slots *row, float *da_src, float *da_dst)
{
    const uint64_t heads = l->att.heads, cols = l->att.u.cols;
    const float *self = gnn_mat_row(l->att.u, row->self);
    for (uint64_t h = 0; h < heads; h++) {
        const float *dalpha = l->grad.dalpha + row->first * heads + h;
        const struct gnn_cpu_rows rows = {.x = l->att.u.data,
                                          .stride = cols,
                                          .col = row->col,
                                          .count = row->edges,
                                          .weight = dalpha,
                                          .weight_stride = l->att.heads};
        gnn_cpu_add_rows(da_src + h * cols, cols, &rows);
        gnn_lane_axpy(da_src + h * cols, dalpha[row->edges * heads], self, cols);
        gnn_lane_axpy(da_dst + h * cols, gnn_mat_row(l->grad.dd, row->self)[h], self, cols);
    }
}

static void stripes_back(const void *loop, uint64_t first, uint64_t end)
{
    const struct stripes *const l = loop;
    for (uint64_t stripe = first; stripe < end; stripe++) {
        float *const da_src = stripe_sum(l, stripe, true), *const da_dst = stripe_sum(l, stripe, false);
        const uint32_t start = (uint32_t)stripe * l->targets;
        const uint32_t stop = (uint32_t)gnn_min_u64((uint64_t)start + l->targets, l->back.block.dst_count);
        memset(da_src, 0, l->width * sizeof *da_src);
        memset(da_dst, 0, l->width * sizeof *da_dst);
        for (uint32_t i = start; i < stop; i++) {
            const struct gnn_slots row = gnn_row_slots(&l->back.block, i);
            targets_back(&l->back, i, i + 1);
            add_vectors(&l->back, &row, da_src, da_dst);
        }
    }
}

/* The sums lie where a source's would: ds is of no use here. */
static void back_to_vectors(struct gnn_tensor *t, const struct backward *back)
{
    const uint64_t cols = back->att.u.cols, dst = back->block.dst_count;
    const uint64_t room = 1 + back->grad.ds.rows / (2 * cols);
    const uint64_t wanted = gnn_min_u64(gnn_min_u64(gnn_div_up(dst, STRIPE_TARGETS), STRIPES_MOST), room);
    const uint64_t targets = gnn_div_up(dst, gnn_max_u64(wanted, 1));
    const uint64_t slots = (uint64_t)back->block.edge_count + dst;
    const struct stripes loop = {
        .back = *back, .width = back->att.heads * cols, .targets = (uint32_t)targets, .sums = back->grad.ds.data};
    const uint64_t count = targets == 0 ? 1 : gnn_div_up(dst, targets); /* without targets both vectors become 0 */
    gnn_cpu_share(t, count, slots * back->dout.cols * sizeof(float) / count, stripes_back, &loop);
    for (uint64_t stripe = 1; stripe < count; stripe++) {
        gnn_cpu_add(t, back->grad.da_src, stripe_sum(&loop, stripe, true), loop.width);
        gnn_cpu_add(t, back->grad.da_dst, stripe_sum(&loop, stripe, false), loop.width);
    }
}

static void rows_back(struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                      const struct gnn_block *b, struct gnn_mat dout)
{
    const struct gnn_head_cols cols = gnn_shared_cols(att);
    gnn_attend_cols(dout, att, b, cols);
    if (grad->du.data != NULL)
        back(t, grad, att, b, dout, cols);
    else
        back_to_vectors(t, &(struct backward){.grad = *grad, .att = *att, .cols = cols, .block = *b, .dout = dout});
}

const struct gnn_gat_rows_ops gnn_cpu_gat_rows = {
    .scores = rows_scores, .attend = rows_attend, .back = rows_back, .product = gnn_cpu_gat_rows_product};

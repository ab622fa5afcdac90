/* SPDX-License-Identifier: MIT */
#include "harness/tensor/modelled/state.h"

#include "harness/tensor/link.h"
#include "harness/tensor/shapes.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An operation takes what the table hands to it, needed or not. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static const uint64_t second_ps = UINT64_C(1000000000000);

/* ---- open and close ---- */

static void set_roof(struct modelled *m, const struct gnn_profile *profile)
{
    const struct gnn_profile_compute *c = m->env.gpu ? &profile->gpu : &profile->host;
    const uint64_t cores = m->env.gpu ? 1 : gnn_min_u64(m->env.threads, profile->cpu.cores);
    m->roof = (struct gnn_roof){
        .flops_per_s = gnn_mul_bytes(c->gemm_flops_per_s, cores),
        .stream_bytes_per_s = gnn_min_u64(gnn_mul_bytes(c->bytes_per_s, cores), c->bytes_per_s_shared),
        .gather_bytes_per_s = gnn_min_u64(gnn_mul_bytes(c->gather_bytes_per_s, cores), c->bytes_per_s_shared),
        .gemm_tile = m->env.gpu ? GNN_GPU_TILE : GNN_CPU_TILE,
        .operands_per_s = c->gemm_operand_ps == 0 ? 0 : gnn_mul_bytes(second_ps / c->gemm_operand_ps, cores),
    };
    m->bus = profile->bus;
    m->framework = profile->framework;
    if (!m->env.gpu && m->framework.milli_cores > 0) {
        const uint64_t all = gnn_mul_bytes(1000, cores), used = gnn_min_u64(all, m->framework.milli_cores);
        m->roof.flops_per_s = gnn_min_u64(m->roof.flops_per_s, c->gemm_flops_per_s / 1000 * m->framework.milli_cores);
        m->roof.operands_per_s = m->roof.operands_per_s / all * used;
    }
    m->launch_ns = c->launch_ns;
    m->core_bytes_per_s = profile->host.bytes_per_s;
    m->memory_limit_bytes = c->memory_bytes;
    memcpy(m->profile_name, profile->name, sizeof m->profile_name);
}

static enum gnn_status modelled_open(const struct gnn_tensor_env *env, const struct gnn_profile *profile,
                                     struct gnn_tensor **out, struct gnn_err *err)
{
    assert(env->threads >= 1);
    assert(env->alloc != NULL);
    assert(env->free != NULL);
    assert(env->now_ns != NULL);
    assert(env->wait_until != NULL);
    assert(env->compute_ns != NULL);
    if (profile == NULL)
        return gnn_fail(err, GNN_EUSAGE, "modelled computation needs a hardware profile: --profile NAME");
    if (env->gpu && !profile->gpu.present)
        return gnn_fail(err, GNN_EUSAGE, "profile %s has no [gpu]: choose another profile, or model its CPU",
                        profile->name);
    struct modelled *m = calloc(1, sizeof *m);
    if (m == NULL || pthread_mutex_init(&m->mutex, NULL) != 0) {
        free(m);
        return gnn_fail(err, GNN_ENOMEM, "tensor back-end \"model\": %zu bytes", sizeof *m);
    }
    m->base.ops = &gnn_tensor_modelled;
    m->base.host_memory = !env->gpu;
    m->base.no_values = true;
    m->env = *env;
    m->device = env->same_device != NULL ? modelled_of(env->same_device) : m;
    assert(m->device->device == m->device);
    set_roof(m, profile);
    m->base.memory_bytes = env->gpu ? m->memory_limit_bytes : 0;
    *out = &m->base;
    return GNN_OK;
}

static void modelled_close(struct gnn_tensor *t)
{
    struct modelled *m = modelled_of(t);
    if (m == NULL)
        return;
    for (uint32_t l = 0; l < GNN_LANES_MAX; l++)
        for (uint32_t h = 0; h < HALVES; h++)
            if (m->lanes[l].half[h] != NULL)
                m->env.free(m->env.ctx, m->lanes[l].half[h]);
    modelled_memory_close(m);
    (void)pthread_mutex_destroy(&m->mutex);
    free(m);
}

void gnn_modelled_counts(struct gnn_tensor *t, struct gnn_modelled_counts *out)
{
    struct modelled *m = modelled_of(t);
    lock(m);
    *out = m->counts;
    out->stream_free_ns = m->device->stream_free_ns;
    unlock(m);
}

/* ---- the ops ---- */

/* An op that takes its cost, after its shapes (or nothing) have been asserted; BLOCK_OP needs the arrays of block b. */
#define OP(op, params, shapes, cost)                                                                                   \
    static void modelled_##op params                                                                                   \
    {                                                                                                                  \
        (void)(shapes);                                                                                                \
        modelled_run_op(t, cost);                                                                                      \
    }
#define BLOCK_OP(op, params, shapes, cost)                                                                             \
    static void modelled_##op params                                                                                   \
    {                                                                                                                  \
        (void)(shapes);                                                                                                \
        if (modelled_of(t)->env.gpu)                                                                                   \
            modelled_upload_block(modelled_of(t), b);                                                                  \
        modelled_run_op(t, cost);                                                                                      \
    }

/* clang-format off */
OP(fill, (struct gnn_tensor *t, gnn_real *dst, uint64_t count, gnn_real value), 0, gnn_cost_fill(count))
OP(copy, (struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count), 0, gnn_cost_copy(count))
OP(add, (struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count), 0, gnn_cost_add(count))
OP(add_bias, (struct gnn_tensor *t, struct gnn_mat z, const gnn_real *bias), 0, gnn_cost_add_bias(z.rows, z.cols))
OP(column_sum, (struct gnn_tensor *t, gnn_real *out, struct gnn_mat z), 0, gnn_cost_column_sum(z.rows, z.cols))
BLOCK_OP(segment_reduce, (struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat out, const struct gnn_block *b,
                          struct gnn_mat x, uint32_t *argmax),
         gnn_segment_shapes(out, b, x), gnn_cost_segment_reduce(kind, b, x.cols))
BLOCK_OP(segment_reduce_back, (struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat dx,
                               const struct gnn_block *b, struct gnn_mat dout, const uint32_t *argmax),
         gnn_segment_shapes(dout, b, dx), gnn_cost_segment_reduce_back(kind, b, dout.cols))
BLOCK_OP(gcn_weights, (struct gnn_tensor *t, enum gnn_gcn_norm norm, gnn_real *weight, gnn_real *source_sum,
                       const struct gnn_block *b),
         0, gnn_cost_gcn_weights(b))
BLOCK_OP(spmm, (struct gnn_tensor *t, struct gnn_mat out, const struct gnn_block *b, const gnn_real *weight,
                struct gnn_mat x),
         gnn_segment_shapes(out, b, x), gnn_cost_spmm(b, x.cols))
BLOCK_OP(spmm_back, (struct gnn_tensor *t, struct gnn_mat dx, const struct gnn_block *b, const gnn_real *weight,
                     struct gnn_mat dout),
         gnn_segment_shapes(dout, b, dx), gnn_cost_spmm_back(b, dout.cols))
OP(gat_scores, (struct gnn_tensor *t, const struct gnn_attention *att),
   0, gnn_cost_gat_scores(att->u.rows, att->d.rows, att->heads, att->u.cols))
BLOCK_OP(gat_softmax, (struct gnn_tensor *t, const struct gnn_attention *att, const struct gnn_block *b),
         0, gnn_cost_gat_softmax(b, att->heads))
BLOCK_OP(gat_attend, (struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                      const struct gnn_block *b),
         gnn_attend_shapes(out, att, b), gnn_cost_gat_attend(b, att->heads, att->u.cols))
BLOCK_OP(gat_back, (struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                    const struct gnn_block *b, struct gnn_mat dout),
         gnn_attend_shapes(dout, att, b), gnn_cost_gat_back(b, att->heads, att->u.cols))
OP(head_mean, (struct gnn_tensor *t, struct gnn_mat out, struct gnn_mat x, uint32_t heads),
   gnn_head_shapes(x, out, heads), gnn_cost_head_mean(out.rows, out.cols, heads))
OP(head_mean_back, (struct gnn_tensor *t, struct gnn_mat dx, struct gnn_mat dout, uint32_t heads),
   gnn_head_shapes(dx, dout, heads), gnn_cost_head_mean(dout.rows, dout.cols, heads))
OP(activate, (struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat z, const gnn_real *bias,
              const struct gnn_dropout *drop),
   0, gnn_cost_activate(act, z.rows, z.cols, bias != NULL, drop->rate > 0))
OP(activate_back, (struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat dy, struct gnn_mat y,
                   const struct gnn_dropout *drop),
   gnn_same_shape(dy, y), gnn_cost_activate_back(dy.rows, dy.cols, drop->rate > 0))
OP(adam, (struct gnn_tensor *t, gnn_real *param, const gnn_real *grad, gnn_real *m, gnn_real *v, uint64_t count,
          const struct gnn_adam *adam),
   0, gnn_cost_adam(count))

/* Link prediction. */
OP(link_combine, (struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat q, struct gnn_mat a,
                  struct gnn_mat r),
   gnn_same_shape(q, a), gnn_cost_link_combine((uint64_t)q.rows * q.cols))
OP(link_combine_back, (struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat da, struct gnn_mat dr,
                       struct gnn_mat dq, struct gnn_mat a, struct gnn_mat r),
   gnn_same_shape(dq, a), gnn_cost_link_combine_back((uint64_t)dq.rows * dq.cols))
OP(link_pair_scores, (struct gnn_tensor *t, enum gnn_decoder decoder, gnn_real *out, struct gnn_mat q,
                      struct gnn_mat x),
   gnn_same_shape(q, x), gnn_cost_link_pairs(q.rows, q.cols))
OP(link_pair_scores_back, (struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat dq, struct gnn_mat dx,
                           const gnn_real *g, struct gnn_mat q, struct gnn_mat x),
   gnn_same_shape(dq, q), gnn_cost_link_pairs_back((uint64_t)q.rows * q.cols))
OP(link_distances, (struct gnn_tensor *t, struct gnn_mat scores, struct gnn_mat q, struct gnn_mat x),
   0, gnn_cost_link_distances(scores.rows, scores.cols, q.cols))
OP(link_distances_back, (struct gnn_tensor *t, struct gnn_mat g, struct gnn_mat scores, struct gnn_mat q,
                         struct gnn_mat x, struct gnn_mat dq, struct gnn_mat dx),
   gnn_same_shape(g, scores), gnn_cost_link_distances_back(scores.rows, scores.cols, q.cols))
OP(link_adagrad, (struct gnn_tensor *t, gnn_real *value, const gnn_real *grad, gnn_real *state, uint64_t count,
                  const struct gnn_adagrad *adagrad),
   0, gnn_cost_adagrad(count))
OP(link_cubes_back, (struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat dx, double weight,
                     struct gnn_mat x),
   gnn_same_shape(dx, x), gnn_cost_link_cubes_back((uint64_t)x.rows * x.cols))
/* clang-format on */

/* The list of rows is the host's: on a GPU it crosses the bus first, unless it was staged. */
static void bring_list(struct modelled *m, const uint32_t *rows, uint32_t count)
{
    const bool there = m->in_use != NULL && m->in_use->lists.rows == rows;
    if (m->env.gpu && !there)
        modelled_copy_and_wait(m, count * (uint64_t)sizeof *rows, &m->counts.uploaded_bytes);
}

static void modelled_gather_rows(struct gnn_tensor *t, gnn_real *out, const gnn_real *table, uint64_t row_stride,
                                 const uint32_t *rows, uint32_t count, uint32_t cols)
{
    struct modelled *m = modelled_of(t);
    bring_list(m, rows, count);
    if (m->env.gpu && modelled_is_pinned(m, table))
        modelled_cross_bus(m, count * (uint64_t)cols * sizeof *table);
    modelled_run_op(t, gnn_cost_gather_rows(count, cols));
}

static void modelled_gather_halves(struct gnn_tensor *t, gnn_real *out, const uint16_t *table, uint64_t row_stride,
                                   const uint32_t *rows, uint32_t count, uint32_t cols)
{
    struct modelled *m = modelled_of(t);
    if (rows != NULL)
        bring_list(m, rows, count);
    if (m->env.gpu && modelled_is_pinned(m, table))
        modelled_cross_bus(m, count * (uint64_t)cols * sizeof *table);
    modelled_run_op(t, gnn_cost_gather_halves(count, cols, rows != NULL));
}

static void modelled_gather_placed(struct gnn_tensor *t, gnn_real *out, const struct gnn_placement *placement,
                                   const uint32_t *rows, uint32_t count, uint32_t cols, uint32_t host_count)
{
    struct modelled *m = modelled_of(t);
    assert(host_count <= count);
    bring_list(m, rows, count);
    if (m->env.gpu && host_count > 0)
        modelled_cross_bus(m, host_count * (uint64_t)cols * gnn_feature_type_bytes(placement->type));
    modelled_run_op(t, placement->type == GNN_F16 ? gnn_cost_gather_halves(count, cols, true)
                                                  : gnn_cost_gather_rows(count, cols));
}

static void modelled_gemm(struct gnn_tensor *t, bool trans_a, bool trans_b, gnn_real alpha, struct gnn_mat a,
                          struct gnn_mat b, gnn_real beta, struct gnn_mat c)
{
    const uint32_t inner = gnn_gemm_inner(trans_a, trans_b, a, b, c);
    modelled_run_op(t, gnn_cost_gemm(c.rows, c.cols, inner, beta != 0, modelled_of(t)->roof.gemm_tile));
}

static void modelled_softmax_nll(struct gnn_tensor *t, struct gnn_mat logits, const int32_t *labels, double *loss,
                                 uint32_t *correct)
{
    struct modelled *m = modelled_of(t);
    const bool there = m->in_use != NULL && m->in_use->lists.labels == labels;
    if (m->env.gpu && !there)
        modelled_copy_and_wait(m, logits.rows * (uint64_t)sizeof *labels, &m->counts.uploaded_bytes);
    modelled_run_op(t, gnn_cost_softmax_nll(logits.rows, logits.cols));
    if (m->env.gpu && m->in_step)
        m->result_due = true;
    else if (m->env.gpu)
        modelled_copy_and_wait(m, RESULT_BYTES, &m->counts.downloaded_bytes);
    *loss = NAN;
    *correct = 0;
}

static void modelled_link_loss(struct gnn_tensor *t, struct gnn_mat scores, gnn_real *positive, const uint32_t *own,
                               double *loss)
{
    struct modelled *m = modelled_of(t);
    bring_list(m, own, scores.cols);
    modelled_run_op(t, gnn_cost_softmax_nll(scores.rows, (uint64_t)scores.cols + 1));
    if (m->env.gpu)
        modelled_copy_and_wait(m, RESULT_BYTES, &m->counts.downloaded_bytes);
    *loss = NAN;
}

static void modelled_link_scatter_add(struct gnn_tensor *t, gnn_real *table, const uint32_t *rows, struct gnn_mat x)
{
    bring_list(modelled_of(t), rows, x.rows);
    modelled_run_op(t, gnn_cost_scatter_add(x.rows, x.cols));
}

#define MODELLED_LINK(op) .op = modelled_link_##op,
static const struct gnn_link_ops modelled_link = {GNN_LINK_OPS(MODELLED_LINK)};

#define MODELLED(op) .op = modelled_##op,

/* clang-format off */
const struct gnn_tensor_ops gnn_tensor_modelled = {
    .name = "model", .open = modelled_open, .gemm = modelled_gemm, .link = &modelled_link,
    .gat_rows = NULL, /* what is charged is what the released codes do: they map rows first, */
    .sage = NULL,     /* and go op by op */
    GNN_TENSOR_MEMORY_OPS(MODELLED) GNN_TENSOR_PLAIN_OPS(MODELLED) GNN_TENSOR_TUNED_OPS(MODELLED)
};
/* clang-format on */

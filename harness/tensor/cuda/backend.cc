/* tensor_ops on a device: which kernels an op launches, the block cache, scratch memory. Everything that touches CUDA
 * is behind runtime.h, so this file is compiled by nvcc for the plugin and by a C++ compiler for the tests.
 *
 * Blocks   a mini-batch's arrays are in host memory; a block goes up in one copy when an op first needs it and stays
 *          until synchronize. Its transpose is built on the device when a backward op first asks (a stable sort by
 *          source).
 * Memory   freed memory is kept by size and given out again: after the largest mini-batch nothing is allocated. */
#include "harness/tensor/cuda/backend.h"
#include "harness/tensor/cuda/attention.h"
#include "harness/tensor/cuda/dense.h"
#include "harness/tensor/cuda/runtime.h"
#include "harness/tensor/cuda/sparse.h"

enum { COLUMN_PARTS = 64, POOL_MAX = 512 };

/* Memory of the device that grows and is not initialised. */
struct scratch {
    void *data;
    uint64_t bytes;
};

struct resident_block {
    const uint32_t *row_start, *col; /* of the host: what it is known by */
    struct gnn_cuda_block device;
    struct scratch arrays, transpose;
    bool transposed;
};

struct pooled {
    void *ptr;
    uint64_t bytes;
    bool used;
};

struct backend {
    struct gnn_tensor base;
    struct gnn_device *device;
    struct resident_block blocks[GNN_LAYERS_MAX];
    uint32_t block_count;
    struct pooled pool[POOL_MAX];
    uint32_t pool_count;
    uint64_t allocations; /* of the device, ever */
    struct scratch rows, labels, partial, losses, sort;
    void *staging; /* pinned, for what goes up in one ordered copy */
    uint64_t staging_bytes, staging_used;
    enum gnn_status status; /* the first failure of an op that had to allocate */
    struct gnn_err err;
};

static struct backend *backend_of(struct gnn_tensor *t)
{
    return (struct backend *)t;
}

/* ---- memory ---- */

static uint64_t size_class(uint64_t bytes)
{
    return gnn_round_up(gnn_max_u64(bytes, 1), bytes < 1 << 20 ? 512 : 1 << 20);
}

/* The smallest free piece that is not more than twice as large. */
static struct pooled *find_free(struct backend *b, uint64_t bytes)
{
    struct pooled *best = NULL;
    for (uint32_t i = 0; i < b->pool_count; i++) {
        struct pooled *p = &b->pool[i];
        if (!p->used && p->bytes >= bytes && p->bytes <= 2 * bytes && (best == NULL || p->bytes < best->bytes))
            best = p;
    }
    return best;
}

static void release_pool(struct backend *b, bool unused_only)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->pool_count; i++) {
        if (unused_only && b->pool[i].used)
            b->pool[kept++] = b->pool[i];
        else
            gnn_device_free(b->device, b->pool[i].ptr);
    }
    b->pool_count = kept;
}

static enum gnn_status cuda_alloc(struct gnn_tensor *t, const char *name, uint64_t bytes, void **out,
                                  struct gnn_err *err)
{
    struct backend *b = backend_of(t);
    const uint64_t rounded = size_class(bytes);
    struct pooled *piece = find_free(b, rounded);
    if (piece == NULL) {
        if (b->pool_count == POOL_MAX)
            release_pool(b, true);
        if (b->pool_count == POOL_MAX)
            return gnn_fail(err, GNN_EGPU, "%s: more than %d pieces of device memory are in use", name, POOL_MAX);
        void *ptr = NULL;
        enum gnn_status status = gnn_device_alloc(b->device, name, rounded, &ptr, NULL);
        if (status != GNN_OK) { /* what lies unused may be what is missing */
            release_pool(b, true);
            GNN_TRY(gnn_device_alloc(b->device, name, rounded, &ptr, err));
        }
        b->allocations++;
        piece = &b->pool[b->pool_count++];
        *piece = {ptr, rounded, false};
    }
    piece->used = true;
    *out = piece->ptr;
    return GNN_OK;
}

static void cuda_free(struct gnn_tensor *t, void *ptr)
{
    struct backend *b = backend_of(t);
    if (ptr == NULL)
        return;
    for (uint32_t i = 0; i < b->pool_count; i++)
        if (b->pool[i].ptr == ptr) {
            assert(b->pool[i].used);
            b->pool[i].used = false;
            return;
        }
    assert(!"memory of another back-end");
}

/* Room in scratch; false when the device is full, which is kept for check. The old contents are lost. */
static bool reserve(struct backend *b, struct scratch *s, const char *name, uint64_t bytes)
{
    if (bytes <= s->bytes)
        return true;
    cuda_free(&b->base, s->data);
    *s = {NULL, 0};
    void *data = NULL;
    const enum gnn_status status = cuda_alloc(&b->base, name, bytes + bytes / 8, &data, &b->err);
    if (status != GNN_OK) {
        b->status = b->status == GNN_OK ? status : b->status;
        return false;
    }
    *s = {data, bytes + bytes / 8};
    return true;
}

/* ---- copies ---- */

static void cuda_upload(struct gnn_tensor *t, void *dst, const void *host_src, uint64_t bytes)
{
    if (bytes > 0)
        gnn_device_upload(backend_of(t)->device, dst, host_src, bytes);
}

static void cuda_download(struct gnn_tensor *t, void *host_dst, const void *src, uint64_t bytes)
{
    if (bytes > 0)
        gnn_device_download(backend_of(t)->device, host_dst, src, bytes);
}

static void cuda_upload_async(struct gnn_tensor *t, uint32_t lane, void *dst, const void *host_src, uint64_t bytes)
{
    assert(lane < GNN_DEVICE_LANES_MAX);
    gnn_device_upload_lane(backend_of(t)->device, lane, dst, host_src, bytes);
}

static void cuda_upload_wait(struct gnn_tensor *t, uint32_t lane)
{
    assert(lane < GNN_DEVICE_LANES_MAX);
    gnn_device_wait_lane(backend_of(t)->device, lane);
}

/* Room in the pinned staging memory, until the next synchronize; NULL when so much does not fit at all. */
static char *staging_room(struct backend *b, uint64_t bytes)
{
    if (bytes > b->staging_bytes)
        return NULL;
    if (b->staging_used + bytes > b->staging_bytes) { /* what is staged must have been read before it is replaced */
        gnn_device_synchronize(b->device);
        b->staging_used = 0;
    }
    char *at = (char *)b->staging + b->staging_used;
    b->staging_used = gnn_min_u64(b->staging_used + gnn_round_up(bytes, 64), b->staging_bytes);
    return at;
}

/* Copies a host array up in stream order; the array may change at once. */
static void stage(struct backend *b, void *dst, const void *host_src, uint64_t bytes)
{
    char *at = bytes > 0 ? staging_room(b, bytes) : NULL;
    if (at != NULL) {
        memcpy(at, host_src, bytes);
        gnn_device_upload_ordered(b->device, dst, at, bytes);
    } else if (bytes > 0) {
        gnn_device_upload(b->device, dst, host_src, bytes);
    }
}

/* ---- blocks ---- */

static uint32_t bits_of(uint32_t count)
{
    uint32_t bits = 1;
    while (bits < 32 && count >> bits != 0)
        bits++;
    return bits;
}

/* row_start and col go up side by side, in one copy where the staging memory holds them. */
static bool upload_block(struct backend *b, struct resident_block *r, const struct gnn_block *host)
{
    const uint64_t rows = host->dst_count + UINT64_C(1), words = rows + host->edge_count;
    if (!reserve(b, &r->arrays, "block", words * sizeof(uint32_t)))
        return false;
    uint32_t *at = (uint32_t *)r->arrays.data;
    char *room = staging_room(b, words * sizeof(uint32_t));
    if (room != NULL) {
        memcpy(room, host->row_start, rows * sizeof(uint32_t));
        memcpy(room + rows * sizeof(uint32_t), host->col, host->edge_count * sizeof(uint32_t));
        gnn_device_upload_ordered(b->device, at, room, words * sizeof(uint32_t));
    } else {
        stage(b, at, host->row_start, rows * sizeof(uint32_t));
        stage(b, at + rows, host->col, host->edge_count * sizeof(uint32_t));
    }
    r->row_start = host->row_start;
    r->col = host->col;
    r->transposed = false;
    r->device = {host->dst_count, host->src_count, host->edge_count, at, at + rows, NULL, NULL, NULL};
    return true;
}

static struct resident_block *need_block(struct backend *b, const struct gnn_block *host)
{
    for (uint32_t i = 0; i < b->block_count; i++)
        if (b->blocks[i].row_start == host->row_start && b->blocks[i].col == host->col &&
            b->blocks[i].device.edge_count == host->edge_count)
            return &b->blocks[i];
    assert(b->block_count < GNN_LAYERS_MAX);
    struct resident_block *r = &b->blocks[b->block_count];
    if (!upload_block(b, r, host))
        return NULL;
    b->block_count++;
    return r;
}

static struct resident_block *need_transpose(struct backend *b, const struct gnn_block *host)
{
    struct resident_block *r = need_block(b, host);
    if (r == NULL || r->transposed)
        return r;
    const uint64_t edges = host->edge_count, sort_bytes = gnn_device_sort_bytes(host->edge_count);
    const uint64_t words = 4 * edges + host->src_count + 1; /* target, number, sorted source, sorted number; starts */
    if (!reserve(b, &r->transpose, "transposed block", words * sizeof(uint32_t)) ||
        !reserve(b, &b->sort, "sort of a block", sort_bytes))
        return NULL;
    uint32_t *edge_dst = (uint32_t *)r->transpose.data, *number = edge_dst + edges, *sorted = number + edges;
    uint32_t *src_edge = sorted + edges, *src_start = src_edge + edges;
    GNN_LAUNCH_WARPS(b->device, gnn_cuda_edges, host->dst_count, r->device, edge_dst, number);
    if (edges > 0)
        gnn_device_sort(b->device, b->sort.data, b->sort.bytes, r->device.col, sorted, number, src_edge,
                        host->edge_count, bits_of(host->src_count));
    GNN_LAUNCH(b->device, gnn_cuda_source_starts, edges + 1, src_start, sorted, host->edge_count, host->src_count);
    r->device.edge_dst = edge_dst;
    r->device.src_start = src_start;
    r->device.src_edge = src_edge;
    r->transposed = true;
    return r;
}

/* ---- dense ops ---- */

static void cuda_fill(struct gnn_tensor *t, gnn_real *dst, uint64_t count, gnn_real value)
{
    GNN_LAUNCH(backend_of(t)->device, gnn_cuda_fill, count, dst, count, value);
}

static void cuda_copy(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count)
{
    if (count > 0)
        gnn_device_copy(backend_of(t)->device, dst, src, count * sizeof *dst);
}

static bool aligned16(const void *ptr)
{
    return (uintptr_t)ptr % 16 == 0;
}

static void cuda_gather_rows(struct gnn_tensor *t, gnn_real *out, const gnn_real *table, uint64_t row_stride,
                             const uint32_t *rows, uint32_t count, uint32_t cols)
{
    struct backend *b = backend_of(t);
    if (!reserve(b, &b->rows, "row numbers", count * (uint64_t)sizeof *rows))
        return;
    stage(b, b->rows.data, rows, count * (uint64_t)sizeof *rows);
    const uint32_t *numbers = (const uint32_t *)b->rows.data;
    const bool quads = cols % 4 == 0 && row_stride % 4 == 0 && aligned16(out) && aligned16(table);
    if (quads)
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_gather<float4>, count, (float4 *)out, (const float4 *)table,
                         row_stride / 4, numbers, count, cols / 4);
    else
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_gather<float>, count, out, table, row_stride, numbers, count, cols);
}

static void cuda_gemm(struct gnn_tensor *t, bool trans_a, bool trans_b, gnn_real alpha, struct gnn_mat a,
                      struct gnn_mat b, gnn_real beta, struct gnn_mat c)
{
    struct backend *x = backend_of(t);
    const uint32_t inner = trans_a ? a.rows : a.cols;
    assert(c.rows == (trans_a ? a.cols : a.rows));
    assert(c.cols == (trans_b ? b.rows : b.cols));
    assert(inner == (trans_b ? b.cols : b.rows));
    if (c.rows == 0 || c.cols == 0)
        return;
    if (inner > 0)
        gnn_device_gemm(x->device, trans_a, trans_b, alpha, a, b, beta, c);
    else if (beta == 0)
        cuda_fill(t, c.data, (uint64_t)c.rows * c.cols, 0);
    else
        assert(beta == 1); /* an empty sum leaves c as it is */
}

static void cuda_add_bias(struct gnn_tensor *t, struct gnn_mat z, const gnn_real *bias)
{
    GNN_LAUNCH(backend_of(t)->device, gnn_cuda_add_bias, (uint64_t)z.rows * z.cols, z.data, z.rows, z.cols, bias);
}

static void cuda_column_sum(struct gnn_tensor *t, gnn_real *out, struct gnn_mat z)
{
    struct backend *b = backend_of(t);
    if (!reserve(b, &b->partial, "partial sums", COLUMN_PARTS * (uint64_t)z.cols * sizeof *out))
        return;
    float *partial = (float *)b->partial.data;
    GNN_LAUNCH(b->device, gnn_cuda_column_parts, COLUMN_PARTS * (uint64_t)z.cols, partial, z.data, z.rows, z.cols,
               COLUMN_PARTS);
    GNN_LAUNCH(b->device, gnn_cuda_column_total, z.cols, out, partial, z.cols, COLUMN_PARTS);
}

static void cuda_add(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count)
{
    GNN_LAUNCH(backend_of(t)->device, gnn_cuda_add, count, dst, src, count);
}

static void cuda_head_mean(struct gnn_tensor *t, struct gnn_mat out, struct gnn_mat x, uint32_t heads)
{
    assert(x.cols == out.cols * heads);
    assert(x.rows == out.rows);
    GNN_LAUNCH(backend_of(t)->device, gnn_cuda_head_mean, (uint64_t)out.rows * out.cols, out.data, x.data, out.rows,
               out.cols, heads);
}

static void cuda_head_mean_back(struct gnn_tensor *t, struct gnn_mat dx, struct gnn_mat dout, uint32_t heads)
{
    assert(dx.cols == dout.cols * heads);
    assert(dx.rows == dout.rows);
    GNN_LAUNCH(backend_of(t)->device, gnn_cuda_head_mean_back, (uint64_t)dx.rows * dx.cols, dx.data, dout.data,
               dout.rows, dout.cols, heads);
}

static struct gnn_cuda_dropout dropout_of(const struct gnn_dropout *drop)
{
    return {drop->key, gnn_dropout_threshold(drop->rate), (float)(1 - drop->rate), (float)(1 / (1 - drop->rate))};
}

static void cuda_activate(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat z, const gnn_real *bias,
                          const struct gnn_dropout *drop)
{
    GNN_LAUNCH(backend_of(t)->device, gnn_cuda_activate, (uint64_t)z.rows * z.cols, act, z.data, z.rows, z.cols, bias,
               dropout_of(drop));
}

static void cuda_activate_back(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat dy, struct gnn_mat y,
                               const struct gnn_dropout *drop)
{
    assert(dy.rows == y.rows);
    assert(dy.cols == y.cols);
    GNN_LAUNCH(backend_of(t)->device, gnn_cuda_activate_back, (uint64_t)dy.rows * dy.cols, act, dy.data, y.data,
               dy.rows, dy.cols, dropout_of(drop));
}

static void cuda_softmax_nll(struct gnn_tensor *t, struct gnn_mat logits, const int32_t *labels, double *loss,
                             uint32_t *correct)
{
    struct backend *b = backend_of(t);
    struct total {
        double loss;
        uint32_t correct;
    } total = {0, 0};
    const uint64_t rows = logits.rows, head = sizeof total;
    *loss = 0;
    *correct = 0;
    if (!reserve(b, &b->labels, "labels", rows * sizeof *labels) ||
        !reserve(b, &b->losses, "losses of the rows", head + rows * (sizeof(float) + sizeof(uint32_t))))
        return;
    char *memory = (char *)b->losses.data;
    float *row_loss = (float *)(void *)(memory + head);
    uint32_t *row_correct = (uint32_t *)(void *)(memory + head + rows * sizeof(float));
    stage(b, b->labels.data, labels, rows * sizeof *labels);
    GNN_LAUNCH_WARPS(b->device, gnn_cuda_softmax_nll, rows, logits.data, (const int32_t *)b->labels.data, logits.rows,
                     logits.cols, row_loss, row_correct);
    GNN_LAUNCH_BLOCKS(b->device, gnn_cuda_loss_total, 1, row_loss, row_correct, logits.rows, (double *)(void *)memory,
                      (uint32_t *)(void *)(memory + offsetof(struct total, correct)));
    gnn_device_download(b->device, &total, memory, sizeof total);
    *loss = total.loss;
    *correct = total.correct;
}

static void cuda_adam(struct gnn_tensor *t, gnn_real *param, const gnn_real *grad, gnn_real *m, gnn_real *v,
                      uint64_t count, const struct gnn_adam *adam)
{
    assert(adam->step >= 1);
    const double correction1 = 1 - pow(adam->beta1, (double)adam->step);
    const double correction2 = 1 - pow(adam->beta2, (double)adam->step);
    const struct gnn_cuda_adam a = {
        (float)adam->beta1,        (float)adam->beta2, (float)(1 - adam->beta1),        (float)(1 - adam->beta2),
        (float)adam->weight_decay, (float)adam->eps,   (float)(adam->lr / correction1), (float)sqrt(correction2),
    };
    GNN_LAUNCH(backend_of(t)->device, gnn_cuda_adam_step, count, param, grad, m, v, count, a);
}

/* ---- sparse ops ---- */

/* out = the rows' sums, by 16 bytes a lane where rows allow it. */
static void row_sum(struct backend *b, struct gnn_mat out, const struct gnn_cuda_block *block, struct gnn_mat x,
                    const float *weight, bool mean)
{
    if (x.cols % 4 == 0 && aligned16(out.data) && aligned16(x.data))
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_row_sum4, block->dst_count, (float4 *)(void *)out.data, *block,
                         (const float4 *)(const void *)x.data, x.cols / 4, weight, mean);
    else
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_row_sum, block->dst_count, out.data, *block, x.data, x.cols, weight, mean);
}

static void cuda_segment_reduce(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat out,
                                const struct gnn_block *host, struct gnn_mat x, uint32_t *argmax)
{
    struct backend *b = backend_of(t);
    assert(out.rows == host->dst_count);
    assert(x.rows == host->src_count);
    assert(out.cols == x.cols);
    const struct resident_block *r = need_block(b, host);
    if (r == NULL)
        return;
    if (kind == GNN_REDUCE_MAX)
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_row_max, host->dst_count, out.data, argmax, r->device, x.data, x.cols);
    else
        row_sum(b, out, &r->device, x, NULL, kind == GNN_REDUCE_MEAN);
}

static void cuda_segment_reduce_back(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat dx,
                                     const struct gnn_block *host, struct gnn_mat dout, const uint32_t *argmax)
{
    struct backend *b = backend_of(t);
    assert(dout.rows == host->dst_count);
    assert(dx.rows == host->src_count);
    assert(dout.cols == dx.cols);
    const struct resident_block *r = need_transpose(b, host);
    if (r == NULL)
        return;
    if (kind == GNN_REDUCE_MAX)
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_source_max, host->src_count, dx.data, r->device, dout.data, dx.cols,
                         argmax);
    else
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_source_sum, host->src_count, dx.data, r->device, dout.data, dx.cols,
                         (const float *)NULL, kind == GNN_REDUCE_MEAN);
}

static void cuda_gcn_weights(struct gnn_tensor *t, enum gnn_gcn_norm norm, gnn_real *weight, gnn_real *source_sum,
                             const struct gnn_block *host)
{
    struct backend *b = backend_of(t);
    const struct resident_block *r = need_transpose(b, host);
    if (r == NULL)
        return;
    GNN_LAUNCH(b->device, gnn_cuda_source_norm, host->src_count, source_sum, r->device, norm == GNN_GCN_NORM_RELEASED);
    GNN_LAUNCH(b->device, gnn_cuda_gcn_weight, host->edge_count, weight, r->device, source_sum);
}

static void cuda_spmm(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_block *host, const gnn_real *weight,
                      struct gnn_mat x)
{
    struct backend *b = backend_of(t);
    assert(out.rows == host->dst_count);
    assert(out.cols == x.cols);
    const struct resident_block *r = need_block(b, host);
    if (r != NULL)
        row_sum(b, out, &r->device, x, weight, false);
}

static void cuda_spmm_back(struct gnn_tensor *t, struct gnn_mat dx, const struct gnn_block *host,
                           const gnn_real *weight, struct gnn_mat dout)
{
    struct backend *b = backend_of(t);
    assert(dout.rows == host->dst_count);
    assert(dx.rows == host->src_count);
    const struct resident_block *r = need_transpose(b, host);
    if (r != NULL)
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_source_sum, host->src_count, dx.data, r->device, dout.data, dx.cols,
                         weight, false);
}

/* ---- attention ---- */

static struct gnn_cuda_attention attention_of(const struct gnn_attention *att)
{
    assert(att->u.cols % att->heads == 0);
    return {
        att->heads, att->u.cols / att->heads, att->slope, att->a_src, att->a_dst, att->u.data, att->s.data, att->d.data,
        att->alpha};
}

static void cuda_gat_scores(struct gnn_tensor *t, const struct gnn_attention *att)
{
    GNN_LAUNCH_WARPS(backend_of(t)->device, gnn_cuda_gat_scores, (uint64_t)att->u.rows * att->heads, attention_of(att),
                     att->u.rows, att->d.rows);
}

static void cuda_gat_softmax(struct gnn_tensor *t, const struct gnn_attention *att, const struct gnn_block *host)
{
    struct backend *b = backend_of(t);
    const struct resident_block *r = need_block(b, host);
    if (r != NULL)
        GNN_LAUNCH(b->device, gnn_cuda_gat_softmax, (uint64_t)host->dst_count * att->heads, attention_of(att),
                   r->device);
}

static void cuda_gat_attend(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                            const struct gnn_block *host)
{
    struct backend *b = backend_of(t);
    const struct resident_block *r = need_block(b, host);
    if (r != NULL)
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_gat_attend, host->dst_count, out.data, attention_of(att), r->device);
}

/* out (heads * channels) = sum over nodes of dscore u, in COLUMN_PARTS parts. */
static void weight_gradient(struct backend *b, float *out, const float *dscore, const struct gnn_cuda_attention *a,
                            uint32_t nodes)
{
    const uint32_t width = a->heads * a->channels;
    float *partial = (float *)b->partial.data;
    GNN_LAUNCH(b->device, gnn_cuda_gat_da, COLUMN_PARTS * (uint64_t)width, partial, dscore, *a, nodes, COLUMN_PARTS);
    GNN_LAUNCH(b->device, gnn_cuda_column_total, width, out, partial, width, COLUMN_PARTS);
}

static void cuda_gat_back(struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                          const struct gnn_block *host, struct gnn_mat dout)
{
    struct backend *b = backend_of(t);
    assert(dout.rows == host->dst_count);
    assert(dout.cols == att->u.cols);
    const struct gnn_cuda_attention a = attention_of(att);
    const struct resident_block *r = need_transpose(b, host);
    if (r == NULL || !reserve(b, &b->partial, "partial sums", COLUMN_PARTS * (uint64_t)att->u.cols * sizeof(float)))
        return;
    const uint64_t targets = (uint64_t)host->dst_count * att->heads, sources = (uint64_t)host->src_count * att->heads;
    GNN_LAUNCH_WARPS(b->device, gnn_cuda_gat_dalpha, targets, grad->dalpha, a, r->device, dout.data);
    GNN_LAUNCH(b->device, gnn_cuda_gat_dscore, targets, grad->dalpha, grad->dd.data, a, r->device);
    GNN_LAUNCH(b->device, gnn_cuda_gat_ds, sources, grad->ds.data, grad->dalpha, a, r->device);
    GNN_LAUNCH_WARPS(b->device, gnn_cuda_gat_du, host->src_count, grad->du.data, grad->ds.data, grad->dd.data, a,
                     r->device, dout.data);
    weight_gradient(b, grad->da_src, grad->ds.data, &a, host->src_count);
    weight_gradient(b, grad->da_dst, grad->dd.data, &a, host->dst_count);
}

/* ---- life ---- */

static void cuda_synchronize(struct gnn_tensor *t)
{
    struct backend *b = backend_of(t);
    gnn_device_synchronize(b->device);
    b->block_count = 0;
    b->staging_used = 0;
}

static enum gnn_status cuda_check(struct gnn_tensor *t, struct gnn_err *err)
{
    const struct backend *b = backend_of(t);
    if (b->status != GNN_OK)
        return gnn_fail(err, b->status, "%s", b->err.message);
    return gnn_device_check(b->device, err);
}

uint64_t gnn_cuda_allocations(const struct gnn_tensor *t)
{
    return ((const struct backend *)t)->allocations;
}

static void cuda_close(struct gnn_tensor *t)
{
    struct backend *b = backend_of(t);
    if (b->device != NULL) {
        gnn_device_synchronize(b->device);
        release_pool(b, false);
        gnn_device_free_pinned(b->device, b->staging);
        gnn_device_close(b->device);
    }
    free(b);
}

static enum gnn_status cuda_open(const struct gnn_tensor_env *env, const struct gnn_profile *profile,
                                 struct gnn_tensor **out, struct gnn_err *err)
{
    (void)profile;
    enum { STAGING_BYTES = 16 << 20 }; /* rows, labels and blocks of a few mini-batches */
    struct backend *b = (struct backend *)calloc(1, sizeof *b);
    if (b == NULL)
        return gnn_fail(err, GNN_ENOMEM, "CUDA back-end (%zu bytes)", sizeof *b);
    b->base.ops = &gnn_tensor_cuda;
    enum gnn_status status = gnn_device_open(env->device, env->precision, &b->device, err);
    if (status == GNN_OK)
        status = gnn_device_alloc_pinned(b->device, "staging of the CUDA back-end", STAGING_BYTES, &b->staging, err);
    b->staging_bytes = status == GNN_OK ? STAGING_BYTES : 0;
    if (status == GNN_OK)
        *out = &b->base;
    else
        cuda_close(&b->base);
    return status;
}

const struct gnn_tensor_ops gnn_tensor_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .upload = cuda_upload,
    .download = cuda_download,
    .upload_async = cuda_upload_async,
    .upload_wait = cuda_upload_wait,
    .fill = cuda_fill,
    .copy = cuda_copy,
    .gather_rows = cuda_gather_rows,
    .gemm = cuda_gemm,
    .add_bias = cuda_add_bias,
    .column_sum = cuda_column_sum,
    .add = cuda_add,
    .segment_reduce = cuda_segment_reduce,
    .segment_reduce_back = cuda_segment_reduce_back,
    .gcn_weights = cuda_gcn_weights,
    .spmm = cuda_spmm,
    .spmm_back = cuda_spmm_back,
    .gat_scores = cuda_gat_scores,
    .gat_softmax = cuda_gat_softmax,
    .gat_attend = cuda_gat_attend,
    .gat_back = cuda_gat_back,
    .head_mean = cuda_head_mean,
    .head_mean_back = cuda_head_mean_back,
    .activate = cuda_activate,
    .activate_back = cuda_activate_back,
    .softmax_nll = cuda_softmax_nll,
    .adam = cuda_adam,
    .synchronize = cuda_synchronize,
    .check = cuda_check,
};

/* SPDX-License-Identifier: MIT */
/* Dense ops on the device: which kernels of dense.h they launch. */
#include "harness/tensor/cuda/dense.h"
#include "harness/tensor/cuda/state.h"

/* Returns how many of `count` numbers a kernel takes by four, and the threads that it has work for. */
static uint64_t quads_of(uint64_t count, bool aligned)
{
    return aligned ? count / 4 : 0;
}

static uint64_t threads_of(uint64_t count, uint64_t quads)
{
    return gnn_max_u64(quads, count - 4 * quads);
}

void cuda_fill(struct gnn_tensor *t, gnn_real *dst, uint64_t count, gnn_real value)
{
    const uint64_t quads = quads_of(count, cuda_aligned16(dst));
    GNN_LAUNCH(cuda_backend_of(t)->device, gnn_cuda_fill, threads_of(count, quads), dst, count, quads, value);
}

void cuda_scale(struct cuda_backend *b, float *values, uint64_t count, float weight)
{
    const uint64_t quads = quads_of(count, cuda_aligned16(values));
    GNN_LAUNCH(b->device, gnn_cuda_scale, threads_of(count, quads), values, count, quads, weight);
}

/* ---- gathers ---- */

/* A gather before a step: the stream is idle between the two, while the mini-batch waits for its turn. Returns whether
 * the gather is the first work since the last synchronize; its time then ends with it. */
static bool begin_gather(struct cuda_backend *b)
{
    const bool first = !b->gathered;
    b->gathered = true;
    cuda_begin_work(b);
    return first;
}

static void end_gather(struct cuda_backend *b, bool first)
{
    if (first)
        gnn_device_work_end(b->device);
}

void cuda_gather_rows(struct gnn_tensor *t, gnn_real *out, const gnn_real *table, uint64_t row_stride,
                      const uint32_t *rows, uint32_t count, uint32_t cols)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const bool first = begin_gather(b);
    const uint32_t *numbers = cuda_need_rows(b, rows, count);
    if (numbers == NULL)
        return;
    const bool quads = cols % 4 == 0 && row_stride % 4 == 0 && cuda_aligned16(out) && cuda_aligned16(table);
    if (quads)
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_gather<float4>, count, (float4 *)out, (const float4 *)table,
                         row_stride / 4, numbers, count, cols / 4);
    else
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_gather<float>, count, out, table, row_stride, numbers, count, cols);
    end_gather(b, first);
}

void cuda_gather_halves(struct gnn_tensor *t, gnn_real *out, const uint16_t *table, uint64_t row_stride,
                        const uint32_t *rows, uint32_t count, uint32_t cols)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const bool first = begin_gather(b);
    const uint32_t *numbers = rows != NULL ? cuda_need_rows(b, rows, count) : NULL;
    if (rows != NULL && numbers == NULL)
        return;
    const bool fours = cols % 4 == 0 && row_stride % 4 == 0 && cuda_aligned16(out) && (uintptr_t)table % 8 == 0;
    if (fours)
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_gather_halves<uint64_t>, count, (float4 *)out, (const uint64_t *)table,
                         row_stride / 4, numbers, count, cols / 4);
    else
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_gather_halves<uint16_t>, count, out, table, row_stride, numbers, count,
                         cols);
    end_gather(b, first);
}

/* The tables in units of `reals` numbers, and whether rows of that unit lie on its size. */
static struct gnn_cuda_tables tables_of(const struct gnn_placement *placement, uint32_t reals, bool *whole)
{
    struct gnn_cuda_tables tables = {};
    *whole = true;
    for (uint32_t i = 0; i < GNN_PLACE_TABLES; i++) {
        tables.rows[i] = placement->table[i].rows;
        tables.stride[i] = placement->table[i].stride / reals;
        *whole = *whole && placement->table[i].stride % reals == 0 && cuda_aligned16(placement->table[i].rows);
    }
    return tables;
}

static void gather_placed_halves(struct cuda_backend *b, gnn_real *out, const struct gnn_placement *placement,
                                 const uint32_t *numbers, uint32_t count, uint32_t cols)
{
    bool whole = false;
    const struct gnn_cuda_tables fours = tables_of(placement, 4, &whole);
    if (whole && cols % 4 == 0 && cuda_aligned16(out)) {
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_gather_placed_halves<uint64_t>, count, (float4 *)out, fours,
                         placement->place, numbers, count, cols / 4);
        return;
    }
    const struct gnn_cuda_tables halves = tables_of(placement, 1, &whole);
    GNN_LAUNCH_WARPS(b->device, gnn_cuda_gather_placed_halves<uint16_t>, count, out, halves, placement->place, numbers,
                     count, cols);
}

static void gather_placed(struct cuda_backend *b, gnn_real *out, const struct gnn_placement *placement,
                          const uint32_t *numbers, uint32_t count, uint32_t cols)
{
    bool whole = false;
    if (placement->type == GNN_F16) {
        gather_placed_halves(b, out, placement, numbers, count, cols);
        return;
    }
    const struct gnn_cuda_tables quads = tables_of(placement, 4, &whole);
    if (whole && cols % 4 == 0 && cuda_aligned16(out)) {
        GNN_LAUNCH_WARPS(b->device, gnn_cuda_gather_placed<float4>, count, (float4 *)out, quads, placement->place,
                         numbers, count, cols / 4);
        return;
    }
    const struct gnn_cuda_tables reals = tables_of(placement, 1, &whole);
    GNN_LAUNCH_WARPS(b->device, gnn_cuda_gather_placed<float>, count, out, reals, placement->place, numbers, count,
                     cols);
}

/* Rows that the kernel reads out of the host's memory cross the bus: its time is a copy's as well. */
void cuda_gather_placed(struct gnn_tensor *t, gnn_real *out, const struct gnn_placement *placement,
                        const uint32_t *rows, uint32_t count, uint32_t cols, uint32_t host_count)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const bool first = begin_gather(b);
    const uint32_t *numbers = cuda_need_rows(b, rows, count);
    if (numbers == NULL)
        return;
    if (host_count > 0)
        gnn_device_copy_begin(b->device, GNN_LANE_STREAM);
    gather_placed(b, out, placement, numbers, count, cols);
    if (host_count > 0)
        gnn_device_copy_end(b->device, GNN_LANE_STREAM);
    gnn_device_count_upload(b->device, host_count * (uint64_t)cols * gnn_feature_type_bytes(placement->type));
    end_gather(b, first);
}

/* Moves the first rows of the lists, and returns how many. */
template <typename Moves>
static uint32_t move_rows(struct gnn_device *d, uint32_t lane, void *table, const uint32_t *to, const void *host_rows,
                          const uint32_t *from, uint32_t count, uint64_t row_bytes)
{
    typedef typename Moves::word word;
    Moves moves = {};
    moves.count = gnn_min_u32(count, Moves::ROWS_MAX);
    memcpy(moves.to, to, moves.count * sizeof *to);
    memcpy(moves.from, from, moves.count * sizeof *from);
    GNN_LAUNCH_IN(d, lane, gnn_cuda_move_rows<Moves>, gnn_device_blocks(d, moves.count * (uint64_t)GNN_WARP),
                  (word *)table, (const word *)host_rows, moves, row_bytes / sizeof(word));
    return moves.count;
}

template <typename T>
static void move_all(struct gnn_device *d, uint32_t lane, void *table, const uint32_t *to, const void *host_rows,
                     const uint32_t *from, uint32_t count, uint64_t row_bytes)
{
    typedef gnn_cuda_few_moves<T> few;
    for (uint32_t done = 0; done < count;) {
        const uint32_t left = count - done;
        const bool short_lists = left <= few::ROWS_MAX || !GNN_LONG_PARAMETERS;
        const auto move = short_lists ? move_rows<few> : move_rows<gnn_cuda_many_moves<T>>;
        done += move(d, lane, table, to + done, host_rows, from + done, left, row_bytes);
    }
}

void cuda_upload_rows(struct gnn_tensor *t, uint32_t lane, void *table, const uint32_t *to, const void *host_rows,
                      const uint32_t *from, uint32_t count, uint64_t row_bytes)
{
    struct cuda_backend *b = cuda_backend_of(t);
    struct gnn_device *d = b->device;
    assert(lane < GNN_LANES_MAX);
    const cuda_quick_call call(b);
    gnn_device_copy_begin(d, lane);
    if (row_bytes % 16 == 0 && cuda_aligned16(table) && cuda_aligned16(host_rows))
        move_all<float4>(d, lane, table, to, host_rows, from, count, row_bytes);
    else
        move_all<unsigned char>(d, lane, table, to, host_rows, from, count, row_bytes);
    gnn_device_count_upload(d, count * row_bytes);
    gnn_device_copy_end(d, lane);
}

void cuda_gemm(struct gnn_tensor *t, bool trans_a, bool trans_b, gnn_real alpha, struct gnn_mat a, struct gnn_mat b,
               gnn_real beta, struct gnn_mat c)
{
    struct cuda_backend *x = cuda_backend_of(t);
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

void cuda_add_bias(struct gnn_tensor *t, struct gnn_mat z, const gnn_real *bias)
{
    GNN_LAUNCH(cuda_backend_of(t)->device, gnn_cuda_add_bias, (uint64_t)z.rows * z.cols, z.data, z.rows, z.cols, bias);
}

uint32_t cuda_column_parts(const struct cuda_backend *b, uint64_t rows)
{
    enum { PARTS_PER_MULTIPROCESSOR = 4, ROWS_MIN = 64 };
    const uint64_t most = (uint64_t)gnn_device_multiprocessors(b->device) * PARTS_PER_MULTIPROCESSOR;
    const uint64_t wanted = gnn_max_u64(gnn_min_u64(most, rows / ROWS_MIN), 1);
    uint32_t parts = 1;
    while (parts * UINT64_C(2) <= wanted)
        parts *= 2;
    return parts;
}

void cuda_column_total(struct cuda_backend *b, float *out, const float *partial, uint32_t width, uint32_t parts)
{
    GNN_LAUNCH(b->device, gnn_cuda_column_total, width, out, partial, width, parts);
}

void cuda_column_sum(struct gnn_tensor *t, gnn_real *out, struct gnn_mat z)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const uint32_t parts = cuda_column_parts(b, z.rows);
    if (!cuda_reserve(b, &b->partial, "partial sums", parts * (uint64_t)z.cols * sizeof *out))
        return;
    float *partial = (float *)b->partial.data;
    GNN_LAUNCH(b->device, gnn_cuda_column_parts, parts * (uint64_t)z.cols, partial, z.data, z.rows, z.cols, parts);
    cuda_column_total(b, out, partial, z.cols, parts);
}

void cuda_add(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count)
{
    const uint64_t quads = quads_of(count, cuda_aligned16(dst) && cuda_aligned16(src));
    GNN_LAUNCH(cuda_backend_of(t)->device, gnn_cuda_add, threads_of(count, quads), dst, src, count, quads);
}

void cuda_head_mean(struct gnn_tensor *t, struct gnn_mat out, struct gnn_mat x, uint32_t heads)
{
    assert(x.cols == out.cols * heads);
    assert(x.rows == out.rows);
    GNN_LAUNCH(cuda_backend_of(t)->device, gnn_cuda_head_mean, (uint64_t)out.rows * out.cols, out.data, x.data,
               out.rows, out.cols, heads);
}

void cuda_head_mean_back(struct gnn_tensor *t, struct gnn_mat dx, struct gnn_mat dout, uint32_t heads)
{
    assert(dx.cols == dout.cols * heads);
    assert(dx.rows == dout.rows);
    GNN_LAUNCH(cuda_backend_of(t)->device, gnn_cuda_head_mean_back, (uint64_t)dx.rows * dx.cols, dx.data, dout.data,
               dout.rows, dout.cols, heads);
}

static struct gnn_cuda_dropout dropout_of(const struct gnn_dropout *drop)
{
    return {drop->key, gnn_dropout_threshold(drop->rate), (float)(1 - drop->rate), (float)(1 / (1 - drop->rate))};
}

void cuda_activate(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat z, const gnn_real *bias,
                   const struct gnn_dropout *drop)
{
    struct gnn_device *d = cuda_backend_of(t)->device;
    const uint64_t words = z.rows * gnn_dropout_words(z.cols);
    if (z.cols % 4 == 0 && cuda_aligned16(z.data) && cuda_aligned16(bias))
        GNN_LAUNCH(d, gnn_cuda_activate<true>, words, act, z.data, z.rows, z.cols, bias, dropout_of(drop));
    else
        GNN_LAUNCH(d, gnn_cuda_activate<false>, words, act, z.data, z.rows, z.cols, bias, dropout_of(drop));
}

void cuda_activate_back(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat dy, struct gnn_mat y,
                        const struct gnn_dropout *drop)
{
    struct gnn_device *d = cuda_backend_of(t)->device;
    const uint64_t words = dy.rows * gnn_dropout_words(dy.cols);
    assert(dy.rows == y.rows);
    assert(dy.cols == y.cols);
    if (dy.cols % 4 == 0 && cuda_aligned16(dy.data) && cuda_aligned16(y.data))
        GNN_LAUNCH(d, gnn_cuda_activate_back<true>, words, act, dy.data, y.data, dy.rows, dy.cols, dropout_of(drop));
    else
        GNN_LAUNCH(d, gnn_cuda_activate_back<false>, words, act, dy.data, y.data, dy.rows, dy.cols, dropout_of(drop));
}

/* Within a step the results go to pinned memory and wait there for synchronize. */
static void bring_result(struct cuda_backend *b, const void *memory, double *loss, uint32_t *correct)
{
    struct cuda_result result = {0, 0};
    if (b->in_step) {
        gnn_device_download_ordered(b->device, b->result.data, memory, sizeof result);
        b->loss_to = loss;
        b->correct_to = correct;
        return;
    }
    cuda_download(&b->base, &result, memory, sizeof result);
    *loss = result.loss;
    *correct = result.correct;
}

void cuda_softmax_nll(struct gnn_tensor *t, struct gnn_mat logits, const int32_t *labels, double *loss,
                      uint32_t *correct)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const uint64_t rows = logits.rows, head = sizeof(struct cuda_result);
    *loss = 0;
    *correct = 0;
    const int32_t *own_labels = cuda_need_labels(b, labels, logits.rows);
    if (own_labels == NULL ||
        !cuda_reserve(b, &b->losses, "losses of the rows", head + rows * (sizeof(float) + sizeof(uint32_t))))
        return;
    char *memory = (char *)b->losses.data;
    float *row_loss = (float *)(void *)(memory + head);
    uint32_t *row_correct = (uint32_t *)(void *)(memory + head + rows * sizeof(float));
    GNN_LAUNCH_WARPS(b->device, gnn_cuda_softmax_nll, rows, logits.data, own_labels, logits.rows, logits.cols, row_loss,
                     row_correct);
    GNN_LAUNCH_BLOCKS(b->device, gnn_cuda_loss_total, 1, row_loss, row_correct, logits.rows, (double *)(void *)memory,
                      (uint32_t *)(void *)(memory + offsetof(struct cuda_result, correct)));
    bring_result(b, memory, loss, correct);
}

void cuda_adam(struct gnn_tensor *t, gnn_real *param, const gnn_real *grad, gnn_real *m, gnn_real *v, uint64_t count,
               const struct gnn_adam *adam)
{
    assert(adam->step >= 1);
    const double correction1 = 1 - pow(adam->beta1, (double)adam->step);
    const double correction2 = 1 - pow(adam->beta2, (double)adam->step);
    const struct gnn_cuda_adam a = {
        (float)adam->beta1,        (float)adam->beta2, (float)(1 - adam->beta1),        (float)(1 - adam->beta2),
        (float)adam->weight_decay, (float)adam->eps,   (float)(adam->lr / correction1), (float)sqrt(correction2),
    };
    const bool aligned = cuda_aligned16(param) && cuda_aligned16(grad) && cuda_aligned16(m) && cuda_aligned16(v);
    const uint64_t quads = quads_of(count, aligned);
    GNN_LAUNCH(cuda_backend_of(t)->device, gnn_cuda_adam_step, threads_of(count, quads), param, grad, m, v, count,
               quads, a);
}

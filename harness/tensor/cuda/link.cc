/* SPDX-License-Identifier: MIT */
/* Link prediction on the device: which kernels of link.h an op launches. Lists come from the host in the stream's
 * order, and so does the loss go back, with the next synchronize. */
#include "harness/tensor/cuda/link.h"
#include "harness/tensor/cuda/sum_sources.h"

static void same_shape(struct gnn_mat a, struct gnn_mat b)
{
    assert(a.rows == b.rows);
    assert(a.cols == b.cols);
}

static uint64_t count_of(struct gnn_mat m)
{
    return (uint64_t)m.rows * m.cols;
}

static void link_combine(struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat q, struct gnn_mat a,
                         struct gnn_mat r)
{
    same_shape(q, a);
    same_shape(q, r);
    GNN_LAUNCH(cuda_backend_of(t)->device, gnn_cuda_combine, count_of(q), decoder, q.data, a.data, r.data, q.rows,
               q.cols);
}

static void link_combine_back(struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat da, struct gnn_mat dr,
                              struct gnn_mat dq, struct gnn_mat a, struct gnn_mat r)
{
    same_shape(dq, a);
    same_shape(dq, r);
    same_shape(dq, da);
    same_shape(dq, dr);
    GNN_LAUNCH(cuda_backend_of(t)->device, gnn_cuda_combine_back, count_of(dq), decoder, da.data, dr.data, dq.data,
               a.data, r.data, dq.rows, dq.cols);
}

static void link_pair_scores(struct gnn_tensor *t, enum gnn_decoder decoder, gnn_real *out, struct gnn_mat q,
                             struct gnn_mat x)
{
    same_shape(q, x);
    GNN_LAUNCH_WARPS(cuda_backend_of(t)->device, gnn_cuda_pair_scores, q.rows, decoder == GNN_DECODER_TRANSE, out,
                     q.data, x.data, q.rows, q.cols);
}

static void link_pair_scores_back(struct gnn_tensor *t, enum gnn_decoder decoder, struct gnn_mat dq, struct gnn_mat dx,
                                  const gnn_real *g, struct gnn_mat q, struct gnn_mat x)
{
    same_shape(dq, q);
    same_shape(dx, x);
    GNN_LAUNCH_WARPS(cuda_backend_of(t)->device, gnn_cuda_pair_scores_back, q.rows, decoder == GNN_DECODER_TRANSE,
                     dq.data, dx.data, g, q.data, x.data, q.rows, q.cols);
}

/* Room for a real of every query and every candidate; NULL when the device is full. */
static float *side_room(struct cuda_backend *b, struct gnn_mat q, struct gnn_mat x)
{
    const uint64_t count = q.rows + (uint64_t)x.rows;
    return cuda_reserve(b, &b->sides, "a real of every candidate", count * sizeof(float)) ? (float *)b->sides.data
                                                                                          : NULL;
}

static void link_distances(struct gnn_tensor *t, struct gnn_mat scores, struct gnn_mat q, struct gnn_mat x)
{
    struct cuda_backend *b = cuda_backend_of(t);
    assert(scores.rows == q.rows);
    assert(scores.cols == x.rows);
    assert(q.cols == x.cols);
    float *squares = side_room(b, q, x);
    if (squares == NULL)
        return;
    GNN_LAUNCH_WARPS(b->device, gnn_cuda_squares, q.rows, squares, q.data, q.rows, q.cols);
    GNN_LAUNCH_WARPS(b->device, gnn_cuda_squares, x.rows, squares + q.rows, x.data, x.rows, x.cols);
    GNN_LAUNCH(b->device, gnn_cuda_distances, count_of(scores), scores.data, squares, squares + q.rows, scores.rows,
               scores.cols);
}

static void link_distances_back(struct gnn_tensor *t, struct gnn_mat g, struct gnn_mat scores, struct gnn_mat q,
                                struct gnn_mat x, struct gnn_mat dq, struct gnn_mat dx)
{
    struct cuda_backend *b = cuda_backend_of(t);
    same_shape(g, scores);
    same_shape(dq, q);
    same_shape(dx, x);
    assert(g.rows == q.rows);
    assert(g.cols == x.rows);
    float *totals = side_room(b, q, x);
    if (totals == NULL)
        return;
    GNN_LAUNCH(b->device, gnn_cuda_distance_weights, count_of(g), g.data, scores.data, count_of(g));
    GNN_LAUNCH_WARPS(b->device, gnn_cuda_row_totals, g.rows, totals, g.data, g.rows, g.cols);
    cuda_column_sum(t, totals + g.rows, g);
    GNN_LAUNCH(b->device, gnn_cuda_minus_rows, count_of(dq), dq.data, totals, q.data, q.rows, q.cols);
    GNN_LAUNCH(b->device, gnn_cuda_minus_rows, count_of(dx), dx.data, totals + g.rows, x.data, x.rows, x.cols);
}

/* Added up on the device, over all chunks of a mini-batch: it is asked for once. */
static void link_loss(struct gnn_tensor *t, struct gnn_mat scores, gnn_real *positive, const uint32_t *own,
                      double *loss)
{
    struct cuda_backend *b = cuda_backend_of(t);
    assert(b->link_loss_to == NULL || b->link_loss_to == loss);
    const uint32_t *masked = cuda_need_rows(b, own, scores.cols);
    if (masked == NULL || !cuda_reserve(b, &b->losses, "losses of the rows", scores.rows * (uint64_t)sizeof(float)) ||
        !cuda_reserve(b, &b->link_loss, "loss of links", sizeof(double)))
        return;
    if (b->link_loss_to == NULL)
        cuda_fill(t, (float *)b->link_loss.data, sizeof(double) / sizeof(float), 0); /* all bits 0: the real 0 */
    b->link_loss_to = loss;
    float *row_loss = (float *)b->losses.data;
    GNN_LAUNCH_WARPS(b->device, gnn_cuda_link_loss, scores.rows, scores.data, positive, masked, scores.rows,
                     scores.cols, row_loss);
    GNN_LAUNCH_BLOCKS(b->device, gnn_cuda_link_total, 1, row_loss, scores.rows, (double *)b->link_loss.data);
}

static uint32_t largest(const uint32_t *rows, uint32_t count)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++)
        most = rows[i] > most ? rows[i] : most;
    return most;
}

/* Rows that repeat are added in the list's order: a stable sort brings them together. */
static void link_scatter_add(struct gnn_tensor *t, gnn_real *table, const uint32_t *rows, struct gnn_mat x)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const uint64_t count = x.rows, sort_bytes = gnn_device_sort_bytes(x.rows);
    if (count == 0)
        return;
    const uint32_t table_rows = largest(rows, x.rows) + 1;
    const uint32_t *keys = cuda_need_rows(b, rows, x.rows);
    if (keys == NULL ||
        !cuda_reserve(b, &b->scatter, "order of rows", (3 * count + table_rows + 1) * sizeof(uint32_t)) ||
        !cuda_reserve(b, &b->sort, "sort of rows", sort_bytes))
        return;
    uint32_t *number = (uint32_t *)b->scatter.data, *sorted = number + count, *from = sorted + count;
    uint32_t *starts = from + count;
    GNN_LAUNCH(b->device, gnn_cuda_count_up, count, number, x.rows);
    gnn_device_sort(b->device, b->sort.data, b->sort.bytes, keys, sorted, number, from, x.rows,
                    cuda_bits_of(table_rows));
    cuda_source_starts(b, starts, sorted, x.rows, table_rows);
    struct gnn_cuda_block lists = {};
    lists.src_count = table_rows;
    lists.edge_count = x.rows;
    lists.src_start = starts;
    lists.src_edge = from;
    lists.entry_src = sorted;
    cuda_sum_sources(b, table, &lists, gnn_cuda_rows_term{x.cols, x.data});
}

static void link_adagrad(struct gnn_tensor *t, gnn_real *value, const gnn_real *grad, gnn_real *state, uint64_t count,
                         const struct gnn_adagrad *adagrad)
{
    GNN_LAUNCH(cuda_backend_of(t)->device, gnn_cuda_adagrad_step, count, value, grad, state, count, (float)adagrad->lr,
               (float)adagrad->eps);
}

const struct gnn_link_ops gnn_cuda_link = {
    .combine = link_combine,
    .combine_back = link_combine_back,
    .pair_scores = link_pair_scores,
    .pair_scores_back = link_pair_scores_back,
    .distances = link_distances,
    .distances_back = link_distances_back,
    .loss = link_loss,
    .scatter_add = link_scatter_add,
    .adagrad = link_adagrad,
    .cubes_back = nullptr,
};

/* SPDX-License-Identifier: MIT */
/* tensor_ops: the arithmetic of the models behind one table, so that plain loops (ref), BLAS (cpu), CUDA (plugin) and a
 * roofline (modelled) serve the same model code. Matrices are row-major and dense. Every pointer passed in was obtained
 * from this back-end's alloc, or from the world as feature memory where the op says "host"; a caller never dereferences
 * them.
 *
 * gnn_real is float; the finite-difference tests compile tensor/ref and model/ a second time with
 * -DGNN_REAL_DOUBLE. Operations are deterministic: same input, same bits, for a given back-end and thread
 * count. Sizes are trusted (asserted); the only errors are GNN_ENOMEM, GNN_ECAP and those of a device (GNN_EGPU: its
 * memory is full). */
#ifndef GNN_TENSOR_H
#define GNN_TENSOR_H

#include "harness/base/block.h"
#include "harness/oocgnn.h"

#include <assert.h>

#ifdef GNN_REAL_DOUBLE
typedef double gnn_real;
#else
typedef float gnn_real;
#endif

struct gnn_mat {
    gnn_real *data; /* (rows, cols), leading dimension cols */
    uint32_t rows;
    uint32_t cols;
};

/* The first rows of m: targets are the prefix of the sources. */
static inline struct gnn_mat gnn_mat_head(struct gnn_mat m, uint32_t rows)
{
    assert(rows <= m.rows);
    return (struct gnn_mat){m.data, rows, m.cols};
}

enum gnn_reduce { GNN_REDUCE_MEAN, GNN_REDUCE_SUM, GNN_REDUCE_MAX };
enum gnn_activation { GNN_ACT_NONE, GNN_ACT_RELU, GNN_ACT_ELU };

/* w_ij = 1 / sqrt(deg(i) d_j) with deg(i) the edges of target i; d_j = the sum of 1 / sqrt(deg(i)) over the targets i
 * of source j (as in the scripts that GNNDrive released), or their count (Kipf and Welling 2017, equation 2). */
enum gnn_gcn_norm { GNN_GCN_NORM_RELEASED, GNN_GCN_NORM_STANDARD };

/* Inverted dropout. Element (i, c) of a matrix is kept iff a hash of (key, i, c) says so (tensor/dropout.h), so the
 * backward pass draws the same mask again and nothing is stored. */
struct gnn_dropout {
    double rate; /* [0, 1); 0: nothing is dropped and key is not used */
    uint64_t key;
};

struct gnn_adam {
    double lr, beta1, beta2, eps;
    double weight_decay; /* added to the gradient, as torch.optim.Adam does */
    uint64_t step;       /* 1 for the first */
};

/* The attention of one GAT layer on one block (Velickovic et al. 2018). Slots of row i start at row_start[i] + i: first
 * the row's edges, last the self-loop; the slot of an edge that is the target itself holds alpha =
 * 0. */
struct gnn_attention {
    uint32_t heads;
    gnn_real slope;                /* of the leaky ReLU, from 0 to 1 */
    const gnn_real *a_src, *a_dst; /* (heads * channels) */
    struct gnn_mat u;              /* (src_count, heads * channels): W x */
    struct gnn_mat s;              /* (src_count, heads): <a_src, u>; written by gat_scores */
    struct gnn_mat d;              /* (dst_count, heads): <a_dst, u>; written by gat_scores */
    gnn_real *alpha;               /* (edge_count + dst_count, heads); written by gat_softmax */
};

struct gnn_attention_grad {
    struct gnn_mat du;         /* (src_count, heads * channels), written */
    gnn_real *da_src, *da_dst; /* (heads * channels), written */
    struct gnn_mat ds, dd;     /* scratch, shapes of s and d */
    gnn_real *dalpha;          /* scratch, shape of alpha */
};

enum gnn_precision { GNN_PRECISION_FP32, GNN_PRECISION_TF32, GNN_PRECISION_BF16 };

/* Lanes are numbered 0 to GNN_LANES_MAX - 1; GNN_LANE_STREAM is the stream that ops run in, where an event op takes
 * either. */
enum { GNN_LANES_MAX = 64 };

/* What a device's back-end pins of the host's memory when it is opened; a sole worker's memory plan counts it. */
enum { GNN_TENSOR_STAGING_BYTES = 4 << 20 };
#define GNN_LANE_STREAM UINT32_MAX

/* A point in a lane or in the stream; NULL where a back-end has finished what was given to it. */
struct gnn_event;

/* Room for one mini-batch's lists on the device; NULL where ops read the host's. */
struct gnn_resident;

/* The lists of a mini-batch that ops take from the host: blocks, and where not NULL the labels of the seeds
 * (seed_count) and the row numbers that gather_rows takes (node_count). */
struct gnn_batch_lists {
    const struct gnn_batch_view *view;
    const int32_t *labels;
    const uint32_t *rows;
};

/* Where each row of a table is: one of a few tables, in the back-end's memory or in pinned memory of the host (DiskGNN
 * section 5: GPU cache, CPU cache, what was read; MariusGNN: the partitions in memory). A word of `place` names table
 * and row; GNN_PLACE_NONE: the row is in none. */
enum { GNN_PLACE_TABLES = 3, GNN_PLACE_ROW_BITS = 30 };
#define GNN_PLACE_NONE UINT32_MAX
struct gnn_placement {
    struct {
        const gnn_real *rows;
        uint64_t stride; /* reals between rows */
    } table[GNN_PLACE_TABLES];
    const uint32_t *place; /* on the back-end */
};
static inline uint32_t gnn_place(uint32_t table, uint32_t row)
{
    return table << GNN_PLACE_ROW_BITS | row;
}

/* What a device did since it was asked last. Zero where the host computes: its record has none of it. */
struct gnn_device_times {
    uint64_t kernel_ns; /* from the first op after a synchronize to the last before the next: the stream was busy */
    uint64_t copy_ns;   /* of what crosses the bus outside of a step's graph, without gaps; lanes and stream added up */
    uint64_t uploaded_bytes, downloaded_bytes;
    uint64_t launches;
    uint64_t graph_steps, graph_builds; /* steps launched as one graph; of these, those that had to build it anew */
};

/* What a back-end may use from outside; passed at open, copied. */
struct gnn_tensor_env {
    uint32_t threads;               /* of BLAS and loops */
    bool gpu;                       /* modelled: the profile's GPU, else its CPU */
    uint32_t device;                /* cuda: number of the GPU */
    struct gnn_tensor *same_device; /* modelled: a back-end whose GPU this one uses too; NULL: one of its own */
    enum gnn_precision precision;   /* cuda: what the inputs of GEMM are rounded to */
    bool graphs;                    /* cuda: a step is captured and launched as one graph */
    enum gnn_status (*alloc)(void *ctx, const char *name, uint64_t bytes, void **out, struct gnn_err *err);
    void (*free)(void *ctx, void *ptr);
    /* The clock of the world, and telling it that the calling thread has waited for the device (GNN_WAIT_COMPUTE).
     * Devices only; may be NULL for those that are not modelled. Any thread. */
    uint64_t (*now_ns)(void *ctx);
    void (*waited)(void *ctx, uint64_t ns);
    /* What the calling thread has slept so far without telling anybody (gnn_split_unnamed_ns): where it grows across a
     * driver's call, the call slept. Devices only; may be NULL. Any thread. */
    int64_t (*asleep_ns)(void *ctx);
    /* Modelled only, NULL elsewhere: waiting for the accelerator (GNN_WAIT_COMPUTE), and computing on a core of the
     * host for that long. Any thread. */
    void (*wait_until)(void *ctx, uint64_t deadline_ns);
    void (*compute_ns)(void *ctx, uint64_t ns);
    void *ctx;
};

struct gnn_profile;
struct gnn_link_ops;
struct gnn_group_ops;
struct gnn_gat_rows_ops;
struct gnn_sage_ops;
struct gnn_tensor; /* a back-end's open state; starts with `ops` */

struct gnn_tensor_ops {
    const char *name; /* "ref", "cpu", "cuda", "model": the record's compute column */

    /* profile: what is modelled; NULL for the back-ends that compute. */
    enum gnn_status (*open)(const struct gnn_tensor_env *env, const struct gnn_profile *profile,
                            struct gnn_tensor **out, struct gnn_err *err);
    void (*close)(struct gnn_tensor *t);

    enum gnn_status (*alloc)(struct gnn_tensor *t, const char *name, uint64_t bytes, void **out, struct gnn_err *err);
    void (*free)(struct gnn_tensor *t, void *ptr);
    void (*upload)(struct gnn_tensor *t, void *dst, const void *host_src, uint64_t bytes);
    /* host_dst may be NULL where there are no values: feature memory, to which a modelled copy takes its time. */
    void (*download)(struct gnn_tensor *t, void *host_dst, const void *src, uint64_t bytes);
    /* Copies that run beside everything else, in the order they were given to their lane (a CUDA stream; lanes are
     * numbered from 0, one thread at a time uses a lane). host_src is pinned memory and stays untouched until
     * upload_wait(lane), which returns when the lane's copies have landed. */
    void (*upload_async)(struct gnn_tensor *t, uint32_t lane, void *dst, const void *host_src, uint64_t bytes);
    void (*upload_wait)(struct gnn_tensor *t, uint32_t lane);
    /* Row from[i] of pinned host memory goes to row to[i] of table, in the lane's order. One launch moves many rows: a
     * kernel reads the host's memory across the bus. The lists are read before it returns. */
    void (*upload_rows)(struct gnn_tensor *t, uint32_t lane, void *table, const uint32_t *to, const void *host_rows,
                        const uint32_t *from, uint32_t count, uint64_t row_bytes);

    /* Registers memory of the world with the device: lanes copy from it and gathers read it where it lies. The caller
     * allocated it (so the cap counts it) and unpins it before it frees it. GNN_ENOMEM or GNN_ENOTSUP with name, size
     * and remedy. */
    enum gnn_status (*pin)(struct gnn_tensor *t, const char *name, void *host, uint64_t bytes, struct gnn_err *err);
    void (*unpin)(struct gnn_tensor *t, void *host); /* accepts NULL; nothing may be reading it */

    /* Order between lanes and the stream without the host waiting. record: the event is the point that the lane (or the
     * stream) has reached. await: what is given to the lane (or the stream) from now on starts after the event. wait:
     * the host waits. An event that was never recorded has passed. An event is one thread's at a time. */
    enum gnn_status (*event_open)(struct gnn_tensor *t, struct gnn_event **out, struct gnn_err *err);
    void (*event_close)(struct gnn_tensor *t, struct gnn_event *event); /* accepts NULL */
    void (*event_record)(struct gnn_tensor *t, struct gnn_event *event, uint32_t lane);
    void (*event_await)(struct gnn_tensor *t, struct gnn_event *event, uint32_t lane);
    void (*event_wait)(struct gnn_tensor *t, struct gnn_event *event);

    /* A mini-batch's lists ahead of the ops that need them. stage copies them into pinned memory and starts one copy up
     * in the lane; the host's lists stay as they are until the batch is done with, as ops know them by their addresses.
     * use makes this batch the one that ops are about: they start after its copy and find its lists there; use(NULL)
     * ends that, and a later stage into the same room waits for the ops before it. Lists that were not staged go up
     * when an op first needs them. stage is called by the lane's thread, use by the computing one. */
    enum gnn_status (*resident_open)(struct gnn_tensor *t, struct gnn_resident **out, struct gnn_err *err);
    void (*resident_close)(struct gnn_tensor *t, struct gnn_resident *room); /* accepts NULL; not while in use */
    enum gnn_status (*resident_stage)(struct gnn_tensor *t, struct gnn_resident *room, uint32_t lane,
                                      const struct gnn_batch_lists *lists, struct gnn_err *err);
    void (*resident_use)(struct gnn_tensor *t, struct gnn_resident *room);

    /* Around the ops of a training step that has the same ops each time, so that a device may launch them as one. From
     * begin to end no memory is allocated, freed or copied by the caller, and softmax_nll's results arrive with the
     * next synchronize. */
    void (*step_begin)(struct gnn_tensor *t, const struct gnn_batch_lists *lists);
    void (*step_end)(struct gnn_tensor *t);

    /* Since the last call. Any thread. */
    void (*take_times)(struct gnn_tensor *t, struct gnn_device_times *out);
    /* Opens a named range of the calling thread in a profiler's timeline (NVTX); NULL closes the innermost. */
    void (*range)(struct gnn_tensor *t, const char *name);
    void (*fill)(struct gnn_tensor *t, gnn_real *dst, uint64_t count, gnn_real value);
    void (*copy)(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count);

    /* out[i] = table[rows[i]]; table rows are row_stride reals apart; rows on the host, out (count, cols). `table` is
     * the back-end's or pinned memory of the host (in a back-end that computes there: any). */
    void (*gather_rows)(struct gnn_tensor *t, gnn_real *out, const gnn_real *table, uint64_t row_stride,
                        const uint32_t *rows, uint32_t count, uint32_t cols);
    /* out[i] = the row that place[rows[i]] names; where that is GNN_PLACE_NONE, out[i] stays as it is. host_count of
     * the rows lie in the host's memory: what crosses the bus. */
    void (*gather_placed)(struct gnn_tensor *t, gnn_real *out, const struct gnn_placement *placement,
                          const uint32_t *rows, uint32_t count, uint32_t cols, uint32_t host_count);

    /* c = alpha * op(a) * op(b) + beta * c */
    void (*gemm)(struct gnn_tensor *t, bool trans_a, bool trans_b, gnn_real alpha, struct gnn_mat a, struct gnn_mat b,
                 gnn_real beta, struct gnn_mat c);
    void (*add_bias)(struct gnn_tensor *t, struct gnn_mat z, const gnn_real *bias);        /* z_i += bias */
    void (*column_sum)(struct gnn_tensor *t, gnn_real *out, struct gnn_mat z);             /* out = sum_i z_i */
    void (*add)(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count); /* dst += src */

    /* out (dst_count, cols) = reduce over the sampled sources of x (src_count, cols); an empty row gives 0. MAX writes
     * the winning source per element to argmax (dst_count, cols), which may be NULL otherwise. */
    void (*segment_reduce)(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat out, const struct gnn_block *b,
                           struct gnn_mat x, uint32_t *argmax);
    /* dx (src_count, cols) += the transpose of the above applied to dout. */
    void (*segment_reduce_back)(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat dx,
                                const struct gnn_block *b, struct gnn_mat dout, const uint32_t *argmax);

    /* weight (edge_count) of every edge of the block (enum gnn_gcn_norm); source_sum (src_count) is scratch. */
    void (*gcn_weights)(struct gnn_tensor *t, enum gnn_gcn_norm norm, gnn_real *weight, gnn_real *source_sum,
                        const struct gnn_block *b);
    /* out_i = sum_j weight_ij x_j, and its transpose: dx_j += sum_i weight_ij dout_i. */
    void (*spmm)(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_block *b, const gnn_real *weight,
                 struct gnn_mat x);
    void (*spmm_back)(struct gnn_tensor *t, struct gnn_mat dx, const struct gnn_block *b, const gnn_real *weight,
                      struct gnn_mat dout);

    /* GAT: scores, then softmax, then out (dst_count, heads * channels) = sum of alpha u. */
    void (*gat_scores)(struct gnn_tensor *t, const struct gnn_attention *att);
    void (*gat_softmax)(struct gnn_tensor *t, const struct gnn_attention *att, const struct gnn_block *b);
    void (*gat_attend)(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                       const struct gnn_block *b);
    void (*gat_back)(struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att,
                     const struct gnn_block *b, struct gnn_mat dout);
    /* out (rows, channels) = mean over heads of x (rows, heads * channels), and its transpose (dx is written). */
    void (*head_mean)(struct gnn_tensor *t, struct gnn_mat out, struct gnn_mat x, uint32_t heads);
    void (*head_mean_back)(struct gnn_tensor *t, struct gnn_mat dx, struct gnn_mat dout, uint32_t heads);

    /* A layer's epilogue in one pass, in place: z = dropout(act(z + bias)). bias (cols) may be NULL. No activation
     * hides a NaN. */
    void (*activate)(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat z, const gnn_real *bias,
                     const struct gnn_dropout *drop);
    /* dy is turned into the gradient before the activation, given the epilogue's output y and the same drop. */
    void (*activate_back)(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat dy, struct gnn_mat y,
                          const struct gnn_dropout *drop);

    /* Row-wise log-softmax + mean NLL over rows. logits (rows, classes) is replaced by dlogits = (softmax - onehot) /
     * rows. *loss and *correct (argmax == label, the lowest class wins a tie) come back to the host, within a step with
     * the next synchronize. labels on the host, each in [0, classes). No rows: loss 0. */
    void (*softmax_nll)(struct gnn_tensor *t, struct gnn_mat logits, const int32_t *labels, double *loss,
                        uint32_t *correct);
    void (*adam)(struct gnn_tensor *t, gnn_real *param, const gnn_real *grad, gnn_real *m, gnn_real *v, uint64_t count,
                 const struct gnn_adam *adam);
    void (*synchronize)(struct gnn_tensor *t); /* everything above has finished when this returns */
    /* GNN_OK, or the first failure of any op since open (a device's launch, copy or full memory). NULL where none can
     * fail. Asked after synchronize, before results are used. */
    enum gnn_status (*check)(struct gnn_tensor *t, struct gnn_err *err);
    const struct gnn_link_ops *link;         /* harness/tensor/link.h; NULL: the back-end cannot predict links */
    const struct gnn_group_ops *group;       /* harness/tensor/group.h; NULL: several sum their gradients on the host */
    const struct gnn_gat_rows_ops *gat_rows; /* harness/tensor/gat_rows.h; NULL: GAT maps rows before it sums them */
    const struct gnn_sage_ops *sage;         /* harness/tensor/sage.h; NULL: a layer goes op by op */
};

/* The ops by name, so that a back-end declares its functions and fills its table from a list: X(op) for each. TUNED are
 * those where a plain loop is not as fast as anything; products are BLAS's. */
/* clang-format off */
#define GNN_TENSOR_PLAIN_OPS(X) \
    X(fill) X(gather_rows) X(gather_placed) X(add_bias) X(add) X(gcn_weights) X(head_mean) X(head_mean_back) X(adam)
#define GNN_TENSOR_TUNED_OPS(X) \
    X(column_sum) X(segment_reduce) X(segment_reduce_back) X(spmm) X(spmm_back) X(gat_scores) X(gat_softmax) \
    X(gat_attend) X(gat_back) X(activate) X(activate_back) X(softmax_nll)
#define GNN_TENSOR_MEMORY_OPS(X) \
    X(close) X(alloc) X(free) X(upload) X(download) X(upload_async) X(upload_wait) X(upload_rows) X(pin) X(unpin) \
    X(event_open) X(event_close) X(event_record) X(event_await) X(event_wait) X(resident_open) X(resident_close) \
    X(resident_stage) X(resident_use) X(step_begin) X(step_end) X(take_times) X(range) X(copy) X(synchronize)
/* clang-format on */

/* The type of an op's function. */
#define GNN_TENSOR_OP(op) __typeof__(*((struct gnn_tensor_ops *)0)->op)

struct gnn_tensor {
    const struct gnn_tensor_ops *ops; /* back-ends embed this struct first */
    bool host_memory;                 /* alloc gives host memory: reads and gathers may land in it, no upload needed */
    uint64_t memory_bytes;            /* of a device; 0: of the host, or unknown */
    bool no_values;                   /* modelled: an op takes its time and computes nothing */
};

extern const struct gnn_tensor_ops gnn_tensor_ref; /* plain loops in the order of the formulas: the oracle */
#ifndef GNN_REAL_DOUBLE
extern const struct gnn_tensor_ops gnn_tensor_cpu;      /* BLAS, vectorised */
extern const struct gnn_tensor_ops gnn_tensor_modelled; /* a profile's CPU or GPU: time and memory, no values */
#endif

#endif

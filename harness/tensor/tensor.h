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
    gnn_real slope;                /* of the leaky ReLU */
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

/* What a back-end may use from outside; passed at open, copied. */
struct gnn_tensor_env {
    uint32_t threads;             /* of BLAS and loops */
    bool gpu;                     /* modelled: the profile's GPU, else its CPU */
    uint32_t device;              /* cuda: number of the GPU */
    enum gnn_precision precision; /* cuda: what the inputs of GEMM are rounded to */
    enum gnn_status (*alloc)(void *ctx, const char *name, uint64_t bytes, void **out, struct gnn_err *err);
    void (*free)(void *ctx, void *ptr);
    /* Modelled only, NULL elsewhere: the clock of the world, waiting for the accelerator (GNN_WAIT_COMPUTE), and
     * computing on a core of the host for that long. Any thread. */
    uint64_t (*now_ns)(void *ctx);
    void (*wait_until)(void *ctx, uint64_t deadline_ns);
    void (*compute_ns)(void *ctx, uint64_t ns);
    void *ctx;
};

struct gnn_profile;
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
    void (*download)(struct gnn_tensor *t, void *host_dst, const void *src, uint64_t bytes);
    /* Copies that run beside everything else, in the order they were given to their lane (a CUDA stream; lanes are
     * numbered from 0, one thread at a time uses a lane). host_src is pinned memory and stays untouched until
     * upload_wait(lane), which returns when the lane's copies have landed. */
    void (*upload_async)(struct gnn_tensor *t, uint32_t lane, void *dst, const void *host_src, uint64_t bytes);
    void (*upload_wait)(struct gnn_tensor *t, uint32_t lane);
    void (*fill)(struct gnn_tensor *t, gnn_real *dst, uint64_t count, gnn_real value);
    void (*copy)(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count);

    /* out[i] = table[rows[i]]; table rows are row_stride reals apart; `table` may be feature memory of the world
     * (host), out (count, cols). */
    void (*gather_rows)(struct gnn_tensor *t, gnn_real *out, const gnn_real *table, uint64_t row_stride,
                        const uint32_t *rows, uint32_t count, uint32_t cols);

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
     * rows. *loss and *correct (argmax == label, the lowest class wins a tie) come back to the host. labels on the
     * host, each in [0, classes). No rows: loss 0. */
    void (*softmax_nll)(struct gnn_tensor *t, struct gnn_mat logits, const int32_t *labels, double *loss,
                        uint32_t *correct);
    void (*adam)(struct gnn_tensor *t, gnn_real *param, const gnn_real *grad, gnn_real *m, gnn_real *v, uint64_t count,
                 const struct gnn_adam *adam);
    void (*synchronize)(struct gnn_tensor *t); /* everything above has finished when this returns */
    /* GNN_OK, or the first failure of any op since open (a device's launch, copy or full memory). NULL where none can
     * fail. Asked after synchronize, before results are used. */
    enum gnn_status (*check)(struct gnn_tensor *t, struct gnn_err *err);
};

/* The ops by name, so that a back-end declares its functions and fills its table from a list: X(op) for each. TUNED are
 * those where a plain loop is not as fast as anything; products are BLAS's. */
/* clang-format off */
#define GNN_TENSOR_PLAIN_OPS(X) \
    X(fill) X(gather_rows) X(add_bias) X(add) X(gcn_weights) X(head_mean) X(head_mean_back) X(adam)
#define GNN_TENSOR_TUNED_OPS(X) \
    X(column_sum) X(segment_reduce) X(segment_reduce_back) X(spmm) X(spmm_back) X(gat_scores) X(gat_softmax) \
    X(gat_attend) X(gat_back) X(activate) X(activate_back) X(softmax_nll)
#define GNN_TENSOR_MEMORY_OPS(X) \
    X(close) X(alloc) X(free) X(upload) X(download) X(upload_async) X(upload_wait) X(copy) X(synchronize)
/* clang-format on */

/* The type of an op's function. */
#define GNN_TENSOR_OP(op) __typeof__(*((struct gnn_tensor_ops *)0)->op)

struct gnn_tensor {
    const struct gnn_tensor_ops *ops; /* back-ends embed this struct first */
    bool host_memory;                 /* alloc gives host memory: reads and gathers may land in it, no upload needed */
    bool no_values;                   /* modelled: an op takes its time and computes nothing */
};

extern const struct gnn_tensor_ops gnn_tensor_ref; /* plain loops in the order of the formulas: the oracle */
#ifndef GNN_REAL_DOUBLE
extern const struct gnn_tensor_ops gnn_tensor_cpu;      /* BLAS, vectorised */
extern const struct gnn_tensor_ops gnn_tensor_modelled; /* a profile's CPU or GPU: time and memory, no values */
#endif

#endif

/* SPDX-License-Identifier: MIT */
/* tensor_ops: the arithmetic of the models behind one table of operations. Plain loops (ref), BLAS (cpu), CUDA (plugin)
 * and a roofline (modelled) implement it for the same model code. Matrices are row-major and dense. Every pointer
 * passed in comes from this back-end's alloc, or is feature memory of the world where an op accepts host memory. A
 * caller never dereferences them.
 *
 * The type gnn_real is float. The finite-difference tests compile tensor/ref and model/ a second time with
 * -DGNN_REAL_DOUBLE. Operations are deterministic: same input, same bits, for a given back-end and thread count. Sizes
 * are trusted and asserted. The only errors are GNN_ENOMEM, GNN_ECAP and those of a device (GNN_EGPU: its memory is
 * full). */
#ifndef GNN_TENSOR_H
#define GNN_TENSOR_H

#include "harness/base/block.h"
#include "harness/base/half.h"
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

/* Returns the first rows of m. A block's targets are the first of its sources. */
static inline struct gnn_mat gnn_mat_head(struct gnn_mat m, uint32_t rows)
{
    assert(rows <= m.rows);
    return (struct gnn_mat){m.data, rows, m.cols};
}

enum gnn_reduce { GNN_REDUCE_MEAN, GNN_REDUCE_SUM, GNN_REDUCE_MAX };
enum gnn_activation { GNN_ACT_NONE, GNN_ACT_RELU, GNN_ACT_ELU };

/* w_ij = 1 / sqrt(deg(i) d_j), where deg(i) is the number of edges of target i. RELEASED: d_j is the sum of 1 /
 * sqrt(deg(i)) over the targets i of source j, as in the scripts that GNNDrive released. STANDARD: d_j is the number of
 * these targets (Kipf and Welling 2017, equation 2). */
enum gnn_gcn_norm { GNN_GCN_NORM_RELEASED, GNN_GCN_NORM_STANDARD };

/* Inverted dropout. A hash of (key, i, c) decides whether element (i, c) of a matrix is kept (tensor/dropout.h). The
 * backward pass computes the same mask again, so no mask is stored. */
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
 * the row's edges, last the self-loop. If an edge's source is the target itself, the slot of the edge holds alpha =
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

/* Lanes are numbered 0 to GNN_LANES_MAX - 1. GNN_LANE_STREAM is the stream in which ops run; event ops accept a lane or
 * the stream. */
enum { GNN_LANES_MAX = 64 };

/* Bytes of host memory that a device's back-end pins at open. Included in the memory plan of a sole worker. */
enum { GNN_TENSOR_STAGING_BYTES = 4 << 20 };
#define GNN_LANE_STREAM UINT32_MAX

/* A point in a lane or in the stream. NULL in back-ends whose ops have finished when they return. */
struct gnn_event;

/* Device memory for one mini-batch's lists. NULL in back-ends whose ops read the host's lists. */
struct gnn_resident;

/* The host lists of a mini-batch that ops read: blocks, and where not NULL the labels of the seeds (seed_count) and the
 * row numbers that gather_rows takes (node_count). Staging to a modelled GPU also takes the time to copy
 * wider_ids_bytes, by which the IDs of a released program exceed these. Other back-ends ignore it. */
struct gnn_batch_lists {
    const struct gnn_batch_view *view;
    const int32_t *labels;
    const uint32_t *rows;
    uint64_t wider_ids_bytes;
};

/* The location of each row of a table that is spread over several tables, in the back-end's memory or in pinned host
 * memory. Examples: GPU cache, CPU cache and rows just read (DiskGNN section 5), partitions in memory (MariusGNN). A
 * word of `place` encodes table and row, or is GNN_PLACE_NONE for a row that is in no table. */
enum { GNN_PLACE_TABLES = 3, GNN_PLACE_ROW_BITS = 30 };
#define GNN_PLACE_NONE UINT32_MAX
struct gnn_placement {
    struct {
        const void *rows;
        uint64_t stride; /* numbers between rows */
    } table[GNN_PLACE_TABLES];
    const uint32_t *place;      /* in the back-end's memory */
    enum gnn_feature_type type; /* of the tables: GNN_F32 stands for gnn_real; halves are widened */
};
static inline uint32_t gnn_place(uint32_t table, uint32_t row)
{
    return table << GNN_PLACE_ROW_BITS | row;
}

/* Work of a device since the last take_times. All zero in back-ends that compute on the host; their records have no
 * such columns. */
struct gnn_device_times {
    /* Time in which the stream computed: spans from the launch of ops to the end of the last one. A step that is
     * launched as a graph is one span. So is a step that is launched op by op, with the gaps between its launches. */
    uint64_t kernel_ns;
    /* Time from the first call after a synchronize to the last op before the next; 0 if not measured. In addition to
     * kernel_ns, it contains the time in which the host copies lists, records a step or waits for a queue. */
    uint64_t held_ns;
    /* time of copies over the bus outside of a step's graph, without gaps; sum over lanes and stream */
    uint64_t copy_ns;
    uint64_t uploaded_bytes, downloaded_bytes;
    uint64_t launches;
    /* steps launched as one graph, and those of them for which a graph had to be built */
    uint64_t graph_steps, graph_builds;
    /* median time of a step in either way, once the back-end has compared them; 0 before */
    uint64_t plain_step_ns, graph_step_ns;
};

/* Resources that a back-end may use. Passed at open, copied. */
struct gnn_tensor_env {
    uint32_t threads;               /* threads of BLAS and of loops */
    bool gpu;                       /* modelled: the profile's GPU, else its CPU */
    uint32_t device;                /* cuda: number of the GPU */
    struct gnn_tensor *same_device; /* modelled: a back-end whose GPU this one shares; NULL: it has its own */
    enum gnn_precision precision;   /* cuda: precision that inputs of GEMM are rounded to */
    bool graphs;                    /* cuda: a step is captured and launched as one graph */
    enum gnn_status (*alloc)(void *ctx, const char *name, uint64_t bytes, void **out, struct gnn_err *err);
    void (*free)(void *ctx, void *ptr);
    /* Return the world's time, and report that the calling thread has waited for the device (GNN_WAIT_COMPUTE). Used by
     * devices only; may be NULL unless the device is modelled. Any thread. */
    uint64_t (*now_ns)(void *ctx);
    void (*waited)(void *ctx, uint64_t ns);
    /* Returns the time that the calling thread has slept so far without a named wait (gnn_split_unnamed_ns). If it
     * grows across a driver's call, the call slept. Used by devices only; may be NULL. Any thread. */
    int64_t (*asleep_ns)(void *ctx);
    /* Wait for the accelerator (GNN_WAIT_COMPUTE), and compute on a host core for that long. Modelled only, NULL
     * elsewhere. Any thread. */
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

    /* Opens a back-end. profile is the machine to model, or NULL for back-ends that compute. */
    enum gnn_status (*open)(const struct gnn_tensor_env *env, const struct gnn_profile *profile,
                            struct gnn_tensor **out, struct gnn_err *err);
    void (*close)(struct gnn_tensor *t);

    enum gnn_status (*alloc)(struct gnn_tensor *t, const char *name, uint64_t bytes, void **out, struct gnn_err *err);
    void (*free)(struct gnn_tensor *t, void *ptr);
    void (*upload)(struct gnn_tensor *t, void *dst, const void *host_src, uint64_t bytes);
    /* Copies to the host. host_dst may be NULL for feature memory without values, where a modelled copy still takes
     * time. */
    void (*download)(struct gnn_tensor *t, void *host_dst, const void *src, uint64_t bytes);
    /* Starts a copy that runs concurrently with the stream. Copies of a lane (a CUDA stream) run in the order in which
     * they were started. Lanes are numbered from 0; one thread at a time uses a lane. host_src is pinned memory and
     * must not change until upload_wait(lane) returns. By then all copies of the lane have arrived. */
    void (*upload_async)(struct gnn_tensor *t, uint32_t lane, void *dst, const void *host_src, uint64_t bytes);
    void (*upload_wait)(struct gnn_tensor *t, uint32_t lane);
    /* Copies row from[i] of pinned host memory to row to[i] of table, in the lane's order. One launch moves many rows:
     * a kernel reads host memory across the bus. The lists are read before the call returns. */
    void (*upload_rows)(struct gnn_tensor *t, uint32_t lane, void *table, const uint32_t *to, const void *host_rows,
                        const uint32_t *from, uint32_t count, uint64_t row_bytes);

    /* Registers memory of the world with the device, or returns GNN_ENOMEM or GNN_ENOTSUP with name, size and remedy.
     * Lanes then copy from it, and gathers read it in place. The caller has allocated it, so that it counts towards the
     * memory limit, and unpins it before it frees it. */
    enum gnn_status (*pin)(struct gnn_tensor *t, const char *name, void *host, uint64_t bytes, struct gnn_err *err);
    void (*unpin)(struct gnn_tensor *t, void *host); /* accepts NULL; the device must not be reading the memory */

    /* Order lanes and the stream without a wait on the host. Record sets the event to the point that the lane (or the
     * stream) has reached. Await delays later work of a lane (or the stream) until the event has passed. With
     * event_wait the host waits. An event that was never recorded has passed. One thread at a time uses an event. */
    enum gnn_status (*event_open)(struct gnn_tensor *t, struct gnn_event **out, struct gnn_err *err);
    void (*event_close)(struct gnn_tensor *t, struct gnn_event *event); /* accepts NULL */
    void (*event_record)(struct gnn_tensor *t, struct gnn_event *event, uint32_t lane);
    void (*event_await)(struct gnn_tensor *t, struct gnn_event *event, uint32_t lane);
    void (*event_wait)(struct gnn_tensor *t, struct gnn_event *event);

    /* Bring a mini-batch's lists to the device before its ops need them. Stage copies the lists into pinned memory and
     * starts one copy to the device in the lane. The host's lists must not change until the batch is finished, because
     * ops identify the device's copies by host addresses. Use makes `room` the current batch: later ops start after its
     * copy and use its lists. With NULL it ends that. A later stage into the same room waits for the ops before that
     * call. Lists that were not staged are copied when an op first needs them. The lane's thread calls stage, the
     * computing thread calls use. */
    enum gnn_status (*resident_open)(struct gnn_tensor *t, struct gnn_resident **out, struct gnn_err *err);
    /* accepts NULL; the room must not be in use */
    void (*resident_close)(struct gnn_tensor *t, struct gnn_resident *room);
    enum gnn_status (*resident_stage)(struct gnn_tensor *t, struct gnn_resident *room, uint32_t lane,
                                      const struct gnn_batch_lists *lists, struct gnn_err *err);
    void (*resident_use)(struct gnn_tensor *t, struct gnn_resident *room);

    /* Enclose the ops of a training step whose sequence of ops is the same every time, so that a device may launch them
     * as one graph. Between begin and end the caller does not allocate, free or copy memory. Results of softmax_nll
     * arrive with the next synchronize. End returns false if the device could not launch the step as
     * one: none of its ops ran, and the caller repeats the step. It returns true for the repetition. */
    void (*step_begin)(struct gnn_tensor *t, const struct gnn_batch_lists *lists);
    bool (*step_end)(struct gnn_tensor *t);

    /* Writes the work since the last call to *out. Any thread. */
    void (*take_times)(struct gnn_tensor *t, struct gnn_device_times *out);
    /* Opens a named range of the calling thread in a profiler's timeline (NVTX); NULL closes the innermost. */
    void (*range)(struct gnn_tensor *t, const char *name);
    void (*fill)(struct gnn_tensor *t, gnn_real *dst, uint64_t count, gnn_real value);
    void (*copy)(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count);

    /* Sets out[i] = table[rows[i]]. Table rows are row_stride reals apart; rows is on the host, out is (count, cols).
     * `table` is the back-end's memory or pinned host memory. Back-ends that compute on the host accept any memory. */
    void (*gather_rows)(struct gnn_tensor *t, gnn_real *out, const gnn_real *table, uint64_t row_stride,
                        const uint32_t *rows, uint32_t count, uint32_t cols);
    /* The same for a table of float16, which is widened: out[i][c] = table[rows[i]][c]. rows may be NULL: row i. */
    void (*gather_halves)(struct gnn_tensor *t, gnn_real *out, const uint16_t *table, uint64_t row_stride,
                          const uint32_t *rows, uint32_t count, uint32_t cols);
    /* Sets out[i] to the row that place[rows[i]] names, or leaves it unchanged for GNN_PLACE_NONE. host_count of the
     * rows are in host memory and cross the bus. */
    void (*gather_placed)(struct gnn_tensor *t, gnn_real *out, const struct gnn_placement *placement,
                          const uint32_t *rows, uint32_t count, uint32_t cols, uint32_t host_count);

    /* c = alpha * op(a) * op(b) + beta * c */
    void (*gemm)(struct gnn_tensor *t, bool trans_a, bool trans_b, gnn_real alpha, struct gnn_mat a, struct gnn_mat b,
                 gnn_real beta, struct gnn_mat c);
    void (*add_bias)(struct gnn_tensor *t, struct gnn_mat z, const gnn_real *bias);        /* z_i += bias */
    void (*column_sum)(struct gnn_tensor *t, gnn_real *out, struct gnn_mat z);             /* out = sum_i z_i */
    void (*add)(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count); /* dst += src */

    /* Reduces over the sampled sources of x (src_count, cols) into out (dst_count, cols); an empty row gives 0. MAX
     * writes the winning source per element to argmax (dst_count, cols), which may be NULL otherwise. */
    void (*segment_reduce)(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat out, const struct gnn_block *b,
                           struct gnn_mat x, uint32_t *argmax);
    /* Adds the transpose of segment_reduce, applied to dout, to dx (src_count, cols). */
    void (*segment_reduce_back)(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat dx,
                                const struct gnn_block *b, struct gnn_mat dout, const uint32_t *argmax);

    /* Writes the weight (edge_count) of every edge of the block (enum gnn_gcn_norm). source_sum (src_count) is
     * scratch. */
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

    /* Applies a layer's epilogue in one pass, in place: z = dropout(act(z + bias)). bias (cols) may be NULL. Every
     * activation passes NaN on. */
    void (*activate)(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat z, const gnn_real *bias,
                     const struct gnn_dropout *drop);
    /* Turns dy into the gradient before the activation, given the epilogue's output y and the same drop. */
    void (*activate_back)(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat dy, struct gnn_mat y,
                          const struct gnn_dropout *drop);

    /* Computes a row-wise log-softmax and the mean negative log-likelihood over rows. The logits (rows, classes) are
     * replaced by dlogits = (softmax - onehot) / rows. Labels are on the host, each in [0, classes). The results *loss
     * and *correct (argmax == label, the lowest class wins a tie) are set on the host. Within a step the next
     * synchronize sets them. Without rows the loss is 0. */
    void (*softmax_nll)(struct gnn_tensor *t, struct gnn_mat logits, const int32_t *labels, double *loss,
                        uint32_t *correct);
    void (*adam)(struct gnn_tensor *t, gnn_real *param, const gnn_real *grad, gnn_real *m, gnn_real *v, uint64_t count,
                 const struct gnn_adam *adam);
    void (*synchronize)(struct gnn_tensor *t); /* returns when all earlier ops have finished */
    /* Returns GNN_OK, or the first failure of any op since open (a device's launch, copy or full memory). NULL if no op
     * can fail. Call it after synchronize, before results are used. */
    enum gnn_status (*check)(struct gnn_tensor *t, struct gnn_err *err);
    const struct gnn_link_ops *link;         /* harness/tensor/link.h; NULL: link prediction is not supported */
    const struct gnn_group_ops *group;       /* harness/tensor/group.h; NULL: workers sum their gradients on the host */
    const struct gnn_gat_rows_ops *gat_rows; /* harness/tensor/gat_rows.h; NULL: GAT maps rows before it sums them */
    const struct gnn_sage_ops *sage;         /* harness/tensor/sage.h; NULL: a layer is computed op by op */
};

/* Lists of op names: X(op) for each. With them a back-end declares its functions and fills its table. TUNED ops are
 * those for which a plain loop is not the fastest code. Matrix products are BLAS's. */
/* clang-format off */
#define GNN_TENSOR_PLAIN_OPS(X) \
    X(fill) X(gather_rows) X(gather_halves) X(gather_placed) X(add_bias) X(add) X(gcn_weights) X(head_mean) \
    X(head_mean_back) X(adam)
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

/* Identifies a GPU. CUDA's device numbers depend on environment variables and on the order of speed, and NVML's do not.
 * The bus ID is the same in both. */
struct gnn_gpu_identity {
    char name[96];
    char bus_id[32]; /* PCI domain, bus, device and function; "" for back-ends without a GPU */
    char uuid[48];   /* of a part of a GPU (MIG), if the device is one */
    uint32_t capability_major, capability_minor, multiprocessors;
};

struct gnn_tensor {
    const struct gnn_tensor_ops *ops; /* back-ends embed this struct first */
    struct gnn_gpu_identity gpu;
    /* alloc gives host memory: reads and gathers may write to it directly, without an upload */
    bool host_memory;
    uint64_t memory_bytes; /* memory of a device; 0: host memory, or unknown */
    bool no_values;        /* modelled: an op takes its time and computes no values */
};

/* plain loops in the order of the formulas: the reference for tests */
extern const struct gnn_tensor_ops gnn_tensor_ref;
#ifndef GNN_REAL_DOUBLE
extern const struct gnn_tensor_ops gnn_tensor_cpu;      /* BLAS, vectorised */
extern const struct gnn_tensor_ops gnn_tensor_modelled; /* a profile's CPU or GPU: time and memory, no values */
#endif

#endif

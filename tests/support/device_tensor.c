#include "tests/support/device_tensor.h"

#include "harness/tensor/ref/ref.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LANES = 64, LANE_COPIES = 65536 };

/* Two halves of address space: what is handed out, without access; and the bytes behind it. */
#define HALF_BYTES (UINT64_C(1) << 30)

struct copy {
    void *dst;
    const void *src;
    uint64_t bytes;
};

struct device {
    struct gnn_tensor base;
    unsigned char *arena; /* (2 * HALF_BYTES) */
    _Atomic uint64_t used_bytes, lane_copies;
    struct gnn_tensor host; /* what the reference's functions are given; they look at nothing of it */
    struct {
        struct copy *copies;
        uint32_t count;
    } lanes[LANES];
};

static struct device *device_of(struct gnn_tensor *t)
{
    return (struct device *)t;
}

static bool on_device(const struct device *d, const void *ptr)
{
    const unsigned char *at = ptr;
    return at >= d->arena && at < d->arena + HALF_BYTES;
}

/* The bytes behind a device pointer; NULL stays NULL. */
static void *bytes_of(struct gnn_tensor *t, const void *ptr)
{
    struct device *d = device_of(t);
    if (ptr == NULL)
        return NULL;
    assert(on_device(d, ptr)); /* else: a missed upload */
    return d->arena + HALF_BYTES + ((const unsigned char *)ptr - d->arena);
}

static struct gnn_mat mat_of(struct gnn_tensor *t, struct gnn_mat m)
{
    m.data = bytes_of(t, m.data);
    return m;
}

static enum gnn_status device_open(const struct gnn_tensor_env *env, const struct gnn_profile *profile,
                                   struct gnn_tensor **out, struct gnn_err *err)
{
    (void)env;
    (void)profile;
    (void)err;
    struct device *d = calloc(1, sizeof *d);
    assert(d != NULL);
    d->base = (struct gnn_tensor){.ops = &device_tensor, .host_memory = false};
    d->arena = mmap(NULL, 2 * HALF_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert(d->arena != MAP_FAILED);
    const int error = mprotect(d->arena + HALF_BYTES, HALF_BYTES, PROT_READ | PROT_WRITE);
    assert(error == 0);
    (void)error;
    *out = &d->base;
    return GNN_OK;
}

static void device_close(struct gnn_tensor *t)
{
    struct device *d = device_of(t);
    for (uint32_t l = 0; l < LANES; l++) {
        assert(d->lanes[l].count == 0); /* nobody waited for these */
        free(d->lanes[l].copies);
    }
    (void)munmap(d->arena, 2 * HALF_BYTES);
    free(d);
}

/* Memory is not given out twice; what was not written reads as NaN. */
static enum gnn_status device_alloc(struct gnn_tensor *t, const char *name, uint64_t bytes, void **out,
                                    struct gnn_err *err)
{
    struct device *d = device_of(t);
    const uint64_t rounded = gnn_round_up(bytes, 64);
    const uint64_t at = atomic_fetch_add(&d->used_bytes, rounded);
    if (at + rounded > HALF_BYTES)
        return gnn_fail(err, GNN_EGPU, "%s: the test's device is full", name);
    *out = d->arena + at;
    memset(bytes_of(t, *out), 0xff, bytes);
    return GNN_OK;
}

static void device_free(struct gnn_tensor *t, void *ptr)
{
    assert(ptr == NULL || on_device(device_of(t), ptr));
    (void)t;
    (void)ptr;
}

const void *device_tensor_look(const struct gnn_tensor *t, const void *device_ptr)
{
    return bytes_of((struct gnn_tensor *)(uintptr_t)t, device_ptr);
}

uint64_t device_tensor_lane_copies(const struct gnn_tensor *t)
{
    return atomic_load(&((const struct device *)t)->lane_copies);
}

/* ---- copies ---- */

static void device_upload(struct gnn_tensor *t, void *dst, const void *host_src, uint64_t bytes)
{
    assert(!on_device(device_of(t), host_src));
    memcpy(bytes_of(t, dst), host_src, bytes);
}

static void device_download(struct gnn_tensor *t, void *host_dst, const void *src, uint64_t bytes)
{
    assert(!on_device(device_of(t), host_dst));
    memcpy(host_dst, bytes_of(t, src), bytes);
}

static void device_upload_async(struct gnn_tensor *t, uint32_t lane, void *dst, const void *host_src, uint64_t bytes)
{
    struct device *d = device_of(t);
    assert(lane < LANES && d->lanes[lane].count < LANE_COPIES && !on_device(d, host_src));
    if (d->lanes[lane].copies == NULL)
        d->lanes[lane].copies = calloc(LANE_COPIES, sizeof(struct copy));
    assert(d->lanes[lane].copies != NULL);
    d->lanes[lane].copies[d->lanes[lane].count++] =
        (struct copy){.dst = bytes_of(t, dst), .src = host_src, .bytes = bytes};
}

static void device_upload_wait(struct gnn_tensor *t, uint32_t lane)
{
    struct device *d = device_of(t);
    assert(lane < LANES);
    for (uint32_t i = 0; i < d->lanes[lane].count; i++)
        memcpy(d->lanes[lane].copies[i].dst, d->lanes[lane].copies[i].src, d->lanes[lane].copies[i].bytes);
    atomic_fetch_add(&d->lane_copies, d->lanes[lane].count);
    d->lanes[lane].count = 0;
}

static void device_copy(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count)
{
    memcpy(bytes_of(t, dst), bytes_of(t, src), count * sizeof *dst);
}

/* ---- arithmetic: the reference's, on the bytes behind the pointers ---- */

static void device_fill(struct gnn_tensor *t, gnn_real *dst, uint64_t count, gnn_real value)
{
    gnn_ref_fill(&device_of(t)->host, bytes_of(t, dst), count, value);
}

static void device_gather_rows(struct gnn_tensor *t, gnn_real *out, const gnn_real *table, uint64_t row_stride,
                               const uint32_t *rows, uint32_t count, uint32_t cols)
{
    gnn_ref_gather_rows(&device_of(t)->host, bytes_of(t, out), bytes_of(t, table), row_stride, rows, count, cols);
}

static void device_gemm(struct gnn_tensor *t, bool trans_a, bool trans_b, gnn_real alpha, struct gnn_mat a,
                        struct gnn_mat b, gnn_real beta, struct gnn_mat c)
{
    gnn_ref_gemm(&device_of(t)->host, trans_a, trans_b, alpha, mat_of(t, a), mat_of(t, b), beta, mat_of(t, c));
}

static void device_add_bias(struct gnn_tensor *t, struct gnn_mat z, const gnn_real *bias)
{
    gnn_ref_add_bias(&device_of(t)->host, mat_of(t, z), bytes_of(t, bias));
}

static void device_column_sum(struct gnn_tensor *t, gnn_real *out, struct gnn_mat z)
{
    gnn_ref_column_sum(&device_of(t)->host, bytes_of(t, out), mat_of(t, z));
}

static void device_add(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count)
{
    gnn_ref_add(&device_of(t)->host, bytes_of(t, dst), bytes_of(t, src), count);
}

static void device_segment_reduce(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat out,
                                  const struct gnn_block *b, struct gnn_mat x, uint32_t *argmax)
{
    gnn_ref_segment_reduce(&device_of(t)->host, kind, mat_of(t, out), b, mat_of(t, x), bytes_of(t, argmax));
}

static void device_segment_reduce_back(struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat dx,
                                       const struct gnn_block *b, struct gnn_mat dout, const uint32_t *argmax)
{
    gnn_ref_segment_reduce_back(&device_of(t)->host, kind, mat_of(t, dx), b, mat_of(t, dout), bytes_of(t, argmax));
}

static void device_gcn_weights(struct gnn_tensor *t, enum gnn_gcn_norm norm, gnn_real *weight, gnn_real *source_sum,
                               const struct gnn_block *b)
{
    gnn_ref_gcn_weights(&device_of(t)->host, norm, bytes_of(t, weight), bytes_of(t, source_sum), b);
}

static void device_spmm(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_block *b, const gnn_real *weight,
                        struct gnn_mat x)
{
    gnn_ref_spmm(&device_of(t)->host, mat_of(t, out), b, bytes_of(t, weight), mat_of(t, x));
}

static void device_spmm_back(struct gnn_tensor *t, struct gnn_mat dx, const struct gnn_block *b, const gnn_real *weight,
                             struct gnn_mat dout)
{
    gnn_ref_spmm_back(&device_of(t)->host, mat_of(t, dx), b, bytes_of(t, weight), mat_of(t, dout));
}

static struct gnn_attention attention_of(struct gnn_tensor *t, const struct gnn_attention *att)
{
    struct gnn_attention behind = *att;
    behind.a_src = bytes_of(t, att->a_src);
    behind.a_dst = bytes_of(t, att->a_dst);
    behind.u = mat_of(t, att->u);
    behind.s = mat_of(t, att->s);
    behind.d = mat_of(t, att->d);
    behind.alpha = bytes_of(t, att->alpha);
    return behind;
}

static void device_gat_scores(struct gnn_tensor *t, const struct gnn_attention *att)
{
    const struct gnn_attention behind = attention_of(t, att);
    gnn_ref_gat_scores(&device_of(t)->host, &behind);
}

static void device_gat_softmax(struct gnn_tensor *t, const struct gnn_attention *att, const struct gnn_block *b)
{
    const struct gnn_attention behind = attention_of(t, att);
    gnn_ref_gat_softmax(&device_of(t)->host, &behind, b);
}

static void device_gat_attend(struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att,
                              const struct gnn_block *b)
{
    const struct gnn_attention behind = attention_of(t, att);
    gnn_ref_gat_attend(&device_of(t)->host, mat_of(t, out), &behind, b);
}

static void device_gat_back(struct gnn_tensor *t, const struct gnn_attention_grad *grad,
                            const struct gnn_attention *att, const struct gnn_block *b, struct gnn_mat dout)
{
    const struct gnn_attention behind = attention_of(t, att);
    const struct gnn_attention_grad grads = {
        .du = mat_of(t, grad->du),
        .da_src = bytes_of(t, grad->da_src),
        .da_dst = bytes_of(t, grad->da_dst),
        .ds = mat_of(t, grad->ds),
        .dd = mat_of(t, grad->dd),
        .dalpha = bytes_of(t, grad->dalpha),
    };
    gnn_ref_gat_back(&device_of(t)->host, &grads, &behind, b, mat_of(t, dout));
}

static void device_head_mean(struct gnn_tensor *t, struct gnn_mat out, struct gnn_mat x, uint32_t heads)
{
    gnn_ref_head_mean(&device_of(t)->host, mat_of(t, out), mat_of(t, x), heads);
}

static void device_head_mean_back(struct gnn_tensor *t, struct gnn_mat dx, struct gnn_mat dout, uint32_t heads)
{
    gnn_ref_head_mean_back(&device_of(t)->host, mat_of(t, dx), mat_of(t, dout), heads);
}

static void device_activate(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat z, const gnn_real *bias,
                            const struct gnn_dropout *drop)
{
    gnn_ref_activate(&device_of(t)->host, act, mat_of(t, z), bytes_of(t, bias), drop);
}

static void device_activate_back(struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat dy, struct gnn_mat y,
                                 const struct gnn_dropout *drop)
{
    gnn_ref_activate_back(&device_of(t)->host, act, mat_of(t, dy), mat_of(t, y), drop);
}

static void device_softmax_nll(struct gnn_tensor *t, struct gnn_mat logits, const int32_t *labels, double *loss,
                               uint32_t *correct)
{
    assert(!on_device(device_of(t), labels));
    gnn_ref_softmax_nll(&device_of(t)->host, mat_of(t, logits), labels, loss, correct);
}

static void device_adam(struct gnn_tensor *t, gnn_real *param, const gnn_real *grad, gnn_real *m, gnn_real *v,
                        uint64_t count, const struct gnn_adam *adam)
{
    gnn_ref_adam(&device_of(t)->host, bytes_of(t, param), bytes_of(t, grad), bytes_of(t, m), bytes_of(t, v), count,
                 adam);
}

static void device_synchronize(struct gnn_tensor *t)
{
    (void)t;
}

const struct gnn_tensor_ops device_tensor = {
    .name = "device",
    .open = device_open,
    .close = device_close,
    .alloc = device_alloc,
    .free = device_free,
    .upload = device_upload,
    .download = device_download,
    .upload_async = device_upload_async,
    .upload_wait = device_upload_wait,
    .fill = device_fill,
    .copy = device_copy,
    .gather_rows = device_gather_rows,
    .gemm = device_gemm,
    .add_bias = device_add_bias,
    .column_sum = device_column_sum,
    .add = device_add,
    .segment_reduce = device_segment_reduce,
    .segment_reduce_back = device_segment_reduce_back,
    .gcn_weights = device_gcn_weights,
    .spmm = device_spmm,
    .spmm_back = device_spmm_back,
    .gat_scores = device_gat_scores,
    .gat_softmax = device_gat_softmax,
    .gat_attend = device_gat_attend,
    .gat_back = device_gat_back,
    .head_mean = device_head_mean,
    .head_mean_back = device_head_mean_back,
    .activate = device_activate,
    .activate_back = device_activate_back,
    .softmax_nll = device_softmax_nll,
    .adam = device_adam,
    .synchronize = device_synchronize,
};

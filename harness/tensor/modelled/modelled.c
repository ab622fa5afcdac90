#include "harness/tensor/modelled/modelled.h"
#include "harness/base/units.h"
#include "harness/tensor/modelled/cost.h"
#include "harness/tensor/shapes.h"
#include "harness/world/profile.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    GPU_TILE = 64,              /* of a product on a GPU */
    CPU_TILE = 16,              /* likewise on vector registers */
    GPU_GRANULE = 512,          /* GPU memory is handed out in multiples of it */
    RESULT_BYTES = 8 + 4,       /* what softmax_nll brings back */
    BLOCKS_MAX = GNN_LAYERS_MAX /* of one step */
};

/* An op takes what the table hands to it, needed or not. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* GPU memory: address space that nothing may touch. */
struct region {
    struct region *next;
    void *base;
    uint64_t bytes;
};

struct modelled {
    struct gnn_tensor base;
    struct gnn_tensor_env env;
    struct gnn_roof roof;
    struct gnn_profile_bus bus;
    uint64_t launch_ns;
    uint64_t core_bytes_per_s; /* one core of the host */
    uint64_t memory_limit_bytes;
    char profile_name[GNN_NAME_MAX];

    pthread_mutex_t mutex; /* never held across a hook of env: those may run other threads of a simulated world */
    uint64_t stream_free_ns, bus_free_ns;
    uint64_t lane_free_ns[GNN_MODELLED_LANES_MAX];
    const uint32_t *resident[BLOCKS_MAX]; /* columns of the blocks uploaded in this step */
    uint32_t resident_count;
    struct region *regions;
    struct gnn_modelled_counts counts;
};

static struct modelled *modelled_of(struct gnn_tensor *t)
{
    return (struct modelled *)t;
}

static void lock(struct modelled *m)
{
    (void)pthread_mutex_lock(&m->mutex);
}

static void unlock(struct modelled *m)
{
    (void)pthread_mutex_unlock(&m->mutex);
}

/* ---- open and close ---- */

static void set_roof(struct modelled *m, const struct gnn_profile *profile)
{
    const struct gnn_profile_compute *c = m->env.gpu ? &profile->gpu : &profile->host;
    const uint64_t cores = m->env.gpu ? 1 : gnn_min_u64(m->env.threads, profile->cpu.cores);
    m->roof = (struct gnn_roof){
        .flops_per_s = gnn_mul_bytes(c->gemm_flops_per_s, cores),
        .stream_bytes_per_s = gnn_min_u64(gnn_mul_bytes(c->bytes_per_s, cores), c->bytes_per_s_shared),
        .gather_bytes_per_s = gnn_min_u64(gnn_mul_bytes(c->gather_bytes_per_s, cores), c->bytes_per_s_shared),
        .gemm_tile = m->env.gpu ? GPU_TILE : CPU_TILE,
    };
    m->bus = profile->bus;
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
    set_roof(m, profile);
    *out = &m->base;
    return GNN_OK;
}

static void modelled_close(struct gnn_tensor *t)
{
    struct modelled *m = modelled_of(t);
    if (m == NULL)
        return;
    while (m->regions != NULL) {
        struct region *const region = m->regions;
        m->regions = region->next;
        (void)munmap(region->base, region->bytes);
        free(region);
    }
    (void)pthread_mutex_destroy(&m->mutex);
    free(m);
}

void gnn_modelled_counts(struct gnn_tensor *t, struct gnn_modelled_counts *out)
{
    struct modelled *m = modelled_of(t);
    lock(m);
    *out = m->counts;
    unlock(m);
}

/* ---- memory ---- */

/* Accounts `bytes` more; false when the GPU has no room. */
static bool take_memory(struct modelled *m, uint64_t bytes, uint64_t *used)
{
    lock(m);
    *used = m->counts.memory_bytes;
    const bool fits = gnn_add_bytes(*used, bytes) <= m->memory_limit_bytes;
    if (fits) {
        m->counts.memory_bytes += bytes;
        m->counts.memory_peak_bytes = gnn_max_u64(m->counts.memory_peak_bytes, m->counts.memory_bytes);
    }
    unlock(m);
    return fits;
}

static void give_memory(struct modelled *m, uint64_t bytes)
{
    lock(m);
    assert(bytes <= m->counts.memory_bytes);
    m->counts.memory_bytes -= bytes;
    unlock(m);
}

static enum gnn_status gpu_alloc(struct modelled *m, const char *name, uint64_t bytes, void **out, struct gnn_err *err)
{
    const bool hopeless = bytes > m->memory_limit_bytes; /* rounding could overflow */
    const uint64_t rounded = hopeless ? UINT64_MAX : gnn_round_up(gnn_max_u64(bytes, 1), GPU_GRANULE);
    uint64_t used;
    if (!take_memory(m, rounded, &used)) {
        char need[32], have[32], limit[32];
        return gnn_fail(err, GNN_EGPU,
                        "GPU memory: %s needs %s, %s of %s of profile %s are taken: lower --batch, --fanout or the "
                        "system's buffer, or choose a profile with more",
                        name, gnn_format_bytes(bytes, need, sizeof need), gnn_format_bytes(used, have, sizeof have),
                        gnn_format_bytes(m->memory_limit_bytes, limit, sizeof limit), m->profile_name);
    }
    struct region *const region = malloc(sizeof *region);
    void *const base = region == NULL
                           ? MAP_FAILED
                           : mmap(NULL, rounded, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        free(region);
        give_memory(m, rounded);
        return gnn_fail(err, GNN_ENOMEM, "%s: no address space for %" PRIu64 " bytes", name, rounded);
    }
    lock(m);
    *region = (struct region){.next = m->regions, .base = base, .bytes = rounded};
    m->regions = region;
    unlock(m);
    *out = base;
    return GNN_OK;
}

static void gpu_free(struct modelled *m, void *ptr)
{
    lock(m);
    struct region **at = &m->regions;
    while (*at != NULL && (*at)->base != ptr)
        at = &(*at)->next;
    struct region *const region = *at;
    assert(region != NULL);
    *at = region->next;
    m->counts.memory_bytes -= region->bytes;
    unlock(m);
    (void)munmap(region->base, region->bytes);
    free(region);
}

static enum gnn_status modelled_alloc(struct gnn_tensor *t, const char *name, uint64_t bytes, void **out,
                                      struct gnn_err *err)
{
    struct modelled *m = modelled_of(t);
    return m->env.gpu ? gpu_alloc(m, name, bytes, out, err) : m->env.alloc(m->env.ctx, name, bytes, out, err);
}

static void modelled_free(struct gnn_tensor *t, void *ptr)
{
    struct modelled *m = modelled_of(t);
    if (ptr == NULL)
        return;
    if (m->env.gpu)
        gpu_free(m, ptr);
    else
        m->env.free(m->env.ctx, ptr);
}

/* ---- time lines ---- */

static uint64_t now(const struct modelled *m)
{
    return m->env.now_ns(m->env.ctx);
}

/* On a GPU the caller's core launches and the stream gets the work, on a CPU the core does both. */
static void run_op(struct gnn_tensor *t, struct gnn_cost cost)
{
    struct modelled *m = modelled_of(t);
    const uint64_t duration_ns = gnn_cost_ns(&cost, &m->roof);
    const uint64_t launch_ns = cost.launches * m->launch_ns;
    m->env.compute_ns(m->env.ctx, m->env.gpu ? launch_ns : launch_ns + duration_ns);
    const uint64_t launched_ns = now(m);
    lock(m);
    m->counts.ops++;
    m->counts.launches += cost.launches;
    m->counts.busy_ns += m->env.gpu ? duration_ns : launch_ns + duration_ns;
    if (m->env.gpu)
        m->stream_free_ns = gnn_max_u64(m->stream_free_ns, launched_ns) + duration_ns;
    unlock(m);
}

static void modelled_synchronize(struct gnn_tensor *t)
{
    struct modelled *m = modelled_of(t);
    lock(m);
    const uint64_t free_ns = m->stream_free_ns;
    m->resident_count = 0; /* a step ends */
    unlock(m);
    if (m->env.gpu)
        m->env.wait_until(m->env.ctx, free_ns);
}

/* A copy that the stream waits for and the caller too, either direction. */
static void copy_and_wait(struct modelled *m, uint64_t bytes, uint64_t *counter)
{
    m->env.compute_ns(m->env.ctx, m->launch_ns);
    const uint64_t start_ns = now(m), moving_ns = gnn_transfer_ns(bytes, m->bus.pageable_bytes_per_s);
    lock(m);
    const uint64_t ready_ns = gnn_max_u64(gnn_max_u64(start_ns, m->stream_free_ns) + m->bus.latency_ns, m->bus_free_ns);
    const uint64_t end_ns = ready_ns + moving_ns;
    m->stream_free_ns = m->bus_free_ns = end_ns;
    m->counts.bus_busy_ns += moving_ns;
    *counter += bytes;
    unlock(m);
    m->env.wait_until(m->env.ctx, end_ns);
}

/* One core reads and writes. */
static void host_copy(struct modelled *m, uint64_t bytes)
{
    m->env.compute_ns(m->env.ctx, gnn_transfer_ns(gnn_mul_bytes(2, bytes), m->core_bytes_per_s));
}

static void modelled_upload(struct gnn_tensor *t, void *dst, const void *host_src, uint64_t bytes)
{
    struct modelled *m = modelled_of(t);
    if (m->env.gpu)
        copy_and_wait(m, bytes, &m->counts.uploaded_bytes);
    else
        host_copy(m, bytes);
}

static void modelled_download(struct gnn_tensor *t, void *host_dst, const void *src, uint64_t bytes)
{
    struct modelled *m = modelled_of(t);
    modelled_synchronize(t);
    if (m->env.gpu)
        copy_and_wait(m, bytes, &m->counts.downloaded_bytes);
    else
        host_copy(m, bytes);
    memset(host_dst, 0, bytes);
}

/* Latencies of copies that follow each other overlap, their bytes do not. */
static void modelled_upload_async(struct gnn_tensor *t, uint32_t lane, void *dst, const void *host_src, uint64_t bytes)
{
    struct modelled *m = modelled_of(t);
    assert(lane < GNN_MODELLED_LANES_MAX);
    if (!m->env.gpu) {
        host_copy(m, bytes);
        return;
    }
    m->env.compute_ns(m->env.ctx, m->launch_ns);
    const uint64_t start_ns = now(m), moving_ns = gnn_transfer_ns(bytes, m->bus.pinned_bytes_per_s);
    lock(m);
    const uint64_t ready_ns =
        gnn_max_u64(gnn_max_u64(start_ns + m->bus.latency_ns, m->lane_free_ns[lane]), m->bus_free_ns);
    m->lane_free_ns[lane] = m->bus_free_ns = ready_ns + moving_ns;
    m->counts.bus_busy_ns += moving_ns;
    m->counts.uploaded_bytes += bytes;
    unlock(m);
}

static void modelled_upload_wait(struct gnn_tensor *t, uint32_t lane)
{
    struct modelled *m = modelled_of(t);
    assert(lane < GNN_MODELLED_LANES_MAX);
    if (!m->env.gpu)
        return;
    lock(m);
    const uint64_t landed_ns = m->lane_free_ns[lane];
    unlock(m);
    m->env.wait_until(m->env.ctx, landed_ns);
}

/* The block's arrays cross the bus once a step. */
static void upload_block(struct modelled *m, const struct gnn_block *b)
{
    lock(m);
    bool there = false;
    for (uint32_t i = 0; i < m->resident_count; i++)
        there = there || m->resident[i] == b->col;
    if (!there && m->resident_count < BLOCKS_MAX)
        m->resident[m->resident_count++] = b->col;
    unlock(m);
    if (!there)
        copy_and_wait(m, gnn_cost_block_bytes(b), &m->counts.uploaded_bytes);
}

/* ---- the ops ---- */

/* An op that takes its cost, after its shapes (or nothing) have been asserted; BLOCK_OP needs the arrays of block b. */
#define OP(op, params, shapes, cost)                                                                                   \
    static void modelled_##op params                                                                                   \
    {                                                                                                                  \
        (void)(shapes);                                                                                                \
        run_op(t, cost);                                                                                               \
    }
#define BLOCK_OP(op, params, shapes, cost)                                                                             \
    static void modelled_##op params                                                                                   \
    {                                                                                                                  \
        (void)(shapes);                                                                                                \
        if (modelled_of(t)->env.gpu)                                                                                   \
            upload_block(modelled_of(t), b);                                                                           \
        run_op(t, cost);                                                                                               \
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
/* clang-format on */

/* The list of rows is the host's: on a GPU it crosses the bus first. */
static void modelled_gather_rows(struct gnn_tensor *t, gnn_real *out, const gnn_real *table, uint64_t row_stride,
                                 const uint32_t *rows, uint32_t count, uint32_t cols)
{
    struct modelled *m = modelled_of(t);
    if (m->env.gpu)
        copy_and_wait(m, count * (uint64_t)sizeof *rows, &m->counts.uploaded_bytes);
    run_op(t, gnn_cost_gather_rows(count, cols));
}

static void modelled_gemm(struct gnn_tensor *t, bool trans_a, bool trans_b, gnn_real alpha, struct gnn_mat a,
                          struct gnn_mat b, gnn_real beta, struct gnn_mat c)
{
    const uint32_t inner = gnn_gemm_inner(trans_a, trans_b, a, b, c);
    run_op(t, gnn_cost_gemm(c.rows, c.cols, inner, beta != 0, modelled_of(t)->roof.gemm_tile));
}

static void modelled_softmax_nll(struct gnn_tensor *t, struct gnn_mat logits, const int32_t *labels, double *loss,
                                 uint32_t *correct)
{
    struct modelled *m = modelled_of(t);
    if (m->env.gpu)
        copy_and_wait(m, logits.rows * (uint64_t)sizeof *labels, &m->counts.uploaded_bytes);
    run_op(t, gnn_cost_softmax_nll(logits.rows, logits.cols));
    if (m->env.gpu)
        copy_and_wait(m, RESULT_BYTES, &m->counts.downloaded_bytes);
    *loss = NAN;
    *correct = 0;
}

#define MODELLED(op) .op = modelled_##op,

/* clang-format off */
const struct gnn_tensor_ops gnn_tensor_modelled = {
    .name = "model", .open = modelled_open, .gemm = modelled_gemm,
    GNN_TENSOR_MEMORY_OPS(MODELLED) GNN_TENSOR_PLAIN_OPS(MODELLED) GNN_TENSOR_TUNED_OPS(MODELLED)
};
/* clang-format on */

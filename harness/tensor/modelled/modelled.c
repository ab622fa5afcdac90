#include "harness/tensor/modelled/modelled.h"
#include "harness/base/units.h"
#include "harness/tensor/link.h"
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
    GPU_GRANULE = 512,          /* GPU memory is handed out in multiples of it */
    RESULT_BYTES = 8 + 4,       /* what softmax_nll brings back */
    BLOCKS_MAX = GNN_LAYERS_MAX /* of one step */
};

static const uint64_t second_ps = UINT64_C(1000000000000);

/* An op takes what the table hands to it, needed or not. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* GPU memory: address space that nothing may touch. */
struct region {
    struct region *next;
    void *base;
    uint64_t bytes;
};

/* Registered memory of the host. */
struct pin {
    struct pin *next;
    const char *base;
    uint64_t bytes;
};

enum { HALVES = 2 }; /* of a lane's staging memory: one is filled while the other is on the bus */

struct lane {
    uint64_t free_ns;
    uint64_t half_landed_ns[HALVES]; /* the last copy out of it */
    void *half[HALVES];              /* memory of the host, for its account */
    uint64_t half_bytes[HALVES];
    uint32_t next_half;
};

struct gnn_event {
    uint64_t ns;
};

struct gnn_resident {
    struct gnn_batch_lists lists;
    uint64_t landed_ns;
    uint64_t read_ns; /* the stream has passed the ops that read it */
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

    pthread_mutex_t mutex;   /* never held across a hook of env: those may run other threads of a simulated world */
    struct modelled *device; /* itself, or the back-end whose GPU this one uses as well (closed after this one) */
    uint64_t stream_free_ns, bus_free_ns; /* of the device; likewise the memory taken in counts */
    struct lane lanes[GNN_LANES_MAX];
    const uint32_t *resident[BLOCKS_MAX]; /* columns of the blocks uploaded in this step */
    uint32_t resident_count;
    struct gnn_resident *in_use;
    struct gnn_profile_framework framework;
    uint64_t step_start_ns, step_least_ns; /* of the step under way */
    bool in_step, result_due;              /* a step's loss crosses the bus when it is asked for */
    struct region *regions;
    struct pin *pins;
    struct gnn_modelled_counts counts, taken; /* in all, and when take_times was last called */
};

static struct modelled *modelled_of(struct gnn_tensor *t)
{
    return (struct modelled *)t;
}

static void lock(struct modelled *m)
{
    (void)pthread_mutex_lock(&m->device->mutex);
}

static void unlock(struct modelled *m)
{
    (void)pthread_mutex_unlock(&m->device->mutex);
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
    while (m->pins != NULL) { /* the caller should have */
        struct pin *const pin = m->pins;
        m->pins = pin->next;
        free(pin);
    }
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
    out->stream_free_ns = m->device->stream_free_ns;
    unlock(m);
}

/* ---- memory ---- */

/* Accounts `bytes` more; false when the GPU has no room. */
static bool take_memory(struct modelled *m, uint64_t bytes, uint64_t *used)
{
    lock(m);
    *used = m->device->counts.memory_bytes;
    const bool fits = gnn_add_bytes(*used, bytes) <= m->memory_limit_bytes;
    if (fits) {
        m->device->counts.memory_bytes += bytes;
        m->device->counts.memory_peak_bytes =
            gnn_max_u64(m->device->counts.memory_peak_bytes, m->device->counts.memory_bytes);
    }
    unlock(m);
    return fits;
}

static void give_memory(struct modelled *m, uint64_t bytes)
{
    lock(m);
    assert(bytes <= m->device->counts.memory_bytes);
    m->device->counts.memory_bytes -= bytes;
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
    m->device->counts.memory_bytes -= region->bytes;
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

/* ---- registered memory ---- */

static enum gnn_status modelled_pin(struct gnn_tensor *t, const char *name, void *host, uint64_t bytes,
                                    struct gnn_err *err)
{
    struct modelled *m = modelled_of(t);
    struct pin *pin;
    GNN_NEW(pin, 1, err, "%s: pinned", name);
    lock(m);
    *pin = (struct pin){.next = m->pins, .base = host, .bytes = bytes};
    m->pins = pin;
    m->counts.pinned_bytes += bytes;
    unlock(m);
    return GNN_OK;
}

static void modelled_unpin(struct gnn_tensor *t, void *host)
{
    struct modelled *m = modelled_of(t);
    if (host == NULL)
        return;
    lock(m);
    struct pin **at = &m->pins;
    while (*at != NULL && (*at)->base != host)
        at = &(*at)->next;
    struct pin *const pin = *at;
    assert(pin != NULL);
    *at = pin->next;
    m->counts.pinned_bytes -= pin->bytes;
    unlock(m);
    free(pin);
}

static bool is_pinned(struct modelled *m, const void *host)
{
    const char *const at = host;
    lock(m);
    const struct pin *pin = m->pins;
    while (pin != NULL && (at < pin->base || at >= pin->base + pin->bytes))
        pin = pin->next;
    unlock(m);
    return pin != NULL;
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
        m->device->stream_free_ns = gnn_max_u64(m->device->stream_free_ns, launched_ns) + duration_ns;
    unlock(m);
}

/* A copy that the stream waits for and the caller too, either direction. */
static void copy_and_wait(struct modelled *m, uint64_t bytes, uint64_t *counter)
{
    m->env.compute_ns(m->env.ctx, m->launch_ns);
    const uint64_t start_ns = now(m), moving_ns = gnn_transfer_ns(bytes, m->bus.pageable_bytes_per_s);
    lock(m);
    const uint64_t ready_ns =
        gnn_max_u64(gnn_max_u64(start_ns, m->device->stream_free_ns) + m->bus.latency_ns, m->device->bus_free_ns);
    const uint64_t end_ns = ready_ns + moving_ns;
    m->device->stream_free_ns = m->device->bus_free_ns = end_ns;
    m->counts.bus_busy_ns += moving_ns;
    *counter += bytes;
    unlock(m);
    m->env.wait_until(m->env.ctx, end_ns);
}

static void modelled_synchronize(struct gnn_tensor *t)
{
    struct modelled *m = modelled_of(t);
    lock(m);
    const bool result_due = m->result_due;
    m->result_due = false;
    m->resident_count = 0; /* a step ends */
    unlock(m);
    if (result_due)
        copy_and_wait(m, RESULT_BYTES, &m->counts.downloaded_bytes);
    lock(m);
    const uint64_t free_ns = m->device->stream_free_ns;
    unlock(m);
    if (m->env.gpu)
        m->env.wait_until(m->env.ctx, free_ns);
}

void gnn_modelled_all_reduce(struct gnn_tensor *t, uint32_t ranks, uint64_t bytes)
{
    struct modelled *const m = modelled_of(t);
    assert(m->base.no_values);
    assert(ranks > 1);
    const uint64_t share_bytes = gnn_div_up(bytes, ranks), rounds = 2 * (ranks - UINT64_C(1));
    if (!m->env.gpu) {
        /* Its gradient is copied out, a W-th of each read and of the mean written, and the whole mean copied back. */
        const uint64_t moved_bytes = 2 * bytes + gnn_mul_bytes(ranks + UINT64_C(1), share_bytes) + 2 * bytes;
        m->env.compute_ns(m->env.ctx, gnn_transfer_ns(moved_bytes, m->core_bytes_per_s));
        return;
    }
    const uint64_t round_ns = m->bus.link_latency_ns + gnn_transfer_ns(share_bytes, m->bus.link_bytes_per_s);
    m->env.compute_ns(m->env.ctx, m->launch_ns);
    const uint64_t start_ns = now(m);
    lock(m);
    m->device->stream_free_ns = gnn_max_u64(m->device->stream_free_ns, start_ns) + rounds * round_ns;
    const uint64_t end_ns = m->device->stream_free_ns;
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
    if (host_dst != NULL)
        memset(host_dst, 0, bytes);
}

/* One launch brings `bytes` of pinned memory over the bus, in the lane. Latencies of copies that follow each other
 * overlap, their bytes do not. */
static void lane_copy(struct modelled *m, uint32_t lane, uint64_t bytes)
{
    assert(lane < GNN_LANES_MAX);
    m->env.compute_ns(m->env.ctx, m->launch_ns);
    const uint64_t start_ns = now(m), moving_ns = gnn_transfer_ns(bytes, m->bus.pinned_bytes_per_s);
    lock(m);
    const uint64_t ready_ns =
        gnn_max_u64(gnn_max_u64(start_ns + m->bus.latency_ns, m->lanes[lane].free_ns), m->device->bus_free_ns);
    m->lanes[lane].free_ns = m->device->bus_free_ns = ready_ns + moving_ns;
    m->counts.bus_busy_ns += moving_ns;
    m->counts.uploaded_bytes += bytes;
    unlock(m);
}

static void modelled_upload_async(struct gnn_tensor *t, uint32_t lane, void *dst, const void *host_src, uint64_t bytes)
{
    struct modelled *m = modelled_of(t);
    if (m->env.gpu)
        lane_copy(m, lane, bytes);
    else
        host_copy(m, bytes);
}

static void modelled_upload_rows(struct gnn_tensor *t, uint32_t lane, void *table, const uint32_t *to,
                                 const void *host_rows, const uint32_t *from, uint32_t count, uint64_t row_bytes)
{
    modelled_upload_async(t, lane, table, host_rows, gnn_mul_bytes(count, row_bytes));
}

static void modelled_upload_wait(struct gnn_tensor *t, uint32_t lane)
{
    struct modelled *m = modelled_of(t);
    assert(lane < GNN_LANES_MAX);
    if (!m->env.gpu)
        return;
    lock(m);
    const uint64_t landed_ns = m->lanes[lane].free_ns;
    unlock(m);
    m->env.wait_until(m->env.ctx, landed_ns);
}

/* ---- events ---- */

/* The time line of a lane or of the stream; the mutex is held. */
static uint64_t *line_of(struct modelled *m, uint32_t lane)
{
    assert(lane < GNN_LANES_MAX || lane == GNN_LANE_STREAM);
    return lane == GNN_LANE_STREAM ? &m->device->stream_free_ns : &m->lanes[lane].free_ns;
}

static enum gnn_status modelled_event_open(struct gnn_tensor *t, struct gnn_event **out, struct gnn_err *err)
{
    GNN_NEW(*out, 1, err, "event of a modelled GPU");
    return GNN_OK;
}

static void modelled_event_close(struct gnn_tensor *t, struct gnn_event *event)
{
    free(event);
}

static void modelled_event_record(struct gnn_tensor *t, struct gnn_event *event, uint32_t lane)
{
    struct modelled *m = modelled_of(t);
    lock(m);
    event->ns = *line_of(m, lane);
    unlock(m);
}

static void modelled_event_await(struct gnn_tensor *t, struct gnn_event *event, uint32_t lane)
{
    struct modelled *m = modelled_of(t);
    lock(m);
    uint64_t *const line = line_of(m, lane);
    *line = gnn_max_u64(*line, event->ns);
    unlock(m);
}

static void modelled_event_wait(struct gnn_tensor *t, struct gnn_event *event)
{
    struct modelled *m = modelled_of(t);
    if (m->env.gpu)
        m->env.wait_until(m->env.ctx, event->ns);
}

/* ---- a mini-batch's lists ---- */

static enum gnn_status modelled_resident_open(struct gnn_tensor *t, struct gnn_resident **out, struct gnn_err *err)
{
    GNN_NEW(*out, 1, err, "lists of a mini-batch on a modelled GPU");
    return GNN_OK;
}

static void modelled_resident_close(struct gnn_tensor *t, struct gnn_resident *room)
{
    assert(room == NULL || modelled_of(t)->in_use != room);
    free(room);
}

static uint64_t lists_bytes(const struct gnn_batch_lists *lists)
{
    const struct gnn_batch_view *const view = lists->view;
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < view->layer_count; k++)
        if (k == 0 || !gnn_block_is_head(&view->blocks[k], &view->blocks[k - 1]))
            bytes += gnn_cost_block_bytes(&view->blocks[k]);
    bytes += lists->labels != NULL ? view->seed_count * (uint64_t)sizeof *lists->labels : 0;
    return bytes + (lists->rows != NULL ? view->node_count * (uint64_t)sizeof *lists->rows : 0);
}

/* Room in a half whose copy has landed. */
static enum gnn_status reserve_half(struct modelled *m, struct lane *own, uint32_t half, uint64_t bytes,
                                    struct gnn_err *err)
{
    if (bytes <= own->half_bytes[half])
        return GNN_OK;
    if (own->half[half] != NULL)
        m->env.free(m->env.ctx, own->half[half]);
    own->half[half] = NULL;
    own->half_bytes[half] = 0;
    GNN_TRY(m->env.alloc(m->env.ctx, "staging of mini-batches' lists", bytes + bytes / 8, &own->half[half], err));
    own->half_bytes[half] = bytes + bytes / 8;
    return GNN_OK;
}

/* A core copies the lists into the half of the lane's staging memory whose last copy has landed; one copy brings them
 * up, once the ops that read the room before have ended. */
static enum gnn_status modelled_resident_stage(struct gnn_tensor *t, struct gnn_resident *room, uint32_t lane,
                                               const struct gnn_batch_lists *lists, struct gnn_err *err)
{
    struct modelled *m = modelled_of(t);
    assert(lane < GNN_LANES_MAX);
    lock(m);
    assert(m->in_use != room);
    unlock(m);
    room->lists = *lists;
    if (!m->env.gpu)
        return GNN_OK;
    struct lane *const own = &m->lanes[lane];
    const uint32_t half = own->next_half;
    own->next_half = (half + 1) % HALVES;
    m->env.wait_until(m->env.ctx, own->half_landed_ns[half]);
    GNN_TRY(reserve_half(m, own, half, lists_bytes(lists), err));
    host_copy(m, lists_bytes(lists));
    lock(m);
    own->free_ns = gnn_max_u64(own->free_ns, room->read_ns);
    unlock(m);
    lane_copy(m, lane, lists_bytes(lists));
    own->half_landed_ns[half] = room->landed_ns = own->free_ns;
    return GNN_OK;
}

static void modelled_resident_use(struct gnn_tensor *t, struct gnn_resident *room)
{
    struct modelled *m = modelled_of(t);
    lock(m);
    if (room == NULL && m->in_use != NULL)
        m->in_use->read_ns = m->device->stream_free_ns;
    if (room != NULL)
        m->device->stream_free_ns = gnn_max_u64(m->device->stream_free_ns, room->landed_ns);
    m->in_use = room;
    unlock(m);
}

/* A step is launched op by op: what a graph would save is not modelled. */
/* A framework's step on a GPU has a length below which its launches do not come, however short the ops are. */
static void modelled_step_begin(struct gnn_tensor *t, const struct gnn_batch_lists *lists)
{
    struct modelled *m = modelled_of(t);
    uint64_t edges = 0;
    m->in_step = true;
    if (!m->env.gpu || (m->framework.step_ns == 0 && m->framework.step_edge_ps == 0))
        return; /* the clock is not looked at either: that would let others run */
    for (uint32_t k = 0; k < lists->view->layer_count; k++)
        edges += lists->view->blocks[k].edge_count;
    const uint64_t now_ns = now(m);
    lock(m);
    m->step_start_ns = gnn_max_u64(now_ns, m->device->stream_free_ns);
    m->step_least_ns = m->framework.step_ns + gnn_mul_bytes(edges, m->framework.step_edge_ps) / 1000;
    unlock(m);
}

static void modelled_step_end(struct gnn_tensor *t)
{
    struct modelled *m = modelled_of(t);
    m->in_step = false;
    lock(m);
    m->device->stream_free_ns = gnn_max_u64(m->device->stream_free_ns, m->step_start_ns + m->step_least_ns);
    unlock(m);
}

static void modelled_take_times(struct gnn_tensor *t, struct gnn_device_times *out)
{
    struct modelled *m = modelled_of(t);
    *out = (struct gnn_device_times){0};
    if (!m->env.gpu)
        return;
    lock(m);
    const struct gnn_modelled_counts *const all = &m->counts, *const taken = &m->taken;
    out->kernel_ns = all->busy_ns - taken->busy_ns;
    out->copy_ns = all->bus_busy_ns - taken->bus_busy_ns;
    out->uploaded_bytes = all->uploaded_bytes - taken->uploaded_bytes;
    out->downloaded_bytes = all->downloaded_bytes - taken->downloaded_bytes;
    out->launches = all->launches - taken->launches;
    m->taken = m->counts;
    unlock(m);
}

static void modelled_range(struct gnn_tensor *t, const char *name)
{
    /* nobody draws a modelled timeline */
}

/* Whether the lists of the batch in use hold a block. */
static bool block_in_use(const struct modelled *m, const struct gnn_block *b)
{
    const struct gnn_batch_view *const view = m->in_use != NULL ? m->in_use->lists.view : NULL;
    for (uint32_t k = 0; view != NULL && k < view->layer_count; k++)
        if (view->blocks[k].col == b->col)
            return true;
    return false;
}

/* The arrays of a block that was not staged cross the bus once a step. */
static void upload_block(struct modelled *m, const struct gnn_block *b)
{
    lock(m);
    bool there = block_in_use(m, b);
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
/* clang-format on */

/* Rows that a kernel reads out of the host's memory: the stream waits while they cross the bus. */
static void cross_bus(struct modelled *m, uint64_t bytes)
{
    const uint64_t moving_ns = gnn_transfer_ns(bytes, m->bus.pinned_bytes_per_s);
    lock(m);
    const uint64_t ready_ns = gnn_max_u64(m->device->stream_free_ns, m->device->bus_free_ns) + m->bus.latency_ns;
    m->device->stream_free_ns = m->device->bus_free_ns = ready_ns + moving_ns;
    m->counts.bus_busy_ns += moving_ns;
    m->counts.uploaded_bytes += bytes;
    unlock(m);
}

/* The list of rows is the host's: on a GPU it crosses the bus first, unless it was staged. */
static void bring_list(struct modelled *m, const uint32_t *rows, uint32_t count)
{
    const bool there = m->in_use != NULL && m->in_use->lists.rows == rows;
    if (m->env.gpu && !there)
        copy_and_wait(m, count * (uint64_t)sizeof *rows, &m->counts.uploaded_bytes);
}

static void modelled_gather_rows(struct gnn_tensor *t, gnn_real *out, const gnn_real *table, uint64_t row_stride,
                                 const uint32_t *rows, uint32_t count, uint32_t cols)
{
    struct modelled *m = modelled_of(t);
    bring_list(m, rows, count);
    if (m->env.gpu && is_pinned(m, table))
        cross_bus(m, count * (uint64_t)cols * sizeof *table);
    run_op(t, gnn_cost_gather_rows(count, cols));
}

static void modelled_gather_placed(struct gnn_tensor *t, gnn_real *out, const struct gnn_placement *placement,
                                   const uint32_t *rows, uint32_t count, uint32_t cols, uint32_t host_count)
{
    struct modelled *m = modelled_of(t);
    assert(host_count <= count);
    bring_list(m, rows, count);
    if (m->env.gpu && host_count > 0)
        cross_bus(m, host_count * (uint64_t)cols * sizeof *out);
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
    const bool there = m->in_use != NULL && m->in_use->lists.labels == labels;
    if (m->env.gpu && !there)
        copy_and_wait(m, logits.rows * (uint64_t)sizeof *labels, &m->counts.uploaded_bytes);
    run_op(t, gnn_cost_softmax_nll(logits.rows, logits.cols));
    if (m->env.gpu && m->in_step)
        m->result_due = true;
    else if (m->env.gpu)
        copy_and_wait(m, RESULT_BYTES, &m->counts.downloaded_bytes);
    *loss = NAN;
    *correct = 0;
}

static void modelled_link_loss(struct gnn_tensor *t, struct gnn_mat scores, gnn_real *positive, const uint32_t *own,
                               double *loss)
{
    struct modelled *m = modelled_of(t);
    bring_list(m, own, scores.cols);
    run_op(t, gnn_cost_softmax_nll(scores.rows, (uint64_t)scores.cols + 1));
    if (m->env.gpu)
        copy_and_wait(m, RESULT_BYTES, &m->counts.downloaded_bytes);
    *loss = NAN;
}

static void modelled_link_scatter_add(struct gnn_tensor *t, gnn_real *table, const uint32_t *rows, struct gnn_mat x)
{
    bring_list(modelled_of(t), rows, x.rows);
    run_op(t, gnn_cost_scatter_add(x.rows, x.cols));
}

#define MODELLED_LINK(op) .op = modelled_link_##op,
static const struct gnn_link_ops modelled_link = {GNN_LINK_OPS(MODELLED_LINK)};

#define MODELLED(op) .op = modelled_##op,

/* clang-format off */
const struct gnn_tensor_ops gnn_tensor_modelled = {
    .name = "model", .open = modelled_open, .gemm = modelled_gemm, .link = &modelled_link,
    .gat_rows = NULL, /* what is charged is what the released codes do: they map rows first */
    GNN_TENSOR_MEMORY_OPS(MODELLED) GNN_TENSOR_PLAIN_OPS(MODELLED) GNN_TENSOR_TUNED_OPS(MODELLED)
};
/* clang-format on */

/* SPDX-License-Identifier: MIT */
/* The CUDA back-end's memory: pieces of the device that are given out again, so that after the largest mini-batch
 * nothing is allocated; scratch that grows; pinned staging; copies and events. */
#include "harness/tensor/cuda/state.h"

/* ---- the pool ---- */

static uint64_t size_class(uint64_t bytes)
{
    return gnn_round_up(gnn_max_u64(bytes, 1), bytes < 1 << 20 ? 512 : 1 << 20);
}

/* The smallest free piece that is not more than twice as large; the mutex is held. */
static struct cuda_piece *find_free(struct cuda_pool *pool, uint64_t bytes)
{
    struct cuda_piece *best = NULL;
    for (uint32_t i = 0; i < pool->count; i++) {
        struct cuda_piece *p = &pool->pieces[i];
        if (p->state == CUDA_PIECE_FREE && p->bytes >= bytes && p->bytes <= 2 * bytes &&
            (best == NULL || p->bytes < best->bytes))
            best = p;
    }
    return best;
}

/* Gives what lies unused back to the device. */
static void release_free(struct cuda_backend *b)
{
    struct cuda_pool *pool = &b->pool;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pool->count; i++) {
        if (pool->pieces[i].state != CUDA_PIECE_FREE)
            pool->pieces[kept++] = pool->pieces[i];
        else
            gnn_device_free(b->device, pool->pieces[i].ptr);
    }
    pool->count = kept;
}

static struct cuda_piece *new_piece(struct cuda_backend *b, const char *name, uint64_t bytes, struct gnn_err *err)
{
    struct cuda_pool *pool = &b->pool;
    void *ptr = NULL;
    if (pool->count == GNN_CUDA_POOL_MAX)
        release_free(b);
    if (pool->count == GNN_CUDA_POOL_MAX) {
        (void)gnn_fail(err, GNN_EGPU, "%s: more than %d pieces of device memory are in use", name, GNN_CUDA_POOL_MAX);
        return NULL;
    }
    if (gnn_device_alloc(b->device, name, bytes, &ptr, NULL) != GNN_OK) { /* what lies unused may be what is missing */
        release_free(b);
        if (gnn_device_alloc(b->device, name, bytes, &ptr, err) != GNN_OK)
            return NULL;
    }
    pool->allocations++;
    pool->pieces[pool->count] = {ptr, bytes, CUDA_PIECE_FREE};
    return &pool->pieces[pool->count++];
}

enum gnn_status cuda_alloc(struct gnn_tensor *t, const char *name, uint64_t bytes, void **out, struct gnn_err *err)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const cuda_call call(b);
    const std::lock_guard<std::mutex> held(b->pool.mutex);
    const uint64_t rounded = size_class(bytes);
    struct cuda_piece *piece = find_free(&b->pool, rounded);
    if (piece == NULL)
        piece = new_piece(b, name, rounded, err);
    if (piece == NULL)
        return GNN_EGPU;
    piece->state = CUDA_PIECE_USED;
    *out = piece->ptr;
    return GNN_OK;
}

void cuda_free(struct gnn_tensor *t, void *ptr)
{
    struct cuda_backend *b = cuda_backend_of(t);
    if (ptr == NULL)
        return;
    const std::lock_guard<std::mutex> held(b->pool.mutex);
    for (uint32_t i = 0; i < b->pool.count; i++)
        if (b->pool.pieces[i].ptr == ptr) {
            assert(b->pool.pieces[i].state == CUDA_PIECE_USED);
            b->pool.pieces[i].state = b->under_way ? CUDA_PIECE_RETIRED : CUDA_PIECE_FREE;
            return;
        }
    assert(!"memory of another back-end");
}

void cuda_pool_settle(struct cuda_backend *b)
{
    const std::lock_guard<std::mutex> held(b->pool.mutex);
    for (uint32_t i = 0; i < b->pool.count; i++)
        if (b->pool.pieces[i].state == CUDA_PIECE_RETIRED)
            b->pool.pieces[i].state = CUDA_PIECE_FREE;
}

void cuda_pool_close(struct cuda_backend *b)
{
    for (uint32_t i = 0; i < b->pool.count; i++)
        gnn_device_free(b->device, b->pool.pieces[i].ptr);
    b->pool.count = 0;
}

uint64_t gnn_cuda_allocations(const struct gnn_tensor *t)
{
    return ((const struct cuda_backend *)t)->pool.allocations;
}

/* ---- scratch, pinned memory ---- */

void cuda_keep(struct cuda_backend *b, const struct gnn_err *err)
{
    if (b->status != GNN_OK)
        return;
    b->status = err->status;
    b->err = *err;
}

bool cuda_reserve(struct cuda_backend *b, struct cuda_scratch *s, const char *name, uint64_t bytes)
{
    if (bytes <= s->bytes)
        return true;
    cuda_leave_capture(b, name);
    cuda_free(&b->base, s->data);
    *s = {NULL, 0};
    struct gnn_err err = {};
    void *data = NULL;
    if (cuda_alloc(&b->base, name, bytes + bytes / 8, &data, &err) != GNN_OK) {
        cuda_keep(b, &err);
        return false;
    }
    *s = {data, bytes + bytes / 8};
    return true;
}

void cuda_pinned_free(struct cuda_backend *b, struct cuda_pinned *p)
{
    if (p->data == NULL)
        return;
    gnn_device_unpin(b->device, p->data);
    b->env.free(b->env.ctx, p->data);
    *p = {NULL, 0};
}

enum gnn_status cuda_pinned_reserve(struct cuda_backend *b, struct cuda_pinned *p, const char *name, uint64_t bytes,
                                    struct gnn_err *err)
{
    if (bytes <= p->bytes)
        return GNN_OK;
    cuda_pinned_free(b, p);
    const uint64_t room = bytes + bytes / 8;
    void *data = NULL;
    GNN_TRY(b->env.alloc(b->env.ctx, name, room, &data, err));
    const enum gnn_status status = gnn_device_pin(b->device, name, data, room, err);
    if (status == GNN_OK)
        *p = {data, room};
    else
        b->env.free(b->env.ctx, data);
    return status;
}

enum gnn_status cuda_pin(struct gnn_tensor *t, const char *name, void *host, uint64_t bytes, struct gnn_err *err)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const cuda_call call(b);
    return gnn_device_pin(b->device, name, host, bytes, err);
}

void cuda_unpin(struct gnn_tensor *t, void *host)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const cuda_call call(b);
    gnn_device_unpin(b->device, host);
}

/* ---- waits ---- */

enum {
    SLEPT_NS_MIN = 2000,  /* shorter times are the clocks' own */
    SLOW_CALL_NS = 20000, /* a copy is given to a stream in a few thousand */
};

uint64_t cuda_now(const struct cuda_backend *b)
{
    return b->env.now_ns != NULL ? b->env.now_ns(b->env.ctx) : 0;
}

static int64_t asleep(const struct cuda_backend *b)
{
    return b->env.asleep_ns != NULL ? b->env.asleep_ns(b->env.ctx) : 0;
}

static void tell_wait(const struct cuda_backend *b, uint64_t ns)
{
    if (b->env.waited != NULL)
        b->env.waited(b->env.ctx, ns);
}

static void tell_sleep(const struct cuda_backend *b, int64_t ns)
{
    if (ns >= SLEPT_NS_MIN)
        tell_wait(b, (uint64_t)ns);
}

static bool calls(const struct cuda_backend *b)
{
    return b->caller.load() == std::this_thread::get_id();
}

void cuda_calls_begin(struct cuda_backend *b)
{
    if (b->caller.load() != std::thread::id())
        return;
    b->caller = std::this_thread::get_id();
    b->asleep_ns = asleep(b);
}

/* What was slept so far in calls is told before a wait by the clock: one that spins is counted twice (on a core, and as
 * a wait), and would hide it. */
uint64_t cuda_wait_begin(struct cuda_backend *b)
{
    if (calls(b))
        tell_sleep(b, asleep(b) - b->asleep_ns);
    return cuda_now(b);
}

void cuda_wait_end(struct cuda_backend *b, uint64_t start_ns)
{
    tell_wait(b, cuda_now(b) - start_ns);
    if (calls(b))
        b->asleep_ns = asleep(b);
}

cuda_call::cuda_call(struct cuda_backend *backend) : b(backend), asleep_ns(asleep(backend))
{
}

cuda_call::~cuda_call()
{
    tell_sleep(b, asleep(b) - asleep_ns);
}

cuda_quick_call::cuda_quick_call(struct cuda_backend *backend) : b(backend), start_ns(cuda_now(backend))
{
}

cuda_quick_call::~cuda_quick_call()
{
    const uint64_t ns = cuda_now(b) - start_ns;
    if (ns >= SLOW_CALL_NS)
        tell_wait(b, ns);
}

/* ---- copies ---- */

void cuda_upload(struct gnn_tensor *t, void *dst, const void *host_src, uint64_t bytes)
{
    struct cuda_backend *b = cuda_backend_of(t);
    if (bytes == 0)
        return;
    cuda_leave_capture(b, "an upload");
    const uint64_t start_ns = cuda_wait_begin(b);
    gnn_device_upload(b->device, dst, host_src, bytes);
    cuda_wait_end(b, start_ns);
}

void cuda_download(struct gnn_tensor *t, void *host_dst, const void *src, uint64_t bytes)
{
    struct cuda_backend *b = cuda_backend_of(t);
    if (bytes == 0)
        return;
    cuda_leave_capture(b, "a download");
    const uint64_t start_ns = cuda_wait_begin(b);
    gnn_device_download(b->device, host_dst, src, bytes);
    cuda_wait_end(b, start_ns);
}

void cuda_upload_async(struct gnn_tensor *t, uint32_t lane, void *dst, const void *host_src, uint64_t bytes)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const cuda_quick_call call(b);
    gnn_device_upload_lane(b->device, lane, dst, host_src, bytes);
}

void cuda_upload_wait(struct gnn_tensor *t, uint32_t lane)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const uint64_t start_ns = cuda_wait_begin(b);
    gnn_device_wait_lane(b->device, lane);
    cuda_wait_end(b, start_ns);
}

void cuda_copy(struct gnn_tensor *t, gnn_real *dst, const gnn_real *src, uint64_t count)
{
    if (count > 0)
        gnn_device_copy(cuda_backend_of(t)->device, dst, src, count * sizeof *dst);
}

void cuda_staging_settle(struct cuda_backend *b)
{
    const uint64_t wanted = gnn_min_u64(b->staging_wanted, CUDA_STAGING_MOST_BYTES);
    struct cuda_pinned larger = {};
    b->staging_used = b->staging_wanted = 0;
    if (wanted <= b->staging.bytes || b->staging_refused)
        return;
    if (cuda_pinned_reserve(b, &larger, "staging of the CUDA back-end", wanted, NULL) != GNN_OK) {
        b->staging_refused = true; /* lists go on in turns */
        return;
    }
    cuda_pinned_free(b, &b->staging);
    b->staging = larger;
}

/* Room in the pinned staging memory, until the next synchronize; NULL when so much does not fit at all. */
static char *staging_room(struct cuda_backend *b, uint64_t bytes)
{
    b->staging_wanted += gnn_round_up(bytes, 64);
    if (bytes > b->staging.bytes)
        return NULL;
    if (b->staging_used + bytes > b->staging.bytes) { /* what is staged must have been read before it is replaced */
        cuda_leave_capture(b, "full staging memory");
        const uint64_t start_ns = cuda_wait_begin(b);
        gnn_device_synchronize(b->device);
        cuda_wait_end(b, start_ns);
        if (b->under_way)
            gnn_device_held_begin(b->device); /* the rest of the step is still to come */
        b->staging_used = 0;
    }
    char *at = (char *)b->staging.data + b->staging_used;
    b->staging_used = gnn_min_u64(b->staging_used + gnn_round_up(bytes, 64), b->staging.bytes);
    return at;
}

void cuda_send(struct cuda_backend *b, void *dst, const void *host_src, uint64_t bytes)
{
    char *at = bytes > 0 ? staging_room(b, bytes) : NULL;
    if (at != NULL) {
        memcpy(at, host_src, bytes);
        gnn_device_upload_ordered(b->device, dst, at, bytes);
    } else {
        cuda_upload(&b->base, dst, host_src, bytes);
    }
}

/* ---- events ---- */

enum gnn_status cuda_event_open(struct gnn_tensor *t, struct gnn_event **out, struct gnn_err *err)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const cuda_call call(b);
    return gnn_device_event_open(b->device, out, err);
}

void cuda_event_close(struct gnn_tensor *t, struct gnn_event *event)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const cuda_call call(b);
    gnn_device_event_close(b->device, event);
}

void cuda_event_record(struct gnn_tensor *t, struct gnn_event *event, uint32_t lane)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const cuda_call call(b);
    gnn_device_event_record(b->device, event, lane);
}

void cuda_event_await(struct gnn_tensor *t, struct gnn_event *event, uint32_t lane)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const cuda_call call(b);
    gnn_device_event_await(b->device, event, lane);
}

void cuda_event_wait(struct gnn_tensor *t, struct gnn_event *event)
{
    struct cuda_backend *b = cuda_backend_of(t);
    const uint64_t start_ns = cuda_wait_begin(b);
    gnn_device_event_wait(b->device, event);
    cuda_wait_end(b, start_ns);
}

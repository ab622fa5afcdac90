#include "tests/support/cuda_host.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "harness/tensor/cuda/runtime.h"

extern "C" {
#define _Noreturn [[noreturn]]
#include "harness/world/simulated/coroutine.h"
#undef _Noreturn
}

cuda_host_dim threadIdx, blockIdx, blockDim, gridDim;

namespace
{

enum { WARP = 32, THREADS_MAX = 1024 };

/* A barrier: those who arrive wait for the number of the next generation. */
struct barrier {
    uint32_t arrived, generation;
};

struct thread {
    struct sim_coroutine stack;
    bool open, finished;
    const char *waits_at; /* NULL: runs */
    uint64_t word;        /* what it shows its warp */
};

struct launcher {
    struct sim_coroutine self; /* the test's stack */
    struct thread threads[THREADS_MAX];
    struct barrier block, warps[THREADS_MAX / WARP];
    uint32_t thread_count, running;
    const std::function<void()> *kernel;
    uint64_t progress; /* of barriers and ends: a round without any is a deadlock */
};

launcher l;

void fail(const char *what)
{
    std::fprintf(stderr, "cuda_host: block %u, thread %u: %s\n", blockIdx.x, threadIdx.x, what);
    std::abort();
}

void switch_to_launcher(struct thread *t)
{
    sim_coroutine_switch(&t->stack, &l.self);
}

void wait_at(struct barrier *b, uint32_t wanted, const char *name)
{
    struct thread *const t = &l.threads[l.running];
    const uint32_t generation = b->generation;
    l.progress++;
    if (++b->arrived == wanted) {
        b->arrived = 0;
        b->generation++;
        return;
    }
    t->waits_at = name;
    while (b->generation == generation)
        switch_to_launcher(t);
    t->waits_at = NULL;
}

void thread_main(void *arg)
{
    struct thread *const t = static_cast<struct thread *>(arg);
    for (;;) { /* the stack serves every block */
        (*l.kernel)();
        t->finished = true;
        l.progress++;
        switch_to_launcher(t);
    }
}

void open_thread(struct thread *t)
{
    struct gnn_err err = {};
    if (t->open)
        return;
    if (sim_coroutine_open(&t->stack, thread_main, t, &err) != GNN_OK)
        fail(err.message);
    t->open = true;
}

void run_block()
{
    l.block = {0, 0};
    for (barrier &b : l.warps)
        b = {0, 0};
    for (uint32_t i = 0; i < l.thread_count; i++) {
        open_thread(&l.threads[i]);
        l.threads[i].finished = false;
        l.threads[i].waits_at = NULL;
    }
    for (uint32_t left = l.thread_count; left > 0;) {
        const uint64_t before = l.progress;
        left = 0;
        for (uint32_t i = 0; i < l.thread_count; i++) {
            if (l.threads[i].finished)
                continue;
            l.running = i;
            threadIdx = {i, 0, 0};
            sim_coroutine_switch(&l.self, &l.threads[i].stack);
            left += !l.threads[i].finished;
        }
        if (left > 0 && l.progress == before)
            fail("threads wait at barriers that others never reach");
    }
}

} // namespace

void cuda_host_launch(uint32_t blocks, uint32_t threads, const std::function<void()> &kernel)
{
    if (threads == 0 || threads > THREADS_MAX || threads % WARP != 0)
        fail("a block's threads must be whole warps, 1024 at most");
    sim_coroutine_adopt(&l.self);
    l.thread_count = threads;
    l.kernel = &kernel;
    blockDim = {threads, 1, 1};
    gridDim = {blocks, 1, 1};
    for (uint32_t b = 0; b < blocks; b++) {
        blockIdx = {b, 0, 0};
        run_block();
    }
    sim_coroutine_close(&l.self);
}

void __syncthreads()
{
    const cuda_host_dim own = threadIdx;
    wait_at(&l.block, l.thread_count, "__syncthreads");
    threadIdx = own;
}

void __syncwarp(uint32_t mask)
{
    const cuda_host_dim own = threadIdx;
    if (mask != 0xffffffffu)
        fail("only whole warps are supported");
    wait_at(&l.warps[own.x / WARP], WARP, "__syncwarp");
    threadIdx = own;
}

uint64_t cuda_host_exchange(uint64_t word, uint32_t from_lane)
{
    const uint32_t me = threadIdx.x;
    l.threads[me].word = word;
    __syncwarp();
    const uint64_t other = l.threads[me / WARP * WARP + from_lane].word;
    __syncwarp(); /* nobody shows another word before all have read this one */
    return other;
}

/* ---- runtime.h in host memory ---- */

struct gnn_device {
    uint64_t allocated_bytes;
    std::vector<std::pair<void *, uint64_t>> pieces;
    uint64_t capacity_bytes;
};

uint64_t cuda_host_capacity_bytes = UINT64_MAX; /* of devices opened next */

enum gnn_status gnn_device_open(uint32_t number, enum gnn_precision precision, struct gnn_device **out,
                                struct gnn_err *err)
{
    (void)precision;
    if (number > 0)
        return gnn_fail(err, GNN_ENOTSUP, "--compute cuda:%u: there are devices 0 to 0", number);
    *out = new gnn_device{0, {}, cuda_host_capacity_bytes};
    return GNN_OK;
}

void gnn_device_close(struct gnn_device *d)
{
    if (d != NULL && !d->pieces.empty())
        fail("device memory was not freed");
    delete d;
}

uint32_t gnn_device_multiprocessors(const struct gnn_device *d)
{
    (void)d;
    return 1;
}

/* Few, so that every loop over a grid goes round. */
uint32_t gnn_device_blocks(const struct gnn_device *d, uint64_t threads)
{
    (void)d;
    return (uint32_t)gnn_min_u64(gnn_div_up(threads, GNN_BLOCK_THREADS), 3);
}

enum gnn_status gnn_device_alloc(struct gnn_device *d, const char *name, uint64_t bytes, void **out,
                                 struct gnn_err *err)
{
    if (d->allocated_bytes + bytes > d->capacity_bytes)
        return gnn_fail(err, GNN_EGPU, "%s: the test's device is full", name);
    *out = std::aligned_alloc(256, gnn_round_up(bytes, 256));
    std::memset(*out, 0xff, bytes); /* NaN: what is read before it is written shows */
    d->allocated_bytes += bytes;
    d->pieces.push_back({*out, bytes});
    return GNN_OK;
}

void gnn_device_free(struct gnn_device *d, void *ptr)
{
    for (size_t i = 0; i < d->pieces.size(); i++)
        if (d->pieces[i].first == ptr) {
            d->allocated_bytes -= d->pieces[i].second;
            d->pieces.erase(d->pieces.begin() + (std::ptrdiff_t)i);
            std::free(ptr);
            return;
        }
    if (ptr != NULL)
        fail("freed memory that is not the device's");
}

enum gnn_status gnn_device_alloc_pinned(struct gnn_device *d, const char *name, uint64_t bytes, void **out,
                                        struct gnn_err *err)
{
    (void)d;
    *out = std::malloc(bytes);
    return *out != NULL ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "%s", name);
}

void gnn_device_free_pinned(struct gnn_device *d, void *ptr)
{
    (void)d;
    std::free(ptr);
}

static void move(void *dst, const void *src, uint64_t bytes)
{
    std::memmove(dst, src, bytes);
}

void gnn_device_upload(struct gnn_device *d, void *dst, const void *host_src, uint64_t bytes)
{
    (void)d;
    move(dst, host_src, bytes);
}

void gnn_device_upload_ordered(struct gnn_device *d, void *dst, const void *pinned_src, uint64_t bytes)
{
    (void)d;
    move(dst, pinned_src, bytes);
}

void gnn_device_download(struct gnn_device *d, void *host_dst, const void *src, uint64_t bytes)
{
    (void)d;
    move(host_dst, src, bytes);
}

void gnn_device_copy(struct gnn_device *d, void *dst, const void *src, uint64_t bytes)
{
    (void)d;
    move(dst, src, bytes);
}

void gnn_device_upload_lane(struct gnn_device *d, uint32_t lane, void *dst, const void *host_src, uint64_t bytes)
{
    (void)d;
    (void)lane;
    move(dst, host_src, bytes);
}

void gnn_device_wait_lane(struct gnn_device *d, uint32_t lane)
{
    (void)d;
    (void)lane;
}

void gnn_device_synchronize(struct gnn_device *d)
{
    (void)d;
}

uint64_t gnn_device_sort_bytes(uint32_t count)
{
    return count + UINT64_C(1);
}

void gnn_device_sort(struct gnn_device *d, void *scratch, uint64_t scratch_bytes, const uint32_t *keys,
                     uint32_t *keys_out, const uint32_t *values, uint32_t *values_out, uint32_t count,
                     uint32_t key_bits)
{
    (void)d;
    std::memset(scratch, 0, gnn_device_sort_bytes(count));
    if (scratch_bytes < gnn_device_sort_bytes(count))
        fail("the sort has too little scratch");
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
    for (uint32_t i = 0; i < count; i++) {
        if (key_bits < 32 && keys[order[i]] >> key_bits != 0)
            fail("a key has more bits than were said");
        keys_out[i] = keys[order[i]];
        values_out[i] = values[order[i]];
    }
}

void gnn_device_gemm(struct gnn_device *d, bool trans_a, bool trans_b, float alpha, struct gnn_mat a, struct gnn_mat b,
                     float beta, struct gnn_mat c)
{
    (void)d;
    gnn_tensor_ref.gemm(NULL, trans_a, trans_b, alpha, a, b, beta, c);
}

enum gnn_status gnn_device_check(const struct gnn_device *d, struct gnn_err *err)
{
    (void)d;
    (void)err;
    return GNN_OK;
}

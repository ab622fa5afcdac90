/* SPDX-License-Identifier: MIT */
#include "tests/support/cuda_host.h"

#include <cstdio>
#include <cstdlib>

#include "tests/support/sanitizers.h"

extern "C" {
#define _Noreturn [[noreturn]]
#include "harness/world/simulated/coroutine.h"
#undef _Noreturn
}

/* To ThreadSanitizer a block's threads run in parallel: it does not watch the launcher's own words, a switch orders
 * nothing, and a barrier orders what is given away at a word's address before what is taken there. */
#if SANITIZERS_THREAD
#include <sanitizer/tsan_interface.h>
#define NOT_WATCHED __attribute__((no_sanitize("thread")))
#define GIVE_ORDER(word) __tsan_release(word)
#define TAKE_ORDER(word) __tsan_acquire(word)
#else
#define NOT_WATCHED
#define GIVE_ORDER(word) (void)(word)
#define TAKE_ORDER(word) (void)(word)
#endif

cuda_host_dim threadIdx, blockIdx, blockDim, gridDim;

void cuda_host_fail(const char *what)
{
    std::fprintf(stderr, "cuda_host: block %u, thread %u: %s\n", blockIdx.x, threadIdx.x, what);
    std::abort();
}

namespace
{

enum { WARP = 32, THREADS_MAX = 1024 };

/* A barrier: those who arrive wait for the number of the next generation. One that is early for the next generation
 * orders it at another word than those who are late for this one. */
struct barrier {
    uint32_t arrived, generation;
    uint64_t order[2];
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
    uint64_t progress;   /* of barriers and ends: a round without any is a deadlock */
    uint64_t begin, end; /* of a block: where they order */
};

launcher l;

NOT_WATCHED void switch_to_launcher(struct thread *t)
{
    sim_coroutine_switch(&t->stack, &l.self);
}

/* Waits for the others, and orders nothing. */
NOT_WATCHED void wait_at(struct barrier *b, uint32_t wanted, const char *name)
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

/* The same, and what any did before it is done before what any does behind it. */
NOT_WATCHED void order_at(struct barrier *b, uint32_t wanted, const char *name)
{
    uint64_t *const order = &b->order[b->generation % 2];
    GIVE_ORDER(order);
    wait_at(b, wanted, name);
    TAKE_ORDER(order);
}

NOT_WATCHED void thread_main(void *arg)
{
    struct thread *const t = static_cast<struct thread *>(arg);
    for (;;) { /* the stack serves every block */
        TAKE_ORDER(&l.begin);
        (*l.kernel)();
        GIVE_ORDER(&l.end);
        t->finished = true;
        l.progress++;
        switch_to_launcher(t);
    }
}

NOT_WATCHED void open_thread(struct thread *t)
{
    struct gnn_err err = {};
    if (t->open)
        return;
    if (sim_coroutine_open(&t->stack, thread_main, t, &err) != GNN_OK)
        cuda_host_fail(err.message);
    t->stack.unordered = true;
    t->open = true;
}

NOT_WATCHED void run_block()
{
    l.block = {};
    for (barrier &b : l.warps)
        b = {};
    for (uint32_t i = 0; i < l.thread_count; i++) {
        open_thread(&l.threads[i]);
        l.threads[i].finished = false;
        l.threads[i].waits_at = NULL;
    }
    GIVE_ORDER(&l.begin);
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
            cuda_host_fail("threads wait at barriers that others never reach");
    }
    TAKE_ORDER(&l.end);
}

} // namespace

NOT_WATCHED void cuda_host_launch(uint32_t blocks, uint32_t threads, const std::function<void()> &kernel)
{
    if (threads == 0 || threads > THREADS_MAX || threads % WARP != 0)
        cuda_host_fail("a block's threads must be whole warps, 1024 at most");
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

NOT_WATCHED void __syncthreads()
{
    const cuda_host_dim own = threadIdx;
    order_at(&l.block, l.thread_count, "__syncthreads");
    threadIdx = own;
}

NOT_WATCHED void __syncwarp(uint32_t mask)
{
    const cuda_host_dim own = threadIdx;
    if (mask != 0xffffffffu)
        cuda_host_fail("only whole warps are supported");
    order_at(&l.warps[own.x / WARP], WARP, "__syncwarp");
    threadIdx = own;
}

/* The lanes meet, and what they wrote to memory is not ordered by it. */
NOT_WATCHED static void meet()
{
    const cuda_host_dim own = threadIdx;
    wait_at(&l.warps[own.x / WARP], WARP, "a shuffle");
    threadIdx = own;
}

NOT_WATCHED uint64_t cuda_host_exchange(uint64_t word, uint32_t from_lane)
{
    const uint32_t me = threadIdx.x;
    l.threads[me].word = word;
    meet();
    const uint64_t other = l.threads[me / WARP * WARP + from_lane].word;
    meet(); /* nobody shows another word before all have read this one */
    return other;
}

/* SPDX-License-Identifier: MIT */
/* A modelled back-end under a clock by hand, on a machine of round figures. Header only. */
#ifndef GNN_TESTS_MODELLED_CLOCK_H
#define GNN_TESTS_MODELLED_CLOCK_H

#include "harness/tensor/modelled/modelled.h"
#include "harness/world/profile.h"
#include "tests/support/toy_block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct clock {
    struct toy_memory memory; /* first: toy_alloc takes the clock for it */
    atomic_ullong now_ns, computed_ns, waited_ns;
};

static inline uint64_t clock_now(void *ctx)
{
    return atomic_load(&((struct clock *)ctx)->now_ns);
}

static inline void clock_wait(void *ctx, uint64_t deadline_ns)
{
    struct clock *c = ctx;
    unsigned long long now = atomic_load(&c->now_ns);
    while (now < deadline_ns && !atomic_compare_exchange_weak(&c->now_ns, &now, deadline_ns))
        ;
    if (now < deadline_ns)
        atomic_fetch_add(&c->waited_ns, deadline_ns - now);
}

static inline void clock_compute(void *ctx, uint64_t ns)
{
    struct clock *c = ctx;
    atomic_fetch_add(&c->now_ns, ns);
    atomic_fetch_add(&c->computed_ns, ns);
}

/* Round figures: 1 GFLOP/s and 1 GB/s a core, so that a FLOP or a byte is a nanosecond; the GPU ten times that. */
static inline struct gnn_profile round_profile(void)
{
    return (struct gnn_profile){
        .name = "round",
        .cpu = {.cores = 8},
        .host = {.present = true,
                 .gemm_flops_per_s = 1000000000,
                 .bytes_per_s = 1000000000,
                 .bytes_per_s_shared = 3000000000,
                 .gather_bytes_per_s = 500000000,
                 .launch_ns = 7},
        .gpu = {.present = true,
                .gemm_flops_per_s = 10000000000,
                .bytes_per_s = 10000000000,
                .bytes_per_s_shared = 10000000000,
                .gather_bytes_per_s = 5000000000,
                .launch_ns = 100,
                .memory_bytes = 1 << 20},
        .bus = {.pinned_bytes_per_s = 2000000000,
                .pageable_bytes_per_s = 1000000000,
                .latency_ns = 50,
                .link_bytes_per_s = 4000000000,
                .link_latency_ns = 30},
    };
}

static inline struct gnn_tensor *open_beside(struct clock *clock, const struct gnn_profile *profile, bool gpu,
                                             uint32_t threads, struct gnn_tensor *same_device)
{
    const struct gnn_tensor_env env = {.threads = threads,
                                       .gpu = gpu,
                                       .same_device = same_device,
                                       .alloc = toy_alloc,
                                       .free = toy_free,
                                       .now_ns = clock_now,
                                       .wait_until = clock_wait,
                                       .compute_ns = clock_compute,
                                       .ctx = clock};
    struct gnn_tensor *t = NULL;
    struct gnn_err err = {0};
    assert_int_equal(gnn_tensor_modelled.open(&env, profile, &t, &err), GNN_OK);
    assert_int_equal(t->host_memory, !gpu);
    return t;
}

static inline struct gnn_tensor *open_modelled(struct clock *clock, const struct gnn_profile *profile, bool gpu,
                                               uint32_t threads)
{
    return open_beside(clock, profile, gpu, threads, NULL);
}

/* Two targets, three sources, three edges: 0 <- {1, 2}, 1 <- {0}. */
static const uint32_t row_start[] = {0, 2, 3}, col[] = {1, 2, 0};
static const struct gnn_block block = {
    .dst_count = 2, .src_count = 3, .edge_count = 3, .row_start = row_start, .col = col};
enum { BLOCK_BYTES = 4 * (3 + 3) };

#endif

/* SPDX-License-Identifier: MIT */
#include "harness/world/simulated/simulated.h"

#include "harness/world/ring_engines.h"
#include "harness/world/simulated/internal.h"

#include <assert.h>
#include <stdlib.h>

/* An adaptive mutex of glibc 2.36 looks for 10 to 100 PAUSEs, as many as it needed of late; one takes 15 to 54 ns. */
static const uint64_t mutex_spin_ns = 1000;

uint64_t sim_now_ns(struct gnn_world *w)
{
    sim_settle(sim_executor_of(w)); /* what the caller has computed so far is past when it looks at the clock */
    return sim_now(sim_executor_of(w));
}

uint64_t sim_observed_ns(struct gnn_world *w)
{
    return sim_now(sim_executor_of(w)) + sim_pending_ns(sim_executor_of(w));
}

static const struct gnn_world_ops simulated_ops = {.name = "simulated",
                                                   .ring_submit = gnn_ring_engine_submit,
                                                   .ring_submit_writes = gnn_ring_engine_submit_writes,
                                                   .ring_wait = gnn_ring_engine_wait,
                                                   .ring_close = gnn_ring_engine_close,
                                                   GNN_WORLD_HOOKS(GNN_WORLD_HOOK_ENTRY, sim)};

/* ---- open, close ---- */

static enum gnn_status open_parts(struct simulated *s, struct gnn_err *err)
{
    const struct gnn_profile_cpu *const cpu = &s->profile->cpu;
    const struct sim_executor_config executor = {.cores = cpu->cores,
                                                 .lock_ns = cpu->lock_ns,
                                                 .wake_ns = cpu->wake_ns,
                                                 .wake_latency_ns = cpu->wake_latency_ns,
                                                 .spin_ns = mutex_spin_ns,
                                                 .futex_ns = cpu->syscall_ns,
                                                 .thread_start_ns = cpu->thread_start_ns,
                                                 .on_deadlock = s->config.on_deadlock,
                                                 .on_deadlock_ctx = s->config.on_deadlock_ctx,
                                                 .on_tick = s->config.on_tick,
                                                 .on_tick_ctx = s->config.on_tick_ctx};
    GNN_TRY(sim_executor_open(&executor, &s->executor, err));
    GNN_TRY(sim_device_open(&s->profile->storage, &s->device, err));
    GNN_TRY(sim_page_cache_open(0, s->profile->storage.readahead_bytes, &s->cache, err));
    sim_page_cache_set_kernel(s->cache, s->profile->kernel);
    GNN_TRY(sim_memory_open(s, err)); /* gives the page cache its room */
    GNN_TRY(sim_files_open(s, err));
    return sim_cached_open(s, err);
}

enum gnn_status gnn_world_simulated_open(const struct gnn_simulated_config *config, struct gnn_world **out,
                                         struct gnn_err *err)
{
    assert(config->profile != NULL);
    struct simulated *s;
    GNN_NEW(s, 1, err, "the simulated world: %zu bytes", sizeof *s);
    s->base = (struct gnn_world){.ops = &simulated_ops, .state = s};
    s->config = *config;
    s->profile = config->profile;
    const enum gnn_status status = open_parts(s, err);
    return GNN_OPENED(status, &s->base, out, gnn_world_simulated_close);
}

void gnn_world_simulated_close(struct gnn_world *world)
{
    if (world == NULL)
        return;
    struct simulated *const s = simulated_of(world);
    sim_files_close(s); /* files that go forget their cached pages */
    sim_cached_close(s);
    sim_memory_close(s);
    sim_page_cache_close(s->cache);
    sim_device_close(s->device);
    sim_executor_close(s->executor);
    free(s);
}

void gnn_world_simulated_glance(struct gnn_world *world, struct gnn_simulated_counts *out)
{
    const struct simulated *const s = simulated_of(world);
    struct sim_device_counts device;
    struct sim_page_cache_counts cache;
    sim_device_counts(s->device, &device);
    sim_page_cache_counts(s->cache, &cache);
    *out = (struct gnn_simulated_counts){.device_read_bytes = device.read_bytes,
                                         .device_read_ios = device.read_ios,
                                         .device_write_bytes = device.write_bytes,
                                         .device_write_ios = device.write_ios,
                                         .page_hits = cache.hits,
                                         .page_minor_faults = cache.minor_faults,
                                         .page_major_faults = cache.major_faults,
                                         .pages_evicted = cache.evicted,
                                         .pages_refaulted = cache.refaulted,
                                         .pages_readahead = cache.readahead,
                                         .cached_bytes = cache.pages * GNN_PAGE_BYTES,
                                         .cpu_busy_ns = sim_busy_ns(s->executor),
                                         .io_sleep_ns = sim_io_sleep_ns(s->executor),
                                         .device_busy_ns = device.busy_ns,
                                         .device_read_sizes = device.read_sizes};
    sim_memory_known(s, &out->charged_bytes, &out->charged_peak_bytes);
}

void gnn_world_simulated_counts(struct gnn_world *world, struct gnn_simulated_counts *out)
{
    sim_memory_note(simulated_of(world)); /* may take room from the page cache */
    gnn_world_simulated_glance(world, out);
}

enum gnn_status gnn_world_simulated_add_file(struct gnn_world *world, const char *path,
                                             const struct gnn_content *content, struct gnn_err *err)
{
    return sim_file_add(simulated_of(world), path, content, err);
}

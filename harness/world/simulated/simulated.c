#include "harness/world/simulated/simulated.h"

#include "harness/world/ring_engines.h"
#include "harness/world/simulated/internal.h"

#include <assert.h>
#include <stdlib.h>

/* ---- hooks that the executor serves whole ---- */

static struct sim_executor *executor_of(struct gnn_world *w)
{
    return simulated_of(w)->executor;
}

static uint64_t now_ns(struct gnn_world *w)
{
    sim_settle(executor_of(w)); /* what the caller has computed so far is past when it looks at the clock */
    return sim_now(executor_of(w));
}

static void sleep_until(struct gnn_world *w, uint64_t deadline_ns, enum gnn_wait kind)
{
    sim_sleep_until(executor_of(w), deadline_ns, kind);
}

static enum gnn_status thread_start(struct gnn_world *w, const char *name, gnn_thread_fn *fn, void *arg,
                                    struct gnn_thread **out, struct gnn_err *err)
{
    return sim_thread_start(executor_of(w), name, fn, arg, out, err);
}

static void thread_join(struct gnn_world *w, struct gnn_thread *thread)
{
    sim_thread_join(executor_of(w), thread);
}

static void thread_split(struct gnn_world *w, struct gnn_time_split *out)
{
    sim_thread_split(executor_of(w), out);
}

static void add_wait(struct gnn_world *w, enum gnn_wait kind, uint64_t ns)
{
    sim_add_wait(executor_of(w), kind, ns);
}

static enum gnn_status mutex_open(struct gnn_world *w, struct gnn_mutex **out, struct gnn_err *err)
{
    return sim_mutex_open(executor_of(w), out, err);
}

static void mutex_lock(struct gnn_world *w, struct gnn_mutex *mutex)
{
    sim_mutex_lock(executor_of(w), mutex);
}

static void mutex_unlock(struct gnn_world *w, struct gnn_mutex *mutex)
{
    sim_mutex_unlock(executor_of(w), mutex);
}

static void mutex_close(struct gnn_world *w, struct gnn_mutex *mutex)
{
    sim_mutex_close(executor_of(w), mutex);
}

static enum gnn_status cond_open(struct gnn_world *w, struct gnn_cond **out, struct gnn_err *err)
{
    return sim_cond_open(executor_of(w), out, err);
}

static bool cond_wait(struct gnn_world *w, struct gnn_cond *cond, struct gnn_mutex *mutex, uint64_t deadline_ns,
                      enum gnn_wait kind)
{
    return sim_cond_wait(executor_of(w), cond, mutex, deadline_ns, kind);
}

static void cond_signal(struct gnn_world *w, struct gnn_cond *cond)
{
    sim_cond_signal(executor_of(w), cond);
}

static void cond_broadcast(struct gnn_world *w, struct gnn_cond *cond)
{
    sim_cond_broadcast(executor_of(w), cond);
}

static void cond_close(struct gnn_world *w, struct gnn_cond *cond)
{
    sim_cond_close(executor_of(w), cond);
}

static const struct gnn_world_ops simulated_ops = {
    .name = "simulated",
    .now_ns = now_ns,
    .sleep_until = sleep_until,
    .thread_start = thread_start,
    .thread_join = thread_join,
    .thread_split = thread_split,
    .add_wait = add_wait,
    .mutex_open = mutex_open,
    .mutex_lock = mutex_lock,
    .mutex_unlock = mutex_unlock,
    .mutex_close = mutex_close,
    .cond_open = cond_open,
    .cond_wait = cond_wait,
    .cond_signal = cond_signal,
    .cond_broadcast = cond_broadcast,
    .cond_close = cond_close,
    .mem_alloc = sim_mem_alloc,
    .mem_free = sim_mem_free,
    .mem_usage = sim_mem_usage,
    .mem_copy = sim_mem_copy,
    .file_open = sim_file_open,
    .file_info = sim_file_info,
    .file_path = sim_file_path,
    .file_read = sim_file_read,
    .file_write = sim_file_write,
    .file_sync = sim_file_sync,
    .file_close = sim_file_close,
    .file_rename = sim_file_rename,
    .file_remove = sim_file_remove,
    .dir_make = sim_dir_make,
    .map_open = sim_map_open,
    .map_gather_u32 = sim_map_gather_u32,
    .map_gather_rows = sim_map_gather_rows,
    .map_close = sim_map_close,
    .ring_open = sim_ring_open,
    .ring_submit = gnn_ring_engine_submit,
    .ring_wait = gnn_ring_engine_wait,
    .ring_close = gnn_ring_engine_close,
    .charge = sim_charge,
};

/* ---- open, close ---- */

static enum gnn_status open_parts(struct simulated *s, struct gnn_err *err)
{
    const struct gnn_profile_cpu *const cpu = &s->profile->cpu;
    const struct sim_executor_config executor = {.cores = cpu->cores,
                                                 .lock_ns = cpu->lock_ns,
                                                 .wake_ns = cpu->wake_ns,
                                                 .wake_latency_ns = cpu->wake_latency_ns,
                                                 .thread_start_ns = cpu->thread_start_ns,
                                                 .on_deadlock = s->config.on_deadlock,
                                                 .on_deadlock_ctx = s->config.on_deadlock_ctx};
    GNN_TRY(sim_executor_open(&executor, &s->executor, err));
    GNN_TRY(sim_device_open(&s->profile->storage, &s->device, err));
    GNN_TRY(sim_page_cache_open(0, s->profile->storage.readahead_bytes, &s->cache, err));
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
    s->base.ops = &simulated_ops;
    s->config = *config;
    s->profile = config->profile;
    const enum gnn_status status = open_parts(s, err);
    if (status == GNN_OK)
        *out = &s->base;
    else
        gnn_world_simulated_close(&s->base);
    return status;
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

void gnn_world_simulated_counts(struct gnn_world *world, struct gnn_simulated_counts *out)
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
                                         .cpu_busy_ns = sim_busy_ns(s->executor)};
}

enum gnn_status gnn_world_simulated_add_file(struct gnn_world *world, const char *path,
                                             const struct gnn_content *content, struct gnn_err *err)
{
    return sim_file_add(simulated_of(world), path, content, err);
}

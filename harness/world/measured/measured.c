#include "harness/world/measured/measured.h"

#include "harness/base/log.h"
#include "harness/world/measured/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Work charged to a virtual CPU in the simulated world; here the real one has already done it. */
static void measured_charge(struct gnn_world *w, enum gnn_work kind, uint64_t count)
{
    (void)w;
    (void)count;
    assert(kind < GNN_WORK_KINDS);
}

static const struct gnn_world_ops measured_ops = {
    .name = "measured",
    .now_ns = measured_now_ns,
    .sleep_until = measured_sleep_until,
    .thread_start = measured_thread_start,
    .thread_join = measured_thread_join,
    .thread_split = measured_thread_split,
    .add_wait = measured_add_wait,
    .mutex_open = measured_mutex_open,
    .mutex_lock = measured_mutex_lock,
    .mutex_unlock = measured_mutex_unlock,
    .mutex_close = measured_mutex_close,
    .cond_open = measured_cond_open,
    .cond_wait = measured_cond_wait,
    .cond_signal = measured_cond_signal,
    .cond_broadcast = measured_cond_broadcast,
    .cond_close = measured_cond_close,
    .mem_alloc = measured_mem_alloc,
    .mem_free = measured_mem_free,
    .mem_usage = measured_mem_usage,
    .mem_copy = measured_mem_copy,
    .file_open = measured_file_open,
    .file_info = measured_file_info,
    .file_path = measured_file_path,
    .file_read = measured_file_read,
    .file_write = measured_file_write,
    .file_sync = measured_file_sync,
    .file_close = measured_file_close,
    .file_rename = measured_file_rename,
    .file_remove = measured_file_remove,
    .dir_make = measured_dir_make,
    .map_open = measured_map_open,
    .map_gather_u32 = measured_map_gather_u32,
    .map_gather_rows = measured_map_gather_rows,
    .map_close = measured_map_close,
    .ring_open = measured_ring_open,
    .ring_submit = gnn_ring_engine_submit,
    .ring_wait = gnn_ring_engine_wait,
    .ring_close = gnn_ring_engine_close,
    .charge = measured_charge,
};

enum gnn_status gnn_world_measured_open(const struct gnn_measured_config *config, struct gnn_world **out,
                                        struct gnn_err *err)
{
    struct measured *m;
    GNN_NEW(m, 1, err, "the measured world: %zu bytes", sizeof *m);
    m->base.ops = &measured_ops;
    if (config != NULL)
        m->config = *config;
    const uint32_t align = m->config.force_align_bytes;
    assert((align & (align - 1)) == 0);
    if (pthread_key_create(&m->self, measured_thread_exit) != 0) {
        free(m);
        return gnn_fail(err, GNN_ENOMEM, "no thread-specific key left: too many worlds are open");
    }
    const int rc = pthread_mutex_init(&m->lock, NULL);
    assert(rc == 0);
    (void)measured_self(m);
    *out = &m->base;
    return GNN_OK;
}

void gnn_world_measured_close(struct gnn_world *world)
{
    if (world == NULL)
        return;
    struct measured *m = measured_of(world);
    const uint64_t left = atomic_load(&m->memory_bytes);
    if (left != 0)
        gnn_log_warn("%llu bytes of large memory were still allocated when the world closed", (unsigned long long)left);
    (void)pthread_key_delete(m->self);
    while (m->joined_in != NULL) {
        struct gnn_thread *thread = m->joined_in;
        m->joined_in = thread->next;
        measured_thread_free(thread);
    }
    (void)pthread_mutex_destroy(&m->lock);
    free(m);
}

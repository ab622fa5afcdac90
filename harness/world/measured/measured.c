/* SPDX-License-Identifier: MIT */
#include "harness/world/measured/measured.h"

#include "harness/base/log.h"
#include "harness/world/measured/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Work charged to a virtual CPU in the simulated world; here the real one has already done it. */
void measured_charge(struct gnn_world *w, enum gnn_work kind, uint64_t count)
{
    (void)w;
    (void)count;
    assert(kind < GNN_WORK_KINDS);
}

static const struct gnn_world_ops measured_ops = {.name = "measured",
                                                  .ring_submit = gnn_ring_engine_submit,
                                                  .ring_submit_writes = gnn_ring_engine_submit_writes,
                                                  .ring_wait = gnn_ring_engine_wait,
                                                  .ring_close = gnn_ring_engine_close,
                                                  GNN_WORLD_HOOKS(GNN_WORLD_HOOK_ENTRY, measured)};

static void close_count(struct measured *m)
{
    if (m->memory != &m->own_memory)
        measured_shared_page_free(m->memory);
}

void gnn_world_measured_forked(struct gnn_world *world)
{
    struct measured *const m = measured_of(world);
    assert(m->config.processes);
    m->sharing = false;
    measured_thread_forked(measured_self(m));
}

enum gnn_status gnn_world_measured_open(const struct gnn_measured_config *config, struct gnn_world **out,
                                        struct gnn_err *err)
{
    struct measured *m;
    GNN_NEW(m, 1, err, "the measured world: %zu bytes", sizeof *m);
    m->base = (struct gnn_world){.ops = &measured_ops, .state = m};
    if (config != NULL)
        m->config = *config;
    const uint32_t align = m->config.force_align_bytes;
    assert((align & (align - 1)) == 0);
    m->sharing = m->config.processes;
    m->memory = m->sharing ? measured_shared_page() : &m->own_memory;
    if (m->memory == NULL) {
        free(m);
        return gnn_fail(err, GNN_ENOMEM, "a page that the workers share");
    }
    if (pthread_key_create(&m->self, measured_thread_exit) != 0) {
        close_count(m);
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
    const uint64_t left = atomic_load(&m->memory->bytes);
    if (left != 0)
        gnn_log_warn("%llu bytes of large memory were still allocated when the world closed", (unsigned long long)left);
    (void)pthread_key_delete(m->self);
    while (m->joined_in != NULL) {
        struct gnn_thread *thread = m->joined_in;
        m->joined_in = thread->next;
        measured_thread_free(thread);
    }
    (void)pthread_mutex_destroy(&m->lock);
    close_count(m);
    free(m);
}

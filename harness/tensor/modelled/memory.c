/* SPDX-License-Identifier: MIT */
#include "harness/base/units.h"
#include "harness/tensor/modelled/state.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { GPU_GRANULE = 512 }; /* GPU memory is handed out in multiples of it */

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

void modelled_memory_close(struct modelled *m)
{
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

enum gnn_status modelled_alloc(struct gnn_tensor *t, const char *name, uint64_t bytes, void **out, struct gnn_err *err)
{
    struct modelled *m = modelled_of(t);
    return m->env.gpu ? gpu_alloc(m, name, bytes, out, err) : m->env.alloc(m->env.ctx, name, bytes, out, err);
}

void modelled_free(struct gnn_tensor *t, void *ptr)
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

enum gnn_status modelled_pin(struct gnn_tensor *t, const char *name, void *host, uint64_t bytes, struct gnn_err *err)
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

void modelled_unpin(struct gnn_tensor *t, void *host)
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

bool modelled_is_pinned(struct modelled *m, const void *host)
{
    const char *const at = host;
    lock(m);
    const struct pin *pin = m->pins;
    while (pin != NULL && (at < pin->base || at >= pin->base + pin->bytes))
        pin = pin->next;
    unlock(m);
    return pin != NULL;
}

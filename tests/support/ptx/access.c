/* SPDX-License-Identifier: MIT */
/* Loads and stores: which space, whether the bytes are there, aligned, written and free of races. */
#include "tests/support/ptx/machine.h"

#include <string.h>

/* An access of one lane. */
struct access {
    struct ptx_machine *m;
    const struct ptx_warp *warp;
    const struct ptx_step *step;
    uint32_t thread; /* in the block */
    uint32_t bytes;
    uint64_t address; /* in its space */
    enum ptx_space space;
};

static const char *const spaces[] = {"generic", "global", "shared", "local", "parameter"};

static enum gnn_status fault(const struct access *a, const char *what)
{
    const char *const way = a->step->kind == PTX_LOAD ? "read" : "write";
    return ptx_fault(a->m, a->step, a->thread, "%u-byte %s %s at %#llx %s", a->bytes, spaces[a->space], way,
                     (unsigned long long)a->address, what);
}

/* Gives a generic address its space. */
static void find_space(struct access *a)
{
    if (a->space != PTX_GENERIC)
        return;
    a->space = (a->address & PTX_LOCAL_WINDOW) != 0    ? PTX_LOCAL
               : (a->address & PTX_SHARED_WINDOW) != 0 ? PTX_SHARED
                                                       : PTX_GLOBAL;
    if (a->space != PTX_GLOBAL)
        a->address &= ~(PTX_LOCAL_WINDOW | PTX_SHARED_WINDOW);
}

static bool holds(const struct ptx_range *range, const struct access *a)
{
    return a->address >= range->begin && a->address < range->end && range->end - a->address >= a->bytes;
}

static bool in_ranges(const struct access *a)
{
    struct ptx_machine *const m = a->m;
    if (m->last != NULL && holds(m->last, a))
        return true;
    for (uint32_t i = 0; i < m->launch->range_count; i++)
        if (holds(&m->launch->ranges[i], a)) {
            m->last = &m->launch->ranges[i];
            return true;
        }
    return false;
}

/* Returns the bytes on the host, or NULL if the access leaves its space. */
static unsigned char *host_bytes(const struct access *a)
{
    const struct ptx_kernel *const k = a->m->kernel;
    const uint32_t room = a->space == PTX_SHARED  ? k->shared_bytes
                          : a->space == PTX_LOCAL ? k->local_bytes
                                                  : k->parameter_bytes;
    if (a->space == PTX_GLOBAL)
        return in_ranges(a) ? (unsigned char *)(uintptr_t)a->address : NULL;
    if (a->address > room || room - a->address < a->bytes)
        return NULL;
    if (a->space == PTX_SHARED)
        return a->m->shared + a->address;
    if (a->space == PTX_LOCAL)
        return a->m->local + (uint64_t)a->thread * k->local_bytes + a->address;
    return (unsigned char *)(uintptr_t)a->m->launch->arguments + a->address;
}

static enum gnn_status check_local(const struct access *a)
{
    bool *const written = a->m->local_written + (uint64_t)a->thread * a->m->kernel->local_bytes + a->address;
    for (uint32_t i = 0; i < a->bytes; i++)
        if (a->step->kind == PTX_STORE)
            written[i] = true;
        else if (!written[i])
            return fault(a, "of bytes that nothing was written to");
    return GNN_OK;
}

static enum gnn_status check_races(const struct access *a, struct ptx_byte *past)
{
    const struct ptx_moment now = {a->m->block, a->thread, a->m->barriers, a->warp->warp_barriers};
    struct ptx_moment other;
    for (uint32_t i = 0; i < a->bytes; i++) {
        if (a->step->kind == PTX_LOAD && a->space == PTX_SHARED && past[i].written == 0)
            return fault(a, "of bytes that nothing was written to");
        const bool ordered =
            a->step->kind == PTX_STORE ? ptx_byte_write(&past[i], &now, &other) : ptx_byte_read(&past[i], &now, &other);
        if (!ordered)
            return ptx_fault(a->m, a->step, a->thread,
                             "a race: %u-byte %s %s at %#llx, which block %u, thread %u accessed without a barrier "
                             "between",
                             a->bytes, spaces[a->space], a->step->kind == PTX_LOAD ? "read" : "write",
                             (unsigned long long)a->address, other.block, other.thread);
    }
    return GNN_OK;
}

static enum gnn_status check_past(const struct access *a)
{
    if (a->space == PTX_LOCAL)
        return check_local(a);
    if (a->space == PTX_SHARED)
        return check_races(a, a->m->shared_past + a->address);
    if (a->space != PTX_GLOBAL)
        return GNN_OK;
    struct ptx_byte *const past = ptx_shadow_at(a->m->global_past, a->address);
    return past == NULL ? gnn_fail(a->m->err, GNN_ENOMEM, "accesses of global memory") : check_races(a, past);
}

/* Integers are in the order of the host, which is the device's. */
static void move(const struct access *a, struct ptx_warp *w, uint32_t lane, unsigned char *bytes)
{
    const struct ptx_step *const step = a->step;
    const uint32_t shift = 64 - 8 * step->bytes;
    for (uint32_t i = 0; i < a->bytes / step->bytes; i++) {
        uint64_t value = 0;
        if (step->kind == PTX_STORE) {
            value = w->values[step->from[1 + i]][lane];
            memcpy(bytes + i * step->bytes, &value, step->bytes);
            continue;
        }
        memcpy(&value, bytes + i * step->bytes, step->bytes);
        if (step->sign)
            value = (uint64_t)((int64_t)(value << shift) >> shift);
        ptx_set(a->m->kernel, w, step->to[i], lane, value);
    }
}

static enum gnn_status access_lane(struct ptx_machine *m, struct ptx_warp *w, const struct ptx_step *step,
                                   uint32_t lane)
{
    const uint32_t elements = step->kind == PTX_LOAD ? step->to_count : step->from_count - 1;
    struct access a = {.m = m,
                       .warp = w,
                       .step = step,
                       .thread = w->number * PTX_LANES + lane,
                       .bytes = elements * step->bytes,
                       .address = w->values[step->from[0]][lane] + (uint64_t)step->offset,
                       .space = step->space};
    find_space(&a);
    if (a.space == PTX_PARAM && step->kind == PTX_STORE)
        return fault(&a, "of a constant");
    unsigned char *const bytes = host_bytes(&a);
    if (bytes == NULL)
        return fault(&a, "is outside of every array");
    if (a.address % a.bytes != 0)
        return fault(&a, "is not aligned to its size");
    GNN_TRY(check_past(&a));
    move(&a, w, lane, bytes);
    return GNN_OK;
}

enum gnn_status ptx_access(struct ptx_machine *m, struct ptx_warp *w, const struct ptx_step *step, uint32_t active)
{
    while (active != 0)
        GNN_TRY(access_lane(m, w, step, ptx_take_lane(&active)));
    return GNN_OK;
}

/* SPDX-License-Identifier: MIT */
/* Blocks one after another, each until all its warps have ended. A warp runs until it ends or waits for its block.
 * Within a warp the lanes with the lowest counter run, so that lanes that parted meet again where their paths do. */
#include "tests/support/ptx/machine.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ALL_LANES UINT32_MAX

/* ---- faults ---- */

static const char *source_path(const struct ptx_module *m, uint32_t number)
{
    for (uint32_t i = 0; i < m->source_count; i++)
        if (m->sources[i].number == number) {
            const char *const slash = strrchr(m->sources[i].path, '/');
            return slash == NULL ? m->sources[i].path : slash + 1;
        }
    return "?";
}

enum gnn_status ptx_fault(const struct ptx_machine *m, const struct ptx_step *step, uint32_t thread, const char *format,
                          ...)
{
    char what[256], source[128] = "";
    va_list list;
    va_start(list, format);
    (void)vsnprintf(what, sizeof what, format, list);
    va_end(list);
    if (step->source_file != 0)
        (void)snprintf(source, sizeof source, ", %.80s:%u", source_path(m->kernel->module, step->source_file),
                       step->source_line);
    return gnn_fail(m->err, GNN_EBUG, "%.120s%s (%.80s:%u), block %u, thread %u: %s", m->kernel->name, source,
                    m->kernel->module->file, step->line, m->block, thread, what);
}

static uint32_t thread_of(const struct ptx_warp *w, uint32_t lanes)
{
    return w->number * PTX_LANES + (lanes == 0 ? 0 : (uint32_t)__builtin_ctz(lanes));
}

static enum gnn_status unwritten(const struct ptx_machine *m, const struct ptx_warp *w, const struct ptx_step *step,
                                 uint32_t slot, uint32_t lanes)
{
    const struct ptx_slot *const s = &m->kernel->slots[slot];
    const struct ptx_family *const family = &m->kernel->families[s->family];
    const uint32_t thread = thread_of(w, lanes & ~w->written[slot]);
    if (!family->numbered)
        return ptx_fault(m, step, thread, "register %s is read and was never written", family->name);
    return ptx_fault(m, step, thread, "register %s%u is read and was never written", family->name, s->number);
}

/* ---- instructions ---- */

static enum gnn_status check_sources(const struct ptx_machine *m, const struct ptx_warp *w, const struct ptx_step *step,
                                     uint32_t active)
{
    for (uint32_t i = 0; i < step->from_count; i++)
        if ((w->written[step->from[i]] & active) != active)
            return unwritten(m, w, step, step->from[i], active);
    return GNN_OK;
}

static void compute(const struct ptx_kernel *k, struct ptx_warp *w, const struct ptx_step *step, uint32_t active)
{
    static const uint64_t none[PTX_LANES];
    const uint64_t *const a = w->values[step->from[0]];
    const uint64_t *const b = step->from_count > 1 ? w->values[step->from[1]] : none;
    const uint64_t *const c = step->from_count > 2 ? w->values[step->from[2]] : none;
    while (active != 0) {
        const uint32_t lane = ptx_take_lane(&active);
        ptx_set(k, w, step->to[0], lane, step->function(a[lane], b[lane], c[lane]));
    }
}

static void pack(const struct ptx_kernel *k, struct ptx_warp *w, const struct ptx_step *step, uint32_t active)
{
    while (active != 0) {
        const uint32_t lane = ptx_take_lane(&active);
        uint64_t whole = 0;
        for (uint32_t i = 0; i < step->from_count; i++)
            whole |= w->values[step->from[i]][lane] << (8 * step->bytes * i);
        for (uint32_t i = 0; i < step->to_count; i++)
            ptx_set(k, w, step->to[i], lane, whole >> (step->to_count == 1 ? 0 : 8 * step->bytes * i));
    }
}

/* The lane whose value a lane of a shuffle gets, and whether it lies in the segment. */
static uint32_t shuffle_lane(enum ptx_shuffle mode, uint32_t lane, uint32_t b, uint32_t c, bool *inside)
{
    const uint32_t segment = c >> 8 & 31, clamp = c & 31;
    const uint32_t last = (lane & segment) | (clamp & ~segment);
    const int32_t distance = (int32_t)(b & 31);
    const int32_t from = mode == PTX_UP          ? (int32_t)lane - distance
                         : mode == PTX_DOWN      ? (int32_t)lane + distance
                         : mode == PTX_BUTTERFLY ? (int32_t)(lane ^ (b & 31))
                                                 : (int32_t)((lane & segment) | (b & 31 & ~segment));
    *inside = mode == PTX_UP ? from >= (int32_t)last : from <= (int32_t)last;
    return *inside ? (uint32_t)from : lane;
}

static enum gnn_status shuffle(const struct ptx_machine *m, struct ptx_warp *w, const struct ptx_step *step,
                               uint32_t active)
{
    uint64_t shown[PTX_LANES];
    memcpy(shown, w->values[step->from[0]], sizeof shown);
    for (uint32_t left = active; left != 0;) {
        const uint32_t lane = ptx_take_lane(&left);
        bool inside = false;
        const uint32_t from = shuffle_lane(step->shuffle, lane, (uint32_t)w->values[step->from[1]][lane],
                                           (uint32_t)w->values[step->from[2]][lane], &inside);
        if ((active >> from & 1) == 0)
            return ptx_fault(m, step, w->number * PTX_LANES + lane, "a shuffle from lane %u, which is absent", from);
        ptx_set(m->kernel, w, step->to[0], lane, shown[from]);
        if (step->to_count > 1)
            ptx_set(m->kernel, w, step->to[1], lane, inside);
    }
    return GNN_OK;
}

/* ---- lanes that meet ---- */

/* Sets *met if all lanes of the mask, which is the step's last source, are here. Else those that are here wait. */
static enum gnn_status meet(const struct ptx_machine *m, struct ptx_warp *w, const struct ptx_step *step,
                            uint32_t active, bool *met)
{
    const uint64_t *const masks = w->values[step->from[step->from_count - 1]];
    const uint32_t mask = (uint32_t)masks[__builtin_ctz(active)];
    for (uint32_t left = active; left != 0;) {
        const uint32_t lane = ptx_take_lane(&left);
        if ((uint32_t)masks[lane] != mask || (mask >> lane & 1) == 0)
            return ptx_fault(m, step, w->number * PTX_LANES + lane, "lanes meet with masks %#x and %#x",
                             (uint32_t)masks[lane], mask);
    }
    if ((mask & ~w->alive) != 0)
        return ptx_fault(m, step, thread_of(w, active), "lanes %#x are to meet, of which %#x have ended", mask,
                         mask & ~w->alive);
    *met = active == mask;
    w->waiting = *met ? w->waiting & ~active : w->waiting | active;
    return GNN_OK;
}

static enum gnn_status reach_barrier(const struct ptx_machine *m, struct ptx_warp *w, const struct ptx_step *step,
                                     uint32_t active)
{
    if (active != ALL_LANES)
        return ptx_fault(m, step, thread_of(w, active), "a barrier under divergence: lanes %#x of the warp are absent",
                         ~active);
    w->barrier = w->counters[0];
    return GNN_OK;
}

/* ---- warps ---- */

/* Lanes that run together, and the counter at which the nearest of the others waits for them. */
struct group {
    uint32_t lanes, counter, others_at;
};

static bool next_group(const struct ptx_warp *w, struct group *out)
{
    *out = (struct group){0, PTX_NONE, PTX_NONE};
    for (uint32_t left = w->alive & ~w->waiting; left != 0;)
        out->counter = gnn_min_u32(out->counter, w->counters[ptx_take_lane(&left)]);
    if (out->counter == PTX_NONE)
        return false;
    for (uint32_t left = w->alive; left != 0;) {
        const uint32_t lane = ptx_take_lane(&left);
        if (w->counters[lane] == out->counter)
            out->lanes |= UINT32_C(1) << lane;
        else if (w->counters[lane] > out->counter)
            out->others_at = gnn_min_u32(out->others_at, w->counters[lane]);
    }
    return true;
}

static void set_counters(struct ptx_warp *w, uint32_t lanes, uint32_t counter)
{
    while (lanes != 0)
        w->counters[ptx_take_lane(&lanes)] = counter;
}

/* Runs a step that may part the group, end it or make it wait. Its counters are set to this step. */
static enum gnn_status run_control(const struct ptx_machine *m, struct ptx_warp *w, const struct ptx_step *step,
                                   const struct group *g, uint32_t active)
{
    bool met = true;
    if (step->kind == PTX_BARRIER)
        return reach_barrier(m, w, step, active);
    if (step->kind == PTX_SHUFFLE || step->kind == PTX_WARP_BARRIER)
        GNN_TRY(meet(m, w, step, active, &met));
    if (!met) {
        set_counters(w, g->lanes & ~active, g->counter + 1);
        return GNN_OK;
    }
    set_counters(w, g->lanes, g->counter + 1);
    if (step->kind == PTX_BRANCH)
        set_counters(w, active, step->target);
    else if (step->kind == PTX_EXIT)
        w->alive &= ~active;
    else if (step->kind == PTX_SHUFFLE)
        return shuffle(m, w, step, active);
    w->warp_barriers += step->kind == PTX_WARP_BARRIER;
    return GNN_OK;
}

static enum gnn_status guarded(const struct ptx_machine *m, const struct ptx_warp *w, const struct ptx_step *step,
                               uint32_t lanes, uint32_t *active)
{
    *active = lanes;
    if (step->guard == PTX_NONE)
        return GNN_OK;
    if ((w->written[step->guard] & lanes) != lanes)
        return unwritten(m, w, step, step->guard, lanes);
    *active = 0;
    for (uint32_t left = lanes; left != 0;) {
        const uint32_t lane = ptx_take_lane(&left);
        *active |= (uint32_t)((w->values[step->guard][lane] & 1) != step->guard_negated) << lane;
    }
    return GNN_OK;
}

/* Runs a group up to its first control step, or to where others wait for it. */
static enum gnn_status run_group(struct ptx_machine *m, struct ptx_warp *w, struct group *g)
{
    const struct ptx_kernel *const k = m->kernel;
    do {
        assert(g->counter < k->step_count);
        const struct ptx_step *const step = &k->steps[g->counter];
        uint32_t active = 0;
        if (m->steps_left-- == 0)
            return ptx_fault(m, step, thread_of(w, g->lanes), "no end after the most instructions of a launch");
        GNN_TRY(guarded(m, w, step, g->lanes, &active));
        GNN_TRY(check_sources(m, w, step, active));
        if (step->kind >= PTX_BRANCH && (active != 0 || step->kind == PTX_BARRIER)) {
            set_counters(w, g->lanes, g->counter);
            return run_control(m, w, step, g, active);
        }
        if (step->kind == PTX_LOAD || step->kind == PTX_STORE)
            GNN_TRY(ptx_access(m, w, step, active));
        else if (step->kind == PTX_VALUE)
            compute(k, w, step, active);
        else if (step->kind == PTX_PACK || step->kind == PTX_UNPACK)
            pack(k, w, step, active);
    } while (++g->counter != g->others_at);
    set_counters(w, g->lanes, g->counter);
    return GNN_OK;
}

static enum gnn_status run_warp(struct ptx_machine *m, struct ptx_warp *w)
{
    while (w->alive != 0 && w->barrier == PTX_NONE) {
        struct group group;
        if (!next_group(w, &group)) {
            const uint32_t lane = (uint32_t)__builtin_ctz(w->alive);
            return ptx_fault(m, &m->kernel->steps[w->counters[lane]], thread_of(w, w->alive),
                             "lanes %#x of the warp wait for lanes that never come", w->alive);
        }
        GNN_TRY(run_group(m, w, &group));
    }
    return GNN_OK;
}

/* ---- blocks ---- */

static uint64_t special(const struct ptx_machine *m, const struct ptx_slot *slot, uint32_t thread)
{
    switch (slot->kind) {
    case PTX_TID:
        return thread;
    case PTX_CTAID:
        return m->block;
    case PTX_NTID:
        return m->launch->threads;
    case PTX_NCTAID:
        return m->launch->blocks;
    case PTX_LANEID:
        return thread % PTX_LANES;
    case PTX_CONSTANT:
    case PTX_REGISTER:
        break;
    }
    return slot->value;
}

static void begin_warp(const struct ptx_machine *m, struct ptx_warp *w)
{
    memset(w->counters, 0, sizeof w->counters);
    w->alive = ALL_LANES;
    w->waiting = 0;
    w->barrier = PTX_NONE;
    w->warp_barriers = 0;
    for (uint32_t slot = 0; slot < m->kernel->slot_count; slot++) {
        const struct ptx_slot *const s = &m->kernel->slots[slot];
        w->written[slot] = s->kind == PTX_REGISTER ? 0 : ALL_LANES;
        for (uint32_t lane = 0; lane < PTX_LANES && s->kind != PTX_REGISTER; lane++)
            w->values[slot][lane] = special(m, s, w->number * PTX_LANES + lane);
    }
}

/* Numbers 0 to count - 1 in an order by the generator. */
static void draw_order(uint32_t *order, uint32_t count, struct gnn_rng *rng)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = (uint32_t)gnn_rng_below(rng, i + UINT64_C(1));
        order[i] = order[at];
        order[at] = i;
    }
}

/* All warps have ended or wait. Lets them go on if they wait at one barrier; sets *ended if all have ended. */
static enum gnn_status pass_barrier(struct ptx_machine *m, bool *ended)
{
    const uint32_t barrier = m->warps[0].barrier;
    for (uint32_t i = 1; i < m->warp_count; i++) {
        const struct ptx_warp *const w = &m->warps[i];
        if (w->barrier == barrier)
            continue;
        const struct ptx_warp *const waits = barrier == PTX_NONE ? w : &m->warps[0];
        return ptx_fault(m, &m->kernel->steps[waits->barrier], waits->number * PTX_LANES,
                         "a barrier under divergence: warp %u waits here, and warp %u has ended or waits elsewhere",
                         waits->number, waits == w ? 0 : w->number);
    }
    *ended = barrier == PTX_NONE;
    for (uint32_t i = 0; i < m->warp_count && !*ended; i++) {
        set_counters(&m->warps[i], ALL_LANES, barrier + 1);
        m->warps[i].barrier = PTX_NONE;
    }
    m->barriers++;
    return GNN_OK;
}

static enum gnn_status run_block(struct ptx_machine *m, struct gnn_rng *rng)
{
    uint32_t order[PTX_THREADS_MAX / PTX_LANES];
    m->barriers = 0;
    memset(m->shared_past, 0, m->kernel->shared_bytes * sizeof *m->shared_past);
    memset(m->local_written, 0, (size_t)m->kernel->local_bytes * m->launch->threads);
    for (uint32_t i = 0; i < m->warp_count; i++)
        begin_warp(m, &m->warps[i]);
    for (bool ended = false; !ended;) {
        draw_order(order, m->warp_count, rng);
        for (uint32_t i = 0; i < m->warp_count; i++)
            GNN_TRY(run_warp(m, &m->warps[order[i]]));
        GNN_TRY(pass_barrier(m, &ended));
    }
    return GNN_OK;
}

/* ---- launches ---- */

static enum gnn_status open_warp(struct ptx_machine *m, uint32_t number)
{
    struct ptx_warp *const w = &m->warps[number];
    w->number = number;
    w->values = malloc((m->kernel->slot_count + 1) * sizeof *w->values); /* written before it is read */
    if (w->values == NULL)
        return gnn_fail(m->err, GNN_ENOMEM, "registers");
    GNN_NEW(w->written, m->kernel->slot_count + 1, m->err, "registers");
    return GNN_OK;
}

static enum gnn_status open_machine(struct ptx_machine *m)
{
    const struct ptx_kernel *const k = m->kernel;
    GNN_NEW(m->warps, m->warp_count, m->err, "warps");
    for (uint32_t i = 0; i < m->warp_count; i++)
        GNN_TRY(open_warp(m, i));
    GNN_NEW(m->shared, k->shared_bytes + 1, m->err, "shared memory");
    GNN_NEW(m->shared_past, k->shared_bytes + 1, m->err, "accesses of shared memory");
    GNN_NEW(m->local, (size_t)k->local_bytes * m->launch->threads + 1, m->err, "local memory");
    GNN_NEW(m->local_written, (size_t)k->local_bytes * m->launch->threads + 1, m->err, "accesses of local memory");
    return ptx_shadow_open(&m->global_past, m->err);
}

static void close_machine(struct ptx_machine *m)
{
    for (uint32_t i = 0; m->warps != NULL && i < m->warp_count; i++) {
        free(m->warps[i].values);
        free(m->warps[i].written);
    }
    free(m->warps);
    free(m->shared);
    free(m->shared_past);
    free(m->local);
    free(m->local_written);
    ptx_shadow_close(m->global_past);
}

static enum gnn_status run_blocks(struct ptx_machine *m, uint32_t *order)
{
    struct gnn_rng rng = gnn_rng_at(m->launch->seed);
    GNN_TRY(open_machine(m));
    draw_order(order, m->launch->blocks, &rng);
    for (uint32_t i = 0; i < m->launch->blocks; i++) {
        m->block = order[i];
        GNN_TRY(run_block(m, &rng));
    }
    return GNN_OK;
}

enum gnn_status ptx_run(const struct ptx_launch *launch, struct gnn_err *err)
{
    assert(launch->threads > 0);
    assert(launch->threads <= PTX_THREADS_MAX);
    assert(launch->threads % PTX_LANES == 0);
    struct ptx_machine m = {.launch = launch,
                            .kernel = launch->kernel,
                            .warp_count = launch->threads / PTX_LANES,
                            .steps_left = launch->steps_max == 0 ? PTX_STEPS_MAX : launch->steps_max,
                            .err = err};
    uint32_t *order = NULL;
    GNN_NEW(order, launch->blocks + 1, err, "order of blocks");
    const enum gnn_status status = run_blocks(&m, order);
    close_machine(&m);
    free(order);
    return status;
}

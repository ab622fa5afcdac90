/* SPDX-License-Identifier: MIT */
#include "systems/gnndrive/feature_tables.h"

#include <inttypes.h>
#include <stdio.h>

enum { PREFETCH_ROWS = 24, PREFETCH_LINKS = 16, PREFETCH_NEIGHBOURS = 8 };

/* Number of a claim's extractor among those of all ranks. */
static uint32_t extractor_of(const struct gnndrive_buffer *fb, const struct gnndrive_claim *claim)
{
    assert(claim->extractor < fb->tables->config.extractors);
    return fb->rank * fb->tables->config.extractors + claim->extractor;
}

/* ---- sleeping, and the watchdog ---- */

/* Wakes all waiters of `point`. They count as asleep again only after they rechecked their condition, so the watchdog
 * does not take a thread that was woken but has not run yet for one that stays asleep. */
static void wake(struct tables *t, struct wait_point *point)
{
    assert(point->asleep <= t->active);
    if (point->asleep == 0)
        return;
    point->asleep = 0;
    point->broadcasts++;
    gnn_cond_broadcast(t->world, point->cond);
}

static enum gnn_status report_deadlock(const struct tables *t, struct gnn_err *err)
{
    char shares[400];
    size_t used = 0;
    shares[0] = '\0';
    for (uint32_t e = 0; e < t->ranks * t->config.extractors && used < sizeof shares - 48; e++) {
        const struct share *share = &t->share[e];
        if (share->live)
            used += (size_t)snprintf(shares + used, sizeof shares - used, "%s%" PRIu32 ": %" PRIu32 " of %" PRIu32,
                                     used > 0 ? ", " : "", e, share->slots, share->loads);
    }
    return gnn_fail(err, GNN_EBUG,
                    "gnndrive: deadlock: every extractor sleeps and no batch is left to release a slot (%" PRIu32
                    " slots; loads with a slot, by extractor: %s). The buffer is smaller than extractors x nodes of "
                    "the largest batch: raise gnndrive.buffer_mult or lower gnndrive.extractors",
                    t->config.slots, shares);
}

/* Sleeps until the next broadcast at `point` (or a spurious wake-up); the watchdog: GNN_EBUG instead when every claim
 * would then be asleep and no published batch is left whose release could end that. */
static enum gnn_status sleep_at(struct tables *t, struct wait_point *point, struct gnn_err *err)
{
    point->asleep++;
    assert(t->slot_free.asleep + t->row_ready.asleep <= t->active);
    const uint64_t broadcasts = point->broadcasts;
    enum gnn_status status = GNN_OK;
    if (!t->failed && t->published == 0 && t->slot_free.asleep + t->row_ready.asleep == t->active)
        status = report_deadlock(t, err);
    else
        (void)gnn_cond_wait(t->world, point->cond, t->mutex, GNN_NO_DEADLINE, GNN_WAIT_RESOURCE);
    if (point->broadcasts == broadcasts)
        point->asleep--;
    return status;
}

static enum gnn_status cancelled(struct gnn_err *err)
{
    return gnn_fail(err, GNN_ECANCELLED, "gnndrive: stopped while waiting for the feature buffer");
}

enum gnn_status gnndrive_buffer_admit(struct gnndrive_buffer *fb, uint64_t ticket, uint32_t node_count)
{
    struct tables *const t = fb->tables;
    struct rank_state *const own = &t->rank[fb->rank];
    assert(node_count <= t->quota);
    t->admitting = true;
    while (!t->cancelled && ((ticket != GNNDRIVE_ANY_TICKET && ticket != own->next_ticket) ||
                             own->admitted_nodes + node_count > t->quota))
        (void)gnn_cond_wait(t->world, t->admission, t->mutex, GNN_NO_DEADLINE, GNN_WAIT_RESOURCE);
    if (t->cancelled)
        return GNN_ECANCELLED;
    own->next_ticket++;
    own->admitted_nodes += node_count;
    gnn_cond_broadcast(t->world, t->admission);
    return GNN_OK;
}

/* ---- pin, take, ready, publish ---- */

/* Brings nearer what later rows of a mini-batch need, whose places lie anywhere: the entry of the row PREFETCH_ROWS on,
 * the link of one whose entry has come meanwhile, and the neighbours of one whose link has. Inlined, for GCC drops the
 * calls of a function that does nothing else. */
__attribute__((always_inline)) static inline void look_ahead(const struct tables *t, const gnn_node *nodes, uint32_t i,
                                                             uint32_t count)
{
    if (i + PREFETCH_ROWS >= count)
        return;
    const uint32_t group = t->config.rows_per_slot;
    __builtin_prefetch(&t->map[nodes[i + PREFETCH_ROWS] / group], 1);
    const uint32_t slot = t->map[nodes[i + PREFETCH_LINKS] / group].slot;
    if (slot != NONE)
        __builtin_prefetch(&t->standby[slot], 1);
    const uint32_t near = t->map[nodes[i + PREFETCH_NEIGHBOURS] / group].slot;
    if (near == NONE || t->standby[near].next == NONE)
        return;
    __builtin_prefetch(&t->standby[t->standby[near].prev], 1);
    __builtin_prefetch(&t->standby[t->standby[near].next], 1);
}

/* The mask tells the compiler that the sum fits the bit field. */
static void add_reference(struct entry *entry)
{
    assert(entry->refs < REFS_MAX);
    entry->refs = (entry->refs + 1u) & REFS_MAX;
}

/* Returns whether the row's slot was on the standby list. */
static bool pin_row(struct gnndrive_buffer *fb, struct gnndrive_claim *claim, uint32_t position)
{
    struct tables *const t = fb->tables;
    struct rank_state *const own = &t->rank[fb->rank];
    const gnn_node node = claim->nodes[position];
    assert(node < t->config.node_count);
    const uint32_t key = node / t->config.rows_per_slot;
    struct entry *entry = &t->map[key];
    const bool standby = entry->ready && entry->refs == 0;
    if (entry->ready) {
        if (standby)
            standby_unlink(t, entry->slot);
        claim->alias[position] = entry->slot * t->config.rows_per_slot + node % t->config.rows_per_slot;
        own->counts.ready_rows++;
    } else {
        claim->pending[claim->pending_count++] = position;
        if (entry->refs == 0) {
            assert(entry->slot == NONE);
            entry->owner = (uint8_t)extractor_of(fb, claim);
            claim->load_key[claim->load_count++] = key;
            own->counts.loads++;
        } else if (entry->owner == extractor_of(fb, claim)) {
            own->counts.joint_rows++;
        } else {
            claim->wait[claim->wait_count++] = position;
            own->counts.waited_rows++;
        }
    }
    add_reference(entry);
    return standby;
}

void gnndrive_buffer_pin(struct gnndrive_buffer *fb, struct gnndrive_claim *claim)
{
    struct tables *const t = fb->tables;
    struct share *const share = &t->share[extractor_of(fb, claim)];
    assert(!share->live);
    claim->load_count = claim->slot_count = claim->wait_count = claim->pending_count = 0;
    *share = (struct share){.live = true};
    t->active++;
    t->rank[fb->rank].counts.rows += claim->node_count;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < claim->node_count; i++) {
        look_ahead(t, claim->nodes, i, claim->node_count);
        taken += pin_row(fb, claim, i);
    }
    share->loads = claim->load_count;
    gnn_charge(t->world, GNN_WORK_TABLE_ENTRY, claim->node_count);
    gnn_charge(t->world, GNN_WORK_LIST_TAKE, taken);
}

/* Evicts the owner of the least recently released slot and gives the slot to key. */
static uint32_t allocate_slot(struct tables *t, uint32_t key, struct gnndrive_buffer_counts *counts)
{
    assert(t->standby_count > 0);
    const uint32_t slot = t->standby[t->config.slots].next;
    standby_unlink(t, slot);
    const uint32_t old = t->reverse[slot];
    if (old != NONE) {
        assert(t->map[old].refs == 0);
        assert(t->map[old].slot == slot);
        t->map[old] = (struct entry){.slot = NONE};
        counts->evictions++;
    }
    assert(t->map[key].refs > 0);
    assert(t->map[key].slot == NONE);
    t->reverse[slot] = key;
    t->map[key].slot = slot;
    return slot;
}

enum gnn_status gnndrive_buffer_take_slots(struct gnndrive_buffer *fb, struct gnndrive_claim *claim, uint32_t limit,
                                           struct gnn_err *err)
{
    struct tables *const t = fb->tables;
    struct gnndrive_buffer_counts *const own = &t->rank[fb->rank].counts;
    uint32_t taken = 0;
    while (claim->slot_count < claim->load_count && taken < limit) {
        if (t->cancelled)
            return cancelled(err);
        if (t->standby_count == 0) {
            own->slot_waits++;
            GNN_TRY(sleep_at(t, &t->slot_free, err));
            continue;
        }
        claim->load_slot[claim->slot_count] = allocate_slot(t, claim->load_key[claim->slot_count], own);
        t->share[extractor_of(fb, claim)].slots = ++claim->slot_count;
        taken++;
    }
    gnn_charge(t->world, GNN_WORK_TABLE_ENTRY, taken);
    gnn_charge(t->world, GNN_WORK_LIST_EVICT, taken);
    return GNN_OK;
}

void gnndrive_buffer_ready(struct gnndrive_buffer *fb, const struct gnndrive_claim *claim, const uint32_t *index,
                           uint32_t count)
{
    struct tables *const t = fb->tables;
    for (uint32_t i = 0; i < count; i++) {
        assert(index[i] < claim->slot_count);
        struct entry *entry = &t->map[claim->load_key[index[i]]];
        assert(entry->slot == claim->load_slot[index[i]]);
        assert(entry->refs > 0);
        assert(!entry->ready);
        entry->ready = 1;
    }
    gnn_charge(t->world, GNN_WORK_TABLE_ENTRY, count);
    wake(t, &t->row_ready);
}

enum gnn_status gnndrive_buffer_wait_rows(struct gnndrive_buffer *fb, struct gnndrive_claim *claim, struct gnn_err *err)
{
    struct tables *const t = fb->tables;
    uint32_t next = 0;
    while (next < claim->wait_count) {
        const uint32_t key = claim->nodes[claim->wait[next]] / t->config.rows_per_slot;
        if (t->map[key].ready) {
            next++;
            continue;
        }
        if (t->cancelled)
            return cancelled(err);
        t->rank[fb->rank].counts.row_waits++;
        GNN_TRY(sleep_at(t, &t->row_ready, err));
    }
    return GNN_OK;
}

static void end_claim(struct gnndrive_buffer *fb, const struct gnndrive_claim *claim)
{
    struct tables *const t = fb->tables;
    struct share *const share = &t->share[extractor_of(fb, claim)];
    assert(share->live);
    assert(t->active > 0);
    share->live = false;
    t->active--;
}

void gnndrive_buffer_publish(struct gnndrive_buffer *fb, struct gnndrive_claim *claim)
{
    struct tables *const t = fb->tables;
    const uint32_t group = t->config.rows_per_slot;
    for (uint32_t i = 0; i < claim->pending_count; i++) {
        const gnn_node node = claim->nodes[claim->pending[i]];
        const struct entry *entry = &t->map[node / group];
        assert(entry->ready);
        assert(entry->slot < t->config.slots);
        claim->alias[claim->pending[i]] = entry->slot * group + node % group;
    }
    gnn_charge(t->world, GNN_WORK_TABLE_ENTRY, claim->pending_count);
    end_claim(fb, claim);
    t->published++;
}

/* ---- release ---- */

static void unpin(struct gnndrive_buffer *fb, const gnn_node *nodes, uint32_t node_count)
{
    struct tables *const t = fb->tables;
    uint32_t put = 0;
    for (uint32_t i = 0; i < node_count; i++) {
        look_ahead(t, nodes, i, node_count);
        const uint32_t key = nodes[i] / t->config.rows_per_slot;
        struct entry *entry = &t->map[key];
        assert(entry->refs > 0);
        entry->refs = (entry->refs - 1u) & REFS_MAX;
        if (entry->refs > 0 || entry->slot == NONE)
            continue;
        put++;
        if (entry->ready) {
            standby_insert_after(t, t->standby[t->config.slots].prev, entry->slot);
        } else { /* abandoned before its row arrived: an empty slot, the first to be reused */
            standby_insert_after(t, t->config.slots, entry->slot);
            t->reverse[entry->slot] = NONE;
            *entry = (struct entry){.slot = NONE};
        }
    }
    gnn_charge(t->world, GNN_WORK_TABLE_ENTRY, node_count);
    gnn_charge(t->world, GNN_WORK_LIST_PUT, put);
    if (t->admitting) {
        assert(t->rank[fb->rank].admitted_nodes >= node_count);
        t->rank[fb->rank].admitted_nodes -= node_count;
        gnn_cond_broadcast(t->world, t->admission);
    }
    wake(t, &t->slot_free);
}

void gnndrive_buffer_release(struct gnndrive_buffer *fb, const gnn_node *nodes, uint32_t node_count)
{
    struct tables *const t = fb->tables;
    assert(t->published > 0);
    t->published--;
    unpin(fb, nodes, node_count);
}

void gnndrive_buffer_abandon(struct gnndrive_buffer *fb, struct gnndrive_claim *claim)
{
    struct tables *const t = fb->tables;
    end_claim(fb, claim);
    t->failed = true;
    unpin(fb, claim->nodes, claim->node_count);
}

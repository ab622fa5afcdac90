/* Entries are found by key, slots by number, standby neighbours by links: every step of a claim is O(1) per node. */
#include "systems/gnndrive/feature_buffer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum {
    REFS_MAX = (1 << 23) - 1,
    EXTRACTORS_MAX = 256,
    /* Bytes of the released code's tables per node, per row of the buffer, per slot. */
    ARTIFACT_NODE_BYTES = 16 + 8,
    ARTIFACT_ROW_BYTES = 8,
    ARTIFACT_SLOT_BYTES = 72,
};

/*           slot   refs   ready
 * absent    NONE      0       0
 * claimed   NONE    > 0       0   a batch will load it, and has no slot for it yet
 * loading   set     > 0       0
 * ready     set      any      1   on standby while refs is 0 */
struct entry {
    uint32_t slot;
    uint32_t refs : 23;
    uint32_t owner : 8; /* extractor that loads it; meaningless once ready */
    uint32_t ready : 1;
};
_Static_assert(sizeof(struct entry) == 8, "the compact table is 8 bytes per group");
_Static_assert(EXTRACTORS_MAX - 1 <= UINT8_MAX, "entry.owner has 8 bits");

struct link {
    uint32_t prev, next; /* next = NONE: not on standby */
};

/* Waiters on one condition; `asleep`: waiters that rechecked it since the last broadcast. */
struct wait_point {
    struct gnn_cond *cond;
    uint32_t asleep;
    uint64_t broadcasts;
};

struct gnndrive_buffer {
    struct gnn_world *world;
    struct gnndrive_buffer_config config;
    uint32_t key_count;
    struct entry *map;    /* (key_count) */
    uint32_t *reverse;    /* (slots) key, NONE = empty */
    struct link *standby; /* (slots + 1); the last is the ring's anchor: its next is the next victim */
    uint32_t standby_count;
    void *table_padding; /* touched memory: what the released code's tables hold beyond these three */

    struct gnn_mutex *mutex;
    struct wait_point slot_free, row_ready;
    struct gnn_cond *admission;
    bool cancelled;
    bool failed; /* a claim was abandoned: its error is reported, and a cancel follows */

    uint32_t active;    /* claims between pin and publish */
    uint32_t published; /* batches between publish and release: the trainer always finishes them */
    struct gnndrive_claim *claim[EXTRACTORS_MAX];
    uint64_t next_ticket;
    uint64_t admitted_nodes;
    bool admitting;
    struct gnndrive_buffer_counts counts;
};

static uint32_t keys_of(const struct gnndrive_buffer_config *config)
{
    return (uint32_t)gnn_div_up(config->node_count, config->rows_per_slot);
}

static uint64_t own_table_bytes(const struct gnndrive_buffer_config *config)
{
    return keys_of(config) * (uint64_t)sizeof(struct entry) + config->slots * (uint64_t)sizeof(uint32_t) +
           (config->slots + UINT64_C(1)) * sizeof(struct link);
}

static uint64_t padding_bytes(const struct gnndrive_buffer_config *config)
{
    if (!config->artifact_tables)
        return 0;
    const uint64_t artifact = (uint64_t)config->node_count * ARTIFACT_NODE_BYTES +
                              (uint64_t)config->slots * config->rows_per_slot * ARTIFACT_ROW_BYTES +
                              (uint64_t)config->slots * ARTIFACT_SLOT_BYTES;
    const uint64_t own = own_table_bytes(config);
    return artifact > own ? artifact - own : 0;
}

uint64_t gnndrive_buffer_table_bytes(const struct gnndrive_buffer_config *config)
{
    return own_table_bytes(config) + padding_bytes(config);
}

/* ---- the standby list ---- */

static void standby_insert_after(struct gnndrive_buffer *fb, uint32_t prev, uint32_t slot)
{
    assert(fb->standby[slot].next == NONE);
    const uint32_t next = fb->standby[prev].next;
    fb->standby[slot] = (struct link){.prev = prev, .next = next};
    fb->standby[prev].next = slot;
    fb->standby[next].prev = slot;
    fb->standby_count++;
}

static void standby_unlink(struct gnndrive_buffer *fb, uint32_t slot)
{
    const struct link link = fb->standby[slot];
    assert(link.next != NONE);
    fb->standby[link.prev].next = link.next;
    fb->standby[link.next].prev = link.prev;
    fb->standby[slot].next = NONE;
    fb->standby_count--;
}

static void standby_fill(struct gnndrive_buffer *fb)
{
    const uint32_t anchor = fb->config.slots;
    fb->standby[anchor] = (struct link){.prev = anchor, .next = anchor};
    for (uint32_t slot = 0; slot < anchor; slot++) {
        fb->standby[slot].next = NONE;
        standby_insert_after(fb, fb->standby[anchor].prev, slot);
        fb->reverse[slot] = NONE;
    }
}

/* ---- open and close ---- */

enum gnn_status gnndrive_buffer_open(struct gnn_world *world, const struct gnndrive_buffer_config *config,
                                     struct gnndrive_buffer **out, struct gnn_err *err)
{
    assert(config->node_count > 0);
    assert(config->slots > 0);
    assert(config->rows_per_slot > 0);
    assert(config->extractors > 0);
    assert(config->extractors <= EXTRACTORS_MAX);
    if ((uint64_t)config->slots * config->rows_per_slot >= NONE)
        return gnn_fail(err, GNN_EUSAGE,
                        "gnndrive: %" PRIu32 " slots of %" PRIu32 " rows need more than 32-bit row numbers: lower "
                        "gnndrive.buffer_mult",
                        config->slots, config->rows_per_slot);
    struct gnndrive_buffer *fb;
    GNN_NEW(fb, 1, err, "feature buffer");
    *out = fb;
    fb->world = world;
    fb->config = *config;
    fb->key_count = keys_of(config);
    const uint64_t slots = config->slots;
    GNN_MEM_NEW(world, fb->map, fb->key_count, "gnndrive mapping table", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, fb->reverse, slots, "gnndrive reverse mapping", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, fb->standby, slots + 1, "gnndrive standby list", GNN_MEM_PLAIN, err);
    GNN_TRY(gnn_mem_hold(world, "gnndrive released code's tables", padding_bytes(config), &fb->table_padding, err));
    GNN_TRY(gnn_mutex_open(world, &fb->mutex, err));
    GNN_TRY(gnn_cond_open(world, &fb->slot_free.cond, err));
    GNN_TRY(gnn_cond_open(world, &fb->row_ready.cond, err));
    GNN_TRY(gnn_cond_open(world, &fb->admission, err));
    for (uint32_t key = 0; key < fb->key_count; key++)
        fb->map[key].slot = NONE;
    standby_fill(fb);
    return GNN_OK;
}

void gnndrive_buffer_close(struct gnndrive_buffer *fb)
{
    if (fb == NULL)
        return;
    struct gnn_world *w = fb->world;
    gnn_cond_close(w, fb->admission);
    gnn_cond_close(w, fb->row_ready.cond);
    gnn_cond_close(w, fb->slot_free.cond);
    gnn_mutex_close(w, fb->mutex);
    gnn_mem_free(w, fb->table_padding);
    gnn_mem_free(w, fb->standby);
    gnn_mem_free(w, fb->reverse);
    gnn_mem_free(w, fb->map);
    free(fb);
}

void gnndrive_buffer_lock(struct gnndrive_buffer *fb)
{
    gnn_mutex_lock(fb->world, fb->mutex);
}

void gnndrive_buffer_unlock(struct gnndrive_buffer *fb)
{
    gnn_mutex_unlock(fb->world, fb->mutex);
}

void gnndrive_buffer_begin(struct gnndrive_buffer *fb)
{
    gnndrive_buffer_lock(fb);
    assert(fb->active == 0);
    assert(fb->published == 0);
    fb->cancelled = fb->failed = false;
    fb->next_ticket = 0;
    fb->admitted_nodes = 0;
    fb->admitting = false;
    memset(&fb->counts, 0, sizeof fb->counts);
    gnndrive_buffer_unlock(fb);
}

void gnndrive_buffer_cancel(struct gnndrive_buffer *fb)
{
    gnndrive_buffer_lock(fb);
    fb->cancelled = true;
    gnn_cond_broadcast(fb->world, fb->slot_free.cond);
    gnn_cond_broadcast(fb->world, fb->row_ready.cond);
    gnn_cond_broadcast(fb->world, fb->admission);
    gnndrive_buffer_unlock(fb);
}

void gnndrive_buffer_counts(struct gnndrive_buffer *fb, struct gnndrive_buffer_counts *out)
{
    gnndrive_buffer_lock(fb);
    *out = fb->counts;
    gnndrive_buffer_unlock(fb);
}

/* ---- sleeping, and the watchdog ---- */

/* Wakes all waiters of `point`. They count as asleep again only after they rechecked their condition, so the watchdog
 * does not take a thread that was woken but has not run yet for one that stays asleep. */
static void wake(struct gnndrive_buffer *fb, struct wait_point *point)
{
    assert(point->asleep <= fb->active);
    if (point->asleep == 0)
        return;
    point->asleep = 0;
    point->broadcasts++;
    gnn_cond_broadcast(fb->world, point->cond);
}

static enum gnn_status report_deadlock(const struct gnndrive_buffer *fb, struct gnn_err *err)
{
    char shares[400];
    size_t used = 0;
    shares[0] = '\0';
    for (uint32_t e = 0; e < fb->config.extractors && used < sizeof shares - 48; e++) {
        const struct gnndrive_claim *claim = fb->claim[e];
        if (claim != NULL)
            used += (size_t)snprintf(shares + used, sizeof shares - used, "%s%" PRIu32 ": %" PRIu32 " of %" PRIu32,
                                     used > 0 ? ", " : "", e, claim->slot_count, claim->load_count);
    }
    return gnn_fail(err, GNN_EBUG,
                    "gnndrive: deadlock: every extractor sleeps and no batch is left to release a slot; %" PRIu32
                    " slots, loads that have a slot by extractor: %s. The buffer is smaller than extractors x nodes of "
                    "the largest batch: raise gnndrive.buffer_mult or lower gnndrive.extractors",
                    fb->config.slots, shares);
}

/* Sleeps until the next broadcast at `point` (or a spurious wake-up); the watchdog: GNN_EBUG instead when every claim
 * would then be asleep and no published batch is left whose release could end that. */
static enum gnn_status sleep_at(struct gnndrive_buffer *fb, struct wait_point *point, struct gnn_err *err)
{
    point->asleep++;
    assert(fb->slot_free.asleep + fb->row_ready.asleep <= fb->active);
    const uint64_t broadcasts = point->broadcasts;
    enum gnn_status status = GNN_OK;
    if (!fb->failed && fb->published == 0 && fb->slot_free.asleep + fb->row_ready.asleep == fb->active)
        status = report_deadlock(fb, err);
    else
        (void)gnn_cond_wait(fb->world, point->cond, fb->mutex, GNN_NO_DEADLINE, GNN_WAIT_RESOURCE);
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
    assert(node_count <= fb->config.slots);
    fb->admitting = true;
    while (!fb->cancelled && (ticket != fb->next_ticket || fb->admitted_nodes + node_count > fb->config.slots))
        (void)gnn_cond_wait(fb->world, fb->admission, fb->mutex, GNN_NO_DEADLINE, GNN_WAIT_RESOURCE);
    if (fb->cancelled)
        return GNN_ECANCELLED;
    fb->next_ticket++;
    fb->admitted_nodes += node_count;
    gnn_cond_broadcast(fb->world, fb->admission);
    return GNN_OK;
}

/* ---- pin, take, ready, publish ---- */

/* The mask tells the compiler that the sum fits the bit field. */
static void add_reference(struct entry *entry)
{
    assert(entry->refs < REFS_MAX);
    entry->refs = (entry->refs + 1u) & REFS_MAX;
}

static void pin_row(struct gnndrive_buffer *fb, struct gnndrive_claim *claim, uint32_t position)
{
    const gnn_node node = claim->nodes[position];
    assert(node < fb->config.node_count);
    const uint32_t key = node / fb->config.rows_per_slot;
    struct entry *entry = &fb->map[key];
    if (entry->ready) {
        if (entry->refs == 0)
            standby_unlink(fb, entry->slot);
        claim->alias[position] = entry->slot * fb->config.rows_per_slot + node % fb->config.rows_per_slot;
        fb->counts.ready_rows++;
    } else {
        claim->pending[claim->pending_count++] = position;
        if (entry->refs == 0) {
            assert(entry->slot == NONE);
            entry->owner = (uint8_t)claim->extractor;
            claim->load_key[claim->load_count++] = key;
            fb->counts.loads++;
        } else if (entry->owner == claim->extractor) {
            fb->counts.joint_rows++;
        } else {
            claim->wait[claim->wait_count++] = position;
            fb->counts.waited_rows++;
        }
    }
    add_reference(entry);
}

void gnndrive_buffer_pin(struct gnndrive_buffer *fb, struct gnndrive_claim *claim)
{
    assert(claim->extractor < fb->config.extractors);
    assert(fb->claim[claim->extractor] == NULL);
    claim->load_count = claim->slot_count = claim->wait_count = claim->pending_count = 0;
    fb->claim[claim->extractor] = claim;
    fb->active++;
    fb->counts.rows += claim->node_count;
    for (uint32_t i = 0; i < claim->node_count; i++)
        pin_row(fb, claim, i);
    gnn_charge(fb->world, GNN_WORK_TABLE_ENTRY, claim->node_count);
}

/* Evicts the owner of the least recently released slot and gives the slot to key. */
static uint32_t allocate_slot(struct gnndrive_buffer *fb, uint32_t key)
{
    assert(fb->standby_count > 0);
    const uint32_t slot = fb->standby[fb->config.slots].next;
    standby_unlink(fb, slot);
    const uint32_t old = fb->reverse[slot];
    if (old != NONE) {
        assert(fb->map[old].refs == 0);
        assert(fb->map[old].slot == slot);
        fb->map[old] = (struct entry){.slot = NONE};
        fb->counts.evictions++;
    }
    assert(fb->map[key].refs > 0);
    assert(fb->map[key].slot == NONE);
    fb->reverse[slot] = key;
    fb->map[key].slot = slot;
    return slot;
}

enum gnn_status gnndrive_buffer_take_slots(struct gnndrive_buffer *fb, struct gnndrive_claim *claim, uint32_t limit,
                                           struct gnn_err *err)
{
    uint32_t taken = 0;
    while (claim->slot_count < claim->load_count && taken < limit) {
        if (fb->cancelled)
            return cancelled(err);
        if (fb->standby_count == 0) {
            fb->counts.slot_waits++;
            GNN_TRY(sleep_at(fb, &fb->slot_free, err));
            continue;
        }
        claim->load_slot[claim->slot_count] = allocate_slot(fb, claim->load_key[claim->slot_count]);
        claim->slot_count++;
        taken++;
    }
    gnn_charge(fb->world, GNN_WORK_TABLE_ENTRY, taken);
    return GNN_OK;
}

void gnndrive_buffer_ready(struct gnndrive_buffer *fb, const struct gnndrive_claim *claim, const uint32_t *index,
                           uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert(index[i] < claim->slot_count);
        struct entry *entry = &fb->map[claim->load_key[index[i]]];
        assert(entry->slot == claim->load_slot[index[i]]);
        assert(entry->refs > 0);
        assert(!entry->ready);
        entry->ready = 1;
    }
    gnn_charge(fb->world, GNN_WORK_TABLE_ENTRY, count);
    wake(fb, &fb->row_ready);
}

enum gnn_status gnndrive_buffer_wait_rows(struct gnndrive_buffer *fb, struct gnndrive_claim *claim, struct gnn_err *err)
{
    uint32_t next = 0;
    while (next < claim->wait_count) {
        const uint32_t key = claim->nodes[claim->wait[next]] / fb->config.rows_per_slot;
        if (fb->map[key].ready) {
            next++;
            continue;
        }
        if (fb->cancelled)
            return cancelled(err);
        fb->counts.row_waits++;
        GNN_TRY(sleep_at(fb, &fb->row_ready, err));
    }
    return GNN_OK;
}

static void end_claim(struct gnndrive_buffer *fb, const struct gnndrive_claim *claim)
{
    assert(fb->claim[claim->extractor] == claim);
    assert(fb->active > 0);
    fb->claim[claim->extractor] = NULL;
    fb->active--;
}

void gnndrive_buffer_publish(struct gnndrive_buffer *fb, struct gnndrive_claim *claim)
{
    const uint32_t group = fb->config.rows_per_slot;
    for (uint32_t i = 0; i < claim->pending_count; i++) {
        const gnn_node node = claim->nodes[claim->pending[i]];
        const struct entry *entry = &fb->map[node / group];
        assert(entry->ready);
        assert(entry->slot < fb->config.slots);
        claim->alias[claim->pending[i]] = entry->slot * group + node % group;
    }
    end_claim(fb, claim);
    fb->published++;
}

/* ---- release ---- */

static void unpin(struct gnndrive_buffer *fb, const gnn_node *nodes, uint32_t node_count)
{
    for (uint32_t i = 0; i < node_count; i++) {
        const uint32_t key = nodes[i] / fb->config.rows_per_slot;
        struct entry *entry = &fb->map[key];
        assert(entry->refs > 0);
        entry->refs = (entry->refs - 1u) & REFS_MAX;
        if (entry->refs > 0 || entry->slot == NONE)
            continue;
        if (entry->ready) {
            standby_insert_after(fb, fb->standby[fb->config.slots].prev, entry->slot);
        } else { /* abandoned before its row arrived: an empty slot, the first to be reused */
            standby_insert_after(fb, fb->config.slots, entry->slot);
            fb->reverse[entry->slot] = NONE;
            *entry = (struct entry){.slot = NONE};
        }
    }
    gnn_charge(fb->world, GNN_WORK_TABLE_ENTRY, node_count);
    if (fb->admitting) {
        assert(fb->admitted_nodes >= node_count);
        fb->admitted_nodes -= node_count;
        gnn_cond_broadcast(fb->world, fb->admission);
    }
    wake(fb, &fb->slot_free);
}

void gnndrive_buffer_release(struct gnndrive_buffer *fb, const gnn_node *nodes, uint32_t node_count)
{
    assert(fb->published > 0);
    fb->published--;
    unpin(fb, nodes, node_count);
}

void gnndrive_buffer_abandon(struct gnndrive_buffer *fb, struct gnndrive_claim *claim)
{
    end_claim(fb, claim);
    fb->failed = true;
    unpin(fb, claim->nodes, claim->node_count);
}

/* ---- inspection ---- */

uint32_t gnndrive_buffer_standby(const struct gnndrive_buffer *fb, uint32_t *slots, uint32_t max)
{
    const uint32_t anchor = fb->config.slots;
    uint32_t count = 0;
    for (uint32_t slot = fb->standby[anchor].next; slot != anchor && count < max; slot = fb->standby[slot].next)
        slots[count++] = slot;
    return fb->standby_count;
}

uint32_t gnndrive_buffer_find(const struct gnndrive_buffer *fb, gnn_node node, bool *ready)
{
    const struct entry *entry = &fb->map[node / fb->config.rows_per_slot];
    *ready = entry->ready;
    return entry->slot;
}

static enum gnn_status check_slots(const struct gnndrive_buffer *fb, struct gnn_err *err)
{
    for (uint32_t slot = 0; slot < fb->config.slots; slot++) {
        const uint32_t key = fb->reverse[slot];
        const bool standby = fb->standby[slot].next != NONE;
        if (key != NONE && fb->map[key].slot != slot)
            return gnn_fail(err, GNN_EBUG,
                            "gnndrive: slot %" PRIu32 " says group %" PRIu32 ", which is in slot %" PRIu32, slot, key,
                            fb->map[key].slot);
        if (standby != (key == NONE || fb->map[key].refs == 0))
            return gnn_fail(err, GNN_EBUG,
                            "gnndrive: slot %" PRIu32 " of group %" PRIu32 " is %son standby with count %u", slot, key,
                            standby ? "" : "not ", key == NONE ? 0 : (unsigned)fb->map[key].refs);
    }
    return GNN_OK;
}

static enum gnn_status check_entries(const struct gnndrive_buffer *fb, bool idle, struct gnn_err *err)
{
    for (uint32_t key = 0; key < fb->key_count; key++) {
        const struct entry *entry = &fb->map[key];
        if (entry->slot != NONE && fb->reverse[entry->slot] != key)
            return gnn_fail(err, GNN_EBUG, "gnndrive: group %" PRIu32 " is in slot %" PRIu32 ", which says %" PRIu32,
                            key, entry->slot, fb->reverse[entry->slot]);
        const bool absent = entry->slot == NONE || !entry->ready;
        if ((entry->ready && entry->slot == NONE) || (idle && (entry->refs > 0 || (absent && entry->slot != NONE))))
            return gnn_fail(err, GNN_EBUG, "gnndrive: group %" PRIu32 ": slot %" PRIu32 ", count %u, ready %u%s", key,
                            entry->slot, (unsigned)entry->refs, (unsigned)entry->ready, idle ? ", when idle" : "");
    }
    return GNN_OK;
}

enum gnn_status gnndrive_buffer_check(const struct gnndrive_buffer *fb, bool idle, struct gnn_err *err)
{
    GNN_TRY(check_slots(fb, err));
    GNN_TRY(check_entries(fb, idle, err));
    const uint32_t anchor = fb->config.slots;
    uint32_t walked = 0;
    for (uint32_t slot = fb->standby[anchor].next; slot != anchor && walked <= anchor; slot = fb->standby[slot].next)
        walked += fb->standby[fb->standby[slot].next].prev == slot;
    if (walked != fb->standby_count || (idle && walked != anchor))
        return gnn_fail(err, GNN_EBUG,
                        "gnndrive: %" PRIu32 " slots on standby, %" PRIu32 " counted, %" PRIu32 " in all", walked,
                        fb->standby_count, anchor);
    if (idle && (fb->active > 0 || fb->published > 0 || fb->slot_free.asleep > 0 || fb->row_ready.asleep > 0))
        return gnn_fail(err, GNN_EBUG,
                        "gnndrive: %" PRIu32 " claims and %" PRIu32 " batches live, %" PRIu32 " asleep, when idle",
                        fb->active, fb->published, fb->slot_free.asleep + fb->row_ready.asleep);
    return GNN_OK;
}

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
    PREFETCH_ROWS = 24,
    PREFETCH_LINKS = 16,
    PREFETCH_NEIGHBOURS = 8,
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

/* What a claim holds, for the report of a deadlock: the claim itself may be another process's. */
struct share {
    bool live;
    uint32_t slots, loads;
};

/* Of one rank. */
struct rank_state {
    uint64_t next_ticket;
    uint64_t admitted_nodes;
    struct gnndrive_buffer_counts counts;
};

/* In memory that all ranks share. */
struct tables {
    struct gnn_world *world;
    struct gnndrive_buffer_config config;
    uint32_t ranks;
    uint32_t quota; /* nodes that the admitted batches of one rank hold at most */
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
    struct share share[EXTRACTORS_MAX];
    bool admitting;
    struct rank_state rank[GNNDRIVE_BUFFER_RANKS_MAX];
};

/* A rank's way to the tables. */
struct gnndrive_buffer {
    struct tables *tables;
    uint32_t rank;
    bool owner; /* opened the tables */
};

/* Number of a claim's extractor among those of all ranks. */
static uint32_t extractor_of(const struct gnndrive_buffer *fb, const struct gnndrive_claim *claim)
{
    assert(claim->extractor < fb->tables->config.extractors);
    return fb->rank * fb->tables->config.extractors + claim->extractor;
}

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

static void standby_insert_after(struct tables *t, uint32_t prev, uint32_t slot)
{
    assert(t->standby[slot].next == NONE);
    const uint32_t next = t->standby[prev].next;
    t->standby[slot] = (struct link){.prev = prev, .next = next};
    t->standby[prev].next = slot;
    t->standby[next].prev = slot;
    t->standby_count++;
}

static void standby_unlink(struct tables *t, uint32_t slot)
{
    const struct link link = t->standby[slot];
    assert(link.next != NONE);
    t->standby[link.prev].next = link.next;
    t->standby[link.next].prev = link.prev;
    t->standby[slot].next = NONE;
    t->standby_count--;
}

static void standby_fill(struct tables *t)
{
    const uint32_t anchor = t->config.slots;
    t->standby[anchor] = (struct link){.prev = anchor, .next = anchor};
    for (uint32_t slot = 0; slot < anchor; slot++) {
        t->standby[slot].next = NONE;
        standby_insert_after(t, t->standby[anchor].prev, slot);
        t->reverse[slot] = NONE;
    }
}

/* ---- open and close ---- */

static enum gnn_status check_numbers(const struct gnndrive_buffer_config *config, struct gnn_err *err)
{
    const uint64_t extractors = (uint64_t)gnn_max_u32(config->ranks, 1) * config->extractors;
    assert(config->node_count > 0);
    assert(config->slots > 0);
    assert(config->rows_per_slot > 0);
    assert(config->extractors > 0);
    if ((uint64_t)config->slots * config->rows_per_slot >= NONE)
        return gnn_fail(err, GNN_EUSAGE,
                        "gnndrive: %" PRIu32 " slots of %" PRIu32 " rows need more than 32-bit row numbers: lower "
                        "gnndrive.buffer_mult",
                        config->slots, config->rows_per_slot);
    if (extractors > EXTRACTORS_MAX || config->ranks > GNNDRIVE_BUFFER_RANKS_MAX)
        return gnn_fail(err, GNN_EUSAGE,
                        "gnndrive: %" PRIu32 " workers of %" PRIu32
                        " extractors share one feature buffer, %d extractors "
                        "and %d workers can: lower --workers or gnndrive.extractors, or set gnndrive.rank_buffers=own",
                        config->ranks, config->extractors, (int)EXTRACTORS_MAX, (int)GNNDRIVE_BUFFER_RANKS_MAX);
    return GNN_OK;
}

static enum gnn_status open_tables(struct tables *t, struct gnn_err *err)
{
    struct gnn_world *const world = t->world;
    const uint64_t slots = t->config.slots;
    GNN_MEM_NEW(world, t->map, t->key_count, "gnndrive mapping table", GNN_MEM_SHARED, err);
    GNN_MEM_NEW(world, t->reverse, slots, "gnndrive reverse mapping", GNN_MEM_SHARED, err);
    GNN_MEM_NEW(world, t->standby, slots + 1, "gnndrive standby list", GNN_MEM_SHARED, err);
    GNN_TRY(gnn_mem_hold(world, "gnndrive released code's tables", padding_bytes(&t->config), &t->table_padding, err));
    GNN_TRY(gnn_mutex_open(world, &t->mutex, err));
    GNN_TRY(gnn_cond_open(world, &t->slot_free.cond, err));
    GNN_TRY(gnn_cond_open(world, &t->row_ready.cond, err));
    GNN_TRY(gnn_cond_open(world, &t->admission, err));
    for (uint32_t key = 0; key < t->key_count; key++)
        t->map[key].slot = NONE;
    standby_fill(t);
    return GNN_OK;
}

enum gnn_status gnndrive_buffer_open(struct gnn_world *world, const struct gnndrive_buffer_config *config,
                                     struct gnndrive_buffer **out, struct gnn_err *err)
{
    GNN_TRY(check_numbers(config, err));
    struct gnndrive_buffer *fb;
    GNN_NEW(fb, 1, err, "feature buffer");
    *out = fb;
    fb->owner = true;
    if (config->ranks > 1) { /* what the others must see is no memory of this process alone */
        void *memory = NULL;
        GNN_TRY(gnn_mem_alloc(world, "gnndrive feature buffer's state", sizeof(struct tables), GNN_MEM_SHARED, &memory,
                              err));
        fb->tables = memory;
    } else {
        GNN_NEW(fb->tables, 1, err, "feature buffer");
    }
    struct tables *const t = fb->tables;
    t->world = world;
    t->config = *config;
    t->ranks = gnn_max_u32(config->ranks, 1);
    t->quota = config->slots / t->ranks;
    t->key_count = keys_of(config);
    return open_tables(t, err);
}

enum gnn_status gnndrive_buffer_join(struct gnndrive_buffer *of, uint32_t rank, struct gnndrive_buffer **out,
                                     struct gnn_err *err)
{
    struct gnndrive_buffer *fb;
    assert(of->owner);
    assert(rank < of->tables->ranks);
    GNN_NEW(fb, 1, err, "feature buffer");
    *fb = (struct gnndrive_buffer){.tables = of->tables, .rank = rank};
    *out = fb;
    return GNN_OK;
}

static void close_tables(struct tables *t)
{
    struct gnn_world *const w = t->world;
    gnn_cond_close(w, t->admission);
    gnn_cond_close(w, t->row_ready.cond);
    gnn_cond_close(w, t->slot_free.cond);
    gnn_mutex_close(w, t->mutex);
    gnn_mem_free(w, t->table_padding);
    gnn_mem_free(w, t->standby);
    gnn_mem_free(w, t->reverse);
    gnn_mem_free(w, t->map);
    if (t->config.ranks > 1)
        gnn_mem_free(w, t);
    else
        free(t);
}

void gnndrive_buffer_close(struct gnndrive_buffer *fb)
{
    if (fb == NULL)
        return;
    if (fb->owner && fb->tables != NULL)
        close_tables(fb->tables);
    free(fb);
}

void gnndrive_buffer_lock(struct gnndrive_buffer *fb)
{
    struct tables *const t = fb->tables;
    gnn_mutex_lock(t->world, t->mutex);
}

void gnndrive_buffer_unlock(struct gnndrive_buffer *fb)
{
    struct tables *const t = fb->tables;
    gnn_mutex_unlock(t->world, t->mutex);
}

void gnndrive_buffer_begin(struct gnndrive_buffer *fb)
{
    struct tables *const t = fb->tables;
    gnndrive_buffer_lock(fb);
    assert(t->active == 0);
    assert(t->published == 0);
    t->cancelled = t->failed = false;
    t->admitting = false;
    memset(t->rank, 0, sizeof t->rank);
    gnndrive_buffer_unlock(fb);
}

void gnndrive_buffer_cancel(struct gnndrive_buffer *fb)
{
    struct tables *const t = fb->tables;
    gnndrive_buffer_lock(fb);
    t->cancelled = true;
    gnn_cond_broadcast(t->world, t->slot_free.cond);
    gnn_cond_broadcast(t->world, t->row_ready.cond);
    gnn_cond_broadcast(t->world, t->admission);
    gnndrive_buffer_unlock(fb);
}

void gnndrive_buffer_counts(struct gnndrive_buffer *fb, struct gnndrive_buffer_counts *out)
{
    gnndrive_buffer_lock(fb);
    *out = fb->tables->rank[fb->rank].counts;
    gnndrive_buffer_unlock(fb);
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
                    "gnndrive: deadlock: every extractor sleeps and no batch is left to release a slot; %" PRIu32
                    " slots, loads that have a slot by extractor: %s. The buffer is smaller than extractors x nodes of "
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

/* ---- inspection ---- */

uint32_t gnndrive_buffer_standby(const struct gnndrive_buffer *fb, uint32_t *slots, uint32_t max)
{
    const struct tables *const t = fb->tables;
    const uint32_t anchor = t->config.slots;
    uint32_t count = 0;
    for (uint32_t slot = t->standby[anchor].next; slot != anchor && count < max; slot = t->standby[slot].next)
        slots[count++] = slot;
    return t->standby_count;
}

uint32_t gnndrive_buffer_find(const struct gnndrive_buffer *fb, gnn_node node, bool *ready)
{
    const struct tables *const t = fb->tables;
    const struct entry *entry = &t->map[node / t->config.rows_per_slot];
    *ready = entry->ready;
    return entry->slot;
}

static enum gnn_status check_slots(const struct tables *t, struct gnn_err *err)
{
    for (uint32_t slot = 0; slot < t->config.slots; slot++) {
        const uint32_t key = t->reverse[slot];
        const bool standby = t->standby[slot].next != NONE;
        if (key != NONE && t->map[key].slot != slot)
            return gnn_fail(err, GNN_EBUG,
                            "gnndrive: slot %" PRIu32 " says group %" PRIu32 ", which is in slot %" PRIu32, slot, key,
                            t->map[key].slot);
        if (standby != (key == NONE || t->map[key].refs == 0))
            return gnn_fail(err, GNN_EBUG,
                            "gnndrive: slot %" PRIu32 " of group %" PRIu32 " is %son standby with count %u", slot, key,
                            standby ? "" : "not ", key == NONE ? 0 : (unsigned)t->map[key].refs);
    }
    return GNN_OK;
}

static enum gnn_status check_entries(const struct tables *t, bool idle, struct gnn_err *err)
{
    for (uint32_t key = 0; key < t->key_count; key++) {
        const struct entry *entry = &t->map[key];
        if (entry->slot != NONE && t->reverse[entry->slot] != key)
            return gnn_fail(err, GNN_EBUG, "gnndrive: group %" PRIu32 " is in slot %" PRIu32 ", which says %" PRIu32,
                            key, entry->slot, t->reverse[entry->slot]);
        const bool absent = entry->slot == NONE || !entry->ready;
        if ((entry->ready && entry->slot == NONE) || (idle && (entry->refs > 0 || (absent && entry->slot != NONE))))
            return gnn_fail(err, GNN_EBUG, "gnndrive: group %" PRIu32 ": slot %" PRIu32 ", count %u, ready %u%s", key,
                            entry->slot, (unsigned)entry->refs, (unsigned)entry->ready, idle ? ", when idle" : "");
    }
    return GNN_OK;
}

enum gnn_status gnndrive_buffer_check(const struct gnndrive_buffer *fb, bool idle, struct gnn_err *err)
{
    const struct tables *const t = fb->tables;
    GNN_TRY(check_slots(t, err));
    GNN_TRY(check_entries(t, idle, err));
    const uint32_t anchor = t->config.slots;
    uint32_t walked = 0;
    for (uint32_t slot = t->standby[anchor].next; slot != anchor && walked <= anchor; slot = t->standby[slot].next)
        walked += t->standby[t->standby[slot].next].prev == slot;
    if (walked != t->standby_count || (idle && walked != anchor))
        return gnn_fail(err, GNN_EBUG,
                        "gnndrive: %" PRIu32 " slots on standby, %" PRIu32 " counted, %" PRIu32 " in all", walked,
                        t->standby_count, anchor);
    if (idle && (t->active > 0 || t->published > 0 || t->slot_free.asleep > 0 || t->row_ready.asleep > 0))
        return gnn_fail(err, GNN_EBUG,
                        "gnndrive: %" PRIu32 " claims and %" PRIu32 " batches live, %" PRIu32 " asleep, when idle",
                        t->active, t->published, t->slot_free.asleep + t->row_ready.asleep);
    return GNN_OK;
}

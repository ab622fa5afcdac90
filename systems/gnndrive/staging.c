/* SPDX-License-Identifier: MIT */
#include "systems/gnndrive/staging.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>

#define NONE GNNDRIVE_STAGING_NONE

struct slot {
    uint32_t key;        /* of the group that it holds, or that its one user reads */
    uint32_t users;      /* 0: on the portion's list */
    bool ready;          /* holds the group: others may find it */
    uint32_t prev, next; /* on the list; next = NONE: not on it */
};

struct portion {
    struct gnn_mutex *mutex;
    struct gnn_cond *freed;
    uint32_t idle;   /* slots on the list */
    uint32_t anchor; /* of the list, in `slots`: its next is the least recently used */
    uint32_t asleep;
    bool cancelled;
    struct gnndrive_staging_counts counts; /* of the rank; under this portion's mutex */
};

struct gnndrive_staging {
    struct gnn_world *world;
    struct gnndrive_staging_config config;
    uint32_t slot_count;
    char *memory;       /* (slot_count, slot_bytes) */
    struct slot *slots; /* (slot_count + ranks): the last are the lists' anchors */
    atomic_uint *where; /* (keys) a slot that was ready with the key; NONE */
    struct portion portion[GNNDRIVE_STAGING_RANKS_MAX];
};

static uint64_t slots_of(const struct gnndrive_staging_config *config)
{
    return (uint64_t)config->ranks * config->portion;
}

uint64_t gnndrive_staging_bytes(const struct gnndrive_staging_config *config)
{
    const uint64_t rows = gnn_mul_bytes(slots_of(config), config->slot_bytes);
    const uint64_t tables = gnn_mul_bytes(slots_of(config) + config->ranks, sizeof(struct slot)) +
                            config->keys * (uint64_t)sizeof(atomic_uint);
    return gnn_add_bytes(rows, gnn_add_bytes(tables, sizeof(struct gnndrive_staging)));
}

static struct portion *portion_of(struct gnndrive_staging *s, uint32_t slot)
{
    assert(slot < s->slot_count);
    return &s->portion[slot / s->config.portion];
}

static void lock(struct gnndrive_staging *s, struct portion *p)
{
    gnn_mutex_lock(s->world, p->mutex);
}

static void unlock(struct gnndrive_staging *s, struct portion *p)
{
    gnn_mutex_unlock(s->world, p->mutex);
}

/* ---- the lists: under the portion's lock ---- */

static void list_insert_after(struct gnndrive_staging *s, struct portion *p, uint32_t prev, uint32_t slot)
{
    assert(s->slots[slot].next == NONE);
    const uint32_t next = s->slots[prev].next;
    s->slots[slot].prev = prev;
    s->slots[slot].next = next;
    s->slots[prev].next = slot;
    s->slots[next].prev = slot;
    p->idle++;
}

static void list_unlink(struct gnndrive_staging *s, struct portion *p, uint32_t slot)
{
    struct slot *const own = &s->slots[slot];
    assert(own->next != NONE);
    s->slots[own->prev].next = own->next;
    s->slots[own->next].prev = own->prev;
    own->next = NONE;
    p->idle--;
}

/* ---- open and close ---- */

static enum gnn_status open_portions(struct gnndrive_staging *s, struct gnn_err *err)
{
    for (uint32_t r = 0; r < s->config.ranks; r++) {
        struct portion *const p = &s->portion[r];
        GNN_TRY(gnn_mutex_open(s->world, &p->mutex, err));
        GNN_TRY(gnn_cond_open(s->world, &p->freed, err));
        p->anchor = s->slot_count + r;
        s->slots[p->anchor].prev = s->slots[p->anchor].next = p->anchor;
        for (uint32_t i = 0; i < s->config.portion; i++) {
            const uint32_t slot = r * s->config.portion + i;
            s->slots[slot].next = NONE;
            list_insert_after(s, p, s->slots[p->anchor].prev, slot);
        }
    }
    return GNN_OK;
}

enum gnn_status gnndrive_staging_open(struct gnn_world *world, const struct gnndrive_staging_config *config,
                                      struct gnndrive_staging **out, struct gnn_err *err)
{
    assert(config->ranks >= 1);
    assert(config->ranks <= GNNDRIVE_STAGING_RANKS_MAX);
    assert(config->portion >= 1);
    if (slots_of(config) + config->ranks > GNNDRIVE_STAGING_SLOTS_MAX)
        return gnn_fail(err, GNN_EUSAGE,
                        "gnndrive: the shared staging buffer would have %" PRIu64
                        " slots, which is too many: lower gnndrive.staging or --workers",
                        slots_of(config));
    void *memory = NULL;
    GNN_TRY(
        gnn_mem_alloc(world, "gnndrive staging state", sizeof(struct gnndrive_staging), GNN_MEM_SHARED, &memory, err));
    struct gnndrive_staging *const s = memory;
    *out = s;
    s->world = world;
    s->config = *config;
    s->slot_count = (uint32_t)slots_of(config);
    GNN_TRY(gnn_mem_alloc(world, "gnndrive staging buffer", gnn_mul_bytes(s->slot_count, config->slot_bytes),
                          GNN_MEM_FEATURES | GNN_MEM_PINNED | GNN_MEM_SHARED, &memory, err));
    s->memory = memory;
    GNN_MEM_NEW(world, s->slots, s->slot_count + (uint64_t)config->ranks, "gnndrive staging slots", GNN_MEM_SHARED,
                err);
    GNN_MEM_NEW(world, s->where, config->keys, "gnndrive staging table", GNN_MEM_SHARED, err);
    for (uint32_t key = 0; key < config->keys; key++)
        atomic_init(&s->where[key], NONE);
    return open_portions(s, err);
}

void gnndrive_staging_close(struct gnndrive_staging *s)
{
    if (s == NULL)
        return;
    struct gnn_world *const world = s->world;
    for (uint32_t r = 0; r < s->config.ranks; r++) {
        gnn_cond_close(world, s->portion[r].freed);
        gnn_mutex_close(world, s->portion[r].mutex);
    }
    gnn_mem_free(world, s->where);
    gnn_mem_free(world, s->slots);
    gnn_mem_free(world, s->memory);
    gnn_mem_free(world, s);
}

void *gnndrive_staging_all(const struct gnndrive_staging *s, uint64_t *bytes)
{
    *bytes = s->slot_count * s->config.slot_bytes;
    return s->memory;
}

void *gnndrive_staging_memory(const struct gnndrive_staging *s, uint32_t slot)
{
    assert(slot < s->slot_count);
    return s->memory + slot * s->config.slot_bytes;
}

void gnndrive_staging_begin(struct gnndrive_staging *s, uint32_t rank)
{
    struct portion *const p = &s->portion[rank];
    lock(s, p);
    p->cancelled = false;
    p->counts = (struct gnndrive_staging_counts){0};
    unlock(s, p);
}

void gnndrive_staging_cancel(struct gnndrive_staging *s, uint32_t rank)
{
    struct portion *const p = &s->portion[rank];
    lock(s, p);
    p->cancelled = true;
    gnn_cond_broadcast(s->world, p->freed);
    unlock(s, p);
}

void gnndrive_staging_counts(struct gnndrive_staging *s, uint32_t rank, struct gnndrive_staging_counts *out)
{
    struct portion *const p = &s->portion[rank];
    lock(s, p);
    *out = p->counts;
    unlock(s, p);
}

/* ---- finding, taking, letting go ---- */

/* Holds the slot if it is still what the table said. */
static bool hold_if(struct gnndrive_staging *s, uint32_t slot, uint32_t key)
{
    struct portion *const p = portion_of(s, slot);
    struct slot *const own = &s->slots[slot];
    lock(s, p);
    const bool there = own->ready && own->key == key;
    if (there && own->users++ == 0)
        list_unlink(s, p, slot);
    unlock(s, p);
    return there;
}

uint32_t gnndrive_staging_find(struct gnndrive_staging *s, uint32_t rank, uint32_t key)
{
    assert(key < s->config.keys);
    const uint32_t slot = atomic_load(&s->where[key]);
    gnn_charge(s->world, GNN_WORK_TABLE_ENTRY, 1);
    if (slot == NONE || !hold_if(s, slot, key))
        return NONE;
    struct portion *const p = &s->portion[rank];
    lock(s, p);
    p->counts.hits++;
    unlock(s, p);
    return slot;
}

/* Takes the slot's group out of the table, under the lock of the slot's portion. The table says another slot, or none,
 * where this one's group was never read, or was read into that other one later: then that stays. */
static void unpublish(struct gnndrive_staging *s, uint32_t slot)
{
    uint32_t expected = slot;
    (void)atomic_compare_exchange_strong(&s->where[s->slots[slot].key], &expected, NONE);
}

static uint32_t take_from(struct gnndrive_staging *s, struct portion *p, uint32_t key)
{
    lock(s, p);
    const uint32_t slot = p->idle > 0 ? s->slots[p->anchor].next : NONE;
    if (slot != NONE) {
        list_unlink(s, p, slot);
        unpublish(s, slot);
        struct slot *const own = &s->slots[slot];
        assert(own->users == 0);
        own->key = key;
        own->users = 1;
        own->ready = false;
    }
    unlock(s, p);
    return slot;
}

uint32_t gnndrive_staging_take(struct gnndrive_staging *s, uint32_t rank, uint32_t key)
{
    assert(key < s->config.keys);
    gnn_charge(s->world, GNN_WORK_TABLE_ENTRY, 1);
    uint32_t slot = take_from(s, &s->portion[rank], key);
    for (uint32_t i = 1; i < s->config.ranks && slot == NONE; i++) {
        slot = take_from(s, &s->portion[(rank + i) % s->config.ranks], key);
        if (slot == NONE)
            continue;
        lock(s, &s->portion[rank]);
        s->portion[rank].counts.borrowed++;
        unlock(s, &s->portion[rank]);
    }
    return slot;
}

void gnndrive_staging_publish(struct gnndrive_staging *s, uint32_t slot)
{
    struct portion *const p = portion_of(s, slot);
    lock(s, p);
    assert(s->slots[slot].users == 1);
    assert(!s->slots[slot].ready);
    s->slots[slot].ready = true;
    atomic_store(&s->where[s->slots[slot].key], slot);
    unlock(s, p);
}

void gnndrive_staging_release(struct gnndrive_staging *s, uint32_t slot)
{
    struct portion *const p = portion_of(s, slot);
    struct slot *const own = &s->slots[slot];
    lock(s, p);
    assert(own->users > 0);
    if (--own->users == 0) {
        const uint32_t after = own->ready ? s->slots[p->anchor].prev : p->anchor; /* an empty one goes first */
        list_insert_after(s, p, after, slot);
        if (p->asleep > 0)
            gnn_cond_broadcast(s->world, p->freed);
    }
    unlock(s, p);
}

enum gnn_status gnndrive_staging_wait(struct gnndrive_staging *s, uint32_t rank, struct gnn_err *err)
{
    struct portion *const p = &s->portion[rank];
    lock(s, p);
    p->asleep++;
    p->counts.waits += p->idle == 0 && !p->cancelled;
    while (p->idle == 0 && !p->cancelled)
        (void)gnn_cond_wait(s->world, p->freed, p->mutex, GNN_NO_DEADLINE, GNN_WAIT_RESOURCE);
    p->asleep--;
    const bool cancelled = p->cancelled;
    unlock(s, p);
    return cancelled ? gnn_fail(err, GNN_ECANCELLED, "gnndrive: stopped while waiting for the staging buffer") : GNN_OK;
}

/* ---- inspection ---- */

static enum gnn_status check_portion(struct gnndrive_staging *s, uint32_t rank, struct gnn_err *err)
{
    const struct portion *const p = &s->portion[rank];
    uint32_t walked = 0;
    for (uint32_t slot = s->slots[p->anchor].next; slot != p->anchor && walked <= s->config.portion;
         slot = s->slots[slot].next, walked++)
        if (slot / s->config.portion != rank || s->slots[slot].users != 0)
            return gnn_fail(err, GNN_EBUG, "gnndrive: staging slot %" PRIu32 " on rank %" PRIu32 "'s list is in use",
                            slot, rank);
    if (walked != s->config.portion || p->idle != walked || p->asleep != 0)
        return gnn_fail(err, GNN_EBUG,
                        "gnndrive: rank %" PRIu32 " has %" PRIu32 " of its %" PRIu32
                        " staging slots back, counted %" PRIu32 ", %" PRIu32 " asleep",
                        rank, walked, s->config.portion, p->idle, p->asleep);
    return GNN_OK;
}

enum gnn_status gnndrive_staging_check(struct gnndrive_staging *s, struct gnn_err *err)
{
    for (uint32_t r = 0; r < s->config.ranks; r++)
        GNN_TRY(check_portion(s, r, err));
    for (uint32_t key = 0; key < s->config.keys; key++) {
        const uint32_t slot = atomic_load(&s->where[key]);
        if (slot != NONE && (!s->slots[slot].ready || s->slots[slot].key != key))
            return gnn_fail(err, GNN_EBUG,
                            "gnndrive: group %" PRIu32 " is recorded in staging slot %" PRIu32
                            ", which does not hold it",
                            key, slot);
    }
    return GNN_OK;
}

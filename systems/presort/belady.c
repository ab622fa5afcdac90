/* SPDX-License-Identifier: MIT */
#include "systems/presort/belady.h"

#include "harness/base/arena.h"
#include "harness/base/bitset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NO_SLOT UINT32_MAX

struct presort_belady {
    struct gnn_world *world;
    struct presort_belady_config config;
    void *memory;
    uint16_t *next_of;                   /* (node_count) next use of a row of the window before, or first use */
    uint16_t *next;                      /* (members_max) next use of a member after its window */
    uint64_t *resident;                  /* a set of nodes */
    uint64_t *recalled;                  /* a set of nodes: to be recalled; NULL: none ever is */
    gnn_node *slot_row;                  /* (slots) */
    uint32_t *link;                      /* (slots) of the lists below */
    uint32_t *bucket;                    /* (windows_max + 1) slots by next use; the last list's rows have none */
    uint32_t current;                    /* list of the slots of the window that was planned last */
    uint32_t spare, unused;              /* list of free slots; slots from here on were never used */
    uint32_t free_slots, top;            /* no list behind bucket `top` holds anything */
    const struct presort_lists *members; /* of the hyperbatch */
    uint32_t windows;                    /* likewise; the next one's lists may lie where these lay */
    uint64_t evictions;
};

/* ---- memory ---- */

static void carve(struct presort_belady *b, struct gnn_arena *arena)
{
    const struct presort_belady_config *const c = &b->config;
    b->resident = gnn_arena_take(arena, gnn_bitset_words(c->node_count) * sizeof *b->resident);
    b->slot_row = gnn_arena_take(arena, c->slots * (uint64_t)sizeof *b->slot_row);
    b->link = gnn_arena_take(arena, c->slots * (uint64_t)sizeof *b->link);
    b->bucket = gnn_arena_take(arena, (c->windows_max + UINT64_C(1)) * sizeof *b->bucket);
    b->next_of = gnn_arena_take(arena, c->node_count * (uint64_t)sizeof *b->next_of);
    b->next = gnn_arena_take(arena, c->members_max * (uint64_t)sizeof *b->next);
    if (c->recalls)
        b->recalled = gnn_arena_take(arena, gnn_bitset_words(c->node_count) * sizeof *b->recalled);
}

uint64_t presort_belady_bytes(const struct presort_belady_config *config)
{
    struct presort_belady b = {.config = *config};
    struct gnn_arena count = {0};
    carve(&b, &count);
    return count.used_bytes;
}

enum gnn_status presort_belady_open(struct gnn_world *world, const struct presort_belady_config *config,
                                    struct presort_belady **out, struct gnn_err *err)
{
    assert(config->slots > 0);
    assert(config->windows_max > 0);
    assert(config->windows_max <= PRESORT_WINDOWS_MAX);
    struct presort_belady *b;
    GNN_NEW(b, 1, err, "presort's replacement");
    *out = b;
    b->world = world;
    b->config = *config;
    struct gnn_arena arena = {.size_bytes = presort_belady_bytes(config)};
    GNN_TRY(gnn_mem_alloc(world, "presort next uses", arena.size_bytes, GNN_MEM_PLAIN, &b->memory, err));
    arena.memory = b->memory;
    carve(b, &arena);
    presort_belady_clear(b);
    return GNN_OK;
}

void presort_belady_close(struct presort_belady *b)
{
    if (b == NULL)
        return;
    gnn_mem_free(b->world, b->memory);
    free(b);
}

void presort_belady_clear(struct presort_belady *b)
{
    memset(b->bucket, 0xff, (b->config.windows_max + UINT64_C(1)) * sizeof *b->bucket);
    memset(b->resident, 0, gnn_bitset_words(b->config.node_count) * sizeof *b->resident);
    memset(b->next_of, 0xff, b->config.node_count * sizeof *b->next_of);
    b->current = b->spare = NO_SLOT;
    b->free_slots = b->config.slots;
    b->unused = 0;
    b->members = NULL;
    b->windows = 0;
    presort_belady_recall(b, false);
}

void presort_belady_recall(struct presort_belady *b, bool recalls)
{
    const uint64_t bytes = gnn_bitset_words(b->config.node_count) * sizeof *b->resident;
    if (b->recalled == NULL)
        return;
    if (recalls)
        memcpy(b->recalled, b->resident, bytes);
    else
        memset(b->recalled, 0, bytes);
}

/* ---- lists of slots ---- */

static void push(struct presort_belady *b, uint32_t *list, uint32_t slot)
{
    b->link[slot] = *list;
    *list = slot;
}

static uint32_t pop(struct presort_belady *b, uint32_t *list)
{
    const uint32_t slot = *list;
    assert(slot != NO_SLOT);
    *list = b->link[slot];
    return slot;
}

/* Files a slot under its row's next use. */
static void file_slot(struct presort_belady *b, uint32_t slot)
{
    const uint32_t next = gnn_min_u32(b->next_of[b->slot_row[slot]], b->windows);
    push(b, &b->bucket[next], slot);
    b->top = gnn_max_u32(b->top, next);
}

/* ---- a hyperbatch ---- */

/* Each member's next use after its window; next_of becomes every node's first use, which was none: of each member the
 * hyperbatch before knew no further use in the end. */
static void find_next_uses(struct presort_belady *b)
{
    const struct presort_lists *const m = b->members;
    for (uint32_t j = m->windows; j-- > 0;)
        for (uint32_t i = presort_begin_of(m->end, j); i < m->end[j]; i++) {
            b->next[i] = b->next_of[m->rows[i]];
            b->next_of[m->rows[i]] = (uint16_t)j;
        }
}

void presort_belady_begin(struct presort_belady *b, const struct presort_lists *members)
{
    uint32_t kept = b->bucket[b->windows]; /* every use the last hyperbatch knew of has been */
    assert(members->windows > 0);
    assert(members->windows <= b->config.windows_max);
    assert(members->end[members->windows - 1] <= b->config.members_max);
    gnn_charge(b->world, GNN_WORK_TABLE_ENTRY, 2 * (uint64_t)members->end[members->windows - 1] + b->config.slots);
    b->bucket[b->windows] = NO_SLOT;
    b->members = members;
    b->windows = members->windows;
    b->top = 0;
    find_next_uses(b);
    while (kept != NO_SLOT)
        file_slot(b, pop(b, &kept));
}

/* ---- a window ---- */

/* Takes the slots of the window before whose rows window j uses as well. */
static uint32_t take_neighbours(struct presort_belady *b, uint32_t j, uint32_t *used)
{
    uint32_t rest = NO_SLOT, count = 0;
    while (b->current != NO_SLOT) {
        const uint32_t slot = pop(b, &b->current);
        const bool here = b->next_of[b->slot_row[slot]] == j;
        push(b, here ? used : &rest, slot);
        count += here;
    }
    b->current = rest;
    return count;
}

/* Takes the slots that hold the other rows of window j that are in memory. */
static uint32_t take_kept(struct presort_belady *b, uint32_t j, uint32_t *used)
{
    uint32_t count = 0;
    for (; b->bucket[j] != NO_SLOT; count++)
        push(b, used, pop(b, &b->bucket[j]));
    return count;
}

/* Throws out the rows that are used last until so many slots are free. */
static void make_room(struct presort_belady *b, uint32_t wanted)
{
    while (b->free_slots < wanted) {
        while (b->bucket[b->top] == NO_SLOT) {
            assert(b->top > 0); /* two windows fit */
            b->top--;
        }
        const uint32_t slot = pop(b, &b->bucket[b->top]);
        gnn_bitset_remove(b->resident, b->slot_row[slot]);
        if (b->recalled != NULL)
            gnn_bitset_remove(b->recalled, b->slot_row[slot]);
        push(b, &b->spare, slot);
        b->free_slots++;
        b->evictions++;
    }
}

static uint32_t take_free(struct presort_belady *b)
{
    assert(b->free_slots > 0);
    b->free_slots--;
    return b->spare != NO_SLOT ? pop(b, &b->spare) : b->unused++;
}

/* Gives those of the window's rows in memory that are to be recalled, each once. */
static uint32_t recall(struct presort_belady *b, uint32_t used, struct presort_load *loads)
{
    uint32_t count = 0;
    for (; b->recalled != NULL && used != NO_SLOT; used = b->link[used])
        if (gnn_bitset_has(b->recalled, b->slot_row[used])) {
            gnn_bitset_remove(b->recalled, b->slot_row[used]);
            loads[count++] = (struct presort_load){b->slot_row[used], used | PRESORT_RECALLED};
        }
    return count;
}

/* Gives the members that are not in memory a slot each; every member's next use is known then. */
static uint32_t bring_in(struct presort_belady *b, uint32_t j, uint32_t *used, struct presort_load *loads)
{
    const struct presort_lists *const m = b->members;
    uint32_t count = 0;
    for (uint32_t i = presort_begin_of(m->end, j); i < m->end[j]; i++) {
        const gnn_node row = m->rows[i];
        b->next_of[row] = b->next[i];
        if (!gnn_bitset_add(b->resident, row))
            continue;
        const uint32_t slot = take_free(b);
        b->slot_row[slot] = row;
        push(b, used, slot);
        loads[count++] = (struct presort_load){row, slot};
    }
    return count;
}

uint32_t presort_belady_window(struct presort_belady *b, uint32_t j, struct presort_load *loads)
{
    const uint32_t members = b->members->end[j] - presort_begin_of(b->members->end, j);
    uint32_t used = NO_SLOT;
    gnn_charge(b->world, GNN_WORK_TABLE_ENTRY, 3 * (uint64_t)members);
    uint32_t held = take_neighbours(b, j, &used);
    held += take_kept(b, j, &used);
    assert(held <= members);
    make_room(b, members - held);
    const uint32_t recalled = recall(b, used, loads);
    const uint32_t count = bring_in(b, j, &used, loads + recalled);
    assert(count == members - held);
    while (b->current != NO_SLOT)
        file_slot(b, pop(b, &b->current));
    b->current = used;
    return recalled + count;
}

/* Of each member of the hyperbatch no further use is known in the end, and of other nodes none was. */
uint16_t *presort_belady_lend(struct presort_belady *b)
{
    return b->next_of;
}

const uint64_t *presort_belady_held(const struct presort_belady *b)
{
    return b->resident;
}

bool presort_belady_holds(const struct presort_belady *b, gnn_node row)
{
    return gnn_bitset_has(b->resident, row);
}

uint64_t presort_belady_evictions(const struct presort_belady *b)
{
    return b->evictions;
}

/* SPDX-License-Identifier: MIT */
/* The tables of a feature buffer (feature_buffer.h), internal to its two files. feature_tables.c opens, closes and
 * checks them. feature_buffer.c does what mini-batches require.
 *
 * Entries are found by key, slots by number, standby neighbours by links. So every step of a claim is O(1) per node. */
#ifndef GNNDRIVE_FEATURE_TABLES_H
#define GNNDRIVE_FEATURE_TABLES_H

#include "systems/gnndrive/feature_buffer.h"

#include <assert.h>

#define NONE UINT32_MAX

enum { REFS_MAX = (1 << 23) - 1, EXTRACTORS_MAX = 256 };

/*           slot   refs   ready
 * Absent    NONE      0       0
 * Claimed   NONE    > 0       0   A batch will load it and has no slot for it yet.
 * Loading   set     > 0       0
 * Ready     set     any       1   On standby while refs is 0. */
struct entry {
    uint32_t slot;
    uint32_t refs : 23;
    uint32_t owner : 8; /* extractor that loads it; undefined once ready */
    uint32_t ready : 1;
};
_Static_assert(sizeof(struct entry) == 8, "the compact table is 8 bytes per group");
_Static_assert(EXTRACTORS_MAX - 1 <= UINT8_MAX, "entry.owner has 8 bits");

struct link {
    uint32_t prev, next; /* next = NONE: not on standby */
};

/* Waiters on one condition. `asleep` counts those that have checked it since the last broadcast. */
struct wait_point {
    struct gnn_cond *cond;
    uint32_t asleep;
    uint64_t broadcasts;
};

/* A claim's slots and loads, for the report of a deadlock. The claim itself may belong to another process. */
struct share {
    bool live;
    uint32_t slots, loads;
};

/* State of one rank. */
struct rank_state {
    uint64_t next_ticket;
    uint64_t admitted_nodes;
    struct gnndrive_buffer_counts counts;
};

/* The tables, in memory that all ranks share. */
struct tables {
    struct gnn_world *world;
    struct gnndrive_buffer_config config;
    uint32_t ranks;
    uint32_t quota; /* nodes that the admitted batches of one rank may hold */
    uint32_t key_count;
    struct entry *map;    /* (key_count) */
    uint32_t *reverse;    /* (slots) key, NONE = empty */
    struct link *standby; /* (slots + 1); the last is the list's anchor, before the next victim */
    uint32_t standby_count;
    void *table_padding; /* touched memory: what the released code's tables take in addition to these three */

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

/* A rank's handle of the tables. */
struct gnndrive_buffer {
    struct tables *tables;
    uint32_t rank;
    bool owner; /* opened the tables */
};

/* ---- the standby list ---- */

static inline void standby_insert_after(struct tables *t, uint32_t prev, uint32_t slot)
{
    assert(t->standby[slot].next == NONE);
    const uint32_t next = t->standby[prev].next;
    t->standby[slot] = (struct link){.prev = prev, .next = next};
    t->standby[prev].next = slot;
    t->standby[next].prev = slot;
    t->standby_count++;
}

static inline void standby_unlink(struct tables *t, uint32_t slot)
{
    const struct link link = t->standby[slot];
    assert(link.next != NONE);
    t->standby[link.prev].next = link.next;
    t->standby[link.next].prev = link.prev;
    t->standby[slot].next = NONE;
    t->standby_count--;
}

#endif

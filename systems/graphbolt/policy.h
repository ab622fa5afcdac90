/* SPDX-License-Identifier: MIT */
/* One partition of a row cache: which rows are in it, and which row an eviction policy drops next. It moves no rows.
 *
 * Source   dmlc/dgl, graphbolt/src/cache_policy.h and cache_policy.cc; each policy's file names its paper
 * Entries  Entry e describes the row in slot e of the partition. A row is in use from its lookup until `complete`:
 *          it is being read by mini-batches that found it, or being written by the one that missed it.
 * In use   A row in use is never evicted. A row that is being written cannot be read: a lookup misses it, but does
 *          not insert it again. If all rows are in use, a missed row is not inserted.
 * Threads  One thread at a time uses a partition. Partitions share `where`, but no node belongs to two of them. */
#ifndef GRAPHBOLT_POLICY_H
#define GRAPHBOLT_POLICY_H

#include "harness/oocgnn.h"

enum graphbolt_policy_kind { GRAPHBOLT_LRU, GRAPHBOLT_CLOCK, GRAPHBOLT_SIEVE, GRAPHBOLT_S3_FIFO };
_Static_assert(sizeof(enum graphbolt_policy_kind) == sizeof(uint32_t), "GNN_OPT_CHOICE writes 32 bits");
extern const char *const graphbolt_policy_words[]; /* in the order of the enum */

/* The result of a lookup: a slot, and whether the row must be read from the disk. */
#define GRAPHBOLT_MISSED (UINT32_C(1) << 31)
#define GRAPHBOLT_NO_SLOT (GRAPHBOLT_MISSED - 1) /* the row is not in the cache and is not inserted */

#define GRAPHBOLT_NONE UINT32_MAX       /* of lists: no entry */
#define GRAPHBOLT_WAS_CACHED UINT32_MAX /* in `where`: evicted lately, as S3-FIFO's ghost queue remembers */

enum { GRAPHBOLT_READERS_MAX = UINT8_MAX };

struct graphbolt_entry {
    gnn_node node;
    uint32_t newer, older; /* neighbours in its queue */
    uint8_t used;          /* the policy's count or mark of accesses */
    uint8_t readers;       /* mini-batches that found the row and have not completed */
    bool writing;
};

struct graphbolt_queue {
    uint32_t newest, oldest, count;
};

enum { GRAPHBOLT_ONLY = 0, GRAPHBOLT_SMALL = 0, GRAPHBOLT_MAIN = 1, GRAPHBOLT_QUEUES = 2 };

struct graphbolt_part;

/* A policy. Entries are numbers of this partition. */
struct graphbolt_policy {
    const char *name;
    void (*touch)(struct graphbolt_part *part, uint32_t entry); /* a lookup met the entry */
    /* Queues an entry whose node has just been set. was_cached: GRAPHBOLT_WAS_CACHED was noted for the node. */
    void (*insert)(struct graphbolt_part *part, uint32_t entry, bool was_cached);
    /* Takes an entry that is not in use from its queue and returns it. There is one. *remember: its node is to be noted
     * in the ghost queue; false before the call. */
    uint32_t (*evict)(struct graphbolt_part *part, bool *remember);
};
extern const struct graphbolt_policy graphbolt_lru, graphbolt_clock, graphbolt_sieve, graphbolt_s3_fifo;
const struct graphbolt_policy *graphbolt_policy_of(enum graphbolt_policy_kind kind);

struct graphbolt_part {
    const struct graphbolt_policy *policy;
    struct graphbolt_entry *entry; /* (capacity) */
    uint32_t *where;               /* by node: entry + 1, 0 or GRAPHBOLT_WAS_CACHED */
    gnn_node *ghosts;              /* (ghost_capacity) ring of evicted nodes; S3-FIFO only */
    uint32_t ghost_capacity, ghost_first, ghost_count;
    uint32_t capacity, filled; /* entries, and those that have held a row */
    uint32_t busy;             /* entries in use */
    struct graphbolt_queue queue[GRAPHBOLT_QUEUES];
    uint32_t hand;             /* SIEVE: the entry that is examined next; GRAPHBOLT_NONE: the oldest */
    uint64_t steps, evictions; /* entries that evictions examined, and evictions; the owner may clear both */
};

/* Initialises an empty partition. Memory is the caller's; `where` is zero for all nodes of the partition. */
void graphbolt_part_init(struct graphbolt_part *part, enum graphbolt_policy_kind kind, uint32_t capacity,
                         struct graphbolt_entry *entry, uint32_t *where, gnn_node *ghosts);
/* Returns the entries of the ghost queue of a partition; 0 for policies without one. */
uint32_t graphbolt_ghosts(enum graphbolt_policy_kind kind, uint32_t capacity);

/* Looks a node up, and inserts it if it is absent. Returns its entry if its row can be read, else GRAPHBOLT_MISSED with
 * the entry to write the row to, or with GRAPHBOLT_NO_SLOT. A result with an entry must be completed. */
uint32_t graphbolt_part_take(struct graphbolt_part *part, gnn_node node);
/* Ends the use that `taken`, a result of take, began. */
void graphbolt_part_complete(struct graphbolt_part *part, uint32_t taken);

/* ---- for policies ---- */

static inline bool graphbolt_in_use(const struct graphbolt_entry *entry)
{
    return entry->readers > 0 || entry->writing;
}
void graphbolt_push(struct graphbolt_part *part, uint32_t queue, uint32_t entry); /* as the newest */
void graphbolt_unlink(struct graphbolt_part *part, uint32_t queue, uint32_t entry);
void graphbolt_renew(struct graphbolt_part *part, uint32_t queue, uint32_t entry); /* unlink and push */
/* Hooks of policies with one queue: an access sets the mark, and a row is queued as the newest. */
void graphbolt_mark(struct graphbolt_part *part, uint32_t entry);
void graphbolt_queue_only(struct graphbolt_part *part, uint32_t entry, bool was_cached);

#endif

/* SPDX-License-Identifier: MIT */
/* Belady's replacement by window: which rows come in for a window of mini-batches, and into which slots. All next uses
 * within the hyperbatch are known.
 *
 * Rule     Two windows have their rows in memory at a time: one that is trained and one that is loaded. A row that
 *          comes in takes the slot of a row that neither window uses and whose next use is farthest away (Belady, IBM
 *          Systems Journal 5(2), 1966). A row that the hyperbatch does not use again is replaced first. With rows of
 *          unit cost, no other choice of victims costs fewer loads.
 * Carry    Rows stay in memory at the end of a hyperbatch and of an epoch. The next one begins with them.
 * Hazard   A row that comes in for window j was not in memory for j - 1, and window j - 1 does not use its slot's
 *          former row. So window j can be loaded while j - 1 is in use.
 * Time     Linear in the members of the windows.
 * Recall   If a plan is executed again, the rows that were in memory before its first window must come back. On demand,
 *          the first window that uses such a row has it among its loads, with its slot.
 * Memory   presort_belady_bytes(): 2.125 bytes a node, 8 a slot, 2 a member, 4 a window. Recall adds 0.125 bytes a
 *          node. */
#ifndef PRESORT_BELADY_H
#define PRESORT_BELADY_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"

enum { PRESORT_WINDOWS_MAX = 65535 }; /* of a hyperbatch: window numbers have 16 bits, the last value means never */

/* The distinct rows of each window, ascending. Those of window j are rows[end[j - 1] .. end[j]). */
struct presort_lists {
    gnn_node *rows;
    uint32_t *end;
    uint32_t windows;
};

static inline uint32_t presort_begin_of(const uint32_t *end, uint32_t j)
{
    return j == 0 ? 0 : end[j - 1];
}

/* A row that comes in, and its slot. */
struct presort_load {
    gnn_node row;
    uint32_t slot;
};

struct presort_belady_config {
    uint32_t node_count;
    uint32_t slots;       /* two neighbouring windows together never have more rows */
    uint32_t windows_max; /* of a hyperbatch, at most PRESORT_WINDOWS_MAX */
    uint32_t members_max; /* of all its windows */
    bool recalls;         /* presort_belady_recall is called */
};

struct presort_belady; /* one thread at a time */

uint64_t presort_belady_bytes(const struct presort_belady_config *config);
/* Opens with no row in memory. Returns GNN_ENOMEM or GNN_ECAP; the caller must close *out even then. */
GNN_MUST_CHECK enum gnn_status presort_belady_open(struct gnn_world *world, const struct presort_belady_config *config,
                                                   struct presort_belady **out, struct gnn_err *err);
void presort_belady_close(struct presort_belady *b); /* accepts NULL */
void presort_belady_clear(struct presort_belady *b); /* removes all rows from memory */

/* Finds all next uses within the windows of a new hyperbatch. Its lists must not change until its last window is
 * planned. Every window of the last hyperbatch must have been planned. */
void presort_belady_begin(struct presort_belady *b, const struct presort_lists *members);
/* Starts recalling the rows that are in memory now, or ends recalling if recalls is false. */
void presort_belady_recall(struct presort_belady *b, bool recalls);
/* Bit of a load's slot: its row is recalled and is in the slot already. */
#define PRESORT_RECALLED (UINT32_C(1) << 31)
/* Plans window j; windows come in order. Writes its loads to loads (as many as it has members) and returns their
 * number. Recalled rows come first, then the others, ascending. */
uint32_t presort_belady_window(struct presort_belady *b, uint32_t j, struct presort_load *loads);

/* Returns a table of all nodes, which always has the same address. Every entry is UINT16_MAX between the last window of
 * a hyperbatch and the begin of the next one. Until then the caller may use it and must restore these values. */
uint16_t *presort_belady_lend(struct presort_belady *b);
/* Returns the set of nodes that are in memory when the window that was planned last is in use. It always has the same
 * address. */
const uint64_t *presort_belady_held(const struct presort_belady *b);
bool presort_belady_holds(const struct presort_belady *b, gnn_node row); /* for tests */
uint64_t presort_belady_evictions(const struct presort_belady *b);       /* since open */

#endif

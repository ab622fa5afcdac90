/* SPDX-License-Identifier: MIT */
/* Belady's replacement by window: which rows come in for a window of mini-batches, and into which slot, when all of the
 * next uses are known as far as the hyperbatch goes.
 *
 * Rule     Two windows have their rows in memory at a time: the one that is trained from and the one that is loaded. A
 *          row that comes in takes the slot of a row that neither of them uses and whose next use is farthest away
 *          (Belady, IBM Systems Journal 5(2), 1966); one that the hyperbatch does not use again goes first. A row of
 *          unit cost that is thrown out so costs no load more than any other choice would have.
 * Carry    What is in memory stays over the end of a hyperbatch, and of an epoch: the next one begins with it.
 * Hazard   A row that came in for window j has not been in memory for j - 1, and its slot's former row is none of
 *          j - 1: window j can be loaded while j - 1 is in use.
 * Time     linear in the members of the windows
 * Recall   Where a plan is executed again, what was in memory before its first window must come back: on demand the
 *          first window that uses such a row has it among its loads, with the slot that it lies in.
 * Memory   presort_belady_bytes(): 2.125 bytes a node, 8 a slot, 2 a member, 4 a window; where it recalls 0.125 a node
 *          more */
#ifndef PRESORT_BELADY_H
#define PRESORT_BELADY_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"

enum { PRESORT_WINDOWS_MAX = 65535 }; /* of a hyperbatch: their numbers have 16 bits, the last stands for never */

/* The distinct rows of each window, ascending: those of window j are rows[end[j - 1] .. end[j]). */
struct presort_lists {
    gnn_node *rows;
    uint32_t *end;
    uint32_t windows;
};

static inline uint32_t presort_begin_of(const uint32_t *end, uint32_t j)
{
    return j == 0 ? 0 : end[j - 1];
}

/* A row that comes in, and where it goes. */
struct presort_load {
    gnn_node row;
    uint32_t slot;
};

struct presort_belady_config {
    uint32_t node_count;
    uint32_t slots;       /* no two neighbouring windows have more rows together */
    uint32_t windows_max; /* of a hyperbatch, at most PRESORT_WINDOWS_MAX */
    uint32_t members_max; /* of all its windows */
    bool recalls;         /* presort_belady_recall is called */
};

struct presort_belady; /* one thread at a time */

uint64_t presort_belady_bytes(const struct presort_belady_config *config);
/* GNN_ENOMEM, GNN_ECAP. *out is the caller's to close also then. */
GNN_MUST_CHECK enum gnn_status presort_belady_open(struct gnn_world *world, const struct presort_belady_config *config,
                                                   struct presort_belady **out, struct gnn_err *err);
void presort_belady_close(struct presort_belady *b); /* accepts NULL */
void presort_belady_clear(struct presort_belady *b); /* nothing is in memory */

/* Finds all next uses within the windows of a new hyperbatch, which stay as they are until the last of them was
 * asked for. Every window of the one before was. */
void presort_belady_begin(struct presort_belady *b, const struct presort_lists *members);
/* From here on rows that are in memory now are recalled, or, where not recalls, no row is. */
void presort_belady_recall(struct presort_belady *b, bool recalls);
/* Bit of a load's slot: its row is recalled, and lies there already. */
#define PRESORT_RECALLED (UINT32_C(1) << 31)
/* What comes in for window j, ascending, behind what is recalled, into loads (as many as it has members); returns how
 * many. In order of j. */
uint32_t presort_belady_window(struct presort_belady *b, uint32_t j, struct presort_load *loads);

/* A table of all nodes, UINT16_MAX each between the last window of a hyperbatch and the next one's begin: until then it
 * may be used, and is left as it was. It stays where it is. */
uint16_t *presort_belady_lend(struct presort_belady *b);
/* A set of nodes: those that are in memory when the window that was planned last is in use. It stays where it is. */
const uint64_t *presort_belady_held(const struct presort_belady *b);
bool presort_belady_holds(const struct presort_belady *b, gnn_node row); /* for tests */
uint64_t presort_belady_evictions(const struct presort_belady *b);       /* since open */

#endif

/* SPDX-License-Identifier: MIT */
/* Bookkeeping of GNNDrive's feature buffer: which node's row lies in which slot, how many batches still need it, and
 * which slot is reused next. It moves no bytes; extract.c does.
 *
 * Source   GNNDrive (ICPP 2024) section 4.2, "Feature Buffer Management"; Appendix C, Algorithm 1; Figure 6
 * Parts    mapping table (slot, reference count, ready), reverse mapping (slot -> owner), standby list (LRU over the
 *          slots that no batch needs, intrusive links), wait list (rows another batch is loading, kept in the claim)
 * Groups   a slot holds rows_per_slot rows that lie side by side in the file (joint extraction, section 4.4); the table
 *          is kept per group, counts are per node: key = node / rows_per_slot
 * Differs  slots are claimed in two passes, hits first (a batch never evicts its own hits); aliases of rows that are
 *          still loading are resolved at the end (Algorithm 1 reads them at once); an evicted owner loses both slot and
 *          ready bit; a batch that cannot get a slot sleeps with the lock released (the artifact ends the run)
 * Ranks    of data-parallel training on the CPU share one buffer (section 4.4, "CPU-based Training"): tables, standby
 *          list and lock lie in shared memory
 * Lock     the caller's: a call marked "Locked" is made between gnndrive_buffer_lock and gnndrive_buffer_unlock; one
 *          that sleeps releases the lock meanwhile. enum gnndrive_lock_reach says how many calls one locked section
 *          spans. */
#ifndef GNNDRIVE_FEATURE_BUFFER_H
#define GNNDRIVE_FEATURE_BUFFER_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"

struct gnndrive_buffer; /* one rank's handle */

enum { GNNDRIVE_BUFFER_RANKS_MAX = 64 };
#define GNNDRIVE_ANY_TICKET UINT64_MAX

struct gnndrive_buffer_config {
    uint32_t node_count;
    uint32_t slots;         /* S. Deadlock freedom requires S >= Ne (n - 1) + 1 for batches of n groups */
    uint32_t rows_per_slot; /* G >= 1 */
    uint32_t extractors;    /* Ne of each rank, 256 together at most: claims at the same time */
    uint32_t ranks;         /* that share the buffer, each with its own handle; 0 or 1: one */
    bool artifact_tables;   /* hold as much table memory as the released code does */
};

/* One batch's claim on the buffer. The arrays are the caller's, each (node_count); the counts are the buffer's. */
struct gnndrive_claim {
    uint32_t extractor; /* < extractors; one live claim per extractor until publish */
    const gnn_node *nodes;
    uint32_t node_count;
    uint32_t *alias;     /* out, after resolve: row of nodes[i] in the buffer = slot * G + node mod G */
    uint32_t *load_key;  /* out: groups this batch reads, in order of first use */
    uint32_t *load_slot; /* out: their slots, as far as slot_count says */
    uint32_t *wait;      /* scratch: positions in nodes whose row another batch is loading */
    uint32_t *pending;   /* scratch: positions whose alias is not known yet */
    uint32_t load_count, slot_count, wait_count, pending_count;
};

/* Since the last gnndrive_buffer_begin. ready + loads + joint + waited = rows. */
struct gnndrive_buffer_counts {
    uint64_t rows;        /* nodes of all claims */
    uint64_t ready_rows;  /* found loaded */
    uint64_t loads;       /* groups read */
    uint64_t joint_rows;  /* came along with a group this batch reads anyway */
    uint64_t waited_rows; /* on the wait list: another batch was loading them */
    uint64_t evictions;   /* loads that threw out an older owner */
    uint64_t slot_waits;  /* sleeps for a free slot */
    uint64_t row_waits;   /* sleeps for another batch's rows */
};

/* GNN_EUSAGE: slots * rows_per_slot does not fit 32 bits; GNN_ENOMEM, GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status gnndrive_buffer_open(struct gnn_world *world,
                                                    const struct gnndrive_buffer_config *config,
                                                    struct gnndrive_buffer **out, struct gnn_err *err);
void gnndrive_buffer_close(struct gnndrive_buffer *fb); /* accepts NULL */

/* The handle of one rank on a buffer for several, which outlives it. The opener's own handle is rank 0's, too. */
GNN_MUST_CHECK enum gnn_status gnndrive_buffer_join(struct gnndrive_buffer *of, uint32_t rank,
                                                    struct gnndrive_buffer **out, struct gnn_err *err);

/* Returns the bytes of all tables together, for memory plans. */
uint64_t gnndrive_buffer_table_bytes(const struct gnndrive_buffer_config *config);

/* Starts an epoch: counts to zero, not cancelled. The contents stay. Of several ranks one calls, while none uses it. */
void gnndrive_buffer_begin(struct gnndrive_buffer *fb);
/* Wakes all sleepers; they return GNN_ECANCELLED, as does every later call that would sleep. Takes the lock itself. */
void gnndrive_buffer_cancel(struct gnndrive_buffer *fb);

void gnndrive_buffer_lock(struct gnndrive_buffer *fb);
void gnndrive_buffer_unlock(struct gnndrive_buffer *fb);

/* Locked. Sleeps until this batch's nodes fit beside those of the rank's batches admitted and not yet released, into
 * the rank's part of the slots (slots / ranks); with a ticket also until every earlier ticket was admitted. Requires
 * that node_count fits the part.
 *
 * In-order training (tickets): a batch never waits for a slot that a later batch holds. Several ranks: a trainer waits
 * for the other ranks' gradients, so what a rank's queued batches hold is not released until the other ranks have
 * trained; were it all the slots, they never would. */
GNN_MUST_CHECK enum gnn_status gnndrive_buffer_admit(struct gnndrive_buffer *fb, uint64_t ticket, uint32_t node_count);

/* Locked. Pins every row (pass 1) and fills the load, wait and pending lists. Never sleeps. */
void gnndrive_buffer_pin(struct gnndrive_buffer *fb, struct gnndrive_claim *claim);
/* Locked. Takes slots for up to `limit` more loads from the standby list (pass 2), sleeping while it is empty.
 * GNN_EBUG when no batch is left that could release one: the deadlock, with each extractor's share of the slots. */
GNN_MUST_CHECK enum gnn_status gnndrive_buffer_take_slots(struct gnndrive_buffer *fb, struct gnndrive_claim *claim,
                                                          uint32_t limit, struct gnn_err *err);
/* Locked. Marks the rows of loads index[0..count) as arrived and wakes the batches that wait for rows. */
void gnndrive_buffer_ready(struct gnndrive_buffer *fb, const struct gnndrive_claim *claim, const uint32_t *index,
                           uint32_t count);
/* Locked. Sleeps until every row on the wait list is ready. GNN_EBUG as above. */
GNN_MUST_CHECK enum gnn_status gnndrive_buffer_wait_rows(struct gnndrive_buffer *fb, struct gnndrive_claim *claim,
                                                         struct gnn_err *err);
/* Locked. Fills the missing aliases and turns the claim into a batch that only release ends. All its rows are ready. */
void gnndrive_buffer_publish(struct gnndrive_buffer *fb, struct gnndrive_claim *claim);

/* Locked. Unpins a published batch (claim->nodes); slots that no batch needs any more go to the standby list's tail. */
void gnndrive_buffer_release(struct gnndrive_buffer *fb, const gnn_node *nodes, uint32_t node_count);
/* Locked. Unpins a claim that failed between pin and publish; no read may be in flight. Rows that never arrived are
 * forgotten; their waiters sleep until gnndrive_buffer_cancel, which must follow. The watchdog is off until the next
 * gnndrive_buffer_begin, so that the failure is not taken for a deadlock. */
void gnndrive_buffer_abandon(struct gnndrive_buffer *fb, struct gnndrive_claim *claim);

void gnndrive_buffer_counts(struct gnndrive_buffer *fb, struct gnndrive_buffer_counts *out); /* takes the lock */

/* Locked. Checks that map and reverse map are inverse, that a slot is on standby if and only if its owner's count is 0,
 * and the links; with idle = true also that all counts are 0, all slots on standby and no thread asleep. GNN_EBUG names
 * the first breach. Reads every entry: for tests and ends of epochs. */
GNN_MUST_CHECK enum gnn_status gnndrive_buffer_check(const struct gnndrive_buffer *fb, bool idle, struct gnn_err *err);

/* Locked. Copies the standby slots from the next victim on, at most max; returns how many there are. For tests. */
uint32_t gnndrive_buffer_standby(const struct gnndrive_buffer *fb, uint32_t *slots, uint32_t max);
/* Locked. Returns the slot of node or GNN_NODE_NONE; *ready tells whether the row is there. For tests. */
uint32_t gnndrive_buffer_find(const struct gnndrive_buffer *fb, gnn_node node, bool *ready);

#endif

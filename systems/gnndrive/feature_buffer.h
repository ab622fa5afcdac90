/* SPDX-License-Identifier: MIT */
/* Bookkeeping of GNNDrive's feature buffer: which slot has a node's row, how many batches still need it, and which slot
 * is reused next. It moves no bytes; extract.c does.
 *
 * Source   GNNDrive (ICPP 2024) section 4.2, "Feature Buffer Management"; Appendix C, Algorithm 1; Figure 6.
 * Parts    The mapping table has slot, reference count and ready bit. The reverse mapping has the owner of each slot.
 *          The standby list is an LRU list over the slots that no batch needs, with intrusive links. The wait list has
 *          the rows that another batch is loading; the claim keeps it.
 * Groups   A slot holds rows_per_slot rows that are adjacent in the file (joint extraction, section 4.4). The table is
 *          kept per group, counts are per node: key = node / rows_per_slot.
 * Differs  Slots are claimed in two passes, hits first, so a batch never evicts its own hits. Aliases of rows that are
 *          still loading are resolved at the end; Algorithm 1 reads them at once. An evicted owner loses both slot and
 *          ready bit. A batch that cannot get a slot sleeps with the lock released; the artifact ends the run.
 * Ranks    Ranks of data-parallel training on the CPU share one buffer (section 4.4, "CPU-based Training"). Tables,
 *          standby list and lock are in shared memory.
 * Lock     The caller's. A call marked "Locked" is made between gnndrive_buffer_lock and gnndrive_buffer_unlock. A call
 *          that sleeps releases the lock meanwhile. The values of enum gnndrive_lock_reach define how many calls one
 *          locked section spans. */
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
    uint32_t extractors;    /* Ne of each rank, 256 of all ranks at most: concurrent claims */
    uint32_t ranks;         /* that share the buffer, each with a separate handle; 0 or 1: one */
    bool artifact_tables;   /* take as much table memory as the released code */
};

/* One batch's claim on the buffer. The arrays are the caller's, each (node_count); the counts are the buffer's. */
struct gnndrive_claim {
    uint32_t extractor; /* < extractors; one live claim per extractor until publish */
    const gnn_node *nodes;
    uint32_t node_count;
    uint32_t *alias;     /* out, after resolve: row of nodes[i] in the buffer = slot * G + node mod G */
    uint32_t *load_key;  /* out: groups this batch reads, in order of first use */
    uint32_t *load_slot; /* out: their slots; slot_count of them are assigned */
    uint32_t *wait;      /* scratch: positions in nodes whose row another batch is loading */
    uint32_t *pending;   /* scratch: positions whose alias is not resolved yet */
    uint32_t load_count, slot_count, wait_count, pending_count;
};

/* Since the last gnndrive_buffer_begin. ready + loads + joint + waited = rows. */
struct gnndrive_buffer_counts {
    uint64_t rows;        /* nodes of all claims */
    uint64_t ready_rows;  /* found loaded */
    uint64_t loads;       /* groups read */
    uint64_t joint_rows;  /* in a group that this batch reads for another row */
    uint64_t waited_rows; /* on the wait list: another batch was loading them */
    uint64_t evictions;   /* loads that replaced an older owner */
    uint64_t slot_waits;  /* sleeps for a free slot */
    uint64_t row_waits;   /* sleeps for another batch's rows */
};

/* Opens an empty buffer with the handle of rank 0. Returns GNN_EUSAGE if slots * rows_per_slot does not fit 32 bits, or
 * if there are too many extractors or ranks. Returns GNN_ENOMEM or GNN_ECAP if the tables do not fit. The caller must
 * close *out even after an error. */
GNN_MUST_CHECK enum gnn_status gnndrive_buffer_open(struct gnn_world *world,
                                                    const struct gnndrive_buffer_config *config,
                                                    struct gnndrive_buffer **out, struct gnn_err *err);
void gnndrive_buffer_close(struct gnndrive_buffer *fb); /* accepts NULL */

/* Opens the handle of one rank on a buffer for several ranks, which must outlive it. The opener's handle is also rank
 * 0's. Returns GNN_ENOMEM if it does not fit. */
GNN_MUST_CHECK enum gnn_status gnndrive_buffer_join(struct gnndrive_buffer *of, uint32_t rank,
                                                    struct gnndrive_buffer **out, struct gnn_err *err);

/* Returns the bytes of all tables together, for memory plans. */
uint64_t gnndrive_buffer_table_bytes(const struct gnndrive_buffer_config *config);

/* Starts an epoch: sets counts to zero and ends a cancellation. The contents stay. One rank calls it, while no rank
 * uses the buffer. */
void gnndrive_buffer_begin(struct gnndrive_buffer *fb);
/* Wakes all sleepers. They and every later call that would sleep return GNN_ECANCELLED. Takes the lock itself. */
void gnndrive_buffer_cancel(struct gnndrive_buffer *fb);

void gnndrive_buffer_lock(struct gnndrive_buffer *fb);
void gnndrive_buffer_unlock(struct gnndrive_buffer *fb);

/* Locked. Admits a batch into the rank's part of the slots (slots / ranks). Sleeps until its nodes fit in addition to
 * those of the rank's batches that were admitted and not yet released. With a ticket it also sleeps until every earlier
 * ticket was admitted. node_count must fit the part. Returns GNN_ECANCELLED after a cancel.
 *
 * With tickets (in-order training), a batch never waits for a slot that a later batch holds. A trainer waits for the
 * gradients of the other ranks. So the slots of a rank's queued batches are released only when the other ranks have
 * trained. If these were all slots, the other ranks never could. */
GNN_MUST_CHECK enum gnn_status gnndrive_buffer_admit(struct gnndrive_buffer *fb, uint64_t ticket, uint32_t node_count);

/* Locked. Pins every row (pass 1) and fills the load, wait and pending lists. Never sleeps. */
void gnndrive_buffer_pin(struct gnndrive_buffer *fb, struct gnndrive_claim *claim);
/* Locked. Takes slots for up to `limit` more loads from the standby list (pass 2). Sleeps while the list is empty.
 * Returns GNN_EBUG if no batch is left that could release a slot: a deadlock, reported with each extractor's share of
 * the slots. Returns GNN_ECANCELLED after a cancel. */
GNN_MUST_CHECK enum gnn_status gnndrive_buffer_take_slots(struct gnndrive_buffer *fb, struct gnndrive_claim *claim,
                                                          uint32_t limit, struct gnn_err *err);
/* Locked. Marks the rows of loads index[0..count) as arrived and wakes the batches that wait for rows. */
void gnndrive_buffer_ready(struct gnndrive_buffer *fb, const struct gnndrive_claim *claim, const uint32_t *index,
                           uint32_t count);
/* Locked. Sleeps until every row on the wait list is ready. Returns GNN_EBUG or GNN_ECANCELLED as above. */
GNN_MUST_CHECK enum gnn_status gnndrive_buffer_wait_rows(struct gnndrive_buffer *fb, struct gnndrive_claim *claim,
                                                         struct gnn_err *err);
/* Locked. Resolves the missing aliases and turns the claim into a batch that only a release ends. All its rows must be
 * ready. */
void gnndrive_buffer_publish(struct gnndrive_buffer *fb, struct gnndrive_claim *claim);

/* Locked. Unpins a published batch (claim->nodes). Slots that no other batch needs go to the standby list's tail. */
void gnndrive_buffer_release(struct gnndrive_buffer *fb, const gnn_node *nodes, uint32_t node_count);
/* Locked. Unpins a claim that failed between pin and publish; no read may be in flight. Rows that never arrived become
 * absent. Batches that wait for them sleep until gnndrive_buffer_cancel, which must follow. The watchdog is off until
 * the next gnndrive_buffer_begin, so that the failure is not reported as a deadlock. */
void gnndrive_buffer_abandon(struct gnndrive_buffer *fb, struct gnndrive_claim *claim);

void gnndrive_buffer_counts(struct gnndrive_buffer *fb, struct gnndrive_buffer_counts *out); /* takes the lock */

/* Locked. Checks that map and reverse map are inverse, that the links are consistent, and that a slot is on standby if
 * and only if its owner's count is 0. With idle = true all counts must also be 0, all slots on standby and no thread
 * asleep. Returns GNN_EBUG with the first breach. Reads every entry: for tests and ends of epochs. */
GNN_MUST_CHECK enum gnn_status gnndrive_buffer_check(const struct gnndrive_buffer *fb, bool idle, struct gnn_err *err);

/* Locked. Copies the standby slots from the next victim on, at most max. Returns the length of the list. For tests. */
uint32_t gnndrive_buffer_standby(const struct gnndrive_buffer *fb, uint32_t *slots, uint32_t max);
/* Locked. Returns the slot of node, or GNN_NODE_NONE. *ready is whether the row is there. For tests. */
uint32_t gnndrive_buffer_find(const struct gnndrive_buffer *fb, gnn_node node, bool *ready);

#endif

/* The bookkeeping of GNNDrive's feature buffer: which node's row lies in which slot, who still needs it, and
 * which slot is given away next. It moves no bytes; extract.c does.
 *
 * Source   GNNDrive (ICPP 2024) section 4.2, "Feature Buffer Management", Algorithm 1, Figure 6
 * Parts    mapping table (slot, reference count, ready), reverse mapping (slot -> owner), standby list (LRU
 * over the slots nobody needs, intrusive links), wait list (rows another batch is loading, kept in the claim)
 * Groups   a slot holds rows_per_slot rows that lie side by side in the file (joint extraction, section 4.4);
 * the table is kept per group, counts are per node: key = node / rows_per_slot Differs  slots are claimed in
 * two passes, hits first (a batch never evicts its own hits); aliases of rows that are still loading are
 * resolved at the end (Algorithm 1 reads them at once); an evicted owner loses both slot and ready bit; a
 * batch that cannot get a slot sleeps with the lock released (the artifact ends the run)
 *
 * Every call below "locked" is made between feature_buffer_lock and feature_buffer_unlock; those that sleep
 * let the lock go meanwhile. The caller decides how much of an extraction one locked section spans. */
#ifndef GNNDRIVE_FEATURE_BUFFER_H
#define GNNDRIVE_FEATURE_BUFFER_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"

struct feature_buffer;

struct feature_buffer_config {
    uint32_t node_count;
    uint32_t slots;         /* S. No deadlock needs S >= extractors * (n - 1) + 1 for batches of n groups */
    uint32_t rows_per_slot; /* G >= 1 */
    uint32_t extractors;    /* Ne, 1..256: claims at the same time */
    bool artifact_tables;   /* hold as much table memory as the released code does */
};

/* One batch's hold on the buffer. The arrays are the caller's, each (node_count); the rest is the buffer's.
 */
struct feature_claim {
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

/* Since the last feature_buffer_begin. ready + loads + joint + waited = rows. */
struct feature_buffer_counts {
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
GNN_MUST_CHECK enum gnn_status feature_buffer_open(struct gnn_world *world, const struct feature_buffer_config *config,
                                                   struct feature_buffer **out, struct gnn_err *err);
void feature_buffer_close(struct feature_buffer *fb); /* accepts NULL */

/* Bytes of all tables together, for memory plans. */
uint64_t feature_buffer_table_bytes(const struct feature_buffer_config *config);

/* Start of an epoch: counts to zero, not cancelled. The contents stay. */
void feature_buffer_begin(struct feature_buffer *fb);
/* Everybody asleep returns GNN_ECANCELLED, as does every later call that would sleep. Takes the lock itself.
 */
void feature_buffer_cancel(struct feature_buffer *fb);

void feature_buffer_lock(struct feature_buffer *fb);
void feature_buffer_unlock(struct feature_buffer *fb);

/* Locked. In-order training only: sleeps until every earlier ticket was admitted and this batch's nodes fit
 * beside the nodes of the batches admitted and not yet released. Training in ticket order then never waits
 * for a slot that a later batch holds. Needs node_count <= slots. */
GNN_MUST_CHECK enum gnn_status feature_buffer_admit(struct feature_buffer *fb, uint64_t ticket, uint32_t node_count);

/* Locked, never sleeps. Pass 1: pins every row, fills the load, wait and pending lists. */
void feature_buffer_pin(struct feature_buffer *fb, struct feature_claim *claim);
/* Locked. Pass 2: takes slots for up to `limit` more loads from the standby list, sleeping while it is empty.
 * GNN_EBUG when nobody is left who could release one: the deadlock, with each extractor's share of the slots.
 */
GNN_MUST_CHECK enum gnn_status feature_buffer_take_slots(struct feature_buffer *fb, struct feature_claim *claim,
                                                         uint32_t limit, struct gnn_err *err);
/* Locked. The rows of loads index[0..count) have arrived; wakes whoever waits for them. */
void feature_buffer_ready(struct feature_buffer *fb, const struct feature_claim *claim, const uint32_t *index,
                          uint32_t count);
/* Locked. Sleeps until every row on the wait list is ready. GNN_EBUG as above. */
GNN_MUST_CHECK enum gnn_status feature_buffer_wait_rows(struct feature_buffer *fb, struct feature_claim *claim,
                                                        struct gnn_err *err);
/* Locked. All rows are ready: the claim becomes a batch that only release ends. Fills the missing aliases. */
void feature_buffer_publish(struct feature_buffer *fb, struct feature_claim *claim);

/* Locked. Unpins a published batch (claim->nodes); slots nobody needs any more go to the tail of the standby
 * list. */
void feature_buffer_release(struct feature_buffer *fb, const gnn_node *nodes, uint32_t node_count);
/* Locked. Unpins a claim that failed between pin and publish; no read may be in flight. Rows that never
 * arrived are forgotten. Who sleeps for them sleeps until feature_buffer_cancel, which must follow: the
 * watchdog says nothing until the next feature_buffer_begin, so that the failure is not taken for a deadlock.
 */
void feature_buffer_abandon(struct feature_buffer *fb, struct feature_claim *claim);

void feature_buffer_counts(struct feature_buffer *fb, struct feature_buffer_counts *out); /* takes the lock */

/* Locked. Map and reverse map are inverse, a slot is on standby if and only if its owner's count is 0, links
 * are sound; with idle = true also: all counts 0, all slots on standby, nobody sleeps. GNN_EBUG names the
 * first breach. Looks at every node: tests and the ends of epochs. */
GNN_MUST_CHECK enum gnn_status feature_buffer_check(const struct feature_buffer *fb, bool idle, struct gnn_err *err);

/* Locked. Standby slots from the next victim on, at most max; returns how many there are. For tests. */
uint32_t feature_buffer_standby(const struct feature_buffer *fb, uint32_t *slots, uint32_t max);
/* Locked. GNN_NODE_NONE, or the slot of node; *ready tells whether the row is there. For tests. */
uint32_t feature_buffer_find(const struct feature_buffer *fb, gnn_node node, bool *ready);

#endif

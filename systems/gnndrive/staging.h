/* SPDX-License-Identifier: MIT */
/* The staging buffer that several ranks with GPUs share: which part of it holds which group of rows, who may overwrite
 * it, and whose turn it is. It moves no bytes; extract.c does.
 *
 * Source   GNNDrive (ICPP 2024) section 4.3: each subprocess reserves a portion, asks the others for space when its own
 *          is exhausted, and uses data that is present in another's portion
 * Slots    ready (it holds its group, which is published, so that others find it) or not (a read is on its way into
 *          it, or failed), with a count of those who use it. A slot without users is on its portion's list, least
 *          recently used first, and any rank may take it
 * Order    the old group is unpublished before the slot is handed out, so before a read into it is submitted; a slot
 *          is held while it is loaded and while it is copied to a GPU
 * Differs  the released code has no borrowing (an overrun writes into the next rank's portion) and unpublishes after
 *          the read; a group that another rank is loading is read again, not waited for
 * Waiting  nobody waits for a slot while holding one (gnndrive_staging_wait's rule), so whoever holds slots lets them
 *          go: by waiting for its own reads and copies alone
 * Lock     one per portion, taken inside; the table of published groups is read without one and checked under the lock
 *          of the slot's portion */
#ifndef GNNDRIVE_STAGING_H
#define GNNDRIVE_STAGING_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"

struct gnndrive_staging; /* in memory that all ranks share */

enum { GNNDRIVE_STAGING_RANKS_MAX = 64 };
#define GNNDRIVE_STAGING_NONE UINT32_MAX
#define GNNDRIVE_STAGING_SLOTS_MAX INT32_MAX /* so that callers may mark a slot with the highest bit */

struct gnndrive_staging_config {
    uint32_t ranks;
    uint32_t portion;    /* slots of each rank, at least 1 */
    uint32_t keys;       /* groups of rows */
    uint64_t slot_bytes; /* of one slot's rows */
};

/* What became of a rank's requests, since the last gnndrive_staging_begin. */
struct gnndrive_staging_counts {
    uint64_t hits;     /* groups found in a slot, whoever loaded them */
    uint64_t borrowed; /* slots taken from another rank's portion */
    uint64_t waits;    /* sleeps for a slot of the own portion */
};

/* Before the ranks start. GNN_EUSAGE when there are more slots than GNNDRIVE_STAGING_SLOTS_MAX; GNN_ENOMEM, GNN_ECAP;
 * *out is the caller's to close also then. */
GNN_MUST_CHECK enum gnn_status gnndrive_staging_open(struct gnn_world *world,
                                                     const struct gnndrive_staging_config *config,
                                                     struct gnndrive_staging **out, struct gnn_err *err);
void gnndrive_staging_close(struct gnndrive_staging *staging); /* accepts NULL */
/* Of tables and slots, for plans. */
uint64_t gnndrive_staging_bytes(const struct gnndrive_staging_config *config);

/* All slots together, for a rank to register with its GPU. */
void *gnndrive_staging_all(const struct gnndrive_staging *staging, uint64_t *bytes);
/* The slot's memory: slot_bytes, feature memory. */
void *gnndrive_staging_memory(const struct gnndrive_staging *staging, uint32_t slot);

/* One rank, while its extractors rest: its counts to zero, not cancelled. */
void gnndrive_staging_begin(struct gnndrive_staging *staging, uint32_t rank);
/* Wakes the rank's sleepers; they return GNN_ECANCELLED, as does every later wait. */
void gnndrive_staging_cancel(struct gnndrive_staging *staging, uint32_t rank);
void gnndrive_staging_counts(struct gnndrive_staging *staging, uint32_t rank, struct gnndrive_staging_counts *out);

/* Returns a slot that holds key, held for the caller; NONE where none is ready. */
uint32_t gnndrive_staging_find(struct gnndrive_staging *staging, uint32_t rank, uint32_t key);
/* Returns a slot to read key into, held for the caller: of the rank's own portion, else of another's; NONE: all are in
 * use. Nobody finds the slot's old group any more when this returns. */
uint32_t gnndrive_staging_take(struct gnndrive_staging *staging, uint32_t rank, uint32_t key);
/* The read into a taken slot has arrived: others may find it. */
void gnndrive_staging_publish(struct gnndrive_staging *staging, uint32_t slot);
/* Lets a held slot go: its copy has landed, or (not published) its read failed and nothing is on its way any more. */
void gnndrive_staging_release(struct gnndrive_staging *staging, uint32_t slot);
/* Sleeps until a slot of the rank's portion may be free. The caller holds none. GNN_ECANCELLED. */
GNN_MUST_CHECK enum gnn_status gnndrive_staging_wait(struct gnndrive_staging *staging, uint32_t rank,
                                                     struct gnn_err *err);

/* Checks, while no rank uses the buffer, that every slot is on its portion's list, and every published group where the
 * table says. GNN_EBUG names the first breach. For tests and ends of epochs. */
GNN_MUST_CHECK enum gnn_status gnndrive_staging_check(struct gnndrive_staging *staging, struct gnn_err *err);

#endif

/* SPDX-License-Identifier: MIT */
/* The staging buffer that several ranks with GPUs share: which slot holds which group of rows, who may overwrite it,
 * and which slot is used next. It moves no bytes; extract.c does.
 *
 * Source   GNNDrive (ICPP 2024) section 4.3. Each subprocess reserves a portion and requests space from the others when
 *          its own is exhausted. It uses data that is present in another's portion.
 * Slots    A slot that is ready holds its group, which is published, so other ranks find it. One that is not ready has
 *          a read in flight, or its read failed. Each slot has a count of its users. A slot without users is on its
 *          portion's list, least recently used first, and any rank may take it.
 * Order    The old group is unpublished before the slot is handed out, and so before a read into it is submitted. A
 *          slot is held while it is loaded and while it is copied to a GPU.
 * Differs  The released code has no borrowing (an overrun writes into the next rank's portion) and unpublishes after
 *          the read. A group that another rank is loading is read again, not waited for.
 * Waiting  No thread waits for a slot while it holds one (the rule of gnndrive_staging_wait). So a thread that holds
 *          slots releases them after its own reads and copies.
 * Lock     Functions take a lock per portion. The table of published groups is read without a lock. The result is
 *          checked under the lock of the slot's portion. */
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

/* The results of a rank's requests since the last gnndrive_staging_begin. */
struct gnndrive_staging_counts {
    uint64_t hits;     /* groups found in a slot, loaded by any rank */
    uint64_t borrowed; /* slots taken from another rank's portion */
    uint64_t waits;    /* sleeps for a slot of the own portion */
};

/* Opens a buffer before the ranks start. Returns GNN_EUSAGE if there are more slots than GNNDRIVE_STAGING_SLOTS_MAX,
 * GNN_ENOMEM or GNN_ECAP. The caller must close *out even then. */
GNN_MUST_CHECK enum gnn_status gnndrive_staging_open(struct gnn_world *world,
                                                     const struct gnndrive_staging_config *config,
                                                     struct gnndrive_staging **out, struct gnn_err *err);
void gnndrive_staging_close(struct gnndrive_staging *staging); /* accepts NULL */
/* Returns the bytes of tables and slots, for plans. */
uint64_t gnndrive_staging_bytes(const struct gnndrive_staging_config *config);

/* Returns the memory of all slots and its size in bytes, for a rank to register with its GPU. */
void *gnndrive_staging_all(const struct gnndrive_staging *staging, uint64_t *bytes);
/* Returns the slot's memory: slot_bytes, feature memory. */
void *gnndrive_staging_memory(const struct gnndrive_staging *staging, uint32_t slot);

/* Starts an epoch of one rank, whose extractors must be idle: sets its counts to zero and ends a cancellation. */
void gnndrive_staging_begin(struct gnndrive_staging *staging, uint32_t rank);
/* Wakes the rank's sleepers. They and every later wait return GNN_ECANCELLED. */
void gnndrive_staging_cancel(struct gnndrive_staging *staging, uint32_t rank);
void gnndrive_staging_counts(struct gnndrive_staging *staging, uint32_t rank, struct gnndrive_staging_counts *out);

/* Returns a slot that holds key, held for the caller, or GNNDRIVE_STAGING_NONE if none is ready. */
uint32_t gnndrive_staging_find(struct gnndrive_staging *staging, uint32_t rank, uint32_t key);
/* Returns a slot for reading key, held for the caller, or GNNDRIVE_STAGING_NONE if all are in use. It is of the rank's
 * portion or, if that has none, of another rank's. The slot's old group is not found any more. */
uint32_t gnndrive_staging_take(struct gnndrive_staging *staging, uint32_t rank, uint32_t key);
/* Publishes a taken slot whose read has arrived, so that other ranks find it. */
void gnndrive_staging_publish(struct gnndrive_staging *staging, uint32_t slot);
/* Releases a held slot. Its copy must be complete, or its read must have failed (not published) with nothing in
 * flight. */
void gnndrive_staging_release(struct gnndrive_staging *staging, uint32_t slot);
/* Sleeps until a slot of the rank's portion may be free. The caller must not hold any slot. Returns GNN_ECANCELLED
 * after a cancel. */
GNN_MUST_CHECK enum gnn_status gnndrive_staging_wait(struct gnndrive_staging *staging, uint32_t rank,
                                                     struct gnn_err *err);

/* Checks that every slot is on its portion's list, and that every published group is in the slot that the table names.
 * No rank may use the buffer. Returns GNN_EBUG with the first breach. For tests and ends of epochs. */
GNN_MUST_CHECK enum gnn_status gnndrive_staging_check(struct gnndrive_staging *staging, struct gnn_err *err);

#endif

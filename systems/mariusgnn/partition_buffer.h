/* SPDX-License-Identifier: MIT */
/* The partition buffer: c slots of memory, each with one partition's rows of one to three arrays. The arrays are node
 * vectors and, if vectors are learned, their optimizer's state. MariusGNN (EuroSys 2023), section 3; Marius (OSDI
 * 2021). There are two ways to move partitions between slots and disk.
 *
 * At once  Function exchange writes what leaves if it is dirty, and reads what enters.
 * Ahead    Function look_ahead reads what will enter into a separate block while the slots are in use. Function turn
 *          copies leaving slots into another block, and the first block into the slots. Function write_back writes the
 *          other block.
 *
 * A partition is one contiguous piece of an array's file. It is read in pieces, many in flight.
 *
 * Threads  One thread fills, exchanges, turns and syncs; no other thread may use the slots that change. Functions
 *          look_ahead and write_back may run on a thread each, at the same time as each other and as users of the
 *          slots. A partition that is being written is read after the write (GNN_WAIT_RESOURCE).
 * Memory   c slots of each array; 2 g more with prefetch. */
#ifndef MARIUSGNN_PARTITION_BUFFER_H
#define MARIUSGNN_PARTITION_BUFFER_H

#include "harness/world/world.h"

enum { MARIUS_ARRAYS_MAX = 3 };

/* Two places in the file for every partition, so that the content at the beginning of an epoch outlives the epoch.
 * Place k of partition i is at (k p + i) * slot_bytes. `now` gives the place that is read. When the owner sets `kept`
 * to `now`, the next write of a partition goes to its other place. */
struct marius_places {
    uint32_t partitions;       /* p */
    unsigned char *now;        /* (p) 0 or 1 */
    const unsigned char *kept; /* (p) the places that must not be overwritten */
};

/* An array. Partition i is at i * slot_bytes of its file, or in one of its places. */
struct marius_array {
    const char *name;                   /* of the memory: a string literal */
    struct gnn_file *file;              /* readable; writable, too, if slots are made dirty */
    uint64_t slot_bytes;                /* a multiple of 4096 */
    const struct marius_places *places; /* NULL: each partition has one place */
    unsigned mem_flags;
};
/* Returns the offset in bytes of the place from which the partition is read now. */
uint64_t marius_array_offset_bytes(const struct marius_array *array, uint32_t partition);

struct marius_buffer_config {
    enum gnn_ring_engine engine;
    uint32_t depth;        /* reads in flight */
    uint32_t slots, group; /* c; partitions that change at a time (g) */
    bool prefetch;
    bool always_write; /* partitions that leave are written even if they are clean (released code) */
    uint32_t array_count;
    struct marius_array arrays[MARIUS_ARRAYS_MAX];
};

struct marius_partition_buffer;

/* Opens a buffer with empty slots. Returns errors of the allocator and the rings; the caller must close *out even
 * then. */
GNN_MUST_CHECK enum gnn_status marius_buffer_open(struct gnn_world *world, const struct marius_buffer_config *config,
                                                  struct marius_partition_buffer **out, struct gnn_err *err);
void marius_buffer_close(struct marius_partition_buffer *buffer); /* accepts NULL; dirty slots are lost */
uint64_t marius_buffer_bytes(const struct marius_buffer_config *config);
/* Returns the bytes of the slots, without the blocks for prefetching. */
uint64_t marius_buffer_slots_bytes(const struct marius_partition_buffer *buffer);

/* Returns the rows of a slot. */
void *marius_buffer_slot(const struct marius_partition_buffer *buffer, uint32_t array, uint32_t slot);
/* Returns the partition in a slot, or MARIUS_NONE if it is empty. */
uint32_t marius_buffer_partition(const struct marius_partition_buffer *buffer, uint32_t slot);
/* Marks the slot's rows as changed, so they are written when the partition leaves. */
void marius_buffer_touch(struct marius_partition_buffer *buffer, uint32_t array, uint32_t slot);

/* Reads partitions (c, MARIUS_NONE: empty) into the slots, after writing dirty ones. With keep, a slot that already
 * holds its partition is not read again. Returns errors of the file; then all slots are empty. */
GNN_MUST_CHECK enum gnn_status marius_buffer_fill(struct marius_partition_buffer *buffer, const uint32_t *partitions,
                                                  bool keep, struct gnn_err *err);
/* Replaces the partitions in slots first .. first + count - 1 by entering (count <= g; MARIUS_NONE empties the slot).
 * Returns errors of the file; then all slots are empty. */
GNN_MUST_CHECK enum gnn_status marius_buffer_exchange(struct marius_partition_buffer *buffer, uint32_t first,
                                                      const uint32_t *entering, uint32_t count, struct gnn_err *err);

/* ---- prefetching ---- */

/* Reads entering (count <= g) into the block of partitions that will enter. Returns errors of the file, or
 * GNN_ECANCELLED after marius_buffer_cancel. */
GNN_MUST_CHECK enum gnn_status marius_buffer_look_ahead(struct marius_partition_buffer *buffer,
                                                        const uint32_t *entering, uint32_t count, struct gnn_err *err);
/* Moves the partitions that were looked ahead for into slots first .. first + count - 1. The last write_back must be
 * complete. */
void marius_buffer_turn(struct marius_partition_buffer *buffer, uint32_t first, uint32_t count);
/* Writes the partitions that the last turn moved to the other block, if they must be written. */
GNN_MUST_CHECK enum gnn_status marius_buffer_write_back(struct marius_partition_buffer *buffer, struct gnn_err *err);
/* Makes look_ahead return GNN_ECANCELLED until the next fill, for a pipeline that stops. target is the buffer. */
void marius_buffer_cancel(void *target);

/* Writes every dirty slot and syncs the files that were written, so that what was learned survives the process. */
GNN_MUST_CHECK enum gnn_status marius_buffer_sync(struct marius_partition_buffer *buffer, struct gnn_err *err);

struct marius_buffer_counters {
    uint64_t read_partitions, read_bytes, reads; /* bytes and reads of all arrays; partitions of the first */
    uint64_t written_partitions, written_bytes;
    uint64_t left_partitions; /* replaced by others */
};
/* Returns the counts since the last call. */
void marius_buffer_take_counters(struct marius_partition_buffer *buffer, struct marius_buffer_counters *out);

#endif

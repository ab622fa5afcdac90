/* SPDX-License-Identifier: MIT */
/* The partition buffer: c slots of memory, each holding one partition's rows of one to three arrays (node vectors; for
 * vectors that are learned also their optimizer's state), and what moves partitions between slots and disk (MariusGNN,
 * EuroSys 2023, section 3; Marius, OSDI 2021).
 *
 *   at once       exchange: what leaves is written if it is dirty, what enters is read
 *   prefetching   look_ahead reads what will enter into a block of its own, while the slots are in use; turn copies
 *                 leaving slots into another block and the first block into the slots; write_back writes the other
 *
 * A partition is one contiguous piece of an array's file, read by pieces with many in flight.
 *
 * Threads  one thread fills, exchanges, turns and syncs, while nobody uses the slots that change. look_ahead and
 *          write_back may run on a thread each, beside each other and beside users of the slots; a partition that is
 *          still being written is read after it was (GNN_WAIT_RESOURCE).
 * Memory   c slots of each array, and with prefetch twice g more */
#ifndef MARIUSGNN_PARTITION_BUFFER_H
#define MARIUSGNN_PARTITION_BUFFER_H

#include "harness/world/world.h"

enum { MARIUS_ARRAYS_MAX = 3 };

/* Two places in the file for every partition, so that what was there when an epoch began outlives the epoch: place k of
 * partition i is at (k p + i) * slot_bytes. A partition is read where `now` says; the first time it is written after
 * the owner made `kept` what `now` is, it goes to its other place. */
struct marius_places {
    uint32_t partitions;       /* p */
    unsigned char *now;        /* (p) 0 or 1 */
    const unsigned char *kept; /* (p) of the state of the file that must stay as it is */
};

/* Partition i lies at i * slot_bytes of its file, or in one of its places. */
struct marius_array {
    const char *name;                   /* of the memory: a string literal */
    struct gnn_file *file;              /* readable, and writable where slots are made dirty */
    uint64_t slot_bytes;                /* a multiple of 4096 */
    const struct marius_places *places; /* NULL: each partition has one */
    unsigned mem_flags;
};
/* Where the partition lies that is read now. */
uint64_t marius_array_offset_bytes(const struct marius_array *array, uint32_t partition);

struct marius_buffer_config {
    enum gnn_ring_engine engine;
    uint32_t depth;        /* reads in flight */
    uint32_t slots, group; /* c; partitions that change at a time (g) */
    bool prefetch;
    bool always_write; /* what leaves is written, dirty or not (released code) */
    uint32_t array_count;
    struct marius_array arrays[MARIUS_ARRAYS_MAX];
};

struct marius_partition_buffer;

/* Errors of the allocator and the rings. *out is the caller's to close also on an error. */
GNN_MUST_CHECK enum gnn_status marius_buffer_open(struct gnn_world *world, const struct marius_buffer_config *config,
                                                  struct marius_partition_buffer **out, struct gnn_err *err);
void marius_buffer_close(struct marius_partition_buffer *buffer); /* accepts NULL; dirty slots are lost */
uint64_t marius_buffer_bytes(const struct marius_buffer_config *config);

/* A slot's rows. */
void *marius_buffer_slot(const struct marius_partition_buffer *buffer, uint32_t array, uint32_t slot);
/* The partition in it; MARIUS_NONE. */
uint32_t marius_buffer_partition(const struct marius_partition_buffer *buffer, uint32_t slot);
/* The slot's rows have changed: they are written when the partition leaves. */
void marius_buffer_touch(struct marius_partition_buffer *buffer, uint32_t array, uint32_t slot);

/* Makes partitions (c, MARIUS_NONE: empty) the contents of the slots; dirty ones are written first. keep: a slot that
 * holds its partition already is not read again. Errors: those of the file; after one, slots hold nothing. */
GNN_MUST_CHECK enum gnn_status marius_buffer_fill(struct marius_partition_buffer *buffer, const uint32_t *partitions,
                                                  bool keep, struct gnn_err *err);
/* Puts entering (count <= g; MARIUS_NONE: the slot is emptied) into the slots first .. first + count - 1. */
GNN_MUST_CHECK enum gnn_status marius_buffer_exchange(struct marius_partition_buffer *buffer, uint32_t first,
                                                      const uint32_t *entering, uint32_t count, struct gnn_err *err);

/* ---- prefetching ---- */

/* Reads entering (count <= g) into the block. GNN_ECANCELLED after marius_buffer_cancel. */
GNN_MUST_CHECK enum gnn_status marius_buffer_look_ahead(struct marius_partition_buffer *buffer,
                                                        const uint32_t *entering, uint32_t count, struct gnn_err *err);
/* What was looked ahead for takes the slots first .. first + count - 1; nothing is being written back any more. */
void marius_buffer_turn(struct marius_partition_buffer *buffer, uint32_t first, uint32_t count);
/* Writes what the last turn left in the other block, if it has to be written. */
GNN_MUST_CHECK enum gnn_status marius_buffer_write_back(struct marius_partition_buffer *buffer, struct gnn_err *err);
/* Wakes look_ahead for good; target: the buffer. For a pipeline that stops. Until the next fill. */
void marius_buffer_cancel(void *target);

/* Writes every dirty slot and syncs the files that were written: what was learned survives the process. */
GNN_MUST_CHECK enum gnn_status marius_buffer_sync(struct marius_partition_buffer *buffer, struct gnn_err *err);

struct marius_buffer_counters {
    uint64_t read_partitions, read_bytes, reads; /* of all arrays; partitions: of the first */
    uint64_t written_partitions, written_bytes;
    uint64_t left_partitions; /* that were replaced */
};
/* Since the last call. */
void marius_buffer_take_counters(struct marius_partition_buffer *buffer, struct marius_buffer_counters *out);

#endif

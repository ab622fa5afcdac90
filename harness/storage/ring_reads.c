/* SPDX-License-Identifier: MIT */
#include "harness/storage/ring_reads.h"

#include "harness/storage/exact.h"
#include "harness/storage/read_times.h"
#include "harness/storage/repeat.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const uint64_t full_ring_pause_ns = UINT64_C(5000); /* the kernel's polling thread fetches meanwhile */

/* ---- open, close ---- */

uint64_t gnn_ring_reads_bytes(uint32_t depth, uint32_t batch_max)
{
    return depth * (uint64_t)(sizeof(struct gnn_ring_slot) + sizeof(uint32_t)) +
           batch_max * (uint64_t)sizeof(struct gnn_completion);
}

static void free_all_slots(struct gnn_ring_reads *reads)
{
    const uint32_t depth = reads->config.ring.depth;
    for (uint32_t i = 0; i < depth; i++)
        reads->free_slots[i] = depth - 1 - i;
    reads->free_count = depth;
}

static enum gnn_status open_all(struct gnn_ring_reads *reads, struct gnn_err *err)
{
    const uint32_t depth = reads->config.ring.depth;
    GNN_NEW(reads->slots, depth, err, "slots of %" PRIu32 " reads in flight", depth);
    GNN_NEW(reads->free_slots, depth, err, "slots of %" PRIu32 " reads in flight", depth);
    GNN_NEW(reads->completions, reads->config.batch_max, err, "completions of %" PRIu32 " reads",
            reads->config.batch_max);
    free_all_slots(reads);
    GNN_TRY(gnn_read_times_join(reads->world, &reads->tally, err));
    if (reads->tally != NULL)
        GNN_NEW(reads->handed_ns, depth, err, "times of %" PRIu32 " reads in flight", depth);
    return gnn_ring_open(reads->world, &reads->config.ring, &reads->ring, err);
}

enum gnn_status gnn_ring_reads_open(struct gnn_world *world, const struct gnn_ring_reads_config *config,
                                    struct gnn_ring_reads *out, struct gnn_err *err)
{
    assert(config->batch_max > 0);
    assert(config->batch_max <= config->ring.depth);
    assert((config->entry_name == NULL) == (config->entry_bytes == 0));
    *out = (struct gnn_ring_reads){.world = world, .config = *config};
    const enum gnn_status status = open_all(out, err);
    out->config.ring.register_files = NULL; /* the caller's array need not outlive this call */
    if (status != GNN_OK)
        gnn_ring_reads_close(out);
    return status;
}

void gnn_ring_reads_close(struct gnn_ring_reads *reads)
{
    if (reads->ring != NULL)
        gnn_ring_close(reads->world, reads->ring);
    gnn_read_times_leave(reads->tally);
    free(reads->handed_ns);
    free(reads->completions);
    free(reads->free_slots);
    free(reads->slots);
    *reads = (struct gnn_ring_reads){.ring = NULL};
}

/* ---- submission ---- */

/* Notes what the ring took of a batch; pauses where it had no room for a moment. */
static enum gnn_status note_taken(struct gnn_ring_reads *reads, enum gnn_status status, uint32_t accepted)
{
    reads->in_ring += accepted;
    assert(reads->in_ring <= reads->config.ring.depth);
    GNN_TRY(status);
    if (accepted == 0)
        gnn_sleep_until(reads->world, gnn_now_ns(reads->world) + full_ring_pause_ns, GNN_WAIT_IO);
    reads->counters.in_flight_peak = gnn_max_u64(reads->counters.in_flight_peak, reads->in_ring);
    return GNN_OK;
}

/* Hands batch[0 .. count), whose tags are slots, to the ring. */
static enum gnn_status hand_over(struct gnn_ring_reads *reads, const struct gnn_read *batch, uint32_t count,
                                 struct gnn_err *err)
{
    for (uint32_t done = 0, accepted = 0; done < count; done += accepted) {
        accepted = 0;
        const enum gnn_status status =
            gnn_ring_submit(reads->world, reads->ring, batch + done, count - done, &accepted, err);
        GNN_TRY(note_taken(reads, status, accepted));
    }
    return GNN_OK;
}

static enum gnn_status hand_over_writes(struct gnn_ring_reads *reads, const struct gnn_write *batch, uint32_t count,
                                        struct gnn_err *err)
{
    for (uint32_t done = 0, accepted = 0; done < count; done += accepted) {
        accepted = 0;
        const enum gnn_status status =
            gnn_ring_submit_writes(reads->world, reads->ring, batch + done, count - done, &accepted, err);
        GNN_TRY(note_taken(reads, status, accepted));
    }
    return GNN_OK;
}

enum gnn_status gnn_ring_reads_submit(struct gnn_ring_reads *reads, struct gnn_read *wanted, uint32_t count,
                                      struct gnn_err *err)
{
    assert(count > 0);
    assert(count <= reads->free_count);
    const uint64_t now_ns = reads->tally != NULL ? gnn_observed_ns(reads->world) : 0;
    for (uint32_t i = 0; i < count; i++) {
        assert(wanted[i].need_bytes > 0);
        assert(wanted[i].need_bytes <= wanted[i].len_bytes);
        const uint32_t index = gnn_ring_reads_next_slot(reads, i);
        reads->slots[index] = (struct gnn_ring_slot){.read = wanted[i]};
        if (reads->tally != NULL) {
            reads->handed_ns[index] = now_ns;
            gnn_read_tally_add(reads->tally, wanted[i].len_bytes);
        }
        wanted[i].tag = index;
        reads->counters.requested_bytes += wanted[i].len_bytes;
    }
    reads->free_count -= count; /* after an error the drain frees them all */
    reads->counters.requested_ios += count;
    return hand_over(reads, wanted, count, err);
}

/* Most batches have one file: asking for its kind costs a system call. */
static void tally_writes(struct gnn_ring_reads *reads, const struct gnn_write *wanted, uint32_t count)
{
    struct gnn_file_info info = {.direct = false};
    for (uint32_t i = 0; i < count && reads->tally != NULL; i++) {
        if (i == 0 || wanted[i].file != wanted[i - 1].file)
            gnn_file_info(reads->world, wanted[i].file, &info);
        gnn_read_tally_add_write(reads->tally, wanted[i].len_bytes, !info.direct);
    }
}

enum gnn_status gnn_ring_reads_submit_writes(struct gnn_ring_reads *reads, struct gnn_write *wanted, uint32_t count,
                                             struct gnn_err *err)
{
    assert(count > 0);
    assert(count <= reads->free_count);
    tally_writes(reads, wanted, count);
    for (uint32_t i = 0; i < count; i++) {
        assert(wanted[i].len_bytes > 0);
        const uint32_t index = gnn_ring_reads_next_slot(reads, i);
        const struct gnn_read kept = {.file = wanted[i].file,
                                      .offset_bytes = wanted[i].offset_bytes,
                                      .dst = (void *)wanted[i].src,
                                      .len_bytes = wanted[i].len_bytes,
                                      .need_bytes = wanted[i].len_bytes,
                                      .tag = wanted[i].tag};
        reads->slots[index] = (struct gnn_ring_slot){.read = kept, .write = true};
        wanted[i].tag = index;
        reads->counters.write_bytes += wanted[i].len_bytes;
    }
    reads->free_count -= count; /* after an error the drain frees them all */
    reads->counters.write_ios += count;
    return hand_over_writes(reads, wanted, count, err);
}

/* ---- completion ---- */

/* Reports a read or write with its file, position and `why`. */
static enum gnn_status slot_failed(const struct gnn_ring_reads *reads, const struct gnn_ring_slot *slot,
                                   enum gnn_status status, const char *why, struct gnn_err *err)
{
    const struct gnn_read *const read = &slot->read;
    char entry[64] = "";
    if (reads->config.entry_name != NULL)
        (void)snprintf(entry, sizeof entry, " (%s %" PRIu64 ")", reads->config.entry_name,
                       read->offset_bytes / reads->config.entry_bytes);
    return gnn_fail(err, status, "%s: %s of %" PRIu32 " bytes at offset %" PRIu64 "%s: %s",
                    gnn_file_path(reads->world, read->file), slot->write ? "write" : "read", read->len_bytes,
                    read->offset_bytes, entry, why);
}

/* Reports a write by its errno. The kernel says EINVAL where direct I/O is off its alignment. */
static enum gnn_status write_failed(const struct gnn_ring_reads *reads, const struct gnn_ring_slot *slot, int error,
                                    struct gnn_err *err)
{
    const struct gnn_read *const write = &slot->read;
    struct gnn_file_info info;
    char why[96];
    if (error == ENOSPC || error == EDQUOT) {
        (void)snprintf(why, sizeof why, "%s; free some space or choose another directory", strerror(error));
        return slot_failed(reads, slot, GNN_ENOSPC, why, err);
    }
    gnn_file_info(reads->world, write->file, &info);
    if (error == EINVAL &&
        (write->offset_bytes % info.offset_align_bytes != 0 || write->len_bytes % info.offset_align_bytes != 0 ||
         (uintptr_t)write->dst % info.mem_align_bytes != 0)) {
        (void)snprintf(why, sizeof why, "direct I/O needs multiples of %" PRIu32, gnn_file_align(&info));
        return slot_failed(reads, slot, GNN_EUSAGE, why, err);
    }
    return slot_failed(reads, slot, GNN_EIO, gnn_io_reason(error), err);
}

/* Decides about a read or write of which fewer bytes were moved than must be: fails, or moves it on to what is missing.
 * Its repeat starts on an alignment unit, so bytes beyond the last whole one are moved again. */
static enum gnn_status resume_short(struct gnn_ring_reads *reads, struct gnn_ring_slot *slot, uint32_t arrived_bytes,
                                    struct gnn_err *err)
{
    struct gnn_read *const read = &slot->read;
    assert(arrived_bytes < read->need_bytes);
    if (reads->config.short_reads == GNN_SHORT_FAILS)
        return slot_failed(reads, slot, GNN_ESHORT,
                           slot->write ? "fewer bytes were written than were handed over"
                                       : "fewer bytes came than were asked for",
                           err);
    if (arrived_bytes == 0 && !slot->write)
        return slot_failed(reads, slot, GNN_ESHORT, "the file ends before it did when it was opened", err);
    struct gnn_file_info info;
    gnn_file_info(reads->world, read->file, &info);
    const uint32_t kept =
        (uint32_t)gnn_round_down(arrived_bytes, gnn_max_u32(info.offset_align_bytes, info.mem_align_bytes));
    read->offset_bytes += kept;
    read->dst = (unsigned char *)read->dst + kept;
    read->len_bytes -= kept;
    read->need_bytes -= kept;
    assert(read->need_bytes > 0);
    return gnn_may_repeat(reads->world, &slot->repeats, kept > 0)
               ? GNN_OK
               : slot_failed(reads, slot, GNN_EIO, "it stays short", err);
}

/* Compares one result with what was asked. *complete = false: it goes to the ring again. */
static enum gnn_status judge(struct gnn_ring_reads *reads, struct gnn_ring_slot *slot, int32_t result, bool *complete,
                             struct gnn_err *err)
{
    *complete = result >= 0 && (uint32_t)result >= slot->read.need_bytes;
    if (*complete) {
        assert((uint32_t)result <= slot->read.len_bytes);
        return GNN_OK;
    }
    if (result >= 0)
        return resume_short(reads, slot, (uint32_t)result, err);
    const bool transient = result == -EAGAIN || result == -EINTR;
    if (transient && gnn_may_repeat(reads->world, &slot->repeats, false))
        return GNN_OK;
    return slot->write ? write_failed(reads, slot, -result, err)
                       : slot_failed(reads, slot, GNN_EIO, gnn_io_reason(-result), err);
}

static enum gnn_status repeat(struct gnn_ring_reads *reads, uint32_t index, struct gnn_err *err)
{
    struct gnn_read again = reads->slots[index].read;
    again.tag = index;
    reads->counters.repeated_ios++;
    if (!reads->slots[index].write)
        return hand_over(reads, &again, 1, err);
    const struct gnn_write write = {.file = again.file,
                                    .offset_bytes = again.offset_bytes,
                                    .src = again.dst,
                                    .len_bytes = again.len_bytes,
                                    .tag = index};
    return hand_over_writes(reads, &write, 1, err);
}

/* Takes what succeeded or failed for good. */
static void release(struct gnn_ring_reads *reads, uint32_t index, uint64_t now_ns)
{
    reads->free_slots[reads->free_count++] = index;
    reads->counters.completed++;
    if (reads->tally != NULL && !reads->slots[index].write)
        gnn_histogram_add(&reads->tally->times, now_ns - reads->handed_ns[index]);
}

/* Judges the first `count` completions; after a failure the rest too, so that every slot is accounted for. */
static enum gnn_status settle(struct gnn_ring_reads *reads, uint32_t count, uint64_t *tags, uint32_t *got,
                              struct gnn_err *err)
{
    enum gnn_status first = GNN_OK;
    const uint64_t now_ns = reads->tally != NULL && count > 0 ? gnn_observed_ns(reads->world) : 0;
    for (uint32_t i = 0; i < count; i++) {
        assert(reads->completions[i].tag < reads->config.ring.depth);
        const uint32_t index = (uint32_t)reads->completions[i].tag;
        struct gnn_ring_slot *const slot = &reads->slots[index];
        bool complete;
        enum gnn_status status = judge(reads, slot, reads->completions[i].result, &complete, err);
        if (status == GNN_OK && !complete) {
            status = repeat(reads, index, err);
        } else {
            release(reads, index, now_ns);
        }
        if (complete)
            tags[(*got)++] = slot->read.tag;
        if (first == GNN_OK)
            first = status;
    }
    return first;
}

enum gnn_status gnn_ring_reads_wait(struct gnn_ring_reads *reads, uint32_t min, uint32_t max, uint64_t *tags,
                                    uint32_t *got, struct gnn_err *err)
{
    assert(min <= max);
    assert(min <= gnn_ring_reads_in_flight(reads));
    *got = 0;
    do {
        const uint32_t room = gnn_min_u32(max - *got, reads->config.batch_max);
        const uint32_t wanted = gnn_min_u32(min > *got ? min - *got : 0, room);
        uint32_t arrived = 0;
        GNN_TRY(gnn_ring_wait(reads->world, reads->ring, wanted, room, reads->completions, &arrived, err));
        assert(arrived <= room);
        assert(arrived <= reads->in_ring);
        reads->in_ring -= arrived;
        GNN_TRY(settle(reads, arrived, tags, got, err));
    } while (*got < min);
    return GNN_OK;
}

void gnn_ring_reads_drain(struct gnn_ring_reads *reads)
{
    while (reads->in_ring > 0) {
        uint32_t arrived = 0;
        if (gnn_ring_wait(reads->world, reads->ring, 1, reads->config.batch_max, reads->completions, &arrived, NULL) !=
            GNN_OK)
            return; /* a ring that cannot be waited on: closing it is all that is left */
        assert(arrived <= reads->in_ring);
        reads->in_ring -= arrived;
    }
    free_all_slots(reads);
}

/* SPDX-License-Identifier: MIT */
#include "harness/storage/exact.h"

#include "harness/storage/read_times.h"
#include "harness/storage/repeat.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* As the block layer maps a device's status (Linux, block/blk-core.c, blk_errors). */
const char *gnn_io_reason(int error)
{
    switch (error) {
    case ENODATA:
        return "the device cannot read it (medium error)";
    case EREMOTEIO:
        return "the device failed (target error)";
    case EILSEQ:
        return "the device found its own check wrong (protection error)";
    case EOPNOTSUPP:
        return "not supported here; completions are polled on devices with polled queues only (nvme.poll_queues of the "
               "kernel)";
    default:
        return strerror(error);
    }
}

/* A range of a file on its way to or from memory. */
struct transfer {
    struct gnn_world *world;
    struct gnn_file *file;
    const char *verb; /* "read" or "write", for messages */
    uint64_t offset_bytes, len_bytes;
    uint64_t done_bytes; /* whole alignment units */
    uint64_t step_bytes; /* alignment unit of the file */
    uint32_t repeats;    /* since bytes last moved */
    bool buffered;       /* through the page cache */
};

/* GNN_EUSAGE when the range or the memory does not fit the file's direct I/O alignment. */
static enum gnn_status begin_transfer(struct transfer *t, const void *memory, struct gnn_err *err)
{
    struct gnn_file_info info;
    gnn_file_info(t->world, t->file, &info);
    t->step_bytes = gnn_max_u32(info.offset_align_bytes, info.mem_align_bytes);
    t->buffered = !info.direct;
    assert(t->step_bytes > 0);
    if (t->offset_bytes % info.offset_align_bytes == 0 && t->len_bytes % info.offset_align_bytes == 0 &&
        (uintptr_t)memory % info.mem_align_bytes == 0)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE,
                    "%s: %" PRIu64 " bytes at offset %" PRIu64 ": direct I/O needs multiples of %" PRIu64,
                    gnn_file_path(t->world, t->file), t->len_bytes, t->offset_bytes, t->step_bytes);
}

/* Takes the result of one call, bytes or a negated errno, that did not finish the transfer. GNN_EIO when it may not go
 * on: an error of its own, or too many repeats without progress. */
static enum gnn_status advance(struct transfer *t, int64_t moved, struct gnn_err *err)
{
    const uint64_t progress = moved > 0 ? gnn_round_down((uint64_t)moved, t->step_bytes) : 0;
    assert(progress <= t->len_bytes - t->done_bytes);
    const bool transient = moved >= 0 || moved == -EINTR || moved == -EAGAIN;
    if (!transient || !gnn_may_repeat(t->world, &t->repeats, progress > 0))
        return gnn_fail(err, GNN_EIO, "%s: %s of %" PRIu64 " bytes at offset %" PRIu64 ": %s",
                        gnn_file_path(t->world, t->file), t->verb, t->len_bytes - t->done_bytes,
                        t->offset_bytes + t->done_bytes, moved < 0 ? gnn_io_reason((int)-moved) : "it stays short");
    t->done_bytes += progress;
    return GNN_OK;
}

/* GNN_ESHORT when the file ends at `end_bytes` or before, inside the transfer. */
static enum gnn_status check_end(const struct transfer *t, uint64_t end_bytes, struct gnn_err *err)
{
    struct gnn_file_info info;
    gnn_file_info(t->world, t->file, &info);
    if (end_bytes < info.size_bytes)
        return GNN_OK;
    return gnn_fail(err, GNN_ESHORT, "%s: ends at %" PRIu64 " bytes, %" PRIu64 " were asked for at offset %" PRIu64,
                    gnn_file_path(t->world, t->file), info.size_bytes, t->len_bytes, t->offset_bytes);
}

enum gnn_status gnn_read_all(struct gnn_world *world, struct gnn_file *file, uint64_t offset_bytes, void *dst,
                             uint64_t len_bytes, struct gnn_err *err)
{
    return gnn_read_window(world, file, offset_bytes, dst, len_bytes, len_bytes, err);
}

static enum gnn_status read_window(struct gnn_world *world, struct gnn_file *file, uint64_t offset_bytes, void *dst,
                                   uint64_t len_bytes, uint64_t need_bytes, const struct gnn_ids_wanted *wanted,
                                   struct gnn_err *err)
{
    assert(need_bytes <= len_bytes);
    struct transfer t = {
        .world = world, .file = file, .verb = "read", .offset_bytes = offset_bytes, .len_bytes = len_bytes};
    GNN_TRY(begin_transfer(&t, dst, err));
    while (t.done_bytes < len_bytes) {
        const uint64_t at = offset_bytes + t.done_bytes, left = len_bytes - t.done_bytes;
        const int64_t moved = gnn_file_read_ids(world, file, at, (unsigned char *)dst + t.done_bytes, left, wanted);
        assert(moved <= (int64_t)left);
        if (moved > 0 && t.done_bytes + (uint64_t)moved >= need_bytes)
            return GNN_OK;
        if (moved == 0)
            return gnn_fail(err, GNN_ESHORT,
                            "%s: ends %" PRIu64 " bytes into the %" PRIu64 " asked for at offset %" PRIu64,
                            gnn_file_path(world, file), t.done_bytes, len_bytes, offset_bytes);
        GNN_TRY(advance(&t, moved, err));
        /* A short read of a direct file may end between two blocks only at the file's end. */
        if (moved > 0 && (uint64_t)moved % t.step_bytes != 0)
            GNN_TRY(check_end(&t, at + (uint64_t)moved, err));
    }
    return GNN_OK;
}

enum gnn_status gnn_read_window(struct gnn_world *world, struct gnn_file *file, uint64_t offset_bytes, void *dst,
                                uint64_t len_bytes, uint64_t need_bytes, struct gnn_err *err)
{
    return gnn_read_window_ids(world, file, offset_bytes, dst, len_bytes, need_bytes, NULL, err);
}

enum gnn_status gnn_read_window_ids(struct gnn_world *world, struct gnn_file *file, uint64_t offset_bytes, void *dst,
                                    uint64_t len_bytes, uint64_t need_bytes, const struct gnn_ids_wanted *wanted,
                                    struct gnn_err *err)
{
    if (world->read_times == NULL || len_bytes == 0)
        return read_window(world, file, offset_bytes, dst, len_bytes, need_bytes, wanted, err);
    const uint64_t start_ns = gnn_observed_ns(world);
    GNN_TRY(read_window(world, file, offset_bytes, dst, len_bytes, need_bytes, wanted, err));
    return gnn_read_times_note(world, len_bytes, gnn_observed_ns(world) - start_ns, err);
}

static enum gnn_status write_all(struct transfer *t, const void *src, struct gnn_err *err)
{
    while (t->done_bytes < t->len_bytes) {
        const uint64_t at = t->offset_bytes + t->done_bytes, left = t->len_bytes - t->done_bytes;
        const int64_t moved = gnn_file_write(t->world, t->file, at, (const unsigned char *)src + t->done_bytes, left);
        assert(moved <= (int64_t)left);
        if (moved == (int64_t)left)
            return GNN_OK;
        if (moved == -ENOSPC || moved == -EDQUOT)
            return gnn_fail(err, GNN_ENOSPC,
                            "%s: %s after %" PRIu64 " bytes; free some space or choose another directory",
                            gnn_file_path(t->world, t->file), strerror((int)-moved), at);
        GNN_TRY(advance(t, moved, err));
    }
    return GNN_OK;
}

enum gnn_status gnn_write_all(struct gnn_world *world, struct gnn_file *file, uint64_t offset_bytes, const void *src,
                              uint64_t len_bytes, struct gnn_err *err)
{
    struct transfer t = {
        .world = world, .file = file, .verb = "write", .offset_bytes = offset_bytes, .len_bytes = len_bytes};
    GNN_TRY(begin_transfer(&t, src, err));
    GNN_TRY(write_all(&t, src, err));
    return len_bytes == 0 ? GNN_OK : gnn_read_times_note_write(world, len_bytes, t.buffered, err);
}

#include "harness/storage/exact.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum { STALLS_MAX = 1000 }; /* EINTR, EAGAIN or no progress so often in a row: something is wrong for good */
static const uint64_t stall_sleep_ns = UINT64_C(100000);

/* A transfer that moved nothing but may be repeated; false after too many in a row. */
static bool may_stall(struct gnn_world *world, uint32_t *stalls)
{
    if (++*stalls > STALLS_MAX)
        return false;
    if (*stalls % 16 == 0)
        gnn_sleep_until(world, gnn_now_ns(world) + stall_sleep_ns, GNN_WAIT_IO);
    return true;
}

static enum gnn_status check_alignment(struct gnn_world *world, const struct gnn_file *file, uint64_t offset_bytes,
                                       const void *memory, uint64_t len_bytes, uint64_t *step_bytes,
                                       struct gnn_err *err)
{
    struct gnn_file_info info;
    gnn_file_info(world, file, &info);
    const uint32_t align =
        info.offset_align_bytes > info.mem_align_bytes ? info.offset_align_bytes : info.mem_align_bytes;
    *step_bytes = align;
    if (offset_bytes % info.offset_align_bytes != 0 || len_bytes % info.offset_align_bytes != 0 ||
        (uintptr_t)memory % info.mem_align_bytes != 0)
        return gnn_fail(err, GNN_EUSAGE, "%s: %llu bytes at offset %llu: direct I/O needs multiples of %u",
                        gnn_file_path(world, file), (unsigned long long)len_bytes, (unsigned long long)offset_bytes,
                        align);
    return GNN_OK;
}

enum gnn_status gnn_read_all(struct gnn_world *world, struct gnn_file *file, uint64_t offset_bytes, void *dst,
                             uint64_t len_bytes, struct gnn_err *err)
{
    return gnn_read_window(world, file, offset_bytes, dst, len_bytes, len_bytes, err);
}

enum gnn_status gnn_read_window(struct gnn_world *world, struct gnn_file *file, uint64_t offset_bytes, void *dst,
                                uint64_t len_bytes, uint64_t need_bytes, struct gnn_err *err)
{
    assert(need_bytes <= len_bytes);
    uint64_t step;
    GNN_TRY(check_alignment(world, file, offset_bytes, dst, len_bytes, &step, err));
    uint64_t done = 0;
    uint32_t stalls = 0;
    while (done < len_bytes) {
        const uint64_t left = len_bytes - done;
        const int64_t moved = gnn_file_read(world, file, offset_bytes + done, (unsigned char *)dst + done, left);
        if (moved == 0)
            return gnn_fail(err, GNN_ESHORT, "%s: ends %llu bytes into the %llu asked for at offset %llu",
                            gnn_file_path(world, file), (unsigned long long)done, (unsigned long long)len_bytes,
                            (unsigned long long)offset_bytes);
        assert(moved <= (int64_t)left);
        if (moved > 0 && done + (uint64_t)moved >= need_bytes)
            return GNN_OK;
        const uint64_t progress = moved > 0 ? gnn_round_down((uint64_t)moved, step) : 0;
        const bool repeat = moved > 0 || moved == -EINTR || moved == -EAGAIN;
        if (progress > 0)
            stalls = 0;
        else if (!repeat || !may_stall(world, &stalls))
            return gnn_fail(err, GNN_EIO, "%s: read of %llu bytes at offset %llu: %s", gnn_file_path(world, file),
                            (unsigned long long)left, (unsigned long long)(offset_bytes + done),
                            moved < 0 ? strerror((int)-moved) : "it stays short");
        done += progress;
        /* A short read of a direct file may end between two blocks only at the file's end. */
        if (moved > 0 && progress < (uint64_t)moved) {
            struct gnn_file_info info;
            gnn_file_info(world, file, &info);
            if (offset_bytes + done - progress + (uint64_t)moved >= info.size_bytes)
                return gnn_fail(err, GNN_ESHORT, "%s: ends at %llu bytes, %llu were asked for at offset %llu",
                                gnn_file_path(world, file), (unsigned long long)info.size_bytes,
                                (unsigned long long)len_bytes, (unsigned long long)offset_bytes);
        }
    }
    return GNN_OK;
}

enum gnn_status gnn_write_all(struct gnn_world *world, struct gnn_file *file, uint64_t offset_bytes, const void *src,
                              uint64_t len_bytes, struct gnn_err *err)
{
    uint64_t step;
    GNN_TRY(check_alignment(world, file, offset_bytes, src, len_bytes, &step, err));
    uint64_t done = 0;
    uint32_t stalls = 0;
    while (done < len_bytes) {
        const uint64_t left = len_bytes - done;
        const int64_t moved = gnn_file_write(world, file, offset_bytes + done, (const unsigned char *)src + done, left);
        assert(moved <= (int64_t)left);
        if (moved == (int64_t)left)
            return GNN_OK;
        if (moved == -ENOSPC || moved == -EDQUOT)
            return gnn_fail(err, GNN_ENOSPC, "%s: %s after %llu bytes; free some space or choose another directory",
                            gnn_file_path(world, file), strerror((int)-moved),
                            (unsigned long long)(offset_bytes + done));
        const uint64_t progress = moved > 0 ? gnn_round_down((uint64_t)moved, step) : 0;
        const bool repeat = moved >= 0 || moved == -EINTR || moved == -EAGAIN;
        if (progress > 0)
            stalls = 0;
        else if (!repeat || !may_stall(world, &stalls))
            return gnn_fail(err, GNN_EIO, "%s: write of %llu bytes at offset %llu: %s", gnn_file_path(world, file),
                            (unsigned long long)left, (unsigned long long)(offset_bytes + done),
                            moved < 0 ? strerror((int)-moved) : "it stays short");
        done += progress;
    }
    return GNN_OK;
}

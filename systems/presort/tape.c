/* SPDX-License-Identifier: MIT */
#include "systems/presort/tape.h"

#include "harness/storage/exact.h"

#include <inttypes.h>
#include <string.h>

enum { BUFFER_BYTES = 16 * GNN_PAGE_BYTES };

uint64_t presort_tape_bytes(void)
{
    return BUFFER_BYTES;
}

enum gnn_status presort_tape_open(struct gnn_world *world, struct presort_tape *t, struct gnn_err *err)
{
    *t = (struct presort_tape){.world = world};
    GNN_MEM_NEW(world, t->buffer, BUFFER_BYTES, "presort tape", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

void presort_tape_close(struct presort_tape *t)
{
    if (t->world != NULL)
        gnn_mem_free(t->world, t->buffer);
    *t = (struct presort_tape){.world = NULL};
}

/* ---- writing ---- */

void presort_tape_begin(struct presort_tape *t, struct gnn_file *file)
{
    t->file = file;
    t->at_bytes = t->used_bytes = 0;
}

uint64_t presort_tape_position(const struct presort_tape *t)
{
    return t->at_bytes + t->used_bytes;
}

enum gnn_status presort_tape_flush(struct presort_tape *t, struct gnn_err *err)
{
    const uint64_t bytes = gnn_round_up(t->used_bytes, GNN_PAGE_BYTES);
    if (bytes == 0)
        return GNN_OK;
    memset(t->buffer + t->used_bytes, 0, bytes - t->used_bytes);
    GNN_TRY(gnn_write_all(t->world, t->file, t->at_bytes, t->buffer, bytes, err));
    t->counts.written_bytes += bytes;
    t->counts.writes++;
    t->at_bytes += bytes;
    t->used_bytes = 0;
    return GNN_OK;
}

enum gnn_status presort_tape_put(struct presort_tape *t, const void *data, uint64_t bytes, struct gnn_err *err)
{
    const unsigned char *from = data;
    while (bytes > 0) {
        const uint64_t piece = gnn_min_u64(bytes, BUFFER_BYTES - t->used_bytes);
        gnn_mem_copy(t->world, t->buffer + t->used_bytes, from, piece);
        t->used_bytes += piece;
        from += piece;
        bytes -= piece;
        if (t->used_bytes == BUFFER_BYTES)
            GNN_TRY(presort_tape_flush(t, err));
    }
    return GNN_OK;
}

/* ---- reading ---- */

void presort_tape_seek(struct presort_tape *t, struct gnn_file *file, uint64_t offset_bytes, uint64_t end_bytes)
{
    t->file = file;
    t->at_bytes = gnn_round_down(offset_bytes, GNN_PAGE_BYTES);
    t->begin_bytes = offset_bytes - t->at_bytes;
    t->end_bytes = gnn_round_up(end_bytes, GNN_PAGE_BYTES);
    t->used_bytes = BUFFER_BYTES; /* nothing was read */
}

/* Reads what is behind the buffer, into its last bytes where that does not fill it, so that it ends where they do. */
static enum gnn_status read_buffer(struct presort_tape *t, struct gnn_err *err)
{
    const uint64_t bytes = gnn_min_u64(BUFFER_BYTES, t->end_bytes - t->at_bytes);
    if (bytes == 0)
        return gnn_fail(err, GNN_ESHORT,
                        "%s: read past the last written byte, %" PRIu64
                        "; the scratch file is damaged: check the disk and run again",
                        gnn_file_path(t->world, t->file), t->end_bytes);
    const uint64_t place = BUFFER_BYTES - bytes;
    GNN_TRY(gnn_read_all(t->world, t->file, t->at_bytes, t->buffer + place, bytes, err));
    t->counts.read_bytes += bytes;
    t->counts.reads++;
    t->at_bytes += bytes;
    t->used_bytes = place + t->begin_bytes;
    t->begin_bytes = 0;
    return GNN_OK;
}

enum gnn_status presort_tape_take(struct presort_tape *t, void *data, uint64_t bytes, struct gnn_err *err)
{
    unsigned char *to = data;
    while (bytes > 0) {
        if (t->used_bytes == BUFFER_BYTES)
            GNN_TRY(read_buffer(t, err));
        const uint64_t piece = gnn_min_u64(bytes, BUFFER_BYTES - t->used_bytes);
        gnn_mem_copy(t->world, to, t->buffer + t->used_bytes, piece);
        t->used_bytes += piece;
        to += piece;
        bytes -= piece;
    }
    return GNN_OK;
}

void presort_tape_pass_page(struct presort_tape *t)
{
    t->used_bytes = gnn_round_up(t->used_bytes, GNN_PAGE_BYTES);
}

void presort_tape_take_counts(struct presort_tape *t, struct presort_tape_counts *out)
{
    *out = t->counts;
    t->counts = (struct presort_tape_counts){.writes = 0};
}

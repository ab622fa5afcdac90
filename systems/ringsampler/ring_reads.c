#include "systems/ringsampler/ring_reads.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t fetch_pause_ns = UINT64_C(5000); /* the polling thread of the kernel fetches meanwhile */

uint64_t rs_reads_bytes(uint32_t depth)
{
    return (uint64_t)depth * (2 * sizeof(struct gnn_read) + sizeof(uint32_t) + sizeof(struct gnn_completion));
}

static void free_all(struct rs_reads *reads)
{
    for (uint32_t i = 0; i < reads->depth; i++)
        reads->free_entries[i] = reads->depth - 1 - i;
    reads->free_count = reads->depth;
}

enum gnn_status rs_reads_open(struct gnn_world *world, const struct rs_reads_config *config, struct rs_reads *out,
                              struct gnn_err *err)
{
    const uint32_t depth = config->ring.depth;
    struct gnn_file_info info;
    gnn_file_info(world, config->file, &info);
    *out = (struct rs_reads){.world = world, .file = config->file, .file_bytes = info.size_bytes, .depth = depth};
    out->table = calloc(depth, sizeof *out->table);
    out->batch = calloc(depth, sizeof *out->batch);
    out->free_entries = calloc(depth, sizeof *out->free_entries);
    out->completions = calloc(depth, sizeof *out->completions);
    if (out->table == NULL || out->batch == NULL || out->free_entries == NULL || out->completions == NULL)
        return gnn_fail(err, GNN_ENOMEM, "request records of a ring of %" PRIu32, depth);
    free_all(out);
    return gnn_ring_open(world, &config->ring, &out->ring, err);
}

void rs_reads_close(struct rs_reads *reads)
{
    if (reads->ring != NULL)
        gnn_ring_close(reads->world, reads->ring);
    free(reads->completions);
    free(reads->free_entries);
    free(reads->batch);
    free(reads->table);
    *reads = (struct rs_reads){.ring = NULL};
}

/* Hands batch[0 .. count) over; the records are in the table already. */
static enum gnn_status hand_over(struct rs_reads *reads, uint32_t count, struct gnn_err *err)
{
    for (uint32_t done = 0; done < count;) {
        uint32_t accepted = 0;
        const enum gnn_status status =
            gnn_ring_submit(reads->world, reads->ring, reads->batch + done, count - done, &accepted, err);
        done += accepted;
        reads->in_flight += accepted;
        GNN_TRY(status);
        if (accepted == 0)
            gnn_sleep_until(reads->world, gnn_now_ns(reads->world) + fetch_pause_ns, GNN_WAIT_IO);
    }
    if (reads->in_flight > reads->in_flight_peak)
        reads->in_flight_peak = reads->in_flight;
    return GNN_OK;
}

enum gnn_status rs_reads_submit(struct rs_reads *reads, const struct gnn_read *wanted, uint32_t count,
                                struct gnn_err *err)
{
    assert(count > 0 && count <= reads->free_count);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t entry = reads->free_entries[--reads->free_count];
        reads->table[entry] = reads->batch[i] = wanted[i];
        reads->batch[i].tag = entry;
        reads->requested_bytes += wanted[i].len_bytes;
    }
    reads->issued += count;
    reads->submits++;
    return hand_over(reads, count, err);
}

static void give_back(struct rs_reads *reads, uint32_t entry)
{
    reads->in_flight--;
    reads->free_entries[reads->free_count++] = entry;
}

static enum gnn_status failed(const struct rs_reads *reads, const struct gnn_read *read, int32_t result,
                              struct gnn_err *err)
{
    const char *const path = gnn_file_path(reads->world, reads->file);
    const uint64_t edge = read->offset_bytes / sizeof(gnn_node);
    if (result < 0)
        return gnn_fail(err, GNN_EIO, "%s: read of %" PRIu32 " bytes at offset %" PRIu64 " (edge %" PRIu64 "): %s",
                        path, read->len_bytes, read->offset_bytes, edge, strerror(-result));
    return gnn_fail(err, GNN_ESHORT,
                    "%s: short read at offset %" PRIu64 " (edge %" PRIu64 "): %" PRId32 " of %" PRIu32 " bytes", path,
                    read->offset_bytes, edge, result, read->len_bytes);
}

/* Bytes that must arrive: a window may reach past the end of the file. */
static uint64_t owed_bytes(const struct rs_reads *reads, const struct gnn_read *read)
{
    assert(read->offset_bytes < reads->file_bytes);
    const uint64_t left = reads->file_bytes - read->offset_bytes;
    return left < read->len_bytes ? left : read->len_bytes;
}

enum gnn_status rs_reads_take(struct rs_reads *reads, uint32_t min, uint64_t *tags, uint32_t *got, struct gnn_err *err)
{
    assert(min <= reads->in_flight);
    *got = 0;
    do {
        uint32_t arrived = 0, again = 0;
        GNN_TRY(gnn_ring_wait(reads->world, reads->ring, min > *got ? min - *got : 0, reads->depth - *got,
                              reads->completions, &arrived, err));
        enum gnn_status status = GNN_OK;
        for (uint32_t i = 0; i < arrived; i++) {
            const uint32_t entry = (uint32_t)reads->completions[i].tag;
            const int32_t result = reads->completions[i].result;
            const struct gnn_read *read = &reads->table[entry];
            if (result == -EAGAIN || result == -EINTR) {
                reads->batch[again] = *read;
                reads->batch[again++].tag = entry;
                continue;
            }
            reads->completed++;
            if (result < 0 || (uint64_t)result < owed_bytes(reads, read))
                status = failed(reads, read, result, err);
            else
                tags[(*got)++] = read->tag;
            give_back(reads, entry);
        }
        reads->in_flight -= again; /* hand_over counts them again */
        GNN_TRY(hand_over(reads, again, err));
        GNN_TRY(status);
    } while (*got < min);
    return GNN_OK;
}

void rs_reads_drain(struct rs_reads *reads)
{
    while (reads->in_flight > 0) {
        uint32_t arrived = 0;
        if (gnn_ring_wait(reads->world, reads->ring, 1, reads->depth, reads->completions, &arrived, NULL) != GNN_OK)
            return; /* a ring that cannot be waited on: closing it is all that is left */
        reads->in_flight -= arrived;
    }
    free_all(reads);
}

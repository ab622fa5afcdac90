/* SPDX-License-Identifier: MIT */
#include "harness/stats/io_replay.h"

#include "harness/base/out_file.h"
#include "harness/base/plain_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FILL_BYTES = 1 << 20 }; /* fio writes whole blocks: files are multiples of it */

/* A file of the trace and what replaces it: reads and writes of one name are two parts. */
struct replaced {
    const char *file; /* the workload's */
    uint64_t end_bytes;
    bool open; /* in the trace that is written */
};

struct replay {
    const struct gnn_io_workload *workload;
    const char *dir;
    struct replaced *files; /* (count) */
    uint32_t count;
    uint64_t first_us; /* time of the first request that is kept */
    bool begun;
};

static enum gnn_status list_files(struct replay *r, struct gnn_err *err)
{
    GNN_NEW(r->files, gnn_max_u32(r->workload->count, 1), err, "files of a replay");
    for (uint32_t i = 0; i < r->workload->count; i++) {
        const struct gnn_io_part *const p = &r->workload->parts[i];
        uint32_t at = 0;
        while (at < r->count && strcmp(r->files[at].file, p->file) != 0)
            at++;
        r->count = gnn_max_u32(r->count, at + 1);
        r->files[at].file = p->file;
        r->files[at].end_bytes = gnn_max_u64(r->files[at].end_bytes, p->end_bytes);
    }
    return GNN_OK;
}

static struct replaced *find_file(const struct replay *r, const char *file)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (strcmp(r->files[i].file, file) == 0)
            return &r->files[i];
    return NULL;
}

/* ---- the trace ---- */

/* Writes a line, before it those that open its file if it is the first. */
static void write_request(struct replay *r, struct replaced *file, const struct gnn_io_line *line, FILE *out)
{
    const uint32_t number = (uint32_t)(file - r->files);
    if (!r->begun)
        r->first_us = line->time_us;
    r->begun = true;
    const uint64_t time_us = line->time_us - gnn_min_u64(r->first_us, line->time_us);
    if (!file->open)
        (void)fprintf(out, "%" PRIu64 " %s/file-%" PRIu32 " add\n%" PRIu64 " %s/file-%" PRIu32 " open\n", time_us,
                      r->dir, number, time_us, r->dir, number);
    file->open = true;
    (void)fprintf(out, "%" PRIu64 " %s/file-%" PRIu32 " %s %" PRIu64 " %" PRIu64 "\n", time_us, r->dir, number,
                  line->action, line->offset_bytes, line->len_bytes);
}

static enum gnn_status copy_requests(struct replay *r, const char *trace, FILE *out, struct gnn_err *err)
{
    struct gnn_io_lines *lines;
    struct gnn_io_line line;
    bool more = true;
    GNN_TRY(gnn_io_lines_open(trace, &lines, err));
    (void)fputs(GNN_IO_TRACE_MAGIC "\n", out);
    enum gnn_status status = GNN_OK;
    while (status == GNN_OK && more) {
        status = gnn_io_lines_next(lines, &line, &more, err);
        const bool request = line.kind == GNN_IO_LINE_READ || line.kind == GNN_IO_LINE_WRITE;
        struct replaced *const file = status == GNN_OK && more && request ? find_file(r, line.file) : NULL;
        if (file != NULL && line.len_bytes > 0 && (r->workload->epoch == 0 || r->workload->epoch == line.epoch))
            write_request(r, file, &line, out);
    }
    gnn_io_lines_close(lines);
    return status;
}

static enum gnn_status write_trace(struct replay *r, const char *trace, struct gnn_err *err)
{
    FILE *out;
    GNN_TRY(gnn_out_file_open(r->dir, "replay", "iolog", &out, err));
    const enum gnn_status status = copy_requests(r, trace, out, err);
    const enum gnn_status closed = gnn_out_file_close(out, r->dir, "replay", "iolog", status == GNN_OK ? err : NULL);
    return status != GNN_OK ? status : closed;
}

/* ---- the jobs ---- */

static enum gnn_status write_fill(const struct replay *r, struct gnn_err *err)
{
    FILE *out;
    GNN_TRY(gnn_out_file_open(r->dir, "fill", "fio", &out, err));
    (void)fputs("; Writes the files of replay.iolog, so that its reads reach the device.\n"
                "[global]\nrw=write\nbs=1m\nend_fsync=1\nstonewall\n",
                out);
    for (uint32_t i = 0; i < r->count; i++)
        (void)fprintf(out, "[file-%" PRIu32 "]\nfilename=%s/file-%" PRIu32 "\nfilesize=%" PRIu64 "\n", i, r->dir, i,
                      gnn_round_up(gnn_max_u64(r->files[i].end_bytes, 1), FILL_BYTES));
    return gnn_out_file_close(out, r->dir, "fill", "fio", err);
}

static bool all_aligned(const struct gnn_io_workload *w)
{
    return w->total[0].aligned == w->total[0].requests && w->total[1].aligned == w->total[1].requests;
}

static uint64_t largest_depth(const struct gnn_io_workload *w)
{
    const uint64_t depth = gnn_max_u64(w->total[0].requests > 0 ? w->total[0].depth_most : 0,
                                       w->total[1].requests > 0 ? w->total[1].depth_most : 0);
    return depth == GNN_UNKNOWN ? 1 : gnn_max_u64(depth, 1);
}

static enum gnn_status write_job(const struct replay *r, struct gnn_err *err)
{
    char shown[GNN_IO_TRACE_NAME_MAX];
    FILE *out;
    const bool direct = all_aligned(r->workload);
    GNN_TRY(gnn_out_file_open(r->dir, "replay", "fio", &out, err));
    (void)fprintf(out,
                  "; Replays replay.iolog as fast as the device allows, with the queue depth of the run at most.\n"
                  "; replay_no_stall=0 keeps the times of the run.\n"
                  "[replay]\nread_iolog=%s/replay.iolog\nreplay_no_stall=1\nioengine=%s\niodepth=%" PRIu64
                  "\ndirect=%d\n",
                  r->dir, largest_depth(r->workload) > 1 ? "io_uring" : "psync", largest_depth(r->workload), direct);
    if (!direct)
        (void)fputs("; direct=0: offsets or lengths are no multiples of 512.\n", out);
    for (uint32_t i = 0; i < r->count; i++)
        (void)fprintf(out, "; file-%" PRIu32 " is %s\n", i, gnn_text_plain(r->files[i].file, shown, sizeof shown));
    return gnn_out_file_close(out, r->dir, "replay", "fio", err);
}

enum gnn_status gnn_io_replay_write(const struct gnn_io_workload *workload, const char *trace, const char *dir,
                                    struct gnn_err *err)
{
    struct replay r = {.workload = workload, .dir = dir};
    assert(dir[0] == '/');
    if (strlen(dir) + sizeof "/file-4294967295" > GNN_IO_TRACE_NAME_MAX || strpbrk(dir, " \t") != NULL)
        return gnn_fail(err, GNN_EUSAGE,
                        "--replay %s: fio reads names of at most %d bytes without blanks in a trace; name another "
                        "directory",
                        dir, GNN_IO_TRACE_NAME_MAX - 1);
    if (workload->total[0].requests + workload->total[1].requests == 0)
        return gnn_fail(err, GNN_EUSAGE, "--replay %s: %s has no request that could be replayed", dir, trace);
    enum gnn_status status = list_files(&r, err);
    GNN_NEXT(status, write_trace(&r, trace, err));
    GNN_NEXT(status, write_fill(&r, err));
    GNN_NEXT(status, write_job(&r, err));
    free(r.files);
    return status;
}

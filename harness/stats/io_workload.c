/* SPDX-License-Identifier: MIT */
#include "harness/stats/io_workload.h"

#include "harness/stats/curves.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR_BYTES = 512, CACHES = 32 /* of 1, 2, 4, … blocks */ };

struct request {
    uint64_t offset_bytes;
    uint32_t len_bytes;
};

/* A part while the trace is read. */
struct building {
    struct gnn_io_part part;
    struct request *requests; /* (part.requests) */
    uint64_t room;
    double depth_sum;
    uint64_t last_end_bytes;
};

struct builder {
    struct gnn_world *world;
    struct building *parts; /* (count) */
    uint32_t count;
    bool has_epochs;
};

/* ---- reading ---- */

static enum gnn_status find_part(struct builder *b, const struct gnn_io_line *line, struct building **out,
                                 struct gnn_err *err)
{
    const bool writes = line->kind == GNN_IO_LINE_WRITE;
    for (uint32_t i = b->count; i-- > 0;) {
        *out = &b->parts[i];
        if ((*out)->part.writes == writes && strcmp((*out)->part.file, line->file) == 0)
            return GNN_OK;
    }
    struct building *const parts = realloc(b->parts, (b->count + (size_t)1) * sizeof *parts);
    if (parts == NULL)
        return gnn_fail(err, GNN_ENOMEM, "the files of a trace");
    b->parts = parts;
    *out = &parts[b->count++];
    **out = (struct building){.part = {.writes = writes, .least_bytes = UINT64_MAX}, .last_end_bytes = UINT64_MAX};
    (void)snprintf((*out)->part.file, sizeof(*out)->part.file, "%s", line->file);
    return GNN_OK;
}

static enum gnn_status keep_request(struct building *g, const struct gnn_io_line *line, struct gnn_err *err)
{
    if (g->part.requests == g->room) {
        const uint64_t room = g->room == 0 ? 1024 : 2 * g->room;
        struct request *const requests = realloc(g->requests, gnn_mul_bytes(room, sizeof *requests));
        if (requests == NULL)
            return gnn_fail(err, GNN_ENOMEM, "%" PRIu64 " requests of a trace", room);
        g->requests = requests;
        g->room = room;
    }
    g->requests[g->part.requests] =
        (struct request){.offset_bytes = line->offset_bytes, .len_bytes = (uint32_t)line->len_bytes};
    return GNN_OK;
}

static enum gnn_status add_request(struct builder *b, const struct gnn_io_line *line, struct gnn_err *err)
{
    struct building *g = NULL;
    GNN_TRY(find_part(b, line, &g, err));
    GNN_TRY(keep_request(g, line, err));
    struct gnn_io_part *const p = &g->part;
    const uint64_t end_bytes = line->offset_bytes + line->len_bytes;
    p->requests++;
    p->bytes += line->len_bytes;
    p->end_bytes = gnn_max_u64(p->end_bytes, end_bytes);
    p->least_bytes = gnn_min_u64(p->least_bytes, line->len_bytes);
    p->most_bytes = gnn_max_u64(p->most_bytes, line->len_bytes);
    p->sequential += line->offset_bytes == g->last_end_bytes;
    p->aligned += (line->offset_bytes | line->len_bytes) % SECTOR_BYTES == 0;
    g->last_end_bytes = end_bytes;
    if (line->depth == GNN_UNKNOWN || p->depth_most == GNN_UNKNOWN) {
        p->depth_most = GNN_UNKNOWN;
        return GNN_OK;
    }
    g->depth_sum += (double)line->depth;
    p->depth_most = gnn_max_u64(p->depth_most, line->depth);
    return GNN_OK;
}

static enum gnn_status read_trace(struct builder *b, const char *path, uint64_t epoch, struct gnn_err *err)
{
    struct gnn_io_lines *lines;
    struct gnn_io_line line;
    bool more = true;
    GNN_TRY(gnn_io_lines_open(path, &lines, err));
    enum gnn_status status = GNN_OK;
    while (status == GNN_OK && more) {
        status = gnn_io_lines_next(lines, &line, &more, err);
        const bool request = line.kind == GNN_IO_LINE_READ || line.kind == GNN_IO_LINE_WRITE;
        b->has_epochs = b->has_epochs || line.epoch != GNN_UNKNOWN;
        if (more && request && (epoch == 0 || line.epoch == epoch))
            GNN_NEXT(status, add_request(b, &line, err));
    }
    gnn_io_lines_close(lines);
    if (status == GNN_OK && b->count == 0 && epoch != 0)
        return gnn_fail(err, GNN_EUSAGE, "--epoch %" PRIu64 ": %s has no request of this epoch; 0 takes all requests",
                        epoch, path);
    return status;
}

/* ---- analysing ---- */

static int compare_lengths(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static enum gnn_status find_median(struct building *g, struct gnn_err *err)
{
    uint32_t *lengths;
    assert(g->part.requests > 0);
    GNN_NEW(lengths, g->part.requests, err, "lengths of %" PRIu64 " requests", g->part.requests);
    for (uint64_t i = 0; i < g->part.requests; i++)
        lengths[i] = g->requests[i].len_bytes;
    qsort(lengths, g->part.requests, sizeof *lengths, compare_lengths);
    g->part.median_bytes = lengths[(g->part.requests - 1) / 2];
    free(lengths);
    return GNN_OK;
}

static uint64_t blocks_of(const struct request *r, uint64_t *first)
{
    *first = r->offset_bytes / GNN_IO_BLOCK_BYTES;
    return r->len_bytes == 0 ? 0 : (r->offset_bytes + r->len_bytes - 1) / GNN_IO_BLOCK_BYTES - *first + 1;
}

/* Fills blocks with those that the requests touch, in order. */
static void list_blocks(const struct building *g, gnn_node *blocks)
{
    uint64_t at = 0, first;
    for (uint64_t i = 0; i < g->part.requests; i++) {
        const uint64_t count = blocks_of(&g->requests[i], &first);
        for (uint64_t k = 0; k < count; k++)
            blocks[at++] = (gnn_node)(first + k);
    }
    assert(at == g->part.uses);
}

/* Returns the smallest cache that has `share` of the repeated uses. */
static uint64_t cache_for(const uint64_t *hits, double share)
{
    uint32_t i = 0;
    while (i + 1 < CACHES && (double)hits[i] < share * (double)hits[CACHES - 1])
        i++;
    return hits[CACHES - 1] == 0 ? GNN_UNKNOWN : (UINT64_C(1) << i) * GNN_IO_BLOCK_BYTES;
}

/* The largest cache has more blocks than the file, so that all repeated uses hit in it. */
static enum gnn_status find_reuse(struct gnn_world *world, struct building *g, struct gnn_err *err)
{
    uint64_t sizes[CACHES], hits[CACHES], first;
    gnn_node *blocks;
    for (uint64_t i = 0; i < g->part.requests; i++)
        g->part.uses += blocks_of(&g->requests[i], &first);
    const uint64_t file_blocks = (g->part.end_bytes + GNN_IO_BLOCK_BYTES - 1) / GNN_IO_BLOCK_BYTES;
    if (file_blocks >> (CACHES - 1) != 0 || g->part.uses >= UINT32_MAX - 1)
        return gnn_fail(err, GNN_ENOTSUP,
                        "%s: %" PRIu64 " uses of %" PRIu64 " blocks of 4 KiB: at most 2^32 - 3 uses of 2^31 - 1 blocks "
                        "are analysed; choose one epoch with --epoch 1",
                        g->part.file, g->part.uses, file_blocks);
    for (uint32_t i = 0; i < CACHES; i++)
        sizes[i] = UINT64_C(1) << i;
    GNN_NEW(blocks, gnn_max_u64(g->part.uses, 1), err, "%" PRIu64 " uses of blocks", g->part.uses);
    list_blocks(g, blocks);
    const struct gnn_accesses accesses = {.rows = blocks, .count = g->part.uses, .node_count = (uint32_t)file_blocks};
    const enum gnn_status status = gnn_lru_hits(world, &accesses, sizes, CACHES, hits, err);
    free(blocks);
    if (status != GNN_OK)
        return status;
    g->part.blocks = g->part.uses - hits[CACHES - 1];
    g->part.reuse_half_bytes = cache_for(hits, 0.5);
    g->part.reuse_most_bytes = cache_for(hits, 0.9);
    return GNN_OK;
}

static void add_to_total(struct gnn_io_part *total, const struct gnn_io_part *p)
{
    const double depth_sum = total->requests == 0 ? 0 : total->depth_mean * (double)total->requests;
    if (total->requests == 0)
        total->least_bytes = p->least_bytes;
    total->requests += p->requests;
    total->bytes += p->bytes;
    total->least_bytes = gnn_min_u64(total->least_bytes, p->least_bytes);
    total->most_bytes = gnn_max_u64(total->most_bytes, p->most_bytes);
    total->sequential += p->sequential;
    total->aligned += p->aligned;
    total->uses += p->uses;
    total->blocks += p->blocks;
    total->depth_most = gnn_max_u64(total->depth_most, p->depth_most); /* unknown is the largest number */
    total->depth_mean = (depth_sum + p->depth_mean * (double)p->requests) / (double)total->requests;
}

static int compare_parts(const void *a, const void *b)
{
    const struct gnn_io_part *const x = a, *const y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    const int names = strcmp(x->file, y->file);
    return names != 0 ? names : (int)x->writes - (int)y->writes;
}

static enum gnn_status analyse(struct builder *b, struct gnn_io_workload *out, struct gnn_err *err)
{
    GNN_NEW(out->parts, gnn_max_u32(b->count, 1), err, "the files of a trace");
    for (uint32_t i = 0; i < b->count; i++) {
        struct building *const g = &b->parts[i];
        GNN_TRY(find_median(g, err));
        GNN_TRY(find_reuse(b->world, g, err));
        g->part.depth_mean = g->part.depth_most == GNN_UNKNOWN ? NAN : g->depth_sum / (double)g->part.requests;
        out->parts[out->count++] = g->part;
        add_to_total(&out->total[g->part.writes], &g->part);
    }
    qsort(out->parts, out->count, sizeof *out->parts, compare_parts);
    return GNN_OK;
}

enum gnn_status gnn_io_workload_open(struct gnn_world *world, const char *path, uint64_t epoch,
                                     struct gnn_io_workload *out, struct gnn_err *err)
{
    struct builder b = {.world = world};
    *out = (struct gnn_io_workload){.epoch = epoch, .total = {{.writes = false}, {.writes = true}}};
    enum gnn_status status = read_trace(&b, path, epoch, err);
    GNN_NEXT(status, analyse(&b, out, err));
    out->has_epochs = b.has_epochs;
    for (uint32_t i = 0; i < b.count; i++)
        free(b.parts[i].requests);
    free(b.parts);
    if (status != GNN_OK)
        gnn_io_workload_close(out);
    return status;
}

void gnn_io_workload_close(struct gnn_io_workload *workload)
{
    free(workload->parts);
    *workload = (struct gnn_io_workload){.count = 0};
}

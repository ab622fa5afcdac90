/* SPDX-License-Identifier: MIT */
#include "harness/dataset/isolated.h"

#include "harness/base/id_width.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 4096 };

struct gnn_isolated {
    uint32_t node_count;
    uint32_t first, span; /* the nodes with a bit */
    uint64_t *bits;       /* (span / 64, rounded up) */
};

enum gnn_status gnn_isolated_open(uint32_t node_count, uint64_t memory_bytes, struct gnn_isolated **out,
                                  struct gnn_err *err)
{
    struct gnn_isolated *w;
    GNN_NEW(w, 1, err, "nodes without edges");
    const uint64_t most = gnn_max_u64(memory_bytes / sizeof(uint64_t), 1) * 64;
    w->node_count = node_count;
    w->span = (uint32_t)gnn_min_u64(node_count, most);
    w->bits = calloc((w->span + 63) / 64 + 1, sizeof *w->bits);
    if (w->bits == NULL) {
        gnn_isolated_close(w);
        return gnn_fail(err, GNN_ENOMEM, "nodes without edges");
    }
    *out = w;
    return GNN_OK;
}

void gnn_isolated_close(struct gnn_isolated *isolated)
{
    if (isolated == NULL)
        return;
    free(isolated->bits);
    free(isolated);
}

static void mark(struct gnn_isolated *w, gnn_node node)
{
    const uint32_t at = node - w->first;
    if (node >= w->first && at < w->span)
        w->bits[at / 64] |= UINT64_C(1) << (at % 64);
}

void gnn_isolated_mark(struct gnn_isolated *isolated, gnn_node source, gnn_node target)
{
    mark(isolated, source);
    mark(isolated, target);
}

static uint64_t count_window(const struct gnn_isolated *w)
{
    uint64_t marked = 0;
    for (uint32_t word = 0; word < (w->span + 63) / 64; word++)
        marked += (uint64_t)__builtin_popcountll(w->bits[word]);
    assert(marked <= w->span);
    return w->span - marked;
}

/* ---- what did not fit ---- */

static enum gnn_status open_written(const struct gnn_output *output, const char *name, FILE **out, struct gnn_err *err)
{
    char path[GNN_OUTPUT_PATH + 32];
    (void)snprintf(path, sizeof path, "%s/%s", output->partial, name);
    *out = fopen(path, "rbe");
    return *out != NULL ? GNN_OK : gnn_out_errno(errno, "cannot open", path, err);
}

static enum gnn_status check_read(FILE *file, const char *what, struct gnn_err *err)
{
    return ferror(file) ? gnn_fail(err, GNN_EIO, "reading back %s: %s", what, strerror(errno)) : GNN_OK;
}

static enum gnn_status mark_targets(struct gnn_isolated *w, const struct gnn_output *output, struct gnn_err *err)
{
    uint64_t offsets[CHUNK], before = 0, node = 0;
    size_t got;
    FILE *file;
    GNN_TRY(open_written(output, "indptr", &file, err));
    while ((got = fread(offsets, sizeof *offsets, CHUNK, file)) > 0)
        for (size_t i = 0; i < got; i++, node++) {
            if (node > 0 && offsets[i] > before)
                mark(w, (gnn_node)(node - 1));
            before = offsets[i];
        }
    const enum gnn_status status = check_read(file, "indptr", err);
    (void)fclose(file);
    return status;
}

static enum gnn_status mark_sources(struct gnn_isolated *w, const struct gnn_output *output, uint32_t id_bytes,
                                    struct gnn_err *err)
{
    uint64_t stored[CHUNK];
    gnn_node ids[CHUNK];
    size_t got;
    FILE *file;
    const char *const name = gnn_meta_indices_name(id_bytes);
    GNN_TRY(open_written(output, name, &file, err));
    enum gnn_status status = GNN_OK;
    while (status == GNN_OK && (got = fread(stored, id_bytes, CHUNK, file)) > 0) {
        gnn_ids_narrow(stored, id_bytes, got, ids);
        for (size_t i = 0; i < got; i++)
            mark(w, ids[i]);
        status = gnn_job_stopped(output->job, "nodes without edges", err);
    }
    GNN_NEXT(status, check_read(file, name, err));
    (void)fclose(file);
    return status;
}

enum gnn_status gnn_isolated_count(struct gnn_isolated *w, const struct gnn_output *output, uint32_t id_bytes,
                                   uint64_t *count, bool *first, struct gnn_err *err)
{
    assert(w->first == 0);
    *first = (w->bits[0] & 1) == 0;
    *count = count_window(w);
    for (uint64_t next = w->span; next < w->node_count; next += w->span) {
        w->first = (uint32_t)next;
        w->span = gnn_min_u32(w->span, w->node_count - w->first);
        memset(w->bits, 0, ((w->span + 63) / 64) * sizeof *w->bits);
        GNN_TRY(mark_targets(w, output, err));
        GNN_TRY(mark_sources(w, output, id_bytes, err));
        *count += count_window(w);
    }
    return GNN_OK;
}

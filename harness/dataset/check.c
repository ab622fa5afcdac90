/* SPDX-License-Identifier: MIT */
/* `oocgnn prepare --check`: every claim of a dataset's meta against its files, in one pass over each. */
#include "harness/base/id_width.h"
#include "harness/dataset/blocks.h"
#include "harness/dataset/output.h"
#include "harness/dataset/read.h"
#include "harness/graph/invariants.h"
#include "harness/storage/block_sums.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 4 << 20 };
_Static_assert(CHUNK_BYTES % GNN_BLOCK_BYTES == 0, "a chunk has whole blocks");

struct check {
    const char *dir;
    const struct gnn_meta *meta;
    struct gnn_prepare_job job;
    uint64_t *indptr; /* (node_count + 1), once loaded */
    int32_t *labels;  /* (node_count) */
    gnn_node *splits[3];
    char *chunk;                        /* CHUNK_BYTES */
    uint32_t dim;                       /* of the features file that is being read */
    enum gnn_feature_type feature_type; /* likewise */
    uint32_t id_bytes;                  /* of the file of lists */
    uint64_t lines;                     /* of the file of names, so far */
    struct gnn_blocks blocks;           /* of the file that is being read */
};

/* ---- sizes ---- */

static enum gnn_status check_sizes(const struct check *c, struct gnn_err *err)
{
    for (uint32_t i = 0; i < c->meta->file_count; i++) {
        const struct gnn_meta_file *file = &c->meta->files[i];
        char path[GNN_OUTPUT_PATH];
        struct stat info;
        gnn_dataset_path(c->dir, file->name, path);
        if (stat(path, &info) != 0)
            return gnn_out_errno(errno, "cannot read", path, err);
        if ((uint64_t)info.st_size != file->bytes)
            return gnn_fail(err, GNN_EFORMAT, "%s: %" PRIu64 " B, meta has %" PRIu64, path, (uint64_t)info.st_size,
                            file->bytes);
    }
    return GNN_OK;
}

/* A features file that meta does not list was left by a preparation that was killed, or lost its line. */
static enum gnn_status check_unlisted(const struct check *c, struct gnn_err *err)
{
    DIR *const dir = opendir(c->dir);
    enum gnn_status status = GNN_OK;
    if (dir == NULL)
        return gnn_out_errno(errno, "cannot open directory", c->dir, err);
    for (const struct dirent *entry = readdir(dir); entry != NULL && status == GNN_OK; entry = readdir(dir))
        if (strncmp(entry->d_name, "features-", 9) == 0 && gnn_meta_find_file(c->meta, entry->d_name) == NULL)
            status = gnn_fail(err, GNN_EFORMAT, "%s/%s: meta does not list it; remove it, or prepare this width again",
                              c->dir, entry->d_name);
    (void)closedir(dir);
    return status;
}

/* ---- contents ---- */

/* Judges `count` items that start at item `first` of the file. */
typedef enum gnn_status visit_fn(struct check *c, const void *items, uint64_t first, uint64_t count, const char *path,
                                 struct gnn_err *err);

static enum gnn_status visit_indptr(struct check *c, const void *items, uint64_t first, uint64_t count,
                                    const char *path, struct gnn_err *err)
{
    assert(first + count <= (uint64_t)c->meta->node_count + 1);
    uint64_t previous = first > 0 ? c->indptr[first - 1] : 0;
    memcpy(c->indptr + first, items, count * sizeof *c->indptr);
    return gnn_check_indptr(items, count, first, c->meta->node_count, c->meta->edge_count, &previous, path, err);
}

static enum gnn_status visit_labels(struct check *c, const void *items, uint64_t first, uint64_t count,
                                    const char *path, struct gnn_err *err)
{
    assert(first + count <= c->meta->node_count);
    memcpy(c->labels + first, items, count * sizeof *c->labels);
    return gnn_check_labels(items, count, first, c->meta->class_count, path, err);
}

static enum gnn_status visit_features(struct check *c, const void *items, uint64_t first, uint64_t count,
                                      const char *path, struct gnn_err *err)
{
    const bool half = c->feature_type == GNN_F16;
    assert(c->dim > 0);
    for (uint64_t i = 0; i < count; i++)
        if (!isfinite(half ? gnn_half_widen(((const uint16_t *)items)[i]) : ((const float *)items)[i]))
            return gnn_fail(err, GNN_EFORMAT,
                            "%s: feature %" PRIu64 " of node %" PRIu64
                            " is not a finite number; make or import the dataset again",
                            path, (first + i) % c->dim, (first + i) / c->dim);
    return GNN_OK;
}

static const char *const split_names[] = {"train", "valid", "test"};

static enum gnn_status visit_split(struct check *c, const void *items, uint64_t first, uint64_t count, const char *path,
                                   struct gnn_err *err)
{
    const char *base = strrchr(path, '/') + 1;
    assert(first + count <= c->meta->node_count);
    for (size_t i = 0; i < 3; i++)
        if (strcmp(base, split_names[i]) == 0)
            memcpy(c->splits[i] + first, items, count * sizeof(gnn_node));
    (void)err;
    return GNN_OK;
}

/* A chunk that starts at `offset_bytes` against the checksums of its blocks. */
static enum gnn_status compare_blocks(const struct check *c, uint64_t offset_bytes, uint64_t bytes, const char *path,
                                      struct gnn_err *err)
{
    if (c->blocks.sums == NULL)
        return GNN_OK;
    for (uint64_t at = 0; at < bytes; at += GNN_BLOCK_BYTES)
        GNN_TRY(gnn_blocks_compare(&c->blocks, path, (offset_bytes + at) / GNN_BLOCK_BYTES, c->chunk + at,
                                   gnn_min_u64(bytes - at, GNN_BLOCK_BYTES), err));
    return GNN_OK;
}

static enum gnn_status visit_chunks(struct check *c, int fd, const struct gnn_meta_file *file, uint32_t item_bytes,
                                    visit_fn *visit, struct gnn_checksum *checksum, const char *path,
                                    struct gnn_err *err)
{
    struct gnn_ticker ticker;
    assert(file->bytes % item_bytes == 0); /* gnn_meta_parse compared it with the counts */
    assert(CHUNK_BYTES % item_bytes == 0);
    gnn_ticker_start(&ticker, &c->job, file->name, "B", file->bytes);
    for (uint64_t done = 0; done < file->bytes;) {
        const uint64_t ask = gnn_min_u64(file->bytes - done, CHUNK_BYTES);
        uint64_t got = 0;
        GNN_TRY(gnn_read_bytes(fd, c->chunk, ask, path, &got, err));
        if (got < ask)
            return gnn_fail(err, GNN_ESHORT, "%s: ends after %" PRIu64 " of %" PRIu64 " B", path, done + got,
                            file->bytes);
        assert(got == ask);
        gnn_checksum_add(checksum, c->chunk, got);
        GNN_TRY(visit(c, c->chunk, done / item_bytes, got / item_bytes, path, err));
        GNN_TRY(compare_blocks(c, done, got, path, err)); /* an item that cannot be says more than its block */
        done += got;
        GNN_TRY(gnn_ticker_set(&ticker, done, err));
    }
    gnn_ticker_end(&ticker);
    char text[GNN_CHECKSUM_TEXT];
    gnn_checksum_text(checksum, text);
    if (strcmp(text, file->checksum) != 0)
        return gnn_fail(err, GNN_EFORMAT, "%s: checksum %s, meta has %s", path, text, file->checksum);
    return GNN_OK;
}

static enum gnn_status check_file(struct check *c, const char *name, uint32_t item_bytes, visit_fn *visit,
                                  struct gnn_err *err)
{
    const struct gnn_meta_file *file = gnn_meta_find_file(c->meta, name);
    assert(file != NULL);
    char path[GNN_OUTPUT_PATH];
    gnn_dataset_path(c->dir, name, path);
    int fd;
    GNN_TRY(gnn_open_regular(path, &fd, err));
    struct gnn_checksum *checksum = NULL;
    enum gnn_status status = gnn_checksum_open(&checksum, err);
    GNN_NEXT(status, gnn_blocks_open(c->dir, c->meta, name, &c->blocks, err));
    GNN_NEXT(status, visit_chunks(c, fd, file, item_bytes, visit, checksum, path, err));
    gnn_blocks_close(&c->blocks);
    gnn_checksum_close(checksum);
    (void)close(fd);
    return status;
}

/* Lists ascend, unless meta says that they are as they were drawn: walks indices a second time along the offsets, which
 * are valid by now. */
static enum gnn_status visit_order(struct check *c, const void *items, uint64_t first, uint64_t count, const char *path,
                                   struct gnn_err *err)
{
    uint64_t low = gnn_indptr_find(c->indptr, c->meta->node_count, first);
    for (uint64_t i = 1; i < count; i++) {
        while (c->indptr[low + 1] <= first + i)
            low++;
        if (c->indptr[low] != first + i && gnn_id_at(items, c->id_bytes, i) < gnn_id_at(items, c->id_bytes, i - 1))
            return gnn_fail(err, GNN_EFORMAT,
                            "%s: entry %" PRIu64 ", in the list of node %" PRIu64 ", is node %" PRIu32
                            ", expected at least its predecessor %" PRIu32,
                            path, first + i, low, gnn_id_at(items, c->id_bytes, i),
                            gnn_id_at(items, c->id_bytes, i - 1));
    }
    return GNN_OK;
}

static enum gnn_status visit_topology(struct check *c, const void *items, uint64_t first, uint64_t count,
                                      const char *path, struct gnn_err *err)
{
    GNN_TRY(gnn_check_ids(items, c->id_bytes, count, first, c->meta->node_count, path, err));
    return gnn_meta_is_ascending(c->meta) ? visit_order(c, items, first, count, path, err) : GNN_OK;
}

/* ---- knowledge graphs ---- */

/* Items are the u32 of the edges: source, relation, target and again. */
static enum gnn_status visit_triples(struct check *c, const void *items, uint64_t first, uint64_t count,
                                     const char *path, struct gnn_err *err)
{
    const uint32_t *const ids = items;
    for (uint64_t i = 0; i < count; i++) {
        const bool relation = (first + i) % 3 == 1;
        const uint32_t limit = relation ? c->meta->relation_count : c->meta->node_count;
        if (ids[i] >= limit)
            return gnn_fail(err, GNN_EFORMAT, "%s: edge %" PRIu64 " has %s %" PRIu32 ", expected below %" PRIu32, path,
                            (first + i) / 3, relation ? "relation" : "node", ids[i], limit);
    }
    return GNN_OK;
}

static enum gnn_status visit_names(struct check *c, const void *items, uint64_t first, uint64_t count, const char *path,
                                   struct gnn_err *err)
{
    const char *const text = items;
    (void)first;
    (void)path;
    (void)err;
    for (uint64_t i = 0; i < count; i++)
        c->lines += text[i] == '\n';
    return GNN_OK;
}

static enum gnn_status check_names(struct check *c, const char *name, uint32_t count, struct gnn_err *err)
{
    if (gnn_meta_find_file(c->meta, name) == NULL)
        return GNN_OK;
    c->lines = 0;
    GNN_TRY(check_file(c, name, 1, visit_names, err));
    if (c->lines != count)
        return gnn_fail(err, GNN_EFORMAT, "%s/%s: %" PRIu64 " lines, expected a name for each of %" PRIu32, c->dir,
                        name, c->lines, count);
    return GNN_OK;
}

static enum gnn_status check_triples(struct check *c, struct gnn_err *err)
{
    if (c->meta->relation_count == 0)
        return GNN_OK;
    for (int split = 0; split < 3; split++)
        GNN_TRY(check_file(c, gnn_meta_triples_name(split), sizeof(uint32_t), visit_triples, err));
    GNN_TRY(check_names(c, GNN_META_NODE_NAMES, c->meta->node_count, err));
    return check_names(c, GNN_META_RELATION_NAMES, c->meta->relation_count, err);
}

static enum gnn_status check_splits(const struct check *c, struct gnn_err *err)
{
    const uint32_t counts[] = {c->meta->train_count, c->meta->valid_count, c->meta->test_count};
    char paths[3][GNN_OUTPUT_PATH];
    for (int i = 0; i < 3; i++)
        gnn_dataset_path(c->dir, split_names[i], paths[i]);
    for (int i = 0; i < 3; i++)
        GNN_TRY(gnn_check_split(c->splits[i], counts[i], c->meta->node_count, c->labels, paths[i], err));
    for (int i = 0; i < 3; i++)
        for (int j = i + 1; j < 3; j++)
            GNN_TRY(gnn_check_disjoint(c->splits[i], counts[i], paths[i], c->splits[j], counts[j], paths[j], err));
    return GNN_OK;
}

static enum gnn_status check_contents(struct check *c, struct gnn_err *err)
{
    GNN_TRY(check_file(c, "indptr", sizeof(uint64_t), visit_indptr, err));
    for (c->id_bytes = sizeof(gnn_node); c->id_bytes <= sizeof(uint64_t); c->id_bytes *= 2)
        if ((c->meta->id_widths & c->id_bytes) != 0)
            GNN_TRY(check_file(c, gnn_meta_indices_name(c->id_bytes), c->id_bytes, visit_topology, err));
    GNN_TRY(check_file(c, "labels", sizeof(int32_t), visit_labels, err));
    for (int i = 0; i < 3; i++)
        GNN_TRY(check_file(c, split_names[i], sizeof(gnn_node), visit_split, err));
    GNN_TRY(check_splits(c, err));
    for (uint32_t i = 0; i < c->meta->dim_count; i++) {
        char name[32];
        c->dim = c->meta->dims[i];
        c->feature_type = c->meta->types[i];
        gnn_meta_features_name(c->dim, c->feature_type, name, sizeof name);
        GNN_TRY(check_file(c, name, gnn_feature_type_bytes(c->feature_type), visit_features, err));
    }
    return check_triples(c, err);
}

static enum gnn_status check_full(struct check *c, struct gnn_err *err)
{
    const uint64_t nodes = c->meta->node_count;
    const uint64_t counts[] = {c->meta->train_count, c->meta->valid_count, c->meta->test_count};
    GNN_NEW(c->chunk, CHUNK_BYTES, err, "chunk of a file");
    GNN_NEW(c->indptr, nodes + 1, err, "tables to check %" PRIu64 " nodes", nodes);
    GNN_NEW(c->labels, nodes + 1, err, "tables to check %" PRIu64 " nodes", nodes);
    for (int i = 0; i < 3; i++)
        GNN_NEW(c->splits[i], counts[i] + 1, err, "split of %" PRIu64 " nodes", counts[i]);
    return check_contents(c, err);
}

enum gnn_status gnn_prepare_check(const char *dir, bool full, gnn_progress_fn *progress, void *progress_ctx,
                                  const atomic_bool *stop, struct gnn_err *err)
{
    struct gnn_meta *meta;
    GNN_NEW(meta, 1, err, "meta");
    struct check c = {
        .dir = dir, .meta = meta, .job = {.progress = progress, .progress_ctx = progress_ctx, .stop = stop}};
    enum gnn_status status = gnn_read_meta(dir, meta, err);
    GNN_NEXT(status, check_sizes(&c, err));
    GNN_NEXT(status, check_unlisted(&c, err));
    if (status == GNN_OK && full)
        status = check_full(&c, err);
    for (int i = 0; i < 3; i++)
        free(c.splits[i]);
    free(c.labels);
    free(c.indptr);
    free(c.chunk);
    free(meta);
    return status;
}

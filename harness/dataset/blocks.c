/* SPDX-License-Identifier: MIT */
#include "harness/dataset/blocks.h"

#include "harness/base/rng.h"
#include "harness/dataset/read.h"
#include "harness/dataset/uncached.h"
#include "harness/storage/block_sums.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 4 }; /* of a run: features or three splits of triples, and neighbour IDs */

/* ---- the checksums ---- */

/* Reads one byte more than there should be, so that a longer file is noticed. */
static enum gnn_status load(const char *path, struct gnn_blocks *blocks, struct gnn_err *err)
{
    const uint64_t bytes = blocks->count * sizeof *blocks->sums;
    uint64_t got = 0;
    int fd;
    blocks->sums = malloc(bytes + 1);
    if (blocks->sums == NULL)
        return gnn_fail(err, GNN_ENOMEM, "checksums of %" PRIu64 " blocks", blocks->count);
    GNN_TRY(gnn_open_regular(path, &fd, err));
    const enum gnn_status status = gnn_read_bytes(fd, blocks->sums, bytes + 1, path, &got, err);
    (void)close(fd);
    GNN_TRY(status);
    if (got != bytes)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: %s than the %" PRIu64 " B of %" PRIu64 " blocks; prepare the dataset again", path,
                        got < bytes ? "shorter" : "longer", bytes, blocks->count);
    return GNN_OK;
}

enum gnn_status gnn_blocks_open(const char *dir, const struct gnn_meta *meta, const char *name, struct gnn_blocks *out,
                                struct gnn_err *err)
{
    char path[GNN_OUTPUT_PATH], file[GNN_META_NAME], found[GNN_CHECKSUM_TEXT];
    const char *const expected = gnn_meta_blocks(meta, name);
    *out = (struct gnn_blocks){.sums = NULL};
    if (expected == NULL)
        return GNN_OK;
    assert(gnn_meta_find_file(meta, name) != NULL);
    out->count = gnn_block_count(gnn_meta_find_file(meta, name)->bytes);
    gnn_meta_blocks_name(name, file);
    gnn_dataset_path(dir, file, path);
    GNN_TRY(load(path, out, err));
    gnn_checksum_of(out->sums, out->count * sizeof *out->sums, found);
    if (strcmp(found, expected) != 0)
        return gnn_fail(err, GNN_EFORMAT, "%s: checksum %s, meta has %s; prepare the dataset again", path, found,
                        expected);
    return GNN_OK;
}

void gnn_blocks_close(struct gnn_blocks *blocks)
{
    free(blocks->sums);
    *blocks = (struct gnn_blocks){.sums = NULL};
}

enum gnn_status gnn_blocks_compare(const struct gnn_blocks *blocks, const char *path, uint64_t block, const void *data,
                                   uint64_t bytes, struct gnn_err *err)
{
    assert(blocks->sums != NULL);
    assert(block < blocks->count);
    assert(bytes <= GNN_BLOCK_BYTES);
    const uint64_t found = gnn_block_sum(data, bytes);
    if (found == blocks->sums[block])
        return GNN_OK;
    return gnn_fail(err, GNN_EFORMAT,
                    "%s: the %" PRIu64 " B at offset %" PRIu64 " have checksum %016" PRIx64 ", expected %016" PRIx64
                    ": they were changed or damaged after the dataset was prepared; remove the dataset and prepare it "
                    "again",
                    path, bytes, block * GNN_BLOCK_BYTES, found, blocks->sums[block]);
}

/* ---- a sample ---- */

/* Names of the files that a run reads while it trains; returns how many. */
static uint32_t files_of_run(const struct gnn_meta *meta, uint32_t dim, enum gnn_feature_type type, uint32_t id_bytes,
                             char names[FILES_MAX][GNN_META_NAME])
{
    uint32_t count = 0;
    (void)snprintf(names[count++], GNN_META_NAME, "%s", gnn_meta_indices_name(id_bytes));
    if (meta->relation_count == 0)
        gnn_meta_features_name(dim, type, names[count++], GNN_META_NAME);
    for (int split = 0; split < 3 && meta->relation_count > 0; split++)
        (void)snprintf(names[count++], GNN_META_NAME, "%s", gnn_meta_triples_name(split));
    assert(count <= FILES_MAX);
    return count;
}

static enum gnn_status compare_parts(struct gnn_uncached *file, uint64_t file_bytes, const struct gnn_blocks *blocks,
                                     uint64_t parts, struct gnn_rng rng, struct gnn_err *err)
{
    for (uint64_t part = 0; part < parts; part++) {
        const uint64_t first = blocks->count * part / parts, end = blocks->count * (part + 1) / parts;
        const uint64_t block = first + gnn_rng_below(&rng, end - first), offset = block * GNN_BLOCK_BYTES;
        const uint64_t bytes = gnn_min_u64(file_bytes - offset, GNN_BLOCK_BYTES);
        const void *data;
        assert(block < end);
        GNN_TRY(gnn_uncached_read(file, offset, bytes, &data, err));
        GNN_TRY(gnn_blocks_compare(blocks, file->path, block, data, bytes, err));
    }
    return GNN_OK;
}

static enum gnn_status compare_file(const char *dir, const struct gnn_meta *meta, const char *name, uint64_t most,
                                    uint64_t seed, struct gnn_blocks_sample *out, struct gnn_err *err)
{
    const struct gnn_meta_file *const entry = gnn_meta_find_file(meta, name);
    char path[GNN_OUTPUT_PATH];
    struct stat info;
    struct gnn_blocks blocks;
    struct gnn_uncached file = {.fd = -1};
    gnn_dataset_path(dir, name, path);
    if (entry == NULL || stat(path, &info) != 0 || !S_ISREG(info.st_mode) || (uint64_t)info.st_size != entry->bytes)
        return GNN_OK;
    out->unknown = out->unknown || gnn_meta_blocks(meta, name) == NULL;
    enum gnn_status status = gnn_blocks_open(dir, meta, name, &blocks, err);
    if (status == GNN_OK && blocks.sums != NULL) {
        const uint64_t parts = gnn_min_u64(blocks.count, most);
        status = gnn_uncached_open(path, GNN_BLOCK_BYTES, &file, err);
        GNN_NEXT(status, compare_parts(&file, entry->bytes, &blocks, parts, gnn_rng_at(gnn_rng_fork(seed, name)), err));
        out->compared += parts;
    }
    gnn_uncached_close(&file);
    gnn_blocks_close(&blocks);
    return status;
}

enum gnn_status gnn_blocks_compare_sample(const char *dir, uint32_t dim, enum gnn_feature_type type, uint32_t id_bytes,
                                          uint64_t seed, struct gnn_blocks_sample *out, struct gnn_err *err)
{
    char names[FILES_MAX][GNN_META_NAME];
    struct gnn_meta *meta;
    *out = (struct gnn_blocks_sample){.compared = 0};
    GNN_NEW(meta, 1, err, "meta of %s", dir);
    enum gnn_status status = gnn_read_meta(dir, meta, err);
    const uint32_t files = status == GNN_OK ? files_of_run(meta, dim, type, id_bytes, names) : 0;
    for (uint32_t i = 0; i < files && status == GNN_OK; i++)
        status = compare_file(dir, meta, names[i], GNN_BLOCKS_SAMPLED / files, seed, out, err);
    free(meta);
    return status;
}

/* SPDX-License-Identifier: MIT */
/* Adds the checksums of blocks (storage/block_sums.h) to a dataset that was prepared without them. */
#include "harness/dataset/lock.h"
#include "harness/dataset/output.h"
#include "harness/dataset/read.h"
#include "harness/storage/block_sums.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK_BYTES = 4 << 20 };

/* Reads a file once, for its own checksum and for those of its blocks. */
struct pass {
    const struct gnn_prepare_job *job;
    const struct gnn_meta_file *file;
    char path[GNN_OUTPUT_PATH];
    int fd;
    struct gnn_checksum *checksum;
    struct gnn_block_sums *blocks;
    char *chunk; /* CHUNK_BYTES */
};

static enum gnn_status open_pass(struct pass *p, const struct gnn_prepare_job *job, const struct gnn_meta_file *file,
                                 struct gnn_err *err)
{
    *p = (struct pass){.job = job, .file = file, .fd = -1};
    gnn_dataset_path(job->out_dir, file->name, p->path);
    GNN_NEW(p->chunk, CHUNK_BYTES, err, "chunk of a file");
    GNN_TRY(gnn_open_regular(p->path, &p->fd, err));
    GNN_TRY(gnn_checksum_open(&p->checksum, err));
    return gnn_block_sums_open(&p->blocks, err);
}

static void close_pass(struct pass *p)
{
    if (p->fd >= 0)
        (void)close(p->fd);
    gnn_checksum_close(p->checksum);
    gnn_block_sums_close(p->blocks);
    free(p->chunk);
}

/* Fails unless the file is the one that meta lists: what is damaged already gets no checksums. */
static enum gnn_status read_whole(const struct pass *p, struct gnn_err *err)
{
    struct gnn_ticker ticker;
    char text[GNN_CHECKSUM_TEXT];
    uint64_t got = CHUNK_BYTES;
    gnn_ticker_start(&ticker, p->job, p->file->name, "B", p->file->bytes);
    for (uint64_t done = 0; got == CHUNK_BYTES; done += got) {
        GNN_TRY(gnn_read_bytes(p->fd, p->chunk, CHUNK_BYTES, p->path, &got, err));
        gnn_checksum_add(p->checksum, p->chunk, got);
        gnn_block_sums_add(p->blocks, p->chunk, got);
        GNN_TRY(gnn_ticker_set(&ticker, done + got, err));
    }
    gnn_ticker_end(&ticker);
    gnn_checksum_text(p->checksum, text);
    if (strcmp(text, p->file->checksum) != 0)
        return gnn_fail(
            err, GNN_EFORMAT,
            "%s: checksum %s, meta has %s: it was changed or damaged after the dataset was prepared; remove "
            "the dataset and prepare it again",
            p->path, text, p->file->checksum);
    return GNN_OK;
}

static enum gnn_status add_to_file(const struct gnn_prepare_job *job, const struct gnn_meta_file *file,
                                   struct gnn_output *output, struct gnn_meta *meta, struct gnn_err *err)
{
    struct pass p;
    enum gnn_status status = open_pass(&p, job, file, err);
    GNN_NEXT(status, read_whole(&p, err));
    GNN_NEXT(status, gnn_out_blocks(output, file->name, p.blocks, meta, err));
    close_pass(&p);
    return status;
}

/* Files whose blocks have no checksums; returns how many. */
static uint32_t list_lacking(const struct gnn_meta *meta, const struct gnn_meta_file *files[GNN_META_FILES_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < meta->file_count; i++)
        if (gnn_meta_is_blocked(meta->files[i].name) && gnn_meta_blocks(meta, meta->files[i].name) == NULL)
            files[count++] = &meta->files[i];
    return count;
}

static enum gnn_status add_all(const struct gnn_prepare_job *job, struct gnn_meta *meta, struct gnn_err *err)
{
    const struct gnn_meta_file *files[GNN_META_FILES_MAX];
    char names[GNN_META_FILES_MAX][GNN_META_NAME];
    const char *written[GNN_META_FILES_MAX];
    struct gnn_output output = {0};
    GNN_TRY(gnn_read_meta(job->out_dir, meta, err));
    const uint32_t count = list_lacking(meta, files);
    if (count == 0)
        return GNN_OK;
    enum gnn_status status = gnn_output_open(job, 0, &output, err);
    for (uint32_t i = 0; i < count && status == GNN_OK; i++) {
        gnn_meta_blocks_name(files[i]->name, names[i]);
        written[i] = names[i];
        status = add_to_file(job, files[i], &output, meta, err);
    }
    GNN_NEXT(status, gnn_output_commit_files(&output, written, count, meta, err));
    gnn_output_close(&output);
    return status;
}

enum gnn_status gnn_prepare_add_checksums(const struct gnn_prepare_job *job, struct gnn_err *err)
{
    struct gnn_meta *meta;
    int lock_fd = -1;
    GNN_NEW(meta, 1, err, "meta");
    enum gnn_status status = gnn_dataset_lock(job, job->out_dir, &lock_fd, err);
    GNN_NEXT(status, add_all(job, meta, err));
    if (lock_fd >= 0)
        (void)close(lock_fd);
    free(meta);
    return status;
}

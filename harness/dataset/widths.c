/* SPDX-License-Identifier: MIT */
#include "harness/dataset/widths.h"

#include "harness/dataset/earlier.h"
#include "harness/dataset/lock.h"
#include "harness/dataset/read.h"
#include "harness/graph/invariants.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK_IDS = 1 << 17 };

static enum gnn_status check_param(const char *dir, const struct gnn_meta *have, const char *key, const char *wanted,
                                   struct gnn_err *err)
{
    const char *const value = gnn_meta_param(have, key), *const lacks = gnn_dataset_lacks_since(have);
    if (value != NULL && strcmp(value, wanted) == 0)
        return GNN_OK;
    if (lacks != NULL)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s has the graph %s of an earlier version, without %s. Runs still accept it. To generate the "
                        "present graph, remove it or choose another directory with --out",
                        dir, have->name, lacks);
    return gnn_fail(err, GNN_EUSAGE, "%s was made with %s %s, not %s: remove it or choose another directory", dir, key,
                    value != NULL ? value : "unknown", wanted);
}

enum gnn_status gnn_check_same(const char *dir, const struct gnn_meta *have, const struct gnn_meta *want,
                               struct gnn_err *err)
{
    if (strcmp(have->name, want->name) != 0 || have->scale_divisor != want->scale_divisor)
        return gnn_fail(err, GNN_EUSAGE, "%s holds %s at 1/%" PRIu32 ": remove it or choose another directory", dir,
                        have->name, have->scale_divisor);
    for (uint32_t i = 0; i < want->param_count; i++)
        GNN_TRY(check_param(dir, have, want->params[i].key, want->params[i].value, err));
    if (gnn_meta_param(have, GNN_META_TRAIN_SHARE) != NULL && gnn_meta_param(want, GNN_META_TRAIN_SHARE) == NULL)
        return check_param(dir, have, GNN_META_TRAIN_SHARE, "0", err);
    return GNN_OK;
}

/* ---- converting lists ---- */

struct conversion {
    const struct gnn_meta *meta;
    const struct gnn_meta_file *file; /* the lists that are there */
    char path[GNN_OUTPUT_PATH];
    int fd;
    uint32_t id_bytes; /* of an ID in it */
    struct gnn_checksum *checksum;
    void *stored;  /* (CHUNK_IDS), id_bytes each */
    gnn_node *ids; /* (CHUNK_IDS) */
    struct gnn_ticker ticker;
};

static enum gnn_status convert_chunk(struct conversion *c, uint64_t first, uint64_t count, uint32_t to_bytes,
                                     struct gnn_out_file *out, struct gnn_err *err)
{
    uint64_t got = 0;
    GNN_TRY(gnn_read_bytes(c->fd, c->stored, count * c->id_bytes, c->path, &got, err));
    if (got < count * c->id_bytes)
        return gnn_fail(err, GNN_ESHORT, "%s: ends after %" PRIu64 " of %" PRIu64 " B", c->path,
                        first * c->id_bytes + got, c->file->bytes);
    gnn_checksum_add(c->checksum, c->stored, got);
    GNN_TRY(gnn_check_ids(c->stored, c->id_bytes, count, first, c->meta->node_count, c->path, err));
    gnn_ids_narrow(c->stored, c->id_bytes, count, c->ids);
    GNN_TRY(gnn_out_ids(out, c->ids, count, to_bytes, err));
    return gnn_ticker_set(&c->ticker, first + count, err);
}

static enum gnn_status convert(struct conversion *c, uint32_t to_bytes, struct gnn_out_file *out, struct gnn_err *err)
{
    const uint64_t edges = c->meta->edge_count;
    for (uint64_t first = 0; first < edges; first += CHUNK_IDS)
        GNN_TRY(convert_chunk(c, first, gnn_min_u64(edges - first, CHUNK_IDS), to_bytes, out, err));
    gnn_ticker_end(&c->ticker);
    char text[GNN_CHECKSUM_TEXT];
    gnn_checksum_text(c->checksum, text);
    if (strcmp(text, c->file->checksum) != 0)
        return gnn_fail(err, GNN_EFORMAT, "%s: checksum %s, meta has %s", c->path, text, c->file->checksum);
    return GNN_OK;
}

static enum gnn_status conversion_open(struct conversion *c, const struct gnn_prepare_job *job,
                                       const struct gnn_meta *meta, uint32_t id_bytes, struct gnn_err *err)
{
    *c = (struct conversion){.meta = meta, .fd = -1, .id_bytes = id_bytes};
    c->file = gnn_meta_find_file(meta, gnn_meta_indices_name(id_bytes));
    assert(c->file != NULL); /* meta lists a file for each width that it names */
    gnn_dataset_path(job->out_dir, c->file->name, c->path);
    gnn_ticker_start(&c->ticker, job, "lists", "edges", meta->edge_count);
    GNN_NEW(c->ids, CHUNK_IDS, err, "chunk of lists");
    c->stored = malloc((size_t)CHUNK_IDS * id_bytes);
    if (c->stored == NULL)
        return gnn_fail(err, GNN_ENOMEM, "chunk of lists");
    GNN_TRY(gnn_open_regular(c->path, &c->fd, err));
    return gnn_checksum_open(&c->checksum, err);
}

static void conversion_close(struct conversion *c)
{
    if (c->fd >= 0)
        (void)close(c->fd);
    gnn_checksum_close(c->checksum);
    free(c->stored);
    free(c->ids);
}

/* Writes the file into the partial directory and enters it into meta. */
static enum gnn_status write_converted(const struct gnn_prepare_job *job, struct gnn_output *output, uint32_t to_bytes,
                                       struct gnn_meta *meta, struct gnn_err *err)
{
    const uint32_t from_bytes = meta->id_widths & ~to_bytes;
    struct conversion c;
    struct gnn_out_file *out = NULL;
    enum gnn_status status = conversion_open(&c, job, meta, from_bytes, err);
    GNN_NEXT(status, gnn_out_open(output, gnn_meta_indices_name(to_bytes), 4096, GNN_OUT_DATASET, &out, err));
    GNN_NEXT(status, convert(&c, to_bytes, out, err));
    conversion_close(&c);
    status = gnn_out_end(out, status, meta, err);
    if (status == GNN_OK)
        meta->id_widths |= to_bytes;
    return status;
}

enum gnn_status gnn_add_id_width(const struct gnn_prepare_job *job, struct gnn_meta *have, uint32_t id_bytes,
                                 struct gnn_err *err)
{
    struct gnn_output output = {0};
    assert((have->id_widths & id_bytes) == 0);
    enum gnn_status status = gnn_output_open(job, gnn_mul_bytes(have->edge_count, id_bytes), &output, err);
    GNN_NEXT(status, write_converted(job, &output, id_bytes, have, err));
    GNN_NEXT(status, gnn_output_commit_into(&output, gnn_meta_indices_name(id_bytes), have, err));
    gnn_output_close(&output);
    return status;
}

/* Whether `have` has every width of features that `want` names. */
static bool has_dims(const struct gnn_meta *have, const struct gnn_meta *want)
{
    char name[32];
    for (uint32_t i = 0; i < want->dim_count; i++) {
        gnn_meta_features_name(want->dims[i], want->types[i], name, sizeof name);
        if (gnn_meta_find_file(have, name) == NULL)
            return false;
    }
    return true;
}

/* Reads the dataset that is there and finds whether it lacks the neighbour IDs. */
static enum gnn_status find_lacking(const struct gnn_prepare_job *job, const struct gnn_meta *want, uint32_t id_bytes,
                                    struct gnn_meta *have, bool *lacks, struct gnn_err *err)
{
    struct gnn_err unread = {0};
    const bool dataset = gnn_read_meta(job->out_dir, have, &unread) == GNN_OK;
    if (dataset)
        GNN_TRY(gnn_check_same(job->out_dir, have, want, err));
    if (!dataset || !has_dims(have, want))
        return gnn_fail(err, GNN_EUSAGE, "%s exists already: remove it or choose another name", job->out_dir);
    *lacks = (have->id_widths & id_bytes) == 0;
    return GNN_OK;
}

static enum gnn_status add_if_absent(const struct gnn_prepare_job *job, const struct gnn_meta *want, uint32_t id_bytes,
                                     struct gnn_meta *have, struct gnn_err *err)
{
    bool lacks;
    GNN_TRY(find_lacking(job, want, id_bytes, have, &lacks, err));
    return lacks ? gnn_add_id_width(job, have, id_bytes, err) : GNN_OK;
}

/* Returns without the lock if the width exists. Otherwise it reads meta again under the lock, then adds the width. */
enum gnn_status gnn_add_id_width_alone(const struct gnn_prepare_job *job, const struct gnn_meta *want,
                                       uint32_t id_bytes, struct gnn_err *err)
{
    struct gnn_meta *have;
    bool lacks = false;
    int lock_fd = -1;
    GNN_NEW(have, 1, err, "meta");
    enum gnn_status status = find_lacking(job, want, id_bytes, have, &lacks, err);
    if (status == GNN_OK && lacks) {
        status = gnn_dataset_lock(job, job->out_dir, &lock_fd, err);
        GNN_NEXT(status, add_if_absent(job, want, id_bytes, have, err));
    }
    if (lock_fd >= 0)
        (void)close(lock_fd);
    free(have);
    return status;
}

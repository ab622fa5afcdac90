/* SPDX-License-Identifier: MIT */
/* The members of the splits of an import, in every form in which they are shipped. Keys are (node << 2 | split): one
 * sort puts all three splits in the order of the labels and shows overlaps. */
#include "harness/dataset/import_parts.h"
#include "harness/dataset/sorter.h"
#include "harness/dataset/torch_dict.h"

#include "harness/base/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_EVERY = 65536 /* nodes between two looks at the stop flag */ };

/* Where the members of one split go. */
struct members {
    const struct gnn_importer *importer;
    struct gnn_sorter *sorter;
    const char *path; /* for messages */
    int split;
};

static enum gnn_status add_member(const struct members *m, int64_t node, struct gnn_err *err)
{
    const uint32_t nodes = m->importer->meta.node_count;
    if (node < 0 || node >= nodes)
        return gnn_fail(err, GNN_EFORMAT, "%s: node %" PRId64 ", expected 0 to %" PRIu32, m->path, node, nodes - 1);
    return gnn_sorter_add(m->sorter, (uint64_t)node << 2 | (uint64_t)m->split, err);
}

/* ---- arrays ---- */

static enum gnn_status add_ids(const struct members *m, struct gnn_npy *npy, struct gnn_err *err)
{
    const uint64_t items = npy->header.items;
    for (uint64_t first = 0; first < items; first += GNN_NPY_BATCH) {
        int64_t nodes[GNN_NPY_BATCH];
        const uint64_t count = gnn_min_u64(items - first, GNN_NPY_BATCH);
        GNN_TRY(gnn_job_stopped(m->importer->job, "splits", err));
        GNN_TRY(gnn_npy_read_i64(npy, nodes, count, err));
        for (uint64_t i = 0; i < count; i++)
            GNN_TRY(add_member(m, nodes[i], err));
    }
    return gnn_npy_expect_end(npy, err);
}

/* A truth value per node: [N], the first row of [K, N], or the first column of [N, K]. */
static enum gnn_status add_mask(const struct members *m, struct gnn_npy *npy, struct gnn_err *err)
{
    const struct gnn_npy_header *const h = &npy->header;
    const uint64_t nodes = m->importer->meta.node_count;
    const bool rows = h->dim_count == 2 && h->shape[1] == nodes && h->shape[0] != nodes;
    const uint64_t stride = h->dim_count == 2 && !rows ? h->shape[1] : 1;
    if (h->dim_count == 0 || stride == 0 || (!rows && h->shape[0] != nodes))
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: a mask of %" PRIu64 " values, expected one for each of the %" PRIu64 " nodes", m->path,
                        h->items, nodes);
    if (h->items != nodes)
        gnn_log_warn("%s has %" PRIu64 " masks: the first one is the split", m->path, h->items / nodes);
    int64_t values[GNN_NPY_BATCH];
    for (uint64_t first = 0; first < nodes * stride; first += GNN_NPY_BATCH) {
        const uint64_t count = gnn_min_u64(nodes * stride - first, GNN_NPY_BATCH);
        GNN_TRY(gnn_job_stopped(m->importer->job, "splits", err));
        GNN_TRY(gnn_npy_read_i64(npy, values, count, err));
        for (uint64_t i = 0; i < count; i++) {
            if ((first + i) % stride != 0 || values[i] == 0)
                continue;
            if (values[i] != 1)
                return gnn_fail(err, GNN_EFORMAT, "%s: node %" PRIu64 " has the value %" PRId64 ", expected 0 or 1",
                                m->path, (first + i) / stride, values[i]);
            GNN_TRY(add_member(m, (int64_t)((first + i) / stride), err));
        }
    }
    return rows ? GNN_OK : gnn_npy_expect_end(npy, err);
}

/* A list of truth values is a mask, whatever its name. */
static enum gnn_status add_array(const struct members *m, struct gnn_npy *npy, bool mask, struct gnn_err *err)
{
    return mask || npy->header.kind == 'b' ? add_mask(m, npy, err) : add_ids(m, npy, err);
}

static enum gnn_status add_file(const struct members *m, bool mask, struct gnn_err *err)
{
    struct gnn_npy *npy;
    GNN_TRY(gnn_npy_open(m->path, &npy, err));
    const enum gnn_status status = add_array(m, npy, mask, err);
    gnn_npy_close(npy);
    return status;
}

/* A dictionary may have no validation or test nodes. */
static enum gnn_status add_torch(const struct members *m, struct gnn_err *err)
{
    static const char *const keys[GNN_FIND_SPLITS][5] = {
        {"train", "training", "train_idx", "train_mask"}, {"valid", "val", "dev", "valid_idx"}, {"test", "test_idx"}};
    struct gnn_torch_array array;
    bool found = false;
    GNN_TRY(gnn_torch_open(m->path, keys[m->split], gnn_import_budget(m->importer) / 2, &array, &found, err));
    if (!found && m->split > 0)
        return GNN_OK;
    if (!found)
        return gnn_fail(err, GNN_EFORMAT, "%s has no member \"train\": a split needs its training nodes", m->path);
    const enum gnn_status status = add_array(m, array.npy, false, err);
    gnn_torch_close(&array);
    return status;
}

/* ---- text ---- */

static enum gnn_status fail_line(const struct gnn_input *input, const char *line, struct gnn_err *err)
{
    const char *way = "write an ID per line";
    if (input->line == 1 && strpbrk(line, ",; \t") != NULL)
        way = strspn(line, "0123456789,; \t") == strlen(line) ? "`tr ',; ' '\\n'` writes an ID per line"
                                                              : "`tail -n +2 | cut -d, -f2` keeps the second column";
    return gnn_fail(err, GNN_EFORMAT, "%s:%" PRIu64 ": not a node ID: '%.60s'; %s", input->path, input->line, line,
                    way);
}

/* A first line of letters is the name of the column. */
static bool is_heading(const struct gnn_input *input, const char *line)
{
    return input->line == 1 && strpbrk(line, "0123456789,;\t") == NULL;
}

/* Returns a line without a byte order mark, and without blanks and quotes around it. */
static char *trim(const struct gnn_input *input, char *line)
{
    static const char mark[] = "\xEF\xBB\xBF";
    line += input->line == 1 && strncmp(line, mark, 3) == 0 ? 3 : 0;
    line += strspn(line, " \t\"");
    size_t length = strlen(line);
    while (length > 0 && strchr(" \t\r\"", line[length - 1]) != NULL)
        length--;
    line[length] = '\0';
    return line;
}

static enum gnn_status add_line(const struct members *m, const struct gnn_input *input, const char *line,
                                struct gnn_err *err)
{
    char *end;
    errno = 0;
    const long long node = strtoll(line, &end, 10);
    if (line[0] == '\0')
        return GNN_OK;
    if (is_heading(input, line)) {
        gnn_log_warn("%s:1 has the name of the column and is not read as a node ID", m->path);
        return GNN_OK;
    }
    if (errno != 0 || end == line || *end != '\0')
        return fail_line(input, line, err);
    return add_member(m, node, err);
}

static enum gnn_status add_lines(const struct members *m, struct gnn_err *err)
{
    struct gnn_input *input;
    char line[GNN_INPUT_LINE_MAX];
    GNN_TRY(gnn_input_open(m->path, &input, err));
    enum gnn_status status = GNN_OK;
    for (bool more = true; status == GNN_OK && more;) {
        status = input->line % LOOK_EVERY == 0 ? gnn_job_stopped(m->importer->job, "splits", err) : GNN_OK;
        GNN_NEXT(status, gnn_input_line(input, line, &more, err));
        if (status == GNN_OK && more)
            status = add_line(m, input, trim(input, line), err);
    }
    gnn_input_close(input);
    return status;
}

/* ---- by the order of the IDs ---- */

/* The shares of the nodes that can have a label, one after the other. Shares that add up to 1 leave out no node. */
static enum gnn_status add_by_id(const struct gnn_importer *importer, struct gnn_sorter *sorter, struct gnn_err *err)
{
    const struct gnn_import_options *const o = importer->options;
    const double shares[GNN_FIND_SPLITS] = {o->train_fraction, o->valid_fraction, o->test_fraction};
    const uint64_t labelled = importer->labelled, nodes = importer->meta.node_count;
    const uint64_t count = labelled > 0 ? gnn_min_u64(labelled, nodes) : nodes;
    const bool whole = shares[0] + shares[1] + shares[2] > 1 - 1e-9;
    uint64_t node = 0;
    for (int i = 0; i < GNN_FIND_SPLITS; i++) {
        const struct members m = {.importer = importer, .sorter = sorter, .path = "--split-by-id", .split = i};
        uint64_t end = node + (uint64_t)((double)count * shares[i]);
        if ((whole && i == GNN_FIND_SPLITS - 1) || end > count)
            end = count;
        for (; node < end; node++) {
            if (node % LOOK_EVERY == 0)
                GNN_TRY(gnn_job_stopped(importer->job, "splits", err));
            GNN_TRY(add_member(&m, (int64_t)node, err));
        }
    }
    return GNN_OK;
}

enum gnn_status gnn_import_split_members(const struct gnn_importer *importer, const struct gnn_node_files *files,
                                         struct gnn_sorter *sorter, struct gnn_err *err)
{
    if (importer->source->split_by_id)
        return add_by_id(importer, sorter, err);
    for (int i = 0; i < GNN_FIND_SPLITS; i++) {
        const struct gnn_split_file *const file = &files->arrays.split[i];
        const struct members m = {.importer = importer, .sorter = sorter, .path = file->path, .split = i};
        switch (file->form) {
        case GNN_SPLIT_NONE:
            break;
        case GNN_SPLIT_LINES:
            GNN_TRY(add_lines(&m, err));
            break;
        case GNN_SPLIT_IDS:
        case GNN_SPLIT_MASK:
            GNN_TRY(add_file(&m, file->form == GNN_SPLIT_MASK, err));
            break;
        case GNN_SPLIT_TORCH:
            GNN_TRY(add_torch(&m, err));
            break;
        }
    }
    return GNN_OK;
}

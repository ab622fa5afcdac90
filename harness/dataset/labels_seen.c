/* SPDX-License-Identifier: MIT */
#include "harness/dataset/labels_seen.h"

#include "harness/base/log.h"
#include "harness/dataset/import_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLASSES_A_NODE = 16, /* more are the numbers of something else */
    CLASSES_PLAUSIBLE = 65536,
    WORDS = GNN_IMPORT_CLASSES_MAX / 64,
};

struct gnn_labels_seen {
    int32_t largest;
    uint64_t largest_nodes; /* how many have it */
    uint64_t *bits;         /* (WORDS) */
};

/* ---- reading ---- */

bool gnn_labels_fit(const struct gnn_npy_header *header, uint32_t column)
{
    if (header->dim_count == 1)
        return column == 0;
    return header->dim_count == 2 && (column > 0 ? column <= header->shape[1] : header->shape[1] == 1);
}

enum gnn_status gnn_labels_misfit(const struct gnn_npy_header *header, uint32_t column, const char *path,
                                  struct gnn_err *err)
{
    const uint64_t columns = header->dim_count == 2 ? header->shape[1] : 1;
    if (header->dim_count == 2 && column == 0 && columns > 1)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: expected the shape [N] or [N, 1], found %" PRIu64
                        " labels per node: add --label-column 1 to learn the first alone (1 to %" PRIu64
                        "); of one-hot labels, save a.argmax(axis=1)",
                        path, columns, columns);
    if (column > 0)
        return gnn_fail(err, GNN_EUSAGE, "--label-column %" PRIu32 ": %s has %" PRIu64 " column%s", column, path,
                        columns, columns == 1 ? "; leave the option out" : "s");
    return gnn_fail(err, GNN_EFORMAT, "%s: expected the shape [N] or [N, 1]", path);
}

enum gnn_status gnn_labels_read(struct gnn_npy *npy, uint32_t column, int64_t *out, uint64_t count, struct gnn_err *err)
{
    const uint64_t columns = npy->header.dim_count == 2 ? npy->header.shape[1] : 1;
    int64_t row[GNN_NPY_BATCH];
    if (columns == 1)
        return gnn_npy_read_i64(npy, out, count, err);
    assert(column >= 1);
    assert(column <= columns);
    for (uint64_t node = 0; node < count; node++)
        for (uint64_t first = 0; first < columns; first += GNN_NPY_BATCH) {
            const uint64_t step = gnn_min_u64(columns - first, GNN_NPY_BATCH);
            GNN_TRY(gnn_npy_read_i64(npy, row, step, err));
            if (column > first && column <= first + step)
                out[node] = row[column - 1 - first];
        }
    return GNN_OK;
}

/* ---- classes ---- */

enum gnn_status gnn_labels_seen_open(struct gnn_labels_seen **out, struct gnn_err *err)
{
    struct gnn_labels_seen *seen;
    GNN_NEW(seen, 1, err, "classes");
    seen->largest = -1;
    seen->bits = calloc(WORDS, sizeof *seen->bits);
    if (seen->bits == NULL) {
        gnn_labels_seen_close(seen);
        return gnn_fail(err, GNN_ENOMEM, "classes");
    }
    *out = seen;
    return GNN_OK;
}

void gnn_labels_seen_close(struct gnn_labels_seen *seen)
{
    if (seen == NULL)
        return;
    free(seen->bits);
    free(seen);
}

void gnn_labels_seen_add(struct gnn_labels_seen *seen, const int32_t *labels, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (labels[i] < 0)
            continue;
        assert(labels[i] < GNN_IMPORT_CLASSES_MAX);
        seen->bits[labels[i] / 64] |= UINT64_C(1) << (labels[i] % 64);
        if (labels[i] > seen->largest) {
            seen->largest = labels[i];
            seen->largest_nodes = 0;
        }
        seen->largest_nodes += labels[i] == seen->largest;
    }
}

/* Whether programs use the number for "none": the largest of an integer type, or nines. */
static bool means_none(int32_t label)
{
    static const int32_t numbers[] = {99, 127, 255, 999, 9999, 32767, 65535, 99999, 999999, 9999999};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] == label)
            return true;
    return false;
}

enum gnn_status gnn_labels_seen_judge(const struct gnn_labels_seen *seen, uint64_t nodes, const char *path,
                                      struct gnn_err *err)
{
    assert(seen->largest >= 0);
    const uint64_t classes = (uint64_t)seen->largest + 1;
    uint64_t occurring = 0;
    for (uint64_t word = 0; word <= (uint64_t)seen->largest / 64; word++)
        occurring += (uint64_t)__builtin_popcountll(seen->bits[word]);
    const int32_t below = seen->largest - 1;
    const bool gap = below >= 0 && ((seen->bits[below / 64] >> (below % 64)) & 1) == 0;
    if (classes > gnn_max_u64(gnn_mul_bytes(nodes, CLASSES_A_NODE), CLASSES_PLAUSIBLE))
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: %" PRIu64 " classes for %" PRIu64
                        " nodes: number the classes 0, 1, 2 and so on (numpy.unique(y, return_inverse=True)), or add "
                        "--classes %" PRIu64 " to confirm them",
                        path, classes, nodes, classes);
    if ((seen->bits[0] & 1) == 0 && occurring + 1 == classes && classes > 2)
        gnn_log_warn("%s: no node has label 0, and every other class up to %" PRId32
                     " has nodes: if the labels start at 1, save a - 1",
                     path, seen->largest);
    if (2 * occurring < classes || (gap && means_none(seen->largest)))
        gnn_log_warn("%s: %" PRIu64 " classes, %" PRIu64 " of them without a node; %" PRIu64
                     " nodes have the largest label. If it means none, add --unlabelled %" PRId32,
                     path, classes, classes - occurring, seen->largest_nodes, seen->largest);
    return GNN_OK;
}

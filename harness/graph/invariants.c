/* SPDX-License-Identifier: MIT */
#include "harness/graph/invariants.h"

#include "harness/base/id_width.h"

#include <assert.h>
#include <inttypes.h>

enum gnn_status gnn_check_indptr(const uint64_t *offsets, uint64_t count, uint64_t first, uint32_t node_count,
                                 uint64_t edge_count, uint64_t *previous, const char *path, struct gnn_err *err)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t at = first + i;
        const uint64_t low = at == 0 ? 0 : *previous;
        const uint64_t high = at == 0 ? 0 : edge_count;
        if (offsets[i] < low || offsets[i] > high)
            return gnn_fail(err, GNN_EFORMAT, "%s: offset %" PRIu64 " is %" PRIu64 ", expected %" PRIu64 " to %" PRIu64,
                            path, at, offsets[i], low, high);
        if (at == node_count && offsets[i] != edge_count)
            return gnn_fail(err, GNN_EFORMAT, "%s: the last offset is %" PRIu64 ", expected the edge count %" PRIu64,
                            path, offsets[i], edge_count);
        *previous = offsets[i];
    }
    return GNN_OK;
}

gnn_node gnn_indptr_find(const uint64_t *indptr, uint32_t node_count, uint64_t edge)
{
    assert(edge < indptr[node_count]);
    uint64_t low = 0, high = node_count; /* indptr[low] <= edge < indptr[high] */
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (indptr[middle] <= edge)
            low = middle;
        else
            high = middle;
    }
    assert(indptr[low] <= edge);
    assert(edge < indptr[low + 1]);
    return (gnn_node)low;
}

/* Returns the first that lies outside the graph, count if none. Compiled for each width on its own. */
static inline uint64_t first_outside(const void *ids, uint32_t id_bytes, uint64_t count, uint32_t node_count)
{
    uint64_t i = 0;
    while (i < count && gnn_id_at(ids, id_bytes, i) < node_count)
        i++;
    return i;
}

enum gnn_status gnn_check_ids(const void *ids, uint32_t id_bytes, uint64_t count, uint64_t first, uint32_t node_count,
                              const char *path, struct gnn_err *err)
{
    const uint64_t i = id_bytes == sizeof(gnn_node) ? first_outside(ids, sizeof(gnn_node), count, node_count)
                                                    : first_outside(ids, sizeof(uint64_t), count, node_count);
    if (i == count)
        return GNN_OK;
    return gnn_fail(err, GNN_EFORMAT, "%s: entry %" PRIu64 " is node %" PRIu64 ", expected below %" PRIu32, path,
                    first + i, gnn_id_stored(ids, id_bytes, i), node_count);
}

enum gnn_status gnn_check_labels(const int32_t *labels, uint64_t count, uint64_t first, uint32_t class_count,
                                 const char *path, struct gnn_err *err)
{
    for (uint64_t i = 0; i < count; i++)
        if (labels[i] < -1 || (labels[i] >= 0 && (uint32_t)labels[i] >= class_count))
            return gnn_fail(err, GNN_EFORMAT,
                            "%s: node %" PRIu64 " has label %" PRId32 ", expected -1 or a class below %" PRIu32, path,
                            first + i, labels[i], class_count);
    return GNN_OK;
}

enum gnn_status gnn_check_split(const gnn_node *nodes, uint32_t count, uint32_t node_count, const int32_t *labels,
                                const char *path, struct gnn_err *err)
{
    GNN_TRY(gnn_check_ids(nodes, sizeof *nodes, count, 0, node_count, path, err));
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && nodes[i] <= nodes[i - 1])
            return gnn_fail(err, GNN_EFORMAT,
                            "%s: entry %" PRIu32 " is node %" PRIu32 ", expected above its predecessor %" PRIu32, path,
                            i, nodes[i], nodes[i - 1]);
        if (labels != NULL && labels[nodes[i]] < 0)
            return gnn_fail(err, GNN_EFORMAT, "%s: entry %" PRIu32 ": node %" PRIu32 " has no label", path, i,
                            nodes[i]);
    }
    return GNN_OK;
}

enum gnn_status gnn_check_disjoint(const gnn_node *a, uint32_t a_count, const char *a_path, const gnn_node *b,
                                   uint32_t b_count, const char *b_path, struct gnn_err *err)
{
    for (uint32_t i = 0, j = 0; i < a_count && j < b_count;) {
        if (a[i] == b[j])
            return gnn_fail(err, GNN_EFORMAT, "node %" PRIu32 " is in %s and in %s", a[i], a_path, b_path);
        if (a[i] < b[j])
            i++;
        else
            j++;
    }
    return GNN_OK;
}

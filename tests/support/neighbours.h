/* SPDX-License-Identifier: MIT */
/* Entries of one list of a generated graph, drawn together. */
#ifndef GNN_TESTS_NEIGHBOURS_H
#define GNN_TESTS_NEIGHBOURS_H

#include "harness/graph/procedural.h"

/* Writes to out (count) the entries at offsets edge_offset[i] of the node's list, which begins at edge `begin`. */
static inline void draw_neighbours(const struct gnn_procedural *graph, gnn_node node, uint32_t degree, uint64_t begin,
                                   const uint64_t *edge_offset, uint64_t count, gnn_node *out)
{
    struct gnn_entries entries;
    gnn_procedural_collect(graph, &entries);
    gnn_procedural_add(graph, node, degree, begin, edge_offset, count, out, &entries);
    gnn_entries_draw(&entries);
}

#endif

/* SPDX-License-Identifier: MIT */
/* Draws many entries of lists outside the reachable set, eight in parallel (SIMD), as gnn_entry() (entry.h) draws one.
 * Each step of an entry depends on the step before. So entries of one or several lists are collected, and each step is
 * done for all of them before the next step. Internal to harness/graph/, except struct gnn_entries, which a caller puts
 * on its stack (procedural.h). */
#ifndef GNN_GRAPH_ENTRIES_H
#define GNN_GRAPH_ENTRIES_H

#include "harness/base/rng_lanes.h"
#include "harness/graph/entry.h"

enum { GNN_ENTRIES_GROUPS = 8, GNN_ENTRIES_MOST = GNN_ENTRIES_GROUPS * GNN_WIDE_LANES };

/* Entries that wait to be drawn, with the data of their lists and positions. The caller owns the memory. Initialised by
 * gnn_entries_open; nothing has to be closed. */
struct gnn_entries {
    const struct gnn_entry_law *law;
    uint32_t count;
    gnn_node *out[GNN_ENTRIES_MOST]; /* destination of each entry */
    gnn_wide key[GNN_ENTRIES_GROUPS], own_class[GNN_ENTRIES_GROUPS], own_node[GNN_ENTRIES_GROUPS],
        position[GNN_ENTRIES_GROUPS];
    gnn_wide start[GNN_ENTRIES_GROUPS], length[GNN_ENTRIES_GROUPS], pieces[GNN_ENTRIES_GROUPS],
        number[GNN_ENTRIES_GROUPS]; /* struct gnn_entry_part */
};

void gnn_entries_open(const struct gnn_entry_law *law, struct gnn_entries *out);

/* Adds the entries at positions edge_offset[i] - begin of a list outside the reachable set. Each is written to out[i]
 * by the next gnn_entries_draw or earlier. `list` is not used after the return, `out` is. */
void gnn_entries_add(struct gnn_entries *entries, const struct gnn_entry_list *list, uint64_t begin,
                     const uint64_t *edge_offset, uint64_t count, gnn_node *out);

/* Draws the entries that wait, and writes them. */
void gnn_entries_draw(struct gnn_entries *entries);

#endif

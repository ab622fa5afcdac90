/* SPDX-License-Identifier: MIT */
/* Many entries of lists outside the reach: what gnn_entry() (entry.h) gives one by one, eight side by side. Each step
 * of an entry waits for the one before, so that entries are collected, of one list or of several, and every step is
 * taken by all of them before the next. Internal to harness/graph/, but for a struct on a caller's stack
 * (procedural.h). */
#ifndef GNN_GRAPH_ENTRIES_H
#define GNN_GRAPH_ENTRIES_H

#include "harness/base/rng_lanes.h"
#include "harness/graph/entry.h"

enum { GNN_ENTRIES_GROUPS = 8, GNN_ENTRIES_MOST = GNN_ENTRIES_GROUPS * GNN_WIDE_LANES };

/* Entries that wait for their draw, and what their lists and positions are. Opened by gnn_entries_open, of the caller's
 * memory; nothing has to be closed. */
struct gnn_entries {
    const struct gnn_entry_law *law;
    uint32_t count;
    gnn_node *out[GNN_ENTRIES_MOST]; /* where each goes */
    gnn_wide key[GNN_ENTRIES_GROUPS], own_class[GNN_ENTRIES_GROUPS], own_node[GNN_ENTRIES_GROUPS],
        position[GNN_ENTRIES_GROUPS];
    gnn_wide start[GNN_ENTRIES_GROUPS], length[GNN_ENTRIES_GROUPS], pieces[GNN_ENTRIES_GROUPS],
        number[GNN_ENTRIES_GROUPS]; /* struct gnn_entry_part */
};

void gnn_entries_open(const struct gnn_entry_law *law, struct gnn_entries *out);

/* The entries at positions edge_offset[i] - begin of a list outside the reach go to out (count), by the next
 * gnn_entries_draw at the latest. The list is not kept. */
void gnn_entries_add(struct gnn_entries *entries, const struct gnn_entry_list *list, uint64_t begin,
                     const uint64_t *edge_offset, uint64_t count, gnn_node *out);

/* Draws those that wait. */
void gnn_entries_draw(struct gnn_entries *entries);

#endif

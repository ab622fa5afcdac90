/* SPDX-License-Identifier: MIT */
/* The prepared layout: the dataset's topology and features as blocks (AGNES, KDD 2026, section 3.2 (1)). Its directory
 * is <dataset>/agnes-<layout>-<Z>-<w>-<digest>/.
 *
 *   graph            Graph blocks (graph_blocks.h).
 *   order            New ID -> old ID, uint32. Absent for layout=input.
 *   index            A header of one page, then the object index table. Written last: if it exists, graph and order are
 *                    complete.
 *   features-d<dim>  Feature blocks, or features-f16-d<dim>. Block i holds rows [i r, (i + 1) r) with r = floor(Z / R);
 *                    the rest of Z is unused.
 *
 * Every file is written as <name>.part, synced and renamed, so a file with its final name is complete. The next
 * preparation overwrites what a crash leaves. */
#ifndef AGNES_LAYOUT_H
#define AGNES_LAYOUT_H

#include "harness/system/prepared.h"
#include "harness/system/scan.h"
#include "systems/agnes/graph_blocks.h"

struct agnes_config;

/* ---- prepare.c ---- */

struct agnes_layout_files {
    struct gnn_prepared prepared;
    struct gnn_file *graph, *features; /* features NULL with --sample-only */
    struct agnes_index index;
    gnn_node *new_to_old; /* (node_count), NULL if both numberings are the same */
    uint64_t prepare_ns;  /* of this open; 0 if nothing was prepared */
    uint64_t disk_bytes;  /* of the layout's files that this run uses, even if an earlier run wrote them */
};

/* Opens the prepared layout of a dataset and prepares the files that are absent. Blocks are filled window by window,
 * each window from one pass over the dataset's file. The number of passes is the file's size divided by the window's,
 * and only the maps grow with the graph. Preparation takes agnes_layout_least_bytes, and larger windows if the memory
 * limit allows them.
 *
 * Returns GNN_EUSAGE if a row is longer than Z, GNN_EFORMAT if a file does not match the dataset, or an error of the
 * files. After a failure the caller must still close *out. */
GNN_MUST_CHECK enum gnn_status agnes_layout_open(const struct gnn_env *env, const struct agnes_config *config,
                                                 struct agnes_layout_files *out, struct gnn_err *err);
void agnes_layout_close(struct gnn_world *world, struct agnes_layout_files *files);
/* Returns the memory in bytes that preparing the absent files takes at least, or 0 if none is absent. */
uint64_t agnes_layout_least_bytes(const struct gnn_env *env, const struct agnes_config *config);

/* Allocates and fills the inverse of new_to_old. Returns GNN_ENOMEM or GNN_ECAP if it does not fit. */
GNN_MUST_CHECK enum gnn_status agnes_layout_invert(struct gnn_world *world, const gnn_node *new_to_old, uint32_t nodes,
                                                   agnes_node **out, struct gnn_err *err);

/* ---- layout.c ---- */

/* Chooses the order of the nodes. *out is new_to_old (node_count) in world memory, or NULL for layout=input. The
 * transposed lists are in a scratch file in scratch_dir while it runs. window_bytes is the memory for one window of
 * them. */
GNN_MUST_CHECK enum gnn_status agnes_renumber(const struct gnn_env *env, const struct agnes_config *config,
                                              const char *scratch_dir, uint64_t window_bytes, gnn_node **out,
                                              struct gnn_err *err);

#endif

/* SPDX-License-Identifier: MIT */
/* The prepared layout: the dataset's topology and features as blocks, in <dataset>/agnes-<layout>-<Z>-<w>-<digest>/
 * (AGNES, KDD 2026, section 3.2 (1)).
 *
 *   graph            graph blocks                          (graph_blocks.h)
 *   order            new ID -> old ID, uint32; absent for layout=input
 *   index            header of one page, then the object index table; written last: with it the three are whole
 *   features-d<dim>  feature blocks: block i holds rows [i r, (i + 1) r), r = floor(Z / R); the rest of Z is unused
 *
 * Every file is written as <name>.part, synced, and renamed: it appears under its final name only when complete. What a
 * crash leaves is overwritten by the next preparation. */
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
    gnn_node *new_to_old; /* (node_count), NULL: both numberings are the same */
    uint64_t prepare_ns;  /* of this open; 0: it was there */
    uint64_t disk_bytes;  /* of the layout's files that this run uses, whoever wrote them */
};

/* Opens the prepared layout of a dataset, after preparing what of it is absent. Blocks are filled window by window,
 * each from one pass over the dataset's file: the number of passes is the file's size over the window's, and only the
 * maps grow with the graph. Memory while preparing: agnes_layout_least_bytes, and more of it for windows where the cap
 * leaves more. On a failure, close what *out holds. Errors: those of the files; GNN_EFORMAT: files that are not what
 * they say; GNN_EUSAGE: a row above Z. */
GNN_MUST_CHECK enum gnn_status agnes_layout_open(const struct gnn_env *env, const struct agnes_config *config,
                                                 struct agnes_layout_files *out, struct gnn_err *err);
void agnes_layout_close(struct gnn_world *world, struct agnes_layout_files *files);
/* Returns the memory without which what is absent of the layout cannot be prepared; 0: nothing is absent. */
uint64_t agnes_layout_least_bytes(const struct gnn_env *env, const struct agnes_config *config);

/* Allocates and fills the inverse of new_to_old. GNN_ENOMEM, GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status agnes_layout_invert(struct gnn_world *world, const gnn_node *new_to_old, uint32_t nodes,
                                                   agnes_node **out, struct gnn_err *err);

/* ---- layout.c ---- */

/* Decides which node comes when. *out: new_to_old (node_count), world memory; NULL for layout=input. scratch_dir: where
 * the transposed lists lie meanwhile. window_bytes: memory for one window of them. */
GNN_MUST_CHECK enum gnn_status agnes_renumber(const struct gnn_env *env, const struct agnes_config *config,
                                              const char *scratch_dir, uint64_t window_bytes, gnn_node **out,
                                              struct gnn_err *err);

#endif

/* SPDX-License-Identifier: MIT */
/* A registry entry at one scale, with all parameters that define the graph. The generator (generate.c) writes it to
 * disk, and synthetic.c provides it without a disk. Both use these functions, so they agree. Internal to
 * harness/dataset/. Immutable after open: any thread may call. */
#ifndef GNN_DATASET_RECIPE_H
#define GNN_DATASET_RECIPE_H

#include "harness/dataset/prepare.h"
#include "harness/graph/procedural.h"
#include "harness/storage/meta.h"

struct gnn_recipe {
    const struct gnn_registry_entry *entry;
    struct gnn_generate_options options; /* complete: registry values replace what was left open */
    uint32_t scale_divisor;
    struct gnn_registry_counts counts;
    struct gnn_procedural *graph;
    uint64_t feature_key;
    float amplitude; /* of the class centroids */
};

/* Opens the recipe. Returns GNN_EUSAGE for a scale, width or parameter outside its limits, or an entry that is not
 * generated this way. */
GNN_MUST_CHECK enum gnn_status gnn_recipe_open(const struct gnn_registry_entry *entry, uint32_t scale_divisor,
                                               const struct gnn_generate_options *options, struct gnn_recipe *out,
                                               struct gnn_err *err);
void gnn_recipe_close(struct gnn_recipe *recipe); /* accepts a zeroed one */

/* Computes the lengths of the lists of nodes [first, first + count). Any thread. */
void gnn_recipe_degrees(const struct gnn_recipe *recipe, gnn_node first, uint32_t count, uint64_t *degrees);

/* Computes indptr[first + 1 .. first + count] from indptr[first]. indptr[0] is set if first is 0. */
void gnn_recipe_indptr(const struct gnn_recipe *recipe, gnn_node first, uint32_t count, uint64_t *indptr);

/* Computes the neighbours at edge offsets [first, first + count). node is the node whose list contains `first`; indptr
 * must have the offsets of all nodes concerned. */
void gnn_recipe_indices(const struct gnn_recipe *recipe, const uint64_t *indptr, gnn_node node, uint64_t first,
                        uint64_t count, gnn_node *out);

/* Computes the labels of nodes [first, first + count). */
void gnn_recipe_labels(const struct gnn_recipe *recipe, gnn_node first, uint64_t count, int32_t *labels);

/* Computes the feature rows of nodes [first, first + count), options.dim wide, of options.feature_type. */
void gnn_recipe_features(const struct gnn_recipe *recipe, gnn_node first, uint64_t count, void *rows);

/* Members of a split in ascending order. Splits are disjoint ranges of one permutation of the nodes, or of the
 * reachable set. */
enum gnn_recipe_split { GNN_RECIPE_TRAIN, GNN_RECIPE_VALID, GNN_RECIPE_TEST };
extern const char *const gnn_recipe_split_names[]; /* the dataset's file names: index = enum */
uint32_t gnn_recipe_split_count(const struct gnn_recipe *recipe, enum gnn_recipe_split split);
void gnn_recipe_split(const struct gnn_recipe *recipe, enum gnn_recipe_split split, gnn_node *nodes);

/* Compares two gnn_node for qsort, ascending. */
int gnn_node_compare(const void *a, const void *b);

/* Sets name, scale, counts, origin and parameters in meta, without files and widths. */
void gnn_recipe_describe(const struct gnn_recipe *recipe, uint64_t edge_count, struct gnn_meta *meta);

#endif

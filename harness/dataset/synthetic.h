/* SPDX-License-Identifier: MIT */
/* A registry dataset without a disk. It is exactly what `oocgnn prepare` writes for the same entry, scale and options
 * (recipe.h). Offsets, labels and splits are in the world's memory, and the two large files are computed on demand. It
 * is for the simulated world, which takes the contents as files (gnn_world_simulated_add_file).
 *
 * Memory. Offsets, labels and splits are complete, as after gnn_dataset_open(), so they count the same against a memory
 * limit. The host also holds one node ID per 64 edges, to find the list of an edge offset. That memory is the model's,
 * not the run's. For ogbn-papers100M at scale 1 all together is 1.44 GB. */
#ifndef GNN_DATASET_SYNTHETIC_H
#define GNN_DATASET_SYNTHETIC_H

#include "harness/dataset/prepare.h"
#include "harness/graph/dataset.h"
#include "harness/world/content.h"

struct gnn_synthetic;

/* Opens a registry entry by name. options NULL: the generator's defaults. Returns GNN_EUSAGE for an unknown name (with
 * near misses), an entry that is not a procedural graph, or a scale, width or parameter outside its limits. Returns
 * GNN_ENOTSUP, before any allocation, if the host's free memory cannot hold offsets and labels. Returns GNN_ECAP and
 * GNN_ENOMEM from the world. Opening takes about 8 s of the host for papers100m at 1/1. */
GNN_MUST_CHECK enum gnn_status gnn_synthetic_open(struct gnn_world *world, const char *name,
                                                  const struct gnn_generate_options *options, uint32_t scale_divisor,
                                                  struct gnn_synthetic **out, struct gnn_err *err);
/* Opens an entry of the registry or of a recipe file in the same way. The entry must outlive the dataset. */
GNN_MUST_CHECK enum gnn_status gnn_synthetic_open_entry(struct gnn_world *world, const struct gnn_registry_entry *entry,
                                                        const struct gnn_generate_options *options,
                                                        uint32_t scale_divisor, struct gnn_synthetic **out,
                                                        struct gnn_err *err);
/* Frees the dataset. Close the world's files that use its contents first. Accepts NULL. */
void gnn_synthetic_close(struct gnn_world *world, struct gnn_synthetic *synthetic);

/* Returns the dataset, valid until close. dir, indices_path and features_path do not exist; they start with
 * "/procedural/<name>-1_<K>-". The digest is "procedural:" and a hash of every parameter, the width included. It always
 * differs from that of a dataset on a disk. */
const struct gnn_dataset *gnn_synthetic_dataset(const struct gnn_synthetic *synthetic);

/* Frees the labels, as gnn_dataset_drop_labels() does. */
void gnn_synthetic_drop_labels(struct gnn_world *world, struct gnn_synthetic *synthetic);

/* Return the contents of dataset->indices_path and dataset->features_path. Immutable: hooks may run on any thread. Any
 * byte range of the indices can be read, at the cost of computing its entries. Features have a size, but no bytes (read
 * is NULL). */
const struct gnn_content *gnn_synthetic_indices(const struct gnn_synthetic *synthetic);
const struct gnn_content *gnn_synthetic_features(const struct gnn_synthetic *synthetic);

/* Returns the bytes of host memory that a dataset with these counts needs. */
uint64_t gnn_synthetic_host_bytes(const struct gnn_registry_counts *counts);

#endif

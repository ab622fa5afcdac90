/* SPDX-License-Identifier: MIT */
/* A registry dataset without a disk: exactly what `oocgnn prepare` writes for the same entry, scale and options
 * (recipe.h), with offsets, labels and splits in the world's memory and the two large files computed on demand. For the
 * simulated world, which takes the contents as files (gnn_world_simulated_add_file).
 *
 * Offsets, labels and splits are all there, as in gnn_dataset_open, so they weigh the same against a memory cap.
 * Besides them the host holds one node ID for every 64 edges, to find the list that an edge offset belongs to; that is
 * the model's own and not the run's. ogbn-papers100M at scale 1: 1.44 GB in all. */
#ifndef GNN_DATASET_SYNTHETIC_H
#define GNN_DATASET_SYNTHETIC_H

#include "harness/dataset/prepare.h"
#include "harness/graph/dataset.h"
#include "harness/world/content.h"

struct gnn_synthetic;

/* name: a registry entry (GNN_EUSAGE with near misses; entries that are no procedural graph are refused too). options
 * NULL: the generator's defaults. GNN_EUSAGE also for scale, width or parameters outside their limits; GNN_ENOTSUP,
 * before anything is allocated, when the host's free memory cannot hold offsets and labels; GNN_ECAP and GNN_ENOMEM
 * from the world. The host's share of the work is about 8 s at papers100m 1/1. */
GNN_MUST_CHECK enum gnn_status gnn_synthetic_open(struct gnn_world *world, const char *name,
                                                  const struct gnn_generate_options *options, uint32_t scale_divisor,
                                                  struct gnn_synthetic **out, struct gnn_err *err);
/* The same of an entry that is at hand, of the registry or of a recipe file; it outlives the dataset. */
GNN_MUST_CHECK enum gnn_status gnn_synthetic_open_entry(struct gnn_world *world, const struct gnn_registry_entry *entry,
                                                        const struct gnn_generate_options *options,
                                                        uint32_t scale_divisor, struct gnn_synthetic **out,
                                                        struct gnn_err *err);
/* Accepts NULL. The world's files that use the contents are closed by then. */
void gnn_synthetic_close(struct gnn_world *world, struct gnn_synthetic *synthetic);

/* Valid until close. dir, indices_path and features_path exist nowhere; they start with "/procedural/<name>-1_<K>-".
 * The digest is "procedural:" and a hash of every parameter, the width included; never that of a dataset on a disk. */
const struct gnn_dataset *gnn_synthetic_dataset(const struct gnn_synthetic *synthetic);

/* As gnn_dataset_drop_labels. */
void gnn_synthetic_drop_labels(struct gnn_world *world, struct gnn_synthetic *synthetic);

/* Contents of dataset->indices_path and dataset->features_path. Immutable: hooks may run on any thread. indices is read
 * in any byte range, at the cost of computing each entry it touches; features has a size and no bytes (read NULL). */
const struct gnn_content *gnn_synthetic_indices(const struct gnn_synthetic *synthetic);
const struct gnn_content *gnn_synthetic_features(const struct gnn_synthetic *synthetic);

/* Host memory in bytes that opening these counts takes. */
uint64_t gnn_synthetic_host_bytes(const struct gnn_registry_counts *counts);

#endif

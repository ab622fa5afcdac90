/* SPDX-License-Identifier: MIT */
/* Writes datasets and mini-batches for other programs, as NumPy arrays (docs/export.md has the files).
 *
 * Both write to "<out>.partial-<pid>", next to the target, and rename it at the end. After an error, a full disk or a
 * set stop flag that directory is removed. */
#ifndef GNN_EXPORT_H
#define GNN_EXPORT_H

#include "harness/base/option.h"
#include "harness/dataset/prepare.h"
#include "harness/storage/checksum.h"
#include "harness/world/world.h"

/* ---- datasets ---- */

enum gnn_export_format { GNN_EXPORT_NPY, GNN_EXPORT_CSC };
extern const char *const gnn_export_formats[]; /* "npy", "csc", NULL: index = enum */
_Static_assert(sizeof(enum gnn_export_format) == sizeof(uint32_t), "a choice is 32 bits");

struct gnn_export_config {
    const char *dir; /* of the dataset */
    enum gnn_export_format format;
    uint32_t dim;  /* width of the features; 0 = the first one of feature_type, or of any type without has_type */
    bool has_type; /* feature_type was given */
    enum gnn_feature_type feature_type;
};

struct gnn_export_result {
    char digest[GNN_CHECKSUM_TEXT]; /* of the dataset with these features; an import of the files has the same one */
    uint64_t bytes;                 /* of the arrays */
};

/* Writes the arrays of a dataset to job->out_dir, which must not exist. Compares each file that it reads with its
 * checksum in meta. Memory: less than 4 MiB, whatever the size of the dataset. Returns GNN_EUSAGE for an existing
 * target or options that do not fit the dataset, GNN_EFORMAT for a damaged dataset, or errors of reading or writing. */
GNN_MUST_CHECK enum gnn_status gnn_export_dataset(const struct gnn_export_config *config,
                                                  const struct gnn_prepare_job *job, struct gnn_export_result *out,
                                                  struct gnn_err *err);

/* ---- mini-batches ---- */

struct gnn_export_batches_config {
    const char *dir; /* of the dataset */
    uint64_t seed;   /* at most INT64_MAX, as in a run */
    uint32_t epoch;  /* from 0 */
    uint32_t batch_size;
    uint32_t batches;           /* at most this many, from the start of the epoch; at least 1 */
    struct gnn_u32_list fanout; /* from the seeds outward */
    bool floyd_biased;
};

struct gnn_export_batches_result {
    uint32_t batches;       /* that were written */
    uint32_t epoch_batches; /* of the whole epoch */
    uint64_t nodes, edges;  /* sums over the mini-batches and their blocks */
    uint64_t digest;        /* that a run of these mini-batches records */
};

/* Writes mini-batches of one epoch to job->out_dir, which must not exist. They are those of every exact system with the
 * same seed. Memory: 12 B per node, 8 B per training node, and the arrays of one mini-batch. Returns GNN_EUSAGE for an
 * existing target or invalid sizes, GNN_ENOTSUP for a knowledge graph, or errors of reading, sampling and writing. */
GNN_MUST_CHECK enum gnn_status gnn_export_batches(struct gnn_world *world,
                                                  const struct gnn_export_batches_config *config,
                                                  const struct gnn_prepare_job *job,
                                                  struct gnn_export_batches_result *out, struct gnn_err *err);

#endif

/* SPDX-License-Identifier: MIT */
/* A dataset opened for a run: topology (CSC), features, labels, splits. Opened once per run; any thread may read it.
 * Everything is validated at open: sizes against meta, indptr monotone, labels inside the classes, split IDs inside the
 * nodes. Neighbour IDs are validated at prepare and by `prepare --check`, and bound-checked where they are used. */
#ifndef GNN_GRAPH_DATASET_H
#define GNN_GRAPH_DATASET_H

#include "harness/base/half.h"
#include "harness/oocgnn.h"
#include "harness/world/world.h"

struct gnn_split {
    const gnn_node *nodes; /* ascending */
    uint32_t count;
    const char *name; /* "train", "valid" or "test", a literal */
};

struct gnn_dataset {
    char name[GNN_NAME_MAX];
    char dir[512];
    char digest[40];        /* hash over meta's checksums: identifies the dataset in every run's record */
    uint32_t scale_divisor; /* K of scale 1/K; 1 for imported data */
    uint32_t node_count;
    uint64_t edge_count;
    uint32_t dim; /* width of the features, or of a knowledge graph's learned vectors */
    uint32_t class_count;
    enum gnn_feature_type feature_type; /* of the file; models read rows of float32 */
    uint32_t row_bytes;                 /* of the file: dim * 4, or dim * 2 for float16 */
    uint32_t id_bytes;                  /* of an entry of indices: 4 or 8 */
    const uint64_t *indptr;             /* (node_count + 1), world memory */
    const int32_t *labels; /* (node_count), -1 = unlabelled, world memory; NULL after gnn_dataset_drop_labels */
    struct gnn_split train, valid, test;
    uint32_t relation_count;  /* of a knowledge graph (graph/triples.h); 0 for other graphs */
    uint32_t triple_count[3]; /* a knowledge graph's training, validation and test edges */
    char indices_path[600];   /* in-neighbour lists: edge_count IDs of id_bytes */
    char features_path[600];  /* [node_count][dim] of feature_type; "" for a knowledge graph, which has no features */
    uint64_t indices_bytes;   /* edge_count * id_bytes */
    uint64_t topology_bytes;  /* of indptr + indices */
    uint64_t feature_bytes;
};

/* Returns the bytes of a row as models read it: dim float32, whatever the file holds. */
static inline uint32_t gnn_dataset_wide_bytes(const struct gnn_dataset *dataset)
{
    return dataset->dim * (uint32_t)sizeof(float);
}

/* Opens the dataset in `dir`, or returns GNN_ENOENT or GNN_EFORMAT. With dim 0 the only or first listed feature file of
 * this type is used; for a knowledge graph dim 0 is GNN_EUSAGE, and type is ignored. Neighbour IDs have id_bytes, 4 or
 * 8. GNN_ENOENT names the command that prepares the missing files. GNN_EFORMAT names the file, the expected value and
 * the value found. */
GNN_MUST_CHECK enum gnn_status gnn_dataset_open(struct gnn_world *world, const char *dir, uint32_t dim,
                                                enum gnn_feature_type type, uint32_t id_bytes, struct gnn_dataset **out,
                                                struct gnn_err *err);
void gnn_dataset_close(struct gnn_world *world, struct gnn_dataset *dataset);

/* Fails with GNN_EFORMAT: a file of the dataset has an impossible value, which the printf arguments describe. The
 * message ends with the command that checks every file. */
enum gnn_status gnn_dataset_damaged(const struct gnn_dataset *dataset, struct gnn_err *err, const char *format, ...)
    __attribute__((cold, noinline, format(printf, 3, 4)));

/* Frees the labels, which were checked at open. A run that only samples does not need these 4 bytes per node. */
void gnn_dataset_drop_labels(struct gnn_world *world, struct gnn_dataset *dataset);

#endif

/* Reading a dataset's files outside any world, for adding to it and checking it. Internal to harness/dataset/. */
#ifndef GNN_DATASET_READ_H
#define GNN_DATASET_READ_H

#include "harness/storage/meta.h"

/* Reads and parses <dir>/meta. GNN_ENOENT: dir is not a dataset. */
GNN_MUST_CHECK enum gnn_status gnn_read_meta(const char *dir, struct gnn_meta *out, struct gnn_err *err);

#endif

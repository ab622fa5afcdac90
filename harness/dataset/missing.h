/* SPDX-License-Identifier: MIT */
/* What to type when a dataset is missing. */
#ifndef GNN_DATASET_MISSING_H
#define GNN_DATASET_MISSING_H

#include "harness/base/half.h"
#include "harness/oocgnn.h"

struct gnn_dataset_wanted {
    const char *name;     /* a name of the registry, the name of an import, or a directory (has a '/') */
    const char *data_dir; /* of the prepared datasets */
    const char *dir;      /* where the dataset was looked for */
    uint32_t scale_divisor;
    uint32_t dim; /* 0: the usual one */
    enum gnn_feature_type feature_type;
    uint32_t id_bytes; /* 4 or 8 */
    bool links;        /* a knowledge graph is wanted */
};

/* Fails: no dataset is at wanted->dir. The message has the command that makes it, to be pasted. Only the input of an
 * import is left open. Returns GNN_ENOENT, or GNN_EUSAGE for a scale of a graph that has none. */
GNN_MUST_CHECK enum gnn_status gnn_dataset_missing(const struct gnn_dataset_wanted *wanted, struct gnn_err *err);

/* Writes the command that generates the dataset, to be pasted, and returns text. The name is one of the registry. */
const char *gnn_dataset_command(const struct gnn_dataset_wanted *wanted, char *text, size_t text_bytes);

/* Fails: `what` is no knowledge graph. The message has a command that makes one of the registry, at the wanted scale or
 * else 1/100. Returns GNN_ENOTSUP. */
GNN_MUST_CHECK enum gnn_status gnn_dataset_without_links(const struct gnn_dataset_wanted *wanted, const char *what,
                                                         struct gnn_err *err);

#endif

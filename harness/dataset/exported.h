/* SPDX-License-Identifier: MIT */
/* The options of an import that a folder of arrays brings along. `oocgnn export` writes them to a file next to the
 * arrays, so that `oocgnn prepare NAME --from DIR` needs none. */
#ifndef GNN_DATASET_EXPORTED_H
#define GNN_DATASET_EXPORTED_H

#include "harness/dataset/published.h"

/* INI: a section [import] with `format`, and options of gnn_import_table by name. */
#define GNN_EXPORTED_OPTIONS "import.ini"

/* Returns whether the folder has such a file. */
bool gnn_exported_is(const char *dir);

/* Reads it: writes the format and calls set() for each option. Returns GNN_EUSAGE, which names the file, for another
 * content, or the first error of set(). */
GNN_MUST_CHECK enum gnn_status gnn_exported_options(const char *dir, enum gnn_import_format *format,
                                                    gnn_published_set_fn *set, void *ctx, struct gnn_err *err);

#endif

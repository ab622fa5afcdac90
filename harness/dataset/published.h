/* SPDX-License-Identifier: MIT */
/* How the publishers of the papers' graphs ship them. With it, `oocgnn prepare NAME --from DOWNLOAD` imports a download
 * without further options. docs/datasets.md lists them. */
#ifndef GNN_DATASET_PUBLISHED_H
#define GNN_DATASET_PUBLISHED_H

#include "harness/dataset/prepare.h"

enum { GNN_PUBLISHED_FILES = 4 };

struct gnn_published {
    const char *name;     /* in the registry, or OGB's; with or without "ogbn-" */
    const char *registry; /* entry whose width, classes and splits random parts get; NULL: the download has all parts */
    const char *title;
    enum gnn_import_format format;
    const char *options; /* of the import, "name=value name=value" */
    /* snap: names of the file. triples: names of a file in the folder. ogb: none, the arrays are searched for. */
    const char *files[GNN_PUBLISHED_FILES];
    const char *labels; /* as gnn_import_source has it, and the next */
    uint32_t raw_dim;
    uint32_t labelled, labelled_of; /* the labelled nodes of a number of nodes, in proportion */
    bool split_by_id;
    const char *relation; /* of the folder with the edges, as gnn_import_source has it */
};

/* Ends with a name of NULL. */
extern const struct gnn_published gnn_published[];

/* Returns the entry, or NULL if there is none. */
const struct gnn_published *gnn_published_find(const char *name);

enum { GNN_PUBLISHED_PATH = 1024, GNN_PUBLISHED_VALUE = 40 };

/* Writes the path to import from: the file or the folder that a format needs, which is at most three levels below the
 * download. Returns GNN_ENOENT, which names what is looked for. */
GNN_MUST_CHECK enum gnn_status gnn_published_locate(const struct gnn_published *published, const char *download,
                                                    char path[GNN_PUBLISHED_PATH], struct gnn_err *err);

/* Calls set() for each option of the import that the entry has, with those of its random parts. Returns the first error
 * of set(). */
typedef enum gnn_status gnn_published_set_fn(void *ctx, const char *name, const char *value, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_published_options(const struct gnn_published *published, gnn_published_set_fn *set,
                                                     void *ctx, struct gnn_err *err);

#endif

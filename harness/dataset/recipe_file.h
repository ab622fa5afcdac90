/* SPDX-License-Identifier: MIT */
/* A recipe in a file: what the registry says of a graph of the papers, said of any graph, with the laws of its degrees
 * and of its popularity as they were read off it (`oocgnn stats --recipe-from`). From it the generator makes a twin: a
 * graph of the same statistics, without the data.
 *
 *     [graph]
 *     name = fb100-13schools-twin
 *     nodes = 105100
 *     ...
 *     [degrees]          lists of the reach, in falling order: share of the nodes = mean length from the line before
 *     0.001 = 812.4
 *     ...
 *     1 = 0.3
 *     [train degrees]    the same of the training nodes; left out: as the reach's
 *     [rest degrees]     of the nodes outside the reach; left out: what the other two leave of the edges
 *     [popularity]       how often a node of the reach is a neighbour there, likewise; any unit
 *     [mixing]           of what a line of popularity has, the shares in lists of up to so many entries, and in longer
 *     lists = 2 9        ones; a line for each of popularity's. Left out: short and long lists name nodes alike
 *     0.001 = 0.1 0.3 0.6
 *     ...
 *
 * `mutual = 1` in [graph] makes lists that agree, with a `clique_share` of their entries from cliques; [popularity] and
 * [mixing] are left out then, for a node is as popular as its list is long.
 *
 * Lines that start with ; are comments. `oocgnn prepare NAME --recipe FILE` writes the dataset. */
#ifndef GNN_DATASET_RECIPE_FILE_H
#define GNN_DATASET_RECIPE_FILE_H

#include "harness/dataset/prepare.h"
#include "harness/graph/degree_law.h"

#include <stdio.h>

/* What the registry has no room for. */
struct gnn_recipe_laws {
    double homophily, label_noise;
    struct gnn_rank_law popularity, degrees, train_degrees, rest_degrees;
    struct gnn_mixing mixing; /* of popularity's points */
    double clique_share;      /* of a mutual list, from cliques of more than two */
    uint32_t mutual;          /* 1: u in v's list is v in u's; 0: lists are drawn by popularity */
    char checksum[40];        /* of the file's text */
};

struct gnn_recipe_file {
    struct gnn_registry_entry entry; /* name, title, note and laws point into this struct */
    struct gnn_recipe_laws laws;
    char name[GNN_TEXT_MAX], title[GNN_TEXT_MAX];
};

/* GNN_ENOENT, GNN_EIO name the path; GNN_EUSAGE is "path:line: what is wrong". free() it: nothing else is held. */
GNN_MUST_CHECK enum gnn_status gnn_recipe_file_open(const char *path, struct gnn_recipe_file **out,
                                                    struct gnn_err *err);

/* The same over text; name stands for the path in messages. */
GNN_MUST_CHECK enum gnn_status gnn_recipe_file_parse(const char *name, const char *text, struct gnn_recipe_file **out,
                                                     struct gnn_err *err);

/* Writes what opens as `file`, numbers to seven digits, behind a comment of one line. The caller looks at ferror. */
void gnn_recipe_file_write(const struct gnn_recipe_file *file, const char *comment, FILE *out);

#endif

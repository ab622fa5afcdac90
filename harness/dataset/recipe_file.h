/* SPDX-License-Identifier: MIT */
/* A recipe in a file: what the registry has for a graph of the papers, for any graph. It includes the laws of degrees
 * and popularity that were measured on that graph (`oocgnn stats --recipe-from`). The generator makes a twin from it: a
 * graph with the same statistics, without the data.
 *
 *   `[graph]
 *    name = fb100-13schools-twin
 *    nodes = 105100
 *    ...
 *    [degrees]
 *    0.001 = 812.4
 *    ...
 *    1 = 0.3
 *    [mixing]
 *    lists = 2 9
 *    0.001 = 0.1 0.3 0.6
 *    ...`
 *
 *   `[degrees]`        List lengths of the reachable set, in falling order. A line is the share of the nodes up to
 *                      which it holds, and their mean length from the line before.
 *   `[train degrees]`  The same for training nodes. Default: as in the reachable set.
 *   `[rest degrees]`   The same for nodes outside the reachable set. Default: the edges that the other two leave.
 *   `[popularity]`     How often a node of the reachable set is a neighbour there, in the same form and any unit.
 *   `[mixing]`         Which lists name popular nodes. The line `lists` has the longest list of each group but the
 *                      last. Each other line belongs to a line of popularity: the share of its entries in each group
 *                      of lists. Default: short and long lists name nodes alike.
 *
 * Mutual lists. `mutual = 1` in [graph] makes lists that agree, with a `clique_share` of their entries from cliques.
 * They have no [popularity] and no [mixing], because a node is as popular as its list is long.
 *
 * Lines that start with ; are comments. `oocgnn prepare NAME --recipe FILE` writes the dataset. */
#ifndef GNN_DATASET_RECIPE_FILE_H
#define GNN_DATASET_RECIPE_FILE_H

#include "harness/dataset/prepare.h"
#include "harness/graph/degree_law.h"

#include <stdio.h>

/* Fields of a recipe that the registry does not have. */
struct gnn_recipe_laws {
    double homophily, label_noise;
    struct gnn_rank_law popularity, degrees, train_degrees, rest_degrees;
    struct gnn_mixing mixing; /* of popularity's points */
    double clique_share;      /* share of a mutual list that is from cliques of more than two */
    uint32_t mutual;          /* 1: u in v's list means v in u's; 0: lists are drawn by popularity */
    char checksum[40];        /* of the file's text */
};

struct gnn_recipe_file {
    struct gnn_registry_entry entry; /* name, title, note, order and laws point into this struct */
    struct gnn_recipe_laws laws;
    char name[GNN_TEXT_MAX], title[GNN_TEXT_MAX], order[GNN_TEXT_MAX];
};

/* Reads the recipe at path. Returns GNN_ENOENT or GNN_EIO, which name the path, or GNN_EUSAGE with "path:line: what is
 * wrong". Free *out with free(); it owns nothing else. */
GNN_MUST_CHECK enum gnn_status gnn_recipe_file_open(const char *path, struct gnn_recipe_file **out,
                                                    struct gnn_err *err);

/* Parses text as gnn_recipe_file_open() parses a file. Messages have name in place of the path. */
GNN_MUST_CHECK enum gnn_status gnn_recipe_file_parse(const char *name, const char *text, struct gnn_recipe_file **out,
                                                     struct gnn_err *err);

/* Writes `file` in a form that gnn_recipe_file_open() reads, with numbers of seven digits, after one line of comment.
 * The caller checks ferror(). */
void gnn_recipe_file_write(const struct gnn_recipe_file *file, const char *comment, FILE *out);

#endif

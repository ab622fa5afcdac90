/* SPDX-License-Identifier: MIT */
/* Numbers printed in papers: results/published/PAPER.csv, one value a row with the figure, table or section it stands
 * in. */
#ifndef GNN_FIGURE_PUBLISHED_H
#define GNN_FIGURE_PUBLISHED_H

#include "harness/oocgnn.h"

struct gnn_published_row {
    char figure_id[48], system[48], variant[48], dataset[48], model[24];
    char parameter[160]; /* "dim=128;memory=32GB" */
    char metric[48], value[24], unit[16], baseline[48], relation[16], source[80];
};

struct gnn_published {
    struct gnn_published_row *rows;
    uint32_t count, room;
};

/* Reads the file. GNN_ENOENT; GNN_EFORMAT names file, line and what is wrong. */
GNN_MUST_CHECK enum gnn_status gnn_published_open(const char *path, struct gnn_published *out, struct gnn_err *err);
void gnn_published_close(struct gnn_published *published); /* accepts a zeroed one */

/* The row's value; NAN for a range or a word (OOM). */
double gnn_published_value(const struct gnn_published_row *row);

/* Whether the two name one dataset ("Papers100M", "papers100m-sym") or model ("GraphSAGE", "sage"). An empty published
 * name stands for any. */
bool gnn_published_same_name(const char *published, const char *ours);

/* The value of "key=value" in the row's parameter, without a unit of bytes or percent ("32GB" is "32G"); false: it has
 * none. */
bool gnn_published_parameter(const struct gnn_published_row *row, const char *key, char *value, size_t value_bytes);

#endif

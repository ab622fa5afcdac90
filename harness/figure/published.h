/* SPDX-License-Identifier: MIT */
/* Numbers that papers print: results/published/PAPER.csv. It has one value per row, with the figure, table or section
 * that the value comes from. */
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
    uint32_t count;
};

/* Reads the file. Returns GNN_ENOENT, GNN_EIO, or GNN_EFORMAT, which names file, line and fault. gnn_published_close()
 * frees out. */
GNN_MUST_CHECK enum gnn_status gnn_published_open(const char *path, struct gnn_published *out, struct gnn_err *err);
void gnn_published_close(struct gnn_published *published); /* accepts a zeroed one */

/* Returns the row's value, or NAN for a range or a word (OOM). */
double gnn_published_value(const struct gnn_published_row *row);

/* Returns whether both names mean the same dataset ("Papers100M", "papers100m-sym") or model ("GraphSAGE", "sage"). An
 * empty published name matches every name. */
bool gnn_published_same_name(const char *published, const char *ours);

/* Copies the value of "key=value" in the row's parameter to `value`, without "%", "x" or the "B" of bytes ("32GB"
 * becomes "32G"). Returns false if the parameter does not have the key, or if the value does not fit. */
bool gnn_published_parameter(const struct gnn_published_row *row, const char *key, char *value, size_t value_bytes);

#endif

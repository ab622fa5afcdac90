/* SPDX-License-Identifier: MIT */
/* Parses lines of text edge lists: pairs, comments that describe the graph, headings of columns, and Matrix Market.
 * Internal to harness/dataset/. All functions are pure. */
#ifndef GNN_DATASET_EDGE_LINE_H
#define GNN_DATASET_EDGE_LINE_H

#include "harness/oocgnn.h"

#define GNN_UNSTATED UINT64_MAX /* a count that the file does not state */

enum { GNN_EDGE_COLUMNS_MAX = 64 /* of the columns with the two node IDs */ };

/* Statements of a file about its graph. */
struct gnn_edge_facts {
    bool konect;           /* the first comment is KONECT's */
    bool undirected;       /* a comment states it: each edge is usually stored once */
    bool bipartite;        /* the columns number different nodes */
    bool matrix;           /* Matrix Market: size line, IDs from 1 */
    bool symmetric;        /* Matrix Market: an entry stands for both directions */
    uint64_t nodes, edges; /* GNN_UNSTATED: not stated */
    uint64_t left;         /* of a bipartite graph: nodes of the first column */
};

/* One line of data. */
struct gnn_edge_line {
    uint64_t source, target;
    uint32_t extra;    /* further fields */
    const char *words; /* first further field with anything but a number; NULL: none */
};

enum gnn_edge_kind { GNN_EDGE_PAIR, GNN_EDGE_SKIP, GNN_EDGE_BAD };

/* Parses one line: two node IDs in the columns (0 is the first). Fields are separated by blanks, tabs, or one comma,
 * semicolon or bar, and may be in double quotes. Returns GNN_EDGE_SKIP for a blank line or a comment ('#' or '%'), or
 * GNN_EDGE_BAD with the reason in *why. */
enum gnn_edge_kind gnn_edge_parse(const char *line, const uint32_t columns[2], struct gnn_edge_line *out,
                                  const char **why);

/* Adds the statements of a comment to facts. */
void gnn_edge_comment(const char *line, struct gnn_edge_facts *facts);

/* Returns whether the line can be a heading: its first field is empty or a word. Sets the columns to those with names
 * such as source and target, else to the first two. Before two others, a first name that is empty or id is skipped. */
bool gnn_edge_heading(const char *line, uint32_t columns[2]);

/* Returns whether a line names the columns of both node IDs, such as source and target in any spelling. Sets the
 * columns, and the number of names. */
bool gnn_edge_names(const char *line, uint32_t columns[2], uint32_t *count);
/* Returns the number of fields of a line. */
uint32_t gnn_edge_fields(const char *line);

/* Parses the first line of a Matrix Market file. Returns false for any other line. *why is then the reason
 * if it is a matrix of another form, else NULL. */
bool gnn_edge_banner(const char *line, struct gnn_edge_facts *facts, const char **why);

/* Parses Matrix Market's line of rows, columns and entries. */
bool gnn_edge_size_line(const char *line, uint64_t *rows, uint64_t *columns, uint64_t *entries);

#endif

/* SPDX-License-Identifier: MIT */
/* Reads a text edge list as a stream of pairs: SNAP, KONECT, comma-separated values with or without a heading, and
 * Matrix Market. Internal to harness/dataset/. */
#ifndef GNN_DATASET_EDGE_TEXT_H
#define GNN_DATASET_EDGE_TEXT_H

#include "harness/dataset/edge_line.h"
#include "harness/dataset/input.h"

/* Other files of this directory read it. Only ignore_columns and stated counts are set by them. */
struct gnn_edge_text {
    struct gnn_input *input;
    struct gnn_edge_facts facts;
    bool ignore_columns;                        /* further columns may hold anything */
    uint32_t columns[2];                        /* of the two node IDs */
    uint32_t extra;                             /* further columns of the first pair */
    uint64_t first_line;                        /* of the first pair */
    uint64_t heading_line;                      /* 0: the columns have no heading */
    bool heading_named;                         /* it names both node IDs */
    uint32_t comment_columns[2], comment_count; /* of the names in a comment; 0: no such comment */
    uint64_t lines;                             /* pairs read; a symmetric entry is one */
    bool unended;                               /* at the end: the last line has no line end */
    bool size_known;                            /* Matrix Market: the size line was read */
    bool reverse;                               /* Matrix Market: the last pair comes next in the other direction */
    struct gnn_edge_line pair;
    const char *heading_why;
    char heading[64]; /* start of the heading, for a message */
    char line[GNN_INPUT_LINE_MAX];
};

/* Opens a list. Returns errors of gnn_input_open(). */
GNN_MUST_CHECK enum gnn_status gnn_edge_text_open(const char *path, struct gnn_edge_text **out, struct gnn_err *err);
void gnn_edge_text_close(struct gnn_edge_text *text); /* accepts NULL */

/* Reads the next pair; *more is false at the end. IDs of Matrix Market are counted from 0. Its symmetric entries are
 * returned in both directions. Returns GNN_EFORMAT, with the place and the way out, for a line without a pair, or a
 * matrix with another number of entries than it states. */
GNN_MUST_CHECK enum gnn_status gnn_edge_text_next(struct gnn_edge_text *text, uint64_t *source, uint64_t *target,
                                                  bool *more, struct gnn_err *err);

#endif

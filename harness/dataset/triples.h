/* SPDX-License-Identifier: MIT */
/* Reads the edges of a knowledge graph as one stream of (source, relation, target), by name or by number. Internal to
 * harness/dataset/. */
#ifndef GNN_DATASET_TRIPLES_H
#define GNN_DATASET_TRIPLES_H

#include "harness/base/link_view.h"
#include "harness/dataset/npy.h"
#include "harness/dataset/prepare.h"
#include "harness/graph/knowledge.h"

/* The fields of a line: start and length of each. */
struct gnn_triple_line {
    const char *field[3]; /* source, relation, target; relation NULL: the line has two fields */
    uint32_t length[3];
};

enum gnn_triple_kind { GNN_TRIPLE_SKIP, GNN_TRIPLE_FIELDS, GNN_TRIPLE_BAD };

/* Splits a line of text at its tabs into the columns. Returns GNN_TRIPLE_SKIP for a blank line, or GNN_TRIPLE_BAD with
 * the reason in *why. Names may contain anything but tabs and must not be empty. Lines of two columns may have blanks
 * in place of the tab, and are skipped if they begin with '#' or '%'. Pure. */
enum gnn_triple_kind gnn_triple_parse_line(const char *line, enum gnn_columns columns, struct gnn_triple_line *out,
                                           const char **why);

/* Returns the orders of three columns other than this one, for messages. */
const char *gnn_columns_others(enum gnn_columns columns);

/* Returns whether a line holds the names of three columns, such as head, relation, tail. *columns is their order, or
 * -1 if no value of enum gnn_columns is this order. */
bool gnn_triple_heading(const char *line, int *columns);

/* Parses a number from 0 to limit - 1, of decimal digits only. Returns false if text is not one. */
bool gnn_triple_number(const char *text, uint32_t length, uint32_t limit, uint32_t *out);

/* A numbering of names in their order of occurrence: 0, 1, 2 and so on. */
struct gnn_names;
/* Memory that several tables share. */
struct gnn_names_memory {
    uint64_t limit_bytes, used_bytes;
};
GNN_MUST_CHECK enum gnn_status gnn_names_open(struct gnn_names_memory *memory, struct gnn_names **out,
                                              struct gnn_err *err);
void gnn_names_close(struct gnn_names *names); /* accepts NULL */
/* Returns the number of a name in *number; a new name gets the next number. Returns GNN_ECAP if the memory is used
 * up. */
GNN_MUST_CHECK enum gnn_status gnn_names_add(struct gnn_names *names, const char *name, uint32_t length,
                                             uint32_t *number, struct gnn_err *err);
uint32_t gnn_names_count(const struct gnn_names *names);
bool gnn_names_has(const struct gnn_names *names, const char *name, uint32_t length);
/* Returns all names in order, each with a newline behind it. The text belongs to names. */
const char *gnn_names_text(const struct gnn_names *names, uint64_t *bytes);

/* A stream of the edges of one file: tab-separated text, or a NumPy array [E, 3]. `tails` is NULL, or the path of an
 * array [E] of the targets; the array at path is then [E, 2]: source, relation. */
struct gnn_triples;
GNN_MUST_CHECK enum gnn_status gnn_triples_open(const char *path, bool npy, const char *tails, struct gnn_triples **out,
                                                struct gnn_err *err);
/* Opens a stream of the edges [first, first + count) of a generated graph. */
GNN_MUST_CHECK enum gnn_status gnn_triples_generated(const struct gnn_knowledge *graph, uint64_t first, uint64_t count,
                                                     struct gnn_triples **out, struct gnn_err *err);
void gnn_triples_close(struct gnn_triples *triples); /* accepts NULL */

/* The meaning of the fields. With names, they are numbered as they occur; without, they are numbers below the
 * limits. */
struct gnn_triple_ids {
    enum gnn_columns columns;
    struct gnn_names *nodes, *relations; /* NULL: numbers */
    uint32_t node_limit, relation_limit; /* for numbers: the first one that is too large */
    uint32_t relation_count;             /* found so far */
};

/* Reads the next edge; *more is false at the end. Returns GNN_EFORMAT, with the place, for a line that is not an edge
 * or a number that is too large. */
GNN_MUST_CHECK enum gnn_status gnn_triples_next(struct gnn_triples *triples, struct gnn_triple_ids *ids,
                                                struct gnn_triple *out, bool *more, struct gnn_err *err);
/* For progress: edges of a NumPy file, or stored bytes of a text file. */
const char *gnn_triples_unit(const struct gnn_triples *triples);
uint64_t gnn_triples_total(const struct gnn_triples *triples);
uint64_t gnn_triples_done(const struct gnn_triples *triples);

#endif

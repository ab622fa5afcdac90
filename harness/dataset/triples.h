/* SPDX-License-Identifier: MIT */
/* Edges of a knowledge graph as one stream of (source, relation, target), by name or by number. Internal to
 * harness/dataset/. */
#ifndef GNN_DATASET_TRIPLES_H
#define GNN_DATASET_TRIPLES_H

#include "harness/base/link_view.h"
#include "harness/dataset/npy.h"
#include "harness/graph/knowledge.h"

/* A line's three fields: where each begins, and how long it is. */
struct gnn_triple_line {
    const char *field[3]; /* source, relation, target */
    uint32_t length[3];
};

enum gnn_triple_kind { GNN_TRIPLE_SKIP, GNN_TRIPLE_FIELDS, GNN_TRIPLE_BAD };

/* Cuts a line of text at its two tabs; a blank line is skipped. Names may hold anything but tabs and must not be empty.
 * Pure. *why is set for GNN_TRIPLE_BAD. */
enum gnn_triple_kind gnn_triple_parse_line(const char *line, struct gnn_triple_line *out, const char **why);

/* A number from 0 to limit - 1, of decimal digits alone; false when it is none. */
bool gnn_triple_number(const char *text, uint32_t length, uint32_t limit, uint32_t *out);

/* Names in the order in which they came: 0, 1, 2 and so on. */
struct gnn_names;
GNN_MUST_CHECK enum gnn_status gnn_names_open(uint64_t memory_bytes, struct gnn_names **out, struct gnn_err *err);
void gnn_names_close(struct gnn_names *names); /* accepts NULL */
/* The number of a name; a new one gets the next. GNN_ECAP when memory_bytes are full. */
GNN_MUST_CHECK enum gnn_status gnn_names_add(struct gnn_names *names, const char *name, uint32_t length,
                                             uint32_t *number, struct gnn_err *err);
uint32_t gnn_names_count(const struct gnn_names *names);
/* All names, each with a newline behind it, in order. */
const char *gnn_names_text(const struct gnn_names *names, uint64_t *bytes);

/* A stream of one file: tab-separated text, or a NumPy array [E, 3]. */
struct gnn_triples;
GNN_MUST_CHECK enum gnn_status gnn_triples_open(const char *path, bool npy, struct gnn_triples **out,
                                                struct gnn_err *err);
/* Edges first to first + count - 1 of a generated graph. */
GNN_MUST_CHECK enum gnn_status gnn_triples_generated(const struct gnn_knowledge *graph, uint64_t first, uint64_t count,
                                                     struct gnn_triples **out, struct gnn_err *err);
void gnn_triples_close(struct gnn_triples *triples); /* accepts NULL */

/* What the fields mean: with names, what occurs is numbered; without, they are numbers below the limits. */
struct gnn_triple_ids {
    struct gnn_names *nodes, *relations; /* NULL: numbers */
    uint32_t node_limit, relation_limit; /* of numbers: first that is too large */
    uint32_t relation_count;             /* seen so far */
};

/* The next edge; *more false at the end. A line that is none, or a number that is too large, is GNN_EFORMAT with its
 * place. */
GNN_MUST_CHECK enum gnn_status gnn_triples_next(struct gnn_triples *triples, struct gnn_triple_ids *ids,
                                                struct gnn_triple *out, bool *more, struct gnn_err *err);
/* For progress: edges of a NumPy file, bytes as stored of a text. */
const char *gnn_triples_unit(const struct gnn_triples *triples);
uint64_t gnn_triples_total(const struct gnn_triples *triples);
uint64_t gnn_triples_done(const struct gnn_triples *triples);

#endif

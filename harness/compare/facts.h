/* SPDX-License-Identifier: MIT */
/* What a build does that the same seed makes it do again: counts, digests and, where the clock is virtual, times. The
 * unit is the cell, a configuration that was run; a set of cells comes from a database, from a build's own output, or
 * from a kept baseline file. */
#ifndef GNN_COMPARE_FACTS_H
#define GNN_COMPARE_FACTS_H

#include "harness/base/kv.h"
#include "harness/oocgnn.h"

#include <jansson.h>

enum { GNN_CELL_LABEL_BYTES = 160 };

/* A function with at least this share of all instructions is a hot loop. */
#define GNN_HOT_SHARE 0.01

struct gnn_cell {
    char label[GNN_CELL_LABEL_BYTES]; /* system, and the options in which the cells of its set differ */
    uint32_t runs;                    /* of this configuration */
    struct gnn_kv_list config;        /* every option after defaults that may change what a run does */
    struct gnn_kv_list exact;         /* "epoch 0 requested_ios" -> "4711"; of the first run */
    struct gnn_kv_list unsteady;      /* values in which a later run disagreed: "1 | 2" */
};

/* Zeroed is empty; owns its lists. */
struct gnn_facts {
    char name[256];              /* where they come from, for people */
    char revision[GNN_NAME_MAX]; /* of the build; "" unknown */
    struct gnn_cell *cells;
    uint32_t count, room;
    uint32_t other_builds;           /* runs of a database that were left out: another build's */
    struct gnn_kv_list instructions; /* "total", and functions; of a baseline file the hot ones */
    char no_instructions[256];       /* why there are none; "" not asked for */
};

/* Adds a run, an object as `oocgnn run --json` prints it. Exact are, where the clock is virtual, every whole number and
 * text of its epochs, their stages, counters and figures; in the measured world what the seed alone decides:
 * mini-batches and their digest, nodes and edges drawn, bytes and rows needed. A run of a configuration that is there
 * already has to agree with it, and what does not is unsteady. GNN_EFORMAT: no such object. */
GNN_MUST_CHECK enum gnn_status gnn_facts_add(struct gnn_facts *facts, const json_t *run, struct gnn_err *err);

/* Adds the finished runs of a database that its newest build made. GNN_ENOENT: there are none. */
GNN_MUST_CHECK enum gnn_status gnn_facts_add_database(struct gnn_facts *facts, const char *path, struct gnn_err *err);

/* Names the cells; to be called when all are there. */
void gnn_facts_label(struct gnn_facts *facts);

/* The first cell from `taken` (one flag a cell) left over whose options agree with these wherever both know one: builds
 * may have options that others lack. facts->count: none. */
uint32_t gnn_facts_find(const struct gnn_facts *facts, const struct gnn_kv_list *config, const bool *taken);

/* Whether the count of instructions, of base's, belongs to the total or a hot loop. */
bool gnn_facts_is_hot(const struct gnn_facts *base, const struct gnn_kv *count);

void gnn_facts_clear(struct gnn_facts *facts); /* leaves it empty */

#endif

/* SPDX-License-Identifier: MIT */
/* Which of the rows that a hyperbatch loads are read where they lie, each load a request, and which are sorted ahead:
 * read once in one sweep over the features and appended to the extents of the windows that load them.
 *
 * Fetching rows in a given order is external permuting, which costs the cheaper of a request a row and of sorting
 * (Aggarwal and Vitter, CACM 31(9), 1988, theorem on permuting). Here the choice is made row by row.
 *
 * Cost     in bytes of large reads, the unit of all that follows: a request at a random place takes as long as
 *          random_bytes of them, with the row that it brings. A row that is sorted costs sorted_bytes a load, written
 *          and read back, and its share of the sweep: a request, or the bytes up to it from the row that the sweep
 *          reads before, whichever is less.
 * Rule     the least cost of all rows together. All loads of a row are of one class: once the sweep reads it, its
 *          further loads cost the least in the same way each. Between two rows that one request of the sweep covers
 *          every loaded row is sorted where sorting a load is cheaper than a request, and none is sorted where it is
 *          not; so only neighbours among the loaded rows decide, and two sums suffice.
 * Packed   rows that lie packed beside the features (hot.h) are swept there, the others among the features: two sweeps,
 *          one after the other, whose costs do not touch. So each is decided by itself. Where more rows may be packed,
 *          the least cost is that of this hyperbatch and of a next one that loads the same, but for the rows that are
 *          in memory when this one ends: either both sweep among the features, or this one packs what the next one
 *          would sweep again, which reads it packed. Packing a row costs sorted_bytes, written and read back.
 * Time     linear in the rows that are loaded, in the words of a set of all nodes, which are passed over in order, and
 *          in the places of packed rows
 * Memory   presort_classes_bytes(): 0.375 bytes a node; 2 more are lent between begin and decide */
#ifndef PRESORT_CLASSES_H
#define PRESORT_CLASSES_H

#include "harness/oocgnn.h"
#include "harness/world/world.h"

enum presort_choice { PRESORT_AUTO, PRESORT_DIRECT, PRESORT_SORTED };

struct presort_costs {
    uint64_t row_bytes;
    uint64_t random_bytes; /* at least row_bytes */
    uint64_t sorted_bytes;
};

/* Rows that lie packed, in the order in which they lie. */
struct presort_packed {
    const gnn_node *rows;    /* (places) GNN_NODE_NONE: nothing lies there */
    const uint64_t *members; /* a set of nodes: all of them */
    uint32_t places;
    bool grows;           /* rows may be added, and another hyperbatch comes */
    const uint64_t *held; /* a set of nodes: in memory when the hyperbatch ends, so that the next need not load them */
};

struct presort_classes_config {
    uint32_t node_count;
    enum presort_choice choice; /* direct, sorted: every row alike */
    struct presort_costs costs;
    const struct presort_packed *packed; /* as it is when a decision is made; NULL: no row ever is */
    uint16_t *table; /* (node_count) UINT16_MAX each, which they are again after a decision; the caller's */
};

struct presort_classes; /* one thread at a time */

uint64_t presort_classes_bytes(uint32_t node_count);
/* GNN_ENOMEM, GNN_ECAP. *out is the caller's to close also then. */
GNN_MUST_CHECK enum gnn_status presort_classes_open(struct gnn_world *world,
                                                    const struct presort_classes_config *config,
                                                    struct presort_classes **out, struct gnn_err *err);
void presort_classes_close(struct presort_classes *c); /* accepts NULL */

void presort_classes_begin(struct presort_classes *c);             /* no row is loaded */
void presort_classes_add(struct presort_classes *c, gnn_node row); /* one load more; at most 65535 of a row */

/* What was decided. */
struct presort_decision {
    uint64_t loads, sorted_loads, sorted_rows;
    uint64_t cost_bytes;                 /* of the plan */
    uint64_t direct_bytes, sweeps_bytes; /* had every load been direct, or sorted */
    bool packs;                          /* sorted rows that are not packed shall be: presort_classes_packs */
};

/* Decides; at most `loads_max` loads are sorted: from the row on with which they would be more, all are direct. Packed
 * rows come first, as they lie. With the choice left, all are direct unless that costs `gain` times the least or more:
 * 1 where the least alone counts. */
void presort_classes_decide(struct presort_classes *c, uint64_t loads_max, uint32_t gain, struct presort_decision *out);
bool presort_classes_sorted(const struct presort_classes *c, gnn_node row);
/* Whether a sorted row that is not packed shall be, where the decision packs. */
bool presort_classes_packs(const struct presort_classes *c, gnn_node row);
/* The first sorted row from `row` on that is not packed; node_count: there is none. */
gnn_node presort_classes_next(const struct presort_classes *c, gnn_node row);
/* The first place from `place` on where a sorted row lies packed; as many as there are places: there is none. */
uint32_t presort_classes_next_packed(const struct presort_classes *c, uint32_t place);

#endif

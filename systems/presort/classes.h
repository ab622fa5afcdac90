/* SPDX-License-Identifier: MIT */
/* The classes of rows that a hyperbatch loads. A direct row is read from its place among the features, one request a
 * load. A sorted row is read once, in one sweep over the features. It is then appended to the extents of the windows
 * that load it.
 *
 * Fetching rows in a given order is external permuting. It costs the cheaper of one request a row and of sorting
 * (Aggarwal and Vitter, CACM 31(9), 1988, theorem on permuting). Here the choice is made row by row.
 *
 * Cost     Costs are in bytes of large reads. A request at a random place takes as long as random_bytes of them, its
 *          row included. A sorted row costs sorted_bytes a load, for writing and reading back, and its share of the
 *          sweep. That is a request or, if less, the bytes from the row that the sweep reads before.
 * Rule     The total cost of all rows is the least possible. All loads of a row are of one class: once the sweep reads
 *          it, each further load has the same cheapest way. Consider the loaded rows between two rows that one request
 *          of the sweep covers. All are sorted if sorting a load is cheaper than a request, else none. So only
 *          neighbours among the loaded rows matter, and two sums suffice.
 * Packed   Rows in the packed file (hot.h) are swept there, the others among the features. These are two sweeps, one
 *          after the other, with independent costs, so each is decided separately. If more rows may be packed, the cost
 *          of a second hyperbatch is added. It loads the same rows, without those that are in memory when this one
 *          ends. Either both sweep among the features, or this one packs the rows that the next one would sweep again.
 *          Packing a row costs sorted_bytes, for writing and reading back.
 * Time     Linear in the rows that are loaded, in the words of a set of all nodes, which are read in order, and in the
 *          places of packed rows.
 * Memory   presort_classes_bytes(): 0.375 bytes a node. A table of 2 bytes a node is lent between begin and decide. */
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

/* Rows of the packed file, in its order. */
struct presort_packed {
    const gnn_node *rows;    /* (places) GNN_NODE_NONE: the place is empty */
    const uint64_t *members; /* a set of nodes: all of them */
    uint32_t places;
    bool grows;           /* rows may be added, and another hyperbatch follows */
    const uint64_t *held; /* a set of nodes: in memory when the hyperbatch ends, so the next one does not load them */
};

struct presort_classes_config {
    uint32_t node_count;
    enum presort_choice choice; /* direct or sorted applies to every row */
    struct presort_costs costs;
    const struct presort_packed *packed; /* read at each decision; NULL: rows are never packed */
    uint16_t *table;                     /* (node_count) the caller's; all UINT16_MAX, which a decision restores */
};

struct presort_classes; /* one thread at a time */

uint64_t presort_classes_bytes(uint32_t node_count);
/* Opens without loaded rows. Returns GNN_ENOMEM or GNN_ECAP; the caller must close *out even then. */
GNN_MUST_CHECK enum gnn_status presort_classes_open(struct gnn_world *world,
                                                    const struct presort_classes_config *config,
                                                    struct presort_classes **out, struct gnn_err *err);
void presort_classes_close(struct presort_classes *c); /* accepts NULL */

void presort_classes_begin(struct presort_classes *c);             /* removes all loads */
void presort_classes_add(struct presort_classes *c, gnn_node row); /* adds a load; a row has 65535 at most */

/* The result of a decision. */
struct presort_decision {
    uint64_t loads, sorted_loads, sorted_rows;
    uint64_t cost_bytes;                 /* of the plan */
    uint64_t direct_bytes, sweeps_bytes; /* cost if every load were direct, or sorted */
    bool packs;                          /* sorted rows are packed if presort_classes_packs */
};

/* Decides the class of every loaded row. At most `loads_max` loads are sorted: from the row on that would exceed it,
 * all are direct. Packed rows come first, in the order of the file. If choice is auto, all rows are direct unless that
 * costs at least `gain` times the least cost. With gain = 1 only the least cost counts. */
void presort_classes_decide(struct presort_classes *c, uint64_t loads_max, uint32_t gain, struct presort_decision *out);
bool presort_classes_sorted(const struct presort_classes *c, gnn_node row);
/* Returns whether a sorted row that is not packed is to be packed, if the decision packs. */
bool presort_classes_packs(const struct presort_classes *c, gnn_node row);
/* Returns the first sorted row from `row` on that is not packed, or node_count if there is none. */
gnn_node presort_classes_next(const struct presort_classes *c, gnn_node row);
/* Returns the first place from `place` on with a sorted row, or the number of places if there is none. */
uint32_t presort_classes_next_packed(const struct presort_classes *c, uint32_t place);

#endif

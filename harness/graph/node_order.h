/* SPDX-License-Identifier: MIT */
/* The places of a reachable set among the node IDs: a density that is constant in each of a few pieces of the IDs.
 *
 *   `0.6:0.25+0.4:0.75`   The first 60 % of the IDs hold 25 % of the members, the other 40 % hold 75 %.
 *   `even`                All IDs have the same density.
 *
 * A piece's IDs are divided into as many equal intervals as it has members. Each member is at a hashed place in its
 * interval. */
#ifndef GNN_GRAPH_NODE_ORDER_H
#define GNN_GRAPH_NODE_ORDER_H

#include "harness/base/rng.h"
#include "harness/graph/class_groups.h"
#include "harness/oocgnn.h"

#include <assert.h>

enum {
    GNN_ORDER_PIECES_MAX = 6,
    GNN_ORDER_TEXT = 160, /* bytes of an order as text, its 0 included */
};

/* Pieces in the order of their IDs. Both shares add up to 1. */
struct gnn_node_order {
    uint32_t count;                       /* 0: even */
    double ids[GNN_ORDER_PIECES_MAX];     /* share of the node IDs; 0.0001 or more */
    double members[GNN_ORDER_PIECES_MAX]; /* share of the set; 0, or 0.0001 or more */
};

/* Parses text as described above. Returns GNN_EUSAGE, which quotes the text, if it is something else. */
GNN_MUST_CHECK enum gnn_status gnn_node_order_parse(const char *text, struct gnn_node_order *out, struct gnn_err *err);
/* Writes text that gnn_node_order_parse() reads as the same order, with numbers of seven digits. */
void gnn_node_order_format(const struct gnn_node_order *order, char text[GNN_ORDER_TEXT]);
/* Returns GNN_EUSAGE, which names the piece, if a set with this share of the nodes does not fit into a piece. */
GNN_MUST_CHECK enum gnn_status gnn_node_order_check(const struct gnn_node_order *order, double share,
                                                    struct gnn_err *err);
/* Returns the order in which all members are among the first `filled` of the IDs, with the same density. */
struct gnn_node_order gnn_node_order_fill(double filled);
/* Returns the share of the IDs, from 0 up, that hold all members with the same density. Returns NAN for an order of
 * another shape. */
double gnn_node_order_filled(const struct gnn_node_order *order);

/* ---- places ---- */

/* Immutable after open. */
struct gnn_places {
    uint64_t key;
    uint32_t count; /* pieces */
    struct {
        uint32_t node, member; /* the first ones; entry `count` has the numbers of all */
        uint64_t step;         /* IDs from interval to interval, of 2^32; 0: no members */
    } piece[GNN_ORDER_PIECES_MAX + 1];
};

/* Divides node_count IDs and member_count members, which are at most as many, into the order's pieces. A piece whose
 * rounded shares would give it more members than IDs gets as many IDs as members. */
void gnn_places_open(const struct gnn_node_order *order, uint32_t node_count, uint32_t member_count, uint64_t key,
                     struct gnn_places *out);

/* Returns the ID of a member. */
static inline uint32_t gnn_places_node(const struct gnn_places *p, uint32_t member)
{
    __extension__ typedef unsigned __int128 wide;
    uint32_t i = 0;
    assert(member < p->piece[p->count].member);
    while (member >= p->piece[i + 1].member)
        i++;
    const uint64_t step = p->piece[i].step;
    const wide at = (wide)step * (member - p->piece[i].member); /* the start of this interval and of the next one */
    const uint64_t low = (uint64_t)(at >> 32), width = (uint64_t)((at + step) >> 32) - low;
    const uint32_t bits = (uint32_t)(gnn_splitmix64_at(p->key, member) >> 32);
    return p->piece[i].node + (uint32_t)low + gnn_below32(bits, (uint32_t)width);
}

/* Returns the member whose interval holds the ID. Returns the first member behind the ID if no interval holds it. */
uint32_t gnn_places_interval(const struct gnn_places *places, uint32_t node);

#endif

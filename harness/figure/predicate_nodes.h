/* SPDX-License-Identifier: MIT */
/* Kinds of the nodes and shapes of a predicate. The parser sets them, the judge evaluates them. */
#ifndef GNN_FIGURE_PREDICATE_NODES_H
#define GNN_FIGURE_PREDICATE_NODES_H

enum node_kind {
    NODE_NUMBER,
    NODE_VALUE,
    NODE_ADD,
    NODE_SUBTRACT,
    NODE_MULTIPLY,
    NODE_DIVIDE,
    NODE_LARGER, /* of two */
    NODE_SMALLER,
    NODE_MAX, /* over every free axis below */
    NODE_MIN,
    NODE_MEAN,
    NODE_MEDIAN,
    NODE_ARGMIN, /* along x */
    NODE_ARGMAX,
    NODE_EXPONENT,
};

enum shape { SHAPE_COMPARISON, SHAPE_RISES, SHAPE_FALLS, SHAPE_NEVER_RISES, SHAPE_NEVER_FALLS, SHAPE_FLAT };

#endif

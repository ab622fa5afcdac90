/* SPDX-License-Identifier: MIT */
/* A graph without storage: every degree, class, label and neighbour is a pure function of (seed, position). So the
 * generator writes it with any number of threads, and a simulated device serves it without a disk.
 *
 * In-degrees follow a shifted power law. A pseudo-random permutation assigns them to nodes, so their sum is the same
 * for every seed. In-neighbour lists are stratified: position i of a list of length d is drawn from its own interval of
 * the node IDs. With locality 0 this is [i N / d, (i + 1) N / d). So lists are strictly ascending without sorting,
 * without duplicates or self-loops. Any single entry costs O(1).
 *
 * The source is drawn in two steps. Its class is the destination's with probability `homophily`, else another class,
 * drawn uniformly. Then a popularity tier is drawn. Tier t has one node of the class in each aligned run of 2^t
 * members, at a hashed place. Tier 0 has weight 1, tier t has 2^(-t (1 - s)) (1 - 2^-s), s = `popularity`. So 2^-t of
 * the nodes are drawn about 2^(s t) times as often as the others: Zipf's law with exponent s, with hubs scattered over
 * the ID space. A run must fit into the interval, which bounds the hubs of small graphs. An interval may have no member
 * of the class (lists longer than N / classes). It then gives any of its nodes.
 *
 * With a reachable set (struct gnn_reach_config) mini-batches see other nodes and lists than described here.
 *
 * harness/dataset/README.md has the formulas. Immutable after open: any thread may call. */
#ifndef GNN_GRAPH_PROCEDURAL_H
#define GNN_GRAPH_PROCEDURAL_H

#include "harness/graph/degree_law.h"
#include "harness/graph/entries.h"
#include "harness/graph/node_order.h"
#include "harness/oocgnn.h"

/* A closed reachable set. If `share` is above 0, mini-batches see only a set K of the nodes, whose layout reach.h
 * describes. Lists of nodes in K hold nodes of K, in any order and possibly twice. Nodes outside K have lists over all
 * nodes, as described above. A law that was measured on a graph replaces the numbers that state the same property. */
struct gnn_reach_config {
    double share; /* share of the nodes that are in K; 0: no such set, and the other fields are ignored */
    struct gnn_node_order order; /* where K's nodes are among the IDs */
    double empty;                /* [0, 1): share of K's lists without an entry */
    double list_mean;            /* mean entries of K's other lists; 0: mean_degree / (1 - empty) */
    double train_empty;          /* `empty` for the training nodes' lists, used with train_mean */
    double train_mean;           /* `list_mean` for the training nodes' lists; 0: they are like K's others */
    double train_share;          /* share of a training node's entries that are training nodes; 0: as in K's others */
    uint32_t train_count;        /* training nodes: the first of a permutation of K (gnn_procedural_split_node) */
    uint32_t split_count;        /* nodes of all splits; all are in K */
    double hub_shift; /* q: K's node of quantile x is drawn like (x + q)^-popularity; above 0 for popularity >= 1 */
    uint32_t votes;   /* entries of a list that decide its owner's label, at most; 0: the label is the class */
    double coupling;  /* [-1, 1]: share of K whose list is as long as the node is popular; below 0: as short */
    /* measured laws, read during open only; NULL: none */
    const struct gnn_rank_law *popularity, *degrees, *train_degrees, *rest_degrees;
    bool mutual;         /* u is in v's list if v is in u's (mutual.h); popularity is then ignored */
    double clique_share; /* share of a mutual list's entries from cliques of more than two */
    /* of popularity by list length, read during open only; NULL: length has no influence */
    const struct gnn_mixing *mixing;
};

struct gnn_procedural_config {
    uint64_t seed;
    uint32_t node_count;
    double mean_degree;     /* edges / nodes; at least 1, as every node outside a reachable set has an in-neighbour */
    double degree_exponent; /* alpha of P(d) ~ (d + d0)^-alpha, above 2 */
    uint32_t class_count;   /* at least 1 */
    double homophily;       /* [0, 1]: share of edges inside a class */
    /* [0, 1], with a reachable set [0, 4]: Zipf exponent of the sources; 0 = all nodes equally */
    double popularity;
    /* [0, 1]: share of a list drawn from the window around its destination; 0 with a reachable set */
    double locality;
    uint32_t window;    /* nodes in that window; 0 = node_count / 100 */
    double label_noise; /* [0, 1]: share of nodes whose label is a class other than their own */
    struct gnn_reach_config reach;
};

struct gnn_procedural;

/* Opens a graph, or returns GNN_EUSAGE if a parameter is out of range or the graph is too small for its mean degree.
 * The message names the parameter. */
GNN_MUST_CHECK enum gnn_status gnn_procedural_open(const struct gnn_procedural_config *config,
                                                   struct gnn_procedural **out, struct gnn_err *err);
void gnn_procedural_close(struct gnn_procedural *graph); /* accepts NULL */

/* Returns the in-degree, in [1, gnn_procedural_degree_max]; with a reachable set it may be 0. indptr is the running sum
 * of the degrees over the nodes. */
uint32_t gnn_procedural_degree(const struct gnn_procedural *graph, gnn_node node);
/* Sets degrees[i] to the in-degree of node first + i, for i < count. Several times faster per node than
 * gnn_procedural_degree. */
void gnn_procedural_degrees(const struct gnn_procedural *graph, gnn_node first, uint32_t count, uint32_t *degrees);
uint32_t gnn_procedural_degree_max(const struct gnn_procedural *graph);

/* Returns entry `position` of the node's in-neighbour list. degree is gnn_procedural_degree(graph, node). The neighbour
 * at edge offset e of node v is at position e - indptr[v]. */
gnn_node gnn_procedural_neighbour(const struct gnn_procedural *graph, gnn_node node, uint32_t degree,
                                  uint32_t position);

/* Draw the entries of many lists together. gnn_procedural_collect initialises `entries`. gnn_procedural_add sets out[i]
 * to the neighbour at edge_offset[i] of a node's list, which begins at edge `begin`. The values are valid once
 * gnn_entries_draw has returned, which draws the entries that still wait. `out` must stay valid until then. */
void gnn_procedural_collect(const struct gnn_procedural *graph, struct gnn_entries *entries);
void gnn_procedural_add(const struct gnn_procedural *graph, gnn_node node, uint32_t degree, uint64_t begin,
                        const uint64_t *edge_offset, uint64_t count, gnn_node *out, struct gnn_entries *entries);
/* Sets out (count) to the sources of edges [first, first + count), where the lists of all nodes follow each other.
 * Edges [indptr[v], indptr[v + 1]) belong to node v. `node` is the node whose list holds edge `first`. */
void gnn_procedural_lists(const struct gnn_procedural *graph, const uint64_t *indptr, gnn_node node, uint64_t first,
                          uint64_t count, gnn_node *out);

/* Returns the class (community) of a node. */
uint32_t gnn_procedural_class(const struct gnn_procedural *graph, gnn_node node);
/* Returns how clearly a node shows its class: uniform in (0, 2] with a reachable set, else 1. */
double gnn_procedural_clarity(const struct gnn_procedural *graph, gnn_node node);
/* Returns the label of a node: its class, or another class with probability label_noise. With `votes` this differs for
 * nodes of a split whose list is not empty. The clarities of the list's first entries are summed by class, and the
 * class with the largest sum replaces the node's own. */
uint32_t gnn_procedural_label(const struct gnn_procedural *graph, gnn_node node);
/* Sets labels[i] to the label of node first + i, for i < count. Several times faster per node than
 * gnn_procedural_label. */
void gnn_procedural_labels(const struct gnn_procedural *graph, gnn_node first, uint32_t count, uint32_t *labels);

/* Returns the number of nodes in the reachable set, or of all nodes if there is no such set. */
uint32_t gnn_procedural_reach_count(const struct gnn_procedural *graph);
/* Returns node number `index` of the permutation that the splits are cut from. It permutes the reachable set, or all
 * nodes if there is no such set. */
gnn_node gnn_procedural_split_node(const struct gnn_procedural *graph, uint32_t index);

#endif

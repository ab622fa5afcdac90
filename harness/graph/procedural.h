/* SPDX-License-Identifier: MIT */
/* A graph without storage: every degree, class, label and neighbour is a pure function of (seed, position), so the
 * generator writes it with any number of threads and a simulated device serves it without a disk.
 *
 * In-degrees follow a shifted power law, dealt out by a pseudo-random permutation, so the sum is the same for every
 * seed. In-neighbour lists are stratified: position i of a list of length d is drawn from its own interval of the node
 * IDs, [i N / d, (i + 1) N / d) when locality is 0. So lists are strictly ascending without sorting, hold no duplicate
 * and no self-loop, and any single entry costs O(1).
 *
 * Inside the interval the source's class is the destination's own with probability `homophily`, else another one
 * uniformly. Then a popularity tier is drawn: tier t has one node of the class in each aligned run of 2^t members, at a
 * hashed place; tier 0 has weight 1, tier t has 2^(-t (1 - s)) (1 - 2^-s), s = `popularity`. So 2^-t of the nodes are
 * drawn about 2^(s t) times as often as the rest: Zipf's law with exponent s, hubs scattered over the ID space. A run
 * must fit into the interval, which bounds the hubs of small graphs; an interval without any member of the class (lists
 * longer than N / classes) yields any of its nodes.
 *
 * A reach (struct gnn_reach_config) changes whom mini-batches see; without one the graph is what is said here.
 *
 * harness/dataset/README.md states the same with formulas. Immutable after open: any thread may call. */
#ifndef GNN_GRAPH_PROCEDURAL_H
#define GNN_GRAPH_PROCEDURAL_H

#include "harness/graph/degree_law.h"
#include "harness/graph/entries.h"
#include "harness/oocgnn.h"

/* A closed reach: with share above 0 mini-batches see a set K of the nodes alone (reach.h says how it is laid out).
 * Lists of K hold nodes of K, in any order, and a node may stand in one twice; nodes outside K have lists as above,
 * over all nodes. A law that was read off a graph takes the place of the figures that say the same. */
struct gnn_reach_config {
    double share;         /* of the nodes that are in K; 0: none, and the other fields do not count */
    double spread;        /* [share, 1]: of the IDs, among the first of which K lies */
    double empty;         /* [0, 1): share of K's lists without an entry */
    double list_mean;     /* entries of the others; 0: mean_degree / (1 - empty) */
    double train_empty;   /* the same of the training nodes' lists */
    double train_mean;    /* 0: as K's others */
    uint32_t train_count; /* training nodes: the first of a permutation of K (gnn_procedural_split_node) */
    uint32_t split_count; /* nodes of all splits, which K has to hold */
    double hub_shift; /* q: K's node of quantile x is drawn like (x + q)^-popularity; above 0 from popularity 1 on */
    uint32_t votes;   /* entries of a list that its owner's label is taken from at most; 0: it is the class */
    double coupling;  /* [-1, 1]: share of K whose list is as long as it is popular; below 0: as short */
    const struct gnn_rank_law *popularity, *degrees, *train_degrees, *rest_degrees; /* read; NULL: none. Not kept */
    bool mutual;                     /* u in v's list is v in u's (mutual.h); no law of popularity counts then */
    double clique_share;             /* of a mutual list, from cliques of more than two */
    const struct gnn_mixing *mixing; /* of popularity; NULL: lists of any length name nodes alike. Not kept */
};

struct gnn_procedural_config {
    uint64_t seed;
    uint32_t node_count;
    double mean_degree;     /* edges / nodes; at least 1, as every node has an in-neighbour */
    double degree_exponent; /* alpha of P(d) ~ (d + d0)^-alpha, above 2 */
    uint32_t class_count;   /* at least 1 */
    double homophily;       /* [0, 1]: share of edges inside a class */
    double popularity;      /* [0, 1], with a reach [0, 4]: Zipf exponent of the sources; 0 = all alike */
    double locality;        /* [0, 1]: share of a list drawn from the window around its destination */
    uint32_t window;        /* nodes in that window; 0 = node_count / 100 */
    double label_noise;     /* [0, 1]: share of nodes whose label is another class than their own */
    struct gnn_reach_config reach;
};

struct gnn_procedural;

/* GNN_EUSAGE names the parameter that is out of range, or says that the graph is too small for its mean degree. */
GNN_MUST_CHECK enum gnn_status gnn_procedural_open(const struct gnn_procedural_config *config,
                                                   struct gnn_procedural **out, struct gnn_err *err);
void gnn_procedural_close(struct gnn_procedural *graph); /* accepts NULL */

/* In-degree, in [1, gnn_procedural_degree_max]; with a reach it may be 0. indptr is its running sum over the nodes. */
uint32_t gnn_procedural_degree(const struct gnn_procedural *graph, gnn_node node);
/* The same of nodes [first, first + count), several times faster a node. */
void gnn_procedural_degrees(const struct gnn_procedural *graph, gnn_node first, uint32_t count, uint32_t *degrees);
uint32_t gnn_procedural_degree_max(const struct gnn_procedural *graph);

/* Entry `position` of node's in-neighbour list; degree is gnn_procedural_degree(graph, node). The neighbour at edge
 * offset e of node v is position e - indptr[v]. */
gnn_node gnn_procedural_neighbour(const struct gnn_procedural *graph, gnn_node node, uint32_t degree,
                                  uint32_t position);

/* Entries of many lists wait in `entries`, which gnn_procedural_collect opens, until enough have come for each step to
 * be taken by many; gnn_entries_draw draws the last ones. gnn_procedural_add: out[i] = the neighbour at edge_offset[i]
 * of a node's list, which begins at edge `begin`, once gnn_entries_draw has returned. */
void gnn_procedural_collect(const struct gnn_procedural *graph, struct gnn_entries *entries);
void gnn_procedural_add(const struct gnn_procedural *graph, gnn_node node, uint32_t degree, uint64_t begin,
                        const uint64_t *edge_offset, uint64_t count, gnn_node *out, struct gnn_entries *entries);
/* out (count): edges [first, first + count) of all lists one behind the other, of which node v's are [indptr[v],
 * indptr[v + 1]); `node` is the one whose list holds `first`. */
void gnn_procedural_lists(const struct gnn_procedural *graph, const uint64_t *indptr, gnn_node node, uint64_t first,
                          uint64_t count, gnn_node *out);

/* The community a node belongs to. */
uint32_t gnn_procedural_class(const struct gnn_procedural *graph, gnn_node node);
/* How clearly a node shows it: in (0, 2), uniform, with a reach; 1 without. */
double gnn_procedural_clarity(const struct gnn_procedural *graph, gnn_node node);
/* The label a node shows, which is its class but for label_noise. With a reach and its `votes` a node of a split whose
 * list is not empty shows the class whose nodes among the first entries are clearest, added up. */
uint32_t gnn_procedural_label(const struct gnn_procedural *graph, gnn_node node);
/* Labels of nodes [first, first + count), several times faster a node. */
void gnn_procedural_labels(const struct gnn_procedural *graph, gnn_node first, uint32_t count, uint32_t *labels);

/* Nodes of the reach; without one all nodes. */
uint32_t gnn_procedural_reach_count(const struct gnn_procedural *graph);
/* Number `index` of the permutation that the splits are cut from: of the reach, or of all nodes. */
gnn_node gnn_procedural_split_node(const struct gnn_procedural *graph, uint32_t index);

#endif

/* SPDX-License-Identifier: MIT */
/* Which partitions are in memory when, and which training examples each set of them gives: the sequences S and X of
 * section 3, by the policies of section 5, and the edge permutation bias B of section 6. Pure functions of their
 * arguments; they read and move nothing.
 *
 * Words    Physical partitions 0 .. p - 1 lie on the disk. A logical partition is a group of g of them that is swapped
 *          as a whole; l = ceil(p / g), the last group may be short. A state is a set of c_l logical partitions, each
 *          in a place: the place is where it lies in memory. c = c_l * g physical partitions have a slot each.
 * Memory   (l g + states * c_l) numbers an order, world memory, the opener's to close.
 * Threads  an order that is made is read by any. */
#ifndef MARIUSGNN_POLICY_H
#define MARIUSGNN_POLICY_H

#include "harness/base/rng.h"
#include "harness/world/world.h"

#define MARIUS_NONE UINT32_MAX /* no partition: a slot that stays empty */

struct marius_order {
    uint32_t partitions; /* p */
    uint32_t group;      /* g */
    uint32_t units;      /* l */
    uint32_t places;     /* c_l */
    uint32_t states;     /* |S| */
    uint32_t *members;   /* (l, g) physical partitions; MARIUS_NONE fills the last group up */
    uint32_t *resident;  /* (states, c_l) the logical partition in each place */
};

/* ---- orders ---- */

/* COMET (section 5.1): physical partitions are grouped at random, the groups swapped one at a time so that every pair
 * of them is resident together in some state. 2 <= c_l <= l; with c_l = l there is one state. GNN_ENOMEM, GNN_ECAP. */
GNN_MUST_CHECK enum gnn_status marius_order_comet(struct gnn_world *world, struct gnn_rng *rng, uint32_t partitions,
                                                  uint32_t group, uint32_t places, struct marius_order *out,
                                                  struct gnn_err *err);
/* BETA (Marius, OSDI 2021): the same with g = 1 and c places. */
GNN_MUST_CHECK enum gnn_status marius_order_beta(struct gnn_world *world, struct gnn_rng *rng, uint32_t partitions,
                                                 uint32_t capacity, struct marius_order *out, struct gnn_err *err);
/* Node classification (section 5.2): one state, the k partitions of the training nodes and c - k others at random.
 * k <= c <= p. `before` (capacity), which may be NULL: the state of the epoch before; what stays resident keeps its
 * place. */
GNN_MUST_CHECK enum gnn_status marius_order_training_first(struct gnn_world *world, struct gnn_rng *rng,
                                                           uint32_t partitions, uint32_t training, uint32_t capacity,
                                                           const uint32_t *before, struct marius_order *out,
                                                           struct gnn_err *err);
/* Its fallback where the training nodes do not fit: random groups; a random one that is resident is replaced by a
 * random one that never was, until all were. 1 <= c_l <= l. */
GNN_MUST_CHECK enum gnn_status marius_order_replace(struct gnn_world *world, struct gnn_rng *rng, uint32_t partitions,
                                                    uint32_t group, uint32_t places, struct marius_order *out,
                                                    struct gnn_err *err);
void marius_order_close(struct gnn_world *world, struct marius_order *order); /* accepts a zeroed one */

/* Physical slots of a state: c. */
static inline uint32_t marius_order_slots(const struct marius_order *order)
{
    return order->places * order->group;
}
/* Memory of an order of so many states. */
uint64_t marius_order_bytes(uint32_t partitions, uint32_t group, uint32_t places, uint64_t states);
/* The physical partition in a slot; MARIUS_NONE: it is empty. */
uint32_t marius_order_partition(const struct marius_order *order, uint32_t state, uint32_t slot);
/* The place whose logical partition differs between state and state + 1; state + 1 < states. */
uint32_t marius_order_swapped(const struct marius_order *order, uint32_t state);
/* ---- counts ---- */

/* States of the one-swap sequence over q units with m places, 2 <= m <= q: its swaps are these less one. */
uint64_t marius_one_swap_states(uint32_t units, uint32_t places);
/* Least swaps of any sequence that brings every pair together, one unit at a time. */
uint64_t marius_one_swap_bound(uint32_t units, uint32_t places);

/* ---- training examples ---- */

enum marius_assignment {
    MARIUS_ASSIGN_RANDOM, /* COMET: any state that holds both ends (deferred processing) */
    MARIUS_ASSIGN_GREEDY, /* BETA: the first */
};

/* Gives every edge bucket (source partition i, destination partition j) to one state that holds both: state_of (p, p).
 * Every pair must be together somewhere. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status marius_assign_buckets(const struct marius_order *order,
                                                     enum marius_assignment assignment, struct gnn_rng *rng,
                                                     uint32_t *state_of, struct gnn_err *err);
/* Gives every training node to one state that holds its partition, any of them: node i < count lies in partition
 * nodes[i] / rows. state_of (count). The draw of a node depends on (key, node) alone. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status marius_assign_nodes(const struct marius_order *order, uint64_t key,
                                                   const gnn_node *nodes, uint32_t count, uint32_t rows,
                                                   uint32_t *state_of, struct gnn_err *err);

/* Edge permutation bias B (section 6) of an assignment: the largest difference, after any state, between two
 * partitions' shares of their buckets that were processed. All buckets weigh the same. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status marius_bias(const struct marius_order *order, const uint32_t *state_of, double *bias,
                                           struct gnn_err *err);

/* ---- auto-tuning (section 6) ---- */

struct marius_graph_size {
    uint64_t nodes, edges;
    uint32_t row_bytes;  /* of a node's vector */
    uint32_t edge_bytes; /* of an edge on disk */
};

/* alpha_4 = min(NO / D, sqrt(EO / D)): the partitions with which the smallest read is a disk block of D bytes. */
double marius_rule_partitions(const struct marius_graph_size *size, uint32_t disk_block_bytes);
/* The same as a power of two: the nearest on a logarithmic scale that leaves the last partition a row,
 * P (p - 1) < N with P = ceil(N / p); at least 1. */
uint32_t marius_tuned_partitions(const struct marius_graph_size *size, uint32_t disk_block_bytes);
/* The largest c <= p with c PO + 2 c^2 EBO < memory_bytes, F being 0; 0: not even one. */
uint32_t marius_rule_capacity(const struct marius_graph_size *size, uint32_t partitions, uint64_t memory_bytes);
/* Rows of a partition, P; the last one has fewer. */
static inline uint32_t marius_partition_rows(uint64_t nodes, uint32_t partitions)
{
    return (uint32_t)gnn_div_up(nodes, partitions);
}
/* Whether p partitions of P rows leave the last one any: P (p - 1) < N. */
static inline bool marius_partitions_fit(uint64_t nodes, uint32_t partitions)
{
    return (uint64_t)marius_partition_rows(nodes, partitions) * (partitions - 1) < nodes;
}

#endif

/* SPDX-License-Identifier: MIT */
/* The sequences S and X of section 3: which partitions are in memory when, and which training examples each set of them
 * gives. The policies are those of section 5; section 6 defines the edge permutation bias B. The functions depend only
 * on their arguments and do no I/O.
 *
 * Words    Physical partitions 0 .. p - 1 are on the disk. A logical partition is a group of g of them that is swapped
 *          as a whole. Their number is l = ceil(p / g); the last group may be short. A state is a set of c_l logical
 *          partitions, each in a place, which is its location in memory. Each of the c = c_l * g physical partitions
 *          has a slot.
 * Memory   (l g + states * c_l) numbers an order, in world memory. The caller that opens an order closes it.
 * Threads  Any thread may read a complete order. */
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

/* Draws the order of COMET (section 5.1). Physical partitions are grouped at random. The groups are swapped one at a
 * time, so that every pair of them is resident together in some state. 2 <= c_l <= l; with c_l = l there is one state.
 * Returns GNN_ENOMEM, GNN_ECAP, or GNN_EUSAGE if there are 2^32 states. */
GNN_MUST_CHECK enum gnn_status marius_order_comet(struct gnn_world *world, struct gnn_rng *rng, uint32_t partitions,
                                                  uint32_t group, uint32_t places, struct marius_order *out,
                                                  struct gnn_err *err);
/* Draws the order of BETA (Marius, OSDI 2021): COMET with g = 1 and c places. */
GNN_MUST_CHECK enum gnn_status marius_order_beta(struct gnn_world *world, struct gnn_rng *rng, uint32_t partitions,
                                                 uint32_t capacity, struct marius_order *out, struct gnn_err *err);
/* Draws the order for node classification (section 5.2): one state with the k partitions of the training nodes, and
 * others at random (c - k). k <= c <= p. `before` (capacity) is the state of the epoch before, or NULL. Partitions that
 * stay resident keep their places. */
GNN_MUST_CHECK enum gnn_status marius_order_training_first(struct gnn_world *world, struct gnn_rng *rng,
                                                           uint32_t partitions, uint32_t training, uint32_t capacity,
                                                           const uint32_t *before, struct marius_order *out,
                                                           struct gnn_err *err);
/* Draws the fallback order if the training nodes do not fit. Groups are random. Each swap replaces a random resident
 * group by a random one that was never resident, until all were. 1 <= c_l <= l. */
GNN_MUST_CHECK enum gnn_status marius_order_replace(struct gnn_world *world, struct gnn_rng *rng, uint32_t partitions,
                                                    uint32_t group, uint32_t places, struct marius_order *out,
                                                    struct gnn_err *err);
void marius_order_close(struct gnn_world *world, struct marius_order *order); /* accepts a zeroed one */

/* Returns the number of physical slots of a state: c. */
static inline uint32_t marius_order_slots(const struct marius_order *order)
{
    return order->places * order->group;
}
/* Returns the memory in bytes of an order of `states` states. */
uint64_t marius_order_bytes(uint32_t partitions, uint32_t group, uint32_t places, uint64_t states);
/* Returns the physical partition in a slot, or MARIUS_NONE if it is empty. */
uint32_t marius_order_partition(const struct marius_order *order, uint32_t state, uint32_t slot);
/* Returns the place whose logical partition differs between state and state + 1. state + 1 < states. */
uint32_t marius_order_swapped(const struct marius_order *order, uint32_t state);
/* ---- counts ---- */

/* Returns the number of states of the one-swap sequence over `units` units with `places` places, 2 <= places <= units.
 * Its swaps are one less. */
uint64_t marius_one_swap_states(uint32_t units, uint32_t places);
/* Returns a lower bound of the swaps, one unit each, of a sequence that brings every pair together. */
uint64_t marius_one_swap_bound(uint32_t units, uint32_t places);

/* ---- training examples ---- */

enum marius_assignment {
    MARIUS_ASSIGN_RANDOM, /* COMET: any state that holds both ends (deferred processing) */
    MARIUS_ASSIGN_GREEDY, /* BETA: the first */
};

/* Assigns every edge bucket (source partition i, destination partition j) to one state that holds both: state_of (p,
 * p). Every pair must be together in some state. Returns GNN_ENOMEM if a table does not fit. */
GNN_MUST_CHECK enum gnn_status marius_assign_buckets(const struct marius_order *order,
                                                     enum marius_assignment assignment, struct gnn_rng *rng,
                                                     uint32_t *state_of, struct gnn_err *err);
/* Assigns every training node to one random state that holds its partition: state_of (count). Node i < count is in
 * partition nodes[i] / rows. The draw of a node depends only on (key, node). Returns GNN_ENOMEM if a table does not
 * fit. */
GNN_MUST_CHECK enum gnn_status marius_assign_nodes(const struct marius_order *order, uint64_t key,
                                                   const gnn_node *nodes, uint32_t count, uint32_t rows,
                                                   uint32_t *state_of, struct gnn_err *err);

/* Computes the edge permutation bias B (section 6) of an assignment. After any state, partitions differ in the share of
 * their buckets that were processed; B is the largest difference. All buckets have the same weight. Returns GNN_ENOMEM
 * if a table does not fit. */
GNN_MUST_CHECK enum gnn_status marius_bias(const struct marius_order *order, const uint32_t *state_of, double *bias,
                                           struct gnn_err *err);

/* ---- auto-tuning (section 6) ---- */

struct marius_graph_size {
    uint64_t nodes, edges;
    uint32_t row_bytes;  /* of a node's vector */
    uint32_t edge_bytes; /* of an edge on disk */
};

/* Returns alpha_4 = min(NO / D, sqrt(EO / D)): the number of partitions for which the smallest read is a disk block of
 * D bytes. */
double marius_rule_partitions(const struct marius_graph_size *size, uint32_t disk_block_bytes);
/* Returns alpha_4 as a power of two, at least 1. It is the nearest on a logarithmic scale that leaves the last
 * partition a row: P (p - 1) < N with P = ceil(N / p). */
uint32_t marius_tuned_partitions(const struct marius_graph_size *size, uint32_t disk_block_bytes);
/* Returns the largest c <= p with c PO + 2 c^2 EBO < memory_bytes, F being 0; or 0 if not even one partition fits. */
uint32_t marius_rule_capacity(const struct marius_graph_size *size, uint32_t partitions, uint64_t memory_bytes);
/* Returns the rows of a partition, P. The last one may have fewer. */
static inline uint32_t marius_partition_rows(uint64_t nodes, uint32_t partitions)
{
    return (uint32_t)gnn_div_up(nodes, partitions);
}
/* Returns whether p partitions of P rows leave the last one any: P (p - 1) < N. */
static inline bool marius_partitions_fit(uint64_t nodes, uint32_t partitions)
{
    return (uint64_t)marius_partition_rows(nodes, partitions) * (partitions - 1) < nodes;
}

#endif

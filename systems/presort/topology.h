/* SPDX-License-Identifier: MIT */
/* Neighbour lists in memory: all of them if they fit, else those that any mini-batch can draw from. These are the lists
 * of the nodes at most layers - 1 hops from a training node. They are found exactly, by a pass over the edges for each
 * hop, when the run opens. If they do not fit either, lists are read while mini-batches are drawn: swept (rounds.h), or
 * through a mapping.
 *
 * Memory   4 bytes an edge that is held. If not all are held, 2 bits a node more, and another bit during open.
 * Threads  Any thread may read it once it is open. */
#ifndef PRESORT_TOPOLOGY_H
#define PRESORT_TOPOLOGY_H

#include "harness/system/sampling.h"

enum presort_topology_kind {
    PRESORT_TOPOLOGY_AUTO,
    PRESORT_TOPOLOGY_RESIDENT,
    PRESORT_TOPOLOGY_SWEPT,
    PRESORT_TOPOLOGY_MAPPED,
};

struct presort_topology;

struct presort_topology_config {
    enum presort_topology_kind kind;
    bool direct;         /* read the edges past the page cache */
    uint64_t room_bytes; /* for the lists */
};

/* Returns the size in bytes of all lists, the most that lists in memory take. */
uint64_t presort_topology_bytes_all(const struct gnn_dataset *dataset);
/* Reads the lists into memory. Sets *out to NULL if they are not to be in memory. Returns GNN_ECAP if kind is resident
 * and they do not fit, or errors of reads and memory. The caller must close *out even after an error. */
GNN_MUST_CHECK enum gnn_status presort_topology_open(const struct gnn_env *env,
                                                     const struct presort_topology_config *config,
                                                     struct presort_topology **out, struct gnn_err *err);
void presort_topology_close(struct presort_topology *t);                  /* accepts NULL */
uint64_t presort_topology_bytes(const struct presort_topology *topology); /* of the lists in memory */
/* Returns the list of a node, which must be held. *count is its length. */
const gnn_node *presort_topology_list(const struct presort_topology *topology, gnn_node node, uint64_t *count);

/* Opens a source over the lists; the topology must stay open. worker is not used. */
GNN_MUST_CHECK enum gnn_status presort_topology_source(void *topology, uint32_t worker,
                                                       struct gnn_neighbour_source **out, struct gnn_err *err);

#endif

/* SPDX-License-Identifier: MIT */
/* Neighbour lists in memory: all of them where they fit, else those that any mini-batch can ever draw from, which are
 * the lists of the nodes at most layers - 1 hops from a training node. What can be reached is found exactly, by a pass
 * over the edges for each hop, when the run opens. Where that does not fit either, lists are read while mini-batches
 * are drawn: swept (rounds.h), or through a mapping.
 *
 * Memory   4 bytes an edge that is held; where not all are, 2 bits a node more, and while it opens one more
 * Threads  read by any once it is open */
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
    bool direct;         /* the edges are read past the page cache */
    uint64_t room_bytes; /* for the lists */
};

/* Most that lists in memory take: all of them. */
uint64_t presort_topology_bytes_all(const struct gnn_dataset *dataset);
/* *out = NULL: they are not to be in memory. GNN_ECAP where they are to be resident and do not fit; errors of reads and
 * memory. *out is the caller's to close also after an error. */
GNN_MUST_CHECK enum gnn_status presort_topology_open(const struct gnn_env *env,
                                                     const struct presort_topology_config *config,
                                                     struct presort_topology **out, struct gnn_err *err);
void presort_topology_close(struct presort_topology *t);                  /* accepts NULL */
uint64_t presort_topology_bytes(const struct presort_topology *topology); /* that are held */
/* The list of a node that is held; *count of it. */
const gnn_node *presort_topology_list(const struct presort_topology *topology, gnn_node node, uint64_t *count);

/* A source over the lists; the topology stays open. The worker is of no interest. */
GNN_MUST_CHECK enum gnn_status presort_topology_source(void *topology, uint32_t worker,
                                                       struct gnn_neighbour_source **out, struct gnn_err *err);

#endif

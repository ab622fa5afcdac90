/* SPDX-License-Identifier: MIT */
/* How long an epoch should take with sizes that are not chosen yet: what a thread more gains against what its memory
 * costs.
 *
 * Gain     Drawing ahead, and drawing again with the copies to inputs, are divided among the threads, and the waits
 *          for pages of mapped lists with them. What one thread does is not: taking mini-batches into windows,
 *          planning, sorting, loading. Nor can an epoch be shorter than its requests take the device, or all work the
 *          cores.
 * Cost     A thread takes samplers, mini-batches and an input; fewer rows stay in memory, and more are loaded, by as
 *          often as rows are expected to be used (uses.h): those that are used least often. Fewer lists make more
 *          hyperbatches, each with passes over a set of all nodes. Threads have to be started and woken.
 * Units    Device: bytes of large reads, as classes are chosen by (classes.h). Processor: what the profile says of a
 *          unit of work, which is what the simulated world charges; without a profile the reference costs of
 *          workloads/hardware/costs.
 * Left out training; rows that no epoch used before; waiting of stages for each other; and how far Belady's
 *          replacement does better than keeping what is used most often. */
#ifndef PRESORT_WEIGH_H
#define PRESORT_WEIGH_H

#include "harness/world/profile.h"
#include "systems/presort/classes.h"
#include "systems/presort/uses.h"

/* What all sizes are weighed by. */
struct presort_scales {
    const struct gnn_profile_cpu *cpu; /* NULL: the reference costs */
    uint32_t cores;
    uint64_t page_ps;     /* of GNN_PAGE_BYTES of large reads */
    uint64_t fault_ns;    /* that a thread waits for a page of mapped lists, */
    uint64_t fault_bytes; /* and what that costs the device, in bytes of large reads */
    struct presort_costs costs;
    enum presort_choice classes;
    uint32_t nodes, batches; /* of the graph; of an epoch */
    uint64_t list_pages;     /* of mapped lists; 0: they are not mapped */
    uint32_t epochs;         /* of the run, the first of which finds no page of them in memory */
    const struct presort_uses *uses;
};

/* The sizes that matter. */
struct presort_candidate {
    uint32_t threads, slots, window_rows, members_max;
    uint32_t hyperbatches, windows; /* of an epoch at least, whatever has room */
    uint32_t absent_percent;        /* of the pages of mapped lists that have no room in memory */
};

/* Of an epoch: not a run's first, but for its share of the pages of lists that come in once. */
struct presort_weight {
    uint64_t loads;
    bool sorted;                                        /* the loads cost less so */
    uint64_t device_ns;                                 /* of its requests */
    uint64_t prepare_ns, load_ns, assemble_ns, work_ns; /* of its stages; of all their work on the cores */
    uint64_t epoch_ns;                                  /* the longest of them, and starting the threads */
};

void presort_weigh(const struct presort_scales *scales, const struct presort_candidate *candidate,
                   struct presort_weight *out);

#endif

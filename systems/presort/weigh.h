/* SPDX-License-Identifier: MIT */
/* The expected time of an epoch for sizes that are not chosen yet. It compares the gain of one more thread with the
 * cost of its memory.
 *
 * Gain     The threads divide drawing ahead. They also divide drawing again with the copies to inputs, and the waits
 *          for pages of mapped lists. One thread does the rest: cutting into windows, planning, sorting, loading. An
 *          epoch is never shorter than the device time of its requests, or than all work divided by the cores.
 * Cost     A thread takes samplers, mini-batches and an input, so fewer rows stay in memory. More are loaded, those
 *          with the fewest expected uses (uses.h). Less memory for lists means more hyperbatches, each with passes over
 *          a set of all nodes. Threads must be started and woken.
 * Units    The device's unit is bytes of large reads, as for classes (classes.h). The processor's is the profile's cost
 *          of a unit of work, which the simulated world charges. Without a profile it is the reference costs of
 *          workloads/hardware/costs.
 * Omitted  Training; rows that no epoch used before; waits of stages for each other; the advantage of Belady's
 *          replacement over keeping the most used rows. */
#ifndef PRESORT_WEIGH_H
#define PRESORT_WEIGH_H

#include "harness/world/profile.h"
#include "systems/presort/classes.h"
#include "systems/presort/uses.h"

/* Constants for comparing sizes. */
struct presort_scales {
    const struct gnn_profile_cpu *cpu; /* NULL: the reference costs */
    uint32_t cores;
    uint64_t page_ps;     /* of GNN_PAGE_BYTES of large reads */
    uint64_t fault_ns;    /* wait of a thread for a page of mapped lists, */
    uint64_t fault_bytes; /* and its cost to the device, in bytes of large reads */
    struct presort_costs costs;
    enum presort_choice classes;
    uint32_t nodes, batches; /* of the graph; of an epoch */
    uint64_t list_pages;     /* of mapped lists; 0: lists are not mapped */
    uint32_t epochs;         /* of the run; the first one finds no page of the lists in memory */
    const struct presort_uses *uses;
};

/* The sizes that are compared. */
struct presort_candidate {
    uint32_t threads, slots, window_rows, members_max;
    uint32_t hyperbatches, windows; /* of an epoch, at least, for any memory */
    uint32_t absent_percent;        /* pages of mapped lists without room in memory, in percent */
};

/* The estimate for an epoch after the first. It includes the epoch's share of the pages of lists that are read once in
 * the run. */
struct presort_weight {
    uint64_t loads;
    bool sorted;                                        /* sorting makes the loads cheaper, or is required */
    uint64_t device_ns;                                 /* of its requests */
    uint64_t prepare_ns, load_ns, assemble_ns, work_ns; /* of its stages; of all their work on the cores */
    uint64_t epoch_ns;                                  /* the longest of these times, plus starting the threads */
};

void presort_weigh(const struct presort_scales *scales, const struct presort_candidate *candidate,
                   struct presort_weight *out);

#endif

/* SPDX-License-Identifier: MIT */
/* What an epoch of presort may do when writes are refused because the disk is full, and when none is: the judge of
 * random_faults.c asks here, where other systems have nothing that would be excused.
 *
 * It gives up sorting at the first refused write that it is told of. From then on, for the rest of the run
 *   - what was in flight for the sorting, on the ring of its writes and on that of its sweep, may fail in any way;
 *   - nothing is written and nothing is swept; a write in flight may be repeated in part;
 *   - rows that would have been sorted are direct, and no other figure of the plan differs.
 *
 * With hot=run it gives up packing alone at the first refused write of that kind: what was in flight of them may fail,
 * and none is written any more; what is sorted from then on may be something else. Where sorting is given up, so is
 * packing.
 *
 * With topology=swept it gives up spooling at the first refused write of that kind, which no ring makes: that one alone
 * is passed over, and nothing else changes.
 *
 * Every other failure is an error, as it is without a full disk. */
#ifndef GNN_TESTS_PRESORT_JUDGE_H
#define GNN_TESTS_PRESORT_JUDGE_H

#include "harness/system/system.h"
#include "harness/world/faults.h"
#include "tests/support/io_log.h"

/* Figures of an epoch; zero where only samples are drawn. */
struct presort_figures {
    uint64_t planned_loads, hyperbatches, windows;
    uint64_t direct_loads, sorted_loads, sweep_rows, sweep_reads, written_bytes, gave_up;
    uint64_t packed_rows, packed_bytes, gave_up_packing;
    uint64_t gave_up_spooling;
    uint32_t sorting_ring, packing_ring; /* of writes until now; 0: none was written. The judge notes them */
};

void presort_figures_of(const struct gnn_epoch_result *result, struct presort_figures *out);

/* Of a run, from its open on. */
struct presort_judge {
    const struct io_log *log;
    uint64_t seen; /* requests of earlier epochs */
    bool gave_up;  /* in this epoch or before */
    bool gave_up_packing;
    bool gave_up_spooling;
    bool failed_before; /* an epoch did: what is in memory is not what it is in the run without failures */
};

/* Judges an epoch that has ended. Fills *excused with the failures of reads and writes that it may pass over; returns
 * what is wrong, NULL: nothing. plain: the same epoch of the run without failures; NULL: this is that run. */
const char *presort_judge_epoch(struct presort_judge *judge, enum gnn_status status, struct presort_figures *figures,
                                const struct presort_figures *plain, struct gnn_fault_counts *excused);

#endif

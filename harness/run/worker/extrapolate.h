/* SPDX-License-Identifier: MIT */
/* Extrapolates from a part of an epoch to the whole: --batches N. All further mini-batches are assumed to cost as much
 * as those after the warm-up.
 *
 * The 95 % interval comes from the spread between groups of consecutive steps, four to ten of them. Each group is at
 * least twice as long as the steps' autocorrelation. The interval assumes that all further steps are like these.
 *
 * The time is not settled, and has no interval, in three cases. There are fewer than four such groups. The steps get
 * faster or slower from group to group. They differ from those of the second half of the warm-up. Both tests have 95 %
 * confidence, so they do not see a drift that is smaller than the noise of the part. */
#ifndef GNN_RUN_EXTRAPOLATE_H
#define GNN_RUN_EXTRAPOLATE_H

#include "harness/run/wire.h"

/* Extrapolates from training steps. step_ns (count): the clock after each step, ascending. start_ns: the start of the
 * epoch. The first `warmup` steps are warm-up; at least 2 follow. total: mini-batches of the whole epoch, at least
 * count. */
void gnn_extrapolate(const uint64_t *step_ns, uint32_t count, uint32_t warmup, uint64_t start_ns, uint64_t total,
                     struct gnn_extrapolation *out);

/* Phases of an epoch. A system may sample and inspect a superbatch, then train it and prepare the next one meanwhile.
 * Steps then differ, but phases are alike, except the first and the last two.
 *
 * Nothing was prepared before the first phase, and less is prepared during the last two. In the whole epoch the very
 * last may be shorter. */
enum { GNN_PHASES_TAIL = 2 };
struct gnn_phases {
    uint32_t batches; /* mini-batches of a phase; 0: no phases */
    uint32_t head;    /* phases of warm-up, at least 1 */
    uint32_t count;   /* phases that are run: head, two or more that represent all others, and the tail */
};

/* Chooses the phases of `warmup + batches` mini-batches. GNN_EUSAGE, with the remedy: there is a partial phase, or
 * there are too few phases. A part of a phase does not represent the rest. */
GNN_MUST_CHECK enum gnn_status gnn_phases_choose(const struct gnn_intent *intent, uint32_t warmup, uint32_t batches,
                                                 struct gnn_phases *out, struct gnn_err *err);

/* Extrapolates from phases, otherwise as gnn_extrapolate. Each phase counts as independent of the others. From three
 * phases on, the time is not settled if they get faster or slower. step_ns: (phases->count * phases->batches). */
void gnn_extrapolate_phases(const uint64_t *step_ns, const struct gnn_phases *phases, uint64_t start_ns, uint64_t total,
                            struct gnn_extrapolation *out);

#endif

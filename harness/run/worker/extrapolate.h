/* SPDX-License-Identifier: MIT */
/* From a part of an epoch to the whole: --batches N. The mini-batches after the warm-up are taken for what all the
 * others would cost; how far that can be trusted shows in the spread between ten equal runs of them. */
#ifndef GNN_RUN_EXTRAPOLATE_H
#define GNN_RUN_EXTRAPOLATE_H

#include "harness/run/wire.h"

/* step_ns (count): the clock after each training step, ascending; start_ns: when the epoch began. The first `warmup`
 * steps are warm-up, the rest at least 2. total: mini-batches of the whole epoch, at least count. */
void gnn_extrapolate(const uint64_t *step_ns, uint32_t count, uint32_t warmup, uint64_t start_ns, uint64_t total,
                     struct gnn_extrapolation *out);

/* A system may work in phases: a superbatch is sampled and inspected, then trained, and the next one is prepared beside
 * it. Then steps are not alike but phases are, all but the first, which nothing was prepared for, and the last two,
 * beside which less is prepared (of them the last may be shorter in the whole epoch). */
enum { GNN_PHASES_TAIL = 2 };
struct gnn_phases {
    uint32_t batches; /* of a phase; 0: no phases */
    uint32_t head;    /* phases of warm-up, at least 1 */
    uint32_t count;   /* phases that are run: head, two or more that are taken for all others, and the tail */
};

/* Chooses the phases of `warmup + batches` mini-batches. GNN_EUSAGE, with what to say instead, where they are not whole
 * ones or too few: a part of a phase says nothing about the rest. */
GNN_MUST_CHECK enum gnn_status gnn_phases_choose(const struct gnn_intent *intent, uint32_t warmup, uint32_t batches,
                                                 struct gnn_phases *out, struct gnn_err *err);

/* The same as gnn_extrapolate, from phase to phase. step_ns: (phases->count * phases->batches). */
void gnn_extrapolate_phases(const uint64_t *step_ns, const struct gnn_phases *phases, uint64_t start_ns, uint64_t total,
                            struct gnn_extrapolation *out);

#endif

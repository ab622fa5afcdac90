/* From a part of an epoch to the whole: --batches N. The mini-batches after the warm-up are taken for what all the
 * others would cost; how far that can be trusted shows in the spread between ten equal runs of them. */
#ifndef GNN_RUN_EXTRAPOLATE_H
#define GNN_RUN_EXTRAPOLATE_H

#include "harness/run/wire.h"

/* step_ns (count): the clock after each training step, ascending; start_ns: when the epoch began. The first `warmup`
 * steps are warm-up, the rest at least 2. total: mini-batches of the whole epoch, at least count. */
void gnn_extrapolate(const uint64_t *step_ns, uint32_t count, uint32_t warmup, uint64_t start_ns, uint64_t total,
                     struct gnn_extrapolation *out);

#endif

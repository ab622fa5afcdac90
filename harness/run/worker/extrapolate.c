/* SPDX-License-Identifier: MIT */
#include "harness/run/worker/extrapolate.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

enum { GROUPS_MAX = 10 };

/* Student's t at 97.5 % by the number of groups: one degree of freedom less. */
static const double t_of[GROUPS_MAX + 1] = {0, 0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};

/* Half the 95 % interval of the mean time of a unit of `unit` steps: consecutive units depend on each other (a cache
 * fills, a queue drains), so groups of them are compared, not single ones. */
static double half_interval_ns(const uint64_t *step_ns, uint32_t unit, uint32_t count, uint64_t before_ns)
{
    const uint32_t groups = count < GROUPS_MAX ? count : GROUPS_MAX;
    assert(groups >= 2);
    double means_ns[GROUPS_MAX], sum_ns = 0, squares = 0;
    uint64_t from_ns = before_ns;
    for (uint32_t g = 0, first = 0; g < groups; g++) {
        const uint32_t end = (uint32_t)((uint64_t)count * (g + 1) / groups);
        const uint64_t end_ns = step_ns[(uint64_t)end * unit - 1];
        means_ns[g] = (double)(end_ns - from_ns) / (double)(end - first);
        from_ns = end_ns;
        first = end;
        sum_ns += means_ns[g];
    }
    for (uint32_t g = 0; g < groups; g++)
        squares += (means_ns[g] - sum_ns / groups) * (means_ns[g] - sum_ns / groups);
    return t_of[groups] * sqrt(squares / (groups - 1) / groups);
}

void gnn_extrapolate(const uint64_t *step_ns, uint32_t count, uint32_t warmup, uint64_t start_ns, uint64_t total,
                     struct gnn_extrapolation *out)
{
    assert(count >= warmup);
    assert(count - warmup >= 2);
    assert(total >= count);
    assert(step_ns[0] >= start_ns);
    const uint32_t used = count - warmup;
    const uint64_t warm_ns = warmup > 0 ? step_ns[warmup - 1] : start_ns;
    const double mean_ns = (double)(step_ns[count - 1] - warm_ns) / used;
    const double half_ns = half_interval_ns(step_ns + warmup, 1, used, warm_ns);
    const double rest = (double)(total - warmup), head_ns = (double)(warm_ns - start_ns);
    /* What has passed has passed, however wide the interval is. */
    const double low_ns = fmax(head_ns + rest * (mean_ns - half_ns), (double)(step_ns[count - 1] - start_ns));
    *out = (struct gnn_extrapolation){.full_ns = (uint64_t)llround(head_ns + rest * mean_ns),
                                      .low_ns = (uint64_t)llround(low_ns),
                                      .high_ns = (uint64_t)llround(head_ns + rest * (mean_ns + half_ns)),
                                      .warmup = warmup,
                                      .used = used};
}

/* ---- an epoch in phases ---- */

void gnn_extrapolate_phases(const uint64_t *step_ns, const struct gnn_phases *phases, uint64_t start_ns, uint64_t total,
                            struct gnn_extrapolation *out)
{
    const uint32_t unit = phases->batches, head = phases->head, used = phases->count - head - GNN_PHASES_TAIL;
    assert(phases->count >= head + GNN_PHASES_TAIL + 2);
    assert(head > 0);
    assert(total >= (uint64_t)phases->count * unit);
    const uint64_t *const after = step_ns - 1; /* after[n]: the clock once n mini-batches were trained */
    const uint64_t head_end_ns = after[(uint64_t)head * unit];
    const uint64_t used_end_ns = after[(uint64_t)(head + used) * unit];
    const uint64_t last_but_one_ns = after[(uint64_t)(phases->count - 1) * unit];
    const uint64_t end_ns = after[(uint64_t)phases->count * unit];
    const double mean_ns = (double)(used_end_ns - head_end_ns) / used;
    const double half_ns = half_interval_ns(step_ns + (uint64_t)head * unit, unit, used, head_end_ns);
    const uint64_t all = gnn_div_up(total, unit), over = total % unit;
    const double last_share = over == 0 ? 1.0 : (double)over / unit;
    const double rest = (double)(all - head - GNN_PHASES_TAIL);
    const double ends_ns = (double)(head_end_ns - start_ns) + (double)(last_but_one_ns - used_end_ns) +
                           (double)(end_ns - last_but_one_ns) * last_share;
    const double low_ns = fmax(ends_ns + rest * (mean_ns - half_ns), (double)(end_ns - start_ns));
    *out = (struct gnn_extrapolation){.full_ns = (uint64_t)llround(ends_ns + rest * mean_ns),
                                      .low_ns = (uint64_t)llround(low_ns),
                                      .high_ns = (uint64_t)llround(ends_ns + rest * (mean_ns + half_ns)),
                                      .warmup = head * unit,
                                      .used = used * unit};
}

enum gnn_status gnn_phases_choose(const struct gnn_intent *intent, uint32_t warmup, uint32_t batches,
                                  struct gnn_phases *out, struct gnn_err *err)
{
    const uint32_t unit = intent->phase_batches, least = 1 + 2 + GNN_PHASES_TAIL;
    const uint64_t run = (uint64_t)warmup + batches;
    *out = (struct gnn_phases){.batches = unit <= 1 || run >= intent->whole_batches ? 0 : unit};
    if (out->batches == 0)
        return GNN_OK; /* every step is like the others, or all of them are run */
    out->head = gnn_max_u32(warmup / unit, 1);
    out->count = (uint32_t)(run / unit);
    if (warmup % unit == 0 && run % unit == 0 && out->count >= out->head + 2 + GNN_PHASES_TAIL)
        return GNN_OK;
    if (intent->whole_batches / unit < least)
        return gnn_fail(err, GNN_EUSAGE,
                        "--batches %" PRIu32 ": an epoch of %" PRIu64 " mini-batches has phases of %" PRIu32
                        ", too few to extrapolate from; leave --batches out, or make the phases shorter with %s",
                        batches, intent->whole_batches, unit, intent->phase_option);
    return gnn_fail(err, GNN_EUSAGE,
                    "--warmup %" PRIu32 " --batches %" PRIu32 ": an epoch has phases of %" PRIu32
                    " mini-batches, and extrapolation needs whole phases, at least %" PRIu32 ". Use --warmup %" PRIu32
                    " --batches %" PRIu32 ", or make the phases shorter with %s",
                    warmup, batches, unit, least, unit, (least - 1) * unit, intent->phase_option);
}

/* SPDX-License-Identifier: MIT */
#include "harness/run/worker/extrapolate.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

enum {
    GROUPS_MAX = 10,
    GROUPS_MIN = 4,       /* fewer groups of steps show neither spread nor drift */
    CORRELATIONS_MIN = 2, /* correlation lengths in a group */
};

/* Student's t at 97.5 %, by one more than the degrees of freedom: by the number of groups. */
static const double t_of[GROUPS_MAX + 1] = {0, 0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};

/* The units of a part that represent the others: steps, or phases of several steps. */
struct units {
    const uint64_t *step_ns; /* (count x steps) clock after each step */
    uint64_t before_ns;      /* clock before the first one */
    uint32_t steps, count;
};

/* What the units show. */
struct spread {
    double half_ns;  /* half the 95 % interval of a unit's mean, if settled */
    uint32_t groups; /* 0: too few independent ones */
    bool settled;
};

/* Groups of consecutive units. */
struct groups {
    uint32_t count;
    double mean_ns[GROUPS_MAX]; /* of a unit */
    double all_ns, sd_ns;       /* mean of the means, their standard deviation */
};

/* Returns the mean time of units first to end - 1. */
static double mean_between(const struct units *u, uint32_t first, uint32_t end)
{
    assert(first < end);
    const uint64_t from_ns = first == 0 ? u->before_ns : u->step_ns[(uint64_t)first * u->steps - 1];
    return (double)(u->step_ns[(uint64_t)end * u->steps - 1] - from_ns) / (double)(end - first);
}

/* ---- correlation ---- */

/* Returns the sum, over pairs of units `lag` apart, of the products of their distances from the mean. */
static double covariance(const struct units *u, double mean_ns, uint32_t lag)
{
    double sum = 0;
    for (uint32_t i = 0; i + lag < u->count; i++)
        sum += (mean_between(u, i, i + 1) - mean_ns) * (mean_between(u, i + lag, i + lag + 1) - mean_ns);
    return sum;
}

/* Returns how many units count as one independent unit, at least 1. This is exact if each unit depends on the one
 * before it alone. The correlation of few units is estimated too low, by (1 + 3 r) / count (Kendall, Biometrika 41,
 * 1954). */
static double correlation_length(const struct units *u)
{
    const double mean_ns = mean_between(u, 0, u->count), variance = covariance(u, mean_ns, 0);
    if (variance <= 0)
        return 1;
    const double r = covariance(u, mean_ns, 1) / variance;
    const double corrected = fmin(r + (1 + 3 * fmax(r, 0)) / u->count, 0.99);
    return fmax((1 + corrected) / (1 - corrected), 1);
}

/* ---- groups ---- */

static void make_groups(const struct units *u, uint32_t count, struct groups *out)
{
    assert(count >= 2);
    assert(count <= GROUPS_MAX);
    double sum_ns = 0, squares = 0;
    out->count = count;
    for (uint32_t g = 0; g < count; g++) {
        const uint32_t first = (uint32_t)((uint64_t)u->count * g / count);
        out->mean_ns[g] = mean_between(u, first, (uint32_t)((uint64_t)u->count * (g + 1) / count));
        sum_ns += out->mean_ns[g];
    }
    out->all_ns = sum_ns / count;
    for (uint32_t g = 0; g < count; g++)
        squares += (out->mean_ns[g] - out->all_ns) * (out->mean_ns[g] - out->all_ns);
    out->sd_ns = sqrt(squares / (count - 1));
}

/* Returns whether units get faster or slower from the first group to the last, with 95 % confidence: whether the slope
 * of a line through the groups is more than chance. */
static bool drifts(const struct groups *g)
{
    double products = 0, distances = 0, rest = 0;
    if (g->count < 3)
        return false;
    for (uint32_t i = 0; i < g->count; i++) {
        const double at = i - (g->count - 1) / 2.0;
        products += at * (g->mean_ns[i] - g->all_ns);
        distances += at * at;
    }
    const double slope_ns = products / distances;
    for (uint32_t i = 0; i < g->count; i++) {
        const double off_ns = g->mean_ns[i] - g->all_ns - slope_ns * (i - (g->count - 1) / 2.0);
        rest += off_ns * off_ns;
    }
    const double error_ns = sqrt(rest / (g->count - 2) / distances);
    return fabs(slope_ns) > t_of[g->count - 1] * error_ns;
}

/* Returns whether these last steps of the warm-up differ from the part, with 95 % confidence: it was too short. */
static bool differs(const struct groups *g, const struct units *part, const struct units *warmup)
{
    const double length = (double)part->count / g->count;
    if (warmup->count < length)
        return false; /* less than a group */
    const double difference_ns = mean_between(warmup, 0, warmup->count) - mean_between(part, 0, part->count);
    const double error_ns = g->sd_ns * sqrt(1.0 / g->count + length / warmup->count);
    return fabs(difference_ns) > t_of[g->count] * error_ns;
}

static double half_interval_ns(const struct groups *g)
{
    return t_of[g->count] * g->sd_ns / sqrt(g->count);
}

/* Steps depend on each other (a cache fills, a queue drains), so groups of them are compared, not single ones. */
static struct spread spread_of_steps(const struct units *part, const struct units *warmup)
{
    struct groups groups;
    const double independent = part->count / (CORRELATIONS_MIN * correlation_length(part));
    if (independent < GROUPS_MIN)
        return (struct spread){.groups = 0};
    make_groups(part, (uint32_t)fmin(independent, GROUPS_MAX), &groups);
    return (struct spread){.half_ns = half_interval_ns(&groups),
                           .groups = groups.count,
                           .settled = !drifts(&groups) && !differs(&groups, part, warmup)};
}

/* Phases are few and long, so each counts as independent of the others. */
static struct spread spread_of_phases(const struct units *part)
{
    struct groups groups;
    make_groups(part, gnn_min_u32(part->count, GROUPS_MAX), &groups);
    return (struct spread){.half_ns = half_interval_ns(&groups), .groups = groups.count, .settled = !drifts(&groups)};
}

/* ---- the whole ---- */

/* Writes the time and its interval. fixed_ns is kept as it is, and `rest` units take the mean. The interval begins at
 * passed_ns at least, because that time has passed. */
static void fill_times(const struct spread *spread, double mean_ns, double rest, double fixed_ns, double passed_ns,
                       struct gnn_extrapolation *out)
{
    out->full_ns = (uint64_t)llround(fixed_ns + rest * mean_ns);
    out->groups = spread->groups;
    out->settled = spread->settled;
    out->low_ns = out->high_ns = GNN_UNKNOWN;
    if (!spread->settled)
        return;
    out->low_ns = (uint64_t)llround(fmax(fixed_ns + rest * (mean_ns - spread->half_ns), passed_ns));
    out->high_ns = (uint64_t)llround(fixed_ns + rest * (mean_ns + spread->half_ns));
}

void gnn_extrapolate(const uint64_t *step_ns, uint32_t count, uint32_t warmup, uint64_t start_ns, uint64_t total,
                     struct gnn_extrapolation *out)
{
    assert(count >= warmup);
    assert(count - warmup >= 2);
    assert(total >= count);
    assert(step_ns[0] >= start_ns);
    const uint32_t used = count - warmup, half = warmup / 2;
    const uint64_t *const late_ns = step_ns + (warmup - half);
    const uint64_t warm_ns = warmup > 0 ? step_ns[warmup - 1] : start_ns;
    const struct units part = {.step_ns = step_ns + warmup, .before_ns = warm_ns, .steps = 1, .count = used};
    const struct units late = {.step_ns = late_ns, .before_ns = half > 0 ? late_ns[-1] : 0, .steps = 1, .count = half};
    const struct spread spread = spread_of_steps(&part, &late);
    *out = (struct gnn_extrapolation){.warmup = warmup, .used = used};
    fill_times(&spread, mean_between(&part, 0, used), (double)(total - warmup), (double)(warm_ns - start_ns),
               (double)(step_ns[count - 1] - start_ns), out);
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
    const struct units part = {
        .step_ns = step_ns + (uint64_t)head * unit, .before_ns = head_end_ns, .steps = unit, .count = used};
    const struct spread spread = spread_of_phases(&part);
    const uint64_t all = gnn_div_up(total, unit), over = total % unit;
    const double last_share = over == 0 ? 1.0 : (double)over / unit;
    const double rest = (double)(all - head - GNN_PHASES_TAIL);
    const double ends_ns = (double)(head_end_ns - start_ns) + (double)(last_but_one_ns - used_end_ns) +
                           (double)(end_ns - last_but_one_ns) * last_share;
    *out = (struct gnn_extrapolation){.warmup = head * unit, .used = used * unit};
    fill_times(&spread, mean_between(&part, 0, used), rest, ends_ns, (double)(end_ns - start_ns), out);
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

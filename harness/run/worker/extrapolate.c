#include "harness/run/worker/extrapolate.h"

#include <assert.h>
#include <math.h>

enum { GROUPS_MAX = 10 };

/* Student's t at 97.5 % by the number of groups: one degree of freedom less. */
static const double t_of[GROUPS_MAX + 1] = {0, 0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};

/* Half the 95 % interval of the mean time of a step: consecutive steps depend on each other (a cache fills, a queue
 * drains), so groups of them are compared, not single ones. */
static double half_interval_ns(const uint64_t *step_ns, uint32_t count, uint64_t before_ns)
{
    const uint32_t groups = count < GROUPS_MAX ? count : GROUPS_MAX;
    assert(groups >= 2);
    double means_ns[GROUPS_MAX], sum_ns = 0, squares = 0;
    uint64_t from_ns = before_ns;
    for (uint32_t g = 0, first = 0; g < groups; g++) {
        const uint32_t end = (uint32_t)((uint64_t)count * (g + 1) / groups);
        means_ns[g] = (double)(step_ns[end - 1] - from_ns) / (double)(end - first);
        from_ns = step_ns[end - 1];
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
    const double half_ns = half_interval_ns(step_ns + warmup, used, warm_ns);
    const double rest = (double)(total - warmup), head_ns = (double)(warm_ns - start_ns);
    /* What has passed has passed, however wide the interval is. */
    const double low_ns = fmax(head_ns + rest * (mean_ns - half_ns), (double)(step_ns[count - 1] - start_ns));
    *out = (struct gnn_extrapolation){.full_ns = (uint64_t)llround(head_ns + rest * mean_ns),
                                      .low_ns = (uint64_t)llround(low_ns),
                                      .high_ns = (uint64_t)llround(head_ns + rest * (mean_ns + half_ns)),
                                      .warmup = warmup,
                                      .used = used};
}

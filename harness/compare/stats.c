/* SPDX-License-Identifier: MIT */
#include "harness/compare/stats.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { RESAMPLES = 1000, SUM_MAX = GNN_PAIRS_MAX * (GNN_PAIRS_MAX + 1), FLIP_LEVELS = 16384 };

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

void gnn_sort_doubles(double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, ascending);
}

double gnn_quantile(const double *values, uint32_t count, double share)
{
    assert(share >= 0);
    assert(share <= 1);
    if (count == 0)
        return (double)NAN;
    const double at = share * (double)(count - 1);
    const uint32_t below = (uint32_t)at;
    const uint32_t above = below + 1 < count ? below + 1 : below;
    return values[below] + (at - (double)below) * (values[above] - values[below]);
}

/* ---- tests of signs ---- */

/* Returns the probability that the sum of scores (count) whose coins show heads is at least `observed`; 1 without
 * memory, because nothing is shown then. */
static double chance_of_at_least(const uint32_t *scores, uint32_t count, uint32_t observed)
{
    uint32_t most = 0;
    double *const chance = calloc(SUM_MAX + 1, sizeof *chance); /* (sum) */
    if (chance == NULL)
        return 1;
    chance[0] = 1;
    for (uint32_t i = 0; i < count; i++) {
        most += scores[i];
        assert(most <= SUM_MAX);
        for (uint32_t sum = most + 1; sum-- > 0;)
            chance[sum] = 0.5 * chance[sum] + (sum >= scores[i] ? 0.5 * chance[sum - scores[i]] : 0);
    }
    double p = 0;
    for (uint32_t sum = observed; sum <= most; sum++)
        p += chance[sum];
    free(chance);
    return fmin(p, 1);
}

struct ranked {
    double size;
    bool positive;
    uint32_t twice_rank; /* ranks of ties are halves */
};

static int by_size(const void *a, const void *b)
{
    return ascending(&((const struct ranked *)a)->size, &((const struct ranked *)b)->size);
}

/* Ranks the differences that are not 0, ties by their mean; returns how many there are. */
static uint32_t rank_all(const double *differences, uint32_t count, struct ranked *out)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        if (differences[i] != 0)
            out[used++] = (struct ranked){.size = fabs(differences[i]), .positive = differences[i] > 0};
    qsort(out, used, sizeof *out, by_size);
    for (uint32_t first = 0, next; first < used; first = next) {
        for (next = first; next < used && out[next].size == out[first].size; next++)
            continue;
        for (uint32_t i = first; i < next; i++)
            out[i].twice_rank = first + 1 + next;
    }
    return used;
}

double gnn_signed_rank_p(const double *differences, uint32_t count)
{
    struct ranked of[GNN_PAIRS_MAX] = {{.size = 0}};
    uint32_t scores[GNN_PAIRS_MAX], observed = 0;
    assert(count <= GNN_PAIRS_MAX);
    const uint32_t used = rank_all(differences, count, of);
    for (uint32_t i = 0; i < used; i++) {
        scores[i] = of[i].twice_rank;
        observed += of[i].positive ? scores[i] : 0;
    }
    return chance_of_at_least(scores, used, observed);
}

double gnn_sign_flip_p(const double *differences, uint32_t count)
{
    uint32_t scores[GNN_PAIRS_MAX], observed = 0;
    double all = 0;
    assert(count <= GNN_PAIRS_MAX);
    for (uint32_t i = 0; i < count; i++)
        all += fabs(differences[i]);
    if (!(all > 0))
        return 1;
    for (uint32_t i = 0; i < count; i++) { /* rounding depends on sizes alone, so the test stays exact */
        scores[i] = (uint32_t)lround(fabs(differences[i]) / all * FLIP_LEVELS);
        observed += differences[i] > 0 ? scores[i] : 0;
    }
    return chance_of_at_least(scores, count, observed);
}

/* ---- bootstrap ---- */

static double median_of(double *drawn, uint32_t count)
{
    gnn_sort_doubles(drawn, count);
    return gnn_quantile(drawn, count, 0.5);
}

static double mean_of(double *drawn, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += drawn[i];
    return sum / count;
}

static struct gnn_interval interval_of(double (*statistic)(double *drawn, uint32_t count), const double *values,
                                       uint32_t count, double share, uint64_t seed)
{
    double found[RESAMPLES], drawn[GNN_PAIRS_MAX];
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fork(seed, "bootstrap"));
    assert(count >= 1);
    assert(count <= GNN_PAIRS_MAX);
    for (uint32_t r = 0; r < RESAMPLES; r++) {
        for (uint32_t i = 0; i < count; i++)
            drawn[i] = values[gnn_rng_below(&rng, count)];
        found[r] = statistic(drawn, count);
    }
    gnn_sort_doubles(found, RESAMPLES);
    return (struct gnn_interval){.low = gnn_quantile(found, RESAMPLES, 0.5 * (1 - share)),
                                 .high = gnn_quantile(found, RESAMPLES, 0.5 * (1 + share))};
}

struct gnn_interval gnn_median_interval(const double *values, uint32_t count, double share, uint64_t seed)
{
    return interval_of(median_of, values, count, share, seed);
}

struct gnn_interval gnn_mean_interval(const double *values, uint32_t count, double share, uint64_t seed)
{
    return interval_of(mean_of, values, count, share, seed);
}

/* ---- several tests, and how many pairs ---- */

void gnn_holm(double *p, uint32_t count, uint32_t family)
{
    bool done[GNN_TESTS_MAX] = {false};
    double largest = 0;
    assert(count <= GNN_TESTS_MAX);
    assert(family >= count);
    for (uint32_t turn = 0; turn < count; turn++) {
        uint32_t least = count;
        for (uint32_t i = 0; i < count; i++)
            if (!done[i] && (least == count || p[i] < p[least]))
                least = i;
        done[least] = true;
        largest = fmax(largest, fmin(1, p[least] * (double)(family - turn)));
        p[least] = largest;
    }
}

uint32_t gnn_pairs_needed(double spread, double difference)
{
    assert(difference > 0);
    const double ratio = 2.8 * spread / difference;
    const double pairs = ceil(1.1 * ratio * ratio);
    return pairs < 2 ? 2 : pairs > 1e6 ? 1000000 : (uint32_t)pairs;
}

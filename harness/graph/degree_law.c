/* SPDX-License-Identifier: MIT */
#include "harness/graph/degree_law.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { EXACT_TERMS = 4096 /* of the sums behind d0; the tail is integrated */ };

double gnn_rank_law_mean(const struct gnn_rank_law *law)
{
    double sum = 0, from = 0;
    for (uint32_t i = 0; i < law->count; i++) {
        sum += (law->upto[i] - from) * law->mean[i];
        from = law->upto[i];
    }
    return sum;
}

/* Mean of P(d) ~ (d + shift)^-alpha over 1..max. The first terms are summed, the rest is the integral from half a step
 * below to half a step above: with u = x + shift, x u^-alpha = u^(1-alpha) - shift u^-alpha. */
static double degree_mean(double shift, double alpha, uint32_t max)
{
    const uint32_t exact = gnn_min_u32(max, EXACT_TERMS);
    double mass = 0, sum = 0;
    for (uint32_t d = 1; d <= exact; d++) {
        const double p = pow(d + shift, -alpha);
        mass += p;
        sum += p * d;
    }
    if (exact < max) {
        const double lo = exact + 0.5 + shift, hi = max + 0.5 + shift;
        const double zeroth = (pow(lo, 1 - alpha) - pow(hi, 1 - alpha)) / (alpha - 1);
        mass += zeroth;
        sum += (pow(lo, 2 - alpha) - pow(hi, 2 - alpha)) / (alpha - 2) - shift * zeroth;
    }
    return sum / mass;
}

/* The shift that gives the wanted mean, which grows with it. */
static enum gnn_status solve_shift(const struct gnn_degree_config *c, double *shift, struct gnn_err *err)
{
    const double alpha = c->exponent, mean = c->mean;
    double low = -0.999, high = 1e9;
    if (c->longest == 0 || degree_mean(low, alpha, c->longest) > mean || degree_mean(high, alpha, c->longest) < mean)
        return gnn_fail(err, GNN_EUSAGE,
                        "%" PRIu32 " nodes are too few for %.4g edges a node (lists of 1 to %" PRIu32
                        "): choose a larger scale",
                        c->node_count, mean, c->longest);
    for (int step = 0; step < 100; step++) {
        const double middle = (low + high) / 2;
        if (degree_mean(middle, alpha, c->longest) < mean)
            low = middle;
        else
            high = middle;
    }
    *shift = (low + high) / 2;
    return GNN_OK;
}

static enum gnn_status open_power_law(const struct gnn_degree_config *c, struct gnn_degree_law *law,
                                      struct gnn_err *err)
{
    double shift = 0;
    GNN_TRY(solve_shift(c, &shift, err));
    assert(law->max > 0);
    GNN_NEW(law->cdf, law->max, err, "table of %" PRIu32 " degrees", law->max);
    double mass = 0;
    for (uint32_t d = 1; d <= law->max; d++)
        mass += pow(d + shift, -c->exponent);
    double sum = 0;
    for (uint32_t d = 1; d <= law->max; d++) {
        sum += pow(d + shift, -c->exponent);
        const double scaled = sum / mass * 0x1p32;
        law->cdf[d - 1] = scaled < 0x1p32 - 1 ? (uint32_t)scaled : UINT32_MAX;
    }
    uint32_t d = 0;
    for (uint32_t slot = 0; slot <= 1u << GNN_DEGREE_GUIDE_BITS; slot++) {
        const uint64_t from = (uint64_t)slot << (32 - GNN_DEGREE_GUIDE_BITS);
        while (d + 1 < law->max && law->cdf[d] <= from)
            d++;
        law->guide[slot] = d;
    }
    return GNN_OK;
}

enum gnn_status gnn_degree_law_open(const struct gnn_degree_config *config, struct gnn_degree_law *out,
                                    struct gnn_err *err)
{
    *out = (struct gnn_degree_law){.max = config->longest, .stretch = 1};
    if (config->read != NULL) {
        out->read = *config->read;
        assert(out->read.count > 0);
        assert(out->read.count <= GNN_LAW_POINTS_MAX);
        out->max = (uint32_t)ceil(out->read.mean[0]) + 1;
        return GNN_OK;
    }
    assert(config->empty >= 0);
    assert(config->empty < 1);
    out->empty = (uint32_t)(config->empty * 0x1p32);
    out->stretch = 0x1p32 / (0x1p32 - out->empty);
    return open_power_law(config, out, err);
}

void gnn_degree_law_close(struct gnn_degree_law *law)
{
    free(law->cdf);
    law->cdf = NULL;
}

static double falling_at(uint32_t u)
{
    return 1 - (u + 0.5) * 0x1p-32;
}

static uint32_t point_at(const struct gnn_rank_law *law, double falling)
{
    uint32_t low = 0, high = law->count - 1;
    while (low < high) { /* the first point that reaches so far */
        const uint32_t middle = low + (high - low) / 2;
        if (law->upto[middle] > falling)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The first of a point's nodes get its mean rounded up, the others rounded down, so that the mean comes out. `falling`
 * is never a point's first end, so a whole mean is never rounded up. */
static uint32_t degree_read(const struct gnn_rank_law *law, uint32_t u)
{
    const double falling = falling_at(u);
    const uint32_t low = point_at(law, falling);
    const double from = low == 0 ? 0 : law->upto[low - 1], width = law->upto[low] - from;
    const double place = width > 0 ? fmin(fmax((falling - from) / width, 0), 1) : 0.5; /* in (0, 1] */
    return (uint32_t)(law->mean[low] + (1 - place));
}

uint32_t gnn_degree_at(const struct gnn_degree_law *law, uint32_t u)
{
    if (law->cdf == NULL)
        return degree_read(&law->read, u);
    if (u < law->empty)
        return 0;
    if (law->empty > 0)
        u = (uint32_t)((u - law->empty) * law->stretch);
    uint32_t low = law->guide[u >> (32 - GNN_DEGREE_GUIDE_BITS)];
    uint32_t high = law->guide[(u >> (32 - GNN_DEGREE_GUIDE_BITS)) + 1];
    while (low < high) { /* the first entry above u, the last one at most */
        const uint32_t middle = low + (high - low) / 2;
        if (law->cdf[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low + 1;
}

uint32_t gnn_degree_point(const struct gnn_degree_law *law, uint32_t u)
{
    return law->cdf == NULL ? point_at(&law->read, falling_at(u)) : 0;
}

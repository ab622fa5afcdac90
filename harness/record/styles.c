/* SPDX-License-Identifier: MIT */
#include "harness/record/styles.h"

#include <assert.h>

static const char series_gp[] =
#include "plots/figure_series.gp.inc" /* made from plots/figure_series.gp */
    ;

/* Returns how many of the first `count` series are of the system at that place. */
static uint32_t count_of(const uint32_t *places, uint32_t count, uint32_t place)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += places[i] == place ? 1 : 0;
    return found;
}

/* Whether the series has its system's style: the first of the system has it, the others if there are few. */
static bool has_own(const uint32_t *places, uint32_t count, uint32_t series)
{
    const uint32_t place = places[series];
    return place < GNN_STYLES &&
           (count_of(places, series, place) == 0 || count_of(places, count, place) <= GNN_STYLE_SHADES);
}

void gnn_styles_choose(const uint32_t *places, uint32_t count, struct gnn_style *out)
{
    bool taken[GNN_STYLES] = {false};
    uint32_t next = GNN_STYLES; /* styles of other systems are given from the end */
    assert(count <= GNN_STYLES);
    for (uint32_t i = 0; i < count; i++)
        if (places[i] < GNN_STYLES)
            taken[places[i]] = true;
    for (uint32_t i = 0; i < count; i++) {
        if (has_own(places, count, i)) {
            out[i] = (struct gnn_style){.place = places[i], .shade = count_of(places, i, places[i])};
            continue;
        }
        while (next > 0 && taken[next - 1])
            next--;
        assert(next > 0);
        out[i] = (struct gnn_style){.place = --next};
    }
}

void gnn_styles_write(const struct gnn_style *styles, uint32_t count, FILE *script)
{
    (void)fprintf(script, "array places[%u] = [", count);
    for (uint32_t i = 0; i < count; i++)
        (void)fprintf(script, "%s%u", i > 0 ? ", " : "", styles[i].place + 1);
    (void)fprintf(script, "]\narray shades[%u] = [", count);
    for (uint32_t i = 0; i < count; i++)
        (void)fprintf(script, "%s%u", i > 0 ? ", " : "", styles[i].shade);
    (void)fputs("]\n", script);
    (void)fputs(series_gp, script);
}

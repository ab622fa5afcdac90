/* SPDX-License-Identifier: MIT */
/* Which style of plots/figure_series.gp each series of a picture has. A system has the same one in every picture. */
#ifndef GNN_RECORD_STYLES_H
#define GNN_RECORD_STYLES_H

#include "harness/oocgnn.h"

#include <stdio.h>

enum {
    GNN_STYLES = 16, /* series that a reader can distinguish in one picture */
    GNN_STYLE_SHADES =
        4, /* most series of one system that have shades of its style; if there are more, each has a style */
};
/* Place of a series that is not of one system. */
#define GNN_STYLE_NONE UINT32_MAX

/* Returns the place of a system in the registry, from 0, or GNN_STYLE_NONE. */
typedef uint32_t gnn_place_fn(const char *system);

struct gnn_style {
    uint32_t place, shade; /* of the style, below GNN_STYLES; and of its colour */
};

/* Chooses a style for each series. places[i] is the place of the series' system, or GNN_STYLE_NONE. No two series have
 * the same style and shade. count <= GNN_STYLES. */
void gnn_styles_choose(const uint32_t *places, uint32_t count, struct gnn_style *out);

/* Writes the gnuplot arrays `places` and `shades` that plots/figure_series.gp reads, and that script. */
void gnn_styles_write(const struct gnn_style *styles, uint32_t count, FILE *script);

#endif

/* SPDX-License-Identifier: MIT */
/* Near misses among names, for messages about unknown commands, options, systems, presets, datasets and keys. Names are
 * copied.
 *
 *   struct gnn_near_miss near;
 *   gnn_near_miss_start(&near, "extracters");
 *   for each known name: gnn_near_miss_offer(&near, name);
 *   gnn_fail(err, GNN_EUSAGE, "no option \"extracters\"%s", gnn_near_miss_text(&near));
 *
 * The text is "" or "; did you mean \"extractors\" or \"samplers\"?". */
#ifndef GNN_BASE_NEAR_MISS_H
#define GNN_BASE_NEAR_MISS_H

#include "harness/oocgnn.h"

enum { GNN_NEAR_MISS_MAX = 3, GNN_KNOWN_BYTES = 400 };

struct gnn_near_miss {
    const char *word;
    uint32_t count;
    struct {
        char name[GNN_NAME_MAX];
        uint32_t distance;
    } best[GNN_NEAR_MISS_MAX];   /* by ascending distance */
    char known[GNN_KNOWN_BYTES]; /* every name offered: "a, b, c", cut at its size */
    char text[GNN_NEAR_MISS_MAX * (GNN_NAME_MAX + 8) + 32];
};

void gnn_near_miss_start(struct gnn_near_miss *near, const char *word);
void gnn_near_miss_offer(struct gnn_near_miss *near, const char *name);
const char *gnn_near_miss_text(struct gnn_near_miss *near);

#endif

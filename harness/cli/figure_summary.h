/* SPDX-License-Identifier: MIT */
/* What `oocgnn figure --all` ends with: every ratio, and for each paper how many predicates hold and how far the ratios
 * are off. With --variants, each variant has its own. */
#ifndef GNN_CLI_FIGURE_SUMMARY_H
#define GNN_CLI_FIGURE_SUMMARY_H

#include "harness/base/ini.h"
#include "harness/figure/show.h"

enum { GNN_PAPERS_MAX = 16, GNN_VARIANTS_MAX = 16 };

struct gnn_paper {
    char name[GNN_FIGURE_LINE];
    uint32_t figures, missing;
    struct gnn_figure_verdicts verdicts[GNN_VARIANTS_MAX];
};

struct gnn_papers {
    struct gnn_paper of[GNN_PAPERS_MAX];
    uint32_t count;
    const struct gnn_ini *variants; /* at most GNN_VARIANTS_MAX sections; NULL: one variant without a name */
};

/* Returns the paper of that name. It is added if it is new. */
struct gnn_paper *gnn_papers_find(struct gnn_papers *papers, const char *name);

/* Prints the tables to stdout. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_papers_print(const struct gnn_papers *papers,
                                                const struct gnn_tolerances *tolerances, struct gnn_err *err);

void gnn_papers_close(struct gnn_papers *papers); /* accepts a zeroed one; variants stay open */

#endif

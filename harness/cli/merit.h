/* SPDX-License-Identifier: MIT */
/* Figures of merit: how far ratios are from the printed numbers. */
#ifndef GNN_CLI_MERIT_H
#define GNN_CLI_MERIT_H

#include "harness/figure/ratio.h"

/* Errors are absolute; all are NAN, and worst is NULL, if there is no ratio. */
struct gnn_ratio_merit {
    double median;                        /* error of all ratios */
    uint32_t near, within_2;              /* ratios within a factor of "about", of 2 */
    const struct gnn_figure_ratio *worst; /* the ratio with the largest error */
    uint32_t quotients, beyond_1;         /* quotients; those at 1, or on the other side of it than the published one */
    double quotient_median, null_median;  /* error of the quotients; the same if every one here were 1 */
};

/* Fills *out. Returns GNN_ENOMEM if memory runs out. */
GNN_MUST_CHECK enum gnn_status gnn_figure_ratios_merit(const struct gnn_figure_ratios *ratios, double about,
                                                       struct gnn_ratio_merit *out, struct gnn_err *err);

#endif

/* SPDX-License-Identifier: MIT */
/* The values of a figure's cells: from the records, beside what the paper printed. */
#ifndef GNN_FIGURE_VALUES_H
#define GNN_FIGURE_VALUES_H

#include "harness/figure/figure.h"
#include "harness/run/identity.h"

/* Loads the recorded repetitions of every cell, of this build or of any, at most `most` each. */
GNN_MUST_CHECK enum gnn_status gnn_figure_load(struct gnn_paper_figure *figure, bool any_build, uint32_t most,
                                               struct gnn_err *err);

/* The figure as what predicates are about. It points into the figure. */
void gnn_figure_values(struct gnn_paper_figure *figure, struct gnn_value_source *out);

/* A metric of a series at one value of each axis, over the repetitions. */
struct gnn_figure_value {
    enum gnn_value_state state;
    double median, least, most; /* known alone */
    uint32_t runs;
    const char *word; /* where there is no number: "OOM", "OOT", "N/A", "failed", "not run"; "": no such cell */
};
struct gnn_figure_value gnn_figure_value_at(const struct gnn_paper_figure *figure, const char *metric, uint32_t series,
                                            const uint32_t *at);

/* What the paper printed for one of the figure's metrics there: NULL, nothing. */
const struct gnn_published_row *gnn_figure_published(const struct gnn_paper_figure *figure, uint32_t metric,
                                                     uint32_t series, const uint32_t *at);

/* The accuracy of a series after each epoch: of the case that trains, with the epoch time of the other. */
struct gnn_figure_progress {
    const struct gnn_run_record *run;
    double epoch_s;
    uint32_t epochs;              /* so far */
    double seconds, accuracy_pct; /* at the end of the last of them */
};
/* Begins before the first epoch; false: there is none, and next says so too. */
bool gnn_figure_progress_begin(struct gnn_figure_progress *progress, const struct gnn_paper_figure *figure,
                               uint32_t series, const uint32_t *at);
/* Goes to the next epoch; false: there is none. */
bool gnn_figure_progress_next(struct gnn_figure_progress *progress);

/* The cell of a series, that which trains only where there is no other, at one value of each axis; NULL: none. */
const struct gnn_figure_cell *gnn_figure_find(const struct gnn_paper_figure *figure, uint32_t series,
                                              const uint32_t *at);

/* How many cells there are to run (not those that are impossible), and how many of them are recorded. */
void gnn_figure_count(const struct gnn_paper_figure *figure, uint32_t *cells, uint32_t *recorded);

/* Cells that were met, each by its run's identity: figures share some. Zeroed is empty. */
struct gnn_figure_met {
    char (*identities)[GNN_CHECKSUM_TEXT];
    uint32_t count, room;
};
void gnn_figure_met_close(struct gnn_figure_met *met);

/* What is left to run. */
struct gnn_figure_left {
    uint32_t cells;   /* that are not recorded */
    uint32_t unknown; /* among them, without an estimate of what they take */
    double minutes;   /* of one core, all others: as earlier runs of them or like them took, else by the figure's
                       * `minutes` */
};

/* Counts all that is left of a figure, and that part of it which no figure counted before has left. */
GNN_MUST_CHECK enum gnn_status gnn_figure_left(const struct gnn_paper_figure *figure, struct gnn_figure_met *met,
                                               struct gnn_figure_left *all, struct gnn_figure_left *own,
                                               struct gnn_err *err);

#endif

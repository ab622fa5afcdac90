/* SPDX-License-Identifier: MIT */
/* A figure of a paper as data: plots/figures/ID.ini, whose cells are a job file's (harness/run/sweep/job_file.h).
 *
 *   [global]             what every cell has
 *   [A-GPU]              a series: its name (up to a comma: [A-GPU, gat] is more of the same), and its cells' options;
 *                        `published = A/GPU` names it in results/published. One without a system has published values
 *                        alone
 *   [figure]             the keys below
 *   [holds]              NAME = predicate (predicate.h), in the words of the paper
 *   [reasons]            NAME = why that predicate may not hold in the simulated world
 *   [measured reasons]   the same for runs on this machine
 *
 * Keys of [figure]: paper, place ("Figure 8"), title, chart (gnn_figure_charts), x and facets (keys of cells), x_keys
 * (where series set x by keys of their own), y (metrics, metric.h; the first is drawn), x_label, y_label, log (yes),
 * own_axis (yes: each panel of bars has its own y axis), target, published (what each metric is called there, - for
 * none), published_x (what x is called there), note, missing (why there is no such figure here; then there are no
 * cells), minutes (of one core, what all cells take as the file has them: for an estimate before anything was run),
 * scale ("1/100": where none is asked for), scaled (parameters of systems that are sizes of the paper's), measured_by
 * (fio: see below).
 *
 * With `measured_by = fio` a case is a job of fio's and no run of a system: its keys are fio's own, several values of
 * one stand between bars, and what is read is a file that it writes first (fio_cells.h). It is measured on this
 * machine, whatever the world of others.
 *
 * A case with `trains = yes` computes in earnest, on this machine and its processors, whatever the world of the others:
 * its series takes the accuracy of each epoch from there and everything else from its other case. `target` in [figure]
 * is the accuracy, in percent, that target_s and target_epochs are about.
 *
 * Sizes are the paper's: at another scale memory, swap, batch and what `scaled` names are divided by it, as a preset's
 * are, and whole epochs are run where the file takes a part of one. `at = 10` in a case says where on the x axis it
 * stands, if x_keys names `at`. */
#ifndef GNN_FIGURE_FIGURE_H
#define GNN_FIGURE_FIGURE_H

#include "harness/figure/predicate.h"
#include "harness/figure/published.h"
#include "harness/record/record.h"
#include "harness/run/sweep/job_file.h"

enum { GNN_FIGURE_SERIES_MAX = 16, GNN_FIGURE_METRICS_MAX = 16, GNN_FIGURE_PREDICATES_MAX = 24, GNN_FIGURE_LINE = 200 };

/* Shapes of pictures: "bars" and "lines" show the first metric over x, a panel for each combination of the facets;
 * "heat" likewise, a row a series, its value a colour; "classes" shows bars for each metric of y, which x has the names
 * of, from their last dot on; "cdf" shows a distribution by its quantiles, metrics of y whose names hold _p50 and the
 * like; "time" shows what processors and storage did over a run, a panel a cell; "accuracy" the
 * accuracy after each epoch over the time until then; "table" no picture. Ends with NULL. */
extern const char *const gnn_figure_charts[];
/* Keys of a case that are the figure's own, no option of what runs it. */
#define GNN_FIGURE_OWN_KEYS "published", "at", "trains"

struct gnn_figure_about {
    char paper[GNN_FIGURE_LINE], place[GNN_FIGURE_LINE], title[GNN_FIGURE_LINE], chart[GNN_FIGURE_LINE];
    char x[GNN_FIGURE_LINE], x_keys[GNN_FIGURE_LINE], facets[GNN_FIGURE_LINE], y[GNN_FIGURE_LINE];
    char x_label[GNN_FIGURE_LINE], y_label[GNN_FIGURE_LINE], log[GNN_FIGURE_LINE], own_axis[GNN_FIGURE_LINE];
    char published[GNN_FIGURE_LINE], published_x[GNN_FIGURE_LINE], note[GNN_FIGURE_LINE], missing[GNN_FIGURE_LINE];
    char scale[GNN_FIGURE_LINE], scaled[GNN_FIGURE_LINE], target[GNN_FIGURE_LINE];
    char minutes[GNN_FIGURE_LINE], measured_by[GNN_FIGURE_LINE];
};

struct gnn_figure_series {
    char name[GNN_NAME_MAX];
    char published[GNN_NAME_MAX]; /* "SYSTEM/VARIANT"; "": none */
    bool has_cells;
};

struct gnn_figure_cell {
    uint32_t series;
    bool trains;
    uint32_t at[GNN_AXES_MAX];   /* of each axis */
    struct gnn_run_record *runs; /* repetitions that are recorded, oldest first */
    uint32_t run_count;
};

struct gnn_figure_predicate {
    char name[GNN_NAME_MAX], text[GNN_FIGURE_LINE], reason[GNN_FIGURE_LINE];
    struct gnn_predicate parsed;
};

struct gnn_paper_figure {
    char id[GNN_NAME_MAX];
    struct gnn_figure_about about;
    char metrics[GNN_FIGURE_METRICS_MAX][GNN_NAME_MAX];
    char published_names[GNN_FIGURE_METRICS_MAX][GNN_NAME_MAX]; /* of each metric; "" or "-": none */
    uint32_t metric_count, published_count;
    struct gnn_axis axes[GNN_AXES_MAX]; /* x first; without one, a key "" of one value */
    uint32_t axis_count;
    struct gnn_figure_series series[GNN_FIGURE_SERIES_MAX];
    const char *series_names[GNN_FIGURE_SERIES_MAX];
    uint32_t series_count;
    struct gnn_job *job;           /* NULL: missing */
    struct gnn_figure_cell *cells; /* (job->count) */
    struct gnn_figure_predicate predicates[GNN_FIGURE_PREDICATES_MAX];
    uint32_t predicate_count;
    struct gnn_published published;
    uint32_t scale_divisor;
    char put_over
        [GNN_TEXT_MAX]; /* "epochs=3, max-batches=40": what is fixed over all cells, none of whose values it was */
    bool own_setup;     /* the cells are as the file has them: in their own world, at the figure's own scale */
    bool by_fio; /* cells are jobs of fio's (fio_cells.h): of their run configurations db and data_dir alone count */
};

/* Where and at what size the cells are run. */
struct gnn_figure_setup {
    enum gnn_world_kind world; /* measured: on this machine, with the profile's compute as a model */
    uint32_t scale_divisor;    /* 0: the figure's own, else 1 */
    const char *db, *data_dir;
    const char *published_path;    /* of the paper's values; NULL: none */
    const struct gnn_kv_list *fix; /* of every cell, and predicates of others are left out; NULL or empty: nothing */
};

/* Reads the figure at path; its name is the file's. GNN_EUSAGE names the file and what is wrong with it. */
GNN_MUST_CHECK enum gnn_status gnn_figure_open(const char *path, const struct gnn_figure_setup *setup,
                                               struct gnn_paper_figure **out, struct gnn_err *err);
void gnn_figure_close(struct gnn_paper_figure *figure); /* accepts NULL */

/* Reads [figure] alone. */
GNN_MUST_CHECK enum gnn_status gnn_figure_about(const char *path, struct gnn_figure_about *out, struct gnn_err *err);

/* Reads plots/figures/tolerances.ini. */
GNN_MUST_CHECK enum gnn_status gnn_tolerances_open(const char *path, struct gnn_tolerances *out, struct gnn_err *err);

#endif

/* SPDX-License-Identifier: MIT */
/* A figure of a paper as data: experiments/papers/ID.ini, or experiments/project/ID.ini for figures of our own. Its
 * sections of runs are those of a job file (harness/run/sweep/job_file.h).
 *
 *   `[global]`            Options of every run.
 *   `[A-GPU]`             A series and the options of its runs. Its name ends at a comma: [A-GPU, gat] is part of it.
 *                         `published = A/GPU` names it in results/published. Without a system, a series has published
 *                         values only.
 *   `[figure]`            The keys below.
 *   `[metrics]`           NAME = expression (expression.h): a metric of this figure.
 *   `[holds]`             NAME = predicate (predicate.h), in the words of the paper.
 *   `[says]`              NAME = that predicate as a plain sentence, which is printed with its verdict.
 *   `[reasons]`           NAME = why that predicate may not hold in the simulated world.
 *   `[measured reasons]`  The same for runs on this machine.
 *
 * Keys of [figure]:
 *
 *   `title`                    Required.
 *   `paper`, `place`           Required for a figure of a paper. A place is "Figure 8".
 *   `chart`                    Shape of the picture (gnn_figure_charts).
 *   `x`, `facets`              Option names: the x axis, and the axes that have a panel per value.
 *   `x_keys`                   Option names that set x, if series have different ones.
 *   `y`                        Metrics (metric.h, or of [metrics]); the first is drawn.
 *   `layout`                   Value "across": one table with a column for each metric.
 *   `rows`                     What names a row of it: "series" and option names, which become axes. Series and axes
 *                              that are not in `rows` multiply the columns.
 *   `order`                    Order of the rows: "series" or axes, each with "asc" or "desc" behind it. Commas are
 *                              between them.
 *   `over`                     Option names, which are no axes: values are taken over the runs with all their values.
 *   `average`                  Value "mean": of several runs the mean is shown, not the median. Value "best": the
 *                              configuration with the smallest first metric of `y` is shown, of those in `over`.
 *   `relative`                 Axis and value: "world=measured". The picture shows ratios to the values there.
 *   `x_label`, `y_label`       Labels of the axes.
 *   `log`                      Value "yes": a logarithmic y axis.
 *   `own_axis`                 Value "yes": each panel of bars has its own y axis.
 *   `target`                   Accuracy in percent, for the metrics target_s and target_epochs.
 *   `published`                Name of each metric in the published values, - for none.
 *   `published_x`              Name of x there.
 *   `published_also`           ID of another figure or table of the paper with values of the same configurations.
 *   `paper_id`                 ID of the figure there, if it is not the figure's own.
 *   `note`                     Text for people.
 *   `missing`                  Why the figure cannot be reproduced here. It has no runs then.
 *   `minutes`                  Time of all runs on one core, at the file's own scale: the estimate before any run.
 *   `scale`                    Scale if the user gives none: "1/100".
 *   `scaled`                   Parameters of systems that are sizes at the paper's scale.
 *   `scaled_root`              Parameters of systems that are divided by the square root of K: numbers of partitions,
 *                              so that edge buckets keep their size.
 *   `measured_by`              Value "fio": see below.
 *   `import`                   Options of `oocgnn prepare --from DIR` that import the dataset. It may also be in a
 *                              section.
 *
 * With `measured_by = fio`, a section is a job of fio, not a run of a system. Its keys are fio's own, with several
 * values of one between bars. It reads a file that fio writes first (fio_cells.h). It is always measured on this
 * machine.
 *
 * A section with `trains = yes` is real training, on this machine and its processors, in every world. Its series takes
 * the accuracy of each epoch from this run, and all other metrics from its other run.
 *
 * A figure without a paper is the user's own. Its runs are exactly those that `oocgnn sweep` makes of the file: scale,
 * sizes, world, database and directory of the datasets are in the file, and nothing is divided. A section with several
 * systems has a series for each.
 *
 * If `world` is an axis, the configurations have the worlds and the compute of the file, whatever --world is.
 *
 * Sizes are those of the paper. At another scale, memory, swap, batch and the parameters in `scaled` are divided, as
 * for a preset. Whole epochs are run if the file has a part of one. `at = 10` in a section is its position on the x
 * axis, if x_keys contains `at`. */
#ifndef GNN_FIGURE_FIGURE_H
#define GNN_FIGURE_FIGURE_H

#include "harness/figure/predicate.h"
#include "harness/figure/published.h"
#include "harness/record/record.h"
#include "harness/run/sweep/job_file.h"

enum { GNN_FIGURE_SERIES_MAX = 32, GNN_FIGURE_METRICS_MAX = 32, GNN_FIGURE_PREDICATES_MAX = 24, GNN_FIGURE_LINE = 200 };
/* A key is the number of an axis, or GNN_KEY_SERIES. */
enum { GNN_KEY_SERIES = -1, GNN_KEYS_MAX = GNN_AXES_MAX + 1 };

/* Shapes of pictures. "bars" and "lines" show the first metric over x, with a panel for each combination of the facets.
 * "heat" does so with a row per series, and the value as a colour. "classes" has a bar for each metric of y, labelled
 * with the part after its last dot. "cdf" is a distribution by its quantiles: metrics of y whose names contain _p50 and
 * similar. "time" shows processors and storage over a run, with a panel per configuration. "accuracy" shows the
 * accuracy after each epoch over the time until then. "table" has no picture. The list ends with NULL. */
extern const char *const gnn_figure_charts[];
/* Keys of a section that the figure itself uses; they are not options of the run. */
#define GNN_FIGURE_OWN_KEYS "published", "at", "trains", "import"

/* clang-format off */
/* Every key of [figure], as KEY(name). */
#define GNN_FIGURE_KEYS(KEY)                                                                                           \
    KEY(paper) KEY(place) KEY(title) KEY(chart) KEY(x) KEY(x_keys) KEY(facets) KEY(y) KEY(x_label) KEY(y_label)        \
    KEY(log) KEY(own_axis) KEY(published) KEY(published_x) KEY(published_also) KEY(paper_id) KEY(relative) KEY(note)   \
    KEY(missing) KEY(scale) KEY(scaled) KEY(scaled_root) KEY(target) KEY(minutes) KEY(measured_by) KEY(import)         \
    KEY(layout) KEY(rows) KEY(order) KEY(over) KEY(average)
/* clang-format on */

struct gnn_figure_about {
#define KEY(name) char name[GNN_FIGURE_LINE];
    GNN_FIGURE_KEYS(KEY)
#undef KEY
};

struct gnn_figure_series {
    char name[GNN_NAME_MAX];
    char published[GNN_NAME_MAX]; /* "SYSTEM/VARIANT"; "" if none */
    bool has_cells;
};

struct gnn_figure_cell {
    uint32_t series;
    bool trains;
    uint32_t at[GNN_AXES_MAX];   /* value index on each axis */
    struct gnn_run_record *runs; /* recorded repetitions, oldest first */
    uint32_t run_count;
    char *identity; /* of a configuration of fio (fio_cells.h), else NULL */
};

struct gnn_figure_expression {
    char name[GNN_NAME_MAX];
    struct gnn_predicate parsed;
};

struct gnn_finding {
    enum gnn_verdict_of_predicate verdict;
    char ours[GNN_FIGURE_LINE]; /* our value for the printed number, or else the values of a combination; "": none */
    char published[32];         /* the printed number, or "3 numbers" if there are several; "" if there is none */
};

struct gnn_figure_predicate {
    char name[GNN_NAME_MAX], text[GNN_FIGURE_LINE], says[GNN_FIGURE_LINE], reason[GNN_FIGURE_LINE];
    struct gnn_predicate parsed;
    struct gnn_finding found; /* by gnn_figure_judge() */
};

struct gnn_paper_figure {
    char id[GNN_NAME_MAX], file[GNN_NAME_MAX]; /* file: name of its output files */
    struct gnn_figure_about about;
    char metrics[GNN_FIGURE_METRICS_MAX][GNN_NAME_MAX];
    char published_names[GNN_FIGURE_METRICS_MAX][GNN_NAME_MAX]; /* of each metric; "" or "-": none */
    uint32_t metric_count, published_count;
    struct gnn_axis axes[GNN_AXES_MAX]; /* x first; a figure without x has a key "" with one value */
    uint32_t axis_count;
    struct gnn_figure_expression *expressions; /* (expression_count) */
    uint32_t expression_count;
    int32_t keys[GNN_KEYS_MAX], row_keys[GNN_KEYS_MAX]; /* in the order of places; those of `rows` */
    uint32_t key_count, row_key_count;
    bool has_variants; /* the last axis is GNN_JOB_VARIANT; predicates do not have it */
    uint32_t variant;  /* the one that predicates judge */
    struct gnn_figure_series series[GNN_FIGURE_SERIES_MAX];
    const char *series_names[GNN_FIGURE_SERIES_MAX];
    uint32_t series_count;
    struct gnn_job *job;           /* NULL: the figure is missing */
    struct gnn_figure_cell *cells; /* (job->count) */
    struct gnn_figure_predicate predicates[GNN_FIGURE_PREDICATES_MAX];
    uint32_t predicate_count;
    struct gnn_published published;
    uint32_t scale_divisor;
    char put_over
        [GNN_TEXT_MAX]; /* "epochs=3, max-batches=40": keys of --fix that override the values of every configuration */
    bool own;           /* of no paper: sizes, world and places are those of its runs, as `oocgnn sweep` has them */
    char caption[GNN_FIGURE_LINE]; /* replaces the conditions of the runs; "": no caption of its own */
    bool own_setup;                /* the file's own world and scale are used */
    bool by_fio; /* measured by fio (fio_cells.h); run configurations then have db and data_dir only */
};

/* Where and at which size the figure is run. */
struct gnn_figure_setup {
    enum gnn_world_kind world; /* measured: on this machine, with the profile's compute as a model */
    uint32_t scale_divisor;    /* 0: the figure's own scale, else 1 if it has none */
    const char *db, *data_dir;
    const char *own_db, *own_data_dir; /* the same for the user's own figure; NULL: those of its file */
    const char *published_path;        /* file of the paper's values; NULL: none */
    const struct gnn_ini *variants;    /* overlays of every run, gnn_job_options; fio's jobs ignore them. NULL: none */
    const char *change, *change_profile; /* --profile-set for runs with that profile; NULL: none */
    const struct gnn_kv_list *fix; /* fixed keys of all runs; excludes predicates of other runs. NULL or empty: none */
};

/* Reads the figure at path; its ID is the file's name. Returns GNN_EUSAGE, which names the file and the fault,
 * GNN_ENOENT, or errors of gnn_published_open(). gnn_figure_close() frees *out. */
GNN_MUST_CHECK enum gnn_status gnn_figure_open(const char *path, const struct gnn_figure_setup *setup,
                                               struct gnn_paper_figure **out, struct gnn_err *err);
void gnn_figure_close(struct gnn_paper_figure *figure); /* accepts NULL */

/* Writes the command that imports the dataset of a figure, and returns text. NULL: the dataset exists, or the figure
 * needs no import. */
const char *gnn_figure_import_command(const struct gnn_paper_figure *figure, char *text, size_t text_bytes);

/* Checks that the imported dataset of a figure exists. GNN_ENOTSUP: the message has the command that imports it. */
GNN_MUST_CHECK enum gnn_status gnn_figure_check_import(const struct gnn_paper_figure *figure, struct gnn_err *err);

/* Reads section [figure] only. Returns errors as gnn_figure_open() does. */
GNN_MUST_CHECK enum gnn_status gnn_figure_about(const char *path, struct gnn_figure_about *out, struct gnn_err *err);

/* Returns whether `average` is "best". */
bool gnn_figure_shows_best(const struct gnn_figure_about *about);

/* Does the same with a file that is open. */
GNN_MUST_CHECK enum gnn_status gnn_figure_read_about(const struct gnn_ini *ini, struct gnn_figure_about *out,
                                                     struct gnn_err *err);

/* Reads experiments/papers/tolerances.ini. Returns GNN_EUSAGE if a tolerance is missing or below 1. */
GNN_MUST_CHECK enum gnn_status gnn_tolerances_open(const char *path, struct gnn_tolerances *out, struct gnn_err *err);

#endif

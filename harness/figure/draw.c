/* SPDX-License-Identifier: MIT */
/* From a figure's values to a data file and a script; the drawing is plots/figure_<chart>.gp's. */
#include "harness/base/data_dirs.h"
#include "harness/base/out_file.h"
#include "harness/base/plain_text.h"
#include "harness/figure/metric.h"
#include "harness/figure/order.h"
#include "harness/figure/show.h"
#include "harness/figure/values.h"
#include "harness/record/gnuplot.h"
#include "harness/record/styles.h"
#include "harness/run/config.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    CAPTION_BYTES = 1200,
    PANELS_MAX = 64,
    COLUMNS_MAX = 5,
    PIXELS_ALONE = 800, /* as plots/figure_head.gp has them: of one column of panels, of each of several, of a letter */
    PIXELS_EACH = 420,
    PIXELS_LETTER = 7,
    TIC_CHARACTERS = 40,
    TICS_MAX = 24
};

static const char head_gp[] =
#include "plots/figure_head.gp.inc"
    ;
static const char bars_gp[] =
#include "plots/figure_bars.gp.inc" /* made from plots/figure_bars.gp */
    ;
static const char lines_gp[] =
#include "plots/figure_lines.gp.inc"
    ;
static const char heat_gp[] =
#include "plots/figure_heat.gp.inc"
    ;
static const char cdf_gp[] =
#include "plots/figure_cdf.gp.inc"
    ;
static const char time_gp[] =
#include "plots/figure_time.gp.inc"
    ;
static const char accuracy_gp[] =
#include "plots/figure_accuracy.gp.inc"
    ;

static const double headroom = 1.12; /* above the largest value, on a linear axis */

struct drawing;
typedef enum gnn_status data_fn(struct drawing *d, uint32_t *facets, struct gnn_err *err);

/* A picture, and what is known of it once its data are written. */
struct drawing {
    const struct gnn_paper_figure *figure;
    const struct shape *shape;
    FILE *data;
    uint32_t series[GNN_FIGURE_SERIES_MAX], series_count; /* those that the picture shows */
    uint32_t count;                                       /* of panels */
    char names[PANELS_MAX][2 * GNN_AXIS_VALUE_BYTES];
    double tops[PANELS_MAX]; /* the largest value of each panel */
    double least, most;      /* of all: ends of the y axis */
    bool published;          /* a value of the paper's is drawn */
    uint32_t words;          /* most at one value of x */
    size_t word_length;      /* characters of the longest */
};

/* Makes place for a value in the last panel. */
static void widen(struct drawing *d, double value)
{
    assert(d->count > 0);
    if (!isfinite(value) || value <= 0)
        return;
    d->least = d->least == 0 ? value : fmin(d->least, value);
    d->most = fmax(d->most, value);
    d->tops[d->count - 1] = fmax(d->tops[d->count - 1], value);
}

/* Returns the value, or its ratio to that at the figure's base. */
static struct gnn_figure_value drawn_at(const struct gnn_paper_figure *figure, const char *metric, uint32_t series,
                                        const uint32_t *at)
{
    struct gnn_figure_value value = gnn_figure_value_at(figure, metric, series, at);
    const double ratio = gnn_figure_relative(figure, metric, series, at);
    if (figure->about.relative[0] == '\0' || value.state != GNN_VALUE_KNOWN)
        return value;
    if (isfinite(ratio))
        value.median = value.least = value.most = ratio;
    else
        value = (struct gnn_figure_value){.state = GNN_VALUE_MISSING, .word = "no base"};
    return value;
}

static void put_number(double value, FILE *data)
{
    if (isfinite(value))
        (void)fprintf(data, "\t%.9g", value);
    else
        (void)fputs("\tNaN", data);
}

/* Writes median, least, most, published value, and the word in place of a number: that of our run, or in brackets that
 * of the paper. At a scale, published times and sizes are divided like the graph. Returns whether there is a word. */
static bool put_point(struct drawing *d, uint32_t metric, uint32_t series, const uint32_t *at)
{
    const struct gnn_paper_figure *const figure = d->figure;
    const struct gnn_figure_value value = drawn_at(figure, figure->metrics[metric], series, at);
    const struct gnn_published_row *const row = gnn_figure_published(figure, metric, series, at);
    const double printed = row != NULL ? gnn_published_value(row) : (double)NAN;
    const double published = printed / gnn_figure_published_divisor(figure, metric);
    const double unit = figure->about.relative[0] != '\0' ? 1 : gnn_metric_unit(figure->metrics[metric])->drawn;
    const bool known = value.state == GNN_VALUE_KNOWN;
    const double ours[] = {unit * value.median, unit * value.least, unit * value.most};
    char word[48];
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        put_number(known ? ours[i] : (double)NAN, d->data);
    put_number(published, d->data);
    if (value.state == GNN_VALUE_NONE && row != NULL && !isfinite(printed))
        (void)snprintf(word, sizeof word, "[%s]", row->value);
    else
        (void)snprintf(word, sizeof word, "%s", known ? "" : value.word);
    (void)fprintf(d->data, "\t%s", word[0] == '\0' ? " " : word);
    d->published = d->published || isfinite(published);
    widen(d, published);
    for (size_t i = 1; i < sizeof ours / sizeof *ours && known; i++)
        widen(d, ours[i]);
    d->word_length = strlen(word) > d->word_length ? strlen(word) : d->word_length;
    return word[0] != '\0';
}

/* Whether the picture shows anything of the series: it has cells, or published values or words. */
static bool is_shown(const struct gnn_paper_figure *figure, uint32_t series)
{
    uint32_t at[GNN_AXES_MAX] = {0};
    bool shown = figure->series[series].has_cells;
    do
        shown = shown || gnn_figure_published(figure, 0, series, at) != NULL;
    while (!shown && gnn_axes_next(figure, 0, at));
    return shown;
}

/* Whether any series has a cell to draw at this combination of facets. */
static bool has_panel(const struct gnn_paper_figure *figure, const uint32_t *facets)
{
    uint32_t at[GNN_AXES_MAX];
    memcpy(at, facets, sizeof at);
    if (gnn_figure_is_base(figure, at))
        return false; /* its ratios are 1 */
    for (uint32_t s = 0; s < figure->series_count; s++)
        for (at[0] = 0; at[0] < figure->axes[0].count; at[0]++)
            if (gnn_figure_find(figure, s, at) != NULL)
                return true;
    return false;
}

/* Whether a value tells nothing without the name of its axis. */
static bool says_nothing(const char *value)
{
    return strcmp(value, "yes") == 0 || strcmp(value, "no") == 0 || strcmp(value, "none") == 0 ||
           strspn(value, "0123456789") > 0;
}

/* Begins the panel of a combination of facets, of one series unless "". */
static enum gnn_status add_panel(struct drawing *d, const char *series, const uint32_t *at, struct gnn_err *err)
{
    if (d->count == PANELS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "figure %s: more than %d panels", d->figure->id, PANELS_MAX);
    char *const name = d->names[d->count];
    (void)snprintf(name, sizeof d->names[0], "%s", series);
    for (uint32_t a = 1; a < d->figure->axis_count; a++) {
        const struct gnn_axis *const axis = &d->figure->axes[a];
        const char *const value = axis->values[at[a]];
        const bool named = says_nothing(value);
        if (axis->count > 1)
            gnn_text_list(name, sizeof d->names[0], "%s%s%s", named ? axis->key : "", named ? "=" : "", value);
    }
    (void)fputs(d->count++ > 0 ? "\n\n" : "", d->data);
    return GNN_OK;
}

/* ---- data of each shape ---- */

/* The name of a metric on the x axis: "4K" of "reads.4K". */
static const char *class_of(const char *metric)
{
    const char *const dot = strrchr(metric, '.');
    return dot != NULL ? dot + 1 : metric;
}

/* Whether the x axis has the metrics, and not the values of x. */
static bool has_classes(const struct drawing *d)
{
    return strcmp(d->figure->about.chart, "classes") == 0;
}

/* How many places the x axis has. */
static uint32_t tic_count(const struct drawing *d)
{
    return has_classes(d) ? d->figure->metric_count : d->figure->axes[0].count;
}

/* A line for each place of the x axis. */
static enum gnn_status put_rows(struct drawing *d, uint32_t *at, struct gnn_err *err)
{
    const bool classes = has_classes(d);
    GNN_TRY(add_panel(d, "", at, err));
    for (uint32_t t = 0; t < tic_count(d); t++) {
        const char *const x = classes ? class_of(d->figure->metrics[t]) : d->figure->axes[0].values[t];
        uint32_t words = 0;
        at[0] = classes ? 0 : t;
        (void)fputs(x[0] != '\0' ? x : " ", d->data);
        for (uint32_t i = 0; i < d->series_count; i++)
            words += put_point(d, classes ? t : 0, d->series[i], at) ? 1 : 0;
        d->words = gnn_max_u32(d->words, words);
        (void)fputs("\t.\n", d->data); /* blanks at a line's end are no field to gnuplot */
    }
    at[0] = 0;
    return GNN_OK;
}

/* The share in a quantile's name: 0.9 of "own.latency_p90_ns"; 0: it is none of the figure's first metric's. */
static double share_of(const struct gnn_paper_figure *figure, const char *metric)
{
    const char *at = strstr(metric, "_p");
    double share = 0, place = 0.1;
    if (at == NULL || strncmp(metric, figure->metrics[0], (size_t)(at - metric) + 2) != 0)
        return 0;
    for (at += 2; *at >= '0' && *at <= '9'; at++, place /= 10)
        share += place * (*at - '0');
    return share;
}

/* A line for each quantile: its share, then the value of each series. */
static enum gnn_status put_quantiles(struct drawing *d, uint32_t *at, struct gnn_err *err)
{
    GNN_TRY(add_panel(d, "", at, err));
    for (uint32_t m = 0; m < d->figure->metric_count; m++) {
        const char *const metric = d->figure->metrics[m];
        const double share = share_of(d->figure, metric), unit = gnn_metric_unit(metric)->drawn;
        if (share == 0)
            continue;
        (void)fprintf(d->data, "%.9g", share);
        for (uint32_t i = 0; i < d->series_count; i++) {
            const struct gnn_figure_value value = gnn_figure_value_at(d->figure, metric, d->series[i], at);
            put_number(value.state == GNN_VALUE_KNOWN ? unit * value.median : (double)NAN, d->data);
        }
        (void)fputc('\n', d->data);
    }
    return GNN_OK;
}

/* The run whose course is drawn: the last that ended well. */
static const struct gnn_run_record *run_of(const struct gnn_figure_cell *cell)
{
    for (uint32_t r = cell != NULL ? cell->run_count : 0; r-- > 0;)
        if (cell->runs[r].status == GNN_RUN_OK)
            return &cell->runs[r];
    return NULL;
}

/* A panel a cell, in it a line an interval: its end in seconds, CPU, I/O wait, GPU. */
static enum gnn_status put_course(struct drawing *d, uint32_t *at, struct gnn_err *err)
{
    for (uint32_t s = 0; s < d->figure->series_count; s++)
        for (at[0] = 0; at[0] < d->figure->axes[0].count; at[0]++) {
            const struct gnn_run_record *const run = run_of(gnn_figure_find(d->figure, s, at));
            if (run == NULL || run->series_count == 0)
                continue;
            GNN_TRY(add_panel(d, d->figure->series[s].name, at, err));
            for (uint32_t i = 0; i < run->series_count; i++) {
                const struct gnn_series_point *const point = &run->series[i];
                (void)fprintf(d->data, "%.9g", (double)point->time_ns / 1e9);
                put_number(point->cpu_pct, d->data);
                put_number(point->iowait_pct, d->data);
                put_number(point->gpu_busy_pct, d->data);
                (void)fputc('\n', d->data);
            }
        }
    at[0] = 0;
    return GNN_OK;
}

/* A block a series: a line an epoch, when it ended in seconds and the accuracy then. */
static enum gnn_status put_accuracy(struct drawing *d, uint32_t *at, struct gnn_err *err)
{
    GNN_TRY(add_panel(d, "", at, err));
    for (uint32_t i = 0; i < d->series_count; i++) {
        struct gnn_figure_progress progress;
        (void)fputs(i > 0 ? "\n\n" : "", d->data);
        (void)fputs("NaN\tNaN\n", d->data); /* so that there is a block even without an epoch */
        (void)gnn_figure_progress_begin(&progress, d->figure, d->series[i], at);
        while (gnn_figure_progress_next(&progress)) {
            (void)fprintf(d->data, "%.9g\t%.9g\n", progress.seconds, progress.accuracy_pct);
            widen(d, progress.accuracy_pct);
        }
    }
    return GNN_OK;
}

static const struct shape {
    const char *chart, *script;
    data_fn *put;
} shapes[] = {
    {"bars", bars_gp, put_rows},
    {"lines", lines_gp, put_rows},
    {"heat", heat_gp, put_rows},
    {"classes", bars_gp, put_rows},
    {"cdf", cdf_gp, put_quantiles},
    {"time", time_gp, put_course},
    {"accuracy", accuracy_gp, put_accuracy},
};

/* Returns NULL for a table. */
static const struct shape *shape_of(const struct gnn_paper_figure *figure)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(shapes[i].chart, figure->about.chart) == 0)
            return &shapes[i];
    return NULL;
}

static enum gnn_status put_data(struct drawing *d, struct gnn_err *err)
{
    uint32_t at[GNN_AXES_MAX] = {0};
    for (uint32_t s = 0; s < d->figure->series_count; s++)
        if (is_shown(d->figure, s))
            d->series[d->series_count++] = s;
    do
        if (has_panel(d->figure, at))
            GNN_TRY(d->shape->put(d, at, err));
    while (gnn_axes_next(d->figure, 1, at));
    return GNN_OK;
}

static const char *tic_name(const struct drawing *d, uint32_t i, char text[GNN_AXIS_LABEL])
{
    return has_classes(d) ? class_of(d->figure->metrics[i]) : gnn_axis_label(d->figure, 0, i, text);
}

/* The names of the places of x, turned where they would run into each other. */
static void put_tics(const struct drawing *d, FILE *script)
{
    char text[GNN_AXIS_LABEL];
    size_t characters = 0;
    const uint32_t count = tic_count(d), step = count / TICS_MAX + 1; /* every so many have a name */
    for (uint32_t i = 0; i < count; i += step)
        characters += strlen(tic_name(d, i, text));
    const bool turned = characters > TIC_CHARACTERS || has_classes(d);
    (void)fprintf(script, "turned = %d\nset xtics nomirror scale 0 %s (", turned ? 1 : 0,
                  turned ? "rotate by 25 right" : "norotate");
    for (uint32_t i = 0; i < count; i += step) {
        (void)fputs(i > 0 ? ", " : "", script);
        gnn_gnuplot_string(script, tic_name(d, i, text));
        (void)fprintf(script, " %u", i);
    }
    (void)fputs(")\n", script);
}

/* Panels in a row: one for each value of the last facet, so that those of a column agree in it; 0: the script decides,
 * as not every combination has a panel or one facet alone varies. */
static uint32_t panel_columns(const struct drawing *d)
{
    uint32_t varying = 0, last = 0, all = 1;
    for (uint32_t a = 1; a < d->figure->axis_count; a++) {
        if (d->figure->axes[a].count == 1)
            continue;
        varying++;
        last = d->figure->axes[a].count;
        all *= last;
    }
    return varying > 1 && all == d->count && last <= COLUMNS_MAX ? last : 0;
}

/* Breaks the caption before the picture's edge, with the panels in a row that plots/figure_head.gp chooses. Returns how
 * many lines it has. */
static uint32_t wrap(const struct drawing *d, char *text)
{
    const uint32_t columns = panel_columns(d);
    const uint32_t across = columns > 0 ? columns : d->count < 4 ? d->count : (uint32_t)ceil(sqrt(d->count));
    return gnn_text_wrap(text, ((across == 1 ? PIXELS_ALONE : across * PIXELS_EACH) - 20) / PIXELS_LETTER);
}

/* Returns the place in the registry of the system that all runs of a series are of; GNN_STYLE_NONE: there is none. */
static uint32_t place_of(const struct gnn_paper_figure *figure, uint32_t series)
{
    const char *system = NULL;
    for (uint32_t i = 0; i < figure->job->count; i++) {
        const char *const other = gnn_run_system_name(&figure->job->cells[i].config);
        if (figure->cells[i].series == series && system != NULL && strcmp(system, other) != 0)
            return GNN_STYLE_NONE;
        system = figure->cells[i].series == series ? other : system;
    }
    return system != NULL ? gnn_system_place(system) : GNN_STYLE_NONE;
}

static void put_series(const struct drawing *d, FILE *script)
{
    uint32_t places[GNN_FIGURE_SERIES_MAX];
    struct gnn_style styles[GNN_FIGURE_SERIES_MAX];
    char name[32];
    (void)fprintf(script, "series = %u\narray names[%u]\n", d->series_count, d->series_count);
    for (uint32_t i = 0; i < d->series_count; i++) {
        places[i] = place_of(d->figure, d->series[i]);
        (void)snprintf(name, sizeof name, "names[%u]", i + 1);
        gnn_gnuplot_set(script, name, d->figure->series[d->series[i]].name);
    }
    gnn_styles_choose(places, d->series_count, styles);
    gnn_styles_write(styles, d->series_count, script);
}

static void put_panels(const struct drawing *d, FILE *script)
{
    char name[32];
    (void)fprintf(script, "panels = %u\ncolumns = %u\nrows = %u\narray panel_names[%u]\narray tops[%u]\n", d->count,
                  panel_columns(d), tic_count(d), d->count, d->count);
    for (uint32_t p = 0; p < d->count; p++) {
        (void)snprintf(name, sizeof name, "panel_names[%u]", p + 1);
        gnn_gnuplot_set(script, name, d->names[p]);
        const bool own = strcmp(d->figure->about.own_axis, "yes") == 0 && d->tops[p] > 0;
        (void)fprintf(script, "tops[%u] = %s%.9g\n", p + 1, own ? "" : "top * ", own ? headroom * d->tops[p] : 1.0);
    }
}

static void put_script(const struct drawing *d, FILE *script)
{
    const struct gnn_paper_figure *const figure = d->figure;
    char text[CAPTION_BYTES], data[GNN_NAME_MAX + 8];
    const bool logarithmic = strcmp(figure->about.log, "yes") == 0;
    const double most = d->most > 0 ? d->most : 1, least = d->least > 0 ? d->least : most / 10;
    (void)fprintf(script, "# Edit and run again: gnuplot %s.gp\n", figure->file);
    (void)snprintf(data, sizeof data, "%s.dat", figure->file);
    gnn_gnuplot_set(script, "data", data);
    gnn_gnuplot_set(script, "base", figure->file);
    (void)snprintf(text, sizeof text, "%s%s%s", figure->own ? "" : figure->id, figure->own ? "" : ": ",
                   figure->about.title);
    gnn_gnuplot_set(script, "heading", text);
    gnn_figure_caption(figure, text, sizeof text);
    const uint32_t lines = wrap(d, text);
    gnn_gnuplot_set(script, "caption", text);
    gnn_gnuplot_set(script, "xlabel", figure->about.x_label);
    gnn_gnuplot_set(script, "ylabel", figure->about.y_label);
    const uint32_t divisor = gnn_figure_published_divisor(figure, 0);
    (void)snprintf(text, sizeof text, divisor > 1 ? "published / %u" : "published", divisor);
    gnn_gnuplot_set(script, "published_name", text);
    (void)fprintf(script, "logarithmic = %d\nbottom = %.9g\ntop = %.9g\npublished = %d\ndrawn = %d\n",
                  logarithmic ? 1 : 0, logarithmic ? least / 1.5 : 0, logarithmic ? most * 1.5 : most * headroom,
                  d->published ? 1 : 0, d->most > 0 ? 1 : 0);
    const bool strip = strcmp(figure->about.chart, "lines") == 0;
    (void)fprintf(script, "caption_lines = %u\nwords = %u\nword_length = %zu\n", lines, strip ? d->words : 0,
                  d->word_length);
    put_tics(d, script);
    put_panels(d, script);
    put_series(d, script);
    (void)fputs(head_gp, script);
    (void)fputs(d->shape->script, script);
}

static enum gnn_status draw(struct drawing *d, const char *dir, struct gnn_err *err)
{
    const char *const name = d->figure->file;
    FILE *script;
    GNN_TRY(gnn_make_dirs(dir, err));
    GNN_TRY(gnn_out_file_open(dir, name, "dat", &d->data, err));
    enum gnn_status status = put_data(d, err);
    const enum gnn_status closed = gnn_out_file_close(d->data, dir, name, "dat", err);
    GNN_NEXT(status, closed);
    GNN_NEXT(status, gnn_out_file_open(dir, name, "gp", &script, err));
    GNN_TRY(status);
    if (d->count > 0)
        put_script(d, script);
    GNN_TRY(gnn_out_file_close(script, dir, name, "gp", err));
    return d->count > 0 ? gnn_gnuplot_run(dir, name, err) : GNN_OK;
}

enum gnn_status gnn_figure_draw(const struct gnn_paper_figure *figure, const char *dir, struct gnn_err *err)
{
    struct drawing *d;
    const struct shape *const shape = shape_of(figure);
    if (shape == NULL)
        return GNN_OK;
    assert(figure->series_count <= GNN_STYLES); /* checked before the first run */
    GNN_NEW(d, 1, err, "the panels of figure %s", figure->id);
    d->figure = figure;
    d->shape = shape;
    const enum gnn_status status = draw(d, dir, err);
    free(d);
    return status;
}

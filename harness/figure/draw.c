/* SPDX-License-Identifier: MIT */
/* From a figure's values to a data file and a script; the drawing is plots/figure_<chart>.gp's. */
#include "harness/base/data_dirs.h"
#include "harness/base/out_file.h"
#include "harness/base/plain_text.h"
#include "harness/figure/axes.h"
#include "harness/figure/metric.h"
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

/* Ends of the y axis: what is drawn lies between. */
struct range {
    double least, most;
    bool published; /* a value of the paper's is drawn */
};

static void widen(struct range *range, double value)
{
    if (!isfinite(value) || value <= 0)
        return;
    range->least = range->least == 0 ? value : fmin(range->least, value);
    range->most = fmax(range->most, value);
}

/* At a scale, published times and sizes are divided like the graph. NAN: nothing, or a word. */
static double published_at(const struct gnn_paper_figure *figure, uint32_t metric, uint32_t series, const uint32_t *at)
{
    const struct gnn_published_row *const row = gnn_figure_published(figure, metric, series, at);
    return row != NULL ? gnn_published_value(row) / gnn_figure_published_divisor(figure, metric) : (double)NAN;
}

/* Writes the word that stands in place of a number: that of our run, or in brackets that of the paper. "": none. */
static void word_at(const struct gnn_paper_figure *figure, uint32_t metric, uint32_t series, const uint32_t *at,
                    const struct gnn_figure_value *value, char *text, size_t text_bytes)
{
    const struct gnn_published_row *const row = gnn_figure_published(figure, metric, series, at);
    const bool printed = value->state == GNN_VALUE_NONE && row != NULL && !isfinite(gnn_published_value(row));
    (void)snprintf(text, text_bytes, printed ? "[%s]" : "%s",
                   printed                           ? row->value
                   : value->state == GNN_VALUE_KNOWN ? ""
                                                     : value->word);
}

struct panels {
    uint32_t count;
    char names[PANELS_MAX][2 * GNN_AXIS_VALUE_BYTES];
    struct range range;
    double tops[PANELS_MAX]; /* the largest value of each */
    uint32_t words;          /* most at one value of x */
    size_t word_length;      /* characters of the longest */
};

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

/* Returns whether a word stands in the value's place. */
static bool put_point(const struct gnn_paper_figure *figure, uint32_t metric, uint32_t series, const uint32_t *at,
                      FILE *data, struct panels *panels)
{
    struct range panel = {0};
    char word[48];
    const struct gnn_figure_value value = drawn_at(figure, figure->metrics[metric], series, at);
    const double published = published_at(figure, metric, series, at);
    const double unit = figure->about.relative[0] != '\0' ? 1 : gnn_metric_unit(figure->metrics[metric])->drawn;
    if (value.state == GNN_VALUE_KNOWN)
        (void)fprintf(data, "\t%.9g\t%.9g\t%.9g", unit * value.median, unit * value.least, unit * value.most);
    else
        (void)fputs("\tNaN\tNaN\tNaN", data);
    put_number(published, data);
    word_at(figure, metric, series, at, &value, word, sizeof word);
    (void)fprintf(data, "\t%s", word[0] == '\0' ? " " : word);
    panels->range.published = panels->range.published || isfinite(published);
    widen(&panel, published);
    if (value.state == GNN_VALUE_KNOWN) {
        widen(&panel, unit * value.least);
        widen(&panel, unit * value.most);
    }
    assert(panels->count > 0);
    widen(&panels->range, panel.least);
    widen(&panels->range, panel.most);
    panels->tops[panels->count - 1] = fmax(panels->tops[panels->count - 1], panel.most);
    panels->word_length = strlen(word) > panels->word_length ? strlen(word) : panels->word_length;
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

static void name_panel(const struct gnn_paper_figure *figure, const uint32_t *at, char *name, size_t name_bytes)
{
    name[0] = '\0';
    for (uint32_t a = 1; a < figure->axis_count; a++) {
        const struct gnn_axis *const axis = &figure->axes[a];
        const char *const value = axis->values[at[a]];
        const bool named = says_nothing(value);
        if (axis->count > 1)
            gnn_text_list(name, name_bytes, "%s%s%s", named ? axis->key : "", named ? "=" : "", value);
    }
}

/* Begins the next panel. */
static enum gnn_status add_panel(const struct gnn_paper_figure *figure, const char *name, FILE *data,
                                 struct panels *panels, struct gnn_err *err)
{
    if (panels->count == PANELS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "figure %s: more than %d panels", figure->id, PANELS_MAX);
    (void)snprintf(panels->names[panels->count], sizeof panels->names[0], "%.*s", (int)sizeof panels->names[0] - 1,
                   name);
    (void)fputs(panels->count > 0 ? "\n\n" : "", data);
    panels->count++;
    return GNN_OK;
}

/* Begins the panel of a combination of facets. */
static enum gnn_status add_panel_at(const struct gnn_paper_figure *figure, const uint32_t *at, FILE *data,
                                    struct panels *panels, struct gnn_err *err)
{
    char name[sizeof panels->names[0]];
    name_panel(figure, at, name, sizeof name);
    return add_panel(figure, name, data, panels, err);
}

/* ---- data of each shape ---- */

typedef enum gnn_status data_fn(const struct gnn_paper_figure *figure, uint32_t *facets, FILE *data,
                                struct panels *panels, struct gnn_err *err);

/* A line for each value of x. */
static enum gnn_status put_over_x(const struct gnn_paper_figure *figure, uint32_t *at, FILE *data,
                                  struct panels *panels, struct gnn_err *err)
{
    GNN_TRY(add_panel_at(figure, at, data, panels, err));
    for (at[0] = 0; at[0] < figure->axes[0].count; at[0]++) {
        const char *const x = figure->axes[0].values[at[0]];
        uint32_t words = 0;
        (void)fputs(x[0] != '\0' ? x : " ", data);
        for (uint32_t s = 0; s < figure->series_count; s++)
            if (is_shown(figure, s))
                words += put_point(figure, 0, s, at, data, panels) ? 1 : 0;
        panels->words = gnn_max_u32(panels->words, words);
        (void)fputs("\t.\n", data); /* blanks at a line's end are no field to gnuplot */
    }
    at[0] = 0;
    return GNN_OK;
}

/* The name of a metric on the x axis: "4K" of "reads.4K". */
static const char *class_of(const char *metric)
{
    const char *const dot = strrchr(metric, '.');
    return dot != NULL ? dot + 1 : metric;
}

/* A line for each metric. */
static enum gnn_status put_classes(const struct gnn_paper_figure *figure, uint32_t *at, FILE *data,
                                   struct panels *panels, struct gnn_err *err)
{
    GNN_TRY(add_panel_at(figure, at, data, panels, err));
    for (uint32_t m = 0; m < figure->metric_count; m++) {
        (void)fputs(class_of(figure->metrics[m]), data);
        for (uint32_t s = 0; s < figure->series_count; s++)
            if (is_shown(figure, s))
                (void)put_point(figure, m, s, at, data, panels);
        (void)fputs("\t.\n", data);
    }
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
static enum gnn_status put_quantiles(const struct gnn_paper_figure *figure, uint32_t *at, FILE *data,
                                     struct panels *panels, struct gnn_err *err)
{
    GNN_TRY(add_panel_at(figure, at, data, panels, err));
    for (uint32_t m = 0; m < figure->metric_count; m++) {
        const char *const metric = figure->metrics[m];
        const double share = share_of(figure, metric), unit = gnn_metric_unit(metric)->drawn;
        if (share == 0)
            continue;
        (void)fprintf(data, "%.9g", share);
        for (uint32_t s = 0; s < figure->series_count; s++) {
            const struct gnn_figure_value value = gnn_figure_value_at(figure, metric, s, at);
            if (!is_shown(figure, s))
                continue;
            put_number(value.state == GNN_VALUE_KNOWN ? unit * value.median : (double)NAN, data);
        }
        (void)fputc('\n', data);
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
static enum gnn_status put_course(const struct gnn_paper_figure *figure, uint32_t *at, FILE *data,
                                  struct panels *panels, struct gnn_err *err)
{
    for (uint32_t s = 0; s < figure->series_count; s++)
        for (at[0] = 0; at[0] < figure->axes[0].count; at[0]++) {
            char name[sizeof panels->names[0] + GNN_NAME_MAX + 2], facets[sizeof panels->names[0]];
            const struct gnn_run_record *const run = run_of(gnn_figure_find(figure, s, at));
            if (run == NULL || run->series_count == 0)
                continue;
            name_panel(figure, at, facets, sizeof facets);
            (void)snprintf(name, sizeof name, "%s%s%s", figure->series[s].name, facets[0] != '\0' ? ", " : "", facets);
            GNN_TRY(add_panel(figure, name, data, panels, err));
            for (uint32_t i = 0; i < run->series_count; i++) {
                const struct gnn_series_point *const point = &run->series[i];
                (void)fprintf(data, "%.9g", (double)point->time_ns / 1e9);
                put_number(point->cpu_pct, data);
                put_number(point->iowait_pct, data);
                put_number(point->gpu_busy_pct, data);
                (void)fputc('\n', data);
            }
        }
    at[0] = 0;
    return GNN_OK;
}

/* A block a series: a line an epoch, when it ended in seconds and the accuracy then. */
static enum gnn_status put_accuracy(const struct gnn_paper_figure *figure, uint32_t *at, FILE *data,
                                    struct panels *panels, struct gnn_err *err)
{
    bool first = true;
    GNN_TRY(add_panel_at(figure, at, data, panels, err));
    for (uint32_t s = 0; s < figure->series_count; s++) {
        struct gnn_figure_progress progress;
        if (!is_shown(figure, s))
            continue;
        (void)fputs(first ? "" : "\n\n", data);
        first = false;
        (void)fputs("NaN\tNaN\n", data); /* so that there is a block even without an epoch */
        (void)gnn_figure_progress_begin(&progress, figure, s, at);
        while (gnn_figure_progress_next(&progress)) {
            (void)fprintf(data, "%.9g\t%.9g\n", progress.seconds, progress.accuracy_pct);
            widen(&panels->range, progress.accuracy_pct);
        }
    }
    return GNN_OK;
}

static const struct {
    const char *chart, *script;
    data_fn *put;
} shapes[] = {
    {"bars", bars_gp, put_over_x},           {"lines", lines_gp, put_over_x}, {"heat", heat_gp, put_over_x},
    {"classes", bars_gp, put_classes},       {"cdf", cdf_gp, put_quantiles},  {"time", time_gp, put_course},
    {"accuracy", accuracy_gp, put_accuracy},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static int shape_of(const struct gnn_paper_figure *figure)
{
    for (int i = 0; i < SHAPES; i++)
        if (strcmp(shapes[i].chart, figure->about.chart) == 0)
            return i;
    return -1; /* a table */
}

static enum gnn_status put_data(const struct gnn_paper_figure *figure, int shape, FILE *data, struct panels *panels,
                                struct gnn_err *err)
{
    uint32_t at[GNN_AXES_MAX] = {0};
    do
        if (has_panel(figure, at))
            GNN_TRY(shapes[shape].put(figure, at, data, panels, err));
    while (gnn_axes_next(figure, 1, at));
    return GNN_OK;
}

/* How many places the x axis has: classes, or values of x. */
static uint32_t tic_count(const struct gnn_paper_figure *figure, int shape)
{
    return shapes[shape].put == put_classes ? figure->metric_count : figure->axes[0].count;
}

static const char *tic_name(const struct gnn_paper_figure *figure, int shape, uint32_t i, char text[GNN_AXIS_LABEL])
{
    return shapes[shape].put == put_classes ? class_of(figure->metrics[i]) : gnn_axis_label(figure, 0, i, text);
}

/* The names of the places of x, turned where they would run into each other. */
static void put_tics(const struct gnn_paper_figure *figure, int shape, FILE *script)
{
    char text[GNN_AXIS_LABEL];
    size_t characters = 0;
    const uint32_t count = tic_count(figure, shape), step = count / TICS_MAX + 1; /* every so many have a name */
    for (uint32_t i = 0; i < count; i += step)
        characters += strlen(tic_name(figure, shape, i, text));
    const bool turned = characters > TIC_CHARACTERS || shapes[shape].put == put_classes;
    (void)fprintf(script, "turned = %d\nset xtics nomirror scale 0 %s (", turned ? 1 : 0,
                  turned ? "rotate by 25 right" : "norotate");
    for (uint32_t i = 0; i < count; i += step) {
        (void)fputs(i > 0 ? ", " : "", script);
        gnn_gnuplot_string(script, tic_name(figure, shape, i, text));
        (void)fprintf(script, " %u", i);
    }
    (void)fputs(")\n", script);
}

/* Panels in a row: one for each value of the last facet, so that those of a column agree in it; 0: the script decides,
 * as not every combination has a panel or one facet alone varies. */
static uint32_t panel_columns(const struct gnn_paper_figure *figure, const struct panels *panels)
{
    uint32_t varying = 0, last = 0, all = 1;
    for (uint32_t a = 1; a < figure->axis_count; a++) {
        if (figure->axes[a].count == 1)
            continue;
        varying++;
        last = figure->axes[a].count;
        all *= last;
    }
    return varying > 1 && all == panels->count && last <= COLUMNS_MAX ? last : 0;
}

/* Panels in a row, as plots/figure_head.gp lays them out. */
static uint32_t columns_of(const struct gnn_paper_figure *figure, const struct panels *panels)
{
    const uint32_t columns = panel_columns(figure, panels);
    return columns > 0 ? columns : panels->count < 4 ? panels->count : (uint32_t)ceil(sqrt(panels->count));
}

/* Breaks the caption before the picture's edge. Returns how many lines it has. */
static uint32_t wrap(const struct gnn_paper_figure *figure, const struct panels *panels, char *text)
{
    const uint32_t across = columns_of(figure, panels);
    return gnn_text_wrap(text, ((across == 1 ? PIXELS_ALONE : across * PIXELS_EACH) - 20) / PIXELS_LETTER);
}

/* Returns the place in the registry of the system that all runs of a series are of; GNN_STYLE_NONE: there is none. */
static uint32_t place_of(const struct gnn_paper_figure *figure, uint32_t series)
{
    const char *system = NULL;
    for (uint32_t i = 0; i < figure->job->count; i++) {
        const char *const other = figure->job->cells[i].config.system;
        if (figure->cells[i].series == series && system != NULL && strcmp(system, other) != 0)
            return GNN_STYLE_NONE;
        system = figure->cells[i].series == series ? other : system;
    }
    return system != NULL ? gnn_system_place(system) : GNN_STYLE_NONE;
}

static void put_series(const struct gnn_paper_figure *figure, FILE *script)
{
    uint32_t places[GNN_FIGURE_SERIES_MAX], shown = 0;
    struct gnn_style styles[GNN_FIGURE_SERIES_MAX];
    char name[32];
    for (uint32_t s = 0; s < figure->series_count; s++)
        if (is_shown(figure, s))
            places[shown++] = place_of(figure, s);
    (void)fprintf(script, "series = %u\narray names[%u]\n", shown, shown);
    for (uint32_t s = 0, i = 0; s < figure->series_count; s++)
        if (is_shown(figure, s)) {
            (void)snprintf(name, sizeof name, "names[%u]", ++i);
            gnn_gnuplot_set(script, name, figure->series[s].name);
        }
    gnn_styles_choose(places, shown, styles);
    gnn_styles_write(styles, shown, script);
}

static void put_panels(const struct gnn_paper_figure *figure, int shape, const struct panels *panels, FILE *script)
{
    char name[32];
    (void)fprintf(script, "panels = %u\ncolumns = %u\nrows = %u\narray panel_names[%u]\narray tops[%u]\n",
                  panels->count, panel_columns(figure, panels), tic_count(figure, shape), panels->count, panels->count);
    for (uint32_t p = 0; p < panels->count; p++) {
        (void)snprintf(name, sizeof name, "panel_names[%u]", p + 1);
        gnn_gnuplot_set(script, name, panels->names[p]);
        const bool own = strcmp(figure->about.own_axis, "yes") == 0 && panels->tops[p] > 0;
        (void)fprintf(script, "tops[%u] = %s%.9g\n", p + 1, own ? "" : "top * ",
                      own ? headroom * panels->tops[p] : 1.0);
    }
}

static void put_script(const struct gnn_paper_figure *figure, int shape, const struct panels *panels, FILE *script)
{
    char text[CAPTION_BYTES], data[GNN_NAME_MAX + 8];
    const bool logarithmic = strcmp(figure->about.log, "yes") == 0;
    const double most = panels->range.most > 0 ? panels->range.most : 1;
    const double least = panels->range.least > 0 ? panels->range.least : most / 10;
    (void)fprintf(script, "# Edit and run again: gnuplot %s.gp\n", figure->file);
    (void)snprintf(data, sizeof data, "%s.dat", figure->file);
    gnn_gnuplot_set(script, "data", data);
    gnn_gnuplot_set(script, "base", figure->file);
    (void)snprintf(text, sizeof text, "%s%s%s", figure->own ? "" : figure->id, figure->own ? "" : ": ",
                   figure->about.title);
    gnn_gnuplot_set(script, "heading", text);
    gnn_figure_caption(figure, text, sizeof text);
    const uint32_t lines = wrap(figure, panels, text);
    gnn_gnuplot_set(script, "caption", text);
    gnn_gnuplot_set(script, "xlabel", figure->about.x_label);
    gnn_gnuplot_set(script, "ylabel", figure->about.y_label);
    const uint32_t divisor = gnn_figure_published_divisor(figure, 0);
    (void)snprintf(text, sizeof text, divisor > 1 ? "published / %u" : "published", divisor);
    gnn_gnuplot_set(script, "published_name", text);
    (void)fprintf(script, "logarithmic = %d\nbottom = %.9g\ntop = %.9g\npublished = %d\ndrawn = %d\n",
                  logarithmic ? 1 : 0, logarithmic ? least / 1.5 : 0, logarithmic ? most * 1.5 : most * headroom,
                  panels->range.published ? 1 : 0, panels->range.most > 0 ? 1 : 0);
    const bool strip = strcmp(figure->about.chart, "lines") == 0;
    (void)fprintf(script, "caption_lines = %u\nwords = %u\nword_length = %zu\n", lines, strip ? panels->words : 0,
                  panels->word_length);
    put_tics(figure, shape, script);
    put_panels(figure, shape, panels, script);
    put_series(figure, script);
    (void)fputs(head_gp, script);
    (void)fputs(shapes[shape].script, script);
}

static enum gnn_status draw(const struct gnn_paper_figure *figure, int shape, const char *dir, struct panels *panels,
                            struct gnn_err *err)
{
    FILE *file;
    GNN_TRY(gnn_make_dirs(dir, err));
    GNN_TRY(gnn_out_file_open(dir, figure->file, "dat", &file, err));
    enum gnn_status status = put_data(figure, shape, file, panels, err);
    const enum gnn_status closed = gnn_out_file_close(file, dir, figure->file, "dat", err);
    GNN_NEXT(status, closed);
    GNN_NEXT(status, gnn_out_file_open(dir, figure->file, "gp", &file, err));
    GNN_TRY(status);
    if (panels->count > 0)
        put_script(figure, shape, panels, file);
    GNN_TRY(gnn_out_file_close(file, dir, figure->file, "gp", err));
    return panels->count > 0 ? gnn_gnuplot_run(dir, figure->file, err) : GNN_OK;
}

enum gnn_status gnn_figure_draw(const struct gnn_paper_figure *figure, const char *dir, struct gnn_err *err)
{
    struct panels *panels;
    const int shape = shape_of(figure);
    if (shape < 0)
        return GNN_OK;
    assert(figure->series_count <= GNN_STYLES); /* checked before the first run */
    GNN_NEW(panels, 1, err, "the panels of figure %s", figure->id);
    const enum gnn_status status = draw(figure, shape, dir, panels, err);
    free(panels);
    return status;
}

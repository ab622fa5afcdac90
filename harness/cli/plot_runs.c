/* SPDX-License-Identifier: MIT */
#include "harness/cli/plot_runs.h"

#include "harness/base/near_miss.h"
#include "harness/base/plain_text.h"
#include "harness/base/units.h"
#include "harness/base/words.h"
#include "harness/figure/metric.h"
#include "harness/figure/order.h"
#include "harness/figure/values.h"
#include "harness/record/series.h"
#include "harness/record/styles.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* An axis over an option, in the order of its values' ranks. */
struct key {
    struct gnn_axis axis;
    const struct gnn_option *option; /* NULL: one of gnn_run_facts */
    double ranks[GNN_AXIS_VALUES_MAX];
};

enum { PARTS_MAX = 4, SERIES = GNN_AXES_MAX, KEYS = GNN_AXES_MAX + 1 };
_Static_assert((int)GNN_AXIS_VALUE_BYTES <= (int)GNN_NAME_MAX, "an axis's value is a series' name");

struct making {
    const struct gnn_runs_request *request;
    struct gnn_run_record *runs;
    uint32_t count;
    struct key *keys;            /* (KEYS) x, facets, and at SERIES the names of the series */
    struct key parts[PARTS_MAX]; /* options that a series' name consists of */
    uint32_t axis_count, part_count;
    uint32_t *cells; /* (count) configuration of each run */
    struct gnn_paper_figure *figure;
};

/* ---- the request ---- */

/* Adds the options of a list. */
static enum gnn_status add_keys(const char *list, struct key *keys, uint32_t *count, uint32_t max, struct gnn_err *err)
{
    char name[GNN_FIGURE_LINE];
    while (gnn_next_word(&list, name, sizeof name)) {
        if (*count == max || strlen(name) >= GNN_NAME_MAX)
            return gnn_fail(err, GNN_EUSAGE, "%s: a picture has at most %d facets and %d options in --series", name,
                            GNN_AXES_MAX - 1, PARTS_MAX);
        keys[*count].option = gnn_grid_option(name);
        (void)snprintf(keys[(*count)++].axis.key, GNN_NAME_MAX, "%s", name);
    }
    return GNN_OK;
}

static enum gnn_status add_metric(struct gnn_paper_figure *figure, const char *name, struct gnn_err *err)
{
    struct gnn_near_miss near;
    gnn_near_miss_start(&near, name);
    for (uint32_t i = 0; gnn_metric_name(i) != NULL; i++)
        gnn_near_miss_offer(&near, gnn_metric_name(i));
    if (!gnn_metric_known(name) || gnn_metric_of_target(name))
        return gnn_fail(err, GNN_EUSAGE, "--y %s: runs have no such metric%s%s", name, gnn_near_miss_text(&near),
                        near.count > 0 ? "" : "; epoch_s, read_gib and hit_pct are some");
    if (figure->metric_count == GNN_FIGURE_METRICS_MAX || strlen(name) >= GNN_NAME_MAX)
        return gnn_fail(err, GNN_EUSAGE, "--y %s: more than %d metrics", name, GNN_FIGURE_METRICS_MAX);
    (void)snprintf(figure->metrics[figure->metric_count++], GNN_NAME_MAX, "%s", name);
    return GNN_OK;
}

static enum gnn_status read_request(struct making *m, struct gnn_err *err)
{
    char name[GNN_FIGURE_LINE];
    GNN_TRY(add_keys(m->request->x, m->keys, &m->axis_count, 1, err));
    GNN_TRY(add_keys(m->request->facets, m->keys, &m->axis_count, GNN_AXES_MAX, err));
    GNN_TRY(add_keys(m->request->series, m->parts, &m->part_count, PARTS_MAX, err));
    for (const char *rest = m->request->y; gnn_next_word(&rest, name, sizeof name);)
        GNN_TRY(add_metric(m->figure, name, err));
    if (m->part_count > 0 && m->figure->metric_count > 0)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE, "--series and --y must not be empty; --series system --y epoch_s is an example");
}

/* ---- values ---- */

/* Whether the values are names, which have no order. */
static bool has_names(const struct gnn_option *option)
{
    return option == NULL || option->type == GNN_OPT_TEXT || option->type == GNN_OPT_CHOICE ||
           option->type == GNN_OPT_BOOL || option->type == GNN_OPT_U32_LIST;
}

/* Writes the value of a run's option, and where it belongs among others; names stay in the order in which they come.
 * Returns false if the run has no such option, because it is another system's. */
static bool put_value(const struct gnn_run_record *run, const struct key *key, char text[GNN_AXIS_VALUE_BYTES],
                      double *rank)
{
    char number[GNN_SHORT_NUMBER_BYTES], dim[32];
    const char *const name = key->axis.key, *value = gnn_kv_get(&run->config, name);
    uint64_t bytes;
    (void)snprintf(dim, sizeof dim, "%" PRIu64, run->dim);
    value = strcmp(name, "system") == 0                           ? run->system
            : strcmp(name, "dataset") == 0                        ? run->dataset /* also of a directory */
            : strcmp(name, "dim") == 0 && run->dim != GNN_UNKNOWN ? dim
            : value != NULL                                       ? value
                                                                  : gnn_kv_get(&run->environment, name);
    if (value == NULL)
        return false;
    (void)snprintf(text, GNN_AXIS_VALUE_BYTES, "%.*s", GNN_AXIS_VALUE_BYTES - 1,
                   value[0] != '\0' ? gnn_text_short_number(value, number) : "none");
    gnn_text_make_plain(text);
    *rank = strcmp(name, "system") == 0    ? gnn_system_place(value)
            : has_names(key->option)       ? 0
            : strncmp(value, "1/", 2) == 0 ? -strtod(value + 2, NULL)
                                           : strtod(value, NULL);
    if (key->option == NULL || key->option->type != GNN_OPT_BYTES || gnn_parse_bytes(value, &bytes, NULL) != GNN_OK)
        return true;
    const bool unlimited = bytes == 0 && strcmp(name, "memory") == 0;
    *rank = unlimited ? (double)INFINITY : (double)bytes;
    if (unlimited)
        (void)snprintf(text, GNN_AXIS_VALUE_BYTES, "none");
    else if (strlen(text) > 5)
        (void)gnn_format_bytes(bytes, text, GNN_AXIS_VALUE_BYTES);
    return true;
}

/* Writes the name of a run's series, "gnndrive, dim=64": names alone, other values with their option. A parameter that
 * the run's system lacks is left out. The first option orders the series. */
static void name_series(const struct making *m, const struct gnn_run_record *run, char name[GNN_AXIS_VALUE_BYTES],
                        double *rank)
{
    char value[GNN_AXIS_VALUE_BYTES];
    size_t used = 0;
    *rank = -1;
    (void)snprintf(name, GNN_AXIS_VALUE_BYTES, "others");
    for (uint32_t p = 0; p < m->part_count && used < GNN_AXIS_VALUE_BYTES; p++) {
        const struct gnn_option *const option = m->parts[p].option;
        const char *const key = m->parts[p].axis.key, *const dot = option != NULL ? strchr(key, '.') : NULL;
        double own;
        if (!put_value(run, &m->parts[p], value, &own))
            continue;
        const bool alone = option != NULL && dot == NULL && strcmp(value, "none") != 0 &&
                           (option->type == GNN_OPT_TEXT || option->type == GNN_OPT_CHOICE);
        used += (size_t)snprintf(name + used, GNN_AXIS_VALUE_BYTES - used, "%s%s%s%s", used > 0 ? ", " : "",
                                 alone         ? ""
                                 : dot != NULL ? dot + 1
                                               : key,
                                 alone ? "" : "=", value);
        *rank = p == 0 ? own : *rank;
    }
}

/* Writes a run's value on an axis, or the name of its series. */
static bool value_of(const struct making *m, uint32_t run, uint32_t key, char text[GNN_AXIS_VALUE_BYTES], double *rank)
{
    if (key != SERIES)
        return put_value(&m->runs[run], &m->keys[key], text, rank);
    name_series(m, &m->runs[run], text, rank);
    return true;
}

static enum gnn_status add_value(struct key *key, const char *value, double rank, struct gnn_err *err)
{
    struct gnn_axis *const axis = &key->axis;
    if (gnn_axis_find(axis, value) < axis->count)
        return GNN_OK;
    if (axis->count == GNN_AXIS_VALUES_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%s has more than %d values. Choose runs with --where 'OPTION=A|B'.",
                        axis->key[0] != '\0' ? axis->key : "--series", GNN_AXIS_VALUES_MAX);
    uint32_t at = axis->count++;
    for (; at > 0 && key->ranks[at - 1] > rank; at--) {
        memcpy(axis->values[at], axis->values[at - 1], sizeof axis->values[at]);
        key->ranks[at] = key->ranks[at - 1];
    }
    key->ranks[at] = rank;
    (void)snprintf(axis->values[at], sizeof axis->values[at], "%s", value);
    return GNN_OK;
}

static enum gnn_status find_values(struct making *m, struct gnn_err *err)
{
    char text[GNN_AXIS_VALUE_BYTES];
    double rank;
    for (uint32_t r = 0; r < m->count; r++)
        for (uint32_t k = 0; k < KEYS; k = k + 1 == m->axis_count ? SERIES : k + 1) {
            if (!value_of(m, r, k, text, &rank))
                return gnn_fail(err, GNN_EUSAGE,
                                "Run %" PRId64 " (%s) has no %s. Choose runs that have it, as in --where system=NAME.",
                                m->runs[r].run_id, m->runs[r].system, m->keys[k].axis.key);
            GNN_TRY(add_value(&m->keys[k], text, rank, err));
        }
    if (m->keys[SERIES].axis.count > GNN_STYLES)
        return gnn_fail(err, GNN_EUSAGE,
                        "--series %s makes %u series, but a picture has at most %d. Choose runs with --where "
                        "'OPTION=A|B', or draw an option in panels with --facet.",
                        m->request->series, m->keys[SERIES].axis.count, GNN_STYLES);
    return GNN_OK;
}

/* ---- configurations ---- */

static uint32_t place_on(const struct making *m, uint32_t run, uint32_t key)
{
    char text[GNN_AXIS_VALUE_BYTES];
    const struct gnn_axis *const axis = &m->keys[key].axis;
    double rank;
    (void)value_of(m, run, key, text, &rank);
    const uint32_t at = gnn_axis_find(axis, text);
    assert(at < axis->count);
    return at;
}

/* Finds or adds the configuration of each run. */
static void add_cells(struct making *m)
{
    struct gnn_figure_cell *const cells = m->figure->cells;
    struct gnn_job *const job = m->figure->job;
    for (uint32_t r = 0; r < m->count; r++) {
        struct gnn_figure_cell *const new = &cells[job->count];
        uint32_t c = 0;
        *new = (struct gnn_figure_cell){.series = place_on(m, r, SERIES)};
        for (uint32_t a = 0; a < m->axis_count; a++)
            new->at[a] = place_on(m, r, a);
        while (cells[c].series != new->series || memcmp(cells[c].at, new->at, sizeof new->at) != 0)
            c++;
        if (c == job->count)
            (void)snprintf(job->cells[job->count++].config.system, GNN_TEXT_MAX, "%s", m->runs[r].system);
        cells[c].run_count++;
        m->cells[r] = c;
    }
}

/* ---- the figure ---- */

static enum gnn_status move_runs(struct making *m, struct gnn_err *err)
{
    for (uint32_t c = 0; c < m->figure->job->count; c++) {
        struct gnn_figure_cell *const cell = &m->figure->cells[c];
        const uint32_t count = cell->run_count;
        cell->run_count = 0;
        GNN_NEW(cell->runs, count, err, "%u runs", count);
        for (uint32_t r = 0; r < m->count; r++)
            if (m->cells[r] == c) {
                cell->runs[cell->run_count++] = m->runs[r];
                memset(&m->runs[r], 0, sizeof m->runs[r]);
            }
    }
    return GNN_OK;
}

/* Refuses runs of one place that do not repeat each other: their median would mean nothing. */
static enum gnn_status check_cell(const struct making *m, const struct gnn_figure_cell *cell, struct gnn_err *err)
{
    struct gnn_run_series series;
    uint32_t other = 0;
    enum gnn_status status = GNN_OK;
    GNN_TRY(gnn_run_series_open(cell->runs, cell->run_count, "seed", &series, err));
    while (other < cell->run_count && series.of[other] == 0)
        other++;
    if (series.count > 1)
        status = gnn_fail(
            err, GNN_EUSAGE,
            "Runs %" PRId64 " and %" PRId64 " have one place in the picture (%s, %s=%s), but differ: "
            "\"%.99s\" and \"%.99s\". Choose runs with --where OPTION=VALUE, or add the option to --facet.",
            cell->runs[0].run_id, cell->runs[other].run_id, m->figure->series[cell->series].name, m->request->x,
            m->keys[0].axis.values[cell->at[0]], series.labels[0], series.labels[series.of[other]]);
    else if (cell->run_count > GNN_REPETITIONS_MAX)
        status = gnn_fail(err, GNN_EUSAGE,
                          "Run %" PRId64 " has more than %d repetitions. Choose some with --where "
                          "'seed=A|B'.",
                          cell->runs[0].run_id, GNN_REPETITIONS_MAX);
    gnn_run_series_close(&series);
    return status;
}

static void set_text(char line[GNN_FIGURE_LINE], const char *text, const char *otherwise)
{
    (void)snprintf(line, GNN_FIGURE_LINE, "%s", text[0] != '\0' ? text : otherwise);
}

/* Writes an option as the label of an axis: "feature dimension (floats)". Returns text. */
static const char *option_label(const struct key *key, char text[GNN_FIGURE_LINE])
{
    static const char *const words[][2] = {{"memory", "memory limit"},   {"batch", "mini-batch size"},
                                           {"dim", "feature dimension"}, {"fanout", "fan-out"},
                                           {"hidden", "hidden units"},   {"workers", "worker processes"}};
    const char *const name = key->axis.key, *shown = name, *const unit = key->option != NULL ? key->option->unit : NULL;
    const bool has_unit = unit != NULL && !has_names(key->option) && key->option->type != GNN_OPT_BYTES &&
                          strpbrk(unit, "ABCDEFGHIJKLMNOPQRSTUVWXYZ|") == NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        shown = strcmp(words[i][0], name) == 0 ? words[i][1] : shown;
    (void)snprintf(text, GNN_FIGURE_LINE, has_unit ? "%s (%s)" : "%s", shown, unit);
    for (char *c = text; *c != '\0' && shown == name; c++)
        *c = strchr("-_.", *c) != NULL ? ' ' : *c;
    return text;
}

static void describe(struct making *m)
{
    struct gnn_paper_figure *const figure = m->figure;
    const struct gnn_axis *const names = &m->keys[SERIES].axis;
    char title[GNN_FIGURE_LINE], x[GNN_FIGURE_LINE], y[GNN_METRIC_LABEL];
    const char *const words = gnn_metric_label(figure->metrics[0], y);
    (void)option_label(&m->keys[0], x);
    (void)snprintf(figure->id, sizeof figure->id, "%s", m->request->id);
    (void)snprintf(figure->file, sizeof figure->file, "%s", m->request->id);
    const char *const y_unit = strstr(words, " ("), *const x_unit = strstr(x, " (");
    (void)snprintf(title, sizeof title, "%.*s over %.*s", (int)(y_unit != NULL ? y_unit - words : GNN_METRIC_LABEL),
                   words, (int)(x_unit != NULL ? x_unit - x : GNN_FIGURE_LINE), x);
    title[0] = (char)toupper((unsigned char)title[0]);
    set_text(figure->about.title, m->request->title, title);
    set_text(figure->about.x_label, m->request->x_label, x);
    set_text(figure->about.y_label, m->request->y_label, words);
    set_text(figure->about.chart, m->request->chart, has_names(m->keys[0].option) ? "bars" : "lines");
    set_text(figure->about.log, m->request->logarithmic ? "yes" : "", "");
    figure->scale_divisor = 1;
    figure->own = true;
    figure->axis_count = m->axis_count;
    for (uint32_t a = 0; a < m->axis_count; a++)
        figure->axes[a] = m->keys[a].axis;
    for (figure->series_count = 0; figure->series_count < names->count; figure->series_count++) {
        struct gnn_figure_series *const series = &figure->series[figure->series_count];
        (void)snprintf(series->name, sizeof series->name, "%s", names->values[figure->series_count]);
        series->has_cells = true;
        figure->series_names[figure->series_count] = series->name;
    }
}

static enum gnn_status make(struct making *m, struct gnn_err *err)
{
    struct gnn_paper_figure *const figure = m->figure;
    GNN_NEW(m->keys, KEYS, err, "the axes");
    GNN_NEW(m->cells, m->count, err, "the places of %u runs", m->count);
    GNN_NEW(figure->job, 1, err, "%u configurations", m->count);
    GNN_NEW(figure->job->cells, m->count, err, "%u configurations", m->count);
    GNN_NEW(figure->cells, m->count, err, "%u configurations", m->count);
    GNN_TRY(read_request(m, err));
    GNN_TRY(find_values(m, err));
    add_cells(m);
    describe(m);
    GNN_TRY(gnn_figure_read_order(figure, err));
    GNN_TRY(move_runs(m, err));
    for (uint32_t c = 0; c < figure->job->count; c++)
        GNN_TRY(check_cell(m, &figure->cells[c], err));
    return gnn_run_caption_write(figure, m->request, err);
}

enum gnn_status gnn_figure_of_runs(struct gnn_run_record *runs, uint32_t count, const struct gnn_runs_request *request,
                                   struct gnn_paper_figure **out, struct gnn_err *err)
{
    struct making m = {.request = request, .runs = runs, .count = count, .figure = calloc(1, sizeof *m.figure)};
    assert(count > 0);
    const enum gnn_status status = m.figure != NULL ? make(&m, err) : gnn_fail(err, GNN_ENOMEM, "the figure");
    free(m.cells);
    free(m.keys);
    gnn_run_records_free(runs, count);
    return GNN_OPENED(status, m.figure, out, gnn_figure_close);
}

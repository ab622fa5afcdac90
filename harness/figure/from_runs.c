/* SPDX-License-Identifier: MIT */
#include "harness/figure/from_runs.h"

#include "harness/base/near_miss.h"
#include "harness/figure/metric.h"
#include "harness/figure/order.h"
#include "harness/figure/run_caption.h"
#include "harness/figure/run_values.h"
#include "harness/figure/values.h"
#include "harness/record/series.h"
#include "harness/record/styles.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PARTS_MAX = 4, SERIES = GNN_AXES_MAX, KEYS = GNN_AXES_MAX + 1 };
_Static_assert((int)GNN_AXIS_VALUE_BYTES <= (int)GNN_NAME_MAX, "an axis's value is a series' name");

struct making {
    const struct gnn_runs_request *request;
    struct gnn_run_record *runs;
    uint32_t count;
    struct gnn_kv_list *conditions;      /* (count) what may differ between runs */
    struct gnn_run_key *keys;            /* (KEYS) x, facets, and at SERIES the names of the series */
    struct gnn_run_key parts[PARTS_MAX]; /* options that a series' name consists of */
    uint32_t axis_count, part_count;
    uint32_t *cells; /* (count) configuration of each run */
    struct gnn_paper_figure *figure;
};

/* ---- the request ---- */

typedef enum gnn_status word_fn(struct making *m, const char *word, struct gnn_err *err);

static enum gnn_status each_word(struct making *m, const char *list, word_fn *fn, struct gnn_err *err)
{
    char text[GNN_FIGURE_LINE];
    char *rest = text;
    (void)snprintf(text, sizeof text, "%s", list);
    for (char *word = strsep(&rest, ", "); word != NULL; word = strsep(&rest, ", "))
        if (word[0] != '\0')
            GNN_TRY(fn(m, word, err));
    return GNN_OK;
}

static enum gnn_status add_key(const char *option, const char *name, struct gnn_run_key *keys, uint32_t *count,
                               uint32_t max, struct gnn_err *err)
{
    if (*count == max || strlen(name) >= GNN_NAME_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%s %s: too many options or too long a name", option, name);
    keys[*count].option = gnn_grid_option(name);
    (void)snprintf(keys[*count].axis.key, GNN_NAME_MAX, "%s", name);
    ++*count;
    return GNN_OK;
}

static enum gnn_status add_axis(struct making *m, const char *name, struct gnn_err *err)
{
    return add_key("--facet", name, m->keys, &m->axis_count, GNN_AXES_MAX, err);
}

static enum gnn_status add_part(struct making *m, const char *name, struct gnn_err *err)
{
    return add_key("--series", name, m->parts, &m->part_count, PARTS_MAX, err);
}

static enum gnn_status add_metric(struct making *m, const char *name, struct gnn_err *err)
{
    struct gnn_paper_figure *const figure = m->figure;
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
    GNN_TRY(add_axis(m, m->request->x, err));
    GNN_TRY(each_word(m, m->request->facets, add_axis, err));
    GNN_TRY(each_word(m, m->request->series, add_part, err));
    GNN_TRY(each_word(m, m->request->y, add_metric, err));
    if (m->part_count > 0 && m->figure->metric_count > 0)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE, "--series and --y must not be empty; --series system --y epoch_s is an example");
}

/* ---- series and axes ---- */

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
        const struct gnn_run_key *const part = &m->parts[p];
        const char *const key = part->axis.key, *const dot = part->option != NULL ? strchr(key, '.') : NULL;
        double own;
        if (!gnn_run_value(run, part, value, &own))
            continue;
        *rank = p == 0 ? own : *rank;
        const bool alone = part->option != NULL && dot == NULL && strcmp(value, "none") != 0 &&
                           (part->option->type == GNN_OPT_TEXT || part->option->type == GNN_OPT_CHOICE);
        used += (size_t)snprintf(name + used, GNN_AXIS_VALUE_BYTES - used, "%s%s%s%s", used > 0 ? ", " : "",
                                 alone         ? ""
                                 : dot != NULL ? dot + 1
                                               : key,
                                 alone ? "" : "=", value);
    }
}

/* Writes a run's value on an axis, or the name of its series. */
static enum gnn_status value_of(const struct making *m, uint32_t run, uint32_t key, char text[GNN_AXIS_VALUE_BYTES],
                                double *rank, struct gnn_err *err)
{
    const struct gnn_run_record *const r = &m->runs[run];
    if (key == SERIES)
        name_series(m, r, text, rank);
    else if (!gnn_run_value(r, &m->keys[key], text, rank))
        return gnn_fail(err, GNN_EUSAGE,
                        "Run %" PRId64 " (%s) has no %s. Choose runs that have it, as in --where system=NAME.",
                        r->run_id, r->system, m->keys[key].axis.key);
    return GNN_OK;
}

static enum gnn_status find_values(struct making *m, struct gnn_err *err)
{
    char text[GNN_AXIS_VALUE_BYTES];
    double rank;
    for (uint32_t r = 0; r < m->count; r++)
        for (uint32_t k = 0; k < KEYS; k = k + 1 == m->axis_count ? SERIES : k + 1) {
            GNN_TRY(value_of(m, r, k, text, &rank, err));
            GNN_TRY(gnn_run_key_add(&m->keys[k], text, rank, err));
        }
    if (m->keys[SERIES].axis.count > GNN_STYLES)
        return gnn_fail(err, GNN_EUSAGE,
                        "--series %s makes %u series, but a picture has at most %d. Choose runs with --where "
                        "'OPTION=A|B', or draw an option in panels with --facet.",
                        m->request->series, m->keys[SERIES].axis.count, GNN_STYLES);
    return GNN_OK;
}

static uint32_t place_on(const struct making *m, uint32_t run, uint32_t key)
{
    char text[GNN_AXIS_VALUE_BYTES];
    const struct gnn_axis *const axis = &m->keys[key].axis;
    double rank;
    uint32_t at = 0;
    (void)!value_of(m, run, key, text, &rank, NULL);
    while (at + 1 < axis->count && strcmp(axis->values[at], text) != 0)
        at++;
    return at;
}

/* Finds or adds the configuration of each run. */
static void add_cells(struct making *m)
{
    struct gnn_paper_figure *const figure = m->figure;
    struct gnn_job *const job = figure->job;
    for (uint32_t r = 0; r < m->count; r++) {
        struct gnn_figure_cell *const cell = &figure->cells[job->count];
        uint32_t c = 0;
        *cell = (struct gnn_figure_cell){.series = place_on(m, r, SERIES)};
        for (uint32_t a = 0; a < m->axis_count; a++)
            cell->at[a] = place_on(m, r, a);
        while (figure->cells[c].series != cell->series || memcmp(figure->cells[c].at, cell->at, sizeof cell->at) != 0)
            c++;
        if (c == job->count) {
            struct gnn_run_config *const config = &job->cells[job->count++].config;
            (void)snprintf(config->system, sizeof config->system, "%s", m->runs[r].system);
        }
        figure->cells[c].run_count++;
        m->cells[r] = c;
    }
}

/* ---- runs that repeat each other ---- */

/* Lists the conditions of every run, and what else a picture can choose it by. */
static enum gnn_status list_conditions(struct making *m, struct gnn_err *err)
{
    for (uint32_t r = 0; r < m->count; r++) {
        const struct gnn_run_record *const run = &m->runs[r];
        struct gnn_kv_list *const list = &m->conditions[r];
        const bool here = strcmp(run->world, "measured") == 0;
        GNN_TRY(gnn_run_conditions(run, list, err));
        GNN_TRY(gnn_kv_set(list, "system", run->system, err));
        GNN_TRY(gnn_kv_set(list, "sample-only", run->variant[0] != '\0' ? "yes" : "no", err));
        GNN_TRY(gnn_kv_set(list, "host.name", here ? gnn_kv_get(&run->environment, "host.name") : NULL, err));
    }
    return GNN_OK;
}

/* Returns the first condition in which two runs differ; NULL: none. How a limit was enforced counts only for times. */
static const struct gnn_kv *find_difference(const struct making *m, uint32_t a, uint32_t b)
{
    const bool timed = m->runs[a].status == GNN_RUN_OK && m->runs[b].status == GNN_RUN_OK;
    for (uint32_t i = 0; i < m->conditions[a].count; i++) {
        const struct gnn_kv *const pair = &m->conditions[a].items[i];
        const char *const other = gnn_kv_get(&m->conditions[b], pair->key);
        if (pair->value != NULL && other != NULL && strcmp(pair->value, other) != 0 &&
            (timed || strcmp(pair->key, "cap") != 0))
            return pair;
    }
    return NULL;
}

static enum gnn_status refuse_pair(const struct making *m, uint32_t a, uint32_t b, const struct gnn_kv *pair,
                                   struct gnn_err *err)
{
    const struct gnn_figure_cell *const cell = &m->figure->cells[m->cells[a]];
    const char *const facets = m->request->facets;
    char remedy[4 * GNN_NAME_MAX] = "Keep such runs in databases of their own.";
    bool chosen = gnn_grid_option(pair->key) != NULL;
    for (const char *const *fact = gnn_run_facts; *fact != NULL; fact++)
        chosen = chosen || strcmp(*fact, pair->key) == 0;
    if (chosen)
        (void)snprintf(remedy, sizeof remedy, "Choose runs with --where %s=%.60s, or add --facet %s%s%s.", pair->key,
                       pair->value, facets, facets[0] != '\0' ? "," : "", pair->key);
    return gnn_fail(err, GNN_EUSAGE,
                    "Runs %" PRId64 " and %" PRId64 " have one place in the picture (%s, %s=%s), but differ in %s: "
                    "%.60s and %.60s. %s",
                    m->runs[a].run_id, m->runs[b].run_id, m->keys[SERIES].axis.values[cell->series], m->request->x,
                    m->keys[0].axis.values[cell->at[0]], pair->key, pair->value,
                    gnn_kv_get(&m->conditions[b], pair->key), remedy);
}

static enum gnn_status check_repetitions(const struct making *m, struct gnn_err *err)
{
    for (uint32_t b = 0; b < m->count; b++) {
        if (m->figure->cells[m->cells[b]].run_count > GNN_REPETITIONS_MAX)
            return gnn_fail(err, GNN_EUSAGE,
                            "Run %" PRId64 " has more than %d repetitions. Choose some with --where "
                            "'seed=A|B'.",
                            m->runs[b].run_id, GNN_REPETITIONS_MAX);
        for (uint32_t a = 0; a < b; a++) {
            const struct gnn_kv *const pair = m->cells[a] == m->cells[b] ? find_difference(m, a, b) : NULL;
            if (pair != NULL)
                return refuse_pair(m, a, b, pair, err);
        }
    }
    return GNN_OK;
}

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

/* ---- the figure ---- */

static void set_text(char line[GNN_FIGURE_LINE], const char *text, const char *otherwise)
{
    (void)snprintf(line, GNN_FIGURE_LINE, "%s", text[0] != '\0' ? text : otherwise);
}

static void describe(struct making *m)
{
    struct gnn_paper_figure *const figure = m->figure;
    const struct gnn_axis *const names = &m->keys[SERIES].axis;
    char title[GNN_FIGURE_LINE];
    (void)snprintf(figure->id, sizeof figure->id, "%s", m->request->id);
    (void)snprintf(figure->file, sizeof figure->file, "%s", m->request->id);
    (void)snprintf(title, sizeof title, "%s over %s", figure->metrics[0], m->request->x);
    set_text(figure->about.title, m->request->title, title);
    set_text(figure->about.x_label, m->request->x_label, m->request->x);
    set_text(figure->about.y_label, m->request->y_label, figure->metrics[0]);
    set_text(figure->about.chart, m->request->chart, gnn_run_key_has_names(&m->keys[0]) ? "bars" : "lines");
    set_text(figure->about.log, m->request->logarithmic ? "yes" : "", "");
    figure->scale_divisor = 1;
    figure->own = true;
    figure->axis_count = m->axis_count;
    for (uint32_t a = 0; a < m->axis_count; a++)
        figure->axes[a] = m->keys[a].axis;
    figure->series_count = names->count;
    for (uint32_t s = 0; s < names->count; s++) {
        (void)snprintf(figure->series[s].name, GNN_NAME_MAX, "%s", names->values[s]);
        figure->series[s].has_cells = true;
        figure->series_names[s] = figure->series[s].name;
    }
}

static enum gnn_status make(struct making *m, struct gnn_err *err)
{
    struct gnn_paper_figure *const figure = m->figure;
    GNN_NEW(m->keys, KEYS, err, "the axes");
    GNN_NEW(m->cells, m->count, err, "the places of %u runs", m->count);
    GNN_NEW(m->conditions, m->count, err, "the conditions of %u runs", m->count);
    GNN_NEW(figure->job, 1, err, "%u configurations", m->count);
    GNN_NEW(figure->job->cells, m->count, err, "%u configurations", m->count);
    GNN_NEW(figure->cells, m->count, err, "%u configurations", m->count);
    GNN_TRY(read_request(m, err));
    GNN_TRY(find_values(m, err));
    add_cells(m);
    GNN_TRY(list_conditions(m, err));
    GNN_TRY(check_repetitions(m, err));
    describe(m);
    GNN_TRY(gnn_figure_read_order(figure, err));
    gnn_run_caption_write(figure, m->runs, m->conditions, m->count, m->request, figure->caption);
    return move_runs(m, err);
}

enum gnn_status gnn_figure_of_runs(struct gnn_run_record *runs, uint32_t count, const struct gnn_runs_request *request,
                                   struct gnn_paper_figure **out, struct gnn_err *err)
{
    struct making m = {.request = request, .runs = runs, .count = count, .figure = calloc(1, sizeof *m.figure)};
    assert(count > 0);
    const enum gnn_status status = m.figure != NULL ? make(&m, err) : gnn_fail(err, GNN_ENOMEM, "the figure");
    for (uint32_t r = 0; m.conditions != NULL && r < count; r++)
        gnn_kv_clear(&m.conditions[r]);
    free(m.conditions);
    free(m.cells);
    free(m.keys);
    gnn_run_records_free(runs, count);
    return GNN_OPENED(status, m.figure, out, gnn_figure_close);
}

/* SPDX-License-Identifier: MIT */
#include "harness/figure/values.h"

#include "harness/figure/expression.h"
#include "harness/figure/fio_cells.h"
#include "harness/figure/metric.h"
#include "harness/figure/order.h"
#include "harness/record/summary.h"
#include "harness/run/sweep/lookup.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 256 };

/* ---- loading ---- */

static enum gnn_status load_cell(struct gnn_paper_figure *figure, uint32_t number, bool any_build, uint32_t most,
                                 struct gnn_err *err)
{
    const struct gnn_job_cell *const job_cell = &figure->job->cells[number];
    struct gnn_figure_cell *const cell = &figure->cells[number];
    struct gnn_search_state state = {.open = false};
    const uint32_t max = gnn_min_u32(most, GNN_REPETITIONS_MAX);
    int64_t ids[GNN_REPETITIONS_MAX];
    uint32_t count;
    struct gnn_db *db;
    if (!figure->by_fio)
        GNN_TRY(gnn_search_look_up(&job_cell->search, &job_cell->config, any_build, &state, err));
    GNN_TRY(figure->by_fio ? gnn_fio_cell_find(figure, number, max, ids, &count, err)
                           : gnn_sweep_find(&state.config, any_build, max, ids, &count, err));
    gnn_run_records_free(cell->runs, cell->run_count);
    cell->runs = NULL;
    cell->run_count = 0;
    if (count == 0)
        return GNN_OK;
    GNN_TRY(gnn_db_open(job_cell->config.db, GNN_DB_READ, &db, err));
    const enum gnn_status status = gnn_db_load_all(db, ids, count, &cell->runs, err);
    gnn_db_close(db);
    cell->run_count = status == GNN_OK ? count : 0;
    return status;
}

enum gnn_status gnn_figure_load(struct gnn_paper_figure *figure, bool any_build, uint32_t most, struct gnn_err *err)
{
    assert(most > 0);
    for (uint32_t i = 0; i < figure->job->count; i++)
        if (figure->job->cells[i].refusal[0] == '\0')
            GNN_TRY(load_cell(figure, i, any_build, most, err));
    return GNN_OK;
}

void gnn_figure_count(const struct gnn_paper_figure *figure, uint32_t *cells, uint32_t *recorded)
{
    *cells = *recorded = 0;
    for (uint32_t i = 0; figure->job != NULL && i < figure->job->count; i++) {
        if (figure->job->cells[i].refusal[0] != '\0')
            continue;
        ++*cells;
        *recorded += figure->cells[i].run_count > 0 ? 1 : 0;
    }
}

/* ---- values ---- */

static const struct gnn_figure_cell *find_cell(const struct gnn_paper_figure *figure, bool trains, uint32_t series,
                                               const uint32_t *at)
{
    for (uint32_t i = 0; i < figure->job->count; i++)
        if (figure->cells[i].series == series && figure->cells[i].trains == trains &&
            memcmp(figure->cells[i].at, at, figure->axis_count * sizeof *at) == 0)
            return &figure->cells[i];
    return NULL;
}

const struct gnn_figure_cell *gnn_figure_find(const struct gnn_paper_figure *figure, uint32_t series,
                                              const uint32_t *at)
{
    const struct gnn_figure_cell *const cell = find_cell(figure, false, series, at);
    return cell != NULL ? cell : find_cell(figure, true, series, at);
}

/* The word of a run without a number; NULL: it has one. */
static const char *word_of(const struct gnn_run_record *run, enum gnn_value_state *state)
{
    static const char *const words[GNN_RUN_STATUS_COUNT] = {
        [GNN_RUN_OOM] = "OOM", [GNN_RUN_GPU_OOM] = "GPU OOM", [GNN_RUN_OOT] = "OOT"};
    const char *const word = words[run->status];
    *state = word != NULL ? GNN_VALUE_WORD : GNN_VALUE_MISSING;
    if (run->status != GNN_RUN_OK)
        return word != NULL ? word : "failed";
    if (gnn_run_withholds_times(run))
        return "invalid";
    if (gnn_run_is_unsettled(run))
        return GNN_NOT_SETTLED;
    *state = GNN_VALUE_KNOWN;
    return NULL;
}

/* Values of one metric, and what stands in their place. */
struct pool {
    double values[VALUES_MAX];
    uint32_t count, lost;
    enum gnn_value_state state; /* of the first configuration without a value */
    const char *word;           /* of it; "-": a series that it is compared with has none */
};

/* Adds the values of a configuration's runs, or else the word in place of them. Of runs that ended without a number,
 * epochs before the end may have values. Runs that ended ok do not count then. */
static void add_cell(const struct gnn_paper_figure *figure, const char *metric, const struct gnn_figure_cell *cell,
                     const struct gnn_value_source *source, struct pool *pool)
{
    const bool refused = figure->job->cells[cell - figure->cells].refusal[0] != '\0';
    const uint32_t before = pool->count;
    enum gnn_value_state state = refused ? GNN_VALUE_WORD : GNN_VALUE_MISSING, found = GNN_VALUE_MISSING;
    const char *word = refused ? "N/A" : cell->run_count == 0 ? "not run" : NULL;
    if (word == NULL && !gnn_metric_of_end(metric))
        word = word_of(&cell->runs[cell->run_count - 1], &state);
    for (uint32_t r = 0; r < cell->run_count && pool->count < VALUES_MAX; r++) {
        if (word != NULL && cell->runs[r].status == GNN_RUN_OK)
            continue;
        found = gnn_figure_metric_of(figure, &cell->runs[r], metric, cell->at, source, &pool->values[pool->count]);
        pool->count += found == GNN_VALUE_KNOWN ? 1 : 0;
    }
    if (pool->count > before || pool->lost++ > 0)
        return;
    pool->state = word != NULL ? state : found;
    pool->word = word != NULL ? word : found == GNN_VALUE_MISSING ? "unknown" : "-";
}

static struct gnn_figure_value known_value(double value)
{
    return (struct gnn_figure_value){
        .state = GNN_VALUE_KNOWN, .median = value, .least = value, .most = value, .runs = 1, .word = ""};
}

/* The median of the values, their mean, or how many runs there are. */
static struct gnn_figure_value summarise(const struct gnn_paper_figure *figure, const char *metric, struct pool *pool)
{
    double sum = 0;
    if (pool->count == 0)
        return (struct gnn_figure_value){.state = pool->state, .word = pool->word};
    double median = gnn_median(pool->values, pool->count); /* sorts */
    for (uint32_t i = 0; i < pool->count; i++)
        sum += pool->values[i];
    if (strcmp(metric, GNN_METRIC_RUNS) == 0)
        return known_value(sum);
    if (figure->about.average[0] != '\0' && !gnn_figure_shows_best(&figure->about))
        median = sum / pool->count;
    return (struct gnn_figure_value){.state = GNN_VALUE_KNOWN,
                                     .median = median,
                                     .least = pool->values[0],
                                     .most = pool->values[pool->count - 1],
                                     .runs = pool->count,
                                     .lost = pool->lost,
                                     .word = pool->word};
}

/* Returns whether two configurations differ only in keys of `over`. */
static bool is_alike(const struct gnn_paper_figure *figure, const struct gnn_figure_cell *a,
                     const struct gnn_figure_cell *b)
{
    return a->series == b->series && a->trains == b->trains &&
           memcmp(a->at, b->at, figure->axis_count * sizeof *a->at) == 0;
}

/* Returns the one with the smallest first metric of the figure, or the first one if none has a value. */
static const struct gnn_figure_cell *best_of(const struct gnn_paper_figure *figure, const struct gnn_figure_cell *first,
                                             const struct gnn_value_source *source)
{
    const struct gnn_figure_cell *best = first;
    double least = (double)INFINITY;
    for (const struct gnn_figure_cell *cell = first; cell < figure->cells + figure->job->count; cell++) {
        struct pool pool = {.state = GNN_VALUE_MISSING, .word = ""};
        if (!is_alike(figure, first, cell))
            continue;
        add_cell(figure, figure->metrics[0], cell, source, &pool);
        const struct gnn_figure_value value = summarise(figure, figure->metrics[0], &pool);
        if (value.state != GNN_VALUE_KNOWN || value.median >= least)
            continue;
        least = value.median;
        best = cell;
    }
    return best;
}

/* A metric of a configuration, and of those that differ from it only in keys of `over`; or of the best of them. */
static struct gnn_figure_value value_of(const struct gnn_paper_figure *figure, const char *metric,
                                        const struct gnn_figure_cell *cell)
{
    struct pool pool = {.state = GNN_VALUE_MISSING, .word = ""};
    struct gnn_value_source source;
    if (cell == NULL)
        return (struct gnn_figure_value){.state = GNN_VALUE_NONE, .word = ""};
    gnn_figure_values(figure, &source);
    const bool best = gnn_figure_shows_best(&figure->about), all = !best && figure->about.over[0] != '\0';
    add_cell(figure, metric, best ? best_of(figure, cell, &source) : cell, &source, &pool);
    for (const struct gnn_figure_cell *other = cell + 1; all && other < figure->cells + figure->job->count; other++)
        if (is_alike(figure, cell, other))
            add_cell(figure, metric, other, &source, &pool);
    return summarise(figure, metric, &pool);
}

/* ---- accuracy ---- */

bool gnn_figure_progress_begin(struct gnn_figure_progress *progress, const struct gnn_paper_figure *figure,
                               uint32_t series, const uint32_t *at)
{
    const struct gnn_figure_cell *const cell = find_cell(figure, true, series, at);
    const struct gnn_figure_value epoch = value_of(figure, "epoch_s", gnn_figure_find(figure, series, at));
    *progress = (struct gnn_figure_progress){.epoch_s = epoch.median};
    if (cell == NULL || cell->run_count == 0 || epoch.state != GNN_VALUE_KNOWN)
        return false;
    progress->run = &cell->runs[cell->run_count - 1];
    return progress->run->status == GNN_RUN_OK;
}

bool gnn_figure_progress_next(struct gnn_figure_progress *progress)
{
    if (progress->run == NULL || progress->epochs == progress->run->epoch_count)
        return false;
    progress->accuracy_pct = 100 * progress->run->epochs[progress->epochs].test_accuracy;
    progress->epochs++;
    progress->seconds = progress->epochs * progress->epoch_s;
    return true;
}

/* The first epoch at whose end the accuracy is the figure's target. */
static struct gnn_figure_value until_target(const struct gnn_paper_figure *figure, bool seconds, uint32_t series,
                                            const uint32_t *at)
{
    struct gnn_figure_progress progress;
    const double target_pct = strtod(figure->about.target, NULL);
    const bool known = gnn_figure_progress_begin(&progress, figure, series, at);
    while (known && gnn_figure_progress_next(&progress))
        if (progress.accuracy_pct >= target_pct)
            return known_value(seconds ? progress.seconds : progress.epochs);
    return (struct gnn_figure_value){.state = known ? GNN_VALUE_WORD : GNN_VALUE_MISSING,
                                     .word = known ? "not reached" : "not run"};
}

struct gnn_figure_value gnn_figure_value_at(const struct gnn_paper_figure *figure, const char *metric, uint32_t series,
                                            const uint32_t *at)
{
    const struct gnn_figure_cell *const training = find_cell(figure, true, series, at);
    const bool seconds = strcmp(metric, GNN_METRIC_TARGET_S) == 0;
    if (seconds || strcmp(metric, GNN_METRIC_TARGET_EPOCHS) == 0)
        return until_target(figure, seconds, series, at);
    if (training != NULL && gnn_metric_of_accuracy(metric))
        return value_of(figure, metric, training);
    return value_of(figure, metric, gnn_figure_find(figure, series, at));
}

/* ---- relative ---- */

bool gnn_figure_base(const struct gnn_paper_figure *figure, const uint32_t *at, uint32_t base[GNN_AXES_MAX])
{
    const char *const relative = figure->about.relative;
    memcpy(base, at, figure->axis_count * sizeof *at);
    for (uint32_t a = 0; a < figure->axis_count; a++) {
        const size_t length = strlen(figure->axes[a].key);
        if (strncmp(relative, figure->axes[a].key, length) != 0 || relative[length] != '=')
            continue;
        base[a] = gnn_axis_find(&figure->axes[a], relative + length + 1);
        return base[a] < figure->axes[a].count;
    }
    return false;
}

bool gnn_figure_is_base(const struct gnn_paper_figure *figure, const uint32_t *at)
{
    uint32_t base[GNN_AXES_MAX];
    return gnn_figure_base(figure, at, base) && memcmp(at, base, figure->axis_count * sizeof *at) == 0;
}

double gnn_figure_relative(const struct gnn_paper_figure *figure, const char *metric, uint32_t series,
                           const uint32_t *at)
{
    uint32_t base[GNN_AXES_MAX];
    if (!gnn_figure_base(figure, at, base))
        return (double)NAN;
    const struct gnn_figure_value here = gnn_figure_value_at(figure, metric, series, at);
    const struct gnn_figure_value there = gnn_figure_value_at(figure, metric, series, base);
    const bool known = here.state == GNN_VALUE_KNOWN && there.state == GNN_VALUE_KNOWN;
    return known ? here.median / there.median : (double)NAN;
}

/* ---- published ---- */

bool gnn_figure_prints(const struct gnn_paper_figure *figure, const struct gnn_published_row *row)
{
    const char *const other = figure->about.paper_id, *const also = figure->about.published_also;
    return strcmp(row->figure_id, other[0] != '\0' ? other : figure->id) == 0 ||
           (also[0] != '\0' && strcmp(row->figure_id, also) == 0);
}

/* Whether the row speaks of the series: "SYSTEM/VARIANT". */
static bool is_of_series(const struct gnn_published_row *row, const char *published)
{
    const size_t length = strcspn(published, "/");
    const char *const variant = published[length] == '/' ? published + length + 1 : "";
    return strlen(row->system) == length && strncmp(row->system, published, length) == 0 &&
           strcmp(row->variant, variant) == 0;
}

/* Whether the row speaks of this value of an axis. What its parameter does not name it says of no value, unless the
 * axis has only one. */
static bool is_at(const struct gnn_paper_figure *figure, const struct gnn_published_row *row, uint32_t a,
                  const char *ours)
{
    const struct gnn_axis *const axis = &figure->axes[a];
    char theirs[GNN_AXIS_VALUE_BYTES];
    const char *const key = a == 0 && figure->about.published_x[0] != '\0' ? figure->about.published_x : axis->key;
    if (figure->has_variants && a + 1 == figure->axis_count) /* the paper has one machine */
        return true;
    if (strcmp(axis->key, "dataset") == 0)
        return gnn_published_same_name(row->dataset, ours);
    if (strcmp(axis->key, "model") == 0)
        return gnn_published_same_name(row->model, ours);
    if (!gnn_published_parameter(row, key, theirs, sizeof theirs))
        return axis->count == 1;
    return strcmp(theirs, ours) == 0;
}

uint32_t gnn_figure_published_divisor(const struct gnn_paper_figure *figure, uint32_t metric)
{
    assert(metric < figure->metric_count);
    return gnn_metric_shrinks(figure->metrics[metric]) ? figure->scale_divisor : 1;
}

static bool has_published(const struct gnn_paper_figure *figure, uint32_t metric)
{
    const char *const what = figure->published_names[metric];
    return what[0] != '\0' && strcmp(what, "-") != 0;
}

const struct gnn_published_row *gnn_figure_published(const struct gnn_paper_figure *figure, uint32_t metric,
                                                     uint32_t series, const uint32_t *at)
{
    const char *const name = figure->series[series].published, *const what = figure->published_names[metric];
    assert(metric < GNN_FIGURE_METRICS_MAX);
    if (name[0] == '\0' || !has_published(figure, metric))
        return NULL;
    for (uint32_t i = 0; i < figure->published.count; i++) {
        const struct gnn_published_row *const row = &figure->published.rows[i];
        bool same = gnn_figure_prints(figure, row) && strcmp(row->metric, what) == 0 &&
                    strcmp(row->relation, "exact") == 0 && is_of_series(row, name);
        for (uint32_t a = 0; a < figure->axis_count && same; a++)
            same = is_at(figure, row, a, figure->axes[a].values[at[a]]);
        if (same)
            return row;
    }
    return NULL;
}

uint32_t gnn_figure_divisor_shown(const struct gnn_paper_figure *figure)
{
    uint32_t divisor = 0;
    for (uint32_t m = 0; m < figure->metric_count; m++) {
        struct gnn_figure_place place = {.series = 0};
        do {
            const struct gnn_published_row *const row = gnn_figure_published(figure, m, place.series, place.at);
            const bool number = row != NULL && isfinite(gnn_published_value(row));
            if (row != NULL)
                divisor = gnn_max_u32(divisor, number ? gnn_figure_published_divisor(figure, m) : 1);
        } while (gnn_figure_next_place(figure, figure->keys, figure->key_count, &place));
    }
    return divisor;
}

/* ---- for predicates ---- */

/* The place of a metric that the figure shows beside its published values; metric_count: it is none of these. */
static uint32_t find_shown(const struct gnn_paper_figure *figure, const char *metric)
{
    for (uint32_t m = 0; m < figure->metric_count; m++)
        if (strcmp(figure->metrics[m], metric) == 0 && has_published(figure, m))
            return m;
    return figure->metric_count;
}

static bool has_metric(const void *ctx, const char *metric)
{
    const struct gnn_paper_figure *const figure = ctx;
    if (gnn_metric_of_paper(metric))
        return find_shown(figure, metric + strlen(GNN_METRIC_PUBLISHED)) < figure->metric_count;
    return gnn_figure_metric_known(figure, metric);
}

static enum gnn_value_state value(const void *ctx, const char *metric, uint32_t series, const uint32_t *outside,
                                  double *out)
{
    const struct gnn_paper_figure *const figure = ctx;
    uint32_t at[GNN_AXES_MAX];
    memcpy(at, outside, sizeof at);
    if (figure->has_variants)
        at[figure->axis_count - 1] = figure->variant;
    if (gnn_metric_of_paper(metric)) {
        const uint32_t shown = find_shown(figure, metric + strlen(GNN_METRIC_PUBLISHED));
        const struct gnn_published_row *const row = gnn_figure_published(figure, shown, series, at);
        const double printed = row != NULL ? gnn_published_value(row) : (double)NAN; /* of a word (OOM), too */
        if (isfinite(printed))
            *out = printed;
        return isfinite(printed) ? GNN_VALUE_KNOWN : GNN_VALUE_NONE;
    }
    const struct gnn_figure_value found = gnn_figure_value_at(figure, metric, series, at);
    if (found.state == GNN_VALUE_KNOWN)
        *out = found.median;
    return found.state;
}

void gnn_figure_values(const struct gnn_paper_figure *figure, struct gnn_value_source *out)
{
    *out = (struct gnn_value_source){.axis_count = figure->axis_count - (figure->has_variants ? 1 : 0),
                                     .axes = figure->axes,
                                     .series_count = figure->series_count,
                                     .series = figure->series_names,
                                     .has_metric = has_metric,
                                     .value = value,
                                     .ctx = figure};
}

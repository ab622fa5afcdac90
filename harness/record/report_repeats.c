/* SPDX-License-Identifier: MIT */
/* Repetitions of a configuration as one row, for a terminal, Markdown or CSV. */
#include "harness/base/plain_text.h"
#include "harness/base/words.h"
#include "harness/record/notes.h"
#include "harness/record/report.h"
#include "harness/record/report_cells.h"
#include "harness/record/series.h"
#include "harness/record/text_grid.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { OPTIONS_MAX = 24, VALUE_SHOWN = 40, DIGEST_SHOWN = 8, RUN_NUMBERS_BYTES = 48 };

/* One configuration. */
struct row {
    const struct gnn_run_record *shown; /* its last run with a time, or else its last run */
    uint32_t runs, timed;
    double median, least, most; /* seconds of an epoch; NAN: no run has a time */
};

struct repeats {
    const struct gnn_run_record *runs;
    uint32_t count;
    enum gnn_report_style style;
    struct gnn_run_series series;
    struct row *rows;                 /* (series.count) */
    const char *options[OPTIONS_MAX]; /* the columns between system and numbers */
    uint32_t option_count;
    double *values; /* (count) scratch */
};

/* ---- quantities of a run ---- */

typedef double quantity_fn(const struct gnn_run_record *run);

static bool is_timed(const struct gnn_run_record *run)
{
    return run->status == GNN_RUN_OK && !gnn_run_withholds_times(run);
}

static double known(uint64_t count, double unit)
{
    return count == GNN_UNKNOWN ? (double)NAN : unit * (double)count;
}

static double epoch_s(const struct gnn_run_record *run)
{
    return known(gnn_run_epoch_ns(run), 1e-9);
}

/* Of a run of one epoch that is the time in the column before. */
static double first_epoch_s(const struct gnn_run_record *run)
{
    return run->epoch_count < 2 ? (double)NAN : known(gnn_run_first_epoch_ns(run), 1e-9);
}

static double peak_bytes(const struct gnn_run_record *run)
{
    return known(run->counters.peak_memory_bytes, 1);
}

static double test_accuracy_pct(const struct gnn_run_record *run)
{
    return 100.0 * gnn_run_test_accuracy(run);
}

enum kind { SECONDS, BYTES, PERCENT, SHARE };

/* The columns after the ratio. */
static const struct {
    const char *heading, *csv_heading;
    quantity_fn *of;
    enum kind kind;
} measures[] = {
    {">first epoch s", "first_epoch_s", first_epoch_s, SECONDS},
    {">I/O wait %", "io_wait_pct", gnn_run_io_wait_pct, PERCENT},
    {">peak memory", "peak_memory_bytes", peak_bytes, BYTES},
    {">test acc %", "test_accuracy_pct", test_accuracy_pct, SHARE},
    {">test MRR", "test_mrr", gnn_run_test_mrr, SHARE},
    {">test ROC AUC", "test_roc_auc", gnn_run_test_roc_auc, SHARE},
    {">test macro-F1", "test_macro_f1", gnn_run_test_macro_f1, SHARE},
    {">rows read/bound", "bound_ratio", gnn_run_bound_ratio, SHARE},
    {">epoch/floor", "floor_ratio", gnn_run_floor_ratio, SHARE},
};
enum { MEASURES = sizeof measures / sizeof *measures, OTHER_COLUMNS = 8 };
_Static_assert((int)OPTIONS_MAX + (int)MEASURES + (int)OTHER_COLUMNS <= (int)GNN_TEXT_GRID_COLUMNS,
               "every option and every measure may have a column");

static const char *number_text(double value, enum kind kind, enum gnn_report_style style, char text[TEXT_BYTES])
{
    if (!isfinite(value))
        return style == GNN_REPORT_CSV ? "" : "-";
    if (style != GNN_REPORT_CSV && kind == SECONDS)
        return time_text((uint64_t)llround(1e9 * value), text);
    if (style != GNN_REPORT_CSV && kind == BYTES)
        return bytes_text((uint64_t)value, text);
    (void)snprintf(text, TEXT_BYTES, style == GNN_REPORT_CSV ? "%.9g" : kind == PERCENT ? "%.1f" : "%.2f", value);
    return text;
}

/* Collects what the runs of a series with a time have of a quantity, in r->values; returns how many have it. */
static uint32_t values_of(const struct repeats *r, uint32_t s, quantity_fn *of)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        const double value = r->series.of[i] == s && is_timed(&r->runs[i]) ? of(&r->runs[i]) : (double)NAN;
        if (isfinite(value))
            r->values[count++] = value;
    }
    return count;
}

/* ---- rows ---- */

static void fill_row(const struct repeats *r, uint32_t s)
{
    struct row *const row = &r->rows[s];
    *row = (struct row){.least = (double)NAN, .most = (double)NAN};
    for (uint32_t i = 0; i < r->count; i++) {
        if (r->series.of[i] != s)
            continue;
        row->runs++;
        if (row->shown == NULL || is_timed(&r->runs[i]) || !is_timed(row->shown))
            row->shown = &r->runs[i];
    }
    assert(row->shown != NULL);
    row->timed = values_of(r, s, epoch_s);
    row->median = gnn_median(r->values, row->timed); /* sorts them */
    if (row->timed > 0) {
        row->least = r->values[0];
        row->most = r->values[row->timed - 1];
    }
}

static bool gathers(const struct gnn_run_record *run)
{
    return run->counters.rows_asked != GNN_UNKNOWN && run->counters.rows_asked > 0;
}

/* Whether rows may differ in this key and still be compared: a parameter of the row's system, and what labels a run,
 * ends it or follows from the system. */
static bool is_of_system(const struct row *row, const char *key)
{
    static const char *const free_keys[] = {"tag", "time-limit", "io", NULL};
    const size_t own = strlen(row->shown->system);
    return gnn_list_has(free_keys, key) || (strncmp(key, row->shown->system, own) == 0 && key[own] == '.');
}

/* Returns whether the rows differ by system and repetition only, so that a ratio of their times means something. */
static bool are_comparable(const struct repeats *r, uint32_t a, uint32_t b)
{
    const struct gnn_kv_list *const varied = &r->series.varied;
    const struct row *const left = &r->rows[a], *const right = &r->rows[b];
    for (uint32_t i = 0; i < varied->count; i++) {
        const char *const key = varied->items[i].key;
        const char *const mine = gnn_kv_get(&r->series.conditions[a], key);
        const char *const other = gnn_kv_get(&r->series.conditions[b], key);
        if (mine != NULL && other != NULL && strcmp(mine, other) != 0 && !is_of_system(left, key))
            return false;
    }
    return strcmp(left->shown->variant, right->shown->variant) == 0 && gathers(left->shown) == gathers(right->shown);
}

static double ratio_of(const struct repeats *r, uint32_t s)
{
    double best = r->rows[s].median;
    for (uint32_t other = 0; other < r->series.count; other++)
        if (r->rows[other].median < best && are_comparable(r, s, other))
            best = r->rows[other].median;
    return r->rows[s].median / best;
}

static void list_runs(const struct repeats *r, uint32_t s, char text[RUN_NUMBERS_BYTES])
{
    size_t used = 0;
    for (uint32_t i = 0; i < r->count && used < RUN_NUMBERS_BYTES; i++)
        if (r->series.of[i] == s)
            used += (size_t)snprintf(text + used, RUN_NUMBERS_BYTES - used, "%s%" PRId64, used == 0 ? "" : " ",
                                     r->runs[i].run_id);
    if (used >= RUN_NUMBERS_BYTES)
        (void)snprintf(text + RUN_NUMBERS_BYTES - 5, 5, " ...");
}

/* ---- columns ---- */

/* Makes the option a column. In a CSV, columns that a script looks for do not come and go. */
static void add_option(struct repeats *r, const char *key)
{
    static const char *const always[] = {"dataset", "scale", "dim", "world", "memory", "batch"};
    bool wanted = gnn_run_series_varies(&r->series, key);
    for (size_t i = 0; i < sizeof always / sizeof *always && r->style == GNN_REPORT_CSV; i++)
        wanted = wanted || strcmp(key, always[i]) == 0;
    for (uint32_t i = 0; i < r->option_count; i++)
        wanted = wanted && strcmp(r->options[i], key) != 0;
    if (wanted && r->option_count < OPTIONS_MAX)
        r->options[r->option_count++] = key;
}

static void choose_options(struct repeats *r)
{
    for (uint32_t s = 0; s < r->series.count; s++)
        for (uint32_t i = 0; i < r->series.conditions[s].count; i++)
            add_option(r, r->series.conditions[s].items[i].key);
}

/* The memory limit is a number in a CSV. */
static bool is_limit(const struct repeats *r, uint32_t option)
{
    return r->style == GNN_REPORT_CSV && strcmp(r->options[option], "memory") == 0;
}

static void set_option(const struct repeats *r, struct gnn_text_grid *grid, uint32_t s, uint32_t option)
{
    char number[GNN_SHORT_NUMBER_BYTES], limit[TEXT_BYTES];
    const char *const key = r->options[option], *value = gnn_kv_get(&r->series.conditions[s], key);
    if (is_limit(r, option))
        value = number_text(known(r->rows[s].shown->cap_bytes, 1), BYTES, r->style, limit);
    if (value == NULL)
        value = r->style == GNN_REPORT_CSV ? "" : "-";
    gnn_text_grid_set(grid, 1 + option, "%.*s", strstr(key, ".digest") != NULL ? DIGEST_SHOWN : VALUE_SHOWN,
                      gnn_text_short_number(value, number));
}

static bool has_measure(const struct repeats *r, uint32_t m)
{
    bool has = r->style == GNN_REPORT_CSV;
    for (uint32_t s = 0; s < r->series.count && !has; s++)
        has = values_of(r, s, measures[m].of) > 0;
    return has;
}

/* The word in place of a time. */
static const char *missing_word(const struct gnn_run_record *run)
{
    if (run->status != GNN_RUN_OK || gnn_run_withholds_times(run))
        return gnn_run_status_name(run->status == GNN_RUN_OK ? GNN_RUN_INVALID : run->status);
    return gnn_run_is_unsettled(run) ? GNN_NOT_SETTLED : "-";
}

/* Writes number of runs, median, range and ratio from `column` on; returns the next column. */
static uint32_t set_times(const struct repeats *r, struct gnn_text_grid *grid, uint32_t s, uint32_t column)
{
    char text[TEXT_BYTES];
    const struct row *const row = &r->rows[s];
    const bool csv = r->style == GNN_REPORT_CSV;
    const char *const word = missing_word(row->shown);
    if (csv)
        gnn_text_grid_set(grid, column++, "%s", row->timed > 0 ? "ok" : word);
    if (csv || row->timed == 0 || row->timed == row->runs)
        gnn_text_grid_set(grid, column++, "%u", csv ? row->timed : row->runs);
    else
        gnn_text_grid_set(grid, column++, "%u of %u", row->timed, row->runs);
    const char *const median = number_text(row->median, SECONDS, r->style, text);
    gnn_text_grid_set(grid, column++, "%s", csv || row->timed > 0 ? median : word);
    gnn_text_grid_set(grid, column++, "%s", number_text(row->least, SECONDS, r->style, text));
    gnn_text_grid_set(grid, column++, "%s", number_text(row->most, SECONDS, r->style, text));
    gnn_text_grid_set(grid, column++, "%s", number_text(ratio_of(r, s), SHARE, r->style, text));
    return column;
}

static void set_row(const struct repeats *r, struct gnn_text_grid *grid, uint32_t s, const bool *shown)
{
    char text[GNN_SYSTEM_TEXT_BYTES], numbers[RUN_NUMBERS_BYTES];
    gnn_text_grid_row(grid);
    gnn_text_grid_set(grid, 0, "%s", gnn_run_system_text(r->rows[s].shown, text));
    for (uint32_t o = 0; o < r->option_count; o++)
        set_option(r, grid, s, o);
    uint32_t column = set_times(r, grid, s, 1 + r->option_count);
    for (uint32_t m = 0; m < MEASURES; m++) {
        if (!shown[m])
            continue;
        const double median = gnn_median(r->values, values_of(r, s, measures[m].of));
        gnn_text_grid_set(grid, column++, "%s", number_text(median, measures[m].kind, r->style, text));
    }
    list_runs(r, s, numbers);
    gnn_text_grid_set(grid, column, "%s", numbers);
    assert(column + 1 == grid->columns);
}

/* Writes the headings, which end with NULL, and which measures have a column. */
static void choose_headings(const struct repeats *r, const char **headings, bool *shown)
{
    static const char *const texts[] = {">n", ">epoch s", ">least", ">most", ">ratio", NULL};
    static const char *const names[] = {"status", "n", "epoch_s", "epoch_s_least", "epoch_s_most", "ratio", NULL};
    const bool csv = r->style == GNN_REPORT_CSV;
    *headings++ = "system";
    for (uint32_t o = 0; o < r->option_count; o++)
        *headings++ = is_limit(r, o) ? "memory_bytes" : r->options[o];
    for (const char *const *word = csv ? names : texts; *word != NULL; word++)
        *headings++ = *word;
    for (uint32_t m = 0; m < MEASURES; m++) {
        shown[m] = has_measure(r, m);
        if (shown[m])
            *headings++ = csv ? measures[m].csv_heading : measures[m].heading;
    }
    *headings++ = "runs";
    *headings = NULL;
}

static void print_table(const struct repeats *r, FILE *out)
{
    const char *headings[GNN_TEXT_GRID_COLUMNS + 1];
    bool shown[MEASURES];
    struct gnn_text_grid grid;
    choose_headings(r, headings, shown);
    if (!gnn_text_grid_open(&grid, r->series.count, headings)) {
        (void)fputs("out of memory for the table\n", out);
        return;
    }
    for (uint32_t s = 0; s < r->series.count; s++)
        set_row(r, &grid, s, shown);
    gnn_text_grid_print(&grid, r->style, out);
    gnn_text_grid_close(&grid);
}

/* ---- below the table ---- */

/* Keeps the parts of `common` that `caption` has, too. */
static void keep_common(char common[GNN_CAPTION_BYTES], const char *caption)
{
    char kept[GNN_CAPTION_BYTES] = "", all[GNN_CAPTION_BYTES + 8], part[GNN_CAPTION_BYTES + 8];
    size_t used = 0;
    (void)snprintf(all, sizeof all, ", %s, ", caption);
    for (const char *at = common; *at != '\0';) {
        const char *const end = strstr(at, ", ");
        const int length = (int)(end != NULL ? (size_t)(end - at) : strlen(at));
        (void)snprintf(part, sizeof part, ", %.*s, ", length, at);
        if (strstr(all, part) != NULL)
            used += (size_t)snprintf(kept + used, sizeof kept - used, "%s%.*s", used == 0 ? "" : ", ", length, at);
        at += length + (end != NULL ? 2 : 0);
    }
    memcpy(common, kept, sizeof kept);
}

/* What rows differ in is in the table. */
static void print_conditions(const struct repeats *r, FILE *out)
{
    char common[GNN_CAPTION_BYTES], caption[GNN_CAPTION_BYTES];
    gnn_run_caption(r->rows[0].shown, common, sizeof common);
    for (uint32_t s = 1; s < r->series.count; s++) {
        gnn_run_caption(r->rows[s].shown, caption, sizeof caption);
        keep_common(common, caption);
    }
    gnn_text_make_plain(common);
    (void)fprintf(out, "\nconditions%s: %s\n", r->series.count > 1 ? " of all rows" : "", common);
}

/* Says why runs of a series have no time: the first sentence of the last one's reason. */
static void print_reason(const struct repeats *r, uint32_t s, FILE *out)
{
    uint32_t i = r->count;
    while (i > 0 && (r->series.of[i - 1] != s || is_timed(&r->runs[i - 1])))
        i--;
    if (i == 0)
        return;
    const struct gnn_run_record *const run = &r->runs[i - 1];
    char reason[GNN_RECORD_REASONS_MAX];
    (void)snprintf(reason, sizeof reason, "%.*s", (int)strcspn(run->reasons, "\n"), run->reasons);
    char *const stop = strstr(reason, ". ");
    if (stop != NULL)
        *stop = '\0';
    gnn_text_make_plain(reason);
    (void)fprintf(out, "%s: run %" PRId64 " is %s: %s\n", r->series.labels[s], run->run_id, missing_word(run),
                  or_dash(reason));
}

static void print_notes(const struct repeats *r, FILE *out)
{
    char text[GNN_NOTES_BYTES];
    struct gnn_trust trust;
    uint32_t sharing = 0;
    gnn_trust_init(&trust);
    for (uint32_t i = 0; i < r->count; i++) {
        gnn_trust_add(&trust, &r->runs[i]);
        sharing += gnn_run_shared_dataset(&r->runs[i]) != NULL ? 1 : 0;
    }
    for (uint32_t s = 0; s < r->series.count; s++)
        if (r->rows[s].timed > 1)
            trust.spread_pct = fmax(trust.spread_pct, 100.0 * (r->rows[s].most - r->rows[s].least) / r->rows[s].median);
    if (gnn_trust_text(&trust, text, sizeof text))
        (void)fprintf(out, "note: %s\n", text);
    if (sharing > 0)
        (void)fprintf(out, "note: %u of %u runs shared their dataset with another run, which may change their times\n",
                      sharing, r->count);
}

void gnn_report_repeats(const struct gnn_run_record *runs, uint32_t count, const char *over,
                        enum gnn_report_style style, FILE *out)
{
    struct repeats r = {.runs = runs, .count = count, .style = style};
    struct gnn_err err = {0};
    assert(count > 0);
    enum gnn_status status = gnn_run_series_open(runs, count, over, &r.series, &err);
    r.values = calloc(count, sizeof *r.values);
    r.rows = calloc(count, sizeof *r.rows);
    if (status == GNN_OK && (r.values == NULL || r.rows == NULL))
        status = gnn_fail(&err, GNN_ENOMEM, "%u rows", r.series.count);
    for (uint32_t s = 0; s < r.series.count && status == GNN_OK; s++)
        fill_row(&r, s);
    if (status == GNN_OK) {
        choose_options(&r);
        print_table(&r, out);
    } else {
        (void)fprintf(out, "no table: %s\n", err.message);
    }
    if (status == GNN_OK && style != GNN_REPORT_CSV) {
        print_conditions(&r, out);
        for (uint32_t s = 0; s < r.series.count; s++)
            print_reason(&r, s, out);
        print_notes(&r, out);
    }
    gnn_run_series_close(&r.series);
    free(r.rows);
    free(r.values);
}

/* SPDX-License-Identifier: MIT */
#include "harness/record/report.h"

#include "harness/base/plain_text.h"
#include "harness/base/units.h"
#include "harness/record/notes.h"
#include "harness/record/report_cells.h"
#include "harness/record/series.h"
#include "harness/record/summary.h"
#include "harness/record/text_grid.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

static void set_system(struct gnn_text_grid *grid, uint32_t column, const struct gnn_run_record *run)
{
    char text[GNN_SYSTEM_TEXT_BYTES];
    gnn_text_grid_set(grid, column, "%s", gnn_run_system_text(run, text));
}

/* How far from the least a run is (docs/floor.md): a column each where some run tells. */
static const struct {
    const char *heading;
    double (*of)(const struct gnn_run_record *run);
} ratios[] = {{">rows read/bound", gnn_run_bound_ratio}, {">epoch/floor", gnn_run_floor_ratio}};
enum { FIRST_RATIO = 9, RATIOS = sizeof ratios / sizeof ratios[0] };
_Static_assert((int)FIRST_RATIO + (int)RATIOS <= (int)GNN_TEXT_GRID_COLUMNS, "every ratio may have a column");

static bool any_tells(const struct gnn_run_record *runs, uint32_t count, uint32_t ratio)
{
    for (uint32_t i = 0; i < count; i++)
        if (isfinite(ratios[ratio].of(&runs[i])))
            return true;
    return false;
}

static void set_epoch_times(struct gnn_text_grid *grid, const struct gnn_run_record *run)
{
    char text[TEXT_BYTES];
    gnn_text_grid_set(grid, 3, "%s",
                      gnn_run_is_unsettled(run) ? GNN_NOT_SETTLED : time_text(gnn_run_first_epoch_ns(run), text));
    gnn_text_grid_set(grid, 4, "%s", time_text(gnn_run_later_epoch_ns(run), text));
}

/* MRR of links, or accuracy of nodes and, with two classes, the ROC AUC. */
static void set_quality(struct gnn_text_grid *grid, uint32_t column, const struct gnn_run_record *run)
{
    char text[TEXT_BYTES];
    const double mrr = gnn_run_test_mrr(run), auc = gnn_run_test_roc_auc(run);
    (void)pct_text(100.0 * gnn_run_test_accuracy(run), "2", text);
    if (isfinite(mrr))
        gnn_text_grid_set(grid, column, "MRR %.4f", mrr);
    else if (isfinite(auc))
        gnn_text_grid_set(grid, column, "%s, AUC %.4f", text, auc);
    else
        gnn_text_grid_set(grid, column, "%s", text);
}

/* shown: the numbers of the ratios that have a column. */
static void set_run_row(struct gnn_text_grid *grid, const struct gnn_run_record *run, const uint32_t *shown)
{
    char text[TEXT_BYTES];
    gnn_text_grid_row(grid);
    gnn_text_grid_set(grid, 0, "%" PRId64, run->run_id);
    set_system(grid, 1, run);
    gnn_text_grid_set(grid, 2, "%.60s %.20s", or_dash(run->dataset), run->model);
    if (run->status == GNN_RUN_OK && !gnn_run_withholds_times(run))
        set_epoch_times(grid, run);
    else
        gnn_text_grid_set(grid, 3, "%s",
                          gnn_run_status_name(run->status == GNN_RUN_OK ? GNN_RUN_INVALID : run->status));
    gnn_text_grid_set(grid, 5, "%s", pct_text(gnn_run_io_wait_pct(run), "1", text));
    gnn_text_grid_set(grid, 6, "%s", pct_text(gnn_run_cpu_pct(run), "1", text));
    gnn_text_grid_set(grid, 7, "%s", bytes_text(run->counters.peak_memory_bytes, text));
    set_quality(grid, 8, run);
    for (uint32_t c = FIRST_RATIO; c < grid->columns; c++)
        gnn_text_grid_set(grid, c, "%s", pct_text(ratios[shown[c - FIRST_RATIO]].of(run), "2", text));
}

static void print_runs(const struct gnn_run_record *runs, uint32_t count, enum gnn_report_style style, FILE *out)
{
    const char *headings[GNN_TEXT_GRID_COLUMNS + 1] = {">run",           "system",          "dataset",
                                                       ">first epoch s", ">later epochs s", ">I/O wait %",
                                                       ">CPU %",         ">peak memory",    ">test acc %"};
    uint32_t shown[RATIOS] = {0}, columns = FIRST_RATIO;
    for (uint32_t r = 0; r < RATIOS; r++)
        if (any_tells(runs, count, r)) {
            shown[columns - FIRST_RATIO] = r;
            headings[columns++] = ratios[r].heading;
        }
    struct gnn_text_grid grid;
    if (!gnn_text_grid_open(&grid, count, headings)) {
        (void)fputs("out of memory for the table\n", out);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        set_run_row(&grid, &runs[i], shown);
    gnn_text_grid_print(&grid, style, out);
    gnn_text_grid_close(&grid);
}

/* ---- reads and writes ---- */

/* One line: before the first epoch, or the sum over the epochs. */
static void set_io_row(struct gnn_text_grid *grid, const struct gnn_run_record *run,
                       const struct gnn_record_counters *counters, const char *scope, bool first)
{
    char text[TEXT_BYTES];
    const bool hide = gnn_run_withholds_times(run);
    gnn_text_grid_row(grid);
    if (first) {
        gnn_text_grid_set(grid, 0, "%" PRId64, run->run_id);
        set_system(grid, 1, run);
    }
    gnn_text_grid_set(grid, 2, "%s", scope);
    gnn_text_grid_set(grid, 3, "%s", time_text(hide ? GNN_UNKNOWN : counters->elapsed_ns, text));
    gnn_text_grid_set(grid, 4, "%s", time_text(hide ? GNN_UNKNOWN : counters->cpu_ns, text));
    gnn_text_grid_set(grid, 5, "%s", bytes_text(counters->device_read_bytes, text));
    gnn_text_grid_set(grid, 6, "%s", count_text(counters->device_read_ios, text));
    gnn_text_grid_set(grid, 7, "%s", bytes_text(counters->device_write_bytes, text));
    gnn_text_grid_set(grid, 8, "%s", bytes_text(counters->requested_bytes, text));
    gnn_text_grid_set(grid, 9, "%s", bytes_text(counters->requested_write_bytes, text));
}

static void print_io(const struct gnn_run_record *runs, uint32_t count, enum gnn_report_style style, FILE *out)
{
    static const char *const headings[] = {">run",           "system",          "when",  ">time s",
                                           ">CPU s",         ">disk read",      ">I/Os", ">disk written",
                                           ">read requests", ">write requests", NULL};
    struct gnn_text_grid grid;
    if (!gnn_text_grid_open(&grid, 2 * count, headings))
        return;
    for (uint32_t i = 0; i < count; i++) {
        set_io_row(&grid, &runs[i], &runs[i].before, "before the first epoch", true);
        set_io_row(&grid, &runs[i], &runs[i].counters, "sum over the epochs", false);
    }
    gnn_text_grid_finish(&grid, "Reads and writes: of the device, and as requested", style, out);
}

/* ---- stages: how one worker's time per epoch splits ---- */

static void set_share(struct gnn_text_grid *grid, uint32_t column, uint64_t part_ns, uint64_t wall_ns)
{
    char text[TEXT_BYTES];
    const bool known = part_ns != GNN_UNKNOWN && wall_ns != GNN_UNKNOWN && wall_ns > 0;
    const double pct = known ? 100.0 * (double)part_ns / (double)wall_ns : (double)NAN;
    gnn_text_grid_set(grid, column, "%s", pct_text(pct, "1", text));
}

static void set_stage_row(struct gnn_text_grid *grid, const struct gnn_run_record *run,
                          const struct gnn_record_stage *stage, bool first)
{
    char text[TEXT_BYTES];
    gnn_text_grid_row(grid);
    if (first) {
        gnn_text_grid_set(grid, 0, "%" PRId64, run->run_id);
        set_system(grid, 1, run);
    }
    gnn_text_grid_set(grid, 2, "%s", stage->stage);
    gnn_text_grid_set(grid, 3, "%s", count_text(stage->workers, text));
    const bool known = stage->wall_ns != GNN_UNKNOWN && stage->workers != GNN_UNKNOWN && stage->workers > 0;
    const uint64_t shares = known ? stage->workers * run->epoch_count : 1;
    gnn_text_grid_set(grid, 4, "%s", known ? time_text(stage->wall_ns / shares, text) : "-");
    uint64_t parts_ns[GNN_STAGE_PARTS];
    gnn_stage_parts(stage, parts_ns);
    for (uint32_t p = 0; p < GNN_STAGE_PARTS; p++)
        set_share(grid, 5 + p, parts_ns[p], stage->wall_ns);
}

/* The device beside the stages: how long it had work in an epoch, and copies, and what share of the epoch that is. */
static void set_gpu_rows(struct gnn_text_grid *grid, const struct gnn_run_record *run)
{
    char text[TEXT_BYTES];
    uint64_t busy_ns, wall_ns;
    if (!gnn_run_gpu_busy(run, &busy_ns, &wall_ns))
        return;
    gnn_text_grid_row(grid);
    gnn_text_grid_set(grid, 2, "GPU busy");
    gnn_text_grid_set(grid, 4, "%s", time_text(busy_ns / run->epoch_count, text));
    set_share(grid, 5, busy_ns, wall_ns);
    const uint64_t copy_ns = gnn_run_gpu_copies(run).copy_ns;
    if (copy_ns == GNN_UNKNOWN)
        return;
    gnn_text_grid_row(grid);
    gnn_text_grid_set(grid, 2, "GPU copies");
    gnn_text_grid_set(grid, 4, "%s", time_text(copy_ns / run->epoch_count, text));
    set_share(grid, 5, copy_ns, wall_ns);
}

void gnn_report_stages(const struct gnn_run_record *runs, uint32_t count, enum gnn_report_style style, FILE *out)
{
    static const char *const headings[] = {">run",   "system",   "stage",   ">workers",   ">time s",     ">work %",
                                           ">I/O %", ">queue %", ">lock %", ">compute %", ">resource %", NULL};
    struct gnn_text_grid grid;
    if (!gnn_text_grid_open(&grid, count * (GNN_RECORD_STAGES_MAX + 2), headings))
        return;
    for (uint32_t i = 0; i < count; i++) {
        struct gnn_record_stage sums[GNN_RECORD_STAGES_MAX];
        const uint32_t stages = gnn_run_withholds_times(&runs[i]) ? 0 : gnn_run_stage_sums(&runs[i], sums);
        for (uint32_t s = 0; s < stages; s++)
            set_stage_row(&grid, &runs[i], &sums[s], s == 0);
        set_gpu_rows(&grid, &runs[i]);
    }
    gnn_text_grid_finish(&grid, "Stages: time of one worker in an epoch, and what it went into", style, out);
}

/* ---- the GPU ---- */

static uint64_t mean_of(uint64_t sum, uint32_t count)
{
    return sum == GNN_UNKNOWN ? sum : sum / count;
}

static void set_gpu_line(struct gnn_text_grid *grid, const struct gnn_run_record *run, uint64_t busy_ns,
                         uint64_t wall_ns)
{
    char text[TEXT_BYTES];
    const struct gnn_gpu_copies copies = gnn_run_gpu_copies(run);
    const double rate = gnn_gpu_copy_rate(&copies);
    gnn_text_grid_row(grid);
    gnn_text_grid_set(grid, 0, "%" PRId64, run->run_id);
    set_system(grid, 1, run);
    gnn_text_grid_set(grid, 2, "%s", time_text(mean_of(busy_ns, run->epoch_count), text));
    set_share(grid, 3, busy_ns, wall_ns);
    gnn_text_grid_set(grid, 4, "%s", time_text(mean_of(copies.copy_ns, run->epoch_count), text));
    gnn_text_grid_set(grid, 5, "%s", bytes_text(mean_of(copies.uploaded_bytes, run->epoch_count), text));
    gnn_text_grid_set(grid, 6, "%s", bytes_text(mean_of(copies.downloaded_bytes, run->epoch_count), text));
    gnn_text_grid_set(grid, 7, "%s%s", bytes_text(isfinite(rate) ? (uint64_t)rate : GNN_UNKNOWN, text),
                      isfinite(rate) ? "/s" : "");
}

/* What the device did, real or modelled, of runs that had one. */
static void print_gpu(const struct gnn_run_record *runs, uint32_t count, enum gnn_report_style style, FILE *out)
{
    static const char *const headings[] = {">run", "system", ">busy s", ">busy %", ">copies s",
                                           ">up",  ">down",  ">rate",   NULL};
    struct gnn_text_grid grid;
    uint64_t busy_ns, wall_ns;
    if (!gnn_text_grid_open(&grid, count, headings))
        return;
    for (uint32_t i = 0; i < count; i++)
        if (gnn_run_gpu_busy(&runs[i], &busy_ns, &wall_ns))
            set_gpu_line(&grid, &runs[i], busy_ns, wall_ns);
    gnn_text_grid_finish(&grid, "GPU: mean of an epoch; the device's time for copies is summed over its lanes", style,
                         out);
}

/* ---- distributions: of the last epoch's mini-batches, reads, requests ---- */

/* How names of a distribution's figures end, the largest last, and how their values are written. */
static const struct distribution {
    const char *ends[5];
    const char *(*format)(uint64_t value, char *text, size_t text_bytes);
    const char *what; /* behind the name of what is distributed */
} distributions[] = {
    {{"_p50_ns", "_p90_ns", "_p99_ns", "_p999_ns", "_max_ns"}, gnn_format_duration, ""},
    {{"_bytes_p50", "_bytes_p90", "_bytes_p99", "_bytes_p999", "_bytes_max"}, gnn_format_bytes, " size"},
};
enum { DISTRIBUTIONS = sizeof distributions / sizeof *distributions };

/* Cuts "read_max_ns" to "read": whatever has a largest is the distribution of something. NULL: it is none. */
static const struct distribution *distribution_of(const char *figure, char base[GNN_NAME_MAX])
{
    const size_t length = strlen(figure);
    for (int i = 0; i < DISTRIBUTIONS; i++) {
        const char *const largest = distributions[i].ends[4];
        const size_t end = strlen(largest);
        if (length <= end || strcmp(figure + length - end, largest) != 0)
            continue;
        (void)snprintf(base, GNN_NAME_MAX, "%.*s", (int)(length - end), figure);
        return &distributions[i];
    }
    return NULL;
}

static void set_distribution_row(struct gnn_text_grid *grid, const struct gnn_run_record *run, const char *base,
                                 const struct distribution *as, bool first)
{
    char text[TEXT_BYTES], name[GNN_NAME_MAX + 16];
    gnn_text_grid_row(grid);
    if (first) {
        gnn_text_grid_set(grid, 0, "%" PRId64, run->run_id);
        set_system(grid, 1, run);
    }
    gnn_text_grid_set(grid, 2, "%s%s", base, as->what);
    for (uint32_t i = 0; i < sizeof as->ends / sizeof *as->ends; i++) {
        (void)snprintf(name, sizeof name, "%s%s", base, as->ends[i]);
        const uint64_t value = gnn_recorded_figure(&run->epochs[run->epoch_count - 1], name);
        gnn_text_grid_set(grid, 3 + i, "%s", value == GNN_UNKNOWN ? "-" : as->format(value, text, sizeof text));
    }
}

static void print_distributions(const struct gnn_run_record *runs, uint32_t count, enum gnn_report_style style,
                                FILE *out)
{
    static const char *const headings[] = {">run", "system", "of", ">p50", ">p90", ">p99", ">p99.9", ">most", NULL};
    struct gnn_text_grid grid;
    if (!gnn_text_grid_open(&grid, count * GNN_RECORD_FIGURES_MAX, headings))
        return;
    for (uint32_t i = 0; i < count; i++) {
        const bool shown = runs[i].epoch_count > 0 && !gnn_run_withholds_times(&runs[i]);
        const struct gnn_record_epoch *const last = shown ? &runs[i].epochs[runs[i].epoch_count - 1] : NULL;
        const uint32_t before = grid.rows_used;
        for (uint32_t f = 0; shown && f < last->figure_count; f++) {
            char base[GNN_NAME_MAX];
            const struct distribution *const as = distribution_of(last->figures[f].name, base);
            if (as != NULL)
                set_distribution_row(&grid, &runs[i], base, as, grid.rows_used == before);
        }
    }
    gnn_text_grid_finish(&grid, "Percentiles, last epoch (time between mini-batches, read latency, request size)",
                         style, out);
}

/* ---- notes ---- */

/* Writes the conditions of runs first to last, which share them; all of them if they are the whole report. */
static void print_conditions(const struct gnn_run_record *first, const struct gnn_run_record *last, bool all,
                             const char *caption, FILE *out)
{
    if (all)
        (void)fprintf(out, "conditions: %s\n", caption);
    else if (first == last)
        (void)fprintf(out, "conditions of run %" PRId64 ": %s\n", first->run_id, caption);
    else
        (void)fprintf(out, "conditions of runs %" PRId64 " to %" PRId64 ": %s\n", first->run_id, last->run_id, caption);
}

static void print_all_conditions(const struct gnn_run_record *runs, uint32_t count, FILE *out)
{
    char shared[GNN_CAPTION_BYTES] = "", next[GNN_CAPTION_BYTES] = "";
    uint32_t first = 0;
    assert(count > 0);
    (void)fputs("\n", out);
    for (uint32_t i = 0; i < count; i++) {
        gnn_run_caption(&runs[i], next, sizeof next);
        gnn_text_make_plain(next);
        if (i > 0 && strcmp(next, shared) != 0) {
            print_conditions(&runs[first], &runs[i - 1], false, shared, out);
            first = i;
        }
        memcpy(shared, next, sizeof shared);
    }
    print_conditions(&runs[first], &runs[count - 1], first == 0, shared, out);
}

/* Names a memory limit that makes a run unlike others. */
static void print_limit_note(const struct gnn_run_record *run, FILE *out)
{
    char text[TEXT_BYTES];
    const uint64_t inherited_bytes = gnn_run_inherited_bytes(run);
    if (inherited_bytes != GNN_UNKNOWN)
        (void)fprintf(out,
                      "run %" PRId64 " inherited a memory limit of %s from its container or control group: do not "
                      "compare it with runs without this limit\n",
                      run->run_id, bytes_text(inherited_bytes, text));
    else if (gnn_run_cap_not_enforced(run))
        (void)fprintf(out, "run %" PRId64 " had the whole machine's page cache: do not compare it with other runs\n",
                      run->run_id);
}

static void print_shared(const struct gnn_run_record *runs, uint32_t count, FILE *out)
{
    char when[32];
    for (uint32_t i = 0; i < count; i++)
        if (gnn_run_shared_dataset(&runs[i]) != NULL)
            (void)fprintf(out,
                          "run %" PRId64 ": another run used the same dataset at the %s of this run, which may change "
                          "its times\n",
                          runs[i].run_id, gnn_text_plain(gnn_run_shared_dataset(&runs[i]), when, sizeof when));
}

static void print_trust(const struct gnn_run_record *run, FILE *out)
{
    struct gnn_trust trust;
    char text[GNN_NOTES_BYTES];
    gnn_trust_init(&trust);
    gnn_trust_add(&trust, run);
    if (gnn_trust_text(&trust, text, sizeof text))
        (void)fprintf(out, "note on run %" PRId64 ": %s\n", run->run_id, text);
}

static void print_notes(const struct gnn_run_record *runs, uint32_t count, FILE *out)
{
    print_all_conditions(runs, count, out);
    for (uint32_t i = 0; i < count; i++) {
        if (runs[i].status == GNN_RUN_OK && !gnn_run_withholds_times(&runs[i]))
            continue;
        char reasons[GNN_RECORD_REASONS_MAX];
        (void)snprintf(reasons, sizeof reasons, "%s", or_dash(runs[i].reasons));
        for (char *line = reasons; (line = strchr(line, '\n')) != NULL;)
            *line = ';';
        gnn_text_make_plain(reasons);
        (void)fprintf(out, "run %" PRId64 " is %s: %s\n", runs[i].run_id, gnn_run_status_name(runs[i].status), reasons);
    }
    for (uint32_t i = 0; i < count; i++)
        print_limit_note(&runs[i], out);
    print_shared(runs, count, out);
    for (uint32_t i = 0; i < count; i++)
        print_trust(&runs[i], out);
}

/* Names the series whose runs repeat each other badly. */
static void print_spreads(const struct gnn_run_record *runs, uint32_t count, const struct gnn_run_series *series,
                          FILE *out)
{
    const struct gnn_run_record **const alike = calloc(count, sizeof(void *));
    for (uint32_t s = 0; s < series->count && alike != NULL; s++) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < count; i++)
            if (series->of[i] == s)
                alike[found++] = &runs[i];
        const double spread_pct = gnn_runs_spread_pct(alike, found);
        if (spread_pct > GNN_NOTE_SPREAD_PCT)
            (void)fprintf(out, "note on %s: the epoch times of its %u runs spread by %.3g %% of their median\n",
                          series->labels[s], found, spread_pct);
    }
    free(alike);
}

/* Where some system's runs are not all of one configuration, or the systems differ in an option: which repeat each
 * other, and in what the others differ. */
static void print_series(const struct gnn_run_record *runs, uint32_t count, FILE *out)
{
    struct gnn_run_series series;
    struct gnn_err err = {0};
    if (gnn_run_series_open(runs, count, "seed", &series, &err) != GNN_OK) {
        (void)fprintf(out, "\n%s\n", err.message);
        return;
    }
    print_spreads(runs, count, &series, out);
    bool differ = false;
    for (uint32_t s = 0; s < series.count; s++)
        differ = differ || strchr(series.labels[s], '=') != NULL;
    if (differ)
        (void)fputs("\nThese runs differ in more than system and seed; only those of one line repeat each other:\n",
                    out);
    for (uint32_t s = 0; s < series.count && differ; s++) {
        (void)fprintf(out, "%s: run", series.labels[s]);
        for (uint32_t i = 0; i < count; i++)
            if (series.of[i] == s)
                (void)fprintf(out, " %" PRId64, runs[i].run_id);
        (void)fputc('\n', out);
    }
    gnn_run_series_close(&series);
}

void gnn_report_runs(const struct gnn_run_record *runs, uint32_t count, enum gnn_report_style style, FILE *out)
{
    if (count == 0) {
        (void)fputs("no runs\n", out);
        return;
    }
    print_runs(runs, count, style, out);
    print_io(runs, count, style, out);
    gnn_report_stages(runs, count, style, out);
    print_gpu(runs, count, style, out);
    print_distributions(runs, count, style, out);
    print_notes(runs, count, out);
    print_series(runs, count, out);
}

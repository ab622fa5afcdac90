/* SPDX-License-Identifier: MIT */
/* From runs to a data file and a script per picture; the drawing is plots/<shape>.gp's. */
#include "harness/record/plot.h"

#include "harness/base/out_file.h"
#include "harness/base/plain_text.h"
#include "harness/base/units.h"
#include "harness/record/gnuplot.h"
#include "harness/record/notes.h"
#include "harness/record/series.h"
#include "harness/record/styles.h"
#include "harness/record/summary.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    SYSTEMS_MAX = GNN_STYLES,
    RUNS_MAX = 256,
    PATH_BYTES = 1024,
    LINE_CHARACTERS = 140,
    NAME_CHARACTERS = 24,
    PARTS = GNN_STAGE_PARTS
};
enum { CONDITIONS_BYTES = 4 * GNN_CAPTION_BYTES };

static const char grouped_bars_gp[] =
#include "plots/grouped_bars.gp.inc" /* made from plots/grouped_bars.gp */
    ;
static const char stacked_bars_gp[] =
#include "plots/stacked_bars.gp.inc"
    ;

/* A series: runs that repeat each other, by seed or plainly again. */
struct group {
    char label[GNN_SERIES_LABEL_BYTES];
    const struct gnn_run_record *runs[RUNS_MAX];
    uint32_t run_count;
    uint32_t usable; /* runs with times */
    char caption[GNN_CAPTION_BYTES];
};

struct comparison {
    struct group groups[SYSTEMS_MAX];
    uint32_t group_count;
    gnn_place_fn *place;
    bool repeated; /* some series has more than one run */
    char caption[CONDITIONS_BYTES + GNN_NOTES_BYTES + 96];
};

struct spread {
    double median, low, high; /* NAN: nothing known */
};

static bool usable(const struct gnn_run_record *run)
{
    return run->status == GNN_RUN_OK && !gnn_run_withholds_times(run) && !gnn_run_cap_not_enforced(run) &&
           !gnn_run_is_unsettled(run) && run->epoch_count > 0;
}

static enum gnn_status group_runs(const struct gnn_run_record *runs, uint32_t count, struct comparison *out,
                                  struct gnn_err *err)
{
    struct gnn_run_series series;
    GNN_TRY(gnn_run_series_open(runs, count, "seed", &series, err));
    enum gnn_status status = GNN_OK;
    if (series.count > SYSTEMS_MAX)
        status = gnn_fail(
            err, GNN_EUSAGE,
            "%u series, but a picture has at most %d. Choose runs with --where, or draw one option along x with "
            "`oocgnn plot`.",
            series.count, SYSTEMS_MAX);
    out->group_count = status == GNN_OK ? series.count : 0;
    for (uint32_t g = 0; g < out->group_count; g++)
        memcpy(out->groups[g].label, series.labels[g], sizeof out->groups[g].label);
    for (uint32_t i = 0; i < count && status == GNN_OK; i++) {
        struct group *group = &out->groups[series.of[i]];
        assert(group->run_count < RUNS_MAX);
        group->runs[group->run_count++] = &runs[i];
        group->usable += usable(&runs[i]) ? 1 : 0;
    }
    gnn_run_series_close(&series);
    return status;
}

/* The run whose conditions stand in the caption: one with a bar, if there is any. */
static const struct gnn_run_record *shown(const struct group *group)
{
    for (uint32_t r = 0; r < group->run_count; r++)
        if (usable(group->runs[r]))
            return group->runs[r];
    return group->runs[0];
}

/* Copies a caption's next part, to the ", " behind it; returns where the one after it starts, NULL at the end. */
static const char *next_part(const char *caption, char part[GNN_CAPTION_BYTES])
{
    const char *const end = strstr(caption, ", ");
    const size_t length = end != NULL ? (size_t)(end - caption) : strlen(caption);
    if (*caption == '\0')
        return NULL;
    (void)snprintf(part, GNN_CAPTION_BYTES, "%.*s", (int)length, caption);
    return caption + length + (end != NULL ? 2 : 0);
}

static bool in_all(const struct comparison *comparison, const char *part)
{
    char other[GNN_CAPTION_BYTES];
    bool all = true;
    for (uint32_t g = 0; g < comparison->group_count && all; g++) {
        const char *at = comparison->groups[g].caption;
        all = false;
        while (!all && (at = next_part(at, other)) != NULL)
            all = strcmp(other, part) == 0;
    }
    return all;
}

/* Whether a series' name has a part of its caption: "hidden 64" is "hidden=64" there, a limit is "memory=64.0 MiB". */
static bool in_label(const char *label, const char *part)
{
    static const char limit[] = "memory limit ";
    const size_t word = strcspn(part, " ");
    const bool is_limit = strncmp(part, limit, sizeof limit - 1) == 0;
    const char *const value = part + (is_limit ? sizeof limit - 1 : word + (part[word] == ' ' ? 1 : 0));
    const char *const end = strstr(value, " (");
    char wanted[GNN_CAPTION_BYTES + 2];
    (void)snprintf(wanted, sizeof wanted, " %.*s=%.*s", (int)word, part,
                   (int)(end != NULL ? (size_t)(end - value) : strlen(value)), value);
    const char *const found = strstr(label, wanted);
    return found != NULL && (found[strlen(wanted)] == '\0' || found[strlen(wanted)] == ' ');
}

/* Appends the parts of a system's caption that stand in every system's, or those that do not: the first behind
 * `lead`. */
static void say_parts(struct comparison *out, const struct group *group, bool common, const char *lead)
{
    char part[GNN_CAPTION_BYTES];
    for (const char *at = group->caption; (at = next_part(at, part)) != NULL;) {
        const size_t used = strlen(out->caption);
        if (in_all(out, part) != common || (!common && in_label(group->label, part)))
            continue;
        (void)snprintf(out->caption + used, CONDITIONS_BYTES - used, "%s%s", lead, part);
        lead = ", ";
    }
}

/* What all runs share, then what each system has of its own: no bar passes for one of another world. */
static void say_conditions(struct comparison *out)
{
    for (uint32_t g = 0; g < out->group_count; g++) {
        gnn_run_caption(shown(&out->groups[g]), out->groups[g].caption, sizeof out->groups[g].caption);
        gnn_text_make_plain(out->groups[g].caption);
    }
    say_parts(out, &out->groups[0], true, "");
    for (uint32_t g = 0; g < out->group_count; g++) {
        char lead[sizeof out->groups[g].label + 4];
        (void)snprintf(lead, sizeof lead, "; %s: ", out->groups[g].label);
        say_parts(out, &out->groups[g], false, lead);
    }
}

/* Appends what is known against the times of the picture. */
static void say_notes(struct comparison *out)
{
    struct gnn_trust trust;
    char notes[GNN_NOTES_BYTES];
    const size_t used = strlen(out->caption);
    gnn_trust_init(&trust);
    for (uint32_t g = 0; g < out->group_count; g++) {
        gnn_trust_add_spread(&trust, out->groups[g].runs, out->groups[g].run_count);
        for (uint32_t r = 0; r < out->groups[g].run_count; r++)
            gnn_trust_add(&trust, out->groups[g].runs[r]);
    }
    if (gnn_trust_text(&trust, notes, sizeof notes))
        (void)snprintf(out->caption + used, sizeof out->caption - used, " Note: %s.", notes);
}

static void write_caption(struct comparison *out)
{
    say_conditions(out);
    uint32_t least = UINT32_MAX, most = 0;
    assert(out->group_count > 0);
    for (uint32_t g = 0; g < out->group_count; g++) {
        least = gnn_min_u32(least, out->groups[g].run_count);
        most = gnn_max_u32(most, out->groups[g].run_count);
    }
    const size_t used = strlen(out->caption);
    char *rest = out->caption + used;
    const size_t room = sizeof out->caption - used;
    out->repeated = most > 1;
    if (most == 1)
        (void)snprintf(rest, room, ". One run of each series.");
    else if (least == most)
        (void)snprintf(rest, room, ". %u runs of each series.", most);
    else
        (void)snprintf(rest, room, ". %u to %u runs of each series.", least, most);
    say_notes(out);
    (void)gnn_text_wrap(out->caption, LINE_CHARACTERS);
}

/* The word that stands where a bar would be. */
static const char *missing_word(const struct group *group)
{
    static const char *const words[GNN_RUN_STATUS_COUNT] = {
        [GNN_RUN_OOM] = "OOM",       [GNN_RUN_GPU_OOM] = "GPU OOM",        [GNN_RUN_OOT] = "OOT",
        [GNN_RUN_FAILED] = "failed", [GNN_RUN_INTERRUPTED] = "unfinished", [GNN_RUN_RUNNING] = "unfinished"};
    assert(group->run_count > 0);
    const struct gnn_run_record *last = group->runs[group->run_count - 1];
    if (usable(last)) /* it ran, and had no such epoch */
        return "none";
    if (last->status == GNN_RUN_OK && gnn_run_cap_not_enforced(last))
        return "limit not enforced";
    if (last->status == GNN_RUN_OK && !gnn_run_withholds_times(last) && gnn_run_is_unsettled(last))
        return GNN_NOT_SETTLED;
    return words[last->status] != NULL ? words[last->status] : "invalid";
}

/* ---- files ---- */

static void set_strings(FILE *script, const char *name, const char *const *texts, uint32_t count)
{
    (void)fprintf(script, "array %s[%u] = [", name, count);
    for (uint32_t i = 0; i < count; i++) {
        (void)fputs(i == 0 ? "" : ", ", script);
        gnn_gnuplot_string(script, texts[i]);
    }
    (void)fputs("]\n", script);
}

static enum gnn_status begin_script(const char *dir, const char *base, const char *heading, const char *ylabel,
                                    const char *caption, double top, FILE **out, struct gnn_err *err)
{
    char data[GNN_NAME_MAX];
    const char *const texts[][2] = {
        {"data", data}, {"base", base}, {"heading", heading}, {"ylabel", ylabel}, {"caption", caption}};
    (void)snprintf(data, sizeof data, "%s.dat", base);
    GNN_TRY(gnn_out_file_open(dir, base, "gp", out, err));
    (void)fprintf(*out, "# Edit and run again: gnuplot %s.gp\n", base);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        gnn_gnuplot_set(*out, texts[i][0], texts[i][1]);
    (void)fprintf(*out, "top = %.9g\ncaption_lines = %u\n", top, gnn_text_lines(caption));
    return GNN_OK;
}

/* Adds the drawing, which is the same for every picture of its kind, and runs it. */
static enum gnn_status draw_script(FILE *script, const char *drawing, const char *dir, const char *base,
                                   struct gnn_err *err)
{
    (void)fputs(drawing, script);
    GNN_TRY(gnn_out_file_close(script, dir, base, "gp", err));
    return gnn_gnuplot_run(dir, base, err);
}

/* ---- epoch time ---- */

/* Which epochs of a run a group of bars shows. */
enum { FIRST_EPOCH, LATER_EPOCHS };

static double epochs_seconds(const struct gnn_run_record *run, int which)
{
    const uint64_t ns = which == FIRST_EPOCH ? gnn_run_first_epoch_ns(run) : gnn_run_later_epoch_ns(run);
    return ns == GNN_UNKNOWN ? (double)NAN : 1e-9 * (double)ns;
}

static struct spread group_spread(const struct group *group, int which)
{
    double seconds[RUNS_MAX];
    uint32_t count = 0;
    for (uint32_t r = 0; r < group->run_count; r++) {
        const double value = usable(group->runs[r]) ? epochs_seconds(group->runs[r], which) : (double)NAN;
        if (isfinite(value))
            seconds[count++] = value;
    }
    const double median = gnn_median(seconds, count); /* sorts */
    return count == 0 ? (struct spread){.median = NAN, .low = NAN, .high = NAN}
                      : (struct spread){.median = median, .low = seconds[0], .high = seconds[count - 1]};
}

static void write_bar(FILE *data, const struct group *group, int which, double *top)
{
    const struct spread spread = group_spread(group, which);
    if (!isfinite(spread.median)) {
        (void)fprintf(data, "\tNaN\tNaN\tNaN\t0\t%s", missing_word(group));
        return;
    }
    (void)fprintf(data, "\t%.9g\t%.9g\t%.9g\t%.9g\t%.3g", spread.median, spread.low, spread.high, spread.high,
                  spread.median);
    *top = spread.high > *top ? spread.high : *top;
}

static bool has_later_epochs(const struct comparison *comparison)
{
    for (uint32_t g = 0; g < comparison->group_count; g++)
        for (uint32_t r = 0; r < comparison->groups[g].run_count; r++)
            if (usable(comparison->groups[g].runs[r]) &&
                gnn_run_later_epoch_ns(comparison->groups[g].runs[r]) != GNN_UNKNOWN)
                return true;
    return false;
}

static enum gnn_status write_epoch_data(const struct comparison *comparison, const char *dir, uint32_t *rows,
                                        double *top, struct gnn_err *err)
{
    FILE *data;
    GNN_TRY(gnn_out_file_open(dir, "epoch-time", "dat", &data, err));
    *rows = has_later_epochs(comparison) ? 2 : 1;
    (void)fputs("# group, then of each system: median, least, most, label's height, label; seconds\n", data);
    for (uint32_t row = 0; row < *rows; row++) {
        (void)fputs(row == 0 ? "first epoch" : "later epochs (median)", data);
        for (uint32_t g = 0; g < comparison->group_count; g++)
            write_bar(data, &comparison->groups[g], row == 0 ? FIRST_EPOCH : LATER_EPOCHS, top);
        (void)fputc('\n', data);
    }
    return gnn_out_file_close(data, dir, "epoch-time", "dat", err);
}

static enum gnn_status draw_epoch_time(const struct comparison *comparison, const char *dir, struct gnn_err *err)
{
    uint32_t rows = 0;
    double top = 0;
    GNN_TRY(write_epoch_data(comparison, dir, &rows, &top, err));
    FILE *script;
    const char *names[SYSTEMS_MAX] = {0};
    uint32_t places[SYSTEMS_MAX];
    struct gnn_style styles[SYSTEMS_MAX];
    for (uint32_t g = 0; g < comparison->group_count; g++) {
        names[g] = comparison->groups[g].label;
        places[g] = comparison->place(comparison->groups[g].runs[0]->system);
    }
    char caption[sizeof comparison->caption + 64];
    (void)snprintf(caption, sizeof caption,
                   comparison->repeated ? "%s\nBars: median of the runs; whiskers: least and most." : "%s",
                   comparison->caption);
    GNN_TRY(begin_script(dir, "epoch-time", "Time per training epoch", "seconds", caption, 1.15 * top, &script, err));
    (void)fprintf(script, "series = %u\ngroups = %u\n", comparison->group_count, rows);
    set_strings(script, "names", names, comparison->group_count);
    gnn_styles_choose(places, comparison->group_count, styles);
    gnn_styles_write(styles, comparison->group_count, script);
    return draw_script(script, grouped_bars_gp, dir, "epoch-time", err);
}

/* ---- stage split ---- */

static const char *const part_names[PARTS] = {"work",       "wait: I/O",         "wait: other stage",
                                              "wait: lock", "wait: accelerator", "wait: buffer or row"};
_Static_assert(sizeof part_names / sizeof *part_names == PARTS, "a name for each part");
static const char *const part_colours[PARTS] = {"#0072B2", "#D55E00", "#DDDDDD", "#CC79A7", "#009E73", "#E69F00"};

/* A bar: one worker's seconds per epoch in one stage, mean over the system's runs. */
struct stage_bar {
    char stage[GNN_NAME_MAX];
    double position;
    double part_s[PARTS];
    uint32_t runs;
};

struct split {
    struct stage_bar bars[SYSTEMS_MAX * GNN_RECORD_STAGES_MAX];
    uint32_t bar_count;
    double middles[SYSTEMS_MAX];
    double right, top;
    bool seen[PARTS]; /* parts that are nowhere are left out of the legend */
};

static enum gnn_status add_stage(struct stage_bar *bar, const struct gnn_run_record *run,
                                 const struct gnn_record_stage *stage, struct gnn_err *err)
{
    uint64_t parts_ns[PARTS];
    gnn_stage_parts(stage, parts_ns);
    const bool counted = stage->workers != GNN_UNKNOWN && stage->workers > 0;
    for (int p = 0; p < PARTS; p++) {
        if (!counted || parts_ns[p] == GNN_UNKNOWN)
            return gnn_fail(err, GNN_EFORMAT, "stage %s of run %" PRId64 " has no split (%s): nothing to draw",
                            stage->stage, run->run_id, part_names[p]);
        bar->part_s[p] += 1e-9 * (double)parts_ns[p] / ((double)stage->workers * (double)run->epoch_count);
    }
    bar->runs++;
    return GNN_OK;
}

static struct stage_bar *find_bar(struct split *split, uint32_t first, const char *stage)
{
    for (uint32_t b = first; b < split->bar_count; b++)
        if (strcmp(split->bars[b].stage, stage) == 0)
            return &split->bars[b];
    assert(split->bar_count < sizeof split->bars / sizeof *split->bars);
    struct stage_bar *bar = &split->bars[split->bar_count++];
    *bar = (struct stage_bar){0};
    (void)snprintf(bar->stage, sizeof bar->stage, "%.63s", stage);
    return bar;
}

static enum gnn_status add_group(struct split *split, const struct group *group, struct gnn_err *err)
{
    const uint32_t first = split->bar_count;
    for (uint32_t r = 0; r < group->run_count; r++) {
        struct gnn_record_stage stages[GNN_RECORD_STAGES_MAX];
        if (!usable(group->runs[r]))
            continue;
        const uint32_t count = gnn_run_stage_sums(group->runs[r], stages);
        for (uint32_t s = 0; s < count && split->bar_count < first + GNN_RECORD_STAGES_MAX; s++)
            GNN_TRY(add_stage(find_bar(split, first, stages[s].stage), group->runs[r], &stages[s], err));
    }
    if (group->usable > 0 && split->bar_count == first)
        return gnn_fail(err, GNN_EFORMAT, "%s has no stages to draw: its series would be empty", group->label);
    return GNN_OK;
}

/* Clusters stand one bar's width apart; a system without times keeps two empty places for its word. */
static void place_group(struct split *split, uint32_t first, uint32_t group)
{
    const double start = group == 0 ? 0.0 : split->right + 2.0;
    const uint32_t bars = split->bar_count - first;
    assert(first <= split->bar_count);
    assert(group < SYSTEMS_MAX);
    for (uint32_t b = 0; b < bars; b++) {
        struct stage_bar *bar = &split->bars[first + b];
        assert(bar->runs > 0);
        bar->position = start + b;
        double height_s = 0;
        for (int p = 0; p < PARTS; p++) {
            bar->part_s[p] /= bar->runs;
            height_s += bar->part_s[p];
            split->seen[p] = split->seen[p] || bar->part_s[p] > 0;
        }
        split->top = height_s > split->top ? height_s : split->top;
    }
    split->right = start + (bars == 0 ? 1.0 : bars - 1);
    split->middles[group] = 0.5 * (start + split->right);
}

static enum gnn_status write_split_data(const struct split *split, const char *dir, struct gnn_err *err)
{
    FILE *data;
    GNN_TRY(gnn_out_file_open(dir, "stage-split", "dat", &data, err));
    (void)fputs("# position, stage, seconds of one worker per epoch:", data);
    for (int p = 0; p < PARTS; p++)
        if (split->seen[p])
            (void)fprintf(data, " %s;", part_names[p]);
    (void)fputc('\n', data);
    for (uint32_t b = 0; b < split->bar_count; b++) {
        char stage[GNN_NAME_MAX];
        (void)fprintf(data, "%.9g\t%s", split->bars[b].position,
                      gnn_text_plain(split->bars[b].stage, stage, sizeof stage));
        for (int p = 0; p < PARTS; p++)
            if (split->seen[p])
                (void)fprintf(data, "\t%.9g", split->bars[b].part_s[p]);
        (void)fputc('\n', data);
    }
    return gnn_out_file_close(data, dir, "stage-split", "dat", err);
}

static void write_clusters(FILE *script, const struct comparison *comparison, const struct split *split)
{
    uint32_t stage_width = 0, name_width = 0, name_lines = 1;
    for (uint32_t b = 0; b < split->bar_count; b++)
        stage_width = gnn_max_u32(stage_width, gnn_text_width(split->bars[b].stage));
    (void)fprintf(script, "clusters = %u\nright = %.9g\n", comparison->group_count, split->right);
    (void)fprintf(script, "array cluster_names[%u]\narray cluster_middles[%u]\n", comparison->group_count,
                  comparison->group_count);
    for (uint32_t g = 0; g < comparison->group_count; g++) {
        const struct group *group = &comparison->groups[g];
        char name[sizeof group->label], label[sizeof group->label + 32];
        memcpy(name, group->label, sizeof name);
        (void)gnn_text_wrap(name, NAME_CHARACTERS);
        (void)snprintf(label, sizeof label, group->usable == 0 ? "%s\n%s" : "%s", name, missing_word(group));
        name_width = gnn_max_u32(name_width, gnn_text_width(label));
        name_lines = gnn_max_u32(name_lines, gnn_text_lines(label));
        (void)fprintf(script, "cluster_middles[%u] = %.9g\ncluster_names[%u] = ", g + 1, split->middles[g], g + 1);
        gnn_gnuplot_string(script, label);
        (void)fputc('\n', script);
    }
    (void)fprintf(script, "stage_width = %u\nname_width = %u\nname_lines = %u\n", stage_width, name_width, name_lines);
}

static enum gnn_status draw_stage_split(const struct comparison *comparison, const char *dir, struct gnn_err *err)
{
    struct split split = {0};
    for (uint32_t g = 0; g < comparison->group_count; g++) {
        const uint32_t first = split.bar_count;
        GNN_TRY(add_group(&split, &comparison->groups[g], err));
        place_group(&split, first, g);
    }
    GNN_TRY(write_split_data(&split, dir, err));
    FILE *script;
    char caption[sizeof comparison->caption + 96];
    (void)snprintf(caption, sizeof caption, "%s\nEach bar: one worker of a stage in one epoch (mean).",
                   comparison->caption);
    GNN_TRY(begin_script(dir, "stage-split", "What each stage's time goes into", "seconds per epoch and worker",
                         caption, 1.08 * split.top, &script, err));
    const char *names[PARTS] = {0};
    const char *colours[PARTS] = {0};
    uint32_t parts = 0;
    for (int p = 0; p < PARTS; p++) {
        names[parts] = part_names[p];
        colours[parts] = part_colours[p];
        parts += split.seen[p] ? 1 : 0;
    }
    (void)fprintf(script, "parts = %u\n", parts);
    set_strings(script, "names", names, parts);
    set_strings(script, "colours", colours, parts);
    write_clusters(script, comparison, &split);
    return draw_script(script, stacked_bars_gp, dir, "stage-split", err);
}

/* ---- the comparison ---- */

static enum gnn_status make_dir(const char *dir, struct gnn_err *err)
{
    if (mkdir(dir, 0777) == 0 || errno == EEXIST)
        return GNN_OK;
    const bool wrong = errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG || errno == ELOOP;
    const bool denied = errno == EACCES || errno == EPERM || errno == EROFS;
    return gnn_fail(err,
                    wrong                                ? GNN_ENOENT
                    : denied                             ? GNN_EPERM
                    : errno == ENOSPC || errno == EDQUOT ? GNN_ENOSPC
                                                         : GNN_EIO,
                    "--plot %s: %s; name a folder you may write", dir, strerror(errno));
}

/* Runs under a container's memory limit and runs without it are no comparison of systems. */
static enum gnn_status check_limits(const struct gnn_run_record *runs, uint32_t count, struct gnn_err *err)
{
    char bytes[32];
    const uint64_t first_bytes = gnn_run_inherited_bytes(&runs[0]);
    for (uint32_t i = 1; i < count; i++) {
        const uint64_t next_bytes = gnn_run_inherited_bytes(&runs[i]);
        const bool first = first_bytes != GNN_UNKNOWN;
        if (next_bytes != first_bytes)
            return gnn_fail(err, GNN_EUSAGE,
                            "run %" PRId64 " inherited a memory limit of %s from its container or control group, and "
                            "run %" PRId64 " did not: name runs with one inherited limit",
                            runs[first ? 0 : i].run_id,
                            gnn_format_bytes(first ? first_bytes : next_bytes, bytes, sizeof bytes),
                            runs[first ? i : 0].run_id);
    }
    return GNN_OK;
}

enum gnn_status gnn_plot_comparison(const struct gnn_run_record *runs, uint32_t count, gnn_place_fn *place,
                                    const char *out_dir, struct gnn_err *err)
{
    if (count == 0)
        return gnn_fail(err, GNN_EFORMAT, "no finished runs: nothing to draw");
    if (count > RUNS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%u runs in one picture, at most %d: name fewer", count, RUNS_MAX);
    GNN_TRY(check_limits(runs, count, err));
    GNN_TRY(make_dir(out_dir, err));
    struct comparison *comparison;
    GNN_NEW(comparison, 1, err, "picture");
    comparison->place = place;
    enum gnn_status status = group_runs(runs, count, comparison, err);
    uint32_t with_times = 0;
    for (uint32_t g = 0; g < comparison->group_count; g++)
        with_times += comparison->groups[g].usable;
    if (status == GNN_OK && with_times == 0)
        status =
            gnn_fail(err, GNN_EFORMAT,
                     "none of the %u runs has a valid epoch under an enforced memory limit: nothing to draw", count);
    if (status == GNN_OK) {
        write_caption(comparison);
        status = draw_epoch_time(comparison, out_dir, err);
    }
    GNN_NEXT(status, draw_stage_split(comparison, out_dir, err));
    free(comparison);
    return status;
}

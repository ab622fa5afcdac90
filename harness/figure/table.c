/* SPDX-License-Identifier: MIT */
#include "harness/base/data_dirs.h"
#include "harness/base/units.h"
#include "harness/figure/axes.h"
#include "harness/figure/order.h"
#include "harness/figure/show.h"
#include "harness/figure/values.h"
#include "harness/record/notes.h"
#include "harness/record/summary.h"
#include "harness/run/parameter.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 1024, ASSUMED_MAX = 6, WORDS_MAX = 4 };

/* ---- the table ---- */

/* The printed value in brackets, with what it is divided by: "[580 / 100]". */
static void put_published(const struct gnn_paper_figure *figure, uint32_t metric, const struct gnn_published_row *row,
                          FILE *out)
{
    const uint32_t divisor = gnn_figure_published_divisor(figure, metric);
    if (row != NULL && divisor > 1 && isfinite(gnn_published_value(row)))
        (void)fprintf(out, " [%s / %u]", row->value, divisor);
    else if (row != NULL)
        (void)fprintf(out, " [%s]", row->value);
}

static void put_value(const struct gnn_paper_figure *figure, uint32_t metric, uint32_t series, const uint32_t *at,
                      FILE *out)
{
    const struct gnn_figure_value value = gnn_figure_value_at(figure, figure->metrics[metric], series, at);
    const struct gnn_published_row *const row = gnn_figure_published(figure, metric, series, at);
    if (value.state != GNN_VALUE_KNOWN)
        (void)fprintf(out, " %s", value.word);
    else if (value.runs > 1)
        (void)fprintf(out, " %.4g (%.4g to %.4g)", value.median, value.least, value.most);
    else
        (void)fprintf(out, " %.4g", value.median);
    if (value.state == GNN_VALUE_KNOWN && value.lost > 0)
        (void)fprintf(out, ", %u %s", value.lost, value.word);
    const double ratio = gnn_figure_relative(figure, figure->metrics[metric], series, at);
    if (isfinite(ratio) && !gnn_figure_is_base(figure, at))
        (void)fprintf(out, " (x %.3g)", ratio);
    put_published(figure, metric, row, out);
    (void)fputs(" |", out);
}

/* Whether the figure or the paper has anything there. */
static bool has_value(const struct gnn_paper_figure *figure, uint32_t series, const uint32_t *at)
{
    bool has = gnn_figure_find(figure, series, at) != NULL;
    for (uint32_t m = 0; m < figure->metric_count && !has; m++)
        has = gnn_figure_published(figure, m, series, at) != NULL;
    return has;
}

/* Whether rows are named by the axis: a figure without x has one without a key. */
static bool names_rows(const struct gnn_paper_figure *figure, uint32_t axis)
{
    return axis != gnn_column_axis(figure) && figure->axes[axis].key[0] != '\0';
}

/* Whether the series has anything at this combination of facets. */
static bool has_line(const struct gnn_paper_figure *figure, uint32_t series, const uint32_t *facets)
{
    const uint32_t c = gnn_column_axis(figure);
    uint32_t at[GNN_AXES_MAX];
    memcpy(at, facets, sizeof at);
    for (at[c] = 0; at[c] < figure->axes[c].count; at[c]++)
        if (has_value(figure, series, at))
            return true;
    return false;
}

const char *gnn_axis_label(const struct gnn_paper_figure *figure, uint32_t axis, uint32_t i, char text[GNN_AXIS_LABEL])
{
    const char *const value = figure->axes[axis].values[i];
    uint64_t bytes;
    if (figure->scale_divisor <= 1 || strcmp(figure->axes[axis].key, "memory") != 0 ||
        gnn_parse_bytes(value, &bytes, NULL) != GNN_OK || bytes == 0)
        return value;
    return gnn_format_bytes(bytes / figure->scale_divisor, text, GNN_AXIS_LABEL);
}

static void put_lines(const struct gnn_paper_figure *figure, uint32_t metric, uint32_t series, FILE *out)
{
    const uint32_t c = gnn_column_axis(figure);
    uint32_t at[GNN_AXES_MAX] = {0};
    char text[GNN_AXIS_LABEL];
    do {
        if (!has_line(figure, series, at))
            continue;
        (void)fprintf(out, "| %s |", figure->series[series].name);
        for (uint32_t a = 0; a < figure->axis_count; a++)
            if (names_rows(figure, a))
                (void)fprintf(out, " %s |", gnn_axis_label(figure, a, at[a], text));
        for (at[c] = 0; at[c] < figure->axes[c].count; at[c]++)
            put_value(figure, metric, series, at, out);
        at[c] = 0;
        (void)fputc('\n', out);
    } while (gnn_axes_next_row(figure, at));
}

static void put_tables(const struct gnn_paper_figure *figure, FILE *out)
{
    const uint32_t c = gnn_column_axis(figure);
    const struct gnn_axis *const x = &figure->axes[c];
    char text[GNN_AXIS_LABEL];
    for (uint32_t m = 0; m < figure->metric_count; m++) {
        (void)fprintf(out, "\n%s\n\n| series |", figure->metrics[m]);
        for (uint32_t a = 0; a < figure->axis_count; a++)
            if (names_rows(figure, a))
                (void)fprintf(out, " %s |", figure->axes[a].key);
        for (uint32_t i = 0; i < x->count; i++)
            (void)fprintf(out, " %s%s%s |", c == 0 ? x->key : "", c == 0 && x->key[0] != '\0' ? "=" : "",
                          gnn_axis_label(figure, c, i, text));
        (void)fputs("\n|---|", out);
        for (uint32_t a = 0; a < figure->axis_count; a++)
            (void)fputs(names_rows(figure, a) ? "---|" : "", out);
        for (uint32_t i = 0; i < x->count; i++)
            (void)fputs("---|", out);
        (void)fputc('\n', out);
        for (uint32_t s = 0; s < figure->series_count; s++)
            put_lines(figure, m, s, out);
    }
}

/* Whether there is anything in a row, of whose columns `place` is the first, or in a column likewise. */
static bool has_any(const struct gnn_paper_figure *figure, uint32_t first, uint32_t end, struct gnn_figure_place place)
{
    bool any;
    do
        any = has_value(figure, place.series, place.at);
    while (!any && gnn_figure_next_place(figure, first, end, &place));
    return any;
}

static const char *key_label(const struct gnn_paper_figure *figure, int32_t key, const struct gnn_figure_place *place,
                             char text[GNN_AXIS_LABEL])
{
    return key == GNN_KEY_SERIES ? figure->series[place->series].name
                                 : gnn_axis_label(figure, (uint32_t)key, place->at[key], text);
}

/* Prints a column for each metric; keys that name no row multiply them: "A, dim=64: epoch_s". Returns how many. */
static uint32_t put_columns(const struct gnn_paper_figure *figure, FILE *out)
{
    const uint32_t rows = figure->row_key_count, keys = figure->key_count;
    struct gnn_figure_place place = {.series = 0};
    char text[GNN_AXIS_LABEL];
    uint32_t columns = 0;
    do
        for (uint32_t m = 0; m < figure->metric_count && has_any(figure, 0, rows, place); m++, columns++) {
            (void)fputc(' ', out);
            for (uint32_t k = rows; k < keys; k++)
                if (gnn_figure_key_values(figure, figure->keys[k]) > 1)
                    (void)fprintf(out, "%s%s%s: ", figure->keys[k] < 0 ? "" : figure->axes[figure->keys[k]].key,
                                  figure->keys[k] < 0 ? "" : "=", key_label(figure, figure->keys[k], &place, text));
            (void)fprintf(out, "%s |", figure->metrics[m]);
        }
    while (gnn_figure_next_place(figure, rows, keys, &place));
    return columns;
}

/* One table, with a row for each combination of the keys of `rows`. */
static void put_across(const struct gnn_paper_figure *figure, FILE *out)
{
    const uint32_t rows = figure->row_key_count, keys = figure->key_count;
    struct gnn_figure_place place = {.series = 0};
    char text[GNN_AXIS_LABEL];
    (void)fputs("\n|", out);
    for (uint32_t i = 0; i < rows; i++)
        (void)fprintf(out, " %s |", figure->row_keys[i] < 0 ? "series" : figure->axes[figure->row_keys[i]].key);
    const uint32_t columns = put_columns(figure, out);
    (void)fputs("\n|", out);
    for (uint32_t i = 0; i < rows + columns; i++)
        (void)fputs("---|", out);
    (void)fputc('\n', out);
    do {
        if (!has_any(figure, rows, keys, place))
            continue;
        (void)fputc('|', out);
        for (uint32_t i = 0; i < rows; i++)
            (void)fprintf(out, " %s |", key_label(figure, figure->row_keys[i], &place, text));
        do {
            struct gnn_figure_place column = place;
            for (uint32_t k = 0; k < rows; k++)
                *(figure->keys[k] < 0 ? &column.series : &column.at[figure->keys[k]]) = 0;
            for (uint32_t m = 0; m < figure->metric_count && has_any(figure, 0, rows, column); m++)
                put_value(figure, m, place.series, place.at, out);
        } while (gnn_figure_next_place(figure, rows, keys, &place));
        (void)fputc('\n', out);
    } while (gnn_figure_next_place(figure, 0, rows, &place));
}

/* Returns what the figure's published numbers are divided by: 0 without a published value, otherwise 1, or K if any of
 * them is. */
static uint32_t published_divisor(const struct gnn_paper_figure *figure)
{
    uint32_t divisor = 0;
    for (uint32_t m = 0; m < figure->metric_count; m++)
        for (uint32_t s = 0; s < figure->series_count; s++) {
            uint32_t at[GNN_AXES_MAX] = {0};
            do {
                const struct gnn_published_row *const row = gnn_figure_published(figure, m, s, at);
                const bool number = row != NULL && isfinite(gnn_published_value(row));
                if (row != NULL)
                    divisor = gnn_max_u32(divisor, number ? gnn_figure_published_divisor(figure, m) : 1);
            } while (gnn_axes_next(figure, 0, at));
        }
    return divisor;
}

void gnn_figure_table(const struct gnn_paper_figure *figure, FILE *out)
{
    (figure->about.layout[0] != '\0' ? put_across : put_tables)(figure, out);
    const uint32_t divisor = published_divisor(figure);
    if (figure->about.relative[0] != '\0')
        (void)fprintf(out, "\n[x: over the value at %s]\n", figure->about.relative);
    if (divisor > 1)
        (void)fprintf(
            out,
            "\n[in brackets: as published; at 1/%u an epoch has 1/%u of the work, so published times and sizes "
            "are divided by %u]\n",
            divisor, divisor, divisor);
    else if (divisor > 0)
        (void)fputs("\n[in brackets: as published]\n", out);
}

/* ---- CSV ---- */

static void put_field(const char *text, char end, FILE *out)
{
    if (strpbrk(text, ",\"\n") == NULL) {
        (void)fprintf(out, "%s%c", text, end);
        return;
    }
    (void)fputc('"', out);
    for (; *text != '\0'; text++)
        (void)fprintf(out, *text == '"' ? "\"%c" : "%c", *text);
    (void)fprintf(out, "\"%c", end);
}

static void put_row(const struct gnn_paper_figure *figure, uint32_t series, const uint32_t *at, FILE *out)
{
    const struct gnn_figure_value drawn = gnn_figure_value_at(figure, figure->metrics[0], series, at);
    put_field(figure->series[series].name, ',', out);
    for (uint32_t a = 0; a < figure->axis_count; a++)
        put_field(figure->axes[a].values[at[a]], ',', out);
    put_field(drawn.state == GNN_VALUE_KNOWN ? "ok" : drawn.word, ',', out);
    (void)fprintf(out, "%u,", drawn.runs);
    for (uint32_t m = 0; m < figure->metric_count; m++) {
        const struct gnn_figure_value value = gnn_figure_value_at(figure, figure->metrics[m], series, at);
        const struct gnn_published_row *const row = gnn_figure_published(figure, m, series, at);
        if (value.state == GNN_VALUE_KNOWN)
            (void)fprintf(out, "%.9g,%.9g,%.9g,", value.median, value.least, value.most);
        else
            (void)fputs(",,,", out);
        put_field(row != NULL ? row->value : "", ',', out);
        put_field(row != NULL ? row->source : "", ',', out);
        if (row != NULL && isfinite(gnn_published_value(row)))
            (void)fprintf(out, "%.9g", gnn_published_value(row) / gnn_figure_published_divisor(figure, m));
        (void)fputc(m + 1 < figure->metric_count ? ',' : '\n', out);
    }
}

static void put_csv(const struct gnn_paper_figure *figure, FILE *out)
{
    (void)fputs("series,", out);
    for (uint32_t a = 0; a < figure->axis_count; a++)
        put_field(figure->axes[a].key[0] != '\0' ? figure->axes[a].key : "x", ',', out);
    (void)fputs("status,runs,", out);
    for (uint32_t m = 0; m < figure->metric_count; m++) {
        const char *const name = figure->metrics[m];
        (void)fprintf(out, "%s%s,%s_least,%s_most,%s_published,%s_source,%s_drawn", m > 0 ? "," : "", name, name, name,
                      name, name, name);
    }
    (void)fputc('\n', out);
    struct gnn_figure_place place = {.series = 0};
    do
        if (has_value(figure, place.series, place.at))
            put_row(figure, place.series, place.at, out);
    while (gnn_figure_next_place(figure, 0, figure->key_count, &place));
}

enum gnn_status gnn_figure_csv(const struct gnn_paper_figure *figure, const char *dir, struct gnn_err *err)
{
    char path[PATH_BYTES];
    GNN_TRY(gnn_make_dirs(dir, err));
    (void)snprintf(path, sizeof path, "%s/%s.csv", dir, figure->file);
    FILE *const file = fopen(path, "we");
    if (file == NULL)
        return gnn_fail(err, errno == EACCES ? GNN_EPERM : gnn_errno_status(errno, GNN_EIO), "%s: %s", path,
                        strerror(errno));
    put_csv(figure, file);
    const bool bad = ferror(file) != 0;
    if (fclose(file) != 0 || bad)
        return gnn_fail(err, errno == ENOSPC ? GNN_ENOSPC : GNN_EIO, "%s: %s", path, strerror(errno));
    return GNN_OK;
}

/* ---- the caption ---- */

struct caption {
    char *text;
    size_t bytes, used;
};

static void say(struct caption *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct caption *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (c->used < c->bytes) {
        const int wrote = vsnprintf(c->text + c->used, c->bytes - c->used, format, args);
        c->used += wrote > 0 ? (size_t)wrote : 0;
    }
    va_end(args);
}

/* Names the profile's figures that are assumed, those that its file marks so. */
static void say_assumed(struct caption *c, const char *profile)
{
    struct gnn_ini *const ini = gnn_run_profile_file(profile);
    uint32_t count = 0;
    for (uint32_t s = 0; ini != NULL && s < gnn_ini_section_count(ini); s++)
        for (uint32_t i = 0; i < gnn_ini_section(ini, s)->entry_count; i++) {
            const struct gnn_ini_entry *const entry = &gnn_ini_section(ini, s)->entries[i];
            if (strstr(entry->value, " assumed") == NULL)
                continue;
            if (count < ASSUMED_MAX)
                say(c, "%s%s.%s", count == 0 ? " (assumed there: " : ", ", gnn_ini_section(ini, s)->name, entry->key);
            count++;
        }
    if (count > ASSUMED_MAX)
        say(c, " and %u more", count - ASSUMED_MAX);
    if (count > 0)
        say(c, ")");
    gnn_ini_close(ini);
}

typedef const char *text_fn(const struct gnn_run_record *run);

/* The different texts that the recorded runs have for something. Returns how many. */
static uint32_t find_all(const struct gnn_paper_figure *figure, text_fn *text_of, const char *told[WORDS_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < figure->job->count; i++)
        for (uint32_t r = 0; r < figure->cells[i].run_count; r++) {
            const char *const text = text_of(&figure->cells[i].runs[r]);
            bool known = text == NULL || text[0] == '\0' || count == WORDS_MAX;
            for (uint32_t t = 0; t < count && !known; t++)
                known = strcmp(told[t], text) == 0;
            if (!known)
                told[count++] = text;
        }
    return count;
}

/* Says all of them, behind `lead`: "compute a and b"; nothing where there are none. */
static void say_all(struct caption *c, const struct gnn_paper_figure *figure, const char *lead, text_fn *text_of)
{
    const char *told[WORDS_MAX];
    const uint32_t count = find_all(figure, text_of, told);
    for (uint32_t t = 0; t < count; t++)
        say(c, "%s%s", t == 0 ? lead : " and ", told[t]);
}

/* The same of numbers of bytes. */
static void say_all_bytes(struct caption *c, const struct gnn_paper_figure *figure, const char *lead, text_fn *text_of)
{
    const char *told[WORDS_MAX];
    char bytes[32];
    const uint32_t count = find_all(figure, text_of, told);
    for (uint32_t t = 0; t < count; t++)
        say(c, "%s%s", t == 0 ? lead : " and ", gnn_format_bytes(strtoull(told[t], NULL, 10), bytes, sizeof bytes));
}

static const char *compute_of(const struct gnn_run_record *run)
{
    return run->compute;
}

static const char *world_of(const struct gnn_run_record *run)
{
    return run->world;
}

static const char *profile_of(const struct gnn_run_record *run)
{
    return run->profile;
}

static const char *changes_of(const struct gnn_run_record *run)
{
    return gnn_kv_get(&run->config, "profile-set");
}

static const char *costs_of(const struct gnn_run_record *run)
{
    return run->profile[0] != '\0' ? gnn_kv_get(&run->config, "costs") : NULL;
}

static const char *scale_of(const struct gnn_run_record *run)
{
    return gnn_kv_get(&run->config, "scale");
}

static const char *readahead_of(const struct gnn_run_record *run)
{
    return gnn_kv_get(&run->environment, "device.readahead_bytes");
}

static const char *start_of(const struct gnn_run_record *run)
{
    return run->cold_observed == 1 ? "cold" : run->cold_observed == 0 ? "warm" : "";
}

static const char *build_of(const struct gnn_run_record *run)
{
    return gnn_kv_get(&run->environment, "build.revision");
}

static const char *fio_of(const struct gnn_run_record *run)
{
    return gnn_kv_get(&run->environment, "fio.version");
}

static const char *read_size_of(const struct gnn_run_record *run)
{
    return fio_of(run) != NULL ? gnn_kv_get(&run->config, "bs") : NULL;
}

static const struct gnn_run_record *any_run(const struct gnn_paper_figure *figure, uint32_t *most)
{
    const struct gnn_run_record *run = NULL;
    *most = 0;
    for (uint32_t i = 0; i < figure->job->count; i++) {
        *most = gnn_max_u32(*most, figure->cells[i].run_count);
        if (run == NULL && figure->cells[i].run_count > 0)
            run = &figure->cells[i].runs[0];
    }
    return run;
}

static const char *cap_of(const struct gnn_run_record *run)
{
    return run->cap_enforcement;
}

static const char *inherited_of(const struct gnn_run_record *run)
{
    return gnn_run_inherited_bytes(run) == GNN_UNKNOWN ? NULL
                                                       : gnn_kv_get(&run->environment, GNN_ENVIRONMENT_INHERITED);
}

/* Returns the number of an option that cuts epochs, where it did. */
static const char *cut_by(const struct gnn_run_record *run, const char *option)
{
    char part[GNN_PART_BYTES];
    const char *const number = gnn_kv_get(&run->config, option);
    return number != NULL && strcmp(number, "0") != 0 && gnn_run_part(run, part)[0] != '\0' ? number : NULL;
}

static const char *part_of(const struct gnn_run_record *run)
{
    return cut_by(run, "max-batches");
}

static const char *extrapolated_from(const struct gnn_run_record *run)
{
    return cut_by(run, "batches");
}

/* Explains the words that stand in place of numbers. */
static void say_words(struct caption *c, const struct gnn_paper_figure *figure)
{
    static const struct {
        enum gnn_run_status status;
        const char *text;
    } words[] = {{GNN_RUN_OOM, "OOM: out of memory"},
                 {GNN_RUN_GPU_OOM, "GPU OOM: out of GPU memory"},
                 {GNN_RUN_OOT, "OOT: over the time limit"}};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        bool stands = false;
        for (uint32_t i = 0; i < figure->job->count; i++) {
            const struct gnn_figure_cell *const cell = &figure->cells[i];
            stands = stands || (cell->run_count > 0 && cell->runs[cell->run_count - 1].status == words[w].status);
        }
        if (stands)
            say(c, ". %s", words[w].text);
    }
    for (uint32_t i = 0; i < figure->job->count; i++) {
        const struct gnn_figure_cell *const cell = &figure->cells[i];
        if (cell->run_count == 0 || !gnn_run_is_unsettled(&cell->runs[cell->run_count - 1]))
            continue;
        say(c, ". Not settled: in the part of an epoch that ran, mini-batches get faster or slower, or too few are "
               "independent");
        return;
    }
}

/* The state of the machine: page cache, readahead, limit. */
static void say_machine(struct caption *c, const struct gnn_paper_figure *figure)
{
    const char *told[WORDS_MAX];
    if (find_all(figure, start_of, told) > 0) {
        say_all(c, figure, ". Page cache ", start_of);
        say(c, " at start");
    }
    say_all_bytes(c, figure, find_all(figure, start_of, told) > 0 ? ", device readahead " : ". Device readahead ",
                  readahead_of);
    say_all(c, figure, ". Memory limit: ", cap_of);
    say_all_bytes(c, figure, ". Memory limit inherited from the container or control group: ", inherited_of);
}

static void add_spread(struct gnn_trust *trust, const struct gnn_figure_cell *cell)
{
    const struct gnn_run_record **const runs = calloc(cell->run_count + UINT32_C(1), sizeof(void *));
    for (uint32_t r = 0; r < cell->run_count && runs != NULL; r++)
        runs[r] = &cell->runs[r];
    if (runs != NULL)
        gnn_trust_add_spread(trust, runs, cell->run_count);
    free(runs);
}

/* What is known against the measured times. */
static void say_trust(struct caption *c, const struct gnn_paper_figure *figure)
{
    struct gnn_trust trust;
    char notes[GNN_NOTES_BYTES];
    gnn_trust_init(&trust);
    for (uint32_t i = 0; i < figure->job->count; i++) {
        const struct gnn_figure_cell *const cell = &figure->cells[i];
        for (uint32_t r = 0; r < cell->run_count; r++)
            gnn_trust_add(&trust, &cell->runs[r]);
        add_spread(&trust, cell);
    }
    if (gnn_trust_text(&trust, notes, sizeof notes))
        say(c, ". Note: %s", notes);
}

static void say_published(struct caption *c, const struct gnn_paper_figure *figure)
{
    const uint32_t divisor = published_divisor(figure);
    const char *const also = figure->about.published_also;
    if (divisor > 0)
        say(c, ". Published values from the paper: %s%s%s", figure->about.place, also[0] != '\0' ? " and " : "", also);
    if (divisor > 1)
        say(c, ", times and sizes divided by %u", divisor);
}

void gnn_figure_caption(const struct gnn_paper_figure *figure, char *text, size_t text_bytes)
{
    struct caption c = {.text = text, .bytes = text_bytes};
    uint32_t most;
    const struct gnn_run_record *const run = any_run(figure, &most);
    assert(text_bytes > 0);
    text[0] = '\0';
    if (figure->caption[0] != '\0')
        say(&c, "%s", figure->caption);
    if (run == NULL || figure->caption[0] != '\0')
        return;
    say_all(&c, figure, "", world_of);
    text[0] = (char)toupper((unsigned char)text[0]);
    say(&c, " world");
    say_all(&c, figure, ", profile ", profile_of);
    if (run->profile[0] != '\0')
        say_assumed(&c, run->profile);
    say_all(&c, figure, ", profile changed: ", changes_of);
    if (figure->own)
        say_all(&c, figure, ", scale ", scale_of);
    else
        say(&c, ", scale 1/%u", figure->scale_divisor);
    say_all(&c, figure, ", ", fio_of);
    say_all(&c, figure, ", bytes per read ", read_size_of);
    say_all(&c, figure, ", compute ", compute_of);
    say_all(&c, figure, ", costs ", costs_of);
    say_machine(&c, figure);
    say_all(&c, figure, ". Parts of epochs, in mini-batches: ", part_of);
    say_all(&c, figure, ". Epochs extrapolated from mini-batches: ", extrapolated_from);
    if (figure->put_over[0] != '\0')
        say(&c, ". All runs with %s", figure->put_over);
    const char *const average = figure->about.average[0] != '\0' ? "Mean" : "Median";
    if (figure->about.over[0] != '\0')
        say(&c, ". %s and range over %s", average, figure->about.over);
    if (figure->has_variants)
        say(&c, ". Variants: %s.ini", figure->file + strlen(figure->id) + 1);
    if (most > 1)
        say(&c, ". %s and range of up to %u runs per configuration", average, most);
    else
        say(&c, ". One run per configuration");
    say_trust(&c, figure);
    say_words(&c, figure);
    say_published(&c, figure);
    say_all(&c, figure, ". Build ", build_of);
    say(&c, ".%s%s", figure->about.note[0] != '\0' ? " " : "", figure->about.note);
}

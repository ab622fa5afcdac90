/* SPDX-License-Identifier: MIT */
#include "harness/base/csv.h"
#include "harness/base/data_dirs.h"
#include "harness/base/out_file.h"
#include "harness/base/units.h"
#include "harness/figure/order.h"
#include "harness/figure/show.h"
#include "harness/figure/values.h"

#include <math.h>
#include <string.h>

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

const char *gnn_axis_label(const struct gnn_paper_figure *figure, uint32_t axis, uint32_t i, char text[GNN_AXIS_LABEL])
{
    const char *const value = figure->axes[axis].values[i];
    uint64_t bytes;
    if (figure->scale_divisor <= 1 || strcmp(figure->axes[axis].key, "memory") != 0 ||
        gnn_parse_bytes(value, &bytes, NULL) != GNN_OK || bytes == 0)
        return value;
    return gnn_format_bytes(bytes / figure->scale_divisor, text, GNN_AXIS_LABEL);
}

/* What the rows and columns of a table are. */
struct layout {
    int32_t names[GNN_KEYS_MAX]; /* (rows) what names a row, in the order of the columns with the names */
    int32_t keys[GNN_KEYS_MAX];  /* (count) those of the rows, then those of the columns */
    uint32_t rows, count;
    uint32_t metric, end; /* metrics from number `metric` up to `end` */
};

/* Whether there is anything in a row, of whose columns `place` is the first, or in a column likewise. */
static bool has_any(const struct gnn_paper_figure *figure, const int32_t *keys, uint32_t count,
                    struct gnn_figure_place place)
{
    bool any;
    do
        any = has_value(figure, place.series, place.at);
    while (!any && gnn_figure_next_place(figure, keys, count, &place));
    return any;
}

static const char *key_name(const struct gnn_paper_figure *figure, int32_t key)
{
    return key == GNN_KEY_SERIES ? "series" : figure->axes[key].key;
}

static const char *key_label(const struct gnn_paper_figure *figure, int32_t key, const struct gnn_figure_place *place,
                             char text[GNN_AXIS_LABEL])
{
    return key == GNN_KEY_SERIES ? figure->series[place->series].name
                                 : gnn_axis_label(figure, (uint32_t)key, place->at[key], text);
}

/* Prints the name of a column: "x=64" of a table for one metric, "A, dim=64: epoch_s" of a table across. */
static void put_column(const struct gnn_paper_figure *figure, const struct layout *t, uint32_t metric,
                       const struct gnn_figure_place *place, FILE *out)
{
    const bool across = figure->about.layout[0] != '\0';
    char text[GNN_AXIS_LABEL];
    (void)fputc(' ', out);
    for (uint32_t k = t->rows; k < t->count; k++) {
        const int32_t key = t->keys[k];
        const bool named = (across ? key >= 0 : key == 0) && figure->axes[key].key[0] != '\0';
        if (!across || gnn_figure_key_values(figure, key) > 1)
            (void)fprintf(out, "%s%s%s%s", named ? figure->axes[key].key : "", named ? "=" : "",
                          key_label(figure, key, place, text), across ? ": " : "");
    }
    (void)fprintf(out, "%s |", across ? figure->metrics[metric] : "");
}

/* Prints the names of the columns. */
static void put_heading(const struct gnn_paper_figure *figure, const struct layout *t, FILE *out)
{
    struct gnn_figure_place place = {.series = 0};
    uint32_t columns = t->rows;
    (void)fputs("\n|", out);
    for (uint32_t i = 0; i < t->rows; i++)
        (void)fprintf(out, " %s |", key_name(figure, t->names[i]));
    do
        for (uint32_t m = t->metric; m < t->end && has_any(figure, t->keys, t->rows, place); m++, columns++)
            put_column(figure, t, m, &place, out);
    while (gnn_figure_next_place(figure, t->keys + t->rows, t->count - t->rows, &place));
    (void)fputs("\n|", out);
    for (uint32_t i = 0; i < columns; i++)
        (void)fputs("---|", out);
    (void)fputc('\n', out);
}

/* Prints the row that begins at a place. Columns without any value are left out, as in the heading. */
static void put_line(const struct gnn_paper_figure *figure, const struct layout *t, struct gnn_figure_place place,
                     FILE *out)
{
    char text[GNN_AXIS_LABEL];
    (void)fputc('|', out);
    for (uint32_t i = 0; i < t->rows; i++)
        (void)fprintf(out, " %s |", key_label(figure, t->names[i], &place, text));
    do {
        struct gnn_figure_place column = place;
        for (uint32_t k = 0; k < t->rows; k++)
            *(t->keys[k] < 0 ? &column.series : &column.at[t->keys[k]]) = 0;
        for (uint32_t m = t->metric; m < t->end && has_any(figure, t->keys, t->rows, column); m++)
            put_value(figure, m, place.series, place.at, out);
    } while (gnn_figure_next_place(figure, t->keys + t->rows, t->count - t->rows, &place));
    (void)fputc('\n', out);
}

static void put_table(const struct gnn_paper_figure *figure, const struct layout *t, FILE *out)
{
    struct gnn_figure_place place = {.series = 0};
    put_heading(figure, t, out);
    do
        if (has_any(figure, t->keys + t->rows, t->count - t->rows, place))
            put_line(figure, t, place, out);
    while (gnn_figure_next_place(figure, t->keys, t->rows, &place));
}

/* One table, with a row for each combination of the keys of `rows`. */
static void put_across(const struct gnn_paper_figure *figure, FILE *out)
{
    struct layout t = {.rows = figure->row_key_count, .count = figure->key_count, .end = figure->metric_count};
    memcpy(t.names, figure->row_keys, sizeof t.names);
    memcpy(t.keys, figure->keys, sizeof t.keys);
    put_table(figure, &t, out);
}

/* A table for each metric. Its columns are the values of x, or the variants. An axis without a key names no row. */
static void put_tables(const struct gnn_paper_figure *figure, FILE *out)
{
    const int32_t columns = figure->has_variants ? (int32_t)figure->axis_count - 1 : 0;
    struct layout t = {.rows = 0};
    for (int32_t key = GNN_KEY_SERIES; key < (int32_t)figure->axis_count; key++)
        if (key != columns && key_name(figure, key)[0] != '\0')
            t.keys[t.rows++] = key;
    memcpy(t.names, t.keys, sizeof t.names);
    t.keys[t.rows] = columns;
    t.count = t.rows + 1;
    for (; t.metric < figure->metric_count; t.metric++) {
        (void)fprintf(out, "\n%s\n", figure->metrics[t.metric]);
        t.end = t.metric + 1;
        put_table(figure, &t, out);
    }
}

void gnn_figure_table(const struct gnn_paper_figure *figure, FILE *out)
{
    (figure->about.layout[0] != '\0' ? put_across : put_tables)(figure, out);
    const uint32_t divisor = gnn_figure_divisor_shown(figure);
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

static void put_row(const struct gnn_paper_figure *figure, uint32_t series, const uint32_t *at, FILE *out)
{
    const struct gnn_figure_value drawn = gnn_figure_value_at(figure, figure->metrics[0], series, at);
    gnn_csv_put(figure->series[series].name, ',', out);
    for (uint32_t a = 0; a < figure->axis_count; a++)
        gnn_csv_put(figure->axes[a].values[at[a]], ',', out);
    gnn_csv_put(drawn.state == GNN_VALUE_KNOWN ? "ok" : drawn.word, ',', out);
    (void)fprintf(out, "%u,", drawn.runs);
    for (uint32_t m = 0; m < figure->metric_count; m++) {
        const struct gnn_figure_value value = gnn_figure_value_at(figure, figure->metrics[m], series, at);
        const struct gnn_published_row *const row = gnn_figure_published(figure, m, series, at);
        if (value.state == GNN_VALUE_KNOWN)
            (void)fprintf(out, "%.9g,%.9g,%.9g,", value.median, value.least, value.most);
        else
            (void)fputs(",,,", out);
        gnn_csv_put(row != NULL ? row->value : "", ',', out);
        gnn_csv_put(row != NULL ? row->source : "", ',', out);
        if (row != NULL && isfinite(gnn_published_value(row)))
            (void)fprintf(out, "%.9g", gnn_published_value(row) / gnn_figure_published_divisor(figure, m));
        (void)fputc(m + 1 < figure->metric_count ? ',' : '\n', out);
    }
}

static void put_csv(const struct gnn_paper_figure *figure, FILE *out)
{
    (void)fputs("series,", out);
    for (uint32_t a = 0; a < figure->axis_count; a++)
        gnn_csv_put(figure->axes[a].key[0] != '\0' ? figure->axes[a].key : "x", ',', out);
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
    while (gnn_figure_next_place(figure, figure->keys, figure->key_count, &place));
}

enum gnn_status gnn_figure_csv(const struct gnn_paper_figure *figure, const char *dir, struct gnn_err *err)
{
    FILE *file;
    GNN_TRY(gnn_make_dirs(dir, err));
    GNN_TRY(gnn_out_file_open(dir, figure->file, "csv", &file, err));
    put_csv(figure, file);
    return gnn_out_file_close(file, dir, figure->file, "csv", err);
}

/* SPDX-License-Identifier: MIT */
#include "harness/base/csv.h"
#include "harness/base/data_dirs.h"
#include "harness/base/out_file.h"
#include "harness/base/units.h"
#include "harness/figure/axes.h"
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
    } while (gnn_axes_advance(figure->axes, figure->axis_count, ~(UINT32_C(1) << c), at));
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
    while (gnn_figure_next_place(figure, 0, figure->key_count, &place));
}

enum gnn_status gnn_figure_csv(const struct gnn_paper_figure *figure, const char *dir, struct gnn_err *err)
{
    FILE *file;
    GNN_TRY(gnn_make_dirs(dir, err));
    GNN_TRY(gnn_out_file_open(dir, figure->file, "csv", &file, err));
    put_csv(figure, file);
    return gnn_out_file_close(file, dir, figure->file, "csv", err);
}

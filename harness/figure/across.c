/* SPDX-License-Identifier: MIT */
#include "harness/figure/across.h"

#include "harness/base/grow.h"
#include "harness/base/units.h"
#include "harness/figure/axes.h"
#include "harness/figure/values.h"
#include "harness/run/sweep/grid.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- keys ---- */

int32_t gnn_figure_key(const struct gnn_paper_figure *figure, const char *name)
{
    if (strcmp(name, "series") == 0)
        return GNN_KEY_SERIES;
    for (uint32_t a = 0; a < figure->axis_count; a++)
        if (strcmp(figure->axes[a].key, name) == 0)
            return (int32_t)a;
    return GNN_KEYS_MAX;
}

static enum gnn_status add_row_key(struct gnn_paper_figure *figure, int32_t key, struct gnn_err *err)
{
    if (figure->row_key_count == GNN_KEYS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "figure %s: rows: more than %d keys", figure->id, GNN_KEYS_MAX);
    figure->row_keys[figure->row_key_count++] = key;
    return GNN_OK;
}

/* One key of `order`: "memory desc". */
static enum gnn_status add_order(struct gnn_paper_figure *figure, char *text, struct gnn_err *err)
{
    const char *const name = strsep(&text, " ");
    const char *const way = text != NULL ? text + strspn(text, " ") : "";
    const int32_t key = gnn_figure_key(figure, name);
    if (key == GNN_KEYS_MAX || figure->order_count == GNN_KEYS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "figure %s: order: \"%s\" is none of series, rows, x and facets", figure->id,
                        name);
    if (way[0] != '\0' && strcmp(way, "asc") != 0 && strcmp(way, "desc") != 0)
        return gnn_fail(err, GNN_EUSAGE, "figure %s: order: %s %s: expected asc or desc behind a key", figure->id, name,
                        way);
    figure->order[figure->order_count++] = (struct gnn_figure_order){.key = key, .descends = strcmp(way, "desc") == 0};
    return GNN_OK;
}

enum gnn_status gnn_figure_read_rows(struct gnn_paper_figure *figure, struct gnn_err *err)
{
    char text[GNN_FIGURE_LINE];
    char *rest = text;
    (void)snprintf(text, sizeof text, "%s", figure->about.rows);
    for (char *word = strsep(&rest, ", "); word != NULL; word = strsep(&rest, ", "))
        if (word[0] != '\0')
            GNN_TRY(add_row_key(figure, gnn_figure_key(figure, word), err));
    for (int32_t key = GNN_KEY_SERIES; key < (int32_t)figure->axis_count && figure->about.rows[0] == '\0'; key++)
        if (key == GNN_KEY_SERIES || figure->axes[key].key[0] != '\0')
            GNN_TRY(add_row_key(figure, key, err));
    rest = text;
    (void)snprintf(text, sizeof text, "%s", figure->about.order);
    for (char *part = strsep(&rest, ","); part != NULL; part = strsep(&rest, ","))
        if (part[strspn(part, " ")] != '\0')
            GNN_TRY(add_order(figure, part + strspn(part, " "), err));
    return GNN_OK;
}

enum gnn_status gnn_figure_check_keys(const struct gnn_paper_figure *figure, struct gnn_err *err)
{
    const char *const over = figure->about.over;
    for (uint32_t i = 0; i < figure->row_key_count && figure->about.rows[0] != '\0'; i++) {
        const int32_t key = figure->row_keys[i];
        const char *const name = key == GNN_KEY_SERIES ? "" : figure->axes[key].key;
        if (name[0] != '\0' && !gnn_job_has_key(figure->job, name) && gnn_grid_option(name) == NULL)
            return gnn_fail(err, GNN_EUSAGE, "figure %s: rows: \"%s\" is neither series nor a key of a configuration",
                            figure->id, name);
    }
    if (over[0] == '\0')
        return GNN_OK;
    if (!gnn_job_has_key(figure->job, over))
        return gnn_fail(err, GNN_EUSAGE, "figure %s: over: no configuration has a key \"%s\"", figure->id, over);
    if (gnn_figure_key(figure, over) != GNN_KEYS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "figure %s: over: \"%s\" is also in x, facets or rows; remove it there",
                        figure->id, over);
    return GNN_OK;
}

/* ---- places ---- */

bool gnn_figure_has_place(const struct gnn_paper_figure *figure, uint32_t series, const uint32_t *at)
{
    bool has = gnn_figure_find(figure, series, at) != NULL;
    for (uint32_t m = 0; m < figure->metric_count && !has; m++)
        has = gnn_figure_published(figure, m, series, at) != NULL;
    return has;
}

static uint32_t index_on(const struct gnn_figure_place *place, int32_t key)
{
    return key == GNN_KEY_SERIES ? place->series : place->at[key];
}

/* A value of an axis as a number: "8G", "0.5". */
static bool number_of(const char *text, double *out)
{
    uint64_t bytes;
    char *end = NULL;
    *out = strtod(text, &end);
    if (end != text && *end == '\0')
        return true;
    const bool is_size = gnn_parse_bytes(text, &bytes, NULL) == GNN_OK;
    *out = is_size ? (double)bytes : 0;
    return is_size;
}

/* Compares two places on a key: by numbers where both are, else as the file has them. */
static int compare_on(const struct gnn_paper_figure *figure, int32_t key, const struct gnn_figure_place *a,
                      const struct gnn_figure_place *b)
{
    const uint32_t left = index_on(a, key), right = index_on(b, key);
    double x, y;
    if (key != GNN_KEY_SERIES && number_of(figure->axes[key].values[left], &x) &&
        number_of(figure->axes[key].values[right], &y))
        return (x > y) - (x < y);
    return (left > right) - (left < right);
}

static int compare(const struct gnn_paper_figure *figure, const struct gnn_figure_place *a,
                   const struct gnn_figure_place *b)
{
    int order = 0;
    for (uint32_t i = 0; i < figure->order_count && order == 0; i++)
        order = compare_on(figure, figure->order[i].key, a, b) * (figure->order[i].descends ? -1 : 1);
    for (uint32_t i = 0; i < figure->row_key_count && order == 0; i++) {
        const uint32_t left = index_on(a, figure->row_keys[i]), right = index_on(b, figure->row_keys[i]);
        order = (left > right) - (left < right);
    }
    return order;
}

/* Moves the last place behind those that are not greater. */
static void settle_last(const struct gnn_paper_figure *figure, struct gnn_figure_place *places, uint32_t count)
{
    const struct gnn_figure_place last = places[count - 1];
    uint32_t at = count - 1;
    for (; at > 0 && compare(figure, &places[at - 1], &last) > 0; at--)
        places[at] = places[at - 1];
    places[at] = last;
}

enum gnn_status gnn_figure_places(const struct gnn_paper_figure *figure, struct gnn_figure_place **out, uint32_t *count,
                                  struct gnn_err *err)
{
    uint32_t room = 0;
    *out = NULL;
    *count = 0;
    for (uint32_t s = 0; s < figure->series_count; s++) {
        struct gnn_figure_place place = {.series = s};
        do {
            if (!gnn_figure_has_place(figure, s, place.at))
                continue;
            struct gnn_figure_place *const grown = gnn_grow(*out, *count, &room, sizeof *grown);
            if (grown == NULL) {
                free(*out);
                *out = NULL;
                return gnn_fail(err, GNN_ENOMEM, "the places of figure %s", figure->id);
            }
            *out = grown;
            grown[(*count)++] = place;
            settle_last(figure, grown, *count);
        } while (gnn_axes_next(figure, 0, place.at));
    }
    return GNN_OK;
}

/* ---- the table ---- */

void gnn_figure_put_value(const struct gnn_paper_figure *figure, uint32_t metric, uint32_t series, const uint32_t *at,
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
    if (row != NULL)
        (void)fprintf(out, " [%s]", row->value);
    (void)fputs(" |", out);
}

struct table {
    const struct gnn_paper_figure *figure;
    const struct gnn_figure_place *places; /* (count) */
    uint32_t count;
    FILE *out;
};

static bool names_row(const struct table *t, int32_t key)
{
    bool names = false;
    for (uint32_t i = 0; i < t->figure->row_key_count; i++)
        names = names || t->figure->row_keys[i] == key;
    return names;
}

/* Whether a place is the first one of its row, or of its column. */
static bool is_first(const struct table *t, uint32_t place, bool of_row)
{
    for (uint32_t i = 0; i < place; i++) {
        bool same = true;
        for (int32_t key = GNN_KEY_SERIES; key < (int32_t)t->figure->axis_count && same; key++)
            same = names_row(t, key) != of_row || index_on(&t->places[i], key) == index_on(&t->places[place], key);
        if (same)
            return false;
    }
    return true;
}

static const char *label(const struct table *t, const struct gnn_figure_place *place, int32_t key,
                         char text[GNN_AXIS_LABEL])
{
    return key == GNN_KEY_SERIES ? t->figure->series[place->series].name
                                 : gnn_axis_label(t->figure, (uint32_t)key, place->at[key], text);
}

/* Prints what tells a column from others, before the name of its metric: "A, dim=64: ". */
static void put_column(const struct table *t, const struct gnn_figure_place *column)
{
    const char *between = "";
    char text[GNN_AXIS_LABEL];
    for (int32_t key = GNN_KEY_SERIES; key < (int32_t)t->figure->axis_count; key++) {
        bool varies = false;
        for (uint32_t i = 1; i < t->count; i++)
            varies = varies || index_on(&t->places[i], key) != index_on(&t->places[0], key);
        if (!varies || names_row(t, key))
            continue;
        (void)fprintf(t->out, "%s%s%s%s", between, key == GNN_KEY_SERIES ? "" : t->figure->axes[key].key,
                      key == GNN_KEY_SERIES ? "" : "=", label(t, column, key, text));
        between = ", ";
    }
    (void)fputs(between[0] != '\0' ? ": " : "", t->out);
}

static void put_head(const struct table *t)
{
    uint32_t columns = t->figure->row_key_count;
    (void)fputs("\n|", t->out);
    for (uint32_t i = 0; i < t->figure->row_key_count; i++) {
        const int32_t key = t->figure->row_keys[i];
        (void)fprintf(t->out, " %s |", key == GNN_KEY_SERIES ? "series" : t->figure->axes[key].key);
    }
    for (uint32_t c = 0; c < t->count; c++)
        for (uint32_t m = 0; m < t->figure->metric_count && is_first(t, c, false); m++) {
            (void)fputc(' ', t->out);
            put_column(t, &t->places[c]);
            (void)fprintf(t->out, "%s |", t->figure->metrics[m]);
            columns++;
        }
    (void)fputs("\n|", t->out);
    for (uint32_t i = 0; i < columns; i++)
        (void)fputs("---|", t->out);
    (void)fputc('\n', t->out);
}

static void put_row(const struct table *t, const struct gnn_figure_place *row)
{
    char text[GNN_AXIS_LABEL];
    (void)fputs("|", t->out);
    for (uint32_t i = 0; i < t->figure->row_key_count; i++)
        (void)fprintf(t->out, " %s |", label(t, row, t->figure->row_keys[i], text));
    for (uint32_t c = 0; c < t->count; c++) {
        struct gnn_figure_place place = t->places[c];
        if (!is_first(t, c, false))
            continue;
        place.series = names_row(t, GNN_KEY_SERIES) ? row->series : place.series;
        for (int32_t key = 0; key < (int32_t)t->figure->axis_count; key++)
            place.at[key] = names_row(t, key) ? row->at[key] : place.at[key];
        for (uint32_t m = 0; m < t->figure->metric_count; m++)
            gnn_figure_put_value(t->figure, m, place.series, place.at, t->out);
    }
    (void)fputc('\n', t->out);
}

enum gnn_status gnn_figure_across(const struct gnn_paper_figure *figure, FILE *out, struct gnn_err *err)
{
    struct gnn_figure_place *places;
    struct table table = {.figure = figure, .out = out};
    GNN_TRY(gnn_figure_places(figure, &places, &table.count, err));
    table.places = places;
    put_head(&table);
    for (uint32_t i = 0; i < table.count; i++)
        if (is_first(&table, i, true))
            put_row(&table, &places[i]);
    free(places);
    return GNN_OK;
}

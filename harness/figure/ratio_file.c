/* SPDX-License-Identifier: MIT */
#include "harness/figure/ratio_file.h"

#include "harness/base/text_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const names[] = {"figure", "predicate", "where",  "published", "method", "ours",
                                    "holds",  "quotient",  "reason", "scale",     "commit", "date"};
_Static_assert(sizeof names / sizeof *names == GNN_RATIO_COLUMNS, "every column has a name");

static enum gnn_status check_rows(const char *path, const struct gnn_csv *csv, struct gnn_err *err)
{
    for (uint32_t i = 0; i < GNN_RATIO_COLUMNS; i++)
        if (csv->columns != GNN_RATIO_COLUMNS || strcmp(csv->fields[i], names[i]) != 0)
            return gnn_fail(err, GNN_EFORMAT, "%s:1: a file of ratios has %d columns, and column %u is \"%s\"", path,
                            GNN_RATIO_COLUMNS, i + 1, names[i]);
    for (uint32_t r = 0; r < csv->rows; r++)
        for (uint32_t i = GNN_RATIO_PUBLISHED; i <= GNN_RATIO_OURS; i += GNN_RATIO_OURS - GNN_RATIO_PUBLISHED) {
            char *end = NULL;
            const char *const text = gnn_csv_field(csv, r, i);
            const double value = strtod(text, &end);
            if (end == text || *end != '\0' || (i == GNN_RATIO_PUBLISHED && !(value > 0)))
                return gnn_fail(err, GNN_EFORMAT, "%s:%u: %s is \"%s\", expected a number%s", path, r + 2, names[i],
                                text, i == GNN_RATIO_PUBLISHED ? " above 0" : "");
        }
    return GNN_OK;
}

enum gnn_status gnn_ratio_file_open(const char *path, struct gnn_csv *out, struct gnn_err *err)
{
    GNN_TRY(gnn_csv_open(path, out, err));
    const enum gnn_status status = check_rows(path, out, err);
    if (status != GNN_OK)
        gnn_csv_close(out);
    return status;
}

/* ---- update ---- */

/* What all rows of a figure share. */
struct origin {
    char method[2 * GNN_TEXT_MAX + 48], scale[16], commit[48], date[16];
};

struct row {
    const char *fields[GNN_RATIO_COLUMNS];
};

struct numbers {
    char published[32], ours[32];
};

/* By figure (fig2 before fig10), predicate, where, method. */
static int by_key(const void *a, const void *b)
{
    static const enum gnn_ratio_column keys[] = {GNN_RATIO_FIGURE, GNN_RATIO_PREDICATE, GNN_RATIO_WHERE,
                                                 GNN_RATIO_METHOD};
    const struct row *const left = a, *const right = b;
    int order = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && order == 0; i++)
        order = strverscmp(left->fields[keys[i]], right->fields[keys[i]]);
    return order;
}

static void describe(const struct gnn_paper_figure *figure, const char *method, struct origin *out)
{
    const struct gnn_run_record *newest = NULL;
    uint32_t cell = 0; /* real training is measured in every world */
    while (cell + 1 < figure->job->count && figure->cells[cell].trains)
        cell++;
    const struct gnn_run_config *const config = &figure->job->cells[cell].config;
    const bool measured = figure->by_fio || config->world == GNN_WORLD_MEASURED;
    const bool has_costs = !measured && strstr(figure->put_over, "costs=") == NULL;
    *out = (struct origin){.commit = ""};
    (void)snprintf(out->scale, sizeof out->scale, "1/%u", figure->scale_divisor);
    if (method[0] != '\0')
        (void)snprintf(out->method, sizeof out->method, "%s", method);
    else
        (void)snprintf(out->method, sizeof out->method, "%s%s%s %s%s%s", measured ? "measured" : "simulated",
                       has_costs ? " " : "", has_costs ? config->costs : "", out->scale,
                       figure->put_over[0] != '\0' ? ", " : "", figure->put_over);
    if (figure->has_variants)
        (void)snprintf(out->method + strlen(out->method), sizeof out->method - strlen(out->method), ", %s",
                       figure->axes[figure->axis_count - 1].values[figure->variant]);
    for (uint32_t i = 0; i < figure->job->count; i++)
        for (uint32_t r = 0; r < figure->cells[i].run_count; r++)
            if (newest == NULL || figure->cells[i].runs[r].started_unix_ns > newest->started_unix_ns)
                newest = &figure->cells[i].runs[r];
    const char *const build = newest != NULL ? gnn_kv_get(&newest->environment, "build.revision") : NULL;
    const time_t seconds = newest != NULL ? (time_t)(newest->started_unix_ns / 1000000000) : 0;
    struct tm day;
    (void)snprintf(out->commit, sizeof out->commit, "%s", build != NULL ? build : "");
    if (newest != NULL && gmtime_r(&seconds, &day) != NULL)
        (void)strftime(out->date, sizeof out->date, "%Y-%m-%d", &day);
}

static struct row row_of(const struct gnn_figure_ratio *ratio, const struct origin *origin, struct numbers *numbers)
{
    (void)snprintf(numbers->published, sizeof numbers->published, "%.6g", ratio->published);
    (void)snprintf(numbers->ours, sizeof numbers->ours, "%.6g", ratio->ours);
    return (struct row){{ratio->figure, ratio->predicate, ratio->is_each ? ratio->where : "", numbers->published,
                         origin->method, numbers->ours, ratio->holds ? "yes" : "no", ratio->is_quotient ? "yes" : "no",
                         ratio->reason, origin->scale, origin->commit, origin->date}};
}

/* Replaces the row with the same key, or adds the row. */
static void put_row(struct row *rows, uint32_t *count, const struct row *row)
{
    uint32_t at = 0;
    while (at < *count && by_key(&rows[at], row) != 0)
        at++;
    rows[at] = *row;
    *count += at == *count ? 1 : 0;
}

static enum gnn_status write_rows(const char *path, struct row *rows, uint32_t count, struct gnn_err *err)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    if (out == NULL)
        return gnn_fail(err, GNN_ENOMEM, "the text of %s", path);
    qsort(rows, count, sizeof *rows, by_key);
    for (uint32_t r = 0; r <= count; r++)
        for (uint32_t i = 0; i < GNN_RATIO_COLUMNS; i++)
            gnn_csv_put(r == 0 ? names[i] : rows[r - 1].fields[i], i + 1 < GNN_RATIO_COLUMNS ? ',' : '\n', out);
    enum gnn_status status = GNN_OK;
    if (fclose(out) != 0)
        status = gnn_fail(err, GNN_ENOMEM, "the text of %s", path);
    GNN_NEXT(status, gnn_text_file_replace(path, text, "name another file with --ratios", err));
    free(text);
    return status;
}

enum gnn_status gnn_ratio_file_update(const char *path, const char *method, const struct gnn_paper_figure *figure,
                                      const struct gnn_figure_ratios *ratios, uint32_t first, struct gnn_err *err)
{
    struct gnn_csv csv = {.rows = 0};
    struct gnn_err cause = {0};
    struct origin origin;
    assert(first <= ratios->count);
    enum gnn_status status = gnn_ratio_file_open(path, &csv, &cause);
    if (status != GNN_OK && status != GNN_ENOENT)
        return gnn_fail(err, status, "%s", cause.message);
    uint32_t count = 0, room = csv.rows + ratios->count - first;
    struct row *const rows = calloc(room + UINT32_C(1), sizeof *rows);
    struct numbers *const numbers = calloc(ratios->count - first + UINT32_C(1), sizeof *numbers);
    status = rows != NULL && numbers != NULL ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "rows of %s", path);
    describe(figure, method, &origin);
    for (uint32_t r = 0; r < csv.rows && status == GNN_OK; r++)
        memcpy(rows[count++].fields, &csv.fields[(size_t)(r + 1) * csv.columns], sizeof rows->fields);
    for (uint32_t i = first; i < ratios->count && status == GNN_OK; i++) {
        const struct row row = row_of(&ratios->rows[i], &origin, &numbers[i - first]);
        put_row(rows, &count, &row);
    }
    if (status == GNN_OK && first < ratios->count)
        status = write_rows(path, rows, count, err);
    free(numbers);
    free(rows);
    gnn_csv_close(&csv);
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "harness/figure/result_file.h"

#include "harness/base/plain_text.h"
#include "harness/figure/show.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const ratio_names[] = {"figure", "predicate", "where",  "published", "method", "ours",
                                          "holds",  "quotient",  "reason", "scale",     "commit", "date"};
_Static_assert(sizeof ratio_names / sizeof *ratio_names == GNN_RATIO_COLUMNS, "every column has a name");
static const uint32_t ratio_keys[] = {GNN_RATIO_FIGURE, GNN_RATIO_PREDICATE, GNN_RATIO_WHERE, GNN_RATIO_METHOD};
static const struct gnn_csv_form ratio_form = {.what = "a file of ratios",
                                               .names = ratio_names,
                                               .columns = GNN_RATIO_COLUMNS,
                                               .keys = ratio_keys,
                                               .key_count = 4,
                                               .sort_count = 4};

static const char *const finding_names[] = {"paper",   "place",   "figure", "predicate", "method", "published", "ours",
                                            "verdict", "finding", "reason", "scale",     "commit", "date"};
_Static_assert(sizeof finding_names / sizeof *finding_names == GNN_FINDING_COLUMNS, "every column has a name");
static const uint32_t finding_keys[] = {GNN_FINDING_PAPER, GNN_FINDING_PLACE, GNN_FINDING_FIGURE, GNN_FINDING_PREDICATE,
                                        GNN_FINDING_METHOD};
/* Predicates of a figure stay in their order. */
static const struct gnn_csv_form finding_form = {.what = "a file of findings",
                                                 .names = finding_names,
                                                 .columns = GNN_FINDING_COLUMNS,
                                                 .keys = finding_keys,
                                                 .key_count = 5,
                                                 .sort_count = 3};

static enum gnn_status check_numbers(const char *path, const struct gnn_csv *csv, struct gnn_err *err)
{
    for (uint32_t r = 0; r < csv->rows; r++)
        for (uint32_t i = GNN_RATIO_PUBLISHED; i <= GNN_RATIO_OURS; i += GNN_RATIO_OURS - GNN_RATIO_PUBLISHED) {
            char *end = NULL;
            const char *const text = gnn_csv_field(csv, r, i);
            const double value = strtod(text, &end);
            if (end == text || *end != '\0' || (i == GNN_RATIO_PUBLISHED && !(value > 0)))
                return gnn_fail(err, GNN_EFORMAT, "%s:%u: %s is \"%s\", expected a number%s", path, r + 2,
                                ratio_names[i], text, i == GNN_RATIO_PUBLISHED ? " above 0" : "");
        }
    return GNN_OK;
}

enum gnn_status gnn_ratio_file_open(const char *path, struct gnn_csv *out, struct gnn_err *err)
{
    GNN_TRY(gnn_keyed_csv_open(path, &ratio_form, out, err));
    const enum gnn_status status = check_numbers(path, out, err);
    if (status != GNN_OK)
        gnn_csv_close(out);
    return status;
}

enum gnn_status gnn_finding_file_open(const char *path, struct gnn_csv *out, struct gnn_err *err)
{
    return gnn_keyed_csv_open(path, &finding_form, out, err);
}

/* ---- update ---- */

/* What all rows of a figure share. */
struct origin {
    char method[2 * GNN_TEXT_MAX + 48], scale[16], commit[48], date[16];
};

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
        (void)snprintf(out->method, sizeof out->method, "%s%s%s %s", measured ? "measured" : "simulated",
                       has_costs ? " " : "", has_costs ? config->costs : "", out->scale);
    if (method[0] == '\0' && figure->put_over[0] != '\0')
        gnn_text_list(out->method, sizeof out->method, "%s", figure->put_over);
    if (figure->has_variants)
        gnn_text_list(out->method, sizeof out->method, "%s",
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

/* Writes the fields of a row. */
static void put_row(const char *const *fields, uint32_t count, FILE *out)
{
    for (uint32_t i = 0; i < count; i++)
        gnn_csv_put(fields[i], i + 1 < count ? ',' : '\n', out);
}

static void put_ratio(const struct gnn_figure_ratio *ratio, const struct origin *origin, FILE *out)
{
    char published[32], ours[32];
    (void)snprintf(published, sizeof published, "%.6g", ratio->published);
    (void)snprintf(ours, sizeof ours, "%.6g", ratio->ours);
    const char *const fields[GNN_RATIO_COLUMNS] = {ratio->figure,
                                                   ratio->predicate,
                                                   ratio->is_each ? ratio->where : "",
                                                   published,
                                                   origin->method,
                                                   ours,
                                                   ratio->holds ? "yes" : "no",
                                                   ratio->is_quotient ? "yes" : "no",
                                                   ratio->reason,
                                                   origin->scale,
                                                   origin->commit,
                                                   origin->date};
    put_row(fields, GNN_RATIO_COLUMNS, out);
}

static void put_finding(const struct gnn_paper_figure *figure, const struct gnn_figure_predicate *predicate,
                        const struct origin *origin, FILE *out)
{
    const char *const fields[GNN_FINDING_COLUMNS] = {figure->about.paper,
                                                     figure->about.place,
                                                     figure->id,
                                                     predicate->name,
                                                     origin->method,
                                                     predicate->found.published,
                                                     predicate->found.ours,
                                                     gnn_verdict_name(predicate->found.verdict),
                                                     predicate->says,
                                                     predicate->reason,
                                                     origin->scale,
                                                     origin->commit,
                                                     origin->date};
    put_row(fields, GNN_FINDING_COLUMNS, out);
}

/* Puts the ratios, or the findings if that is NULL, of a figure into the file. */
static enum gnn_status update(const char *path, const char *method, const struct gnn_paper_figure *figure,
                              const struct gnn_figure_ratios *ratios, uint32_t first, struct gnn_err *err)
{
    const struct gnn_csv_form *const form = ratios != NULL ? &ratio_form : &finding_form;
    struct origin origin;
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    if (out == NULL)
        return gnn_fail(err, GNN_ENOMEM, "rows of %s", path);
    describe(figure, method, &origin);
    gnn_keyed_csv_heading(form, out);
    for (uint32_t i = first; ratios != NULL && i < ratios->count; i++)
        put_ratio(&ratios->rows[i], &origin, out);
    const bool is_run = origin.date[0] != '\0'; /* without a run nothing was found */
    for (uint32_t i = 0; ratios == NULL && is_run && i < figure->predicate_count; i++)
        put_finding(figure, &figure->predicates[i], &origin, out);
    if (fclose(out) == 0)
        return gnn_keyed_csv_update(path, form, text, "name another file", err);
    free(text);
    return gnn_fail(err, GNN_ENOMEM, "rows of %s", path);
}

enum gnn_status gnn_ratio_file_update(const char *path, const char *method, const struct gnn_paper_figure *figure,
                                      const struct gnn_figure_ratios *ratios, uint32_t first, struct gnn_err *err)
{
    assert(first <= ratios->count);
    return update(path, method, figure, ratios, first, err);
}

enum gnn_status gnn_finding_file_update(const char *path, const char *method, const struct gnn_paper_figure *figure,
                                        struct gnn_err *err)
{
    return update(path, method, figure, NULL, 0, err);
}

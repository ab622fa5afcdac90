/* SPDX-License-Identifier: MIT */
#include "harness/cli/page_ratios.h"
#include "harness/cli/merit.h"

#include "harness/base/data_dirs.h"
#include "harness/base/ini.h"
#include "harness/base/words.h"
#include "harness/figure/show.h"
#include "harness/record/csv_table.h"

#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = GNN_DATA_DIR_BYTES + GNN_TEXT_MAX };

/* Returns the path of a file of figures, ID.ini, or NULL if there is none. */
static const char *find_file(const char *id, char path[PATH_BYTES])
{
    struct gnn_data_dirs dirs;
    gnn_figure_dirs(&dirs);
    return gnn_data_file_find(dirs.dirs, id, ".ini", path, PATH_BYTES);
}

/* Returns a field of a file of ratios or findings. */
static const char *field(const struct gnn_csv *csv, uint32_t row, const char *name)
{
    return gnn_csv_field(csv, row, gnn_csv_column(csv, name));
}

bool gnn_ratio_is_of(const struct gnn_csv *csv, uint32_t row, const char *paper)
{
    const char *const figure = field(csv, row, "figure");
    const size_t length = strlen(paper);
    return length == 0 || (strncmp(figure, paper, length) == 0 && (figure[length] == '-' || figure[length] == '\0'));
}

/* Whether two rows are of the same predicate and, in a file of ratios, of the same printed number. */
static bool same_number(const struct gnn_csv *csv, uint32_t a, uint32_t b)
{
    static const char *const names[] = {"figure", "predicate", "where"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (gnn_csv_column(csv, names[i]) < csv->columns &&
            strcmp(field(csv, a, names[i]), field(csv, b, names[i])) != 0)
            return false;
    return true;
}

/* Whether no row before it is of the same number. */
static bool is_first(const struct gnn_csv *csv, uint32_t row)
{
    uint32_t first = 0;
    while (!same_number(csv, first, row))
        first++;
    return first == row;
}

/* Returns the row of the same number by a method, or csv->rows if there is none. */
static uint32_t row_by(const struct gnn_csv *csv, uint32_t row, const char *method)
{
    uint32_t r = 0;
    while (r < csv->rows && (!same_number(csv, row, r) || strcmp(field(csv, r, "method"), method) != 0))
        r++;
    return r;
}

static int by_version(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

enum gnn_status gnn_ratio_methods(const struct gnn_csv *csv, const char *paper, char *chosen, struct gnn_words *out,
                                  struct gnn_err *err)
{
    struct gnn_words all = {.count = 0};
    for (uint32_t r = 0; r < csv->rows; r++)
        if (gnn_ratio_is_of(csv, r, paper) && !gnn_words_has(&all, field(csv, r, "method")))
            gnn_words_add(&all, field(csv, r, "method"));
    qsort(all.of, all.count, sizeof *all.of, by_version);
    *out = all;
    if (all.count == 0)
        return gnn_fail(err, GNN_EUSAGE, "no row is of a figure \"%s\" or \"%s-...\"", paper, paper);
    if (chosen == NULL)
        return GNN_OK;
    out->count = 0;
    gnn_words_split(out, chosen, "|");
    for (uint32_t i = 0; i < out->count; i++)
        if (!gnn_words_has(&all, out->of[i]))
            return gnn_fail(err, GNN_EUSAGE, "no row has the method \"%s\"; one that has some is \"%s\"", out->of[i],
                            all.of[0]);
    return GNN_OK;
}

/* Writes what a number is about: the sentence of its predicate, else the predicate's name, and where. Without a
 * predicate in a figure's file, it is `where` alone. */
static void put_what(const struct gnn_csv *csv, uint32_t row, FILE *out)
{
    const char *const predicate = gnn_csv_field(csv, row, GNN_RATIO_PREDICATE);
    const char *const where = gnn_csv_field(csv, row, GNN_RATIO_WHERE);
    const struct gnn_ini_entry *holds = NULL, *says = NULL;
    struct gnn_ini *ini = NULL;
    char path[PATH_BYTES];
    if (find_file(gnn_csv_field(csv, row, GNN_RATIO_FIGURE), path) != NULL && gnn_ini_open(path, &ini, NULL) == GNN_OK)
        for (uint32_t i = 0; i < gnn_ini_section_count(ini); i++) {
            const struct gnn_ini_section *const section = gnn_ini_section(ini, i);
            holds = strcmp(section->name, "holds") == 0 ? gnn_ini_find(section, predicate) : holds;
            says = strcmp(section->name, "says") == 0 ? gnn_ini_find(section, predicate) : says;
        }
    if (says != NULL)
        gnn_table_text(says->value, out);
    else if (holds != NULL || where[0] == '\0')
        (void)fprintf(out, "`%s`", predicate);
    const bool has_name = says != NULL || holds != NULL;
    (void)fputs(where[0] == '\0' ? "" : has_name ? " (" : "", out);
    gnn_table_text(where, out);
    (void)fputs(where[0] != '\0' && has_name ? ")" : "", out);
    gnn_ini_close(ini);
}

/* Puts our value with three digits, or all before the point; bold if the finding holds. */
static void put_value(double value, bool holds, FILE *out)
{
    const char *const mark = holds ? "**" : "";
    (void)fprintf(out, value >= 1000 ? "%s%.0f%s " : "%s%.3g%s ", mark, value, mark);
}

/* Puts a printed number, whose first row is `row`, with our value by each method. */
static void put_number(const struct gnn_csv *csv, uint32_t row, const struct gnn_words *methods, FILE *out)
{
    uint32_t judged = 0, held = 0;
    const char *reason = "";
    (void)fprintf(out, "| %s | ", gnn_csv_field(csv, row, GNN_RATIO_FIGURE));
    put_what(csv, row, out);
    (void)fputs(" | ", out);
    put_value(strtod(gnn_csv_field(csv, row, GNN_RATIO_PUBLISHED), NULL), false, out);
    for (uint32_t m = 0; m < methods->count; m++) {
        const uint32_t r = row_by(csv, row, methods->of[m]);
        (void)fputs("| ", out);
        if (r == csv->rows)
            continue;
        const bool holds = strcmp(gnn_csv_field(csv, r, GNN_RATIO_HOLDS), "yes") == 0;
        judged++;
        held += holds ? 1 : 0;
        if (!holds && reason[0] == '\0')
            reason = gnn_csv_field(csv, r, GNN_RATIO_REASON);
        put_value(strtod(gnn_csv_field(csv, r, GNN_RATIO_OURS), NULL), holds, out);
    }
    if (held > 0 && held < judged)
        (void)fprintf(out, "| holds in %u of %u | ", held, judged);
    else
        (void)fprintf(out, "| %s | ", judged == 0 ? "not run" : held == judged ? "holds" : "does not hold");
    gnn_table_text(reason, out);
    (void)fputs(" |\n", out);
}

/* Writes a heading: what names a row, the methods, and what follows. Lists end with NULL. */
static void put_heading(const char *const *before, const struct gnn_words *methods, const char *const *after, FILE *out)
{
    struct gnn_words heading = {.count = 0};
    for (; *before != NULL; before++)
        gnn_words_add(&heading, *before);
    for (uint32_t m = 0; m < methods->count; m++)
        gnn_words_add(&heading, methods->of[m]);
    for (; *after != NULL; after++)
        gnn_words_add(&heading, *after);
    gnn_table_heading(&heading, out);
}

enum gnn_status gnn_ratio_table(const struct gnn_csv *csv, const char *paper, char *chosen, FILE *out,
                                struct gnn_err *err)
{
    static const char *const before[] = {"figure", "finding", "published", NULL};
    static const char *const after[] = {"verdict", "likely cause", NULL};
    struct gnn_words methods = {.count = 0};
    GNN_TRY(gnn_ratio_methods(csv, paper, chosen, &methods, err));
    put_heading(before, &methods, after, out);
    for (uint32_t r = 0; r < csv->rows; r++)
        if (is_first(csv, r) && gnn_ratio_is_of(csv, r, paper))
            put_number(csv, r, &methods, out);
    (void)fputs("\nBold: the finding holds.\n", out);
    return GNN_OK;
}

/* Puts a finding, whose first row is `row`, with its verdict by each method. */
static void put_finding(const struct gnn_csv *csv, uint32_t row, const struct gnn_words *methods, FILE *out)
{
    const char *const says = gnn_csv_field(csv, row, GNN_FINDING_SAYS), *reason = "";
    const char *const place = gnn_csv_field(csv, row, GNN_FINDING_PLACE);
    const char *const figure = gnn_csv_field(csv, row, GNN_FINDING_FIGURE);
    (void)fprintf(out, says[0] != '\0' ? "| %s | " : "| %s | `%s` ", place[0] != '\0' ? place : figure,
                  gnn_csv_field(csv, row, GNN_FINDING_PREDICATE));
    gnn_table_text(says, out);
    (void)fputs(says[0] != '\0' ? " |" : "|", out);
    for (uint32_t m = 0; m < methods->count; m++) {
        const uint32_t r = row_by(csv, row, methods->of[m]);
        const char *const verdict = r < csv->rows ? gnn_csv_field(csv, r, GNN_FINDING_VERDICT) : "";
        if (reason[0] == '\0' && strcmp(verdict, gnn_verdict_name(GNN_HOLDS_NOT)) == 0)
            reason = gnn_csv_field(csv, r, GNN_FINDING_REASON);
        (void)fprintf(out, " %s |", verdict);
    }
    (void)fputc(' ', out);
    gnn_table_text(reason, out);
    (void)fputs(" |\n", out);
}

/* Whether a finding has a printed number by one of the methods. */
static bool has_number(const struct gnn_csv *csv, uint32_t row)
{
    bool found = false;
    for (uint32_t r = 0; r < csv->rows; r++)
        found = found || (gnn_csv_field(csv, r, GNN_FINDING_PUBLISHED)[0] != '\0' && same_number(csv, r, row));
    return found;
}

enum gnn_status gnn_finding_table(const struct gnn_csv *csv, const char *paper, char *chosen, FILE *out,
                                  struct gnn_err *err)
{
    static const char *const before[] = {"place", "finding", NULL}, *const after[] = {"likely cause", NULL};
    struct gnn_words methods = {.count = 0};
    GNN_TRY(gnn_ratio_methods(csv, paper, chosen, &methods, err));
    put_heading(before, &methods, after, out);
    for (uint32_t r = 0; r < csv->rows; r++)
        if (is_first(csv, r) && gnn_ratio_is_of(csv, r, paper) && !has_number(csv, r))
            put_finding(csv, r, &methods, out);
    return GNN_OK;
}

/* Takes the rows of a method as ratios. */
static enum gnn_status take_ratios(const struct gnn_csv *csv, const char *paper, const char *method,
                                   struct gnn_figure_ratios *out, struct gnn_err *err)
{
    for (uint32_t r = 0; r < csv->rows; r++) {
        if (!gnn_ratio_is_of(csv, r, paper) || strcmp(gnn_csv_field(csv, r, GNN_RATIO_METHOD), method) != 0)
            continue;
        struct gnn_figure_ratio *const ratio = gnn_figure_ratios_add(out);
        if (ratio == NULL)
            return gnn_fail(err, GNN_ENOMEM, "the ratios of %s", method);
        ratio->ours = strtod(gnn_csv_field(csv, r, GNN_RATIO_OURS), NULL);
        ratio->published = strtod(gnn_csv_field(csv, r, GNN_RATIO_PUBLISHED), NULL);
        ratio->is_quotient = strcmp(gnn_csv_field(csv, r, GNN_RATIO_QUOTIENT), "yes") == 0;
        (void)snprintf(ratio->figure, GNN_NAME_MAX, "%s", gnn_csv_field(csv, r, GNN_RATIO_FIGURE));
        (void)snprintf(ratio->predicate, GNN_NAME_MAX, "%s", gnn_csv_field(csv, r, GNN_RATIO_PREDICATE));
    }
    return GNN_OK;
}

static enum gnn_status put_merit(const struct gnn_csv *csv, const char *paper, const char *method, double about,
                                 FILE *out, struct gnn_err *err)
{
    struct gnn_figure_ratios ratios = {.count = 0};
    struct gnn_ratio_merit merit;
    enum gnn_status status = take_ratios(csv, paper, method, &ratios, err);
    GNN_NEXT(status, gnn_figure_ratios_merit(&ratios, about, &merit, err));
    if (status == GNN_OK && merit.worst != NULL) {
        const struct gnn_figure_ratio *const worst = merit.worst;
        (void)fprintf(out, "| %s | %u | %.2f | %u | %u | %s %s: %.4g for %.4g | ", method, ratios.count, merit.median,
                      merit.near, merit.within_2, worst->figure, worst->predicate, worst->ours, worst->published);
        (void)fprintf(out, merit.quotients > 0 ? "%u | %u | %.2f | %.2f |\n" : "0 | | | |\n", merit.quotients,
                      merit.beyond_1, merit.quotient_median, merit.null_median);
    }
    gnn_figure_ratios_close(&ratios);
    return status;
}

enum gnn_status gnn_merit_table(const struct gnn_csv *csv, const char *paper, char *chosen, FILE *out,
                                struct gnn_err *err)
{
    char path[PATH_BYTES], near[32];
    struct gnn_tolerances tolerances;
    struct gnn_words methods = {.count = 0};
    GNN_TRY(gnn_ratio_methods(csv, paper, chosen, &methods, err));
    if (find_file("tolerances", path) == NULL)
        return gnn_fail(err, GNN_ENOENT, "tolerances.ini is not found; it is in experiments/papers of the source tree");
    GNN_TRY(gnn_tolerances_open(path, &tolerances, err));
    (void)snprintf(near, sizeof near, "within %.4g", tolerances.about);
    struct gnn_words heading = {.of = {"method", "ratios", "median of abs log2(ours / published)", near, "within 2",
                                       "worst", "quotients", "at or beyond 1", "their median",
                                       "the same if all were 1"},
                                .count = 10};
    gnn_table_heading(&heading, out);
    for (uint32_t m = 0; m < methods.count; m++)
        GNN_TRY(put_merit(csv, paper, methods.of[m], tolerances.about, out, err));
    return GNN_OK;
}

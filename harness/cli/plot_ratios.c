/* SPDX-License-Identifier: MIT */
#include "harness/cli/plot_ratios.h"

#include "harness/base/out_file.h"
#include "harness/cli/page_ratios.h"
#include "harness/record/gnuplot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ratios_gp[] =
#include "plots/ratios.gp.inc" /* made from plots/ratios.gp */
    ;

enum { TITLE_BYTES = 256 };

struct range {
    double least, most; /* least is 0 as long as there is no value */
};

static void widen(struct range *range, double value)
{
    range->least = range->least == 0 || value < range->least ? value : range->least;
    range->most = value > range->most ? value : range->most;
}

/* Writes a block for each method, a line for each number: published, ours. A logarithmic axis has no place for a value
 * of 0, which is left out. */
static void put_points(const struct gnn_csv *csv, const char *paper, const struct gnn_words *methods, FILE *data,
                       struct range *published, struct range *ours)
{
    for (uint32_t m = 0; m < methods->count; m++) {
        (void)fprintf(data, "%sNaN\tNaN\n", m > 0 ? "\n\n" : ""); /* the block exists even without a point */
        for (uint32_t r = 0; r < csv->rows; r++) {
            const double x = strtod(gnn_csv_field(csv, r, GNN_RATIO_PUBLISHED), NULL);
            const double y = strtod(gnn_csv_field(csv, r, GNN_RATIO_OURS), NULL);
            if (!gnn_ratio_is_of(csv, r, paper) || y <= 0 ||
                strcmp(gnn_csv_field(csv, r, GNN_RATIO_METHOD), methods->of[m]) != 0)
                continue;
            (void)fprintf(data, "%.9g\t%.9g\n", x, y);
            widen(published, x);
            widen(ours, y);
        }
    }
}

static void put_script(const struct gnn_words *methods, const char *title, const char *base,
                       const struct range *published, const struct range *ours, FILE *script)
{
    char name[32];
    (void)fprintf(script, "# Edit and run again: gnuplot %s.gp\n", base);
    gnn_gnuplot_set(script, "base", base);
    gnn_gnuplot_set(script, "heading", title);
    (void)fprintf(script, "left = %.9g\nright = %.9g\nbottom = %.9g\ntop = %.9g\nseries = %u\narray names[%u]\n",
                  published->least, published->most, ours->least, ours->most, methods->count, methods->count);
    for (uint32_t m = 0; m < methods->count; m++) {
        (void)snprintf(name, sizeof name, "names[%u]", m + 1);
        gnn_gnuplot_set(script, name, methods->of[m]);
    }
    (void)fputs(ratios_gp, script);
}

static enum gnn_status draw(const struct gnn_csv *csv, const char *paper, char *chosen, const char *title,
                            const char *dir, const char *base, struct gnn_err *err)
{
    struct range published = {.least = 0}, ours = {.least = 0};
    struct gnn_words methods = {.count = 0};
    FILE *file;
    GNN_TRY(gnn_ratio_methods(csv, paper, chosen, &methods, err));
    if (methods.count > GNN_PLOT_METHODS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%u methods, but a picture has at most %d. Choose some with --methods 'A|B'.",
                        methods.count, GNN_PLOT_METHODS_MAX);
    GNN_TRY(gnn_out_file_open(dir, base, "dat", &file, err));
    put_points(csv, paper, &methods, file, &published, &ours);
    GNN_TRY(gnn_out_file_close(file, dir, base, "dat", err));
    if (ours.least == 0)
        return gnn_fail(err, GNN_EUSAGE, "no ratio of \"%s\" is above 0", paper);
    GNN_TRY(gnn_out_file_open(dir, base, "gp", &file, err));
    put_script(&methods, title, base, &published, &ours, file);
    GNN_TRY(gnn_out_file_close(file, dir, base, "gp", err));
    return gnn_gnuplot_run(dir, base, err);
}

enum gnn_status gnn_plot_ratios(const char *ratios, const char *paper, char *methods, const char *title,
                                const char *dir, const char *base, struct gnn_err *err)
{
    struct gnn_csv csv;
    char heading[TITLE_BYTES];
    (void)snprintf(heading, sizeof heading, "Published numbers%s%.64s against ours", paper[0] != '\0' ? " of " : "",
                   paper);
    GNN_TRY(gnn_ratio_file_open(ratios, &csv, err));
    const enum gnn_status status = draw(&csv, paper, methods, title[0] != '\0' ? title : heading, dir, base, err);
    gnn_csv_close(&csv);
    return status;
}

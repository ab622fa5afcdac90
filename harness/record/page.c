/* SPDX-License-Identifier: MIT */
#include "harness/record/page.h"

#include "harness/base/units.h"
#include "harness/record/summary.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char style[] =
#include "page/report.css.inc" /* made from page/report.css */
    ;
static const char script[] =
#include "page/report.js.inc" /* made from page/report.js */
    ;

/* Sections that the script fills are hidden until it has. */
static const char before_list[] =
    "<section class=\"script\" hidden><h2>Summary</h2>\n"
    "<p class=\"soft\">Each line summarises the runs of one configuration, whatever their seed.</p>\n"
    "<div id=\"summary\"></div></section>\n";
static const char list_head[] =
    "<section><h2>Runs</h2>\n<form id=\"filters\" class=\"screen\">"
    "<label>search<input id=\"search\" type=\"search\"></label>"
    "<label>system<select name=\"system\"></select></label><label>dataset<select name=\"dataset\"></select></label>"
    "<label>world<select name=\"world\"></select></label><label>status<select "
    "name=\"status\"></select></label></form>\n"
    "<p class=\"soft\">Disk read before: by the device before the first epoch. Disk read, epochs: the sum over the "
    "epochs.</p>\n<p class=\"soft\" id=\"count\"></p>\n<div class=\"wide list\"><table id=\"runs\">\n"
    "<tr><th class=\"n\">run</th><th>system</th><th>dataset</th><th>world</th><th>status</th><th class=\"n\">first "
    "epoch s</th>"
    "<th class=\"n\">later epochs s</th>"
    "<th class=\"n\">I/O wait %</th><th class=\"n\">CPU %</th><th class=\"n\">hit ratio</th><th class=\"n\">disk "
    "read before</th><th class=\"n\">disk read, epochs</th>"
    "<th class=\"n\">peak memory</th><th class=\"n\">test acc %</th><th class=\"n\">test MRR or ROC AUC</th></tr>\n";
static const char after_list[] =
    "</table></div></section>\n"
    "<section class=\"script\" hidden><h2>One run</h2>\n<form class=\"screen\"><label>run<select "
    "id=\"one\"></select></label></form>\n"
    "<div id=\"run\"></div></section>\n"
    "<section class=\"script\" hidden><h2>Time series</h2>\n<form class=\"screen\">"
    "<label>of the run above<select id=\"column\"></select></label>"
    "<label>compare with run B below<input type=\"checkbox\" id=\"with-b\"></label></form>\n<div "
    "id=\"series\"></div></section>\n"
    "<section class=\"script\" hidden><h2>Difference of two runs</h2>\n<form class=\"screen\">"
    "<label>A<select id=\"first\"></select></label><label>B<select id=\"second\"></select></label></form>\n"
    "<div id=\"difference\"></div></section>\n";

/* ---- the table of runs, which is there without a script too ---- */

static void put_cell(const char *text, const char *class, FILE *out)
{
    (void)fprintf(out, class[0] == '\0' ? "<td>" : "<td class=\"%s\">", class);
    gnn_page_text(text[0] == '\0' ? "-" : text, out);
    (void)fputs("</td>", out);
}

static void put_number(double value, const char *format, FILE *out) __attribute__((format(printf, 2, 0)));

static void put_number(double value, const char *format, FILE *out)
{
    char text[32] = "";
    if (isfinite(value))
        (void)snprintf(text, sizeof text, format, value);
    put_cell(text, "n", out);
}

static void put_seconds(uint64_t ns, FILE *out)
{
    put_number(ns == GNN_UNKNOWN ? (double)NAN : 1e-9 * (double)ns, "%.4g", out);
}

static void put_bytes(uint64_t bytes, FILE *out)
{
    char text[32];
    put_cell(bytes == GNN_UNKNOWN ? "" : gnn_format_bytes(bytes, text, sizeof text), "n", out);
}

static void put_status(const struct gnn_run_record *run, FILE *out)
{
    const char *word = gnn_run_status_name(run->status);
    if (run->status == GNN_RUN_OK && gnn_run_withholds_times(run))
        word = gnn_run_status_name(GNN_RUN_INVALID);
    else if (run->status == GNN_RUN_OK && gnn_run_is_unsettled(run))
        word = GNN_NOT_SETTLED;
    put_cell(word, strcmp(word, gnn_run_status_name(GNN_RUN_OK)) == 0 ? "" : "bad", out);
}

static void put_run(const struct gnn_run_record *run, FILE *out)
{
    char text[4 * GNN_NAME_MAX];
    (void)fprintf(out, "<tr data-run=\"%" PRId64 "\"><td class=\"n\">%" PRId64 "</td>", run->run_id, run->run_id);
    char system[GNN_SYSTEM_TEXT_BYTES];
    put_cell(gnn_run_system_text(run, system), "", out);
    (void)snprintf(text, sizeof text, "%s %s", run->dataset, run->model);
    put_cell(text, "", out);
    put_cell(run->world, "", out);
    put_status(run, out);
    put_seconds(gnn_run_first_epoch_ns(run), out);
    put_seconds(gnn_run_later_epoch_ns(run), out);
    put_number(gnn_run_io_wait_pct(run), "%.1f", out);
    put_number(gnn_run_cpu_pct(run), "%.1f", out);
    const double hit_ratio = gnn_record_hit_ratio(&run->counters);
    put_number(hit_ratio < 0 ? (double)NAN : hit_ratio, "%.4f", out); /* below 0 it is no share */
    put_bytes(run->before.device_read_bytes, out);
    put_bytes(run->counters.device_read_bytes, out);
    put_bytes(run->counters.peak_memory_bytes, out);
    const double mrr = gnn_run_test_mrr(run);
    put_number(100 * gnn_run_test_accuracy(run), "%.2f", out);
    put_number(isfinite(mrr) ? mrr : gnn_run_test_roc_auc(run), "%.4f", out);
    (void)fputs("</tr>\n", out);
}

/* ---- the page ---- */

static enum gnn_status put_page(const struct gnn_run_record *runs, uint32_t count, const char *revision,
                                gnn_place_fn *place, const char *figures, FILE *out, struct gnn_err *err)
{
    (void)fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<link rel=\"icon\" href=\"data:,\">\n<title>oocgnn: runs</title>\n<style>\n",
                out);
    (void)fputs(style, out);
    (void)fprintf(out,
                  "</style>\n</head>\n<body>\n<header><h1>oocgnn: %u run%s</h1>\n<p class=\"soft\">written by oocgnn ",
                  count, count == 1 ? "" : "s");
    gnn_page_text(revision, out);
    (void)fputs("; times of runs that broke an invariant are left out</p></header>\n", out);
    (void)fputs(before_list, out);
    if (figures[0] != '\0')
        GNN_TRY(gnn_page_figures(figures, out, err));
    (void)fputs(list_head, out);
    for (uint32_t i = count; i-- > 0;)
        put_run(&runs[i], out);
    (void)fputs(after_list, out);
    (void)fputs("<script type=\"application/json\" id=\"data\">", out);
    GNN_TRY(gnn_page_data(runs, count, revision, place, out, err));
    (void)fputs("</script>\n<script>\n", out);
    (void)fputs(script, out);
    (void)fputs("</script>\n</body>\n</html>\n", out);
    return GNN_OK;
}

enum gnn_status gnn_page_write(const struct gnn_run_record *runs, uint32_t count, const char *revision,
                               gnn_place_fn *place, const char *figures, FILE *out, struct gnn_err *err)
{
    char *text = NULL;
    size_t bytes = 0;
    assert(count > 0);
    FILE *const whole = open_memstream(&text, &bytes);
    if (whole == NULL)
        return gnn_fail(err, GNN_ENOMEM, "the page");
    enum gnn_status status = put_page(runs, count, revision, place, figures, whole, err);
    if (fclose(whole) != 0 && status == GNN_OK)
        status = gnn_fail(err, GNN_ENOMEM, "the page");
    if (status == GNN_OK && bytes > GNN_PAGE_BYTES_MAX)
        status = gnn_fail(
            err, GNN_EUSAGE,
            "--html: %u runs and their figures make a page of %zu MiB, at most 20: take fewer (--last, RUN...), or "
            "pictures as SVG",
            count, bytes >> 20);
    if (status == GNN_OK && fwrite(text, 1, bytes, out) != bytes)
        status = gnn_fail(err, GNN_EIO, "--html: the page cannot be written: %s; free space or name another file",
                          strerror(errno));
    free(text);
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "harness/record/csv.h"

#include "harness/base/units.h"
#include "harness/record/columns.h"
#include "harness/record/summary.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIGURES_MAX = 64 };

/* Names of figures that are a percentile or a maximum of some distribution, over all runs. */
struct names {
    uint32_t count;
    char of[FIGURES_MAX][GNN_NAME_MAX];
};

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

static bool is_percentile(const char *name)
{
    static const char *const ends[] = {"_p50_ns",    "_p90_ns",    "_p99_ns",    "_p999_ns",  "_max_ns",
                                       "_bytes_p50", "_bytes_p90", "_bytes_p99", "_bytes_max"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(name, ends[i]))
            return true;
    return false;
}

static void collect(const struct gnn_run_record *run, struct names *out)
{
    const struct gnn_record_epoch *const last = run->epoch_count == 0 ? NULL : &run->epochs[run->epoch_count - 1];
    for (uint32_t f = 0; last != NULL && f < last->figure_count; f++) {
        uint32_t at = 0;
        while (at < out->count && strcmp(out->of[at], last->figures[f].name) != 0)
            at++;
        if (at == out->count && at < FIGURES_MAX && is_percentile(last->figures[f].name))
            memcpy(out->of[out->count++], last->figures[f].name, GNN_NAME_MAX);
    }
}

/* Names of columns that depend on the runs. */
struct columns {
    struct names names;
    struct gnn_kv_list seen, varied; /* options of the runs; those with several values are columns */
};

/* ---- fields ---- */

void gnn_csv_text(const char *text, FILE *out)
{
    const bool formula = text[0] != '\0' && strchr("=+-@", text[0]) != NULL;
    if (strpbrk(text, ",\"\r\n") == NULL && !formula) {
        (void)fputs(text, out);
        return;
    }
    (void)fputs(formula ? "\"'" : "\"", out);
    for (; *text != '\0'; text++)
        (void)fprintf(out, *text == '"' ? "\"%c" : "%c", *text);
    (void)fputc('"', out);
}

static void put_text(const char *text, FILE *out)
{
    (void)fputc(',', out);
    gnn_csv_text(text, out);
}

static void put_json(const json_t *value, FILE *out)
{
    if (json_is_string(value))
        put_text(json_string_value(value), out);
    else if (json_is_integer(value))
        (void)fprintf(out, ",%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        (void)fprintf(out, ",%.9g", json_real_value(value));
    else
        (void)fputc(',', out);
}

static void put_double(double value, FILE *out)
{
    (void)fprintf(out, isfinite(value) ? ",%.9g" : ",", value);
}

static void put_time(double time_ns, FILE *out)
{
    (void)fprintf(out, isfinite(time_ns) ? ",%.0f" : ",", time_ns);
}

static void put_count(uint64_t count, FILE *out)
{
    if (count == GNN_UNKNOWN)
        (void)fputc(',', out);
    else
        (void)fprintf(out, ",%" PRIu64, count);
}

static enum gnn_status put_table(const struct gnn_table *table, const void *row, bool hide_times, FILE *out,
                                 struct gnn_err *err)
{
    json_t *const object = json_object();
    if (!gnn_table_json(table, row, hide_times, object)) {
        json_decref(object);
        return gnn_fail(err, GNN_ENOMEM, "a row of %s", table->name);
    }
    for (uint32_t i = 0; i < table->column_count; i++)
        put_json(json_object_get(object, table->columns[i].name), out);
    json_decref(object);
    return GNN_OK;
}

/* Counters that are known before the first epoch. Their columns are named "before_..." */
static const char *const before_columns[] = {"elapsed_ns",
                                             "cpu_ns",
                                             "requested_bytes",
                                             "requested_ios",
                                             "requested_write_bytes",
                                             "requested_write_ios",
                                             "device_read_bytes",
                                             "device_read_ios",
                                             "device_write_bytes",
                                             "peak_memory_bytes"};
enum { BEFORE_COLUMNS = sizeof before_columns / sizeof *before_columns };

static enum gnn_status put_before(const struct gnn_run_record *run, bool hide_times, FILE *out, struct gnn_err *err)
{
    json_t *const object = json_object();
    if (!gnn_table_json(&gnn_table_counters, &run->before, hide_times, object)) {
        json_decref(object);
        return gnn_fail(err, GNN_ENOMEM, "the counters before the first epoch");
    }
    for (int i = 0; i < BEFORE_COLUMNS; i++)
        put_json(json_object_get(object, before_columns[i]), out);
    json_decref(object);
    return GNN_OK;
}

/* Writes whether extrapolated epochs are settled; nothing if whole epochs ran, or if the record does not have it. */
static void put_settled(const struct gnn_run_record *run, FILE *out)
{
    uint64_t settled = GNN_UNKNOWN;
    if (run->epoch_count > 0)
        settled = gnn_recorded_figure(&run->epochs[0], GNN_FIGURE_FULL_EPOCH_SETTLED);
    put_count(gnn_run_is_unsettled(run) ? 0 : settled, out);
}

/* The first epoch, then the distribution of the epochs that count: the same median as every table's. Times that are not
 * settled are left out. */
static enum gnn_status put_epochs(const struct gnn_run_record *run, bool hide_times, FILE *out, struct gnn_err *err)
{
    char part[GNN_PART_BYTES];
    double *walls_ns;
    uint32_t known = 0;
    GNN_NEW(walls_ns, run->epoch_count + UINT32_C(1), err, "times of %u epochs", run->epoch_count);
    for (uint32_t e = 0; e < run->epoch_count && !hide_times; e++)
        if (gnn_run_counts_epoch(run, e) && gnn_epoch_whole_ns(&run->epochs[e]) != GNN_UNKNOWN)
            walls_ns[known++] = (double)gnn_epoch_whole_ns(&run->epochs[e]);
    const double median = gnn_median(walls_ns, known); /* sorts them */
    (void)fprintf(out, ",%u", run->epoch_count);
    put_text(gnn_run_part(run, part), out);
    put_count(hide_times ? GNN_UNKNOWN : gnn_run_first_epoch_ns(run), out);
    put_time(known == 0 ? (double)NAN : walls_ns[0], out);
    put_time(median, out);
    put_time(gnn_percentile(walls_ns, known, 90), out);
    put_time(known == 0 ? (double)NAN : walls_ns[known - 1], out);
    put_settled(run, out);
    free(walls_ns);
    return GNN_OK;
}

/* ---- a row ---- */

/* Returns whether the run's times are of no whole run: a mean over the column would be wrong. */
static bool hides_times(const struct gnn_run_record *run)
{
    return run->status != GNN_RUN_OK || gnn_run_withholds_times(run);
}

static void put_columns(const struct gnn_table *table, FILE *out)
{
    for (uint32_t i = 0; i < table->column_count; i++)
        put_text(table->columns[i].name, out);
}

static void put_run_header(const struct names *names, FILE *out)
{
    (void)fputs("run_id", out);
    put_columns(&gnn_table_runs, out);
    put_columns(&gnn_table_counters, out);
    for (int i = 0; i < BEFORE_COLUMNS; i++)
        (void)fprintf(out, ",before_%s", before_columns[i]);
    (void)fputs(",hit_ratio,bound_bytes,bound_ratio,floor_ns,floor_ratio,io_wait_pct,cpu_pct,test_accuracy,test_mrr,"
                "test_own_first,test_roc_auc,test_macro_f1,epochs,part,"
                "first_epoch_ns,epoch_min_ns,epoch_p50_ns,epoch_p90_ns,epoch_max_ns,epoch_settled",
                out);
    for (uint32_t i = 0; i < names->count; i++)
        put_text(names->of[i], out);
}

static enum gnn_status put_run(const struct gnn_run_record *run, const struct names *names, FILE *out,
                               struct gnn_err *err)
{
    const bool hide = hides_times(run);
    (void)fprintf(out, "%" PRId64, run->run_id);
    GNN_TRY(put_table(&gnn_table_runs, run, hide, out, err));
    GNN_TRY(put_table(&gnn_table_counters, &run->counters, hide, out, err));
    GNN_TRY(put_before(run, hide, out, err));
    put_double(gnn_record_hit_ratio(&run->counters), out);
    put_count(gnn_run_bound_bytes(run), out);
    put_double(gnn_run_bound_ratio(run), out);
    put_count(hide ? GNN_UNKNOWN : gnn_run_floor_ns(run), out);
    put_double(hide ? (double)NAN : gnn_run_floor_ratio(run), out);
    put_double(hide ? (double)NAN : gnn_run_io_wait_pct(run), out);
    put_double(hide ? (double)NAN : gnn_run_cpu_pct(run), out);
    put_double(gnn_run_test_accuracy(run), out);
    put_double(gnn_run_test_mrr(run), out);
    put_double(gnn_run_test_own_first(run), out);
    put_double(gnn_run_test_roc_auc(run), out);
    put_double(gnn_run_test_macro_f1(run), out);
    GNN_TRY(put_epochs(run, hide, out, err));
    for (uint32_t i = 0; i < names->count; i++)
        put_count(run->epoch_count == 0 || hide ? GNN_UNKNOWN
                                                : gnn_recorded_figure(&run->epochs[run->epoch_count - 1], names->of[i]),
                  out);
    return GNN_OK;
}

/* Keys of the environment that are columns: what runs of several machines and builds are told apart by. */
static const char *const environment[] = {"host.name",
                                          "cpu.model",
                                          "cpu.online",
                                          "kernel.release",
                                          "device.name",
                                          "device.model",
                                          "build.version",
                                          "build.revision",
                                          "dataset.digest",
                                          "run.identity",
                                          GNN_ENVIRONMENT_INHERITED};
enum { ENVIRONMENT = sizeof environment / sizeof *environment };

/* Returns whether the option has no column of its own name yet. */
static bool adds_column(const char *option)
{
    for (uint32_t i = 0; i < gnn_table_runs.column_count; i++)
        if (strcmp(gnn_table_runs.columns[i].name, option) == 0)
            return false;
    return strcmp(option, "epochs") != 0;
}

static void put_option_header(const struct columns *columns, FILE *out)
{
    (void)fputs(",started", out);
    for (int i = 0; i < ENVIRONMENT; i++)
        put_text(environment[i], out);
    for (uint32_t i = 0; i < columns->varied.count; i++)
        put_text(columns->varied.items[i].key, out);
}

static void put_options(const struct columns *columns, const struct gnn_run_record *run, FILE *out)
{
    char started[GNN_UTC_BYTES];
    const uint64_t unix_ns = run->started_unix_ns;
    put_text(unix_ns == GNN_UNKNOWN ? "" : gnn_format_utc(unix_ns / 1000000000, started, sizeof started), out);
    for (uint32_t i = 0; i < ENVIRONMENT + columns->varied.count; i++) {
        const char *const value = i < ENVIRONMENT
                                      ? gnn_kv_get(&run->environment, environment[i])
                                      : gnn_kv_get(&run->config, columns->varied.items[i - ENVIRONMENT].key);
        put_text(value == NULL ? "" : value, out);
    }
}

static enum gnn_status put_run_epochs(const struct gnn_run_record *run, FILE *out, struct gnn_err *err)
{
    const bool hide = hides_times(run);
    for (uint32_t e = 0; e < run->epoch_count; e++) {
        (void)fprintf(out, "%" PRId64, run->run_id);
        put_text(run->system, out);
        put_text(gnn_run_status_name(run->status), out);
        (void)fprintf(out, ",%" PRIu64 ",%d", run->epochs[e].epoch, gnn_run_counts_epoch(run, e));
        GNN_TRY(put_table(&gnn_table_epochs, &run->epochs[e], hide, out, err));
        GNN_TRY(put_table(&gnn_table_counters, &run->epochs[e].counters, hide, out, err));
        (void)fputs("\r\n", out);
    }
    return GNN_OK;
}

/* ---- the whole ---- */

static enum gnn_status find_columns(const struct gnn_run_record *run, struct columns *columns, struct gnn_err *err)
{
    collect(run, &columns->names);
    for (uint32_t i = 0; i < run->config.count; i++) {
        const struct gnn_kv *const option = &run->config.items[i];
        if (adds_column(option->key))
            GNN_TRY(gnn_kv_vary(&columns->seen, &columns->varied, option->key, option->value, err));
    }
    return GNN_OK;
}

static void put_header(enum gnn_csv_rows rows, const struct columns *columns, FILE *out)
{
    if (rows == GNN_CSV_EPOCHS) {
        (void)fputs("run_id,system,status,epoch,counted", out);
        put_columns(&gnn_table_epochs, out);
        put_columns(&gnn_table_counters, out);
    } else {
        put_run_header(&columns->names, out);
    }
    if (rows == GNN_CSV_OPTIONS)
        put_option_header(columns, out);
    (void)fputs("\r\n", out);
}

static enum gnn_status put_rows(enum gnn_csv_rows rows, const struct columns *columns, const struct gnn_run_record *run,
                                FILE *out, struct gnn_err *err)
{
    if (rows == GNN_CSV_EPOCHS)
        return put_run_epochs(run, out, err);
    GNN_TRY(put_run(run, &columns->names, out, err));
    if (rows == GNN_CSV_OPTIONS)
        put_options(columns, run, out);
    (void)fputs("\r\n", out);
    return GNN_OK;
}

enum gnn_status gnn_runs_csv(enum gnn_csv_rows rows, const struct gnn_run_record *runs, uint32_t count, FILE *out,
                             struct gnn_err *err)
{
    struct columns *columns;
    GNN_NEW(columns, 1, err, "the columns of the CSV");
    enum gnn_status status = GNN_OK;
    for (uint32_t i = 0; i < count && status == GNN_OK; i++)
        status = find_columns(&runs[i], columns, err);
    if (status == GNN_OK)
        put_header(rows, columns, out);
    for (uint32_t i = 0; i < count && status == GNN_OK; i++)
        status = put_rows(rows, columns, &runs[i], out, err);
    gnn_kv_clear(&columns->seen);
    gnn_kv_clear(&columns->varied);
    free(columns);
    return status;
}

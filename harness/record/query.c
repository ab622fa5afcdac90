/* SPDX-License-Identifier: MIT */
/* Reading runs back. */
#include "harness/record/db.h"

#include "harness/base/plain_text.h"
#include "harness/record/series.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "SELECT columns FROM table <tail>" with up to two integers bound. */
static enum gnn_status select_rows(struct gnn_db *db, const struct gnn_table *table, const char *tail, int64_t first,
                                   int64_t second, sqlite3_stmt **out, struct gnn_err *err)
{
    char sql[GNN_SQL_BYTES];
    (void)gnn_table_select_sql(table, sql, sizeof sql);
    const size_t used = strlen(sql);
    assert(used + strlen(tail) < sizeof sql);
    (void)snprintf(sql + used, sizeof sql - used, "%s", tail);
    GNN_TRY(gnn_db_prepare(db, sql, out, err));
    (void)sqlite3_bind_int64(*out, 1, first);
    if (sqlite3_bind_parameter_count(*out) > 1)
        (void)sqlite3_bind_int64(*out, 2, second);
    return GNN_OK;
}

/* Ends a loop over rows: an error that stopped it is reported. */
static enum gnn_status end_rows(struct gnn_db *db, sqlite3_stmt *statement, enum gnn_status status, struct gnn_err *err)
{
    if (sqlite3_finalize(statement) != SQLITE_OK && status == GNN_OK)
        return gnn_db_fail(db, "read", err);
    return status;
}

static enum gnn_status load_pairs(struct gnn_db *db, const char *sql, int64_t run_id, struct gnn_kv_list *list,
                                  struct gnn_err *err)
{
    sqlite3_stmt *statement;
    GNN_TRY(gnn_db_prepare(db, sql, &statement, err));
    (void)sqlite3_bind_int64(statement, 1, run_id);
    enum gnn_status status = GNN_OK;
    while (status == GNN_OK && sqlite3_step(statement) == SQLITE_ROW)
        status = gnn_kv_set(list, (const char *)sqlite3_column_text(statement, 0),
                            (const char *)sqlite3_column_text(statement, 1), err);
    return end_rows(db, statement, status, err);
}

/* Loads at most max rows into an array of the table's own rows; *count grows by how many there were. */
static enum gnn_status load_rows(struct gnn_db *db, const struct gnn_table *table, const char *tail, int64_t first,
                                 int64_t second, void *rows, uint32_t max, uint32_t *count, struct gnn_err *err)
{
    sqlite3_stmt *statement;
    GNN_TRY(select_rows(db, table, tail, first, second, &statement, err));
    for (; *count < max && sqlite3_step(statement) == SQLITE_ROW; ++*count)
        gnn_table_load(table, statement, 0, (char *)rows + *count * table->row_bytes);
    return end_rows(db, statement, GNN_OK, err);
}

static enum gnn_status load_counters(struct gnn_db *db, int64_t run_id, int64_t epoch, struct gnn_record_counters *out,
                                     struct gnn_err *err)
{
    uint32_t count = 0;
    return load_rows(db, &gnn_table_counters, "WHERE run_id = ? AND epoch = ?", run_id, epoch, out, 1, &count, err);
}

static enum gnn_status load_epoch_parts(struct gnn_db *db, int64_t run_id, struct gnn_record_epoch *epoch,
                                        struct gnn_err *err)
{
    const int64_t number = (int64_t)epoch->epoch;
    assert(epoch->stage_count == 0);
    GNN_TRY(load_counters(db, run_id, number, &epoch->counters, err));
    GNN_TRY(load_rows(db, &gnn_table_stages, "WHERE run_id = ? AND epoch = ? ORDER BY position", run_id, number,
                      epoch->stages, GNN_RECORD_STAGES_MAX, &epoch->stage_count, err));
    return load_rows(db, &gnn_table_figures, "WHERE run_id = ? AND epoch = ? ORDER BY rowid", run_id, number,
                     epoch->figures, GNN_RECORD_FIGURES_MAX, &epoch->figure_count, err);
}

static enum gnn_status load_epochs(struct gnn_db *db, struct gnn_run_record *run, struct gnn_err *err)
{
    char sql[GNN_SQL_BYTES];
    char columns[GNN_SQL_BYTES];
    (void)gnn_table_select_sql(&gnn_table_epochs, columns, sizeof columns);
    (void)snprintf(sql, sizeof sql, "SELECT epoch, %.2000s WHERE run_id = ? ORDER BY epoch",
                   columns + strlen("SELECT "));
    sqlite3_stmt *statement;
    GNN_TRY(gnn_db_prepare(db, sql, &statement, err));
    (void)sqlite3_bind_int64(statement, 1, run->run_id);
    enum gnn_status status = GNN_OK;
    while (status == GNN_OK && sqlite3_step(statement) == SQLITE_ROW) {
        struct gnn_record_epoch epoch;
        gnn_record_epoch_unknown(&epoch);
        epoch.epoch = (uint64_t)sqlite3_column_int64(statement, 0);
        gnn_table_load(&gnn_table_epochs, statement, 1, &epoch);
        status = gnn_run_record_add_epoch(run, &epoch, err);
    }
    status = end_rows(db, statement, status, err);
    for (uint32_t i = 0; i < run->epoch_count && status == GNN_OK; i++)
        status = load_epoch_parts(db, run->run_id, &run->epochs[i], err);
    return status;
}

static enum gnn_status load_series(struct gnn_db *db, struct gnn_run_record *run, struct gnn_err *err)
{
    sqlite3_stmt *statement;
    GNN_TRY(select_rows(db, &gnn_table_series, "WHERE run_id = ? ORDER BY time_ns", run->run_id, 0, &statement, err));
    enum gnn_status status = GNN_OK;
    while (status == GNN_OK && sqlite3_step(statement) == SQLITE_ROW) {
        struct gnn_series_point point;
        gnn_table_load(&gnn_table_series, statement, 0, &point);
        status = gnn_run_record_add_point(run, &point, err);
    }
    return end_rows(db, statement, status, err);
}

static enum gnn_status no_run(const struct gnn_db *db, int64_t run_id, struct gnn_err *err)
{
    char word[sizeof db->path];
    return gnn_fail(err, GNN_ENOENT, "%s has no run %" PRId64 "; `oocgnn report --last 20 --db %s` lists the latest",
                    db->path, run_id, gnn_shell_word(db->path, word, sizeof word));
}

static enum gnn_status load_run(struct gnn_db *db, struct gnn_run_record *run, struct gnn_err *err)
{
    uint32_t found = 0;
    GNN_TRY(load_rows(db, &gnn_table_runs, "WHERE run_id = ?", run->run_id, 0, run, 1, &found, err));
    if (found == 0)
        return no_run(db, run->run_id, err);
    GNN_TRY(load_counters(db, run->run_id, GNN_ALL_EPOCHS, &run->counters, err));
    GNN_TRY(load_counters(db, run->run_id, GNN_BEFORE_EPOCHS, &run->before, err));
    GNN_TRY(load_pairs(db, "SELECT key, value FROM config WHERE run_id = ? ORDER BY rowid", run->run_id, &run->config,
                       err));
    GNN_TRY(load_pairs(db, "SELECT key, value FROM environment WHERE run_id = ? ORDER BY rowid", run->run_id,
                       &run->environment, err));
    GNN_TRY(load_epochs(db, run, err));
    return load_series(db, run, err);
}

enum gnn_status gnn_db_load(struct gnn_db *db, int64_t run_id, struct gnn_run_record *out, struct gnn_err *err)
{
    gnn_run_record_init(out);
    out->run_id = run_id;
    const enum gnn_status status = load_run(db, out, err);
    if (status != GNN_OK)
        gnn_run_record_free(out);
    return status;
}

void gnn_run_records_free(struct gnn_run_record *runs, uint32_t count)
{
    for (uint32_t i = 0; runs != NULL && i < count; i++)
        gnn_run_record_free(&runs[i]);
    free(runs);
}

enum gnn_status gnn_db_load_all(struct gnn_db *db, const int64_t *ids, uint32_t count, struct gnn_run_record **out,
                                struct gnn_err *err)
{
    enum gnn_status status = GNN_OK;
    assert(count > 0);
    GNN_NEW(*out, count, err, "%u runs", count);
    for (uint32_t i = 0; i < count && status == GNN_OK; i++)
        status = gnn_db_load(db, ids[i], &(*out)[i], err);
    if (status == GNN_OK)
        return GNN_OK;
    gnn_run_records_free(*out, count); /* those that were not loaded are zero */
    *out = NULL;
    return status;
}

/* The statement, which is finalised, gives run IDs, newest first, at most as many as its parameter 1 says; ids get them
 * oldest first. */
static enum gnn_status collect_ids(struct gnn_db *db, sqlite3_stmt *statement, uint32_t max, int64_t *ids,
                                   uint32_t *count, struct gnn_err *err)
{
    *count = 0;
    assert(max > 0);
    assert(ids != NULL);
    (void)sqlite3_bind_int64(statement, 1, max);
    while (*count < max && sqlite3_step(statement) == SQLITE_ROW)
        ids[(*count)++] = sqlite3_column_int64(statement, 0);
    for (uint32_t i = 0; i < *count / 2; i++) {
        const int64_t swapped = ids[i];
        ids[i] = ids[*count - 1 - i];
        ids[*count - 1 - i] = swapped;
    }
    return end_rows(db, statement, GNN_OK, err);
}

enum gnn_status gnn_db_last(struct gnn_db *db, uint32_t n, int64_t *ids, uint32_t *count, struct gnn_err *err)
{
    sqlite3_stmt *statement;
    *count = 0;
    GNN_TRY(gnn_db_prepare(db, "SELECT run_id FROM runs ORDER BY run_id DESC LIMIT ?", &statement, err));
    return collect_ids(db, statement, n, ids, count, err);
}

/* What a comparison has in common, and the option that chooses it. */
static const struct {
    const char *option, *column;
} commons[] = {
    {"dataset", "dataset"},
    {"dataset", "scale"},
    {"scale", "scale"},
    {"dim", "dim"},
    {"model", "model"},
    {"sample-only", "variant"},
    {"tag", "tag"},
    {"world", "world"},
    {"profile", "profile"},
    {"compute", "compute"},
    {"memory", "cap_bytes"},
    {"memory", "cap_enforcement"},
    {GNN_ENVIRONMENT_INHERITED, "inherited"},
    {"batch", "batch_size"},
    {"fanout", "fanout"},
    {"cold", "cold_observed"},
    {"device-bps", "device_bps"},
    {"device-iops", "device_iops"},
    {"build.revision", "revision"},
};

/* Options of which a column has more than the configuration: name and scale of a dataset given by its directory. */
static const char *column_of(const char *option)
{
    static const char *const columns[] = {"dataset", "scale", "dim", "tag"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(option, columns[i]) == 0)
            return columns[i];
    return NULL;
}

static const char *table_of(const char *key)
{
    for (const char *const *fact = gnn_run_facts; *fact != NULL; fact++)
        if (strcmp(*fact, key) == 0)
            return "environment";
    return "config";
}

/* Whether runs may differ in this column: it is the series' own, or several of its values are chosen. */
static bool is_free(const char *column, const struct gnn_db_choice *choice)
{
    for (size_t i = 0; i < sizeof commons / sizeof *commons; i++) {
        const char *const values = gnn_kv_get(&choice->where, commons[i].option);
        if (strcmp(column, commons[i].column) == 0 &&
            (strcmp(choice->series, commons[i].option) == 0 || (values != NULL && strchr(values, '|') != NULL)))
            return true;
    }
    return false;
}

static void append(char sql[GNN_SQL_BYTES], const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(char sql[GNN_SQL_BYTES], const char *format, ...)
{
    const size_t used = strlen(sql);
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(sql + used, GNN_SQL_BYTES - used, format, args);
    va_end(args);
    assert(length >= 0);
    assert(used + (size_t)length < GNN_SQL_BYTES); /* GNN_CHOICES_MAX conditions fit */
}

/* As gnn_run_inherited_bytes: of a run whose own limit is enforced, none. */
static const char inherited[] =
    "CASE WHEN cap_bytes IS NULL OR cap_enforcement = '" GNN_CAP_IN_PROGRAM "' THEN (SELECT i.value FROM environment i "
    "WHERE i.run_id = runs.run_id AND i.key = '" GNN_ENVIRONMENT_INHERITED "') END";

/* Repetitions made by another build are another comparison: the revision has to be the same. A condition holds if its
 * values, with bars around each, contain the run's. */
static void comparison_sql(const struct gnn_db_choice *choice, char sql[GNN_SQL_BYTES])
{
    sql[0] = '\0';
    append(sql,
           "WITH finished AS (SELECT runs.*, environment.value AS revision, %s AS inherited FROM runs LEFT JOIN "
           "environment ON environment.run_id = runs.run_id AND key = 'build.revision' "
           "WHERE status IN ('ok', 'oom', 'gpu_oom', 'oot', 'invalid')",
           inherited);
    for (uint32_t i = 0; i < choice->where.count; i++) {
        const char *const column = column_of(choice->where.items[i].key);
        if (column != NULL)
            append(sql, " AND instr('|' || ?%u || '|', '|' || coalesce(runs.%s, '') || '|')", 3 + 2 * i, column);
        else
            append(sql,
                   " AND EXISTS (SELECT 1 FROM %s c WHERE c.run_id = runs.run_id AND c.key = ?%u "
                   "AND instr('|' || ?%u || '|', '|' || c.value || '|'))",
                   table_of(choice->where.items[i].key), 2 + 2 * i, 3 + 2 * i);
    }
    append(sql, "), newest AS (SELECT * FROM finished ORDER BY run_id DESC LIMIT 1) "
                "SELECT f.run_id FROM finished f, newest n WHERE true");
    for (size_t i = 0; i < sizeof commons / sizeof *commons && !choice->any_workload; i++)
        if (!is_free(commons[i].column, choice))
            append(sql, " AND f.%s IS n.%s", commons[i].column, commons[i].column);
    append(sql, " ORDER BY f.run_id DESC LIMIT ?1");
}

enum gnn_status gnn_db_comparison(struct gnn_db *db, const struct gnn_db_choice *choice, uint32_t max, int64_t *ids,
                                  uint32_t *count, struct gnn_err *err)
{
    char sql[GNN_SQL_BYTES];
    sqlite3_stmt *statement;
    *count = 0;
    if (choice->where.count > GNN_CHOICES_MAX)
        return gnn_fail(err, GNN_EUSAGE, "--where: more than %d conditions", GNN_CHOICES_MAX);
    comparison_sql(choice, sql);
    GNN_TRY(gnn_db_prepare(db, sql, &statement, err));
    for (uint32_t i = 0; i < choice->where.count; i++) {
        const struct gnn_kv *const where = &choice->where.items[i];
        const int key = 2 + 2 * (int)i;
        if (column_of(where->key) == NULL)
            (void)sqlite3_bind_text(statement, key, where->key, -1, SQLITE_STATIC);
        (void)sqlite3_bind_text(statement, key + 1, where->value, -1, SQLITE_STATIC);
    }
    return collect_ids(db, statement, max, ids, count, err);
}

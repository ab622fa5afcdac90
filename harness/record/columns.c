/* SPDX-License-Identifier: MIT */
#include "harness/record/columns.h"

#include "harness/base/plain_text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *gnn_run_status_name(enum gnn_run_status status)
{
    static const char *const names[GNN_RUN_STATUS_COUNT] = {
        [GNN_RUN_RUNNING] = "running", [GNN_RUN_OK] = "ok",
        [GNN_RUN_OOM] = "oom",         [GNN_RUN_GPU_OOM] = "gpu_oom",
        [GNN_RUN_OOT] = "oot",         [GNN_RUN_FAILED] = "failed",
        [GNN_RUN_INVALID] = "invalid", [GNN_RUN_INTERRUPTED] = "interrupted",
    };
    assert(status >= 0);
    assert(status < GNN_RUN_STATUS_COUNT);
    assert(names[status] != NULL);
    return names[status];
}

enum { VALUE_BYTES = 32 };

#define FIELD(record, member, kind, time)                                                                              \
    {                                                                                                                  \
        .name = #member, .type = (kind), .offset = offsetof(record, member),                                           \
        .text_bytes = sizeof(((record *)0)->member), .is_time = (time)                                                 \
    }
#define U64(record, member) FIELD(record, member, GNN_COLUMN_U64, false)
#define TIME(record, member) FIELD(record, member, GNN_COLUMN_U64, true)
#define F64(record, member) FIELD(record, member, GNN_COLUMN_F64, false)
#define RATE(record, member) FIELD(record, member, GNN_COLUMN_F64, true)
#define TEXT(record, member) FIELD(record, member, GNN_COLUMN_TEXT, false)
#define TRI(record, member) FIELD(record, member, GNN_COLUMN_TRI, false)
#define COUNT(columns) (sizeof(columns) / sizeof *(columns))

/* Values travel through memcpy and SQLite's 64-bit integers. */
_Static_assert(sizeof(uint64_t) == sizeof(sqlite3_int64), "a count is an SQLite integer");
_Static_assert(sizeof(enum gnn_run_status) == sizeof(int), "a status is loaded as an int");
_Static_assert(VALUE_BYTES >= 20 + 2 + 1, "1/K of 64 bits");

/* clang-format off */
#define PEAK(record, member) \
    {.name = #member, .type = GNN_COLUMN_U64, .offset = offsetof(record, member), .is_peak = true}
#define RUN struct gnn_run_record
static const struct gnn_column run_columns[] = {
    FIELD(RUN, status, GNN_COLUMN_STATUS, false), TRI(RUN, valid), TEXT(RUN, reasons), U64(RUN, started_unix_ns),
    TIME(RUN, wall_ns), TEXT(RUN, system), TEXT(RUN, dataset),
    {.name = "scale", .type = GNN_COLUMN_SCALE, .offset = offsetof(RUN, scale_divisor)}, U64(RUN, dim),
    U64(RUN, dataset_bytes), TEXT(RUN, model), TEXT(RUN, preset), TEXT(RUN, variant), TEXT(RUN, tag), TEXT(RUN, world),
    TEXT(RUN, profile), TEXT(RUN, compute), TEXT(RUN, io_engine), U64(RUN, seed), U64(RUN, batch_size),
    TEXT(RUN, fanout), U64(RUN, epochs_planned), U64(RUN, cap_bytes), U64(RUN, cap_swap_bytes),
    TEXT(RUN, cap_enforcement), U64(RUN, cap_read_back_bytes), U64(RUN, swap_read_back_bytes), U64(RUN, oom_kills),
    U64(RUN, device_bps), U64(RUN, device_iops), TRI(RUN, cold_asked), TRI(RUN, cold_observed), TRI(RUN, direct_asked),
    TRI(RUN, direct_observed), U64(RUN, resident_start_bytes), U64(RUN, resident_end_bytes),
};

#define EPOCH struct gnn_record_epoch
static const struct gnn_column epoch_columns[] = {
    TRI(EPOCH, complete), TIME(EPOCH, wall_ns), TIME(EPOCH, prepare_ns), F64(EPOCH, loss), F64(EPOCH, train_accuracy),
    F64(EPOCH, valid_accuracy), F64(EPOCH, test_accuracy), F64(EPOCH, valid_mrr), F64(EPOCH, valid_raw_mrr),
    F64(EPOCH, valid_hits_1), F64(EPOCH, valid_hits_3), F64(EPOCH, valid_hits_10), F64(EPOCH, test_mrr),
    F64(EPOCH, test_raw_mrr), F64(EPOCH, test_hits_1), F64(EPOCH, test_hits_3), F64(EPOCH, test_hits_10),
};

#define STAGE struct gnn_record_stage
static const struct gnn_column stage_columns[] = {
    TEXT(STAGE, stage), PEAK(STAGE, workers), U64(STAGE, items), TIME(STAGE, wall_ns), TIME(STAGE, work_ns),
    TIME(STAGE, cpu_ns), TIME(STAGE, queued_ns), TIME(STAGE, wait_io_ns), TIME(STAGE, wait_queue_ns),
    TIME(STAGE, wait_lock_ns), TIME(STAGE, wait_compute_ns), TIME(STAGE, wait_resource_ns),
};

#define COUNTERS struct gnn_record_counters
static const struct gnn_column counter_columns[] = {
    TIME(COUNTERS, elapsed_ns), TIME(COUNTERS, cpu_ns), U64(COUNTERS, needed_bytes),
    U64(COUNTERS, requested_bytes), U64(COUNTERS, requested_ios),
    U64(COUNTERS, requested_write_bytes), U64(COUNTERS, requested_write_ios),
    U64(COUNTERS, device_read_bytes), U64(COUNTERS, device_read_ios), U64(COUNTERS, device_write_bytes),
    U64(COUNTERS, cache_hits), U64(COUNTERS, cache_misses), U64(COUNTERS, cache_evictions),
    U64(COUNTERS, rows_asked), U64(COUNTERS, rows_read),
    U64(COUNTERS, sampled_nodes), U64(COUNTERS, sampled_edges), U64(COUNTERS, batches),
    FIELD(COUNTERS, batch_digest, GNN_COLUMN_DIGEST, false), PEAK(COUNTERS, peak_memory_bytes),
    PEAK(COUNTERS, page_cache_bytes), U64(COUNTERS, refaults), PEAK(COUNTERS, prepare_disk_bytes),
};

#define FIGURE struct gnn_record_figure
static const struct gnn_column figure_columns[] = {TEXT(FIGURE, name), U64(FIGURE, value)};

#define POINT struct gnn_series_point
static const struct gnn_column series_columns[] = {
    U64(POINT, time_ns), U64(POINT, interval_ns), RATE(POINT, cpu_pct), RATE(POINT, iowait_pct),
    RATE(POINT, worker_cpu_pct), RATE(POINT, psi_cpu_some_pct), RATE(POINT, psi_memory_some_pct),
    RATE(POINT, psi_memory_full_pct), RATE(POINT, psi_io_some_pct), RATE(POINT, psi_io_full_pct),
    RATE(POINT, disk_read_bytes_per_s), RATE(POINT, disk_read_ios_per_s), RATE(POINT, disk_write_bytes_per_s),
    RATE(POINT, disk_busy_pct), RATE(POINT, group_read_bytes_per_s), RATE(POINT, group_read_ios_per_s),
    U64(POINT, memory_bytes), U64(POINT, anon_bytes), U64(POINT, file_bytes), U64(POINT, refaults),
    U64(POINT, worker_major_faults), RATE(POINT, gpu_busy_pct), U64(POINT, gpu_memory_bytes),
    RATE(POINT, gpu_power_w), RATE(POINT, gpu_rx_bytes_per_s), RATE(POINT, gpu_tx_bytes_per_s),
};
/* clang-format on */

/* clang-format off */
const struct gnn_table gnn_table_runs = {"runs", "", 0, run_columns, COUNT(run_columns), sizeof(RUN)},
    gnn_table_epochs = {"epochs", "run_id, epoch", 2, epoch_columns, COUNT(epoch_columns), sizeof(EPOCH)},
    gnn_table_stages = {"stages", "run_id, epoch, position", 3, stage_columns, COUNT(stage_columns), sizeof(STAGE)},
    gnn_table_counters = {"counters", "run_id, epoch", 2, counter_columns, COUNT(counter_columns), sizeof(COUNTERS)},
    gnn_table_figures = {"figures", "run_id, epoch", 2, figure_columns, COUNT(figure_columns), sizeof(FIGURE)},
    gnn_table_series = {"series", "run_id", 1, series_columns, COUNT(series_columns), sizeof(POINT)};
/* clang-format on */

/* ---- SQL ---- */

static void append(char *sql, size_t sql_bytes, const char *format, const char *word)
{
    const size_t used = strlen(sql);
    const int length = snprintf(sql + used, sql_bytes - used, format, word);
    assert(length >= 0);
    assert((size_t)length < sql_bytes - used); /* GNN_SQL_BYTES holds the widest table */
}

static void append_columns(const struct gnn_table *table, const char *after, char *sql, size_t sql_bytes)
{
    for (uint32_t i = 0; i < table->column_count; i++) {
        append(sql, sql_bytes, "%s", i == 0 ? "" : ", ");
        append(sql, sql_bytes, "%s", table->columns[i].name);
        append(sql, sql_bytes, "%s", after);
    }
}

const char *gnn_table_insert_sql(const struct gnn_table *table, char *sql, size_t sql_bytes)
{
    sql[0] = '\0';
    append(sql, sql_bytes, "INSERT OR REPLACE INTO %s (", table->name);
    append(sql, sql_bytes, table->key_count == 0 ? "%s" : "%s, ", table->keys);
    append_columns(table, "", sql, sql_bytes);
    append(sql, sql_bytes, "%s", ") VALUES (");
    for (uint32_t i = 0; i < table->key_count + table->column_count; i++)
        append(sql, sql_bytes, "%s", i == 0 ? "?" : ", ?");
    append(sql, sql_bytes, "%s", ")");
    return sql;
}

const char *gnn_table_select_sql(const struct gnn_table *table, char *sql, size_t sql_bytes)
{
    sql[0] = '\0';
    append(sql, sql_bytes, "%s", "SELECT ");
    append_columns(table, "", sql, sql_bytes);
    append(sql, sql_bytes, " FROM %s ", table->name);
    return sql;
}

const char *gnn_table_update_sql(const struct gnn_table *table, char *sql, size_t sql_bytes)
{
    sql[0] = '\0';
    append(sql, sql_bytes, "UPDATE %s SET ", table->name);
    append_columns(table, " = ?", sql, sql_bytes);
    append(sql, sql_bytes, "%s", " ");
    return sql;
}

/* ---- values ---- */

/* A field as SQLite and JSON see it. */
struct value {
    enum { UNKNOWN, INTEGER, REAL, WORDS } kind;
    int64_t integer;
    double real;
    const char *words;
    char scratch[VALUE_BYTES]; /* for words that are not in the record */
};

static void get_digest(const struct gnn_record_counters *counters, struct value *out)
{
    out->kind = counters->has_digest ? WORDS : UNKNOWN;
    (void)snprintf(out->scratch, VALUE_BYTES, "%016" PRIx64, counters->batch_digest);
}

static void get(const struct gnn_column *column, const void *row, struct value *out)
{
    const void *const field = (const char *)row + column->offset;
    uint64_t count = GNN_UNKNOWN;
    int tri = -1;
    *out = (struct value){.kind = UNKNOWN, .words = out->scratch};
    switch (column->type) {
    case GNN_COLUMN_U64:
        memcpy(&count, field, sizeof count);
        out->kind = count == GNN_UNKNOWN ? UNKNOWN : INTEGER;
        out->integer = (int64_t)count;
        return;
    case GNN_COLUMN_F64: /* infinities are no measurements either */
        memcpy(&out->real, field, sizeof out->real);
        out->kind = isfinite(out->real) ? REAL : UNKNOWN;
        return;
    case GNN_COLUMN_TRI:
        memcpy(&tri, field, sizeof tri);
        out->kind = tri < 0 ? UNKNOWN : INTEGER;
        out->integer = tri;
        return;
    case GNN_COLUMN_TEXT:
        out->words = field;
        out->kind = out->words[0] == '\0' ? UNKNOWN : WORDS;
        return;
    case GNN_COLUMN_STATUS:
        out->words = gnn_run_status_name(((const struct gnn_run_record *)row)->status);
        out->kind = WORDS;
        return;
    case GNN_COLUMN_SCALE:
        memcpy(&count, field, sizeof count);
        out->kind = count == GNN_UNKNOWN ? UNKNOWN : WORDS;
        (void)snprintf(out->scratch, VALUE_BYTES, count == 1 ? "1" : "1/%" PRIu64, count);
        return;
    case GNN_COLUMN_DIGEST:
        get_digest(row, out);
    }
}

static enum gnn_run_status parse_status(const char *text)
{
    for (int status = 0; text != NULL && status < GNN_RUN_STATUS_COUNT; status++)
        if (strcmp(text, gnn_run_status_name((enum gnn_run_status)status)) == 0)
            return (enum gnn_run_status)status;
    return text == NULL ? GNN_RUN_RUNNING : GNN_RUN_FAILED; /* the table's CHECK lets no other word in */
}

/* The reverse of get. */
static void put(const struct gnn_column *column, const struct value *value, void *row)
{
    void *const field = (char *)row + column->offset;
    const char *const words = value->kind == WORDS ? value->words : NULL;
    uint64_t count = value->kind == INTEGER ? (uint64_t)value->integer : GNN_UNKNOWN;
    const double real = value->kind == REAL ? value->real : (double)NAN;
    const int tri = value->kind == INTEGER ? (int)value->integer : -1;
    switch (column->type) {
    case GNN_COLUMN_F64:
        memcpy(field, &real, sizeof real);
        return;
    case GNN_COLUMN_TRI:
        memcpy(field, &tri, sizeof tri);
        return;
    case GNN_COLUMN_TEXT:
        assert(column->text_bytes > 0);
        (void)snprintf(field, column->text_bytes, "%s", words == NULL ? "" : words);
        return;
    case GNN_COLUMN_STATUS:
        ((struct gnn_run_record *)row)->status = parse_status(words);
        return;
    case GNN_COLUMN_DIGEST:
        ((struct gnn_record_counters *)row)->has_digest = words != NULL;
        ((struct gnn_record_counters *)row)->batch_digest = words == NULL ? 0 : strtoull(words, NULL, 16);
        return;
    case GNN_COLUMN_SCALE:
        if (words != NULL)
            count = strncmp(words, "1/", 2) == 0 ? strtoull(words + 2, NULL, 10) : 1;
        break;
    case GNN_COLUMN_U64:
        break;
    }
    memcpy(field, &count, sizeof count);
}

static int bind_one(const struct value *value, sqlite3_stmt *statement, int index)
{
    if (value->kind == INTEGER)
        return sqlite3_bind_int64(statement, index, value->integer);
    if (value->kind == REAL)
        return sqlite3_bind_double(statement, index, value->real);
    if (value->kind == WORDS)
        return sqlite3_bind_text(statement, index, value->words, -1, SQLITE_TRANSIENT);
    return sqlite3_bind_null(statement, index);
}

int gnn_table_bind(const struct gnn_table *table, const void *row, sqlite3_stmt *statement, int first)
{
    assert(first >= 1);
    assert(first + (int)table->column_count - 1 <= sqlite3_bind_parameter_count(statement));
    int code = SQLITE_OK;
    for (uint32_t i = 0; i < table->column_count && code == SQLITE_OK; i++) {
        struct value value;
        get(&table->columns[i], row, &value);
        code = bind_one(&value, statement, first + (int)i);
    }
    return code;
}

void gnn_table_load(const struct gnn_table *table, sqlite3_stmt *statement, int first, void *row)
{
    assert(first >= 0);
    assert(first + (int)table->column_count <= sqlite3_column_count(statement));
    for (uint32_t i = 0; i < table->column_count; i++) {
        const enum gnn_column_type type = table->columns[i].type;
        const int at = first + (int)i;
        struct value value = {.kind = UNKNOWN};
        if (sqlite3_column_type(statement, at) == SQLITE_NULL)
            value.kind = UNKNOWN;
        else if (type == GNN_COLUMN_U64 || type == GNN_COLUMN_TRI)
            value = (struct value){.kind = INTEGER, .integer = sqlite3_column_int64(statement, at)};
        else if (type == GNN_COLUMN_F64)
            value = (struct value){.kind = REAL, .real = sqlite3_column_double(statement, at)};
        else
            value = (struct value){.kind = WORDS, .words = (const char *)sqlite3_column_text(statement, at)};
        put(&table->columns[i], &value, row);
    }
}

void gnn_table_unknown(const struct gnn_table *table, void *row)
{
    static const struct value unknown = {.kind = UNKNOWN};
    memset(row, 0, table->row_bytes); /* padding too */
    for (uint32_t i = 0; i < table->column_count; i++) {
        assert(table->columns[i].offset < table->row_bytes);
        put(&table->columns[i], &unknown, row);
    }
}

void gnn_table_add(const struct gnn_table *table, const void *row, void *sum)
{
    for (uint32_t i = 0; i < table->column_count; i++) {
        const struct gnn_column *const column = &table->columns[i];
        uint64_t total, value;
        if (column->type != GNN_COLUMN_U64)
            continue;
        memcpy(&total, (char *)sum + column->offset, sizeof total);
        memcpy(&value, (const char *)row + column->offset, sizeof value);
        const bool unknown = total == GNN_UNKNOWN || value == GNN_UNKNOWN;
        if (column->is_peak)
            total = unknown ? gnn_min_u64(total, value) : gnn_max_u64(total, value);
        else
            total = unknown ? GNN_UNKNOWN : total + value;
        memcpy((char *)sum + column->offset, &total, sizeof total);
    }
}

json_t *gnn_json_text(const char *text)
{
    json_t *const whole = json_string(text);
    char *const plain = whole == NULL ? strdup(text) : NULL;
    if (plain == NULL)
        return whole;
    gnn_text_make_plain(plain);
    json_t *const repaired = json_string(plain);
    free(plain);
    return repaired;
}

static json_t *json_one(const struct value *value)
{
    if (value->kind == INTEGER)
        return json_integer(value->integer);
    if (value->kind == REAL)
        return json_real(value->real);
    return value->kind == WORDS ? gnn_json_text(value->words) : json_null();
}

bool gnn_table_json(const struct gnn_table *table, const void *row, bool hide_times, json_t *object)
{
    for (uint32_t i = 0; i < table->column_count; i++) {
        const struct gnn_column *const column = &table->columns[i];
        struct value value;
        get(column, row, &value);
        json_t *const shown = hide_times && column->is_time ? json_null() : json_one(&value);
        if (json_object_set_new(object, column->name, shown) != 0)
            return false;
    }
    return true;
}

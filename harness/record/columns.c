#include "harness/record/columns.h"

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
    TIME(EPOCH, wall_ns), TIME(EPOCH, prepare_ns), F64(EPOCH, loss), F64(EPOCH, train_accuracy),
    F64(EPOCH, valid_accuracy), F64(EPOCH, test_accuracy),
};

#define STAGE struct gnn_record_stage
static const struct gnn_column stage_columns[] = {
    TEXT(STAGE, stage), U64(STAGE, workers), U64(STAGE, items), TIME(STAGE, wall_ns), TIME(STAGE, work_ns),
    TIME(STAGE, cpu_ns), TIME(STAGE, wait_io_ns), TIME(STAGE, wait_queue_ns), TIME(STAGE, wait_lock_ns),
    TIME(STAGE, wait_compute_ns), TIME(STAGE, wait_resource_ns),
};

#define COUNTERS struct gnn_record_counters
static const struct gnn_column counter_columns[] = {
    U64(COUNTERS, needed_bytes), U64(COUNTERS, requested_bytes), U64(COUNTERS, requested_ios),
    U64(COUNTERS, device_read_bytes), U64(COUNTERS, device_read_ios), U64(COUNTERS, device_write_bytes),
    U64(COUNTERS, cache_hits), U64(COUNTERS, cache_misses), U64(COUNTERS, cache_evictions),
    U64(COUNTERS, sampled_nodes), U64(COUNTERS, sampled_edges), U64(COUNTERS, batches),
    FIELD(COUNTERS, batch_digest, GNN_COLUMN_DIGEST, false), U64(COUNTERS, peak_memory_bytes),
    U64(COUNTERS, page_cache_bytes), U64(COUNTERS, refaults), U64(COUNTERS, prepare_disk_bytes),
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
};
/* clang-format on */

const struct gnn_table gnn_table_runs = {"runs", "", 0, run_columns, COUNT(run_columns), sizeof(RUN)};
const struct gnn_table gnn_table_epochs = {"epochs",      "run_id, epoch",      2,
                                           epoch_columns, COUNT(epoch_columns), sizeof(EPOCH)};
const struct gnn_table gnn_table_stages = {"stages",      "run_id, epoch, position", 3,
                                           stage_columns, COUNT(stage_columns),      sizeof(STAGE)};
const struct gnn_table gnn_table_counters = {"counters",      "run_id, epoch",        2,
                                             counter_columns, COUNT(counter_columns), sizeof(COUNTERS)};
const struct gnn_table gnn_table_figures = {"figures",      "run_id, epoch",       2,
                                            figure_columns, COUNT(figure_columns), sizeof(FIGURE)};
const struct gnn_table gnn_table_series = {"series", "run_id", 1, series_columns, COUNT(series_columns), sizeof(POINT)};

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

static uint64_t field_u64(const void *field)
{
    uint64_t value;
    memcpy(&value, field, sizeof value);
    return value;
}

static double field_f64(const void *field)
{
    double value;
    memcpy(&value, field, sizeof value);
    return value;
}

static int field_int(const void *field)
{
    int value;
    memcpy(&value, field, sizeof value);
    return value;
}

/* The text of a column that is text outside; NULL: unknown. scratch holds what has to be printed. */
static const char *field_text(const struct gnn_column *column, const void *row, char scratch[VALUE_BYTES])
{
    const char *field = (const char *)row + column->offset;
    switch (column->type) {
    case GNN_COLUMN_TEXT:
        return field[0] == '\0' ? NULL : field;
    case GNN_COLUMN_STATUS:
        return gnn_run_status_name((enum gnn_run_status)field_int(field));
    case GNN_COLUMN_SCALE:
        if (field_u64(field) == GNN_UNKNOWN)
            return NULL;
        (void)snprintf(scratch, VALUE_BYTES, field_u64(field) == 1 ? "1" : "1/%" PRIu64, field_u64(field));
        return scratch;
    case GNN_COLUMN_DIGEST:
        if (!((const struct gnn_record_counters *)row)->has_digest)
            return NULL;
        (void)snprintf(scratch, VALUE_BYTES, "%016" PRIx64, field_u64(field));
        return scratch;
    case GNN_COLUMN_U64:
    case GNN_COLUMN_F64:
    case GNN_COLUMN_TRI:
        break;
    }
    return NULL;
}

static int bind_one(const struct gnn_column *column, const void *row, sqlite3_stmt *statement, int index)
{
    const char *field = (const char *)row + column->offset;
    char scratch[VALUE_BYTES];
    switch (column->type) {
    case GNN_COLUMN_U64:
        return field_u64(field) == GNN_UNKNOWN ? sqlite3_bind_null(statement, index)
                                               : sqlite3_bind_int64(statement, index, (sqlite3_int64)field_u64(field));
    case GNN_COLUMN_F64: /* SQLite turns NAN into NULL by itself; infinities are no measurements either */
        return isfinite(field_f64(field)) ? sqlite3_bind_double(statement, index, field_f64(field))
                                          : sqlite3_bind_null(statement, index);
    case GNN_COLUMN_TRI:
        return field_int(field) < 0 ? sqlite3_bind_null(statement, index)
                                    : sqlite3_bind_int(statement, index, field_int(field));
    case GNN_COLUMN_TEXT:
    case GNN_COLUMN_STATUS:
    case GNN_COLUMN_SCALE:
    case GNN_COLUMN_DIGEST:
        break;
    }
    return sqlite3_bind_text(statement, index, field_text(column, row, scratch), -1, SQLITE_TRANSIENT);
}

int gnn_table_bind(const struct gnn_table *table, const void *row, sqlite3_stmt *statement, int first)
{
    assert(first >= 1);
    assert(first + (int)table->column_count - 1 <= sqlite3_bind_parameter_count(statement));
    int code = SQLITE_OK;
    for (uint32_t i = 0; i < table->column_count && code == SQLITE_OK; i++)
        code = bind_one(&table->columns[i], row, statement, first + (int)i);
    return code;
}

static enum gnn_run_status parse_status(const char *text)
{
    for (int status = 0; status < GNN_RUN_STATUS_COUNT; status++)
        if (strcmp(text, gnn_run_status_name((enum gnn_run_status)status)) == 0)
            return (enum gnn_run_status)status;
    return GNN_RUN_FAILED; /* the table's CHECK lets no other word in */
}

static void load_text(const struct gnn_column *column, const char *text, void *row)
{
    char *field = (char *)row + column->offset;
    uint64_t value = GNN_UNKNOWN;
    switch (column->type) {
    case GNN_COLUMN_TEXT:
        assert(column->text_bytes > 0);
        (void)snprintf(field, column->text_bytes, "%s", text == NULL ? "" : text);
        break;
    case GNN_COLUMN_STATUS: {
        const enum gnn_run_status status = parse_status(text == NULL ? "" : text);
        memcpy(field, &status, sizeof status);
        break;
    }
    case GNN_COLUMN_SCALE:
        if (text != NULL)
            value = strncmp(text, "1/", 2) == 0 ? strtoull(text + 2, NULL, 10) : 1;
        memcpy(field, &value, sizeof value);
        break;
    case GNN_COLUMN_DIGEST:
        ((struct gnn_record_counters *)row)->has_digest = text != NULL;
        ((struct gnn_record_counters *)row)->batch_digest = text == NULL ? 0 : strtoull(text, NULL, 16);
        break;
    case GNN_COLUMN_U64:
    case GNN_COLUMN_F64:
    case GNN_COLUMN_TRI:
        break;
    }
}

static void load_one(const struct gnn_column *column, sqlite3_stmt *statement, int index, void *row)
{
    char *field = (char *)row + column->offset;
    const bool unknown = sqlite3_column_type(statement, index) == SQLITE_NULL;
    if (column->type == GNN_COLUMN_U64) {
        const uint64_t value = unknown ? GNN_UNKNOWN : (uint64_t)sqlite3_column_int64(statement, index);
        memcpy(field, &value, sizeof value);
    } else if (column->type == GNN_COLUMN_F64) {
        const double value = unknown ? (double)NAN : sqlite3_column_double(statement, index);
        memcpy(field, &value, sizeof value);
    } else if (column->type == GNN_COLUMN_TRI) {
        const int value = unknown ? -1 : sqlite3_column_int(statement, index);
        memcpy(field, &value, sizeof value);
    } else {
        load_text(column, (const char *)sqlite3_column_text(statement, index), row);
    }
}

void gnn_table_load(const struct gnn_table *table, sqlite3_stmt *statement, int first, void *row)
{
    assert(first >= 0);
    assert(first + (int)table->column_count <= sqlite3_column_count(statement));
    for (uint32_t i = 0; i < table->column_count; i++)
        load_one(&table->columns[i], statement, first + (int)i, row);
}

void gnn_table_unknown(const struct gnn_table *table, void *row)
{
    static const uint64_t unknown_u64 = GNN_UNKNOWN;
    static const double unknown_f64 = (double)NAN;
    static const int unknown_tri = -1;
    memset(row, 0, table->row_bytes); /* padding too; texts and digests are unknown with it */
    for (uint32_t i = 0; i < table->column_count; i++) {
        char *field = (char *)row + table->columns[i].offset;
        assert(table->columns[i].offset < table->row_bytes);
        switch (table->columns[i].type) {
        case GNN_COLUMN_U64:
        case GNN_COLUMN_SCALE:
            memcpy(field, &unknown_u64, sizeof unknown_u64);
            break;
        case GNN_COLUMN_F64:
            memcpy(field, &unknown_f64, sizeof unknown_f64);
            break;
        case GNN_COLUMN_TRI:
            memcpy(field, &unknown_tri, sizeof unknown_tri);
            break;
        case GNN_COLUMN_TEXT:
        case GNN_COLUMN_STATUS:
        case GNN_COLUMN_DIGEST:
            break;
        }
    }
}

static json_t *json_one(const struct gnn_column *column, const void *row)
{
    const char *field = (const char *)row + column->offset;
    char scratch[VALUE_BYTES];
    const char *text = field_text(column, row, scratch);
    if (text != NULL)
        return json_string(text);
    if (column->type == GNN_COLUMN_U64 && field_u64(field) != GNN_UNKNOWN)
        return json_integer((json_int_t)field_u64(field));
    if (column->type == GNN_COLUMN_F64 && isfinite(field_f64(field)))
        return json_real(field_f64(field));
    if (column->type == GNN_COLUMN_TRI && field_int(field) >= 0)
        return json_integer(field_int(field));
    return json_null();
}

bool gnn_table_json(const struct gnn_table *table, const void *row, bool hide_times, json_t *object)
{
    for (uint32_t i = 0; i < table->column_count; i++) {
        const struct gnn_column *column = &table->columns[i];
        json_t *value = hide_times && column->is_time ? json_null() : json_one(column, row);
        if (json_object_set_new(object, column->name, value) != 0)
            return false;
    }
    return true;
}

/* SPDX-License-Identifier: MIT */
/* Mapping between fields of a record and columns: one table serves SQL in, SQL out and JSON. Internal to record. */
#ifndef GNN_RECORD_COLUMNS_H
#define GNN_RECORD_COLUMNS_H

#include "harness/record/record.h"

#include <jansson.h>
#include <sqlite3.h>

enum gnn_column_type {
    GNN_COLUMN_U64,    /* uint64_t, GNN_UNKNOWN = NULL */
    GNN_COLUMN_F64,    /* double, NAN = NULL */
    GNN_COLUMN_TEXT,   /* char[], "" = NULL */
    GNN_COLUMN_TRI,    /* int: 1, 0, -1 = NULL */
    GNN_COLUMN_STATUS, /* enum gnn_run_status */
    GNN_COLUMN_SCALE,  /* uint64_t divisor K, as '1/K' or '1' */
    GNN_COLUMN_DIGEST, /* batch_digest and has_digest of struct gnn_record_counters, as 16 hex digits */
};

struct gnn_column {
    const char *name;
    enum gnn_column_type type;
    size_t offset;
    size_t text_bytes; /* size of a text field */
    bool is_time;      /* null if the run is invalid */
    bool is_peak;      /* a sum over rows takes the largest */
};

struct gnn_table {
    const char *name;
    const char *keys; /* leading columns that the caller binds: "run_id, epoch" */
    uint32_t key_count;
    const struct gnn_column *columns;
    uint32_t column_count;
    size_t row_bytes;
};

extern const struct gnn_table gnn_table_runs, gnn_table_epochs, gnn_table_stages, gnn_table_counters, gnn_table_figures,
    gnn_table_series;

/* Write "INSERT OR REPLACE INTO t (keys, columns) VALUES (?, …)" or "SELECT columns FROM t " to sql. They return
 * sql. */
const char *gnn_table_insert_sql(const struct gnn_table *table, char *sql, size_t sql_bytes);
const char *gnn_table_select_sql(const struct gnn_table *table, char *sql, size_t sql_bytes);
/* Writes "UPDATE t SET column = ?, … " to sql and returns it. */
const char *gnn_table_update_sql(const struct gnn_table *table, char *sql, size_t sql_bytes);

/* Bind the columns of a row to the parameters from `first` (1-based) on, or load them from the result columns from
 * `first` (0-based) on. The former returns SQLite's code. */
int gnn_table_bind(const struct gnn_table *table, const void *row, sqlite3_stmt *statement, int first);
void gnn_table_load(const struct gnn_table *table, sqlite3_stmt *statement, int first, void *row);

/* Zeroes the row, then makes every column unknown. A status becomes GNN_RUN_RUNNING. */
void gnn_table_unknown(const struct gnn_table *table, void *row);

/* Adds the counts of row to sum, or takes the larger one (is_peak). If either is unknown, a sum is unknown; of peaks,
 * the known one stays. */
void gnn_table_add(const struct gnn_table *table, const void *row, void *sum);

/* Returns the text as JSON, with a question mark for each byte that is not UTF-8, or NULL if memory is short. The
 * caller owns it. */
json_t *gnn_json_text(const char *text);

/* Returns value, or frees it and returns NULL if a part of it is missing. */
json_t *gnn_json_if_whole(json_t *value, bool whole);

/* Returns a row as an object, or NULL if memory is short. The caller owns it. */
json_t *gnn_json_row(const struct gnn_table *table, const void *row, bool hide_times);

/* Adds the columns to `object`; hide_times: times become null. Returns false if memory is short or `object` is NULL. */
bool gnn_table_json(const struct gnn_table *table, const void *row, bool hide_times, json_t *object);

#endif

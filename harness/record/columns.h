/* SPDX-License-Identifier: MIT */
/* Which field of a record is which column: one table serves SQL in, SQL out and JSON. Internal to record. */
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
    size_t text_bytes; /* of a text field */
    bool is_time;      /* withheld when the run is invalid */
    bool is_peak;      /* the largest counts where rows are summed up */
};

struct gnn_table {
    const char *name;
    const char *keys; /* columns in front that the caller binds: "run_id, epoch" */
    uint32_t key_count;
    const struct gnn_column *columns;
    uint32_t column_count;
    size_t row_bytes;
};

extern const struct gnn_table gnn_table_runs, gnn_table_epochs, gnn_table_stages, gnn_table_counters, gnn_table_figures,
    gnn_table_series;

/* "INSERT OR REPLACE INTO t (keys, columns) VALUES (?, …)" and "SELECT columns FROM t "; return sql. */
const char *gnn_table_insert_sql(const struct gnn_table *table, char *sql, size_t sql_bytes);
const char *gnn_table_select_sql(const struct gnn_table *table, char *sql, size_t sql_bytes);
/* "UPDATE t SET column = ?, … " */
const char *gnn_table_update_sql(const struct gnn_table *table, char *sql, size_t sql_bytes);

/* Binds the columns of row from parameter `first` (1-based) on; reads them from result column `first`
 * (0-based) on. */
int gnn_table_bind(const struct gnn_table *table, const void *row, sqlite3_stmt *statement, int first);
void gnn_table_load(const struct gnn_table *table, sqlite3_stmt *statement, int first, void *row);

/* Zeroes the row, then makes every column unknown; a status is GNN_RUN_RUNNING. */
void gnn_table_unknown(const struct gnn_table *table, void *row);

/* Adds the counts of row to sum, or takes the larger one (is_peak). A sum with something unknown in it is unknown; of
 * peaks the known one stays. */
void gnn_table_add(const struct gnn_table *table, const void *row, void *sum);

/* The text, with a question mark for each byte that is no UTF-8; NULL: out of memory. */
json_t *gnn_json_text(const char *text);

/* Adds the columns to object (NULL: fails); hide_times: times are null. False: out of memory. */
bool gnn_table_json(const struct gnn_table *table, const void *row, bool hide_times, json_t *object);

#endif

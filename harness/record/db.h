/* SPDX-License-Identifier: MIT */
/* The inside of a database handle. Internal to record. */
#ifndef GNN_RECORD_DB_H
#define GNN_RECORD_DB_H

#include "harness/record/columns.h"
#include "harness/record/record.h"

struct gnn_db {
    sqlite3 *handle;
    char path[1024];
};

enum {
    GNN_SQL_BYTES = 4096,
    GNN_SCHEMA_VERSION = 9,
    GNN_KEYS_MAX = 3,
    /* values of counters.epoch */
    GNN_ALL_EPOCHS = -1,
    GNN_BEFORE_EPOCHS = -2
};

/* Maps SQLite's code to a status and a message with the path. what: the action, such as "write an epoch to". */
enum gnn_status gnn_db_fail(struct gnn_db *db, const char *what, struct gnn_err *err);
/* Runs SQL statements that return no rows. */
GNN_MUST_CHECK enum gnn_status gnn_db_exec(struct gnn_db *db, const char *sql, const char *what, struct gnn_err *err);
/* Prepares one statement, which the caller finalises. */
GNN_MUST_CHECK enum gnn_status gnn_db_prepare(struct gnn_db *db, const char *sql, sqlite3_stmt **out,
                                              struct gnn_err *err);
/* Steps a statement that returns no rows, and finalises it. Fails if `statement` is NULL. */
GNN_MUST_CHECK enum gnn_status gnn_db_run(struct gnn_db *db, sqlite3_stmt *statement, const char *what,
                                          struct gnn_err *err);

/* Identity of the process that writes a row: it ties a "running" row to a live process. Unknown texts are "". */
struct gnn_writer {
    char machine_id[64], boot_id[64], pid_namespace[64];
    int64_t pid, start_ticks; /* start_ticks 0: unknown */
};
void gnn_writer_self(struct gnn_writer *out);
/* Returns false only if the writer is certainly gone. Then this machine has booted since, or its process number is
 * unused or belongs to another process. Writers on other machines and in other PID namespaces cannot be judged:
 * true. */
bool gnn_writer_may_live(const struct gnn_writer *writer, const struct gnn_writer *self);

#endif

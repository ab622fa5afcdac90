/* SPDX-License-Identifier: MIT */
#include "harness/record/merge.h"

#include "harness/record/db.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Everything that belongs to a run besides its row. */
static const char *const tables[] = {"config", "environment", "epochs", "stages", "counters", "figures", "series"};

/* Writes a table's columns, run_id left out, as SQL lists them. */
static enum gnn_status list_columns(struct gnn_db *db, const char *table, char *list, size_t list_bytes,
                                    struct gnn_err *err)
{
    sqlite3_stmt *statement;
    list[0] = '\0';
    GNN_TRY(gnn_db_prepare(db, "SELECT group_concat(name) FROM pragma_table_info(?1) WHERE name <> 'run_id'",
                           &statement, err));
    (void)sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW)
        (void)snprintf(list, list_bytes, "%s", (const char *)sqlite3_column_text(statement, 0));
    const bool read = sqlite3_finalize(statement) == SQLITE_OK;
    assert(!read || (list[0] != '\0' && strlen(list) + 1 < list_bytes));
    return read ? GNN_OK : gnn_db_fail(db, "read", err);
}

/* Copies the rows of one run from the other database's table; to NULL: the run's own row, which gets a new number. */
static enum gnn_status copy_rows(struct gnn_db *db, const char *table, int64_t from, const int64_t *to,
                                 struct gnn_err *err)
{
    char columns[GNN_SQL_BYTES / 4], sql[GNN_SQL_BYTES];
    sqlite3_stmt *statement;
    GNN_TRY(list_columns(db, table, columns, sizeof columns, err));
    (void)snprintf(sql, sizeof sql, "INSERT INTO main.%s (%s%s) SELECT %s%s FROM other.%s WHERE run_id = ?1", table,
                   to != NULL ? "run_id, " : "", columns, to != NULL ? "?2, " : "", columns, table);
    GNN_TRY(gnn_db_prepare(db, sql, &statement, err));
    (void)sqlite3_bind_int64(statement, 1, from);
    if (to != NULL)
        (void)sqlite3_bind_int64(statement, 2, *to);
    return gnn_db_run(db, statement, "merge into", err);
}

static enum gnn_status copy_run(struct gnn_db *db, int64_t from, struct gnn_err *err)
{
    GNN_TRY(copy_rows(db, "runs", from, NULL, err));
    const int64_t to = sqlite3_last_insert_rowid(db->handle);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        GNN_TRY(copy_rows(db, tables[i], from, &to, err));
    return GNN_OK;
}

/* Whether a run of the other database may be copied, and is not here. */
static enum gnn_status judge(struct gnn_db *db, int64_t run_id, struct gnn_merged *out, bool *copies,
                             struct gnn_err *err)
{
    static const char sql[] =
        "SELECT o.status = 'running', EXISTS (SELECT 1 FROM main.runs AS r WHERE r.started_unix_ns IS "
        "o.started_unix_ns AND r.machine_id IS o.machine_id AND r.boot_id IS o.boot_id AND r.supervisor_pid IS "
        "o.supervisor_pid AND r.system IS o.system) FROM other.runs AS o WHERE o.run_id = ?1";
    sqlite3_stmt *statement;
    GNN_TRY(gnn_db_prepare(db, sql, &statement, err));
    (void)sqlite3_bind_int64(statement, 1, run_id);
    const bool found = sqlite3_step(statement) == SQLITE_ROW;
    const bool running = found && sqlite3_column_int(statement, 0) != 0;
    const bool known = found && !running && sqlite3_column_int(statement, 1) != 0;
    if (sqlite3_finalize(statement) != SQLITE_OK)
        return gnn_db_fail(db, "read", err);
    out->running += running ? 1 : 0;
    out->known += known ? 1 : 0;
    *copies = found && !running && !known;
    out->added += *copies ? 1 : 0;
    return GNN_OK;
}

static enum gnn_status list_runs(struct gnn_db *db, int64_t **ids, uint32_t *count, struct gnn_err *err)
{
    sqlite3_stmt *statement;
    GNN_TRY(gnn_db_prepare(db, "SELECT count(*) FROM other.runs", &statement, err));
    const int64_t rows = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    (void)sqlite3_finalize(statement);
    assert(rows >= 0);
    GNN_NEW(*ids, (size_t)rows + 1, err, "%lld runs", (long long)rows);
    *count = 0;
    GNN_TRY(gnn_db_prepare(db, "SELECT run_id FROM other.runs ORDER BY started_unix_ns, run_id", &statement, err));
    while (*count < (uint64_t)rows && sqlite3_step(statement) == SQLITE_ROW)
        (*ids)[(*count)++] = sqlite3_column_int64(statement, 0);
    return sqlite3_finalize(statement) == SQLITE_OK ? GNN_OK : gnn_db_fail(db, "read", err);
}

/* In one transaction, in which the other database is seen as it is at its beginning. */
static enum gnn_status copy_all(struct gnn_db *db, struct gnn_merged *out, struct gnn_err *err)
{
    int64_t *ids = NULL;
    uint32_t count = 0;
    GNN_TRY(gnn_db_exec(db, "BEGIN IMMEDIATE", "merge into", err));
    enum gnn_status status = list_runs(db, &ids, &count, err);
    for (uint32_t i = 0; i < count && status == GNN_OK; i++) {
        bool copies = false;
        status = judge(db, ids[i], out, &copies, err);
        if (copies)
            GNN_NEXT(status, copy_run(db, ids[i], err));
    }
    free(ids);
    GNN_NEXT(status, gnn_db_exec(db, "COMMIT", "merge into", err));
    if (status != GNN_OK)
        (void)sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* Opening it by our own rules says what is wrong with a file that is no database of this schema. */
static enum gnn_status check_other(const struct gnn_db *db, const char *path, struct gnn_err *err)
{
    struct stat mine, other;
    struct gnn_db *reader;
    if (stat(db->path, &mine) == 0 && stat(path, &other) == 0 && mine.st_dev == other.st_dev &&
        mine.st_ino == other.st_ino)
        return gnn_fail(err, GNN_EUSAGE, "%s cannot be merged into itself", path);
    GNN_TRY(gnn_db_open(path, GNN_DB_READ, &reader, err));
    gnn_db_close(reader);
    return GNN_OK;
}

enum gnn_status gnn_db_merge(struct gnn_db *db, const char *path, struct gnn_merged *out, struct gnn_err *err)
{
    sqlite3_stmt *statement;
    struct gnn_merged merged = *out;
    GNN_TRY(check_other(db, path, err));
    GNN_TRY(gnn_db_prepare(db, "ATTACH DATABASE ?1 AS other", &statement, err));
    (void)sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC);
    GNN_TRY(gnn_db_run(db, statement, "attach a database to", err));
    const enum gnn_status status = copy_all(db, &merged, err);
    (void)sqlite3_exec(db->handle, "DETACH DATABASE other", NULL, NULL, NULL);
    if (status == GNN_OK)
        *out = merged;
    return status;
}

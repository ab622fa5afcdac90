/* SPDX-License-Identifier: MIT */
/* Opening, and every write. One write is one transaction. */
#include "harness/record/db.h"

#include "harness/base/clock.h"
#include "harness/base/plain_text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { BUSY_MS = 30000, APPLICATION_ID = 1869570919 };

static const char schema_sql[] =
#include "results/schema.sql.inc" /* made from results/schema.sql */
    ;

/* Why files of this directory cannot be made or grow, where SQLite lost the cause; 0: unknown. */
static int find_errno(const char *path)
{
    char dir[sizeof((struct gnn_db *)0)->path];
    struct statvfs fs;
    struct rlimit limit;
    (void)snprintf(dir, sizeof dir, "%s", path);
    char *const slash = strrchr(dir, '/');
    if (slash != NULL)
        slash[slash == dir ? 1 : 0] = '\0';
    if (access(slash == NULL ? "." : dir, W_OK | X_OK) != 0)
        return errno;
    if (statvfs(slash == NULL ? "." : dir, &fs) == 0 && (fs.f_bavail == 0 || (fs.f_files > 0 && fs.f_favail == 0)))
        return ENOSPC;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? EFBIG : 0;
}

/* What the system said about a file that cannot be opened, read or written; SQLite's own text where it said nothing. */
static enum gnn_status fail_file(const struct gnn_db *db, const char *what, const char *text, struct gnn_err *err)
{
    int error = sqlite3_system_errno(db->handle);
    if (error == 0 || error == ENOENT) /* the latter of a file that SQLite makes beside it, perhaps */
        error = find_errno(db->path);
    switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return gnn_fail(err, GNN_ENOSPC, "cannot %s %s: %s; free space, raise the limit or choose another database",
                        what, db->path, strerror(error));
    case EACCES:
    case EPERM:
    case EROFS:
        return gnn_fail(err, GNN_EPERM, "cannot %s %s: %s; choose a database in a directory you may write to", what,
                        db->path, strerror(error));
    case EMFILE:
    case ENFILE:
        return gnn_fail(err, GNN_EFILES, "cannot %s %s: %s", what, db->path, strerror(error));
    case ENOENT:
    case ENOTDIR:
        return gnn_fail(err, GNN_ENOENT, "cannot %s %s: its directory does not exist", what, db->path);
    default:
        return gnn_fail(err, GNN_EIO, "cannot %s %s: %s%s%s", what, db->path, text, error != 0 ? ": " : "",
                        error != 0 ? strerror(error) : "");
    }
}

enum gnn_status gnn_db_fail(struct gnn_db *db, const char *what, struct gnn_err *err)
{
    const int code = db->handle == NULL ? SQLITE_NOMEM : sqlite3_errcode(db->handle) & 0xff;
    const char *text = db->handle == NULL ? "out of memory" : sqlite3_errmsg(db->handle);
    switch (code) {
    case SQLITE_FULL:
        return gnn_fail(err, GNN_ENOSPC, "cannot %s %s: the disk is full; free space or choose another database", what,
                        db->path);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return gnn_fail(err, GNN_EFORMAT, "cannot %s %s: %s; choose another database", what, db->path, text);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return gnn_fail(err, GNN_EPERM, "cannot %s %s: %s; choose a database in a directory you may write to", what,
                        db->path, text);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return gnn_fail(err, GNN_EIO, "cannot %s %s: another process has held it for %d s", what, db->path,
                        BUSY_MS / 1000);
    case SQLITE_NOMEM:
        return gnn_fail(err, GNN_ENOMEM, "to %s %s", what, db->path);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return fail_file(db, what, text, err);
    default: /* a constraint, a statement: no fault of the file */
        return gnn_fail(err, GNN_EIO, "cannot %s %s: %s", what, db->path, text);
    }
}

enum gnn_status gnn_db_exec(struct gnn_db *db, const char *sql, const char *what, struct gnn_err *err)
{
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? GNN_OK : gnn_db_fail(db, what, err);
}

enum gnn_status gnn_db_prepare(struct gnn_db *db, const char *sql, sqlite3_stmt **out, struct gnn_err *err)
{
    return sqlite3_prepare_v2(db->handle, sql, -1, out, NULL) == SQLITE_OK ? GNN_OK : gnn_db_fail(db, "query", err);
}

enum gnn_status gnn_db_run(struct gnn_db *db, sqlite3_stmt *statement, const char *what, struct gnn_err *err)
{
    const bool done = statement != NULL && sqlite3_step(statement) == SQLITE_DONE;
    const enum gnn_status status = done ? GNN_OK : gnn_db_fail(db, what, err);
    (void)sqlite3_finalize(statement);
    return status;
}

/* ---- opening ---- */

/* What a database says it is. All zero: an empty file. */
struct schema_marks {
    int64_t application, version, objects;
};

/* Reads the marks. One statement reads all of them, since another process may create the schema at any moment: three
 * statements have seen a database before and after. */
static enum gnn_status read_marks(struct gnn_db *db, struct schema_marks *out, struct gnn_err *err)
{
    sqlite3_stmt *statement;
    GNN_TRY(gnn_db_prepare(db,
                           "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) "
                           "FROM pragma_application_id, pragma_user_version",
                           &statement, err));
    const bool row = sqlite3_step(statement) == SQLITE_ROW;
    if (row)
        *out = (struct schema_marks){sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1),
                                     sqlite3_column_int64(statement, 2)};
    const enum gnn_status status = row ? GNN_OK : gnn_db_fail(db, "open", err);
    (void)sqlite3_finalize(statement);
    return status;
}

/* An empty file gets the schema when it may be written; anything else must be ours and of this version. */
static enum gnn_status check_schema(struct gnn_db *db, bool create, struct gnn_err *err)
{
    struct schema_marks marks = {0};
    GNN_TRY(read_marks(db, &marks, err));
    const int64_t application = marks.application, version = marks.version, objects = marks.objects;
    if (create && application == 0 && version == 0 && objects == 0)
        return gnn_db_exec(db, schema_sql, "create", err);
    if (application == 0 && objects == 0)
        return gnn_fail(err, GNN_ENOENT, "%s is empty: no run was ever recorded in it; `oocgnn run --help` shows how",
                        db->path);
    if (application != APPLICATION_ID)
        return gnn_fail(err, GNN_EFORMAT, "%s is a database, but none of oocgnn's; name one that runs were recorded in",
                        db->path);
    if (version != GNN_SCHEMA_VERSION)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s has schema version %" PRId64 ", this program reads version %d: use the program that wrote "
                        "it, or choose another database",
                        db->path, version, GNN_SCHEMA_VERSION);
    return GNN_OK;
}

static enum gnn_status end_transaction(struct gnn_db *db, enum gnn_status status, const char *what, struct gnn_err *err)
{
    GNN_NEXT(status, gnn_db_exec(db, "COMMIT", what, err));
    if (status != GNN_OK)
        (void)sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static enum gnn_status mark_interrupted(struct gnn_db *db, int64_t run_id, struct gnn_err *err)
{
    sqlite3_stmt *statement;
    GNN_TRY(
        gnn_db_prepare(db,
                       "UPDATE runs SET status = 'interrupted', valid = 0, reasons = ifnull(reasons || char(10), '') "
                       "|| 'the supervisor ended without writing a result' WHERE run_id = ?",
                       &statement, err));
    (void)sqlite3_bind_int64(statement, 1, run_id);
    return gnn_db_run(db, statement, "mark a stale run in", err);
}

static void load_writer(sqlite3_stmt *statement, struct gnn_writer *out)
{
    char *const texts[] = {out->machine_id, out->boot_id, out->pid_namespace};
    _Static_assert(sizeof out->machine_id == sizeof out->boot_id, "one size for the three texts");
    _Static_assert(sizeof out->machine_id == sizeof out->pid_namespace, "one size for the three texts");
    for (int i = 0; i < 3; i++) {
        const unsigned char *text = sqlite3_column_text(statement, 1 + i);
        (void)snprintf(texts[i], sizeof out->machine_id, "%s", text == NULL ? "" : (const char *)text);
    }
    out->pid = sqlite3_column_int64(statement, 4);
    out->start_ticks = sqlite3_column_int64(statement, 5);
}

/* Rows that say "running" although their supervisor is gone. */
static enum gnn_status mark_stale(struct gnn_db *db, struct gnn_err *err)
{
    struct gnn_writer self;
    gnn_writer_self(&self);
    sqlite3_stmt *statement;
    GNN_TRY(gnn_db_prepare(db,
                           "SELECT run_id, machine_id, boot_id, pid_namespace, supervisor_pid, supervisor_start_ticks "
                           "FROM runs WHERE status = 'running'",
                           &statement, err));
    enum gnn_status status = GNN_OK;
    while (status == GNN_OK && sqlite3_step(statement) == SQLITE_ROW) {
        struct gnn_writer writer;
        load_writer(statement, &writer);
        if (!gnn_writer_may_live(&writer, &self))
            status = mark_interrupted(db, sqlite3_column_int64(statement, 0), err);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static enum gnn_status prepare_for_writing(struct gnn_db *db, struct gnn_err *err)
{
    /* The switch to WAL takes an exclusive lock and, unlike other locks, does not always wait for it. */
    int code = SQLITE_BUSY;
    for (int tries = 0; code == SQLITE_BUSY && tries < BUSY_MS / 10; tries++) {
        code = sqlite3_exec(db->handle, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
        if (code == SQLITE_BUSY)
            (void)usleep(10000);
    }
    if (code != SQLITE_OK)
        return gnn_db_fail(db, "open", err);
    GNN_TRY(gnn_db_exec(db, "PRAGMA foreign_keys = ON; BEGIN IMMEDIATE", "open", err));
    enum gnn_status status = check_schema(db, true, err);
    GNN_NEXT(status, mark_stale(db, err));
    return end_transaction(db, status, "open", err);
}

enum gnn_status gnn_db_check_name(const char *path, struct gnn_err *err)
{
    struct stat info;
    if (path[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE, "--db: an empty name keeps nothing; name a file");
    if (path[0] == ':' || strncmp(path, "file:", 5) == 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "--db %s: SQLite has a meaning of its own for this name and may keep nothing; "
                        "name a file, ./%s if it is one",
                        path, path);
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return gnn_fail(err, GNN_EUSAGE, "--db %s: is %s; name a file", path,
                        S_ISDIR(info.st_mode) ? "a directory" : "no regular file");
    return GNN_OK;
}

/* Opens a database that this user or this mount may not write. A WAL database has an index beside it that every reader
 * writes; without a log there is nothing in it to know, and the file may be read as it stands. */
static enum gnn_status open_unwritable(struct gnn_db *db, struct gnn_err *err)
{
    char path[sizeof db->path + 8], word[sizeof db->path], *uri;
    struct stat log;
    (void)snprintf(path, sizeof path, "%s-wal", db->path);
    if (stat(path, &log) == 0 && log.st_size > 0)
        return gnn_fail(err, GNN_EPERM,
                        "%s may not be written and its newest runs are still in %s: let a user who may "
                        "write it run `oocgnn report --last 1 --db %s` once, or copy both files",
                        db->path, path, gnn_shell_word(db->path, word, sizeof word));
    (void)sqlite3_close(db->handle);
    db->handle = NULL;
    const size_t uri_bytes = 3 * sizeof db->path + 64;
    GNN_NEW(uri, uri_bytes, err, "the name of %s", db->path);
    size_t used = (size_t)snprintf(uri, uri_bytes, "file:");
    for (const char *at = db->path; *at != '\0'; at++) /* every byte in hexadecimal: none has a meaning then */
        used +=
            (size_t)snprintf(uri + used, uri_bytes - used, *at == '/' ? "/" : "%%%02X", (unsigned)(unsigned char)*at);
    (void)snprintf(uri + used, uri_bytes - used, "?immutable=1");
    const int code = sqlite3_open_v2(uri, &db->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    free(uri);
    GNN_TRY(code == SQLITE_OK ? GNN_OK : gnn_db_fail(db, "open", err));
    return check_schema(db, false, err);
}

static enum gnn_status open_to_read(struct gnn_db *db, struct gnn_err *err)
{
    /* A reader of a WAL database writes its index: SQLite itself falls back to reading, and fails at the first
     * query. */
    struct gnn_err trouble = {0};
    const int code = sqlite3_open_v2(db->path, &db->handle, SQLITE_OPEN_READWRITE, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_busy_timeout(db->handle, BUSY_MS);
        enum gnn_status status = gnn_db_exec(db, "PRAGMA query_only = ON", "open", &trouble);
        GNN_NEXT(status, check_schema(db, false, &trouble));
        if (status == GNN_OK)
            return GNN_OK;
    } else {
        (void)gnn_db_fail(db, "open", &trouble);
    }
    const int cause = sqlite3_errcode(db->handle) & 0xff;
    if (access(db->path, R_OK) == 0 && (cause == SQLITE_READONLY || cause == SQLITE_CANTOPEN))
        return open_unwritable(db, err);
    return gnn_fail(err, trouble.status, "%s", trouble.message);
}

static enum gnn_status open_handle(struct gnn_db *db, enum gnn_db_mode mode, struct gnn_err *err)
{
    GNN_TRY(gnn_db_check_name(db->path, err));
    if (mode == GNN_DB_READ) {
        if (access(db->path, F_OK) != 0)
            return gnn_fail(err, errno == EACCES ? GNN_EPERM : GNN_ENOENT,
                            "%s: %s; name another, or record a run in it (`oocgnn run --help` shows how)", db->path,
                            errno == EACCES ? strerror(errno) : "no such database");
        return open_to_read(db, err);
    }
    if (sqlite3_open_v2(db->path, &db->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
        return gnn_db_fail(db, "open", err);
    (void)sqlite3_busy_timeout(db->handle, BUSY_MS);
    return prepare_for_writing(db, err);
}

enum gnn_status gnn_db_open(const char *path, enum gnn_db_mode mode, struct gnn_db **out, struct gnn_err *err)
{
    *out = NULL;
    struct gnn_db *db;
    GNN_NEW(db, 1, err, "database %s", path);
    assert(mode == GNN_DB_WRITE || mode == GNN_DB_READ);
    enum gnn_status status = GNN_OK;
    if ((size_t)snprintf(db->path, sizeof db->path, "%s", path) >= sizeof db->path)
        status = gnn_fail(err, GNN_EUSAGE, "--db: a path of more than %zu bytes", sizeof db->path - 1);
    GNN_NEXT(status, open_handle(db, mode, err));
    return GNN_OPENED(status, db, out, gnn_db_close);
}

void gnn_db_close(struct gnn_db *db)
{
    if (db == NULL)
        return;
    (void)sqlite3_close(db->handle);
    free(db);
}

/* ---- writing ---- */

/* Inserts or replaces one row of table, its keys first. */
static enum gnn_status put_row(struct gnn_db *db, const struct gnn_table *table, const int64_t keys[GNN_KEYS_MAX],
                               const void *row, struct gnn_err *err)
{
    char sql[GNN_SQL_BYTES];
    sqlite3_stmt *statement;
    GNN_TRY(gnn_db_prepare(db, gnn_table_insert_sql(table, sql, sizeof sql), &statement, err));
    assert(table->key_count <= GNN_KEYS_MAX);
    for (uint32_t i = 0; i < table->key_count; i++)
        (void)sqlite3_bind_int64(statement, 1 + (int)i, keys[i]);
    (void)gnn_table_bind(table, row, statement, 1 + (int)table->key_count);
    return gnn_db_run(db, statement, "write to", err);
}

/* table: config or environment. Replacing keeps a pair's place: the order is the rowid's. */
static enum gnn_status put_pairs(struct gnn_db *db, const char *table, int64_t run_id, const struct gnn_kv_list *list,
                                 struct gnn_err *err)
{
    char sql[GNN_SQL_BYTES];
    sqlite3_stmt *statement;
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO %s (run_id, key, value) VALUES (?, ?, ?) "
                   "ON CONFLICT (run_id, key) DO UPDATE SET value = excluded.value",
                   table);
    GNN_TRY(gnn_db_prepare(db, sql, &statement, err));
    enum gnn_status status = GNN_OK;
    for (uint32_t i = 0; i < list->count && status == GNN_OK; i++) {
        (void)sqlite3_bind_int64(statement, 1, run_id);
        (void)sqlite3_bind_text(statement, 2, list->items[i].key, -1, SQLITE_STATIC);
        (void)sqlite3_bind_text(statement, 3, list->items[i].value, -1, SQLITE_STATIC);
        if (sqlite3_step(statement) != SQLITE_DONE)
            status = gnn_db_fail(db, "write to", err);
        (void)sqlite3_reset(statement);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static enum gnn_status put_lists(struct gnn_db *db, const struct gnn_run_record *run, struct gnn_err *err)
{
    GNN_TRY(put_pairs(db, "config", run->run_id, &run->config, err));
    return put_pairs(db, "environment", run->run_id, &run->environment, err);
}

static enum gnn_status put_writer(struct gnn_db *db, int64_t run_id, struct gnn_err *err)
{
    struct gnn_writer self;
    gnn_writer_self(&self);
    sqlite3_stmt *statement;
    GNN_TRY(gnn_db_prepare(db,
                           "UPDATE runs SET machine_id = ?, boot_id = ?, pid_namespace = ?, supervisor_pid = ?, "
                           "supervisor_start_ticks = ? WHERE run_id = ?",
                           &statement, err));
    (void)sqlite3_bind_text(statement, 1, self.machine_id, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(statement, 2, self.boot_id, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(statement, 3, self.pid_namespace, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(statement, 4, self.pid);
    (void)sqlite3_bind_int64(statement, 5, self.start_ticks);
    (void)sqlite3_bind_int64(statement, 6, run_id);
    return gnn_db_run(db, statement, "write to", err);
}

static enum gnn_status begin_rows(struct gnn_db *db, struct gnn_run_record *run, struct gnn_err *err)
{
    const int64_t keys[GNN_KEYS_MAX] = {0}; /* none: the database gives the ID */
    GNN_TRY(put_row(db, &gnn_table_runs, keys, run, err));
    run->run_id = sqlite3_last_insert_rowid(db->handle);
    assert(run->run_id > 0);
    GNN_TRY(put_writer(db, run->run_id, err));
    return put_lists(db, run, err);
}

enum gnn_status gnn_db_begin(struct gnn_db *db, struct gnn_run_record *run, struct gnn_err *err)
{
    run->status = GNN_RUN_RUNNING;
    if (run->started_unix_ns == 0)
        run->started_unix_ns = gnn_clock_ns(CLOCK_REALTIME);
    GNN_TRY(gnn_db_exec(db, "BEGIN IMMEDIATE", "begin a run in", err));
    return end_transaction(db, begin_rows(db, run, err), "begin a run in", err);
}

static enum gnn_status epoch_rows(struct gnn_db *db, int64_t run_id, const struct gnn_record_epoch *epoch,
                                  struct gnn_err *err)
{
    int64_t keys[GNN_KEYS_MAX] = {run_id, (int64_t)epoch->epoch, 0};
    GNN_TRY(put_row(db, &gnn_table_epochs, keys, epoch, err));
    GNN_TRY(put_row(db, &gnn_table_counters, keys, &epoch->counters, err));
    for (uint32_t i = 0; i < epoch->stage_count; i++) {
        keys[2] = i;
        GNN_TRY(put_row(db, &gnn_table_stages, keys, &epoch->stages[i], err));
    }
    for (uint32_t i = 0; i < epoch->figure_count; i++)
        GNN_TRY(put_row(db, &gnn_table_figures, keys, &epoch->figures[i], err));
    return GNN_OK;
}

enum gnn_status gnn_db_epoch(struct gnn_db *db, int64_t run_id, const struct gnn_record_epoch *epoch,
                             struct gnn_err *err)
{
    assert(run_id > 0);
    assert(epoch->stage_count <= GNN_RECORD_STAGES_MAX);
    assert(epoch->figure_count <= GNN_RECORD_FIGURES_MAX);
    GNN_TRY(gnn_db_exec(db, "BEGIN IMMEDIATE", "write an epoch to", err));
    return end_transaction(db, epoch_rows(db, run_id, epoch, err), "write an epoch to", err);
}

enum gnn_status gnn_db_series(struct gnn_db *db, int64_t run_id, const struct gnn_series_point *points, uint32_t count,
                              struct gnn_err *err)
{
    assert(run_id > 0);
    assert(points != NULL || count == 0);
    GNN_TRY(gnn_db_exec(db, "BEGIN IMMEDIATE", "write a series to", err));
    const int64_t keys[GNN_KEYS_MAX] = {run_id};
    enum gnn_status status = GNN_OK;
    for (uint32_t i = 0; i < count && status == GNN_OK; i++)
        status = put_row(db, &gnn_table_series, keys, &points[i], err);
    return end_transaction(db, status, "write a series to", err);
}

enum gnn_status gnn_db_before(struct gnn_db *db, int64_t run_id, const struct gnn_record_counters *before,
                              struct gnn_err *err)
{
    const int64_t keys[GNN_KEYS_MAX] = {run_id, GNN_BEFORE_EPOCHS};
    assert(run_id > 0);
    return put_row(db, &gnn_table_counters, keys, before, err);
}

static enum gnn_status finish_rows(struct gnn_db *db, const struct gnn_run_record *run, struct gnn_err *err)
{
    char sql[GNN_SQL_BYTES];
    sqlite3_stmt *statement;
    (void)gnn_table_update_sql(&gnn_table_runs, sql, sizeof sql);
    const size_t used = strlen(sql);
    (void)snprintf(sql + used, sizeof sql - used, ", finished_unix_ns = ? WHERE run_id = ?");
    GNN_TRY(gnn_db_prepare(db, sql, &statement, err));
    (void)gnn_table_bind(&gnn_table_runs, run, statement, 1);
    (void)sqlite3_bind_int64(statement, (int)gnn_table_runs.column_count + 1,
                             (sqlite3_int64)gnn_clock_ns(CLOCK_REALTIME));
    (void)sqlite3_bind_int64(statement, (int)gnn_table_runs.column_count + 2, run->run_id);
    GNN_TRY(gnn_db_run(db, statement, "finish a run in", err));
    if (sqlite3_changes(db->handle) != 1)
        return gnn_fail(err, GNN_EBUG, "%s has no run %" PRId64 " to finish", db->path, run->run_id);
    const int64_t keys[GNN_KEYS_MAX] = {run->run_id, GNN_ALL_EPOCHS};
    GNN_TRY(put_row(db, &gnn_table_counters, keys, &run->counters, err));
    GNN_TRY(gnn_db_before(db, run->run_id, &run->before, err));
    return put_lists(db, run, err);
}

/* A database that was removed or replaced meanwhile goes on taking what nobody will ever read. */
static enum gnn_status check_there(struct gnn_db *db, struct gnn_err *err)
{
    int moved = 0;
    if (sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || moved == 0)
        return GNN_OK;
    return gnn_fail(err, GNN_EIO, "%s was removed or replaced during the run: what was written to it is lost",
                    db->path);
}

enum gnn_status gnn_db_finish(struct gnn_db *db, const struct gnn_run_record *run, struct gnn_err *err)
{
    assert(run->status != GNN_RUN_RUNNING);
    assert(run->run_id > 0);
    GNN_TRY(check_there(db, err));
    GNN_TRY(gnn_db_exec(db, "BEGIN IMMEDIATE", "finish a run in", err));
    return end_transaction(db, finish_rows(db, run, err), "finish a run in", err);
}

enum gnn_status gnn_db_set_environment(struct gnn_db *db, int64_t run_id, const char *key, const char *value,
                                       struct gnn_err *err)
{
    sqlite3_stmt *statement;
    GNN_TRY(gnn_db_prepare(db,
                           "INSERT OR REPLACE INTO environment (run_id, key, value) SELECT run_id, ?, ? FROM runs "
                           "WHERE run_id = ?",
                           &statement, err));
    (void)sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(statement, 2, value, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(statement, 3, run_id);
    GNN_TRY(gnn_db_run(db, statement, "write to", err));
    if (sqlite3_changes(db->handle) != 1)
        return gnn_fail(err, GNN_ENOENT, "%s has no run %" PRId64, db->path, run_id);
    return GNN_OK;
}

enum gnn_status gnn_db_judge(struct gnn_db *db, const struct gnn_run_record *run, struct gnn_err *err)
{
    sqlite3_stmt *statement;
    assert(run->status != GNN_RUN_RUNNING);
    assert(run->valid >= 0);
    GNN_TRY(gnn_db_prepare(db, "UPDATE runs SET status = ?, valid = ?, reasons = ? WHERE run_id = ?", &statement, err));
    (void)sqlite3_bind_text(statement, 1, gnn_run_status_name(run->status), -1, SQLITE_STATIC);
    (void)sqlite3_bind_int(statement, 2, run->valid);
    (void)sqlite3_bind_text(statement, 3, run->reasons, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(statement, 4, run->run_id);
    GNN_TRY(gnn_db_run(db, statement, "judge a run in", err));
    if (sqlite3_changes(db->handle) != 1)
        return gnn_fail(err, GNN_ENOENT, "%s has no run %" PRId64, db->path, run->run_id);
    return GNN_OK;
}

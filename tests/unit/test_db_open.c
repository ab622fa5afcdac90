/* SPDX-License-Identifier: MIT */
/* Opens a database to read while another connection creates it, as sweeps with `--jobs` do with a new database. */
#include "harness/record/db.h"
#include "tests/support/must.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

/* Creates the database in a thread as soon as the reader has asked for the first of the marks in its header. */
struct creation {
    char path[64];
    pthread_t reader, creator;
    enum { BEFORE, FIRST_MARK, STARTED } stage;
    atomic_bool done;
};

static struct creation *observed; /* SQLite passes no argument to an extension's entry point */

static void *create_database(void *argument)
{
    struct creation *const c = argument;
    struct gnn_db *db = NULL;
    struct gnn_err err = {0};
    must(gnn_db_open(c->path, GNN_DB_WRITE, &db, &err), &err);
    gnn_db_close(db);
    atomic_store(&c->done, true);
    return NULL;
}

/* Waits half a second at most: a reader that holds its lock over all marks keeps the creator out. */
static void wait_for_creation(const struct creation *c)
{
    for (int i = 0; i < 50 && !atomic_load(&c->done); i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static int see_statement(unsigned kind, void *argument, void *statement, void *text)
{
    (void)statement;
    struct creation *const c = argument;
    if (kind != SQLITE_TRACE_STMT || !pthread_equal(pthread_self(), c->reader) || c->stage == STARTED)
        return 0;
    if (c->stage == BEFORE) {
        c->stage = strstr(text, "application_id") != NULL ? FIRST_MARK : BEFORE;
        return 0;
    }
    c->stage = STARTED;
    assert_int_equal(pthread_create(&c->creator, NULL, create_database, c), 0);
    wait_for_creation(c);
    return 0;
}

static int observe(sqlite3 *handle, char **message, const struct sqlite3_api_routines *routines)
{
    (void)message;
    (void)routines;
    return sqlite3_trace_v2(handle, SQLITE_TRACE_STMT, see_statement, observed);
}

static void a_reader_sees_a_creation_whole_or_not_at_all(void **state)
{
    (void)state;
    struct creation c = {.path = "/tmp/oocgnn-open-XXXXXX", .reader = pthread_self()};
    const int file = mkstemp(c.path);
    assert_true(file >= 0);
    (void)close(file);
    struct gnn_db *db = NULL;
    struct gnn_err err = {0};
    observed = &c;
    assert_int_equal(sqlite3_auto_extension((void (*)(void))observe), SQLITE_OK);
    const enum gnn_status status = gnn_db_open(c.path, GNN_DB_READ, &db, &err);
    (void)sqlite3_cancel_auto_extension((void (*)(void))observe);
    assert_int_equal(c.stage, STARTED);
    assert_int_equal(pthread_join(c.creator, NULL), 0);
    if (status != GNN_ENOENT) /* empty when the marks were read */
        must(status, &err);
    gnn_db_close(db);
    err = (struct gnn_err){0};
    must(gnn_db_open(c.path, GNN_DB_READ, &db, &err), &err);
    gnn_db_close(db);
    char beside[80];
    for (int i = 0; i < 3; i++) {
        (void)snprintf(beside, sizeof beside, "%s%s", c.path, i == 0 ? "" : i == 1 ? "-wal" : "-shm");
        (void)unlink(beside);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_reader_sees_a_creation_whole_or_not_at_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

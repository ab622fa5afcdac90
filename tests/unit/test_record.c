/* SPDX-License-Identifier: MIT */
/* The record: what goes in comes out, unknown stays unknown, and neither neighbours nor kills hurt it. */
#include "harness/record/columns.h"
#include "harness/record/db.h"
#include "harness/record/merge.h"
#include "harness/record/record.h"
#include "harness/record/summary.h"
#include "tests/support/fake_run.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct db_dir {
    char *dir;
    char db[600];
};

static int make_db_dir(void **state)
{
    struct db_dir *const place = calloc(1, sizeof *place);
    assert_non_null(place);
    place->dir = process_temp_dir();
    (void)snprintf(place->db, sizeof place->db, "%s/runs.db", place->dir);
    *state = place;
    return 0;
}

static int remove_db_dir(void **state)
{
    struct db_dir *const place = *state;
    process_remove_tree(place->dir);
    free(place->dir);
    free(place);
    return 0;
}

static struct gnn_db *open_db(const struct db_dir *place, enum gnn_db_mode mode)
{
    struct gnn_db *db = NULL;
    struct gnn_err err = {0};
    must(gnn_db_open(place->db, mode, &db, &err), &err);
    return db;
}

/* Writes a whole run; the record keeps its final status. */
static void store(struct gnn_db *db, struct gnn_run_record *run)
{
    struct gnn_err err = {0};
    const enum gnn_run_status final = run->status;
    must(gnn_db_begin(db, run, &err), &err);
    run->status = final;
    for (uint32_t e = 0; e < run->epoch_count; e++)
        assert_int_equal(gnn_db_epoch(db, run->run_id, &run->epochs[e], &err), GNN_OK);
    assert_int_equal(gnn_db_series(db, run->run_id, run->series, run->series_count, &err), GNN_OK);
    must(gnn_db_finish(db, run, &err), &err);
}

static void add_point(struct gnn_run_record *run, uint64_t time_ns, double cpu_pct)
{
    struct gnn_series_point point = {.time_ns = time_ns, .interval_ns = 1000000000, .cpu_pct = cpu_pct};
    point.gpu_busy_pct = NAN;
    point.gpu_memory_bytes = GNN_UNKNOWN;
    point.gpu_power_w = 300;
    point.gpu_rx_bytes_per_s = 2e9;
    point.gpu_tx_bytes_per_s = NAN;
    struct gnn_err err = {0};
    assert_int_equal(gnn_run_record_add_point(run, &point, &err), GNN_OK);
}

static char *json_text(const struct gnn_run_record *run)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    struct gnn_err err = {0};
    assert_int_equal(gnn_run_json(run, true, out, &err), GNN_OK);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void round_trip(void **state)
{
    struct gnn_db *db = open_db(*state, GNN_DB_WRITE);
    struct gnn_run_record run, back;
    struct gnn_err err = {0};
    fake_run(&run, "gnndrive", 9.87, 3, 7);
    run.epochs[2].complete = 0;
    add_point(&run, 1000000000, 50.0);
    add_point(&run, 2000000000, NAN);
    gnn_run_record_reason(&run, "first %d", 1);
    gnn_run_record_reason(&run, "second");
    store(db, &run);
    assert_int_equal(gnn_db_load(db, run.run_id, &back, &err), GNN_OK);
    char *before = json_text(&run);
    char *after = json_text(&back);
    assert_string_equal(before, after);
    assert_non_null(strstr(before, "\"reasons\":\"first 1\\nsecond\""));
    assert_int_equal(back.scale_divisor, 100);
    assert_int_equal(back.swap_read_back_bytes, GNN_UNKNOWN);
    assert_true(isnan(back.epochs[0].valid_accuracy));
    assert_int_equal(back.epochs[1].complete, 1);
    assert_int_equal(back.epochs[2].complete, 0);
    assert_int_equal(back.before.device_read_bytes, UINT64_C(35) << 20);
    assert_int_equal(back.before.elapsed_ns, UINT64_C(1500000000));
    assert_int_equal(back.before.rows_read, GNN_UNKNOWN);
    assert_true(isnan(back.series[1].cpu_pct));
    assert_float_equal(back.series[1].gpu_power_w, 300, 0);
    assert_float_equal(back.series[1].gpu_rx_bytes_per_s, 2e9, 0);
    assert_true(isnan(back.series[1].gpu_tx_bytes_per_s));
    assert_int_equal(back.counters.batch_digest, UINT64_C(0xfedcba9876543210));
    free(before);
    free(after);
    gnn_run_record_free(&run);
    gnn_run_record_free(&back);
    assert_int_equal(gnn_db_load(db, 999, &back, &err), GNN_ENOENT);
    gnn_db_close(db);
    gnn_db_close(NULL);
}

/* A record of which nothing is known: every column but the required ones is NULL, in SQL and in JSON. */
static void unknown_is_null(void **state)
{
    struct gnn_db *db = open_db(*state, GNN_DB_WRITE);
    struct gnn_run_record run;
    gnn_run_record_init(&run);
    run.status = GNN_RUN_FAILED;
    struct gnn_record_epoch epoch;
    gnn_record_epoch_unknown(&epoch);
    epoch.stage_count = 1;
    gnn_record_stage_unknown(&epoch.stages[0]);
    (void)snprintf(epoch.stages[0].stage, sizeof epoch.stages[0].stage, "sample");
    struct gnn_err err = {0};
    assert_int_equal(gnn_run_record_add_epoch(&run, &epoch, &err), GNN_OK);
    store(db, &run);
    static const struct {
        const struct gnn_table *table;
        uint32_t known; /* columns that are never NULL: status and start; the stage's name */
    } cases[] = {{&gnn_table_runs, 2}, {&gnn_table_epochs, 0}, {&gnn_table_stages, 1}, {&gnn_table_counters, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char sql[GNN_SQL_BYTES];
        sqlite3_stmt *statement;
        (void)gnn_table_select_sql(cases[i].table, sql, sizeof sql);
        assert_int_equal(gnn_db_prepare(db, sql, &statement, &err), GNN_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        uint32_t known = 0;
        for (uint32_t c = 0; c < cases[i].table->column_count; c++)
            known += sqlite3_column_type(statement, (int)c) != SQLITE_NULL;
        assert_int_equal(known, cases[i].known);
        (void)sqlite3_finalize(statement);
    }
    char *text = json_text(&run);
    assert_non_null(strstr(text, "\"cap_bytes\":null"));
    assert_non_null(strstr(text, "\"batch_digest\":null"));
    assert_non_null(strstr(text, "\"cold_observed\":null"));
    assert_non_null(strstr(text, "\"loss\":null"));
    free(text);
    gnn_run_record_free(&run);
    gnn_db_close(db);
}

/* results/schema.sql and the column tables name the same things, and every column is explained. */
static void schema_and_columns_agree(void **state)
{
    struct gnn_db *db = open_db(*state, GNN_DB_WRITE);
    static const struct gnn_table *const tables[] = {&gnn_table_runs,     &gnn_table_epochs,  &gnn_table_stages,
                                                     &gnn_table_counters, &gnn_table_figures, &gnn_table_series};
    /* In SQL alone: the key, who wrote the row and when it was finished; the series' time is key and column. */
    static const uint32_t only_sql[] = {7, 2, 3, 2, 2, 1};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        char sql[256];
        sqlite3_stmt *statement;
        struct gnn_err err = {0};
        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_info('%s')", tables[t]->name);
        assert_int_equal(gnn_db_prepare(db, sql, &statement, &err), GNN_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(statement, 0), tables[t]->column_count + only_sql[t]);
        (void)sqlite3_finalize(statement);
        for (uint32_t c = 0; c < tables[t]->column_count; c++) {
            (void)snprintf(sql, sizeof sql, "SELECT 1 FROM pragma_table_info('%s') WHERE name = '%s'", tables[t]->name,
                           tables[t]->columns[c].name);
            assert_int_equal(gnn_db_prepare(db, sql, &statement, &err), GNN_OK);
            if (sqlite3_step(statement) != SQLITE_ROW)
                fail_msg("%s.%s is not in results/schema.sql", tables[t]->name, tables[t]->columns[c].name);
            (void)sqlite3_finalize(statement);
        }
    }
    gnn_db_close(db);
}

/* Names scripts rely on. */
static void json_has_the_promised_names(void **state)
{
    (void)state;
    static const char *const run_names[] = {"run_id",
                                            "status",
                                            "system",
                                            "dataset",
                                            "scale",
                                            "model",
                                            "world",
                                            "profile",
                                            "compute",
                                            "cap_bytes",
                                            "seed",
                                            "valid",
                                            "reasons",
                                            "epochs",
                                            "stages",
                                            "counters",
                                            "config",
                                            "environment",
                                            "before_first_epoch"};
    static const char *const epoch_names[] = {"epoch",          "wall_ns",        "prepare_ns",   "loss",
                                              "train_accuracy", "valid_accuracy", "test_accuracy"};
    static const char *const stage_names[] = {"stage",      "workers",       "work_ns",
                                              "wait_io_ns", "wait_queue_ns", "wait_lock_ns"};
    static const char *const counter_names[] = {
        "needed_bytes",       "requested_bytes",   "requested_ios",     "device_read_bytes", "device_read_ios",
        "device_write_bytes", "cache_hits",        "cache_misses",      "cache_evictions",   "sampled_nodes",
        "rows_asked",         "rows_read",         "hit_ratio",         "sampled_edges",     "batches",
        "batch_digest",       "peak_memory_bytes", "prepare_disk_bytes"};
    struct gnn_run_record run;
    fake_run(&run, "pygplus", 60, 2, 1);
    char *text = json_text(&run);
    json_t *object = json_loads(text, 0, NULL);
    assert_non_null(object);
    const json_t *epoch = json_array_get(json_object_get(object, "epochs"), 1);
    const json_t *stage = json_array_get(json_object_get(object, "stages"), 0);
    const json_t *counters = json_object_get(object, "counters");
    for (size_t i = 0; i < sizeof run_names / sizeof *run_names; i++)
        assert_non_null(json_object_get(object, run_names[i]));
    for (size_t i = 0; i < sizeof epoch_names / sizeof *epoch_names; i++)
        assert_non_null(json_object_get(epoch, epoch_names[i]));
    for (size_t i = 0; i < sizeof stage_names / sizeof *stage_names; i++)
        assert_non_null(json_object_get(stage, stage_names[i]));
    for (size_t i = 0; i < sizeof counter_names / sizeof *counter_names; i++)
        assert_non_null(json_object_get(counters, counter_names[i]));
    const json_t *const before = json_object_get(object, "before_first_epoch");
    assert_int_equal(json_integer_value(json_object_get(before, "device_write_bytes")), 3 << 20);
    assert_int_equal(json_integer_value(json_object_get(before, "cpu_ns")), 1250000000);
    assert_true(json_is_null(json_object_get(before, "batches")));
    assert_string_equal(json_string_value(json_object_get(object, "scale")), "1/100");
    assert_int_equal(json_integer_value(json_object_get(object, "first_epoch_ns")), UINT64_C(69000000000));
    assert_int_equal(json_integer_value(json_object_get(object, "epoch_ns")), UINT64_C(60000000000));
    assert_int_equal(json_integer_value(json_object_get(epoch, "counted")), 1);
    assert_int_equal(
        json_integer_value(json_object_get(json_array_get(json_object_get(object, "epochs"), 0), "counted")), 0);
    const json_t *first =
        json_array_get(json_object_get(json_array_get(json_object_get(object, "epochs"), 0), "stages"), 0);
    const json_t *second = json_array_get(json_object_get(epoch, "stages"), 0);
    assert_int_equal(json_integer_value(json_object_get(stage, "work_ns")),
                     json_integer_value(json_object_get(first, "work_ns")) +
                         json_integer_value(json_object_get(second, "work_ns")));
    json_decref(object);
    free(text);
    gnn_run_record_free(&run);
}

/* One definition for all systems: what storage delivered, fills and rows read back included, over what was asked. */
static void one_hit_ratio(void **state)
{
    (void)state;
    static const struct {
        uint64_t asked, read;
        double ratio;
    } cases[] = {{100, 0, 1}, {100, 25, 0.75}, {100, 100, 0}, {100, 150, -0.5}, {2575667, 601179, 0.766593}};
    struct gnn_record_counters counters;
    gnn_record_counters_unknown(&counters);
    assert_true(isnan(gnn_record_hit_ratio(&counters)));
    counters.rows_read = 0;
    assert_true(isnan(gnn_record_hit_ratio(&counters)));
    counters.rows_asked = 0;
    assert_true(isnan(gnn_record_hit_ratio(&counters)));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        counters.rows_asked = cases[i].asked;
        counters.rows_read = cases[i].read;
        assert_float_equal(gnn_record_hit_ratio(&counters), cases[i].ratio, 1e-6);
    }
    counters.rows_read = GNN_UNKNOWN;
    assert_true(isnan(gnn_record_hit_ratio(&counters)));
    /* in the JSON, unknown in the fake run of a mapped system */
    struct gnn_run_record run;
    fake_run(&run, "pygplus", 60, 1, 1);
    for (int known = 0; known < 2; known++) {
        if (known)
            run.counters.rows_asked = 8;
        run.counters.rows_read = known ? 2 : GNN_UNKNOWN;
        char *const text = json_text(&run);
        json_t *const object = json_loads(text, 0, NULL);
        const json_t *const ratio = json_object_get(json_object_get(object, "counters"), "hit_ratio");
        assert_true(known ? json_real_value(ratio) == 0.75 : json_is_null(ratio));
        json_decref(object);
        free(text);
    }
    gnn_run_record_free(&run);
}

/* What came in, before the first epoch too, over the bound that somebody counted later. */
static void a_bound_comes_later(void **state)
{
    struct gnn_db *db = open_db(*state, GNN_DB_WRITE);
    struct gnn_run_record run, read;
    struct gnn_err err = {0};
    fake_run(&run, "diskgnn", 10, 2, 1);
    run.dim = 128; /* rows of 512 bytes */
    run.epochs[0].counters.rows_read = 70;
    run.epochs[1].counters.rows_read = 30;
    assert_int_equal(gnn_run_bound_bytes(&run), GNN_UNKNOWN);
    assert_true(isnan(gnn_run_bound_ratio(&run)));
    store(db, &run);
    must(gnn_db_set_environment(db, run.run_id, GNN_ENVIRONMENT_BOUND, "1", &err), &err);
    must(gnn_db_set_environment(db, run.run_id, GNN_ENVIRONMENT_BOUND, "25600", &err), &err); /* 50 rows */
    must(gnn_db_load(db, run.run_id, &read, &err), &err);
    assert_int_equal(gnn_run_bound_bytes(&read), 25600);
    assert_true(gnn_run_bound_ratio(&read) == 2);
    struct gnn_record_figure *const open_rows = &read.epochs[0].figures[read.epochs[0].figure_count++];
    *open_rows = (struct gnn_record_figure){.name = GNN_FIGURE_OPEN_ROWS, .value = 25};
    assert_true(gnn_run_bound_ratio(&read) == 2.5);
    char *const text = json_text(&read);
    assert_non_null(strstr(text, "\"bound_bytes\":25600,\"bound_ratio\":2.5"));
    free(text);
    fake_figure(&read.epochs[1], GNN_FIGURE_OPEN_ROWS, 25); /* another cache, for the second epoch */
    assert_true(gnn_run_bound_ratio(&read) == 3);
    read.epochs[1].counters.rows_read = GNN_UNKNOWN; /* a mapping counts no rows */
    assert_true(isnan(gnn_run_bound_ratio(&read)));
    assert_int_equal(gnn_db_set_environment(db, run.run_id + 1, GNN_ENVIRONMENT_BOUND, "1", &err), GNN_ENOENT);
    gnn_run_record_free(&read);
    gnn_run_record_free(&run);
    gnn_db_close(db);
}

/* A verdict that comes after the end changes the row's verdict and nothing else. */
static void a_run_is_judged_later(void **state)
{
    struct gnn_db *db = open_db(*state, GNN_DB_WRITE);
    struct gnn_run_record run, other, read;
    struct gnn_err err = {0};
    fake_run(&other, "pygplus", 10, 1, 1);
    store(db, &other);
    fake_run(&run, "gnndrive", 10, 2, 1);
    store(db, &run);
    run.status = GNN_RUN_INVALID;
    run.valid = 0;
    run.wall_ns = 1; /* is not written */
    gnn_run_record_reason(&run, "found out later");
    must(gnn_db_judge(db, &run, &err), &err);
    must(gnn_db_load(db, run.run_id, &read, &err), &err);
    assert_int_equal(read.status, GNN_RUN_INVALID);
    assert_int_equal(read.valid, 0);
    assert_string_equal(read.reasons, run.reasons);
    assert_int_not_equal(read.wall_ns, 1);
    gnn_run_record_free(&read);
    must(gnn_db_load(db, other.run_id, &read, &err), &err);
    assert_int_equal(read.status, GNN_RUN_OK);
    gnn_run_record_free(&read);
    run.run_id += 10;
    assert_int_equal(gnn_db_judge(db, &run, &err), GNN_ENOENT);
    gnn_run_record_free(&run);
    gnn_run_record_free(&other);
    gnn_db_close(db);
}

static void invalid_runs_show_no_times(void **state)
{
    (void)state;
    struct gnn_run_record run;
    fake_run(&run, "pygplus", 60, 1, 1);
    add_point(&run, 1, 40.0);
    assert_true(gnn_run_epoch_ns(&run) != GNN_UNKNOWN);
    assert_float_equal(gnn_run_cpu_pct(&run), 40.0, 1e-9);
    run.status = GNN_RUN_INVALID;
    run.valid = 0;
    char *text = json_text(&run);
    json_t *object = json_loads(text, 0, NULL);
    const json_t *epoch = json_array_get(json_object_get(object, "epochs"), 0);
    assert_true(json_is_null(json_object_get(object, "wall_ns")));
    assert_true(json_is_null(json_object_get(object, "epoch_ns")));
    assert_true(json_is_null(json_object_get(object, "first_epoch_ns")));
    assert_true(json_is_null(json_object_get(epoch, "wall_ns")));
    assert_true(json_is_null(json_object_get(json_array_get(json_object_get(epoch, "stages"), 0), "work_ns")));
    assert_true(json_is_null(json_object_get(json_array_get(json_object_get(object, "stages"), 0), "wait_io_ns")));
    assert_true(json_is_null(json_object_get(json_array_get(json_object_get(object, "series"), 0), "cpu_pct")));
    assert_true(json_is_integer(json_object_get(json_object_get(object, "counters"), "needed_bytes")));
    const json_t *const before = json_object_get(object, "before_first_epoch");
    assert_true(json_is_null(json_object_get(before, "elapsed_ns")));
    assert_true(json_is_null(json_object_get(before, "cpu_ns")));
    assert_true(json_is_integer(json_object_get(before, "device_read_bytes")));
    assert_int_equal(gnn_run_epoch_ns(&run), GNN_UNKNOWN);
    assert_true(isnan(gnn_run_io_wait_pct(&run)));
    assert_true(isnan(gnn_run_cpu_pct(&run)));
    json_decref(object);
    free(text);
    gnn_run_record_free(&run);
}

/* What came before the first epoch is stored when that begins, for a run that is killed later. */
static void what_came_before_is_stored_at_once(void **state)
{
    struct gnn_db *db = open_db(*state, GNN_DB_WRITE);
    struct gnn_run_record run, back;
    struct gnn_err err = {0};
    fake_run(&run, "presort", 10, 0, 1);
    must(gnn_db_begin(db, &run, &err), &err);
    must(gnn_db_load(db, run.run_id, &back, &err), &err);
    assert_int_equal(back.before.device_read_bytes, GNN_UNKNOWN);
    gnn_run_record_free(&back);
    must(gnn_db_before(db, run.run_id, &run.before, &err), &err);
    must(gnn_db_load(db, run.run_id, &back, &err), &err);
    assert_int_equal(back.status, GNN_RUN_RUNNING);
    assert_int_equal(back.before.device_read_bytes, UINT64_C(35) << 20);
    assert_int_equal(back.counters.device_read_bytes, GNN_UNKNOWN);
    gnn_run_record_free(&back);
    gnn_run_record_free(&run);
    gnn_db_close(db);
}

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void foreign_files_are_refused(void **state)
{
    const struct db_dir *place = *state;
    struct gnn_db *db;
    struct gnn_err err = {0};
    assert_int_equal(gnn_db_open(place->db, GNN_DB_READ, &db, &err), GNN_ENOENT);
    assert_null(db);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_db_open("/nonexistent/dir/x.db", GNN_DB_WRITE, &db, &err), GNN_ENOENT);
    put_file(place->db, "this is a text of some length and certainly no database of SQLite, whatever its name says");
    err = (struct gnn_err){0};
    assert_int_equal(gnn_db_open(place->db, GNN_DB_WRITE, &db, &err), GNN_EFORMAT);
    (void)unlink(place->db);
    sqlite3 *other;
    assert_int_equal(sqlite3_open(place->db, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "CREATE TABLE notes (x)", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(other);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_db_open(place->db, GNN_DB_WRITE, &db, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "none of oocgnn's"));
    (void)unlink(place->db);
    gnn_db_close(open_db(place, GNN_DB_WRITE));
    assert_int_equal(sqlite3_open(place->db, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(other);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_db_open(place->db, GNN_DB_READ, &db, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "99"));
}

static uint64_t count_rows(struct gnn_db *db, const char *sql)
{
    sqlite3_stmt *statement;
    struct gnn_err err = {0};
    assert_int_equal(gnn_db_prepare(db, sql, &statement, &err), GNN_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const uint64_t count = (uint64_t)sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return count;
}

/* Several supervisors create and fill one database at the same moment. */
static void writers_in_parallel(void **state)
{
    enum { WRITERS = 3, RUNS = 4, EPOCHS = 5 };
    const struct db_dir *place = *state;
    pid_t writers[WRITERS];
    for (int w = 0; w < WRITERS; w++) {
        writers[w] = fork();
        if (writers[w] != 0)
            continue;
        struct gnn_db *db = open_db(place, GNN_DB_WRITE);
        for (int r = 0; r < RUNS; r++) {
            struct gnn_run_record run;
            fake_run(&run, w == 0 ? "pygplus" : "gnndrive", 10 + w, EPOCHS, (uint64_t)r);
            store(db, &run);
            gnn_run_record_free(&run);
        }
        gnn_db_close(db);
        _exit(0);
    }
    for (int w = 0; w < WRITERS; w++) {
        int status = 1;
        assert_int_equal(waitpid(writers[w], &status, 0), writers[w]);
        assert_int_equal(status, 0);
    }
    struct gnn_db *db = open_db(place, GNN_DB_READ);
    assert_int_equal(count_rows(db, "SELECT count(*) FROM runs WHERE status = 'ok'"), WRITERS * RUNS);
    assert_int_equal(count_rows(db, "SELECT count(*) FROM epochs"), WRITERS * RUNS * EPOCHS);
    assert_int_equal(count_rows(db, "SELECT count(*) FROM (SELECT DISTINCT run_id FROM counters)"), WRITERS * RUNS);
    struct gnn_err err = {0};
    int64_t ids[64];
    uint32_t count;
    assert_int_equal(gnn_db_last(db, 3, ids, &count, &err), GNN_OK);
    assert_int_equal(count, 3);
    assert_true(ids[0] < ids[1] && ids[1] < ids[2] && ids[2] == WRITERS * RUNS);
    gnn_db_close(db);
}

/* A supervisor is killed between two epochs and in the middle of a transaction. */
static void killed_writer_leaves_a_readable_database(void **state)
{
    const struct db_dir *place = *state;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    const pid_t writer = fork();
    if (writer == 0) {
        struct gnn_db *db = open_db(place, GNN_DB_WRITE);
        struct gnn_run_record run;
        struct gnn_err err = {0};
        fake_run(&run, "gnndrive", 10, 2, 1);
        if (gnn_db_begin(db, &run, &err) != GNN_OK || gnn_db_epoch(db, run.run_id, &run.epochs[0], &err) != GNN_OK ||
            sqlite3_exec(db->handle, "BEGIN IMMEDIATE; INSERT INTO epochs (run_id, epoch) VALUES (1, 77)", NULL, NULL,
                         NULL) != SQLITE_OK ||
            write(ready[1], "r", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    (void)close(ready[1]);
    char word;
    assert_int_equal(read(ready[0], &word, 1), 1);
    (void)close(ready[0]);
    struct gnn_db *db = open_db(place, GNN_DB_READ);
    assert_int_equal(count_rows(db, "SELECT count(*) FROM runs WHERE status = 'running'"), 1);
    gnn_db_close(db);
    assert_int_equal(kill(writer, SIGKILL), 0);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    db = open_db(place, GNN_DB_READ);
    assert_int_equal(count_rows(db, "SELECT count(*) FROM epochs"), 1);
    assert_int_equal(count_rows(db, "SELECT count(*) FROM runs WHERE status = 'running'"), 1);
    gnn_db_close(db);
    db = open_db(place, GNN_DB_WRITE); /* the next writer sees that nobody is at work on it */
    struct gnn_run_record run;
    struct gnn_err err = {0};
    assert_int_equal(gnn_db_load(db, 1, &run, &err), GNN_OK);
    assert_int_equal(run.status, GNN_RUN_INTERRUPTED);
    assert_int_equal(run.valid, 0);
    assert_int_equal(run.epoch_count, 1);
    assert_non_null(strstr(run.reasons, "supervisor"));
    gnn_run_record_free(&run);
    gnn_db_close(db);
}

static void running_rows_of_the_living_stay(void **state)
{
    struct gnn_db *db = open_db(*state, GNN_DB_WRITE);
    struct gnn_run_record run;
    struct gnn_err err = {0};
    fake_run(&run, "null", 1, 1, 1);
    assert_int_equal(gnn_db_begin(db, &run, &err), GNN_OK);
    gnn_db_close(open_db(*state, GNN_DB_WRITE));
    assert_int_equal(count_rows(db, "SELECT count(*) FROM runs WHERE status = 'running'"), 1);
    gnn_run_record_free(&run);
    gnn_db_close(db);
    struct gnn_writer self, other;
    gnn_writer_self(&self);
    assert_true(gnn_writer_may_live(&self, &self));
    other = self;
    other.boot_id[0] = other.boot_id[0] == 'x' ? 'y' : 'x';
    assert_false(gnn_writer_may_live(&other, &self));
    (void)snprintf(other.machine_id, sizeof other.machine_id, "elsewhere");
    assert_true(gnn_writer_may_live(&other, &self));
    other = self;
    other.start_ticks += 1; /* the number was given to another process */
    assert_false(gnn_writer_may_live(&other, &self));
    other = self;
    other.pid = 0x7ffffff0;
    assert_false(gnn_writer_may_live(&other, &self));
    (void)snprintf(other.pid_namespace, sizeof other.pid_namespace, "pid:[1]");
    assert_true(gnn_writer_may_live(&other, &self));
}

static int64_t store_fake(struct gnn_db *db, const char *system, enum gnn_run_status status, uint64_t cap_bytes,
                          const char *revision)
{
    struct gnn_run_record run;
    struct gnn_err err = {0};
    fake_run(&run, system, 10, 1, 1);
    run.status = status;
    run.cap_bytes = cap_bytes;
    assert_int_equal(gnn_kv_set(&run.environment, "build.revision", revision, &err), GNN_OK);
    store(db, &run);
    const int64_t run_id = run.run_id;
    gnn_run_record_free(&run);
    return run_id;
}

static void comparison_takes_what_compares(void **state)
{
    static const struct gnn_db_choice newest = {.series = ""};
    struct gnn_db *db = open_db(*state, GNN_DB_WRITE);
    int64_t ids[8];
    uint32_t count = 9;
    struct gnn_err err = {0};
    assert_int_equal(gnn_db_comparison(db, &newest, 8, ids, &count, &err), GNN_OK);
    assert_int_equal(count, 0);
    (void)store_fake(db, "pygplus", GNN_RUN_OK, 1 << 28, "a"); /* another cap */
    (void)store_fake(db, "pygplus", GNN_RUN_OK, 1 << 29, "b"); /* another build */
    const int64_t first = store_fake(db, "pygplus", GNN_RUN_OK, 1 << 29, "a");
    (void)store_fake(db, "pygplus", GNN_RUN_FAILED, 1 << 29, "a");
    const int64_t second = store_fake(db, "ginex", GNN_RUN_OOM, 1 << 29, "a");
    const int64_t third = store_fake(db, "gnndrive", GNN_RUN_OK, 1 << 29, "a");
    (void)store_fake(db, "gnndrive", GNN_RUN_INTERRUPTED, 1 << 29, "a");
    assert_int_equal(gnn_db_comparison(db, &newest, 8, ids, &count, &err), GNN_OK);
    assert_int_equal(count, 3);
    assert_int_equal(ids[0], first);
    assert_int_equal(ids[1], second);
    assert_int_equal(ids[2], third);
    assert_int_equal(gnn_db_comparison(db, &newest, 2, ids, &count, &err), GNN_OK);
    assert_int_equal(count, 2);
    assert_int_equal(ids[1], third);
    gnn_db_close(db);
}

static int64_t store_changed(struct gnn_db *db, void (*change)(struct gnn_run_record *run))
{
    struct gnn_run_record run;
    fake_run(&run, "pygplus", 10, 1, 1);
    change(&run);
    store(db, &run);
    const int64_t run_id = run.run_id;
    gnn_run_record_free(&run);
    return run_id;
}

static void change_nothing(struct gnn_run_record *run)
{
    (void)run;
}

static void limit_in_program(struct gnn_run_record *run)
{
    (void)snprintf(run->cap_enforcement, sizeof run->cap_enforcement, GNN_CAP_IN_PROGRAM);
}

static void start_warm(struct gnn_run_record *run)
{
    run->cold_observed = 0;
}

static void start_unknown(struct gnn_run_record *run)
{
    run->cold_observed = -1;
}

static void no_limit(struct gnn_run_record *run)
{
    run->cap_bytes = GNN_UNKNOWN;
}

static void inherit(struct gnn_run_record *run, const char *bytes)
{
    struct gnn_err err = {0};
    must(gnn_kv_set(&run->environment, GNN_ENVIRONMENT_INHERITED, bytes, &err), &err);
}

static void limit_inherited(struct gnn_run_record *run)
{
    no_limit(run);
    inherit(run, "41943040");
}

static void other_limit_inherited(struct gnn_run_record *run)
{
    no_limit(run);
    inherit(run, "83886080");
}

static void limit_in_program_and_inherited(struct gnn_run_record *run)
{
    limit_in_program(run);
    inherit(run, "41943040");
}

/* The run's own limit is smaller than the inherited one, so the latter does not matter. */
static void limits_of_both_kinds(struct gnn_run_record *run)
{
    inherit(run, "41943040");
}

/* Each of these alone makes runs unlike. */
static void a_comparison_has_one_limit_and_one_start(void **state)
{
    static const struct gnn_db_choice newest = {.series = ""};
    static void (*const changes[])(struct gnn_run_record * run) = {
        limit_in_program, start_warm,      start_unknown,         limit_in_program_and_inherited,
        no_limit,         limit_inherited, other_limit_inherited,
    };
    struct gnn_db *db = open_db(*state, GNN_DB_WRITE);
    struct gnn_err err = {0};
    int64_t ids[8];
    uint32_t count;
    (void)store_changed(db, change_nothing);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const int64_t changed = store_changed(db, changes[i]);
        must(gnn_db_comparison(db, &newest, 8, ids, &count, &err), &err);
        assert_int_equal(count, 1);
        assert_int_equal(ids[0], changed);
    }
    const int64_t last = store_changed(db, limits_of_both_kinds);
    must(gnn_db_comparison(db, &newest, 8, ids, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_int_equal(ids[0], 1);
    assert_int_equal(ids[1], last);
    gnn_db_close(db);
}

/* Not even a comparison of memory limits has runs under an inherited one beside others. */
static void an_inherited_limit_is_in_no_series(void **state)
{
    static const struct gnn_db_choice memory = {.series = "memory"};
    struct gnn_db *db = open_db(*state, GNN_DB_WRITE);
    struct gnn_err err = {0};
    int64_t ids[8];
    uint32_t count;
    (void)store_changed(db, change_nothing);
    (void)store_changed(db, limit_inherited);
    const int64_t last = store_changed(db, no_limit);
    must(gnn_db_comparison(db, &memory, 8, ids, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_int_equal(ids[0], 1);
    assert_int_equal(ids[1], last);
    gnn_db_close(db);
}

/* Processes on two machines may have the same number and start at the same moment: both runs are kept. A run that
 * agrees in everything is the same run. */
static void merging_keeps_runs_of_other_processes(void **state)
{
    static const char *const changes[] = {
        "UPDATE runs SET machine_id = 'elsewhere'",
        "UPDATE runs SET boot_id = 'another'",
        "UPDATE runs SET supervisor_pid = supervisor_pid + 1",
        "UPDATE runs SET started_unix_ns = started_unix_ns + 1",
        "UPDATE runs SET system = 'ginex'",
    };
    const struct db_dir *const place = *state;
    struct gnn_err err = {0};
    char path[700];
    struct gnn_db *other = NULL, *db = open_db(place, GNN_DB_WRITE);
    (void)snprintf(path, sizeof path, "%s/other.db", place->dir);
    must(gnn_db_open(path, GNN_DB_WRITE, &other, &err), &err);
    (void)store_fake(other, "pygplus", GNN_RUN_OK, 1 << 28, "a");
    struct gnn_merged merged = {0};
    must(gnn_db_merge(db, path, &merged, &err), &err);
    must(gnn_db_merge(db, path, &merged, &err), &err);
    assert_int_equal(merged.added, 1);
    assert_int_equal(merged.known, 1);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        must(gnn_db_exec(other, changes[i], "change", &err), &err);
        must(gnn_db_merge(db, path, &merged, &err), &err);
        assert_int_equal(merged.added, i + 2);
        must(gnn_db_merge(db, path, &merged, &err), &err);
        assert_int_equal(merged.known, i + 2);
    }
    assert_int_equal(count_rows(db, "SELECT count(*) FROM runs"), 6);
    gnn_db_close(other);
    gnn_db_close(db);
}

/* Also where a limit of file sizes holds, which is no cause of what is refused here. */
static void writing_errors_are_told(void **state)
{
    static const struct rlimit wide = {.rlim_cur = (rlim_t)1 << 34, .rlim_max = RLIM_INFINITY};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    if (before.rlim_max == RLIM_INFINITY)
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &wide), 0);
    struct gnn_db *db = open_db(*state, GNN_DB_WRITE);
    struct gnn_record_epoch epoch;
    gnn_record_epoch_unknown(&epoch);
    struct gnn_err err = {0};
    assert_int_equal(gnn_db_epoch(db, 4711, &epoch, &err), GNN_EIO); /* no such run: the foreign key says so */
    assert_non_null(strstr(err.message, "FOREIGN KEY"));
    struct gnn_run_record run;
    fake_run(&run, "null", 1, 0, 1);
    run.run_id = 4711;
    err = (struct gnn_err){0};
    assert_int_equal(gnn_db_finish(db, &run, &err), GNN_EBUG);
    assert_int_equal(count_rows(db, "SELECT count(*) FROM counters"), 0);
    gnn_run_record_free(&run);
    gnn_db_close(db);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(round_trip, make_db_dir, remove_db_dir),
        cmocka_unit_test_setup_teardown(unknown_is_null, make_db_dir, remove_db_dir),
        cmocka_unit_test_setup_teardown(schema_and_columns_agree, make_db_dir, remove_db_dir),
        cmocka_unit_test(json_has_the_promised_names),
        cmocka_unit_test(one_hit_ratio),
        cmocka_unit_test_setup_teardown(a_bound_comes_later, make_db_dir, remove_db_dir),
        cmocka_unit_test_setup_teardown(what_came_before_is_stored_at_once, make_db_dir, remove_db_dir),
        cmocka_unit_test_setup_teardown(a_run_is_judged_later, make_db_dir, remove_db_dir),
        cmocka_unit_test(invalid_runs_show_no_times),
        cmocka_unit_test_setup_teardown(foreign_files_are_refused, make_db_dir, remove_db_dir),
        cmocka_unit_test_setup_teardown(writers_in_parallel, make_db_dir, remove_db_dir),
        cmocka_unit_test_setup_teardown(killed_writer_leaves_a_readable_database, make_db_dir, remove_db_dir),
        cmocka_unit_test_setup_teardown(running_rows_of_the_living_stay, make_db_dir, remove_db_dir),
        cmocka_unit_test_setup_teardown(comparison_takes_what_compares, make_db_dir, remove_db_dir),
        cmocka_unit_test_setup_teardown(a_comparison_has_one_limit_and_one_start, make_db_dir, remove_db_dir),
        cmocka_unit_test_setup_teardown(an_inherited_limit_is_in_no_series, make_db_dir, remove_db_dir),
        cmocka_unit_test_setup_teardown(merging_keeps_runs_of_other_processes, make_db_dir, remove_db_dir),
        cmocka_unit_test_setup_teardown(writing_errors_are_told, make_db_dir, remove_db_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

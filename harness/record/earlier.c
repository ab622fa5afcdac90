/* SPDX-License-Identifier: MIT */
#include "harness/record/earlier.h"

#include "harness/record/db.h"
#include "harness/record/summary.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { RUNS_MAX = 256 };

/* Ends a loop over rows: an error that stopped it is reported. */
static enum gnn_status end_rows(struct gnn_db *db, sqlite3_stmt *statement, struct gnn_err *err)
{
    return sqlite3_finalize(statement) == SQLITE_OK ? GNN_OK : gnn_db_fail(db, "read", err);
}

/* Binds texts from parameter 1 on; NULL stays NULL. */
static void bind_texts(sqlite3_stmt *statement, const char *const *texts, int count)
{
    for (int i = 0; i < count; i++)
        if (texts[i] != NULL)
            (void)sqlite3_bind_text(statement, 1 + i, texts[i], -1, SQLITE_STATIC);
}

/* A condition on the environment of a run, unless the parameter is NULL. */
#define ENVIRONMENT_IS(key, parameter)                                                                                 \
    " AND (" parameter " IS NULL OR EXISTS (SELECT 1 FROM environment AS o WHERE o.run_id = runs.run_id AND "          \
    "o.key = '" key "' AND o.value = " parameter "))"

enum gnn_status gnn_db_find_done(struct gnn_db *db, const struct gnn_wanted_run *wanted, uint32_t max, int64_t *ids,
                                 uint32_t *count, struct gnn_err *err)
{
    static const char sql[] =
        "SELECT runs.run_id FROM runs JOIN environment AS e ON e.run_id = runs.run_id AND e.key = ?1 AND e.value = ?2 "
        "WHERE status IN ('ok', 'oom', 'gpu_oom', 'oot')" ENVIRONMENT_IS("build.revision", "?3")
            ENVIRONMENT_IS("dataset.digest", "?4")
                ENVIRONMENT_IS(GNN_ENVIRONMENT_FLOOR, "?5") " ORDER BY runs.run_id DESC";
    const char *const texts[] = {wanted->key, wanted->value, wanted->revision, wanted->digest, wanted->calibration};
    sqlite3_stmt *statement;
    assert(max == 0 || ids != NULL);
    *count = 0;
    GNN_TRY(gnn_db_prepare(db, sql, &statement, err));
    bind_texts(statement, texts, 5);
    while ((max == 0 || *count < max) && sqlite3_step(statement) == SQLITE_ROW) {
        if (max != 0)
            ids[*count] = sqlite3_column_int64(statement, 0);
        ++*count;
    }
    for (uint32_t i = 0; max != 0 && i < *count / 2; i++) {
        const int64_t swapped = ids[i];
        ids[i] = ids[*count - 1 - i];
        ids[*count - 1 - i] = swapped;
    }
    return end_rows(db, statement, err);
}

/* Medians over the statement's rows, which it finalises. */
static enum gnn_status take_median(struct gnn_db *db, sqlite3_stmt *statement, struct gnn_run_cost *out,
                                   struct gnn_err *err)
{
    double times_ns[RUNS_MAX];
    uint32_t count = 0;
    while (count < RUNS_MAX && sqlite3_step(statement) == SQLITE_ROW) {
        const double time_ns = sqlite3_column_double(statement, 0);
        if (time_ns >= 0)
            times_ns[count++] = time_ns;
    }
    GNN_TRY(end_rows(db, statement, err));
    out->runs = count;
    out->host_ns = count == 0 ? GNN_UNKNOWN : (uint64_t)llround(gnn_median(times_ns, count));
    return GNN_OK;
}

static enum gnn_status cost_of_same(struct gnn_db *db, const struct gnn_wanted_run *wanted, struct gnn_run_cost *out,
                                    struct gnn_err *err)
{
    static const char sql[] =
        "SELECT finished_unix_ns - started_unix_ns FROM runs JOIN environment AS e ON e.run_id = runs.run_id AND "
        "e.key = ?1 AND e.value = ?2 WHERE status IN ('ok', 'oom', 'gpu_oom', 'oot') AND finished_unix_ns IS NOT NULL "
        "ORDER BY runs.run_id DESC";
    const char *const texts[] = {wanted->key, wanted->value};
    sqlite3_stmt *statement;
    GNN_TRY(gnn_db_prepare(db, sql, &statement, err));
    bind_texts(statement, texts, 2);
    out->same = true;
    return take_median(db, statement, out, err);
}

static enum gnn_status cost_of_like(struct gnn_db *db, const struct gnn_wanted_run *wanted, const char *scale,
                                    struct gnn_run_cost *out, struct gnn_err *err)
{
    static const char sql[] =
        "SELECT 1.0 * (finished_unix_ns - started_unix_ns) * ?5 / max(epochs_planned, 1) FROM runs WHERE system = ?1 "
        "AND dataset = ?2 AND world = ?3 AND scale = ?4 AND status = 'ok' AND finished_unix_ns IS NOT NULL "
        "ORDER BY run_id DESC";
    const char *const texts[] = {wanted->system, wanted->dataset, wanted->world, scale};
    sqlite3_stmt *statement;
    GNN_TRY(gnn_db_prepare(db, sql, &statement, err));
    bind_texts(statement, texts, 4);
    (void)sqlite3_bind_int64(statement, 5, (int64_t)wanted->epochs);
    out->same = false;
    return take_median(db, statement, out, err);
}

static enum gnn_status disk_of_like(struct gnn_db *db, const struct gnn_wanted_run *wanted, const char *scale,
                                    struct gnn_run_cost *out, struct gnn_err *err)
{
    static const char sql[] =
        "SELECT max(prepare_disk_bytes) FROM counters JOIN runs USING (run_id) WHERE system = ?1 AND dataset = ?2 AND "
        "world = ?3 AND scale = ?4";
    const char *const texts[] = {wanted->system, wanted->dataset, wanted->world, scale};
    sqlite3_stmt *statement;
    GNN_TRY(gnn_db_prepare(db, sql, &statement, err));
    bind_texts(statement, texts, 4);
    if (sqlite3_step(statement) == SQLITE_ROW) /* no such run: NULL, which reads as 0 */
        out->disk_bytes = (uint64_t)sqlite3_column_int64(statement, 0);
    return end_rows(db, statement, err);
}

enum gnn_status gnn_db_cost(struct gnn_db *db, const struct gnn_wanted_run *wanted, struct gnn_run_cost *out,
                            struct gnn_err *err)
{
    char scale[32];
    *out = (struct gnn_run_cost){.host_ns = GNN_UNKNOWN};
    if (wanted->scale_divisor == 1)
        (void)snprintf(scale, sizeof scale, "1");
    else
        (void)snprintf(scale, sizeof scale, "1/%" PRIu64, wanted->scale_divisor);
    GNN_TRY(cost_of_same(db, wanted, out, err));
    if (out->runs == 0)
        GNN_TRY(cost_of_like(db, wanted, scale, out, err));
    return disk_of_like(db, wanted, scale, out, err);
}

/* SPDX-License-Identifier: MIT */
#include "harness/cli/sweep_spread.h"

#include "harness/base/log.h"
#include "harness/record/notes.h"
#include "harness/run/sweep/lookup.h"

enum { RUNS_MAX = 64 };

static void tell_spread(const struct gnn_job_cell *cell, uint32_t number, const struct gnn_run_record *runs,
                        uint32_t count)
{
    const struct gnn_run_record *alike[RUNS_MAX];
    for (uint32_t i = 0; i < count; i++)
        alike[i] = &runs[i];
    const double spread_pct = gnn_runs_spread_pct(alike, count);
    if (spread_pct > GNN_NOTE_SPREAD_PCT)
        gnn_log_info("note: configuration %u [%s]: the epoch times of %u runs spread by %.3g %% of their median",
                     number, cell->section, count, spread_pct);
}

/* A database that cannot be read was reported by the run itself. */
void gnn_sweep_tell_spreads(const struct gnn_job *job, uint32_t only)
{
    for (uint32_t i = 0; i < job->count; i++) {
        const struct gnn_job_cell *const cell = &job->cells[i];
        struct gnn_run_record *runs = NULL;
        struct gnn_db *db = NULL;
        struct gnn_err ignored = {0};
        int64_t ids[RUNS_MAX];
        uint32_t count = 0;
        if ((only != 0 && only != i + 1) || cell->refusal[0] != '\0' ||
            gnn_sweep_find(&cell->config, false, RUNS_MAX, ids, &count, &ignored) != GNN_OK || count < 2)
            continue;
        if (gnn_db_open(cell->config.db, GNN_DB_READ, &db, &ignored) == GNN_OK &&
            gnn_db_load_all(db, ids, count, &runs, &ignored) == GNN_OK)
            tell_spread(cell, i + 1, runs, count);
        gnn_run_records_free(runs, count);
        gnn_db_close(db);
    }
}

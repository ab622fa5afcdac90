/* SPDX-License-Identifier: MIT */
#include "harness/cli/sweep_results.h"

#include "harness/record/report.h"
#include "harness/run/sweep/lookup.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 64 };

static bool is_chosen(const struct gnn_job *job, uint32_t only, uint32_t cell)
{
    return (only == 0 || only == cell + 1) && job->cells[cell].refusal[0] == '\0';
}

/* Adds the results of a configuration or of its search; two sections of a job file may have the same configuration. */
static void add_results(const struct gnn_job_cell *cell, bool any_build, int64_t *ids, uint32_t *count)
{
    int64_t found[RUNS_MAX];
    uint32_t results = 0;
    struct gnn_search_state state;
    struct gnn_err ignored = {0}; /* a database that cannot be read was reported by the run itself */
    if (gnn_search_look_up(&cell->search, &cell->config, any_build, &state, &ignored) != GNN_OK ||
        gnn_sweep_find(&state.config, any_build, RUNS_MAX, found, &results, &ignored) != GNN_OK)
        return;
    for (uint32_t i = 0; i < results; i++) {
        uint32_t at = 0;
        while (at < *count && ids[at] != found[i])
            at++;
        if (at == *count)
            ids[(*count)++] = found[i];
    }
}

/* Prints the table of the configurations with the database of `first`. */
static void show_database(const struct gnn_job *job, uint32_t first, uint32_t only, bool any_build, FILE *out)
{
    const char *const path = job->cells[first].config.db;
    int64_t *const ids = calloc((size_t)job->count * RUNS_MAX, sizeof *ids);
    struct gnn_run_record *runs = NULL;
    struct gnn_db *db = NULL;
    struct gnn_err ignored = {0};
    uint32_t count = 0;
    for (uint32_t i = first; i < job->count && ids != NULL; i++)
        if (is_chosen(job, only, i) && strcmp(job->cells[i].config.db, path) == 0)
            add_results(&job->cells[i], any_build, ids, &count);
    if (count > 0 && gnn_db_open(path, GNN_DB_READ, &db, &ignored) == GNN_OK &&
        gnn_db_load_all(db, ids, count, &runs, &ignored) == GNN_OK) {
        (void)fputc('\n', out);
        gnn_report_repeats(runs, count, "", GNN_REPORT_TEXT, out);
        (void)fflush(out);
    }
    gnn_run_records_free(runs, count);
    gnn_db_close(db);
    free(ids);
}

void gnn_sweep_show_results(const struct gnn_job *job, uint32_t only, bool any_build, FILE *out)
{
    for (uint32_t i = 0; i < job->count; i++) {
        bool shown = !is_chosen(job, only, i);
        for (uint32_t before = 0; before < i && !shown; before++)
            shown = is_chosen(job, only, before) && strcmp(job->cells[before].config.db, job->cells[i].config.db) == 0;
        if (!shown)
            show_database(job, i, only, any_build, out);
    }
}

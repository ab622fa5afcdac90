/* SPDX-License-Identifier: MIT */
#include "harness/base/grow.h"
#include "harness/record/columns.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void gnn_record_counters_unknown(struct gnn_record_counters *counters)
{
    gnn_table_unknown(&gnn_table_counters, counters);
}

void gnn_record_counters_add(struct gnn_record_counters *total, const struct gnn_record_counters *epoch)
{
    gnn_table_add(&gnn_table_counters, epoch, total);
    total->batch_digest += epoch->batch_digest; /* order-free, as within an epoch */
    total->has_digest = total->has_digest || epoch->has_digest;
}

double gnn_record_hit_ratio(const struct gnn_record_counters *c)
{
    if (c->rows_asked == GNN_UNKNOWN || c->rows_read == GNN_UNKNOWN || c->rows_asked == 0)
        return NAN;
    return 1 - (double)c->rows_read / (double)c->rows_asked;
}

bool gnn_record_counter(const struct gnn_record_counters *counters, const char *name, double *value, bool *adds_up)
{
    for (uint32_t i = 0; i < gnn_table_counters.column_count; i++) {
        const struct gnn_column *const column = &gnn_table_counters.columns[i];
        uint64_t count;
        if (column->type != GNN_COLUMN_U64 || strcmp(column->name, name) != 0)
            continue;
        memcpy(&count, (const char *)counters + column->offset, sizeof count);
        *value = count == GNN_UNKNOWN ? (double)NAN : (double)count;
        *adds_up = !column->is_peak;
        return true;
    }
    return false;
}

void gnn_record_stage_unknown(struct gnn_record_stage *stage)
{
    gnn_table_unknown(&gnn_table_stages, stage);
}

void gnn_record_epoch_unknown(struct gnn_record_epoch *epoch)
{
    gnn_table_unknown(&gnn_table_epochs, epoch);
    gnn_record_counters_unknown(&epoch->counters);
}

void gnn_run_record_init(struct gnn_run_record *run)
{
    gnn_table_unknown(&gnn_table_runs, run);
    assert(run->status == GNN_RUN_RUNNING);
    run->started_unix_ns = 0; /* gnn_db_begin sets it */
    gnn_record_counters_unknown(&run->counters);
    gnn_record_counters_unknown(&run->before);
}

void gnn_run_record_free(struct gnn_run_record *run)
{
    if (run == NULL)
        return;
    gnn_kv_clear(&run->config);
    gnn_kv_clear(&run->environment);
    free(run->epochs);
    free(run->series);
    run->epochs = NULL;
    run->series = NULL;
    run->epoch_count = run->epoch_room = 0;
    run->series_count = run->series_room = 0;
}

enum gnn_status gnn_run_record_add_epoch(struct gnn_run_record *run, const struct gnn_record_epoch *epoch,
                                         struct gnn_err *err)
{
    assert(epoch->stage_count <= GNN_RECORD_STAGES_MAX);
    assert(epoch->figure_count <= GNN_RECORD_FIGURES_MAX);
    struct gnn_record_epoch *epochs = gnn_grow(run->epochs, run->epoch_count, &run->epoch_room, sizeof *epochs);
    if (epochs == NULL)
        return gnn_fail(err, GNN_ENOMEM, "epoch %u of a record", run->epoch_count);
    run->epochs = epochs;
    run->epochs[run->epoch_count++] = *epoch;
    return GNN_OK;
}

enum gnn_status gnn_run_record_add_point(struct gnn_run_record *run, const struct gnn_series_point *point,
                                         struct gnn_err *err)
{
    struct gnn_series_point *series = gnn_grow(run->series, run->series_count, &run->series_room, sizeof *series);
    if (series == NULL)
        return gnn_fail(err, GNN_ENOMEM, "point %u of a series", run->series_count);
    run->series = series;
    run->series[run->series_count++] = *point;
    return GNN_OK;
}

void gnn_run_record_reason(struct gnn_run_record *run, const char *format, ...)
{
    size_t used = strlen(run->reasons);
    assert(used < sizeof run->reasons);
    if (used > 0 && used + 1 < sizeof run->reasons) {
        run->reasons[used++] = '\n';
        run->reasons[used] = '\0';
    }
    va_list args;
    va_start(args, format);
    (void)vsnprintf(run->reasons + used, sizeof run->reasons - used, format, args);
    va_end(args);
}

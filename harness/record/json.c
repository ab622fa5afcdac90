/* SPDX-License-Identifier: MIT */
#include "harness/base/plain_text.h"
#include "harness/record/columns.h"
#include "harness/record/notes.h"
#include "harness/record/summary.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Adds `value` (taken over) under name; NULL anywhere means out of memory. */
static bool add(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0;
}

/* The same under a name from a database, which may be no UTF-8. */
static bool add_named(json_t *object, const char *name, json_t *value)
{
    char plain[GNN_ERR_MAX];
    return add(object, gnn_text_plain(name, plain, sizeof plain), value);
}

json_t *gnn_json_if_whole(json_t *value, bool whole)
{
    if (whole)
        return value;
    json_decref(value);
    return NULL;
}

json_t *gnn_json_row(const struct gnn_table *table, const void *row, bool hide_times)
{
    json_t *object = json_object();
    return gnn_json_if_whole(object, gnn_table_json(table, row, hide_times, object));
}

/* With the one figure that is derived from them. */
static json_t *counters_object(const struct gnn_record_counters *counters, bool hide_times)
{
    json_t *const object = gnn_json_row(&gnn_table_counters, counters, hide_times);
    const double ratio = gnn_record_hit_ratio(counters);
    return gnn_json_if_whole(object,
                             object != NULL && add(object, "hit_ratio", isnan(ratio) ? json_null() : json_real(ratio)));
}

static json_t *row_array(const struct gnn_table *table, const void *rows, uint32_t count, bool hide_times)
{
    json_t *array = json_array();
    bool whole = true;
    for (uint32_t i = 0; i < count && whole; i++)
        whole = json_array_append_new(array,
                                      gnn_json_row(table, (const char *)rows + i * table->row_bytes, hide_times)) == 0;
    return gnn_json_if_whole(array, whole);
}

static json_t *figures_object(const struct gnn_record_epoch *epoch)
{
    json_t *object = json_object();
    bool whole = true;
    assert(epoch->figure_count <= GNN_RECORD_FIGURES_MAX);
    for (uint32_t i = 0; i < epoch->figure_count && whole; i++) {
        const struct gnn_record_figure *figure = &epoch->figures[i];
        whole = add_named(object, figure->name,
                          figure->value == GNN_UNKNOWN ? json_null() : json_integer((json_int_t)figure->value));
    }
    return gnn_json_if_whole(object, whole);
}

static json_t *epoch_object(const struct gnn_run_record *run, uint32_t number, bool hide_times)
{
    const struct gnn_record_epoch *const epoch = &run->epochs[number];
    json_t *object = json_object();
    assert(epoch->stage_count <= GNN_RECORD_STAGES_MAX);
    return gnn_json_if_whole(
        object,
        add(object, "epoch", json_integer((json_int_t)epoch->epoch)) &&
            gnn_table_json(&gnn_table_epochs, epoch, hide_times, object) &&
            add(object, "counted", json_integer(gnn_run_counts_epoch(run, number) ? 1 : 0)) &&
            add(object, "stages", row_array(&gnn_table_stages, epoch->stages, epoch->stage_count, hide_times)) &&
            add(object, "counters", counters_object(&epoch->counters, hide_times)) &&
            add(object, "figures", figures_object(epoch)));
}

static json_t *epochs_array(const struct gnn_run_record *run, bool hide_times)
{
    json_t *array = json_array();
    bool whole = true;
    for (uint32_t i = 0; i < run->epoch_count && whole; i++)
        whole = json_array_append_new(array, epoch_object(run, i, hide_times)) == 0;
    return gnn_json_if_whole(array, whole);
}

static json_t *pairs_object(const struct gnn_kv_list *list)
{
    json_t *object = json_object();
    bool whole = true;
    for (uint32_t i = 0; i < list->count && whole; i++) {
        const char *value = list->items[i].value;
        whole = add_named(object, list->items[i].key, value == NULL ? json_null() : gnn_json_text(value));
    }
    return gnn_json_if_whole(object, whole);
}

static json_t *count_or_null(uint64_t count)
{
    return count == GNN_UNKNOWN ? json_null() : json_integer((json_int_t)count);
}

static bool add_epoch_times(const struct gnn_run_record *run, json_t *object)
{
    return add(object, "first_epoch_ns", count_or_null(gnn_run_first_epoch_ns(run))) &&
           add(object, "epoch_ns", count_or_null(gnn_run_epoch_ns(run)));
}

static bool add_part(const struct gnn_run_record *run, json_t *object)
{
    char part[GNN_PART_BYTES];
    return add(object, "part", gnn_run_part(run, part)[0] == '\0' ? json_null() : gnn_json_text(part));
}

static bool add_bound(const struct gnn_run_record *run, json_t *object)
{
    const uint64_t bytes = gnn_run_bound_bytes(run);
    const double ratio = gnn_run_bound_ratio(run);
    return add(object, "bound_bytes", count_or_null(bytes)) &&
           add(object, "bound_ratio", isnan(ratio) ? json_null() : json_real(ratio));
}

static bool add_floor(const struct gnn_run_record *run, json_t *object)
{
    const uint64_t floor_ns = gnn_run_floor_ns(run);
    const double ratio = gnn_run_floor_ratio(run);
    return add(object, "floor_ns", count_or_null(floor_ns)) &&
           add(object, "floor_ratio", isnan(ratio) ? json_null() : json_real(ratio));
}

static bool add_notes(const struct gnn_run_record *run, json_t *object)
{
    struct gnn_trust trust;
    char text[GNN_NOTES_BYTES];
    gnn_trust_init(&trust);
    gnn_trust_add(&trust, run);
    return add(object, "notes", gnn_trust_text(&trust, text, sizeof text) ? json_string(text) : json_null());
}

static bool fill(const struct gnn_run_record *run, bool with_series, json_t *object)
{
    const bool hide_times = gnn_run_withholds_times(run);
    struct gnn_record_stage stages[GNN_RECORD_STAGES_MAX];
    const uint32_t stage_count = gnn_run_stage_sums(run, stages);
    return add(object, "run_id", run->run_id == 0 ? json_null() : json_integer(run->run_id)) &&
           gnn_table_json(&gnn_table_runs, run, hide_times, object) && add_epoch_times(run, object) &&
           add_part(run, object) && add_bound(run, object) && add_floor(run, object) && add_notes(run, object) &&
           add(object, "epochs", epochs_array(run, hide_times)) &&
           add(object, "stages", row_array(&gnn_table_stages, stages, stage_count, hide_times)) &&
           add(object, "counters", counters_object(&run->counters, hide_times)) &&
           add(object, "before_first_epoch", gnn_json_row(&gnn_table_counters, &run->before, hide_times)) &&
           add(object, "config", pairs_object(&run->config)) &&
           add(object, "environment", pairs_object(&run->environment)) &&
           (!with_series ||
            add(object, "series", row_array(&gnn_table_series, run->series, run->series_count, hide_times)));
}

enum gnn_status gnn_run_json(const struct gnn_run_record *run, bool with_series, FILE *out, struct gnn_err *err)
{
    json_t *object = json_object();
    if (!fill(run, with_series, object)) {
        json_decref(object);
        return gnn_fail(err, GNN_ENOMEM, "the JSON of run %lld", (long long)run->run_id);
    }
    const bool written = json_dumpf(object, out, JSON_COMPACT | JSON_PRESERVE_ORDER) == 0 && fputc('\n', out) != EOF;
    json_decref(object);
    return written ? GNN_OK
                   : gnn_fail(err, GNN_EIO, "the JSON of run %lld could not be written", (long long)run->run_id);
}

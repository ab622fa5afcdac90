/* SPDX-License-Identifier: MIT */
/* What the page's script works on. */
#include "harness/record/columns.h"
#include "harness/record/notes.h"
#include "harness/record/page.h"
#include "harness/record/series.h"
#include "harness/record/summary.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    POINTS_MAX = 400,           /* of a run's time series: more than a screen has room for */
    SERIES_BYTES_MAX = 4 << 20, /* of all runs' time series */
    POINT_BYTES = 26 * 8,       /* at most: columns, and digits of a value */
    POINTS_LEAST = 16,
    REAL_DIGITS = 6
};

/* Adds `value` (taken over); NULL anywhere means out of memory. */
static bool add(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0;
}

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *count_or_null(uint64_t count)
{
    return count == GNN_UNKNOWN ? json_null() : json_integer((json_int_t)count);
}

/* Without what is in `common`. */
static json_t *pairs_object(const struct gnn_kv_list *list, const json_t *common)
{
    json_t *const object = json_object();
    bool whole = true;
    for (uint32_t i = 0; i < list->count && whole; i++) {
        const char *const value = list->items[i].value;
        json_t *const key = gnn_json_text(list->items[i].key); /* keys of another's database may be no UTF-8 */
        whole =
            key != NULL && (json_object_get(common, json_string_value(key)) != NULL ||
                            add(object, json_string_value(key), value == NULL ? json_null() : gnn_json_text(value)));
        json_decref(key);
    }
    return gnn_json_if_whole(object, whole);
}

/* ---- what all runs have alike: told once, as a thousand runs of one machine repeat it ---- */

typedef const struct gnn_kv_list *list_fn(const struct gnn_run_record *run);

static const struct gnn_kv_list *config_of(const struct gnn_run_record *run)
{
    return &run->config;
}

static const struct gnn_kv_list *environment_of(const struct gnn_run_record *run)
{
    return &run->environment;
}

static bool is_common(const struct gnn_run_record *runs, uint32_t count, list_fn *list_of, const struct gnn_kv *pair)
{
    for (uint32_t i = 1; i < count; i++) {
        const char *const value = gnn_kv_get(list_of(&runs[i]), pair->key);
        if (value == NULL || strcmp(value, pair->value) != 0)
            return false;
    }
    return true;
}

static json_t *common_object(const struct gnn_run_record *runs, uint32_t count, list_fn *list_of)
{
    const struct gnn_kv_list *const first = list_of(&runs[0]);
    json_t *const object = json_object();
    bool whole = true;
    for (uint32_t i = 0; i < first->count && whole; i++) {
        const struct gnn_kv *const pair = &first->items[i];
        if (pair->value == NULL || !is_common(runs, count, list_of, pair))
            continue;
        json_t *const key = gnn_json_text(pair->key);
        whole = key != NULL && add(object, json_string_value(key), gnn_json_text(pair->value));
        json_decref(key);
    }
    return gnn_json_if_whole(object, whole);
}

static json_t *common_objects(const struct gnn_run_record *runs, uint32_t count)
{
    json_t *const object = json_object();
    return gnn_json_if_whole(object, add(object, "config", common_object(runs, count, config_of)) &&
                                         add(object, "environment", common_object(runs, count, environment_of)));
}

/* ---- epochs: an array a column ---- */

static json_t *epoch_columns(const struct gnn_run_record *run, bool hide)
{
    json_t *const object = json_object();
    bool whole = true;
    for (uint32_t c = 0; c < gnn_table_epochs.column_count && whole; c++)
        whole = add(object, gnn_table_epochs.columns[c].name, json_array());
    for (uint32_t e = 0; e < run->epoch_count && whole; e++) {
        json_t *const row = gnn_json_row(&gnn_table_epochs, &run->epochs[e], hide);
        for (uint32_t c = 0; c < gnn_table_epochs.column_count && whole; c++) {
            const char *const name = gnn_table_epochs.columns[c].name;
            whole = row != NULL && json_array_append(json_object_get(object, name), json_object_get(row, name)) == 0;
        }
        json_decref(row);
    }
    return gnn_json_if_whole(object, whole);
}

/* Each figure's values, an epoch after the other; null where an epoch has none. */
static json_t *figure_columns(const struct gnn_run_record *run)
{
    json_t *const object = json_object();
    bool whole = true;
    for (uint32_t e = 0; e < run->epoch_count; e++)
        for (uint32_t f = 0; f < run->epochs[e].figure_count && whole; f++) {
            const char *const name = run->epochs[e].figures[f].name;
            json_t *const key = gnn_json_text(name);
            if (key != NULL && json_object_get(object, json_string_value(key)) == NULL) {
                json_t *const values = json_array();
                for (uint32_t at = 0; at < run->epoch_count && whole; at++)
                    whole =
                        json_array_append_new(values, count_or_null(gnn_recorded_figure(&run->epochs[at], name))) == 0;
                whole = add(object, json_string_value(key), values) && whole;
            }
            whole = whole && key != NULL;
            json_decref(key);
        }
    return gnn_json_if_whole(object, whole);
}

static json_t *stage_array(const struct gnn_run_record *run, bool hide)
{
    struct gnn_record_stage sums[GNN_RECORD_STAGES_MAX];
    const uint32_t count = gnn_run_stage_sums(run, sums);
    json_t *const array = json_array();
    bool whole = true;
    for (uint32_t i = 0; i < count && whole; i++)
        whole = json_array_append_new(array, gnn_json_row(&gnn_table_stages, &sums[i], hide)) == 0;
    return gnn_json_if_whole(array, whole);
}

/* ---- time series ---- */

/* The mean of a column over points[first .. last); null where none knows it. Their end for the time. */
static json_t *mean_of(json_t *const *points, uint32_t first, uint32_t last, const char *name)
{
    double sum = 0;
    uint32_t known = 0;
    if (strcmp(name, "time_ns") == 0)
        return json_incref(json_object_get(points[last - 1], name));
    for (uint32_t i = first; i < last; i++) {
        const json_t *const value = json_object_get(points[i], name);
        if (json_is_number(value)) {
            sum += json_number_value(value);
            known++;
        }
    }
    return known == 0 ? json_null() : json_real(sum / known);
}

static bool is_known(json_t *const *points, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (json_is_number(json_object_get(points[i], name)))
            return true;
    return false;
}

static bool add_columns(json_t *object, json_t *const *points, uint32_t count, uint32_t points_max)
{
    const uint32_t group = (count + points_max - 1) / points_max;
    bool whole = true;
    assert(group >= 1);
    for (uint32_t c = 0; c < gnn_table_series.column_count && whole; c++) {
        const char *const name = gnn_table_series.columns[c].name;
        if (!is_known(points, count, name))
            continue;
        json_t *const column = json_array();
        for (uint32_t first = 0; first < count && whole; first += group)
            whole = json_array_append_new(column, mean_of(points, first, gnn_min_u32(first + group, count), name)) == 0;
        whole = add(object, name, column) && whole;
    }
    return whole;
}

static json_t *series_columns(const struct gnn_run_record *run, bool hide, uint32_t points_max)
{
    json_t *const object = json_object();
    json_t **const points = calloc(run->series_count + UINT32_C(1), sizeof(json_t *));
    bool whole = points != NULL;
    for (uint32_t i = 0; i < run->series_count && whole; i++) {
        points[i] = gnn_json_row(&gnn_table_series, &run->series[i], hide);
        whole = points[i] != NULL;
    }
    if (whole && run->series_count > 0)
        whole = add_columns(object, points, run->series_count, points_max);
    for (uint32_t i = 0; points != NULL && i < run->series_count; i++)
        json_decref(points[i]);
    free(points);
    return gnn_json_if_whole(object, whole);
}

/* ---- a run, and all ---- */

static json_t *derived_object(const struct gnn_run_record *run)
{
    char part[GNN_PART_BYTES];
    json_t *const object = json_object();
    const bool whole = add(object, "first_epoch_ns", count_or_null(gnn_run_first_epoch_ns(run))) &&
                       add(object, "epoch_ns", count_or_null(gnn_run_epoch_ns(run))) &&
                       add(object, "part", gnn_json_text(gnn_run_part(run, part))) &&
                       add(object, "io_wait_pct", real_or_null(gnn_run_io_wait_pct(run))) &&
                       add(object, "cpu_pct", real_or_null(gnn_run_cpu_pct(run))) &&
                       add(object, "hit_ratio", real_or_null(gnn_record_hit_ratio(&run->counters))) &&
                       add(object, "test_accuracy", real_or_null(gnn_run_test_accuracy(run))) &&
                       add(object, "test_mrr", real_or_null(gnn_run_test_mrr(run))) &&
                       add(object, "test_own_first_ratio", real_or_null(gnn_run_test_own_first(run))) &&
                       add(object, "test_roc_auc", real_or_null(gnn_run_test_roc_auc(run))) &&
                       add(object, "test_macro_f1", real_or_null(gnn_run_test_macro_f1(run)));
    return gnn_json_if_whole(object, whole);
}

/* The epochs that count, by number. */
static json_t *counted_array(const struct gnn_run_record *run)
{
    json_t *const array = json_array();
    bool whole = true;
    for (uint32_t e = 0; e < run->epoch_count && whole; e++)
        whole = !gnn_run_counts_epoch(run, e) || json_array_append_new(array, json_integer(e)) == 0;
    return gnn_json_if_whole(array, whole);
}

/* The conditions, and the notes on them. */
static void write_caption(const struct gnn_run_record *run, char *text, size_t text_bytes)
{
    struct gnn_trust trust;
    char notes[GNN_NOTES_BYTES];
    gnn_run_caption(run, text, text_bytes);
    gnn_trust_init(&trust);
    gnn_trust_add(&trust, run);
    const size_t used = strlen(text);
    if (gnn_trust_text(&trust, notes, sizeof notes))
        (void)snprintf(text + used, text_bytes - used, ". Note: %s", notes);
}

/* place: of the system in the registry; GNN_STYLE_NONE is null. */
static json_t *run_object(const struct gnn_run_record *run, const char *label, uint32_t place, const json_t *common,
                          uint32_t points_max)
{
    const bool hide = gnn_run_withholds_times(run);
    char caption[GNN_CAPTION_BYTES + GNN_NOTES_BYTES + 16];
    json_t *const object = json_object();
    write_caption(run, caption, sizeof caption);
    const bool whole =
        add(object, "id", json_integer(run->run_id)) && add(object, "label", gnn_json_text(label)) &&
        add(object, "place", place == GNN_STYLE_NONE ? json_null() : json_integer(place)) &&
        add(object, "caption", gnn_json_text(caption)) &&
        add(object, "run", gnn_json_row(&gnn_table_runs, run, hide)) && add(object, "derived", derived_object(run)) &&
        add(object, "counted", counted_array(run)) &&
        add(object, "counters", gnn_json_row(&gnn_table_counters, &run->counters, hide)) &&
        add(object, "before", gnn_json_row(&gnn_table_counters, &run->before, hide)) &&
        add(object, "stages", stage_array(run, hide)) && add(object, "epochs", epoch_columns(run, hide)) &&
        add(object, "figures", hide ? json_object() : figure_columns(run)) &&
        add(object, "config", pairs_object(&run->config, json_object_get(common, "config"))) &&
        add(object, "environment", pairs_object(&run->environment, json_object_get(common, "environment"))) &&
        add(object, "series", series_columns(run, hide, points_max));
    return gnn_json_if_whole(object, whole);
}

/* json_dump_callback: '<' is written as an escape, so that nothing in a name can end the script element. */
static int put_escaped(const char *text, size_t bytes, void *out)
{
    for (size_t i = 0; i < bytes; i++)
        if (text[i] == '<' ? fputs("\\u003c", out) < 0 : fputc(text[i], out) == EOF)
            return -1;
    return 0;
}

enum gnn_status gnn_page_data(const struct gnn_run_record *runs, uint32_t count, const char *revision,
                              gnn_place_fn *place, FILE *out, struct gnn_err *err)
{
    struct gnn_run_series series;
    assert(count > 0);
    const uint32_t room = SERIES_BYTES_MAX / POINT_BYTES / count;
    const uint32_t points_max = gnn_max_u32(gnn_min_u32(room, POINTS_MAX), POINTS_LEAST);
    GNN_TRY(gnn_run_series_open(runs, count, "seed", &series, err));
    json_t *const root = json_object(), *const array = json_array(), *const common = common_objects(runs, count);
    bool whole = common != NULL;
    for (uint32_t i = 0; i < count && whole; i++)
        whole = json_array_append_new(array, run_object(&runs[i], series.labels[series.of[i]], place(runs[i].system),
                                                        common, points_max)) == 0;
    whole = add(root, "revision", gnn_json_text(revision)) && add(root, "common", common) && add(root, "runs", array) &&
            whole;
    gnn_run_series_close(&series);
    enum gnn_status status = whole ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "the data of %u runs", count);
    if (status == GNN_OK &&
        json_dump_callback(root, put_escaped, out,
                           JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(REAL_DIGITS)) != 0)
        status = gnn_fail(err, GNN_EIO, "the page cannot be written");
    json_decref(root);
    return status;
}

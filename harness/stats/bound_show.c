/* SPDX-License-Identifier: MIT */
#include "harness/stats/bound_show.h"

#include "harness/base/plain_text.h"
#include "harness/base/units.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

enum { TEXT_BYTES = 32 };

/* The bound at one size of memory. */
struct line {
    uint64_t memory_bytes, row_bytes, rows; /* rows: of all epochs */
    uint32_t epochs;
    const uint64_t *epoch_rows; /* (epochs) */
    struct gnn_row_times times; /* where has_times */
    bool has_times;
};

static void read_line(const struct gnn_bound_heading *h, const struct gnn_bound *b, uint32_t i, struct line *out)
{
    *out = (struct line){.memory_bytes = b->memory_bytes[i], .row_bytes = gnn_row_trace_row_bytes(b->trace)};
    (void)gnn_row_trace_epochs(b->trace, &out->epochs);
    out->epoch_rows = b->rows + (uint64_t)i * out->epochs;
    for (uint32_t e = 0; e < out->epochs; e++)
        out->rows += out->epoch_rows[e];
    out->has_times = h->profile != NULL;
    if (!out->has_times)
        return;
    struct gnn_row_costs costs;
    gnn_row_costs_of(&h->profile->storage, out->row_bytes, &costs);
    gnn_row_times_of(&costs, out->row_bytes, out->rows, gnn_row_trace_distinct(b->trace),
                     out->memory_bytes / out->row_bytes, &out->times);
}

/* ---- text ---- */

static void put_seconds(FILE *out, bool known, double seconds)
{
    if (known && isfinite(seconds))
        (void)fprintf(out, " %.*f |", seconds >= 100 ? 1 : 3, seconds);
    else
        (void)fputs(" - |", out);
}

static void put_epochs(const struct gnn_bound *b, FILE *out)
{
    uint32_t count;
    const struct gnn_row_trace_epoch *const epochs = gnn_row_trace_epochs(b->trace, &count);
    (void)fprintf(out,
                  "| epoch | mini-batches | rows asked for | not asked for before | batch digest (version %" PRIu32
                  ") |\n|---:|---:|---:|---:|---|\n",
                  gnn_row_trace_digest_version());
    for (uint32_t e = 0; e < count; e++)
        (void)fprintf(out, "| %" PRIu32 " | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %016" PRIx64 " |\n", e,
                      epochs[e].batches, epochs[e].rows_asked, epochs[e].rows_new, epochs[e].batch_digest);
}

static void put_device(const struct gnn_bound_heading *h, const struct gnn_bound *b, FILE *out)
{
    struct gnn_row_costs costs;
    if (h->profile == NULL) {
        (void)fputs("No --profile, so no seconds.\n", out);
        return;
    }
    gnn_row_costs_of(&h->profile->storage, gnn_row_trace_row_bytes(b->trace), &costs);
    (void)fprintf(
        out,
        "Profile %s at its best: a row at random %.2f us, large reads %.0f MB/s, large writes %.0f MB/s; a row "
        "costs the same both ways at %.0f bytes.\n",
        h->profile->name, costs.row_ns / 1e3, 1e3 / costs.byte_ns, 1e3 / costs.write_byte_ns,
        costs.row_ns / (costs.byte_ns + costs.write_byte_ns));
}

static void put_line(const struct line *l, uint64_t working_set_bytes, FILE *out)
{
    char memory[TEXT_BYTES] = "all", bytes[TEXT_BYTES];
    if (l->memory_bytes != UINT64_MAX)
        (void)gnn_format_bytes(l->memory_bytes, memory, sizeof memory);
    (void)fprintf(out, "| %s |", memory);
    if (l->memory_bytes != UINT64_MAX)
        (void)fprintf(out, " %.3f |", (double)l->memory_bytes / (double)working_set_bytes);
    else
        (void)fputs(" - |", out);
    (void)fprintf(out, " %" PRIu64 " |", l->epoch_rows[0]);
    if (l->epochs > 1)
        (void)fprintf(out, " %.0f |", (double)(l->rows - l->epoch_rows[0]) / (l->epochs - 1));
    else
        (void)fputs(" - |", out);
    (void)fprintf(out, " %s |", gnn_format_bytes(gnn_mul_bytes(l->rows, l->row_bytes), bytes, sizeof bytes));
    put_seconds(out, l->has_times, l->times.bytes_s);
    put_seconds(out, l->has_times, l->times.random_s);
    put_seconds(out, l->has_times, l->times.sorted_s);
    (void)fputs("\n", out);
}

/* Writes what the bound assumes, and which sizes of memory it is not defined for. */
static void put_premise(const struct gnn_bound *b, FILE *out)
{
    char least[TEXT_BYTES];
    (void)gnn_format_bytes(gnn_row_trace_memory_min(b->trace), least, sizeof least);
    (void)fputs(
        "\nMinimum reads of any exact system. Memory is empty at first. Premise: all rows of a mini-batch are in "
        "memory together.\n",
        out);
    (void)fprintf(out, "The largest mini-batch has %" PRIu64 " rows, %s.", gnn_row_trace_largest_batch(b->trace),
                  least);
    if (b->left_out > 0)
        (void)fprintf(out, " Smaller memory sizes are left out (%" PRIu32 ").", b->left_out);
    (void)fputs("\n\n", out);
}

void gnn_bound_text(const struct gnn_bound_heading *h, const struct gnn_bound *b, FILE *out)
{
    char name[GNN_NAME_MAX], bytes[TEXT_BYTES];
    const uint64_t row_bytes = gnn_row_trace_row_bytes(b->trace), distinct = gnn_row_trace_distinct(b->trace);
    (void)fprintf(out, "%s 1/%" PRIu32 ": mini-batches of %" PRIu32 " seeds, seed %" PRIu64 ". ",
                  gnn_text_plain(h->dataset->name, name, sizeof name), h->dataset->scale_divisor, h->config->batch_size,
                  h->config->seed);
    (void)fprintf(out, "Working set: %" PRIu64 " %s rows of %" PRIu64 " bytes, %s.\n", distinct,
                  gnn_feature_type_words[h->dataset->feature_type], row_bytes,
                  gnn_format_bytes(gnn_mul_bytes(distinct, row_bytes), bytes, sizeof bytes));
    put_device(h, b, out);
    (void)fputs("\n", out);
    put_epochs(b, out);
    put_premise(b, out);
    (void)fputs("| memory | of the working set | rows, epoch 0 | rows, a later epoch | bytes, all epochs | device s at "
                "least | each row at random, s | sorted ahead, s |\n|---:|---:|---:|---:|---:|---:|---:|---:|\n",
                out);
    for (uint32_t i = 0; i < b->count; i++) {
        struct line line;
        read_line(h, b, i, &line);
        put_line(&line, gnn_mul_bytes(distinct, row_bytes), out);
    }
}

/* ---- JSON ---- */

static json_t *real(bool known, double value)
{
    return known && isfinite(value) ? json_real(value) : json_null();
}

static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

/* Takes over value; false when memory ran out. */
static bool set(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0;
}

static json_t *epochs_json(const struct gnn_bound *b)
{
    uint32_t count;
    char digest[TEXT_BYTES];
    const struct gnn_row_trace_epoch *const epochs = gnn_row_trace_epochs(b->trace, &count);
    json_t *const array = json_array();
    for (uint32_t e = 0; e < count; e++) {
        json_t *const object = json_object();
        (void)snprintf(digest, sizeof digest, "%016" PRIx64, epochs[e].batch_digest);
        if (!set(object, "batches", integer(epochs[e].batches)) ||
            !set(object, "rows_asked", integer(epochs[e].rows_asked)) ||
            !set(object, "rows_new", integer(epochs[e].rows_new)) ||
            !set(object, "batch_digest", json_string(digest)) || json_array_append_new(array, object) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *line_json(const struct line *l)
{
    json_t *const object = json_object(), *const epochs = json_array();
    bool whole = true;
    for (uint32_t e = 0; e < l->epochs; e++)
        whole = whole && json_array_append_new(epochs, integer(l->epoch_rows[e])) == 0;
    whole = set(object, "epoch_rows", epochs) && whole;
    whole = whole &&
            set(object, "memory_bytes", l->memory_bytes == UINT64_MAX ? json_null() : integer(l->memory_bytes)) &&
            set(object, "bound_rows", integer(l->rows)) &&
            set(object, "bound_bytes", integer(gnn_mul_bytes(l->rows, l->row_bytes))) &&
            set(object, "bound_s", real(l->has_times, l->times.bytes_s)) &&
            set(object, "random_s", real(l->has_times, l->times.random_s)) &&
            set(object, "sorted_s", real(l->has_times, l->times.sorted_s));
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *lines_json(const struct gnn_bound_heading *h, const struct gnn_bound *b)
{
    json_t *const array = json_array();
    for (uint32_t i = 0; i < b->count; i++) {
        struct line line;
        read_line(h, b, i, &line);
        if (json_array_append_new(array, line_json(&line)) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

enum gnn_status gnn_bound_json(const struct gnn_bound_heading *h, const struct gnn_bound *b, FILE *out,
                               struct gnn_err *err)
{
    char name[GNN_NAME_MAX];
    struct gnn_row_costs costs = {NAN, NAN, NAN};
    if (h->profile != NULL)
        gnn_row_costs_of(&h->profile->storage, gnn_row_trace_row_bytes(b->trace), &costs);
    json_t *const object = json_object();
    const bool whole =
        set(object, "dataset", json_string(gnn_text_plain(h->dataset->name, name, sizeof name))) &&
        set(object, "scale_divisor", integer(h->dataset->scale_divisor)) &&
        set(object, "seed", integer(h->config->seed)) && set(object, "batch_size", integer(h->config->batch_size)) &&
        set(object, "feature_type", json_string(gnn_feature_type_words[h->dataset->feature_type])) &&
        set(object, "row_bytes", integer(gnn_row_trace_row_bytes(b->trace))) &&
        set(object, "distinct_rows", integer(gnn_row_trace_distinct(b->trace))) &&
        set(object, "largest_batch_rows", integer(gnn_row_trace_largest_batch(b->trace))) &&
        set(object, "batch_digest_version", integer(gnn_row_trace_digest_version())) &&
        set(object, "premise", json_string("all rows of a mini-batch are in memory together")) &&
        set(object, "profile", h->profile == NULL ? json_null() : json_string(h->profile->name)) &&
        set(object, "row_ns", real(true, costs.row_ns)) && set(object, "byte_ns", real(true, costs.byte_ns)) &&
        set(object, "write_byte_ns", real(true, costs.write_byte_ns)) && set(object, "epochs", epochs_json(b)) &&
        set(object, "memory", lines_json(h, b));
    char *const text = whole ? json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(object);
    if (text == NULL)
        return gnn_fail(err, GNN_ENOMEM, "a bound as JSON");
    (void)fprintf(out, "%s\n", text);
    free(text);
    return GNN_OK;
}

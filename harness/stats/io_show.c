/* SPDX-License-Identifier: MIT */
/* Prints the workload of a trace. */
#include "harness/base/units.h"
#include "harness/stats/io_workload.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

enum { TEXT_BYTES = 32, FILES_SHOWN = 12 };

/* ---- text ---- */

static const char *size_text(uint64_t bytes, char text[TEXT_BYTES])
{
    if (bytes == GNN_UNKNOWN)
        return "-";
    return gnn_format_bytes(bytes, text, TEXT_BYTES);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100 * (double)part / (double)whole;
}

static void put_depth(const struct gnn_io_part *p, FILE *out)
{
    if (p->depth_most == GNN_UNKNOWN || p->requests == 0)
        (void)fputs(" - | - |", out);
    else
        (void)fprintf(out, " %.1f | %" PRIu64 " |", p->depth_mean, p->depth_most);
}

static const char *last_part(const char *file)
{
    const char *const slash = strrchr(file, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : file;
}

/* Returns the last part of a path, or the whole path if another file has the same last part. */
static const char *short_name(const struct gnn_io_workload *w, const char *file)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (strcmp(w->parts[i].file, file) != 0 && strcmp(last_part(w->parts[i].file), last_part(file)) == 0)
            return file;
    return last_part(file);
}

static void put_part(const struct gnn_io_part *p, const char *name, bool is_total, FILE *out)
{
    char bytes[TEXT_BYTES], median[TEXT_BYTES], most[TEXT_BYTES], half[TEXT_BYTES], nine[TEXT_BYTES];
    (void)fprintf(out, "| %s | %s | %" PRIu64 " | %s | %s | %s |", name, p->writes ? "write" : "read", p->requests,
                  size_text(p->bytes, bytes), is_total ? "-" : size_text(p->median_bytes, median),
                  size_text(p->most_bytes, most));
    put_depth(p, out);
    (void)fprintf(out, " %.1f %% | %.1f %% | %s | %s |\n", percent(p->sequential, p->requests),
                  percent(p->uses - p->blocks, p->uses), is_total ? "-" : size_text(p->reuse_half_bytes, half),
                  is_total ? "-" : size_text(p->reuse_most_bytes, nine));
}

void gnn_io_workload_text(const struct gnn_io_workload *w, FILE *out)
{
    if (w->epoch != 0)
        (void)fprintf(out, "Requests of epoch %" PRIu64 ".\n\n", w->epoch);
    (void)fputs(
        "| file | action | requests | bytes | median size | largest | mean depth | largest depth | sequential | "
        "repeated | half of the repeated within | 90 % within |\n"
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        out);
    const uint32_t shown = gnn_min_u32(w->count, FILES_SHOWN);
    for (uint32_t i = 0; i < shown; i++)
        put_part(&w->parts[i], short_name(w, w->parts[i].file), false, out);
    for (int writes = 0; writes < 2; writes++)
        if (w->total[writes].requests > 0)
            put_part(&w->total[writes], "all", true, out);
    if (shown < w->count)
        (void)fprintf(out, "\n%" PRIu32 " more rows of files with fewer bytes; --json has them.\n", w->count - shown);
}

/* ---- JSON ---- */

static json_t *number_or_null(uint64_t value)
{
    return value == GNN_UNKNOWN ? json_null() : json_integer((json_int_t)value);
}

static json_t *part_object(const struct gnn_io_part *p, bool is_total)
{
    json_t *const depth = isnan(p->depth_mean) || p->requests == 0 ? json_null() : json_real(p->depth_mean);
    json_t *const object = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:I, s:I}", "action", p->writes ? "write" : "read", "requests",
        (json_int_t)p->requests, "bytes", (json_int_t)p->bytes, "least_bytes", (json_int_t)p->least_bytes, "most_bytes",
        (json_int_t)p->most_bytes, "sequential", (json_int_t)p->sequential, "aligned", (json_int_t)p->aligned,
        "depth_mean", depth, "depth_most", number_or_null(p->requests == 0 ? GNN_UNKNOWN : p->depth_most), "block_uses",
        (json_int_t)p->uses, "blocks", (json_int_t)p->blocks);
    if (object == NULL || is_total)
        return object;
    if (json_object_set_new(object, "file", json_string(p->file)) != 0 ||
        json_object_set_new(object, "end_bytes", json_integer((json_int_t)p->end_bytes)) != 0 ||
        json_object_set_new(object, "median_bytes", json_integer((json_int_t)p->median_bytes)) != 0 ||
        json_object_set_new(object, "reuse_half_bytes", number_or_null(p->reuse_half_bytes)) != 0 ||
        json_object_set_new(object, "reuse_90_bytes", number_or_null(p->reuse_most_bytes)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

enum gnn_status gnn_io_workload_json(const struct gnn_io_workload *w, FILE *out, struct gnn_err *err)
{
    json_t *const parts = json_array();
    bool complete = parts != NULL;
    for (uint32_t i = 0; i < w->count && complete; i++)
        complete = json_array_append_new(parts, part_object(&w->parts[i], false)) == 0;
    json_t *const root =
        complete ? json_pack("{s:o, s:O, s:o, s:o}", "epoch", number_or_null(w->epoch == 0 ? GNN_UNKNOWN : w->epoch),
                             "files", parts, "reads", part_object(&w->total[0], true), "writes",
                             part_object(&w->total[1], true))
                 : NULL;
    json_decref(parts);
    if (root == NULL)
        return gnn_fail(err, GNN_ENOMEM, "a trace as JSON");
    const int failed = json_dumpf(root, out, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(root);
    (void)fputc('\n', out);
    return failed == 0 ? GNN_OK : gnn_fail(err, GNN_EIO, "standard output cannot be written");
}

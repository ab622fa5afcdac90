/* SPDX-License-Identifier: MIT */
#include "harness/record/series.h"

#include "harness/base/plain_text.h"
#include "harness/base/units.h"
#include "harness/record/summary.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No option has this name, so no comparison leaves it free. */
#define INHERITED "inherited-memory"

enum { DIGEST_SHOWN = 8, VALUE_SHOWN = 40 };

/* What is asked of the columns, which know more than the options: a directory's scale, a run's own start. The caption
 * tells them. */
static const char *const told[] = {"dataset",    "scale",  "dim",     "model",       "world", "profile",
                                   "compute",    "memory", INHERITED, "cap",         "batch", "fanout",
                                   "device-bps", "cold",   "io",      "device-iops", "seed"};
/* Where a run is told; `preset` has set other options. */
static const char *const ignored[] = {"db",         "json",  "details", "quiet",  "trace-loss", "trace-io",
                                      "trace-rows", "bound", "data",    "preset", "system",     "sample-only"};
static const char *const environment[] = {"dataset.digest", "profile.digest", "costs.digest",
                                          "build.revision", "build.compiler", "build.flags"};

const char *const gnn_run_facts[] = {"build.revision", "dataset.digest", "host.name", "tag", NULL};

static bool is_one_of(const char *key, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(key, words[i]) == 0)
            return true;
    return false;
}
#define IS_ONE_OF(key, words) is_one_of((key), (words), sizeof(words) / sizeof *(words))

/* ---- a run's conditions ---- */

static const char *text_or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

static enum gnn_status set_count(struct gnn_kv_list *out, const char *key, uint64_t count, struct gnn_err *err)
{
    return count == GNN_UNKNOWN ? gnn_kv_set(out, key, NULL, err) : gnn_kv_setf(out, err, key, "%" PRIu64, count);
}

static enum gnn_status set_limit(struct gnn_kv_list *out, const char *key, uint64_t limit, struct gnn_err *err)
{
    return limit == GNN_UNKNOWN ? gnn_kv_set(out, key, "none", err) : set_count(out, key, limit, err);
}

static enum gnn_status set_columns(const struct gnn_run_record *run, struct gnn_kv_list *out, struct gnn_err *err)
{
    static const char *const starts[] = {"unknown", "no", "yes"};
    char bytes[32];
    const bool here = strcmp(run->world, "measured") == 0; /* virtual time is that of a profile, on any machine */
    GNN_TRY(gnn_kv_set(out, "host.name", here ? gnn_kv_get(&run->environment, "host.name") : NULL, err));
    GNN_TRY(gnn_kv_set(out, "dataset", text_or_null(run->dataset), err));
    if (run->scale_divisor != GNN_UNKNOWN)
        GNN_TRY(gnn_kv_setf(out, err, "scale", run->scale_divisor == 1 ? "1" : "1/%" PRIu64, run->scale_divisor));
    GNN_TRY(set_count(out, "dim", run->dim, err));
    GNN_TRY(gnn_kv_set(out, "model", text_or_null(run->model), err));
    GNN_TRY(gnn_kv_set(out, "world", text_or_null(run->world), err));
    GNN_TRY(gnn_kv_set(out, "profile", text_or_null(run->profile), err));
    GNN_TRY(gnn_kv_set(out, "compute", text_or_null(run->compute), err));
    GNN_TRY(gnn_kv_set(out, "memory",
                       run->cap_bytes == GNN_UNKNOWN ? "none" : gnn_format_bytes(run->cap_bytes, bytes, sizeof bytes),
                       err));
    const uint64_t inherited_bytes = gnn_run_inherited_bytes(run);
    GNN_TRY(gnn_kv_set(out, INHERITED,
                       inherited_bytes == GNN_UNKNOWN ? "none" : gnn_format_bytes(inherited_bytes, bytes, sizeof bytes),
                       err));
    GNN_TRY(gnn_kv_set(out, "cap", text_or_null(run->cap_enforcement), err));
    GNN_TRY(set_count(out, "batch", run->batch_size, err));
    GNN_TRY(gnn_kv_set(out, "fanout", text_or_null(run->fanout), err));
    GNN_TRY(gnn_kv_set(out, "io", text_or_null(run->io_engine), err));
    GNN_TRY(set_count(out, "seed", run->seed, err));
    GNN_TRY(set_limit(out, "device-bps", run->device_bps, err));
    GNN_TRY(set_limit(out, "device-iops", run->device_iops, err));
    assert(run->cold_observed >= -1);
    assert(run->cold_observed <= 1);
    GNN_TRY(gnn_kv_set(out, "cold", run->cold_observed < 0 ? NULL : starts[1 + run->cold_observed], err));
    return gnn_kv_set(out, "tag", run->tag, err);
}

/* Lists what a time of this run depends on. What it varies over ("": nothing) is unknown, and agrees with all. */
static enum gnn_status list_conditions(const struct gnn_run_record *run, const char *over, struct gnn_kv_list *out,
                                       struct gnn_err *err)
{
    GNN_TRY(set_columns(run, out, err));
    for (uint32_t i = 0; i < run->config.count; i++) {
        const struct gnn_kv *const option = &run->config.items[i];
        if (!IS_ONE_OF(option->key, told) && !IS_ONE_OF(option->key, ignored))
            GNN_TRY(gnn_kv_set(out, option->key, option->value, err));
    }
    for (size_t i = 0; i < sizeof environment / sizeof *environment; i++)
        GNN_TRY(gnn_kv_set(out, environment[i], gnn_kv_get(&run->environment, environment[i]), err));
    return over[0] == '\0' ? GNN_OK : gnn_kv_set(out, over, NULL, err);
}

enum gnn_status gnn_run_conditions(const struct gnn_run_record *run, struct gnn_kv_list *out, struct gnn_err *err)
{
    return list_conditions(run, "seed", out, err);
}

/* Fills the lists (count) of the runs; whatever was filled before an error is the caller's to clear. */
static enum gnn_status list_all(const struct gnn_run_record *runs, uint32_t count, const char *over,
                                struct gnn_kv_list *lists, struct gnn_err *err)
{
    for (uint32_t i = 0; i < count; i++)
        GNN_TRY(list_conditions(&runs[i], over, &lists[i], err));
    return GNN_OK;
}

static void free_lists(struct gnn_kv_list *lists, uint32_t count)
{
    for (uint32_t i = 0; lists != NULL && i < count; i++)
        gnn_kv_clear(&lists[i]);
    free(lists);
}

static bool is_digest(const char *key)
{
    return strstr(key, ".digest") != NULL;
}

static bool differ(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) != 0;
}

/* Returns what a list has for entry i of another one: at its place, as lists of one system do, or elsewhere. */
static const char *counterpart(const struct gnn_kv_list *list, const struct gnn_kv_list *other, uint32_t i)
{
    const char *const key = other->items[i].key;
    if (i < list->count && strcmp(list->items[i].key, key) == 0)
        return list->items[i].value;
    return gnn_kv_get(list, key);
}

static bool same_system(const struct gnn_run_record *a, const struct gnn_run_record *b)
{
    return strcmp(a->system, b->system) == 0 && strcmp(a->variant, b->variant) == 0;
}

/* Whether both agree in everything but `option` (NULL: in everything). */
static bool agree(const struct gnn_kv_list *a, const struct gnn_kv_list *b, const char *option)
{
    for (uint32_t i = 0; i < a->count; i++)
        if ((option == NULL || strcmp(a->items[i].key, option) != 0) && differ(a->items[i].value, counterpart(b, a, i)))
            return false;
    return true;
}

/* ---- labels ---- */

struct labelling {
    const struct gnn_run_record *runs;
    const struct gnn_kv_list *lists;
    const uint32_t *first; /* (series): the run that stands for each */
    uint32_t series;
    struct gnn_kv_list varied; /* the keys of which two series have different values */
};

/* Fills varied: what is alike everywhere is in no label, and most is, of some thousand runs. */
static enum gnn_status find_varied(struct labelling *l, struct gnn_err *err)
{
    struct gnn_kv_list seen = {.count = 0}; /* the first value of each key */
    enum gnn_status status = GNN_OK;
    for (uint32_t s = 0; s < l->series; s++) {
        const struct gnn_kv_list *const list = &l->lists[l->first[s]];
        for (uint32_t i = 0; i < list->count && status == GNN_OK; i++)
            status = gnn_kv_vary(&seen, &l->varied, list->items[i].key, list->items[i].value, err);
    }
    gnn_kv_clear(&seen);
    return status;
}

/* Conditions that differ because an option differs, which says more to a reader. */
static const struct {
    const char *effect, *option;
} causes[] = {{"dataset.digest", "dataset"},      {"dataset.digest", "scale"},
              {"dataset.digest", "dim"},          {"dataset.digest", "id-bytes"},
              {"dataset.digest", "feature-type"}, {"profile.digest", "profile"},
              {"costs.digest", "compute"},        {"cap", "memory"}};

/* Returns true if the series s and `other` differ in an option that explains why they differ in `key`. */
static bool is_explained(const struct labelling *l, uint32_t s, uint32_t other, const char *key)
{
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (strcmp(causes[i].effect, key) == 0 && differ(gnn_kv_get(&l->lists[l->first[s]], causes[i].option),
                                                         gnn_kv_get(&l->lists[l->first[other]], causes[i].option)))
            return true;
    return false;
}

/* Returns true if entry i of its list is part of the label of series s: two series of its system differ in it, or other
 * systems do and it is not the value of most series. */
static bool is_named(const struct labelling *l, uint32_t s, uint32_t i)
{
    const struct gnn_kv_list *const list = &l->lists[l->first[s]];
    const struct gnn_kv *const pair = &list->items[i];
    uint32_t unlike = 0;
    if (pair->value == NULL || gnn_kv_get(&l->varied, pair->key) == NULL)
        return false;
    for (uint32_t other = 0; other < l->series; other++) {
        if (!differ(pair->value, counterpart(&l->lists[l->first[other]], list, i)) ||
            is_explained(l, s, other, pair->key))
            continue;
        if (same_system(&l->runs[l->first[s]], &l->runs[l->first[other]]))
            return true;
        unlike++;
    }
    return !IS_ONE_OF(pair->key, told) && 2 * unlike >= l->series;
}

static void write_label(const struct labelling *l, uint32_t s, char label[GNN_SERIES_LABEL_BYTES])
{
    const struct gnn_run_record *const run = &l->runs[l->first[s]];
    const struct gnn_kv_list *const list = &l->lists[l->first[s]];
    size_t used = (size_t)snprintf(label, GNN_SERIES_LABEL_BYTES, "%s%s%s", run->system[0] == '\0' ? "?" : run->system,
                                   run->variant[0] == '\0' ? "" : " ", run->variant);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct gnn_kv *const kv = &list->items[i];
        const size_t own = strlen(run->system);
        /* The system's name stands before it already. */
        const bool short_key = strncmp(kv->key, run->system, own) == 0 && kv->key[own] == '.';
        char short_number[GNN_SHORT_NUMBER_BYTES];
        if (used < GNN_SERIES_LABEL_BYTES && is_named(l, s, i))
            used += (size_t)snprintf(
                label + used, GNN_SERIES_LABEL_BYTES - used, " %s=%.*s", kv->key + (short_key ? own + 1 : 0),
                is_digest(kv->key) ? DIGEST_SHOWN : VALUE_SHOWN, gnn_text_short_number(kv->value, short_number));
    }
    if (used >= GNN_SERIES_LABEL_BYTES) /* too much differs: the run's record has it all */
        (void)snprintf(label + GNN_SERIES_LABEL_BYTES - 40, 40, " ... (run %" PRId64 ")", run->run_id);
    gnn_text_make_plain(label);
}

static enum gnn_status label_all(struct gnn_run_series *out, const struct labelling *l, struct gnn_err *err)
{
    GNN_NEW(out->labels, out->count, err, "names of %u series", out->count);
    for (uint32_t s = 0; s < out->count; s++)
        write_label(l, s, out->labels[s]);
    return GNN_OK;
}

/* ---- grouping ---- */

static void group(const struct gnn_run_record *runs, uint32_t count, const struct gnn_kv_list *lists, uint32_t *first,
                  struct gnn_run_series *out)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t s = 0;
        while (s < out->count && !(same_system(&runs[first[s]], &runs[i]) && agree(&lists[first[s]], &lists[i], NULL)))
            s++;
        if (s == out->count)
            first[out->count++] = i;
        out->of[i] = s;
    }
}

/* Moves what the first run of each series is like to the series. */
static enum gnn_status keep_conditions(struct gnn_kv_list *lists, const uint32_t *first, struct gnn_run_series *out,
                                       struct gnn_err *err)
{
    GNN_NEW(out->conditions, out->count, err, "the options of %u series", out->count);
    for (uint32_t s = 0; s < out->count; s++) {
        out->conditions[s] = lists[first[s]];
        lists[first[s]] = (struct gnn_kv_list){.count = 0};
    }
    return GNN_OK;
}

enum gnn_status gnn_run_series_open(const struct gnn_run_record *runs, uint32_t count, const char *over,
                                    struct gnn_run_series *out, struct gnn_err *err)
{
    *out = (struct gnn_run_series){.count = 0};
    assert(count > 0);
    struct gnn_kv_list *const lists = calloc(count, sizeof *lists);
    uint32_t *const first = calloc(count, sizeof *first);
    out->of = calloc(count, sizeof *out->of);
    enum gnn_status status = GNN_OK;
    if (lists == NULL || first == NULL || out->of == NULL)
        status = gnn_fail(err, GNN_ENOMEM, "the configurations of %u runs", count);
    GNN_NEXT(status, list_all(runs, count, over, lists, err));
    if (status == GNN_OK) {
        group(runs, count, lists, first, out);
        struct labelling l = {.runs = runs, .lists = lists, .first = first, .series = out->count};
        status = find_varied(&l, err);
        GNN_NEXT(status, label_all(out, &l, err));
        out->varied = l.varied;
        GNN_NEXT(status, keep_conditions(lists, first, out, err));
    }
    free_lists(lists, count);
    free(first);
    if (status != GNN_OK)
        gnn_run_series_close(out);
    return status;
}

void gnn_run_series_close(struct gnn_run_series *series)
{
    free_lists(series->conditions, series->count);
    gnn_kv_clear(&series->varied);
    free(series->of);
    free(series->labels);
    *series = (struct gnn_run_series){.count = 0};
}

bool gnn_run_series_varies(const struct gnn_run_series *series, const char *key)
{
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (strcmp(causes[i].effect, key) == 0 && gnn_kv_get(&series->varied, causes[i].option) != NULL)
            return false;
    return gnn_kv_get(&series->varied, key) != NULL;
}

/* Whether run i agrees with the newest run of its system in all but the option. */
static bool is_alike(const struct gnn_run_record *runs, uint32_t count, const struct gnn_kv_list *lists, uint32_t i,
                     const char *option)
{
    uint32_t newest = i;
    for (uint32_t k = 0; k < count; k++)
        if (same_system(&runs[k], &runs[i]) && runs[k].run_id >= runs[newest].run_id)
            newest = k;
    return agree(&lists[newest], &lists[i], option);
}

static void keep_only(struct gnn_run_record *runs, uint32_t *count, const bool *keep)
{
    const uint32_t all = *count;
    *count = 0;
    for (uint32_t i = 0; i < all; i++)
        if (keep[i])
            runs[(*count)++] = runs[i];
        else
            gnn_run_record_free(&runs[i]);
    assert(*count > 0); /* the newest agrees with itself */
}

enum gnn_status gnn_run_series_only(struct gnn_run_record *runs, uint32_t *count, const char *option,
                                    struct gnn_err *err)
{
    const uint32_t all = *count;
    assert(all > 0);
    struct gnn_kv_list *const lists = calloc(all, sizeof *lists);
    bool *const keep = calloc(all, sizeof *keep);
    enum gnn_status status = GNN_OK;
    if (lists == NULL || keep == NULL)
        status = gnn_fail(err, GNN_ENOMEM, "the configurations of %u runs", all);
    GNN_NEXT(status, list_all(runs, all, "seed", lists, err));
    for (uint32_t i = 0; i < all && status == GNN_OK; i++)
        keep[i] = is_alike(runs, all, lists, i, option);
    if (status == GNN_OK)
        keep_only(runs, count, keep);
    free_lists(lists, all);
    free(keep);
    return status;
}

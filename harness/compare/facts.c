/* SPDX-License-Identifier: MIT */
#include "harness/compare/facts.h"

#include "harness/base/grow.h"
#include "harness/base/plain_text.h"
#include "harness/record/record.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 3 * GNN_NAME_MAX, RUNS_MAX = 4096, VALUE_SHOWN = 40 };

/* Where a run is told, and how often it is probed: nothing of what it does. */
static const char *const ignored[] = {"db",    "json", "details",  "quiet", "trace-loss",
                                      "bound", "data", "interval", "tag",   NULL};
/* What the seed alone decides, whatever the machine's threads and disk do. */
static const char *const seeded[] = {
    "batches", "batch_digest", "sampled_nodes", "sampled_edges", "needed_bytes", "rows_asked", NULL};

static bool is_one_of(const char *key, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(key, *words) == 0)
            return true;
    return false;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *const text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

/* ---- exact values ---- */

/* Adds a whole number or a text under "where name"; anything else is no exact value. */
static enum gnn_status add_value(struct gnn_kv_list *out, const char *where, const char *name, const json_t *value,
                                 struct gnn_err *err)
{
    char key[NAME_BYTES];
    (void)snprintf(key, sizeof key, "%s %s", where, name);
    if (json_is_integer(value))
        return gnn_kv_setf(out, err, key, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return json_is_string(value) ? gnn_kv_set(out, key, json_string_value(value), err) : GNN_OK;
}

/* Every value of an object; only: NULL, or the names that count. */
static enum gnn_status add_values(struct gnn_kv_list *out, const char *where, json_t *object, const char *const *only,
                                  struct gnn_err *err)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        if (only == NULL || is_one_of(name, only))
            GNN_TRY(add_value(out, where, name, value, err));
    }
    return GNN_OK;
}

static enum gnn_status add_epoch(struct gnn_kv_list *out, json_t *epoch, bool virtual_time, struct gnn_err *err)
{
    char where[GNN_NAME_MAX], stage_where[2 * GNN_NAME_MAX];
    (void)snprintf(where, sizeof where, "epoch %" JSON_INTEGER_FORMAT,
                   json_integer_value(json_object_get(epoch, "epoch")));
    GNN_TRY(add_values(out, where, json_object_get(epoch, "counters"), virtual_time ? NULL : seeded, err));
    if (!virtual_time)
        return GNN_OK;
    GNN_TRY(add_values(out, where, epoch, NULL, err));
    GNN_TRY(add_values(out, where, json_object_get(epoch, "figures"), NULL, err));
    const json_t *const stages = json_object_get(epoch, "stages");
    for (size_t i = 0; i < json_array_size(stages); i++) {
        json_t *const stage = json_array_get(stages, i);
        (void)snprintf(stage_where, sizeof stage_where, "%s %.60s", where, text_of(stage, "stage"));
        GNN_TRY(add_values(out, stage_where, stage, NULL, err));
    }
    return GNN_OK;
}

static enum gnn_status list_exact(const json_t *run, struct gnn_kv_list *out, struct gnn_err *err)
{
    const bool virtual_time = strcmp(text_of(run, "world"), "measured") != 0;
    const json_t *const epochs = json_object_get(run, "epochs");
    const char *const open_ns = text_of(json_object_get(run, "environment"), "system.open_ns");
    const char *const version = text_of(json_object_get(run, "environment"), GNN_ENVIRONMENT_DIGEST_VERSION);
    GNN_TRY(gnn_kv_set(out, "status", text_of(run, "status"), err));
    GNN_TRY(gnn_kv_set(out, GNN_FACT_DIGEST_VERSION, version[0] != '\0' ? version : GNN_DIGEST_VERSION_FIRST, err));
    if (virtual_time && open_ns[0] != '\0')
        GNN_TRY(gnn_kv_set(out, "open_ns", open_ns, err));
    if (virtual_time)
        GNN_TRY(add_values(out, "before the first epoch", json_object_get(run, "before_first_epoch"), NULL, err));
    for (size_t i = 0; i < json_array_size(epochs); i++)
        GNN_TRY(add_epoch(out, json_array_get(epochs, i), virtual_time, err));
    return GNN_OK;
}

static enum gnn_status list_config(const json_t *run, struct gnn_kv_list *out, struct gnn_err *err)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(run, "config"), key, value)
    {
        if (!is_one_of(key, ignored) && json_is_string(value))
            GNN_TRY(gnn_kv_set(out, key, json_string_value(value), err));
    }
    return out->count > 0 ? GNN_OK : gnn_fail(err, GNN_EFORMAT, "a run without config: no output of oocgnn run --json");
}

/* ---- cells ---- */

static bool agree(const struct gnn_kv_list *a, const struct gnn_kv_list *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const char *const other = gnn_kv_get(b, a->items[i].key);
        if (other != NULL && a->items[i].value != NULL && strcmp(other, a->items[i].value) != 0)
            return false;
    }
    return true;
}

static bool have_same_system(const struct gnn_cell *a, const struct gnn_cell *b)
{
    const char *const one = gnn_kv_get(&a->config, "system"), *const other = gnn_kv_get(&b->config, "system");
    return one != NULL && other != NULL && strcmp(one, other) == 0;
}

static bool matches(const struct gnn_cell *a, const struct gnn_cell *b, enum gnn_match match)
{
    const bool same_job = a->job[0] != '\0' && strcmp(a->job, b->job) == 0;
    if (match == GNN_MATCH_JOB)
        return same_job && have_same_system(a, b);
    return (match == GNN_MATCH_CONFIG || same_job) && agree(&a->config, &b->config);
}

uint32_t gnn_facts_find(const struct gnn_facts *facts, const struct gnn_cell *like, enum gnn_match match,
                        const bool *taken)
{
    uint32_t i = 0;
    while (i < facts->count && ((taken != NULL && taken[i]) || !matches(like, &facts->cells[i], match)))
        i++;
    return i;
}

static void clear_cell(struct gnn_cell *cell)
{
    gnn_kv_clear(&cell->config);
    gnn_kv_clear(&cell->exact);
    gnn_kv_clear(&cell->unsteady);
}

static enum gnn_status add_cell(struct gnn_facts *facts, const struct gnn_cell *cell, struct gnn_err *err)
{
    struct gnn_cell *const cells = gnn_grow(facts->cells, facts->count, &facts->room, sizeof *cells);
    if (cells == NULL)
        return gnn_fail(err, GNN_ENOMEM, "configuration %u", facts->count + 1);
    facts->cells = cells;
    assert(facts->count < facts->room);
    facts->cells[facts->count++] = *cell;
    return GNN_OK;
}

/* Notes in `cell` where a later run of it differs. */
static enum gnn_status compare_again(struct gnn_cell *cell, const struct gnn_kv_list *exact, struct gnn_err *err)
{
    cell->runs++;
    for (uint32_t i = 0; i < exact->count; i++) {
        const struct gnn_kv *const now = &exact->items[i];
        const char *const before = gnn_kv_get(&cell->exact, now->key);
        if (before != NULL && strcmp(before, now->value) != 0)
            GNN_TRY(gnn_kv_setf(&cell->unsteady, err, now->key, "%s | %s", before, now->value));
    }
    return GNN_OK;
}

enum gnn_status gnn_facts_add(struct gnn_facts *facts, const char *job, const json_t *run, struct gnn_err *err)
{
    struct gnn_cell cell = {.runs = 1};
    const enum gnn_match same_run = job[0] == '\0' ? GNN_MATCH_CONFIG : GNN_MATCH_BOTH;
    (void)snprintf(cell.job, sizeof cell.job, "%s", job);
    const char *const revision = text_of(json_object_get(run, "environment"), "build.revision");
    enum gnn_status status = list_config(run, &cell.config, err);
    GNN_NEXT(status, list_exact(run, &cell.exact, err));
    if (status == GNN_OK && facts->revision[0] == '\0')
        (void)snprintf(facts->revision, sizeof facts->revision, "%s", revision);
    const uint32_t same = status == GNN_OK ? gnn_facts_find(facts, &cell, same_run, NULL) : facts->count;
    if (status == GNN_OK && same < facts->count)
        status = compare_again(&facts->cells[same], &cell.exact, err);
    else if (status == GNN_OK && add_cell(facts, &cell, err) == GNN_OK)
        return GNN_OK; /* the set owns its lists now */
    else if (status == GNN_OK)
        status = GNN_ENOMEM;
    clear_cell(&cell);
    return status;
}

bool gnn_facts_is_hot(const struct gnn_facts *base, const struct gnn_kv *count)
{
    char key[NAME_BYTES];
    const char *const end = strstr(count->key, ": ");
    (void)snprintf(key, sizeof key, "%.*stotal", end == NULL ? 0 : (int)(end + 2 - count->key), count->key);
    const char *const total = gnn_kv_get(&base->instructions, key);
    return total != NULL && count->value != NULL && strtod(count->value, NULL) >= GNN_HOT_SHARE * strtod(total, NULL);
}

void gnn_facts_clear(struct gnn_facts *facts)
{
    for (uint32_t i = 0; i < facts->count; i++)
        clear_cell(&facts->cells[i]);
    free(facts->cells);
    gnn_kv_clear(&facts->instructions);
    *facts = (struct gnn_facts){.count = 0};
}

/* ---- names ---- */

/* Whether another cell of the same system has another value there. */
static bool differs(const struct gnn_facts *facts, const char *system, const struct gnn_kv *option)
{
    for (uint32_t i = 0; i < facts->count; i++) {
        const struct gnn_kv_list *const config = &facts->cells[i].config;
        const char *const owner = gnn_kv_get(config, "system"), *const value = gnn_kv_get(config, option->key);
        if (owner != NULL && value != NULL && option->value != NULL && strcmp(owner, system) == 0 &&
            strcmp(value, option->value) != 0)
            return true;
    }
    return false;
}

void gnn_facts_label(struct gnn_facts *facts)
{
    for (uint32_t i = 0; i < facts->count; i++) {
        struct gnn_cell *const cell = &facts->cells[i];
        const char *const system = gnn_kv_get(&cell->config, "system");
        const size_t own = system == NULL ? 0 : strlen(system);
        size_t used = (size_t)snprintf(cell->label, sizeof cell->label, "%.60s", system == NULL ? "?" : system);
        for (uint32_t o = 0; o < cell->config.count && system != NULL && used < sizeof cell->label; o++) {
            const struct gnn_kv *const option = &cell->config.items[o];
            const bool short_key = strncmp(option->key, system, own) == 0 && option->key[own] == '.';
            char short_number[GNN_SHORT_NUMBER_BYTES];
            if (differs(facts, system, option))
                used += (size_t)snprintf(cell->label + used, sizeof cell->label - used, " %s=%.*s",
                                         option->key + (short_key ? own + 1 : 0), VALUE_SHOWN,
                                         gnn_text_short_number(option->value, short_number));
        }
        if (used >= sizeof cell->label) /* the number distinguishes labels with the same beginning */
            (void)snprintf(cell->label + sizeof cell->label - 34, 34, " ... (configuration %u)", i + 1);
        gnn_text_make_plain(cell->label);
    }
}

/* ---- databases ---- */

/* The record as its JSON; NULL: *err says why. */
static json_t *json_of(const struct gnn_run_record *run, struct gnn_err *err)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    enum gnn_status status = out == NULL ? gnn_fail(err, GNN_ENOMEM, "the text of a run") : GNN_OK;
    GNN_NEXT(status, gnn_run_json(run, false, out, err));
    if (out != NULL && fclose(out) != 0 && status == GNN_OK)
        status = gnn_fail(err, GNN_ENOMEM, "the text of a run");
    json_t *const object = status == GNN_OK ? json_loads(text, 0, NULL) : NULL;
    free(text);
    if (object == NULL)
        (void)gnn_fail(err, GNN_ENOMEM, "the values of a run"); /* unless it is told already */
    return object;
}

static bool is_finished(enum gnn_run_status status)
{
    return status != GNN_RUN_RUNNING && status != GNN_RUN_INTERRUPTED;
}

static enum gnn_status add_recorded(struct gnn_facts *facts, struct gnn_db *db, int64_t id, struct gnn_err *err)
{
    struct gnn_run_record run;
    GNN_TRY(gnn_db_load(db, id, &run, err));
    const char *const revision = gnn_kv_get(&run.environment, "build.revision");
    const bool finished = is_finished(run.status);
    const bool other = facts->count > 0 && strcmp(revision == NULL ? "" : revision, facts->revision) != 0;
    enum gnn_status status = GNN_OK;
    if (finished && other)
        facts->other_builds++;
    else if (finished) {
        json_t *const object = json_of(&run, err);
        status = object == NULL ? GNN_ENOMEM : gnn_facts_add(facts, "", object, err);
        json_decref(object);
    }
    gnn_run_record_free(&run);
    return status;
}

enum gnn_status gnn_facts_add_database(struct gnn_facts *facts, const char *path, struct gnn_err *err)
{
    struct gnn_db *db = NULL;
    int64_t *ids;
    uint32_t count = 0;
    GNN_NEW(ids, RUNS_MAX, err, "the numbers of %d runs", RUNS_MAX);
    enum gnn_status status = gnn_db_open(path, GNN_DB_READ, &db, err);
    GNN_NEXT(status, gnn_db_last(db, RUNS_MAX, ids, &count, err));
    for (uint32_t i = count; i-- > 0 && status == GNN_OK;) /* the newest says which build it is */
        status = add_recorded(facts, db, ids[i], err);
    gnn_db_close(db);
    free(ids);
    if (status == GNN_OK && facts->count == 0)
        return gnn_fail(err, GNN_ENOENT, "%s holds no finished run to compare", path);
    return status;
}

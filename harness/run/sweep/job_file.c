/* SPDX-License-Identifier: MIT */
#include "harness/run/sweep/job_file.h"

#include "harness/base/grow.h"
#include "harness/base/ini.h"
#include "harness/base/words.h"
#include "harness/run/machine.h"
#include "harness/run/plugin.h"
#include "harness/run/preset.h"
#include "harness/run/sweep/grid.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { CELLS_MAX = 4096, KEYS_MAX = 64, FILES_MAX = 32, DEPTH_MAX = 8, PATH_BYTES = 1024 };

/* A key of a case with the values it runs through. */
struct key {
    const char *name;
    const char *file; /* NULL: an override */
    uint32_t line;
    struct gnn_grid_values values;
};

struct reading {
    struct gnn_job *job;
    const char *path;
    const struct gnn_job_options *options;
    struct gnn_ini *files[FILES_MAX]; /* the first is the job file itself */
    uint32_t file_count;
    struct key *keys; /* (KEYS_MAX) of the case that is expanded */
    uint32_t key_count;
};

/* Whether the key is none of the run's. */
static bool is_only_kept(const struct reading *r, const char *name)
{
    return gnn_list_has(r->options->other_keys, name) ||
           (r->options->variants != NULL && strcmp(name, GNN_JOB_VARIANT) == 0);
}

/* ---- files ---- */

/* Opens the systems among the values that are shared objects, so that other keys can name their parameters. */
static enum gnn_status open_systems(const struct gnn_grid_values *values, struct gnn_err *err)
{
    const struct gnn_system *system;
    for (uint32_t i = 0; i < values->count; i++)
        if (gnn_plugin_is_path(values->of[i]))
            GNN_TRY(gnn_system_find(values->of[i], &system, err));
    return GNN_OK;
}

/* Opens the systems of a section before any of its keys is read. */
static enum gnn_status open_section_systems(const char *path, const struct gnn_ini_section *section,
                                            struct gnn_grid_values *values, struct gnn_err *err)
{
    struct gnn_err cause = {0};
    const struct gnn_ini_entry *const entry = section == NULL ? NULL : gnn_ini_find(section, "system");
    if (entry == NULL || !gnn_plugin_is_path(entry->value))
        return GNN_OK;
    enum gnn_status status = gnn_grid_values(gnn_grid_option("system"), entry->value, values, &cause);
    GNN_NEXT(status, open_systems(values, &cause));
    return status == GNN_OK ? GNN_OK : gnn_fail(err, status, "%s:%u: %s", path, entry->line, cause.message);
}

static enum gnn_status open_file_systems(const struct gnn_ini *ini, struct gnn_err *err)
{
    struct gnn_grid_values *values;
    GNN_NEW(values, 1, err, "systems of %s", gnn_ini_name(ini));
    enum gnn_status status = open_section_systems(gnn_ini_name(ini), gnn_ini_global(ini), values, err);
    for (uint32_t i = 0; i < gnn_ini_section_count(ini); i++)
        GNN_NEXT(status, open_section_systems(gnn_ini_name(ini), gnn_ini_section(ini, i), values, err));
    free(values);
    return status;
}

static enum gnn_status open_file(struct reading *r, const char *path, struct gnn_ini **out, struct gnn_err *err)
{
    for (uint32_t i = 0; i < r->file_count; i++)
        if (strcmp(gnn_ini_name(r->files[i]), path) == 0) {
            *out = r->files[i];
            return GNN_OK;
        }
    if (r->file_count == FILES_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%s: more than %d files", path, FILES_MAX);
    GNN_TRY(gnn_ini_open(path, out, err));
    r->files[r->file_count++] = *out;
    return r->options->foreign_keys ? GNN_OK : open_file_systems(*out, err);
}

/* Opens the file of an include, which stands beside the one that names it. */
static enum gnn_status open_included(struct reading *r, const struct gnn_ini *from, uint32_t line, const char *name,
                                     struct gnn_ini **out, struct gnn_err *err)
{
    char path[PATH_BYTES];
    struct gnn_err cause = {0};
    const char *const slash = strrchr(gnn_ini_name(from), '/');
    const int folder = slash == NULL || name[0] == '/' ? 0 : (int)(slash - gnn_ini_name(from)) + 1;
    if (snprintf(path, sizeof path, "%.*s%s", folder, gnn_ini_name(from), name) >= (int)sizeof path)
        return gnn_fail(err, GNN_EUSAGE, "%s:%u: include: the path is too long", gnn_ini_name(from), line);
    const enum gnn_status status = open_file(r, path, out, &cause);
    return status == GNN_OK
               ? GNN_OK
               : gnn_fail(err, status, "%s:%u: include: %s%s", gnn_ini_name(from), line, cause.message,
                          status == GNN_ENOENT && name[0] != '/' ? "; the path is relative to this file" : "");
}

/* What is done with each file that an entry includes. */
typedef enum gnn_status included_fn(struct reading *r, const struct gnn_ini *ini, uint32_t depth, struct gnn_err *err);

static enum gnn_status each_included(struct reading *r, const struct gnn_ini *from, const struct gnn_ini_entry *entry,
                                     uint32_t depth, included_fn *fn, struct gnn_err *err)
{
    char name[GNN_TEXT_MAX]; /* lines are shorter */
    if (depth == DEPTH_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%s:%u: include: deeper than %d files: does a file include itself?",
                        gnn_ini_name(from), entry->line, DEPTH_MAX);
    for (const char *rest = entry->value; gnn_next_word(&rest, name, sizeof name);) {
        struct gnn_ini *included;
        GNN_TRY(open_included(r, from, entry->line, name, &included, err));
        GNN_TRY(fn(r, included, depth + 1, err));
    }
    return GNN_OK;
}

static bool is_include(const struct gnn_ini_entry *entry)
{
    return strcmp(entry->key, "include") == 0;
}

/* ---- the keys of a case ---- */

/* Returns the number of the case's key, or key_count if it has none of this name. */
static uint32_t find_key(const struct reading *r, const char *name)
{
    uint32_t at = 0;
    while (at < r->key_count && strcmp(r->keys[at].name, name) != 0)
        at++;
    return at;
}

static enum gnn_status put_key(struct reading *r, const char *name, const char *value, const char *file, uint32_t line,
                               struct gnn_err *err)
{
    struct gnn_err cause = {0};
    const uint32_t at = find_key(r, name);
    if (at == KEYS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%s: a case has more than %d keys", r->path, KEYS_MAX);
    struct key *const key = &r->keys[at];
    *key = (struct key){.name = name, .file = file, .line = line};
    enum gnn_status status = GNN_OK;
    if (is_only_kept(r, name)) {
        key->values.count = 1; /* a line of a file, or the name of a section of one, fits */
        (void)snprintf(key->values.of[0], GNN_TEXT_MAX, "%s", value);
    } else {
        status = gnn_grid_values(r->options->foreign_keys ? NULL : gnn_grid_option(name), value, &key->values, &cause);
    }
    if (status == GNN_OK && file == NULL && !r->options->foreign_keys && strcmp(name, "system") == 0)
        status = open_systems(&key->values, &cause);
    if (status != GNN_OK && file != NULL)
        return gnn_fail(err, status, "%s:%u: %s: %s", file, line, name, cause.message);
    if (status != GNN_OK)
        return gnn_fail(err, status, "%s: %s", name, cause.message);
    r->key_count += at == r->key_count ? 1 : 0;
    return GNN_OK;
}

static enum gnn_status collect(struct reading *r, const struct gnn_ini *ini, const struct gnn_ini_section *section,
                               uint32_t depth, struct gnn_err *err);

static enum gnn_status collect_global(struct reading *r, const struct gnn_ini *ini, uint32_t depth, struct gnn_err *err)
{
    return collect(r, ini, gnn_ini_global(ini), depth, err);
}

/* Takes a section's entries over what is there, included files where they are named. */
static enum gnn_status collect(struct reading *r, const struct gnn_ini *ini, const struct gnn_ini_section *section,
                               uint32_t depth, struct gnn_err *err)
{
    for (uint32_t i = 0; section != NULL && i < section->entry_count; i++) {
        const struct gnn_ini_entry *const entry = &section->entries[i];
        if (is_include(entry))
            GNN_TRY(each_included(r, ini, entry, depth, collect_global, err));
        else
            GNN_TRY(put_key(r, entry->key, entry->value, gnn_ini_name(ini), entry->line, err));
    }
    return GNN_OK;
}

static void take_out(struct reading *r, const char *name)
{
    const uint32_t at = find_key(r, name);
    if (at < r->key_count)
        memmove(&r->keys[at], &r->keys[at + 1], (--r->key_count - at) * sizeof *r->keys);
}

static enum gnn_status override(struct reading *r, struct gnn_err *err)
{
    const struct gnn_kv_list *const overrides = r->options->overrides;
    const char *const keeps = r->options->keeps_scale;
    const bool keeps_scale = keeps != NULL && find_key(r, keeps) < r->key_count && find_key(r, "scale") < r->key_count;
    for (uint32_t i = 0; overrides != NULL && i < overrides->count; i++) {
        if (keeps_scale && strcmp(overrides->items[i].key, "scale") == 0)
            continue;
        if (overrides->items[i].value == NULL)
            take_out(r, overrides->items[i].key);
        else
            GNN_TRY(put_key(r, overrides->items[i].key, overrides->items[i].value, NULL, 0, err));
    }
    return GNN_OK;
}

/* Puts a variant's keys in place of the case's. */
static enum gnn_status overlay(struct reading *r, const struct gnn_ini_section *variant, struct gnn_err *err)
{
    GNN_TRY(collect(r, r->options->variants, variant, 0, err));
    return put_key(r, GNN_JOB_VARIANT, variant->name, NULL, 0, err);
}

/* ---- cells ---- */

/* One pair of a run: an option, a preset, or "system.key". */
static enum gnn_status set_pair(struct gnn_run_config *config, const char *name, const char *value, struct gnn_err *err)
{
    if (strcmp(name, "preset") == 0)
        return gnn_preset_apply(value, config, err);
    if (strchr(name, '.') == NULL)
        return gnn_option_set(gnn_run_options, config, name, value, err);
    char text[GNN_TEXT_MAX + GNN_NAME_MAX];
    (void)snprintf(text, sizeof text, "%s=%s", name, value);
    return gnn_run_config_set(config, text, err);
}

/* Reads the search of a key, unless an override sets what it searches. */
static enum gnn_status set_search(const struct reading *r, const char *name, const char *value,
                                  struct gnn_job_cell *cell, struct gnn_err *err)
{
    GNN_TRY(gnn_search_read(name, value, &cell->search, err));
    if (cell->search.values[0] == '\0')
        cell->config.memory_bytes = cell->search.most_bytes;
    const uint32_t at = find_key(r, cell->search.option);
    if (at == r->key_count || strcmp(name, cell->search.option) == 0)
        return GNN_OK;
    if (r->keys[at].file != NULL)
        return gnn_fail(err, GNN_EUSAGE, "the case also sets %s, which is searched; remove one of the two",
                        cell->search.option);
    cell->search = (struct gnn_search){.option = ""};
    return GNN_OK;
}

/* In a case with both worlds, a profile, its changes and costs are those of the simulated runs. */
static void leave_out_profile(const struct reading *r, struct gnn_run_config *config)
{
    const uint32_t at = find_key(r, "world");
    if (at == r->key_count || r->keys[at].values.count == 1 || config->world != GNN_WORLD_MEASURED)
        return;
    config->profile[0] = config->profile_set[0] = '\0';
    memcpy(config->costs, "ideal", sizeof "ideal");
}

/* Scale before preset before the rest: the order that the command line gives them too. */
static enum gnn_status fill_config(const struct reading *r, const uint32_t *choice, struct gnn_job_cell *cell,
                                   struct gnn_err *err)
{
    gnn_run_config_defaults(&cell->config);
    if (r->options->foreign_keys)
        return GNN_OK;
    for (int pass = 0; pass < 3; pass++)
        for (uint32_t i = 0; i < r->key_count; i++) {
            const struct key *const key = &r->keys[i];
            const int turn = strcmp(key->name, "scale") == 0 ? 0 : strcmp(key->name, "preset") == 0 ? 1 : 2;
            struct gnn_err cause = {0};
            if (turn != pass || is_only_kept(r, key->name))
                continue;
            const char *const value = key->values.of[choice[i]];
            const enum gnn_status status = gnn_search_is_one(key->name, value)
                                               ? set_search(r, key->name, value, cell, &cause)
                                               : set_pair(&cell->config, key->name, value, &cause);
            if (status != GNN_OK && key->file == NULL)
                return gnn_fail(err, status, "%s", cause.message);
            if (status != GNN_OK)
                return gnn_fail(err, status, "%s:%u: %s", key->file, key->line, cause.message);
        }
    leave_out_profile(r, &cell->config);
    return GNN_OK;
}

static enum gnn_status add_cell(struct reading *r, const char *section, const uint32_t *choice, struct gnn_err *err)
{
    struct gnn_job *const job = r->job;
    if (job->count == CELLS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%s: more than %d run configurations", r->path, CELLS_MAX);
    struct gnn_job_cell *const cells = gnn_grow(job->cells, job->count, &job->room, sizeof *cells);
    if (cells == NULL)
        return gnn_fail(err, GNN_ENOMEM, "configuration %u", job->count + 1);
    job->cells = cells;
    assert(job->count < job->room);
    struct gnn_job_cell *const cell = &job->cells[job->count++];
    memset(cell, 0, sizeof *cell);
    (void)snprintf(cell->section, sizeof cell->section, "%s", section);
    GNN_TRY(fill_config(r, choice, cell, err));
    for (uint32_t i = 0; i < r->key_count; i++) {
        GNN_TRY(gnn_kv_set(&cell->choices, r->keys[i].name, r->keys[i].values.of[choice[i]], err));
        if (strcmp(r->keys[i].name, "dataset") == 0 && r->keys[i].file != NULL)
            (void)snprintf(cell->dataset_at, sizeof cell->dataset_at, "%s:%u", r->keys[i].file, r->keys[i].line);
    }
    struct gnn_err cause = {0};
    const enum gnn_status status = r->options->foreign_keys ? GNN_OK : gnn_machine_resolve(&cell->config, &cause);
    if (status == GNN_OK)
        return GNN_OK;
    if (!r->options->keep_refused)
        return gnn_fail(err, status, "%s: [%s]: %s", r->path, section, cause.message);
    (void)snprintf(cell->refusal, sizeof cell->refusal, "%s", cause.message);
    return GNN_OK;
}

/* Every combination of the values of a case, of a variant of it unless NULL; the last key turns fastest. */
static enum gnn_status expand_case(struct reading *r, const struct gnn_ini *ini, const struct gnn_ini_section *section,
                                   const struct gnn_ini_section *variant, struct gnn_err *err)
{
    uint32_t choice[KEYS_MAX] = {0};
    r->key_count = 0;
    GNN_TRY(collect(r, r->files[0], gnn_ini_global(r->files[0]), 0, err));
    GNN_TRY(collect(r, ini, section, 0, err));
    GNN_TRY(override(r, err));
    if (r->options->pass_without_system && find_key(r, "system") == r->key_count)
        return GNN_OK;
    if (variant != NULL)
        GNN_TRY(overlay(r, variant, err));
    for (bool more = true; more;) {
        GNN_TRY(add_cell(r, section->name, choice, err));
        more = false;
        for (uint32_t i = r->key_count; i-- > 0 && !more;) {
            assert(r->keys[i].values.count > 0);
            choice[i] = (choice[i] + 1) % r->keys[i].values.count;
            more = choice[i] != 0;
        }
    }
    return GNN_OK;
}

static enum gnn_status expand_section(struct reading *r, const struct gnn_ini *ini,
                                      const struct gnn_ini_section *section, struct gnn_err *err)
{
    const struct gnn_ini *const variants = r->options->variants;
    if (variants == NULL)
        return expand_case(r, ini, section, NULL, err);
    for (uint32_t v = 0; v < gnn_ini_section_count(variants); v++)
        GNN_TRY(expand_case(r, ini, section, gnn_ini_section(variants, v), err));
    return GNN_OK;
}

/* The cases of files that [global] includes, then the file's own. */
static enum gnn_status expand_file(struct reading *r, const struct gnn_ini *ini, uint32_t depth, struct gnn_err *err)
{
    const struct gnn_ini_section *const global = gnn_ini_global(ini);
    for (uint32_t i = 0; global != NULL && i < global->entry_count; i++)
        if (is_include(&global->entries[i]))
            GNN_TRY(each_included(r, ini, &global->entries[i], depth, expand_file, err));
    for (uint32_t i = 0; i < gnn_ini_section_count(ini); i++)
        if (!gnn_list_has(r->options->other_sections, gnn_ini_section(ini, i)->name))
            GNN_TRY(expand_section(r, ini, gnn_ini_section(ini, i), err));
    return GNN_OK;
}

static enum gnn_status read_job(struct reading *r, struct gnn_err *err)
{
    struct gnn_ini *ini;
    GNN_TRY(open_file(r, r->path, &ini, err));
    GNN_NEW(r->keys, KEYS_MAX, err, "keys of %s", r->path);
    GNN_TRY(expand_file(r, ini, 0, err));
    if (r->job->count == 0 && !r->options->pass_without_system)
        return gnn_fail(err, GNN_EUSAGE, "%s: no section except [global], so there is nothing to run", r->path);
    return GNN_OK;
}

enum gnn_status gnn_job_open(const char *path, const struct gnn_job_options *options, struct gnn_job **out,
                             struct gnn_err *err)
{
    static const struct gnn_job_options none = {.overrides = NULL};
    struct reading r = {.path = path, .options = options != NULL ? options : &none};
    GNN_NEW(r.job, 1, err, "job file %s", path);
    const enum gnn_status status = read_job(&r, err);
    for (uint32_t i = 0; i < r.file_count; i++)
        gnn_ini_close(r.files[i]);
    free(r.keys);
    return GNN_OPENED(status, r.job, out, gnn_job_close);
}

void gnn_job_close(struct gnn_job *job)
{
    if (job == NULL)
        return;
    for (uint32_t i = 0; i < job->count; i++)
        gnn_kv_clear(&job->cells[i].choices);
    free(job->cells);
    free(job);
}

void gnn_job_keep(struct gnn_job *job, const char *key, const struct gnn_grid_values *values)
{
    const bool is_parameter = strchr(key, '.') != NULL;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < job->count; i++) {
        const char *const text = gnn_kv_get(&job->cells[i].choices, key);
        if (text == NULL ? is_parameter : gnn_grid_has(values, text))
            job->cells[kept++] = job->cells[i];
        else
            gnn_kv_clear(&job->cells[i].choices);
    }
    job->count = kept;
}

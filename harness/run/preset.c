/* SPDX-License-Identifier: MIT */
#include "harness/run/preset.h"

#include "harness/base/data_dirs.h"
#include "harness/base/ini.h"
#include "harness/base/near_miss.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = GNN_DATA_DIR_BYTES + GNN_TEXT_MAX };

/* The options of a run that a preset may set; the rest belongs to a run, not to a paper. */
static const char *const keys[] = {"memory", "batch",           "lr",       "model",   "hidden",       "heads",
                                   "fanout", "gat-width-total", "gcn-norm", "dropout", "weight-decay", "id-bytes",
                                   "title",  "source",          NULL};

/* ---- one file ---- */

/* Opens the file; *section: [preset], the first. The others are named after systems. */
static enum gnn_status open_preset(const char *path, struct gnn_ini **ini, const struct gnn_ini_section **section,
                                   struct gnn_err *err)
{
    GNN_TRY(gnn_ini_open(path, ini, err));
    *section = gnn_ini_section_count(*ini) == 0 ? NULL : gnn_ini_section(*ini, 0);
    if (*section != NULL && strcmp((*section)->name, "preset") == 0 && gnn_ini_global(*ini) == NULL)
        return GNN_OK;
    gnn_ini_close(*ini);
    return gnn_fail(err, GNN_EUSAGE, "%s: a preset begins with the section [preset]", path);
}

static bool is_about_the_file(const char *key)
{
    return strcmp(key, "title") == 0 || strcmp(key, "source") == 0;
}

static enum gnn_status set_entry(const char *path, const struct gnn_ini_entry *entry, struct gnn_run_config *config,
                                 struct gnn_err *err)
{
    struct gnn_err cause = {0};
    struct gnn_near_miss near;
    const char *const *key = keys;
    gnn_near_miss_start(&near, entry->key);
    for (; *key != NULL && strcmp(*key, entry->key) != 0; key++)
        gnn_near_miss_offer(&near, *key);
    if (*key == NULL)
        return gnn_fail(err, GNN_EUSAGE, "%s:%u: a preset has no key \"%s\"%s", path, entry->line, entry->key,
                        gnn_near_miss_text(&near));
    if (is_about_the_file(*key))
        return GNN_OK;
    const enum gnn_status status = gnn_option_set(gnn_run_options, config, entry->key, entry->value, &cause);
    return status == GNN_OK ? GNN_OK : gnn_fail(err, status, "%s:%u: %s", path, entry->line, cause.message);
}

/* Checks a parameter alone, before it stands among those that are typed, and appends it to theirs. */
static enum gnn_status set_parameter(const struct gnn_system *system, const struct gnn_ini_entry *entry,
                                     struct gnn_run_config *config, struct gnn_err *err)
{
    struct gnn_run_config alone = {.set_count = 0};
    char text[GNN_TEXT_MAX * 2];
    void *settings;
    (void)snprintf(text, sizeof text, "%s.%s=%s", system->name, entry->key, entry->value);
    GNN_TRY(gnn_run_config_set(&alone, text, err));
    GNN_TRY(gnn_system_configure(system, &alone, &settings, err));
    free(settings);
    return gnn_run_config_set(config, text, err);
}

/* Sets the parameters of the systems that the file has sections for. */
static enum gnn_status set_systems(const char *path, const struct gnn_ini *ini, struct gnn_run_config *config,
                                   struct gnn_err *err)
{
    for (uint32_t s = 1; s < gnn_ini_section_count(ini); s++) {
        const struct gnn_ini_section *const section = gnn_ini_section(ini, s);
        const struct gnn_system *system;
        struct gnn_err cause = {0};
        if (gnn_system_find(section->name, &system, &cause) != GNN_OK)
            return gnn_fail(err, GNN_EUSAGE, "%s:%u: [%s]: %s", path, section->line, section->name, cause.message);
        for (uint32_t i = 0; i < section->entry_count; i++) {
            const enum gnn_status status = set_parameter(system, &section->entries[i], config, &cause);
            if (status != GNN_OK)
                return gnn_fail(err, status, "%s:%u: %s", path, section->entries[i].line, cause.message);
        }
    }
    return GNN_OK;
}

/* Divides what the file gave for scale 1. */
static void scale_down(const struct gnn_ini_section *section, struct gnn_run_config *config)
{
    const uint32_t k = config->scale_divisor;
    assert(k > 0);
    if (gnn_ini_find(section, "batch") != NULL) {
        const uint32_t whole = config->batch_size;
        config->batch_size = gnn_max_u32((uint32_t)(((uint64_t)whole + k / 2) / k), 1);
        if (gnn_ini_find(section, "lr") != NULL)
            config->lr *= sqrt((double)config->batch_size / whole);
    }
    if (gnn_ini_find(section, "memory") != NULL && config->memory_bytes != 0) /* never 0: that would be no cap at all */
        config->memory_bytes = gnn_max_u64(gnn_round_down(config->memory_bytes / k, GNN_PAGE_BYTES), GNN_PAGE_BYTES);
}

static enum gnn_status apply_file(const char *path, struct gnn_run_config *config, struct gnn_err *err)
{
    struct gnn_ini *ini;
    const struct gnn_ini_section *section;
    enum gnn_status status = GNN_OK;
    assert(config->preset[0] != '\0');
    GNN_TRY(open_preset(path, &ini, &section, err));
    for (uint32_t i = 0; i < section->entry_count && status == GNN_OK; i++)
        status = set_entry(path, &section->entries[i], config, err);
    GNN_NEXT(status, set_systems(path, ini, config, err));
    if (status == GNN_OK)
        scale_down(section, config);
    gnn_ini_close(ini);
    return status;
}

/* ---- finding it ---- */

static void offer_name(void *ctx, const char *path, const char *name)
{
    (void)path;
    gnn_near_miss_offer(ctx, name);
}

static enum gnn_status not_found(const char *name, const char *const *dirs, struct gnn_err *err)
{
    struct gnn_near_miss near;
    gnn_near_miss_start(&near, name);
    GNN_TRY(gnn_data_files(dirs, offer_name, &near, err));
    if (near.known[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE,
                        "--preset %s: no presets found; they are in workloads/presets of the source tree", name);
    return gnn_fail(err, GNN_EUSAGE, "no preset \"%s\"%s%s %s", name, gnn_near_miss_text(&near),
                    near.count == 0 ? "; there are" : " There are", near.known);
}

/* Writes the path of the preset's file, the user's own first. */
static enum gnn_status find_file(const char *name, char *path, size_t path_bytes, struct gnn_err *err)
{
    struct gnn_data_dirs found;
    gnn_preset_dirs(&found);
    if (strchr(name, '/') == NULL && gnn_data_file_find(found.dirs, name, ".ini", path, path_bytes) != NULL)
        return GNN_OK;
    return not_found(name, found.dirs, err);
}

enum gnn_status gnn_preset_apply(const char *name, struct gnn_run_config *config, struct gnn_err *err)
{
    char path[PATH_BYTES];
    GNN_TRY(gnn_option_set(gnn_run_options, config, "preset", name, err));
    GNN_TRY(find_file(name, path, sizeof path, err));
    return apply_file(path, config, err);
}

/* ---- what is left of it ---- */

struct held {
    const struct gnn_run_config *config;
    struct gnn_run_config plain; /* the preset and nothing typed */
    char *text;
    size_t text_bytes, used;
};

static void add_held(struct held *h, const char *owner, const char *name)
{
    if (h->used < h->text_bytes)
        h->used += (size_t)snprintf(h->text + h->used, h->text_bytes - h->used, "%s%s%s%s", h->used == 0 ? "" : ",",
                                    owner, owner[0] == '\0' ? "" : ".", name);
}

static void add_held_options(struct held *h, const struct gnn_ini_section *section)
{
    char mine[GNN_TEXT_MAX], presets[GNN_TEXT_MAX];
    for (uint32_t i = 0; i < section->entry_count; i++)
        for (const struct gnn_option *o = gnn_run_options; o->name != NULL; o++) {
            if (strcmp(o->name, section->entries[i].key) != 0)
                continue;
            gnn_option_format(o, h->config, mine, sizeof mine);
            gnn_option_format(o, &h->plain, presets, sizeof presets);
            if (strcmp(mine, presets) == 0)
                add_held(h, "", o->name);
        }
}

/* The last setting of a parameter holds. */
static void add_held_parameters(struct held *h, const struct gnn_ini_section *section)
{
    char wanted[GNN_TEXT_MAX * 2];
    for (uint32_t i = 0; i < section->entry_count; i++) {
        const struct gnn_ini_entry *const entry = &section->entries[i];
        const int name_bytes = snprintf(wanted, sizeof wanted, "%s.%s=", section->name, entry->key);
        (void)snprintf(wanted + name_bytes, sizeof wanted - (size_t)name_bytes, "%s", entry->value);
        for (uint32_t k = h->config->set_count; k-- > 0;) {
            const char *const set = h->config->sets[k];
            if (strncmp(set, wanted, (size_t)name_bytes) != 0)
                continue;
            if (strcmp(set, wanted) == 0)
                add_held(h, section->name, entry->key);
            break;
        }
    }
}

enum gnn_status gnn_preset_held(const struct gnn_run_config *config, char *text, size_t text_bytes, struct gnn_err *err)
{
    char path[PATH_BYTES];
    struct gnn_ini *ini;
    const struct gnn_ini_section *section;
    struct held h = {.config = config, .text = text, .text_bytes = text_bytes};
    assert(text_bytes > 0);
    text[0] = '\0';
    gnn_run_config_defaults(&h.plain);
    h.plain.scale_divisor = config->scale_divisor;
    GNN_TRY(gnn_preset_apply(config->preset, &h.plain, err));
    GNN_TRY(find_file(config->preset, path, sizeof path, err));
    GNN_TRY(open_preset(path, &ini, &section, err));
    add_held_options(&h, section);
    for (uint32_t s = 1; s < gnn_ini_section_count(ini); s++)
        if (strcmp(gnn_ini_section(ini, s)->name, gnn_run_system_name(config)) == 0)
            add_held_parameters(&h, gnn_ini_section(ini, s));
    gnn_ini_close(ini);
    return GNN_OK;
}

/* ---- all of them ---- */

struct listing {
    gnn_preset_fn *fn;
    void *ctx;
    struct gnn_err err;
};

static void add_text(char *text, size_t text_bytes, const char *owner, const struct gnn_ini_entry *entry)
{
    const size_t used = strlen(text);
    (void)snprintf(text + used, text_bytes - used, "%s%s%s%s %s", used == 0 ? "" : ", ", owner,
                   owner[0] == '\0' ? "" : ".", entry->key, entry->value);
}

static void list_file(void *ctx, const char *path, const char *name)
{
    struct listing *const l = ctx;
    struct gnn_ini *ini;
    const struct gnn_ini_section *section;
    struct gnn_preset preset = {.name = name, .path = path, .title = "", .source = ""};
    if (open_preset(path, &ini, &section, &l->err) != GNN_OK)
        return;
    for (uint32_t i = 0; i < section->entry_count; i++) {
        const struct gnn_ini_entry *const entry = &section->entries[i];
        if (strcmp(entry->key, "title") == 0)
            preset.title = entry->value;
        else if (strcmp(entry->key, "source") == 0)
            preset.source = entry->value;
        else
            add_text(preset.options, sizeof preset.options, "", entry);
    }
    for (uint32_t s = 1; s < gnn_ini_section_count(ini); s++)
        for (uint32_t i = 0; i < gnn_ini_section(ini, s)->entry_count; i++)
            add_text(preset.parameters, sizeof preset.parameters, gnn_ini_section(ini, s)->name,
                     &gnn_ini_section(ini, s)->entries[i]);
    l->fn(l->ctx, &preset);
    gnn_ini_close(ini);
}

enum gnn_status gnn_preset_each(gnn_preset_fn *fn, void *ctx, struct gnn_err *err)
{
    struct gnn_data_dirs found;
    struct listing listing = {.fn = fn, .ctx = ctx};
    gnn_preset_dirs(&found);
    GNN_TRY(gnn_data_files(found.dirs, list_file, &listing, err));
    return listing.err.status == GNN_OK ? GNN_OK : gnn_fail(err, listing.err.status, "%s", listing.err.message);
}

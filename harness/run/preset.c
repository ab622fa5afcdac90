#include "harness/run/preset.h"

#include "harness/base/data_dirs.h"
#include "harness/base/ini.h"
#include "harness/base/near_miss.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The options of a run that a preset may set; the rest belongs to a run, not to a paper. */
static const char *const keys[] = {
    "memory",          "batch",    "lr",      "model",        "hidden", "heads",  "fanout",
    "gat-width-total", "gcn-norm", "dropout", "weight-decay", "title",  "source", NULL};

/* ---- one file ---- */

/* Opens the file and finds its only section. */
static enum gnn_status open_preset(const char *path, struct gnn_ini **ini, const struct gnn_ini_section **section,
                                   struct gnn_err *err)
{
    GNN_TRY(gnn_ini_open(path, ini, err));
    *section = gnn_ini_section_count(*ini) == 0 ? NULL : gnn_ini_section(*ini, 0);
    if (*section != NULL && strcmp((*section)->name, "preset") == 0 && gnn_ini_section_count(*ini) == 1 &&
        gnn_ini_global(*ini) == NULL)
        return GNN_OK;
    gnn_ini_close(*ini);
    return gnn_fail(err, GNN_EUSAGE, "%s: a preset has one section, [preset]", path);
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
    if (strcmp(*key, "title") == 0 || strcmp(*key, "source") == 0)
        return GNN_OK;
    const enum gnn_status status = gnn_option_set(gnn_run_options, config, entry->key, entry->value, &cause);
    return status == GNN_OK ? GNN_OK : gnn_fail(err, status, "%s:%u: %s", path, entry->line, cause.message);
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

enum gnn_status gnn_preset_apply(const char *name, struct gnn_run_config *config, struct gnn_err *err)
{
    struct gnn_data_dirs found;
    gnn_preset_dirs(&found);
    GNN_TRY(gnn_option_set(gnn_run_options, config, "preset", name, err));
    for (const char *const *dir = found.dirs; *dir != NULL && strchr(name, '/') == NULL; dir++) {
        char path[GNN_DATA_DIR_BYTES + GNN_TEXT_MAX];
        (void)snprintf(path, sizeof path, "%s/%s.ini", *dir, name);
        if (access(path, F_OK) == 0)
            return apply_file(path, config, err);
    }
    return not_found(name, found.dirs, err);
}

/* ---- all of them ---- */

struct listing {
    gnn_preset_fn *fn;
    void *ctx;
    struct gnn_err err;
};

static void list_file(void *ctx, const char *path, const char *name)
{
    struct listing *const l = ctx;
    struct gnn_ini *ini;
    const struct gnn_ini_section *section;
    struct gnn_preset preset = {.name = name, .path = path, .title = "", .source = ""};
    size_t used = 0;
    if (open_preset(path, &ini, &section, &l->err) != GNN_OK)
        return;
    for (uint32_t i = 0; i < section->entry_count; i++) {
        const struct gnn_ini_entry *const entry = &section->entries[i];
        if (strcmp(entry->key, "title") == 0)
            preset.title = entry->value;
        else if (strcmp(entry->key, "source") == 0)
            preset.source = entry->value;
        else if (used < sizeof preset.options)
            used += (size_t)snprintf(preset.options + used, sizeof preset.options - used, "%s%s %s",
                                     used == 0 ? "" : ", ", entry->key, entry->value);
    }
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

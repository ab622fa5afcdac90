/* SPDX-License-Identifier: MIT */
#include "harness/dataset/exported.h"

#include "harness/base/ini.h"
#include "harness/dataset/read.h"

#include <string.h>
#include <unistd.h>

bool gnn_exported_is(const char *dir)
{
    char path[GNN_OUTPUT_PATH];
    gnn_dataset_path(dir, GNN_EXPORTED_OPTIONS, path);
    return access(path, F_OK) == 0;
}

static enum gnn_status parse_format(const char *path, const char *word, enum gnn_import_format *out,
                                    struct gnn_err *err)
{
    for (uint32_t i = 0; gnn_import_formats[i] != NULL; i++)
        if (strcmp(gnn_import_formats[i], word) == 0) {
            *out = (enum gnn_import_format)i;
            return GNN_OK;
        }
    return gnn_fail(err, GNN_EUSAGE, "%s: format = %s, expected ogb, snap or triples", path, word);
}

static enum gnn_status set_all(const char *path, const struct gnn_ini_section *section, enum gnn_import_format *format,
                               gnn_published_set_fn *set, void *ctx, struct gnn_err *err)
{
    const struct gnn_ini_entry *const named = gnn_ini_find(section, "format");
    struct gnn_err why = {0};
    if (named == NULL)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s: no section [import] with a format; remove the file, and state --format and the options",
                        path);
    GNN_TRY(parse_format(path, named->value, format, err));
    for (uint32_t i = 0; i < section->entry_count; i++) {
        const struct gnn_ini_entry *const entry = &section->entries[i];
        if (entry != named && set(ctx, entry->key, entry->value, &why) != GNN_OK)
            return gnn_fail(err, why.status, "%s:%u: %s", path, entry->line, why.message);
    }
    return GNN_OK;
}

enum gnn_status gnn_exported_options(const char *dir, enum gnn_import_format *format, gnn_published_set_fn *set,
                                     void *ctx, struct gnn_err *err)
{
    char path[GNN_OUTPUT_PATH];
    struct gnn_ini *ini;
    gnn_dataset_path(dir, GNN_EXPORTED_OPTIONS, path);
    GNN_TRY(gnn_ini_open(path, &ini, err));
    const enum gnn_status status = set_all(path, gnn_ini_find_section(ini, "import"), format, set, ctx, err);
    gnn_ini_close(ini);
    return status;
}

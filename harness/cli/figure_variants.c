/* SPDX-License-Identifier: MIT */
#include "harness/cli/figure_variants.h"

#include "harness/base/data_dirs.h"
#include "harness/base/near_miss.h"
#include "harness/cli/figure_summary.h"

#include <stdio.h>
#include <string.h>

struct search {
    const char *name;
    char path[GNN_DATA_DIR_BYTES]; /* "" as long as it is not found */
    struct gnn_near_miss near;
};

static void look_at(void *ctx, const char *path, const char *name)
{
    struct search *const search = ctx;
    gnn_near_miss_offer(&search->near, name);
    if (search->path[0] == '\0' && strcmp(search->name, name) == 0)
        (void)snprintf(search->path, sizeof search->path, "%s", path);
}

static enum gnn_status find(struct search *search, struct gnn_err *err)
{
    struct gnn_data_dirs dirs;
    gnn_variant_dirs(&dirs);
    gnn_near_miss_start(&search->near, search->name);
    if (strchr(search->name, '/') != NULL)
        (void)snprintf(search->path, sizeof search->path, "%s", search->name);
    else
        GNN_TRY(gnn_data_files(dirs.dirs, look_at, search, err));
    if (search->path[0] != '\0')
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE, "--variants %s: there are %s; a file needs a '/' in its path%s", search->name,
                    search->near.known[0] != '\0' ? search->near.known : "none", gnn_near_miss_text(&search->near));
}

static enum gnn_status check(const struct gnn_ini *ini, const struct gnn_kv_list *fix, struct gnn_err *err)
{
    const uint32_t count = gnn_ini_section_count(ini);
    if (count == 0 || count > GNN_VARIANTS_MAX || gnn_ini_global(ini) != NULL)
        return gnn_fail(err, GNN_EUSAGE, "--variants: %s: expected 1 to %d sections, each a variant, and no [global]",
                        gnn_ini_name(ini), GNN_VARIANTS_MAX);
    for (uint32_t v = 0; v < count; v++)
        for (uint32_t i = 0; i < fix->count; i++)
            if (gnn_ini_find(gnn_ini_section(ini, v), fix->items[i].key) != NULL)
                return gnn_fail(err, GNN_EUSAGE, "--fix %s=%s: variant \"%s\" of %s sets it; leave one out",
                                fix->items[i].key, fix->items[i].value, gnn_ini_section(ini, v)->name,
                                gnn_ini_name(ini));
    return GNN_OK;
}

enum gnn_status gnn_figure_variants(const char *name, const struct gnn_kv_list *fix, struct gnn_ini **out,
                                    struct gnn_err *err)
{
    struct search search = {.name = name};
    struct gnn_err cause = {0};
    struct gnn_ini *ini = NULL;
    GNN_TRY(find(&search, err));
    if (gnn_ini_open(search.path, &ini, &cause) != GNN_OK)
        return gnn_fail(err, cause.status, "--variants: %s", cause.message);
    const enum gnn_status status = check(ini, fix, err);
    return GNN_OPENED(status, ini, out, gnn_ini_close);
}

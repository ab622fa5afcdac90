/* SPDX-License-Identifier: MIT */
/* The section [figure] of a figure's file. */
#include "harness/base/ini.h"
#include "harness/base/near_miss.h"
#include "harness/base/words.h"
#include "harness/figure/figure.h"

#include <stdio.h>
#include <string.h>

const char *const gnn_figure_charts[] = {"bars", "lines", "heat", "classes", "cdf", "time", "accuracy", "table", NULL};

static const struct {
    const char *key;
    size_t offset;
} about_keys[] = {
#define KEY(name) {#name, offsetof(struct gnn_figure_about, name)},
    GNN_FIGURE_KEYS(KEY)
#undef KEY
};
enum { ABOUT_KEYS = sizeof about_keys / sizeof *about_keys };

static enum gnn_status take_about(const struct gnn_ini *ini, const struct gnn_ini_entry *entry,
                                  struct gnn_figure_about *out, struct gnn_err *err)
{
    struct gnn_near_miss near;
    gnn_near_miss_start(&near, entry->key);
    for (int i = 0; i < ABOUT_KEYS; i++) {
        if (strcmp(about_keys[i].key, entry->key) == 0) {
            (void)snprintf((char *)out + about_keys[i].offset, GNN_FIGURE_LINE, "%s", entry->value);
            return GNN_OK;
        }
        gnn_near_miss_offer(&near, about_keys[i].key);
    }
    return gnn_fail(err, GNN_EUSAGE, "%s:%u: a figure has no key \"%s\"%s", gnn_ini_name(ini), entry->line, entry->key,
                    gnn_near_miss_text(&near));
}

static enum gnn_status check_about(const struct gnn_ini *ini, const struct gnn_figure_about *about, struct gnn_err *err)
{
    const bool drawn = about->missing[0] != '\0' || gnn_list_has(gnn_figure_charts, about->chart);
    if (about->title[0] == '\0' || (about->paper[0] == '\0') != (about->place[0] == '\0'))
        return gnn_fail(err, GNN_EUSAGE, "%s: [figure] needs a title, and for a figure of a paper paper and place",
                        gnn_ini_name(ini));
    if (about->paper[0] == '\0' && (about->scale[0] != '\0' || about->scaled[0] != '\0'))
        return gnn_fail(err, GNN_EUSAGE, "%s: [figure] has a scale, but no paper: write scale and sizes to [global]",
                        gnn_ini_name(ini));
    if (!drawn)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s: chart \"%s\" is none of bars, lines, heat, classes, cdf, time, accuracy, table",
                        gnn_ini_name(ini), about->chart);
    if (about->measured_by[0] != '\0' && strcmp(about->measured_by, "fio") != 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s: measured_by \"%s\": expected fio, or no measured_by for figures of the systems",
                        gnn_ini_name(ini), about->measured_by);
    if (about->missing[0] == '\0' && about->y[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE, "%s: [figure] has no y, a metric", gnn_ini_name(ini));
    if (about->layout[0] != '\0' && (strcmp(about->layout, "across") != 0 || about->rows[0] == '\0'))
        return gnn_fail(err, GNN_EUSAGE, "%s: layout = %s: expected across, with rows", gnn_ini_name(ini),
                        about->layout);
    if (about->average[0] != '\0' && strcmp(about->average, "mean") != 0 && !gnn_figure_shows_best(about))
        return gnn_fail(err, GNN_EUSAGE, "%s: average = %s: expected mean or best", gnn_ini_name(ini), about->average);
    if (gnn_figure_shows_best(about) && about->over[0] == '\0')
        return gnn_fail(err, GNN_EUSAGE, "%s: average = best: expected over, the keys to choose from",
                        gnn_ini_name(ini));
    return GNN_OK;
}

bool gnn_figure_shows_best(const struct gnn_figure_about *about)
{
    return strcmp(about->average, "best") == 0;
}

enum gnn_status gnn_figure_read_about(const struct gnn_ini *ini, struct gnn_figure_about *out, struct gnn_err *err)
{
    const struct gnn_ini_section *const section = gnn_ini_find_section(ini, "figure");
    *out = (struct gnn_figure_about){.paper = ""};
    if (section == NULL)
        return gnn_fail(err, GNN_EUSAGE, "%s: a figure has a section [figure]", gnn_ini_name(ini));
    for (uint32_t i = 0; i < section->entry_count; i++)
        GNN_TRY(take_about(ini, &section->entries[i], out, err));
    return check_about(ini, out, err);
}

enum gnn_status gnn_figure_about(const char *path, struct gnn_figure_about *out, struct gnn_err *err)
{
    struct gnn_ini *ini;
    GNN_TRY(gnn_ini_open(path, &ini, err));
    const enum gnn_status status = gnn_figure_read_about(ini, out, err);
    gnn_ini_close(ini);
    return status;
}

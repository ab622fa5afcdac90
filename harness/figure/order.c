/* SPDX-License-Identifier: MIT */
#include "harness/figure/order.h"

#include "harness/figure/axes.h"

#include <stdio.h>
#include <string.h>

int32_t gnn_figure_key(const struct gnn_paper_figure *figure, const char *name)
{
    int32_t key = strcmp(name, "series") == 0 ? GNN_KEY_SERIES : 0;
    while (key >= 0 && key < (int32_t)figure->axis_count && strcmp(figure->axes[key].key, name) != 0)
        key++;
    return key < (int32_t)figure->axis_count ? key : GNN_KEYS_MAX;
}

static void add_key(struct gnn_paper_figure *figure, int32_t key)
{
    for (uint32_t i = 0; i < figure->key_count; i++)
        if (figure->keys[i] == key)
            return;
    figure->keys[figure->key_count++] = key;
}

/* Exchanges two neighbouring values of an axis. */
static void swap(struct gnn_paper_figure *figure, uint32_t axis, uint32_t first)
{
    char value[GNN_AXIS_VALUE_BYTES];
    char(*const values)[GNN_AXIS_VALUE_BYTES] = figure->axes[axis].values;
    memcpy(value, values[first], sizeof value);
    memcpy(values[first], values[first + 1], sizeof value);
    memcpy(values[first + 1], value, sizeof value);
    for (uint32_t c = 0; c < figure->job->count; c++) {
        uint32_t *const at = &figure->cells[c].at[axis];
        *at = *at == first ? first + 1 : *at == first + 1 ? first : *at;
    }
}

/* Sorts the values of an axis by their numbers, or leaves them as in the file; descending: the other way round. */
static void sort(struct gnn_paper_figure *figure, uint32_t axis, bool descends)
{
    const struct gnn_axis *const a = &figure->axes[axis];
    for (uint32_t end = a->count; end > 1; end--)
        for (uint32_t i = 0; i + 1 < end; i++) {
            const double left = gnn_axis_number(a->values[i]), right = gnn_axis_number(a->values[i + 1]);
            if (descends ? !(left >= right) : left > right)
                swap(figure, axis, i);
        }
}

/* One key of `order`: "memory desc". */
static enum gnn_status read_key(struct gnn_paper_figure *figure, char *text, struct gnn_err *err)
{
    const char *const name = strsep(&text, " "), *const way = text != NULL ? text + strspn(text, " ") : "asc";
    const int32_t key = gnn_figure_key(figure, name);
    const bool descends = strcmp(way, "desc") == 0;
    if (key == GNN_KEYS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "figure %s: order: \"%s\" is none of series, x, facets and rows", figure->id,
                        name);
    if (!descends && strcmp(way, "asc") != 0)
        return gnn_fail(err, GNN_EUSAGE, "figure %s: order: %s \"%s\": expected asc or desc", figure->id, name, way);
    if (key != GNN_KEY_SERIES)
        sort(figure, (uint32_t)key, descends);
    add_key(figure, key);
    return GNN_OK;
}

enum gnn_status gnn_figure_read_order(struct gnn_paper_figure *figure, struct gnn_err *err)
{
    char text[GNN_FIGURE_LINE];
    char *rest = text;
    (void)snprintf(text, sizeof text, "%s", figure->about.order);
    for (char *part = strsep(&rest, ","); part != NULL && text[0] != '\0'; part = strsep(&rest, ","))
        GNN_TRY(read_key(figure, part + strspn(part, " "), err));
    for (int32_t key = GNN_KEY_SERIES; key < (int32_t)figure->axis_count; key++)
        add_key(figure, key);
    return GNN_OK;
}

bool gnn_figure_next_place(const struct gnn_paper_figure *figure, struct gnn_figure_place *place)
{
    for (uint32_t i = figure->key_count; i-- > 0;) {
        const int32_t key = figure->keys[i];
        uint32_t *const at = key == GNN_KEY_SERIES ? &place->series : &place->at[key];
        if (++*at < (key == GNN_KEY_SERIES ? figure->series_count : figure->axes[key].count))
            return true;
        *at = 0;
    }
    return false;
}

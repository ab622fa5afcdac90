/* SPDX-License-Identifier: MIT */
#include "harness/figure/order.h"

#include "harness/base/words.h"

#include <stdio.h>
#include <string.h>

int32_t gnn_figure_key(const struct gnn_paper_figure *figure, const char *name)
{
    int32_t key = strcmp(name, "series") == 0 ? GNN_KEY_SERIES : 0;
    while (key >= 0 && key < (int32_t)figure->axis_count && strcmp(figure->axes[key].key, name) != 0)
        key++;
    return key < (int32_t)figure->axis_count ? key : GNN_KEYS_MAX;
}

static bool has_key(const int32_t *keys, uint32_t count, int32_t key)
{
    while (count > 0 && keys[count - 1] != key)
        count--;
    return count > 0;
}

static void add_key(struct gnn_paper_figure *figure, int32_t key)
{
    if (!has_key(figure->keys, figure->key_count, key))
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

/* Reads one key of `order`: "memory desc". */
static enum gnn_status read_key(struct gnn_paper_figure *figure, const char *text, int32_t *key, struct gnn_err *err)
{
    char name[GNN_FIGURE_LINE], way[GNN_FIGURE_LINE];
    (void)gnn_next_word(&text, name, sizeof name);
    if (!gnn_next_word(&text, way, sizeof way))
        (void)snprintf(way, sizeof way, "asc");
    const bool descends = strcmp(way, "desc") == 0;
    *key = gnn_figure_key(figure, name);
    if (*key == GNN_KEYS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "figure %s: order: \"%s\" is none of series, x, facets and rows", figure->id,
                        name);
    if ((!descends && strcmp(way, "asc") != 0) || text[strspn(text, " ")] != '\0')
        return gnn_fail(err, GNN_EUSAGE, "figure %s: order: %s \"%s\": expected asc or desc", figure->id, name, way);
    if (*key != GNN_KEY_SERIES)
        sort(figure, (uint32_t)*key, descends);
    return GNN_OK;
}

enum gnn_status gnn_figure_read_order(struct gnn_paper_figure *figure, struct gnn_err *err)
{
    char text[GNN_FIGURE_LINE];
    char *rest = text;
    int32_t order[GNN_KEYS_MAX];
    uint32_t count = 0;
    (void)snprintf(text, sizeof text, "%s", figure->about.order);
    for (char *part = strsep(&rest, ","); part != NULL && text[0] != '\0' && count < GNN_KEYS_MAX; count++) {
        GNN_TRY(read_key(figure, part, &order[count], err));
        part = strsep(&rest, ",");
    }
    for (uint32_t i = 0; i < count; i++)
        if (has_key(figure->row_keys, figure->row_key_count, order[i]))
            add_key(figure, order[i]);
    for (uint32_t i = 0; i < figure->row_key_count; i++)
        add_key(figure, figure->row_keys[i]);
    for (uint32_t i = 0; i < count; i++)
        add_key(figure, order[i]);
    for (int32_t key = GNN_KEY_SERIES; key < (int32_t)figure->axis_count; key++)
        add_key(figure, key);
    return GNN_OK;
}

uint32_t gnn_figure_key_values(const struct gnn_paper_figure *figure, int32_t key)
{
    return key == GNN_KEY_SERIES ? figure->series_count : figure->axes[key].count;
}

bool gnn_figure_next_place(const struct gnn_paper_figure *figure, const int32_t *keys, uint32_t count,
                           struct gnn_figure_place *place)
{
    for (uint32_t i = count; i-- > 0;) {
        uint32_t *const at = keys[i] == GNN_KEY_SERIES ? &place->series : &place->at[keys[i]];
        if (++*at < gnn_figure_key_values(figure, keys[i]))
            return true;
        *at = 0;
    }
    return false;
}

/* SPDX-License-Identifier: MIT */
#include "systems/presort/windows.h"

#include "harness/base/bitset.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

uint64_t presort_windows_bytes(const struct presort_windows_config *c)
{
    const uint64_t lists = gnn_mul_bytes(c->members_max, sizeof(gnn_node));
    const uint64_t windows = gnn_mul_bytes(c->windows_max, 2 * sizeof(uint32_t));
    const uint64_t fresh = gnn_mul_bytes(c->lone_rows_max, sizeof(gnn_node));
    return gnn_add_bytes(gnn_add_bytes(lists, windows),
                         gnn_add_bytes(fresh, gnn_bitset_words(c->node_count) * sizeof(uint64_t)));
}

enum gnn_status presort_windows_open(struct gnn_world *world, const struct presort_windows_config *config,
                                     struct presort_windows *out, struct gnn_err *err)
{
    const uint32_t windows = config->windows_max;
    assert(config->rows_max <= config->lone_rows_max && config->lone_rows_max <= config->members_max);
    *out = (struct presort_windows){.world = world, .config = *config};
    GNN_MEM_NEW(world, out->lists.rows, config->members_max, "presort members", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, out->fresh, config->lone_rows_max, "presort rows of a mini-batch", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, out->lists.end, windows, "presort ends of windows", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, out->batch_end, windows, "presort mini-batches of windows", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, out->present, gnn_bitset_words(config->node_count), "presort rows of a window", GNN_MEM_PLAIN,
                err);
    return GNN_OK;
}

void presort_windows_close(struct presort_windows *w)
{
    if (w->world == NULL)
        return;
    gnn_mem_free(w->world, w->present);
    gnn_mem_free(w->world, w->batch_end);
    gnn_mem_free(w->world, w->lists.end);
    gnn_mem_free(w->world, w->fresh);
    gnn_mem_free(w->world, w->lists.rows);
    *w = (struct presort_windows){.world = NULL};
}

void presort_windows_begin(struct presort_windows *w)
{
    if (w->open_rows > 0)
        memset(w->present, 0, gnn_bitset_words(w->config.node_count) * sizeof *w->present);
    w->lists.windows = w->batches = w->open_rows = w->open_batches = 0;
}

static uint32_t members_of(const struct presort_windows *w)
{
    return w->lists.windows == 0 ? 0 : w->lists.end[w->lists.windows - 1];
}

/* Writes the open window's rows behind those of the others, ascending, and empties the set. */
static void close_window(struct presort_windows *w)
{
    const uint64_t words = gnn_bitset_words(w->config.node_count);
    uint32_t at = members_of(w);
    assert(w->lists.windows < w->config.windows_max);
    gnn_charge(w->world, GNN_WORK_SORTED_KEY, w->open_rows);
    gnn_charge(w->world, GNN_WORK_COPIED_BYTE, words * sizeof *w->present);
    for (uint64_t i = 0; i < words; i++) {
        for (uint64_t word = w->present[i]; word != 0; word &= word - 1)
            w->lists.rows[at++] = (gnn_node)(i * 64 + (uint64_t)__builtin_ctzll(word));
        w->present[i] = 0;
    }
    assert(at == members_of(w) + w->open_rows);
    w->largest = gnn_max_u32(w->largest, w->open_rows);
    w->lists.end[w->lists.windows] = at;
    w->batch_end[w->lists.windows++] = w->batches;
    w->open_rows = w->open_batches = 0;
}

/* Adds the nodes to the open window unless its rows would be more than the limit; then nothing has changed. */
static bool add_nodes(struct presort_windows *w, const gnn_node *nodes, uint32_t count)
{
    const uint32_t most = w->open_batches > 0 ? w->config.rows_max : w->config.lone_rows_max;
    const uint32_t left = gnn_min_u32(most, w->config.members_max - members_of(w));
    const uint32_t room = left > w->open_rows ? left - w->open_rows : 0;
    uint32_t fresh = 0, i;
    gnn_charge(w->world, GNN_WORK_TABLE_ENTRY, count);
    for (i = 0; i < count && fresh <= room; i++)
        if (gnn_bitset_add(w->present, nodes[i])) {
            if (fresh < room)
                w->fresh[fresh] = nodes[i];
            else
                gnn_bitset_remove(w->present, nodes[i]);
            fresh++;
        }
    if (fresh <= room) {
        w->open_rows += fresh;
        w->open_batches++;
        w->batches++;
        return true;
    }
    for (i = 0; i < room; i++)
        gnn_bitset_remove(w->present, w->fresh[i]);
    return false;
}

enum gnn_status presort_windows_take(struct presort_windows *w, const gnn_node *nodes, uint32_t count, bool *taken,
                                     struct gnn_err *err)
{
    const bool may_grow = w->config.batches_max == 0 || w->open_batches < w->config.batches_max;
    *taken = may_grow && add_nodes(w, nodes, count);
    if (*taken)
        return GNN_OK;
    if (w->open_batches > 0)
        close_window(w);
    if (w->lists.windows < w->config.windows_max)
        *taken = add_nodes(w, nodes, count);
    if (*taken || w->batches > 0)
        return GNN_OK;
    return gnn_fail(err, GNN_ECAP,
                    "presort: a mini-batch has %" PRIu32 " rows, but a window can have only %" PRIu32
                    ": raise --memory, presort.row_memory or presort.list_memory, or lower --batch or --fanout",
                    count, w->config.lone_rows_max);
}

void presort_windows_end(struct presort_windows *w)
{
    assert(w->batches > 0);
    if (w->open_batches > 0)
        close_window(w);
}

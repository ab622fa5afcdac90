/* SPDX-License-Identifier: MIT */
#include "systems/gnndrive/feature_tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the released code's tables per node, per row of the buffer, per slot. */
enum {
    ARTIFACT_NODE_BYTES = 16 + 8,
    ARTIFACT_ROW_BYTES = 8,
    ARTIFACT_SLOT_BYTES = 72,
};

static uint32_t keys_of(const struct gnndrive_buffer_config *config)
{
    return (uint32_t)gnn_div_up(config->node_count, config->rows_per_slot);
}

static uint64_t own_table_bytes(const struct gnndrive_buffer_config *config)
{
    return keys_of(config) * (uint64_t)sizeof(struct entry) + config->slots * (uint64_t)sizeof(uint32_t) +
           (config->slots + UINT64_C(1)) * sizeof(struct link);
}

static uint64_t padding_bytes(const struct gnndrive_buffer_config *config)
{
    if (!config->artifact_tables)
        return 0;
    const uint64_t artifact = (uint64_t)config->node_count * ARTIFACT_NODE_BYTES +
                              (uint64_t)config->slots * config->rows_per_slot * ARTIFACT_ROW_BYTES +
                              (uint64_t)config->slots * ARTIFACT_SLOT_BYTES;
    const uint64_t own = own_table_bytes(config);
    return artifact > own ? artifact - own : 0;
}

uint64_t gnndrive_buffer_table_bytes(const struct gnndrive_buffer_config *config)
{
    return own_table_bytes(config) + padding_bytes(config);
}

/* ---- open and close ---- */

static void standby_fill(struct tables *t)
{
    const uint32_t anchor = t->config.slots;
    t->standby[anchor] = (struct link){.prev = anchor, .next = anchor};
    for (uint32_t slot = 0; slot < anchor; slot++) {
        t->standby[slot].next = NONE;
        standby_insert_after(t, t->standby[anchor].prev, slot);
        t->reverse[slot] = NONE;
    }
}

static enum gnn_status check_numbers(const struct gnndrive_buffer_config *config, struct gnn_err *err)
{
    const uint64_t extractors = (uint64_t)gnn_max_u32(config->ranks, 1) * config->extractors;
    assert(config->node_count > 0);
    assert(config->slots > 0);
    assert(config->rows_per_slot > 0);
    assert(config->extractors > 0);
    if ((uint64_t)config->slots * config->rows_per_slot >= NONE)
        return gnn_fail(err, GNN_EUSAGE,
                        "gnndrive: %" PRIu32 " slots of %" PRIu32
                        " rows exceed 32-bit row numbers: lower gnndrive.buffer_mult",
                        config->slots, config->rows_per_slot);
    if (extractors > EXTRACTORS_MAX || config->ranks > GNNDRIVE_BUFFER_RANKS_MAX)
        return gnn_fail(err, GNN_EUSAGE,
                        "gnndrive: %" PRIu32 " workers with %" PRIu32
                        " extractors share one feature buffer, which supports up to %d extractors and %d workers: "
                        "lower --workers or gnndrive.extractors, or set gnndrive.rank_buffers=own",
                        config->ranks, config->extractors, (int)EXTRACTORS_MAX, (int)GNNDRIVE_BUFFER_RANKS_MAX);
    return GNN_OK;
}

static enum gnn_status open_tables(struct tables *t, struct gnn_err *err)
{
    struct gnn_world *const world = t->world;
    const uint64_t slots = t->config.slots;
    GNN_MEM_NEW(world, t->map, t->key_count, "gnndrive mapping table", GNN_MEM_SHARED, err);
    GNN_MEM_NEW(world, t->reverse, slots, "gnndrive reverse mapping", GNN_MEM_SHARED, err);
    GNN_MEM_NEW(world, t->standby, slots + 1, "gnndrive standby list", GNN_MEM_SHARED, err);
    GNN_TRY(gnn_mem_hold(world, "gnndrive released code's tables", padding_bytes(&t->config), &t->table_padding, err));
    GNN_TRY(gnn_mutex_open(world, &t->mutex, err));
    GNN_TRY(gnn_cond_open(world, &t->slot_free.cond, err));
    GNN_TRY(gnn_cond_open(world, &t->row_ready.cond, err));
    GNN_TRY(gnn_cond_open(world, &t->admission, err));
    for (uint32_t key = 0; key < t->key_count; key++)
        t->map[key].slot = NONE;
    standby_fill(t);
    return GNN_OK;
}

enum gnn_status gnndrive_buffer_open(struct gnn_world *world, const struct gnndrive_buffer_config *config,
                                     struct gnndrive_buffer **out, struct gnn_err *err)
{
    GNN_TRY(check_numbers(config, err));
    struct gnndrive_buffer *fb;
    GNN_NEW(fb, 1, err, "feature buffer");
    *out = fb;
    fb->owner = true;
    if (config->ranks > 1) { /* what the others must see is no memory of this process alone */
        void *memory = NULL;
        GNN_TRY(gnn_mem_alloc(world, "gnndrive feature buffer's state", sizeof(struct tables), GNN_MEM_SHARED, &memory,
                              err));
        fb->tables = memory;
    } else {
        GNN_NEW(fb->tables, 1, err, "feature buffer");
    }
    struct tables *const t = fb->tables;
    t->world = world;
    t->config = *config;
    t->ranks = gnn_max_u32(config->ranks, 1);
    t->quota = config->slots / t->ranks;
    t->key_count = keys_of(config);
    return open_tables(t, err);
}

enum gnn_status gnndrive_buffer_join(struct gnndrive_buffer *of, uint32_t rank, struct gnndrive_buffer **out,
                                     struct gnn_err *err)
{
    struct gnndrive_buffer *fb;
    assert(of->owner);
    assert(rank < of->tables->ranks);
    GNN_NEW(fb, 1, err, "feature buffer");
    *fb = (struct gnndrive_buffer){.tables = of->tables, .rank = rank};
    *out = fb;
    return GNN_OK;
}

static void close_tables(struct tables *t)
{
    struct gnn_world *const w = t->world;
    gnn_cond_close(w, t->admission);
    gnn_cond_close(w, t->row_ready.cond);
    gnn_cond_close(w, t->slot_free.cond);
    gnn_mutex_close(w, t->mutex);
    gnn_mem_free(w, t->table_padding);
    gnn_mem_free(w, t->standby);
    gnn_mem_free(w, t->reverse);
    gnn_mem_free(w, t->map);
    if (t->config.ranks > 1)
        gnn_mem_free(w, t);
    else
        free(t);
}

void gnndrive_buffer_close(struct gnndrive_buffer *fb)
{
    if (fb == NULL)
        return;
    if (fb->owner && fb->tables != NULL)
        close_tables(fb->tables);
    free(fb);
}

void gnndrive_buffer_lock(struct gnndrive_buffer *fb)
{
    struct tables *const t = fb->tables;
    gnn_mutex_lock(t->world, t->mutex);
}

void gnndrive_buffer_unlock(struct gnndrive_buffer *fb)
{
    struct tables *const t = fb->tables;
    gnn_mutex_unlock(t->world, t->mutex);
}

void gnndrive_buffer_begin(struct gnndrive_buffer *fb)
{
    struct tables *const t = fb->tables;
    gnndrive_buffer_lock(fb);
    assert(t->active == 0);
    assert(t->published == 0);
    t->cancelled = t->failed = false;
    t->admitting = false;
    memset(t->rank, 0, sizeof t->rank);
    gnndrive_buffer_unlock(fb);
}

void gnndrive_buffer_cancel(struct gnndrive_buffer *fb)
{
    struct tables *const t = fb->tables;
    gnndrive_buffer_lock(fb);
    t->cancelled = true;
    gnn_cond_broadcast(t->world, t->slot_free.cond);
    gnn_cond_broadcast(t->world, t->row_ready.cond);
    gnn_cond_broadcast(t->world, t->admission);
    gnndrive_buffer_unlock(fb);
}

void gnndrive_buffer_counts(struct gnndrive_buffer *fb, struct gnndrive_buffer_counts *out)
{
    gnndrive_buffer_lock(fb);
    *out = fb->tables->rank[fb->rank].counts;
    gnndrive_buffer_unlock(fb);
}

/* ---- inspection ---- */

uint32_t gnndrive_buffer_standby(const struct gnndrive_buffer *fb, uint32_t *slots, uint32_t max)
{
    const struct tables *const t = fb->tables;
    const uint32_t anchor = t->config.slots;
    uint32_t count = 0;
    for (uint32_t slot = t->standby[anchor].next; slot != anchor && count < max; slot = t->standby[slot].next)
        slots[count++] = slot;
    return t->standby_count;
}

uint32_t gnndrive_buffer_find(const struct gnndrive_buffer *fb, gnn_node node, bool *ready)
{
    const struct tables *const t = fb->tables;
    const struct entry *entry = &t->map[node / t->config.rows_per_slot];
    *ready = entry->ready;
    return entry->slot;
}

static enum gnn_status check_slots(const struct tables *t, struct gnn_err *err)
{
    for (uint32_t slot = 0; slot < t->config.slots; slot++) {
        const uint32_t key = t->reverse[slot];
        const bool standby = t->standby[slot].next != NONE;
        if (key != NONE && t->map[key].slot != slot)
            return gnn_fail(err, GNN_EBUG,
                            "gnndrive: slot %" PRIu32 " has group %" PRIu32
                            ", but the map has that group in slot %" PRIu32,
                            slot, key, t->map[key].slot);
        if (standby != (key == NONE || t->map[key].refs == 0))
            return gnn_fail(err, GNN_EBUG,
                            "gnndrive: slot %" PRIu32 " of group %" PRIu32 " is %son standby with count %u", slot, key,
                            standby ? "" : "not ", key == NONE ? 0 : (unsigned)t->map[key].refs);
    }
    return GNN_OK;
}

static enum gnn_status check_entries(const struct tables *t, bool idle, struct gnn_err *err)
{
    for (uint32_t key = 0; key < t->key_count; key++) {
        const struct entry *entry = &t->map[key];
        if (entry->slot != NONE && t->reverse[entry->slot] != key)
            return gnn_fail(err, GNN_EBUG,
                            "gnndrive: the map has group %" PRIu32 " in slot %" PRIu32
                            ", but that slot has group %" PRIu32,
                            key, entry->slot, t->reverse[entry->slot]);
        const bool absent = entry->slot == NONE || !entry->ready;
        if ((entry->ready && entry->slot == NONE) || (idle && (entry->refs > 0 || (absent && entry->slot != NONE))))
            return gnn_fail(err, GNN_EBUG, "gnndrive: group %" PRIu32 ": slot %" PRIu32 ", count %u, ready %u%s", key,
                            entry->slot, (unsigned)entry->refs, (unsigned)entry->ready, idle ? ", when idle" : "");
    }
    return GNN_OK;
}

enum gnn_status gnndrive_buffer_check(const struct gnndrive_buffer *fb, bool idle, struct gnn_err *err)
{
    const struct tables *const t = fb->tables;
    GNN_TRY(check_slots(t, err));
    GNN_TRY(check_entries(t, idle, err));
    const uint32_t anchor = t->config.slots;
    uint32_t walked = 0;
    for (uint32_t slot = t->standby[anchor].next; slot != anchor && walked <= anchor; slot = t->standby[slot].next)
        walked += t->standby[t->standby[slot].next].prev == slot;
    if (walked != t->standby_count || (idle && walked != anchor))
        return gnn_fail(err, GNN_EBUG,
                        "gnndrive: %" PRIu32 " slots on standby, %" PRIu32 " counted, %" PRIu32 " in all", walked,
                        t->standby_count, anchor);
    if (idle && (t->active > 0 || t->published > 0 || t->slot_free.asleep > 0 || t->row_ready.asleep > 0))
        return gnn_fail(err, GNN_EBUG,
                        "gnndrive: %" PRIu32 " claims and %" PRIu32 " batches live, %" PRIu32 " asleep, when idle",
                        t->active, t->published, t->slot_free.asleep + t->row_ready.asleep);
    return GNN_OK;
}

/* SPDX-License-Identifier: MIT */
#include "harness/world/profile_draft.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char depths_key[] = "read_depths", grid_prefix[] = "read_us.", scattered_prefix[] = "read_scattered_us.";

/* Parses "80.1,40.2": up to `max` numbers. Returns false when a part is no number. */
static bool parse_list(const char *text, size_t len, enum unit unit, uint64_t *out, uint32_t max, uint32_t *count)
{
    *count = 0;
    for (size_t at = 0; at <= len;) {
        const char *const comma = memchr(text + at, ',', len - at);
        const size_t part = comma != NULL ? (size_t)(comma - text) - at : len - at;
        if (*count == max || !gnn_profile_value(unit, text + at, part, &out[*count]) || out[*count] == 0 ||
            out[*count] > SECOND_PS * 10)
            return false;
        ++*count;
        at += part + 1;
    }
    return true;
}

static enum gnn_status parse_depths(struct parse *p, const struct gnn_ini_entry *entry)
{
    struct gnn_profile_storage *const storage = &p->draft.profile.storage;
    uint64_t values[GNN_PROFILE_DEPTHS_MAX];
    size_t len;
    GNN_TRY(gnn_profile_check_source(p, entry, &len));
    if (!parse_list(entry->value, len, UNIT_COUNT, values, GNN_PROFILE_DEPTHS_MAX, &storage->depth_count))
        return gnn_profile_refuse(p, entry, "expected up to 16 depths as 1,2,4");
    for (uint32_t i = 0; i < storage->depth_count; i++) {
        if (i == 0 ? values[i] != 1 : values[i] <= values[i - 1] || values[i] > COUNT_MAX)
            return gnn_profile_refuse(p, entry, "depths start at 1 and ascend");
        storage->depth[i] = (uint32_t)values[i];
    }
    p->depths_line = entry->line;
    return GNN_OK;
}

/* The times of one row, in the first `len` bytes of the entry's value. */
static enum gnn_status parse_times(struct parse *p, const struct gnn_ini_entry *entry, size_t len,
                                   uint64_t ps[GNN_PROFILE_DEPTHS_MAX])
{
    uint32_t count = 0;
    if (!parse_list(entry->value, len, UNIT_PLAIN_US, ps, GNN_PROFILE_DEPTHS_MAX, &count) ||
        count != p->draft.profile.storage.depth_count)
        return gnn_profile_refuse(p, entry, "expected one time in plain microseconds for each of read_depths");
    return GNN_OK;
}

/* A row of read_ps. */
static enum gnn_status parse_row(struct parse *p, const struct gnn_ini_entry *entry)
{
    struct gnn_profile_storage *const storage = &p->draft.profile.storage;
    const char *const size_text = entry->key + strlen(grid_prefix);
    const uint32_t at = storage->size_count;
    uint64_t size = 0;
    size_t len;
    GNN_TRY(gnn_profile_check_source(p, entry, &len));
    if (storage->depth_count == 0)
        return gnn_profile_refuse(p, entry, "read_depths must come before the first row of the grid");
    if (at == GNN_PROFILE_SIZES_MAX)
        return gnn_profile_refuse(p, entry, "more than 16 sizes");
    if (!gnn_profile_value(UNIT_BYTES, size_text, strlen(size_text), &size) || size == 0 || size > UINT64_C(1) << 30 ||
        (at > 0 && size <= storage->size_bytes[at - 1]))
        return gnn_profile_refuse(p, entry, "the key's size is at most 1G and above that of the row before");
    GNN_TRY(parse_times(p, entry, len, storage->read_ps[at]));
    storage->size_bytes[at] = size;
    storage->size_count++;
    return GNN_OK;
}

/* A row of scattered_ps: of a size that has its row of read_ps. */
static enum gnn_status parse_scattered(struct parse *p, const struct gnn_ini_entry *entry)
{
    struct gnn_profile_storage *const storage = &p->draft.profile.storage;
    const char *const size_text = entry->key + strlen(scattered_prefix);
    uint64_t size = 0;
    uint32_t at = 0;
    size_t len;
    GNN_TRY(gnn_profile_check_source(p, entry, &len));
    const bool is_size = gnn_profile_value(UNIT_BYTES, size_text, strlen(size_text), &size);
    while (at < storage->size_count && storage->size_bytes[at] != size)
        at++;
    if (!is_size || at == storage->size_count)
        return gnn_profile_refuse(p, entry, "the row read_us of this size must come before it");
    if (storage->scattered_ps[at][0] != 0)
        return gnn_profile_refuse(p, entry, "a second row for one size");
    return parse_times(p, entry, len, storage->scattered_ps[at]);
}

bool gnn_profile_is_of_grid(const char *key)
{
    return strcmp(key, depths_key) == 0 || strncmp(key, grid_prefix, strlen(grid_prefix)) == 0 ||
           strncmp(key, scattered_prefix, strlen(scattered_prefix)) == 0;
}

void gnn_profile_offer_grid(struct gnn_near_miss *near, const char *key)
{
    const char *const prefixes[] = {grid_prefix, scattered_prefix};
    char name[GNN_NAME_MAX];
    const char *const dot = strrchr(key, '.');
    const char *size = dot != NULL ? dot + 1 : key + strcspn(key, "0123456789");
    if (*size == '\0')
        size = "SIZE";
    gnn_near_miss_offer(near, depths_key);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        (void)snprintf(name, sizeof name, "%s%s", prefixes[i], size);
        gnn_near_miss_offer(near, name);
    }
}

enum gnn_status gnn_profile_parse_grid(struct parse *p, const struct gnn_ini_entry *entry)
{
    if (strcmp(entry->key, depths_key) == 0)
        return parse_depths(p, entry);
    if (strncmp(entry->key, grid_prefix, strlen(grid_prefix)) == 0)
        return parse_row(p, entry);
    return parse_scattered(p, entry);
}

/* Returns the time between two completions. latency is that of a read of one page: a larger one takes its further bytes
 * at the device's bandwidth besides. */
static uint64_t curve_ps(const struct gnn_profile_storage *st, uint64_t size_bytes, uint32_t depth)
{
    const unsigned __int128 second = SECOND_PS;
    const uint64_t more = size_bytes > GNN_PAGE_BYTES ? size_bytes - GNN_PAGE_BYTES : 0;
    const uint64_t latency = (st->read_latency_ps + (uint64_t)(more * second / st->read_bytes_per_s)) / depth;
    const uint64_t by_count = SECOND_PS / st->read_iops;
    const uint64_t by_bytes = (uint64_t)(size_bytes * second / st->read_bytes_per_s);
    return gnn_max_u64(latency, gnn_max_u64(by_count, by_bytes));
}

void gnn_profile_expand_curve(struct draft *draft)
{
    struct gnn_profile_storage *const storage = &draft->profile.storage;
    assert(storage->size_count == 0);
    assert(storage->depth_count == 0);
    assert(storage->sector_bytes >= 512); /* twelve sizes up to 1 MiB */
    _Static_assert(GNN_PROFILE_SIZES_MAX >= 12, "512 bytes to 1 MiB");
    for (uint64_t size = storage->sector_bytes; size <= UINT64_C(1) << 20; size *= 2)
        storage->size_bytes[storage->size_count++] = size;
    for (uint32_t depth = 1; depth <= storage->depth_max && storage->depth_count < GNN_PROFILE_DEPTHS_MAX; depth *= 2)
        storage->depth[storage->depth_count++] = depth;
    if (storage->depth[storage->depth_count - 1] < storage->depth_max && storage->depth_count < GNN_PROFILE_DEPTHS_MAX)
        storage->depth[storage->depth_count++] = storage->depth_max;
    for (uint32_t s = 0; s < storage->size_count; s++)
        for (uint32_t d = 0; d < storage->depth_count; d++)
            storage->read_ps[s][d] = curve_ps(storage, storage->size_bytes[s], storage->depth[d]);
}

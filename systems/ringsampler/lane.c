/* A lane: what one thread owns, and how it gets through its batches. Lanes share nothing they write, but for the cache
 * (sector_cache.h), and never wait for one another (paper, section 3.1, "Eliminating thread synchronization").
 *
 * With io=sorted a lane samples several batches together, hop by hop, so that one sweep over the edge file serves them
 * all: a bundle. How many fit is known after the first batch, from what it took; a batch that outgrows its share is put
 * off and sampled alone with the whole workspace. What a batch holds depends on none of this (DESIGN section 4). */
#include "systems/ringsampler/ringsampler.h"

#include "harness/base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- open, close ---- */

/* The ID map takes the front of the workspace, entries and batches get the rest. Slots that were something else's are
 * zeroed. */
static void divide(struct rs_lane *lane, uint64_t slots)
{
    const struct rs_sizes *const z = &lane->s->sizes;
    if (slots > lane->map.memory_slots)
        memset(lane->map.slots + lane->map.memory_slots, 0, (slots - lane->map.memory_slots) * sizeof *lane->map.slots);
    lane->map.memory_slots = slots;
    const uint64_t map_bytes = gnn_round_up(slots * sizeof *lane->map.slots, GNN_ARENA_ALIGN_BYTES);
    lane->rest = (unsigned char *)lane->workspace + map_bytes;
    lane->rest_bytes = z->workspace_bytes - map_bytes;
}

static enum gnn_status open_workspace(struct rs_lane *lane, struct gnn_err *err)
{
    const struct rs_sizes *const z = &lane->s->sizes;
    struct gnn_world *const world = lane->s->env->world;
    GNN_TRY(gnn_mem_alloc(world, "ringsampler workspace", z->workspace_bytes, GNN_MEM_PLAIN, &lane->workspace, err));
    if (lane->s->config->dedupe == RS_DEDUPE_HASH) {
        gnn_id_map_init_sized(&lane->map, lane->workspace, z->map_slots);
        divide(lane, z->map_slots);
    } else {
        lane->pairs = lane->workspace;
        lane->pair_capacity = z->dedupe_bytes / (sizeof(uint64_t) + sizeof(uint32_t)) / 2 * 2;
        lane->rest = (unsigned char *)lane->workspace + z->dedupe_bytes;
        lane->rest_bytes = z->workspace_bytes - z->dedupe_bytes;
    }
    lane->entries = (uint64_t *)(void *)lane->rest; /* with training batches lie elsewhere */
    lane->entry_capacity = lane->rest_bytes / sizeof *lane->entries;
    if (z->release_bytes > 0) {
        GNN_TRY(gnn_mem_alloc(world, "ringsampler release workspaces", z->release_bytes, GNN_MEM_PLAIN,
                              &lane->release_ballast, err));
        memset(lane->release_ballast, 1, z->release_bytes); /* a page nobody touched is not charged */
    }
    return GNN_OK;
}

enum gnn_status rs_lane_open(struct ringsampler *s, struct rs_lane *lane, struct gnn_err *err)
{
    const struct gnn_env *const env = s->env;
    const unsigned flags = s->config->io == RS_IO_DIRECT || s->config->io == RS_IO_SORTED ? GNN_OPEN_DIRECT
                           : s->config->io == RS_IO_BUFFERED_RANDOM                       ? GNN_OPEN_RANDOM
                                                                                          : 0;
    lane->s = s;
    lane->batches = calloc(RS_BUNDLE_MAX, sizeof *lane->batches);
    if (lane->batches == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ringsampler: bundle of a thread");
    GNN_TRY(open_workspace(lane, err));
    if (s->config->io == RS_IO_MAPPED)
        return rs_mapped_open(lane, &lane->fetch, err);
    GNN_TRY(gnn_file_open(env->world, env->dataset->indices_path, GNN_OPEN_READ | flags, &lane->file, err));
    return (s->config->io == RS_IO_SORTED ? rs_sorted_open : rs_grouped_open)(lane, &lane->fetch, err);
}

void rs_lane_close(struct rs_lane *lane)
{
    if (lane->s == NULL)
        return;
    struct gnn_world *const world = lane->s->env->world;
    if (lane->fetch != NULL)
        lane->fetch->ops->close(lane->fetch);
    gnn_file_close(world, lane->file);
    gnn_mem_free(world, lane->release_ballast);
    gnn_mem_free(world, lane->workspace);
    free(lane->batches);
}

void rs_lane_begin(struct rs_lane *lane, uint64_t epoch)
{
    lane->epoch = epoch;
    lane->counters = (struct gnn_sample_counters){.batches = 0};
    lane->frontier_nodes = lane->deferred_batches = lane->bundle_peak = 0;
}

/* ---- sampling ---- */

static enum gnn_status run_hop(struct rs_lane *lane, struct rs_batch *batches, uint32_t count, uint32_t l,
                               struct gnn_err *err)
{
    struct rs_hop *hops[RS_BUNDLE_MAX] = {NULL};
    uint32_t hop_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!batches[i].full)
            rs_hop_begin(lane, &batches[i], l);
        if (!batches[i].full)
            hops[hop_count++] = &batches[i].hops[l];
    }
    GNN_TRY(lane->fetch->ops->fetch(lane->fetch, hops, hop_count, err));
    for (uint32_t i = 0; i < count; i++)
        if (!batches[i].full)
            GNN_TRY(rs_hop_end(lane, &batches[i], l, err));
    return GNN_OK;
}

static void count_batch(struct rs_lane *lane, const struct rs_batch *b)
{
    struct gnn_sample_counters *const n = &lane->counters;
    n->batches++;
    n->batch_digest += b->digest;
    uint64_t nodes = b->seed_count;
    for (uint32_t l = 0; l < b->hop_count; l++) {
        const struct rs_hop *const hop = &b->hops[l];
        n->sampled_edges += hop->sample_count;
        nodes += hop->node_count - hop->target_count;
        lane->frontier_nodes += hop->target_count;
        if (hop->target_count > lane->hop_targets_peak)
            lane->hop_targets_peak = hop->target_count;
    }
    n->sampled_nodes += nodes; /* frontier=neighbours: new in their hop, a node may be so in several */
    if (b->low_bytes + b->high_bytes > lane->batch_bytes_peak)
        lane->batch_bytes_peak = b->low_bytes + b->high_bytes;
}

enum gnn_status rs_sample(struct rs_lane *lane, struct rs_batch *batches, uint32_t count, struct gnn_err *err)
{
    assert(count > 0 && count <= RS_BUNDLE_MAX);
    lane->map_holds = NULL; /* the same memory, other batches */
    for (uint32_t l = 0; l < lane->s->env->workload->layers; l++) {
        GNN_TRY(gnn_check_stop(lane->s->env, err));
        GNN_TRY(run_hop(lane, batches, count, l, err));
    }
    for (uint32_t i = 0; i < count; i++)
        if (!batches[i].full) {
            rs_batch_end(&batches[i], lane->epoch, lane->s->config->frontier == RS_FRONTIER_ALL);
            count_batch(lane, &batches[i]);
        }
    return GNN_OK;
}

static enum gnn_status begin(struct rs_lane *lane, struct rs_batch *b, uint32_t number, struct gnn_err *err)
{
    uint32_t count;
    const gnn_node *const seeds = rs_seeds(lane->s, number, &count);
    return rs_batch_begin(lane, b, number, seeds, count, err);
}

enum gnn_status rs_sample_one(struct rs_lane *lane, struct rs_batch *b, uint32_t number, struct gnn_err *err)
{
    GNN_TRY(begin(lane, b, number, err));
    GNN_TRY(rs_sample(lane, b, 1, err));
    if (!b->full)
        return GNN_OK;
    char batch[32], map[32];
    return gnn_fail(err, GNN_ECAP,
                    "ringsampler: mini-batch %" PRIu32 " does not fit the %s its thread keeps for blocks and the %s "
                    "for dedupe: raise --memory or ringsampler.workspace, or lower ringsampler.threads, --batch or "
                    "--fanout",
                    number, gnn_format_bytes(b->size_bytes, batch, sizeof batch),
                    gnn_format_bytes(lane->s->sizes.dedupe_bytes, map, sizeof map));
}

/* ---- bundles ---- */

/* How the rest of the workspace is shared: `count` equal ranges for batches, entries for the sort behind them. */
struct shares {
    uint32_t count;
    uint64_t batch_bytes, entries_bytes;
};

static uint64_t with_margin(uint64_t bytes)
{
    return bytes + bytes / 8;
}

static bool cache_holds_all(const struct rs_lane *lane)
{
    return lane->s->sizes.cache_bytes > lane->s->env->dataset->edge_count * sizeof(gnn_node);
}

/* As many of `left` batches as fit if they are like the largest so far, the bundles of about equal size. */
static uint32_t bundle_of(const struct rs_lane *lane, uint32_t left)
{
    const struct ringsampler_config *const c = lane->s->config;
    const uint64_t one = with_margin(lane->batch_bytes_peak) + with_margin(lane->hop_targets_peak * sizeof(uint64_t));
    uint64_t most = c->bundle;
    if (c->io != RS_IO_SORTED)
        most = 1;
    else if (most == 0)
        most = lane->batch_bytes_peak == 0 || cache_holds_all(lane) ? 1 : lane->rest_bytes / one;
    most = most < 1 ? 1 : most > RS_BUNDLE_MAX ? RS_BUNDLE_MAX : most;
    const uint64_t bundles = (left + most - 1) / most;
    return (uint32_t)((left + bundles - 1) / bundles);
}

static struct shares share(const struct rs_lane *lane, uint32_t left)
{
    struct shares s = {.count = bundle_of(lane, left)};
    if (lane->s->config->io == RS_IO_SORTED) {
        const uint64_t entry_bytes = lane->hop_targets_peak * sizeof(uint64_t), batch = lane->batch_bytes_peak;
        /* Of batches not seen yet: 4 B of blocks and 8 B of entries a sample of the largest hop, and the other hops. */
        s.entries_bytes =
            batch == 0 ? lane->rest_bytes / 2
                       : (uint64_t)((double)lane->rest_bytes * (double)entry_bytes / (double)(entry_bytes + batch));
        if (s.entries_bytes < RS_ENTRIES_BYTES_MIN)
            s.entries_bytes = RS_ENTRIES_BYTES_MIN;
        s.entries_bytes = gnn_round_down(s.entries_bytes, sizeof(uint64_t));
    }
    assert(s.entries_bytes <= lane->rest_bytes);
    s.batch_bytes = gnn_round_down((lane->rest_bytes - s.entries_bytes) / s.count, GNN_ARENA_ALIGN_BYTES);
    return s;
}

static void lay_out(struct rs_lane *lane, const struct shares *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        lane->batches[i].memory = lane->rest + i * s->batch_bytes;
        lane->batches[i].size_bytes = s->batch_bytes;
    }
    lane->entries = (uint64_t *)(void *)(lane->rest + gnn_round_down(lane->rest_bytes - s->entries_bytes, 8));
    lane->entry_capacity = s->entries_bytes / sizeof(uint64_t);
}

static void full_map(struct rs_lane *lane)
{
    if (lane->pairs == NULL)
        divide(lane, lane->s->sizes.map_slots);
}

/* After the first batch the map is as large as batches need it, and a bundle gets what it leaves. */
static struct shares share_rest(struct rs_lane *lane, uint32_t left)
{
    if (lane->s->config->io == RS_IO_SORTED && left > 1 && lane->map_peak > 0) {
        const uint64_t slots = gnn_id_map_sized_slots(with_margin(lane->map_peak) + 2);
        divide(lane, slots < lane->s->sizes.map_slots ? slots : lane->s->sizes.map_slots);
        const struct shares s = share(lane, left);
        if (s.count > 1)
            return s;
    }
    full_map(lane);
    return share(lane, left);
}

/* Those that did not fit beside others, one by one, with a map of full size. */
static enum gnn_status sample_put_off(struct rs_lane *lane, const uint32_t *numbers, uint32_t count,
                                      struct gnn_err *err)
{
    for (uint32_t i = 0; i < count; i++) {
        full_map(lane);
        const struct shares alone = share(lane, 1);
        lay_out(lane, &alone);
        GNN_TRY(rs_sample_one(lane, &lane->batches[0], numbers[i], err));
        lane->deferred_batches++;
    }
    return GNN_OK;
}

enum gnn_status rs_lane_run(struct rs_lane *lane, uint32_t first, uint32_t count, uint32_t step, uint64_t *items,
                            struct gnn_err *err)
{
    for (uint32_t done = 0; done < count;) {
        const struct shares s = share_rest(lane, count - done);
        lay_out(lane, &s);
        if (s.count == 1) {
            GNN_TRY(rs_sample_one(lane, &lane->batches[0], first + done * step, err));
        } else {
            uint32_t put_off[RS_BUNDLE_MAX], put_off_count = 0;
            for (uint32_t i = 0; i < s.count; i++)
                GNN_TRY(begin(lane, &lane->batches[i], first + (done + i) * step, err));
            GNN_TRY(rs_sample(lane, lane->batches, s.count, err));
            for (uint32_t i = 0; i < s.count; i++)
                if (lane->batches[i].full)
                    put_off[put_off_count++] = first + (done + i) * step;
            GNN_TRY(sample_put_off(lane, put_off, put_off_count, err));
        }
        if (s.count > lane->bundle_peak)
            lane->bundle_peak = s.count;
        done += s.count;
        *items += s.count;
    }
    return GNN_OK;
}

/* SPDX-License-Identifier: MIT */
/* A sampling thread: what it owns, and how it gets through its batches. Threads share nothing they write, but for the
 * cache (sector_cache.h), and never wait for one another (paper, section 3.1, "Eliminating thread synchronization").
 *
 * With io=sorted a thread samples several batches together, hop by hop, so that one sweep over the edge file serves
 * them all: a bundle. How many fit is known after the first batch, from what it took; a batch that outgrows its share
 * is put off and sampled alone with the whole workspace. What a batch holds depends on none of this. */
#include "systems/ringsampler/thread.h"

#include "harness/base/arena.h"
#include "harness/base/units.h"
#include "systems/ringsampler/fetch.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* ---- open, close ---- */

/* Gives the ID map the front of the workspace, entries and batches the rest. Slots that held something else are
 * zeroed. */
static void divide_workspace(struct rs_thread *thread, uint64_t slots)
{
    struct gnn_id_map *const map = &thread->map;
    if (slots > map->memory_slots)
        memset(map->slots + map->memory_slots, 0, (slots - map->memory_slots) * sizeof *map->slots);
    map->memory_slots = slots;
    const uint64_t map_bytes = gnn_round_up(slots * sizeof *map->slots, GNN_ARENA_ALIGN_BYTES);
    assert(map_bytes <= thread->s->sizes.workspace_bytes);
    thread->rest = (unsigned char *)thread->workspace + map_bytes;
    thread->rest_bytes = thread->s->sizes.workspace_bytes - map_bytes;
}

static enum gnn_status open_workspace(struct rs_thread *thread, struct gnn_err *err)
{
    const struct rs_sizes *const sizes = &thread->s->sizes;
    struct gnn_world *const world = thread->s->env->world;
    assert(sizes->dedupe_bytes <= sizes->workspace_bytes);
    GNN_TRY(
        gnn_mem_alloc(world, "ringsampler workspace", sizes->workspace_bytes, GNN_MEM_PLAIN, &thread->workspace, err));
    if (thread->s->config->dedupe == RS_DEDUPE_HASH) {
        gnn_id_map_init_sized(&thread->map, thread->workspace, sizes->map_slots);
        divide_workspace(thread, sizes->map_slots);
    } else {
        thread->pairs = thread->workspace;
        thread->pair_capacity = sizes->dedupe_bytes / (sizeof(uint64_t) + sizeof(uint32_t)) / 2 * 2;
        thread->rest = (unsigned char *)thread->workspace + sizes->dedupe_bytes;
        thread->rest_bytes = sizes->workspace_bytes - sizes->dedupe_bytes;
    }
    thread->entries = (uint64_t *)(void *)thread->rest; /* with training batches lie elsewhere */
    thread->entry_capacity = thread->rest_bytes / sizeof *thread->entries;
    if (sizes->release_bytes > 0) {
        GNN_TRY(gnn_mem_alloc(world, "ringsampler release workspaces", sizes->release_bytes, GNN_MEM_PLAIN,
                              &thread->release_ballast, err));
        memset(thread->release_ballast, 1, sizes->release_bytes); /* untouched pages are not charged */
    }
    return GNN_OK;
}

enum gnn_status rs_thread_open(struct ringsampler *s, struct rs_thread *thread, struct gnn_err *err)
{
    static const unsigned flags[] = {
        [RS_IO_DIRECT] = GNN_OPEN_DIRECT, [RS_IO_SORTED] = GNN_OPEN_DIRECT, [RS_IO_BUFFERED_RANDOM] = GNN_OPEN_RANDOM};
    const enum rs_io io = s->config->io;
    thread->s = s;
    GNN_NEW(thread->batches, RS_BUNDLE_MAX, err, "ringsampler: bundle of a thread");
    GNN_TRY(open_workspace(thread, err));
    if (io == RS_IO_MAPPED)
        return rs_mapped_open(thread, &thread->fetch, err);
    GNN_TRY(gnn_dataset_file_open(s->env, GNN_DATASET_INDICES, flags[io], &thread->file, NULL, err));
    return (io == RS_IO_SORTED ? rs_sorted_open : rs_grouped_open)(thread, &thread->fetch, err);
}

void rs_thread_close(struct rs_thread *thread)
{
    if (thread->s == NULL)
        return;
    struct gnn_world *const world = thread->s->env->world;
    if (thread->fetch != NULL)
        thread->fetch->ops->close(thread->fetch);
    gnn_file_close(world, thread->file);
    gnn_mem_free(world, thread->release_ballast);
    gnn_mem_free(world, thread->workspace);
    free(thread->batches);
}

void rs_thread_begin(struct rs_thread *thread, uint64_t epoch)
{
    thread->epoch = epoch;
    thread->counters = (struct gnn_sample_counters){.batches = 0};
    thread->frontier_nodes = thread->deferred_batches = thread->bundle_peak = 0;
}

/* ---- sampling ---- */

/* Samples hop l of the batches that fit so far, their reads together. */
static enum gnn_status sample_hop(struct rs_thread *thread, struct rs_batch *batches, uint32_t count, uint32_t l,
                                  struct gnn_err *err)
{
    struct rs_hop *hops[RS_BUNDLE_MAX] = {NULL};
    uint32_t hop_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!batches[i].full)
            rs_hop_begin(thread, &batches[i], l);
        if (!batches[i].full)
            hops[hop_count++] = &batches[i].hops[l];
    }
    GNN_TRY(thread->fetch->ops->fetch(thread->fetch, hops, hop_count, err));
    for (uint32_t i = 0; i < count; i++)
        if (!batches[i].full)
            GNN_TRY(rs_hop_end(thread, &batches[i], l, err));
    return GNN_OK;
}

static void count_batch(struct rs_thread *thread, const struct rs_batch *b)
{
    struct gnn_sample_counters *const n = &thread->counters;
    n->batches++;
    gnn_count_digest(n, b->number, b->digest);
    uint64_t nodes = b->seed_count;
    for (uint32_t l = 0; l < b->hop_count; l++) {
        const struct rs_hop *const hop = &b->hops[l];
        n->sampled_edges += hop->sample_count;
        nodes += hop->node_count - hop->target_count;
        thread->frontier_nodes += hop->target_count;
        thread->hop_targets_peak = gnn_max_u64(thread->hop_targets_peak, hop->target_count);
    }
    n->sampled_nodes += nodes; /* frontier=neighbours: new in their hop, a node may be so in several */
    thread->batch_bytes_peak = gnn_max_u64(thread->batch_bytes_peak, b->low_bytes + b->high_bytes);
}

/* Samples begun batches hop by hop, together. One that does not fit its memory is marked full and is not counted. */
static enum gnn_status sample_together(struct rs_thread *thread, struct rs_batch *batches, uint32_t count,
                                       struct gnn_err *err)
{
    assert(count > 0);
    assert(count <= RS_BUNDLE_MAX);
    thread->map_holds = NULL; /* the same memory, other batches */
    for (uint32_t l = 0; l < thread->s->env->workload->layers; l++) {
        GNN_TRY(gnn_check_stop(thread->s->env, err));
        GNN_TRY(sample_hop(thread, batches, count, l, err));
    }
    for (uint32_t i = 0; i < count; i++)
        if (!batches[i].full) {
            rs_batch_end(&batches[i], thread->epoch, thread->s->config->frontier == RS_FRONTIER_ALL);
            count_batch(thread, &batches[i]);
        }
    return GNN_OK;
}

static enum gnn_status begin_batch(const struct rs_thread *thread, struct rs_batch *b, uint32_t number,
                                   struct gnn_err *err)
{
    uint32_t count;
    const gnn_node *const seeds = rs_seeds(thread->s, number, &count);
    assert(count <= thread->s->sizes.seeds);
    return rs_batch_begin(thread, b, number, seeds, count, err);
}

enum gnn_status rs_sample_one(struct rs_thread *thread, struct rs_batch *b, uint32_t number, struct gnn_err *err)
{
    GNN_TRY(begin_batch(thread, b, number, err));
    GNN_TRY(sample_together(thread, b, 1, err));
    if (!b->full)
        return GNN_OK;
    char batch[32], map[32];
    return gnn_fail(err, GNN_ECAP,
                    "ringsampler: mini-batch %" PRIu32
                    " does not fit into the %s that its thread reserves for blocks and the %s for deduplication: raise "
                    "--memory or ringsampler.workspace, or lower ringsampler.threads, --batch or --fanout",
                    number, gnn_format_bytes(b->size_bytes, batch, sizeof batch),
                    gnn_format_bytes(thread->s->sizes.dedupe_bytes, map, sizeof map));
}

/* ---- bundles ---- */

static uint64_t with_margin(uint64_t bytes)
{
    return bytes + bytes / 8;
}

static bool cache_holds_all(const struct rs_thread *thread)
{
    return thread->s->sizes.cache_bytes > thread->s->env->dataset->indices_bytes;
}

/* Returns how many of `left` batches make the next bundle: as many as fit if they are like the largest so far, the
 * bundles of about equal size. */
static uint32_t bundle_of(const struct rs_thread *thread, uint32_t left)
{
    const struct ringsampler_config *const c = thread->s->config;
    const uint64_t one =
        with_margin(thread->batch_bytes_peak) + with_margin(thread->hop_targets_peak * sizeof(uint64_t));
    uint64_t most = c->bundle;
    assert(left > 0);
    if (c->io != RS_IO_SORTED)
        most = 1;
    else if (most == 0)
        most = thread->batch_bytes_peak == 0 || cache_holds_all(thread) ? 1 : thread->rest_bytes / one;
    most = gnn_min_u64(gnn_max_u64(most, 1), RS_BUNDLE_MAX);
    return (uint32_t)gnn_div_up(left, gnn_div_up(left, most));
}

/* Entries get the part of the rest that targets had of the largest batch so far. Before the first batch it is half: 4 B
 * of blocks and 8 B of entries a sample of the largest hop, and the other hops. */
static uint64_t entries_share(const struct rs_thread *thread)
{
    if (thread->s->config->io != RS_IO_SORTED)
        return 0;
    const uint64_t entry_bytes = thread->hop_targets_peak * sizeof(uint64_t), batch_bytes = thread->batch_bytes_peak;
    uint64_t share = thread->rest_bytes / 2;
    if (batch_bytes > 0)
        share = (uint64_t)((double)thread->rest_bytes * (double)entry_bytes / (double)(entry_bytes + batch_bytes));
    return gnn_round_down(gnn_max_u64(share, RS_ENTRIES_BYTES_MIN), sizeof(uint64_t));
}

/* Divides the rest of the workspace among the next bundle of `left` batches, in equal ranges, and the entries of its
 * sorts. Returns the batches of the bundle. */
static uint32_t lay_out(struct rs_thread *thread, uint32_t left)
{
    const uint32_t count = bundle_of(thread, left);
    const uint64_t entries_bytes = entries_share(thread);
    assert(entries_bytes <= thread->rest_bytes);
    const uint64_t batch_bytes = gnn_round_down((thread->rest_bytes - entries_bytes) / count, GNN_ARENA_ALIGN_BYTES);
    for (uint32_t i = 0; i < count; i++) {
        thread->batches[i].memory = thread->rest + i * batch_bytes;
        thread->batches[i].size_bytes = batch_bytes;
    }
    thread->entries = (uint64_t *)(void *)(thread->rest + gnn_round_down(thread->rest_bytes - entries_bytes, 8));
    thread->entry_capacity = entries_bytes / sizeof(uint64_t);
    return count;
}

static uint32_t lay_out_with_full_map(struct rs_thread *thread, uint32_t left)
{
    if (thread->pairs == NULL)
        divide_workspace(thread, thread->s->sizes.map_slots);
    return lay_out(thread, left);
}

/* Divides the whole workspace for the next of `left` batches. After the first batch the map gets the size that batches
 * need, and a bundle what it leaves. Returns the batches of the bundle. */
static uint32_t lay_out_bundle(struct rs_thread *thread, uint32_t left)
{
    if (thread->s->config->io == RS_IO_SORTED && left > 1 && thread->map_peak > 0) {
        const uint64_t slots = gnn_id_map_sized_slots(with_margin(thread->map_peak) + 2);
        divide_workspace(thread, gnn_min_u64(slots, thread->s->sizes.map_slots));
        const uint32_t count = lay_out(thread, left);
        if (count > 1)
            return count;
    }
    return lay_out_with_full_map(thread, left);
}

/* Samples batches first, first + step … (count of them) together; then alone, with a map of full size, those that did
 * not fit beside others. */
static enum gnn_status sample_bundle(struct rs_thread *thread, uint32_t first, uint32_t count, uint32_t step,
                                     struct gnn_err *err)
{
    uint32_t put_off[RS_BUNDLE_MAX], put_off_count = 0;
    for (uint32_t i = 0; i < count; i++)
        GNN_TRY(begin_batch(thread, &thread->batches[i], first + i * step, err));
    GNN_TRY(sample_together(thread, thread->batches, count, err));
    for (uint32_t i = 0; i < count; i++)
        if (thread->batches[i].full)
            put_off[put_off_count++] = first + i * step;
    for (uint32_t i = 0; i < put_off_count; i++) {
        (void)lay_out_with_full_map(thread, 1);
        GNN_TRY(rs_sample_one(thread, &thread->batches[0], put_off[i], err));
    }
    thread->deferred_batches += put_off_count;
    return GNN_OK;
}

enum gnn_status rs_thread_run(struct rs_thread *thread, uint32_t first, uint32_t count, uint32_t step, uint64_t *items,
                              struct gnn_err *err)
{
    for (uint32_t done = 0; done < count;) {
        const uint32_t bundle = lay_out_bundle(thread, count - done);
        assert(bundle <= count - done);
        if (bundle == 1)
            GNN_TRY(rs_sample_one(thread, &thread->batches[0], first + done * step, err));
        else
            GNN_TRY(sample_bundle(thread, first + done * step, bundle, step, err));
        thread->bundle_peak = gnn_max_u64(thread->bundle_peak, bundle);
        done += bundle;
        *items += bundle;
    }
    return GNN_OK;
}

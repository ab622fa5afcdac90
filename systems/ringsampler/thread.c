/* A sampling thread: what it owns, and how it gets through its batches. Threads share nothing they write, but for the
 * cache (sector_cache.h), and never wait for one another (paper, section 3.1, "Eliminating thread synchronization").
 *
 * With io=sorted a thread samples several batches together, hop by hop, so that one sweep over the edge file serves
 * them all: a bundle. How many fit is known after the first batch, from what it took; a batch that outgrows its share
 * is put off and sampled alone with the whole workspace. What a batch holds depends on none of this. */
#include "systems/ringsampler/ringsampler.h"

#include "harness/base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- open, close ---- */

/* The ID map takes the front of the workspace, entries and batches get the rest. Slots that were something else's are
 * zeroed. */
static void divide(struct rs_thread *thread, uint64_t slots)
{
    const struct rs_sizes *const z = &thread->s->sizes;
    if (slots > thread->map.memory_slots)
        memset(thread->map.slots + thread->map.memory_slots, 0,
               (slots - thread->map.memory_slots) * sizeof *thread->map.slots);
    thread->map.memory_slots = slots;
    const uint64_t map_bytes = gnn_round_up(slots * sizeof *thread->map.slots, GNN_ARENA_ALIGN_BYTES);
    thread->rest = (unsigned char *)thread->workspace + map_bytes;
    thread->rest_bytes = z->workspace_bytes - map_bytes;
}

static enum gnn_status open_workspace(struct rs_thread *thread, struct gnn_err *err)
{
    const struct rs_sizes *const z = &thread->s->sizes;
    struct gnn_world *const world = thread->s->env->world;
    GNN_TRY(gnn_mem_alloc(world, "ringsampler workspace", z->workspace_bytes, GNN_MEM_PLAIN, &thread->workspace, err));
    if (thread->s->config->dedupe == RS_DEDUPE_HASH) {
        gnn_id_map_init_sized(&thread->map, thread->workspace, z->map_slots);
        divide(thread, z->map_slots);
    } else {
        thread->pairs = thread->workspace;
        thread->pair_capacity = z->dedupe_bytes / (sizeof(uint64_t) + sizeof(uint32_t)) / 2 * 2;
        thread->rest = (unsigned char *)thread->workspace + z->dedupe_bytes;
        thread->rest_bytes = z->workspace_bytes - z->dedupe_bytes;
    }
    thread->entries = (uint64_t *)(void *)thread->rest; /* with training batches lie elsewhere */
    thread->entry_capacity = thread->rest_bytes / sizeof *thread->entries;
    if (z->release_bytes > 0) {
        GNN_TRY(gnn_mem_alloc(world, "ringsampler release workspaces", z->release_bytes, GNN_MEM_PLAIN,
                              &thread->release_ballast, err));
        memset(thread->release_ballast, 1, z->release_bytes); /* a page nobody touched is not charged */
    }
    return GNN_OK;
}

enum gnn_status rs_thread_open(struct ringsampler *s, struct rs_thread *thread, struct gnn_err *err)
{
    const struct gnn_env *const env = s->env;
    const unsigned flags = s->config->io == RS_IO_DIRECT || s->config->io == RS_IO_SORTED ? GNN_OPEN_DIRECT
                           : s->config->io == RS_IO_BUFFERED_RANDOM                       ? GNN_OPEN_RANDOM
                                                                                          : 0;
    thread->s = s;
    thread->batches = calloc(RS_BUNDLE_MAX, sizeof *thread->batches);
    if (thread->batches == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ringsampler: bundle of a thread");
    GNN_TRY(open_workspace(thread, err));
    if (s->config->io == RS_IO_MAPPED)
        return rs_mapped_open(thread, &thread->fetch, err);
    GNN_TRY(gnn_file_open(env->world, env->dataset->indices_path, GNN_OPEN_READ | flags, &thread->file, err));
    return (s->config->io == RS_IO_SORTED ? rs_sorted_open : rs_grouped_open)(thread, &thread->fetch, err);
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

static enum gnn_status run_hop(struct rs_thread *thread, struct rs_batch *batches, uint32_t count, uint32_t l,
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
    n->batch_digest += b->digest;
    uint64_t nodes = b->seed_count;
    for (uint32_t l = 0; l < b->hop_count; l++) {
        const struct rs_hop *const hop = &b->hops[l];
        n->sampled_edges += hop->sample_count;
        nodes += hop->node_count - hop->target_count;
        thread->frontier_nodes += hop->target_count;
        if (hop->target_count > thread->hop_targets_peak)
            thread->hop_targets_peak = hop->target_count;
    }
    n->sampled_nodes += nodes; /* frontier=neighbours: new in their hop, a node may be so in several */
    if (b->low_bytes + b->high_bytes > thread->batch_bytes_peak)
        thread->batch_bytes_peak = b->low_bytes + b->high_bytes;
}

enum gnn_status rs_sample(struct rs_thread *thread, struct rs_batch *batches, uint32_t count, struct gnn_err *err)
{
    assert(count > 0 && count <= RS_BUNDLE_MAX);
    thread->map_holds = NULL; /* the same memory, other batches */
    for (uint32_t l = 0; l < thread->s->env->workload->layers; l++) {
        GNN_TRY(gnn_check_stop(thread->s->env, err));
        GNN_TRY(run_hop(thread, batches, count, l, err));
    }
    for (uint32_t i = 0; i < count; i++)
        if (!batches[i].full) {
            rs_batch_end(&batches[i], thread->epoch, thread->s->config->frontier == RS_FRONTIER_ALL);
            count_batch(thread, &batches[i]);
        }
    return GNN_OK;
}

static enum gnn_status begin(struct rs_thread *thread, struct rs_batch *b, uint32_t number, struct gnn_err *err)
{
    uint32_t count;
    const gnn_node *const seeds = rs_seeds(thread->s, number, &count);
    return rs_batch_begin(thread, b, number, seeds, count, err);
}

enum gnn_status rs_sample_one(struct rs_thread *thread, struct rs_batch *b, uint32_t number, struct gnn_err *err)
{
    GNN_TRY(begin(thread, b, number, err));
    GNN_TRY(rs_sample(thread, b, 1, err));
    if (!b->full)
        return GNN_OK;
    char batch[32], map[32];
    return gnn_fail(err, GNN_ECAP,
                    "ringsampler: mini-batch %" PRIu32 " does not fit the %s its thread keeps for blocks and the %s "
                    "for dedupe: raise --memory or ringsampler.workspace, or lower ringsampler.threads, --batch or "
                    "--fanout",
                    number, gnn_format_bytes(b->size_bytes, batch, sizeof batch),
                    gnn_format_bytes(thread->s->sizes.dedupe_bytes, map, sizeof map));
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

static bool cache_holds_all(const struct rs_thread *thread)
{
    return thread->s->sizes.cache_bytes > thread->s->env->dataset->edge_count * sizeof(gnn_node);
}

/* As many of `left` batches as fit if they are like the largest so far, the bundles of about equal size. */
static uint32_t bundle_of(const struct rs_thread *thread, uint32_t left)
{
    const struct ringsampler_config *const c = thread->s->config;
    const uint64_t one =
        with_margin(thread->batch_bytes_peak) + with_margin(thread->hop_targets_peak * sizeof(uint64_t));
    uint64_t most = c->bundle;
    if (c->io != RS_IO_SORTED)
        most = 1;
    else if (most == 0)
        most = thread->batch_bytes_peak == 0 || cache_holds_all(thread) ? 1 : thread->rest_bytes / one;
    most = most < 1 ? 1 : most > RS_BUNDLE_MAX ? RS_BUNDLE_MAX : most;
    const uint64_t bundles = (left + most - 1) / most;
    return (uint32_t)((left + bundles - 1) / bundles);
}

static struct shares share(const struct rs_thread *thread, uint32_t left)
{
    struct shares s = {.count = bundle_of(thread, left)};
    if (thread->s->config->io == RS_IO_SORTED) {
        const uint64_t entry_bytes = thread->hop_targets_peak * sizeof(uint64_t), batch = thread->batch_bytes_peak;
        /* Of batches not seen yet: 4 B of blocks and 8 B of entries a sample of the largest hop, and the other hops. */
        s.entries_bytes =
            batch == 0 ? thread->rest_bytes / 2
                       : (uint64_t)((double)thread->rest_bytes * (double)entry_bytes / (double)(entry_bytes + batch));
        if (s.entries_bytes < RS_ENTRIES_BYTES_MIN)
            s.entries_bytes = RS_ENTRIES_BYTES_MIN;
        s.entries_bytes = gnn_round_down(s.entries_bytes, sizeof(uint64_t));
    }
    assert(s.entries_bytes <= thread->rest_bytes);
    s.batch_bytes = gnn_round_down((thread->rest_bytes - s.entries_bytes) / s.count, GNN_ARENA_ALIGN_BYTES);
    return s;
}

static void lay_out(struct rs_thread *thread, const struct shares *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        thread->batches[i].memory = thread->rest + i * s->batch_bytes;
        thread->batches[i].size_bytes = s->batch_bytes;
    }
    thread->entries = (uint64_t *)(void *)(thread->rest + gnn_round_down(thread->rest_bytes - s->entries_bytes, 8));
    thread->entry_capacity = s->entries_bytes / sizeof(uint64_t);
}

static void full_map(struct rs_thread *thread)
{
    if (thread->pairs == NULL)
        divide(thread, thread->s->sizes.map_slots);
}

/* After the first batch the map is as large as batches need it, and a bundle gets what it leaves. */
static struct shares share_rest(struct rs_thread *thread, uint32_t left)
{
    if (thread->s->config->io == RS_IO_SORTED && left > 1 && thread->map_peak > 0) {
        const uint64_t slots = gnn_id_map_sized_slots(with_margin(thread->map_peak) + 2);
        divide(thread, slots < thread->s->sizes.map_slots ? slots : thread->s->sizes.map_slots);
        const struct shares s = share(thread, left);
        if (s.count > 1)
            return s;
    }
    full_map(thread);
    return share(thread, left);
}

/* Those that did not fit beside others, one by one, with a map of full size. */
static enum gnn_status sample_put_off(struct rs_thread *thread, const uint32_t *numbers, uint32_t count,
                                      struct gnn_err *err)
{
    for (uint32_t i = 0; i < count; i++) {
        full_map(thread);
        const struct shares alone = share(thread, 1);
        lay_out(thread, &alone);
        GNN_TRY(rs_sample_one(thread, &thread->batches[0], numbers[i], err));
        thread->deferred_batches++;
    }
    return GNN_OK;
}

enum gnn_status rs_thread_run(struct rs_thread *thread, uint32_t first, uint32_t count, uint32_t step, uint64_t *items,
                              struct gnn_err *err)
{
    for (uint32_t done = 0; done < count;) {
        const struct shares s = share_rest(thread, count - done);
        lay_out(thread, &s);
        if (s.count == 1) {
            GNN_TRY(rs_sample_one(thread, &thread->batches[0], first + done * step, err));
        } else {
            uint32_t put_off[RS_BUNDLE_MAX], put_off_count = 0;
            for (uint32_t i = 0; i < s.count; i++)
                GNN_TRY(begin(thread, &thread->batches[i], first + (done + i) * step, err));
            GNN_TRY(rs_sample(thread, thread->batches, s.count, err));
            for (uint32_t i = 0; i < s.count; i++)
                if (thread->batches[i].full)
                    put_off[put_off_count++] = first + (done + i) * step;
            GNN_TRY(sample_put_off(thread, put_off, put_off_count, err));
        }
        if (s.count > thread->bundle_peak)
            thread->bundle_peak = s.count;
        done += s.count;
        *items += s.count;
    }
    return GNN_OK;
}

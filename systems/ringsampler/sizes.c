/* SPDX-License-Identifier: MIT */
/* Bounds of a mini-batch and what memory follows from them: nothing is allocated after open.
 * Source   paper, sections 3.1 (workspaces) and 4.3 (memory); the blocks of all hops are kept, which the release does
 *          not */
#include "harness/base/arena.h"
#include "harness/sample/batch.h"
#include "harness/system/extraction.h"
#include "harness/system/training.h"
#include "systems/ringsampler/fetch.h"
#include "systems/ringsampler/ringsampler.h"
#include "systems/ringsampler/sector_cache.h"
#include "systems/ringsampler/training.h"

#include <assert.h>
#include <inttypes.h>

enum {
    SECTOR_BYTES = 4096, /* of direct reads, before the file is open */
    PAIR_BYTES = sizeof(uint64_t) + sizeof(uint32_t),
    RING_ENTRY_BYTES = 100, /* the kernel's side: 64 B an entry, two completions of 16 B */
    /* of the released code */
    RELEASE_READ_BYTES = 24 + 32,
    RELEASE_READS_PER_SEED = 3000 + 1,
};
static const uint64_t slack_bytes = UINT64_C(16) << 20; /* page tables, the program, the kernel's objects; at most */

/* ---- refusals ---- */

static enum gnn_status check_options(const struct gnn_env *env, const struct ringsampler_config *c, struct gnn_err *err)
{
    const bool grouped = c->io != RS_IO_MAPPED && c->io != RS_IO_SORTED;
    for (uint32_t l = 0; grouped && l < env->workload->layers; l++)
        if (env->workload->fanout[l] > c->ring)
            return gnn_fail(err, GNN_EUSAGE,
                            "ringsampler.ring=%" PRIu32 " is below the fan-out %" PRIu32 " of hop %" PRIu32
                            ", but one target's reads must fit into the ring: raise ringsampler.ring",
                            c->ring, env->workload->fanout[l], l + 1);
    if (c->extent_bytes > c->read_buffer_bytes / 2)
        return gnn_fail(
            err, GNN_EUSAGE,
            "ringsampler.extent must be at most half of ringsampler.read_buffer: lower one or raise the other");
    if (c->requests > 0 && !env->workload->sample_only)
        return gnn_fail(err, GNN_EUSAGE,
                        "ringsampler.requests serves samples on demand and trains nothing: add --sample-only");
    if (env->workload->sample_only)
        return GNN_OK;
    if (c->frontier == RS_FRONTIER_NEIGHBOURS)
        return gnn_fail(err, GNN_EUSAGE,
                        "ringsampler.frontier=neighbours drops the targets, which a model needs as input: set "
                        "ringsampler.frontier=all or add --sample-only");
    if (c->replace)
        return gnn_fail(err, GNN_EUSAGE,
                        "ringsampler.replace can draw a neighbour twice, which training does not support: set "
                        "ringsampler.replace=false or add --sample-only");
    if (c->split == RS_SPLIT_RELEASE)
        return gnn_fail(err, GNN_EUSAGE,
                        "ringsampler.split=release repeats seeds, but training uses each seed once: choose another "
                        "split or add --sample-only");
    return GNN_OK;
}

/* ---- bounds ---- */

/* Of any mini-batch. */
struct bounds {
    uint64_t nodes;       /* local IDs */
    uint64_t targets;     /* of the hop with most */
    uint64_t samples;     /* likewise */
    uint64_t batch_bytes; /* nodes and blocks of all hops */
};

static void add_hop(struct bounds *bounds, uint64_t targets, uint64_t samples)
{
    bounds->targets = gnn_max_u64(bounds->targets, targets);
    bounds->samples = gnn_max_u64(bounds->samples, samples);
    bounds->batch_bytes += (targets + 1 + samples) * sizeof(uint32_t);
}

static enum gnn_status bound_frontier_all(const struct gnn_env *env, uint32_t seeds, struct bounds *out,
                                          struct gnn_err *err)
{
    const struct gnn_workload *const load = env->workload;
    struct gnn_sample_bounds sample;
    GNN_TRY(gnn_sample_bounds(env->dataset, seeds, load->fanout, load->layers, &sample, err));
    for (uint32_t l = 0; l < load->layers; l++)
        add_hop(out, sample.nodes[l], sample.edges[l + 1]);
    out->nodes = sample.nodes[load->layers];
    out->batch_bytes += out->nodes * sizeof(gnn_node);
    return GNN_OK;
}

static void bound_frontier_neighbours(const struct gnn_env *env, uint32_t seeds, struct bounds *out)
{
    const uint64_t node_count = env->dataset->node_count;
    uint64_t targets = seeds;
    for (uint32_t l = 0; l < env->workload->layers; l++) {
        const uint64_t samples = gnn_min_u64(targets * env->workload->fanout[l], env->dataset->edge_count);
        const uint64_t known = gnn_min_u64(targets + samples, node_count);
        add_hop(out, targets, samples);
        out->nodes = gnn_max_u64(out->nodes, known);
        out->batch_bytes += known * sizeof(gnn_node);
        targets = gnn_min_u64(samples, node_count);
    }
    /* The next targets and their marks. */
    out->batch_bytes += out->nodes * (sizeof(gnn_node) + 1) + GNN_ARENA_ALIGN_BYTES;
}

/* ---- what the cap leaves ---- */

static uint64_t engine_bytes(const struct ringsampler_config *c, uint32_t id_bytes)
{
    const uint64_t rings = c->ring * UINT64_C(2) * RING_ENTRY_BYTES;
    switch (c->io) {
    case RS_IO_MAPPED:
        return rs_mapped_bytes();
    case RS_IO_SORTED:
        return rings + rs_sorted_bytes(c);
    default:
        return rings + rs_grouped_bytes(c, id_bytes, SECTOR_BYTES);
    }
}

/* Adds what the run holds whatever the workspaces and batches are. */
static void plan_fixed_parts(const struct ringsampler_config *c, const struct rs_sizes *z, struct gnn_memory_plan *plan)
{
    const struct gnn_env *const env = plan->env;
    gnn_plan_part(plan, "ring buffers of the threads",
                  c->workspaces == RS_WORKSPACES_RELEASE
                      ? "ringsampler.workspaces=right"
                      : "ringsampler.ring, ringsampler.read_buffer or ringsampler.threads",
                  gnn_mul_bytes(z->threads, z->engine_bytes + z->release_bytes));
    gnn_plan_part(plan, "sector cache", "ringsampler.cache", z->cache_bytes);
    gnn_plan_part(plan, "order of the epoch", NULL, gnn_batch_order_bytes(env));
    if (env->workload->sample_only)
        return;
    gnn_plan_in_flight(plan, "inputs of two mini-batches", "--batch or --fanout",
                       gnn_mul_bytes(RS_INPUTS, gnn_plan_rows_bytes(plan)));
    gnn_train_input_plan(plan, c->transfer, 1, RS_INPUTS);
    gnn_training_plan(plan, GNN_PLAN_ALL_PHASES);
    gnn_plan_part(plan, "reads of feature rows in flight", "ringsampler.extract_depth",
                  gnn_extraction_bytes(env, c->extract_depth, c->feature_io == RS_FEATURES_DIRECT));
}

/* What a thread, and a mini-batch beside the threads, need so that the largest mini-batch fits. */
struct least_bytes {
    uint64_t dedupe, workspace, batch;
};

/* Without the targets, or with a neighbour drawn twice, a mini-batch is another than plans know: its bounds count. The
 * first bundle gives entries and batch half of what the dedupe leaves each (thread.c). */
static struct least_bytes least_bytes(const struct gnn_env *env, const struct ringsampler_config *c,
                                      const struct rs_sizes *z, const struct gnn_batch_size *largest)
{
    const uint32_t layers = env->workload->layers;
    const bool bounds = c->frontier != RS_FRONTIER_ALL || c->replace;
    const uint64_t nodes = largest->nodes[layers];
    struct least_bytes least = {.dedupe = z->dedupe_bound, .batch = z->batch_bound};
    uint64_t entries = z->entries_bytes;
    if (!bounds) {
        const uint64_t dedupe = c->dedupe == RS_DEDUPE_HASH
                                    ? gnn_id_map_sized_slots(nodes + 2) * sizeof(struct gnn_id_slot)
                                    : gnn_round_up((nodes + largest->edges + 4) * PAIR_BYTES, GNN_ARENA_ALIGN_BYTES);
        const uint64_t batch = gnn_batch_bytes(largest, layers) + layers * UINT64_C(2) * GNN_ARENA_ALIGN_BYTES;
        const uint64_t targets = gnn_max_u64(largest->nodes[layers - 1] * sizeof(uint64_t), RS_ENTRIES_BYTES_MIN);
        least.dedupe = gnn_min_u64(dedupe, z->dedupe_bound);
        least.batch = gnn_min_u64(batch, z->batch_bound);
        entries = gnn_min_u64(targets, z->entries_bytes);
    }
    assert(least.dedupe % GNN_ARENA_ALIGN_BYTES == 0);
    least.workspace = least.dedupe + entries;
    if (env->workload->sample_only)
        least.workspace = least.dedupe + (entries > 0 ? 2 * gnn_max_u64(entries, least.batch) : least.batch);
    least.workspace = gnn_round_up(gnn_max_u64(least.workspace, RS_WORKSPACE_BYTES_MIN), GNN_PAGE_BYTES);
    least.batch = gnn_round_up(least.batch, GNN_PAGE_BYTES);
    return least;
}

/* Gives the dedupe its bound, or about a third of a workspace that is too small for all bounds; where the workspace
 * holds what the largest mini-batch needs, neither the dedupe nor the rest gets less of it. */
static void divide_workspace(const struct ringsampler_config *c, struct rs_sizes *z, uint64_t bound_bytes,
                             const struct least_bytes *least)
{
    const uint64_t all = z->workspace_bytes;
    const bool enough = all >= least->workspace;
    const uint64_t needed = enough ? least->dedupe : 0, rest = enough ? least->workspace - least->dedupe : 0;
    if (all >= bound_bytes)
        return;
    if (c->dedupe == RS_DEDUPE_SORT) {
        const uint64_t most = gnn_min_u64(gnn_max_u64(all / 2, needed), all - rest);
        z->dedupe_bytes = gnn_min_u64(z->dedupe_bytes, most);
        return;
    }
    const uint64_t most = gnn_min_u64(gnn_max_u64(all / 3, needed), all - rest);
    while (z->map_slots > 16 && z->map_slots * sizeof(struct gnn_id_slot) > most)
        z->map_slots /= 2;
    z->dedupe_bytes = z->map_slots * sizeof(struct gnn_id_slot);
}

/* How many batches a workspace is sized for. */
static uint64_t bundle_wanted(const struct gnn_env *env, const struct ringsampler_config *c)
{
    if (c->io != RS_IO_SORTED || !env->workload->sample_only)
        return 1;
    return c->bundle > 0 ? c->bundle : env->cap_bytes > 0 ? RS_BUNDLE_MAX : 1;
}

/* Returns what the cap leaves workspaces and batches; UINT64_MAX without one. */
static uint64_t bytes_left(const struct gnn_env *env, const struct ringsampler_config *c, const struct rs_sizes *z)
{
    if (env->cap_bytes == 0)
        return UINT64_MAX;
    struct gnn_memory_plan plan;
    gnn_plan_begin(&plan, env);
    plan_fixed_parts(c, z, &plan);
    const uint64_t left = gnn_plan_left(&plan, 0), slack = gnn_min_u64(slack_bytes, env->cap_bytes / 16);
    return left > slack ? left - slack : 0;
}

/* Sizes workspaces and batches at their bounds; where the cap leaves less, at what the largest mini-batch needs and an
 * equal share of the way from there to the bounds. With training batches do not lie in the workspaces. */
static void choose_workspaces(const struct gnn_env *env, const struct ringsampler_config *c, struct rs_sizes *z)
{
    const bool only = env->workload->sample_only;
    const uint64_t fixed = z->dedupe_bytes + z->entries_bytes;
    const uint64_t batches = gnn_mul_bytes(bundle_wanted(env, c), z->batch_bytes + z->entries_bytes);
    struct gnn_batch_size largest;
    gnn_batch_largest(env->dataset, env->workload, &largest);
    const struct least_bytes least = least_bytes(env, c, z, &largest);
    uint64_t least_workspace = least.workspace, item = gnn_max_u64(z->batch_bytes, least.batch);
    uint64_t workspace = gnn_max_u64(only ? gnn_add_bytes(z->dedupe_bytes, batches) : fixed, least.workspace);
    if (c->workspace_bytes > 0)
        workspace = least_workspace = c->workspace_bytes;
    const uint64_t there = bytes_left(env, c, z);
    const uint64_t wanted = gnn_add_bytes(gnn_mul_bytes(z->threads, workspace), gnn_mul_bytes(z->items, item));
    const uint64_t needed =
        gnn_add_bytes(gnn_mul_bytes(z->threads, least_workspace), gnn_mul_bytes(z->items, least.batch));
    if (wanted > there) {
        const double share = there > needed ? (double)(there - needed) / (double)(wanted - needed) : 0;
        workspace = least_workspace + (uint64_t)((double)(workspace - least_workspace) * share);
        item = least.batch + (uint64_t)((double)(item - least.batch) * share);
    }
    z->workspace_bytes = gnn_round_up(gnn_max_u64(workspace, RS_WORKSPACE_BYTES_MIN), GNN_PAGE_BYTES);
    z->batch_bytes = gnn_round_up(item, GNN_PAGE_BYTES);
    divide_workspace(c, z, only ? fixed + z->batch_bound : fixed, &least);
    assert(z->dedupe_bytes <= z->workspace_bytes);
    assert(z->dedupe_bytes % GNN_ARENA_ALIGN_BYTES == 0); /* what lies behind it begins a cache line */
    assert(z->batch_bound % GNN_ARENA_ALIGN_BYTES == 0);
}

enum gnn_status rs_size(const struct gnn_env *env, const struct ringsampler_config *c, struct rs_sizes *z,
                        struct gnn_err *err)
{
    const struct gnn_workload *const load = env->workload;
    struct bounds bounds = {.nodes = 0};
    GNN_TRY(check_options(env, c, err));
    *z = (struct rs_sizes){.threads = c->requests > 0 ? c->concurrency : c->threads};
    z->seeds = c->requests > 0 ? 1 : gnn_min_u32(load->batch_size, env->dataset->train.count);
    if (c->frontier == RS_FRONTIER_ALL)
        GNN_TRY(bound_frontier_all(env, z->seeds, &bounds, err));
    else
        bound_frontier_neighbours(env, z->seeds, &bounds);
    z->batch_bytes = gnn_round_up(bounds.batch_bytes, GNN_ARENA_ALIGN_BYTES);
    if (c->io == RS_IO_SORTED)
        z->entries_bytes = gnn_max_u64(bounds.targets * sizeof(uint64_t), RS_ENTRIES_BYTES_MIN);
    z->map_slots = gnn_id_map_sized_slots(bounds.nodes + 2);
    z->dedupe_bytes = c->dedupe == RS_DEDUPE_HASH
                          ? z->map_slots * sizeof(struct gnn_id_slot)
                          : gnn_round_up((bounds.nodes + bounds.samples + 2) * PAIR_BYTES, GNN_ARENA_ALIGN_BYTES);
    z->dedupe_bound = z->dedupe_bytes;
    z->batch_bound = z->batch_bytes;
    z->engine_bytes = engine_bytes(c, env->dataset->id_bytes);
    if (c->workspaces == RS_WORKSPACES_RELEASE)
        z->release_bytes = (uint64_t)load->batch_size * RELEASE_READS_PER_SEED * RELEASE_READ_BYTES;
    if (c->io == RS_IO_SORTED)
        z->cache_bytes = rs_cache_bytes(env->dataset->edge_count, env->dataset->id_bytes, c->cache_bytes);
    z->items = load->sample_only ? 0 : c->prefetch * c->threads + 3;
    choose_workspaces(env, c, z);
    return GNN_OK;
}

void rs_plan_parts(const struct ringsampler_config *c, const struct rs_sizes *z, struct gnn_memory_plan *plan)
{
    const bool chosen = c->workspace_bytes > 0;
    const struct least_bytes least = least_bytes(plan->env, c, z, &plan->largest);
    gnn_plan_part(plan, "workspaces of the threads",
                  chosen ? "ringsampler.workspace or ringsampler.threads" : "ringsampler.threads, --batch or --fanout",
                  gnn_mul_bytes(z->threads, chosen ? z->workspace_bytes : least.workspace));
    plan_fixed_parts(c, z, plan);
    if (!plan->env->workload->sample_only)
        gnn_plan_in_flight(plan, "mini-batches in flight", "ringsampler.prefetch or ringsampler.threads",
                           gnn_mul_bytes(z->items, least.batch));
}

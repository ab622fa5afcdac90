/* Bounds of a mini-batch and what memory follows from them: nothing is allocated after open.
 * Source   specs/ringsampler.md section 5; the blocks of all hops are kept, which the release does not */
#include "systems/ringsampler/ringsampler.h"

#include "harness/base/units.h"
#include "harness/sample/batch.h"
#include "systems/ringsampler/sector_cache.h"

#include <inttypes.h>

enum { RELEASE_READ_BYTES = 24 + 32, RELEASE_READS_PER_SEED = 3000 + 1, SECTOR_BYTES = 4096 };
static const uint64_t slack_bytes = UINT64_C(16) << 20; /* page tables, the program, the kernel's objects; at most */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- refusals ---- */

static enum gnn_status check(const struct gnn_env *env, const struct ringsampler_config *c, struct gnn_err *err)
{
    const bool grouped = c->io != RS_IO_MAPPED && c->io != RS_IO_SORTED;
    for (uint32_t l = 0; grouped && l < env->workload->layers; l++)
        if (env->workload->fanout[l] > c->ring)
            return gnn_fail(err, GNN_EUSAGE,
                            "ringsampler.ring=%" PRIu32 " is below the fan-out %" PRIu32 " of hop %" PRIu32
                            ": one target's reads must fit the ring",
                            c->ring, env->workload->fanout[l], l + 1);
    if (c->extent_bytes > c->read_buffer_bytes / 2)
        return gnn_fail(err, GNN_EUSAGE, "ringsampler.extent must be at most half of ringsampler.read_buffer");
    if (c->requests > 0 && !env->workload->sample_only)
        return gnn_fail(err, GNN_EUSAGE, "ringsampler.requests serves samples on demand: add --sample-only");
    if (env->workload->sample_only)
        return GNN_OK;
    if (c->frontier == RS_FRONTIER_NEIGHBOURS)
        return gnn_fail(err, GNN_EUSAGE,
                        "ringsampler.frontier=neighbours drops the targets, and a model has no input for them: set "
                        "ringsampler.frontier=all or add --sample-only");
    if (c->replace)
        return gnn_fail(err, GNN_EUSAGE,
                        "ringsampler.replace draws a neighbour twice, which blocks for training do not hold: set "
                        "ringsampler.replace=false or add --sample-only");
    if (c->split == RS_SPLIT_RELEASE)
        return gnn_fail(err, GNN_EUSAGE,
                        "ringsampler.split=release repeats seeds: training wants each once; add --sample-only");
    return GNN_OK;
}

/* ---- bounds ---- */

static enum gnn_status bound_all(const struct gnn_env *env, struct rs_sizes *z, uint64_t *nodes, struct gnn_err *err)
{
    const struct gnn_workload *const load = env->workload;
    struct gnn_sample_bounds bounds;
    GNN_TRY(gnn_sample_bounds(env->dataset, z->seeds, load->fanout, load->layers, &bounds, err));
    *nodes = bounds.nodes[load->layers];
    z->batch_bytes = *nodes * sizeof(gnn_node);
    for (uint32_t l = 0; l < load->layers; l++) {
        z->targets[l] = bounds.nodes[l];
        z->samples[l] = bounds.edges[l + 1];
    }
    return GNN_OK;
}

static void bound_neighbours(const struct gnn_env *env, struct rs_sizes *z, uint64_t *nodes)
{
    const uint64_t node_count = env->dataset->node_count;
    uint64_t targets = z->seeds, widest = 0;
    for (uint32_t l = 0; l < env->workload->layers; l++) {
        z->targets[l] = (uint32_t)targets;
        z->samples[l] = least(targets * env->workload->fanout[l], env->dataset->edge_count);
        const uint64_t known = least(targets + z->samples[l], node_count);
        z->batch_bytes += known * sizeof(gnn_node);
        widest = known > widest ? known : widest;
        targets = least(z->samples[l], node_count);
    }
    *nodes = widest;
    z->batch_bytes += widest * (sizeof(gnn_node) + 1) + GNN_ARENA_ALIGN_BYTES; /* the next targets and their marks */
}

/* Blocks, entries and the dedupe's memory follow from targets and samples. */
static void add_up(const struct ringsampler_config *c, uint32_t layers, uint64_t nodes, struct rs_sizes *z)
{
    uint64_t largest_hop = 0, most_targets = 0;
    for (uint32_t l = 0; l < layers; l++) {
        z->batch_bytes += (z->targets[l] + UINT64_C(1) + z->samples[l]) * sizeof(uint32_t);
        largest_hop = z->samples[l] > largest_hop ? z->samples[l] : largest_hop;
        most_targets = z->targets[l] > most_targets ? z->targets[l] : most_targets;
    }
    z->batch_bytes = gnn_round_up(z->batch_bytes, GNN_ARENA_ALIGN_BYTES);
    z->entries_bytes = c->io != RS_IO_SORTED ? 0 : most_targets * sizeof(uint64_t);
    if (c->io == RS_IO_SORTED && z->entries_bytes < RS_ENTRIES_BYTES_MIN)
        z->entries_bytes = RS_ENTRIES_BYTES_MIN;
    z->map_slots = gnn_id_map_sized_slots(nodes + 2);
    z->dedupe_bytes =
        c->dedupe == RS_DEDUPE_HASH
            ? z->map_slots * sizeof(struct gnn_id_slot)
            : gnn_round_up((nodes + largest_hop + 2) * (sizeof(uint64_t) + sizeof(uint32_t)), GNN_ARENA_ALIGN_BYTES);
}

/* ---- what is there ---- */

static uint64_t engine_bytes(const struct ringsampler_config *c)
{
    const uint64_t rings = c->ring * UINT64_C(2) * 100; /* the kernel's side: 64 B an entry, 16 B a completion */
    switch (c->io) {
    case RS_IO_MAPPED:
        return rs_mapped_bytes();
    case RS_IO_SORTED:
        return rings + rs_sorted_bytes(c);
    default:
        return rings + rs_grouped_bytes(c, SECTOR_BYTES);
    }
}

/* What the run holds whatever the workspaces are. */
static uint64_t rest_of_run(const struct gnn_env *env, const struct ringsampler_config *c, const struct rs_sizes *z,
                            const struct gnn_batch_size *size)
{
    struct gnn_memory_plan run;
    gnn_plan_begin(&run, env);
    const uint64_t order = env->dataset->train.count * (uint64_t)sizeof(gnn_node);
    uint64_t sum = gnn_add_bytes(gnn_plan_bytes(&run), order);
    sum = gnn_add_bytes(sum, gnn_mul_bytes(z->threads, z->engine_bytes + z->release_bytes));
    sum = gnn_add_bytes(sum, z->cache_bytes);
    if (env->workload->sample_only)
        return sum;
    const uint64_t inputs =
        gnn_mul_bytes(size->nodes[env->workload->layers], RS_INPUTS * (uint64_t)env->dataset->row_bytes);
    const uint64_t reader = gnn_extraction_bytes(env, c->extract_depth, c->feature_io == RS_FEATURES_DIRECT);
    return gnn_add_bytes(gnn_add_bytes(sum, inputs), reader);
}

/* What a thread and a batch need at the sizes a batch is expected to have. */
static void expected_bytes(const struct gnn_env *env, const struct ringsampler_config *c, const struct rs_sizes *z,
                           const struct gnn_batch_size *size, uint64_t *thread, uint64_t *batch)
{
    const uint32_t layers = env->workload->layers;
    const uint64_t nodes = size->nodes[layers], slots = gnn_id_map_sized_slots(nodes + 2);
    const uint64_t map = slots * sizeof(struct gnn_id_slot), pairs = (nodes + size->edges) * 12;
    *batch = least(gnn_batch_bytes(size, layers), z->batch_bytes);
    *thread = least(c->dedupe == RS_DEDUPE_HASH ? map : pairs, z->dedupe_bytes) +
              least(c->io == RS_IO_SORTED ? nodes * sizeof(uint64_t) + RS_ENTRIES_BYTES_MIN : 0, z->entries_bytes);
}

/* The dedupe gets its bound, or about a third of a workspace that is too small for all bounds. */
static void divide(const struct ringsampler_config *c, struct rs_sizes *z, uint64_t bound_bytes)
{
    if (z->workspace_bytes >= bound_bytes)
        return;
    if (c->dedupe == RS_DEDUPE_SORT) {
        z->dedupe_bytes = gnn_round_down(least(z->dedupe_bytes, z->workspace_bytes / 2), GNN_ARENA_ALIGN_BYTES);
        return;
    }
    while (z->map_slots > 16 && z->map_slots * sizeof(struct gnn_id_slot) > z->workspace_bytes / 3)
        z->map_slots /= 2;
    z->dedupe_bytes = z->map_slots * sizeof(struct gnn_id_slot);
}

/* Workspaces at their bounds, or less where the cap leaves less: in proportion, never below what is expected. */
static void choose(const struct gnn_env *env, const struct ringsampler_config *c, struct rs_sizes *z)
{
    struct gnn_batch_size size;
    uint64_t thread_min, batch_min;
    gnn_batch_expect(env->dataset, env->workload, &size);
    expected_bytes(env, c, z, &size, &thread_min, &batch_min);
    const bool only = env->workload->sample_only;
    const uint64_t fixed = z->dedupe_bytes + z->entries_bytes;
    const uint64_t bundle = c->io != RS_IO_SORTED || !only ? 1
                            : c->bundle > 0                ? c->bundle
                            : env->cap_bytes > 0           ? RS_BUNDLE_MAX
                                                           : 1;
    uint64_t thread =
        only ? gnn_add_bytes(z->dedupe_bytes, gnn_mul_bytes(bundle, z->batch_bytes + z->entries_bytes)) : fixed;
    const uint64_t bound = only ? fixed + z->batch_bytes : fixed;
    uint64_t item = z->batch_bytes;
    const uint64_t wanted = gnn_add_bytes(gnn_mul_bytes(z->threads, thread), gnn_mul_bytes(z->items, item));
    if (env->cap_bytes > 0) {
        const uint64_t rest = gnn_add_bytes(rest_of_run(env, c, z, &size), least(slack_bytes, env->cap_bytes / 16));
        const uint64_t there = env->cap_bytes > rest ? env->cap_bytes - rest : 0;
        if (wanted > there) {
            const double share = (double)there / (double)wanted;
            thread = (uint64_t)((double)thread * share);
            item = (uint64_t)((double)item * share);
        }
        const uint64_t thread_least = thread_min + (only ? batch_min : 0);
        thread = thread < thread_least ? thread_least : thread;
        item = item < batch_min ? batch_min : item;
    }
    if (c->workspace_bytes > 0)
        thread = c->workspace_bytes;
    z->workspace_bytes =
        gnn_round_up(thread < RS_WORKSPACE_BYTES_MIN ? RS_WORKSPACE_BYTES_MIN : thread, GNN_PAGE_BYTES);
    z->batch_bytes = gnn_round_up(item, GNN_PAGE_BYTES);
    divide(c, z, bound);
}

enum gnn_status rs_size(const struct gnn_env *env, const struct ringsampler_config *c, struct rs_sizes *z,
                        struct gnn_err *err)
{
    const struct gnn_workload *const load = env->workload;
    uint64_t nodes = 0;
    GNN_TRY(check(env, c, err));
    *z = (struct rs_sizes){.threads = c->requests > 0 ? c->concurrency : c->threads};
    z->seeds = c->requests > 0 ? 1 : (uint32_t)least(load->batch_size, env->dataset->train.count);
    if (c->frontier == RS_FRONTIER_ALL)
        GNN_TRY(bound_all(env, z, &nodes, err));
    else
        bound_neighbours(env, z, &nodes);
    add_up(c, load->layers, nodes, z);
    z->engine_bytes = engine_bytes(c);
    z->release_bytes = c->workspaces == RS_WORKSPACES_RIGHT
                           ? 0
                           : (uint64_t)load->batch_size * RELEASE_READS_PER_SEED * RELEASE_READ_BYTES;
    z->cache_bytes = c->io == RS_IO_SORTED ? rs_cache_bytes(env->dataset->edge_count, c->cache_bytes) : 0;
    z->items = load->sample_only ? 0 : c->prefetch * c->threads + 3;
    choose(env, c, z);
    return GNN_OK;
}

void rs_plan_parts(const struct ringsampler_config *c, const struct rs_sizes *z, struct gnn_memory_plan *plan)
{
    const struct gnn_env *env = plan->env;
    uint64_t thread_min, batch_min;
    expected_bytes(env, c, z, &plan->batch, &thread_min, &batch_min);
    if (env->workload->sample_only)
        thread_min += batch_min;
    if (c->workspace_bytes > 0)
        thread_min = z->workspace_bytes;
    gnn_plan_part(plan, "workspaces of the threads",
                  c->workspace_bytes > 0 ? "ringsampler.workspace or ringsampler.threads"
                                         : "ringsampler.threads, --batch or --fanout",
                  gnn_mul_bytes(z->threads, thread_min));
    gnn_plan_part(plan, "ring buffers of the threads",
                  c->workspaces == RS_WORKSPACES_RELEASE
                      ? "ringsampler.workspaces=right"
                      : "ringsampler.ring, ringsampler.read_buffer or ringsampler.threads",
                  gnn_mul_bytes(z->threads, z->engine_bytes + z->release_bytes));
    gnn_plan_part(plan, "sector cache", "ringsampler.cache", z->cache_bytes);
    gnn_plan_part(plan, "order of the epoch", NULL, env->dataset->train.count * (uint64_t)sizeof(gnn_node));
    if (env->workload->sample_only)
        return;
    gnn_plan_in_flight(plan, "mini-batches in flight", "ringsampler.prefetch or ringsampler.threads",
                       gnn_mul_bytes(z->items, batch_min));
    gnn_plan_in_flight(
        plan, "inputs of two mini-batches", "--batch or --fanout",
        gnn_mul_bytes(plan->batch.nodes[env->workload->layers], RS_INPUTS * (uint64_t)env->dataset->row_bytes));
    gnn_plan_part(plan, "reads of feature rows in flight", "ringsampler.extract_depth",
                  gnn_extraction_bytes(env, c->extract_depth, c->feature_io == RS_FEATURES_DIRECT));
}

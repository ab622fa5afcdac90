/* SPDX-License-Identifier: MIT */
/* Every size of Ginex from its configuration: superbatches, both caches, and the host memory of the phases, which
 * are never there together.
 *
 *     build     of the neighbour cache, before anything else is there: out-degrees, two scans, its writing
 *     passes    passes 1 and 2 of an inspection: the tables of belady.c and the node lists of the superbatch
 *     sampling  neighbour cache, trace buffers, and the tables while pass 3 runs beside it
 *     execute   address table, feature cache, two gathered inputs, batches read ahead from the trace
 *
 * The samplers and their batches are there in all but the first. */
#include "harness/system/plan.h"
#include "systems/ginex/superbatch.h"

#include <assert.h>
#include <inttypes.h>

enum {
    CAP_RESERVE = 16,    /* automatic caches leave 1/16 of the cap to the page cache */
    NO_CAP_SHARE = 10,   /* without a cap: a tenth of the features, a tenth of the topology (DiskGNN's rule) */
    FEATURE_SHARE = 75,  /* percent of the cap: 24 GB of 32 GB */
    NEIGHBOUR_SHARE = 19 /* percent of the cap: 6 GB of 32 GB */
};
_Static_assert(FEATURE_SHARE <= 100, "a share");
_Static_assert(NEIGHBOUR_SHARE <= 100, "a share");

enum { BUILD, PASSES, SAMPLING, EXECUTE }; /* phases of the plan */
enum { IN_INSPECT = 1 << PASSES | 1 << SAMPLING, IN_EPOCH = IN_INSPECT | 1 << EXECUTE };

static void add(struct gnn_memory_plan *plan, uint32_t phases, const char *name, const char *remedy, uint64_t bytes)
{
    gnn_plan_part(plan, name, remedy, bytes)->phases = phases;
}

static uint64_t less(uint64_t room, uint64_t used)
{
    return room > used ? room - used : 0;
}

/* Returns what an automatic cache may take in a phase of a plan with a cap. */
static uint64_t room_in(const struct gnn_memory_plan *plan, uint32_t phase)
{
    assert(plan->env->cap_bytes > 0);
    return less(gnn_plan_left(plan, phase), plan->env->cap_bytes / CAP_RESERVE);
}

/* ---- parts ---- */

struct ginex_cache_config ginex_cache_settings(const struct gnn_env *env, const struct ginex_config *config)
{
    return (struct ginex_cache_config){.node_count = env->dataset->node_count,
                                       .row_bytes = env->dataset->row_bytes,
                                       .unit_bytes = config->io == GINEX_IO_DIRECT ? (uint32_t)config->io_unit : 1,
                                       .workers = config->gather_threads};
}

static uint32_t superbatch_of(const struct gnn_env *env, const struct ginex_config *config)
{
    return gnn_min_u32(config->superbatch, gnn_whole_epoch_batches(env));
}

/* Phases in which the feature cache is there. One that outlives its Execute is there in the next Inspect, so only where
 * an epoch has a next one. */
static uint32_t cache_phases(const struct gnn_env *env, const struct ginex_config *config)
{
    const bool next = gnn_epoch_batches(env) > superbatch_of(env, config);
    return config->overlap_caches && next ? IN_EPOCH : 1 << EXECUTE;
}

/* Everything but the two caches and the inspection. */
static void add_fixed(struct gnn_memory_plan *plan, const struct ginex_config *config)
{
    const struct gnn_env *env = plan->env;
    const uint32_t layers = env->workload->layers, nodes = plan->largest.nodes[layers];
    const uint64_t batch = gnn_batch_reserved_bytes(env->dataset, env->workload);
    add(plan, IN_EPOCH, "samplers", "ginex.samplers",
        gnn_add_bytes(gnn_sampling_bytes(env, config->samplers),
                      gnn_mul_bytes(config->samplers, batch + (uint64_t)GINEX_LIST_BUFFER_BYTES)));
    if (env->workload->sample_only)
        return;
    const uint64_t batches =
        config->trace_loaders * (config->trace_queue + UINT64_C(1)) + ginex_trainer_batches(env, config);
    const uint64_t record =
        gnn_batch_bytes(&plan->largest, layers) + 3 * UINT64_C(4) * nodes + 3 * (uint64_t)GNN_PAGE_BYTES;
    const struct ginex_cache_config table = ginex_cache_settings(env, config); /* without a row */
    const uint64_t fill =
        config->fill == GINEX_FILL_DIRECT ? ginex_cache_fill_direct_bytes(env->dataset->row_bytes) : 0;
    add(plan, cache_phases(env, config), "address table and read windows", "ginex.gather_threads",
        gnn_add_bytes(ginex_cache_bytes(&table), fill));
    gnn_plan_in_flight(plan, "mini-batches read from the trace", "ginex.trace_loaders", gnn_mul_bytes(batches, record))
        ->phases = 1 << EXECUTE;
    gnn_plan_in_flight(plan, "gathered inputs", "--batch or --fanout",
                       gnn_mul_bytes(GINEX_INPUTS, gnn_plan_rows_bytes(plan)))
        ->phases = 1 << EXECUTE;
    gnn_train_input_plan(plan, config->transfer, 1, GINEX_INPUTS);
    gnn_training_plan(plan, 1 << EXECUTE);
}

/* The inspection of so many batches with so many accesses, nodes_max of them in the largest batch. */
static void add_inspection(struct gnn_memory_plan *plan, const struct ginex_config *config, uint32_t batches,
                           uint64_t accesses, uint32_t nodes_max)
{
    const struct ginex_belady_config tables = {.node_count = plan->env->dataset->node_count,
                                               .batches = batches,
                                               .accesses = accesses,
                                               .batch_nodes_max = nodes_max};
    const uint64_t readers =
        gnn_mul_bytes(config->id_readers + UINT64_C(1), gnn_span_room(nodes_max * sizeof(gnn_node)));
    add(plan, 1 << SAMPLING, "trace buffers", "ginex.trace_block or ginex.samplers",
        gnn_mul_bytes(2 * (uint64_t)config->samplers + 1, config->trace_block));
    if (plan->env->workload->sample_only)
        return;
    add(plan, IN_INSPECT, "inspection tables", "ginex.superbatch", gnn_add_bytes(ginex_belady_bytes(&tables), readers));
    add(plan, 1 << PASSES, "node ids of a superbatch", "ginex.superbatch or ginex.hold_ids=false",
        config->hold_ids ? gnn_mul_bytes(accesses, sizeof(gnn_node)) : 0);
}

/* The nodes the cache starts with cost 4 bytes a row beside the row, twice when they are listed by score. */
static uint64_t initial_bytes(const struct ginex_config *config)
{
    return config->initial == GINEX_INITIAL_SCORE ? 8 : 4;
}

static void add_feature_cache(struct gnn_memory_plan *plan, const struct ginex_config *config, uint64_t rows)
{
    add(plan, cache_phases(plan->env, config), "feature cache", "ginex.feature_cache",
        rows * plan->env->dataset->row_bytes);
    add(plan, IN_EPOCH, "initial nodes of the feature cache", "ginex.feature_cache", rows * initial_bytes(config));
}

static void add_neighbour_cache(struct gnn_memory_plan *plan, uint64_t bytes)
{
    if (bytes > 0)
        add(plan, 1 << SAMPLING, "neighbour cache", "ginex.neighbour_cache or ginex.cache_neighbours",
            gnn_add_bytes(bytes, 2 * (uint64_t)GNN_PAGE_BYTES));
}

/* The scan that both caches are chosen from, and the writing of the neighbour cache. */
static void add_build(struct gnn_memory_plan *plan, const struct ginex_config *config, const struct ginex_sizes *sizes)
{
    const uint32_t top_rows = ginex_top_rows(plan->env, config, sizes);
    if (sizes->neighbour_cache_bytes > 0 || top_rows > 0)
        add(plan, 1 << BUILD, "building of the neighbour cache", "ginex.cache_neighbours=false",
            ginex_scan_bytes(plan->env) + GINEX_BUILD_BYTES + top_rows * sizeof(gnn_node) +
                2 * (uint64_t)GNN_PAGE_BYTES);
}

/* ---- sizes ---- */

static enum gnn_status choose_feature_cache(const struct gnn_memory_plan *plan, const struct ginex_config *config,
                                            struct ginex_sizes *out, struct gnn_err *err)
{
    const struct gnn_env *env = plan->env;
    const uint64_t row_bytes = env->dataset->row_bytes, nodes = env->dataset->node_count;
    const uint64_t table = nodes * sizeof(uint32_t);
    uint64_t rows;
    if (config->feature_cache > 0) {
        rows = less(config->feature_cache, table) / row_bytes;
        if (rows == 0)
            return gnn_fail(err, GNN_ECAP,
                            "ginex.feature_cache=%" PRIu64 " cannot hold the address table of %" PRIu64
                            " bytes and a row of %" PRIu64 " bytes: raise ginex.feature_cache",
                            config->feature_cache, table, row_bytes);
    } else if (env->cap_bytes == 0) {
        rows = nodes / NO_CAP_SHARE;
    } else if (config->cache_share > 0) {
        rows = gnn_plan_left(plan, EXECUTE) / 100 * config->cache_share / (row_bytes + initial_bytes(config));
    } else {
        const uint64_t share = less(env->cap_bytes / 100 * FEATURE_SHARE, table);
        rows = gnn_min_u64(share / row_bytes, room_in(plan, EXECUTE) / (row_bytes + initial_bytes(config)));
    }
    out->cache_rows = (uint32_t)gnn_max_u64(gnn_min_u64(rows, nodes), 1);
    return GNN_OK;
}

static enum gnn_status choose_neighbour_cache(const struct gnn_memory_plan *plan, const struct ginex_config *config,
                                              struct ginex_sizes *out, struct gnn_err *err)
{
    const uint64_t nodes = plan->env->dataset->node_count, cap = plan->env->cap_bytes;
    const uint64_t table = nodes * sizeof(uint64_t);
    const uint64_t entries = (plan->env->dataset->edge_count + nodes) * plan->env->dataset->id_bytes;
    uint64_t bytes = config->neighbour_cache;
    if (bytes > 0 && bytes < table)
        return gnn_fail(err, GNN_ECAP,
                        "ginex.neighbour_cache=%" PRIu64 " cannot hold its table of %" PRIu64
                        " bytes: raise ginex.neighbour_cache, or set ginex.cache_neighbours=false",
                        bytes, table);
    if (bytes == 0 && cap == 0)
        bytes = table + entries / NO_CAP_SHARE;
    if (bytes == 0) {
        const uint64_t room = gnn_min_u64(room_in(plan, PASSES), room_in(plan, SAMPLING));
        const uint64_t left = gnn_min_u64(gnn_plan_left(plan, PASSES), gnn_plan_left(plan, SAMPLING));
        const uint64_t share =
            config->cache_share > 0 ? left / 100 * config->cache_share : gnn_min_u64(cap / 100 * NEIGHBOUR_SHARE, room);
        bytes = gnn_max_u64(share, table);
    }
    out->neighbour_cache_bytes = gnn_min_u64(bytes, table + entries);
    return GNN_OK;
}

static enum gnn_status check_options(const struct gnn_env *env, const struct ginex_config *config, struct gnn_err *err)
{
    if ((config->io_unit & (config->io_unit - 1)) != 0)
        return gnn_fail(err, GNN_EUSAGE, "ginex.io_unit=%" PRIu64 " is not a power of two: choose one",
                        config->io_unit);
    if (config->trace_block % GNN_PAGE_BYTES != 0 || config->neighbour_block % GNN_PAGE_BYTES != 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "ginex.trace_block=%" PRIu64 " and ginex.neighbour_block=%" PRIu64
                        " are not both multiples of the page size, %d bytes: choose multiples",
                        config->trace_block, config->neighbour_block, GNN_PAGE_BYTES);
    if (env->dataset->train.count == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s has no training nodes: use a dataset with a training set",
                        env->dataset->dir);
    return GNN_OK;
}

enum gnn_status ginex_size(const struct ginex_config *config, struct ginex_sizes *out, struct gnn_memory_plan *plan,
                           struct gnn_err *err)
{
    const struct gnn_env *env = plan->env;
    const uint32_t layers = env->workload->layers;
    GNN_TRY(check_options(env, config, err));
    *out = (struct ginex_sizes){.batches = gnn_epoch_batches(env)};
    out->superbatch = superbatch_of(env, config);
    out->superbatches = (uint32_t)gnn_div_up(out->batches, out->superbatch);
    add_fixed(plan, config);
    add_inspection(plan, config, out->superbatch, gnn_plan_nodes_of(plan, out->superbatch, layers),
                   plan->largest.nodes[layers]);
    if (!env->workload->sample_only) {
        GNN_TRY(choose_feature_cache(plan, config, out, err));
        add_feature_cache(plan, config, out->cache_rows);
    }
    if (config->cache_neighbours)
        GNN_TRY(choose_neighbour_cache(plan, config, out, err));
    add_neighbour_cache(plan, out->neighbour_cache_bytes);
    add_build(plan, config, out);
    return GNN_OK;
}

uint32_t ginex_top_rows(const struct gnn_env *env, const struct ginex_config *config, const struct ginex_sizes *sizes)
{
    return config->initial == GINEX_INITIAL_SCORE && !env->workload->sample_only ? sizes->cache_rows : 0;
}

uint32_t ginex_rows_at_most(const struct ginex *s, const struct ginex_superbatch *sb)
{
    if (s->config->initial == GINEX_INITIAL_SCORE)
        return s->sizes.cache_rows; /* it starts full */
    return (uint32_t)gnn_min_u64(s->sizes.cache_rows, sb->accesses);
}

enum gnn_status ginex_check_inspection(const struct ginex *s, const struct ginex_superbatch *sb, struct gnn_err *err)
{
    struct gnn_memory_plan plan;
    gnn_plan_begin(&plan, s->env);
    add_fixed(&plan, s->config);
    add_inspection(&plan, s->config, sb->count, sb->accesses, sb->nodes_max);
    add_feature_cache(&plan, s->config, ginex_rows_at_most(s, sb));
    add_neighbour_cache(&plan, s->sizes.neighbour_cache_bytes);
    return gnn_plan_check(&plan, " for the superbatch that was sampled", err);
}

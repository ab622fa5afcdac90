/* SPDX-License-Identifier: MIT */
/* Every size of GraphBolt from its configuration, and the parts of its memory plan. */
#include "systems/graphbolt/graphbolt.h"

#include <assert.h>
#include <inttypes.h>

enum {
    LIMIT_RESERVE = 16, /* an automatic cache leaves 1/16 of the memory limit */
    NO_LIMIT_SHARE = 10 /* without a limit: a tenth of the features */
};

static enum gnn_status check_options(const struct gnn_env *env, const struct graphbolt_config *config,
                                     struct gnn_err *err)
{
    const uint64_t block = graphbolt_block(config);
    if ((block & (block - 1)) != 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "graphbolt.block=%" PRIu64 " is not a power of two: use 4096, or the device's sector size",
                        block);
    if (config->gpu_cache_bytes == 0 || env->workload->sample_only)
        return GNN_OK;
    if (!gnn_env_on_device(env))
        return gnn_fail(err, GNN_EUSAGE,
                        "graphbolt.gpu_cache=%" PRIu64
                        " requires a GPU, but this run computes on the CPU: remove it, or choose a back-end with a GPU",
                        config->gpu_cache_bytes);
    if (env->dataset->row_bytes % sizeof(gnn_real) != 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "graphbolt.gpu_cache requires rows of a multiple of %zu bytes, but a row has %" PRIu32
                        ": set graphbolt.gpu_cache=0",
                        sizeof(gnn_real), env->dataset->row_bytes);
    return GNN_OK;
}

static uint32_t rows_of(const struct gnn_env *env, uint64_t bytes)
{
    const uint64_t rows = gnn_min_u64(bytes / env->dataset->row_bytes, env->dataset->node_count);
    return (uint32_t)gnn_max_u64(rows, GRAPHBOLT_PART_ROWS_MIN);
}

/* Both caches have the same partitions, so that one thread looks a node up in both. */
static struct graphbolt_cache_config cache_of(const struct gnn_env *env, enum graphbolt_policy_kind policy,
                                              uint32_t rows, uint32_t parts)
{
    assert(parts <= rows / GRAPHBOLT_PART_ROWS_MIN);
    return (struct graphbolt_cache_config){
        .policy = policy, .node_count = env->dataset->node_count, .rows = rows, .parts = parts};
}

/* Everything but the cache in host memory. */
static void add_fixed(struct gnn_memory_plan *plan, const struct graphbolt_config *config,
                      const struct graphbolt_sizes *sizes)
{
    const struct gnn_env *const env = plan->env;
    const uint64_t batch = gnn_batch_reserved_bytes(env->dataset, env->workload);
    const uint64_t ahead = (uint64_t)config->samplers * GRAPHBOLT_BATCHES_PER_SAMPLER;
    gnn_plan_part(plan, "topology", NULL, graphbolt_topology_bytes(env->dataset));
    gnn_plan_part(plan, "read buffers of the topology", NULL, graphbolt_topology_scan_bytes(env->dataset));
    gnn_plan_part(plan, "samplers", "graphbolt.samplers", gnn_sampling_bytes(env, config->samplers));
    gnn_plan_in_flight(plan, "mini-batches", "graphbolt.samplers or graphbolt.in_flight",
                       gnn_mul_bytes(batch, env->workload->sample_only ? config->samplers : ahead + config->in_flight));
    if (env->workload->sample_only)
        return;
    const uint64_t nodes = plan->largest.nodes[env->workload->layers], lists = sizes->gpu_rows > 0 ? 4 : 2;
    const uint64_t list_bytes = gnn_mul_bytes(lists * sizeof(uint32_t), nodes + nodes / 16);
    gnn_plan_in_flight(plan, "row lists", "graphbolt.in_flight", gnn_mul_bytes(list_bytes, config->in_flight));
    gnn_plan_part(plan, "rings and read windows", "graphbolt.rings or graphbolt.group",
                  graphbolt_rings_bytes(config, sizes->window_bytes));
    gnn_plan_in_flight(plan, gnn_env_on_device(env) ? "rows that were read" : "inputs",
                       "graphbolt.in_flight, --batch or --fanout",
                       gnn_mul_bytes(gnn_plan_rows_bytes(plan), config->in_flight));
    gnn_train_input_plan(plan, GNN_TRANSFER_AHEAD, 1, config->in_flight);
    gnn_training_plan(plan, GNN_PLAN_ALL_PHASES);
    if (!gnn_env_on_device(env))
        return;
    gnn_plan_part(plan, "lists of uploads", "--batch or --fanout",
                  gnn_mul_bytes(2 * sizeof(uint32_t), nodes + nodes / 16));
    if (sizes->gpu_rows == 0)
        return;
    gnn_plan_part(plan, "tables of the GPU's row cache", "graphbolt.gpu_cache",
                  graphbolt_cache_table_bytes(&sizes->device));
    gnn_plan_device(plan, "row cache", "graphbolt.gpu_cache",
                    gnn_mul_bytes(sizes->gpu_rows, env->dataset->row_bytes + sizeof(uint32_t)));
}

/* Returns the rows of the automatic cache, each of which has an entry in the tables besides its bytes. */
static uint32_t automatic_rows(const struct gnn_memory_plan *plan, enum graphbolt_policy_kind policy)
{
    const struct gnn_env *const env = plan->env;
    const uint64_t row_bytes = env->dataset->row_bytes;
    if (env->cap_bytes == 0)
        return rows_of(env, env->dataset->feature_bytes / NO_LIMIT_SHARE);
    const uint64_t used = gnn_add_bytes(env->cap_bytes / LIMIT_RESERVE, env->dataset->node_count * sizeof(uint32_t));
    const uint64_t left = gnn_plan_left(plan, 0), room = left > used ? left - used : 0;
    const uint64_t ghost_bytes = policy == GRAPHBOLT_S3_FIFO ? sizeof(gnn_node) : 0;
    return rows_of(env, room / (row_bytes + sizeof(struct graphbolt_entry) + ghost_bytes) * row_bytes);
}

enum gnn_status graphbolt_size(const struct graphbolt_config *config, struct graphbolt_sizes *out,
                               struct gnn_memory_plan *plan, struct gnn_err *err)
{
    const struct gnn_env *const env = plan->env;
    const bool reads = !env->workload->sample_only;
    *out = (struct graphbolt_sizes){.parts = 1};
    GNN_TRY(check_options(env, config, err));
    if (reads) {
        const uint32_t block = (uint32_t)graphbolt_block(config), row_bytes = env->dataset->row_bytes;
        const bool aligned = row_bytes % block == 0 || block % row_bytes == 0;
        out->window_bytes = (uint32_t)gnn_round_up(row_bytes, block) + (aligned ? 0 : block);
        out->gpu_rows = config->gpu_cache_bytes > 0 ? rows_of(env, config->gpu_cache_bytes) : 0;
        out->device = (struct graphbolt_cache_config){.node_count = env->dataset->node_count, .rows = out->gpu_rows};
    }
    add_fixed(plan, config, out);
    if (!reads)
        return GNN_OK;
    const uint32_t rows =
        config->cache_bytes > 0 ? rows_of(env, config->cache_bytes) : automatic_rows(plan, config->policy);
    const uint32_t fewest = out->gpu_rows > 0 ? gnn_min_u32(rows, out->gpu_rows) : rows;
    out->parts = gnn_min_u32(config->parts, fewest / GRAPHBOLT_PART_ROWS_MIN);
    out->cache = cache_of(env, config->policy, rows, out->parts);
    if (out->gpu_rows > 0)
        out->device = cache_of(env, GRAPHBOLT_LRU, out->gpu_rows, out->parts);
    gnn_plan_part(plan, "tables of the row cache", "graphbolt.cache", graphbolt_cache_table_bytes(&out->cache));
    gnn_plan_part(plan, "row cache", "graphbolt.cache", gnn_mul_bytes(rows, env->dataset->row_bytes));
    return GNN_OK;
}

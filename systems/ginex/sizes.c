/* Every size of Ginex from its configuration: superbatches, both caches, and the host memory of the phases, which
 * are never there together (ginex.md sections 5 and 6).
 *
 *     build     of the neighbour cache, before anything else is there: out-degrees, two scans, its writing
 *     always    order of the epoch, samplers and their batches
 *     inspect   passes 1 and 2: the tables of belady.c and the ids of the superbatch;
 *               then: neighbour cache, trace buffers, and the tables while pass 3 runs beside the sampling
 *     execute   address table, feature cache, two gathered inputs, batches read ahead from the trace */
#include "systems/ginex/ginex.h"

#include "harness/base/units.h"

#include <inttypes.h>
#include <string.h>

enum {
    CAP_RESERVE = 16,         /* automatic caches leave 1/16 of the cap to the page cache */
    PROCESS_BYTES = 12 << 20, /* the process itself: its data and hot code, stacks, page tables, rings */
    NO_CAP_SHARE = 10,        /* without a cap: a tenth of the features, a tenth of the topology (DiskGNN's rule) */
    FEATURE_SHARE = 75,       /* percent of the cap: 24 GB of 32 GB */
    NEIGHBOUR_SHARE = 19      /* percent of the cap: 6 GB of 32 GB */
};

static const char neighbour_part[] = "neighbour cache",
                  neighbour_remedy[] = "ginex.neighbour_cache or ginex.cache_neighbours";

/* Phases of an epoch, which are never there together. The build comes before anything else is opened; passes 1 and 2
 * come before sampling with pass 3 beside it. */
enum { BUILD = 1 << 0, PASSES = 1 << 1, SAMPLING = 1 << 2, EXECUTE = 1 << 3 };
enum { INSPECT = PASSES | SAMPLING, EPOCH = INSPECT | EXECUTE };
enum { PHASE_PASSES = 1, PHASE_SAMPLING = 2, PHASE_EXECUTE = 3 };

static void add(struct gnn_memory_plan *plan, uint32_t phases, const char *name, const char *remedy, uint64_t bytes)
{
    gnn_plan_part(plan, name, remedy, bytes);
    gnn_plan_phases(plan, phases);
}

/* Phases in which the feature cache is there. */
static uint32_t cache_phases(const struct ginex_config *config)
{
    return config->overlap_caches ? EPOCH : EXECUTE;
}

/* ---- the parts ---- */

static void superbatches(const struct gnn_env *env, const struct ginex_config *config, struct ginex_sizes *out)
{
    out->batches = gnn_epoch_batches(env);
    out->superbatch = config->superbatch < out->batches ? config->superbatch : out->batches;
    out->superbatches = out->superbatch == 0 ? 0 : (out->batches + out->superbatch - 1) / out->superbatch;
}

static struct belady_config tables_of(const struct gnn_env *env, const struct ginex_config *config, uint32_t cache_rows,
                                      uint32_t batches, uint64_t accesses, uint32_t nodes_max)
{
    return (struct belady_config){.node_count = env->dataset->node_count,
                                  .cache_rows = cache_rows,
                                  .batches = batches,
                                  .accesses = accesses,
                                  .batch_nodes_max = nodes_max,
                                  .policy = (enum belady_policy)config->replacement};
}

static void add_inspection(struct gnn_memory_plan *plan, const struct ginex_config *config,
                           const struct belady_config *tables)
{
    const uint64_t reader =
        gnn_mul_bytes(config->id_readers + UINT64_C(1), gnn_span_room(tables->batch_nodes_max * sizeof(gnn_node)));
    add(plan, SAMPLING, "trace buffers", "ginex.trace_block or ginex.samplers",
        gnn_mul_bytes(2 * (uint64_t)config->samplers + 1, config->trace_block));
    if (plan->env->workload->sample_only)
        return;
    add(plan, INSPECT, "inspection tables", "ginex.superbatch", gnn_add_bytes(belady_bytes(tables), reader));
    add(plan, PASSES, "node ids of a superbatch", "ginex.superbatch or ginex.hold_ids=false",
        config->hold_ids ? gnn_mul_bytes(tables->accesses, sizeof(gnn_node)) : 0);
}

static uint32_t unit_of(const struct ginex_config *config)
{
    return config->io == GINEX_IO_DIRECT ? (uint32_t)config->io_unit : 1;
}

/* Everything but the two caches and the inspection. */
static void add_fixed(struct gnn_memory_plan *plan, const struct ginex_config *config)
{
    const struct gnn_env *env = plan->env;
    const uint32_t layers = env->workload->layers, nodes = plan->batch.nodes[layers];
    const uint64_t batch = gnn_batch_bytes(&plan->batch, layers), row_bytes = env->dataset->row_bytes;
    gnn_plan_process_at_least(plan, PROCESS_BYTES);
    add(plan, EPOCH, "samplers", "ginex.samplers",
        gnn_add_bytes(gnn_sampling_bytes(env, &plan->batch, config->samplers),
                      gnn_mul_bytes(config->samplers, batch + (uint64_t)GINEX_LIST_BUFFER_BYTES)));
    if (env->workload->sample_only)
        return;
    const uint64_t items = config->trace_loaders * (config->trace_queue + UINT64_C(1)) + 2;
    const uint64_t record = batch + 3 * UINT64_C(4) * nodes + 3 * (uint64_t)GNN_PAGE_BYTES;
    const struct ginex_cache_config cache = {.node_count = env->dataset->node_count,
                                             .row_bytes = env->dataset->row_bytes,
                                             .unit_bytes = unit_of(config),
                                             .workers = config->gather_threads};
    const uint64_t direct =
        config->fill == GINEX_FILL_DIRECT ? ginex_cache_fill_direct_bytes(env->dataset->row_bytes) : 0;
    add(plan, cache_phases(config), "address table and read windows", "ginex.gather_threads",
        ginex_cache_bytes(&cache) + direct);
    gnn_plan_in_flight(plan, "mini-batches read from the trace", "ginex.trace_loaders", gnn_mul_bytes(items, record));
    gnn_plan_phases(plan, EXECUTE);
    gnn_plan_in_flight(plan, "gathered inputs", "--batch or --fanout", gnn_mul_bytes(UINT64_C(2) * nodes, row_bytes));
    gnn_plan_phases(plan, EXECUTE);
}

static uint64_t left_of(uint64_t room, uint64_t used)
{
    return room > used ? room - used : 0;
}

/* The initial nodes cost 4 bytes a row beside the row; they are there in both phases (twice when listed by score). */
static uint64_t initial_bytes(const struct ginex_config *config)
{
    return config->initial == GINEX_INITIAL_SCORE ? 8 : 4;
}

static void add_feature_cache(struct gnn_memory_plan *plan, const struct ginex_config *config, uint64_t rows)
{
    add(plan, cache_phases(config), "feature cache", "ginex.feature_cache", rows * plan->env->dataset->row_bytes);
    add(plan, EPOCH, "initial nodes of the feature cache", "ginex.feature_cache", rows * initial_bytes(config));
}

static enum gnn_status choose_feature_cache(struct gnn_memory_plan *plan, const struct ginex_config *config,
                                            struct ginex_sizes *out, struct gnn_err *err)
{
    const struct gnn_env *env = plan->env;
    const uint64_t row_bytes = env->dataset->row_bytes, nodes = env->dataset->node_count;
    const uint64_t table = nodes * sizeof(uint32_t);
    uint64_t rows;
    if (config->feature_cache > 0) {
        rows = left_of(config->feature_cache, table) / row_bytes;
        if (rows == 0)
            return gnn_fail(err, GNN_ECAP,
                            "ginex.feature_cache of %" PRIu64 " bytes: the address table takes %" PRIu64
                            " and a row %" PRIu64 "; raise ginex.feature_cache",
                            config->feature_cache, table, row_bytes);
    } else if (env->cap_bytes == 0) {
        rows = nodes / NO_CAP_SHARE;
    } else {
        const uint64_t used = gnn_plan_phase_bytes(plan, PHASE_EXECUTE);
        const uint64_t room = left_of(env->cap_bytes - env->cap_bytes / CAP_RESERVE, used);
        const uint64_t share = left_of(env->cap_bytes / 100 * FEATURE_SHARE, table);
        rows = gnn_min_u64(share / row_bytes, room / (row_bytes + initial_bytes(config)));
    }
    rows = rows == 0 ? 1 : gnn_min_u64(rows, nodes);
    out->cache_rows = (uint32_t)rows;
    out->feature_cache_bytes = table + rows * row_bytes;
    add_feature_cache(plan, config, rows);
    return GNN_OK;
}

static enum gnn_status choose_neighbour_cache(struct gnn_memory_plan *plan, const struct ginex_config *config,
                                              struct ginex_sizes *out, struct gnn_err *err)
{
    const struct gnn_env *env = plan->env;
    const uint64_t nodes = env->dataset->node_count, table = nodes * sizeof(uint64_t);
    const uint64_t entries = (env->dataset->edge_count + nodes) * sizeof(uint32_t);
    if (!config->cache_neighbours)
        return GNN_OK;
    uint64_t bytes = config->neighbour_cache;
    if (bytes > 0 && bytes < table)
        return gnn_fail(err, GNN_ECAP,
                        "ginex.neighbour_cache of %" PRIu64 " bytes cannot hold its table of %" PRIu64
                        ": raise ginex.neighbour_cache, or set ginex.cache_neighbours=false",
                        bytes, table);
    if (bytes == 0 && env->cap_bytes == 0)
        bytes = table + entries / NO_CAP_SHARE;
    if (bytes == 0) {
        const uint64_t used =
            gnn_max_u64(gnn_plan_phase_bytes(plan, PHASE_PASSES), gnn_plan_phase_bytes(plan, PHASE_SAMPLING));
        const uint64_t room = left_of(env->cap_bytes - env->cap_bytes / CAP_RESERVE, used);
        bytes = gnn_max_u64(gnn_min_u64(env->cap_bytes / 100 * NEIGHBOUR_SHARE, room), table);
    }
    out->neighbour_cache_bytes = gnn_min_u64(bytes, table + entries);
    add(plan, SAMPLING, neighbour_part, neighbour_remedy,
        gnn_add_bytes(out->neighbour_cache_bytes, 2 * (uint64_t)GNN_PAGE_BYTES));
    return GNN_OK;
}

/* ---- checks ---- */

static bool power_of_two(uint64_t x)
{
    return x != 0 && (x & (x - 1)) == 0;
}

static enum gnn_status check_switches(const struct gnn_env *env, const struct ginex_config *config, struct gnn_err *err)
{
    if (!power_of_two(config->io_unit) || config->io_unit < 512)
        return gnn_fail(err, GNN_EUSAGE, "ginex.io_unit=%" PRIu64 ": a power of two from 512 bytes on is needed",
                        config->io_unit);
    if (config->trace_block % GNN_PAGE_BYTES != 0 || config->neighbour_block % GNN_PAGE_BYTES != 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "ginex.trace_block=%" PRIu64 " and ginex.neighbour_block=%" PRIu64
                        ": multiples of %d bytes are needed",
                        config->trace_block, config->neighbour_block, GNN_PAGE_BYTES);
    if (env->dataset->train.count == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s has no training nodes", env->dataset->dir);
    return GNN_OK;
}

enum gnn_status ginex_size(const struct ginex_config *config, struct ginex_sizes *out, struct gnn_memory_plan *plan,
                           struct gnn_err *err)
{
    const struct gnn_env *env = plan->env;
    *out = (struct ginex_sizes){.expected = plan->batch};
    GNN_TRY(check_switches(env, config, err));
    superbatches(env, config, out);
    add_fixed(plan, config);
    const uint32_t nodes = plan->batch.nodes[env->workload->layers];
    const struct belady_config tables =
        tables_of(env, config, 1, out->superbatch, gnn_mul_bytes(out->superbatch, nodes), nodes);
    add_inspection(plan, config, &tables);
    if (!env->workload->sample_only)
        GNN_TRY(choose_feature_cache(plan, config, out, err));
    GNN_TRY(choose_neighbour_cache(plan, config, out, err));
    const struct ginex_neighbours_config neighbours = ginex_neighbours_settings(env, config, out);
    add(plan, BUILD, "building of the neighbour cache", "ginex.cache_neighbours=false",
        ginex_neighbours_build_bytes(env, &neighbours));
    return GNN_OK;
}

struct ginex_neighbours_config ginex_neighbours_settings(const struct gnn_env *env, const struct ginex_config *config,
                                                         const struct ginex_sizes *sizes)
{
    const bool by_score = config->initial == GINEX_INITIAL_SCORE && !env->workload->sample_only;
    return (struct ginex_neighbours_config){
        .cache_bytes = sizes->neighbour_cache_bytes,
        .skip_isolated = config->skip_isolated,
        .direct = config->io == GINEX_IO_DIRECT,
        .list_read = (enum ginex_list_read)config->list_read,
        .workers = config->samplers,
        .load_block_bytes = (uint32_t)config->neighbour_block,
        .load_depth = config->gather_threads,
        .dir = ginex_trace_dir(env, config),
        .top_rows = by_score ? sizes->cache_rows : 0,
    };
}

const char *ginex_trace_dir(const struct gnn_env *env, const struct ginex_config *config)
{
    return config->trace_dir[0] != '\0' ? config->trace_dir : env->dataset->dir;
}

struct belady_config ginex_belady_config(const struct ginex *s, const struct ginex_superbatch *sb)
{
    return tables_of(s->env, s->config, s->sizes.cache_rows, sb->count, sb->accesses, sb->nodes_max);
}

enum gnn_status ginex_check_inspection(const struct ginex *s, const struct ginex_superbatch *sb, struct gnn_err *err)
{
    const struct belady_config tables = ginex_belady_config(s, sb);
    struct gnn_memory_plan plan;
    gnn_plan_begin(&plan, s->env);
    add_fixed(&plan, s->config);
    add_inspection(&plan, s->config, &tables);
    add_feature_cache(&plan, s->config, s->sizes.cache_rows);
    add(&plan, SAMPLING, neighbour_part, neighbour_remedy, s->sizes.neighbour_cache_bytes);
    return gnn_plan_check(&plan, " for the superbatch that was sampled", err);
}

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

struct part {
    const char *name, *remedy;
    uint64_t bytes;
};

enum { ALWAYS, NEIGHBOURS, TABLES, IDS, TRACE, INITIAL, CACHE, TABLE, ITEMS, INPUTS, BUILD, PARTS };

struct memory {
    uint64_t part[PARTS];
    uint64_t run; /* what the run holds besides */
};

static const struct part names[PARTS] = {
    [ALWAYS] = {.name = "samplers", .remedy = "ginex.samplers"},
    [NEIGHBOURS] = {.name = "neighbour cache", .remedy = "ginex.neighbour_cache or ginex.cache_neighbours"},
    [TABLES] = {.name = "inspection tables", .remedy = "ginex.superbatch"},
    [IDS] = {.name = "node ids of a superbatch", .remedy = "ginex.superbatch or ginex.hold_ids=false"},
    [TRACE] = {.name = "trace buffers", .remedy = "ginex.trace_block or ginex.samplers"},
    [INITIAL] = {.name = "initial nodes of the feature cache", .remedy = "ginex.feature_cache"},
    [CACHE] = {.name = "feature cache", .remedy = "ginex.feature_cache"},
    [TABLE] = {.name = "address table and read windows", .remedy = "ginex.gather_threads"},
    [ITEMS] = {.name = "mini-batches read from the trace", .remedy = "ginex.trace_loaders"},
    [INPUTS] = {.name = "gathered inputs", .remedy = "--batch or --fanout"},
    [BUILD] = {.name = "building of the neighbour cache", .remedy = "ginex.cache_neighbours=false"},
};

static uint64_t sum(const uint64_t *parts, size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total = gnn_add_bytes(total, parts[i]);
    return total;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- phases ---- */

static uint64_t kept_bytes(const struct memory *m, const struct ginex_config *config)
{
    return config->overlap_caches ? gnn_add_bytes(m->part[CACHE], m->part[TABLE]) : 0;
}

static uint64_t passes_bytes(const struct memory *m)
{
    return gnn_add_bytes(m->part[TABLES], m->part[IDS]);
}

/* Passes 1 and 2, or sampling with pass 3 beside it: whichever holds more. */
static uint64_t inspect_bytes(const struct memory *m, const struct ginex_config *config)
{
    const uint64_t tables = gnn_add_bytes(m->part[TABLES], m->part[TRACE]);
    const uint64_t sampling = gnn_add_bytes(m->part[NEIGHBOURS], tables);
    return gnn_add_bytes(gnn_add_bytes(larger(passes_bytes(m), sampling), m->part[INITIAL]), kept_bytes(m, config));
}

static uint64_t execute_bytes(const struct memory *m)
{
    const uint64_t parts[] = {m->part[CACHE], m->part[TABLE], m->part[ITEMS], m->part[INPUTS], m->part[INITIAL]};
    return sum(parts, sizeof parts / sizeof *parts);
}

static uint64_t epoch_bytes(const struct memory *m, const struct ginex_config *config)
{
    return gnn_add_bytes(m->part[ALWAYS], larger(inspect_bytes(m, config), execute_bytes(m)));
}

/* The neighbour cache is built before anything else is opened. */
static uint64_t total_bytes(const struct memory *m, const struct ginex_config *config)
{
    return gnn_add_bytes(m->run, larger(epoch_bytes(m, config), m->part[BUILD]));
}

/* Of the moment that holds the most. */
static const struct part *largest(const struct memory *m, const struct ginex_config *config, struct part *out)
{
    enum { CANDIDATES = 6 };
    static const int passes[CANDIDATES] = {ALWAYS, TABLES, IDS, INITIAL, INITIAL, INITIAL},
                     sampling[CANDIDATES] = {ALWAYS, TABLES, NEIGHBOURS, TRACE, INITIAL, INITIAL},
                     execute[CANDIDATES] = {ALWAYS, CACHE, TABLE, ITEMS, INPUTS, INITIAL},
                     build[CANDIDATES] = {BUILD, BUILD, BUILD, BUILD, BUILD, BUILD};
    const bool inspecting = inspect_bytes(m, config) > execute_bytes(m);
    const bool counting = passes_bytes(m) > m->part[TABLES] + m->part[TRACE] + m->part[NEIGHBOURS];
    const int *const parts = m->part[BUILD] > epoch_bytes(m, config) ? build
                             : !inspecting                           ? execute
                             : counting                              ? passes
                                                                     : sampling;
    int most = parts[0];
    for (int i = 1; i < CANDIDATES; i++)
        if (m->part[parts[i]] > m->part[most])
            most = parts[i];
    if (inspecting && parts != build && kept_bytes(m, config) > 0 && m->part[CACHE] > m->part[most])
        most = CACHE;
    *out = names[most];
    out->bytes = m->part[most];
    return out;
}

/* ---- the parts ---- */

static void superbatches(const struct gnn_env *env, const struct ginex_config *config, struct ginex_sizes *out)
{
    const uint64_t seeds = env->dataset->train.count, batch = env->workload->batch_size;
    const uint64_t all = (seeds + batch - 1) / batch, most = env->workload->max_batches;
    out->batches = (uint32_t)(most != 0 && most < all ? most : all);
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

static void add_inspection(struct memory *m, const struct gnn_env *env, const struct ginex_config *config,
                           const struct belady_config *tables)
{
    const uint64_t reader =
        gnn_mul_bytes(config->id_readers + UINT64_C(1), gnn_span_room(tables->batch_nodes_max * sizeof(gnn_node)));
    m->part[TRACE] = gnn_mul_bytes(2 * (uint64_t)config->samplers + 1, config->trace_block);
    if (env->workload->sample_only)
        return;
    m->part[TABLES] = gnn_add_bytes(belady_bytes(tables), reader);
    m->part[IDS] = config->hold_ids ? gnn_mul_bytes(tables->accesses, sizeof(gnn_node)) : 0;
}

static uint32_t unit_of(const struct ginex_config *config)
{
    return config->io == GINEX_IO_DIRECT ? (uint32_t)config->io_unit : 1;
}

/* Everything but the two caches. */
static void add_fixed(struct memory *m, const struct gnn_env *env, const struct ginex_config *config,
                      const struct ginex_sizes *sizes)
{
    const struct gnn_batch_size *size = &sizes->expected;
    const uint32_t layers = env->workload->layers, nodes = size->nodes[layers];
    const uint64_t batch = gnn_batch_bytes(size, layers), row_bytes = env->dataset->row_bytes;
    m->run = gnn_add_bytes(gnn_run_bytes(env, size),
                           env->process_bytes > PROCESS_BYTES ? env->process_bytes : PROCESS_BYTES);
    m->part[ALWAYS] = gnn_add_bytes(gnn_sampling_bytes(env, size, config->samplers),
                                    gnn_mul_bytes(config->samplers, batch + (uint64_t)GINEX_LIST_BUFFER_BYTES));
    const struct belady_config tables =
        tables_of(env, config, 1, sizes->superbatch, gnn_mul_bytes(sizes->superbatch, nodes), nodes);
    add_inspection(m, env, config, &tables);
    if (env->workload->sample_only)
        return;
    const uint64_t items = config->trace_loaders * (config->trace_queue + UINT64_C(1)) + 2;
    const uint64_t record = batch + 3 * UINT64_C(4) * nodes + 3 * (uint64_t)GNN_PAGE_BYTES;
    const struct ginex_cache_config cache = {.node_count = env->dataset->node_count,
                                             .row_bytes = env->dataset->row_bytes,
                                             .unit_bytes = unit_of(config),
                                             .workers = config->gather_threads};
    m->part[TABLE] = ginex_cache_bytes(&cache);
    if (config->fill == GINEX_FILL_DIRECT)
        m->part[TABLE] += ginex_cache_fill_direct_bytes(env->dataset->row_bytes);
    m->part[ITEMS] = gnn_mul_bytes(items, record);
    m->part[INPUTS] = gnn_mul_bytes(UINT64_C(2) * nodes, row_bytes);
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

static enum gnn_status choose_feature_cache(const struct gnn_env *env, const struct ginex_config *config,
                                            struct memory *m, struct ginex_sizes *out, struct gnn_err *err)
{
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
        const uint64_t used = m->run + m->part[ALWAYS] + m->part[TABLE] + m->part[ITEMS] + m->part[INPUTS];
        const uint64_t room = left_of(env->cap_bytes - env->cap_bytes / CAP_RESERVE, used);
        const uint64_t share = left_of(env->cap_bytes / 100 * FEATURE_SHARE, table);
        rows = smaller(share / row_bytes, room / (row_bytes + initial_bytes(config)));
    }
    rows = rows == 0 ? 1 : smaller(rows, nodes);
    out->cache_rows = (uint32_t)rows;
    out->feature_cache_bytes = table + rows * row_bytes;
    m->part[CACHE] = rows * row_bytes;
    m->part[INITIAL] = rows * initial_bytes(config);
    return GNN_OK;
}

static enum gnn_status choose_neighbour_cache(const struct gnn_env *env, const struct ginex_config *config,
                                              struct memory *m, struct ginex_sizes *out, struct gnn_err *err)
{
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
        const uint64_t used = m->run + m->part[ALWAYS] + inspect_bytes(m, config);
        const uint64_t room = left_of(env->cap_bytes - env->cap_bytes / CAP_RESERVE, used);
        bytes = larger(smaller(env->cap_bytes / 100 * NEIGHBOUR_SHARE, room), table);
    }
    out->neighbour_cache_bytes = smaller(bytes, table + entries);
    m->part[NEIGHBOURS] = gnn_add_bytes(out->neighbour_cache_bytes, 2 * (uint64_t)GNN_PAGE_BYTES);
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

static enum gnn_status check_cap(const struct gnn_env *env, const struct ginex_config *config, const struct memory *m,
                                 const char *when, struct gnn_err *err)
{
    const uint64_t total = total_bytes(m, config);
    if (env->cap_bytes == 0 || total <= env->cap_bytes)
        return GNN_OK;
    struct part part;
    char needed[32], cap[32], most[32];
    (void)largest(m, config, &part);
    return gnn_fail(err, GNN_ECAP,
                    "ginex needs about %s%s besides the page cache, the cap is %s; the largest part is the %s "
                    "with %s: raise --memory or change %s",
                    gnn_format_bytes(total, needed, sizeof needed), when,
                    gnn_format_bytes(env->cap_bytes, cap, sizeof cap), part.name,
                    gnn_format_bytes(part.bytes, most, sizeof most), part.remedy);
}

enum gnn_status ginex_size(const struct gnn_env *env, const struct ginex_config *config, struct ginex_sizes *out,
                           struct gnn_memory_plan *plan, struct gnn_err *err)
{
    struct memory m = {.run = 0};
    *out = (struct ginex_sizes){.batches = 0};
    GNN_TRY(check_switches(env, config, err));
    gnn_batch_expect(env->dataset, env->workload, &out->expected);
    superbatches(env, config, out);
    add_fixed(&m, env, config, out);
    if (!env->workload->sample_only)
        GNN_TRY(choose_feature_cache(env, config, &m, out, err));
    GNN_TRY(choose_neighbour_cache(env, config, &m, out, err));
    const struct ginex_neighbours_config neighbours = ginex_neighbours_settings(env, config, out);
    struct part part;
    m.part[BUILD] = ginex_neighbours_build_bytes(env, &neighbours);
    (void)largest(&m, config, &part);
    const uint64_t phases = larger(inspect_bytes(&m, config), execute_bytes(&m));
    const uint64_t batches = m.part[ITEMS] + m.part[INPUTS];
    plan->batches_bytes = batches;
    plan->fixed_bytes = gnn_add_bytes(m.part[ALWAYS], left_of(phases, batches));
    plan->fixed_bytes = larger(plan->fixed_bytes, m.part[BUILD]);
    plan->largest = part.name;
    plan->remedy = part.remedy;
    return check_cap(env, config, &m, "", err);
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
    struct memory m = {.run = 0};
    add_fixed(&m, s->env, s->config, &s->sizes);
    add_inspection(&m, s->env, s->config, &tables);
    m.part[NEIGHBOURS] = s->sizes.neighbour_cache_bytes;
    m.part[CACHE] = (uint64_t)s->sizes.cache_rows * s->env->dataset->row_bytes;
    m.part[INITIAL] = s->sizes.cache_rows * initial_bytes(s->config);
    return check_cap(s->env, s->config, &m, " for the superbatch that was sampled", err);
}

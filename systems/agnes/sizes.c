/* Every size of AGNES: block, hyperbatch, buffers, and the memory they come to (specs/agnes.md sections 5 and 6).
 *
 * accounting=full: graph buffer and feature cache share, one to one, what the cap leaves beside everything else; an
 * automatic hyperbatch is halved until they get a quarter of it. accounting=paper, and without a cap: the buffers have
 * the sizes of the paper's settings relative to the dataset, and nothing else is counted against them. */
#include "systems/agnes/agnes.h"

#include "harness/base/units.h"
#include "harness/sample/batch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t block_most = UINT64_C(1) << 20, block_least = UINT64_C(64) << 10;
static const uint64_t process_bytes = UINT64_C(16) << 20; /* the program and the kernel's objects, where unknown */
enum { BLOCKS_AT_LEAST = 1000, RING_BYTES = 64 << 10 };

/* Buffers of setting 1 at d = 128 relative to the data, and hyperbatches of an epoch (specs/agnes.md section 6). */
static const struct ratio {
    const char *dataset;
    double graph, features;
    uint32_t hyperbatches;
} ratios[] = {
    {"papers100m", 1.23, 0.28, 2},
    {"twitter", 1.36, 0.75, 2},
    {"friendster", 0.87, 0.46, 2},
    {"yahoo", 0.30, 0.022, 14},
};

static const struct ratio *ratio_of(const struct gnn_dataset *d)
{
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++)
        if (strcmp(d->name, ratios[i].dataset) == 0)
            return &ratios[i];
    return &ratios[0];
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t graph_bytes(const struct gnn_dataset *d, uint32_t id_bytes)
{
    return d->edge_count * id_bytes + d->node_count * (uint64_t)AGNES_SLOT_BYTES;
}

static uint32_t id_bytes_of(const struct agnes_config *c)
{
    return c->id_width == AGNES_ID_8 ? 8 : 4;
}

uint32_t agnes_block_bytes(const struct gnn_env *env, const struct agnes_config *c)
{
    if (c->block_bytes > 0)
        return (uint32_t)c->block_bytes;
    const uint64_t smaller =
        least(graph_bytes(env->dataset, id_bytes_of(c)), env->dataset->node_count * (uint64_t)env->dataset->row_bytes);
    uint64_t block = block_most;
    while (block > block_least && block > smaller / BLOCKS_AT_LEAST)
        block /= 2;
    return (uint32_t)block;
}

/* ---- everything besides the two buffers ---- */

struct parts {
    uint64_t lists;   /* V_j, places, drawn neighbours, buckets: grow with H */
    uint64_t staging; /* H (+ spares) blocks */
    uint64_t pool;    /* feature blocks, depth of them */
    uint64_t workers; /* workspaces and spool buffers */
    uint64_t inputs;  /* two batches, reloaded rows */
    uint64_t nodes;   /* arrays of the nodes, index, order */
    uint64_t run;     /* held whatever the system */
};

static uint64_t lists_bytes(const struct gnn_env *env, const struct agnes_sizes *z, const struct gnn_batch_size *size)
{
    const struct gnn_workload *const load = env->workload;
    const uint64_t h = z->hyperbatch, all = h * size->nodes[load->layers];
    uint64_t hop = 0;
    for (uint32_t l = 0; l < load->layers; l++) {
        const uint64_t positions = h * size->nodes[l];
        hop = most(hop, positions * (load->fanout[l] * sizeof(gnn_node) + 1 + sizeof(struct agnes_entry)));
    }
    const uint64_t lists = z->contexts * (all * sizeof(gnn_node) + h * (GNN_PAGE_BYTES / 2));
    if (load->sample_only)
        return lists + hop;
    const uint64_t spill = z->gathers * all * sizeof(uint32_t);
    return lists + hop + hop / 16 + spill + spill / 16 + all * sizeof(struct agnes_entry);
}

static uint64_t inputs_bytes(const struct gnn_env *env, const struct agnes_sizes *z, const struct gnn_batch_size *size)
{
    const uint64_t rows = size->nodes[env->workload->layers] * (uint64_t)env->dataset->row_bytes;
    const uint64_t blocks = gnn_batch_bytes(size, env->workload->layers);
    (void)z;
    return AGNES_INPUTS * (rows + rows / 8 + blocks + blocks / 16) + rows + rows / 16;
}

static void add_up(const struct gnn_memory_plan *plan, const struct agnes_config *c, const struct agnes_sizes *z,
                   struct parts *p)
{
    const struct gnn_env *env = plan->env;
    const struct gnn_dataset *const d = env->dataset;
    const bool only = env->workload->sample_only;
    const uint64_t w = c->workers, bound = gnn_sample_node_bound(d->node_count, env->workload->batch_size,
                                                                 env->workload->fanout, env->workload->layers, NULL);
    const struct gnn_batch_size size = plan->batch;
    const uint64_t touched = size.nodes[env->workload->layers]; /* of workspaces at their bound */
    *p = (struct parts){.lists = lists_bytes(env, z, &size), .run = gnn_plan_run_bytes(plan)};
    p->workers = w * (least(bound, touched + touched / 4) * 8 +
                      gnn_id_map_sized_slots(least(bound, 2 * touched)) * sizeof(struct gnn_id_slot));
    p->nodes = d->node_count * (uint64_t)(c->layout == AGNES_LAYOUT_INPUT ? 0 : sizeof(gnn_node)) +
               2 * (uint64_t)d->train.count * sizeof(gnn_node) +
               z->graph_blocks * (sizeof(struct agnes_object_range) + sizeof(uint32_t)) +
               agnes_bucket_bytes(z->graph_blocks, w, 0) + RING_BYTES;
    if (only)
        return;
    p->workers += z->contexts * w * AGNES_SPOOL_BLOCK_BYTES;
    p->staging = gnn_mul_bytes(
        z->gathers, gnn_mul_bytes(z->hyperbatch + (c->spill == AGNES_SPILL_ASYNC ? w + 1 : 0), z->block_bytes));
    p->pool = z->pool_frames * (uint64_t)z->block_bytes;
    p->inputs = inputs_bytes(env, z, &size);
    p->nodes += (uint64_t)z->gathers * d->node_count * sizeof(uint32_t) + agnes_bucket_bytes(z->feature_blocks, w, 0) +
                z->feature_blocks * sizeof(uint32_t);
}

static uint64_t sum_of(const struct parts *p)
{
    return p->lists + p->staging + p->pool + p->workers + p->inputs + p->nodes + p->run;
}

/* ---- the two buffers ---- */

/* A quarter of each in setting 2. */
static void paper_buffers(const struct gnn_env *env, const struct agnes_config *c, const struct agnes_sizes *z,
                          uint64_t *graph, uint64_t *cache)
{
    const struct ratio *const r = ratio_of(env->dataset);
    const double share = c->setting == AGNES_SETTING_1 ? 1.0 : 0.25;
    *graph = (uint64_t)(share * r->graph * (double)z->graph_blocks * z->block_bytes);
    *cache = (uint64_t)(share * r->features * (double)env->dataset->node_count * env->dataset->row_bytes);
}

/* One to one, but none more than the data: what one cannot use is the other's. */
static void share_out(const struct gnn_env *env, const struct agnes_sizes *z, uint64_t left, uint64_t *graph,
                      uint64_t *cache)
{
    const uint64_t all_graph = (uint64_t)z->graph_blocks * z->block_bytes;
    const uint64_t all_rows =
        env->workload->sample_only ? 0 : env->dataset->node_count * (uint64_t)env->dataset->row_bytes;
    *graph = least(left / 2, all_graph);
    *cache = least(left - *graph, all_rows);
    *graph = least(left - *cache, all_graph);
}

static bool budgeted(const struct gnn_env *env, const struct agnes_config *c)
{
    return env->cap_bytes > 0 && c->accounting == AGNES_ACCOUNT_FULL;
}

/* A hyperbatch is halved while less than a quarter of the cap beside the run itself is left. */
static void fit_hyperbatch(const struct gnn_memory_plan *plan, const struct agnes_config *c, struct agnes_sizes *z,
                           struct parts *p)
{
    const struct gnn_env *env = plan->env;
    add_up(plan, c, z, p);
    while (c->hyperbatch == 0 && z->hyperbatch > 1 && budgeted(env, c) &&
           sum_of(p) + (env->cap_bytes - least(p->run, env->cap_bytes)) / 4 > env->cap_bytes) {
        z->hyperbatch = (z->hyperbatch + 1) / 2;
        add_up(plan, c, z, p);
    }
}

static void choose_buffers(const struct gnn_env *env, const struct agnes_config *c, struct agnes_sizes *z,
                           uint64_t others)
{
    uint64_t graph, cache;
    const uint64_t given = c->graph_buffer_bytes + (env->workload->sample_only ? 0 : c->feature_cache_bytes);
    if (budgeted(env, c)) {
        const uint64_t taken = others + given;
        share_out(env, z, env->cap_bytes > taken ? env->cap_bytes - taken : 0, &graph, &cache);
        if (z->gathers > 1)
            cache /= z->gathers;
    } else {
        paper_buffers(env, c, z, &graph, &cache);
    }
    graph = c->graph_buffer_bytes > 0 ? c->graph_buffer_bytes : graph;
    cache = c->feature_cache_bytes > 0 ? c->feature_cache_bytes : cache;
    z->graph_frames = (uint32_t)least(most(graph / z->block_bytes, 1), z->graph_blocks);
    z->cache_rows = (uint32_t)least(least(cache / env->dataset->row_bytes, env->dataset->node_count), AGNES_SLOT_MASK);
    if (env->workload->sample_only)
        z->cache_rows = 0;
}

/* ---- the plan ---- */

static void shape(const struct gnn_env *env, const struct agnes_config *c, uint32_t graph_blocks, struct agnes_sizes *z)
{
    const struct gnn_dataset *const d = env->dataset;
    const uint32_t batch_size = env->workload->batch_size, limit = env->workload->max_batches;
    *z = (struct agnes_sizes){.block_bytes = agnes_block_bytes(env, c), .id_bytes = id_bytes_of(c)};
    z->rows = z->block_bytes / d->row_bytes;
    z->feature_blocks = z->rows > 0 ? (uint32_t)(((uint64_t)d->node_count + z->rows - 1) / z->rows) : 0;
    z->graph_blocks = graph_blocks > 0 ? graph_blocks : (uint32_t)(graph_bytes(d, z->id_bytes) / z->block_bytes + 1);
    z->batches = (uint32_t)(((uint64_t)d->train.count + batch_size - 1) / batch_size);
    z->batches = limit > 0 && limit < z->batches ? limit : z->batches;
    const uint32_t epoch = ratio_of(d)->hyperbatches;
    z->hyperbatch = c->hyperbatch > 0 ? c->hyperbatch : (z->batches + epoch - 1) / epoch;
    z->hyperbatch = (uint32_t)most(least(z->hyperbatch, z->batches), 1);
    z->contexts = c->overlap == AGNES_OVERLAP_FULL ? 3 : 2;
    z->gathers = env->workload->sample_only ? 0 : c->overlap == AGNES_OVERLAP_FULL ? 2 : 1;
    z->pool_frames = (uint32_t)least(c->depth + c->workers, most(z->feature_blocks, 1));
}

static void add_parts(const struct agnes_config *c, const struct agnes_sizes *z, const struct parts *p,
                      struct gnn_memory_plan *plan)
{
    const uint64_t row_bytes = plan->env->dataset->row_bytes;
    gnn_plan_in_flight(plan, "lists of a hyperbatch", "agnes.hyperbatch", p->lists);
    gnn_plan_part(plan, "staging buffers", "agnes.hyperbatch or agnes.block", p->staging);
    gnn_plan_part(plan, "feature blocks in flight", "agnes.depth or agnes.block", p->pool);
    gnn_plan_part(plan, "workspaces", "agnes.workers", p->workers);
    gnn_plan_in_flight(plan, "inputs of two mini-batches", "--batch or --fanout", p->inputs);
    gnn_plan_part(plan, "arrays of the nodes", "agnes.layout=input", p->nodes);
    gnn_plan_part(plan, "graph buffer and feature cache", "agnes.graph_buffer or agnes.feature_cache",
                  (uint64_t)z->graph_frames * z->block_bytes + most(z->gathers, 1) * z->cache_rows * row_bytes);
    plan->advisory = c->accounting != AGNES_ACCOUNT_FULL;
}

static enum gnn_status check(const struct gnn_env *env, const struct agnes_config *c, const struct agnes_sizes *z,
                             struct gnn_err *err)
{
    if (z->block_bytes % GNN_PAGE_BYTES != 0)
        return gnn_fail(err, GNN_EUSAGE, "agnes.block=%" PRIu32 " is no multiple of %d", z->block_bytes,
                        GNN_PAGE_BYTES);
    if (z->rows == 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "a row has %" PRIu32 " bytes, a block %" PRIu32 ": raise agnes.block to a row at least",
                        env->dataset->row_bytes, z->block_bytes);
    if (c->overlap == AGNES_OVERLAP_FULL && env->workload->sample_only)
        return gnn_fail(err, GNN_EUSAGE, "agnes.overlap=full overlaps training: leave it out of --sample-only");
    return GNN_OK;
}

enum gnn_status agnes_size(const struct agnes_config *c, uint32_t graph_blocks, struct agnes_sizes *z,
                           struct gnn_memory_plan *plan, struct gnn_err *err)
{
    const struct gnn_env *env = plan->env;
    struct parts p;
    shape(env, c, graph_blocks, z);
    GNN_TRY(check(env, c, z, err));
    gnn_plan_process_at_least(plan, process_bytes);
    fit_hyperbatch(plan, c, z, &p);
    z->unbudgeted_bytes = sum_of(&p);
    choose_buffers(env, c, z, z->unbudgeted_bytes);
    add_parts(c, z, &p, plan);
    return GNN_OK;
}

/* SPDX-License-Identifier: MIT */
/* Every size of AGNES: block, hyperbatch, buffers, and the memory they come to.
 *
 * accounting=full: graph buffer and feature cache share, one to one, what the cap leaves beside everything else; an
 * automatic hyperbatch is the one for which fewest bytes are predicted to be read and written in an epoch, the paper's
 * at most. accounting=paper, and without a cap: the buffers have the sizes of the paper's settings (section 4.1), and
 * nothing else is counted against them. */
#include "systems/agnes/agnes.h"

#include "harness/base/id_map.h"
#include "harness/sample/batch.h"
#include "systems/agnes/bucket.h"

#include <inttypes.h>
#include <math.h>

static const uint64_t block_most = UINT64_C(1) << 20, block_least = UINT64_C(64) << 10;
enum { BLOCKS_AT_LEAST = 1000, RING_BYTES = 64 << 10 };

/* AGNES (KDD 2026) section 4.1, at scale 1 and whatever the graph and the dimension: setting 1 is 16 GB for the
 * topology and 16 GB for features, setting 2 a quarter of both; a hyperbatch has 1024 mini-batches of 1000 seeds. */
static const double setting_bytes = 16e9;
enum { HYPERBATCH_SEEDS = 1024 * 1000 };

static uint32_t divisor_of(const struct gnn_dataset *d)
{
    return gnn_max_u32(d->scale_divisor, 1);
}

/* Returns the hyperbatches of an epoch in the paper: 2 for papers100m, 14 for yahoo. */
static uint32_t hyperbatches_of(const struct gnn_dataset *d)
{
    return (uint32_t)gnn_max_u64(gnn_div_up((uint64_t)d->train.count * divisor_of(d), HYPERBATCH_SEEDS), 1);
}

static uint64_t graph_bytes(const struct gnn_dataset *d, uint32_t id_bytes)
{
    return d->edge_count * id_bytes + d->node_count * (uint64_t)AGNES_SLOT_BYTES;
}

static uint64_t feature_bytes(const struct gnn_dataset *d)
{
    return d->node_count * (uint64_t)d->row_bytes;
}

uint32_t agnes_id_bytes(const struct gnn_env *env, const struct agnes_config *config)
{
    if (config->id_width == AGNES_ID_DATASET)
        return env->dataset->id_bytes;
    return config->id_width == AGNES_ID_8 ? 8 : 4;
}

uint32_t agnes_block_bytes(const struct gnn_env *env, const struct agnes_config *config)
{
    if (config->block_bytes > 0)
        return (uint32_t)config->block_bytes;
    const uint64_t smaller =
        gnn_min_u64(graph_bytes(env->dataset, agnes_id_bytes(env, config)), feature_bytes(env->dataset));
    uint64_t block = block_most;
    while (block > block_least && block > smaller / BLOCKS_AT_LEAST)
        block /= 2;
    return (uint32_t)block;
}

/* ---- everything besides the two buffers ---- */

/* Returns what grows with H: V_j, the lists of the hop before, places of spilled rows, drawn neighbours, buckets.
 * Buffers that grow take a sixteenth more than is asked for. */
static uint64_t lists_bytes(const struct gnn_memory_plan *plan, const struct agnes_sizes *sizes)
{
    const struct gnn_workload *const load = plan->env->workload;
    const uint64_t h = sizes->hyperbatch, all = gnn_plan_nodes_of(plan, sizes->hyperbatch, load->layers);
    const uint64_t largest = plan->largest.nodes[load->layers];
    uint64_t drawn = 0, entries = 0;
    for (uint32_t l = 0; l < load->layers; l++) {
        const uint64_t positions = gnn_plan_nodes_of(plan, sizes->hyperbatch, l);
        drawn = gnn_max_u64(drawn, positions * (load->fanout[l] * sizeof(agnes_node) + 1));
        entries = gnn_max_u64(entries, positions * sizeof(struct agnes_entry));
    }
    const uint64_t nodes = all + gnn_plan_nodes_of(plan, sizes->hyperbatch, load->layers - 1);
    const uint64_t lists = sizes->alive * (nodes + nodes / 16) * sizeof(agnes_node);
    const uint64_t hop = drawn + drawn / 16 + entries;
    if (load->sample_only)
        return lists + hop;
    const uint64_t spill = sizes->row_sets * (all + h * (largest / sizes->rows)) * sizeof(uint32_t);
    return lists + hop + spill + spill / 16 + all * sizeof(struct agnes_entry);
}

/* Returns what visits=target takes: positions of every target, marks of the workers, and a byte for each served row. */
static uint64_t targets_bytes(const struct gnn_memory_plan *plan, const struct agnes_config *config,
                              const struct agnes_sizes *sizes)
{
    const struct gnn_workload *const load = plan->env->workload;
    const uint32_t seeds = gnn_min_u32(load->batch_size, plan->env->dataset->train.count);
    const uint64_t bound =
        gnn_sample_node_bound(plan->env->dataset->node_count, seeds, load->fanout, load->layers, NULL);
    uint64_t positions = 1; /* of a target */
    if (config->visits != AGNES_VISITS_TARGET)
        return 0;
    for (uint32_t l = 0; l < load->layers; l++)
        positions = gnn_min_u64(gnn_mul_bytes(positions, load->fanout[l] + UINT64_C(1)), bound);
    return sizes->alive * agnes_targets_bytes((uint64_t)seeds * sizes->hyperbatch, positions) +
           config->workers * bound * sizeof(uint32_t) + gnn_plan_nodes_of(plan, sizes->hyperbatch, load->layers);
}

/* Returns what the sampling workers reserve, and the buffers of the spools. */
static uint64_t workspaces_bytes(const struct gnn_memory_plan *plan, const struct agnes_config *config,
                                 const struct agnes_sizes *sizes)
{
    const struct gnn_workload *const load = plan->env->workload;
    const uint32_t seeds = gnn_min_u32(load->batch_size, plan->env->dataset->train.count);
    const uint64_t bound =
        gnn_sample_node_bound(plan->env->dataset->node_count, seeds, load->fanout, load->layers, NULL);
    const uint64_t one =
        (2 * bound + 1) * sizeof(uint32_t) + gnn_id_map_sized_slots(bound) * sizeof(struct gnn_id_slot);
    const uint64_t spools = load->sample_only ? 0 : (uint64_t)sizes->alive * AGNES_SPOOL_BLOCK_BYTES;
    return config->workers * (one + GNN_PAGE_BYTES + spools);
}

/* Returns the arrays of nodes and blocks. */
static uint64_t arrays_bytes(const struct gnn_memory_plan *plan, const struct agnes_config *config,
                             const struct agnes_sizes *sizes)
{
    const struct gnn_dataset *const d = plan->env->dataset;
    const uint64_t order = config->layout == AGNES_LAYOUT_INPUT ? 0 : d->node_count * (uint64_t)sizeof(gnn_node);
    const uint64_t train = 2 * gnn_batch_order_bytes(plan->env);
    const uint64_t graph = sizes->graph_blocks * (sizeof(struct agnes_object_range) + sizeof(uint32_t)) +
                           agnes_bucket_bytes(sizes->graph_blocks, config->workers, 0);
    if (plan->env->workload->sample_only)
        return order + train + graph + RING_BYTES;
    const uint64_t counts = (uint64_t)sizes->row_sets * d->node_count * sizeof(uint32_t);
    const uint64_t features =
        sizes->feature_blocks * sizeof(uint32_t) + agnes_bucket_bytes(sizes->feature_blocks, config->workers, 0);
    return order + train + graph + RING_BYTES + counts + features;
}

/* Returns two inputs with their node lists and blocks, each layer from the spool in whole pages, and the spilled rows
 * of one mini-batch. */
static uint64_t inputs_bytes(const struct gnn_memory_plan *plan, const struct agnes_sizes *sizes)
{
    const uint32_t layers = plan->env->workload->layers;
    const uint64_t lists = gnn_batch_bytes(&plan->largest, layers) + (layers + 2) * (uint64_t)GNN_PAGE_BYTES;
    const uint64_t spilled = plan->largest.nodes[layers] / sizes->rows * (uint64_t)sizes->block_bytes;
    return AGNES_INPUTS * (gnn_plan_rows_bytes(plan) + lists + lists / 16) + spilled + spilled / 16;
}

/* All of it is there in the epochs; what preparing a layout takes is given back before. */
static void add_parts(struct gnn_memory_plan *plan, const struct agnes_config *config, const struct agnes_sizes *sizes)
{
    const bool only = plan->env->workload->sample_only;
    const uint64_t spares = config->spill == AGNES_SPILL_ASYNC ? config->workers + 1 : 0;
    const uint64_t staging =
        gnn_mul_bytes(sizes->row_sets, gnn_mul_bytes(sizes->hyperbatch + spares, sizes->block_bytes));
    const uint64_t pool = only ? 0 : sizes->pool_frames * (uint64_t)sizes->block_bytes;
    gnn_plan_in_flight(plan, "lists of a hyperbatch", "agnes.hyperbatch", lists_bytes(plan, sizes))->phases =
        1 << AGNES_IN_EPOCHS;
    if (config->visits == AGNES_VISITS_TARGET)
        gnn_plan_in_flight(plan, "nodes of each target", "agnes.visits=hyperbatch or --batch",
                           targets_bytes(plan, config, sizes))
            ->phases = 1 << AGNES_IN_EPOCHS;
    gnn_plan_part(plan, "staging buffers", "agnes.hyperbatch or agnes.block", staging)->phases = 1 << AGNES_IN_EPOCHS;
    gnn_plan_part(plan, "feature blocks in flight", "agnes.depth or agnes.block", pool)->phases = 1 << AGNES_IN_EPOCHS;
    gnn_plan_part(plan, "workspaces", "agnes.workers", workspaces_bytes(plan, config, sizes))->phases =
        1 << AGNES_IN_EPOCHS;
    gnn_plan_in_flight(plan, "inputs of two mini-batches", "--batch or --fanout", only ? 0 : inputs_bytes(plan, sizes))
        ->phases = 1 << AGNES_IN_EPOCHS;
    gnn_train_input_plan(plan, config->transfer, 1, AGNES_INPUTS);
    gnn_training_plan(plan, 1 << AGNES_IN_EPOCHS);
    gnn_plan_part(plan, "arrays of the nodes", "agnes.layout=input", arrays_bytes(plan, config, sizes))->phases =
        1 << AGNES_IN_EPOCHS;
}

static bool has_budget(const struct gnn_env *env, const struct agnes_config *config)
{
    return env->cap_bytes > 0 && config->accounting == AGNES_ACCOUNT_FULL;
}

/* ---- the two buffers ---- */

struct buffers {
    uint64_t graph_bytes, cache_bytes; /* cache: of one row set */
};

/* Setting 1, or a quarter of it, divided by the dataset's scale. */
static struct buffers paper_buffers(const struct gnn_dataset *d, const struct agnes_config *config)
{
    const double share = config->setting == AGNES_SETTING_1 ? 1.0 : 0.25;
    const uint64_t bytes = (uint64_t)(share * setting_bytes / divisor_of(d));
    return (struct buffers){.graph_bytes = bytes, .cache_bytes = bytes};
}

/* Shares one to one, but none gets more than its data: what one cannot use is the other's. */
static struct buffers share_out(const struct gnn_env *env, const struct agnes_sizes *sizes, uint64_t left)
{
    const uint64_t all_blocks = (uint64_t)sizes->graph_blocks * sizes->block_bytes;
    const uint64_t all_rows = env->workload->sample_only ? 0 : feature_bytes(env->dataset);
    const uint64_t cache = gnn_min_u64(left - gnn_min_u64(left / 2, all_blocks), all_rows);
    return (struct buffers){.graph_bytes = gnn_min_u64(left - cache, all_blocks),
                            .cache_bytes = cache / gnn_max_u32(sizes->row_sets, 1)};
}

/* Gives the blocks of features what the rows of a hyperbatch do not take: the next target may need the same block. */
static void keep_blocks(const struct gnn_memory_plan *plan, uint64_t cache_bytes, struct agnes_sizes *sizes)
{
    const uint64_t row_bytes = plan->env->dataset->row_bytes;
    const uint64_t most = gnn_plan_nodes_of(plan, sizes->hyperbatch, plan->env->workload->layers);
    sizes->cache_rows = (uint32_t)gnn_min_u64(sizes->cache_rows, most);
    const uint64_t left = cache_bytes - gnn_min_u64(cache_bytes, sizes->cache_rows * row_bytes);
    sizes->kept_frames =
        (uint32_t)gnn_min_u64(left / sizes->block_bytes, sizes->feature_blocks - (uint64_t)sizes->pool_frames);
}

/* Chooses G and C. plan: everything else. */
static void choose_buffers(const struct gnn_memory_plan *plan, const struct agnes_config *config,
                           struct agnes_sizes *sizes)
{
    const struct gnn_dataset *const d = plan->env->dataset;
    const bool only = plan->env->workload->sample_only;
    const uint64_t given = config->graph_buffer_bytes + (only ? 0 : config->feature_cache_bytes);
    const uint64_t left = gnn_plan_left(plan, AGNES_IN_EPOCHS);
    struct buffers buffers = has_budget(plan->env, config)
                                 ? share_out(plan->env, sizes, left - gnn_min_u64(left, given))
                                 : paper_buffers(d, config);
    if (config->graph_buffer_bytes > 0)
        buffers.graph_bytes = config->graph_buffer_bytes;
    if (config->feature_cache_bytes > 0)
        buffers.cache_bytes = config->feature_cache_bytes;
    const uint64_t frames = gnn_max_u64(buffers.graph_bytes / sizes->block_bytes, 1);
    const uint64_t rows = gnn_min_u64(buffers.cache_bytes / d->row_bytes, d->node_count);
    sizes->graph_frames = (uint32_t)gnn_min_u64(frames, sizes->graph_blocks);
    sizes->cache_rows = only ? 0 : (uint32_t)gnn_min_u64(rows, AGNES_SLOT_MASK);
    if (config->visits == AGNES_VISITS_TARGET && !only)
        keep_blocks(plan, buffers.cache_bytes, sizes);
}

static uint64_t buffers_bytes(const struct gnn_env *env, const struct agnes_sizes *sizes)
{
    return (uint64_t)sizes->graph_frames * sizes->block_bytes +
           sizes->row_sets * (uint64_t)sizes->cache_rows * env->dataset->row_bytes +
           (uint64_t)sizes->kept_frames * sizes->block_bytes;
}

/* ---- all sizes ---- */

static void choose_counts(const struct gnn_env *env, const struct agnes_config *config, uint32_t graph_blocks,
                          struct agnes_sizes *sizes)
{
    const struct gnn_dataset *const d = env->dataset;
    *sizes =
        (struct agnes_sizes){.block_bytes = agnes_block_bytes(env, config), .id_bytes = agnes_id_bytes(env, config)};
    sizes->rows = sizes->block_bytes / d->row_bytes;
    sizes->feature_blocks = sizes->rows > 0 ? (uint32_t)gnn_div_up(d->node_count, sizes->rows) : 0;
    sizes->graph_blocks =
        graph_blocks > 0 ? graph_blocks : (uint32_t)(graph_bytes(d, sizes->id_bytes) / sizes->block_bytes + 1);
    const uint32_t whole = gnn_whole_epoch_batches(env);
    sizes->batches = gnn_epoch_batches(env);
    const uint32_t hyperbatch =
        config->hyperbatch > 0 ? config->hyperbatch : (uint32_t)gnn_div_up(whole, hyperbatches_of(d));
    sizes->hyperbatch = gnn_max_u32(gnn_min_u32(hyperbatch, whole), 1);
    sizes->alive = config->overlap == AGNES_OVERLAP_ROUND ? 2 : AGNES_ALIVE_MAX;
    sizes->row_sets = env->workload->sample_only ? 0 : sizes->alive - 1;
    sizes->pool_frames = gnn_min_u32(config->depth + config->workers, gnn_max_u32(sizes->feature_blocks, 1));
}

static enum gnn_status check_options(const struct gnn_env *env, const struct agnes_config *config,
                                     const struct agnes_sizes *sizes, struct gnn_err *err)
{
    if (sizes->block_bytes % GNN_PAGE_BYTES != 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "agnes.block=%" PRIu32 " is not a multiple of the page size, %d bytes: choose a multiple",
                        sizes->block_bytes, GNN_PAGE_BYTES);
    if (sizes->rows == 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "a feature row of %" PRIu32 " bytes does not fit into agnes.block=%" PRIu32
                        ": raise agnes.block to at least one row",
                        env->dataset->row_bytes, sizes->block_bytes);
    if (config->overlap != AGNES_OVERLAP_ROUND && env->workload->sample_only)
        return gnn_fail(
            err, GNN_EUSAGE,
            "agnes.overlap=%s overlaps training, which --sample-only leaves out: remove one of the two options",
            config->overlap == AGNES_OVERLAP_FULL ? "full" : "epochs");
    return GNN_OK;
}

/* ---- the hyperbatch ---- */

/* Returns how many of `places` are hit by so many accesses that fall anywhere. */
static double touched(double places, double accesses)
{
    return places <= 0 ? 0 : places * -expm1(-accesses / places);
}

/* Returns the graph blocks that a hyperbatch of h mini-batches is predicted to read: hop by hop those needed less those
 * that the hop before left in the buffer. */
static double predicted_graph_blocks(const struct gnn_memory_plan *plan, const struct agnes_sizes *sizes, double h)
{
    double blocks = 0, resident = 0;
    for (uint32_t l = 0; l < plan->env->workload->layers; l++) {
        const double needed = touched(sizes->graph_blocks, h * plan->batch.nodes[l]);
        blocks += needed - fmin(resident, needed) * needed / sizes->graph_blocks;
        resident = fmin(sizes->graph_frames, needed);
    }
    return blocks;
}

/* Returns the blocks that an epoch is predicted to read and write: of the graph, of the features, and of the spill, of
 * accesses that fall on all nodes alike (on skewed ones fewer). Row sets and spool are the same for every H. */
static double predicted_blocks(const struct gnn_memory_plan *plan, const struct agnes_sizes *sizes)
{
    const struct gnn_workload *const load = plan->env->workload;
    const double h = sizes->hyperbatch, nodes = plan->batch.nodes[load->layers];
    const double hyperbatches = (double)gnn_div_up(gnn_whole_epoch_batches(plan->env), sizes->hyperbatch);
    double blocks = predicted_graph_blocks(plan, sizes, h);
    if (!load->sample_only) {
        const double different = touched(plan->env->dataset->node_count, h * nodes);
        const double spilled = nodes * fmax(1 - sizes->cache_rows / different, 0); /* of a mini-batch */
        blocks += touched(sizes->feature_blocks, h * nodes) + 2 * h * floor(spilled / sizes->rows);
    }
    return hyperbatches * blocks;
}

/* Returns, of the hyperbatches that divide the epoch into ever more parts, from the paper's on, the one with the fewest
 * predicted blocks that leaves the graph buffer so many frames; 0: none fits. */
static uint32_t best_hyperbatch(const struct gnn_memory_plan *plan, const struct agnes_config *config,
                                const struct agnes_sizes *sizes, uint32_t frames)
{
    const uint32_t whole = gnn_whole_epoch_batches(plan->env); /* a part of an epoch is run as the whole would be */
    double least = INFINITY;
    uint32_t best = 0;
    struct agnes_sizes one = *sizes;
    while (one.hyperbatch > 0) {
        struct gnn_memory_plan trial = *plan;
        add_parts(&trial, config, &one);
        choose_buffers(&trial, config, &one);
        const bool fits =
            buffers_bytes(plan->env, &one) <= gnn_plan_left(&trial, AGNES_IN_EPOCHS) && one.graph_frames >= frames;
        const double blocks = fits ? predicted_blocks(&trial, &one) : INFINITY;
        if (blocks < least) {
            least = blocks;
            best = one.hyperbatch;
        }
        const uint64_t more = one.hyperbatch > 1 ? gnn_div_up(whole, one.hyperbatch - 1) : 0;
        one.hyperbatch = more > 0 ? (uint32_t)gnn_div_up(whole, more) : 0;
    }
    return best;
}

/* Chooses H: with a frame for every read in flight if that is possible, or the sampling stage waits for each block. */
static void choose_hyperbatch(const struct gnn_memory_plan *plan, const struct agnes_config *config,
                              struct agnes_sizes *sizes)
{
    uint32_t best = best_hyperbatch(plan, config, sizes, gnn_min_u32(config->depth, sizes->graph_blocks));
    if (best == 0)
        best = best_hyperbatch(plan, config, sizes, 1);
    sizes->hyperbatch = gnn_max_u32(best, 1);
}

enum gnn_status agnes_size(const struct agnes_config *config, uint32_t graph_blocks, struct agnes_sizes *sizes,
                           struct gnn_memory_plan *plan, struct gnn_err *err)
{
    choose_counts(plan->env, config, graph_blocks, sizes);
    GNN_TRY(check_options(plan->env, config, sizes, err));
    if (config->hyperbatch == 0 && has_budget(plan->env, config))
        choose_hyperbatch(plan, config, sizes);
    sizes->first = config->first > 0 ? gnn_min_u32(config->first, sizes->hyperbatch) : sizes->hyperbatch;
    add_parts(plan, config, sizes);
    choose_buffers(plan, config, sizes);
    gnn_plan_part(plan, "graph buffer and feature cache", "agnes.graph_buffer or agnes.feature_cache",
                  buffers_bytes(plan->env, sizes))
        ->phases = 1 << AGNES_IN_EPOCHS;
    plan->advisory = config->accounting != AGNES_ACCOUNT_FULL;
    assert(sizes->graph_frames > 0);
    assert(sizes->graph_frames <= sizes->graph_blocks);
    assert(sizes->cache_rows <= plan->env->dataset->node_count);
    assert(sizes->alive <= AGNES_ALIVE_MAX);
    return GNN_OK;
}

/* SPDX-License-Identifier: MIT */
/* Every size of DiskGNN, and the memory of its phases, which are never there together:
 *
 *     draw      offline sampling: samplers, their mini-batches, access counts
 *     pack      placement and packing: two partitions of the features (most of what the cap leaves; the sum has the
 *               least)
 *     train     the two caches, and a slot of everything for each mini-batch on its way
 *
 * Under accounting=full the caches get what the cap leaves. More cached rows make smaller partial inputs, so their
 * number is the largest that fits together with the partial inputs it leaves. */
#include "systems/diskgnn/diskgnn.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

enum { DRAW, PACK, TRAIN }; /* phases of the plan */

/* Of packing with the least memory (pack.c): a piece and two pages a worker. */
static const uint64_t pack_least_bytes = UINT64_C(4) << 20, pack_worker_bytes = UINT64_C(264) << 10;
static const uint64_t pack_most_bytes = UINT64_C(1) << 30;

enum {
    ROWS_MAX = (1 << 30) - 1, /* of a table of the placement */
    DEVICE_RESERVE = 16,      /* an automatic GPU cache leaves 1/16 of the device */
    PARTIAL_SLACK = 16,       /* the largest mini-batch reads 1/16 more rows than its share of all reads */
    STEPS = 64,               /* numbers of cached rows that are tried, before the gap between two is halved */
};

/* ---- slots ---- */

struct diskgnn_slots diskgnn_slots_of(const struct gnn_env *env, const struct diskgnn_config *config)
{
    const uint32_t one = config->queue + 2; /* being filled, waiting, in use */
    if (!config->pipeline || env->workload->sample_only)
        return (struct diskgnn_slots){.tables = 1, .partials = 1, .inputs = 1, .graphs = 1};
    const bool kept = gnn_env_on_device(env) && config->assembly == DISKGNN_ASSEMBLY_KERNEL; /* until it was trained */
    return (struct diskgnn_slots){.tables = one + (config->table_stage ? one - 1 : 0),
                                  .partials = one + (kept ? one - 1 : 0),
                                  .inputs = one,
                                  .graphs = one};
}

struct diskgnn_pages_config diskgnn_pages_config_of(const struct diskgnn_config *config,
                                                    const struct diskgnn_rows *rows, struct gnn_team *team,
                                                    uint64_t pages_most)
{
    return (struct diskgnn_pages_config){.team = team,
                                         .rings = config->rings,
                                         .entries = config->ring_entries,
                                         .submit = config->submit,
                                         .rows = *rows,
                                         .pages_most = (uint32_t)gnn_min_u64(pages_most, UINT32_MAX - 1),
                                         .new_memory = config->loader == DISKGNN_LOADER_COPIES};
}

static struct diskgnn_rows rows_of(const struct gnn_env *env, const struct diskgnn_config *config)
{
    return diskgnn_rows_of(env->dataset->row_bytes, diskgnn_page_bytes(&config->prepare));
}

/* ---- what a mini-batch holds ---- */

static bool has_disk_cache(const struct diskgnn_config *config)
{
    return config->prepare.disk_limit > 0 || config->prepare.segment > 0;
}

/* Fills in what follows from the rows that are read. */
static void set_partial(const struct gnn_env *env, const struct diskgnn_config *config, uint64_t rows,
                        struct diskgnn_most *most)
{
    most->partial_rows = rows;
    most->partial_bytes = gnn_round_up(gnn_mul_bytes(rows, env->dataset->row_bytes), GNN_PAGE_BYTES);
    most->pages = has_disk_cache(config) ? rows : 0;
}

/* Of mini-batches of so many nodes, before anything was placed: a table has two words a node at most. */
static struct diskgnn_most most_before(const struct gnn_env *env, const struct diskgnn_config *config, uint64_t nodes,
                                       uint64_t record_bytes, uint64_t partial_rows)
{
    struct diskgnn_most most = {.nodes = nodes,
                                .record_bytes = gnn_round_up(record_bytes, GNN_PAGE_BYTES),
                                .table_bytes = gnn_round_up(2 * nodes * sizeof(uint32_t), GNN_PAGE_BYTES)};
    set_partial(env, config, partial_rows, &most);
    return most;
}

/* Rows that the largest mini-batch reads beside so many cached ones: its share of all that are read, and some more, as
 * mini-batches differ. What is prepared tells the truth (diskgnn_excess_bytes). */
static uint64_t partial_rows_beside(const struct diskgnn_sampled *sampled, uint64_t cached)
{
    if (sampled->accesses == 0)
        return 0;
    const double share = (double)diskgnn_cold_accesses(sampled, cached) / (double)sampled->accesses;
    const double rows = share * (double)sampled->nodes_most;
    return gnn_min_u64((uint64_t)(rows + rows / PARTIAL_SLACK + 4 * sqrt(rows)) + 1, sampled->nodes_most);
}

struct diskgnn_most diskgnn_most_of(const struct diskgnn_sampled *sampled, const struct diskgnn_layout *layout)
{
    const struct diskgnn_rows *const rows = &layout->rows;
    return (struct diskgnn_most){
        .nodes = sampled->nodes_most,
        .record_bytes = sampled->record_bytes_most,
        .table_bytes = gnn_round_up(layout->table_words_most * UINT64_C(4), GNN_PAGE_BYTES),
        .partial_rows = layout->partial_most,
        .partial_bytes = gnn_max_u64(layout->chunk_bytes_most, layout->partial_most * (uint64_t)rows->row_bytes),
        .pages = layout->pages_most};
}

/* ---- parts ---- */

static void add(struct gnn_memory_plan *plan, uint32_t phases, const char *name, const char *remedy, uint64_t bytes)
{
    gnn_plan_part(plan, name, remedy, bytes)->phases = phases;
}

static void add_in_flight(struct gnn_memory_plan *plan, const char *name, const char *remedy, uint64_t count,
                          uint64_t bytes)
{
    gnn_plan_in_flight(plan, name, remedy, gnn_mul_bytes(count, bytes))->phases = 1 << TRAIN;
}

/* The complete inputs: on the host, or beside those that gnn_train_input_plan counts on the device. */
static void add_inputs(struct gnn_memory_plan *plan, const struct diskgnn_config *config,
                       const struct diskgnn_slots *slots, const struct diskgnn_most *most)
{
    static const char remedy[] = "diskgnn.queue, --batch or --fanout";
    const struct gnn_env *const env = plan->env;
    const bool device = gnn_env_on_device(env), scatter = config->assembly == DISKGNN_ASSEMBLY_SCATTER;
    const uint64_t stored = gnn_mul_bytes(most->nodes, env->dataset->row_bytes);
    const uint64_t rows = gnn_mul_bytes(most->nodes, gnn_dataset_wide_bytes(env->dataset));
    const uint64_t copy = scatter ? most->partial_bytes : diskgnn_streams_halves(env, config) ? stored : 0;
    const uint64_t copies = gnn_mul_bytes(slots->inputs, copy);
    add_in_flight(plan, "numbers of rows", remedy, slots->inputs * (device ? UINT64_C(2) : 1),
                  gnn_round_up(most->nodes * sizeof(uint32_t), GNN_PAGE_BYTES));
    if (!device) {
        add_in_flight(plan, "inputs", remedy, slots->inputs, rows + rows / 8);
        add_in_flight(plan, "copies of partial inputs", "diskgnn.assembly", 1, copies + copies / 8);
        return;
    }
    gnn_train_input_plan(plan, config->transfer, 1, slots->inputs); /* of stored rows */
    gnn_plan_widened(
        plan, 1 << TRAIN,
        gnn_mul_bytes(config->transfer == GNN_TRANSFER_AHEAD ? slots->inputs : 1, rows - stored + (rows - stored) / 8));
    if (config->transfer == GNN_TRANSFER_BLOCKING)
        gnn_plan_device(plan, "inputs", remedy, gnn_mul_bytes(slots->inputs - 1, rows));
    gnn_plan_device(plan, "copies of partial inputs", "diskgnn.assembly", copies + copies / 8);
}

static void add_caches(struct gnn_memory_plan *plan, const struct diskgnn_most *most,
                       const struct diskgnn_caches *caches)
{
    const uint64_t row_bytes = plan->env->dataset->row_bytes;
    const uint64_t numbers = (uint64_t)caches->gpu_rows + caches->cpu_rows + most->partial_rows + 1;
    if (gnn_env_on_device(plan->env)) {
        gnn_plan_device(plan, "GPU cache", "diskgnn.gpu_cache", caches->gpu_rows * row_bytes);
        gnn_plan_device(plan, "places of rows", "diskgnn.gpu_cache", numbers * sizeof(uint32_t));
    } else {
        add(plan, 1 << TRAIN, "GPU cache", "diskgnn.gpu_cache", caches->gpu_rows * row_bytes);
        add(plan, 1 << TRAIN, "places of rows", "diskgnn.cpu_cache", numbers * sizeof(uint32_t));
    }
    add(plan, 1 << TRAIN, "CPU cache", "diskgnn.cpu_cache", caches->cpu_rows * row_bytes);
}

/* What is there while training. */
static void add_training(struct gnn_memory_plan *plan, const struct diskgnn_config *config,
                         const struct diskgnn_most *most, const struct diskgnn_caches *caches)
{
    const struct gnn_env *const env = plan->env;
    const struct diskgnn_slots slots = diskgnn_slots_of(env, config);
    const uint64_t labels = gnn_round_up(env->workload->batch_size * sizeof(int32_t), GNN_PAGE_BYTES);
    add_in_flight(plan, "graph samples", "diskgnn.queue, --batch or --fanout", slots.graphs,
                  most->record_bytes + labels);
    if (env->workload->sample_only)
        return;
    const struct diskgnn_rows rows = rows_of(env, config);
    const struct diskgnn_pages_config pages = diskgnn_pages_config_of(config, &rows, NULL, most->pages);
    add_in_flight(plan, "partial inputs", "diskgnn.queue, --batch or --fanout", slots.partials, most->partial_bytes);
    add_in_flight(plan, "address tables", "diskgnn.queue, --batch or --fanout", slots.tables, most->table_bytes);
    add(plan, 1 << TRAIN, "pages of the disk cache", "diskgnn.ring_entries or diskgnn.rings",
        diskgnn_pages_bytes(&pages));
    if (config->loader == DISKGNN_LOADER_COPIES)
        add(plan, 1 << TRAIN, "a chunk and its clone", "diskgnn.loader", 2 * diskgnn_chunk_step(most));
    add_inputs(plan, config, &slots, most);
    add_caches(plan, most, caches);
}

/* What every phase holds, and those before training. */
static void add_preparation(struct gnn_memory_plan *plan, const struct diskgnn_config *config)
{
    const struct gnn_env *const env = plan->env;
    const uint64_t batches = gnn_whole_epoch_batches(env), samplers = config->prepare.samplers;
    const uint64_t batch = gnn_batch_reserved_bytes(env->dataset, env->workload);
    gnn_plan_part(plan, "index of the mini-batches", "--batch",
                  batches * (sizeof(struct diskgnn_sample) + sizeof(struct diskgnn_place) + 2 * sizeof(uint64_t)));
    add(plan, 1 << DRAW, "samplers", "diskgnn.samplers", gnn_sampling_bytes(env, config->prepare.samplers));
    add(plan, 1 << DRAW, "mini-batches being drawn", "diskgnn.samplers", gnn_mul_bytes(2 * samplers, batch));
    add(plan, 1 << DRAW, "access counts", NULL, env->dataset->node_count * (uint64_t)sizeof(uint32_t));
    add(plan, 1 << PACK, "packing", "diskgnn.pack_memory or diskgnn.pack_workers",
        gnn_add_bytes(gnn_max_u64(config->prepare.pack_memory, pack_least_bytes),
                      batches * diskgnn_page_bytes(&config->prepare) +
                          config->prepare.pack_workers * pack_worker_bytes));
    add(plan, 1 << PACK, "placement of the rows", "--batch or --fanout",
        diskgnn_place_bytes(env, &config->prepare, plan->batch.nodes[env->workload->layers]));
}

uint64_t diskgnn_pack_memory(const struct gnn_env *env, const struct diskgnn_config *config)
{
    struct gnn_memory_plan plan;
    if (config->prepare.pack_memory > 0)
        return config->prepare.pack_memory;
    gnn_plan_begin(&plan, env);
    add_preparation(&plan, config);
    const uint64_t left = gnn_min_u64(gnn_plan_left(&plan, PACK), 2 * pack_most_bytes);
    return gnn_min_u64(pack_least_bytes + left - left / 8, pack_most_bytes); /* an eighth for what nobody counts */
}

/* ---- the caches ---- */

static uint32_t rows_in(const struct gnn_env *env, uint64_t bytes)
{
    return (uint32_t)gnn_min_u64(gnn_min_u64(bytes / env->dataset->row_bytes, env->dataset->node_count), ROWS_MAX);
}

static bool has_budget(const struct gnn_env *env, const struct diskgnn_config *config)
{
    return env->cap_bytes > 0 && config->accounting == DISKGNN_ACCOUNT_FULL;
}

/* The share of the features that the paper calls the memory limit, in rows. */
static uint32_t rows_of_ratio(const struct gnn_env *env, const struct diskgnn_config *config)
{
    return rows_in(env, (uint64_t)((double)env->dataset->feature_bytes * config->cache_ratio / 100));
}

/* Splits cached rows between the two caches as far as neither was given. */
static struct diskgnn_caches split(const struct gnn_env *env, const struct diskgnn_config *config, uint32_t rows)
{
    struct diskgnn_caches caches = {.gpu_rows = (uint32_t)((uint64_t)rows * config->gpu_share / 100)};
    if (config->cpu_cache_bytes > 0) { /* the other takes what is left, its share at most */
        caches.cpu_rows = rows_in(env, config->cpu_cache_bytes);
        caches.gpu_rows = gnn_min_u32(caches.gpu_rows, rows - gnn_min_u32(rows, caches.cpu_rows));
    }
    if (config->gpu_cache_bytes > 0)
        caches.gpu_rows = rows_in(env, config->gpu_cache_bytes);
    if (config->cpu_cache_bytes == 0)
        caches.cpu_rows = rows - gnn_min_u32(rows, caches.gpu_rows);
    return caches;
}

/* What choosing is about: a plan without the parts of training, and what mini-batches hold beside so many rows. */
struct choice {
    const struct gnn_memory_plan *plan;
    const struct diskgnn_config *config;
    const struct diskgnn_sampled *sampled; /* NULL: not drawn yet */
    uint64_t gpu_rows;                     /* with a device: its cache, which is no part of the sum; else 0 */
    uint64_t reserve_bytes;                /* of the cap, left alone */
};

static struct diskgnn_most most_beside(const struct choice *c, uint64_t cached)
{
    const struct gnn_memory_plan *const plan = c->plan;
    const uint32_t layers = plan->env->workload->layers;
    if (c->sampled == NULL)
        return most_before(plan->env, c->config, plan->batch.nodes[layers], gnn_batch_bytes(&plan->batch, layers),
                           plan->batch.nodes[layers]);
    return most_before(plan->env, c->config, c->sampled->nodes_most, c->sampled->record_bytes_most,
                       partial_rows_beside(c->sampled, cached));
}

/* Whether so many rows of the host fit. */
static bool fits(const struct choice *c, uint64_t host_rows)
{
    struct gnn_memory_plan trial = *c->plan;
    const struct diskgnn_most most = most_beside(c, host_rows + c->gpu_rows);
    const struct diskgnn_caches caches = {.cpu_rows = (uint32_t)host_rows};
    add_training(&trial, c->config, &most, &caches);
    return gnn_add_bytes(gnn_plan_phase_bytes(&trial, TRAIN), c->reserve_bytes) <= trial.env->cap_bytes;
}

/* Returns the largest number of rows up to `most` that fits; 0 where none does, which the check of the plan tells. What
 * is held falls first and rises then, so what fits is one range. */
static uint32_t most_that_fit(const struct choice *c, uint32_t most)
{
    uint64_t step = STEPS;
    while (step > 0 && !fits(c, most * step / STEPS))
        step--;
    if (step == STEPS || step == 0)
        return step == 0 ? 0 : most;
    uint64_t good = most * step / STEPS, bad = most * (step + 1) / STEPS;
    while (bad - good > 1) {
        const uint64_t middle = good + (bad - good) / 2;
        if (fits(c, middle))
            good = middle;
        else
            bad = middle;
    }
    return (uint32_t)good;
}

/* Returns the share of what fits that the option wants; more where that would not fit, as fewer cached rows make larger
 * partial inputs. */
static uint32_t share_that_fits(const struct choice *c, uint32_t most)
{
    const uint32_t fit = most_that_fit(c, most);
    uint32_t rows = (uint32_t)((uint64_t)fit * c->config->cache_share / 100);
    while (rows < fit && !fits(c, rows))
        rows += (fit - rows + 1) / 2;
    return rows;
}

/* The GPU cache of a device: as given, else what its memory leaves, else the paper's share. */
static uint32_t device_rows(const struct choice *c)
{
    const struct gnn_env *const env = c->plan->env;
    const uint64_t memory_bytes = env->tensor != NULL ? env->tensor->memory_bytes : 0;
    if (c->config->gpu_cache_bytes > 0)
        return rows_in(env, c->config->gpu_cache_bytes);
    if (memory_bytes == 0)
        return split(env, c->config, rows_of_ratio(env, c->config)).gpu_rows;
    struct gnn_memory_plan trial = *c->plan;
    const struct diskgnn_most most = most_beside(c, 0);
    const struct diskgnn_caches none = {0};
    add_training(&trial, c->config, &most, &none);
    const uint64_t taken = gnn_add_bytes(gnn_plan_device_bytes(&trial), memory_bytes / DEVICE_RESERVE);
    const uint64_t left = memory_bytes > taken ? memory_bytes - taken : 0;
    const uint64_t row_bytes = env->dataset->row_bytes;
    return rows_in(env, left / (row_bytes + sizeof(uint32_t)) * row_bytes);
}

static struct diskgnn_caches choose(const struct gnn_memory_plan *plan, const struct diskgnn_config *config,
                                    const struct diskgnn_sampled *sampled, uint64_t reserve_bytes)
{
    const struct gnn_env *const env = plan->env;
    if (env->workload->sample_only)
        return (struct diskgnn_caches){0};
    if (!has_budget(env, config))
        return split(env, config, rows_of_ratio(env, config));
    struct choice c = {.plan = plan, .config = config, .sampled = sampled, .reserve_bytes = reserve_bytes};
    const uint32_t rows = rows_in(env, UINT64_MAX);
    if (!gnn_env_on_device(env))
        return split(env, config, share_that_fits(&c, rows));
    struct diskgnn_caches caches = {.gpu_rows = device_rows(&c)};
    c.gpu_rows = caches.gpu_rows;
    caches.cpu_rows = config->cpu_cache_bytes > 0 ? rows_in(env, config->cpu_cache_bytes)
                                                  : share_that_fits(&c, rows - caches.gpu_rows);
    return caches;
}

void diskgnn_choose_caches(const struct gnn_env *env, const struct diskgnn_config *config,
                           const struct diskgnn_sampled *sampled, uint64_t reserve_bytes, struct diskgnn_caches *out)
{
    struct gnn_memory_plan plan;
    gnn_plan_begin(&plan, env);
    add_preparation(&plan, config);
    *out = choose(&plan, config, sampled, reserve_bytes);
}

/* ---- plans ---- */

static enum gnn_status check_options(const struct gnn_env *env, const struct diskgnn_config *config,
                                     struct gnn_err *err)
{
    if (env->dataset->train.count == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s has no training nodes: use a dataset with a training set",
                        env->dataset->dir);
    if (config->chunk_request % GNN_PAGE_BYTES != 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "diskgnn.chunk_request=%" PRIu64
                        " is not a multiple of the page size, %d bytes: choose a multiple",
                        config->chunk_request, GNN_PAGE_BYTES);
    if (config->prepare.disk_rows > 0 && config->prepare.segment == 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "diskgnn.disk_rows=%" PRIu32 " requires a fixed segment length: set diskgnn.segment, too",
                        config->prepare.disk_rows);
    return GNN_OK;
}

enum gnn_status diskgnn_plan_expected(const struct diskgnn_config *config, struct gnn_memory_plan *plan,
                                      struct gnn_err *err)
{
    GNN_TRY(check_options(plan->env, config, err));
    add_preparation(plan, config);
    const struct diskgnn_caches caches = choose(plan, config, NULL, 0);
    const struct choice c = {.plan = plan, .config = config};
    const struct diskgnn_most most = most_beside(&c, 0);
    add_training(plan, config, &most, &caches);
    plan->advisory = config->accounting != DISKGNN_ACCOUNT_FULL;
    return GNN_OK;
}

/* The plan of what was prepared. */
static void plan_prepared(const struct gnn_env *env, const struct diskgnn_config *config,
                          const struct diskgnn_most *most, const struct diskgnn_layout *layout,
                          struct gnn_memory_plan *plan)
{
    const struct diskgnn_caches caches = {.gpu_rows = layout->gpu_rows, .cpu_rows = layout->cpu_rows};
    gnn_plan_begin(plan, env);
    add_preparation(plan, config);
    add_training(plan, config, most, &caches);
    plan->advisory = config->accounting != DISKGNN_ACCOUNT_FULL;
}

uint64_t diskgnn_excess_bytes(const struct gnn_env *env, const struct diskgnn_config *config,
                              const struct diskgnn_most *most, const struct diskgnn_layout *layout)
{
    struct gnn_memory_plan plan;
    plan_prepared(env, config, most, layout, &plan);
    const uint64_t held = gnn_plan_phase_bytes(&plan, TRAIN);
    return has_budget(env, config) && held > env->cap_bytes ? held - env->cap_bytes : 0;
}

enum gnn_status diskgnn_check_prepared(const struct gnn_env *env, const struct diskgnn_config *config,
                                       const struct diskgnn_most *most, const struct diskgnn_layout *layout,
                                       struct gnn_err *err)
{
    struct gnn_memory_plan plan;
    plan_prepared(env, config, most, layout, &plan);
    return gnn_plan_check(&plan, " for the mini-batches that were prepared", err);
}

/* SPDX-License-Identifier: MIT */
/* Every size of presort from its configuration and the cap. What the cap leaves beside samplers, inputs and tables, and
 * beyond the least that lists and rows need, is cut up once: a little for larger mini-batches than the largest should
 * be, a share for the pages of the neighbour lists, a fifth of the rest for lists, an eighth for staging, a little for
 * merged reads and for packed rows, and rows get what remains. There are as many samplers and inputs as threads: all is
 * sized for each number of them, and weighed (weigh.h).
 * Nothing depends on what mini-batches will hold but the least: windows are cut by rows and hyperbatches by their lists
 * (windows.h), blocks by the windows there are (distribute.h). */
#include "harness/system/plan.h"

#include "harness/system/extraction.h"
#include "harness/world/storage_costs.h"
#include "systems/presort/distribute.h"
#include "systems/presort/kept.h"
#include "systems/presort/load.h"
#include "systems/presort/rounds.h"
#include "systems/presort/spool.h"

#include <assert.h>
#include <inttypes.h>

enum {
    LIST_SHARE = 5,    /* of what is left, 1 in so many for lists, */
    STAGING_SHARE = 8, /* and likewise for staging */
    MERGE_SHARE = 32,  /* and for buffers of merged reads */
    HOT_SHARE = 16,    /* and for the index and the buffers of packed rows */
    INPUT_SHARE = 32,  /* and for inputs of mini-batches that are larger than the largest should be */
    FIRST_SHARE = 64,  /* of an epoch's mini-batches, those that training waits for when a run begins */
    NO_CAP_SHARE = 10, /* without a cap a tenth of the rows stays in memory, as in the systems with a feature cache */
    /* Without a profile of the device: a SATA drive's 10 us a request, 90 alone, 550 MB/s read and 520 written. */
    SATA_RANDOM_BYTES = 5632,
    SATA_WRITE_PERCENT = 106,
    SATA_PAGE_PS = 7447273,
    SATA_ALONE_PS = 90000000,
};

/* Returns what a read of so many bytes at a random place costs, in bytes of large reads. */
static uint64_t random_bytes_of(const struct gnn_env *env, const struct presort_config *config, uint64_t read_bytes)
{
    if (config->random_read > 0)
        return config->random_read;
    if (env->storage == NULL)
        return SATA_RANDOM_BYTES;
    struct gnn_storage_costs costs;
    gnn_storage_costs_of(env->storage, read_bytes, &costs);
    return costs.read_ps * GNN_PAGE_BYTES / costs.page_ps;
}

/* Says what requests take the device, in time. */
static struct gnn_storage_costs times_of(const struct gnn_env *env)
{
    struct gnn_storage_costs times = {.page_ps = SATA_PAGE_PS, .alone_ps = SATA_ALONE_PS};
    if (env->storage != NULL)
        gnn_storage_costs_of(env->storage, GNN_PAGE_BYTES, &times);
    return times;
}

struct presort_costs presort_costs_of(const struct gnn_env *env, const struct presort_config *config)
{
    const uint64_t row_bytes = env->dataset->row_bytes, random = random_bytes_of(env, config, row_bytes);
    uint64_t percent = config->write_cost;
    if (env->storage != NULL && percent == 0) {
        struct gnn_storage_costs costs;
        gnn_storage_costs_of(env->storage, row_bytes, &costs);
        percent = gnn_max_u64(costs.page_write_ps * 100 / costs.page_ps, 1);
    }
    percent = percent > 0 ? percent : SATA_WRITE_PERCENT;
    return (struct presort_costs){.row_bytes = row_bytes,
                                  .random_bytes = gnn_max_u64(random, row_bytes),
                                  .sorted_bytes = row_bytes + row_bytes * percent / 100};
}

struct presort_windows_config presort_windows_config_of(const struct gnn_env *env, const struct presort_config *config,
                                                        const struct presort_sizes *sizes)
{
    return (struct presort_windows_config){.node_count = env->dataset->node_count,
                                           .windows_max = sizes->windows_max,
                                           .members_max = sizes->members_max,
                                           .rows_max = sizes->window_rows,
                                           .lone_rows_max = sizes->lone_rows,
                                           .batches_max = config->window};
}

struct presort_belady_config presort_belady_config_of(const struct gnn_env *env, const struct presort_config *config,
                                                      const struct presort_sizes *sizes)
{
    return (struct presort_belady_config){.node_count = env->dataset->node_count,
                                          .slots = sizes->slots,
                                          .windows_max = sizes->windows_max,
                                          .members_max = sizes->members_max,
                                          .recalls = config->reuse > 1};
}

/* ---- mini-batches ---- */

/* Adds rows and edges to the largest mini-batch, to its earlier hops in proportion; never above the fan-outs' bound. */
static void enlarge(const struct gnn_workload *load, uint32_t node_count, uint32_t more_rows, uint64_t more_edges,
                    struct gnn_batch_size *largest)
{
    const struct gnn_batch_size given = *largest;
    uint32_t bound[GNN_LAYERS_MAX + 1];
    uint64_t bound_edges = 0;
    (void)gnn_sample_node_bound(node_count, given.nodes[0], load->fanout, load->layers, bound);
    for (uint32_t l = 0; l < load->layers; l++) {
        const uint64_t more = more_rows * (uint64_t)given.nodes[l + 1] / given.nodes[load->layers];
        largest->nodes[l + 1] = (uint32_t)gnn_min_u64(given.nodes[l + 1] + more, bound[l + 1]);
        bound_edges += bound[l] * (uint64_t)load->fanout[l];
    }
    largest->edges = gnn_max_u64(given.edges, gnn_min_u64(given.edges + more_edges, bound_edges));
}

/* Corrects what degrees alone say of mini-batches by what the lists say. Where the nodes that are reached have the
 * longer lists the mean is above what was expected, and the largest is taken for larger by as much. The model is in the
 * plan: what it takes more becomes a part. */
static void learn_batches(struct gnn_memory_plan *plan, const struct presort_uses *uses, uint32_t batches)
{
    const struct gnn_env *const env = plan->env;
    const uint32_t layers = env->workload->layers, expected = plan->batch.nodes[layers];
    const uint32_t rows = presort_uses_mean(uses, batches);
    const uint64_t edges = gnn_max_u64(uses->edges / batches, plan->batch.edges);
    if (rows <= expected)
        return;
    const uint64_t model_bytes =
        env->model_config == NULL ? 0 : gnn_model_bytes(env->model_config, plan->largest.nodes);
    enlarge(env->workload, env->dataset->node_count, rows - expected, edges - plan->batch.edges, &plan->largest);
    plan->batch.nodes[layers] = rows;
    plan->batch.edges = edges;
    if (env->model_config == NULL)
        return;
    gnn_plan_part(plan, "model of larger mini-batches", "--hidden, --batch or --fanout",
                  gnn_model_bytes(env->model_config, plan->largest.nodes) - model_bytes)
        ->on_device = gnn_env_on_device(env);
}

/* ---- parts ---- */

static void add_fixed(struct gnn_memory_plan *plan, const struct presort_sizes *sizes)
{
    const struct gnn_env *const env = plan->env;
    const bool only = env->workload->sample_only;
    const uint64_t batches = only ? 1 : sizes->threads + presort_inputs(sizes); /* so many are inspected */
    gnn_plan_part(plan, "samplers", only ? NULL : "presort.threads",
                  gnn_mul_bytes(only ? 1 : 2, gnn_sampling_bytes(env, sizes->threads)));
    gnn_plan_in_flight(plan, "mini-batches", "--batch, --fanout or presort.threads",
                       gnn_mul_bytes(batches, gnn_batch_reserved_bytes(env->dataset, env->workload)));
    gnn_plan_part(plan, "page tables of the mapping", NULL,
                  env->dataset->indices_bytes / GNN_PAGE_BYTES * sizeof(uint64_t));
    if (!only)
        gnn_plan_in_flight(plan, "assembled inputs", "--batch, --fanout or presort.threads",
                           gnn_mul_bytes(presort_inputs(sizes), gnn_plan_rows_bytes(plan)));
}

/* What grows with the nodes, and the buffers of a given size. */
static void add_tables(struct gnn_memory_plan *plan, const struct presort_config *config,
                       const struct presort_sizes *sizes)
{
    const struct gnn_env *const env = plan->env;
    struct presort_sizes none = *sizes;
    none.slots = none.members_max = none.windows_max = none.window_rows = none.lone_rows = none.blocks_max = 0;
    none.staging_bytes = 0;
    const struct presort_windows_config windows = presort_windows_config_of(env, config, &none);
    const struct presort_belady_config belady = presort_belady_config_of(env, config, &none);
    gnn_plan_part(plan, "tables of nodes", NULL,
                  presort_windows_bytes(&windows) + presort_belady_bytes(&belady) +
                      presort_classes_bytes(env->dataset->node_count) +
                      env->dataset->node_count * (uint64_t)sizes->slot_of_bytes);
    gnn_plan_part(plan, "buffers of reads", "presort.sweep_read, presort.sweep_depth or presort.block",
                  presort_distributor_bytes(env, config, &none) +
                      UINT64_C(1) * PRESORT_ALIVE * presort_hyperbatch_bytes(env, config, &none) +
                      gnn_extraction_bytes(env, config->depth, config->io == PRESORT_IO_DIRECT));
    if (config->reuse > 1)
        gnn_plan_part(plan, "buffer of kept lists", "presort.reuse", presort_kept_bytes());
}

/* Rows of the smallest block. */
static uint64_t least_block_rows(const struct gnn_env *env)
{
    return gnn_max_u64(GNN_PAGE_BYTES / env->dataset->row_bytes, 1);
}

/* Bytes of lists for each row of each window: member, next use, a load of either hyperbatch and its part of a block. */
static uint64_t member_bytes(const struct gnn_env *env)
{
    const uint64_t blocks = gnn_div_up(PRESORT_ALIVE * sizeof(uint32_t), least_block_rows(env));
    return sizeof(gnn_node) + sizeof(uint16_t) + PRESORT_ALIVE * sizeof(struct presort_load) + blocks;
}

/* Bytes of lists for each window. */
static uint64_t window_bytes(void)
{
    return (2 + 1 + PRESORT_ALIVE * 5 + 4) * sizeof(uint32_t);
}

/* ---- the least ---- */

static uint32_t largest_batch(const struct gnn_memory_plan *plan)
{
    return plan->largest.nodes[plan->env->workload->layers];
}

/* Rows of two of the largest mini-batches: one in use, one that comes in. */
static uint64_t least_slots(const struct gnn_memory_plan *plan)
{
    return gnn_min_u64(UINT64_C(2) * largest_batch(plan), plan->env->dataset->node_count);
}

static uint64_t list_bytes(const struct gnn_env *env, const struct presort_sizes *sizes, uint64_t members)
{
    return gnn_add_bytes(gnn_mul_bytes(members, member_bytes(env)), gnn_mul_bytes(sizes->windows_max, window_bytes()));
}

/* A row, what the replacement keeps of it, its place in a mini-batch that is taken, and with reuse which row it is. */
static uint64_t slot_bytes(const struct gnn_env *env, const struct presort_config *config)
{
    return env->dataset->row_bytes + (config->reuse > 1 ? UINT64_C(4) : UINT64_C(3)) * sizeof(uint32_t);
}

/* Returns what the cap leaves beyond the least of lists, staging and rows; UINT64_MAX without a cap. */
static uint64_t spare_bytes(const struct gnn_memory_plan *plan, const struct presort_config *config,
                            const struct presort_sizes *sizes)
{
    const uint64_t left = gnn_plan_left(plan, 0);
    const uint64_t rows = gnn_mul_bytes(least_slots(plan), slot_bytes(plan->env, config));
    const uint64_t least =
        gnn_add_bytes(gnn_add_bytes(list_bytes(plan->env, sizes, largest_batch(plan)), rows), GNN_PAGE_BYTES);
    if (left == UINT64_MAX)
        return left;
    return left > least ? left - least : 0;
}

/* Adds what does not depend on what is spare. */
static void add_given(struct gnn_memory_plan *plan, const struct presort_config *config,
                      const struct presort_sizes *sizes)
{
    add_fixed(plan, sizes);
    gnn_train_input_plan(plan, config->transfer, sizes->threads, presort_inputs(sizes));
    gnn_training_plan(plan, GNN_PLAN_ALL_PHASES);
    add_tables(plan, config, sizes);
}

/* ---- sizes ---- */

/* Returns the bytes of memory that rounds take whose draws have drawn_bytes. */
static uint64_t swept_bytes(const struct gnn_env *env, const struct presort_config *config, uint64_t drawn_bytes)
{
    const uint64_t spool = env->workload->sample_only ? 0 : presort_spool_bytes();
    return gnn_add_bytes(presort_rounds_bytes(env, config, drawn_bytes), spool);
}

bool presort_can_sweep(const struct gnn_env *env, const struct presort_config *config, uint64_t room_bytes)
{
    const bool may_write = config->write_budget > 0 && config->scratch_limit > 0;
    return (may_write || env->workload->sample_only) &&
           swept_bytes(env, config, presort_rounds_batch_bytes(env)) <= room_bytes;
}

/* Lets rounds have the room of the lists, a mini-batch's at least and no more than an epoch's are expected to need;
 * where that is less, the rest stays. */
static void choose_rounds(const struct gnn_memory_plan *plan, const struct presort_config *config,
                          struct presort_sizes *out)
{
    const struct gnn_env *const env = plan->env;
    const uint64_t least = presort_rounds_batch_bytes(env), fixed = swept_bytes(env, config, 0);
    const uint64_t batch = plan->batch.edges * sizeof(gnn_node) +
                           plan->batch.nodes[env->workload->layers - 1] * (uint64_t)sizeof(uint64_t);
    const uint64_t all = gnn_round_up(gnn_mul_bytes(gnn_whole_epoch_batches(env), batch + batch / 8), GNN_PAGE_BYTES);
    const uint64_t room = out->topology_bytes > fixed ? out->topology_bytes - fixed : 0;
    const uint64_t wanted = config->round_memory > 0 ? config->round_memory : room;
    const uint64_t drawn = gnn_max_u64(gnn_min_u64(wanted, all), least);
    out->drawn_bytes = gnn_round_down(gnn_min_u64(drawn, UINT32_MAX * UINT64_C(4)), GNN_PAGE_BYTES);
    out->round_batches = (uint32_t)gnn_min_u64(out->drawn_bytes / gnn_max_u64(batch, 1), UINT32_MAX);
    out->topology_bytes = fixed + out->drawn_bytes;
    out->list_random_bytes = random_bytes_of(env, config, GNN_PAGE_BYTES);
}

/* Leaves room for the neighbour lists: what they take in memory, or their share, which rounds have where they are
 * swept, and mapped ones as page cache; returns what is spare still. */
static uint64_t leave_topology(struct gnn_memory_plan *plan, const struct presort_config *config, uint64_t spare,
                               uint64_t resident_bytes, struct presort_sizes *out)
{
    const uint64_t all = presort_topology_bytes_all(plan->env->dataset);
    out->topology_bytes = all;
    if (spare != UINT64_MAX)
        out->topology_bytes = gnn_min_u64(spare / 100 * config->topology_share, all);
    if (resident_bytes != GNN_UNKNOWN)
        out->topology_bytes = resident_bytes;
    else if (out->topology == PRESORT_TOPOLOGY_SWEPT)
        choose_rounds(plan, config, out);
    if (spare == UINT64_MAX && config->topology == PRESORT_TOPOLOGY_MAPPED)
        return spare;
    gnn_plan_part(plan, "neighbour lists", "presort.topology_share", out->topology_bytes);
    return spare == UINT64_MAX ? spare : spare - gnn_min_u64(out->topology_bytes, spare);
}

/* The largest mini-batch is an estimate: inputs have room for a quarter more where that takes no more than a share. */
static uint64_t choose_inputs(struct gnn_memory_plan *plan, uint64_t spare, struct presort_sizes *out)
{
    const uint64_t largest = largest_batch(plan), all = plan->env->dataset->node_count;
    const struct gnn_dataset *const d = plan->env->dataset;
    const bool widened = d->feature_type != GNN_F32 && !gnn_env_on_device(plan->env);
    const uint64_t row =
        gnn_add_bytes(gnn_mul_bytes(presort_inputs(out), d->row_bytes), widened ? gnn_dataset_wide_bytes(d) : 0);
    const uint64_t more = gnn_min_u64(spare / INPUT_SHARE / row, largest / 4);
    out->input_rows = (uint32_t)gnn_min_u64(largest + more, all);
    const uint64_t bytes = gnn_mul_bytes(gnn_rows_capacity(out->input_rows) - gnn_rows_capacity(largest), row);
    gnn_plan_part(plan, "room for a larger mini-batch", "--batch or --fanout", bytes);
    return spare == UINT64_MAX ? spare : spare - gnn_min_u64(bytes, spare);
}

static void choose_lists(struct gnn_memory_plan *plan, const struct presort_config *config, uint64_t spare,
                         struct presort_sizes *out)
{
    const struct gnn_env *const env = plan->env;
    const uint64_t all = gnn_plan_nodes_of(plan, out->hyperbatch, env->workload->layers);
    const uint64_t least = largest_batch(plan), fixed = list_bytes(env, out, 0);
    uint64_t members = spare == UINT64_MAX ? all : least + spare / LIST_SHARE / member_bytes(env);
    if (config->list_memory > 0)
        members = config->list_memory > fixed ? (config->list_memory - fixed) / member_bytes(env) : 0;
    out->members_max = (uint32_t)gnn_min_u64(gnn_max_u64(gnn_min_u64(members, all), least), INT32_MAX);
    out->blocks_max = (uint32_t)gnn_div_up(out->members_max, least_block_rows(env)) + out->windows_max;
    gnn_plan_part(plan, "lists of a hyperbatch", "presort.list_memory or presort.hyperbatch",
                  list_bytes(env, out, out->members_max));
}

static void choose_staging(struct gnn_memory_plan *plan, const struct presort_config *config, uint64_t spare,
                           struct presort_sizes *out)
{
    const uint64_t all = gnn_mul_bytes(out->windows_max + UINT64_C(1) * config->write_depth, config->block_bytes);
    uint64_t bytes = spare == UINT64_MAX ? all : spare / STAGING_SHARE;
    if (config->classes == PRESORT_DIRECT)
        bytes = 0;
    else if (config->staging > 0)
        bytes = config->staging;
    out->staging_bytes = gnn_max_u64(gnn_min_u64(bytes, all), GNN_PAGE_BYTES);
    gnn_plan_part(plan, "staging of sorted rows", "presort.staging", out->staging_bytes);
}

/* A buffer for each read in flight, as far as their share goes. */
static void choose_merging(struct gnn_memory_plan *plan, const struct presort_config *config, uint64_t spare,
                           struct presort_sizes *out)
{
    uint64_t buffers = config->depth;
    if (spare != UINT64_MAX && config->merge > 0)
        buffers = gnn_min_u64(spare / MERGE_SHARE / config->merge, buffers);
    out->merge_buffers = config->merge > 0 ? (uint32_t)buffers : 0;
    gnn_plan_part(plan, "buffers of merged reads", "presort.merge", gnn_mul_bytes(out->merge_buffers, config->merge));
}

/* What has no room in its share is not packed, and takes nothing. */
static void choose_hot(struct gnn_memory_plan *plan, const struct presort_config *config, uint64_t spare,
                       struct presort_sizes *out)
{
    if (config->hot == PRESORT_HOT_OFF || config->classes == PRESORT_DIRECT)
        return;
    out->hot_places = presort_hot_places(plan->env, config, spare == UINT64_MAX ? UINT64_MAX : spare / HOT_SHARE);
    gnn_plan_part(plan, "packed rows", "presort.hot", presort_hot_bytes(plan->env, config, out->hot_places));
}

static void choose_rows(struct gnn_memory_plan *plan, const struct presort_config *config, struct presort_sizes *out)
{
    const struct gnn_env *const env = plan->env;
    const uint64_t nodes = env->dataset->node_count, left = gnn_plan_left(plan, 0);
    uint64_t rows = left == UINT64_MAX ? nodes / NO_CAP_SHARE : left / slot_bytes(env, config);
    if (config->row_memory > 0)
        rows = config->row_memory / slot_bytes(env, config);
    out->slots = (uint32_t)gnn_min_u64(gnn_max_u64(gnn_min_u64(rows, nodes), least_slots(plan)), INT32_MAX);
    const uint64_t most = out->slots >= nodes ? nodes : out->slots / 2; /* two windows are in memory */
    const uint64_t wanted = gnn_max_u64(out->slots * (uint64_t)config->window_share / 100, largest_batch(plan));
    out->lone_rows = (uint32_t)gnn_min_u64(most, out->members_max);
    out->window_rows = (uint32_t)gnn_min_u64(wanted, out->lone_rows);
    /* Rows have what is left: a mini-batch larger than estimated finds room where they are told to take less. */
    const char *const remedy = out->slots > least_slots(plan) ? "presort.row_memory" : "--batch or --fanout";
    gnn_plan_part(plan, "rows", remedy, gnn_mul_bytes(out->slots, slot_bytes(env, config)));
}

/* Returns how many mini-batches the hyperbatch has that training waits for. A plan that serves several epochs is made
 * whole. */
static uint32_t first_of(const struct presort_config *config, const struct presort_sizes *sizes)
{
    if (config->first > 0)
        return gnn_min_u32(config->first, sizes->hyperbatch);
    const bool whole = config->hyperbatch > 0 || config->reuse > 1;
    return whole ? sizes->hyperbatch : (uint32_t)gnn_div_up(sizes->hyperbatch, FIRST_SHARE);
}

static enum gnn_status check_options(const struct gnn_env *env, const struct presort_config *config,
                                     struct gnn_err *err)
{
    if (config->block_bytes % GNN_PAGE_BYTES != 0 || config->sweep_read % GNN_PAGE_BYTES != 0 ||
        config->merge % GNN_PAGE_BYTES != 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "presort.block=%" PRIu64 ", presort.sweep_read=%" PRIu64 " and presort.merge=%" PRIu64
                        " are not all multiples of the page size, %d bytes: choose multiples",
                        config->block_bytes, config->sweep_read, config->merge, GNN_PAGE_BYTES);
    if (env->dataset->train.count == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s has no training nodes: use a dataset with a training set",
                        env->dataset->dir);
    return GNN_OK;
}

/* ---- threads ---- */

/* Chooses what follows from the number of threads and the width of slots' numbers, and adds the parts. */
static void size_numbered(struct gnn_memory_plan *plan, const struct presort_config *config, uint64_t resident_bytes,
                          struct presort_sizes *out)
{
    add_given(plan, config, out);
    const uint64_t given = choose_inputs(plan, spare_bytes(plan, config, out), out);
    const uint64_t spare = leave_topology(plan, config, given, resident_bytes, out);
    choose_lists(plan, config, spare, out);
    choose_staging(plan, config, spare, out);
    choose_merging(plan, config, spare, out);
    choose_hot(plan, config, spare, out);
    choose_rows(plan, config, out);
}

/* Likewise, with numbers of slots as narrow as there are slots. */
static void size_for(struct gnn_memory_plan *plan, const struct presort_config *config, uint64_t resident_bytes,
                     struct presort_sizes *out)
{
    const struct gnn_memory_plan begun = *plan;
    const struct presort_sizes given = *out;
    out->slot_of_bytes = sizeof(uint16_t);
    size_numbered(plan, config, resident_bytes, out);
    if (out->slots <= UINT16_MAX + UINT32_C(1))
        return;
    *plan = begun;
    *out = given;
    out->slot_of_bytes = sizeof(uint32_t);
    size_numbered(plan, config, resident_bytes, out);
}

/* What is known before anything is sized; sizes: costs, batches and topology are chosen. */
static struct presort_scales scales_of(const struct gnn_env *env, const struct presort_config *config,
                                       const struct presort_sizes *sizes, const struct presort_uses *uses)
{
    const struct gnn_storage_costs times = times_of(env);
    const bool mapped = sizes->topology == PRESORT_TOPOLOGY_MAPPED;
    return (struct presort_scales){.cpu = env->cpu,
                                   .cores = env->cores,
                                   .page_ps = times.page_ps,
                                   .fault_ns = times.alone_ps / 1000,
                                   .fault_bytes = random_bytes_of(env, config, GNN_PAGE_BYTES),
                                   .costs = sizes->costs,
                                   .classes = config->classes,
                                   .nodes = env->dataset->node_count,
                                   .batches = sizes->batches,
                                   .list_pages = mapped ? env->dataset->indices_bytes / GNN_PAGE_BYTES : 0,
                                   .epochs = env->workload->epochs,
                                   .uses = uses};
}

/* Returns how much of all lists has no room in memory. */
static uint32_t absent_percent(const struct gnn_dataset *dataset, const struct presort_sizes *sizes)
{
    const uint64_t all = presort_topology_bytes_all(dataset);
    return (uint32_t)((all - gnn_min_u64(sizes->topology_bytes, all)) * 100 / gnn_max_u64(all, 1));
}

static void weigh(const struct presort_scales *scales, const struct gnn_dataset *dataset,
                  const struct presort_config *config, struct presort_sizes *sizes)
{
    const struct presort_candidate candidate = {
        .threads = sizes->threads,
        .slots = sizes->slots,
        .window_rows = sizes->window_rows,
        .members_max = sizes->members_max,
        .hyperbatches = (uint32_t)gnn_div_up(sizes->batches, sizes->hyperbatch),
        .windows = config->window > 0 ? (uint32_t)gnn_div_up(sizes->batches, config->window) : 1,
        .absent_percent = absent_percent(dataset, sizes)};
    presort_weigh(scales, &candidate, &sizes->expected);
}

/* Returns how many threads there may be, at least in *least: of either kind no more than the machine has cores. What
 * was swept, or comes back from a tape, is drawn in order, by one. Lists that are not read yet have their room first,
 * beside one. */
static uint32_t most_threads(const struct gnn_memory_plan *plan, const struct presort_config *config,
                             enum presort_topology_kind topology, bool known, uint32_t *least)
{
    *least = 1;
    if (topology == PRESORT_TOPOLOGY_SWEPT)
        return 1;
    if (config->threads > 0)
        return *least = config->threads;
    if (!known && topology != PRESORT_TOPOLOGY_MAPPED && plan->env->cap_bytes > 0)
        return 1;
    return gnn_min_u32(plan->env->cores, PRESORT_THREADS_MAX);
}

static bool fits(const struct gnn_memory_plan *plan)
{
    return plan->env->cap_bytes == 0 || gnn_plan_bytes(plan) <= plan->env->cap_bytes;
}

/* Sizes for the number of threads with which an epoch should be shortest, the least of them. */
static void choose_threads(struct gnn_memory_plan *plan, const struct presort_config *config,
                           const struct presort_scales *scales, uint64_t resident_bytes, bool known,
                           struct presort_sizes *out)
{
    const struct gnn_memory_plan begun = *plan;
    const struct presort_sizes given = *out;
    uint32_t least;
    const uint32_t most = most_threads(plan, config, given.topology, known, &least);
    for (uint32_t threads = least; threads <= most; threads++) {
        struct gnn_memory_plan with = begun;
        struct presort_sizes sizes = given;
        sizes.threads = threads;
        size_for(&with, config, resident_bytes, &sizes);
        weigh(scales, begun.env->dataset, config, &sizes);
        if (threads == least || (fits(&with) && sizes.expected.epoch_ns < out->expected.epoch_ns)) {
            *plan = with;
            *out = sizes;
        }
    }
}

enum gnn_status presort_size(const struct presort_config *config, enum presort_topology_kind topology,
                             uint64_t resident_bytes, const struct presort_uses *uses, struct presort_sizes *out,
                             struct gnn_memory_plan *plan, struct gnn_err *err)
{
    const struct gnn_env *const env = plan->env;
    const uint32_t batches = gnn_whole_epoch_batches(env);
    GNN_TRY(check_options(env, config, err));
    *out = (struct presort_sizes){.batches = gnn_epoch_batches(env), .topology = topology};
    out->hyperbatch = config->hyperbatch > 0 ? gnn_min_u32(config->hyperbatch, batches) : batches;
    out->first = first_of(config, out);
    out->windows_max = gnn_min_u32(out->hyperbatch, PRESORT_WINDOWS_MAX);
    out->threads = 1;
    if (env->workload->sample_only) {
        add_fixed(plan, out);
        (void)leave_topology(plan, config, gnn_plan_left(plan, 0), resident_bytes, out);
        return GNN_OK;
    }
    struct presort_uses even;
    if (uses != NULL)
        learn_batches(plan, uses, out->batches);
    out->costs = presort_costs_of(env, config);
    presort_uses_even(env, &plan->batch, out->batches, &even);
    const struct presort_scales scales = scales_of(env, config, out, uses != NULL ? uses : &even);
    choose_threads(plan, config, &scales, resident_bytes, uses != NULL, out);
    return GNN_OK;
}

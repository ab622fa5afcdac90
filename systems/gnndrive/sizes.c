/* SPDX-License-Identifier: MIT */
/* Every size of GNNDrive from its configuration: queues, Mb, S, rows per slot (section 4.2: at least Ne x Mb slots;
 * section 5: queues), and the host memory they need. */
#include "systems/gnndrive/gnndrive.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum {
    MB_MARGIN_PERCENT = 110, /* automatic Mb = 1.1 x the largest batch seen */
    SMALL_SHARE = 20,        /* the bound serves as Mb when it is at most N / 20 */
    SECTOR_BYTES = 512,      /* assumed until the file is open */
};

static uint64_t node_bound(const struct gnn_env *env)
{
    return gnn_sample_node_bound(env->dataset->node_count, env->workload->batch_size, env->workload->fanout,
                                 env->workload->layers, NULL);
}

static uint32_t with_margin(uint64_t nodes, uint64_t bound)
{
    return (uint32_t)gnn_min_u64(gnn_div_up(nodes * MB_MARGIN_PERCENT, 100), bound);
}

static uint64_t seeds_times_fanouts(const struct gnn_workload *load)
{
    uint64_t nodes = load->batch_size;
    for (uint32_t l = 0; l < load->layers; l++)
        nodes = gnn_mul_bytes(nodes, gnn_max_u32(load->fanout[l], 1));
    return nodes;
}

uint32_t gnndrive_batch_nodes(const struct gnn_env *env, const struct gnndrive_config *config)
{
    const uint64_t bound = node_bound(env);
    if (config->batch_nodes > 0)
        return (uint32_t)gnn_min_u64(config->batch_nodes, bound);
    if (config->batch_rule == GNNDRIVE_BATCH_PRODUCT)
        return (uint32_t)gnn_min_u64(gnn_max_u64(seeds_times_fanouts(env->workload), bound - bound / 4), bound);
    return bound <= env->dataset->node_count / SMALL_SHARE ? (uint32_t)bound : 0;
}

uint32_t gnndrive_measured_batch_nodes(const struct gnn_env *env, uint32_t largest)
{
    return with_margin(largest, node_bound(env));
}

static struct gnn_row_layout row_layout(const struct gnndrive_config *config, uint32_t row_bytes, uint32_t align_bytes)
{
    struct gnn_row_layout layout = gnn_row_layout(row_bytes, align_bytes);
    if (config->joint || layout.rows_per_load == 1)
        return layout;
    layout.rows_per_load = 1; /* each row alone: a sector is read for it and the rest is discarded */
    layout.load_bytes = layout.bounce_bytes_max = row_bytes;
    assert(layout.window_bytes_max == align_bytes);
    return layout;
}

static bool shares_cap(const struct gnn_env *env, const struct gnndrive_config *config)
{
    return config->buffer_share > 0 && env->cap_bytes > 0;
}

/* slots_left: those of the share of the cap, where it is asked for. */
static enum gnn_status choose_slots(const struct gnn_env *env, const struct gnndrive_config *config,
                                    uint64_t slots_left, struct gnndrive_sizes *out, struct gnn_err *err)
{
    const uint32_t ne = config->extractors, sharing = out->sharing;
    const uint64_t keys = gnn_div_up(env->dataset->node_count, out->layout.rows_per_load);
    uint64_t slots = config->slots;
    if (shares_cap(env, config))
        slots = gnn_max_u64((uint64_t)ne * sharing * out->batch_nodes, slots_left);
    else if (slots == 0)
        slots =
            gnn_mul_bytes((out->train_queue + UINT64_C(1)) * out->batch_nodes, (uint64_t)config->buffer_mult * sharing);
    out->holds_all = slots >= keys;
    out->slots = (uint32_t)(out->holds_all ? keys : slots);
    const uint64_t share = out->holds_all ? env->dataset->node_count : slots / sharing / ne;
    out->node_limit = (uint32_t)gnn_min_u64(share, node_bound(env));
    if (!out->holds_all && slots / sharing < (uint64_t)ne * out->batch_nodes)
        return gnn_fail(err, GNN_EUSAGE,
                        "gnndrive: %" PRIu64 " slots are fewer than %" PRIu32 " extractors x %" PRIu32
                        " nodes of a batch, which can deadlock: raise gnndrive.buffer_mult, gnndrive.train_queue or "
                        "gnndrive.slots, or lower gnndrive.extractors%s",
                        slots, ne * sharing, out->batch_nodes, sharing > 1 ? " or --workers" : "");
    return GNN_OK;
}

static enum gnn_status check_switches(const struct gnn_env *env, const struct gnndrive_config *config,
                                      struct gnn_err *err)
{
    if (config->in_order && config->order == GNNDRIVE_ORDER_SEGMENTS)
        return gnn_fail(err, GNN_EUSAGE, "gnndrive.in_order needs one order of all batches: set gnndrive.order=global");
    if (gnn_segments(env) > 1 && config->order == GNNDRIVE_ORDER_SEGMENTS)
        return gnn_fail(err, GNN_EUSAGE,
                        "gnndrive.order=segments splits the training nodes by sampler, but --workers or --segments "
                        "already split them: set gnndrive.order=global");
    if (config->lock_submit && config->serial_extract)
        return gnn_fail(err, GNN_EUSAGE,
                        "gnndrive.serial_extract already holds the table lock longer than gnndrive.lock_submit does: "
                        "set only one of them");
    if (config->slots > 0 && config->buffer_share > 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "gnndrive.slots=%" PRIu32 " and gnndrive.buffer_share=%" PRIu32
                        " both set the size of the feature buffer: set only one of them",
                        config->slots, config->buffer_share);
    if (config->batch_nodes > 0 && config->slots > 0 && config->slots < config->batch_nodes)
        return gnn_fail(err, GNN_EUSAGE,
                        "gnndrive.slots=%" PRIu32 " is below gnndrive.batch_nodes=%" PRIu32
                        ", but one batch must fit: raise gnndrive.slots",
                        config->slots, config->batch_nodes);
    return GNN_OK;
}

static enum gnn_status size_with(const struct gnn_env *env, const struct gnndrive_config *config, uint32_t batch_nodes,
                                 uint32_t align_bytes, uint64_t slots_left, struct gnndrive_sizes *out,
                                 struct gnn_err *err)
{
    memset(out, 0, sizeof *out);
    GNN_TRY(check_switches(env, config, err));
    out->extract_queue = config->extract_queue > 0 ? config->extract_queue : config->samplers + 2;
    out->train_queue = config->train_queue > 0 ? config->train_queue : config->extractors;
    out->items = env->workload->sample_only
                     ? config->samplers
                     : config->samplers + out->extract_queue + config->extractors + out->train_queue + 2;
    if (batch_nodes == 0) { /* not measured yet */
        struct gnn_batch_size expected;
        gnn_batch_expect(env->dataset, env->workload, &expected);
        batch_nodes = with_margin(expected.nodes[env->workload->layers], node_bound(env));
    }
    out->batch_nodes = batch_nodes;
    out->lock_reach = config->serial_extract ? GNNDRIVE_LOCK_EXTRACTION
                      : config->lock_submit  ? GNNDRIVE_LOCK_SUBMIT
                                             : GNNDRIVE_LOCK_LOOKUP;
    if (config->io == GNNDRIVE_IO_BUFFERED)
        align_bytes = 1;
    out->layout = row_layout(config, env->dataset->row_bytes, align_bytes > 0 ? align_bytes : SECTOR_BYTES);
    out->sharing =
        gnn_env_on_device(env) || config->rank_buffers == GNNDRIVE_RANK_BUFFERS_OWN ? 1 : gnn_env_workers(env);
    GNN_TRY(choose_slots(env, config, slots_left, out, err));
    out->buffer = (struct gnndrive_buffer_config){
        .node_count = env->dataset->node_count,
        .slots = out->slots,
        .rows_per_slot = out->layout.rows_per_load,
        .extractors = config->extractors,
        .ranks = out->sharing,
        .artifact_tables = config->meta == GNNDRIVE_META_ARTIFACT,
    };
    out->reader = (struct gnn_reader_config){
        .engine = env->io_engine,
        .depth = config->depth > 0 ? config->depth : gnn_min_u32(out->node_limit, GNNDRIVE_DEPTH_MAX),
        .bounce_bytes_max = out->layout.bounce_bytes_max,
    };
    if (gnn_env_on_device(env)) {
        const uint32_t wanted = config->staging > 0 ? config->staging : out->batch_nodes;
        out->staging = gnn_min_u32(wanted, out->node_limit); /* no batch has more loads */
        if (gnn_env_workers(env) > 1 && config->rank_buffers == GNNDRIVE_RANK_BUFFERS_SHARED)
            out->portion =
                (uint32_t)gnn_min_u64((uint64_t)config->extractors * out->staging, GNNDRIVE_STAGING_SLOTS_MAX);
    }
    return GNN_OK;
}

/* Sized first with the fewest slots. The share is of what the cap leaves beside all else, which grows with the slots:
 * after three rounds it is met where a slot's tables are small beside its rows, and passed a little where not. */
enum gnn_status gnndrive_size(const struct gnn_env *env, const struct gnndrive_config *config, uint32_t batch_nodes,
                              uint32_t align_bytes, struct gnndrive_sizes *out, struct gnn_err *err)
{
    GNN_TRY(size_with(env, config, batch_nodes, align_bytes, 0, out, err));
    if (!shares_cap(env, config) || env->workload->sample_only)
        return GNN_OK;
    for (int round = 0; round < 3; round++) {
        struct gnn_memory_plan plan;
        gnn_plan_begin(&plan, env);
        gnndrive_plan_parts(config, out, &plan);
        const uint64_t load_bytes =
            (uint64_t)out->layout.load_bytes * (gnn_env_workers(env) / out->sharing); /* of all */
        const uint64_t buffer_bytes = gnn_env_on_device(env) ? 0 : out->slots * load_bytes;
        const uint64_t others_bytes = gnn_plan_bytes(&plan) - buffer_bytes;
        const uint64_t left_bytes = env->cap_bytes - gnn_min_u64(env->cap_bytes, others_bytes);
        const uint64_t slots = left_bytes / 100 * config->buffer_share / load_bytes;
        GNN_TRY(size_with(env, config, batch_nodes, align_bytes, slots, out, err));
    }
    return GNN_OK;
}

struct gnndrive_staging_config gnndrive_staging_of(const struct gnn_env *env, const struct gnndrive_sizes *sizes)
{
    return (struct gnndrive_staging_config){
        .ranks = gnn_env_workers(env),
        .portion = sizes->portion,
        .keys = (uint32_t)gnn_div_up(env->dataset->node_count, sizes->layout.rows_per_load),
        .slot_bytes = sizes->layout.load_bytes,
    };
}

void gnndrive_plan_parts(const struct gnndrive_config *config, const struct gnndrive_sizes *sizes,
                         struct gnn_memory_plan *plan)
{
    const struct gnn_env *env = plan->env;
    const uint64_t load_bytes = sizes->layout.load_bytes;
    const uint64_t reader_bytes = gnn_reader_memory_bytes(&sizes->reader, sizes->layout.align_bytes);
    gnn_plan_in_flight(plan, "mini-batches in flight", "gnndrive.extract_queue",
                       gnn_mul_bytes(gnn_batch_reserved_bytes(env->dataset, env->workload), sizes->items));
    gnn_plan_part(plan, "samplers", "gnndrive.samplers", gnn_sampling_bytes(env, config->samplers));
    if (env->workload->sample_only)
        return;
    gnn_plan_in_flight(plan, "node lists", "gnndrive.extract_queue or gnndrive.batch_nodes",
                       gnn_mul_bytes(gnndrive_list_count(config, sizes), sizes->node_limit * sizeof(uint32_t)));
    const uint32_t buffers = gnn_env_workers(env) / sizes->sharing;
    gnn_plan_shared(plan, "tables of the feature buffer", "gnndrive.meta=compact",
                    gnn_mul_bytes(buffers, gnndrive_buffer_table_bytes(&sizes->buffer)));
    gnn_plan_part(plan, "bounce windows", "gnndrive.depth", gnn_mul_bytes(config->extractors, reader_bytes));
    if (sizes->portion > 0) {
        const struct gnndrive_staging_config staging = gnndrive_staging_of(env, sizes);
        gnn_plan_shared(plan, "staging buffer", "gnndrive.staging or gnndrive.batch_nodes",
                        gnndrive_staging_bytes(&staging));
        return;
    }
    if (sizes->staging > 0) { /* the GPU holds the feature buffer and the input */
        gnn_plan_part(plan, "staging buffer", "gnndrive.staging or gnndrive.batch_nodes",
                      gnn_mul_bytes(gnn_mul_bytes(config->extractors, sizes->staging), load_bytes));
        gnn_plan_device(plan, "feature buffer", "gnndrive.buffer_mult, gnndrive.train_queue or gnndrive.batch_nodes",
                        gnn_mul_bytes(sizes->slots, load_bytes));
        gnn_train_input_plan(plan, GNN_TRANSFER_AHEAD, config->extractors, 1);
        gnn_plan_widened(plan, GNN_PLAN_ALL_PHASES, gnn_plan_wide_rows_bytes(plan) - gnn_plan_rows_bytes(plan));
        return;
    }
    gnn_plan_shared(plan, "feature buffer",
                    config->buffer_share > 0 ? "gnndrive.buffer_share"
                                             : "gnndrive.buffer_mult, gnndrive.train_queue or gnndrive.batch_nodes",
                    gnn_mul_bytes(buffers, gnn_mul_bytes(sizes->slots, load_bytes)));
    gnn_plan_in_flight(plan, "input of the batch in training", "--batch or --fanout", gnn_plan_wide_rows_bytes(plan));
}

/* Every size of MariusGNN: partitions, capacity, groups, and the memory they come to (sections 5.2 and 6).
 *
 * The paper's rule counts c PO + 2 c^2 EBO + F and leaves F open. Here everything is counted: the slots, an edge as it
 * was read and twice sorted (the rule's 2 EBO), the samplers' tables, the mini-batches in flight; c is the largest that
 * fits the cap. The rule's own c, with F = 0, is reported beside it. */
#include "systems/mariusgnn/mariusgnn.h"

#include <inttypes.h>

static const uint64_t process_bytes = UINT64_C(16) << 20; /* the program and the kernel's objects, where unknown */

static const char partitions_remedy[] = "mariusgnn.capacity, or mariusgnn.partitions for smaller ones";

static struct marius_graph_size graph_size(const struct gnn_dataset *d)
{
    return (struct marius_graph_size){
        .nodes = d->node_count, .edges = d->edge_count, .row_bytes = d->row_bytes, .edge_bytes = MARIUS_EDGE_BYTES};
}

/* ---- partitions ---- */

static enum gnn_status choose_partitions(const struct gnn_env *env, const struct marius_config *config,
                                         struct marius_sizes *out, struct gnn_err *err)
{
    const struct gnn_dataset *const d = env->dataset;
    const struct marius_graph_size size = graph_size(d);
    out->partitions =
        config->partitions > 0 ? config->partitions : marius_tuned_partitions(&size, (uint32_t)config->block_bytes);
    if (!marius_partitions_fit(d->node_count, out->partitions))
        return gnn_fail(err, GNN_EUSAGE,
                        "mariusgnn.partitions=%" PRIu32 ": %" PRIu32 " nodes make partitions of %" PRIu32
                        " and leave the last one none; take fewer",
                        out->partitions, d->node_count, marius_partition_rows(d->node_count, out->partitions));
    out->rows = marius_partition_rows(d->node_count, out->partitions);
    out->training = (uint32_t)gnn_div_up(d->train.count, out->rows);
    out->slot_bytes = marius_slot_bytes(out->rows, d->row_bytes);
    if (config->capacity > out->partitions)
        return gnn_fail(err, GNN_EUSAGE, "mariusgnn.capacity=%" PRIu32 " partitions in memory, but there are %" PRIu32,
                        config->capacity, out->partitions);
    return GNN_OK;
}

/* ---- edges of a state ---- */

/* Edges by where their ends lie: in the first k partitions, both in the same other one, in two others. */
struct census {
    double first, mixed, same, others;
};

static void take_census(const struct marius_sizes *sizes, uint64_t edges, const uint64_t *bucket_start,
                        struct census *out)
{
    const uint32_t p = sizes->partitions, k = sizes->training;
    const double mean = (double)edges / ((double)p * p);
    *out = (struct census){.first = 0};
    for (uint32_t i = 0; i < p; i++)
        for (uint32_t j = 0; j < p; j++) {
            const uint64_t bucket = (uint64_t)i * p + j;
            const double count =
                bucket_start == NULL ? mean : (double)(bucket_start[bucket + 1] - bucket_start[bucket]);
            const bool from_first = i < k, to_first = j < k;
            *(from_first && to_first   ? &out->first
              : from_first || to_first ? &out->mixed
              : i == j                 ? &out->same
                                       : &out->others) += count;
        }
}

/* Returns the edges that a state of c partitions is expected to hold: the k first ones among them (training nodes
 * first), or any c. */
static uint64_t expected_edges(const struct marius_sizes *sizes, const struct census *census, bool training_first)
{
    const double p = sizes->partitions, c = sizes->capacity;
    const double k = training_first ? gnn_min_u32(sizes->training, sizes->capacity) : 0;
    const double left = p - k, one = left > 0 ? (c - k) / left : 0;
    const double two = left > 1 ? one * (c - k - 1) / (left - 1) : 0;
    if (training_first)
        return (uint64_t)(census->first + one * census->mixed + one * census->same + two * census->others);
    const double all = census->first + census->mixed + census->same + census->others;
    const double pair = p > 1 ? c / p * (c - 1) / (p - 1) : 1;
    return (uint64_t)(c / p * all / p + pair * all * (p - 1) / p);
}

/* ---- what a capacity comes to ---- */

struct sizing {
    const struct gnn_env *env;
    const struct marius_config *config;
    const struct gnn_memory_plan *plan; /* with all that does not depend on c */
    struct census census;
};

struct marius_dense_config marius_dense_of(const struct gnn_env *env, const struct marius_config *config)
{
    struct marius_dense_config dense = {.seed = env->workload->seed,
                                        .layers = env->workload->layers,
                                        .out_edges = config->edges == MARIUS_EDGES_BOTH,
                                        .replace = config->replace,
                                        .hash_hops = config->hash_hops};
    memcpy(dense.fanout, env->workload->fanout, sizeof dense.fanout);
    return dense;
}

/* Gives c partitions their groups; in groups, c becomes a multiple of theirs. */
static void shape(const struct sizing *s, uint32_t capacity, bool training_first, struct marius_sizes *sizes)
{
    sizes->training_first = training_first;
    sizes->whole = capacity == sizes->partitions;
    sizes->places = sizes->whole || training_first ? capacity : gnn_min_u32(s->config->logical, capacity);
    sizes->group = capacity / sizes->places;
    sizes->capacity = sizes->places * sizes->group;
    sizes->prefetch = !sizes->whole && !training_first && s->config->prefetch;
    sizes->subgraphs = sizes->whole || training_first ? 1 : 2;
    sizes->resident_edges = expected_edges(sizes, &s->census, training_first);
}

static uint64_t buffer_bytes(const struct sizing *s, const struct marius_sizes *sizes)
{
    const struct marius_buffer_config buffer = {.slots = sizes->capacity,
                                                .group = sizes->group,
                                                .prefetch = sizes->prefetch,
                                                .array_count = 1,
                                                .arrays = {{.slot_bytes = sizes->slot_bytes}}};
    return s->env->workload->sample_only ? 0 : marius_buffer_bytes(&buffer);
}

static uint64_t edge_bytes(const struct sizing *s, const struct marius_sizes *sizes)
{
    const struct marius_edges_config edges = {.slots = sizes->capacity,
                                              .graphs = sizes->subgraphs,
                                              .depth = s->config->depth,
                                              .direct = s->config->io == MARIUS_IO_DIRECT,
                                              .out_edges = s->config->edges == MARIUS_EDGES_BOTH,
                                              .released = s->config->edge_memory == MARIUS_MEMORY_RELEASED};
    return marius_edges_bytes(&edges, sizes->rows, sizes->resident_edges);
}

static uint64_t sampler_bytes(const struct sizing *s, const struct marius_sizes *sizes)
{
    const struct marius_dense_config dense = marius_dense_of(s->env, s->config);
    return gnn_mul_bytes(s->config->loaders, marius_dense_bytes(&dense, sizes->capacity * sizes->rows,
                                                                sizes->resident_edges, s->env->workload->batch_size));
}

static bool fits(const struct sizing *s, const struct marius_sizes *sizes)
{
    const uint64_t bytes =
        gnn_add_bytes(buffer_bytes(s, sizes), gnn_add_bytes(edge_bytes(s, sizes), sampler_bytes(s, sizes)));
    return bytes <= gnn_plan_left(s->plan, 0);
}

/* Gives the sizes the largest capacity that fits, of at least `least`; false: none does, and they have that one. */
static bool choose_capacity(const struct sizing *s, uint32_t least, bool training_first, struct marius_sizes *sizes)
{
    for (uint32_t c = sizes->partitions; c >= least && c > 0; c--) {
        shape(s, c, training_first, sizes);
        if (fits(s, sizes))
            return true;
    }
    shape(s, least, training_first, sizes);
    return false;
}

/* The least that training nodes first takes: their partitions and, if there is one, another. */
static uint32_t least_training_first(const struct marius_sizes *sizes)
{
    return gnn_min_u32(sizes->training + 1, sizes->partitions);
}

static bool choose(const struct sizing *s, bool training_first, struct marius_sizes *sizes)
{
    const uint32_t given = s->config->policy == MARIUS_POLICY_MEMORY ? sizes->partitions : s->config->capacity;
    const uint32_t least =
        training_first ? least_training_first(sizes) : gnn_min_u32(s->config->logical, sizes->partitions);
    if (given == 0)
        return choose_capacity(s, least, training_first, sizes);
    shape(s, given, training_first, sizes);
    return given >= least;
}

static enum gnn_status choose_policy(const struct sizing *s, const bool *placed, struct marius_sizes *sizes,
                                     struct gnn_err *err)
{
    const enum marius_policy policy = s->config->policy;
    const bool only_first = policy == MARIUS_POLICY_TRAINING || policy == MARIUS_POLICY_MEMORY;
    bool training_first = placed != NULL ? *placed : policy != MARIUS_POLICY_REPLACE;
    bool chosen = choose(s, training_first, sizes);
    if (!chosen && training_first && !only_first) { /* the fallback of section 5.2 */
        training_first = false;
        chosen = choose(s, training_first, sizes);
    }
    if (chosen || s->config->capacity == 0)
        return GNN_OK; /* or the plan says by how much it does not fit */
    if (training_first)
        return gnn_fail(err, GNN_EUSAGE,
                        "mariusgnn.capacity=%" PRIu32 ": the training nodes fill %" PRIu32 " of %" PRIu32
                        " partitions, and one more is to change; raise it, or set mariusgnn.policy=replace",
                        s->config->capacity, sizes->training, sizes->partitions);
    return gnn_fail(err, GNN_EUSAGE,
                    "mariusgnn.capacity=%" PRIu32 " holds no %" PRIu32 " groups of partitions; raise it, or lower "
                    "mariusgnn.logical",
                    s->config->capacity, s->config->logical);
}

/* ---- mini-batches ---- */

/* What a mini-batch is expected to hold when both directions are drawn from. */
static struct gnn_batch_size batch_size(const struct gnn_env *env, const struct marius_config *config)
{
    struct gnn_workload load = *env->workload;
    struct gnn_batch_size size;
    for (uint32_t l = 0; config->edges == MARIUS_EDGES_BOTH && l < load.layers; l++)
        load.fanout[l] *= 2;
    gnn_batch_expect(env->dataset, &load, &size);
    return size;
}

static void add_batches(struct gnn_memory_plan *plan, const struct marius_config *config,
                        const struct marius_sizes *sizes)
{
    const struct gnn_env *const env = plan->env;
    const uint32_t layers = env->workload->layers;
    const struct gnn_batch_size own = batch_size(env, config);
    const uint64_t lists = gnn_batch_bytes(&own, layers) + own.nodes[layers] * sizeof(uint32_t);
    const uint64_t rows = gnn_mul_bytes(own.nodes[layers], env->dataset->row_bytes);
    if (env->workload->sample_only) {
        gnn_plan_in_flight(plan, "mini-batches", "--batch or --fanout", gnn_mul_bytes(sizes->staleness, lists));
        return;
    }
    gnn_plan_in_flight(plan, "mini-batches in flight", "mariusgnn.staleness, --batch or --fanout",
                       gnn_mul_bytes(sizes->staleness, gnn_add_bytes(lists, rows + rows / 8)));
    if (env->model_config != NULL) {
        const uint64_t usual = gnn_model_bytes(env->model_config, plan->batch.nodes);
        const uint64_t larger = gnn_model_bytes(env->model_config, own.nodes);
        gnn_plan_in_flight(plan, "model for both directions", "mariusgnn.edges, --batch or --fanout",
                           larger > usual ? larger - usual : 0)
            ->on_device = gnn_env_on_device(env);
    }
    gnn_train_input_plan(plan, config->transfer, config->loaders, sizes->staleness);
}

/* What grows with the graph whatever is resident. */
static void add_tables(struct gnn_memory_plan *plan, const struct marius_sizes *sizes)
{
    const struct gnn_env *const env = plan->env;
    const uint64_t buckets = (uint64_t)sizes->partitions * sizes->partitions;
    gnn_plan_part(plan, "order of nodes", NULL, env->dataset->node_count * (uint64_t)sizeof(gnn_node));
    gnn_plan_part(plan, "edge bucket table", "mariusgnn.partitions", (buckets + 2) * sizeof(uint64_t));
    gnn_plan_part(plan, "training nodes in order", NULL,
                  gnn_batch_order_bytes(env) + UINT64_C(3) * env->dataset->train.count * sizeof(gnn_node));
}

enum gnn_status marius_size(const struct marius_config *config, const struct marius_store *store,
                            struct marius_sizes *out, struct gnn_memory_plan *plan, struct gnn_err *err)
{
    const struct marius_graph_size size = graph_size(plan->env->dataset);
    struct sizing s = {.env = plan->env, .config = config, .plan = plan};
    *out = (struct marius_sizes){.staleness = config->staleness};
    GNN_TRY(choose_partitions(plan->env, config, out, err));
    gnn_plan_process_at_least(plan, process_bytes);
    add_tables(plan, out);
    add_batches(plan, config, out);
    take_census(out, plan->env->dataset->edge_count, store != NULL ? store->bucket_start : NULL, &s.census);
    GNN_TRY(choose_policy(&s, store != NULL ? &store->training_first : NULL, out, err));
    out->rule_capacity =
        plan->env->cap_bytes > 0 ? marius_rule_capacity(&size, out->partitions, plan->env->cap_bytes) : out->partitions;
    if (!plan->env->workload->sample_only)
        gnn_plan_part(plan, "partition buffer", partitions_remedy, buffer_bytes(&s, out));
    gnn_plan_part(plan, "resident edges", partitions_remedy, edge_bytes(&s, out));
    gnn_plan_part(plan, "samplers", "mariusgnn.loaders", sampler_bytes(&s, out));
    assert(out->capacity >= 1);
    assert(out->capacity <= out->partitions);
    return GNN_OK;
}

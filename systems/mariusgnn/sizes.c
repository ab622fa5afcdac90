/* SPDX-License-Identifier: MIT */
/* Every size of MariusGNN: partitions, capacity, groups, and the memory they come to (sections 5.2 and 6).
 *
 * The paper's rule counts c PO + 2 c^2 EBO + F and leaves F open. Here everything is counted: the slots, an edge as it
 * was read and twice sorted (the rule's 2 EBO), the samplers' tables, the mini-batches in flight; c is the largest
 * whose plan fits the cap. The rule's own c, with F = 0, is reported beside it. */
#include "systems/mariusgnn/mariusgnn.h"

#include "harness/graph/triples.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

/* Phases of the plan: the store is made, then looked at, before the buffer is opened. */
enum { PREPARING, IN_EPOCHS, LOOKING };
enum { GRAPH_LISTS = 7, SAMPLER_LISTS = 4 }; /* pieces of memory, each of whole pages */

static const char partitions_remedy[] = "mariusgnn.capacity, or mariusgnn.partitions for smaller ones";

/* The paper's edges are those of the knowledge graph, with their relations. */
static struct marius_graph_size graph_size(const struct gnn_env *env)
{
    const struct gnn_dataset *const d = env->dataset;
    const bool links = marius_learns_links(env);
    return (struct marius_graph_size){.nodes = d->node_count,
                                      .edges = links ? d->triple_count[GNN_TRIPLES_TRAIN] : d->edge_count,
                                      .row_bytes = d->row_bytes,
                                      .edge_bytes = links ? sizeof(struct gnn_triple) : MARIUS_EDGE_BYTES};
}

/* Arrays of the partition buffer: node vectors, and of those that are learned the optimiser's state. */
static uint32_t array_count(const struct gnn_env *env)
{
    return marius_learns_links(env) ? 1 + gnn_optimizer_states(env->link_config->optimizer) : 1;
}

/* ---- what goes together ---- */

static bool is_of_links(const struct marius_config *config)
{
    return config->policy == MARIUS_POLICY_COMET || config->policy == MARIUS_POLICY_BETA;
}

static bool is_of_nodes(const struct marius_config *config)
{
    return config->policy == MARIUS_POLICY_TRAINING || config->policy == MARIUS_POLICY_REPLACE;
}

static enum gnn_status check_task(const struct gnn_env *env, const struct marius_config *config, struct gnn_err *err)
{
    if (marius_learns_links(env) && is_of_nodes(config))
        return gnn_fail(err, GNN_EUSAGE,
                        "mariusgnn.policy=training-first and replace require --task nodes: with --task link, use auto, "
                        "comet, beta or memory");
    if (!marius_learns_links(env) && is_of_links(config))
        return gnn_fail(err, GNN_EUSAGE,
                        "mariusgnn.policy=comet and beta require --task link, whose examples are edges: with --task "
                        "nodes, use auto, training-first, replace or memory");
    if (!marius_learns_links(env) && config->vectors == MARIUS_VECTORS_KEPT)
        return gnn_fail(err, GNN_EUSAGE,
                        "mariusgnn.vectors=kept requires --task link, because nodes have fixed features: remove it");
    if (marius_learns_links(env) && config->policy != MARIUS_POLICY_BETA && config->logical < 2)
        return gnn_fail(err, GNN_EUSAGE,
                        "mariusgnn.logical=%" PRIu32
                        ": every two groups must be in memory together once, which takes at least 2: raise it",
                        config->logical);
    return GNN_OK;
}

/* ---- partitions ---- */

static enum gnn_status choose_partitions(const struct gnn_env *env, const struct marius_config *config,
                                         struct marius_sizes *out, struct gnn_err *err)
{
    const struct gnn_dataset *const d = env->dataset;
    const struct marius_graph_size size = graph_size(env);
    out->partitions =
        config->partitions > 0 ? config->partitions : marius_tuned_partitions(&size, (uint32_t)config->block_bytes);
    if (!marius_partitions_fit(d->node_count, out->partitions))
        return gnn_fail(err, GNN_EUSAGE,
                        "mariusgnn.partitions=%" PRIu32 ": %" PRIu32 " nodes make partitions of %" PRIu32
                        ", so that the last partition is empty: lower mariusgnn.partitions",
                        out->partitions, d->node_count, marius_partition_rows(d->node_count, out->partitions));
    out->rows = marius_partition_rows(d->node_count, out->partitions);
    out->training = (uint32_t)gnn_div_up(d->train.count, out->rows);
    out->slot_bytes = marius_slot_bytes(out->rows, d->row_bytes);
    if (config->capacity > out->partitions)
        return gnn_fail(err, GNN_EUSAGE, "mariusgnn.capacity=%" PRIu32 " exceeds the %" PRIu32 " partitions: lower it",
                        config->capacity, out->partitions);
    return GNN_OK;
}

/* ---- edges of a state ---- */

/* Edges by where their ends lie: in the first k partitions, both in the same other one, in two others; and, over those
 * other partitions, the sums and squares of what each has with the first ones and with the others. */
struct census {
    double first, mixed, same, others;
    double into_first, out_of_first; /* of mixed, by the direction */
    double with_first, with_others, first_squared, others_squared, product;
};

/* What one partition that is not among the first adds to the sums. */
static void count_partition(struct census *out, double with_first, double with_others)
{
    out->with_first += with_first;
    out->with_others += with_others;
    out->first_squared += with_first * with_first;
    out->others_squared += with_others * with_others;
    out->product += with_first * with_others;
}

/* Edges of bucket (from, to). */
static double bucket_edges(uint32_t p, uint32_t from, uint32_t to, double mean, const uint64_t *start)
{
    const uint64_t bucket = (uint64_t)from * p + to;
    return start == NULL ? mean : (double)(start[bucket + 1] - start[bucket]);
}

/* first: the partitions that are always resident. */
static void take_census(const struct marius_sizes *sizes, uint32_t first, uint64_t edges, const uint64_t *bucket_start,
                        struct census *out)
{
    const uint32_t p = sizes->partitions;
    const double mean = (double)edges / ((double)p * p);
    *out = (struct census){.first = 0};
    for (uint32_t i = 0; i < p; i++) {
        double with_first = 0, with_others = 0;
        for (uint32_t j = 0; j < p; j++) {
            const double there = bucket_edges(p, i, j, mean, bucket_start);
            const double half = (there + bucket_edges(p, j, i, mean, bucket_start)) / 2; /* each pair comes twice */
            const bool from_first = i < first, to_first = j < first;
            *(from_first && to_first   ? &out->first
              : from_first || to_first ? &out->mixed
              : i == j                 ? &out->same
                                       : &out->others) += half;
            if (from_first != to_first)
                *(to_first ? &out->into_first : &out->out_of_first) += there;
            *(to_first ? &with_first : &with_others) += i == j ? half : 2 * half;
        }
        if (i >= first)
            count_partition(out, with_first, with_others);
    }
}

/* Returns the edges of a state of c partitions, the first ones and any others: the expectation and four standard
 * deviations of a draw without replacement, to which each partition adds what it has with the first ones, and what it
 * has with the others as far as they are drawn. */
static uint64_t most_edges(const struct marius_sizes *sizes, uint32_t first, const struct census *census)
{
    const double left = sizes->partitions - first, drawn = sizes->capacity - gnn_min_u32(first, sizes->capacity);
    if (left <= 0)
        return (uint64_t)census->first;
    const double one = drawn / left, two = left > 1 ? one * (drawn - 1) / (left - 1) : 0;
    const double mean = census->first + one * (census->mixed + census->same) + two * census->others;
    const double of_one = (census->with_first + one * census->with_others) / left;
    const double squares = census->first_squared + 2 * one * census->product + one * one * census->others_squared;
    const double variance = fmax(squares / left - of_one * of_one, 0) * drawn * (1 - one);
    return (uint64_t)ceil(mean + 4 * sqrt(variance));
}

/* ---- what a capacity comes to ---- */

struct sizing {
    const struct gnn_env *env;
    const struct marius_config *config;
    const struct gnn_memory_plan *plan; /* with all that does not depend on c */
    struct marius_degrees degrees;
    bool by_bucket;           /* censuses are of the store's buckets; false: of buckets of one size */
    struct census census[2];  /* without and with training nodes first */
    struct census of_triples; /* links: training edges */
};

struct marius_dense_config marius_dense_of(const struct gnn_env *env, const struct marius_config *config)
{
    struct marius_dense_config dense = {.seed = env->workload->seed,
                                        .layers = env->workload->layers,
                                        .out_edges = config->edges == MARIUS_EDGES_BOTH,
                                        .replace = config->replace,
                                        .hash_hops = config->hash_hops,
                                        .threads = config->sampling == MARIUS_SAMPLING_TEAM ? env->cores : 1};
    memcpy(dense.fanout, env->workload->fanout, sizeof dense.fanout);
    return dense;
}

/* Neighbourhoods are drawn. */
static bool samples(const struct gnn_env *env)
{
    return env->workload->layers > 0;
}

bool marius_needs_degrees(const struct gnn_env *env, const struct marius_config *config)
{
    return samples(env) && !env->workload->sample_only && config->edges == MARIUS_EDGES_BOTH;
}

/* Sets the share of a resident node's neighbours that are resident: the resident edges' share of all edges of the
 * resident nodes. Training nodes that come first may have more of their neighbours among themselves. Then it is the
 * share of theirs, and most nodes found are training nodes: every hop from the targets is taken as the first. */
static void find_shares(const struct sizing *s, const struct marius_sizes *sizes, struct marius_drawn_from *from)
{
    const double theirs = (double)s->env->dataset->edge_count * sizes->capacity / sizes->partitions;
    const struct census *const c = &s->census[1];
    const uint32_t left = sizes->partitions - sizes->training;
    from->share = theirs > 0 ? fmin((double)sizes->resident_edges / theirs, 1) : 0;
    if (!sizes->training_first || left == 0 || !s->by_bucket)
        return;
    const double drawn = (double)(sizes->capacity - gnn_min_u32(sizes->training, sizes->capacity)) / left;
    const bool in_share = s->config->edges == MARIUS_EDGES_IN || c->into_first <= c->out_of_first;
    const double others = in_share ? c->into_first : c->out_of_first, found = c->first + drawn * others;
    const double share = found > 0 ? found / (c->first + others) : 0;
    if (share <= from->share)
        return;
    from->share = share;
    from->trained = c->first / found * s->env->dataset->train.count / ((double)sizes->training * sizes->rows);
}

static void find_largest(const struct sizing *s, struct marius_sizes *sizes)
{
    const struct gnn_env *const env = s->env;
    const struct marius_dense_config dense = marius_dense_of(env, s->config);
    struct marius_drawn_from from = {.local_count = sizes->capacity * sizes->rows,
                                     .edge_count = sizes->resident_edges,
                                     .targets = marius_targets_most(env),
                                     .ends = marius_learns_links(env)};
    find_shares(s, sizes, &from);
    if (samples(env))
        marius_largest_batch(&s->degrees, &dense, &from, &sizes->largest);
    else
        gnn_batch_largest(env->dataset, env->workload, &sizes->largest);
}

/* Gives c partitions their groups; in groups, c becomes a multiple of theirs. */
static void shape(const struct sizing *s, uint32_t capacity, bool training_first, struct marius_sizes *sizes)
{
    sizes->training_first = training_first;
    sizes->whole = capacity == sizes->partitions;
    const bool single = sizes->whole || training_first || s->config->policy == MARIUS_POLICY_BETA;
    sizes->places = single ? capacity : gnn_min_u32(s->config->logical, capacity);
    assert(sizes->places > 0);
    sizes->group = capacity / sizes->places;
    sizes->capacity = sizes->places * sizes->group;
    sizes->prefetch = !sizes->whole && !training_first && s->config->prefetch;
    sizes->subgraphs = sizes->whole || training_first ? 1 : 2;
    sizes->resident_edges = most_edges(sizes, training_first ? sizes->training : 0, &s->census[training_first]);
    if (!samples(s->env))
        sizes->resident_edges = 0;
    if (marius_learns_links(s->env))
        sizes->state_edges = most_edges(sizes, 0, &s->of_triples); /* as if all of them were the state's own */
    find_largest(s, sizes);
}

static uint64_t buffer_bytes(const struct sizing *s, const struct marius_sizes *sizes)
{
    const struct marius_buffer_config buffer = {.slots = sizes->capacity,
                                                .group = sizes->group,
                                                .prefetch = sizes->prefetch,
                                                .array_count = 1,
                                                .arrays = {{.slot_bytes = sizes->slot_bytes}}};
    return s->env->workload->sample_only ? 0 : gnn_mul_bytes(array_count(s->env), marius_buffer_bytes(&buffer));
}

static uint64_t edge_bytes(const struct sizing *s, const struct marius_sizes *sizes)
{
    const struct marius_edges_config edges = {.slots = sizes->capacity,
                                              .graphs = sizes->subgraphs,
                                              .depth = s->config->depth,
                                              .direct = s->config->io == MARIUS_IO_DIRECT,
                                              .out_edges = s->config->edges == MARIUS_EDGES_BOTH,
                                              .released = s->config->edge_memory == MARIUS_MEMORY_RELEASED};
    const uint64_t round = sizes->subgraphs * (uint64_t)GRAPH_LISTS * GNN_PAGE_BYTES;
    return samples(s->env) ? gnn_add_bytes(marius_edges_bytes(&edges, sizes->rows, sizes->resident_edges), round) : 0;
}

/* Training edges of a state, and of the next; the nodes that negatives are drawn from. */
static uint64_t example_bytes(const struct sizing *s, const struct marius_sizes *sizes)
{
    const struct marius_training_edges_config edges = {.slots = sizes->capacity,
                                                       .sets = sizes->subgraphs,
                                                       .depth = s->config->depth,
                                                       .whole = sizes->whole,
                                                       .direct = s->config->io == MARIUS_IO_DIRECT};
    const uint64_t pool = sizes->whole ? 0 : (uint64_t)sizes->capacity * sizes->rows * sizeof(gnn_node);
    const uint64_t round = (sizes->subgraphs + UINT64_C(1)) * GNN_PAGE_BYTES;
    if (!marius_learns_links(s->env))
        return 0;
    return gnn_add_bytes(marius_training_edges_bytes(&edges, sizes->state_edges), gnn_add_bytes(pool, round));
}

static uint64_t sampler_bytes(const struct sizing *s, const struct marius_sizes *sizes)
{
    const struct marius_dense_config dense = marius_dense_of(s->env, s->config);
    if (!samples(s->env))
        return 0;
    const uint64_t one =
        marius_dense_bytes(&dense, sizes->capacity * sizes->rows, sizes->resident_edges, marius_targets_most(s->env));
    return gnn_mul_bytes(s->config->loaders, gnn_add_bytes(one, SAMPLER_LISTS * (uint64_t)GNN_PAGE_BYTES));
}

/* A mini-batch of edges: what it is drawn into, and its nodes as local IDs. */
static uint64_t edge_batch_bytes(const struct gnn_env *env)
{
    const struct gnn_workload *const load = env->workload;
    return gnn_add_bytes(gnn_link_batch_bytes(&load->negatives, env->dataset->node_count, load->batch_size),
                         load->batch_size * (uint64_t)sizeof(struct gnn_triple) +
                             marius_targets_most(env) * (uint64_t)sizeof(uint32_t));
}

/* Mini-batches in flight: lists at their bound, at which they are reserved, and the rows of the largest. */
static uint64_t batches_bytes(const struct sizing *s, const struct marius_sizes *sizes)
{
    const struct gnn_env *const env = s->env;
    const struct marius_dense_config dense = marius_dense_of(env, s->config);
    const uint32_t local_count = sizes->capacity * sizes->rows;
    const uint64_t lists =
        samples(env) ? marius_dense_batch_bytes(&dense, local_count, sizes->resident_edges, marius_targets_most(env))
                     : 0;
    const uint64_t rows = gnn_rows_capacity(sizes->largest.nodes[env->workload->layers]);
    const uint64_t labels = env->workload->batch_size * (uint64_t)sizeof *env->dataset->labels;
    uint64_t one = gnn_add_bytes(lists, GNN_PAGE_BYTES);
    if (marius_learns_links(env)) /* rows are gathered when it trains, for one at a time */
        one = gnn_add_bytes(one, edge_batch_bytes(env));
    else if (!env->workload->sample_only)
        one =
            gnn_add_bytes(one, gnn_add_bytes(gnn_round_up(gnn_mul_bytes(rows, env->dataset->row_bytes), GNN_PAGE_BYTES),
                                             gnn_round_up(labels, GNN_PAGE_BYTES)));
    return gnn_mul_bytes(sizes->staleness, one);
}

/* By how much the model is larger where both directions are drawn from. */
static uint64_t model_more_bytes(const struct sizing *s, const struct marius_sizes *sizes)
{
    const struct gnn_env *const env = s->env;
    if (env->workload->sample_only || env->model_config == NULL || !samples(env))
        return 0;
    const uint64_t usual = gnn_model_bytes(env->model_config, s->plan->largest.nodes);
    const uint64_t own = gnn_model_bytes(env->model_config, sizes->largest.nodes);
    return own > usual ? own - usual : 0;
}

/* What is held in the epochs and depends on c. */
static void add_parts(struct gnn_memory_plan *plan, const struct sizing *s, const struct marius_sizes *sizes)
{
    const struct gnn_env *const env = s->env;
    const uint32_t epochs = 1 << IN_EPOCHS;
    gnn_plan_in_flight(plan, "model for both directions", "mariusgnn.edges, --batch or --fanout",
                       model_more_bytes(s, sizes))
        ->on_device = gnn_env_on_device(env);
    if (!env->workload->sample_only)
        gnn_plan_part(plan, "partition buffer", partitions_remedy, buffer_bytes(s, sizes))->phases = epochs;
    gnn_plan_part(plan, "resident edges", partitions_remedy, edge_bytes(s, sizes))->phases = epochs;
    gnn_plan_part(plan, "order of partitions", partitions_remedy,
                  marius_order_bytes(sizes->partitions, sizes->group, sizes->places, marius_states(sizes, env)))
        ->phases = epochs;
    gnn_plan_part(plan, "samplers", "mariusgnn.loaders", sampler_bytes(s, sizes))->phases = epochs;
    gnn_plan_in_flight(plan, "mini-batches in flight", "mariusgnn.staleness, --batch or --fanout",
                       batches_bytes(s, sizes))
        ->phases = epochs;
    plan->largest = sizes->largest;
    if (!marius_learns_links(env)) {
        gnn_train_input_plan(plan, s->config->transfer, s->config->loaders, sizes->staleness);
        gnn_training_plan(plan, epochs);
        return;
    }
    gnn_plan_part(plan, "training edges of a state", partitions_remedy, example_bytes(s, sizes))->phases = epochs;
    gnn_plan_in_flight(plan, "gathered vectors and gradients", "--batch, --negatives or --fanout",
                       gnn_link_training_bytes(env, &sizes->largest));
}

static bool fits(const struct sizing *s, const struct marius_sizes *sizes)
{
    struct gnn_memory_plan trial = *s->plan;
    add_parts(&trial, s, sizes);
    return s->env->cap_bytes == 0 || gnn_plan_phase_bytes(&trial, IN_EPOCHS) <= s->env->cap_bytes;
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

/* Groups that must be in memory at once: of BETA any two. */
static uint32_t least_groups(const struct marius_config *config)
{
    return config->policy == MARIUS_POLICY_BETA ? 2 : config->logical;
}

static bool choose(const struct sizing *s, bool training_first, struct marius_sizes *sizes)
{
    const uint32_t given = s->config->policy == MARIUS_POLICY_MEMORY ? sizes->partitions : s->config->capacity;
    const uint32_t groups = least_groups(s->config);
    const uint32_t least = training_first ? least_training_first(sizes) : gnn_min_u32(groups, sizes->partitions);
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
    const bool links = marius_learns_links(s->env);
    bool training_first = placed != NULL ? *placed : policy != MARIUS_POLICY_REPLACE && !links;
    bool chosen = choose(s, training_first, sizes);
    if (!chosen && training_first && !only_first) { /* the fallback of section 5.2 */
        training_first = false;
        chosen = choose(s, training_first, sizes);
    }
    if (chosen || s->config->capacity == 0)
        return GNN_OK; /* or the plan says by how much it does not fit */
    if (training_first)
        return gnn_fail(
            err, GNN_EUSAGE,
            "mariusgnn.capacity=%" PRIu32 " is too small: training nodes fill %" PRIu32 " of %" PRIu32
            " partitions, and one more must change in each epoch; raise it, or set mariusgnn.policy=replace",
            s->config->capacity, sizes->training, sizes->partitions);
    return gnn_fail(err, GNN_EUSAGE,
                    "mariusgnn.capacity=%" PRIu32 " cannot hold %" PRIu32
                    " groups of partitions: raise it, or lower mariusgnn.logical",
                    s->config->capacity, least_groups(s->config));
}

static uint64_t whole_pages(uint64_t bytes)
{
    return gnn_round_up(bytes, GNN_PAGE_BYTES);
}

/* What grows with the graph whatever is resident. Of nodes, the new names serve the opening alone. */
static void add_tables(struct gnn_memory_plan *plan, const struct marius_sizes *sizes)
{
    const struct gnn_env *const env = plan->env;
    const uint64_t buckets = (uint64_t)sizes->partitions * sizes->partitions;
    const uint64_t names = whole_pages(env->dataset->node_count * (uint64_t)sizeof(gnn_node));
    const uint64_t table = whole_pages((buckets + 2) * sizeof(uint64_t));
    const bool links = marius_learns_links(env);
    gnn_plan_part(plan, "order of nodes", NULL, names);
    if (samples(env))
        gnn_plan_part(plan, "edge bucket table", "mariusgnn.partitions", table);
    gnn_plan_part(plan, "new names of nodes", NULL, names)->phases = links ? GNN_PLAN_ALL_PHASES : 1 << LOOKING;
    if (links) /* and the states of the buckets */
        gnn_plan_part(plan, "table of training edges", "mariusgnn.partitions",
                      table + whole_pages(buckets * sizeof(uint32_t)));
    else
        gnn_plan_part(plan, "training nodes in order", NULL,
                      whole_pages(gnn_batch_order_bytes(env)) +
                          3 * whole_pages(env->dataset->train.count * (uint64_t)sizeof(gnn_node)));
}

/* What learning links holds whatever is resident: a partition for the evaluation, the manifest of vectors that are
 * kept. */
static void add_links(struct gnn_memory_plan *plan, const struct sizing *s, const struct marius_sizes *sizes)
{
    gnn_plan_part(plan, "a partition for the evaluation", "mariusgnn.partitions", sizes->slot_bytes);
    if (s->config->vectors == MARIUS_VECTORS_KEPT)
        gnn_plan_part(plan, "manifest of the vectors", "mariusgnn.vectors",
                      marius_vectors_manifest_bytes(plan->env, sizes->partitions));
}

/* What it takes to make the store, where there is none, and to look at it. */
static void add_opening(struct gnn_memory_plan *plan, const struct sizing *s, const struct marius_sizes *sizes)
{
    const struct marius_store_config config = {.partitions = sizes->partitions,
                                               .training_first = sizes->training_first,
                                               .triples = marius_learns_links(plan->env) && !sizes->whole};
    gnn_plan_part(plan, "preparing of the store", "mariusgnn.partitions", marius_store_least_bytes(plan->env, &config))
        ->phases = 1 << PREPARING;
    if (marius_needs_degrees(plan->env, s->config))
        gnn_plan_part(plan, "looking at degrees", NULL, marius_degrees_bytes())->phases = 1 << LOOKING;
}

/* Takes the censuses of edges: by the store's tables, or as if all buckets were of one size. */
static void take_censuses(struct sizing *s, const struct marius_store *store, uint64_t edges,
                          const struct marius_sizes *sizes)
{
    s->by_bucket = store != NULL;
    take_census(sizes, 0, edges, store != NULL ? store->triple_start : NULL, &s->of_triples);
    for (int first = 0; first < 2; first++)
        take_census(sizes, first != 0 ? sizes->training : 0, s->env->dataset->edge_count,
                    store != NULL ? store->bucket_start : NULL, &s->census[first]);
}

enum gnn_status marius_size(const struct marius_config *config, const struct marius_store *store,
                            const struct marius_degrees *degrees, struct marius_sizes *out,
                            struct gnn_memory_plan *plan, struct gnn_err *err)
{
    const struct marius_graph_size size = graph_size(plan->env);
    struct sizing s = {.env = plan->env, .config = config, .plan = plan};
    *out = (struct marius_sizes){.staleness = config->staleness};
    GNN_TRY(check_task(plan->env, config, err));
    GNN_TRY(choose_partitions(plan->env, config, out, err));
    add_tables(plan, out);
    if (marius_learns_links(plan->env))
        add_links(plan, &s, out);
    if (degrees != NULL)
        s.degrees = *degrees;
    else
        marius_degrees_guess(plan->env->dataset, &s.degrees);
    take_censuses(&s, store, size.edges, out);
    GNN_TRY(choose_policy(&s, store != NULL ? &store->training_first : NULL, out, err));
    out->rule_capacity =
        plan->env->cap_bytes > 0 ? marius_rule_capacity(&size, out->partitions, plan->env->cap_bytes) : out->partitions;
    add_parts(plan, &s, out);
    if (store == NULL)
        add_opening(plan, &s, out);
    assert(out->capacity >= 1);
    assert(out->capacity <= out->partitions);
    return GNN_OK;
}

uint64_t marius_states(const struct marius_sizes *sizes, const struct gnn_env *env)
{
    if (sizes->whole || sizes->training_first)
        return 1;
    const uint32_t units = (uint32_t)gnn_div_up(sizes->partitions, sizes->group);
    return marius_learns_links(env) ? marius_one_swap_states(units, sizes->places)
                                    : units - sizes->places + UINT64_C(1);
}

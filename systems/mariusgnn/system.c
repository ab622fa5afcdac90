/* SPDX-License-Identifier: MIT */
/* MariusGNN: mini-batches from the partitions in memory. See README.md.
 *
 * Source   MariusGNN (EuroSys 2023), node classification and link prediction; where paper and released code differ, the
 *          paper is the default but where an option says otherwise
 * Memory   sizes.c: what the cap leaves beside tables and mini-batches goes to partitions and their edges
 * Errors   those of the files and rings (GNN_EIO, GNN_ESHORT, GNN_EFORMAT, GNN_ENOTSUP without direct I/O), GNN_ENOMEM,
 *          GNN_ECAP, GNN_EUSAGE, GNN_ECANCELLED */
#include "systems/mariusgnn/mariusgnn.h"

#include "harness/base/log.h"
#include "harness/graph/triples.h"

#include <inttypes.h>

enum { LOADERS = 4, HOST_QUEUE = 4, STALENESS = 16 }; /* of the released code */

static void marius_complete(const struct gnn_env *env, void *config)
{
    struct marius_config *const c = config;
    c->loaders = gnn_threads(c->loaders, gnn_min_u32(env->cores, LOADERS));
    c->staleness = gnn_threads(c->staleness, gnn_min_u32(c->loaders + HOST_QUEUE + 1, STALENESS));
}

static enum gnn_status marius_plan(const struct gnn_env *env, const void *config, struct gnn_memory_plan *plan,
                                   struct gnn_err *err)
{
    (void)env;
    struct marius_sizes sizes;
    return marius_size(config, NULL, NULL, &sizes, plan, err);
}

/* ---- open ---- */

/* Training edges by bucket, for links that do not have all in memory. */
static bool needs_triples(const struct marius *m)
{
    return marius_learns_links(m->env) && !m->sizes.whole;
}

/* Opens the store that the sizes ask for, and sizes again by what its buckets hold and its nodes' degrees are. */
static enum gnn_status open_store(struct marius *m, struct gnn_err *err)
{
    const struct marius_store_config config = {.partitions = m->sizes.partitions,
                                               .training_first = m->sizes.training_first,
                                               .direct = m->config->io == MARIUS_IO_DIRECT,
                                               .writable = m->config->always_write && !m->sizes.training_first,
                                               .triples = needs_triples(m)};
    struct gnn_memory_plan plan;
    const bool known = marius_needs_degrees(m->env, m->config);
    GNN_TRY(marius_store_open(m->env, &config, &m->store, err));
    if (known)
        GNN_TRY(marius_degrees_read(m->env, &m->store, config.direct, &m->degrees, err));
    gnn_plan_begin(&plan, m->env);
    GNN_TRY(marius_size(m->config, &m->store, known ? &m->degrees : NULL, &m->sizes, &plan, err));
    return m->sizes.training_first == config.training_first ? gnn_plan_check(&plan, "", err) : GNN_OK;
}

/* Edges and mini-batches may take more than was thought before they were counted; then nodes are placed at random after
 * all, or not everything is in memory. Nothing turns back from there: training nodes first is not tried again. */
static enum gnn_status open_files(struct marius *m, struct gnn_err *err)
{
    struct gnn_memory_plan plan;
    gnn_plan_begin(&plan, m->env);
    GNN_TRY(marius_size(m->config, NULL, NULL, &m->sizes, &plan, err));
    const bool training_first = m->sizes.training_first;
    GNN_TRY(open_store(m, err));
    if (m->sizes.training_first != training_first || (needs_triples(m) && m->store.triples == NULL)) {
        marius_store_close(m->env->world, &m->store);
        GNN_TRY(open_store(m, err));
    }
    if (!m->sizes.training_first && m->config->policy == MARIUS_POLICY_AUTO && !marius_learns_links(m->env))
        gnn_log_info("mariusgnn: %" PRIu32 " of %" PRIu32 " partitions hold training nodes and %" PRIu32
                     " fit in memory: partitions are replaced during an epoch",
                     m->sizes.training, m->sizes.partitions, m->sizes.capacity);
    return GNN_OK;
}

/* Which partitions are where, and which will be. */
static enum gnn_status open_residency(struct marius *m, struct gnn_err *err)
{
    GNN_NEW(m->resident, m->sizes.capacity, err, "resident partitions");
    GNN_NEW(m->next_resident, m->sizes.capacity, err, "resident partitions");
    GNN_NEW(m->entering, m->sizes.group, err, "entering partitions");
    GNN_NEW(m->slot_of, m->sizes.partitions, err, "slots of partitions");
    m->resident[0] = MARIUS_NONE;
    return GNN_OK;
}

static enum gnn_status open_order(struct marius *m, struct gnn_err *err)
{
    struct gnn_world *const world = m->env->world;
    const uint32_t train = m->env->dataset->train.count;
    const uint64_t states = marius_states(&m->sizes, m->env);
    GNN_MEM_NEW(world, m->train, train, "training nodes", GNN_MEM_PLAIN, err);
    GNN_TRY(marius_store_train(m->env, &m->store, m->train, err));
    GNN_TRY(gnn_batch_order_open(m->env, m->train, &m->order, err));
    if (states == 1)
        return GNN_OK;
    GNN_NEW(m->state_start, states + 2, err, "training nodes of %" PRIu64 " states", states);
    GNN_MEM_NEW(world, m->state_of, train, "states of training nodes", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, m->examples, train, "training nodes by state", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

/* The features, or the tables of what is learned. */
static uint32_t fill_arrays(const struct marius *m, struct marius_array *arrays)
{
    static const char *const names[MARIUS_ARRAYS_MAX] = {"partition buffer", "partition buffer, state",
                                                         "partition buffer, second moments"};
    const struct marius_vectors *const v = m->links != NULL ? &m->links->vectors : NULL;
    const uint32_t count = v != NULL ? v->tables : 1;
    for (uint32_t a = 0; a < count; a++)
        arrays[a] = (struct marius_array){.name = names[a],
                                          .file = v != NULL ? v->table[a].file : m->store.features,
                                          .slot_bytes = m->sizes.slot_bytes,
                                          .places = v != NULL && v->kept ? &v->table[a].places : NULL,
                                          .mem_flags = GNN_MEM_FEATURES};
    return count;
}

static enum gnn_status open_buffer(struct marius *m, struct gnn_err *err)
{
    const struct marius_config *const config = m->config;
    struct marius_buffer_config buffer = {.engine = m->env->io_engine,
                                          .depth = config->depth,
                                          .slots = m->sizes.capacity,
                                          .group = m->sizes.group,
                                          .prefetch = m->sizes.prefetch,
                                          .always_write = config->always_write && !m->sizes.training_first};
    buffer.array_count = fill_arrays(m, buffer.arrays);
    return marius_buffer_open(m->env->world, &buffer, &m->buffer, err);
}

static enum gnn_status open_edges(struct marius *m, struct gnn_err *err)
{
    const struct marius_config *const config = m->config;
    const struct marius_edges_config edges = {.store = &m->store,
                                              .nodes = m->env->dataset->node_count,
                                              .engine = m->env->io_engine,
                                              .depth = config->depth,
                                              .slots = m->sizes.capacity,
                                              .graphs = m->sizes.subgraphs,
                                              .direct = config->io == MARIUS_IO_DIRECT,
                                              .single = config->bucket_reads == MARIUS_BUCKETS_SINGLE,
                                              .out_edges = config->edges == MARIUS_EDGES_BOTH,
                                              .released = config->edge_memory == MARIUS_MEMORY_RELEASED};
    return marius_edges_open(m->env->world, &edges, &m->edges, err);
}

static enum gnn_status open_edge_batch(const struct gnn_env *env, struct marius_item *item, struct gnn_err *err)
{
    const struct gnn_workload *const load = env->workload;
    GNN_MEM_NEW(env->world, item->edges, load->batch_size, "edges of a mini-batch", GNN_MEM_PLAIN, err);
    return gnn_link_batch_open(env->world, &load->negatives, env->dataset->node_count, load->batch_size,
                               &item->link.edges, err);
}

static enum gnn_status open_items(struct marius *m, struct gnn_err *err)
{
    GNN_NEW(m->items, m->sizes.staleness, err, "mini-batches in flight");
    for (uint32_t i = 0; i < m->sizes.staleness; i++) {
        struct marius_item *const item = &m->items[i];
        GNN_NEW(item->targets, marius_targets_most(m->env), err, "targets of a mini-batch");
        GNN_TRY(marius_dense_batch_open(m->env->world, &item->batch, err));
        if (m->links != NULL)
            GNN_TRY(open_edge_batch(m->env, item, err));
        else if (!m->env->workload->sample_only)
            GNN_TRY(gnn_train_input_open(m->env, "gathered rows", m->config->transfer, &item->input, err));
    }
    return GNN_OK;
}

static enum gnn_status open_samplers(struct marius *m, struct gnn_err *err)
{
    const struct marius_dense_config dense = marius_dense_of(m->env, m->config);
    if (m->edges == NULL)
        return GNN_OK;
    GNN_NEW(m->dense, m->config->loaders, err, "samplers");
    for (uint32_t w = 0; w < m->config->loaders; w++)
        GNN_TRY(marius_dense_open(m->env->world, &dense, &m->dense[w], err));
    return GNN_OK;
}

static enum gnn_status open_parts(struct marius *m, struct gnn_err *err)
{
    const bool links = marius_learns_links(m->env);
    if (gnn_train_count(m->env) == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s has no training %s: use a dataset with a training set",
                        m->env->dataset->dir, links ? "edges" : "nodes");
    GNN_TRY(open_files(m, err));
    GNN_TRY(open_residency(m, err));
    GNN_TRY(links ? marius_links_open(m, err) : open_order(m, err));
    if (!m->env->workload->sample_only)
        GNN_TRY(open_buffer(m, err));
    if (!links && !m->env->workload->sample_only)
        gnn_training_open(m->env, &m->training);
    if (m->env->workload->layers > 0) /* an encoder, or classes of nodes: neighbourhoods are drawn */
        GNN_TRY(open_edges(m, err));
    GNN_TRY(open_samplers(m, err));
    if (m->config->sampling == MARIUS_SAMPLING_TEAM)
        GNN_TRY(gnn_mutex_open(m->env->world, &m->turn, err));
    return open_items(m, err);
}

/* Mini-batches of an epoch whose training nodes are drawn into states: each state may end in a short one, so how many
 * there are differs from epoch to epoch. */
static void intend_links(const struct marius *m, uint32_t how, struct gnn_intent *intent)
{
    char path[GNN_TRIPLES_PATH];
    gnn_triples_path(m->env->dataset, GNN_TRIPLES_TRAIN, path);
    if (m->sizes.whole)
        gnn_intent_reads(intent, path, GNN_READS_BUFFERED);
    else
        gnn_intent_reads(intent, gnn_file_path(m->env->world, m->store.triples), how);
    for (uint32_t t = 0; t < m->links->vectors.tables && m->links->vectors.kept; t++)
        gnn_intent_reads(intent, gnn_file_path(m->env->world, m->links->vectors.table[t].file), how);
    if (!m->links->vectors.kept)
        gnn_intent_reads(intent, NULL, how & ~(uint32_t)GNN_READS_MADE);
}

static void marius_intend(const void *state, struct gnn_intent *intent)
{
    const struct marius *const m = state;
    const uint64_t states = marius_states(&m->sizes, m->env);
    const uint32_t made = m->store.prepared.written_bytes > 0 ? GNN_READS_MADE : 0;
    const uint32_t how = made | (m->config->io == MARIUS_IO_DIRECT ? GNN_READS_DIRECT : GNN_READS_BUFFERED);
    if (states > 1) {
        const bool cut = m->env->workload->max_batches > 0;
        intent->batches = GNN_UNKNOWN;
        intent->seeds = m->env->workload->sample_only ? 0 : cut ? GNN_UNKNOWN : gnn_train_count(m->env);
        intent->whole_batches += states - 1;
        gnn_intent_phases(intent, (uint32_t)intent->whole_batches, "mariusgnn.policy"); /* no part is like another */
    }
    if (m->store.edges != NULL) /* of which open has read some */
        gnn_intent_reads(intent, gnn_file_path(m->env->world, m->store.edges),
                         how | (marius_needs_degrees(m->env, m->config) ? (uint32_t)GNN_READS_MADE : 0));
    if (m->store.features != NULL)
        gnn_intent_reads(intent, gnn_file_path(m->env->world, m->store.features), how);
    if (m->links != NULL)
        intend_links(m, how, intent);
}

static void close_items(struct marius *m)
{
    for (uint32_t i = 0; m->items != NULL && i < m->sizes.staleness; i++) {
        gnn_train_input_close(&m->items[i].input);
        gnn_link_item_close(m->env, &m->items[i].link);
        gnn_mem_free(m->env->world, m->items[i].edges);
        marius_dense_batch_close(m->env->world, m->items[i].batch);
        free(m->items[i].targets);
    }
    free(m->items);
    for (uint32_t w = 0; m->dense != NULL && w < m->config->loaders; w++)
        marius_dense_close(m->dense[w]);
    free(m->dense);
}

static void marius_close(void *state)
{
    struct marius *const m = state;
    if (m == NULL)
        return;
    struct gnn_world *const world = m->env->world;
    close_items(m);
    gnn_mutex_close(world, m->turn);
    gnn_training_close(&m->training);
    marius_edges_close(m->edges);
    marius_buffer_close(m->buffer);
    marius_links_close(m);
    gnn_mem_free(world, m->examples);
    gnn_mem_free(world, m->state_of);
    free(m->state_start);
    free(m->slot_of);
    free(m->entering);
    free(m->next_resident);
    free(m->resident);
    gnn_batch_order_close(&m->order);
    gnn_mem_free(world, m->train);
    marius_store_close(world, &m->store);
    free(m);
}

static enum gnn_status marius_open(const struct gnn_env *env, const void *config, void **state, struct gnn_err *err)
{
    struct marius *m;
    GNN_NEW(m, 1, err, "mariusgnn");
    *state = m;
    m->env = env;
    m->config = config;
    return open_parts(m, err);
}

const struct gnn_system gnn_system_mariusgnn = {
    .abi = GNN_SYSTEM_ABI,
    .name = "mariusgnn",
    .title = "MariusGNN (EuroSys 2023)",
    .variants =
        GNN_VARIANT_CPU | GNN_VARIANT_GPU | GNN_VARIANT_SAMPLE_ONLY | GNN_VARIANT_LINK | GNN_VARIANT_OWN_SAMPLES,
    .options = marius_options,
    .config_bytes = sizeof(struct marius_config),
    .complete = marius_complete,
    .plan = marius_plan,
    .open = marius_open,
    .intend = marius_intend,
    .train_epoch = marius_epoch,
    .read_embeddings = marius_read_embeddings,
    .close = marius_close,
};

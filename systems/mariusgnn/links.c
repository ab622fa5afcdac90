/* SPDX-License-Identifier: MIT */
/* MariusGNN where links are learned: training examples are edges, whose buckets the states share out (sections 3 and
 * 5.1), and the partition buffer holds vectors that change, with the optimiser's state.
 *
 *   load (loaders)   edges of the state's X in its order, negatives from what is resident, neighbourhoods by DENSE
 *   train (1)        rows out of the slots, a step, the new rows back into them
 *
 * The rows of a mini-batch are gathered when the update before is in place, as the other systems of this harness do it:
 * no update is missed, and the same seed gives the same bits whatever the threads. What runs ahead is sampling. */
#include "systems/mariusgnn/mariusgnn.h"

#include <assert.h>
#include <inttypes.h>

uint32_t marius_targets_most(const struct gnn_env *env)
{
    const struct gnn_workload *const load = env->workload;
    if (!marius_learns_links(env))
        return load->batch_size;
    return gnn_link_node_bound(&load->negatives, load->batch_size, env->dataset->node_count);
}

/* ---- open ---- */

static enum gnn_status open_edges(struct marius *m, struct gnn_err *err)
{
    const struct marius_config *const config = m->config;
    const struct marius_training_edges_config edges = {.store = &m->store,
                                                       .slots = m->sizes.capacity,
                                                       .sets = m->sizes.subgraphs,
                                                       .depth = config->depth,
                                                       .whole = m->sizes.whole,
                                                       .direct = config->io == MARIUS_IO_DIRECT,
                                                       .single = config->bucket_reads == MARIUS_BUCKETS_SINGLE};
    return marius_training_edges_open(m->env, &edges, &m->links->edges, err);
}

enum gnn_status marius_links_open(struct marius *m, struct gnn_err *err)
{
    const struct gnn_env *const env = m->env;
    const struct marius_sizes *const z = &m->sizes;
    struct marius_links *links;
    GNN_NEW(links, 1, err, "learning of links");
    m->links = links;
    GNN_TRY(marius_vectors_open(env, &m->store, m->config->io == MARIUS_IO_DIRECT,
                                m->config->vectors == MARIUS_VECTORS_KEPT, &links->vectors, err));
    GNN_TRY(open_edges(m, err));
    GNN_NEW(links->lanes, m->config->loaders, err, "loaders of edges");
    gnn_link_training_open(env, &links->training);
    links->training.step = links->vectors.step;
    links->first_epoch = links->vectors.epochs;
    if (z->whole)
        return GNN_OK;
    GNN_MEM_NEW(env->world, links->pool, (uint64_t)z->capacity * z->rows, "resident nodes", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(env->world, links->bucket_state, (uint64_t)z->partitions * z->partitions, "states of edge buckets",
                GNN_MEM_PLAIN, err);
    return GNN_OK;
}

void marius_links_close(struct marius *m)
{
    struct marius_links *const links = m->links;
    if (links == NULL)
        return;
    gnn_mem_free(m->env->world, links->bucket_state);
    gnn_mem_free(m->env->world, links->pool);
    gnn_link_training_close(&links->training);
    free(links->lanes);
    marius_training_edges_close(links->edges);
    marius_vectors_close(&links->vectors);
    free(links);
}

/* ---- states ---- */

void marius_links_begin(struct marius *m)
{
    gnn_link_training_begin(&m->links->training);
    memset(m->links->lanes, 0, m->config->loaders * sizeof *m->links->lanes);
    m->links->rows = 0;
    m->links->bias = 0;
}

enum gnn_status marius_links_draw(struct marius *m, struct gnn_rng *rng, struct marius_order *order,
                                  struct gnn_err *err)
{
    const struct marius_sizes *const z = &m->sizes;
    const bool beta = m->config->policy == MARIUS_POLICY_BETA;
    struct gnn_world *const world = m->env->world;
    if (z->whole) /* as a state of no training nodes: each partition stays where it is */
        return marius_order_training_first(world, rng, z->partitions, 0, z->capacity,
                                           m->resident[0] == MARIUS_NONE ? NULL : m->resident, order, err);
    GNN_TRY(marius_order_comet(world, rng, z->partitions, z->group, z->places, order, err));
    GNN_TRY(marius_assign_buckets(order, beta ? MARIUS_ASSIGN_GREEDY : MARIUS_ASSIGN_RANDOM, rng,
                                  m->links->bucket_state, err));
    gnn_charge(world, GNN_WORK_TABLE_ENTRY, (uint64_t)z->partitions * z->partitions);
    return marius_bias(order, m->links->bucket_state, &m->links->bias, err);
}

void marius_links_begin_state(struct marius *m)
{
    struct marius_links *const links = m->links;
    const uint32_t rows = m->sizes.rows, nodes = m->env->dataset->node_count;
    links->pool_count = 0;
    for (uint32_t s = 0; links->pool != NULL && s < m->sizes.capacity; s++) {
        if (m->resident[s] == MARIUS_NONE)
            continue;
        const uint32_t first = m->resident[s] * rows, count = gnn_min_u32(rows, nodes - first);
        memcpy(links->pool + links->pool_count, m->store.new_to_old + first, count * sizeof *links->pool);
        links->pool_count += count;
    }
    gnn_charge(m->env->world, GNN_WORK_COPIED_BYTE, links->pool_count * (uint64_t)sizeof *links->pool);
}

/* ---- loading ---- */

/* Where the mini-batch's own nodes lie. All are resident: edges are of resident buckets, negatives of the pool. */
static void find_targets(const struct marius *m, struct marius_item *item)
{
    const struct gnn_link_batch *const edges = item->link.edges;
    const uint32_t rows = m->sizes.rows;
    for (uint32_t i = 0; i < edges->view.node_count; i++) {
        const gnn_node v = m->store.old_to_new[edges->nodes[i]];
        assert(m->resident[m->slot_of[v / rows]] == v / rows);
        item->targets[i] = m->slot_of[v / rows] * rows + v % rows;
    }
    gnn_charge(m->env->world, GNN_WORK_TABLE_ENTRY, edges->view.node_count);
}

enum gnn_status marius_links_load(struct marius *m, uint32_t worker, const struct marius_place *place,
                                  const struct marius_subgraph *graph, struct marius_item *item, struct gnn_err *err)
{
    struct marius_links *const links = m->links;
    struct gnn_link_batch *const edges = item->link.edges;
    struct marius_lane *const lane = &links->lanes[worker];
    marius_training_edges_take(links->edges, place->set, place->epoch, place->state, place->first, place->count,
                               item->edges);
    GNN_TRY(gnn_link_batch_fill(edges, place->epoch, place->batch, item->edges, place->count,
                                links->pool_count > 0 ? links->pool : NULL, links->pool_count, err));
    const uint32_t nodes = edges->view.node_count;
    find_targets(m, item);
    if (graph != NULL) {
        GNN_TRY(marius_dense_sample(m->dense[worker], graph, place->epoch, place->batch, item->targets, nodes,
                                    item->batch, err));
        item->link.plain = *marius_dense_view(item->batch);
    } else {
        item->link.plain = (struct gnn_batch_view){.epoch = place->epoch,
                                                   .batch = place->batch,
                                                   .seed_count = nodes,
                                                   .node_count = nodes,
                                                   .nodes = edges->nodes};
    }
    lane->batches++;
    lane->nodes += item->link.plain.node_count;
    lane->digest += edges->digest;
    return GNN_OK;
}

/* ---- training ---- */

/* Copies the rows of the mini-batch's nodes, of every table, out of the slots, or back into them. */
static void move_rows(struct marius *m, const struct marius_item *item, bool back)
{
    struct gnn_world *const world = m->env->world;
    const uint32_t row_bytes = m->env->dataset->row_bytes, rows = m->sizes.rows;
    const uint32_t *const local = m->env->workload->layers > 0 ? marius_dense_rows(item->batch) : item->targets;
    for (uint32_t table = 0; table < m->links->vectors.tables; table++) {
        unsigned char *const own = (unsigned char *)m->links->training.rows[table].data;
        for (uint32_t i = 0; i < item->link.plain.node_count; i++) {
            const uint32_t slot = local[i] / rows;
            unsigned char *const there =
                (unsigned char *)marius_buffer_slot(m->buffer, table, slot) + (uint64_t)(local[i] % rows) * row_bytes;
            unsigned char *const here = own + (uint64_t)i * row_bytes;
            gnn_mem_copy(world, back ? there : here, back ? here : there, row_bytes);
            if (back)
                marius_buffer_touch(m->buffer, table, slot);
        }
    }
}

enum gnn_status marius_links_train(struct marius *m, const struct marius_item *item, struct gnn_err *err)
{
    struct marius_links *const links = m->links;
    GNN_TRY(gnn_link_training_reserve(&links->training, item->link.plain.node_count, err));
    gnn_env_range(m->env, "read");
    move_rows(m, item, false);
    gnn_env_range(m->env, NULL);
    GNN_TRY(gnn_link_training_step(&links->training, &item->link, err));
    move_rows(m, item, true);
    links->rows += (uint64_t)item->link.plain.node_count * links->vectors.tables;
    return GNN_OK;
}

bool marius_links_write(const struct marius *m)
{
    return !m->sizes.whole || m->links->vectors.kept;
}

enum gnn_status marius_links_end(struct marius *m, struct gnn_err *err)
{
    assert(marius_links_write(m));
    GNN_TRY(marius_buffer_sync(m->buffer, err));
    return marius_vectors_complete(&m->links->vectors, m->links->training.step, err);
}

/* ---- the result ---- */

void marius_links_result(struct marius *m, struct gnn_epoch_result *out)
{
    struct marius_links *const links = m->links;
    struct gnn_counters *const c = &out->counters;
    struct marius_training_edges_counters edges;
    gnn_link_training_result(&links->training, out);
    c->sample.batches = c->sample.sampled_nodes = 0; /* mini-batches of edges, with an encoder or without */
    for (uint32_t w = 0; w < m->config->loaders; w++) {
        c->sample.batches += links->lanes[w].batches;
        c->sample.sampled_nodes += links->lanes[w].nodes;
        c->sample.batch_digest += links->lanes[w].digest;
    }
    marius_training_edges_take_counters(links->edges, &edges);
    c->requested_bytes += edges.read_bytes;
    c->requested_ios += edges.reads;
    gnn_epoch_figure(out, "training_edge_buckets", edges.buckets);
    gnn_epoch_figure(out, "training_edge_bytes", edges.read_bytes);
    gnn_epoch_size(out, "bias_millionths", (uint64_t)(links->bias * 1e6 + 0.5));
    gnn_epoch_size(out, "epochs_before", links->first_epoch);
}

/* ---- vectors for the evaluation ---- */

struct wanted {
    const gnn_node *nodes;
    uint32_t count;
    gnn_real *out; /* (count, dim) */
    bool *done;    /* (count) */
};

/* Copies the rows of all wanted nodes of a partition, whose rows lie at `slot`. */
static void copy_partition(const struct marius *m, const struct wanted *w, uint32_t partition,
                           const unsigned char *slot)
{
    const uint32_t row_bytes = m->env->dataset->row_bytes, rows = m->sizes.rows;
    for (uint32_t i = 0; i < w->count; i++) {
        const gnn_node v = m->store.old_to_new[w->nodes[i]];
        if (v / rows != partition)
            continue;
        gnn_mem_copy(m->env->world, (unsigned char *)w->out + (uint64_t)i * row_bytes,
                     slot + (uint64_t)(v % rows) * row_bytes, row_bytes);
        w->done[i] = true;
    }
}

static uint32_t slot_holding(const struct marius *m, uint32_t partition)
{
    for (uint32_t s = 0; s < m->sizes.capacity; s++)
        if (marius_buffer_partition(m->buffer, s) == partition)
            return s;
    return MARIUS_NONE;
}

/* Partition after partition, out of the buffer or, once each, out of the file. */
static enum gnn_status read_partitions(const struct marius *m, const struct wanted *w, unsigned char *memory,
                                       struct gnn_err *err)
{
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->done[i])
            continue;
        const uint32_t partition = m->store.old_to_new[w->nodes[i]] / m->sizes.rows;
        const uint32_t slot = slot_holding(m, partition);
        const unsigned char *from = memory;
        if (slot != MARIUS_NONE)
            from = marius_buffer_slot(m->buffer, 0, slot);
        else
            GNN_TRY(marius_vectors_read(&m->links->vectors, 0, partition, memory, err));
        copy_partition(m, w, partition, from);
    }
    return GNN_OK;
}

enum gnn_status marius_read_embeddings(void *state, const gnn_node *nodes, uint32_t count, gnn_real *out,
                                       struct gnn_err *err)
{
    const struct marius *const m = state;
    struct wanted w = {.nodes = nodes, .count = count, .out = out};
    unsigned char *memory;
    assert(m->links != NULL);
    GNN_MEM_NEW(m->env->world, memory, m->store.slot_bytes, "a partition for the evaluation", GNN_MEM_FEATURES, err);
    w.done = calloc(count, sizeof *w.done);
    enum gnn_status status =
        w.done == NULL ? gnn_fail(err, GNN_ENOMEM, "out of memory for %" PRIu32 " vectors: raise --memory", count)
                       : GNN_OK;
    GNN_NEXT(status, read_partitions(m, &w, memory, err));
    free(w.done);
    gnn_mem_free(m->env->world, memory);
    return status;
}

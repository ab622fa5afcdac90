/* SPDX-License-Identifier: MIT */
/* MariusGNN's epoch: the states of an order one after the other (MariusGNN, EuroSys 2023, section 3).
 *
 *   fill      partitions and edge buckets of the first state
 *   a state   load (loaders): sample, gather -> train (1), in order      the next state beside it, with prefetch:
 *             at most `staleness` mini-batches in flight                  look-ahead, subgraph, write-back (1 each)
 *   swap      one group of partitions takes the place of another
 *
 *   sync      links: what the slots hold of what was learned
 *
 * Each of these is a pipeline run to its end, so that no mini-batch sees two states. With training nodes first there is
 * one state, and no swap. What the released code's timer leaves out is the fill and the last write: timed_ns counts
 * the rest. */
#include "systems/mariusgnn/mariusgnn.h"

#include <inttypes.h>

struct epoch {
    struct marius *m;
    const struct gnn_env *env;
    uint64_t number;
    struct marius_order order;
    uint32_t batches_left; /* of max_batches */

    /* the state that trains */
    uint32_t state;
    const gnn_node *examples; /* (example_count) new IDs */
    uint32_t example_count;
    uint32_t first_batch, batches; /* number of its first in the epoch, how many it has */
    atomic_uint_fast32_t next;
    struct gnn_queue *free_items;
    struct gnn_reorder *delivery;

    /* sums over the states */
    uint32_t states_run;
    uint64_t fill_ns, swap_ns, sync_ns, read_rows, left_rows, resident_edges;
};

static const struct marius_config *config_of(const struct epoch *e)
{
    return e->m->config;
}

/* The graph of a state: they take turns where there are two. */
static uint32_t graph_of(const struct epoch *e, uint32_t state)
{
    return state % e->m->sizes.subgraphs;
}

/* ---- which partitions ---- */

/* Rows of a partition; 0 for none. */
static uint64_t rows_of(const struct epoch *e, uint32_t partition)
{
    const uint32_t rows = e->m->sizes.rows;
    return partition == MARIUS_NONE ? 0 : gnn_min_u32(rows, e->env->dataset->node_count - partition * rows);
}

/* Writes the partitions of a state by slot. */
static void list_slots(const struct epoch *e, uint32_t state, uint32_t *partitions)
{
    for (uint32_t s = 0; s < e->m->sizes.capacity; s++)
        partitions[s] = marius_order_partition(&e->order, state, s);
}

static enum gnn_status draw_order(struct epoch *e, struct gnn_err *err)
{
    const struct marius_sizes *const z = &e->m->sizes;
    struct gnn_world *const world = e->env->world;
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(gnn_rng_fork(e->env->workload->seed, "partitions"), e->number));
    if (e->m->links != NULL)
        return marius_links_draw(e->m, &rng, &e->order, err);
    if (!z->whole && !z->training_first)
        return marius_order_replace(world, &rng, z->partitions, z->group, z->places, &e->order, err);
    return marius_order_training_first(world, &rng, z->partitions, gnn_min_u32(z->training, z->capacity), z->capacity,
                                       e->m->resident[0] == MARIUS_NONE ? NULL : e->m->resident, &e->order, err);
}

/* Sorts the epoch's order of training nodes by their state, stable; with one state it is X as it is. */
static enum gnn_status draw_examples(struct epoch *e, struct gnn_err *err)
{
    struct marius *const m = e->m;
    const uint32_t count = e->env->dataset->train.count;
    if (e->order.states == 1 || m->links != NULL)
        return GNN_OK;
    const uint64_t key = gnn_rng_fold(gnn_rng_fork(e->env->workload->seed, "examples"), e->number);
    GNN_TRY(marius_assign_nodes(&e->order, key, m->order.order, count, m->sizes.rows, m->state_of, err));
    memset(m->state_start, 0, (e->order.states + UINT64_C(2)) * sizeof *m->state_start);
    for (uint32_t i = 0; i < count; i++)
        m->state_start[m->state_of[i] + 2]++;
    for (uint32_t s = 0; s < e->order.states; s++)
        m->state_start[s + 2] += m->state_start[s + 1];
    for (uint32_t i = 0; i < count; i++)
        m->examples[m->state_start[m->state_of[i] + 1]++] = m->order.order[i];
    gnn_charge(e->env->world, GNN_WORK_TABLE_ENTRY, count);
    return GNN_OK;
}

/* Makes the state's X what is trained. */
static void begin_state(struct epoch *e, uint32_t state)
{
    struct marius *const m = e->m;
    e->state = state;
    e->first_batch += e->batches;
    e->examples = m->order.order;
    e->example_count = e->env->dataset->train.count;
    if (m->links != NULL) {
        e->example_count = marius_training_edges_count(m->links->edges, graph_of(e, state));
    } else if (e->order.states > 1) {
        e->examples = m->examples + m->state_start[state];
        e->example_count = m->state_start[state + 1] - m->state_start[state];
    }
    e->batches = (uint32_t)gnn_div_up(e->example_count, e->env->workload->batch_size);
    e->batches = gnn_min_u32(e->batches, e->batches_left);
    e->batches_left -= e->batches;
    atomic_store(&e->next, 0);
    list_slots(e, state, m->resident);
    for (uint32_t s = 0; s < m->sizes.capacity; s++)
        if (m->resident[s] != MARIUS_NONE)
            m->slot_of[m->resident[s]] = s;
    if (m->edges != NULL)
        e->resident_edges =
            gnn_max_u64(e->resident_edges, marius_edges_graph(m->edges, graph_of(e, state))->edge_count);
    if (m->links != NULL)
        marius_links_begin_state(m);
}

/* ---- loading ---- */

/* Copies the rows of a sampled mini-batch out of the partition buffer. */
static enum gnn_status gather(const struct epoch *e, struct marius_item *item, struct gnn_err *err)
{
    const uint32_t row_bytes = e->env->dataset->row_bytes, rows = e->m->sizes.rows;
    const uint32_t *const local = marius_dense_rows(item->batch);
    const uint32_t count = marius_dense_view(item->batch)->node_count;
    GNN_TRY(gnn_train_input_reserve(&item->input, count, err));
    for (uint32_t i = 0; i < count; i++) {
        const unsigned char *const slot = marius_buffer_slot(e->m->buffer, 0, local[i] / rows);
        gnn_mem_copy(e->env->world, (unsigned char *)item->input.rows.data + (uint64_t)i * row_bytes,
                     slot + (uint64_t)(local[i] % rows) * row_bytes, row_bytes);
    }
    return GNN_OK;
}

static enum gnn_status sample_edges(const struct epoch *e, uint32_t worker, uint32_t k, struct marius_item *item,
                                    struct gnn_err *err)
{
    const uint32_t batch_size = e->env->workload->batch_size, set = graph_of(e, e->state);
    const struct marius_place place = {.epoch = e->number,
                                       .state = e->state,
                                       .set = set,
                                       .first = k * batch_size,
                                       .count = gnn_min_u32(e->example_count - k * batch_size, batch_size),
                                       .batch = e->first_batch + k};
    const struct marius_subgraph *const graph = e->m->edges != NULL ? marius_edges_graph(e->m->edges, set) : NULL;
    return marius_links_load(e->m, worker, &place, graph, item, err);
}

static enum gnn_status sample_nodes(const struct epoch *e, uint32_t worker, uint32_t k, struct marius_item *item,
                                    struct gnn_err *err)
{
    const struct marius *const m = e->m;
    const uint32_t batch_size = e->env->workload->batch_size, rows = m->sizes.rows;
    const gnn_node *const seeds = e->examples + (uint64_t)k * batch_size;
    const uint32_t count = gnn_min_u32(e->example_count - k * batch_size, batch_size);
    for (uint32_t i = 0; i < count; i++)
        item->targets[i] = m->slot_of[seeds[i] / rows] * rows + seeds[i] % rows;
    return marius_dense_sample(m->dense[worker], marius_edges_graph(m->edges, graph_of(e, e->state)), e->number,
                               e->first_batch + k, item->targets, count, item->batch, err);
}

/* Samples batch k. With a team, one loader at a time has all cores. */
static enum gnn_status sample(const struct epoch *e, uint32_t worker, uint32_t k, struct marius_item *item,
                              struct gnn_err *err)
{
    const struct marius *const m = e->m;
    if (m->turn != NULL)
        gnn_mutex_lock(e->env->world, m->turn);
    const enum gnn_status status = (m->links != NULL ? sample_edges : sample_nodes)(e, worker, k, item, err);
    if (m->turn != NULL)
        gnn_mutex_unlock(e->env->world, m->turn);
    return status;
}

/* Returns the bytes by which the released code's IDs of a mini-batch exceed the lists that are copied here. */
static uint64_t wider_ids_bytes(const struct epoch *e, const struct gnn_batch_view *view)
{
    const uint64_t edge_bytes = MARIUS_COPIED_EDGE_BYTES - sizeof *view->blocks[0].col;
    if (config_of(e)->copied_ids == MARIUS_COPIED_COMPACT)
        return 0;
    return view->blocks[0].edge_count * edge_bytes + view->node_count * (uint64_t)MARIUS_COPIED_NODE_BYTES;
}

/* Gathers the rows of a sampled mini-batch of nodes and starts its copies to the GPU. Links do both when they train. */
static enum gnn_status load_rows(const struct epoch *e, uint32_t worker, struct marius_item *item, struct gnn_err *err)
{
    const struct gnn_batch_view *const view = marius_dense_view(item->batch);
    if (e->m->links != NULL || e->env->workload->sample_only)
        return GNN_OK;
    gnn_env_range(e->env, "read");
    const enum gnn_status status = gather(e, item, err);
    gnn_env_range(e->env, NULL);
    GNN_TRY(status);
    item->input.wider_ids_bytes = wider_ids_bytes(e, view);
    return gnn_train_input_stage(&item->input, worker, view, NULL, err);
}

/* Takes a free item first and then the next batch, so that the trainer never waits for a batch without an item. */
static enum gnn_status load_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    for (;;) {
        void *item;
        GNN_TRY(gnn_check_stop(e->env, err));
        GNN_TRY(gnn_queue_pop(e->free_items, &item));
        const uint32_t k = (uint32_t)atomic_fetch_add(&e->next, 1);
        if (k >= e->batches)
            return gnn_queue_push(e->free_items, item);
        GNN_TRY(sample(e, worker->index, k, item, err));
        GNN_TRY(load_rows(e, worker->index, item, err));
        GNN_TRY(gnn_reorder_put(e->delivery, k, item));
        worker->items++;
    }
}

static enum gnn_status train_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    for (;;) {
        void *taken;
        GNN_TRY(gnn_check_stop(e->env, err));
        GNN_TRY(gnn_reorder_take(e->delivery, &taken));
        if (taken == NULL)
            return GNN_OK;
        struct marius_item *const item = taken;
        if (e->m->links != NULL)
            GNN_TRY(marius_links_train(e->m, item, err));
        else if (!e->env->workload->sample_only)
            GNN_TRY(gnn_training_step(&e->m->training, marius_dense_view(item->batch), &item->input, err));
        GNN_TRY(gnn_queue_push(e->free_items, item));
        worker->items++;
    }
}

/* ---- the next state ---- */

/* Where the group that enters the next state lies: its first slot, and its partitions in m->entering. */
static uint32_t list_entering(const struct epoch *e)
{
    const uint32_t group = e->m->sizes.group, first = marius_order_swapped(&e->order, e->state) * group;
    for (uint32_t i = 0; i < group; i++)
        e->m->entering[i] = marius_order_partition(&e->order, e->state + 1, first + i);
    return first;
}

static enum gnn_status look_ahead_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    worker->items++;
    return marius_buffer_look_ahead(e->m->buffer, e->m->entering, e->m->sizes.group, err);
}

/* Builds the subgraph of a state and reads its training edges, where there are any of either. from: the graph of the
 * state before, or MARIUS_NONE. */
static enum gnn_status read_edges(const struct epoch *e, uint32_t state, uint32_t from, struct gnn_err *err)
{
    const struct marius *const m = e->m;
    if (m->edges != NULL)
        GNN_TRY(marius_edges_build(m->edges, graph_of(e, state), m->next_resident, from, err));
    return m->links == NULL ? GNN_OK
                            : marius_training_edges_read(m->links->edges, graph_of(e, state), state, m->next_resident,
                                                         m->links->bucket_state, err);
}

static enum gnn_status subgraph_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    list_slots(e, e->state + 1, e->m->next_resident);
    worker->items++;
    return read_edges(e, e->state + 1, graph_of(e, e->state), err);
}

static enum gnn_status write_back_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    worker->items++;
    return marius_buffer_write_back(e->m->buffer, err);
}

static enum gnn_status add_prefetch(struct epoch *e, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    const bool more = e->state + 1 < e->order.states;
    if (more)
        GNN_TRY(gnn_pipeline_stage(pipeline, "subgraph", 1, subgraph_stage, e, err));
    if (e->m->buffer == NULL)
        return GNN_OK;
    GNN_TRY(gnn_pipeline_on_cancel(pipeline, marius_buffer_cancel, e->m->buffer, err));
    if (more) {
        (void)list_entering(e);
        GNN_TRY(gnn_pipeline_stage(pipeline, "look-ahead", 1, look_ahead_stage, e, err));
    }
    const bool writes = config_of(e)->always_write || e->m->links != NULL;
    return writes ? gnn_pipeline_stage(pipeline, "write-back", 1, write_back_stage, e, err) : GNN_OK;
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    struct marius *const m = e->m;
    const char *const last = e->env->workload->sample_only ? "deliver" : "train";
    GNN_TRY(gnn_pipeline_queue(pipeline, "free mini-batches", m->sizes.staleness, &e->free_items, err));
    for (uint32_t i = 0; i < m->sizes.staleness; i++)
        GNN_TRY(gnn_queue_push(e->free_items, &m->items[i]));
    GNN_TRY(gnn_pipeline_reorder(pipeline, m->sizes.staleness, e->batches, &e->delivery, err));
    if (m->sizes.prefetch)
        GNN_TRY(add_prefetch(e, pipeline, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "load", config_of(e)->loaders, load_stage, e, err));
    return gnn_pipeline_stage(pipeline, last, 1, train_stage, e, err);
}

/* ---- between states ---- */

/* Swaps in what was read ahead, or reads it now. */
static enum gnn_status swap_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    struct marius *const m = e->m;
    const uint32_t first = list_entering(e), group = m->sizes.group;
    worker->items++;
    for (uint32_t i = 0; i < group; i++) {
        e->read_rows += rows_of(e, m->entering[i]);
        e->left_rows += rows_of(e, m->resident[first + i]);
    }
    if (m->sizes.prefetch) {
        if (m->buffer != NULL)
            marius_buffer_turn(m->buffer, first, group);
        return GNN_OK;
    }
    if (m->buffer != NULL)
        GNN_TRY(marius_buffer_exchange(m->buffer, first, m->entering, group, err));
    list_slots(e, e->state + 1, m->next_resident);
    return read_edges(e, e->state + 1, graph_of(e, e->state), err);
}

static enum gnn_status add_swap(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    return gnn_pipeline_stage(pipeline, "swap", 1, swap_stage, ctx, err);
}

/* Reads the first state, but for what is there since the last epoch. */
static enum gnn_status fill_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    struct marius *const m = e->m;
    const size_t bytes = m->sizes.capacity * sizeof *m->resident;
    const bool keep = config_of(e)->keep && m->resident[0] != MARIUS_NONE;
    bool same = keep && m->sizes.subgraphs == 1;
    list_slots(e, 0, m->next_resident);
    for (uint32_t s = 0; s < m->sizes.capacity; s++) {
        const bool stays = keep && m->resident[s] == m->next_resident[s];
        e->read_rows += stays ? 0 : rows_of(e, m->next_resident[s]);
        e->left_rows += stays || m->resident[0] == MARIUS_NONE ? 0 : rows_of(e, m->resident[s]);
        same = same && stays;
    }
    m->resident[0] = MARIUS_NONE; /* until it is read */
    worker->items++;
    if (m->buffer != NULL &&
        !config_of(e)->keep) /* the released code allocates it, and one thread fills it with zeros */
        gnn_charge(e->env->world, GNN_WORK_FRESH_PAGE, marius_buffer_slots_bytes(m->buffer) / GNN_PAGE_BYTES);
    if (m->buffer != NULL)
        GNN_TRY(marius_buffer_fill(m->buffer, m->next_resident, keep, err));
    if (!same)
        GNN_TRY(read_edges(e, 0, MARIUS_NONE, err));
    memcpy(m->resident, m->next_resident, bytes);
    return GNN_OK;
}

static enum gnn_status add_fill(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    return gnn_pipeline_stage(pipeline, "fill", 1, fill_stage, ctx, err);
}

/* ---- the end ---- */

static enum gnn_status sync_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    worker->items++;
    return marius_links_end(e->m, err);
}

static enum gnn_status add_sync(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    return gnn_pipeline_stage(pipeline, "sync", 1, sync_stage, ctx, err);
}

/* ---- an epoch ---- */

static enum gnn_status run_states(struct epoch *e, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct gnn_world *const world = e->env->world;
    for (uint32_t s = 0; s < e->order.states && e->batches_left > 0; s++) {
        begin_state(e, s);
        GNN_TRY(gnn_epoch_run(e->env, add_stages, e, out, err));
        e->states_run++;
        if (s + 1 == e->order.states || e->batches_left == 0)
            continue;
        const uint64_t start_ns = gnn_now_ns(world);
        GNN_TRY(gnn_epoch_run(e->env, add_swap, e, out, err));
        e->swap_ns += gnn_now_ns(world) - start_ns;
    }
    return GNN_OK;
}

static enum gnn_status run(struct epoch *e, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct gnn_world *const world = e->env->world;
    const uint64_t start_ns = gnn_now_ns(world);
    GNN_TRY(draw_order(e, err));
    GNN_TRY(draw_examples(e, err));
    GNN_TRY(gnn_epoch_run(e->env, add_fill, e, out, err));
    e->fill_ns = gnn_now_ns(world) - start_ns;
    GNN_TRY(run_states(e, out, err));
    if (e->m->links == NULL || !marius_links_write(e->m))
        return GNN_OK;
    const uint64_t sync_ns = gnn_now_ns(world);
    GNN_TRY(gnn_epoch_run(e->env, add_sync, e, out, err));
    e->sync_ns = gnn_now_ns(world) - sync_ns;
    return GNN_OK;
}

/* ---- figures ---- */

static void report_reads(const struct epoch *e, struct gnn_epoch_result *out)
{
    struct marius *const m = e->m;
    struct gnn_counters *const c = &out->counters;
    struct marius_buffer_counters buffer = {.reads = 0};
    struct marius_edges_counters edges = {.reads = 0};
    if (m->buffer != NULL)
        marius_buffer_take_counters(m->buffer, &buffer);
    if (m->edges != NULL)
        marius_edges_take_counters(m->edges, &edges);
    c->requested_bytes = buffer.read_bytes + edges.read_bytes;
    c->requested_ios = buffer.reads + edges.reads;
    c->requested_write_bytes = buffer.written_bytes;
    c->requested_write_ios = buffer.written_partitions;
    gnn_epoch_figure(out, "partition_reads", buffer.read_partitions);
    gnn_epoch_figure(out, "partition_writes", buffer.written_partitions);
    gnn_epoch_figure(out, "bucket_reads", edges.read_buckets);
    gnn_epoch_figure(out, "bucket_requests", edges.reads);
    gnn_epoch_figure(out, "bucket_read_bytes", edges.read_bytes);
    gnn_epoch_figure(out, "buckets_kept", edges.copied_buckets);
    gnn_epoch_figure(out, "subgraph_sort_ns", edges.sort_ns);
}

static void report_samples(const struct epoch *e, struct gnn_epoch_result *out)
{
    struct gnn_counters *const c = &out->counters;
    uint64_t drawn = 0;
    for (uint32_t w = 0; w < config_of(e)->loaders && e->m->dense != NULL; w++) {
        struct gnn_sample_counters one;
        marius_dense_counters(e->m->dense[w], &one);
        drawn += marius_dense_one_hop_edges(e->m->dense[w]);
        c->sample.batches += one.batches;
        c->sample.sampled_nodes += one.sampled_nodes;
        c->sample.sampled_edges += one.sampled_edges;
        c->sample.batch_digest += one.batch_digest;
        c->sample.spot_digest += one.spot_digest;
    }
    const uint64_t asked = e->m->buffer != NULL ? c->sample.sampled_nodes : 0;
    c->rows_asked = asked;
    c->rows_read = e->m->buffer != NULL ? e->read_rows : 0;
    c->cache_hits = asked; /* mini-batches are drawn from what is in memory */
    c->cache_misses = 0;
    c->cache_evictions = e->m->buffer != NULL ? e->left_rows : 0;
    c->needed_bytes = drawn * e->env->dataset->id_bytes + asked * e->env->dataset->row_bytes;
    gnn_epoch_figure(out, "one_hop_edges", drawn);
}

static void report_sizes(const struct epoch *e, struct gnn_epoch_result *out)
{
    const struct marius_sizes *const z = &e->m->sizes;
    gnn_epoch_size(out, "partitions", z->partitions);
    gnn_epoch_size(out, "capacity", z->capacity);
    gnn_epoch_size(out, "rule_capacity", z->rule_capacity);
    gnn_epoch_size(out, "training_partitions", z->training);
    gnn_epoch_size(out, "logical_partitions", e->order.units);
    gnn_epoch_size(out, "training_first", z->training_first);
    gnn_epoch_size(out, "states", e->states_run);
    gnn_epoch_size(out, "resident_edges", e->resident_edges);
}

/* Of the rows of every table: they were asked for together, and read with their partitions. */
static void report_links(const struct epoch *e, struct gnn_epoch_result *out)
{
    const struct marius *const m = e->m;
    const struct marius_vectors *const v = &m->links->vectors;
    struct gnn_counters *const c = &out->counters;
    marius_links_result(e->m, out);
    c->rows_asked = c->cache_hits = m->links->rows;
    c->rows_read = e->read_rows * v->tables;
    c->cache_evictions = e->left_rows * v->tables;
    c->needed_bytes = c->sample.sampled_edges * e->env->dataset->id_bytes + c->rows_asked * e->env->dataset->row_bytes;
    c->prepare_disk_bytes += marius_vectors_disk_bytes(e->env, m->sizes.partitions, m->sizes.slot_bytes, v->kept);
}

static void report(const struct epoch *e, uint64_t epoch_ns, struct gnn_epoch_result *out)
{
    struct marius *const m = e->m;
    if (m->links == NULL && m->buffer != NULL)
        gnn_training_result(&m->training, out);
    report_samples(e, out);
    report_reads(e, out);
    report_sizes(e, out);
    out->counters.prepare_disk_bytes = m->store.disk_bytes;
    if (m->links != NULL)
        report_links(e, out);
    gnn_epoch_figure(out, "fill_ns", e->fill_ns);
    gnn_epoch_figure(out, "swap_ns", e->swap_ns);
    gnn_epoch_figure(out, "sync_ns", e->sync_ns);
    gnn_epoch_figure(out, "timed_ns", epoch_ns - e->fill_ns - e->sync_ns);
    gnn_epoch_figure(out, "store_prepare_ns", m->preparation_reported ? 0 : m->store.prepare_ns);
    m->preparation_reported = true;
}

enum gnn_status marius_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct marius *const m = state;
    const uint32_t limit = m->env->workload->max_batches;
    struct epoch e = {.m = m, .env = m->env, .number = epoch, .batches_left = limit > 0 ? limit : UINT32_MAX};
    const uint64_t start_ns = gnn_now_ns(m->env->world);
    if (m->links != NULL) {
        marius_links_begin(m);
        e.number += m->links->first_epoch;
    } else {
        gnn_batch_order_begin(&m->order, epoch);
        gnn_training_begin(&m->training);
    }
    for (uint32_t w = 0; w < m->config->loaders && m->dense != NULL; w++)
        marius_dense_clear_counters(m->dense[w]);
    const enum gnn_status status = run(&e, out, err);
    report(&e, gnn_now_ns(m->env->world) - start_ns, out);
    marius_order_close(m->env->world, &e.order);
    if (status != GNN_OK)
        m->resident[0] = MARIUS_NONE; /* what a failed epoch left is not believed */
    return status;
}

/* SPDX-License-Identifier: MIT */
/* An epoch: four stages on two paths, which meet in the trainer (DiskGNN, section 5.3, Figure 7).
 *
 *   tables --+
 *            v
 *   load partial input --[Q]--> assemble --[Q]--> train
 *   load graph sample  ----------------[Q]---------^
 *
 * All stages walk the same order of mini-batches, so the heads of the last two queues are always of one mini-batch.
 * Every slot goes round: its stage takes a free one and whoever is done with it gives it back, so that what is alive is
 * bounded by the slots and a queue by its depth. In the epoch for which mini-batches were drawn they are trained in
 * their own order, which is random already; in others in a permutation. */
#include "systems/diskgnn/diskgnn.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <inttypes.h>

enum { GRAPH_LANE = 1 }; /* of the device; lane 0 is the assembler's */

struct epoch {
    struct diskgnn *s;
    uint64_t number;
    uint32_t batches;
    struct gnn_queue *free_tables, *free_partials, *free_inputs, *free_graphs;
    struct gnn_queue *tables, *partials, *inputs, *graphs; /* tables: with table_stage alone */
};

/* ---- one step of each stage ---- */

static enum gnn_status read_table(struct epoch *e, uint32_t k, struct diskgnn_table_slot **out, struct gnn_err *err)
{
    void *table;
    GNN_TRY(gnn_queue_pop(e->free_tables, &table));
    *out = table;
    return diskgnn_load_table(e->s, e->s->order[k], *out, err);
}

static enum gnn_status load_graph(struct epoch *e, uint32_t k, struct diskgnn_graph *graph, struct gnn_err *err)
{
    GNN_TRY(diskgnn_load_graph(e->s, e->number, e->s->order[k], graph, err));
    if (e->s->env->workload->sample_only)
        return GNN_OK;
    return gnn_train_input_stage(&graph->input, GRAPH_LANE, &graph->view, NULL, err);
}

/* Trains a graph sample on its rows; both are free afterwards. */
static enum gnn_status train_one(struct diskgnn *s, struct diskgnn_graph *graph, struct diskgnn_input *input,
                                 struct gnn_err *err)
{
    const gnn_real *none;
    assert(graph->view.batch == input->batch);
    assert(graph->view.node_count == input->nodes);
    GNN_TRY(gnn_train_input_use(&graph->input, &graph->view, &none, err));
    diskgnn_assemble_rest(s, input);
    const enum gnn_status status = gnn_training_step_on(&s->training, &graph->view, &graph->input, input->x.data, err);
    gnn_train_input_end(&graph->input);
    return status;
}

/* ---- stages ---- */

static enum gnn_status table_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    for (uint32_t k = 0; k < e->batches; k++) {
        struct diskgnn_table_slot *table = NULL;
        GNN_TRY(gnn_check_stop(e->s->env, err));
        GNN_TRY(read_table(e, k, &table, err));
        GNN_TRY(gnn_queue_push(e->tables, table));
        worker->items++;
    }
    return GNN_OK;
}

static enum gnn_status load_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    for (uint32_t k = 0; k < e->batches; k++) {
        void *table = NULL, *popped;
        struct diskgnn_table_slot *read = NULL;
        GNN_TRY(gnn_check_stop(e->s->env, err));
        if (e->tables != NULL)
            GNN_TRY(gnn_queue_pop(e->tables, &table));
        else
            GNN_TRY(read_table(e, k, &read, err));
        GNN_TRY(gnn_queue_pop(e->free_partials, &popped));
        struct diskgnn_partial *const partial = popped;
        partial->table = e->tables != NULL ? table : read;
        GNN_TRY(diskgnn_load_partial(e->s, partial, err));
        GNN_TRY(gnn_queue_push(e->partials, partial));
        worker->items++;
    }
    gnn_team_done(e->s->team);
    return GNN_OK;
}

static enum gnn_status assemble_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    for (uint32_t k = 0; k < e->batches; k++) {
        void *partial, *input;
        bool released;
        GNN_TRY(gnn_check_stop(e->s->env, err));
        GNN_TRY(gnn_queue_pop(e->partials, &partial));
        GNN_TRY(gnn_queue_pop(e->free_inputs, &input));
        GNN_TRY(diskgnn_assemble(e->s, partial, input, &released, err));
        GNN_TRY(gnn_queue_push(e->free_tables, ((struct diskgnn_partial *)partial)->table));
        if (released)
            GNN_TRY(gnn_queue_push(e->free_partials, partial));
        GNN_TRY(gnn_queue_push(e->inputs, input));
        worker->items++;
    }
    return GNN_OK;
}

static enum gnn_status graph_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    for (uint32_t k = 0; k < e->batches; k++) {
        void *graph;
        GNN_TRY(gnn_check_stop(e->s->env, err));
        GNN_TRY(gnn_queue_pop(e->free_graphs, &graph));
        GNN_TRY(load_graph(e, k, graph, err));
        GNN_TRY(gnn_queue_push(e->graphs, graph));
        worker->items++;
    }
    return GNN_OK;
}

static enum gnn_status train_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    for (uint32_t k = 0; k < e->batches; k++) {
        void *graph, *popped;
        GNN_TRY(gnn_check_stop(e->s->env, err));
        GNN_TRY(gnn_queue_pop(e->graphs, &graph));
        GNN_TRY(gnn_queue_pop(e->inputs, &popped));
        struct diskgnn_input *const input = popped;
        struct diskgnn_partial *const kept = input->partial;
        GNN_TRY(train_one(e->s, graph, input, err));
        if (kept != NULL)
            GNN_TRY(gnn_queue_push(e->free_partials, kept));
        GNN_TRY(gnn_queue_push(e->free_inputs, input));
        GNN_TRY(gnn_queue_push(e->free_graphs, graph));
        worker->items++;
    }
    return GNN_OK;
}

/* Adds the time since *since_ns to a part of the epoch, and begins the next one. */
static void add_part(struct diskgnn *s, uint64_t *since_ns, uint64_t *part_ns)
{
    const uint64_t now_ns = gnn_observed_ns(s->env->world);
    *part_ns += now_ns - *since_ns;
    *since_ns = now_ns;
}

/* The steps of mini-batch order[k], one after another. */
static enum gnn_status train_sequentially(struct epoch *e, uint32_t k, struct gnn_err *err)
{
    struct diskgnn *const s = e->s;
    struct diskgnn_partial *const partial = &s->partials[0];
    struct diskgnn_parts *const parts = &s->counters.parts;
    uint64_t since_ns = gnn_observed_ns(s->env->world);
    bool released;
    GNN_TRY(diskgnn_load_table(s, s->order[k], partial->table, err));
    GNN_TRY(diskgnn_load_partial(s, partial, err));
    add_part(s, &since_ns, &parts->load_ns);
    GNN_TRY(diskgnn_assemble(s, partial, &s->inputs[0], &released, err));
    add_part(s, &since_ns, &parts->assemble_ns);
    GNN_TRY(load_graph(e, k, &s->graphs[0], err));
    add_part(s, &since_ns, &parts->graph_ns);
    GNN_TRY(train_one(s, &s->graphs[0], &s->inputs[0], err));
    add_part(s, &since_ns, &parts->train_ns);
    return GNN_OK;
}

/* pipeline=false: the same steps one after another. */
static enum gnn_status sequential_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    struct diskgnn *const s = e->s;
    s->partials[0].table = &s->table_slots[0];
    for (uint32_t k = 0; k < e->batches; k++) {
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(train_sequentially(e, k, err));
        worker->items++;
    }
    gnn_team_done(s->team);
    return GNN_OK;
}

/* --sample-only: the graph samples are read, and dropped. */
static enum gnn_status sample_only_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    for (uint32_t k = 0; k < e->batches; k++) {
        GNN_TRY(gnn_check_stop(e->s->env, err));
        GNN_TRY(load_graph(e, k, &e->s->graphs[0], err));
        worker->items++;
    }
    return GNN_OK;
}

/* ---- the pipeline ---- */

/* A queue without an end that holds every slot of a kind: `slots` of them, `bytes` apart. */
static enum gnn_status open_free(struct gnn_pipeline *pipeline, const char *name, void *slots, uint32_t count,
                                 size_t bytes, struct gnn_queue **out, struct gnn_err *err)
{
    GNN_TRY(gnn_pipeline_queue(pipeline, name, count, out, err));
    for (uint32_t i = 0; i < count; i++)
        GNN_TRY(gnn_queue_push(*out, (unsigned char *)slots + i * bytes));
    return GNN_OK;
}

static enum gnn_status open_queues(struct epoch *e, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct diskgnn *const s = e->s;
    const uint32_t depth = s->config->queue;
    GNN_TRY(open_free(pipeline, "free tables", s->table_slots, s->slots.tables, sizeof *s->table_slots, &e->free_tables,
                      err));
    GNN_TRY(open_free(pipeline, "free partial inputs", s->partials, s->slots.partials, sizeof *s->partials,
                      &e->free_partials, err));
    GNN_TRY(open_free(pipeline, "free inputs", s->inputs, s->slots.inputs, sizeof *s->inputs, &e->free_inputs, err));
    GNN_TRY(open_free(pipeline, "free graphs", s->graphs, s->slots.graphs, sizeof *s->graphs, &e->free_graphs, err));
    if (s->config->table_stage)
        GNN_TRY(gnn_pipeline_queue(pipeline, "tables", depth, &e->tables, err));
    GNN_TRY(gnn_pipeline_queue(pipeline, "partial inputs", depth, &e->partials, err));
    GNN_TRY(gnn_pipeline_queue(pipeline, "inputs", depth, &e->inputs, err));
    return gnn_pipeline_queue(pipeline, "graphs", depth, &e->graphs, err);
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    struct diskgnn *const s = e->s;
    if (s->env->workload->sample_only)
        return gnn_pipeline_stage(pipeline, "graph", 1, sample_only_stage, e, err);
    GNN_TRY(gnn_team_stage(s->team, pipeline, "pages", err));
    if (!s->config->pipeline)
        return gnn_pipeline_stage(pipeline, "sequential", 1, sequential_stage, e, err);
    GNN_TRY(open_queues(e, pipeline, err));
    if (s->config->table_stage)
        GNN_TRY(gnn_pipeline_stage(pipeline, "table", 1, table_stage, e, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "load", 1, load_stage, e, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "assemble", 1, assemble_stage, e, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "graph", 1, graph_stage, e, err));
    return gnn_pipeline_stage(pipeline, "train", 1, train_stage, e, err);
}

/* ---- figures ---- */

/* I/O amplification of the rows that the disk serves: what was read over what was wanted. */
static uint64_t amplification_permille(const struct diskgnn *s)
{
    const struct diskgnn_counters *const c = &s->counters;
    const uint64_t wanted = c->shared_rows + c->packed_rows;
    const uint64_t read = c->packed_rows + s->layout.rows.per_page * c->page_reads;
    return wanted == 0 ? 1000 : read * 1000 / wanted;
}

static void report_preparation(struct diskgnn *s, struct gnn_epoch_result *out)
{
    const bool first = !s->preparation_reported;
    /* the caches are filled when the system opens: what comes in before the first epoch is told beside rows_read */
    gnn_epoch_figure(out, "open_rows", first ? (uint64_t)s->layout.gpu_rows + s->layout.cpu_rows : 0);
    gnn_epoch_figure(out, "draw_prepare_ns", first ? s->sampled.prepare_ns : 0);
    gnn_epoch_figure(out, "search_prepare_ns", first ? s->layout.search_ns : 0);
    gnn_epoch_figure(out, "place_prepare_ns", first ? s->layout.place_ns : 0);
    gnn_epoch_figure(out, "pack_prepare_ns", first ? s->layout.pack_ns : 0);
    gnn_epoch_figure(out, "pack_read_prepare_ns", first ? s->layout.pack_read_ns : 0);
    gnn_epoch_figure(out, "pack_read_prepare_bytes", first ? s->layout.pack_read_bytes : 0);
    gnn_epoch_figure(out, "pack_written_prepare_bytes", first ? s->layout.pack_written_bytes : 0);
    gnn_epoch_figure(out, "pack_kept_prepare_rows", first ? s->layout.pack_kept_rows : 0);
    s->preparation_reported = true;
}

static void report_levels(const struct diskgnn *s, struct gnn_epoch_result *out)
{
    const struct diskgnn_counters *const c = &s->counters;
    const uint64_t cached = (uint64_t)s->layout.gpu_rows + s->layout.cpu_rows;
    gnn_epoch_figure(out, "gpu_cache_hits", c->gpu_rows);
    gnn_epoch_figure(out, "cpu_cache_hits", c->cpu_rows);
    gnn_epoch_figure(out, "disk_cache_rows", c->shared_rows);
    gnn_epoch_figure(out, "packed_rows", c->packed_rows);
    gnn_epoch_figure(out, "disk_cache_pages", c->page_reads);
    gnn_epoch_figure(out, "disk_cache_read_bytes", c->page_bytes);
    gnn_epoch_figure(out, "chunk_read_bytes", c->chunk_bytes);
    gnn_epoch_figure(out, "table_read_bytes", c->table_bytes);
    gnn_epoch_size(out, "amplification_permille", amplification_permille(s));
    gnn_epoch_size(out, "gpu_cache_slots", s->layout.gpu_rows);
    gnn_epoch_size(out, "cpu_cache_slots", s->layout.cpu_rows);
    gnn_epoch_size(out, "cache_permille", cached * 1000 / s->env->dataset->node_count);
    gnn_epoch_size(out, "segment_batches", s->layout.segment);
    gnn_epoch_size(out, "disk_rows_limit", s->layout.disk_rows);
    gnn_epoch_size(out, "found_segment", s->layout.found_segment);
    gnn_epoch_size(out, "found_disk_rows", s->layout.found_disk_rows);
    gnn_epoch_size(out, "placed_bytes", s->layout.tables_bytes + s->layout.chunks_bytes + s->layout.disk_bytes);
}

static void report_parts(const struct diskgnn *s, struct gnn_epoch_result *out)
{
    const struct diskgnn_parts *const parts = &s->counters.parts;
    if (s->config->pipeline)
        return;
    gnn_epoch_figure(out, "sequential_load_ns", parts->load_ns);
    gnn_epoch_figure(out, "sequential_assemble_ns", parts->assemble_ns);
    gnn_epoch_figure(out, "sequential_graph_ns", parts->graph_ns);
    gnn_epoch_figure(out, "sequential_train_ns", parts->train_ns);
}

static void report(struct diskgnn *s, struct gnn_epoch_result *out)
{
    const struct diskgnn_counters *const c = &s->counters;
    const struct gnn_dataset *const d = s->env->dataset;
    struct gnn_counters *const counters = &out->counters;
    counters->sample = c->sample;
    counters->needed_bytes = c->sample.sampled_edges * d->id_bytes;
    counters->requested_bytes = c->sample_bytes + c->table_bytes + c->chunk_bytes + c->page_bytes;
    counters->requested_ios = c->sample_reads + c->table_reads + c->chunk_reads + c->page_reads;
    counters->prepare_disk_bytes = diskgnn_prepared_bytes(&s->sampled, &s->layout);
    gnn_epoch_figure(out, "sample_read_bytes", c->sample_bytes);
    report_preparation(s, out);
    if (s->env->workload->sample_only)
        return;
    const uint64_t read = c->shared_rows + c->packed_rows, hit = c->gpu_rows + c->cpu_rows;
    counters->needed_bytes += (hit + read) * d->row_bytes;
    counters->rows_asked = hit + read;
    counters->rows_read = read;
    counters->cache_hits = hit;
    counters->cache_misses = read;
    report_levels(s, out);
    report_parts(s, out);
    diskgnn_report_batches(s, out);
    gnn_training_result(&s->training, out);
}

/* ---- an epoch ---- */

/* The order of an epoch: as drawn in the epoch they were drawn for, else a permutation keyed by (seed, epoch). */
static void order_batches(struct diskgnn *s, uint64_t epoch, uint32_t batches)
{
    for (uint32_t k = 0; k < batches; k++)
        s->order[k] = k;
    if (epoch == s->sampled.epoch)
        return;
    const uint64_t key = gnn_rng_fork(s->env->workload->seed, "order of prepared batches");
    gnn_epoch_order(key, epoch, s->order, batches, s->order);
}

/* Forgets what the page cache has of the prepared files, for option drop_cache. */
static enum gnn_status drop_cache(const struct diskgnn *s, struct gnn_err *err)
{
    struct gnn_file *const files[] = {s->samples, s->tables, s->layout.chunks, s->layout.disk};
    for (size_t i = 0; s->config->drop_cache && i < sizeof files / sizeof *files; i++)
        if (files[i] != NULL)
            GNN_TRY(gnn_file_evict(s->env->world, files[i], err));
    return GNN_OK;
}

enum gnn_status diskgnn_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct diskgnn *const s = state;
    struct epoch e = {.s = s, .number = epoch, .batches = gnn_epoch_batches(s->env)};
    const uint64_t start_ns = gnn_now_ns(s->env->world);
    bool prepared;
    GNN_TRY(diskgnn_prepare(s, epoch, &prepared, err));
    if (prepared) {
        out->prepare_ns = gnn_now_ns(s->env->world) - start_ns;
        s->preparation_reported = false;
    }
    GNN_TRY(drop_cache(s, err));
    order_batches(s, epoch, e.batches);
    s->counters = (struct diskgnn_counters){.gpu_rows = 0};
    if (!s->env->workload->sample_only)
        gnn_training_begin(&s->training);
    const enum gnn_status status = gnn_epoch_run(s->env, add_stages, &e, out, err);
    if (status != GNN_OK && s->env->tensor != NULL)
        s->env->tensor->ops->synchronize(s->env->tensor); /* a gather may be reading what the next epoch fills */
    report(s, out);
    return status;
}

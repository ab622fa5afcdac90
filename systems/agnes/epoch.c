/* AGNES' epoch: rounds of hyperbatches (AGNES, KDD 2026, section 3.3; specs/agnes.md section 3, "Schedule").
 *
 *   overlap=round    { sample h | gather h - 1 }, then train h - 1, then the next round
 *   overlap=full     train h - 1 | gather h | sample h + 1
 *
 * Stages are drivers with their workers: sample (1 + W), gather (1 + W), spill (1, spill=async), assemble (1) and train
 * (1). A gate counts the hyperbatches that each has finished; who may begin which is one comparison each. The gate's
 * order is that of the chain sample -> gather -> train, so nothing can wait in a circle. */
#include "systems/agnes/agnes.h"

#include <inttypes.h>

/* ---- the gate ---- */

static enum gnn_status gate_wait(struct agnes *s, const uint32_t *passed, int64_t wanted)
{
    struct gnn_world *const world = s->env->world;
    struct agnes_gate *const gate = &s->gate;
    gnn_mutex_lock(world, gate->mutex);
    while (!gate->cancelled && (int64_t)*passed < wanted)
        (void)gnn_cond_wait(world, gate->cond, gate->mutex, GNN_NO_DEADLINE, GNN_WAIT_QUEUE);
    const bool cancelled = gate->cancelled;
    gnn_mutex_unlock(world, gate->mutex);
    return cancelled ? GNN_ECANCELLED : GNN_OK;
}

static void gate_pass(struct agnes *s, uint32_t *passed)
{
    gnn_mutex_lock(s->env->world, s->gate.mutex);
    ++*passed;
    gnn_cond_broadcast(s->env->world, s->gate.cond);
    gnn_mutex_unlock(s->env->world, s->gate.mutex);
}

/* Hyperbatches that may be trained later than their successors' sampling or gathering begins. */
static int64_t slack(const struct agnes *s)
{
    return s->config->overlap == AGNES_OVERLAP_FULL ? 1 : 0;
}

/* ---- stages ---- */

static enum gnn_status sample_all(struct agnes *s, struct gnn_worker *worker, struct gnn_err *err)
{
    for (uint32_t h = 0; h < s->hyperbatches; h++) {
        GNN_TRY(gate_wait(s, &s->gate.trained, (int64_t)h - 1 - slack(s)));
        GNN_TRY(agnes_sample(s, h, err));
        struct agnes_hyperbatch *const hb = &s->contexts[h % s->sizes.contexts];
        worker->items += hb->count;
        if (s->env->workload->sample_only) {
            agnes_hyperbatch_clear(s, hb);
            gate_pass(s, &s->gate.trained);
        }
        gate_pass(s, &s->gate.sampled);
    }
    return GNN_OK;
}

static enum gnn_status sample_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct agnes *const s = ctx;
    GNN_TRY(sample_all(s, worker, err));
    gnn_team_done(s->sampling.team);
    return GNN_OK;
}

static enum gnn_status sample_work(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    return gnn_team_work(((struct agnes *)ctx)->sampling.team, worker, err);
}

static enum gnn_status gather_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct agnes *const s = ctx;
    for (uint32_t h = 0; h < s->hyperbatches; h++) {
        GNN_TRY(gate_wait(s, &s->gate.sampled, (int64_t)h + 1));
        GNN_TRY(gate_wait(s, &s->gate.trained, (int64_t)h - slack(s)));
        GNN_TRY(agnes_gather(s, h, err));
        worker->items += s->contexts[h % s->sizes.contexts].count;
        gate_pass(s, &s->gate.gathered);
    }
    gnn_team_done(s->gathering.team);
    if (s->gathering.full != NULL)
        gnn_queue_done(s->gathering.full);
    return GNN_OK;
}

static enum gnn_status gather_work(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    return gnn_team_work(((struct agnes *)ctx)->gathering.team, worker, err);
}

static enum gnn_status spill_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    return agnes_spill_writer(ctx, &worker->items, err);
}

static enum gnn_status assemble_batches(struct agnes *s, uint32_t h, struct gnn_reader *spool,
                                        struct gnn_worker *worker, struct gnn_err *err)
{
    const uint32_t count = s->contexts[h % s->sizes.contexts].count;
    for (uint32_t j = 0; j < count; j++) {
        void *popped;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(gnn_queue_pop(s->free_items, &popped));
        struct agnes_item *const item = popped;
        GNN_TRY(agnes_assemble(s, h, j, spool, item, err));
        item->last = j + 1 == count;
        GNN_TRY(gnn_queue_push(s->assembled, item));
        worker->items++;
    }
    return GNN_OK;
}

static enum gnn_status assemble_hyperbatch(struct agnes *s, uint32_t h, struct gnn_worker *worker, struct gnn_err *err)
{
    struct gnn_file *const file = gnn_stream_file_handle(s->contexts[h % s->sizes.contexts].spool);
    const struct gnn_reader_config config = {
        .engine = s->env->io_engine, .depth = s->config->depth, .files = &file, .file_count = 1};
    struct gnn_reader *spool = NULL;
    GNN_TRY(gnn_reader_open(s->env->world, &config, &spool, err));
    const enum gnn_status status = assemble_batches(s, h, spool, worker, err);
    gnn_reader_close(spool);
    return status;
}

static enum gnn_status assemble_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct agnes *const s = ctx;
    for (uint32_t h = 0; h < s->hyperbatches; h++) {
        GNN_TRY(gate_wait(s, &s->gate.gathered, (int64_t)h + 1));
        if (slack(s) == 0) /* the round's other half */
            GNN_TRY(gate_wait(s, &s->gate.sampled, h + 2 < s->hyperbatches ? h + 2 : s->hyperbatches));
        GNN_TRY(assemble_hyperbatch(s, h, worker, err));
        agnes_hyperbatch_clear(s, &s->contexts[h % s->sizes.contexts]);
        GNN_TRY(gate_wait(s, &s->gate.stepped, (int64_t)h + 1));
        gate_pass(s, &s->gate.trained);
    }
    gnn_queue_done(s->assembled);
    return GNN_OK;
}

static enum gnn_status train(struct agnes *s, const struct agnes_item *item, struct gnn_err *err)
{
    s->trained_rows += item->view.node_count;
    return gnn_training_step(&s->training, &item->view, &item->rows, err);
}

static enum gnn_status train_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct agnes *const s = ctx;
    for (;;) {
        void *popped;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(gnn_queue_pop(s->assembled, &popped));
        if (popped == NULL)
            return GNN_OK;
        const bool last = ((const struct agnes_item *)popped)->last;
        GNN_TRY(train(s, popped, err));
        worker->items++;
        GNN_TRY(gnn_queue_push(s->free_items, popped));
        if (last)
            gate_pass(s, &s->gate.stepped);
    }
}

/* ---- the pipeline of an epoch ---- */

static void cancel(void *target)
{
    struct agnes *const s = target;
    struct gnn_world *const world = s->env->world;
    gnn_team_cancel(s->sampling.team);
    gnn_team_cancel(s->gathering.team);
    if (s->gathering.full != NULL)
        gnn_queue_cancel(s->gathering.full);
    for (uint32_t i = 0; i < s->sizes.gathers; i++)
        if (s->gathered[i].spare != NULL)
            gnn_queue_cancel(s->gathered[i].spare);
    if (s->free_items != NULL)
        gnn_queue_cancel(s->free_items);
    if (s->assembled != NULL)
        gnn_queue_cancel(s->assembled);
    gnn_mutex_lock(world, s->gate.mutex);
    s->gate.cancelled = true;
    gnn_cond_broadcast(world, s->gate.cond);
    gnn_mutex_unlock(world, s->gate.mutex);
}

static enum gnn_status open_queues(struct agnes *s, struct gnn_err *err)
{
    struct gnn_world *const world = s->env->world;
    s->gate = (struct agnes_gate){.sampled = 0};
    GNN_TRY(gnn_mutex_open(world, &s->gate.mutex, err));
    GNN_TRY(gnn_cond_open(world, &s->gate.cond, err));
    gnn_team_begin(s->sampling.team);
    if (s->env->workload->sample_only)
        return GNN_OK;
    gnn_team_begin(s->gathering.team);
    if (s->config->spill == AGNES_SPILL_ASYNC) {
        GNN_TRY(gnn_queue_open(world, "agnes full staging buffers", 0, &s->gathering.full, err));
        gnn_queue_producers(s->gathering.full, 1);
        for (uint32_t i = 0; i < s->sizes.gathers; i++)
            GNN_TRY(gnn_queue_open(world, "agnes spare staging buffers", 0, &s->gathered[i].spare, err));
    }
    GNN_TRY(gnn_queue_open(world, "agnes inputs", AGNES_INPUTS, &s->free_items, err));
    for (uint32_t i = 0; i < AGNES_INPUTS; i++)
        GNN_TRY(gnn_queue_push(s->free_items, &s->items[i]));
    GNN_TRY(gnn_queue_open(world, "agnes assembled", AGNES_INPUTS, &s->assembled, err));
    gnn_queue_producers(s->assembled, 1);
    return GNN_OK;
}

static void close_queues(struct agnes *s)
{
    gnn_queue_close(s->assembled);
    gnn_queue_close(s->free_items);
    gnn_queue_close(s->gathering.full);
    for (uint32_t i = 0; i < s->sizes.gathers; i++) {
        gnn_queue_close(s->gathered[i].spare);
        s->gathered[i].spare = NULL;
    }
    s->assembled = s->free_items = s->gathering.full = NULL;
    gnn_cond_close(s->env->world, s->gate.cond);
    gnn_mutex_close(s->env->world, s->gate.mutex);
    s->gate = (struct agnes_gate){.sampled = 0};
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct agnes *const s = ctx;
    const uint32_t workers = s->config->workers;
    GNN_TRY(open_queues(s, err));
    GNN_TRY(gnn_pipeline_on_cancel(pipeline, cancel, s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "sample", 1, sample_stage, s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "sample-work", workers, sample_work, s, err));
    if (s->env->workload->sample_only)
        return GNN_OK;
    GNN_TRY(gnn_pipeline_stage(pipeline, "gather", 1, gather_stage, s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "gather-work", workers, gather_work, s, err));
    if (s->config->spill == AGNES_SPILL_ASYNC)
        GNN_TRY(gnn_pipeline_stage(pipeline, "spill", 1, spill_stage, s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "assemble", 1, assemble_stage, s, err));
    return gnn_pipeline_stage(pipeline, "train", 1, train_stage, s, err);
}

/* ---- figures ---- */

static void sum_samples(const struct agnes *s, struct gnn_sample_counters *out)
{
    for (uint32_t w = 0; w < s->config->workers; w++) {
        const struct gnn_sample_counters *const lane = &s->sampling.lanes[w].counters;
        out->batches += lane->batches;
        out->sampled_nodes += lane->sampled_nodes;
        out->sampled_edges += lane->sampled_edges;
        out->batch_digest += lane->batch_digest;
    }
}

/* Of the CPU time of all stages, what went into building buckets. */
static uint64_t bucket_permille(const struct agnes *s, const struct gnn_epoch_result *out)
{
    const uint64_t built_ns = s->sampling.bucket.built_ns + s->gathering.bucket.built_ns;
    uint64_t cpu_ns = 0;
    for (uint32_t i = 0; i < out->stage_count; i++)
        cpu_ns += out->stages[i].cpu_ns;
    return cpu_ns > 0 ? built_ns * 1000 / cpu_ns : GNN_UNKNOWN;
}

static void add_io(const struct agnes *s, struct gnn_epoch_result *out)
{
    const struct agnes_gathering *const y = &s->gathering;
    const struct agnes_pump *const graph = &s->sampling.pump, *const features = &y->pump;
    struct gnn_counters *const c = &out->counters;
    c->requested_ios = graph->reads + features->reads + s->spool_reads + s->spill_reads;
    c->requested_bytes = graph->read_bytes + features->read_bytes + s->spool_read_bytes + s->spill_read_bytes;
    c->cache_evictions = agnes_frames_evictions(graph->frames) - s->evictions_before;
    gnn_epoch_figure(out, "hyperbatches", s->hyperbatches);
    gnn_epoch_figure(out, "hyperbatch_size", s->sizes.hyperbatch);
    gnn_epoch_figure(out, "block_bytes", s->sizes.block_bytes);
    gnn_epoch_figure(out, "graph_frames", s->sizes.graph_frames);
    gnn_epoch_figure(out, "graph_block_reads", graph->reads);
    gnn_epoch_figure(out, "graph_block_hits", graph->hits);
    gnn_epoch_figure(out, "bucket_entries", s->sampling.bucket.built_entries + y->bucket.built_entries);
    gnn_epoch_figure(out, "bucket_ns", s->sampling.bucket.built_ns + y->bucket.built_ns);
    gnn_epoch_figure(out, "bucket_cpu_permille", bucket_permille(s, out));
    if (s->env->workload->sample_only)
        return;
    const uint64_t spilled = atomic_load(&y->spilled_rows);
    c->cache_misses = spilled;
    c->cache_hits = s->trained_rows > spilled ? s->trained_rows - spilled : 0;
    gnn_epoch_figure(out, "cache_rows", s->sizes.cache_rows);
    gnn_epoch_figure(out, "feature_block_reads", features->reads);
    gnn_epoch_figure(out, "cached_rows", atomic_load(&y->cached_rows));
    gnn_epoch_figure(out, "spill_write_bytes", atomic_load(&y->spill_write_bytes));
    gnn_epoch_figure(out, "spill_read_bytes", s->spill_read_bytes);
    gnn_epoch_figure(out, "spool_write_bytes", s->spool_write_bytes);
    gnn_epoch_figure(out, "spool_read_bytes", s->spool_read_bytes);
}

static void fill_result(struct agnes *s, struct gnn_epoch_result *out)
{
    struct gnn_counters *const c = &out->counters;
    sum_samples(s, &c->sample);
    c->needed_bytes = c->sample.sampled_edges * sizeof(gnn_node) + s->trained_rows * s->env->dataset->row_bytes;
    if (!s->env->workload->sample_only)
        gnn_training_result(&s->training, out);
    add_io(s, out);
    c->prepare_disk_bytes = s->files.written_bytes;
    out->prepare_ns = s->told_preparation ? 0 : s->files.prepare_ns; /* before the first epoch */
    s->told_preparation = true;
}

/* ---- an epoch ---- */

static void begin(struct agnes *s, uint64_t epoch)
{
    const uint32_t h = s->sizes.hyperbatch;
    s->epoch = epoch;
    s->hyperbatches = s->sizes.batches / h + (s->sizes.batches % h != 0);
    gnn_epoch_order(s->env->workload->seed, epoch, s->train, s->env->dataset->train.count, s->order);
    for (uint32_t w = 0; w < s->config->workers; w++)
        s->sampling.lanes[w].counters = (struct gnn_sample_counters){0};
    agnes_pump_begin(&s->sampling.pump);
    s->evictions_before = agnes_frames_evictions(s->sampling.pump.frames);
    s->sampling.bucket.built_entries = s->sampling.bucket.built_ns = 0;
    s->trained_rows = s->spool_write_bytes = s->spool_writes = s->spool_read_bytes = s->spool_reads = 0;
    s->spill_reads = s->spill_read_bytes = 0;
    if (s->env->workload->sample_only)
        return;
    gnn_training_begin(&s->training);
    agnes_pump_begin(&s->gathering.pump);
    s->gathering.bucket.built_entries = s->gathering.bucket.built_ns = 0;
    atomic_store(&s->gathering.spill_writes, 0);
    atomic_store(&s->gathering.spill_write_bytes, 0);
    atomic_store(&s->gathering.cached_rows, 0);
    atomic_store(&s->gathering.spilled_rows, 0);
}

/* However the epoch ended, nothing of it stays. */
static void settle(struct agnes *s, enum gnn_status status)
{
    for (uint32_t c = 0; c < s->sizes.contexts; c++)
        agnes_hyperbatch_clear(s, &s->contexts[c]);
    if (status != GNN_OK)
        agnes_frames_clear(s->sampling.pump.frames); /* a read that failed may have left its frame */
    assert(agnes_frames_pinned(s->sampling.pump.frames) == 0);
}

enum gnn_status agnes_epoch(struct agnes *s, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    begin(s, epoch);
    const enum gnn_status status = gnn_epoch_run(s->env, add_stages, s, out, err);
    close_queues(s);
    fill_result(s, out);
    settle(s, status);
    return status;
}

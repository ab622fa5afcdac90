/* SPDX-License-Identifier: MIT */
/* AGNES' epoch: rounds of hyperbatches (AGNES, KDD 2026, section 3.3, Figure 5; schedule of the released code).
 *
 *   overlap=round    { sample h | gather h - 1 }, then train h - 1, then the next round
 *   overlap=full     train h - 1 | gather h | sample h + 1
 *   overlap=epochs   the same, and over the epoch's end: its last hyperbatch trains beside the next epoch's first
 *
 * Stages are drivers with their workers: sample (1 + W), gather (1 + W), spill (W, spill=async), assemble (1) and
 * train (1). The progress counts the hyperbatches that have passed each since the run began; whether a stage may begin
 * its next one follows from these counts. A stage waits for its own hyperbatch in earlier stages and for earlier
 * hyperbatches in later ones, so nothing waits in a circle. */
#include "systems/agnes/agnes.h"

#include "systems/agnes/rows.h"
#include "systems/agnes/stages.h"

/* How many hyperbatches have passed each stage. */
enum passed {
    SAMPLED,
    GATHERED,
    STEPPED, /* the last mini-batch was trained */
    TRAINED, /* and its lists, spool and rows are free */
    COUNTS
};

/* A hyperbatch among the mini-batches of its epoch; zeroed: before the first. */
struct cut {
    uint32_t first, count;
    uint32_t size; /* it would have with more mini-batches left */
};

struct epoch {
    struct agnes *agnes;
    const struct gnn_env *env;
    uint64_t number;
    uint64_t first;        /* number in the run of this epoch's first hyperbatch */
    uint32_t gathered;     /* 1: by the epoch before */
    uint32_t hyperbatches; /* of the epoch */
    uint32_t next;         /* 1: of the next epoch, sampled and gathered in this one */
    uint32_t ahead;        /* hyperbatches that sampling and gathering may run ahead of training, besides their own */
    struct gnn_progress *progress;
    struct agnes_counts counts;     /* of the hyperbatches that are this epoch's */
    struct cut cut;                 /* of the hyperbatch that was sampled last: the sampling stage's */
    struct gnn_queue *full_buffers; /* spill=async: staging buffers to write */
    struct gnn_queue *free_inputs, *assembled;
    uint64_t trained_rows, spool_write_bytes, spool_writes;
};

static struct agnes_hyperbatch *hyperbatch_of(const struct epoch *e, uint32_t h)
{
    assert(h < e->hyperbatches + e->next);
    return &e->agnes->hyperbatches[(e->first + h) % e->agnes->setup.sizes.alive];
}

static const struct agnes_row_set *rows_of(const struct epoch *e, uint32_t h)
{
    return &e->agnes->row_sets[(e->first + h) % e->agnes->setup.sizes.row_sets];
}

/* Sleeps until so many hyperbatches of the epoch have passed a stage. */
static enum gnn_status wait_passed(const struct epoch *e, enum passed stage, int64_t hyperbatches)
{
    return gnn_progress_wait(e->progress, stage, (int64_t)e->first + hyperbatches);
}

/* Moves to the next hyperbatch of the epoch: H mini-batches, and at the end what is left; none behind the last. Where
 * training waits for the first hyperbatch, that one has fewer (agnes.first) and each next one twice as many as the one
 * before up to H, and what remains is cut evenly, so that the last is no small one either: the next epoch's is gathered
 * beside it. */
static void next_cut(const struct epoch *e, struct cut *cut)
{
    const struct agnes_sizes *const sizes = &e->agnes->setup.sizes;
    const bool grows = e->gathered == 0 && sizes->first < sizes->hyperbatch;
    const uint64_t size = !grows ? sizes->hyperbatch : cut->size == 0 ? sizes->first : 2 * (uint64_t)cut->size;
    cut->first += cut->count;
    cut->size = (uint32_t)gnn_min_u64(size, sizes->hyperbatch);
    const uint32_t left = sizes->batches - cut->first;
    cut->count = gnn_min_u32(cut->size, left);
    if (grows && left > 0)
        cut->count = gnn_min_u32(cut->count, (uint32_t)gnn_div_up(left, gnn_div_up(left, sizes->hyperbatch)));
}

static uint32_t count_hyperbatches(const struct epoch *e)
{
    struct cut cut = {.count = 0};
    uint32_t h = 0;
    for (next_cut(e, &cut); cut.count > 0; next_cut(e, &cut))
        h++;
    return h;
}

/* What hyperbatch h is counted in: the epoch that trains it. */
static struct agnes_counts *counts_of(struct epoch *e, uint32_t h)
{
    return h < e->hyperbatches ? &e->counts : &e->agnes->next_counts;
}

/* ---- sampling ---- */

/* Gives hyperbatch h its mini-batches; the one behind the last is the next epoch's first. */
static enum gnn_status begin_hyperbatch(struct epoch *e, uint32_t h, struct gnn_err *err)
{
    const struct agnes_sizes *const sizes = &e->agnes->setup.sizes;
    struct gnn_batch_order *const order = &e->agnes->order;
    if (h < e->hyperbatches) {
        next_cut(e, &e->cut);
        assert(e->cut.count > 0);
        return agnes_hyperbatch_begin(hyperbatch_of(e, h), e->number, e->cut.first, e->cut.count, order, err);
    }
    gnn_batch_order_begin(order, e->number + 1);
    const uint32_t count = gnn_min_u32(sizes->hyperbatch, sizes->batches);
    return agnes_hyperbatch_begin(hyperbatch_of(e, h), e->number + 1, 0, count, order, err);
}

static enum gnn_status sample_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    for (uint32_t h = e->gathered; h < e->hyperbatches + e->next; h++) {
        struct agnes_hyperbatch *const hyperbatch = hyperbatch_of(e, h);
        struct gnn_stream_file_counters written;
        GNN_TRY(wait_passed(e, TRAINED, (int64_t)h - 1 - e->ahead));
        GNN_TRY(begin_hyperbatch(e, h, err));
        GNN_TRY(agnes_sampling_run(e->agnes->sampling, hyperbatch, &counts_of(e, h)->samples, err));
        GNN_TRY(agnes_hyperbatch_seal(hyperbatch, &written, err));
        e->spool_write_bytes += written.written_bytes;
        e->spool_writes += written.writes;
        worker->items += hyperbatch->count;
        if (e->env->workload->sample_only) {
            agnes_hyperbatch_clear(hyperbatch);
            gnn_progress_add(e->progress, TRAINED);
        }
        gnn_progress_add(e->progress, SAMPLED);
    }
    gnn_team_done(e->agnes->sampling_team);
    return GNN_OK;
}

/* ---- gathering ---- */

static enum gnn_status gather_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    for (uint32_t h = e->gathered; h < e->hyperbatches + e->next; h++) {
        GNN_TRY(wait_passed(e, SAMPLED, (int64_t)h + 1));
        GNN_TRY(wait_passed(e, TRAINED, (int64_t)h - e->ahead));
        GNN_TRY(agnes_gathering_run(e->agnes->gathering, hyperbatch_of(e, h), rows_of(e, h),
                                    &counts_of(e, h)->spilled_rows, err));
        worker->items += hyperbatch_of(e, h)->count;
        gnn_progress_add(e->progress, GATHERED);
    }
    gnn_team_done(e->agnes->gathering_team);
    if (e->full_buffers != NULL)
        gnn_queue_done(e->full_buffers);
    return GNN_OK;
}

static enum gnn_status spill_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    return agnes_spill_writer(((struct epoch *)ctx)->full_buffers, &worker->items, err);
}

/* ---- training ---- */

static enum gnn_status assemble_batches(struct epoch *e, uint32_t h, struct gnn_reader *spool,
                                        struct gnn_worker *worker, struct gnn_err *err)
{
    const struct agnes_hyperbatch *const hyperbatch = hyperbatch_of(e, h);
    for (uint32_t j = 0; j < hyperbatch->count; j++) {
        void *popped;
        GNN_TRY(gnn_check_stop(e->env, err));
        GNN_TRY(gnn_queue_pop(e->free_inputs, &popped));
        struct agnes_input *const input = popped;
        GNN_TRY(agnes_assemble(e->agnes->assembly, hyperbatch, rows_of(e, h), j, spool, input, err));
        input->last = j + 1 == hyperbatch->count;
        GNN_TRY(gnn_queue_push(e->assembled, input));
        worker->items++;
    }
    return GNN_OK;
}

static enum gnn_status assemble_hyperbatch(struct epoch *e, uint32_t h, struct gnn_worker *worker, struct gnn_err *err)
{
    struct gnn_file *const file = gnn_stream_file_handle(hyperbatch_of(e, h)->spool);
    const struct gnn_reader_config config = {
        .engine = e->env->io_engine, .depth = e->agnes->setup.config->depth, .files = &file, .file_count = 1};
    struct gnn_reader *spool = NULL;
    GNN_TRY(gnn_reader_open(e->env->world, &config, &spool, err));
    const enum gnn_status status = assemble_batches(e, h, spool, worker, err);
    gnn_reader_close(spool);
    return status;
}

static enum gnn_status assemble_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    for (uint32_t h = 0; h < e->hyperbatches; h++) {
        GNN_TRY(wait_passed(e, GATHERED, (int64_t)h + 1));
        if (e->ahead == 0) /* the round's other half */
            GNN_TRY(wait_passed(e, SAMPLED, gnn_min_u32(h + 2, e->hyperbatches)));
        GNN_TRY(assemble_hyperbatch(e, h, worker, err));
        agnes_hyperbatch_clear(hyperbatch_of(e, h));
        GNN_TRY(wait_passed(e, STEPPED, (int64_t)h + 1));
        gnn_progress_add(e->progress, TRAINED);
    }
    gnn_queue_done(e->assembled);
    return GNN_OK;
}

static enum gnn_status train_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    for (;;) {
        void *popped;
        GNN_TRY(gnn_check_stop(e->env, err));
        GNN_TRY(gnn_queue_pop(e->assembled, &popped));
        if (popped == NULL)
            return GNN_OK;
        struct agnes_input *const input = popped;
        const bool last = input->last;
        e->trained_rows += input->view.node_count;
        GNN_TRY(gnn_training_step(&e->agnes->training, &input->view, &input->input, err));
        worker->items++;
        GNN_TRY(gnn_queue_push(e->free_inputs, popped));
        if (last)
            gnn_progress_add(e->progress, STEPPED);
    }
}

/* ---- the pipeline ---- */

static enum gnn_status open_queues(struct epoch *e, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct agnes *const agnes = e->agnes;
    if (agnes->setup.config->spill == AGNES_SPILL_ASYNC) {
        GNN_TRY(gnn_pipeline_queue(pipeline, "agnes full staging buffers", 0, &e->full_buffers, err));
        gnn_queue_producers(e->full_buffers, 1);
    }
    for (uint32_t i = 0; i < agnes->setup.sizes.row_sets; i++)
        GNN_TRY(agnes_spill_begin_epoch(agnes->row_sets[i].spill, pipeline, e->full_buffers, err));
    GNN_TRY(gnn_pipeline_queue(pipeline, "agnes inputs", AGNES_INPUTS, &e->free_inputs, err));
    for (uint32_t i = 0; i < AGNES_INPUTS; i++)
        GNN_TRY(gnn_queue_push(e->free_inputs, &agnes->assembly->inputs[i]));
    GNN_TRY(gnn_pipeline_queue(pipeline, "agnes assembled", AGNES_INPUTS, &e->assembled, err));
    gnn_queue_producers(e->assembled, 1);
    return GNN_OK;
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    GNN_TRY(gnn_progress_join(e->progress, pipeline, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "sample", 1, sample_stage, e, err));
    GNN_TRY(gnn_team_stage(e->agnes->sampling_team, pipeline, "sample-work", err));
    if (e->env->workload->sample_only)
        return GNN_OK;
    GNN_TRY(open_queues(e, pipeline, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "gather", 1, gather_stage, e, err));
    GNN_TRY(gnn_team_stage(e->agnes->gathering_team, pipeline, "gather-work", err));
    if (e->full_buffers != NULL) /* as many writes in flight as the workers would have */
        GNN_TRY(gnn_pipeline_stage(pipeline, "spill", e->agnes->setup.config->workers, spill_stage, e, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "assemble", 1, assemble_stage, e, err));
    return gnn_pipeline_stage(pipeline, "train", 1, train_stage, e, err);
}

/* ---- figures ---- */

/* Returns the share of building buckets in the CPU time of all stages. */
static uint64_t bucket_permille(const struct gnn_epoch_result *out, uint64_t bucket_ns)
{
    uint64_t cpu_ns = 0;
    for (uint32_t i = 0; i < out->stage_count; i++)
        cpu_ns += out->stages[i].cpu_ns;
    return cpu_ns > 0 ? bucket_ns * 1000 / cpu_ns : GNN_UNKNOWN;
}

struct gathered {
    struct agnes_stage_counters stage;
    uint64_t needed, cached; /* rows */
};

static void report_gathering(const struct epoch *e, const struct gathered *gathered, struct gnn_epoch_result *out)
{
    const struct agnes *const agnes = e->agnes;
    const struct agnes_assembly_counters *const assembly = &agnes->assembly->counters;
    struct gnn_counters *const counters = &out->counters;
    const struct agnes_block_counters *const blocks = &gathered->stage.blocks;
    uint64_t written_bytes = 0;
    for (uint32_t i = 0; i < agnes->setup.sizes.row_sets; i++)
        written_bytes += agnes_spill_written_bytes(agnes->row_sets[i].spill);
    counters->requested_ios += blocks->reads + assembly->spool_reads + assembly->spill_reads;
    counters->requested_bytes += blocks->read_bytes + assembly->spool_read_bytes + assembly->spill_read_bytes;
    counters->rows_asked = e->trained_rows;
    counters->rows_read = gathered->needed + (uint64_t)assembly->spill_reads * agnes->setup.sizes.rows;
    const uint64_t spilled = e->counts.spilled_rows;
    counters->cache_misses = spilled;
    counters->cache_hits = e->trained_rows > spilled ? e->trained_rows - spilled : 0;
    counters->requested_write_bytes = e->spool_write_bytes + written_bytes;
    counters->requested_write_ios = e->spool_writes + written_bytes / agnes->setup.sizes.block_bytes;
    gnn_epoch_figure(out, "cache_rows", agnes->setup.sizes.cache_rows);
    gnn_epoch_figure(out, "feature_block_reads", blocks->reads);
    gnn_epoch_figure(out, "cached_rows", gathered->cached);
    gnn_epoch_figure(out, "spill_write_bytes", written_bytes);
    gnn_epoch_figure(out, "spill_read_bytes", assembly->spill_read_bytes);
    gnn_epoch_figure(out, "spool_write_bytes", e->spool_write_bytes);
    gnn_epoch_figure(out, "spool_read_bytes", assembly->spool_read_bytes);
    gnn_training_result(&agnes->training, out);
}

static void report(const struct epoch *e, struct gnn_epoch_result *out)
{
    struct agnes *const agnes = e->agnes;
    struct gnn_counters *const counters = &out->counters;
    struct agnes_stage_counters sampling;
    struct gathered gathered = {.needed = 0};
    counters->sample = e->counts.samples;
    agnes_sampling_counters(agnes->sampling, &sampling);
    if (agnes->gathering != NULL)
        agnes_gathering_counters(agnes->gathering, &gathered.stage, &gathered.needed, &gathered.cached);
    const uint64_t bucket_ns = sampling.bucket_ns + gathered.stage.bucket_ns;
    counters->needed_bytes =
        counters->sample.sampled_edges * e->env->dataset->id_bytes + e->trained_rows * e->env->dataset->row_bytes;
    counters->requested_ios = sampling.blocks.reads;
    counters->requested_bytes = sampling.blocks.read_bytes;
    counters->cache_evictions = sampling.blocks.evictions;
    counters->prepare_disk_bytes = agnes->setup.files.disk_bytes;
    gnn_epoch_figure(out, "layout_prepare_ns", agnes->preparation_reported ? 0 : agnes->setup.files.prepare_ns);
    agnes->preparation_reported = true;
    gnn_epoch_figure(out, "hyperbatches", e->hyperbatches);
    gnn_epoch_figure(out, "hyperbatch_size", agnes->setup.sizes.hyperbatch);
    gnn_epoch_figure(out, "block_bytes", agnes->setup.sizes.block_bytes);
    gnn_epoch_figure(out, "graph_frames", agnes->setup.sizes.graph_frames);
    gnn_epoch_figure(out, "graph_block_reads", sampling.blocks.reads);
    gnn_epoch_figure(out, "graph_block_hits", sampling.blocks.hits);
    gnn_epoch_figure(out, "bucket_entries", sampling.bucket_entries + gathered.stage.bucket_entries);
    gnn_epoch_figure(out, "bucket_ns", bucket_ns);
    gnn_epoch_figure(out, "bucket_cpu_permille", bucket_permille(out, bucket_ns));
    if (agnes->gathering != NULL)
        report_gathering(e, &gathered, out);
}

/* ---- an epoch ---- */

enum gnn_status agnes_progress_open(struct agnes *agnes, struct gnn_err *err)
{
    return gnn_progress_open(agnes->setup.env->world, COUNTS, &agnes->progress, err);
}

/* Frees what is sampled or gathered: a failed epoch's, or that of an epoch which does not come next. */
static void forget(struct agnes *agnes)
{
    for (uint32_t i = 0; i < agnes->setup.sizes.alive; i++)
        agnes_hyperbatch_clear(&agnes->hyperbatches[i]);
    gnn_progress_clear(agnes->progress);
    agnes->next_counts = (struct agnes_counts){.spilled_rows = 0};
}

/* Takes over the hyperbatch that the epoch before has gathered for this one, if it has. */
static void take_over(struct epoch *e)
{
    struct agnes *const agnes = e->agnes;
    if (agnes->next_epoch != e->number)
        forget(agnes);
    e->counts = agnes->next_counts;
    agnes->next_counts = (struct agnes_counts){.spilled_rows = 0};
    e->first = gnn_progress_count(e->progress, TRAINED);
    e->gathered = (uint32_t)(gnn_progress_count(e->progress, SAMPLED) - e->first);
    assert(e->gathered <= 1);
}

static void begin(struct epoch *e)
{
    struct agnes *const agnes = e->agnes;
    const bool over_epochs = agnes->setup.config->overlap == AGNES_OVERLAP_EPOCHS;
    take_over(e);
    e->hyperbatches = count_hyperbatches(e);
    if (e->gathered > 0)
        next_cut(e, &e->cut);
    e->next = over_epochs && e->number + 1 < e->env->workload->epochs ? 1 : 0;
    gnn_batch_order_begin(&agnes->order, e->number);
    agnes_sampling_begin(agnes->sampling);
    if (agnes->gathering == NULL)
        return;
    gnn_training_begin(&agnes->training);
    agnes_gathering_begin(agnes->gathering);
    agnes_assembly_begin(agnes->assembly, e->number);
}

enum gnn_status agnes_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct agnes *const agnes = state;
    struct epoch e = {.agnes = agnes,
                      .env = agnes->setup.env,
                      .number = epoch,
                      .progress = agnes->progress,
                      .ahead = agnes->setup.config->overlap == AGNES_OVERLAP_ROUND ? 0 : 1};
    begin(&e);
    const enum gnn_status status = gnn_epoch_run(e.env, add_stages, &e, out, err);
    report(&e, out);
    if (status != GNN_OK)
        forget(agnes);
    agnes->next_epoch = epoch + 1;
    return status;
}

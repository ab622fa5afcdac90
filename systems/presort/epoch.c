/* SPDX-License-Identifier: MIT */
/* presort's epoch: two hyperbatches, one behind the other, and in the one that trains two windows.
 *
 *     prepare    inspect, plan and distribute hyperbatch h + 1, also over the epoch's end (ahead=true)
 *     inspect    draw mini-batches for it, T threads; with T = 1 it does so itself
 *     draw       with swept lists, the round behind the one that is inspected (rounds.h)
 *     load       bring in window j + 1 of hyperbatch h
 *     assemble   draw the mini-batches of window j again, copy their rows to an input: T threads (handout.h)
 *     train      in the order of the mini-batches
 *
 * The progress counts, since the run began, the hyperbatches that are prepared and those that are released, and the
 * windows that are loaded and assembled. A hyperbatch is prepared where the one two before it was; a window is loaded
 * once the one two before it is assembled. So each stage waits for its own piece in earlier stages and for earlier
 * pieces in later ones. A thread takes a mini-batch to assemble only when it has an input for it, so that the next one
 * to be trained always has its input: nothing waits in a circle. */
#include "systems/presort/distribute.h"
#include "systems/presort/handout.h"
#include "systems/presort/load.h"
#include "systems/presort/rounds.h"
#include "systems/presort/spool.h"

#include <assert.h>

/* A mini-batch on its way to the trainer. */
struct presort_input {
    struct gnn_batch *batch;
    struct gnn_train_input *input;
};

struct epoch {
    struct presort *s;
    const struct gnn_env *env;
    uint64_t number;
    struct gnn_queue *spare; /* of struct presort_input */
    struct gnn_reorder *assembled;
    struct presort_input inputs[PRESORT_INPUTS_MAX];
    struct presort_prepared prepared;
    uint64_t prepare_ns;                        /* before the first window could be loaded */
    uint64_t first_hyperbatch, first_window;    /* of the run, that are this epoch's */
    uint64_t hyperbatches, windows;             /* of the epoch */
    struct presort_decision planned;            /* of the epoch's hyperbatches together */
    uint64_t trained_rows[PRESORT_THREADS_MAX]; /* of each thread that assembles */
    uint64_t evictions;
};

static struct presort_hyperbatch *hyperbatch_of(const struct epoch *e, uint64_t g)
{
    return &e->s->hyperbatches[g % PRESORT_ALIVE];
}

/* Whether x holds the epoch's last mini-batch. */
static bool is_last(const struct epoch *e, const struct presort_hyperbatch *x)
{
    return x->first_batch + x->batches == e->s->setup.sizes.batches;
}

/* ---- prepare ---- */

/* Whether the next hyperbatch is to be prepared in this epoch: it is the epoch's own, or the first of the next one. */
static bool is_wanted(const struct epoch *e)
{
    uint64_t epoch;
    const bool between = presort_preparer_between(e->s->preparer, &epoch);
    if (epoch == e->number)
        return true;
    return between && epoch == e->number + 1 && e->s->setup.config->ahead && epoch < e->env->workload->epochs;
}

static enum gnn_status prepare_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    struct gnn_progress *const progress = e->s->progress;
    while (is_wanted(e)) {
        const uint64_t g = gnn_progress_count(progress, PRESORT_PREPARED);
        struct presort_hyperbatch *const x = hyperbatch_of(e, g);
        GNN_TRY(gnn_progress_wait(progress, PRESORT_RELEASED, (int64_t)g + 1 - PRESORT_ALIVE));
        const uint64_t start_ns = gnn_now_ns(e->env->world);
        GNN_TRY(presort_prepare(e->s->preparer, x, &e->prepared, err));
        if (g == e->first_hyperbatch)
            e->prepare_ns = gnn_now_ns(e->env->world) - start_ns;
        worker->items += x->batches;
        gnn_progress_add(progress, PRESORT_PREPARED);
    }
    presort_preparer_done(e->s->preparer);
    return GNN_OK;
}

/* ---- load ---- */

static void add_decision(struct presort_decision *sum, const struct presort_decision *of)
{
    sum->loads += of->loads;
    sum->sorted_loads += of->sorted_loads;
    sum->sorted_rows += of->sorted_rows;
    sum->cost_bytes += of->cost_bytes;
    sum->direct_bytes += of->direct_bytes;
    sum->sweeps_bytes += of->sweeps_bytes;
}

static enum gnn_status load_windows(struct epoch *e, struct presort_hyperbatch *x, struct gnn_worker *worker,
                                    struct gnn_err *err)
{
    struct gnn_progress *const progress = e->s->progress;
    const uint32_t windows = x->windows; /* once the last is loaded, the hyperbatch may be released and made anew */
    for (uint32_t j = 0; j < windows; j++) {
        const uint64_t v = e->first_window + e->windows;
        GNN_TRY(gnn_check_stop(e->env, err));
        GNN_TRY(gnn_progress_wait(progress, PRESORT_ASSEMBLED, (int64_t)v - 1));
        gnn_env_range(e->env, "read");
        const enum gnn_status status = presort_load_window(e->s->loader, x, j, err);
        gnn_env_range(e->env, NULL);
        GNN_TRY(status);
        e->windows++;
        worker->items++;
        presort_handout_window(e->s->handout, x, j);
    }
    return GNN_OK;
}

static enum gnn_status load_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    for (bool last = false; !last;) {
        const uint64_t g = e->first_hyperbatch + e->hyperbatches;
        struct presort_hyperbatch *const x = hyperbatch_of(e, g);
        GNN_TRY(gnn_progress_wait(e->s->progress, PRESORT_PREPARED, (int64_t)g + 1));
        assert(x->epoch == e->number);
        last = is_last(e, x);
        add_decision(&e->planned, &x->decision);
        GNN_TRY(load_windows(e, x, worker, err));
        e->hyperbatches++;
    }
    return GNN_OK;
}

/* ---- assemble ---- */

/* What comes back from a tape is drawn in order, by the one thread that there is then. */
static enum gnn_status draw_again(struct epoch *e, const struct presort_taken *taken, uint32_t thread,
                                  struct gnn_batch *out, struct gnn_err *err)
{
    struct presort_spool *const spool = e->s->spool;
    assert(spool == NULL || e->s->setup.sizes.threads == 1);
    if (spool != NULL && taken->begins)
        presort_spool_begin(spool, &taken->spooled);
    if (spool != NULL)
        presort_spool_next(spool);
    return gnn_sampling_draw(e->s->sampling, thread, taken->batch, out, err);
}

static enum gnn_status assemble_batch(struct epoch *e, const struct presort_taken *taken, struct presort_input *input,
                                      uint32_t thread, struct gnn_err *err)
{
    const uint64_t row_bytes = e->env->dataset->row_bytes;
    GNN_TRY(draw_again(e, taken, thread, input->batch, err));
    const struct gnn_batch_view *const view = gnn_batch_view(input->batch);
    GNN_TRY(gnn_train_input_reserve(input->input, view->node_count, err));
    unsigned char *to = (unsigned char *)input->input->rows.data;
    gnn_charge(e->env->world, GNN_WORK_TABLE_ENTRY, view->node_count);
    for (uint32_t i = 0; i < view->node_count; i++, to += row_bytes)
        gnn_mem_copy(e->env->world, to, presort_row(e->s->loader, view->nodes[i]), row_bytes);
    presort_handout_give(e->s->handout, taken->batch);
    e->trained_rows[thread] += view->node_count;
    return gnn_train_input_stage(input->input, thread, view, NULL, err);
}

static enum gnn_status assemble_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    for (;; worker->items++) {
        struct presort_taken taken;
        void *popped;
        bool some;
        GNN_TRY(gnn_check_stop(e->env, err));
        GNN_TRY(gnn_queue_pop(e->spare, &popped));
        GNN_TRY(presort_handout_take(e->s->handout, &taken, &some));
        if (!some)
            return GNN_OK;
        GNN_TRY(assemble_batch(e, &taken, popped, worker->index, err));
        GNN_TRY(gnn_reorder_put(e->assembled, taken.batch, popped));
    }
}

/* ---- train ---- */

static enum gnn_status train_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    for (;;) {
        void *popped;
        GNN_TRY(gnn_check_stop(e->env, err));
        GNN_TRY(gnn_reorder_take(e->assembled, &popped));
        if (popped == NULL)
            return GNN_OK;
        struct presort_input *const input = popped;
        GNN_TRY(gnn_training_step(&e->s->training, gnn_batch_view(input->batch), input->input, err));
        worker->items++;
        GNN_TRY(gnn_queue_push(e->spare, popped));
    }
}

/* ---- the pipeline ---- */

static enum gnn_status open_queues(struct epoch *e, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    const struct presort_sizes *const sizes = &e->s->setup.sizes;
    const uint32_t inputs = presort_inputs(sizes);
    GNN_TRY(gnn_pipeline_queue(pipeline, "presort inputs", inputs, &e->spare, err));
    for (uint32_t i = 0; i < inputs; i++) {
        e->inputs[i] = (struct presort_input){e->s->batches[i], &e->s->inputs[i]};
        GNN_TRY(gnn_queue_push(e->spare, &e->inputs[i]));
    }
    return gnn_pipeline_reorder(pipeline, inputs, sizes->batches, &e->assembled, err);
}

/* Without training a mini-batch is drawn once, and nothing is planned. */
static enum gnn_status sample_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    struct presort_rounds *const rounds = e->s->setup.rounds;
    for (uint32_t k = 0; k < e->s->setup.sizes.batches; k++, worker->items++) {
        if (rounds != NULL)
            GNN_TRY(presort_rounds_reach(rounds, k, err));
        GNN_TRY(gnn_sampling_draw(e->s->sampling, 0, k, e->s->drawn, err));
    }
    return GNN_OK;
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct epoch *const e = ctx;
    if (e->env->workload->sample_only)
        return gnn_pipeline_stage(pipeline, "sample", 1, sample_stage, e, err);
    GNN_TRY(gnn_progress_join(e->s->progress, pipeline, err));
    GNN_TRY(open_queues(e, pipeline, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "prepare", 1, prepare_stage, e, err));
    GNN_TRY(presort_preparer_stage(e->s->preparer, pipeline, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "load", 1, load_stage, e, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "assemble", e->s->setup.sizes.threads, assemble_stage, e, err));
    return gnn_pipeline_stage(pipeline, "train", 1, train_stage, e, err);
}

/* ---- figures ---- */

/* What the number of threads was chosen by; swept lists leave no choice. */
static void report_expected(const struct epoch *e, struct gnn_epoch_result *out)
{
    const struct presort_weight *const w = &e->s->setup.sizes.expected;
    gnn_epoch_size(out, "threads", e->s->setup.sizes.threads);
    if (e->s->setup.rounds != NULL)
        return;
    gnn_epoch_size(out, "expected_loads", w->loads);
    gnn_epoch_size(out, "expected_device_ns", w->device_ns);
    gnn_epoch_size(out, "expected_prepare_ns", w->prepare_ns);
    gnn_epoch_size(out, "expected_load_ns", w->load_ns);
    gnn_epoch_size(out, "expected_assemble_ns", w->assemble_ns);
    gnn_epoch_size(out, "expected_work_ns", w->work_ns);
}

static void report_plan(const struct epoch *e, const struct presort_loaded *loaded, struct gnn_epoch_result *out)
{
    const struct presort_sizes *const sizes = &e->s->setup.sizes;
    gnn_epoch_size(out, "topology_bytes",
                   e->s->setup.topology != NULL ? presort_topology_bytes(e->s->setup.topology) : 0);
    gnn_epoch_size(out, "topology_open_ns", e->s->topology_ns);
    gnn_epoch_size(out, "row_slots", sizes->slots);
    gnn_epoch_size(out, "random_read_bytes", sizes->costs.random_bytes);
    gnn_epoch_size(out, "sorted_load_bytes", sizes->costs.sorted_bytes);
    gnn_epoch_size(out, "window_rows", presort_preparer_largest(e->s->preparer));
    gnn_epoch_figure(out, "hyperbatches", e->hyperbatches);
    gnn_epoch_figure(out, "windows", e->windows);
    gnn_epoch_figure(out, "planned_loads", e->planned.loads);
    gnn_epoch_figure(out, "planned_sorted_loads", e->planned.sorted_loads);
    gnn_epoch_figure(out, "planned_bytes", e->planned.cost_bytes);
    gnn_epoch_figure(out, "all_direct_bytes", e->planned.direct_bytes);
    gnn_epoch_figure(out, "all_sorted_bytes", e->planned.sweeps_bytes);
    gnn_epoch_figure(out, "direct_loads", loaded->direct_rows);
    gnn_epoch_figure(out, "sorted_loads", loaded->sorted_rows);
    gnn_epoch_figure(out, "direct_reads", loaded->direct_ios);
}

/* Of epochs that train on the mini-batches of others. */
static void report_kept(const struct epoch *e, const struct presort_loaded *loaded, struct gnn_epoch_result *out)
{
    if (e->s->setup.config->reuse == 1)
        return;
    gnn_epoch_figure(out, "there_loads", loaded->there_rows);
    gnn_epoch_figure(out, "list_read_bytes", e->prepared.list_read_bytes);
}

static void report_preparation(const struct presort_prepared *p, struct gnn_epoch_result *out)
{
    gnn_epoch_figure(out, "sweep_rows", p->sweep_rows);
    gnn_epoch_figure(out, "sweep_reads", p->sweep_ios);
    gnn_epoch_figure(out, "sweep_read_bytes", p->sweep_bytes);
    gnn_epoch_figure(out, "scratch_write_bytes", p->written_bytes);
    gnn_epoch_figure(out, "scratch_full", p->fallbacks);
    gnn_epoch_figure(out, "inspect_ns", p->inspect_ns);
    gnn_epoch_figure(out, "plan_ns", p->plan_ns);
    gnn_epoch_figure(out, "distribute_ns", p->distribute_ns);
}

static void report_packed(const struct epoch *e, struct gnn_epoch_result *out)
{
    const struct presort_prepared *const p = &e->prepared;
    if (e->s->setup.config->hot == PRESORT_HOT_OFF)
        return;
    gnn_epoch_size(out, "hot_places", e->s->setup.sizes.hot_places);
    gnn_epoch_figure(out, "hot_rows", p->hot_rows);
    gnn_epoch_figure(out, "hot_write_bytes", p->hot_written_bytes);
    gnn_epoch_figure(out, "hot_read_bytes", p->hot_read_bytes);
    gnn_epoch_figure(out, "hot_full", p->hot_full);
}

static uint64_t trained_rows(const struct epoch *e)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < e->s->setup.sizes.threads; i++)
        rows += e->trained_rows[i];
    return rows;
}

static void report_training(const struct epoch *e, struct gnn_epoch_result *out)
{
    struct gnn_counters *const c = &out->counters;
    struct presort_loaded loaded;
    presort_loader_take_counts(e->s->loader, &loaded);
    const uint64_t loads = loaded.direct_rows + loaded.sorted_rows, rows = trained_rows(e);
    c->needed_bytes += rows * e->env->dataset->row_bytes;
    const struct presort_prepared *const p = &e->prepared;
    c->requested_bytes = p->sweep_bytes + loaded.direct_bytes + loaded.scratch_bytes + p->list_read_bytes;
    c->requested_ios = p->sweep_ios + loaded.direct_ios + loaded.scratch_ios + p->list_reads;
    c->requested_write_bytes = p->written_bytes + p->hot_written_bytes;
    c->requested_write_ios = p->writes + p->hot_writes;
    c->rows_asked = rows;
    c->rows_read = e->prepared.sweep_rows + loads;
    c->cache_misses = loads;
    c->cache_hits = rows > loads ? rows - loads : 0;
    c->cache_evictions = presort_preparer_evictions(e->s->preparer) - e->evictions;
    out->prepare_ns = e->prepare_ns;
    report_expected(e, out);
    report_plan(e, &loaded, out);
    gnn_epoch_figure(out, "scratch_read_bytes", loaded.scratch_bytes);
    report_preparation(&e->prepared, out);
    report_packed(e, out);
    report_kept(e, &loaded, out);
    gnn_training_result(&e->s->training, out);
}

/* Of neighbour lists that are swept: what was read of them, and what became of what was drawn. */
static void report_swept(const struct epoch *e, struct gnn_epoch_result *out)
{
    struct gnn_counters *const c = &out->counters;
    struct presort_rounds_counts rounds;
    struct presort_spool_counts spool = {.reads = 0};
    if (e->s->setup.rounds == NULL)
        return;
    presort_rounds_take_counts(e->s->setup.rounds, &rounds);
    if (e->s->spool != NULL)
        presort_spool_take_counts(e->s->spool, &spool);
    c->requested_bytes += rounds.read_bytes + rounds.back_bytes + spool.read_bytes;
    c->requested_ios += rounds.reads + rounds.back_reads + spool.reads;
    c->requested_write_bytes += rounds.written_bytes;
    c->requested_write_ios += rounds.writes;
    gnn_epoch_figure(out, "rounds", rounds.rounds);
    gnn_epoch_figure(out, "draw_ns", rounds.draw_ns);
    gnn_epoch_figure(out, "topology_reads", rounds.reads);
    gnn_epoch_figure(out, "topology_read_bytes", rounds.read_bytes);
    gnn_epoch_figure(out, "spool_write_bytes", rounds.written_bytes);
    gnn_epoch_figure(out, "spool_read_bytes", rounds.back_bytes + spool.read_bytes);
    gnn_epoch_figure(out, "spool_full", rounds.full);
    gnn_epoch_figure(out, "mapped_batches", spool.mapped_batches);
}

static void report(const struct epoch *e, struct gnn_epoch_result *out)
{
    struct gnn_counters *const c = &out->counters;
    gnn_sampling_counters(e->s->sampling, &c->sample);
    c->needed_bytes = c->sample.sampled_edges * e->env->dataset->id_bytes;
    if (e->s->preparer != NULL)
        report_training(e, out);
    report_swept(e, out);
}

/* ---- an epoch ---- */

static void begin(struct epoch *e)
{
    struct presort *const s = e->s;
    if (!s->whole || s->next_epoch != e->number) { /* memory is not as it was planned */
        gnn_progress_clear(s->progress);
        presort_preparer_forget(s->preparer, e->number);
        presort_loader_forget(s->loader);
    }
    e->first_hyperbatch = gnn_progress_count(s->progress, PRESORT_RELEASED);
    e->first_window = gnn_progress_count(s->progress, PRESORT_ASSEMBLED);
    e->evictions = presort_preparer_evictions(s->preparer);
    presort_handout_begin(s->handout, s->setup.sizes.batches, e->first_window);
}

enum gnn_status presort_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct presort *const s = state;
    struct epoch e = {.s = s, .env = s->setup.env, .number = epoch};
    gnn_sampling_begin(s->sampling, presort_drawn_epoch(s->setup.config, epoch));
    gnn_training_begin(&s->training);
    if (s->preparer != NULL)
        begin(&e);
    else if (s->setup.rounds != NULL)
        presort_rounds_begin(s->setup.rounds, s->sampling, presort_drawn_epoch(s->setup.config, epoch));
    const enum gnn_status status = gnn_epoch_run(e.env, add_stages, &e, out, err);
    s->whole = status == GNN_OK;
    s->next_epoch = epoch + 1;
    report(&e, out);
    return status;
}

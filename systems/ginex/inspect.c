/* Inspect: samples one superbatch ahead into its trace, and inspects the one sampled before.
 *
 * Source   ginex.md section 3, Inspect(i)
 *
 *     inspect (1)  pass 1, pass 2 | load neighbour cache | .. first batch .. | pass 3, change sets to the trace
 *     sample (V)                                         | batches in any order, to the trace ................ |
 *
 * Overlap: pass 3 of superbatch i - 1 beside the sampling of superbatch i, from its first batch on. The last Inspect
 * samples nothing, the first inspects nothing; an epoch of one superbatch overlaps nothing (as published for
 * Papers100M). overlap=false puts pass 3 before the sampling.
 * Waits    samplers pop one token from the gate each; there is no back-pressure: results go to disk
 * Differs  the passes run on one CPU thread, not on the GPU; change sets are written by that thread, in order */
#include "systems/ginex/ginex.h"

#include <assert.h>
#include <stdlib.h>

/* ---- sampling ---- */

static void note_end(struct ginex *s)
{
    const uint_fast64_t now = gnn_now_ns(s->env->world);
    uint_fast64_t last = atomic_load(&s->sampled_ns);
    while (last < now && !atomic_compare_exchange_weak(&s->sampled_ns, &last, now))
        ;
}

static enum gnn_status sample_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct ginex *s = ctx;
    struct ginex_superbatch *const sb = s->sampled;
    void *token;
    if (sb == NULL)
        return GNN_OK;
    GNN_TRY(gnn_queue_pop(s->gate, &token));
    struct gnn_batch *const batch = s->drawn[worker->index];
    for (;;) {
        const uint32_t index = atomic_fetch_add(&s->next_batch, 1);
        if (index >= sb->count)
            break;
        GNN_TRY(gnn_sampling_draw(s->sampling, worker->index, sb->first + index, batch, err));
        GNN_TRY(ginex_store_batch(sb, worker->index, gnn_batch_view(batch), err));
        if (worker->items++ == 0)
            GNN_TRY(gnn_queue_push(s->first_batch, s));
    }
    GNN_TRY(gnn_stream_seal(sb->ids[worker->index], err));
    GNN_TRY(gnn_stream_seal(sb->blocks[worker->index], err));
    note_end(s);
    return GNN_OK;
}

/* Loads the neighbour cache and lets the samplers go. */
static enum gnn_status open_gate(struct ginex *s, struct gnn_err *err)
{
    const uint64_t start_ns = gnn_now_ns(s->env->world);
    GNN_TRY(ginex_neighbours_load(s->neighbours, err));
    const uint64_t now_ns = gnn_now_ns(s->env->world);
    s->figures.neighbour_load_ns += now_ns - start_ns;
    atomic_store(&s->gate_ns, now_ns);
    atomic_store(&s->sampled_ns, now_ns);
    for (uint32_t w = 0; w < s->config->samplers; w++)
        GNN_TRY(gnn_queue_push(s->gate, s));
    return GNN_OK;
}

/* ---- the passes ---- */

static enum gnn_status copy_initial(struct ginex *s, struct ginex_superbatch *sb, struct gnn_err *err)
{
    void *memory = NULL;
    GNN_TRY(gnn_mem_alloc(s->env->world, "ginex initial nodes", gnn_mul_bytes(s->sizes.cache_rows, sizeof *sb->initial),
                          GNN_MEM_PLAIN, &memory, err));
    sb->initial = memory;
    if (s->config->initial == GINEX_INITIAL_ACCESS)
        return GNN_OK;
    const gnn_node *const top = ginex_top_nodes(s->neighbours, &sb->initial_count);
    gnn_mem_copy(s->env->world, sb->initial, top, sb->initial_count * sizeof *top);
    return GNN_OK;
}

static enum gnn_status run_pass(struct ginex *s, struct ginex_superbatch *sb, struct ginex_ids *ids, int pass,
                                struct gnn_err *err)
{
    ginex_ids_rewind(ids);
    for (uint32_t b = 0;; b++) {
        const gnn_node *nodes;
        uint32_t count;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(ginex_ids_next(ids, &nodes, &count, err));
        if (nodes == NULL)
            return GNN_OK;
        if (pass == 1) {
            const bool choose = s->config->initial == GINEX_INITIAL_ACCESS;
            belady_count(s->belady, nodes, count, choose ? sb->initial : NULL, &sb->initial_count);
        } else if (pass == 2) {
            belady_place(s->belady, b, nodes, count);
        } else {
            struct belady_changes changes;
            belady_step(s->belady, b, nodes, count, &changes);
            GNN_TRY(ginex_store_changes(sb, b, &changes, err));
        }
    }
}

static enum gnn_status timed_pass(struct ginex *s, struct ginex_superbatch *sb, struct ginex_ids *ids, int pass,
                                  struct gnn_err *err)
{
    const uint64_t start_ns = gnn_now_ns(s->env->world);
    const enum gnn_status status = run_pass(s, sb, ids, pass, err);
    s->figures.pass_ns[pass - 1] += gnn_now_ns(s->env->world) - start_ns;
    return status;
}

/* The direct fill reads rows together that lie together: the same nodes again, ascending. */
static void order_initial(const struct ginex *s, struct ginex_superbatch *sb)
{
    uint32_t count = 0;
    gnn_charge(s->env->world, GNN_WORK_TABLE_ENTRY, s->env->dataset->node_count / 8);
    for (gnn_node v = 0; v < s->env->dataset->node_count; v++)
        if (belady_cached(s->belady, v))
            sb->initial[count++] = v;
    assert(count == sb->initial_count);
}

/* Passes 1 and 2 of s->stored. */
static enum gnn_status count_accesses(struct ginex *s, struct ginex_ids *ids, struct gnn_err *err)
{
    struct ginex_superbatch *const sb = s->stored;
    const struct belady_config config = ginex_belady_config(s, sb);
    GNN_TRY(copy_initial(s, sb, err));
    GNN_TRY(belady_open(s->env->world, &config, &s->belady, err));
    GNN_TRY(timed_pass(s, sb, ids, 1, err));
    belady_counted(s->belady);
    GNN_TRY(timed_pass(s, sb, ids, 2, err));
    ginex_ids_drop(ids);
    belady_begin(s->belady, sb->initial, sb->initial_count);
    if (s->config->fill == GINEX_FILL_DIRECT)
        order_initial(s, sb);
    s->figures.accesses_max = sb->accesses > s->figures.accesses_max ? sb->accesses : s->figures.accesses_max;
    return GNN_OK;
}

/* Pass 3 of s->stored. */
static enum gnn_status write_changes(struct ginex *s, struct ginex_ids *ids, struct gnn_err *err)
{
    struct ginex_superbatch *const sb = s->stored;
    GNN_TRY(gnn_stream_open(sb->trace, &sb->changes, err));
    GNN_TRY(timed_pass(s, sb, ids, 3, err));
    return gnn_stream_seal(sb->changes, err);
}

static enum gnn_status inspect_with(struct ginex *s, struct ginex_ids *ids, struct gnn_err *err)
{
    if (ids != NULL)
        GNN_TRY(count_accesses(s, ids, err));
    const bool first = s->sampled == NULL || !s->config->overlap;
    if (ids != NULL && first)
        GNN_TRY(write_changes(s, ids, err));
    if (s->sampled == NULL)
        return GNN_OK;
    GNN_TRY(open_gate(s, err));
    if (ids == NULL || first)
        return GNN_OK;
    void *token;
    GNN_TRY(gnn_queue_pop(s->first_batch, &token));
    return write_changes(s, ids, err);
}

static enum gnn_status inspect_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct ginex *s = ctx;
    struct ginex_ids *ids = NULL;
    enum gnn_status status = GNN_OK;
    if (s->stored != NULL && !s->env->workload->sample_only) {
        status = ginex_check_inspection(s, s->stored, err);
        if (status == GNN_OK)
            status = ginex_ids_open(s, s->stored, s->config->hold_ids, &ids, err);
        worker->items += s->stored->count;
    }
    if (status == GNN_OK)
        status = inspect_with(s, ids, err);
    ginex_ids_close(ids);
    belady_close(s->belady);
    s->belady = NULL;
    return status;
}

/* ---- the pipeline ---- */

static void cancel(void *target)
{
    struct ginex *s = target;
    gnn_queue_cancel(s->gate);
    gnn_queue_cancel(s->first_batch);
}

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct ginex *s = ctx;
    struct gnn_world *world = s->env->world;
    GNN_TRY(gnn_queue_open(world, "sampling gate", s->config->samplers, &s->gate, err));
    GNN_TRY(gnn_queue_open(world, "first batch", s->config->samplers, &s->first_batch, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "inspect", 1, inspect_stage, s, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "sample", s->config->samplers, sample_stage, s, err));
    GNN_TRY(gnn_pipeline_on_cancel(pipeline, cancel, s, err));
    return GNN_OK;
}

/* What the samplers wrote, summed up. */
static void sum_up(struct ginex_superbatch *sb)
{
    for (uint32_t i = 0; i < sb->count; i++) {
        sb->accesses += sb->records[i].nodes;
        sb->nodes_max = sb->records[i].nodes > sb->nodes_max ? sb->records[i].nodes : sb->nodes_max;
    }
}

enum gnn_status ginex_inspect(struct ginex *s, struct gnn_epoch_result *out, struct gnn_err *err)
{
    const uint64_t start_ns = gnn_now_ns(s->env->world);
    atomic_store(&s->next_batch, 0);
    atomic_store(&s->gate_ns, 0);
    atomic_store(&s->sampled_ns, 0);
    const enum gnn_status status = gnn_epoch_run(s->env, add_stages, s, out, err);
    gnn_queue_close(s->gate);
    gnn_queue_close(s->first_batch);
    s->gate = s->first_batch = NULL;
    ginex_neighbours_unload(s->neighbours);
    if (status == GNN_OK && s->sampled != NULL)
        sum_up(s->sampled);
    s->figures.sample_ns += atomic_load(&s->sampled_ns) - atomic_load(&s->gate_ns);
    s->figures.inspect_ns += gnn_now_ns(s->env->world) - start_ns;
    return status;
}

/* SPDX-License-Identifier: MIT */
/* Inspect: samples one superbatch ahead into its trace, and inspects the one sampled before.
 *
 * Source   Ginex (PVLDB 15(11), 2022), superbatch sampling and changeset precomputation
 *
 *     inspect (1)  pass 1, pass 2 | load neighbour cache | .. first batch .. | pass 3, change sets to the trace
 *     sample (V)                                         | batches in any order, to the trace ................ |
 *
 * Overlap: pass 3 of superbatch i - 1 beside the sampling of superbatch i, from its first batch on. The last Inspect
 * samples nothing, the first inspects nothing; an epoch of one superbatch overlaps nothing (as published for
 * Papers100M). overlap=false puts pass 3 before the sampling.
 * Waits    samplers pop one token each from the start queue; there is no back-pressure: results go to disk
 * Differs  the passes run on one CPU thread, not on the GPU; change sets are written by that thread, in order */
#include "systems/ginex/superbatch.h"

#include "harness/base/atomic_max.h"

#include <assert.h>
#include <stdlib.h>

/* What one Inspect needs. */
struct ginex_inspection {
    struct ginex *s;
    struct gnn_queue *start;               /* a token per sampler once the neighbour cache is loaded */
    struct gnn_queue *first_batch;         /* a token from each sampler that has stored a batch */
    atomic_uint next_batch;                /* of s->sampled */
    atomic_uint_fast64_t start_ns, end_ns; /* of the sampling: when it may begin, when the last sampler ended */
    struct ginex_ids *ids;                 /* of s->stored */
    struct ginex_belady *belady;
};

/* ---- sampling ---- */

static enum gnn_status sample_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct ginex_inspection *in = ctx;
    struct ginex *s = in->s;
    struct ginex_superbatch *const sb = s->sampled;
    void *token;
    if (sb == NULL)
        return GNN_OK;
    GNN_TRY(gnn_queue_pop(in->start, &token));
    struct gnn_batch *const batch = s->drawn[worker->index];
    for (;;) {
        const uint32_t index = atomic_fetch_add(&in->next_batch, 1);
        if (index >= sb->count)
            break;
        GNN_TRY(gnn_sampling_draw(s->sampling, worker->index, sb->first + index, batch, err));
        GNN_TRY(ginex_store_batch(sb, worker->index, gnn_batch_view(batch), err));
        if (worker->items++ == 0)
            GNN_TRY(gnn_queue_push(in->first_batch, in));
    }
    GNN_TRY(ginex_seal_worker(sb, worker->index, err));
    gnn_atomic_max(&in->end_ns, gnn_now_ns(s->env->world));
    return GNN_OK;
}

/* Loads the neighbour cache, then lets every sampler begin. */
static enum gnn_status start_sampling(struct ginex_inspection *in, struct gnn_err *err)
{
    struct ginex *s = in->s;
    const uint64_t load_ns = gnn_now_ns(s->env->world);
    GNN_TRY(ginex_neighbours_load(s->neighbours, err));
    const uint64_t now_ns = gnn_now_ns(s->env->world);
    s->figures.neighbour_load_ns += now_ns - load_ns;
    atomic_store(&in->start_ns, now_ns);
    atomic_store(&in->end_ns, now_ns);
    for (uint32_t w = 0; w < s->config->samplers; w++)
        GNN_TRY(gnn_queue_push(in->start, in));
    return GNN_OK;
}

/* ---- the passes over s->stored ---- */

/* Makes room for the nodes the feature cache starts with; with initial=score fills it. */
static enum gnn_status open_initial(struct ginex *s, struct gnn_err *err)
{
    struct ginex_superbatch *const sb = s->stored;
    assert(sb->initial == NULL);
    const uint32_t rows = ginex_rows_at_most(s, sb);
    GNN_MEM_NEW(s->env->world, sb->initial, rows, "ginex initial nodes", GNN_MEM_PLAIN, err);
    if (s->config->initial == GINEX_INITIAL_ACCESS)
        return GNN_OK;
    assert(s->top.count <= rows);
    sb->initial_count = s->top.count;
    gnn_mem_copy(s->env->world, sb->initial, s->top.node, s->top.count * sizeof *s->top.node);
    return GNN_OK;
}

/* Does pass 1, 2 or 3 for batch b of s->stored. */
static enum gnn_status pass_batch(struct ginex_inspection *in, int pass, uint32_t b, const gnn_node *nodes,
                                  uint32_t count, struct gnn_err *err)
{
    struct ginex_superbatch *const sb = in->s->stored;
    struct ginex_changes changes;
    switch (pass) {
    case 1:
        ginex_belady_count(in->belady, nodes, count,
                           in->s->config->initial == GINEX_INITIAL_ACCESS ? sb->initial : NULL, &sb->initial_count);
        return GNN_OK;
    case 2:
        ginex_belady_place(in->belady, b, nodes, count);
        return GNN_OK;
    default:
        ginex_belady_step(in->belady, b, nodes, count, &changes);
        return ginex_store_changes(sb, b, &changes, err);
    }
}

/* Walks through the superbatch's node lists; the time is added to the figures on success. */
static enum gnn_status run_pass(struct ginex_inspection *in, int pass, struct gnn_err *err)
{
    struct ginex *s = in->s;
    const uint64_t start_ns = gnn_now_ns(s->env->world);
    ginex_ids_rewind(in->ids);
    for (uint32_t b = 0;; b++) {
        const gnn_node *nodes;
        uint32_t count;
        GNN_TRY(gnn_check_stop(s->env, err));
        GNN_TRY(ginex_ids_next(in->ids, &nodes, &count, err));
        if (nodes == NULL) {
            assert(b == s->stored->count);
            s->figures.pass_ns[pass - 1] += gnn_now_ns(s->env->world) - start_ns;
            return GNN_OK;
        }
        GNN_TRY(pass_batch(in, pass, b, nodes, count, err));
    }
}

/* Lists the nodes the cache starts with by ID: the direct fill reads rows together that lie together. */
static void order_initial(const struct ginex_inspection *in)
{
    struct ginex_superbatch *const sb = in->s->stored;
    const uint32_t nodes = in->s->env->dataset->node_count;
    uint32_t count = 0;
    gnn_charge(in->s->env->world, GNN_WORK_TABLE_ENTRY, nodes / 8);
    for (gnn_node v = 0; v < nodes; v++)
        if (ginex_belady_cached(in->belady, v))
            sb->initial[count++] = v;
    assert(count == sb->initial_count);
}

/* Passes 1 and 2: when every node is accessed, and what the cache starts with. */
static enum gnn_status place_accesses(struct ginex_inspection *in, struct gnn_err *err)
{
    struct ginex *s = in->s;
    struct ginex_superbatch *const sb = s->stored;
    const struct ginex_belady_config belady = {.node_count = s->env->dataset->node_count,
                                               .cache_rows = s->sizes.cache_rows,
                                               .batches = sb->count,
                                               .accesses = sb->accesses,
                                               .batch_nodes_max = sb->nodes_max,
                                               .policy = s->config->replacement};
    GNN_TRY(ginex_check_inspection(s, sb, err));
    GNN_TRY(ginex_ids_open(s, sb, s->config->hold_ids, &in->ids, err));
    GNN_TRY(open_initial(s, err));
    GNN_TRY(ginex_belady_open(s->env->world, &belady, &in->belady, err));
    GNN_TRY(run_pass(in, 1, err));
    ginex_belady_lay_out(in->belady);
    GNN_TRY(run_pass(in, 2, err));
    ginex_ids_drop(in->ids);
    ginex_belady_begin(in->belady, sb->initial, sb->initial_count);
    if (s->config->fill == GINEX_FILL_DIRECT)
        order_initial(in);
    s->figures.accesses_max = gnn_max_u64(s->figures.accesses_max, sb->accesses);
    return GNN_OK;
}

/* Pass 3: the change set of every batch, to the trace. */
static enum gnn_status write_changes(struct ginex_inspection *in, struct gnn_err *err)
{
    struct ginex_superbatch *const sb = in->s->stored;
    GNN_TRY(gnn_stream_open(sb->trace, &sb->changes, err));
    GNN_TRY(run_pass(in, 3, err));
    return gnn_stream_seal(sb->changes, err);
}

static enum gnn_status inspect_beside_sampling(struct ginex_inspection *in, struct gnn_err *err)
{
    struct ginex *s = in->s;
    const bool samples = s->sampled != NULL;
    const bool inspects = s->stored != NULL && !s->env->workload->sample_only;
    const bool beside = samples && s->config->overlap;
    void *token;
    if (inspects)
        GNN_TRY(place_accesses(in, err));
    if (inspects && !beside)
        GNN_TRY(write_changes(in, err));
    if (samples)
        GNN_TRY(start_sampling(in, err));
    if (!inspects || !beside)
        return GNN_OK;
    GNN_TRY(gnn_queue_pop(in->first_batch, &token));
    return write_changes(in, err);
}

static enum gnn_status inspect_stage(void *ctx, struct gnn_worker *worker, struct gnn_err *err)
{
    struct ginex_inspection *in = ctx;
    const enum gnn_status status = inspect_beside_sampling(in, err);
    worker->items += in->ids == NULL ? 0 : in->s->stored->count;
    ginex_ids_close(in->ids);
    ginex_belady_close(in->belady);
    return status;
}

/* ---- the pipeline ---- */

static enum gnn_status add_stages(void *ctx, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    struct ginex_inspection *in = ctx;
    const uint32_t samplers = in->s->config->samplers;
    GNN_TRY(gnn_pipeline_queue(pipeline, "sampling may start", samplers, &in->start, err));
    GNN_TRY(gnn_pipeline_queue(pipeline, "first batch", samplers, &in->first_batch, err));
    GNN_TRY(gnn_pipeline_stage(pipeline, "inspect", 1, inspect_stage, in, err));
    return gnn_pipeline_stage(pipeline, "sample", samplers, sample_stage, in, err);
}

enum gnn_status ginex_inspect(struct ginex *s, struct gnn_epoch_result *out, struct gnn_err *err)
{
    const uint64_t inspect_ns = gnn_now_ns(s->env->world);
    struct ginex_inspection in = {.s = s};
    const enum gnn_status status = gnn_epoch_run(s->env, add_stages, &in, out, err);
    ginex_neighbours_unload(s->neighbours);
    if (status == GNN_OK && s->sampled != NULL)
        ginex_superbatch_sum(s->sampled);
    s->figures.sample_ns += atomic_load(&in.end_ns) - atomic_load(&in.start_ns);
    s->figures.inspect_ns += gnn_now_ns(s->env->world) - inspect_ns;
    return status;
}

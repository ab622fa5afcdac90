/* SPDX-License-Identifier: MIT */
/* An epoch: Inspect and Execute in turn, one superbatch ahead.
 *
 *     Inspect 0 | Inspect 1, Execute 0 | Inspect 2, Execute 1 | ... | Inspect M, Execute M - 1
 *
 * Inspect i samples superbatch i and inspects superbatch i - 1; the last one samples nothing. Nothing of a superbatch
 * outlives its Execute: its trace is gone, and the next one starts with an empty cache. */
#include "systems/ginex/superbatch.h"

#include "harness/base/log.h"

#include <inttypes.h>

/* Closes the superbatch that was stored; the one that was sampled is stored now. */
static void store_sampled(struct ginex *s)
{
    ginex_superbatch_close(s, s->stored);
    s->stored = s->sampled;
    s->sampled = NULL;
}

static enum gnn_status run_superbatches(struct ginex *s, struct gnn_epoch_result *out, struct gnn_err *err)
{
    const bool only = s->env->workload->sample_only;
    const uint32_t inspections = s->sizes.superbatches + !only;
    for (uint32_t i = 0; i < inspections; i++) {
        GNN_TRY(gnn_check_stop(s->env, err));
        if (i < s->sizes.superbatches)
            GNN_TRY(ginex_superbatch_open(s, i, &s->sampled, err));
        GNN_TRY(ginex_inspect(s, out, err));
        if (i > 0 && !only)
            GNN_TRY(ginex_execute(s, out, err));
        store_sampled(s);
    }
    return GNN_OK;
}

static void fill_figures(const struct ginex *s, const struct ginex_neighbours_counters *lists,
                         struct gnn_epoch_result *out)
{
    const struct ginex_epoch_figures *f = &s->figures;
    gnn_epoch_figure(out, "superbatches", s->sizes.superbatches);
    gnn_epoch_figure(out, "sample_ns", f->sample_ns);
    gnn_epoch_figure(out, "neighbour_load_ns", f->neighbour_load_ns);
    gnn_epoch_figure(out, "neighbour_build_ns", s->prepare_ns);
    gnn_epoch_figure(out, "list_hits", lists->cached_lists);
    gnn_epoch_figure(out, "list_misses", lists->read_lists);
    gnn_epoch_figure(out, "list_read_bytes", lists->list_bytes);
    gnn_epoch_figure(out, "trace_written_bytes", f->trace_written_bytes);
    gnn_epoch_figure(out, "trace_read_bytes", f->trace_read_bytes);
    if (s->env->workload->sample_only)
        return;
    gnn_epoch_figure(out, "pass1_ns", f->pass_ns[0]);
    gnn_epoch_figure(out, "pass2_ns", f->pass_ns[1]);
    gnn_epoch_figure(out, "pass3_ns", f->pass_ns[2]);
    gnn_epoch_figure(out, "fill_ns", f->fill_ns);
    gnn_epoch_figure(out, "fill_rows", f->fill_rows);
    gnn_epoch_figure(out, "cache_rows", s->sizes.cache_rows);
    gnn_epoch_figure(out, "superbatch_accesses", f->accesses_max);
}

static void fill_result(const struct ginex *s, struct gnn_epoch_result *out)
{
    const struct ginex_epoch_figures *f = &s->figures;
    struct gnn_counters *c = &out->counters;
    struct ginex_neighbours_counters lists;
    ginex_neighbours_take_counters(s->neighbours, &lists);
    gnn_sampling_counters(s->sampling, &c->sample);
    c->needed_bytes =
        c->sample.sampled_edges * s->env->dataset->id_bytes + f->gathered_rows * s->env->dataset->row_bytes;
    /* A fill through the mapping comes on top: only the kernel knows what it reads. */
    c->requested_bytes = lists.list_bytes + lists.load_bytes + f->trace_read_bytes + f->feature_bytes;
    c->requested_ios = lists.list_ios + lists.load_ios + f->trace_read_ios + f->feature_ios;
    c->requested_write_bytes = f->trace_written_bytes;
    c->requested_write_ios = f->trace_writes;
    c->prepare_disk_bytes = ginex_neighbours_file_bytes(s->neighbours);
    out->prepare_ns = f->inspect_ns - f->sample_ns + f->fill_ns;
    fill_figures(s, &lists, out);
    if (s->env->workload->sample_only)
        return;
    c->cache_hits = f->gathered_rows - f->misses;
    c->cache_misses = f->misses;
    c->cache_evictions = f->evictions;
    c->rows_asked = f->gathered_rows;
    c->rows_read = f->misses + f->fill_rows;
    gnn_training_result(&s->training, out);
}

enum { ACCESSES_A_ROW = 4 }; /* below, filling the cache is what an epoch measures */

/* Says so where the superbatches ask for too little for their feature cache. */
static void warn_of_filling(const struct ginex *s)
{
    const uint64_t accesses = s->figures.accesses_max, rows = s->sizes.cache_rows;
    if (accesses == 0 || accesses >= ACCESSES_A_ROW * rows)
        return;
    gnn_log_warn("ginex: a superbatch requests %" PRIu64 " rows, fewer than %d times the %" PRIu64
                 " rows of the feature cache, so that filling the cache dominates; lower ginex.feature_cache or raise "
                 "ginex.superbatch",
                 accesses, ACCESSES_A_ROW, rows);
}

enum gnn_status ginex_epoch(void *state, uint64_t epoch, struct gnn_epoch_result *out, struct gnn_err *err)
{
    struct ginex *s = state;
    gnn_sampling_begin(s->sampling, epoch);
    gnn_training_begin(&s->training);
    s->figures = (struct ginex_epoch_figures){.sample_ns = 0};
    const enum gnn_status status = run_superbatches(s, out, err);
    store_sampled(s);
    store_sampled(s);
    ginex_drop_cache(s);
    fill_result(s, out);
    if (status == GNN_OK && epoch == 0)
        warn_of_filling(s);
    return status;
}

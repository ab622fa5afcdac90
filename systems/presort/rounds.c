/* SPDX-License-Identifier: MIT */
#include "systems/presort/rounds_state.h"

#include "harness/base/log.h"
#include "harness/base/rng.h"
#include "harness/sample/batch.h"
#include "systems/presort/distribute.h"
#include "systems/presort/spool.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { ROUND_BATCHES_MAX = 4096 };

/* ---- sizes ---- */

/* Zeros where a mini-batch has no bounds, which open refuses. */
static void bounds_of(const struct gnn_env *env, struct gnn_sample_bounds *out)
{
    const struct gnn_workload *const load = env->workload;
    const uint32_t seeds = gnn_min_u32(load->batch_size, env->dataset->train.count);
    if (gnn_sample_bounds(env->dataset, seeds, load->fanout, load->layers, out, NULL) != GNN_OK)
        *out = (struct gnn_sample_bounds){.layers = load->layers};
}

/* A mini-batch's nodes but those that its last hop adds have a want each. */
uint64_t presort_rounds_batch_bytes(const struct gnn_env *env)
{
    struct gnn_sample_bounds bounds;
    uint64_t words = 0;
    bounds_of(env, &bounds);
    for (uint32_t l = 1; l <= bounds.layers; l++)
        words += bounds.edges[l];
    return gnn_round_up((words + UINT64_C(2) * bounds.nodes[bounds.layers - 1] + 2) * sizeof(gnn_node), GNN_PAGE_BYTES);
}

static uint32_t batches_max_of(const struct gnn_env *env)
{
    return gnn_min_u32(gnn_epoch_batches(env), ROUND_BATCHES_MAX);
}

static uint64_t begins_of(const struct gnn_env *env)
{
    return env->workload->layers * (batches_max_of(env) + UINT64_C(1));
}

static struct gnn_span_reader_config reads_config(const struct gnn_env *env, const struct presort_config *config)
{
    return (struct gnn_span_reader_config){.engine = env->io_engine,
                                           .depth = config->depth + 1,
                                           .span_bytes_max = read_bytes_max(config),
                                           .mem_flags = GNN_MEM_PLAIN};
}

uint64_t presort_rounds_bytes(const struct gnn_env *env, const struct presort_config *config, uint64_t drawn_bytes)
{
    struct gnn_sample_bounds bounds;
    bounds_of(env, &bounds);
    const uint32_t nodes = bounds.nodes[bounds.layers - 1];
    const struct gnn_span_reader_config reads = reads_config(env, config);
    const uint64_t arrays = gnn_round_up(begins_of(env) * sizeof(uint32_t), GNN_PAGE_BYTES) +
                            gnn_round_up(nodes * sizeof(gnn_node), GNN_PAGE_BYTES) +
                            gnn_round_up(gnn_id_map_bytes(env->dataset->node_count, nodes), GNN_PAGE_BYTES);
    const uint64_t tapes = env->workload->sample_only ? 0 : 2 * presort_tape_bytes();
    return gnn_add_bytes(gnn_add_bytes(arrays + tapes, gnn_span_reader_bytes(&reads)),
                         gnn_round_up(drawn_bytes, GNN_PAGE_BYTES));
}

/* ---- open, close ---- */

/* GNN_EUSAGE: a mini-batch may draw more than a round can hold. */
static enum gnn_status check_bounds(const struct presort_setup *setup, struct gnn_err *err)
{
    struct gnn_sample_bounds bounds;
    bounds_of(setup->env, &bounds);
    if (bounds.nodes[0] > 0 && presort_rounds_batch_bytes(setup->env) <= setup->sizes.drawn_bytes)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE,
                    "presort.topology=swept: a mini-batch of %" PRIu32
                    " seeds could draw more neighbours than a round can hold: lower --batch or --fanout, or set "
                    "presort.topology=mapped",
                    setup->env->workload->batch_size);
}

static enum gnn_status open_memory(struct presort_rounds *r, struct gnn_err *err)
{
    struct gnn_sample_bounds bounds;
    bounds_of(r->env, &bounds);
    const uint32_t nodes = bounds.nodes[bounds.layers - 1], universe = r->env->dataset->node_count;
    GNN_MEM_NEW(r->world, r->drawn, r->words, "presort drawn neighbours", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(r->world, r->begin, begins_of(r->env), "presort mini-batches of a round", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(r->world, r->nodes, nodes, "presort nodes of a mini-batch", GNN_MEM_PLAIN, err);
    GNN_TRY(gnn_mem_alloc(r->world, "presort index of nodes", gnn_id_map_bytes(universe, nodes), GNN_MEM_PLAIN,
                          &r->map_memory, err));
    gnn_id_map_init_growing(&r->map, r->map_memory, universe, nodes);
    return GNN_OK;
}

/* What waits on a tape can be drawn ahead. */
static enum gnn_status open_tapes(struct presort_rounds *r, struct gnn_err *err)
{
    if (r->env->workload->sample_only)
        return GNN_OK;
    GNN_TRY(presort_tape_open(r->world, &r->tape, err));
    GNN_TRY(presort_tape_open(r->world, &r->back, err));
    return gnn_team_open(r->world, 1, &r->team, err);
}

enum gnn_status presort_rounds_open(const struct presort_setup *setup, struct presort_rounds **out, struct gnn_err *err)
{
    const struct gnn_env *const env = setup->env;
    struct gnn_span_reader_config reads = reads_config(env, setup->config);
    struct presort_rounds *r;
    *out = NULL;
    GNN_TRY(check_bounds(setup, err));
    GNN_NEW(r, 1, err, "presort's rounds");
    *out = r;
    r->setup = setup;
    r->env = env;
    r->world = env->world;
    r->sample_key = gnn_rng_fork(env->workload->seed, "sample");
    r->batches_max = batches_max_of(env);
    r->words = gnn_round_down(setup->sizes.drawn_bytes / sizeof *r->drawn, 2);
    assert(r->words <= UINT32_MAX);
    r->next_batches = setup->sizes.round_batches;
    r->turn = PRESORT_ALIVE - 1;
    GNN_TRY(open_memory(r, err));
    GNN_TRY(open_tapes(r, err));
    GNN_TRY(gnn_dataset_file_open(env, GNN_DATASET_INDICES, presort_direct_flag(setup->config), &r->file,
                                  &r->align_bytes, err));
    GNN_TRY(gnn_stream_attach(env->world, r->file, env->dataset->indices_bytes, &r->lists, err));
    reads.file = r->file;
    return gnn_span_reader_open(env->world, &reads, &r->reader, err);
}

void presort_rounds_close(struct presort_rounds *r)
{
    if (r == NULL)
        return;
    gnn_span_reader_close(r->reader);
    gnn_stream_close(r->lists);
    gnn_file_close(r->world, r->file);
    gnn_team_close(r->team);
    presort_tape_close(&r->back);
    presort_tape_close(&r->tape);
    gnn_mem_free(r->world, r->map_memory);
    gnn_mem_free(r->world, r->nodes);
    gnn_mem_free(r->world, r->begin);
    gnn_mem_free(r->world, r->drawn);
    free(r);
}

void presort_rounds_begin(struct presort_rounds *r, const struct gnn_sampling *sampling, uint64_t epoch)
{
    r->sampling = sampling;
    r->epoch = epoch;
    r->current = (struct round){.batches = 0};
    r->ahead = false;
    r->spools = !r->disk_full && !r->env->workload->sample_only;
    if (!r->spools)
        return;
    r->turn = (r->turn + 1) % PRESORT_ALIVE;
    presort_tape_begin(&r->tape, r->setup->tapes[r->turn]);
}

/* ---- the tape ---- */

/* Where on the tape what mini-batch j of the round drew begins, from where the round does. */
static uint64_t spool_offset(const struct presort_rounds *r, uint32_t j)
{
    uint64_t words = 0;
    for (uint32_t hop = 1; hop <= r->env->workload->layers; hop++)
        words += j + UINT64_C(1) * (*begin_of(r, hop, j) - *begin_of(r, hop, 0));
    return words * sizeof(uint32_t);
}

static enum gnn_status put_batch(struct presort_rounds *r, uint32_t j, struct gnn_err *err)
{
    for (uint32_t hop = 1; hop <= r->env->workload->layers; hop++) {
        const uint32_t begin = *begin_of(r, hop, j), count = *begin_of(r, hop, j + 1) - begin;
        GNN_TRY(presort_tape_put(&r->tape, &count, sizeof count, err));
        GNN_TRY(presort_tape_put(&r->tape, r->drawn + begin, count * sizeof *r->drawn, err));
    }
    return GNN_OK;
}

/* Returns how many of the round's mini-batches have room on the tape, by the limits that the options set. */
static uint32_t room_on_tape(const struct presort_rounds *r)
{
    const uint64_t most = gnn_min_u64(presort_file_bytes(r->setup), presort_spool_budget_bytes(r->setup->config));
    uint32_t j = r->batches;
    while (j > 0 && gnn_round_up(r->done.begin_bytes + spool_offset(r, j), GNN_PAGE_BYTES) > most)
        j--;
    return j;
}

static enum gnn_status write_tape(struct presort_rounds *r, uint32_t batches, struct gnn_err *err)
{
    const uint32_t goes_on = PRESORT_TAPE_GOES_ON;
    for (uint32_t j = 0; j < batches; j++)
        GNN_TRY(put_batch(r, j, err));
    if (presort_tape_position(&r->tape) % GNN_PAGE_BYTES > 0)
        GNN_TRY(presort_tape_put(&r->tape, &goes_on, sizeof goes_on, err));
    return presort_tape_flush(&r->tape, err);
}

/* Writes what the round drew. From the first mini-batch on that has no room none of the epoch is written. */
static enum gnn_status spool(struct presort_rounds *r, struct gnn_err *err)
{
    struct gnn_err why = {0};
    r->done = (struct round){.first = r->first, .batches = r->batches};
    if (!r->spools)
        return GNN_OK;
    r->done.begin_bytes = presort_tape_position(&r->tape);
    const uint32_t batches = room_on_tape(r);
    const enum gnn_status status = write_tape(r, batches, &why);
    r->spools = status == GNN_OK && batches == r->batches;
    if (status == GNN_OK) {
        r->done.spooled = batches;
        r->done.end_bytes = r->done.begin_bytes + spool_offset(r, batches);
        return GNN_OK;
    }
    if (status != GNN_ENOSPC)
        return gnn_fail(err, status, "%s", why.message);
    r->disk_full = true;
    r->counts.full++;
    gnn_log_warn("presort: drawn neighbours are no longer written, but drawn again through a mapping: %s", why.message);
    return GNN_OK;
}

/* ---- a round ---- */

/* Lets the next round begin with as many mini-batches as this one would have had room for. */
static void guess_next(struct presort_rounds *r)
{
    const uint64_t words = *begin_of(r, r->env->workload->layers, r->batches) + 2 * r->want_count;
    r->next_batches = words > 0 ? r->batches * r->words / words : r->batches_max;
}

static enum gnn_status draw_round(struct presort_rounds *r, uint32_t first, struct gnn_err *err)
{
    const uint64_t start_ns = gnn_now_ns(r->world);
    const uint32_t most = gnn_min_u32(r->setup->sizes.batches - first, r->batches_max);
    r->first = first;
    r->batches = (uint32_t)gnn_max_u64(gnn_min_u64(r->next_batches, most), 1);
    for (r->hop = 1; r->hop <= r->env->workload->layers; r->hop++)
        GNN_TRY(presort_rounds_draw_hop(r, err));
    guess_next(r);
    GNN_TRY(spool(r, err));
    r->counts.rounds++;
    r->counts.draw_ns += gnn_now_ns(r->world) - start_ns;
    return GNN_OK;
}

/* ---- mini-batches ---- */

static enum gnn_status draw_ahead(void *ctx, uint32_t part, uint32_t parts, struct gnn_err *err)
{
    struct presort_rounds *const r = ctx;
    (void)part;
    (void)parts;
    return draw_round(r, r->current.first + r->current.batches, err);
}

/* Lets the team draw the round behind the current one, of which nothing in memory is taken any more. */
static void post_next(struct presort_rounds *r)
{
    gnn_team_post(r->team, draw_ahead, r);
    r->ahead = true;
}

enum gnn_status presort_rounds_stage(struct presort_rounds *r, struct gnn_pipeline *pipeline, struct gnn_err *err)
{
    return gnn_team_stage(r->team, pipeline, "draw", err);
}

void presort_rounds_done(struct presort_rounds *r)
{
    gnn_team_done(r->team);
}

/* The current round becomes the one behind it, which is waited for. Where there is another one and all of its
 * mini-batches are on the tape they come from there, and that one is drawn at once; else it stays in memory. */
static enum gnn_status take_round(struct presort_rounds *r)
{
    if (!r->ahead)
        post_next(r);
    GNN_TRY(gnn_team_wait(r->team));
    r->ahead = false;
    r->current = r->done;
    r->taken_bytes = r->current.begin_bytes;
    const bool last = r->current.first + r->current.batches == r->setup->sizes.batches;
    if (last || r->current.spooled < r->current.batches)
        return GNN_OK;
    presort_tape_seek(&r->back, r->setup->tapes[r->turn], r->current.begin_bytes, r->current.end_bytes);
    post_next(r);
    return GNN_OK;
}

static enum gnn_status next_round(struct presort_rounds *r, uint32_t first, struct gnn_err *err)
{
    if (r->team != NULL)
        return take_round(r);
    GNN_TRY(draw_round(r, first, err));
    r->current = r->done;
    return GNN_OK;
}

enum gnn_status presort_rounds_reach(struct presort_rounds *r, uint32_t k, struct gnn_err *err)
{
    assert(k >= r->current.first);
    assert(k <= r->current.first + r->current.batches);
    if (k == r->current.first + r->current.batches)
        GNN_TRY(next_round(r, k, err));
    r->reached = k - r->current.first;
    r->reached_hop = 0;
    r->reached_bytes = r->taken_bytes;
    return GNN_OK;
}

void presort_rounds_add(const struct presort_rounds *r, uint32_t k, struct presort_spooled *spooled)
{
    assert(k == r->current.first + r->reached);
    if (r->reached >= r->current.spooled)
        return;
    if (spooled->batches++ == 0) {
        spooled->tape = r->turn;
        spooled->begin_bytes = r->reached_bytes;
    }
    spooled->end_bytes = r->taken_bytes;
}

/* ---- the source ---- */

struct source {
    struct gnn_neighbour_source base;
    struct presort_rounds *rounds;
};

static enum gnn_status fetch(struct gnn_neighbour_source *source, const uint64_t *edge_offset, uint64_t count,
                             gnn_node *out, struct gnn_err *err)
{
    struct presort_rounds *const r = ((const struct source *)source)->rounds;
    (void)edge_offset;
    r->taken_bytes += (count + 1) * sizeof *out;
    if (r->ahead)
        return presort_spool_take(&r->back, count, out, err);
    const uint32_t begin = *begin_of(r, ++r->reached_hop, r->reached);
    assert(begin + count == *begin_of(r, r->reached_hop, r->reached + 1));
    gnn_mem_copy(r->world, out, r->drawn + begin, count * sizeof *out);
    return GNN_OK;
}

static void close_source(struct gnn_neighbour_source *source)
{
    free(source);
}

static const struct gnn_neighbour_source_ops rounds_ops = {.name = "rounds", .fetch = fetch, .close = close_source};

enum gnn_status presort_rounds_source(void *rounds, uint32_t worker, struct gnn_neighbour_source **out,
                                      struct gnn_err *err)
{
    struct source *source;
    (void)worker;
    GNN_NEW(source, 1, err, "presort: source of drawn neighbours");
    *source = (struct source){.base = {&rounds_ops}, .rounds = rounds};
    *out = &source->base;
    return GNN_OK;
}

/* ---- figures ---- */

void presort_rounds_take_counts(struct presort_rounds *r, struct presort_rounds_counts *out)
{
    struct gnn_reader_counters now;
    struct presort_tape_counts tape, back;
    gnn_span_reader_counters(r->reader, &now);
    presort_tape_take_counts(&r->tape, &tape);
    presort_tape_take_counts(&r->back, &back);
    *out = r->counts;
    out->read_bytes = now.requested_bytes - r->read.requested_bytes;
    out->reads = now.requested_ios - r->read.requested_ios;
    out->written_bytes = tape.written_bytes;
    out->writes = tape.writes;
    out->back_bytes = back.read_bytes;
    out->back_reads = back.reads;
    r->read = now;
    r->counts = (struct presort_rounds_counts){.rounds = 0};
}

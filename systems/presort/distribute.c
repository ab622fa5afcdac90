/* SPDX-License-Identifier: MIT */
#include "systems/presort/distribute.h"

#include "harness/base/bitset.h"
#include "harness/base/log.h"
#include "harness/storage/ring_reads.h"
#include "systems/presort/kept.h"
#include "systems/presort/order.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* Rows that are swept together, each at its place: the packed ones, or the others among the features. */
struct pass {
    const struct gnn_stream *stream;
    struct gnn_span_reader *reader;
    uint32_t (*next)(const struct presort_classes *classes, uint32_t place); /* that has a sorted row */
    uint32_t places, align_bytes;
    bool packed;
};

struct presort_distributor {
    const struct presort_setup *setup;
    struct gnn_world *world;
    struct presort_hot *hot; /* NULL: no rows are packed */
    struct gnn_stream *features;
    struct gnn_span_reader *sweep;
    struct gnn_ring_reads ring; /* of writes alone */
    unsigned char *staging;     /* buffers of the hyperbatch's block size */
    uint32_t *spare;            /* (windows_max + write_depth) stack of buffers */
    uint32_t *buffer, *filled;  /* (windows_max) of each window: its buffer or NONE, bytes in it */
    uint32_t *cursor;           /* (windows_max) its next load */
    uint32_t spare_count;
    bool disk_full; /* nothing is sorted any more */

    /* Of one distribution. */
    struct presort_hyperbatch *x;
    const struct presort_classes *classes;
    struct pass pass;
    uint32_t next_place; /* of the pass's next read */
    gnn_node next_fresh; /* among the features: rows before it are packed, or were passed */
};

/* ---- open, close ---- */

static struct gnn_span_reader_config sweep_config(const struct gnn_env *env, const struct presort_config *config)
{
    return (struct gnn_span_reader_config){.engine = env->io_engine,
                                           .depth = config->sweep_depth + 1,
                                           .span_bytes_max = presort_sweep_span_bytes(env, config),
                                           .mem_flags = GNN_MEM_FEATURES};
}

uint64_t presort_distributor_bytes(const struct gnn_env *env, const struct presort_config *config,
                                   const struct presort_sizes *sizes)
{
    const struct gnn_span_reader_config sweep = sweep_config(env, config);
    const uint64_t arrays = gnn_mul_bytes(sizes->windows_max * UINT64_C(4) + config->write_depth, sizeof(uint32_t));
    return gnn_add_bytes(gnn_add_bytes(arrays, sizes->staging_bytes), gnn_span_reader_bytes(&sweep));
}

static enum gnn_status open_memory(struct presort_distributor *d, struct gnn_err *err)
{
    const uint32_t windows = d->setup->sizes.windows_max;
    GNN_MEM_NEW(d->world, d->staging, d->setup->sizes.staging_bytes, "presort staging", GNN_MEM_FEATURES, err);
    GNN_MEM_NEW(d->world, d->spare, windows + (uint64_t)d->setup->config->write_depth, "presort spare buffers",
                GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(d->world, d->buffer, windows, "presort buffers", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(d->world, d->filled, windows, "presort buffers", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(d->world, d->cursor, windows, "presort buffers", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

enum gnn_status presort_distributor_open(const struct presort_setup *setup, struct presort_hot *hot,
                                         struct presort_distributor **out, struct gnn_err *err)
{
    const struct gnn_env *const env = setup->env;
    const uint32_t depth = setup->config->write_depth;
    const struct gnn_ring_reads_config ring = {
        .ring = {.engine = env->io_engine, .depth = depth}, .batch_max = depth, .short_reads = GNN_SHORT_RESUMES};
    struct gnn_span_reader_config sweep = sweep_config(env, setup->config);
    struct presort_distributor *d;
    GNN_NEW(d, 1, err, "presort's distribution");
    *out = d;
    d->setup = setup;
    d->world = env->world;
    d->hot = hot;
    sweep.file = setup->features;
    GNN_TRY(open_memory(d, err));
    GNN_TRY(gnn_stream_attach(env->world, setup->features, env->dataset->feature_bytes, &d->features, err));
    GNN_TRY(gnn_span_reader_open(env->world, &sweep, &d->sweep, err));
    return gnn_ring_reads_open(env->world, &ring, &d->ring, err);
}

void presort_distributor_close(struct presort_distributor *d)
{
    if (d == NULL)
        return;
    gnn_ring_reads_close(&d->ring);
    gnn_span_reader_close(d->sweep);
    gnn_stream_close(d->features);
    gnn_mem_free(d->world, d->cursor);
    gnn_mem_free(d->world, d->filled);
    gnn_mem_free(d->world, d->buffer);
    gnn_mem_free(d->world, d->spare);
    gnn_mem_free(d->world, d->staging);
    free(d);
}

/* ---- room ---- */

uint64_t presort_file_bytes(const struct presort_setup *setup)
{
    const uint32_t packed = setup->sizes.hot_places > 0 ? 1 : 0, lists = setup->config->reuse > 1 ? 1 : 0;
    const uint32_t tapes = setup->sizes.topology == PRESORT_TOPOLOGY_SWEPT ? PRESORT_ALIVE : 0;
    return setup->config->scratch_limit / (PRESORT_ALIVE + packed + lists + tapes);
}

uint64_t presort_spool_budget_bytes(const struct presort_config *config)
{
    return config->write_budget / 2;
}

uint64_t presort_budget_bytes(const struct presort_setup *setup, const struct presort_hyperbatch *x)
{
    const bool swept = setup->sizes.topology == PRESORT_TOPOLOGY_SWEPT;
    const uint64_t spool = swept ? presort_spool_budget_bytes(setup->config) : 0;
    return gnn_mul_bytes((setup->config->write_budget - spool) / setup->sizes.batches, x->batches);
}

/* Returns what the hyperbatch may write beside its lists. */
static uint64_t budget_beside_lists(const struct presort_distributor *d, const struct presort_hyperbatch *x)
{
    const uint64_t budget = presort_budget_bytes(d->setup, x), lists = x->keeps ? presort_kept_list_bytes(x) : 0;
    assert(lists <= budget);
    return budget - lists;
}

void presort_distributor_cut(const struct presort_distributor *d, struct presort_hyperbatch *x)
{
    const struct presort_setup *const setup = d->setup;
    const uint64_t buffers = x->windows + (uint64_t)setup->config->write_depth;
    const uint64_t room = gnn_round_down(setup->sizes.staging_bytes / buffers, GNN_PAGE_BYTES);
    x->block_bytes = (uint32_t)gnn_min_u64(room, setup->config->block_bytes);
    x->block_rows = x->block_bytes / setup->env->dataset->row_bytes;
}

uint64_t presort_distributor_room(const struct presort_distributor *d, const struct presort_hyperbatch *x)
{
    const struct presort_setup *const setup = d->setup;
    const uint64_t file_bytes = presort_file_bytes(setup);
    if (d->disk_full || x->block_rows == 0 || file_bytes < x->base_bytes)
        return 0;
    const uint64_t bytes = gnn_min_u64(budget_beside_lists(d, x), file_bytes - x->base_bytes);
    const uint64_t blocks = gnn_min_u64(bytes / x->block_bytes, setup->sizes.blocks_max);
    return blocks > x->windows ? (blocks - x->windows) * x->block_rows : 0; /* every window's last may be short */
}

/* ---- writes ---- */

/* Waits until at least `min` of the writes under way are done; their buffers are spare then. */
static enum gnn_status take_written(struct presort_distributor *d, uint32_t min, struct gnn_err *err)
{
    const uint32_t in_flight = gnn_ring_reads_in_flight(&d->ring);
    for (uint32_t done = 0; done < min;) {
        uint64_t tags[16];
        uint32_t got;
        const uint32_t max = gnn_min_u32(in_flight - done, sizeof tags / sizeof *tags);
        GNN_TRY(gnn_ring_reads_wait(&d->ring, 1, max, tags, &got, err));
        for (uint32_t i = 0; i < got; i++)
            d->spare[d->spare_count++] = (uint32_t)tags[i];
        done += got;
    }
    return GNN_OK;
}

/* Puts the next block of the file at the end of a window's list. */
static uint32_t add_block(struct presort_hyperbatch *x, uint32_t w)
{
    const uint32_t block = x->blocks++;
    assert(block < x->setup->sizes.blocks_max);
    x->next_block[block] = NONE;
    if (x->last_block[w] == NONE)
        x->first_block[w] = block;
    else
        x->next_block[x->last_block[w]] = block;
    x->last_block[w] = block;
    return block;
}

/* Hands window w's buffer over, whole pages of it. */
static enum gnn_status write_buffer(struct presort_distributor *d, uint32_t w, struct gnn_err *err)
{
    struct presort_hyperbatch *const x = d->x;
    const uint32_t buffer = d->buffer[w];
    if (gnn_ring_reads_in_flight(&d->ring) == d->setup->config->write_depth)
        GNN_TRY(take_written(d, 1, err));
    struct gnn_write write = {.file = x->scratch->file,
                              .offset_bytes = x->base_bytes + (uint64_t)add_block(x, w) * x->block_bytes,
                              .src = d->staging + (uint64_t)buffer * x->block_bytes,
                              .len_bytes = (uint32_t)gnn_round_up(d->filled[w], GNN_PAGE_BYTES),
                              .tag = buffer};
    d->buffer[w] = NONE;
    return gnn_ring_reads_submit_writes(&d->ring, &write, 1, err);
}

/* Appends a row to window w's block. */
static enum gnn_status append(struct presort_distributor *d, uint32_t w, const unsigned char *row, struct gnn_err *err)
{
    const uint32_t row_bytes = d->setup->env->dataset->row_bytes;
    if (d->buffer[w] == NONE) {
        if (d->spare_count == 0)
            GNN_TRY(take_written(d, 1, err));
        d->buffer[w] = d->spare[--d->spare_count];
        d->filled[w] = 0;
    }
    unsigned char *const to = d->staging + (uint64_t)d->buffer[w] * d->x->block_bytes + d->filled[w];
    gnn_mem_copy(d->world, to, row, row_bytes);
    d->filled[w] += row_bytes;
    return d->filled[w] + row_bytes > d->x->block_bytes ? write_buffer(d, w, err) : GNN_OK;
}

static enum gnn_status write_rest(struct presort_distributor *d, struct gnn_err *err)
{
    for (uint32_t w = 0; w < d->x->windows; w++)
        if (d->buffer[w] != NONE)
            GNN_TRY(write_buffer(d, w, err));
    return take_written(d, gnn_ring_reads_in_flight(&d->ring), err);
}

/* ---- what is packed ---- */

/* Returns what the sorted loads take in the scratch file: blocks, and whole pages of each window's last. */
static uint64_t extents_bytes(const struct presort_distributor *d)
{
    const struct presort_hyperbatch *const x = d->x;
    const uint64_t row_bytes = d->setup->env->dataset->row_bytes;
    uint64_t bytes = 0;
    for (uint32_t w = 0; w < x->windows; w++) {
        uint64_t rows = 0;
        for (uint32_t i = presort_begin_of(x->load_end, w); i < x->load_end[w]; i++)
            rows += presort_classes_sorted(d->classes, x->loads[i].row);
        bytes += rows / x->block_rows * gnn_round_up(x->block_rows * row_bytes, GNN_PAGE_BYTES) +
                 gnn_round_up(rows % x->block_rows * row_bytes, GNN_PAGE_BYTES);
    }
    return bytes;
}

/* Returns what the hyperbatch may write beside its extents and lists. */
static uint64_t budget_left_bytes(const struct presort_distributor *d)
{
    const uint64_t budget = budget_beside_lists(d, d->x), extents = extents_bytes(d);
    assert(extents <= budget);
    return budget - extents;
}

/* ---- the sweep ---- */

/* Puts the loads of each window in the order in which the sweep meets them. */
static void order_loads(struct presort_distributor *d)
{
    struct presort_hyperbatch *const x = d->x;
    gnn_charge(d->world, GNN_WORK_TABLE_ENTRY, x->load_end[x->windows - 1]);
    for (uint32_t w = 0; w < x->windows; w++) {
        const uint32_t begin = presort_begin_of(x->load_end, w);
        const uint32_t keys = presort_order_as_swept(d->hot, d->classes, x->loads + begin, x->load_end[w] - begin);
        gnn_charge(d->world, GNN_WORK_SORTED_KEY, keys);
    }
}

static struct pass features_pass(const struct presort_distributor *d)
{
    return (struct pass){.stream = d->features,
                         .reader = d->sweep,
                         .next = presort_classes_next,
                         .places = d->setup->env->dataset->node_count,
                         .align_bytes = d->setup->align_bytes};
}

static struct pass packed_pass(const struct presort_distributor *d)
{
    return (struct pass){.stream = presort_hot_stream(d->hot),
                         .reader = presort_hot_reader(d->hot),
                         .next = presort_classes_next_packed,
                         .places = presort_hot_packed(d->hot)->places,
                         .align_bytes = GNN_PAGE_BYTES,
                         .packed = true};
}

/* Cuts the sorted rows of a pass into reads: on through gaps that cost less than another request. A span's tag is its
 * last place. */
static bool next_span(void *ctx, struct gnn_span *out)
{
    struct presort_distributor *const d = ctx;
    const struct pass *const pass = &d->pass;
    const uint64_t row_bytes = d->setup->env->dataset->row_bytes;
    const uint64_t most = presort_sweep_span_bytes(d->setup->env, d->setup->config);
    uint32_t place = pass->next(d->classes, d->next_place), last = place;
    if (place == pass->places)
        return false;
    const uint64_t begin = gnn_round_down(place * row_bytes, pass->align_bytes);
    uint64_t end = (place + UINT64_C(1)) * row_bytes;
    for (;;) {
        place = pass->next(d->classes, last + 1);
        const uint64_t at = place * row_bytes;
        if (place == pass->places || !presort_goes_on(&d->setup->sizes.costs, pass->align_bytes, end, at) ||
            gnn_round_up(at + row_bytes, pass->align_bytes) - begin > most)
            break;
        last = place;
        end = at + row_bytes;
    }
    d->next_place = place;
    end = gnn_min_u64(gnn_round_up(end, pass->align_bytes), gnn_stream_bytes(pass->stream));
    *out = (struct gnn_span){.stream = pass->stream, .offset_bytes = begin, .len_bytes = end - begin, .tag = last};
    return true;
}

/* NONE: the row is not of the packed pass, and nor are those after it. */
static uint32_t packed_place(const struct presort_distributor *d, gnn_node row, bool sorted)
{
    const bool packed = sorted && gnn_bitset_has(presort_hot_packed(d->hot)->members, row);
    return packed ? presort_hot_place(d->hot, row) : NONE;
}

/* Copies window w's loads that the span covers, and marks them. */
static enum gnn_status take_rows(struct presort_distributor *d, uint32_t w, const struct gnn_span *span,
                                 const unsigned char *data, struct gnn_err *err)
{
    struct presort_hyperbatch *const x = d->x;
    const uint64_t row_bytes = d->setup->env->dataset->row_bytes;
    for (; d->cursor[w] < x->load_end[w]; d->cursor[w]++) {
        struct presort_load *const load = &x->loads[d->cursor[w]];
        const bool sorted = presort_classes_sorted(d->classes, load->row);
        const uint32_t place = d->pass.packed ? packed_place(d, load->row, sorted) : load->row;
        if (place > span->tag)
            break;
        if (!sorted)
            continue;
        GNN_TRY(append(d, w, data + (place * row_bytes - span->offset_bytes), err));
        load->slot |= PRESORT_SORTED_LOAD;
    }
    return GNN_OK;
}

/* Appends those of the span's rows that are packed to the file. */
static enum gnn_status pack_rows(struct presort_distributor *d, const struct gnn_span *span, const unsigned char *data,
                                 struct gnn_err *err)
{
    const uint64_t row_bytes = d->setup->env->dataset->row_bytes;
    gnn_node row = presort_classes_next(d->classes, d->next_fresh);
    for (; row <= span->tag; row = presort_classes_next(d->classes, row + 1))
        if (presort_classes_packs(d->classes, row))
            GNN_TRY(presort_hot_append(d->hot, row, data + (row * row_bytes - span->offset_bytes), err));
    d->next_fresh = row;
    return GNN_OK;
}

static enum gnn_status sweep_pass(struct presort_distributor *d, struct pass pass, bool packs, struct gnn_err *err)
{
    d->pass = pass;
    d->next_place = d->next_fresh = 0;
    gnn_span_reader_start(pass.reader, next_span, d);
    for (;;) {
        struct gnn_span span;
        void *data;
        GNN_TRY(gnn_check_stop(d->setup->env, err));
        GNN_TRY(gnn_span_reader_next(pass.reader, &span, &data, err));
        if (data == NULL)
            return GNN_OK;
        gnn_charge(d->world, GNN_WORK_TABLE_ENTRY, d->x->windows);
        for (uint32_t w = 0; w < d->x->windows; w++)
            GNN_TRY(take_rows(d, w, &span, data, err));
        if (packs)
            GNN_TRY(pack_rows(d, &span, data, err));
    }
}

static enum gnn_status sweep(struct presort_distributor *d, struct gnn_err *err)
{
    const bool packs = d->x->decision.packs;
    if (d->hot != NULL && presort_hot_packed(d->hot)->places > 0) {
        order_loads(d);
        GNN_TRY(sweep_pass(d, packed_pass(d), false, err));
    }
    if (packs)
        presort_hot_begin(d->hot, presort_file_bytes(d->setup), budget_left_bytes(d));
    GNN_TRY(sweep_pass(d, features_pass(d), packs, err));
    GNN_TRY(write_rest(d, err));
    return packs ? presort_hot_end(d->hot, err) : GNN_OK;
}

/* ---- a hyperbatch ---- */

static void begin(struct presort_distributor *d, struct presort_hyperbatch *x, const struct presort_classes *classes)
{
    const uint32_t buffers = x->windows + d->setup->config->write_depth;
    d->x = x;
    d->classes = classes;
    x->blocks = d->spare_count = 0;
    for (uint32_t i = buffers; i-- > 0;)
        d->spare[d->spare_count++] = i;
    for (uint32_t w = 0; w < x->windows; w++) {
        d->buffer[w] = x->first_block[w] = x->last_block[w] = NONE;
        d->cursor[w] = presort_begin_of(x->load_end, w);
    }
}

/* Waits for the reads and writes under way; what comes of them is of no interest any more. */
static void stop(struct presort_distributor *d)
{
    gnn_ring_reads_drain(&d->ring);
    gnn_span_reader_start(d->sweep, next_span, d);
    if (d->hot == NULL)
        return;
    presort_hot_cancel(d->hot);
    gnn_span_reader_start(presort_hot_reader(d->hot), next_span, d);
}

/* Gives the hyperbatch's extents up, so that each of its loads is read where it lies, ascending as direct ones are. */
static void fall_back(struct presort_distributor *d, const struct gnn_err *why)
{
    struct presort_hyperbatch *const x = d->x;
    stop(d);
    for (uint32_t i = 0; i < x->load_end[x->windows - 1]; i++)
        x->loads[i].slot &= ~PRESORT_SORTED_LOAD;
    for (uint32_t w = 0; w < x->windows; w++) {
        const uint32_t begin = presort_begin_of(x->load_end, w);
        x->first_block[w] = NONE;
        if (d->hot != NULL)
            (void)presort_order_by_row(x->loads + begin, x->load_end[w] - begin);
    }
    d->disk_full = true;
    gnn_log_warn("presort: rows are no longer sorted ahead, but read one by one: %s", why->message);
}

static void count_packed(struct presort_distributor *d, struct presort_prepared *figures)
{
    struct presort_hot_counts counts;
    presort_hot_take_counts(d->hot, &counts);
    figures->hot_rows += counts.rows;
    figures->hot_written_bytes += counts.written_bytes;
    figures->hot_writes += counts.writes;
    figures->hot_read_bytes += counts.read_bytes;
    figures->hot_full += counts.full;
    figures->sweep_bytes += counts.read_bytes;
    figures->sweep_ios += counts.reads;
}

static void count(struct presort_distributor *d, const struct gnn_reader_counters *before,
                  struct presort_prepared *figures)
{
    struct gnn_reader_counters now;
    gnn_span_reader_counters(d->sweep, &now);
    figures->sweep_bytes += now.requested_bytes - before->requested_bytes;
    figures->sweep_ios += now.requested_ios - before->requested_ios;
    figures->sweep_rows += d->x->decision.sorted_rows;
    figures->written_bytes += d->ring.counters.write_bytes;
    figures->writes += d->ring.counters.write_ios;
    d->ring.counters = (struct gnn_ring_counters){.write_ios = 0};
    if (d->hot != NULL)
        count_packed(d, figures);
}

enum gnn_status presort_distribute(struct presort_distributor *d, struct presort_hyperbatch *x,
                                   const struct presort_classes *classes, struct presort_prepared *figures,
                                   struct gnn_err *err)
{
    struct gnn_reader_counters before;
    struct gnn_err why = {0};
    begin(d, x, classes);
    if (x->decision.sorted_loads == 0)
        return GNN_OK;
    gnn_span_reader_counters(d->sweep, &before);
    const enum gnn_status status = sweep(d, &why);
    count(d, &before, figures);
    if (status == GNN_ENOSPC) {
        fall_back(d, &why);
        figures->fallbacks++;
        return GNN_OK;
    }
    if (status != GNN_OK) {
        stop(d);
        return why.status != GNN_OK ? gnn_fail(err, status, "%s", why.message) : status;
    }
    return presort_hyperbatch_attach(x, err);
}

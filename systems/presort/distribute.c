#include "systems/presort/distribute.h"

#include "harness/base/log.h"
#include "harness/storage/ring_reads.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct presort_distributor {
    const struct presort_setup *setup;
    struct gnn_world *world;
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
    gnn_node next_row; /* of the sweep's next read */
};

/* ---- open, close ---- */

static uint64_t sweep_span_bytes(const struct gnn_env *env, const struct presort_config *config)
{
    return gnn_max_u64(gnn_span_room(env->dataset->row_bytes) + UINT64_C(2) * GNN_PAGE_BYTES, config->sweep_read);
}

static struct gnn_span_reader_config sweep_config(const struct gnn_env *env, const struct presort_config *config)
{
    return (struct gnn_span_reader_config){.engine = env->io_engine,
                                           .depth = config->sweep_depth + 1,
                                           .span_bytes_max = sweep_span_bytes(env, config),
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

enum gnn_status presort_distributor_open(const struct presort_setup *setup, struct presort_distributor **out,
                                         struct gnn_err *err)
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

/* Returns the bytes that a hyperbatch may write: its share of the epoch's budget, and of the scratch files of all
 * hyperbatches that are alive. */
static uint64_t bytes_allowed(const struct presort_setup *setup, const struct presort_hyperbatch *x)
{
    const struct presort_config *const config = setup->config;
    const uint64_t a_batch = config->write_budget / setup->sizes.batches;
    return gnn_min_u64(gnn_mul_bytes(a_batch, x->batches), config->scratch_limit / PRESORT_ALIVE);
}

uint64_t presort_distributor_room(const struct presort_distributor *d, struct presort_hyperbatch *x)
{
    const struct presort_setup *const setup = d->setup;
    const uint64_t buffers = x->windows + (uint64_t)setup->config->write_depth;
    const uint64_t room = gnn_round_down(setup->sizes.staging_bytes / buffers, GNN_PAGE_BYTES);
    x->block_bytes = (uint32_t)gnn_min_u64(room, setup->config->block_bytes);
    x->block_rows = x->block_bytes / setup->env->dataset->row_bytes;
    if (d->disk_full || x->block_rows == 0)
        return 0;
    const uint64_t blocks = gnn_min_u64(bytes_allowed(setup, x) / x->block_bytes, setup->sizes.blocks_max);
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
    struct gnn_write write = {.file = x->scratch,
                              .offset_bytes = (uint64_t)add_block(x, w) * x->block_bytes,
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

/* ---- the sweep ---- */

/* Cuts the sorted rows into reads: on through gaps that cost less than another request. A span's tag is its last
 * row. */
static bool next_span(void *ctx, struct gnn_span *out)
{
    struct presort_distributor *const d = ctx;
    const struct gnn_dataset *const dataset = d->setup->env->dataset;
    const uint64_t row_bytes = dataset->row_bytes, most = sweep_span_bytes(d->setup->env, d->setup->config);
    gnn_node row = presort_classes_next(d->classes, d->next_row), last = row;
    if (row == dataset->node_count)
        return false;
    const uint64_t begin = gnn_round_down(row * row_bytes, d->setup->align_bytes);
    uint64_t end = (row + UINT64_C(1)) * row_bytes;
    for (;;) {
        row = presort_classes_next(d->classes, last + 1);
        const uint64_t at = row * row_bytes;
        if (row == dataset->node_count || !presort_goes_on(d->setup, end, at) ||
            gnn_round_up(at + row_bytes, d->setup->align_bytes) - begin > most)
            break;
        last = row;
        end = at + row_bytes;
    }
    d->next_row = row;
    end = gnn_min_u64(gnn_round_up(end, d->setup->align_bytes), dataset->feature_bytes);
    *out = (struct gnn_span){.stream = d->features, .offset_bytes = begin, .len_bytes = end - begin, .tag = last};
    return true;
}

/* Copies window w's loads that the span covers, and marks them. */
static enum gnn_status take_rows(struct presort_distributor *d, uint32_t w, const struct gnn_span *span,
                                 const unsigned char *data, struct gnn_err *err)
{
    struct presort_hyperbatch *const x = d->x;
    const uint64_t row_bytes = d->setup->env->dataset->row_bytes;
    for (; d->cursor[w] < x->load_end[w]; d->cursor[w]++) {
        struct presort_load *const load = &x->loads[d->cursor[w]];
        if (load->row > span->tag)
            break;
        if (!presort_classes_sorted(d->classes, load->row))
            continue;
        GNN_TRY(append(d, w, data + (load->row * row_bytes - span->offset_bytes), err));
        load->slot |= PRESORT_SORTED_LOAD;
    }
    return GNN_OK;
}

static enum gnn_status sweep(struct presort_distributor *d, struct gnn_err *err)
{
    d->next_row = 0;
    gnn_span_reader_start(d->sweep, next_span, d);
    for (;;) {
        struct gnn_span span;
        void *data;
        GNN_TRY(gnn_check_stop(d->setup->env, err));
        GNN_TRY(gnn_span_reader_next(d->sweep, &span, &data, err));
        if (data == NULL)
            return write_rest(d, err);
        gnn_charge(d->world, GNN_WORK_TABLE_ENTRY, d->x->windows);
        for (uint32_t w = 0; w < d->x->windows; w++)
            GNN_TRY(take_rows(d, w, &span, data, err));
    }
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
    gnn_stream_close(x->stream);
    x->stream = NULL;
}

/* Waits for the reads and writes under way; what comes of them is of no interest any more. */
static void stop(struct presort_distributor *d)
{
    gnn_ring_reads_drain(&d->ring);
    gnn_span_reader_start(d->sweep, next_span, d);
}

/* Gives the hyperbatch's extents up, so that each of its loads is read where it lies. */
static void fall_back(struct presort_distributor *d, const struct gnn_err *why)
{
    struct presort_hyperbatch *const x = d->x;
    stop(d);
    for (uint32_t i = 0; i < x->load_end[x->windows - 1]; i++)
        x->loads[i].slot &= ~PRESORT_SORTED_LOAD;
    for (uint32_t w = 0; w < x->windows; w++)
        x->first_block[w] = NONE;
    d->disk_full = true;
    gnn_log_warn("presort: rows are read one by one from now on, and no longer sorted ahead: %s", why->message);
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
    return gnn_stream_attach(d->world, x->scratch, (uint64_t)x->blocks * x->block_bytes, &x->stream, err);
}

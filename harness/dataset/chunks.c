/* SPDX-License-Identifier: MIT */
#include "harness/dataset/chunks.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    CHUNK_BYTES = 2 << 20,
    THREADS_MAX = 64,
    THREADS_IN_WRITES = 2, /* beside those that fill: a thread waits while its chunk is written */
    SLOTS_PER_THREAD = 2,
    LARGE_PAGE_BYTES = 2 << 20
};

/* What has happened to the chunk in a slot; a chunk that is both written and summed leaves it. */
enum mark { TAKEN = 1, FILLED = 2, WRITTEN = 4, SUMMED = 8 };

/* One file in the making. Its chunk k lies in slot k % slot_count. */
struct part {
    const struct gnn_chunk_stream *stream;
    struct gnn_out_file *file;
    uint64_t chunk_items, chunk_count;
    char *memory; /* (slot_count) chunks */
    /* under the pool's mutex */
    unsigned *slots;                 /* (slot_count) marks */
    uint64_t taken, summed, written; /* chunks */
};

struct pool {
    struct part *parts;
    uint32_t part_count;
    uint32_t slot_count; /* of each part */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* under mutex */
    bool stop;
    struct gnn_err failure; /* of the first thread that failed */
};

static uint64_t items_at(const struct part *part, uint64_t chunk)
{
    assert(chunk < part->chunk_count);
    return gnn_min_u64(part->stream->items - chunk * part->chunk_items, part->chunk_items);
}

static uint64_t bytes_at(const struct part *part, uint64_t chunk)
{
    return items_at(part, chunk) * part->stream->item_bytes;
}

static char *memory_of(const struct pool *pool, const struct part *part, uint64_t chunk)
{
    return part->memory + (chunk % pool->slot_count) * part->chunk_items * part->stream->item_bytes;
}

static unsigned *slot_of(const struct pool *pool, const struct part *part, uint64_t chunk)
{
    return &part->slots[chunk % pool->slot_count];
}

/* Adds a mark to a chunk's slot, and frees the slot once the chunk is done with. */
static void mark(struct pool *pool, struct part *part, uint64_t chunk, enum mark mark)
{
    (void)pthread_mutex_lock(&pool->mutex);
    unsigned *const slot = slot_of(pool, part, chunk);
    *slot |= mark;
    if (mark == WRITTEN)
        part->written++;
    if (mark == SUMMED) /* by the thread that sums alone: it reads this without the mutex */
        part->summed++;
    if ((*slot & WRITTEN) != 0 && (*slot & SUMMED) != 0)
        *slot = 0;
    (void)pthread_cond_broadcast(&pool->changed);
    (void)pthread_mutex_unlock(&pool->mutex);
}

/* Stops all threads, for the first reason given. */
static void stop_for(struct pool *pool, const struct gnn_err *failure)
{
    (void)pthread_mutex_lock(&pool->mutex);
    if (pool->failure.status == GNN_OK)
        pool->failure = *failure;
    pool->stop = true;
    (void)pthread_cond_broadcast(&pool->changed);
    (void)pthread_mutex_unlock(&pool->mutex);
}

/* ---- the threads that fill and write ---- */

static bool is_less_far(const struct part *a, const struct part *b)
{
    return (double)a->taken * (double)b->chunk_count < (double)b->taken * (double)a->chunk_count;
}

/* Finds, of the parts whose next chunk has a free slot, the one of which the smallest share was taken. Returns false
 * when no part has a chunk left; *part is NULL when those that have wait for a slot. */
static bool find_part(struct pool *pool, struct part **part)
{
    bool more = false;
    *part = NULL;
    for (struct part *p = pool->parts; p < pool->parts + pool->part_count; p++) {
        if (p->taken == p->chunk_count)
            continue;
        more = true;
        if (*slot_of(pool, p, p->taken) == 0 && (*part == NULL || is_less_far(p, *part)))
            *part = p;
    }
    return more;
}

/* Takes a chunk, once there is a slot for one; returns false when there is none to come. */
static bool take_chunk(struct pool *pool, struct part **part, uint64_t *chunk)
{
    (void)pthread_mutex_lock(&pool->mutex);
    bool more;
    while ((more = !pool->stop && find_part(pool, part)) && *part == NULL)
        (void)pthread_cond_wait(&pool->changed, &pool->mutex);
    if (more) {
        *chunk = (*part)->taken++;
        *slot_of(pool, *part, *chunk) = TAKEN;
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    return more;
}

static enum gnn_status make_chunk(struct pool *pool, struct part *part, uint64_t chunk, struct gnn_err *err)
{
    const struct gnn_chunk_stream *const stream = part->stream;
    const uint64_t first = chunk * part->chunk_items;
    char *const memory = memory_of(pool, part, chunk);
    stream->fill(stream->ctx, first, items_at(part, chunk), memory);
    mark(pool, part, chunk, FILLED);
    GNN_TRY(gnn_out_write_at(part->file, first * stream->item_bytes, memory, bytes_at(part, chunk), err));
    mark(pool, part, chunk, WRITTEN);
    return GNN_OK;
}

static void *make_chunks(void *arg)
{
    struct pool *const pool = arg;
    struct gnn_err err = {.status = GNN_OK};
    struct part *part;
    uint64_t chunk;
    while (take_chunk(pool, &part, &chunk))
        if (make_chunk(pool, part, chunk, &err) != GNN_OK)
            stop_for(pool, &err);
    return NULL;
}

/* ---- the thread that sums ---- */

/* Waits for a part whose next chunk is filled; returns false when all are written, or the threads have stopped. */
static bool wait_filled(struct pool *pool, struct part **part)
{
    bool more = true;
    *part = NULL;
    (void)pthread_mutex_lock(&pool->mutex);
    for (;;) {
        more = false;
        for (struct part *p = pool->parts; p < pool->parts + pool->part_count && *part == NULL; p++) {
            more = more || p->written < p->chunk_count;
            /* A slot that is summed is still of the chunk before, which is being written. */
            const unsigned marks = *slot_of(pool, p, p->summed);
            if (p->summed < p->chunk_count && (marks & FILLED) != 0 && (marks & SUMMED) == 0)
                *part = p;
        }
        if (pool->stop || !more || *part != NULL)
            break;
        (void)pthread_cond_wait(&pool->changed, &pool->mutex);
    }
    const bool found = !pool->stop && *part != NULL;
    (void)pthread_mutex_unlock(&pool->mutex);
    return found;
}

/* Sums each file's chunks in their order while they are written. */
static enum gnn_status sum_chunks(struct pool *pool, struct gnn_ticker *ticker, struct gnn_err *err)
{
    struct part *part;
    uint64_t done = 0;
    while (wait_filled(pool, &part)) {
        const uint64_t chunk = part->summed, bytes = bytes_at(part, chunk);
        gnn_out_add(part->file, memory_of(pool, part, chunk), bytes);
        mark(pool, part, chunk, SUMMED);
        done += bytes;
        GNN_TRY(gnn_ticker_set(ticker, done, err));
    }
    return GNN_OK;
}

/* Starts the threads, sums what they make, and joins them whatever happened. */
static enum gnn_status run_pool(struct pool *pool, uint32_t threads, struct gnn_ticker *ticker, struct gnn_err *err)
{
    pthread_t ids[THREADS_MAX + THREADS_IN_WRITES];
    uint32_t started = 0;
    enum gnn_status status = GNN_OK;
    assert(threads <= THREADS_MAX + THREADS_IN_WRITES);
    (void)pthread_mutex_init(&pool->mutex, NULL);
    (void)pthread_cond_init(&pool->changed, NULL);
    while (started < threads && status == GNN_OK) {
        const int code = pthread_create(&ids[started], NULL, make_chunks, pool);
        if (code != 0)
            status =
                gnn_fail(err, GNN_ENOMEM, "cannot start thread %u of %u: %s", started + 1, threads, strerror(code));
        else
            started++;
    }
    GNN_NEXT(status, sum_chunks(pool, ticker, err));
    if (status != GNN_OK)
        stop_for(pool, err);
    for (uint32_t i = 0; i < started; i++)
        (void)pthread_join(ids[i], NULL);
    (void)pthread_cond_destroy(&pool->changed);
    (void)pthread_mutex_destroy(&pool->mutex);
    if (pool->failure.status == GNN_OK)
        return GNN_OK;
    *err = pool->failure; /* the first, whichever thread's it is */
    return err->status;
}

uint32_t gnn_chunk_threads(uint32_t wanted, uint32_t max)
{
    assert(max > 0);
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return gnn_min_u32(wanted > 0 ? wanted : cores > 0 ? (uint32_t)cores : 1, max);
}

/* Returns how many items a chunk has: whole pages where they fit, so that it is written past the page cache. */
static uint64_t items_of_chunk(uint64_t item_bytes)
{
    uint64_t items = 1;
    while (items * item_bytes % GNN_PAGE_BYTES != 0)
        items *= 2; /* GNN_PAGE_BYTES is a power of two */
    const uint64_t fit = gnn_max_u64(CHUNK_BYTES / item_bytes, 1);
    return fit >= items ? gnn_round_down(fit, items) : fit;
}

/* Memory of the chunks, in large pages where there are any; NULL where there is none. */
static char *allocate_chunks(uint64_t bytes)
{
    char *const memory = aligned_alloc(LARGE_PAGE_BYTES, gnn_round_up(bytes, LARGE_PAGE_BYTES));
    if (memory != NULL)
        (void)madvise(memory, gnn_round_up(bytes, LARGE_PAGE_BYTES), MADV_HUGEPAGE);
    return memory;
}

static enum gnn_status open_part(const struct gnn_chunk_stream *stream, struct gnn_output *output, uint32_t slots,
                                 struct part *part, struct gnn_err *err)
{
    assert(stream->item_bytes > 0);
    *part = (struct part){.stream = stream, .chunk_items = items_of_chunk(stream->item_bytes)};
    part->chunk_count = gnn_div_up(stream->items, part->chunk_items);
    GNN_TRY(gnn_out_open(output, stream->name, 4096, GNN_OUT_DATASET, &part->file, err));
    part->memory = allocate_chunks(slots * part->chunk_items * stream->item_bytes);
    part->slots = calloc(slots, sizeof *part->slots);
    if (part->memory == NULL || part->slots == NULL)
        return gnn_fail(err, GNN_ENOMEM, "%s: %u chunks of %" PRIu64 " B", stream->name, slots,
                        part->chunk_items * stream->item_bytes);
    return gnn_out_reserve(part->file, stream->items * stream->item_bytes, err);
}

/* Returns status, or why a file that was written could not be ended. */
static enum gnn_status close_part(struct part *part, enum gnn_status status, struct gnn_meta *meta, struct gnn_err *err)
{
    free(part->memory);
    free(part->slots);
    return gnn_out_end(part->file, status, meta, err);
}

enum gnn_status gnn_chunks_write(const struct gnn_chunk_job *job, struct gnn_output *output, struct gnn_meta *meta,
                                 struct gnn_err *err)
{
    const uint32_t threads = gnn_chunk_threads(job->threads, THREADS_MAX) + THREADS_IN_WRITES;
    struct part parts[GNN_CHUNK_STREAMS_MAX];
    struct pool pool = {.parts = parts, .slot_count = threads * SLOTS_PER_THREAD};
    struct gnn_ticker ticker;
    uint64_t bytes = 0;
    enum gnn_status status = GNN_OK;
    assert(job->stream_count > 0);
    assert(job->stream_count <= GNN_CHUNK_STREAMS_MAX);
    for (uint32_t i = 0; i < job->stream_count && status == GNN_OK; i++) {
        status = open_part(&job->streams[i], output, pool.slot_count, &parts[pool.part_count++], err);
        bytes += job->streams[i].items * job->streams[i].item_bytes;
    }
    gnn_ticker_start(&ticker, output->job, job->phase, "B", bytes);
    GNN_NEXT(status, run_pool(&pool, threads, &ticker, err));
    if (status == GNN_OK)
        gnn_ticker_end(&ticker);
    for (uint32_t i = 0; i < pool.part_count; i++)
        status = close_part(&parts[i], status, meta, err);
    return status;
}

#include "harness/dataset/chunks.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    CHUNK_BYTES = 4 << 20,
    THREADS_MAX = 64,
    THREADS_IN_WRITES = 2, /* beside those that fill: a thread waits while its chunk is written */
    SLOTS_PER_THREAD = 2,
    LARGE_PAGE_BYTES = 2 << 20
};

enum state { EMPTY, FILLED, WRITTEN };

/* Chunk k lives in slot k % slot_count; a slot is free once the chunk slot_count before it is written and summed. */
struct pool {
    const struct gnn_chunk_stream *stream;
    struct gnn_out_file *file;
    uint64_t chunk_items, chunk_count;
    uint32_t slot_count;
    char *memory; /* (slot_count) chunks */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* under mutex */
    enum state *states; /* (slot_count) */
    uint64_t next_fill, next_sum;
    bool stop;
    struct gnn_err failure; /* of the first thread that failed */
};

static uint64_t chunk_items_at(const struct pool *pool, uint64_t chunk)
{
    assert(chunk < pool->chunk_count);
    return gnn_min_u64(pool->stream->items - chunk * pool->chunk_items, pool->chunk_items);
}

static uint64_t chunk_bytes_at(const struct pool *pool, uint64_t chunk)
{
    return chunk_items_at(pool, chunk) * pool->stream->item_bytes;
}

static uint64_t chunk_offset(const struct pool *pool, uint64_t chunk)
{
    return chunk * pool->chunk_items * pool->stream->item_bytes;
}

static char *slot_of(const struct pool *pool, uint64_t chunk)
{
    return pool->memory + (chunk % pool->slot_count) * pool->chunk_items * pool->stream->item_bytes;
}

static void set_state(struct pool *pool, uint64_t chunk, enum state state)
{
    (void)pthread_mutex_lock(&pool->mutex);
    pool->states[chunk % pool->slot_count] = state;
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

/* Waits for the next chunk that has a slot; returns false when there is none to come. */
static bool take_chunk(struct pool *pool, uint64_t *chunk)
{
    (void)pthread_mutex_lock(&pool->mutex);
    while (!pool->stop && pool->next_fill < pool->chunk_count && pool->next_fill >= pool->next_sum + pool->slot_count)
        (void)pthread_cond_wait(&pool->changed, &pool->mutex);
    const bool taken = !pool->stop && pool->next_fill < pool->chunk_count;
    if (taken)
        *chunk = pool->next_fill++;
    (void)pthread_mutex_unlock(&pool->mutex);
    return taken;
}

static void *make_chunks(void *arg)
{
    struct pool *const pool = arg;
    const struct gnn_chunk_stream *const stream = pool->stream;
    struct gnn_err err = {.status = GNN_OK};
    uint64_t chunk;
    while (take_chunk(pool, &chunk)) {
        char *const slot = slot_of(pool, chunk);
        stream->fill(stream->ctx, chunk * pool->chunk_items, chunk_items_at(pool, chunk), slot);
        set_state(pool, chunk, FILLED);
        if (gnn_out_write_at(pool->file, chunk_offset(pool, chunk), slot, chunk_bytes_at(pool, chunk), &err) !=
            GNN_OK) {
            stop_for(pool, &err);
            break;
        }
        set_state(pool, chunk, WRITTEN);
    }
    return NULL;
}

/* Waits until a chunk is in this state or behind it; returns false when the threads have stopped. */
static bool wait_state(struct pool *pool, uint64_t chunk, enum state state)
{
    (void)pthread_mutex_lock(&pool->mutex);
    while (!pool->stop && pool->states[chunk % pool->slot_count] < state)
        (void)pthread_cond_wait(&pool->changed, &pool->mutex);
    const bool reached = !pool->stop;
    (void)pthread_mutex_unlock(&pool->mutex);
    return reached;
}

/* Sums the chunks in their order while they are written, and frees their slots. */
static enum gnn_status sum_chunks(struct pool *pool, struct gnn_ticker *ticker, struct gnn_err *err)
{
    for (uint64_t chunk = 0; chunk < pool->chunk_count; chunk++) {
        if (!wait_state(pool, chunk, FILLED))
            return GNN_OK; /* failure says why */
        gnn_out_add(pool->file, slot_of(pool, chunk), chunk_bytes_at(pool, chunk));
        if (!wait_state(pool, chunk, WRITTEN))
            return GNN_OK;
        (void)pthread_mutex_lock(&pool->mutex);
        pool->states[chunk % pool->slot_count] = EMPTY;
        pool->next_sum++;
        (void)pthread_cond_broadcast(&pool->changed);
        (void)pthread_mutex_unlock(&pool->mutex);
        GNN_TRY(gnn_ticker_set(ticker, chunk_offset(pool, chunk) + chunk_bytes_at(pool, chunk), err));
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
    while (started < threads && status == GNN_OK) {
        const int code = pthread_create(&ids[started], NULL, make_chunks, pool);
        if (code != 0)
            status =
                gnn_fail(err, GNN_ENOMEM, "cannot start thread %u of %u: %s", started + 1, threads, strerror(code));
        else
            started++;
    }
    GNN_NEXT(status, sum_chunks(pool, ticker, err));
    (void)pthread_mutex_lock(&pool->mutex);
    pool->stop = true;
    (void)pthread_cond_broadcast(&pool->changed);
    (void)pthread_mutex_unlock(&pool->mutex);
    for (uint32_t i = 0; i < started; i++)
        (void)pthread_join(ids[i], NULL);
    if (status == GNN_OK && pool->failure.status != GNN_OK) {
        *err = pool->failure;
        status = pool->failure.status;
    }
    return status;
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

static enum gnn_status fill_file(const struct gnn_chunk_stream *stream, struct gnn_out_file *file,
                                 struct gnn_ticker *ticker, struct gnn_err *err)
{
    struct pool pool = {.stream = stream, .file = file};
    const uint32_t threads = gnn_chunk_threads(stream->threads, THREADS_MAX) + THREADS_IN_WRITES;
    pool.chunk_items = items_of_chunk(stream->item_bytes);
    pool.chunk_count = gnn_div_up(stream->items, pool.chunk_items);
    pool.slot_count = threads * SLOTS_PER_THREAD;
    pool.memory = allocate_chunks(pool.slot_count * pool.chunk_items * stream->item_bytes);
    pool.states = calloc(pool.slot_count, sizeof *pool.states);
    enum gnn_status status = GNN_OK;
    if (pool.memory == NULL || pool.states == NULL) {
        status = gnn_fail(err, GNN_ENOMEM, "%u chunks of %d B", pool.slot_count, CHUNK_BYTES);
    } else {
        (void)pthread_mutex_init(&pool.mutex, NULL);
        (void)pthread_cond_init(&pool.changed, NULL);
        status = run_pool(&pool, threads, ticker, err);
        (void)pthread_cond_destroy(&pool.changed);
        (void)pthread_mutex_destroy(&pool.mutex);
    }
    free(pool.memory);
    free(pool.states);
    return status;
}

enum gnn_status gnn_chunks_write(const struct gnn_chunk_stream *stream, struct gnn_output *output, const char *name,
                                 struct gnn_meta *meta, struct gnn_err *err)
{
    assert(stream->item_bytes > 0);
    struct gnn_out_file *file;
    GNN_TRY(gnn_out_open(output, name, 4096, GNN_OUT_DATASET, &file, err));
    struct gnn_ticker ticker;
    gnn_ticker_start(&ticker, output->job, name, "B", stream->items * stream->item_bytes);
    const enum gnn_status status = fill_file(stream, file, &ticker, err);
    if (status == GNN_OK)
        gnn_ticker_end(&ticker);
    return gnn_out_end(file, status, meta, err);
}

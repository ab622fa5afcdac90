#include "harness/dataset/chunks.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK_BYTES = 4 << 20, THREADS_MAX = 64, SLOTS_PER_THREAD = 2, LARGE_PAGE_BYTES = 2 << 20 };

/* Chunk k lives in slot k % slot_count; a slot is free once the chunk slot_count before it has been written. */
struct pool {
    const struct gnn_chunk_stream *stream;
    uint64_t chunk_items, chunk_count;
    uint32_t slot_count;
    char *memory; /* (slot_count) chunks */
    bool *filled; /* (slot_count), under mutex like all below */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t next_fill, next_write;
    bool stop;
};

static uint64_t chunk_items_at(const struct pool *pool, uint64_t chunk)
{
    assert(chunk < pool->chunk_count);
    return gnn_min_u64(pool->stream->items - chunk * pool->chunk_items, pool->chunk_items);
}

static char *slot_of(const struct pool *pool, uint64_t chunk)
{
    return pool->memory + (chunk % pool->slot_count) * pool->chunk_items * pool->stream->item_bytes;
}

static void *fill_chunks(void *arg)
{
    struct pool *pool = arg;
    (void)pthread_mutex_lock(&pool->mutex);
    while (!pool->stop && pool->next_fill < pool->chunk_count) {
        if (pool->next_fill >= pool->next_write + pool->slot_count) {
            (void)pthread_cond_wait(&pool->changed, &pool->mutex);
            continue;
        }
        const uint64_t chunk = pool->next_fill++;
        (void)pthread_mutex_unlock(&pool->mutex);
        pool->stream->fill(pool->stream->ctx, chunk * pool->chunk_items, chunk_items_at(pool, chunk),
                           slot_of(pool, chunk));
        (void)pthread_mutex_lock(&pool->mutex);
        pool->filled[chunk % pool->slot_count] = true;
        (void)pthread_cond_broadcast(&pool->changed);
    }
    (void)pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

static enum gnn_status write_chunks(struct pool *pool, struct gnn_out_file *file, struct gnn_ticker *ticker,
                                    struct gnn_err *err)
{
    uint64_t written = 0;
    for (uint64_t chunk = 0; chunk < pool->chunk_count; chunk++) {
        (void)pthread_mutex_lock(&pool->mutex);
        while (!pool->filled[chunk % pool->slot_count])
            (void)pthread_cond_wait(&pool->changed, &pool->mutex);
        (void)pthread_mutex_unlock(&pool->mutex);
        const uint64_t bytes = chunk_items_at(pool, chunk) * pool->stream->item_bytes;
        GNN_TRY(gnn_out_write(file, slot_of(pool, chunk), bytes, err));
        written += bytes;
        (void)pthread_mutex_lock(&pool->mutex);
        pool->filled[chunk % pool->slot_count] = false;
        pool->next_write++;
        (void)pthread_cond_broadcast(&pool->changed);
        (void)pthread_mutex_unlock(&pool->mutex);
        GNN_TRY(gnn_ticker_set(ticker, written, err));
    }
    return GNN_OK;
}

/* Starts the threads, writes, and joins them whatever happened. */
static enum gnn_status run_pool(struct pool *pool, uint32_t threads, struct gnn_out_file *file,
                                struct gnn_ticker *ticker, struct gnn_err *err)
{
    pthread_t ids[THREADS_MAX];
    uint32_t started = 0;
    enum gnn_status status = GNN_OK;
    assert(threads <= THREADS_MAX);
    while (started < threads && status == GNN_OK) {
        const int code = pthread_create(&ids[started], NULL, fill_chunks, pool);
        if (code != 0)
            status =
                gnn_fail(err, GNN_ENOMEM, "cannot start thread %u of %u: %s", started + 1, threads, strerror(code));
        else
            started++;
    }
    GNN_NEXT(status, write_chunks(pool, file, ticker, err));
    (void)pthread_mutex_lock(&pool->mutex);
    pool->stop = true;
    (void)pthread_cond_broadcast(&pool->changed);
    (void)pthread_mutex_unlock(&pool->mutex);
    for (uint32_t i = 0; i < started; i++)
        (void)pthread_join(ids[i], NULL);
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
    struct pool pool = {.stream = stream};
    const uint32_t threads = gnn_chunk_threads(stream->threads, THREADS_MAX);
    pool.chunk_items = items_of_chunk(stream->item_bytes);
    pool.chunk_count = gnn_div_up(stream->items, pool.chunk_items);
    pool.slot_count = threads * SLOTS_PER_THREAD;
    pool.memory = allocate_chunks(pool.slot_count * pool.chunk_items * stream->item_bytes);
    pool.filled = calloc(pool.slot_count, sizeof *pool.filled);
    enum gnn_status status = GNN_OK;
    if (pool.memory == NULL || pool.filled == NULL) {
        status = gnn_fail(err, GNN_ENOMEM, "%u chunks of %d B", pool.slot_count, CHUNK_BYTES);
    } else {
        (void)pthread_mutex_init(&pool.mutex, NULL);
        (void)pthread_cond_init(&pool.changed, NULL);
        status = run_pool(&pool, threads, file, ticker, err);
        (void)pthread_cond_destroy(&pool.changed);
        (void)pthread_mutex_destroy(&pool.mutex);
    }
    free(pool.memory);
    free(pool.filled);
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

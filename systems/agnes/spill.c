/* SPDX-License-Identifier: MIT */
#include "systems/agnes/rows.h"

#include "harness/storage/exact.h"
#include "harness/storage/reader.h"

#include <inttypes.h>

enum { LOCKS = 64, RELOAD_LOADS = 64 }; /* locks are taken in turn: j has number j mod LOCKS */

struct spilled_batch { /* mini-batch j */
    uint32_t rows;     /* S_j so far */
    uint32_t blocks;   /* of them written */
    uint32_t staging;  /* the buffer that is j's */
};

struct staging_buffer { /* one buffer, and when it is full its way to the spill file */
    struct agnes_spill *owner;
    uint32_t number, place;
};

struct agnes_spill {
    const struct agnes_setup *setup;
    struct gnn_world *world;
    struct gnn_mutex *locks[LOCKS];

    void *staging;                  /* (H + spares, Z) */
    uint32_t spares;                /* 0 with spill=sync */
    struct staging_buffer *buffers; /* (H + spares) */
    struct gnn_queue *spare, *full; /* of staging buffers, spill=async only */

    struct spilled_batch *batches; /* (H) */
    const struct agnes_hyperbatch *hyperbatch;
    struct gnn_buffer row_of;   /* (sum |V_j|) uint32_t: number of the row among j's spilled rows */
    struct gnn_buffer place_of; /* (H, blocks_most) uint32_t: places in the spill file, in blocks */
    uint32_t blocks_most;       /* of a mini-batch */

    struct gnn_file *file;
    struct gnn_reader *reader;
    atomic_uint file_blocks; /* places taken */
    atomic_uint_fast64_t written_bytes;
};

static unsigned char *staging_memory(const struct agnes_spill *spill, uint32_t buffer)
{
    return (unsigned char *)spill->staging + (uint64_t)buffer * spill->setup->sizes.block_bytes;
}

static uint32_t *places_of(const struct agnes_spill *spill, uint32_t j)
{
    return (uint32_t *)spill->place_of.data + (uint64_t)j * spill->blocks_most;
}

static uint32_t *row_of(const struct agnes_spill *spill, uint32_t j, uint32_t position)
{
    assert(position < spill->hyperbatch->positions[j]);
    return (uint32_t *)spill->row_of.data + spill->hyperbatch->base[j] + position;
}

/* ---- open, close ---- */

enum gnn_status agnes_spill_open(const struct agnes_setup *setup, struct agnes_spill **out, struct gnn_err *err)
{
    struct gnn_world *const world = setup->env->world;
    const uint32_t batches = setup->sizes.hyperbatch;
    const uint32_t spares = setup->config->spill == AGNES_SPILL_ASYNC ? setup->config->workers + 1 : 0;
    struct agnes_spill *spill;
    GNN_NEW(spill, 1, err, "agnes spill");
    *out = spill;
    *spill = (struct agnes_spill){.setup = setup,
                                  .world = world,
                                  .spares = spares,
                                  .row_of = {.name = "agnes places of spilled rows"},
                                  .place_of = {.name = "agnes spilled blocks"}};
    GNN_TRY(gnn_mem_alloc(world, "agnes staging buffers", gnn_mul_bytes(batches + spares, setup->sizes.block_bytes),
                          GNN_MEM_FEATURES, &spill->staging, err));
    GNN_NEW(spill->batches, batches, err, "agnes hyperbatch of %" PRIu32, batches);
    GNN_NEW(spill->buffers, batches + spares, err, "agnes hyperbatch of %" PRIu32, batches);
    for (uint32_t i = 0; i < batches + spares; i++)
        spill->buffers[i] = (struct staging_buffer){.owner = spill, .number = i};
    for (uint32_t i = 0; i < LOCKS; i++)
        GNN_TRY(gnn_mutex_open(world, &spill->locks[i], err));
    GNN_TRY(gnn_file_open(world, setup->files.prepared.dir,
                          GNN_OPEN_WRITE | GNN_OPEN_SCRATCH | agnes_direct_flag(setup->config), &spill->file, err));
    const struct gnn_reader_config reader = {
        .engine = setup->env->io_engine, .depth = setup->config->depth, .files = &spill->file, .file_count = 1};
    return gnn_reader_open(world, &reader, &spill->reader, err);
}

void agnes_spill_close(struct agnes_spill *spill)
{
    if (spill == NULL)
        return;
    gnn_reader_close(spill->reader);
    gnn_file_close(spill->world, spill->file);
    for (uint32_t i = 0; i < LOCKS; i++)
        gnn_mutex_close(spill->world, spill->locks[i]);
    free(spill->buffers);
    free(spill->batches);
    gnn_mem_free(spill->world, spill->staging);
    gnn_buffer_close(spill->world, &spill->row_of);
    gnn_buffer_close(spill->world, &spill->place_of);
    free(spill);
}

/* ---- an epoch ---- */

enum gnn_status agnes_spill_begin_epoch(struct agnes_spill *spill, struct gnn_pipeline *pipeline,
                                        struct gnn_queue *full, struct gnn_err *err)
{
    assert((full != NULL) == (spill->spares > 0));
    atomic_store(&spill->written_bytes, 0);
    spill->full = full;
    return full == NULL ? GNN_OK : gnn_pipeline_queue(pipeline, "agnes spare staging buffers", 0, &spill->spare, err);
}

uint64_t agnes_spill_written_bytes(const struct agnes_spill *spill)
{
    return atomic_load(&spill->written_bytes);
}

/* ---- a hyperbatch ---- */

enum gnn_status agnes_spill_begin(struct agnes_spill *spill, const struct agnes_hyperbatch *hyperbatch,
                                  struct gnn_err *err)
{
    const struct agnes_sizes *const sizes = &spill->setup->sizes;
    uint32_t largest = 0;
    assert(hyperbatch->count <= sizes->hyperbatch);
    spill->hyperbatch = hyperbatch;
    for (uint32_t j = 0; j < hyperbatch->count; j++) {
        spill->batches[j] = (struct spilled_batch){.staging = j};
        largest = gnn_max_u32(largest, hyperbatch->positions[j]);
    }
    spill->blocks_most = largest / sizes->rows;
    atomic_store(&spill->file_blocks, 0);
    GNN_TRY(
        gnn_buffer_reserve(spill->world, &spill->row_of, hyperbatch->base[hyperbatch->count] * sizeof(uint32_t), err));
    GNN_TRY(gnn_buffer_reserve(spill->world, &spill->place_of,
                               (uint64_t)hyperbatch->count * spill->blocks_most * sizeof(uint32_t), err));
    for (uint32_t i = 0; i < spill->spares; i++)
        GNN_TRY(gnn_queue_push(spill->spare, &spill->buffers[sizes->hyperbatch + i]));
    return GNN_OK;
}

void agnes_spill_lock(struct agnes_spill *spill, uint32_t j)
{
    gnn_mutex_lock(spill->world, spill->locks[j % LOCKS]);
}

void agnes_spill_unlock(struct agnes_spill *spill, uint32_t j)
{
    gnn_mutex_unlock(spill->world, spill->locks[j % LOCKS]);
}

static enum gnn_status write_buffer(struct agnes_spill *spill, const struct staging_buffer *buffer, struct gnn_err *err)
{
    const uint32_t block_bytes = spill->setup->sizes.block_bytes;
    GNN_TRY(gnn_write_all(spill->world, spill->file, (uint64_t)buffer->place * block_bytes,
                          staging_memory(spill, buffer->number), block_bytes, err));
    atomic_fetch_add(&spill->written_bytes, block_bytes);
    return GNN_OK;
}

/* Gives j a spare buffer and its full one to the writer. */
static enum gnn_status exchange_buffer(struct agnes_spill *spill, struct spilled_batch *batch)
{
    void *popped;
    GNN_TRY(gnn_queue_pop(spill->spare, &popped));
    struct staging_buffer *const full = &spill->buffers[batch->staging];
    batch->staging = ((struct staging_buffer *)popped)->number;
    return gnn_queue_push(spill->full, full);
}

enum gnn_status agnes_spill_add(struct agnes_spill *spill, uint32_t j, uint32_t position, const void *row,
                                struct gnn_err *err)
{
    struct spilled_batch *const batch = &spill->batches[j];
    const uint32_t row_bytes = spill->setup->env->dataset->row_bytes, rows = spill->setup->sizes.rows;
    const uint32_t at = batch->rows % rows;
    gnn_mem_copy(spill->world, staging_memory(spill, batch->staging) + (uint64_t)at * row_bytes, row, row_bytes);
    *row_of(spill, j, position) = batch->rows++;
    if (at + 1 < rows)
        return GNN_OK;
    struct staging_buffer *const full = &spill->buffers[batch->staging];
    full->place = atomic_fetch_add(&spill->file_blocks, 1);
    assert(batch->blocks < spill->blocks_most);
    places_of(spill, j)[batch->blocks++] = full->place;
    return spill->spares > 0 ? exchange_buffer(spill, batch) : write_buffer(spill, full, err);
}

/* All spares are back: everything is written. */
enum gnn_status agnes_spill_finish(struct agnes_spill *spill)
{
    for (uint32_t i = 0; i < spill->spares; i++) {
        void *buffer;
        GNN_TRY(gnn_queue_pop(spill->spare, &buffer));
        assert(buffer != NULL);
    }
    return GNN_OK;
}

enum gnn_status agnes_spill_writer(struct gnn_queue *full, uint64_t *items, struct gnn_err *err)
{
    for (;;) {
        void *popped;
        GNN_TRY(gnn_queue_pop(full, &popped));
        if (popped == NULL)
            return GNN_OK;
        struct staging_buffer *const buffer = popped;
        GNN_TRY(write_buffer(buffer->owner, buffer, err));
        GNN_TRY(gnn_queue_push(buffer->owner->spare, buffer));
        ++*items;
    }
}

/* ---- the way back ---- */

enum gnn_status agnes_spill_reload(struct agnes_spill *spill, uint32_t j, struct gnn_buffer *reloaded, uint32_t *blocks,
                                   struct gnn_err *err)
{
    const uint32_t block_bytes = spill->setup->sizes.block_bytes, count = spill->batches[j].blocks;
    const uint32_t *const places = places_of(spill, j);
    GNN_TRY(gnn_buffer_reserve(spill->world, reloaded, (uint64_t)count * block_bytes, err));
    for (uint32_t done = 0; done < count; done += RELOAD_LOADS) {
        struct gnn_load loads[RELOAD_LOADS];
        const uint32_t n = gnn_min_u32(count - done, RELOAD_LOADS);
        for (uint32_t i = 0; i < n; i++)
            loads[i] = (struct gnn_load){.len_bytes = block_bytes,
                                         .offset_bytes = (uint64_t)places[done + i] * block_bytes,
                                         .dst = (unsigned char *)reloaded->data + (uint64_t)(done + i) * block_bytes};
        GNN_TRY(gnn_reader_load_all(spill->reader, loads, n, NULL, NULL, err));
    }
    *blocks = count;
    return GNN_OK;
}

const void *agnes_spill_row(const struct agnes_spill *spill, const struct gnn_buffer *reloaded, uint32_t j,
                            uint32_t position)
{
    const struct agnes_sizes *const sizes = &spill->setup->sizes;
    const struct spilled_batch *const batch = &spill->batches[j];
    const uint32_t row = *row_of(spill, j, position), block = row / sizes->rows;
    assert(row < batch->rows);
    const unsigned char *const from = block < batch->blocks
                                          ? (const unsigned char *)reloaded->data + (uint64_t)block * sizes->block_bytes
                                          : staging_memory(spill, batch->staging);
    return from + (uint64_t)(row % sizes->rows) * spill->setup->env->dataset->row_bytes;
}

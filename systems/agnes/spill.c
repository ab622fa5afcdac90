/* Spilled rows: what the feature cache does not keep is packed per mini-batch (AGNES, KDD 2026, section 3.3;
 * specs/agnes.md section 3, gathering steps 5 and 6). Mini-batch j has a staging buffer of one block; when r rows are
 * in it, it is written whole to the next free place of the spill file. The tail stays in memory. Before j trains its
 * blocks are read back, all at once. spill=async: full buffers go to a writer thread, and spare ones take their place.
 *
 * The spill file has no name: it goes with its handle, however the run ends. */
#include "systems/agnes/agnes.h"

#include "harness/storage/exact.h"

#include <inttypes.h>

static void *staging_at(const struct agnes *s, const struct agnes_gathered *g, uint32_t buffer)
{
    return (unsigned char *)g->staging + (uint64_t)buffer * s->sizes.block_bytes;
}

static enum gnn_status write_out(struct agnes *s, struct agnes_gathered *g, uint32_t buffer, uint32_t place,
                                 struct gnn_err *err)
{
    GNN_TRY(gnn_write_all(s->env->world, g->spill, (uint64_t)place * s->sizes.block_bytes, staging_at(s, g, buffer),
                          s->sizes.block_bytes, err));
    atomic_fetch_add(&s->gathering.spill_writes, 1);
    atomic_fetch_add(&s->gathering.spill_write_bytes, s->sizes.block_bytes);
    return GNN_OK;
}

static enum gnn_status hand_over(struct agnes *s, struct agnes_gathered *g, uint32_t j, uint32_t place)
{
    void *spare;
    GNN_TRY(gnn_queue_pop(g->spare, &spare));
    struct agnes_spill_job *const job = spare, *const full = &g->jobs[g->staging_of[j]];
    full->place = place;
    g->staging_of[j] = job->buffer;
    return gnn_queue_push(s->gathering.full, full);
}

enum gnn_status agnes_spill_row(struct agnes *s, struct agnes_gathered *g, uint32_t j, const void *data, uint32_t *row,
                                struct gnn_err *err)
{
    struct agnes_spill_batch *const batch = &g->batches[j];
    const uint32_t row_bytes = s->env->dataset->row_bytes;
    const uint32_t at = batch->rows % s->sizes.rows;
    gnn_mem_copy(s->env->world, (unsigned char *)staging_at(s, g, g->staging_of[j]) + (uint64_t)at * row_bytes, data,
                 row_bytes);
    *row = batch->rows++;
    if (at + 1 < s->sizes.rows)
        return GNN_OK;
    const uint32_t place = atomic_fetch_add(&g->spill_end, 1);
    assert(batch->blocks < g->blocks_max);
    ((uint32_t *)g->spill_at.data)[(uint64_t)j * g->blocks_max + batch->blocks++] = place;
    return s->config->spill == AGNES_SPILL_ASYNC ? hand_over(s, g, j, place)
                                                 : write_out(s, g, g->staging_of[j], place, err);
}

enum gnn_status agnes_spill_writer(struct agnes *s, uint64_t *items, struct gnn_err *err)
{
    for (;;) {
        void *popped;
        GNN_TRY(gnn_queue_pop(s->gathering.full, &popped));
        if (popped == NULL)
            return GNN_OK;
        struct agnes_spill_job *const job = popped;
        GNN_TRY(write_out(s, job->gathered, job->buffer, job->place, err));
        GNN_TRY(gnn_queue_push(job->gathered->spare, job));
        ++*items;
    }
}

enum gnn_status agnes_spill_reload(struct agnes *s, struct agnes_gathered *g, uint32_t j, struct gnn_err *err)
{
    enum { CHUNK = 64 };
    const uint32_t block_bytes = s->sizes.block_bytes, count = g->batches[j].blocks;
    const uint32_t *const places = (const uint32_t *)g->spill_at.data + (uint64_t)j * g->blocks_max;
    GNN_TRY(gnn_buffer_reserve(s->env->world, &s->reload, (uint64_t)count * block_bytes, err));
    for (uint32_t done = 0; done < count; done += CHUNK) {
        struct gnn_load loads[CHUNK];
        const uint32_t n = count - done < CHUNK ? count - done : CHUNK;
        for (uint32_t i = 0; i < n; i++)
            loads[i] = (struct gnn_load){.len_bytes = block_bytes,
                                         .offset_bytes = (uint64_t)places[done + i] * block_bytes,
                                         .dst = (unsigned char *)s->reload.data + (uint64_t)(done + i) * block_bytes};
        GNN_TRY(gnn_reader_load_all(g->reload, loads, n, NULL, NULL, err));
    }
    s->spill_reads += count;
    s->spill_read_bytes += (uint64_t)count * block_bytes;
    return GNN_OK;
}

const void *agnes_spilled(const struct agnes *s, const struct agnes_gathered *g, uint32_t j, uint32_t row)
{
    const uint32_t block = row / s->sizes.rows;
    const uint64_t in_block = (uint64_t)(row % s->sizes.rows) * s->env->dataset->row_bytes;
    const unsigned char *const from =
        block < g->batches[j].blocks ? (const unsigned char *)s->reload.data + (uint64_t)block * s->sizes.block_bytes
                                     : staging_at(s, g, g->staging_of[j]);
    return from + in_block;
}

/* SPDX-License-Identifier: MIT */
#include "systems/presort/hot.h"

#include "harness/base/arena.h"
#include "harness/base/bitset.h"
#include "harness/base/log.h"
#include "harness/storage/ring_reads.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { WRITES = 4, READS = 4 }; /* in flight, of blocks and of spans */

#define NO_BUFFER UINT32_MAX

struct presort_hot {
    const struct presort_setup *setup;
    struct gnn_world *world;
    struct gnn_file *file;
    struct gnn_stream *stream;
    struct gnn_span_reader *reader;
    struct gnn_ring_reads ring; /* of writes alone */
    unsigned char *buffers;     /* (WRITES) of a block */

    void *index;
    gnn_node *rows;     /* (hot_places) */
    uint32_t *place_of; /* (hot_places) of the packed rows, ascending by row */
    uint64_t *members;  /* a set of nodes */
    uint32_t *before;   /* (a word of the set) packed rows before it */
    struct presort_packed packed;
    uint32_t count; /* rows that are packed */

    /* Of one sweep; its rows lie at places [first, end). */
    uint32_t first, end, limit;
    uint32_t spare[WRITES], spare_count;
    uint32_t buffer, filled; /* the block in the making, or NO_BUFFER; bytes in it */
    uint64_t at_bytes;       /* where it goes in the file */
    bool disk_full;          /* nothing is packed any more */
    struct presort_hot_counts counts;
    struct gnn_reader_counters read; /* when they were taken */
};

/* ---- memory ---- */

static void carve(struct presort_hot *h, uint32_t node_count, uint32_t places, struct gnn_arena *arena)
{
    const uint64_t words = gnn_bitset_words(node_count);
    h->members = gnn_arena_take(arena, words * sizeof *h->members);
    h->before = gnn_arena_take(arena, words * sizeof *h->before);
    h->rows = gnn_arena_take(arena, places * (uint64_t)sizeof *h->rows);
    h->place_of = gnn_arena_take(arena, places * (uint64_t)sizeof *h->place_of);
}

static uint64_t index_bytes(const struct gnn_env *env, uint32_t places)
{
    struct presort_hot h;
    struct gnn_arena count = {0};
    carve(&h, env->dataset->node_count, places, &count);
    return count.used_bytes;
}

static struct gnn_span_reader_config reader_config(const struct gnn_env *env, const struct presort_config *config)
{
    return (struct gnn_span_reader_config){.engine = env->io_engine,
                                           .depth = READS + 1,
                                           .span_bytes_max = presort_sweep_span_bytes(env, config),
                                           .mem_flags = GNN_MEM_FEATURES};
}

uint64_t presort_hot_bytes(const struct gnn_env *env, const struct presort_config *config, uint32_t places)
{
    const struct gnn_span_reader_config reader = reader_config(env, config);
    const uint64_t buffers = gnn_add_bytes(WRITES * config->block_bytes, gnn_span_reader_bytes(&reader));
    return places == 0 ? 0 : gnn_add_bytes(buffers, index_bytes(env, places));
}

uint32_t presort_hot_places(const struct gnn_env *env, const struct presort_config *config, uint64_t room_bytes)
{
    const uint64_t a_place = sizeof(gnn_node) + sizeof(uint32_t);
    const uint64_t least = presort_hot_bytes(env, config, 1);
    if (room_bytes < least)
        return 0;
    /* The least has a cache line for each array of places: no less than the padding of longer ones takes. */
    return (uint32_t)gnn_min_u64(1 + (room_bytes - least) / a_place, env->dataset->node_count);
}

/* ---- open, close ---- */

static enum gnn_status open_index(struct presort_hot *h, struct gnn_err *err)
{
    const uint32_t nodes = h->setup->env->dataset->node_count, places = h->setup->sizes.hot_places;
    struct gnn_arena arena = {.size_bytes = index_bytes(h->setup->env, places)};
    GNN_TRY(gnn_mem_alloc(h->world, "presort packed rows", arena.size_bytes, GNN_MEM_PLAIN, &h->index, err));
    arena.memory = h->index;
    carve(h, nodes, places, &arena);
    memset(h->members, 0, gnn_bitset_words(nodes) * sizeof *h->members);
    h->packed = (struct presort_packed){.rows = h->rows, .members = h->members};
    return GNN_OK;
}

enum gnn_status presort_hot_open(const struct presort_setup *setup, const uint64_t *held, struct presort_hot **out,
                                 struct gnn_err *err)
{
    const struct gnn_env *const env = setup->env;
    const struct gnn_ring_reads_config ring = {
        .ring = {.engine = env->io_engine, .depth = WRITES}, .batch_max = WRITES, .short_reads = GNN_SHORT_RESUMES};
    struct gnn_span_reader_config reader = reader_config(env, setup->config);
    struct presort_hot *h;
    assert(setup->sizes.hot_places > 0);
    GNN_NEW(h, 1, err, "presort's packed rows");
    *out = h;
    h->setup = setup;
    h->world = env->world;
    h->buffer = NO_BUFFER;
    GNN_TRY(open_index(h, err));
    h->packed.held = held;
    GNN_MEM_NEW(h->world, h->buffers, WRITES * setup->config->block_bytes, "presort blocks of packed rows",
                GNN_MEM_FEATURES, err);
    GNN_TRY(gnn_file_open(h->world, setup->scratch_dir,
                          GNN_OPEN_WRITE | GNN_OPEN_SCRATCH | presort_direct_flag(setup->config), &h->file, err));
    reader.file = h->file;
    GNN_TRY(gnn_span_reader_open(h->world, &reader, &h->reader, err));
    return gnn_ring_reads_open(h->world, &ring, &h->ring, err);
}

void presort_hot_close(struct presort_hot *h)
{
    if (h == NULL)
        return;
    gnn_ring_reads_close(&h->ring);
    gnn_span_reader_close(h->reader);
    gnn_stream_close(h->stream);
    gnn_file_close(h->world, h->file);
    gnn_mem_free(h->world, h->buffers);
    gnn_mem_free(h->world, h->index);
    free(h);
}

/* ---- the index ---- */

const struct presort_packed *presort_hot_packed(const struct presort_hot *h)
{
    return &h->packed;
}

struct gnn_span_reader *presort_hot_reader(const struct presort_hot *h)
{
    return h->reader;
}

const struct gnn_stream *presort_hot_stream(const struct presort_hot *h)
{
    return h->stream;
}

uint32_t presort_hot_place(const struct presort_hot *h, gnn_node row)
{
    const uint64_t below = h->members[row / 64] & ((UINT64_C(1) << (row % 64)) - 1);
    assert(gnn_bitset_has(h->members, row));
    return h->place_of[h->before[row / 64] + (uint32_t)__builtin_popcountll(below)];
}

/* Merges the sweep's rows with those that were packed before, from the last one on. */
static void merge_places(struct presort_hot *h)
{
    uint32_t old = h->count, place = h->end;
    h->count += h->end - h->first;
    for (uint32_t to = h->count; place > h->first;) {
        const bool fresh = old == 0 || h->rows[place - 1] > h->rows[h->place_of[old - 1]];
        h->place_of[--to] = fresh ? --place : h->place_of[--old];
    }
}

/* Makes the sweep's rows members, and counts anew. */
static void add_members(struct presort_hot *h)
{
    const uint64_t words = gnn_bitset_words(h->setup->env->dataset->node_count);
    uint32_t before = 0;
    for (uint32_t place = h->first; place < h->end; place++)
        (void)gnn_bitset_add(h->members, h->rows[place]);
    for (uint64_t i = 0; i < words; i++) {
        h->before[i] = before;
        before += (uint32_t)__builtin_popcountll(h->members[i]);
    }
    assert(before == h->count);
}

/* ---- writes ---- */

/* Waits until at least `min` of the writes under way are done; their buffers are spare then. */
static enum gnn_status take_written(struct presort_hot *h, uint32_t min, struct gnn_err *err)
{
    while (min > 0) {
        uint64_t tags[WRITES];
        uint32_t got;
        GNN_TRY(gnn_ring_reads_wait(&h->ring, 1, WRITES, tags, &got, err));
        for (uint32_t i = 0; i < got; i++)
            h->spare[h->spare_count++] = (uint32_t)tags[i];
        min -= gnn_min_u32(got, min);
    }
    assert(h->spare_count + gnn_ring_reads_in_flight(&h->ring) + (h->buffer != NO_BUFFER ? 1 : 0) == WRITES);
    return GNN_OK;
}

/* Hands the block in the making over, whole pages of it. */
static enum gnn_status write_block(struct presort_hot *h, struct gnn_err *err)
{
    const uint64_t block_bytes = h->setup->config->block_bytes;
    struct gnn_write write = {.file = h->file,
                              .offset_bytes = h->at_bytes,
                              .src = h->buffers + h->buffer * block_bytes,
                              .len_bytes = (uint32_t)gnn_round_up(h->filled, GNN_PAGE_BYTES),
                              .tag = h->buffer};
    h->at_bytes += write.len_bytes;
    h->buffer = NO_BUFFER;
    return gnn_ring_reads_submit_writes(&h->ring, &write, 1, err);
}

static enum gnn_status take_buffer(struct presort_hot *h, struct gnn_err *err)
{
    if (h->spare_count == 0)
        GNN_TRY(take_written(h, 1, err));
    h->buffer = h->spare[--h->spare_count];
    h->filled = 0;
    return GNN_OK;
}

/* Copies a row behind the others; it may begin in one block and end in the next. */
static enum gnn_status put(struct presort_hot *h, const unsigned char *row, struct gnn_err *err)
{
    const uint32_t row_bytes = h->setup->env->dataset->row_bytes;
    const uint64_t block_bytes = h->setup->config->block_bytes;
    for (uint32_t done = 0, part; done < row_bytes; done += part) {
        if (h->buffer == NO_BUFFER)
            GNN_TRY(take_buffer(h, err));
        part = (uint32_t)gnn_min_u64(row_bytes - done, block_bytes - h->filled);
        gnn_mem_copy(h->world, h->buffers + h->buffer * block_bytes + h->filled, row + done, part);
        h->filled += part;
        if (h->filled == block_bytes)
            GNN_TRY(write_block(h, err));
    }
    return GNN_OK;
}

/* ---- a sweep ---- */

void presort_hot_expect(struct presort_hot *h, bool more)
{
    h->packed.grows = more && !h->disk_full && h->packed.places < h->setup->sizes.hot_places;
}

void presort_hot_begin(struct presort_hot *h, uint64_t disk_bytes, uint64_t budget_bytes)
{
    const uint64_t row_bytes = h->setup->env->dataset->row_bytes;
    const uint64_t base = gnn_round_up(h->packed.places * row_bytes, GNN_PAGE_BYTES);
    const uint64_t first = gnn_div_up(base, row_bytes);
    const uint64_t most = gnn_min_u64(disk_bytes, gnn_add_bytes(base, gnn_round_down(budget_bytes, GNN_PAGE_BYTES)));
    const uint64_t limit = gnn_min_u64(gnn_round_down(most, GNN_PAGE_BYTES) / row_bytes, h->setup->sizes.hot_places);
    assert(h->first == h->end);
    if (h->disk_full || limit <= first)
        return;
    for (uint32_t place = h->packed.places; place < first; place++)
        h->rows[place] = GNN_NODE_NONE;
    h->first = h->end = (uint32_t)first;
    h->limit = (uint32_t)limit;
    h->at_bytes = base;
    for (h->spare_count = 0; h->spare_count < WRITES; h->spare_count++)
        h->spare[h->spare_count] = h->spare_count;
    h->buffer = h->spare[--h->spare_count];
    h->filled = (uint32_t)(first * row_bytes - base);
}

void presort_hot_cancel(struct presort_hot *h)
{
    gnn_ring_reads_drain(&h->ring);
    h->first = h->end = h->limit = 0;
    h->buffer = NO_BUFFER;
}

/* Takes what became of a write: a full disk ends the packing, and is no error. */
static enum gnn_status judge(struct presort_hot *h, enum gnn_status status, const struct gnn_err *why,
                             struct gnn_err *err)
{
    if (status == GNN_OK)
        return GNN_OK;
    presort_hot_cancel(h);
    if (status != GNN_ENOSPC)
        return gnn_fail(err, status, "%s", why->message);
    h->disk_full = true;
    h->counts.full++;
    gnn_log_warn("presort: rows are no longer packed: %s", why->message);
    return GNN_OK;
}

enum gnn_status presort_hot_append(struct presort_hot *h, gnn_node row, const unsigned char *data, struct gnn_err *err)
{
    struct gnn_err why = {0};
    if (h->end == h->limit)
        return GNN_OK;
    assert(h->end == h->first || row > h->rows[h->end - 1]);
    h->rows[h->end++] = row;
    return judge(h, put(h, data, &why), &why, err);
}

static enum gnn_status write_rest(struct presort_hot *h, struct gnn_err *err)
{
    if (h->buffer != NO_BUFFER)
        GNN_TRY(write_block(h, err));
    return take_written(h, gnn_ring_reads_in_flight(&h->ring), err);
}

enum gnn_status presort_hot_end(struct presort_hot *h, struct gnn_err *err)
{
    struct gnn_err why = {0};
    if (h->first < h->end)
        GNN_TRY(judge(h, write_rest(h, &why), &why, err));
    if (h->first < h->end) {
        const uint64_t bytes = gnn_round_up((uint64_t)h->end * h->setup->env->dataset->row_bytes, GNN_PAGE_BYTES);
        struct gnn_stream *longer;
        GNN_TRY(gnn_stream_attach(h->world, h->file, bytes, &longer, err));
        gnn_stream_close(h->stream);
        h->stream = longer;
        gnn_charge(h->world, GNN_WORK_TABLE_ENTRY, h->count + UINT64_C(2) * (h->end - h->first));
        merge_places(h);
        add_members(h);
        h->counts.rows += h->end - h->first;
        h->packed.places = h->end;
    }
    presort_hot_cancel(h);
    return GNN_OK;
}

void presort_hot_take_counts(struct presort_hot *h, struct presort_hot_counts *out)
{
    const struct gnn_reader_counters before = h->read;
    gnn_span_reader_counters(h->reader, &h->read);
    h->counts.read_bytes = h->read.requested_bytes - before.requested_bytes;
    h->counts.reads = h->read.requested_ios - before.requested_ios;
    h->counts.written_bytes = h->ring.counters.write_bytes;
    h->counts.writes = h->ring.counters.write_ios;
    *out = h->counts;
    h->counts = (struct presort_hot_counts){.rows = 0};
    h->ring.counters = (struct gnn_ring_counters){.write_ios = 0};
}

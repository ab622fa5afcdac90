/* SPDX-License-Identifier: MIT */
#include "systems/ginex/neighbours.h"

#include "harness/base/id_width.h"
#include "harness/storage/stream.h"
#include "harness/system/sampling.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { CHUNK_WORDS = 512, PREFETCH_ROWS = 8 };
#define ABSENT UINT64_MAX

_Static_assert(GINEX_LIST_BUFFER_BYTES % GNN_PAGE_BYTES == 0, "pieces of a long list end on pages, as they begin");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the low bytes of a count are a narrower word");

struct source {
    struct gnn_neighbour_source base;
    struct ginex_neighbours *n;
    uint32_t worker;
    unsigned char *buffer; /* (GINEX_LIST_BUFFER_BYTES) */
};

/* Counts of one source; padded so that two workers never share a cache line. */
struct tally {
    uint64_t cached_lists, read_lists, bytes, ios;
    uint64_t padding[12];
};
_Static_assert(sizeof(struct tally) >= 128, "a cache line and its neighbour, which the CPU fetches too");

struct ginex_neighbours {
    const struct gnn_env *env;
    struct ginex_neighbours_config config;
    struct gnn_file *indices;
    struct gnn_stream_file *file; /* of one stream: entries, then table, at the same offsets in the file */
    struct gnn_stream *stream;    /* NULL: no cache */
    uint64_t table_offset_bytes, file_bytes;
    uint32_t id_bytes;     /* of a neighbour in the dataset, and of a word of an entry: its count or a neighbour */
    uint64_t list_words;   /* of the entries */
    void *loaded;          /* a copy of the stream */
    const void *words;     /* of id_bytes; NULL while not loaded */
    const uint64_t *table; /* (N) index of the entry's first word, or ABSENT */
    struct tally *tallies; /* (workers) */
    uint64_t load_bytes, load_ios;
};

/* ---- building ---- */

static uint64_t table_bytes(const struct gnn_env *env)
{
    return gnn_mul_bytes(env->dataset->node_count, sizeof(uint64_t));
}

/* Appends the chosen lists that are not empty, in node order, from one pass over the file. */
static enum gnn_status append_lists(struct ginex_neighbours *n, struct ginex_scan *scan,
                                    const struct ginex_choice *choice, struct gnn_err *err)
{
    const struct gnn_dataset *d = n->env->dataset;
    gnn_node v = 0;
    ginex_scan_start(scan);
    for (;;) {
        const void *block;
        uint64_t from, edges;
        GNN_TRY(ginex_scan_next(scan, &block, &from, &edges, err));
        if (block == NULL)
            return GNN_OK;
        const uint64_t to = from + edges;
        gnn_charge(n->env->world, GNN_WORK_TABLE_ENTRY, edges / 8);
        for (; v < d->node_count && d->indptr[v] < to; v++) {
            const uint64_t begin = d->indptr[v], end = d->indptr[v + 1];
            if (begin < end && ginex_chosen(choice, v)) {
                const uint64_t count = end - begin;
                const uint64_t first = gnn_max_u64(begin, from), last = gnn_min_u64(end, to);
                if (begin >= from)
                    GNN_TRY(gnn_stream_append(n->stream, &count, n->id_bytes, err));
                GNN_TRY(gnn_stream_append(n->stream, (const char *)block + (first - from) * n->id_bytes,
                                          (last - first) * n->id_bytes, err));
            }
            if (end > to)
                break; /* goes on in the next block */
        }
    }
}

/* Appends `words` entries of empty lists: a chosen node without neighbours has a count of 0, after all others. */
static enum gnn_status append_empty(struct ginex_neighbours *n, uint64_t words, struct gnn_err *err)
{
    static const uint64_t zeros[CHUNK_WORDS];
    for (uint64_t left = words; left > 0;) {
        const uint64_t part = gnn_min_u64(left, CHUNK_WORDS);
        GNN_TRY(gnn_stream_append(n->stream, zeros, part * n->id_bytes, err));
        left -= part;
    }
    return GNN_OK;
}

/* Appends the table. Lists that are not empty begin at word 0, empty ones at word `empty`. */
static enum gnn_status append_table(struct ginex_neighbours *n, const struct ginex_choice *choice, uint64_t empty,
                                    struct gnn_err *err)
{
    const struct gnn_dataset *d = n->env->dataset;
    const uint64_t list_end = empty;
    uint64_t chunk[CHUNK_WORDS], at = 0;
    uint32_t filled = 0;
    GNN_TRY(gnn_stream_begin(n->stream, &n->table_offset_bytes, err));
    for (gnn_node v = 0; v < d->node_count; v++) {
        const uint64_t degree = d->indptr[v + 1] - d->indptr[v];
        const bool chosen = ginex_chosen(choice, v);
        chunk[filled++] = !chosen ? ABSENT : degree > 0 ? at : empty;
        if (chosen && degree > 0)
            at += degree + 1;
        else
            empty += chosen;
        if (filled == CHUNK_WORDS || v + 1 == d->node_count) {
            GNN_TRY(gnn_stream_append(n->stream, chunk, filled * sizeof *chunk, err));
            filled = 0;
        }
    }
    assert(at == list_end);
    assert(empty == choice->cost);
    return gnn_stream_seal(n->stream, err);
}

static enum gnn_status build(struct ginex_neighbours *n, struct ginex_scan *scan, struct gnn_err *err)
{
    const struct gnn_env *env = n->env;
    const uint64_t budget_words = (n->config.cache_bytes - table_bytes(env)) / n->id_bytes;
    const struct gnn_stream_file_config file = {
        .dir = n->config.dir, .direct = n->config.direct, .block_bytes = GINEX_BUILD_BYTES};
    struct ginex_choice choice;
    GNN_TRY(ginex_choose(env->dataset, scan->out_degree, GINEX_COST_LIST, budget_words, n->config.skip_isolated,
                         &choice, err));
    gnn_charge(env->world, GNN_WORK_TABLE_ENTRY, GINEX_CHOICE_PASSES * (uint64_t)env->dataset->node_count);
    GNN_TRY(gnn_stream_file_open(env->world, &file, &n->file, err));
    GNN_TRY(gnn_stream_open(n->file, &n->stream, err));
    GNN_TRY(append_lists(n, scan, &choice, err));
    const uint64_t words = gnn_stream_bytes(n->stream) / n->id_bytes;
    assert(words <= choice.cost);
    GNN_TRY(append_empty(n, choice.cost - words, err));
    GNN_TRY(append_table(n, &choice, words, err));
    n->list_words = choice.cost;
    n->file_bytes = gnn_stream_bytes(n->stream);
    assert(n->file_bytes >= n->table_offset_bytes + table_bytes(env));
    return GNN_OK;
}

/* ---- open, close ---- */

enum gnn_status ginex_neighbours_open(const struct gnn_env *env, const struct ginex_neighbours_config *config,
                                      struct gnn_file *indices, struct ginex_scan *scan, struct ginex_neighbours **out,
                                      struct gnn_err *err)
{
    if (config->cache_bytes > 0 && config->cache_bytes < table_bytes(env))
        return gnn_fail(err, GNN_ECAP,
                        "ginex.neighbour_cache=%" PRIu64 " cannot hold its table of %" PRIu64
                        " bytes: raise it, or set ginex.cache_neighbours=false",
                        config->cache_bytes, table_bytes(env));
    struct ginex_neighbours *n;
    GNN_NEW(n, 1, err, "ginex's neighbour cache");
    *n = (struct ginex_neighbours){
        .env = env, .config = *config, .indices = indices, .id_bytes = env->dataset->id_bytes};
    *out = n;
    GNN_NEW(n->tallies, config->workers, err, "ginex: %" PRIu32 " samplers", config->workers);
    return scan != NULL && config->cache_bytes > 0 ? build(n, scan, err) : GNN_OK;
}

void ginex_neighbours_close(struct ginex_neighbours *n)
{
    if (n == NULL)
        return;
    ginex_neighbours_unload(n);
    gnn_stream_close(n->stream);
    gnn_stream_file_close(n->file);
    free(n->tallies);
    free(n);
}

uint64_t ginex_neighbours_words(const struct ginex_neighbours *n)
{
    return n->list_words;
}

uint64_t ginex_neighbours_file_bytes(const struct ginex_neighbours *n)
{
    return n->file_bytes;
}

void ginex_neighbours_take_counters(struct ginex_neighbours *n, struct ginex_neighbours_counters *out)
{
    *out = (struct ginex_neighbours_counters){.load_bytes = n->load_bytes, .load_ios = n->load_ios};
    n->load_bytes = n->load_ios = 0;
    for (uint32_t w = 0; w < n->config.workers; w++) {
        out->cached_lists += n->tallies[w].cached_lists;
        out->read_lists += n->tallies[w].read_lists;
        out->list_bytes += n->tallies[w].bytes;
        out->list_ios += n->tallies[w].ios;
        n->tallies[w] = (struct tally){.bytes = 0};
    }
}

bool ginex_neighbours_has(const struct ginex_neighbours *n, gnn_node v)
{
    return n->table != NULL && n->table[v] != ABSENT;
}

/* ---- loading ---- */

/* There is no other stream in the file, so blocks lie where their offsets say. */
static enum gnn_status load_blocks(struct ginex_neighbours *n, struct gnn_reader *reader, struct gnn_err *err)
{
    const uint64_t block = n->config.load_block_bytes, end = gnn_span_room(n->file_bytes);
    const uint64_t count = gnn_div_up(end, block);
    struct gnn_load *loads;
    GNN_NEW(loads, count, err, "ginex: %" PRIu64 " reads of the neighbour cache", count);
    for (uint64_t i = 0; i < count; i++)
        loads[i] = (struct gnn_load){.len_bytes = (uint32_t)gnn_min_u64(end - i * block, block),
                                     .offset_bytes = i * block,
                                     .dst = (char *)n->loaded + i * block};
    const enum gnn_status status = gnn_reader_load_all(reader, loads, count, NULL, NULL, err);
    free(loads);
    return status;
}

enum gnn_status ginex_neighbours_load(struct ginex_neighbours *n, struct gnn_err *err)
{
    if (n->stream == NULL)
        return GNN_OK;
    struct gnn_world *world = n->env->world;
    struct gnn_file *const file = gnn_stream_file_handle(n->file);
    const struct gnn_reader_config config = {
        .engine = n->env->io_engine, .depth = n->config.load_depth, .files = &file, .file_count = 1};
    struct gnn_reader *reader = NULL;
    assert(n->loaded == NULL); /* unloaded at the end of each Inspect */
    GNN_TRY(
        gnn_mem_alloc(world, "ginex neighbour cache", gnn_span_room(n->file_bytes), GNN_MEM_LARGE, &n->loaded, err));
    enum gnn_status status = gnn_reader_open(world, &config, &reader, err);
    GNN_NEXT(status, load_blocks(n, reader, err));
    if (reader != NULL) {
        struct gnn_reader_counters counters;
        gnn_reader_counters(reader, &counters);
        n->load_bytes += counters.requested_bytes;
        n->load_ios += counters.requested_ios;
    }
    gnn_reader_close(reader);
    if (status != GNN_OK) {
        ginex_neighbours_unload(n);
        return status;
    }
    assert(n->table_offset_bytes % sizeof *n->table == 0);
    n->words = n->loaded;
    n->table = (const uint64_t *)(const void *)((const char *)n->loaded + n->table_offset_bytes);
    return GNN_OK;
}

void ginex_neighbours_unload(struct ginex_neighbours *n)
{
    gnn_mem_free(n->env->world, n->loaded);
    n->loaded = NULL;
    n->words = NULL;
    n->table = NULL;
}

/* ---- the source ---- */

/* One node's list and the draws from it. */
struct request {
    uint64_t begin, degree; /* of the list, in edges */
    const uint64_t *draw;   /* (count) edge offsets, ascending */
    gnn_node *out;
    uint32_t count;
};

/* Picks draws first <= i < end from IDs that begin at edge `begin`. Compiled for each width on its own. */
static inline void pick_as(const struct request *r, uint32_t first, uint32_t end, const void *ids, uint32_t id_bytes,
                           uint64_t begin)
{
    for (uint32_t i = first; i < end; i++)
        r->out[i] = gnn_id_at(ids, id_bytes, r->draw[i] - begin);
}

static inline void pick(const struct request *r, uint32_t first, uint32_t end, const void *ids, uint32_t id_bytes,
                        uint64_t begin)
{
    if (id_bytes == sizeof(gnn_node))
        pick_as(r, first, end, ids, sizeof(gnn_node), begin);
    else
        pick_as(r, first, end, ids, sizeof(uint64_t), begin);
}

/* GNN_EFORMAT when the cache's file is not what was written. */
static enum gnn_status draw_from_cache(const struct ginex_neighbours *n, gnn_node v, const struct request *r,
                                       struct gnn_err *err)
{
    const uint64_t at = n->table[v];
    if (at >= n->list_words || r->degree >= n->list_words - at || gnn_id_stored(n->words, n->id_bytes, at) != r->degree)
        return gnn_fail(err, GNN_EFORMAT,
                        "ginex: damaged neighbour cache: the list of node %" PRIu32 " (%" PRIu64
                        " neighbours) is not at word %" PRIu64 " of %" PRIu64 "; check the disk and run again",
                        v, r->degree, at, n->list_words);
    pick(r, 0, r->count, (const char *)n->words + (at + 1) * n->id_bytes, n->id_bytes, r->begin);
    return GNN_OK;
}

static uint64_t list_read_bytes(enum ginex_list_read rule, uint64_t first_byte, uint64_t list_bytes)
{
    const uint64_t page = GNN_PAGE_BYTES, start = gnn_round_down(first_byte, page);
    if (rule == GINEX_LIST_COVER)
        return gnn_round_up(first_byte + list_bytes, page) - start;
    return gnn_round_down(list_bytes, page) + 2 * page;
}

/* Reads the whole list, in pieces where it is longer than the buffer, and picks the draws from it. */
static enum gnn_status draw_from_file(struct source *s, const struct request *r, struct gnn_err *err)
{
    struct ginex_neighbours *n = s->n;
    struct tally *tally = &n->tallies[s->worker];
    const uint64_t id_bytes = n->id_bytes, first = r->begin * id_bytes, list_bytes = r->degree * id_bytes;
    const uint64_t start = gnn_round_down(first, GNN_PAGE_BYTES), list_end = first + list_bytes;
    const uint64_t end = start + list_read_bytes(n->config.list_read, first, list_bytes);
    uint32_t next = 0;
    assert(end >= list_end);
    for (uint64_t at = start; at < list_end; at += GINEX_LIST_BUFFER_BYTES) {
        const uint64_t len = gnn_min_u64(end - at, GINEX_LIST_BUFFER_BYTES);
        const uint64_t need = gnn_min_u64(list_end - at, len);
        uint32_t end_draw = at + len >= list_end ? r->count : next;
        while (end_draw < r->count && r->draw[end_draw] * id_bytes < at + len)
            end_draw++;
        const struct gnn_ids_wanted wanted = {r->draw + next, end_draw - next, n->id_bytes};
        GNN_TRY(gnn_read_window_ids(n->env->world, n->indices, at, s->buffer, len, need, &wanted, err));
        tally->bytes += len;
        tally->ios++;
        pick(r, next, end_draw, s->buffer, n->id_bytes, at / id_bytes);
        next = end_draw;
    }
    assert(next == r->count);
    tally->read_lists++;
    return GNN_OK;
}

static enum gnn_status fetch_lists(struct gnn_neighbour_source *source, const gnn_node *nodes,
                                   const uint32_t *row_start, uint32_t row_count, const uint64_t *edge_offset,
                                   gnn_node *out, struct gnn_err *err)
{
    struct source *s = (struct source *)source;
    const struct ginex_neighbours *n = s->n;
    const uint64_t *const indptr = n->env->dataset->indptr;
    uint64_t drawn = 0;
    gnn_charge(n->env->world, GNN_WORK_TABLE_ENTRY, row_count);
    for (uint32_t i = 0; i < row_count; i++) {
        if (n->table != NULL && i + PREFETCH_ROWS < row_count)
            __builtin_prefetch(&n->table[nodes[i + PREFETCH_ROWS]]);
        const uint32_t count = row_start[i + 1] - row_start[i];
        if (count == 0)
            continue;
        const gnn_node v = nodes[i];
        const struct request r = {.begin = indptr[v],
                                  .degree = indptr[v + 1] - indptr[v],
                                  .draw = edge_offset + row_start[i],
                                  .out = out + row_start[i],
                                  .count = count};
        if (ginex_neighbours_has(n, v)) {
            GNN_TRY(draw_from_cache(n, v, &r, err));
            drawn += count;
            n->tallies[s->worker].cached_lists++;
        } else {
            GNN_TRY(draw_from_file(s, &r, err));
        }
    }
    gnn_charge(n->env->world, GNN_WORK_TABLE_ENTRY, drawn); /* at random places of the cache, as in a mapping */
    return GNN_OK;
}

static enum gnn_status fetch_offsets(struct gnn_neighbour_source *source, const uint64_t *edge_offset, uint64_t count,
                                     gnn_node *out, struct gnn_err *err)
{
    (void)source, (void)edge_offset, (void)out;
    return gnn_fail(err, GNN_EBUG, "ginex: %" PRIu64 " edges requested without their lists", count);
}

static void source_close(struct gnn_neighbour_source *source)
{
    struct source *s = (struct source *)source;
    if (s == NULL)
        return;
    gnn_mem_free(s->n->env->world, s->buffer);
    free(s);
}

static const struct gnn_neighbour_source_ops source_ops = {
    .name = "lists", .fetch = fetch_offsets, .fetch_lists = fetch_lists, .close = source_close};

enum gnn_status ginex_source_open(void *neighbours, uint32_t worker, struct gnn_neighbour_source **out,
                                  struct gnn_err *err)
{
    struct source *s;
    GNN_NEW(s, 1, err, "ginex's neighbour source");
    *s = (struct source){.base = {&source_ops}, .n = neighbours, .worker = worker};
    *out = &s->base;
    GNN_MEM_NEW(s->n->env->world, s->buffer, GINEX_LIST_BUFFER_BYTES, "ginex list buffer", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

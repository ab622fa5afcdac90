#include "systems/ginex/neighbours.h"

#include "harness/storage/stream.h"
#include "harness/system/sampling.h"
#include "systems/ginex/score.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { ABSENT_CHUNK = 512, TRACE_BLOCK_BYTES = 1 << 20, PREFETCH_ROWS = 8 };
#define ABSENT UINT64_MAX

/* A source counts by itself: one cache line and more between two workers. */
struct source {
    struct gnn_neighbour_source base;
    struct ginex_neighbours *n;
    uint32_t worker;
    unsigned char *buffer; /* (GINEX_LIST_BUFFER_BYTES) */
};

struct tally {
    uint64_t cached_lists, read_lists, bytes, ios;
    uint64_t padding[12];
};

struct ginex_neighbours {
    const struct gnn_env *env;
    struct ginex_neighbours_config config;
    struct gnn_file *indices;
    struct gnn_stream_file *trace; /* of one stream: entries, then table, at the same offsets in the file */
    struct gnn_stream *stream;
    uint64_t table_offset_bytes;
    void *loaded;          /* a copy of the stream */
    const uint32_t *words; /* NULL while not loaded */
    const uint64_t *table; /* (N) index of the entry's first word, or ABSENT */
    void *top_memory;
    gnn_node *top;
    uint32_t top_count;
    struct tally *tallies; /* (workers) */
    uint64_t load_bytes, load_ios;
    struct ginex_neighbours_figures figures;
};

/* ---- building ---- */

struct building {
    struct ginex_neighbours *n;
    struct gnn_stream *indices;
    struct gnn_span_reader *reader;
    uint32_t *out_degree;
    struct ginex_choice choice;
};

static uint64_t table_bytes(const struct gnn_env *env)
{
    return gnn_mul_bytes(env->dataset->node_count, sizeof(uint64_t));
}

uint64_t ginex_neighbours_build_bytes(const struct gnn_env *env, const struct ginex_neighbours_config *config)
{
    if (config->cache_bytes == 0 && config->top_rows == 0)
        return 0;
    const uint64_t degrees = gnn_mul_bytes(env->dataset->node_count, sizeof(uint32_t));
    const uint64_t top = gnn_mul_bytes(config->top_rows, sizeof(gnn_node));
    return degrees + top + (uint64_t)GINEX_SCAN_BYTES * GINEX_SCAN_DEPTH + TRACE_BLOCK_BYTES;
}

/* Appends the chosen lists, in node order, from one pass over the file. */
static enum gnn_status copy_lists(struct building *b, struct gnn_err *err)
{
    struct ginex_neighbours *n = b->n;
    const struct gnn_dataset *d = n->env->dataset;
    struct ginex_walk walk = {.stream = b->indices, .step_bytes = GINEX_SCAN_BYTES};
    gnn_span_reader_start(b->reader, ginex_walk_next, &walk);
    gnn_node v = 0;
    for (;;) {
        struct gnn_span span;
        void *data;
        GNN_TRY(gnn_span_reader_next(b->reader, &span, &data, err));
        if (data == NULL)
            return GNN_OK;
        const gnn_node *const block = data;
        const uint64_t from = span.offset_bytes / sizeof *block;
        const uint64_t to = from + span.len_bytes / sizeof *block;
        gnn_charge(n->env->world, GNN_WORK_TABLE_ENTRY, (to - from) / 8);
        for (; v < d->node_count && d->indptr[v] < to; v++) {
            const uint64_t begin = d->indptr[v], end = d->indptr[v + 1];
            if (begin < end && ginex_chosen(&b->choice, d, b->out_degree, v)) {
                const uint32_t count = (uint32_t)(end - begin);
                const uint64_t first = begin > from ? begin : from, last = end < to ? end : to;
                if (begin >= from)
                    GNN_TRY(gnn_stream_append(n->stream, &count, sizeof count, err));
                GNN_TRY(gnn_stream_append(n->stream, block + (first - from), (last - first) * sizeof *block, err));
            }
            if (end > to)
                break; /* goes on in the next block */
        }
    }
}

/* An empty list has an entry too where its node was chosen: a count of 0, after all others. */
static enum gnn_status append_empty(struct building *b, uint64_t *words, struct gnn_err *err)
{
    static const uint32_t zeros[ABSENT_CHUNK];
    for (uint64_t left = b->choice.cost - *words; left > 0;) {
        const uint64_t part = left < ABSENT_CHUNK ? left : ABSENT_CHUNK;
        GNN_TRY(gnn_stream_append(b->n->stream, zeros, part * sizeof *zeros, err));
        left -= part;
    }
    return GNN_OK;
}

static enum gnn_status append_table(struct building *b, struct gnn_err *err)
{
    struct ginex_neighbours *n = b->n;
    const struct gnn_dataset *d = n->env->dataset;
    uint64_t chunk[ABSENT_CHUNK];
    uint32_t filled = 0;
    uint64_t at = 0, empty = n->figures.words;
    GNN_TRY(gnn_stream_begin(n->stream, &n->table_offset_bytes, err));
    for (gnn_node v = 0; v < d->node_count; v++) {
        const uint64_t degree = d->indptr[v + 1] - d->indptr[v];
        const bool chosen = ginex_chosen(&b->choice, d, b->out_degree, v);
        chunk[filled++] = !chosen ? ABSENT : degree > 0 ? at : empty;
        if (chosen && degree > 0)
            at += degree + 1;
        else
            empty += chosen;
        if (filled == ABSENT_CHUNK || v + 1 == d->node_count) {
            GNN_TRY(gnn_stream_append(n->stream, chunk, filled * sizeof *chunk, err));
            filled = 0;
        }
    }
    return gnn_stream_seal(n->stream, err);
}

static enum gnn_status build_cache(struct building *b, struct gnn_err *err)
{
    struct ginex_neighbours *n = b->n;
    const struct gnn_env *env = n->env;
    const uint64_t budget_words = (n->config.cache_bytes - table_bytes(env)) / sizeof(uint32_t);
    GNN_TRY(ginex_choose(env->dataset, b->out_degree, GINEX_COST_LIST, budget_words, n->config.skip_isolated,
                         &b->choice, err));
    const struct gnn_stream_file_config trace = {
        .dir = n->config.dir, .direct = n->config.direct, .block_bytes = TRACE_BLOCK_BYTES};
    GNN_TRY(gnn_stream_file_open(env->world, &trace, &n->trace, err));
    GNN_TRY(gnn_stream_open(n->trace, &n->stream, err));
    GNN_TRY(copy_lists(b, err));
    n->figures.words = gnn_stream_bytes(n->stream) / sizeof(uint32_t);
    GNN_TRY(append_empty(b, &n->figures.words, err));
    GNN_TRY(append_table(b, err));
    n->figures.nodes = b->choice.nodes;
    n->figures.words = b->choice.cost;
    n->figures.file_bytes = gnn_stream_bytes(n->stream);
    return GNN_OK;
}

static enum gnn_status list_top(struct building *b, struct gnn_err *err)
{
    struct ginex_neighbours *n = b->n;
    const struct gnn_dataset *d = n->env->dataset;
    struct ginex_choice choice;
    GNN_TRY(ginex_choose(d, b->out_degree, GINEX_COST_ROW, n->config.top_rows, false, &choice, err));
    GNN_TRY(gnn_mem_alloc(n->env->world, "ginex nodes by score", gnn_mul_bytes(n->config.top_rows, sizeof *n->top),
                          GNN_MEM_PLAIN, &n->top_memory, err));
    n->top = n->top_memory;
    for (gnn_node v = 0; v < d->node_count; v++)
        if (ginex_chosen(&choice, d, b->out_degree, v))
            n->top[n->top_count++] = v;
    return GNN_OK;
}

static enum gnn_status build_with(struct building *b, struct gnn_err *err)
{
    struct ginex_neighbours *n = b->n;
    const struct gnn_env *env = n->env;
    const uint64_t bytes = env->dataset->edge_count * sizeof(gnn_node);
    const struct gnn_span_reader_config reader = {
        .engine = env->io_engine, .file = n->indices, .depth = GINEX_SCAN_DEPTH, .span_bytes_max = GINEX_SCAN_BYTES};
    void *memory = NULL;
    GNN_TRY(gnn_stream_attach(env->world, n->indices, bytes, &b->indices, err));
    GNN_TRY(gnn_span_reader_open(env->world, &reader, &b->reader, err));
    GNN_TRY(gnn_mem_alloc(env->world, "ginex out-degrees",
                          gnn_mul_bytes(env->dataset->node_count, sizeof *b->out_degree), GNN_MEM_PLAIN, &memory, err));
    b->out_degree = memory;
    GNN_TRY(ginex_out_degrees(env, b->reader, b->indices, b->out_degree, err));
    if (n->config.top_rows > 0)
        GNN_TRY(list_top(b, err));
    return n->config.cache_bytes > 0 ? build_cache(b, err) : GNN_OK;
}

static enum gnn_status build(struct ginex_neighbours *n, struct gnn_err *err)
{
    struct building b = {.n = n};
    const uint64_t start_ns = gnn_now_ns(n->env->world);
    const enum gnn_status status = build_with(&b, err);
    if (b.reader != NULL) {
        struct gnn_reader_counters counters;
        gnn_span_reader_counters(b.reader, &counters);
        n->figures.scanned_bytes = counters.requested_bytes;
    }
    gnn_mem_free(n->env->world, b.out_degree);
    gnn_span_reader_close(b.reader);
    gnn_stream_close(b.indices);
    n->figures.build_ns = gnn_now_ns(n->env->world) - start_ns;
    return status;
}

/* ---- open, close ---- */

static enum gnn_status open_all(struct ginex_neighbours *n, struct gnn_err *err)
{
    const struct gnn_dataset *d = n->env->dataset;
    GNN_TRY(gnn_dataset_file_open(n->env, GNN_DATASET_INDICES, n->config.direct ? GNN_OPEN_DIRECT : 0, &n->indices,
                                  NULL, err));
    n->tallies = calloc(n->config.workers, sizeof *n->tallies);
    if (n->tallies == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ginex: %" PRIu32 " samplers", n->config.workers);
    if (d->edge_count == 0 || (n->config.cache_bytes == 0 && n->config.top_rows == 0))
        return GNN_OK;
    return build(n, err);
}

enum gnn_status ginex_neighbours_open(const struct gnn_env *env, const struct ginex_neighbours_config *config,
                                      struct ginex_neighbours **out, struct gnn_err *err)
{
    *out = NULL;
    if (config->cache_bytes > 0 && config->cache_bytes < table_bytes(env))
        return gnn_fail(err, GNN_ECAP,
                        "ginex.neighbour_cache of %" PRIu64 " bytes cannot hold its table of %" PRIu64
                        ": raise it, or set ginex.cache_neighbours=false",
                        config->cache_bytes, table_bytes(env));
    struct ginex_neighbours *n = calloc(1, sizeof *n);
    if (n == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ginex: neighbour cache");
    n->env = env;
    n->config = *config;
    const enum gnn_status status = open_all(n, err);
    if (status == GNN_OK)
        *out = n;
    else
        ginex_neighbours_close(n);
    return status;
}

void ginex_neighbours_close(struct ginex_neighbours *n)
{
    if (n == NULL)
        return;
    ginex_neighbours_unload(n);
    gnn_mem_free(n->env->world, n->top_memory);
    gnn_stream_close(n->stream);
    gnn_stream_file_close(n->trace);
    gnn_file_close(n->env->world, n->indices);
    free(n->tallies);
    free(n);
}

const gnn_node *ginex_top_nodes(const struct ginex_neighbours *n, uint32_t *count)
{
    *count = n->top_count;
    return n->top;
}

void ginex_neighbours_figures(const struct ginex_neighbours *n, struct ginex_neighbours_figures *out)
{
    *out = n->figures;
}

void ginex_neighbours_counters(const struct ginex_neighbours *n, struct ginex_neighbours_counters *out)
{
    *out = (struct ginex_neighbours_counters){.load_bytes = n->load_bytes, .load_ios = n->load_ios};
    for (uint32_t w = 0; w < n->config.workers; w++) {
        out->cached_lists += n->tallies[w].cached_lists;
        out->read_lists += n->tallies[w].read_lists;
        out->list_bytes += n->tallies[w].bytes;
        out->list_ios += n->tallies[w].ios;
    }
}

bool ginex_neighbours_has(const struct ginex_neighbours *n, gnn_node v)
{
    return n->table != NULL && n->table[v] != ABSENT;
}

/* ---- loading ---- */

/* Blocks of the stream, one after the other; there is no other stream, so they lie where their offsets say. */
struct load_walk {
    struct ginex_neighbours *n;
    uint64_t next_bytes, padded_bytes;
};

static uint32_t next_loads(struct load_walk *walk, struct gnn_load *loads, uint32_t max)
{
    uint32_t count = 0;
    const uint64_t block = walk->n->config.load_block_bytes;
    for (uint64_t at = walk->next_bytes; count < max && at < walk->padded_bytes; at += block, count++) {
        const uint64_t left = walk->padded_bytes - at;
        loads[count] = (struct gnn_load){.file = 0,
                                         .len_bytes = (uint32_t)(left < block ? left : block),
                                         .offset_bytes = at,
                                         .dst = (char *)walk->n->loaded + at,
                                         .tag = at};
    }
    return count;
}

static enum gnn_status load_with(struct ginex_neighbours *n, struct gnn_reader *reader, struct gnn_err *err)
{
    enum { CHUNK = 64 };
    struct load_walk walk = {.n = n, .padded_bytes = gnn_span_room(n->figures.file_bytes)};
    for (;;) {
        struct gnn_load loads[CHUNK];
        const uint32_t count = next_loads(&walk, loads, CHUNK);
        uint32_t accepted = 0, got = 0;
        uint64_t tags[CHUNK];
        GNN_TRY(gnn_reader_submit(reader, loads, count, &accepted, err));
        walk.next_bytes += (uint64_t)accepted * n->config.load_block_bytes;
        if (gnn_reader_in_flight(reader) == 0)
            return GNN_OK;
        const uint32_t step = n->config.load_depth / 8 + 1;
        GNN_TRY(gnn_reader_harvest(reader, 1, step < CHUNK ? step : CHUNK, tags, &got, err));
    }
}

enum gnn_status ginex_neighbours_load(struct ginex_neighbours *n, struct gnn_err *err)
{
    if (n->stream == NULL)
        return GNN_OK;
    struct gnn_world *world = n->env->world;
    struct gnn_file *const file = gnn_stream_file_handle(n->trace);
    const struct gnn_reader_config config = {
        .engine = n->env->io_engine, .depth = n->config.load_depth, .files = &file, .file_count = 1};
    struct gnn_reader *reader = NULL;
    assert(n->loaded == NULL);
    GNN_TRY(gnn_mem_alloc(world, "ginex neighbour cache", gnn_span_room(n->figures.file_bytes), GNN_MEM_PLAIN,
                          &n->loaded, err));
    enum gnn_status status = gnn_reader_open(world, &config, &reader, err);
    if (status == GNN_OK)
        status = load_with(n, reader, err);
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

static void from_cache(const struct ginex_neighbours *n, gnn_node v, const struct request *r)
{
    const uint32_t *const entry = n->words + n->table[v];
    assert(entry[0] == r->degree);
    for (uint32_t i = 0; i < r->count; i++)
        r->out[i] = entry[1 + (r->draw[i] - r->begin)];
}

static uint64_t read_bytes(enum ginex_list_read rule, uint64_t first_byte, uint64_t list_bytes)
{
    const uint64_t page = GNN_PAGE_BYTES, start = gnn_round_down(first_byte, page);
    if (rule == GINEX_LIST_COVER)
        return gnn_round_up(first_byte + list_bytes, page) - start;
    return gnn_round_down(list_bytes, page) + 2 * page;
}

/* Reads the whole list, in pieces where it is longer than the buffer, and picks the draws. */
static enum gnn_status from_file(struct source *s, const struct request *r, struct gnn_err *err)
{
    struct ginex_neighbours *n = s->n;
    struct tally *tally = &n->tallies[s->worker];
    const uint64_t first = r->begin * sizeof(gnn_node), list_bytes = r->degree * sizeof(gnn_node);
    const uint64_t start = gnn_round_down(first, GNN_PAGE_BYTES), list_end = first + list_bytes;
    const uint64_t end = start + read_bytes(n->config.list_read, first, list_bytes);
    uint32_t next = 0;
    for (uint64_t at = start; at < list_end; at += GINEX_LIST_BUFFER_BYTES) {
        const uint64_t len = end - at < GINEX_LIST_BUFFER_BYTES ? end - at : GINEX_LIST_BUFFER_BYTES;
        const uint64_t need = list_end - at < len ? list_end - at : len;
        GNN_TRY(gnn_read_window(n->env->world, n->indices, at, s->buffer, len, need, err));
        tally->bytes += len;
        tally->ios++;
        for (; next < r->count && r->draw[next] * sizeof(gnn_node) < at + len; next++)
            r->out[next] = ((const gnn_node *)(const void *)s->buffer)[r->draw[next] - at / sizeof(gnn_node)];
    }
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
            from_cache(n, v, &r);
            n->tallies[s->worker].cached_lists++;
        } else {
            GNN_TRY(from_file(s, &r, err));
        }
    }
    return GNN_OK;
}

static enum gnn_status fetch_offsets(struct gnn_neighbour_source *source, const uint64_t *edge_offset, uint64_t count,
                                     gnn_node *out, struct gnn_err *err)
{
    (void)source, (void)edge_offset, (void)out;
    return gnn_fail(err, GNN_EBUG, "ginex: %" PRIu64 " edges asked for without their lists", count);
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
    struct source *s = calloc(1, sizeof *s);
    if (s == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ginex: neighbour source");
    *s = (struct source){.base = {&source_ops}, .n = neighbours, .worker = worker};
    void *buffer = NULL;
    const enum gnn_status status =
        gnn_mem_alloc(s->n->env->world, "ginex list buffer", GINEX_LIST_BUFFER_BYTES, GNN_MEM_PLAIN, &buffer, err);
    s->buffer = buffer;
    if (status == GNN_OK)
        *out = &s->base;
    else
        source_close(&s->base);
    return status;
}

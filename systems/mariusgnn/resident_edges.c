/* SPDX-License-Identifier: MIT */
#include "systems/mariusgnn/resident_edges.h"

#include "harness/storage/reader.h"
#include "harness/system/buffer.h"
#include "systems/mariusgnn/policy.h"

#include <assert.h>
#include <inttypes.h>

enum { LOADS_MAX = 256 };

struct edge {
    gnn_node source, destination;
};
_Static_assert(sizeof(struct edge) == MARIUS_EDGE_BYTES, "its layout on disk");

/* One state's edges. Rows of buckets follow each other by source partition, in a row by destination partition, both
 * ascending. */
struct graph {
    struct marius_subgraph view;
    uint32_t resident_count;
    uint32_t *resident;             /* (c) partitions, ascending */
    uint32_t *slot;                 /* (c) of each */
    uint64_t *row_start;            /* (c + 1) edges before the row of resident[i] */
    uint32_t *in_start, *out_start; /* (local_count + 2) */
    gnn_node *original;             /* (local_count) */
    struct gnn_buffer raw, in, out, released;
};

struct marius_resident_edges {
    struct gnn_world *world;
    struct marius_edges_config config;
    uint32_t *slot_of; /* (p) of the state in the making; MARIUS_NONE: not resident */
    struct graph graphs[MARIUS_GRAPHS_MAX];
    struct gnn_reader *reader;
    struct gnn_load loads[LOADS_MAX];
    uint32_t load_count;
    struct run {
        uint64_t file_edge, count; /* edges that follow each other in the file … */
        struct edge *dst;          /* … and in memory */
    } run;
    struct marius_edges_counters counters;
};

/* ---- open ---- */

static enum gnn_status graph_open(struct marius_resident_edges *edges, struct graph *graph, struct gnn_err *err)
{
    const struct marius_edges_config *const config = &edges->config;
    const uint64_t local_count = (uint64_t)config->slots * config->store->rows;
    struct gnn_world *const world = edges->world;
    if (local_count >= MARIUS_NONE)
        return gnn_fail(err, GNN_EUSAGE,
                        "mariusgnn: %" PRIu64 " resident nodes exceed 32-bit node numbers: lower mariusgnn.capacity",
                        local_count);
    graph->raw = (struct gnn_buffer){.name = "resident edges", .mem_flags = GNN_MEM_LARGE};
    graph->in = (struct gnn_buffer){.name = "edges by destination"};
    graph->out = (struct gnn_buffer){.name = "edges by source"};
    graph->released = (struct gnn_buffer){.name = "released code's edge copies"};
    GNN_NEW(graph->resident, config->slots, err, "resident partitions");
    GNN_NEW(graph->slot, config->slots, err, "slots of resident partitions");
    GNN_NEW(graph->row_start, config->slots + UINT64_C(1), err, "rows of edge buckets");
    GNN_MEM_NEW(world, graph->in_start, local_count + 2, "offsets by destination", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, graph->original, local_count, "original IDs of resident nodes", GNN_MEM_PLAIN, err);
    if (config->out_edges)
        GNN_MEM_NEW(world, graph->out_start, local_count + 2, "offsets by source", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

static void graph_close(struct gnn_world *world, struct graph *graph)
{
    gnn_buffer_close(world, &graph->released);
    gnn_buffer_close(world, &graph->out);
    gnn_buffer_close(world, &graph->in);
    gnn_buffer_close(world, &graph->raw);
    gnn_mem_free(world, graph->out_start);
    gnn_mem_free(world, graph->original);
    gnn_mem_free(world, graph->in_start);
    free(graph->row_start);
    free(graph->slot);
    free(graph->resident);
}

static struct gnn_reader_config reader_config(const struct marius_edges_config *config)
{
    return (struct gnn_reader_config){.engine = config->engine,
                                      .depth = config->depth,
                                      .file_count = 1,
                                      .bounce_bytes_max = config->direct ? MARIUS_BUCKET_PIECE_BYTES : 0};
}

static enum gnn_status open_parts(struct marius_resident_edges *edges, struct gnn_err *err)
{
    struct gnn_file *const file = edges->config.store->edges;
    struct gnn_reader_config reader = reader_config(&edges->config);
    reader.files = &file;
    GNN_NEW(edges->slot_of, edges->config.store->partitions, err, "slots of partitions");
    GNN_TRY(gnn_reader_open(edges->world, &reader, &edges->reader, err));
    for (uint32_t g = 0; g < edges->config.graphs; g++)
        GNN_TRY(graph_open(edges, &edges->graphs[g], err));
    return GNN_OK;
}

enum gnn_status marius_edges_open(struct gnn_world *world, const struct marius_edges_config *config,
                                  struct marius_resident_edges **out, struct gnn_err *err)
{
    struct marius_resident_edges *edges;
    assert(config->graphs >= 1);
    assert(config->graphs <= MARIUS_GRAPHS_MAX);
    GNN_NEW(edges, 1, err, "resident edges");
    edges->world = world;
    edges->config = *config;
    *out = edges;
    return open_parts(edges, err);
}

void marius_edges_close(struct marius_resident_edges *edges)
{
    if (edges == NULL)
        return;
    for (uint32_t g = 0; g < edges->config.graphs; g++)
        graph_close(edges->world, &edges->graphs[g]);
    gnn_reader_close(edges->reader);
    free(edges->slot_of);
    free(edges);
}

static uint64_t edge_copies_bytes(const struct marius_edges_config *config)
{
    return sizeof(struct edge) + sizeof(uint32_t) * (config->out_edges ? 2 : 1);
}

uint64_t marius_edges_bytes(const struct marius_edges_config *config, uint32_t rows, uint64_t resident_edges)
{
    const uint64_t local_count = (uint64_t)config->slots * rows, arrays = config->out_edges ? 3 : 2;
    const struct gnn_reader_config reader = reader_config(config);
    const uint64_t edge_bytes = config->released ? (uint64_t)MARIUS_RELEASED_EDGE_BYTES : edge_copies_bytes(config);
    const uint64_t edges = gnn_mul_bytes(resident_edges + resident_edges / 16, edge_bytes); /* as gnn_buffer grows */
    const uint64_t graph = gnn_add_bytes(edges, arrays * sizeof(uint32_t) * (local_count + 2));
    return gnn_add_bytes(gnn_mul_bytes(config->graphs, graph),
                         gnn_reader_memory_bytes(&reader, config->direct ? GNN_PAGE_BYTES : 1));
}

const struct marius_subgraph *marius_edges_graph(const struct marius_resident_edges *edges, uint32_t which)
{
    assert(which < edges->config.graphs);
    return &edges->graphs[which].view;
}

void marius_edges_take_counters(struct marius_resident_edges *edges, struct marius_edges_counters *out)
{
    struct gnn_reader_counters reader;
    gnn_reader_counters(edges->reader, &reader);
    gnn_reader_clear_counters(edges->reader);
    *out = edges->counters;
    out->read_bytes = reader.requested_bytes;
    out->reads = reader.requested_ios;
    edges->counters = (struct marius_edges_counters){.reads = 0};
}

/* ---- which partitions ---- */

/* Lists the resident partitions in ascending order, and where the rows of their buckets begin. */
static uint64_t lay_rows(struct marius_resident_edges *edges, struct graph *graph, const uint32_t *partitions)
{
    const struct marius_store *const store = edges->config.store;
    uint64_t count = 0;
    for (uint32_t p = 0; p < store->partitions; p++)
        edges->slot_of[p] = MARIUS_NONE;
    for (uint32_t s = 0; s < edges->config.slots; s++)
        if (partitions[s] != MARIUS_NONE)
            edges->slot_of[partitions[s]] = s;
    graph->resident_count = 0;
    for (uint32_t p = 0; p < store->partitions; p++)
        if (edges->slot_of[p] != MARIUS_NONE) {
            graph->slot[graph->resident_count] = edges->slot_of[p];
            graph->resident[graph->resident_count++] = p;
        }
    for (uint32_t i = 0; i < graph->resident_count; i++) {
        graph->row_start[i] = count;
        for (uint32_t j = 0; j < graph->resident_count; j++)
            count += marius_bucket_edges(store, graph->resident[i], graph->resident[j]);
    }
    graph->row_start[graph->resident_count] = count;
    return count;
}

static void name_nodes(const struct marius_resident_edges *edges, const struct graph *graph)
{
    const uint32_t rows = edges->config.store->rows;
    memset(graph->original, 0xff, (uint64_t)edges->config.slots * rows * sizeof *graph->original);
    for (uint32_t i = 0; i < graph->resident_count; i++) {
        const uint32_t first = graph->resident[i] * rows;
        memcpy(graph->original + (uint64_t)graph->slot[i] * rows, edges->config.store->new_to_old + first,
               gnn_min_u32(rows, edges->config.nodes - first) * sizeof *graph->original);
    }
    gnn_charge(edges->world, GNN_WORK_COPIED_BYTE, (uint64_t)edges->config.slots * rows * sizeof *graph->original);
}

/* ---- reading buckets ---- */

static enum gnn_status flush_loads(struct marius_resident_edges *edges, struct gnn_err *err)
{
    const uint32_t count = edges->load_count;
    edges->load_count = 0;
    return gnn_reader_load_all(edges->reader, edges->loads, count, NULL, NULL, err);
}

/* Queues the reads of the run, a piece each. */
static enum gnn_status end_run(struct marius_resident_edges *edges, struct gnn_err *err)
{
    const struct run run = edges->run;
    const uint64_t piece = MARIUS_BUCKET_PIECE_BYTES / sizeof(struct edge);
    edges->run = (struct run){.count = 0};
    for (uint64_t at = 0; at < run.count; at += piece) {
        if (edges->load_count == LOADS_MAX)
            GNN_TRY(flush_loads(edges, err));
        edges->loads[edges->load_count++] =
            (struct gnn_load){.len_bytes = (uint32_t)(gnn_min_u64(run.count - at, piece) * sizeof(struct edge)),
                              .offset_bytes = (run.file_edge + at) * sizeof(struct edge),
                              .dst = run.dst + at};
    }
    return GNN_OK;
}

/* Adds a bucket to the run, or to the next one. */
static enum gnn_status want_bucket(struct marius_resident_edges *edges, uint64_t file_edge, uint64_t count,
                                   struct edge *dst, struct gnn_err *err)
{
    const bool follows = edges->run.count > 0 && edges->run.file_edge + edges->run.count == file_edge &&
                         edges->run.dst + edges->run.count == dst;
    edges->counters.read_buckets++;
    edges->counters.read_edges += count;
    if (follows && !edges->config.single) {
        edges->run.count += count;
        return GNN_OK;
    }
    GNN_TRY(end_run(edges, err));
    edges->run = (struct run){.file_edge = file_edge, .count = count, .dst = dst};
    return GNN_OK;
}

/* Where the buckets of the state before lie: a walk beside the new state's, in the same order. */
struct walk {
    const struct graph *graph; /* NULL: there is none */
    const struct marius_store *store;
    uint32_t row;    /* the first that is not before the source partition */
    uint32_t column; /* likewise, in this row */
    uint64_t at;     /* edges before that bucket */
};

static void walk_to_row(struct walk *walk, uint32_t source)
{
    if (walk->graph == NULL)
        return;
    while (walk->row < walk->graph->resident_count && walk->graph->resident[walk->row] < source)
        walk->row++;
    walk->column = 0;
    walk->at = walk->graph->row_start[walk->row];
}

/* Returns the edges of the bucket in the state before; NULL: it was not resident. */
static const struct edge *walk_to(struct walk *walk, uint32_t source, uint32_t destination)
{
    const struct graph *const graph = walk->graph;
    if (graph == NULL || walk->row == graph->resident_count || graph->resident[walk->row] != source)
        return NULL;
    for (; walk->column < graph->resident_count && graph->resident[walk->column] < destination; walk->column++)
        walk->at += marius_bucket_edges(walk->store, source, graph->resident[walk->column]);
    if (walk->column == graph->resident_count || graph->resident[walk->column] != destination)
        return NULL;
    return (const struct edge *)graph->raw.data + walk->at;
}

/* Copies or queues one row of buckets. */
static enum gnn_status fetch_row(struct marius_resident_edges *edges, struct graph *graph, uint32_t i,
                                 struct walk *walk, struct gnn_err *err)
{
    const struct marius_store *const store = edges->config.store;
    struct edge *dst = (struct edge *)graph->raw.data + graph->row_start[i];
    walk_to_row(walk, graph->resident[i]);
    for (uint32_t j = 0; j < graph->resident_count; j++) {
        const uint64_t count = marius_bucket_edges(store, graph->resident[i], graph->resident[j]);
        const struct edge *const kept = walk_to(walk, graph->resident[i], graph->resident[j]);
        if (count == 0)
            continue;
        if (kept != NULL) {
            memcpy(dst, kept, count * sizeof *dst);
            edges->counters.copied_buckets++;
            gnn_charge(edges->world, GNN_WORK_COPIED_BYTE, count * sizeof *dst);
        } else {
            const uint64_t bucket = (uint64_t)graph->resident[i] * store->partitions + graph->resident[j];
            GNN_TRY(want_bucket(edges, store->bucket_start[bucket], count, dst, err));
        }
        dst += count;
    }
    return GNN_OK;
}

static enum gnn_status fetch(struct marius_resident_edges *edges, struct graph *graph, const struct graph *before,
                             struct gnn_err *err)
{
    struct walk walk = {.graph = before, .store = edges->config.store};
    edges->run = (struct run){.count = 0};
    edges->load_count = 0;
    for (uint32_t i = 0; i < graph->resident_count; i++)
        GNN_TRY(fetch_row(edges, graph, i, &walk, err));
    GNN_TRY(end_run(edges, err));
    return flush_loads(edges, err);
}

/* ---- sorting ---- */

/* A bucket as its edges lie in memory, and what makes local IDs of its nodes. */
struct bucket {
    const struct edge *edges;
    uint64_t count;
    gnn_node source_first, destination_first; /* of the two partitions, new IDs */
    uint32_t source_rows, destination_rows;   /* of them */
    uint32_t source_local, destination_local; /* of their first rows */
};

typedef void bucket_fn(struct graph *graph, const struct bucket *bucket);

static uint32_t rows_of(const struct marius_resident_edges *edges, uint32_t partition)
{
    const uint32_t rows = edges->config.store->rows;
    return gnn_min_u32(rows, edges->config.nodes - partition * rows);
}

/* Calls each for every bucket of the state, in order. */
static void for_buckets(const struct marius_resident_edges *edges, struct graph *graph, bucket_fn *each)
{
    const struct marius_store *const store = edges->config.store;
    const struct edge *at = graph->raw.data;
    for (uint32_t i = 0; i < graph->resident_count; i++)
        for (uint32_t j = 0; j < graph->resident_count; j++) {
            const uint32_t from = graph->resident[i], to = graph->resident[j];
            const struct bucket bucket = {.edges = at,
                                          .count = marius_bucket_edges(store, from, to),
                                          .source_first = from * store->rows,
                                          .destination_first = to * store->rows,
                                          .source_rows = rows_of(edges, from),
                                          .destination_rows = rows_of(edges, to),
                                          .source_local = graph->slot[i] * store->rows,
                                          .destination_local = graph->slot[j] * store->rows};
            at += bucket.count;
            if (bucket.count > 0)
                each(graph, &bucket);
        }
}

/* A list is counted two places on, so that the sums leave where its next entry goes one place on, and, when all are
 * placed, where the next list begins. An edge that is no edge of its bucket leaves the count short. */
static void count_ends(struct graph *graph, const struct bucket *b)
{
    uint32_t *const in = graph->in_start + 2 + b->destination_local;
    uint32_t *const out = graph->out_start == NULL ? NULL : graph->out_start + 2 + b->source_local;
    for (uint64_t e = 0; e < b->count; e++) {
        const uint32_t source = b->edges[e].source - b->source_first;
        const uint32_t destination = b->edges[e].destination - b->destination_first;
        if (source >= b->source_rows || destination >= b->destination_rows)
            continue;
        in[destination]++;
        if (out != NULL)
            out[source]++;
        graph->view.edge_count++;
    }
}

static void place_ends(struct graph *graph, const struct bucket *b)
{
    uint32_t *const in = graph->in_start + 1 + b->destination_local, *const in_nbrs = graph->in.data;
    for (uint64_t e = 0; e < b->count; e++)
        in_nbrs[in[b->edges[e].destination - b->destination_first]++] =
            b->edges[e].source - b->source_first + b->source_local;
    if (graph->out_start == NULL)
        return;
    uint32_t *const out = graph->out_start + 1 + b->source_local, *const out_nbrs = graph->out.data;
    for (uint64_t e = 0; e < b->count; e++)
        out_nbrs[out[b->edges[e].source - b->source_first]++] =
            b->edges[e].destination - b->destination_first + b->destination_local;
}

/* Returns count x log2(count), linear between powers of two. */
static uint64_t sort_steps(uint64_t count)
{
    if (count < 2)
        return 0;
    const uint32_t doublings = 63 - (uint32_t)__builtin_clzll(count);
    return count * doublings + 2 * (count - (UINT64_C(1) << doublings));
}

static void sum_up(uint32_t *start, uint64_t local_count)
{
    for (uint64_t v = 0; start != NULL && v < local_count; v++)
        start[v + 2] += start[v + 1];
}

/* Charges what the released code does in addition, with one thread: a stable sort for each copy, and memory that is new
 * for each subgraph, for four copies of the edges and a map from all nodes to local IDs. With the whole graph in memory
 * it reads copies that were sorted when the dataset was prepared. */
static void charge_released(const struct marius_resident_edges *edges, uint32_t copies, uint64_t count)
{
    const uint64_t bytes =
        count * MARIUS_RELEASED_EDGE_BYTES + edges->config.nodes * (uint64_t)MARIUS_RELEASED_NODE_BYTES;
    if (edges->config.slots == edges->config.store->partitions)
        return;
    gnn_charge(edges->world, GNN_WORK_SORT_STEP, copies * sort_steps(count));
    gnn_charge(edges->world, GNN_WORK_FRESH_PAGE, bytes / GNN_PAGE_BYTES);
}

/* Makes the sorted copies of the graph's `count` edges. */
static enum gnn_status sort_edges(struct marius_resident_edges *edges, struct graph *graph, uint64_t count,
                                  struct gnn_err *err)
{
    const uint64_t local_count = (uint64_t)edges->config.slots * edges->config.store->rows;
    const uint32_t copies = graph->out_start != NULL ? 2 : 1;
    memset(graph->in_start, 0, (local_count + 2) * sizeof *graph->in_start);
    if (graph->out_start != NULL)
        memset(graph->out_start, 0, (local_count + 2) * sizeof *graph->out_start);
    for_buckets(edges, graph, count_ends);
    if (graph->view.edge_count != count)
        return gnn_fail(
            err, GNN_EFORMAT,
            "%s: %" PRIu64
            " edges do not belong to their bucket, the file is damaged; remove the directory to prepare it again",
            gnn_file_path(edges->world, edges->config.store->edges), count - graph->view.edge_count);
    sum_up(graph->in_start, local_count);
    sum_up(graph->out_start, local_count);
    for_buckets(edges, graph, place_ends);
    gnn_charge(edges->world, GNN_WORK_SORTED_KEY, copies * count);
    gnn_charge(edges->world, GNN_WORK_TABLE_ENTRY, copies * local_count);
    charge_released(edges, copies, count);
    return GNN_OK;
}

/* ---- building ---- */

static enum gnn_status make_room(struct marius_resident_edges *edges, struct graph *graph, uint64_t count,
                                 struct gnn_err *err)
{
    struct gnn_world *const world = edges->world;
    if (count > UINT32_MAX - 1)
        return gnn_fail(err, GNN_EUSAGE,
                        "%" PRIu64 " edges between resident partitions exceed the maximum of %" PRIu32
                        ": lower mariusgnn.capacity",
                        count, UINT32_MAX - 1);
    GNN_TRY(gnn_buffer_reserve(world, &graph->raw, gnn_max_u64(count, 1) * sizeof(struct edge), err));
    GNN_TRY(gnn_buffer_reserve(world, &graph->in, gnn_max_u64(count, 1) * sizeof(uint32_t), err));
    if (graph->out_start != NULL)
        GNN_TRY(gnn_buffer_reserve(world, &graph->out, gnn_max_u64(count, 1) * sizeof(uint32_t), err));
    if (!edges->config.released)
        return GNN_OK;
    const uint64_t more = gnn_max_u64(count, 1) * (MARIUS_RELEASED_EDGE_BYTES - edge_copies_bytes(&edges->config));
    GNN_TRY(gnn_buffer_reserve(world, &graph->released, more, err));
    memset(graph->released.data, 1, more);
    return GNN_OK;
}

static enum gnn_status build(struct marius_resident_edges *edges, struct graph *graph, const uint32_t *partitions,
                             const struct graph *before, struct gnn_err *err)
{
    const uint64_t count = lay_rows(edges, graph, partitions);
    GNN_TRY(make_room(edges, graph, count, err));
    name_nodes(edges, graph);
    GNN_TRY(fetch(edges, graph, before, err));
    const uint64_t start_ns = gnn_now_ns(edges->world);
    GNN_TRY(sort_edges(edges, graph, count, err));
    edges->counters.sort_ns += gnn_now_ns(edges->world) - start_ns;
    return GNN_OK;
}

enum gnn_status marius_edges_build(struct marius_resident_edges *edges, uint32_t which, const uint32_t *partitions,
                                   uint32_t from, struct gnn_err *err)
{
    assert(which < edges->config.graphs);
    assert(from != which);
    struct graph *const graph = &edges->graphs[which];
    graph->view = (struct marius_subgraph){.edge_count = 0};
    const enum gnn_status status =
        build(edges, graph, partitions, from == MARIUS_NONE ? NULL : &edges->graphs[from], err);
    if (status != GNN_OK) {
        graph->view = (struct marius_subgraph){.edge_count = 0};
        graph->resident_count = 0;
        return status;
    }
    graph->view.local_count = edges->config.slots * edges->config.store->rows;
    graph->view.in_start = graph->in_start;
    graph->view.in_nbrs = graph->in.data;
    graph->view.out_start = graph->out_start;
    graph->view.out_nbrs = graph->out.data;
    graph->view.original = graph->original;
    return GNN_OK;
}

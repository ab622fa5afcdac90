/* SPDX-License-Identifier: MIT */
/* Renumbering: which node comes when.
 *
 * bf: roots by degree, in- and out-neighbours together, FIFO breadth-first search; new ID = order of leaving the queue.
 * The search needs lists in both directions. In-neighbours are the dataset's file; out-neighbours are that file
 * transposed, window by window, into a scratch file. The queue is the result: its next stretch of nodes is known long
 * before their turn, so their lists are read many at a time and looked at in the queue's order.
 *
 * Source   AGNES (KDD 2026) section 3.2 (1) takes the layout from its predecessors [9, 10] without the algorithm; this
 *          one is ours: roots by falling in- plus out-degree, neighbours by rising ID, nodes without edges last
 * Memory   20 bytes a node, one window, the lists of one stretch */
#include "systems/agnes/layout.h"

#include "harness/base/id_width.h"
#include "harness/base/rng.h"
#include "harness/storage/exact.h"
#include "harness/storage/reader.h"
#include "harness/system/buffer.h"
#include "systems/agnes/agnes.h"

#include <inttypes.h>

enum { STRETCH_NODES = 4096, SEARCH_DEPTH = 128, RADIX = 1 << 16 };
static const uint64_t stretch_edges = UINT64_C(1) << 20;
static const uint64_t layout_seed = UINT64_C(0x61676e6573); /* of layout=random: one layout for all runs */

struct search {
    const struct gnn_env *env;
    const struct agnes_config *config;
    uint64_t window_bytes;
    uint32_t nodes;
    uint32_t *out_degree;  /* (nodes) */
    uint64_t *out_pointer; /* (nodes + 1) */
    gnn_node *roots, *queue;
    uint8_t *visited; /* (nodes) */
    struct gnn_file *in_file, *out_file;
    struct gnn_reader *reader;
    struct gnn_load *loads; /* of one stretch, two a node */
    struct gnn_buffer lists;
};

/* ---- degrees ---- */

static enum gnn_status count_out(void *ctx, uint64_t first, void *data, uint64_t edges, struct gnn_err *err)
{
    (void)first;
    (void)err;
    struct search *const search = ctx;
    const gnn_node *const ids = data;
    for (uint64_t i = 0; i < edges; i++)
        search->out_degree[ids[i]]++;
    gnn_charge(search->env->world, GNN_WORK_TABLE_ENTRY, edges);
    return GNN_OK;
}

static enum gnn_status scan_edges(const struct search *search, gnn_scan_fn *visit, void *ctx, struct gnn_err *err)
{
    const struct gnn_scan scan = gnn_scan_of_edges(search->env, search->config->io == AGNES_IO_DIRECT);
    return gnn_scan_file(search->env, &scan, visit, ctx, err);
}

static uint32_t key_of(const struct search *search, gnn_node v)
{
    const uint64_t *const indptr = search->env->dataset->indptr;
    const uint64_t key = indptr[v + 1] - indptr[v] + search->out_degree[v];
    return (uint32_t)gnn_min_u64(key, UINT32_MAX);
}

/* Sorts by 16 bits of the key, the largest first; a stable pass. */
static void radix_pass(const struct search *search, const gnn_node *from, gnn_node *to, uint32_t shift, uint32_t *count)
{
    memset(count, 0, RADIX * sizeof *count);
    for (uint32_t i = 0; i < search->nodes; i++)
        count[~(key_of(search, from[i]) >> shift) & (RADIX - 1)]++;
    for (uint32_t digit = 0, sum = 0; digit < RADIX; digit++) {
        const uint32_t here = count[digit];
        count[digit] = sum;
        sum += here;
    }
    for (uint32_t i = 0; i < search->nodes; i++)
        to[count[~(key_of(search, from[i]) >> shift) & (RADIX - 1)]++] = from[i];
}

/* Fills search->roots with all nodes, key descending, ID ascending. search->queue is scratch. */
static enum gnn_status sort_roots(struct search *search, struct gnn_err *err)
{
    uint32_t *count;
    GNN_NEW(count, RADIX, err, "agnes: sorting of %" PRIu32 " nodes", search->nodes);
    for (uint32_t v = 0; v < search->nodes; v++)
        search->roots[v] = v;
    radix_pass(search, search->roots, search->queue, 0, count);
    radix_pass(search, search->queue, search->roots, 16, count);
    gnn_charge(search->env->world, GNN_WORK_SORTED_KEY, search->nodes);
    free(count);
    return GNN_OK;
}

/* ---- out-neighbours ---- */

struct window {
    const struct search *search;
    gnn_node first, end; /* sources */
    gnn_node *edges;
    uint32_t *cursor; /* (nodes) */
    gnn_node dst;     /* whose list the scan is in */
};

static enum gnn_status fill_window(void *ctx, uint64_t first, void *data, uint64_t edges, struct gnn_err *err)
{
    (void)err;
    struct window *const w = ctx;
    const struct search *const search = w->search;
    const uint64_t *const indptr = search->env->dataset->indptr;
    const gnn_node *const ids = data;
    for (uint64_t e = first; e < first + edges; e++) {
        while (indptr[w->dst + 1] <= e)
            w->dst++;
        const gnn_node source = ids[e - first];
        if (source >= w->first && source < w->end)
            w->edges[search->out_pointer[source] - search->out_pointer[w->first] + w->cursor[source]++] = w->dst;
    }
    gnn_charge(search->env->world, GNN_WORK_TABLE_ENTRY, edges);
    return GNN_OK;
}

static enum gnn_status transpose_windows(struct search *search, struct window *w, uint64_t window_edges,
                                         struct gnn_err *err)
{
    for (w->first = 0; w->first < search->nodes; w->first = w->end) {
        const uint64_t begin = search->out_pointer[w->first];
        w->end = w->first + 1;
        while (w->end < search->nodes && search->out_pointer[w->end + 1] - begin <= window_edges)
            w->end++;
        w->dst = 0;
        GNN_TRY(scan_edges(search, fill_window, w, err));
        GNN_TRY(gnn_write_all(search->env->world, search->out_file, begin * sizeof *w->edges, w->edges,
                              (search->out_pointer[w->end] - begin) * sizeof *w->edges, err));
    }
    return GNN_OK;
}

/* Writes the lists of out-neighbours, in as many passes over the edges as windows. The cursors borrow the queue, which
 * is not in use yet. */
static enum gnn_status transpose(struct search *search, struct gnn_err *err)
{
    uint64_t largest = 1;
    for (uint32_t v = 0; v < search->nodes; v++) {
        search->out_pointer[v + 1] = search->out_pointer[v] + search->out_degree[v];
        largest = gnn_max_u64(largest, search->out_degree[v]);
    }
    const uint64_t edges =
        gnn_max_u64(gnn_min_u64(search->window_bytes / sizeof(gnn_node), search->env->dataset->edge_count), largest);
    struct window w = {.search = search, .cursor = search->queue};
    GNN_MEM_NEW(search->env->world, w.edges, edges, "agnes transposed window", GNN_MEM_PLAIN, err);
    memset(search->queue, 0, search->nodes * sizeof *search->queue);
    const enum gnn_status status = transpose_windows(search, &w, edges, err);
    gnn_mem_free(search->env->world, w.edges);
    return status;
}

/* ---- breadth-first search ---- */

static uint64_t in_degree(const struct search *search, gnn_node v)
{
    return search->env->dataset->indptr[v + 1] - search->env->dataset->indptr[v];
}

static int by_id(const void *a, const void *b)
{
    const gnn_node first = *(const gnn_node *)a, second = *(const gnn_node *)b;
    return (first > second) - (first < second);
}

/* Appends the unvisited ones of `count` neighbours at `list`, id_bytes wide, in no order. GNN_EFORMAT: no such node. */
static enum gnn_status append_list(struct search *search, const unsigned char *list, uint32_t id_bytes, uint64_t count,
                                   uint32_t *tail, struct gnn_err *err)
{
    const uint32_t nodes = search->nodes;
    for (uint64_t i = 0; i < count; i++) {
        gnn_node id;
        gnn_ids_narrow(list + i * id_bytes, id_bytes, 1, &id);
        if (id >= nodes)
            return gnn_dataset_damaged(search->env->dataset, err, "%s: neighbour %" PRIu32 ", expected below %" PRIu32,
                                       search->env->dataset->indices_path, id, nodes);
        if (search->visited[id])
            continue;
        search->visited[id] = 1;
        search->queue[(*tail)++] = id;
    }
    return GNN_OK;
}

/* Appends the node's unvisited neighbours, ascending; *list, its in- and then its out-neighbours, goes on to the next
 * node's. */
static enum gnn_status append(struct search *search, gnn_node v, const unsigned char **list, uint32_t *tail,
                              struct gnn_err *err)
{
    const uint32_t begin = *tail, id_bytes = search->env->dataset->id_bytes;
    const uint64_t in = in_degree(search, v), out = search->out_degree[v];
    GNN_TRY(append_list(search, *list, id_bytes, in, tail, err));
    *list += in * id_bytes;
    GNN_TRY(append_list(search, *list, sizeof(gnn_node), out, tail, err));
    *list += out * sizeof(gnn_node);
    qsort(search->queue + begin, *tail - begin, sizeof *search->queue, by_id);
    return GNN_OK;
}

/* Returns what both lists of a node take in search->lists. */
static uint64_t lists_bytes(const struct search *search, gnn_node v)
{
    return in_degree(search, v) * search->env->dataset->id_bytes + search->out_degree[v] * sizeof(gnn_node);
}

/* Reads both lists of queue[head .. end) one after another into search->lists. */
static enum gnn_status read_lists(struct search *search, uint32_t head, uint32_t end, struct gnn_err *err)
{
    unsigned char *at = search->lists.data;
    uint32_t count = 0;
    for (uint32_t i = head; i < end; i++) {
        const gnn_node v = search->queue[i];
        const uint64_t id_bytes = search->env->dataset->id_bytes, in_bytes = in_degree(search, v) * id_bytes;
        const struct gnn_load both[2] = {
            {.file = 0,
             .len_bytes = (uint32_t)in_bytes,
             .offset_bytes = search->env->dataset->indptr[v] * id_bytes,
             .dst = at},
            {.file = 1,
             .len_bytes = (uint32_t)(search->out_degree[v] * sizeof v),
             .offset_bytes = search->out_pointer[v] * sizeof v,
             .dst = at + in_bytes},
        };
        for (int k = 0; k < 2; k++)
            if (both[k].len_bytes > 0)
                search->loads[count++] = both[k];
        at += lists_bytes(search, v);
    }
    return gnn_reader_load_all(search->reader, search->loads, count, NULL, NULL, err);
}

/* Visits the queue's next stretch, or the next root when it is empty, until every node with an edge is numbered. */
static enum gnn_status search_all(struct search *search, struct gnn_err *err)
{
    uint32_t head = 0, tail = 0, root = 0;
    for (;;) {
        assert(head <= tail);
        GNN_TRY(gnn_check_stop(search->env, err));
        if (head == tail) {
            while (root < search->nodes && search->visited[search->roots[root]])
                root++;
            if (root == search->nodes || key_of(search, search->roots[root]) == 0)
                break;
            search->visited[search->roots[root]] = 1;
            search->queue[tail++] = search->roots[root];
        }
        uint32_t end = head;
        uint64_t edges = 0, bytes = 0;
        while (end < tail && end - head < STRETCH_NODES) {
            const uint64_t more = in_degree(search, search->queue[end]) + search->out_degree[search->queue[end]];
            const uint64_t more_bytes = lists_bytes(search, search->queue[end]);
            if (end > head && (edges + more > stretch_edges || bytes + more_bytes > search->window_bytes))
                break;
            edges += more;
            bytes += more_bytes;
            end++;
        }
        GNN_TRY(gnn_buffer_reserve(search->env->world, &search->lists, bytes, err));
        GNN_TRY(read_lists(search, head, end, err));
        const unsigned char *list = search->lists.data;
        for (; head < end; head++)
            GNN_TRY(append(search, search->queue[head], &list, &tail, err));
        gnn_charge(search->env->world, GNN_WORK_TABLE_ENTRY, edges);
    }
    for (gnn_node v = 0; v < search->nodes; v++) /* what has no edge at all */
        if (!search->visited[v])
            search->queue[tail++] = v;
    assert(tail == search->nodes);
    return GNN_OK;
}

static enum gnn_status breadth_first(struct search *search, const char *scratch_dir, struct gnn_err *err)
{
    struct gnn_world *const world = search->env->world;
    GNN_MEM_NEW(world, search->out_pointer, search->nodes + UINT64_C(1), "agnes out-lists", GNN_MEM_PLAIN, err);
    GNN_TRY(gnn_file_open(world, scratch_dir, GNN_OPEN_WRITE | GNN_OPEN_SCRATCH, &search->out_file, err));
    GNN_TRY(transpose(search, err));
    GNN_MEM_NEW(world, search->visited, search->nodes + UINT64_C(1), "agnes visited nodes", GNN_MEM_PLAIN, err);
    GNN_TRY(gnn_file_open(world, search->env->dataset->indices_path, GNN_OPEN_READ | GNN_OPEN_RANDOM, &search->in_file,
                          err));
    struct gnn_file *const files[] = {search->in_file, search->out_file};
    const struct gnn_reader_config config = {
        .engine = search->env->io_engine, .depth = SEARCH_DEPTH, .files = files, .file_count = 2};
    GNN_TRY(gnn_reader_open(world, &config, &search->reader, err));
    GNN_NEW(search->loads, STRETCH_NODES * UINT64_C(2), err, "agnes: reads of the breadth-first search");
    return search_all(search, err);
}

/* ---- the layouts ---- */

static enum gnn_status by_degree(struct search *search, const char *scratch_dir, struct gnn_err *err)
{
    struct gnn_world *const world = search->env->world;
    const uint64_t entries = search->nodes + UINT64_C(1);
    GNN_MEM_NEW(world, search->out_degree, entries, "agnes out-degrees", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, search->roots, entries, "agnes roots", GNN_MEM_PLAIN, err);
    GNN_TRY(scan_edges(search, count_out, search, err));
    GNN_TRY(sort_roots(search, err));
    if (search->config->layout == AGNES_LAYOUT_BF)
        return breadth_first(search, scratch_dir, err);
    memcpy(search->queue, search->roots, search->nodes * sizeof *search->queue);
    return GNN_OK;
}

static enum gnn_status order_nodes(struct search *search, const char *scratch_dir, struct gnn_err *err)
{
    GNN_MEM_NEW(search->env->world, search->queue, search->nodes + UINT64_C(1), "agnes order of nodes", GNN_MEM_PLAIN,
                err);
    if (search->config->layout != AGNES_LAYOUT_RANDOM)
        return by_degree(search, scratch_dir, err);
    for (uint32_t v = 0; v < search->nodes; v++)
        search->queue[v] = v;
    gnn_epoch_order(layout_seed, 0, search->queue, search->nodes, search->queue);
    return GNN_OK;
}

enum gnn_status agnes_renumber(const struct gnn_env *env, const struct agnes_config *config, const char *scratch_dir,
                               uint64_t window_bytes, gnn_node **out, struct gnn_err *err)
{
    struct gnn_world *const world = env->world;
    *out = NULL;
    if (config->layout == AGNES_LAYOUT_INPUT)
        return GNN_OK;
    struct search search = {.env = env,
                            .config = config,
                            .window_bytes = window_bytes,
                            .nodes = env->dataset->node_count,
                            .lists = {.name = "agnes neighbour lists"}};
    const enum gnn_status status = order_nodes(&search, scratch_dir, err);
    free(search.loads);
    gnn_reader_close(search.reader);
    gnn_file_close(world, search.in_file);
    gnn_file_close(world, search.out_file);
    gnn_buffer_close(world, &search.lists);
    gnn_mem_free(world, search.visited);
    gnn_mem_free(world, search.out_pointer);
    gnn_mem_free(world, search.roots);
    gnn_mem_free(world, search.out_degree);
    if (status == GNN_OK)
        *out = search.queue;
    else
        gnn_mem_free(world, search.queue);
    return status;
}

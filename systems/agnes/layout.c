/* Renumbering: which node comes when (specs/agnes.md section 2, "layout").
 *
 * bf: roots by degree, in- and out-neighbours together, FIFO breadth-first search; new ID = order of leaving the queue.
 * The search needs lists in both directions. In-neighbours are the dataset's file; out-neighbours are that file
 * transposed, window by window, into a scratch file. The queue is the result: its next stretch of nodes is known long
 * before their turn, so their lists are read many at a time and looked at in the queue's order.
 *
 * Source   AGNES (KDD 2026) section 3.2 names the layout of its predecessor without the algorithm; ours as in the spec
 * Memory   20 bytes a node, one window, the lists of one stretch */
#include "systems/agnes/agnes.h"

#include "harness/base/rng.h"
#include "harness/storage/exact.h"

#include <inttypes.h>
#include <stdlib.h>

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
    struct gnn_buffer lists;
};

static enum gnn_status alloc_nodes(const struct gnn_env *env, const char *name, uint64_t entry_bytes, void *out,
                                   struct gnn_err *err)
{
    void *memory = NULL;
    const uint64_t entries = env->dataset->node_count + UINT64_C(1);
    GNN_TRY(gnn_mem_alloc(env->world, name, entries * entry_bytes, GNN_MEM_PLAIN, &memory, err));
    memcpy(out, &memory, sizeof memory); /* any pointer type */
    return GNN_OK;
}

/* ---- degrees ---- */

static enum gnn_status check_id(const struct search *x, gnn_node id, struct gnn_err *err)
{
    if (id < x->nodes)
        return GNN_OK;
    return gnn_fail(err, GNN_EFORMAT,
                    "%s: neighbour %" PRIu32 ", but there are %" PRIu32 " nodes; run `oocgnn prepare --check`",
                    x->env->dataset->indices_path, id, x->nodes);
}

static enum gnn_status count_out(void *ctx, uint64_t at_bytes, void *data, uint64_t bytes, struct gnn_err *err)
{
    (void)at_bytes;
    struct search *const x = ctx;
    const gnn_node *const ids = data;
    for (uint64_t i = 0; i < bytes / sizeof *ids; i++) {
        GNN_TRY(check_id(x, ids[i], err));
        x->out_degree[ids[i]]++;
    }
    gnn_charge(x->env->world, GNN_WORK_TABLE_ENTRY, bytes / sizeof *ids);
    return GNN_OK;
}

static enum gnn_status scan_edges(const struct search *x, agnes_scan_fn *visit, void *ctx, struct gnn_err *err)
{
    const struct agnes_scan scan = {.path = x->env->dataset->indices_path,
                                    .direct = x->config->io == AGNES_IO_DIRECT,
                                    .end_bytes = x->env->dataset->edge_count * sizeof(gnn_node),
                                    .unit_bytes = sizeof(gnn_node),
                                    .mem_flags = GNN_MEM_PLAIN};
    return agnes_scan_file(x->env, &scan, visit, ctx, err);
}

static uint32_t key_of(const struct search *x, gnn_node v)
{
    const uint64_t *const indptr = x->env->dataset->indptr;
    const uint64_t key = indptr[v + 1] - indptr[v] + x->out_degree[v];
    return key < UINT32_MAX ? (uint32_t)key : UINT32_MAX;
}

/* One stable pass over 16 bits of the key, the largest first. */
static void radix_pass(const struct search *x, const gnn_node *from, gnn_node *to, uint32_t shift, uint32_t *count)
{
    memset(count, 0, RADIX * sizeof *count);
    for (uint32_t i = 0; i < x->nodes; i++)
        count[~(key_of(x, from[i]) >> shift) & (RADIX - 1)]++;
    for (uint32_t digit = 0, sum = 0; digit < RADIX; digit++) {
        const uint32_t here = count[digit];
        count[digit] = sum;
        sum += here;
    }
    for (uint32_t i = 0; i < x->nodes; i++)
        to[count[~(key_of(x, from[i]) >> shift) & (RADIX - 1)]++] = from[i];
}

/* x->roots: all nodes, key descending, ID ascending. x->queue is scratch. */
static enum gnn_status sort_roots(struct search *x, struct gnn_err *err)
{
    uint32_t *const count = malloc(RADIX * sizeof *count);
    if (count == NULL)
        return gnn_fail(err, GNN_ENOMEM, "agnes: sorting of %" PRIu32 " nodes", x->nodes);
    for (uint32_t v = 0; v < x->nodes; v++)
        x->roots[v] = v;
    radix_pass(x, x->roots, x->queue, 0, count);
    radix_pass(x, x->queue, x->roots, 16, count);
    gnn_charge(x->env->world, GNN_WORK_SORTED_KEY, x->nodes);
    free(count);
    return GNN_OK;
}

/* ---- out-neighbours ---- */

struct window {
    const struct search *x;
    gnn_node first, end; /* sources */
    gnn_node *edges;
    uint32_t *cursor; /* (nodes) */
    gnn_node dst;     /* whose list the scan is in */
};

static enum gnn_status fill_window(void *ctx, uint64_t at_bytes, void *data, uint64_t bytes, struct gnn_err *err)
{
    (void)err;
    struct window *const w = ctx;
    const struct search *const x = w->x;
    const uint64_t *const indptr = x->env->dataset->indptr;
    const gnn_node *const ids = data;
    const uint64_t begin = at_bytes / sizeof *ids, end = begin + bytes / sizeof *ids;
    for (uint64_t e = begin; e < end; e++) {
        while (indptr[w->dst + 1] <= e)
            w->dst++;
        const gnn_node source = ids[e - begin];
        if (source >= w->first && source < w->end)
            w->edges[x->out_pointer[source] - x->out_pointer[w->first] + w->cursor[source]++] = w->dst;
    }
    gnn_charge(x->env->world, GNN_WORK_TABLE_ENTRY, end - begin);
    return GNN_OK;
}

static enum gnn_status transpose_windows(struct search *x, struct window *w, uint64_t window_edges, struct gnn_err *err)
{
    for (w->first = 0; w->first < x->nodes; w->first = w->end) {
        const uint64_t begin = x->out_pointer[w->first];
        w->end = w->first + 1;
        while (w->end < x->nodes && x->out_pointer[w->end + 1] - begin <= window_edges)
            w->end++;
        w->dst = 0;
        GNN_TRY(scan_edges(x, fill_window, w, err));
        GNN_TRY(gnn_write_all(x->env->world, x->out_file, begin * sizeof *w->edges, w->edges,
                              (x->out_pointer[w->end] - begin) * sizeof *w->edges, err));
    }
    return GNN_OK;
}

/* Passes over the edges: their bytes / window_bytes. The cursors borrow the queue, which nobody needs yet. */
static enum gnn_status transpose(struct search *x, struct gnn_err *err)
{
    uint64_t largest = 1;
    for (uint32_t v = 0; v < x->nodes; v++) {
        x->out_pointer[v + 1] = x->out_pointer[v] + x->out_degree[v];
        largest = x->out_degree[v] > largest ? x->out_degree[v] : largest;
    }
    uint64_t edges = x->window_bytes / sizeof(gnn_node);
    edges = edges < x->env->dataset->edge_count ? edges : x->env->dataset->edge_count;
    edges = edges > largest ? edges : largest;
    void *memory = NULL;
    GNN_TRY(
        gnn_mem_alloc(x->env->world, "agnes transposed window", edges * sizeof(gnn_node), GNN_MEM_PLAIN, &memory, err));
    memset(x->queue, 0, x->nodes * sizeof *x->queue);
    struct window w = {.x = x, .edges = memory, .cursor = x->queue};
    const enum gnn_status status = transpose_windows(x, &w, edges, err);
    gnn_mem_free(x->env->world, memory);
    return status;
}

/* ---- breadth-first search ---- */

static uint64_t in_degree(const struct search *x, gnn_node v)
{
    return x->env->dataset->indptr[v + 1] - x->env->dataset->indptr[v];
}

static int by_id(const void *a, const void *b)
{
    const gnn_node x = *(const gnn_node *)a, y = *(const gnn_node *)b;
    return (x > y) - (x < y);
}

/* Appends the node's unvisited neighbours, ascending. */
static enum gnn_status append(struct search *x, const gnn_node *list, uint64_t count, uint32_t *tail,
                              struct gnn_err *err)
{
    const uint32_t begin = *tail;
    for (uint64_t i = 0; i < count; i++) {
        GNN_TRY(check_id(x, list[i], err));
        if (x->visited[list[i]])
            continue;
        x->visited[list[i]] = 1;
        x->queue[(*tail)++] = list[i];
    }
    qsort(x->queue + begin, *tail - begin, sizeof *x->queue, by_id);
    return GNN_OK;
}

/* Reads both lists of queue[head .. end) one after another into x->lists. */
static enum gnn_status read_lists(struct search *x, uint32_t head, uint32_t end, struct gnn_load *loads,
                                  struct gnn_err *err)
{
    unsigned char *at = x->lists.data;
    uint32_t count = 0;
    for (uint32_t i = head; i < end; i++) {
        const gnn_node v = x->queue[i];
        const uint64_t in = in_degree(x, v), out = x->out_degree[v];
        const struct gnn_load both[2] = {
            {.file = 0,
             .len_bytes = (uint32_t)(in * sizeof v),
             .offset_bytes = x->env->dataset->indptr[v] * sizeof v,
             .dst = at},
            {.file = 1,
             .len_bytes = (uint32_t)(out * sizeof v),
             .offset_bytes = x->out_pointer[v] * sizeof v,
             .dst = at + in * sizeof v},
        };
        for (int k = 0; k < 2; k++)
            if (both[k].len_bytes > 0)
                loads[count++] = both[k];
        at += (in + out) * sizeof v;
    }
    return gnn_reader_load_all(x->reader, loads, count, NULL, NULL, err);
}

/* The queue's next stretch, or the next root. */
static enum gnn_status search_all(struct search *x, struct gnn_load *loads, struct gnn_err *err)
{
    uint32_t head = 0, tail = 0, root = 0;
    for (;;) {
        GNN_TRY(gnn_check_stop(x->env, err));
        if (head == tail) {
            while (root < x->nodes && x->visited[x->roots[root]])
                root++;
            if (root == x->nodes || key_of(x, x->roots[root]) == 0)
                break;
            x->visited[x->roots[root]] = 1;
            x->queue[tail++] = x->roots[root];
        }
        uint32_t end = head;
        uint64_t edges = 0;
        while (end < tail && end - head < STRETCH_NODES) {
            const uint64_t more = in_degree(x, x->queue[end]) + x->out_degree[x->queue[end]];
            if (end > head && edges + more > stretch_edges)
                break;
            edges += more;
            end++;
        }
        GNN_TRY(gnn_buffer_reserve(x->env->world, &x->lists, edges * sizeof(gnn_node), err));
        GNN_TRY(read_lists(x, head, end, loads, err));
        const gnn_node *list = x->lists.data;
        for (; head < end; head++) {
            const uint64_t count = in_degree(x, x->queue[head]) + x->out_degree[x->queue[head]];
            GNN_TRY(append(x, list, count, &tail, err));
            list += count;
        }
        gnn_charge(x->env->world, GNN_WORK_TABLE_ENTRY, edges);
    }
    for (gnn_node v = 0; v < x->nodes; v++) /* what has no edge at all */
        if (!x->visited[v])
            x->queue[tail++] = v;
    assert(tail == x->nodes);
    return GNN_OK;
}

static enum gnn_status open_search(struct search *x, const char *scratch_dir, struct gnn_err *err)
{
    struct gnn_world *const world = x->env->world;
    GNN_TRY(alloc_nodes(x->env, "agnes out-lists", sizeof *x->out_pointer, &x->out_pointer, err));
    GNN_TRY(gnn_file_open(world, scratch_dir, GNN_OPEN_WRITE | GNN_OPEN_SCRATCH, &x->out_file, err));
    GNN_TRY(transpose(x, err));
    GNN_TRY(alloc_nodes(x->env, "agnes visited nodes", sizeof *x->visited, &x->visited, err));
    GNN_TRY(gnn_file_open(world, x->env->dataset->indices_path, GNN_OPEN_READ | GNN_OPEN_RANDOM, &x->in_file, err));
    struct gnn_file *const files[] = {x->in_file, x->out_file};
    const struct gnn_reader_config config = {
        .engine = x->env->io_engine, .depth = SEARCH_DEPTH, .files = files, .file_count = 2};
    return gnn_reader_open(world, &config, &x->reader, err);
}

static enum gnn_status breadth_first(struct search *x, const char *scratch_dir, struct gnn_err *err)
{
    struct gnn_load *loads = NULL;
    enum gnn_status status = open_search(x, scratch_dir, err);
    if (status == GNN_OK) {
        loads = malloc((size_t)STRETCH_NODES * 2 * sizeof *loads);
        if (loads == NULL)
            status = gnn_fail(err, GNN_ENOMEM, "agnes: reads of the breadth-first search");
    }
    if (status == GNN_OK)
        status = search_all(x, loads, err);
    free(loads);
    gnn_reader_close(x->reader);
    gnn_file_close(x->env->world, x->in_file);
    gnn_file_close(x->env->world, x->out_file);
    gnn_buffer_close(x->env->world, &x->lists);
    gnn_mem_free(x->env->world, x->visited);
    gnn_mem_free(x->env->world, x->out_pointer);
    return status;
}

/* ---- the layouts ---- */

static enum gnn_status by_degree(struct search *x, const char *scratch_dir, struct gnn_err *err)
{
    GNN_TRY(alloc_nodes(x->env, "agnes out-degrees", sizeof *x->out_degree, &x->out_degree, err));
    GNN_TRY(alloc_nodes(x->env, "agnes roots", sizeof *x->roots, &x->roots, err));
    GNN_TRY(scan_edges(x, count_out, x, err));
    GNN_TRY(sort_roots(x, err));
    if (x->config->layout == AGNES_LAYOUT_BF)
        return breadth_first(x, scratch_dir, err);
    memcpy(x->queue, x->roots, x->nodes * sizeof *x->queue);
    return GNN_OK;
}

static void at_random(struct search *x)
{
    for (uint32_t v = 0; v < x->nodes; v++)
        x->queue[v] = v;
    gnn_epoch_order(layout_seed, 0, x->queue, x->nodes, x->queue);
}

enum gnn_status agnes_renumber(const struct gnn_env *env, const struct agnes_config *config, const char *scratch_dir,
                               uint64_t window_bytes, gnn_node **out, struct gnn_err *err)
{
    *out = NULL;
    if (config->layout == AGNES_LAYOUT_INPUT)
        return GNN_OK;
    struct search x = {.env = env,
                       .config = config,
                       .window_bytes = window_bytes,
                       .nodes = env->dataset->node_count,
                       .lists = {.name = "agnes neighbour lists"}};
    enum gnn_status status = alloc_nodes(env, "agnes order of nodes", sizeof *x.queue, &x.queue, err);
    if (status == GNN_OK && config->layout == AGNES_LAYOUT_RANDOM)
        at_random(&x);
    else if (status == GNN_OK)
        status = by_degree(&x, scratch_dir, err);
    gnn_mem_free(env->world, x.roots);
    gnn_mem_free(env->world, x.out_degree);
    if (status == GNN_OK)
        *out = x.queue;
    else
        gnn_mem_free(env->world, x.queue);
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "harness/dataset/kron.h"
#include "harness/dataset/commit.h"

#include "harness/base/rng.h"
#include "harness/dataset/chunks.h"
#include "harness/dataset/features.h"
#include "harness/dataset/recipe.h"
#include "harness/dataset/widths.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SEED_EDGES = 42,
    SEED_NAMES = 43,
    SEED_SEEDS = 44,
    THREADS_MAX = 16, /* each has counters of its own */
    BLOCK = 128,      /* edges whose memory accesses overlap */
    REPORT = 1 << 16, /* edges between two looks at the stop flag */
};

/* A share of 2^53, rounded down, in hundredths. */
#define SHARE(percent) (((uint64_t)(percent) << 53) / 100)

struct kron {
    const struct gnn_registry_entry *entry;
    const struct gnn_prepare_job *job;
    unsigned levels;
    uint32_t nodes;
    uint64_t edges;
    uint32_t dim, threads;
    enum gnn_feature_type feature_type;
    uint32_t id_bytes; /* of a list's entry on disk */
    uint64_t window_edges;
    gnn_node *names;               /* (nodes) */
    uint64_t *indptr;              /* (nodes + 1) */
    uint32_t *cursor[THREADS_MAX]; /* (nodes) each: entries of every list, then where the next one goes */
    gnn_node *window;              /* lists of nodes [window_first, window_end) */
    uint32_t window_first, window_end;
    uint64_t class_key, feature_key;
    float amplitude;
};

/* ---- edges ---- */

/* Both ends before renaming. */
static inline void edge_ends(unsigned levels, uint64_t edge, uint32_t *source, uint32_t *destination)
{
    uint32_t s = 0, d = 0;
    const uint64_t first = edge * levels;
    for (unsigned level = 0; level < levels; level++) {
        const uint64_t u = gnn_splitmix64_at(SEED_EDGES, first + level) >> 11;
        const uint32_t a = u >= SHARE(57), b = u >= SHARE(76), c = u >= SHARE(95);
        s = s << 1 | b;
        d = d << 1 | (a - b + c);
    }
    *source = s;
    *destination = d;
}

/* Edges [first, first + count) renamed; count <= BLOCK. */
static void edge_block(const struct kron *k, uint64_t first, uint32_t count, gnn_node *source, gnn_node *destination)
{
    assert(count <= BLOCK);
    for (uint32_t i = 0; i < count; i++) {
        edge_ends(k->levels, first + i, &source[i], &destination[i]);
        __builtin_prefetch(k->names + source[i]);
        __builtin_prefetch(k->names + destination[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        source[i] = k->names[source[i]];
        destination[i] = k->names[destination[i]];
    }
}

static enum gnn_status draw_names(struct kron *k, struct gnn_err *err)
{
    GNN_NEW(k->names, k->nodes, err, "names of %" PRIu32 " nodes", k->nodes);
    for (uint32_t i = 0; i < k->nodes; i++)
        k->names[i] = i;
    for (uint32_t i = k->nodes - 1; i >= 1; i--) {
        const uint32_t j = (uint32_t)(gnn_splitmix64_at(SEED_NAMES, k->nodes - 1 - i) % ((uint64_t)i + 1));
        const gnn_node other = k->names[j];
        k->names[j] = k->names[i];
        k->names[i] = other;
    }
    return GNN_OK;
}

/* ---- passes over all edges, each thread over a share of its own ---- */

struct pass;
/* Takes in a block of thread `thread`'s edges. */
typedef void visit_block(struct pass *pass, uint32_t thread, const gnn_node *source, const gnn_node *destination,
                         uint32_t count);

struct pass {
    struct kron *kron;
    visit_block *visit;
    atomic_uint_fast64_t done_edges;
    atomic_uint_fast32_t active;
    atomic_bool stop;
};

struct worker {
    struct pass *pass;
    uint32_t thread;
    pthread_t id;
};

static void *work(void *arg)
{
    const struct worker *worker = arg;
    struct pass *pass = worker->pass;
    const struct kron *k = pass->kron;
    const uint64_t share = gnn_div_up(k->edges, k->threads);
    const uint64_t first = gnn_min_u64(share * worker->thread, k->edges);
    const uint64_t end = gnn_min_u64(first + share, k->edges);
    gnn_node source[BLOCK], destination[BLOCK];
    for (uint64_t edge = first; edge < end && !atomic_load(&pass->stop);) {
        const uint64_t report = gnn_min_u64(end, edge + REPORT);
        const uint64_t before = edge;
        while (edge < report) {
            const uint32_t count = (uint32_t)gnn_min_u64(report - edge, BLOCK);
            edge_block(k, edge, count, source, destination);
            pass->visit(pass, worker->thread, source, destination, count);
            edge += count;
        }
        atomic_fetch_add(&pass->done_edges, edge - before);
    }
    atomic_fetch_sub(&pass->active, 1);
    return NULL;
}

/* The calling thread reports while the others work. */
static enum gnn_status watch(struct pass *pass, const char *phase, struct gnn_err *err)
{
    const struct timespec nap = {.tv_nsec = 2000000};
    struct gnn_ticker ticker;
    enum gnn_status status = GNN_OK;
    gnn_ticker_start(&ticker, pass->kron->job, phase, "edges", pass->kron->edges);
    while (status == GNN_OK && atomic_load(&pass->active) > 0) {
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
        status = gnn_ticker_set(&ticker, atomic_load(&pass->done_edges), err);
    }
    if (status == GNN_OK) {
        status = gnn_ticker_set(&ticker, pass->kron->edges, err);
        gnn_ticker_end(&ticker);
    }
    return status;
}

static enum gnn_status run_pass(struct kron *k, const char *phase, visit_block *visit, struct gnn_err *err)
{
    struct pass pass = {.kron = k, .visit = visit};
    struct worker workers[THREADS_MAX];
    uint32_t started = 0;
    enum gnn_status status = GNN_OK;
    atomic_store(&pass.active, k->threads);
    for (; started < k->threads && status == GNN_OK; started += status == GNN_OK) {
        workers[started] = (struct worker){.pass = &pass, .thread = started};
        if (pthread_create(&workers[started].id, NULL, work, &workers[started]) != 0)
            status = gnn_fail(err, GNN_ENOMEM, "cannot start thread %" PRIu32 " of %" PRIu32, started + 1, k->threads);
    }
    GNN_NEXT(status, watch(&pass, phase, err));
    if (status != GNN_OK)
        atomic_store(&pass.stop, true);
    for (uint32_t i = 0; i < started; i++)
        (void)pthread_join(workers[i].id, NULL);
    return status;
}

static void count_block(struct pass *pass, uint32_t thread, const gnn_node *source, const gnn_node *destination,
                        uint32_t count)
{
    (void)destination;
    uint32_t *const entries = pass->kron->cursor[thread];
    for (uint32_t i = 0; i < count; i++)
        __builtin_prefetch(entries + source[i], 1);
    for (uint32_t i = 0; i < count; i++)
        entries[source[i]]++;
}

static void place_block(struct pass *pass, uint32_t thread, const gnn_node *source, const gnn_node *destination,
                        uint32_t count)
{
    const struct kron *k = pass->kron;
    uint32_t *const cursor = k->cursor[thread];
    for (uint32_t i = 0; i < count; i++)
        __builtin_prefetch(cursor + source[i], 1);
    for (uint32_t i = 0; i < count; i++)
        if (source[i] >= k->window_first && source[i] < k->window_end)
            k->window[cursor[source[i]]++] = destination[i];
}

/* ---- lists ---- */

static enum gnn_status count_lists(struct kron *k, struct gnn_err *err)
{
    k->indptr = malloc(((size_t)k->nodes + 1) * sizeof *k->indptr);
    bool complete = k->indptr != NULL;
    for (uint32_t t = 0; t < k->threads && complete; t++) {
        k->cursor[t] = calloc(k->nodes, sizeof *k->cursor[t]);
        complete = k->cursor[t] != NULL;
    }
    if (!complete)
        return gnn_fail(err, GNN_ENOMEM,
                        "counters of %" PRIu32 " nodes, 8 B each and 4 B a thread: take fewer --levels or --threads",
                        k->nodes);
    GNN_TRY(run_pass(k, "degrees", count_block, err));
    k->indptr[0] = 0;
    for (uint32_t v = 0; v < k->nodes; v++) {
        uint64_t entries = 0;
        for (uint32_t t = 0; t < k->threads; t++)
            entries += k->cursor[t][v];
        if (entries > k->window_edges)
            return gnn_fail(err, GNN_ECAP, "the list of node %" PRIu32 " has %" PRIu64 " entries, a window %" PRIu64, v,
                            entries, k->window_edges);
        k->indptr[v + 1] = k->indptr[v] + entries;
    }
    return GNN_OK;
}

/* Moves the window on to the lists that follow: counters become places. A thread's entries of a list come after those
 * of the threads before it, whose edges are earlier ones: generation order, whatever the number of threads. */
static uint64_t open_window(struct kron *k, uint32_t first)
{
    const uint64_t base = k->indptr[first];
    uint32_t v = first;
    assert(first < k->nodes);
    for (; v < k->nodes && k->indptr[v + 1] - base <= k->window_edges; v++) {
        uint32_t at = (uint32_t)(k->indptr[v] - base);
        for (uint32_t t = 0; t < k->threads; t++) {
            const uint32_t entries = k->cursor[t][v];
            k->cursor[t][v] = at;
            at += entries;
        }
    }
    assert(v > first); /* no list is longer than a window */
    k->window_first = first;
    k->window_end = v;
    return k->indptr[v] - base;
}

static enum gnn_status write_lists(struct kron *k, struct gnn_output *output, struct gnn_meta *meta,
                                   struct gnn_err *err)
{
    const uint64_t room = gnn_min_u64(k->edges, k->window_edges);
    struct gnn_out_file *file;
    GNN_NEW(k->window, room, err, "window of %" PRIu64 " list entries", room);
    GNN_TRY(gnn_out_open(output, gnn_meta_indices_name(k->id_bytes), 4096, GNN_OUT_DATASET, &file, err));
    enum gnn_status status = GNN_OK;
    for (uint32_t first = 0; first < k->nodes && status == GNN_OK; first = k->window_end) {
        const uint64_t entries = open_window(k, first);
        status = run_pass(k, "indices", place_block, err);
        GNN_NEXT(status, gnn_out_ids(file, k->window, entries, k->id_bytes, err));
    }
    free(k->window);
    k->window = NULL;
    return gnn_out_end(file, status, meta, err);
}

/* ---- seeds ---- */

uint32_t gnn_kron_seeds(const uint64_t *indptr, uint32_t nodes, gnn_node *ids)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < nodes; v++)
        if (indptr[v + 1] > indptr[v])
            ids[count++] = v;
    const uint32_t seeds = gnn_min_u32(count, GNN_KRON_SEEDS);
    for (uint32_t i = 0; i < seeds; i++) {
        assert(i < count);
        const uint32_t j = i + (uint32_t)(gnn_splitmix64_at(SEED_SEEDS, i) % (count - i));
        const gnn_node other = ids[j];
        ids[j] = ids[i];
        ids[i] = other;
    }
    return seeds;
}

/* `seeds`, in their order and outside of meta; then the splits. Uses up the names. */
static enum gnn_status write_seeds(struct kron *k, struct gnn_output *output, struct gnn_meta *meta,
                                   struct gnn_err *err)
{
    gnn_node *const seeds = k->names;
    assert(k->indptr[k->nodes] == k->edges);
    meta->train_count = gnn_kron_seeds(k->indptr, k->nodes, seeds);
    const uint64_t bytes = (uint64_t)meta->train_count * sizeof *seeds;
    GNN_TRY(gnn_out_array(output, "seeds", seeds, bytes, GNN_OUT_META, NULL, err));
    qsort(seeds, meta->train_count, sizeof *seeds, gnn_node_compare);
    GNN_TRY(gnn_out_array(output, "train", seeds, bytes, GNN_OUT_DATASET, meta, err));
    GNN_TRY(gnn_out_array(output, "valid", seeds, 0, GNN_OUT_DATASET, meta, err));
    return gnn_out_array(output, "test", seeds, 0, GNN_OUT_DATASET, meta, err);
}

/* ---- labels and features: hashes ---- */

static uint32_t class_of(const struct kron *k, gnn_node node)
{
    return (uint32_t)(gnn_splitmix64_at(k->class_key, node) % k->entry->classes);
}

static void fill_labels(const void *ctx, uint64_t first, uint64_t count, void *dst)
{
    int32_t *labels = dst;
    for (uint64_t i = 0; i < count; i++)
        labels[i] = (int32_t)class_of(ctx, (gnn_node)(first + i));
}

static void fill_features(const void *ctx, uint64_t first, uint64_t count, void *dst)
{
    const struct kron *k = ctx;
    const uint32_t row_bytes = k->dim * gnn_feature_type_bytes(k->feature_type);
    for (uint64_t i = 0; i < count; i++) {
        const gnn_node node = (gnn_node)(first + i);
        gnn_feature_row_store(k->feature_key, class_of(k, node), node, k->dim, k->amplitude, k->feature_type,
                              (unsigned char *)dst + i * row_bytes);
    }
}

static enum gnn_status write_rows(const struct kron *k, gnn_chunk_fill *fill, uint32_t item_bytes, const char *name,
                                  struct gnn_output *output, struct gnn_meta *meta, struct gnn_err *err)
{
    const struct gnn_chunk_stream stream = {
        .name = name, .fill = fill, .ctx = k, .items = k->nodes, .item_bytes = item_bytes};
    const struct gnn_chunk_job job = {.phase = name, .streams = &stream, .stream_count = 1, .threads = k->threads};
    return gnn_chunks_write(&job, output, meta, err);
}

/* ---- the dataset ---- */

static void describe(const struct kron *k, struct gnn_meta *meta)
{
    *meta = (struct gnn_meta){.scale_divisor = 1,
                              .node_count = k->nodes,
                              .edge_count = k->edges,
                              .class_count = k->entry->classes,
                              .id_widths = k->id_bytes,
                              .dim_count = 1,
                              .dims = {k->dim},
                              .types = {k->feature_type}};
    (void)snprintf(meta->name, sizeof meta->name, "%s", k->entry->name);
    (void)snprintf(meta->origin, sizeof meta->origin, "generated by oocgnn, generator 1; %s", k->entry->title);
    gnn_meta_add_param(meta, "levels", "%u", k->levels);
    gnn_meta_add_param(meta, "edges_per_node", "%d", GNN_KRON_EDGES_PER_NODE);
    gnn_meta_add_param(meta, GNN_META_LIST_ORDER, GNN_META_LIST_ORDER_GENERATION);
}

static enum gnn_status write_files(struct kron *k, struct gnn_output *output, struct gnn_meta *meta,
                                   struct gnn_err *err)
{
    char features[32];
    gnn_meta_features_name(k->dim, k->feature_type, features, sizeof features);
    GNN_TRY(draw_names(k, err));
    GNN_TRY(count_lists(k, err));
    GNN_TRY(gnn_out_array(output, "indptr", k->indptr, ((uint64_t)k->nodes + 1) * sizeof *k->indptr, GNN_OUT_DATASET,
                          meta, err));
    GNN_TRY(write_lists(k, output, meta, err));
    const uint32_t row_bytes = k->dim * gnn_feature_type_bytes(k->feature_type);
    GNN_TRY(write_rows(k, fill_features, row_bytes, features, output, meta, err));
    GNN_TRY(write_rows(k, fill_labels, sizeof(int32_t), "labels", output, meta, err));
    return write_seeds(k, output, meta, err);
}

static enum gnn_status write_dataset(struct kron *k, struct gnn_err *err)
{
    const uint64_t bytes = ((uint64_t)k->nodes + 1) * sizeof *k->indptr + k->edges * k->id_bytes +
                           (uint64_t)k->nodes * sizeof(int32_t) +
                           gnn_mul_bytes(k->nodes, k->dim * gnn_feature_type_bytes(k->feature_type)) +
                           UINT64_C(2) * GNN_KRON_SEEDS * sizeof(gnn_node);
    struct gnn_output output;
    struct gnn_meta *meta;
    GNN_NEW(meta, 1, err, "meta");
    describe(k, meta);
    enum gnn_status status = gnn_output_open(k->job, bytes, &output, err);
    GNN_NEXT(status, write_files(k, &output, meta, err));
    GNN_NEXT(status, gnn_dataset_commit(&output, meta, err));
    gnn_output_close(&output);
    free(meta);
    return status;
}

static enum gnn_status add_to_existing(const struct kron *k, struct gnn_err *err)
{
    struct gnn_meta *want;
    GNN_NEW(want, 1, err, "meta");
    describe(k, want);
    const enum gnn_status status = gnn_add_id_width_alone(k->job, want, k->id_bytes, err);
    free(want);
    return status;
}

/* The graph is one fixed graph: an option that would shape another one is refused. */
static enum gnn_status check_options(const struct gnn_registry_entry *entry, uint32_t scale_divisor,
                                     const struct gnn_generate_options *options, struct gnn_err *err)
{
    if (scale_divisor != 1)
        return gnn_fail(err, GNN_EUSAGE, "%s has no scale 1/%" PRIu32 ": choose its size with --levels, %d to %d",
                        entry->name, scale_divisor, GNN_KRON_LEVELS_MIN, GNN_KRON_LEVELS_MAX);
    if (options->levels != 0 && (options->levels < GNN_KRON_LEVELS_MIN || options->levels > GNN_KRON_LEVELS_MAX))
        return gnn_fail(err, GNN_EUSAGE, "%s with %" PRIu32 " levels: expected %d to %d", entry->name, options->levels,
                        GNN_KRON_LEVELS_MIN, GNN_KRON_LEVELS_MAX);
    if (options->dim > GNN_DIM_MAX)
        return gnn_fail(err, GNN_EUSAGE, "dim %" PRIu32 " of %s: expected 1 to %d", options->dim, entry->name,
                        GNN_DIM_MAX);
    struct gnn_generate_options defaults;
    gnn_option_defaults(gnn_generate_table, &defaults);
    defaults.dim = options->dim;
    defaults.id_width = options->id_width;
    defaults.feature_type = options->feature_type;
    defaults.threads = options->threads;
    defaults.levels = options->levels;
    for (const struct gnn_option *option = gnn_generate_table; option->name != NULL; option++) {
        char have[64], want[64];
        gnn_option_format(option, options, have, sizeof have);
        gnn_option_format(option, &defaults, want, sizeof want);
        if (strcmp(have, want) != 0)
            return gnn_fail(err, GNN_EUSAGE, "%s is one fixed graph: %s %s does not apply to it", entry->name,
                            option->name, have);
    }
    return GNN_OK;
}

_Static_assert((1ull << GNN_KRON_LEVELS_MAX) < GNN_NODE_NONE, "names are node IDs");

static uint32_t default_levels(const struct gnn_registry_entry *entry)
{
    return 63 - (uint32_t)__builtin_clzll(entry->nodes);
}

enum gnn_status gnn_prepare_kron(const struct gnn_registry_entry *entry, uint32_t scale_divisor,
                                 const struct gnn_generate_options *options, uint64_t window_edges,
                                 const struct gnn_prepare_job *job, struct gnn_err *err)
{
    assert(window_edges <= UINT32_MAX);
    GNN_TRY(check_options(entry, scale_divisor, options, err));
    gnn_output_sweep(job->out_dir);
    struct kron k = {.entry = entry,
                     .job = job,
                     .levels = options->levels > 0 ? options->levels : default_levels(entry),
                     .dim = options->dim > 0 ? options->dim : entry->dim,
                     .feature_type = options->feature_type,
                     .id_bytes = gnn_id_width_bytes(options->id_width),
                     .threads = gnn_chunk_threads(options->threads, THREADS_MAX),
                     .window_edges = window_edges,
                     .class_key = gnn_rng_fork(options->seed, "kron.class"),
                     .feature_key = gnn_rng_fork(options->seed, "kron.features")};
    assert(k.levels >= GNN_KRON_LEVELS_MIN);
    assert(k.levels <= GNN_KRON_LEVELS_MAX);
    k.nodes = 1u << k.levels;
    k.edges = (uint64_t)k.nodes * GNN_KRON_EDGES_PER_NODE;
    k.amplitude = gnn_feature_amplitude(GNN_FEATURE_SIGNAL, entry->classes, k.dim);
    const enum gnn_status status = access(job->out_dir, F_OK) == 0 ? add_to_existing(&k, err) : write_dataset(&k, err);
    free(k.window);
    for (uint32_t t = 0; t < k.threads; t++)
        free(k.cursor[t]);
    free(k.indptr);
    free(k.names);
    return status;
}

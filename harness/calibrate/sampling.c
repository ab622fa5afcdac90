/* SPDX-License-Identifier: MIT */
/* What sampling costs: this program's own sampler on the registry's papers100m, cut down, mini-batches of the size the
 * cut calls for. The whole of an edge is measured; the shares of hashing, sorting and fetching are measured apart on
 * the same sizes, and drawing is the rest. */
#include "harness/base/id_map.h"
#include "harness/base/rng.h"
#include "harness/calibrate/internal.h"
#include "harness/dataset/prepare.h"
#include "harness/graph/dataset.h"
#include "harness/sample/sample.h"
#include "harness/storage/exact.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCALE = 100, QUICK_SCALE = 4000, BATCH = 10, FANOUT = 10, LAYERS = 3, ROW = 8 };

/* A source that looks at the thread's clock around another one. */
struct timed_source {
    struct gnn_neighbour_source base;
    struct gnn_neighbour_source *inner;
    uint64_t ns, elements, fetches;
};

static enum gnn_status timed_fetch(struct gnn_neighbour_source *source, const uint64_t *edge_offset, uint64_t count,
                                   gnn_node *out, struct gnn_err *err)
{
    struct timed_source *const timed = (struct timed_source *)source;
    const uint64_t start_ns = gnn_thread_cpu_ns();
    const enum gnn_status status = timed->inner->ops->fetch(timed->inner, edge_offset, count, out, err);
    timed->ns += gnn_thread_cpu_ns() - start_ns;
    timed->elements += count;
    timed->fetches++;
    return status;
}

static const struct gnn_neighbour_source_ops timed_ops = {.name = "timed", .fetch = timed_fetch};

struct sampling {
    struct gnn_bench *bench;
    struct gnn_dataset *dataset;
    struct gnn_file *file;
    struct gnn_map *map;
    struct timed_source source;
    struct gnn_sampler *sampler;
    struct gnn_batch *batch;
    gnn_node *order; /* (train.count) */
    uint64_t epoch;
    /* of the last repetition: what a mini-batch holds */
    uint64_t edges, nodes, batches;
};

/* ---- set-up ---- */

static enum gnn_status make_dataset(struct sampling *s, char *dir, size_t dir_bytes, struct gnn_err *err)
{
    struct gnn_bench *const b = s->bench;
    const struct gnn_registry_entry *entry = NULL;
    struct gnn_generate_options options;
    const int wrote = snprintf(dir, dir_bytes, "%s/graph", b->scratch);
    if (wrote < 0 || (size_t)wrote >= dir_bytes)
        return gnn_fail(err, GNN_EUSAGE, "%s: the path is too long", b->scratch);
    GNN_TRY(gnn_registry_find("papers100m", &entry, err));
    gnn_option_defaults(gnn_generate_table, &options);
    options.dim = ROW;
    const struct gnn_prepare_job job = {.out_dir = dir, .stop = b->config->stop};
    return gnn_prepare_generate(entry, b->config->quick ? QUICK_SCALE : SCALE, &options, &job, err);
}

/* Brings every page of the topology into the cache and into the page table. */
static enum gnn_status touch_topology(struct sampling *s, struct gnn_err *err)
{
    enum { STEP = GNN_PAGE_BYTES / sizeof(gnn_node) };
    for (uint64_t at = 0; at < s->dataset->edge_count; at += STEP) {
        gnn_node value;
        GNN_TRY(gnn_map_gather_u32(s->bench->world, s->map, &at, 1, &value, err));
    }
    return GNN_OK;
}

static enum gnn_status sampling_open(struct sampling *s, struct gnn_err *err)
{
    struct gnn_world *const world = s->bench->world;
    char dir[GNN_BENCH_PATH_BYTES];
    GNN_TRY(make_dataset(s, dir, sizeof dir, err));
    GNN_TRY(gnn_dataset_open(world, dir, 0, GNN_F32, sizeof(gnn_node), &s->dataset, err));
    GNN_TRY(gnn_file_open(world, s->dataset->indices_path, GNN_OPEN_READ, &s->file, err));
    GNN_TRY(gnn_map_open(world, s->file, GNN_MAP_NORMAL, &s->map, err));
    GNN_TRY(touch_topology(s, err));
    s->source.base.ops = &timed_ops;
    GNN_TRY(gnn_source_mapped(world, s->map, sizeof(gnn_node), &s->source.inner, err));
    const struct gnn_sampler_config config = {.seed = 1, .layers = LAYERS, .fanout = {FANOUT, FANOUT, FANOUT}};
    GNN_TRY(gnn_sampler_open(world, &config, s->dataset, &s->source.base, &s->sampler, err));
    GNN_TRY(gnn_batch_open(world, &s->batch, err));
    s->order = calloc(s->dataset->train.count, sizeof *s->order);
    return s->order != NULL ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "calibrate: the order of an epoch");
}

static void sampling_close(struct sampling *s)
{
    struct gnn_world *const world = s->bench->world;
    free(s->order);
    gnn_batch_close(world, s->batch);
    gnn_sampler_close(s->sampler);
    if (s->source.inner != NULL)
        gnn_source_close(s->source.inner);
    gnn_map_close(world, s->map);
    gnn_file_close(world, s->file);
    if (s->dataset != NULL)
        gnn_dataset_close(world, s->dataset);
}

/* ---- the sampler ---- */

/* values: nanoseconds of an edge without its fetch; of its fetch. */
static enum gnn_status sample_once(void *ctx, double *values, struct gnn_err *err)
{
    struct sampling *const s = ctx;
    const uint32_t count = s->dataset->train.count;
    const uint32_t per_epoch = count / BATCH > 0 ? count / BATCH : 1, size = gnn_min_u32(count, BATCH);
    const uint64_t wanted = gnn_bench_count(s->bench, 400);
    struct gnn_sample_counters before, after;
    gnn_sampler_counters(s->sampler, &before);
    const double look_ns = gnn_thread_cpu_look_ns();
    s->source.ns = s->source.elements = s->source.fetches = 0;
    uint64_t ns = 0;
    for (uint64_t k = 0; k < wanted; k++) {
        if (k % per_epoch == 0)
            gnn_epoch_order(1, s->epoch++, s->dataset->train.nodes, count, s->order);
        const uint64_t start_ns = gnn_thread_cpu_ns();
        GNN_TRY(gnn_sampler_sample(s->sampler, s->epoch, k % per_epoch, s->order + k % per_epoch * size, size, s->batch,
                                   err));
        ns += gnn_thread_cpu_ns() - start_ns;
    }
    gnn_sampler_counters(s->sampler, &after);
    s->batches = after.batches - before.batches;
    s->edges = after.sampled_edges - before.sampled_edges;
    s->nodes = after.sampled_nodes - before.sampled_nodes;
    /* A batch's stretch holds one look of its own and two of every fetch, a fetch's one. */
    const double fetches = (double)s->source.fetches, fetch_ns = (double)s->source.ns - fetches * look_ns;
    const double whole_ns = (double)ns - ((double)wanted + 2 * fetches) * look_ns;
    assert(s->edges > 0);
    assert(s->source.elements > 0);
    values[0] = fmax(whole_ns - fetch_ns, 1) / (double)s->edges;
    values[1] = fmax(fetch_ns, 1) / (double)s->source.elements;
    return GNN_OK;
}

/* ---- hashing and sorting alone ---- */

struct alone {
    struct gnn_bench *bench;
    uint32_t universe, capacity, edges;
    gnn_node *keys, *copy; /* (edges) */
    void *map_memory;
    struct gnn_id_map map;
};

/* One insertion or look-up of the keys of a mini-batch, as the sampler does them: prefetched. */
static enum gnn_status hash_once(void *ctx, double *values, struct gnn_err *err)
{
    enum { AHEAD = 16 };
    struct alone *const a = ctx;
    (void)err;
    const uint64_t rounds = gnn_bench_count(a->bench, 400);
    const uint64_t start_ns = gnn_thread_cpu_ns();
    for (uint64_t r = 0; r < rounds; r++) {
        gnn_id_map_clear(&a->map);
        for (uint32_t e = 0; e < a->edges; e++) {
            if (e + AHEAD < a->edges)
                gnn_id_map_prefetch(&a->map, a->keys[e + AHEAD]);
            (void)gnn_id_map_add(&a->map, a->keys[e]);
        }
    }
    values[0] = (double)(gnn_thread_cpu_ns() - start_ns) / (double)(rounds * a->edges);
    return GNN_OK;
}

/* Rows of FANOUT keys by insertion, the copy not counted. */
static enum gnn_status sort_once(void *ctx, double *values, struct gnn_err *err)
{
    struct alone *const a = ctx;
    (void)err;
    const uint64_t rounds = gnn_bench_count(a->bench, 200);
    uint64_t ns = 0;
    for (uint64_t r = 0; r < rounds; r++) {
        memcpy(a->copy, a->keys, a->edges * sizeof *a->keys);
        const uint64_t start_ns = gnn_thread_cpu_ns();
        for (uint32_t row = 0; row + FANOUT <= a->edges; row += FANOUT)
            for (uint32_t i = row + 1; i < row + FANOUT; i++) {
                const gnn_node value = a->copy[i];
                uint32_t at = i;
                for (; at > row && a->copy[at - 1] > value; at--)
                    a->copy[at] = a->copy[at - 1];
                a->copy[at] = value;
            }
        ns += gnn_thread_cpu_ns() - start_ns;
    }
    const uint64_t sorted = rounds * (a->edges - a->edges % FANOUT);
    values[0] = (double)ns / (double)sorted;
    return GNN_OK;
}

/* Keys as a mini-batch has them: so many distinct ones, each about equally often. */
static void fill_keys(struct alone *a, uint32_t distinct)
{
    assert(distinct > 0);
    assert(distinct <= a->universe);
    for (uint32_t e = 0; e < a->edges; e++)
        a->keys[e] = (gnn_node)(gnn_splitmix64_at(7, gnn_splitmix64_at(9, e) % distinct) % a->universe);
}

static enum gnn_status measure_alone(struct sampling *s, struct alone *a, struct gnn_figure figures[2],
                                     struct gnn_err *err)
{
    const uint32_t fanout[LAYERS] = {FANOUT, FANOUT, FANOUT};
    a->universe = s->dataset->node_count;
    a->capacity = (uint32_t)gnn_sample_node_bound(a->universe, BATCH, fanout, LAYERS, NULL);
    a->edges = (uint32_t)(s->edges / s->batches);
    GNN_NEW(a->keys, 2 * (size_t)a->edges, err, "calibrate: %u keys", a->edges);
    a->copy = a->keys + a->edges;
    GNN_TRY(gnn_mem_alloc(s->bench->world, "ID map", gnn_id_map_bytes(a->universe, a->capacity), GNN_MEM_PLAIN,
                          &a->map_memory, err));
    gnn_id_map_init(&a->map, a->map_memory, a->universe, a->capacity);
    fill_keys(a, (uint32_t)(s->nodes / s->batches));
    GNN_TRY(gnn_figures_measure(hash_once, a, s->bench->repeats, 1, &figures[0], err));
    return gnn_figures_measure(sort_once, a, s->bench->repeats, 1, &figures[1], err);
}

static enum gnn_status measure(struct sampling *s, struct gnn_err *err)
{
    struct gnn_figure *const figure = s->bench->out->figure;
    struct gnn_figure whole[2], alone[2];
    struct alone a = {.bench = s->bench};
    GNN_TRY(gnn_figures_measure(sample_once, s, s->bench->repeats, 2, whole, err));
    const enum gnn_status status = measure_alone(s, &a, alone, err);
    gnn_mem_free(s->bench->world, a.map_memory);
    free(a.keys);
    GNN_TRY(status);
    /* In the sampler the three passes overlap; what the parts alone would leave over may be little. */
    const double rest = whole[0].value - alone[0].value - alone[1].value;
    figure[GNN_FIGURE_HASHED_ID] = alone[0];
    figure[GNN_FIGURE_SORTED_KEY] = alone[1];
    figure[GNN_FIGURE_SAMPLED_EDGE] = (struct gnn_figure){rest > 0.001 ? rest : 0.001, whole[0].spread};
    figure[GNN_FIGURE_GATHER_ELEMENT] = whole[1];
    return GNN_OK;
}

enum gnn_status gnn_bench_sampling(struct gnn_bench *bench, struct gnn_err *err)
{
    struct sampling s = {.bench = bench};
    enum gnn_status status = sampling_open(&s, err);
    GNN_NEXT(status, measure(&s, err));
    sampling_close(&s);
    return status;
}

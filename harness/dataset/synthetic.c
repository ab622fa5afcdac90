/* SPDX-License-Identifier: MIT */
#include "harness/dataset/synthetic.h"

#include "harness/base/text_file.h"
#include "harness/base/units.h"
#include "harness/dataset/recipe.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The coarse index has an entry for 64 edges: so many steps follow at most where every list has an edge, and those over
 * the empty lists between where not. Prefetches run so many positions ahead: first the coarse entry, then the offsets
 * it leads to. */
enum { COARSE_BITS = 6, PREFETCH_COARSE = 48, PREFETCH_OFFSETS = 24 };

struct indices {
    struct gnn_content content; /* first, so that the hooks find the rest behind it */
    const struct gnn_recipe *recipe;
    const uint64_t *indptr;
    gnn_node *coarse; /* (edges / 64, rounded up) the node whose list holds edge 64 k */
};

_Static_assert(offsetof(struct indices, content) == 0, "hooks cast the content to it");

struct gnn_synthetic {
    struct gnn_dataset dataset;
    struct gnn_recipe recipe;
    struct indices indices;
    struct gnn_content features;
    void *indptr, *labels, *splits[GNN_RECIPE_TEST + 1]; /* world memory */
};

/* ---- the indices file ---- */

static inline gnn_node node_of_edge(const struct indices *x, uint64_t edge)
{
    gnn_node node = x->coarse[edge >> COARSE_BITS];
    while (x->indptr[node + 1] <= edge)
        node++;
    return node;
}

static void gather_indices(const struct gnn_content *content, const uint64_t *index, uint64_t count, uint32_t *out)
{
    const struct indices *x = (const struct indices *)content;
    const uint64_t edges = content->size_bytes / content->id_bytes;
    struct gnn_entries entries;
    gnn_procedural_collect(x->recipe->graph, &entries);
    for (uint64_t i = 0; i < count;) {
        assert(index[i] < edges);
        const gnn_node node = node_of_edge(x, index[i]);
        const uint64_t begin = x->indptr[node], end = x->indptr[node + 1];
        uint64_t next = i;
        do {
            if (next + PREFETCH_COARSE < count)
                __builtin_prefetch(x->coarse + (index[next + PREFETCH_COARSE] >> COARSE_BITS));
            if (next + PREFETCH_OFFSETS < count) { /* the list is in one of two cache lines, nearly always */
                const gnn_node ahead = x->coarse[index[next + PREFETCH_OFFSETS] >> COARSE_BITS];
                __builtin_prefetch(x->indptr + ahead);
                __builtin_prefetch(x->indptr + ahead + 8);
            }
            next++;
        } while (next < count && index[next] >= begin && index[next] < end);
        gnn_procedural_add(x->recipe->graph, node, (uint32_t)(end - begin), begin, index + i, next - i, out + i,
                           &entries);
        i = next;
    }
    gnn_entries_draw(&entries);
}

/* Entries are computed in pieces, of which the range takes what it wants. */
static void read_indices(const struct gnn_content *content, uint64_t offset_bytes, uint64_t len_bytes, void *dst)
{
    enum { WORDS = 1024 };
    const struct indices *x = (const struct indices *)content;
    union {
        gnn_node nodes[WORDS];
        uint64_t ids[WORDS];
    } piece; /* as computed, then of the content's width */
    const uint32_t id_bytes = content->id_bytes;
    char *at = dst;
    assert(len_bytes <= content->size_bytes);
    assert(offset_bytes <= content->size_bytes - len_bytes);
    while (len_bytes > 0) {
        const uint64_t first = offset_bytes / id_bytes, skip = offset_bytes % id_bytes;
        const uint64_t count = gnn_min_u64(gnn_div_up(skip + len_bytes, id_bytes), WORDS);
        gnn_recipe_indices(x->recipe, x->indptr, node_of_edge(x, first), first, count, piece.nodes);
        gnn_ids_store(piece.nodes, count, id_bytes, &piece);
        const uint64_t bytes = gnn_min_u64(count * id_bytes - skip, len_bytes);
        memcpy(at, (const char *)&piece + skip, bytes);
        at += bytes;
        offset_bytes += bytes;
        len_bytes -= bytes;
    }
}

/* ---- sizes ---- */

static uint64_t coarse_count(uint64_t edges)
{
    return (edges >> COARSE_BITS) + 1;
}

uint64_t gnn_synthetic_host_bytes(const struct gnn_registry_counts *counts)
{
    const uint64_t split_nodes = (uint64_t)counts->train + counts->valid + counts->test;
    return ((uint64_t)counts->nodes + 1) * sizeof(uint64_t) + counts->nodes * sizeof(int32_t) +
           split_nodes * sizeof(gnn_node) + coarse_count(counts->edges) * sizeof(gnn_node);
}

/* MemAvailable; UINT64_MAX where the kernel does not tell. */
static uint64_t available_bytes(void)
{
    char text[4096];
    uint64_t kib = 0;
    if (gnn_text_file_read("/proc/meminfo", text, sizeof text) != 0)
        return UINT64_MAX;
    const char *const line = strstr(text, "MemAvailable:");
    return line != NULL && sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1 ? kib * 1024 : UINT64_MAX;
}

static enum gnn_status check_host(const struct gnn_recipe *recipe, struct gnn_err *err)
{
    char needed[32], have[32];
    const uint64_t bytes = gnn_synthetic_host_bytes(&recipe->counts), available = available_bytes();
    if (bytes <= available)
        return GNN_OK;
    const uint64_t divisor = gnn_mul_bytes(recipe->scale_divisor, bytes) / (available + 1) + 1;
    return gnn_fail(err, GNN_ENOTSUP,
                    "%s at 1/%" PRIu32 ": offsets and labels of %" PRIu32 " nodes take %s, this host has %s available; "
                    "choose --scale 1/%" PRIu64 " or less, or a host with more memory",
                    recipe->entry->name, recipe->scale_divisor, recipe->counts.nodes,
                    gnn_format_bytes(bytes, needed, sizeof needed), gnn_format_bytes(available, have, sizeof have),
                    divisor);
}

/* ---- open ---- */

/* Random accesses all over gigabytes: with small pages each would walk the page tables first. A hint; without it the
 * values are the same. */
static void hint_large_pages(void *memory, uint64_t bytes)
{
    const uint64_t page = 2 << 20;
    const uint64_t first = gnn_round_up((uintptr_t)memory, page), end = gnn_round_down((uintptr_t)memory + bytes, page);
    if (first < end)
        (void)madvise((char *)memory + (first - (uintptr_t)memory), end - first, MADV_HUGEPAGE);
}

static enum gnn_status fill_offsets(struct gnn_world *world, struct gnn_synthetic *s, struct gnn_err *err)
{
    const uint32_t nodes = s->recipe.counts.nodes;
    GNN_TRY(gnn_mem_alloc(world, "dataset", ((uint64_t)nodes + 1) * sizeof(uint64_t), GNN_MEM_PLAIN, &s->indptr, err));
    uint64_t *const indptr = s->indptr;
    hint_large_pages(indptr, ((uint64_t)nodes + 1) * sizeof *indptr);
    gnn_recipe_indptr(&s->recipe, 0, nodes, indptr);
    gnn_node *const coarse = malloc(coarse_count(indptr[nodes]) * sizeof *coarse);
    if (coarse == NULL)
        return gnn_fail(err, GNN_ENOMEM, "index of %" PRIu64 " edges", indptr[nodes]);
    hint_large_pages(coarse, coarse_count(indptr[nodes]) * sizeof *coarse);
    uint64_t entry = 0;
    for (uint32_t v = 0; v < nodes; v++)
        for (; entry << COARSE_BITS < indptr[v + 1]; entry++)
            coarse[entry] = v;
    assert(entry <= coarse_count(indptr[nodes]));
    const uint32_t id_bytes = gnn_id_width_bytes(s->recipe.options.id_width);
    s->indices = (struct indices){.content = {.size_bytes = indptr[nodes] * id_bytes,
                                              .read = read_indices,
                                              .gather_ids = gather_indices,
                                              .id_bytes = id_bytes},
                                  .recipe = &s->recipe,
                                  .indptr = indptr,
                                  .coarse = coarse};
    return GNN_OK;
}

static enum gnn_status fill_nodes(struct gnn_world *world, struct gnn_synthetic *s, struct gnn_err *err)
{
    const uint32_t nodes = s->recipe.counts.nodes;
    GNN_TRY(gnn_mem_alloc(world, "dataset", (uint64_t)nodes * sizeof(int32_t), GNN_MEM_PLAIN, &s->labels, err));
    gnn_recipe_labels(&s->recipe, 0, nodes, s->labels);
    struct gnn_split *const splits[] = {&s->dataset.train, &s->dataset.valid, &s->dataset.test};
    static const char *const names[] = {"train", "valid", "test"};
    for (unsigned i = GNN_RECIPE_TRAIN; i <= GNN_RECIPE_TEST; i++) {
        const uint32_t count = gnn_recipe_split_count(&s->recipe, (enum gnn_recipe_split)i);
        const uint64_t bytes = (uint64_t)count * sizeof(gnn_node); /* an empty split still gets an address */
        GNN_TRY(gnn_mem_alloc(world, "dataset", gnn_max_u64(bytes, 1), GNN_MEM_PLAIN, &s->splits[i], err));
        gnn_recipe_split(&s->recipe, (enum gnn_recipe_split)i, s->splits[i]);
        *splits[i] = (struct gnn_split){.nodes = s->splits[i], .count = count, .name = names[i]};
    }
    return GNN_OK;
}

/* Hashes the description of the graph and its features. */
static enum gnn_status name_digest(struct gnn_synthetic *s, char digest[GNN_CHECKSUM_TEXT], struct gnn_err *err)
{
    struct {
        struct gnn_meta meta;
        char text[GNN_META_TEXT_MAX];
    } * m;
    GNN_NEW(m, 1, err, "meta");
    gnn_recipe_describe(&s->recipe, s->dataset.edge_count, &m->meta);
    gnn_meta_add_dim(&m->meta, s->recipe.options.dim, s->recipe.options.feature_type);
    const enum gnn_status status = gnn_meta_format(&m->meta, m->text, sizeof m->text, err);
    if (status == GNN_OK)
        gnn_checksum_of(m->text, strlen(m->text), digest);
    free(m);
    return status;
}

static enum gnn_status publish(struct gnn_synthetic *s, struct gnn_err *err)
{
    struct gnn_dataset *const d = &s->dataset;
    const struct gnn_recipe *const recipe = &s->recipe;
    char digest[GNN_CHECKSUM_TEXT], features[32];
    d->scale_divisor = recipe->scale_divisor;
    d->node_count = recipe->counts.nodes;
    d->edge_count = s->indices.indptr[d->node_count];
    d->dim = recipe->options.dim;
    d->class_count = recipe->entry->classes;
    d->feature_type = recipe->options.feature_type;
    d->row_bytes = d->dim * gnn_feature_type_bytes(d->feature_type);
    d->id_bytes = s->indices.content.id_bytes;
    d->indices_bytes = s->indices.content.size_bytes;
    d->indptr = s->indptr;
    d->labels = s->labels;
    d->topology_bytes = ((uint64_t)d->node_count + 1) * sizeof(uint64_t) + d->indices_bytes;
    d->feature_bytes = (uint64_t)d->node_count * d->row_bytes;
    s->features = (struct gnn_content){.size_bytes = d->feature_bytes};
    GNN_TRY(name_digest(s, digest, err));
    (void)snprintf(d->name, sizeof d->name, "%s", recipe->entry->name);
    (void)snprintf(d->digest, sizeof d->digest, "procedural:%.28s", digest);
    (void)snprintf(d->dir, sizeof d->dir, "/procedural/%s-1_%" PRIu32 "-%.8s", d->name, d->scale_divisor, digest);
    (void)snprintf(d->indices_path, sizeof d->indices_path, "%s/%s", d->dir, gnn_meta_indices_name(d->id_bytes));
    gnn_meta_features_name(d->dim, d->feature_type, features, sizeof features);
    (void)snprintf(d->features_path, sizeof d->features_path, "%s/%s", d->dir, features);
    return GNN_OK;
}

enum gnn_status gnn_synthetic_open_entry(struct gnn_world *world, const struct gnn_registry_entry *entry,
                                         const struct gnn_generate_options *options, uint32_t scale_divisor,
                                         struct gnn_synthetic **out, struct gnn_err *err)
{
    struct gnn_synthetic *s;
    GNN_NEW(s, 1, err, "dataset %s", entry->name);
    enum gnn_status status = gnn_recipe_open(entry, scale_divisor, options, &s->recipe, err);
    GNN_NEXT(status, check_host(&s->recipe, err));
    GNN_NEXT(status, fill_offsets(world, s, err));
    GNN_NEXT(status, fill_nodes(world, s, err));
    GNN_NEXT(status, publish(s, err));
    if (status == GNN_OK)
        *out = s;
    else
        gnn_synthetic_close(world, s);
    return status;
}

enum gnn_status gnn_synthetic_open(struct gnn_world *world, const char *name,
                                   const struct gnn_generate_options *options, uint32_t scale_divisor,
                                   struct gnn_synthetic **out, struct gnn_err *err)
{
    const struct gnn_registry_entry *entry;
    struct gnn_generate_options defaults;
    gnn_option_defaults(gnn_generate_table, &defaults);
    GNN_TRY(gnn_registry_find(name, &entry, err));
    return gnn_synthetic_open_entry(world, entry, options != NULL ? options : &defaults, scale_divisor, out, err);
}

void gnn_synthetic_close(struct gnn_world *world, struct gnn_synthetic *synthetic)
{
    if (synthetic == NULL)
        return;
    void *const memory[] = {synthetic->indptr, synthetic->labels, synthetic->splits[0], synthetic->splits[1],
                            synthetic->splits[2]};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        gnn_mem_free(world, memory[i]);
    free(synthetic->indices.coarse);
    gnn_recipe_close(&synthetic->recipe);
    free(synthetic);
}

void gnn_synthetic_drop_labels(struct gnn_world *world, struct gnn_synthetic *synthetic)
{
    gnn_mem_free(world, synthetic->labels);
    synthetic->labels = NULL;
    synthetic->dataset.labels = NULL;
}

const struct gnn_dataset *gnn_synthetic_dataset(const struct gnn_synthetic *synthetic)
{
    return &synthetic->dataset;
}

const struct gnn_content *gnn_synthetic_indices(const struct gnn_synthetic *synthetic)
{
    return &synthetic->indices.content;
}

const struct gnn_content *gnn_synthetic_features(const struct gnn_synthetic *synthetic)
{
    return &synthetic->features;
}

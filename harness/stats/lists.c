/* SPDX-License-Identifier: MIT */
#include "harness/stats/lists.h"

#include "harness/base/id_width.h"
#include "harness/dataset/read.h"
#include "harness/dataset/synthetic.h"
#include "harness/graph/invariants.h"
#include "harness/storage/exact.h"
#include "harness/storage/meta.h"

#include <assert.h>
#include <stddef.h>

enum { VECTOR_DIM = 100 /* of a knowledge graph's vectors, which are no file: any will do */, PIECE = 8192 };

/* Neighbours of a computed graph: its content answers. */
struct content_source {
    struct gnn_neighbour_source base;
    const struct gnn_content *content;
};

struct gnn_lists {
    struct gnn_world *world;
    const struct gnn_dataset *dataset;
    struct gnn_neighbour_source *source;
    struct gnn_dataset *prepared; /* one of the two */
    struct gnn_synthetic *computed;
    struct gnn_file *file; /* of a prepared one */
    struct gnn_map *map;
    struct content_source content;
};

_Static_assert(offsetof(struct content_source, base) == 0, "a source is cast to its container");

/* ---- a computed graph ---- */

static enum gnn_status content_fetch(struct gnn_neighbour_source *source, const uint64_t *edge_offset, uint64_t count,
                                     gnn_node *out, struct gnn_err *err)
{
    const struct gnn_content *const content = ((const struct content_source *)source)->content;
    (void)err;
    content->gather_ids(content, edge_offset, count, out);
    return GNN_OK;
}

static void content_close(struct gnn_neighbour_source *source)
{
    (void)source; /* part of the lists */
}

static const struct gnn_neighbour_source_ops content_ops = {
    .name = "content", .fetch = content_fetch, .close = content_close};

enum gnn_status gnn_lists_open_computed(struct gnn_world *world, const struct gnn_registry_entry *entry,
                                        const struct gnn_generate_options *options, uint32_t scale_divisor,
                                        struct gnn_lists **out, struct gnn_err *err)
{
    struct gnn_lists *l;
    GNN_NEW(l, 1, err, "lists of %s", entry->name);
    l->world = world;
    struct gnn_generate_options narrow = *options;
    narrow.id_width = GNN_ID_WIDTH_4;
    const enum gnn_status status = gnn_synthetic_open_entry(world, entry, &narrow, scale_divisor, &l->computed, err);
    if (status == GNN_OK) {
        l->dataset = gnn_synthetic_dataset(l->computed);
        l->content = (struct content_source){.base = {&content_ops}, .content = gnn_synthetic_indices(l->computed)};
        l->source = &l->content.base;
    }
    return GNN_OPENED(status, l, out, gnn_lists_close);
}

/* ---- a prepared one ---- */

static enum gnn_status open_prepared(struct gnn_lists *l, const char *dir, uint32_t dim, enum gnn_feature_type type,
                                     struct gnn_meta *meta, struct gnn_err *err)
{
    GNN_TRY(gnn_read_meta(dir, meta, err));
    const uint32_t id_bytes = (meta->id_widths & sizeof(gnn_node)) != 0 ? sizeof(gnn_node) : sizeof(uint64_t);
    const uint32_t width = meta->relation_count > 0 ? VECTOR_DIM : dim;
    GNN_TRY(gnn_dataset_open(l->world, dir, width, type, id_bytes, &l->prepared, err));
    l->dataset = l->prepared;
    GNN_TRY(gnn_file_open(l->world, l->dataset->indices_path, GNN_OPEN_READ, &l->file, err));
    GNN_TRY(gnn_map_open(l->world, l->file, GNN_MAP_NORMAL, &l->map, err));
    return gnn_source_mapped(l->world, l->map, id_bytes, &l->source, err);
}

enum gnn_status gnn_lists_open_prepared(struct gnn_world *world, const char *dir, uint32_t dim,
                                        enum gnn_feature_type type, struct gnn_lists **out, struct gnn_err *err)
{
    struct gnn_lists *l;
    struct gnn_meta *meta;
    GNN_NEW(meta, 1, err, "meta of %s", dir);
    l = calloc(1, sizeof *l);
    if (l == NULL) {
        free(meta);
        return gnn_fail(err, GNN_ENOMEM, "lists of %s", dir);
    }
    l->world = world;
    const enum gnn_status status = open_prepared(l, dir, dim, type, meta, err);
    free(meta);
    return GNN_OPENED(status, l, out, gnn_lists_close);
}

void gnn_lists_close(struct gnn_lists *l)
{
    if (l == NULL)
        return;
    gnn_source_close(l->source);
    gnn_map_close(l->world, l->map);
    gnn_file_close(l->world, l->file);
    gnn_dataset_close(l->world, l->prepared);
    gnn_synthetic_close(l->world, l->computed);
    free(l);
}

/* ---- both ---- */

const struct gnn_dataset *gnn_lists_dataset(const struct gnn_lists *l)
{
    return l->dataset;
}

struct gnn_neighbour_source *gnn_lists_source(struct gnn_lists *l)
{
    return l->source;
}

static enum gnn_status read_prepared(struct gnn_lists *l, uint64_t first, uint64_t count, gnn_node *out,
                                     struct gnn_err *err)
{
    const uint32_t id_bytes = l->dataset->id_bytes;
    uint64_t piece[PIECE];
    for (uint64_t done = 0; done < count;) {
        const uint64_t step = gnn_min_u64(count - done, PIECE);
        GNN_TRY(gnn_read_all(l->world, l->file, (first + done) * id_bytes, piece, step * id_bytes, err));
        GNN_TRY(
            gnn_check_ids(piece, id_bytes, step, first + done, l->dataset->node_count, l->dataset->indices_path, err));
        gnn_ids_narrow(piece, id_bytes, step, out + done);
        done += step;
    }
    return GNN_OK;
}

enum gnn_status gnn_lists_read(struct gnn_lists *l, uint64_t first, uint64_t count, gnn_node *out, struct gnn_err *err)
{
    assert(first + count <= l->dataset->edge_count);
    if (l->prepared != NULL)
        return read_prepared(l, first, count, out, err);
    const struct gnn_content *const content = l->content.content;
    content->read(content, first * sizeof *out, count * sizeof *out, out);
    return GNN_OK;
}

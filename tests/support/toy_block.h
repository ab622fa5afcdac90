/* SPDX-License-Identifier: MIT */
/* Random blocks and batches, and memory that counts, for the tests of tensor/ and model/. Header only: the
 * double build links no other support. Every draw comes from the RNG handed in. */
#ifndef GNN_TESTS_TOY_BLOCK_H
#define GNN_TESTS_TOY_BLOCK_H

#include "harness/base/block.h"
#include "harness/base/rng.h"
#include "harness/tensor/tensor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

/* Every allocation is filled with NaN: whoever reads before writing shows up. */
struct toy_memory {
    uint64_t allocations;
    uint64_t current_bytes, peak_bytes;
    uint64_t fail_after; /* the allocation with this number fails; 0: none does */
};

enum { TOY_HEADER_BYTES = 64 };

static inline enum gnn_status toy_alloc(void *ctx, const char *name, uint64_t bytes, void **out, struct gnn_err *err)
{
    struct toy_memory *memory = ctx;
    if (++memory->allocations == memory->fail_after)
        return gnn_fail(err, GNN_ENOMEM, "%s: refused for the test", name);
    char *block = aligned_alloc(64, gnn_round_up(bytes + TOY_HEADER_BYTES, 64));
    assert(block != NULL);
    memcpy(block, &bytes, sizeof bytes);
    memset(block + TOY_HEADER_BYTES, 0xff, bytes);
    memory->current_bytes += bytes;
    memory->peak_bytes = memory->current_bytes > memory->peak_bytes ? memory->current_bytes : memory->peak_bytes;
    *out = block + TOY_HEADER_BYTES;
    return GNN_OK;
}

static inline void toy_free(void *ctx, void *ptr)
{
    struct toy_memory *memory = ctx;
    uint64_t bytes;
    char *block = (char *)ptr - TOY_HEADER_BYTES;
    memcpy(&bytes, block, sizeof bytes);
    memory->current_bytes -= bytes;
    free(block);
}

static inline struct gnn_tensor *toy_tensor_open(const struct gnn_tensor_ops *ops, struct toy_memory *memory,
                                                 uint32_t threads)
{
    const struct gnn_tensor_env env = {.threads = threads, .alloc = toy_alloc, .free = toy_free, .ctx = memory};
    struct gnn_tensor *t = NULL;
    const enum gnn_status status = ops->open(&env, NULL, &t, NULL);
    assert(status == GNN_OK);
    (void)status;
    return t;
}

/* ---- numbers ---- */

static inline gnn_real *toy_reals(struct gnn_rng *rng, uint64_t count, double low, double high)
{
    gnn_real *x = malloc((count + 1) * sizeof *x);
    assert(x != NULL);
    for (uint64_t k = 0; k < count; k++)
        x[k] = (gnn_real)(low + (high - low) * gnn_rng_unit(rng));
    return x;
}

/* ---- blocks ---- */

struct toy_degree {
    uint32_t min, max;
};

/* A block with dst targets and src sources. Each target draws a degree in the range, then that many distinct
 * sources, itself not excluded. */
static inline struct gnn_block toy_block(struct gnn_rng *rng, uint32_t dst, uint32_t src, struct toy_degree degree)
{
    const uint32_t max = degree.max < src ? degree.max : src, min = degree.min < max ? degree.min : max;
    uint32_t *row_start = malloc((dst + 1ull) * sizeof *row_start);
    uint32_t *col = malloc(((uint64_t)dst * max + 1) * sizeof *col);
    assert(row_start != NULL && col != NULL && dst <= src);
    uint32_t edges = 0;
    row_start[0] = 0;
    for (uint32_t i = 0; i < dst; i++) {
        uint32_t want = min + (uint32_t)gnn_rng_below(rng, (uint64_t)max - min + 1);
        for (uint32_t left = src, j = 0; want > 0; j++, left--) /* keep each source with chance want / left */
            if (gnn_rng_below(rng, left) < want) {
                col[edges++] = j;
                want--;
            }
        row_start[i + 1] = edges;
    }
    return (struct gnn_block){
        .dst_count = dst, .src_count = src, .edge_count = edges, .row_start = row_start, .col = col};
}

static inline void toy_block_free(struct gnn_block *b)
{
    free((void *)(uintptr_t)b->row_start);
    free((void *)(uintptr_t)b->col);
}

/* A stack of blocks: hop by hop outward from the seeds, each hop adding `growth` new sources per target. */
static inline struct gnn_batch_view toy_batch(struct gnn_rng *rng, uint32_t layers, uint32_t seeds, uint32_t growth,
                                              struct toy_degree degree)
{
    struct gnn_batch_view view = {.epoch = 1, .batch = 2, .layer_count = layers, .seed_count = seeds};
    uint32_t dst = seeds;
    for (uint32_t k = layers; k-- > 0;) {
        view.blocks[k] = toy_block(rng, dst, dst * (1 + growth), degree);
        dst = view.blocks[k].src_count;
    }
    view.node_count = dst;
    return view;
}

static inline void toy_batch_free(struct gnn_batch_view *view)
{
    for (uint32_t k = 0; k < view->layer_count; k++)
        toy_block_free(&view->blocks[k]);
}

/* The same where each node has one row for all layers and blocks share their lists, the first block's: row i draws any
 * sources, repeated ones too, among those of the hop that needs it first. */
static inline struct gnn_batch_view toy_shared_batch(struct gnn_rng *rng, uint32_t layers, uint32_t seeds,
                                                     uint32_t growth, struct toy_degree degree)
{
    struct gnn_batch_view view = {.epoch = 1, .batch = 2, .layer_count = layers, .seed_count = seeds};
    uint32_t dst = seeds, rows = 0;
    for (uint32_t k = layers; k-- > 0; dst = view.blocks[k].src_count)
        view.blocks[k] = (struct gnn_block){.dst_count = dst, .src_count = dst * (1 + growth)};
    uint32_t *row_start = malloc((view.blocks[0].dst_count + 1ull) * sizeof *row_start);
    uint32_t *col = malloc(((uint64_t)view.blocks[0].dst_count * degree.max + 1) * sizeof *col);
    assert(row_start != NULL && col != NULL);
    row_start[0] = 0;
    for (uint32_t k = layers; k-- > 0;) {
        struct gnn_block *b = &view.blocks[k];
        for (; rows < b->dst_count; rows++) {
            row_start[rows + 1] =
                row_start[rows] + degree.min + (uint32_t)gnn_rng_below(rng, (uint64_t)degree.max - degree.min + 1);
            for (uint32_t e = row_start[rows]; e < row_start[rows + 1]; e++)
                col[e] = (uint32_t)gnn_rng_below(rng, b->src_count);
        }
        b->row_start = row_start;
        b->col = col;
        b->edge_count = row_start[b->dst_count];
    }
    view.node_count = dst;
    return view;
}

/* The same blocks with lists of their own. */
static inline struct gnn_batch_view toy_batch_apart(const struct gnn_batch_view *view)
{
    struct gnn_batch_view copy = *view;
    for (uint32_t k = 0; k < view->layer_count; k++) {
        const struct gnn_block *b = &view->blocks[k];
        uint32_t *row_start = malloc((b->dst_count + 1ull) * sizeof *row_start);
        uint32_t *col = malloc((b->edge_count + 1ull) * sizeof *col);
        assert(row_start != NULL && col != NULL);
        memcpy(row_start, b->row_start, (b->dst_count + 1ull) * sizeof *row_start);
        memcpy(col, b->col, b->edge_count * sizeof *col);
        copy.blocks[k].row_start = row_start;
        copy.blocks[k].col = col;
    }
    return copy;
}

static inline int32_t *toy_labels(struct gnn_rng *rng, uint32_t count, uint32_t classes)
{
    int32_t *labels = malloc((count + 1ull) * sizeof *labels);
    assert(labels != NULL);
    for (uint32_t i = 0; i < count; i++)
        labels[i] = (int32_t)gnn_rng_below(rng, classes);
    return labels;
}

#endif

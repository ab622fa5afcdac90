/* SPDX-License-Identifier: MIT */
#include "harness/system/embeddings.h"

#include "harness/base/rng.h"
#include "harness/storage/exact.h"
#include "harness/storage/read_times.h"

#include <assert.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 20 };

/* MariusGNN's start: so near to 0 that relations decide first. */
static const double start_deviation = 1e-3;

void gnn_embedding_init(uint64_t seed, gnn_node node, uint32_t dim, gnn_real *row)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(gnn_rng_fork(seed, "embedding"), node));
    for (uint32_t c = 0; c < dim; c++)
        row[c] = (gnn_real)(start_deviation * gnn_rng_normal(&rng));
}

uint64_t gnn_embeddings_bytes(const struct gnn_env *env)
{
    const uint64_t table = gnn_mul_bytes(env->dataset->node_count, env->dataset->row_bytes);
    return gnn_mul_bytes(table, 1 + gnn_optimizer_states(env->link_config->optimizer));
}

/* Writes one table, chunk by chunk; a back-end without values gets bytes that nobody looks at. */
static enum gnn_status write_table(struct gnn_embeddings *e, uint32_t table, gnn_real *chunk, uint32_t chunk_rows,
                                   struct gnn_err *err)
{
    const struct gnn_env *const env = e->env;
    const uint32_t dim = env->dataset->dim, row_bytes = env->dataset->row_bytes;
    for (uint32_t first = 0; first < env->dataset->node_count; first += chunk_rows) {
        const uint32_t rows = gnn_min_u32(chunk_rows, env->dataset->node_count - first);
        for (uint32_t i = 0; i < rows && table == 0 && !env->tensor->no_values; i++)
            gnn_embedding_init(env->workload->seed, first + i, dim, chunk + (uint64_t)i * dim);
        GNN_TRY(gnn_write_all(env->world, e->file[table], (uint64_t)first * row_bytes, chunk,
                              (uint64_t)rows * row_bytes, err));
        if (env->stop != NULL && atomic_load(env->stop))
            return gnn_fail(err, GNN_ECANCELLED, "stopped while embeddings were written");
    }
    return GNN_OK;
}

static enum gnn_status make_table(struct gnn_embeddings *e, uint32_t table, enum gnn_map_advice advice,
                                  struct gnn_err *err)
{
    struct gnn_world *const w = e->env->world;
    const uint32_t chunk_rows = gnn_max_u32(CHUNK_BYTES / e->env->dataset->row_bytes, 1);
    void *chunk = NULL;
    GNN_TRY(gnn_file_open(w, e->env->dataset->dir, GNN_OPEN_WRITE | GNN_OPEN_SCRATCH, &e->file[table], err));
    GNN_TRY(gnn_mem_alloc(w, "chunk of embeddings", (uint64_t)chunk_rows * e->env->dataset->row_bytes, GNN_MEM_FEATURES,
                          &chunk, err));
    const enum gnn_status status = write_table(e, table, chunk, chunk_rows, err);
    gnn_mem_free(w, chunk);
    GNN_TRY(status);
    GNN_TRY(gnn_file_evict(w, e->file[table], err)); /* as cold as a table that was there before */
    return gnn_map_open(w, e->file[table], advice, &e->map[table], err);
}

enum gnn_status gnn_embeddings_open(const struct gnn_env *env, enum gnn_map_advice advice, struct gnn_embeddings *out,
                                    struct gnn_err *err)
{
    assert(env->dataset->dim > 0);
    assert(env->tensor != NULL);
    *out = (struct gnn_embeddings){.env = env, .tables = 1 + gnn_optimizer_states(env->link_config->optimizer)};
    assert(out->tables <= GNN_EMBEDDING_TABLES_MAX);
    for (uint32_t table = 0; table < out->tables; table++)
        GNN_TRY(make_table(out, table, advice, err));
    return GNN_OK;
}

void gnn_embeddings_close(struct gnn_embeddings *embeddings)
{
    for (uint32_t table = 0; table < embeddings->tables; table++) {
        gnn_map_close(embeddings->env->world, embeddings->map[table]);
        gnn_file_close(embeddings->env->world, embeddings->file[table]);
    }
    *embeddings = (struct gnn_embeddings){.env = NULL};
}

enum gnn_status gnn_embeddings_gather(const struct gnn_embeddings *embeddings, uint32_t table, const gnn_node *nodes,
                                      uint64_t count, gnn_real *dst, struct gnn_err *err)
{
    const uint32_t row_bytes = embeddings->env->dataset->row_bytes;
    assert(table < embeddings->tables);
    return gnn_map_gather_rows(embeddings->env->world, embeddings->map[table], row_bytes, nodes, count, dst, row_bytes,
                               err);
}

enum gnn_status gnn_embeddings_put(const struct gnn_embeddings *embeddings, uint32_t table, const gnn_node *nodes,
                                   uint64_t count, const gnn_real *src, struct gnn_err *err)
{
    assert(table < embeddings->tables);
    const uint32_t row_bytes = embeddings->env->dataset->row_bytes;
    struct gnn_world *const world = embeddings->env->world;
    GNN_TRY(gnn_map_put_rows(world, embeddings->map[table], row_bytes, nodes, count, src, err));
    return gnn_read_times_note_put(world, count * row_bytes, err);
}

/* SPDX-License-Identifier: MIT */
#include "harness/system/extraction.h"

#include "harness/system/sampling.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { CHUNK = 64, SECTOR_BYTES = 4096 };

struct gnn_extraction {
    const struct gnn_env *env;
    struct gnn_file *file;
    struct gnn_reader *reader;
};

static struct gnn_reader_config reader_config(const struct gnn_env *env, uint32_t depth, uint32_t align_bytes,
                                              struct gnn_file *const *file)
{
    /* A row is its own window only where sectors divide rows; its place in the input may be unaligned as well. */
    const bool exact = align_bytes == 1;
    return (struct gnn_reader_config){.engine = env->io_engine,
                                      .depth = depth,
                                      .files = file,
                                      .file_count = 1,
                                      .bounce_bytes_max = exact ? 0 : env->dataset->row_bytes};
}

uint64_t gnn_extraction_bytes(const struct gnn_env *env, uint32_t depth, bool direct)
{
    const uint32_t align_bytes = direct ? SECTOR_BYTES : 1;
    const struct gnn_reader_config config = reader_config(env, depth, align_bytes, NULL);
    return gnn_reader_memory_bytes(&config, align_bytes);
}

enum gnn_status gnn_extraction_open(const struct gnn_env *env, const struct gnn_extraction_config *config,
                                    struct gnn_extraction **out, struct gnn_err *err)
{
    struct gnn_extraction *x;
    uint32_t align;
    GNN_NEW(x, 1, err, "extraction stage");
    *out = x;
    x->env = env;
    GNN_TRY(
        gnn_dataset_file_open(env, GNN_DATASET_FEATURES, config->direct ? GNN_OPEN_DIRECT : 0, &x->file, &align, err));
    const struct gnn_reader_config reader = reader_config(env, config->depth, align, &x->file);
    return gnn_reader_open(env->world, &reader, &x->reader, err);
}

void gnn_extraction_close(struct gnn_extraction *x)
{
    if (x == NULL)
        return;
    gnn_reader_close(x->reader);
    gnn_file_close(x->env->world, x->file);
    free(x);
}

void gnn_extraction_begin(struct gnn_extraction *x)
{
    gnn_reader_clear_counters(x->reader);
}

void gnn_extraction_counters(const struct gnn_extraction *x, struct gnn_reader_counters *out)
{
    gnn_reader_counters(x->reader, out);
}

static enum gnn_status read_rows(struct gnn_extraction *x, const gnn_node *nodes, uint32_t count, gnn_real *rows,
                                 struct gnn_err *err)
{
    const uint32_t row_bytes = x->env->dataset->row_bytes;
    uint32_t submitted = 0, completed = 0;
    while (completed < count) {
        struct gnn_load loads[CHUNK];
        const uint32_t wanted = gnn_min_u32(count - submitted, CHUNK);
        for (uint32_t i = 0; i < wanted; i++) {
            const gnn_node node = nodes[submitted + i];
            if (node >= x->env->dataset->node_count)
                return gnn_fail(err, GNN_EFORMAT, "%s: row %" PRIu32 " was asked for, there are %" PRIu32,
                                x->env->dataset->features_path, node, x->env->dataset->node_count);
            loads[i] = (struct gnn_load){.len_bytes = row_bytes,
                                         .offset_bytes = (uint64_t)node * row_bytes,
                                         .dst = (char *)rows + (uint64_t)(submitted + i) * row_bytes};
        }
        uint32_t accepted = 0, got = 0;
        uint64_t tags[CHUNK];
        if (wanted > 0)
            GNN_TRY(gnn_reader_submit(x->reader, loads, wanted, &accepted, err));
        submitted += accepted;
        const bool sleeps = submitted == count || accepted < wanted;
        GNN_TRY(gnn_reader_harvest(x->reader, sleeps ? 1 : 0, CHUNK, tags, &got, err));
        completed += got;
    }
    return GNN_OK;
}

enum gnn_status gnn_extraction_rows(struct gnn_extraction *x, const gnn_node *nodes, uint32_t count, gnn_real *rows,
                                    struct gnn_err *err)
{
    assert(gnn_reader_in_flight(x->reader) == 0);
    GNN_TRY(gnn_check_stop(x->env, err));
    gnn_env_range(x->env, "read");
    const enum gnn_status status = read_rows(x, nodes, count, rows, err);
    gnn_env_range(x->env, NULL);
    if (status != GNN_OK)
        gnn_reader_drain(x->reader);
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "systems/presort/presort.h"

#include <assert.h>

static struct gnn_span_reader_config extents_config(const struct gnn_env *env, const struct presort_config *config)
{
    return (struct gnn_span_reader_config){.engine = env->io_engine,
                                           .depth = PRESORT_EXTENT_DEPTH,
                                           .span_bytes_max = config->block_bytes,
                                           .mem_flags = GNN_MEM_FEATURES};
}

uint64_t presort_hyperbatch_bytes(const struct gnn_env *env, const struct presort_config *config,
                                  const struct presort_sizes *sizes)
{
    const struct gnn_span_reader_config extents = extents_config(env, config);
    const uint64_t windows = gnn_mul_bytes(sizes->windows_max, 4 * sizeof(uint32_t));
    const uint64_t loads = gnn_mul_bytes(sizes->members_max, sizeof(struct presort_load));
    return gnn_add_bytes(gnn_add_bytes(windows, gnn_span_reader_bytes(&extents)),
                         gnn_add_bytes(loads, gnn_mul_bytes(sizes->blocks_max, sizeof(uint32_t))));
}

enum gnn_status presort_hyperbatch_open(const struct presort_setup *setup, struct presort_hyperbatch *x,
                                        struct gnn_err *err)
{
    struct gnn_world *const world = setup->env->world;
    const struct presort_sizes *const sizes = &setup->sizes;
    *x = (struct presort_hyperbatch){.setup = setup};
    GNN_MEM_NEW(world, x->loads, sizes->members_max, "presort loads", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, x->next_block, sizes->blocks_max, "presort blocks of windows", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, x->batch_end, sizes->windows_max, "presort windows", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, x->load_end, sizes->windows_max, "presort windows", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, x->first_block, sizes->windows_max, "presort windows", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, x->last_block, sizes->windows_max, "presort windows", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

enum gnn_status presort_hyperbatch_attach(struct presort_hyperbatch *x, struct gnn_err *err)
{
    const uint64_t end_bytes = x->base_bytes + (uint64_t)x->blocks * x->block_bytes;
    return gnn_stream_attach(x->setup->env->world, x->scratch->file, end_bytes, &x->stream, err);
}

void presort_hyperbatch_detach(struct presort_hyperbatch *x)
{
    gnn_stream_close(x->stream);
    x->stream = NULL;
}

void presort_hyperbatch_close(struct presort_hyperbatch *x)
{
    if (x->setup == NULL)
        return;
    struct gnn_world *const world = x->setup->env->world;
    gnn_stream_close(x->stream);
    gnn_mem_free(world, x->last_block);
    gnn_mem_free(world, x->first_block);
    gnn_mem_free(world, x->load_end);
    gnn_mem_free(world, x->batch_end);
    gnn_mem_free(world, x->next_block);
    gnn_mem_free(world, x->loads);
    *x = (struct presort_hyperbatch){.setup = NULL};
}

enum gnn_status presort_scratch_open(const struct presort_setup *setup, struct presort_scratch *out,
                                     struct gnn_err *err)
{
    struct gnn_world *const world = setup->env->world;
    struct gnn_span_reader_config extents = extents_config(setup->env, setup->config);
    GNN_TRY(gnn_file_open(world, setup->scratch_dir,
                          GNN_OPEN_WRITE | GNN_OPEN_SCRATCH | presort_direct_flag(setup->config), &out->file, err));
    extents.file = out->file;
    return gnn_span_reader_open(world, &extents, &out->reader, err);
}

void presort_scratch_close(struct gnn_world *world, struct presort_scratch *scratch)
{
    gnn_span_reader_close(scratch->reader);
    gnn_file_close(world, scratch->file);
    *scratch = (struct presort_scratch){.file = NULL};
}

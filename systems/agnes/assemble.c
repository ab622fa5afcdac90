/* SPDX-License-Identifier: MIT */
#include "systems/agnes/stages.h"

#include "systems/agnes/rows.h"

#include <inttypes.h>

enum gnn_status agnes_assembly_open(const struct agnes_setup *setup, struct agnes_assembly *out, struct gnn_err *err)
{
    *out = (struct agnes_assembly){.setup = setup,
                                   .reloaded = {.name = "agnes reloaded rows", .mem_flags = GNN_MEM_FEATURES}};
    for (uint32_t i = 0; i < AGNES_INPUTS; i++) {
        out->inputs[i].blocks.name = "agnes blocks in training";
        out->inputs[i].nodes.name = "agnes nodes in training";
        GNN_TRY(gnn_train_input_open(setup->env, "agnes input", setup->config->transfer, &out->inputs[i].input, err));
    }
    return GNN_OK;
}

void agnes_assembly_close(struct agnes_assembly *assembly)
{
    if (assembly->setup == NULL)
        return;
    struct gnn_world *const world = assembly->setup->env->world;
    for (uint32_t i = 0; i < AGNES_INPUTS; i++) {
        gnn_train_input_close(&assembly->inputs[i].input);
        gnn_buffer_close(world, &assembly->inputs[i].blocks);
        gnn_buffer_close(world, &assembly->inputs[i].nodes);
    }
    gnn_buffer_close(world, &assembly->reloaded);
}

void agnes_assembly_begin(struct agnes_assembly *assembly, uint64_t epoch)
{
    assembly->epoch = epoch;
    assembly->counters = (struct agnes_assembly_counters){0};
}

static enum gnn_status load_blocks(struct agnes_assembly *assembly, const struct agnes_batch *batch,
                                   struct gnn_reader *spool, struct agnes_input *input, struct gnn_err *err)
{
    const uint32_t layers = assembly->setup->env->workload->layers;
    struct gnn_span spans[GNN_LAYERS_MAX];
    void *dst[GNN_LAYERS_MAX];
    uint64_t total = 0;
    for (uint32_t l = 0; l < layers; l++)
        total += gnn_span_room(agnes_record_bytes(&batch->records[l]));
    GNN_TRY(gnn_buffer_reserve(assembly->setup->env->world, &input->blocks, total, err));
    unsigned char *at = input->blocks.data;
    for (uint32_t l = 0; l < layers; l++) {
        const struct agnes_record *const record = &batch->records[l];
        assert(l == 0 || record->dst_count == batch->records[l - 1].src_count);
        spans[l] = (struct gnn_span){
            .stream = record->stream, .offset_bytes = record->offset_bytes, .len_bytes = agnes_record_bytes(record)};
        dst[l] = at;
        const uint32_t *const words = dst[l];
        input->view.blocks[layers - 1 - l] = (struct gnn_block){.dst_count = record->dst_count,
                                                                .src_count = record->src_count,
                                                                .edge_count = record->edge_count,
                                                                .row_start = words,
                                                                .col = words + record->dst_count + 1};
        at += gnn_span_room(spans[l].len_bytes);
    }
    assembly->counters.spool_reads += layers;
    assembly->counters.spool_read_bytes += total;
    return gnn_stream_load(spool, spans, dst, layers, err);
}

/* Checks that what came back from the spool has the ends that were written. */
static enum gnn_status check_blocks(const struct agnes_batch *batch, const struct agnes_input *input, uint32_t layers,
                                    struct gnn_err *err)
{
    for (uint32_t l = 0; l < layers; l++) {
        const struct gnn_block *const block = &input->view.blocks[l];
        if (block->row_start[0] != 0 || block->row_start[block->dst_count] != block->edge_count)
            return gnn_fail(err, GNN_EFORMAT,
                            "spool: layer %" PRIu32 " of mini-batch %" PRIu32 " has edges %" PRIu32 " to %" PRIu32
                            ", expected 0 to %" PRIu32 "; the scratch file is damaged: check the disk and run again",
                            l, batch->number, block->row_start[0], block->row_start[block->dst_count],
                            block->edge_count);
    }
    return GNN_OK;
}

static enum gnn_status rename_nodes(const struct agnes_setup *setup, const struct agnes_batch *batch,
                                    struct agnes_input *input, struct gnn_err *err)
{
    struct gnn_world *const world = setup->env->world;
    GNN_TRY(gnn_buffer_reserve(world, &input->nodes, batch->count * (uint64_t)sizeof(gnn_node), err));
    gnn_node *const nodes = input->nodes.data;
    for (uint32_t i = 0; i < batch->count; i++)
        nodes[i] = agnes_to_old(setup->files.new_to_old, batch->nodes[i]);
    gnn_charge(world, GNN_WORK_TABLE_ENTRY, batch->count);
    input->view.nodes = nodes;
    return GNN_OK;
}

static enum gnn_status collect_rows(struct agnes_assembly *assembly, const struct agnes_row_set *rows,
                                    const struct agnes_batch *batch, uint32_t j, struct agnes_input *input,
                                    struct gnn_err *err)
{
    const struct gnn_env *const env = assembly->setup->env;
    const uint32_t row_bytes = env->dataset->row_bytes;
    uint32_t blocks;
    GNN_TRY(agnes_spill_reload(rows->spill, j, &assembly->reloaded, &blocks, err));
    assembly->counters.spill_reads += blocks;
    assembly->counters.spill_read_bytes += (uint64_t)blocks * assembly->setup->sizes.block_bytes;
    GNN_TRY(gnn_train_input_reserve(&input->input, batch->count, err));
    unsigned char *to = (unsigned char *)input->input.rows.data;
    for (uint32_t i = 0; i < batch->count; i++, to += row_bytes) {
        const void *row = agnes_feature_cache_find(rows->cache, batch->nodes[i]);
        if (row == NULL)
            row = agnes_spill_row(rows->spill, &assembly->reloaded, j, i);
        gnn_mem_copy(env->world, to, row, row_bytes);
    }
    return GNN_OK;
}

enum gnn_status agnes_assemble(struct agnes_assembly *assembly, const struct agnes_hyperbatch *hyperbatch,
                               const struct agnes_row_set *rows, uint32_t j, struct gnn_reader *spool,
                               struct agnes_input *input, struct gnn_err *err)
{
    assert(j < hyperbatch->count);
    const struct agnes_batch *const batch = &hyperbatch->batches[j];
    const uint32_t layers = assembly->setup->env->workload->layers;
    input->view = (struct gnn_batch_view){.epoch = assembly->epoch,
                                          .batch = batch->number,
                                          .layer_count = layers,
                                          .seed_count = batch->seed_count,
                                          .node_count = batch->count};
    assert(batch->records[layers - 1].src_count == batch->count);
    GNN_TRY(load_blocks(assembly, batch, spool, input, err));
    GNN_TRY(check_blocks(batch, input, layers, err));
    GNN_TRY(rename_nodes(assembly->setup, batch, input, err));
    GNN_TRY(collect_rows(assembly, rows, batch, j, input, err));
    return gnn_train_input_stage(&input->input, 0, &input->view, NULL, err);
}

/* The input of one mini-batch (AGNES, KDD 2026, section 3.3; specs/agnes.md section 3, "Training"): its blocks come
 * back from the sample spool and its spilled rows from the spill file; cached, staged and reloaded rows become one
 * contiguous matrix. Runs one mini-batch ahead of training. */
#include "systems/agnes/agnes.h"

#include <inttypes.h>

static uint64_t record_bytes(const struct agnes_record *record)
{
    return (record->dst_count + UINT64_C(1) + record->edge_count) * sizeof(uint32_t);
}

static enum gnn_status load_blocks(struct agnes *s, const struct agnes_batch *batch, struct gnn_reader *spool,
                                   struct agnes_item *item, struct gnn_err *err)
{
    const uint32_t layers = s->env->workload->layers;
    struct gnn_span spans[GNN_LAYERS_MAX];
    void *dst[GNN_LAYERS_MAX];
    uint64_t total = 0;
    for (uint32_t l = 0; l < layers; l++)
        total += gnn_span_room(record_bytes(&batch->records[l]));
    GNN_TRY(gnn_buffer_reserve(s->env->world, &item->blocks, total, err));
    unsigned char *at = item->blocks.data;
    for (uint32_t l = 0; l < layers; l++) {
        const struct agnes_record *const record = &batch->records[l];
        spans[l] = (struct gnn_span){
            .stream = record->stream, .offset_bytes = record->offset_bytes, .len_bytes = record_bytes(record)};
        dst[l] = at;
        const uint32_t *const words = dst[l];
        item->view.blocks[layers - 1 - l] = (struct gnn_block){.dst_count = record->dst_count,
                                                               .src_count = record->src_count,
                                                               .edge_count = record->edge_count,
                                                               .row_start = words,
                                                               .col = words + record->dst_count + 1};
        at += gnn_span_room(spans[l].len_bytes);
    }
    s->spool_reads += layers;
    s->spool_read_bytes += total;
    return gnn_stream_load(spool, spans, dst, layers, err);
}

static enum gnn_status name_nodes(struct agnes *s, const struct agnes_batch *batch, struct agnes_item *item,
                                  struct gnn_err *err)
{
    GNN_TRY(gnn_buffer_reserve(s->env->world, &item->nodes, batch->count * (uint64_t)sizeof(gnn_node), err));
    gnn_node *const nodes = item->nodes.data;
    for (uint32_t i = 0; i < batch->count; i++)
        nodes[i] = agnes_to_old(s->files.new_to_old, batch->nodes[i]);
    gnn_charge(s->env->world, GNN_WORK_TABLE_ENTRY, batch->count);
    item->view.nodes = nodes;
    return GNN_OK;
}

static void copy_rows(const struct agnes *s, const struct agnes_gathered *g, const struct agnes_batch *batch,
                      uint32_t j, gnn_real *x)
{
    const uint32_t row_bytes = s->env->dataset->row_bytes;
    const uint32_t *const place = (const uint32_t *)g->place.data + g->base[j];
    for (uint32_t i = 0; i < batch->count; i++) {
        const uint32_t tier = g->tier[batch->nodes[i]];
        const void *const from = (tier & AGNES_CACHED) != 0
                                     ? (const unsigned char *)g->cache + (uint64_t)(tier & AGNES_SLOT_MASK) * row_bytes
                                     : agnes_spilled(s, g, j, place[i]);
        gnn_mem_copy(s->env->world, (unsigned char *)x + (uint64_t)i * row_bytes, from, row_bytes);
    }
}

enum gnn_status agnes_assemble(struct agnes *s, uint32_t h, uint32_t j, struct gnn_reader *spool,
                               struct agnes_item *item, struct gnn_err *err)
{
    const struct agnes_hyperbatch *const hb = &s->contexts[h % s->sizes.contexts];
    struct agnes_gathered *const g = &s->gathered[h % s->sizes.gathers];
    const struct agnes_batch *const batch = &hb->batches[j];
    item->view = (struct gnn_batch_view){.epoch = s->epoch,
                                         .batch = batch->number,
                                         .layer_count = s->env->workload->layers,
                                         .seed_count = batch->seed_count,
                                         .node_count = batch->count};
    GNN_TRY(load_blocks(s, batch, spool, item, err));
    GNN_TRY(name_nodes(s, batch, item, err));
    GNN_TRY(agnes_spill_reload(s, g, j, err));
    GNN_TRY(gnn_rows_reserve(&item->rows, batch->count, err));
    copy_rows(s, g, batch, j, item->rows.data);
    return GNN_OK;
}

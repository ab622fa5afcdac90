/* SPDX-License-Identifier: MIT */
#include "systems/agnes/agnes.h"

#include <inttypes.h>

static const char list_name[] = "agnes node lists";

enum gnn_status agnes_hyperbatch_open(const struct agnes_setup *setup, struct agnes_hyperbatch *out,
                                      struct gnn_err *err)
{
    const uint32_t batches = setup->sizes.hyperbatch;
    assert(batches > 0);
    *out = (struct agnes_hyperbatch){.setup = setup, .lists = {{.name = list_name}, {.name = list_name}}};
    agnes_targets_open(setup->env->world, &out->targets);
    GNN_NEW(out->batches, batches, err, "agnes hyperbatch of %" PRIu32, batches);
    GNN_NEW(out->positions, batches, err, "agnes hyperbatch of %" PRIu32, batches);
    GNN_NEW(out->base, batches + UINT64_C(1), err, "agnes hyperbatch of %" PRIu32, batches);
    assert(setup->config->workers <= AGNES_WORKERS_MAX);
    return GNN_OK;
}

void agnes_hyperbatch_close(struct agnes_hyperbatch *hyperbatch)
{
    if (hyperbatch->batches != NULL)
        agnes_hyperbatch_clear(hyperbatch);
    for (int i = 0; hyperbatch->setup != NULL && i < 2; i++)
        gnn_buffer_close(hyperbatch->setup->env->world, &hyperbatch->lists[i]);
    agnes_targets_close(&hyperbatch->targets);
    free(hyperbatch->base);
    free(hyperbatch->positions);
    free(hyperbatch->batches);
    *hyperbatch = (struct agnes_hyperbatch){0};
}

void agnes_hyperbatch_clear(struct agnes_hyperbatch *hyperbatch)
{
    const struct agnes_setup *const setup = hyperbatch->setup;
    for (uint32_t w = 0; w < setup->config->workers; w++) {
        gnn_stream_close(hyperbatch->streams[w]);
        hyperbatch->streams[w] = NULL;
    }
    gnn_stream_file_close(hyperbatch->spool);
    hyperbatch->spool = NULL;
    for (uint32_t j = 0; j < setup->sizes.hyperbatch; j++)
        hyperbatch->batches[j] = (struct agnes_batch){0};
    hyperbatch->count = 0;
}

/* ---- seeds and spool ---- */

static enum gnn_status take_seeds(struct agnes_hyperbatch *hyperbatch, const struct gnn_batch_order *order,
                                  struct gnn_err *err)
{
    uint64_t seeds = 0, at = 0;
    hyperbatch->turn = 0;
    for (uint32_t j = 0; j < hyperbatch->count; j++) {
        struct agnes_batch *const batch = &hyperbatch->batches[j];
        assert(batch->nodes == NULL);
        batch->number = hyperbatch->first + j;
        (void)gnn_batch_order_seeds(order, batch->number, &batch->seed_count);
        seeds += batch->seed_count;
    }
    GNN_TRY(gnn_buffer_reserve(order->env->world, &hyperbatch->lists[0], seeds * sizeof(agnes_node), err));
    for (uint32_t j = 0; j < hyperbatch->count; j++) {
        struct agnes_batch *const batch = &hyperbatch->batches[j];
        batch->nodes = (agnes_node *)hyperbatch->lists[0].data + at;
        batch->count = batch->seed_count;
        batch->first_target = at;
        hyperbatch->positions[j] = batch->count;
        memcpy(batch->nodes, gnn_batch_order_seeds(order, batch->number, &batch->seed_count),
               batch->count * sizeof *batch->nodes);
        at += batch->count;
    }
    assert(at == seeds);
    return agnes_by_target(hyperbatch->setup)
               ? agnes_targets_begin(&hyperbatch->targets, hyperbatch->positions, hyperbatch->count, err)
               : GNN_OK;
}

enum gnn_status agnes_hyperbatch_grow(struct agnes_hyperbatch *hyperbatch, uint32_t hop, struct gnn_err *err)
{
    struct gnn_buffer *const other = &hyperbatch->lists[hyperbatch->turn ^ 1];
    uint64_t nodes = 0;
    for (uint32_t j = 0; j < hyperbatch->count; j++)
        nodes += hyperbatch->batches[j].records[hop - 1].src_count;
    GNN_TRY(gnn_buffer_reserve(hyperbatch->setup->env->world, other, nodes * sizeof(agnes_node), err));
    hyperbatch->turn ^= 1;
    agnes_node *at = other->data;
    for (uint32_t j = 0; j < hyperbatch->count; j++) {
        hyperbatch->batches[j].grown = at;
        at += hyperbatch->batches[j].records[hop - 1].src_count;
    }
    return GNN_OK;
}

void agnes_batch_grow(struct agnes_batch *batch, uint32_t hop, const agnes_node *fresh)
{
    const uint32_t count = batch->records[hop - 1].src_count;
    assert(count >= batch->count);
    memcpy(batch->grown, batch->nodes, batch->count * sizeof *batch->nodes);
    memcpy(batch->grown + batch->count, fresh, (count - batch->count) * sizeof *fresh);
    batch->nodes = batch->grown;
    batch->count = count;
}

static enum gnn_status open_spool(struct agnes_hyperbatch *hyperbatch, struct gnn_err *err)
{
    const struct agnes_setup *const setup = hyperbatch->setup;
    const struct gnn_stream_file_config config = {.dir = setup->files.prepared.dir,
                                                  .direct = setup->config->io == AGNES_IO_DIRECT,
                                                  .block_bytes = AGNES_SPOOL_BLOCK_BYTES,
                                                  .mem_flags = GNN_MEM_PLAIN};
    GNN_TRY(gnn_stream_file_open(setup->env->world, &config, &hyperbatch->spool, err));
    for (uint32_t w = 0; w < setup->config->workers; w++)
        GNN_TRY(gnn_stream_open(hyperbatch->spool, &hyperbatch->streams[w], err));
    return GNN_OK;
}

enum gnn_status agnes_hyperbatch_begin(struct agnes_hyperbatch *hyperbatch, uint64_t epoch, uint32_t first,
                                       uint32_t count, const struct gnn_batch_order *order, struct gnn_err *err)
{
    assert(hyperbatch->count == 0);
    assert(hyperbatch->spool == NULL);
    assert(count > 0);
    assert(count <= hyperbatch->setup->sizes.hyperbatch);
    assert(first + (uint64_t)count <= hyperbatch->setup->sizes.batches);
    hyperbatch->epoch = epoch;
    hyperbatch->first = first;
    hyperbatch->count = count;
    GNN_TRY(take_seeds(hyperbatch, order, err));
    return hyperbatch->setup->env->workload->sample_only ? GNN_OK : open_spool(hyperbatch, err);
}

void agnes_hyperbatch_lay(struct agnes_hyperbatch *hyperbatch)
{
    for (uint32_t j = 0; j < hyperbatch->count; j++) {
        hyperbatch->positions[j] = hyperbatch->batches[j].count;
        hyperbatch->base[j + 1] = hyperbatch->base[j] + hyperbatch->positions[j];
    }
}

enum gnn_status agnes_hyperbatch_seal(struct agnes_hyperbatch *hyperbatch, struct gnn_stream_file_counters *written,
                                      struct gnn_err *err)
{
    *written = (struct gnn_stream_file_counters){.writes = 0};
    if (hyperbatch->spool == NULL)
        return GNN_OK;
    for (uint32_t w = 0; w < hyperbatch->setup->config->workers; w++)
        GNN_TRY(gnn_stream_seal(hyperbatch->streams[w], err));
    gnn_stream_file_counters(hyperbatch->spool, written);
    return GNN_OK;
}

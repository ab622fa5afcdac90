/* SPDX-License-Identifier: MIT */
#include "harness/sample/digest.h"

#include "harness/sample/sample.h"

#include <assert.h>

static gnn_node original(const gnn_node *original_id, gnn_node node)
{
    return original_id == NULL ? node : original_id[node];
}

uint64_t gnn_batch_digest(const struct gnn_batch_view *batch, const gnn_node *original_id)
{
    uint64_t digest = 0;
    for (uint32_t layer = 0; layer < batch->layer_count; layer++) {
        const struct gnn_block *const block = &batch->blocks[layer];
        assert(block->src_count <= batch->node_count);
        assert(block->row_start[block->dst_count] == block->edge_count);
        const uint64_t layer_key = gnn_digest_layer_key(batch->epoch, batch->batch, layer);
        for (uint32_t dst = 0; dst < block->dst_count; dst++) {
            const uint64_t row_key = gnn_digest_row_key(layer_key, original(original_id, batch->nodes[dst]));
            if (block->row_start[dst] == block->row_start[dst + 1])
                digest += gnn_digest_lonely(row_key);
            for (uint32_t e = block->row_start[dst]; e < block->row_start[dst + 1]; e++)
                digest += gnn_digest_edge(row_key, original(original_id, batch->nodes[block->col[e]]));
        }
    }
    return digest;
}

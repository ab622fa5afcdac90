/* SPDX-License-Identifier: MIT */
#include "harness/cli/plan_fit.h"

#include "harness/dataset/prepare.h"
#include "harness/dataset/read.h"

#include <stdlib.h>

enum { NODES_MAX = 3000000 };

uint64_t gnn_plan_nodes(const struct gnn_run_config *config, uint32_t divisor)
{
    const struct gnn_registry_entry *entry;
    struct gnn_err ignored = {0};
    char dir[GNN_TEXT_MAX * 2];
    if (gnn_registry_find(config->dataset, &entry, &ignored) == GNN_OK)
        return entry->nodes / divisor;
    struct gnn_meta *const meta = calloc(1, sizeof *meta);
    gnn_run_dataset_dir(config, dir, sizeof dir);
    const bool is_there = meta != NULL && gnn_read_meta(dir, meta, &ignored) == GNN_OK;
    const uint64_t nodes = is_there ? meta->node_count : UINT64_MAX;
    free(meta);
    return nodes;
}

bool gnn_plan_is_quick(uint64_t nodes)
{
    return nodes <= NODES_MAX;
}

double gnn_plan_share(const struct gnn_run_config *config, struct gnn_run_need *need)
{
    struct gnn_err ignored = {0};
    *need = (struct gnn_run_need){.bytes = 0};
    if (config->memory_bytes == 0 || gnn_run_need(config, config->memory_bytes, need, &ignored) != GNN_OK)
        return 0;
    return (double)need->bytes / (double)config->memory_bytes;
}

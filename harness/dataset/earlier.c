/* SPDX-License-Identifier: MIT */
#include "harness/dataset/earlier.h"

#include "harness/dataset/prepare.h"

const char *gnn_dataset_lacks_since(const struct gnn_meta *meta)
{
    const struct gnn_registry_entry *entry;
    if (gnn_registry_find(meta->name, &entry, NULL) != GNN_OK || entry->since.what == NULL)
        return NULL;
    const bool has_reach = gnn_meta_param(meta, "reach") != NULL;
    const bool has_later = gnn_meta_param(meta, "order") != NULL || gnn_meta_param(meta, GNN_META_TRAIN_SHARE) != NULL;
    return has_reach == entry->since.had_reach && !has_later ? entry->since.what : NULL;
}

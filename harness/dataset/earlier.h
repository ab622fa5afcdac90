/* SPDX-License-Identifier: MIT */
/* Recognises a dataset that an earlier version generated with other parameters than the registry has now. Such a
 * dataset stays valid; its digest differs from that of the present graph. */
#ifndef GNN_DATASET_EARLIER_H
#define GNN_DATASET_EARLIER_H

#include "harness/storage/meta.h"

/* Returns what the dataset lacks of the present graph of its name, as a noun phrase that is the registry's. Returns
 * NULL if the dataset is the present graph, was generated with options of its own, or was imported. */
const char *gnn_dataset_lacks_since(const struct gnn_meta *meta);

#endif

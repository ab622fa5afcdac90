/* SPDX-License-Identifier: MIT */
/* Numbers the node IDs that occur 0, 1, 2 and so on, in ascending order. IDs below 2^32 take a bit each and a rank per
 * word. If there are larger IDs, all are sorted outside memory, and the table takes 8 B per ID. Internal to
 * harness/dataset/. */
#ifndef GNN_DATASET_IMPORT_IDS_H
#define GNN_DATASET_IMPORT_IDS_H

#include "harness/dataset/output.h"

struct gnn_ids;

/* Opens an empty set. limit_bytes limits all memory; wide: IDs may be above 2^32 - 2. Spilled IDs are files of
 * output. */
GNN_MUST_CHECK enum gnn_status gnn_ids_open(struct gnn_output *output, bool wide, uint64_t limit_bytes,
                                            struct gnn_ids **out, struct gnn_err *err);
void gnn_ids_close(struct gnn_ids *ids); /* accepts NULL */

/* Adds an ID, below 2^32 - 1 unless the set is wide. Returns GNN_ECAP if the limit is too small. */
GNN_MUST_CHECK enum gnn_status gnn_ids_add(struct gnn_ids *ids, uint64_t id, struct gnn_err *err);

/* Ends adding and numbers the IDs. Returns GNN_ECAP, or GNN_EFORMAT for more than 2^32 - 2 IDs. */
GNN_MUST_CHECK enum gnn_status gnn_ids_number(struct gnn_ids *ids, struct gnn_err *err);

/* Return how many IDs there are, the number of one that was added, and the bytes in use. After gnn_ids_number(). */
uint32_t gnn_ids_count(const struct gnn_ids *ids);
gnn_node gnn_ids_rank(const struct gnn_ids *ids, uint64_t id);
uint64_t gnn_ids_bytes(const struct gnn_ids *ids);

#endif

/* SPDX-License-Identifier: MIT */
/* Fills the record of a run from its configuration, the worker's messages and the readings from outside. */
#ifndef GNN_RUN_RECORD_FILL_H
#define GNN_RUN_RECORD_FILL_H

#include "harness/base/reading.h"
#include "harness/record/record.h"
#include "harness/run/config.h"
#include "harness/run/wire.h"

/* Lists every option of the run and every parameter of its system ("system.name"), set or default. */
GNN_MUST_CHECK enum gnn_status gnn_record_list_config(const struct gnn_run_config *config, struct gnn_kv_list *out,
                                                      struct gnn_err *err);

/* Fills what was requested: identity, memory limit, configuration. */
GNN_MUST_CHECK enum gnn_status gnn_record_fill_config(const struct gnn_run_config *config, struct gnn_run_record *run,
                                                      struct gnn_err *err);

/* Fills name, scale, width and digest of the dataset in dir, or of a computed one. A run that ends before its dataset
 * is open is thus recorded with them. GNN_EUSAGE: --scale differs from the directory's scale. Otherwise errors of its
 * meta file. */
GNN_MUST_CHECK enum gnn_status gnn_record_fill_dataset(const struct gnn_run_config *config, const char *dir,
                                                       struct gnn_run_record *run, struct gnn_err *err);

/* Fills what is known once dataset and system are open. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_record_fill_opened(const struct gnn_wire_opened *opened, struct gnn_run_record *run,
                                                      struct gnn_err *err);

/* Fills what came before the first epoch. group: the reading at that time of a group that was new when the worker
 * started. elapsed_ns: time since then. */
void gnn_record_fill_before(const struct gnn_wire_begin *wire, const struct gnn_group_reading *group,
                            uint64_t elapsed_ns, struct gnn_record_counters *out);

/* Fills accuracies, or the ranks of link prediction. */
void gnn_record_fill_accuracy(const struct gnn_wire_accuracy *wire, struct gnn_record_epoch *out);
/* Adds to the environment the names of the splits that were evaluated; nothing for links. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_record_fill_splits(const struct gnn_wire_accuracy *wire, struct gnn_run_record *run,
                                                      struct gnn_err *err);

/* Fills a finished epoch. before and after: the group's readings around it. stolen_ns: time that a hypervisor took from
 * all cores between them; GNN_UNKNOWN: not reported. */
void gnn_record_fill_epoch(const struct gnn_wire_epoch *wire, const struct gnn_group_reading *before,
                           const struct gnn_group_reading *after, uint64_t stolen_ns, struct gnn_record_epoch *out);

#endif

/* SPDX-License-Identifier: MIT */
/* Runs as they might come out of a comparison, made up for tests of the record, the report and the pictures. */
#ifndef GNN_TESTS_FAKE_RUN_H
#define GNN_TESTS_FAKE_RUN_H

#include "harness/record/record.h"

/* An "ok" run of `system` with all columns set. slow stretches every time; the caller frees it. */
void fake_run(struct gnn_run_record *run, const char *system, double slow, uint32_t epochs, uint64_t seed);

/* Gives an epoch one figure more. */
void fake_figure(struct gnn_record_epoch *epoch, const char *name, uint64_t value);

#endif

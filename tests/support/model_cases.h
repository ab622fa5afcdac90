/* SPDX-License-Identifier: MIT */
/* Models trained for a few steps on a back-end, whatever its memory: against the CPU back-end, and on a device that is
 * full. */
#ifndef GNN_TESTS_MODEL_CASES_H
#define GNN_TESTS_MODEL_CASES_H

#include "harness/model/model.h"

/* Three layers of 32, dropout 0.5, seven classes: the models of tests/op. */
struct gnn_model_config toy_model_config(enum gnn_model_kind kind);

/* Six steps of every model. Fails the test where a loss is further than 1e-4 of itself from the CPU back-end's, where a
 * second run gives another bit, or where the last step, on a mini-batch like one before, allocated. allocations(t)
 * counts those since open; NULL: not counted. */
void model_cases_against_cpu(const struct gnn_tensor_ops *table, uint64_t (*allocations)(const struct gnn_tensor *t));

/* A model opened on t, one step, everything freed again: the first failure, with its message. */
enum gnn_status model_case_step(struct gnn_tensor *t, struct gnn_err *err);

#endif

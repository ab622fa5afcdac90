/* SPDX-License-Identifier: MIT */
/* The models against PyTorch (tests/golden/make_golden.py): log-probabilities, losses, every gradient, and the
 * parameters after three optimiser steps. Dropout off. */
#ifndef GNN_TESTS_GOLDEN_CASES_H
#define GNN_TESTS_GOLDEN_CASES_H

#include "harness/tensor/tensor.h"

/* Fails the test where the back-end is further from PyTorch's float64 than float sums explain. Reads tests/golden from
 * the working directory. */
void golden_cases_against_pytorch(const struct gnn_tensor_ops *table);

#endif

/* SPDX-License-Identifier: MIT */
/* What the tests over all systems share: one small graph, whose training nodes make 7 batches of 20 and one of 10. */
#ifndef GNN_TESTS_DIFFERENTIAL_SYSTEMS_H
#define GNN_TESTS_DIFFERENTIAL_SYSTEMS_H

#include "tests/support/fixture.h"

enum { EPOCHS = 2, BATCHES = 8, TRAIN = 150 };

static const struct train_graph_config usual = {
    .nodes = 900, .mean_degree = 6, .dim = 16, .classes = 5, .train = TRAIN, .seed = 11};

#endif

/* SPDX-License-Identifier: MIT */
/* The runs of test_presort.c and test_presort_requests.c: their graph, and how one is opened. Header only. */
#ifndef GNN_TESTS_PRESORT_RUN_H
#define GNN_TESTS_PRESORT_RUN_H

#include "systems/presort/presort.h"
#include "tests/support/fixture.h"

enum { TRAIN = 160, BATCHES = 8, EPOCHS = 3, DIM = 128, ROW_BYTES = DIM * 4 };

/* Options: room for some of the rows. */
#define SMALL "io=buffered", "row_memory=130K"

static const struct train_graph_config usual = {
    .nodes = 900, .mean_degree = 6, .dim = DIM, .classes = 5, .train = TRAIN, .seed = 11};

static inline void open_run(struct train_run *run, struct fixture *f, const char *const *options)
{
    train_run_init(run, f->world, "presort");
    run->options = options;
    run->workload.epochs = EPOCHS;
    run->check_rows = !f->config.simulated;
    run->modelled = f->config.simulated ? &f->profile : NULL;
    must_run(train_run_open(run, &f->graph), run);
}

#endif

/* SPDX-License-Identifier: MIT */
/* The set-up that tests of systems, stages and storage share: a world, in it a small dataset or a directory of the
 * test's own files, and the environment of a run over both. Opening fails the test when something cannot be had.
 *
 *   struct fixture f;
 *   fixture_open(&f, .graph = &usual, .faults = &(struct gnn_fault_plan){.seed = 1, .read_eio_at = 7});
 *   ...
 *   fixture_close(&f);
 *
 * f.env and f.workload may be changed before they are used. A fixture is not copied: f.env points into it. */
#ifndef GNN_TESTS_FIXTURE_H
#define GNN_TESTS_FIXTURE_H

#include "harness/world/faults.h"
#include "harness/world/measured/measured.h"
#include "harness/world/profile.h"
#include "tests/support/io_scratch.h"
#include "tests/support/must.h"
#include "tests/support/train_graph.h"

struct fixture_config {
    const struct train_graph_config *graph; /* a dataset of this shape; NULL: none */
    bool scratch;                           /* a directory for files of the test's own */
    bool simulated;                         /* the machine of sim_profile.h instead of this one */
    struct gnn_measured_config measured;    /* of this one */
    const struct gnn_fault_plan *faults;    /* NULL: none */
};

struct fixture {
    struct fixture_config config;
    struct gnn_profile profile; /* the simulated machine's */
    struct gnn_world *inner;    /* measured or simulated; counts the memory */
    struct gnn_world *world;    /* what the test uses: inner, or faults over it */
    struct train_graph graph;
    struct io_scratch scratch;
    bool direct; /* the graph's files, or the directory's, open for direct I/O; where not, opening says so once */
    struct gnn_workload workload;
    struct gnn_env env; /* of world, graph and workload: 2 epochs of 20 seeds, fan-out 4, 3 */
    struct gnn_err err;
};

#define fixture_open(f, ...) fixture_open_config((f), &(struct fixture_config){__VA_ARGS__})
void fixture_open_config(struct fixture *f, const struct fixture_config *config);

/* Fails the test when memory that came from the world is left. The directories go away with what is in them. */
void fixture_close(struct fixture *f);

#endif

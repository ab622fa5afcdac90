/* SPDX-License-Identifier: MIT */
/* A folder of its own, the program, and runs of a moment to fill a database with: what tests of commands over records
 * begin with. */
#ifndef GNN_TESTS_PLACE_H
#define GNN_TESTS_PLACE_H

#include <stdbool.h>

struct place {
    char *dir;
    char program[1200]; /* absolute */
    char db[700];       /* dir/runs.db, which no one has made yet */
};

/* cmocka's group set-up and tear-down: *state is a struct place. */
int place_set_up(void **state);
int place_tear_down(void **state);

/* Runs a job file of PLACE_CELLS and these sections into place's database; false: it said why. */
bool place_run(const struct place *place, const char *sections);

/* The [global] section of a job file whose runs take a moment: virtual time on the golden machine, a computed graph. */
#define PLACE_CELLS(epochs)                                                                                            \
    "[global]\ndataset = papers100m\nscale = 1/4000\ngenerate = reach=0\ndim = 100\nworld = simulated\n"               \
    "profile = tests/golden/machine.ini\nbatch = 32\nfanout = 5,5\nhidden = 16\nevaluate = never\nepochs = " epochs    \
    "\n"

#endif

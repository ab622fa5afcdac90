/* SPDX-License-Identifier: MIT */
/* The seed of tests that draw at random: the same on every run, so that what failed today fails tomorrow too.
 * OOCGNN_TEST_SEED=N draws otherwise, OOCGNN_TEST_SEED=random takes the clock. Header only: the double build links no
 * other support. */
#ifndef GNN_TESTS_SEED_H
#define GNN_TESTS_SEED_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEST_SEED_USUAL UINT64_C(20240229)

/* Returns the seed and prints it: run_tests.sh shows a failed program's whole output, hence the seed with it. */
static inline uint64_t test_seed(void)
{
    const char *const given = getenv("OOCGNN_TEST_SEED");
    uint64_t seed = TEST_SEED_USUAL;
    if (given != NULL)
        seed = strcmp(given, "random") == 0 ? (uint64_t)time(NULL) : strtoull(given, NULL, 0);
    (void)fprintf(stderr, "OOCGNN_TEST_SEED=%" PRIu64 "\n", seed);
    return seed;
}

#endif

/* SPDX-License-Identifier: MIT */
/* A kernel whose threads pass words on, with and without what orders them: tests/op/cuda_races.cc. */
#ifndef GNN_TESTS_CUDA_RACES_H
#define GNN_TESTS_CUDA_RACES_H

#include <stdint.h>

enum { RACES_BLOCKS = 2, RACES_THREADS = 256 };

/* What stands between a thread's access and the next of another. */
enum races_by { RACES_NOTHING, RACES_SHUFFLE, RACES_WARP, RACES_BLOCK };

struct races_case {
    uint32_t apart; /* threads t and t ^ apart pass words to one another */
    uint32_t rounds;
    enum races_by behind_write, behind_read;
};

/* sums (RACES_BLOCKS * RACES_THREADS): of what each thread has read. */
void races_run(const struct races_case *c, uint64_t *sums);

#endif

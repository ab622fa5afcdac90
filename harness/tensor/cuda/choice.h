/* SPDX-License-Identifier: MIT */
/* Chooses how a run's training steps are launched: each as one graph, or op by op. A graph saves launches. It costs its
 * recording, during which the device is idle. Which of the two is faster depends on the kernels' lengths, so steps of
 * both kinds are timed, in turns.
 *
 *   Step 0               Op by op: memory grows and libraries load their kernels.
 *   Next CHOICE_WARM     Graphs, not timed.
 *   Next 2 CHOICE_TIMED  Graphs and op by op in turns, timed.
 *   Later                The way with the smaller median.
 *
 * Steps of many shapes need a new graph each. If more than CHOICE_BUILDS of the last 32 graphs were built, later steps
 * run op by op. A failed recording has the same effect. */
#ifndef GNN_TENSOR_CUDA_CHOICE_H
#define GNN_TENSOR_CUDA_CHOICE_H

#include <algorithm>
#include <stdint.h>

enum { CHOICE_WARM = 8, CHOICE_TIMED = 8, CHOICE_BUILDS = 4 };

struct cuda_choice {
    bool graphs;     /* false: every later step runs op by op */
    bool clock;      /* false: steps cannot be timed, and graphs stay */
    uint32_t steps;  /* that were completed as planned */
    uint32_t builds; /* bit i: the graph of the i-th last step was built */
    uint64_t ns[2][CHOICE_TIMED];
    uint64_t median_ns[2]; /* op by op, as graphs; 0: not compared yet */

    bool timed() const
    {
        return clock && steps > CHOICE_WARM && steps <= CHOICE_WARM + 2 * CHOICE_TIMED;
    }

    /* Returns whether the next step is to be a graph. */
    bool next() const
    {
        return graphs && steps > 0 && (!timed() || (steps - CHOICE_WARM - 1) % 2 == 0);
    }

    /* Takes a step that was completed in the way that next returned. */
    void add(bool built, uint64_t step_ns)
    {
        const bool graph = next();
        if (graph)
            builds = builds << 1 | built;
        if (timed())
            ns[graph][(steps - CHOICE_WARM - 1) / 2] = step_ns;
        steps++;
        if (clock && graphs && steps == CHOICE_WARM + 2 * CHOICE_TIMED + 1)
            settle();
        if (__builtin_popcount(builds) > CHOICE_BUILDS)
            graphs = false;
    }

    void settle()
    {
        for (int way = 0; way < 2; way++) {
            std::sort(ns[way], ns[way] + CHOICE_TIMED);
            median_ns[way] = (ns[way][CHOICE_TIMED / 2 - 1] + ns[way][CHOICE_TIMED / 2]) / 2;
        }
        graphs = median_ns[true] <= median_ns[false];
    }
};

#endif

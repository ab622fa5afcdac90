/* SPDX-License-Identifier: MIT */
/* The streams of the launcher's device: queues of work that runs later, as a GPU's does. The host only adds to a queue.
 * Work runs when the host waits for a point, and in between where the order of the streams says so.
 *
 * Order    cuda_host_order chooses when work runs that no call waits for. Right code gives the same results in every
 *          order, because waits and events order all that depends on each other.
 * Clock    Every stream has a time, and so has the host. Work starts when its stream has finished the work before it,
 *          and not before it was given. It takes a nanosecond a byte that is copied and a nanosecond a kernel. A host
 *          that waits continues at the time of the stream. Recording a step takes the host cuda_host_capture_ns a
 *          launch, and a plain launch takes it cuda_host_launch_ns.
 * Threads  The caller holds the launcher's mutex. */
#ifndef GNN_TESTS_CUDA_HOST_STREAMS_H
#define GNN_TESTS_CUDA_HOST_STREAMS_H

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "harness/tensor/cuda/runtime.h"

/* Work that no call waits for yet, in the lanes and in the compute stream. Higher numbers are seeds: each piece of work
 * is late or early by chance. */
enum cuda_host_order {
    CUDA_HOST_LATE,        /* waits in every stream until the host waits for it */
    CUDA_HOST_LANES_EARLY, /* runs at once in lanes, late in the compute stream */
    CUDA_HOST_LANES_LATE,  /* runs at once in the compute stream, late in lanes */
    CUDA_HOST_EARLY,       /* runs at once in every stream */
    CUDA_HOST_SEEDS
};

/* A point in a stream, with the time at which the stream came to it. NULL stands for a point that has passed. */
struct cuda_host_mark {
    uint32_t line;
    bool passed;
    uint64_t at_ns;
};
using cuda_host_point = std::shared_ptr<cuda_host_mark>;

struct cuda_host_work {
    const char *name;
    uint64_t ns;                 /* that it takes */
    std::function<void()> run;   /* empty: nothing */
    cuda_host_point mark;        /* passes with it; NULL: none */
    cuda_host_point awaited;     /* it starts after this point */
    std::vector<uint64_t> words; /* addresses that it may use */
    uint64_t given_ns;           /* on the host's clock */
};

class cuda_host_streams
{
  public:
    enum { LINES = GNN_LANES_MAX + 1, STREAM = GNN_LANES_MAX };

    static uint32_t line_of(uint32_t lane)
    {
        return lane == GNN_LANE_STREAM ? (uint32_t)STREAM : lane;
    }
    void give(uint32_t line, cuda_host_work work);
    cuda_host_point mark(uint32_t line, const char *name); /* returns a point behind the work given so far */
    void reach(const cuda_host_point &point);              /* the host waits for it */
    void drain(uint32_t line);                             /* the host waits for all work of the stream */
    void drain_all();
    bool step(uint32_t line); /* runs one piece of work; returns whether there was one */
    bool idle(uint32_t line) const
    {
        return lines[line].queue.empty();
    }
    /* Returns the name of queued work that may use these bytes, or NULL. */
    const char *user_of(const void *begin, uint64_t bytes) const;
    void spend(uint64_t ns); /* the host computes */
    uint64_t host_ns = 0;

  private:
    struct stream {
        std::deque<cuda_host_work> queue;
        uint64_t now_ns = 0;
    } lines[LINES];
    uint64_t turns = 0;

    bool chance();
    bool early(uint32_t line);
    bool advance(uint32_t line, bool force);
    void disturb();
    void host_was_here(const stream &own);
};

extern uint64_t cuda_host_order; /* enum cuda_host_order, or a seed */
extern uint64_t cuda_host_capture_ns, cuda_host_launch_ns;
/* The latest time of a host, of whichever device: a clock for back-ends under test. */
extern uint64_t cuda_host_clock_ns;

#endif

/* SPDX-License-Identifier: MIT */
/* Measures how long a stream was busy, on the device's own clock, with pairs of events. The clock is CUDA's events in
 * timeline.cu. In the test suite it is the launcher, which tests the order of calls without a GPU.
 *
 * Copies   Successive copies without idle time of the stream are one span. A span ends with the last copy before a gap.
 *          A lane that waits for reads, or for another stream (close), counts no time.
 * Busy     One span from start to finish, including gaps.
 *
 * Full     The time of a span that begins while GNN_SPANS others have not passed is left out. Nothing waits for room.
 *
 * Clock    `event` is a point in a stream. `record(&event, stream)` sets it to the point that the stream has reached.
 *          A later call moves it. `passed(event)` returns whether the stream has passed it. The time between two events
 *          is `ns_between(begin, end)`, where end has passed.
 * Threads  The caller serialises calls on one gnn_spans. */
#ifndef GNN_TENSOR_CUDA_SPANS_H
#define GNN_TENSOR_CUDA_SPANS_H

#include <assert.h>
#include <stdint.h>

enum { GNN_SPANS = 128 };

template <typename Clock> struct gnn_spans {
    using event = typename Clock::event;

    event begins[GNN_SPANS], ends[GNN_SPANS];
    uint32_t first, count; /* closed spans that were not read yet */
    /* the span after these: being enqueued, or complete so far; LEFT_OUT: being enqueued without room for its time */
    enum { NONE, GIVING, GIVEN, LEFT_OUT } last;
    uint64_t ns; /* sum of the spans that were read */

    uint32_t at() const
    {
        return (first + count) % GNN_SPANS;
    }

    /* Adds up the spans that have passed. */
    void read(Clock &clock)
    {
        while (count > 0 && clock.passed(ends[first])) {
            ns += clock.ns_between(begins[first], ends[first]);
            first = (first + 1) % GNN_SPANS;
            count--;
        }
    }

    /* Begins a span, or does nothing if one was begun. */
    template <typename Stream> void start(Clock &clock, Stream stream)
    {
        if (last != NONE)
            return;
        read(clock);
        if (count == GNN_SPANS)
            return;
        clock.record(&begins[at()], stream);
        last = GIVING;
    }

    /* Ends the span that start began, or does nothing if there is none. */
    template <typename Stream> void finish(Clock &clock, Stream stream)
    {
        if (last != GIVING)
            return;
        clock.record(&ends[at()], stream);
        last = GIVEN;
        close();
    }

    /* Enclose the enqueueing of a copy. */
    template <typename Stream> void copy_begin(Clock &clock, Stream stream)
    {
        assert(last != GIVING);
        assert(last != LEFT_OUT);
        if (last == GIVEN && clock.passed(ends[at()])) /* the stream was idle since */
            close();
        if (last == NONE)
            start(clock, stream);
        last = last == NONE ? LEFT_OUT : GIVING;
    }
    template <typename Stream> void copy_end(Clock &clock, Stream stream)
    {
        assert(last == GIVING || last == LEFT_OUT);
        if (last == GIVING)
            clock.record(&ends[at()], stream);
        last = last == GIVING ? GIVEN : NONE;
    }

    /* Ends the current span: later work of the stream belongs to another span, or to none. */
    void close()
    {
        count += last == GIVEN;
        last = last == GIVEN ? NONE : last;
    }

    /* Returns the time of the spans that have passed since the last call. */
    uint64_t take(Clock &clock)
    {
        if (last == GIVEN && clock.passed(ends[at()]))
            close();
        read(clock);
        const uint64_t taken_ns = ns;
        ns = 0;
        return taken_ns;
    }
};

#endif

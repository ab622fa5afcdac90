/* SPDX-License-Identifier: MIT */
/* How long a stream was at something, on the device's own clock: pairs of events around it. timeline.cu takes CUDA's
 * events, the test suite's launcher its own, so that the order of calls is tested without a GPU.
 *
 * Copies  copies that follow each other without the stream standing idle are one span. A span ends with the last copy
 *         before a gap, so that a lane which waits for reads, or for another stream (close), counts no time.
 * Busy    one span from start to finish, whatever happens between.
 *
 * Clock   event: a point in a stream. record(&event, stream): the point that the stream has reached; recorded again, it
 *         is the later one. passed(event). ns_between(begin, end): waits until end has passed.
 * Threads the caller keeps calls about one gnn_spans apart. */
#ifndef GNN_TENSOR_CUDA_SPANS_H
#define GNN_TENSOR_CUDA_SPANS_H

#include <assert.h>
#include <stdint.h>

enum { GNN_SPANS = 32 };

template <typename Clock> struct gnn_spans {
    using event = typename Clock::event;

    event begins[GNN_SPANS], ends[GNN_SPANS];
    uint32_t first, count;             /* closed and not yet read */
    enum { NONE, GIVING, GIVEN } last; /* the span behind those: being given to the stream, or given so far */
    uint64_t ns;                       /* of those that were read */

    uint32_t at() const
    {
        return (first + count) % GNN_SPANS;
    }

    /* Adds up the spans that have passed, and waits for the oldest where there is room for no other. */
    void read(Clock &clock)
    {
        while (count > 0 && (count == GNN_SPANS || clock.passed(ends[first]))) {
            ns += clock.ns_between(begins[first], ends[first]);
            first = (first + 1) % GNN_SPANS;
            count--;
        }
    }

    /* Begins a span unless start has. */
    template <typename Stream> void start(Clock &clock, Stream stream)
    {
        if (last != NONE)
            return;
        read(clock);
        clock.record(&begins[at()], stream);
        last = GIVING;
    }

    /* Ends the span of start; without one nothing. */
    template <typename Stream> void finish(Clock &clock, Stream stream)
    {
        if (last != GIVING)
            return;
        clock.record(&ends[at()], stream);
        last = GIVEN;
        close();
    }

    /* Before and after a copy is given to the stream. */
    template <typename Stream> void copy_begin(Clock &clock, Stream stream)
    {
        assert(last != GIVING);
        if (last == GIVEN && clock.passed(ends[at()])) /* the stream has stood idle since */
            close();
        if (last == NONE)
            start(clock, stream);
        last = GIVING;
    }
    template <typename Stream> void copy_end(Clock &clock, Stream stream)
    {
        assert(last == GIVING);
        clock.record(&ends[at()], stream);
        last = GIVEN;
    }

    /* What the stream does next belongs to no span, or to another. */
    void close()
    {
        count += last == GIVEN;
        last = last == GIVEN ? NONE : last;
    }

    /* The time of the spans that have passed, since the last call. */
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

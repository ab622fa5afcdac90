/* SPDX-License-Identifier: MIT */
#include "tests/support/cuda_host_streams.h"

#include <algorithm>
#include <cstring>
#include <utility>

extern "C" {
#include "harness/base/rng.h"
}

uint64_t cuda_host_order = CUDA_HOST_SEEDS;
uint64_t cuda_host_capture_ns = 1000, cuda_host_launch_ns = 0;
uint64_t cuda_host_clock_ns = 0;

bool cuda_host_streams::chance()
{
    return gnn_splitmix64_at(cuda_host_order, turns++) % 2 == 0;
}

/* Whether work runs before anybody waits for it. */
bool cuda_host_streams::early(uint32_t line)
{
    switch (cuda_host_order) {
    case CUDA_HOST_LATE:
        return false;
    case CUDA_HOST_LANES_EARLY:
        return line != STREAM;
    case CUDA_HOST_LANES_LATE:
        return line == STREAM;
    case CUDA_HOST_EARLY:
        return true;
    default:
        return chance();
    }
}

/* Runs the first piece of work. If it awaits another stream, force runs that one as far, else it waits. */
bool cuda_host_streams::advance(uint32_t line, bool force)
{
    stream &own = lines[line];
    if (own.queue.empty())
        return false;
    const cuda_host_point awaited = own.queue.front().awaited;
    while (awaited != NULL && !awaited->passed)
        if (!force || !advance(awaited->line, true))
            return false;
    const cuda_host_work work = std::move(own.queue.front());
    own.queue.pop_front();
    own.now_ns = std::max({own.now_ns, work.given_ns, awaited != NULL ? awaited->at_ns : 0});
    if (work.run)
        work.run();
    own.now_ns += work.ns;
    if (work.mark != NULL) {
        work.mark->passed = true;
        work.mark->at_ns = own.now_ns;
    }
    return true;
}

/* Runs streams that no call waits for. */
void cuda_host_streams::disturb()
{
    if (cuda_host_order == CUDA_HOST_LATE)
        return;
    for (uint32_t line = 0; line < LINES; line++)
        if (!lines[line].queue.empty() && early(line))
            (void)advance(line, false);
}

void cuda_host_streams::give(uint32_t line, cuda_host_work work)
{
    work.given_ns = host_ns;
    lines[line].queue.push_back(std::move(work));
    if (early(line))
        while (advance(line, false))
            continue;
}

cuda_host_point cuda_host_streams::mark(uint32_t line, const char *name)
{
    const cuda_host_point point(new cuda_host_mark{line, false, 0});
    give(line, {name, 0, {}, point, {}, {}, 0});
    return point;
}

void cuda_host_streams::spend(uint64_t ns)
{
    host_ns += ns;
    cuda_host_clock_ns = std::max(cuda_host_clock_ns, host_ns);
}

void cuda_host_streams::host_was_here(const stream &own)
{
    host_ns = std::max(host_ns, own.now_ns);
    spend(0);
}

void cuda_host_streams::reach(const cuda_host_point &point)
{
    if (point == NULL)
        return;
    while (!point->passed) {
        disturb();
        if (!point->passed)
            (void)advance(point->line, true);
    }
    host_ns = std::max(host_ns, point->at_ns);
    spend(0);
}

void cuda_host_streams::drain(uint32_t line)
{
    while (!lines[line].queue.empty()) {
        disturb();
        (void)advance(line, true);
    }
    host_was_here(lines[line]);
}

void cuda_host_streams::drain_all()
{
    for (uint32_t line = 0; line < LINES; line++)
        drain(line);
}

bool cuda_host_streams::step(uint32_t line)
{
    return advance(line, true);
}

const char *cuda_host_streams::user_of(const void *begin, uint64_t bytes) const
{
    const uint64_t from = reinterpret_cast<uintptr_t>(begin);
    for (const stream &own : lines)
        for (const cuda_host_work &work : own.queue)
            for (const uint64_t word : work.words)
                if (word >= from && word < from + bytes)
                    return work.name;
    return NULL;
}

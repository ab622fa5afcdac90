/* SPDX-License-Identifier: MIT */
// What MariusGNN's released program does for each subgraph and each hop, and the design does not require: the resident
// edges in order of their source and of their destination, each by a stable sort of IDs with their positions, and a
// byte for every resident node that a hop reads.
//
//   bench_subgraph [EDGES PARTITIONS NODES NEW]
//   default: 16 M edges between 64 partitions, 111 M resident nodes of which a hop finds 0.9 M
//
// sort: nanoseconds an edge and doubling of their number, as edges of a bucket after the other, by source, and then by
// destination, as the program sorts them. bitmap: nanoseconds a byte, read and found bytes cleared. CPU time of one
// thread, the shortest of three: the figures of workloads/hardware/costs/released.ini.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

namespace
{

constexpr int turns = 3;

class stopwatch
{
  public:
    double ns() const
    {
        return cpu_ns() - start;
    }

  private:
    static double cpu_ns()
    {
        timespec now;
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
    }

    double start = cpu_ns();
};

struct edge {
    int64_t source, destination;
};

struct keyed {
    int64_t id, position;
};

// Bucket (0, 0), then (0, 1) and so on, as they are read.
std::vector<edge> read_edges(size_t count, size_t partitions)
{
    constexpr size_t rows = 1 << 16;
    std::mt19937_64 random(1);
    std::vector<edge> edges(count);
    for (size_t e = 0; e < count; e++) {
        const size_t bucket = e * partitions * partitions / count;
        edges[e] = {static_cast<int64_t>(bucket / partitions * rows + random() % rows),
                    static_cast<int64_t>(bucket % partitions * rows + random() % rows)};
    }
    return edges;
}

// Sorts positions by one end and puts the edges in that order. Returns the nanoseconds of the sort alone.
double sort_by(std::vector<edge> &edges, int64_t edge::*end)
{
    std::vector<keyed> keys(edges.size());
    for (size_t e = 0; e < edges.size(); e++)
        keys[e] = {edges[e].*end, static_cast<int64_t>(e)};
    const stopwatch sorting;
    std::stable_sort(keys.begin(), keys.end(), [](const keyed &a, const keyed &b) { return a.id < b.id; });
    const double ns = sorting.ns();
    std::vector<edge> sorted(edges.size());
    for (size_t e = 0; e < edges.size(); e++)
        sorted[e] = edges[static_cast<size_t>(keys[e].position)];
    edges.swap(sorted);
    return ns;
}

void sorts(size_t count, size_t partitions)
{
    const double steps = static_cast<double>(count) * std::log2(static_cast<double>(count));
    double source_ns = 1e300, destination_ns = 1e300;
    for (int turn = 0; turn < turns; turn++) {
        std::vector<edge> edges = read_edges(count, partitions);
        source_ns = std::min(source_ns, sort_by(edges, &edge::source));
        destination_ns = std::min(destination_ns, sort_by(edges, &edge::destination));
    }
    std::printf("%zu edges, %zu partitions\nsort %.2f ns by source, %.2f ns by destination, %.2f ns on average\n",
                count, partitions, source_ns / steps, destination_ns / steps, (source_ns + destination_ns) / 2 / steps);
}

void bitmap(size_t nodes, size_t found)
{
    std::mt19937_64 random(1);
    std::vector<unsigned char> marks(nodes);
    std::vector<int64_t> fresh(nodes < found ? nodes : found);
    double least = 1e300;
    for (int turn = 0; turn < turns; turn++) {
        for (size_t k = 0; k < fresh.size(); k++)
            marks[random() % nodes] = 1;
        size_t count = 0;
        const stopwatch reading;
        for (size_t v = 0; v < nodes; v++)
            if (marks[v]) {
                fresh[count++] = static_cast<int64_t>(v);
                marks[v] = 0;
            }
        least = std::min(least, reading.ns());
    }
    std::printf("%zu nodes, %zu found\nbitmap %.3f ns a byte\n", nodes, fresh.size(),
                least / static_cast<double>(nodes));
}

size_t number(int argc, char **argv, int at, size_t usual)
{
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : usual;
}

} // namespace

int main(int argc, char **argv)
{
    const size_t edges = number(argc, argv, 1, 16000000), partitions = number(argc, argv, 2, 64);
    const size_t nodes = number(argc, argv, 3, 111059956), found = number(argc, argv, 4, 900000);
    if (edges < 2 || partitions == 0 || nodes == 0) {
        std::fprintf(stderr, "bench_subgraph: at least two edges, a partition and a node\n");
        return 2;
    }
    sorts(edges, partitions);
    bitmap(nodes, found);
    return 0;
}

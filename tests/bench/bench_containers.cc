/* SPDX-License-Identifier: MIT */
// What the containers of GNNDrive's released feature buffer cost: a mapping table of 16 bytes a node, and the slots
// that no mini-batch needs in a std::list, oldest first, with a std::unordered_map from a slot to its place there.
//
//   bench_containers [NODES SLOTS ROWS HITS BATCHES]
//   default: 111 M nodes, 5 M slots, 126 k rows a mini-batch, 119.7 k of them found, 8 mini-batches after one
//
// Nanoseconds a row, of the median mini-batch: take: a found row's table entry looked up, its slot found in the map and
// erased from both; evict: the oldest slot popped and erased, its owner's entry cleared, the new one's set; put: a slot
// at the end of both. Then a page of fresh memory, touched, and a process forked that holds 2 GiB. One thread; the
// figures of workloads/hardware/costs/released.ini. Nothing else may run.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <random>
#include <unordered_map>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

struct entry {
    int64_t slot; // -1: none
    int32_t users;
    int32_t ready;
};
static_assert(sizeof(entry) == 16, "as released");

class stopwatch
{
  public:
    double ns(size_t rows) const
    {
        const std::chrono::duration<double, std::nano> past = std::chrono::steady_clock::now() - start;
        return past.count() / static_cast<double>(std::max<size_t>(rows, 1));
    }

  private:
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct buffer {
    std::vector<entry> table;
    std::vector<int64_t> owner; // of a slot
    std::list<int64_t> standby;
    std::unordered_map<int64_t, std::list<int64_t>::iterator> place;

    buffer(size_t nodes, size_t slots) : table(nodes, entry{-1, 0, 0}), owner(slots, -1)
    {
        for (size_t slot = 0; slot < slots; slot++)
            put(static_cast<int64_t>(slot));
    }

    void put(int64_t slot)
    {
        standby.push_back(slot);
        place[slot] = std::prev(standby.end());
    }

    void take(int64_t node)
    {
        entry &e = table[static_cast<size_t>(node)];
        if (e.users++ > 0)
            return;
        const auto found = place.find(e.slot);
        standby.erase(found->second);
        place.erase(found);
    }

    void evict(int64_t node)
    {
        const int64_t slot = standby.front();
        standby.pop_front();
        place.erase(slot);
        int64_t &old = owner[static_cast<size_t>(slot)];
        if (old >= 0)
            table[static_cast<size_t>(old)] = entry{-1, 0, 0};
        old = node;
        table[static_cast<size_t>(node)] = entry{slot, 1, 1};
    }

    void release(int64_t node)
    {
        entry &e = table[static_cast<size_t>(node)];
        if (--e.users == 0)
            put(e.slot);
    }
};

// A mini-batch: rows that the buffer holds, then rows that it does not.
struct batch {
    std::vector<int64_t> hits, misses;
};

batch draw(const buffer &b, size_t hits, size_t misses, std::mt19937_64 &random)
{
    batch out;
    std::vector<char> chosen(b.owner.size());
    while (out.hits.size() < hits) {
        const size_t slot = random() % b.owner.size();
        if (b.owner[slot] < 0 || chosen[slot])
            continue;
        chosen[slot] = 1;
        out.hits.push_back(b.owner[slot]);
    }
    std::unordered_map<int64_t, char> seen;
    while (out.misses.size() < misses) {
        const int64_t node = static_cast<int64_t>(random() % b.table.size());
        if (b.table[static_cast<size_t>(node)].slot < 0 && seen.emplace(node, 1).second)
            out.misses.push_back(node);
    }
    return out;
}

void containers(size_t nodes, size_t slots, size_t rows, size_t hits, size_t batches)
{
    std::mt19937_64 random(1);
    buffer b(nodes, slots);
    for (const int64_t node : draw(b, 0, slots, random).misses) { // every slot has an owner, in random order
        b.evict(node);
        b.release(node);
    }
    std::vector<double> take, evict, put;
    for (size_t k = 0; k <= batches; k++) {
        const batch drawn = draw(b, hits, rows - hits, random);
        const stopwatch taking;
        for (const int64_t node : drawn.hits)
            b.take(node);
        const double take_ns = taking.ns(hits);
        const stopwatch evicting;
        for (const int64_t node : drawn.misses)
            b.evict(node);
        const double evict_ns = evicting.ns(rows - hits);
        const stopwatch putting;
        for (const int64_t node : drawn.hits)
            b.release(node);
        for (const int64_t node : drawn.misses)
            b.release(node);
        if (k == 0)
            continue;
        take.push_back(take_ns);
        evict.push_back(evict_ns);
        put.push_back(putting.ns(rows));
    }
    std::printf("%zu nodes, %zu slots, %zu rows a mini-batch, %zu of them found\n", nodes, slots, rows, hits);
    std::printf("take   %7.0f ns a row\nevict  %7.0f ns a row\nput    %7.0f ns a row\n", median(take), median(evict),
                median(put));
    std::printf("%.1f ms a mini-batch\n",
                1e-6 * (median(take) * static_cast<double>(hits) + median(evict) * static_cast<double>(rows - hits) +
                        median(put) * static_cast<double>(rows)));
}

void *mapped(size_t bytes)
{
    void *const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        std::perror("mmap");
        std::exit(1);
    }
    (void)madvise(at, bytes, MADV_NOHUGEPAGE);
    return at;
}

void pages()
{
    constexpr size_t bytes = 64 << 20, page = 4096;
    std::vector<double> fresh;
    for (int turn = 0; turn < 9; turn++) {
        char *const at = static_cast<char *>(mapped(bytes));
        const stopwatch touching;
        for (size_t offset = 0; offset < bytes; offset += page)
            at[offset] = 1;
        fresh.push_back(touching.ns(bytes / page));
        (void)munmap(at, bytes);
    }
    std::printf("fresh page %7.0f ns\n", median(fresh));
}

void processes()
{
    constexpr size_t bytes = size_t{2} << 30;
    void *const held = mapped(bytes);
    std::memset(held, 1, bytes);
    std::vector<double> forks;
    for (int turn = 0; turn < 9; turn++) {
        const stopwatch forking;
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        forks.push_back(forking.ns(1));
        (void)waitpid(child, nullptr, 0);
    }
    std::printf("process    %7.2f ms, with 2 GiB\n", 1e-6 * median(forks));
    (void)munmap(held, bytes);
}

size_t number(int argc, char **argv, int at, size_t usual)
{
    return argc > at ? std::strtoull(argv[at], nullptr, 10) : usual;
}

} // namespace

int main(int argc, char **argv)
{
    const size_t nodes = number(argc, argv, 1, 111059956), slots = number(argc, argv, 2, 5000000);
    const size_t rows = number(argc, argv, 3, 126000), hits = number(argc, argv, 4, 119700);
    const size_t batches = number(argc, argv, 5, 8);
    if (slots > nodes / 2 || hits > rows || rows > slots || batches == 0) {
        std::fprintf(stderr, "bench_containers: HITS <= ROWS <= SLOTS <= NODES / 2, and a mini-batch\n");
        return 2;
    }
    containers(nodes, slots, rows, hits, batches);
    pages();
    processes();
    return 0;
}

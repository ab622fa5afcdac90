/* SPDX-License-Identifier: MIT */
/* Large memory: anonymous mappings, counted. One page in front of each holds its size; it is not counted.
 *
 * Large pages, where the kernel has them (transparent_hugepage is not `never`): a direct read or write of 64 KiB is
 * then one piece of physical memory instead of sixteen, which a virtual disk moves about twice as fast
 * (results/speed.md), and a random access misses the TLB less often. Such memory is touched when it is allocated: where
 * two threads are the first to touch a large page, the kernel charges 2 MiB to each until one of them has cleared its
 * page, and the peak of a run with many threads would be too high by some of them. */
#include "harness/base/atomic_max.h"
#include "harness/world/measured/internal.h"
#include "harness/world/poison.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { MEM_HEADER_BYTES = GNN_PAGE_BYTES, LARGE_PAGE_BYTES = 2 << 20 };
static const uint64_t mem_magic = UINT64_C(0x6f6f63676e6e6d21);

struct mem_header {
    uint64_t magic;
    uint64_t bytes; /* counted: the request rounded up to pages */
};
_Static_assert(sizeof(struct mem_header) <= MEM_HEADER_BYTES, "the header fits its page");

void gnn_world_measured_limit(struct gnn_world *world, uint64_t memory_limit_bytes)
{
    measured_of(world)->config.memory_limit_bytes = memory_limit_bytes;
}

/* Adds to the count unless that passes the limit. */
static bool count_bytes(struct measured *m, uint64_t bytes)
{
    uint64_t before = atomic_load(&m->memory->bytes);
    do {
        if (m->config.memory_limit_bytes != 0 &&
            (bytes > m->config.memory_limit_bytes || before > m->config.memory_limit_bytes - bytes))
            return false;
    } while (!atomic_compare_exchange_weak(&m->memory->bytes, &before, before + bytes));
    gnn_atomic_max(&m->memory->peak_bytes, before + bytes);
    return true;
}

static uint64_t bytes_to_multiple(const unsigned char *at, uint64_t multiple)
{
    return (multiple - (uintptr_t)at % multiple) % multiple;
}

/* Maps `bytes` behind a page for the header; NULL and errno where that fails. Memory for large pages begins at a
 * multiple of one and asks for them: a kernel without them says no, which changes nothing. */
static unsigned char *map_behind_header(uint64_t bytes, int sharing, bool large)
{
    const uint64_t slack = large ? LARGE_PAGE_BYTES : 0;
    const uint64_t mapped = MEM_HEADER_BYTES + bytes + slack;
    unsigned char *const base = mmap(NULL, mapped, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    if (slack == 0)
        return base + MEM_HEADER_BYTES;
    const uint64_t before = bytes_to_multiple(base + MEM_HEADER_BYTES, LARGE_PAGE_BYTES);
    unsigned char *const memory = base + before + MEM_HEADER_BYTES;
    if (before > 0)
        (void)munmap(base, before);
    if (slack > before)
        (void)munmap(memory + bytes, slack - before);
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

/* Writes to every page, so that it is charged now and not in epoch three. */
static void touch(unsigned char *memory, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += GNN_PAGE_BYTES)
        ((volatile unsigned char *)memory)[at] = 0;
}

enum gnn_status measured_mem_alloc(struct gnn_world *w, const char *name, uint64_t bytes, unsigned flags, void **out,
                                   struct gnn_err *err)
{
    struct measured *m = measured_of(w);
    *out = NULL;
    if (bytes > UINT64_MAX / 2)
        return gnn_fail(err, GNN_ENOMEM, "%s: its size passes 2^63 bytes", name);
    const uint64_t counted = gnn_round_up(bytes == 0 ? 1 : bytes, GNN_PAGE_BYTES);
    if (!count_bytes(m, counted))
        return gnn_fail(err, GNN_ECAP,
                        "%s: %llu bytes in addition to the %llu already held exceed the %llu that the memory limit "
                        "leaves: raise --memory",
                        name, (unsigned long long)bytes, (unsigned long long)atomic_load(&m->memory->bytes),
                        (unsigned long long)m->config.memory_limit_bytes);
    const int sharing = (flags & GNN_MEM_SHARED) != 0 && m->sharing ? MAP_SHARED : MAP_PRIVATE;
    const bool pinned = (flags & GNN_MEM_PINNED) != 0;
    const bool large = counted >= LARGE_PAGE_BYTES && (pinned || (flags & (GNN_MEM_FEATURES | GNN_MEM_LARGE)) != 0);
    unsigned char *const memory = map_behind_header(counted, sharing, large);
    if (memory == NULL) {
        const int error = errno;
        atomic_fetch_sub(&m->memory->bytes, counted);
        return gnn_fail(err, GNN_ENOMEM, "%s: %llu bytes: %s", name, (unsigned long long)bytes, strerror(error));
    }
    *(struct mem_header *)(void *)(memory - MEM_HEADER_BYTES) =
        (struct mem_header){.magic = mem_magic, .bytes = counted};
    if (pinned || large)
        touch(memory, counted);
    if (pinned) /* where RLIMIT_MEMLOCK permits; the ring's own registration pins the pages it reads into */
        (void)mlock(memory, counted);
    gnn_poison_behind(memory, bytes, counted);
    *out = memory;
    return GNN_OK;
}

void measured_mem_free(struct gnn_world *w, void *ptr)
{
    if (ptr == NULL)
        return;
    struct measured *m = measured_of(w);
    unsigned char *base = (unsigned char *)ptr - MEM_HEADER_BYTES;
    const struct mem_header header = *(const struct mem_header *)(const void *)base;
    assert(header.magic == mem_magic); /* from gnn_mem_alloc of this world, and not freed before */
    assert(header.bytes % GNN_PAGE_BYTES == 0);
    gnn_unpoison(ptr, header.bytes);
    const int rc = munmap(base, header.bytes + MEM_HEADER_BYTES);
    assert(rc == 0);
    const uint64_t before = atomic_fetch_sub(&m->memory->bytes, header.bytes);
    assert(before >= header.bytes);
}

void measured_mem_usage(struct gnn_world *w, struct gnn_mem_usage *out)
{
    struct measured *m = measured_of(w);
    out->current_bytes = atomic_load(&m->memory->bytes);
    out->peak_bytes = atomic_load(&m->memory->peak_bytes);
}

void *measured_shared_page(void)
{
    void *const page = mmap(NULL, GNN_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? NULL : page;
}

void measured_shared_page_free(void *page)
{
    const int rc = munmap(page, GNN_PAGE_BYTES);
    assert(rc == 0);
}

void measured_mem_copy(struct gnn_world *w, void *dst, const void *src, uint64_t bytes)
{
    (void)w;
    memcpy(dst, src, bytes);
}

void measured_mem_touch(struct gnn_world *w, const void *ptr, uint64_t bytes)
{
    (void)w;
    (void)ptr;
    (void)bytes;
}

/* SPDX-License-Identifier: MIT */
/* Large memory against the cap. Plain memory is real; feature memory is a range of addresses without pages that faults
 * when touched, so a system that looks at feature bytes stops at once. The process's own bytes (struct
 * gnn_profile.process_bytes) count from the start; the page cache has what is left. Names and ranges are kept sorted by
 * address; there are some dozens of them.
 *
 * Memory is charged page by page when it is touched, as the kernel does it, and pinned memory at once (touched.h): what
 * is reserved and not used is the page cache's. Plain memory is looked at when the page cache is used, every
 * millisecond of virtual time and less often while nothing new is found. What is reserved must fit the cap all the
 * same: an allocation that could not be used whole is refused by name instead of failing later without one. */
#include "harness/base/log.h"
#include "harness/world/poison.h"
#include "harness/world/simulated/internal.h"
#include "harness/world/simulated/touched.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const uint64_t look_ns_min = 1000000, look_ns_max = 128000000;

struct range {
    unsigned char *base;
    uint64_t bytes; /* counted: the request rounded up to pages */
    struct sim_touched touched;
};

struct ranges { /* disjoint, ascending */
    struct range *items;
    uint32_t count, slots;
};

struct sim_memory {
    uint64_t cap_bytes;
    /* The process's own not included in any. */
    uint64_t held_bytes, peak_bytes; /* allocated */
    uint64_t touched_bytes;
    uint64_t charged_peak_bytes; /* touched, and page cache */
    uint64_t next_look_ns, look_every_ns;
    bool faults_count;    /* the host tells them */
    uint64_t faults_seen; /* when everything was looked at; UINT64_MAX: not known */
    struct ranges plain, features;
    struct range around_features; /* from the first to the end of the last: most addresses lie outside */
};

/* ---- ranges ---- */

/* Index of the first range that ends beyond the address. */
static uint32_t ranges_at(const struct ranges *ranges, uintptr_t address)
{
    uint32_t low = 0;
    uint32_t high = ranges->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if ((uintptr_t)ranges->items[middle].base + ranges->items[middle].bytes > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool ranges_reserve(struct ranges *ranges)
{
    if (ranges->count < ranges->slots)
        return true;
    const uint32_t slots = ranges->slots == 0 ? 64 : 2 * ranges->slots;
    struct range *const larger = reallocarray(ranges->items, slots, sizeof *larger);
    if (larger == NULL)
        return false;
    ranges->items = larger;
    ranges->slots = slots;
    return true;
}

static void ranges_add(struct ranges *ranges, struct range range)
{
    assert(ranges->count < ranges->slots);
    const uint32_t at = ranges_at(ranges, (uintptr_t)range.base);
    memmove(&ranges->items[at + 1], &ranges->items[at], (ranges->count - at) * sizeof *ranges->items);
    ranges->items[at] = range;
    ranges->count++;
}

/* Takes out the range that starts there; returns false if none does. */
static bool ranges_take(struct ranges *ranges, const void *base, struct range *out)
{
    const uint32_t at = ranges_at(ranges, (uintptr_t)base);
    if (at == ranges->count || ranges->items[at].base != base)
        return false;
    *out = ranges->items[at];
    ranges->count--;
    memmove(&ranges->items[at], &ranges->items[at + 1], (ranges->count - at) * sizeof *ranges->items);
    return true;
}

static void ranges_close(struct ranges *ranges)
{
    for (uint32_t at = 0; at < ranges->count; at++) {
        gnn_unpoison(ranges->items[at].base, ranges->items[at].bytes);
        (void)munmap(ranges->items[at].base, ranges->items[at].bytes);
        sim_touched_close(&ranges->items[at].touched);
    }
    free(ranges->items);
}

/* ---- open, close ---- */

static void give_rest_to_cache(const struct simulated *s)
{
    const uint64_t own_bytes = s->profile->process_bytes + s->memory->touched_bytes;
    assert(s->memory->touched_bytes <= s->memory->held_bytes);
    assert(own_bytes <= s->memory->cap_bytes);
    sim_page_cache_set_room(s->cache, s->memory->cap_bytes - own_bytes);
}

/* To be called before memory is given back: until then the sum only grows. */
static void note_peak(struct simulated *s)
{
    struct sim_page_cache_counts cache;
    sim_page_cache_counts(s->cache, &cache);
    const uint64_t bytes = s->memory->touched_bytes + cache.pages * GNN_PAGE_BYTES;
    s->memory->charged_peak_bytes = gnn_max_u64(s->memory->charged_peak_bytes, bytes);
}

static void charge_pages(struct simulated *s, uint64_t pages)
{
    if (pages == 0)
        return;
    s->memory->touched_bytes += pages * GNN_PAGE_BYTES;
    give_rest_to_cache(s);
    note_peak(s);
}

enum gnn_status sim_memory_open(struct simulated *s, struct gnn_err *err)
{
    const uint64_t cap_bytes = s->config.cap_bytes != 0 ? s->config.cap_bytes : s->profile->memory_bytes;
    if (s->profile->process_bytes > cap_bytes)
        return gnn_fail(err, GNN_ECAP,
                        "the process itself takes %llu B (profile %s), but the memory limit is %llu B; raise --memory",
                        (unsigned long long)s->profile->process_bytes, s->profile->name, (unsigned long long)cap_bytes);
    GNN_NEW(s->memory, 1, err, "the simulated world's memory accounts: %zu bytes", sizeof *s->memory);
    s->memory->cap_bytes = cap_bytes;
    s->memory->faults_count = sim_touched_faults_count();
    s->memory->faults_seen = UINT64_MAX;
    give_rest_to_cache(s);
    return GNN_OK;
}

void sim_memory_close(struct simulated *s)
{
    struct sim_memory *const memory = s->memory;
    if (memory == NULL)
        return;
    if (memory->held_bytes != 0)
        gnn_log_warn("%llu bytes of large memory were still allocated when the simulated world closed",
                     (unsigned long long)memory->held_bytes);
    ranges_close(&memory->plain);
    ranges_close(&memory->features);
    free(memory);
    s->memory = NULL;
}

/* ---- hooks ---- */

static void find_around_features(struct sim_memory *memory)
{
    const struct ranges *const features = &memory->features;
    memory->around_features = (struct range){0};
    if (features->count == 0)
        return;
    const struct range *const last = &features->items[features->count - 1];
    memory->around_features.base = features->items[0].base;
    memory->around_features.bytes = (uint64_t)(last->base - features->items[0].base) + last->bytes;
}

static enum gnn_status check_cap(const struct simulated *s, const char *name, uint64_t bytes, uint64_t counted_bytes,
                                 struct gnn_err *err)
{
    const struct sim_memory *const memory = s->memory;
    const uint64_t own_bytes = s->profile->process_bytes + memory->held_bytes;
    if (counted_bytes <= memory->cap_bytes - own_bytes)
        return GNN_OK;
    return gnn_fail(err, GNN_ECAP,
                    "%s: %llu B in addition to the %llu B already held (%llu B of them by the process itself) make "
                    "%llu B. The memory limit is %llu B: raise --memory",
                    name, (unsigned long long)bytes, (unsigned long long)own_bytes,
                    (unsigned long long)s->profile->process_bytes,
                    (unsigned long long)gnn_add_bytes(own_bytes, counted_bytes), (unsigned long long)memory->cap_bytes);
}

static void add(struct simulated *s, struct range range, unsigned flags)
{
    struct sim_memory *const memory = s->memory;
    const bool features = (flags & GNN_MEM_FEATURES) != 0, pinned = (flags & GNN_MEM_PINNED) != 0;
    if (pinned)
        sim_touched_all(&range.touched);
    else if (!features)
        (void)madvise(range.base, range.bytes, MADV_NOHUGEPAGE); /* a look tells pages apart */
    ranges_add(features ? &memory->features : &memory->plain, range);
    find_around_features(memory);
    memory->held_bytes += range.bytes;
    memory->peak_bytes = gnn_max_u64(memory->peak_bytes, memory->held_bytes);
    memory->look_every_ns = look_ns_min;
    memory->next_look_ns = gnn_min_u64(memory->next_look_ns, sim_now(s->executor) + look_ns_min);
    charge_pages(s, range.touched.count);
}

enum gnn_status sim_mem_alloc(struct gnn_world *w, const char *name, uint64_t bytes, unsigned flags, void **out,
                              struct gnn_err *err)
{
    struct simulated *const s = simulated_of(w);
    struct sim_memory *const memory = s->memory;
    *out = NULL;
    if (bytes > UINT64_MAX / 2)
        return gnn_fail(err, GNN_ENOMEM, "%s: its size passes 2^63 bytes", name);
    const uint64_t counted_bytes = gnn_round_up(bytes == 0 ? 1 : bytes, GNN_PAGE_BYTES);
    GNN_TRY(check_cap(s, name, bytes, counted_bytes, err));
    const bool features = (flags & GNN_MEM_FEATURES) != 0;
    struct ranges *const ranges = features ? &memory->features : &memory->plain;
    struct range range = {.bytes = counted_bytes};
    if (!ranges_reserve(ranges))
        return gnn_fail(err, GNN_ENOMEM, "%s: its place among %u allocations", name, ranges->count);
    GNN_TRY(sim_touched_open(counted_bytes / GNN_PAGE_BYTES, &range.touched, err));
    range.base = mmap(NULL, counted_bytes, features ? PROT_NONE : PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range.base == MAP_FAILED) {
        sim_touched_close(&range.touched);
        return gnn_fail(err, GNN_ENOMEM, "%s: %llu bytes of the host's memory: %s", name, (unsigned long long)bytes,
                        strerror(errno));
    }
    add(s, range, flags);
    gnn_poison_behind(range.base, bytes, counted_bytes);
    *out = range.base;
    return GNN_OK;
}

void sim_mem_free(struct gnn_world *w, void *ptr)
{
    if (ptr == NULL)
        return;
    struct simulated *const s = simulated_of(w);
    struct sim_memory *const memory = s->memory;
    struct range range = {0};
    note_peak(s);
    const bool known = ranges_take(&memory->plain, ptr, &range) || ranges_take(&memory->features, ptr, &range);
    assert(known); /* allocated here, and freed once */
    gnn_unpoison(ptr, range.bytes);
    const int rc = munmap(ptr, range.bytes);
    assert(rc == 0);
    find_around_features(memory);
    memory->held_bytes -= range.bytes;
    memory->touched_bytes -= range.touched.count * GNN_PAGE_BYTES;
    sim_touched_close(&range.touched);
    give_rest_to_cache(s);
}

void sim_mem_usage(struct gnn_world *w, struct gnn_mem_usage *out)
{
    const struct sim_memory *const memory = simulated_of(w)->memory;
    out->current_bytes = memory->held_bytes;
    out->peak_bytes = memory->peak_bytes;
}

/* ---- what was touched ---- */

/* Returns how many pages it found. Without a fault since the last look there are none. */
static uint64_t look(struct simulated *s)
{
    struct sim_memory *const memory = s->memory;
    struct ranges *const plain = &memory->plain;
    const uint64_t faults = memory->faults_count ? sim_touched_faults() : UINT64_MAX;
    if (faults != UINT64_MAX && faults == memory->faults_seen)
        return 0;
    uint64_t pages = 0;
    bool whole = true;
    for (uint32_t i = 0; i < plain->count; i++)
        pages += sim_touched_look(&plain->items[i].touched, plain->items[i].base, &whole);
    memory->faults_seen = whole ? faults : UINT64_MAX;
    charge_pages(s, pages);
    return pages;
}

void sim_memory_look(struct simulated *s, uint64_t now_ns)
{
    struct sim_memory *const memory = s->memory;
    if (now_ns < memory->next_look_ns)
        return;
    const bool more = look(s) > 0;
    memory->look_every_ns = more ? look_ns_min : gnn_min_u64(2 * memory->look_every_ns, look_ns_max);
    memory->next_look_ns = now_ns + memory->look_every_ns;
}

void sim_memory_note(struct simulated *s)
{
    (void)look(s);
    note_peak(s);
}

void sim_memory_known(const struct simulated *s, uint64_t *current_bytes, uint64_t *peak_bytes)
{
    *current_bytes = s->memory->touched_bytes;
    *peak_bytes = s->memory->charged_peak_bytes;
}

/* Returns the allocation of feature memory that holds the address; NULL: none does. */
static struct range *feature_range(const struct simulated *s, const void *ptr)
{
    const struct sim_memory *const memory = s->memory;
    const uintptr_t address = (uintptr_t)ptr;
    if (address - (uintptr_t)memory->around_features.base >= memory->around_features.bytes)
        return NULL;
    const uint32_t at = ranges_at(&memory->features, address);
    const bool inside = at < memory->features.count && (uintptr_t)memory->features.items[at].base <= address;
    return inside ? &memory->features.items[at] : NULL;
}

bool sim_written_features(struct simulated *s, const void *ptr, uint64_t bytes)
{
    struct range *const range = feature_range(s, ptr);
    if (range == NULL)
        return false;
    if (bytes == 0 || range->touched.bits == NULL)
        return true;
    const uint64_t offset = (uint64_t)((const unsigned char *)ptr - range->base);
    assert(bytes <= range->bytes - offset);
    const uint64_t first = offset / GNN_PAGE_BYTES, end = gnn_div_up(offset + bytes, GNN_PAGE_BYTES);
    charge_pages(s, sim_touched_mark(&range->touched, first, end - first));
    return true;
}

void sim_mem_touch(struct gnn_world *w, const void *ptr, uint64_t bytes)
{
    (void)sim_written_features(simulated_of(w), ptr, bytes);
}

bool sim_is_feature(const struct simulated *s, const void *ptr)
{
    return feature_range(s, ptr) != NULL;
}

void sim_mem_copy(struct gnn_world *w, void *dst, const void *src, uint64_t bytes)
{
    struct simulated *const s = simulated_of(w);
    sim_cpu(s->executor, s->profile->cpu.gather_row_ns * SIM_PS_PER_NS); /* a place that no cache holds */
    sim_charge(w, GNN_WORK_COPIED_BYTE, bytes);
    if (!sim_written_features(s, dst, bytes) && !sim_is_feature(s, src))
        memcpy(dst, src, bytes);
}

void sim_charge(struct gnn_world *w, enum gnn_work kind, uint64_t count)
{
    assert(kind < GNN_WORK_KINDS);
    const struct simulated *const s = simulated_of(w);
    const uint64_t unit_ps = kind == GNN_WORK_CPU_NS ? 1000 : s->profile->cpu.work_ps[kind];
    uint64_t ps;
    const bool overflow = __builtin_mul_overflow(unit_ps, count, &ps);
    assert(!overflow); /* seven months of one core */
    (void)overflow;
    sim_cpu(s->executor, ps);
}

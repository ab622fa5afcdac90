/* Large memory against the cap. Plain memory is real; feature memory is a range of addresses without pages that faults
 * when touched, so a system that looks at feature bytes stops at once. The process's own bytes (struct
 * gnn_profile.process_bytes) count from the start; the page cache has what is left. Names and ranges are kept sorted by
 * address; there are some dozens of them. */
#include "harness/base/log.h"
#include "harness/world/simulated/internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct range {
    unsigned char *base;
    uint64_t bytes; /* counted: the request rounded up to pages */
};

struct ranges { /* disjoint, ascending */
    struct range *items;
    uint32_t count, slots;
};

struct sim_memory {
    uint64_t cap_bytes;
    uint64_t held_bytes; /* allocated; the process's own not included */
    uint64_t peak_bytes;
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
    for (uint32_t at = 0; at < ranges->count; at++)
        (void)munmap(ranges->items[at].base, ranges->items[at].bytes);
    free(ranges->items);
}

/* ---- open, close ---- */

static void give_rest_to_cache(const struct simulated *s)
{
    const uint64_t own_bytes = s->profile->process_bytes + s->memory->held_bytes;
    assert(own_bytes <= s->memory->cap_bytes);
    sim_page_cache_set_room(s->cache, s->memory->cap_bytes - own_bytes);
}

enum gnn_status sim_memory_open(struct simulated *s, struct gnn_err *err)
{
    const uint64_t cap_bytes = s->config.cap_bytes != 0 ? s->config.cap_bytes : s->profile->memory_bytes;
    if (s->profile->process_bytes > cap_bytes)
        return gnn_fail(err, GNN_ECAP,
                        "the process itself takes %llu B (profile %s), the memory cap is %llu B; raise --memory",
                        (unsigned long long)s->profile->process_bytes, s->profile->name, (unsigned long long)cap_bytes);
    GNN_NEW(s->memory, 1, err, "the simulated world's memory accounts: %zu bytes", sizeof *s->memory);
    s->memory->cap_bytes = cap_bytes;
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
                    "%s: %llu B beside the %llu B already held (%llu B of them by the process itself) make "
                    "%llu B, the memory cap is %llu B",
                    name, (unsigned long long)bytes, (unsigned long long)own_bytes,
                    (unsigned long long)s->profile->process_bytes,
                    (unsigned long long)gnn_add_bytes(own_bytes, counted_bytes), (unsigned long long)memory->cap_bytes);
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
    if (!ranges_reserve(ranges))
        return gnn_fail(err, GNN_ENOMEM, "%s: its place among %u allocations", name, ranges->count);
    void *const base = mmap(NULL, counted_bytes, features ? PROT_NONE : PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return gnn_fail(err, GNN_ENOMEM, "%s: %llu bytes of the host's memory: %s", name, (unsigned long long)bytes,
                        strerror(errno));
    ranges_add(ranges, (struct range){.base = base, .bytes = counted_bytes});
    find_around_features(memory);
    memory->held_bytes += counted_bytes;
    if (memory->held_bytes > memory->peak_bytes)
        memory->peak_bytes = memory->held_bytes;
    give_rest_to_cache(s);
    *out = base;
    return GNN_OK;
}

void sim_mem_free(struct gnn_world *w, void *ptr)
{
    if (ptr == NULL)
        return;
    struct simulated *const s = simulated_of(w);
    struct sim_memory *const memory = s->memory;
    struct range range = {0};
    const bool known = ranges_take(&memory->plain, ptr, &range) || ranges_take(&memory->features, ptr, &range);
    assert(known); /* allocated here, and freed once */
    const int rc = munmap(ptr, range.bytes);
    assert(rc == 0);
    find_around_features(memory);
    memory->held_bytes -= range.bytes;
    give_rest_to_cache(s);
}

void sim_mem_usage(struct gnn_world *w, struct gnn_mem_usage *out)
{
    const struct sim_memory *const memory = simulated_of(w)->memory;
    out->current_bytes = memory->held_bytes;
    out->peak_bytes = memory->peak_bytes;
}

bool sim_is_feature(const struct simulated *s, const void *ptr)
{
    const struct sim_memory *const memory = s->memory;
    const uintptr_t address = (uintptr_t)ptr;
    if (address - (uintptr_t)memory->around_features.base >= memory->around_features.bytes)
        return false;
    const uint32_t at = ranges_at(&memory->features, address);
    return at < memory->features.count && (uintptr_t)memory->features.items[at].base <= address;
}

void sim_mem_copy(struct gnn_world *w, void *dst, const void *src, uint64_t bytes)
{
    const struct simulated *const s = simulated_of(w);
    sim_charge(w, GNN_WORK_COPIED_BYTE, bytes);
    if (!sim_is_feature(s, dst) && !sim_is_feature(s, src))
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

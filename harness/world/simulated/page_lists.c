/* SPDX-License-Identifier: MIT */
/* Two lists, reclaim, refaults (page_lists.h). Constants are the kernel's own, named as there. */
#include "harness/world/simulated/page_lists.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

_Static_assert(SIM_PAGE_MARK <= UINT8_MAX, "the flags of a page are one byte");

enum {
    SWAP_CLUSTER_MAX = 32, /* pages a reclaim wants, and looks at in one go */
    DEF_PRIORITY = 12,     /* a reclaim starts with 1 / 2^12 of each list and doubles */
    NODE_PAGES = 64,       /* slots of one node of a file's index (XA_CHUNK_SIZE) */
    NODE_BYTES = 584,      /* sizeof(struct xa_node), and the pointer that charges it to the group */
    GIB_PAGES_SHIFT = 18,
    RING_MIN = 1024,
    PREFETCH_AHEAD = 12, /* pages of a ring: their flags lie anywhere */
};

/* ---- memory ---- */

/* Grows an array of zeros whose pages come with use. Returns false when there is no address space. */
static bool grow(void **array, uint64_t old_bytes, uint64_t new_bytes)
{
    void *const at = *array == NULL ? mmap(NULL, new_bytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                    : mremap(*array, old_bytes, new_bytes, MREMAP_MAYMOVE);
    if (at == MAP_FAILED)
        return false;
    (void)madvise(at, new_bytes, MADV_HUGEPAGE); /* a wish: touches are random, and small pages cost TLB misses */
    *array = at;
    return true;
}

/* Address space for a ring that never gets more than half full. */
static bool reserve(struct sim_page_ring *ring, uint64_t pages)
{
    uint64_t reserved = RING_MIN;
    while (reserved < 2 * pages)
        reserved *= 2;
    void *array = ring->pages;
    if (!grow(&array, ring->reserved * sizeof *ring->pages, reserved * sizeof *ring->pages))
        return false;
    ring->pages = array;
    ring->reserved = reserved;
    ring->mask = ring->mask > 0 ? ring->mask : RING_MIN - 1;
    return true;
}

static bool grow_all(struct sim_page_lists *lists, uint64_t capacity)
{
    const uint64_t old = lists->capacity;
    void *flags = lists->flags, *place = lists->place, *nodes = lists->nodes, *tables = lists->tables;
    const bool done = grow(&flags, old, capacity) &&
                      grow(&place, old * sizeof *lists->place, capacity * sizeof *lists->place) &&
                      grow(&nodes, old / NODE_PAGES, capacity / NODE_PAGES) &&
                      grow(&tables, old / SIM_PAGES_ALIGN, capacity / SIM_PAGES_ALIGN) &&
                      reserve(&lists->active, capacity) && reserve(&lists->inactive, capacity);
    lists->flags = flags;
    lists->place = place;
    lists->nodes = nodes;
    lists->tables = tables;
    if (done)
        lists->capacity = capacity;
    return done;
}

enum gnn_status sim_page_lists_add(struct sim_page_lists *lists, uint64_t pages, uint32_t *first, struct gnn_err *err)
{
    const uint64_t at = lists->numbers;
    const uint64_t end = gnn_add_bytes(at, gnn_round_up(pages, SIM_PAGES_ALIGN));
    /* A multiple of what one host page holds of the smallest array. */
    const uint64_t granule = (uint64_t)SIM_PAGES_ALIGN * GNN_PAGE_BYTES;
    if (end >= UINT32_MAX - granule)
        return gnn_fail(err, GNN_ECAP, "page cache: files of more than 16 TiB together");
    if (end > lists->capacity && !grow_all(lists, gnn_round_up(end, granule)))
        return gnn_fail(err, GNN_ENOMEM, "page cache: the bookkeeping of %llu pages", (unsigned long long)end);
    lists->numbers = end;
    *first = (uint32_t)at;
    return GNN_OK;
}

enum gnn_status sim_page_lists_open(struct sim_page_lists *lists, struct gnn_err *err)
{
    uint32_t none;
    GNN_TRY(sim_page_lists_add(lists, SIM_PAGES_ALIGN, &none, err)); /* number 0 is no page */
    assert(none == 0);
    return GNN_OK;
}

void sim_page_lists_close(struct sim_page_lists *lists)
{
    const uint64_t capacity = lists->capacity;
    if (lists->flags != NULL)
        (void)munmap(lists->flags, capacity);
    if (lists->place != NULL)
        (void)munmap(lists->place, capacity * sizeof *lists->place);
    if (lists->nodes != NULL)
        (void)munmap(lists->nodes, capacity / NODE_PAGES);
    if (lists->tables != NULL)
        (void)munmap(lists->tables, capacity / SIM_PAGES_ALIGN);
    if (lists->active.pages != NULL)
        (void)munmap(lists->active.pages, lists->active.reserved * sizeof *lists->active.pages);
    if (lists->inactive.pages != NULL)
        (void)munmap(lists->inactive.pages, lists->inactive.reserved * sizeof *lists->inactive.pages);
}

/* ---- lists ---- */

/* Closes the gaps, towards the oldest. */
static void squeeze(struct sim_page_lists *lists, struct sim_page_ring *ring)
{
    uint32_t to = ring->oldest;
    for (uint32_t from = ring->oldest; from != ring->next; from++) {
        const uint32_t page = ring->pages[from & ring->mask];
        if (page == 0)
            continue;
        ring->pages[to & ring->mask] = page;
        lists->place[page] = to++;
    }
    ring->next = to;
}

/* Twice the room: positions stay, some pages move to the new half. */
static void widen(struct sim_page_ring *ring)
{
    const uint32_t old = ring->mask, mask = 2 * old + 1;
    assert(mask < ring->reserved);
    for (uint32_t at = ring->oldest; at != ring->next; at++)
        if ((at & mask) != (at & old))
            ring->pages[at & mask] = ring->pages[at & old];
    ring->mask = mask;
}

static struct sim_page_ring *ring_of(struct sim_page_lists *lists, uint32_t page)
{
    return (lists->flags[page] & SIM_PAGE_ACTIVE) != 0 ? &lists->active : &lists->inactive;
}

static void unlink_page(struct sim_page_lists *lists, uint32_t page)
{
    struct sim_page_ring *const ring = ring_of(lists, page);
    assert(ring->pages[lists->place[page] & ring->mask] == page);
    ring->pages[lists->place[page] & ring->mask] = 0;
    ring->count--;
}

/* To the newest end of the list its flags say. */
static void link_page(struct sim_page_lists *lists, uint32_t page)
{
    struct sim_page_ring *const ring = ring_of(lists, page);
    if (ring->next - ring->oldest > ring->mask) {
        if (ring->count <= ring->mask / 2)
            squeeze(lists, ring);
        else
            widen(ring);
    }
    ring->pages[ring->next & ring->mask] = page;
    lists->place[page] = ring->next++;
    ring->count++;
}

/* The oldest page, off the list that is not empty. */
static uint32_t take_oldest(struct sim_page_lists *lists, struct sim_page_ring *ring)
{
    uint32_t page;
    do {
        const uint32_t soon = ring->pages[(ring->oldest + PREFETCH_AHEAD) & ring->mask];
        __builtin_prefetch(&lists->flags[soon]);
        __builtin_prefetch(&lists->place[soon]);
        page = ring->pages[ring->oldest++ & ring->mask];
    } while (page == 0);
    ring->count--;
    return page;
}

static void set_flags(struct sim_page_lists *lists, uint32_t page, unsigned on, unsigned off)
{
    lists->flags[page] = (uint8_t)((lists->flags[page] | on) & ~off);
}

static void activate(struct sim_page_lists *lists, uint32_t page, unsigned clear)
{
    unlink_page(lists, page);
    set_flags(lists, page, SIM_PAGE_ACTIVE, clear);
    link_page(lists, page);
    lists->age++;
}

void sim_page_mark_accessed(struct sim_page_lists *lists, uint32_t page)
{
    const uint8_t flags = lists->flags[page];
    assert((flags & SIM_PAGE_CACHED) != 0);
    if ((flags & SIM_PAGE_REFERENCED) == 0)
        set_flags(lists, page, SIM_PAGE_REFERENCED, 0);
    else if ((flags & SIM_PAGE_ACTIVE) == 0)
        activate(lists, page, SIM_PAGE_REFERENCED);
}

/* ---- eviction ---- */

/* Coalesces with the run before it. When the list is full, the last run's length still counts the pages: their number
 * is right, their place is not. */
static void note_written(struct sim_page_lists *lists, uint32_t page)
{
    struct sim_page_run *last = lists->written_count > 0 ? &lists->written[lists->written_count - 1] : NULL;
    if (last != NULL && (last->first + last->pages == page || lists->written_count == SIM_WRITTEN_MAX))
        last->pages++;
    else
        lists->written[lists->written_count++] = (struct sim_page_run){.first = page, .pages = 1};
}

/* The page is off its list. Its age stays behind, which tells how long ago that was. */
static void evict(struct sim_page_lists *lists, uint32_t page)
{
    const uint8_t flags = lists->flags[page];
    if ((flags & SIM_PAGE_DIRTY) != 0)
        note_written(lists, page);
    lists->flags[page] = (flags & SIM_PAGE_WORKINGSET) != 0 ? SIM_SHADOW_WORKINGSET : SIM_SHADOW;
    lists->place[page] = (uint32_t)lists->age;
    lists->age++;
    lists->evicted++;
    lists->evicted_mapped += (flags & SIM_PAGE_MAPPED) != 0;
}

/* ---- reclaim ---- */

/* Looks at `count` of the oldest inactive pages; how many it evicted. */
static uint64_t shrink_inactive(struct sim_page_lists *lists, uint64_t count)
{
    uint64_t evicted = 0;
    for (; count > 0 && lists->inactive.count > 0; count--) {
        const uint32_t page = take_oldest(lists, &lists->inactive);
        const uint8_t flags = lists->flags[page];
        if ((flags & SIM_PAGE_YOUNG) == 0) {
            evict(lists, page);
            evicted++;
            continue;
        }
        set_flags(lists, page, SIM_PAGE_REFERENCED, SIM_PAGE_YOUNG);
        if ((flags & SIM_PAGE_REFERENCED) != 0) {
            set_flags(lists, page, SIM_PAGE_ACTIVE, 0);
            lists->age++;
        }
        link_page(lists, page);
    }
    return evicted;
}

static void shrink_active(struct sim_page_lists *lists, uint64_t count)
{
    for (; count > 0 && lists->active.count > 0; count--) {
        const uint32_t page = take_oldest(lists, &lists->active);
        set_flags(lists, page, SIM_PAGE_WORKINGSET, SIM_PAGE_ACTIVE | SIM_PAGE_YOUNG);
        link_page(lists, page);
    }
}

static uint64_t square_root(uint64_t value)
{
    uint64_t root = 0;
    while ((root + 1) * (root + 1) <= value)
        root++;
    return root;
}

static bool inactive_is_low(const struct sim_page_statistics *s)
{
    const uint64_t gib = (s->active + s->inactive) >> GIB_PAGES_SHIFT;
    const uint64_t ratio = gib > 0 ? square_root(10 * gib) : 1;
    return s->inactive * ratio < s->active;
}

/* One pass over 1 / 2^priority of both lists. */
static uint64_t shrink_lists(struct sim_page_lists *lists, unsigned priority, uint64_t want, bool deactivate)
{
    uint64_t inactive = lists->inactive.count >> priority, active = lists->active.count >> priority;
    uint64_t evicted = 0;
    while ((inactive > 0 || active > 0) && evicted < want) {
        const uint64_t old = gnn_min_u64(inactive, SWAP_CLUSTER_MAX);
        evicted += shrink_inactive(lists, old);
        inactive -= old;
        const uint64_t used = gnn_min_u64(active, SWAP_CLUSTER_MAX);
        if (deactivate)
            shrink_active(lists, used);
        active -= used;
    }
    return evicted;
}

/* try_to_free_mem_cgroup_pages: harder and harder until `want` pages went. */
static uint64_t reclaim(struct sim_page_lists *lists, uint64_t want, bool force)
{
    uint64_t evicted = 0;
    for (unsigned priority = DEF_PRIORITY + 1; priority-- > 0 && evicted < want;) {
        const bool deactivate =
            force || lists->summed.activated != lists->activated_seen || inactive_is_low(&lists->summed);
        evicted += shrink_lists(lists, priority, want, deactivate);
    }
    lists->activated_seen = lists->summed.activated;
    return evicted;
}

static uint64_t used_bytes(const struct sim_page_lists *lists)
{
    return sim_page_lists_cached(lists) * GNN_PAGE_BYTES + lists->kernel_bytes;
}

/* The charge of `bytes`: reclaims in batches while they do not fit. */
static void make_room(struct sim_page_lists *lists, uint64_t bytes)
{
    while (used_bytes(lists) + bytes > lists->limit_bytes && sim_page_lists_cached(lists) > 0) {
        const uint64_t pages = (bytes + GNN_PAGE_BYTES - 1) / GNN_PAGE_BYTES;
        const uint64_t want = gnn_max_u64(pages, SWAP_CLUSTER_MAX);
        if (reclaim(lists, want, false) == 0)
            (void)reclaim(lists, want, true);
    }
}

void sim_page_lists_sum(struct sim_page_lists *lists)
{
    lists->summed = (struct sim_page_statistics){
        .active = lists->active.count,
        .inactive = lists->inactive.count,
        .activated = lists->activated,
    };
}

void sim_page_lists_fit(struct sim_page_lists *lists)
{
    make_room(lists, 0);
}

/* ---- pages in ---- */

/* The page comes back: it is active at once if it would have stayed, had the active pages not been there. */
static unsigned refault(struct sim_page_lists *lists, uint32_t page)
{
    assert((lists->flags[page] & SIM_PAGE_CACHED) == 0);
    const uint32_t distance = (uint32_t)lists->age - lists->place[page];
    lists->refaulted++;
    if (distance > lists->summed.active)
        return 0;
    lists->age++;
    lists->activated++;
    return SIM_PAGE_ACTIVE | (lists->flags[page] & SIM_PAGE_WORKINGSET);
}

void sim_page_insert(struct sim_page_lists *lists, uint32_t page)
{
    assert((lists->flags[page] & SIM_PAGE_CACHED) == 0);
    if (lists->nodes[page / NODE_PAGES] == 0) {
        lists->nodes[page / NODE_PAGES] = 1;
        lists->kernel_bytes += NODE_BYTES;
    }
    make_room(lists, GNN_PAGE_BYTES);
    const unsigned more = lists->flags[page] != 0 ? refault(lists, page) : 0;
    lists->flags[page] = (uint8_t)(SIM_PAGE_CACHED | more);
    link_page(lists, page);
}

void sim_page_map(struct sim_page_lists *lists, uint32_t page, bool young)
{
    assert((lists->flags[page] & SIM_PAGE_CACHED) != 0);
    if (lists->tables[page / SIM_PAGES_ALIGN] == 0) {
        lists->tables[page / SIM_PAGES_ALIGN] = 1;
        lists->kernel_bytes += GNN_PAGE_BYTES;
    }
    set_flags(lists, page, young ? SIM_PAGE_MAPPED | SIM_PAGE_YOUNG : SIM_PAGE_MAPPED, 0);
}

/* ---- whole files ---- */

static void free_table(struct sim_page_lists *lists, uint64_t table)
{
    lists->kernel_bytes -= lists->tables[table] != 0 ? GNN_PAGE_BYTES : 0;
    lists->tables[table] = 0;
}

/* The next page from `page` on, below `end`, whose flags are not all zero. */
static uint64_t next_known(const struct sim_page_lists *lists, uint64_t page, uint64_t end)
{
    while (page < end) {
        uint64_t eight;
        memcpy(&eight, lists->flags + page, sizeof eight);
        if (page % sizeof eight == 0 && eight == 0)
            page += sizeof eight;
        else if (lists->flags[page] == 0)
            page++;
        else
            break;
    }
    return gnn_min_u64(page, end);
}

void sim_page_lists_unmap(struct sim_page_lists *lists, uint32_t first, uint64_t pages)
{
    assert(first % SIM_PAGES_ALIGN == 0);
    assert(pages % SIM_PAGES_ALIGN == 0);
    const uint64_t end = first + pages;
    for (uint64_t page = next_known(lists, first, end); page < end; page = next_known(lists, page + 1, end)) {
        const uint32_t number = (uint32_t)page;
        if ((lists->flags[number] & SIM_PAGE_YOUNG) != 0)
            sim_page_mark_accessed(lists, number);
        set_flags(lists, number, 0, SIM_PAGE_MAPPED | SIM_PAGE_YOUNG);
    }
    for (uint64_t table = first / SIM_PAGES_ALIGN; table < end / SIM_PAGES_ALIGN; table++)
        free_table(lists, table);
}

void sim_page_lists_forget(struct sim_page_lists *lists, uint32_t first, uint64_t pages)
{
    assert(first % SIM_PAGES_ALIGN == 0);
    assert(pages % SIM_PAGES_ALIGN == 0);
    const uint64_t end = first + pages;
    for (uint64_t page = next_known(lists, first, end); page < end; page = next_known(lists, page + 1, end)) {
        if ((lists->flags[page] & SIM_PAGE_CACHED) != 0)
            unlink_page(lists, (uint32_t)page);
        lists->flags[page] = 0;
    }
    for (uint64_t node = first / NODE_PAGES; node < end / NODE_PAGES; node++) {
        lists->kernel_bytes -= lists->nodes[node] != 0 ? NODE_BYTES : 0;
        lists->nodes[node] = 0;
    }
    for (uint64_t table = first / SIM_PAGES_ALIGN; table < end / SIM_PAGES_ALIGN; table++)
        free_table(lists, table);
}

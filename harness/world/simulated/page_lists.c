/* Two lists, reclaim, refaults (page_lists.h). Constants are the kernel's own, named as there. */
#include "harness/world/simulated/page_lists.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Numbers 0 and 1 are the heads of the two circular lists: next is the newest page, prev the one to look at first. */
enum { INACTIVE_HEAD = 0, ACTIVE_HEAD = 1 };

enum shadow { SHADOW_NONE = 0, SHADOW_EVICTED = 1, SHADOW_WORKINGSET = 2 };

enum {
    SWAP_CLUSTER_MAX = 32, /* pages a reclaim wants, and looks at in one go */
    DEF_PRIORITY = 12,     /* a reclaim starts with 1 / 2^12 of each list and doubles */
    NODE_PAGES = 64,       /* slots of one node of a file's index (XA_CHUNK_SIZE) */
    NODE_BYTES = 584,      /* sizeof(struct xa_node), and the pointer that charges it to the group */
    GIB_PAGES_SHIFT = 18,
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
    (void)madvise(at, new_bytes,
                  MADV_HUGEPAGE); /* a wish: touches are random, and small pages cost TLB misses */
    *array = at;
    return true;
}

static bool grow_all(struct sim_page_lists *lists, uint64_t capacity)
{
    const uint64_t old = lists->capacity;
    void *flags = lists->flags, *links = lists->links, *nodes = lists->nodes, *tables = lists->tables;
    const bool done = grow(&flags, old, capacity) &&
                      grow(&links, old * sizeof *lists->links, capacity * sizeof *lists->links) &&
                      grow(&nodes, old / NODE_PAGES, capacity / NODE_PAGES) &&
                      grow(&tables, old / SIM_PAGES_ALIGN, capacity / SIM_PAGES_ALIGN);
    lists->flags = flags;
    lists->links = links;
    lists->nodes = nodes;
    lists->tables = tables;
    if (done)
        lists->capacity = capacity;
    return done;
}

enum gnn_status sim_page_lists_add(struct sim_page_lists *lists, uint64_t pages, uint32_t *first,
                                   struct gnn_err *err)
{
    const uint64_t at = lists->numbers;
    const uint64_t end = gnn_add_bytes(at, gnn_round_up(pages, SIM_PAGES_ALIGN));
    /* A multiple of what one host page holds of the smallest array. */
    const uint64_t granule = (uint64_t)SIM_PAGES_ALIGN * GNN_PAGE_BYTES;
    if (end >= UINT32_MAX - granule)
        return gnn_fail(err, GNN_ECAP, "page cache: files of more than 16 TiB together");
    if (end > lists->capacity && !grow_all(lists, gnn_round_up(end, granule)))
        return gnn_fail(err, GNN_ENOMEM, "page cache: the bookkeeping of %llu pages",
                        (unsigned long long)end);
    lists->numbers = end;
    *first = (uint32_t)at;
    return GNN_OK;
}

enum gnn_status sim_page_lists_open(struct sim_page_lists *lists, struct gnn_err *err)
{
    uint32_t heads;
    lists->written = calloc(SIM_WRITTEN_MAX, sizeof *lists->written);
    if (lists->written == NULL)
        return gnn_fail(err, GNN_ENOMEM, "page cache: pages to write back");
    GNN_TRY(sim_page_lists_add(lists, SIM_PAGES_ALIGN, &heads, err));
    assert(heads == 0);
    lists->links[INACTIVE_HEAD] = (struct sim_page_link){INACTIVE_HEAD, INACTIVE_HEAD};
    lists->links[ACTIVE_HEAD] = (struct sim_page_link){ACTIVE_HEAD, ACTIVE_HEAD};
    return GNN_OK;
}

void sim_page_lists_close(struct sim_page_lists *lists)
{
    const uint64_t capacity = lists->capacity;
    free(lists->written);
    if (lists->flags != NULL)
        (void)munmap(lists->flags, capacity);
    if (lists->links != NULL)
        (void)munmap(lists->links, capacity * sizeof *lists->links);
    if (lists->nodes != NULL)
        (void)munmap(lists->nodes, capacity / NODE_PAGES);
    if (lists->tables != NULL)
        (void)munmap(lists->tables, capacity / SIM_PAGES_ALIGN);
}

/* ---- lists ---- */

static void unlink_page(struct sim_page_lists *lists, uint32_t page)
{
    const struct sim_page_link link = lists->links[page];
    lists->links[link.prev].next = link.next;
    lists->links[link.next].prev = link.prev;
    if ((lists->flags[page] & SIM_PAGE_ACTIVE) != 0)
        lists->exact.active--;
    else
        lists->exact.inactive--;
}

/* To the newest end of the list its flags say. */
static void link_page(struct sim_page_lists *lists, uint32_t page)
{
    const bool active = (lists->flags[page] & SIM_PAGE_ACTIVE) != 0;
    const uint32_t head = active ? ACTIVE_HEAD : INACTIVE_HEAD;
    const uint32_t newest = lists->links[head].next;
    lists->links[page] = (struct sim_page_link){.prev = head, .next = newest};
    lists->links[newest].prev = page;
    lists->links[head].next = page;
    if (active)
        lists->exact.active++;
    else
        lists->exact.inactive++;
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

/* A shadow stays behind, which tells how long ago it was. */
static void evict(struct sim_page_lists *lists, uint32_t page)
{
    const uint8_t flags = lists->flags[page];
    unlink_page(lists, page);
    if ((flags & SIM_PAGE_DIRTY) != 0)
        note_written(lists, page);
    lists->flags[page] = 0;
    lists->links[page] = (struct sim_page_link){
        .prev = (uint32_t)lists->age,
        .next = (flags & SIM_PAGE_WORKINGSET) != 0 ? SHADOW_WORKINGSET : SHADOW_EVICTED,
    };
    lists->age++;
    lists->evicted++;
}

/* ---- reclaim ---- */

/* Looks at `count` of the oldest inactive pages; how many it evicted. */
static uint64_t shrink_inactive(struct sim_page_lists *lists, uint64_t count)
{
    uint64_t evicted = 0;
    for (; count > 0 && lists->exact.inactive > 0; count--) {
        const uint32_t page = lists->links[INACTIVE_HEAD].prev;
        const uint8_t flags = lists->flags[page];
        if ((flags & SIM_PAGE_YOUNG) == 0) {
            evict(lists, page);
            evicted++;
            continue;
        }
        set_flags(lists, page, SIM_PAGE_REFERENCED, SIM_PAGE_YOUNG);
        if ((flags & SIM_PAGE_REFERENCED) != 0) {
            activate(lists, page, 0);
        } else {
            unlink_page(lists, page);
            link_page(lists, page);
        }
    }
    return evicted;
}

static void shrink_active(struct sim_page_lists *lists, uint64_t count)
{
    for (; count > 0 && lists->exact.active > 0; count--) {
        const uint32_t page = lists->links[ACTIVE_HEAD].prev;
        unlink_page(lists, page);
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
    uint64_t inactive = lists->exact.inactive >> priority, active = lists->exact.active >> priority;
    uint64_t evicted = 0;
    while ((inactive > 0 || active > 0) && evicted < want) {
        const uint64_t old = inactive < SWAP_CLUSTER_MAX ? inactive : SWAP_CLUSTER_MAX;
        evicted += shrink_inactive(lists, old);
        inactive -= old;
        const uint64_t used = active < SWAP_CLUSTER_MAX ? active : SWAP_CLUSTER_MAX;
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
        const uint64_t want = pages > SWAP_CLUSTER_MAX ? pages : SWAP_CLUSTER_MAX;
        if (reclaim(lists, want, false) == 0)
            (void)reclaim(lists, want, true);
    }
}

void sim_page_lists_fit(struct sim_page_lists *lists)
{
    make_room(lists, 0);
}

/* ---- pages in ---- */

/* The page comes back: had the active list been the other list's, would it have stayed? */
static bool refault_activates(const struct sim_page_lists *lists, uint32_t page)
{
    const uint32_t distance = (uint32_t)lists->age - lists->links[page].prev;
    return distance <= lists->summed.active;
}

void sim_page_insert(struct sim_page_lists *lists, uint32_t page)
{
    assert((lists->flags[page] & SIM_PAGE_CACHED) == 0);
    if (lists->nodes[page / NODE_PAGES] == 0) {
        lists->nodes[page / NODE_PAGES] = 1;
        lists->kernel_bytes += NODE_BYTES;
    }
    make_room(lists, GNN_PAGE_BYTES);
    unsigned flags = SIM_PAGE_CACHED;
    if (lists->links[page].next != SHADOW_NONE) {
        lists->refaulted++;
        if (refault_activates(lists, page)) {
            flags |= SIM_PAGE_ACTIVE;
            if (lists->links[page].next == SHADOW_WORKINGSET)
                flags |= SIM_PAGE_WORKINGSET;
            lists->age++;
            lists->exact.activated++;
        }
    }
    lists->flags[page] = (uint8_t)flags;
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
    return page < end ? page : end;
}

void sim_page_lists_unmap(struct sim_page_lists *lists, uint32_t first, uint64_t pages)
{
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
    const uint64_t end = first + pages;
    assert(first % SIM_PAGES_ALIGN == 0 && pages % SIM_PAGES_ALIGN == 0);
    for (uint64_t page = next_known(lists, first, end); page < end; page = next_known(lists, page + 1, end)) {
        unlink_page(lists, (uint32_t)page);
        lists->flags[page] = 0;
    }
    /* Shadows: the range is whole host pages of links, which read as zeros again. */
    const int rc = madvise(lists->links + first, pages * sizeof *lists->links, MADV_DONTNEED);
    assert(rc == 0);
    for (uint64_t node = first / NODE_PAGES; node < end / NODE_PAGES; node++) {
        lists->kernel_bytes -= lists->nodes[node] != 0 ? NODE_BYTES : 0;
        lists->nodes[node] = 0;
    }
    for (uint64_t table = first / SIM_PAGES_ALIGN; table < end / SIM_PAGES_ALIGN; table++)
        free_table(lists, table);
}

/* SPDX-License-Identifier: MIT */
/* Linux's page cache for one memory group, as of 6.18 without the multi-generational LRU; the rule of reading around
 * also as of earlier kernels.
 *
 * Modelled, here and in page_lists.c
 *   two lists          new pages are inactive; a second read() of a page, or a second accessed bit seen by reclaim,
 *                      activates; reclaim takes inactive pages from the old end and gives those with a fresh accessed
 *                      bit another round. Active pages are moved back when inactive x sqrt(10 GiB) < active, or when
 *                      refaults were activated since the last reclaim
 *   no recency         mappings advised RANDOM: reclaim does not look at their accessed bits, so their pages leave in
 *                      the order they came, but for refaults
 *   refaults           an evicted page leaves the clock of evictions and activations behind; when it comes back within
 *                      as many ticks as there are active pages, it is active at once
 *   reclaim in batches 32 pages or more, from 1/4096 of each list on, doubling
 *   late statistics    the two sizes and the refaults that reclaim judges by are those of the last sum (page_cache.h)
 *   kernel memory      a node of 64 pages' slots, and a page of 512 page-table entries, both charged to the group
 *   mappings           read-around of one window about the page while misses do not outnumber hits by 100 (mmap_miss of
 *                      struct file_ra_state): a fault that finds its page absent is a miss, and every cached page among
 *                      the 16 aligned ones that get their entries by one fault is a hit, on the retry of a miss too; so
 *                      reading around goes on as long as a window brings pages in. Since 6.10 ("mm/filemap: don't
 *                      decrease mmap_miss when folio has workingset flag") pages that thrash are no hits; under older
 *                      kernels they are
 *   read()             first window, doubling, a marked page that starts the next window, small random reads as is
 *
 * Not modelled, with what it costs
 *   large folios       sequential read() makes folios of up to 2 MiB, which age and leave as one: page counts of a
 *                      cached sequential file come out in other steps
 *   the TLB            an entry in it hides that its page is used; only the few pages that fit are concerned
 *   shadow shrinker    nodes that hold nothing but shadows are freed beyond an eighth of the cache's pages: a file of
 *                      more than eight times the room, read in sequence, loses refaults
 *   swap, dirty limits the groups have no swap; dirty pages are written when they are evicted or synced
 *   several openings   readahead state is the file's, not the handle's
 *   a locked page      before 6.18 every further thread that faults on a page in flight is one more hit */
#include "harness/world/simulated/page_cache.h"
#include "harness/world/simulated/page_lists.h"

#include <assert.h>
#include <stdlib.h>

enum {
    KERNEL_LAST = 6018,
    KERNEL_NO_HIT_BY_THRASHING = 6010, /* from here on a refault is no hit of a mapping */
    MMAP_LOTSAMISS = 100,              /* misses beyond hits after which a mapping is not read around */
    FAULT_AROUND_PAGES = 16,           /* entries a minor fault makes at most */
    SEGMENTS_MAX = 48,                 /* a file that grows doubles */
    REQUEST_RANGES_MAX = 1 << 16,
    WINDOW_PREFETCH_PAGES = 64, /* of a window: what is further off comes by itself, line after line */
    LINE_PLACES = 16,           /* of struct sim_page_lists, in a line of the host's caches */
};

#define PAGE_NONE UINT64_MAX

/* struct file_ra_state */
struct window {
    uint64_t start, size, async_size;
    uint64_t previous_end; /* page behind the last read() */
    uint64_t previous;     /* last page of it; PAGE_NONE: none */
    uint32_t misses;
};

struct segment {
    uint64_t end_page; /* of the file */
    uint32_t first;    /* number of its first page */
};

struct file {
    uint64_t pages;
    struct segment segments[SEGMENTS_MAX]; /* ascending */
    uint32_t segment_count;
    struct window window;
    uint64_t dirty_first, dirty_end; /* every dirty page lies in between */
};

struct sim_page_cache {
    struct sim_page_lists lists;
    uint64_t window_pages; /* the device's readahead */
    uint32_t kernel;       /* 1000 x major + minor */
    struct file *files;
    uint32_t file_count, file_capacity;
    struct sim_page_range reads[REQUEST_RANGES_MAX];
    uint32_t read_count;
    uint64_t hits, minor_faults, major_faults, brought_in;
    struct sim_reclaimed told; /* of lists, by sim_page_cache_take_reclaimed */
};

/* ---- open, close, files ---- */

enum gnn_status sim_page_cache_open(uint64_t room_bytes, uint64_t readahead_bytes, struct sim_page_cache **out,
                                    struct gnn_err *err)
{
    *out = NULL;
    struct sim_page_cache *cache;
    GNN_NEW(cache, 1, err, "page cache: %zu bytes", sizeof *cache);
    cache->window_pages = readahead_bytes / GNN_PAGE_BYTES;
    cache->kernel = KERNEL_LAST;
    cache->lists.limit_bytes = room_bytes;
    *out = cache;
    return sim_page_lists_open(&cache->lists, err);
}

void sim_page_cache_close(struct sim_page_cache *cache)
{
    if (cache == NULL)
        return;
    sim_page_lists_close(&cache->lists);
    free(cache->files);
    free(cache);
}

void sim_page_cache_set_kernel(struct sim_page_cache *cache, uint32_t kernel)
{
    cache->kernel = kernel;
}

void sim_page_cache_set_room(struct sim_page_cache *cache, uint64_t room_bytes)
{
    cache->lists.limit_bytes = room_bytes;
    sim_page_lists_fit(&cache->lists);
}

void sim_page_cache_sum_statistics(struct sim_page_cache *cache)
{
    sim_page_lists_sum(&cache->lists);
}

static struct file *file_at(const struct sim_page_cache *cache, uint32_t number)
{
    assert(number < cache->file_count);
    return &cache->files[number];
}

static enum gnn_status add_segment(struct sim_page_cache *cache, struct file *file, uint64_t pages, struct gnn_err *err)
{
    if (pages == 0)
        return GNN_OK;
    assert(file->segment_count < SEGMENTS_MAX);
    struct segment *segment = &file->segments[file->segment_count];
    const uint64_t before = file->segment_count > 0 ? segment[-1].end_page : 0;
    GNN_TRY(sim_page_lists_add(&cache->lists, pages, &segment->first, err));
    segment->end_page = before + gnn_round_up(pages, SIM_PAGES_ALIGN);
    file->segment_count++;
    return GNN_OK;
}

enum gnn_status sim_page_cache_add_file(struct sim_page_cache *cache, uint64_t size_bytes, uint32_t *number,
                                        struct gnn_err *err)
{
    if (cache->file_count == cache->file_capacity) {
        const uint32_t capacity = cache->file_capacity > 0 ? 2 * cache->file_capacity : 16;
        struct file *files = realloc(cache->files, capacity * sizeof *files);
        if (files == NULL)
            return gnn_fail(err, GNN_ENOMEM, "page cache: %u files", capacity);
        cache->files = files;
        cache->file_capacity = capacity;
    }
    struct file *file = &cache->files[cache->file_count];
    *file = (struct file){
        .pages = (size_bytes + GNN_PAGE_BYTES - 1) / GNN_PAGE_BYTES,
        .window.previous = PAGE_NONE,
        .window.previous_end = PAGE_NONE,
        .dirty_first = PAGE_NONE,
    };
    GNN_TRY(add_segment(cache, file, file->pages, err));
    *number = cache->file_count++;
    return GNN_OK;
}

enum gnn_status sim_page_cache_grow_file(struct sim_page_cache *cache, uint32_t number, uint64_t size_bytes,
                                         struct gnn_err *err)
{
    struct file *file = file_at(cache, number);
    const uint64_t pages = (size_bytes + GNN_PAGE_BYTES - 1) / GNN_PAGE_BYTES;
    const uint64_t reserved = file->segment_count > 0 ? file->segments[file->segment_count - 1].end_page : 0;
    if (pages > reserved)
        GNN_TRY(add_segment(cache, file, pages > 2 * reserved ? pages - reserved : reserved, err));
    file->pages = gnn_max_u64(pages, file->pages);
    return GNN_OK;
}

static uint32_t number_of(const struct file *file, uint64_t page)
{
    const struct segment *segment = file->segments;
    uint64_t start = 0;
    for (; page >= segment->end_page; segment++)
        start = segment->end_page;
    return segment->first + (uint32_t)(page - start);
}

static uint8_t flags_of(const struct sim_page_cache *cache, const struct file *file, uint64_t page)
{
    return cache->lists.flags[number_of(file, page)];
}

typedef void segment_fn(struct sim_page_lists *lists, uint32_t first, uint64_t pages);

static void for_each_segment(struct sim_page_cache *cache, struct file *file, segment_fn *visit)
{
    uint64_t start = 0;
    for (uint32_t i = 0; i < file->segment_count; i++) {
        visit(&cache->lists, file->segments[i].first, file->segments[i].end_page - start);
        start = file->segments[i].end_page;
    }
}

void sim_page_cache_forget(struct sim_page_cache *cache, uint32_t number)
{
    struct file *file = file_at(cache, number);
    for_each_segment(cache, file, sim_page_lists_forget);
    file->dirty_first = PAGE_NONE;
    file->dirty_end = 0;
}

void sim_page_cache_unmap(struct sim_page_cache *cache, uint32_t number)
{
    for_each_segment(cache, file_at(cache, number), sim_page_lists_unmap);
}

/* ---- bringing pages in ---- */

/* Appends the page to what must be read; more ranges than fit become one that also covers what lies in between. */
static void add_read(struct sim_page_cache *cache, uint32_t number, uint64_t page)
{
    struct sim_page_range *last = cache->read_count > 0 ? &cache->reads[cache->read_count - 1] : NULL;
    if (last != NULL && page >= last->first_page &&
        (last->first_page + last->pages == page || cache->read_count == REQUEST_RANGES_MAX))
        last->pages = page + 1 - last->first_page;
    else
        cache->reads[cache->read_count++] = (struct sim_page_range){.file = number, .first_page = page, .pages = 1};
}

/* Every page of [start, start + count) inside the file that is not cached; the page at `mark` is marked when it is one
 * of them. */
static void bring_in(struct sim_page_cache *cache, uint32_t number, uint64_t start, uint64_t count, uint64_t mark)
{
    const struct file *file = file_at(cache, number);
    const uint64_t end = count < file->pages - start ? start + count : file->pages;
    for (uint64_t page = start; page < end; page++) {
        const uint32_t at = number_of(file, page);
        if ((cache->lists.flags[at] & SIM_PAGE_CACHED) != 0)
            continue;
        sim_page_insert(&cache->lists, at);
        if (page == mark)
            cache->lists.flags[at] |= SIM_PAGE_MARK;
        add_read(cache, number, page);
        cache->brought_in++;
    }
}

static void bring_in_window(struct sim_page_cache *cache, uint32_t number)
{
    const struct file *file = file_at(cache, number);
    const struct window *w = &file->window;
    if (w->start < file->pages)
        bring_in(cache, number, w->start, w->size, w->start + w->size - w->async_size);
}

/* ---- windows of read(): mm/readahead.c ---- */

static uint64_t power_above(uint64_t value)
{
    uint64_t power = 1;
    while (power < value)
        power *= 2;
    return power;
}

static uint64_t first_window(uint64_t asked, uint64_t max)
{
    const uint64_t size = power_above(asked);
    if (size <= max / 32)
        return size * 4;
    return size <= max / 4 ? size * 2 : max;
}

static uint64_t next_window(uint64_t size, uint64_t max)
{
    if (size < max / 16)
        return 4 * size;
    return size <= max / 2 ? 2 * size : max;
}

/* A page that read() wants is not there. */
static void read_ahead_at_miss(struct sim_page_cache *cache, uint32_t number, uint64_t page, uint64_t asked)
{
    struct file *file = file_at(cache, number);
    struct window *w = &file->window;
    const uint64_t max = gnn_max_u64(cache->window_pages, asked);
    const bool follows = w->previous_end != PAGE_NONE && page - w->previous_end <= 1;
    if (page == 0 || asked > cache->window_pages || follows) {
        const uint64_t size = first_window(asked, max);
        *w = (struct window){.start = page,
                             .size = size,
                             .async_size = size > asked ? size - asked : size / 2,
                             .previous = w->previous,
                             .previous_end = w->previous_end,
                             .misses = w->misses};
        bring_in_window(cache, number);
        return;
    }
    uint64_t cached_before = 0;
    while (cached_before < page && cached_before < max &&
           (flags_of(cache, file, page - 1 - cached_before) & SIM_PAGE_CACHED) != 0)
        cached_before++;
    if (cached_before <= asked) { /* on its own: as it is */
        bring_in(cache, number, page, asked, PAGE_NONE);
        return;
    }
    const uint64_t run = (cached_before == page ? 2 * cached_before : cached_before) + asked;
    w->start = page;
    w->size = gnn_min_u64(run, max);
    w->async_size = 1;
    bring_in_window(cache, number);
}

/* The marked page is reached: the next window is read before anyone asks for it. */
static void read_ahead_at_mark(struct sim_page_cache *cache, uint32_t number, uint64_t page, uint64_t asked)
{
    struct file *file = file_at(cache, number);
    struct window *w = &file->window;
    const uint64_t max = gnn_max_u64(cache->window_pages, asked);
    cache->lists.flags[number_of(file, page)] &= (uint8_t)~SIM_PAGE_MARK;
    if (page == w->start + w->size - w->async_size) {
        w->start += w->size;
        const uint64_t size = next_window(w->size, max);
        w->size = gnn_max_u64(size, w->size);
    } else {
        uint64_t start = page + 1;
        while (start < file->pages && start - page <= max && (flags_of(cache, file, start) & SIM_PAGE_CACHED) != 0)
            start++;
        if (start - page > max)
            return;
        w->start = start;
        w->size = next_window(start - page + asked, max);
    }
    w->async_size = w->size;
    bring_in_window(cache, number);
}

/* ---- calls ---- */

void sim_page_cache_read(struct sim_page_cache *cache, uint32_t number, uint64_t first_page, uint64_t pages,
                         enum sim_readahead readahead, struct sim_touch *out)
{
    *out = (struct sim_touch){.reads = cache->reads};
    cache->read_count = 0;
    struct file *file = file_at(cache, number);
    const uint64_t end_page = first_page + pages;
    assert(pages > 0);
    assert(end_page <= file->pages);
    for (uint64_t page = first_page; page < end_page; page++) {
        const uint32_t at = number_of(file, page);
        if ((cache->lists.flags[at] & SIM_PAGE_CACHED) != 0) {
            cache->hits++;
        } else {
            out->major = true;
            cache->major_faults++;
        }
    }
    for (uint64_t page = first_page; page < end_page; page++) {
        const uint32_t at = number_of(file, page);
        if ((cache->lists.flags[at] & SIM_PAGE_CACHED) == 0) {
            if (readahead == SIM_READAHEAD_RANDOM || cache->window_pages == 0)
                bring_in(cache, number, page, end_page - page, PAGE_NONE);
            else
                read_ahead_at_miss(cache, number, page, end_page - page);
        }
        if ((cache->lists.flags[at] & SIM_PAGE_MARK) != 0)
            read_ahead_at_mark(cache, number, page, end_page - page);
        /* Bytes of one page read piece by piece are one access. A room of a few pages may have lost it again. */
        if (page != file->window.previous && (cache->lists.flags[at] & SIM_PAGE_CACHED) != 0)
            sim_page_mark_accessed(&cache->lists, at);
    }
    file->window.previous = end_page - 1;
    file->window.previous_end = end_page;
    out->read_count = cache->read_count;
}

void sim_page_cache_write(struct sim_page_cache *cache, uint32_t number, uint64_t first_page, uint64_t pages)
{
    struct file *file = file_at(cache, number);
    assert(pages > 0);
    assert(first_page + pages <= file->pages);
    for (uint64_t page = first_page; page < first_page + pages; page++) {
        const uint32_t at = number_of(file, page);
        if ((cache->lists.flags[at] & SIM_PAGE_CACHED) == 0)
            sim_page_insert(&cache->lists, at);
        cache->lists.flags[at] |= SIM_PAGE_DIRTY;
    }
    if (first_page < file->dirty_first)
        file->dirty_first = first_page;
    if (first_page + pages > file->dirty_end)
        file->dirty_end = first_page + pages;
}

/* ---- faults: mm/filemap.c ---- */

/* Entries for the cached pages of the 16 about `page`. The mapping's misses sink by their number, of late without those
 * that thrash. Returns false when the page itself got none: it is marked. */
static bool fault_around(struct sim_page_cache *cache, struct file *file, uint64_t page, bool young)
{
    const uint64_t start = gnn_round_down(page, FAULT_AROUND_PAGES);
    const uint64_t stop = gnn_min_u64(start + FAULT_AROUND_PAGES, file->pages);
    const uint32_t first = number_of(file, start);
    const unsigned no_hit = cache->kernel >= KERNEL_NO_HIT_BY_THRASHING ? SIM_PAGE_WORKINGSET : 0;
    uint32_t found = 0;
    for (uint64_t i = 0; i < stop - start; i++) {
        const uint32_t at = first + (uint32_t)i;
        const uint8_t flags = cache->lists.flags[at];
        if ((flags & SIM_PAGE_CACHED) == 0 || (flags & SIM_PAGE_MARK) != 0)
            continue;
        found += (flags & no_hit) == 0;
        if ((flags & SIM_PAGE_MAPPED) == 0)
            sim_page_map(&cache->lists, at, young);
    }
    file->window.misses -= gnn_min_u32(found, file->window.misses);
    return (cache->lists.flags[first + (uint32_t)(page - start)] & SIM_PAGE_MAPPED) != 0;
}

static void fault_minor(struct sim_page_cache *cache, uint32_t number, uint64_t page, enum sim_readahead readahead)
{
    struct file *file = file_at(cache, number);
    const bool normal = readahead == SIM_READAHEAD_NORMAL && cache->window_pages > 0;
    const uint32_t at = number_of(file, page);
    if (fault_around(cache, file, page, readahead == SIM_READAHEAD_NORMAL))
        return;
    if (normal) {
        file->window.misses -= file->window.misses > 0;
        read_ahead_at_mark(cache, number, page, cache->window_pages);
    }
    if ((cache->lists.flags[at] & SIM_PAGE_CACHED) != 0)
        sim_page_map(&cache->lists, at, readahead == SIM_READAHEAD_NORMAL);
}

/* Not cached: read alone, or with a window about it. */
static void fault_major(struct sim_page_cache *cache, uint32_t number, uint64_t page, enum sim_readahead readahead)
{
    struct file *file = file_at(cache, number);
    struct window *w = &file->window;
    const uint64_t size = cache->window_pages;
    bool around = readahead == SIM_READAHEAD_NORMAL && size > 0;
    if (around) {
        if (w->misses < MMAP_LOTSAMISS * 10)
            w->misses++;
        around = w->misses <= MMAP_LOTSAMISS;
    }
    if (around) {
        w->start = page > size / 2 ? page - size / 2 : 0;
        w->size = size;
        w->async_size = size / 4;
        bring_in_window(cache, number);
    }
    const uint32_t at = number_of(file, page);
    if ((cache->lists.flags[at] & SIM_PAGE_CACHED) == 0) /* or a room of a few pages has lost it again */
        bring_in(cache, number, page, 1, PAGE_NONE);
    /* The fault is taken again once the page is there. */
    cache->lists.flags[at] &= (uint8_t)~SIM_PAGE_MARK;
    (void)fault_around(cache, file, page, readahead == SIM_READAHEAD_NORMAL);
}

bool sim_page_cache_hit(struct sim_page_cache *cache, uint32_t number, uint64_t page, enum sim_readahead readahead)
{
    assert(page < file_at(cache, number)->pages);
    uint8_t *const flags = &cache->lists.flags[number_of(file_at(cache, number), page)];
    if ((*flags & SIM_PAGE_MAPPED) == 0)
        return false;
    cache->hits++;
    if (readahead == SIM_READAHEAD_NORMAL)
        *flags |= SIM_PAGE_YOUNG;
    return true;
}

void sim_page_cache_prefetch(const struct sim_page_cache *cache, uint32_t number, uint64_t page)
{
    assert(page < file_at(cache, number)->pages);
    const uint32_t at = number_of(file_at(cache, number), page);
    __builtin_prefetch(&cache->lists.flags[at], 1);
    __builtin_prefetch(&cache->lists.place[at], 1);
}

void sim_page_cache_prefetch_window(const struct sim_page_cache *cache, uint32_t number, uint64_t page)
{
    assert(page < file_at(cache, number)->pages);
    const uint32_t at = number_of(file_at(cache, number), page);
    const uint32_t half = (uint32_t)gnn_min_u64(cache->window_pages / 2, WINDOW_PREFETCH_PAGES / 2);
    const uint32_t first = at - gnn_min_u32(at, half), end = at + half; /* a little of another file does no harm */
    __builtin_prefetch(&cache->lists.flags[first], 1);
    __builtin_prefetch(&cache->lists.flags[end], 1);
    for (uint32_t i = first; i < end; i += LINE_PLACES)
        __builtin_prefetch(&cache->lists.place[i], 1);
    __builtin_prefetch(&cache->lists.place[end], 1);
}

void sim_page_cache_touch(struct sim_page_cache *cache, uint32_t number, uint64_t page, enum sim_readahead readahead,
                          struct sim_touch *out)
{
    *out = (struct sim_touch){.reads = cache->reads};
    cache->read_count = 0;
    if (sim_page_cache_hit(cache, number, page, readahead))
        return;
    out->minor = sim_page_cache_holds(cache, number, page);
    out->major = !out->minor;
    if (out->minor) {
        cache->minor_faults++;
        fault_minor(cache, number, page, readahead);
    } else {
        cache->major_faults++;
        fault_major(cache, number, page, readahead);
    }
    out->read_count = cache->read_count;
}

/* ---- dirty pages ---- */

/* The file and page of a number; written pages are few and this is the only place that asks. */
static struct sim_page_range locate(const struct sim_page_cache *cache, uint32_t at)
{
    for (uint32_t f = 0; f < cache->file_count; f++) {
        const struct file *file = &cache->files[f];
        uint64_t start = 0;
        for (uint32_t i = 0; i < file->segment_count; i++) {
            const struct segment *segment = &file->segments[i];
            if (at >= segment->first && at - segment->first < segment->end_page - start)
                return (struct sim_page_range){.file = f, .first_page = start + (at - segment->first)};
            start = segment->end_page;
        }
    }
    assert(false); /* every page number belongs to a file */
    return (struct sim_page_range){0};
}

struct sim_reclaimed sim_page_cache_take_reclaimed(struct sim_page_cache *cache)
{
    const struct sim_reclaimed before = cache->told;
    cache->told = (struct sim_reclaimed){.pages = cache->lists.evicted, .mapped = cache->lists.evicted_mapped};
    return (struct sim_reclaimed){.pages = cache->told.pages - before.pages,
                                  .mapped = cache->told.mapped - before.mapped};
}

uint32_t sim_page_cache_take_evicted(struct sim_page_cache *cache, struct sim_page_range *out, uint32_t max)
{
    struct sim_page_lists *lists = &cache->lists;
    uint32_t count = 0;
    for (; count < max && lists->written_count > 0; count++) {
        const struct sim_page_run *run = &lists->written[--lists->written_count];
        out[count] = locate(cache, run->first);
        out[count].pages = run->pages;
    }
    return count;
}

bool sim_page_cache_take_dirty(struct sim_page_cache *cache, uint32_t number, uint64_t *from_page,
                               struct sim_page_range *out)
{
    struct file *file = file_at(cache, number);
    uint64_t page = *from_page > file->dirty_first ? *from_page : file->dirty_first;
    *out = (struct sim_page_range){.file = number};
    for (; page < file->dirty_end; page++) {
        const uint32_t at = number_of(file, page);
        const bool dirty = (cache->lists.flags[at] & SIM_PAGE_DIRTY) != 0;
        if (!dirty && out->pages > 0)
            break;
        if (!dirty)
            continue;
        cache->lists.flags[at] &= (uint8_t)~SIM_PAGE_DIRTY;
        if (out->pages++ == 0)
            out->first_page = page;
    }
    *from_page = page;
    if (out->pages > 0)
        return true;
    if (page >= file->dirty_end && *from_page >= file->dirty_end) {
        file->dirty_first = PAGE_NONE;
        file->dirty_end = 0;
    }
    return false;
}

/* ---- looking ---- */

bool sim_page_cache_holds(const struct sim_page_cache *cache, uint32_t number, uint64_t page)
{
    assert(page < file_at(cache, number)->pages);
    return (flags_of(cache, file_at(cache, number), page) & SIM_PAGE_CACHED) != 0;
}

void sim_page_cache_counts(const struct sim_page_cache *cache, struct sim_page_cache_counts *out)
{
    *out = (struct sim_page_cache_counts){
        .hits = cache->hits,
        .minor_faults = cache->minor_faults,
        .major_faults = cache->major_faults,
        .evicted = cache->lists.evicted,
        .refaulted = cache->lists.refaulted,
        .readahead = cache->brought_in - cache->major_faults,
        .pages = sim_page_lists_cached(&cache->lists),
    };
}

/* SPDX-License-Identifier: MIT */
/* The page cache of one memory group, page by page (4 KiB), as Linux keeps it: an active and an inactive list, the
 * accessed bit of mapped pages looked at by reclaim only, refault distance, readahead windows per file, and a room that
 * is what the group's own memory leaves of the cap. A pure model without threads or time: the caller says which pages
 * are touched, the model says what must be read.
 *
 * Which parts of Linux's reclaim are modelled, which are not and what that costs is written at the head of
 * page_cache.c. */
#ifndef GNN_SIM_PAGE_CACHE_H
#define GNN_SIM_PAGE_CACHE_H

#include "harness/oocgnn.h"

struct sim_page_cache;

struct sim_page_cache_counts {
    uint64_t hits;         /* touches of mapped pages, and pages a buffered read found cached */
    uint64_t minor_faults; /* cached, not in the page table */
    uint64_t major_faults; /* touched, or read() through the cache, and not cached */
    uint64_t evicted, refaulted;
    uint64_t readahead; /* pages brought in that the call did not ask for */
    uint64_t pages;     /* cached now */
};

enum sim_readahead {
    SIM_READAHEAD_RANDOM, /* madvise or fadvise RANDOM: what was touched and nothing else. A mapping with this advice
                           * leaves no accessed bits that reclaim would look at */
    SIM_READAHEAD_NORMAL, /* the kernel's heuristic with the device's window */
};

struct sim_page_range {
    uint32_t file; /* a number of sim_page_cache_add_file */
    uint64_t first_page, pages;
};

/* What one call needs: nothing, a page-table entry, or reads. Pages brought in belong to the cache at once; the caller
 * submits the ranges to the device and keeps threads that touch them waiting until they are done (cached.c). */
struct sim_touch {
    bool minor;                         /* a page-table entry was missing */
    bool major;                         /* a page the call asked for must be read */
    uint32_t read_count;                /* ranges to read, readahead included, ascending and apart */
    const struct sim_page_range *reads; /* the cache's; good until the next call */
};

/* Opens an empty cache. The caller closes *out after a failure too. */
GNN_MUST_CHECK enum gnn_status sim_page_cache_open(uint64_t room_bytes, uint64_t readahead_bytes,
                                                   struct sim_page_cache **out, struct gnn_err *err);
void sim_page_cache_close(struct sim_page_cache *cache); /* accepts NULL */

/* Sets whose rules hold, as 1000 x major + minor; without it those of 6.18. What differs is said at the head of
 * page_cache.c. */
void sim_page_cache_set_kernel(struct sim_page_cache *cache, uint32_t kernel);

/* Sets the room that the group's own memory leaves: pages are reclaimed at once when there is less room than pages. */
void sim_page_cache_set_room(struct sim_page_cache *cache, uint64_t room_bytes);

/* Sums up the statistics that reclaim reads (how many pages are active, whether refaults came). The kernel does so
 * every two seconds and when a program reads them; until then reclaim works with the old sums. The caller, who has a
 * clock, says when. */
void sim_page_cache_sum_statistics(struct sim_page_cache *cache);

/* Adds a file of that many bytes; *file is its number. Memory comes with the pages that are touched: at most about ten
 * bytes each. A file that is closed keeps its pages (Linux does); forgetting drops them (unlink, DONTNEED). */
GNN_MUST_CHECK enum gnn_status sim_page_cache_add_file(struct sim_page_cache *cache, uint64_t size_bytes,
                                                       uint32_t *file, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status sim_page_cache_grow_file(struct sim_page_cache *cache, uint32_t file,
                                                        uint64_t size_bytes, struct gnn_err *err);
void sim_page_cache_forget(struct sim_page_cache *cache, uint32_t file);

/* An access through a mapping; one read() of `pages` > 0 pages through the cache; one write(). Inside the file. */
void sim_page_cache_touch(struct sim_page_cache *cache, uint32_t file, uint64_t page, enum sim_readahead readahead,
                          struct sim_touch *out);
void sim_page_cache_read(struct sim_page_cache *cache, uint32_t file, uint64_t first_page, uint64_t pages,
                         enum sim_readahead readahead, struct sim_touch *out);
void sim_page_cache_write(struct sim_page_cache *cache, uint32_t file, uint64_t first_page, uint64_t pages);
/* Touches a page that has a page-table entry. Returns false when it has none; then nothing happened: call touch. */
bool sim_page_cache_hit(struct sim_page_cache *cache, uint32_t file, uint64_t page, enum sim_readahead readahead);
/* Brings the bookkeeping of a page that will be touched soon into the host's caches. Inside the file. */
void sim_page_cache_prefetch(const struct sim_page_cache *cache, uint32_t file, uint64_t page);
/* The same of the window that a fault on an absent page brings in about it. */
void sim_page_cache_prefetch_window(const struct sim_page_cache *cache, uint32_t file, uint64_t page);
/* Removes the file's page-table entries; the pages stay. */
void sim_page_cache_unmap(struct sim_page_cache *cache, uint32_t file);

/* How many pages reclaim evicted since the last call, and how many of them page-table entries named. */
struct sim_reclaimed {
    uint64_t pages, mapped;
};
struct sim_reclaimed sim_page_cache_take_reclaimed(struct sim_page_cache *cache);

/* Takes the dirty pages that reclaim evicted since the last call: they must be written now. Returns how many ranges, at
 * most `max`. Call until 0. */
uint32_t sim_page_cache_take_evicted(struct sim_page_cache *cache, struct sim_page_range *out, uint32_t max);
/* Makes the next range of dirty pages from *from_page on clean: *out is the range, *from_page the page behind it.
 * Returns false when there is none. Start at page 0. */
bool sim_page_cache_take_dirty(struct sim_page_cache *cache, uint32_t file, uint64_t *from_page,
                               struct sim_page_range *out);

bool sim_page_cache_holds(const struct sim_page_cache *cache, uint32_t file, uint64_t page);
void sim_page_cache_counts(const struct sim_page_cache *cache, struct sim_page_cache_counts *out);

#endif

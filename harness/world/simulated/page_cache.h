/* SPDX-License-Identifier: MIT */
/* The page cache of one memory group, page by page (4 KiB), as Linux manages it. There is an active and an inactive
 * list, refault distance, and readahead windows per file. Only reclaim looks at the accessed bits of mapped pages. The
 * cache's room is the part of the memory limit that the group's own memory leaves. A pure model without threads or
 * time: the caller gives the pages that are touched. The model returns the pages to read.
 *
 * The head of page_cache.c lists the parts of Linux's reclaim that are modelled, those that are not, and their
 * effect. */
#ifndef GNN_SIM_PAGE_CACHE_H
#define GNN_SIM_PAGE_CACHE_H

#include "harness/oocgnn.h"

struct sim_page_cache;

struct sim_page_cache_counts {
    uint64_t hits;         /* touches of mapped pages, and pages that a buffered read found cached */
    uint64_t minor_faults; /* cached, not in the page table */
    uint64_t major_faults; /* touched, or read() through the cache, and not cached */
    uint64_t evicted, refaulted;
    uint64_t readahead; /* pages read that the call did not request */
    uint64_t pages;     /* pages cached now */
};

enum sim_readahead {
    /* madvise or fadvise RANDOM: reads only the touched pages. Reclaim ignores the accessed bits of a mapping with this
     * advice. */
    SIM_READAHEAD_RANDOM,
    SIM_READAHEAD_NORMAL, /* the kernel's heuristic with the device's window */
};

struct sim_page_range {
    uint32_t file; /* a number from sim_page_cache_add_file */
    uint64_t first_page, pages;
};

/* Needs of one call: none, a page-table entry, or reads. Pages to read belong to the cache at once. The caller submits
 * the ranges to the device, and lets threads that touch these pages wait until they are read (cached.c). */
struct sim_touch {
    bool minor;                         /* a page-table entry was missing */
    bool major;                         /* a page that the call requested must be read */
    uint32_t read_count;                /* ranges to read, with readahead, ascending and disjoint */
    const struct sim_page_range *reads; /* the cache's memory; valid until the next call */
};

/* Opens an empty cache, or returns GNN_ENOMEM. The caller closes *out after a failure, too. */
GNN_MUST_CHECK enum gnn_status sim_page_cache_open(uint64_t room_bytes, uint64_t readahead_bytes,
                                                   struct sim_page_cache **out, struct gnn_err *err);
void sim_page_cache_close(struct sim_page_cache *cache); /* accepts NULL */

/* Selects the kernel whose rules apply, as 1000 x major + minor; the default is 6.18. The head of page_cache.c lists
 * the differences. */
void sim_page_cache_set_kernel(struct sim_page_cache *cache, uint32_t kernel);

/* Sets the room that the group's own memory leaves. If there are more pages than room, pages are reclaimed at once. */
void sim_page_cache_set_room(struct sim_page_cache *cache, uint64_t room_bytes);

/* Sums up the statistics that reclaim reads (the number of active pages, whether refaults occurred). The kernel does so
 * every two seconds and when a program reads them. Until then reclaim uses the old sums. The caller, who has a clock,
 * decides when. */
void sim_page_cache_sum_statistics(struct sim_page_cache *cache);

/* Adds a file of size_bytes, or returns GNN_ENOMEM; *file is its number. Memory is used for touched pages only, at most
 * about ten bytes each. A closed file keeps its pages, as in Linux. Forgetting drops them (unlink, DONTNEED). */
GNN_MUST_CHECK enum gnn_status sim_page_cache_add_file(struct sim_page_cache *cache, uint64_t size_bytes,
                                                       uint32_t *file, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status sim_page_cache_grow_file(struct sim_page_cache *cache, uint32_t file,
                                                        uint64_t size_bytes, struct gnn_err *err);
void sim_page_cache_forget(struct sim_page_cache *cache, uint32_t file);

/* Access pages inside the file: one access through a mapping; one read() of `pages` > 0 pages through the cache; one
 * write(). */
void sim_page_cache_touch(struct sim_page_cache *cache, uint32_t file, uint64_t page, enum sim_readahead readahead,
                          struct sim_touch *out);
void sim_page_cache_read(struct sim_page_cache *cache, uint32_t file, uint64_t first_page, uint64_t pages,
                         enum sim_readahead readahead, struct sim_touch *out);
void sim_page_cache_write(struct sim_page_cache *cache, uint32_t file, uint64_t first_page, uint64_t pages);
/* Touches a page that has a page-table entry. Returns false without any effect if it has none; call touch then. */
bool sim_page_cache_hit(struct sim_page_cache *cache, uint32_t file, uint64_t page, enum sim_readahead readahead);
/* Prefetches the bookkeeping of a page inside the file that will be touched soon into the host's caches. */
void sim_page_cache_prefetch(const struct sim_page_cache *cache, uint32_t file, uint64_t page);
/* Does the same for the window that a fault on this absent page reads. */
void sim_page_cache_prefetch_window(const struct sim_page_cache *cache, uint32_t file, uint64_t page);
/* Removes the file's page-table entries. The pages stay. */
void sim_page_cache_unmap(struct sim_page_cache *cache, uint32_t file);

/* The number of pages that reclaim evicted since the last call, and of those with page-table entries. */
struct sim_reclaimed {
    uint64_t pages, mapped;
};
struct sim_reclaimed sim_page_cache_take_reclaimed(struct sim_page_cache *cache);

/* Takes ranges of dirty pages that reclaim evicted since the last call; they must be written now. Returns the number of
 * ranges, at most `max`. Call it until it returns 0. */
uint32_t sim_page_cache_take_evicted(struct sim_page_cache *cache, struct sim_page_range *out, uint32_t max);
/* Makes the next range of dirty pages from *from_page on clean and writes it to *out. Sets *from_page to the page
 * behind it. Returns false if there is none. Start at page 0. */
bool sim_page_cache_take_dirty(struct sim_page_cache *cache, uint32_t file, uint64_t *from_page,
                               struct sim_page_range *out);

bool sim_page_cache_holds(const struct sim_page_cache *cache, uint32_t file, uint64_t page);
void sim_page_cache_counts(const struct sim_page_cache *cache, struct sim_page_cache_counts *out);

#endif

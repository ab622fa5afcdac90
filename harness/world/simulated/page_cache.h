/* The page cache of one memory group, page by page (4 KiB), as Linux keeps it: an active and an inactive list, the
 * accessed bit of mapped pages looked at by reclaim only, refault distance, readahead windows per open file, and a room
 * that is what the group's own memory leaves of the cap. A pure model without threads or time: the caller says which
 * pages are touched, the model says what must be read.
 *
 * Which parts of Linux's reclaim are modelled, which are not and what that costs is written at the head of
 * page_cache.c. */
#ifndef GNN_SIM_PAGE_CACHE_H
#define GNN_SIM_PAGE_CACHE_H

#include "harness/oocgnn.h"

struct sim_page_cache;

struct sim_page_cache_counts {
    uint64_t hits;         /* touched pages that were mapped, or buffered reads of cached pages */
    uint64_t minor_faults; /* cached, not in the page table */
    uint64_t major_faults; /* not cached */
    uint64_t evicted, refaulted, readahead;
    uint64_t pages; /* cached now */
};

enum sim_readahead {
    SIM_READAHEAD_RANDOM, /* madvise or fadvise RANDOM: what was touched and nothing else */
    SIM_READAHEAD_NORMAL, /* the kernel's heuristic with the device's window */
};

/* What one touch needs: nothing, a page-table entry, or reads. Pages brought in belong to the cache at once; the caller
 * submits the range to the device and keeps who touches them waiting until it is done (in_flight below). */
struct sim_touch {
    bool minor;                           /* a page-table entry was missing */
    bool major;                           /* the touched page must be read */
    uint64_t read_first_page, read_pages; /* range to read, readahead included; 0 pages: none */
};

GNN_MUST_CHECK enum gnn_status sim_page_cache_open(uint64_t room_bytes, uint64_t readahead_bytes,
                                                   struct sim_page_cache **out, struct gnn_err *err);
void sim_page_cache_close(struct sim_page_cache *cache); /* accepts NULL */

/* The group's own memory grew or shrank: pages are reclaimed at once when there is less room than pages. */
void sim_page_cache_set_room(struct sim_page_cache *cache, uint64_t room_bytes);

/* A file of that many bytes takes part; its number. Memory grows with the file: a few bytes a page. A file that is
 * closed keeps its pages (Linux does); forgetting drops them (unlink, DONTNEED). */
GNN_MUST_CHECK enum gnn_status sim_page_cache_add_file(struct sim_page_cache *cache, uint64_t size_bytes,
                                                       uint32_t *file, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status sim_page_cache_grow_file(struct sim_page_cache *cache, uint32_t file,
                                                        uint64_t size_bytes, struct gnn_err *err);
void sim_page_cache_forget(struct sim_page_cache *cache, uint32_t file);

/* An access through a mapping, and one of a buffered read() or write(). */
void sim_page_cache_touch(struct sim_page_cache *cache, uint32_t file, uint64_t page,
                          enum sim_readahead readahead, struct sim_touch *out);
void sim_page_cache_read(struct sim_page_cache *cache, uint32_t file, uint64_t page, uint64_t pages_left,
                         enum sim_readahead readahead, struct sim_touch *out);
void sim_page_cache_write(struct sim_page_cache *cache, uint32_t file, uint64_t page);
/* Unmapping: the page-table entries are gone, the pages stay. */
void sim_page_cache_unmap(struct sim_page_cache *cache, uint32_t file);

bool sim_page_cache_holds(const struct sim_page_cache *cache, uint32_t file, uint64_t page);
void sim_page_cache_counts(const struct sim_page_cache *cache, struct sim_page_cache_counts *out);

#endif

/* SPDX-License-Identifier: MIT */
/* The lists below the page cache: the cached pages, their order, and the cost of making room. Pages have numbers here,
 * unique over all files. The file page_cache.c maps files to them and decides what is read. Internal to page_cache.c,
 * whose head names the modelled parts of Linux. */
#ifndef GNN_SIM_PAGE_LISTS_H
#define GNN_SIM_PAGE_LISTS_H

#include "harness/oocgnn.h"

/* Flags of a page, one byte. A hit reads nothing else. */
enum sim_page_flags {
    SIM_PAGE_CACHED = 1,
    SIM_PAGE_ACTIVE = 2,      /* on the active list, else the inactive one */
    SIM_PAGE_REFERENCED = 4,  /* seen once by reclaim or by read(): the next time activates */
    SIM_PAGE_YOUNG = 8,       /* the accessed bit of a page-table entry */
    SIM_PAGE_MAPPED = 16,     /* has a page-table entry */
    SIM_PAGE_WORKINGSET = 32, /* was active once */
    SIM_PAGE_DIRTY = 64,
    SIM_PAGE_MARK = 128, /* reading it makes the kernel read the next window */
};

/* The flags of an evicted page, whose age is kept. Never together with SIM_PAGE_CACHED. */
enum sim_page_shadow {
    SIM_SHADOW = SIM_PAGE_REFERENCED,
    SIM_SHADOW_WORKINGSET = SIM_PAGE_REFERENCED | SIM_PAGE_WORKINGSET,
};

/* Number of pages that share one page of page-table entries. Files start at multiples of it. */
enum { SIM_PAGES_ALIGN = 512 };

/* One list, oldest page first: a ring of page numbers, 0 where a page was removed from the middle. */
struct sim_page_ring {
    uint32_t *pages; /* (reserved), of which the first mask + 1 are in use */
    uint64_t reserved;
    uint32_t mask;
    uint32_t oldest, next; /* positions: they only grow, modulo 2^32 */
    uint64_t count;        /* pages in it */
};

enum { SIM_WRITTEN_MAX = 1 << 16 };

struct sim_page_run {
    uint32_t first, pages;
};

/* The group's statistics as reclaim reads them: of the time when the kernel last summed them up. */
struct sim_page_statistics {
    uint64_t active, inactive, activated;
};

struct sim_page_lists {
    uint8_t *flags; /* (capacity) */
    /* (capacity) of a cached page its position in its ring, of an evicted page its age */
    uint32_t *place;
    uint8_t *nodes;                     /* (capacity / 64): the index node is allocated */
    uint8_t *tables;                    /* (capacity / 512): the page of entries is allocated */
    uint64_t numbers, capacity;         /* numbers assigned, and numbers with memory behind them */
    uint64_t limit_bytes, kernel_bytes; /* the room, and the part of it that nodes and tables take */
    struct sim_page_ring active, inactive;
    uint64_t activated;                /* by refaults, so far */
    struct sim_page_statistics summed; /* as reclaim reads them */
    uint64_t activated_seen;           /* summed.activated when reclaim last ended */
    uint64_t age;                      /* evictions and activations so far */
    uint64_t evicted, evicted_mapped, refaulted;
    struct sim_page_run written[SIM_WRITTEN_MAX]; /* dirty pages evicted and not yet taken */
    uint32_t written_count;
};

GNN_MUST_CHECK enum gnn_status sim_page_lists_open(struct sim_page_lists *lists, struct gnn_err *err);
void sim_page_lists_close(struct sim_page_lists *lists);

/* Adds `pages` numbers, the first a multiple of SIM_PAGES_ALIGN, or returns GNN_ENOMEM. Uses address space; memory is
 * used on access. */
GNN_MUST_CHECK enum gnn_status sim_page_lists_add(struct sim_page_lists *lists, uint64_t pages, uint32_t *first,
                                                  struct gnn_err *err);

/* Makes room for the page, then adds it to its list. The page must not be cached yet. */
void sim_page_insert(struct sim_page_lists *lists, uint32_t page);
/* Drops `pages` pages from `first` on, with their ages. Both are multiples of SIM_PAGES_ALIGN. */
void sim_page_lists_forget(struct sim_page_lists *lists, uint32_t first, uint64_t pages);
/* Notes an access by read(), or an accessed bit found when a mapping ends. The second access activates the page. */
void sim_page_mark_accessed(struct sim_page_lists *lists, uint32_t page);
/* Adds a page-table entry for a cached page. */
void sim_page_map(struct sim_page_lists *lists, uint32_t page, bool young);
/* Removes every page-table entry of the range. Its accessed bits are kept as accesses. */
void sim_page_lists_unmap(struct sim_page_lists *lists, uint32_t first, uint64_t pages);
/* Updates the statistics that reclaim uses. */
void sim_page_lists_sum(struct sim_page_lists *lists);
/* Reclaims until the cached pages fit limit_bytes. */
void sim_page_lists_fit(struct sim_page_lists *lists);

static inline uint64_t sim_page_lists_cached(const struct sim_page_lists *lists)
{
    return lists->active.count + lists->inactive.count;
}

#endif

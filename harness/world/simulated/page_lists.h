/* SPDX-License-Identifier: MIT */
/* The lists under the page cache: which pages are cached, in which order they go, and what making room costs. Pages
 * have numbers here, unique over all files; page_cache.c maps files to them and decides what is read. Internal to
 * page_cache.c; the parts of Linux that are modelled are named at its head. */
#ifndef GNN_SIM_PAGE_LISTS_H
#define GNN_SIM_PAGE_LISTS_H

#include "harness/oocgnn.h"

/* One byte a page: all that a hit looks at. */
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

/* The flags of a page that was evicted: its age stays behind. Never together with SIM_PAGE_CACHED. */
enum sim_page_shadow {
    SIM_SHADOW = SIM_PAGE_REFERENCED,
    SIM_SHADOW_WORKINGSET = SIM_PAGE_REFERENCED | SIM_PAGE_WORKINGSET,
};

/* SIM_PAGES_ALIGN numbers share one page of page-table entries: files start at multiples of it. */
enum { SIM_PAGES_ALIGN = 512 };

/* One list, oldest page first: a ring of page numbers, 0 where a page left from the middle. */
struct sim_page_ring {
    uint32_t *pages; /* (reserved) of which the first mask + 1 are in use */
    uint64_t reserved;
    uint32_t mask;
    uint32_t oldest, next; /* positions: they only grow, modulo 2^32 */
    uint64_t count;        /* pages in it */
};

enum { SIM_WRITTEN_MAX = 1 << 16 };

struct sim_page_run {
    uint32_t first, pages;
};

/* What reclaim reads of the group's statistics: as of the last time the kernel summed them up. */
struct sim_page_statistics {
    uint64_t active, inactive, activated;
};

struct sim_page_lists {
    uint8_t *flags;                     /* (capacity) */
    uint32_t *place;                    /* (capacity) cached: position in its ring; evicted: age then */
    uint8_t *nodes;                     /* (capacity / 64): the index node is allocated */
    uint8_t *tables;                    /* (capacity / 512): the page of entries is allocated */
    uint64_t numbers, capacity;         /* pages handed out, and with memory behind them */
    uint64_t limit_bytes, kernel_bytes; /* the room; what nodes and tables take of it */
    struct sim_page_ring active, inactive;
    uint64_t activated;                /* by refaults, so far */
    struct sim_page_statistics summed; /* as reclaim sees them */
    uint64_t activated_seen;           /* summed.activated when reclaim last ended */
    uint64_t age;                      /* evictions and activations so far */
    uint64_t evicted, evicted_mapped, refaulted;
    struct sim_page_run written[SIM_WRITTEN_MAX]; /* dirty pages evicted and not yet handed on */
    uint32_t written_count;
};

GNN_MUST_CHECK enum gnn_status sim_page_lists_open(struct sim_page_lists *lists, struct gnn_err *err);
void sim_page_lists_close(struct sim_page_lists *lists);

/* `pages` further numbers, the first a multiple of SIM_PAGES_ALIGN. Costs address space; memory comes with use. */
GNN_MUST_CHECK enum gnn_status sim_page_lists_add(struct sim_page_lists *lists, uint64_t pages, uint32_t *first,
                                                  struct gnn_err *err);

/* Makes room for the page, then puts it on the list it belongs to. The page is not cached yet. */
void sim_page_insert(struct sim_page_lists *lists, uint32_t page);
/* Drops `pages` pages from `first` on, without a trace of them; both are multiples of SIM_PAGES_ALIGN. */
void sim_page_lists_forget(struct sim_page_lists *lists, uint32_t first, uint64_t pages);
/* An access by read(), or the accessed bit seen when a mapping goes: the second one activates. */
void sim_page_mark_accessed(struct sim_page_lists *lists, uint32_t page);
/* A page-table entry for a cached page. */
void sim_page_map(struct sim_page_lists *lists, uint32_t page, bool young);
/* Removes every page-table entry of the range; what the accessed bits said is kept. */
void sim_page_lists_unmap(struct sim_page_lists *lists, uint32_t first, uint64_t pages);
/* Refreshes the statistics that reclaim uses. */
void sim_page_lists_sum(struct sim_page_lists *lists);
/* Reclaims until what is cached fits limit_bytes. */
void sim_page_lists_fit(struct sim_page_lists *lists);

static inline uint64_t sim_page_lists_cached(const struct sim_page_lists *lists)
{
    return lists->active.count + lists->inactive.count;
}

#endif

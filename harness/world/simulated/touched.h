/* SPDX-License-Identifier: MIT */
/* The touched pages of one allocation. Only these are in use, and only these count towards the memory limit.
 *
 * Plain memory is the host's, so a look queries the host's page table (mincore). Without huge pages a page is present
 * once the program has touched it. The pages that a program touches before a given call of the world are the same on
 * every machine with 4 KiB pages. A page that was only read counts, too (Linux maps its page of zeros and charges
 * nothing). A page that the host swaps out between two looks is found when it returns. Feature memory has no pages: its
 * writers report the pages that they touch.
 *
 * The host counts the process's page faults. While that number is constant, a look would find no new page and is
 * skipped. This saves looks at arrays of which only a part is used (a mini-batch's arrays have room for the largest
 * fan-out). */
#ifndef GNN_SIM_TOUCHED_H
#define GNN_SIM_TOUCHED_H

#include "harness/oocgnn.h"

struct sim_touched {
    uint64_t *bits; /* a bit per page; NULL: all pages are touched */
    uint64_t pages, count;
};

/* Opens the record with all pages untouched, or returns GNN_ENOMEM. Close it in either case. */
GNN_MUST_CHECK enum gnn_status sim_touched_open(uint64_t pages, struct sim_touched *out, struct gnn_err *err);
void sim_touched_close(struct sim_touched *touched);

void sim_touched_all(struct sim_touched *touched);
/* Marks `pages` > 0 pages from `first` on. Returns the number of them that were not touched before. */
uint64_t sim_touched_mark(struct sim_touched *touched, uint64_t first, uint64_t pages);
/* Finds the pages that the host has for the memory at base. Returns the number of pages that were not known. Sets
 * *whole to false if the host did not answer for all of it. */
uint64_t sim_touched_look(struct sim_touched *touched, unsigned char *base, bool *whole);

/* Returns the page faults of this process so far, or UINT64_MAX if the host does not report them. */
uint64_t sim_touched_faults(void);
/* Returns whether the first touch of a page increases that number, by trying one. It stays 0 in sandboxes that
 * implement system calls themselves. */
bool sim_touched_faults_count(void);

#endif

/* SPDX-License-Identifier: MIT */
/* Which pages of one allocation were touched: only those are memory that somebody has, and are charged to the cap.
 *
 * Plain memory is the host's, so the host's page table knows: a look asks it (mincore). Without huge pages a page is
 * there once the program has touched it, and what a program touches before a given call of the world is the same on
 * every machine with pages of 4 KiB. A page that was only read counts too (Linux maps its page of zeros and charges
 * nothing); one that the host swaps out between two looks is found when it comes back. Feature memory has no pages:
 * who writes there says so.
 *
 * A page comes by a fault, and the host counts the process's faults: while that number stands still no look would find
 * anything. So the pages of arrays of which a part is used (a mini-batch's have room for the fan-outs' bound) are not
 * asked for again and again. */
#ifndef GNN_SIM_TOUCHED_H
#define GNN_SIM_TOUCHED_H

#include "harness/oocgnn.h"

struct sim_touched {
    uint64_t *bits; /* a bit a page; NULL: all are touched */
    uint64_t pages, count;
};

/* All pages untouched. GNN_ENOMEM; close either way. */
GNN_MUST_CHECK enum gnn_status sim_touched_open(uint64_t pages, struct sim_touched *out, struct gnn_err *err);
void sim_touched_close(struct sim_touched *touched);

void sim_touched_all(struct sim_touched *touched);
/* `pages` > 0 pages from `first` on; returns how many were not touched before. */
uint64_t sim_touched_mark(struct sim_touched *touched, uint64_t first, uint64_t pages);
/* Finds what of the memory at base the host has pages for; returns how many were not known. Sets *whole to false when
 * the host did not answer for all of it. */
uint64_t sim_touched_look(struct sim_touched *touched, unsigned char *base, bool *whole);

/* Page faults of this process so far; UINT64_MAX: the host does not say. */
uint64_t sim_touched_faults(void);
/* Whether a page that is touched for the first time moves that number on: tries one. Sandboxes that answer system calls
 * themselves leave it at 0. */
bool sim_touched_faults_count(void);

#endif

/* SPDX-License-Identifier: MIT */
/* Threads that share the loops of the CPU back-end. A loop over rows is cut into ranges; the calling thread and those
 * of the pool take one after the other until none is left. A range writes rows that no other range writes, and sums
 * inside a row keep their order: who took which range leaves no trace, so results have the same bits for any number of
 * threads, however busy the machine is.
 *
 * Who wakes late finds nothing left and is not waited for: the caller waits for ranges that were begun, nothing else. A
 * loop too short for waking anybody runs on the calling thread, and so does one that meets the pool at work for another
 * thread (a worker that gathers rows beside the training). */
#ifndef GNN_TENSOR_CPU_SHARE_H
#define GNN_TENSOR_CPU_SHARE_H

#include "harness/oocgnn.h"

#include <pthread.h>

struct gnn_share; /* NULL: one thread */

/* Does items [first, end) of a loop. Called on several threads at once, on ranges that do not overlap. */
typedef void gnn_share_fn(const void *loop, uint64_t first, uint64_t end);

/* pthread_create, or what a test puts in its place. */
typedef int gnn_share_start(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);

/* What a range moves, and what a loop must move for threads to be worth waking. */
enum { GNN_SHARE_RANGE_BYTES = 128 << 10, GNN_SHARE_LOOP_BYTES = 4 * GNN_SHARE_RANGE_BYTES };

/* Starts threads - 1 threads; *out is NULL for one. GNN_ENOMEM where one does not start: none stays then. */
GNN_MUST_CHECK enum gnn_status gnn_share_open(uint32_t threads, gnn_share_start *start, struct gnn_share **out,
                                              struct gnn_err *err);
/* Ends the threads; accepts NULL. No loop may be running. */
void gnn_share_close(struct gnn_share *share);

/* Runs fn over items [0, items), each of which moves item_bytes, and returns when all are done. Any thread. */
void gnn_share_run(struct gnn_share *share, uint64_t items, uint64_t item_bytes, gnn_share_fn *fn, const void *loop);

#endif

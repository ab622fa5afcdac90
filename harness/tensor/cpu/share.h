/* SPDX-License-Identifier: MIT */
/* Threads that share the loops of the CPU back-end. A loop over rows is cut into ranges. The calling thread and those
 * of the pool take range after range until none is left. A range writes rows that no other range writes, and sums
 * inside a row keep their order. So results have the same bits for any number of threads, under any load.
 *
 * A thread that wakes late finds no range left. The caller waits only for ranges that were begun, not for such a
 * thread. A short loop runs on the calling thread alone, because waking others would cost more. So does a loop that
 * finds the pool busy with another thread's loop (a worker that gathers rows during the training). */
#ifndef GNN_TENSOR_CPU_SHARE_H
#define GNN_TENSOR_CPU_SHARE_H

#include "harness/oocgnn.h"

#include <pthread.h>

struct gnn_share; /* NULL: one thread */

/* Does items [first, end) of a loop. Called by several threads at once, on ranges that do not overlap. */
typedef void gnn_share_fn(const void *loop, uint64_t first, uint64_t end);

/* Starts a thread: pthread_create, or a test's replacement. */
typedef int gnn_share_start(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);

/* Bytes that a range moves, and bytes that a loop must move before other threads are woken. */
enum { GNN_SHARE_RANGE_BYTES = 128 << 10, GNN_SHARE_LOOP_BYTES = 4 * GNN_SHARE_RANGE_BYTES };

/* Starts threads - 1 threads. *out is NULL for one thread. GNN_ETHREADS: one cannot be started; none remains.
 * GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_share_open(uint32_t threads, gnn_share_start *start, struct gnn_share **out,
                                              struct gnn_err *err);
/* Ends the threads; accepts NULL. No loop may be running. */
void gnn_share_close(struct gnn_share *share);

/* Runs fn over items [0, items), each of which moves item_bytes, and returns when all are done. Any thread. */
void gnn_share_run(struct gnn_share *share, uint64_t items, uint64_t item_bytes, gnn_share_fn *fn, const void *loop);

#endif

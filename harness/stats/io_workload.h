/* SPDX-License-Identifier: MIT */
/* An I/O trace as a workload for storage: sizes, queue depth, randomness and reuse, for the reads and for the writes of
 * each file. */
#ifndef GNN_STATS_IO_WORKLOAD_H
#define GNN_STATS_IO_WORKLOAD_H

#include "harness/stats/io_lines.h"
#include "harness/world/world.h"

#include <stdio.h>

enum { GNN_IO_BLOCK_BYTES = 4096 };

/* The reads or the writes of a file. */
struct gnn_io_part {
    char file[GNN_IO_TRACE_NAME_MAX];
    bool writes;
    uint64_t requests, bytes, end_bytes; /* end_bytes: of the request that ends last in the file */
    uint64_t least_bytes, median_bytes, most_bytes;
    uint64_t sequential; /* requests that begin where the one before them in this part ended */
    uint64_t aligned;    /* requests whose offset and length are multiples of 512 */
    double depth_mean;   /* requests in flight when a request is submitted, itself included; NAN: not in the trace */
    uint64_t depth_most; /* GNN_UNKNOWN: not in the trace */
    /* A request uses the blocks of 4 KiB that it touches. A repeated use is one of a block that was used before. The
     * reuse distance of a repeated use is the number of other blocks of the part in between. */
    uint64_t uses, blocks;                       /* blocks: different ones, so uses - blocks are repeated */
    uint64_t reuse_half_bytes, reuse_most_bytes; /* caches (LRU) that have half and 90 % of the repeated uses: powers of
                                                  * two; GNN_UNKNOWN: none is repeated */
};

struct gnn_io_workload {
    uint32_t count;
    struct gnn_io_part *parts;   /* (count) owned; by bytes, most first */
    struct gnn_io_part total[2]; /* all reads, all writes; without sequence and reuse */
    uint64_t epoch;
    bool has_epochs;
};

/* Analyses the requests of one epoch (from 1), or all of them if epoch is 0. GNN_EUSAGE: the trace has no request of
 * this epoch. GNN_EFORMAT; errors of memory. */
GNN_MUST_CHECK enum gnn_status gnn_io_workload_open(struct gnn_world *world, const char *path, uint64_t epoch,
                                                    struct gnn_io_workload *out, struct gnn_err *err);
void gnn_io_workload_close(struct gnn_io_workload *workload);

/* Prints Markdown tables, or one JSON object on a line. */
void gnn_io_workload_text(const struct gnn_io_workload *workload, FILE *out);
GNN_MUST_CHECK enum gnn_status gnn_io_workload_json(const struct gnn_io_workload *workload, FILE *out,
                                                    struct gnn_err *err);

#endif

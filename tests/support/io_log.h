/* SPDX-License-Identifier: MIT */
/* What goes through the rings of a world while it is watched: every request as it was handed over, and what its owner
 * was told of it. The world stays the same object; calls are noted and passed on.
 *
 *     struct io_log *log = io_log_open(f.world);
 *     ...                                          rings that are opened from here on are noted
 *     for (uint64_t i = 0; i < io_log_count(log); i++)
 *         check(io_log_request(log, i));
 *     io_log_close(log);                           after the last of those rings was closed
 *
 * Reads and writes without a ring, and those of rings that were open before, are not noted. */
#ifndef GNN_TESTS_IO_LOG_H
#define GNN_TESTS_IO_LOG_H

#include "harness/world/world.h"

#define IO_LOG_NEVER UINT64_MAX

struct io_request {
    const struct gnn_file *file;
    uint64_t offset_bytes;
    uint32_t len_bytes;
    uint32_t ring; /* rings are numbered as they are opened */
    bool write;
    uint64_t tag;
    uint64_t handed_over, told; /* moments, of all requests together; told: IO_LOG_NEVER until it is complete */
    int32_t result;             /* told: bytes moved, or a negated errno */
};

struct io_log; /* any thread of the world at a time */

struct io_log *io_log_open(struct gnn_world *world); /* fails the test when it cannot */
void io_log_close(struct io_log *log);               /* accepts NULL */

uint64_t io_log_count(const struct io_log *log);
/* In the order they were handed over; valid until the world is used again. */
const struct io_request *io_log_request(const struct io_log *log, uint64_t i);

#endif

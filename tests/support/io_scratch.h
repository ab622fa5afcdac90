/* SPDX-License-Identifier: MIT */
/* Files for I/O tests: a directory of their own that supports direct I/O where this machine has one. */
#ifndef GNN_TESTS_IO_SCRATCH_H
#define GNN_TESTS_IO_SCRATCH_H

#include "harness/world/world.h"

struct io_scratch {
    char dir[256];
    bool direct; /* the directory's file system does direct I/O */
};

/* Looks in ${TMPDIR}, /tmp and build/ (tmpfs has no direct I/O) and makes a directory with mkdtemp. */
void io_scratch_open(struct io_scratch *scratch);
/* Removes the directory and the files in it. */
void io_scratch_close(struct io_scratch *scratch);

/* dir/name; valid until the next call with the same `path`. */
const char *io_scratch_path(const struct io_scratch *scratch, const char *name, char path[512]);

/* The u32 that test files hold at element `index`: a pure function, never 0. */
uint32_t io_scratch_value(uint64_t index);
/* Writes `bytes` of such elements (the last one may be cut) to dir/name. */
void io_scratch_fill(const struct io_scratch *scratch, const char *name, uint64_t bytes);

#endif

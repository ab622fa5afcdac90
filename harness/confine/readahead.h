/* SPDX-License-Identifier: MIT */
/* Holds a block device's readahead at a value while a run lasts: read_ahead_kb, the kernel's window for mappings and
 * buffered reads that nobody advises. A file takes its window when it is opened, so readers open theirs after the hold.
 *
 * A guard, a process of its own that no signal of a terminal reaches, gives the old value back when the holder lets go
 * or ends, SIGKILL included; where the guard was killed the holder does. What the kernel shows is locked meanwhile: two
 * runs never hold one device.
 *
 * Thread rules: one thread holds and releases. Children that the holder forks meanwhile must exec, or end before it. */
#ifndef GNN_CONFINE_READAHEAD_H
#define GNN_CONFINE_READAHEAD_H

#include "harness/oocgnn.h"

enum { GNN_READAHEAD_PATH = 96 };
#define GNN_READAHEAD_MAX (UINT64_C(1) << 30)

struct gnn_readahead;

/* Writes where the kernel shows a device's readahead, and takes another: a file of sysfs. */
void gnn_readahead_path(uint32_t major, uint32_t minor, char path[GNN_READAHEAD_PATH]);

/* Sets the file's value to `bytes`, a multiple of 4096 and at most GNN_READAHEAD_MAX. GNN_ENOTSUP: the kernel shows
 * none, or did not take it; GNN_EPERM, with the command: not permitted, or another run holds it; GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_readahead_hold(const char *path, uint64_t bytes, struct gnn_readahead **out,
                                                  struct gnn_err *err);
/* Returns the bytes that are given back. */
uint64_t gnn_readahead_before(const struct gnn_readahead *held);

/* Gives the old value back and waits until it is there; warns with the command where it is not. Accepts NULL. */
void gnn_readahead_release(struct gnn_readahead *held);

#endif

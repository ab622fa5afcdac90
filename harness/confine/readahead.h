/* SPDX-License-Identifier: MIT */
/* Sets a block device's readahead for the duration of a run: read_ahead_kb, the kernel's window for mappings and
 * buffered reads without advice. A file takes its window when it is opened. Readers must open their files after the
 * hold.
 *
 * Restoring: a guard process restores the old value when the holder releases it or ends, also by SIGKILL. The guard
 * does not receive a terminal's signals. If the guard was killed, the holder restores the value. The sysfs file is
 * locked meanwhile, so two runs never hold the same device.
 *
 * Thread rules: one thread holds and releases. Children that the holder forks meanwhile must exec, or end before it. */
#ifndef GNN_CONFINE_READAHEAD_H
#define GNN_CONFINE_READAHEAD_H

#include "harness/oocgnn.h"

enum { GNN_READAHEAD_PATH = 96 };
#define GNN_READAHEAD_MAX (UINT64_C(1) << 30)

struct gnn_readahead;

/* Writes the path of the sysfs file with a device's readahead to path. */
void gnn_readahead_path(uint32_t major, uint32_t minor, char path[GNN_READAHEAD_PATH]);

/* Sets the file's value to `bytes`, a multiple of 4096 and at most GNN_READAHEAD_MAX. Returns GNN_ENOTSUP if there is
 * no such file or the kernel did not accept the value. Returns GNN_EPERM, with the command, if it is not permitted, or
 * if another run holds the device. Returns GNN_ENOMEM if memory runs out. */
GNN_MUST_CHECK enum gnn_status gnn_readahead_hold(const char *path, uint64_t bytes, struct gnn_readahead **out,
                                                  struct gnn_err *err);
/* Returns the value that is restored, in bytes. */
uint64_t gnn_readahead_before(const struct gnn_readahead *held);

/* Restores the old value, waits until it is set, and frees held. Warns with the command if it cannot be restored.
 * Accepts NULL. */
void gnn_readahead_release(struct gnn_readahead *held);

#endif

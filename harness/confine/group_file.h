/* SPDX-License-Identifier: MIT */
/* The kernel's control-group files: reading, writing, and what their text means. Parsers are pure. */
#ifndef GNN_CONFINE_GROUP_FILE_H
#define GNN_CONFINE_GROUP_FILE_H

#include "harness/base/reading.h"
#include "harness/oocgnn.h"

/* Reads dir/name into text as a string, cut at text_bytes - 1. Returns 0, or the errno. */
int gnn_group_file_read(const char *dir, const char *name, char *text, size_t text_bytes);
/* One write of the whole text; never creates the file. Returns 0, or the errno. Async-signal-safe. */
int gnn_group_file_write(const char *dir, const char *name, const char *text);
bool gnn_group_file_exists(const char *dir, const char *name);
bool gnn_group_file_writable(const char *dir, const char *name); /* name "" = the directory itself */

/* "max" and v1's page counter maximum become GNN_UNKNOWN; so does a file that is missing or no number. */
uint64_t gnn_group_file_limit(const char *dir, const char *name);
uint64_t gnn_group_file_u64(const char *dir, const char *name);

uint64_t gnn_group_parse_limit(const char *text);

/* The value of `key` in lines of "key value"; GNN_UNKNOWN without such a line. */
uint64_t gnn_group_parse_flat(const char *text, const char *key);

/* Is `word` one of the words of a space- or comma-separated line? (cgroup.controllers, mount options) */
bool gnn_group_has_word(const char *text, const char *word);

/* The sum of `key` over the lines of a device; major and minor 0:0 sum over all. v1's blkio.throttle.io_service_bytes
 * and io_serviced have lines "major:minor Operation value" (separator ' '), v2's io.stat "major:minor rbytes=value …"
 * ('='). A file without the key counts 0: nothing was moved yet. */
uint64_t gnn_group_parse_devices(const char *text, const char *key, char separator, uint32_t major, uint32_t minor);

/* Calls visit for every process ID in dir/cgroup.procs; returns how many lines, or -1 when it cannot be read. IDs of
 * processes outside the caller's PID namespace are 0. */
int gnn_group_for_each_pid(const char *dir, void (*visit)(void *ctx, long pid), void *ctx);

#endif

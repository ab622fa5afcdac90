/* SPDX-License-Identifier: MIT */
/* Reads, writes and parses the kernel's control-group files. Parsers are pure. */
#ifndef GNN_BASE_GROUP_FILE_H
#define GNN_BASE_GROUP_FILE_H

#include "harness/base/reading.h"
#include "harness/oocgnn.h"

/* Reads dir/name into text as a string, cut at text_bytes - 1 bytes. Returns 0, or an errno; text is then "". */
int gnn_group_file_read(const char *dir, const char *name, char *text, size_t text_bytes);
/* Writes the whole text in one write, and never creates the file. Returns 0, or an errno. Async-signal-safe. */
int gnn_group_file_write(const char *dir, const char *name, const char *text);
bool gnn_group_file_exists(const char *dir, const char *name);
bool gnn_group_file_writable(const char *dir, const char *name); /* name "" = the directory itself */

/* Returns the number in the file, or GNN_UNKNOWN if the file is missing or has no number. For a limit, GNN_UNKNOWN is
 * also "max" and v1's largest page count. */
uint64_t gnn_group_file_limit(const char *dir, const char *name);
uint64_t gnn_group_file_u64(const char *dir, const char *name);

uint64_t gnn_group_parse_limit(const char *text);

/* Returns the value of `key` in lines of "key value", or GNN_UNKNOWN if there is no such line. */
uint64_t gnn_group_parse_flat(const char *text, const char *key);

/* Returns whether `word` is one of the words of a space- or comma-separated line (cgroup.controllers, mount
 * options). */
bool gnn_group_has_word(const char *text, const char *word);

/* Returns the sum of `key` over the lines of a device, or of all devices for 0:0. In v1,
 * blkio.throttle.io_service_bytes and io_serviced have lines "major:minor Operation value" (separator ' '). In v2,
 * io.stat has "major:minor rbytes=value …" ('='). The sum is 0 if the file lacks the key: there was no I/O yet. */
uint64_t gnn_group_parse_devices(const char *text, const char *key, char separator, uint32_t major, uint32_t minor);

/* Calls visit for every process ID in dir/cgroup.procs. Returns the number of IDs, or -1 if the file cannot be read. A
 * process outside the caller's PID namespace has ID 0. */
int gnn_group_for_each_pid(const char *dir, void (*visit)(void *ctx, long pid), void *ctx);

#endif

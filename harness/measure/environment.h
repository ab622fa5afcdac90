/* SPDX-License-Identifier: MIT */
/* The environment of a run as key-value text for the record: what a reader needs to judge a number. */
#ifndef GNN_MEASURE_ENVIRONMENT_H
#define GNN_MEASURE_ENVIRONMENT_H

#include "harness/base/kv.h"
#include "harness/oocgnn.h"

/* Appends kernel, host, CPU, memory, limits, the program's version, git revision and compiler, library versions and
 * GPU. With data_path it also appends the block device and file system behind that path, and the machine's current
 * load. A value that cannot be found is NULL. Keys are dotted: "kernel.release", "cpu.model", "device.scheduler" …
 * Returns GNN_ENOMEM, or an error of gnn_device_find(). */
GNN_MUST_CHECK enum gnn_status gnn_environment_capture(struct gnn_kv_list *out, const char *data_path,
                                                       struct gnn_err *err);

/* Sets gpu.name, gpu.driver and gpu.memory_bytes to what NVML reports of the GPU with that PCI bus ID, or of its first
 * GPU if bus_id is NULL. A value that cannot be found is NULL. */
GNN_MUST_CHECK enum gnn_status gnn_environment_gpu(struct gnn_kv_list *out, const char *bus_id, struct gnn_err *err);

/* Returns the git revision of the build, with "-dirty" appended if files were changed, or "unknown" outside a
 * checkout. */
const char *gnn_build_revision(void);

/* Returns the version of the program, which is the content of the file VERSION: "0.9.0". */
const char *gnn_build_version(void);

/* Returns version, revision and compiler flags of the program in one line: "0.9.0 (commit 0123456789ab, -O2)". */
const char *gnn_build_text(void);

#endif

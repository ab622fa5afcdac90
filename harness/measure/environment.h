/* SPDX-License-Identifier: MIT */
/* The environment of a run, as key-value text for the record: what a reader needs to judge a number. */
#ifndef GNN_MEASURE_ENVIRONMENT_H
#define GNN_MEASURE_ENVIRONMENT_H

#include "harness/base/kv.h"
#include "harness/oocgnn.h"

/* Appends kernel, host, CPU, memory, block device and file system behind data_path (NULL: left out, and so is the
 * machine's momentary load), limits, version and git revision of the program, compiler, library versions and GPU.
 * What cannot be found out is NULL. Keys are dotted: "kernel.release", "cpu.model", "device.scheduler" … */
GNN_MUST_CHECK enum gnn_status gnn_environment_capture(struct gnn_kv_list *out, const char *data_path,
                                                       struct gnn_err *err);

/* The revision the build was made from, "-dirty" appended when files were changed; "unknown" outside a checkout. */
const char *gnn_build_revision(void);

/* Returns the version of the program, the content of the file VERSION: "0.9.0". */
const char *gnn_build_version(void);

/* Returns version, revision and compiler flags of the program in one line: "0.9.0 (commit 0123456789ab, -O2)". */
const char *gnn_build_text(void);

#endif

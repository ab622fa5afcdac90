/* The environment of a run, as key-value text for the record: what a reader needs to judge a number. */
#ifndef GNN_MEASURE_ENVIRONMENT_H
#define GNN_MEASURE_ENVIRONMENT_H

#include "harness/base/kv.h"
#include "harness/oocgnn.h"

/* Appends kernel, host, CPU, memory, block device and file system behind data_path (NULL: left out, and so is the
 * machine's momentary load), limits, library versions, compiler, git revision and GPU. What cannot be found out is
 * NULL. Keys are dotted: "kernel.release", "cpu.model", "device.scheduler", "lib.sqlite" … */
GNN_MUST_CHECK enum gnn_status gnn_environment_capture(struct gnn_kv_list *out, const char *data_path,
                                                       struct gnn_err *err);

/* The revision the build was made from, "-dirty" appended when files were changed; "unknown" outside a checkout. */
const char *gnn_build_revision(void);

#endif

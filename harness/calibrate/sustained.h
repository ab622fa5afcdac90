/* SPDX-License-Identifier: MIT */
/* Whether a device that is written to for long becomes slower, and when: from pieces of one long write. */
#ifndef GNN_CALIBRATE_SUSTAINED_H
#define GNN_CALIBRATE_SUSTAINED_H

#include "harness/calibrate/calibrate.h"
#include "harness/fio/fio.h"

enum { GNN_SUSTAINED_PIECES = 10 };

/* The report's jobs "piece0" to "piece9", one after another without a pause. The rate it falls to is the median of the
 * last three; it falls where that is below four fifths of the first. Then the burst follows from the whole: so many
 * bytes at the first rate, and the others at the last, take the time that all together took. The rate is never above
 * full_bytes_per_s, what the device writes for a moment. GNN_EFORMAT: a piece is missing, or nothing was written in
 * it. */
GNN_MUST_CHECK enum gnn_status gnn_sustained_of(const struct gnn_fio_report *report, double full_bytes_per_s,
                                                struct gnn_sustained *out, struct gnn_err *err);

/* The job of that name; NULL: there is none. */
const struct gnn_fio_job *gnn_fio_job_named(const struct gnn_fio_report *report, const char *name);

#endif

/* SPDX-License-Identifier: MIT */
/* Measures from parts of one long write whether a device becomes slower when it is written to for long, and when. */
#ifndef GNN_CALIBRATE_SUSTAINED_H
#define GNN_CALIBRATE_SUSTAINED_H

#include "harness/calibrate/calibrate.h"
#include "harness/fio/fio.h"

enum { GNN_SUSTAINED_PIECES = 10 };

/* Fills out from the report's jobs "piece0" to "piece9", which wrote one after another without a pause. The final rate
 * is the median of the last three pieces. The rate falls if that is below four fifths of the first piece's rate. The
 * burst results from the total time: burst bytes at the first rate, then the others at the final rate. The final rate
 * is at most full_bytes_per_s, which the device reaches for a short time. Returns GNN_EFORMAT if a piece is missing or
 * wrote nothing. */
GNN_MUST_CHECK enum gnn_status gnn_sustained_of(const struct gnn_fio_report *report, double full_bytes_per_s,
                                                struct gnn_sustained *out, struct gnn_err *err);

/* Returns the job of that name, or NULL if there is none. */
const struct gnn_fio_job *gnn_fio_job_named(const struct gnn_fio_report *report, const char *name);

#endif

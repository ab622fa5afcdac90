/* fio: a job file in, its JSON output back. */
#ifndef GNN_CALIBRATE_FIO_H
#define GNN_CALIBRATE_FIO_H

#include "harness/oocgnn.h"

enum { GNN_FIO_JOBS_MAX = 256 };

/* One job of a report; a direction in which nothing moved is 0 throughout. */
struct gnn_fio_job {
    char name[GNN_NAME_MAX];
    double read_iops, read_bytes_per_s;
    double write_iops, write_bytes_per_s, write_latency_ns; /* mean, from submission to completion */
    double write_bytes;                                     /* in all; 0 where the report does not say */
};

struct gnn_fio_report {
    char version[32]; /* "fio-3.33" */
    uint32_t count;
    struct gnn_fio_job jobs[GNN_FIO_JOBS_MAX];
};

/* text is what `fio --output-format=json` printed: notes may stand before the opening brace. GNN_EFORMAT says what is
 * missing; GNN_EIO when a job reports an error of its own. */
GNN_MUST_CHECK enum gnn_status gnn_fio_parse(const char *text, struct gnn_fio_report *out, struct gnn_err *err);

/* Runs `fio --output-format=json JOBFILE` and parses its report. GNN_ENOTSUP: fio is not there (names the package), or
 * it failed (shows its last words). */
GNN_MUST_CHECK enum gnn_status gnn_fio_run(const char *job_file, struct gnn_fio_report *out, struct gnn_err *err);

#endif

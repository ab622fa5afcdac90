/* SPDX-License-Identifier: MIT */
/* fio: a job file in, its JSON output back. */
#ifndef GNN_FIO_FIO_H
#define GNN_FIO_FIO_H

#include "harness/oocgnn.h"

enum { GNN_FIO_JOBS_MAX = 256 };

/* One job of a report; a direction in which nothing moved is 0 throughout. Latencies are means, from submission to
 * completion; 0 where fio was told not to look at its clock. */
struct gnn_fio_job {
    char name[GNN_NAME_MAX];
    double read_iops, read_bytes_per_s, read_latency_ns;
    double write_iops, write_bytes_per_s, write_latency_ns;
    double write_bytes; /* in all; 0 where the report does not say */
};

struct gnn_fio_report {
    char version[32]; /* "fio-3.33" */
    uint32_t count;
    struct gnn_fio_job jobs[GNN_FIO_JOBS_MAX];
};

/* text is what `fio --output-format=json` printed: notes may stand before the opening brace. GNN_EFORMAT says what is
 * missing; GNN_EIO when a job reports an error of its own. */
GNN_MUST_CHECK enum gnn_status gnn_fio_parse(const char *text, struct gnn_fio_report *out, struct gnn_err *err);

/* Runs `fio --output-format=json JOBFILE` and parses its report. Its buffers of 2 MiB and more lie in large pages where
 * the job says iomem_align=2m and glibc is 2.35 or later (GLIBC_TUNABLES, unless that is set). GNN_ENOTSUP: fio is not
 * there (names the package), or it failed (shows its last words); GNN_ECANCELLED: a signal ended it. */
GNN_MUST_CHECK enum gnn_status gnn_fio_run(const char *job_file, struct gnn_fio_report *out, struct gnn_err *err);

/* Asks the fio of $PATH for its version ("fio-3.33"). GNN_ENOTSUP: there is none (names the package), or what is called
 * so is another program. */
GNN_MUST_CHECK enum gnn_status gnn_fio_version(char *version, size_t version_bytes, struct gnn_err *err);

/* Refuses a path that fio would read as something else: several files, a variable, arithmetic, a comment. what: the
 * option that named it. GNN_EUSAGE. */
GNN_MUST_CHECK enum gnn_status gnn_fio_check_path(const char *what, const char *path, struct gnn_err *err);

#endif

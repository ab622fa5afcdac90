/* SPDX-License-Identifier: MIT */
/* Runs fio with a job file and parses its JSON output. */
#ifndef GNN_FIO_FIO_H
#define GNN_FIO_FIO_H

#include "harness/oocgnn.h"

enum { GNN_FIO_JOBS_MAX = 256 };

/* One job of a report. All fields of a direction without I/O are 0. Latencies are means, from submission to completion.
 * They are 0 if the job reduces fio's clock reads (gtod_reduce). */
struct gnn_fio_job {
    char name[GNN_NAME_MAX];
    double read_iops, read_bytes_per_s, read_latency_ns;
    double write_iops, write_bytes_per_s, write_latency_ns;
    double write_bytes; /* in total; 0 if the report does not have it */
};

struct gnn_fio_report {
    char version[32]; /* "fio-3.33" */
    uint32_t count;
    struct gnn_fio_job jobs[GNN_FIO_JOBS_MAX];
};

/* Parses the output of `fio --output-format=json`; notes may precede the opening brace. Returns GNN_EFORMAT, which
 * names what is missing, GNN_ENOSPC if a job ran out of disk space, or GNN_EIO if a job reports another error. */
GNN_MUST_CHECK enum gnn_status gnn_fio_parse(const char *text, struct gnn_fio_report *out, struct gnn_err *err);

/* Runs `fio --output-format=json JOBFILE` and parses its report. Returns GNN_ENOTSUP if fio is not installed (names the
 * package) or failed (shows its last line), GNN_ECANCELLED if a signal ended it, or an error of gnn_fio_parse(). Its
 * buffers of 2 MiB and more are in large pages if the job has iomem_align=2m and glibc is 2.35 or later. That uses
 * GLIBC_TUNABLES, unless the variable is set. */
GNN_MUST_CHECK enum gnn_status gnn_fio_run(const char *job_file, struct gnn_fio_report *out, struct gnn_err *err);

/* Writes the version of the fio in $PATH to version ("fio-3.33"). Returns GNN_ENOTSUP if there is none (names the
 * package), or if the program of that name is another one. */
GNN_MUST_CHECK enum gnn_status gnn_fio_version(char *version, size_t version_bytes, struct gnn_err *err);

/* Rejects a path that fio would not read as one path: several files, a variable, arithmetic, a comment. what: the
 * option that the path comes from. Returns GNN_EUSAGE. */
GNN_MUST_CHECK enum gnn_status gnn_fio_check_path(const char *what, const char *path, struct gnn_err *err);

#endif

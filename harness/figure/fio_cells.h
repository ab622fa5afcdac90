/* SPDX-License-Identifier: MIT */
/* Configurations that fio measures, of a figure with `measured_by = fio`. Each is one job of fio with the keys of its
 * section. It reads a file of `size` bytes under fio/ in the directory of the datasets, which fio writes first. Direct
 * reads (direct = 1) are at least as large as the device's sectors, even if `bs` is smaller.
 *
 * The result is recorded as a run of "fio" (results/schema.sql). Its one epoch has the statistics below, so every
 * reader of runs can use them. No build of this program changes them, so runs of any build are valid. */
#ifndef GNN_FIGURE_FIO_CELLS_H
#define GNN_FIGURE_FIO_CELLS_H

#include "harness/figure/figure.h"
#include "harness/record/earlier.h"

#include <stdatomic.h>

#define GNN_FIO_SYSTEM "fio" /* the system in the record */
#define GNN_FIO_READ_RATE "read_bytes_per_s"
#define GNN_FIO_READ_LATENCY "read_latency_ns" /* mean, from submission to completion */

/* Makes the size of the file a whole number of writes, at least one, and writes the configuration's identity, which the
 * caller frees. Returns GNN_EUSAGE if `size` is missing or invalid, or GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status gnn_fio_cell_settle(struct gnn_job_cell *cell, char **identity, struct gnn_err *err);

/* Search the database for a configuration, as gnn_sweep_find() and gnn_sweep_cost() do for one of a system. */
GNN_MUST_CHECK enum gnn_status gnn_fio_cell_find(const struct gnn_paper_figure *figure, uint32_t cell, uint32_t max,
                                                 int64_t *ids, uint32_t *count, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_fio_cell_cost(const struct gnn_paper_figure *figure, uint32_t cell,
                                                 struct gnn_run_cost *out, struct gnn_err *err);

struct gnn_fio_ran {
    uint32_t made, passed, failed; /* skipped: recorded before, or not possible */
};

/* Runs every configuration until the database has `repeat` runs of it. A job that fails is reported and recorded, and
 * the next one runs. fio is searched only if a run is due. Returns GNN_ENOTSUP if there is no fio or the program of
 * that name is another one, or GNN_ECANCELLED if *stop was set. Returns GNN_EUSAGE if fio cannot use the file's path,
 * or errors of the database and of writing the file. */
GNN_MUST_CHECK enum gnn_status gnn_fio_cells_run(const struct gnn_paper_figure *figure, uint32_t repeat,
                                                 const atomic_bool *stop, struct gnn_fio_ran *out, struct gnn_err *err);

#endif

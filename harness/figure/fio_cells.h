/* SPDX-License-Identifier: MIT */
/* Cells that fio measures: of a figure with `measured_by = fio`. Each is one job of fio's with the keys of its case, on
 * a file of `size` bytes under fio/ in the directory of the datasets, which fio writes first. Where the device's
 * sectors are larger than `bs`, direct reads (direct = 1) have a sector's size.
 *
 * What fio tells is recorded as a run of "fio" (results/schema.sql) with the figures below in its one epoch, so
 * whatever reads runs reads it too. It says of a machine what no build of this program changes: runs of any build
 * count. */
#ifndef GNN_FIGURE_FIO_CELLS_H
#define GNN_FIGURE_FIO_CELLS_H

#include "harness/figure/figure.h"
#include "harness/record/earlier.h"

#include <stdatomic.h>

#define GNN_FIO_SYSTEM "fio" /* in the record, where a run names its system */
#define GNN_FIO_READ_RATE "read_bytes_per_s"
#define GNN_FIO_READ_LATENCY "read_latency_ns" /* the mean, from submission to completion */

/* Divides the figure's `scaled` keys by its scale and says where the cell's record and file go. A cell without a size,
 * or with one that is none, is refused. */
void gnn_fio_cell_set_up(const struct gnn_paper_figure *figure, const struct gnn_figure_setup *setup,
                         struct gnn_job_cell *cell);

/* What the database knows of a cell: as gnn_sweep_find and gnn_sweep_cost of a system's. */
GNN_MUST_CHECK enum gnn_status gnn_fio_cell_find(const struct gnn_paper_figure *figure, uint32_t cell, uint32_t max,
                                                 int64_t *ids, uint32_t *count, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status gnn_fio_cell_cost(const struct gnn_paper_figure *figure, uint32_t cell,
                                                 struct gnn_run_cost *out, struct gnn_err *err);

struct gnn_fio_ran {
    uint32_t made, passed, failed; /* passed over: recorded before, or refused */
};

/* Runs every cell until the database holds `repeat` runs of it; one that fails is told, recorded and passed over. Where
 * nothing is due, fio is not looked for. GNN_ENOTSUP: there is no fio, or another program is called so; GNN_ECANCELLED:
 * *stop was set; GNN_EUSAGE: fio would not understand the file's path; errors of the database and of making the
 * file. */
GNN_MUST_CHECK enum gnn_status gnn_fio_cells_run(const struct gnn_paper_figure *figure, uint32_t repeat,
                                                 const atomic_bool *stop, struct gnn_fio_ran *out, struct gnn_err *err);

#endif

/* SPDX-License-Identifier: MIT */
#include "harness/calibrate/sustained.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double falls_below = 0.8;

const struct gnn_fio_job *gnn_fio_job_named(const struct gnn_fio_report *report, const char *name)
{
    for (uint32_t i = 0; i < report->count; i++)
        if (strcmp(report->jobs[i].name, name) == 0)
            return &report->jobs[i];
    return NULL;
}

enum gnn_status gnn_sustained_of(const struct gnn_fio_report *report, double full_bytes_per_s,
                                 struct gnn_sustained *out, struct gnn_err *err)
{
    double rate[GNN_SUSTAINED_PIECES], bytes = 0, seconds = 0;
    for (uint32_t i = 0; i < GNN_SUSTAINED_PIECES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "piece%u", i);
        const struct gnn_fio_job *const piece = gnn_fio_job_named(report, name);
        if (piece == NULL || !(piece->write_bytes_per_s > 0) || !(piece->write_bytes > 0))
            return gnn_fail(err, GNN_EFORMAT, "fio: nothing was written in %s", name);
        rate[i] = piece->write_bytes_per_s;
        bytes += piece->write_bytes;
        seconds += piece->write_bytes / rate[i];
    }
    const double first = rate[0];
    const double last = gnn_figure_of(rate + GNN_SUSTAINED_PIECES - 3, 3).value; /* sorts those three */
    *out = (struct gnn_sustained){.written_bytes = bytes, .falls = last < falls_below * first};
    if (!out->falls)
        return GNN_OK;
    out->bytes_per_s = fmin(last, full_bytes_per_s);
    out->burst_bytes = fmin(fmax((bytes / last - seconds) / (1 / last - 1 / first), 0), bytes);
    return GNN_OK;
}

/* SPDX-License-Identifier: MIT */
#include "harness/run/sweep/order.h"

#include "harness/run/identity.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef char workload_text[GNN_CHECKSUM_TEXT];

static enum gnn_status fill_workloads(const struct gnn_job *job, workload_text *workloads, struct gnn_err *err)
{
    for (uint32_t i = 0; i < job->count; i++) {
        const struct gnn_job_cell *const cell = &job->cells[i];
        if (cell->refusal[0] != '\0')
            (void)snprintf(workloads[i], sizeof workloads[i], "refused %u", i);
        else
            GNN_TRY(gnn_run_identity(&cell->config, GNN_IDENTITY_WORKLOAD, workloads[i], err));
    }
    return GNN_OK;
}

static void group(const workload_text *workloads, struct gnn_sweep_order *out)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < out->count; i++) {
        uint32_t first = 0;
        while (strcmp(workloads[first], workloads[i]) != 0)
            first++;
        for (uint32_t k = i; first == i && k < out->count; k++)
            if (strcmp(workloads[k], workloads[i]) == 0) {
                out->groups[at] = i;
                out->cells[at++] = k;
            }
    }
    assert(at == out->count);
}

enum gnn_status gnn_sweep_order_open(const struct gnn_job *job, struct gnn_sweep_order *out, struct gnn_err *err)
{
    *out = (struct gnn_sweep_order){.count = job->count};
    workload_text *const workloads = calloc(job->count + 1, sizeof *workloads);
    out->cells = calloc(job->count + 1, sizeof *out->cells);
    out->groups = calloc(job->count + 1, sizeof *out->groups);
    enum gnn_status status = GNN_OK;
    if (workloads == NULL || out->cells == NULL || out->groups == NULL)
        status = gnn_fail(err, GNN_ENOMEM, "the order of %u configurations", job->count);
    GNN_NEXT(status, fill_workloads(job, workloads, err));
    if (status == GNN_OK)
        group((const workload_text *)workloads, out);
    else
        gnn_sweep_order_close(out);
    free(workloads);
    return status;
}

void gnn_sweep_order_close(struct gnn_sweep_order *order)
{
    free(order->cells);
    free(order->groups);
    *order = (struct gnn_sweep_order){.count = 0};
}

void gnn_sweep_round(const struct gnn_sweep_order *order, uint32_t round, uint32_t *cells)
{
    uint32_t end = 0;
    for (uint32_t begin = 0; begin < order->count; begin = end) {
        while (end < order->count && order->groups[end] == order->groups[begin])
            end++;
        for (uint32_t i = begin; i < end; i++)
            cells[i] = order->cells[round % 2 == 0 ? i : begin + end - 1 - i];
    }
}

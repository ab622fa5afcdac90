/* SPDX-License-Identifier: MIT */
#include "harness/run/worker/device_group.h"

#include "harness/tensor/group.h"

#include <string.h>

_Static_assert(sizeof(struct gnn_group_name) <= sizeof(struct gnn_rank_report), "the name travels in a report's room");

static const struct gnn_group_ops *group_of(const struct gnn_run_worker *w)
{
    return w->env.average != NULL && w->env.tensor != NULL ? w->env.tensor->ops->group : NULL;
}

static enum gnn_status goes_on(void *ctx, struct gnn_err *err)
{
    const struct gnn_run_worker *const w = ctx;
    return gnn_ranks_go_on(w->env.ranks, err);
}

static void fails(void *ctx, const struct gnn_err *why)
{
    const struct gnn_run_worker *const w = ctx;
    gnn_ranks_cancel(w->env.ranks, w->env.rank, why);
}

/* Rank 0's name of the group, to all. Its report's room is empty before the first epoch, and afterwards again. */
static enum gnn_status share_name(struct gnn_run_worker *w, struct gnn_group_name *out, struct gnn_err *err)
{
    struct gnn_ranks *const ranks = w->env.ranks;
    struct gnn_group_name *const shared = gnn_ranks_report(ranks, 0);
    if (w->env.rank == 0)
        GNN_TRY(group_of(w)->name(shared, err));
    GNN_TRY(gnn_ranks_meet(ranks, err));
    *out = *shared;
    GNN_TRY(gnn_ranks_meet(ranks, err));
    if (w->env.rank == 0)
        memset(shared, 0, sizeof *shared);
    return GNN_OK;
}

enum gnn_status gnn_device_group_join(struct gnn_run_worker *w, struct gnn_err *err)
{
    struct gnn_group_config config = {
        .ranks = w->workload.workers, .rank = w->env.rank, .goes_on = goes_on, .fails = fails, .ctx = w};
    if (group_of(w) == NULL)
        return GNN_OK;
    GNN_TRY(share_name(w, &config.name, err));
    return group_of(w)->join(w->env.tensor, &config, err);
}

void gnn_device_group_leave(struct gnn_run_worker *w)
{
    if (group_of(w) != NULL)
        group_of(w)->leave(w->env.tensor);
}

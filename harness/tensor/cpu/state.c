/* SPDX-License-Identifier: MIT */
#include "harness/tensor/cpu/state.h"
#include "harness/tensor/host.h"

struct gnn_cpu_state *gnn_cpu_state(struct gnn_tensor *t)
{
    return t != NULL ? ((struct gnn_host_tensor *)t)->own : NULL;
}

void gnn_cpu_share(struct gnn_tensor *t, uint64_t items, uint64_t item_bytes, gnn_share_fn *fn, const void *loop)
{
    const struct gnn_cpu_state *const state = gnn_cpu_state(t);
    gnn_share_run(state != NULL ? state->share : NULL, items, item_bytes, fn, loop);
}

uint32_t gnn_cpu_threads(struct gnn_tensor *t)
{
    const struct gnn_cpu_state *const state = gnn_cpu_state(t);
    return state != NULL ? state->threads : 1;
}

/* Mini-batches differ by a few per cent: an eighth of slack ends the growing after the first ones. */
bool gnn_cpu_reserve(struct gnn_tensor *t, struct gnn_cpu_room *room, uint64_t bytes)
{
    if (bytes <= room->bytes)
        return true;
    gnn_host_free(t, room->data);
    *room = (struct gnn_cpu_room){0};
    void *data = NULL;
    if (gnn_host_alloc(t, "scratch of a loop", bytes + bytes / 8, &data, NULL) != GNN_OK)
        return false;
    *room = (struct gnn_cpu_room){.data = data, .bytes = bytes + bytes / 8};
    return true;
}

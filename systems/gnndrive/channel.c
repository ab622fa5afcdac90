#include "systems/gnndrive/gnndrive.h"

enum gnn_status gnndrive_channel_open(struct gnn_pipeline *pipeline, const char *name, bool in_order, uint32_t depth,
                                      uint32_t producers, uint32_t batches, struct gnndrive_channel *out,
                                      struct gnn_err *err)
{
    *out = (struct gnndrive_channel){.queue = NULL};
    if (in_order)
        return gnn_pipeline_reorder(pipeline, depth, batches, &out->reorder, err);
    GNN_TRY(gnn_pipeline_queue(pipeline, name, depth, &out->queue, err));
    gnn_queue_producers(out->queue, producers);
    return GNN_OK;
}

enum gnn_status gnndrive_channel_push(struct gnndrive_channel *channel, struct gnndrive_item *item)
{
    if (channel->reorder != NULL)
        return gnn_reorder_put(channel->reorder, item->k, item);
    return gnn_queue_push(channel->queue, item);
}

enum gnn_status gnndrive_channel_pop(struct gnndrive_channel *channel, struct gnndrive_item **item)
{
    void *popped = NULL;
    if (channel->reorder != NULL)
        GNN_TRY(gnn_reorder_take(channel->reorder, &popped));
    else
        GNN_TRY(gnn_queue_pop(channel->queue, &popped));
    *item = popped;
    return GNN_OK;
}

void gnndrive_channel_done(struct gnndrive_channel *channel)
{
    if (channel->queue != NULL) /* a reorder buffer knows its last ticket */
        gnn_queue_done(channel->queue);
}

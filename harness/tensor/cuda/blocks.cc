/* SPDX-License-Identifier: MIT */
/* A mini-batch's lists on the device: blocks, labels, row numbers. Staged ahead, they go up in one copy out of a lane's
 * pinned memory; what was not staged goes up when an op first needs it, and is forgotten at synchronize. A block's
 * transpose is built on the device when a backward op first asks, by a stable sort by source. */
#include "harness/tensor/cuda/state.h"
#include "harness/tensor/cuda/transpose.h"

/* ---- staging ---- */

enum gnn_status cuda_resident_open(struct gnn_tensor *t, struct gnn_resident **out, struct gnn_err *err)
{
    struct gnn_resident *room = new (std::nothrow) gnn_resident();
    if (room == NULL)
        return gnn_fail(err, GNN_ENOMEM, "lists of a mini-batch on the device");
    enum gnn_status status = cuda_event_open(t, &room->landed, err);
    if (status == GNN_OK)
        status = cuda_event_open(t, &room->read, err);
    if (status == GNN_OK)
        *out = room;
    else
        cuda_resident_close(t, room);
    return status;
}

void cuda_resident_close(struct gnn_tensor *t, struct gnn_resident *room)
{
    struct cuda_backend *b = cuda_backend_of(t);
    if (room == NULL)
        return;
    assert(b->in_use != room);
    if (room->landed != NULL)
        cuda_event_wait(t, room->landed); /* whoever gets the memory next copies in another stream */
    for (struct cuda_block &block : room->blocks)
        cuda_free(t, block.transpose.data);
    cuda_free(t, room->lists.data);
    cuda_event_close(t, room->landed);
    cuda_event_close(t, room->read);
    delete room;
}

/* Returns a block of which the device has the lists and no transpose. */
static struct gnn_cuda_block device_block(const struct gnn_block *host, const uint32_t *row_start, const uint32_t *col)
{
    struct gnn_cuda_block block = {};
    block.dst_count = host->dst_count;
    block.src_count = host->src_count;
    block.edge_count = host->edge_count;
    block.row_start = row_start;
    block.col = col;
    return block;
}

/* Where each list lies in the one piece; returns the bytes. Lists that blocks share lie there once. Without memory it
 * only counts. */
static uint64_t lay_lists(struct gnn_resident *room, const struct gnn_batch_lists *lists, uint32_t *device, char *host)
{
    const struct gnn_batch_view *view = lists->view;
    uint64_t at = 0;
    const auto put = [&](const void *list, uint64_t count) {
        const uint64_t start = at;
        if (host != NULL && count > 0)
            memcpy(host + start * sizeof(uint32_t), list, count * sizeof(uint32_t));
        at += gnn_round_up(count, 4); /* lists begin on 16 bytes */
        return device != NULL ? device + start : NULL;
    };
    for (uint32_t k = 0; k < view->layer_count; k++) {
        const struct gnn_block *block = &view->blocks[k];
        const bool shared = k > 0 && gnn_block_is_head(block, &view->blocks[k - 1]);
        const uint32_t *row_start =
            shared ? room->blocks[k - 1].device.row_start : put(block->row_start, block->dst_count + UINT64_C(1));
        const uint32_t *col = shared ? room->blocks[k - 1].device.col : put(block->col, block->edge_count);
        struct cuda_block *own = &room->blocks[k];
        own->row_start = block->row_start;
        own->col = block->col;
        own->device = device_block(block, row_start, col);
        own->transposed = false;
    }
    room->block_count = view->layer_count;
    room->host_labels = lists->labels;
    room->labels = (const int32_t *)put(lists->labels, lists->labels != NULL ? view->seed_count : 0);
    room->host_rows = lists->rows;
    room->rows = put(lists->rows, lists->rows != NULL ? view->node_count : 0);
    return at * sizeof(uint32_t);
}

/* The half of the lane's staging memory whose copy has landed, with room for `bytes`. */
static enum gnn_status next_half(struct cuda_backend *b, struct cuda_lane *own, uint64_t bytes, uint32_t *half,
                                 struct gnn_err *err)
{
    const uint32_t h = own->next;
    if (own->landed[h] == NULL)
        GNN_TRY(gnn_device_event_open(b->device, &own->landed[h], err));
    cuda_event_wait(&b->base, own->landed[h]);
    GNN_TRY(cuda_pinned_reserve(b, &own->half[h], "staging of mini-batches' lists", bytes, err));
    own->next = (h + 1) % GNN_CUDA_HALVES;
    *half = h;
    return GNN_OK;
}

enum gnn_status cuda_resident_stage(struct gnn_tensor *t, struct gnn_resident *room, uint32_t lane,
                                    const struct gnn_batch_lists *lists, struct gnn_err *err)
{
    struct cuda_backend *b = cuda_backend_of(t);
    assert(lane < GNN_LANES_MAX);
    assert(b->in_use != room);
    const cuda_call call(b);
    struct cuda_lane *own = &b->lanes[lane];
    uint32_t half = 0;
    const uint64_t bytes = lay_lists(room, lists, NULL, NULL);
    room->block_count = 0; /* of use to nobody until it lies there */
    GNN_TRY(next_half(b, own, bytes, &half, err));
    if (bytes > room->lists.bytes) {
        cuda_free(t, room->lists.data);
        room->lists = {NULL, 0};
        void *data = NULL;
        GNN_TRY(cuda_alloc(t, "lists of a mini-batch", bytes + bytes / 8, &data, err));
        room->lists = {data, bytes + bytes / 8};
    }
    (void)lay_lists(room, lists, (uint32_t *)room->lists.data, (char *)own->half[half].data);
    gnn_device_event_await(b->device, room->read, lane);
    gnn_device_upload_lane(b->device, lane, room->lists.data, own->half[half].data, bytes);
    gnn_device_event_record(b->device, own->landed[half], lane);
    gnn_device_event_record(b->device, room->landed, lane);
    return GNN_OK;
}

void cuda_resident_use(struct gnn_tensor *t, struct gnn_resident *room)
{
    struct cuda_backend *b = cuda_backend_of(t);
    assert(room == NULL || b->in_use == NULL);
    assert(!b->capturing);
    if (room != NULL)
        cuda_event_await(t, room->landed, GNN_LANE_STREAM);
    else if (struct gnn_resident *const used = b->in_use)
        cuda_event_record(t, used->read, GNN_LANE_STREAM);
    b->in_use = room;
}

/* The rooms were closed before, and with that their copies were waited for. */
void cuda_lanes_close(struct cuda_backend *b)
{
    for (struct cuda_lane &lane : b->lanes)
        for (uint32_t h = 0; h < GNN_CUDA_HALVES; h++) {
            gnn_device_event_close(b->device, lane.landed[h]);
            cuda_pinned_free(b, &lane.half[h]);
        }
}

/* ---- on demand ---- */

static struct cuda_block *find_block(struct gnn_resident *room, const struct gnn_block *host)
{
    for (uint32_t i = 0; room != NULL && i < room->block_count; i++) {
        struct cuda_block *block = &room->blocks[i];
        if (block->row_start == host->row_start && block->col == host->col &&
            block->device.dst_count == host->dst_count && block->device.src_count == host->src_count) {
            assert(block->device.edge_count == host->edge_count);
            return block;
        }
    }
    return NULL;
}

/* A block that is there already and whose lists begin with this one's. */
static const struct cuda_block *find_whole(const struct gnn_resident *room, const struct gnn_block *host)
{
    for (uint32_t i = 0; i < room->block_count; i++) {
        const struct cuda_block *block = &room->blocks[i];
        const struct gnn_block whole = {block->device.dst_count, block->device.src_count, block->device.edge_count,
                                        block->row_start, block->col};
        if (gnn_block_is_head(host, &whole))
            return block;
    }
    return NULL;
}

/* row_start and col side by side, unless they are there as the head of another block's. */
static struct cuda_block *bring_block(struct cuda_backend *b, const struct gnn_block *host)
{
    assert(b->on_demand.block_count < GNN_LAYERS_MAX);
    struct cuda_scratch *memory = &b->demanded[b->on_demand.block_count];
    struct cuda_block *block = &b->on_demand.blocks[b->on_demand.block_count];
    const struct cuda_block *whole = find_whole(&b->on_demand, host);
    const uint64_t rows = host->dst_count + UINT64_C(1);
    const uint32_t *row_start = NULL, *col = NULL;
    if (whole != NULL) {
        row_start = whole->device.row_start;
        col = whole->device.col;
    } else {
        if (!cuda_reserve(b, memory, "block", (rows + host->edge_count) * sizeof(uint32_t)))
            return NULL;
        uint32_t *at = (uint32_t *)memory->data;
        cuda_send(b, at, host->row_start, rows * sizeof(uint32_t));
        cuda_send(b, at + rows, host->col, host->edge_count * sizeof(uint32_t));
        row_start = at;
        col = at + rows;
    }
    block->row_start = host->row_start;
    block->col = host->col;
    block->transposed = false;
    block->device = device_block(host, row_start, col);
    b->on_demand.block_count++;
    return block;
}

static struct cuda_block *need(struct cuda_backend *b, const struct gnn_block *host)
{
    struct cuda_block *block = find_block(b->in_use, host);
    b->under_way = true; /* an op reads its lists */
    if (block == NULL)
        block = find_block(&b->on_demand, host);
    return block != NULL ? block : bring_block(b, host);
}

const struct gnn_cuda_block *cuda_need_block(struct cuda_backend *b, const struct gnn_block *host)
{
    const struct cuda_block *block = need(b, host);
    return block != NULL ? &block->device : NULL;
}

void cuda_forget_demanded(struct cuda_backend *b)
{
    b->on_demand.block_count = 0;
    b->on_demand.host_labels = NULL;
    b->on_demand.host_rows = NULL;
}

const int32_t *cuda_need_labels(struct cuda_backend *b, const int32_t *host, uint32_t count)
{
    const struct gnn_resident *used = b->in_use;
    if (used != NULL && used->host_labels == host)
        return used->labels;
    if (b->in_step && b->on_demand.host_labels == host)
        return b->on_demand.labels;
    if (!cuda_reserve(b, &b->labels, "labels", count * (uint64_t)sizeof *host))
        return NULL;
    cuda_send(b, b->labels.data, host, count * (uint64_t)sizeof *host);
    b->on_demand.host_labels = host;
    b->on_demand.labels = (const int32_t *)b->labels.data;
    return b->on_demand.labels;
}

const uint32_t *cuda_need_rows(struct cuda_backend *b, const uint32_t *host, uint32_t count)
{
    const struct gnn_resident *used = b->in_use;
    if (used != NULL && used->host_rows == host)
        return used->rows;
    if (!cuda_reserve(b, &b->rows, "row numbers", count * (uint64_t)sizeof *host))
        return NULL;
    cuda_send(b, b->rows.data, host, count * (uint64_t)sizeof *host);
    return (const uint32_t *)b->rows.data;
}

/* ---- the transpose ---- */

uint32_t cuda_bits_of(uint32_t count)
{
    uint32_t bits = 1;
    while (bits < 32 && count >> bits != 0)
        bits++;
    return bits;
}

void cuda_source_starts(struct cuda_backend *b, uint32_t *src_start, const uint32_t *sorted, uint32_t edge_count,
                        uint32_t src_count)
{
    GNN_LAUNCH(b->device, gnn_cuda_source_starts, edge_count + UINT64_C(1), src_start, sorted, edge_count, src_count);
}

const struct gnn_cuda_block *cuda_need_transpose(struct cuda_backend *b, const struct gnn_block *host)
{
    struct cuda_block *block = need(b, host);
    if (block == NULL || block->transposed)
        return block != NULL ? &block->device : NULL;
    const uint64_t edges = host->edge_count, sort_bytes = gnn_device_sort_bytes(host->edge_count);
    /* target, number, sorted source, sorted number; starts; parts */
    const uint64_t words = 4 * edges + host->src_count + 1 + host->dst_count;
    if (!cuda_reserve(b, &block->transpose, "transposed block", words * sizeof(uint32_t)) ||
        !cuda_reserve(b, &b->sort, "sort of a block", sort_bytes))
        return NULL;
    uint32_t *edge_dst = (uint32_t *)block->transpose.data, *number = edge_dst + edges, *sorted = number + edges;
    uint32_t *src_edge = sorted + edges, *src_start = src_edge + edges, *src_dst = number; /* the sort has read them */
    float *dst_part = (float *)(src_start + host->src_count + 1);
    GNN_LAUNCH_WARPS(b->device, gnn_cuda_edges, host->dst_count, block->device, edge_dst, number, dst_part);
    if (edges > 0)
        gnn_device_sort(b->device, b->sort.data, b->sort.bytes, block->device.col, sorted, number, src_edge,
                        host->edge_count, cuda_bits_of(host->src_count));
    cuda_source_starts(b, src_start, sorted, host->edge_count, host->src_count);
    GNN_LAUNCH(b->device, gnn_cuda_entry_targets, edges, src_dst, src_edge, edge_dst, host->edge_count);
    struct gnn_cuda_block *r = &block->device;
    r->edge_dst = edge_dst;
    r->dst_part = dst_part;
    r->src_start = src_start;
    r->src_edge = src_edge;
    r->src_dst = src_dst;
    r->entry_src = sorted;
    block->transposed = true;
    return &block->device;
}

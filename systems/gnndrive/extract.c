/* Extraction of one mini-batch: pin, take slots, read what is absent, wait for what others read (gnndrive.md section 3,
 * steps 1 to 7).
 *
 * CPU: reads land in the slots, and a row is ready when its read completed. GPU: reads land in the extractor's part of
 * the staging buffer, every completed one is copied to its slot beside the others, and rows are ready when the copies
 * have landed, which is waited for once all reads of a round have completed. A round is as many loads as the part
 * holds; with the paper's Mb that is nearly always the whole batch. Nothing is read over a row whose copy has not
 * landed.
 *
 * How far one locked section reaches: lookup and allocation (the paper's description), all submissions too
 * (lock_submit), or everything until the batch is ready (serial_extract: what the interpreter lock did to the
 * released code). Rows that straddle sectors, and groups cut at the end of the file, are the reader's
 * business. */
#include "systems/gnndrive/gnndrive.h"

#include <assert.h>
#include <inttypes.h>

enum { CHUNK = 64 };

struct extraction {
    struct gnndrive *s;
    struct gnndrive_extractor *own;
    struct gnndrive_claim claim;
    bool locked;
    bool ready_at_end; /* rows become ready together when all have arrived */
    uint32_t arrived;
};

static bool staged(const struct extraction *x)
{
    return x->own->staging != NULL;
}

static char *slot_of(const struct extraction *x, uint32_t index)
{
    return (char *)x->s->slots + (uint64_t)x->claim.load_slot[index] * x->s->sizes.layout.load_bytes;
}

static char *staging_of(const struct extraction *x, uint32_t index)
{
    return x->own->staging + (uint64_t)(index % x->s->sizes.staging) * x->s->sizes.layout.load_bytes;
}

static void lock(struct extraction *x)
{
    if (!x->locked)
        gnndrive_buffer_lock(x->s->fb);
    x->locked = true;
}

static void unlock(struct extraction *x)
{
    if (x->locked)
        gnndrive_buffer_unlock(x->s->fb);
    x->locked = false;
}

static struct gnn_load load_of(const struct extraction *x, uint32_t index)
{
    const struct gnn_row_layout *layout = &x->s->sizes.layout;
    const uint64_t row = (uint64_t)x->claim.load_key[index] * layout->rows_per_load;
    const struct gnn_row_range range = gnn_row_range(layout, row, x->s->features_bytes);
    return (struct gnn_load){
        .file = 0,
        .len_bytes = range.len_bytes,
        .offset_bytes = range.offset_bytes,
        .dst = staged(x) ? staging_of(x, index) : slot_of(x, index),
        .tag = index,
    };
}

static void make_ready(struct extraction *x, const uint32_t *index, uint32_t count)
{
    const bool was_locked = x->locked;
    lock(x);
    gnndrive_buffer_ready(x->s->fb, &x->claim, index, count);
    if (!was_locked)
        unlock(x);
}

static void make_range_ready(struct extraction *x, uint32_t first, uint32_t end)
{
    uint32_t index[CHUNK];
    while (first < end) {
        uint32_t count = 0;
        while (count < CHUNK && first < end)
            index[count++] = first++;
        make_ready(x, index, count);
    }
}

static void start_copy(const struct extraction *x, uint32_t index)
{
    struct gnn_tensor *tensor = x->s->env->tensor;
    const struct gnn_load load = load_of(x, index);
    tensor->ops->upload_async(tensor, x->claim.extractor, slot_of(x, index), load.dst, load.len_bytes);
}

/* Takes completions, sleeping for `min` of them; their rows become ready, or start their way to the GPU. */
static enum gnn_status harvest(struct extraction *x, uint32_t min, struct gnn_err *err)
{
    uint64_t tags[CHUNK];
    uint32_t index[CHUNK], got = 0;
    GNN_TRY(gnn_reader_harvest(x->own->reader, min, CHUNK, tags, &got, err));
    x->arrived += got;
    for (uint32_t i = 0; i < got; i++) {
        index[i] = (uint32_t)tags[i];
        if (staged(x))
            start_copy(x, index[i]);
    }
    if (got > 0 && !staged(x) && !x->ready_at_end)
        make_ready(x, index, got);
    return GNN_OK;
}

/* Submits loads [next, end), harvesting what is there after each submission; sleeps only when the ring is full. */
static enum gnn_status submit_range(struct extraction *x, uint32_t next, uint32_t end, struct gnn_err *err)
{
    struct gnn_load loads[CHUNK];
    while (next < end) {
        const uint32_t left = end - next;
        const uint32_t count = left < CHUNK ? left : CHUNK;
        for (uint32_t i = 0; i < count; i++)
            loads[i] = load_of(x, next + i);
        uint32_t accepted;
        GNN_TRY(gnn_reader_submit(x->own->reader, loads, count, &accepted, err));
        next += accepted;
        GNN_TRY(harvest(x, accepted == 0 ? 1 : 0, err));
    }
    return GNN_OK;
}

/* Everything before `end` has been submitted: waits until it is where the trainer looks. */
static enum gnn_status finish_round(struct extraction *x, uint32_t first, uint32_t end, struct gnn_err *err)
{
    while (x->arrived < end)
        GNN_TRY(harvest(x, 1, err));
    if (!staged(x) || first == end)
        return GNN_OK;
    struct gnn_tensor *tensor = x->s->env->tensor;
    tensor->ops->upload_wait(tensor, x->claim.extractor);
    if (!x->ready_at_end)
        make_range_ready(x, first, end);
    return GNN_OK;
}

static uint32_t round_end(const struct extraction *x, uint32_t first)
{
    const uint32_t left = x->claim.load_count - first;
    return staged(x) && left > x->s->sizes.staging ? first + x->s->sizes.staging : first + left;
}

static enum gnn_status read_rows(struct extraction *x, struct gnn_err *err)
{
    const struct gnndrive_config *config = x->s->config;
    if (!config->serial_extract && !config->lock_submit)
        unlock(x);
    uint32_t first = 0, end = round_end(x, 0);
    GNN_TRY(submit_range(x, first, end, err));
    while (end < x->claim.load_count) {
        GNN_TRY(finish_round(x, first, end, err));
        first = end;
        end = round_end(x, first);
        GNN_TRY(submit_range(x, first, end, err));
    }
    if (!config->serial_extract)
        unlock(x);
    GNN_TRY(finish_round(x, first, end, err));
    lock(x);
    if (x->ready_at_end)
        make_range_ready(x, 0, end);
    return gnndrive_buffer_wait_rows(x->s->fb, &x->claim, err);
}

/* After a failure: no slot is given away while a read or a copy may still land in it. */
static void drain(struct extraction *x)
{
    struct gnn_tensor *tensor = x->s->env->tensor;
    gnn_reader_drain(x->own->reader);
    if (staged(x))
        tensor->ops->upload_wait(tensor, x->claim.extractor);
}

static enum gnn_status check_size(const struct gnndrive *s, const struct gnn_batch_view *view, struct gnn_err *err)
{
    if (view->node_count <= s->sizes.node_limit)
        return GNN_OK;
    return gnn_fail(err, GNN_ECAP,
                    "gnndrive: batch %" PRIu64 " has %" PRIu32 " nodes; %" PRIu32 " slots shared by %" PRIu32
                    " extractors hold %" PRIu32 " without deadlock: raise gnndrive.batch_nodes or "
                    "gnndrive.buffer_mult, or lower gnndrive.extractors",
                    view->batch, view->node_count, s->sizes.slots, s->config->extractors, s->sizes.node_limit);
}

enum gnn_status gnndrive_extract(struct gnndrive *s, uint32_t extractor, struct gnndrive_item *item,
                                 struct gnn_err *err)
{
    const struct gnn_batch_view *view = gnn_batch_view(item->batch);
    GNN_TRY(check_size(s, view, err));
    struct gnndrive_extractor *own = &s->extractors[extractor];
    struct extraction x = {
        .s = s,
        .own = own,
        .claim = {.extractor = extractor,
                  .nodes = view->nodes,
                  .node_count = view->node_count,
                  .alias = item->alias,
                  .load_key = own->load_key,
                  .load_slot = own->load_slot,
                  .wait = own->wait,
                  .pending = own->pending},
        .ready_at_end = s->config->valid == GNNDRIVE_VALID_BATCH,
    };
    lock(&x);
    enum gnn_status status = GNN_OK;
    if (s->config->in_order && !s->sizes.whole)
        status = gnndrive_buffer_admit(s->fb, item->k, view->node_count);
    if (status != GNN_OK) {
        unlock(&x);
        return status;
    }
    gnndrive_buffer_pin(s->fb, &x.claim);
    status = gnndrive_buffer_take_slots(s->fb, &x.claim, UINT32_MAX, err);
    if (status == GNN_OK)
        status = read_rows(&x, err);
    if (status == GNN_OK) {
        gnndrive_buffer_publish(s->fb, &x.claim);
        item->held = true;
    } else {
        drain(&x);
        lock(&x);
        gnndrive_buffer_abandon(s->fb, &x.claim);
    }
    unlock(&x);
    return status;
}

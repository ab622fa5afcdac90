/* Extraction of one mini-batch: pin, take slots, read what is absent straight into the slots, wait for what
 * others read (gnndrive.md section 3, steps 1 to 7; CPU variant: no staging buffer, a row is ready when its
 * read completed).
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
    struct feature_claim claim;
    bool locked;
    bool ready_at_end; /* rows become ready together when all have arrived */
    uint32_t arrived;
};

static void lock(struct extraction *x)
{
    if (!x->locked)
        feature_buffer_lock(x->s->fb);
    x->locked = true;
}

static void unlock(struct extraction *x)
{
    if (x->locked)
        feature_buffer_unlock(x->s->fb);
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
        .dst = (char *)x->s->slots + (uint64_t)x->claim.load_slot[index] * layout->load_bytes,
        .tag = index,
    };
}

/* Takes completions, sleeping for `min` of them, and makes their rows ready. */
static enum gnn_status harvest(struct extraction *x, uint32_t min, struct gnn_err *err)
{
    uint64_t tags[CHUNK];
    uint32_t index[CHUNK], got = 0;
    GNN_TRY(gnn_reader_harvest(x->own->reader, min, CHUNK, tags, &got, err));
    x->arrived += got;
    if (got == 0 || x->ready_at_end)
        return GNN_OK;
    for (uint32_t i = 0; i < got; i++)
        index[i] = (uint32_t)tags[i];
    const bool was_locked = x->locked;
    lock(x);
    feature_buffer_ready(x->s->fb, &x->claim, index, got);
    if (!was_locked)
        unlock(x);
    return GNN_OK;
}

/* Submits every load, harvesting what is there after each submission; sleeps only when the ring is full. */
static enum gnn_status submit_all(struct extraction *x, struct gnn_err *err)
{
    struct gnn_load loads[CHUNK];
    uint32_t next = 0;
    while (next < x->claim.load_count) {
        const uint32_t left = x->claim.load_count - next;
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

static void all_ready(struct extraction *x)
{
    uint32_t index[CHUNK];
    for (uint32_t next = 0; next < x->claim.load_count;) {
        uint32_t count = 0;
        while (count < CHUNK && next < x->claim.load_count)
            index[count++] = next++;
        feature_buffer_ready(x->s->fb, &x->claim, index, count);
    }
}

static enum gnn_status read_rows(struct extraction *x, struct gnn_err *err)
{
    const struct gnndrive_config *config = x->s->config;
    if (!config->serial_extract && !config->lock_submit)
        unlock(x);
    GNN_TRY(submit_all(x, err));
    if (!config->serial_extract)
        unlock(x);
    while (x->arrived < x->claim.load_count)
        GNN_TRY(harvest(x, 1, err));
    lock(x);
    if (x->ready_at_end)
        all_ready(x);
    return feature_buffer_wait_rows(x->s->fb, &x->claim, err);
}

static enum gnn_status check_size(const struct gnndrive *s, const struct gnn_batch_view *view,
                                  struct gnn_err *err)
{
    if (view->node_count <= s->sizes.node_limit)
        return GNN_OK;
    return gnn_fail(err, GNN_ECAP,
                    "gnndrive: batch %" PRIu64 " has %" PRIu32 " nodes; %" PRIu32 " slots shared by %" PRIu32
                    " extractors hold %" PRIu32 " without deadlock: raise gnndrive.batch_nodes or "
                    "gnndrive.buffer_mult, or lower gnndrive.extractors",
                    view->batch, view->node_count, s->sizes.slots, s->config->extractors,
                    s->sizes.node_limit);
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
        status = feature_buffer_admit(s->fb, item->k, view->node_count);
    if (status != GNN_OK) {
        unlock(&x);
        return status;
    }
    feature_buffer_pin(s->fb, &x.claim);
    status = feature_buffer_take_slots(s->fb, &x.claim, UINT32_MAX, err);
    if (status == GNN_OK)
        status = read_rows(&x, err);
    if (status == GNN_OK) {
        feature_buffer_publish(s->fb, &x.claim);
        item->held = true;
    } else {
        gnn_reader_drain(own->reader); /* no slot is given away while a read may still land in it */
        lock(&x);
        feature_buffer_abandon(s->fb, &x.claim);
    }
    unlock(&x);
    return status;
}

/* SPDX-License-Identifier: MIT */
/* Extraction of one mini-batch: pin, take slots, read absent rows, wait for rows that other batches read (GNNDrive
 * section 4.2, "Extraction Procedure"; Appendix C, Algorithm 1).
 *
 * CPU: reads land in the slots, and a row is ready when its read completed. GPU: reads land in the extractor's part of
 * the staging buffer, each completed read starts a copy to its slot (coalesce: one copy for loads that lie together;
 * transfer=gather: one kernel for all that completed together), and rows are ready when the copies of the round have
 * landed. A round is as many loads as the part holds; with the paper's Mb that is nearly always the whole batch. No
 * read goes to staging memory whose copy has not landed. Blocks, labels and aliases follow in one copy.
 *
 * Several ranks with GPUs share the staging buffer (staging.h): a round is as many loads as there are slots for, in the
 * own portion or borrowed; what is already in a slot is copied from there and not read. A round's slots are let go when
 * its copies have landed and before any lock is taken, so that nobody waits for a slot while holding one.
 *
 * Who holds the table lock (sleeping for a slot or a row releases it meanwhile):
 *
 *   lock reach   pin, take slots   submit      collect, copy   wait list, publish   trainer, before its step
 *   LOOKUP       extractor         per chunk   per chunk       extractor            -
 *   SUBMIT       extractor         extractor   per chunk       extractor            -
 *   EXTRACTION   extractor         extractor   extractor       extractor            takes it and lets it go
 *
 * Per chunk: only while up to CHUNK arrived rows are marked ready. The releaser takes the lock per batch. Rows that
 * straddle sectors and groups cut at the end of the file are handled by the reader. */
#include "systems/gnndrive/gnndrive.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 };

struct extraction {
    struct gnndrive *s;
    struct gnndrive_extractor *own;
    struct gnndrive_claim *claim;
    bool locked;       /* by this extraction */
    bool ready_at_end; /* rows become ready together when all have arrived */
    uint32_t arrived;
    uint32_t held_first, held_end; /* loads whose shared staging slots this extraction holds */
};

static bool shares_staging(const struct extraction *x)
{
    return x->s->sizes.portion > 0;
}

static bool staged(const struct extraction *x)
{
    return x->own->staging != NULL || shares_staging(x);
}

/* A shared slot that held the load's group already is marked: there is nothing to read. */
#define PRESENT (UINT32_C(1) << 31)
_Static_assert(GNNDRIVE_STAGING_SLOTS_MAX < PRESENT, "the highest bit is free");

static bool present(const struct extraction *x, uint32_t index)
{
    return shares_staging(x) && (x->own->stage[index] & PRESENT) != 0;
}

static char *slot_of(const struct extraction *x, uint32_t index)
{
    return (char *)x->s->slots + (uint64_t)x->claim->load_slot[index] * x->s->sizes.layout.load_bytes;
}

static char *staging_of(const struct extraction *x, uint32_t index)
{
    if (shares_staging(x))
        return gnndrive_staging_memory(x->s->shared->staging, x->own->stage[index] & ~PRESENT);
    return x->own->staging + (uint64_t)(index % x->s->sizes.staging) * x->s->sizes.layout.load_bytes;
}

static void lock_tables(struct extraction *x)
{
    if (!x->locked)
        gnndrive_buffer_lock(x->s->fb);
    x->locked = true;
}

static void unlock_tables(struct extraction *x)
{
    if (x->locked)
        gnndrive_buffer_unlock(x->s->fb);
    x->locked = false;
}

/* Unlocks at the end of a phase unless the lock reaches further. */
static void end_phase(struct extraction *x, enum gnndrive_lock_reach phase)
{
    if (x->s->sizes.lock_reach == phase)
        unlock_tables(x);
}

static struct gnn_load load_of(const struct extraction *x, uint32_t index)
{
    assert(index < x->claim->slot_count);
    const struct gnn_row_layout *layout = &x->s->sizes.layout;
    const uint64_t row = (uint64_t)x->claim->load_key[index] * layout->rows_per_load;
    const struct gnn_row_range range = gnn_row_range(layout, row, x->s->env->dataset->feature_bytes);
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
    lock_tables(x);
    gnndrive_buffer_ready(x->s->fb, x->claim, index, count);
    if (!was_locked)
        unlock_tables(x);
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

/* Starts the copy of a load that has arrived, and of those behind it that lie at its end in both memories; returns how
 * many. index: (count) ascending. */
static uint32_t start_copy(const struct extraction *x, const uint32_t *index, uint32_t count)
{
    struct gnn_tensor *tensor = x->s->env->tensor;
    const struct gnn_load first = load_of(x, index[0]);
    uint64_t bytes = first.len_bytes;
    uint32_t n = 1;
    for (; x->s->config->coalesce && n < count; n++) {
        const struct gnn_load next = load_of(x, index[n]);
        if ((char *)next.dst != (char *)first.dst + bytes || slot_of(x, index[n]) != slot_of(x, index[0]) + bytes)
            break;
        bytes += next.len_bytes;
    }
    tensor->ops->upload_async(tensor, x->claim->extractor, slot_of(x, index[0]), first.dst, bytes);
    return n;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* Starts the loads' copies to their slots: one each or joined, or a kernel for all of them. */
static void start_copies(const struct extraction *x, const uint32_t *index, uint32_t count)
{
    struct gnn_tensor *tensor = x->s->env->tensor;
    uint32_t to[CHUNK], from[CHUNK];
    if (x->s->config->transfer == GNNDRIVE_TRANSFER_COPIES) {
        for (uint32_t i = 0; i < count;)
            i += start_copy(x, index + i, count - i);
        return;
    }
    uint64_t bytes;
    const char *const base = shares_staging(x) ? gnndrive_staging_all(x->s->shared->staging, &bytes) : x->own->staging;
    for (uint32_t i = 0; i < count; i++) {
        to[i] = x->claim->load_slot[index[i]];
        from[i] = (uint32_t)((uint64_t)(staging_of(x, index[i]) - base) / x->s->sizes.layout.load_bytes);
    }
    tensor->ops->upload_rows(tensor, x->claim->extractor, x->s->slots, to, base, from, count,
                             x->s->sizes.layout.load_bytes);
}

/* Collects completions, sleeping for `min` of them; marks their rows ready, or starts their copies to the GPU. */
static enum gnn_status harvest(struct extraction *x, uint32_t min, struct gnn_err *err)
{
    uint64_t tags[CHUNK];
    uint32_t index[CHUNK], got = 0;
    GNN_TRY(gnn_reader_harvest(x->own->reader, min, CHUNK, tags, &got, err));
    x->arrived += got;
    assert(x->arrived <= x->claim->load_count);
    for (uint32_t i = 0; i < got; i++)
        index[i] = (uint32_t)tags[i];
    for (uint32_t i = 0; shares_staging(x) && i < got; i++)
        gnndrive_staging_publish(x->s->shared->staging, x->own->stage[index[i]]);
    if (x->s->config->coalesce)
        qsort(index, got, sizeof *index, by_number);
    if (got > 0 && staged(x))
        start_copies(x, index, got);
    if (got > 0 && !staged(x) && !x->ready_at_end)
        make_ready(x, index, got);
    return GNN_OK;
}

/* Submits what is to be read of loads [next, end), collecting finished ones after each submission; sleeps only when the
 * ring is full. */
static enum gnn_status submit_range(struct extraction *x, uint32_t next, uint32_t end, struct gnn_err *err)
{
    struct gnn_load loads[CHUNK]; /* offered; those that a full ring turns away are offered again, with others behind */
    uint32_t count = 0;
    for (;;) {
        uint32_t accepted;
        for (; next < end && count < CHUNK; next++)
            if (!present(x, next))
                loads[count++] = load_of(x, next);
        if (count == 0)
            return GNN_OK;
        GNN_TRY(gnn_reader_submit(x->own->reader, loads, count, &accepted, err));
        assert(accepted <= count);
        count -= accepted;
        memmove(loads, loads + accepted, count * sizeof *loads);
        GNN_TRY(harvest(x, accepted == 0 ? 1 : 0, err));
    }
}

/* Lets the shared staging slots of the round go: nothing is on its way into or out of them. */
static void let_go(struct extraction *x)
{
    for (uint32_t i = x->held_first; i < x->held_end; i++)
        gnndrive_staging_release(x->s->shared->staging, x->own->stage[i] & ~PRESENT);
    x->held_first = x->held_end;
}

/* Waits until the submitted loads before `end` lie in their slots. */
static enum gnn_status finish_round(struct extraction *x, uint32_t first, uint32_t end, struct gnn_err *err)
{
    while (x->arrived < end)
        GNN_TRY(harvest(x, 1, err));
    if (!staged(x) || first == end)
        return GNN_OK;
    struct gnn_tensor *tensor = x->s->env->tensor;
    tensor->ops->upload_wait(tensor, x->claim->extractor); /* what the round loaded */
    let_go(x);
    if (!x->ready_at_end)
        make_range_ready(x, first, end);
    return GNN_OK;
}

/* Takes a shared slot for load `index`, if there is one: with its group in it where that is present (its copy starts at
 * once), else to read into. */
static bool take_slot(struct extraction *x, uint32_t index)
{
    struct gnndrive_staging *const staging = x->s->shared->staging;
    const uint32_t key = x->claim->load_key[index], rank = x->s->env->rank;
    uint32_t slot = gnndrive_staging_find(staging, rank, key);
    const bool found = slot != GNNDRIVE_STAGING_NONE;
    if (!found)
        slot = gnndrive_staging_take(staging, rank, key);
    if (slot == GNNDRIVE_STAGING_NONE)
        return false;
    x->own->stage[index] = found ? slot | PRESENT : slot;
    x->held_end = index + 1;
    if (found) {
        (void)start_copy(x, &index, 1);
        x->arrived++;
    }
    return true;
}

/* Decides which loads the round from `first` on brings in: all that there is staging memory for. */
static enum gnn_status begin_round(struct extraction *x, uint32_t first, uint32_t *end, struct gnn_err *err)
{
    const uint32_t left = x->claim->load_count - first;
    *end = first + (staged(x) && !shares_staging(x) ? gnn_min_u32(left, x->s->sizes.staging) : left);
    if (!shares_staging(x))
        return GNN_OK;
    x->held_first = x->held_end = first;
    while (x->held_end < *end) {
        if (take_slot(x, x->held_end))
            continue;
        if (x->held_end > first)
            *end = x->held_end;
        else
            GNN_TRY(gnndrive_staging_wait(x->s->shared->staging, x->s->env->rank, err));
    }
    return GNN_OK;
}

/* Reads the claim's loads and waits for the rows that other batches read. Locked before, and after unless it fails. */
static enum gnn_status read_rows(struct extraction *x, struct gnn_err *err)
{
    assert(x->locked);
    end_phase(x, GNNDRIVE_LOCK_LOOKUP);
    uint32_t first = 0, end;
    GNN_TRY(begin_round(x, first, &end, err));
    GNN_TRY(submit_range(x, first, end, err));
    while (end < x->claim->load_count) {
        GNN_TRY(finish_round(x, first, end, err));
        first = end;
        GNN_TRY(begin_round(x, first, &end, err));
        GNN_TRY(submit_range(x, first, end, err));
    }
    end_phase(x, GNNDRIVE_LOCK_SUBMIT);
    GNN_TRY(finish_round(x, first, end, err));
    lock_tables(x);
    if (x->ready_at_end)
        make_range_ready(x, 0, end);
    return gnndrive_buffer_wait_rows(x->s->fb, x->claim, err);
}

/* Waits, after a failure, for reads and copies in flight: they may still land in slots that are given away next. */
static void drain_reads(struct extraction *x)
{
    struct gnn_tensor *tensor = x->s->env->tensor;
    gnn_reader_drain(x->own->reader);
    if (staged(x))
        tensor->ops->upload_wait(tensor, x->claim->extractor);
    let_go(x);
}

static enum gnn_status check_size(const struct gnndrive *s, const struct gnn_batch_view *view, struct gnn_err *err)
{
    if (view->node_count <= s->sizes.node_limit)
        return GNN_OK;
    return gnn_fail(
        err, GNN_ECAP,
        "gnndrive: batch %" PRIu64 " has %" PRIu32 " nodes, but %" PRIu32 " slots shared by %" PRIu32
        " extractors hold at most %" PRIu32
        " without deadlock: raise gnndrive.batch_nodes or gnndrive.buffer_mult, or lower gnndrive.extractors",
        view->batch, view->node_count, s->sizes.slots, s->config->extractors, s->sizes.node_limit);
}

/* Locked before and after. On failure nothing is in flight and nothing is pinned. */
static enum gnn_status fill_claim(struct extraction *x, struct gnn_err *err)
{
    struct gnndrive_buffer *fb = x->s->fb;
    gnndrive_buffer_pin(fb, x->claim);
    enum gnn_status status = gnndrive_buffer_take_slots(fb, x->claim, UINT32_MAX, err);
    gnn_env_range(x->s->env, "read");
    GNN_NEXT(status, read_rows(x, err));
    gnn_env_range(x->s->env, NULL);
    if (status == GNN_OK) {
        gnndrive_buffer_publish(fb, x->claim);
        return GNN_OK;
    }
    drain_reads(x);
    lock_tables(x);
    gnndrive_buffer_abandon(fb, x->claim);
    return status;
}

enum gnn_status gnndrive_extract(struct gnndrive *s, uint32_t extractor, struct gnndrive_item *item,
                                 struct gnn_err *err)
{
    assert(extractor < s->config->extractors);
    assert(!item->held);
    const struct gnn_batch_view *view = gnn_batch_view(item->batch);
    GNN_TRY(check_size(s, view, err));
    struct gnndrive_extractor *own = &s->extractors[extractor];
    struct extraction x = {
        .s = s,
        .own = own,
        .claim = &own->claim,
        .ready_at_end = s->config->valid == GNNDRIVE_VALID_BATCH,
    };
    x.claim->extractor = extractor;
    x.claim->nodes = view->nodes;
    x.claim->node_count = view->node_count;
    x.claim->alias = item->alias;
    enum gnn_status status = GNN_OK;
    lock_tables(&x);
    if ((s->config->in_order || s->sizes.sharing > 1) && !s->sizes.holds_all)
        status = gnndrive_buffer_admit(s->fb, s->config->in_order ? item->k : GNNDRIVE_ANY_TICKET, view->node_count);
    GNN_NEXT(status, fill_claim(&x, err));
    unlock_tables(&x);
    item->held = status == GNN_OK;
    if (status == GNN_OK && staged(&x)) /* blocks, labels and aliases follow the rows */
        status = gnn_train_input_stage(&item->input, extractor, view, item->alias, err);
    return status;
}

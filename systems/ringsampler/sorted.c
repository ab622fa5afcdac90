/* SPDX-License-Identifier: MIT */
/* Reads in the order of the file. Lists lie in the file in the order of their nodes, so the targets of a hop, of every
 * mini-batch of a bundle, are put in order of node; then one sweep draws their positions, joins them into reads and
 * reads each wanted block once, in pieces up to `extent` long, passing over gaps up to `gap` rather than ending a read.
 * Ours: RingSampler's section 4.4 asks for a cache, and its reads repeat sectors that many targets share.
 *
 * Reads    direct, asynchronous on the thread's ring, into a circular buffer; while they are in flight the next 256th
 *          of the targets is put in order and drawn
 * Cache    blocks read once stay while there is room (sector_cache.h); a target whose samples all lie there needs no
 *          entry in the sweep
 * Memory   8 B a target in the thread's workspace; when they do not fit, the hop takes several sweeps. The read buffer,
 *          and a window of the samples that wait for reads in flight
 * Errors   as fetch.h; GNN_EUSAGE when position and slot do not share 64 bits */
#include "harness/base/id_width.h"
#include "systems/ringsampler/extents.h"
#include "systems/ringsampler/fetch.h"
#include "systems/ringsampler/offsets.h"
#include "systems/ringsampler/ringsampler.h"
#include "systems/ringsampler/sector_cache.h"

#include <assert.h>
#include <inttypes.h>

enum {
    CHUNK = 1024,   /* positions drawn before they are looked up: their cache lines arrive meanwhile */
    WINDOW = 65536, /* samples in reads in flight */
    TARGET_BITS = 32,
    DRAWN_MAX = RS_BUNDLE_MAX * GNN_FANOUT_MAX,
    UNIT_BYTES_MIN = 512,
};
_Static_assert((WINDOW & (WINDOW - 1)) == 0, "the window is indexed by a mask");
_Static_assert(DRAWN_MAX <= WINDOW, "the samples of one node fit the window");

/* A read in flight; its extent's begin and end are running numbers of samples. */
struct flight {
    struct rs_extent extent;
    const unsigned char *data;
    uint64_t buffer_begin; /* running offset into the circular buffer */
    bool done;
};

struct sorted {
    struct rs_fetch base;
    struct rs_cache *cache; /* NULL: none */
    struct rs_extent_rules rules;
    uint32_t unit_bytes;
    unsigned char *buffer;
    uint64_t buffer_bytes, buffer_tail; /* running offset */
    uint32_t depth;
    struct flight *flights; /* (depth), circular */
    uint64_t flight_head, flight_tail;
    struct gnn_read *pending; /* (depth): laid out, not yet handed over */
    uint32_t pending_count;
    uint64_t *tags;        /* (depth) */
    uint64_t *window;      /* (WINDOW): position << slot_bits | slot, circular */
    uint64_t window_tail;  /* running number of the next sample */
    struct rs_extent open; /* the read that samples are being joined to; none while begin == end */
    uint64_t *drawn;       /* (DRAWN_MAX): samples of one node, of every batch that has it */
    uint64_t *positions;   /* (CHUNK + GNN_FANOUT_MAX) */
    const void **found;    /* likewise */
    /* of one fetch */
    struct rs_hop *const *hops;
    uint32_t hop_count, target_bits; /* an entry is node << 32 | hop << target_bits | target */
    uint32_t *out;                   /* slots count from here */
    uint32_t key_bits;               /* of position and slot */
    uint64_t entry_count;
};

/* ---- reads in flight ---- */

/* Takes the bytes of a completed read: values to their slots, blocks to the cache. */
static void land(struct sorted *x, struct flight *f)
{
    assert(!f->done);
    rs_extent_scatter(&x->rules, x->window, &f->extent, f->data, x->out);
    f->done = true;
    if (x->cache == NULL)
        return;
    const uint64_t first_byte = f->extent.first_unit * x->unit_bytes;
    for (uint64_t u = 0; u < f->extent.units; u++) {
        const uint64_t left = x->base.file_bytes - first_byte - u * x->unit_bytes;
        rs_cache_offer(x->cache, f->extent.first_unit + u, f->data + u * x->unit_bytes,
                       gnn_min_u64(left, x->unit_bytes));
    }
}

static enum gnn_status harvest(struct sorted *x, uint32_t min, struct gnn_err *err)
{
    uint32_t got;
    GNN_TRY(gnn_ring_reads_wait(&x->base.reads, min, x->depth, x->tags, &got, err));
    for (uint32_t i = 0; i < got; i++) {
        assert(x->tags[i] >= x->flight_head);
        assert(x->tags[i] < x->flight_tail);
        land(x, &x->flights[x->tags[i] % x->depth]);
    }
    while (x->flight_head < x->flight_tail && x->flights[x->flight_head % x->depth].done)
        x->flight_head++;
    return GNN_OK;
}

static enum gnn_status hand_over(struct sorted *x, struct gnn_err *err)
{
    const uint32_t count = x->pending_count;
    x->pending_count = 0;
    return rs_fetch_submit(&x->base, x->pending, count, err);
}

static enum gnn_status hand_over_and_wait(struct sorted *x, struct gnn_err *err)
{
    GNN_TRY(hand_over(x, err));
    return harvest(x, 1, err);
}

/* Waits until there is room for a read, in the buffer and in the ring. */
static enum gnn_status make_room(struct sorted *x, uint64_t bytes, struct gnn_err *err)
{
    assert(bytes <= x->buffer_bytes);
    const uint64_t at = x->buffer_tail % x->buffer_bytes;
    if (at + bytes > x->buffer_bytes)
        x->buffer_tail += x->buffer_bytes - at; /* a read is not split at the buffer's end */
    while (x->flight_tail - x->flight_head == x->depth ||
           (x->flight_head < x->flight_tail &&
            x->buffer_tail + bytes - x->flights[x->flight_head % x->depth].buffer_begin > x->buffer_bytes))
        GNN_TRY(hand_over_and_wait(x, err));
    return GNN_OK;
}

/* Lays out the read of an extent; an eighth of the ring's depth goes over at a time. */
static enum gnn_status launch(struct sorted *x, const struct rs_extent *extent, struct gnn_err *err)
{
    const uint64_t bytes = extent->units * x->unit_bytes;
    assert(extent->units <= x->rules.units_max);
    GNN_TRY(make_room(x, bytes, err));
    unsigned char *const dst = x->buffer + x->buffer_tail % x->buffer_bytes;
    x->flights[x->flight_tail % x->depth] =
        (struct flight){.extent = *extent, .data = dst, .buffer_begin = x->buffer_tail};
    assert(x->pending_count < x->depth);
    x->pending[x->pending_count++] = rs_fetch_read(&x->base, extent, x->unit_bytes, dst, x->flight_tail);
    x->flight_tail++;
    x->buffer_tail += bytes;
    if (x->pending_count < x->depth / 8 + 1)
        return GNN_OK;
    GNN_TRY(hand_over(x, err));
    return harvest(x, 0, err);
}

/* Forgets the fetch after a failure, once nothing of it is in flight. */
static void reset(struct sorted *x)
{
    gnn_ring_reads_drain(&x->base.reads);
    x->flight_head = x->flight_tail = x->buffer_tail = x->window_tail = 0;
    x->open = (struct rs_extent){.begin = 0};
    x->pending_count = 0;
}

/* ---- joining samples into reads ---- */

static bool is_open(const struct sorted *x)
{
    return x->open.begin < x->open.end;
}

static enum gnn_status end_read(struct sorted *x, struct gnn_err *err)
{
    if (!is_open(x))
        return GNN_OK;
    const struct rs_extent whole = x->open;
    x->open.begin = whole.end;
    return launch(x, &whole, err);
}

/* The first sample that waits for a read: of those in flight, else of those being joined. */
static uint64_t window_head(const struct sorted *x)
{
    return x->flight_head < x->flight_tail ? x->flights[x->flight_head % x->depth].extent.begin : x->open.begin;
}

/* Adds one sample; they come in ascending order of position. */
static enum gnn_status join(struct sorted *x, uint64_t sample, struct gnn_err *err)
{
    const uint64_t unit = rs_unit_of(&x->rules, sample);
    if (is_open(x) && !rs_extent_reaches(&x->rules, &x->open, unit))
        GNN_TRY(end_read(x, err));
    while (x->window_tail - window_head(x) == WINDOW) {
        GNN_TRY(end_read(x, err));
        GNN_TRY(hand_over_and_wait(x, err));
    }
    if (!is_open(x)) {
        x->open.first_unit = unit;
        x->open.begin = x->open.end = x->window_tail;
    }
    x->window[x->window_tail++ & x->rules.index_mask] = sample;
    x->open.end = x->window_tail;
    x->open.units = unit - x->open.first_unit + 1;
    return GNN_OK;
}

/* ---- one sweep ---- */

/* Draws the samples of one target of an entry to `out`; what the cache holds goes to its slot at once. Returns how many
 * are to be read. Compiled for each width on its own. */
static inline uint32_t draw_entry(struct sorted *x, uint32_t id_bytes, uint64_t entry, uint64_t *out)
{
    const uint32_t low = (uint32_t)entry;
    assert((uint64_t)low >> x->target_bits < x->hop_count);
    const struct rs_hop *const hop = x->hops[(uint64_t)low >> x->target_bits];
    const uint32_t t = low & (uint32_t)((UINT64_C(1) << x->target_bits) - 1);
    const uint64_t slot = (uint64_t)(hop->col - x->out) + hop->row_start[t];
    const uint32_t count = rs_draw_node(hop, (gnn_node)(entry >> TARGET_BITS), x->positions);
    uint32_t missing = 0;
    for (uint32_t i = 0; i < count; i++) {
        const void *const value = x->cache == NULL ? NULL : rs_cache_find(x->cache, id_bytes, x->positions[i]);
        if (value != NULL)
            x->out[slot + i] = gnn_id_at(value, id_bytes, 0);
        else
            out[missing++] = x->positions[i] << x->rules.slot_bits | (slot + i);
    }
    if (x->cache != NULL) {
        x->base.counts.cache_misses += missing;
        x->base.counts.cache_hits += count - missing;
    }
    return missing;
}

/* Reads for entries in order of node. Several batches may have drawn from one node's list: their samples are merged. */
static enum gnn_status read_nodes(struct sorted *x, uint64_t begin, uint64_t end, struct gnn_err *err)
{
    const uint64_t *const entries = x->base.thread->entries;
    const bool narrow = x->base.id_bytes == sizeof(gnn_node);
    while (begin < end) {
        const uint64_t node = entries[begin] >> TARGET_BITS;
        uint32_t count = 0, batches = 0;
        for (; begin < end && entries[begin] >> TARGET_BITS == node; begin++, batches++)
            count += narrow ? draw_entry(x, sizeof(gnn_node), entries[begin], x->drawn + count)
                            : draw_entry(x, sizeof(uint64_t), entries[begin], x->drawn + count);
        assert(count <= DRAWN_MAX);
        if (batches > 1 || x->hops[0]->replace)
            gnn_sort_keys(x->drawn, count, x->rules.slot_bits, x->key_bits);
        for (uint32_t i = 0; i < count; i++)
            GNN_TRY(join(x, x->drawn[i], err));
    }
    return GNN_OK;
}

/* Sorts the entries in 256 partitions; each is sorted while reads of the previous one are in flight. */
static enum gnn_status read_parts(struct sorted *x, struct gnn_err *err)
{
    uint64_t *const entries = x->base.thread->entries;
    const uint32_t high_bit = TARGET_BITS + rs_bits(x->base.thread->s->env->dataset->node_count);
    if (high_bit <= TARGET_BITS + 8) {
        gnn_sort_keys(entries, x->entry_count, TARGET_BITS, high_bit);
        return read_nodes(x, 0, x->entry_count, err);
    }
    uint64_t starts[GNN_KEY_PARTS + 1];
    gnn_partition_keys(entries, x->entry_count, high_bit, starts);
    for (uint32_t g = 0; g < GNN_KEY_PARTS; g++) {
        gnn_sort_keys(entries + starts[g], starts[g + 1] - starts[g], TARGET_BITS, high_bit - 8);
        GNN_TRY(read_nodes(x, starts[g], starts[g + 1], err));
    }
    return GNN_OK;
}

static enum gnn_status sweep(struct sorted *x, struct gnn_err *err)
{
    if (x->entry_count == 0)
        return GNN_OK;
    gnn_charge(x->base.reads.world, GNN_WORK_SORTED_KEY, gnn_sort_keys_work(x->entry_count));
    GNN_TRY(read_parts(x, err));
    GNN_TRY(end_read(x, err));
    GNN_TRY(hand_over(x, err));
    while (x->flight_head < x->flight_tail)
        GNN_TRY(harvest(x, 1, err));
    assert(!is_open(x));
    x->entry_count = 0;
    x->base.counts.sweeps++;
    return GNN_OK;
}

/* ---- the targets of a hop ---- */

static enum gnn_status add_entry(struct sorted *x, uint32_t hop, uint32_t t, struct gnn_err *err)
{
    struct rs_thread *const thread = x->base.thread;
    if (x->entry_count == thread->entry_capacity)
        GNN_TRY(sweep(x, err));
    thread->entries[x->entry_count++] =
        (uint64_t)x->hops[hop]->targets[t] << TARGET_BITS | (uint64_t)hop << x->target_bits | t;
    return GNN_OK;
}

/* Serves those targets [begin, end) of a hop, whose `count` positions are drawn, of which the cache holds all samples;
 * the others become entries. Compiled for each width on its own. */
static inline enum gnn_status look_up(struct sorted *x, uint32_t h, uint32_t begin, uint32_t end, uint32_t count,
                                      uint32_t id_bytes, struct gnn_err *err)
{
    const struct rs_hop *const hop = x->hops[h];
    assert(count == hop->row_start[end] - hop->row_start[begin]);
    for (uint32_t i = 0; i < count; i++) {
        x->found[i] = rs_cache_find(x->cache, id_bytes, x->positions[i]);
        if (x->found[i] != NULL)
            __builtin_prefetch(x->found[i]);
    }
    const void **found = x->found;
    for (uint32_t t = begin; t < end; t++) {
        const uint32_t samples = hop->row_start[t + 1] - hop->row_start[t];
        uint32_t *const col = hop->col + hop->row_start[t];
        uint32_t i = 0;
        while (i < samples && found[i] != NULL) {
            col[i] = gnn_id_at(found[i], id_bytes, 0);
            i++;
        }
        found += samples;
        if (i == samples)
            x->base.counts.cache_hits += samples;
        else
            GNN_TRY(add_entry(x, h, t, err));
    }
    gnn_charge(x->base.reads.world, GNN_WORK_TABLE_ENTRY, count);
    return GNN_OK;
}

/* Makes entries of the targets of a hop that have samples. */
static enum gnn_status add_hop(struct sorted *x, uint32_t h, struct gnn_err *err)
{
    const struct rs_hop *const hop = x->hops[h];
    for (uint32_t t = 0; t < hop->target_count; t++)
        if (hop->row_start[t + 1] > hop->row_start[t])
            GNN_TRY(add_entry(x, h, t, err));
    return GNN_OK;
}

/* As add_hop, but draws first and asks the cache. */
static enum gnn_status add_hop_cached(struct sorted *x, uint32_t h, struct gnn_err *err)
{
    const struct rs_hop *const hop = x->hops[h];
    uint32_t count = 0, first = 0;
    for (uint32_t t = 0; t < hop->target_count; t++) {
        count += rs_draw(hop, t, x->positions + count);
        if (count < CHUNK && t + 1 < hop->target_count)
            continue;
        if (x->base.id_bytes == sizeof(gnn_node))
            GNN_TRY(look_up(x, h, first, t + 1, count, sizeof(gnn_node), err));
        else
            GNN_TRY(look_up(x, h, first, t + 1, count, sizeof(uint64_t), err));
        first = t + 1;
        count = 0;
    }
    return GNN_OK;
}

/* Divides the bits of keys: slots count from the lowest col; position and slot share a word, hop and target half of
 * one. */
static enum gnn_status lay_out_keys(struct sorted *x, struct gnn_err *err)
{
    uint32_t *low = x->hops[0]->col, *high = low, targets = 0;
    for (uint32_t i = 0; i < x->hop_count; i++) {
        const struct rs_hop *const hop = x->hops[i];
        low = hop->col < low ? hop->col : low;
        high = hop->col + hop->sample_count > high ? hop->col + hop->sample_count : high;
        targets = gnn_max_u32(targets, hop->target_count);
    }
    const uint64_t edges = x->base.thread->s->env->dataset->edge_count;
    x->out = low;
    x->rules.slot_bits = rs_bits((uint64_t)(high - low));
    x->key_bits = x->rules.slot_bits + rs_bits(edges);
    x->target_bits = rs_bits(targets);
    if (x->key_bits > 64 || x->target_bits + rs_bits(x->hop_count - 1) > TARGET_BITS)
        return gnn_fail(err, GNN_EUSAGE,
                        "ringsampler: %" PRIu64 " edges and %" PRIu64 " samples of a bundle of %" PRIu32
                        " batches exceed 64-bit sort keys: lower ringsampler.bundle or --batch",
                        edges, (uint64_t)(high - low), x->hop_count);
    return GNN_OK;
}

static enum gnn_status fetch_all(struct sorted *x, struct rs_hop *const *hops, uint32_t count, struct gnn_err *err)
{
    assert(count <= RS_BUNDLE_MAX);
    x->hops = hops;
    x->hop_count = count;
    x->entry_count = 0;
    GNN_TRY(lay_out_keys(x, err));
    for (uint32_t i = 0; i < count; i++)
        GNN_TRY((x->cache == NULL ? add_hop : add_hop_cached)(x, i, err));
    return sweep(x, err);
}

static enum gnn_status sorted_fetch(struct rs_fetch *fetch, struct rs_hop *const *hops, uint32_t count,
                                    struct gnn_err *err)
{
    struct sorted *const x = (struct sorted *)fetch;
    const enum gnn_status status = count == 0 ? GNN_OK : fetch_all(x, hops, count, err);
    if (status != GNN_OK)
        reset(x);
    return status;
}

/* ---- open, close ---- */

static void sorted_close(struct rs_fetch *fetch)
{
    struct sorted *const x = (struct sorted *)fetch;
    gnn_ring_reads_close(&fetch->reads);
    gnn_mem_free(fetch->thread->s->env->world, x->buffer);
    free(x->flights);
    free(x->pending);
    free(x->tags);
    free(x->positions);
    free((void *)x->found);
    free(x->window);
    free(x->drawn);
    free(x);
}

static const struct rs_fetch_ops sorted_ops = {.fetch = sorted_fetch, .close = sorted_close};

uint64_t rs_sorted_bytes(const struct ringsampler_config *config)
{
    const uint64_t a_read = sizeof(struct flight) + sizeof(struct gnn_read) + sizeof(uint64_t);
    return config->read_buffer_bytes + config->ring * a_read + gnn_ring_reads_bytes(config->ring, config->ring) +
           (CHUNK + GNN_FANOUT_MAX) * UINT64_C(16) + (WINDOW + DRAWN_MAX) * sizeof(uint64_t);
}

static enum gnn_status open_arrays(struct sorted *x, struct gnn_err *err)
{
    GNN_MEM_NEW(x->base.thread->s->env->world, x->buffer, x->buffer_bytes, "ringsampler read buffer", GNN_MEM_PINNED,
                err);
    GNN_NEW(x->flights, x->depth, err, "ringsampler: %" PRIu32 " reads in flight", x->depth);
    GNN_NEW(x->pending, x->depth, err, "ringsampler: %" PRIu32 " reads in flight", x->depth);
    GNN_NEW(x->tags, x->depth, err, "ringsampler: %" PRIu32 " reads in flight", x->depth);
    GNN_NEW(x->positions, CHUNK + GNN_FANOUT_MAX, err, "ringsampler: positions of a chunk");
    GNN_NEW(x->found, CHUNK + GNN_FANOUT_MAX, err, "ringsampler: positions of a chunk");
    GNN_NEW(x->window, WINDOW, err, "ringsampler: window of samples");
    GNN_NEW(x->drawn, DRAWN_MAX, err, "ringsampler: samples of a node");
    return GNN_OK;
}

enum gnn_status rs_sorted_open(struct rs_thread *thread, struct rs_fetch **out, struct gnn_err *err)
{
    const struct ringsampler_config *const c = thread->s->config;
    struct sorted *x;
    GNN_NEW(x, 1, err, "ringsampler: sorted reads");
    *out = &x->base;
    rs_fetch_init(&x->base, &sorted_ops, thread);
    x->cache = thread->s->cache;
    x->depth = c->ring;
    const uint32_t align = x->base.align_bytes;
    x->unit_bytes = x->cache != NULL ? RS_CACHE_BLOCK_BYTES : gnn_max_u32(align, UNIT_BYTES_MIN);
    if (align > x->unit_bytes || c->extent_bytes < x->unit_bytes)
        return gnn_fail(err, GNN_EUSAGE,
                        "ringsampler: direct reads here take at least %" PRIu32
                        " bytes: raise ringsampler.extent, or set ringsampler.cache=0",
                        align);
    x->rules = (struct rs_extent_rules){
        .unit_shift = rs_bits(x->unit_bytes / x->base.id_bytes) - 1,
        .gap_units = c->gap_bytes / x->unit_bytes,
        .units_max = c->extent_bytes / x->unit_bytes,
        .index_mask = WINDOW - 1,
        .id_bytes = x->base.id_bytes,
    };
    x->buffer_bytes = gnn_round_up(c->read_buffer_bytes, x->unit_bytes);
    GNN_TRY(open_arrays(x, err));
    return rs_fetch_open_ring(&x->base, x->depth, x->buffer, x->buffer_bytes, err);
}

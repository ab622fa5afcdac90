/* Reads in the order of the file. Lists lie in the file in the order of their nodes, so the targets of a hop, of every
 * mini-batch of a bundle, are put in order of node; then one sweep draws their positions, joins them into reads and
 * reads each wanted block once, in pieces up to `extent` long, passing over gaps up to `gap` rather than ending a read.
 * Ours: RingSampler's discussion asks for a cache, and its reads repeat sectors that many targets share
 * (specs/ringsampler.md section 4: 66 M samples touch 6.3 M pages an epoch).
 *
 * Reads    direct, asynchronous on the thread's ring, into a circular buffer; while they are in flight the next 256th
 *          of the targets is put in order and drawn
 * Cache    blocks read once stay while there is room (sector_cache.h); a target whose samples all lie there needs no
 *          entry in the sweep
 * Memory   8 B a target in the thread's workspace; when they do not fit, the hop takes several sweeps. The read buffer,
 *          and a window of the samples that wait for reads in flight
 * Errors   as ring_reads.h; GNN_EUSAGE when position and slot do not share 64 bits */
#include "systems/ringsampler/extents.h"
#include "systems/ringsampler/offsets.h"
#include "systems/ringsampler/ring_reads.h"
#include "systems/ringsampler/sector_cache.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
    CHUNK = 1024,   /* positions drawn before they are looked up: their cache lines arrive meanwhile */
    WINDOW = 65536, /* samples in reads in flight, a power of two */
    TARGET_BITS = 32,
    DRAWN_MAX = RS_BUNDLE_MAX * GNN_FANOUT_MAX,
};

struct flight {
    struct rs_extent extent; /* begin, end: running numbers of its samples */
    const unsigned char *data;
    uint64_t buffer_begin; /* running offset into the circular buffer */
    bool done;
};

struct sorted {
    struct rs_fetch base;
    struct rs_thread *thread;
    struct rs_cache *cache; /* NULL: none */
    struct rs_reads reads;
    struct rs_extent_rules rules;
    uint32_t unit_bytes;
    unsigned char *buffer;
    uint64_t buffer_bytes, buffer_tail; /* running offset */
    uint32_t depth;
    struct flight *flights; /* (depth), circular */
    uint64_t flight_head, flight_tail;
    struct gnn_read *pending; /* (depth): laid out, not yet handed over */
    uint32_t pending_count;
    uint64_t *tags;         /* (depth) */
    uint64_t *window;       /* (WINDOW): position << slot_bits | slot, circular */
    uint64_t window_tail;   /* running number of the next sample */
    struct rs_extent open;  /* the read that samples are being joined to; none while begin == end */
    uint64_t *drawn;        /* samples of one node, of every batch that has it */
    uint64_t *positions;    /* (CHUNK + GNN_FANOUT_MAX) */
    const uint32_t **found; /* likewise */
    /* of one fetch */
    struct rs_hop *const *hops;
    uint32_t hop_count, target_bits; /* an entry is node << 32 | hop << target_bits | target */
    uint32_t *out;                   /* slots count from here */
    uint32_t key_bits;               /* of position and slot */
    uint64_t entry_count;
};

/* ---- reads in flight ---- */

static void scatter(struct sorted *x, const struct flight *f)
{
    const uint32_t *const values = (const uint32_t *)(const void *)f->data;
    const uint64_t first = f->extent.first_unit << x->rules.unit_shift;
    const uint64_t slot_mask = (UINT64_C(1) << x->rules.slot_bits) - 1;
    for (uint64_t n = f->extent.begin; n < f->extent.end; n++) {
        const uint64_t sample = x->window[n & (WINDOW - 1)];
        x->out[sample & slot_mask] = values[(sample >> x->rules.slot_bits) - first];
    }
}

static void land(struct sorted *x, struct flight *f)
{
    scatter(x, f);
    f->done = true;
    if (x->cache == NULL)
        return;
    const uint64_t file_bytes = x->reads.file_bytes, first_byte = f->extent.first_unit * x->unit_bytes;
    for (uint64_t u = 0; u < f->extent.units; u++) {
        const uint64_t left = file_bytes - first_byte - u * x->unit_bytes;
        rs_cache_offer(x->cache, f->extent.first_unit + u, f->data + u * x->unit_bytes,
                       left < x->unit_bytes ? left : x->unit_bytes);
    }
}

static enum gnn_status harvest(struct sorted *x, uint32_t min, struct gnn_err *err)
{
    uint32_t got;
    GNN_TRY(rs_reads_take(&x->reads, min, x->tags, &got, err));
    for (uint32_t i = 0; i < got; i++)
        land(x, &x->flights[x->tags[i] % x->depth]);
    while (x->flight_head < x->flight_tail && x->flights[x->flight_head % x->depth].done)
        x->flight_head++;
    return GNN_OK;
}

static enum gnn_status hand_over(struct sorted *x, struct gnn_err *err)
{
    if (x->pending_count == 0)
        return GNN_OK;
    const uint32_t count = x->pending_count;
    x->pending_count = 0;
    return rs_reads_submit(&x->reads, x->pending, count, err);
}

/* Room for a read, in the buffer and in the ring. */
static enum gnn_status make_room(struct sorted *x, uint64_t bytes, struct gnn_err *err)
{
    const uint64_t at = x->buffer_tail % x->buffer_bytes;
    if (at + bytes > x->buffer_bytes)
        x->buffer_tail += x->buffer_bytes - at; /* a read is not split at the buffer's end */
    while (x->flight_tail - x->flight_head == x->depth ||
           (x->flight_head < x->flight_tail &&
            x->buffer_tail + bytes - x->flights[x->flight_head % x->depth].buffer_begin > x->buffer_bytes)) {
        GNN_TRY(hand_over(x, err));
        GNN_TRY(harvest(x, 1, err));
    }
    return GNN_OK;
}

static enum gnn_status launch(struct sorted *x, const struct rs_extent *extent, struct gnn_err *err)
{
    const uint64_t bytes = extent->units * x->unit_bytes;
    GNN_TRY(make_room(x, bytes, err));
    struct flight *const f = &x->flights[x->flight_tail % x->depth];
    *f = (struct flight){
        .extent = *extent, .data = x->buffer + x->buffer_tail % x->buffer_bytes, .buffer_begin = x->buffer_tail};
    x->pending[x->pending_count++] = (struct gnn_read){.file = x->reads.file,
                                                       .offset_bytes = extent->first_unit * x->unit_bytes,
                                                       .dst = x->buffer + x->buffer_tail % x->buffer_bytes,
                                                       .len_bytes = (uint32_t)bytes,
                                                       .tag = x->flight_tail};
    x->flight_tail++;
    x->buffer_tail += bytes;
    if (x->pending_count < x->depth / 8 + 1)
        return GNN_OK;
    GNN_TRY(hand_over(x, err));
    return harvest(x, 0, err);
}

static void reset(struct sorted *x)
{
    rs_reads_drain(&x->reads);
    x->flight_head = x->flight_tail = x->buffer_tail = x->window_tail = 0;
    x->open = (struct rs_extent){.begin = 0};
    x->pending_count = 0;
}

/* ---- joining samples into reads ---- */

static enum gnn_status end_read(struct sorted *x, struct gnn_err *err)
{
    if (x->open.begin == x->open.end)
        return GNN_OK;
    const struct rs_extent whole = x->open;
    x->open.begin = whole.end;
    return launch(x, &whole, err);
}

/* Samples from here on wait for a read: those in flight, then those being joined. */
static uint64_t window_head(const struct sorted *x)
{
    return x->flight_head < x->flight_tail ? x->flights[x->flight_head % x->depth].extent.begin : x->open.begin;
}

/* One sample; they come in ascending order of position. */
static enum gnn_status join(struct sorted *x, uint64_t sample, struct gnn_err *err)
{
    const uint64_t unit = sample >> x->rules.slot_bits >> x->rules.unit_shift;
    const bool starts = x->open.begin == x->open.end;
    if (!starts && (unit > x->open.first_unit + x->open.units + x->rules.gap_units ||
                    unit - x->open.first_unit >= x->rules.units_max))
        GNN_TRY(end_read(x, err));
    while (x->window_tail - window_head(x) == WINDOW) {
        GNN_TRY(end_read(x, err));
        GNN_TRY(hand_over(x, err));
        GNN_TRY(harvest(x, 1, err));
    }
    if (x->open.begin == x->open.end) {
        x->open.first_unit = unit;
        x->open.begin = x->open.end = x->window_tail;
    }
    x->window[x->window_tail++ & (WINDOW - 1)] = sample;
    x->open.end = x->window_tail;
    x->open.units = unit - x->open.first_unit + 1;
    return GNN_OK;
}

/* ---- one sweep ---- */

/* The samples of one target of an entry, to `out`; what the cache holds goes to its slot at once. */
static uint32_t draw_entry(struct sorted *x, uint64_t entry, uint64_t *out)
{
    const uint32_t low = (uint32_t)entry;
    const struct rs_hop *const hop = x->hops[(uint64_t)low >> x->target_bits];
    const uint32_t t = low & (uint32_t)((UINT64_C(1) << x->target_bits) - 1);
    const uint64_t slot = (uint64_t)(hop->col - x->out) + hop->row_start[t];
    const uint32_t count = rs_draw_node(hop, (gnn_node)(entry >> TARGET_BITS), x->positions);
    uint32_t missing = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *const value = x->cache == NULL ? NULL : rs_cache_find(x->cache, x->positions[i]);
        if (value != NULL)
            x->out[slot + i] = *value;
        else
            out[missing++] = x->positions[i] << x->rules.slot_bits | (slot + i);
    }
    if (x->cache != NULL) {
        x->base.counts.cache_misses += missing;
        x->base.counts.cache_hits += count - missing;
    }
    return missing;
}

/* Entries in order of node. Several batches may have drawn from one node's list: their samples are merged. */
static enum gnn_status read_nodes(struct sorted *x, uint64_t begin, uint64_t end, struct gnn_err *err)
{
    const uint64_t *const entries = x->thread->entries;
    while (begin < end) {
        const uint64_t node = entries[begin] >> TARGET_BITS;
        uint32_t count = 0, batches = 0;
        for (; begin < end && entries[begin] >> TARGET_BITS == node; begin++, batches++)
            count += draw_entry(x, entries[begin], x->drawn + count);
        if (batches > 1 || x->hops[0]->replace)
            rs_sort(x->drawn, count, x->rules.slot_bits, x->key_bits);
        for (uint32_t i = 0; i < count; i++)
            GNN_TRY(join(x, x->drawn[i], err));
    }
    return GNN_OK;
}

/* Puts a 256th of the nodes in order after another, each while reads of those before are in flight. */
static enum gnn_status read_parts(struct sorted *x, struct gnn_err *err)
{
    uint64_t *const entries = x->thread->entries;
    const uint32_t high_bit = TARGET_BITS + rs_bits(x->thread->s->env->dataset->node_count);
    if (high_bit <= TARGET_BITS + 8) {
        rs_sort(entries, x->entry_count, TARGET_BITS, high_bit);
        return read_nodes(x, 0, x->entry_count, err);
    }
    uint64_t starts[RS_PARTS + 1];
    rs_partition(entries, x->entry_count, high_bit, starts);
    for (uint32_t g = 0; g < RS_PARTS; g++) {
        rs_sort(entries + starts[g], starts[g + 1] - starts[g], TARGET_BITS, high_bit - 8);
        GNN_TRY(read_nodes(x, starts[g], starts[g + 1], err));
    }
    return GNN_OK;
}

static enum gnn_status sweep(struct sorted *x, struct gnn_err *err)
{
    if (x->entry_count == 0)
        return GNN_OK;
    gnn_charge(x->reads.world, GNN_WORK_SORTED_KEY, x->entry_count);
    GNN_TRY(read_parts(x, err));
    GNN_TRY(end_read(x, err));
    GNN_TRY(hand_over(x, err));
    while (x->flight_head < x->flight_tail)
        GNN_TRY(harvest(x, 1, err));
    x->entry_count = 0;
    x->base.counts.sweeps++;
    return GNN_OK;
}

/* ---- the targets of a hop ---- */

static enum gnn_status add_entry(struct sorted *x, uint32_t hop, uint32_t t, struct gnn_err *err)
{
    if (x->entry_count == x->thread->entry_capacity)
        GNN_TRY(sweep(x, err));
    x->thread->entries[x->entry_count++] =
        (uint64_t)x->hops[hop]->targets[t] << TARGET_BITS | (uint64_t)hop << x->target_bits | t;
    return GNN_OK;
}

/* Targets [begin, end) of a hop, whose `count` positions are drawn: served when the cache holds all of a target's. */
static enum gnn_status look_up(struct sorted *x, uint32_t h, uint32_t begin, uint32_t end, uint32_t count,
                               struct gnn_err *err)
{
    const struct rs_hop *const hop = x->hops[h];
    for (uint32_t i = 0; i < count; i++) {
        x->found[i] = rs_cache_find(x->cache, x->positions[i]);
        if (x->found[i] != NULL)
            __builtin_prefetch(x->found[i]);
    }
    const uint32_t **found = x->found;
    for (uint32_t t = begin; t < end; t++) {
        const uint32_t samples = hop->row_start[t + 1] - hop->row_start[t];
        uint32_t *const col = hop->col + hop->row_start[t];
        uint32_t i = 0;
        while (i < samples && found[i] != NULL) {
            col[i] = *found[i];
            i++;
        }
        found += samples;
        if (i == samples) /* col is never NULL: a sample is there already, or is none */
            x->base.counts.cache_hits += samples;
        else
            GNN_TRY(add_entry(x, h, t, err));
    }
    gnn_charge(x->reads.world, GNN_WORK_TABLE_ENTRY, count);
    return GNN_OK;
}

static enum gnn_status add_hop(struct sorted *x, uint32_t h, struct gnn_err *err)
{
    const struct rs_hop *const hop = x->hops[h];
    uint32_t count = 0, first = 0;
    for (uint32_t t = 0; t < hop->target_count; t++) {
        if (hop->row_start[t + 1] == hop->row_start[t] && x->cache == NULL)
            continue;
        if (x->cache == NULL) {
            GNN_TRY(add_entry(x, h, t, err));
            continue;
        }
        count += rs_draw(hop, t, x->positions + count);
        if (count < CHUNK && t + 1 < hop->target_count)
            continue;
        GNN_TRY(look_up(x, h, first, t + 1, count, err));
        first = t + 1;
        count = 0;
    }
    return GNN_OK;
}

/* Slots count from the lowest col; position and slot share a word, hop and target half of one. */
static enum gnn_status lay_out_keys(struct sorted *x, struct gnn_err *err)
{
    uint32_t *low = x->hops[0]->col, *high = low, targets = 0;
    for (uint32_t i = 0; i < x->hop_count; i++) {
        const struct rs_hop *const hop = x->hops[i];
        low = hop->col < low ? hop->col : low;
        high = hop->col + hop->sample_count > high ? hop->col + hop->sample_count : high;
        targets = hop->target_count > targets ? hop->target_count : targets;
    }
    const uint64_t edges = x->thread->s->env->dataset->edge_count;
    x->out = low;
    x->rules.slot_bits = rs_bits((uint64_t)(high - low));
    x->key_bits = x->rules.slot_bits + rs_bits(edges);
    x->target_bits = rs_bits(targets);
    if (x->key_bits > 64 || x->target_bits + rs_bits(x->hop_count - 1) > TARGET_BITS)
        return gnn_fail(err, GNN_EUSAGE,
                        "ringsampler: %" PRIu64 " edges, and %" PRIu64 " samples of a bundle of %" PRIu32
                        " batches: their numbers do not fit 64 bits; lower ringsampler.bundle or --batch",
                        edges, (uint64_t)(high - low), x->hop_count);
    return GNN_OK;
}

static enum gnn_status fetch_all(struct sorted *x, struct rs_hop *const *hops, uint32_t count, struct gnn_err *err)
{
    x->hops = hops;
    x->hop_count = count;
    x->entry_count = 0;
    GNN_TRY(lay_out_keys(x, err));
    for (uint32_t i = 0; i < count; i++)
        GNN_TRY(add_hop(x, i, err));
    return sweep(x, err);
}

static enum gnn_status sorted_fetch(struct rs_fetch *fetch, struct rs_hop *const *hops, uint32_t count,
                                    struct gnn_err *err)
{
    struct sorted *const x = (struct sorted *)fetch;
    const enum gnn_status status = count == 0 ? GNN_OK : fetch_all(x, hops, count, err);
    if (status != GNN_OK)
        reset(x);
    struct rs_fetch_counts *const counts = &x->base.counts;
    counts->reads = x->reads.issued;
    counts->completions = x->reads.completed;
    counts->requested_bytes = x->reads.requested_bytes;
    counts->submits = x->reads.submits;
    counts->in_flight_peak = x->reads.in_flight_peak;
    return status;
}

/* ---- open, close ---- */

static void sorted_close(struct rs_fetch *fetch)
{
    struct sorted *const x = (struct sorted *)fetch;
    if (x == NULL)
        return;
    rs_reads_close(&x->reads);
    gnn_mem_free(x->thread->s->env->world, x->buffer);
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
    return config->read_buffer_bytes + config->ring * a_read + rs_reads_bytes(config->ring) +
           (CHUNK + GNN_FANOUT_MAX) * UINT64_C(16) + (WINDOW + DRAWN_MAX) * sizeof(uint64_t);
}

static enum gnn_status open_arrays(struct sorted *x, struct gnn_err *err)
{
    void *buffer = NULL;
    GNN_TRY(gnn_mem_alloc(x->thread->s->env->world, "ringsampler read buffer", x->buffer_bytes, GNN_MEM_PINNED, &buffer,
                          err));
    x->buffer = buffer;
    x->flights = calloc(x->depth, sizeof *x->flights);
    x->pending = calloc(x->depth, sizeof *x->pending);
    x->tags = calloc(x->depth, sizeof *x->tags);
    x->positions = calloc(CHUNK + GNN_FANOUT_MAX, sizeof *x->positions);
    x->found = calloc(CHUNK + GNN_FANOUT_MAX, sizeof *x->found);
    x->window = calloc(WINDOW, sizeof *x->window);
    x->drawn = calloc(DRAWN_MAX, sizeof *x->drawn);
    if (x->flights == NULL || x->pending == NULL || x->tags == NULL || x->positions == NULL || x->found == NULL ||
        x->window == NULL || x->drawn == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ringsampler: %" PRIu32 " reads in flight", x->depth);
    return GNN_OK;
}

static enum gnn_status open_ring(struct sorted *x, struct gnn_err *err)
{
    const struct rs_thread *const thread = x->thread;
    const struct ringsampler_config *const c = thread->s->config;
    const struct rs_reads_config config = {.file = thread->file,
                                           .ring = {.engine = thread->s->env->io_engine,
                                                    .depth = x->depth,
                                                    .sqpoll = c->sqpoll,
                                                    .iopoll = c->iopoll,
                                                    .spin = c->polling,
                                                    .register_files = c->register_file ? &thread->file : NULL,
                                                    .register_file_count = c->register_file,
                                                    .register_buffer = c->register_buffer ? x->buffer : NULL,
                                                    .register_buffer_bytes = c->register_buffer ? x->buffer_bytes : 0}};
    return rs_reads_open(thread->s->env->world, &config, &x->reads, err);
}

enum gnn_status rs_sorted_open(struct rs_thread *thread, struct rs_fetch **out, struct gnn_err *err)
{
    const struct ringsampler_config *const c = thread->s->config;
    struct sorted *const x = calloc(1, sizeof *x);
    if (x == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ringsampler: sorted reads");
    x->base.ops = &sorted_ops;
    *out = &x->base;
    x->thread = thread;
    x->cache = thread->s->cache;
    x->depth = c->ring;
    struct gnn_file_info info;
    gnn_file_info(thread->s->env->world, thread->file, &info);
    const uint32_t align = gnn_file_align(&info);
    x->unit_bytes = x->cache != NULL ? RS_CACHE_BLOCK_BYTES : align < 512 ? 512 : align;
    if (align > x->unit_bytes || c->extent_bytes < x->unit_bytes)
        return gnn_fail(err, GNN_EUSAGE,
                        "ringsampler: direct reads of %" PRIu32 " bytes here: raise ringsampler.extent, "
                        "or set ringsampler.cache=0",
                        align);
    x->rules = (struct rs_extent_rules){
        .unit_shift = rs_bits(x->unit_bytes / sizeof(gnn_node)) - 1,
        .gap_units = c->gap_bytes / x->unit_bytes,
        .units_max = c->extent_bytes / x->unit_bytes,
    };
    x->buffer_bytes = gnn_round_up(c->read_buffer_bytes, x->unit_bytes);
    GNN_TRY(open_arrays(x, err));
    return open_ring(x, err);
}

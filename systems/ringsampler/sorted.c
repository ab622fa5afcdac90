/* Reads in the order of the file: the positions of a whole hop, of every mini-batch of a bundle, are drawn, sorted and
 * joined; one sweep over the edge file reads each wanted block once, in pieces up to `extent` long, and passes over
 * gaps up to `gap` rather than end a read. Ours: RingSampler's discussion asks for a cache, and its reads repeat
 * sectors that many targets share (specs/ringsampler.md section 4: 66 M samples touch 6.3 M pages an epoch).
 *
 * Reads    direct, asynchronous on the lane's ring, into a circular buffer; while they are in flight the next 256th of
 *          the entries is put in order
 * Cache    blocks read once stay while there is room (sector_cache.h); a sample whose block is there needs no entry
 * Memory   8 B an entry in the lane's workspace; when they do not fit, the hop takes several sweeps. The read buffer
 * Errors   as ring_reads.h; GNN_EUSAGE when position and slot do not share 64 bits */
#include "systems/ringsampler/extents.h"
#include "systems/ringsampler/offsets.h"
#include "systems/ringsampler/ring_reads.h"
#include "systems/ringsampler/sector_cache.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { CHUNK = 1024 }; /* positions drawn before they are looked up: their cache lines arrive meanwhile */

struct flight {
    struct rs_extent extent;
    const unsigned char *data;
    uint64_t buffer_begin; /* running offset into the circular buffer */
    bool done;
};

struct sorted {
    struct rs_fetch base;
    struct rs_lane *lane;
    struct rs_cache *cache; /* NULL: none */
    struct rs_reads reads;
    struct rs_extent_rules rules;
    uint32_t unit_bytes;
    unsigned char *buffer;
    uint64_t buffer_bytes, buffer_head, buffer_tail; /* running offsets */
    uint32_t depth;
    struct flight *flights; /* (depth), circular */
    uint64_t flight_head, flight_tail;
    struct gnn_read *pending; /* (depth): laid out, not yet handed over */
    uint32_t pending_count;
    uint64_t *tags;         /* (depth) */
    uint64_t *positions;    /* (CHUNK + GNN_FANOUT_MAX) */
    const uint32_t **found; /* likewise */
    /* of one fetch */
    uint32_t *out; /* slots count from here */
    uint32_t key_bits;
    uint64_t entry_count;
};

/* ---- reads in flight ---- */

static void land(struct sorted *x, struct flight *f)
{
    rs_extent_scatter(&x->rules, x->lane->entries, &f->extent, f->data, x->out);
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
    x->buffer_head =
        x->flight_head < x->flight_tail ? x->flights[x->flight_head % x->depth].buffer_begin : x->buffer_tail;
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
           (x->flight_head < x->flight_tail && x->buffer_tail + bytes - x->buffer_head > x->buffer_bytes)) {
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
    *f = (struct flight){.extent = *extent,
                         .data = x->buffer + x->buffer_tail % x->buffer_bytes,
                         .buffer_begin = x->buffer_tail};
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
    x->flight_head = x->flight_tail = x->buffer_head = x->buffer_tail = 0;
    x->pending_count = 0;
}

/* ---- one sweep ---- */

static enum gnn_status read_range(struct sorted *x, uint64_t begin, uint64_t end, struct gnn_err *err)
{
    while (begin < end) {
        const struct rs_extent extent = rs_extent_at(&x->rules, x->lane->entries, begin, end);
        GNN_TRY(launch(x, &extent, err));
        begin = extent.end;
    }
    return GNN_OK;
}

/* Puts a 256th of the file's positions in order after another, each while reads of those before are in flight. */
static enum gnn_status read_parts(struct sorted *x, struct gnn_err *err)
{
    uint64_t *const entries = x->lane->entries;
    const uint32_t low_bit = x->rules.slot_bits + x->rules.unit_shift;
    if (x->key_bits <= low_bit + 8) { /* a part would be less than a block */
        rs_sort(entries, x->entry_count, low_bit, x->key_bits);
        return read_range(x, 0, x->entry_count, err);
    }
    uint64_t starts[RS_PARTS + 1];
    rs_partition(entries, x->entry_count, x->key_bits, starts);
    for (uint32_t g = 0; g < RS_PARTS; g++) {
        rs_sort(entries + starts[g], starts[g + 1] - starts[g], low_bit, x->key_bits - 8);
        GNN_TRY(read_range(x, starts[g], starts[g + 1], err));
    }
    return GNN_OK;
}

static enum gnn_status sweep(struct sorted *x, struct gnn_err *err)
{
    if (x->entry_count == 0)
        return GNN_OK;
    gnn_charge(x->reads.world, GNN_WORK_SORTED_KEY, x->entry_count);
    GNN_TRY(read_parts(x, err));
    GNN_TRY(hand_over(x, err));
    while (x->flight_head < x->flight_tail)
        GNN_TRY(harvest(x, 1, err));
    x->entry_count = 0;
    x->base.counts.sweeps++;
    return GNN_OK;
}

/* ---- drawing ---- */

/* What the cache holds goes to its slot at once, the rest becomes entries. */
static void look_up(struct sorted *x, uint32_t count, uint64_t slot)
{
    for (uint32_t i = 0; i < count; i++) {
        x->found[i] = rs_cache_find(x->cache, x->positions[i]);
        if (x->found[i] != NULL)
            __builtin_prefetch(x->found[i]);
    }
    uint64_t *const entries = x->lane->entries;
    const uint64_t before = x->entry_count;
    for (uint32_t i = 0; i < count; i++) {
        if (x->found[i] != NULL)
            x->out[slot + i] = *x->found[i];
        else
            entries[x->entry_count++] = x->positions[i] << x->rules.slot_bits | (slot + i);
    }
    x->base.counts.cache_misses += x->entry_count - before;
    x->base.counts.cache_hits += count - (x->entry_count - before);
    gnn_charge(x->reads.world, GNN_WORK_TABLE_ENTRY, count);
}

static enum gnn_status take_chunk(struct sorted *x, uint32_t count, uint64_t slot, struct gnn_err *err)
{
    if (x->entry_count + count > x->lane->entry_capacity)
        GNN_TRY(sweep(x, err));
    assert(x->entry_count + count <= x->lane->entry_capacity);
    if (x->cache != NULL) {
        look_up(x, count, slot);
        return GNN_OK;
    }
    uint64_t *const entries = x->lane->entries + x->entry_count;
    for (uint32_t i = 0; i < count; i++)
        entries[i] = x->positions[i] << x->rules.slot_bits | (slot + i);
    x->entry_count += count;
    return GNN_OK;
}

static enum gnn_status draw_hop(struct sorted *x, const struct rs_hop *hop, struct gnn_err *err)
{
    uint64_t slot = (uint64_t)(hop->col - x->out);
    uint32_t count = 0;
    for (uint32_t t = 0; t < hop->target_count; t++) {
        count += rs_draw(hop, t, x->positions + count);
        if (count < CHUNK)
            continue;
        GNN_TRY(take_chunk(x, count, slot, err));
        slot += count;
        count = 0;
    }
    return take_chunk(x, count, slot, err);
}

/* Slots count from the lowest col; position and slot share a word. */
static enum gnn_status lay_out_keys(struct sorted *x, struct rs_hop *const *hops, uint32_t count,
                                    struct gnn_err *err)
{
    uint32_t *low = hops[0]->col, *high = low + hops[0]->sample_count;
    for (uint32_t i = 1; i < count; i++) {
        low = hops[i]->col < low ? hops[i]->col : low;
        high = hops[i]->col + hops[i]->sample_count > high ? hops[i]->col + hops[i]->sample_count : high;
    }
    x->out = low;
    x->rules.slot_bits = rs_bits((uint64_t)(high - low));
    x->key_bits = x->rules.slot_bits + rs_bits(x->lane->s->env->dataset->edge_count);
    if (x->key_bits > 64)
        return gnn_fail(err, GNN_EUSAGE,
                        "ringsampler: %" PRIu64 " edges and %" PRIu64
                        " samples of a bundle need more than 64 bits: "
                        "lower ringsampler.bundle",
                        x->lane->s->env->dataset->edge_count, (uint64_t)(high - low));
    return GNN_OK;
}

static enum gnn_status fetch_all(struct sorted *x, struct rs_hop *const *hops, uint32_t count,
                                 struct gnn_err *err)
{
    GNN_TRY(lay_out_keys(x, hops, count, err));
    x->entry_count = 0;
    for (uint32_t i = 0; i < count; i++)
        GNN_TRY(draw_hop(x, hops[i], err));
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
    gnn_mem_free(x->lane->s->env->world, x->buffer);
    free(x->flights);
    free(x->pending);
    free(x->tags);
    free(x->positions);
    free((void *)x->found);
    free(x);
}

static const struct rs_fetch_ops sorted_ops = {.fetch = sorted_fetch, .close = sorted_close};

uint64_t rs_sorted_bytes(const struct ringsampler_config *config)
{
    const uint64_t a_read = sizeof(struct flight) + sizeof(struct gnn_read) + sizeof(uint64_t);
    return config->read_buffer_bytes + config->ring * a_read + rs_reads_bytes(config->ring) +
           (CHUNK + GNN_FANOUT_MAX) * UINT64_C(16);
}

static enum gnn_status open_arrays(struct sorted *x, struct gnn_err *err)
{
    void *buffer = NULL;
    GNN_TRY(gnn_mem_alloc(x->lane->s->env->world, "ringsampler read buffer", x->buffer_bytes, GNN_MEM_PINNED,
                          &buffer, err));
    x->buffer = buffer;
    x->flights = calloc(x->depth, sizeof *x->flights);
    x->pending = calloc(x->depth, sizeof *x->pending);
    x->tags = calloc(x->depth, sizeof *x->tags);
    x->positions = calloc(CHUNK + GNN_FANOUT_MAX, sizeof *x->positions);
    x->found = calloc(CHUNK + GNN_FANOUT_MAX, sizeof *x->found);
    if (x->flights == NULL || x->pending == NULL || x->tags == NULL || x->positions == NULL ||
        x->found == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ringsampler: %" PRIu32 " reads in flight", x->depth);
    return GNN_OK;
}

static enum gnn_status open_ring(struct sorted *x, struct gnn_err *err)
{
    const struct rs_lane *const lane = x->lane;
    const struct ringsampler_config *const c = lane->s->config;
    const struct rs_reads_config config = {
        .file = lane->file,
        .ring = {.engine = lane->s->env->io_engine,
                 .depth = x->depth,
                 .sqpoll = c->sqpoll,
                 .iopoll = c->iopoll,
                 .spin = c->polling,
                 .register_files = c->register_file ? &lane->file : NULL,
                 .register_file_count = c->register_file,
                 .register_buffer = c->register_buffer ? x->buffer : NULL,
                 .register_buffer_bytes = c->register_buffer ? x->buffer_bytes : 0}};
    return rs_reads_open(lane->s->env->world, &config, &x->reads, err);
}

enum gnn_status rs_sorted_open(struct rs_lane *lane, struct rs_fetch **out, struct gnn_err *err)
{
    const struct ringsampler_config *const c = lane->s->config;
    struct sorted *const x = calloc(1, sizeof *x);
    if (x == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ringsampler: sorted reads");
    x->base.ops = &sorted_ops;
    *out = &x->base;
    x->lane = lane;
    x->cache = lane->s->cache;
    x->depth = c->ring;
    struct gnn_file_info info;
    gnn_file_info(lane->s->env->world, lane->file, &info);
    const uint32_t align =
        info.offset_align_bytes > info.mem_align_bytes ? info.offset_align_bytes : info.mem_align_bytes;
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

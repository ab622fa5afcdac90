/* SPDX-License-Identifier: MIT */
/* The paper's reads: one per offset, in groups that fit the ring, group k + 1 prepared while group k is in flight.
 *
 * Source   RingSampler (HotStorage 2025), section 3, "Overlapping computation and I/O", Figure 3b
 * Group    floor(Q / f) targets: at most Q reads, handed over in one batch
 * Order    submit-first (the release): group k + 1 goes over before k is drained, up to 2Q reads in flight;
 *          drain-first (the paper's text): k is drained, then k + 1 goes over
 * Slots    a completion knows where its value belongs, so target and neighbour stay together (the release loses this)
 * Memory   two groups: Q positions and read records each, and for direct reads Q sectors each, for buffered reads of
 *          8-byte IDs Q of those (4-byte IDs are read to where they belong) */
#include "harness/base/id_width.h"
#include "systems/ringsampler/fetch.h"
#include "systems/ringsampler/offsets.h"
#include "systems/ringsampler/ringsampler.h"

#include <assert.h>
#include <inttypes.h>

enum { GROUPS = 2, GROUP_SLOT_BITS = 16, ADJACENT_BYTES_MAX = 65536, SECTOR_BYTES_MIN = 512 };
_Static_assert(RS_RING_MAX < 1 << GROUP_SLOT_BITS, "a slot of a group fits its bits");
_Static_assert((uint64_t)GROUPS *RS_RING_MAX <= UINT32_MAX, "reads of all groups are counted in 32 bits");

struct group {
    uint32_t *out;     /* the group's slots: hop->col from its first target on */
    uint64_t *entries; /* (Q): positions, and with direct reads their slots too */
    struct gnn_read *reads;
    struct rs_extent *extents; /* (Q) direct reads only */
    unsigned char *buffers;    /* (Q * buffer_bytes) */
    uint32_t read_count, left;
};

struct grouped {
    struct rs_fetch base;
    struct rs_extent_rules rules;
    uint32_t ring_entries; /* Q */
    uint32_t unit_bytes;   /* 0: buffered reads of an entry each */
    uint32_t buffer_bytes; /* of a read; 0: reads land in the blocks */
    uint32_t key_bits;     /* of position and slot */
    bool drain_first;
    void *buffers;
    struct group groups[GROUPS];
    uint64_t *tags; /* (2Q) */
};

/* ---- preparing ---- */

static uint64_t group_tag(const struct grouped *x, const struct group *g, uint32_t index)
{
    return (uint64_t)(g - x->groups) << 32 | index;
}

static void make_buffered_reads(const struct grouped *x, struct group *g, uint32_t count)
{
    const uint32_t id_bytes = x->base.id_bytes;
    const bool wide = x->buffer_bytes > 0;
    for (uint32_t i = 0; i < count; i++)
        g->reads[i] = (struct gnn_read){.file = x->base.thread->file,
                                        .offset_bytes = g->entries[i] * id_bytes,
                                        .dst = wide ? (void *)(g->buffers + (size_t)i * id_bytes) : g->out + i,
                                        .len_bytes = id_bytes,
                                        .need_bytes = id_bytes,
                                        .tag = group_tag(x, g, i)};
    g->read_count = count;
}

/* Equal sectors are read once, adjacent ones in one go, as the rules say; buffers lie one after another. */
static void make_direct_reads(const struct grouped *x, struct group *g, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        g->entries[i] = g->entries[i] << GROUP_SLOT_BITS | i;
    if (!x->rules.one_each)
        gnn_sort_keys(g->entries, count, 0, x->key_bits);
    uint64_t buffer_bytes = 0;
    g->read_count = 0;
    for (uint64_t next = 0; next < count; next = g->extents[g->read_count++].end) {
        const struct rs_extent extent = rs_extent_at(&x->rules, g->entries, next, count);
        g->extents[g->read_count] = extent;
        g->reads[g->read_count] =
            rs_fetch_read(&x->base, &extent, x->unit_bytes, g->buffers + buffer_bytes, group_tag(x, g, g->read_count));
        buffer_bytes += extent.units * x->unit_bytes;
    }
    assert(g->read_count <= count);
    assert(buffer_bytes <= (uint64_t)x->ring_entries * x->unit_bytes);
}

/* Draws the targets from *next on that fit the ring, and lays out their reads. */
static void prepare_group(const struct grouped *x, struct group *g, const struct rs_hop *hop, uint32_t *next)
{
    assert(g->left == 0);
    assert(hop->fanout <= x->ring_entries);
    const uint32_t end = *next + gnn_min_u32(hop->target_count - *next, x->ring_entries / hop->fanout);
    uint32_t count = 0;
    g->out = hop->col + hop->row_start[*next];
    for (uint32_t t = *next; t < end; t++)
        count += rs_draw(hop, t, g->entries + count);
    assert(count == hop->row_start[end] - hop->row_start[*next]);
    assert(count <= x->ring_entries);
    if (x->unit_bytes == 0)
        make_buffered_reads(x, g, count);
    else
        make_direct_reads(x, g, count);
    *next = end;
}

/* ---- reading ---- */

static enum gnn_status submit_group(struct grouped *x, struct group *g, struct gnn_err *err)
{
    g->left = g->read_count;
    return rs_fetch_submit(&x->base, g->reads, g->read_count, err);
}

static void complete_read(struct grouped *x, uint64_t tag)
{
    assert(tag >> 32 < GROUPS);
    struct group *const g = &x->groups[tag >> 32];
    const uint32_t index = (uint32_t)tag;
    assert(index < g->read_count);
    if (x->unit_bytes > 0)
        rs_extent_scatter(&x->rules, g->entries, &g->extents[index], g->reads[index].dst, g->out);
    else if (x->buffer_bytes > 0)
        g->out[index] = gnn_id_at(g->reads[index].dst, x->base.id_bytes, 0);
    assert(g->left > 0);
    g->left--;
}

/* Waits until nothing of the group is in flight. Completions of the other group are taken as they come. */
static enum gnn_status drain_group(struct grouped *x, const struct group *g, struct gnn_err *err)
{
    while (g->left > 0) {
        uint32_t got;
        GNN_TRY(gnn_ring_reads_wait(&x->base.reads, g->left, x->base.reads.config.ring.depth, x->tags, &got, err));
        for (uint32_t i = 0; i < got; i++)
            complete_read(x, x->tags[i]);
    }
    return GNN_OK;
}

static enum gnn_status read_hop(struct grouped *x, const struct rs_hop *hop, struct gnn_err *err)
{
    struct group *current = &x->groups[0], *next_group = &x->groups[1];
    uint32_t next = 0;
    if (hop->target_count == 0)
        return GNN_OK;
    prepare_group(x, current, hop, &next);
    GNN_TRY(submit_group(x, current, err));
    while (next < hop->target_count) {
        prepare_group(x, next_group, hop, &next); /* while `current` is in flight */
        if (x->drain_first)
            GNN_TRY(drain_group(x, current, err));
        GNN_TRY(submit_group(x, next_group, err));
        if (!x->drain_first)
            GNN_TRY(drain_group(x, current, err));
        struct group *const done = current;
        current = next_group;
        next_group = done;
    }
    return drain_group(x, current, err);
}

static enum gnn_status grouped_fetch(struct rs_fetch *fetch, struct rs_hop *const *hops, uint32_t count,
                                     struct gnn_err *err)
{
    struct grouped *const x = (struct grouped *)fetch;
    enum gnn_status status = GNN_OK;
    for (uint32_t i = 0; i < count && status == GNN_OK; i++)
        status = read_hop(x, hops[i], err);
    if (status != GNN_OK)
        gnn_ring_reads_drain(&fetch->reads);
    for (uint32_t i = 0; status != GNN_OK && i < GROUPS; i++)
        x->groups[i].left = 0;
    return status;
}

/* ---- open, close ---- */

static void grouped_close(struct rs_fetch *fetch)
{
    struct grouped *const x = (struct grouped *)fetch;
    gnn_ring_reads_close(&fetch->reads);
    for (uint32_t i = 0; i < GROUPS; i++) {
        free(x->groups[i].entries);
        free(x->groups[i].reads);
        free(x->groups[i].extents);
    }
    free(x->tags);
    gnn_mem_free(fetch->thread->s->env->world, x->buffers);
    free(x);
}

static const struct rs_fetch_ops grouped_ops = {.fetch = grouped_fetch, .close = grouped_close};

/* Returns what a read needs of memory of its own: a sector, or an entry that is wider than the block's. */
static uint32_t read_buffer_bytes(uint32_t unit_bytes, uint32_t id_bytes)
{
    return unit_bytes > 0 ? unit_bytes : id_bytes > sizeof(gnn_node) ? id_bytes : 0;
}

uint64_t rs_grouped_bytes(const struct ringsampler_config *config, uint32_t id_bytes, uint32_t align_bytes)
{
    const uint32_t reads = GROUPS * config->ring;
    const uint64_t record_bytes = 2 * sizeof(uint64_t) + sizeof(struct gnn_read) + sizeof(struct rs_extent);
    const uint64_t buffer_bytes = read_buffer_bytes(config->io == RS_IO_DIRECT ? align_bytes : 0, id_bytes);
    return reads * (record_bytes + buffer_bytes) + gnn_ring_reads_bytes(reads, reads);
}

static enum gnn_status open_groups(struct grouped *x, struct gnn_err *err)
{
    const uint32_t entries = x->ring_entries;
    const uint64_t group_bytes = (uint64_t)entries * x->buffer_bytes;
    if (group_bytes > 0)
        GNN_TRY(gnn_mem_alloc(x->base.thread->s->env->world, "ringsampler read buffers", GROUPS * group_bytes,
                              GNN_MEM_PINNED, &x->buffers, err));
    GNN_NEW(x->tags, GROUPS * (size_t)entries, err, "ringsampler: groups of %" PRIu32 " reads", entries);
    for (uint32_t i = 0; i < GROUPS; i++) {
        struct group *const g = &x->groups[i];
        GNN_NEW(g->entries, entries, err, "ringsampler: groups of %" PRIu32 " reads", entries);
        GNN_NEW(g->reads, entries, err, "ringsampler: groups of %" PRIu32 " reads", entries);
        GNN_NEW(g->extents, entries, err, "ringsampler: groups of %" PRIu32 " reads", entries);
        g->buffers = group_bytes > 0 ? (unsigned char *)x->buffers + i * group_bytes : NULL;
    }
    return GNN_OK;
}

/* Reads of whole sectors, joined as `coalesce` says. */
static void choose_sectors(struct grouped *x)
{
    const struct ringsampler_config *const c = x->base.thread->s->config;
    x->unit_bytes = x->base.align_bytes;
    if (x->unit_bytes < x->base.id_bytes)
        x->unit_bytes = SECTOR_BYTES_MIN; /* a file system without a rule of its own */
    x->key_bits = rs_bits(x->base.thread->s->env->dataset->edge_count) + GROUP_SLOT_BITS;
    x->rules = (struct rs_extent_rules){
        .slot_bits = GROUP_SLOT_BITS,
        .unit_shift = rs_bits(x->unit_bytes / x->base.id_bytes) - 1,
        .units_max = c->coalesce == RS_COALESCE_ADJACENT ? ADJACENT_BYTES_MAX / x->unit_bytes + 1 : 1,
        .index_mask = UINT64_MAX,
        .one_each = c->coalesce == RS_COALESCE_NONE,
        .id_bytes = x->base.id_bytes,
    };
}

enum gnn_status rs_grouped_open(struct rs_thread *thread, struct rs_fetch **out, struct gnn_err *err)
{
    const struct ringsampler_config *const c = thread->s->config;
    struct grouped *x;
    GNN_NEW(x, 1, err, "ringsampler: grouped reads");
    *out = &x->base;
    rs_fetch_init(&x->base, &grouped_ops, thread);
    x->ring_entries = c->ring;
    x->drain_first = c->order == RS_ORDER_DRAIN_FIRST;
    if (c->io == RS_IO_DIRECT)
        choose_sectors(x);
    x->buffer_bytes = read_buffer_bytes(x->unit_bytes, x->base.id_bytes);
    GNN_TRY(open_groups(x, err));
    const uint32_t depth = x->drain_first ? x->ring_entries : GROUPS * x->ring_entries;
    if (x->buffer_bytes > 0)
        return rs_fetch_open_ring(&x->base, depth, x->buffers, (uint64_t)GROUPS * c->ring * x->buffer_bytes, err);
    return rs_fetch_open_ring(&x->base, depth, thread->workspace, thread->s->sizes.workspace_bytes, err);
}

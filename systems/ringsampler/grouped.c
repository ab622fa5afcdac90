/* The paper's reads: one per offset, in groups that fit the ring, group k + 1 prepared while group k is in flight.
 *
 * Source   RingSampler (HotStorage 2025), sections 3.1 and 3.2, Figure 3b; specs/ringsampler.md section 3, "Hop", and 4
 * Group    floor(Q / f) targets: at most Q reads, handed over in one batch
 * Order    submit-first (the release): group k + 1 goes over before k is drained, up to 2Q reads in flight;
 *          drain-first (the paper's text): k is drained, then k + 1 goes over
 * Slots    a completion knows where its value belongs, so target and neighbour stay together (the release loses this)
 * Memory   two groups: Q positions and read records each, and for direct reads Q sectors each */
#include "systems/ringsampler/extents.h"
#include "systems/ringsampler/offsets.h"
#include "systems/ringsampler/ring_reads.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { GROUPS = 2, GROUP_SLOT_BITS = 16, ADJACENT_BYTES_MAX = 65536 };

struct group {
    const struct rs_hop *hop;
    uint32_t *out;     /* the group's slots: hop->col from its first target on */
    uint64_t *entries; /* (Q): positions, and with direct reads their slots too */
    struct gnn_read *reads;
    struct rs_extent *extents; /* (Q) direct reads only */
    unsigned char *buffers;    /* (Q * unit_bytes), likewise */
    uint32_t read_count, left;
};

struct grouped {
    struct rs_fetch base;
    struct rs_thread *thread;
    struct rs_reads reads;
    struct rs_extent_rules rules;
    uint32_t ring_entries; /* Q */
    uint32_t unit_bytes;   /* 0: buffered reads of 4 bytes */
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

static void make_buffered_reads(struct grouped *x, struct group *g, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        g->reads[i] = (struct gnn_read){.file = x->reads.file,
                                        .offset_bytes = g->entries[i] * sizeof(gnn_node),
                                        .dst = g->out + i,
                                        .len_bytes = sizeof(gnn_node),
                                        .tag = group_tag(x, g, i)};
    g->read_count = count;
}

/* Equal sectors are read once, adjacent ones in one go, as the rules say; buffers lie one after another. */
static void make_direct_reads(struct grouped *x, struct group *g, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        g->entries[i] = g->entries[i] << GROUP_SLOT_BITS | i;
    if (!x->rules.one_each)
        rs_sort(g->entries, count, 0, x->key_bits);
    uint64_t buffer_bytes = 0;
    g->read_count = 0;
    for (uint64_t next = 0; next < count; next = g->extents[g->read_count++].end) {
        const struct rs_extent extent = rs_extent_at(&x->rules, g->entries, next, count);
        g->extents[g->read_count] = extent;
        g->reads[g->read_count] = (struct gnn_read){.file = x->reads.file,
                                                    .offset_bytes = extent.first_unit * x->unit_bytes,
                                                    .dst = g->buffers + buffer_bytes,
                                                    .len_bytes = (uint32_t)(extent.units * x->unit_bytes),
                                                    .tag = group_tag(x, g, g->read_count)};
        buffer_bytes += extent.units * x->unit_bytes;
    }
}

/* Draws the targets from *next on that fit the ring, and lays out their reads. */
static void prepare(struct grouped *x, struct group *g, const struct rs_hop *hop, uint32_t *next)
{
    const uint32_t targets = x->ring_entries / hop->fanout, left = hop->target_count - *next;
    const uint32_t end = *next + (left < targets ? left : targets);
    uint32_t count = 0;
    g->hop = hop;
    g->out = hop->col + hop->row_start[*next];
    for (uint32_t t = *next; t < end; t++)
        count += rs_draw(hop, t, g->entries + count);
    assert(count == hop->row_start[end] - hop->row_start[*next] && count <= x->ring_entries);
    if (x->unit_bytes == 0)
        make_buffered_reads(x, g, count);
    else
        make_direct_reads(x, g, count);
    *next = end;
}

/* ---- reading ---- */

static enum gnn_status submit(struct grouped *x, struct group *g, struct gnn_err *err)
{
    g->left = g->read_count;
    return g->left == 0 ? GNN_OK : rs_reads_submit(&x->reads, g->reads, g->left, err);
}

static void complete(struct grouped *x, uint64_t tag)
{
    struct group *const g = &x->groups[tag >> 32];
    const uint32_t index = (uint32_t)tag;
    if (x->unit_bytes > 0)
        rs_extent_scatter(&x->rules, g->entries, &g->extents[index], g->reads[index].dst, g->out);
    assert(g->left > 0);
    g->left--;
}

/* Until nothing of the group is in flight. Completions of the other group are taken as they come. */
static enum gnn_status drain(struct grouped *x, const struct group *g, struct gnn_err *err)
{
    while (g->left > 0) {
        uint32_t got;
        GNN_TRY(rs_reads_take(&x->reads, g->left, x->tags, &got, err));
        for (uint32_t i = 0; i < got; i++)
            complete(x, x->tags[i]);
    }
    return GNN_OK;
}

static enum gnn_status read_hop(struct grouped *x, const struct rs_hop *hop, struct gnn_err *err)
{
    struct group *now = &x->groups[0], *then = &x->groups[1];
    uint32_t next = 0;
    if (hop->target_count == 0)
        return GNN_OK;
    prepare(x, now, hop, &next);
    GNN_TRY(submit(x, now, err));
    while (next < hop->target_count) {
        prepare(x, then, hop, &next); /* while `now` is in flight */
        if (x->drain_first)
            GNN_TRY(drain(x, now, err));
        GNN_TRY(submit(x, then, err));
        if (!x->drain_first)
            GNN_TRY(drain(x, now, err));
        struct group *const swap = now;
        now = then;
        then = swap;
    }
    return drain(x, now, err);
}

static enum gnn_status grouped_fetch(struct rs_fetch *fetch, struct rs_hop *const *hops, uint32_t count,
                                     struct gnn_err *err)
{
    struct grouped *const x = (struct grouped *)fetch;
    enum gnn_status status = GNN_OK;
    for (uint32_t i = 0; i < count && status == GNN_OK; i++)
        status = read_hop(x, hops[i], err);
    if (status != GNN_OK)
        rs_reads_drain(&x->reads);
    struct rs_fetch_counts *const counts = &x->base.counts;
    counts->reads = x->reads.issued;
    counts->completions = x->reads.completed;
    counts->requested_bytes = x->reads.requested_bytes;
    counts->submits = x->reads.submits;
    counts->in_flight_peak = x->reads.in_flight_peak;
    return status;
}

/* ---- open, close ---- */

static void grouped_close(struct rs_fetch *fetch)
{
    struct grouped *const x = (struct grouped *)fetch;
    if (x == NULL)
        return;
    rs_reads_close(&x->reads);
    for (uint32_t i = 0; i < GROUPS; i++) {
        free(x->groups[i].entries);
        free(x->groups[i].reads);
        free(x->groups[i].extents);
    }
    free(x->tags);
    gnn_mem_free(x->thread->s->env->world, x->buffers);
    free(x);
}

static const struct rs_fetch_ops grouped_ops = {.fetch = grouped_fetch, .close = grouped_close};

uint64_t rs_grouped_bytes(const struct ringsampler_config *config, uint32_t align_bytes)
{
    const uint64_t q = config->ring;
    const uint64_t records = GROUPS * q * (2 * sizeof(uint64_t) + sizeof(struct gnn_read) + sizeof(struct rs_extent));
    const uint64_t buffers = config->io == RS_IO_DIRECT ? GROUPS * q * align_bytes : 0;
    return records + buffers + rs_reads_bytes((uint32_t)(GROUPS * q));
}

static enum gnn_status open_groups(struct grouped *x, struct gnn_err *err)
{
    const uint64_t group_bytes = (uint64_t)x->ring_entries * x->unit_bytes;
    if (group_bytes > 0)
        GNN_TRY(gnn_mem_alloc(x->thread->s->env->world, "ringsampler sector buffers", GROUPS * group_bytes,
                              GNN_MEM_PINNED, &x->buffers, err));
    x->tags = calloc((size_t)GROUPS * x->ring_entries, sizeof *x->tags);
    bool complete_ = x->tags != NULL;
    for (uint32_t i = 0; i < GROUPS; i++) {
        struct group *const g = &x->groups[i];
        g->entries = calloc(x->ring_entries, sizeof *g->entries);
        g->reads = calloc(x->ring_entries, sizeof *g->reads);
        g->extents = calloc(x->ring_entries, sizeof *g->extents);
        g->buffers = group_bytes > 0 ? (unsigned char *)x->buffers + i * group_bytes : NULL;
        complete_ = complete_ && g->entries != NULL && g->reads != NULL && g->extents != NULL;
    }
    return complete_ ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "ringsampler: groups of %" PRIu32 " reads", x->ring_entries);
}

static enum gnn_status open_ring(struct grouped *x, struct gnn_err *err)
{
    const struct rs_thread *const thread = x->thread;
    const struct ringsampler_config *const c = thread->s->config;
    const bool direct = x->unit_bytes > 0;
    const struct rs_reads_config config = {
        .file = thread->file,
        .ring = {.engine = thread->s->env->io_engine,
                 .depth = x->drain_first ? x->ring_entries : GROUPS * x->ring_entries,
                 .sqpoll = c->sqpoll,
                 .iopoll = c->iopoll,
                 .spin = c->polling,
                 .register_files = c->register_file ? &thread->file : NULL,
                 .register_file_count = c->register_file,
                 .register_buffer = !c->register_buffer ? NULL
                                    : direct            ? x->buffers
                                                        : thread->workspace,
                 .register_buffer_bytes = !c->register_buffer ? 0
                                          : direct            ? (uint64_t)GROUPS * x->ring_entries * x->unit_bytes
                                                              : thread->s->sizes.workspace_bytes}};
    return rs_reads_open(thread->s->env->world, &config, &x->reads, err);
}

enum gnn_status rs_grouped_open(struct rs_thread *thread, struct rs_fetch **out, struct gnn_err *err)
{
    const struct ringsampler_config *const c = thread->s->config;
    struct grouped *const x = calloc(1, sizeof *x);
    if (x == NULL)
        return gnn_fail(err, GNN_ENOMEM, "ringsampler: grouped reads");
    x->base.ops = &grouped_ops;
    *out = &x->base;
    x->thread = thread;
    x->ring_entries = c->ring;
    x->drain_first = c->order == RS_ORDER_DRAIN_FIRST;
    if (c->io == RS_IO_DIRECT) {
        struct gnn_file_info info;
        gnn_file_info(thread->s->env->world, thread->file, &info);
        x->unit_bytes = gnn_file_align(&info);
        if (x->unit_bytes < sizeof(gnn_node))
            x->unit_bytes = 512; /* a file system without a rule of its own */
        x->key_bits = rs_bits(thread->s->env->dataset->edge_count) + GROUP_SLOT_BITS;
        x->rules = (struct rs_extent_rules){
            .slot_bits = GROUP_SLOT_BITS,
            .unit_shift = rs_bits(x->unit_bytes / sizeof(gnn_node)) - 1,
            .units_max = c->coalesce == RS_COALESCE_ADJACENT ? ADJACENT_BYTES_MAX / x->unit_bytes + 1 : 1,
            .one_each = c->coalesce == RS_COALESCE_NONE,
        };
    }
    GNN_TRY(open_groups(x, err));
    return open_ring(x, err);
}

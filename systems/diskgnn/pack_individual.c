/* SPDX-License-Identifier: MIT */
/* Individual packing, the paper's point of comparison: for each target in turn, the pages of every row it wants are
 * read by themselves, pack_depth of them in flight, whether or not another target has read them before (DiskGNN, SIGMOD
 * 2025, section 5.2, Figure 6a). The released code uses 64 threads with a blocking read each. */
#include "harness/storage/reader.h"
#include "harness/system/epoch.h"
#include "systems/diskgnn/pack.h"

enum { IDS_AT_A_TIME = 64 << 10 /* words */ };

struct one_by_one {
    struct diskgnn_packer *p;
    struct gnn_reader *features;
    struct gnn_span_reader *ids;
    struct gnn_load *loads; /* (depth) */
    unsigned char *pages;   /* (depth, slot_bytes) feature memory */
    uint64_t slot_bytes;
    uint64_t at_words;     /* of the stream: spans handed out */
    const uint32_t *words; /* of the span in hand */
    uint64_t words_left;
};

static bool next_ids(void *ctx, struct gnn_span *out)
{
    struct one_by_one *const o = ctx;
    const struct gnn_stream *const stream = o->p->streams[0];
    const uint64_t all = gnn_stream_bytes(stream), at = o->at_words * sizeof(uint32_t);
    if (at >= all)
        return false;
    *out = (struct gnn_span){
        .stream = stream, .offset_bytes = at, .len_bytes = gnn_min_u64(all - at, IDS_AT_A_TIME * sizeof(uint32_t))};
    o->at_words += IDS_AT_A_TIME;
    return true;
}

/* *word: the stream's next; *there = false at its end. */
static enum gnn_status next_word(struct one_by_one *o, uint32_t *word, bool *there, struct gnn_err *err)
{
    *there = true;
    if (o->words_left == 0) {
        struct gnn_span span;
        void *data;
        GNN_TRY(gnn_span_reader_next(o->ids, &span, &data, err));
        *there = data != NULL;
        if (data == NULL)
            return GNN_OK;
        o->words = data;
        o->words_left = span.len_bytes / sizeof *o->words;
    }
    *word = *o->words++;
    o->words_left--;
    return GNN_OK;
}

/* The pages of a row: 4 KiB, or 8 where the row crosses into the next, whatever the device could do with less. */
static struct gnn_load load_of(const struct one_by_one *o, gnn_node v, uint32_t slot)
{
    const uint64_t row_bytes = o->p->layout->rows.row_bytes, all = o->p->job->env->dataset->feature_bytes;
    const uint64_t begin = gnn_round_down(v * row_bytes, GNN_PAGE_BYTES);
    const uint64_t end = gnn_min_u64(gnn_round_up((v + UINT64_C(1)) * row_bytes, GNN_PAGE_BYTES), all);
    return (struct gnn_load){
        .len_bytes = (uint32_t)(end - begin), .offset_bytes = begin, .dst = o->pages + slot * o->slot_bytes, .tag = v};
}

static enum gnn_status append_group(struct one_by_one *o, struct diskgnn_append *append, uint32_t count,
                                    struct gnn_err *err)
{
    struct gnn_world *const world = o->p->job->env->world;
    const uint64_t row_bytes = o->p->layout->rows.row_bytes, start_ns = gnn_now_ns(world);
    GNN_TRY(gnn_check_stop(o->p->job->env, err));
    GNN_TRY(gnn_reader_load_all(o->features, o->loads, count, NULL, NULL, err));
    o->p->read_ns += gnn_now_ns(world) - start_ns;
    for (uint32_t j = 0; j < count; j++) {
        const struct gnn_load *const load = &o->loads[j];
        o->p->read_bytes += load->len_bytes;
        const unsigned char *const pages = load->dst;
        GNN_TRY(diskgnn_append_row(append, pages + (load->tag * row_bytes - load->offset_bytes), err));
    }
    return GNN_OK;
}

static enum gnn_status pack_target(struct one_by_one *o, uint32_t target, uint32_t count, struct gnn_err *err)
{
    const uint32_t depth = o->p->job->config->pack_depth;
    struct diskgnn_append append;
    diskgnn_append_begin(&append, o->p, target, count, 0);
    o->p->written_bytes += count * (uint64_t)o->p->layout->rows.row_bytes;
    while (count > 0) {
        const uint32_t group = gnn_min_u32(count, depth);
        for (uint32_t j = 0; j < group; j++) {
            gnn_node v = 0;
            bool there;
            GNN_TRY(next_word(o, &v, &there, err));
            assert(there);
            o->loads[j] = load_of(o, v, j);
        }
        GNN_TRY(append_group(o, &append, group, err));
        count -= group;
    }
    return diskgnn_append_end(&append, err);
}

static enum gnn_status pack_targets(struct one_by_one *o, struct gnn_err *err)
{
    gnn_span_reader_start(o->ids, next_ids, o);
    for (;;) {
        uint32_t target, count;
        bool there;
        GNN_TRY(next_word(o, &target, &there, err));
        if (!there)
            return GNN_OK;
        GNN_TRY(next_word(o, &count, &there, err));
        assert(there);
        assert(target < o->p->target_count);
        GNN_TRY(pack_target(o, target, count, err));
        diskgnn_progress(o->p->job, "targets packed", target, o->p->target_count);
    }
}

static enum gnn_status open_all(struct one_by_one *o, struct gnn_err *err)
{
    const struct diskgnn_packer *const p = o->p;
    struct gnn_world *const world = p->job->env->world;
    const uint32_t depth = p->job->config->pack_depth;
    o->slot_bytes = gnn_round_up(p->layout->rows.row_bytes, GNN_PAGE_BYTES) + GNN_PAGE_BYTES;
    const struct gnn_reader_config features = {.engine = p->job->env->io_engine,
                                               .depth = depth,
                                               .files = &p->features,
                                               .file_count = 1,
                                               .bounce_bytes_max = (uint32_t)o->slot_bytes};
    const struct gnn_span_reader_config ids = {.engine = p->job->env->io_engine,
                                               .file = gnn_stream_file_handle(p->spool),
                                               .depth = 2,
                                               .span_bytes_max = IDS_AT_A_TIME * sizeof(uint32_t)};
    GNN_NEW(o->loads, depth, err, "diskgnn: %u reads", depth);
    GNN_MEM_NEW(world, o->pages, depth * o->slot_bytes, "diskgnn pages of rows", GNN_MEM_FEATURES, err);
    GNN_TRY(gnn_reader_open(world, &features, &o->features, err));
    return gnn_span_reader_open(world, &ids, &o->ids, err);
}

enum gnn_status diskgnn_pack_individual(struct diskgnn_packer *p, struct gnn_err *err)
{
    struct one_by_one o = {.p = p};
    enum gnn_status status = open_all(&o, err);
    GNN_NEXT(status, pack_targets(&o, err));
    gnn_span_reader_close(o.ids);
    gnn_reader_close(o.features);
    gnn_mem_free(p->job->env->world, o.pages);
    free(o.loads);
    return status;
}

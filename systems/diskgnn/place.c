/* SPDX-License-Identifier: MIT */
/* Address tables: where each input row of each mini-batch is, looked up once for all epochs (DiskGNN, SIGMOD 2025,
 * section 6). Segment by segment: its disk cache is chosen and ordered, then every mini-batch's table is written.
 *
 * Each class of rows is sorted by its place, so that training walks through every source in order: the two caches by
 * row, the chunk by node ID (which is the order of the features, so that packing appends to chunks partition by
 * partition), the disk cache by row (so that its distinct pages are found in one pass). */
#include "harness/storage/exact.h"
#include "systems/diskgnn/internal.h"

enum row_class { ON_GPU, ON_CPU, PACKED, SHARED, CLASSES };

struct placing {
    struct diskgnn_job *job;
    struct diskgnn_segmenter *s;
    struct diskgnn_layout *out;
    struct gnn_file *file;
    uint64_t tables_end, chunks_end, disk_end;
    uint64_t *pairs, *scratch; /* (nodes_most) key and position */
    struct gnn_buffer table;
};

static enum row_class class_of(const struct placing *p, gnn_node v, uint32_t *key)
{
    const uint32_t row = p->s->levels->row_of[v], slot = p->s->slot[v];
    *key = row;
    if (row != GNN_NODE_NONE)
        return row < p->out->gpu_rows ? ON_GPU : ON_CPU;
    const bool shared = (slot & DISKGNN_IN_DISK) != 0;
    *key = shared ? slot & ~DISKGNN_IN_DISK : v;
    return shared ? SHARED : PACKED;
}

/* Puts the (key, position) pairs of a list one class after another, each sorted; begin (CLASSES + 1). */
static void sort_classes(struct placing *p, const gnn_node *list, uint32_t count, uint32_t *begin)
{
    struct gnn_world *const world = p->job->env->world;
    uint32_t key, next[CLASSES];
    memset(begin, 0, (CLASSES + 1) * sizeof *begin);
    for (uint32_t j = 0; j < count; j++)
        begin[class_of(p, list[j], &key) + 1]++;
    for (uint32_t c = 0; c < CLASSES; c++) {
        next[c] = begin[c];
        begin[c + 1] += begin[c];
    }
    for (uint32_t j = 0; j < count; j++) {
        const enum row_class class = class_of(p, list[j], &key);
        p->pairs[next[class]++] = (uint64_t)key << 32 | j;
    }
    for (uint32_t c = 0; c < CLASSES; c++)
        diskgnn_sort_pairs(world, p->pairs + begin[c], p->scratch, begin[c + 1] - begin[c]);
    gnn_charge(world, GNN_WORK_TABLE_ENTRY, 2 * (uint64_t)count);
}

static uint32_t count_pages(const struct placing *p, const uint64_t *shared, uint32_t count)
{
    uint32_t pages = 0;
    uint64_t last = UINT64_MAX;
    for (uint32_t j = 0; j < count; j++) {
        const uint64_t page = (shared[j] >> 32) / p->out->rows.per_page;
        pages += page != last;
        last = page;
    }
    return pages;
}

/* Fills the four arrays of struct diskgnn_place. */
static void fill_words(const struct placing *p, const uint32_t *begin, uint32_t *words)
{
    const uint32_t cached = begin[PACKED], all = begin[CLASSES];
    uint32_t *const row = words + cached, *const at = row + cached, *const disk = at + (all - cached);
    for (uint32_t j = 0; j < cached; j++) {
        words[j] = (uint32_t)p->pairs[j];
        row[j] = (uint32_t)(p->pairs[j] >> 32);
    }
    for (uint32_t j = cached; j < all; j++)
        at[j - cached] = (uint32_t)p->pairs[j];
    for (uint32_t j = begin[SHARED]; j < all; j++)
        disk[j - begin[SHARED]] = (uint32_t)(p->pairs[j] >> 32);
}

static enum gnn_status place_batch(struct placing *p, uint32_t i, const gnn_node *list, struct gnn_err *err)
{
    struct gnn_world *const world = p->job->env->world;
    struct diskgnn_place *const place = &p->out->of[i];
    const uint32_t align = p->out->rows.align_bytes, count = diskgnn_sample_nodes(&p->s->sampled->of[i]);
    uint32_t begin[CLASSES + 1];
    sort_classes(p, list, count, begin);
    *place = (struct diskgnn_place){.table_offset_bytes = p->tables_end,
                                    .chunk_offset_bytes = p->chunks_end,
                                    .gpu = begin[ON_CPU],
                                    .cpu = begin[PACKED] - begin[ON_CPU],
                                    .packed = begin[SHARED] - begin[PACKED],
                                    .shared = count - begin[SHARED],
                                    .pages = count_pages(p, p->pairs + begin[SHARED], count - begin[SHARED])};
    const uint64_t bytes = diskgnn_table_words(place) * sizeof(uint32_t), padded = gnn_round_up(bytes, align);
    GNN_TRY(gnn_buffer_reserve(world, &p->table, padded, err));
    fill_words(p, begin, p->table.data);
    memset((unsigned char *)p->table.data + bytes, 0, padded - bytes);
    GNN_TRY(gnn_write_all(world, p->file, p->tables_end, p->table.data, padded, err));
    p->tables_end += padded;
    p->chunks_end += diskgnn_dense_bytes(&p->out->rows, place->packed);
    return GNN_OK;
}

static enum gnn_status place_segment(struct placing *p, uint32_t k, struct gnn_err *err)
{
    struct diskgnn_segmenter *const s = p->s;
    const uint32_t first = k * p->out->segment, n = p->out->batches;
    const uint32_t end = first + gnn_min_u32(p->out->segment, n - first);
    struct diskgnn_segment *const segment = &p->out->segment_of[k];
    *segment = (struct diskgnn_segment){.offset_bytes = p->disk_end};
    if (p->out->disk_rows > 0) {
        GNN_TRY(diskgnn_segment_count(s, first, end, err));
        GNN_TRY(diskgnn_segment_choose(s, p->out->disk_rows, err));
        GNN_TRY(diskgnn_segment_order(s, err));
        segment->rows = s->disk_rows;
        p->disk_end += diskgnn_rows_pages(&s->rows, s->disk_rows) * s->rows.page_bytes;
    }
    diskgnn_records_start(&s->lists, first, end);
    for (uint32_t i = first; i < end; i++) {
        const uint32_t *list;
        GNN_TRY(diskgnn_records_next(&s->lists, &list, err));
        GNN_TRY(place_batch(p, i, list, err));
        diskgnn_progress(p->job, "mini-batches placed", i + 1, n);
    }
    if (p->out->disk_rows > 0)
        diskgnn_segment_clear(s);
    return GNN_OK;
}

static enum gnn_status place_segments(struct placing *p, struct gnn_err *err)
{
    struct gnn_world *const world = p->job->env->world;
    const uint32_t most = p->s->sampled->nodes_most;
    GNN_MEM_NEW(world, p->pairs, most, "diskgnn places of a mini-batch", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, p->scratch, most, "diskgnn sorting of places", GNN_MEM_PLAIN, err);
    for (uint32_t k = 0; k < p->out->segments; k++)
        GNN_TRY(place_segment(p, k, err));
    return GNN_OK;
}

enum gnn_status diskgnn_place_all(struct diskgnn_job *job, struct diskgnn_segmenter *s,
                                  const struct diskgnn_found *found, struct diskgnn_layout *out, struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    struct placing p = {.job = job, .s = s, .out = out, .table = {.name = "diskgnn address table"}};
    out->batches = s->sampled->batches;
    out->segment = found->segment;
    out->disk_rows = found->disk_rows;
    out->found_segment = found->first_segment;
    out->found_disk_rows = found->first_disk_rows;
    out->segments = (uint32_t)gnn_div_up(out->batches, out->segment);
    GNN_MEM_NEW(world, out->of, out->batches, "diskgnn places", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, out->segment_of, out->segments, "diskgnn segments", GNN_MEM_PLAIN, err);
    enum gnn_status status = diskgnn_part_open(job, "tables", diskgnn_direct_flag(job->config->io), &p.file, err);
    GNN_NEXT(status, place_segments(&p, err));
    gnn_mem_free(world, p.pairs);
    gnn_mem_free(world, p.scratch);
    gnn_buffer_close(world, &p.table);
    out->tables_bytes = p.tables_end;
    out->chunks_bytes = p.chunks_end;
    out->disk_bytes = p.disk_end;
    return diskgnn_part_close(job, "tables", p.file, status, err);
}

/* SPDX-License-Identifier: MIT */
/* A segment: which nodes its mini-batches ask the disk for, which of them its disk cache holds, and in what order.
 *
 *     count     slot[v] = how many mini-batches of the segment use v, for nodes in no cache
 *     choose    D_k; slot[v] = IN_DISK | place by rising ID, or 0
 *     order     slot[v] = IN_DISK | row
 *     clear     slot[v] = 0
 *
 * Source   DiskGNN (SIGMOD 2025) section 5.1
 * Memory   4 bytes a node; 4 a row of the disk cache, ordering 4 for each value compared and 16 more
 * I/O      each step but the last reads the segment's lists once */
#include "systems/diskgnn/internal.h"

enum gnn_status diskgnn_segmenter_open(const struct diskgnn_job *job, const struct diskgnn_sampled *sampled,
                                       const struct diskgnn_levels *levels, struct diskgnn_segmenter *out,
                                       struct gnn_err *err)
{
    const struct gnn_env *const env = job->env;
    *out = (struct diskgnn_segmenter){
        .env = env,
        .config = job->config,
        .sampled = sampled,
        .levels = levels,
        .rows = diskgnn_rows_of(env->dataset->row_bytes, diskgnn_page_bytes(job->config)),
        .nodes = {.name = "diskgnn rows of a disk cache"},
        .values = {.name = "diskgnn hash values"},
        .pairs = {.name = "diskgnn rows in order"},
        .scratch = {.name = "diskgnn sorting"},
    };
    GNN_MEM_NEW(env->world, out->slot, env->dataset->node_count, "diskgnn accesses of a segment", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(env->world, out->by_count, sampled->batches + UINT64_C(1), "diskgnn histogram", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(env->world, out->hash, (uint64_t)job->config->hashes * sampled->batches, "diskgnn hash functions",
                GNN_MEM_PLAIN, err);
    diskgnn_minhash_draw(env->workload->seed, sampled->batches, job->config->hashes, out->hash);
    return diskgnn_lists_open(env, sampled, &out->lists, err);
}

void diskgnn_segmenter_close(struct diskgnn_segmenter *s)
{
    if (s->env == NULL)
        return;
    struct gnn_world *const world = s->env->world;
    diskgnn_records_close(&s->lists);
    gnn_mem_free(world, s->slot);
    gnn_mem_free(world, s->by_count);
    gnn_mem_free(world, s->hash);
    gnn_buffer_close(world, &s->nodes);
    gnn_buffer_close(world, &s->values);
    gnn_buffer_close(world, &s->pairs);
    gnn_buffer_close(world, &s->scratch);
    *s = (struct diskgnn_segmenter){.env = NULL};
}

/* ---- counting ---- */

static void forget_counts(struct diskgnn_segmenter *s, uint32_t first, uint32_t end)
{
    memset(s->by_count, 0, (s->sampled->batches + UINT64_C(1)) * sizeof *s->by_count);
    s->touched = s->multiple = s->accesses = 0;
    s->disk_rows = 0;
    s->first = first;
    s->end = end;
}

void diskgnn_segment_add(struct diskgnn_segmenter *s, uint32_t batch, const gnn_node *list)
{
    const uint32_t count = diskgnn_sample_nodes(&s->sampled->of[batch]);
    for (uint32_t j = 0; j < count; j++) {
        const gnn_node v = list[j];
        if (s->levels->row_of[v] != GNN_NODE_NONE)
            continue;
        const uint32_t before = s->slot[v]++;
        s->by_count[before + 1]++;
        if (before > 0)
            s->by_count[before]--;
        s->touched += before == 0;
        s->multiple += before == 1;
        s->accesses++;
    }
    gnn_charge(s->env->world, GNN_WORK_TABLE_ENTRY, count);
}

enum gnn_status diskgnn_segment_count(struct diskgnn_segmenter *s, uint32_t first, uint32_t end, struct gnn_err *err)
{
    forget_counts(s, first, end);
    diskgnn_records_start(&s->lists, first, end);
    for (uint32_t i = first; i < end; i++) {
        const uint32_t *list;
        GNN_TRY(diskgnn_records_next(&s->lists, &list, err));
        diskgnn_segment_add(s, i, list);
    }
    return GNN_OK;
}

/* ---- the rows of the disk cache ---- */

/* Lists the nodes with `least` uses or more, marked IN_DISK | uses; the slots of others become 0. */
static enum gnn_status list_candidates(struct diskgnn_segmenter *s, uint32_t least, uint64_t *pairs, uint64_t room,
                                       uint64_t *count, struct gnn_err *err)
{
    *count = 0;
    diskgnn_records_start(&s->lists, s->first, s->end);
    for (uint32_t i = s->first; i < s->end; i++) {
        const uint32_t *list;
        GNN_TRY(diskgnn_records_next(&s->lists, &list, err));
        const uint32_t nodes = diskgnn_sample_nodes(&s->sampled->of[i]);
        for (uint32_t j = 0; j < nodes; j++) {
            uint32_t *const slot = &s->slot[list[j]];
            if (*slot == 0 || (*slot & DISKGNN_IN_DISK) != 0)
                continue;
            if (*slot < least) {
                *slot = 0;
                continue;
            }
            assert(*count < room);
            pairs[(*count)++] = (uint64_t)list[j] << 32 | *slot;
            *slot |= DISKGNN_IN_DISK;
        }
        gnn_charge(s->env->world, GNN_WORK_TABLE_ENTRY, nodes);
    }
    return GNN_OK;
}

/* Keeps of the candidates, which come by rising ID, those before the cut. */
static void keep_chosen(struct diskgnn_segmenter *s, const uint64_t *pairs, uint64_t candidates, struct diskgnn_cut cut)
{
    gnn_node *const nodes = s->nodes.data;
    for (uint64_t i = 0; i < candidates; i++) {
        const gnn_node v = (gnn_node)(pairs[i] >> 32);
        const uint32_t count = (uint32_t)pairs[i];
        const bool tied = count == cut.above && cut.ties > 0;
        if (count <= cut.above && !tied) {
            s->slot[v] = 0;
            continue;
        }
        cut.ties -= tied ? 1 : 0;
        s->slot[v] = DISKGNN_IN_DISK | s->disk_rows;
        nodes[s->disk_rows++] = v;
    }
}

enum gnn_status diskgnn_segment_choose(struct diskgnn_segmenter *s, uint32_t most, struct gnn_err *err)
{
    struct gnn_world *const world = s->env->world;
    const uint64_t rows = gnn_min_u64(most, s->multiple);
    assert(rows < DISKGNN_IN_DISK);
    const struct diskgnn_cut cut = diskgnn_cut_of(s->by_count, s->sampled->batches, rows);
    const uint32_t least = gnn_max_u32(rows > 0 ? cut.above + (cut.ties == 0) : UINT32_MAX, 2);
    uint64_t room = 0, candidates;
    for (uint32_t c = least; c <= s->sampled->batches; c++)
        room += s->by_count[c];
    GNN_TRY(gnn_buffer_reserve(world, &s->pairs, gnn_max_u64(room, 1) * sizeof(uint64_t), err));
    GNN_TRY(gnn_buffer_reserve(world, &s->scratch, gnn_max_u64(room, 1) * sizeof(uint64_t), err));
    GNN_TRY(gnn_buffer_reserve(world, &s->nodes, gnn_max_u64(rows, 1) * sizeof(gnn_node), err));
    GNN_TRY(list_candidates(s, least, s->pairs.data, room, &candidates, err));
    diskgnn_sort_pairs(world, s->pairs.data, s->scratch.data, candidates);
    keep_chosen(s, s->pairs.data, candidates, cut);
    assert(s->disk_rows == rows);
    return GNN_OK;
}

/* ---- their order ---- */

/* Notes that mini-batch i uses a row: in the row's hash values, or, without MinHash, in how rarely it is used, so that
 * the most used ones come first. */
static void note_use(const struct diskgnn_segmenter *s, uint32_t *value, uint32_t row, uint32_t i)
{
    const struct diskgnn_prepare_config *const c = s->config;
    if (c->reorder == DISKGNN_REORDER_OFF)
        value[row]--;
    else
        diskgnn_minhash_add(value, s->disk_rows, row, s->hash, s->sampled->batches, c->hashes, c->reorder, i);
}

static enum gnn_status note_uses(struct diskgnn_segmenter *s, uint32_t *value, struct gnn_err *err)
{
    diskgnn_records_start(&s->lists, s->first, s->end);
    for (uint32_t i = s->first; i < s->end; i++) {
        const uint32_t *list;
        GNN_TRY(diskgnn_records_next(&s->lists, &list, err));
        const uint32_t nodes = diskgnn_sample_nodes(&s->sampled->of[i]);
        for (uint32_t j = 0; j < nodes; j++)
            if ((s->slot[list[j]] & DISKGNN_IN_DISK) != 0)
                note_use(s, value, s->slot[list[j]] & ~DISKGNN_IN_DISK, i);
        gnn_charge(s->env->world, GNN_WORK_TABLE_ENTRY, nodes);
    }
    return GNN_OK;
}

enum gnn_status diskgnn_segment_order(struct diskgnn_segmenter *s, struct gnn_err *err)
{
    struct gnn_world *const world = s->env->world;
    const uint32_t values = diskgnn_minhash_values(s->config->hashes, s->config->reorder);
    const uint64_t count = s->disk_rows, words = values * count;
    if (count == 0)
        return GNN_OK;
    GNN_TRY(gnn_buffer_reserve(world, &s->values, (words + count) * sizeof(uint32_t), err));
    GNN_TRY(gnn_buffer_reserve(world, &s->pairs, count * sizeof(uint64_t), err));
    GNN_TRY(gnn_buffer_reserve(world, &s->scratch, count * sizeof(uint64_t), err));
    uint32_t *const value = s->values.data, *const place = value + words;
    memset(value, 0xff, words * sizeof *value);
    GNN_TRY(note_uses(s, value, err));
    diskgnn_minhash_order(world, value, values, count, s->pairs.data, s->scratch.data, place);
    const gnn_node *const nodes = s->nodes.data;
    for (uint64_t i = 0; i < count; i++)
        s->slot[nodes[i]] = DISKGNN_IN_DISK | place[i];
    return GNN_OK;
}

/* ---- the next segment ---- */

void diskgnn_segment_clear(struct diskgnn_segmenter *s)
{
    const gnn_node *const nodes = s->nodes.data;
    for (uint32_t i = 0; i < s->disk_rows; i++)
        s->slot[nodes[i]] = 0;
    gnn_charge(s->env->world, GNN_WORK_TABLE_ENTRY, s->disk_rows);
    s->disk_rows = 0;
}

void diskgnn_segment_drop(struct diskgnn_segmenter *s)
{
    memset(s->slot, 0, s->env->dataset->node_count * sizeof *s->slot);
    gnn_charge(s->env->world, GNN_WORK_COPIED_BYTE, s->env->dataset->node_count * sizeof *s->slot);
    s->disk_rows = 0;
}

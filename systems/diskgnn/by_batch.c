/* SPDX-License-Identifier: MIT */
/* What single mini-batches read of the disk, and what each would read of a disk cache whose rows nothing has put in
 * order: one for all mini-batches, of as many rows as the layout's, by falling count (option unordered).
 *
 * Source   DiskGNN (SIGMOD 2025) section 5.1, Figure 5b
 * Memory   8 bytes a mini-batch; while counting what placing takes (segment.c)
 * I/O      the lists of all mini-batches, four times: counting, choosing, ordering, and looking rows up */
#include "systems/diskgnn/diskgnn.h"
#include "systems/diskgnn/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Up to so much of the other a mini-batch reads noticeably less (the paper gives no figure), below so much half. */
static const uint64_t noticeable_permille = 900, half_permille = 500;

/* ---- the disk cache that is in no order ---- */

/* A segmenter over all mini-batches. */
struct unordered {
    struct diskgnn_prepare_config config;
    struct diskgnn_job job;
    struct diskgnn_levels levels;
    struct diskgnn_segmenter s;
    uint64_t *pairs, *scratch; /* (nodes_most) */
};

/* The bytes of one mini-batch's rows: a chunk of those that are packed, and the pages of the others. */
static uint64_t bytes_of_list(const struct unordered *u, const gnn_node *list, uint32_t count)
{
    uint64_t packed = 0, shared = 0, pages = 0;
    for (uint32_t j = 0; j < count; j++) {
        const uint32_t slot = u->s.slot[list[j]];
        if (u->levels.row_of[list[j]] != GNN_NODE_NONE)
            continue;
        if ((slot & DISKGNN_IN_DISK) != 0)
            u->pairs[shared++] = (uint64_t)(slot & ~DISKGNN_IN_DISK) / u->s.rows.per_page << 32;
        else
            packed++;
    }
    diskgnn_sort_pairs(u->job.env->world, u->pairs, u->scratch, shared);
    for (uint64_t j = 0; j < shared; j++)
        pages += j == 0 || u->pairs[j] != u->pairs[j - 1];
    gnn_charge(u->job.env->world, GNN_WORK_TABLE_ENTRY, count);
    return diskgnn_dense_bytes(&u->s.rows, packed) + pages * u->s.rows.page_bytes;
}

static enum gnn_status count_all(struct unordered *u, const struct diskgnn_sampled *sampled, uint32_t disk_rows,
                                 uint64_t *bytes, struct gnn_err *err)
{
    if (disk_rows > 0) {
        GNN_TRY(diskgnn_segment_count(&u->s, 0, sampled->batches, err));
        GNN_TRY(diskgnn_segment_choose(&u->s, disk_rows, err));
        GNN_TRY(diskgnn_segment_order(&u->s, err));
    }
    diskgnn_records_start(&u->s.lists, 0, sampled->batches);
    for (uint32_t i = 0; i < sampled->batches; i++) {
        const uint32_t *list;
        GNN_TRY(diskgnn_records_next(&u->s.lists, &list, err));
        bytes[i] = bytes_of_list(u, list, diskgnn_sample_nodes(&sampled->of[i]));
    }
    return GNN_OK;
}

static enum gnn_status open_all(struct unordered *u, const struct diskgnn_sampled *sampled,
                                const struct diskgnn_layout *layout, struct gnn_err *err)
{
    struct gnn_world *const world = u->job.env->world;
    const struct diskgnn_caches caches = {layout->gpu_rows, layout->cpu_rows};
    GNN_TRY(diskgnn_levels_open(&u->job, sampled, &caches, &u->levels, err));
    GNN_TRY(diskgnn_segmenter_open(&u->job, sampled, &u->levels, &u->s, err));
    GNN_MEM_NEW(world, u->pairs, sampled->nodes_most, "diskgnn pages of a mini-batch", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(world, u->scratch, sampled->nodes_most, "diskgnn sorting of pages", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

enum gnn_status diskgnn_unordered_count(struct diskgnn *s, struct gnn_err *err)
{
    struct gnn_world *const world = s->env->world;
    struct unordered u = {.config = s->config->prepare};
    u.config.reorder = DISKGNN_REORDER_OFF;
    u.job = (struct diskgnn_job){.env = s->env, .config = &u.config, .dir = s->sampled.dir};
    free(s->unordered_bytes);
    GNN_NEW(s->unordered_bytes, gnn_max_u32(s->sampled.batches, 1), err, "diskgnn: bytes of %" PRIu32 " mini-batches",
            s->sampled.batches);
    enum gnn_status status = open_all(&u, &s->sampled, &s->layout, err);
    GNN_NEXT(status, count_all(&u, &s->sampled, s->layout.disk_rows, s->unordered_bytes, err));
    gnn_mem_free(world, u.pairs);
    gnn_mem_free(world, u.scratch);
    diskgnn_segmenter_close(&u.s);
    gnn_mem_free(world, u.levels.row_of);
    return status;
}

/* ---- figures ---- */

static uint64_t bytes_of_batch(const struct diskgnn_layout *layout, uint32_t batch)
{
    const struct diskgnn_place *const place = &layout->of[batch];
    return diskgnn_dense_bytes(&layout->rows, place->packed) + place->pages * (uint64_t)layout->rows.page_bytes;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The value that `share` of the sorted ones do not exceed. */
static uint64_t quantile(const uint64_t *sorted, uint32_t count, double share)
{
    const uint32_t wanted = gnn_max_u32((uint32_t)ceil(share * count), 1);
    return sorted[wanted - 1];
}

static void report_volumes(const struct diskgnn *s, uint32_t batches, struct gnn_epoch_result *out)
{
    for (uint32_t k = 0; k < batches; k++)
        s->of_batch[k] = bytes_of_batch(&s->layout, s->order[k]);
    qsort(s->of_batch, batches, sizeof *s->of_batch, compare);
    gnn_epoch_size(out, "batch_read_bytes_p50", quantile(s->of_batch, batches, 0.5));
    gnn_epoch_size(out, "batch_read_bytes_p90", quantile(s->of_batch, batches, 0.9));
    gnn_epoch_size(out, "batch_read_bytes_p99", quantile(s->of_batch, batches, 0.99));
    gnn_epoch_size(out, "batch_read_bytes_max", quantile(s->of_batch, batches, 1));
}

/* A mini-batch that reads nothing either way has a ratio of 1. */
static uint64_t permille_of(const struct diskgnn *s, uint32_t batch)
{
    const uint64_t unordered = s->unordered_bytes[batch];
    return unordered == 0 ? 1000 : bytes_of_batch(&s->layout, batch) * 1000 / unordered;
}

static uint64_t percent_of(uint64_t part, uint32_t all)
{
    return (100 * part + all / 2) / all;
}

static void report_ratios(const struct diskgnn *s, uint32_t batches, struct gnn_epoch_result *out)
{
    static const struct {
        const char *name;
        double share;
    } ends[] = {{"io_p01_permille", 0.01}, {"io_p10_permille", 0.1},  {"io_p25_permille", 0.25},
                {"io_p50_permille", 0.5},  {"io_p75_permille", 0.75}, {"io_p90_permille", 0.9},
                {"io_p99_permille", 0.99}};
    uint64_t less = 0, half = 0;
    for (uint32_t k = 0; k < batches; k++) {
        s->of_batch[k] = permille_of(s, s->order[k]);
        less += s->of_batch[k] <= noticeable_permille;
        half += s->of_batch[k] < half_permille;
    }
    qsort(s->of_batch, batches, sizeof *s->of_batch, compare);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        gnn_epoch_size(out, ends[i].name, quantile(s->of_batch, batches, ends[i].share));
    gnn_epoch_size(out, "batches_less_pct", percent_of(less, batches));
    gnn_epoch_size(out, "batches_half_pct", percent_of(half, batches));
}

void diskgnn_report_batches(const struct diskgnn *s, struct gnn_epoch_result *out)
{
    const uint32_t batches = gnn_epoch_batches(s->env);
    if (batches == 0)
        return;
    report_volumes(s, batches, out);
    if (s->unordered_bytes != NULL)
        report_ratios(s, batches, out);
}

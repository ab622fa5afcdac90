/* SPDX-License-Identifier: MIT */
/* How long a segment is, and how many rows its disk cache has, under a limit on the disk.
 *
 * Source   DiskGNN (SIGMOD 2025) section 5.1: Algorithm 2 (one pass over the first s mini-batches), and the brute-force
 *          search it is compared with in Table 4. Algorithm 2 estimates from the first segment and leaves out tables
 *          and padding; search=exact counts the bytes that the plan really takes, and raises s until they fit.
 *          Brute force chooses by the first segment, too, but takes no plan whose bytes exceed the limit */
#include "harness/base/log.h"
#include "systems/diskgnn/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { FIT_TURNS = 8 }; /* of brute force: sizes of the disk cache that are tried for a segment length */

__extension__ typedef unsigned __int128 wide;

/* ---- what a plan takes ---- */

/* Adds one mini-batch. choose was called for its segment, or there is no disk cache. */
static void add_batch(const struct diskgnn_segmenter *s, uint32_t batch, const gnn_node *list,
                      struct diskgnn_cost *cost)
{
    struct diskgnn_place place = {.packed = 0};
    const uint32_t count = diskgnn_sample_nodes(&s->sampled->of[batch]);
    for (uint32_t j = 0; j < count; j++) {
        if (s->levels->row_of[list[j]] != GNN_NODE_NONE)
            place.cpu++;
        else if ((s->slot[list[j]] & DISKGNN_IN_DISK) != 0)
            place.shared++;
        else
            place.packed++;
    }
    cost->packed_rows += place.packed;
    cost->shared_rows += place.shared;
    cost->chunk_bytes += diskgnn_dense_bytes(&s->rows, place.packed);
    cost->table_bytes += gnn_round_up(diskgnn_table_words(&place) * sizeof(uint32_t), s->rows.align_bytes);
    gnn_charge(s->env->world, GNN_WORK_TABLE_ENTRY, count);
}

static enum gnn_status add_segment(struct diskgnn_segmenter *s, uint32_t first, uint32_t end, uint32_t disk_rows,
                                   struct diskgnn_cost *cost, struct gnn_err *err)
{
    if (disk_rows > 0) {
        GNN_TRY(diskgnn_segment_count(s, first, end, err));
        GNN_TRY(diskgnn_segment_choose(s, disk_rows, err));
        cost->disk_rows_most = gnn_max_u64(cost->disk_rows_most, s->disk_rows);
        cost->disk_bytes += diskgnn_rows_pages(&s->rows, s->disk_rows) * s->rows.page_bytes;
    }
    diskgnn_records_start(&s->lists, first, end);
    for (uint32_t i = first; i < end; i++) {
        const uint32_t *list;
        GNN_TRY(diskgnn_records_next(&s->lists, &list, err));
        add_batch(s, i, list, cost);
    }
    if (disk_rows > 0)
        diskgnn_segment_clear(s);
    return GNN_OK;
}

enum gnn_status diskgnn_cost_of(struct diskgnn_segmenter *s, uint32_t segment, uint32_t disk_rows,
                                struct diskgnn_cost *out, struct gnn_err *err)
{
    const uint32_t n = s->sampled->batches;
    assert(segment > 0);
    *out = (struct diskgnn_cost){.chunk_bytes = 0};
    for (uint32_t first = 0; first < n; first += gnn_min_u32(segment, n - first))
        GNN_TRY(add_segment(s, first, first + gnn_min_u32(segment, n - first), disk_rows, out, err));
    return GNN_OK;
}

/* ---- Algorithm 2 ---- */

/* Whether `rows` rows for i mini-batches are, for n of them, within the limit. */
static bool estimate_fits(const struct diskgnn_segmenter *s, uint64_t rows, uint32_t i, uint64_t limit_bytes)
{
    return (wide)rows * s->sampled->batches * s->rows.row_bytes <= (wide)limit_bytes * i;
}

/* The first s whose estimate is within the limit, n where none is; m: nodes used more than once. */
static enum gnn_status approximate(struct diskgnn_segmenter *s, uint64_t limit_bytes, struct diskgnn_found *out,
                                   struct gnn_err *err)
{
    const uint32_t n = s->sampled->batches;
    GNN_TRY(diskgnn_segment_count(s, 0, 0, err)); /* all counts at zero */
    diskgnn_records_start(&s->lists, 0, n);
    for (uint32_t i = 1; i <= n; i++) {
        const uint32_t *list;
        GNN_TRY(diskgnn_records_next(&s->lists, &list, err));
        diskgnn_segment_add(s, i - 1, list);
        out->segment = i;
        if (estimate_fits(s, s->touched, i, limit_bytes))
            break;
    }
    out->disk_rows = (uint32_t)gnn_min_u64(s->multiple, DISKGNN_IN_DISK - 1);
    out->first_segment = out->segment;
    out->first_disk_rows = out->disk_rows;
    diskgnn_segment_drop(s);
    return GNN_OK;
}

static enum gnn_status too_small(const struct diskgnn_segmenter *s, const struct diskgnn_cost *cost,
                                 uint64_t limit_bytes, struct gnn_err *err)
{
    return gnn_fail(err, GNN_EUSAGE,
                    "diskgnn.disk_limit allows %" PRIu64
                    " bytes, but chunks, disk cache and tables take at least %" PRIu64
                    " (one disk cache for all mini-batches): raise it to %.3f or more, or enlarge the caches",
                    limit_bytes, diskgnn_cost_bytes(cost),
                    ceil(1000.0 * (double)diskgnn_cost_bytes(cost) / (double)s->env->dataset->feature_bytes) / 1000);
}

/* Tries segments of this length with every node used more than once in the disk cache: fewer bytes no plan of this
 * length takes. */
static enum gnn_status try_length(struct diskgnn_segmenter *s, uint32_t segment, uint64_t limit_bytes, bool *fits,
                                  struct diskgnn_cost *cost, struct gnn_err *err)
{
    GNN_TRY(diskgnn_cost_of(s, segment, DISKGNN_IN_DISK - 1, cost, err));
    *fits = diskgnn_cost_bytes(cost) <= limit_bytes;
    return GNN_OK;
}

/* Raises s from what Algorithm 2 found, by eighths, until all bytes fit, and comes back towards the last one that did
 * not, to within a 32nd: the shorter the segments, the fewer pages are read. */
static enum gnn_status raise_segment(struct diskgnn_segmenter *s, uint64_t limit_bytes, struct diskgnn_found *out,
                                     struct gnn_err *err)
{
    const uint32_t n = s->sampled->batches;
    struct diskgnn_cost cost;
    uint32_t low = out->segment - 1, segment = out->segment;
    bool fits;
    GNN_TRY(diskgnn_cost_of(s, segment, out->disk_rows, &cost, err));
    if (diskgnn_cost_bytes(&cost) <= limit_bytes)
        return GNN_OK;
    for (;;) {
        GNN_TRY(try_length(s, segment, limit_bytes, &fits, &cost, err));
        if (fits)
            break;
        if (segment == n)
            return too_small(s, &cost, limit_bytes, err);
        low = segment;
        segment = gnn_min_u32(segment + gnn_max_u32(segment / 8, 1), n);
    }
    *out = (struct diskgnn_found){segment, (uint32_t)cost.disk_rows_most, out->first_segment, out->first_disk_rows};
    while (low >= out->first_segment && out->segment - low > gnn_max_u32(out->segment / 32, 1)) {
        const uint32_t middle = low + (out->segment - low) / 2;
        GNN_TRY(try_length(s, middle, limit_bytes, &fits, &cost, err));
        if (!fits) {
            low = middle;
            continue;
        }
        out->segment = middle;
        out->disk_rows = (uint32_t)cost.disk_rows_most;
    }
    return GNN_OK;
}

/* ---- brute force ---- */

/* Returns the smallest m with which a counted segment is within its share of the limit, in rows: m rows stored once,
 * and each other use packed. UINT64_MAX: none. */
static uint64_t least_rows(const struct diskgnn_segmenter *s, uint64_t share_rows)
{
    uint64_t stored = s->accesses, m = 0;
    for (uint32_t c = s->sampled->batches; c >= 2 && stored > share_rows; c--) {
        const uint64_t saved = c - 1, excess = stored - share_rows;
        const uint64_t taken = gnn_min_u64(s->by_count[c], gnn_div_up(excess, saved));
        m += taken;
        stored -= taken * saved;
    }
    return stored <= share_rows ? m : UINT64_MAX;
}

/* Distinct pages of the disk cache that each mini-batch of the ordered segment reads, summed, and its disk rows. */
static enum gnn_status read_pages(struct diskgnn_segmenter *s, uint64_t *pages, uint64_t *shared, struct gnn_err *err)
{
    uint32_t *seen = NULL; /* per page: the last mini-batch that read it, counted from 1 */
    struct gnn_world *const world = s->env->world;
    const uint64_t all = diskgnn_rows_pages(&s->rows, s->disk_rows);
    enum gnn_status status = GNN_OK;
    *pages = *shared = 0;
    GNN_MEM_NEW(world, seen, gnn_max_u64(all, 1), "diskgnn pages seen", GNN_MEM_PLAIN, err);
    diskgnn_records_start(&s->lists, s->first, s->end);
    for (uint32_t i = s->first; status == GNN_OK && i < s->end; i++) {
        const uint32_t *list;
        status = diskgnn_records_next(&s->lists, &list, err);
        const uint32_t count = status == GNN_OK ? diskgnn_sample_nodes(&s->sampled->of[i]) : 0;
        for (uint32_t j = 0; j < count; j++) {
            const uint32_t slot = s->slot[list[j]];
            if ((slot & DISKGNN_IN_DISK) == 0)
                continue;
            uint32_t *const last = &seen[(slot & ~DISKGNN_IN_DISK) / s->rows.per_page];
            *pages += *last != i + 1;
            *last = i + 1;
            ++*shared;
        }
        gnn_charge(world, GNN_WORK_TABLE_ENTRY, count);
    }
    gnn_mem_free(world, seen);
    return status;
}

/* *amplification: of the first segment with its smallest disk cache; none: it cannot be within the limit. */
static enum gnn_status try_segment(struct diskgnn_segmenter *s, uint32_t segment, uint64_t limit_bytes, uint64_t *rows,
                                   double *amplification, struct gnn_err *err)
{
    const uint64_t share = (uint64_t)((wide)limit_bytes * segment / ((wide)s->rows.row_bytes * s->sampled->batches));
    uint64_t pages, shared;
    GNN_TRY(diskgnn_segment_count(s, 0, segment, err));
    *rows = least_rows(s, share);
    if (*rows == UINT64_MAX) {
        diskgnn_segment_drop(s);
        return GNN_OK;
    }
    const uint64_t accesses = s->accesses;
    GNN_TRY(diskgnn_segment_choose(s, (uint32_t)*rows, err));
    GNN_TRY(diskgnn_segment_order(s, err));
    GNN_TRY(read_pages(s, &pages, &shared, err));
    diskgnn_segment_clear(s);
    const double read_bytes = (double)(accesses - shared) * s->rows.row_bytes + (double)pages * s->rows.page_bytes;
    *amplification = accesses > 0 ? read_bytes / ((double)accesses * s->rows.row_bytes) : 1;
    return GNN_OK;
}

/* A segment length that brute force tries. */
struct candidate {
    uint32_t segment, disk_rows;
    double amplification;
    bool fits;      /* the whole plan is within the limit */
    uint64_t bytes; /* of the whole plan; UINT64_MAX: not counted, as the first segment exceeds its share */
};

/* Finds the smallest m for a length. The share of the first segment has no tables and no padding, and others may use
 * more rows, so the whole plan is counted. While it exceeds the limit, its excess and an eighth of that leave the
 * share, and m is found again. Stops once the amplification is not below `best`. */
static enum gnn_status fit_segment(struct diskgnn_segmenter *s, uint64_t limit_bytes, double best, struct candidate *c,
                                   struct gnn_err *err)
{
    uint64_t share_bytes = limit_bytes;
    c->bytes = UINT64_MAX;
    for (uint32_t turn = 0; turn < FIT_TURNS; turn++) {
        uint64_t rows;
        struct diskgnn_cost cost;
        GNN_TRY(try_segment(s, c->segment, share_bytes, &rows, &c->amplification, err));
        if (rows == UINT64_MAX || c->amplification >= best)
            return GNN_OK;
        c->disk_rows = (uint32_t)rows;
        GNN_TRY(diskgnn_cost_of(s, c->segment, c->disk_rows, &cost, err));
        c->bytes = diskgnn_cost_bytes(&cost);
        c->fits = c->bytes <= limit_bytes;
        if (c->fits)
            return GNN_OK;
        const uint64_t excess_bytes = c->bytes - limit_bytes;
        share_bytes -= gnn_min_u64(excess_bytes + excess_bytes / 8 + s->rows.page_bytes, share_bytes);
    }
    return GNN_OK;
}

static enum gnn_status none_fits(const struct diskgnn_segmenter *s, uint32_t step, uint64_t limit_bytes,
                                 uint64_t least_bytes, struct gnn_err *err)
{
    char least[80] = "the first segment alone exceeds its share";
    if (least_bytes < UINT64_MAX)
        (void)snprintf(least, sizeof least, "the smallest plan takes %" PRIu64, least_bytes);
    return gnn_fail(err, GNN_EUSAGE,
                    "diskgnn.search=brute: no segment of 2, %" PRIu32 ", ... mini-batches fits into the %" PRIu64
                    " bytes of diskgnn.disk_limit=%g (%s): raise diskgnn.disk_limit, or lower diskgnn.brute_step",
                    2 + step, limit_bytes, s->config->disk_limit, least);
}

static enum gnn_status brute_force(struct diskgnn_segmenter *s, uint64_t limit_bytes, struct diskgnn_found *out,
                                   struct gnn_err *err)
{
    const uint32_t n = s->sampled->batches;
    const uint32_t step = s->config->brute_step > 0 ? s->config->brute_step : gnn_max_u32(n / 10, 1);
    uint64_t least_bytes = UINT64_MAX;
    double best = INFINITY;
    *out = (struct diskgnn_found){.segment = 0};
    for (uint32_t segment = gnn_min_u32(2, n); segment <= n; segment += step) {
        struct candidate c = {.segment = segment};
        GNN_TRY(fit_segment(s, limit_bytes, best, &c, err));
        least_bytes = gnn_min_u64(least_bytes, c.bytes);
        if (!c.fits)
            continue;
        best = c.amplification;
        *out = (struct diskgnn_found){segment, c.disk_rows, segment, c.disk_rows};
    }
    return out->segment > 0 ? GNN_OK : none_fits(s, step, limit_bytes, least_bytes, err);
}

/* ---- all ---- */

static enum gnn_status search(struct diskgnn_segmenter *s, uint64_t limit_bytes, struct diskgnn_found *out,
                              struct gnn_err *err)
{
    if (s->config->search == DISKGNN_SEARCH_BRUTE)
        return brute_force(s, limit_bytes, out, err);
    GNN_TRY(approximate(s, limit_bytes, out, err));
    if (s->config->search == DISKGNN_SEARCH_APPROXIMATE)
        return GNN_OK;
    GNN_TRY(raise_segment(s, limit_bytes, out, err));
    gnn_log_info("diskgnn: segments of %" PRIu32 " mini-batches, %" PRIu32 " rows in a disk cache (estimated: %" PRIu32
                 ", %" PRIu32 ")",
                 out->segment, out->disk_rows, out->first_segment, out->first_disk_rows);
    return GNN_OK;
}

static enum gnn_status take_given(struct diskgnn_segmenter *s, uint64_t limit_bytes, struct diskgnn_found *out,
                                  struct gnn_err *err)
{
    struct diskgnn_cost cost;
    const uint32_t segment = gnn_min_u32(s->config->segment, s->sampled->batches);
    const uint32_t rows = gnn_min_u32(s->config->disk_rows, DISKGNN_IN_DISK - 1);
    *out = (struct diskgnn_found){segment, rows, segment, rows};
    if (limit_bytes == 0)
        return GNN_OK;
    GNN_TRY(diskgnn_cost_of(s, segment, rows, &cost, err));
    if (diskgnn_cost_bytes(&cost) <= limit_bytes)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE,
                    "diskgnn.segment=%" PRIu32 " and diskgnn.disk_rows=%" PRIu32 " take %" PRIu64
                    " bytes, but diskgnn.disk_limit allows %" PRIu64
                    ": raise one of the three, or set segment and disk_rows to 0",
                    segment, rows, diskgnn_cost_bytes(&cost), limit_bytes);
}

enum gnn_status diskgnn_search(struct diskgnn_segmenter *s, uint64_t limit_bytes, struct diskgnn_found *out,
                               struct gnn_err *err)
{
    const uint32_t n = s->sampled->batches;
    struct diskgnn_cost cost;
    if (s->config->segment > 0)
        return take_given(s, limit_bytes, out, err);
    *out = (struct diskgnn_found){n, 0, n, 0};
    if (limit_bytes == 0)
        return GNN_OK;
    GNN_TRY(diskgnn_cost_of(s, n, 0, &cost, err));
    if (diskgnn_cost_bytes(&cost) <= limit_bytes)
        return GNN_OK;
    return search(s, limit_bytes, out, err);
}

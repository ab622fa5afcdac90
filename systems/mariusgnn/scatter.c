/* SPDX-License-Identifier: MIT */
/* Scattering edges and feature rows into partition order, out of core, in two passes: every item goes to the range of
 * the result in which it will lie (a stream of a scratch file each), then range after range is loaded, put into place
 * and written. A range is what the window holds; with a single one the scratch file is left out. Reads: the input, and
 * the scratch file once; writes: both once.
 *
 * Streams are only appended to, so that items of a range come back in the order of the input: edges keep it inside
 * their bucket, and rows need no name. */
#include "systems/mariusgnn/store.h"

#include "harness/storage/exact.h"
#include "harness/storage/stream.h"
#include "harness/system/epoch.h"
#include "harness/system/scan.h"

#include <inttypes.h>

enum { SPILL_BLOCK_MOST = 256 << 10, SPILL_SPAN_BYTES = 1 << 20, SPILL_DEPTH = 16, PENDING_EDGES = 256 };

struct edge {
    gnn_node source, destination;
};
_Static_assert(sizeof(struct edge) == MARIUS_EDGE_BYTES, "its layout on disk");

/* ---- the scratch file ---- */

struct spill {
    const struct marius_scatter *scatter;
    uint32_t ranges;
    struct gnn_stream_file *file;
    struct gnn_stream **streams; /* (ranges) */
    struct gnn_reader *reader;
};

static enum gnn_status spill_open(const struct marius_scatter *scatter, uint32_t ranges, unsigned mem_flags,
                                  struct spill *out, struct gnn_err *err)
{
    const uint64_t share = gnn_round_down(scatter->window_bytes / ranges, GNN_PAGE_BYTES);
    const struct gnn_stream_file_config config = {
        .dir = scatter->store->prepared.dir,
        .direct = scatter->direct,
        .block_bytes = (uint32_t)gnn_min_u64(gnn_max_u64(share, GNN_PAGE_BYTES), SPILL_BLOCK_MOST),
        .mem_flags = mem_flags};
    *out = (struct spill){.scatter = scatter, .ranges = ranges};
    GNN_NEW(out->streams, ranges, err, "mariusgnn: streams of %" PRIu32 " ranges", ranges);
    GNN_TRY(gnn_stream_file_open(scatter->env->world, &config, &out->file, err));
    for (uint32_t r = 0; r < ranges; r++)
        GNN_TRY(gnn_stream_open(out->file, &out->streams[r], err));
    return GNN_OK;
}

static void spill_close(struct spill *spill)
{
    gnn_reader_close(spill->reader);
    for (uint32_t r = 0; spill->streams != NULL && r < spill->ranges; r++)
        gnn_stream_close(spill->streams[r]);
    free(spill->streams);
    gnn_stream_file_close(spill->file);
}

/* Ends the writing: from now on ranges can be loaded. */
static enum gnn_status spill_seal(struct spill *spill, struct gnn_err *err)
{
    struct gnn_file *const file = gnn_stream_file_handle(spill->file);
    const struct gnn_reader_config config = {
        .engine = spill->scatter->env->io_engine, .depth = SPILL_DEPTH, .files = &file, .file_count = 1};
    for (uint32_t r = 0; r < spill->ranges; r++)
        GNN_TRY(gnn_stream_seal(spill->streams[r], err));
    return gnn_reader_open(spill->scatter->env->world, &config, &spill->reader, err);
}

static uint64_t spill_largest(const struct spill *spill)
{
    uint64_t largest = 1;
    for (uint32_t r = 0; r < spill->ranges; r++)
        largest = gnn_max_u64(largest, gnn_stream_bytes(spill->streams[r]));
    return gnn_round_up(largest, SPILL_SPAN_BYTES);
}

/* Reads a range to memory, span after span. */
static enum gnn_status spill_load(struct spill *spill, uint32_t range, unsigned char *memory, struct gnn_err *err)
{
    const struct gnn_stream *const stream = spill->streams[range];
    const uint64_t bytes = gnn_stream_bytes(stream);
    for (uint64_t at = 0; at < bytes;) {
        struct gnn_span spans[SPILL_DEPTH];
        void *dst[SPILL_DEPTH];
        uint32_t count = 0;
        for (; at < bytes && count < SPILL_DEPTH; count++, at += spans[count - 1].len_bytes) {
            spans[count] = (struct gnn_span){
                .stream = stream, .offset_bytes = at, .len_bytes = gnn_min_u64(bytes - at, SPILL_SPAN_BYTES)};
            dst[count] = memory + at;
        }
        GNN_TRY(gnn_check_stop(spill->scatter->env, err));
        GNN_TRY(gnn_stream_load(spill->reader, spans, dst, count, err));
    }
    return GNN_OK;
}

/* ---- edges ---- */

struct edge_job {
    const struct marius_scatter *scatter;
    struct spill spill;
    uint32_t ranges;
    uint64_t *range_bucket; /* (ranges + 1) first bucket of each */
    uint64_t *cursor;       /* (p * p) where the next edge of a bucket goes */
    gnn_node destination;   /* whose list the scan is in; old ID */
    gnn_node new_destination;
    uint32_t to; /* its partition */
    struct {
        uint32_t count;
        struct edge edges[PENDING_EDGES];
    } * pending;           /* (ranges) */
    unsigned char *window; /* what is carried over, then the range in place */
    uint64_t window_first; /* edge that stands at `place` */
    struct edge *place;
    unsigned char *loaded; /* the range as it was spilled; NULL with one range */
    struct gnn_file *file;
    uint64_t carried_bytes; /* of a page that is not written yet */
};

/* Returns the edge's bucket. e ascends from one call to the next, by scan. */
static uint64_t bucket_of(struct edge_job *job, uint64_t e, gnn_node source, struct edge *edge)
{
    const struct marius_scatter *const scatter = job->scatter;
    const struct marius_store *const store = scatter->store;
    const uint64_t *const indptr = scatter->env->dataset->indptr;
    if (indptr[job->destination + 1] <= e || e == 0) {
        while (indptr[job->destination + 1] <= e)
            job->destination++;
        job->new_destination = scatter->old_to_new[job->destination];
        job->to = job->new_destination / store->rows;
    }
    *edge = (struct edge){scatter->old_to_new[source], job->new_destination};
    return (uint64_t)(edge->source / store->rows) * store->partitions + job->to;
}

/* The visitors are gnn_scan_fn over neighbour IDs. */
static enum gnn_status count_edges(void *ctx, uint64_t first, void *data, uint64_t count, struct gnn_err *err)
{
    (void)err;
    struct edge_job *const job = ctx;
    const gnn_node *const ids = data;
    struct edge edge;
    for (uint64_t i = 0; i < count; i++)
        job->cursor[bucket_of(job, first + i, ids[i], &edge) + 1]++;
    gnn_charge(job->scatter->env->world, GNN_WORK_TABLE_ENTRY, count);
    return GNN_OK;
}

static enum gnn_status place_edges(void *ctx, uint64_t first, void *data, uint64_t count, struct gnn_err *err)
{
    (void)err;
    struct edge_job *const job = ctx;
    const gnn_node *const ids = data;
    for (uint64_t i = 0; i < count; i++) {
        struct edge edge;
        const uint64_t bucket = bucket_of(job, first + i, ids[i], &edge);
        job->place[job->cursor[bucket]++] = edge;
    }
    gnn_charge(job->scatter->env->world, GNN_WORK_TABLE_ENTRY, count);
    return GNN_OK;
}

static uint32_t range_of(const struct edge_job *job, uint64_t bucket)
{
    uint32_t low = 0, high = job->ranges;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (job->range_bucket[middle] <= bucket)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static enum gnn_status flush_pending(struct edge_job *job, uint32_t range, struct gnn_err *err)
{
    const uint32_t count = job->pending[range].count;
    job->pending[range].count = 0;
    return gnn_stream_append(job->spill.streams[range], job->pending[range].edges, count * sizeof(struct edge), err);
}

static enum gnn_status spill_edges(void *ctx, uint64_t first, void *data, uint64_t count, struct gnn_err *err)
{
    struct edge_job *const job = ctx;
    const gnn_node *const ids = data;
    for (uint64_t i = 0; i < count; i++) {
        struct edge edge;
        const uint32_t range = range_of(job, bucket_of(job, first + i, ids[i], &edge));
        job->pending[range].edges[job->pending[range].count++] = edge;
        if (job->pending[range].count == PENDING_EDGES)
            GNN_TRY(flush_pending(job, range, err));
    }
    gnn_charge(job->scatter->env->world, GNN_WORK_TABLE_ENTRY, 2 * count);
    return GNN_OK;
}

static enum gnn_status scan_edges(struct edge_job *job, gnn_scan_fn *visit, struct gnn_err *err)
{
    const struct gnn_scan scan = gnn_scan_of_edges(job->scatter->env, job->scatter->direct);
    job->destination = 0;
    return gnn_scan_file(job->scatter->env, &scan, visit, job, err);
}

/* Counts the buckets. The table has a place in front: bucket b is counted at b + 2, so that after the sums entry b + 1
 * is where its next edge goes and, when all are placed, where the next bucket begins. */
static enum gnn_status count_buckets(struct edge_job *job, struct gnn_err *err)
{
    struct marius_store *const store = job->scatter->store;
    const uint64_t buckets = (uint64_t)store->partitions * store->partitions;
    GNN_MEM_NEW(job->scatter->env->world, store->bucket_start, buckets + 2, "edge bucket table", GNN_MEM_PLAIN, err);
    job->cursor = store->bucket_start + 1;
    GNN_TRY(scan_edges(job, count_edges, err));
    for (uint64_t b = 0; b < buckets; b++)
        store->bucket_start[b + 2] += store->bucket_start[b + 1];
    assert(store->bucket_start[buckets + 1] == job->scatter->env->dataset->edge_count);
    return GNN_OK;
}

/* Cuts the buckets into ranges of at most range_edges, or one bucket. Fills range_bucket where it is not NULL. */
static uint32_t cut_ranges(const struct edge_job *job, uint64_t range_edges, uint64_t *largest)
{
    const struct marius_store *const store = job->scatter->store;
    const uint64_t buckets = (uint64_t)store->partitions * store->partitions;
    const uint64_t *const start = store->bucket_start + 1; /* nothing is placed yet */
    uint32_t ranges = 0;
    uint64_t first = 0;
    *largest = 0;
    for (uint64_t b = 0; b < buckets; b++) {
        if (b > first && start[b + 1] - start[first] > range_edges) {
            *largest = gnn_max_u64(*largest, start[b] - start[first]);
            first = b;
        }
        if (b == first) {
            if (job->range_bucket != NULL)
                job->range_bucket[ranges] = b;
            ranges++;
        }
    }
    *largest = gnn_max_u64(*largest, start[buckets] - start[first]);
    if (job->range_bucket != NULL)
        job->range_bucket[ranges] = buckets;
    return ranges;
}

/* Writes the whole pages of what is in the window and carries the rest over; the last range is padded with zeros. */
static enum gnn_status write_window(struct edge_job *job, uint64_t edges, bool last, struct gnn_err *err)
{
    const uint64_t bytes = job->carried_bytes + edges * sizeof(struct edge);
    const uint64_t at = job->window_first * sizeof(struct edge) - job->carried_bytes;
    uint64_t whole = gnn_round_down(bytes, GNN_PAGE_BYTES);
    assert(at % GNN_PAGE_BYTES == 0);
    if (last && (whole < bytes || at + bytes == 0)) {
        whole = gnn_round_up(gnn_max_u64(bytes, 1), GNN_PAGE_BYTES);
        memset(job->window + bytes, 0, whole - bytes);
    }
    GNN_TRY(gnn_write_all(job->scatter->env->world, job->file, at, job->window, whole, err));
    job->carried_bytes = bytes > whole ? bytes - whole : 0;
    memmove(job->window, job->window + whole, job->carried_bytes);
    return GNN_OK;
}

static void place_loaded(struct edge_job *job, const struct edge *edges, uint64_t count)
{
    const struct marius_store *const store = job->scatter->store;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t bucket =
            (uint64_t)(edges[i].source / store->rows) * store->partitions + edges[i].destination / store->rows;
        job->place[job->cursor[bucket]++ - job->window_first] = edges[i];
    }
    gnn_charge(job->scatter->env->world, GNN_WORK_TABLE_ENTRY, count);
}

static enum gnn_status place_ranges(struct edge_job *job, struct gnn_err *err)
{
    for (uint32_t r = 0; r < job->ranges; r++) {
        const uint64_t count = gnn_stream_bytes(job->spill.streams[r]) / sizeof(struct edge);
        job->window_first = job->cursor[job->range_bucket[r]];
        job->place = (struct edge *)(void *)(job->window + job->carried_bytes);
        GNN_TRY(spill_load(&job->spill, r, job->loaded, err));
        place_loaded(job, (const struct edge *)(const void *)job->loaded, count);
        GNN_TRY(write_window(job, count, r + 1 == job->ranges, err));
    }
    return GNN_OK;
}

static enum gnn_status spill_ranges(struct edge_job *job, struct gnn_err *err)
{
    struct gnn_world *const world = job->scatter->env->world;
    GNN_MEM_NEW(world, job->pending, job->ranges, "edges on their way to ranges", GNN_MEM_PLAIN, err);
    GNN_TRY(spill_open(job->scatter, job->ranges, GNN_MEM_PLAIN, &job->spill, err));
    GNN_TRY(scan_edges(job, spill_edges, err));
    for (uint32_t r = 0; r < job->ranges; r++)
        GNN_TRY(flush_pending(job, r, err));
    GNN_TRY(spill_seal(&job->spill, err));
    GNN_MEM_NEW(world, job->loaded, spill_largest(&job->spill), "spilled edges", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

/* Scatters into an open file. */
static enum gnn_status scatter_edges(struct edge_job *job, struct gnn_err *err)
{
    struct gnn_world *const world = job->scatter->env->world;
    const uint64_t range_edges = gnn_max_u64(job->scatter->window_bytes / sizeof(struct edge), 1);
    uint64_t largest;
    job->ranges = cut_ranges(job, range_edges, &largest);
    GNN_MEM_NEW(world, job->range_bucket, job->ranges + UINT64_C(1), "ranges of buckets", GNN_MEM_PLAIN, err);
    (void)cut_ranges(job, range_edges, &largest);
    GNN_MEM_NEW(world, job->window, largest * sizeof(struct edge) + UINT64_C(2) * GNN_PAGE_BYTES,
                "edges in their buckets", GNN_MEM_LARGE, err);
    if (job->ranges > 1) {
        GNN_TRY(spill_ranges(job, err));
        return place_ranges(job, err);
    }
    job->place = (struct edge *)(void *)job->window;
    GNN_TRY(scan_edges(job, place_edges, err));
    return write_window(job, job->scatter->env->dataset->edge_count, true, err);
}

enum gnn_status marius_scatter_edges(const struct marius_scatter *scatter, struct gnn_err *err)
{
    struct gnn_world *const world = scatter->env->world;
    struct gnn_prepared *const prepared = &scatter->store->prepared;
    struct edge_job job = {.scatter = scatter};
    enum gnn_status status = count_buckets(&job, err);
    if (status == GNN_OK) {
        status = gnn_prepared_begin(prepared, "edges", scatter->direct ? (unsigned)GNN_OPEN_DIRECT : 0, &job.file, err);
        GNN_NEXT(status, scatter_edges(&job, err));
        status = gnn_prepared_end(prepared, "edges", job.file, status, err);
    }
    spill_close(&job.spill);
    gnn_mem_free(world, job.loaded);
    gnn_mem_free(world, job.pending);
    gnn_mem_free(world, job.range_bucket);
    gnn_mem_free(world, job.window);
    return status;
}

/* ---- rows ---- */

struct row_job {
    const struct marius_scatter *scatter;
    struct spill spill;
    uint32_t ranges, range_partitions;
    uint32_t first, end;   /* partitions in the window */
    unsigned char *window; /* (range_partitions, slot_bytes) */
    unsigned char *loaded;
};

static void put_row(const struct row_job *job, gnn_node v, const unsigned char *row)
{
    const struct marius_store *const store = job->scatter->store;
    const uint32_t row_bytes = job->scatter->env->dataset->row_bytes, partition = v / store->rows;
    assert(partition >= job->first);
    assert(partition < job->end);
    gnn_mem_copy(job->scatter->env->world,
                 job->window + (partition - job->first) * store->slot_bytes + (uint64_t)(v % store->rows) * row_bytes,
                 row, row_bytes);
}

/* The visitors are gnn_scan_fn over rows. */
static enum gnn_status place_rows(void *ctx, uint64_t first, void *data, uint64_t count, struct gnn_err *err)
{
    (void)err;
    struct row_job *const job = ctx;
    const uint32_t row_bytes = job->scatter->env->dataset->row_bytes;
    for (uint64_t i = 0; i < count; i++)
        put_row(job, job->scatter->old_to_new[first + i], (unsigned char *)data + i * row_bytes);
    gnn_charge(job->scatter->env->world, GNN_WORK_TABLE_ENTRY, count);
    return GNN_OK;
}

static uint32_t range_of_row(const struct row_job *job, gnn_node v)
{
    return v / job->scatter->store->rows / job->range_partitions;
}

static enum gnn_status spill_rows(void *ctx, uint64_t first, void *data, uint64_t count, struct gnn_err *err)
{
    struct row_job *const job = ctx;
    const uint32_t row_bytes = job->scatter->env->dataset->row_bytes;
    for (uint64_t i = 0; i < count; i++) {
        struct gnn_stream *const stream = job->spill.streams[range_of_row(job, job->scatter->old_to_new[first + i])];
        GNN_TRY(gnn_stream_append(stream, (unsigned char *)data + i * row_bytes, row_bytes, err));
    }
    gnn_charge(job->scatter->env->world, GNN_WORK_TABLE_ENTRY, count);
    return GNN_OK;
}

static enum gnn_status scan_rows(struct row_job *job, gnn_scan_fn *visit, struct gnn_err *err)
{
    const struct gnn_scan scan = gnn_scan_of_rows(job->scatter->env, job->scatter->direct);
    return gnn_scan_file(job->scatter->env, &scan, visit, job, err);
}

/* Puts the rows of a range, which were spilled in the order of the old IDs. All nodes are looked at for each range, so
 * no more than a difference is taken of each. */
static void place_range(const struct row_job *job, uint32_t range)
{
    const struct gnn_dataset *const d = job->scatter->env->dataset;
    const uint64_t rows = job->scatter->store->rows;
    const gnn_node *const old_to_new = job->scatter->old_to_new;
    const uint64_t low = job->first * rows, count = (job->end - job->first) * rows;
    uint64_t next = 0;
    for (gnn_node v = 0; v < d->node_count; v++)
        if (old_to_new[v] - low < count)
            put_row(job, old_to_new[v], job->loaded + next++ * d->row_bytes);
    assert(next * d->row_bytes == gnn_stream_bytes(job->spill.streams[range]));
    gnn_charge(job->scatter->env->world, GNN_WORK_TABLE_ENTRY, d->node_count);
}

static enum gnn_status write_rows(const struct row_job *job, struct gnn_file *file, struct gnn_err *err)
{
    const uint64_t slot_bytes = job->scatter->store->slot_bytes;
    return gnn_write_all(job->scatter->env->world, file, job->first * slot_bytes, job->window,
                         (job->end - job->first) * slot_bytes, err);
}

static enum gnn_status place_row_ranges(struct row_job *job, struct gnn_file *file, struct gnn_err *err)
{
    struct gnn_world *const world = job->scatter->env->world;
    const uint32_t partitions = job->scatter->store->partitions;
    GNN_TRY(spill_open(job->scatter, job->ranges, GNN_MEM_FEATURES, &job->spill, err));
    GNN_TRY(scan_rows(job, spill_rows, err));
    GNN_TRY(spill_seal(&job->spill, err));
    GNN_MEM_NEW(world, job->loaded, spill_largest(&job->spill), "spilled rows", GNN_MEM_FEATURES, err);
    for (uint32_t r = 0; r < job->ranges; r++) {
        job->first = r * job->range_partitions;
        job->end = gnn_min_u32(job->first + job->range_partitions, partitions);
        GNN_TRY(spill_load(&job->spill, r, job->loaded, err));
        place_range(job, r);
        GNN_TRY(write_rows(job, file, err));
    }
    return GNN_OK;
}

static enum gnn_status scatter_rows(struct row_job *job, struct gnn_file *file, struct gnn_err *err)
{
    const struct marius_store *const store = job->scatter->store;
    const uint64_t fit = gnn_max_u64(job->scatter->window_bytes / store->slot_bytes, 1);
    job->range_partitions = (uint32_t)gnn_min_u64(fit, store->partitions);
    job->ranges = (uint32_t)gnn_div_up(store->partitions, job->range_partitions);
    GNN_MEM_NEW(job->scatter->env->world, job->window, job->range_partitions * store->slot_bytes,
                "rows in their partitions", GNN_MEM_FEATURES, err);
    if (job->ranges > 1)
        return place_row_ranges(job, file, err);
    job->end = store->partitions;
    GNN_TRY(scan_rows(job, place_rows, err));
    return write_rows(job, file, err);
}

enum gnn_status marius_scatter_rows(const struct marius_scatter *scatter, const char *name, struct gnn_err *err)
{
    struct gnn_prepared *const prepared = &scatter->store->prepared;
    struct row_job job = {.scatter = scatter};
    struct gnn_file *file = NULL;
    enum gnn_status status =
        gnn_prepared_begin(prepared, name, scatter->direct ? (unsigned)GNN_OPEN_DIRECT : 0, &file, err);
    GNN_NEXT(status, scatter_rows(&job, file, err));
    status = gnn_prepared_end(prepared, name, file, status, err);
    spill_close(&job.spill);
    gnn_mem_free(scatter->env->world, job.loaded);
    gnn_mem_free(scatter->env->world, job.window);
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "systems/presort/load.h"

#include "harness/system/extraction.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 };

#define ALONE UINT64_MAX /* tag of a row that is read into its slot; else it is the number of a buffer */

/* A merged read: the direct ones of a hyperbatch's loads [begin, end). */
struct merged {
    uint64_t offset_bytes; /* of the buffer's first byte in the file */
    uint32_t begin, end;
};

struct presort_loader {
    const struct presort_setup *setup;
    struct gnn_world *world;
    unsigned char *rows; /* (slots) */
    void *slot_of;       /* (node_count) of rows in memory; of others what they had; of sizes.slot_of_bytes each */
    gnn_node *row_of;    /* (slots) what lies there, or GNN_NODE_NONE; NULL: what is planned is never there yet */
    struct gnn_reader *reader;
    unsigned char *buffers; /* (merge_buffers, merge) */
    struct merged *merged;  /* (merge_buffers) what a buffer is read for */
    uint32_t *spare;        /* (merge_buffers) stack of buffers */
    uint32_t spare_count;
    struct presort_loaded counts;
};

/* ---- open, close ---- */

uint64_t presort_loader_bytes(const struct gnn_env *env, const struct presort_config *config,
                              const struct presort_sizes *sizes)
{
    const uint64_t table = gnn_mul_bytes(env->dataset->node_count, sizes->slot_of_bytes);
    const uint64_t slot = env->dataset->row_bytes + (config->reuse > 1 ? sizeof(gnn_node) : 0);
    const uint64_t rows = gnn_mul_bytes(sizes->slots, slot);
    const uint64_t buffer = gnn_add_bytes(config->merge, sizeof(struct merged) + sizeof(uint32_t));
    return gnn_add_bytes(gnn_add_bytes(gnn_add_bytes(table, rows), gnn_mul_bytes(sizes->merge_buffers, buffer)),
                         gnn_extraction_bytes(env, config->depth, config->io == PRESORT_IO_DIRECT));
}

static enum gnn_status open_buffers(struct presort_loader *l, struct gnn_err *err)
{
    const uint32_t count = l->setup->sizes.merge_buffers;
    if (count == 0)
        return GNN_OK;
    GNN_MEM_NEW(l->world, l->buffers, gnn_mul_bytes(count, l->setup->config->merge), "presort merged reads",
                GNN_MEM_FEATURES, err);
    GNN_NEW(l->merged, count, err, "presort's merged reads");
    GNN_NEW(l->spare, count, err, "presort's merged reads");
    return GNN_OK;
}

enum gnn_status presort_loader_open(const struct presort_setup *setup, struct presort_loader **out, struct gnn_err *err)
{
    const struct gnn_env *const env = setup->env;
    const struct gnn_reader_config reader = {.engine = env->io_engine,
                                             .depth = setup->config->depth,
                                             .files = &setup->features,
                                             .file_count = 1,
                                             .bounce_bytes_max = setup->align_bytes == 1 ? 0 : env->dataset->row_bytes};
    struct presort_loader *l;
    GNN_NEW(l, 1, err, "presort's loading");
    *out = l;
    l->setup = setup;
    l->world = env->world;
    GNN_MEM_NEW(env->world, l->rows, gnn_mul_bytes(setup->sizes.slots, env->dataset->row_bytes), "presort rows",
                GNN_MEM_FEATURES, err);
    GNN_TRY(gnn_mem_alloc(env->world, "presort slots of rows",
                          gnn_mul_bytes(env->dataset->node_count, setup->sizes.slot_of_bytes), GNN_MEM_PLAIN,
                          &l->slot_of, err));
    if (setup->config->reuse > 1)
        GNN_MEM_NEW(env->world, l->row_of, setup->sizes.slots, "presort rows of slots", GNN_MEM_PLAIN, err);
    presort_loader_forget(l);
    GNN_TRY(open_buffers(l, err));
    return gnn_reader_open(env->world, &reader, &l->reader, err);
}

void presort_loader_close(struct presort_loader *l)
{
    if (l == NULL)
        return;
    gnn_reader_close(l->reader);
    free(l->spare);
    free(l->merged);
    gnn_mem_free(l->world, l->buffers);
    gnn_mem_free(l->world, l->row_of);
    gnn_mem_free(l->world, l->slot_of);
    gnn_mem_free(l->world, l->rows);
    free(l);
}

void presort_loader_forget(struct presort_loader *l)
{
    if (l->row_of != NULL)
        memset(l->row_of, 0xff, l->setup->sizes.slots * sizeof *l->row_of);
}

static uint32_t place_of(const struct presort_loader *l, const struct presort_load *load)
{
    const uint32_t place = load->slot & ~PRESORT_SORTED_LOAD;
    assert(place < l->setup->sizes.slots);
    return place;
}

static void set_slot_of(struct presort_loader *l, gnn_node node, uint32_t slot)
{
    if (l->setup->sizes.slot_of_bytes == sizeof(uint16_t))
        ((uint16_t *)l->slot_of)[node] = (uint16_t)slot;
    else
        ((uint32_t *)l->slot_of)[node] = slot;
}

static unsigned char *slot_of(const struct presort_loader *l, const struct presort_load *load)
{
    return l->rows + (uint64_t)place_of(l, load) * l->setup->env->dataset->row_bytes;
}

static bool is_sorted(const struct presort_load *load)
{
    return (load->slot & PRESORT_SORTED_LOAD) != 0;
}

/* Whether the row lies in its slot already, from the epoch before, until the window is loaded. */
static bool is_there(const struct presort_loader *l, const struct presort_load *load)
{
    return l->row_of != NULL && l->row_of[place_of(l, load)] == load->row;
}

/* Whether the row is read where it lies among the features. */
static bool is_direct(const struct presort_loader *l, const struct presort_load *load)
{
    return !is_sorted(load) && !is_there(l, load);
}

/* ---- rows that are read where they lie ---- */

static unsigned char *buffer_at(const struct presort_loader *l, uint64_t buffer)
{
    return l->buffers + buffer * l->setup->config->merge;
}

/* Whether a read from begin_bytes to the end of a row goes on to that of another load, in whole sectors of the file. */
static bool may_merge(const struct presort_loader *l, uint64_t begin_bytes, uint64_t end_bytes, gnn_node row)
{
    const struct presort_setup *const setup = l->setup;
    const uint64_t row_bytes = setup->env->dataset->row_bytes, at = row * row_bytes;
    const uint64_t end = gnn_round_up(at + row_bytes, setup->align_bytes);
    return setup->sizes.merge_buffers > 0 && end - begin_bytes <= setup->config->merge &&
           end <= setup->env->dataset->feature_bytes &&
           presort_goes_on(&setup->sizes.costs, setup->align_bytes, end_bytes, at);
}

/* Takes the next read of direct loads from *at on. 0: there is none, 1: it is in *out, -1: it waits for a buffer. */
static int next_read(struct presort_loader *l, const struct presort_hyperbatch *x, uint32_t *at, uint32_t end,
                     struct gnn_load *out)
{
    const uint64_t row_bytes = l->setup->env->dataset->row_bytes;
    while (*at < end && !is_direct(l, &x->loads[*at]))
        ++*at;
    if (*at == end)
        return 0;
    const struct presort_load *const first = &x->loads[*at];
    const uint64_t begin_bytes = gnn_round_down(first->row * row_bytes, l->setup->align_bytes);
    uint64_t end_bytes = (first->row + UINT64_C(1)) * row_bytes;
    uint32_t last = *at;
    for (uint32_t i = *at + 1; i < end; i++) {
        if (!is_direct(l, &x->loads[i]))
            continue;
        if (!may_merge(l, begin_bytes, end_bytes, x->loads[i].row))
            break;
        last = i;
        end_bytes = (x->loads[i].row + UINT64_C(1)) * row_bytes;
    }
    if (last == *at) {
        *out = (struct gnn_load){.len_bytes = (uint32_t)row_bytes,
                                 .offset_bytes = first->row * row_bytes,
                                 .dst = slot_of(l, first),
                                 .tag = ALONE};
    } else if (l->spare_count == 0) {
        return -1;
    } else {
        const uint32_t buffer = l->spare[--l->spare_count];
        l->merged[buffer] = (struct merged){begin_bytes, *at, last + 1};
        *out = (struct gnn_load){.len_bytes = (uint32_t)(gnn_round_up(end_bytes, l->setup->align_bytes) - begin_bytes),
                                 .offset_bytes = begin_bytes,
                                 .dst = buffer_at(l, buffer),
                                 .tag = buffer};
    }
    *at = last + 1;
    return 1;
}

/* Fills `batch` with the next reads of direct loads of [*at, end) that have a buffer; returns how many. */
static uint32_t next_direct(struct presort_loader *l, const struct presort_hyperbatch *x, uint32_t *at, uint32_t end,
                            struct gnn_load *batch)
{
    uint32_t count = 0;
    while (count < CHUNK && next_read(l, x, at, end, &batch[count]) == 1)
        count++;
    return count;
}

/* Copies the rows of a merged read to their slots; returns how many. */
static uint32_t part(struct presort_loader *l, const struct presort_hyperbatch *x, uint64_t buffer)
{
    const struct merged *const m = &l->merged[buffer];
    const uint64_t row_bytes = l->setup->env->dataset->row_bytes;
    uint32_t rows = 0;
    for (uint32_t i = m->begin; i < m->end; i++)
        if (is_direct(l, &x->loads[i])) {
            gnn_mem_copy(l->world, slot_of(l, &x->loads[i]),
                         buffer_at(l, buffer) + (x->loads[i].row * row_bytes - m->offset_bytes), row_bytes);
            rows++;
        }
    l->spare[l->spare_count++] = (uint32_t)buffer;
    return rows;
}

static enum gnn_status read_direct(struct presort_loader *l, const struct presort_hyperbatch *x, uint32_t begin,
                                   uint32_t end, struct gnn_err *err)
{
    struct gnn_load batch[CHUNK];
    uint64_t tags[CHUNK];
    uint32_t at = begin;
    l->spare_count = 0;
    for (uint32_t i = l->setup->sizes.merge_buffers; i-- > 0;)
        l->spare[l->spare_count++] = i;
    for (uint32_t first = 0, count = 0;;) {
        if (first == count) {
            first = 0;
            count = next_direct(l, x, &at, end, batch);
        }
        uint32_t accepted = 0, got = 0;
        if (count > 0)
            GNN_TRY(gnn_reader_submit(l->reader, batch + first, count - first, &accepted, err));
        first += accepted;
        const uint32_t in_flight = gnn_reader_in_flight(l->reader);
        if (in_flight == 0)
            return GNN_OK;
        GNN_TRY(gnn_reader_harvest(l->reader, first < count || count == 0 ? 1 : 0, CHUNK, tags, &got, err));
        for (uint32_t i = 0; i < got; i++)
            l->counts.direct_rows += tags[i] == ALONE ? 1 : part(l, x, tags[i]);
    }
}

/* ---- rows that were sorted ahead ---- */

/* What is left of a window's extent. */
struct extent {
    const struct presort_loader *l;
    const struct presort_hyperbatch *x;
    uint32_t block, rows;
    uint32_t at; /* no sorted load lies between it and the first one of the block */
};

/* Takes the block's loads; returns how many of their rows are not there. */
static uint32_t pass_block(struct extent *e, uint32_t rows)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < rows; e->at++)
        if (is_sorted(&e->x->loads[e->at])) {
            missing += !is_there(e->l, &e->x->loads[e->at]);
            i++;
        }
    return missing;
}

/* Gives the next block of which a row is missing. */
static bool next_block(void *ctx, struct gnn_span *out)
{
    struct extent *const e = ctx;
    const uint64_t row_bytes = e->x->setup->env->dataset->row_bytes;
    for (bool found = false; !found;) {
        if (e->rows == 0)
            return false;
        assert(e->block != UINT32_MAX);
        const uint32_t rows = gnn_min_u32(e->rows, e->x->block_rows);
        *out = (struct gnn_span){.stream = e->x->stream,
                                 .offset_bytes = e->x->base_bytes + (uint64_t)e->block * e->x->block_bytes,
                                 .len_bytes = gnn_round_up(rows * row_bytes, GNN_PAGE_BYTES),
                                 .tag = e->at};
        found = pass_block(e, rows) > 0;
        e->rows -= rows;
        e->block = e->x->next_block[e->block];
    }
    return true;
}

/* Copies those of a block's rows that are missing to their slots; the block's loads begin at `at`, and end before
 * `end`. Returns how many. */
static uint32_t scatter(const struct presort_loader *l, const struct presort_hyperbatch *x, uint32_t at, uint32_t end,
                        const unsigned char *data)
{
    const uint64_t row_bytes = l->setup->env->dataset->row_bytes;
    uint32_t copied = 0;
    for (uint32_t i = 0; i < x->block_rows && at < end; at++) {
        const struct presort_load *const load = &x->loads[at];
        if (!is_sorted(load))
            continue;
        if (!is_there(l, load)) {
            gnn_mem_copy(l->world, slot_of(l, load), data + i * row_bytes, row_bytes);
            copied++;
        }
        i++;
    }
    return copied;
}

static enum gnn_status read_extent(struct presort_loader *l, const struct presort_hyperbatch *x, uint32_t j,
                                   uint32_t rows, struct gnn_err *err)
{
    struct gnn_span_reader *const reader = x->scratch->reader;
    struct extent extent = {
        .l = l, .x = x, .block = x->first_block[j], .rows = rows, .at = presort_begin_of(x->load_end, j)};
    struct gnn_reader_counters before, now;
    if (rows == 0)
        return GNN_OK;
    gnn_span_reader_counters(reader, &before);
    gnn_span_reader_start(reader, next_block, &extent);
    for (;;) {
        struct gnn_span span;
        void *data;
        GNN_TRY(gnn_span_reader_next(reader, &span, &data, err));
        if (data == NULL)
            break;
        l->counts.sorted_rows += scatter(l, x, (uint32_t)span.tag, x->load_end[j], data);
    }
    gnn_span_reader_counters(reader, &now);
    l->counts.scratch_bytes += now.requested_bytes - before.requested_bytes;
    l->counts.scratch_ios += now.requested_ios - before.requested_ios;
    return GNN_OK;
}

/* ---- a window ---- */

/* Says where the window's rows lie; returns how many of them wait in its extent. *there: that need not come in. */
static uint32_t place_rows(struct presort_loader *l, const struct presort_hyperbatch *x, uint32_t begin, uint32_t end,
                           uint32_t *there)
{
    uint32_t sorted = 0;
    *there = 0;
    gnn_charge(l->world, GNN_WORK_TABLE_ENTRY, end - begin);
    for (uint32_t i = begin; i < end; i++) {
        set_slot_of(l, x->loads[i].row, place_of(l, &x->loads[i]));
        sorted += is_sorted(&x->loads[i]);
        *there += is_there(l, &x->loads[i]);
    }
    return sorted;
}

/* Notes that the window's rows have come in. */
static void note_rows(struct presort_loader *l, const struct presort_hyperbatch *x, uint32_t begin, uint32_t end)
{
    if (l->row_of == NULL)
        return;
    gnn_charge(l->world, GNN_WORK_TABLE_ENTRY, end - begin);
    for (uint32_t i = begin; i < end; i++)
        l->row_of[place_of(l, &x->loads[i])] = x->loads[i].row;
}

enum gnn_status presort_load_window(struct presort_loader *l, struct presort_hyperbatch *x, uint32_t j,
                                    struct gnn_err *err)
{
    const uint32_t begin = presort_begin_of(x->load_end, j), end = x->load_end[j];
    const uint64_t before = l->counts.direct_rows + l->counts.sorted_rows;
    uint32_t there;
    const uint32_t sorted = place_rows(l, x, begin, end, &there);
    enum gnn_status status = read_direct(l, x, begin, end, err);
    if (status != GNN_OK)
        gnn_reader_drain(l->reader);
    GNN_NEXT(status, read_extent(l, x, j, sorted, err));
    if (status != GNN_OK)
        return status;
    note_rows(l, x, begin, end);
    l->counts.there_rows += there;
    const uint64_t executed = l->counts.direct_rows + l->counts.sorted_rows - before;
    if (executed == end - begin - there)
        return GNN_OK;
    return gnn_fail(err, GNN_EBUG, "presort: window %" PRIu32 " loaded %" PRIu64 " rows, but %" PRIu32 " were planned",
                    j, executed, end - begin - there);
}

void presort_loader_take_counts(struct presort_loader *l, struct presort_loaded *out)
{
    struct gnn_reader_counters direct;
    gnn_reader_counters(l->reader, &direct);
    gnn_reader_clear_counters(l->reader);
    l->counts.direct_bytes = direct.requested_bytes;
    l->counts.direct_ios = direct.requested_ios;
    *out = l->counts;
    l->counts = (struct presort_loaded){.direct_rows = 0};
}

const void *presort_row(const struct presort_loader *l, gnn_node node)
{
    const bool narrow = l->setup->sizes.slot_of_bytes == sizeof(uint16_t);
    const uint64_t slot = narrow ? ((const uint16_t *)l->slot_of)[node] : ((const uint32_t *)l->slot_of)[node];
    return l->rows + slot * l->setup->env->dataset->row_bytes;
}

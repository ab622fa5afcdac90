/* SPDX-License-Identifier: MIT */
#include "harness/base/id_width.h"
#include "harness/base/sort_keys.h"
#include "harness/sample/draw.h"
#include "systems/presort/rounds_state.h"

#include <assert.h>
#include <inttypes.h>

/* A want of a hop: a node whose list is drawn from, and where in `drawn` that goes. */
static uint64_t want_of(gnn_node node, uint64_t at)
{
    return (uint64_t)node << 32 | at;
}

static gnn_node node_of(uint64_t want)
{
    return (gnn_node)(want >> 32);
}

/* ---- what a hop wants ---- */

static void add_node(struct presort_rounds *r, gnn_node v)
{
    const uint32_t fresh = r->map.count;
    if (gnn_id_map_add(&r->map, v) != fresh)
        return;
    r->nodes[fresh] = v;
    if (r->map.count == r->map.capacity)
        gnn_id_map_grow(&r->map, r->nodes);
}

/* Fills nodes with those of mini-batch j that its hop draws for, in the order in which they came; returns how many. */
static uint32_t find_nodes(struct presort_rounds *r, uint32_t j)
{
    uint32_t seeds;
    const gnn_node *const seed = gnn_sampling_seeds(r->sampling, r->first + j, &seeds);
    uint64_t seen = seeds;
    gnn_id_map_clear(&r->map);
    for (uint32_t i = 0; i < seeds; i++)
        add_node(r, seed[i]);
    for (uint32_t hop = 1; hop < r->hop; hop++) {
        const uint32_t begin = *begin_of(r, hop, j), end = *begin_of(r, hop, j + 1);
        for (uint32_t i = begin; i < end; i++)
            add_node(r, r->drawn[i]);
        seen += end - begin;
    }
    gnn_charge(r->world, GNN_WORK_HASHED_ID, seen);
    return r->map.count;
}

/* Adds the wants of mini-batch j, whose neighbours go to *at and behind it. False: they have no room, and nothing has
 * changed. */
static bool add_wants(struct presort_rounds *r, uint32_t j, uint64_t *at)
{
    const uint64_t *const indptr = r->env->dataset->indptr;
    const uint32_t count = find_nodes(r, j), fanout = r->env->workload->fanout[r->hop - 1];
    uint64_t end = *at, wants = r->want_count;
    gnn_charge(r->world, GNN_WORK_TABLE_ENTRY, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t drawn = gnn_min_u64(indptr[r->nodes[i] + 1] - indptr[r->nodes[i]], fanout);
        if (drawn == 0)
            continue;
        if (end + drawn + 2 * (wants + 1) > r->words)
            return false;
        *((uint64_t *)(void *)(r->drawn + r->words) - ++wants) = want_of(r->nodes[i], end);
        end += drawn;
    }
    *at = end;
    r->want_count = wants;
    return true;
}

/* Collects the wants of the hop, ascending; mini-batches without room for theirs leave the round. */
static enum gnn_status collect_wants(struct presort_rounds *r, struct gnn_err *err)
{
    uint64_t at = r->hop > 1 ? *begin_of(r, r->hop - 1, r->batches) : 0;
    const uint64_t begin = at;
    r->want_count = r->next = r->next_edge = r->served = r->looked = 0;
    *begin_of(r, r->hop, 0) = (uint32_t)at;
    for (uint32_t j = 0; j < r->batches; j++) {
        GNN_TRY(gnn_check_stop(r->env, err));
        if (!add_wants(r, j, &at)) {
            r->batches = j;
            break;
        }
        *begin_of(r, r->hop, j + 1) = (uint32_t)at;
    }
    assert(r->batches > 0); /* one has room, whatever it draws */
    r->missing = at - begin;
    r->wants = (uint64_t *)(void *)(r->drawn + r->words) - r->want_count;
    gnn_charge(r->world, GNN_WORK_SORTED_KEY, r->want_count);
    gnn_sort_keys(r->wants, r->want_count, 32, 64);
    return GNN_OK;
}

/* Draws what a want takes from its list, as edge offsets; returns how many. */
static uint32_t draw_want(const struct presort_rounds *r, uint64_t want, uint64_t *out)
{
    const uint64_t *const indptr = r->env->dataset->indptr;
    const gnn_node v = node_of(want);
    const uint32_t at = (uint32_t)want;
    uint32_t low = 0, high = r->batches; /* of which mini-batch: begin_of(low) <= at < begin_of(high) */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (*begin_of(r, r->hop, middle) <= at)
            low = middle;
        else
            high = middle;
    }
    const uint64_t key = gnn_draw_hop_key(r->sample_key, r->epoch, r->first + low, r->hop);
    return gnn_draw(gnn_rng_fold(key, v), indptr[v], indptr[v + 1] - indptr[v], r->env->workload->fanout[r->hop - 1],
                    r->env->floyd_biased, out);
}

/* ---- reads ---- */

static uint64_t end_of_list(const struct presort_rounds *r, uint64_t want)
{
    return r->env->dataset->indptr[node_of(r->wants[want]) + 1];
}

/* Where the next read of want's list begins. */
static uint64_t begin_of_list(const struct presort_rounds *r, uint64_t want)
{
    return gnn_max_u64(r->env->dataset->indptr[node_of(r->wants[want])], r->next_edge);
}

/* Goes on behind edge `end`, which is at most the end of the list of the next want. */
static void pass_edges(struct presort_rounds *r, uint64_t end)
{
    const gnn_node v = node_of(r->wants[r->next]);
    r->next_edge = end;
    if (end < end_of_list(r, r->next))
        return;
    while (r->next < r->want_count && node_of(r->wants[r->next]) == v)
        r->next++;
}

/* Whether a want of the next one's list takes something from [begin, end). */
static bool is_wanted(struct presort_rounds *r, uint64_t begin, uint64_t end)
{
    const gnn_node v = node_of(r->wants[r->next]);
    for (uint64_t i = r->next; i < r->want_count && node_of(r->wants[i]) == v; i++) {
        uint64_t drawn[GNN_FANOUT_MAX];
        const uint32_t count = draw_want(r, r->wants[i], drawn);
        r->looked += count;
        for (uint32_t t = 0; t < count; t++)
            if (drawn[t] >= begin && drawn[t] < end)
                return true;
    }
    return false;
}

/* Returns where a read that begins before `edge` ends at most, in edges. */
static uint64_t longest_read(const struct presort_rounds *r, uint64_t edge)
{
    const uint32_t id_bytes = r->env->dataset->id_bytes;
    return (gnn_round_down(edge * id_bytes, GNN_PAGE_BYTES) + read_bytes_max(r->setup->config)) / id_bytes;
}

/* Passes over pieces of lists longer than a read from which nothing is wanted. */
static void pass_unwanted(struct presort_rounds *r)
{
    while (r->next < r->want_count) {
        const uint64_t begin = begin_of_list(r, r->next), end = end_of_list(r, r->next), most = longest_read(r, begin);
        const bool is_long = end > longest_read(r, r->env->dataset->indptr[node_of(r->wants[r->next])]);
        if (!is_long || is_wanted(r, begin, gnn_min_u64(end, most)))
            return;
        pass_edges(r, gnn_min_u64(end, most));
    }
}

/* Whether a read to edge `end` goes on to a list of `count` edges at edge `at`: what it adds costs less than another
 * request, or lies in a sector that is read anyway. */
static bool goes_on(const struct presort_rounds *r, uint64_t end, uint64_t at, uint64_t count)
{
    const uint64_t id_bytes = r->env->dataset->id_bytes;
    const uint64_t end_bytes = end * id_bytes, at_bytes = at * id_bytes, bytes = count * id_bytes;
    return at_bytes - end_bytes + bytes <= gnn_max_u64(r->setup->sizes.list_random_bytes, bytes) ||
           gnn_round_down(at_bytes, r->align_bytes) < gnn_round_up(end_bytes, r->align_bytes);
}

/* gnn_span_fn */
static bool next_read(void *ctx, struct gnn_span *out)
{
    struct presort_rounds *const r = ctx;
    const uint32_t id_bytes = r->env->dataset->id_bytes;
    pass_unwanted(r);
    if (r->next == r->want_count)
        return false;
    uint64_t begin = begin_of_list(r, r->next), end = begin;
    const uint64_t most = longest_read(r, begin), begin_bytes = gnn_round_down(begin * id_bytes, r->align_bytes);
    while (r->next < r->want_count) {
        begin = begin_of_list(r, r->next);
        if (begin >= most || !goes_on(r, end, begin, end_of_list(r, r->next) - begin))
            break;
        end = gnn_min_u64(end_of_list(r, r->next), most);
        pass_edges(r, end);
    }
    const uint64_t end_bytes = gnn_round_up(end * id_bytes, r->align_bytes);
    *out = (struct gnn_span){.stream = r->lists,
                             .offset_bytes = begin_bytes,
                             .len_bytes = gnn_min_u64(end_bytes, gnn_stream_bytes(r->lists)) - begin_bytes};
    return true;
}

static enum gnn_status neighbour_error(const struct presort_rounds *r, gnn_node of, gnn_node neighbour,
                                       struct gnn_err *err)
{
    const struct gnn_dataset *const d = r->env->dataset;
    return gnn_dataset_damaged(
        d, err, "dataset %s: in the list of node %" PRIu32 ", neighbour %" PRIu32 ", but there are %" PRIu32 " nodes",
        d->name, of, neighbour, d->node_count);
}

/* Puts what a want takes from edges [begin, end), which are at `ids`, into its place. */
static enum gnn_status serve_want(struct presort_rounds *r, uint64_t want, const void *ids, uint64_t begin,
                                  uint64_t end, struct gnn_err *err)
{
    const struct gnn_dataset *const d = r->env->dataset;
    uint64_t drawn[GNN_FANOUT_MAX];
    const uint32_t count = draw_want(r, want, drawn);
    gnn_charge(r->world, GNN_WORK_SAMPLED_EDGE, count);
    for (uint32_t t = 0; t < count; t++) {
        if (drawn[t] < begin || drawn[t] >= end)
            continue;
        const gnn_node neighbour = gnn_id_at(ids, d->id_bytes, drawn[t] - begin);
        if (neighbour >= d->node_count)
            return neighbour_error(r, node_of(want), neighbour, err);
        r->drawn[(uint32_t)want + t] = neighbour;
        r->missing--;
    }
    return GNN_OK;
}

/* Serves the wants of the lists that a read covers, as far as it covers them. */
static enum gnn_status serve(struct presort_rounds *r, const struct gnn_span *span, const void *ids,
                             struct gnn_err *err)
{
    const struct gnn_dataset *const d = r->env->dataset;
    const uint64_t begin = span->offset_bytes / d->id_bytes, end = begin + span->len_bytes / d->id_bytes;
    while (r->served < r->want_count && end_of_list(r, r->served) <= begin)
        r->served++;
    for (uint64_t i = r->served; i < r->want_count && d->indptr[node_of(r->wants[i])] < end; i++) {
        GNN_TRY(serve_want(r, r->wants[i], ids, begin, end, err));
        if (i == r->served && end_of_list(r, i) <= end)
            r->served++;
    }
    return GNN_OK;
}

static enum gnn_status read_lists(struct presort_rounds *r, struct gnn_err *err)
{
    gnn_span_reader_start(r->reader, next_read, r);
    for (;;) {
        struct gnn_span span;
        void *ids;
        GNN_TRY(gnn_check_stop(r->env, err));
        GNN_TRY(gnn_span_reader_next(r->reader, &span, &ids, err));
        if (ids == NULL)
            break;
        GNN_TRY(serve(r, &span, ids, err));
    }
    gnn_charge(r->world, GNN_WORK_SAMPLED_EDGE, r->looked);
    return r->missing == 0
               ? GNN_OK
               : gnn_fail(err, GNN_EBUG, "presort: hop %" PRIu32 " of a round misses %" PRIu64 " neighbours", r->hop,
                          r->missing);
}

enum gnn_status presort_rounds_draw_hop(struct presort_rounds *r, struct gnn_err *err)
{
    GNN_TRY(collect_wants(r, err));
    return read_lists(r, err);
}

/* SPDX-License-Identifier: MIT */
#include "harness/stats/stats.h"

#include "harness/base/bitset.h"
#include "harness/stats/curves.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PIECE = 1 << 14 /* entries of lists read at once */ };

/* What is counted with. Arrays have an element for each node. */
struct counting {
    struct gnn_world *world;
    struct gnn_lists *lists;
    const struct gnn_dataset *dataset;
    const struct gnn_stats_config *config;
    struct gnn_stats *out;
    gnn_node *seeds; /* (seed_count) the training nodes, or all */
    uint32_t seed_count;
    uint32_t *counts;                    /* of one kind at a time */
    uint32_t *values, *scratch;          /* to be sorted */
    uint64_t *reached, *front, *next;    /* sets */
    uint64_t labelled_edges, same_edges; /* of the reach's lists: between labelled nodes, inside a class */
    uint32_t *mixed; /* (nodes, GNN_MIXING_GROUPS) entries in the lists of each group; NULL: not wanted */
    gnn_node piece[PIECE];
};

static enum gnn_status go_on(const struct counting *c, struct gnn_err *err)
{
    if (c->config->stop != NULL && atomic_load(c->config->stop))
        return gnn_fail(err, GNN_ECANCELLED, "stopped");
    return GNN_OK;
}

static uint32_t degree_of(const struct counting *c, gnn_node v)
{
    return (uint32_t)(c->dataset->indptr[v + 1] - c->dataset->indptr[v]);
}

/* ---- who is in the lists ---- */

static enum gnn_status count_sources(struct counting *c, struct gnn_err *err)
{
    const uint64_t edges = c->dataset->edge_count;
    const uint32_t nodes = c->dataset->node_count;
    memset(c->counts, 0, nodes * sizeof *c->counts);
    for (uint64_t first = 0; first < edges; first += PIECE) {
        const uint64_t count = gnn_min_u64(edges - first, PIECE);
        GNN_TRY(go_on(c, err));
        GNN_TRY(gnn_lists_read(c->lists, first, count, c->piece, err));
        for (uint64_t i = 0; i < count; i++)
            c->counts[c->piece[i]]++;
    }
    c->out->isolated = 0;
    for (gnn_node v = 0; v < nodes; v++)
        c->out->isolated += c->counts[v] == 0 && degree_of(c, v) == 0;
    memcpy(c->values, c->counts, nodes * sizeof *c->values);
    gnn_spread_of(c->values, c->scratch, nodes, &c->out->sources);
    return GNN_OK;
}

/* ---- the reach ---- */

static uint32_t group_of(const struct gnn_mixing *mixing, uint32_t degree)
{
    uint32_t group = 0;
    while (degree > mixing->upto[group])
        group++;
    return group;
}

/* An entry of node's list. */
static void reach_source(struct counting *c, gnn_node node, gnn_node source)
{
    const int32_t *const labels = c->dataset->labels;
    c->counts[source]++;
    if (c->mixed != NULL)
        c->mixed[(uint64_t)source * GNN_MIXING_GROUPS + group_of(&c->out->mixing, degree_of(c, node))]++;
    if (gnn_bitset_add(c->reached, source))
        (void)gnn_bitset_add(c->next, source);
    if (labels == NULL || labels[source] < 0 || labels[node] < 0)
        return;
    c->labelled_edges++;
    c->same_edges += labels[source] == labels[node];
}

/* Reads the lists of nodes first .. end, which lie one behind the other. */
static enum gnn_status reach_from(struct counting *c, gnn_node first, gnn_node end, struct gnn_err *err)
{
    const uint64_t last = c->dataset->indptr[end];
    for (uint64_t at = c->dataset->indptr[first]; at < last;) {
        const uint64_t count = gnn_min_u64(last - at, PIECE);
        GNN_TRY(gnn_lists_read(c->lists, at, count, c->piece, err));
        for (uint64_t i = 0; i < count; i++) {
            while (c->dataset->indptr[first + 1] <= at + i)
                first++;
            reach_source(c, first, c->piece[i]);
        }
        at += count;
    }
    return go_on(c, err);
}

/* One hop from the nodes of `front`, in the order of their IDs. */
static enum gnn_status reach_hop(struct counting *c, struct gnn_err *err)
{
    const uint32_t nodes = c->dataset->node_count;
    for (uint64_t v = 0; v < nodes;) {
        if (c->front[v / 64] == 0) {
            v = (v / 64 + 1) * 64;
            continue;
        }
        uint64_t end = v;
        while (end < nodes && gnn_bitset_has(c->front, end))
            end++;
        if (end > v)
            GNN_TRY(reach_from(c, (gnn_node)v, (gnn_node)end, err));
        v = end + 1;
    }
    return GNN_OK;
}

static enum gnn_status find_reach(struct counting *c, struct gnn_err *err)
{
    const uint32_t nodes = c->dataset->node_count;
    const uint64_t words = gnn_bitset_words(nodes);
    uint64_t fresh = c->seed_count, all = c->seed_count;
    memset(c->counts, 0, nodes * sizeof *c->counts);
    for (uint32_t i = 0; i < c->seed_count; i++) {
        (void)gnn_bitset_add(c->reached, c->seeds[i]);
        (void)gnn_bitset_add(c->front, c->seeds[i]);
    }
    for (uint32_t hop = 0; fresh > 0; hop++) {
        if (hop <= GNN_LAYERS_MAX)
            c->out->hop[hop] = (double)all / nodes;
        c->out->reach_hops = hop;
        GNN_TRY(reach_hop(c, err));
        uint64_t *const swap = c->front;
        c->front = c->next;
        c->next = swap;
        memset(c->next, 0, words * sizeof *c->next);
        fresh = gnn_bitset_count(c->front, words);
        all += fresh;
    }
    for (uint32_t hop = c->out->reach_hops + 1; hop <= GNN_LAYERS_MAX; hop++)
        c->out->hop[hop] = (double)all / nodes;
    c->out->reach = (double)all / nodes;
    return GNN_OK;
}

/* Windows of the feature file that hold part of a reached row. */
static void count_windows(struct counting *c)
{
    const uint64_t row_bytes = c->dataset->row_bytes, window = c->config->window_bytes;
    const uint64_t bytes = row_bytes * c->dataset->node_count;
    uint64_t upto = 0, held = 0; /* windows before `upto` are settled */
    for (gnn_node v = 0; v < c->dataset->node_count; v++) {
        if (!gnn_bitset_has(c->reached, v))
            continue;
        const uint64_t first = gnn_max_u64(v * row_bytes / window, upto), end = ((v + 1) * row_bytes - 1) / window + 1;
        held += end > first ? end - first : 0;
        upto = gnn_max_u64(upto, end);
    }
    c->out->windows = gnn_div_up(bytes, window);
    c->out->windows_reached = held;
}

/* Lengths of the lists of those nodes that are (or are not) in the reach and not in `but`, into values. */
static uint64_t lengths_of(struct counting *c, bool in, const uint64_t *but)
{
    uint64_t count = 0;
    for (gnn_node v = 0; v < c->dataset->node_count; v++)
        if (gnn_bitset_has(c->reached, v) == in && (but == NULL || !gnn_bitset_has(but, v)))
            c->values[count++] = degree_of(c, v);
    return count;
}

/* Where the groups of lists end: each weighs as much as another, a list as the square root of its length, which is
 * between one (seeds are drawn by nodes) and the length (entries are). falling (count): their lengths. */
static void cut_groups(const uint32_t *falling, uint64_t count, struct gnn_mixing *mixing)
{
    double all = 0, below = 0;
    mixing->groups = 0;
    for (uint64_t v = 0; v < count; v++)
        all += sqrt(falling[v]);
    for (uint64_t v = count - 1; v > 0; v--) {
        below += sqrt(falling[v]);
        if (falling[v] == falling[v - 1] || below < all * (mixing->groups + 1) / GNN_MIXING_GROUPS)
            continue;
        if (mixing->groups + 1 < GNN_MIXING_GROUPS)
            mixing->upto[mixing->groups++] = falling[v];
    }
    mixing->upto[mixing->groups++] = UINT32_MAX;
}

/* Of what the nodes between two points of the law of popularity have, how much stands in the lists of each group. Nodes
 * that have as many entries as the last of one point and the first of the next count for both. falling (count): the
 * nodes' entries. */
static void measure_mixing(struct counting *c, const uint32_t *falling, uint64_t count)
{
    const struct gnn_rank_law *const law = &c->out->reach_sources.law;
    uint32_t most[GNN_LAW_POINTS_MAX], least[GNN_LAW_POINTS_MAX];
    double sums[GNN_LAW_POINTS_MAX][GNN_MIXING_GROUPS] = {{0}};
    uint64_t at = 0;
    for (uint32_t i = 0; i < law->count; i++) {
        const uint64_t end = (uint64_t)(law->upto[i] * (double)count + 0.5);
        assert(end > at);
        most[i] = falling[at];
        least[i] = falling[end - 1];
        at = end;
    }
    for (gnn_node v = 0; v < c->dataset->node_count; v++) {
        const uint32_t *const mixed = c->mixed + (uint64_t)v * GNN_MIXING_GROUPS;
        uint32_t entries = 0;
        for (uint32_t g = 0; g < GNN_MIXING_GROUPS; g++)
            entries += mixed[g];
        for (uint32_t i = 0; i < law->count && entries > 0 && entries <= most[i]; i++)
            for (uint32_t g = 0; g < GNN_MIXING_GROUPS && entries >= least[i]; g++)
                sums[i][g] += mixed[g];
    }
    for (uint32_t i = 0; i < law->count; i++) {
        double all = 0;
        for (uint32_t g = 0; g < GNN_MIXING_GROUPS; g++)
            all += sums[i][g];
        for (uint32_t g = 0; g < GNN_MIXING_GROUPS; g++)
            c->out->mixing.share[g][i] = all > 0 ? sums[i][g] / all : (g == 0);
    }
}

/* A list entry's node has lists of this length on average, against what it would be if the longest belonged to the most
 * popular, or to the least: where between them it lies. */
static void measure_coupling(struct counting *c)
{
    const uint64_t count = lengths_of(c, true, NULL);
    double weight = 0, met = 0, mean = 0, together = 0, apart = 0;
    uint64_t at = 0;
    for (gnn_node v = 0; v < c->dataset->node_count; v++) {
        if (!gnn_bitset_has(c->reached, v))
            continue;
        weight += c->counts[v];
        met += (double)c->counts[v] * degree_of(c, v);
        mean += degree_of(c, v);
        c->counts[at++] = c->counts[v]; /* those of the reach, moved together */
    }
    assert(at == count);
    gnn_sort_falling(c->values, c->scratch, count);
    gnn_sort_falling(c->counts, c->scratch, count);
    for (uint64_t i = 0; i < count; i++) {
        together += (double)c->counts[i] * c->values[i];
        apart += (double)c->counts[i] * c->values[count - 1 - i];
    }
    const double none = weight * mean / (double)gnn_max_u64(count, 1);
    const double whole = met >= none ? together - none : none - apart;
    c->out->coupling = whole > 0 ? fmin(fmax((met - none) / whole, -1), 1) : 0;
    gnn_spread_of(c->counts, c->scratch, count, &c->out->reach_sources);
    if (c->mixed != NULL)
        measure_mixing(c, c->counts, count);
}

static enum gnn_status measure_reach(struct counting *c, struct gnn_err *err)
{
    GNN_TRY(find_reach(c, err));
    if (c->labelled_edges > 0)
        c->out->same_class = (double)c->same_edges / (double)c->labelled_edges;
    count_windows(c);
    for (uint32_t i = 0; i < c->seed_count; i++) /* front is empty by now */
        (void)gnn_bitset_add(c->front, c->seeds[i]);
    uint64_t count = lengths_of(c, true, c->front);
    gnn_spread_of(c->values, c->scratch, count, &c->out->reach_lists);
    count = lengths_of(c, false, NULL);
    gnn_spread_of(c->values, c->scratch, count, &c->out->rest_lists);
    measure_coupling(c);
    return GNN_OK;
}

static void measure_lengths(struct counting *c)
{
    const uint32_t nodes = c->dataset->node_count;
    for (gnn_node v = 0; v < nodes; v++)
        c->values[v] = degree_of(c, v);
    gnn_spread_of(c->values, c->scratch, nodes, &c->out->lists);
    if (c->mixed != NULL)
        cut_groups(c->values, nodes, &c->out->mixing);
    for (uint32_t i = 0; i < c->seed_count; i++)
        c->values[i] = degree_of(c, c->seeds[i]);
    gnn_spread_of(c->values, c->scratch, c->seed_count, &c->out->train_lists);
}

/* ---- mini-batches ---- */

struct sampling {
    struct gnn_sampler *sampler;
    struct gnn_batch *batch;
    gnn_node *order;
    gnn_node *kept; /* (accesses_max) */
    uint64_t kept_count;
    uint64_t again;                          /* accesses of the second epoch whose row the first one touched */
    uint64_t second;                         /* accesses of the second epoch */
    uint64_t edges;                          /* of all mini-batches */
    uint64_t whole, whole_rows, whole_edges; /* mini-batches of the full size */
};

/* The first epoch's rows are the set `front`, all epochs' the set `next`. */
static void count_batch(struct counting *c, struct sampling *s, const struct gnn_batch_view *view)
{
    for (uint32_t i = 0; i < view->node_count; i++) {
        const gnn_node v = view->nodes[i];
        c->counts[v]++;
        if (view->epoch == 0)
            (void)gnn_bitset_add(c->front, v);
        s->again += view->epoch == 1 && gnn_bitset_has(c->front, v);
        (void)gnn_bitset_add(c->next, v);
        if (s->kept_count < c->config->accesses_max)
            s->kept[s->kept_count++] = v;
    }
    s->second += view->epoch == 1 ? view->node_count : 0;
    c->out->batches++;
    c->out->accesses += view->node_count;
    uint64_t edges = 0;
    for (uint32_t b = 0; b < view->layer_count; b++)
        edges += view->blocks[b].edge_count;
    s->edges += edges;
    if (view->seed_count < c->config->batch_size)
        return;
    s->whole++;
    s->whole_rows += view->node_count;
    s->whole_edges += edges;
}

static enum gnn_status sample_epoch(struct counting *c, struct sampling *s, uint32_t epoch, struct gnn_err *err)
{
    const uint32_t size = c->config->batch_size;
    uint32_t batches = (uint32_t)gnn_div_up(c->seed_count, size);
    if (c->config->batches > 0)
        batches = gnn_min_u32(batches, c->config->batches);
    gnn_epoch_order(c->config->seed, epoch, c->seeds, c->seed_count, s->order);
    for (uint32_t k = 0; k < batches; k++) {
        const uint32_t first = k * size, count = gnn_min_u32(size, c->seed_count - first);
        GNN_TRY(go_on(c, err));
        GNN_TRY(gnn_sampler_sample(s->sampler, epoch, k, s->order + first, count, s->batch, err));
        count_batch(c, s, gnn_batch_view(s->batch));
    }
    return GNN_OK;
}

static void sum_up_samples(struct counting *c, const struct sampling *s)
{
    const uint64_t words = gnn_bitset_words(c->dataset->node_count);
    const double nodes = c->dataset->node_count;
    struct gnn_stats *const out = c->out;
    const double counted = s->whole > 0 ? (double)s->whole : (double)out->batches;
    out->rows = (double)(s->whole > 0 ? s->whole_rows : out->accesses) / counted;
    out->edges = (double)(s->whole > 0 ? s->whole_edges : s->edges) / counted;
    out->touched_first = (double)gnn_bitset_count(c->front, words) / nodes;
    out->touched = (double)gnn_bitset_count(c->next, words) / nodes;
    out->next_epoch = s->second > 0 ? (double)s->again / (double)s->second : (double)NAN;
    out->accesses_kept = s->kept_count;
    gnn_spread_of(c->counts, c->scratch, c->dataset->node_count, &out->row_accesses);
    for (int i = 0; i < GNN_STATS_SHARES; i++)
        out->hits[i].best = out->row_accesses.best[i];
}

static enum gnn_status measure_caches(struct counting *c, const struct sampling *s, struct gnn_err *err)
{
    const struct gnn_accesses accesses = {
        .rows = s->kept, .count = s->kept_count, .node_count = c->dataset->node_count};
    uint64_t sizes[GNN_STATS_SHARES], lru[GNN_STATS_SHARES], belady[GNN_STATS_SHARES];
    if (s->kept_count == 0)
        return GNN_OK;
    for (int i = 0; i < GNN_STATS_SHARES; i++)
        sizes[i] = (uint64_t)(gnn_stats_shares[i] * c->dataset->node_count);
    GNN_TRY(gnn_lru_hits(c->world, &accesses, sizes, GNN_STATS_SHARES, lru, err));
    GNN_TRY(go_on(c, err));
    GNN_TRY(gnn_belady_hits(c->world, &accesses, sizes, GNN_STATS_SHARES, belady, err));
    for (int i = 0; i < GNN_STATS_SHARES; i++) {
        c->out->hits[i].lru = (double)lru[i] / (double)s->kept_count;
        c->out->hits[i].belady = (double)belady[i] / (double)s->kept_count;
    }
    return GNN_OK;
}

static enum gnn_status open_sampling(struct counting *c, struct sampling *s, struct gnn_err *err)
{
    struct gnn_sampler_config config = {.seed = c->config->seed, .layers = c->config->fanout.count};
    memcpy(config.fanout, c->config->fanout.values, sizeof config.fanout);
    GNN_TRY(gnn_sampler_open(c->world, &config, c->dataset, gnn_lists_source(c->lists), &s->sampler, err));
    GNN_TRY(gnn_batch_open(c->world, &s->batch, err));
    GNN_MEM_NEW(c->world, s->order, c->seed_count, "order of an epoch", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(c->world, s->kept, gnn_max_u64(c->config->accesses_max, 1), "accesses", GNN_MEM_PLAIN, err);
    return GNN_OK;
}

static enum gnn_status measure_samples(struct counting *c, struct gnn_err *err)
{
    const uint64_t set_bytes = gnn_bitset_words(c->dataset->node_count) * sizeof(uint64_t);
    struct sampling s = {0};
    if (c->config->epochs == 0)
        return GNN_OK;
    memset(c->counts, 0, c->dataset->node_count * sizeof *c->counts);
    memset(c->front, 0, set_bytes);
    memset(c->next, 0, set_bytes);
    enum gnn_status status = open_sampling(c, &s, err);
    for (uint32_t epoch = 0; epoch < c->config->epochs && status == GNN_OK; epoch++)
        status = sample_epoch(c, &s, epoch, err);
    gnn_batch_close(c->world, s.batch);
    gnn_sampler_close(s.sampler);
    gnn_mem_free(c->world, s.order);
    if (status == GNN_OK)
        sum_up_samples(c, &s);
    GNN_NEXT(status, measure_caches(c, &s, err));
    gnn_mem_free(c->world, s.kept);
    return status;
}

/* ---- all of it ---- */

static enum gnn_status check_config(const struct gnn_stats_config *config, struct gnn_err *err)
{
    if (config->batch_size == 0 || config->fanout.count == 0)
        return gnn_fail(err, GNN_EUSAGE, "a mini-batch needs a seed and a fan-out");
    if (config->accesses_max >= UINT32_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%" PRIu64 " accesses to keep: at most %" PRIu32, config->accesses_max,
                        UINT32_MAX - 1);
    if (config->window_bytes == 0)
        return gnn_fail(err, GNN_EUSAGE, "a window of 0 bytes");
    return GNN_OK;
}

static enum gnn_status open_counting(struct counting *c, struct gnn_err *err)
{
    const struct gnn_dataset *const d = c->dataset;
    const uint64_t words = gnn_bitset_words(d->node_count);
    GNN_MEM_NEW(c->world, c->counts, d->node_count, "counts", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(c->world, c->values, d->node_count, "values", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(c->world, c->scratch, d->node_count, "sorted values", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(c->world, c->reached, words, "the reach", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(c->world, c->front, words, "a hop's nodes", GNN_MEM_PLAIN, err);
    GNN_MEM_NEW(c->world, c->next, words, "the next hop's nodes", GNN_MEM_PLAIN, err);
    if (c->config->mixing && c->config->lists) {
        const uint64_t cells = (uint64_t)d->node_count * GNN_MIXING_GROUPS;
        GNN_MEM_NEW(c->world, c->mixed, cells, "entries by list", GNN_MEM_PLAIN, err);
        memset(c->mixed, 0, cells * sizeof *c->mixed);
    }
    c->seed_count = d->train.count > 0 ? d->train.count : d->node_count;
    GNN_MEM_NEW(c->world, c->seeds, c->seed_count, "seeds", GNN_MEM_PLAIN, err);
    for (uint32_t i = 0; i < c->seed_count; i++)
        c->seeds[i] = d->train.count > 0 ? d->train.nodes[i] : i;
    return GNN_OK;
}

static void close_counting(struct counting *c)
{
    void *const memory[] = {c->counts, c->values, c->scratch, c->mixed, c->reached, c->front, c->next, c->seeds};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        gnn_mem_free(c->world, memory[i]);
    free(c);
}

static void nothing_known(struct gnn_stats *out)
{
    *out = (struct gnn_stats){.same_class = NAN, .coupling = NAN, .reach = NAN, .trees = {NAN, NAN}};
    out->isolated = GNN_STATS_UNCOUNTED;
    out->rows = out->edges = out->touched = out->touched_first = out->next_epoch = NAN;
    for (int hop = 0; hop <= GNN_LAYERS_MAX; hop++)
        out->hop[hop] = NAN;
    for (int i = 0; i < GNN_STATS_SHARES; i++)
        out->hits[i] = (struct gnn_cache_hits){NAN, NAN, NAN};
    struct gnn_spread *const spreads[] = {&out->lists,   &out->reach_lists,   &out->train_lists, &out->rest_lists,
                                          &out->sources, &out->reach_sources, &out->row_accesses};
    for (size_t i = 0; i < sizeof spreads / sizeof spreads[0]; i++)
        gnn_spread_of(NULL, NULL, 0, spreads[i]);
}

enum gnn_status gnn_stats_measure(struct gnn_world *world, struct gnn_lists *lists,
                                  const struct gnn_stats_config *config, struct gnn_stats *out, struct gnn_err *err)
{
    struct counting *c;
    GNN_TRY(check_config(config, err));
    nothing_known(out);
    GNN_NEW(c, 1, err, "statistics");
    c->world = world;
    c->lists = lists;
    c->dataset = gnn_lists_dataset(lists);
    c->config = config;
    c->out = out;
    enum gnn_status status = open_counting(c, err);
    if (status == GNN_OK)
        measure_lengths(c);
    if (status == GNN_OK && config->lists) {
        status = count_sources(c, err);
        GNN_NEXT(status, measure_reach(c, err));
    }
    if (config->lists)
        GNN_NEXT(status, gnn_trees_measure(lists, c->seeds, c->seed_count, config->seed, &out->trees, err));
    GNN_NEXT(status, measure_samples(c, err));
    close_counting(c);
    return status;
}

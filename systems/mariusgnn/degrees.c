/* SPDX-License-Identifier: MIT */
#include "systems/mariusgnn/degrees.h"

#include "harness/system/scan.h"

#include <assert.h>
#include <math.h>

static const double largest_sigmas = 5.2565; /* sqrt(2 ln 10^6) */

/* ---- the sample ---- */

static uint32_t in_degree(const struct gnn_dataset *dataset, gnn_node v)
{
    return (uint32_t)gnn_min_u64(dataset->indptr[v + 1] - dataset->indptr[v], UINT32_MAX);
}

/* Fills in the in-degrees of nodes that lie evenly in a list, or, without one, of all. */
static void look_at(const struct gnn_dataset *dataset, const gnn_node *list, uint32_t nodes,
                    struct marius_degree_sample *out)
{
    *out = (struct marius_degree_sample){.count = gnn_min_u32(nodes, MARIUS_DEGREES_MAX)};
    for (uint32_t i = 0; i < out->count; i++) {
        const gnn_node at = (gnn_node)((uint64_t)i * nodes / out->count);
        out->of[i].in = in_degree(dataset, list != NULL ? list[at] : at);
    }
}

void marius_degrees_guess(const struct gnn_dataset *dataset, struct marius_degrees *out)
{
    struct marius_degree_sample *const nodes = &out->nodes;
    out->mean = (double)dataset->edge_count / dataset->node_count;
    look_at(dataset, NULL, dataset->node_count, nodes);
    look_at(dataset, dataset->train.nodes, dataset->train.count, &out->train);
    assert(nodes->count > 0);
    for (uint32_t i = 0; i < nodes->count; i++)
        nodes->of[(i + nodes->count / 2) % nodes->count].out = nodes->of[i].in;
    for (uint32_t i = 0; i < out->train.count; i++)
        out->train.of[i].out = nodes->of[i % nodes->count].out;
}

/* Every step-th node of a partition. */
struct look {
    gnn_node first;
    uint32_t step;
    struct marius_degree_sample *sample;
};

/* A gnn_scan_fn over edges in new IDs. */
static enum gnn_status count_sources(void *ctx, uint64_t first, void *data, uint64_t count, struct gnn_err *err)
{
    (void)first;
    (void)err;
    const struct look *const look = ctx;
    const gnn_node *const ends = data; /* source, destination */
    for (uint64_t i = 0; i < count; i++) {
        const gnn_node row = ends[2 * i] - look->first; /* of another partition: wraps around */
        if (row % look->step == 0 && row / look->step < look->sample->count)
            look->sample->of[row / look->step].out++;
    }
    return GNN_OK;
}

uint64_t marius_degrees_bytes(void)
{
    return gnn_scan_bytes(MARIUS_EDGE_BYTES);
}

/* Reads the edges that leave the first `rows` nodes of a partition, and what else leaves it. */
static enum gnn_status look_in_store(const struct gnn_env *env, const struct marius_store *store, bool direct,
                                     uint32_t partition, uint32_t rows, struct marius_degree_sample *out,
                                     struct gnn_err *err)
{
    const uint64_t *const start = store->bucket_start + (uint64_t)partition * store->partitions;
    const uint64_t end = start[store->partitions];
    struct look look = {
        .first = partition * store->rows, .step = (uint32_t)gnn_div_up(rows, MARIUS_DEGREES_MAX), .sample = out};
    const struct gnn_scan scan = {.path = gnn_file_path(env->world, store->edges),
                                  .direct = direct,
                                  .begin_bytes = gnn_round_down(start[0] * MARIUS_EDGE_BYTES, GNN_PAGE_BYTES),
                                  .end_bytes = end * MARIUS_EDGE_BYTES,
                                  .unit_bytes = MARIUS_EDGE_BYTES,
                                  .mem_flags = GNN_MEM_PLAIN};
    *out = (struct marius_degree_sample){.count = (uint32_t)gnn_div_up(rows, look.step)};
    assert(out->count <= MARIUS_DEGREES_MAX);
    for (uint32_t i = 0; i < out->count; i++)
        out->of[i].in = in_degree(env->dataset, store->new_to_old[look.first + i * look.step]);
    if (end > start[0])
        GNN_TRY(gnn_scan_file(env, &scan, count_sources, &look, err));
    gnn_charge(env->world, GNN_WORK_TABLE_ENTRY, end - start[0]);
    return GNN_OK;
}

/* The last partition may be a short one, and the first ones those of the training nodes. */
enum gnn_status marius_degrees_read(const struct gnn_env *env, const struct marius_store *store, bool direct,
                                    struct marius_degrees *out, struct gnn_err *err)
{
    const struct gnn_split *const train = &env->dataset->train;
    const uint32_t p = store->partitions, partition = p > 1 ? p - 2 : 0;
    const uint32_t rows = gnn_min_u32(store->rows, env->dataset->node_count - partition * store->rows);
    out->mean = (double)env->dataset->edge_count / env->dataset->node_count;
    GNN_TRY(look_in_store(env, store, direct, partition, rows, &out->nodes, err));
    if (store->training_first && train->count > 0)
        return look_in_store(env, store, direct, 0, gnn_min_u32(store->rows, train->count), &out->train, err);
    look_at(env->dataset, train->nodes, train->count, &out->train);
    assert(out->nodes.count > 0);
    for (uint32_t i = 0; i < out->train.count; i++)
        out->train.of[i].out = out->nodes.of[i % out->nodes.count].out;
    return GNN_OK;
}

/* ---- the largest mini-batch ---- */

/* How a node came into a mini-batch, which says how its degrees are spread. */
enum found { AS_TARGET, AS_END, AS_SOURCE, AS_DESTINATION };

/* Nodes of the tree that grows from a node, itself included, over its degrees and its draws. */
struct tree {
    double mean, variance;
    double sources; /* of the mean, those that were found along an incoming edge */
};

struct estimate {
    const struct marius_degrees *degrees;
    const struct marius_dense_config *dense;
    const struct marius_drawn_from *from;
};

static double weight_of(const struct marius_degree *degree, enum found found)
{
    switch (found) {
    case AS_TARGET:
        return 1;
    case AS_END:
        return (double)degree->in + degree->out;
    case AS_SOURCE:
        return degree->out;
    case AS_DESTINATION:
        return degree->in;
    }
    assert(false);
    return 0;
}

/* Draws from a list of which a share is resident: their expectation, from above, and their variance, likewise. */
static struct tree draws_of(const struct estimate *e, uint32_t degree, uint32_t fanout)
{
    const double share = e->from->share, expected = degree * share, most = gnn_min_u32(degree, fanout);
    return (struct tree){.mean = fmin(expected, most), .variance = fmin(expected * (1 - share), most * most / 4)};
}

/* Sums over the nodes of a sample, each with its weight. */
struct tree_sums {
    double weight, mean, square, variance, sources;
};

/* Adds the tree of one node of the sample. source, destination: the trees of what it finds along an incoming and along
 * an outgoing edge. */
static void add_node(const struct estimate *e, const struct marius_degree *degree, enum found found, uint32_t fanout,
                     const struct tree *source, const struct tree *destination, struct tree_sums *out)
{
    const double weight = weight_of(degree, found);
    const struct tree in = draws_of(e, degree->in, fanout);
    const struct tree outgoing = draws_of(e, e->dense->out_edges ? degree->out : 0, fanout);
    const double size = in.mean * source->mean + outgoing.mean * destination->mean;
    out->weight += weight;
    out->mean += weight * size;
    out->square += weight * size * size;
    out->sources += weight * (in.mean * (1 + source->sources) + outgoing.mean * destination->sources);
    out->variance +=
        weight * (in.mean * source->variance + in.variance * source->mean * source->mean +
                  outgoing.mean * destination->variance + outgoing.variance * destination->mean * destination->mean);
}

/* Adds a part of the mean node of the sample that was found so. */
static void add_sample(const struct estimate *e, const struct marius_degree_sample *sample, double part,
                       enum found found, uint32_t fanout, const struct tree *source, const struct tree *destination,
                       struct tree_sums *out)
{
    struct tree_sums own = {.weight = 0};
    for (uint32_t i = 0; i < sample->count; i++)
        add_node(e, &sample->of[i], found, fanout, source, destination, &own);
    if (own.weight <= 0)
        return;
    out->weight += part;
    out->mean += part * own.mean / own.weight;
    out->square += part * own.square / own.weight;
    out->sources += part * own.sources / own.weight;
    out->variance += part * own.variance / own.weight;
}

/* Returns the tree of a node that was found so and draws with the fan-out. */
static struct tree tree_of(const struct estimate *e, enum found found, uint32_t fanout, const struct tree *source,
                           const struct tree *destination)
{
    const double trained = found == AS_TARGET ? 1 : found == AS_END ? 0 : e->from->trained;
    struct tree_sums sums = {.weight = 0};
    if (trained > 0)
        add_sample(e, &e->degrees->train, trained, found, fanout, source, destination, &sums);
    if (trained < 1)
        add_sample(e, &e->degrees->nodes, 1 - trained, found, fanout, source, destination, &sums);
    if (sums.weight <= 0)
        return (struct tree){.mean = 1};
    const double mean = sums.mean / sums.weight;
    return (struct tree){.mean = 1 + mean,
                         .variance = fmax(sums.square / sums.weight - mean * mean, 0) + sums.variance / sums.weight,
                         .sources = sums.sources / sums.weight};
}

/* Returns the tree of a target over so many hops. */
static struct tree target_tree(const struct estimate *e, uint32_t hops)
{
    struct tree source = {.mean = 1}, destination = {.mean = 1};
    for (uint32_t h = hops; h-- > 1;) {
        const struct tree longer = tree_of(e, AS_SOURCE, e->dense->fanout[h], &source, &destination);
        destination = tree_of(e, AS_DESTINATION, e->dense->fanout[h], &source, &destination);
        source = longer;
    }
    return tree_of(e, e->from->ends ? AS_END : AS_TARGET, e->dense->fanout[0], &source, &destination);
}

/* Draws along incoming edges and along outgoing ones. */
struct draws {
    double sources, destinations;
};

/* Adds what so many nodes draw that were found so. */
static void add_draws(const struct estimate *e, enum found found, uint32_t hop, double nodes, struct draws *out)
{
    const struct tree leaf = {.mean = 1};
    const struct tree one = tree_of(e, found, e->dense->fanout[hop], &leaf, &leaf);
    out->sources += nodes * one.sources;
    out->destinations += nodes * (one.mean - 1 - one.sources);
}

/* Draws for each unit of degree and each resident node. Where the sample has fewer edges than the graph, some of the
 * most popular nodes are not in it: its own mean then spreads what they draw over the others. */
static double density(double draws, double sum, const struct marius_degrees *degrees, uint32_t local_count)
{
    const double mean = fmin(sum / degrees->nodes.count, degrees->mean);
    return mean > 0 ? draws / (mean * local_count) : 0;
}

/* Returns the resident nodes that draws fall on: into bins of different sizes, in the mean. */
static double distinct(const struct estimate *e, const struct draws *draws)
{
    const struct marius_degree_sample *const nodes = &e->degrees->nodes;
    double in = 0, out = 0, hit = 0;
    for (uint32_t i = 0; i < nodes->count; i++) {
        in += nodes->of[i].in;
        out += nodes->of[i].out;
    }
    const double sources = density(draws->sources, out, e->degrees, e->from->local_count);
    const double destinations = density(draws->destinations, in, e->degrees, e->from->local_count);
    for (uint32_t i = 0; i < nodes->count; i++)
        hit -= expm1(-sources * nodes->of[i].out - destinations * nodes->of[i].in);
    return hit * e->from->local_count / nodes->count;
}

/* Grows the largest mini-batch over so many hops. Returns its nodes, targets left out; *edges: what it drew. */
static double grow_largest(const struct estimate *e, uint32_t hops, double *edges)
{
    const double targets = e->from->targets;
    const struct tree tree = target_tree(e, hops);
    const double above = largest_sigmas * sqrt(targets * tree.variance);
    struct draws all = {.sources = 0}, fresh = {.sources = 0};
    double nodes = 0;
    if (tree.mean <= 1)
        return *edges = 0;
    add_draws(e, e->from->ends ? AS_END : AS_TARGET, 0, targets + above / (tree.mean - 1), &fresh);
    for (uint32_t h = 1;; h++) {
        const double before = nodes, drawn = fresh.sources + fresh.destinations;
        all.sources += fresh.sources;
        all.destinations += fresh.destinations;
        nodes = distinct(e, &all);
        if (h == hops || drawn <= 0)
            break;
        const double news = fmin((nodes - before) / drawn, 1);
        struct draws next = {.sources = 0};
        add_draws(e, AS_SOURCE, h, news * fresh.sources, &next);
        add_draws(e, AS_DESTINATION, h, news * fresh.destinations, &next);
        fresh = next;
    }
    *edges = all.sources + all.destinations;
    return nodes;
}

void marius_largest_batch(const struct marius_degrees *degrees, const struct marius_dense_config *dense,
                          const struct marius_drawn_from *from, struct gnn_batch_size *out)
{
    const struct estimate e = {.degrees = degrees, .dense = dense, .from = from};
    const uint32_t targets = gnn_min_u32(from->targets, from->local_count);
    uint32_t bound[GNN_LAYERS_MAX + 1];
    const uint64_t edges = marius_dense_bound(dense, from->local_count, from->edge_count, targets, bound);
    double drawn = 0;
    *out = (struct gnn_batch_size){.nodes[0] = targets};
    for (uint32_t h = 1; h <= dense->layers; h++)
        out->nodes[h] = (uint32_t)fmin(targets + ceil(grow_largest(&e, h, &drawn)), bound[h]);
    out->edges = (uint64_t)fmin(ceil(drawn), (double)edges);
}

/* SPDX-License-Identifier: MIT */
#include "harness/stats/twin.h"

#include "harness/graph/node_order.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 60 /* of a bisection */ };

static const uint64_t tree_seed = 1;

/* Share of nodes that are drawn at all, of those that are drawn so often on average, or are seeds. */
static double met_share(double often, double seeds)
{
    return 1 - (1 - seeds) * exp(-often);
}

/* How often a node of the twin is to be drawn. In the graph every node of the reach is a seed or in a list of it; in
 * the twin, whose lists are drawn, some are in none by chance. So the twin's reach gets more nodes, drawn less often,
 * such that those that are met are as many as the graph's, and are met as often: l / met_share(l) = mean. */
static double drawn_mean(double mean, double seeds)
{
    double low = 0, high = mean;
    for (int step = 0; step < STEPS; step++) {
        const double middle = (low + high) / 2;
        *(middle / met_share(middle, seeds) < mean ? &low : &high) = middle;
    }
    return high;
}

/* Writes the law of how often a node is drawn, none of those in a list less often than `least`; returns how many nodes
 * it speaks of, in multiples of the reach. */
static double drawn_law(const struct gnn_rank_law *seen, double seeds, double least, struct gnn_rank_law *drawn)
{
    double nodes = 0, from = 0;
    for (uint32_t i = 0; i < seen->count; i++) {
        const double share = seen->upto[i] - from, mean = seen->mean[i];
        double often = fmin(fmax(drawn_mean(mean, seeds), least), mean);
        if (i > 0)
            often = fmin(often, drawn->mean[i - 1]);
        nodes += mean >= 1 ? share / met_share(often, seeds) : share;
        drawn->upto[i] = nodes;
        drawn->mean[i] = often;
        from = seen->upto[i];
    }
    drawn->count = seen->count;
    for (uint32_t i = 0; i < drawn->count; i++)
        drawn->upto[i] /= nodes;
    drawn->upto[drawn->count - 1] = 1;
    return nodes;
}

/* The law whose reach fits among the nodes and comes nearest to the graph's; returns the reach. */
static double fit_reach(const struct gnn_dataset *d, const struct gnn_stats *stats, struct gnn_rank_law *drawn)
{
    const struct gnn_rank_law *const seen = &stats->reach_sources.law;
    const double all = stats->reach * d->node_count;
    const double seeds = d->train.count > 0 ? fmin(d->train.count / all, 1) : 1;
    double low = 0.1, high = 2; /* of the least */
    if (drawn_law(seen, seeds, low, drawn) * stats->reach > 1) {
        for (int step = 0; step < STEPS; step++) {
            const double middle = (low + high) / 2;
            *(drawn_law(seen, seeds, middle, drawn) * stats->reach > 1 ? &low : &high) = middle;
        }
        low = high;
    }
    return fmin(drawn_law(seen, seeds, low, drawn) * stats->reach, 1);
}

/* Returns the share of the IDs that a reach of this share fills evenly, if it has part in so many of the windows of
 * `rows` rows: filled (1 - (1 - reach / filled)^rows) grows with it. */
static double fit_filled(double reach, double windows, double rows)
{
    double low = reach, high = 1;
    if (rows < 1)
        return 1;
    for (int step = 0; step < STEPS; step++) {
        const double middle = (low + high) / 2;
        *(middle * (1 - pow(1 - fmin(reach / middle, 1), rows)) < windows ? &low : &high) = middle;
    }
    return high;
}

/* The first IDs are filled evenly. */
static void fit_order(const struct gnn_stats *stats, double window_rows, struct gnn_recipe_file *out)
{
    const double windows = (double)stats->windows_reached / (double)stats->windows;
    const double filled = fmax(fit_filled(stats->reach, windows, window_rows), out->entry.reach.share);
    const struct gnn_node_order order = gnn_node_order_fill(filled);
    gnn_node_order_format(&order, out->order);
    out->entry.reach.order = out->order;
}

struct piece {
    double share, mean;
};

static int by_mean_falling(const void *a, const void *b)
{
    const double x = ((const struct piece *)a)->mean, y = ((const struct piece *)b)->mean;
    return (x < y) - (x > y);
}

static uint32_t take_pieces(const struct gnn_rank_law *law, double weight, struct piece *out)
{
    double from = 0;
    for (uint32_t i = 0; i < law->count; i++) {
        out[i] = (struct piece){.share = (law->upto[i] - from) * weight, .mean = law->mean[i]};
        from = law->upto[i];
    }
    return law->count;
}

/* The law of nodes of which a share `other` follows `b`, the rest `a`, at the places where a has steps. */
static void mix_laws(const struct gnn_rank_law *a, const struct gnn_rank_law *b, double other, struct gnn_rank_law *out)
{
    struct piece pieces[2 * GNN_LAW_POINTS_MAX];
    uint32_t count = take_pieces(a, 1 - other, pieces), at = 0;
    count += take_pieces(b, other, pieces + count);
    qsort(pieces, count, sizeof pieces[0], by_mean_falling);
    double from = 0;
    out->count = a->count;
    for (uint32_t i = 0; i < a->count; i++) {
        double left = a->upto[i] - from, sum = 0;
        while (left > 0 && at < count) {
            const double part = fmin(left, pieces[at].share);
            sum += part * pieces[at].mean;
            left -= part;
            pieces[at].share -= part;
            at += pieces[at].share <= 0;
        }
        out->upto[i] = a->upto[i];
        out->mean[i] = sum / (a->upto[i] - from);
        if (i > 0)
            out->mean[i] = fmin(out->mean[i], out->mean[i - 1]);
        from = a->upto[i];
    }
}

/* How long the lists of the twin's reach are. It has more nodes than the graph's (drawn_mean); those are nodes that the
 * graph does not reach, with lists of such. */
static void fit_degrees(const struct gnn_stats *stats, double reached, struct gnn_recipe_laws *out)
{
    const struct gnn_spread *const own = &stats->reach_lists, *const rest = &stats->rest_lists;
    const double others = fmin(reached - (double)own->nodes, (double)rest->nodes);
    out->degrees = own->law.count > 0 ? own->law : stats->train_lists.law;
    out->rest_degrees = rest->law;
    if (own->law.count > 0 && rest->law.count > 0 && others > 0)
        mix_laws(&own->law, &rest->law, others / ((double)own->nodes + others), &out->degrees);
}

/* ---- mutual lists ---- */

/* Lists that are drawn one by one have the graph's mixing, mutual ones its repeats. So the latter where nearly all
 * entries are mutual and repeats weigh more: in a tree of a mini-batch more than a quarter of the entries. */
static bool is_mutual(const struct gnn_trees *trees)
{
    return trees->mutual > 0.95 && trees->again > 0.25;
}

static enum gnn_status open_twin(struct gnn_world *world, const struct gnn_recipe_file *twin, struct gnn_lists **out,
                                 struct gnn_err *err)
{
    struct gnn_generate_options options;
    gnn_option_defaults(gnn_generate_table, &options);
    return gnn_lists_open_computed(world, &twin->entry, &options, 1, out, err);
}

/* gnn_trees.again of the twin. */
static enum gnn_status again_of(struct gnn_world *world, const struct gnn_recipe_file *twin, double *again,
                                struct gnn_err *err)
{
    struct gnn_lists *lists;
    struct gnn_trees trees = {0};
    GNN_TRY(open_twin(world, twin, &lists, err));
    const struct gnn_dataset *const d = gnn_lists_dataset(lists);
    const enum gnn_status status = gnn_trees_measure(lists, d->train.nodes, d->train.count, tree_seed, &trees, err);
    gnn_lists_close(lists);
    *again = trees.again;
    return status;
}

/* The share of the lists, in twentieths, with which the twin's trees name nodes again most nearly as often as the
 * graph's. */
static enum gnn_status fit_cliques(struct gnn_world *world, const struct gnn_trees *trees, struct gnn_recipe_file *twin,
                                   struct gnn_err *err)
{
    enum { SHARES = 20 };
    double best = 0, least = INFINITY;
    for (uint32_t i = 0; i <= SHARES; i++) {
        double again = 0;
        twin->laws.clique_share = (double)i / SHARES;
        GNN_TRY(again_of(world, twin, &again, err));
        if (!(fabs(again - trees->again) < least))
            continue;
        least = fabs(again - trees->again);
        best = twin->laws.clique_share;
    }
    twin->laws.clique_share = best;
    return GNN_OK;
}

static void name_twin(const struct gnn_dataset *d, struct gnn_recipe_file *out)
{
    (void)snprintf(out->name, sizeof out->name, "%.*s-twin", GNN_NAME_MAX - 8, d->name);
    (void)snprintf(out->title, sizeof out->title, "the statistics of %s", d->name);
    out->entry.name = out->name;
    out->entry.title = out->title;
    out->entry.papers = "";
    out->entry.note = "";
    out->entry.laws = &out->laws;
}

static void copy_counts(const struct gnn_dataset *d, struct gnn_recipe_file *out)
{
    struct gnn_registry_entry *const e = &out->entry;
    e->nodes = d->node_count;
    e->edges = d->edge_count;
    e->dim = d->dim;
    e->classes = gnn_max_u32(d->class_count, 1);
    e->degree_exponent = 2.5; /* of no list: all have laws that were read */
    e->train = d->train.count;
    e->valid = gnn_max_u32(d->valid.count, 1);
    e->test = gnn_max_u32(d->test.count, 1);
    if (d->train.count == 0) /* every node was a seed */
        e->train = d->node_count - e->valid - e->test;
}

enum gnn_status gnn_twin_of(struct gnn_world *world, const struct gnn_dataset *dataset, const struct gnn_stats *stats,
                            uint64_t window_bytes, struct gnn_recipe_file *out, struct gnn_err *err)
{
    *out = (struct gnn_recipe_file){.laws = {.label_noise = 0}};
    if (isnan(stats->reach) || stats->reach_sources.law.count == 0)
        return gnn_fail(err, GNN_EUSAGE, "a recipe takes the lists' statistics: walk them");
    name_twin(dataset, out);
    copy_counts(dataset, out);
    struct gnn_registry_reach *const reach = &out->entry.reach;
    out->laws.mutual = is_mutual(&stats->trees);
    reach->share = out->laws.mutual > 0 ? stats->reach : fit_reach(dataset, stats, &out->laws.popularity);
    reach->coupling = stats->coupling;
    const uint64_t splits = out->entry.train + out->entry.valid + out->entry.test;
    reach->share = fmin(fmax(reach->share, ((double)splits + 1) / dataset->node_count), 1);
    fit_order(stats, (double)window_bytes / dataset->row_bytes, out);
    out->laws.homophily = isnan(stats->same_class) ? 0 : stats->same_class;
    out->laws.train_degrees = stats->train_lists.law;
    if (out->laws.mutual == 0)
        out->laws.mixing = stats->mixing; /* its points are those of the law that fit_reach made of the graph's */
    fit_degrees(stats, reach->share * dataset->node_count - (double)dataset->train.count, &out->laws);
    return out->laws.mutual > 0 ? fit_cliques(world, &stats->trees, out, err) : GNN_OK;
}

/* SPDX-License-Identifier: MIT */
#include "harness/stats/show.h"

#include "harness/base/data_dirs.h"
#include "harness/base/out_file.h"
#include "harness/base/plain_text.h"
#include "harness/base/units.h"
#include "harness/record/gnuplot.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

enum { PATH_BYTES = 1024, CAPTION_BYTES = 512 };

static const char lines_gp[] =
#include "plots/lines.gp.inc" /* made from plots/lines.gp */
    ;

/* ---- text ---- */

static void put_share(FILE *out, double share)
{
    if (isnan(share))
        (void)fputs(" - |", out);
    else
        (void)fprintf(out, " %.2f %% |", 100 * share);
}

static const struct {
    const char *what;
    size_t offset;
} spreads[] = {{"neighbours of a node", offsetof(struct gnn_stats, lists)},
               {"... of a training node", offsetof(struct gnn_stats, train_lists)},
               {"... of another node of the reach", offsetof(struct gnn_stats, reach_lists)},
               {"... of a node outside it", offsetof(struct gnn_stats, rest_lists)},
               {"lists a node is in", offsetof(struct gnn_stats, sources)},
               {"... lists of the reach, its nodes", offsetof(struct gnn_stats, reach_sources)},
               {"accesses of a row", offsetof(struct gnn_stats, row_accesses)}};
enum { SPREADS = sizeof spreads / sizeof spreads[0] };

static const struct gnn_spread *spread_at(const struct gnn_stats *stats, int i)
{
    return (const struct gnn_spread *)(const void *)((const char *)stats + spreads[i].offset);
}

static void put_spreads(const struct gnn_stats *stats, FILE *out)
{
    (void)fputs("| over nodes | nodes | mean | none |", out);
    for (int q = 0; q < GNN_STATS_QUANTILES; q++)
        (void)fprintf(out, " %g %% |", 100 * gnn_stats_quantiles[q]);
    (void)fputs(" most | the best 1 % have | 10 % |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n", out);
    for (int i = 0; i < SPREADS; i++) {
        const struct gnn_spread *const s = spread_at(stats, i);
        if (s->nodes == 0)
            continue;
        (void)fprintf(out, "| %s | %" PRIu64 " | %.2f |", spreads[i].what, s->nodes, s->mean);
        put_share(out, s->zero);
        for (int q = 0; q < GNN_STATS_QUANTILES; q++)
            (void)fprintf(out, " %" PRIu32 " |", s->quantile[q]);
        (void)fprintf(out, " %" PRIu32 " |", s->max);
        put_share(out, s->best[0]);
        put_share(out, s->best[3]);
        (void)fputs("\n", out);
    }
}

static void put_row(FILE *out, const char *what, double share)
{
    (void)fprintf(out, "| %s |", what);
    put_share(out, share);
    (void)fputs("\n", out);
}

static void put_reach(const struct gnn_stats_heading *h, const struct gnn_stats *s, FILE *out)
{
    char what[128], window[32];
    if (isnan(s->reach))
        return;
    (void)fputs("\n| reach of the training nodes | share of the nodes |\n|---|---|\n", out);
    for (uint32_t hop = 0; hop <= h->config->fanout.count; hop++) {
        (void)snprintf(what, sizeof what, "within %" PRIu32 " hops", hop);
        put_row(out, what, s->hop[hop]);
    }
    (void)snprintf(what, sizeof what, "at all (%" PRIu32 " hops)", s->reach_hops);
    put_row(out, what, s->reach);
    (void)snprintf(what, sizeof what, "windows of %s of the feature file that hold a reached row",
                   gnn_format_bytes(h->config->window_bytes, window, sizeof window));
    put_row(out, what, (double)s->windows_reached / (double)s->windows);
    put_row(out, "entries of the reach's lists that join a class", s->same_class);
    put_row(out, "lists that are as long as their node is popular (below 0: as short)", s->coupling);
    put_row(out, "neighbours of a training node that have it as a neighbour too", s->trees.mutual);
    put_row(out, "entries of their lists that a tree of 10 by 10 names again", s->trees.again);
}

static void put_batches(const struct gnn_stats_heading *h, const struct gnn_stats *s, FILE *out)
{
    if (s->batches == 0)
        return;
    const uint32_t seeds = h->dataset->train.count > 0 ? h->dataset->train.count : h->dataset->node_count;
    (void)fprintf(out, "\n| %" PRIu64 " mini-batches of %" PRIu32 " seeds | |\n|---|---|\n", s->batches,
                  gnn_min_u32(h->config->batch_size, seeds));
    (void)fprintf(out, "| rows of one | %.0f |\n| edges of one | %.0f |\n", s->rows, s->edges);
    put_row(out, "nodes that the first epoch touches", s->touched_first);
    put_row(out, "nodes that all epochs touch", s->touched);
    put_row(out, "accesses of the second epoch whose row the first one touched", s->next_epoch);
    (void)fprintf(out,
                  "\nShare of the row accesses that a cache catches: the rows that the %" PRIu64
                  " accesses use most often; LRU and Belady from cold, over the first %" PRIu64 ".\n\n",
                  s->accesses, s->accesses_kept);
    (void)fputs("| cache, share of the rows | best rows | LRU | Belady |\n|---|---|---|---|\n", out);
    for (int i = 0; i < GNN_STATS_SHARES; i++) {
        (void)fprintf(out, "| %g %% |", 100 * gnn_stats_shares[i]);
        put_share(out, s->hits[i].best);
        put_share(out, s->hits[i].lru);
        put_share(out, s->hits[i].belady);
        (void)fputs("\n", out);
    }
}

static void format_fanout(const struct gnn_u32_list *fanout, char *text, size_t text_bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < fanout->count && used < text_bytes; i++)
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%" PRIu32, i == 0 ? "" : ",", fanout->values[i]);
}

void gnn_stats_text(const struct gnn_stats_heading *h, const struct gnn_stats *s, FILE *out)
{
    char name[GNN_NAME_MAX], fanout[64], features[64] = "";
    const struct gnn_dataset *const d = h->dataset;
    if (d->relation_count == 0)
        (void)snprintf(features, sizeof features, "\nfeature rows of %" PRIu32 " %s, %" PRIu32 " B", d->dim,
                       gnn_feature_type_words[d->feature_type], d->row_bytes);
    format_fanout(&h->config->fanout, fanout, sizeof fanout);
    (void)fprintf(out,
                  "%s at 1/%" PRIu32 ": %" PRIu32 " nodes, %" PRIu64 " edges, %" PRIu32
                  " training nodes; fan-out %s, seeds first, seed %" PRIu64 "%s\n\n",
                  gnn_text_plain(d->name, name, sizeof name), d->scale_divisor, d->node_count, d->edge_count,
                  d->train.count, fanout, h->config->seed, features);
    put_spreads(s, out);
    if (s->isolated != GNN_STATS_UNCOUNTED)
        (void)fprintf(out, "\nNodes without edges: %" PRIu64 " (%.2f %%)\n", s->isolated,
                      100 * (double)s->isolated / d->node_count);
    put_reach(h, s, out);
    put_batches(h, s, out);
}

/* ---- JSON ---- */

static json_t *number(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

/* Sets a member; false: out of memory. The value is taken over. */
static bool set(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0;
}

static json_t *numbers(const double *values, int count)
{
    json_t *const array = json_array();
    for (int i = 0; i < count; i++)
        if (json_array_append_new(array, number(values[i])) != 0)
            return array;
    return array;
}

static json_t *spread_json(const struct gnn_spread *s)
{
    json_t *const object = json_object(), *const quantiles = json_array();
    for (int q = 0; q < GNN_STATS_QUANTILES; q++)
        (void)json_array_append_new(quantiles, json_integer(s->quantile[q]));
    (void)(set(object, "nodes", json_integer((json_int_t)s->nodes)) && set(object, "mean", number(s->mean)) &&
           set(object, "zero", number(s->zero)) && set(object, "max", json_integer(s->max)) &&
           set(object, "quantiles", quantiles) && set(object, "best", numbers(s->best, GNN_STATS_SHARES)) &&
           set(object, "law_upto", numbers(s->law.upto, (int)s->law.count)) &&
           set(object, "law_mean", numbers(s->law.mean, (int)s->law.count)));
    return object;
}

static void add_hits(json_t *object, const struct gnn_stats *s)
{
    double best[GNN_STATS_SHARES], lru[GNN_STATS_SHARES], belady[GNN_STATS_SHARES];
    for (int i = 0; i < GNN_STATS_SHARES; i++) {
        best[i] = s->hits[i].best;
        lru[i] = s->hits[i].lru;
        belady[i] = s->hits[i].belady;
    }
    (void)(set(object, "shares", numbers(gnn_stats_shares, GNN_STATS_SHARES)) &&
           set(object, "hits_best", numbers(best, GNN_STATS_SHARES)) &&
           set(object, "hits_lru", numbers(lru, GNN_STATS_SHARES)) &&
           set(object, "hits_belady", numbers(belady, GNN_STATS_SHARES)));
}

static void add_figures(json_t *object, const struct gnn_stats *s)
{
    const struct {
        const char *name;
        double value;
    } figures[] = {{"same_class", s->same_class},
                   {"coupling", s->coupling},
                   {"mutual", s->trees.mutual},
                   {"named_again", s->trees.again},
                   {"reach", s->reach},
                   {"windows_reached", isnan(s->reach) ? (double)NAN : (double)s->windows_reached / (double)s->windows},
                   {"rows", s->rows},
                   {"batch_edges", s->edges},
                   {"touched_first", s->touched_first},
                   {"touched", s->touched},
                   {"next_epoch", s->next_epoch}};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        (void)set(object, figures[i].name, number(figures[i].value));
    (void)(set(object, "reach_hops", json_integer(s->reach_hops)) &&
           set(object, "batches", json_integer((json_int_t)s->batches)) &&
           set(object, "accesses", json_integer((json_int_t)s->accesses)) &&
           set(object, "accesses_kept", json_integer((json_int_t)s->accesses_kept)) &&
           set(object, "hops", numbers(s->hop, GNN_LAYERS_MAX + 1)));
}

enum gnn_status gnn_stats_json(const struct gnn_stats_heading *h, const struct gnn_stats *s, FILE *out,
                               struct gnn_err *err)
{
    static const char *const names[SPREADS] = {"lists",   "train_lists",   "reach_lists", "rest_lists",
                                               "sources", "reach_sources", "row_accesses"};
    const struct gnn_dataset *const d = h->dataset;
    char name[GNN_NAME_MAX];
    json_t *const object = json_object();
    bool whole = set(object, "dataset", json_string(gnn_text_plain(d->name, name, sizeof name))) &&
                 set(object, "scale_divisor", json_integer(d->scale_divisor)) &&
                 set(object, "nodes", json_integer(d->node_count)) &&
                 set(object, "edges", json_integer((json_int_t)d->edge_count)) &&
                 set(object, "train", json_integer(d->train.count)) && set(object, "dim", json_integer(d->dim)) &&
                 set(object, "batch_size", json_integer(h->config->batch_size)) &&
                 set(object, "window_bytes", json_integer((json_int_t)h->config->window_bytes));
    for (int i = 0; i < SPREADS && whole; i++)
        whole = set(object, names[i], spread_json(spread_at(s, i)));
    (void)set(object, "isolated",
              s->isolated != GNN_STATS_UNCOUNTED ? json_integer((json_int_t)s->isolated) : json_null());
    add_figures(object, s);
    add_hits(object, s);
    char *const text = whole ? json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(object);
    if (text == NULL)
        return gnn_fail(err, GNN_ENOMEM, "statistics as JSON");
    (void)fprintf(out, "%s\n", text);
    free(text);
    return GNN_OK;
}

/* ---- picture ---- */

static enum gnn_status write_data(const struct gnn_stats *s, const char *dir, struct gnn_err *err)
{
    FILE *file;
    GNN_TRY(gnn_out_file_open(dir, "caches", "dat", &file, err));
    (void)fputs("# cache, % of the rows; % of the accesses that it catches: best rows, LRU, Belady\n", file);
    for (int i = 0; i < GNN_STATS_SHARES; i++) {
        const double hits[] = {s->hits[i].best, s->hits[i].lru, s->hits[i].belady};
        (void)fprintf(file, "%g", 100 * gnn_stats_shares[i]);
        for (int k = 0; k < 3; k++)
            (void)(isnan(hits[k]) ? fputs("\tNaN", file) : fprintf(file, "\t%.6g", 100 * hits[k]));
        (void)fputs("\n", file);
    }
    return gnn_out_file_close(file, dir, "caches", "dat", err);
}

static enum gnn_status write_script(const struct gnn_stats_heading *h, const struct gnn_stats *s, const char *dir,
                                    struct gnn_err *err)
{
    FILE *file;
    GNN_TRY(gnn_out_file_open(dir, "caches", "gp", &file, err));
    char caption[CAPTION_BYTES], fanout[64], name[GNN_NAME_MAX];
    format_fanout(&h->config->fanout, fanout, sizeof fanout);
    (void)snprintf(
        caption, sizeof caption,
        "%s at 1/%" PRIu32 ", %" PRIu32 " nodes; %" PRIu64 " mini-batches of %" PRIu32
        " seeds, fan-out %s, %.0f rows each.\nBest rows: those used most often, held from the start; LRU and "
        "Belady from cold, over %" PRIu64 " accesses.",
        gnn_text_plain(h->dataset->name, name, sizeof name), h->dataset->scale_divisor, h->dataset->node_count,
        s->batches, h->config->batch_size, fanout, s->rows, s->accesses_kept);
    const char *const texts[][2] = {{"data", "caches.dat"},
                                    {"base", "caches"},
                                    {"heading", "What a cache of feature rows catches"},
                                    {"xlabel", "rows in the cache, % of all"},
                                    {"ylabel", "% of the accesses"},
                                    {"caption", caption}};
    (void)fputs("# Edit and run again: gnuplot caches.gp\n", file);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        gnn_gnuplot_set(file, texts[i][0], texts[i][1]);
    (void)fputs("series = 3\narray names[3] = [\"best rows\", \"LRU\", \"Belady\"]\n"
                "array colours[3] = [\"#0072B2\", \"#D55E00\", \"#009E73\"]\n",
                file);
    (void)fputs(lines_gp, file);
    return gnn_out_file_close(file, dir, "caches", "gp", err);
}

enum gnn_status gnn_stats_plot(const struct gnn_stats_heading *heading, const struct gnn_stats *stats, const char *dir,
                               struct gnn_err *err)
{
    if (stats->accesses_kept == 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "--plot draws what caches catch, and no mini-batches were sampled: leave "
                        "--epochs 0 out");
    GNN_TRY(gnn_make_dirs(dir, err));
    GNN_TRY(write_data(stats, dir, err));
    GNN_TRY(write_script(heading, stats, dir, err));
    return gnn_gnuplot_run(dir, "caches", err);
}

/* SPDX-License-Identifier: MIT */
#include "harness/dataset/recipe_file.h"

#include "harness/base/ini.h"
#include "harness/graph/node_order.h"
#include "harness/storage/meta.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof((struct gnn_recipe_laws *)0)->checksum >= GNN_CHECKSUM_TEXT, "a checksum's text");

#define ENTRY(word, kind, field, ...) GNN_OPTION(gnn_recipe_file, #word, kind, entry.field, __VA_ARGS__)
#define LAWS(word, kind, field, ...) GNN_OPTION(gnn_recipe_file, #word, kind, laws.field, __VA_ARGS__)

/* clang-format off */
static const struct gnn_option table[] = {
    GNN_OPTION(gnn_recipe_file, "name", TEXT, name, "", .help = "Name of the dataset"),
    GNN_OPTION(gnn_recipe_file, "title", TEXT, title, "", .help = "Name of the dataset in captions"),
    ENTRY(nodes, U64, nodes, "8", .min = 8, .max = 4294967294.0, .help = "Number of nodes"),
    ENTRY(edges, U64, edges, "1", .min = 1, .max = 1e13, .help = "Number of edges"),
    ENTRY(dim, U32, dim, "128", .min = 1, .max = GNN_DIM_MAX, .help = "Feature width"),
    ENTRY(classes, U32, classes, "2", .min = 1, .max = 1e6, .help = "Number of classes"),
    ENTRY(train, U64, train, "1", .min = 1, .max = 4294967294.0, .help = "Number of training nodes"),
    ENTRY(valid, U64, valid, "1", .min = 0, .max = 4294967294.0, .help = "Number of validation nodes"),
    ENTRY(test, U64, test, "1", .min = 0, .max = 4294967294.0, .help = "Number of test nodes"),
    ENTRY(degree_exponent, F64, degree_exponent, "2.5", .min = 2.01, .max = 10,
           .help = "Exponent of the degrees' power law, if there is no section of degrees"),
    ENTRY(popularity, F64, popularity, "0", .min = 0, .max = 4,
           .help = "Zipf exponent of popularity, if there is no section of popularity"),
    ENTRY(reach, F64, reach.share, "1", .min = 1e-6, .max = 1, .help = "Share of the nodes in the reachable set"),
    GNN_OPTION(gnn_recipe_file, "order", TEXT, order, "even",
           .help = "Order of the reachable set among the node IDs: `even`, or pairs ID_SHARE:MEMBER_SHARE joined by +"),
    ENTRY(empty, F64, reach.empty, "0", .min = 0, .max = 0.999,
           .help = "Share of the reachable set's nodes without neighbours"),
    ENTRY(list_mean, F64, reach.list_mean, "0", .min = 0, .max = 1e6,
           .help = "Mean number of neighbours of its other nodes"),
    ENTRY(train_empty, F64, reach.train_empty, "0", .min = 0, .max = 0.999,
           .help = "Share of the training nodes without neighbours"),
    ENTRY(train_mean, F64, reach.train_mean, "0", .min = 0, .max = 1e6,
           .help = "Mean number of neighbours of the other training nodes"),
    ENTRY(train_share, F64, reach.train_share, "0", .min = 0, .max = 0.99,
           .help = "Share of a training node's neighbours that are training nodes; 0 = as for other nodes"),
    ENTRY(hub_shift, F64, reach.hub_shift, "0", .min = 0, .max = 1,
           .help = "Share of the reachable set with constant popularity"),
    ENTRY(coupling, F64, reach.coupling, "0", .min = -1, .max = 1, .help = "Coupling of degree and popularity"),
    LAWS(homophily, F64, homophily, "0.7", .min = 0, .max = 1, .help = "Share of edges inside a class"),
    LAWS(label_noise, F64, label_noise, "0.1", .min = 0, .max = 1, .help = "Share of wrong labels"),
    LAWS(mutual, U32, mutual, "0", .min = 0, .max = 1,
           .help = "Whether edges are mutual: 1 = u is in v's list if v is in u's"),
    LAWS(clique_share, F64, clique_share, "0", .min = 0, .max = 1,
           .help = "Share of a mutual list that comes from cliques"),
    {.name = NULL},
};
/* clang-format on */

static const struct {
    const char *section;
    size_t offset;
} laws[] = {{"degrees", offsetof(struct gnn_recipe_laws, degrees)},
            {"train degrees", offsetof(struct gnn_recipe_laws, train_degrees)},
            {"rest degrees", offsetof(struct gnn_recipe_laws, rest_degrees)},
            {"popularity", offsetof(struct gnn_recipe_laws, popularity)}};
enum { LAWS_COUNT = sizeof laws / sizeof laws[0] };

/* ---- reading ---- */

/* A recipe of earlier versions has the share of the IDs, from 0 up, that the reachable set fills. */
static enum gnn_status refuse_spread(const char *path, const struct gnn_ini_entry *entry, struct gnn_err *err)
{
    const double filled = strtod(entry->value, NULL);
    if (!(filled > 0 && filled < 1))
        return gnn_fail(err, GNN_EUSAGE, "%s:%u: a recipe has no key spread any more; write: order = even", path,
                        entry->line);
    return gnn_fail(err, GNN_EUSAGE, "%s:%u: a recipe has no key spread any more; write: order = %.7g:1+%.7g:0", path,
                    entry->line, filled, 1 - filled);
}

static enum gnn_status read_graph(const char *path, const struct gnn_ini_section *section, struct gnn_recipe_file *file,
                                  struct gnn_err *err)
{
    for (uint32_t i = 0; i < section->entry_count; i++) {
        const struct gnn_ini_entry *const entry = &section->entries[i];
        struct gnn_err cause = {0};
        if (strcmp(entry->key, "spread") == 0)
            return refuse_spread(path, entry, err);
        const enum gnn_status status = gnn_option_set(table, file, entry->key, entry->value, &cause);
        if (status != GNN_OK)
            return gnn_fail(err, status, "%s:%u: %s", path, entry->line, cause.message);
    }
    static const char *const needed[] = {"name", "nodes", "edges", "train"};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (gnn_ini_find(section, needed[i]) == NULL)
            return gnn_fail(err, GNN_EUSAGE, "%s:%u: [graph] lacks the key \"%s\"", path, section->line, needed[i]);
    return GNN_OK;
}

/* A finite number that is all of the text. */
static bool parse_number(const char *text, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out);
}

static enum gnn_status read_law(const char *path, const struct gnn_ini_section *section, struct gnn_rank_law *law,
                                struct gnn_err *err)
{
    double upto = 0, mean = (double)UINT32_MAX;
    if (section->entry_count == 0 || section->entry_count > GNN_LAW_POINTS_MAX)
        return gnn_fail(err, GNN_EUSAGE, "%s:%u: [%s] has %u lines, expected 1 to %d", path, section->line,
                        section->name, section->entry_count, GNN_LAW_POINTS_MAX);
    for (uint32_t i = 0; i < section->entry_count; i++) {
        const struct gnn_ini_entry *const entry = &section->entries[i];
        const double from = upto, above = mean;
        if (!parse_number(entry->key, &upto) || !parse_number(entry->value, &mean) || upto <= from || upto > 1 ||
            mean < 0 || mean > above)
            return gnn_fail(err, GNN_EUSAGE,
                            "%s:%u: \"%s = %s\": shares ascend to 1, and what they have on average falls, from above 0",
                            path, entry->line, entry->key, entry->value);
        law->upto[i] = upto;
        law->mean[i] = mean;
    }
    law->count = section->entry_count;
    if (upto == 1)
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE, "%s:%u: [%s] ends at %g, expected 1", path, section->line, section->name, upto);
}

/* The numbers of a text, at most max; returns how many, 0 for a text that is none. */
static uint32_t parse_numbers(const char *text, double *out, uint32_t max)
{
    uint32_t count = 0;
    while (*text != '\0') {
        char *end = NULL;
        const double number = strtod(text, &end);
        if (end == text || !isfinite(number) || count == max)
            return 0;
        out[count++] = number;
        for (text = end; *text == ' '; text++) {
        }
    }
    return count;
}

/* "lists = 2 9": where groups of lists end; the last one has no end. */
static bool read_groups(const struct gnn_ini_entry *entry, struct gnn_mixing *mixing)
{
    double ends[GNN_MIXING_GROUPS];
    const uint32_t count = parse_numbers(entry->value, ends, GNN_MIXING_GROUPS - 1);
    if (strcmp(entry->key, "lists") != 0 || count == 0)
        return false;
    for (uint32_t g = 0; g < count; g++) {
        if (!(ends[g] >= 1 && ends[g] < UINT32_MAX) || (g > 0 && ends[g] <= ends[g - 1]))
            return false;
        mixing->upto[g] = (uint32_t)ends[g];
    }
    mixing->upto[count] = UINT32_MAX;
    mixing->groups = count + 1;
    return true;
}

/* "0.001 = 0.1 0.3 0.6": shares of point i, which add up to 1; upto is what stands before them. */
static bool read_shares(const struct gnn_ini_entry *entry, uint32_t i, struct gnn_mixing *mixing, double *upto)
{
    double shares[GNN_MIXING_GROUPS], sum = 0;
    if (!parse_number(entry->key, upto) || parse_numbers(entry->value, shares, mixing->groups) != mixing->groups)
        return false;
    for (uint32_t g = 0; g < mixing->groups; g++) {
        if (shares[g] < 0)
            return false;
        mixing->share[g][i] = shares[g];
        sum += shares[g];
    }
    return fabs(sum - 1) < 1e-3;
}

static enum gnn_status read_mixing(const char *path, const struct gnn_ini_section *section,
                                   struct gnn_recipe_file *file, struct gnn_err *err)
{
    const struct gnn_rank_law *const law = &file->laws.popularity;
    struct gnn_mixing *const mixing = &file->laws.mixing;
    if (law->count == 0 || section->entry_count != law->count + 1)
        return gnn_fail(err, GNN_EUSAGE, "%s:%u: [mixing] must follow [popularity] and have one line more than its %u",
                        path, section->line, law->count);
    for (uint32_t i = 0; i < section->entry_count; i++) {
        const struct gnn_ini_entry *const entry = &section->entries[i];
        double upto = 0;
        const bool good = i == 0 ? read_groups(entry, mixing)
                                 : read_shares(entry, i - 1, mixing, &upto) && fabs(upto - law->upto[i - 1]) < 1e-6;
        if (!good)
            return gnn_fail(err, GNN_EUSAGE,
                            "%s:%u: \"%s = %s\": expected ends of at most %d lists, then for each line of popularity "
                            "as many shares and one more, which add up to 1",
                            path, entry->line, entry->key, entry->value, GNN_MIXING_GROUPS - 1);
    }
    return GNN_OK;
}

static enum gnn_status read_section(const char *path, const struct gnn_ini_section *section,
                                    struct gnn_recipe_file *file, struct gnn_err *err)
{
    if (strcmp(section->name, "graph") == 0)
        return read_graph(path, section, file, err);
    for (size_t i = 0; i < LAWS_COUNT; i++)
        if (strcmp(section->name, laws[i].section) == 0)
            return read_law(path, section, (struct gnn_rank_law *)(void *)((char *)&file->laws + laws[i].offset), err);
    if (strcmp(section->name, "mixing") == 0)
        return read_mixing(path, section, file, err);
    return gnn_fail(
        err, GNN_EUSAGE,
        "%s:%u: a recipe has no section [%s]; it has graph, degrees, train degrees, rest degrees, popularity, mixing",
        path, section->line, section->name);
}

static void point_to_own(struct gnn_recipe_file *file)
{
    file->entry.name = file->name;
    file->entry.title = file->title;
    file->entry.papers = "";
    file->entry.note = "";
    file->entry.reach.order = file->order;
    file->entry.laws = &file->laws;
}

/* The laws and figures that decide the graph, as a checksum. */
static void sum_up(struct gnn_recipe_file *file)
{
    const struct gnn_rank_law *const all[] = {&file->laws.degrees, &file->laws.train_degrees, &file->laws.rest_degrees,
                                              &file->laws.popularity};
    struct sums {
        double laws[LAWS_COUNT][2 * GNN_LAW_POINTS_MAX];
        struct gnn_mixing mixing;
        double mutual, clique_share;
    } sums;
    memset(&sums, 0, sizeof sums);
    memcpy(&sums.mixing, &file->laws.mixing, sizeof sums.mixing); /* padding too, which is zeros */
    sums.mutual = file->laws.mutual;
    sums.clique_share = file->laws.clique_share;
    for (size_t i = 0; i < LAWS_COUNT; i++)
        for (size_t k = 0; k < all[i]->count; k++) {
            sums.laws[i][2 * k] = all[i]->upto[k];
            sums.laws[i][2 * k + 1] = all[i]->mean[k];
        }
    char checksum[GNN_CHECKSUM_TEXT];
    const size_t mixed = file->laws.mixing.groups > 0 ? offsetof(struct sums, mutual) : sizeof sums.laws;
    gnn_checksum_of(&sums, file->laws.mutual > 0 ? sizeof sums : mixed, checksum);
    memcpy(file->laws.checksum, checksum, sizeof checksum);
}

/* Mutual lists name a node as often as its own list is long, whatever else the file says. */
static enum gnn_status check_mutual(const char *path, const struct gnn_recipe_laws *l, struct gnn_err *err)
{
    if (l->clique_share > 0 && l->mutual == 0)
        return gnn_fail(err, GNN_EUSAGE, "%s: clique_share = %g: only mutual lists have cliques; set mutual = 1", path,
                        l->clique_share);
    if (l->mutual > 0 && l->popularity.count > 0)
        return gnn_fail(err, GNN_EUSAGE,
                        "%s: mutual = 1 together with [popularity]: in mutual lists a node's popularity is the length "
                        "of its own list. Remove [popularity] and [mixing], or set mutual = 0",
                        path);
    return GNN_OK;
}

static enum gnn_status check_order(const char *path, const struct gnn_recipe_file *file, struct gnn_err *err)
{
    struct gnn_node_order order;
    struct gnn_err cause = {0};
    enum gnn_status status = gnn_node_order_parse(file->order, &order, &cause);
    GNN_NEXT(status, gnn_node_order_check(&order, file->entry.reach.share, &cause));
    return status == GNN_OK ? GNN_OK : gnn_fail(err, status, "%s: %s", path, cause.message);
}

static enum gnn_status read_sections(const struct gnn_ini *ini, struct gnn_recipe_file *file, struct gnn_err *err)
{
    const char *const path = gnn_ini_name(ini);
    const uint32_t sections = gnn_ini_section_count(ini);
    gnn_option_defaults(table, file);
    if (sections == 0 || gnn_ini_global(ini) != NULL || strcmp(gnn_ini_section(ini, 0)->name, "graph") != 0)
        return gnn_fail(err, GNN_EUSAGE, "%s: a recipe begins with the section [graph]", path);
    for (uint32_t i = 0; i < sections; i++)
        GNN_TRY(read_section(path, gnn_ini_section(ini, i), file, err));
    GNN_TRY(check_order(path, file, err));
    return check_mutual(path, &file->laws, err);
}

/* Takes the ini over. */
static enum gnn_status read_ini(struct gnn_ini *ini, struct gnn_recipe_file **out, struct gnn_err *err)
{
    struct gnn_recipe_file *const file = calloc(1, sizeof *file);
    const enum gnn_status status =
        file == NULL ? gnn_fail(err, GNN_ENOMEM, "recipe %s", gnn_ini_name(ini)) : read_sections(ini, file, err);
    gnn_ini_close(ini);
    if (status != GNN_OK) {
        free(file);
        return status;
    }
    point_to_own(file);
    sum_up(file);
    *out = file;
    return GNN_OK;
}

enum gnn_status gnn_recipe_file_open(const char *path, struct gnn_recipe_file **out, struct gnn_err *err)
{
    struct gnn_ini *ini;
    GNN_TRY(gnn_ini_open(path, &ini, err));
    return read_ini(ini, out, err);
}

enum gnn_status gnn_recipe_file_parse(const char *name, const char *text, struct gnn_recipe_file **out,
                                      struct gnn_err *err)
{
    struct gnn_ini *ini;
    GNN_TRY(gnn_ini_parse(name, text, &ini, err));
    return read_ini(ini, out, err);
}

/* ---- writing ---- */

static void write_mixing(const struct gnn_recipe_laws *from, FILE *out)
{
    const struct gnn_mixing *const mixing = &from->mixing;
    if (mixing->groups < 2)
        return;
    (void)fprintf(out, "\n[mixing]\nlists =");
    for (uint32_t g = 0; g + 1 < mixing->groups; g++)
        (void)fprintf(out, " %" PRIu32, mixing->upto[g]);
    for (uint32_t k = 0; k < from->popularity.count; k++) {
        (void)fprintf(out, "\n%.7g =", from->popularity.upto[k]);
        for (uint32_t g = 0; g < mixing->groups; g++)
            (void)fprintf(out, " %.7g", mixing->share[g][k]);
    }
    (void)fputc('\n', out);
}

void gnn_recipe_file_write(const struct gnn_recipe_file *file, const char *comment, FILE *out)
{
    (void)fprintf(out, "; %s\n[graph]\n", comment);
    for (const struct gnn_option *option = table; option->name != NULL; option++) {
        char value[GNN_TEXT_MAX + 8];
        gnn_option_format(option, file, value, sizeof value);
        if (option->type == GNN_OPT_F64) /* digits beyond are noise of the graph it was read off */
            (void)snprintf(value, sizeof value, "%.7g",
                           *(const double *)(const void *)((const char *)file + option->offset));
        (void)fprintf(out, "%s = %s\n", option->name, value);
    }
    for (size_t i = 0; i < LAWS_COUNT; i++) {
        const struct gnn_rank_law *const law =
            (const struct gnn_rank_law *)(const void *)((const char *)&file->laws + laws[i].offset);
        if (law->count > 0)
            (void)fprintf(out, "\n[%s]\n", laws[i].section);
        for (uint32_t k = 0; k < law->count; k++)
            (void)fprintf(out, "%.7g = %.7g\n", law->upto[k], law->mean[k]);
    }
    write_mixing(&file->laws, out);
}

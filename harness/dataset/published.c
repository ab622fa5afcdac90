/* SPDX-License-Identifier: MIT */
#include "harness/dataset/published.h"

#include "harness/dataset/find_places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH = 3 };

/* Sources: ogb/nodeproppred/master.csv (add_inverse_edge) and ogb/lsc/mag240m.py, wikikg90mv2.py of OGB;
 * igb/dataloader.py of IGB-Datasets (shapes, labelled nodes, splits); the headers of SNAP's files; freebase86m.py of
 * Marius (columns). */
/* clang-format off */
const struct gnn_published gnn_published[] = {
    {.name = "papers100m", .title = "ogbn-papers100M of OGB", .format = GNN_IMPORT_OGB, .options = ""},
    {.name = "papers100m-sym", .title = "ogbn-papers100M of OGB", .format = GNN_IMPORT_OGB,
     .options = "add_reverse=yes"},
    {.name = "products", .title = "ogbn-products of OGB", .format = GNN_IMPORT_OGB, .options = "add_reverse=yes"},
    {.name = "arxiv", .title = "ogbn-arxiv of OGB", .format = GNN_IMPORT_OGB, .options = ""},
    {.name = "mag240m-cites", .title = "MAG240M of OGB-LSC, papers and citations", .format = GNN_IMPORT_OGB,
     .options = "", .relation = "cites"},
    {.name = "igb-medium", .title = "IGB-medium, papers and citations", .format = GNN_IMPORT_OGB,
     .options = "train_fraction=0.6 valid_fraction=0.2 test_fraction=0.2", .labels = "node_label_19.npy",
     .split_by_id = true, .relation = "cites"},
    {.name = "igb260m", .title = "IGB260M, papers and citations", .format = GNN_IMPORT_OGB,
     .options = "train_fraction=0.6 valid_fraction=0.2 test_fraction=0.2", .labels = "node_label_19.npy",
     .raw_dim = 1024, .labelled = 227130858, .labelled_of = 269346174, .split_by_id = true, .relation = "cites"},
    {.name = "friendster", .registry = "friendster", .title = "com-Friendster of SNAP", .format = GNN_IMPORT_SNAP,
     .options = "relabel=yes", .files = {"com-friendster.ungraph.txt.gz", "com-friendster.ungraph.txt"}},
    {.name = "friendster-sym", .registry = "friendster-sym", .title = "com-Friendster of SNAP",
     .format = GNN_IMPORT_SNAP, .options = "relabel=yes add_reverse=yes",
     .files = {"com-friendster.ungraph.txt.gz", "com-friendster.ungraph.txt"}},
    {.name = "twitter", .registry = "twitter", .title = "twitter-2010 of SNAP", .format = GNN_IMPORT_SNAP,
     .options = "relabel=yes", .files = {"twitter-2010.txt.gz", "twitter-2010.txt"}},
    {.name = "livejournal", .registry = "livejournal", .title = "soc-LiveJournal1 of SNAP", .format = GNN_IMPORT_SNAP,
     .options = "relabel=yes", .files = {"soc-LiveJournal1.txt.gz", "soc-LiveJournal1.txt"}},
    {.name = "freebase86m", .title = "Freebase86M of DGL-KE", .format = GNN_IMPORT_TRIPLES,
     .options = "columns=htr nodes=86054151", .files = {"train.txt", "train.tsv", "train.txt.gz"}},
    {.name = "wikikg90mv2", .title = "WikiKG90Mv2 of OGB-LSC", .format = GNN_IMPORT_TRIPLES,
     .options = "nodes=91230610", .files = {"train_hrt.npy"}},
    {.name = NULL},
};
/* clang-format on */

const struct gnn_published *gnn_published_find(const char *name)
{
    if (strncmp(name, "ogbn-", 5) == 0)
        name += 5;
    for (const struct gnn_published *p = gnn_published; p->name != NULL; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

/* ---- where it is ---- */

/* Looks for one of the entry's files in a folder. A graph of lists is the file itself, triples are its folder. */
static bool look_in(const struct gnn_published *p, const char *dir, char path[GNN_PUBLISHED_PATH])
{
    struct stat info;
    for (int i = 0; i < GNN_PUBLISHED_FILES && p->files[i] != NULL; i++) {
        char file[GNN_OUTPUT_PATH];
        gnn_join(file, dir, p->files[i]);
        if (stat(file, &info) == 0 && !S_ISDIR(info.st_mode)) {
            (void)snprintf(path, GNN_PUBLISHED_PATH, "%s", p->format == GNN_IMPORT_SNAP ? file : dir);
            return true;
        }
    }
    return false;
}

static bool look_below(const struct gnn_published *p, const char *dir, int depth, char path[GNN_PUBLISHED_PATH])
{
    struct gnn_finder f = {.err = NULL};
    if (look_in(p, dir, path))
        return true;
    struct gnn_listing *const below = depth > 0 ? gnn_list_folders(&f, dir) : NULL;
    bool found = false;
    for (uint32_t i = 0; below != NULL && i < below->count && !found; i++)
        found = look_below(p, below->name[i], depth - 1, path);
    gnn_listing_close(below);
    return found;
}

enum gnn_status gnn_published_locate(const struct gnn_published *published, const char *download,
                                     char path[GNN_PUBLISHED_PATH], struct gnn_err *err)
{
    struct stat info;
    (void)snprintf(path, GNN_PUBLISHED_PATH, "%s", download);
    if (stat(download, &info) != 0 || !S_ISDIR(info.st_mode) || published->files[0] == NULL)
        return GNN_OK; /* the import looks at it */
    if (look_below(published, download, DEPTH, path))
        return GNN_OK;
    return gnn_fail(err, GNN_ENOENT, "--from %s: %s is expected to have the file %s, at most %d folders below",
                    download, published->title, published->files[0], DEPTH);
}

/* ---- its options ---- */

/* Random parts are those of the generated graph: its width, classes and shares of nodes. */
static enum gnn_status registry_options(const struct gnn_published *p, gnn_published_set_fn *set, void *ctx,
                                        struct gnn_err *err)
{
    const struct gnn_registry_entry *entry;
    char value[GNN_PUBLISHED_VALUE];
    GNN_TRY(gnn_registry_find(p->registry, &entry, err));
    const struct {
        const char *name;
        uint64_t count;
    } shares[] = {{"train_fraction", entry->train}, {"valid_fraction", entry->valid}, {"test_fraction", entry->test}};
    (void)snprintf(value, sizeof value, "%" PRIu32, entry->dim);
    GNN_TRY(set(ctx, "dim", value, err));
    (void)snprintf(value, sizeof value, "%" PRIu32, entry->classes);
    GNN_TRY(set(ctx, "classes", value, err));
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        (void)snprintf(value, sizeof value, "%.4g", (double)shares[i].count / (double)entry->nodes);
        GNN_TRY(set(ctx, shares[i].name, value, err));
    }
    return GNN_OK;
}

enum gnn_status gnn_published_options(const struct gnn_published *published, gnn_published_set_fn *set, void *ctx,
                                      struct gnn_err *err)
{
    for (const char *at = published->options; *at != '\0';) {
        char name[GNN_PUBLISHED_VALUE], value[GNN_PUBLISHED_VALUE];
        const size_t name_len = strcspn(at, "="), value_len = strcspn(at + name_len + 1, " ");
        (void)snprintf(name, sizeof name, "%.*s", (int)name_len, at);
        (void)snprintf(value, sizeof value, "%.*s", (int)value_len, at + name_len + 1);
        GNN_TRY(set(ctx, name, value, err));
        at += name_len + 1 + value_len;
        at += *at == ' ';
    }
    return published->registry != NULL ? registry_options(published, set, ctx, err) : GNN_OK;
}

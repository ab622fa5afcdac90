/* SPDX-License-Identifier: MIT */
#include "harness/dataset/find_edges.h"

#include "harness/dataset/csv_numbers.h"
#include "harness/dataset/find_places.h"
#include "harness/dataset/mapped_arrays.h"
#include "harness/dataset/ogb_csv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 8, SEARCH_DEPTH = 3, SEARCH_FOLDERS = 256 };

static const char *const edge_names[] = {"edge_index", "edges", "edge_list", "edgelist", NULL};

/* Two arrays that hold edges together. Archives are searched for names that can mean nothing else. */
static const struct {
    const char *first, *second;
    enum gnn_edge_form form;
    bool specific;
} edge_pairs[] = {
    {"indptr", "indices", GNN_EDGES_CSC, false},
    {"csc_indptr", "csc_indices", GNN_EDGES_CSC, true},
    {"csr_indptr", "csr_indices", GNN_EDGES_CSR, true},
    {"adj_indptr", "adj_indices", GNN_EDGES_CSR, true},
    {"colptr", "row", GNN_EDGES_CSC, false},
    {"rowptr", "col", GNN_EDGES_CSR, false},
    {"row", "col", GNN_EDGES_COLUMNS, false},
    {"src", "dst", GNN_EDGES_COLUMNS, false},
    {"source", "target", GNN_EDGES_COLUMNS, false},
};

/* A matrix of SciPy states its format, a word, in the array "format". */
static void take_scipy_format(struct gnn_finder *f, const char *dir, struct gnn_edge_files *out)
{
    char path[GNN_OUTPUT_PATH], word[4];
    if (!gnn_find_array(f, dir, "format", false, path) || !gnn_find_word(f, path, word))
        return;
    if (strcmp(word, "csr") == 0)
        out->form = GNN_EDGES_CSR;
}

static bool find_pair(struct gnn_finder *f, const char *dir, struct gnn_edge_files *out)
{
    for (size_t i = 0; i < sizeof edge_pairs / sizeof *edge_pairs; i++)
        if (gnn_find_array(f, dir, edge_pairs[i].first, edge_pairs[i].specific, out->path[0]) &&
            gnn_find_array(f, dir, edge_pairs[i].second, edge_pairs[i].specific, out->path[1])) {
            out->form = edge_pairs[i].form;
            if (out->form == GNN_EDGES_CSC)
                take_scipy_format(f, dir, out);
            return true;
        }
    return false;
}

/* Archives whose names mark them as the graph, so that general names in them are its arrays. */
static bool find_in_graph_archives(struct gnn_finder *f, const char *dir, struct gnn_edge_files *out)
{
    static const char *const starts[] = {"adj", "graph", "edge", "csc", "csr", "topology"};
    struct gnn_listing *const archives = gnn_list_archives(f, dir);
    bool found = false;
    for (uint32_t i = 0; archives != NULL && i < archives->count && !found; i++)
        for (size_t s = 0; s < sizeof starts / sizeof *starts && !found; s++)
            if (strncmp(archives->name[i], starts[s], strlen(starts[s])) == 0) {
                char path[GNN_OUTPUT_PATH];
                gnn_join(path, dir, archives->name[i]);
                found = find_pair(f, path, out);
            }
    gnn_listing_close(archives);
    return found;
}

static bool edges_in(struct gnn_finder *f, const char *dir, struct gnn_array_files *out)
{
    if (gnn_find_role(f, dir, edge_names, out->edges.path[0])) {
        out->edges.form = GNN_EDGES_TABLE;
        return true;
    }
    bool mapped = false;
    if (f->status == GNN_OK)
        f->status = gnn_mapped_find(dir, out, &mapped, f->err);
    return mapped || find_pair(f, dir, &out->edges) || find_in_graph_archives(f, dir, &out->edges) ||
           (f->status == GNN_OK && gnn_ogb_csv_find_edges(dir, out));
}

enum gnn_status gnn_find_edges_in(const char *dir, struct gnn_array_files *out, struct gnn_err *err)
{
    struct gnn_finder f = {.err = err};
    *out = (struct gnn_array_files){0};
    if (!edges_in(&f, dir, out))
        out->edges.form = GNN_EDGES_NONE;
    return f.status;
}

static enum gnn_status named_edges(const struct gnn_import_source *source, struct gnn_array_files *out,
                                   struct gnn_err *err)
{
    char path[GNN_OUTPUT_PATH];
    GNN_TRY(gnn_find_named(source->from, "edges", source->edges, path, err));
    if (gnn_is_container(path)) {
        GNN_TRY(gnn_find_edges_in(path, out, err));
        return out->edges.form != GNN_EDGES_NONE ? GNN_OK
                                                 : gnn_fail(err, GNN_ENOENT, "--edges %s: it has no edges", path);
    }
    out->edges.form = gnn_csv_is_name(path) ? GNN_EDGES_TEXT : GNN_EDGES_TABLE;
    (void)snprintf(out->edges.path[0], GNN_OUTPUT_PATH, "%s", path);
    return GNN_OK;
}

/* Searches the folders below dir for edges. */
static enum gnn_status search_below(const char *dir, struct gnn_listing *out, struct gnn_err *err)
{
    struct gnn_finder f = {.err = err};
    struct gnn_array_files *files;
    uint32_t visited = 0;
    GNN_NEW(files, 1, err, "names of arrays");
    struct gnn_listing *level = gnn_list_folders(&f, dir);
    for (int depth = 0; depth < SEARCH_DEPTH && level != NULL && f.status == GNN_OK; depth++) {
        struct gnn_listing *next = calloc(1, sizeof *next);
        if (next == NULL)
            f.status = gnn_fail(err, GNN_ENOMEM, "folders below %s", dir);
        for (uint32_t i = 0; i < level->count && f.status == GNN_OK && visited++ < SEARCH_FOLDERS; i++) {
            f.status = gnn_find_edges_in(level->name[i], files, err);
            const bool found = f.status == GNN_OK && files->edges.form != GNN_EDGES_NONE;
            if (found && out->count < GNN_LISTING_MAX)
                (void)snprintf(out->name[out->count++], GNN_OUTPUT_PATH, "%s", level->name[i]);
            struct gnn_listing *const below = found ? NULL : gnn_list_folders(&f, level->name[i]);
            for (uint32_t j = 0; below != NULL && j < below->count && next->count < GNN_LISTING_MAX; j++)
                (void)snprintf(next->name[next->count++], GNN_OUTPUT_PATH, "%s", below->name[j]);
            gnn_listing_close(below);
        }
        gnn_listing_close(level);
        level = next;
    }
    gnn_listing_close(level);
    free(files);
    return f.status;
}

/* Keeps the folders whose names have the word of the published relation. */
static enum gnn_status keep_relation(const struct gnn_import_source *source, struct gnn_listing *places,
                                     struct gnn_err *err)
{
    const uint32_t all = places->count;
    places->count = 0;
    for (uint32_t i = 0; i < all; i++) {
        const char *const slash = strrchr(places->name[i], '/');
        if (strstr(slash != NULL ? slash : places->name[i], source->relation) != NULL)
            memmove(places->name[places->count++], places->name[i], GNN_OUTPUT_PATH);
    }
    return places->count > 0 ? GNN_OK
                             : gnn_fail(err, GNN_ENOENT,
                                        "--from %s: no folder below it whose name has the word %s has edges, but the "
                                        "published dataset (%s) has one: "
                                        "download and extract it completely",
                                        source->from, source->relation, source->title);
}

/* Of folders with edges, those of a relation between nodes of one kind come first, as paper__cites__paper. */
static enum gnn_status choose(const struct gnn_import_source *source, const struct gnn_listing *places,
                              struct gnn_array_files *out, struct gnn_err *err)
{
    uint32_t alike = 0, chosen = 0;
    char kind[GNN_OUTPUT_PATH], text[512] = "";
    for (uint32_t i = 0; i < places->count; i++)
        if (gnn_relation_kind(places->name[i], kind)) {
            alike++;
            chosen = i;
        }
    if (places->count == 1 || alike == 1)
        return gnn_find_edges_in(places->name[chosen], out, err);
    for (uint32_t i = 0; i < places->count && i < NAMES_MAX; i++) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? ", " : "",
                       gnn_below(source->from, places->name[i]));
    }
    return gnn_fail(err, GNN_EUSAGE,
                    "--from %s: %" PRIu32
                    " folders below it have edges (%s): choose one with --edges FOLDER, or name a "
                    "folder with --from",
                    source->from, places->count, text);
}

bool gnn_find_other_edges(const struct gnn_edge_files *files, struct gnn_edge_files *out)
{
    struct gnn_finder f = {.err = NULL};
    char dir[GNN_OUTPUT_PATH];
    gnn_container_of(files->path[0], dir);
    return files->form == GNN_EDGES_TABLE && find_pair(&f, dir, out);
}

enum gnn_status gnn_find_edges(const struct gnn_import_source *source, struct gnn_array_files *out, struct gnn_err *err)
{
    *out = (struct gnn_array_files){0};
    if (source->edges != NULL)
        return named_edges(source, out, err);
    GNN_TRY(gnn_find_edges_in(source->from, out, err));
    if (out->edges.form != GNN_EDGES_NONE)
        return GNN_OK;
    struct gnn_listing *places;
    GNN_NEW(places, 1, err, "places of edges");
    enum gnn_status status = search_below(source->from, places, err);
    if (status == GNN_OK && source->relation != NULL && places->count > 0)
        status = keep_relation(source, places, err);
    if (status == GNN_OK && places->count > 0)
        status = choose(source, places, out, err);
    gnn_listing_close(places);
    return status;
}

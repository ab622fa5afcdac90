/* SPDX-License-Identifier: MIT */
/* What --from names, and whether its --format takes it: said first, as all that is missing in the wrong input is beside
 * the point. */
#include "harness/dataset/find_edges.h"
#include "harness/dataset/find_places.h"
#include "harness/dataset/import_edges.h"
#include "harness/dataset/near_files.h"

#include "harness/base/plain_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORMATS = GNN_IMPORT_TRIPLES + 1 };

const char *const gnn_import_formats[] = {"ogb", "snap", "triples", NULL};

static const char *const taken[FORMATS] = {
    [GNN_IMPORT_OGB] = "a directory with edge_index.npy (maybe .gz), indptr.npy and indices.npy, OGB's edge.csv, or a "
                       ".npz archive of arrays",
    [GNN_IMPORT_SNAP] = "a text file of two node IDs a line, or a directory with edges.txt (maybe .gz)",
    [GNN_IMPORT_TRIPLES] = "a directory with train.txt, train.tsv (maybe .gz) or train_hrt.npy",
};

enum kind { KIND_NONE, KIND_DIRECTORY, KIND_FILE, KIND_NUMPY, KIND_ARCHIVE, KIND_OTHER };

static bool ends_with(const char *text, const char *end)
{
    const size_t text_len = strlen(text), end_len = strlen(end);
    return text_len >= end_len && strcmp(text + text_len - end_len, end) == 0;
}

static enum kind kind_of(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return KIND_NONE;
    if (S_ISDIR(info.st_mode))
        return KIND_DIRECTORY;
    if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode))
        return KIND_OTHER;
    if (gnn_input_is_npz(path))
        return KIND_ARCHIVE;
    return ends_with(path, ".npy") || ends_with(path, ".npy.gz") ? KIND_NUMPY : KIND_FILE;
}

static bool has_arrays(const char *path)
{
    struct gnn_array_files *const files = malloc(sizeof *files);
    const bool has =
        files != NULL && gnn_find_edges_in(path, files, NULL) == GNN_OK && files->edges.form != GNN_EDGES_NONE;
    free(files);
    return has;
}

static bool takes(enum gnn_import_format format, const char *path)
{
    char found[GNN_OUTPUT_PATH];
    const enum kind kind = kind_of(path);
    if (format == GNN_IMPORT_OGB)
        return (kind == KIND_DIRECTORY || kind == KIND_ARCHIVE) && has_arrays(path);
    if (kind != KIND_DIRECTORY)
        return format == GNN_IMPORT_SNAP && kind == KIND_FILE;
    if (format == GNN_IMPORT_TRIPLES)
        return gnn_import_has_triples(path);
    return gnn_input_find(path, "edges.txt", found);
}

/* Writes what to say instead: the directory the file lies in, another format, or both; "" where neither would do. */
static void suggest(const struct gnn_import_source *source, char *text, size_t text_bytes)
{
    char above[GNN_OUTPUT_PATH];
    const char *const slash = strrchr(source->from, '/');
    const bool is_file = kind_of(source->from) != KIND_DIRECTORY;
    (void)snprintf(above, sizeof above, "%.*s", slash == NULL ? 1 : (int)(slash - source->from) + 1,
                   slash == NULL ? "." : source->from);
    text[0] = '\0';
    if (is_file && takes(source->format, above)) {
        (void)snprintf(text, text_bytes, "; name the directory that contains it");
        return;
    }
    for (int both = 0; both < (is_file ? 2 : 1); both++)
        for (int format = 0; format < FORMATS; format++)
            if (takes((enum gnn_import_format)format, both != 0 ? above : source->from)) {
                (void)snprintf(text, text_bytes, "; %s--format %s",
                               both != 0 ? "name the directory that contains it, with " : "say ",
                               gnn_import_formats[format]);
                return;
            }
}

/* Names the archive or the folder below a directory that the format takes. */
static bool suggest_below(const struct gnn_import_source *source, char *text, size_t text_bytes)
{
    struct gnn_finder f = {.err = NULL};
    char path[GNN_OUTPUT_PATH], word[GNN_OUTPUT_PATH];
    struct gnn_listing *const below =
        source->format == GNN_IMPORT_OGB ? gnn_list_archives(&f, source->from) : gnn_list_folders(&f, source->from);
    bool found = false;
    for (uint32_t i = 0; below != NULL && i < below->count && !found; i++) {
        if (source->format == GNN_IMPORT_OGB)
            gnn_join(path, source->from, below->name[i]);
        else
            (void)snprintf(path, sizeof path, "%s", below->name[i]);
        found = takes(source->format, path);
    }
    gnn_listing_close(below);
    if (found)
        (void)snprintf(text, text_bytes, "; use --from %s", gnn_shell_word(path, word, sizeof word));
    return found;
}

/* Names members of an archive, or files that may hold what the format takes. */
static void name_near(const struct gnn_import_source *source, char *text, size_t text_bytes)
{
    static const char *const words[FORMATS][9] = {
        [GNN_IMPORT_OGB] = {"edge", "graph", "adj", "cs", "source", "src", "ptr", ".npz", NULL},
        [GNN_IMPORT_SNAP] = {".txt", ".csv", ".tsv", ".edges", ".el", ".mtx", "out.", NULL},
        [GNN_IMPORT_TRIPLES] = {"train", "triple", NULL}};
    char near[GNN_NEAR_BYTES] = "";
    const bool archive = kind_of(source->from) == KIND_ARCHIVE;
    if (archive)
        (void)gnn_near_members(source->from, near);
    else if (kind_of(source->from) == KIND_DIRECTORY && !suggest_below(source, text, text_bytes))
        (void)gnn_near_files(source->from, words[source->format], near);
    if (near[0] != '\0')
        (void)snprintf(text, text_bytes, "; %s: %s%s", archive ? "its members" : "not read", near,
                       source->format == GNN_IMPORT_TRIPLES
                           ? "; write train.txt, valid.txt and test.txt with tabs between the columns"
                           : "");
}

/* Looks at what --edges names, at the folders below, and at an archive that cannot be read, which is an error of its
 * own. */
static enum gnn_status find_below(const struct gnn_import_source *source, bool *found, struct gnn_err *err)
{
    struct gnn_array_files *files;
    const enum kind kind = kind_of(source->from);
    *found = false;
    if (kind != KIND_DIRECTORY && kind != KIND_ARCHIVE)
        return GNN_OK;
    GNN_NEW(files, 1, err, "names of arrays");
    const enum gnn_status status = gnn_find_edges(source, files, err);
    *found = status == GNN_OK && files->edges.form != GNN_EDGES_NONE;
    free(files);
    return status;
}

enum gnn_status gnn_import_check_kind(const struct gnn_import_source *source, struct gnn_err *err)
{
    static const char *const words[] = {[KIND_DIRECTORY] = "a directory without it",
                                        [KIND_FILE] = "a file",
                                        [KIND_NUMPY] = "a NumPy file",
                                        [KIND_ARCHIVE] = "a NumPy archive without them",
                                        [KIND_OTHER] = "neither a file nor a directory",
                                        [KIND_NONE] = "gone"};
    char instead[2 * GNN_OUTPUT_PATH];
    const char *const format = gnn_import_formats[source->format], *const wanted = taken[source->format];
    if (access(source->from, R_OK) != 0)
        return gnn_fail(err, errno == EACCES ? GNN_EPERM : GNN_ENOENT, "--from %s: %s; --format %s takes %s",
                        source->from, strerror(errno), format, wanted);
    bool found = takes(source->format, source->from);
    if (!found && source->format == GNN_IMPORT_OGB)
        GNN_TRY(find_below(source, &found, err));
    if (found)
        return GNN_OK;
    suggest(source, instead, sizeof instead);
    if (instead[0] == '\0')
        name_near(source, instead, sizeof instead);
    if (instead[0] == '\0' && source->title != NULL)
        (void)snprintf(instead, sizeof instead,
                       "; the published dataset (%s) has one: download and extract it completely", source->title);
    return gnn_fail(err, GNN_EUSAGE, "--from %s: --format %s takes %s, and this is %s%s", source->from, format, wanted,
                    words[kind_of(source->from)], instead);
}

/* Reads the first edge, and closes the edges. */
static enum gnn_status check_first(struct gnn_edges *edges, struct gnn_err *err)
{
    uint64_t from, to;
    bool more;
    const enum gnn_status status = gnn_edges_next_wide(edges, &from, &to, &more, err);
    gnn_edges_close(edges);
    return status;
}

static enum gnn_status check_arrays(const struct gnn_import_source *source, const struct gnn_import_options *options,
                                    struct gnn_err *err)
{
    struct gnn_array_files *files;
    struct gnn_edges *edges = NULL;
    GNN_NEW(files, 1, err, "names of arrays");
    enum gnn_status status = gnn_find_edges(source, files, err);
    if (status == GNN_OK && files->edges.form != GNN_EDGES_NONE) /* gone since: reading it reports that */
        status = gnn_import_open_found(&files->edges, options->ignore_columns, &edges, err);
    const bool text = files->edges.form == GNN_EDGES_TEXT;
    free(files);
    if (status == GNN_OK && text && edges != NULL)
        return check_first(edges, err);
    gnn_edges_close(edges);
    return status;
}

enum gnn_status gnn_import_check_edges(const struct gnn_import_source *source, const struct gnn_import_options *options,
                                       struct gnn_err *err)
{
    char path[GNN_OUTPUT_PATH];
    struct stat info;
    if (source->format == GNN_IMPORT_OGB)
        return check_arrays(source, options, err);
    const char *const list = gnn_input_find(source->from, "edges.txt", path) ? path : source->from;
    if (stat(list, &info) != 0 || !S_ISREG(info.st_mode))
        return GNN_OK; /* a pipe is read once */
    struct gnn_edges *edges;
    GNN_TRY(gnn_import_open_edges(source, options->ignore_columns, &edges, err));
    return check_first(edges, err);
}

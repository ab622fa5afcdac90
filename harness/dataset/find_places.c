/* SPDX-License-Identifier: MIT */
#include "harness/dataset/find_places.h"

#include "harness/dataset/zip.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- paths ---- */

void gnn_join(char path[GNN_OUTPUT_PATH], const char *dir, const char *name)
{
    const size_t len = strlen(dir);
    const int written = snprintf(path, GNN_OUTPUT_PATH, "%s%s%s", dir, len > 0 && dir[len - 1] == '/' ? "" : "/", name);
    if (written >= GNN_OUTPUT_PATH) /* no file has a path that was cut */
        path[0] = '\0';
}

void gnn_container_of(const char *path, char dir[GNN_OUTPUT_PATH])
{
    const char *const slash = strrchr(path, '/');
    if (slash == NULL)
        (void)snprintf(dir, GNN_OUTPUT_PATH, ".");
    else
        (void)snprintf(dir, GNN_OUTPUT_PATH, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool gnn_is_container(const char *path)
{
    return is_folder(path) || gnn_input_is_npz(path);
}

const char *gnn_below(const char *dir, const char *path)
{
    const size_t len = strlen(dir);
    if (strncmp(dir, path, len) != 0 || (len > 0 && dir[len - 1] != '/' && path[len] != '/' && path[len] != '\0'))
        return path;
    path += len;
    return path + strspn(path, "/");
}

bool gnn_relation_kind(const char *dir, char kind[GNN_OUTPUT_PATH])
{
    const char *const slash = strrchr(dir, '/'), *const name = slash != NULL ? slash + 1 : dir;
    const char *const first = strstr(name, "__");
    const char *last = first;
    for (const char *at = first; at != NULL; at = strstr(at + 1, "__"))
        last = at;
    if (first == NULL || last < first + 2)
        return false;
    (void)snprintf(kind, GNN_OUTPUT_PATH, "%.*s", (int)(first - name), name);
    return kind[0] != '\0' && strcmp(kind, last + 2) == 0;
}

static void add_place(struct gnn_places *places, const char *dir)
{
    for (uint32_t i = 0; i < places->count; i++)
        if (strcmp(places->dir[i], dir) == 0)
            return;
    assert(places->count < GNN_PLACES_MAX);
    (void)snprintf(places->dir[places->count++], GNN_OUTPUT_PATH, "%s", dir);
}

void gnn_places_of(const char *from, const char *edge_path, struct gnn_places *out)
{
    char dir[GNN_OUTPUT_PATH], above[GNN_OUTPUT_PATH], kind[GNN_OUTPUT_PATH], beside[GNN_OUTPUT_PATH];
    out->count = 0;
    gnn_container_of(edge_path, dir);
    add_place(out, dir);
    if (gnn_input_is_npz(dir)) {
        gnn_container_of(dir, above);
        add_place(out, above);
        (void)snprintf(dir, sizeof dir, "%s", above);
    }
    if (gnn_relation_kind(dir, kind)) {
        gnn_container_of(dir, above);
        gnn_join(beside, above, kind);
        add_place(out, beside);
        add_place(out, above);
        gnn_container_of(above, dir);
        add_place(out, dir);
    }
    add_place(out, from);
}

void gnn_places_close(struct gnn_places *places)
{
    free(places);
}

/* ---- listings ---- */

void gnn_listing_close(struct gnn_listing *listing)
{
    free(listing);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

typedef bool accept_fn(const char *path, const char *name, const char *start);

/* Lists the names that accept() takes, with the folder's path if `paths`. */
static struct gnn_listing *list(struct gnn_finder *f, const char *dir, accept_fn *accept, const char *start, bool paths)
{
    if (f->status != GNN_OK)
        return NULL;
    DIR *const open = opendir(dir);
    struct gnn_listing *const out = open != NULL ? calloc(1, sizeof *out) : NULL;
    if (open != NULL && out == NULL)
        f->status = gnn_fail(f->err, GNN_ENOMEM, "names in %s", dir);
    for (const struct dirent *e = out != NULL ? readdir(open) : NULL; e != NULL && out->count < GNN_LISTING_MAX;
         e = readdir(open)) {
        char path[GNN_OUTPUT_PATH];
        gnn_join(path, dir, e->d_name);
        if (e->d_name[0] != '.' && accept(path, e->d_name, start))
            (void)snprintf(out->name[out->count++], GNN_OUTPUT_PATH, "%s", paths ? path : e->d_name);
    }
    if (open != NULL)
        (void)closedir(open);
    if (out != NULL)
        qsort(out->name, out->count, sizeof *out->name, by_name);
    return out;
}

static bool is_archive(const char *path, const char *name, const char *start)
{
    (void)name;
    (void)start;
    return gnn_input_is_npz(path);
}

static bool is_array(const char *path, const char *name, const char *start)
{
    (void)path;
    const size_t len = strlen(name);
    return strncmp(name, start, strlen(start)) == 0 &&
           ((len > 4 && strcmp(name + len - 4, ".npy") == 0) || (len > 7 && strcmp(name + len - 7, ".npy.gz") == 0));
}

static bool is_subfolder(const char *path, const char *name, const char *start)
{
    (void)name;
    (void)start;
    return is_folder(path);
}

struct gnn_listing *gnn_list_archives(struct gnn_finder *f, const char *dir)
{
    return list(f, dir, is_archive, "", false);
}

struct gnn_listing *gnn_list_starts(struct gnn_finder *f, const char *dir, const char *start)
{
    return list(f, dir, is_array, start, false);
}

struct gnn_listing *gnn_list_folders(struct gnn_finder *f, const char *dir)
{
    return list(f, dir, is_subfolder, "", true);
}

/* ---- arrays ---- */

static bool find_member(struct gnn_finder *f, const char *archive, const char *name, char path[GNN_OUTPUT_PATH])
{
    struct gnn_zip *zip = NULL;
    struct gnn_zip_entry entry;
    bool found = false;
    f->status = gnn_zip_open(archive, &zip, f->err);
    GNN_NEXT(f->status, gnn_zip_find(zip, name, &entry, &found, f->err));
    gnn_zip_close(zip);
    gnn_join(path, archive, name);
    return found && f->status == GNN_OK;
}

bool gnn_find_array(struct gnn_finder *f, const char *dir, const char *stem, bool archives, char path[GNN_OUTPUT_PATH])
{
    char name[128];
    (void)snprintf(name, sizeof name, "%s.npy", stem);
    if (f->status != GNN_OK)
        return false;
    if (gnn_input_is_npz(dir))
        return find_member(f, dir, name, path);
    if (gnn_input_find(dir, name, path))
        return true;
    struct gnn_listing *const all = archives ? gnn_list_archives(f, dir) : NULL;
    bool found = false;
    for (uint32_t i = 0; all != NULL && i < all->count && !found && f->status == GNN_OK; i++) {
        char archive[GNN_OUTPUT_PATH];
        gnn_join(archive, dir, all->name[i]);
        found = find_member(f, archive, name, path);
    }
    gnn_listing_close(all);
    return found;
}

bool gnn_find_role(struct gnn_finder *f, const char *dir, const char *const *names, char path[GNN_OUTPUT_PATH])
{
    char name[128], archive[GNN_OUTPUT_PATH];
    for (uint32_t i = 0; names[i] != NULL; i++)
        if (gnn_find_array(f, dir, names[i], i == 0, path))
            return true;
    for (uint32_t i = 0; names[i] != NULL && f->status == GNN_OK; i++) {
        (void)snprintf(name, sizeof name, "%s.npz", names[i]);
        gnn_join(archive, dir, name);
        if (gnn_input_is_npz(archive) &&
            (gnn_find_array(f, archive, names[i], false, path) || gnn_find_array(f, archive, "arr_0", false, path)))
            return true;
    }
    return false;
}

bool gnn_find_word(struct gnn_finder *f, const char *path, char word[4])
{
    struct gnn_input *input;
    char text[512];
    uint64_t got = 0, end = 10;
    uint32_t used = 0;
    if (f->status != GNN_OK || gnn_input_open(path, &input, NULL) != GNN_OK)
        return false;
    const bool read = gnn_input_read(input, text, sizeof text, &got, NULL) == GNN_OK && got > end;
    gnn_input_close(input);
    while (read && end < got && text[end] != '\n') /* the header ends its line; text of wide characters has NULs */
        end++;
    for (uint64_t i = end + 1; read && i < got; i++)
        if (text[i] != '\0' && used < 4)
            word[used++] = text[i];
    if (used != 3)
        return false;
    word[3] = '\0';
    return true;
}

enum gnn_status gnn_find_named(const char *from, const char *option, const char *name, char path[GNN_OUTPUT_PATH],
                               struct gnn_err *err)
{
    (void)snprintf(path, GNN_OUTPUT_PATH, "%s", name);
    if (gnn_input_exists(path))
        return GNN_OK;
    gnn_join(path, from, name);
    return gnn_input_exists(path)
               ? GNN_OK
               : gnn_fail(err, GNN_ENOENT, "--%s %s: neither %s nor %s exists", option, name, name, path);
}

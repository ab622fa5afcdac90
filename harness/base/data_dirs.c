/* SPDX-License-Identifier: MIT */
#include "harness/base/data_dirs.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool gnn_is_dir(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* false when the result would not fit */
static bool join(char *out, const char *dir, const char *rest)
{
    const int wrote = snprintf(out, GNN_DATA_DIR_BYTES, "%s/%s", dir, rest);
    return wrote > 0 && wrote < GNN_DATA_DIR_BYTES;
}

/* Relative paths in these variables are to be ignored (XDG base directory specification). */
static const char *absolute(const char *name)
{
    const char *const value = getenv(name);
    return value != NULL && value[0] == '/' ? value : NULL;
}

static bool user_dir(char *out)
{
    const char *const data = absolute("XDG_DATA_HOME");
    const char *const home = absolute("HOME");
    if (data != NULL)
        return join(out, data, "oocgnn");
    return home != NULL && join(out, home, ".local/share/oocgnn");
}

/* Cuts the last part off; false when nothing is left. */
static bool climb(char *path)
{
    char *const slash = strrchr(path, '/');
    if (slash == NULL || slash == path)
        return false;
    *slash = '\0';
    return true;
}

static void offer(struct gnn_data_dirs *out, uint32_t *count, const char *path)
{
    if (!gnn_is_dir(path))
        return;
    (void)snprintf(out->text[*count], GNN_DATA_DIR_BYTES, "%s", path);
    out->dirs[*count] = out->text[*count];
    ++*count;
}

/* Offers the folder in the nearest directory above the executable that has it. */
static void offer_of_tree(struct gnn_data_dirs *out, uint32_t *count, const char *executable, const char *folder)
{
    char above[GNN_DATA_DIR_BYTES], path[GNN_DATA_DIR_BYTES];
    (void)snprintf(above, sizeof above, "%s", executable);
    while (climb(above)) {
        if (!join(path, above, folder) || !gnn_is_dir(path))
            continue;
        offer(out, count, path);
        return;
    }
}

/* The user's own folder `own` ("" or a sub-folder), then the folders `trees` (NULL-terminated) of the source tree and
 * `kind` of the installation. */
static void find_dirs(const char *own, const char *const *trees, const char *kind, struct gnn_data_dirs *out)
{
    char executable[GNN_DATA_DIR_BYTES], path[GNN_DATA_DIR_BYTES], wanted[GNN_NAME_MAX];
    uint32_t count = 0;
    *out = (struct gnn_data_dirs){.dirs = {NULL}};
    char user[GNN_DATA_DIR_BYTES];
    if (user_dir(user) && join(path, user, own))
        offer(out, &count, own[0] == '\0' ? user : path);
    const ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
    if (length <= 0)
        return;
    executable[length] = '\0';
    for (; *trees != NULL; trees++)
        offer_of_tree(out, &count, executable, *trees);
    (void)snprintf(wanted, sizeof wanted, "../share/oocgnn/%s", kind);
    if (climb(executable) && join(path, executable, wanted))
        offer(out, &count, path);
    assert(count <= GNN_DATA_DIRS_MAX);
}

void gnn_data_dirs(struct gnn_data_dirs *out)
{
    find_dirs("", (const char *[]){"workloads/hardware", NULL}, "hardware", out);
}

void gnn_preset_dirs(struct gnn_data_dirs *out)
{
    find_dirs("presets", (const char *[]){"workloads/presets", NULL}, "presets", out);
}

void gnn_figure_dirs(struct gnn_data_dirs *out)
{
    find_dirs("figures", (const char *[]){"experiments/papers", "experiments/project", NULL}, "figures", out);
}

void gnn_published_dirs(struct gnn_data_dirs *out)
{
    find_dirs("published", (const char *[]){"results/published", NULL}, "published", out);
}

void gnn_variant_dirs(struct gnn_data_dirs *out)
{
    find_dirs("variants", (const char *[]){"experiments/variants", NULL}, "variants", out);
}

void gnn_gate_dirs(struct gnn_data_dirs *out)
{
    find_dirs("gate", (const char *[]){"workloads/gate", NULL}, "gate", out);
}

static int is_ini(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 4 && strcmp(entry->d_name + length - 4, ".ini") == 0;
}

enum gnn_status gnn_data_files(const char *const *dirs, gnn_data_file_fn *fn, void *ctx, struct gnn_err *err)
{
    for (; *dirs != NULL; dirs++) {
        struct dirent **entries = NULL;
        const int count = scandir(*dirs, &entries, is_ini, alphasort);
        if (count < 0 && errno != ENOENT && errno != ENOTDIR)
            return gnn_fail(err, GNN_EIO, "%s: %s", *dirs, strerror(errno));
        for (int i = 0; i < count; i++) {
            char path[GNN_DATA_DIR_BYTES];
            const bool fits = join(path, *dirs, entries[i]->d_name);
            entries[i]->d_name[strlen(entries[i]->d_name) - 4] = '\0';
            if (fits)
                fn(ctx, path, entries[i]->d_name);
            free(entries[i]);
        }
        free(entries);
    }
    return GNN_OK;
}

const char *gnn_data_file_find(const char *const *dirs, const char *name, const char *ending, char *path,
                               size_t path_bytes)
{
    for (; *dirs != NULL; dirs++) {
        (void)snprintf(path, path_bytes, "%s/%s%s", *dirs, name, ending);
        if (access(path, F_OK) == 0)
            return path;
    }
    return NULL;
}

enum gnn_status gnn_data_dir_of_user(char *path, size_t path_bytes, struct gnn_err *err)
{
    char text[GNN_DATA_DIR_BYTES];
    if (!user_dir(text))
        return gnn_fail(err, GNN_EUSAGE,
                        "no place for the user's own files: neither XDG_DATA_HOME nor HOME is an absolute "
                        "path; set one, or name the file");
    if (strlen(text) >= path_bytes)
        return gnn_fail(err, GNN_EUSAGE, "%s: the path is too long", text);
    memcpy(path, text, strlen(text) + 1);
    return GNN_OK;
}

enum gnn_status gnn_make_dirs(const char *path, struct gnn_err *err)
{
    char part[GNN_DATA_DIR_BYTES];
    const size_t length = strlen(path);
    if (length == 0 || length >= sizeof part)
        return gnn_fail(err, GNN_EUSAGE, "%s: the path is empty or too long", path);
    for (size_t at = 1; at <= length; at++) {
        if (path[at] != '/' && path[at] != '\0')
            continue;
        memcpy(part, path, at);
        part[at] = '\0';
        if (mkdir(part, 0777) == 0 || gnn_is_dir(part))
            continue;
        const int error = errno;
        return gnn_fail(err,
                        error == EACCES || error == EPERM || error == EROFS ? GNN_EPERM
                        : error == ENOSPC                                   ? GNN_ENOSPC
                                                                            : GNN_EIO,
                        "%s: cannot be made a directory: %s", part, strerror(error));
    }
    return GNN_OK;
}

#include "harness/base/data_dirs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_dir(const char *path)
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
    if (!is_dir(path))
        return;
    (void)snprintf(out->text[*count], GNN_DATA_DIR_BYTES, "%s", path);
    out->dirs[*count] = out->text[*count];
    ++*count;
}

void gnn_data_dirs(struct gnn_data_dirs *out)
{
    char executable[GNN_DATA_DIR_BYTES], path[GNN_DATA_DIR_BYTES];
    uint32_t count = 0;
    *out = (struct gnn_data_dirs){.dirs = {NULL}};
    if (user_dir(path))
        offer(out, &count, path);
    const ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
    if (length <= 0)
        return;
    executable[length] = '\0';
    char above[GNN_DATA_DIR_BYTES];
    memcpy(above, executable, (size_t)length + 1);
    while (climb(above)) {
        if (!join(path, above, "workloads/hardware") || !is_dir(path))
            continue;
        offer(out, &count, path);
        break;
    }
    if (climb(executable) && join(path, executable, "../share/oocgnn/hardware"))
        offer(out, &count, path);
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
        if (mkdir(part, 0777) == 0 || is_dir(part))
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

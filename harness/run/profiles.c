#include "harness/run/profiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEVELS_UP_MAX = 6 }; /* build/gcc/tests/unit/test_x is five below the source tree */

enum gnn_status gnn_profile_home(char *path, size_t path_bytes, struct gnn_err *err)
{
    const char *const data = getenv("XDG_DATA_HOME");
    const char *const home = getenv("HOME");
    int length;
    if (data != NULL && data[0] == '/')
        length = snprintf(path, path_bytes, "%s/oocgnn", data);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, path_bytes, "%s/.local/share/oocgnn", home);
    else
        return gnn_fail(err, GNN_ENOENT, "no place for profiles of this machine: set HOME or XDG_DATA_HOME");
    if ((size_t)length >= path_bytes)
        return gnn_fail(err, GNN_EUSAGE, "%.60s...: the path of the profiles is too long", path);
    return GNN_OK;
}

static void add(struct gnn_profile_dirs *dirs, uint32_t *count, const char *root, const char *below)
{
    struct stat info;
    char *const text = dirs->text[*count];
    const int length = snprintf(text, GNN_PROFILE_PATH_MAX, "%s%s", root, below);
    if ((size_t)length < GNN_PROFILE_PATH_MAX && stat(text, &info) == 0 && S_ISDIR(info.st_mode))
        dirs->list[(*count)++] = text;
}

/* From the program upwards: the first folder that holds the tree, or the installation. */
static void add_shipped(struct gnn_profile_dirs *dirs, uint32_t *count)
{
    char exe[GNN_PROFILE_PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (length <= 0)
        return;
    exe[length] = '\0';
    const uint32_t before = *count;
    for (int level = 0; level < LEVELS_UP_MAX && *count == before; level++) {
        char *const slash = strrchr(exe, '/');
        if (slash == NULL)
            return;
        *slash = '\0';
        add(dirs, count, exe, "/workloads/hardware");
        if (*count == before)
            add(dirs, count, exe, "/share/oocgnn/hardware");
    }
}

void gnn_profile_dirs_fill(struct gnn_profile_dirs *out)
{
    uint32_t count = 0;
    char home[GNN_PROFILE_PATH_MAX];
    struct gnn_err ignored = {0};
    memset(out, 0, sizeof *out);
    if (gnn_profile_home(home, sizeof home, &ignored) == GNN_OK)
        add(out, &count, home, "");
    add_shipped(out, &count);
}

enum gnn_status gnn_run_profile_open(const char *name, struct gnn_profile **out, struct gnn_err *err)
{
    struct gnn_profile_dirs dirs;
    gnn_profile_dirs_fill(&dirs);
    return gnn_profile_open(name, dirs.list, out, err);
}

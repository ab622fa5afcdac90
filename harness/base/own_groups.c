/* SPDX-License-Identifier: MIT */
#include "harness/base/own_groups.h"

#include "harness/base/group_file.h"
#include "harness/base/text_file.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 4096, MOUNTS_BYTES = 1 << 18, GROUPS_BYTES = 8192 };

/* The fields of a mountinfo line that matter (proc(5)): the mounted subtree, the mount point, type, super options. */
struct mount_line {
    char root[GNN_CGROUP_PATH_MAX];
    char point[GNN_CGROUP_PATH_MAX];
    char type[64];
    char options[512];
};

static bool parse_mount_line(const char *line, struct mount_line *out)
{
    const char *dash = strstr(line, " - ");
    return dash != NULL && sscanf(line, "%*s %*s %*s %1023s %1023s", out->root, out->point) == 2 &&
           sscanf(dash + 3, "%63s %*s %511s", out->type, out->options) == 2;
}

/* Copies the next line into line and moves *text behind it; false at the end. Longer lines are cut. */
static bool take_line(const char **text, char line[LINE_BYTES])
{
    if (**text == '\0')
        return false;
    const size_t length = strcspn(*text, "\n");
    const size_t kept = length < LINE_BYTES ? length : LINE_BYTES - 1;
    memcpy(line, *text, kept);
    line[kept] = '\0';
    *text += length + ((*text)[length] == '\n' ? 1 : 0);
    return true;
}

/* The caller's path in the hierarchy with this controller; lines are "id:controllers:path", v2's is "0::path". */
static bool find_own_group(const char *self_cgroup, const char *controller, char path[GNN_CGROUP_PATH_MAX])
{
    char line[LINE_BYTES];
    while (take_line(&self_cgroup, line)) {
        char *controllers = strchr(line, ':');
        char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (group == NULL)
            continue;
        *group++ = '\0';
        controllers++;
        const bool match = controller == NULL ? strcmp(line, "0:") == 0 : gnn_group_has_word(controllers, controller);
        if (match && strlen(group) < GNN_CGROUP_PATH_MAX) {
            memcpy(path, group, strlen(group) + 1);
            return true;
        }
    }
    return false;
}

/* A container may see only a subtree of the hierarchy mounted: the group's path is told from the hierarchy's root. */
static void below_mount(const char *group, const char *mount_root, char out[GNN_CGROUP_PATH_MAX])
{
    const size_t root_len = strcmp(mount_root, "/") == 0 ? 0 : strlen(mount_root);
    const bool inside =
        strncmp(group, mount_root, root_len) == 0 && (group[root_len] == '/' || group[root_len] == '\0');
    const char *rest = inside ? group + root_len : "";
    (void)snprintf(out, GNN_CGROUP_PATH_MAX, "%s", strcmp(rest, "/") == 0 ? "" : rest);
}

bool gnn_hierarchy_find(const char *mountinfo, const char *self_cgroup, const char *controller,
                        struct gnn_hierarchy *out)
{
    char line[LINE_BYTES];
    struct mount_line mount;
    while (take_line(&mountinfo, line)) {
        if (!parse_mount_line(line, &mount))
            continue;
        const bool match = controller == NULL
                               ? strcmp(mount.type, "cgroup2") == 0
                               : strcmp(mount.type, "cgroup") == 0 && gnn_group_has_word(mount.options, controller);
        char group[GNN_CGROUP_PATH_MAX];
        if (!match || !find_own_group(self_cgroup, controller, group))
            continue;
        (void)snprintf(out->mount, sizeof out->mount, "%s", mount.point);
        below_mount(group, mount.root, out->group);
        return true;
    }
    return false;
}

bool gnn_hierarchy_dir(const char *root, const struct gnn_hierarchy *at, char dir[GNN_CGROUP_PATH_MAX])
{
    const int length = snprintf(dir, GNN_CGROUP_PATH_MAX, "%s%s%s", root, at->mount, at->group);
    return length > 0 && length < GNN_CGROUP_PATH_MAX;
}

bool gnn_hierarchy_climb(char dir[GNN_CGROUP_PATH_MAX], size_t mount_len)
{
    assert(mount_len < GNN_CGROUP_PATH_MAX);
    char *slash = strrchr(dir, '/');
    if (slash == NULL || (size_t)(slash - dir) < mount_len)
        return false;
    *slash = '\0';
    return true;
}

/* Returns the smallest limit from the caller's group up to the mount point. */
static uint64_t smallest_limit(const char *root, const struct gnn_hierarchy *at, const char *file)
{
    char dir[GNN_CGROUP_PATH_MAX];
    const size_t mount_len = strlen(root) + strlen(at->mount);
    uint64_t smallest = GNN_UNKNOWN;
    if (!gnn_hierarchy_dir(root, at, dir))
        return GNN_UNKNOWN;
    do {
        smallest = gnn_min_u64(gnn_group_file_limit(dir, file), smallest);
    } while (gnn_hierarchy_climb(dir, mount_len));
    return smallest;
}

uint64_t gnn_memory_limit_in(const char *root, const char *mountinfo, const char *self_cgroup)
{
    struct gnn_hierarchy at;
    if (gnn_hierarchy_find(mountinfo, self_cgroup, "memory", &at))
        return smallest_limit(root, &at, "memory.limit_in_bytes");
    if (!gnn_hierarchy_find(mountinfo, self_cgroup, NULL, &at))
        return GNN_UNKNOWN;
    return gnn_min_u64(smallest_limit(root, &at, "memory.max"), smallest_limit(root, &at, "memory.high"));
}

uint64_t gnn_physical_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages <= 0 || page <= 0 ? GNN_UNKNOWN : (uint64_t)pages * (uint64_t)page;
}

uint64_t gnn_inherited_memory_bytes(void)
{
    char mounts[MOUNTS_BYTES], groups[GROUPS_BYTES];
    if (gnn_text_file_read("/proc/self/mountinfo", mounts, sizeof mounts) != 0 ||
        gnn_text_file_read("/proc/self/cgroup", groups, sizeof groups) != 0)
        return GNN_UNKNOWN;
    const uint64_t limit_bytes = gnn_memory_limit_in("", mounts, groups);
    return limit_bytes < gnn_physical_bytes() ? limit_bytes : GNN_UNKNOWN;
}

static void look_at_pids(const char *root, const struct gnn_hierarchy *at, struct gnn_pids_limit *out)
{
    char dir[GNN_CGROUP_PATH_MAX];
    const size_t mount_len = strlen(root) + strlen(at->mount);
    if (!gnn_hierarchy_dir(root, at, dir))
        return;
    do {
        const uint64_t limit = gnn_group_file_limit(dir, "pids.max");
        if (limit >= out->limit)
            continue;
        out->limit = limit;
        out->used = gnn_group_file_u64(dir, "pids.current");
        (void)snprintf(out->dir, sizeof out->dir, "%s", dir);
    } while (gnn_hierarchy_climb(dir, mount_len));
}

void gnn_pids_limit_in(const char *root, const char *mountinfo, const char *self_cgroup, struct gnn_pids_limit *out)
{
    struct gnn_hierarchy at;
    *out = (struct gnn_pids_limit){.limit = GNN_UNKNOWN, .used = GNN_UNKNOWN};
    if (gnn_hierarchy_find(mountinfo, self_cgroup, "pids", &at) ||
        gnn_hierarchy_find(mountinfo, self_cgroup, NULL, &at))
        look_at_pids(root, &at, out);
}

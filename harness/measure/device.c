/* SPDX-License-Identifier: MIT */
#include "harness/measure/device.h"

#include "harness/base/text_file.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

enum { PATH_BYTES = 512, MOUNTS_BYTES = 1 << 18 };

/* The mountinfo line (proc(5)) whose device is major:minor: file system, options, and the mounted source. */
struct mount {
    char file_system[32];
    char options[256];
    char source[PATH_BYTES];
};

static bool find_mount(const char *mountinfo, unsigned major_id, unsigned minor_id, struct mount *out)
{
    for (const char *line = mountinfo; *line != '\0'; line = gnn_next_line(line)) {
        unsigned line_major;
        unsigned line_minor;
        char options[256];
        if (sscanf(line, "%*s %*s %u:%u %*s %*s %255s", &line_major, &line_minor, options) != 3 ||
            line_major != major_id || line_minor != minor_id)
            continue;
        const char *dash = strstr(line, " - ");
        if (dash == NULL || dash > gnn_next_line(line) ||
            sscanf(dash + 3, "%31s %511s", out->file_system, out->source) != 2)
            continue;
        memcpy(out->options, options, sizeof options);
        return true;
    }
    return false;
}

/* Where the mount table does not show the path's file system (a chroot that is no mount point), its magic number names
 * the usual ones. */
static void name_by_magic(const char *path, struct gnn_device_info *out)
{
    static const struct {
        uint32_t magic;
        const char *name;
    } known[] = {
        {0xef53, "ext4"}, {0x58465342, "xfs"}, {0x9123683e, "btrfs"}, {0x01021994, "tmpfs"}, {0x794c7630, "overlay"}};
    struct statfs info;
    if (statfs(path, &info) != 0)
        return;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if ((uint32_t)info.f_type == known[i].magic)
            (void)snprintf(out->file_system, sizeof out->file_system, "%s", known[i].name);
}

/* Whether the file system keeps files in memory alone: tmpfs, also under its other names (devtmpfs, a container's
 * /dev/shm), or ramfs. */
static bool lies_in_memory(const char *path)
{
    enum { TMPFS = 0x01021994, RAMFS = (int)0x858458f6 };
    struct statfs info;
    return statfs(path, &info) == 0 && ((int)info.f_type == TMPFS || (int)info.f_type == RAMFS);
}

/* The device behind path. File systems that span devices (btrfs, overlay) number files with a device of their own; then
 * the mount's source, if it is a block device, is the answer. */
static void find_numbers(const char *path, const struct stat *info, struct gnn_device_info *out)
{
    out->major = major(info->st_dev);
    out->minor = minor(info->st_dev);
    char *mounts = malloc(MOUNTS_BYTES);
    struct mount mount = {0};
    const bool found = mounts != NULL && gnn_text_file_read("/proc/self/mountinfo", mounts, MOUNTS_BYTES) == 0 &&
                       find_mount(mounts, out->major, out->minor, &mount);
    free(mounts);
    if (found) {
        (void)snprintf(out->file_system, sizeof out->file_system, "%s", mount.file_system);
        (void)snprintf(out->mount_options, sizeof out->mount_options, "%s", mount.options);
    } else {
        name_by_magic(path, out);
    }
    if (out->major != 0)
        return;
    struct stat source;
    out->minor = 0;
    out->by_mount = true;
    if (found && mount.source[0] == '/' && stat(mount.source, &source) == 0 && S_ISBLK(source.st_mode)) {
        out->major = major(source.st_rdev);
        out->minor = minor(source.st_rdev);
    }
}

/* sysfs' directory of a partition lies inside its disk's. */
static void climb_to_disk(struct gnn_device_info *out)
{
    assert(out->major != 0);
    char path[PATH_BYTES];
    char text[64];
    (void)snprintf(path, sizeof path, "/sys/dev/block/%u:%u/partition", out->major, out->minor);
    if (gnn_text_file_read(path, text, sizeof text) != 0)
        return;
    (void)snprintf(path, sizeof path, "/sys/dev/block/%u:%u/../dev", out->major, out->minor);
    unsigned disk_major;
    unsigned disk_minor;
    if (gnn_text_file_read(path, text, sizeof text) == 0 && sscanf(text, "%u:%u", &disk_major, &disk_minor) == 2) {
        out->major = disk_major;
        out->minor = disk_minor;
    }
}

static bool read_attribute(const struct gnn_device_info *device, const char *name, char *text, size_t bytes)
{
    assert(device->major != 0);
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%s", device->major, device->minor, name);
    (void)gnn_text_file_read(path, text, bytes); /* "" where it is not told */
    gnn_trim(text);
    return text[0] != '\0';
}

static uint64_t read_number(const struct gnn_device_info *device, const char *name, uint64_t unit)
{
    char text[64];
    uint64_t value;
    if (!read_attribute(device, name, text, sizeof text) || sscanf(text, "%" SCNu64, &value) != 1)
        return GNN_UNKNOWN;
    return value * unit;
}

/* DEVNAME=vda in uevent; the scheduler's file marks the active one: "none [mq-deadline] kyber". */
static void read_names(struct gnn_device_info *out)
{
    char text[1024];
    if (read_attribute(out, "uevent", text, sizeof text)) {
        const char *name = strstr(text, "DEVNAME=");
        if (name != NULL)
            (void)sscanf(name, "DEVNAME=%63s", out->name);
    }
    (void)read_attribute(out, "device/model", out->model, sizeof out->model);
    if (read_attribute(out, "queue/scheduler", text, sizeof text)) {
        const char *open_bracket = strchr(text, '[');
        if (open_bracket == NULL || sscanf(open_bracket, "[%31[^]]", out->scheduler) != 1)
            (void)snprintf(out->scheduler, sizeof out->scheduler, "%.31s", text);
    }
}

enum gnn_status gnn_device_find(const char *path, struct gnn_device_info *out, struct gnn_err *err)
{
    *out = (struct gnn_device_info){.readahead_bytes = GNN_UNKNOWN,
                                    .logical_block_bytes = GNN_UNKNOWN,
                                    .physical_block_bytes = GNN_UNKNOWN,
                                    .rotational = GNN_UNKNOWN,
                                    .size_bytes = GNN_UNKNOWN};
    struct stat info;
    if (stat(path, &info) != 0)
        return gnn_fail(err, errno == ENOENT ? GNN_ENOENT : GNN_EIO, "%s: %s", path, strerror(errno));
    find_numbers(path, &info, out);
    out->in_memory = lies_in_memory(path);
    if (out->major == 0)
        return GNN_OK;
    climb_to_disk(out);
    read_names(out);
    out->readahead_bytes = read_number(out, "queue/read_ahead_kb", 1024);
    out->logical_block_bytes = read_number(out, "queue/logical_block_size", 1);
    out->physical_block_bytes = read_number(out, "queue/physical_block_size", 1);
    out->rotational = read_number(out, "queue/rotational", 1);
    out->size_bytes = read_number(out, "size", 512);
    return GNN_OK;
}

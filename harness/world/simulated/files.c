/* SPDX-License-Identifier: MIT */
/* Files of the simulated world: names, handles, and one read or write at a time.
 *
 * A name means what the world did to it (registered, written, renamed, removed), else the host's file of that name. The
 * host's files are only read: removing or renaming one hides it. Directories need not exist. Pages of a file stay in
 * the page cache when its handle closes, and go with the file.
 *
 * What a call costs: syscall_ns; direct, submit_ns before the device's time and complete_ns after it; buffered, what
 * cached.c says. A thread that slept is runnable wake_latency_ns after what it slept for. fsync writes the dirty pages
 * and waits for them; the device's own cache is not flushed. A direct write leaves cached pages of the same range as
 * they are (their bytes are never stale, since bytes live once). */
#include "harness/world/simulated/files.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SECTOR_BYTES_MIN = 512, IO_BYTES_MAX = 0x7ffff000 /* Linux moves no more at once */ };

struct name {
    char *path;
    struct sim_inode *inode; /* NULL: nothing has this name, whatever the host says */
};

struct sim_files {
    struct name *names; /* (name_count) ascending by path */
    uint64_t name_count, name_room;
    uint64_t device_end_bytes; /* free from here on */
};

enum gnn_status sim_files_open(struct simulated *s, struct gnn_err *err)
{
    GNN_NEW(s->files, 1, err, "the simulated world's files: %zu bytes", sizeof *s->files);
    return GNN_OK;
}

void sim_files_close(struct simulated *s)
{
    struct sim_files *const files = s->files;
    if (files == NULL)
        return;
    for (uint64_t i = 0; i < files->name_count; i++) {
        sim_inode_release(s, files->names[i].inode);
        free(files->names[i].path);
    }
    free(files->names);
    free(files);
    s->files = NULL;
}

/* ---- names ---- */

/* "a//b/./c/" and "./a/b/c" are "a/b/c". */
static enum gnn_status normal_path(const char *path, char **out, struct gnn_err *err)
{
    char *normal;
    GNN_NEW(normal, strlen(path) + 2, err, "%s: a file's name", path);
    size_t len = 0;
    if (path[0] == '/')
        normal[len++] = '/';
    for (const char *at = path; *at != '\0';) {
        const size_t part = strcspn(at, "/");
        if (part > 0 && !(part == 1 && at[0] == '.')) {
            if (len > 0 && normal[len - 1] != '/')
                normal[len++] = '/';
            (void)memcpy(normal + len, at, part);
            len += part;
        }
        at += part;
        at += *at == '/' ? 1 : 0;
    }
    *out = normal;
    return GNN_OK;
}

/* Returns the index of the first name that is not below path. */
static uint64_t lower_bound(const struct sim_files *files, const char *path)
{
    uint64_t low = 0, high = files->name_count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (strcmp(files->names[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct name *find_name(struct sim_files *files, const char *path)
{
    const uint64_t at = lower_bound(files, path);
    return at < files->name_count && strcmp(files->names[at].path, path) == 0 ? &files->names[at] : NULL;
}

/* Makes path the name of inode (NULL: of nothing) from now on; the inode's holder becomes the name. */
static enum gnn_status set_name(struct simulated *s, const char *path, struct sim_inode *inode, struct gnn_err *err)
{
    struct sim_files *const files = s->files;
    struct name *const known = find_name(files, path);
    if (known != NULL) {
        sim_inode_release(s, known->inode);
        known->inode = inode;
        return GNN_OK;
    }
    if (files->name_count == files->name_room) {
        const uint64_t room = files->name_room == 0 ? 64 : 2 * files->name_room;
        struct name *const names = realloc(files->names, room * sizeof *names);
        if (names == NULL)
            return gnn_fail(err, GNN_ENOMEM, "%s: a file's name", path);
        files->names = names;
        files->name_room = room;
    }
    char *const copy = strdup(path);
    if (copy == NULL)
        return gnn_fail(err, GNN_ENOMEM, "%s: a file's name", path);
    const uint64_t at = lower_bound(files, path);
    (void)memmove(&files->names[at + 1], &files->names[at], (files->name_count - at) * sizeof *files->names);
    files->names[at] = (struct name){.path = copy, .inode = inode};
    files->name_count++;
    return GNN_OK;
}

/* Gives the inode room on the device, away from every other file's. */
static void place(struct sim_files *files, struct sim_inode *inode)
{
    inode->device_offset_bytes = files->device_end_bytes;
    const uint64_t room_bytes = inode->source == SIM_SOURCE_WRITTEN
                                    ? sim_written_bytes_max
                                    : gnn_round_up(inode->size_bytes, sim_extent_align_bytes);
    assert(room_bytes <= UINT64_MAX - files->device_end_bytes);
    files->device_end_bytes += room_bytes;
}

/* Names a new inode and gives it a place; releases it when that fails. */
static enum gnn_status adopt(struct simulated *s, const char *path, struct sim_inode *inode, struct gnn_err *err)
{
    place(s->files, inode);
    const enum gnn_status status = set_name(s, path, inode, err);
    if (status != GNN_OK)
        sim_inode_release(s, inode);
    return status;
}

/* Finds the file that the name stands for; NULL: none. A host file is opened on first use. */
static enum gnn_status resolve(struct simulated *s, const char *path, struct sim_inode **out, struct gnn_err *err)
{
    *out = NULL;
    const struct name *const known = find_name(s->files, path);
    if (known != NULL) {
        *out = known->inode;
        return GNN_OK;
    }
    struct stat info;
    if (stat(path, &info) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return GNN_OK;
        return gnn_fail(err, errno == EACCES ? GNN_EPERM : GNN_EIO, "%s: %s", path, strerror(errno));
    }
    if (S_ISDIR(info.st_mode))
        return gnn_fail(err, GNN_ENOENT, "%s: is a directory, a file was expected", path);
    struct sim_inode *inode;
    GNN_TRY(sim_inode_host(path, &inode, err));
    GNN_TRY(adopt(s, path, inode, err));
    *out = inode;
    return GNN_OK;
}

enum gnn_status sim_file_add(struct simulated *s, const char *path, const struct gnn_content *content,
                             struct gnn_err *err)
{
    char *normal;
    GNN_TRY(normal_path(path, &normal, err));
    const struct name *const known = find_name(s->files, normal);
    struct sim_inode *inode = NULL;
    enum gnn_status status;
    if (known != NULL && known->inode != NULL && known->inode->source == SIM_SOURCE_CONTENT)
        status = gnn_fail(err, GNN_EBUG, "%s: registered twice", path);
    else
        status = sim_inode_content(content, &inode, err);
    GNN_NEXT(status, adopt(s, normal, inode, err));
    free(normal);
    return status;
}

/* ---- open, close ---- */

static enum gnn_status new_written(struct simulated *s, const char *path, struct sim_inode **out, struct gnn_err *err)
{
    GNN_TRY(sim_inode_written(out, err));
    return adopt(s, path, *out, err);
}

/* Finds or makes the file that flags ask for, with one holder more. */
static enum gnn_status find_or_make(struct simulated *s, const char *path, unsigned flags, struct sim_inode **out,
                                    struct gnn_err *err)
{
    if ((flags & GNN_OPEN_SCRATCH) != 0) {
        GNN_TRY(sim_inode_written(out, err));
        place(s->files, *out);
        return GNN_OK;
    }
    struct sim_inode *inode;
    GNN_TRY(resolve(s, path, &inode, err));
    const bool writes = (flags & GNN_OPEN_WRITE) != 0;
    if (inode == NULL && !writes)
        return gnn_fail(err, GNN_ENOENT, "%s: %s", path, strerror(ENOENT));
    /* An empty file of this machine, such as a lock, is replaced in the simulated world. */
    if (inode == NULL || (writes && inode->source == SIM_SOURCE_HOST && inode->size_bytes == 0))
        GNN_TRY(new_written(s, path, &inode, err));
    if (writes && inode->source != SIM_SOURCE_WRITTEN)
        return gnn_fail(err, GNN_EPERM,
                        "%s: cannot be opened for writing: what the simulated world did not write it only reads; "
                        "remove it there first, or write under another name",
                        path);
    if ((flags & GNN_OPEN_TRUNCATE) != 0)
        sim_inode_truncate(s, inode);
    inode->holders++;
    *out = inode;
    return GNN_OK;
}

static enum gnn_status enter_cache(struct simulated *s, struct sim_inode *inode, struct gnn_err *err)
{
    if (inode->has_cache_number)
        return GNN_OK;
    GNN_TRY(sim_page_cache_add_file(s->cache, inode->size_bytes, &inode->cache_number, err));
    inode->has_cache_number = true;
    return GNN_OK;
}

static enum gnn_status file_fill(struct simulated *s, struct gnn_file *file, const char *path, unsigned flags,
                                 struct gnn_err *err)
{
    char *normal;
    file->path = strdup(path);
    if (file->path == NULL)
        return gnn_fail(err, GNN_ENOMEM, "%s: a file handle", path);
    GNN_TRY(normal_path(path, &normal, err));
    const enum gnn_status status = find_or_make(s, normal, flags, &file->inode, err);
    free(normal);
    return status == GNN_OK && !file->direct ? enter_cache(s, file->inode, err) : status;
}

enum gnn_status sim_file_open(struct gnn_world *w, const char *path, unsigned flags, struct gnn_file **out,
                              struct gnn_err *err)
{
    assert((flags & (GNN_OPEN_TRUNCATE | GNN_OPEN_SCRATCH)) == 0 || (flags & GNN_OPEN_WRITE) != 0);
    struct simulated *const s = simulated_of(w);
    *out = NULL;
    sim_cpu(s->executor, s->profile->cpu.syscall_ns * SIM_PS_PER_NS);
    struct gnn_file *file;
    GNN_NEW(file, 1, err, "%s: a file handle, %zu bytes", path, sizeof *file);
    file->direct = (flags & GNN_OPEN_DIRECT) != 0;
    file->random = (flags & GNN_OPEN_RANDOM) != 0;
    file->writable = (flags & GNN_OPEN_WRITE) != 0;
    const enum gnn_status status = file_fill(s, file, path, flags, err);
    if (status == GNN_OK)
        *out = file;
    else
        sim_file_close(w, file);
    return status;
}

void sim_file_close(struct gnn_world *w, struct gnn_file *file)
{
    if (file == NULL)
        return;
    if (file->inode != NULL && file->inode->locked_by == file)
        file->inode->locked_by = NULL;
    sim_inode_release(simulated_of(w), file->inode);
    free(file->path);
    free(file);
}

/* ---- facts about a handle ---- */

static uint32_t sector_bytes(const struct simulated *s)
{
    const uint32_t bytes = s->profile->storage.sector_bytes;
    return bytes > SECTOR_BYTES_MIN ? bytes : (uint32_t)SECTOR_BYTES_MIN;
}

void sim_file_info(struct gnn_world *w, const struct gnn_file *file, struct gnn_file_info *out)
{
    const uint32_t align_bytes = file->direct ? sector_bytes(simulated_of(w)) : 1;
    *out = (struct gnn_file_info){.size_bytes = file->inode->size_bytes,
                                  .mem_align_bytes = align_bytes,
                                  .offset_align_bytes = align_bytes,
                                  .direct = file->direct};
}

const char *sim_file_path(struct gnn_world *w, const struct gnn_file *file)
{
    (void)w;
    return file->path;
}

const struct gnn_content *sim_file_content(const struct gnn_file *file)
{
    const struct gnn_content *const content = file->inode->content;
    return content != NULL && content->gather_ids != NULL ? content : NULL;
}

void sim_file_fetch(struct simulated *s, const struct gnn_file *file, uint64_t offset_bytes, uint64_t len_bytes,
                    void *dst)
{
    if (!sim_written_features(s, dst, len_bytes))
        sim_inode_fetch(file->inode, offset_bytes, len_bytes, dst);
}

/* ---- reading ---- */

static bool aligned(const struct simulated *s, uint64_t offset_bytes, const void *memory, uint64_t len_bytes)
{
    return ((offset_bytes | len_bytes | (uintptr_t)memory) & (sector_bytes(s) - 1)) == 0;
}

int64_t sim_file_readable(const struct simulated *s, const struct gnn_file *file, uint64_t offset_bytes,
                          const void *dst, uint64_t len_bytes)
{
    if (offset_bytes > INT64_MAX || (file->direct && !aligned(s, offset_bytes, dst, len_bytes)))
        return -EINVAL;
    const uint64_t size_bytes = file->inode->size_bytes;
    const uint64_t left_bytes = offset_bytes < size_bytes ? size_bytes - offset_bytes : 0;
    const uint64_t asked_bytes = len_bytes < IO_BYTES_MAX ? len_bytes : (uint64_t)IO_BYTES_MAX;
    return (int64_t)gnn_min_u64(asked_bytes, left_bytes);
}

uint64_t sim_file_start_read(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                             uint64_t len_bytes, uint64_t *cpu_ps)
{
    if (!file->direct)
        return sim_cached_read(s, file, now_ns, offset_bytes, len_bytes, cpu_ps);
    *cpu_ps = 0;
    const uint64_t last = sector_bytes(s) - 1;
    return sim_device_read(s->device, now_ns, sim_inode_device_offset(file->inode, offset_bytes),
                           (len_bytes + last) & ~last);
}

/* Sleeps until the operation that ends at done_ns has ended and this thread was woken. */
static void wait_until(struct simulated *s, uint64_t done_ns)
{
    if (done_ns > sim_now(s->executor))
        sim_sleep_until(&s->base, done_ns + s->profile->cpu.wake_latency_ns, GNN_WAIT_IO);
}

int64_t sim_file_read(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, void *dst, uint64_t len_bytes,
                      const struct gnn_ids_wanted *wanted)
{
    struct simulated *const s = simulated_of(w);
    const struct gnn_profile_cpu *const cpu = &s->profile->cpu;
    const uint64_t submit_ns = file->direct ? cpu->submit_ns : 0;
    sim_cpu(s->executor, (cpu->syscall_ns + submit_ns) * SIM_PS_PER_NS);
    const int64_t bytes = sim_file_readable(s, file, offset_bytes, dst, len_bytes);
    if (bytes <= 0)
        return bytes;
    sim_settle(s->executor);
    uint64_t cpu_ps = 0;
    const uint64_t done_ns = sim_file_start_read(s, file, sim_now(s->executor), offset_bytes, (uint64_t)bytes, &cpu_ps);
    wait_until(s, done_ns);
    sim_cpu(s->executor, file->direct ? cpu->complete_ns * SIM_PS_PER_NS : cpu_ps);
    if (wanted == NULL || !sim_inode_fetch_ids(file->inode, offset_bytes, (uint64_t)bytes, wanted, dst))
        sim_file_fetch(s, file, offset_bytes, (uint64_t)bytes, dst);
    return bytes;
}

/* ---- writing ---- */

int64_t sim_file_writable(const struct simulated *s, const struct gnn_file *file, uint64_t offset_bytes,
                          const void *src, uint64_t len_bytes)
{
    if (!file->writable)
        return -EBADF;
    if (offset_bytes > INT64_MAX || (file->direct && !aligned(s, offset_bytes, src, len_bytes)))
        return -EINVAL;
    const uint64_t bytes = len_bytes < IO_BYTES_MAX ? len_bytes : (uint64_t)IO_BYTES_MAX;
    if (offset_bytes > sim_written_bytes_max || bytes > sim_written_bytes_max - offset_bytes)
        return -EFBIG;
    return (int64_t)bytes;
}

bool sim_file_store(struct simulated *s, struct gnn_file *file, uint64_t offset_bytes, uint64_t len_bytes,
                    const void *src)
{
    struct sim_inode *const inode = file->inode;
    const uint64_t old_bytes = inode->size_bytes;
    if (!sim_inode_store(inode, offset_bytes, len_bytes, sim_is_feature(s, src) ? NULL : src))
        return false;
    if (!inode->has_cache_number || inode->size_bytes == old_bytes)
        return true;
    return sim_page_cache_grow_file(s->cache, inode->cache_number, inode->size_bytes, NULL) == GNN_OK;
}

uint64_t sim_file_start_write(struct simulated *s, const struct gnn_file *file, uint64_t now_ns, uint64_t offset_bytes,
                              uint64_t len_bytes, uint64_t *cpu_ps)
{
    if (!file->direct)
        return sim_cached_write(s, file, now_ns, offset_bytes, len_bytes, cpu_ps);
    *cpu_ps = 0;
    return sim_device_write(s->device, now_ns, sim_inode_device_offset(file->inode, offset_bytes), len_bytes);
}

int64_t sim_file_write(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, const void *src,
                       uint64_t len_bytes)
{
    struct simulated *const s = simulated_of(w);
    const struct gnn_profile_cpu *const cpu = &s->profile->cpu;
    const uint64_t submit_ns = file->direct ? cpu->submit_ns : 0;
    sim_cpu(s->executor, (cpu->syscall_ns + submit_ns) * SIM_PS_PER_NS);
    const int64_t bytes = sim_file_writable(s, file, offset_bytes, src, len_bytes);
    if (bytes <= 0)
        return bytes;
    if (!sim_file_store(s, file, offset_bytes, (uint64_t)bytes, src))
        return -ENOMEM;
    sim_settle(s->executor);
    uint64_t cpu_ps;
    const uint64_t done_ns =
        sim_file_start_write(s, file, sim_now(s->executor), offset_bytes, (uint64_t)bytes, &cpu_ps);
    wait_until(s, done_ns);
    sim_cpu(s->executor, file->direct ? cpu->complete_ns * SIM_PS_PER_NS : cpu_ps);
    return bytes;
}

enum gnn_status sim_file_sync(struct gnn_world *w, struct gnn_file *file, struct gnn_err *err)
{
    (void)err;
    struct simulated *const s = simulated_of(w);
    sim_cpu(s->executor, s->profile->cpu.syscall_ns * SIM_PS_PER_NS);
    if (!file->inode->has_cache_number)
        return GNN_OK; /* nothing of it ever was in the page cache */
    sim_settle(s->executor);
    uint64_t cpu_ps = 0;
    const uint64_t done_ns = sim_cached_sync(s, file, sim_now(s->executor), &cpu_ps);
    sim_cpu(s->executor, cpu_ps);
    wait_until(s, done_ns);
    return GNN_OK;
}

enum gnn_status sim_file_evict(struct gnn_world *w, struct gnn_file *file, struct gnn_err *err)
{
    GNN_TRY(sim_file_sync(w, file, err));
    if (file->inode->has_cache_number)
        sim_page_cache_forget(simulated_of(w)->cache, file->inode->cache_number);
    return GNN_OK;
}

enum gnn_status sim_file_lock(struct gnn_world *w, struct gnn_file *file, bool *held, struct gnn_err *err)
{
    (void)err;
    struct simulated *const s = simulated_of(w);
    sim_cpu(s->executor, s->profile->cpu.syscall_ns * SIM_PS_PER_NS);
    *held = file->inode->locked_by == NULL || file->inode->locked_by == file;
    if (*held)
        file->inode->locked_by = file;
    return GNN_OK;
}

/* ---- names that change ---- */

static enum gnn_status rename_normal(struct simulated *s, const char *from, const char *to, struct gnn_err *err)
{
    struct sim_inode *inode;
    GNN_TRY(resolve(s, from, &inode, err));
    if (inode == NULL)
        return gnn_fail(err, GNN_EIO, "%s: rename: %s", from, strerror(ENOENT));
    if (strcmp(from, to) == 0)
        return GNN_OK;
    inode->holders++; /* the new name's; the old name lets go of its own */
    const enum gnn_status status = set_name(s, to, inode, err);
    if (status == GNN_OK)
        return set_name(s, from, NULL, err);
    sim_inode_release(s, inode);
    return status;
}

enum gnn_status sim_file_rename(struct gnn_world *w, const char *from, const char *to, struct gnn_err *err)
{
    struct simulated *const s = simulated_of(w);
    sim_cpu(s->executor, s->profile->cpu.syscall_ns * SIM_PS_PER_NS);
    char *normal_from, *normal_to = NULL;
    GNN_TRY(normal_path(from, &normal_from, err));
    enum gnn_status status = normal_path(to, &normal_to, err);
    GNN_NEXT(status, rename_normal(s, normal_from, normal_to, err));
    free(normal_from);
    free(normal_to);
    return status;
}

enum gnn_status sim_file_remove(struct gnn_world *w, const char *path, struct gnn_err *err)
{
    struct simulated *const s = simulated_of(w);
    sim_cpu(s->executor, s->profile->cpu.syscall_ns * SIM_PS_PER_NS);
    char *normal;
    GNN_TRY(normal_path(path, &normal, err));
    struct stat info;
    enum gnn_status status = GNN_OK;
    if (find_name(s->files, normal) == NULL && stat(normal, &info) == 0 && S_ISDIR(info.st_mode))
        status = gnn_fail(err, GNN_EIO, "%s: remove: %s", path, strerror(EISDIR));
    else
        status = set_name(s, normal, NULL, err);
    free(normal);
    return status;
}

/* Charges the system call. Directories need not exist: they are what names begin with. */
enum gnn_status sim_dir_make(struct gnn_world *w, const char *path, struct gnn_err *err)
{
    (void)path;
    (void)err;
    struct simulated *const s = simulated_of(w);
    sim_cpu(s->executor, s->profile->cpu.syscall_ns * SIM_PS_PER_NS);
    return GNN_OK;
}

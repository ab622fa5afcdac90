/* SPDX-License-Identifier: MIT */
#include "harness/dataset/output.h"

#include "harness/base/clock.h"
#include "harness/base/id_width.h"
#include "harness/base/units.h"
#include "harness/storage/block_sums.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { WRITE_BYTES_MAX = 16 << 20 /* in one call: a signal is seen between two */ };

/* ---- progress ---- */

void gnn_ticker_start(struct gnn_ticker *ticker, const struct gnn_prepare_job *job, const char *phase, const char *unit,
                      uint64_t total)
{
    *ticker = (struct gnn_ticker){.job = job, .report = {.phase = phase, .unit = unit, .total = total, .left_s = -1}};
    ticker->start_ns = ticker->last_ns = gnn_host_now_ns();
}

enum gnn_status gnn_job_stopped(const struct gnn_prepare_job *job, const char *phase, struct gnn_err *err)
{
    if (job == NULL || job->stop == NULL || !atomic_load_explicit(job->stop, memory_order_relaxed))
        return GNN_OK;
    return gnn_fail(err, GNN_ECANCELLED, "interrupted during %s; nothing is left behind", phase);
}

static void report(struct gnn_ticker *ticker, uint64_t at_ns)
{
    struct gnn_progress *r = &ticker->report;
    assert(at_ns >= ticker->start_ns);
    const double passed_s = (double)(at_ns - ticker->start_ns) * 1e-9;
    r->rate = passed_s > 0 ? (double)r->done / passed_s : 0;
    r->left_s = r->rate > 0 && r->total >= r->done ? (double)(r->total - r->done) / r->rate : -1;
    ticker->last_ns = at_ns;
    if (ticker->job->progress != NULL)
        ticker->job->progress(ticker->job->progress_ctx, r);
}

enum gnn_status gnn_ticker_set(struct gnn_ticker *ticker, uint64_t done, struct gnn_err *err)
{
    const uint64_t interval_ns = 200000000;
    ticker->report.done = done;
    GNN_TRY(gnn_job_stopped(ticker->job, ticker->report.phase, err));
    const uint64_t at_ns = gnn_host_now_ns();
    if (at_ns - ticker->last_ns >= interval_ns)
        report(ticker, at_ns);
    return GNN_OK;
}

void gnn_ticker_end(struct gnn_ticker *ticker)
{
    ticker->report.phase_ended = true;
    report(ticker, gnn_host_now_ns());
}

/* ---- errors ---- */

enum gnn_status gnn_out_errno(int code, const char *what, const char *path, struct gnn_err *err)
{
    if (code == ENOSPC || code == EDQUOT)
        return gnn_fail(err, GNN_ENOSPC, "%s %s: the disk is full (%s); free space or choose another directory", what,
                        path, strerror(code));
    const bool refused = code == EACCES || code == EPERM || code == EROFS, missing = code == ENOENT || code == ENOTDIR;
    const enum gnn_status status = refused ? GNN_EPERM : missing ? GNN_ENOENT : gnn_errno_status(code, GNN_EIO);
    return gnn_fail(err, status, "%s %s: %s", what, path, strerror(code));
}

/* ---- the directory ---- */

/* A preparation makes no sub-directories, so one level is all there is to remove. */
static void remove_directory(const char *path)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return;
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    (void)closedir(dir);
    (void)rmdir(path);
}

static void parent_of(const char *path, char parent[GNN_OUTPUT_PATH])
{
    (void)snprintf(parent, GNN_OUTPUT_PATH, "%s", path);
    char *slash = strrchr(parent, '/');
    if (slash == NULL)
        (void)snprintf(parent, GNN_OUTPUT_PATH, ".");
    else
        slash[slash == parent ? 1 : 0] = '\0';
}

/* Opens a directory, locks it and returns its descriptor, or -1 if there is none or another process has the lock. On a
 * file system without locks it counts as locked. */
static int lock_directory(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* A process that works on "<target>.partial-<pid>" holds its lock for as long as it lives, whatever its number: what
 * can be locked was left behind (SIGKILL, power). */
void gnn_output_sweep(const char *out_dir)
{
    char target[GNN_OUTPUT_PATH], parent[GNN_OUTPUT_PATH], prefix[GNN_OUTPUT_PATH + 16];
    (void)snprintf(target, sizeof target, "%s", out_dir);
    for (size_t len = strlen(target); len > 1 && target[len - 1] == '/'; len--)
        target[len - 1] = '\0';
    parent_of(target, parent);
    const char *slash = strrchr(target, '/');
    const int prefix_len = snprintf(prefix, sizeof prefix, "%s.partial-", slash != NULL ? slash + 1 : target);
    DIR *dir = opendir(parent);
    if (dir == NULL)
        return;
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        uint64_t pid;
        char stale[GNN_OUTPUT_PATH + 512];
        if (strncmp(entry->d_name, prefix, (size_t)prefix_len) != 0 ||
            gnn_parse_u64(entry->d_name + prefix_len, &pid, NULL) != GNN_OK)
            continue;
        (void)snprintf(stale, sizeof stale, "%s/%s", parent, entry->d_name);
        const int lock_fd = lock_directory(stale);
        if (lock_fd < 0)
            continue;
        remove_directory(stale);
        (void)close(lock_fd);
    }
    (void)closedir(dir);
}

static enum gnn_status check_space(const char *target, uint64_t needed_bytes, struct gnn_err *err)
{
    char parent[GNN_OUTPUT_PATH], needed[32], have[32];
    struct statvfs fs;
    parent_of(target, parent);
    if (statvfs(parent, &fs) != 0)
        return gnn_out_errno(errno, "cannot use directory", parent, err);
    const uint64_t free_bytes = gnn_mul_bytes(fs.f_bavail, fs.f_frsize);
    if (needed_bytes > free_bytes)
        return gnn_fail(err, GNN_ENOSPC,
                        "%s needs %s, its file system has %s left: free space, choose another directory or a smaller "
                        "scale",
                        target, gnn_format_bytes(needed_bytes, needed, sizeof needed),
                        gnn_format_bytes(free_bytes, have, sizeof have));
    return GNN_OK;
}

enum gnn_status gnn_output_open(const struct gnn_prepare_job *job, uint64_t needed_bytes, struct gnn_output *out,
                                struct gnn_err *err)
{
    *out = (struct gnn_output){.job = job, .lock_fd = -1};
    size_t len = strlen(job->out_dir);
    while (len > 1 && job->out_dir[len - 1] == '/')
        len--;
    if (len == 0 || len + 32 > sizeof out->target)
        return gnn_fail(err, GNN_EUSAGE, "output directory of %zu characters, expected 1 to %zu", len,
                        sizeof out->target - 32);
    (void)snprintf(out->target, sizeof out->target, "%.*s", (int)len, job->out_dir);
    (void)snprintf(out->partial, sizeof out->partial, "%.*s.partial-%ld", (int)len, job->out_dir, (long)getpid());
    gnn_output_sweep(out->target);
    GNN_TRY(check_space(out->target, needed_bytes, err));
    /* A sweep may come between the two: its lock is seen, or the directory is gone and made again. */
    for (int tries = 0; out->lock_fd < 0 && tries < 100; tries++) {
        if (mkdir(out->partial, 0777) != 0 && errno != EEXIST)
            return gnn_out_errno(errno, "cannot make directory", out->partial, err);
        out->lock_fd = lock_directory(out->partial);
        struct stat info;
        if (out->lock_fd >= 0 && (fstat(out->lock_fd, &info) != 0 || info.st_nlink == 0)) {
            (void)close(out->lock_fd);
            out->lock_fd = -1;
        }
    }
    out->created = true;
    return GNN_OK;
}

static enum gnn_status write_meta(struct gnn_output *output, const struct gnn_meta *meta, struct gnn_err *err)
{
    char *text;
    GNN_NEW(text, GNN_META_TEXT_MAX, err, "text of meta");
    enum gnn_status status = gnn_meta_format(meta, text, GNN_META_TEXT_MAX, err);
    GNN_NEXT(status, gnn_out_array(output, "meta", text, strlen(text), GNN_OUT_META, NULL, err));
    free(text);
    return status;
}

static void sync_directory(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) { /* some file systems refuse to sync a directory; the rename is then as durable as they make it */
        (void)fsync(fd);
        (void)close(fd);
    }
}

static enum gnn_status rename_to_target(struct gnn_output *output, struct gnn_err *err)
{
    sync_directory(output->partial);
    if (rename(output->partial, output->target) != 0)
        return errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
                   ? gnn_fail(err, GNN_EUSAGE, "%s exists already: remove it or choose another name", output->target)
                   : gnn_out_errno(errno, "cannot rename to", output->target, err);
    assert(output->created);
    output->created = false;
    char parent[GNN_OUTPUT_PATH];
    parent_of(output->target, parent);
    sync_directory(parent);
    return GNN_OK;
}

enum gnn_status gnn_output_commit(struct gnn_output *output, const struct gnn_meta *meta, struct gnn_err *err)
{
    GNN_TRY(write_meta(output, meta, err));
    return rename_to_target(output, err);
}

enum gnn_status gnn_output_publish(struct gnn_output *output, struct gnn_err *err)
{
    const int fd = open(output->partial, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int code = fd < 0 || syncfs(fd) != 0 ? errno : 0; /* one call for any number of files */
    if (fd >= 0)
        (void)close(fd);
    if (code != 0)
        return gnn_out_errno(code, "writing", output->partial, err);
    return rename_to_target(output, err);
}

static enum gnn_status move_in(const struct gnn_output *output, const char *name, struct gnn_err *err)
{
    char from[GNN_OUTPUT_PATH + 64], to[GNN_OUTPUT_PATH + 64];
    (void)snprintf(from, sizeof from, "%s/%s", output->partial, name);
    (void)snprintf(to, sizeof to, "%s/%s", output->target, name);
    if (rename(from, to) != 0)
        return gnn_out_errno(errno, "cannot rename to", to, err);
    return GNN_OK;
}

enum gnn_status gnn_output_commit_files(struct gnn_output *output, const char *const *files, uint32_t count,
                                        const struct gnn_meta *meta, struct gnn_err *err)
{
    GNN_TRY(write_meta(output, meta, err));
    for (uint32_t i = 0; i < count; i++)
        GNN_TRY(move_in(output, files[i], err)); /* harmless until meta lists it */
    GNN_TRY(move_in(output, "meta", err));
    sync_directory(output->target);
    return GNN_OK;
}

enum gnn_status gnn_output_commit_into(struct gnn_output *output, const char *file, const struct gnn_meta *meta,
                                       struct gnn_err *err)
{
    char blocks[GNN_META_NAME];
    const char *const files[] = {file, blocks};
    gnn_meta_blocks_name(file, blocks);
    return gnn_output_commit_files(output, files, gnn_meta_blocks(meta, file) != NULL ? 2 : 1, meta, err);
}

void gnn_output_close(struct gnn_output *output)
{
    if (output->created)
        remove_directory(output->partial);
    if (output->job != NULL && output->lock_fd >= 0)
        (void)close(output->lock_fd);
    output->lock_fd = -1;
    output->created = false;
}

/* ---- a file in it ---- */

struct gnn_out_file {
    struct gnn_output *output;
    const struct gnn_prepare_job *job;
    enum gnn_out_kind kind;
    int fd;
    int direct_fd;        /* past the page cache; -1: the file system has none */
    atomic_bool buffered; /* nothing is written past the page cache any more */
    char name[GNN_META_NAME];
    char path[GNN_OUTPUT_PATH + 64];
    uint64_t written_bytes;
    struct gnn_checksum *checksum; /* NULL: none wanted */
    struct gnn_block_sums *blocks; /* likewise */
    uint64_t used, room;
    char *buffer;
};

static void out_close(struct gnn_out_file *file)
{
    if (file == NULL)
        return;
    if (file->fd >= 0)
        (void)close(file->fd);
    if (file->direct_fd >= 0)
        (void)close(file->direct_fd);
    gnn_checksum_close(file->checksum);
    gnn_block_sums_close(file->blocks);
    free(file->buffer);
    free(file);
}

enum gnn_status gnn_out_open(struct gnn_output *output, const char *name, uint64_t buffer_bytes, enum gnn_out_kind kind,
                             struct gnn_out_file **out, struct gnn_err *err)
{
    assert(buffer_bytes >= 4096);
    struct gnn_out_file *file;
    GNN_NEW(file, 1, err, "file %s", name);
    file->output = output;
    file->job = output->job;
    file->kind = kind;
    file->room = buffer_bytes;
    file->buffer = malloc(buffer_bytes);
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    (void)snprintf(file->path, sizeof file->path, "%s/%s", output->partial, name);
    file->fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    enum gnn_status status = GNN_OK;
    file->direct_fd = kind == GNN_OUT_DATASET && file->fd >= 0 ? open(file->path, O_WRONLY | O_DIRECT | O_CLOEXEC) : -1;
    if (file->fd < 0)
        status = gnn_out_errno(errno, "cannot create", file->path, err);
    else if (file->buffer == NULL)
        status = gnn_fail(err, GNN_ENOMEM, "buffer of %s", name);
    else if (kind == GNN_OUT_DATASET)
        status = gnn_checksum_open(&file->checksum, err);
    if (status == GNN_OK && kind == GNN_OUT_DATASET && gnn_meta_is_blocked(name))
        status = gnn_block_sums_open(&file->blocks, err);
    return GNN_OPENED(status, file, out, out_close);
}

enum gnn_status gnn_out_reserve(struct gnn_out_file *file, uint64_t bytes, struct gnn_err *err)
{
    int code = 0;
    while (bytes > 0 && fallocate(file->fd, 0, 0, (off_t)bytes) != 0 && (code = errno) == EINTR)
        GNN_TRY(gnn_job_stopped(file->job, file->name, err));
    if (code == ENOSPC || code == EDQUOT)
        return gnn_out_errno(code, "writing", file->path, err);
    return GNN_OK;
}

/* Writes what it can of the bytes. What begins and lies at pages goes past the page cache, as far as whole pages go:
 * that costs no copy, and leaves the cache to others. */
static ssize_t write_some(struct gnn_out_file *file, off_t at, const char *data, uint64_t bytes)
{
    const uint64_t pages = gnn_round_down(gnn_min_u64(bytes, WRITE_BYTES_MAX), GNN_PAGE_BYTES);
    const bool whole = pages > 0 && (at | (off_t)(uintptr_t)data) % GNN_PAGE_BYTES == 0;
    if (file->direct_fd >= 0 && whole && !atomic_load(&file->buffered)) {
        const ssize_t got = pwrite(file->direct_fd, data, pages, at);
        if (got >= 0 || errno != EINVAL)
            return got;
        atomic_store(&file->buffered, true); /* a device that wants more than pages */
    }
    return pwrite(file->fd, data, gnn_min_u64(bytes, WRITE_BYTES_MAX), at);
}

/* A short write is followed by another one, which tells why. Whatever loop writes here obeys the stop flag. */
enum gnn_status gnn_out_write_at(struct gnn_out_file *file, uint64_t offset_bytes, const void *data, uint64_t bytes,
                                 struct gnn_err *err)
{
    for (uint64_t done = 0; done < bytes;) {
        GNN_TRY(gnn_job_stopped(file->job, file->name, err));
        const ssize_t got = write_some(file, (off_t)(offset_bytes + done), (const char *)data + done, bytes - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return gnn_out_errno(errno, "writing", file->path, err);
        done += (uint64_t)got;
    }
    return GNN_OK;
}

void gnn_out_add(struct gnn_out_file *file, const void *data, uint64_t bytes)
{
    file->written_bytes += bytes;
    if (file->checksum != NULL)
        gnn_checksum_add(file->checksum, data, bytes);
    if (file->blocks != NULL)
        gnn_block_sums_add(file->blocks, data, bytes);
}

static enum gnn_status write_all(struct gnn_out_file *file, const void *data, uint64_t bytes, struct gnn_err *err)
{
    GNN_TRY(gnn_out_write_at(file, file->written_bytes, data, bytes, err));
    gnn_out_add(file, data, bytes);
    return GNN_OK;
}

static enum gnn_status flush(struct gnn_out_file *file, struct gnn_err *err)
{
    assert(file->fd >= 0);
    const uint64_t bytes = file->used;
    file->used = 0;
    return write_all(file, file->buffer, bytes, err);
}

enum gnn_status gnn_out_write(struct gnn_out_file *file, const void *data, uint64_t bytes, struct gnn_err *err)
{
    assert(file->used <= file->room);
    if (bytes > file->room - file->used)
        GNN_TRY(flush(file, err));
    if (bytes >= file->room)
        return write_all(file, data, bytes, err);
    memcpy(file->buffer + file->used, data, bytes);
    file->used += bytes;
    return GNN_OK;
}

enum gnn_status gnn_out_ids(struct gnn_out_file *file, const gnn_node *ids, uint64_t count, uint32_t id_bytes,
                            struct gnn_err *err)
{
    enum { PIECE = 1024 };
    uint64_t wide[PIECE];
    if (id_bytes == sizeof *ids)
        return gnn_out_write(file, ids, count * sizeof *ids, err);
    for (uint64_t done = 0; done < count; done += PIECE) {
        const uint64_t piece = gnn_min_u64(count - done, PIECE);
        gnn_ids_store(ids + done, piece, id_bytes, wide);
        GNN_TRY(gnn_out_write(file, wide, piece * sizeof *wide, err));
    }
    return GNN_OK;
}

enum gnn_status gnn_out_blocks(struct gnn_output *output, const char *name, struct gnn_block_sums *blocks,
                               struct gnn_meta *meta, struct gnn_err *err)
{
    char file[GNN_META_NAME], text[GNN_CHECKSUM_TEXT];
    const uint64_t *sums;
    uint64_t count;
    gnn_meta_blocks_name(name, file);
    GNN_TRY(gnn_block_sums_end(blocks, &sums, &count, err));
    gnn_checksum_of(sums, count * sizeof *sums, text);
    GNN_TRY(gnn_out_array(output, file, count > 0 ? (const void *)sums : "", count * sizeof *sums, GNN_OUT_META, NULL,
                          err));
    return gnn_meta_set_blocks(meta, name, text, err);
}

enum gnn_status gnn_out_end(struct gnn_out_file *file, enum gnn_status status, struct gnn_meta *meta,
                            struct gnn_err *err)
{
    if (file == NULL) /* never opened: status says why */
        return status;
    GNN_NEXT(status, flush(file, err));
    if (status == GNN_OK && (file->kind == GNN_OUT_DATASET || file->kind == GNN_OUT_META) && fdatasync(file->fd) != 0 &&
        errno != EINVAL)
        status = gnn_out_errno(errno, "writing", file->path, err);
    if (status == GNN_OK && file->kind == GNN_OUT_DATASET) {
        char text[GNN_CHECKSUM_TEXT] = "";
        assert(meta != NULL);
        gnn_checksum_text(file->checksum, text);
        gnn_meta_add_file(meta, file->name, file->written_bytes, text);
    }
    if (status == GNN_OK && file->blocks != NULL)
        status = gnn_out_blocks(file->output, file->name, file->blocks, meta, err);
    out_close(file);
    return status;
}

enum gnn_status gnn_out_array(struct gnn_output *output, const char *name, const void *data, uint64_t bytes,
                              enum gnn_out_kind kind, struct gnn_meta *meta, struct gnn_err *err)
{
    struct gnn_out_file *file;
    GNN_TRY(gnn_out_open(output, name, 4096, kind, &file, err));
    return gnn_out_end(file, gnn_out_write(file, data, bytes, err), meta, err);
}

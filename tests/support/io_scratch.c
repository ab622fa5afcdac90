/* SPDX-License-Identifier: MIT */
#include "tests/support/io_scratch.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool takes_direct(const char *dir)
{
    const uint32_t tmpfs = 0x01021994;
    struct statfs info;
    if (statfs(dir, &info) != 0 || (uint32_t)info.f_type == tmpfs)
        return false;
    char path[512];
    (void)snprintf(path, sizeof path, "%s/probe", dir);
    const int fd = open(path, O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    (void)close(fd);
    (void)unlink(path);
    return true;
}

void io_scratch_open(struct io_scratch *scratch)
{
    const char *const tmpdir = getenv("TMPDIR");
    const char *const places[] = {tmpdir != NULL ? tmpdir : "/tmp", "/tmp", "build"};
    const size_t count = sizeof places / sizeof places[0];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(scratch->dir, sizeof scratch->dir, "%s/oocgnn-io-XXXXXX", places[i]);
        if (mkdtemp(scratch->dir) == NULL)
            continue;
        scratch->direct = takes_direct(scratch->dir);
        if (scratch->direct)
            return;
        (void)rmdir(scratch->dir);
    }
    (void)snprintf(scratch->dir, sizeof scratch->dir, "%s/oocgnn-io-XXXXXX", places[0]);
    const char *const made = mkdtemp(scratch->dir);
    assert(made != NULL);
    scratch->direct = false;
}

void io_scratch_close(struct io_scratch *scratch)
{
    DIR *dir = opendir(scratch->dir);
    assert(dir != NULL);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    (void)closedir(dir);
    const int rc = rmdir(scratch->dir);
    assert(rc == 0);
}

const char *io_scratch_path(const struct io_scratch *scratch, const char *name, char path[512])
{
    (void)snprintf(path, 512, "%s/%s", scratch->dir, name);
    return path;
}

uint32_t io_scratch_value(uint64_t index)
{
    return (uint32_t)gnn_mix64(index + 1) | 1;
}

void io_scratch_fill(const struct io_scratch *scratch, const char *name, uint64_t bytes)
{
    char path[512];
    FILE *stream = fopen(io_scratch_path(scratch, name, path), "wb");
    assert(stream != NULL);
    for (uint64_t at = 0; at < bytes; at += sizeof(uint32_t)) {
        const uint32_t value = io_scratch_value(at / sizeof value);
        const size_t size = bytes - at < sizeof value ? (size_t)(bytes - at) : sizeof value;
        const size_t written = fwrite(&value, 1, size, stream);
        assert(written == size);
    }
    const int rc = fclose(stream);
    assert(rc == 0);
}

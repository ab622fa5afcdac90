/* SPDX-License-Identifier: MIT */
#include "harness/base/group_file.h"

#include "harness/base/text_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1280, TEXT_BYTES = 16384 };

_Static_assert((UINT64_C(1) << 62) < GNN_UNKNOWN, "a limit differs from an unknown one");

/* No snprintf: gnn_group_file_write serves a child between fork and exec. */
static bool join(char path[PATH_BYTES], const char *dir, const char *name)
{
    const size_t dir_len = strlen(dir);
    const size_t name_len = strlen(name);
    if (dir_len + name_len + 2 > PATH_BYTES)
        return false;
    memcpy(path, dir, dir_len);
    path[dir_len] = '/';
    memcpy(path + dir_len + 1, name, name_len);
    path[dir_len + 1 + name_len] = '\0';
    return true;
}

int gnn_group_file_read(const char *dir, const char *name, char *text, size_t text_bytes)
{
    char path[PATH_BYTES];
    text[0] = '\0';
    return join(path, dir, name) ? gnn_text_file_read(path, text, text_bytes) : ENAMETOOLONG;
}

int gnn_group_file_write(const char *dir, const char *name, const char *text)
{
    char path[PATH_BYTES];
    if (!join(path, dir, name))
        return ENAMETOOLONG;
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    const size_t length = strlen(text);
    const ssize_t put = write(fd, text, length);
    const int failed = put < 0 ? errno : (size_t)put != length ? EIO : 0;
    (void)close(fd);
    return failed;
}

bool gnn_group_file_exists(const char *dir, const char *name)
{
    char path[PATH_BYTES];
    return join(path, dir, name) && access(path, F_OK) == 0;
}

bool gnn_group_file_writable(const char *dir, const char *name)
{
    char path[PATH_BYTES];
    return join(path, dir, name) && access(path, W_OK) == 0;
}

/* A whole decimal number followed by white space or the end. */
static bool parse_number(const char *text, uint64_t *out)
{
    if (text[0] < '0' || text[0] > '9')
        return false;
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || (*end != '\0' && *end != '\n' && *end != ' '))
        return false;
    *out = value;
    return true;
}

/* v1 says "no limit" with the largest page count times the page size: LONG_MAX rounded down. Nothing real is above half
 * of it. */
static const uint64_t v1_unlimited_bytes = UINT64_C(1) << 62;

uint64_t gnn_group_parse_limit(const char *text)
{
    uint64_t value;
    if (!parse_number(text, &value) || value >= v1_unlimited_bytes)
        return GNN_UNKNOWN;
    return value;
}

uint64_t gnn_group_file_limit(const char *dir, const char *name)
{
    char text[64];
    return gnn_group_file_read(dir, name, text, sizeof text) != 0 ? GNN_UNKNOWN : gnn_group_parse_limit(text);
}

uint64_t gnn_group_file_u64(const char *dir, const char *name)
{
    char text[64];
    uint64_t value;
    if (gnn_group_file_read(dir, name, text, sizeof text) != 0 || !parse_number(text, &value))
        return GNN_UNKNOWN;
    return value;
}

uint64_t gnn_group_parse_flat(const char *text, const char *key)
{
    const size_t key_len = strlen(key);
    assert(key_len > 0);
    for (const char *line = text; *line != '\0'; line = gnn_next_line(line)) {
        uint64_t value;
        if (strncmp(line, key, key_len) == 0 && line[key_len] == ' ' && parse_number(line + key_len + 1, &value))
            return value;
    }
    return GNN_UNKNOWN;
}

bool gnn_group_has_word(const char *text, const char *word)
{
    static const char separators[] = " ,\n\t";
    const size_t word_len = strlen(word);
    for (const char *at = text + strspn(text, separators); *at != '\0'; at += strspn(at, separators)) {
        const size_t len = strcspn(at, separators);
        if (len == word_len && memcmp(at, word, len) == 0)
            return true;
        at += len;
    }
    return false;
}

/* "254:0 rest" of a wanted device: a pointer to rest, else NULL. */
static const char *device_line(const char *line, uint32_t major, uint32_t minor)
{
    unsigned line_major;
    unsigned line_minor;
    int used = 0;
    if (sscanf(line, "%u:%u %n", &line_major, &line_minor, &used) != 2 || used == 0)
        return NULL;
    const bool all = major == 0 && minor == 0;
    return all || (line_major == major && line_minor == minor) ? line + used : NULL;
}

uint64_t gnn_group_parse_devices(const char *text, const char *key, char separator, uint32_t major, uint32_t minor)
{
    const size_t key_len = strlen(key);
    assert(key_len > 0);
    uint64_t sum = 0;
    for (const char *line = text; *line != '\0'; line = gnn_next_line(line)) {
        const char *at = device_line(line, major, minor);
        while (at != NULL && *at != '\0' && *at != '\n') {
            uint64_t value;
            if (strncmp(at, key, key_len) == 0 && at[key_len] == separator && parse_number(at + key_len + 1, &value))
                sum += value;
            at += strcspn(at, " \n");
            at += *at == ' ' ? 1 : 0;
        }
    }
    return sum;
}

int gnn_group_for_each_pid(const char *dir, void (*visit)(void *ctx, long pid), void *ctx)
{
    char text[TEXT_BYTES];
    if (gnn_group_file_read(dir, "cgroup.procs", text, sizeof text) != 0)
        return -1;
    int count = 0;
    for (const char *line = text; *line != '\0'; line = gnn_next_line(line)) {
        uint64_t pid;
        if (!parse_number(line, &pid))
            continue;
        count++;
        if (visit != NULL)
            visit(ctx, (long)pid);
    }
    return count;
}

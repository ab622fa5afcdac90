/* SPDX-License-Identifier: MIT */
#include "harness/base/text_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

int gnn_text_file_read(const char *path, char *text, size_t text_bytes)
{
    assert(text_bytes > 0);
    text[0] = '\0';
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    size_t used = 0;
    ssize_t got = 0;
    while (used + 1 < text_bytes) {
        got = read(fd, text + used, text_bytes - 1 - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    const int failed = got < 0 ? errno : 0;
    text[failed != 0 ? 0 : used] = '\0';
    (void)close(fd);
    return failed;
}

enum gnn_status gnn_text_file_replace(const char *path, const char *text, const char *remedy, struct gnn_err *err)
{
    char partial[PATH_BYTES];
    if ((size_t)snprintf(partial, sizeof partial, "%s.partial-%ld", path, (long)getpid()) >= sizeof partial)
        return gnn_fail(err, GNN_EUSAGE, "%s: the path is too long; %s", path, remedy);
    FILE *const file = fopen(partial, "we");
    const bool wrote = file != NULL && fputs(text, file) != EOF && fflush(file) == 0 && fsync(fileno(file)) == 0;
    int error = wrote ? 0 : errno;
    if (file != NULL && fclose(file) != 0 && error == 0)
        error = errno;
    if (error == 0 && rename(partial, path) != 0)
        error = errno;
    if (error == 0)
        return GNN_OK;
    (void)unlink(partial);
    return gnn_fail(err,
                    error == EACCES || error == EPERM || error == EROFS ? GNN_EPERM : gnn_errno_status(error, GNN_EIO),
                    "%s: cannot be written: %s; %s", path, strerror(error), remedy);
}

void gnn_trim(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL)
        text[--length] = '\0';
}

const char *gnn_next_line(const char *line)
{
    const char *const end = strchr(line, '\n');
    return end == NULL ? line + strlen(line) : end + 1;
}

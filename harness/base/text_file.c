/* SPDX-License-Identifier: MIT */
#include "harness/base/text_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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

/* SPDX-License-Identifier: MIT */
#include "harness/world/profile_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 65536 };

enum gnn_status gnn_profile_read_text(const char *path, char **text, struct gnn_err *err)
{
    FILE *const file = fopen(path, "re");
    if (file == NULL)
        return gnn_fail(err, errno == ENOENT ? GNN_ENOENT : gnn_errno_status(errno, GNN_EIO), "%s: %s", path,
                        strerror(errno));
    char *const bytes = malloc(TEXT_MAX + 1);
    const size_t got = bytes != NULL ? fread(bytes, 1, TEXT_MAX + 1, file) : 0;
    const bool failed = ferror(file) != 0;
    enum gnn_status status = GNN_OK;
    (void)fclose(file);
    if (bytes == NULL)
        return gnn_fail(err, GNN_ENOMEM, "%s: %d bytes of text", path, TEXT_MAX);
    if (failed)
        status = gnn_fail(err, GNN_EIO, "%s: cannot be read", path);
    else if (got > TEXT_MAX || memchr(bytes, '\0', got) != NULL)
        status = gnn_fail(err, GNN_EFORMAT, "%s: not a text of at most 64 KiB", path);
    if (status != GNN_OK) {
        free(bytes);
        return status;
    }
    bytes[got] = '\0';
    *text = bytes;
    return GNN_OK;
}

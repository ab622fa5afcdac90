/* SPDX-License-Identifier: MIT */
#include "harness/base/out_file.h"

#include <errno.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

enum gnn_status gnn_out_file_open(const char *dir, const char *name, const char *suffix, FILE **out,
                                  struct gnn_err *err)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s.%s", dir, name, suffix);
    *out = fopen(path, "we");
    if (*out == NULL)
        return gnn_fail(err, errno == EACCES ? GNN_EPERM : gnn_errno_status(errno, GNN_EIO), "%s: %s", path,
                        strerror(errno));
    return GNN_OK;
}

enum gnn_status gnn_out_file_close(FILE *file, const char *dir, const char *name, const char *suffix,
                                   struct gnn_err *err)
{
    const bool bad = ferror(file) != 0;
    if (fclose(file) != 0 || bad)
        return gnn_fail(err, errno == ENOSPC ? GNN_ENOSPC : GNN_EIO, "%s/%s.%s: %s", dir, name, suffix,
                        strerror(errno));
    return GNN_OK;
}

/* SPDX-License-Identifier: MIT */
#include "harness/oocgnn.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *gnn_status_name(enum gnn_status status)
{
    static const char *const names[GNN_STATUS_COUNT] = {
        [GNN_OK] = "ok",           [GNN_EUSAGE] = "usage",       [GNN_ENOENT] = "missing",
        [GNN_EIO] = "io",          [GNN_ESHORT] = "short",       [GNN_EFORMAT] = "format",
        [GNN_ENOMEM] = "memory",   [GNN_ECAP] = "cap",           [GNN_EGPU] = "gpu-memory",
        [GNN_ENOSPC] = "no-space", [GNN_EPERM] = "permission",   [GNN_ENOTSUP] = "unsupported",
        [GNN_ENUMBER] = "number",  [GNN_ETIME] = "time-limit",   [GNN_ECANCELLED] = "cancelled",
        [GNN_EBUG] = "bug",        [GNN_EFILES] = "descriptors", [GNN_ETHREADS] = "threads",
    };
    assert((unsigned)status < GNN_STATUS_COUNT);
    assert(names[status] != NULL);
    return names[status];
}

enum gnn_status(gnn_errno_status)(int error, enum gnn_status otherwise)
{
    return error == EMFILE || error == ENFILE ? GNN_EFILES : otherwise;
}

/* Puts the remedy behind the message, which is cut if there is no room, unless an error that is forwarded has it. */
static void add_remedy(char message[GNN_ERR_MAX])
{
    static const char remedy[] = "; close other files or raise the limit: ulimit -n";
    const size_t room = GNN_ERR_MAX - sizeof remedy, length = strlen(message);
    if (strstr(message, "ulimit -n") == NULL)
        memcpy(message + (length < room ? length : room), remedy, sizeof remedy);
}

enum gnn_status gnn_err_set(struct gnn_err *err, enum gnn_status status, const char *file, int line, const char *format,
                            ...)
{
    assert(status != GNN_OK);
    assert(format != NULL);
    if (err == NULL || err->status != GNN_OK)
        return status;
    err->status = status;
    err->file = file;
    err->line = line;
    va_list args;
    va_start(args, format);
    const int prefix = status == GNN_ENOMEM ? snprintf(err->message, sizeof err->message, "out of memory: ") : 0;
    (void)vsnprintf(err->message + prefix, sizeof err->message - (size_t)prefix, format, args);
    va_end(args);
    if (status == GNN_EFILES)
        add_remedy(err->message);
    return status;
}

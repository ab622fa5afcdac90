/* SPDX-License-Identifier: MIT */
#include "harness/run/wire.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum gnn_status gnn_wire_send(int fd, const struct gnn_wire_message *message, struct gnn_err *err)
{
    const char *bytes = (const char *)message;
    assert(message->magic == GNN_WIRE_MAGIC);
    assert(message->type <= GNN_WIRE_ERROR);
    for (size_t done = 0; done < sizeof *message;) {
        const ssize_t sent = write(fd, bytes + done, sizeof *message - done);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return gnn_fail(err, GNN_EIO, "writing to the supervisor: %s", strerror(errno));
        done += (size_t)sent;
    }
    return GNN_OK;
}

enum gnn_status gnn_wire_receive(int fd, struct gnn_wire_message *message, bool *end, struct gnn_err *err)
{
    char *const bytes = (char *)message;
    size_t done = 0;
    *end = false;
    while (done < sizeof *message) {
        const ssize_t got = read(fd, bytes + done, sizeof *message - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return gnn_fail(err, GNN_EIO, "reading from the worker: %s", strerror(errno));
        if (got == 0)
            break;
        done += (size_t)got;
    }
    if (done == 0) {
        *end = true;
        return GNN_OK;
    }
    if (done < sizeof *message)
        return gnn_fail(err, GNN_ESHORT, "the worker ended inside a message (%zu of %zu B)", done, sizeof *message);
    if (message->magic != GNN_WIRE_MAGIC)
        return gnn_fail(err, GNN_EFORMAT, "message from the worker starts with %08x, expected %08x", message->magic,
                        (unsigned)GNN_WIRE_MAGIC);
    return GNN_OK;
}

/* SPDX-License-Identifier: MIT */
#include "harness/run/worker/control.h"

#include "harness/base/thread_limits.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

void gnn_control_send(struct gnn_wire_message *message, enum gnn_wire_type type)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER; /* a message is longer than a write is atomic */
    message->magic = GNN_WIRE_MAGIC;
    message->type = type;
    struct gnn_err ignored = {0};
    (void)pthread_mutex_lock(&one_at_a_time);
    (void)!gnn_wire_send(GNN_WORKER_OUT_FD, message, &ignored);
    (void)pthread_mutex_unlock(&one_at_a_time);
}

void gnn_control_error(const struct gnn_err *err)
{
    assert(err->status != GNN_OK);
    struct gnn_wire_message message = {0};
    message.as.error = *err;
    message.as.error.file = NULL; /* an address of this process */
    gnn_control_send(&message, GNN_WIRE_ERROR);
}

/* Listens: any byte but GO, or the end of the pipe, means stop. */
static void *listen_to_supervisor(void *arg)
{
    struct gnn_control *const control = arg;
    struct pollfd fds[] = {{.fd = GNN_WORKER_CONTROL_FD, .events = POLLIN}, {.fd = control->wake_fd, .events = POLLIN}};
    const uint64_t one = 1;
    for (bool more = true; more;) {
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[0].revents == 0)
            return NULL;
        char command = GNN_COMMAND_INTERRUPT;
        more = read(GNN_WORKER_CONTROL_FD, &command, 1) == 1 && command == GNN_COMMAND_GO;
        if (!more)
            atomic_store(control->stop, true);
        if (!more && atomic_load(&control->may_leave))
            _exit(1);
        (void)!write(control->go_fd, &one, sizeof one);
    }
    return NULL;
}

void gnn_control_announce(struct gnn_control *control, struct gnn_wire_message *message, enum gnn_wire_type type)
{
    uint64_t count;
    assert(type == GNN_WIRE_EPOCH_BEGIN || type == GNN_WIRE_EPOCH_END); /* what the supervisor answers with GO */
    assert(control->started);
    gnn_control_send(message, type);
    while (!atomic_load(control->stop) && read(control->go_fd, &count, sizeof count) < 0 && errno == EINTR)
        continue;
}

enum gnn_status gnn_control_open(struct gnn_control *control, atomic_bool *stop, struct gnn_err *err)
{
    assert(!control->started);
    control->stop = stop != NULL ? stop : &control->own_stop;
    control->wake_fd = eventfd(0, EFD_CLOEXEC);
    control->go_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    if (control->wake_fd < 0 || control->go_fd < 0)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "eventfd: %s", strerror(errno));
    const int error = pthread_create(&control->thread, NULL, listen_to_supervisor, control);
    if (error != 0)
        return gnn_fail_thread(err, "the control thread", error, gnn_thread_stack_bytes());
    control->started = true;
    return GNN_OK;
}

void gnn_control_close(struct gnn_control *control)
{
    const uint64_t one = 1;
    if (control->started) {
        (void)!write(control->wake_fd, &one, sizeof one);
        (void)pthread_join(control->thread, NULL);
    }
    if (control->wake_fd >= 0)
        (void)close(control->wake_fd);
    if (control->go_fd >= 0)
        (void)close(control->go_fd);
}

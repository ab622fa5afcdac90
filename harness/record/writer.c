/* SPDX-License-Identifier: MIT */
#include "harness/record/db.h"

#include "harness/base/text_file.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The first line of a small file; "" if it cannot be read. */
static void read_line(const char *path, char *line, size_t line_bytes)
{
    (void)gnn_text_file_read(path, line, line_bytes);
    line[strcspn(line, "\n")] = '\0';
}

/* Field 22 of /proc/PID/stat; 0 when there is no such process. */
static int64_t start_ticks(int64_t pid)
{
    char path[64];
    char line[1024];
    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    read_line(path, line, sizeof line);
    const char *name_end = strrchr(line, ')');
    int64_t ticks = 0;
    if (name_end == NULL ||
        sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNd64,
               &ticks) != 1)
        return 0;
    return ticks;
}

void gnn_writer_self(struct gnn_writer *out)
{
    *out = (struct gnn_writer){.pid = getpid()};
    out->start_ticks = start_ticks(out->pid);
    read_line("/etc/machine-id", out->machine_id, sizeof out->machine_id);
    if (out->machine_id[0] == '\0')
        (void)gethostname(out->machine_id, sizeof out->machine_id - 1);
    read_line("/proc/sys/kernel/random/boot_id", out->boot_id, sizeof out->boot_id);
    const ssize_t length = readlink("/proc/self/ns/pid", out->pid_namespace, sizeof out->pid_namespace - 1);
    assert(length < (ssize_t)sizeof out->pid_namespace);
    out->pid_namespace[length < 0 ? 0 : length] = '\0';
}

bool gnn_writer_may_live(const struct gnn_writer *writer, const struct gnn_writer *self)
{
    if (strcmp(writer->machine_id, self->machine_id) != 0)
        return true;
    if (writer->boot_id[0] != '\0' && strcmp(writer->boot_id, self->boot_id) != 0)
        return false;
    if (strcmp(writer->pid_namespace, self->pid_namespace) != 0)
        return true;
    if (kill((pid_t)writer->pid, 0) != 0 && errno == ESRCH)
        return false;
    const int64_t now_ticks = start_ticks(writer->pid);
    return writer->start_ticks == 0 || now_ticks == 0 || now_ticks == writer->start_ticks;
}

/* SPDX-License-Identifier: MIT */
#include "harness/run/supervisor/spawn.h"

#include "harness/base/thread_limits.h"
#include "harness/run/supervisor/signals.h"
#include "harness/run/wire.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 160, SELF = 0 };

struct arguments {
    char *argv[ARGUMENTS_MAX];
    uint32_t count;
};

static enum gnn_status add_argument(struct arguments *a, const char *text, struct gnn_err *err)
{
    if (a->count + 1 >= ARGUMENTS_MAX || (a->argv[a->count] = strdup(text)) == NULL)
        return gnn_fail(err, GNN_ENOMEM, "argument %u of the worker", a->count);
    a->count++;
    return GNN_OK;
}

static void free_arguments(struct arguments *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        free(a->argv[i]);
}

/* Whether a setting is for a system from a shared object that this run does not use. It was checked here; the worker
 * does not open that object. */
static bool is_of_another_object(const struct gnn_run_config *config, const char *set)
{
    char owner[GNN_SET_MAX];
    (void)snprintf(owner, sizeof owner, "%.*s", (int)strcspn(set, "."), set);
    return gnn_system_place(owner) == UINT32_MAX && strcmp(owner, gnn_run_system_name(config)) != 0;
}

static enum gnn_status build_arguments(const struct gnn_run_config *config, struct arguments *a, struct gnn_err *err)
{
    GNN_TRY(add_argument(a, "oocgnn", err));
    GNN_TRY(add_argument(a, "--worker", err));
    char text[GNN_TEXT_MAX * 2], value[GNN_TEXT_MAX];
    for (const struct gnn_option *o = gnn_run_options; o->name != NULL; o++) {
        gnn_option_format(o, config, value, sizeof value);
        (void)snprintf(text, sizeof text, "%s=%s", o->name, value);
        GNN_TRY(add_argument(a, text, err));
    }
    for (uint32_t i = 0; i < config->set_count; i++) {
        if (is_of_another_object(config, config->sets[i]))
            continue;
        (void)snprintf(text, sizeof text, "set=%s", config->sets[i]);
        GNN_TRY(add_argument(a, text, err));
    }
    return GNN_OK;
}

enum gnn_status gnn_spawn_parse(int argc, char **argv, struct gnn_run_config *config, struct gnn_err *err)
{
    gnn_run_config_defaults(config);
    for (int i = 2; i < argc; i++) {
        char *const equals = strchr(argv[i], '=');
        if (equals == NULL)
            return gnn_fail(err, GNN_EBUG, "worker argument '%s' has no value", argv[i]);
        char name[GNN_NAME_MAX];
        (void)snprintf(name, sizeof name, "%.*s", (int)(equals - argv[i]), argv[i]);
        if (strcmp(name, "set") == 0)
            GNN_TRY(gnn_run_config_set(config, equals + 1, err));
        else
            GNN_TRY(gnn_option_set(gnn_run_options, config, name, equals + 1, err));
    }
    return GNN_OK;
}

/* Moves fd to `target`, which survives exec. */
static bool place_fd(int fd, int target)
{
    return fd == target ? fcntl(fd, F_SETFD, 0) == 0 : dup2(fd, target) == target;
}

/* In the child: only async-signal-safe calls until exec. */
static _Noreturn void become_worker(const struct gnn_cgroup *cgroup, int out_fd, int control_fd, char **argv)
{
    gnn_signals_leave_to_child();
    (void)setpgid(SELF, SELF); /* the terminal's Ctrl-C goes to the supervisor alone */
    if (cgroup != NULL && gnn_cgroup_enter(cgroup) != 0)
        _exit(gnn_errno_status(errno, GNN_OK) == GNN_EFILES ? GNN_CHILD_NO_FILES : GNN_CHILD_NO_GROUP);
    /* Both away from the targets first, so that neither dup2 can close the other. */
    const int high_out = fcntl(out_fd, F_DUPFD, 10), high_control = fcntl(control_fd, F_DUPFD, 10);
    if (high_out < 0 || high_control < 0 || !place_fd(high_out, GNN_WORKER_OUT_FD) ||
        !place_fd(high_control, GNN_WORKER_CONTROL_FD))
        _exit(GNN_CHILD_NO_FILES);
    (void)close(high_out);
    (void)close(high_control);
    (void)execv("/proc/self/exe", argv);
    _exit(127);
}

static void close_pair(const int fds[2])
{
    (void)close(fds[0]);
    (void)close(fds[1]);
}

enum gnn_status gnn_spawn_worker(const struct gnn_run_config *config, const struct gnn_cgroup *cgroup,
                                 struct gnn_child *out, struct gnn_err *err)
{
    int results[2], control[2];
    if (pipe2(results, O_CLOEXEC) != 0)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "pipe: %s", strerror(errno));
    if (pipe2(control, O_CLOEXEC) != 0) {
        close_pair(results);
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "pipe: %s", strerror(errno));
    }
    /* OpenBLAS reads this when it is loaded: the back-end shares products among threads of its own, others would only
     * cost memory under the cap. */
    (void)setenv("OPENBLAS_NUM_THREADS", "1", 1);
    struct arguments arguments = {.count = 0};
    enum gnn_status status = build_arguments(config, &arguments, err);
    const pid_t pid = status == GNN_OK ? fork() : -1;
    if (pid == 0)
        become_worker(cgroup, results[1], control[0], arguments.argv);
    if (status == GNN_OK && pid < 0)
        status = gnn_fail_thread(err, "the worker", errno, 0);
    free_arguments(&arguments);
    if (pid > 0)
        (void)setpgid(pid, pid); /* the child does too: whichever is first, kill(-pid) works from here on */
    (void)close(results[1]);
    (void)close(control[0]);
    if (status != GNN_OK) {
        (void)close(results[0]);
        (void)close(control[1]);
        return status;
    }
    assert(pid > 0);
    *out = (struct gnn_child){.pid = pid, .from_fd = results[0], .control_fd = control[1]};
    return GNN_OK;
}

/* SPDX-License-Identifier: MIT */
#include "harness/base/thread_limits.h"

#include "harness/base/text_file.h"
#include "harness/base/units.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_BYTES = 512, STATUS_BYTES = 8192, GROUPS_BYTES = 8192, MOUNTS_BYTES = 1 << 18, WHY_BYTES = 512 };

static uint64_t limit_of(int resource)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return GNN_UNKNOWN;
    return limit.rlim_cur;
}

/* The number after `name` in the text of a status file. */
static uint64_t number_of(const char *text, const char *name)
{
    const char *const line = strstr(text, name);
    uint64_t number = 0;
    return line != NULL && sscanf(line + strlen(name), " %" SCNu64, &number) == 1 ? number : GNN_UNKNOWN;
}

static bool read_proc(const char *root, const char *name, char *text, size_t text_bytes)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/proc/%s", root, name);
    return gnn_text_file_read(path, text, text_bytes) == 0;
}

static uint64_t address_space(const char *root)
{
    char text[STATUS_BYTES];
    const uint64_t kib = read_proc(root, "self/status", text, sizeof text) ? number_of(text, "VmSize:") : GNN_UNKNOWN;
    return kib == GNN_UNKNOWN ? GNN_UNKNOWN : kib * 1024;
}

/* Counts the threads of all processes of this user that are visible. */
static uint64_t threads_of_user(const char *root)
{
    char path[PATH_BYTES], text[STATUS_BYTES];
    (void)snprintf(path, sizeof path, "%s/proc", root);
    DIR *const processes = opendir(path);
    uint64_t sum = 0;
    if (processes == NULL)
        return GNN_UNKNOWN;
    for (const struct dirent *entry = readdir(processes); entry != NULL; entry = readdir(processes)) {
        char name[sizeof entry->d_name + sizeof "/status"];
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        (void)snprintf(name, sizeof name, "%s/status", entry->d_name);
        if (read_proc(root, name, text, sizeof text) && number_of(text, "\nUid:") == getuid() &&
            number_of(text, "\nThreads:") != GNN_UNKNOWN)
            sum += number_of(text, "\nThreads:");
    }
    (void)closedir(processes);
    return sum;
}

static void read_pids(const char *root, struct gnn_pids_limit *out)
{
    char mounts[MOUNTS_BYTES], groups[GROUPS_BYTES];
    *out = (struct gnn_pids_limit){.limit = GNN_UNKNOWN, .used = GNN_UNKNOWN};
    if (read_proc(root, "self/mountinfo", mounts, sizeof mounts) &&
        read_proc(root, "self/cgroup", groups, sizeof groups))
        gnn_pids_limit_in(root, mounts, groups, out);
}

static bool no_address_space(const struct gnn_thread_limits *l)
{
    return l->address_limit_bytes != GNN_UNKNOWN && l->address_used_bytes != GNN_UNKNOWN &&
           gnn_add_bytes(l->address_used_bytes, l->stack_bytes) > l->address_limit_bytes;
}

static bool is_reached(uint64_t limit, uint64_t used)
{
    return limit != GNN_UNKNOWN && used != GNN_UNKNOWN && used >= limit - limit / 8;
}

/* Where the address space is full, the others are left out: reading them takes stack. */
void gnn_thread_limits_read(const char *root, uint64_t stack_bytes, struct gnn_thread_limits *out)
{
    *out = (struct gnn_thread_limits){.address_limit_bytes = limit_of(RLIMIT_AS),
                                      .address_used_bytes = address_space(root),
                                      .stack_bytes = stack_bytes,
                                      .pids = {.limit = GNN_UNKNOWN, .used = GNN_UNKNOWN},
                                      .user_limit = GNN_UNKNOWN,
                                      .user_used = GNN_UNKNOWN};
    if (no_address_space(out))
        return;
    read_pids(root, &out->pids);
    out->user_limit = limit_of(RLIMIT_NPROC);
    if (out->user_limit != GNN_UNKNOWN)
        out->user_used = threads_of_user(root);
}

void gnn_thread_limits_explain(const struct gnn_thread_limits *l, char *text, size_t text_bytes)
{
    static const char fewer[] = "use fewer threads (--compute-threads, --workers, parameters of the system)";
    char limit[32], used[32], stack[32];
    if (no_address_space(l))
        (void)snprintf(text, text_bytes,
                       "the address space of this process is limited to %s (ulimit -v), %s are in use, and the stack "
                       "of a thread takes %s; %s or smaller stacks (ulimit -s), or raise ulimit -v",
                       gnn_format_bytes(l->address_limit_bytes, limit, sizeof limit),
                       gnn_format_bytes(l->address_used_bytes, used, sizeof used),
                       gnn_format_bytes(l->stack_bytes, stack, sizeof stack), fewer);
    else if (is_reached(l->pids.limit, l->pids.used))
        (void)snprintf(text, text_bytes,
                       "the limit pids.max of control group %.200s is %" PRIu64 " processes and threads, and %" PRIu64
                       " are in use; %s or raise pids.max (docker run --pids-limit=-1)",
                       l->pids.dir, l->pids.limit, l->pids.used, fewer);
    else if (is_reached(l->user_limit, l->user_used))
        (void)snprintf(text, text_bytes,
                       "the limit of this user is %" PRIu64 " processes and threads (ulimit -u), and %" PRIu64
                       " are in use; %s or raise ulimit -u",
                       l->user_limit, l->user_used, fewer);
    else
        (void)snprintf(text, text_bytes,
                       "no limit of this process was reached, so it is one of the machine (kernel.threads-max, "
                       "kernel.pid_max, vm.max_map_count) or its memory; %s or raise that limit",
                       fewer);
}

bool gnn_shell_limits_memory(char *text, size_t text_bytes)
{
    const uint64_t space_bytes = limit_of(RLIMIT_AS), data_bytes = limit_of(RLIMIT_DATA);
    char number[32];
    text[0] = '\0';
    if (space_bytes != GNN_UNKNOWN)
        (void)snprintf(text, text_bytes, "the address space of a process is limited to %s: raise ulimit -v",
                       gnn_format_bytes(space_bytes, number, sizeof number));
    else if (data_bytes != GNN_UNKNOWN)
        (void)snprintf(text, text_bytes, "the data segment of a process is limited to %s: raise ulimit -d",
                       gnn_format_bytes(data_bytes, number, sizeof number));
    return text[0] != '\0';
}

uint64_t gnn_thread_stack_bytes(void)
{
    pthread_attr_t attributes;
    size_t stack_bytes = 0, guard_bytes = 0;
    if (pthread_getattr_default_np(&attributes) != 0)
        return 0;
    (void)pthread_attr_getstacksize(&attributes, &stack_bytes);
    (void)pthread_attr_getguardsize(&attributes, &guard_bytes);
    (void)pthread_attr_destroy(&attributes);
    return gnn_add_bytes(stack_bytes, guard_bytes);
}

enum gnn_status gnn_thread_refused(struct gnn_err *err, const char *file, int line, const char *what, int error,
                                   uint64_t stack_bytes)
{
    struct gnn_thread_limits limits;
    char why[WHY_BYTES];
    assert(error != 0);
    if (error != EAGAIN)
        return gnn_err_set(err, GNN_ENOMEM, file, line, "cannot start %s: %s", what, strerror(error));
    gnn_thread_limits_read("", stack_bytes, &limits);
    gnn_thread_limits_explain(&limits, why, sizeof why);
    return gnn_err_set(err, GNN_ETHREADS, file, line, "cannot start %s: %s: %s", what, strerror(error), why);
}

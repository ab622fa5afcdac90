/* SPDX-License-Identifier: MIT */
#include "harness/run/supervisor/disturbance.h"

#include "harness/base/text_file.h"
#include "harness/dataset/read.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define TELL(d, run, ...) (gnn_run_record_reason((run), __VA_ARGS__), (d)->reasons++)

static void add_file(struct gnn_disturbance *d, const char *dir, const char *name)
{
    assert(d->file_count < GNN_WATCHED_FILES);
    char *const path = d->files[d->file_count].path;
    const int length = snprintf(path, GNN_WATCHED_PATH, "%s/%s", dir, name);
    if (length > 0 && length < GNN_WATCHED_PATH && stat(path, &d->files[d->file_count].before) == 0)
        d->file_count++; /* what is missing ends the run anyway */
}

void gnn_disturbance_start(struct gnn_disturbance *d, const char *dataset_dir, uint64_t dim, enum gnn_feature_type type)
{
    static const char *const names[] = {"indptr", "indices", "indices-8", "labels", "train", "valid", "test"};
    char features[40];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add_file(d, dataset_dir, names[i]);
    if (dim == GNN_UNKNOWN)
        return;
    gnn_meta_features_name((uint32_t)dim, type, features, sizeof features);
    add_file(d, dataset_dir, features);
}

static bool is_in_group(pid_t worker, const char *group)
{
    char path[64], text[4096];
    (void)snprintf(path, sizeof path, "/proc/%ld/cgroup", (long)worker);
    if (gnn_text_file_read(path, text, sizeof text) != 0)
        return true; /* unknown */
    /* "4:memory:/path" of version 1, where other controllers have lines of their own; else "0::/path". */
    const char *line = strstr(text, ":memory:");
    if (line == NULL)
        line = text;
    const char *const found = strstr(line, group);
    return found != NULL && (line == text || found < gnn_next_line(line));
}

/* Whether it was stopped, or goes on after a stop, since the last look. Nothing is reaped. */
static bool was_stopped(pid_t worker)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)worker, &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 && info.si_pid != 0;
}

void gnn_disturbance_look(struct gnn_disturbance *d, pid_t worker, uint64_t limit_bytes, struct gnn_run_record *run)
{
    assert(worker > 0);
    if (!d->cap_changed && limit_bytes != GNN_UNKNOWN && limit_bytes != run->cap_read_back_bytes) {
        d->cap_changed = true;
        TELL(d, run, "another process changed the memory limit from %" PRIu64 " B to %" PRIu64 " B during the run",
             run->cap_read_back_bytes, limit_bytes);
    }
    if (!d->left_group && d->group != NULL && !is_in_group(worker, d->group)) {
        d->left_group = true;
        TELL(d, run, "another process moved the worker out of its control group %s, so it ran without its memory limit",
             d->group);
    }
    if (!d->stopped && was_stopped(worker)) {
        d->stopped = true;
        TELL(d, run, "the worker was stopped (Ctrl-Z or SIGSTOP) during the run: its times are not the machine's");
    }
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void gnn_disturbance_end(struct gnn_disturbance *d, struct gnn_run_record *run)
{
    for (uint32_t i = 0; i < d->file_count; i++) {
        struct stat now;
        if (stat(d->files[i].path, &now) == 0 && same_file(&d->files[i].before, &now))
            continue;
        TELL(d, run, "%s was changed, replaced or removed while the run read it", d->files[i].path);
        return; /* one of them says enough */
    }
}

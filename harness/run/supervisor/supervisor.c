#include "harness/run/supervisor/supervisor.h"

#include "harness/base/log.h"
#include "harness/confine/confine.h"
#include "harness/dataset/prepare.h"
#include "harness/measure/device.h"
#include "harness/measure/environment.h"
#include "harness/measure/measure.h"
#include "harness/measure/page_cache.h"
#include "harness/run/machine.h"
#include "harness/run/record_fill.h"
#include "harness/run/supervisor/progress.h"
#include "harness/run/supervisor/signals.h"
#include "harness/run/supervisor/spawn.h"
#include "harness/run/validity.h"
#include "harness/run/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SERIES_FLUSH_POINTS = 16 };
#define STOP_GRACE_NS UINT64_C(10000000000) /* a stopped worker gets this long to finish its batch */

enum stop_cause { STOP_NONE, STOP_INTERRUPT, STOP_TIME };

struct supervision {
    struct gnn_run_config resolved; /* what was asked, with its words made plain */
    const struct gnn_run_config *config;
    bool modelled; /* the machine is a profile's: nothing of this one is confined, cooled or probed */
    struct gnn_run_record *run;
    char dataset_dir[GNN_TEXT_MAX * 2];
    struct gnn_confine confine;
    struct gnn_device_info device;
    struct gnn_db *db;
    struct gnn_cgroup *cgroup;
    struct gnn_probe *probe;
    struct gnn_child child;
    struct gnn_signals signals;

    uint64_t start_ns, next_probe_ns, stop_ns;
    enum stop_cause cause;
    struct gnn_sample last_sample;
    struct gnn_group_reading epoch_start;
    struct gnn_record_epoch pending; /* waits for its accuracy */
    bool has_pending;
    uint32_t series_flushed;
    struct gnn_validity_facts facts;
    bool done;
    uint64_t clock_ns;         /* of the worker's world at its end */
    struct gnn_err worker_err; /* status GNN_OK: the worker reported none */
    struct gnn_run_progress progress;
};

static uint64_t now_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

/* start + span, at the end of time when that is beyond it. */
static uint64_t later(uint64_t start_ns, uint64_t span_ns)
{
    return gnn_add_bytes(start_ns, span_ns);
}

/* ---- before the worker ---- */

static enum gnn_status find_dataset(struct supervision *s, struct gnn_err *err)
{
    char meta[sizeof s->dataset_dir + 8];
    gnn_run_dataset_dir(s->config, s->dataset_dir, sizeof s->dataset_dir);
    (void)snprintf(meta, sizeof meta, "%s/meta", s->dataset_dir);
    struct stat info;
    if (stat(meta, &info) == 0)
        return GNN_OK;
    if (errno != ENOENT && errno != ENOTDIR)
        return gnn_fail(err, errno == EACCES ? GNN_EPERM : GNN_EIO, "dataset %s: %s: %s", s->config->dataset, meta,
                        strerror(errno));
    if (strchr(s->config->dataset, '/') != NULL)
        return gnn_fail(err, GNN_ENOENT,
                        "--dataset %s: no dataset there (%s is missing); make one with `oocgnn prepare`",
                        s->config->dataset, meta);
    const struct gnn_registry_entry *entry;
    struct gnn_err unknown = {0};
    if (gnn_registry_find(s->config->dataset, &entry, &unknown) != GNN_OK)
        return gnn_fail(err, GNN_ENOENT, "--dataset %s: nothing of that name in %s (%s is missing), and %s",
                        s->config->dataset, s->config->data_dir, meta, unknown.message);
    return gnn_fail(err, GNN_ENOENT,
                    "dataset %s is not prepared (%s is missing); type: oocgnn prepare %s --scale 1/%u "
                    "--data %s",
                    s->config->dataset, meta, s->config->dataset, s->config->scale_divisor, s->config->data_dir);
}

/* A cgroup counts even where nothing is capped; where a cap was asked for, there has to be one. */
static enum gnn_status make_cgroup(struct supervision *s, struct gnn_err *err)
{
    GNN_TRY(gnn_confine_detect(&s->confine, err));
    const bool capped = s->config->memory_bytes != 0 && s->config->cap_kind == GNN_CAP_CGROUP;
    const bool throttled = s->config->device_bps != 0 || s->config->device_iops != 0;
    if (capped && !s->confine.memory_usable)
        return gnn_fail(err, GNN_EPERM,
                        "--memory needs a control group: %s; or --cap program, which limits the program's "
                        "own allocations and not the page cache",
                        s->confine.remedy);
    if (throttled && !s->confine.io_usable)
        return gnn_fail(err, GNN_EPERM, "--device-bps and --device-iops need a writable io control group: %s",
                        s->confine.remedy);
    if (throttled && s->device.major == 0)
        return gnn_fail(err, GNN_ENOTSUP, "--device-bps, --device-iops: no block device is behind %s (%s)",
                        s->dataset_dir, s->device.file_system);
    if (s->config->memory_bytes != 0 && !capped)
        (void)snprintf(s->run->cap_enforcement, sizeof s->run->cap_enforcement, "in-program");
    if (!s->confine.memory_usable)
        return GNN_OK;
    const struct gnn_cgroup_config config = {.memory_bytes = capped ? s->config->memory_bytes : 0,
                                             .swap_bytes = s->config->swap_bytes,
                                             .throttle = {.major = s->device.major,
                                                          .minor = s->device.minor,
                                                          .bps = s->config->device_bps,
                                                          .iops = s->config->device_iops}};
    GNN_TRY(gnn_cgroup_create(&s->confine, &config, &s->cgroup, err));
    if (capped)
        (void)snprintf(s->run->cap_enforcement, sizeof s->run->cap_enforcement, "%s",
                       gnn_cgroup_enforcement(s->cgroup));
    return GNN_OK;
}

static enum gnn_status start_cold(struct supervision *s, struct gnn_err *err)
{
    if (s->config->cold && (strcmp(s->device.file_system, "tmpfs") == 0 || strcmp(s->device.file_system, "ramfs") == 0))
        return gnn_fail(err, GNN_ENOTSUP,
                        "%s lies on %s, in memory, so no start can be cold; keep the dataset on a disk file "
                        "system (ext4, XFS), or give --no-cold",
                        s->dataset_dir, s->device.file_system);
    const char *const paths[] = {s->dataset_dir};
    struct gnn_residency residency;
    if (s->config->cold)
        GNN_TRY(gnn_cache_make_cold(paths, 1, &residency, err));
    else
        GNN_TRY(gnn_cache_residency_all(paths, 1, &residency, err));
    if (s->config->cold && residency.resident_bytes == GNN_UNKNOWN)
        return gnn_fail(err, GNN_EPERM,
                        "a cold start of %s cannot be observed: the kernel tells what is in the page cache only "
                        "to those who own the files or may write them; own a copy, or give --no-cold",
                        s->dataset_dir);
    s->run->resident_start_bytes = residency.resident_bytes;
    s->run->cold_observed = residency.resident_bytes == GNN_UNKNOWN ? -1 : gnn_cache_is_cold(&residency) ? 1 : 0;
    return GNN_OK;
}

static void read_group(const struct supervision *s, struct gnn_group_reading *out)
{
    struct gnn_err ignored = {0};
    gnn_group_reading_unknown(out);
    if (s->cgroup != NULL && gnn_cgroup_read(s->cgroup, out, &ignored) != GNN_OK)
        gnn_group_reading_unknown(out);
}

static enum gnn_status open_probe(struct supervision *s, struct gnn_err *err)
{
    const struct gnn_probe_config probe = {
        .worker_pid = s->child.pid, .disk_major = s->device.major, .disk_minor = s->device.minor, .gpu = true};
    GNN_TRY(gnn_probe_open(&probe, &s->probe, err));
    s->next_probe_ns = later(s->start_ns, s->config->interval_ns);
    gnn_probe_read(s->probe, &s->last_sample.host);
    read_group(s, &s->last_sample.group);
    s->run->cap_read_back_bytes = s->last_sample.group.limit_bytes;
    s->run->swap_read_back_bytes = s->last_sample.group.swap_limit_bytes;
    return GNN_OK;
}

static enum gnn_status prepare_run(struct supervision *s, struct gnn_err *err)
{
    GNN_TRY(gnn_run_config_check(s->config, err));
    GNN_TRY(gnn_machine_resolve(&s->resolved, err));
    if (!gnn_run_dataset_is_computed(s->config))
        GNN_TRY(find_dataset(s, err));
    if (!s->modelled)
        GNN_TRY(gnn_device_find(s->dataset_dir, &s->device, err));
    GNN_TRY(gnn_record_fill_config(s->config, s->run, err));
    GNN_TRY(gnn_environment_capture(&s->run->environment, s->modelled ? NULL : s->dataset_dir, err));
    GNN_TRY(gnn_db_open(s->config->db, GNN_DB_WRITE, &s->db, err));
    GNN_TRY(gnn_signals_open(&s->signals, err));
    if (s->modelled) {
        s->run->cold_observed = 1; /* a modelled page cache starts empty */
    } else {
        GNN_TRY(make_cgroup(s, err));
        GNN_TRY(start_cold(s, err));
    }
    GNN_TRY(gnn_db_begin(s->db, s->run, err));
    GNN_TRY(gnn_spawn_worker(s->config, s->cgroup, &s->child, err));
    s->start_ns = now_ns();
    gnn_run_progress_start(&s->progress, s->config->quiet, s->config->system, s->config->epochs);
    return s->modelled ? GNN_OK : open_probe(s, err);
}
/* ---- while it runs ---- */

static enum gnn_status take_sample(struct supervision *s, struct gnn_err *err)
{
    struct gnn_sample sample;
    struct gnn_series_point point;
    gnn_probe_read(s->probe, &sample.host);
    read_group(s, &sample.group);
    gnn_series_point(s->start_ns, &s->last_sample, &sample, &point);
    s->last_sample = sample;
    GNN_TRY(gnn_run_record_add_point(s->run, &point, err));
    if (s->run->series_count - s->series_flushed < SERIES_FLUSH_POINTS)
        return GNN_OK;
    GNN_TRY(gnn_db_series(s->db, s->run->run_id, s->run->series + s->series_flushed,
                          s->run->series_count - s->series_flushed, err));
    s->series_flushed = s->run->series_count;
    return GNN_OK;
}

/* The epoch that waited for its accuracy is complete: keep it and write it. */
static enum gnn_status flush_epoch(struct supervision *s, struct gnn_err *err)
{
    if (!s->has_pending)
        return GNN_OK;
    s->has_pending = false;
    if (s->run->epoch_count == 0)
        s->run->counters = s->pending.counters;
    else
        gnn_record_fill_add(&s->run->counters, &s->pending.counters);
    GNN_TRY(gnn_run_record_add_epoch(s->run, &s->pending, err));
    return gnn_db_epoch(s->db, s->run->run_id, &s->pending, err);
}

/* Direct I/O is what was observed: after an epoch of feature reads none of the features is in the page cache.
 */
static void observe_direct(struct supervision *s)
{
    char path[sizeof s->dataset_dir + 64];
    struct gnn_residency residency;
    struct gnn_err ignored = {0};
    (void)snprintf(path, sizeof path, "%s/features-d%" PRIu64, s->dataset_dir, s->run->dim);
    if (s->run->direct_observed != -1 || s->config->sample_only ||
        gnn_cache_residency(path, &residency, &ignored) != GNN_OK || residency.resident_bytes == GNN_UNKNOWN)
        return;
    s->run->direct_observed = residency.resident_bytes <= residency.file_bytes / 100 ? 1 : 0;
    s->facts.direct = s->run->direct_observed == 1 && s->pending.counters.requested_bytes != GNN_UNKNOWN;
}

static void end_epoch(struct supervision *s, const struct gnn_wire_epoch *wire)
{
    struct gnn_group_reading before = s->epoch_start, after;
    if (wire->modelled_machine) {
        before = wire->before;
        after = wire->after;
        s->run->cap_read_back_bytes = after.limit_bytes;
        s->last_sample.group = after;
    } else {
        read_group(s, &after);
    }
    gnn_record_fill_epoch(wire, &before, &after, &s->pending);
    s->has_pending = true;
    s->facts.batches_expected = wire->batches_expected;
    if (!s->modelled)
        observe_direct(s);
    gnn_run_progress_epoch(&s->progress, wire->epoch, wire->wall_ns, s->pending.loss);
}

static void let_go(const struct supervision *s)
{
    const char command = GNN_COMMAND_GO;
    (void)!write(s->child.control_fd, &command, 1);
}

static enum gnn_status take_message(struct supervision *s, const struct gnn_wire_message *m, struct gnn_err *err)
{
    switch ((enum gnn_wire_type)m->type) {
    case GNN_WIRE_OPENED:
        s->facts.train_count = m->as.opened.train_count;
        return gnn_record_fill_opened(&m->as.opened, s->run, err);
    case GNN_WIRE_PROGRESS:
        gnn_run_progress_batches(&s->progress, m->as.progress.epoch, m->as.progress.batches_done,
                                 m->as.progress.batches_total, m->as.progress.loss);
        return GNN_OK;
    case GNN_WIRE_EPOCH_BEGIN:
        GNN_TRY(flush_epoch(s, err));
        read_group(s, &s->epoch_start);
        let_go(s);
        return GNN_OK;
    case GNN_WIRE_EPOCH_END:
        end_epoch(s, &m->as.epoch);
        let_go(s);
        return GNN_OK;
    case GNN_WIRE_ACCURACY:
        s->pending.valid_accuracy = m->as.accuracy.valid;
        s->pending.test_accuracy = m->as.accuracy.test;
        gnn_run_progress_accuracy(&s->progress, m->as.accuracy.valid, m->as.accuracy.test);
        return flush_epoch(s, err);
    case GNN_WIRE_DONE:
        s->done = true;
        GNN_TRY(flush_epoch(s, err));
        s->clock_ns = m->as.done.clock_ns;
        if (!gnn_compute_is_modelled(s->config))
            GNN_TRY(gnn_kv_setf(&s->run->environment, err, "model.hash", "%016" PRIx64, m->as.done.model_hash));
        return gnn_kv_setf(&s->run->environment, err, "memory.allocated_peak_bytes", "%" PRIu64,
                           m->as.done.allocated_peak_bytes);
    case GNN_WIRE_ERROR:
        s->worker_err = m->as.error;
        return flush_epoch(s, err);
    }
    return gnn_fail(err, GNN_EBUG, "message of type %u from the worker", m->type);
}

/* The first cause asks, the second insists. */
static void ask_to_stop(struct supervision *s, enum stop_cause cause)
{
    if (s->cause != STOP_NONE) {
        (void)kill(-s->child.pid, SIGKILL);
        return;
    }
    s->cause = cause;
    s->stop_ns = now_ns();
    const char command = cause == STOP_TIME ? GNN_COMMAND_TIME : GNN_COMMAND_INTERRUPT;
    (void)!write(s->child.control_fd, &command, 1);
    if (cause == STOP_INTERRUPT)
        gnn_log_info("stopping after the current mini-batch; once more to kill");
}

static void take_signal(struct supervision *s)
{
    if (gnn_signals_take(&s->signals))
        ask_to_stop(s, STOP_INTERRUPT);
}

/* The limit is one of this clock; the worker watches a modelled one itself. */
static bool has_time_limit(const struct supervision *s)
{
    return !s->modelled && s->config->time_limit_ns != 0;
}

static void check_limits(struct supervision *s)
{
    const uint64_t now = now_ns();
    if (s->cause == STOP_NONE && has_time_limit(s) && now - s->start_ns >= s->config->time_limit_ns)
        ask_to_stop(s, STOP_TIME);
    if (s->cause != STOP_NONE && now - s->stop_ns >= STOP_GRACE_NS)
        (void)kill(-s->child.pid, SIGKILL);
}

static int poll_timeout_ms(const struct supervision *s)
{
    static const uint64_t most_ms = UINT64_C(60) * 1000;
    uint64_t until_ns = s->modelled ? UINT64_MAX : s->next_probe_ns, cause_ns = UINT64_MAX;
    if (s->cause != STOP_NONE)
        cause_ns = later(s->stop_ns, STOP_GRACE_NS);
    else if (has_time_limit(s))
        cause_ns = later(s->start_ns, s->config->time_limit_ns);
    until_ns = cause_ns < until_ns ? cause_ns : until_ns;
    const uint64_t now = now_ns();
    const uint64_t left_ms = until_ns <= now ? 0 : (until_ns - now) / 1000000 + 1;
    return (int)(left_ms < most_ms ? left_ms : most_ms);
}

static enum gnn_status watch(struct supervision *s, struct gnn_err *err)
{
    struct pollfd fds[] = {{.fd = s->child.from_fd, .events = POLLIN}, {.fd = s->signals.fd, .events = POLLIN}};
    for (bool end = false; !end;) {
        if (poll(fds, 2, poll_timeout_ms(s)) < 0 && errno != EINTR)
            return gnn_fail(err, GNN_EIO, "poll: %s", strerror(errno));
        if (fds[1].revents != 0)
            take_signal(s);
        check_limits(s);
        if (!s->modelled && now_ns() >= s->next_probe_ns) {
            GNN_TRY(take_sample(s, err));
            s->next_probe_ns = later(now_ns(), s->config->interval_ns);
        }
        if (fds[0].revents == 0)
            continue;
        struct gnn_wire_message message;
        struct gnn_err torn = {0};
        const enum gnn_status status = gnn_wire_receive(s->child.from_fd, &message, &end, &torn);
        if (status == GNN_ESHORT)
            break; /* killed while it spoke; the exit status says how */
        if (status != GNN_OK)
            return gnn_fail(err, status, "%s", torn.message);
        if (!end)
            GNN_TRY(take_message(s, &message, err));
    }
    return GNN_OK;
}

/* ---- after it ---- */

static int reap(struct supervision *s)
{
    int status = 0;
    if (s->child.pid <= 0)
        return 0;
    while (waitpid(s->child.pid, &status, 0) < 0 && errno == EINTR)
        continue;
    s->child.pid = 0;
    return status;
}

static void judge_killed(struct supervision *s, int wait_status)
{
    struct gnn_run_record *const run = s->run;
    if (run->oom_kills != GNN_UNKNOWN && run->oom_kills > 0) {
        run->status = GNN_RUN_OOM;
        gnn_run_record_reason(run, "the kernel killed the worker: it does not fit into %" PRIu64 " B; raise --memory",
                              s->config->memory_bytes);
        return;
    }
    run->status = GNN_RUN_FAILED;
    if (WIFSIGNALED(wait_status))
        gnn_run_record_reason(run, "the worker died of signal %d (%s)", WTERMSIG(wait_status),
                              strsignal(WTERMSIG(wait_status)));
    else if (WEXITSTATUS(wait_status) == 126)
        gnn_run_record_reason(run, "the worker could not enter its control group");
    else
        gnn_run_record_reason(run, "the worker ended with status %d and no message", WEXITSTATUS(wait_status));
}

static void judge(struct supervision *s, int wait_status)
{
    struct gnn_run_record *const run = s->run;
    if (s->cause == STOP_INTERRUPT) {
        run->status = GNN_RUN_INTERRUPTED;
        gnn_run_record_reason(run, "interrupted by the user");
    } else if (s->cause == STOP_TIME && !s->done) {
        run->status = GNN_RUN_OOT;
        gnn_run_record_reason(run, "the time limit of %.3g s passed", (double)s->config->time_limit_ns * 1e-9);
    } else if (s->worker_err.status == GNN_ETIME) {
        run->status = GNN_RUN_OOT;
        gnn_run_record_reason(run, "%s", s->worker_err.message);
    } else if (s->worker_err.status == GNN_ECAP || s->worker_err.status == GNN_ENOMEM ||
               s->worker_err.status == GNN_EGPU) {
        run->status = s->worker_err.status == GNN_EGPU ? GNN_RUN_GPU_OOM : GNN_RUN_OOM;
        gnn_run_record_reason(run, "%s", s->worker_err.message);
    } else if (s->worker_err.status != GNN_OK) {
        run->status = GNN_RUN_FAILED;
        run->failure = s->worker_err.status;
        gnn_run_record_reason(run, "%s", s->worker_err.message);
    } else if (!s->done || !WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0) {
        judge_killed(s, wait_status);
    } else {
        run->valid = gnn_validity_check(s->config, &s->facts, run) == 0 ? 1 : 0;
        run->status = run->valid == 1 ? GNN_RUN_OK : GNN_RUN_INVALID;
    }
}

static void read_end(struct supervision *s)
{
    if (s->modelled) {
        s->run->oom_kills = 0;
        return;
    }
    struct gnn_group_reading end;
    read_group(s, &end);
    s->run->oom_kills = end.oom_kills;
    if (end.peak_bytes != GNN_UNKNOWN)
        s->run->counters.peak_memory_bytes = end.peak_bytes;
    const char *const paths[] = {s->dataset_dir};
    struct gnn_residency residency;
    struct gnn_err ignored = {0};
    if (gnn_cache_residency_all(paths, 1, &residency, &ignored) == GNN_OK)
        s->run->resident_end_bytes = residency.resident_bytes;
}

/* The verdict is written even where what belongs to it could not be (a full disk). */
static enum gnn_status finish(struct supervision *s, struct gnn_err *err)
{
    enum gnn_status status = flush_epoch(s, err);
    if (status == GNN_OK && s->run->series_count > s->series_flushed)
        status = gnn_db_series(s->db, s->run->run_id, s->run->series + s->series_flushed,
                               s->run->series_count - s->series_flushed, err);
    const enum gnn_status last = gnn_db_finish(s->db, s->run, err);
    return status == GNN_OK ? last : status;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

static void close_supervision(struct supervision *s)
{
    close_fd(s->child.control_fd);
    close_fd(s->child.from_fd);
    if (s->child.pid > 0) {
        (void)kill(-s->child.pid, SIGKILL);
        (void)reap(s);
    }
    gnn_probe_close(s->probe);
    gnn_cgroup_close(s->cgroup);
    gnn_db_close(s->db);
    gnn_signals_close(&s->signals);
}

/* Once the worker was started, what goes wrong on this side ends the run as failed, not unrecorded. */
static enum gnn_status run_started(struct supervision *s, struct gnn_err *err)
{
    struct gnn_err trouble = {0};
    const enum gnn_status status = watch(s, &trouble);
    if (status != GNN_OK)
        (void)kill(-s->child.pid, SIGKILL);
    gnn_run_progress_end(&s->progress);
    const int wait_status = reap(s);
    const uint64_t host_ns = now_ns() - s->start_ns;
    s->run->wall_ns = s->modelled ? s->clock_ns : host_ns;
    if (s->modelled && gnn_kv_setf(&s->run->environment, &trouble, "host.wall_ns", "%" PRIu64, host_ns) != GNN_OK)
        gnn_run_record_reason(s->run, "%s", trouble.message);
    read_end(s);
    if (status == GNN_OK) {
        judge(s, wait_status);
    } else {
        s->run->status = GNN_RUN_FAILED;
        gnn_run_record_reason(s->run, "%s", trouble.message);
    }
    return finish(s, err);
}

enum gnn_status gnn_run_supervised(const struct gnn_run_config *config, struct gnn_run_record *out, struct gnn_err *err)
{
    gnn_run_record_init(out);
    struct supervision *const s = calloc(1, sizeof *s);
    if (s == NULL)
        return gnn_fail(err, GNN_ENOMEM, "supervisor state");
    s->resolved = *config;
    s->config = &s->resolved;
    s->modelled = config->world == GNN_WORLD_SIMULATED;
    s->run = out;
    s->signals.fd = s->child.from_fd = s->child.control_fd = -1;
    enum gnn_status status = prepare_run(s, err);
    if (status == GNN_OK)
        status = run_started(s, err);
    else if (out->run_id != 0) { /* the row exists: it must not stay "running" */
        struct gnn_err ignored = {0};
        out->status = GNN_RUN_FAILED;
        gnn_run_record_reason(out, "%s", err->message);
        (void)!gnn_db_finish(s->db, out, &ignored);
    }
    close_supervision(s);
    free(s);
    return status;
}

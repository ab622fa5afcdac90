/* SPDX-License-Identifier: MIT */
/* One run from configuration to record: prepares, starts the worker, listens to it, judges how it ended. */
#include "harness/run/supervisor/supervisor.h"

#include "harness/base/clock.h"
#include "harness/base/log.h"
#include "harness/base/own_groups.h"
#include "harness/base/plain_text.h"
#include "harness/base/thread_limits.h"
#include "harness/base/units.h"
#include "harness/dataset/blocks.h"
#include "harness/measure/environment.h"
#include "harness/record/notes.h"
#include "harness/record/summary.h"
#include "harness/run/floor.h"
#include "harness/run/identity.h"
#include "harness/run/machine.h"
#include "harness/run/record_fill.h"
#include "harness/run/supervisor/disturbance.h"
#include "harness/run/supervisor/host.h"
#include "harness/run/supervisor/progress.h"
#include "harness/run/supervisor/share.h"
#include "harness/run/supervisor/signals.h"
#include "harness/run/supervisor/spawn.h"
#include "harness/run/validity.h"
#include "harness/run/wire.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SERIES_FLUSH_POINTS = 16 };
#define STOP_GRACE_NS UINT64_C(10000000000) /* a stopped worker gets this long to finish its batch */

enum stop_cause { STOP_NONE, STOP_INTERRUPT, STOP_TIME };

struct supervision {
    struct gnn_run_config config; /* the configuration after defaults and aliases were resolved */
    struct gnn_run_record *run;
    char dataset_dir[GNN_TEXT_MAX * 2];
    struct gnn_run_host *host; /* NULL: the machine is a profile's */
    struct gnn_db *db;
    struct gnn_child child;
    struct gnn_signals signals;
    struct gnn_run_share share;

    uint64_t start_ns, stop_ns;
    uint64_t time_limit_ns; /* on this clock; UINT64_MAX: none, or the worker watches a modelled clock itself */
    enum stop_cause cause;
    struct gnn_disturbance disturbance;
    struct gnn_group_reading epoch_start;
    uint64_t epoch_start_stolen_ns;
    struct gnn_record_epoch pending; /* waits for its accuracy */
    bool has_pending;
    uint32_t series_flushed;
    struct gnn_intent intent; /* the system's, once it is open */
    struct gnn_floor floor;
    struct gnn_validity_facts facts;
    bool opened, done;
    bool rank_lost; /* one of several workers was killed */
    struct gnn_wire_rank_lost lost;
    uint64_t clock_ns;         /* of the worker's world at its end */
    struct gnn_err worker_err; /* status GNN_OK: the worker reported none */
    struct gnn_err db_err;     /* the first write that failed: the run goes on without */
    struct gnn_run_progress progress;
};

/* ---- before the worker ---- */

static bool has_meta(const char *dir)
{
    char meta[GNN_TEXT_MAX * 2 + 8];
    struct stat info;
    (void)snprintf(meta, sizeof meta, "%s/meta", dir);
    return stat(meta, &info) == 0;
}

static enum gnn_status find_dataset(struct supervision *s, struct gnn_err *err)
{
    gnn_run_dataset_dir(&s->config, s->dataset_dir, sizeof s->dataset_dir);
    if (has_meta(s->dataset_dir))
        return GNN_OK;
    if (errno != ENOENT && errno != ENOTDIR)
        return gnn_fail(err, errno == EACCES ? GNN_EPERM : GNN_EIO, "dataset %s: %s/meta: %s", s->config.dataset,
                        s->dataset_dir, strerror(errno));
    return gnn_run_dataset_missing(&s->config, s->dataset_dir, err);
}

/* Compares some blocks of what the run will read with their checksums: before the dataset is evicted, and in this
 * process, which is in no group of the run. */
static enum gnn_status compare_blocks(struct supervision *s, struct gnn_err *err)
{
    const struct gnn_run_config *const c = &s->config;
    struct gnn_blocks_sample sample;
    char dir[GNN_TEXT_MAX * 2];
    if (gnn_run_dataset_is_computed(c) || s->run->dim == GNN_UNKNOWN)
        return GNN_OK;
    GNN_TRY(gnn_blocks_compare_sample(s->dataset_dir, (uint32_t)s->run->dim, c->feature_type,
                                      gnn_id_width_bytes(c->id_width), c->seed, &sample, err));
    if (sample.unknown && !c->quiet)
        gnn_log_info("%s has no checksums of blocks, so a change of its features or neighbour IDs is not noticed; "
                     "`oocgnn prepare %s --add-checksums` adds them",
                     s->dataset_dir, gnn_shell_word(s->dataset_dir, dir, sizeof dir));
    return gnn_kv_setf(&s->run->environment, err, "dataset.blocks_compared", "%" PRIu64, sample.compared);
}

static enum gnn_status fill_identity(struct supervision *s, struct gnn_err *err)
{
    char identity[GNN_CHECKSUM_TEXT];
    GNN_TRY(gnn_run_identity(&s->config, GNN_IDENTITY_RUN, identity, err));
    return gnn_kv_set(&s->run->environment, GNN_IDENTITY_KEY, identity, err);
}

static void start_progress(struct supervision *s)
{
    const struct gnn_run_config *const c = &s->config;
    const struct gnn_run_progress_setup setup = {.out = c->quiet ? NULL : stderr,
                                                 .terminal = isatty(STDERR_FILENO) == 1,
                                                 .now_ns = gnn_host_now_ns,
                                                 .system = gnn_run_system_name(c),
                                                 .dataset = c->dataset,
                                                 .epochs = c->epochs};
    gnn_run_progress_start(&s->progress, &setup);
}

/* Notes a busy machine before the run spends any time on it. */
static void tell_load(const struct supervision *s)
{
    struct gnn_trust trust;
    char text[GNN_NOTES_BYTES];
    gnn_trust_init(&trust);
    gnn_trust_add(&trust, s->run);
    if (!s->config.quiet && gnn_trust_text(&trust, text, sizeof text))
        gnn_log_info("note: %s", text);
}

static enum gnn_status prepare_run(struct supervision *s, struct gnn_err *err)
{
    struct gnn_run_config *const c = &s->config;
    GNN_TRY(gnn_machine_resolve(c, err));
    if (!gnn_run_dataset_is_computed(c))
        GNN_TRY(find_dataset(s, err));
    if (c->world == GNN_WORLD_MEASURED)
        GNN_TRY(gnn_run_host_open(c, s->dataset_dir, &s->host, err));
    s->time_limit_ns = s->host != NULL && c->time_limit_ns != 0 ? c->time_limit_ns : UINT64_MAX;
    GNN_TRY(gnn_record_fill_config(c, s->run, err));
    GNN_TRY(gnn_floor_open(c, &s->run->environment, &s->floor, err));
    GNN_TRY(fill_identity(s, err));
    GNN_TRY(gnn_record_fill_dataset(c, s->dataset_dir, s->run, err));
    GNN_TRY(compare_blocks(s, err));
    GNN_TRY(gnn_environment_capture(&s->run->environment, s->host != NULL ? s->dataset_dir : NULL, err));
    tell_load(s);
    GNN_TRY(gnn_db_open(c->db, GNN_DB_WRITE, &s->db, err));
    GNN_TRY(gnn_signals_open(&s->signals, err));
    if (s->host != NULL)
        GNN_TRY(gnn_run_share_open(&s->share, s->dataset_dir, &s->signals, c->quiet, err));
    GNN_TRY(gnn_run_host_prepare(s->host, s->run, err));
    if (s->host != NULL)
        gnn_disturbance_start(&s->disturbance, s->dataset_dir, s->run->dim, s->config.feature_type);
    if (gnn_run_host_cgroup(s->host) != NULL)
        s->disturbance.group = gnn_cgroup_name(gnn_run_host_cgroup(s->host));
    GNN_TRY(gnn_db_begin(s->db, s->run, err));
    GNN_TRY(gnn_spawn_worker(c, gnn_run_host_cgroup(s->host), &s->child, err));
    assert(s->run->run_id != 0);
    s->start_ns = gnn_host_now_ns();
    start_progress(s);
    return gnn_run_host_watch(s->host, s->child.pid, s->start_ns, s->run, err);
}

/* ---- while it runs ---- */

/* Keeps the first failure of the database, and says so once. What was measured is not thrown away for it: the record is
 * printed at the end, and written once more then. */
static void note_db(struct supervision *s, enum gnn_status status, const struct gnn_err *trouble)
{
    if (status == GNN_OK || s->db_err.status != GNN_OK)
        return;
    s->db_err = *trouble;
    gnn_log_warn("%s; the run continues, and its record is printed at the end", trouble->message);
}

/* Writes the points of the series that are not in the database yet, if there are at least so many. */
static void flush_series(struct supervision *s, uint32_t at_least)
{
    struct gnn_err trouble = {0};
    assert(s->series_flushed <= s->run->series_count);
    const uint32_t count = s->run->series_count - s->series_flushed;
    if (count < at_least || s->db_err.status != GNN_OK)
        return;
    note_db(s, gnn_db_series(s->db, s->run->run_id, s->run->series + s->series_flushed, count, &trouble), &trouble);
    s->series_flushed = s->run->series_count;
}

static enum gnn_status probe_host(struct supervision *s, struct gnn_err *err)
{
    struct gnn_series_point point;
    gnn_run_host_probe(s->host, &point);
    GNN_TRY(gnn_run_record_add_point(s->run, &point, err));
    flush_series(s, SERIES_FLUSH_POINTS);
    return GNN_OK;
}

/* The epoch that waited for its accuracy is complete: keep it and write it. */
static enum gnn_status flush_epoch(struct supervision *s, struct gnn_err *err)
{
    if (!s->has_pending)
        return GNN_OK;
    s->has_pending = false;
    assert(s->run->run_id > 0);
    if (s->run->epoch_count == 0)
        s->run->counters = s->pending.counters;
    else
        gnn_record_counters_add(&s->run->counters, &s->pending.counters);
    GNN_TRY(gnn_run_record_add_epoch(s->run, &s->pending, err));
    struct gnn_err trouble = {0};
    if (s->db_err.status == GNN_OK)
        note_db(s, gnn_db_epoch(s->db, s->run->run_id, &s->pending, &trouble), &trouble);
    return GNN_OK;
}

static void begin_epoch(struct supervision *s, const struct gnn_wire_begin *begin)
{
    const bool modelled = begin->usage.modelled_machine;
    struct gnn_err trouble = {0};
    gnn_run_host_read_group(s->host, &s->epoch_start);
    s->epoch_start_stolen_ns = gnn_run_host_stolen_ns(s->host);
    gnn_run_progress_epoch_begin(&s->progress);
    if (begin->epoch > 0)
        return;
    gnn_record_fill_before(begin, modelled ? &begin->usage.group : &s->epoch_start,
                           modelled ? begin->clock_ns : gnn_host_now_ns() - s->start_ns, &s->run->before);
    note_db(s, gnn_db_before(s->db, s->run->run_id, &s->run->before, &trouble), &trouble);
}

static void end_epoch(struct supervision *s, const struct gnn_wire_epoch *wire)
{
    struct gnn_group_reading before = s->epoch_start, after;
    const uint64_t stolen_ns = gnn_run_host_stolen_ns(s->host);
    if (wire->before.modelled_machine) {
        before = wire->before.group;
        after = wire->after.group;
        s->run->cap_read_back_bytes = after.limit_bytes;
    } else {
        gnn_run_host_read_group(s->host, &after);
        gnn_disturbance_look(&s->disturbance, s->child.pid, after.limit_bytes, s->run);
    }
    gnn_record_fill_epoch(wire, &before, &after,
                          stolen_ns == GNN_UNKNOWN ? GNN_UNKNOWN : stolen_ns - s->epoch_start_stolen_ns, &s->pending);
    s->pending.complete = gnn_intent_epoch_is_complete(&s->intent, wire->epoch, s->config.epochs) ? 1 : 0;
    gnn_floor_add(&s->floor, &s->pending);
    if (wire->trained_otherwise && !s->facts.trained_otherwise) {
        s->facts.trained_otherwise = true;
        s->facts.trained_otherwise_epoch = wire->epoch;
    }
    s->has_pending = true;
    gnn_run_host_observe_direct(s->host, s->run);
    gnn_run_host_observe_cache(s->host, &s->facts.resident_most_bytes);
    gnn_run_progress_epoch(&s->progress, wire->epoch, wire->wall_ns, s->pending.loss);
}

static void let_go(const struct supervision *s)
{
    const char command = GNN_COMMAND_GO;
    assert(s->child.control_fd >= 0);
    (void)!write(s->child.control_fd, &command, 1);
}

static void take_intent(struct supervision *s, const struct gnn_intent *intent)
{
    s->intent = *intent;
    s->facts = (struct gnn_validity_facts){
        .batches_expected = intent->batches, .seeds_expected = intent->seeds, .direct = gnn_intent_all_direct(intent)};
    s->floor.direct = s->facts.direct;
    gnn_run_host_observe_opened(s->host, &s->intent, s->run);
}

static enum gnn_status take_series(struct supervision *s, const struct gnn_wire_series *series, struct gnn_err *err)
{
    assert(series->count <= GNN_WIRE_POINTS);
    for (uint32_t i = 0; i < series->count; i++)
        GNN_TRY(gnn_run_record_add_point(s->run, &series->points[i], err));
    flush_series(s, SERIES_FLUSH_POINTS);
    return GNN_OK;
}

static enum gnn_status take_message(struct supervision *s, const struct gnn_wire_message *m, struct gnn_err *err)
{
    switch ((enum gnn_wire_type)m->type) {
    case GNN_WIRE_OPENED:
        s->opened = true;
        take_intent(s, &m->as.opened.intent);
        GNN_TRY(gnn_run_host_watch_gpu(s->host, &m->as.opened.gpu, s->run, err));
        return gnn_record_fill_opened(&m->as.opened, s->run, err);
    case GNN_WIRE_PROGRESS:
        gnn_run_progress_batches(&s->progress, m->as.progress.epoch, m->as.progress.batches_done,
                                 m->as.progress.batches_total, m->as.progress.loss);
        return GNN_OK;
    case GNN_WIRE_EPOCH_BEGIN:
        GNN_TRY(flush_epoch(s, err));
        begin_epoch(s, &m->as.begin);
        let_go(s);
        return GNN_OK;
    case GNN_WIRE_EPOCH_END:
        end_epoch(s, &m->as.epoch);
        let_go(s);
        return GNN_OK;
    case GNN_WIRE_ACCURACY:
        gnn_record_fill_accuracy(&m->as.accuracy, &s->pending);
        GNN_TRY(gnn_record_fill_splits(&m->as.accuracy, s->run, err));
        gnn_run_progress_accuracy(&s->progress, &m->as.accuracy);
        gnn_run_host_observe_evaluated(s->host);
        return flush_epoch(s, err);
    case GNN_WIRE_SERIES:
        return take_series(s, &m->as.series, err);
    case GNN_WIRE_DONE:
        s->done = true;
        GNN_TRY(flush_epoch(s, err));
        s->clock_ns = m->as.done.clock_ns;
        if (!gnn_compute_is_modelled(&s->config))
            GNN_TRY(gnn_kv_setf(&s->run->environment, err, "model.hash", "%016" PRIx64, m->as.done.model_hash));
        return gnn_kv_setf(&s->run->environment, err, "memory.allocated_peak_bytes", "%" PRIu64,
                           m->as.done.allocated_peak_bytes);
    case GNN_WIRE_RANK_LOST:
        s->rank_lost = true;
        s->lost = m->as.rank_lost;
        return GNN_OK;
    case GNN_WIRE_ERROR:
        s->worker_err = m->as.error;
        return flush_epoch(s, err);
    }
    return gnn_fail(err, GNN_EBUG, "message of type %u from the worker", m->type);
}

/* Asks the worker to stop; a second request kills it. */
static void ask_to_stop(struct supervision *s, enum stop_cause cause)
{
    if (s->cause != STOP_NONE) {
        (void)kill(-s->child.pid, SIGKILL);
        return;
    }
    s->cause = cause;
    s->stop_ns = gnn_host_now_ns();
    const char command = cause == STOP_TIME ? GNN_COMMAND_TIME : GNN_COMMAND_INTERRUPT;
    (void)!write(s->child.control_fd, &command, 1);
    gnn_run_progress_end(&s->progress);
    if (cause == STOP_INTERRUPT)
        gnn_log_info("stopping after the current mini-batch; press Ctrl-C again to stop at once");
}

/* Stops with the worker, which is in a group of its own and did not see the terminal's Ctrl-Z, and goes on with it. */
static void pause_run(struct supervision *s)
{
    const uint64_t from_ns = gnn_host_now_ns();
    (void)kill(-s->child.pid, SIGSTOP);
    (void)raise(SIGSTOP); /* on this thread: it does not go on before the stop */
    (void)kill(-s->child.pid, SIGCONT);
    const uint64_t stopped_ns = gnn_host_now_ns() - from_ns;
    if (s->time_limit_ns != UINT64_MAX)
        s->time_limit_ns = gnn_later_ns(s->time_limit_ns, stopped_ns);
}

static void take_signal(struct supervision *s)
{
    const int number = gnn_signals_take(&s->signals);
    if (number == SIGTSTP)
        pause_run(s);
    else if (number == SIGCONT)
        (void)kill(-s->child.pid, SIGCONT); /* whoever stopped it */
    else if (number != 0) {
        s->run->signal = s->run->signal == 0 ? number : s->run->signal;
        ask_to_stop(s, STOP_INTERRUPT);
    }
}

/* When a worker that runs is asked to stop, or one that was asked is killed. */
static uint64_t next_limit_ns(const struct supervision *s)
{
    return s->cause != STOP_NONE ? gnn_later_ns(s->stop_ns, STOP_GRACE_NS)
                                 : gnn_later_ns(s->start_ns, s->time_limit_ns);
}

static int poll_timeout_ms(const struct supervision *s)
{
    const uint64_t until_ns = gnn_min_u64(gnn_min_u64(gnn_run_host_next_probe_ns(s->host), next_limit_ns(s)),
                                          gnn_run_progress_next_ns(&s->progress));
    const uint64_t now_ns = gnn_host_now_ns();
    const uint64_t left_ms = until_ns <= now_ns ? 0 : (until_ns - now_ns) / 1000000 + 1;
    return (int)gnn_min_u64(left_ms, 60000);
}

static enum gnn_status watch(struct supervision *s, struct gnn_err *err)
{
    struct pollfd fds[] = {{.fd = s->child.from_fd, .events = POLLIN}, {.fd = s->signals.fd, .events = POLLIN}};
    for (bool end = false; !end;) {
        if (poll(fds, 2, poll_timeout_ms(s)) < 0 && errno != EINTR)
            return gnn_fail(err, GNN_EIO, "poll: %s", strerror(errno));
        if (fds[1].revents != 0)
            take_signal(s);
        if (gnn_host_now_ns() >= next_limit_ns(s))
            ask_to_stop(s, STOP_TIME); /* the second time it kills */
        if (gnn_host_now_ns() >= gnn_run_host_next_probe_ns(s->host))
            GNN_TRY(probe_host(s, err));
        gnn_run_progress_tick(&s->progress);
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

/* Waits for the worker's end, then ends and reaps what it left of its process group: several workers are one process
 * that forked the others, and those come to this one (a subreaper) when it dies. */
static int reap(struct supervision *s)
{
    const pid_t pid = s->child.pid;
    int status = 0, ignored;
    siginfo_t info;
    if (pid <= 0)
        return 0;
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        continue;
    (void)kill(-pid, SIGKILL); /* its number is still taken: nobody else's group can have it */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    while (waitpid(-pid, &ignored, 0) > 0 || errno == EINTR)
        continue;
    s->child.pid = 0;
    return status;
}

#define END(run, end, ...) ((run)->status = (end), gnn_run_record_reason((run), __VA_ARGS__))

/* Names the limit that the worker did not fit into: its own, the container's, or the machine's memory. */
static void judge_oom_killed(struct supervision *s, const char *who)
{
    char cap[32];
    uint32_t device;
    const uint64_t inherited_bytes = gnn_run_inherited_bytes(s->run);
    const bool own = s->config.memory_bytes != 0 && s->config.cap_kind == GNN_CAP_CGROUP;
    const bool driver = !s->opened && gnn_compute_is_cuda(&s->config, &device);
    const uint64_t limit_bytes = own                              ? s->config.memory_bytes
                                 : inherited_bytes != GNN_UNKNOWN ? inherited_bytes
                                                                  : gnn_physical_bytes();
    END(s->run, GNN_RUN_OOM, "the kernel killed %s%s: it does not fit into %s%s%s", who,
        driver ? " as it opened (a GPU's driver takes memory of the host too)" : "",
        gnn_format_bytes(limit_bytes, cap, sizeof cap),
        own                              ? "; raise --memory"
        : inherited_bytes != GNN_UNKNOWN ? ", the memory limit of its container or control group; raise that limit"
                                         : ", the memory of this machine",
        s->config.workers > 1 ? " or lower --workers" : "");
}

static void judge_killed(struct supervision *s, int wait_status)
{
    struct gnn_run_record *const run = s->run;
    char who[48] = "the worker";
    if (s->rank_lost) { /* the others, the one that reports to this process among them, were killed after it */
        wait_status = s->lost.wait_status;
        (void)snprintf(who, sizeof who, "worker %u of %u", s->lost.rank, s->config.workers);
    }
    if (run->oom_kills != GNN_UNKNOWN && run->oom_kills > 0) {
        judge_oom_killed(s, who);
        return;
    }
    run->status = GNN_RUN_FAILED;
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == GNN_CHILD_NO_FILES)
        run->failure = GNN_EFILES;
    if (WIFSIGNALED(wait_status))
        gnn_run_record_reason(run, "%s died of signal %d (%s)", who, WTERMSIG(wait_status),
                              strsignal(WTERMSIG(wait_status)));
    else if (WEXITSTATUS(wait_status) == GNN_CHILD_NO_FILES)
        gnn_run_record_reason(run,
                              "cannot start the worker: too few file descriptors are left; raise the limit: ulimit -n");
    else if (WEXITSTATUS(wait_status) == GNN_CHILD_NO_GROUP)
        gnn_run_record_reason(run, "the worker could not enter its control group");
    else
        gnn_run_record_reason(run, "%s ended with status %d and no message", who, WEXITSTATUS(wait_status));
}

/* An allocation that the shell's limits refuse is a failure of this machine, not a result of the system. */
static void judge_error(struct supervision *s)
{
    struct gnn_run_record *const run = s->run;
    const enum gnn_status status = s->worker_err.status;
    char limits[128] = "";
    run->status = GNN_RUN_FAILED;
    if (status == GNN_ENOMEM && gnn_shell_limits_memory(limits, sizeof limits)) {
        run->failure = GNN_ENOTSUP;
        gnn_run_record_reason(run, "%s (%s)", s->worker_err.message, limits);
        return;
    }
    if (status == GNN_EGPU)
        run->status = GNN_RUN_GPU_OOM;
    else if (status == GNN_ECAP || status == GNN_ENOMEM)
        run->status = GNN_RUN_OOM;
    else
        run->failure = status;
    gnn_run_record_reason(run, "%s", s->worker_err.message);
}

static void judge(struct supervision *s, int wait_status)
{
    struct gnn_run_record *const run = s->run;
    if (s->cause == STOP_INTERRUPT) {
        END(run, GNN_RUN_INTERRUPTED, "interrupted by the user");
    } else if (s->cause == STOP_TIME && !s->done) {
        END(run, GNN_RUN_OOT, "the time limit of %.3g s passed", (double)s->config.time_limit_ns * 1e-9);
    } else if (s->worker_err.status == GNN_ETIME) {
        END(run, GNN_RUN_OOT, "%s", s->worker_err.message);
    } else if (s->worker_err.status == GNN_ENUMBER) {
        run->valid = 0;
        END(run, GNN_RUN_INVALID, "%s", s->worker_err.message);
    } else if (s->worker_err.status != GNN_OK) {
        judge_error(s);
    } else if (!s->done || !WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0) {
        judge_killed(s, wait_status);
    } else {
        run->valid = gnn_validity_check(&s->config, &s->facts, run) == 0 ? 1 : 0;
        if (s->disturbance.reasons > 0)
            run->valid = 0;
        run->status = run->valid == 1 ? GNN_RUN_OK : GNN_RUN_INVALID;
    }
}

/* Writes once more what a full disk, say, had refused: there may be room by now. */
static enum gnn_status write_again(struct supervision *s, struct gnn_err *err)
{
    struct gnn_run_record *const run = s->run;
    for (uint32_t e = 0; e < run->epoch_count; e++)
        GNN_TRY(gnn_db_epoch(s->db, run->run_id, &run->epochs[e], err));
    return gnn_db_series(s->db, run->run_id, run->series, run->series_count, err);
}

/* The verdict is written even where what belongs to it could not be. */
static enum gnn_status finish(struct supervision *s, struct gnn_err *err)
{
    struct gnn_err again = {0};
    enum gnn_status status = flush_epoch(s, err);
    flush_series(s, 1);
    if (s->db_err.status != GNN_OK && write_again(s, &again) == GNN_OK)
        s->db_err = (struct gnn_err){0};
    if (s->db_err.status != GNN_OK)
        gnn_run_record_reason(s->run, "not all of this run is stored: %s", s->db_err.message);
    GNN_NEXT(status, gnn_db_finish(s->db, s->run, err));
    if (status == GNN_OK && s->db_err.status != GNN_OK)
        return gnn_fail(err, s->db_err.status, "%s", s->db_err.message);
    return status;
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
    gnn_run_host_close(s->host);
    gnn_run_share_close(&s->share);
    gnn_db_close(s->db);
    gnn_signals_close(&s->signals);
}

/* Sets a key of the environment; a failure is a reason of the record. */
static void note_count(struct supervision *s, const char *key, uint64_t count)
{
    struct gnn_err trouble = {0};
    if (gnn_kv_setf(&s->run->environment, &trouble, key, "%" PRIu64, count) != GNN_OK)
        gnn_run_record_reason(s->run, "%s", trouble.message);
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
    const uint64_t host_ns = gnn_host_now_ns() - s->start_ns;
    s->run->wall_ns = s->host != NULL ? host_ns : s->clock_ns;
    if (s->host == NULL)
        note_count(s, "host.wall_ns", host_ns);
    gnn_run_host_end(s->host, s->run, &s->facts.peak_bytes, &s->facts.resident_most_bytes);
    if (s->facts.peak_bytes != GNN_UNKNOWN)
        note_count(s, "memory.peak_bytes", s->facts.peak_bytes);
    if (s->facts.resident_most_bytes != 0)
        note_count(s, "dataset.resident_most_bytes", s->facts.resident_most_bytes);
    gnn_disturbance_end(&s->disturbance, s->run);
    if (gnn_run_share_end(&s->share, s->run, &trouble) != GNN_OK)
        gnn_run_record_reason(s->run, "%s", trouble.message);
    if (status == GNN_OK) {
        judge(s, wait_status);
    } else {
        END(s->run, GNN_RUN_FAILED, "%s", trouble.message);
    }
    return finish(s, err);
}

enum gnn_status gnn_run_supervised(const struct gnn_run_config *config, struct gnn_run_record *out, struct gnn_err *err)
{
    struct supervision state = {.config = *config,
                                .run = out,
                                .signals.fd = -1,
                                .share.lock_fd = -1,
                                .child = {.from_fd = -1, .control_fd = -1}};
    struct supervision *const s = &state;
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    gnn_run_record_init(out);
    enum gnn_status status = prepare_run(s, err);
    if (status == GNN_OK)
        status = run_started(s, err);
    else if (out->run_id != 0) { /* the row exists: it must not stay "running" */
        struct gnn_err ignored = {0};
        END(out, GNN_RUN_FAILED, "%s", err->message);
        (void)!gnn_db_finish(s->db, out, &ignored);
    }
    close_supervision(s);
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "harness/cli/sweep_run.h"

#include "harness/base/clock.h"
#include "harness/base/log.h"
#include "harness/base/thread_limits.h"
#include "harness/base/units.h"
#include "harness/cli/args.h"
#include "harness/cli/outputs.h"
#include "harness/cli/run_args.h"
#include "harness/cli/sweep_results.h"
#include "harness/run/sweep/dataset.h"
#include "harness/run/sweep/lookup.h"
#include "harness/run/sweep/order.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* EXIT_NO_TIME is the exit status of a child whose run has a result, but not a time. */
enum { COPY_BYTES = 4096, EXIT_NO_TIME = 64 };
_Static_assert((int)EXIT_NO_TIME < (int)GNN_EXIT_SIGNAL, "it is no interruption");

/* A cell that runs in a process of its own, what it prints kept until it is over. */
struct child {
    pid_t pid; /* 0: none */
    uint32_t cell;
    FILE *out;
    uint64_t start_ns;
};

struct sweep {
    const struct gnn_job *job;
    const struct gnn_sweep_settings *settings;
    struct gnn_sweep_order order;
    uint32_t *round;       /* (count) the cells of the round that runs */
    uint32_t *visits;      /* (count) rounds in which a cell is done with */
    uint64_t *expected_ns; /* (count) of this machine's time; GNN_UNKNOWN */
    uint64_t spent_ns;     /* by `timed` runs */
    uint32_t number;       /* of the round that runs */
    uint32_t ran, passed, failed;
    uint32_t
        timed; /* of those that ran: searches, and runs without out of memory and timeouts, which take other times */
    int worst;
    bool ended; /* interrupted, or a failure ends it */
    bool interrupted;
    const atomic_bool *stop;
    struct child children[GNN_SWEEP_JOBS_MAX];
    uint32_t running;
};

/* ---- how far it is ---- */

/* Estimates the time of the cells that are left; GNN_UNKNOWN before anything is known. */
static uint64_t left_ns(const struct sweep *s)
{
    const bool measured = s->timed > 0;
    uint64_t left = 0;
    for (uint32_t i = 0; i < s->job->count; i++) {
        const uint64_t rounds = s->settings->repeat - gnn_min_u32(s->visits[i], s->settings->repeat);
        if (rounds == 0 || (s->settings->only != 0 && s->settings->only != i + 1))
            continue;
        if (s->expected_ns[i] == GNN_UNKNOWN && !measured)
            return GNN_UNKNOWN;
        left += rounds * (s->expected_ns[i] != GNN_UNKNOWN ? s->expected_ns[i] : s->spent_ns / s->timed);
    }
    return left / s->settings->jobs;
}

static uint32_t runs_planned(const struct sweep *s)
{
    return (s->settings->only != 0 ? 1 : s->job->count) * s->settings->repeat;
}

static uint32_t runs_ended(const struct sweep *s)
{
    return s->ran + s->passed + s->failed;
}

static void tell_progress(const struct sweep *s)
{
    char text[64];
    const uint64_t left = left_ns(s);
    gnn_log_info("%u of %u runs%s%s", runs_ended(s), runs_planned(s),
                 left == GNN_UNKNOWN || left == 0 ? "" : ", time left about ",
                 left == GNN_UNKNOWN || left == 0 ? "" : gnn_format_duration(left, text, sizeof text));
}

static void tell_interrupted(const struct sweep *s)
{
    const uint32_t left = runs_planned(s) - runs_ended(s);
    (void)fprintf(stderr, "oocgnn: Interrupted: %u run%s made", s->ran, s->ran == 1 ? "" : "s");
    if (s->passed > 0)
        (void)fprintf(stderr, ", %u skipped", s->passed);
    if (s->failed > 0)
        (void)fprintf(stderr, ", %u failed", s->failed);
    (void)fprintf(stderr, ", %u left.", left);
    if (left > 0) {
        (void)fputs(" Continue with: ", stderr);
        gnn_cli_print_words(&s->settings->words, s->settings->more, stderr);
    }
    (void)fputc('\n', stderr);
}

/* How a cell ended. */
struct ending {
    int exit_status;
    bool interrupted, timed; /* timed: a search, or a run that is ok, so that it took what such a run takes */
    uint64_t took_ns;
};

/* Books a cell that ended. One that was interrupted is still to run. */
static void book(struct sweep *s, uint32_t cell, struct ending ending)
{
    const int exit_status = ending.exit_status;
    if (ending.interrupted) {
        s->ended = s->interrupted = true;
        return;
    }
    s->visits[cell]++;
    if (exit_status == GNN_EXIT_OK) {
        s->ran++;
        s->timed += ending.timed ? 1 : 0;
        s->spent_ns += ending.timed ? ending.took_ns : 0;
    } else {
        s->failed++;
    }
    s->worst = exit_status > s->worst ? exit_status : s->worst;
    if (exit_status != GNN_EXIT_OK && !s->settings->keep_going)
        s->ended = true;
    if (!s->ended)
        tell_progress(s);
}

static void book_error(struct sweep *s, uint32_t cell, const struct gnn_err *err)
{
    const int exit_status = gnn_cli_failed(err);
    book(s, cell, (struct ending){.exit_status = exit_status, .interrupted = err->status == GNN_ECANCELLED});
}

/* ---- one cell ---- */

/* Finds the next run of a configuration in this round, by the records. *due: there is one. */
static enum gnn_status next_run(const struct sweep *s, uint32_t cell, struct gnn_search_state *next, bool *due,
                                struct gnn_err *err)
{
    const struct gnn_job_cell *const c = &s->job->cells[cell];
    const bool any_build = s->settings->any_build, searches = c->search.option[0] != '\0';
    uint32_t done = 0;
    GNN_TRY(gnn_search_look_up(&c->search, &c->config, any_build, next, err));
    if (next->found && (s->settings->resume || searches))
        GNN_TRY(gnn_sweep_find(&next->config, any_build, 0, NULL, &done, err));
    *due = next->open || (next->found && done <= s->number);
    return GNN_OK;
}

/* Whether there is something to run; a cell that is done, refused or in trouble is booked. */
static bool is_due(struct sweep *s, uint32_t cell)
{
    const struct gnn_job_cell *const c = &s->job->cells[cell];
    struct gnn_search_state next;
    struct gnn_err err = {0};
    bool due;
    if (c->refusal[0] != '\0') {
        gnn_log_warn("configuration %u [%s] is not possible: %s", cell + 1, c->section, c->refusal);
        s->visits[cell]++;
        s->passed++;
        return false;
    }
    if (next_run(s, cell, &next, &due, &err) != GNN_OK) {
        book_error(s, cell, &err);
        s->ended = true; /* a database that cannot be read tells of no cell */
        return false;
    }
    if (!due) {
        s->visits[cell]++;
        s->passed++;
        return false;
    }
    if (s->settings->prepare && gnn_sweep_dataset_prepare(&c->config, s->stop, &err) != GNN_OK) {
        book_error(s, cell, &err);
        return false;
    }
    gnn_log_info("configuration %u of %u [%s]%s", cell + 1, s->job->count, c->section, s->number > 0 ? ", again" : "");
    return true;
}

/* Runs the cell, or what is left of its search, and tells the records. */
static struct ending run_cell(const struct sweep *s, uint32_t cell, bool quiet)
{
    const struct gnn_search *const search = &s->job->cells[cell].search;
    const bool searches = search->option[0] != '\0';
    const uint64_t start_ns = gnn_host_now_ns();
    struct ending ending = {.exit_status = GNN_EXIT_OK};
    struct gnn_search_state next;
    struct gnn_err err = {0};
    bool due = true;
    for (uint32_t runs = 0; ending.exit_status == GNN_EXIT_OK && !ending.interrupted && (runs == 0 || searches);
         runs++) {
        enum gnn_run_status end = GNN_RUN_FAILED;
        if (next_run(s, cell, &next, &due, &err) != GNN_OK)
            return (struct ending){.exit_status = gnn_cli_failed(&err)};
        if (!due)
            break;
        if (next.open)
            gnn_log_info("configuration %u: run %u of the search for %s", cell + 1, runs + 1, search->option);
        next.config.quiet = next.config.quiet || quiet;
        ending.exit_status = s->settings->silent ? gnn_run_untold(&next.config, &end)
                                                 : gnn_run_and_show(&next.config, s->settings->json, &end);
        ending.interrupted = end == GNN_RUN_INTERRUPTED;
        ending.timed = searches || end == GNN_RUN_OK;
    }
    ending.took_ns = gnn_host_now_ns() - start_ns;
    return ending;
}

static void run_here(struct sweep *s, uint32_t cell)
{
    const struct ending ending = run_cell(s, cell, false);
    (void)fflush(stdout); /* before messages that go to the same file; that it failed shows at the end */
    book(s, cell, ending);
}

/* ---- several at once ---- */

/* In the child: a process group of its own, so that a Ctrl-C reaches it once, through the parent. */
static void become_cell(const struct sweep *s, uint32_t cell, int out_fd)
{
    static const int taken[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now;
    const struct sigaction normal = {.sa_handler = SIG_DFL};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (sigaction(taken[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            (void)sigaction(taken[i], &normal, NULL);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (dup2(out_fd, STDOUT_FILENO) < 0)
        _exit(GNN_EXIT_FAILED);
    const struct ending ending = run_cell(s, cell, true);
    const bool told = fflush(stdout) == 0;
    const bool has_time = ending.timed || ending.exit_status != GNN_EXIT_OK;
    _exit(!ending.interrupted && !told ? GNN_EXIT_FAILED : has_time ? ending.exit_status : EXIT_NO_TIME);
}

static void print_kept(FILE *kept)
{
    char text[COPY_BYTES];
    size_t got;
    rewind(kept);
    while ((got = fread(text, 1, sizeof text, kept)) > 0)
        (void)fwrite(text, 1, got, stdout);
    (void)fflush(stdout);
}

static void stop_children(struct sweep *s)
{
    for (uint32_t i = 0; i < s->settings->jobs; i++)
        if (s->children[i].pid > 0)
            (void)kill(s->children[i].pid, SIGTERM);
}

/* Whether nothing more is to be started; a signal is noticed here. */
static bool is_over(struct sweep *s)
{
    if (!s->ended && atomic_load(s->stop)) {
        s->ended = s->interrupted = true;
        stop_children(s);
    }
    return s->ended;
}

/* Waits for the end of a child and returns its place among the children. Returns `jobs` where the process was left by a
 * run of this one, or where no child can be waited for because SIGCHLD is ignored: then all are taken for lost. */
static uint32_t wait_for_one(struct sweep *s, int *status)
{
    pid_t pid;
    *status = 0;
    while ((pid = waitpid(-1, status, 0)) < 0 && errno == EINTR)
        (void)is_over(s);
    if (pid < 0) {
        s->ended = true;
        *status = GNN_EXIT_FAILED << 8; /* as of a process that ended so */
    }
    for (uint32_t i = 0; i < s->settings->jobs; i++)
        if (s->children[i].pid > 0 && (pid < 0 || s->children[i].pid == pid))
            return i;
    return s->settings->jobs;
}

/* Whether a child was interrupted: by a signal of its own, which is noted, or before it could catch ours. */
static bool was_interrupted(const struct sweep *s, int status)
{
    if (WIFSIGNALED(status))
        return s->interrupted && WTERMSIG(status) == SIGTERM;
    if (!WIFEXITED(status) || WEXITSTATUS(status) <= GNN_EXIT_SIGNAL)
        return false;
    gnn_cli_note_signal(WEXITSTATUS(status) - GNN_EXIT_SIGNAL);
    return true;
}

/* Waits for the end of one child and books it. */
static void reap_one(struct sweep *s)
{
    int status;
    assert(s->running > 0);
    const uint32_t at = wait_for_one(s, &status);
    if (at == s->settings->jobs)
        return;
    struct child *const child = &s->children[at];
    child->pid = 0;
    s->running--;
    print_kept(child->out);
    (void)fclose(child->out);
    const bool interrupted = was_interrupted(s, status);
    if (WIFSIGNALED(status) && !interrupted)
        gnn_log_warn("configuration %u: its process was ended by signal %d", child->cell + 1, WTERMSIG(status));
    const int exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : GNN_EXIT_FAILED;
    const bool timed = exit_status == GNN_EXIT_OK;
    book(s, child->cell,
         (struct ending){.exit_status = exit_status == EXIT_NO_TIME ? GNN_EXIT_OK : exit_status,
                         .interrupted = interrupted,
                         .timed = timed,
                         .took_ns = gnn_host_now_ns() - child->start_ns});
}

static enum gnn_status start_child(struct sweep *s, uint32_t cell, struct gnn_err *err)
{
    uint32_t at = 0;
    while (at < s->settings->jobs && s->children[at].pid != 0)
        at++;
    assert(at < s->settings->jobs);
    FILE *const out = tmpfile();
    if (out == NULL)
        return gnn_fail(err, GNN_EIO, "a file for what configuration %u prints: %s", cell + 1, strerror(errno));
    (void)fcntl(fileno(out), F_SETFD, FD_CLOEXEC);
    (void)fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0)
        become_cell(s, cell, fileno(out));
    if (pid < 0) {
        const int failed = errno;
        (void)fclose(out);
        return gnn_fail_thread(err, "a process of the sweep", failed, 0);
    }
    s->children[at] = (struct child){.pid = pid, .cell = cell, .out = out, .start_ns = gnn_host_now_ns()};
    s->running++;
    return GNN_OK;
}

static void run_beside_others(struct sweep *s, uint32_t cell)
{
    struct gnn_err err = {0};
    while (s->running == s->settings->jobs)
        reap_one(s);
    if (!is_over(s) && start_child(s, cell, &err) != GNN_OK)
        book_error(s, cell, &err);
}

/* ---- all ---- */

static bool is_chosen(const struct sweep *s, uint32_t cell)
{
    return s->settings->only == 0 || s->settings->only == cell + 1;
}

/* Whether cells of this world may run beside each other: a virtual clock does not see the neighbours. */
static bool shares_the_machine(const struct sweep *s, uint32_t cell)
{
    return s->settings->jobs > 1 && s->job->cells[cell].config.world == GNN_WORLD_SIMULATED;
}

static void run_round(struct sweep *s, uint32_t round)
{
    s->number = round;
    gnn_sweep_round(&s->order, round, s->round);
    for (int turn = 0; turn < 2; turn++) { /* those beside each other, then those that want the machine */
        for (uint32_t i = 0; i < s->job->count && !is_over(s); i++) {
            const uint32_t cell = s->round[i];
            const bool shares = shares_the_machine(s, cell);
            if (!is_chosen(s, cell) || shares != (turn == 0) || !is_due(s, cell))
                continue;
            if (shares)
                run_beside_others(s, cell);
            else
                run_here(s, cell);
        }
        while (s->running > 0)
            reap_one(s);
    }
}

static enum gnn_status open_sweep(struct sweep *s, struct gnn_err *err)
{
    const uint32_t count = s->job->count;
    s->round = calloc(count + 1, sizeof *s->round);
    s->visits = calloc(count + 1, sizeof *s->visits);
    s->expected_ns = calloc(count + 1, sizeof *s->expected_ns);
    if (s->round == NULL || s->visits == NULL || s->expected_ns == NULL)
        return gnn_fail(err, GNN_ENOMEM, "the state of %u configurations", count);
    GNN_TRY(gnn_sweep_order_open(s->job, &s->order, err));
    for (uint32_t i = 0; i < count; i++) {
        struct gnn_run_cost cost = {.host_ns = GNN_UNKNOWN};
        struct gnn_err ignored = {0}; /* the run itself says what is wrong with its database */
        if (s->job->cells[i].refusal[0] == '\0' && s->job->cells[i].search.option[0] == '\0')
            (void)!gnn_sweep_cost(&s->job->cells[i].config, &cost, &ignored);
        s->expected_ns[i] = s->job->cells[i].refusal[0] == '\0' ? cost.host_ns : 0;
    }
    return GNN_OK;
}

/* Fails before datasets are prepared for runs that could not be recorded. */
static enum gnn_status check_databases(const struct sweep *s, struct gnn_err *err)
{
    const char *last = "";
    for (uint32_t i = 0; i < s->job->count; i++) {
        const struct gnn_job_cell *const c = &s->job->cells[i];
        if (!is_chosen(s, i) || c->refusal[0] != '\0' || strcmp(c->config.db, last) == 0)
            continue;
        last = c->config.db;
        GNN_TRY(gnn_db_check_name(last, err));
        GNN_TRY(gnn_cli_check_out_file("--db", last, err));
    }
    return GNN_OK;
}

static void tell_end(const struct sweep *s)
{
    const struct gnn_sweep_settings *const settings = s->settings;
    if (s->ran + s->passed > 0 && !settings->silent) /* stdout has JSON objects only */
        gnn_sweep_show_results(s->job, settings->only, settings->any_build, settings->json ? stderr : stdout);
    gnn_log_info("%u run%s made, %u skipped, %u failed", s->ran, s->ran == 1 ? "" : "s", s->passed, s->failed);
}

int gnn_sweep_run(const struct gnn_job *job, const struct gnn_sweep_settings *settings, bool *interrupted)
{
    struct gnn_err err = {0};
    struct sweep *const s = calloc(1, sizeof *s);
    assert(settings->jobs >= 1);
    assert(settings->jobs <= GNN_SWEEP_JOBS_MAX);
    assert(settings->repeat >= 1);
    if (interrupted != NULL)
        *interrupted = false;
    if (s == NULL) {
        (void)gnn_fail(&err, GNN_ENOMEM, "the sweep");
        return gnn_cli_failed(&err);
    }
    *s = (struct sweep){.job = job, .settings = settings, .stop = gnn_cli_stop_on_signals()};
    if (check_databases(s, &err) != GNN_OK || open_sweep(s, &err) != GNN_OK)
        s->worst = gnn_cli_failed(&err);
    else
        for (uint32_t round = 0; round < settings->repeat && !is_over(s); round++)
            run_round(s, round);
    if (s->interrupted)
        tell_interrupted(s);
    else
        tell_end(s);
    const int worst = s->interrupted ? gnn_cli_exit_interrupted() : s->worst;
    if (interrupted != NULL)
        *interrupted = s->interrupted;
    gnn_sweep_order_close(&s->order);
    free(s->round);
    free(s->visits);
    free(s->expected_ns);
    free(s);
    return worst;
}

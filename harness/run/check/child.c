/* SPDX-License-Identifier: MIT */
/* A trial in a process of its own. */
#include "harness/run/check/trial.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a trial writes to stderr is kept in a file: of many trials with the same warnings one is shown. */
static void show_said(FILE *said)
{
    char piece[512];
    rewind(said);
    for (size_t bytes; (bytes = fread(piece, 1, sizeof piece, said)) > 0;)
        (void)fwrite(piece, 1, bytes, stderr);
}

/* Writes the last line that is not empty, such as that of an assertion. */
static void last_said(FILE *said, char *text, size_t bytes)
{
    char line[GNN_TRIAL_TEXT / 2 - 2];
    text[0] = '\0';
    rewind(said);
    while (fgets(line, sizeof line, said) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0')
            (void)snprintf(text, bytes, ": %s", line);
    }
}

static _Noreturn void be_child(const struct gnn_trial_setup *setup, int out_fd, FILE *said)
{
    struct gnn_trial_outcome *const out = calloc(1, sizeof *out);
    (void)signal(SIGALRM, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)alarm(setup->time_limit_s);
    (void)dup2(fileno(said), STDERR_FILENO);
    if (out == NULL)
        _exit(1);
    gnn_trial_here(setup, out);
    const char *at = (const char *)out;
    for (size_t left = sizeof *out; left > 0;) {
        const ssize_t written = write(out_fd, at, left);
        if (written <= 0)
            _exit(1);
        at += written;
        left -= (size_t)written;
    }
    _exit(0);
}

static bool read_whole(int fd, void *to, size_t bytes)
{
    for (char *at = to; bytes > 0;) {
        const ssize_t got = read(fd, at, bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

/* How a process ended that sent nothing. */
static void describe_end(int wait_status, uint32_t limit_s, FILE *said, char *text, size_t bytes)
{
    char line[GNN_TRIAL_TEXT / 2];
    last_said(said, line, sizeof line);
    if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGALRM)
        (void)snprintf(text, bytes, "it did not end within %u s%s", limit_s, line);
    else if (WIFSIGNALED(wait_status))
        (void)snprintf(text, bytes, "the process was ended by signal %d (%s)%s", WTERMSIG(wait_status),
                       strsignal(WTERMSIG(wait_status)), line);
    else
        (void)snprintf(text, bytes, "the process ended with status %d%s", WEXITSTATUS(wait_status), line);
}

static enum gnn_status run_child(const struct gnn_trial_setup *setup, FILE *said, struct gnn_trial_outcome *out,
                                 struct gnn_err *err)
{
    int fds[2], wait_status = 0;
    if (pipe(fds) != 0)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "pipe: %s", strerror(errno));
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0) {
        const int cause = errno;
        (void)close(fds[0]);
        (void)close(fds[1]);
        return gnn_fail(err, GNN_ETHREADS, "a process for the check: %s", strerror(cause));
    }
    if (pid == 0) {
        (void)close(fds[0]);
        be_child(setup, fds[1], said);
    }
    (void)close(fds[1]);
    const bool whole = read_whole(fds[0], out, sizeof *out);
    (void)close(fds[0]);
    while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    if (!whole) {
        *out = (struct gnn_trial_outcome){.ended = false};
        describe_end(wait_status, setup->time_limit_s, said, out->message, sizeof out->message);
    }
    return GNN_OK;
}

enum gnn_status gnn_trial_run(const struct gnn_trial_setup *setup, struct gnn_trial_outcome *out, struct gnn_err *err)
{
    *out = (struct gnn_trial_outcome){.ended = false};
    FILE *const said = tmpfile();
    if (said == NULL)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EPERM), "a temporary file for the check: %s", strerror(errno));
    const enum gnn_status status = run_child(setup, said, out, err);
    if (setup->shows_stderr)
        show_said(said);
    (void)fclose(said);
    return status;
}

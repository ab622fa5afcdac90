/* SPDX-License-Identifier: MIT */
#include "harness/cli/builds.h"

#include "harness/base/grow.h"
#include "harness/base/log.h"
#include "harness/base/thread_limits.h"
#include "harness/cli/args.h"
#include "harness/compare/callgrind.h"
#include "harness/run/wire.h"
#include "harness/tensor/cpu/kernels.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, ARGUMENTS_MAX = 160, GO_BYTES = 128 }; /* two GO an epoch */

/* ---- children ---- */

static int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

/* Reads to the end; NULL: out of memory. */
static char *read_all(int fd)
{
    char *text = NULL;
    size_t bytes = 0;
    char part[4096];
    FILE *const into = open_memstream(&text, &bytes);
    for (ssize_t got = 1; got > 0 || (got < 0 && errno == EINTR);) {
        got = read(fd, part, sizeof part);
        if (got > 0 && into != NULL)
            (void)fwrite(part, 1, (size_t)got, into);
    }
    if (into != NULL)
        (void)fclose(into);
    return text;
}

/* Runs argv with empty standard input; *out gets its standard output (the caller frees it), stderr is ours. GNN_EIO
 * when it cannot be started; *status is waitpid's. */
static enum gnn_status capture(char *const argv[], char **out, int *status, struct gnn_err *err)
{
    int ends[2];
    pid_t child;
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "pipe: %s", strerror(errno));
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    const int rc = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    *out = rc == 0 ? read_all(ends[0]) : NULL;
    (void)close(ends[0]);
    if (rc != 0)
        return gnn_fail(err, gnn_errno_status(rc, GNN_EIO), "%s: cannot be started: %s", argv[0], strerror(rc));
    *status = wait_for(child);
    return *out != NULL ? GNN_OK : gnn_fail(err, GNN_ENOMEM, "the output of %s", argv[0]);
}

/* ---- what a job file means ---- */

void gnn_build_job_close(struct gnn_build_job *job)
{
    for (uint32_t i = 0; i < job->count; i++) {
        for (uint32_t a = 0; a < job->cells[i].count; a++)
            free(job->cells[i].arguments[a]);
        free(job->cells[i].arguments);
    }
    free(job->cells);
    *job = (struct gnn_build_job){.count = 0};
}

/* Cuts "--a=b --set c.d=e" where a blank and two dashes begin the next option: values may hold blanks. */
static enum gnn_status take_arguments(char *text, struct gnn_build_cell *cell, struct gnn_err *err)
{
    GNN_NEW(cell->arguments, ARGUMENTS_MAX, err, "arguments of a run");
    for (char *at = strstr(text, "--"); at != NULL && at[0] != '\0';) {
        char *const next = strstr(at, " --");
        if (next != NULL)
            *next = '\0';
        char *const set = strncmp(at, "--set ", 6) == 0 ? at + 5 : NULL;
        if (set != NULL)
            *set = '=';
        if (cell->count == ARGUMENTS_MAX || (cell->arguments[cell->count] = strdup(at)) == NULL)
            return gnn_fail(err, GNN_ENOMEM, "argument %u of a run", cell->count + 1);
        cell->count++;
        at = next == NULL ? NULL : next + 1;
    }
    return GNN_OK;
}

/* Takes a line such as `configuration 3 [section]: oocgnn run --system=null`, or `cell 3` as earlier builds print it.
 * Ignores other lines. */
static enum gnn_status take_line(char *line, struct gnn_build_job *job, struct gnn_err *err)
{
    char *const open = strchr(line, '['), *const close = strstr(line, "]: oocgnn run");
    const bool named = strncmp(line, "configuration ", 14) == 0 || strncmp(line, "cell ", 5) == 0;
    if (!named || open == NULL || close == NULL || close < open)
        return GNN_OK;
    struct gnn_build_cell *const cells = gnn_grow(job->cells, job->count, &job->room, sizeof *cells);
    if (cells == NULL)
        return gnn_fail(err, GNN_ENOMEM, "configuration %u", job->count + 1);
    job->cells = cells;
    assert(job->count < job->room);
    struct gnn_build_cell *const cell = &job->cells[job->count++];
    *cell = (struct gnn_build_cell){.count = 0};
    char *const remark = strstr(close, " # about "); /* what it may take */
    if (remark != NULL)
        *remark = '\0';
    *close = '\0';
    (void)snprintf(cell->section, sizeof cell->section, "%s", open + 1);
    cell->number = 1;
    for (uint32_t i = 0; i + 1 < job->count; i++)
        cell->number += strcmp(job->cells[i].section, cell->section) == 0 ? 1 : 0;
    return take_arguments(close + 1, cell, err);
}

enum gnn_status gnn_build_job_parse(const char *text, struct gnn_build_job *out, struct gnn_err *err)
{
    *out = (struct gnn_build_job){.count = 0};
    char *const copy = strdup(text);
    enum gnn_status status = copy == NULL ? gnn_fail(err, GNN_ENOMEM, "a plan") : GNN_OK;
    char *rest = copy;
    for (char *line = strsep(&rest, "\n"); line != NULL && status == GNN_OK; line = strsep(&rest, "\n"))
        status = take_line(line, out, err);
    free(copy);
    if (status == GNN_OK && out->count == 0)
        status = gnn_fail(err, GNN_EFORMAT, "the plan has no configuration; is it a build of oocgnn?");
    if (status != GNN_OK)
        gnn_build_job_close(out);
    return status;
}

enum gnn_status gnn_build_job_open(const char *program, const char *job_file, const char *data,
                                   struct gnn_build_job *out, struct gnn_err *err)
{
    char name[PATH_BYTES], file[PATH_BYTES], data_option[PATH_BYTES];
    (void)snprintf(name, sizeof name, "%s", program);
    (void)snprintf(file, sizeof file, "%s", job_file);
    (void)snprintf(data_option, sizeof data_option, "--data=%s", data);
    char sweep[] = "sweep", dry_run[] = "--dry-run";
    char *const argv[] = {name, sweep, file, dry_run, data[0] != '\0' ? data_option : NULL, NULL};
    char *text = NULL;
    int ended = 0;
    *out = (struct gnn_build_job){.count = 0};
    GNN_TRY(capture(argv, &text, &ended, err));
    struct gnn_err cause = {0};
    enum gnn_status status =
        ended == 0 ? gnn_build_job_parse(text, out, &cause)
                   : gnn_fail(&cause, GNN_EIO, "it ended with status %d; is it a build of oocgnn?", WEXITSTATUS(ended));
    free(text);
    return status == GNN_OK ? GNN_OK
                            : gnn_fail(err, status, "%s sweep %s --dry-run: %s", program, job_file, cause.message);
}

/* ---- one run ---- */

/* What the plan says and a run is not told: where it is recorded, and the preset, all of whose values the plan has. */
static bool is_left_out(const char *argument)
{
    static const char *const words[] = {"--db=", "--json", "--quiet", "--preset="};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(argument, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

enum gnn_status gnn_build_run(const char *program, const struct gnn_build_cell *cell, const char *db, json_t **out,
                              struct gnn_err *err)
{
    char name[PATH_BYTES], db_option[PATH_BYTES];
    char run[] = "run", json[] = "--json", quiet[] = "--quiet";
    char *argv[ARGUMENTS_MAX + 8] = {name, run};
    int count = 2;
    (void)snprintf(name, sizeof name, "%s", program);
    (void)snprintf(db_option, sizeof db_option, "--db=%s", db);
    for (uint32_t i = 0; i < cell->count; i++)
        if (!is_left_out(cell->arguments[i]))
            argv[count++] = cell->arguments[i];
    argv[count++] = db_option;
    argv[count++] = json;
    argv[count++] = quiet;
    char *text = NULL;
    int ended = 0;
    json_error_t trouble = {.text = ""};
    *out = NULL;
    GNN_TRY(capture(argv, &text, &ended, err));
    *out = json_loads(text, 0, &trouble);
    free(text);
    const char *const end = json_string_value(json_object_get(*out, "status"));
    if (end != NULL && strcmp(end, "interrupted") == 0) {
        json_decref(*out);
        *out = NULL;
        if (WIFEXITED(ended) && WEXITSTATUS(ended) > GNN_EXIT_SIGNAL)
            gnn_cli_note_signal(WEXITSTATUS(ended) - GNN_EXIT_SIGNAL);
        return gnn_fail(err, GNN_ECANCELLED, "interrupted");
    }
    if (end != NULL)
        return GNN_OK;
    json_decref(*out);
    *out = NULL;
    return gnn_fail(err, GNN_EIO, "%s run [%s] ended with status %d and no record: %s", program, cell->section,
                    WIFEXITED(ended) ? WEXITSTATUS(ended) : -WTERMSIG(ended),
                    trouble.text[0] != '\0' ? trouble.text : "it has no status");
}

/* "gnndrive", and "gnndrive 2" for the second run of that section. */
static void name_place(const struct gnn_build_cell *cell, char place[GNN_NAME_MAX])
{
    if (cell->number == 1)
        (void)snprintf(place, GNN_NAME_MAX, "%s", cell->section);
    else
        (void)snprintf(place, GNN_NAME_MAX, "%.*s %u", GNN_NAME_MAX - 12, cell->section, cell->number);
}

enum gnn_status gnn_build_facts(const char *program, const struct gnn_build_job *job, const char *dir,
                                struct gnn_facts *facts, struct gnn_err *err)
{
    char db[PATH_BYTES];
    (void)snprintf(db, sizeof db, "%s/exact.db", dir);
    for (uint32_t i = 0; i < job->count; i++) {
        json_t *run;
        char place[GNN_NAME_MAX];
        name_place(&job->cells[i], place);
        gnn_log_info("%s: exact run %u of %u [%s]", program, i + 1, job->count, job->cells[i].section);
        GNN_TRY(gnn_build_run(program, &job->cells[i], db, &run, err));
        const enum gnn_status status = gnn_facts_add(facts, place, run, err);
        json_decref(run);
        GNN_TRY(status);
    }
    (void)unlink(db);
    gnn_facts_label(facts);
    return GNN_OK;
}

/* ---- instructions ---- */

/* The worker's own argument for one of the plan: "--set=a.b=c" -> "set=a.b=c". */
static char *worker_argument(char *argument)
{
    return strncmp(argument, "--", 2) == 0 ? argument + 2 : argument;
}

/* In the child: only async-signal-safe calls until exec. The worker's messages go nowhere, and it may go on at every
 * point at which it would wait for a supervisor. */
static _Noreturn void become_counted(char *const argv[], int control_fd)
{
    const int nowhere = open("/dev/null", O_RDWR);
    const int high_out = fcntl(nowhere, F_DUPFD, 10), high_control = fcntl(control_fd, F_DUPFD, 10);
    if (nowhere < 0 || high_out < 0 || high_control < 0 || dup2(nowhere, STDIN_FILENO) < 0 ||
        dup2(nowhere, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0 || dup2(high_out, GNN_WORKER_OUT_FD) < 0 ||
        dup2(high_control, GNN_WORKER_CONTROL_FD) < 0)
        _exit(126);
    (void)execvp(argv[0], argv);
    _exit(127);
}

/* Starts argv as a worker that is told to go on, and waits for its end. */
static enum gnn_status count_worker(char *const argv[], int *ended, struct gnn_err *err)
{
    char go[GO_BYTES];
    int control[2];
    memset(go, GNN_COMMAND_GO, sizeof go);
    if (pipe2(control, O_CLOEXEC) != 0)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "pipe: %s", strerror(errno));
    (void)setenv("OPENBLAS_NUM_THREADS", "1", 1); /* as the supervisor does, before the library is loaded */
    const bool told = write(control[1], go, sizeof go) == (ssize_t)sizeof go; /* fits into an empty pipe */
    const pid_t child = told ? fork() : -1;
    const int failed = errno;
    if (child == 0)
        become_counted(argv, control[0]);
    (void)close(control[0]);
    if (child > 0)
        *ended = wait_for(child); /* the end of the pipe stays open until then: its closing would mean stop */
    (void)close(control[1]);
    return child > 0 ? GNN_OK : gnn_fail_thread(err, "a worker", failed, 0);
}

/* Why a counted worker did not end well, with what would help; "": it did. */
static void explain(int ended, const char *section, char *text, size_t text_bytes)
{
    text[0] = '\0';
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 127)
        (void)snprintf(text, text_bytes, "valgrind is not installed: apt-get install valgrind");
    else if (WIFSIGNALED(ended) && WTERMSIG(ended) == SIGILL)
        (void)snprintf(text, text_bytes,
                       "valgrind does not support an instruction of this build; build with: make ARCH=x86-64-v3");
    else if (ended != 0)
        (void)snprintf(text, text_bytes, "the worker of [%s] ended under valgrind with %s %d", section,
                       WIFEXITED(ended) ? "status" : "signal", WIFEXITED(ended) ? WEXITSTATUS(ended) : WTERMSIG(ended));
}

static enum gnn_status read_counts(const char *path, const char *program, const char *part, struct gnn_facts *facts,
                                   struct gnn_err *err)
{
    char own[PATH_BYTES];
    const char *const slash = strrchr(program, '/');
    (void)snprintf(own, sizeof own, "/%s", slash == NULL ? program : slash + 1);
    FILE *const in = fopen(path, "re");
    if (in == NULL)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "%s: %s", path, strerror(errno));
    const enum gnn_status status = gnn_callgrind_read(in, path, own, part, &facts->instructions, err);
    (void)fclose(in);
    return status;
}

/* One cell; facts->no_instructions is "" or what stood against it. */
static enum gnn_status count_cell(const char *program, const struct gnn_build_cell *cell, const char *dir,
                                  struct gnn_facts *facts, struct gnn_err *err)
{
    char name[PATH_BYTES], out[PATH_BYTES], out_option[PATH_BYTES + 32];
    char env[] = "env", valgrind[] = "valgrind", tool[] = "--tool=callgrind", worker[] = "--worker";
    char kernels[64], part[GNN_NAME_MAX];
    struct gnn_blas_facts blas;
    int count = 0, ended = 0;
    char *argv[ARGUMENTS_MAX + 10];
    (void)snprintf(name, sizeof name, "%s", program);
    (void)snprintf(out, sizeof out, "%s/callgrind.out", dir);
    (void)snprintf(out_option, sizeof out_option, "--callgrind-out-file=%s", out);
    name_place(cell, part);
    gnn_blas_look(&blas);
    if (gnn_blas_countable_setting(&blas) != NULL) {
        (void)snprintf(kernels, sizeof kernels, "%s", gnn_blas_countable_setting(&blas));
        argv[count++] = env;
        argv[count++] = kernels;
    }
    argv[count++] = valgrind;
    argv[count++] = tool;
    argv[count++] = out_option;
    argv[count++] = name;
    argv[count++] = worker;
    for (uint32_t i = 0; i < cell->count; i++)
        if (!is_left_out(cell->arguments[i]))
            argv[count++] = worker_argument(cell->arguments[i]);
    argv[count] = NULL;
    GNN_TRY(count_worker(argv, &ended, err));
    explain(ended, cell->section, facts->no_instructions, sizeof facts->no_instructions);
    const enum gnn_status status =
        facts->no_instructions[0] == '\0' ? read_counts(out, program, part, facts, err) : GNN_OK;
    (void)unlink(out);
    return status;
}

enum gnn_status gnn_build_instructions(const char *program, const struct gnn_build_job *job, const char *dir,
                                       struct gnn_facts *facts, struct gnn_err *err)
{
    for (uint32_t i = 0; i < job->count && facts->no_instructions[0] == '\0'; i++) {
        gnn_log_info("%s: instructions of run %u of %u [%s]", program, i + 1, job->count, job->cells[i].section);
        GNN_TRY(count_cell(program, &job->cells[i], dir, facts, err));
    }
    if (facts->no_instructions[0] != '\0')
        gnn_kv_clear(&facts->instructions); /* a part is nothing to compare */
    return GNN_OK;
}

/* SPDX-License-Identifier: MIT */
#include "harness/fio/fio.h"

#include "harness/base/plain_text.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the report ---- */

static enum gnn_status number_of(const json_t *object, const char *job, const char *key, double *out,
                                 struct gnn_err *err)
{
    const json_t *const value = json_object_get(object, key);
    *out = json_number_value(value);
    if (!json_is_number(value) || !isfinite(*out) || *out < 0)
        return gnn_fail(err, GNN_EFORMAT, "fio: job \"%s\": no %s in its report", job, key);
    return GNN_OK;
}

/* With its clock reads reduced fio leaves the latency out, or 0. */
static enum gnn_status latency_of(const json_t *direction, const char *job, double *out, struct gnn_err *err)
{
    *out = json_number_value(json_object_get(json_object_get(direction, "lat_ns"), "mean"));
    if (*out < 0)
        return gnn_fail(err, GNN_EFORMAT, "fio: job \"%s\": a negative latency in its report", job);
    return GNN_OK;
}

static enum gnn_status parse_job(const json_t *from, struct gnn_fio_job *out, struct gnn_err *err)
{
    const char *const name = json_string_value(json_object_get(from, "jobname"));
    const json_t *const read = json_object_get(from, "read"), *const write = json_object_get(from, "write");
    if (name == NULL || strlen(name) >= sizeof out->name || read == NULL || write == NULL)
        return gnn_fail(err, GNN_EFORMAT, "fio: a job without jobname, read and write in its report");
    memcpy(out->name, name, strlen(name) + 1);
    const json_int_t error = json_integer_value(json_object_get(from, "error"));
    if (error != 0)
        return gnn_fail(err, error == ENOSPC ? GNN_ENOSPC : GNN_EIO, "fio: job \"%s\" failed: %s", name,
                        strerror((int)error));
    GNN_TRY(number_of(read, name, "iops", &out->read_iops, err));
    GNN_TRY(number_of(read, name, "bw_bytes", &out->read_bytes_per_s, err));
    GNN_TRY(number_of(write, name, "iops", &out->write_iops, err));
    GNN_TRY(number_of(write, name, "bw_bytes", &out->write_bytes_per_s, err));
    GNN_TRY(latency_of(read, name, &out->read_latency_ns, err));
    GNN_TRY(latency_of(write, name, &out->write_latency_ns, err));
    out->write_bytes = json_number_value(json_object_get(write, "io_bytes"));
    return out->write_bytes >= 0 ? GNN_OK
                                 : gnn_fail(err, GNN_EFORMAT, "fio: job \"%s\": a negative amount in its report", name);
}

static enum gnn_status parse_root(const json_t *root, struct gnn_fio_report *out, struct gnn_err *err)
{
    const char *const version = json_string_value(json_object_get(root, "fio version"));
    const json_t *const jobs = json_object_get(root, "jobs");
    const size_t count = json_array_size(jobs);
    if (version == NULL || *version == '\0' || strlen(version) >= sizeof out->version)
        return gnn_fail(err, GNN_EFORMAT, "fio: no \"fio version\" in its report");
    if (count == 0 || count > GNN_FIO_JOBS_MAX)
        return gnn_fail(err, GNN_EFORMAT, "fio: %zu jobs in its report, expected 1 to %d", count, GNN_FIO_JOBS_MAX);
    memcpy(out->version, version, strlen(version) + 1);
    for (size_t i = 0; i < count; i++)
        GNN_TRY(parse_job(json_array_get(jobs, i), &out->jobs[i], err));
    out->count = (uint32_t)count;
    return GNN_OK;
}

enum gnn_status gnn_fio_parse(const char *text, struct gnn_fio_report *out, struct gnn_err *err)
{
    json_error_t error;
    const char *const brace = strchr(text, '{');
    _Static_assert(sizeof out->jobs[0].name == GNN_NAME_MAX, "a job's name is bounded like every other");
    *out = (struct gnn_fio_report){.count = 0};
    if (brace == NULL)
        return gnn_fail(err, GNN_EFORMAT, "fio: its report holds no JSON object");
    json_t *const root = json_loads(brace, JSON_DISABLE_EOF_CHECK, &error);
    if (root == NULL)
        return gnn_fail(err, GNN_EFORMAT, "fio: its report, line %d: %s", error.line, error.text);
    const enum gnn_status status = parse_root(root, out, err);
    json_decref(root);
    if (status != GNN_OK)
        out->count = 0;
    return status;
}

/* ---- running it ---- */

/* The environment, and in it what lets fio have its buffers in large pages, as gnn_mem_alloc has those of direct I/O;
 * what the user set stays. The array alone is the caller's to free; NULL: out of memory. */
static char **environment_of_fio(void)
{
    static char large_pages[] = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    char **const all = calloc(count + 2, sizeof *all);
    if (all == NULL)
        return NULL;
    memcpy(all, environ, count * sizeof *all);
    if (getenv("GLIBC_TUNABLES") == NULL)
        all[count] = large_pages;
    return all;
}

/* Starts argv with its output at *from. Returns 0 or an errno. */
static int start(char *const argv[], pid_t *child, FILE **from)
{
    char **const environment = environment_of_fio();
    if (environment == NULL)
        return ENOMEM;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        const int error = errno;
        free(environment);
        return error;
    }
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    (void)posix_spawn_file_actions_addclose(&actions, ends[0]);
    (void)posix_spawn_file_actions_addclose(&actions, ends[1]);
    const int rc = posix_spawnp(child, argv[0], &actions, NULL, argv, environment);
    free(environment);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    *from = rc == 0 ? fdopen(ends[0], "r") : NULL;
    if (*from == NULL)
        (void)close(ends[0]);
    return rc;
}

/* Everything it prints, to be freed (NULL: out of memory), and how it ended. */
static char *collect(pid_t child, FILE *from, int *exit_status)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const into = open_memstream(&text, &bytes);
    for (int c = fgetc(from); c != EOF && into != NULL; c = fgetc(from))
        (void)fputc(c, into);
    (void)fclose(from);
    if (into != NULL)
        (void)fclose(into);
    while (waitpid(child, exit_status, 0) < 0 && errno == EINTR)
        continue;
    return text;
}

/* The last line that is not part of a report. */
static void last_words(const char *text, char *out, size_t out_bytes)
{
    const size_t whole = strlen(text), report = strcspn(text, "{");
    size_t end = report > 0 ? report : whole;
    while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' '))
        end--;
    size_t begin = end;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    (void)snprintf(out, out_bytes, "%.*s", (int)(end - begin), text + begin);
}

/* Runs fio with argv and gives everything that it printed, to be freed. */
static enum gnn_status run(const char *const *argv, char **text, struct gnn_err *err)
{
    pid_t child = 0;
    FILE *from = NULL;
    int exit_status = 0;
    *text = NULL;
    const int rc = start((char *const *)argv, &child, &from);
    if (rc == ENOENT)
        return gnn_fail(err, GNN_ENOTSUP, "fio is not there; install it: apt-get install fio");
    if (rc != 0 || from == NULL)
        return gnn_fail(err, gnn_errno_status(rc != 0 ? rc : errno, GNN_ENOTSUP), "fio does not start: %s",
                        strerror(rc != 0 ? rc : errno));
    char *const printed = collect(child, from, &exit_status);
    if (printed == NULL)
        return gnn_fail(err, GNN_ENOMEM, "the text of fio's report");
    if (WIFEXITED(exit_status) && WEXITSTATUS(exit_status) == 0) {
        *text = printed;
        return GNN_OK;
    }
    char words[256];
    last_words(printed, words, sizeof words);
    free(printed);
    if (WIFSIGNALED(exit_status))
        return gnn_fail(err, GNN_ECANCELLED, "fio was ended by signal %d", WTERMSIG(exit_status));
    return gnn_fail(err, GNN_ENOTSUP, "fio ended with status %d: %s", WEXITSTATUS(exit_status), words);
}

enum gnn_status gnn_fio_run(const char *job_file, struct gnn_fio_report *out, struct gnn_err *err)
{
    const char *const argv[] = {"fio", "--output-format=json", job_file, NULL};
    char *text;
    GNN_TRY(run(argv, &text, err));
    const enum gnn_status status = gnn_fio_parse(text, out, err);
    free(text);
    return status;
}

enum gnn_status gnn_fio_version(char *version, size_t version_bytes, struct gnn_err *err)
{
    static const char begin[] = "fio-";
    const char *const argv[] = {"fio", "--version", NULL};
    char *text, shown[64];
    assert(version_bytes > sizeof begin);
    GNN_TRY(run(argv, &text, err));
    (void)snprintf(version, version_bytes, "%.*s", (int)strcspn(text, "\r\n"), text);
    free(text);
    if (strncmp(version, begin, strlen(begin)) == 0 && isdigit((unsigned char)version[strlen(begin)]))
        return GNN_OK;
    return gnn_fail(err, GNN_ENOTSUP,
                    "the fio in $PATH is not the I/O tester: `fio --version` prints \"%s\", expected fio-3.33 or "
                    "similar; install it: apt-get install fio",
                    gnn_text_plain(version, shown, sizeof shown));
}

enum gnn_status gnn_fio_check_path(const char *what, const char *path, struct gnn_err *err)
{
    const char *const odd = strpbrk(path, ":$`;#\"'\\");
    const size_t length = strlen(path);
    if (odd == NULL && length > 0 && gnn_text_is_plain(path) && path[0] != ' ' && path[length - 1] != ' ')
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE,
                    "%s %s: fio gives a meaning to %s%.*s%s in a path: name it through a link without such characters",
                    what, path, odd != NULL ? "'" : "blanks and control characters", odd != NULL ? 1 : 0,
                    odd != NULL ? odd : "", odd != NULL ? "'" : "");
}

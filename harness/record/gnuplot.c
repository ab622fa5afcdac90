/* SPDX-License-Identifier: MIT */
#include "harness/record/gnuplot.h"

#include "harness/base/thread_limits.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, COMPLAINT_BYTES = 400, EXIT_NO_GNUPLOT = 127 };

void gnn_gnuplot_string(FILE *script, const char *text)
{
    (void)fputc('"', script);
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            (void)fputs("\\n", script);
            continue;
        }
        /* gnuplot runs what stands between back-quotes in such a string, and replaces @name by a variable. */
        if (strchr("\"\\`@", *text) != NULL || (unsigned char)*text < ' ')
            (void)fprintf(script, "\\%03o", (unsigned)(unsigned char)*text);
        else
            (void)fputc(*text, script);
    }
    (void)fputc('"', script);
}

void gnn_gnuplot_set(FILE *script, const char *name, const char *text)
{
    (void)fprintf(script, "%s = ", name);
    gnn_gnuplot_string(script, text);
    (void)fputc('\n', script);
}

/* In the child. */
static void become_gnuplot(const char *dir, const char *script, int complain_fd)
{
    if (chdir(dir) != 0 || dup2(complain_fd, STDERR_FILENO) < 0 || dup2(complain_fd, STDOUT_FILENO) < 0)
        _exit(1);
    (void)execlp("gnuplot", "gnuplot", script, (char *)NULL);
    _exit(EXIT_NO_GNUPLOT);
}

/* Reads until the other end is closed; keeps what fits. */
static void drain(int fd, char *text, size_t text_bytes)
{
    char rest[256] = {0};
    size_t used = 0;
    for (ssize_t got = 1; got > 0 || (got < 0 && errno == EINTR);) {
        const bool keep = used + 1 < text_bytes;
        got = read(fd, keep ? text + used : rest, keep ? text_bytes - 1 - used : sizeof rest);
        used += keep && got > 0 ? (size_t)got : 0;
    }
    assert(used < text_bytes);
    text[used] = '\0';
}

static bool has_picture(const char *dir, const char *base, const char *suffix)
{
    char path[PATH_BYTES];
    struct stat info;
    (void)snprintf(path, sizeof path, "%s/%s.%s", dir, base, suffix);
    return stat(path, &info) == 0 && info.st_size > 0;
}

enum gnn_status gnn_gnuplot_run(const char *dir, const char *base, struct gnn_err *err)
{
    char script[PATH_BYTES];
    (void)snprintf(script, sizeof script, "%s.gp", base);
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EIO), "pipe: %s", strerror(errno));
    const pid_t child = fork();
    const int failed = errno;
    if (child == 0)
        become_gnuplot(dir, script, pipe_fds[1]);
    (void)close(pipe_fds[1]);
    char complaint[COMPLAINT_BYTES] = "";
    if (child > 0)
        drain(pipe_fds[0], complaint, sizeof complaint);
    (void)close(pipe_fds[0]);
    int status = 0;
    if (child < 0)
        return gnn_fail_thread(err, "gnuplot", failed, 0);
    if (waitpid(child, &status, 0) != child)
        return gnn_fail(err, GNN_EIO, "gnuplot could not be started: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_GNUPLOT)
        return gnn_fail(err, GNN_ENOTSUP, "gnuplot is not installed: apt-get install gnuplot-nox");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || !has_picture(dir, base, "png") ||
        !has_picture(dir, base, "svg"))
        return gnn_fail(err, GNN_EFORMAT, "gnuplot %s/%s failed: %s", dir, script, complaint);
    return GNN_OK;
}

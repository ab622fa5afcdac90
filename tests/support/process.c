/* SPDX-License-Identifier: MIT */
#include "tests/support/process.h"

#include "tests/support/hang.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char *read_all(FILE *file)
{
    char *text = NULL;
    size_t used = 0, room = 0;
    rewind(file);
    for (;;) {
        if (used + 4096 > room) {
            room = room * 2 + 8192;
            text = realloc(text, room);
            assert(text != NULL);
        }
        const size_t got = fread(text + used, 1, 4095, file);
        used += got;
        if (got == 0)
            break;
    }
    text[used] = '\0';
    return text;
}

static pid_t start(const char *const *argv, int out_fd, int err_fd)
{
    const pid_t pid = fork();
    assert(pid >= 0);
    if (pid == 0) {
        (void)signal(SIGINT, SIG_DFL); /* a shell's background job ignores it, and so would its children */
        const int in_fd = open("/dev/null", O_RDONLY);
        (void)dup2(in_fd, 0);
        (void)dup2(out_fd, 1);
        (void)dup2(err_fd, 2);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    return pid;
}

static int decode(int status)
{
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

struct process_result process_run(const char *const *argv)
{
    FILE *const out = tmpfile();
    FILE *const err = tmpfile();
    assert(out != NULL && err != NULL);
    const pid_t pid = start(argv, fileno(out), fileno(err));
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        assert(errno == EINTR);
    struct process_result result = {.exit_status = decode(status), .out = read_all(out), .err = read_all(err)};
    (void)fclose(out);
    (void)fclose(err);
    return result;
}

void process_free(struct process_result *result)
{
    free(result->out);
    free(result->err);
}

struct process_result process_shell(const char *format, ...)
{
    char command[12 << 10];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(command, sizeof command, format, args);
    va_end(args);
    assert(length > 0 && (size_t)length < sizeof command);
    const char *const argv[] = {"bash", "-c", command, NULL};
    return process_run(argv);
}

void process_expect(struct process_result r, int exit_status, const char *part, const char *what)
{
    if (r.exit_status != exit_status || strstr(r.err, part) == NULL)
        fail_msg("%s: exit %d, expected %d and \"%s\" in:\n%s%s", what, r.exit_status, exit_status, part, r.err, r.out);
    process_free(&r);
}

void process_expect_all(const struct process_result *r, int exit_status, const char *const *parts)
{
    const char *const *part = parts;
    while (*part != NULL && (strstr(r->out, *part) != NULL || strstr(r->err, *part) != NULL))
        part++;
    if (r->exit_status != exit_status || *part != NULL)
        fail_msg("exit %d, expected %d and \"%s\" in:\n%s%s", r->exit_status, exit_status, *part != NULL ? *part : "",
                 r->out, r->err);
}

pid_t process_start(const char *const *argv)
{
    const int null_fd = open("/dev/null", O_WRONLY);
    assert(null_fd >= 0);
    const pid_t pid = start(argv, null_fd, null_fd);
    (void)close(null_fd);
    return pid;
}

int process_wait(pid_t pid)
{
    uint32_t naps = 0;
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) != pid)
        if (!patient(&naps)) {
            (void)kill(pid, SIGKILL);
            (void)waitpid(pid, &status, 0);
            return -SIGKILL;
        }
    return decode(status);
}

const char *process_program(void)
{
    const char *const program = getenv("OOCGNN");
    return program != NULL ? program : "build/gcc/oocgnn";
}

char *process_temp_dir(void)
{
    const char *const base = getenv("TMPDIR");
    char path[512];
    (void)snprintf(path, sizeof path, "%s/oocgnn-test-XXXXXX", base != NULL ? base : "/tmp");
    char *const dir = strdup(mkdtemp(path) != NULL ? path : "");
    assert(dir != NULL && dir[0] != '\0');
    return dir;
}

void process_write_file(const char *dir, const char *name, mode_t mode, const char *format, ...)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *const out = fopen(path, "we");
    va_list args;
    assert(out != NULL);
    va_start(args, format);
    const int length = vfprintf(out, format, args);
    va_end(args);
    const int closed = fclose(out);
    assert(length >= 0);
    assert(closed == 0);
    const int changed = chmod(path, mode);
    assert(changed == 0);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

void process_remove_tree(const char *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int process_dir_set_up(void **state)
{
    *state = process_temp_dir();
    return *state == NULL ? -1 : 0;
}

int process_dir_tear_down(void **state)
{
    process_remove_tree(*state);
    free(*state);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Starting programs from tests and keeping what they printed. */
#ifndef GNN_TESTS_PROCESS_H
#define GNN_TESTS_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct process_result {
    int exit_status; /* -signal when killed by one */
    char *out;       /* NUL-terminated; freed by process_free */
    char *err;
};

/* Runs argv to its end with empty standard input. Fails the test (assert) when it cannot be started. */
struct process_result process_run(const char *const *argv);
void process_free(struct process_result *result);

/* The same for a command of bash, of at most 12 KiB. */
struct process_result process_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Fails the test, with what was printed, unless r ended so and said `part` on stderr; frees r. */
void process_expect(struct process_result r, int exit_status, const char *part, const char *what);
/* Fails the test, with what was printed, unless r ended so and holds each of the parts, on stdout or stderr. The list
 * ends with NULL. */
void process_expect_all(const struct process_result *r, int exit_status, const char *const *parts);

/* Starts argv in the background, output to /dev/null; reap with process_wait. */
pid_t process_start(const char *const *argv);
/* Exit status, or -signal; kills what still runs after HANG_WAIT_SECONDS (hang.h) and returns -9. */
int process_wait(pid_t pid);

/* The program under test: $OOCGNN, else build/gcc/oocgnn. */
const char *process_program(void);

/* A fresh directory under $TMPDIR or /tmp (mkdtemp); process_remove_tree deletes it with everything inside. */
char *process_temp_dir(void);
void process_remove_tree(const char *path);
/* cmocka's set-up and tear-down of such a directory, whose path is the state. */
int process_dir_set_up(void **state);
int process_dir_tear_down(void **state);

/* Writes dir/name, with this mode whatever the umask; fails the test when it cannot. */
void process_write_file(const char *dir, const char *name, mode_t mode, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif

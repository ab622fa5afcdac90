/* SPDX-License-Identifier: MIT */
/* `oocgnn calibrate` from outside: wrong usage, a machine without fio, and a quick calibration whose profile is found
 * by name and checked. */
#include "harness/base/text_file.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct process_result calibrate(const char *a, const char *b, const char *c, const char *d, const char *e)
{
    const char *const argv[] = {process_program(), "calibrate", a, b, c, d, e, NULL};
    return process_run(argv);
}

static void expect(struct process_result r, int exit_status, const char *message)
{
    if (r.exit_status != exit_status || strstr(r.err, message) == NULL)
        fail_msg("exit %d, expected %d; expected \"%s\" in:\n%s", r.exit_status, exit_status, message, r.err);
    assert_string_equal(r.out, "");
    process_free(&r);
}

static void test_wrong_usage(void **state)
{
    (void)state;
    expect(calibrate("--devise", "x", NULL, NULL, NULL), 2, "did you mean \"device\"");
    expect(calibrate("now", NULL, NULL, NULL, NULL), 2, "unexpected argument \"now\"");
    expect(calibrate("--size", "1M", NULL, NULL, NULL), 2, "option size");
    expect(calibrate("--device", "/nonexistent", "--out", "/dev/null", NULL), 2,
           "oocgnn: --device /nonexistent: No such file or directory; name a directory on the device to measure, or a "
           "large file");
    expect(calibrate("--device", "/proc", "--out", "/dev/null", NULL), 1,
           "made there: No such file or directory; name "
           "a place you may write to");
    expect(calibrate("--device", "/proc/version", "--out", "/dev/null", NULL), 2,
           "--device /proc/version: a file of 0 B is too small to measure; name one of 16M or more, or a directory");
    expect(calibrate("--device", "/dev/null", "--out", "x.ini", NULL), 2, "name a directory");
    expect(calibrate("--device", ".", "--out", "/nonexistent/x.ini", NULL), 2, "--out /nonexistent/x.ini");
    expect(calibrate("--verify", "nosuch", NULL, NULL, NULL), 2, "`oocgnn list profiles` has them all");
    struct process_result r = calibrate("--help", NULL, NULL, NULL, NULL);
    assert_int_equal(r.exit_status, 0);
    assert_non_null(strstr(r.out, "--verify"));
    process_free(&r);
}

static unsigned entries_of(const char *dir)
{
    char command[700];
    (void)snprintf(command, sizeof command, "ls -A '%s' | wc -l", dir);
    const char *const argv[] = {"/bin/sh", "-c", command, NULL};
    struct process_result r = process_run(argv);
    const unsigned count = (unsigned)strtoul(r.out, NULL, 10);
    process_free(&r);
    return count;
}

/* Nothing in $PATH: exit 4 with the package to install, and nothing left behind. */
static void test_without_fio(void **state)
{
    (void)state;
    char *const dir = process_temp_dir();
    char *const path = strdup(getenv("PATH") != NULL ? getenv("PATH") : "");
    char out[600];
    (void)snprintf(out, sizeof out, "%s/this.ini", dir);
    (void)setenv("PATH", "/nonexistent", 1);
    struct process_result r = calibrate("--quick", "--device", dir, "--out", out);
    (void)setenv("PATH", path, 1);
    expect(r, 4, "apt-get install fio");
    assert_int_equal(entries_of(dir), 0);
    free(path);
    process_remove_tree(dir);
    free(dir);
}

/* A Ctrl-C ends fio too, which says so in its own words: the user asked for it, and nothing is left behind. */
static void test_interrupted(void **state)
{
    (void)state;
    char *const dir = process_temp_dir();
    struct process_result r = process_shell(
        "mkdir %s/bin %s/on && printf '#!/bin/sh\\n[ \"$1\" != --version ] || { echo fio-3.33; exit 0; }\\n"
        "kill -INT $PPID; exit 128\\n' >%s/bin/fio && chmod +x %s/bin/fio && "
        "PATH=%s/bin:$PATH %s calibrate --quick --quiet --device %s/on --out %s/on/this.ini",
        dir, dir, dir, dir, dir, process_program(), dir, dir);
    if (r.exit_status == 4 && strstr(r.err, "--device") != NULL) {
        process_free(&r);
        process_remove_tree(dir);
        free(dir);
        skip_test("no direct I/O in the temporary directory: an interrupted calibration is not tried");
    }
    expect(r, 130, "calibrate: stopped");
    char on[600];
    (void)snprintf(on, sizeof on, "%s/on", dir);
    assert_int_equal(entries_of(on), 0);
    process_remove_tree(dir);
    free(dir);
}

static bool have_fio(void)
{
    const char *const argv[] = {"/bin/sh", "-c", "command -v fio", NULL};
    struct process_result r = process_run(argv);
    const bool have = r.exit_status == 0;
    process_free(&r);
    return have;
}

/* A profile has both costs of reclaim, or says why not. */
static void expect_reclaim(const char *path)
{
    char text[32768];
    assert_int_equal(gnn_text_file_read(path, text, sizeof text), 0);
    assert_true((strstr(text, "\nevict_page = ") != NULL) != (strstr(text, "\n; no evict_page: ") != NULL));
    assert_true((strstr(text, "\nunmap_page = ") != NULL) != (strstr(text, "\n; no unmap_page: ") != NULL));
}

/* A profile has a row of scattered reads for each size above a page, or says why not, and what compute is by. */
static void expect_grids(const char *path)
{
    char text[32768];
    assert_int_equal(gnn_text_file_read(path, text, sizeof text), 0);
    assert_true((strstr(text, "\nread_scattered_us.256K = ") != NULL) !=
                (strstr(text, "\n; no read_scattered_us: ") != NULL));
    assert_non_null(strstr(text, "\nread_us.4K = "));
    assert_null(strstr(text, "\nread_scattered_us.4K = "));
    assert_non_null(strstr(text, "\ngemm_operand = "));
    const char *const host = strstr(text, "\n[host]\n");
    assert_non_null(host);
    assert_non_null(strstr(host, "; predicted / measured "));
}

/* Puts a fio into dir/bin that keeps what it is told in dir/bin/jobs. */
static void make_listening_fio(const char *dir)
{
    process_expect(process_shell("mkdir %s/bin && real=$(command -v fio) && printf '#!/bin/sh\nfor last; do :; done\n"
                                 "[ ! -f \"$last\" ] || cat \"$last\" >>%s/bin/jobs\nexec %%s \"$@\"\n' \"$real\" "
                                 ">%s/bin/fio && chmod +x %s/bin/fio",
                                 dir, dir, dir, dir),
                   0, "", "a fio that listens");
}

/* Reads of 256 KiB go into blocks as large as a large page, and into single pages; reads of a page do neither. */
static void expect_jobs(const char *dir)
{
    process_expect(process_shell("cd %s/bin && grep -A1 '^bssplit=262144/100:2m/0$' jobs | grep -q '^\\[d1\\]$' && "
                                 "grep -A1 '^bs=262144$' jobs | grep -q '^iomem=mmapshared$' && "
                                 "! grep -A1 '^bs=4096$' jobs | grep iomem && ! grep 'bssplit=4096' jobs",
                                 dir),
                   0, "", "where fio was told to read to");
}

/* Measures, writes this-quick.ini where profiles are looked for, finds it again, and leaves a real calibration
 * alone. */
static void test_quick(void **state)
{
    (void)state;
    if (!have_fio())
        skip_test("no fio: a quick calibration is not tried");
    char *const dir = process_temp_dir();
    char data[600], found[700];
    (void)snprintf(data, sizeof data, "%s/xdg", dir);
    (void)snprintf(found, sizeof found, "%s/oocgnn/this-quick.ini\n", data);
    (void)setenv("XDG_DATA_HOME", data, 1);
    make_listening_fio(dir);
    char *const path = strdup(getenv("PATH") != NULL ? getenv("PATH") : "");
    char listening[4096];
    (void)snprintf(listening, sizeof listening, "%s/bin:%s", dir, path);
    (void)setenv("PATH", listening, 1);
    struct process_result r = calibrate("--quick", "--quiet", "--device", dir, NULL);
    (void)setenv("PATH", path, 1);
    free(path);
    if (r.exit_status == 4 && strstr(r.err, "--device") != NULL) {
        process_free(&r);
        process_remove_tree(dir);
        free(dir);
        skip_test("no direct I/O in the temporary directory: a quick calibration is not tried");
    }
    if (r.exit_status != 0)
        fail_msg("exit %d:\n%s", r.exit_status, r.err);
    assert_string_equal(r.out, found);
    process_free(&r);
    found[strlen(found) - 1] = '\0';
    expect_reclaim(found);
    expect_grids(found);
    expect_jobs(dir);
    assert_int_equal(entries_of(dir), 2); /* xdg and bin: what was measured on is gone */
    r = calibrate("--verify", "this-quick", NULL, NULL, NULL);
    if (r.exit_status != 0)
        fail_msg("exit %d:\n%s", r.exit_status, r.err);
    assert_non_null(strstr(r.out, "simulated"));
    process_free(&r);
    const char *const list[] = {process_program(), "list", "profiles", NULL};
    r = process_run(list);
    assert_non_null(strstr(r.out, "this-quick.ini"));
    assert_null(strstr(r.out, "this.ini"));
    process_free(&r);
    (void)unsetenv("XDG_DATA_HOME");
    process_remove_tree(dir);
    free(dir);
}

/* Puts a `this` of round figures in place, with a line of its moment that lies so many days before now; 0: none. */
static void make_this(const char *dir, int days)
{
    char line[100] = "";
    if (days != 0)
        (void)snprintf(line, sizeof line, "calibrated = $(date -u -d '%d days ago' +%%FT%%TZ) stated\\n", days);
    struct process_result r =
        process_shell("mkdir -p %s/oocgnn && sed \"s/^machine_id.*/machine_id = this\\n%s/\" tests/golden/machine.ini "
                      ">%s/oocgnn/this.ini",
                      dir, line, dir);
    assert_int_equal(r.exit_status, 0);
    process_free(&r);
}

/* The list and doctor say how old a calibration is, doctor also that there is none, and a run warns of one that is
 * older than a week, once. */
static void test_old_calibrations(void **state)
{
    (void)state;
    static const struct {
        int days;
        bool warns;
        const char *listed;
    } cases[] = {{0, false, "calibrated at an unknown time"},
                 {6, false, "Z, 6 days ago"},
                 {8, true, "Z, 8 days ago"},
                 {-1, false, "yet to come"}};
    char *const dir = process_temp_dir();
    (void)setenv("XDG_DATA_HOME", dir, 1);
    struct process_result none = process_shell("%s doctor | grep -A1 ' calibration '", process_program());
    assert_non_null(strstr(none.out, "no profile \"this\" in "));
    assert_non_null(strstr(none.out, "`oocgnn calibrate --device"));
    process_free(&none);
    make_this(dir, 1);
    none = process_shell("echo nonsense >>%s/oocgnn/this.ini; %s doctor | grep -A1 ' calibration '", dir,
                         process_program());
    assert_non_null(strstr(none.out, "this.ini"));
    assert_null(strstr(none.out, "no profile"));
    process_free(&none);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        make_this(dir, cases[c].days);
        const char *const list[] = {process_program(), "list", "profiles", NULL};
        struct process_result r = process_run(list);
        assert_non_null(strstr(r.out, cases[c].listed));
        assert_ptr_equal(strstr(strstr(r.out, "calibrated") + 1, "calibrated 20"),
                         NULL); /* papers' machines were not */
        process_free(&r);
        r = process_shell("%s doctor | grep -A1 ' calibration '", process_program());
        assert_non_null(strstr(r.out, cases[c].listed));
        assert_true((strncmp(r.out, "ok ", 3) == 0) == (cases[c].days == 6));
        assert_true((strstr(r.out, "`oocgnn calibrate` measures") != NULL) == (cases[c].days != 6));
        process_free(&r);
        r = process_shell("%s run --world simulated --profile this --system null --dataset papers100m --scale 1/10000 "
                          "--max-batches 1 --evaluate never --quiet --json --db %s/runs.db",
                          process_program(), dir);
        assert_int_equal(r.exit_status, 0);
        const char *const warning = strstr(r.err, "8 days ago; `oocgnn calibrate`");
        assert_true((warning != NULL) == cases[c].warns);
        assert_true(warning == NULL || strstr(warning + sizeof "8 days ago", "days ago") == NULL);
        assert_true((strstr(r.out, "\"floor.calibrated\":\"20") != NULL) == (cases[c].days != 0));
        process_free(&r);
    }
    (void)unsetenv("XDG_DATA_HOME");
    process_remove_tree(dir);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_usage), cmocka_unit_test(test_without_fio),      cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_quick),       cmocka_unit_test(test_old_calibrations),
    };
    return cmocka_run_group_tests_name("calibrate-cli", tests, NULL, NULL);
}

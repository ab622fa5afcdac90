/* SPDX-License-Identifier: MIT */
/* A figure that fio measures, with a stand-in for fio that notes what it is told and prints numbers that follow from
 * it: 1 MB/s and 2 us for each thread, direct reads half a MB/s more. */
#include "tests/support/figures.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STAND_IN                                                                                                       \
    "#!/bin/sh\n"                                                                                                      \
    "[ \"$1\" != --version ] || { echo fio-3.99; exit 0; }\n"                                                          \
    "value() { sed -n \"s/^$1=//p\" \"$job\"; }\n"                                                                     \
    "job=$2 here=${0%/*}/..\n"                                                                                         \
    "if [ \"$(value rw)\" = write ]; then\n"                                                                           \
    "    truncate -s \"$(value size)\" \"$(value filename)\"; threads=1 direct=0\n"                                    \
    "else\n"                                                                                                           \
    "    cat \"$job\" >>\"$here/jobs\"; threads=$(value numjobs) direct=$(value direct)\n"                             \
    "    [ -s \"$(value filename)\" ] || { echo no file; exit 1; }\n"                                                  \
    "fi\n"                                                                                                             \
    "[ ! -e \"$here/slow\" ] || { touch \"$here/begun\"; sleep 600; }\n"                                               \
    "if [ -e \"$here/fails\" ] && [ \"$threads\" = 4 ]; then echo 'fio: engine libfoo not loadable'; exit 1; fi\n"     \
    "rate=$((threads * 1000000 + direct * 500000))\n"                                                                  \
    "[ ! -e \"$here/stands\" ] || rate=0\n"                                                                            \
    "one=\"{ \\\"jobname\\\": \\\"read\\\", \\\"error\\\": 0, \\\"read\\\": { \\\"iops\\\": 7.5, \\\"bw_bytes\\\": "   \
    "$rate, "                                                                                                          \
    "\\\"lat_ns\\\": { \\\"mean\\\": $((threads * 2000)) } }, \\\"write\\\": { \\\"iops\\\": 0, \\\"bw_bytes\\\": 0 "  \
    "} }\"\n"                                                                                                          \
    "[ ! -e \"$here/twice\" ] || one=\"$one, $one\"\n"                                                                 \
    "echo \"note: a word before\"\n"                                                                                   \
    "echo \"{ \\\"fio version\\\": \\\"fio-3.99\\\", \\\"jobs\\\": [ $one ] }\"\n"

/* Starts a command, and sends it and what it started what Ctrl-C sends, once fio is at work. */
#define INTERRUPT                                                                                                      \
    "set -m\n"                                                                                                         \
    "here=${0%/*}/..\n"                                                                                                \
    "\"$@\" &\n"                                                                                                       \
    "for ((naps = 0; naps < 6000; naps++)); do [ ! -e \"$here/begun\" ] || break; sleep 0.1; done\n"                   \
    "kill -INT -- -$!\n"                                                                                               \
    "wait $!\n"

#define CASES "ioengine = psync\nnumjobs = 1 | 4\n[buffered]\ndirect = 0\n[direct]\ndirect = 1\n"
#define FIGURE(number, y)                                                                                              \
    "[figure]\npaper = tiny\nplace = Figure " number                                                                   \
    "\ntitle = Reads\nmeasured_by = fio\nchart = lines\nx = numjobs\n"                                                 \
    "y = " y "\nx_label = threads\ny_label = MB/s\nscale = 1/1000\nscaled = size\nminutes = 3\n"

static int make_place(void **state)
{
    if (figures_set_up(state) != 0)
        return 1;
    struct place *const p = *state;
    struct process_result r = process_shell("mkdir %s/bin", p->dir);
    process_free(&r);
    process_write_file(p->dir, "bin/fio", 0755, "%s", STAND_IN);
    figure_write(p, "tiny-fio",
                 "[global]\nrw = randread\nbs = 1\nsize = 2500M\ngroup_reporting = 1\n" CASES FIGURE(
                     "1", "fio.read_mbps, fio.read_us") "[holds]\nrises = rises(fio.read_mbps[direct])\nfour = "
                                                        "fio.read_us[buffered, numjobs=4] = 8\nmore = "
                                                        "fio.read_mbps[direct] < fio.read_mbps[buffered]\n"
                                                        "[reasons]\nmore = made up\n");
    figure_write(
        p, "tiny-fio2",
        "[global]\ngroup_reporting = 1\nsize = 2500M\nrw = randread\nbs = 1\n" CASES FIGURE("2", "fio.read_us"));
    return 0;
}

/* Runs it with the stand-in first in $PATH. */
static struct process_result with_fio(const struct place *p, const char *before, const char *words)
{
    char front[900], all[900];
    (void)snprintf(front, sizeof front, "PATH=%s/bin:$PATH %s", p->dir, before);
    (void)snprintf(all, sizeof all, "--data %s/data %s", p->dir, words);
    return figure_run(p, front, all);
}

static void expect(const struct place *p, const char *words, int exit_status, const char *const *parts)
{
    struct process_result r = with_fio(p, "", words);
    process_expect_all(&r, exit_status, parts);
    process_free(&r);
}

static void shell(const char *command, const char *dir, const char *out)
{
    struct process_result r = process_shell("cd %s && %s", dir, command);
    assert_string_equal(r.out, out);
    process_free(&r);
}

static void fio_reads_what_the_file_says(void **state)
{
    const struct place *const p = *state;
    expect(p, "--list", 0, PARTS("tiny-fio             0 of 4       3.0      Reads"));
    expect(p, "tiny-fio", 0,
           PARTS("4 runs made, 0 skipped, 0 failed", "4 of 4 configurations are recorded", "| buffered | 1 | 4 |",
                 "| direct | 1.5 | 4.5 |", "| direct | 2 | 8 |",
                 "Measured world, scale 1/1000, fio-3.99, bytes per read 1 and ", "holds           rises",
                 "holds           four", "DOES NOT HOLD   more", "likely cause: made up"));
    char *const csv = figure_read(p, "tiny-fio.csv");
    assert_non_null(strstr(csv, "series,numjobs,status,runs,fio.read_mbps"));
    assert_non_null(strstr(csv, "\ndirect,4,ok,1,4.5,4.5,4.5,"));
    free(csv);
    /* 2500 MiB / 1000 in whole writes; direct reads of a byte have a sector's size, buffered ones have not. */
    shell("grep -c \"^filename=$PWD/data/fio/read-2097152$\" jobs; grep -Ec '^bs=(512|4096)$' jobs; "
          "grep -c '^bs=1$' jobs; grep -c '^size=2097152$' jobs; stat -c %s data/fio/*",
          p->dir, "4\n2\n2\n4\n2097152\n");
}

/* Also where the other figure gives their keys in another order, and without any fio. */
static void what_is_recorded_is_not_read_again(void **state)
{
    const struct place *const p = *state;
    expect(p, "tiny-fio --fix jobs=4", 2, PARTS("--fix jobs=4: tiny-fio has no key \"jobs\"; those in its file"));
    expect(p, "tiny-fio --fix numjobs=4", 0, PARTS("2 runs made, 0 skipped", "2 of 2 configurations"));
    expect(p, "tiny-fio", 0, PARTS("2 runs made, 2 skipped", "4 of 4 configurations"));
    shell("rm bin/fio", p->dir, "");
    expect(p, "tiny-fio2", 0, PARTS("0 runs made, 4 skipped", "| buffered | 2 | 8 |"));
    expect(p, "tiny-fio --check --world measured", 0, PARTS("4 of 4 configurations", "holds           rises"));
    expect(p, "--list", 0, PARTS("tiny-fio             4 of 4       -        Reads"));
    process_write_file(p->dir, "bin/fio", 0755, "%s", STAND_IN);
    expect(p, "tiny-fio --repeat 2", 0, PARTS("4 runs made, 4 skipped", "| direct | 1.5 (1.5 to 1.5) |"));
    expect(p, "tiny-fio --scale 1/500", 0, PARTS("4 runs made, 0 skipped"));
}

static void without_fio_the_remedy_is_told(void **state)
{
    const struct place *const p = *state;
    struct process_result r = figure_run(p, "PATH=/nonexistent", "tiny-fio --data data");
    process_expect_all(&r, 4, PARTS("tiny-fio: fio is not there; install it: apt-get install fio"));
    process_free(&r);
    process_write_file(p->dir, "bin/fio", 0755, "#!/bin/sh\necho 'fio, find in order 2.1'\n");
    expect(p, "tiny-fio", 4, PARTS("the fio in $PATH is not the I/O tester", "\"fio, find in order 2.1\""));
    shell("ls data 2>/dev/null", p->dir, "");
}

/* A job that fails is recorded as such and told; the others are made, and the next command makes it alone. */
static void a_job_that_fails_is_passed_over(void **state)
{
    const struct place *const p = *state;
    shell("touch fails", p->dir, "");
    expect(p, "tiny-fio", 1,
           PARTS("2 runs made, 0 skipped, 2 failed", "fio ended with status 1: fio: engine libfoo not loadable",
                 "2 of 4 configurations are recorded", "| buffered | 1 | not run |", "not measurable  rises"));
    shell("rm fails; touch stands", p->dir, "");
    expect(p, "tiny-fio", 1, PARTS("0 runs made, 2 skipped, 2 failed", "no read of "));
    shell("rm stands; touch twice", p->dir, "");
    expect(p, "tiny-fio", 1, PARTS("2 jobs in its report, expected one"));
    shell("rm twice", p->dir, "");
    expect(p, "tiny-fio", 0, PARTS("2 runs made, 2 skipped, 0 failed", "4 of 4 configurations are recorded"));
}

/* Ctrl-C leaves no half file, and the same command goes on. */
static void stopped_it_goes_on(void **state)
{
    const struct place *const p = *state;
    shell("touch slow", p->dir, "");
    process_write_file(p->dir, "bin/interrupt", 0755, "%s", "#!/bin/bash\n" INTERRUPT);
    struct process_result r = with_fio(p, "interrupt", "tiny-fio");
    process_expect_all(&r, 130, PARTS("tiny-fio: interrupted; the same command continues it"));
    process_free(&r);
    shell("rm slow; ls data/fio | grep -v part", p->dir, "");
    expect(p, "tiny-fio", 0, PARTS("4 runs made", "4 of 4 configurations are recorded"));
    shell("ls data/fio", p->dir, "read-2097152\n");
}

static void what_fio_cannot_do_is_refused(void **state)
{
    const struct place *const p = *state;
    figure_write(p, "tiny-none", "[global]\nrw = randread\n" CASES FIGURE("3", "fio.read_us"));
    expect(p, "tiny-none", 4, PARTS("none of its 4 configurations can be run: size is missing"));
    expect(p, "tiny-fio --data a:b", 2, PARTS("fio gives a meaning to ':' in a path"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fio_reads_what_the_file_says, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(what_is_recorded_is_not_read_again, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(without_fio_the_remedy_is_told, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(a_job_that_fails_is_passed_over, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(stopped_it_goes_on, make_place, place_tear_down),
        cmocka_unit_test_setup_teardown(what_fio_cannot_do_is_refused, make_place, place_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

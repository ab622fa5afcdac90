/* SPDX-License-Identifier: MIT */
/* INI files: sections, defaults, line numbers, and what is refused with file:line. */
#include "harness/base/ini.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char job[] = "; a job\n"
                          "[global]\n"
                          "dataset = papers100m ; the big one\n"
                          "batch=1000\n"
                          "\n"
                          "[pygplus]\n"
                          "# all defaults\n"
                          "[gnndrive]\n"
                          "set = gnndrive.extractors=4\n"
                          "memory =  320M  \n";

static void check_job(const struct gnn_ini *ini)
{
    const struct gnn_ini_section *const global = gnn_ini_global(ini);
    assert_non_null(global);
    assert_int_equal(global->entry_count, 2);
    assert_string_equal(gnn_ini_find(global, "dataset")->value, "papers100m");
    assert_int_equal(gnn_ini_find(global, "dataset")->line, 3);
    assert_int_equal(gnn_ini_section_count(ini), 2);
    assert_string_equal(gnn_ini_section(ini, 0)->name, "pygplus");
    assert_int_equal(gnn_ini_section(ini, 0)->line, 6);
    assert_int_equal(gnn_ini_section(ini, 0)->entry_count, 0);
    const struct gnn_ini_section *const section = gnn_ini_section(ini, 1);
    assert_int_equal(section->line, 8);
    assert_string_equal(section->entries[0].value, "gnndrive.extractors=4");
    assert_string_equal(section->entries[1].key, "memory");
    assert_string_equal(section->entries[1].value, "320M");
    assert_int_equal(section->entries[1].line, 10);
    assert_null(gnn_ini_find(section, "Memory"));
    assert_null(gnn_ini_find(NULL, "memory"));
}

static void sections_and_lines(void **state)
{
    (void)state;
    struct gnn_ini *ini = NULL;
    struct gnn_err err = {0};
    assert_int_equal(gnn_ini_parse("job.ini", job, &ini, &err), GNN_OK);
    assert_string_equal(gnn_ini_name(ini), "job.ini");
    check_job(ini);
    gnn_ini_close(ini);
    gnn_ini_close(NULL);
}

static void from_a_file(void **state)
{
    (void)state;
    const char *const tmp = getenv("TMPDIR");
    char path[256];
    (void)snprintf(path, sizeof path, "%s/oocgnn-ini-XXXXXX", tmp != NULL ? tmp : "/tmp");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, job, sizeof job - 1), sizeof job - 1);
    assert_int_equal(close(fd), 0);
    struct gnn_ini *ini = NULL;
    struct gnn_err err = {0};
    assert_int_equal(gnn_ini_open(path, &ini, &err), GNN_OK);
    check_job(ini);
    gnn_ini_close(ini);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(gnn_ini_open(path, &ini, &err), GNN_ENOENT);
    assert_non_null(strstr(err.message, path));
}

static void empty_files(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n\n", "; only a comment", "[alone]"};
    static const uint32_t sections[] = {0, 0, 0, 1};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct gnn_ini *ini = NULL;
        assert_int_equal(gnn_ini_parse("x", texts[i], &ini, NULL), GNN_OK);
        assert_null(gnn_ini_global(ini));
        assert_int_equal(gnn_ini_section_count(ini), sections[i]);
        gnn_ini_close(ini);
    }
}

static void refused(void **state)
{
    (void)state;
    char long_line[400] = "[a]\nk = ";
    memset(long_line + 8, 'x', sizeof long_line - 9);
    char long_name[120] = "[a]\n";
    memset(long_name + 4, 'k', 60);
    memcpy(long_name + 64, " = 1\n", 6);
    const struct {
        const char *text, *where;
    } cases[] = {
        {"[a]\nx = 1\nno equals sign\n", "job:3:"},
        {"x = 1\n", "job:1:"},
        {"[a]\n[b]\n[a]\n", "job:3:"},
        {"[a]\nk = 1\nj = 2\nk = 3\n", "job:4:"},
        {"[a]\nk=1\n[global]\nj=1\n", "job:3:"},
        {"[unclosed\nk = 1\n", "job:1:"},
        {"[]\nk = 1\n", "job:1:"},
        {long_line, "job:2:"},
        {long_name, "job:2:"},
        {"[a]\nk = 1\n  [b]\n", "job:3:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_ini *ini = NULL;
        struct gnn_err err = {0};
        if (gnn_ini_parse("job", cases[i].text, &ini, &err) != GNN_EUSAGE)
            fail_msg("case %zu was taken", i);
        assert_null(ini);
        if (strncmp(err.message, cases[i].where, strlen(cases[i].where)) != 0)
            fail_msg("case %zu: \"%s\", expected it to start with %s", i, err.message, cases[i].where);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_and_lines),
        cmocka_unit_test(from_a_file),
        cmocka_unit_test(empty_files),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests_name("ini", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Where data files are looked for, and in which order. */
#include "harness/base/data_dirs.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct home {
    char *root;
    char *old_data, *old_home;
};

static char *copy_of(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

static int set_up(void **state)
{
    struct home *const p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->root = process_temp_dir();
    p->old_data = copy_of(getenv("XDG_DATA_HOME"));
    p->old_home = copy_of(getenv("HOME"));
    *state = p;
    return 0;
}

static void put_back(const char *name, char *value)
{
    if (value != NULL)
        (void)setenv(name, value, 1);
    else
        (void)unsetenv(name);
    free(value);
}

static int tear_down(void **state)
{
    struct home *const p = *state;
    put_back("XDG_DATA_HOME", p->old_data);
    put_back("HOME", p->old_home);
    process_remove_tree(p->root);
    free(p->root);
    free(p);
    return 0;
}

static void test_user_dir(void **state)
{
    const struct home *const p = *state;
    char path[GNN_DATA_DIR_BYTES], want[512], data[512];
    (void)snprintf(data, sizeof data, "%s/data", p->root);
    (void)setenv("HOME", p->root, 1);
    (void)setenv("XDG_DATA_HOME", data, 1);
    assert_int_equal(gnn_data_dir_of_user(path, sizeof path, NULL), GNN_OK);
    (void)snprintf(want, sizeof want, "%s/data/oocgnn", p->root);
    assert_string_equal(path, want);
    /* A relative path there does not count. */
    (void)setenv("XDG_DATA_HOME", "data", 1);
    assert_int_equal(gnn_data_dir_of_user(path, sizeof path, NULL), GNN_OK);
    (void)snprintf(want, sizeof want, "%s/.local/share/oocgnn", p->root);
    assert_string_equal(path, want);
    assert_int_equal(gnn_data_dir_of_user(path, 8, NULL), GNN_EUSAGE);
    (void)unsetenv("HOME");
    assert_int_equal(gnn_data_dir_of_user(path, sizeof path, NULL), GNN_EUSAGE);
}

static void test_order(void **state)
{
    const struct home *const p = *state;
    struct gnn_data_dirs dirs;
    char data[512], own[600];
    (void)snprintf(data, sizeof data, "%s/data", p->root);
    (void)snprintf(own, sizeof own, "%s/oocgnn", data);
    (void)setenv("XDG_DATA_HOME", data, 1);
    gnn_data_dirs(&dirs); /* not there yet: left out */
    for (const char *const *dir = dirs.dirs; *dir != NULL; dir++)
        assert_string_not_equal(*dir, own);
    assert_int_equal(gnn_make_dirs(own, NULL), GNN_OK);
    assert_int_equal(gnn_make_dirs(own, NULL), GNN_OK); /* again: no error */
    gnn_data_dirs(&dirs);
    assert_non_null(dirs.dirs[0]);
    assert_string_equal(dirs.dirs[0], own);
    for (const char *const *dir = dirs.dirs; *dir != NULL; dir++) {
        struct stat info;
        assert_int_equal(stat(*dir, &info), 0);
        assert_true(S_ISDIR(info.st_mode));
    }
}

static void test_make_dirs_errors(void **state)
{
    (void)state;
    struct gnn_err err = {0};
    assert_int_equal(gnn_make_dirs("/dev/null/x", &err), GNN_EIO);
    assert_non_null(strstr(err.message, "/dev/null"));
    assert_int_equal(gnn_make_dirs("", NULL), GNN_EUSAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_user_dir, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test(test_make_dirs_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

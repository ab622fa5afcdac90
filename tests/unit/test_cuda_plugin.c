/* SPDX-License-Identifier: MIT */
/* Loading the CUDA plugin: absent without harm, refused with the remedy when it is asked for, and the one that was
 * built answers on a machine with or without a GPU. */
#include "harness/tensor/cuda/plugin.h"
#include "tests/support/op_cases.h"
#include "tests/support/toy_block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void refused(const char *file, const char *words)
{
    const struct gnn_tensor_ops *ops = NULL;
    struct gnn_err err = {0};
    assert_int_equal(setenv("OOCGNN_CUDA_PLUGIN", file, 1), 0);
    assert_int_equal(gnn_cuda_plugin(&ops, &err), GNN_ENOTSUP);
    assert_null(ops);
    if (strstr(err.message, words) == NULL)
        fail_msg("%s", err.message);
}

static void test_what_is_no_plugin_is_refused(void **state)
{
    (void)state;
    refused("/nonexistent/liboocgnn-cuda.so", "run make where nvcc is installed");
    refused("libm.so.6", "another build");
}

/* The plugin beside the program, if this build has one. */
static void test_the_built_plugin_answers(void **state)
{
    (void)state;
    const char *const program = getenv("OOCGNN");
    char path[600];
    assert_non_null(program);
    (void)snprintf(path, sizeof path, "%.*sliboocgnn-cuda.so", (int)(strrchr(program, '/') + 1 - program), program);
    if (access(path, R_OK) != 0) {
        (void)printf("skipped: no CUDA compiler here, so no plugin was built\n");
        skip();
    }
    const struct gnn_tensor_ops *ops = NULL;
    struct gnn_err err = {0};
    struct gnn_tensor *tensor = NULL;
    assert_int_equal(setenv("OOCGNN_CUDA_PLUGIN", path, 1), 0);
    assert_int_equal(gnn_cuda_plugin(&ops, &err), GNN_OK);
    assert_string_equal(ops->name, "cuda");
    struct toy_memory memory = {0};
    const struct gnn_tensor_env env = {.threads = 1, .alloc = toy_alloc, .free = toy_free, .ctx = &memory};
    const enum gnn_status status = ops->open(&env, NULL, &tensor, &err);
    if (status == GNN_OK)
        ops->close(tensor);
    else if (status != GNN_ENOTSUP || strstr(err.message, "--compute cuda") == NULL)
        fail_msg("%s: %s", gnn_status_name(status), err.message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_no_plugin_is_refused),
        cmocka_unit_test(test_the_built_plugin_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

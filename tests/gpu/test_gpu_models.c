/* SPDX-License-Identifier: MIT */
/* On a GPU, through the plugin: the models against PyTorch's vectors and against the CPU back-end, and a device whose
 * memory another has taken. */
#include "tests/gpu/device.h"
#include "tests/support/golden_cases.h"
#include "tests/support/model_cases.h"
#include "tests/support/toy_block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct gpu_device gpu;

static void test_models_are_those_of_pytorch(void **state)
{
    (void)state;
    golden_cases_against_pytorch(gpu.table);
}

static void test_losses_are_those_of_the_cpu(void **state)
{
    (void)state;
    model_cases_against_cpu(gpu.table, gpu.allocations);
}

/* Takes what the device has, in pieces of 4 GiB and less, down to the smallest it gives. */
static void take_all(struct gnn_tensor *hog)
{
    for (uint64_t bytes = UINT64_C(4) << 30; bytes >= 512; bytes /= 2) {
        void *piece = NULL;
        while (hog->ops->alloc(hog, "memory taken by the test", bytes, &piece, NULL) == GNN_OK)
            continue;
    }
}

static void test_a_full_device_is_a_result(void **state)
{
    (void)state;
    if (gpu.stand_in) {
        (void)printf("left out: the launcher's memory is the machine's; tests/op/test_cuda_kernels fills it\n");
        skip();
    }
    struct toy_memory memory = {0};
    struct gnn_err err = {0};
    struct gnn_tensor *const hog = toy_tensor_open(gpu.table, &memory, 1);
    struct gnn_tensor *t = toy_tensor_open(gpu.table, &memory, 1);
    take_all(hog);
    const enum gnn_status status = model_case_step(t, &err);
    t->ops->close(t);
    hog->ops->close(hog);
    if (status != GNN_EGPU)
        fail_msg("a full device ended as %s: %s", gnn_status_name(status), err.message);
    t = toy_tensor_open(gpu.table, &memory, 1);
    assert_int_equal(model_case_step(t, &err), GNN_OK); /* what was taken came back */
    t->ops->close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_are_those_of_pytorch),
        cmocka_unit_test(test_losses_are_those_of_the_cpu),
        cmocka_unit_test(test_a_full_device_is_a_result),
    };
    if (!gpu_device_find(&gpu)) {
        (void)printf("[  SKIPPED ] 3 test(s)\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

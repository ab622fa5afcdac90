/* SPDX-License-Identifier: MIT */
/* Memory that grows at warm-up: what it keeps, when it grows, and what a refusal leaves behind. */
#include "harness/system/buffer.h"
#include "tests/support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t held_bytes(struct gnn_world *world)
{
    struct gnn_mem_usage usage;
    gnn_mem_usage(world, &usage);
    return usage.current_bytes;
}

static void test_it_grows_with_something_to_spare_and_never_shrinks(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = NULL);
    struct gnn_world *const world = f.world;
    struct gnn_buffer buffer = {.name = "buffer"};
    struct gnn_err err = {0};
    assert_int_equal(gnn_buffer_reserve(world, &buffer, 0, &err), GNN_OK);
    assert_null(buffer.data);
    assert_int_equal(gnn_buffer_reserve(world, &buffer, 160000, &err), GNN_OK);
    assert_int_equal(buffer.bytes, 170000);
    memset(buffer.data, 7, buffer.bytes);
    static const uint64_t fits[] = {1, 160000, 170000, 0};
    void *const data = buffer.data;
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) { /* what fits changes nothing */
        assert_int_equal(gnn_buffer_reserve(world, &buffer, fits[i], &err), GNN_OK);
        assert_ptr_equal(buffer.data, data);
        assert_int_equal(((unsigned char *)buffer.data)[169999], 7);
    }
    assert_int_equal(gnn_buffer_reserve(world, &buffer, 170001, &err), GNN_OK);
    assert_int_equal(buffer.bytes, 170001 + 170001 / 16);
    assert_true(held_bytes(world) >= buffer.bytes);
    assert_true(held_bytes(world) < 2 * buffer.bytes); /* the old one is gone */
    gnn_buffer_close(world, &buffer);
    gnn_buffer_close(world, &buffer);
    assert_int_equal(held_bytes(world), 0);
    fixture_close(&f);
}

static void test_a_refused_buffer_is_empty_and_can_be_tried_again(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .measured.memory_limit_bytes = 1 << 20);
    struct gnn_world *const world = f.world;
    struct gnn_buffer buffer = {.name = "buffer"};
    struct gnn_err err = {0};
    assert_int_equal(gnn_buffer_reserve(world, &buffer, 4096, &err), GNN_OK);
    assert_int_equal(gnn_buffer_reserve(world, &buffer, 2 << 20, &err), GNN_ECAP);
    assert_non_null(strstr(err.message, "buffer"));
    assert_null(buffer.data);
    assert_int_equal(buffer.bytes, 0);
    assert_int_equal(held_bytes(world), 0);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_buffer_reserve(world, &buffer, UINT64_MAX, &err), GNN_ENOMEM); /* no overflow */
    err = (struct gnn_err){0};
    assert_int_equal(gnn_buffer_reserve(world, &buffer, 4096, &err), GNN_OK);
    gnn_buffer_close(world, &buffer);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_grows_with_something_to_spare_and_never_shrinks),
        cmocka_unit_test(test_a_refused_buffer_is_empty_and_can_be_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

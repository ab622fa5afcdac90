/* SPDX-License-Identifier: MIT */
/* Several devices with one model: processes that sum on the test suite's launcher, through a stand-in for NCCL
 * (tests/gpu/stub_nccl.c); what is missing, what fails, and who does not come. */
#include "harness/tensor/cuda/backend.h"
#include "harness/tensor/group.h"
#include "tests/support/hang.h"
#include "tests/support/must.h"
#include "tests/support/process.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

extern uint32_t cuda_host_devices; /* tests/support/cuda_host.cc */

enum { RANKS_MAX = 4, COUNT = 1000, ROUNDS = 5 };

/* In memory that all processes share. */
struct shared {
    uint32_t ranks;
    struct gnn_group_name name;
    atomic_bool cancelled;
    struct {
        enum gnn_status status;
        char message[GNN_ERR_MAX];
        float sum[ROUNDS][COUNT];
    } of[RANKS_MAX];
};

static enum gnn_status goes_on(void *ctx, struct gnn_err *err)
{
    const struct shared *const s = ctx;
    return atomic_load(&s->cancelled) ? gnn_fail(err, GNN_ECANCELLED, "another worker failed") : GNN_OK;
}

static void fails(void *ctx, const struct gnn_err *why)
{
    struct shared *const s = ctx;
    assert_true(why->status != GNN_OK);
    atomic_store(&s->cancelled, true);
}

/* Rank 1 has nothing to add in round 2, and no numbers. */
static float weight_of(uint32_t rank, uint32_t round)
{
    return rank == 1 && round == 2 ? 0 : 0.25f + 0.125f * (float)((rank + round) % 5);
}

static float value_of(uint32_t rank, uint32_t round, uint32_t k)
{
    return rank == 1 && round == 2 ? NAN : (float)(k % 37) * 0.7f - (float)rank * 3.1f + (float)round;
}

static enum gnn_status sum_rounds(struct shared *s, uint32_t rank, struct gnn_tensor *t, struct gnn_err *err)
{
    gnn_real host[COUNT], *values = NULL;
    GNN_TRY(t->ops->alloc(t, "gradient", sizeof host, (void **)&values, err));
    enum gnn_status status = GNN_OK;
    for (uint32_t round = 0; round < ROUNDS && status == GNN_OK; round++) {
        for (uint32_t k = 0; k < COUNT; k++)
            host[k] = value_of(rank, round, k);
        t->ops->upload(t, values, host, sizeof host);
        status = t->ops->group->sum(t, values, COUNT, weight_of(rank, round), err);
        t->ops->download(t, s->of[rank].sum[round], values, sizeof host);
        t->ops->synchronize(t);
    }
    t->ops->free(t, values);
    return status;
}

static void run_rank(struct shared *s, uint32_t rank)
{
    struct toy_memory memory = {0};
    struct gnn_err err = {0};
    struct gnn_tensor *t = NULL;
    struct gnn_group_config config = {
        .name = s->name, .ranks = s->ranks, .rank = rank, .goes_on = goes_on, .fails = fails, .ctx = s};
    const struct gnn_tensor_env env = {
        .threads = 1, .device = rank, .graphs = true, .alloc = toy_alloc, .free = toy_free, .ctx = &memory};
    cuda_host_devices = RANKS_MAX;
    enum gnn_status status = gnn_tensor_cuda.open(&env, NULL, &t, &err);
    GNN_NEXT(status, t->ops->group->join(t, &config, &err));
    GNN_NEXT(status, sum_rounds(s, rank, t, &err));
    assert_true(status == GNN_OK || atomic_load(&s->cancelled)); /* the others were told */
    if (t != NULL) {
        t->ops->group->leave(t);
        t->ops->group->leave(t); /* once more does nothing */
        t->ops->close(t);
    }
    s->of[rank].status = memory.current_bytes == 0 ? status : GNN_EBUG;
    (void)snprintf(s->of[rank].message, sizeof s->of[rank].message, "%s", err.message);
}

/* Runs ranks 1 .. as processes and 0 here. What they left is the caller's to unmap. */
static struct shared *run_ranks(uint32_t ranks)
{
    struct shared *const s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[RANKS_MAX] = {0};
    struct gnn_err err = {0};
    assert_true(s != MAP_FAILED);
    s->ranks = ranks;
    must(gnn_tensor_cuda.group->name(&s->name, &err), &err);
    for (uint32_t r = 1; r < ranks; r++) {
        pids[r] = fork();
        assert_true(pids[r] >= 0);
        if (pids[r] == 0) {
            run_rank(s, r);
            _exit(0);
        }
    }
    run_rank(s, 0);
    for (uint32_t r = 1; r < ranks; r++) {
        int status;
        assert_int_equal(waitpid(pids[r], &status, 0), pids[r]);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("rank %u ended with %x", r, (unsigned)status);
    }
    return s;
}

static void drop(struct shared *s)
{
    assert_int_equal(munmap(s, sizeof *s), 0);
}

/* ---- what comes out ---- */

static void test_every_rank_has_the_sum(void **state)
{
    (void)state;
    for (uint32_t ranks = 2; ranks <= RANKS_MAX; ranks *= 2) {
        struct shared *const s = run_ranks(ranks);
        for (uint32_t r = 0; r < ranks; r++) {
            if (s->of[r].status != GNN_OK)
                fail_msg("rank %u of %u: %s", r, ranks, s->of[r].message);
            for (uint32_t round = 0; round < ROUNDS; round++)
                for (uint32_t k = 0; k < COUNT; k++) {
                    float want = 0;
                    for (uint32_t other = 0; other < ranks; other++) {
                        const float weight = weight_of(other, round);
                        want += weight != 0 ? weight * value_of(other, round, k) : 0;
                    }
                    if (s->of[r].sum[round][k] != want)
                        fail_msg("rank %u of %u, round %u: [%u] is %.9g, the sum %.9g", r, ranks, round, k,
                                 (double)s->of[r].sum[round][k], (double)want);
                }
        }
        drop(s);
    }
}

/* ---- what fails ---- */

/* The rank whose call fails says so; the other is told, and waits no longer. */
static void test_a_failing_call_ends_every_rank(void **state)
{
    (void)state;
    static const struct {
        const char *fails, *message;
    } cases[] = {{"init:1:1", "NCCL: joining the group: made-up system error"},
                 {"sum:1:1", "NCCL: sum of the gradients: made-up system error: the stand-in was told to fail"},
                 {"sum:1:4", "NCCL: sum of the gradients: made-up system error"},
                 {"state:1:1", "NCCL: joining the group: made-up remote error"},
                 {"sum:0:2", ""}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const uint32_t failing = cases[c].message[0] == '\0' ? 0 : 1;
        assert_int_equal(setenv("STUB_NCCL_FAILS", cases[c].fails, 1), 0);
        struct shared *const s = run_ranks(2);
        assert_int_equal(unsetenv("STUB_NCCL_FAILS"), 0);
        if (s->of[failing].status != GNN_EIO || strstr(s->of[failing].message, cases[c].message) == NULL)
            fail_msg("%s: %s: %s", cases[c].fails, gnn_status_name(s->of[failing].status), s->of[failing].message);
        if (s->of[1 - failing].status != GNN_ECANCELLED)
            fail_msg("%s: the other: %s: %s", cases[c].fails, gnn_status_name(s->of[1 - failing].status),
                     s->of[1 - failing].message);
        drop(s);
    }
}

/* The end is no failure of what was trained. */
static void test_a_failing_end_is_no_failure(void **state)
{
    (void)state;
    assert_int_equal(setenv("STUB_NCCL_FAILS", "end:0:1", 1), 0);
    struct shared *const s = run_ranks(1);
    assert_int_equal(unsetenv("STUB_NCCL_FAILS"), 0);
    if (s->of[0].status != GNN_OK)
        fail_msg("%s", s->of[0].message);
    drop(s);
}

static enum gnn_status goes_on_for_a_while(void *ctx, struct gnn_err *err)
{
    uint32_t *const asked = ctx;
    return ++*asked < 100 ? GNN_OK : gnn_fail(err, GNN_ECANCELLED, "another worker failed");
}

static void is_told(void *ctx, const struct gnn_err *why)
{
    (void)ctx;
    assert_int_equal(why->status, GNN_ECANCELLED);
}

static void test_nobody_waits_for_one_that_does_not_come(void **state)
{
    (void)state;
    uint32_t asked = 0;
    struct toy_memory memory = {0};
    struct gnn_err err = {0};
    struct gnn_group_config config = {
        .ranks = 2, .rank = 0, .goes_on = goes_on_for_a_while, .fails = is_told, .ctx = &asked};
    struct gnn_tensor *const t = toy_tensor_open(&gnn_tensor_cuda, &memory, 1);
    must(t->ops->group->name(&config.name, &err), &err);
    assert_int_equal(t->ops->group->join(t, &config, &err), GNN_ECANCELLED);
    assert_int_equal(asked, 100);
    t->ops->group->leave(t);
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
}

/* ---- what is missing ---- */

static void expect_missing(const char *variable, const char *value, const char *words)
{
    char before[1024], text[64] = "";
    struct gnn_group_name name;
    const char *const old = getenv(variable);
    (void)snprintf(before, sizeof before, "%s", old != NULL ? old : "");
    assert_int_equal(setenv(variable, value, 1), 0);
    for (int call = 0; call < 2; call++) {
        struct gnn_err err = {0};
        const enum gnn_status status =
            call == 0 ? gnn_tensor_cuda.group->find(text, sizeof text, &err) : gnn_tensor_cuda.group->name(&name, &err);
        if (status != GNN_ENOTSUP || strstr(err.message, words) == NULL ||
            strstr(err.message, "put its folder into LD_LIBRARY_PATH") == NULL)
            fail_msg("%s=%s: %s: %s", variable, value, gnn_status_name(status), err.message);
    }
    assert_int_equal(old != NULL ? setenv(variable, before, 1) : unsetenv(variable), 0);
}

static void test_what_is_missing_is_said_with_the_remedy(void **state)
{
    (void)state;
    char text[64] = "";
    struct gnn_err err = {0};
    must(gnn_tensor_cuda.group->find(text, sizeof text, &err), &err);
    assert_string_equal(text, "NCCL 2.28.9");
    expect_missing("OOCGNN_NCCL", "/nonexistent/libnccl.so.2", "/nonexistent/libnccl.so.2");
    expect_missing("OOCGNN_NCCL", "libm.so.6", "lacks some of its calls");
    expect_missing("STUB_NCCL_VERSION", "21304", "says version 21304");
    assert_int_equal(setenv("STUB_NCCL_FAILS", "name:0:1", 1), 0);
    struct gnn_group_name name;
    assert_int_equal(gnn_tensor_cuda.group->name(&name, &err), GNN_EIO);
    assert_int_equal(unsetenv("STUB_NCCL_FAILS"), 0);
    assert_non_null(strstr(err.message, "NCCL: name of the group: made-up system error"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_rank_has_the_sum),
        cmocka_unit_test(test_a_failing_call_ends_every_rank),
        cmocka_unit_test(test_a_failing_end_is_no_failure),
        cmocka_unit_test(test_nobody_waits_for_one_that_does_not_come),
        cmocka_unit_test(test_what_is_missing_is_said_with_the_remedy),
    };
    char stub[1024];
    const char *const program = process_program(), *const slash = strrchr(program, '/');
    (void)snprintf(stub, sizeof stub, "%.*s/tests/gpu/stub_nccl.so", (int)(slash - program), program);
    (void)setenv("OOCGNN_NCCL", stub, 1);
    end_a_hang();
    return cmocka_run_group_tests_name("cuda group", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Meetings and averages of ranks, as threads of this world and as processes of their own. */
#include "harness/base/rng.h"
#include "harness/ranks/average.h"
#include "tests/support/fixture.h"
#include "tests/support/hang.h"
#include "tests/support/sanitizers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 4, COUNT = 2500, STEPS = 40 };

struct group {
    struct gnn_world *world;
    struct gnn_ranks *ranks;
    struct gnn_average_memory *memory;
    struct gnn_tensor *tensor;
};

struct member {
    struct group *group;
    uint32_t rank, steps;
    struct gnn_thread *thread;
    enum gnn_status status;
    struct gnn_err err;
    uint32_t wrong; /* reals that differ from the mean computed here */
};

static uint64_t seeds_of(uint32_t rank, uint32_t step)
{
    return (rank * 7 + step * 3) % 11; /* some steps leave a rank without seeds */
}

static float real_of(uint32_t rank, uint32_t step, uint32_t i)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(gnn_rng_fold(rank, step), i));
    return (float)(2 * gnn_rng_unit(&rng) - 1);
}

static float mean_of(uint32_t step, uint32_t i)
{
    double sum = 0;
    uint64_t all = 0;
    for (uint32_t r = 0; r < RANKS; r++)
        all += seeds_of(r, step);
    for (uint32_t r = 0; r < RANKS; r++)
        sum += (double)seeds_of(r, step) / (double)all * (double)real_of(r, step, i);
    return (float)sum;
}

static void member_run(void *arg)
{
    struct member *const m = arg;
    struct gnn_average average;
    const struct gnn_average_config config = {.memory = m->group->memory, .rank = m->rank};
    gnn_average_init(&average, &config);
    static _Thread_local float gradient[COUNT];
    for (uint32_t step = 0; step < m->steps && m->status == GNN_OK; step++) {
        for (uint32_t i = 0; i < COUNT; i++)
            gradient[i] = real_of(m->rank, step, i);
        const struct gnn_average_step own = {.seeds = seeds_of(m->rank, step), .correct = m->rank, .loss = m->rank};
        m->status = gnn_average_gradient(&average, m->group->tensor, gradient, COUNT, &own, &m->err);
        for (uint32_t i = 0; m->status == GNN_OK && i < COUNT; i++)
            m->wrong += gradient[i] != mean_of(step, i);
        double loss = 0, seeds = 0;
        for (uint32_t r = 0; r < RANKS; r++) {
            loss += (double)(r * seeds_of(r, step));
            seeds += (double)seeds_of(r, step);
        }
        if (m->status == GNN_OK)
            m->wrong += fabs(average.all.loss - loss / seeds) > 1e-12 || average.all.correct != 0 + 1 + 2 + 3;
    }
    if (m->steps < STEPS) /* fails in the middle: the others must not wait for it */
        (void)gnn_fail(&m->err, GNN_EIO, "rank %u broke", m->rank);
    if (m->err.status != GNN_OK)
        gnn_ranks_cancel(m->group->ranks, m->rank, &m->err);
}

static enum gnn_status plain_alloc(void *ctx, const char *name, uint64_t bytes, void **out, struct gnn_err *err)
{
    return gnn_mem_alloc(ctx, name, bytes, GNN_MEM_PLAIN, out, err);
}

static void plain_free(void *ctx, void *ptr)
{
    gnn_mem_free(ctx, ptr);
}

static void group_open(struct group *g, struct gnn_world *world)
{
    struct gnn_err err = {0};
    const struct gnn_tensor_env env = {.threads = 1, .alloc = plain_alloc, .free = plain_free, .ctx = world};
    *g = (struct group){.world = world};
    must(gnn_ranks_open(world, RANKS, sizeof(uint64_t), &g->ranks, &err), &err);
    must(gnn_average_memory_open(world, g->ranks, COUNT, &g->memory, &err), &err);
    must(gnn_tensor_ref.open(&env, NULL, &g->tensor, &err), &err);
}

static void group_close(struct group *g)
{
    gnn_tensor_ref.close(g->tensor);
    gnn_average_memory_close(g->memory);
    gnn_ranks_close(g->ranks);
}

static void as_threads(struct group *g, struct member *members, uint32_t failing)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        members[r] = (struct member){.group = g, .rank = r, .steps = r == failing ? STEPS / 2 : STEPS};
        must(gnn_thread_start(g->world, "rank", member_run, &members[r], &members[r].thread, &members[r].err),
             &members[r].err);
    }
    for (uint32_t r = 0; r < RANKS; r++)
        gnn_thread_join(g->world, members[r].thread);
}

static void test_every_rank_gets_the_weighted_mean_in_rank_order(void **state)
{
    (void)state;
    for (int simulated = 0; simulated < 2; simulated++) {
        struct fixture f;
        struct group g;
        struct member members[RANKS];
        fixture_open(&f, .simulated = simulated);
        group_open(&g, f.world);
        as_threads(&g, members, RANKS);
        uint32_t who;
        assert_null(gnn_ranks_failure(g.ranks, &who));
        for (uint32_t r = 0; r < RANKS; r++) {
            assert_int_equal(members[r].status, GNN_OK);
            assert_int_equal(members[r].wrong, 0);
        }
        group_close(&g);
        fixture_close(&f);
    }
}

static void test_a_rank_that_fails_ends_all_meetings(void **state)
{
    (void)state;
    for (int simulated = 0; simulated < 2; simulated++) {
        struct fixture f;
        struct group g;
        struct member members[RANKS];
        fixture_open(&f, .simulated = simulated);
        group_open(&g, f.world);
        assert_int_equal(gnn_ranks_go_on(g.ranks, &f.err), GNN_OK);
        as_threads(&g, members, 2);
        uint32_t who = RANKS;
        const struct gnn_err *const first = gnn_ranks_failure(g.ranks, &who);
        assert_non_null(first);
        assert_int_equal(first->status, GNN_EIO);
        assert_string_equal(first->message, "rank 2 broke");
        assert_int_equal(who, 2);
        for (uint32_t r = 0; r < RANKS; r++)
            assert_int_equal(members[r].status, r == 2 ? GNN_OK : GNN_ECANCELLED);
        assert_int_equal(gnn_ranks_meet(g.ranks, &f.err), GNN_ECANCELLED);
        assert_int_equal(gnn_ranks_go_on(g.ranks, &f.err), GNN_ECANCELLED);
        group_close(&g);
        fixture_close(&f);
    }
}

/* Locks and memory that were opened before the fork are everybody's. */
static void test_processes_meet(void **state)
{
    (void)state;
    if (SANITIZERS_SHADOW_PERCENT > 100)
        skip_test("ThreadSanitizer does not see other processes");
    struct fixture f;
    struct group g;
    fixture_open(&f, .measured = {.processes = true});
    group_open(&g, f.world);
    pid_t pids[RANKS] = {0};
    uint32_t rank = 0;
    for (uint32_t r = 1; r < RANKS && rank == 0; r++) {
        pids[r] = fork();
        assert_true(pids[r] >= 0);
        rank = pids[r] == 0 ? r : 0;
    }
    gnn_world_measured_forked(f.inner);
    struct member m = {.group = &g, .rank = rank, .steps = STEPS};
    member_run(&m);
    *(uint64_t *)gnn_ranks_report(g.ranks, rank) = 100 + rank;
    enum gnn_status met = gnn_ranks_meet(g.ranks, &m.err);
    if (rank > 0)
        _exit(m.status == GNN_OK && met == GNN_OK && m.wrong == 0 ? 0 : 1);
    for (uint32_t r = 1; r < RANKS; r++) {
        int status;
        assert_int_equal(waitpid(pids[r], &status, 0), pids[r]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(m.status, GNN_OK);
    assert_int_equal(met, GNN_OK);
    assert_int_equal(m.wrong, 0);
    for (uint32_t r = 0; r < RANKS; r++)
        assert_int_equal(*(uint64_t *)gnn_ranks_report(g.ranks, r), 100 + r);
    group_close(&g);
    fixture_close(&f);
}

/* What one process holds counts against the limit of all. */
static void test_the_program_cap_is_for_all_processes(void **state)
{
    (void)state;
    if (SANITIZERS_SHADOW_PERCENT > 100)
        skip_test("ThreadSanitizer does not see other processes");
    struct fixture f;
    struct gnn_ranks *ranks;
    fixture_open(&f, .measured = {.processes = true, .memory_limit_bytes = 1 << 20});
    must(gnn_ranks_open(f.world, 2, 0, &ranks, &f.err), &f.err);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    gnn_world_measured_forked(f.inner);
    void *memory = NULL, *more = NULL;
    if (pid == 0) {
        const enum gnn_status got = gnn_mem_alloc(f.world, "most", 900 << 10, GNN_MEM_PLAIN, &memory, &f.err);
        const enum gnn_status there = gnn_ranks_meet(ranks, &f.err), tried = gnn_ranks_meet(ranks, &f.err);
        gnn_mem_free(f.world, memory);
        _exit(got == GNN_OK && there == GNN_OK && tried == GNN_OK ? 0 : 1);
    }
    assert_int_equal(gnn_ranks_meet(ranks, &f.err), GNN_OK);
    assert_int_equal(gnn_mem_alloc(f.world, "some", 200 << 10, GNN_MEM_PLAIN, &more, &f.err), GNN_ECAP);
    struct gnn_err err = {0};
    assert_int_equal(gnn_ranks_meet(ranks, &err), GNN_OK);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    gnn_ranks_close(ranks);
    fixture_close(&f);
}

static void test_parts_cover_everything_once(void **state)
{
    (void)state;
    for (uint64_t total = 0; total < 40; total++)
        for (uint32_t count = 1; count < 9; count++) {
            uint64_t next = 0, first, end;
            for (uint32_t r = 0; r < count; r++, next = end) {
                gnn_ranks_part(total, count, r, &first, &end);
                assert_int_equal(first, next);
                assert_in_range(end - first, total / count, total / count + 1);
            }
            assert_int_equal(next, total);
        }
}

static void test_one_rank_needs_no_group(void **state)
{
    (void)state;
    struct gnn_err err = {.status = GNN_EIO};
    uint32_t rank;
    assert_int_equal(gnn_ranks_count(NULL), 1);
    assert_int_equal(gnn_ranks_meet(NULL, &err), GNN_OK);
    assert_int_equal(gnn_ranks_go_on(NULL, &err), GNN_OK);
    gnn_ranks_cancel(NULL, 0, &err);
    assert_null(gnn_ranks_failure(NULL, &rank));
    gnn_ranks_close(NULL);
    gnn_average_memory_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_rank_gets_the_weighted_mean_in_rank_order),
        cmocka_unit_test(test_a_rank_that_fails_ends_all_meetings),
        cmocka_unit_test(test_processes_meet),
        cmocka_unit_test(test_the_program_cap_is_for_all_processes),
        cmocka_unit_test(test_parts_cover_everything_once),
        cmocka_unit_test(test_one_rank_needs_no_group),
    };
    end_a_hang();
    return cmocka_run_group_tests_name("ranks", tests, NULL, NULL);
}

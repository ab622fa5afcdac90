/* SPDX-License-Identifier: MIT */
/* Link prediction on the CUDA back-end, run on the host by the test suite's launcher: steps of the model against the
 * formulas and the reference, the same bits again, no allocation in steady state, and a device that is full. The ops
 * one by one are in the table of tests/support/op_cases.h. */
#include "harness/tensor/cuda/backend.h"
#include "tests/support/link_cases.h"
#include "tests/support/must.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

extern uint64_t cuda_host_capacity_bytes; /* tests/support/cuda_host.cc */

enum { NODES = 40, EDGES = 53, CHUNKS = 4, NEGATIVES = 37, RELATIONS = 5, DIM = 22, STEPS = 5, REALS = NODES * DIM };

struct task {
    struct gnn_link_config config;
    struct link_case c;
    gnn_real *vectors, *relations[2]; /* to begin with */
};

struct outcome {
    enum gnn_status status;
    double loss[STEPS];
    bool finite;
    gnn_real dh[REALS], relation[RELATIONS * DIM];
    uint64_t late_allocations; /* in the last step */
};

static gnn_real *place(struct gnn_tensor *t, const gnn_real *host, uint64_t count, struct gnn_err *err)
{
    void *data = NULL;
    if (t->ops->alloc(t, "vectors", count * sizeof *host, &data, err) != GNN_OK)
        return NULL;
    t->ops->upload(t, data, host, count * sizeof *host);
    return data;
}

/* The vectors stay, the relations learn. */
static void train(struct gnn_tensor *t, const struct task *task, struct outcome *out, struct gnn_err *err)
{
    struct gnn_link *link = NULL;
    gnn_real *const h = place(t, task->vectors, REALS, err), *const dh = place(t, task->vectors, REALS, err);
    out->status = h == NULL || dh == NULL ? GNN_EGPU : gnn_link_open(t, &task->config, &link, err);
    for (uint32_t k = 0; k < 2 && out->status == GNN_OK; k++)
        t->ops->upload(t, gnn_link_relations(link, k).value, task->relations[k], sizeof out->relation);
    for (uint32_t k = 0; k < STEPS && out->status == GNN_OK; k++) {
        const uint64_t before = t->ops == &gnn_tensor_cuda ? gnn_cuda_allocations(t) : 0;
        out->status = gnn_link_train(link, &task->c.view, h, dh, &out->loss[k], &out->finite, err);
        out->late_allocations = t->ops == &gnn_tensor_cuda ? gnn_cuda_allocations(t) - before : 0;
    }
    if (out->status == GNN_OK) {
        t->ops->download(t, out->dh, dh, sizeof out->dh);
        t->ops->download(t, out->relation, gnn_link_relations(link, 1).value, sizeof out->relation);
    }
    gnn_link_close(link);
    t->ops->free(t, dh);
    t->ops->free(t, h);
}

static struct task task_of(enum gnn_decoder decoder, enum gnn_optimizer optimizer)
{
    struct gnn_rng rng = gnn_rng_at(11);
    struct task task = {
        .config = {.decoder = decoder, .optimizer = optimizer, .dim = DIM, .relations = RELATIONS, .lr = 0.1}};
    link_case_open(&task.c, &rng, &task.config, NODES, EDGES, CHUNKS, NEGATIVES);
    task.vectors = toy_reals(&rng, REALS, -1, 1);
    for (uint32_t k = 0; k < 2; k++)
        task.relations[k] = toy_reals(&rng, RELATIONS * DIM, -0.8, 0.8);
    return task;
}

static void task_free(struct task *task)
{
    link_case_close(&task->c);
    free(task->vectors);
    free(task->relations[0]);
    free(task->relations[1]);
}

static void train_on(const struct gnn_tensor_ops *ops, const struct task *task, struct outcome *out)
{
    struct toy_memory memory = {0};
    struct gnn_err err = {0};
    struct gnn_tensor *const t = toy_tensor_open(ops, &memory, 1);
    *out = (struct outcome){.status = GNN_OK};
    train(t, task, out, &err);
    must(out->status, &err);
    t->ops->close(t);
    assert_int_equal(memory.current_bytes, 0);
}

static void near_all(const char *what, const gnn_real *found, const gnn_real *wanted, uint32_t count)
{
    double largest = 0;
    for (uint32_t k = 0; k < count; k++)
        largest = fmax(largest, fabs((double)wanted[k]));
    for (uint32_t k = 0; k < count; k++)
        if (!(fabs((double)found[k] - (double)wanted[k]) <= 5e-5 * largest))
            fail_msg("%s[%u]: %.9g, the reference has %.9g", what, k, (double)found[k], (double)wanted[k]);
}

static void test_steps_are_those_of_the_reference(void **state)
{
    (void)state;
    for (int decoder = 0; decoder < GNN_DECODER_KINDS; decoder++)
        for (int optimizer = 0; optimizer < GNN_OPTIMIZERS; optimizer++) {
            struct task task = task_of((enum gnn_decoder)decoder, (enum gnn_optimizer)optimizer);
            struct outcome ref, cuda, again;
            train_on(&gnn_tensor_ref, &task, &ref);
            train_on(&gnn_tensor_cuda, &task, &cuda);
            train_on(&gnn_tensor_cuda, &task, &again);
            for (uint32_t k = 0; k < STEPS; k++)
                if (!(fabs(cuda.loss[k] - ref.loss[k]) <= 1e-5 * ref.loss[k]))
                    fail_msg("%s, step %u: loss %.9g, the reference has %.9g", gnn_decoder_words[decoder], k,
                             cuda.loss[k], ref.loss[k]);
            assert_true(ref.loss[STEPS - 1] < ref.loss[0]);
            near_all("gradient of the vectors", cuda.dh, ref.dh, REALS);
            near_all("relations", cuda.relation, ref.relation, RELATIONS * DIM);
            assert_memory_equal(cuda.loss, again.loss, sizeof cuda.loss);
            assert_memory_equal(cuda.dh, again.dh, sizeof cuda.dh);
            assert_memory_equal(cuda.relation, again.relation, sizeof cuda.relation);
            assert_int_equal(cuda.late_allocations, 0);
            assert_true(cuda.finite);
            task_free(&task);
        }
}

static void test_the_loss_is_that_of_the_formulas(void **state)
{
    (void)state;
    for (int decoder = 0; decoder < GNN_DECODER_KINDS; decoder++) {
        struct task task = task_of((enum gnn_decoder)decoder, GNN_OPTIMIZER_ADAGRAD);
        struct outcome cuda;
        const gnn_real *const relations[2] = {task.relations[0], task.relations[1]};
        const double expected = link_loss(&task.c, task.vectors, relations);
        train_on(&gnn_tensor_cuda, &task, &cuda);
        if (!(fabs(cuda.loss[0] - expected) <= 1e-5 * expected))
            fail_msg("%s: loss %.9g, by the formulas %.9g", gnn_decoder_words[decoder], cuda.loss[0], expected);
        task_free(&task);
    }
}

/* A vector that is no number shows in the loss, whether it is an edge's end or only compared with. */
static void test_no_number(void **state)
{
    (void)state;
    for (int decoder = 0; decoder < GNN_DECODER_KINDS; decoder++)
        for (int end = 0; end < 2; end++) {
            struct task task = task_of((enum gnn_decoder)decoder, GNN_OPTIMIZER_ADAGRAD);
            struct outcome cuda;
            const uint32_t node = end == 1 ? task.c.view.end[0][EDGES - 1] : task.c.view.negative[1][0];
            task.vectors[node * DIM + 3] = NAN;
            train_on(&gnn_tensor_cuda, &task, &cuda);
            assert_false(cuda.finite);
            task_free(&task);
        }
}

static void test_a_full_device_is_a_result(void **state)
{
    (void)state;
    struct task task = task_of(GNN_DECODER_TRANSE, GNN_OPTIMIZER_ADAM);
    uint32_t failed = 0, finished = 0;
    for (uint64_t capacity = 2048; finished == 0; capacity += capacity / 4) {
        struct toy_memory memory = {0};
        struct gnn_err err = {0};
        struct outcome out = {.status = GNN_OK};
        cuda_host_capacity_bytes = capacity;
        struct gnn_tensor *const t = toy_tensor_open(&gnn_tensor_cuda, &memory, 1);
        train(t, &task, &out, &err);
        assert_true(out.status == GNN_OK || out.status == GNN_EGPU);
        failed += out.status != GNN_OK;
        finished += out.status == GNN_OK;
        t->ops->close(t); /* the launcher fails the test when anything of the device is left */
        assert_int_equal(memory.current_bytes, 0);
    }
    cuda_host_capacity_bytes = UINT64_MAX;
    assert_true(failed > 5);
    task_free(&task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_those_of_the_reference),
        cmocka_unit_test(test_the_loss_is_that_of_the_formulas),
        cmocka_unit_test(test_no_number),
        cmocka_unit_test(test_a_full_device_is_a_result),
    };
    return cmocka_run_group_tests_name("cuda link", tests, NULL, NULL);
}

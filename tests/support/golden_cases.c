/* SPDX-License-Identifier: MIT */
#include "tests/support/golden_cases.h"

#include "harness/model/model.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const struct {
    const char *file;
    const char *why; /* of the tolerance */
} goldens[] = {
    {"tests/golden/sage.bin", "float sums of at most 40 terms against float64"},
    {"tests/golden/sage_weight_decay.bin", "the same, L2 in the gradient"},
    {"tests/golden/gcn.bin", "the same, and two roots per edge"},
    {"tests/golden/gcn_standard.bin", "the same"},
    {"tests/golden/gat.bin", "the same, and a softmax per target"},
    {"tests/golden/gat_total.bin", "the same"},
};

/* An entry may be off by this part of itself plus a tenth of this part of the largest entry beside it. */
static const double tolerance = 1e-5;

/* ---- reading ---- */

enum { VERSION = 1, PARAMS_MAX = 32, STEPS_MAX = 8 };

struct header {
    char magic[8];
    uint32_t version, kind, layers, in_dim, hidden, heads, classes, gcn_norm, gat_width_total, seeds, params, steps;
    double lr, weight_decay;
    char generator[96];
};
_Static_assert(sizeof(struct header) == 168, "as make_golden.py packs it");

struct golden_param {
    char name[32];
    uint32_t rows, cols;
    const float *start;
    const double *grad, *end;
};

struct golden {
    char *bytes, *next, *end;
    struct header header;
    struct gnn_batch_view batch;
    const float *x;
    const int32_t *labels;
    struct golden_param param[PARAMS_MAX];
    const double *log_prob, *loss;
};

/* The next count items of the file. Everything in it is a multiple of 4 bytes; doubles may be unaligned, so
 * arrays are copied out. */
static void *take(struct golden *g, uint64_t count, uint64_t item_bytes)
{
    const uint64_t bytes = count * item_bytes;
    assert_true(bytes <= (uint64_t)(g->end - g->next));
    void *copy = malloc(bytes + 1);
    assert_non_null(copy);
    memcpy(copy, g->next, bytes);
    g->next += bytes;
    return copy;
}

static void read_file(struct golden *g, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s is missing; run the tests from the repository's root", path);
    enum { BYTES_MAX = 1 << 20 };
    g->bytes = malloc(BYTES_MAX);
    assert_non_null(g->bytes);
    const size_t got = fread(g->bytes, 1, BYTES_MAX, file);
    assert_true(got < BYTES_MAX && ferror(file) == 0);
    (void)fclose(file);
    g->next = g->bytes;
    g->end = g->bytes + got;
    struct header *header = take(g, 1, sizeof *header);
    g->header = *header;
    free(header);
    if (memcmp(g->header.magic, "GNNGOLD", 8) != 0 || g->header.version != VERSION)
        fail_msg("%s: not a golden file of version %d; run tests/golden/make_golden.py", path, VERSION);
    assert_true(g->header.layers <= GNN_LAYERS_MAX && g->header.params <= PARAMS_MAX && g->header.steps <= STEPS_MAX);
}

static void read_blocks(struct golden *g)
{
    g->batch = (struct gnn_batch_view){.layer_count = g->header.layers, .seed_count = g->header.seeds};
    for (uint32_t k = 0; k < g->header.layers; k++) {
        uint32_t *sizes = take(g, 3, sizeof *sizes);
        g->batch.blocks[k] = (struct gnn_block){.dst_count = sizes[0], .src_count = sizes[1], .edge_count = sizes[2]};
        free(sizes);
        g->batch.blocks[k].row_start = take(g, g->batch.blocks[k].dst_count + 1ull, sizeof(uint32_t));
        g->batch.blocks[k].col = take(g, g->batch.blocks[k].edge_count, sizeof(uint32_t));
    }
    g->batch.node_count = g->batch.blocks[0].src_count;
}

static void golden_open(struct golden *g, const char *path)
{
    *g = (struct golden){0};
    read_file(g, path);
    read_blocks(g);
    g->x = take(g, (uint64_t)g->batch.node_count * g->header.in_dim, sizeof(float));
    g->labels = take(g, g->header.seeds, sizeof(int32_t));
    for (uint32_t p = 0; p < g->header.params; p++) {
        struct golden_param *param = &g->param[p];
        char *name = take(g, 32, 1);
        uint32_t *shape = take(g, 2, sizeof *shape);
        memcpy(param->name, name, sizeof param->name);
        param->rows = shape[0];
        param->cols = shape[1];
        param->start = take(g, (uint64_t)param->rows * param->cols, sizeof(float));
        free(name);
        free(shape);
    }
    g->log_prob = take(g, (uint64_t)g->header.seeds * g->header.classes, sizeof(double));
    g->loss = take(g, g->header.steps, sizeof(double));
    for (uint32_t p = 0; p < g->header.params; p++) {
        g->param[p].grad = take(g, (uint64_t)g->param[p].rows * g->param[p].cols, sizeof(double));
        g->param[p].end = take(g, (uint64_t)g->param[p].rows * g->param[p].cols, sizeof(double));
    }
    assert_true(g->next == g->end);
    (void)printf("%s: %s\n", path, g->header.generator);
}

static void free_const(const void *p)
{
    free((void *)(uintptr_t)p);
}

static void golden_close(struct golden *g)
{
    toy_batch_free(&g->batch);
    for (uint32_t p = 0; p < g->header.params; p++) {
        free_const(g->param[p].start);
        free_const(g->param[p].grad);
        free_const(g->param[p].end);
    }
    free_const(g->x);
    free_const(g->labels);
    free_const(g->log_prob);
    free_const(g->loss);
    free(g->bytes);
}

/* ---- comparing ---- */

static void compare(const char *file, const char *backend, const char *what, const gnn_real *got, const double *want,
                    uint64_t count)
{
    double scale = 0;
    for (uint64_t k = 0; k < count; k++)
        scale = fmax(scale, fabs(want[k]));
    for (uint64_t k = 0; k < count; k++)
        if (!(fabs((double)got[k] - want[k]) <= tolerance * (fabs(want[k]) + 0.1 * scale)))
            fail_msg("%s on %s: %s[%llu] is %.9g, PyTorch says %.9g", file, backend, what, (unsigned long long)k,
                     (double)got[k], want[k]);
}

static void load_params(const struct golden *g, struct gnn_tensor *t, const struct gnn_model *model)
{
    assert_int_equal(gnn_model_param_count(model), g->header.params);
    for (uint32_t p = 0; p < g->header.params; p++) {
        const struct gnn_param param = gnn_model_param(model, p);
        assert_string_equal(param.name, g->param[p].name);
        assert_true(param.rows == g->param[p].rows && param.cols == g->param[p].cols);
        t->ops->upload(t, param.value, g->param[p].start, (uint64_t)param.rows * param.cols * sizeof(float));
    }
}

static void check_log_probs(const struct golden *g, struct gnn_model *model, const gnn_real *x, const char *file,
                            const char *backend)
{
    const uint32_t classes = g->header.classes;
    gnn_real *logits = malloc((uint64_t)g->header.seeds * classes * sizeof *logits);
    assert_non_null(logits);
    assert_int_equal(gnn_model_logits(model, &g->batch, x, logits, NULL), GNN_OK);
    for (uint32_t i = 0; i < g->header.seeds; i++) {
        gnn_real *row = logits + (uint64_t)i * classes;
        double sum = 0;
        for (uint32_t c = 0; c < classes; c++)
            sum += exp((double)row[c]);
        for (uint32_t c = 0; c < classes; c++)
            row[c] = (gnn_real)((double)row[c] - log(sum));
    }
    compare(file, backend, "log-probability", logits, g->log_prob, (uint64_t)g->header.seeds * classes);
    free(logits);
}

static void check_params(const struct golden *g, struct gnn_tensor *t, const struct gnn_model *model, const char *file,
                         bool gradients)
{
    for (uint32_t p = 0; p < g->header.params; p++) {
        const struct gnn_param param = gnn_model_param(model, p);
        char what[64];
        (void)snprintf(what, sizeof what, "%s of %s", gradients ? "gradient" : "value after the last step", param.name);
        const uint64_t count = (uint64_t)param.rows * param.cols;
        gnn_real *const got = malloc(count * sizeof *got + 1);
        assert_non_null(got);
        t->ops->download(t, got, gradients ? param.grad : param.value, count * sizeof *got);
        compare(file, t->ops->name, what, got, gradients ? g->param[p].grad : g->param[p].end, count);
        free(got);
    }
}

static void check_golden(const struct golden *g, const struct gnn_tensor_ops *ops, const char *file)
{
    const struct header *h = &g->header;
    const struct gnn_model_config config = {.kind = (enum gnn_model_kind)h->kind,
                                            .layers = h->layers,
                                            .in_dim = h->in_dim,
                                            .hidden = h->hidden,
                                            .heads = h->heads,
                                            .classes = h->classes,
                                            .lr = h->lr,
                                            .weight_decay = h->weight_decay,
                                            .gat_width_total = h->gat_width_total != 0,
                                            .gcn_norm = (enum gnn_gcn_norm)h->gcn_norm};
    struct toy_memory memory = {0};
    struct gnn_tensor *t = toy_tensor_open(ops, &memory, 1);
    struct gnn_model *model = NULL;
    assert_int_equal(gnn_model_open(t, &config, &model, NULL), GNN_OK);
    load_params(g, t, model);
    const uint64_t x_bytes = (uint64_t)g->batch.node_count * h->in_dim * sizeof(gnn_real);
    void *x = NULL;
    assert_int_equal(t->ops->alloc(t, "rows of a golden file", x_bytes, &x, NULL), GNN_OK);
    t->ops->upload(t, x, g->x, x_bytes);
    check_log_probs(g, model, x, file, ops->name);
    for (uint32_t s = 0; s < h->steps; s++) {
        struct gnn_step_result result;
        assert_int_equal(gnn_model_train(model, &g->batch, x, g->labels, &result, NULL), GNN_OK);
        if (!(fabs(result.loss - g->loss[s]) <= tolerance * g->loss[s]))
            fail_msg("%s on %s: loss of step %u is %.9g, PyTorch says %.9g", file, ops->name, s, result.loss,
                     g->loss[s]);
        if (s == 0)
            check_params(g, t, model, file, true);
    }
    check_params(g, t, model, file, false);
    t->ops->free(t, x);
    gnn_model_close(model);
    t->ops->close(t);
}

void golden_cases_against_pytorch(const struct gnn_tensor_ops *table)
{
    for (uint32_t f = 0; f < sizeof goldens / sizeof *goldens; f++) {
        struct golden g;
        golden_open(&g, goldens[f].file);
        check_golden(&g, table, goldens[f].file);
        golden_close(&g);
    }
}

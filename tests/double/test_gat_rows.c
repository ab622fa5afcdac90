/* SPDX-License-Identifier: MIT */
/* A GAT layer that aggregates before it multiplies against the one that maps first, in double: all that a layer gives,
 * forward and backward, to rounding. And where the one is chosen over the other. */
#include "harness/model/gat.h"
#include "tests/support/toy_block.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const uint64_t seed = 77;
static const double tolerance = 1e-12; /* of the largest magnitude: sums in another order */

struct layer_case {
    const char *name;
    uint32_t in, channels, heads, dst, more; /* sources: dst and `more` */
    struct toy_degree degree;
    bool last, repeats;
};

static const struct layer_case layers[] = {
    {"hidden", 5, 4, 2, 12, 9, {0, 5}, false, false},
    {"last", 5, 4, 2, 12, 9, {0, 5}, true, false},
    {"one head", 7, 3, 1, 9, 20, {0, 4}, false, false},
    {"five heads", 3, 6, 5, 20, 30, {0, 6}, false, false},
    {"six heads, last", 9, 2, 6, 20, 30, {1, 6}, true, false},
    {"sources twice in a row", 6, 5, 3, 15, 8, {2, 6}, false, true},
    {"no neighbours", 6, 5, 3, 7, 4, {0, 0}, true, false},
    {"no sources but the targets", 4, 4, 2, 10, 0, {1, 5}, false, false},
    {"no targets", 4, 4, 2, 0, 3, {0, 0}, false, false},
};
enum { CASES = sizeof layers / sizeof *layers };

/* What a layer gives. */
struct result {
    gnn_real *z, *dx, *grad; /* grad: of all parameters */
};

struct fixture {
    struct toy_memory memory;
    struct gnn_tensor *t;
    struct gnn_tensor_ops mapped; /* the reference without ops for rows */
    struct gnn_layer layer;
    struct gnn_block block;
    gnn_real *values, *grads;
    uint64_t params;
    gnn_real *x, *dz;
};

static void place_params(struct fixture *f, struct gnn_rng *rng)
{
    struct gnn_param_spec spec[GNN_LAYER_PARAMS_MAX];
    f->layer.kind->params(&f->layer, spec);
    for (uint32_t p = 0; p < f->layer.kind->param_count; p++)
        f->params += (uint64_t)spec[p].rows * spec[p].cols;
    f->values = toy_reals(rng, f->params, -1, 1);
    f->grads = toy_reals(rng, f->params, -1, 1);
    uint64_t at = 0;
    for (uint32_t p = 0; p < f->layer.kind->param_count; p++) {
        f->layer.param[p] = (struct gnn_param){
            .value = f->values + at, .grad = f->grads + at, .rows = spec[p].rows, .cols = spec[p].cols};
        at += (uint64_t)spec[p].rows * spec[p].cols;
    }
}

/* Room for either way, whichever would be chosen. */
static void reserve(struct fixture *f)
{
    const struct gnn_block *b = &f->block;
    const uint64_t rows = ((uint64_t)b->dst_count + 2) * f->layer.in;
    const struct gnn_layer_size size = {b->dst_count, b->src_count + rows, b->edge_count};
    assert_int_equal(gnn_layer_reserve(f->t, &f->layer, &size, true, NULL), GNN_OK);
}

static void repeat_sources(const struct gnn_block *b)
{
    for (uint32_t i = 0; i < b->dst_count; i++)
        ((uint32_t *)(uintptr_t)b->col)[b->row_start[i] + 1] = b->col[b->row_start[i]];
}

static void open_case(struct fixture *f, const struct layer_case *c)
{
    struct gnn_rng rng = gnn_rng_at(seed + (uint64_t)(c - layers));
    *f = (struct fixture){.layer = {.kind = &gnn_layer_gat,
                                    .last = c->last,
                                    .in = c->in,
                                    .out = c->last ? c->channels : c->heads * c->channels,
                                    .heads = c->heads,
                                    .channels = c->channels}};
    f->t = toy_tensor_open(&gnn_tensor_ref, &f->memory, 1);
    f->mapped = gnn_tensor_ref;
    f->mapped.gat_rows = NULL;
    f->block = toy_block(&rng, c->dst, c->dst + c->more, c->degree);
    if (c->repeats)
        repeat_sources(&f->block);
    place_params(f, &rng);
    reserve(f);
    f->x = toy_reals(&rng, (uint64_t)f->block.src_count * c->in, -1, 1);
    f->dz = toy_reals(&rng, (uint64_t)c->dst * f->layer.out, -1, 1);
}

static void close_case(struct fixture *f)
{
    for (uint32_t w = 0; w < GNN_LAYER_WORK_MAX; w++)
        f->t->ops->free(f->t, f->layer.work[w].data);
    f->t->ops->free(f->t, f->layer.y.data);
    f->t->ops->free(f->t, f->layer.dy.data);
    free(f->values);
    free(f->grads);
    free(f->x);
    free(f->dz);
    toy_block_free(&f->block);
    f->t->ops->close(f->t);
    assert_int_equal(f->memory.current_bytes, 0);
}

static gnn_real *copy_of(const gnn_real *from, uint64_t count)
{
    gnn_real *const copy = malloc((count + 1) * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, from, count * sizeof *copy);
    return copy;
}

/* The heads' part of the layer alone: with rows first, or, the skip connection and the bias being 0, by the layer. */
static struct result pass(struct fixture *f, bool rows, bool wants_dx)
{
    const struct gnn_block *const b = &f->block;
    const uint64_t z_count = (uint64_t)b->dst_count * f->layer.out, x_count = (uint64_t)b->src_count * f->layer.in;
    struct gnn_rng rng = gnn_rng_at(seed + rows); /* what was there before must not matter */
    struct result r = {.z = toy_reals(&rng, z_count, 5, 6), .dx = toy_reals(&rng, x_count, 5, 6)};
    const struct gnn_mat x = {f->x, b->src_count, f->layer.in}, z = {r.z, b->dst_count, f->layer.out};
    gnn_real *const dz_data = copy_of(f->dz, z_count);
    const struct gnn_mat dz = {dz_data, b->dst_count, f->layer.out};
    const struct gnn_mat dx = wants_dx ? (struct gnn_mat){r.dx, b->src_count, f->layer.in} : (struct gnn_mat){0};
    f->t->ops = rows ? &gnn_tensor_ref : &f->mapped;
    if (rows) {
        gnn_gat_rows_forward(f->t, &f->layer, b, x, z);
        gnn_gat_rows_backward(f->t, &f->layer, b, x, dz, dx);
    } else {
        f->layer.kind->forward(f->t, &f->layer, b, x, z);
        f->layer.kind->backward(f->t, &f->layer, b, x, dz, dx);
    }
    f->t->ops = &gnn_tensor_ref;
    r.grad = copy_of(f->layer.param[GNN_GAT_W].grad, (uint64_t)f->layer.heads * f->layer.channels *
                                                         (f->layer.in + 2)); /* and both vectors, behind it */
    free(dz_data);
    return r;
}

static void free_result(struct result *r)
{
    free(r->z);
    free(r->dx);
    free(r->grad);
}

static void check_same(const char *name, const char *what, const gnn_real *rows, const gnn_real *mapped, uint64_t count)
{
    double scale = 1e-3;
    for (uint64_t k = 0; k < count; k++)
        scale = fmax(scale, fabs(mapped[k]));
    for (uint64_t k = 0; k < count; k++)
        if (!(fabs(rows[k] - mapped[k]) <= tolerance * scale))
            fail_msg("%s, %s[%llu]: rows first %.15g, mapped first %.15g", name, what, (unsigned long long)k, rows[k],
                     mapped[k]);
}

static void zero_skip(struct fixture *f)
{
    static const uint32_t none[] = {GNN_GAT_B, GNN_GAT_SKIP_W};
    for (uint32_t k = 0; k < 2; k++) {
        const struct gnn_param *const p = &f->layer.param[none[k]];
        memset(p->value, 0, (uint64_t)p->rows * p->cols * sizeof *p->value);
    }
}

static void check_case(const struct layer_case *c, bool wants_dx)
{
    struct fixture f;
    open_case(&f, c);
    zero_skip(&f);
    struct result rows = pass(&f, true, wants_dx), mapped = pass(&f, false, wants_dx);
    const uint64_t width = (uint64_t)c->heads * c->channels;
    check_same(c->name, "z", rows.z, mapped.z, (uint64_t)c->dst * f.layer.out);
    check_same(c->name, "gradient of W", rows.grad, mapped.grad, width * c->in);
    check_same(c->name, "gradient of a_src", rows.grad + width * c->in, mapped.grad + width * c->in, width);
    check_same(c->name, "gradient of a_dst", rows.grad + width * (c->in + 1), mapped.grad + width * (c->in + 1), width);
    if (wants_dx)
        check_same(c->name, "gradient of x", rows.dx, mapped.dx, (uint64_t)f.block.src_count * c->in);
    free_result(&rows);
    free_result(&mapped);
    close_case(&f);
}

static void test_both_ways_give_the_same(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < CASES; c++) {
        check_case(&layers[c], true);
        check_case(&layers[c], false);
    }
}

/* ---- finite differences ---- */

/* Central differences as in test_gradients.c; a kink of the leaky ReLU inside +-h would show as a gross error. */
static const double step = 1e-6, difference_tolerance = 2e-7;

/* <z, dz>: a loss whose gradient by z is dz. */
static double value_of(struct fixture *f)
{
    const uint64_t count = (uint64_t)f->block.dst_count * f->layer.out;
    const struct gnn_mat z = {f->layer.y.data, f->block.dst_count, f->layer.out};
    gnn_gat_rows_forward(f->t, &f->layer, &f->block, (struct gnn_mat){f->x, f->block.src_count, f->layer.in}, z);
    double sum = 0;
    for (uint64_t k = 0; k < count; k++)
        sum += z.data[k] * f->dz[k];
    return sum;
}

static void check_differences(struct fixture *f, const char *name, const char *what, gnn_real *value,
                              const gnn_real *gradient, uint64_t count)
{
    for (uint64_t k = 0; k < count; k++) {
        const double middle = value[k];
        value[k] = middle + step;
        const double above = value_of(f);
        value[k] = middle - step;
        const double numeric = (above - value_of(f)) / (2 * step);
        value[k] = middle;
        if (!(fabs(gradient[k] - numeric) <= difference_tolerance * (1 + fabs(numeric))))
            fail_msg("%s, %s[%llu]: gradient %.12g, finite difference %.12g", name, what, (unsigned long long)k,
                     gradient[k], numeric);
    }
}

static void test_finite_differences(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < CASES; c++) {
        struct fixture f;
        open_case(&f, &layers[c]);
        struct result r = pass(&f, true, true);
        const uint64_t w_count = (uint64_t)f.layer.param[GNN_GAT_W].rows * f.layer.in;
        check_differences(&f, layers[c].name, "W and the attention vectors", f.layer.param[GNN_GAT_W].value, r.grad,
                          w_count + 2 * w_count / f.layer.in);
        check_differences(&f, layers[c].name, "x", f.x, r.dx, (uint64_t)f.block.src_count * f.layer.in);
        free_result(&r);
        close_case(&f);
    }
}

/* ---- the choice ---- */

struct choice_case {
    const char *name;
    uint32_t index, in, heads, channels;
    struct gnn_layer_size size;
    bool rows;
};

static const struct choice_case choices[] = {
    /* a mini-batch of 1000 seeds of papers100M at 1/100, 3 hops of 10, 4 heads of 64 */
    {"outermost", 0, 128, 4, 64, {114048, 753964, 1140480}, true},
    {"hidden", 1, 256, 4, 64, {10900, 114048, 109000}, true},
    {"last", 2, 256, 4, 172, {1000, 10900, 10000}, true},
    {"one seed", 2, 256, 4, 172, {1, 11, 10}, true},
    /* memory: y and v of two more rows against u */
    {"one row too many", 1, 128, 2, 64, {49, 100, 49}, false},
    {"as many rows", 1, 128, 2, 64, {48, 100, 48}, true},
    {"many features", 0, 3703, 8, 8, {100, 2000, 1000}, false},
    {"only targets", 0, 128, 4, 64, {1000, 1000, 10000}, false},
    /* many neighbours a target, where the gradient of x is for one way and against the other */
    {"sums weigh more", 1, 200, 8, 24, {1000, 9000, 60000}, false},
    {"x's products weigh", 1, 200, 8, 24, {1000, 13000, 60000}, true},
    {"no gradient, fewer products", 0, 200, 8, 24, {1000, 13000, 60000}, false},
    {"products weigh more", 0, 200, 8, 24, {1000, 17000, 60000}, true},
    {"x's sums weigh", 1, 100, 1, 30, {1000, 37000, 60000}, false},
    {"no gradient, fewer sums", 0, 100, 1, 30, {1000, 37000, 60000}, true},
    {"nothing", 0, 128, 4, 64, {0, 0, 0}, false},
    {"beyond 64 bits", 1, 16384, 1, 16384, {UINT32_MAX, UINT32_MAX, UINT32_MAX}, false},
};

static struct gnn_layer layer_of(const struct choice_case *c)
{
    return (struct gnn_layer){.kind = &gnn_layer_gat,
                              .index = c->index,
                              .in = c->in,
                              .heads = c->heads,
                              .channels = c->channels,
                              .out = c->heads * c->channels};
}

static void test_where_rows_come_first(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < sizeof choices / sizeof *choices; c++) {
        const struct gnn_layer layer = layer_of(&choices[c]);
        if (gnn_gat_rows_pay(&layer, &choices[c].size) != choices[c].rows)
            fail_msg("%s: rows should%s come first", choices[c].name, choices[c].rows ? "" : " not");
    }
}

/* Wherever rows come first, what they need fits where u and du of the memory plan are. */
static void test_rows_fit_in_the_plan(void **state)
{
    (void)state;
    struct gnn_rng rng = gnn_rng_at(seed);
    uint32_t chosen = 0;
    enum { DRAWS = 20000 };
    for (uint32_t k = 0; k < DRAWS; k++) {
        struct choice_case c = {.index = k % 2,
                                .in = 1 + (uint32_t)gnn_rng_below(&rng, 600),
                                .heads = 1 + (uint32_t)gnn_rng_below(&rng, 8),
                                .channels = 1 + (uint32_t)gnn_rng_below(&rng, 200)};
        const uint64_t dst = gnn_rng_below(&rng, 3000), src = dst + gnn_rng_below(&rng, 20000);
        c.size = (struct gnn_layer_size){dst, src, gnn_rng_below(&rng, 1 + 10 * dst)};
        const struct gnn_layer layer = layer_of(&c);
        uint64_t reals[GNN_LAYER_WORK_MAX] = {0};
        layer.kind->sizes(&layer, &c.size, true, reals);
        if (!gnn_gat_rows_pay(&layer, &c.size))
            continue;
        chosen++;
        assert_true((dst + 2) * c.heads * c.in <= reals[GNN_GAT_U]);
        assert_true((dst + 2) * c.heads * c.in <= reals[GNN_GAT_DU]);
    }
    assert_true(chosen > DRAWS / 10 && chosen < DRAWS - DRAWS / 10);
}

int main(void)
{
    (void)printf("seed %llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways_give_the_same),
        cmocka_unit_test(test_finite_differences),
        cmocka_unit_test(test_where_rows_come_first),
        cmocka_unit_test(test_rows_fit_in_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* GFLOP/s of a training step of a 3 x 256 model against this machine's SGEMM peak, measured in
 * the same run with the same threads; then where the step's time goes, op by op.
 *
 *   bench_train [threads [seconds per case [sage|gcn|gat [batch [single]]]]]
 *
 * single: op by op where the back-end has one for a whole layer, so that products have a line of their own.
 * Without a model SAGE at batches of 10 and 1000. Blocks are synthetic: fan-out 10,10,10 from the seeds, sources drawn
 * uniformly from a node set as large as papers100M at 1/100, so that the sizes of the hops are those of the built-in
 * graph. Floating-point operations are counted as in the papers: a product's forward once, backward twice (once
 * in layer 0 where the input wants no gradient), plus the aggregation's additions; softmax and epilogues count as
 * nothing. GAT has 4 heads of 64 channels. */
#include "harness/base/denormals.h"
#include "harness/base/rng.h"
#include "harness/model/gat.h"
#include "harness/tensor/cpu/kernels.h"
#include "harness/tensor/gat_rows.h"
#include "harness/tensor/sage.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DIM = 128, HIDDEN = 256, HEADS = 4, CLASSES = 172, LAYERS = 3, FANOUT = 10, NODES = 1110600 };

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *must_alloc(uint64_t bytes)
{
    void *p = aligned_alloc(4096, gnn_round_up(bytes + 1, 4096));
    if (p == NULL) {
        (void)fprintf(stderr, "bench_train: %llu bytes of memory are not there\n", (unsigned long long)bytes);
        exit(1);
    }
    return p;
}

/* ---- synthetic blocks ---- */

static int by_value(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Expands dst nodes by FANOUT uniform draws each; local[node] is a node's local ID or GNN_NODE_NONE. */
static struct gnn_block draw_block(struct gnn_rng *rng, uint32_t *local, uint32_t dst)
{
    uint32_t *row_start = must_alloc((dst + 1ull) * sizeof *row_start);
    uint32_t *col = must_alloc((uint64_t)dst * FANOUT * sizeof *col);
    uint32_t src = dst, edges = 0;
    for (uint32_t i = 0; i < dst; i++) {
        row_start[i] = edges;
        for (uint32_t k = 0; k < FANOUT; k++) {
            const uint32_t node = (uint32_t)gnn_rng_below(rng, NODES);
            if (local[node] == GNN_NODE_NONE)
                local[node] = src++;
            col[edges++] = local[node];
        }
        qsort(col + row_start[i], FANOUT, sizeof *col, by_value);
    }
    row_start[dst] = edges;
    return (struct gnn_block){dst, src, edges, row_start, col};
}

static struct gnn_batch_view draw_batch(uint32_t seeds)
{
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fork(1, "bench"));
    struct gnn_batch_view view = {.layer_count = LAYERS, .seed_count = seeds};
    uint32_t *local = must_alloc(NODES * sizeof *local);
    memset(local, 0xff, NODES * sizeof *local);
    uint32_t dst = seeds;
    for (uint32_t i = 0; i < seeds; i++)
        local[i] = i;
    for (uint32_t k = LAYERS; k-- > 0;) {
        view.blocks[k] = draw_block(&rng, local, dst);
        dst = view.blocks[k].src_count;
    }
    view.node_count = dst;
    free(local);
    return view;
}

static void free_batch(struct gnn_batch_view *view)
{
    for (uint32_t k = 0; k < LAYERS; k++) {
        free((void *)(uintptr_t)view->blocks[k].row_start);
        free((void *)(uintptr_t)view->blocks[k].col);
    }
}

struct flops {
    double gemm, aggregate;
};

/* Products of `in` and `out` columns forward, for the parameters, and for the input except in layer 0. */
static double product_flops(uint32_t layer, double rows, double in, double out)
{
    return 2 * rows * in * out * (layer > 0 ? 3 : 2);
}

/* Whether GAT aggregates before it multiplies: then all three products have a row for each target. */
static bool rows_first(uint32_t k, const struct gnn_block *b)
{
    const struct gnn_layer layer = {.index = k,
                                    .in = k == 0 ? DIM : HIDDEN,
                                    .heads = HEADS,
                                    .channels = k + 1 == LAYERS ? CLASSES : HIDDEN / HEADS};
    return gnn_gat_rows_pay(&layer, &(struct gnn_layer_size){b->dst_count, b->src_count, b->edge_count});
}

static struct flops count_flops(enum gnn_model_kind kind, const struct gnn_batch_view *view)
{
    struct flops flops = {0};
    for (uint32_t k = 0; k < LAYERS; k++) {
        const struct gnn_block *b = &view->blocks[k];
        const double in = k == 0 ? DIM : HIDDEN, out = k + 1 == LAYERS ? CLASSES : HIDDEN, edges = b->edge_count;
        if (kind == GNN_MODEL_SAGE) {
            flops.gemm += product_flops(k, 2.0 * b->dst_count, in, out);
            flops.aggregate += edges * in * (k == 0 ? 1 : 2);
        } else if (kind == GNN_MODEL_GCN) {
            flops.gemm += product_flops(k, b->dst_count, in, out);
            flops.aggregate += 2 * edges * in * (k == 0 ? 1 : 2);
        } else { /* sums forward and backward, and the products of attention's gradient, over edges and self-loops */
            const double width = k + 1 == LAYERS ? HEADS * CLASSES : HIDDEN, slots = edges + b->dst_count;
            const bool rows = rows_first(k, b);
            flops.gemm += rows ? product_flops(1, b->dst_count, in, width) : product_flops(k, b->src_count, in, width);
            flops.gemm += product_flops(k, b->dst_count, in, out);
            flops.aggregate += 2 * slots * (rows ? HEADS * in : width) * 3;
        }
    }
    return flops;
}

/* ---- a back-end that times every op ---- */

/* X(op, its arguments' declarations, its arguments): an op is the CPU's op between two looks at the clock. */
/* clang-format off */
#define TIMED_OPS(X) \
    X(gemm, (struct gnn_tensor *t, bool ta, bool tb, gnn_real alpha, struct gnn_mat a, struct gnn_mat b, \
             gnn_real beta, struct gnn_mat c), (cpu, ta, tb, alpha, a, b, beta, c)) \
    X(segment_reduce, (struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat out, const struct gnn_block *b, \
                       struct gnn_mat x, uint32_t *argmax), (cpu, kind, out, b, x, argmax)) \
    X(segment_reduce_back, (struct gnn_tensor *t, enum gnn_reduce kind, struct gnn_mat dx, const struct gnn_block *b, \
                            struct gnn_mat dout, const uint32_t *argmax), (cpu, kind, dx, b, dout, argmax)) \
    X(gcn_weights, (struct gnn_tensor *t, enum gnn_gcn_norm norm, gnn_real *weight, gnn_real *sum, \
                    const struct gnn_block *b), (cpu, norm, weight, sum, b)) \
    X(spmm, (struct gnn_tensor *t, struct gnn_mat out, const struct gnn_block *b, const gnn_real *weight, \
             struct gnn_mat x), (cpu, out, b, weight, x)) \
    X(spmm_back, (struct gnn_tensor *t, struct gnn_mat dx, const struct gnn_block *b, const gnn_real *weight, \
                  struct gnn_mat dout), (cpu, dx, b, weight, dout)) \
    X(gat_scores, (struct gnn_tensor *t, const struct gnn_attention *att), (cpu, att)) \
    X(gat_softmax, (struct gnn_tensor *t, const struct gnn_attention *att, const struct gnn_block *b), (cpu, att, b)) \
    X(gat_attend, (struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att, \
                   const struct gnn_block *b), (cpu, out, att, b)) \
    X(gat_back, (struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att, \
                 const struct gnn_block *b, struct gnn_mat dout), (cpu, grad, att, b, dout)) \
    X(head_mean, (struct gnn_tensor *t, struct gnn_mat out, struct gnn_mat x, uint32_t heads), (cpu, out, x, heads)) \
    X(head_mean_back, (struct gnn_tensor *t, struct gnn_mat dx, struct gnn_mat dout, uint32_t heads), \
      (cpu, dx, dout, heads)) \
    X(add_bias, (struct gnn_tensor *t, struct gnn_mat z, const gnn_real *bias), (cpu, z, bias)) \
    X(activate, (struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat z, const gnn_real *bias, \
                 const struct gnn_dropout *drop), (cpu, act, z, bias, drop)) \
    X(activate_back, (struct gnn_tensor *t, enum gnn_activation act, struct gnn_mat dy, struct gnn_mat y, \
                      const struct gnn_dropout *drop), (cpu, act, dy, y, drop)) \
    X(column_sum, (struct gnn_tensor *t, gnn_real *out, struct gnn_mat z), (cpu, out, z)) \
    X(fill, (struct gnn_tensor *t, gnn_real *dst, uint64_t count, gnn_real value), (cpu, dst, count, value)) \
    X(softmax_nll, (struct gnn_tensor *t, struct gnn_mat logits, const int32_t *labels, double *loss, \
                    uint32_t *correct), (cpu, logits, labels, loss, correct)) \
    X(adam, (struct gnn_tensor *t, gnn_real *param, const gnn_real *grad, gnn_real *m, gnn_real *v, uint64_t count, \
             const struct gnn_adam *adam), (cpu, param, grad, m, v, count, adam))

/* The same of GAT on rows as they come. */
#define TIMED_ROWS_OPS(X) \
    X(scores, (struct gnn_tensor *t, const struct gnn_attention *att), (cpu, att)) \
    X(attend, (struct gnn_tensor *t, struct gnn_mat out, const struct gnn_attention *att, \
               const struct gnn_block *b), (cpu, out, att, b)) \
    X(back, (struct gnn_tensor *t, const struct gnn_attention_grad *grad, const struct gnn_attention *att, \
             const struct gnn_block *b, struct gnn_mat dout), (cpu, grad, att, b, dout)) \
    X(product, (struct gnn_tensor *t, uint32_t heads, bool ta, bool tb, gnn_real alpha, struct gnn_head_mat a, \
                struct gnn_head_mat b, gnn_real beta, struct gnn_head_mat c), \
      (cpu, heads, ta, tb, alpha, a, b, beta, c))

#define OP_NUMBER(op, declarations, arguments) OP_##op,
#define ROWS_OP_NUMBER(op, declarations, arguments) OP_rows_##op,
enum op { TIMED_OPS(OP_NUMBER) TIMED_ROWS_OPS(ROWS_OP_NUMBER) OP_sage_forward, OP_sage_backward, OPS };
#define OP_NAME(op, declarations, arguments) #op,
#define ROWS_OP_NAME(op, declarations, arguments) "gat_rows " #op,
static const char *const op_names[OPS] = {TIMED_OPS(OP_NAME) TIMED_ROWS_OPS(ROWS_OP_NAME) "sage forward",
                                          "sage backward"};
/* clang-format on */

/* Wraps the CPU table. */
struct timed {
    struct gnn_tensor base;
    struct gnn_tensor *cpu;
    struct gnn_tensor_ops table;
    struct gnn_gat_rows_ops rows_table;
    struct gnn_sage_ops sage_table;
    double seconds[OPS];
};

static struct timed *timed_of(struct gnn_tensor *t)
{
    return (struct timed *)t;
}

#define TIMED(name, function, declarations, arguments)                                                                 \
    static void timed_##name declarations                                                                              \
    {                                                                                                                  \
        struct gnn_tensor *const cpu = timed_of(t)->cpu;                                                               \
        const double start = now_s();                                                                                  \
        function arguments;                                                                                            \
        timed_of(t)->seconds[OP_##name] += now_s() - start;                                                            \
    }
#define TIMED_OP(op, declarations, arguments) TIMED(op, gnn_tensor_cpu.op, declarations, arguments)
#define TIMED_ROWS_OP(op, declarations, arguments)                                                                     \
    TIMED(rows_##op, gnn_tensor_cpu.gat_rows->op, declarations, arguments)
TIMED_OPS(TIMED_OP)
TIMED_ROWS_OPS(TIMED_ROWS_OP)

static bool timed_sage_forward(struct gnn_tensor *t, const struct gnn_sage *s, const struct gnn_block *b)
{
    const double start = now_s();
    const bool done = gnn_tensor_cpu.sage->forward(timed_of(t)->cpu, s, b);
    timed_of(t)->seconds[OP_sage_forward] += done ? now_s() - start : 0;
    return done;
}

static bool timed_sage_backward(struct gnn_tensor *t, const struct gnn_sage *s, const struct gnn_sage_grad *grad,
                                const struct gnn_block *b)
{
    const double start = now_s();
    const bool done = gnn_tensor_cpu.sage->backward(timed_of(t)->cpu, s, grad, b);
    timed_of(t)->seconds[OP_sage_backward] += done ? now_s() - start : 0;
    return done;
}

static enum gnn_status timed_alloc(struct gnn_tensor *t, const char *name, uint64_t bytes, void **out,
                                   struct gnn_err *err)
{
    return gnn_tensor_cpu.alloc(timed_of(t)->cpu, name, bytes, out, err);
}

static void timed_free(struct gnn_tensor *t, void *ptr)
{
    gnn_tensor_cpu.free(timed_of(t)->cpu, ptr);
}

static enum gnn_status plain_alloc(void *ctx, const char *name, uint64_t bytes, void **out, struct gnn_err *err)
{
    (void)ctx, (void)name, (void)err;
    *out = must_alloc(bytes);
    return GNN_OK;
}

static void plain_free(void *ctx, void *ptr)
{
    (void)ctx;
    free(ptr);
}

static void timed_open(struct timed *timed, uint32_t threads, bool single)
{
    const struct gnn_tensor_env env = {.threads = threads, .alloc = plain_alloc, .free = plain_free};
    *timed = (struct timed){.table = gnn_tensor_cpu};
    if (gnn_tensor_cpu.open(&env, NULL, &timed->cpu, NULL) != GNN_OK)
        exit(1);
    timed->base.ops = &timed->table;
    timed->table.alloc = timed_alloc;
    timed->table.free = timed_free;
#define SET_OP(op, declarations, arguments) timed->table.op = timed_##op;
    TIMED_OPS(SET_OP)
#undef SET_OP
#define SET_OP(op, declarations, arguments) timed->rows_table.op = timed_rows_##op;
    TIMED_ROWS_OPS(SET_OP)
#undef SET_OP
    timed->table.gat_rows = &timed->rows_table;
    timed->sage_table = (struct gnn_sage_ops){.forward = timed_sage_forward, .backward = timed_sage_backward};
    timed->table.sage = single ? NULL : &timed->sage_table;
}

/* ---- measuring ---- */

/* Best of several large square products, between the cases as well: other load on the machine must not
 * flatter. */
static double sgemm_peak_flops(uint32_t threads)
{
    enum { N = 1536, ROUNDS = 6 };
    openblas_set_num_threads((int)threads);
    float *a = must_alloc((uint64_t)N * N * sizeof *a), *b = must_alloc((uint64_t)N * N * sizeof *b);
    float *c = must_alloc((uint64_t)N * N * sizeof *c);
    for (uint64_t k = 0; k < (uint64_t)N * N; k++) {
        a[k] = (float)(k % 13) - 6;
        b[k] = (float)(k % 7) - 3;
    }
    double best_s = 1e9;
    for (uint32_t r = 0; r < ROUNDS; r++) {
        const double start = now_s();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, a, N, b, N, 0, c, N);
        const double s = now_s() - start;
        best_s = s < best_s ? s : best_s;
    }
    openblas_set_num_threads(1); /* as the back-end wants it */
    free(a);
    free(b);
    free(c);
    return 2.0 * N * N * N / best_s;
}

static void print_case(enum gnn_model_kind kind, const struct gnn_batch_view *view, const struct timed *timed,
                       double total_s, uint32_t steps, double best_s, double peak)
{
    const struct flops flops = count_flops(kind, view);
    (void)printf("%s, batch %u: %u nodes, %u edges in the outermost block, %u steps\n", gnn_model_names[kind],
                 view->seed_count, view->node_count, view->blocks[0].edge_count, steps);
    const double rate = (flops.gemm + flops.aggregate) / best_s;
    (void)printf("  step %.3f ms (best; mean %.3f), %.2f GFLOP, %.1f GFLOP/s = %.1f %% of the SGEMM peak\n",
                 best_s * 1e3, total_s / steps * 1e3, (flops.gemm + flops.aggregate) * 1e-9, rate * 1e-9,
                 100 * rate / peak);
    const double product_s = timed->seconds[OP_gemm] + timed->seconds[OP_rows_product];
    double rest = total_s;
    for (uint32_t op = 0; op < OPS; op++) {
        if (timed->seconds[op] == 0)
            continue;
        (void)printf("  %-20s %9.3f ms %5.1f %%", op_names[op], timed->seconds[op] / steps * 1e3,
                     100 * timed->seconds[op] / total_s);
        if (op == OP_gemm && timed->seconds[OP_sage_forward] + timed->seconds[OP_sage_backward] == 0)
            (void)printf("   %.1f GFLOP/s", flops.gemm * steps / product_s * 1e-9);
        (void)printf("\n");
        rest -= timed->seconds[op];
    }
    (void)printf("  %-20s %9.3f ms %5.1f %%\n", "rest", rest / steps * 1e3, 100 * rest / total_s);
}

static void bench_case(enum gnn_model_kind kind, uint32_t seeds, uint32_t threads, double seconds, bool single)
{
    struct timed timed;
    timed_open(&timed, threads, single);
    const struct gnn_model_config config = {.kind = kind,
                                            .layers = LAYERS,
                                            .in_dim = DIM,
                                            .hidden = HIDDEN,
                                            .heads = HEADS,
                                            .gat_width_total = true,
                                            .classes = CLASSES,
                                            .dropout = 0.5,
                                            .lr = 0.003};
    struct gnn_model *model = NULL;
    if (gnn_model_open(&timed.base, &config, &model, NULL) != GNN_OK)
        exit(1);
    struct gnn_batch_view view = draw_batch(seeds);
    float *x = must_alloc((uint64_t)view.node_count * DIM * sizeof *x);
    for (uint64_t k = 0; k < (uint64_t)view.node_count * DIM; k++)
        x[k] = (float)(k % 101) / 50 - 1;
    int32_t *labels = must_alloc(seeds * sizeof *labels);
    for (uint32_t i = 0; i < seeds; i++)
        labels[i] = (int32_t)(i % CLASSES);
    const double peak = sgemm_peak_flops(threads);
    double total_s = 0, best_s = 1e9;
    uint32_t steps = 0;
    struct gnn_step_result result;
    for (uint32_t s = 0; total_s < seconds || steps < 3; s++) {
        view.batch = s;
        const double start = now_s();
        if (gnn_model_train(model, &view, x, labels, &result, NULL) != GNN_OK)
            exit(1);
        const double step_s = now_s() - start;
        if (s < 2) { /* warm-up: workspaces grow, pages are touched */
            memset(timed.seconds, 0, sizeof timed.seconds);
            continue;
        }
        total_s += step_s;
        best_s = step_s < best_s ? step_s : best_s;
        steps++;
    }
    const double peak_after = sgemm_peak_flops(threads);
    (void)printf("SGEMM peak %.1f GFLOP/s (%.1f after) with %u threads\n", peak * 1e-9, peak_after * 1e-9, threads);
    print_case(kind, &view, &timed, total_s, steps, best_s, peak > peak_after ? peak : peak_after);
    gnn_model_close(model);
    gnn_tensor_cpu.close(timed.cpu);
    free_batch(&view);
    free(x);
    free(labels);
}

static int model_of(const char *name)
{
    for (int kind = 0; kind < GNN_MODEL_KINDS; kind++)
        if (strcmp(gnn_model_names[kind], name) == 0)
            return kind;
    return -1;
}

int main(int argc, char **argv)
{
    gnn_blas_use_better_kernels(argv);
    gnn_denormals_flush();
    const long threads = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : 3;
    const int kind = argc > 3 ? model_of(argv[3]) : GNN_MODEL_SAGE;
    const long batch = argc > 4 ? strtol(argv[4], NULL, 10) : 10;
    const bool single = argc > 5 && strcmp(argv[5], "single") == 0;
    if (argc > 6 || (argc > 5 && !single) || threads < 1 || threads > 1024 || !(seconds > 0) || kind < 0 || batch < 1 ||
        batch > NODES) {
        (void)fprintf(stderr, "usage: bench_train [threads [seconds per case [sage|gcn|gat [batch [single]]]]]\n");
        return 2;
    }
    bench_case((enum gnn_model_kind)kind, (uint32_t)batch, (uint32_t)threads, seconds, single);
    if (argc <= 4)
        bench_case((enum gnn_model_kind)kind, 1000, (uint32_t)threads, seconds, single);
    return 0;
}

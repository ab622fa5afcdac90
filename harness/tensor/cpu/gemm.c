#include "harness/tensor/cpu/gemm.h"
#include "harness/tensor/cpu/state.h"
#include "harness/tensor/ref/ref.h"
#include "harness/tensor/shapes.h"

#include <assert.h>
#include <cblas.h>

/* Repacking b costs a product of p panels 9.6 (p - 1) / rows of its time, where BLAS multiplies 32 times as fast as it
 * packs: below 1 % with these. */
enum { PANEL_ROWS = 1024, PANEL_ROWS_MOST = 2048, PANELS = 8 };
enum { PART_TERMS = 2048, PARTS = 8 };
enum { GRANULE = 16 }; /* parts begin at multiples: BLAS works on as many at once */

static struct gnn_gemm_cut cut_into(bool of_sums, uint32_t length, uint32_t count)
{
    const uint64_t step = gnn_max_u64(gnn_round_up(gnn_div_up(length, count), GRANULE), GRANULE);
    return (struct gnn_gemm_cut){
        .of_sums = of_sums, .count = (uint32_t)gnn_div_up(length, step), .step = (uint32_t)step};
}

struct gnn_gemm_cut gnn_gemm_cut(bool trans_a, uint32_t rows, uint32_t cols, uint32_t inner)
{
    const uint64_t result_bytes = gnn_max_u64((uint64_t)rows * cols * sizeof(float), 1);
    const uint64_t room = 1 + GNN_GEMM_PARTS_BYTES / result_bytes;
    const uint32_t parts = (uint32_t)gnn_min_u64(gnn_min_u32(inner / PART_TERMS, PARTS), room);
    if (trans_a && parts > 1)
        return cut_into(true, inner, parts);
    const uint32_t panel = gnn_min_u32(gnn_max_u32(rows / PANELS, PANEL_ROWS), PANEL_ROWS_MOST);
    return cut_into(false, rows, gnn_max_u32(rows / panel, rows >= PANEL_ROWS ? 2 : 1));
}

struct product {
    bool trans_a, trans_b;
    float alpha, beta;
    struct gnn_mat a, b, c;
    uint32_t inner;
    struct gnn_gemm_cut cut;
    float *parts; /* of a cut sum: (count - 1, rows, cols) */
};

struct range {
    uint32_t first, count;
};

static struct range part_of(uint32_t length, const struct gnn_gemm_cut *cut, uint64_t k)
{
    const uint32_t first = (uint32_t)k * cut->step;
    return (struct range){first, gnn_min_u32(length - first, cut->step)};
}

/* out = alpha times the product of some rows over some terms, and beta times out. */
static void multiply(const struct product *p, struct range rows, struct range terms, float beta, float *out)
{
    const uint64_t a_row = p->trans_a ? terms.first : rows.first, a_col = p->trans_a ? rows.first : terms.first;
    const uint64_t b_row = p->trans_b ? 0 : terms.first, b_col = p->trans_b ? terms.first : 0;
    cblas_sgemm(CblasRowMajor, p->trans_a ? CblasTrans : CblasNoTrans, p->trans_b ? CblasTrans : CblasNoTrans,
                (blasint)rows.count, (blasint)p->c.cols, (blasint)terms.count, p->alpha,
                p->a.data + a_row * p->a.cols + a_col, (blasint)p->a.cols, p->b.data + b_row * p->b.cols + b_col,
                (blasint)p->b.cols, beta, out, (blasint)p->c.cols);
}

static void multiply_panels(const void *loop, uint64_t first, uint64_t end)
{
    const struct product *const p = loop;
    for (uint64_t k = first; k < end; k++) {
        const struct range rows = part_of(p->c.rows, &p->cut, k);
        multiply(p, rows, (struct range){0, p->inner}, p->beta, gnn_mat_row(p->c, rows.first));
    }
}

/* The first part goes where the result will be. */
static void multiply_parts(const void *loop, uint64_t first, uint64_t end)
{
    const struct product *const p = loop;
    const struct range rows = {0, p->c.rows};
    const uint64_t size = (uint64_t)p->c.rows * p->c.cols;
    for (uint64_t k = first; k < end; k++)
        multiply(p, rows, part_of(p->inner, &p->cut, k), k == 0 ? p->beta : 0,
                 k == 0 ? p->c.data : p->parts + (k - 1) * size);
}

static void add_parts(const struct product *p)
{
    const uint64_t size = (uint64_t)p->c.rows * p->c.cols;
    float *restrict sum = p->c.data;
    for (uint32_t k = 1; k < p->cut.count; k++) {
        const float *restrict part = p->parts + (k - 1) * size;
        for (uint64_t i = 0; i < size; i++)
            sum[i] += part[i];
    }
}

void gnn_cpu_gemm(struct gnn_tensor *t, bool trans_a, bool trans_b, gnn_real alpha, struct gnn_mat a, struct gnn_mat b,
                  gnn_real beta, struct gnn_mat c)
{
    const struct gnn_cpu_state *const state = gnn_cpu_state(t);
    const uint32_t inner = gnn_gemm_inner(trans_a, trans_b, a, b, c);
    assert(a.rows <= INT32_MAX);
    assert(b.rows <= INT32_MAX);
    assert(c.rows <= INT32_MAX);
    const struct product p = {.trans_a = trans_a,
                              .trans_b = trans_b,
                              .alpha = alpha,
                              .beta = beta,
                              .a = a,
                              .b = b,
                              .c = c,
                              .inner = inner,
                              .cut = gnn_gemm_cut(trans_a, c.rows, c.cols, inner),
                              .parts = state->parts};
    gnn_share_fn *const fn = p.cut.of_sums ? multiply_parts : multiply_panels;
    if (state->one_product)
        fn(&p, 0, p.cut.count);
    else
        gnn_cpu_share(t, p.cut.count, GNN_SHARE_LOOP_BYTES, fn, &p);
    if (p.cut.of_sums)
        add_parts(&p);
}

/* SPDX-License-Identifier: MIT */
#include "harness/tensor/cpu/product.h"
#include "harness/tensor/cpu/state.h"
#include "harness/tensor/ref/ref.h"
#include "harness/tensor/shapes.h"

#include <assert.h>
#include <cblas.h>

/* Repacking b costs a product of p panels 9.6 (p - 1) / rows of its time, where BLAS multiplies 32 times as fast as it
 * packs: below 1 % with these. Below two such panels a product is halved, so that two threads have something each:
 * that costs 2.5 % at most. */
enum { PANEL_ROWS = 1024, PANEL_ROWS_MOST = 2048, PANELS = 8, PANEL_ROWS_LEAST = 192 };
/* Where a is transposed rows of the product are a layer's widths. Where its sums are not cut, being too short or parts
 * having no room, it is halved from twice so many rows on: that costs BLAS 3.8 % at most. */
enum { PANEL_COLS_LEAST = 128 };
/* Adding up a part costs what some 30 of its terms do, at 100 GFLOP/s and 20 GB/s: 5 % at most. There are 2, 4 or 8
 * parts, which as many threads share evenly: two of PART_TERMS_LEAST at least, four and eight of twice as many, before
 * they are rounded (cut_into). */
enum { PART_TERMS = 2048, PARTS = 8, PART_TERMS_LEAST = 640 };
enum { PRODUCTS_PER_BYTE = 4 }; /* multiplied in the time in which a loop moves a byte */
enum { GRANULE = 16 };          /* parts begin at multiples: BLAS works on as many at once */
/* Of kernels (tile_kernels.h): */
enum {
    TILE_PANEL_ROWS = 96,      /* take longer than waking a thread */
    TILE_PANELS = 32,          /* of a product: more would only be handed out more often */
    TILE_BYTES = 512 << 10,    /* stay in a second-level cache beside the rows that are passed by */
    TILE_ROWS_TRANSPOSED = 64, /* from these on transposing b is worth it, which takes as long as some 30 of them */
};

static struct gnn_gemm_cut cut_into(bool of_sums, uint32_t length, uint32_t count, uint32_t granule)
{
    const uint64_t step = gnn_max_u64(gnn_round_up(gnn_div_up(length, count), granule), granule);
    return (struct gnn_gemm_cut){
        .of_sums = of_sums, .count = (uint32_t)gnn_div_up(length, step), .step = (uint32_t)step};
}

/* Returns into how many parts a length is cut: of so much each at least, or two of no less than `least`, before they
 * are rounded (cut_into). */
static uint32_t parts_of(uint32_t length, uint32_t each, uint32_t least)
{
    return gnn_max_u32(length / each, length >= 2 * least ? 2 : 1);
}

static uint32_t next_power_of_two(uint32_t count)
{
    return count <= 1 ? 1 : UINT32_C(1) << (32 - __builtin_clz(count - 1));
}

struct gnn_gemm_cut gnn_gemm_cut(bool trans_a, uint32_t rows, uint32_t cols, uint32_t inner)
{
    const uint64_t result_bytes = gnn_max_u64((uint64_t)rows * cols * sizeof(float), 1);
    const uint64_t room = 1 + GNN_GEMM_PARTS_BYTES / result_bytes;
    const uint32_t wanted = next_power_of_two(parts_of(inner, PART_TERMS, PART_TERMS_LEAST));
    uint32_t parts = gnn_min_u32(wanted, PARTS);
    while (parts > room)
        parts /= 2;
    if (trans_a && parts > 1)
        return cut_into(true, inner, parts, GNN_GEMM_TERMS);
    const uint32_t panel = gnn_min_u32(gnn_max_u32(rows / PANELS, PANEL_ROWS), PANEL_ROWS_MOST);
    return cut_into(false, rows, parts_of(rows, panel, trans_a ? PANEL_COLS_LEAST : PANEL_ROWS_LEAST), GRANULE);
}

struct range {
    uint32_t first, count;
};

static struct range part_of(uint32_t length, const struct gnn_gemm_cut *cut, uint64_t k)
{
    const uint32_t first = (uint32_t)k * cut->step;
    return (struct range){first, gnn_min_u32(length - first, cut->step)};
}

/* Rows of a tile of a transposed a: all of a panel but the last. */
static uint32_t tile_rows(const struct gnn_cpu_product *p)
{
    return p->cut.of_sums ? p->c.rows : gnn_min_u32(p->cut.step, p->c.rows);
}

/* Where head h's matrix is from (row, col) on. */
static float *place(const struct gnn_head_mat *m, uint64_t h, uint64_t row, uint64_t col)
{
    return m->data + h * m->step + row * m->stride + col;
}

/* out = alpha times the product of some rows over some terms, and beta times out. */
static void multiply_by_blas(const struct gnn_cpu_product *p, uint64_t h, struct range rows, struct range terms,
                             float beta, float *out, uint32_t out_stride)
{
    const float *const a =
        p->trans_a ? place(&p->a, h, terms.first, rows.first) : place(&p->a, h, rows.first, terms.first);
    const float *const b = p->trans_b ? place(&p->b, h, 0, terms.first) : place(&p->b, h, terms.first, 0);
    cblas_sgemm(CblasRowMajor, p->trans_a ? CblasTrans : CblasNoTrans, p->trans_b ? CblasTrans : CblasNoTrans,
                (blasint)rows.count, (blasint)p->c.cols, (blasint)terms.count, p->alpha, a, (blasint)p->a.stride, b,
                (blasint)p->b.stride, beta, out, (blasint)out_stride);
}

/* The same by kernels, of whole sums: rows one tile after the other. */
static void multiply_rows(const struct gnn_cpu_product *p, uint64_t h, struct range rows, bool add, float *out)
{
    const float *const b = p->trans_b ? p->parts + h * p->inner * p->c.cols : place(&p->b, h, 0, 0);
    uint32_t i = 0;
    for (; i + GNN_TILE_ROWS <= rows.count; i += GNN_TILE_ROWS)
        p->tile[add](b, place(&p->a, h, rows.first + i, 0), out + (uint64_t)i * p->c.stride);
    for (; i < rows.count; i++)
        p->rest[add](b, place(&p->a, h, rows.first + i, 0), out + (uint64_t)i * p->c.stride);
}

/* The same by kernels, of a transposed a: terms one tile after the other, the last few by BLAS. */
static void multiply_terms(const struct gnn_cpu_product *p, uint64_t h, struct range rows, struct range terms, bool add,
                           float *out)
{
    gnn_tile_fn *const *const tile = rows.count == tile_rows(p) ? p->tile : p->rest;
    const uint32_t whole = terms.count / GNN_TILE_TERMS * GNN_TILE_TERMS;
    for (uint32_t k = terms.first; k < terms.first + whole; k += GNN_TILE_TERMS)
        tile[add || k > terms.first](place(&p->b, h, k, 0), place(&p->a, h, k, rows.first), out);
    const struct range rest = {terms.first + whole, terms.count - whole};
    if (rest.count > 0)
        multiply_by_blas(p, h, rows, rest, add || whole > 0 ? 1 : 0, out, p->c.stride);
}

static void multiply(const struct gnn_cpu_product *p, uint64_t h, struct range rows, struct range terms, float beta,
                     float *out, uint32_t out_stride)
{
    if (!p->by_kernels)
        multiply_by_blas(p, h, rows, terms, beta, out, out_stride);
    else if (p->trans_a)
        multiply_terms(p, h, rows, terms, beta > 0, out);
    else
        multiply_rows(p, h, rows, beta > 0, out);
}

/* A panel of one head's rows; where the heads are summed, of all of them in their order. */
static void multiply_panels(const void *loop, uint64_t first, uint64_t end)
{
    const struct gnn_cpu_product *const p = loop;
    const bool summed = p->c.step == 0;
    for (uint64_t k = first; k < end; k++) {
        const struct range rows = part_of(p->c.rows, &p->cut, k % p->cut.count), terms = {0, p->inner};
        const uint64_t from = summed ? 0 : k / p->cut.count, to = summed ? p->heads : from + 1;
        for (uint64_t h = from; h < to; h++)
            multiply(p, h, rows, terms, summed && h > 0 ? 1 : p->beta, place(&p->c, h, rows.first, 0), p->c.stride);
    }
}

/* The first part goes where the result will be. */
static void multiply_parts(const void *loop, uint64_t first, uint64_t end)
{
    const struct gnn_cpu_product *const p = loop;
    const struct range rows = {0, p->c.rows};
    const uint64_t size = (uint64_t)p->c.rows * p->c.cols;
    for (uint64_t k = first; k < end; k++) {
        const struct range terms = part_of(p->inner, &p->cut, k);
        if (k == 0)
            multiply(p, 0, rows, terms, p->beta, p->c.data, p->c.stride);
        else
            multiply(p, 0, rows, terms, 0, p->parts + (k - 1) * size, p->c.cols);
    }
}

void gnn_cpu_add_parts(const struct gnn_cpu_product *p)
{
    const uint64_t size = (uint64_t)p->c.rows * p->c.cols;
    for (uint32_t k = 1; k < p->cut.count; k++)
        for (uint64_t i = 0; i < p->c.rows; i++) {
            const float *restrict part = p->parts + (k - 1) * size + i * p->c.cols;
            float *restrict sum = place(&p->c, 0, i, 0);
            for (uint64_t j = 0; j < p->c.cols; j++)
                sum[j] += part[j];
        }
}

/* Runs fn over `items` parts of so many multiplications each; one after the other where they call BLAS and it has room
 * for one call. */
static void run_calls(struct gnn_tensor *t, const struct gnn_cpu_product *p, uint64_t items, gnn_share_fn *fn)
{
    const uint64_t each = (uint64_t)p->c.rows * p->c.cols * p->inner / gnn_max_u32(p->cut.count, 1);
    const bool calls_blas = !p->by_kernels || p->trans_a;
    if (gnn_cpu_state(t)->one_product && calls_blas)
        fn(p, 0, items);
    else
        gnn_cpu_share(t, items, gnn_min_u64(each / PRODUCTS_PER_BYTE, GNN_SHARE_LOOP_BYTES), fn, p);
}

/* A cut sum has its parts' memory to itself, so that heads come one after the other. */
static void multiply_sums(struct gnn_tensor *t, const struct gnn_cpu_product *all)
{
    struct gnn_cpu_product p = *all;
    for (uint32_t h = 0; h < all->heads; h++) {
        p.a.data = place(&all->a, h, 0, 0);
        p.b.data = place(&all->b, h, 0, 0);
        p.c.data = place(&all->c, h, 0, 0);
        p.beta = all->c.step == 0 && h > 0 ? 1 : all->beta;
        run_calls(t, &p, p.cut.count, multiply_parts);
        gnn_cpu_add_parts(&p);
    }
}

/* Whether kernels take less time than BLAS, and can do it: they know no factors, and pack nothing. */
static bool kernels_pay(const struct gnn_cpu_product *p)
{
    const uint64_t read = gnn_mul_bytes((uint64_t)p->c.cols * sizeof(float), p->trans_a ? tile_rows(p) : p->inner);
    if (p->c.rows == 0 || p->c.cols == 0)
        return false;
    if (p->alpha != 1 || (p->beta != 0 && p->beta != 1) || read > TILE_BYTES || p->inner == 0)
        return false;
    if (p->trans_a)
        return !p->trans_b && p->inner >= GNN_TILE_TERMS && (!p->cut.of_sums || p->c.stride == p->c.cols);
    if (p->trans_b)
        return p->c.rows >= TILE_ROWS_TRANSPOSED && gnn_mul_bytes(p->heads, read) <= GNN_GEMM_PARTS_BYTES;
    return p->c.rows >= GNN_TILE_ROWS;
}

/* Returns whether there are the kernels that this product calls. */
static bool find_kernels(struct gnn_tile_kernels *kernels, struct gnn_cpu_product *p)
{
    const bool summed = p->c.step == 0 && p->heads > 1,
               ever[2] = {p->beta == 0 || p->cut.of_sums, p->beta > 0 || summed || p->trans_a};
    const uint32_t last = p->cut.of_sums ? p->c.rows : p->c.rows - (p->cut.count - 1) * p->cut.step;
    struct gnn_tile tile = {.cols = p->c.cols,
                            .terms = p->trans_a ? GNN_TILE_TERMS : p->inner,
                            .a_stride = p->a.stride,
                            .b_stride = p->trans_b ? p->c.cols : p->b.stride,
                            .c_stride = p->c.stride,
                            .trans_a = p->trans_a};
    for (uint32_t add = 0; add < 2; add++) {
        tile.add = add == 1;
        tile.rows = p->trans_a ? tile_rows(p) : GNN_TILE_ROWS;
        p->tile[add] = ever[add] ? gnn_tile_kernel(kernels, &tile) : NULL;
        tile.rows = p->trans_a ? last : 1;
        p->rest[add] = ever[add] ? gnn_tile_kernel(kernels, &tile) : NULL;
        if (ever[add] && (p->tile[add] == NULL || p->rest[add] == NULL))
            return false;
    }
    return true;
}

/* out (cols, rows) is the transpose of a matrix, line by line of the cache. */
static void transpose(float *restrict out, const float *restrict in, uint32_t rows, uint32_t cols, uint32_t stride)
{
    for (uint32_t i = 0; i < rows; i += GRANULE)
        for (uint32_t j = 0; j < cols; j++)
            for (uint32_t k = i; k < gnn_min_u32(i + GRANULE, rows); k++)
                out[(uint64_t)j * rows + k] = in[(uint64_t)k * stride + j];
}

static void transpose_b(const struct gnn_cpu_product *p)
{
    for (uint32_t h = 0; p->trans_b && h < p->heads; h++)
        transpose(p->parts + (uint64_t)h * p->inner * p->c.cols, place(&p->b, h, 0, 0), p->c.cols, p->inner,
                  p->b.stride);
}

/* Lets kernels do the product where they pay. Rows are cut anew: nothing is packed again for every panel. */
static void use_kernels(struct gnn_tensor *t, struct gnn_cpu_product *p)
{
    if (!kernels_pay(p))
        return;
    p->by_kernels = find_kernels(&gnn_cpu_state(t)->kernels, p);
    if (!p->by_kernels || p->trans_a)
        return;
    p->cut = cut_into(false, p->c.rows, gnn_min_u32(gnn_max_u32(p->c.rows / TILE_PANEL_ROWS, 1), TILE_PANELS),
                      GNN_TILE_ROWS);
    assert(!p->trans_b || (uint64_t)p->heads * p->inner * p->c.cols * sizeof(float) <= GNN_GEMM_PARTS_BYTES);
    transpose_b(p);
}

void gnn_cpu_gat_rows_product(struct gnn_tensor *t, uint32_t heads, bool trans_a, bool trans_b, float alpha,
                              struct gnn_head_mat a, struct gnn_head_mat b, float beta, struct gnn_head_mat c)
{
    const uint32_t inner = gnn_head_inner(trans_a, trans_b, &a, &b, &c);
    assert(a.rows <= INT32_MAX);
    assert(b.rows <= INT32_MAX);
    assert(c.rows <= INT32_MAX);
    struct gnn_cpu_product p = {.trans_a = trans_a,
                                .trans_b = trans_b,
                                .heads = heads,
                                .alpha = alpha,
                                .beta = beta,
                                .a = a,
                                .b = b,
                                .c = c,
                                .inner = inner,
                                .cut = gnn_gemm_cut(trans_a, c.rows, c.cols, inner),
                                .parts = gnn_cpu_state(t)->parts};
    use_kernels(t, &p);
    if (p.cut.of_sums)
        multiply_sums(t, &p);
    else
        run_calls(t, &p, (uint64_t)p.cut.count * (c.step == 0 ? 1 : heads), multiply_panels);
}

static struct gnn_head_mat whole(struct gnn_mat m)
{
    return (struct gnn_head_mat){.data = m.data, .rows = m.rows, .cols = m.cols, .stride = m.cols};
}

/* ---- by rows and terms that the caller chooses ---- */

static struct gnn_cpu_product product_of(bool trans_a, bool trans_b, struct gnn_mat a, struct gnn_mat b, bool add,
                                         struct gnn_mat c, float *room)
{
    return (struct gnn_cpu_product){.trans_a = trans_a,
                                    .trans_b = trans_b,
                                    .heads = 1,
                                    .alpha = 1,
                                    .beta = add ? 1 : 0,
                                    .a = whole(a),
                                    .b = whole(b),
                                    .c = whole(c),
                                    .inner = gnn_gemm_inner(trans_a, trans_b, a, b, c),
                                    .parts = room};
}

bool gnn_cpu_rows_product(struct gnn_tensor *t, struct gnn_mat a, bool trans_b, struct gnn_mat b, bool add,
                          struct gnn_mat c, float *room, struct gnn_cpu_product *out)
{
    *out = product_of(false, trans_b, a, b, add, c, room);
    out->cut = cut_into(false, c.rows, 1, GNN_TILE_ROWS);
    out->by_kernels = kernels_pay(out) && find_kernels(&gnn_cpu_state(t)->kernels, out);
    if (!out->by_kernels)
        return false;
    transpose_b(out);
    return true;
}

void gnn_cpu_multiply_rows(const struct gnn_cpu_product *p, uint32_t first, uint32_t count)
{
    assert(first % GNN_TILE_ROWS == 0);
    assert(first + count == p->c.rows || count % GNN_TILE_ROWS == 0);
    multiply_rows(p, 0, (struct range){first, count}, p->beta > 0, place(&p->c, 0, first, 0));
}

bool gnn_cpu_terms_product(struct gnn_tensor *t, struct gnn_mat a, struct gnn_mat b, struct gnn_mat c,
                           const struct gnn_gemm_cut *cut, float *room, struct gnn_cpu_product *out)
{
    assert(cut->of_sums);
    *out = product_of(true, false, a, b, false, c, room);
    out->cut = *cut;
    out->by_kernels = kernels_pay(out) && find_kernels(&gnn_cpu_state(t)->kernels, out);
    return out->by_kernels;
}

void gnn_cpu_multiply_terms(const struct gnn_cpu_product *p, uint64_t part, uint32_t first, uint32_t count, bool add)
{
    const struct range rows = {0, p->c.rows}, terms = {first, count};
    float *const out = part == 0 ? p->c.data : p->parts + (part - 1) * p->c.rows * p->c.cols;
    assert(first >= part * p->cut.step);
    assert(first + count <= (part + 1) * p->cut.step);
    multiply_terms(p, 0, rows, terms, add, out);
}

void gnn_cpu_gemm(struct gnn_tensor *t, bool trans_a, bool trans_b, gnn_real alpha, struct gnn_mat a, struct gnn_mat b,
                  gnn_real beta, struct gnn_mat c)
{
    gnn_cpu_gat_rows_product(t, 1, trans_a, trans_b, alpha, whole(a), whole(b), beta, whole(c));
}

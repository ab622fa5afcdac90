/* SPDX-License-Identifier: MIT */
/* DiskGNN's placement against plain recomputation: the order of a disk cache, which rows it holds, the search for
 * segment and rows, and the bytes of a plan. What the files hold is in test_diskgnn_prepare.c. */
#include "harness/base/rng.h"
#include "tests/support/hang.h"
#include "tests/support/prepared.h"
#include "tests/support/seed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const struct train_graph_config usual = {
    .nodes = 900, .mean_degree = 6, .dim = 128, .classes = 5, .train = 150, .seed = 11};
/* The size of the published check: 4000 nodes, 48 mini-batches. */
static const struct train_graph_config wide = {
    .nodes = 4000, .mean_degree = 8, .dim = 128, .classes = 5, .train = 960, .seed = 5};

/* ---- sorting ---- */

static int by_key(const void *a, const void *b) /* equal keys by value: pairs are made with rising values */
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void test_pairs_are_sorted_by_key_and_stay_in_order(void **state)
{
    (void)state;
    const uint64_t seed = test_seed();
    struct fixture f;
    fixture_open(&f, .scratch = true);
    static const uint64_t masks[] = {UINT32_MAX, 7, 0, 0xfff00000, 0x3ff800};
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++)
        for (uint64_t count = 0; count < 5000; count = 3 * count + 1) {
            uint64_t *const pairs = calloc(count + 1, sizeof *pairs), *const want = calloc(count + 1, sizeof *want);
            uint64_t *const scratch = calloc(count + 1, sizeof *scratch);
            for (uint64_t i = 0; i < count; i++)
                want[i] = pairs[i] = (gnn_splitmix64_at(seed, i) & masks[m]) << 32 | i;
            qsort(want, count, sizeof *want, by_key);
            diskgnn_sort_pairs(f.world, pairs, scratch, count);
            assert_memory_equal(pairs, want, count * sizeof *pairs);
            free(pairs);
            free(want);
            free(scratch);
        }
    fixture_close(&f);
}

/* ---- MinHash ---- */

enum { ROWS = 4000, BATCHES = 24, PER_BATCH = 600, PER_PAGE = 8 };

struct accesses {
    bool uses[BATCHES][ROWS];
};

static void draw_accesses(uint64_t seed, struct accesses *a)
{
    memset(a, 0, sizeof *a);
    struct gnn_rng rng = gnn_rng_at(seed);
    for (uint32_t i = 0; i < BATCHES; i++)
        for (uint32_t j = 0; j < PER_BATCH; j++)
            a->uses[i][gnn_rng_below(&rng, ROWS)] = true;
}

static uint64_t pages_of(const struct accesses *a, const uint32_t *place)
{
    uint64_t pages = 0;
    for (uint32_t i = 0; i < BATCHES; i++) {
        bool seen[ROWS / PER_PAGE + 1] = {false};
        for (uint32_t v = 0; v < ROWS; v++) {
            if (!a->uses[i][v])
                continue;
            pages += !seen[place[v] / PER_PAGE];
            seen[place[v] / PER_PAGE] = true;
        }
    }
    return pages;
}

static uint32_t value[DISKGNN_HASHES_MAX * ROWS]; /* of the rows that were ordered last */

/* Orders all rows and checks that the order is one. */
static void order_rows(struct gnn_world *world, const struct accesses *a, uint32_t hashes, enum diskgnn_reorder reorder,
                       uint32_t *place)
{
    static uint32_t hash[DISKGNN_HASHES_MAX * BATCHES];
    static uint64_t pairs[ROWS], scratch[ROWS];
    static bool taken[ROWS];
    const uint32_t values = reorder == DISKGNN_REORDER_OFF ? 1 : diskgnn_minhash_values(hashes, reorder);
    diskgnn_minhash_draw(3, BATCHES, hashes, hash);
    memset(value, 0xff, sizeof value);
    for (uint32_t i = 0; i < BATCHES; i++)
        for (uint32_t v = 0; v < ROWS; v++) {
            if (!a->uses[i][v])
                continue;
            if (reorder == DISKGNN_REORDER_OFF)
                value[v]--;
            else
                diskgnn_minhash_add(value, ROWS, v, hash, BATCHES, hashes, reorder, i);
        }
    diskgnn_minhash_order(world, value, values, ROWS, pairs, scratch, place);
    memset(taken, 0, sizeof taken);
    for (uint32_t v = 0; v < ROWS; v++) {
        assert_true(place[v] < ROWS);
        assert_false(taken[place[v]]);
        taken[place[v]] = true;
    }
}

static void test_a_hash_function_is_a_permutation(void **state)
{
    (void)state;
    uint32_t hash[DISKGNN_HASHES_MAX * BATCHES];
    diskgnn_minhash_draw(3, BATCHES, DISKGNN_HASHES_MAX, hash);
    for (uint32_t f = 0; f < DISKGNN_HASHES_MAX; f++) {
        uint64_t seen = 0;
        for (uint32_t i = 0; i < BATCHES; i++)
            seen |= UINT64_C(1) << hash[f * BATCHES + i];
        assert_int_equal(seen, (UINT64_C(1) << BATCHES) - 1);
    }
    assert_memory_not_equal(hash, hash + BATCHES, BATCHES * sizeof *hash);
}

/* Fewer pages than by count, a tenth at least; more functions do better; one running minimum does worse than a pair. */
static void test_rows_used_together_lie_together(void **state)
{
    (void)state;
    struct fixture f;
    static struct accesses a;
    static uint32_t place[ROWS];
    fixture_open(&f, .scratch = true);
    draw_accesses(test_seed(), &a);
    order_rows(f.world, &a, 1, DISKGNN_REORDER_OFF, place);
    const uint64_t by_count = pages_of(&a, place);
    order_rows(f.world, &a, 2, DISKGNN_REORDER_PRINTED, place);
    const uint64_t printed = pages_of(&a, place);
    uint64_t pages[DISKGNN_HASHES_MAX + 1];
    for (uint32_t k = 1; k <= DISKGNN_HASHES_MAX; k++) {
        order_rows(f.world, &a, k, DISKGNN_REORDER_PAIR, place);
        pages[k] = pages_of(&a, place);
        assert_true(pages[k] * 10 <= by_count * 9);
        assert_true(k == 1 || pages[k] < pages[k - 1]);
    }
    assert_true(pages[2] < printed);
    fixture_close(&f);
}

/* Rows of one set of mini-batches have the same values, and so have all rows between them. */
static void test_equal_sets_make_one_run(void **state)
{
    (void)state;
    struct fixture f;
    static struct accesses a;
    static uint32_t place[ROWS], row_at[ROWS];
    fixture_open(&f, .scratch = true);
    draw_accesses(test_seed(), &a);
    for (uint32_t v = 0; v < ROWS; v += 2) /* a second row with the same set, far from the first */
        for (uint32_t i = 0; i < BATCHES; i++)
            a.uses[i][ROWS - 1 - v] = a.uses[i][v];
    order_rows(f.world, &a, DISKGNN_HASHES_MAX, DISKGNN_REORDER_PAIR, place);
    for (uint32_t v = 0; v < ROWS; v++)
        row_at[place[v]] = v;
    for (uint32_t v = 0; v < ROWS; v += 2) {
        const uint32_t one = place[v], other = place[ROWS - 1 - v];
        for (uint32_t x = gnn_min_u32(one, other); x <= gnn_max_u32(one, other); x++)
            for (uint32_t h = 0; h < DISKGNN_HASHES_MAX; h++)
                assert_int_equal(value[h * ROWS + row_at[x]], value[h * ROWS + v]);
    }
    fixture_close(&f);
}

/* ---- placement ---- */

/* Compares a layout with the plain plan of its own s and m. */
static void check_placement(const struct fixture *f, const struct prepared *p)
{
    const struct diskgnn_layout *const l = &p->layout;
    struct plain_plan plan;
    plain_plan(f, p, l->gpu_rows + l->cpu_rows, l->segment, l->disk_rows, &plan);
    for (uint32_t i = 0; i < l->batches; i++) {
        assert_int_equal(l->of[i].gpu + l->of[i].cpu, plan.batches[i].cached);
        assert_int_equal(l->of[i].packed, plan.batches[i].packed);
        assert_int_equal(l->of[i].shared, plan.batches[i].shared);
        assert_int_equal(l->of[i].pages, plan.batches[i].pages);
    }
    for (uint32_t k = 0; k < l->segments; k++)
        assert_int_equal(l->segment_of[k].rows, plan.segment_rows[k]);
    assert_int_equal(l->tables_bytes, plan.table_bytes);
    assert_int_equal(l->chunks_bytes, plan.chunk_bytes);
    assert_int_equal(l->disk_bytes, plan.disk_bytes);
    assert_int_equal(l->packed_rows, plan.packed);
    assert_int_equal(l->shared_rows, plan.shared);
    assert_int_equal(l->pages, plan.pages);
    assert_true(plain_amplification(p, &plan) >= 1 || l->packed_rows + l->shared_rows == 0);
    plain_plan_close(&plan);
}

static void test_segments_hold_the_most_used_rows_in_order(void **state)
{
    (void)state;
    static const struct {
        uint32_t s, m, gpu, cpu, hashes;
        enum diskgnn_reorder reorder;
        enum diskgnn_page page;
    } cases[] = {
        {3, 1000, 20, 40, 2, DISKGNN_REORDER_PAIR, DISKGNN_PAGE_4096},
        {3, 30, 20, 40, 2, DISKGNN_REORDER_PAIR, DISKGNN_PAGE_4096},
        {8, 57, 0, 0, 3, DISKGNN_REORDER_PRINTED, DISKGNN_PAGE_4096},
        {8, 1000, 0, 0, 1, DISKGNN_REORDER_PAIR, DISKGNN_PAGE_512},
        {2, 11, 100, 0, 2, DISKGNN_REORDER_OFF, DISKGNN_PAGE_4096},
        {8, 150, 0, 0, 2, DISKGNN_REORDER_OFF, DISKGNN_PAGE_4096}, /* of many different counts */
        {1, 1000, 5, 5, 2, DISKGNN_REORDER_PAIR, DISKGNN_PAGE_4096},
        {100, 0, 5, 5, 2, DISKGNN_REORDER_PAIR, DISKGNN_PAGE_4096},
        {4, 1000, 900, 900, 2, DISKGNN_REORDER_PAIR, DISKGNN_PAGE_4096},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fixture f;
        struct prepared p;
        fixture_open(&f, .graph = &usual);
        prepared_init(&f, &p);
        p.config.segment = cases[c].s;
        p.config.disk_rows = cases[c].m;
        p.config.hashes = cases[c].hashes;
        p.config.reorder = cases[c].reorder;
        p.config.page = cases[c].page;
        if (cases[c].page == DISKGNN_PAGE_512)
            p.config.io = DISKGNN_IO_BUFFERED;
        p.caches = (struct diskgnn_caches){cases[c].gpu, cases[c].cpu};
        prepared_open(&f, &p);
        assert_int_equal(p.layout.segment, gnn_min_u32(cases[c].s, p.sampled.batches));
        check_placement(&f, &p);
        prepared_close(&f, &p);
        fixture_close(&f);
    }
}

/* ---- the search ---- */

static void set_limit(const struct fixture *f, struct prepared *p, double times)
{
    p->config.disk_limit = times;
    p->caches = (struct diskgnn_caches){f->graph.dataset.node_count / 50, f->graph.dataset.node_count / 20};
}

/* s is the first for which the estimate is within L, m the nodes that the first s mini-batches use more than once. */
static void test_the_search_is_algorithm_2(void **state)
{
    (void)state;
    for (double times = 0.4; times < 1.6; times += 0.3) {
        struct fixture f;
        struct prepared p;
        fixture_open(&f, .graph = &wide);
        prepared_init(&f, &p);
        set_limit(&f, &p, times);
        p.config.search = DISKGNN_SEARCH_APPROXIMATE;
        prepared_open(&f, &p);
        const uint64_t limit = p.layout.limit_bytes, rb = f.graph.dataset.row_bytes, n = p.sampled.batches;
        uint32_t used, s = 0, touched = 0, multiple = 0;
        gnn_node *const order = plain_popularity(&f, &p, &used);
        uint32_t *const count = calloc(f.graph.dataset.node_count, sizeof *count);
        for (uint32_t i = 0; i < p.layout.gpu_rows + p.layout.cpu_rows; i++)
            count[order[i]] = 1000; /* in a cache */
        do {
            for (uint32_t j = 0; j < diskgnn_sample_nodes(&p.sampled.of[s]); j++) {
                const uint32_t before = count[p.lists[s][j]]++;
                touched += before == 0;
                multiple += before == 1;
            }
            s++;
        } while (s < n && touched * n * rb > limit * s);
        struct plain_plan packed;
        plain_plan(&f, &p, p.layout.gpu_rows + p.layout.cpu_rows, (uint32_t)n, 0, &packed);
        const bool fits = packed.table_bytes + packed.chunk_bytes <= limit;
        assert_int_equal(p.layout.segment, fits ? n : s);
        assert_int_equal(p.layout.disk_rows, fits ? 0 : multiple);
        check_placement(&f, &p);
        plain_plan_close(&packed);
        free(order);
        free(count);
        prepared_close(&f, &p);
        fixture_close(&f);
    }
}

/* An estimate of exactly L is within it; of a byte more it is not. */
static void test_an_estimate_of_the_limit_is_enough(void **state)
{
    (void)state;
    enum { S = 16 };
    for (uint64_t less = 0; less < 2; less++) {
        struct fixture f;
        struct prepared p;
        fixture_open(&f, .graph = &wide);
        prepared_init(&f, &p);
        set_limit(&f, &p, 0);
        p.config.segment = S; /* its first disk cache, and what is packed once, are all cold nodes of S mini-batches */
        p.config.disk_rows = UINT32_MAX;
        prepared_open(&f, &p);
        const uint64_t n = p.sampled.batches, rb = f.graph.dataset.row_bytes;
        uint64_t touched = p.layout.segment_of[0].rows;
        for (uint32_t i = 0; i < S; i++)
            touched += p.layout.of[i].packed;
        assert_int_equal(n % S, 0);
        prepared_close(&f, &p);
        p.config.segment = p.config.disk_rows = 0;
        p.config.search = DISKGNN_SEARCH_APPROXIMATE;
        p.config.disk_limit = ((double)(touched * (n / S) * rb - less) + 0.5) / (double)f.graph.dataset.feature_bytes;
        prepared_open(&f, &p);
        assert_int_equal(p.layout.limit_bytes, touched * (n / S) * rb - less);
        assert_int_equal(p.layout.segment <= S, less == 0);
        prepared_close(&f, &p);
        fixture_close(&f);
    }
}

static uint64_t plan_bytes(const struct plain_plan *plan)
{
    return plan->table_bytes + plan->chunk_bytes + plan->disk_bytes;
}

static void test_the_limit_is_kept_to_the_byte(void **state)
{
    (void)state;
    uint32_t raised = 0;
    for (double times = 0.6; times < 2.3; times += 0.17) {
        struct fixture f;
        struct prepared p;
        fixture_open(&f, .graph = &wide);
        prepared_init(&f, &p);
        set_limit(&f, &p, times);
        const enum gnn_status status = prepared_try(&f, &p);
        if (status == GNN_EUSAGE) { /* says what would be enough */
            assert_non_null(strstr(f.err.message, "diskgnn.disk_limit"));
            prepared_close(&f, &p);
            fixture_close(&f);
            continue;
        }
        must(status, &f.err);
        const struct diskgnn_layout *const l = &p.layout;
        const uint64_t bytes = l->tables_bytes + l->chunks_bytes + l->disk_bytes;
        assert_true(bytes <= l->limit_bytes);
        raised += l->segment != l->found_segment;
        prepared_close(&f, &p);
        fixture_close(&f);
    }
    assert_true(raised > 0); /* or the estimate alone would have done */
}

/* The limit in bytes at which one plan just fits: a byte less and another one is taken. */
static void test_a_byte_less_is_another_plan(void **state)
{
    (void)state;
    struct fixture f;
    struct prepared p;
    fixture_open(&f, .graph = &wide);
    prepared_init(&f, &p);
    set_limit(&f, &p, 0);
    prepared_open(&f, &p);
    const uint64_t packed = p.layout.tables_bytes + p.layout.chunks_bytes, features = f.graph.dataset.feature_bytes;
    for (int less = 0; less < 2; less++) {
        prepared_close(&f, &p);
        p.config.disk_limit = ((double)(packed - (uint64_t)less) + 0.5) / (double)features;
        prepared_open(&f, &p);
        assert_int_equal(p.layout.limit_bytes, packed - (uint64_t)less);
        assert_int_equal(p.layout.disk_rows > 0, less);
        assert_int_equal(p.layout.disk_bytes > 0, less);
    }
    prepared_close(&f, &p);
    fixture_close(&f);
}

static bool plan_fits(const struct fixture *f, const struct prepared *p, uint32_t s)
{
    struct plain_plan plan;
    plain_plan(f, p, p->layout.gpu_rows + p->layout.cpu_rows, s, UINT32_MAX, &plan);
    const bool fits = plan_bytes(&plan) <= p->layout.limit_bytes;
    plain_plan_close(&plan);
    return fits;
}

/* The exact search lengthens segments by eighths and comes back: a 32nd shorter, or one mini-batch, and some plan does
 * not fit. It reads the lists as often as that takes (virtual time; renewed as golden times are). */
static void test_the_exact_search_stops_near_the_limit(void **state)
{
    (void)state;
    static const struct {
        double times;
        uint64_t search_ns;
    } cases[] = {{1.6, 256860130}, {2.0, 441938057}, {2.5, 373111326}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fixture f;
        struct prepared p;
        bool near = false;
        fixture_open(&f, .graph = &wide, .simulated = true);
        f.workload.batch_size = 4;
        prepared_init(&f, &p);
        set_limit(&f, &p, cases[c].times);
        prepared_open(&f, &p);
        const uint32_t s = p.layout.segment, least = s - gnn_max_u32(s / 32, 1);
        assert_true(s > p.layout.found_segment);
        assert_true(plan_fits(&f, &p, s));
        for (uint32_t shorter = least; shorter < s; shorter++)
            near = near || !plan_fits(&f, &p, shorter);
        assert_true(near);
        if (p.layout.search_ns != cases[c].search_ns)
            fail_msg("limit %.1f: s %" PRIu32 " in %" PRIu64 " ns", cases[c].times, s, p.layout.search_ns);
        prepared_close(&f, &p);
        fixture_close(&f);
    }
}

/* All s and 21 values of m on exact totals: the approximation reads at most a tenth more. */
static void test_the_search_is_near_the_best(void **state)
{
    (void)state;
    static const double times[] = {1.2, 1.5, 1.8};
    for (size_t c = 0; c < sizeof times / sizeof *times; c++) {
        struct fixture f;
        struct prepared p;
        fixture_open(&f, .graph = &wide);
        prepared_init(&f, &p);
        set_limit(&f, &p, times[c]);
        prepared_open(&f, &p);
        const uint32_t cached = p.layout.gpu_rows + p.layout.cpu_rows;
        struct plain_plan plan;
        double best = 0;
        for (uint32_t s = 1; s <= p.sampled.batches; s++) {
            plain_plan(&f, &p, cached, s, UINT32_MAX, &plan);
            const uint64_t multiple = plan.multiple_most;
            plain_plan_close(&plan);
            for (uint32_t step = 0; step <= 20; step++) {
                plain_plan(&f, &p, cached, s, (uint32_t)(multiple * step / 20), &plan);
                const double amplification = plain_amplification(&p, &plan);
                if (plan_bytes(&plan) <= p.layout.limit_bytes && (best == 0 || amplification < best))
                    best = amplification;
                plain_plan_close(&plan);
            }
        }
        assert_true(best > 0);
        plain_plan(&f, &p, cached, p.layout.segment, gnn_max_u32(p.layout.disk_rows, 0), &plan);
        const double found = plain_amplification(&p, &plan);
        if (found > 1.1 * best)
            fail_msg("limit %.1f: amplification %.3f, the best is %.3f", times[c], found, best);
        plain_plan_close(&plan);
        prepared_close(&f, &p);
        fixture_close(&f);
    }
}

/* ---- brute force ---- */

/* A plan of s and m, and what its first segment stores and reads. */
struct candidate {
    uint32_t s, m;
    uint64_t stored_rows, bytes;
    double amplification;
};

static struct candidate plain_candidate(const struct fixture *f, const struct prepared *p, uint32_t s, uint32_t m)
{
    const uint64_t row_bytes = f->graph.dataset.row_bytes;
    struct candidate c = {.s = s, .m = m};
    struct plain_plan plan;
    uint64_t packed = 0, shared = 0, pages = 0;
    plain_plan(f, p, p->caches.gpu_rows + p->caches.cpu_rows, s, m, &plan);
    for (uint32_t i = 0; i < s; i++) {
        packed += plan.batches[i].packed;
        shared += plan.batches[i].shared;
        pages += plan.batches[i].pages;
    }
    c.stored_rows = packed + plan.segment_rows[0];
    c.bytes = plan_bytes(&plan);
    c.amplification = (double)(packed * row_bytes + pages * GNN_PAGE_BYTES) / (double)((packed + shared) * row_bytes);
    plain_plan_close(&plan);
    return c;
}

/* The plan with the smallest m whose first segment stores its share of the limit or less. False: there is none. */
static bool least_candidate(const struct fixture *f, const struct prepared *p, uint64_t limit, uint32_t s,
                            struct candidate *out)
{
    const uint64_t share = limit * s / (f->graph.dataset.row_bytes * (uint64_t)p->sampled.batches);
    uint32_t low = 0, high = f->graph.dataset.node_count;
    if (plain_candidate(f, p, s, high).stored_rows > share)
        return false;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (plain_candidate(f, p, s, middle).stored_rows <= share)
            high = middle;
        else
            low = middle + 1;
    }
    *out = plain_candidate(f, p, s, low);
    return true;
}

enum { BRUTE_STEP = 7, TURNS = 8 };

/* The plan of s that brute force takes: what a whole plan exceeds the limit by is taken from the first one's share. */
static bool fitting_candidate(const struct fixture *f, const struct prepared *p, uint64_t limit, uint32_t s,
                              double best, struct candidate *out)
{
    uint64_t share = limit;
    for (int turn = 0; turn < TURNS; turn++) {
        if (!least_candidate(f, p, share, s, out) || out->amplification >= best)
            return false;
        if (out->bytes <= limit)
            return true;
        share -= gnn_min_u64(share, out->bytes - limit + (out->bytes - limit) / 8 + GNN_PAGE_BYTES);
    }
    return false;
}

/* The best plan of every seventh s by plain loops. s = 0: there is none. */
static struct candidate plain_brute_force(const struct fixture *f, const struct prepared *p, uint64_t limit)
{
    struct candidate best = {.s = 0, .amplification = INFINITY}, c;
    for (uint32_t s = 2; s <= p->sampled.batches; s += BRUTE_STEP)
        if (fitting_candidate(f, p, limit, s, best.amplification, &c))
            best = c;
    return best;
}

/* Brute force takes the plan with the least amplification of those that keep the limit. */
static void test_brute_force_is_the_best_of_every_step(void **state)
{
    (void)state;
    uint32_t raised = 0, refused = 0, long_ones = 0;
    for (double times = 0.9; times < 2.05; times += 0.1) {
        struct fixture f;
        struct prepared p;
        struct candidate first;
        fixture_open(&f, .graph = &wide);
        prepared_init(&f, &p);
        set_limit(&f, &p, 0);
        prepared_open(&f, &p);
        const uint64_t limit = (uint64_t)(times * (double)f.graph.dataset.feature_bytes);
        const struct candidate best = plain_brute_force(&f, &p, limit);
        if (best.s > 0 && least_candidate(&f, &p, limit, best.s, &first))
            raised += first.m < best.m;
        prepared_close(&f, &p);
        set_limit(&f, &p, times);
        p.config.search = DISKGNN_SEARCH_BRUTE;
        p.config.brute_step = BRUTE_STEP;
        if (best.s == 0) {
            refused++;
            assert_int_equal(prepared_try(&f, &p), GNN_EUSAGE);
            assert_non_null(strstr(f.err.message, "diskgnn.search=brute: no segment of 2, 9, ..."));
        } else {
            prepared_open(&f, &p);
            long_ones += best.s > 2;
            assert_int_equal(p.layout.segment, best.s);
            assert_int_equal(p.layout.disk_rows, best.m);
            assert_int_equal(p.layout.tables_bytes + p.layout.chunks_bytes + p.layout.disk_bytes, best.bytes);
            assert_true(best.bytes <= limit);
            check_placement(&f, &p);
        }
        prepared_close(&f, &p);
        fixture_close(&f);
    }
    assert_true(raised > 0); /* the share of the first segment alone would have taken too much */
    assert_true(refused > 0);
    assert_true(long_ones > 0);
}

/* Opens what is prepared, and whether it wrote a text to the standard error. */
static bool open_warns(struct fixture *f, struct prepared *p, const char *text)
{
    char said[4096] = "";
    FILE *const file = tmpfile();
    const int before = dup(STDERR_FILENO);
    assert_non_null(file);
    assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    const enum gnn_status status = prepared_try(f, p);
    assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
    (void)close(before);
    must(status, &f->err);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    (void)fclose(file);
    return strstr(said, text) != NULL;
}

/* Algorithm 2 may choose a plan over the limit: it is taken, and every run reports both numbers. */
static void test_a_plan_over_the_limit_is_reported(void **state)
{
    (void)state;
    uint32_t over = 0, within = 0;
    for (double times = 0.6; times < 2.3; times += 0.25) {
        struct fixture f;
        struct prepared p;
        char bytes[64];
        fixture_open(&f, .graph = &wide);
        prepared_init(&f, &p);
        set_limit(&f, &p, times);
        p.config.search = DISKGNN_SEARCH_APPROXIMATE;
        prepared_open(&f, &p);
        const uint64_t placed = p.layout.tables_bytes + p.layout.chunks_bytes + p.layout.disk_bytes;
        const bool exceeds = placed > p.layout.limit_bytes;
        (void)snprintf(bytes, sizeof bytes, "take %" PRIu64 " bytes", placed);
        over += exceeds;
        within += !exceeds;
        for (int reuse = 0; reuse < 2; reuse++) {
            prepared_close(&f, &p);
            p.config.reuse = reuse == 1;
            assert_int_equal(open_warns(&f, &p, bytes), exceeds);
            prepared_close(&f, &p);
            (void)snprintf(bytes, sizeof bytes, "allows %" PRIu64,
                           (uint64_t)(times * (double)f.graph.dataset.feature_bytes));
            assert_int_equal(open_warns(&f, &p, bytes), exceeds);
            (void)snprintf(bytes, sizeof bytes, "take %" PRIu64 " bytes", placed);
        }
        prepared_close(&f, &p);
        fixture_close(&f);
    }
    assert_true(over > 0);
    assert_true(within > 0);
}

static void test_given_numbers_are_taken_or_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct prepared p;
    fixture_open(&f, .graph = &usual);
    prepared_init(&f, &p);
    p.config.segment = 2;
    p.config.disk_rows = 5;
    p.config.disk_limit = 0.01;
    assert_int_equal(prepared_try(&f, &p), GNN_EUSAGE);
    assert_non_null(strstr(f.err.message, "diskgnn.segment=2"));
    prepared_close(&f, &p);
    f.err = (struct gnn_err){0};
    p.config.segment = 0;
    assert_int_equal(prepared_try(&f, &p), GNN_EUSAGE);
    assert_non_null(strstr(f.err.message, "raise it to"));
    prepared_close(&f, &p);
    fixture_close(&f);
}

/* ---- caches ---- */

static void test_cuts_of_a_histogram(void **state)
{
    (void)state;
    static const uint64_t histogram[] = {9, 5, 0, 3, 2}; /* of 4 mini-batches: 2 nodes in all, 3 in three, 5 in one */
    static const struct {
        uint64_t rows, ties;
        uint32_t above;
    } cases[] = {{0, 0, 4}, {1, 1, 4}, {2, 0, 3}, {3, 1, 3},  {4, 2, 3},
                 {5, 0, 1}, {6, 1, 1}, {9, 4, 1}, {10, 0, 0}, {99, 0, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct diskgnn_cut cut = diskgnn_cut_of(histogram, 4, cases[c].rows);
        assert_int_equal(cut.above, cases[c].above);
        assert_int_equal(cut.ties, cases[c].ties);
    }
}

static void test_cold_accesses_are_those_of_no_cached_row(void **state)
{
    (void)state;
    struct fixture f;
    struct prepared p;
    fixture_open(&f, .graph = &usual);
    prepared_init(&f, &p);
    prepared_open(&f, &p);
    uint32_t used;
    gnn_node *const order = plain_popularity(&f, &p, &used);
    uint64_t cold = 0, all = 0;
    for (uint32_t v = 0; v < f.graph.dataset.node_count; v++)
        all += p.uses[v];
    assert_int_equal(p.sampled.accesses, all);
    assert_int_equal(diskgnn_used_rows(&p.sampled), used);
    for (uint32_t rows = used; rows > 0; rows--) {
        assert_int_equal(diskgnn_cold_accesses(&p.sampled, rows), cold);
        cold += p.uses[order[rows - 1]];
    }
    assert_int_equal(diskgnn_cold_accesses(&p.sampled, 0), all);
    free(order);
    prepared_close(&f, &p);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_are_sorted_by_key_and_stay_in_order),
        cmocka_unit_test(test_a_hash_function_is_a_permutation),
        cmocka_unit_test(test_rows_used_together_lie_together),
        cmocka_unit_test(test_equal_sets_make_one_run),
        cmocka_unit_test(test_segments_hold_the_most_used_rows_in_order),
        cmocka_unit_test(test_the_search_is_algorithm_2),
        cmocka_unit_test(test_an_estimate_of_the_limit_is_enough),
        cmocka_unit_test(test_the_limit_is_kept_to_the_byte),
        cmocka_unit_test(test_a_byte_less_is_another_plan),
        cmocka_unit_test(test_the_exact_search_stops_near_the_limit),
        cmocka_unit_test(test_the_search_is_near_the_best),
        cmocka_unit_test(test_brute_force_is_the_best_of_every_step),
        cmocka_unit_test(test_a_plan_over_the_limit_is_reported),
        cmocka_unit_test(test_given_numbers_are_taken_or_refused),
        cmocka_unit_test(test_cuts_of_a_histogram),
        cmocka_unit_test(test_cold_accesses_are_those_of_no_cached_row),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

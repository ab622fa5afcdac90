/* SPDX-License-Identifier: MIT */
/* presort's swept neighbour lists: mini-batches that are drawn together, request by request; the tapes on which they
 * wait; limits, full disks and failures (docs/invariants.md, presort: 13). */
#include "harness/base/sort_keys.h"
#include "harness/graph/invariants.h"
#include "harness/sample/draw.h"
#include "systems/presort/rounds.h"
#include "systems/presort/spool.h"
#include "tests/support/fixture.h"
#include "tests/support/hang.h"
#include "tests/support/io_log.h"
#include "tests/support/memory_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 5000, TRAIN = 160, BATCH = 8, BATCHES = TRAIN / BATCH, EPOCHS = 3, LAYERS = 3 };

static const struct train_graph_config usual = {
    .nodes = NODES, .mean_degree = 6, .dim = 32, .classes = 5, .train = TRAIN, .seed = 11};
static const struct train_graph_config wide_ids = {
    .nodes = NODES, .mean_degree = 6, .dim = 32, .classes = 5, .train = TRAIN, .seed = 11, .id_bytes = 8};
/* Lists that are longer than a read. */
static const struct train_graph_config hubs = {.nodes = NODES,
                                               .mean_degree = 6,
                                               .dim = 32,
                                               .classes = 5,
                                               .train = TRAIN,
                                               .seed = 11,
                                               .hub_every = 300,
                                               .hub_degree = 4500};

static void init_run(struct train_run *run, struct fixture *f, const char *const *options)
{
    static const uint32_t fanout[LAYERS] = {4, 3, 3};
    train_run_init(run, f->world, "presort");
    run->options = options;
    run->workload.epochs = EPOCHS;
    run->workload.batch_size = BATCH;
    run->workload.layers = LAYERS;
    memcpy(run->workload.fanout, fanout, sizeof fanout);
    run->check_rows = !f->config.simulated;
    run->modelled = f->config.simulated ? &f->profile : NULL;
}

static void open_run(struct train_run *run, struct fixture *f, const char *const *options)
{
    init_run(run, f, options);
    must_run(train_run_open(run, &f->graph), run);
}

/* Of one epoch. */
struct figures {
    uint64_t digest, trained, edges;
    uint64_t rounds, reads, read_bytes, spool_write, spool_read, mapped, full, written, hyperbatches;
};

static struct figures figures_of(const struct train_run *run)
{
    const bool swept = ((const struct presort *)run->state)->setup.rounds != NULL;
    return (struct figures){.digest = run->result.counters.sample.batch_digest,
                            .trained = run->trained_digest,
                            .edges = run->result.counters.sample.sampled_edges,
                            .rounds = swept ? train_run_extra(run, "rounds") : 0,
                            .reads = swept ? train_run_extra(run, "topology_reads") : 0,
                            .read_bytes = swept ? train_run_extra(run, "topology_read_bytes") : 0,
                            .spool_write = swept ? train_run_extra(run, "spool_write_bytes") : 0,
                            .spool_read = swept ? train_run_extra(run, "spool_read_bytes") : 0,
                            .mapped = swept ? train_run_extra(run, "mapped_batches") : 0,
                            .full = swept ? train_run_extra(run, "spool_full") : 0,
                            .written = run->result.counters.requested_write_bytes,
                            .hyperbatches = train_run_extra(run, "hyperbatches")};
}

static void run_epoch(struct train_run *run, uint64_t epoch, struct figures *out)
{
    must_run(train_run_epoch(run, epoch), run);
    assert_int_equal(run->wrong_values, 0);
    train_run_each_seed_once(run);
    for (uint32_t k = 0; k < BATCHES; k++)
        assert_int_equal(run->order[k], k);
    *out = figures_of(run);
}

static void run_epochs(struct fixture *f, const char *const *options, struct figures *out)
{
    struct train_run run;
    open_run(&run, f, options);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++)
        run_epoch(&run, epoch, &out[epoch]);
    train_run_close(&run);
}

/* The mini-batches are those of lists in memory. */
static void expect_same(struct fixture *f, const struct figures *of)
{
    struct figures resident[EPOCHS];
    run_epochs(f, OPTIONS("io=buffered", "topology=resident"), resident);
    for (uint64_t e = 0; e < EPOCHS; e++) {
        assert_int_equal(of[e].digest, resident[e].digest);
        assert_int_equal(of[e].trained, resident[e].trained);
        assert_true(e == 0 || of[e].digest != of[e - 1].digest);
    }
}

#define SWEPT "topology=swept", "row_memory=1"
#define SMALL SWEPT, "io=buffered"

/* ---- the same mini-batches ---- */

/* However an epoch is cut into rounds, hyperbatches and windows, and wherever one of them ends inside another. */
static void test_rounds_change_no_mini_batch(void **state)
{
    (void)state;
    static const struct train_graph_config *const graphs[] = {&usual, &wide_ids, &hubs};
    const char *const *const cases[] = {
        OPTIONS(SMALL),
        OPTIONS(SMALL, "round_memory=1"),
        OPTIONS(SMALL, "round_memory=30K", "hyperbatch=3"),
        OPTIONS(SMALL, "round_memory=30K", "list_memory=8K", "classes=sorted", "hot=run"),
        OPTIONS(SMALL, "merge=0", "depth=1", "hyperbatch=7", "ahead=false"),
        OPTIONS(SMALL, "merge=4K", "random_read=1", "round_memory=40K", "window=1"),
        OPTIONS(SWEPT, "round_memory=30K", "hyperbatch=3"),
        OPTIONS(SWEPT, "merge=4K", "depth=2", "random_read=1"),
    };
    enum { CASES = sizeof cases / sizeof *cases, BUFFERED = 6 };
    for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++)
        for (int simulated = 0; simulated < 2; simulated++) {
            struct fixture f;
            fixture_open(&f, .graph = graphs[g], .simulated = simulated);
            for (size_t c = 0; c < (f.direct ? (size_t)CASES : (size_t)BUFFERED); c++) {
                struct figures of[EPOCHS];
                run_epochs(&f, cases[c], of);
                expect_same(&f, of);
                for (uint64_t e = 0; e < EPOCHS; e++) {
                    assert_int_equal(of[e].mapped + of[e].full, 0);
                    assert_in_range(of[e].spool_read, of[e].edges * sizeof(gnn_node), UINT64_MAX);
                }
                assert_true(of[0].spool_write >= of[0].edges * sizeof(gnn_node));
                assert_true(c != 1 || of[1].rounds > 4);
                assert_true(c != 3 || (of[1].rounds > 1 && of[1].hyperbatches > of[1].rounds));
            }
            fixture_close(&f);
        }
}

/* Without training nothing is written. */
static void test_sampling_alone_spools_nothing(void **state)
{
    (void)state;
    for (int simulated = 0; simulated < 2; simulated++) {
        struct fixture f;
        struct gnn_sample_counters expected;
        fixture_open(&f, .graph = &usual, .simulated = simulated);
        for (int swept = 0; swept < 2; swept++) {
            struct train_run run;
            init_run(&run, &f,
                     swept == 0 ? OPTIONS("io=buffered", "topology=resident") : OPTIONS(SMALL, "round_memory=30K"));
            run.workload.sample_only = true;
            must_run(train_run_open(&run, &f.graph), &run);
            for (uint64_t epoch = EPOCHS; epoch-- > 0;)
                must_run(train_run_epoch(&run, epoch), &run);
            if (swept == 0)
                expected = run.result.counters.sample;
            else
                assert_memory_equal(&run.result.counters.sample, &expected, sizeof expected);
            assert_int_equal(run.result.counters.requested_write_bytes, 0);
            assert_true(swept == 0 || train_run_extra(&run, "topology_reads") > 0);
            train_run_close(&run);
        }
        fixture_close(&f);
    }
}

/* ---- requests ---- */

/* What the mini-batches of an epoch want of the lists at a hop, by edge. */
struct wanted {
    bool *lists; /* (edge_count) of a list that is wanted */
    bool *drawn; /* (edge_count) */
};

static void open_wanted(struct wanted *w, uint64_t edges)
{
    w->lists = calloc(edges, sizeof *w->lists);
    w->drawn = calloc(edges, sizeof *w->drawn);
    assert_true(w->lists != NULL && w->drawn != NULL);
}

static void add_wanted(struct wanted *w, const struct train_run *run, const struct gnn_batch_view *view, uint32_t hop)
{
    const uint64_t *const indptr = run->env.dataset->indptr;
    const uint64_t key = gnn_draw_hop_key(gnn_rng_fork(run->workload.seed, "sample"), view->epoch, view->batch, hop);
    for (uint32_t i = 0; i < view->blocks[LAYERS - hop].dst_count; i++) {
        const gnn_node v = view->nodes[i];
        uint64_t drawn[GNN_FANOUT_MAX];
        const uint32_t count = gnn_draw(gnn_rng_fold(key, v), indptr[v], indptr[v + 1] - indptr[v],
                                        run->workload.fanout[hop - 1], false, drawn);
        memset(w->lists + indptr[v], true, indptr[v + 1] - indptr[v]);
        for (uint32_t t = 0; t < count; t++)
            w->drawn[drawn[t]] = true;
    }
}

/* Draws the epoch's mini-batches from the graph in memory. */
static void find_wanted(struct train_run *run, const struct train_graph *g, uint64_t epoch, struct wanted *of)
{
    struct gnn_sampler_config config = {.seed = run->workload.seed, .layers = LAYERS};
    struct gnn_neighbour_source *source;
    struct gnn_sampler *sampler;
    struct gnn_batch *batch;
    gnn_node order[TRAIN];
    memcpy(config.fanout, run->workload.fanout, sizeof config.fanout);
    must(gnn_source_memory(run->world, g->indices, g->dataset.edge_count, &source, &run->err), &run->err);
    must(gnn_sampler_open(run->world, &config, &g->dataset, source, &sampler, &run->err), &run->err);
    must(gnn_batch_open(run->world, &batch, &run->err), &run->err);
    gnn_epoch_order(run->workload.seed, epoch, g->dataset.train.nodes, TRAIN, order);
    for (uint32_t k = 0; k < BATCHES; k++) {
        must(gnn_sampler_sample(sampler, epoch, k, order + (size_t)k * BATCH, BATCH, batch, &run->err), &run->err);
        for (uint32_t hop = 1; hop <= LAYERS; hop++)
            add_wanted(&of[hop - 1], run, gnn_batch_view(batch), hop);
    }
    gnn_batch_close(run->world, batch);
    gnn_sampler_close(sampler);
    gnn_source_close(source);
}

/* The reads of the lists in an epoch, as edges. */
struct pass {
    uint64_t begin[20000], end[20000];
    uint32_t count;
};

static bool is_of_lists(const struct presort *s, const struct io_request *r)
{
    if (r->write || r->file == s->setup.features)
        return false;
    for (uint32_t i = 0; i < PRESORT_ALIVE; i++)
        if (r->file == s->scratch[i].file || r->file == s->tapes[i])
            return false;
    return true;
}

/* Takes reads from *at on as long as they ascend. */
static void take_pass(const struct train_run *run, const struct io_log *log, uint64_t *at, struct pass *p)
{
    const uint32_t id_bytes = run->env.dataset->id_bytes;
    p->count = 0;
    for (; *at < io_log_count(log); ++*at) {
        const struct io_request *const r = io_log_request(log, *at);
        if (!is_of_lists(run->state, r))
            continue;
        const uint64_t begin = r->offset_bytes / id_bytes, end = begin + r->len_bytes / id_bytes;
        if (p->count > 0 && begin < p->end[p->count - 1]) {
            assert_true(begin < p->begin[p->count - 1]); /* reads of one pass do not overlap */
            return;
        }
        assert_in_range(p->count, 0, 19999);
        p->begin[p->count] = begin;
        p->end[p->count++] = end;
    }
}

/* What is at the end of the file, less than a sector, comes without a ring. */
static uint64_t readable_edges(const struct fixture *f, uint32_t align_bytes)
{
    const struct gnn_dataset *const d = &f->graph.dataset;
    return gnn_round_down(d->indices_bytes, align_bytes) / d->id_bytes;
}

static uint64_t next_of(const bool *set, uint64_t at, uint64_t end)
{
    while (at < end && !set[at])
        at++;
    return at;
}

static uint64_t end_of(const bool *set, uint64_t at, uint64_t end)
{
    while (at < end && set[at])
        at++;
    return at;
}

static uint64_t last_of(const bool *set, uint64_t begin, uint64_t end)
{
    while (end > begin && !set[end - 1])
        end--;
    return end;
}

/* Whether a read that ends with one list would have gone on to the one at edge `at`. */
static bool is_near(const struct train_run *run, uint32_t align_bytes, uint64_t end, uint64_t at)
{
    const struct presort_setup *const s = &((const struct presort *)run->state)->setup;
    const struct gnn_dataset *const d = run->env.dataset;
    const gnn_node v = gnn_indptr_find(d->indptr, d->node_count, at);
    const uint64_t list = (d->indptr[v + 1] - at) * d->id_bytes, gap = (at - end) * d->id_bytes;
    return gap + list <= gnn_max_u64(s->sizes.list_random_bytes, list) ||
           gnn_round_down(at * d->id_bytes, align_bytes) < gnn_round_up(end * d->id_bytes, align_bytes);
}

/* Each wanted list is read once, whole, and a read is as long as it is worth its while, and no longer. */
static void expect_pass(const struct train_run *run, const struct fixture *f, uint32_t align_bytes,
                        const struct pass *p, const struct wanted *w)
{
    const struct presort_config *const config = run->config;
    const struct gnn_dataset *const d = run->env.dataset;
    const uint64_t edges = readable_edges(f, align_bytes), most = gnn_max_u64(config->merge, 4096);
    uint64_t seen = 0, end = 0, limit = 0; /* of the read before */
    for (uint32_t i = 0; i < p->count; i++) {
        const uint64_t first = next_of(w->lists, p->begin[i], p->end[i]);
        assert_true(first < p->end[i]);
        assert_int_equal(next_of(w->lists, seen, p->begin[i]), p->begin[i]); /* nothing was left out */
        assert_int_equal(gnn_round_down(first * d->id_bytes, align_bytes) / d->id_bytes, p->begin[i]);
        assert_true(i == 0 || first >= limit || !is_near(run, align_bytes, end, first));
        limit = (gnn_round_down(first * d->id_bytes, 4096) + most) / d->id_bytes;
        seen = gnn_min_u64(p->end[i], edges);
        end = last_of(w->lists, p->begin[i], seen);
        assert_true(seen <= limit);
        assert_true(gnn_round_up(end * d->id_bytes, align_bytes) / d->id_bytes >= seen);
        for (uint64_t at = first, gap; at < end; at = next_of(w->lists, gap, end)) { /* over gaps that are worth it */
            gap = end_of(w->lists, at, end);
            assert_true(gap == end || is_near(run, align_bytes, gap, next_of(w->lists, gap, end)));
        }
    }
    assert_int_equal(next_of(w->lists, seen, edges), edges);
}

/* What is drawn from lists that are longer than a read, or may be cut by the end of one: none of it is left out, and no
 * read is for nothing. */
static void expect_drawn(const struct pass *p, const struct wanted *w, uint64_t edges)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        assert_int_equal(next_of(w->drawn, seen, p->begin[i]), p->begin[i]);
        assert_true(next_of(w->drawn, p->begin[i], p->end[i]) < p->end[i]);
        seen = p->end[i];
    }
    assert_true(seen >= edges || next_of(w->drawn, seen, edges) == edges);
}

/* One epoch of one round: a pass over the lists for each hop. */
static void check_requests(struct train_run *run, const struct fixture *f, const struct io_log *log, uint64_t epoch,
                           uint32_t align_bytes)
{
    static struct pass pass;
    struct wanted wanted[LAYERS];
    struct figures of;
    uint64_t at = io_log_count(log), reads = 0;
    for (uint32_t hop = 0; hop < LAYERS; hop++)
        open_wanted(&wanted[hop], f->graph.dataset.edge_count);
    find_wanted(run, &f->graph, epoch, wanted);
    run_epoch(run, epoch, &of);
    assert_int_equal(of.rounds, 1);
    for (uint32_t hop = 0; hop < LAYERS; hop++) {
        take_pass(run, log, &at, &pass);
        assert_true(pass.count > 0);
        if (f->config.graph == &hubs || ((const struct presort_config *)run->config)->merge <= 4096)
            expect_drawn(&pass, &wanted[hop], readable_edges(f, align_bytes));
        else
            expect_pass(run, f, align_bytes, &pass, &wanted[hop]);
        reads += pass.count;
        free(wanted[hop].lists);
        free(wanted[hop].drawn);
    }
    assert_int_equal(at, io_log_count(log));
    assert_int_equal(reads, of.reads);
}

static void test_a_list_is_read_once_a_hop(void **state)
{
    (void)state;
    static const struct train_graph_config *const graphs[] = {&usual, &wide_ids, &hubs};
#define ROUND "ahead=false", "round_memory=1M", "row_memory=2M", "topology=swept", "classes=direct"
    const char *const *const cases[] = {
        OPTIONS(ROUND, "io=buffered"),
        OPTIONS(ROUND, "io=buffered", "random_read=1"),
        OPTIONS(ROUND, "io=buffered", "random_read=100", "merge=4K"),
        OPTIONS(ROUND, "io=buffered", "random_read=1M", "merge=64K"),
        OPTIONS(ROUND, "random_read=1"),
        OPTIONS(ROUND, "merge=8K"),
    };
    enum { CASES = sizeof cases / sizeof *cases, BUFFERED = 4 };
    for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++)
        for (int simulated = 0; simulated < 2; simulated++) {
            struct fixture f;
            fixture_open(&f, .graph = graphs[g], .simulated = simulated);
            for (size_t c = 0; c < (f.direct ? (size_t)CASES : (size_t)BUFFERED); c++) {
                struct train_run run;
                struct io_log *const log = io_log_open(f.world);
                open_run(&run, &f, cases[c]);
                const uint32_t align_bytes = ((const struct presort *)run.state)->setup.align_bytes;
                for (uint64_t epoch = EPOCHS; epoch-- > 0;)
                    check_requests(&run, &f, log, epoch, align_bytes);
                train_run_close(&run);
                io_log_close(log);
            }
            fixture_close(&f);
        }
}

/* Rounds of any size: as many passes as hops, each ascending; more memory reads less. */
static void test_passes_are_those_of_the_rounds(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    uint64_t bytes_before = UINT64_MAX, rounds_before = UINT64_MAX;
    for (uint32_t kib = 1; kib < 200; kib *= 2) {
        char memory[40];
        static struct pass pass;
        struct train_run run;
        struct figures of;
        struct io_log *const log = io_log_open(f.world);
        uint64_t at = 0, passes = 0, reads = 0;
        (void)snprintf(memory, sizeof memory, "round_memory=%uK", kib);
        open_run(&run, &f, OPTIONS(SMALL, "ahead=false", "classes=direct", memory));
        run_epoch(&run, 0, &of);
        for (; at<io_log_count(log); passes += pass.count> 0, reads += pass.count)
            take_pass(&run, log, &at, &pass);
        assert_int_equal(passes, of.rounds * LAYERS);
        assert_int_equal(reads, of.reads);
        assert_true(of.rounds <= rounds_before);
        assert_true(of.read_bytes <= bytes_before);
        rounds_before = of.rounds;
        bytes_before = of.read_bytes;
        train_run_close(&run);
        io_log_close(log);
    }
    assert_int_equal(rounds_before, 1);
    fixture_close(&f);
}

static void test_wants_are_in_order(void **state)
{
    (void)state;
    enum { MOST = 5000 };
    static uint64_t wants[MOST], sum_before;
    struct gnn_rng rng = gnn_rng_at(3);
    for (uint64_t count = 0; count <= MOST; count = count * 3 / 2 + 1)
        for (uint32_t nodes = 1; nodes > 0 && nodes < 1U << 31; nodes *= 37) {
            uint64_t sum = 0;
            sum_before = 0;
            for (uint64_t i = 0; i < count; i++) {
                wants[i] = gnn_rng_below(&rng, nodes) << 32 | i;
                sum_before += wants[i];
            }
            gnn_sort_keys(wants, count, 32, 64);
            for (uint64_t i = 0; i < count; i++) {
                sum += wants[i];
                assert_true(i == 0 || wants[i - 1] >> 32 <= wants[i] >> 32);
            }
            assert_int_equal(sum, sum_before);
        }
}

/* ---- a tape ---- */

/* What was put comes back from any byte on, and behind the page of the last one nothing does: also where the buffer,
 * which the last read fills in part, still holds what was read before. */
static void test_a_tape_ends_with_its_last_page(void **state)
{
    (void)state;
    enum { BYTES = 3 * 65536 + 5 * 4096 };
    static const uint64_t ends[] = {1, 4096, 4097, 65536, 65537, BYTES - 4095, BYTES};
    static unsigned char put[BYTES], taken[BYTES];
    struct fixture f;
    struct presort_tape tape;
    struct gnn_file *file;
    fixture_open(&f, .scratch = true);
    must(gnn_file_open(f.world, f.scratch.dir, GNN_OPEN_WRITE | GNN_OPEN_SCRATCH, &file, &f.err), &f.err);
    must(presort_tape_open(f.world, &tape, &f.err), &f.err);
    for (uint32_t i = 0; i < BYTES; i++)
        put[i] = (unsigned char)(i % 251 + 1);
    presort_tape_begin(&tape, file);
    must(presort_tape_put(&tape, put, BYTES, &f.err), &f.err);
    must(presort_tape_flush(&tape, &f.err), &f.err);
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
        for (uint64_t begin = 0; begin < ends[e]; begin += ends[e] / 3 + 1) {
            const uint64_t end = gnn_round_up(ends[e], 4096);
            presort_tape_seek(&tape, file, begin, ends[e]);
            must(presort_tape_take(&tape, taken, 1, &f.err), &f.err);
            must(presort_tape_take(&tape, taken + 1, end - begin - 1, &f.err), &f.err);
            assert_memory_equal(taken, put + begin, end - begin);
            assert_int_equal(presort_tape_take(&tape, taken, 1, &f.err), GNN_ESHORT);
            assert_non_null(strstr(f.err.message, "read past the last written byte"));
            f.err = (struct gnn_err){0};
        }
    presort_tape_seek(&tape, file, 1, 4097);
    must(presort_tape_take(&tape, taken, 1, &f.err), &f.err);
    presort_tape_pass_page(&tape);
    must(presort_tape_take(&tape, taken, 1, &f.err), &f.err);
    assert_int_equal(taken[0], put[4096]);
    presort_tape_close(&tape);
    gnn_file_close(f.world, file);
    fixture_close(&f);
}

/* ---- memory ---- */

static void test_memory_is_what_is_planned(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (int only = 0; only < 2; only++)
        for (uint32_t kib = 1; kib < 300; kib += 50) {
            char memory[40];
            struct train_run run;
            struct presort_rounds *rounds;
            struct presort_spool *spool;
            struct gnn_mem_usage before, after;
            (void)snprintf(memory, sizeof memory, "round_memory=%uK", kib);
            init_run(&run, &f, OPTIONS(SMALL, memory, "depth=3"));
            run.workload.sample_only = only == 1;
            must_run(train_run_open(&run, &f.graph), &run);
            const struct presort_setup *const setup = &((const struct presort *)run.state)->setup;
            gnn_mem_usage(f.world, &before);
            must(presort_rounds_open(setup, &rounds, &f.err), &f.err);
            gnn_mem_usage(f.world, &after);
            const uint64_t bytes = after.current_bytes - before.current_bytes;
            assert_int_equal(bytes, presort_rounds_bytes(setup->env, setup->config, setup->sizes.drawn_bytes));
            must(presort_spool_open(setup, &spool, &f.err), &f.err);
            gnn_mem_usage(f.world, &before);
            assert_int_equal(before.current_bytes - after.current_bytes, presort_spool_bytes());
            assert_int_equal(setup->sizes.topology_bytes, bytes + (only == 1 ? 0 : presort_spool_bytes()));
            presort_spool_close(spool);
            presort_rounds_close(rounds);
            train_run_close(&run);
        }
    fixture_close(&f);
}

static const struct train_graph_config dense = {
    .nodes = NODES, .mean_degree = 80, .dim = 32, .classes = 5, .train = TRAIN, .seed = 11};

/* Under a cap that has no room for the lists auto sweeps them, unless nothing may be written, or maps them where even
 * that has no room. */
static void test_auto_sweeps_what_has_no_room(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t kinds[PRESORT_TOPOLOGY_MAPPED + 1] = {0};
    fixture_open(&f, .graph = &dense, .simulated = true);
    struct train_run run;
    struct gnn_memory_plan plan;
#define TIGHT "io=buffered", "merge=4K", "depth=1", "sweep_read=4K", "sweep_depth=1", "block=4K"
    init_run(&run, &f, OPTIONS(TIGHT));
    run.cap_bytes = 1;
    assert_int_equal(train_run_plan(&run, &f.graph, &plan), GNN_ECAP);
    const uint64_t least = gnn_plan_bytes(&plan);
    free(run.config);
    for (uint64_t cap = least; cap < 8 * least; cap += cap / 10)
        for (int may_write = 0; may_write < 2; may_write++) {
            struct figures of;
            init_run(&run, &f, may_write == 1 ? OPTIONS(TIGHT) : OPTIONS(TIGHT, "write_budget=0"));
            run.cap_bytes = cap;
            must_run(train_run_open(&run, &f.graph), &run);
            const struct presort_setup *const setup = &((const struct presort *)run.state)->setup;
            const uint64_t room = setup->sizes.topology_bytes;
            run_epoch(&run, 0, &of);
            assert_int_equal(of.rounds > 0, setup->sizes.topology == PRESORT_TOPOLOGY_SWEPT);
            assert_true(may_write == 1 || setup->sizes.topology != PRESORT_TOPOLOGY_SWEPT);
            assert_true(setup->sizes.topology != PRESORT_TOPOLOGY_MAPPED || may_write == 0 ||
                        !presort_can_sweep(setup->env, setup->config, room));
            kinds[setup->sizes.topology]++;
            train_run_close(&run);
        }
    for (int kind = PRESORT_TOPOLOGY_RESIDENT; kind <= PRESORT_TOPOLOGY_MAPPED; kind++)
        assert_true(kinds[kind] > 0);
    fixture_close(&f);
}

/* ---- limits and failures ---- */

static void test_limits_are_kept(void **state)
{
    (void)state;
    struct fixture f;
    uint64_t spooled = 0, mapped = 0;
    fixture_open(&f, .graph = &usual);
    for (int budget = 0; budget < 2; budget++)
        for (uint32_t kib = 0; kib < 400; kib += 6 + kib / 6) {
            char limit[40];
            struct figures of[EPOCHS];
            (void)snprintf(limit, sizeof limit, "%s=%uK", budget == 1 ? "write_budget" : "scratch_limit", kib);
            run_epochs(&f, OPTIONS(SMALL, "ahead=false", "round_memory=30K", "classes=sorted", "block=4K", limit), of);
            expect_same(&f, of);
            for (uint64_t e = 0; e < EPOCHS; e++) {
                assert_in_range(of[e].spool_write, 0, kib * UINT64_C(1024) / (budget == 1 ? 2 : 4));
                assert_true(budget == 0 || of[e].written <= kib * UINT64_C(1024));
                assert_int_equal(of[e].full, 0);
                assert_int_equal(of[e].mapped == BATCHES, of[e].spool_write == 0);
                spooled += of[e].mapped == 0;
                mapped += of[e].mapped > 0 && of[e].mapped < BATCHES;
            }
        }
    assert_true(spooled > 0 && mapped > 0);
    fixture_close(&f);
}

/* Whatever was written when the disk is full, mini-batches are the same, and those that could not be written are drawn
 * again through the mapping, for the rest of the run. */
static void test_a_full_disk_maps_the_lists(void **state)
{
    (void)state;
    uint64_t gave_up = 0, kept = 0;
    for (int simulated = 0; simulated < 2; simulated++)
        for (uint64_t bytes = 0; bytes < 900000; bytes += 9000 + bytes / 3) {
            struct fixture f;
            struct figures of[EPOCHS];
            uint64_t full = 0;
            fixture_open(
                &f, .graph = &usual, .simulated = simulated,
                .faults = &(struct gnn_fault_plan){.seed = 1, .write_enospc = true, .write_enospc_after_bytes = bytes});
            run_epochs(&f, OPTIONS(SMALL, "round_memory=30K", "classes=sorted", "block=4K", "hyperbatch=5"), of);
            for (uint64_t e = 0; e < EPOCHS; e++) {
                assert_true(full == 0 || of[e].spool_write == 0); /* it is not tried again */
                full += of[e].full;
                assert_true(full == 1 || of[e].mapped == 0);
            }
            assert_true(full <= 1);
            assert_true(full == 0 || of[EPOCHS - 1].mapped > 0);
            expect_same(&f, of);
            gave_up += full;
            kept += full == 0;
            fixture_close(&f);
        }
    assert_true(gave_up > 0 && kept > 0);
}

/* A read or a write that fails in an epoch, of whatever kind, ends it, and the next one is right. */
static void test_a_failed_epoch_is_forgotten(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++)
        for (uint64_t at = 1; at < 400; at += 1 + at / 2) {
            const bool write = kind / 2 == 1;
            struct fixture f;
            struct train_run run;
            struct figures of[EPOCHS];
            uint64_t failed = 0;
            fixture_open(&f, .graph = &usual, .simulated = kind % 2 == 1,
                         .faults = &(struct gnn_fault_plan){
                             .seed = 1, .read_eio_at = write ? 0 : at, .write_eio_at = write ? at : 0});
            init_run(&run, &f, OPTIONS(SMALL, "round_memory=30K", "classes=sorted", "hyperbatch=3", "block=4K"));
            const bool opened = train_run_open(&run, &f.graph) == GNN_OK;
            for (uint64_t e = 0; opened && e < EPOCHS; e++) {
                if (train_run_epoch(&run, e) != GNN_OK) {
                    failed++;
                    assert_true(run.err.message[0] != '\0');
                    run.err = (struct gnn_err){0};
                    must_run(train_run_epoch(&run, e), &run);
                }
                assert_int_equal(run.wrong_values, 0);
                of[e] = figures_of(&run);
            }
            assert_true(failed <= 1);
            train_run_close(&run);
            if (opened && failed > 0)
                expect_same(&f, of);
            fixture_close(&f);
        }
}

/* ---- kept epochs ---- */

/* What a group's first epoch drew is on its tape for the others, which read no lists. */
static void test_reuse_keeps_the_tape(void **state)
{
    (void)state;
    const char *const *const cases[] = {
        OPTIONS(SMALL, "reuse=2", "ahead=false", "classes=sorted"),
        OPTIONS(SMALL, "reuse=2", "ahead=false", "round_memory=30K", "hyperbatch=3"),
        OPTIONS(SMALL, "reuse=2", "round_memory=30K", "hyperbatch=3"),
    };
    for (int simulated = 0; simulated < 2; simulated++) {
        struct fixture f;
        struct figures fresh[EPOCHS], of[EPOCHS];
        fixture_open(&f, .graph = &usual, .simulated = simulated);
        run_epochs(&f, OPTIONS("io=buffered"), fresh);
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            run_epochs(&f, cases[c], of);
            for (uint64_t e = 0; e < EPOCHS; e++) {
                assert_int_equal(of[e].digest, fresh[e - e % 2].digest);
                assert_int_equal(of[e].trained, fresh[e - e % 2].trained);
                assert_int_equal(of[e].mapped, 0);
                assert_in_range(of[e].spool_read, of[e].edges * sizeof(gnn_node), UINT64_MAX);
            }
            assert_true(c == 2 || of[1].reads + of[1].spool_write == 0);
        }
        fixture_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds_change_no_mini_batch),  cmocka_unit_test(test_sampling_alone_spools_nothing),
        cmocka_unit_test(test_a_list_is_read_once_a_hop),    cmocka_unit_test(test_passes_are_those_of_the_rounds),
        cmocka_unit_test(test_wants_are_in_order),           cmocka_unit_test(test_memory_is_what_is_planned),
        cmocka_unit_test(test_auto_sweeps_what_has_no_room), cmocka_unit_test(test_limits_are_kept),
        cmocka_unit_test(test_a_full_disk_maps_the_lists),   cmocka_unit_test(test_a_failed_epoch_is_forgotten),
        cmocka_unit_test(test_reuse_keeps_the_tape),         cmocka_unit_test(test_a_tape_ends_with_its_last_page),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* RingSampler's invariants (docs/invariants.md), on small graphs in the measured world. Which test holds
 * which: blocks 1, 6, 7; counters 2, 5, 8; seeds 3; digests 4; memory 9; full neighbourhoods 10; odd shapes 11.
 * Invariant 12 is in tests/fault/test_ringsampler_faults.c, 13 in test_ringsampler_parts.c. */
#include "systems/ringsampler/thread.h"
#include "tests/support/fixture.h"
#include "tests/support/hang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { TRAIN = 150, OPTIONS_MAX = 12 };

static const struct train_graph_config usual = {
    .nodes = 900, .mean_degree = 6, .dim = 16, .classes = 5, .train = TRAIN, .seed = 11};

static bool needs_direct(const char *const *options)
{
    for (; *options != NULL; options++)
        if (strcmp(*options, "io=direct") == 0 || strcmp(*options, "io=sorted") == 0)
            return true;
    return false;
}

static void init_run(struct train_run *run, const struct fixture *f, const char *const *options)
{
    train_run_init(run, f->world, "ringsampler");
    run->options = options;
    run->workload.sample_only = true;
}

static void open_run(struct train_run *run, const struct fixture *f)
{
    must_run(train_run_open(run, &f->graph), run);
}

/* Runs one epoch and hands its result out. */
static struct gnn_epoch_result epoch_of(const struct fixture *f, const char *const *options,
                                        const struct gnn_workload *load, uint64_t epoch)
{
    struct train_run run;
    init_run(&run, f, options);
    if (load != NULL)
        run.workload = *load;
    open_run(&run, f);
    must_run(train_run_epoch(&run, epoch), &run);
    const struct gnn_epoch_result result = run.result;
    train_run_close(&run);
    return result;
}

static uint64_t extra(const struct gnn_epoch_result *result, const char *name)
{
    for (uint32_t i = 0; i < result->figure_count; i++)
        if (strcmp(result->figures[i].name, name) == 0)
            return result->figures[i].value;
    fail_msg("no figure %s", name);
    return 0;
}

/* ---- blocks (1, 6, 7) ---- */

static bool in_list(const struct train_graph *g, gnn_node target, gnn_node neighbour)
{
    for (uint64_t e = g->dataset.indptr[target]; e < g->dataset.indptr[target + 1]; e++)
        if (g->indices[e] == neighbour)
            return true;
    return false;
}

/* Lists hold a node once, so distinct IDs mean distinct positions. */
static void check_row(const struct train_graph *g, const struct rs_hop *hop, uint32_t t)
{
    const gnn_node target = hop->targets[t];
    const uint64_t degree = g->dataset.indptr[target + 1] - g->dataset.indptr[target];
    const uint32_t begin = hop->row_start[t], end = hop->row_start[t + 1];
    assert_int_equal(end - begin, degree < hop->fanout ? degree : hop->fanout);
    for (uint32_t p = begin; p < end; p++) {
        assert_true(hop->col[p] < hop->node_count);
        assert_true(in_list(g, target, hop->nodes[hop->col[p]]));
        for (uint32_t q = begin; q < p && (!hop->replace || degree <= hop->fanout); q++)
            assert_int_not_equal(hop->col[p], hop->col[q]);
    }
}

static void check_hop(const struct train_graph *g, const struct rs_hop *hop)
{
    static bool known[900], sampled[900];
    memset(known, 0, sizeof known);
    memset(sampled, 0, sizeof sampled);
    assert_int_equal(hop->row_start[0], 0);
    assert_int_equal(hop->row_start[hop->target_count], hop->sample_count);
    for (uint32_t t = 0; t < hop->target_count; t++)
        check_row(g, hop, t);
    for (uint32_t p = 0; p < hop->sample_count; p++)
        sampled[hop->nodes[hop->col[p]]] = true;
    for (uint32_t i = 0; i < hop->node_count; i++) {
        assert_false(known[hop->nodes[i]]); /* no node has two local IDs */
        known[hop->nodes[i]] = true;
        if (i < hop->target_count)
            assert_int_equal(hop->nodes[i], hop->targets[i]);
        else
            assert_true(sampled[hop->nodes[i]]);
    }
}

static void check_frontier(const struct rs_hop *hop, const struct rs_hop *next, bool all)
{
    static bool wanted[900];
    memset(wanted, 0, sizeof wanted);
    uint32_t count = 0;
    for (uint32_t p = 0; p < hop->sample_count; p++) {
        count += !wanted[hop->nodes[hop->col[p]]];
        wanted[hop->nodes[hop->col[p]]] = true;
    }
    if (all) { /* targets first, unchanged */
        assert_int_equal(next->target_count, hop->node_count);
        assert_memory_equal(next->targets, hop->nodes, hop->node_count * sizeof *hop->nodes);
        return;
    }
    assert_int_equal(next->target_count, count);
    assert_true(next->target_count <= hop->sample_count);
    for (uint32_t i = 0; i < next->target_count; i++) {
        assert_true(wanted[next->targets[i]]);
        wanted[next->targets[i]] = false; /* once */
    }
}

static void check_blocks_of(const struct fixture *f, const char *const *options)
{
    struct train_run run;
    init_run(&run, f, options);
    run.workload.layers = 3;
    run.workload.fanout[2] = 2;
    open_run(&run, f);
    struct ringsampler *const s = run.state;
    struct rs_thread *const thread = &s->threads[0];
    must_run(train_run_epoch(&run, 1), &run);
    const bool all = s->config->frontier == RS_FRONTIER_ALL;
    for (uint32_t k = 0; k < s->order.batches; k++) {
        static unsigned char memory[1 << 20];
        struct rs_batch batch = {.memory = memory, .size_bytes = sizeof memory};
        must_run(rs_sample_one(thread, &batch, k, &run.err), &run);
        for (uint32_t l = 0; l < 3; l++) {
            check_hop(&f->graph, &batch.hops[l]);
            if (l > 0)
                check_frontier(&batch.hops[l - 1], &batch.hops[l], all);
        }
        if (all)
            assert_true(gnn_batch_digest(&batch.view, NULL) == batch.digest);
    }
    train_run_close(&run);
}

static void test_blocks_are_true(void **state)
{
    (void)state;
    const char *const *const cases[] = {
        OPTIONS("io=buffered"),
        OPTIONS("io=buffered", "frontier=neighbours"),
        OPTIONS("io=buffered-random", "replace=true"),
        OPTIONS("io=mapped", "frontier=neighbours", "replace=true"),
        OPTIONS("io=mapped", "dedupe=sort"),
        OPTIONS("io=buffered", "dedupe=sort", "frontier=neighbours", "ring=4"),
        OPTIONS("io=direct", "coalesce=none", "frontier=neighbours"),
        OPTIONS("io=direct", "coalesce=sector", "replace=true"),
        OPTIONS("io=direct", "coalesce=adjacent"),
        OPTIONS("io=sorted", "frontier=neighbours"),
        OPTIONS("io=sorted", "replace=true", "cache=4K"),
        OPTIONS("io=sorted", "frontier=neighbours", "replace=true", "cache=1M", "dedupe=sort"),
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        if (f.direct || !needs_direct(cases[c]))
            check_blocks_of(&f, cases[c]);
    fixture_close(&f);
}

/* ---- seeds (3) ---- */

static void test_every_seed_once(void **state)
{
    (void)state;
    const struct {
        const char *const *options;
        uint32_t batch_size;
        bool once;
    } cases[] = {
        {OPTIONS("threads=1"), 20, true},
        {OPTIONS("threads=3"), 20, true},
        {OPTIONS("threads=4", "split=interleaved"), 7, true},
        {OPTIONS("threads=16"), 30, true}, /* fewer batches than threads */
        {OPTIONS("threads=3", "split=release"), 20, false},
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct train_run run;
        static uint32_t seen[900];
        init_run(&run, &f, cases[c].options);
        run.workload.batch_size = cases[c].batch_size;
        open_run(&run, &f);
        must_run(train_run_epoch(&run, 2), &run);
        const struct ringsampler *const s = run.state;
        assert_int_equal(run.result.counters.sample.batches, s->order.batches);
        memset(seen, 0, sizeof seen);
        uint32_t repeated = 0, all = 0;
        for (uint32_t k = 0; k < s->order.batches; k++) {
            uint32_t count;
            const gnn_node *const seeds = rs_seeds(s, k, &count);
            assert_in_range(count, 1, cases[c].batch_size);
            for (uint32_t i = 0; i < count; i++, all++)
                repeated += seen[seeds[i]]++ > 0;
        }
        assert_int_equal(repeated == 0, cases[c].once);
        assert_true(all == TRAIN || !cases[c].once);
        for (uint32_t i = 0; i < TRAIN && cases[c].once; i++)
            assert_int_equal(seen[run.env.dataset->train.nodes[i]], 1);
        train_run_close(&run);
    }
    fixture_close(&f);
}

/* ---- digests (4) ---- */

static void test_blocks_depend_on_nothing_but_the_workload(void **state)
{
    (void)state;
    const char *const *const cases[] = {
        OPTIONS("io=buffered", "threads=1", "ring=4"),
        OPTIONS("io=buffered", "threads=3", "ring=512", "polling=false"),
        OPTIONS("io=buffered", "order=drain-first", "split=interleaved"),
        OPTIONS("io=buffered-random", "threads=5", "register_file=true", "register_buffer=true"),
        OPTIONS("io=mapped", "workspaces=release"),
        OPTIONS("io=buffered", "dedupe=sort", "threads=2"),
        OPTIONS("io=direct", "coalesce=none", "ring=5"),
        OPTIONS("io=direct", "coalesce=sector", "threads=3", "register_buffer=true"),
        OPTIONS("io=direct", "coalesce=adjacent", "ring=64", "order=drain-first"),
        OPTIONS("io=sorted", "threads=1"),
        OPTIONS("io=sorted", "threads=3", "bundle=5", "ring=3", "gap=0"),
        OPTIONS("io=sorted", "threads=1", "bundle=64", "workspace=140K"),
        OPTIONS("io=sorted", "bundle=3", "extent=4K", "read_buffer=64K", "register_buffer=true"),
        OPTIONS("io=sorted", "cache=8K", "threads=4", "bundle=2"),
        OPTIONS("io=sorted", "cache=1M", "threads=4", "dedupe=sort"),
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (int neighbours = 0; neighbours < 2; neighbours++) {
        struct gnn_sample_counters expected[2];
        bool first = true;
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            const char *options[OPTIONS_MAX] = {neighbours ? "frontier=neighbours" : "frontier=all"};
            for (size_t i = 0; cases[c][i] != NULL; i++)
                options[i + 1] = cases[c][i];
            if (needs_direct(cases[c]) && !f.direct)
                continue;
            struct train_run run;
            init_run(&run, &f, options);
            run.workload.batch_size = 9;
            open_run(&run, &f);
            for (uint64_t epoch = 0; epoch < 2; epoch++) {
                must_run(train_run_epoch(&run, epoch), &run);
                if (first)
                    expected[epoch] = run.result.counters.sample;
                if (memcmp(&run.result.counters.sample, &expected[epoch], sizeof *expected) != 0)
                    fail_msg("case %zu, frontier %d, epoch %d: other blocks", c, neighbours, (int)epoch);
            }
            first = false;
            train_run_close(&run);
        }
        assert_true(expected[0].batch_digest != expected[1].batch_digest);
    }
    fixture_close(&f);
}

/* A workspace in which bundles do not fit what the first batch promised: some are put off, all come out right. */
static void test_a_batch_that_outgrows_its_share_is_put_off(void **state)
{
    (void)state;
    struct fixture f;
    struct train_graph_config config = usual;
    config.nodes = 6000;
    config.train = 600;
    fixture_open(&f, .graph = &config);
    if (f.direct) {
        const struct gnn_workload load = {
            .seed = 7, .batch_size = 40, .layers = 3, .fanout = {10, 10, 10}, .epochs = 1, .sample_only = true};
        const struct gnn_epoch_result plain = epoch_of(&f, OPTIONS("io=mapped"), &load, 0);
        uint64_t put_off = 0;
        static const char *const workspaces[] = {"workspace=256K", "workspace=320K", "workspace=400K",
                                                 "workspace=500K"};
        for (size_t i = 0; i < sizeof workspaces / sizeof *workspaces; i++) {
            const struct gnn_epoch_result tight =
                epoch_of(&f, OPTIONS("io=sorted", "threads=1", "bundle=3", workspaces[i]), &load, 0);
            assert_memory_equal(&tight.counters.sample, &plain.counters.sample, sizeof plain.counters.sample);
            put_off += extra(&tight, "deferred_batches");
        }
        assert_true(put_off > 0);
    }
    fixture_close(&f);
}

/* ---- reads (2, 5, 8) ---- */

/* Groups of a hop that read something. */
static uint64_t groups_of(const struct train_graph *g, const struct rs_hop *hop, uint32_t ring)
{
    const uint32_t targets = ring / hop->fanout;
    uint64_t groups = 0;
    for (uint32_t t = 0; t < hop->target_count; t += targets) {
        bool any = false;
        for (uint32_t i = t; i < t + targets && i < hop->target_count; i++)
            any = any || g->dataset.indptr[hop->targets[i] + 1] > g->dataset.indptr[hop->targets[i]];
        groups += any;
    }
    return groups;
}

static void test_reads_are_counted_and_bounded(void **state)
{
    (void)state;
    const struct {
        const char *const *options;
        uint32_t ring, in_flight;
        bool four_bytes, one_each;
    } cases[] = {
        {OPTIONS("threads=1", "ring=16"), 16, 32, true, true},
        {OPTIONS("threads=1", "ring=16", "order=drain-first"), 16, 16, true, true},
        {OPTIONS("threads=1", "ring=4", "io=buffered-random"), 4, 8, true, true},
        {OPTIONS("threads=1", "ring=16", "io=direct", "coalesce=none"), 16, 32, false, true},
        {OPTIONS("threads=1", "ring=16", "io=direct", "coalesce=sector"), 16, 32, false, false},
        {OPTIONS("threads=1", "ring=16", "io=direct", "coalesce=adjacent"), 16, 32, false, false},
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (needs_direct(cases[c].options) && !f.direct)
            continue;
        struct train_run run;
        init_run(&run, &f, cases[c].options);
        open_run(&run, &f);
        must_run(train_run_epoch(&run, 0), &run);
        const struct gnn_counters *const n = &run.result.counters;
        const uint64_t reads = train_run_extra(&run, "edge_reads");
        assert_int_equal(reads, train_run_extra(&run, "edge_completions"));
        assert_int_equal(reads, n->requested_ios);
        assert_true(cases[c].one_each ? reads == n->sample.sampled_edges : reads < n->sample.sampled_edges);
        assert_in_range(train_run_extra(&run, "in_flight_peak"), 1, cases[c].in_flight);
        if (cases[c].four_bytes)
            assert_int_equal(n->requested_bytes, reads * sizeof(gnn_node));
        else if (strcmp(cases[c].options[3], "coalesce=adjacent") != 0) /* one sector each */
            assert_true(n->requested_bytes % reads == 0 && n->requested_bytes / reads >= 512);
        uint64_t groups = 0;
        struct ringsampler *const s = run.state;
        for (uint32_t k = 0; k < s->order.batches; k++) {
            static unsigned char memory[1 << 18];
            struct rs_batch batch = {.memory = memory, .size_bytes = sizeof memory};
            must_run(rs_sample_one(&s->threads[0], &batch, k, &run.err), &run);
            for (uint32_t l = 0; l < batch.hop_count; l++)
                groups += groups_of(&f.graph, &batch.hops[l], cases[c].ring);
        }
        assert_int_equal(train_run_extra(&run, "submits"), groups);
        train_run_close(&run);
    }
    fixture_close(&f);
}

/* A sweep reads each wanted unit once: with no gaps and no cache, distinct sectors times sector. */
static void a_sweep_reads_each_sector_once(uint32_t id_bytes)
{
    struct train_graph_config graph = usual;
    struct fixture f;
    graph.id_bytes = id_bytes;
    fixture_open(&f, .graph = &graph);
    if (f.direct) {
        const struct gnn_workload load = {
            .seed = 3, .batch_size = TRAIN, .layers = 1, .fanout = {60}, .epochs = 1, .sample_only = true};
        const struct gnn_epoch_result r =
            epoch_of(&f, OPTIONS("io=sorted", "threads=1", "gap=0", "extent=4K"), &load, 0);
        struct gnn_file *file;
        struct gnn_file_info info;
        assert_int_equal(gnn_file_open(f.world, f.graph.dataset.indices_path, GNN_OPEN_DIRECT, &file, NULL), GNN_OK);
        gnn_file_info(f.world, file, &info);
        gnn_file_close(f.world, file);
        const uint64_t unit = info.offset_align_bytes < 512 ? 512 : info.offset_align_bytes;
        uint64_t sectors = 0, last = UINT64_MAX;
        for (uint32_t i = 0; i < TRAIN; i++) { /* whole lists, in order of node */
            const gnn_node v = f.graph.dataset.train.nodes[i];
            for (uint64_t e = f.graph.dataset.indptr[v]; e < f.graph.dataset.indptr[v + 1]; e++) {
                sectors += e * id_bytes / unit != last;
                last = e * id_bytes / unit;
            }
        }
        assert_int_equal(r.counters.requested_bytes, sectors * unit);
        assert_int_equal(extra(&r, "sweeps"), 1);
        const struct gnn_epoch_result cached = epoch_of(&f, OPTIONS("io=sorted", "threads=1", "cache=1M"), &load, 0);
        assert_int_equal(extra(&cached, "sector_misses"), cached.counters.sample.sampled_edges);
    }
    fixture_close(&f);
}

static void test_a_sweep_reads_each_sector_once(void **state)
{
    (void)state;
    a_sweep_reads_each_sector_once(4);
    a_sweep_reads_each_sector_once(8);
}

/* A cache that holds the whole file makes bundles needless; one that would hold it if IDs had 4 bytes does not. */
static void test_bundles_end_where_the_cache_holds_all(void **state)
{
    (void)state;
    struct train_graph_config graph = usual;
    struct fixture f;
    graph.id_bytes = 8;
    fixture_open(&f, .graph = &graph);
    const uint64_t edges = f.graph.dataset.edge_count;
    for (int all = 0; f.direct && all < 2; all++) {
        char cache[64];
        (void)snprintf(cache, sizeof cache, "cache=%llu", (unsigned long long)((all ? 9 : 6) * edges + 4096));
        const struct gnn_epoch_result r =
            epoch_of(&f, OPTIONS("io=sorted", "threads=1", "workspace=1M", cache), NULL, 0);
        assert_true((extra(&r, "bundle") == 1) == (all == 1));
    }
    fixture_close(&f);
}

/* One thread reads every sector once. Two may both miss one, and miss it again while the other puts it in its place. */
static void check_that_reads_end(struct fixture *f, const char *threads)
{
    struct train_run run;
    init_run(&run, f, OPTIONS("io=sorted", "cache=1M", threads));
    run.workload.fanout[0] = run.workload.fanout[1] = 60;
    open_run(&run, f);
    must_run(train_run_epoch(&run, 0), &run);
    assert_true(run.result.counters.requested_ios > 0);
    if (strcmp(threads, "threads=1") == 0)
        assert_true(run.result.counters.requested_bytes <= gnn_round_up(f->graph.dataset.edge_count * 4, 4096));
    must_run(train_run_epoch(&run, 0), &run); /* the same batches again: all there */
    assert_int_equal(run.result.counters.requested_ios, 0);
    assert_int_equal(train_run_extra(&run, "sector_misses"), 0);
    assert_int_equal(train_run_extra(&run, "sweeps"), 0); /* nothing to read is no sweep */
    assert_int_equal(train_run_extra(&run, "sector_hits"), run.result.counters.sample.sampled_edges);
    train_run_close(&run);
}

static void test_a_cache_of_the_whole_file_ends_the_reads(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    if (f.direct) {
        check_that_reads_end(&f, "threads=1");
        check_that_reads_end(&f, "threads=2");
    }
    fixture_close(&f);
}

/* ---- memory (9) ---- */

static void test_memory_is_the_formula_and_steady(void **state)
{
    (void)state;
    const char *const *const cases[] = {
        OPTIONS("io=buffered", "threads=1"),
        OPTIONS("io=buffered", "threads=3", "frontier=neighbours", "dedupe=sort"),
        OPTIONS("io=mapped", "threads=2", "workspaces=release"),
        OPTIONS("io=direct", "threads=2"),
        OPTIONS("io=sorted", "threads=2", "cache=8K"),
        OPTIONS("io=sorted", "threads=2", "workspace=1M"),
    };
    enum { CASES = sizeof cases / sizeof *cases };
    struct train_graph_config graph = usual;
    uint64_t engine_bytes[CASES] = {0};
    for (size_t round = 0; round < (size_t)2 * CASES; round++) { /* IDs of 4 bytes, then of 8 */
        const size_t c = round % CASES;
        struct fixture f; /* the world remembers its peak: a fresh one for each case */
        graph.id_bytes = round < CASES ? 4 : 8;
        fixture_open(&f, .graph = &graph);
        if (needs_direct(cases[c]) && !f.direct) {
            fixture_close(&f);
            continue;
        }
        struct train_run run;
        struct gnn_mem_usage opened, later;
        init_run(&run, &f, cases[c]);
        open_run(&run, &f);
        gnn_mem_usage(f.world, &opened);
        for (uint64_t epoch = 0; epoch < 3; epoch++)
            must_run(train_run_epoch(&run, epoch), &run);
        gnn_mem_usage(f.world, &later);
        assert_int_equal(later.current_bytes, opened.current_bytes); /* all of it was taken at open */
        assert_int_equal(later.peak_bytes, opened.peak_bytes);
        const struct rs_sizes *const z = &((struct ringsampler *)run.state)->sizes;
        const uint64_t formula = z->threads * (z->workspace_bytes + z->engine_bytes + z->release_bytes) +
                                 z->cache_bytes + TRAIN * sizeof(gnn_node);
        assert_true((double)opened.current_bytes <= 1.05 * (double)formula);
        if (round < CASES)
            engine_bytes[c] = z->engine_bytes;
        else /* c 0 and 1, buffered: two groups of Q entries, which 4-byte ones have no need of */
            assert_int_equal(z->engine_bytes - engine_bytes[c], c < 2 ? 2 * 512 * 8 : 0);
        train_run_close(&run);
        fixture_close(&f);
    }
}

static void test_a_cap_is_planned_for_and_kept(void **state)
{
    (void)state;
    const struct {
        const char *const *options;
        const char *words;
    } cases[] = {
        {OPTIONS("threads=2"), "ringsampler."},
        {OPTIONS("threads=64"), "ringsampler.threads"},
        {OPTIONS("io=sorted", "cache=900M"), "--memory"},
        {OPTIONS("workspaces=release", "threads=8"), "ringsampler.workspaces=right"},
        {OPTIONS("ring=4096", "threads=64"), "ringsampler.ring"},
        {OPTIONS("workspace=1G"), "ringsampler.workspace"},
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct train_run run;
        struct gnn_memory_plan plan;
        uint64_t low = 1000, high = UINT64_C(1) << 40; /* the least cap that is accepted */
        while (low < high) {
            const uint64_t middle = (low + high) / 2;
            init_run(&run, &f, cases[c].options);
            run.cap_bytes = middle;
            const enum gnn_status status = train_run_plan(&run, &f.graph, &plan);
            assert_true(status == GNN_OK || status == GNN_ECAP);
            assert_non_null(strstr(status == GNN_OK ? cases[c].words : run.err.message, cases[c].words));
            free(run.config);
            if (status == GNN_OK)
                high = middle;
            else
                low = middle + 1;
        }
        assert_in_range(high, 10000, UINT64_C(1) << 32);
        assert_non_null(gnn_plan_largest(&plan));
    }
    if (f.direct) { /* what the cap leaves is shared out, and nothing more is taken */
        struct train_run run;
        struct gnn_mem_usage usage;
        init_run(&run, &f, OPTIONS("io=sorted", "threads=2", "read_buffer=64K", "extent=4K", "ring=8"));
        run.cap_bytes = 4 << 20;
        open_run(&run, &f);
        must_run(train_run_epoch(&run, 0), &run);
        gnn_mem_usage(f.world, &usage);
        assert_true(usage.peak_bytes <= run.cap_bytes);
        assert_true(((struct ringsampler *)run.state)->sizes.workspace_bytes > 1 << 20);
        train_run_close(&run);
    }
    fixture_close(&f);
}

static void test_a_batch_beyond_the_workspace_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct train_graph_config config = usual;
    config.nodes = 40000;
    config.train = 8000;
    fixture_open(&f, .graph = &config);
    static const char *const dedupes[] = {"dedupe=hash", "dedupe=sort"};
    for (int i = 0; i < 2; i++) {
        struct train_run run;
        init_run(&run, &f, OPTIONS("io=mapped", "workspace=128K", dedupes[i]));
        run.workload.batch_size = 8000;
        open_run(&run, &f);
        assert_int_equal(train_run_epoch(&run, 0), GNN_ECAP);
        assert_non_null(strstr(run.err.message, "ringsampler.workspace"));
        train_run_close(&run);
    }
    fixture_close(&f);
}

static void test_contradictions_are_refused_by_name(void **state)
{
    (void)state;
    const struct {
        const char *const *options;
        bool only;
        const char *words;
    } cases[] = {
        {OPTIONS("ring=3"), true, "ringsampler.ring=3"}, /* the fan-out is 4 */
        {OPTIONS("extent=2M", "read_buffer=2M"), true, "ringsampler.extent"},
        {OPTIONS("frontier=neighbours"), false, "--sample-only"},
        {OPTIONS("replace=true"), false, "--sample-only"},
        {OPTIONS("split=release"), false, "--sample-only"},
        {OPTIONS("requests=5"), false, "--sample-only"},
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct train_run run;
        struct gnn_memory_plan plan;
        init_run(&run, &f, cases[c].options);
        run.workload.sample_only = cases[c].only;
        assert_int_equal(train_run_plan(&run, &f.graph, &plan), GNN_EUSAGE);
        assert_non_null(strstr(run.err.message, cases[c].words));
        free(run.config);
    }
    fixture_close(&f);
}

/* ---- full neighbourhoods (10) ---- */

static void test_a_wide_fanout_takes_every_neighbour(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct gnn_workload load = {.batch_size = TRAIN, .layers = 2, .fanout = {64, 64}, .epochs = 1, .sample_only = true};
    uint64_t digest[2], edges = 0;
    for (uint64_t i = 0; i < 2; i++) {
        load.seed = 100 + i;
        const struct gnn_epoch_result r = epoch_of(&f, OPTIONS("replace=true", "ring=64"), &load, 0);
        digest[i] = r.counters.sample.batch_digest;
        assert_true(i == 0 || edges == r.counters.sample.sampled_edges);
        edges = r.counters.sample.sampled_edges;
    }
    assert_true(digest[0] == digest[1]);
    fixture_close(&f);
}

/* ---- odd shapes (11) ---- */

/* Replaces the graph's topology: node v gets out[v] neighbours 0, 1, 2 …, but for a path v -> v + 1. */
static void reshape(struct train_graph *g, const uint32_t *degree, bool path)
{
    uint64_t *const indptr = (uint64_t *)(uintptr_t)g->dataset.indptr;
    const uint32_t nodes = g->dataset.node_count;
    uint64_t edges = 0;
    for (uint32_t v = 0; v < nodes; v++) {
        indptr[v] = edges;
        for (uint32_t i = 0; i < degree[v]; i++)
            g->indices[edges++] = path ? v + 1 : i;
    }
    indptr[nodes] = edges;
    g->dataset.edge_count = edges;
    g->dataset.indices_bytes = edges * g->dataset.id_bytes;
    train_write_ids(g->dataset.indices_path, g->indices, edges, g->dataset.id_bytes);
}

static void test_odd_graphs_and_sizes(void **state)
{
    (void)state;
    enum { NODES = 200 };
    struct train_graph_config config = {
        .nodes = NODES, .mean_degree = 6, .dim = 4, .classes = 2, .train = 50, .seed = 4};
    const char *const *const cases[] = {
        OPTIONS("threads=1"),
        OPTIONS("threads=7", "ring=4"), /* Q = f */
        OPTIONS("io=direct", "ring=4", "coalesce=adjacent"),
        OPTIONS("io=sorted", "cache=4K"),
        OPTIONS("io=sorted", "bundle=9", "ring=1", "dedupe=sort"),
        OPTIONS("io=mapped", "frontier=neighbours"),
        OPTIONS("io=sorted", "frontier=neighbours", "threads=3"),
    };
    static const uint32_t batch_sizes[] = {1, 7, 50, 1000};
    for (int turn = 0; turn < 8; turn++) {
        const int shape = turn % 4;
        struct fixture f;
        uint32_t degree[NODES] = {0};
        config.id_bytes = turn < 4 ? 4 : 8;
        fixture_open(&f, .graph = &config);
        for (uint32_t v = 0; v < NODES; v++)
            degree[v] = shape == 0   ? v + 1 < NODES      /* a path */
                        : shape == 1 ? (v == 4 ? 150 : 1) /* a star: a hub above the fan-out */
                        : shape == 2 ? 0                  /* nobody has a neighbour */
                                     : (v % 2 == 0 ? 0 : 9);
        if (shape == 2)
            degree[199] = 1; /* a file of no bytes is another matter */
        reshape(&f.graph, degree, shape == 0);
        for (size_t b = 0; b < sizeof batch_sizes / sizeof *batch_sizes; b++)
            for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
                if (needs_direct(cases[c]) && !f.direct)
                    continue;
                struct train_run run;
                init_run(&run, &f, cases[c]);
                run.workload.batch_size = batch_sizes[b];
                open_run(&run, &f);
                must_run(train_run_epoch(&run, 0), &run);
                assert_int_equal(run.result.counters.sample.batches, (50 + batch_sizes[b] - 1) / batch_sizes[b]);
                if (shape == 2)
                    assert_int_equal(run.result.counters.sample.sampled_edges, 0);
                train_run_close(&run);
            }
        fixture_close(&f);
    }
}

/* ---- on demand ---- */

static void test_requests_are_served_and_timed(void **state)
{
    (void)state;
    const char *const *const cases[] = {
        OPTIONS("requests=400", "concurrency=1"),
        OPTIONS("requests=400", "concurrency=3", "polling=false"),
        OPTIONS("requests=400", "concurrency=5", "io=mapped"),
        OPTIONS("requests=400", "concurrency=2", "io=sorted", "cache=4K"),
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    uint64_t digest = 0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (needs_direct(cases[c]) && !f.direct)
            continue;
        const struct gnn_epoch_result r = epoch_of(&f, cases[c], NULL, 0);
        assert_int_equal(r.counters.sample.batches, 400);
        assert_true(c == 0 || r.counters.sample.batch_digest == digest);
        digest = r.counters.sample.batch_digest;
        const uint64_t p50 = extra(&r, "latency_p50_ns"), p90 = extra(&r, "latency_p90_ns"),
                       p99 = extra(&r, "latency_p99_ns"), p999 = extra(&r, "latency_p999_ns"),
                       most = extra(&r, "latency_max_ns");
        assert_true(p50 > 0 && p50 <= p90 && p90 <= p99 && p99 <= p999 && p999 <= most);
        assert_true(extra(&r, "stream_p50_ns") <= extra(&r, "stream_p90_ns"));
        assert_true(extra(&r, "stream_p90_ns") <= extra(&r, "stream_max_ns"));
        assert_true(most <= extra(&r, "stream_max_ns"));
        assert_int_equal(r.stages[0].items, 400);
    }
    fixture_close(&f);
}

static void test_the_stop_flag_ends_sampling(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct train_run run;
    init_run(&run, &f, OPTIONS("threads=2"));
    open_run(&run, &f);
    atomic_store(&run.stop, true);
    assert_int_equal(train_run_epoch(&run, 0), GNN_ECANCELLED);
    atomic_store(&run.stop, false);
    must_run(train_run_epoch(&run, 0), &run);
    assert_int_equal(run.result.counters.sample.batches, 8);
    train_run_close(&run);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_true),
        cmocka_unit_test(test_every_seed_once),
        cmocka_unit_test(test_blocks_depend_on_nothing_but_the_workload),
        cmocka_unit_test(test_a_batch_that_outgrows_its_share_is_put_off),
        cmocka_unit_test(test_reads_are_counted_and_bounded),
        cmocka_unit_test(test_a_sweep_reads_each_sector_once),
        cmocka_unit_test(test_bundles_end_where_the_cache_holds_all),
        cmocka_unit_test(test_a_cache_of_the_whole_file_ends_the_reads),
        cmocka_unit_test(test_memory_is_the_formula_and_steady),
        cmocka_unit_test(test_a_cap_is_planned_for_and_kept),
        cmocka_unit_test(test_a_batch_beyond_the_workspace_is_refused),
        cmocka_unit_test(test_contradictions_are_refused_by_name),
        cmocka_unit_test(test_a_wide_fanout_takes_every_neighbour),
        cmocka_unit_test(test_odd_graphs_and_sizes),
        cmocka_unit_test(test_requests_are_served_and_timed),
        cmocka_unit_test(test_the_stop_flag_ends_sampling),
    };
    end_a_hang();
    return cmocka_run_group_tests_name("ringsampler", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* The width of neighbour IDs on disk changes bytes and times, never a mini-batch: every system, way of reading and
 * policy with IDs of 4 and of 8 bytes, on this machine and a simulated one. And an ID that is wider than a gnn_node is
 * refused by all of them, not cut. */
#include "tests/differential/systems.h"
#include "tests/support/hang.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct width_case {
    const char *system;
    const char *const *options;
    bool direct;      /* needs direct I/O */
    bool reads_alone; /* requested bytes are one entry a sample; with direct I/O a sector */
} cases[] = {
    {"pygplus", OPTIONS("workers=2"), false, false},
    {"gnndrive", OPTIONS("io=buffered", "samplers=2", "extractors=2"), false, false},
    {"ringsampler", OPTIONS("io=buffered", "threads=2", "feature_io=buffered"), false, true},
    {"ringsampler", OPTIONS("io=buffered", "threads=2", "feature_io=buffered", "register_buffer=true"), false, true},
    {"ringsampler", OPTIONS("io=buffered-random", "threads=3", "ring=7", "feature_io=buffered"), false, true},
    {"ringsampler", OPTIONS("io=buffered", "order=drain-first", "polling=false", "feature_io=buffered"), false, true},
    {"ringsampler", OPTIONS("io=mapped", "threads=2", "dedupe=sort", "feature_io=buffered"), false, false},
    {"ringsampler", OPTIONS("io=direct", "coalesce=none"), true, true},
    {"ringsampler", OPTIONS("io=direct", "coalesce=sector", "ring=9"), true, false},
    {"ringsampler", OPTIONS("io=direct", "coalesce=adjacent"), true, false},
    {"ringsampler", OPTIONS("io=sorted", "gap=0"), true, false},
    {"ringsampler", OPTIONS("io=sorted", "cache=8K", "bundle=3"), true, false},
    {"ringsampler", OPTIONS("io=sorted", "cache=1M", "extent=4K", "threads=3"), true, false},
    {"ginex", OPTIONS("io=buffered", "superbatch=3", "cache_neighbours=false"), false, false},
    {"ginex", OPTIONS("io=buffered", "superbatch=4", "list_read=cover", "neighbour_cache=12K"), false, false},
    {"ginex", OPTIONS("io=direct", "neighbour_cache=14K", "skip_isolated=true"), true, false},
    {"ginex", OPTIONS("io=direct", "superbatch=2", "initial=score", "replacement=static"), true, false},
    {"ginex", OPTIONS("io=buffered", "replacement=lru", "fill=direct", "overlap_caches=true"), false, false},
    {"agnes", OPTIONS("io=buffered", "workers=1"), false, false},
    {"agnes", OPTIONS("io=direct", "block=4K", "hyperbatch=3", "workers=3", "graph_buffer=12K"), true, false},
    {"agnes", OPTIONS("io=buffered", "layout=input", "block=4K", "id_bytes=4"), false, false},
    {"agnes", OPTIONS("io=buffered", "layout=random", "block=8K", "id_bytes=8", "graph_buffer=16K"), false, false},
    {"agnes", OPTIONS("io=buffered", "layout=degree", "block=4K"), false, false},
    {"diskgnn", OPTIONS("io=buffered", "segment=3", "disk_rows=40"), false, false},
    {"diskgnn", OPTIONS("io=direct", "samplers=3"), true, false},
    {"presort", OPTIONS("io=buffered", "row_memory=1", "hyperbatch=3"), false, false},
    {"presort", OPTIONS("io=buffered", "row_memory=1", "topology=swept", "round_memory=1"), false, false},
    {"presort", OPTIONS("row_memory=1", "topology=swept", "depth=2"), true, false},
    {"graphbolt", OPTIONS("io=buffered", "cache=10K"), false, false},
    {"graphbolt", OPTIONS("cache=10K", "samplers=3"), true, false},
};
enum { CASES = sizeof cases / sizeof *cases };

static void open_graph(struct fixture *f, uint32_t id_bytes, bool simulated)
{
    struct train_graph_config graph = usual;
    graph.id_bytes = id_bytes;
    fixture_open(f, .graph = &graph, .simulated = simulated);
    assert_int_equal(f->graph.dataset.id_bytes, id_bytes);
}

/* Of the dataset's file, opened for direct I/O. */
static uint64_t sector_bytes(const struct fixture *f)
{
    struct gnn_file *file = NULL;
    struct gnn_file_info info;
    struct gnn_err err = {0};
    must(gnn_file_open(f->world, f->graph.dataset.indices_path, GNN_OPEN_DIRECT, &file, &err), &err);
    gnn_file_info(f->world, file, &info);
    gnn_file_close(f->world, file);
    return info.offset_align_bytes > info.mem_align_bytes ? info.offset_align_bytes : info.mem_align_bytes;
}

/* One epoch of a case over IDs of a width. */
static struct gnn_counters counters_of(const struct width_case *c, const struct fixture *f, bool only)
{
    struct train_run run;
    train_run_init(&run, f->world, c->system);
    run.options = c->options;
    run.workload.sample_only = only;
    run.check_rows = !only;
    must_run(train_run_open(&run, &f->graph), &run);
    must_run(train_run_epoch(&run, 0), &run);
    const struct gnn_counters counters = run.result.counters;
    assert_int_equal(run.wrong_values, 0);
    if (c->reads_alone && only) {
        assert_int_equal(counters.requested_ios, counters.sample.sampled_edges);
        const uint64_t each = c->direct ? sector_bytes(f) : f->graph.dataset.id_bytes;
        assert_int_equal(counters.requested_bytes, counters.sample.sampled_edges * each);
    }
    if (only)
        assert_int_equal(counters.needed_bytes, counters.sample.sampled_edges * f->graph.dataset.id_bytes);
    train_run_close(&run);
    return counters;
}

static void compare_widths(bool simulated)
{
    struct fixture four, eight;
    open_graph(&four, 4, simulated);
    open_graph(&eight, 8, simulated);
    struct gnn_counters first = {.needed_bytes = 0};
    for (size_t i = 0; i < CASES; i++)
        for (int only = simulated; only < 2; only++) { /* feature memory of the simulated world cannot be looked at */
            if (cases[i].direct && (!four.direct || !eight.direct))
                continue;
            const struct gnn_counters narrow = counters_of(&cases[i], &four, only);
            const struct gnn_counters wide = counters_of(&cases[i], &eight, only);
            if (first.sample.batches == 0)
                first = narrow;
            assert_memory_equal(&narrow.sample, &first.sample, sizeof first.sample);
            assert_memory_equal(&wide.sample, &first.sample, sizeof first.sample);
            assert_int_equal(wide.needed_bytes - narrow.needed_bytes, 4 * first.sample.sampled_edges);
        }
    fixture_close(&eight);
    fixture_close(&four);
}

static void test_the_width_changes_no_mini_batch(void **state)
{
    (void)state;
    compare_widths(false);
}

static void test_nor_in_the_simulated_world(void **state)
{
    (void)state;
    compare_widths(true);
}

/* Whether AGNES prepared blocks of IDs of this width for the graph. */
static bool prepared(const struct train_graph *g, uint32_t id_bytes)
{
    char pattern[700];
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%s/agnes-bf-*k-%u-*", g->dataset.dir, id_bytes);
    const bool there = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return there;
}

/* Its blocks hold IDs as wide as the dataset's, or as it was told. */
static void test_blocks_have_the_datasets_width(void **state)
{
    (void)state;
    const struct {
        const char *const *options;
        uint32_t of_4, of_8; /* the blocks' width, by the dataset's */
    } expected[] = {{OPTIONS("io=buffered"), 4, 8},
                    {OPTIONS("io=buffered", "id_bytes=4"), 4, 4},
                    {OPTIONS("io=buffered", "id_bytes=8"), 8, 8}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        for (uint32_t id_bytes = 4; id_bytes <= 8; id_bytes *= 2) {
            const struct width_case c = {"agnes", expected[i].options, false, false};
            const uint32_t blocks = id_bytes == 4 ? expected[i].of_4 : expected[i].of_8;
            struct fixture f;
            open_graph(&f, id_bytes, false);
            (void)counters_of(&c, &f, true);
            assert_true(prepared(&f.graph, blocks));
            assert_false(prepared(&f.graph, 12 - blocks));
            fixture_close(&f);
        }
}

/* Every ID of the file is 2^32 too large: cut to 32 bits it would be the right one. */
static void damage(const struct train_graph *g)
{
    static uint64_t wide[1 << 16];
    const uint64_t edges = g->dataset.edge_count;
    assert_true(edges > 0 && edges <= sizeof wide / sizeof *wide);
    for (uint64_t e = 0; e < edges; e++)
        wide[e] = UINT64_C(1) << 32 | g->indices[e];
    FILE *const file = fopen(g->dataset.indices_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(wide, sizeof *wide, edges, file), edges);
    assert_int_equal(fclose(file), 0);
}

static void test_an_id_beyond_32_bits_is_refused(void **state)
{
    (void)state;
    for (int simulated = 0; simulated < 2; simulated++)
        for (size_t i = 0; i < CASES; i++) {
            struct fixture f;
            struct train_run run;
            open_graph(&f, 8, simulated == 1);
            damage(&f.graph);
            train_run_init(&run, f.world, cases[i].system);
            run.options = cases[i].options;
            run.workload.sample_only = true;
            if (!cases[i].direct || f.direct) {
                enum gnn_status status = train_run_open(&run, &f.graph);
                if (status == GNN_OK)
                    status = train_run_epoch(&run, 0);
                if (status != GNN_EFORMAT || (strstr(run.err.message, "entry") == NULL &&
                                              strstr(run.err.message, "in the list of node") == NULL))
                    fail_msg("case %zu: %s '%s'", i, gnn_status_name(status), run.err.message);
                train_run_close(&run);
            }
            fixture_close(&f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_width_changes_no_mini_batch),
        cmocka_unit_test(test_nor_in_the_simulated_world),
        cmocka_unit_test(test_blocks_have_the_datasets_width),
        cmocka_unit_test(test_an_id_beyond_32_bits_is_refused),
    };
    end_a_hang();
    return cmocka_run_group_tests_name("id_width", tests, NULL, NULL);
}

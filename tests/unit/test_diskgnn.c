/* SPDX-License-Identifier: MIT */
/* DiskGNN from its prepared files to the trained mini-batch: every row from exactly one level and equal to the file's,
 * pages and bytes as the layout says, the pipeline against its sequential variant, reuse over epochs, memory, damage.
 * What is prepared is tested in test_diskgnn_prepare.c; that mini-batches and losses are those of every other exact
 * system is in tests/differential. */
#include "systems/diskgnn/diskgnn.h"
#include "tests/support/device_tensor.h"
#include "tests/support/fixture.h"
#include "tests/support/hang.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { TRAIN = 150, BATCHES = 8, EPOCHS = 3, OPTIONS_MAX = 16 };

static const struct train_graph_config usual = {
    .nodes = 900, .mean_degree = 6, .dim = 32, .classes = 5, .train = TRAIN, .seed = 11};

/* Two lists of options as one; stays valid until the next call. */
static const char *const *joined(const char *const *first, const char *const *second)
{
    static const char *all[OPTIONS_MAX];
    uint32_t count = 0;
    for (; first != NULL && *first != NULL; first++)
        all[count++] = *first;
    for (; second != NULL && *second != NULL; second++)
        all[count++] = *second;
    assert_true(count < OPTIONS_MAX);
    all[count] = NULL;
    return all;
}

static const char *const buffered[] = {"io=buffered", NULL};

static void open_run(struct train_run *run, struct fixture *f, const char *const *options)
{
    train_run_init(run, f->world, "diskgnn");
    run->options = options;
    run->check_rows = !f->config.simulated;
    must_run(train_run_open(run, &f->graph), run);
}

static const struct diskgnn_layout *layout_of(const struct train_run *run)
{
    return &((const struct diskgnn *)run->state)->layout;
}

/* ---- levels and rows ---- */

/* Row counts of the epoch that has just ended. */
struct levels {
    uint64_t gpu, cpu, shared, packed;
};

static struct levels levels_of(const struct train_run *run)
{
    return (struct levels){.gpu = train_run_extra(run, "gpu_cache_hits"),
                           .cpu = train_run_extra(run, "cpu_cache_hits"),
                           .shared = train_run_extra(run, "disk_cache_rows"),
                           .packed = train_run_extra(run, "packed_rows")};
}

static void check_counters(const struct train_run *run)
{
    const struct gnn_counters *const n = &run->result.counters;
    const struct levels levels = levels_of(run);
    const uint64_t asked = levels.gpu + levels.cpu + levels.shared + levels.packed;
    assert_int_equal(asked, n->sample.sampled_nodes);
    assert_int_equal(n->rows_asked, asked);
    assert_int_equal(n->rows_read, levels.shared + levels.packed);
    assert_int_equal(n->cache_hits, levels.gpu + levels.cpu);
    assert_int_equal(n->cache_misses, levels.shared + levels.packed);
    assert_int_equal(n->requested_bytes,
                     train_run_extra(run, "sample_read_bytes") + train_run_extra(run, "table_read_bytes") +
                         train_run_extra(run, "chunk_read_bytes") + train_run_extra(run, "disk_cache_read_bytes"));
    const uint64_t amplification = train_run_extra(run, "amplification_permille");
    assert_true(amplification >= 1000);
    assert_true(levels.shared > 0 || amplification == 1000);
}

static const struct {
    const char *const *options;
    bool gpu, cpu, shared, packed; /* levels that serve rows */
} stores[] = {
    {OPTIONS("gpu_cache=1", "cpu_cache=1"), false, false, false, true},
    {OPTIONS("cache_ratio=10"), true, true, false, true},
    {OPTIONS("cpu_cache=1", "gpu_cache=20K"), true, false, false, true},
    {OPTIONS("gpu_cache=1", "cpu_cache=20K"), false, true, false, true},
    {OPTIONS("cache_ratio=100"), true, true, false, false},
    {OPTIONS("cache_ratio=10", "segment=3", "disk_rows=40"), true, true, true, true},
    {OPTIONS("gpu_cache=1", "cpu_cache=1", "segment=8", "disk_rows=100000"), false, false, true, true},
    {OPTIONS("cache_ratio=10", "disk_limit=1.2"), true, true, true, true},
    {OPTIONS("cache_ratio=5", "segment=2", "disk_rows=60", "page=512", "reorder=off"), true, true, true, true},
};
enum { STORES = sizeof stores / sizeof *stores };

static void test_every_row_comes_from_one_level(void **state)
{
    (void)state;
    const char *const *const assemblies[] = {OPTIONS("io=buffered"), OPTIONS("io=buffered", "assembly=scatter"),
                                             OPTIONS("io=buffered", "packing=individual", "pipeline=false"),
                                             OPTIONS("io=buffered", "table_stage=true", "queue=1")};
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t s = 0; s < STORES; s++)
        for (size_t a = 0; a < sizeof assemblies / sizeof *assemblies; a++) {
            struct train_run run;
            open_run(&run, &f, joined(assemblies[a], stores[s].options));
            for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                must_run(train_run_epoch(&run, epoch), &run);
                const struct levels levels = levels_of(&run);
                assert_int_equal(run.wrong_values, 0);
                train_run_each_seed_once(&run);
                check_counters(&run);
                assert_int_equal(levels.gpu > 0, stores[s].gpu);
                assert_int_equal(levels.cpu > 0, stores[s].cpu);
                if ((levels.shared > 0) != stores[s].shared)
                    fail_msg("store %zu: %llu rows in disk caches, %llu bytes placed", s,
                             (unsigned long long)levels.shared,
                             (unsigned long long)train_run_extra(&run, "placed_bytes"));
                assert_int_equal(levels.packed > 0, stores[s].packed);
            }
            train_run_close(&run);
        }
    fixture_close(&f);
}

static void test_rows_reach_a_device(void **state)
{
    (void)state;
    const char *const *const assemblies[] = {OPTIONS("io=buffered", "assembly=stream"),
                                             OPTIONS("io=buffered", "assembly=kernel"),
                                             OPTIONS("io=buffered", "assembly=scatter"),
                                             OPTIONS("io=buffered", "assembly=kernel", "transfer=blocking"),
                                             OPTIONS("io=buffered", "assembly=kernel", "pipeline=false"),
                                             OPTIONS("io=buffered", "assembly=scatter", "loader=copies")};
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t s = 0; s < STORES; s++)
        for (size_t a = 0; a < sizeof assemblies / sizeof *assemblies; a++) {
            struct train_run run;
            train_run_init(&run, f.world, "diskgnn");
            run.options = joined(assemblies[a], stores[s].options);
            run.device = run.check_rows = true;
            must_run(train_run_open(&run, &f.graph), &run);
            for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                must_run(train_run_epoch(&run, epoch), &run);
                assert_int_equal(run.wrong_values, 0);
                train_run_each_seed_once(&run);
                check_counters(&run);
            }
            train_run_close(&run);
        }
    fixture_close(&f);
}

/* Rows of 512 to 5120 bytes: many a page, one a page, one on two pages. */
static void test_rows_of_every_width_come_back(void **state)
{
    (void)state;
    static const uint32_t dims[] = {25, 128, 256, 768, 1024, 1280};
    const char *const *const variants[] = {
        OPTIONS("io=buffered", "segment=3", "disk_rows=100"),
        OPTIONS("io=buffered", "segment=3", "disk_rows=100", "page=512", "chunk_request=4K", "chunk_depth=3"),
        OPTIONS("segment=4", "disk_rows=100", "rings=3", "ring_entries=2", "submit=1"),
        OPTIONS("segment=2", "disk_rows=100", "meta_io=buffered", "chunk_request=8K"),
        OPTIONS("segment=3", "disk_rows=100", "loader=copies"),
    };
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
        struct train_graph_config config = usual;
        struct fixture f;
        config.dim = dims[d];
        config.nodes = 500;
        fixture_open(&f, .graph = &config);
        for (size_t v = 0; v < (f.direct ? 5U : 2U); v++) {
            struct train_run run;
            open_run(&run, &f, variants[v]);
            for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
                must_run(train_run_epoch(&run, epoch), &run);
                assert_int_equal(run.wrong_values, 0);
                check_counters(&run);
                assert_true(levels_of(&run).shared > 0);
            }
            train_run_close(&run);
        }
        fixture_close(&f);
    }
}

/* ---- reads ---- */

/* An epoch asks for every chunk once, every page of a disk cache once a mini-batch, every table and graph sample once:
 * the sums of the layout, in whole pages. */
static void test_reads_are_the_layouts(void **state)
{
    (void)state;
    const char *const *const variants[] = {
        OPTIONS("io=buffered", "segment=3", "disk_rows=40", "rings=1"),
        OPTIONS("io=buffered", "segment=3", "disk_rows=40", "rings=3", "ring_entries=4", "submit=3"),
        OPTIONS("io=buffered", "segment=3", "disk_rows=40", "chunk_request=4K"),
        OPTIONS("io=buffered", "disk_limit=2.5"),
        OPTIONS("io=buffered"),
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        struct train_run run;
        open_run(&run, &f, variants[v]);
        const struct diskgnn *const s = run.state;
        const struct diskgnn_layout *const layout = &s->layout;
        uint64_t chunks = 0, chunk_reads = 0, tables = 0, samples = 0, pages = 0;
        const uint64_t request = s->config->chunk_request;
        for (uint32_t i = 0; i < BATCHES; i++) {
            const uint64_t chunk = diskgnn_dense_bytes(&layout->rows, layout->of[i].packed);
            chunks += chunk;
            chunk_reads += chunk == 0 ? 0 : request == 0 ? 1 : gnn_div_up(chunk, request);
            tables += gnn_round_up(4 * diskgnn_table_words(&layout->of[i]), layout->rows.align_bytes);
            samples += gnn_round_up(diskgnn_sample_bytes(&s->sampled.of[i]), 4096);
            pages += layout->of[i].pages;
        }
        for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
            must_run(train_run_epoch(&run, epoch), &run);
            assert_int_equal(train_run_extra(&run, "chunk_read_bytes"), chunks);
            assert_int_equal(train_run_extra(&run, "disk_cache_pages"), pages);
            assert_int_equal(train_run_extra(&run, "disk_cache_read_bytes"), pages * 4096);
            assert_int_equal(train_run_extra(&run, "table_read_bytes"), tables);
            assert_int_equal(train_run_extra(&run, "sample_read_bytes"), samples);
            assert_int_equal(run.result.counters.requested_ios, chunk_reads + pages + 2 * BATCHES);
            const struct levels levels = levels_of(&run);
            const uint64_t read = levels.packed + layout->rows.per_page * pages;
            assert_int_equal(train_run_extra(&run, "amplification_permille"),
                             read * 1000 / (levels.packed + levels.shared));
        }
        train_run_close(&run);
    }
    fixture_close(&f);
}

/* What single mini-batches read adds up to what was read. What each would read of one disk cache in no order is what a
 * layout of that kind has it read, and the same beside whatever layout. */
static void test_single_mini_batches(void **state)
{
    (void)state;
    const char *const *const variants[] = {
        OPTIONS("io=buffered", "unordered=true", "disk_rows=60", "segment=8",
                "reorder=off"), /* the other kind itself */
        OPTIONS("io=buffered", "unordered=true", "disk_rows=60", "segment=8", "reorder=pair"),
        OPTIONS("io=buffered", "unordered=true", "disk_rows=60", "segment=3", "reorder=pair"),
    };
    struct fixture f;
    uint64_t unordered[BATCHES];
    fixture_open(&f, .graph = &usual);
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        struct train_run run;
        open_run(&run, &f, variants[v]);
        const struct diskgnn *const s = run.state;
        uint64_t all = 0, most = 0, half = 0;
        for (uint32_t i = 0; i < BATCHES; i++) {
            const struct diskgnn_place *const place = &s->layout.of[i];
            const uint64_t bytes = diskgnn_dense_bytes(&s->layout.rows, place->packed) + place->pages * UINT64_C(4096);
            all += bytes;
            most = gnn_max_u64(bytes, most);
            if (v == 0)
                unordered[i] = bytes;
            assert_int_equal(s->unordered_bytes[i], unordered[i]);
            half += 2 * bytes < unordered[i];
        }
        must_run(train_run_epoch(&run, 0), &run);
        assert_int_equal(train_run_extra(&run, "chunk_read_bytes") + train_run_extra(&run, "disk_cache_read_bytes"),
                         all);
        assert_int_equal(train_run_extra(&run, "batch_read_bytes_max"), most);
        assert_true(train_run_extra(&run, "batch_read_bytes_p50") <= most);
        assert_int_equal(train_run_extra(&run, "batches_half_pct"), (100 * half + BATCHES / 2) / BATCHES);
        assert_true(train_run_extra(&run, "io_p01_permille") <= train_run_extra(&run, "io_p99_permille"));
        if (v == 0) {
            assert_int_equal(train_run_extra(&run, "io_p01_permille"), 1000);
            assert_int_equal(train_run_extra(&run, "io_p99_permille"), 1000);
            assert_int_equal(train_run_extra(&run, "batches_less_pct"), 0);
        }
        train_run_close(&run);
    }
    fixture_close(&f);
}

static void test_caches_of_all_rows_end_the_reads(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct train_run run;
    open_run(&run, &f, OPTIONS("io=buffered", "cache_ratio=100"));
    must_run(train_run_epoch(&run, 0), &run);
    assert_int_equal(run.result.counters.rows_read, 0);
    assert_int_equal(train_run_extra(&run, "chunk_read_bytes"), 0);
    assert_int_equal(train_run_extra(&run, "disk_cache_pages"), 0);
    train_run_close(&run);
    fixture_close(&f);
}

/* ---- the pipeline ---- */

struct trace {
    double loss[EPOCHS][BATCHES];
    uint32_t order[EPOCHS][BATCHES];
};

static void run_trace(struct fixture *f, const char *const *options, bool device, struct trace *out)
{
    struct train_run run;
    train_run_init(&run, f->world, "diskgnn");
    run.options = joined(buffered, options);
    run.device = device;
    must_run(train_run_open(&run, &f->graph), &run);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        must_run(train_run_epoch(&run, epoch), &run);
        train_run_each_seed_once(&run);
        memcpy(out->loss[epoch], run.loss, sizeof out->loss[epoch]);
        memcpy(out->order[epoch], run.order, sizeof out->order[epoch]);
    }
    train_run_close(&run);
}

static void test_the_pipeline_trains_what_the_sequence_trains(void **state)
{
    (void)state;
    static struct trace sequence, pipeline;
    const char *const *const variants[] = {OPTIONS("queue=1"),
                                           OPTIONS("queue=5", "table_stage=true"),
                                           OPTIONS("segment=3", "disk_rows=50", "rings=2"),
                                           OPTIONS("meta_io=buffered", "drop_cache=true"),
                                           OPTIONS("loader=copies", "rings=3"),
                                           OPTIONS("loader=copies", "segment=3", "disk_rows=50", "chunk_request=4K")};
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    run_trace(&f, OPTIONS("pipeline=false"), false, &sequence);
    for (int device = 0; device < 2; device++)
        for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
            run_trace(&f, variants[v], device == 1, &pipeline);
            assert_memory_equal(&pipeline, &sequence, sizeof sequence);
        }
    uint32_t moved = 0, other = 0;
    for (uint32_t k = 0; k < BATCHES; k++) {
        assert_int_equal(sequence.order[0][k], k); /* as they were drawn */
        moved += sequence.order[1][k] != k;
        other += sequence.order[2][k] != sequence.order[1][k];
    }
    assert_true(moved > 0); /* a new order of the same mini-batches */
    assert_true(other > 0); /* in every epoch */
    fixture_close(&f);
}

static void test_stages_are_told_apart(void **state)
{
    (void)state;
    const struct {
        const char *const *options;
        const char *stages[8];
    } cases[] = {
        {OPTIONS("io=buffered"), {"pages", "load", "assemble", "graph", "train"}},
        {OPTIONS("io=buffered", "table_stage=true"), {"pages", "table", "load", "assemble", "graph", "train"}},
        {OPTIONS("io=buffered", "pipeline=false"), {"pages", "sequential"}},
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct train_run run;
        open_run(&run, &f, cases[c].options);
        must_run(train_run_epoch(&run, 0), &run);
        for (uint32_t i = 0; cases[c].stages[i] != NULL; i++) {
            assert_true(i < run.result.stage_count);
            assert_string_equal(run.result.stages[i].stage, cases[c].stages[i]);
            if (i > 0)
                assert_int_equal(run.result.stages[i].items, BATCHES);
        }
        train_run_close(&run);
    }
    fixture_close(&f);
}

/* ---- epochs ---- */

/* The same files serve every epoch: as many bytes, the same rows of each level; and what was prepared serves the next
 * run, which prepares nothing. */
static void test_epochs_and_runs_share_what_was_prepared(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    uint64_t requested = 0;
    for (int turn = 0; turn < 2; turn++) {
        struct train_run run;
        open_run(&run, &f, OPTIONS("io=buffered", "segment=3", "disk_rows=40"));
        assert_int_equal(layout_of(&run)->written_bytes > 0, turn == 0);
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            must_run(train_run_epoch(&run, epoch), &run);
            if (turn == 0 && epoch == 0)
                requested = run.result.counters.requested_bytes;
            assert_int_equal(run.result.counters.requested_bytes, requested);
            assert_int_equal(run.result.prepare_ns, 0);
            assert_true(run.result.counters.prepare_disk_bytes > 0);
            assert_int_equal(train_run_extra(&run, "draw_prepare_ns") > 0, turn == 0 && epoch == 0);
            assert_int_equal(train_run_extra(&run, "pack_prepare_ns") > 0, turn == 0 && epoch == 0);
        }
        train_run_close(&run);
    }
    fixture_close(&f);
}

static size_t prepared_files(const struct fixture *f, const char *pattern)
{
    char path[700];
    glob_t found;
    (void)snprintf(path, sizeof path, "%s/diskgnn-*/%s", f->graph.dataset.dir, pattern);
    const size_t count = glob(path, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return count;
}

/* New mini-batches every second epoch: epochs 0 and 2 train what was drawn for them, in its order; 1 and 3 train it
 * again in another. Preparing is part of the epoch that waits for it, and leaves one later set of files at most. */
static void test_mini_batches_are_drawn_anew(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct train_run run;
    uint64_t digests[4];
    open_run(&run, &f, OPTIONS("io=buffered", "resample_every=2", "segment=3", "disk_rows=40"));
    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        must_run(train_run_epoch(&run, epoch), &run);
        assert_int_equal(run.wrong_values, 0);
        train_run_each_seed_once(&run);
        digests[epoch] = run.result.counters.sample.batch_digest;
        assert_int_equal(run.result.prepare_ns > 0, epoch == 2);
        uint32_t moved = 0;
        for (uint32_t k = 0; k < BATCHES; k++)
            moved += run.order[k] != k;
        assert_int_equal(moved > 0, epoch % 2 == 1);
        assert_int_equal(prepared_files(&f, "e2-samples"), epoch >= 2 ? 1 : 0);
    }
    train_run_close(&run);
    assert_int_equal(prepared_files(&f, "e2-*"), 0);
    assert_int_equal(prepared_files(&f, "e0-samples"), 1);
    train_run_init(&run, f.world, "pygplus");
    must_run(train_run_open(&run, &f.graph), &run);
    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        must_run(train_run_epoch(&run, epoch), &run);
        assert_int_equal(run.result.counters.sample.batch_digest == digests[epoch], epoch % 2 == 0);
    }
    train_run_close(&run);
    fixture_close(&f);
}

/* ---- memory ---- */

static const struct train_graph_config wide = {
    .nodes = 40000, .mean_degree = 8, .dim = 128, .classes = 5, .train = 2400, .seed = 3};

/* Under a cap the caches get what is left, and nothing passes it; what is planned is what is allocated. */
static void test_the_peak_stays_below_the_cap(void **state)
{
    (void)state;
    static const uint64_t caps[] = {UINT64_C(17) << 19, UINT64_C(19) << 19, UINT64_C(20) << 19};
    uint64_t cached[3];
    for (size_t c = 0; c < sizeof caps / sizeof *caps; c++) {
        struct fixture f;
        struct train_run run;
        struct gnn_mem_usage usage;
        fixture_open(&f, .graph = &wide);
        train_run_init(&run, f.world, "diskgnn");
        run.options = OPTIONS("io=buffered", "rings=1", "ring_entries=64", "samplers=1", "pack_workers=1");
        run.workload.batch_size = 60;
        run.cap_bytes = caps[c];
        run.check_rows = true;
        must_run(train_run_open(&run, &f.graph), &run);
        for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
            must_run(train_run_epoch(&run, epoch), &run);
            assert_int_equal(run.wrong_values, 0);
        }
        gnn_mem_usage(f.world, &usage);
        struct gnn_memory_plan plan; /* what every run holds */
        gnn_plan_begin(&plan, &run.env);
        uint64_t held = usage.current_bytes; /* the model is in it */
        for (uint32_t i = 0; i < plan.run_part_count; i++)
            held += strcmp(plan.parts[i].name, "model") == 0 ? 0 : plan.parts[i].bytes;
        cached[c] = train_run_extra(&run, "gpu_cache_slots") + train_run_extra(&run, "cpu_cache_slots");
        print_message("cap %llu: held %llu, peak %llu beside it, %llu rows cached\n", (unsigned long long)caps[c],
                      (unsigned long long)held, (unsigned long long)usage.peak_bytes, (unsigned long long)cached[c]);
        assert_true(held <= caps[c] && held >= caps[c] / 20 * 19);
        assert_true(held + (usage.peak_bytes - usage.current_bytes) <= caps[c]);
        assert_true(c == 0 || cached[c] > cached[c - 1]);
        train_run_close(&run);
        fixture_close(&f);
    }
}

/* Equal memory: half of the rows that would fit, and what is trained is the same. */
static void test_a_share_of_what_the_cap_leaves_is_cached(void **state)
{
    (void)state;
    const char *const *const options[] = {
        OPTIONS("io=buffered", "rings=1", "ring_entries=64", "samplers=1", "pack_workers=1"),
        OPTIONS("io=buffered", "rings=1", "ring_entries=64", "samplers=1", "pack_workers=1", "cache_share=50")};
    uint64_t cached[2], digest[2];
    for (size_t c = 0; c < 2; c++) {
        struct fixture f;
        struct train_run run;
        fixture_open(&f, .graph = &wide);
        train_run_init(&run, f.world, "diskgnn");
        run.options = options[c];
        run.workload.batch_size = 60;
        run.cap_bytes = UINT64_C(20) << 19;
        run.check_rows = true;
        must_run(train_run_open(&run, &f.graph), &run);
        must_run(train_run_epoch(&run, 0), &run);
        assert_int_equal(run.wrong_values, 0);
        cached[c] = train_run_extra(&run, "gpu_cache_slots") + train_run_extra(&run, "cpu_cache_slots");
        digest[c] = run.trained_digest;
        train_run_close(&run);
        fixture_close(&f);
    }
    assert_in_range(2 * cached[1], cached[0] - 1, cached[0] + 1);
    assert_true(digest[0] == digest[1]);
}

static void test_what_contradicts_is_refused_by_name(void **state)
{
    (void)state;
    const struct {
        const char *const *options;
        uint64_t cap_bytes;
        enum gnn_status status;
        const char *message;
    } cases[] = {
        {OPTIONS("disk_rows=10"), 0, GNN_EUSAGE, "diskgnn.segment"},
        {OPTIONS("chunk_request=5000"), 0, GNN_EUSAGE, "diskgnn.chunk_request"},
        {OPTIONS("cpu_cache=64M"), UINT64_C(24) << 20, GNN_OK, ""}, /* no more than there are rows */
        {NULL, UINT64_C(3) << 20, GNN_ECAP, "raise --memory"},
        {OPTIONS("accounting=paper"), UINT64_C(3) << 20, GNN_OK, ""},
    };
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct train_run run;
        struct gnn_memory_plan plan;
        train_run_init(&run, f.world, "diskgnn");
        run.options = cases[c].options;
        run.cap_bytes = cases[c].cap_bytes;
        const enum gnn_status status = train_run_plan(&run, &f.graph, &plan);
        if (status != cases[c].status || strstr(run.err.message, cases[c].message) == NULL)
            fail_msg("case %zu: %s, %s", c, gnn_status_name(status), run.err.message);
        free(run.config);
    }
    fixture_close(&f);
}

/* ---- damage ---- */

static void overwrite(const struct fixture *f, const char *name, long offset, unsigned char byte, size_t count)
{
    char pattern[700];
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%s/diskgnn-*/%s", f->graph.dataset.dir, name);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    FILE *const file = fopen(found.gl_pathv[0], "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(fputc(byte, file), byte);
    assert_int_equal(fclose(file), 0);
    globfree(&found);
}

/* A table or a graph sample that was overwritten ends the epoch with the file's name; no index of it is used. */
static void test_damaged_files_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        long offset;
        unsigned char byte;
        size_t count;
    } damages[] = {
        {"e0-*-tables", 0, 0xff, 64},  {"e0-*-tables", 0, 0, 4096}, {"e0-*-tables", 4096, 1, 8},
        {"e0-samples", 0, 0xff, 4},    {"e0-samples", 80, 0, 64},   {"e0-samples", 1200, 0xff, 2000},
        {"e0-samples", 4096, 0x7f, 4},
    };
    for (size_t d = 0; d < sizeof damages / sizeof *damages; d++) {
        struct fixture f;
        struct train_run run;
        fixture_open(&f, .graph = &usual);
        open_run(&run, &f, OPTIONS("io=buffered", "segment=3", "disk_rows=40"));
        train_run_close(&run);
        overwrite(&f, damages[d].name, damages[d].offset, damages[d].byte, damages[d].count);
        open_run(&run, &f, OPTIONS("io=buffered", "segment=3", "disk_rows=40"));
        const enum gnn_status status = train_run_epoch(&run, 0);
        if (status != GNN_EFORMAT || strstr(run.err.message, "diskgnn.reuse=false") == NULL)
            fail_msg("damage %zu: %s, %s", d, gnn_status_name(status), run.err.message);
        train_run_close(&run);
        fixture_close(&f);
    }
}

/* ---- a step that fails ---- */

/* Gathers that nobody has waited for, and whether the thread that gave one was refused memory since. */
static atomic_uint open_gathers;
static atomic_bool refused;
static _Thread_local bool gathered;

static void note_gather(struct gnn_tensor *t, gnn_real *out, const struct gnn_placement *placement,
                        const uint32_t *rows, uint32_t count, uint32_t cols, uint32_t host_count)
{
    atomic_fetch_add(&open_gathers, 1);
    gathered = true;
    device_tensor.gather_placed(t, out, placement, rows, count, cols, host_count);
}

static void note_synchronize(struct gnn_tensor *t)
{
    device_tensor.synchronize(t);
    atomic_store(&open_gathers, 0);
}

static enum gnn_status refuse_once(struct gnn_tensor *t, const char *name, uint64_t bytes, void **out,
                                   struct gnn_err *err)
{
    if (gathered && !atomic_exchange(&refused, true))
        return gnn_fail(err, GNN_ENOMEM, "%s: refused by the test", name);
    return device_tensor.alloc(t, name, bytes, out, err);
}

/* A kernel may still be reading rows of the host's when the step behind it fails: it has ended when the epoch has. */
static void test_a_failed_epoch_leaves_no_gather_behind(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct train_run run;
    train_run_init(&run, f.world, "diskgnn");
    run.options = OPTIONS("io=buffered", "assembly=kernel");
    run.device = run.check_rows = true;
    must_run(train_run_open(&run, &f.graph), &run);
    run.ops.gather_placed = note_gather;
    run.ops.synchronize = note_synchronize;
    run.ops.alloc = refuse_once;
    assert_int_equal(train_run_epoch(&run, 0), GNN_ENOMEM);
    assert_true(atomic_load(&refused));
    assert_int_equal(atomic_load(&open_gathers), 0);
    must_run(train_run_epoch(&run, 1), &run);
    assert_int_equal(run.wrong_values, 0);
    train_run_close(&run);
    fixture_close(&f);
}

/* ---- sampling alone ---- */

static void test_sampling_alone_delivers_what_was_stored(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f, .graph = &usual);
    struct gnn_sample_counters trained = {0};
    for (int only = 0; only < 2; only++) {
        struct train_run run;
        train_run_init(&run, f.world, "diskgnn");
        run.options = buffered;
        run.workload.sample_only = only;
        must_run(train_run_open(&run, &f.graph), &run);
        must_run(train_run_epoch(&run, 0), &run);
        if (only)
            assert_memory_equal(&run.result.counters.sample, &trained, sizeof trained);
        trained = run.result.counters.sample;
        train_run_close(&run);
    }
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_comes_from_one_level),
        cmocka_unit_test(test_rows_reach_a_device),
        cmocka_unit_test(test_rows_of_every_width_come_back),
        cmocka_unit_test(test_reads_are_the_layouts),
        cmocka_unit_test(test_single_mini_batches),
        cmocka_unit_test(test_caches_of_all_rows_end_the_reads),
        cmocka_unit_test(test_the_pipeline_trains_what_the_sequence_trains),
        cmocka_unit_test(test_stages_are_told_apart),
        cmocka_unit_test(test_epochs_and_runs_share_what_was_prepared),
        cmocka_unit_test(test_mini_batches_are_drawn_anew),
        cmocka_unit_test(test_the_peak_stays_below_the_cap),
        cmocka_unit_test(test_a_share_of_what_the_cap_leaves_is_cached),
        cmocka_unit_test(test_what_contradicts_is_refused_by_name),
        cmocka_unit_test(test_damaged_files_are_told),
        cmocka_unit_test(test_a_failed_epoch_leaves_no_gather_behind),
        cmocka_unit_test(test_sampling_alone_delivers_what_was_stored),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

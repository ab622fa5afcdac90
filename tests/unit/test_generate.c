/* SPDX-License-Identifier: MIT */
/* Generating: the same bytes for any number of threads and for ever, statistics of the features, added
 * widths, and nothing left behind when it is stopped or the disk is full. */
#include "harness/dataset/earlier.h"
#include "harness/dataset/prepare.h"
#include "harness/dataset/read.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static enum gnn_status generate(const char *dir, uint32_t divisor, const struct gnn_generate_options *options,
                                struct gnn_prepare_job job, struct gnn_err *err)
{
    const struct gnn_registry_entry *entry;
    *err = (struct gnn_err){0};
    job.out_dir = dir;
    assert_int_equal(gnn_registry_find("papers100m", &entry, err), GNN_OK);
    return gnn_prepare_generate(entry, divisor, options, &job, err);
}

static struct gnn_generate_options defaults(uint32_t dim)
{
    struct gnn_generate_options options;
    gnn_option_defaults(gnn_generate_table, &options);
    options.dim = dim;
    return options;
}

/* Sizes follow the registry; any thread count gives the same checksums, and they never change: a run's
 * dataset digest must stay comparable. A change here is a new generator: raise its number in the origin line. The graph
 * is the one without a reach; the next test has the registry's. */
static void test_same_bytes(void **state)
{
    static const struct {
        const char *name, *checksum;
    } golden[] = {
        {"indptr", "b975a186a4ad6d14b9b5b8bba54f4cec"},       {"indices", "d0459fe12bcb62ad765347b2f7802bc9"},
        {"features-d16", "aff40c30be9318d7f6b2c52fa85c6145"}, {"labels", "db4626a29f26431fe71d61cc1fcdd313"},
        {"train", "89bdc09d3ec277c22b0f31565e36efcf"},
    };
    struct gnn_err err;
    for (uint32_t threads = 1; threads <= 5; threads += 2) {
        char dir[DATA_PATH], name[32];
        struct gnn_meta meta;
        struct gnn_generate_options options = defaults(16);
        options.threads = threads;
        options.reach = 0;
        (void)snprintf(name, sizeof name, "threads-%u", threads);
        must(generate(data_path(dir, *state, name), 1000, &options, (struct gnn_prepare_job){0}, &err), &err);
        must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
        must(gnn_read_meta(dir, &meta, &err), &err);
        assert_int_equal(meta.node_count, 111060);
        assert_true(fabs((double)meta.edge_count / 1615685.872 - 1) < 0.01);
        assert_int_equal(meta.scale_divisor, 1000);
        assert_int_equal(meta.class_count, 172);
        assert_int_equal(meta.train_count, 1207);
        assert_int_equal(meta.valid_count, 125);
        assert_int_equal(meta.test_count, 214);
        for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++)
            assert_string_equal(gnn_meta_find_file(&meta, golden[i].name)->checksum, golden[i].checksum);
    }
}

/* Every graph of the registry, small: its meta names sizes, parameters and checksums of all files, so the checksum of
 * meta is that of everything but the checksums of blocks. Options that only some graphs take must leave the others'
 * meta alone. */
static void test_every_entry_as_ever(void **state)
{
    static const struct {
        const char *name;
        uint32_t divisor;
        const char *checksum;
    } golden[] = {
        {"papers100m", 30000, "98e670062a1163c529aaf6f8d49f0a7b"},
        {"papers100m-sym", 30000, "3c400e7da834450ea6162c1fb4b87fcf"},
        {"twitter", 20000, "f28d63bc84ad5c4a8edb7257fb01f178"},
        {"friendster", 30000, "1aee3370e9e408e97ce5bce510cdaf01"},
        {"friendster-sym", 30000, "b858d90685dd124475576a2e0a2b064a"},
        {"friendster-agnes", 30000, "b41f118dc44701a19d153da0d0e53113"},
        {"mag240m-cites", 30000, "96e0f4ddf7afacb5229f6519f509d134"},
        {"mag240m", 50000, "4a217068bf1c541253124c12e0fae48d"},
        {"igb-medium", 3000, "e57b82bef365c154af5fb5ed3ed79974"},
        {"igb260m", 50000, "69ad0c00c4ea0cfaafcb3120236db829"},
        {"yahoo", 300000, "7ee574f51087ffa08101cb03507a0d90"},
        {"kronecker", 40000, "1364f4bac78efc302d49a7b170affb26"},
        {"livejournal", 2000, "3ea825cdd52924bb96c4aa795b4b8c56"},
    };
    unsigned different = 0;
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        char dir[DATA_PATH], checksum[GNN_CHECKSUM_TEXT];
        const struct gnn_registry_entry *entry;
        struct gnn_err err = {0};
        size_t len = 0;
        const struct gnn_generate_options options = defaults(2);
        const struct gnn_prepare_job job = {.out_dir = data_path(dir, *state, golden[i].name)};
        must(gnn_registry_find(golden[i].name, &entry, &err), &err);
        must(gnn_prepare_generate(entry, golden[i].divisor, &options, &job, &err), &err);
        char *const meta = data_read(dir, "meta", &len);
        data_cut_blocks(meta);
        gnn_checksum_of(meta, strlen(meta), checksum);
        free(meta);
        if (strcmp(checksum, golden[i].checksum) != 0) {
            print_error("%s at 1/%u: now \"%s\"\n", golden[i].name, golden[i].divisor, checksum);
            different++;
        }
    }
    assert_int_equal(different, 0);
}

/* Whole pages go past the page cache, where the file system lets them: only a file's last page may be there. */
static void test_the_page_cache_is_left_alone(void **state)
{
    char dir[DATA_PATH], path[DATA_PATH + 32];
    struct gnn_err err;
    const struct gnn_generate_options options = defaults(100);
    (void)data_path(dir, *state, "uncached");
    assert_int_equal(generate(dir, 1000, &options, (struct gnn_prepare_job){0}, &err), GNN_OK);
    (void)snprintf(path, sizeof path, "%s/features-d100", dir);
    const int direct = open(path, O_RDONLY | O_DIRECT), fd = open(path, O_RDONLY);
    if (direct < 0)
        skip_test("no direct I/O below %s", dir);
    struct stat info;
    assert_int_equal(fstat(fd, &info), 0);
    const uint64_t pages = gnn_div_up((uint64_t)info.st_size, GNN_PAGE_BYTES);
    unsigned char *const there = calloc(pages, 1);
    void *const map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(there != NULL && map != MAP_FAILED);
    assert_int_equal(mincore(map, (size_t)info.st_size, there), 0);
    uint64_t cached = 0;
    for (uint64_t i = 0; i < pages; i++)
        cached += there[i] & 1;
    assert_true(pages > 10000);
    assert_in_range(cached, 0, 1);
    (void)munmap(map, (size_t)info.st_size);
    free(there);
    (void)close(fd);
    (void)close(direct);
}

/* Rows of one class share a centre of the stated amplitude; the noise around it has mean 0 and variance 1. */
static void test_features(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err;
    size_t len = 0;
    struct gnn_generate_options options = defaults(8);
    options.label_noise = 0;
    options.reach = 0;
    options.signal = 0.75;
    must(generate(data_path(dir, *state, "d"), 1000, &options, (struct gnn_prepare_job){0}, &err), &err);
    float *rows = (float *)(void *)data_read(dir, "features-d8", &len);
    int32_t *labels = (int32_t *)(void *)data_read(dir, "labels", &len);
    const double amplitude = options.signal * sqrt(2 * log(172) / 8);
    double sums[172][8] = {{0}}, squares = 0;
    for (int v = 0; v < 111060; v++)
        for (int j = 0; j < 8; j++) {
            sums[labels[v]][j] += (double)rows[8 * v + j];
            squares += (double)rows[8 * v + j] * (double)rows[8 * v + j];
        }
    for (int c = 0; c < 172; c++)
        for (int j = 0; j < 8; j++) /* 645 rows a class: standard error 0.04 */
            assert_true(fabs(fabs(sums[c][j] / (111060.0 / 172)) - amplitude) < 0.2);
    assert_true(fabs(squares / (111060 * 8) - 1 - amplitude * amplitude) < 0.01);
    free(rows);
    free(labels);
}

/* With a reach a row shows its class by a factor that is uniform in 0 to 2, the same at any width. The noise ends at
 * 3.47 and the centres lie at 11.3 on average, which is how far a row's mean over its columns' signs tells. */
static void test_rows_are_more_or_less_clear(void **state)
{
    enum { NODES = 111060 };
    char dir[DATA_PATH];
    struct gnn_err err;
    size_t len = 0;
    struct gnn_generate_options options = defaults(8);
    options.signal = 10;
    must(generate(data_path(dir, *state, "d"), 1000, &options, (struct gnn_prepare_job){0}, &err), &err);
    options.dim = 2;
    must(generate(dir, 1000, &options, (struct gnn_prepare_job){0}, &err), &err);
    float *const wide = (float *)(void *)data_read(dir, "features-d8", &len);
    float *const narrow = (float *)(void *)data_read(dir, "features-d2", &len);
    const double centre[] = {10 * sqrt(2 * log(172) / 8), 10 * sqrt(2 * log(172) / 2)};
    uint32_t tenths[20] = {0};
    for (size_t v = 0; v < NODES; v++) {
        double sums[2] = {0};
        for (size_t j = 0; j < 8; j++)
            sums[0] += fabs((double)wide[8 * v + j]) / 8;
        for (size_t j = 0; j < 2; j++)
            sums[1] += fabs((double)narrow[2 * v + j]) / 2;
        const double clarity = sums[0] / centre[0];
        tenths[clarity < 2 ? (int)(10 * clarity) : 19]++;
        assert_true(fabs(clarity - sums[1] / centre[1]) < 3.47 / centre[0] + 3.47 / centre[1]);
    }
    for (int i = 3; i < 19; i++) /* the noise hides what is below, and blurs the ends */
        assert_true(fabs(tenths[i] / (NODES / 20.0) - 1) < 0.07);
    free(wide);
    free(narrow);

    options.reach = 0; /* one that was given was meant for a reach */
    options.votes = 8;
    assert_int_equal(generate(data_path(dir, *state, "e"), 1000, &options, (struct gnn_prepare_job){0}, &err),
                     GNN_EUSAGE);
    assert_non_null(strstr(err.message, "option votes requires a reachable set"));
}

/* A second width joins the dataset, the same one is there already; other parameters and foreign directories are
 * refused. */
static void test_existing(void **state)
{
    char dir[DATA_PATH], other[DATA_PATH];
    struct gnn_err err;
    struct gnn_meta meta;
    struct gnn_generate_options options = defaults(4);
    must(generate(data_path(dir, *state, "d"), 10000, &options, (struct gnn_prepare_job){0}, &err), &err);
    options.dim = 12;
    must(generate(dir, 10000, &options, (struct gnn_prepare_job){0}, &err), &err);
    must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
    must(gnn_read_meta(dir, &meta, &err), &err);
    assert_int_equal(meta.dim_count, 2);
    assert_int_equal(meta.dims[0], 4);
    assert_int_equal(meta.dims[1], 12);
    assert_int_equal(data_entries(*state), 1);

    must(generate(dir, 10000, &options, (struct gnn_prepare_job){0}, &err), &err);
    must(gnn_read_meta(dir, &meta, &err), &err);
    assert_int_equal(meta.dim_count, 2);
    options.dim = 6;
    options.seed = 2;
    assert_int_equal(generate(dir, 10000, &options, (struct gnn_prepare_job){0}, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "seed 1, not 2"));
    options.seed = 1;
    assert_int_equal(generate(dir, 9999, &options, (struct gnn_prepare_job){0}, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "1/10000"));
    assert_int_equal(mkdir(data_path(other, *state, "other"), 0777), 0);
    assert_int_equal(generate(other, 10000, &options, (struct gnn_prepare_job){0}, &err), GNN_ENOENT);
    assert_int_equal(generate("/nowhere/at/all", 10000, &options, (struct gnn_prepare_job){0}, &err), GNN_ENOENT);
}

static const char *param_of(const char *dir, const char *key, struct gnn_meta *meta)
{
    struct gnn_err err;
    must(gnn_read_meta(dir, meta, &err), &err);
    return gnn_meta_param(meta, key);
}

/* With an even order, papers100m is the graph of earlier versions, and its meta file is theirs. It takes more widths,
 * but is not taken for the present graph. */
static void test_graph_of_an_earlier_version(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err;
    struct gnn_meta meta;
    struct gnn_generate_options options = defaults(4);
    (void)snprintf(options.order, sizeof options.order, "even");
    options.train_share = 0;
    options.list_mean = 13;
    options.popularity = 1.31;
    must(generate(data_path(dir, *state, "d"), 10000, &options, (struct gnn_prepare_job){0}, &err), &err);
    assert_null(param_of(dir, "order", &meta));
    assert_string_equal(param_of(dir, "spread", &meta), "1");
    assert_string_equal(gnn_dataset_lacks_since(&meta), "the order of node IDs and the community of training nodes");
    options = defaults(4);
    assert_int_equal(generate(dir, 10000, &options, (struct gnn_prepare_job){0}, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "papers100m of an earlier version, without the order of node IDs"));
    assert_non_null(strstr(err.message, "another directory with --out"));
    const struct gnn_prepare_job job = {.out_dir = dir};
    must(gnn_prepare_widths(&(struct gnn_added_widths){.dim = 6, .id_bytes = 8}, &job, &err), &err);
    must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
    assert_string_equal(param_of(dir, "spread", &meta), "1");
    assert_int_equal(meta.dim_count, 2);

    must(generate(data_path(dir, *state, "e"), 10000, &options, (struct gnn_prepare_job){0}, &err), &err);
    assert_null(param_of(dir, "spread", &meta));
    assert_string_equal(param_of(dir, "train_share", &meta), "0.24");
    assert_string_equal(param_of(dir, "order", &meta), "0.133:0.03+0.417:0.25+0.16:0.12+0.116:0.15+0.174:0.45");
    assert_null(gnn_dataset_lacks_since(&meta));
    must(gnn_prepare_widths(&(struct gnn_added_widths){.dim = 6}, &job, &err), &err);
}

/* What is recorded for a set that fills the first IDs stays as it was, and is read again. */
static void test_filled_order(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err;
    struct gnn_meta meta;
    struct gnn_generate_options options = defaults(4);
    const struct gnn_prepare_job job = {.out_dir = data_path(dir, *state, "d")};
    (void)snprintf(options.order, sizeof options.order, "0.25:1+0.75:0");
    must(generate(dir, 10000, &options, (struct gnn_prepare_job){0}, &err), &err);
    assert_string_equal(param_of(dir, "spread", &meta), "0.25");
    must(gnn_prepare_widths(&(struct gnn_added_widths){.dim = 6}, &job, &err), &err);
    must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
}

/* A community is recorded only if there is one, and graphs with and without it are not taken for each other. */
static void test_community_is_recorded(void **state)
{
    static const double shares[] = {0, 0.24};
    for (size_t i = 0; i < 2; i++) {
        char dir[DATA_PATH], name[32];
        struct gnn_err err;
        struct gnn_meta meta;
        struct gnn_generate_options options = defaults(4);
        (void)snprintf(name, sizeof name, "%zu", i);
        const struct gnn_prepare_job job = {.out_dir = data_path(dir, *state, name)};
        options.train_share = shares[i];
        must(generate(dir, 10000, &options, (struct gnn_prepare_job){0}, &err), &err);
        const char *const recorded = param_of(dir, "train_share", &meta);
        assert_true((recorded == NULL) == (i == 0));
        assert_true(recorded == NULL || strcmp(recorded, "0.24") == 0);
        must(gnn_prepare_widths(&(struct gnn_added_widths){.dim = 6}, &job, &err), &err);
        must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
        options.train_share = shares[1 - i];
        assert_int_equal(generate(dir, 10000, &options, (struct gnn_prepare_job){0}, &err), GNN_EUSAGE);
        assert_non_null(strstr(err.message, i == 0 ? "train_share unknown, not 0.24" : "train_share 0.24, not 0:"));
    }
}

/* A bracket is accepted by every graph; pairs need a reachable set. Without a bracket, the order is the graph's own. */
static void test_words_of_orders(void **state)
{
    static const struct {
        const char *name, *word, *key, *value;
    } cases[] = {{"papers100m", "low", "order", "0.133:0.06+0.417:0.31+0.16:0.13+0.116:0.15+0.174:0.35"},
                 {"papers100m", "high", "order", "0.133:0.02+0.417:0.18+0.16:0.12+0.116:0.16+0.174:0.52"},
                 {"twitter", "low", "spread", "1"},
                 {"twitter", "high", "spread", "1"},
                 {"friendster", "low", "spread", NULL},
                 {"friendster", "even", "spread", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char dir[DATA_PATH], name[32];
        struct gnn_meta meta;
        struct gnn_err err = {0};
        const struct gnn_registry_entry *entry;
        struct gnn_generate_options options = defaults(2);
        (void)snprintf(name, sizeof name, "%zu", i);
        (void)snprintf(options.order, sizeof options.order, "%s", cases[i].word);
        const struct gnn_prepare_job job = {.out_dir = data_path(dir, *state, name)};
        must(gnn_registry_find(cases[i].name, &entry, &err), &err);
        must(gnn_prepare_generate(entry, 20000, &options, &job, &err), &err);
        const char *const value = param_of(dir, cases[i].key, &meta);
        if (cases[i].value == NULL)
            assert_null(value);
        else
            assert_string_equal(value, cases[i].value);
        (void)snprintf(options.order, sizeof options.order, "0.5:1+0.5:0");
        const bool has_reach = entry->reach.share > 0;
        const enum gnn_status status = gnn_prepare_generate(entry, 20000, &options, &job, &err);
        assert_int_equal(status, GNN_EUSAGE); /* another graph, or no reachable set */
        assert_true((strstr(err.message, "option order requires a reachable set") != NULL) == !has_reach);
    }
}

/* Several processes add widths to one dataset at the same moment, two of them the same: none is lost. */
static void test_widths_at_once(void **state)
{
    enum { PROCESSES = 4 };
    static const uint32_t widths[PROCESSES] = {6, 9, 12, 9};
    char dir[DATA_PATH];
    struct gnn_err err;
    struct gnn_meta meta;
    pid_t processes[PROCESSES];
    struct gnn_generate_options options = defaults(4);
    must(generate(data_path(dir, *state, "d"), 4000, &options, (struct gnn_prepare_job){0}, &err), &err);
    for (int i = 0; i < PROCESSES; i++) {
        processes[i] = fork();
        options.dim = widths[i];
        if (processes[i] == 0)
            _exit(generate(dir, 4000, &options, (struct gnn_prepare_job){0}, &err) == GNN_OK ? 0 : 1);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 1;
        assert_int_equal(waitpid(processes[i], &status, 0), processes[i]);
        assert_int_equal(status, 0);
    }
    must(gnn_read_meta(dir, &meta, &err), &err);
    assert_int_equal(meta.dim_count, 4);
    must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
    assert_int_equal(data_entries(*state), 1);
    data_write(dir, "features-d7", "x", 1);
    assert_int_equal(gnn_prepare_check(dir, false, NULL, NULL, NULL, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "features-d7: meta does not list it"));
}

/* Two processes make the same dataset: both have it. */
static void test_twice_at_once(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    const struct gnn_generate_options options = defaults(4);
    data_path(dir, *state, "d");
    pid_t processes[2];
    for (int i = 0; i < 2; i++) {
        processes[i] = fork();
        if (processes[i] == 0)
            _exit(generate(dir, 4000, &options, (struct gnn_prepare_job){0}, &err) == GNN_OK ? 0 : 1);
    }
    for (int i = 0; i < 2; i++) {
        int status = 1;
        assert_int_equal(waitpid(processes[i], &status, 0), processes[i]);
        assert_int_equal(status, 0);
    }
    must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
    assert_int_equal(data_entries(*state), 1);
}

static void test_scales(void **state)
{
    (void)state;
    struct gnn_err err = {0};
    const struct gnn_registry_entry *entry;
    struct gnn_registry_counts counts;
    assert_int_equal(gnn_registry_find("paper100m", &entry, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "did you mean \"papers100m\""));
    for (entry = gnn_registry; entry->name != NULL; entry++) {
        err = (struct gnn_err){0};
        must(gnn_registry_scale(entry, 1, entry->dim, &counts, &err), &err);
        assert_int_equal(counts.nodes, entry->nodes);
        assert_int_equal(counts.edges, entry->edges);
        assert_true(entry->train + entry->valid + entry->test < entry->nodes);
        assert_int_equal(gnn_registry_scale(entry, UINT32_MAX, entry->dim, &counts, &err), GNN_EUSAGE);
        for (const struct gnn_registry_entry *twin = gnn_registry; twin < entry; twin++)
            assert_string_not_equal(twin->name, entry->name);
    }
}

static void raise_stop(void *ctx, const struct gnn_progress *progress)
{
    if (strcmp(progress->phase, "degrees") == 0 && progress->phase_ended)
        atomic_store((atomic_bool *)ctx, true);
}

static void test_stopped(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err;
    atomic_bool stop = false;
    const struct gnn_generate_options options = defaults(16);
    const struct gnn_prepare_job job = {.progress = raise_stop, .progress_ctx = &stop, .stop = &stop};
    assert_int_equal(generate(data_path(dir, *state, "d"), 1000, &options, job, &err), GNN_ECANCELLED);
    assert_int_equal(data_entries(*state), 0);
}

/* Raised before: degrees are the first that would take long. */
static void test_stopped_while_degrees_are_drawn(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    atomic_bool stop = true;
    const struct gnn_generate_options options = defaults(16);
    const struct gnn_prepare_job job = {.stop = &stop};
    assert_int_equal(generate(data_path(dir, *state, "d"), 1000, &options, job, &err), GNN_ECANCELLED);
    assert_non_null(strstr(err.message, "during degrees"));
}

/* What a killed process left is swept away by the next one, also when its number is a living process's by now, and also
 * when the dataset is there; what a living one writes, which holds its lock, is not. */
static void test_stale(void **state)
{
    char dir[DATA_PATH], dead[DATA_PATH], alive[DATA_PATH], name[64];
    struct gnn_err err;
    const struct gnn_generate_options options = defaults(4);
    (void)snprintf(name, sizeof name, "d.partial-%ld", (long)getppid());
    for (int there = 0; there < 2; there++) {
        assert_int_equal(mkdir(data_path(dead, *state, name), 0777), 0);
        data_write(dead, "indices", "x", 1);
        assert_int_equal(mkdir(data_path(alive, *state, "d.partial-2147483647"), 0777), 0);
        const int lock_fd = open(alive, O_RDONLY | O_DIRECTORY);
        assert_int_equal(flock(lock_fd, LOCK_EX), 0);
        must(generate(data_path(dir, *state, "d"), 10000, &options, (struct gnn_prepare_job){0}, &err), &err);
        assert_false(data_exists(*state, name));
        assert_true(data_exists(*state, "d.partial-2147483647"));
        assert_int_equal(close(lock_fd), 0);
        assert_int_equal(rmdir(alive), 0);
    }
}

/* A tmpfs of 4 MiB: refused before anything is written, also when another file takes the space while degrees are drawn.
 * That a disk fills up while files are written is in fault/output_faults. */
static void fill_disk(void *ctx, const struct gnn_progress *progress)
{
    if (strcmp(progress->phase, "degrees") != 0 || !progress->phase_ended)
        return;
    char *bytes = calloc(1, 3 << 20);
    assert_non_null(bytes);
    data_write(ctx, "hog", bytes, 3 << 20);
    free(bytes);
}

static void test_full_disk(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err;
    if (geteuid() != 0 || mount("tmpfs", *state, "tmpfs", 0, "size=4m") != 0)
        skip_test("no tmpfs of its own: mounting takes root");
    struct gnn_generate_options options = defaults(128);
    const enum gnn_status large =
        generate(data_path(dir, *state, "d"), 1000, &options, (struct gnn_prepare_job){0}, &err);
    const bool large_named = strstr(err.message, "MiB") != NULL && strstr(err.message, "free space") != NULL;
    options.dim = 64;
    const struct gnn_prepare_job job = {.progress = fill_disk, .progress_ctx = *state};
    const enum gnn_status meanwhile = generate(dir, 10000, &options, job, &err);
    const bool path_named = strstr(err.message, dir) == err.message && strstr(err.message, "free space") != NULL;
    const unsigned left = data_entries(*state);
    assert_int_equal(umount(*state), 0); /* before any assertion may leave the function */
    assert_int_equal(large, GNN_ENOSPC);
    assert_true(large_named);
    assert_int_equal(meanwhile, GNN_ENOSPC);
    assert_true(path_named);
    assert_int_equal(left, 1);
}

/* Damage that sizes do not show is found by the full check, and named. */
static void test_check(void **state)
{
    static const struct {
        const char *name, *message;
        size_t offset;
    } cases[] = {
        {"indptr", "/indptr: ", 800}, {"indices", "/indices: ", 4003}, {"labels", "/labels: ", 403},
        {"train", "/train: ", 0},     {"test", "/test: ", 0},          {"features-d4", "/features-d4: ", 402},
    };
    char dir[DATA_PATH];
    struct gnn_err err;
    const struct gnn_generate_options options = defaults(4);
    must(generate(data_path(dir, *state, "d"), 10000, &options, (struct gnn_prepare_job){0}, &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t len = 0;
        char *bytes = data_read(dir, cases[i].name, &len);
        bytes[cases[i].offset] ^= 1;
        data_write(dir, cases[i].name, bytes, len);
        err = (struct gnn_err){0};
        must(gnn_prepare_check(dir, false, NULL, NULL, NULL, &err), &err);
        assert_int_equal(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), GNN_EFORMAT);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: '%s'", i, err.message);
        bytes[cases[i].offset] ^= 1;
        data_write(dir, cases[i].name, bytes, len - 1);
        err = (struct gnn_err){0};
        assert_int_equal(gnn_prepare_check(dir, false, NULL, NULL, NULL, &err), GNN_EFORMAT);
        data_write(dir, cases[i].name, bytes, len);
        free(bytes);
    }
    err = (struct gnn_err){0};
    must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
    assert_int_equal(gnn_prepare_check(*state, false, NULL, NULL, NULL, &err), GNN_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same_bytes, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_every_entry_as_ever, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_the_page_cache_is_left_alone, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_features, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_rows_are_more_or_less_clear, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_graph_of_an_earlier_version, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_filled_order, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_community_is_recorded, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_words_of_orders, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_existing, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_widths_at_once, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_twice_at_once, data_set_up, data_tear_down),
        cmocka_unit_test(test_scales),
        cmocka_unit_test_setup_teardown(test_stopped, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_stopped_while_degrees_are_drawn, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_stale, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_full_disk, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_check, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("generate", tests, NULL, NULL);
}

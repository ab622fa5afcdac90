/* SPDX-License-Identifier: MIT */
/* A dataset without a disk is the dataset that `prepare` writes: offsets, labels, splits, every neighbour, any byte
 * range, and the blocks sampled from it. */
#include "harness/dataset/synthetic.h"

#include "harness/base/rng.h"
#include "harness/sample/sample.h"
#include "tests/support/data_files.h"
#include "tests/support/measured_world.h"
#include "tests/support/memory_source.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *name;
    uint32_t divisor, dim;
    uint64_t seed;
    double popularity, locality, reach;
    enum gnn_id_width id_width;
} cases[] = {
    {"papers100m", 2000, 0, 1, -1, -1, -1, GNN_ID_WIDTH_4},  {"papers100m", 7001, 3, 9, 0.5, 0.6, 0, GNN_ID_WIDTH_4},
    {"papers100m", 7001, 3, 9, 0.5, 0.6, 0, GNN_ID_WIDTH_8}, {"papers100m", 7001, 3, 9, 1.1, -1, 0.3, GNN_ID_WIDTH_8},
    {"twitter", 3000, 8, 1, -1, -1, 0, GNN_ID_WIDTH_4}, /* 35 edges a node, a heavier tail */
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* One case, opened both ways. */
struct both {
    struct gnn_world *world;
    char dir[DATA_PATH];
    struct gnn_dataset *disk;
    struct gnn_synthetic *synthetic;
    const struct gnn_dataset *bare; /* of synthetic */
    void *file;                     /* of lists, as it is */
    gnn_node *indices;              /* the IDs in it */
};

static struct gnn_generate_options options_of(size_t i)
{
    struct gnn_generate_options options;
    gnn_option_defaults(gnn_generate_table, &options);
    options.seed = cases[i].seed;
    options.dim = cases[i].dim;
    options.popularity = cases[i].popularity;
    options.locality = cases[i].locality;
    options.reach = cases[i].reach;
    options.id_width = cases[i].id_width;
    return options;
}

static void open_both(struct gnn_world *world, size_t i, struct both *b)
{
    const struct gnn_registry_entry *entry;
    const struct gnn_generate_options options = options_of(i);
    struct gnn_err err = {0};
    void *state = NULL;
    assert_int_equal(data_set_up(&state), 0);
    b->world = world;
    (void)snprintf(b->dir, sizeof b->dir, "%s", (const char *)state);
    free(state);
    char path[DATA_PATH];
    const struct gnn_prepare_job job = {.out_dir = data_path(path, b->dir, "d")};
    must(gnn_registry_find(cases[i].name, &entry, &err), &err);
    must(gnn_prepare_generate(entry, cases[i].divisor, &options, &job, &err), &err);
    must(gnn_dataset_open(world, path, 0, GNN_F32, gnn_id_width_bytes(cases[i].id_width), &b->disk, &err), &err);
    must(gnn_synthetic_open(world, cases[i].name, &options, cases[i].divisor, &b->synthetic, &err), &err);
    b->bare = gnn_synthetic_dataset(b->synthetic);
    size_t len = 0;
    b->file = data_read(path, cases[i].id_width == GNN_ID_WIDTH_8 ? "indices-8" : "indices", &len);
    assert_int_equal(len, b->disk->edge_count * b->disk->id_bytes);
    b->indices = malloc(b->disk->edge_count * sizeof *b->indices);
    gnn_ids_narrow(b->file, b->disk->id_bytes, b->disk->edge_count, b->indices);
}

static void close_both(struct both *b)
{
    free(b->file);
    free(b->indices);
    gnn_dataset_close(b->world, b->disk);
    gnn_synthetic_close(b->world, b->synthetic);
    void *state = strdup(b->dir);
    (void)data_tear_down(&state);
}

static void expect_same_split(const struct gnn_split *a, const struct gnn_split *b)
{
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->nodes, b->nodes, a->count * sizeof(gnn_node));
}

static void test_same_dataset(void **state)
{
    for (size_t i = 0; i < CASES; i++) {
        struct both b;
        open_both(*state, i, &b);
        assert_string_equal(b.disk->name, b.bare->name);
        assert_int_equal(b.disk->scale_divisor, b.bare->scale_divisor);
        assert_int_equal(b.disk->node_count, b.bare->node_count);
        assert_int_equal(b.disk->edge_count, b.bare->edge_count);
        assert_int_equal(b.disk->dim, b.bare->dim);
        assert_int_equal(b.disk->row_bytes, b.bare->row_bytes);
        assert_int_equal(b.disk->id_bytes, b.bare->id_bytes);
        assert_int_equal(b.disk->indices_bytes, b.bare->indices_bytes);
        assert_string_equal(strrchr(b.disk->indices_path, '/'), strrchr(b.bare->indices_path, '/'));
        assert_int_equal(b.disk->class_count, b.bare->class_count);
        assert_int_equal(b.disk->topology_bytes, b.bare->topology_bytes);
        assert_int_equal(b.disk->feature_bytes, b.bare->feature_bytes);
        assert_memory_equal(b.disk->indptr, b.bare->indptr, (b.bare->node_count + 1ul) * sizeof(uint64_t));
        assert_memory_equal(b.disk->labels, b.bare->labels, b.bare->node_count * sizeof(int32_t));
        expect_same_split(&b.disk->train, &b.bare->train);
        expect_same_split(&b.disk->valid, &b.bare->valid);
        expect_same_split(&b.disk->test, &b.bare->test);
        assert_int_equal(gnn_synthetic_indices(b.synthetic)->size_bytes, b.disk->edge_count * b.disk->id_bytes);
        assert_int_equal(gnn_synthetic_features(b.synthetic)->size_bytes, b.disk->feature_bytes);
        assert_null(gnn_synthetic_features(b.synthetic)->read);
        close_both(&b);
    }
}

/* Every entry in order, entries in random order with runs inside lists, and byte ranges cut anywhere. */
static void test_same_indices(void **state)
{
    enum { COUNT = 20000 };
    for (size_t c = 0; c < CASES; c++) {
        struct both b;
        open_both(*state, c, &b);
        const struct gnn_content *const content = gnn_synthetic_indices(b.synthetic);
        const uint64_t edges = b.disk->edge_count, bytes = content->size_bytes;
        char *const whole = malloc(bytes);
        content->read(content, 0, bytes, whole);
        assert_memory_equal(whole, b.file, bytes);
        struct gnn_rng rng = gnn_rng_at(17 + c);
        uint64_t *const index = malloc(COUNT * sizeof *index);
        uint32_t *const got = malloc(COUNT * sizeof *got);
        for (size_t i = 0; i < COUNT; i++) /* mostly the offset a little further on */
            index[i] = i > 0 && gnn_rng_below(&rng, 8) > 0 && index[i - 1] + 4 < edges
                           ? index[i - 1] + gnn_rng_below(&rng, 4)
                           : gnn_rng_below(&rng, edges);
        index[0] = edges - 1;
        index[1] = 0;
        content->gather_ids(content, index, COUNT, got);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(got[i], b.indices[index[i]]);
        content->gather_ids(content, index, 0, NULL);
        for (int i = 0; i < 500; i++) {
            const uint64_t at = gnn_rng_below(&rng, bytes), most = bytes - at < 9000 ? bytes - at : 9000;
            const uint64_t len = gnn_rng_below(&rng, most + 1);
            memset(whole, 0xa5, len + 1 <= bytes ? len + 1 : len);
            content->read(content, at, len, whole);
            assert_memory_equal(whole, (const char *)b.file + at, len);
            assert_true(len + 1 > bytes || (unsigned char)whole[len] == 0xa5);
        }
        free(got);
        free(index);
        free(whole);
        close_both(&b);
    }
}

/* A neighbour source over a content, as a simulated mapping would be one. */
struct content_source {
    struct gnn_neighbour_source base;
    const struct gnn_content *content;
};

static enum gnn_status content_fetch(struct gnn_neighbour_source *source, const uint64_t *edge_offset, uint64_t count,
                                     gnn_node *out, struct gnn_err *err)
{
    (void)err;
    const struct gnn_content *const content = ((const struct content_source *)source)->content;
    content->gather_ids(content, edge_offset, count, out);
    return GNN_OK;
}

static void content_close(struct gnn_neighbour_source *source)
{
    (void)source;
}

static uint64_t digest_of_epoch(struct gnn_world *world, const struct gnn_dataset *dataset,
                                struct gnn_neighbour_source *source)
{
    enum { BATCH = 50 };
    const struct gnn_sampler_config config = {.seed = 3, .layers = 3, .fanout = {10, 10, 10}};
    struct gnn_err err = {0};
    struct gnn_sampler *sampler = NULL;
    struct gnn_batch *batch = NULL;
    must(gnn_sampler_open(world, &config, dataset, source, &sampler, &err), &err);
    must(gnn_batch_open(world, &batch, &err), &err);
    gnn_node *const order = malloc(dataset->train.count * sizeof *order);
    gnn_epoch_order(3, 0, dataset->train.nodes, dataset->train.count, order);
    for (uint32_t at = 0; at < dataset->train.count; at += BATCH) {
        const uint32_t count = dataset->train.count - at < BATCH ? dataset->train.count - at : BATCH;
        must(gnn_sampler_sample(sampler, 0, at / BATCH, order + at, count, batch, &err), &err);
    }
    struct gnn_sample_counters counters;
    gnn_sampler_counters(sampler, &counters);
    free(order);
    gnn_batch_close(world, batch);
    gnn_sampler_close(sampler);
    return counters.batch_digest;
}

static void test_same_blocks(void **state)
{
    static const struct gnn_neighbour_source_ops ops = {
        .name = "content", .fetch = content_fetch, .close = content_close};
    for (size_t c = 0; c < CASES; c++) {
        struct both b;
        struct gnn_err err = {0};
        struct gnn_neighbour_source *memory = NULL;
        open_both(*state, c, &b);
        struct content_source computed = {.base = {&ops}, .content = gnn_synthetic_indices(b.synthetic)};
        must(gnn_source_memory(b.world, b.indices, b.disk->edge_count, &memory, &err), &err);
        const uint64_t from_disk = digest_of_epoch(b.world, b.disk, memory);
        assert_int_equal(from_disk, digest_of_epoch(b.world, b.bare, &computed.base));
        assert_int_not_equal(from_disk, 0);
        gnn_source_close(memory);
        close_both(&b);
    }
}

/* Each parameter, the width included, changes digest and paths; the same ones give the same. */
static void test_identity(void **state)
{
    struct gnn_world *const world = *state;
    enum { COUNT = 11 };
    struct gnn_generate_options options[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        gnn_option_defaults(gnn_generate_table, &options[i]);
    options[1].seed = 2;
    options[2].dim = 64;
    options[3].popularity = 0.25;
    (void)snprintf(options[4].order, sizeof options[4].order, "0.25:1+0.75:0");
    options[5].label_noise = 0;
    options[6].threads = 7; /* does not change the graph */
    options[7].id_width = GNN_ID_WIDTH_8;
    options[8].reach = 0;
    options[9].votes = 4;
    options[10].signal = 1;
    char digests[COUNT][40];
    for (size_t i = 0; i < COUNT; i++) {
        struct gnn_synthetic *s = NULL;
        struct gnn_err err = {0};
        must(gnn_synthetic_open(world, "papers100m", &options[i], 20000, &s, &err), &err);
        const struct gnn_dataset *const d = gnn_synthetic_dataset(s);
        (void)snprintf(digests[i], sizeof digests[i], "%s", d->digest);
        assert_int_equal(strncmp(d->digest, "procedural:", 11), 0);
        assert_int_equal(strlen(d->digest), 39);
        assert_int_equal(strncmp(d->indices_path, d->dir, strlen(d->dir)), 0);
        assert_int_equal(strncmp(d->features_path, d->dir, strlen(d->dir)), 0);
        gnn_synthetic_close(world, s);
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(i == 6 || j == 6 || strcmp(digests[i], digests[j]) != 0);
    assert_string_equal(digests[6], digests[0]);
    struct gnn_synthetic *s = NULL;
    struct gnn_err err = {0};
    must(gnn_synthetic_open(world, "papers100m", NULL, 20000, &s, &err), &err);
    assert_string_equal(gnn_synthetic_dataset(s)->digest, digests[0]);
    gnn_synthetic_close(world, s);
}

static void test_refused(void **state)
{
    static const struct {
        const char *name;
        uint32_t divisor, dim, levels;
        double popularity;
        enum gnn_status status;
        const char *words[3];
    } refused[] = {
        {"paper100m", 100, 0, 0, 1, GNN_EUSAGE, {"paper100m", "did you mean \"papers100m\""}},
        {"papers100m", 0, 0, 0, 1, GNN_EUSAGE, {"1/0"}},
        {"papers100m", 10000000, 0, 0, 1, GNN_EUSAGE, {"11 nodes", "scale"}},
        {"papers100m", 100, 20000, 0, 1, GNN_EUSAGE, {"20000", "16384"}},
        {"friendster", 100, 0, 0, 1.5, GNN_EUSAGE, {"popularity", "1.5"}},
        {"papers100m", 100000, 0, 0, 1, GNN_EUSAGE, {"reach of 211 nodes", "172 classes", "larger scale"}},
        {"papers100m", 100, 0, 9, 1, GNN_EUSAGE, {"levels 9", "kron"}},
        {"kron", 1, 0, 0, 1, GNN_EUSAGE, {"kron", "prepared on a disk"}},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct gnn_synthetic *s = NULL;
        struct gnn_err err = {0};
        struct gnn_generate_options options;
        gnn_option_defaults(gnn_generate_table, &options);
        options.dim = refused[i].dim;
        options.levels = refused[i].levels;
        options.popularity = refused[i].popularity;
        assert_int_equal(gnn_synthetic_open(*state, refused[i].name, &options, refused[i].divisor, &s, &err),
                         refused[i].status);
        assert_null(s);
        for (size_t k = 0; k < 3 && refused[i].words[k] != NULL; k++)
            if (strstr(err.message, refused[i].words[k]) == NULL)
                fail_msg("case %zu: '%s' lacks '%s'", i, err.message, refused[i].words[k]);
    }
    gnn_synthetic_close(*state, NULL);
}

/* What does not fit is said before it is allocated, with the scale that would fit. */
static void test_too_large(void **state)
{
    const struct gnn_registry_entry *entry;
    struct gnn_registry_counts counts;
    struct gnn_err err = {0};
    const struct gnn_registry_entry many = {
        .name = "many", .nodes = UINT64_C(9000000000), .edges = UINT64_C(90000000000), .train = 1};
    assert_int_equal(gnn_registry_scale(&many, 1, 4, &counts, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "9000000000 nodes"));
    assert_non_null(strstr(err.message, "1/3 or less"));
    err = (struct gnn_err){0};
    must(gnn_registry_scale(&many, 3, 4, &counts, &err), &err);

    must(gnn_registry_find("papers100m", &entry, &err), &err);
    must(gnn_registry_scale(entry, 1, 128, &counts, &err), &err);
    const uint64_t papers_bytes = gnn_synthetic_host_bytes(&counts);
    assert_true(papers_bytes > 1300000000 && papers_bytes < 2000000000);

    must(gnn_registry_find("hyperlink2012", &entry, &err), &err);
    must(gnn_registry_scale(entry, 1, entry->dim, &counts, &err), &err);
    const uint64_t needed = gnn_synthetic_host_bytes(&counts);
    struct gnn_synthetic *s = NULL;
    FILE *const info = fopen("/proc/meminfo", "r");
    uint64_t total_kib = 0;
    assert_non_null(info);
    assert_int_equal(fscanf(info, "MemTotal: %lu kB", &total_kib), 1);
    assert_int_equal(fclose(info), 0);
    if (total_kib * 1024 >= needed)
        skip_test("%lu GiB of memory hold what the case expects to be refused", total_kib >> 20);
    assert_int_equal(gnn_synthetic_open(*state, "hyperlink2012", NULL, 1, &s, &err), GNN_ENOTSUP);
    assert_non_null(strstr(err.message, "hyperlink2012 at 1/1"));
    assert_non_null(strstr(err.message, "3563602789 nodes"));
    assert_non_null(strstr(err.message, "--scale 1/"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_dataset), cmocka_unit_test(test_same_indices), cmocka_unit_test(test_same_blocks),
        cmocka_unit_test(test_identity),     cmocka_unit_test(test_refused),      cmocka_unit_test(test_too_large),
    };
    return cmocka_run_group_tests_name("synthetic", tests, measured_world_open, measured_world_close);
}

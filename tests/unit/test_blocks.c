/* SPDX-License-Identifier: MIT */
/* Checksums of blocks: what they are of, which damage a sample finds, what it leaves in the page cache, and how a
 * dataset without them gets them. */
#include "harness/base/rng.h"
#include "harness/dataset/blocks.h"
#include "harness/dataset/prepare.h"
#include "harness/dataset/read.h"
#include "harness/dataset/uncached.h"
#include "harness/measure/page_cache.h"
#include "harness/storage/block_sums.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"
#include "tests/support/seed.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* papers100m at 1/1000: 111060 rows of 80 floats take 35539200 B, which is 135 blocks and a part of one. Its lists take
 * less than 32 blocks. */
enum { DIVISOR = 1000, DIM = 80, ID_BYTES = 4, BLOCKS = 136, OF_FEATURES = GNN_BLOCKS_SAMPLED / 2 };

static enum gnn_status generate(const char *dir, uint32_t divisor, uint32_t dim, struct gnn_err *err)
{
    const struct gnn_registry_entry *entry;
    struct gnn_generate_options options;
    const struct gnn_prepare_job job = {.out_dir = dir};
    gnn_option_defaults(gnn_generate_table, &options);
    options.dim = dim;
    GNN_TRY(gnn_registry_find("papers100m", &entry, err));
    return gnn_prepare_generate(entry, divisor, &options, &job, err);
}

struct prepared {
    char *root;
    char dir[DATA_PATH], features[DATA_PATH + 32];
    uint64_t list_blocks;
    uint64_t feature_bytes;
};

static int prepare(void **state)
{
    struct prepared *const p = calloc(1, sizeof *p);
    struct gnn_meta meta;
    struct gnn_err err = {0};
    assert_non_null(p);
    (void)data_set_up((void **)&p->root);
    must(generate(data_path(p->dir, p->root, "d"), DIVISOR, DIM, &err), &err);
    must(gnn_read_meta(p->dir, &meta, &err), &err);
    (void)snprintf(p->features, sizeof p->features, "%s/features-d80", p->dir);
    p->list_blocks = gnn_block_count(gnn_meta_find_file(&meta, "indices")->bytes);
    p->feature_bytes = gnn_meta_find_file(&meta, "features-d80")->bytes;
    assert_in_range(p->list_blocks, 20, OF_FEATURES); /* all of them are compared */
    assert_int_equal(gnn_block_count(p->feature_bytes), BLOCKS);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct prepared *const p = *state;
    void *root = p->root;
    (void)data_tear_down(&root);
    free(p);
    return 0;
}

static enum gnn_status sample(const struct prepared *p, uint64_t seed, struct gnn_blocks_sample *out,
                              struct gnn_err *err)
{
    *err = (struct gnn_err){0};
    return gnn_blocks_compare_sample(p->dir, DIM, GNN_F32, ID_BYTES, seed, out, err);
}

/* Exchanges bytes [offset, offset + count) of the file with those in `bytes`. */
static void swap(const char *path, uint64_t offset, unsigned char *bytes, uint64_t count)
{
    unsigned char *const old = malloc(count);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_non_null(old);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, old, count, (off_t)offset), count);
    assert_int_equal(pwrite(fd, bytes, count, (off_t)offset), count);
    assert_int_equal(close(fd), 0);
    memcpy(bytes, old, count);
    free(old);
}

/* ---- the checksums ---- */

/* However a stream is cut, a checksum is that of its block in one piece; the last block may be short or missing. */
static void sums_are_of_whole_blocks(void **state)
{
    static const uint64_t lengths[] = {0, 1, GNN_BLOCK_BYTES - 1, GNN_BLOCK_BYTES, 3 * GNN_BLOCK_BYTES + 4097};
    unsigned char *const data = malloc(4 * GNN_BLOCK_BYTES);
    struct gnn_rng rng = gnn_rng_at(test_seed());
    struct gnn_err err = {0};
    (void)state;
    assert_non_null(data);
    for (uint64_t i = 0; i < 4 * GNN_BLOCK_BYTES; i++)
        data[i] = (unsigned char)(gnn_mix64(i) >> 7);
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (int turn = 0; turn < 5; turn++) {
            struct gnn_block_sums *sums;
            const uint64_t *of;
            uint64_t count;
            must(gnn_block_sums_open(&sums, &err), &err);
            for (uint64_t at = 0; at < lengths[l];) {
                const uint64_t piece = gnn_min_u64(lengths[l] - at, 1 + gnn_rng_below(&rng, 2 * GNN_BLOCK_BYTES));
                gnn_block_sums_add(sums, data + at, piece);
                at += piece;
            }
            must(gnn_block_sums_end(sums, &of, &count, &err), &err);
            assert_int_equal(count, gnn_block_count(lengths[l]));
            for (uint64_t b = 0; b < count; b++)
                assert_int_equal(of[b], gnn_block_sum(data + b * GNN_BLOCK_BYTES,
                                                      gnn_min_u64(lengths[l] - b * GNN_BLOCK_BYTES, GNN_BLOCK_BYTES)));
            gnn_block_sums_close(sums);
        }
    gnn_block_sums_close(NULL);
    free(data);
}

/* What a preparation wrote next to a file, block by block. */
static void a_preparation_writes_them(void **state)
{
    const struct prepared *const p = *state;
    static const char *const names[] = {"indices", "features-d80"};
    for (int i = 0; i < 2; i++) {
        char blocks[GNN_META_NAME];
        size_t len = 0, sums_len = 0;
        gnn_meta_blocks_name(names[i], blocks);
        char *const bytes = data_read(p->dir, names[i], &len);
        uint64_t *const sums = (uint64_t *)(void *)data_read(p->dir, blocks, &sums_len);
        assert_non_null(sums);
        assert_int_equal(sums_len, gnn_block_count(len) * 8);
        for (uint64_t b = 0; b * GNN_BLOCK_BYTES < len; b++)
            assert_int_equal(sums[b], gnn_block_sum(bytes + b * GNN_BLOCK_BYTES,
                                                    gnn_min_u64(len - b * GNN_BLOCK_BYTES, GNN_BLOCK_BYTES)));
        free(sums);
        free(bytes);
    }
}

/* ---- a sample ---- */

static void a_sound_dataset_passes(void **state)
{
    const struct prepared *const p = *state;
    struct gnn_blocks_sample s;
    struct gnn_err err;
    for (uint64_t seed = 0; seed < 3; seed++) {
        must(sample(p, seed, &s, &err), &err);
        assert_int_equal(s.compared, OF_FEATURES + p->list_blocks);
        assert_false(s.unknown);
    }
}

/* A file of zeros has the size and the meta it had: any seed finds it, and the message names the place. */
static void zeros_are_found(void **state)
{
    const struct prepared *const p = *state;
    struct gnn_blocks_sample s;
    struct gnn_err err;
    unsigned char *const zeros = calloc(1, p->feature_bytes);
    assert_non_null(zeros);
    swap(p->features, 0, zeros, p->feature_bytes);
    for (uint64_t seed = 0; seed < 3; seed++) {
        assert_int_equal(sample(p, seed, &s, &err), GNN_EFORMAT);
        must_show(err.message, "/features-d80: the 262144 B at offset ");
        must_show(err.message, " have checksum ");
        must_show(err.message, ", expected ");
        must_show(err.message, "remove the dataset and prepare it again");
    }
    swap(p->features, 0, zeros, p->feature_bytes);
    must(sample(p, 0, &s, &err), &err);
    free(zeros);
}

/* One part in 32 of the features that is damaged whole is found by any seed: a block of each part is compared. */
static void a_damaged_part_is_found(void **state)
{
    const struct prepared *const p = *state;
    for (uint64_t part = 0; part < OF_FEATURES; part += 5) {
        const uint64_t first = BLOCKS * part / OF_FEATURES * GNN_BLOCK_BYTES;
        const uint64_t end = gnn_min_u64(BLOCKS * (part + 1) / OF_FEATURES * GNN_BLOCK_BYTES, p->feature_bytes);
        unsigned char *const bytes = calloc(1, end - first);
        struct gnn_blocks_sample s;
        struct gnn_err err;
        assert_non_null(bytes);
        swap(p->features, first, bytes, end - first);
        for (uint64_t seed = 0; seed < 4; seed++)
            assert_int_equal(sample(p, seed, &s, &err), GNN_EFORMAT);
        swap(p->features, first, bytes, end - first);
        free(bytes);
    }
}

/* Of a file with few blocks every byte counts, the last ones too. */
static void any_byte_of_a_small_file_is_found(void **state)
{
    const struct prepared *const p = *state;
    char path[DATA_PATH + 32];
    struct stat info;
    struct gnn_blocks_sample s;
    struct gnn_err err;
    (void)snprintf(path, sizeof path, "%s/indices", p->dir);
    assert_int_equal(stat(path, &info), 0);
    const uint64_t places[] = {0, GNN_BLOCK_BYTES, (uint64_t)info.st_size - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        unsigned char byte = 0;
        swap(path, places[i], &byte, 1);
        unsigned char other = byte ^ 1;
        swap(path, places[i], &other, 1);
        assert_int_equal(sample(p, 9, &s, &err), GNN_EFORMAT);
        must_show(err.message, "/indices: ");
        swap(path, places[i], &byte, 1);
    }
    must(sample(p, 9, &s, &err), &err);
}

/* The seed decides which blocks are compared: one damaged block is found by some seeds, each time by the same. A part
 * of the features has four or five blocks, so about 9 of 40 seeds look at this one. */
static void the_seed_chooses_the_blocks(void **state)
{
    const struct prepared *const p = *state;
    unsigned char bytes[64] = {0};
    uint32_t found = 0;
    swap(p->features, UINT64_C(70) * GNN_BLOCK_BYTES + 12345, bytes, sizeof bytes);
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct gnn_blocks_sample s;
        struct gnn_err err;
        const enum gnn_status first = sample(p, seed, &s, &err);
        found += first == GNN_EFORMAT;
        assert_int_equal(sample(p, seed, &s, &err), first);
    }
    assert_in_range(found, 2, 20);
    swap(p->features, UINT64_C(70) * GNN_BLOCK_BYTES + 12345, bytes, sizeof bytes);
}

/* A start that is to be cold stays cold, where the file system has direct I/O. */
static void nothing_stays_in_the_page_cache(void **state)
{
    const struct prepared *const p = *state;
    const int fd = open(p->features, O_RDONLY | O_DIRECT | O_CLOEXEC);
    struct gnn_residency residency;
    struct gnn_blocks_sample s;
    struct gnn_err err = {0};
    if (fd < 0)
        skip_test("no direct I/O in the temporary directory");
    (void)close(fd);
    const char *const paths[] = {p->features};
    must(gnn_cache_make_cold(paths, 1, &residency, &err), &err);
    if (residency.resident_bytes != 0)
        skip_test("the page cache of %s cannot be emptied", p->features);
    must(sample(p, 3, &s, &err), &err);
    must(gnn_cache_residency(p->features, &residency, &err), &err);
    assert_int_equal(residency.resident_bytes, 0);
}

/* What the run itself reports when it opens the dataset is left to it: another size, a missing file or width. */
static void other_faults_are_left_to_the_run(void **state)
{
    char dir[DATA_PATH], from[DATA_PATH + 32], to[DATA_PATH + 32];
    struct gnn_blocks_sample s;
    struct gnn_err err = {0};
    must(generate(data_path(dir, *state, "d"), 10000, 8, &err), &err);
    must(gnn_blocks_compare_sample(dir, 8, GNN_F32, 4, 1, &s, &err), &err);
    const uint64_t both = s.compared;
    must(gnn_blocks_compare_sample(dir, 8, GNN_F32, 8, 1, &s, &err), &err); /* no lists of that width */
    assert_in_range(s.compared, 1, both - 1);
    must(gnn_blocks_compare_sample(dir, 9, GNN_F32, 8, 1, &s, &err), &err);
    assert_int_equal(s.compared, 0);
    (void)snprintf(from, sizeof from, "%s/features-d8", dir);
    (void)snprintf(to, sizeof to, "%s/other", dir);
    assert_int_equal(truncate(from, 100), 0);
    must(gnn_blocks_compare_sample(dir, 8, GNN_F32, 8, 1, &s, &err), &err);
    assert_int_equal(s.compared, 0);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(mkfifo(from, 0600), 0);
    must(gnn_blocks_compare_sample(dir, 8, GNN_F32, 8, 1, &s, &err), &err);
    assert_int_equal(s.compared, 0);
    assert_int_equal(gnn_blocks_compare_sample(*state, 8, GNN_F32, 8, 1, &s, &err), GNN_ENOENT);
}

/* Checksums that are damaged themselves are not the data's fault. */
static void damaged_sums_are_named(void **state)
{
    char dir[DATA_PATH], path[DATA_PATH + 32];
    struct gnn_blocks_sample s;
    struct gnn_err err = {0};
    must(generate(data_path(dir, *state, "d"), 10000, 8, &err), &err);
    size_t len;
    char *const sums = data_read(dir, "blocks-indices", &len);
    sums[0] ^= 1;
    data_write(dir, "blocks-indices", sums, len);
    assert_int_equal(gnn_blocks_compare_sample(dir, 8, GNN_F32, 4, 1, &s, &err), GNN_EFORMAT);
    must_show(err.message, "/blocks-indices: checksum ");
    sums[0] ^= 1;
    data_write(dir, "blocks-indices", sums, len - 1);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_blocks_compare_sample(dir, 8, GNN_F32, 4, 1, &s, &err), GNN_EFORMAT);
    must_show(err.message, "/blocks-indices: shorter than the ");
    char *const longer = calloc(1, len + 1);
    assert_non_null(longer);
    memcpy(longer, sums, len);
    data_write(dir, "blocks-indices", longer, len + 1);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), GNN_EFORMAT);
    must_show(err.message, "/blocks-indices: longer than the ");
    (void)snprintf(path, sizeof path, "%s/blocks-indices", dir);
    assert_int_equal(unlink(path), 0);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_blocks_compare_sample(dir, 8, GNN_F32, 4, 1, &s, &err), GNN_ENOENT);
    must_show(err.message, "/blocks-indices");
    free(longer);
    free(sums);
}

/* ---- datasets without them ---- */

static void remove_sums(const char *dir)
{
    static const char *const names[] = {"blocks-indices", "blocks-features-d8"};
    data_drop_blocks(dir);
    for (int i = 0; i < 2; i++) {
        char path[DATA_PATH + 32];
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        assert_int_equal(unlink(path), 0);
    }
}

/* Prepared by an earlier build: it opens, nothing is compared and the caller is told so. Added, they are the bytes that
 * a preparation writes today, and the digest stays what it was. */
static void they_are_added_later(void **state)
{
    char dir[DATA_PATH], before[GNN_CHECKSUM_TEXT], after[GNN_CHECKSUM_TEXT];
    struct gnn_blocks_sample s;
    struct gnn_err err = {0};
    struct gnn_meta meta;
    size_t made_len, added_len, meta_len, again_len;
    must(generate(data_path(dir, *state, "d"), 10000, 8, &err), &err);
    must(gnn_read_meta(dir, &meta, &err), &err);
    gnn_meta_digest(&meta, 8, GNN_F32, 4, before);
    char *const made_meta = data_read(dir, "meta", &meta_len);
    char *const made = data_read(dir, "blocks-features-d8", &made_len);
    remove_sums(dir);
    must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
    must(gnn_blocks_compare_sample(dir, 8, GNN_F32, 4, 1, &s, &err), &err);
    assert_int_equal(s.compared, 0);
    assert_true(s.unknown);
    must(gnn_prepare_add_checksums(&(struct gnn_prepare_job){.out_dir = dir}, &err), &err);
    char *const added = data_read(dir, "blocks-features-d8", &added_len);
    char *const again = data_read(dir, "meta", &again_len);
    assert_int_equal(added_len, made_len);
    assert_memory_equal(added, made, made_len);
    assert_int_equal(again_len, meta_len);
    assert_memory_equal(again, made_meta, meta_len);
    must(gnn_read_meta(dir, &meta, &err), &err);
    gnn_meta_digest(&meta, 8, GNN_F32, 4, after);
    assert_string_equal(before, after);
    must(gnn_blocks_compare_sample(dir, 8, GNN_F32, 4, 1, &s, &err), &err);
    assert_false(s.unknown);
    assert_int_equal(data_entries(*state), 1); /* no partial directory is left */
    must(gnn_prepare_add_checksums(&(struct gnn_prepare_job){.out_dir = dir}, &err), &err); /* nothing to do */
    free(made_meta);
    free(made);
    free(added);
    free(again);
}

/* What is damaged already is not made good by new checksums. */
static void damaged_files_get_none(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    const struct gnn_prepare_job job = {.out_dir = dir};
    must(generate(data_path(dir, *state, "d"), 10000, 8, &err), &err);
    remove_sums(dir);
    size_t len;
    char *const bytes = data_read(dir, "features-d8", &len);
    bytes[5000] ^= 1;
    data_write(dir, "features-d8", bytes, len);
    assert_int_equal(gnn_prepare_add_checksums(&job, &err), GNN_EFORMAT);
    must_show(err.message, "/features-d8: checksum ");
    assert_false(data_exists(dir, "blocks-indices"));
    assert_int_equal(data_entries(*state), 1);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_prepare_add_checksums(&(struct gnn_prepare_job){.out_dir = *state}, &err), GNN_ENOENT);
    const atomic_bool stop = true;
    bytes[5000] ^= 1;
    data_write(dir, "features-d8", bytes, len);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_prepare_add_checksums(&(struct gnn_prepare_job){.out_dir = dir, .stop = &stop}, &err),
                     GNN_ECANCELLED);
    assert_false(data_exists(dir, "blocks-indices"));
    free(bytes);
}

/* A width that is added to such a dataset has its own, the others still have none. */
static void an_added_width_has_its_own(void **state)
{
    char dir[DATA_PATH];
    struct gnn_err err = {0};
    struct gnn_meta meta;
    struct gnn_blocks_sample s;
    must(generate(data_path(dir, *state, "d"), 10000, 8, &err), &err);
    remove_sums(dir);
    must(generate(dir, 10000, 5, &err), &err);
    must(gnn_read_meta(dir, &meta, &err), &err);
    assert_non_null(gnn_meta_blocks(&meta, "features-d5"));
    assert_null(gnn_meta_blocks(&meta, "features-d8"));
    assert_true(data_exists(dir, "blocks-features-d5"));
    must(gnn_blocks_compare_sample(dir, 5, GNN_F32, 4, 1, &s, &err), &err);
    assert_true(s.unknown); /* the lists */
    assert_true(s.compared > 0);
    must(gnn_prepare_check(dir, true, NULL, NULL, NULL, &err), &err);
}

/* ---- the check of all blocks ---- */

/* Damage that the files' own checksums would find after a pass is named by its block. */
static void the_check_names_the_block(void **state)
{
    const struct prepared *const p = *state;
    struct gnn_err err = {0};
    unsigned char bytes[4] = {1, 2, 3, 4};
    swap(p->features, UINT64_C(99) * GNN_BLOCK_BYTES + 8, bytes, sizeof bytes);
    assert_int_equal(gnn_prepare_check(p->dir, true, NULL, NULL, NULL, &err), GNN_EFORMAT);
    must_show(err.message, "/features-d80: the 262144 B at offset 25952256 have checksum ");
    swap(p->features, UINT64_C(99) * GNN_BLOCK_BYTES + 8, bytes, sizeof bytes);
    err = (struct gnn_err){0};
    must(gnn_prepare_check(p->dir, true, NULL, NULL, NULL, &err), &err);
}

/* ---- reads past the page cache ---- */

/* Any bytes of a file, at any offset, up to its end and not beyond. */
static void any_bytes_are_read(void **state)
{
    enum { BYTES = 20000 };
    unsigned char data[BYTES];
    char path[DATA_PATH];
    struct gnn_uncached file;
    struct gnn_err err = {0};
    struct gnn_rng rng = gnn_rng_at(test_seed());
    const void *at;
    for (int i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(gnn_mix64((uint64_t)i) >> 3);
    data_write(*state, "file", data, sizeof data);
    must(gnn_uncached_open(data_path(path, *state, "file"), 9000, &file, &err), &err);
    for (int i = 0; i < 200; i++) {
        const uint64_t bytes = 1 + gnn_rng_below(&rng, 9000), offset = gnn_rng_below(&rng, BYTES - bytes + 1);
        must(gnn_uncached_read(&file, offset, bytes, &at, &err), &err);
        assert_memory_equal(at, data + offset, bytes);
    }
    must(gnn_uncached_read(&file, BYTES - 1, 1, &at, &err), &err);
    assert_int_equal(*(const unsigned char *)at, data[BYTES - 1]);
    assert_int_equal(gnn_uncached_read(&file, BYTES - 1, 2, &at, &err), GNN_ESHORT);
    must_show(err.message, "/file: ends after 20000 B, expected 20001");
    must(gnn_uncached_read(&file, 0, 10, &at, &err), &err); /* and goes on */
    assert_memory_equal(at, data, 10);
    gnn_uncached_close(&file);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_uncached_open(*state, 10, &file, &err), GNN_EFORMAT);
    gnn_uncached_close(&file);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_uncached_open(data_path(path, *state, "none"), 10, &file, &err), GNN_ENOENT);
    gnn_uncached_close(&file);
}

int main(void)
{
    const struct CMUnitTest shared[] = {
        cmocka_unit_test(sums_are_of_whole_blocks),    cmocka_unit_test(a_preparation_writes_them),
        cmocka_unit_test(a_sound_dataset_passes),      cmocka_unit_test(zeros_are_found),
        cmocka_unit_test(a_damaged_part_is_found),     cmocka_unit_test(any_byte_of_a_small_file_is_found),
        cmocka_unit_test(the_seed_chooses_the_blocks), cmocka_unit_test(nothing_stays_in_the_page_cache),
        cmocka_unit_test(the_check_names_the_block),
    };
    const struct CMUnitTest own[] = {
        cmocka_unit_test_setup_teardown(other_faults_are_left_to_the_run, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(damaged_sums_are_named, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(they_are_added_later, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(damaged_files_get_none, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(an_added_width_has_its_own, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(any_bytes_are_read, data_set_up, data_tear_down),
    };
    const int failed = cmocka_run_group_tests_name("blocks of a dataset", shared, prepare, tear_down);
    return failed + cmocka_run_group_tests_name("other datasets", own, NULL, NULL);
}

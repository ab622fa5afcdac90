/* SPDX-License-Identifier: MIT */
/* Members of zip archives, read in place: stored and deflated, with 32-bit and 64-bit sizes, whole, in pieces and with
 * seeks; archives that are damaged, truncated, encrypted or packed by another method. */
#include "harness/dataset/input.h"
#include "harness/dataset/zip.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"
#include "tests/support/zip_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES = 200000 };

static unsigned char *pattern(void)
{
    unsigned char *const bytes = malloc(BYTES);
    assert_non_null(bytes);
    for (unsigned i = 0; i < BYTES; i++)
        bytes[i] = i < BYTES / 2 ? (unsigned char)(i * 7 + i / 256 + i * i / 9973) : (unsigned char)(i % 3);
    return bytes;
}

static void write_zip(const char *dir, const unsigned char *bytes, bool deflated, bool zip64)
{
    struct zip_file zip;
    zip_file_open(&zip, dir, "a.npz", deflated, zip64);
    zip_file_add(&zip, "first.npy", "1234567", 7);
    zip_file_add(&zip, "second.npy", bytes, BYTES);
    zip_file_close(&zip);
}

static void test_members(void **state)
{
    unsigned char *const bytes = pattern(), *const read = malloc(BYTES);
    char path[DATA_PATH];
    for (unsigned form = 0; form < 4; form++) {
        struct gnn_input *input;
        struct gnn_err err = {0};
        uint64_t got = 0, least, most;
        write_zip(*state, bytes, form & 1, form & 2);
        must(gnn_input_open(data_path(path, *state, "a.npz/second.npy"), &input, &err), &err);
        assert_int_equal(gnn_input_seeks(input), (form & 1) == 0);
        gnn_input_unpacked_bytes(input, &least, &most);
        assert_int_equal(least, BYTES);
        assert_int_equal(most, BYTES);
        for (uint64_t at = 0, step = 1; at < BYTES; at += got, step = step * 3 + 1) {
            must(gnn_input_read(input, read + at, step, &got, &err), &err);
            assert_int_equal(got, gnn_min_u64(step, BYTES - at));
        }
        assert_memory_equal(read, bytes, BYTES);
        must(gnn_input_seek(input, 0, &err), &err);
        for (uint64_t at = 0; at < BYTES; at += got) /* the last of its input is taken long before the last number */
            must(gnn_input_read(input, read + at, 7, &got, &err), &err);
        assert_memory_equal(read, bytes, BYTES);
        must(gnn_input_read(input, read, 1, &got, &err), &err);
        assert_int_equal(got, 0);
        for (uint64_t to = 190000; to > 1000; to = to * 3 / 5) { /* backwards and, by the skip, forwards */
            must(gnn_input_seek(input, to, &err), &err);
            must(gnn_input_read(input, read, 10, &got, &err), &err);
            assert_memory_equal(read, bytes + to, 10);
            must(gnn_input_skip(input, 70, &err), &err);
            must(gnn_input_read(input, read, 10, &got, &err), &err);
            assert_memory_equal(read, bytes + to + 80, 10);
        }
        gnn_input_close(input);
        assert_int_equal(gnn_input_open(data_path(path, *state, "a.npz/third.npy"), &input, &err), GNN_ENOENT);
        assert_non_null(strstr(err.message, "has no member third.npy"));
    }
    free(bytes);
    free(read);
}

static enum gnn_status read_all(const char *dir, struct gnn_err *err)
{
    char path[DATA_PATH], piece[3000];
    struct gnn_input *input;
    uint64_t got = 1;
    *err = (struct gnn_err){0};
    GNN_TRY(gnn_input_open(data_path(path, dir, "a.npz/second.npy"), &input, err));
    enum gnn_status status = GNN_OK;
    while (status == GNN_OK && got > 0)
        status = gnn_input_read(input, piece, sizeof piece, &got, err);
    gnn_input_close(input);
    return status;
}

/* An archive that was written to a pipe: the header of a member has zeros in the place of checksum and sizes, which
 * follow the data. Those of the directory count. */
static void test_data_descriptors(void **state)
{
    unsigned char *const bytes = pattern();
    for (unsigned deflated = 0; deflated < 2; deflated++) {
        struct zip_file zip;
        struct gnn_err err;
        size_t len;
        zip_file_open(&zip, *state, "a.npz", deflated != 0, false);
        zip_file_add(&zip, "second.npy", bytes, BYTES);
        const long data_end = ftell(zip.file);
        const uint32_t descriptor[4] = {0x08074b50, zip.member[0].crc, (uint32_t)zip.member[0].packed, BYTES};
        assert_true(data_end > 0);
        assert_int_equal(fwrite(descriptor, sizeof descriptor, 1, zip.file), 1);
        zip_file_close(&zip);
        char *const whole = data_read(*state, "a.npz", &len);
        whole[6] |= 8;
        memset(whole + 14, 0, 12);
        whole[data_end + (long)sizeof descriptor + 8] |= 8;
        assert_memory_equal(whole + data_end + sizeof descriptor, "PK\1\2", 4);
        data_write(*state, "a.npz", whole, len);
        must(read_all(*state, &err), &err);
        free(whole);
    }
    free(bytes);
}

/* Every length and every changed byte of an archive ends in the data or in an error. A changed byte of the data never
 * passes. */
static void test_damage(void **state)
{
    unsigned char *const bytes = pattern();
    for (unsigned form = 0; form < 4; form++) {
        struct gnn_err err;
        size_t len;
        write_zip(*state, bytes, form & 1, form & 2);
        char *const whole = data_read(*state, "a.npz", &len);
        for (size_t cut = 0; cut < len; cut += 1U + (cut < len - 500 ? 4999U : 0U)) {
            data_write(*state, "a.npz", whole, cut);
            if (read_all(*state, &err) != GNN_EFORMAT)
                fail_msg("form %u cut at %zu of %zu: '%s'", form, cut, len, err.message);
        }
        for (size_t at = 200; at < len; at += 1U + (at < len - 500 ? 1013U : 0U)) {
            whole[at] ^= 0x10;
            data_write(*state, "a.npz", whole, len);
            if (read_all(*state, &err) == GNN_OK && at < len - 500)
                fail_msg("form %u changed at %zu of %zu", form, at, len);
            whole[at] ^= 0x10;
        }
        free(whole);
    }
    free(bytes);
}

/* Changes two bytes of the first entry of the central directory. */
static void change_entry(const char *dir, size_t offset, unsigned value)
{
    size_t len, at = 0;
    char *const whole = data_read(dir, "a.npz", &len);
    while (memcmp(whole + at, "PK\1\2", 4) != 0)
        at++;
    whole[at + offset] = (char)(value & 255);
    whole[at + offset + 1] = (char)(value >> 8);
    data_write(dir, "a.npz", whole, len);
    free(whole);
}

static void test_refused(void **state)
{
    static const struct {
        size_t offset;
        unsigned value;
        const char *message;
    } cases[] = {
        {8, 1, "is encrypted: unpack the archive with `unzip "},
        {10, 93, "is compressed by method 93, expected 0 (stored) or 8 (deflated): unpack it with `python3 -m zipfile"},
        {24, 60000, "a stored member has two sizes"},
        {42, 60000, "a part is outside the file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct zip_file zip;
        struct gnn_err err;
        zip_file_open(&zip, *state, "a.npz", false, false);
        zip_file_add(&zip, "second.npy", "1234567", 7);
        zip_file_close(&zip);
        must(read_all(*state, &err), &err);
        change_entry(*state, cases[i].offset, cases[i].value);
        if (read_all(*state, &err) != GNN_EFORMAT || strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: '%s'", i, err.message);
    }
    struct gnn_err err;
    data_write(*state, "a.npz", "this is no archive, but more than 22 bytes", 42);
    assert_int_equal(read_all(*state, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "no zip archive"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_members, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_data_descriptors, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_damage, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_refused, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("zip", tests, NULL, NULL);
}

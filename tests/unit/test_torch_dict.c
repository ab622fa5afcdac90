/* SPDX-License-Identifier: MIT */
/* Dictionaries of splits as torch.save writes them: tensors, views and masks in files next to the pickle, NumPy arrays
 * in it, protocols 2 and 4; and files that are something else. The operations are those that pickletools shows of files
 * of PyTorch 2.15; the numbers are this test's own. */
#include "harness/dataset/torch_dict.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"
#include "tests/support/zip_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- writing pickles, operation by operation ---- */

struct text {
    unsigned char bytes[4096];
    size_t len;
};

static void add(struct text *t, const void *bytes, size_t len)
{
    assert_true(t->len + len <= sizeof t->bytes);
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
}

#define ADD(t, literal) add((t), (literal), sizeof(literal) - 1)

static void add_word(struct text *t, const char *word)
{
    const unsigned char head[5] = {'X', (unsigned char)strlen(word)};
    add(t, head, sizeof head);
    add(t, word, strlen(word));
}

static void add_count(struct text *t, unsigned count)
{
    const unsigned char bytes[] = {'K', (unsigned char)count};
    add(t, bytes, sizeof bytes);
}

/* torch._utils._rebuild_tensor_v2(storage, first, (size,), (1,), False, OrderedDict()) */
static void add_tensor(struct text *t, const char *type, const char *key, unsigned all, unsigned first, unsigned size)
{
    ADD(t, "ctorch._utils\n_rebuild_tensor_v2\n((");
    add_word(t, "storage");
    add(t, "ctorch\n", 7);
    add(t, type, strlen(type));
    ADD(t, "\n");
    add_word(t, key);
    add_word(t, "cpu");
    add_count(t, all);
    ADD(t, "tQ");
    add_count(t, first);
    add_count(t, size);
    ADD(t, "\x85"
           "K\x01\x85\x89"
           "ccollections\nOrderedDict\n)RtR");
}

/* The bytes of little-endian int64 as text, in which each byte from 128 on takes two. */
static void add_array(struct text *t, const int64_t *items, unsigned count)
{
    unsigned char text[1024];
    unsigned used = 0;
    for (unsigned i = 0; i < count * 8; i++) {
        const unsigned char byte = ((const unsigned char *)items)[i];
        if (byte >= 128)
            text[used++] = (unsigned char)(0xc0 | byte >> 6);
        text[used++] = byte >= 128 ? (unsigned char)(0x80 | (byte & 63)) : byte;
    }
    ADD(t, "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85");
    ADD(t, "c_codecs\nencode\n");
    add_word(t, "b");
    add_word(t, "latin1");
    ADD(t, "\x86RtR(K\x01");
    add_count(t, count);
    ADD(t, "\x85"
           "cnumpy\ndtype\n");
    add_word(t, "i8");
    ADD(t, "\x89\x88\x87R(K\x03");
    add_word(t, "<");
    ADD(t, "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
           "c_codecs\nencode\n");
    const unsigned char head[] = {'X', (unsigned char)(used & 255), (unsigned char)(used >> 8), 0, 0};
    add(t, head, sizeof head);
    add(t, text, used);
    add_word(t, "latin1");
    ADD(t, "\x86Rtb");
}

static const int64_t numbers[] = {3, 200, 1000, 123456789012, 0, 255, 65535, 128};

static void save(const char *dir, const struct text *pickle)
{
    struct zip_file zip;
    zip_file_open(&zip, dir, "s.pt", false, false);
    zip_file_add(&zip, "split/data.pkl", pickle->bytes, pickle->len);
    zip_file_add(&zip, "split/byteorder", "little", 6);
    zip_file_add(&zip, "split/data/0", numbers, sizeof numbers);
    zip_file_add(&zip, "split/data/1", "\1\0\0\1", 4);
    zip_file_add(&zip, "split/data/2", (const char[64]){[62] = 5, [63] = -6}, 64);
    zip_file_close(&zip);
}

static enum gnn_status open_key(const char *dir, const char *first, const char *second, struct gnn_torch_array *out,
                                bool *found, struct gnn_err *err)
{
    char path[DATA_PATH];
    const char *const keys[] = {first, second, NULL};
    *err = (struct gnn_err){0};
    return gnn_torch_open(data_path(path, dir, "s.pt"), keys, 1 << 20, out, found, err);
}

static void expect(const char *dir, const char *first, const char *second, const int64_t *items, uint64_t count)
{
    struct gnn_torch_array array;
    struct gnn_err err;
    bool found = false;
    int64_t read[16];
    must(open_key(dir, first, second, &array, &found, &err), &err);
    assert_true(found);
    assert_int_equal(array.npy->header.items, count);
    must(gnn_npy_read_i64(array.npy, read, count, &err), &err);
    must(gnn_npy_expect_end(array.npy, &err), &err);
    assert_memory_equal(read, items, count * sizeof *items);
    gnn_torch_close(&array);
}

static void test_tensors(void **state)
{
    static const int64_t mask[] = {1, 0, 0, 1};
    struct text t = {.len = 0};
    struct gnn_torch_array array;
    struct gnn_err err;
    bool found = true;
    ADD(&t, "\x80\x02}q\x00(");
    add_word(&t, "train");
    add_tensor(&t, "LongStorage", "0", 8, 0, 8);
    add_word(&t, "val");
    add_tensor(&t, "LongStorage", "0", 8, 2, 3);
    add_word(&t, "test");
    ADD(&t, "}("); /* {'paper': mask} */
    add_word(&t, "paper");
    add_tensor(&t, "BoolStorage", "1", 4, 0, 4);
    ADD(&t, "uu.");
    save(*state, &t);
    expect(*state, "train", NULL, numbers, 8);
    expect(*state, "valid", "val", numbers + 2, 3);
    expect(*state, "test", NULL, mask, 4);
    must(open_key(*state, "dev", "tests", &array, &found, &err), &err);
    assert_false(found);
}

static void test_arrays(void **state)
{
    struct text t = {.len = 0};
    ADD(&t, "\x80\x02}q\x01");
    add_word(&t, "train");
    add_array(&t, numbers, 8);
    ADD(&t, "s");
    add_word(&t, "valid");
    add_array(&t, numbers + 5, 2);
    ADD(&t, "s.");
    save(*state, &t);
    expect(*state, "train", NULL, numbers, 8);
    expect(*state, "valid", NULL, numbers + 5, 2);
}

/* Protocol 4: frames, short texts, names as texts, values remembered and recalled, bytes as bytes. */
static void test_protocol_4(void **state)
{
    static const char start[] = "\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x05train\x94"
                                "\x8c\x0ctorch._utils\x94\x8c\x12_rebuild_tensor_v2\x94\x93\x94(("
                                "\x8c\x07storage\x94\x8c\x05torch\x94\x8c\x0bLongStorage\x94\x93\x94"
                                "\x8c\x01"
                                "0\x94\x8c\x03"
                                "cpu\x94K\x08t\x94QK\x01K\x02\x85\x94K\x01\x85\x94\x89Nt\x94R\x94";
    static const char end[] = "\x8c\x05valid\x94h\x04((h\x05h\x08h\x09h\x0aK\x08tQK\x04K\x01\x85K\x01\x85\x89NtRu.";
    struct text t = {.len = 0};
    add(&t, start, sizeof start - 1);
    add(&t, end, sizeof end - 1);
    save(*state, &t);
    expect(*state, "train", NULL, numbers + 1, 2);
    expect(*state, "valid", NULL, numbers + 4, 1);
}

/* Whole numbers of a stated length: 64 and 62 have no sign in their only byte. */
static void test_long_numbers(void **state)
{
    static const int64_t last[] = {5, -6};
    struct text t = {.len = 0};
    ADD(&t, "\x80\x02}");
    add_word(&t, "train");
    ADD(&t, "ctorch._utils\n_rebuild_tensor_v2\n((");
    add_word(&t, "storage");
    ADD(&t, "ctorch\nCharStorage\n");
    add_word(&t, "2");
    add_word(&t, "cpu");
    ADD(&t, "\x8a\x01\x40tQ\x8a\x02\x3e\x00K\x02\x85K\x01\x85\x89NtRs.");
    save(*state, &t);
    expect(*state, "train", NULL, last, 2);
}

static void test_others(void **state)
{
    struct gnn_torch_array array;
    struct gnn_err err;
    bool found;
    struct text t = {.len = 0};
    data_write(*state, "s.pt", "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.", 15); /* as PyTorch 1.5 begins */
    assert_int_equal(open_key(*state, "train", NULL, &array, &found, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "s.pt: not a file of torch.save of PyTorch 1.6 or later: in the directory"));
    assert_non_null(
        strstr(err.message, "`python3 -c \"import numpy, torch; [numpy.save(k + '_idx.npy', numpy.asarray("));
    ADD(&t, "\x80\x02]q\x00(K\x01K\x02"
            "e."); /* [1, 2] */
    save(*state, &t);
    assert_int_equal(open_key(*state, "train", NULL, &array, &found, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "not a dictionary of tensors or NumPy arrays"));
    for (unsigned fault = 0; fault < 4; fault++) {
        static const char *const types[] = {"HalfStorage", "LongStorage", "LongStorage", "LongStorage"};
        static const unsigned all[] = {8, 9, 8, 8}, first[] = {0, 0, 5, 0}, size[] = {8, 8, 4, 8};
        t.len = 0;
        ADD(&t, "\x80\x02}");
        add_word(&t, "train");
        add_tensor(&t, types[fault], fault == 3 ? "7" : "0", all[fault], first[fault], size[fault]);
        ADD(&t, "s.");
        save(*state, &t);
        assert_int_equal(open_key(*state, "train", NULL, &array, &found, &err), fault == 1   ? GNN_ESHORT
                                                                                : fault == 3 ? GNN_ENOENT
                                                                                             : GNN_EFORMAT);
    }
    char path[DATA_PATH];
    const char *const keys[] = {"train", NULL};
    err = (struct gnn_err){0};
    assert_int_equal(gnn_torch_open(data_path(path, *state, "s.pt"), keys, 100, &array, &found, &err), GNN_ECAP);
    assert_non_null(strstr(err.message, "raise --memory"));
}

/* A pickle that is cut or changed anywhere ends in arrays or in an error. */
static void test_damage(void **state)
{
    struct text t = {.len = 0};
    struct gnn_torch_array array;
    struct gnn_err err;
    bool found;
    ADD(&t, "\x80\x02}(");
    add_word(&t, "train");
    add_array(&t, numbers, 3);
    add_word(&t, "valid");
    add_tensor(&t, "LongStorage", "0", 8, 0, 8);
    ADD(&t, "u.");
    for (size_t at = 0; at < t.len; at++)
        for (unsigned change = 0; change < 3; change++) {
            struct text other = t;
            if (change == 0)
                other.len = at;
            else
                other.bytes[at] ^= change == 1 ? 1 : 0x84;
            save(*state, &other);
            const enum gnn_status status = open_key(*state, "train", "valid", &array, &found, &err);
            if (status == GNN_OK)
                gnn_torch_close(&array);
            else
                assert_true(err.message[0] != '\0');
            assert_true(change != 0 || status != GNN_OK);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tensors, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_arrays, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_protocol_4, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_long_numbers, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_others, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_damage, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("torch_dict", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* meta: what is written parses back; every malformed text is refused with the line that is wrong. */
#include "harness/storage/meta.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SUM "0123456789abcdef0123456789abcdef"

static const char good[] = "format = oocgnn-dataset 1\n"
                           "name = tiny\n"
                           "origin = written by a test = with an equals sign\n"
                           "scale = 1/100\n"
                           "\n"
                           "# a comment\n"
                           "nodes = 4\nedges = 6\nclasses = 2\ndims = 3 5\n"
                           "train = 2\nvalid = 1\ntest = 0\n"
                           "param.seed = 7\n"
                           "file.indptr = 40 " SUM "\nfile.indices = 24 " SUM "\nfile.features-d3 = 48 " SUM "\n"
                           "file.features-d5 = 80 " SUM "\nfile.labels = 16 " SUM "\nfile.train = 8 " SUM "\n"
                           "file.valid = 4 " SUM "\nfile.test = 0 " SUM "\n";

static void test_round_trip(void **state)
{
    (void)state;
    struct gnn_err err = {0};
    struct gnn_meta a, b;
    assert_int_equal(gnn_meta_parse(good, strlen(good), "meta", &a, &err), GNN_OK);
    assert_string_equal(a.name, "tiny");
    assert_string_equal(a.origin, "written by a test = with an equals sign");
    assert_int_equal(a.scale_divisor, 100);
    assert_int_equal(a.node_count, 4);
    assert_int_equal(a.edge_count, 6);
    assert_int_equal(a.dim_count, 2);
    assert_int_equal(a.dims[1], 5);
    assert_string_equal(gnn_meta_param(&a, "seed"), "7");
    assert_null(gnn_meta_param(&a, "none"));
    assert_int_equal(gnn_meta_find_file(&a, "features-d5")->bytes, 80);
    assert_int_equal(a.id_widths, 4);
    char text[GNN_META_TEXT_MAX];
    assert_int_equal(gnn_meta_format(&a, text, sizeof text, &err), GNN_OK);
    assert_int_equal(gnn_meta_parse(text, strlen(text), "meta", &b, &err), GNN_OK);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(gnn_meta_format(&a, text, 100, &err), GNN_EBUG);
}

/* The text of `good` with the ID widths `widths` and the files that `files` adds to those of other kinds. */
static void with_widths(char text[4096], const char *widths, const char *files)
{
    const char *const at = strstr(good, "file.indices"), *const rest = strstr(good, "file.features-d3");
    (void)snprintf(text, 4096, "%.*s%s%s%s", (int)(at - good), good, widths, files, rest);
}

/* `indices`, `indices-8` or both, as id_bytes says; without the key there is `indices`. */
static void test_id_widths(void **state)
{
    (void)state;
    static const char narrow[] = "file.indices = 24 " SUM "\n", wide[] = "file.indices-8 = 48 " SUM "\n",
                      both[] = "file.indices = 24 " SUM "\nfile.indices-8 = 48 " SUM "\n";
    static const struct {
        const char *widths, *files, *message; /* NULL: it is sound */
        uint32_t expected;
    } cases[] = {
        {"", narrow, NULL, 4},
        {"id_bytes = 4\n", narrow, NULL, 4},
        {"id_bytes = 8\n", wide, NULL, 8},
        {"id_bytes = 4 8\n", both, NULL, 12},
        {"", wide, "no line for file.indices", 0},
        {"", both, "lists 9 files, the counts and widths make it 8", 0},
        {"id_bytes = 8\n", narrow, "no line for file.indices-8", 0},
        {"id_bytes = 8\n", both, "lists 9 files", 0},
        {"id_bytes = 4 8\n", wide, "no line for file.indices", 0},
        {"id_bytes = 16\n", wide, "id_bytes = 16: expected 4, 8 or 4 8", 0},
        {"id_bytes = 8 4\n", both, "expected 4, 8 or 4 8", 0},
        {"id_bytes = \n", narrow, "expected 4, 8 or 4 8", 0},
        {"id_bytes = 4\nid_bytes = 8\n", wide, "id_bytes appears twice", 0},
        {"id_bytes = 8\n", "file.indices-8 = 24 " SUM "\n", "expected from the counts: 48 B, found in the line: 24", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[4096], again[GNN_META_TEXT_MAX];
        struct gnn_err err = {0};
        struct gnn_meta meta, parsed;
        with_widths(text, cases[i].widths, cases[i].files);
        const enum gnn_status status = gnn_meta_parse(text, strlen(text), "meta", &meta, &err);
        if ((status == GNN_OK) != (cases[i].message == NULL) ||
            (status != GNN_OK && strstr(err.message, cases[i].message) == NULL))
            fail_msg("case %zu: %s '%s'", i, gnn_status_name(status), err.message);
        if (status != GNN_OK)
            continue;
        assert_int_equal(meta.id_widths, cases[i].expected);
        assert_int_equal(gnn_meta_format(&meta, again, sizeof again, &err), GNN_OK);
        assert_int_equal(strstr(again, "id_bytes") != NULL, cases[i].expected != 4);
        assert_int_equal(gnn_meta_parse(again, strlen(again), "meta", &parsed, &err), GNN_OK);
        assert_memory_equal(&meta, &parsed, sizeof meta);
    }
}

/* Replaces the one line that starts with `line` by `with` (maybe several lines, maybe none). */
static void test_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *line, *with, *message;
    } cases[] = {
        {"format", "format = oocgnn-dataset 2\n", "expected 'oocgnn-dataset 1'"},
        {"format", "", "key 'format' is missing"},
        {"nodes", "nodes = -4\n", "meta:7: nodes = -4"},
        {"nodes", "nodes = 4294967295\n", "up to 4294967294"},
        {"nodes", "nodes = 4x\n", "nodes = 4x"},
        {"nodes", "nodes = 5\n", "file.indptr: expected from the counts: 48 B, found in the line: 40"},
        {"nodes", "nodes = 0\n", "start at 1"},
        {"edges", "edges = 6\nedges = 6\n", "edges appears twice"},
        {"edges", "edges = 18446744073709551615\n", "edges = 18446744073709551615"},
        {"edges", "edges = 2305843009213693952\n", "up to 2305843009213693951"}, /* 8 bytes each, in 64 bits */
        {"edges", "edge = 6\n", "unknown key 'edge'"},
        {"edges", "edges = 6\ntrain_triples = 1\n", "without 'relations'"},
        {"edges", "edges = 6\nvalid_triples = 1\n", "without 'relations'"},
        {"edges", "edges = 6\ntest_triples = 1\n", "without 'relations'"},
        {"edges", "edges = 6\nnode_name_bytes = 1\n", "without 'relations'"},
        {"edges", "edges = 6\nrelation_name_bytes = 1\n", "without 'relations'"},
        {"name", "name = 0123456789012345678901234567890123456789012345678901234567890123\n",
         "meta:2: name takes 64 characters, at most 63 fit"},
        {"scale", "scale = 100\n", "expected 1/K"},
        {"scale", "scale = 1/0\n", "start at 1"},
        {"dims", "dims = 3 0\n", "a width of 0"},
        {"dims", "dims = 3 3\n", "lists 3 twice"},
        {"dims", "dims = 3\n", "lists 8 files"},
        {"dims", "dims = 3 5 7\n", "no line for file.features-d7"},
        {"dims", "dims = 99999\n", "up to 16384"},
        {"train", "train = 5\n", "more than the 4 nodes"},
        {"train", "train\n", "expected 'key = value'"},
        {"file.labels", "file.labels = 16 0123\n", "32 hex digits"},
        {"file.labels", "file.labels = 12 " SUM "\n", "expected from the counts: 16 B, found in the line: 12"},
        {"file.labels", "file.labels = 16 " SUM "\nfile.labels = 16 " SUM "\n", "appears twice"},
        {"file.labels", "file.../labels = 16 " SUM "\n", "no dataset file"},
        {"file.labels", "file.label = 16 " SUM "\n", "no line for file.labels"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[4096];
        const char *at = strstr(good, cases[i].line);
        while (at != good && at[-1] != '\n')
            at = strstr(at + 1, cases[i].line);
        const char *rest = strchr(at, '\n') + 1;
        (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, cases[i].with, rest);
        struct gnn_err err = {0};
        struct gnn_meta meta;
        const enum gnn_status status = gnn_meta_parse(text, strlen(text), "meta", &meta, &err);
        if (status != GNN_EFORMAT || strstr(err.message, cases[i].message) == NULL)
            fail_msg("case %zu: status %s, message '%s', expected '%s'", i, gnn_status_name(status), err.message,
                     cases[i].message);
    }
}

static void test_too_many_parameters(void **state)
{
    (void)state;
    for (uint32_t more = 0; more < 2; more++) {
        char text[4096];
        struct gnn_err err = {0};
        struct gnn_meta meta;
        size_t length = (size_t)snprintf(text, sizeof text, "%s", good); /* has one */
        for (uint32_t i = 1; i < GNN_META_PARAMS_MAX + more; i++)
            length += (size_t)snprintf(text + length, sizeof text - length, "param.p%u = 1\n", i);
        assert_int_equal(gnn_meta_parse(text, length, "meta", &meta, &err), more == 0 ? GNN_OK : GNN_EFORMAT);
        if (more > 0)
            assert_non_null(strstr(err.message, "more than 48 parameters"));
    }
}

/* Checksums of blocks: of which files, under which names, and replaced where there are some. The digest of a dataset
 * leaves them out. */
static void test_blocks(void **state)
{
    static const char *const with[] = {"indices", "indices-8", "features-d3", "features-d16384", "triples-valid"};
    static const char *const without[] = {"indptr",      "labels",     "train",         "meta",
                                          "features-d0", "node-names", "blocks-indices"};
    struct gnn_err err = {0};
    struct gnn_meta meta;
    char name[GNN_META_NAME], before[GNN_CHECKSUM_TEXT], after[GNN_CHECKSUM_TEXT], text[GNN_META_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        assert_true(gnn_meta_is_blocked(with[i]));
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        assert_false(gnn_meta_is_blocked(without[i]));
    gnn_meta_blocks_name("features-d16384", name);
    assert_string_equal(name, "blocks-features-d16384");
    assert_int_equal(gnn_meta_parse(good, strlen(good), "meta", &meta, &err), GNN_OK);
    assert_null(gnn_meta_blocks(&meta, "indices"));
    gnn_meta_digest(&meta, 3, GNN_F32, 4, before);
    assert_int_equal(gnn_meta_set_blocks(&meta, "indices", "f0123456789abcdef0123456789abcde", &err), GNN_OK);
    assert_int_equal(gnn_meta_set_blocks(&meta, "indices", SUM, &err), GNN_OK);
    assert_int_equal(meta.param_count, 2);
    assert_int_equal(gnn_meta_format(&meta, text, sizeof text, &err), GNN_OK);
    assert_non_null(strstr(text, "\nparam.blocks.indices = " SUM "\n"));
    assert_int_equal(gnn_meta_parse(text, strlen(text), "meta", &meta, &err), GNN_OK);
    assert_string_equal(gnn_meta_blocks(&meta, "indices"), SUM);
    assert_null(gnn_meta_blocks(&meta, "indices-8"));
    gnn_meta_digest(&meta, 3, GNN_F32, 4, after);
    assert_string_equal(before, after);
    while (meta.param_count < GNN_META_PARAMS_MAX)
        gnn_meta_add_param(&meta, "more", "1");
    assert_int_equal(gnn_meta_set_blocks(&meta, "indices", SUM, &err), GNN_OK);
    assert_int_equal(gnn_meta_set_blocks(&meta, "features-d3", SUM, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "48 parameters"));
}

static void test_not_text(void **state)
{
    (void)state;
    struct gnn_meta meta;
    struct gnn_err err = {0};
    assert_int_equal(gnn_meta_parse("name = a\0b\n", 11, "meta", &meta, &err), GNN_EFORMAT);
    char large[GNN_META_TEXT_MAX + 1];
    memset(large, '\n', sizeof large);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_meta_parse(large, sizeof large, "meta", &meta, &err), GNN_EFORMAT);
    memset(large, 'a', sizeof large);
    err = (struct gnn_err){0};
    assert_int_equal(gnn_meta_parse(large, 1000, "meta", &meta, &err), GNN_EFORMAT);
}

/* The identity of a run's input: another width changes it, a width that is not read does not. */
static void test_digest(void **state)
{
    (void)state;
    struct gnn_err err = {0};
    struct gnn_meta meta;
    assert_int_equal(gnn_meta_parse(good, strlen(good), "meta", &meta, &err), GNN_OK);
    char d3[GNN_CHECKSUM_TEXT], d5[GNN_CHECKSUM_TEXT], again[GNN_CHECKSUM_TEXT];
    gnn_meta_digest(&meta, 3, GNN_F32, 4, d3);
    gnn_meta_digest(&meta, 5, GNN_F32, 4, d5);
    assert_string_not_equal(d3, d5);
    gnn_meta_add_file(&meta, "features-d5", 80, "f123456789abcdef0123456789abcdef");
    gnn_meta_digest(&meta, 3, GNN_F32, 4, again);
    assert_string_equal(d3, again);
    gnn_meta_digest(&meta, 5, GNN_F32, 4, again);
    assert_string_not_equal(d5, again);
    gnn_meta_add_file(&meta, "labels", 16, "f123456789abcdef0123456789abcdef");
    gnn_meta_digest(&meta, 3, GNN_F32, 4, again);
    assert_string_not_equal(d3, again);

    char text[4096], wide[GNN_CHECKSUM_TEXT];
    with_widths(text, "id_bytes = 4 8\n", "file.indices = 24 " SUM "\nfile.indices-8 = 48 " SUM "\n");
    assert_int_equal(gnn_meta_parse(text, strlen(text), "meta", &meta, &err), GNN_OK);
    gnn_meta_digest(&meta, 3, GNN_F32, 4, again);
    gnn_meta_digest(&meta, 3, GNN_F32, 8, wide);
    assert_string_equal(d3, again);
    assert_string_not_equal(d3, wide);
    gnn_meta_add_file(&meta, "indices-8", 48, "f123456789abcdef0123456789abcdef");
    gnn_meta_digest(&meta, 3, GNN_F32, 4, again);
    assert_string_equal(d3, again);
    gnn_meta_digest(&meta, 3, GNN_F32, 8, again);
    assert_string_not_equal(wide, again);
}

/* The known XXH3-128 of no bytes, and streaming equals one shot. */
static void test_checksum(void **state)
{
    (void)state;
    char text[GNN_CHECKSUM_TEXT], stream[GNN_CHECKSUM_TEXT];
    gnn_checksum_of("", 0, text);
    assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
    struct gnn_checksum *checksum;
    struct gnn_err err = {0};
    assert_int_equal(gnn_checksum_open(&checksum, &err), GNN_OK);
    gnn_checksum_add(checksum, "abc", 3);
    gnn_checksum_add(checksum, "defgh", 5);
    gnn_checksum_text(checksum, stream);
    gnn_checksum_close(checksum);
    gnn_checksum_of("abcdefgh", 8, text);
    assert_string_equal(text, stream);
    gnn_checksum_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_malformed), cmocka_unit_test(test_too_many_parameters),
        cmocka_unit_test(test_not_text),   cmocka_unit_test(test_digest),    cmocka_unit_test(test_checksum),
        cmocka_unit_test(test_id_widths),  cmocka_unit_test(test_blocks),
    };
    return cmocka_run_group_tests_name("meta", tests, NULL, NULL);
}

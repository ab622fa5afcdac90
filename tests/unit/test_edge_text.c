/* SPDX-License-Identifier: MIT */
/* Text edge lists: lines and their separators, further columns, headings, comments that describe the graph, Matrix
 * Market, and inputs that are no text. */
#include "harness/dataset/edge_text.h"
#include "tests/support/data_files.h"
#include "tests/support/must.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- lines ---- */

static void test_lines(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum gnn_edge_kind kind;
        uint64_t source, target;
        uint32_t extra;
        bool words;
    } cases[] = {
        {"1 2", GNN_EDGE_PAIR, 1, 2, 0, false},
        {"0\t4294967294", GNN_EDGE_PAIR, 0, 4294967294u, 0, false},
        {"  7 \t 8  ", GNN_EDGE_PAIR, 7, 8, 0, false},
        {"007 08", GNN_EDGE_PAIR, 7, 8, 0, false},
        {"1,2", GNN_EDGE_PAIR, 1, 2, 0, false},
        {"1 ; 2", GNN_EDGE_PAIR, 1, 2, 0, false},
        {"1|2|", GNN_EDGE_PAIR, 1, 2, 0, false},
        {"\"1\",\"2\"", GNN_EDGE_PAIR, 1, 2, 0, false},
        {"1 2 3", GNN_EDGE_PAIR, 1, 2, 1, false},
        {"1,2,,-0.5e3", GNN_EDGE_PAIR, 1, 2, 2, false},
        {"1 2 x 3", GNN_EDGE_PAIR, 1, 2, 2, true},
        {"1,2,\"a b\"", GNN_EDGE_PAIR, 1, 2, 1, true},
        {"18446744073709551615 1", GNN_EDGE_PAIR, UINT64_MAX, 1, 0, false},
        {"", GNN_EDGE_SKIP, 0, 0, 0, false},
        {"   ", GNN_EDGE_SKIP, 0, 0, 0, false},
        {"# 1 2", GNN_EDGE_SKIP, 0, 0, 0, false},
        {" % x", GNN_EDGE_SKIP, 0, 0, 0, false},
        {"1", GNN_EDGE_BAD, 0, 0, 0, false},
        {"1 ", GNN_EDGE_BAD, 0, 0, 0, false},
        {"1,,2", GNN_EDGE_BAD, 0, 0, 0, false},
        {"-1 2", GNN_EDGE_BAD, 0, 0, 0, false},
        {"1 -2", GNN_EDGE_BAD, 0, 0, 0, false},
        {"1.0 2", GNN_EDGE_BAD, 0, 0, 0, false},
        {"a b", GNN_EDGE_BAD, 0, 0, 0, false},
        {"18446744073709551616 1", GNN_EDGE_BAD, 0, 0, 0, false},
        {"1 2x", GNN_EDGE_BAD, 0, 0, 0, false},
    };
    static const uint32_t columns[2] = {0, 1}, swapped[2] = {2, 0};
    struct gnn_edge_line pair;
    const char *why;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        why = NULL;
        if (gnn_edge_parse(cases[i].line, columns, &pair, &why) != cases[i].kind)
            fail_msg("'%s'", cases[i].line);
        assert_true((cases[i].kind == GNN_EDGE_BAD) == (why != NULL));
        if (cases[i].kind != GNN_EDGE_PAIR)
            continue;
        assert_true(pair.source == cases[i].source && pair.target == cases[i].target);
        assert_int_equal(pair.extra, cases[i].extra);
        assert_int_equal(pair.words != NULL, cases[i].words);
    }
    assert_int_equal(gnn_edge_parse("5,w,6", swapped, &pair, &why), GNN_EDGE_PAIR);
    assert_true(pair.source == 6 && pair.target == 5 && pair.extra == 1 && pair.words != NULL);
}

static void test_headings(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool heading;
        uint32_t columns[2];
    } cases[] = {
        {"source,target", true, {0, 1}},
        {"Target;Type;Source", true, {2, 0}},
        {"id_1 id_2", true, {0, 1}},
        {",a,b", true, {1, 2}},
        {",0,1", true, {1, 2}},
        {"a b", true, {0, 1}},
        {":START_ID|:END_ID", true, {0, 1}},
        {"name", false, {0, 1}},
        {"1 2", false, {0, 1}},
        {"-1 2", false, {0, 1}},
        {"idx,src,dst,w", true, {1, 2}},
        {"dst_node,src_node", true, {1, 0}},
        {"toNodeId\tfromNodeId", true, {1, 0}},
        {"weight;source_id;targetNode", true, {1, 2}},
        {"edge_id,p,q", true, {1, 2}},
        {"id,p", true, {0, 1}},
        {"node_b,node_a", true, {1, 0}},
        {"b,a", true, {0, 1}},
        {"'source','target'", true, {0, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t columns[2];
        if (gnn_edge_heading(cases[i].line, columns) != cases[i].heading ||
            (cases[i].heading && memcmp(columns, cases[i].columns, sizeof columns) != 0))
            fail_msg("'%s'", cases[i].line);
    }
}

static void test_comments(void **state)
{
    (void)state;
    static const struct {
        const char *lines[3];
        bool undirected, bipartite;
        uint64_t nodes, edges, left;
    } cases[] = {
        {{"# Undirected graph: x.txt", "# Nodes: 65608366 Edges: 1806067135"},
         true,
         false,
         65608366,
         1806067135,
         GNN_UNSTATED},
        {{"# Directed graph (each unordered pair of nodes is saved once): x", "# Nodes: 5,242 Edges: 28,980"},
         false,
         false,
         5242,
         28980,
         GNN_UNSTATED},
        {{"% 40 vertices, 110 arcs; UNDIRECTED"}, true, false, 40, 110, GNN_UNSTATED},
        {{"# not undirected", "# FromNodeId ToNodeId", "# nodes 7"}, false, false, 7, GNN_UNSTATED, GNN_UNSTATED},
        {{"% sym unweighted", "% 110 40 40"}, true, false, 40, 110, GNN_UNSTATED},
        {{"% asym positive", "% 110 40 40"}, false, false, 40, 110, GNN_UNSTATED},
        {{"% bip weighted", "% 9 4 5"}, false, true, GNN_UNSTATED, 9, 4},
        {{"% sym", "% see 40 40"}, true, false, GNN_UNSTATED, GNN_UNSTATED, GNN_UNSTATED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_edge_facts facts = {.nodes = GNN_UNSTATED, .edges = GNN_UNSTATED, .left = GNN_UNSTATED};
        for (int l = 0; l < 3 && cases[i].lines[l] != NULL; l++)
            gnn_edge_comment(cases[i].lines[l], &facts);
        if (facts.undirected != cases[i].undirected || facts.bipartite != cases[i].bipartite ||
            facts.nodes != cases[i].nodes || facts.edges != cases[i].edges || facts.left != cases[i].left)
            fail_msg("case %zu: %d %d %" PRIu64 " %" PRIu64, i, facts.undirected, facts.bipartite, facts.nodes,
                     facts.edges);
    }
}

/* ---- files ---- */

/* Reads all pairs of `text` as file `name` into out, "1>2 " each; returns the status at the end. */
static enum gnn_status read_pairs(const char *root, const char *name, const char *text, size_t len, char *out,
                                  size_t out_bytes, struct gnn_err *err)
{
    char path[DATA_PATH];
    struct gnn_edge_text *reader;
    size_t used = 0;
    *err = (struct gnn_err){0};
    data_write(root, name, text, len);
    must(gnn_edge_text_open(data_path(path, root, name), &reader, err), err);
    enum gnn_status status = GNN_OK;
    out[0] = '\0';
    for (bool more = true; more && status == GNN_OK;) {
        uint64_t source = 0, target = 0;
        status = gnn_edge_text_next(reader, &source, &target, &more, err);
        if (status == GNN_OK && more)
            used += (size_t)snprintf(out + used, out_bytes - used, "%" PRIu64 ">%" PRIu64 " ", source, target);
        assert_true(used < out_bytes);
    }
    gnn_edge_text_close(reader);
    return status;
}

#define BANNER "%%MatrixMarket matrix coordinate "

static void test_files(void **state)
{
    static const struct {
        const char *name, *text, *pairs; /* or the message, if it is not read */
        bool read;
    } cases[] = {
        {"g.csv", "source,target\n1,2\n2,3\n", "1>2 2>3 ", true},
        {"g.csv", "\xef\xbb\xbfid,dst,src\r\n0,1,2\r\n1,3,4\r\n", "2>1 4>3 ", true},
        {"g.csv", ",a,b\n0,1,2\n", "1>2 ", true},
        {"g.txt", "1 2 0.5 100\n2 3 -1 1e9\n", "1>2 2>3 ", true},
        {"g.txt", "a b\n", "g.txt:1: not two node IDs: 'a b'", false},
        {"g.txt", "a b\nc d\n", "g.txt:1: not two node IDs: 'a b'", false},
        {"g.txt", "1 2\nc d\n", "g.txt:2: not two node IDs: 'c d'", false},
        {"g.txt", "<?xml version='1.0'?>\n", "the file seems to be XML such as GraphML: python3 -c", false},
        {"g.txt", "*Vertices 3\n1 \"a\"\n", "the file seems to be Pajek's format", false},
        {"g.txt", "{\"edges\": [[0, 1]]}\n", "the file seems to have edges in JSON", false},
        {"g.txt", "40\n1 2\n", "if it is a count, --from <(tail -n +2 ", false},
        {"g.txt", "1 2 3\n1 2\n", "2 columns, and line 1 has 3. If that line states counts, use --from <(tail -n +2 ",
         false},
        {"g.txt", "1 2\n1 2\n1 2 3 4\n", "4 columns, and line 1 has 2. For lists of neighbours, use --from <(awk '{for",
         false},
        {"g.txt", "1 2 x\n", "a further column is no number: '1 2 x'; --ignore-columns reads only", false},
        {"g.txt", "% bip\n% 3 4 5\n1 2\n", "--from <(awk '!/^%/ {print $1 - 1, $2 + 4 - 1}' ", false},
        {"g.mtx", BANNER "pattern general\n% c\n3 3 2\n1 2\n3 3\n", "0>1 2>2 ", true},
        {"g.txt", BANNER "real symmetric\n3 3 2\n2 1 0.5\n3 3 -1\n", "1>0 0>1 2>2 ", true},
        {"g.txt", "%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 7\n", "1>0 0>1 ", true},
        {"g.mtx", "% no banner\n3 3 1\n1 2\n", "0>1 ", true},
        {"g.mtx", BANNER "complex general\n2 2 1\n1 2 x y\n", "0>1 ", true},
        {"g.mtx", "%%MatrixMarket matrix array real general\n2 2\n", "not a list of entries", false},
        {"g.mtx", BANNER "real lopsided\n2 2 1\n", "an unknown symmetry", false},
        {"g.mtx", BANNER "pattern general\n3 3 2\n1 2\n", "ends after 1 of the 2 entries", false},
        {"g.mtx", BANNER "pattern general\n3 3 1\n1 2\n2 3\n", "g.mtx:4: more than the 1 entries", false},
        {"g.mtx", BANNER "pattern general\n3 3 1\n0 2\n", "entry 0 2, expected rows and columns from 1 to 3", false},
        {"g.mtx", BANNER "pattern general\n3 3 1\n1 4\n", "entry 1 4, expected rows and columns from 1 to 3", false},
        {"g.mtx", BANNER "pattern general\n3 4 1\n1 4\n", "&& n++ {print $1 - 1, $2 + 3 - 1}' ", false},
        {"g.mtx", BANNER "pattern general\n3 3\n", "expected Matrix Market's line of rows", false},
        {"g.mtx", BANNER "pattern general\n4294967295 4294967295 1\n1 1\n", "expected 1 to 4294967294", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[256];
        struct gnn_err err;
        const enum gnn_status status =
            read_pairs(*state, cases[i].name, cases[i].text, strlen(cases[i].text), out, sizeof out, &err);
        if ((status == GNN_OK) != cases[i].read || (!cases[i].read && status != GNN_EFORMAT) ||
            strstr(cases[i].read ? out : err.message, cases[i].pairs) == NULL ||
            (cases[i].read && strcmp(out, cases[i].pairs) != 0))
            fail_msg("case %zu: %s, '%s', '%s'", i, gnn_status_name(status), out, err.message);
    }
}

/* A format that is no text is named, with a command. */
static void test_no_text(void **state)
{
    static const struct {
        const char *name, *bytes;
        size_t len;
        const char *message;
    } cases[] = {
        {"g.bz2", "BZh91AY&SY\n1 2\n", 15,
         "bzip2 data, not a line of text; unpack it, or read an edge list with --from <(bzcat "},
        {"g.xz",
         "\xfd"
         "7zXZ\0\n1 2\n",
         11, "xz data"},
        {"g.zst", "\x28\xb5\x2f\xfd 1 2\n", 9, "<(zstdcat "},
        {"g.zip", "PK\x03\x04\n1 2\n", 9, "<(unzip -p "},
        {"g.txt",
         "\xff\xfe"
         "1\0 \0002\0\n\0",
         10, "UTF-16 text, not a line of text; unpack it, or read an edge list with --from <(iconv"},
        {"g.txt", "1 2\r3 4\r", 8, "its lines end with CR alone; read an edge list with --from <(sed 's/\\r/\\n/g' "},
        {"g.tar.bz2", "BZh91AY", 7, "where MEMBER is a file in it (`tar -tf "},
        {"g.txt.lzma", "\x5d\0\0\x80\0\xff", 6, "lzma data, not a line of text"},
        {"g.zip", "PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\3\0\0\0g.t", 33, "g.zip g.t), its first file ("},
        {"g.npy", "\x93NUMPY 1 2", 10, "a NumPy array"},
        {"g.sg", "1 2\n1\0\n", 7, "g.sg:2: not a line of text: a binary graph of the GAP benchmarks"},
        {"g.txt", "1 2\n1\0\n", 7, "g.txt:2: not a line of text"},
    };
    char out[256], tar[512] = "edges", huge[70000];
    struct gnn_err err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(read_pairs(*state, cases[i].name, cases[i].bytes, cases[i].len, out, sizeof out, &err),
                         GNN_EFORMAT);
        must_show(err.message, cases[i].message);
    }
    memcpy(tar + 257, "ustar", 5);
    assert_int_equal(read_pairs(*state, "g.tar", tar, sizeof tar, out, sizeof out, &err), GNN_EFORMAT);
    must_show(err.message,
              "a tar archive, not a line of text; unpack it, or read an edge list with --from <(tar -xOf ");
    must_show(err.message, "g.tar edges), its first file (`tar -tf ");
    data_write(*state, "w.properties", "", 0);
    assert_int_equal(read_pairs(*state, "w.graph", "xyz", 3, out, sizeof out, &err), GNN_EFORMAT);
    must_show(err.message, "a WebGraph file");
    memset(huge, '1', sizeof huge);
    assert_int_equal(read_pairs(*state, "g.txt", huge, sizeof huge, out, sizeof out, &err), GNN_EFORMAT);
    must_show(err.message, "it has more than 65535 bytes");
    assert_int_equal(read_pairs(*state, "g.txt", "1 2\r", 4, out, sizeof out, &err), GNN_OK);
    assert_string_equal(out, "1>2 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_headings),
        cmocka_unit_test(test_comments),
        cmocka_unit_test_setup_teardown(test_files, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_no_text, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("edge_text", tests, NULL, NULL);
}

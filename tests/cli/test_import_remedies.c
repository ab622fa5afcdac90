/* SPDX-License-Identifier: MIT */
/* Graphs in the forms in which publishers ship them: an input that reads as something else is warned of or refused, and
 * the option or pipe that the message names gives the dataset that the plain list gives. */
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { COMMAND_MAX = 2000 };

/* 40 nodes, 120 edges, each in one direction and once. Every node has edges. */
#define BASE "for (a = 0; a < 40; a++) for (d = 1; d < 8; d += d < 2 ? 1 : 5) { b = (a + d) % 40; "
/* Prints a line for each edge of it. */
#define LIST(format, values) "awk 'BEGIN { " BASE "printf \"" format "\\n\", " values " } }'"
#define PLAIN LIST("%d %d", "a, b")
#define RANDOM " --dim 4 --classes 3 --train-fraction 0.5 --valid-fraction 0 --test-fraction 0"
#define SNAP " --format snap" RANDOM
#define BANNER "%%MatrixMarket matrix coordinate "

/* Runs a command of bash in `dir`, with the program's folder first on PATH. */
static struct process_result in_shell(const char *dir, const char *command)
{
    char *const program = realpath(process_program(), NULL);
    assert_non_null(program);
    *strrchr(program, '/') = '\0';
    struct process_result r = process_shell("cd %s && export PATH=%s:\"$PATH\" && { %s\n}", dir, program, command);
    free(program);
    return r;
}

static void succeeds(const char *dir, const char *command)
{
    struct process_result r = in_shell(dir, command);
    if (r.exit_status != 0)
        fail_msg("`%s` ends with %d:\n%s%s", command, r.exit_status, r.err, r.out);
    process_free(&r);
}

static struct process_result prepare(const char *dir, const char *name, const char *from, const char *rest)
{
    char command[4 * COMMAND_MAX];
    (void)snprintf(command, sizeof command, "oocgnn prepare %s --quiet --from %s %s", name, from, rest);
    return in_shell(dir, command);
}

/* ---- remedies ---- */

/* Takes the remedy behind `lead`: --from with its pipe, or so many words without what ends a sentence. */
static void take_remedy(const char *message, const char *lead, int words, char taken[COMMAND_MAX])
{
    static const char pipe[] = "--from <(";
    const char *at = strstr(message, lead);
    size_t length = 0;
    if (at == NULL)
        fail_msg("no \"%s\" in: %s", lead, message);
    at += strlen(lead);
    if (strncmp(at, pipe, sizeof pipe - 1) == 0) {
        int depth = 1;
        for (length = sizeof pipe - 1; depth > 0; length++) {
            assert_true(at[length] != '\0');
            depth += at[length] == '(' ? 1 : at[length] == ')' ? -1 : 0;
        }
    } else {
        for (int i = 0; i < words; i++)
            length += strspn(at + length, " ") + strcspn(at + length + strspn(at + length, " "), " \n");
        while (length > 0 && strchr(",.;:", at[length - 1]) != NULL)
            length--;
    }
    (void)snprintf(taken, COMMAND_MAX, "%.*s", (int)length, at);
}

/* Imports with the remedy in place of what it replaces. */
static void import_repaired(const char *dir, const char *from, const char *rest, const char *remedy)
{
    char longer[2 * COMMAND_MAX];
    const bool pipe = strncmp(remedy, "--from ", 7) == 0;
    (void)snprintf(longer, sizeof longer, "%s %s", rest, pipe ? "" : remedy);
    struct process_result r = prepare(dir, "repaired", pipe ? remedy + 7 : from, longer);
    if (r.exit_status != 0)
        fail_msg("with %s: %s", remedy, r.err);
    process_free(&r);
}

static void same_dataset(const char *dir, const char *what, const char *a, const char *b, const char *const *files)
{
    char command[COMMAND_MAX];
    for (; *files != NULL; files++) {
        (void)snprintf(command, sizeof command, "cmp data/%s/%s data/%s/%s", a, *files, b, *files);
        struct process_result r = in_shell(dir, command);
        if (r.exit_status != 0)
            fail_msg("%s: %s%s", what, r.out, r.err);
        process_free(&r);
    }
}

static const char *const list_files[] = {"indptr", "indices", NULL};

/* ---- edge lists ---- */

struct list_case {
    const char *write; /* a command that writes the input */
    const char *from, *options;
    int exit_status;
    const char *message, *lead; /* of the remedy in it; NULL: the import is right as it is */
    int words;
    const char *reference, *reference_options; /* a command that prints the plain list */
};

static const struct list_case lists[] = {
    /* IDs with gaps, from 1, of 64 bits. */
    {LIST("%d %d", "3 * a + 101, 3 * b + 101") ">g", "g", "", 0, "179 of 219 node IDs occur in no edge: ", "edge: ", 1,
     PLAIN, ""},
    {"{ echo '# Nodes: 219 Edges: 120'; " LIST("%d %d", "3 * a + 101, 3 * b + 101") "; } >g", "g", "", 0, NULL, NULL, 0,
     LIST("%d %d", "3 * a + 101, 3 * b + 101"), "--nodes 219"},
    {LIST("%d %d", "900 * a, 900 * b") ">g", "g", "", 2, "35061 of 35101 node IDs occur in no edge: ", ": add ", 1,
     PLAIN, ""},
    {LIST("%d %d", "a + 1, b + 1") ">g", "g", "", 0, "node 0 occurs in no edge", "start at 1: ", 1, PLAIN, ""},
    {"{ echo '% asym'; echo '% 120 40 40'; " LIST("%d %d", "a + 1, b + 1") "; } >out.g", "out.g", "", 0,
     "node 0 occurs in no edge", "start at 1: ", 1, PLAIN, ""},
    {LIST("%d0000000007 %d0000000007", "a + 1, b + 1") ">g", "g", "", 1, "a node ID above 4294967294", "; add ", 1,
     PLAIN, ""},
    {LIST("%d0000000007 %d0000000007", "a + 1, b + 1") ">g", "<(cat g)", "", 1, "a node ID above 4294967294", "; add ",
     1, PLAIN, ""},
    {LIST("%d %d", "3 * a + 101, 3 * b + 101") ">g", "<(cat g)", "", 0, "occur in no edge", "edge: ", 1, PLAIN, ""},
    /* Counts and directions in the header. */
    {"{ echo '# Undirected graph'; echo '# Nodes: 40 Edges: 120'; " PLAIN "; } >g", "g", "", 0,
     "its header states an undirected graph", "direction: ", 1, PLAIN, "--add-reverse"},
    {"{ echo '% sym'; " LIST("%d %d", "a + 1, b + 1") "; } >g", "g", "--relabel", 0,
     "its header states an undirected graph", "direction: ", 1, PLAIN, "--add-reverse"},
    {"{ echo '# Undirected graph'; " LIST("%d %d\\n%d %d", "a, b, b, a") "; } >g", "g", "", 0, NULL, NULL, 0, PLAIN,
     "--add-reverse"},
    {LIST("%d %d\\n%d %d", "a, b, b, a") ">g", "g", "--add-reverse", 0, "stores every edge in both directions",
     "or add ", 1, PLAIN, "--add-reverse"},
    {"{ " PLAIN "; " LIST("%d %d", "b, a") " | head -80; } >g", "g", "--add-reverse", 0,
     "160 of 400 stored edges repeat another one: ", "one: ", 1, PLAIN, "--add-reverse"},
    {LIST("%d %d\\n%d %d", "a, b, a, b") ">g", "g", "", 0, "120 of 240 stored edges repeat another one: ", "one: ", 1,
     PLAIN, ""},
    {"{ echo '# Nodes: 50 Edges: 120'; " PLAIN "; } >g", "g", "", 0,
     "its header states 50 nodes, and 40 occur: ", "occur: ", 2, PLAIN, "--nodes 50"},
    {"{ echo '# Directed graph'; echo '# Nodes: 40 Edges: 240'; " PLAIN "; } >g", "g", "", 0,
     "g: 240 edges are stated, and it has 120: it may be incomplete", NULL, 0, PLAIN, ""},
    {"{ echo '# 40 nodes, 60 edges'; " PLAIN "; } >g", "g", "", 0,
     "60 edges are stated, and it has 120: it stores each edge in both", NULL, 0, PLAIN, ""},
    {PLAIN " | head -c -1 >g", "g", "", 0, "its last line has no line end", NULL, 0, PLAIN, ""},
    {"{ echo 40 120; " PLAIN "; } >g", "g", "", 1, "'40 120' looks like the counts of nodes and edges", "39). ", 0,
     PLAIN, ""},
    {"{ echo 40 120; " PLAIN "; } | gzip >g.gz", "g.gz", "--relabel", 1, "looks like the counts of nodes and edges",
     "39). ", 0, PLAIN, ""},
    {"{ echo 40 21; " PLAIN " | tail -21; } >g", "g", "", 1, "looks like the counts of nodes and edges", "39). ", 0,
     PLAIN " | tail -21", ""},
    {"{ echo 40 120; " PLAIN "; } >g", "g", "--nodes 40", 1, "the nodes end at 39", "counts, ", 0, PLAIN, "--nodes 40"},
    {"{ echo 40; " PLAIN "; } >g", "g", "", 1, "not two node IDs: '40'", "count, ", 0, PLAIN, ""},
    {"{ echo 40 40 120; " PLAIN "; } >'a g'", "'a g'", "", 1, "2 columns, and line 1 has 3", "counts, use ", 0, PLAIN,
     ""},
    /* Further columns, other separators, headings. */
    {LIST("%d\\t%d\\t%g", "a, b, a / 7 - 1") ">g", "g", "", 0, "g has 3 columns: ", "times; ", 1, PLAIN, ""},
    {LIST("%d %d day%d", "a, b, a") ">g", "g", "", 1, "a further column is no number", "; ", 1, PLAIN, ""},
    {LIST("%d,%d", "a, b") ">g.csv", "g.csv", "", 0, NULL, NULL, 0, PLAIN, ""},
    {"{ echo 'w;target;source'; " LIST("1.5;%d;%d", "b, a") "; } >g.csv", "g.csv", "--ignore-columns", 0, NULL, NULL, 0,
     PLAIN, ""},
    {"{ echo ',a,b'; " LIST("%d,%d,%d", "n++, a, b") "; } | gzip >g.csv.gz", "g.csv.gz", "--ignore-columns", 0, NULL,
     NULL, 0, PLAIN, ""},
    {"{ echo '0 1 2 7'; echo '1 2 3'; echo '3 0'; } >g", "g", "", 1, "not the columns of the first edge",
     "neighbours, use ", 0, "printf '0 1\\n0 2\\n0 7\\n1 2\\n1 3\\n3 0\\n'", ""},
    {"{ echo 40 120; awk 'BEGIN { for (a = 1; a <= 40; a++) print (a < 40 ? a + 1 : \"1 39\"), (a % 2 ? \"\" : 1) }'; "
     "} >g.graph",
     "g.graph", "", 1, "for METIS's lists", "neighbours, use ", 0,
     "awk 'BEGIN { for (a = 0; a < 40; a++) { if (a < 39) print a, a + 1; else print \"39 0\\n39 38\"; "
     "if (a % 2) print a, 0 } }'",
     ""},
    {LIST("n%d,n %d", "a, b") ">g.csv", "g.csv", "", 1, "if the IDs are names", "names, use ", 0,
     "awk -F, '{for (i = 1; i < 3; i++) if (!($i in n)) n[$i] = c++; print n[$1], n[$2]}' g.csv", ""},
    {"{ printf 'source,target\\r\\n'; " LIST("n%d,n%d\\r", "a, b") "; } >g.csv", "g.csv", "", 1, "if the IDs are names",
     "names, use ", 0, PLAIN " | awk '{for (i = 1; i < 3; i++) if (!($i in n)) n[$i] = c++; print n[$1], n[$2]}'", ""},
    {LIST("%d.0 %d.0", "a, b") ">g", "g", "", 1, "not two node IDs: '0.0 1.0'", "numbers, use ", 0, PLAIN, ""},
    {LIST("%g %d %d", "a + 0.5, a, b") ">g", "g", "", 1, "not two node IDs: '0.5 0 1'", "third column, use ", 0, PLAIN,
     ""},
    {LIST("(%d, %d)", "a, b") ">g", "g", "", 1, "not two node IDs: '(0, 1)'", "numbers alone, use ", 0, PLAIN, ""},
    {LIST("%d -> %d", "a, b") ">g", "g", "", 1, "not two node IDs: '0 -> 1'", "numbers alone, use ", 0, PLAIN, ""},
    {"{ echo '// a list'; " PLAIN "; } >g", "g", "", 1, "not two node IDs: '// a list'", "comments, use ", 0, PLAIN,
     ""},
    {"{ echo 'digraph g {'; " LIST("  %d -> %d;", "a, b") "; echo '}'; } >g", "g", "", 1, "edges in DOT", "DOT: use ",
     0, PLAIN, ""},
    {"{ echo '# ToNodeId FromNodeId'; " LIST("%d %d", "b, a") "; } >g", "g", "", 0, NULL, NULL, 0, PLAIN, ""},
    {"{ echo '# 2 1'; echo '# from people to pages'; " PLAIN "; } >g", "g", "", 0, NULL, NULL, 0, PLAIN, ""},
    {"{ echo 'Source,Target,Type'; " LIST("%d,%d,Undirected", "a, b") "; } >g.csv", "g.csv", "--ignore-columns", 0,
     "its header states an undirected graph", "direction: ", 1, PLAIN, "--add-reverse"},
    {"{ echo c DIMACS; echo p sp 40 120; " LIST("a %d %d 1", "a + 1, b + 1") "; } >g", "g", "", 1, "lines of DIMACS",
     "DIMACS: use ", 0, PLAIN, ""},
    /* Matrices and bipartite graphs. */
    {"{ echo '" BANNER "pattern general'; echo 40 40 120; " LIST("%d %d", "a + 1, b + 1") "; } >g.mtx", "g.mtx", "", 0,
     NULL, NULL, 0, PLAIN, ""},
    {"{ echo '" BANNER "real symmetric'; echo 42 42 120; " LIST("%d %d 0.5", "a + 1, b + 1") "; } >g", "g", "", 0, NULL,
     NULL, 0, PLAIN, "--add-reverse --nodes 42"},
    {"{ echo '" BANNER "real symmetric'; echo 40 40 120; " LIST("%d %d 0.5", "a + 1, b + 1") "; } >g", "g",
     "--add-reverse", 0, "stores every edge in both directions", "or add ", 1, PLAIN, "--add-reverse"},
    {"{ echo '" BANNER "pattern general'; echo 40 50 120; " LIST("%d %d", "a + 1, b + 1") "; } >g", "g", "", 1,
     "these are different nodes", "rows: ", 0, LIST("%d %d", "a, b + 40"), ""},
    {"{ echo '% bip'; echo '% 120 40 50'; " LIST("%d %d", "a + 1, b + 1") "; } >g", "g", "", 1,
     "its header states a bipartite graph", "first: ", 0, LIST("%d %d", "a, b + 40"), ""},
    /* Other encodings and packings. */
    {PLAIN " | tr '\\n' '\\r' >g", "g", "", 1, "its lines end with CR alone", "list with ", 0, PLAIN, ""},
    {PLAIN " | iconv -f UTF-8 -t UTF-16 >g", "g", "", 1, "UTF-16 text", "list with ", 0, PLAIN, ""},
    {PLAIN " | bzip2 >g.bz2", "g.bz2", "", 1, "bzip2 data", "list with ", 0, PLAIN, ""},
    {PLAIN " | xz >g.xz", "g.xz", "", 1, "xz data", "list with ", 0, PLAIN, ""},
    {PLAIN " | zstd -q >g.zst", "g.zst", "", 1, "zstd data", "list with ", 0, PLAIN, ""},
};

/* Whether the program that the case pipes into is there. */
static bool has_program(const char *dir, const char *write)
{
    static const char *const programs[] = {"bzip2", "xz", "zstd", "iconv"};
    char command[64], piped[32];
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        (void)snprintf(piped, sizeof piped, "| %s ", programs[i]);
        (void)snprintf(command, sizeof command, "command -v %s", programs[i]);
        if (strstr(write, piped) == NULL)
            continue;
        struct process_result r = in_shell(dir, command);
        const bool has = r.exit_status == 0;
        process_free(&r);
        if (!has)
            print_message("left out: no %s\n", programs[i]);
        return has;
    }
    return true;
}

/* An import that is right as it is warns of random parts only. */
static void expect_no_doubt(const char *what, const char *message)
{
    static const char *const doubts[] = {"occur", "direction", "stated", "repeat", "columns: ", "add ", "line end"};
    for (size_t i = 0; i < sizeof doubts / sizeof *doubts; i++)
        if (strstr(message, doubts[i]) != NULL)
            fail_msg("`%s`: %s", what, message);
}

static void run_list_case(const char *dir, const struct list_case *c)
{
    char taken[COMMAND_MAX] = "", options[COMMAND_MAX], command[COMMAND_MAX];
    (void)snprintf(options, sizeof options, SNAP " %s", c->options);
    succeeds(dir, c->write);
    struct process_result r = prepare(dir, "first", c->from, options);
    if (r.exit_status != c->exit_status)
        fail_msg("`%s`: %d, %s", c->write, r.exit_status, r.err);
    if (c->message != NULL)
        must_show(r.err, c->message);
    else
        expect_no_doubt(c->write, r.err);
    if (c->lead != NULL)
        take_remedy(r.err, c->lead, c->words, taken);
    process_free(&r);
    if (c->lead != NULL)
        import_repaired(dir, c->from, options, taken);
    (void)snprintf(command, sizeof command,
                   "%s >plain.txt && oocgnn prepare reference --quiet --from plain.txt" SNAP " %s", c->reference,
                   c->reference_options);
    succeeds(dir, command);
    same_dataset(dir, c->write, c->lead != NULL ? "repaired" : "first", "reference", list_files);
}

static void test_edge_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char *const dir = process_temp_dir();
        if (has_program(dir, lists[i].write))
            run_list_case(dir, &lists[i]);
        process_remove_tree(dir);
        free(dir);
    }
}

/* ---- knowledge graphs ---- */

/* 30 nodes, 4 relations, 90 edges: source, relation, target. */
#define TRIPLES(format, values)                                                                                        \
    "awk 'BEGIN { for (i = 0; i < 90; i++) { h = i % 30; t = (h * 7 + int(i / 30) * 3 + 1) % 30; r = i % 4; "          \
    "printf \"" format "\\n\", " values " } }'"
#define HRT TRIPLES("e%d\\tr%d\\te%d", "h, r, t")

static const struct {
    const char *write, *options;
    int exit_status;
    const char *message, *lead;
    const char *reference, *reference_options; /* a command that prints train.txt */
} triples[] = {
    {TRIPLES("e%d\\te%d\\tr%d", "h, t, r") ">in/train.txt", "", 0, "30 of 30 relations are names of nodes",
     "order, add ", HRT, ""},
    {TRIPLES("%d\\t%d\\t%d", "h, t, r") ">in/train.txt", "--nodes 30", 0,
     "relations have numbers up to 29 and targets up to 3", "order, add ", TRIPLES("%d\\t%d\\t%d", "h, r, t"),
     "--nodes 30"},
    {TRIPLES("%d\\t%d\\t%d", "h, t * 1000000, r") ">in/train.txt", "--nodes 30000000", 1, "expected a number from 0 to",
     "order, add ", TRIPLES("%d\\t%d\\t%d", "h, r, t * 1000000"), "--nodes 30000000"},
    {HRT ">in/train.txt", "--columns htr", 0, "relations are names of nodes", "order, add ", HRT, ""},
    {"{ printf 'head\ttail\trelation\n'; " TRIPLES("e%d\\te%d\\tr%d", "h, t, r") "; } >in/train.txt", "", 1,
     "columns 'head\ttail\trelation'", ": add ", HRT, ""},
    {"{ printf 'head\trelation\ttail\n'; " HRT "; } >in/train.txt", "", 0, NULL, NULL, HRT, ""},
    {LIST("%d %d", "a, b") ">in/train.txt", "--columns ht --nodes 40", 0, NULL, NULL, LIST("%d\\t0\\t%d", "a, b"),
     "--nodes 40"},
};

static void test_triples(void **state)
{
    (void)state;
    static const char *const files[] = {"triples-train", "indptr", "indices", NULL};
    for (size_t i = 0; i < sizeof triples / sizeof *triples; i++) {
        char taken[COMMAND_MAX], options[COMMAND_MAX], command[2 * COMMAND_MAX], *const dir = process_temp_dir();
        const char *made = "first";
        (void)snprintf(command, sizeof command, "mkdir in plain && %s", triples[i].write);
        succeeds(dir, command);
        (void)snprintf(options, sizeof options, "--format triples %s", triples[i].options);
        struct process_result r = prepare(dir, "first", "in", options);
        if (r.exit_status != triples[i].exit_status)
            fail_msg("case %zu: %d, %s", i, r.exit_status, r.err);
        if (triples[i].message != NULL) {
            must_show(r.err, triples[i].message);
            take_remedy(r.err, triples[i].lead, 2, taken);
            import_repaired(dir, "in", options, taken);
            made = "repaired";
        }
        process_free(&r);
        (void)snprintf(command, sizeof command,
                       "%s >plain/train.txt && oocgnn prepare reference --quiet --from plain --format triples %s",
                       triples[i].reference, triples[i].reference_options);
        succeeds(dir, command);
        same_dataset(dir, triples[i].write, made, "reference", files);
        process_remove_tree(dir);
        free(dir);
    }
}

/* ---- OGB's layout in text ---- */

#define ZIP(command, file) command " | gzip >" file
/* clang-format off */
/* Writes the folder of a graph, with labels of this format. */
#define FOLDER(labels)                                                                                                 \
    "mkdir -p ogb/raw ogb/split/time && echo 40 >ogb/raw/num-node-list.csv && echo 120 >ogb/raw/num-edge-list.csv && " \
    ZIP(LIST("%d,%d", "a, b"), "ogb/raw/edge.csv.gz") " && "                                                           \
    ZIP("awk 'BEGIN { for (v = 0; v < 40; v++) printf \"%.6f,%.6f\\n\", v / 7, -v }'", "ogb/raw/node-feat.csv.gz")     \
    " && " ZIP("awk 'BEGIN { for (v = 0; v < 40; v++) print " labels " }'", "ogb/raw/node-label.csv.gz")               \
    " && " ZIP("seq 0 19", "ogb/split/time/train.csv.gz") " && " ZIP("seq 20 29", "ogb/split/time/valid.csv.gz")       \
    " && " ZIP("seq 30 39", "ogb/split/time/test.csv.gz")
/* clang-format on */

static const struct {
    const char *write, *options;
    int exit_status;
    const char *message, *lead; /* NULL: right as it is */
} folders[] = {
    {FOLDER("v % 3"), "", 0, "splits: ogb/split/time\n", NULL},
    {FOLDER("v % 3"), "--split split/time", 0, NULL, NULL},
    {FOLDER("(v % 3) \".0\""), "", 0, "OGB's loader adds the reverse edges", NULL},
    {FOLDER("v % 3") " && cp -r ogb/split/time ogb/split/more", "", 2,
     "several splits: choose with --split split/more or --split split/time\n", "choose with "},
    {FOLDER("v % 3 \",\" v % 2"), "", 1, "found 2 labels per node", "node: add "},
    {FOLDER("(v % 2 ? 255 : v % 3)"), "", 0, "256 classes, 252 of them without a node; 20 nodes have", "none, add "},
    {FOLDER("3 * (v % 10)"), "", 0, "28 classes, 18 of them without a node; 4 nodes have", "none, add "},
    {FOLDER("(v % 2 ? -100 : v % 3)"), "", 1, "node 1 has label -100", "none, add "},
    {FOLDER("100000 * v"), "", 1, "3900001 classes for 40 nodes", "or add "},
    {FOLDER("v % 3") " && gzip -d ogb/raw/edge.csv.gz && sed -i 60q ogb/raw/edge.csv", "", 0,
     "120 edges are stated, and it has 60: it may be incomplete", NULL},
    {FOLDER("v % 3") " && mv ogb/split/time/valid.csv.gz ogb/my_dev_nodes.txt", "", 0,
     "has no file of validation nodes under a usual name; not read: my_dev_nodes.txt\n", NULL},
    {FOLDER("v % 3") " && mv ogb/split/time/valid.csv.gz ogb/split/time/dev_nodes.txt", "", 0,
     "has no file of validation nodes under a usual name; not read: dev_nodes.txt\n", NULL},
    {FOLDER("v % 3") " && mv ogb/split/time/train.csv.gz ogb/my_train.txt && rm -r ogb/split", "--train-fraction 0.5",
     0, "ogb has no splits under usual names (not read: my_train.txt; usual are train_idx.npy, ", NULL},
    /* Numbers of nodes that differ, and damaged files. */
    {FOLDER("v % 3") " && echo 39 >ogb/raw/num-node-list.csv", "", 1,
     "node-label.csv.gz: more rows than the 39 that num-node-list.csv next to it states", NULL},
    {FOLDER("v % 3") " && echo 41 >ogb/raw/num-node-list.csv", "", 1, "node-label.csv.gz: ends after 40 of 41 numbers",
     NULL},
    {FOLDER("v % 3") " && rm ogb/raw/node-* && echo 30 >ogb/raw/num-node-list.csv", "--dim 2 --classes 3", 1,
     "the nodes end at 29", NULL},
    {FOLDER("v % 3") " && seq 2 >ogb/raw/num-node-list.csv", "", 1, "num-node-list.csv: several graphs", NULL},
    {FOLDER("v % 3") " && gzip -d ogb/raw/node-feat.csv.gz && sed -i '7s/,.*/,x/' ogb/raw/node-feat.csv", "", 1,
     "node-feat.csv:7: column 2: not a number: 'x'", NULL},
    {FOLDER("v % 3") " && gzip -d ogb/raw/edge.csv.gz && sed -i '9s/,.*/,x/' ogb/raw/edge.csv", "", 1,
     "edge.csv:9: ", NULL},
    /* An array without a header next to a table in text. */
    {FOLDER("v % 3") " && head -c 320 /dev/zero >ogb/f", "--features f --raw-dim 2", 0, NULL, NULL},
};

static void test_folders(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char taken[COMMAND_MAX], *const dir = process_temp_dir();
        succeeds(dir, folders[i].write);
        struct process_result r = prepare(dir, "first", "ogb", folders[i].options);
        if (r.exit_status != folders[i].exit_status)
            fail_msg("case %zu: %d, %s", i, r.exit_status, r.err);
        if (folders[i].message != NULL)
            must_show(r.err, folders[i].message);
        if (folders[i].lead != NULL) {
            take_remedy(r.err, folders[i].lead, 2, taken);
            import_repaired(dir, "ogb", folders[i].options, taken);
        }
        process_free(&r);
        process_remove_tree(dir);
        free(dir);
    }
}

/* ---- triples ---- */

/* 40 nodes and 3 relations, whose columns a program of awk prints in some order, and the options. */
#define ORDER(values) "mkdir -p in && awk 'BEGIN { OFS = \"\\t\"; " BASE "print " values " } }' >in/train.txt"

static const struct {
    const char *write, *options, *message; /* NULL: no warning about the columns */
} orders[] = {
    {ORDER("\"n\" a, \"r\" d % 3, \"n\" b"), "", NULL},
    {ORDER("a, d % 3, b"), "", NULL},
    {ORDER("a, d % 3, b"), "--nodes 40", NULL},
    {ORDER("\"n\" a, \"n\" b, \"r\" d % 3"), "", "40 of 40 relations are names of nodes"},
    {ORDER("a, b, d % 3"), "", "in another order, add --columns htr or rht"},
    {ORDER("a, b, d % 3"), "--nodes 40", "and targets up to 2; if the columns are in another order, add --columns htr"},
    {ORDER("d % 3, a, b"), "--nodes 40", "and sources up to 2; if the columns are in another order, add --columns rht"},
    {ORDER("d % 3, a, b"), "--nodes 40 --columns rht", NULL},
    {ORDER("d % 3, a, b"), "--nodes 40 --columns htr", "in another order, add --columns hrt or rht"},
};

static void test_orders(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        char options[COMMAND_MAX], *const dir = process_temp_dir();
        succeeds(dir, orders[i].write);
        (void)snprintf(options, sizeof options, "--format triples %s", orders[i].options);
        struct process_result r = prepare(dir, "kg", "in", options);
        if (r.exit_status != 0 || (orders[i].message == NULL) != (strstr(r.err, "in another order") == NULL))
            fail_msg("case %zu: %s", i, r.err);
        if (orders[i].message != NULL)
            must_show(r.err, orders[i].message);
        process_free(&r);
        process_remove_tree(dir);
        free(dir);
    }
}

/* ---- arrays ---- */

/* Writes a NumPy array of bytes: the values that a program of awk prints, one per line. */
#define NPY(name, shape, program)                                                                                      \
    "mkdir -p in && { printf '\\223NUMPY\\1\\0\\166\\0%-117s\\n' \"{'descr': '|u1', 'fortran_order': False, "          \
    "'shape': " shape ", }\"; printf \"$(awk 'BEGIN { " program                                                        \
    " }' | awk '{ printf \"\\\\%03o\", $1 }')\"; } >in/" name ".npy"
#define PAIRS(scale, shift)                                                                                            \
    NPY("edge_index", "(120, 2)", BASE "print " scale " * a + " shift "; print " scale " * b + " shift " }")
#define PER_NODE(name, value) " && " NPY(name, "(40, 1)", "for (v = 0; v < 40; v++) print " value)

static const struct {
    const char *write, *options;
    int exit_status;
    const char *message; /* NULL: no warning about the numbers of nodes or classes */
} arrays[] = {
    {PAIRS("1", "0"), RANDOM, 0, NULL},
    {PAIRS("1", "1"), RANDOM, 0, "node 0 occurs in no edge, so the IDs seem to start at 1: save the edges less 1"},
    {PAIRS("5", "0"), RANDOM, 0, "156 of 196 node IDs occur in no edge: numpy.unique("},
    {PAIRS("1", "1") PER_NODE("y", "v % 3"), "--dim 2", 1, "if the IDs start at 1, subtract 1 from each"},
    {PAIRS("1", "0") PER_NODE("y", "v % 3"), "--dim 2", 0, NULL},
    {PAIRS("1", "0") PER_NODE("y", "v % 3 + 1"), "--dim 2", 0, "no node has label 0, and every other class up to 3"},
    {PAIRS("1", "0") PER_NODE("y", "v % 3") " && mv in/y.npy in/class.npy", "--dim 2", 2,
     "no labels in a form that is read (not read: class.npy): save them with numpy.save in a file for --labels FILE"},
    {PAIRS("1", "0") " && mv in/edge_index.npy in/my_edges.npy", RANDOM, 2, "not read: my_edges.npy"},
    {PAIRS("1",
           "0") " && (cd in && mv edge_index.npy edges.npy && python3 -m zipfile -c g.npz edges.npy && rm edges.npy)",
     RANDOM, 2, "; use --from in/g.npz"},
    {PAIRS("1", "0") " && (cd in && mv edge_index.npy e.npy && python3 -m zipfile -c g.npz e.npy && rm e.npy)",
     "--from in/g.npz" RANDOM, 2, "its members: e.npy"},
};

static void test_arrays(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        char *const dir = process_temp_dir();
        succeeds(dir, arrays[i].write);
        struct process_result r = prepare(dir, "first", "in", arrays[i].options);
        if (r.exit_status != arrays[i].exit_status)
            fail_msg("case %zu: %d, %s", i, r.exit_status, r.err);
        if (arrays[i].message != NULL)
            must_show(r.err, arrays[i].message);
        else if (strstr(r.err, "occur") != NULL || strstr(r.err, "label 0") != NULL)
            fail_msg("case %zu: %s", i, r.err);
        process_free(&r);
        process_remove_tree(dir);
        free(dir);
    }
}

/* The numbers of text are those of the plain list, and of what wrote them. */
static void test_folder_values(void **state)
{
    (void)state;
    char *const dir = process_temp_dir();
    succeeds(dir, FOLDER("v % 3") " && oocgnn prepare first --quiet --from ogb");
    succeeds(dir, PLAIN " >g && oocgnn prepare reference --quiet --from g" SNAP);
    same_dataset(dir, "edges", "first", "reference", list_files);
    succeeds(dir, "cmp <(od -An -v -w8 -tfF data/first/features-d2 | awk '{printf \"%.6f %.6f\\n\", $1, $2}') "
                  "<(awk 'BEGIN { for (v = 0; v < 40; v++) printf \"%.6f %.6f\\n\", v / 7, -v }')");
    succeeds(dir, "cmp <(od -An -v -w4 -td4 data/first/labels | tr -d ' ') <(awk 'BEGIN { for (v = 0; v < 40; v++) "
                  "print v % 3 }')");
    succeeds(dir, "cmp <(od -An -v -w4 -tu4 data/first/valid | tr -d ' ') <(seq 20 29)");
    succeeds(dir, FOLDER("v % 3 \",\" v % 2") " && oocgnn prepare second --quiet --from ogb --label-column 2");
    succeeds(dir, "cmp <(od -An -v -w4 -td4 data/second/labels | tr -d ' ') <(awk 'BEGIN { for (v = 0; v < 40; v++) "
                  "print v % 2 }')");
    succeeds(dir, "rm ogb/raw/node-* && echo 45 >ogb/raw/num-node-list.csv && oocgnn prepare third --quiet --from ogb "
                  "--dim 2 --classes 3 && grep -qx 'nodes = 45' data/third/meta");
    succeeds(dir, "oocgnn prepare first --check && grep -q 'param.nodes_without_edges = 0' data/first/meta");
    succeeds(dir, "oocgnn stats ./data/first --epochs 0 | grep -q 'Nodes without edges: 0 (0.00 %)'");
    process_remove_tree(dir);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edge_lists), cmocka_unit_test(test_triples), cmocka_unit_test(test_orders),
        cmocka_unit_test(test_arrays),     cmocka_unit_test(test_folders), cmocka_unit_test(test_folder_values),
    };
    return cmocka_run_group_tests_name("import_remedies", tests, NULL, NULL);
}

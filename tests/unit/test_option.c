/* SPDX-License-Identifier: MIT */
/* Option tables: defaults, parsing, limits, near misses, echo that parses back, help that names everything. */
#include "harness/base/option.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct config {
    bool reorder;
    uint32_t extractors;
    uint64_t rows;
    double multiplier;
    uint64_t buffer_bytes;
    uint32_t policy;
};

static const char *const policies[] = {"lru", "belady", NULL};
#define FIELD(name) offsetof(struct config, name)
/* clang-format off */
static const struct gnn_option table[] = {
    {.name = "reorder", .type = GNN_OPT_BOOL, .offset = FIELD(reorder), .unit = "", .def = "true",
     .help = "Deliver out of order.", .source = "section 4"},
    {.name = "extractors", .type = GNN_OPT_U32, .offset = FIELD(extractors), .unit = "threads", .def = "4", .min = 1,
     .max = 64, .help = "Threads that read.", .source = "section 4.2"},
    {.name = "rows", .type = GNN_OPT_U64, .offset = FIELD(rows), .unit = "rows", .def = "0",
     .help = "Rows; 0 = automatic.", .source = "artifact"},
    {.name = "multiplier", .type = GNN_OPT_F64, .offset = FIELD(multiplier), .unit = "x", .def = "1.5", .min = 0.5,
     .max = 8, .help = "Of the minimum.", .source = "section 5"},
    {.name = "buffer_bytes", .type = GNN_OPT_BYTES, .offset = FIELD(buffer_bytes), .unit = "bytes", .def = "320M",
     .min = 4096, .max = 1099511627776.0, .help = "Buffer.", .source = "section 6"},
    {.name = "policy", .type = GNN_OPT_CHOICE, .offset = FIELD(policy), .unit = "", .def = "lru", .choices = policies,
     .help = "Eviction.", .source = "section 3"},
    {0},
};
/* clang-format on */

static void defaults(void **state)
{
    (void)state;
    struct config c;
    memset(&c, 0xff, sizeof c);
    gnn_option_defaults(table, &c);
    assert_true(c.reorder);
    assert_int_equal(c.extractors, 4);
    assert_int_equal(c.rows, 0);
    assert_true(c.multiplier == 1.5);
    assert_int_equal(c.buffer_bytes, 335544320);
    assert_int_equal(c.policy, 0);
}

/* The value that `config` holds is printed as `echo`, and what is printed parses back to the same bytes. */
static void check_echo(const struct config *config, const char *name, const char *echo)
{
    const struct gnn_option *option = table;
    while (strcmp(option->name, name) != 0)
        option++;
    struct gnn_err err = {0};
    char text[64];
    gnn_option_format(option, config, text, sizeof text);
    assert_string_equal(text, echo);
    struct config again;
    gnn_option_defaults(table, &again);
    assert_int_equal(gnn_option_set(table, &again, option->name, text, &err), GNN_OK);
    const size_t end = option[1].name == NULL ? sizeof again : option[1].offset;
    const bool four = option->type == GNN_OPT_U32 || option->type == GNN_OPT_CHOICE;
    const size_t width = option->type == GNN_OPT_BOOL ? sizeof(bool) : four ? 4 : 8;
    assert_true(option->offset + width <= end);
    assert_memory_equal((const char *)config + option->offset, (char *)&again + option->offset, width);
}

static void values(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
        const char *echo;     /* NULL: refused */
        const char *mentions; /* in the message */
    } cases[] = {
        {"reorder", "no", "false", NULL},
        {"reorder", "on", "true", NULL},
        {"reorder", "1", "true", NULL},
        {"reorder", "maybe", NULL, "maybe"},
        {"reorder", "True", NULL, "True"},
        {"extractors", "1", "1", NULL},
        {"extractors", "64", "64", NULL},
        {"extractors", "0", NULL, "1 to 64 threads"},
        {"extractors", "65", NULL, "1 to 64 threads"},
        {"extractors", "4.0", NULL, "extractors"},
        {"extractors", "-4", NULL, "-4"},
        {"rows", "18446744073709551615", "18446744073709551615", NULL},
        {"rows", "18446744073709551616", NULL, "rows"},
        {"multiplier", "0.5", "0.5", NULL},
        {"multiplier", "0.1", NULL, "0.5 to 8"},
        {"multiplier", "1e1", NULL, "0.5 to 8"},
        {"multiplier", "nan", NULL, "finite"},
        {"multiplier", "1.2x", NULL, "1.2x"},
        {"multiplier", "3.3333333333333335", "3.3333333333333335", NULL},
        {"buffer_bytes", "1.5GiB", "1536M", NULL},
        {"buffer_bytes", "4097", "4097", NULL},
        {"buffer_bytes", "4095", NULL, "4.00 KiB to 1.00 TiB"},
        {"buffer_bytes", "lots", NULL, "lots"},
        {"policy", "belady", "belady", NULL},
        {"policy", "fifo", NULL, "lru, belady"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct config c;
        struct gnn_err err = {0};
        gnn_option_defaults(table, &c);
        const enum gnn_status status = gnn_option_set(table, &c, cases[i].name, cases[i].value, &err);
        if ((status == GNN_OK) != (cases[i].echo != NULL))
            fail_msg("%s=%s: %s", cases[i].name, cases[i].value, err.message);
        if (cases[i].echo == NULL) {
            assert_int_equal(status, GNN_EUSAGE);
            assert_non_null(strstr(err.message, cases[i].name));
            if (strstr(err.message, cases[i].mentions) == NULL)
                fail_msg("\"%s\" does not mention \"%s\"", err.message, cases[i].mentions);
            continue;
        }
        check_echo(&c, cases[i].name, cases[i].echo);
    }
}

static void near_misses(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *expected; /* NULL: no suggestion */
    } cases[] = {
        {"extracters", "did you mean \"extractors\"?"},
        {"row", "did you mean \"rows\"?"},
        {"buffer", "did you mean \"buffer_bytes\"?"},
        {"reoder", "did you mean \"reorder\"?"},
        {"zzzzzz", NULL},
        {"", NULL},
    };
    struct config c;
    gnn_option_defaults(table, &c);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_err err = {0};
        assert_int_equal(gnn_option_set(table, &c, cases[i].name, "1", &err), GNN_EUSAGE);
        const char *const hint = strstr(err.message, "did you mean");
        if (cases[i].expected == NULL)
            assert_null(hint);
        else if (hint == NULL || strcmp(hint, cases[i].expected) != 0)
            fail_msg("\"%s\": %s", cases[i].name, err.message);
    }
}

static void help_names_everything(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    assert_non_null(out);
    gnn_option_help(table, out);
    assert_int_equal(fclose(out), 0);
    static const char *const wanted[] = {
        "extractors=4 threads", "1 to 64",           "Threads that read.",  "section 4.2",
        "one of lru, belady",   "buffer_bytes=320M", "4.00 KiB to 1.00 TiB"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strstr(text, wanted[i]) == NULL)
            fail_msg("help lacks \"%s\":\n%s", wanted[i], text);
    free(text);
}

/* A README's table: one row an option; a bar inside a cell is escaped. */
static void markdown_has_a_row_per_option(void **state)
{
    (void)state;
    static const struct gnn_option one[] = {{.name = "io", .type = GNN_OPT_TEXT, .def = "", .help = "a|b."},
                                            {.name = NULL}};
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    assert_non_null(out);
    gnn_option_markdown(table, out);
    gnn_option_markdown(one, out);
    assert_int_equal(fclose(out), 0);
    static const char *const wanted[] = {
        "| parameter | meaning | default | range | source |\n|---|---|---|---|---|\n| `reorder` |",
        "| Deliver out of order. | `true` | true or false | section 4 |",
        "\n| `extractors` | Threads that read. | `4` threads | 1 to 64 | section 4.2 |\n", "| lru, belady |",
        "\n| `io` | a\\|b. | empty | text | ours |\n"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strstr(text, wanted[i]) == NULL)
            fail_msg("the table lacks \"%s\":\n%s", wanted[i], text);
    free(text);
}

struct texts {
    char path[GNN_TEXT_MAX];
    uint64_t limit_ns;
    uint32_t scale_divisor;
    struct gnn_u32_list fanout;
};

static const struct gnn_option text_table[] = {
    {.name = "path", .type = GNN_OPT_TEXT, .offset = offsetof(struct texts, path), .def = "", .help = "A path."},
    {.name = "limit", .type = GNN_OPT_DURATION, .offset = offsetof(struct texts, limit_ns), .def = "0", .help = "T."},
    {.name = "scale",
     .type = GNN_OPT_SCALE,
     .offset = offsetof(struct texts, scale_divisor),
     .def = "1/1",
     .help = "S."},
    {.name = "fanout",
     .type = GNN_OPT_U32_LIST,
     .offset = offsetof(struct texts, fanout),
     .def = "10,10,10",
     .max = 64,
     .help = "F."},
    {.name = NULL},
};

/* What each text type stores is what it prints, and printing parses back. */
static void text_types_round_trip(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *echo;
        bool ok;
    } cases[] = {
        {"path", "a/b c", "a/b c", true},
        {"path", "", "", true},
        {"limit", "250ms", "250000000ns", true},
        {"limit", "30m", "1800000000000ns", true},
        {"limit", "3 parsecs", NULL, false},
        {"scale", "1/100", "1/100", true},
        {"scale", "2", NULL, false},
        {"fanout", "10,10,5", "10,10,5", true},
        {"fanout", "65", NULL, false},
        {"fanout", "10,,5", NULL, false},
        {"fanout", "1,2,3,4,5,6,7,8,9", NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct texts config;
        struct gnn_err err = {0};
        gnn_option_defaults(text_table, &config);
        assert_int_equal(config.fanout.count, 3);
        const enum gnn_status status = gnn_option_set(text_table, &config, cases[i].name, cases[i].value, &err);
        if (!cases[i].ok) {
            assert_int_equal(status, GNN_EUSAGE);
            assert_non_null(strstr(err.message, cases[i].name));
            continue;
        }
        assert_int_equal(status, GNN_OK);
        char text[GNN_TEXT_MAX];
        const struct gnn_option *option = text_table;
        while (strcmp(option->name, cases[i].name) != 0)
            option++;
        gnn_option_format(option, &config, text, sizeof text);
        assert_string_equal(text, cases[i].echo);
    }
    char long_text[GNN_TEXT_MAX + 1];
    memset(long_text, 'x', GNN_TEXT_MAX);
    long_text[GNN_TEXT_MAX] = '\0';
    struct texts config;
    assert_int_equal(gnn_option_set(text_table, &config, "path", long_text, NULL), GNN_EUSAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_types_round_trip),
        cmocka_unit_test(defaults),
        cmocka_unit_test(values),
        cmocka_unit_test(near_misses),
        cmocka_unit_test(help_names_everything),
        cmocka_unit_test(markdown_has_a_row_per_option),
    };
    return cmocka_run_group_tests_name("option", tests, NULL, NULL);
}

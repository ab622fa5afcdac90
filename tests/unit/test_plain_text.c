/* SPDX-License-Identifier: MIT */
/* What may stand in a name, and what is made of the rest. */
#include "harness/base/plain_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void texts_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *text, *plain; /* plain NULL: the text is plain */
    } cases[] = {
        {"", NULL},
        {"papers100m 1/100; `x` \"y\" <z>", NULL},
        {"gr\xc3\xb6\xc3\x9f"
         "e \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf",
         NULL},
        {"two\nlines\tand\x1b[31m", "two?lines?and?[31m"},
        {"\x7f", "?"},
        {"\xc2\x80", "??"},           /* a control character of two bytes */
        {"\xff\xfe\xc0\xaf", "????"}, /* no UTF-8, overlong '/' */
        {"\xe0\x80\xaf", "???"},      /* overlong */
        {"\xed\xa0\x80", "???"},      /* a surrogate */
        {"\xf4\x90\x80\x80", "????"}, /* beyond U+10FFFF */
        {"cut \xe2\x82", "cut ??"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[64];
        assert_int_equal(gnn_text_is_plain(cases[i].text), cases[i].plain == NULL);
        gnn_text_plain(cases[i].text, out, sizeof out);
        assert_string_equal(out, cases[i].plain == NULL ? cases[i].text : cases[i].plain);
        assert_true(gnn_text_is_plain(out));
    }
}

static void a_cut_text_is_plain(void **state)
{
    (void)state;
    char out[8];
    gnn_text_plain("123456\xe2\x82\xac", out, sizeof out); /* cut inside the character */
    assert_string_equal(out, "123456?");
    char lines[] = "one\ntwo\r\xff";
    gnn_text_make_plain(lines);
    assert_string_equal(lines, "one\ntwo??");
}

static void computed_fractions_are_short(void **state)
{
    (void)state;
    static const struct {
        const char *value, *shown;
    } cases[] = {
        {"0.00030000000000000003", "0.0003"},
        {"0.30000000000000004", "0.3"},
        {"123456789.12345678", "123456789.123"},
        {"-1.2345678901234567e-08", "-1.23456789012e-08"},
        {"0.003", "0.003"},
        {"12345678901234567890", "12345678901234567890"}, /* not a fraction: every digit counts */
        {"0.12345678901234x", "0.12345678901234x"},
        {"papers100m-0.001234567890", "papers100m-0.001234567890"},
        {"gnndrive.paper/gpu", "gnndrive.paper/gpu"},
        {"", ""},
    };
    char out[GNN_SHORT_NUMBER_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(gnn_text_short_number(cases[i].value, out), cases[i].shown);
}

/* No line is longer than asked for, but for a word that is; line ends that are there stay. */
static void texts_are_broken_at_blanks(void **state)
{
    (void)state;
    static const struct {
        const char *text, *broken;
        uint32_t lines, width;
    } cases[] = {
        {"", "", 1, 0},
        {"12345678", "12345678", 1, 8},
        {"12345678 1", "12345678\n1", 2, 8},
        {"1234567 12", "1234567\n12", 2, 7},
        {"123456 1 1234567 1", "123456 1\n1234567\n1", 3, 8},
        {"1\n12345678 1", "1\n12345678\n1", 3, 8},
        {"1234567890 1", "1234567890\n1", 2, 10},
        {"12\n", "12\n", 2, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "%s", cases[i].text);
        assert_int_equal(gnn_text_wrap(text, 8), cases[i].lines);
        assert_string_equal(text, cases[i].broken);
        assert_int_equal(gnn_text_lines(text), cases[i].lines);
        assert_int_equal(gnn_text_width(text), cases[i].width);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_by_hand), cmocka_unit_test(a_cut_text_is_plain),
                                       cmocka_unit_test(texts_are_broken_at_blanks),
                                       cmocka_unit_test(computed_fractions_are_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

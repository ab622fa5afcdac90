/* SPDX-License-Identifier: MIT */
/* Sizes, durations, scales and lists: what parses to what, what is refused, what people see. */
#include "harness/base/units.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void bytes_table(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
        bool ok;
    } cases[] = {
        {"16GiB", UINT64_C(17179869184), true},
        {"320M", 335544320, true},
        {"320MB", 335544320, true},
        {"320mib", 335544320, true},
        {"1.5G", 1610612736, true},
        {"0.5K", 512, true},
        {"0.001K", 1, true},
        {"16", 16, true},
        {"16B", 16, true},
        {"0", 0, true},
        {"2T", UINT64_C(2) << 40, true},
        {"18446744073709551615", UINT64_MAX, true},
        {"18446744073709551616", 0, false},
        {"16777215T", UINT64_C(16777215) << 40, true},
        {"16777216T", 0, false},
        {"-1", 0, false},
        {"+1", 0, false},
        {" 1", 0, false},
        {"1 M", 0, false},
        {"16GB!", 0, false},
        {"16iB", 0, false},
        {"1.5", 0, false},
        {"1.", 0, false},
        {".5G", 0, false},
        {"", 0, false},
        {"G", 0, false},
        {"1P", 0, false},
        {"0x10", 0, false},
        {"1.0000000001G", 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_err err = {0};
        uint64_t bytes = 77;
        const enum gnn_status status = gnn_parse_bytes(cases[i].text, &bytes, &err);
        if ((status == GNN_OK) != cases[i].ok)
            fail_msg("bytes \"%s\": status %d", cases[i].text, (int)status);
        assert_int_equal(bytes, cases[i].ok ? cases[i].bytes : 77);
        if (!cases[i].ok) {
            assert_int_equal(status, GNN_EUSAGE);
            assert_non_null(strstr(err.message, cases[i].text));
        }
    }
}

static void duration_table(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
        bool ok;
    } cases[] = {
        {"30m", UINT64_C(1800000000000), true},
        {"90s", UINT64_C(90000000000), true},
        {"90", UINT64_C(90000000000), true},
        {"1.5h", UINT64_C(5400000000000), true},
        {"250ms", 250000000, true},
        {"10us", 10000, true},
        {"5ns", 5, true},
        {"0", 0, true},
        {"0.5", 500000000, true},
        {"5124095h", UINT64_C(18446742000000000000), true},
        {"5124096h", 0, false},
        {"5min", 0, false},
        {"5 s", 0, false},
        {"-5s", 0, false},
        {"s", 0, false},
        {"", 0, false},
        {"5S", 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_err err = {0};
        uint64_t ns = 77;
        const enum gnn_status status = gnn_parse_duration_ns(cases[i].text, &ns, &err);
        if ((status == GNN_OK) != cases[i].ok)
            fail_msg("duration \"%s\": status %d", cases[i].text, (int)status);
        assert_int_equal(ns, cases[i].ok ? cases[i].ns : 77);
    }
}

static void scale_table(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t divisor; /* 0: refused */
    } cases[] = {
        {"1/100", 100}, {"0.01", 100},       {"1", 1},     {"1.0", 1},  {"1/1", 1},
        {"0.25", 4},    {"0.5", 2},          {"0.3", 0},   {"2", 0},    {"0", 0},
        {"1/0", 0},     {"2/100", 0},        {"1/", 0},    {"1/-3", 0}, {"0.00", 0},
        {"100", 0},     {"1/4294967296", 0}, {"1/1.5", 0}, {"", 0},     {"0.0100", 100},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t divisor = 0;
        const enum gnn_status status = gnn_parse_scale(cases[i].text, &divisor, NULL);
        if (divisor != cases[i].divisor || (status == GNN_OK) != (cases[i].divisor != 0))
            fail_msg("scale \"%s\": status %d, divisor %u", cases[i].text, (int)status, divisor);
    }
}

static void whole_numbers(void **state)
{
    (void)state;
    uint64_t value = 0;
    assert_int_equal(gnn_parse_u64("18446744073709551615", &value, NULL), GNN_OK);
    assert_int_equal(value, UINT64_MAX);
    static const char *const refused[] = {"18446744073709551616", "", "-1", "+1", "1 ", "1.0", "1e3", "0x1"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_int_equal(gnn_parse_u64(refused[i], &value, NULL), GNN_EUSAGE);
}

static void lists(void **state)
{
    (void)state;
    uint32_t values[3] = {0};
    uint32_t count = 0;
    assert_int_equal(gnn_parse_u32_list("10,5,64", values, 3, 64, &count, NULL), GNN_OK);
    assert_int_equal(count, 3);
    assert_int_equal(values[0], 10);
    assert_int_equal(values[1], 5);
    assert_int_equal(values[2], 64);
    assert_int_equal(gnn_parse_u32_list("7", values, 3, 64, &count, NULL), GNN_OK);
    assert_int_equal(count, 1);
    static const char *const refused[] = {
        "", ",", "1,", ",1", "1,,2", "0", "65", "1,2,3,4", "1;2", "1 ,2", "99999999999999999999", "-1", "1x"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct gnn_err err = {0};
        if (gnn_parse_u32_list(refused[i], values, 3, 64, &count, &err) != GNN_EUSAGE)
            fail_msg("list \"%s\" was taken", refused[i]);
        assert_non_null(strstr(err.message, refused[i]));
    }
}

static void printing(void **state)
{
    (void)state;
    char text[32];
    static const struct {
        uint64_t bytes;
        const char *text;
    } bytes[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {1024, "1.00 KiB"},
                 {1610612736, "1.50 GiB"},
                 {UINT64_C(1) << 50, "1024 TiB"},
                 {335544320, "320 MiB"},
                 {UINT64_C(10) * 1024 * 1024, "10.0 MiB"}};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        assert_string_equal(gnn_format_bytes(bytes[i].bytes, text, sizeof text), bytes[i].text);
    static const struct {
        uint64_t ns;
        const char *text;
    } times[] = {{0, "0 ns"},
                 {999, "999 ns"},
                 {1500, "1.50 us"},
                 {UINT64_C(12345678901), "12.3 s"},
                 {250000000, "250 ms"},
                 {UINT64_C(90000000000), "1.50 m"},
                 {UINT64_C(7200000000000), "2.00 h"}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        assert_string_equal(gnn_format_duration(times[i].ns, text, sizeof text), times[i].text);
    static const struct {
        double count;
        const char *text;
    } counts[] = {{0, "0"}, {999, "999"}, {98100, "98.1 k"}, {1.6e9, "1.60 G"}, {0.25, "0.25"}, {2e13, "20.0 T"}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        assert_string_equal(gnn_format_count(counts[i].count, text, sizeof text), counts[i].text);
}

/* Seconds by hand: 365 and 366 days of 86400. */
static void moments(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t unix_s;
    } moments[] = {{"1970-01-01T00:00:00Z", 0},
                   {"1970-01-02T01:01:01Z", 86400 + 3661},
                   {"1972-02-29T00:00:00Z", UINT64_C(86400) * (365 + 365 + 31 + 28)},
                   {"2000-01-01T00:00:00Z", UINT64_C(86400) * (30 * 365 + 7)},
                   {"9999-12-31T23:59:59Z", UINT64_C(253402300799)}};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        struct gnn_err err = {0};
        uint64_t unix_s = 1;
        char text[GNN_UTC_BYTES];
        must(gnn_parse_utc(moments[i].text, &unix_s, &err), &err);
        assert_int_equal(unix_s, moments[i].unix_s);
        assert_string_equal(gnn_format_utc(unix_s, text, sizeof text), moments[i].text);
    }
    static const char *const none[] = {"",
                                       "2026-11-24",
                                       "2026-11-24T17:33Z",
                                       "2026-11-24T17:33:34",
                                       "2026-11-24 17:33:34Z",
                                       "2026-11-24T17:33:34+01:00",
                                       "2026-02-29T00:00:00Z",
                                       "2026-13-01T00:00:00Z",
                                       "2026-1-01T00:00:00Z",
                                       "2026-11-24T24:00:00Z",
                                       "2026-11-24T17:33:34Z ",
                                       "1969-12-31T23:59:59Z",
                                       "10000-01-01T00:00:00Z"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct gnn_err err = {0};
        uint64_t unix_s = 7;
        if (gnn_parse_utc(none[i], &unix_s, &err) != GNN_EUSAGE)
            fail_msg("\"%s\" is taken", none[i]);
        assert_int_equal(unix_s, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_table),   cmocka_unit_test(duration_table), cmocka_unit_test(scale_table),
        cmocka_unit_test(whole_numbers), cmocka_unit_test(lists),          cmocka_unit_test(printing),
        cmocka_unit_test(moments),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}

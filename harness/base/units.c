/* SPDX-License-Identifier: MIT */
/* Numbers with units. A value is held as an exact fraction (digits, power of ten), so "1.5G" never passes through a
 * double and does not depend on the locale. */
#include "harness/base/units.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

__extension__ typedef unsigned __int128 wide;

enum { FRACTION_DIGITS_MAX = 9 };
static const char utc_format[] = "%Y-%m-%dT%H:%M:%SZ";

struct unit {
    const char *suffix; /* as it is read */
    uint64_t factor;
    const char *shown; /* as it is printed */
};

/* Smallest first: printing takes the last one that is not larger than the value. */
#define UNITS(units) (int)(sizeof(units) / sizeof *(units))
/* clang-format off */
static const struct unit byte_units[] = {
    {"", 1, " B"}, {"K", UINT64_C(1) << 10, " KiB"}, {"M", UINT64_C(1) << 20, " MiB"},
    {"G", UINT64_C(1) << 30, " GiB"}, {"T", UINT64_C(1) << 40, " TiB"},
};
enum { TIME_UNIT_SECOND = 3 };
static const struct unit time_units[] = {
    {"ns", 1, " ns"}, {"us", 1000, " us"}, {"ms", 1000000, " ms"}, {"s", 1000000000, " s"},
    {"m", UINT64_C(60) * 1000000000, " m"}, {"h", UINT64_C(3600) * 1000000000, " h"},
};
static const struct unit count_units[] = {
    {"", 1, ""}, {"k", 1000, " k"}, {"M", 1000000, " M"}, {"G", 1000000000, " G"}, {"T", UINT64_C(1000000000000), " T"},
};
/* clang-format on */

/* digits / scale */
struct decimal {
    uint64_t digits;
    uint64_t scale; /* a power of ten, at most 10^FRACTION_DIGITS_MAX */
};

static bool append_digit(uint64_t *digits, char c)
{
    return !__builtin_mul_overflow(*digits, (uint64_t)10, digits) &&
           !__builtin_add_overflow(*digits, (uint64_t)(c - '0'), digits);
}

/* Reads "12" or "12.5"; leaves *text behind the number. False: no number there, or too many digits. */
static bool read_decimal(const char **text, struct decimal *out)
{
    const char *c = *text;
    struct decimal d = {.digits = 0, .scale = 1};
    if (!isdigit((unsigned char)*c))
        return false;
    for (; isdigit((unsigned char)*c); c++)
        if (!append_digit(&d.digits, *c))
            return false;
    if (*c == '.') {
        c++;
        if (!isdigit((unsigned char)*c))
            return false;
        for (int i = 0; isdigit((unsigned char)*c); c++, i++) {
            if (i == FRACTION_DIGITS_MAX || !append_digit(&d.digits, *c))
                return false;
            d.scale *= 10;
        }
    }
    *text = c;
    *out = d;
    return true;
}

/* digits * factor / scale, rounded to nearest; false where it does not fit. */
static bool scale_decimal(struct decimal d, uint64_t factor, uint64_t *out)
{
    assert(d.scale >= 1);
    assert(factor >= 1);
    const wide value = ((wide)d.digits * factor + d.scale / 2) / d.scale;
    if (value > UINT64_MAX)
        return false;
    *out = (uint64_t)value;
    return true;
}

/* After the letter: nothing, "B" or "iB". After plain digits: nothing or "B". */
static bool byte_suffix_ends(const char *rest, bool has_letter)
{
    return *rest == '\0' || strcasecmp(rest, "B") == 0 || (has_letter && strcasecmp(rest, "iB") == 0);
}

/* False: no size, or a fraction of a byte. */
static bool read_bytes(const char *text, uint64_t *out)
{
    struct decimal d;
    uint64_t factor = 1;
    if (!read_decimal(&text, &d))
        return false;
    for (int i = 1; i < UNITS(byte_units); i++)
        if (toupper((unsigned char)*text) == byte_units[i].suffix[0])
            factor = byte_units[i].factor;
    if (factor == 1 && d.scale != 1)
        return false;
    return byte_suffix_ends(text + (factor != 1), factor != 1) && scale_decimal(d, factor, out);
}

enum gnn_status gnn_parse_bytes(const char *text, uint64_t *out, struct gnn_err *err)
{
    if (read_bytes(text, out))
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE,
                    "\"%s\" is not a size below 16 EiB: write bytes (335544320) or K, M, G, T (320M, 1.5GiB)", text);
}

enum gnn_status gnn_parse_duration_ns(const char *text, uint64_t *out, struct gnn_err *err)
{
    struct decimal d;
    const char *rest = text;
    if (read_decimal(&rest, &d)) {
        if (*rest == '\0')
            rest = time_units[TIME_UNIT_SECOND].suffix;
        for (int i = 0; i < UNITS(time_units); i++)
            if (strcmp(rest, time_units[i].suffix) == 0 && scale_decimal(d, time_units[i].factor, out))
                return GNN_OK;
    }
    return gnn_fail(err, GNN_EUSAGE,
                    "\"%s\" is not a duration below 584 years: write seconds (90) or ns, us, ms, s, m, h (30m, 1.5h)",
                    text);
}

enum gnn_status gnn_parse_scale(const char *text, uint32_t *divisor, struct gnn_err *err)
{
    struct decimal d;
    const char *rest = text;
    if (read_decimal(&rest, &d) && *rest == '\0' && d.digits != 0 && d.scale % d.digits == 0) {
        *divisor = (uint32_t)(d.scale / d.digits);
        return GNN_OK;
    }
    uint64_t k = 0;
    if (strncmp(text, "1/", 2) == 0 && gnn_parse_u64(text + 2, &k, NULL) == GNN_OK && k >= 1 && k <= UINT32_MAX) {
        *divisor = (uint32_t)k;
        return GNN_OK;
    }
    return gnn_fail(err, GNN_EUSAGE, "\"%s\" is not a scale: write 1/K with an integer K >= 1 (1/100, 0.01 or 1)",
                    text);
}

enum gnn_status gnn_parse_u64(const char *text, uint64_t *out, struct gnn_err *err)
{
    uint64_t value = 0;
    const char *c = text;
    while (isdigit((unsigned char)*c) && append_digit(&value, *c))
        c++;
    if (c == text || *c != '\0')
        return gnn_fail(err, GNN_EUSAGE, "\"%s\" is not a whole number from 0 to %" PRIu64, text, UINT64_MAX);
    *out = value;
    return GNN_OK;
}

enum gnn_status gnn_parse_u32_list(const char *text, uint32_t *values, uint32_t max, uint32_t limit, uint32_t *count,
                                   struct gnn_err *err)
{
    uint32_t n = 0;
    const char *c = text;
    for (;;) {
        uint64_t value = 0;
        const char *start = c;
        while (isdigit((unsigned char)*c) && value <= limit)
            value = value * 10 + (uint64_t)(*c++ - '0');
        if (c == start || value < 1 || value > limit || (*c != ',' && *c != '\0'))
            return gnn_fail(err, GNN_EUSAGE, "\"%s\": entry %u is not a whole number from 1 to %u; write 10,10,10",
                            text, n + 1, limit);
        if (n == max)
            return gnn_fail(err, GNN_EUSAGE, "\"%s\" has more than %u entries", text, max);
        values[n++] = (uint32_t)value;
        if (*c == '\0')
            break;
        c++;
    }
    *count = n;
    return GNN_OK;
}

enum gnn_status gnn_parse_utc(const char *text, uint64_t *unix_s, struct gnn_err *err)
{
    struct tm utc = {0};
    char again[GNN_UTC_BYTES] = "";
    const char *const end = strptime(text, utc_format, &utc);
    const time_t seconds = end != NULL && *end == '\0' ? timegm(&utc) : -1;
    if (seconds >= 0)
        (void)gnn_format_utc((uint64_t)seconds, again, sizeof again);
    if (seconds < 0 || strcmp(again, text) != 0) /* strptime takes blanks, single digits and the 31st of every month */
        return gnn_fail(err, GNN_EUSAGE, "\"%s\" is not a time as 2026-11-24T17:33:34Z", text);
    *unix_s = (uint64_t)seconds;
    return GNN_OK;
}

/* Prints a value that is whole in units of 1 as it is; else three significant digits, and all of them from 100 up. */
static const char *format_value(const struct unit *units, int count, double value, char *text, size_t text_bytes)
{
    assert(count > 0);
    int i = count - 1;
    while (i > 0 && value < (double)units[i].factor)
        i--;
    const double scaled = value / (double)units[i].factor;
    const bool whole = i == 0 && value == (double)(uint64_t)value;
    const int decimals = whole ? 0 : scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
    (void)snprintf(text, text_bytes, "%.*f%s", decimals, scaled, units[i].shown);
    return text;
}

const char *gnn_format_bytes(uint64_t bytes, char *text, size_t text_bytes)
{
    return format_value(byte_units, UNITS(byte_units), (double)bytes, text, text_bytes);
}

const char *gnn_format_duration(uint64_t ns, char *text, size_t text_bytes)
{
    return format_value(time_units, UNITS(time_units), (double)ns, text, text_bytes);
}

const char *gnn_format_count(double count, char *text, size_t text_bytes)
{
    return format_value(count_units, UNITS(count_units), count, text, text_bytes);
}

const char *gnn_format_utc(uint64_t unix_s, char *text, size_t text_bytes)
{
    const time_t seconds = (time_t)unix_s;
    struct tm utc;
    assert(gmtime_r(&seconds, &utc) != NULL);
    if (strftime(text, text_bytes, utc_format, &utc) == 0)
        text[0] = '\0';
    return text;
}

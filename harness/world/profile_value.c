/* SPDX-License-Identifier: MIT */
#include "harness/base/units.h"
#include "harness/world/profile_draft.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct suffix {
    const char *text;
    uint64_t factor;
};

static const struct suffix count_units[] = {{"", 1}, {NULL, 0}};
static const struct suffix ps_units[] = {{"ps", 1},         {"ns", 1000},     {"us", 1000000},
                                         {"ms", SECOND_NS}, {"s", SECOND_PS}, {NULL, 0}};
static const struct suffix ns_units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", SECOND_NS}, {NULL, 0}};
static const struct suffix us_units[] = {{"", 1000000}, {NULL, 0}};
static const struct suffix rate_units[] = {
    {"B/s", 1}, {"kB/s", 1000}, {"MB/s", 1000000}, {"GB/s", SECOND_NS}, {NULL, 0}};
static const struct suffix per_s_units[] = {{"/s", 1}, {"k/s", 1000}, {"M/s", 1000000}, {NULL, 0}};
static const struct suffix flops_units[] = {
    {"MFLOP/s", 1000000}, {"GFLOP/s", SECOND_NS}, {"TFLOP/s", SECOND_PS}, {NULL, 0}};
static const struct suffix hz_units[] = {{"MHz", 1000000}, {"GHz", SECOND_NS}, {NULL, 0}};
static const struct suffix cores_units[] = {{"cores", 1000}, {NULL, 0}};

static const struct suffix *const units_of[] = {
    [UNIT_COUNT] = count_units, [UNIT_PS] = ps_units,       [UNIT_NS] = ns_units,
    [UNIT_RATE] = rate_units,   [UNIT_PER_S] = per_s_units, [UNIT_FLOPS] = flops_units,
    [UNIT_HZ] = hz_units,       [UNIT_CORES] = cores_units, [UNIT_PLAIN_US] = us_units,
};

/* What a message calls for. */
static const char *const unit_words[] = {
    [UNIT_COUNT] = "a plain integer",
    [UNIT_BYTES] = "a size as 512, 128K, 24G",
    [UNIT_PS] = "a time in ps, ns, us, ms or s, whole picoseconds",
    [UNIT_NS] = "a time in ns, us, ms or s, whole nanoseconds",
    [UNIT_PLAIN_US] = "a plain number of microseconds",
    [UNIT_RATE] = "a rate in B/s, kB/s, MB/s or GB/s (powers of 1000)",
    [UNIT_PER_S] = "a rate as 98000/s, 98k/s or 1.5M/s",
    [UNIT_FLOPS] = "a rate in MFLOP/s, GFLOP/s or TFLOP/s",
    [UNIT_HZ] = "a clock in MHz or GHz",
    [UNIT_VERSION] = "a kernel as 5.19",
    [UNIT_CORES] = "a number of cores as 1.3cores",
    [UNIT_MOMENT] = "a time in UTC as 2026-11-24T17:33:34Z",
    [UNIT_TEXT] = "a text",
};

/* text[0..len) = DIGITS[.DIGITS]SUFFIX into a whole number of base units; false: it is none. */
static bool parse_decimal(const char *text, size_t len, const struct suffix *units, uint64_t *out)
{
    size_t at = 0;
    uint64_t mantissa = 0, divisor = 1;
    bool point = false, digit = false;
    for (; at < len && ((text[at] >= '0' && text[at] <= '9') || (text[at] == '.' && !point)); at++) {
        if (text[at] == '.') {
            point = true;
            continue;
        }
        if (mantissa >= RATE_MAX || (point && divisor >= SECOND_PS))
            return false;
        mantissa = mantissa * 10 + (uint64_t)(text[at] - '0');
        divisor *= point ? 10 : 1;
        digit = true;
    }
    for (; digit && units->text != NULL; units++) {
        if (strlen(units->text) != len - at || strncmp(units->text, text + at, len - at) != 0)
            continue;
        const unsigned __int128 scaled = (unsigned __int128)mantissa * units->factor;
        if (scaled % divisor != 0 || scaled / divisor > UINT64_MAX)
            return false;
        *out = (uint64_t)(scaled / divisor);
        return true;
    }
    return false;
}

static bool parse_size(const char *text, size_t len, uint64_t *out)
{
    char copy[32];
    if (len == 0 || len >= sizeof copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return gnn_parse_bytes(copy, out, NULL) == GNN_OK;
}

/* "5.19" into 5019. */
static bool parse_version(const char *text, size_t len, uint64_t *out)
{
    const char *const point = memchr(text, '.', len);
    uint64_t major, minor;
    if (point == NULL || !parse_decimal(text, (size_t)(point - text), count_units, &major) ||
        !parse_decimal(point + 1, len - (size_t)(point - text) - 1, count_units, &minor) || major > 99 || minor > 999)
        return false;
    *out = 1000 * major + minor;
    return true;
}

static bool parse_moment(const char *text, size_t len, uint64_t *out)
{
    char copy[GNN_UTC_BYTES];
    if (len >= sizeof copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return gnn_parse_utc(copy, out, NULL) == GNN_OK;
}

bool gnn_profile_value(enum unit unit, const char *text, size_t len, uint64_t *out)
{
    if (unit == UNIT_BYTES)
        return parse_size(text, len, out);
    if (unit == UNIT_MOMENT)
        return parse_moment(text, len, out);
    return unit == UNIT_VERSION ? parse_version(text, len, out) : parse_decimal(text, len, units_of[unit], out);
}

const char *gnn_profile_format(enum unit unit, uint64_t value, char *text, size_t text_bytes)
{
    static const struct suffix sizes[] = {{"", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {NULL, 0}};
    const struct suffix *const units = unit == UNIT_BYTES ? sizes : units_of[unit], *best = units;
    assert(units != NULL);
    for (const struct suffix *u = units; u->text != NULL; u++)
        best = u->factor <= value ? u : best;
    (void)snprintf(text, text_bytes, "%.6g%s", (double)value / (double)best->factor, best->text);
    return text;
}

const char *gnn_profile_unit_words(enum unit unit)
{
    return unit_words[unit];
}

enum gnn_status gnn_profile_refuse(struct parse *p, const struct gnn_ini_entry *entry, const char *what)
{
    return gnn_fail(p->err, GNN_EFORMAT, "%s:%" PRIu32 ": %s = %s: %s", p->path, entry->line, entry->key, entry->value,
                    what);
}

enum gnn_status gnn_profile_check_source(struct parse *p, const struct gnn_ini_entry *entry, size_t *figure_len)
{
    static const char *const words[] = {"stated", "datasheet", "measured", "derived", "assumed", NULL};
    const size_t len = strcspn(entry->value, " \t");
    const char *const source = entry->value + len + strspn(entry->value + len, " \t");
    const size_t word_len = strcspn(source, " \t:");
    *figure_len = len;
    for (const char *const *word = words; *word != NULL; word++)
        if (strlen(*word) == word_len && strncmp(*word, source, word_len) == 0)
            return source[word_len] == '\0' || source[word_len] == ':'
                       ? GNN_OK
                       : gnn_profile_refuse(p, entry, "a colon must separate the source from what follows");
    return gnn_profile_refuse(p, entry,
                              "a figure is followed by its source: stated, datasheet, measured, derived or assumed");
}

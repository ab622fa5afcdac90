/* SPDX-License-Identifier: MIT */
#include "harness/dataset/csv_numbers.h"

#include "harness/base/log.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 65536, WORD_MAX = 63 /* characters of a number */ };

struct gnn_csv_numbers {
    struct gnn_input *input;
    uint64_t columns;      /* 0: not known yet */
    uint64_t line, column; /* of the next number, from 1 and 0 */
    bool heading;          /* the first line has the names of the columns */
    uint32_t at, filled;
    char window[WINDOW];
};

/* What ends a number. */
enum end { END_FIELD, END_ROW, END_DATA };

bool gnn_csv_is_name(const char *path)
{
    const size_t len = strlen(path);
    return (len > 4 && strcmp(path + len - 4, ".csv") == 0) || (len > 7 && strcmp(path + len - 7, ".csv.gz") == 0);
}

/* Whether a field starts with a letter and is no number, as nan is. */
static bool is_name(const char *field)
{
    char *rest;
    field += strspn(field, " \t\"");
    (void)strtod(field, &rest);
    return isalpha((unsigned char)field[0]) && rest[strspn(rest, " \t\r\"")] != '\0';
}

/* Returns the bytes of a first line that has names alone, or 0 for another line and one that is longer than the
 * window. */
static uint32_t heading_bytes(const struct gnn_csv_numbers *n)
{
    const char *const first = n->window + n->at, *const end = memchr(first, '\n', n->filled - n->at);
    char word[WORD_MAX + 1];
    for (const char *at = first; end != NULL && at < end;) {
        int length = 0;
        while (at + length < end && at[length] != ',' && at[length] != ';')
            length++;
        (void)snprintf(word, sizeof word, "%.*s", length, at);
        if (!is_name(word))
            return 0;
        at += length + 1;
    }
    return end != NULL && end > first ? (uint32_t)(end + 1 - first) : 0;
}

/* Skips a byte order mark and the names of the columns. */
static enum gnn_status begin(struct gnn_csv_numbers *n, struct gnn_err *err)
{
    static const char mark[] = "\xEF\xBB\xBF";
    uint64_t got = 0;
    GNN_TRY(gnn_input_read(n->input, n->window, sizeof n->window, &got, err));
    n->filled = (uint32_t)got;
    n->at = got >= 3 && memcmp(n->window, mark, 3) == 0 ? 3 : 0;
    const uint32_t names = heading_bytes(n);
    n->at += names;
    n->heading = names > 0;
    n->line = n->heading ? 2 : 1;
    return GNN_OK;
}

static enum gnn_status open_stream(const char *path, struct gnn_csv_numbers **out, struct gnn_err *err)
{
    struct gnn_csv_numbers *n;
    GNN_NEW(n, 1, err, "reader of %s", path);
    enum gnn_status status = gnn_input_open(path, &n->input, err);
    GNN_NEXT(status, begin(n, err));
    return GNN_OPENED(status, n, out, gnn_csv_numbers_close);
}

void gnn_csv_numbers_close(struct gnn_csv_numbers *numbers)
{
    if (numbers == NULL)
        return;
    gnn_input_close(numbers->input);
    free(numbers);
}

/* ---- words ---- */

/* The next character, or EOF. */
static enum gnn_status next_char(struct gnn_csv_numbers *n, int *out, struct gnn_err *err)
{
    if (n->at == n->filled) {
        uint64_t got = 0;
        GNN_TRY(gnn_input_read(n->input, n->window, sizeof n->window, &got, err));
        n->at = 0;
        n->filled = (uint32_t)got;
        if (got == 0) {
            *out = EOF;
            return GNN_OK;
        }
    }
    *out = (unsigned char)n->window[n->at++];
    return GNN_OK;
}

static enum gnn_status fail_at(const struct gnn_csv_numbers *n, const char *what, const char *word, struct gnn_err *err)
{
    return gnn_fail(err, GNN_EFORMAT, "%s:%" PRIu64 ": column %" PRIu64 ": %s: '%.40s'", n->input->path, n->line,
                    n->column + 1, what, word);
}

/* Removes blanks behind a word, and quotes around it. */
static void trim(char *word, uint32_t used)
{
    while (used > 0 && word[used - 1] == ' ')
        used--;
    word[used] = '\0';
    if (used < 2 || word[0] != '"' || word[used - 1] != '"')
        return;
    word[used - 1] = '\0';
    memmove(word, word + 1, used - 1);
}

/* Takes the next word without the blanks and quotes around it, and what ends it. */
static enum gnn_status take_word(struct gnn_csv_numbers *n, char word[WORD_MAX + 1], enum end *end, struct gnn_err *err)
{
    uint32_t used = 0;
    for (;;) {
        int c = 0;
        GNN_TRY(next_char(n, &c, err));
        if (c == EOF || c == '\n' || c == ',' || c == ';') {
            *end = c == EOF ? END_DATA : c == '\n' ? END_ROW : END_FIELD;
            break;
        }
        if (c == '\r' || c == '\t' || (c == ' ' && used == 0))
            continue;
        if (used == WORD_MAX) {
            word[used] = '\0';
            return fail_at(n, "not a number", word, err);
        }
        word[used++] = (char)c;
    }
    trim(word, used);
    return GNN_OK;
}

static enum gnn_status end_row(struct gnn_csv_numbers *n, struct gnn_err *err)
{
    if (n->columns == 0)
        n->columns = n->column;
    if (n->column != n->columns)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s:%" PRIu64 ": %" PRIu64 " columns, expected the %" PRIu64 " of the first row",
                        n->input->path, n->line, n->column, n->columns);
    n->column = 0;
    n->line++;
    return GNN_OK;
}

static const char *what_is(const struct gnn_csv_numbers *n, const char *word, enum end end)
{
    if (word[0] != '\0')
        return "not a number";
    return n->column > 0 && end != END_FIELD ? "an empty field: `sed 's/,$//'` removes a comma at the end of lines"
                                             : "an empty field";
}

/* Takes one number; *any is false at the end. Empty lines are skipped, unless they may be missing numbers of the only
 * column. */
static enum gnn_status next_number(struct gnn_csv_numbers *n, double *out, bool *any, enum end *end,
                                   struct gnn_err *err)
{
    char word[WORD_MAX + 1], *rest;
    uint64_t empty = 0; /* the first empty line, from 1 */
    for (;;) {
        GNN_TRY(take_word(n, word, end, err));
        if (word[0] != '\0' || n->column > 0 || *end == END_FIELD)
            break;
        if (*end == END_DATA) {
            *any = false;
            return GNN_OK;
        }
        empty = empty > 0 ? empty : n->line;
        n->line++;
    }
    if (empty > 0 && *end != END_FIELD && n->column == 0)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s:%" PRIu64 ": an empty line before further rows: write nan if it means a missing number, or "
                        "delete it",
                        n->input->path, empty);
    *out = strtod(word, &rest);
    if (word[0] == '\0' || *rest != '\0')
        return fail_at(n, what_is(n, word, *end), word, err);
    n->column++;
    *any = true;
    return *end == END_FIELD ? GNN_OK : end_row(n, err);
}

enum gnn_status gnn_csv_numbers_read(struct gnn_csv_numbers *numbers, double *out, uint64_t count, uint64_t *got,
                                     struct gnn_err *err)
{
    enum end end = END_FIELD;
    bool any = true;
    if (numbers->heading)
        gnn_log_warn("%s:1 has the names of the columns and is not read as numbers", numbers->input->path);
    numbers->heading = false; /* says it once */
    for (*got = 0; *got < count; (*got)++) {
        GNN_TRY(next_number(numbers, &out[*got], &any, &end, err));
        if (!any)
            break;
    }
    return GNN_OK;
}

/* ---- sizes ---- */

enum gnn_status gnn_csv_count(const char *path, uint64_t *out, struct gnn_err *err)
{
    struct gnn_csv_numbers *n;
    double numbers[2] = {0, 0};
    uint64_t got = 0;
    GNN_TRY(open_stream(path, &n, err));
    enum gnn_status status = gnn_csv_numbers_read(n, numbers, 2, &got, err);
    if (status == GNN_OK && got == 2)
        status = gnn_fail(err, GNN_EFORMAT, "%s: several graphs, expected one number", path);
    if (status == GNN_OK && (got == 0 || !(numbers[0] >= 0 && numbers[0] < 0x1p53)))
        status = gnn_fail(err, GNN_EFORMAT, "%s: expected one count", path);
    *out = status == GNN_OK ? (uint64_t)numbers[0] : 0;
    gnn_csv_numbers_close(n);
    return status;
}

/* Counts the columns of the first row, and unless the rows are known, all rows. */
static enum gnn_status measure(const char *path, bool rows_known, uint64_t *rows, uint64_t *columns,
                               struct gnn_err *err)
{
    struct gnn_csv_numbers *n;
    double number;
    GNN_TRY(open_stream(path, &n, err));
    enum gnn_status status = GNN_OK;
    uint64_t ended = 0;
    for (bool any = true; any && status == GNN_OK && (ended == 0 || !rows_known);) {
        enum end end = END_FIELD;
        status = next_number(n, &number, &any, &end, err);
        ended += status == GNN_OK && any && end != END_FIELD;
    }
    if (status == GNN_OK && ended == 0)
        status = gnn_fail(err, GNN_EFORMAT, "%s holds no numbers", path);
    *columns = n->columns;
    if (!rows_known)
        *rows = ended;
    gnn_csv_numbers_close(n);
    return status;
}

enum gnn_status gnn_csv_numbers_open(const char *path, struct gnn_csv_numbers **out, uint64_t *rows, uint64_t *columns,
                                     struct gnn_err *err)
{
    char dir[GNN_OUTPUT_PATH], counts[GNN_OUTPUT_PATH];
    const char *const slash = strrchr(path, '/');
    (void)snprintf(dir, sizeof dir, "%.*s", slash != NULL ? (int)(slash - path) : 1, slash != NULL ? path : ".");
    const bool stated = gnn_input_find(dir, "num-node-list.csv", counts);
    if (stated)
        GNN_TRY(gnn_csv_count(counts, rows, err));
    GNN_TRY(measure(path, stated, rows, columns, err));
    GNN_TRY(open_stream(path, out, err));
    (*out)->columns = *columns;
    return GNN_OK;
}

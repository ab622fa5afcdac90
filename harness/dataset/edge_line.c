/* SPDX-License-Identifier: MIT */
#include "harness/dataset/edge_line.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct field {
    const char *start;
    size_t length;
};

/* ---- fields ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_separator(char c)
{
    return c == ',' || c == ';' || c == '|';
}

static const char *skip_blanks(const char *at)
{
    while (is_blank(*at))
        at++;
    return at;
}

/* Takes the next field and what separates it from the following one. */
static const char *take_field(const char *at, struct field *out)
{
    at = skip_blanks(at);
    const char quote = *at == '"' || *at == '\'' ? *at : '\0';
    const bool quoted = quote != '\0';
    at += quoted;
    out->start = at;
    while (*at != '\0' && (quoted ? *at != quote : !is_blank(*at) && !is_separator(*at)))
        at++;
    out->length = (size_t)(at - out->start);
    at = skip_blanks(at + (quoted && *at == quote));
    return is_separator(*at) ? skip_blanks(at + 1) : at;
}

/* A decimal node ID; false: another text, or *large if it does not fit. */
static bool node_id(const struct field *field, uint64_t *out, bool *large)
{
    *out = 0;
    for (size_t i = 0; i < field->length; i++) {
        const char c = field->start[i];
        if (c < '0' || c > '9')
            return false;
        if (__builtin_mul_overflow(*out, UINT64_C(10), out) || __builtin_add_overflow(*out, (uint64_t)(c - '0'), out)) {
            *large = true;
            return false;
        }
    }
    return field->length > 0;
}

/* Whether the field is empty or a number: a weight, a sign, a time. */
static bool is_number(const struct field *field)
{
    char *end;
    if (field->length == 0)
        return true;
    if (isspace((unsigned char)field->start[0]))
        return false;
    (void)strtod(field->start, &end);
    return end == field->start + field->length;
}

enum gnn_edge_kind gnn_edge_parse(const char *line, const uint32_t columns[2], struct gnn_edge_line *out,
                                  const char **why)
{
    uint64_t ids[2] = {0, 0};
    uint32_t found = 0, at_column = 0;
    bool large = false;
    const char *at = skip_blanks(line);
    if (*at == '\0' || *at == '#' || *at == '%')
        return GNN_EDGE_SKIP;
    *out = (struct gnn_edge_line){.extra = 0};
    for (; *at != '\0'; at_column++) {
        struct field field;
        at = take_field(at, &field);
        const bool first = at_column == columns[0];
        if (first || at_column == columns[1])
            found += node_id(&field, &ids[first ? 0 : 1], &large);
        else if (out->extra++, out->words == NULL && !is_number(&field))
            out->words = field.start;
    }
    if (found == 2) {
        out->source = ids[0];
        out->target = ids[1];
        return GNN_EDGE_PAIR;
    }
    *why = large ? "a node ID above 18446744073709551615" : "not two node IDs";
    return GNN_EDGE_BAD;
}

/* ---- comments ---- */

enum { WORD_BYTES = 24 };

/* Takes the next word in lower case: letters, or digits with commas between groups of three. */
static const char *take_word(const char *at, char word[WORD_BYTES])
{
    size_t used = 0;
    while (*at != '\0' && !isalnum((unsigned char)*at))
        at++;
    const bool number = isdigit((unsigned char)*at) != 0;
    for (; *at != '\0'; at++) {
        const bool group = number && *at == ',' && isdigit((unsigned char)at[1]) && isdigit((unsigned char)at[2]) &&
                           isdigit((unsigned char)at[3]) && !isdigit((unsigned char)at[4]);
        if (group)
            continue;
        if (number ? !isdigit((unsigned char)*at) : !isalpha((unsigned char)*at))
            break;
        if (used + 1 < WORD_BYTES)
            word[used++] = (char)tolower((unsigned char)*at);
    }
    word[used] = '\0';
    return at;
}

static bool is_among(const char *word, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

/* A count in digits of at most 19, or GNN_UNSTATED. */
static uint64_t count_of(const char *word)
{
    return isdigit((unsigned char)word[0]) && strlen(word) < 20 ? strtoull(word, NULL, 10) : GNN_UNSTATED;
}

static void set_once(uint64_t *count, uint64_t value)
{
    if (*count == GNN_UNSTATED)
        *count = value;
}

/* KONECT's second comment has the counts of edges and of nodes on either side. */
static void konect_counts(const char *line, struct gnn_edge_facts *facts)
{
    uint64_t counts[3] = {GNN_UNSTATED, GNN_UNSTATED, GNN_UNSTATED};
    const char *at = line + 1;
    for (int i = 0; i < 3; i++) {
        char *end;
        at = skip_blanks(at);
        if (!isdigit((unsigned char)*at))
            break;
        counts[i] = strtoull(at, &end, 10);
        at = end;
    }
    if (*skip_blanks(at) != '\0' && !isdigit((unsigned char)*skip_blanks(at)))
        return;
    set_once(&facts->edges, counts[0]);
    if (facts->bipartite)
        set_once(&facts->left, counts[1]);
    else if (counts[2] == GNN_UNSTATED || counts[1] == counts[2])
        set_once(&facts->nodes, counts[1]);
}

static bool konect_form(const char *line, struct gnn_edge_facts *facts)
{
    char word[WORD_BYTES];
    if (line[0] != '%')
        return false;
    (void)take_word(line, word);
    facts->konect = strcmp(word, "sym") == 0 || strcmp(word, "asym") == 0 || strcmp(word, "bip") == 0;
    facts->undirected = facts->undirected || strcmp(word, "sym") == 0;
    facts->bipartite = facts->bipartite || strcmp(word, "bip") == 0;
    return facts->konect;
}

/* Takes "NAME COUNT" or "COUNT NAME", for one of the names. */
static bool count_pair(const char *previous, const char *word, uint64_t *count, const char *const *names)
{
    const uint64_t value = is_among(previous, names) ? count_of(word)
                           : is_among(word, names)   ? count_of(previous)
                                                     : GNN_UNSTATED;
    set_once(count, value);
    return value != GNN_UNSTATED;
}

void gnn_edge_comment(const char *line, struct gnn_edge_facts *facts)
{
    static const char *const nodes[] = {"nodes", "vertices", NULL}, *const edges[] = {"edges", "arcs", NULL};
    char word[WORD_BYTES], previous[WORD_BYTES] = "";
    line = skip_blanks(line);
    if (facts->konect) {
        konect_counts(line, facts);
        return;
    }
    if (konect_form(line, facts))
        return;
    for (const char *at = take_word(line, word); word[0] != '\0'; at = take_word(at, word)) {
        if (strcmp(word, "undirected") == 0 && strcmp(previous, "not") != 0)
            facts->undirected = true;
        const bool used =
            count_pair(previous, word, &facts->nodes, nodes) || count_pair(previous, word, &facts->edges, edges);
        memcpy(previous, used ? "" : word, used ? 1 : sizeof previous); /* a count belongs to one word */
    }
}

/* ---- headings ---- */

/* Writes the letters and digits of a name in lower case, without the words that say that it is a node's. */
static void plain_name(const struct field *field, char name[WORD_BYTES])
{
    static const char *const words[] = {"id", "node", "vertex", "index", "idx", "name", "key", "user"};
    size_t used = 0;
    for (size_t i = 0; i < field->length && used + 1 < WORD_BYTES; i++)
        if (isalnum((unsigned char)field->start[i]))
            name[used++] = (char)tolower((unsigned char)field->start[i]);
    name[used] = '\0';
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        const size_t length = strlen(words[w]);
        if (used <= length)
            continue;
        if (strcmp(name + used - length, words[w]) == 0)
            name[used -= length] = '\0';
        else if (strncmp(name, words[w], length) == 0)
            memmove(name, name + length, (used -= length) + 1);
        else
            continue;
        w = (size_t)-1; /* again from the first word */
    }
}

bool gnn_edge_names(const char *line, uint32_t columns[2], uint32_t *count)
{
    static const char *const sources[] = {"source", "src",      "from",   "start",  "u", "head",
                                          "citing", "follower", "sender", "origin", NULL};
    static const char *const targets[] = {"target", "dst",      "to",       "end",  "v",           "tail",
                                          "cited",  "followee", "receiver", "dest", "destination", NULL};
    static const char *const firsts[] = {"1", "a", NULL}, *const seconds[] = {"2", "b", NULL};
    char name[WORD_BYTES];
    columns[0] = columns[1] = UINT32_MAX;
    *count = 0;
    for (const char *at = skip_blanks(line); *at != '\0' && *count < GNN_EDGE_COLUMNS_MAX; ++*count) {
        struct field field;
        at = take_field(at, &field);
        plain_name(&field, name);
        const bool longer = field.length > strlen(name); /* node_a, not a */
        if (columns[0] == UINT32_MAX && (is_among(name, sources) || (longer && is_among(name, firsts))))
            columns[0] = *count;
        else if (columns[1] == UINT32_MAX && (is_among(name, targets) || (longer && is_among(name, seconds))))
            columns[1] = *count;
    }
    return columns[0] != UINT32_MAX && columns[1] != UINT32_MAX;
}

uint32_t gnn_edge_fields(const char *line)
{
    uint32_t count = 0;
    struct field field;
    for (const char *at = skip_blanks(line); *at != '\0' && count < GNN_EDGE_COLUMNS_MAX; count++)
        at = take_field(at, &field);
    return count;
}

bool gnn_edge_heading(const char *line, uint32_t columns[2])
{
    static const char *const numbers[] = {"", "id", "index", "idx", "edge", "row", NULL};
    struct field field;
    uint32_t count;
    char name[WORD_BYTES];
    (void)take_field(line, &field);
    if (field.length > 0 && !isalpha((unsigned char)field.start[0]) && field.start[0] != ':' && field.start[0] != '_')
        return false;
    if (gnn_edge_names(line, columns, &count))
        return true;
    plain_name(&field, name);
    columns[0] = field.length == 0 || (count > 2 && is_among(name, numbers));
    columns[1] = columns[0] + 1;
    return count > columns[1];
}

/* ---- Matrix Market ---- */

bool gnn_edge_banner(const char *line, struct gnn_edge_facts *facts, const char **why)
{
    static const char *const once[] = {"symmetric", "skew", "hermitian", NULL}, *const general[] = {"general", NULL};
    char word[WORD_BYTES];
    *why = NULL;
    if (line[0] != '%')
        return false;
    const char *at = take_word(line, word);
    if (strcmp(word, "matrixmarket") != 0)
        return false;
    at = take_word(at, word);
    at = strcmp(word, "matrix") == 0 ? take_word(at, word) : at;
    if (strcmp(word, "coordinate") != 0)
        *why = "not a list of entries: expected 'matrix coordinate'";
    at = take_word(take_word(at, word), word); /* the field, then the symmetry */
    facts->symmetric = is_among(word, once);
    if (*why == NULL && !facts->symmetric && !is_among(word, general))
        *why = "an unknown symmetry: expected general, symmetric, skew-symmetric or hermitian";
    facts->matrix = *why == NULL;
    return facts->matrix;
}

bool gnn_edge_size_line(const char *line, uint64_t *rows, uint64_t *columns, uint64_t *entries)
{
    uint64_t *const counts[] = {rows, columns, entries};
    const char *at = skip_blanks(line);
    for (int i = 0; i < 3; i++) {
        struct field field;
        bool large = false;
        at = take_field(at, &field);
        if (!node_id(&field, counts[i], &large))
            return false;
    }
    return *at == '\0';
}

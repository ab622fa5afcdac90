/* SPDX-License-Identifier: MIT */
#include "harness/base/plain_text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns how many bytes the UTF-8 character at `at` has; 0 when it is none (overlong, surrogate, cut). */
static size_t character_bytes(const unsigned char *at)
{
    const size_t bytes = at[0] < 0x80   ? 1
                         : at[0] < 0xc2 ? 0
                         : at[0] < 0xe0 ? 2
                         : at[0] < 0xf0 ? 3
                         : at[0] < 0xf5 ? 4
                                        : 0;
    for (size_t i = 1; i < bytes; i++)
        if (at[i] < 0x80 || at[i] > 0xbf)
            return 0;
    const bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    const bool beyond = (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f);
    return overlong || beyond ? 0 : bytes;
}

static size_t plain_bytes(const unsigned char *at)
{
    const bool control = at[0] < 0x20 || at[0] == 0x7f || (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0);
    return control ? 0 : character_bytes(at);
}

bool gnn_text_is_plain(const char *text)
{
    size_t bytes = 1;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0' && bytes > 0; at += bytes)
        bytes = plain_bytes(at);
    return bytes > 0;
}

void gnn_text_make_plain(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at != '\0';) {
        const size_t bytes = plain_bytes(at);
        if (bytes == 0 && *at != '\n')
            *at = '?';
        at += bytes == 0 ? 1 : bytes;
    }
}

const char *gnn_shell_word(const char *word, char *out, size_t out_bytes)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./%@";
    size_t used = 0;
    assert(out_bytes > 0);
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        (void)snprintf(out, out_bytes, "%s", word);
        return out;
    }
    out[0] = '\0';
    for (const char *at = word; used < out_bytes && (at == word || at[-1] != '\0'); at++) {
        const char *const before = at == word ? "'" : "";
        if (*at == '\0')
            used += (size_t)snprintf(out + used, out_bytes - used, "%s'", before);
        else if (*at == '\'')
            used += (size_t)snprintf(out + used, out_bytes - used, "%s'\\''", before);
        else
            used += (size_t)snprintf(out + used, out_bytes - used, "%s%c", before, *at);
    }
    return out;
}

const char *gnn_text_short_number(const char *value, char out[GNN_SHORT_NUMBER_BYTES])
{
    enum { DIGITS = 12 };
    char *end = NULL;
    const double number = strtod(value, &end);
    if (end == value || *end != '\0' || strchr(value, '.') == NULL || strlen(value) <= DIGITS)
        return value;
    (void)snprintf(out, GNN_SHORT_NUMBER_BYTES, "%.*g", DIGITS, number);
    return out;
}

const char *gnn_text_plain(const char *text, char *out, size_t out_bytes)
{
    assert(out_bytes > 0);
    (void)snprintf(out, out_bytes, "%s", text);
    gnn_text_make_plain(out);
    for (char *line = out; (line = strchr(line, '\n')) != NULL;)
        *line = '?';
    return out;
}

uint32_t gnn_text_lines(const char *text)
{
    uint32_t lines = 1;
    for (; *text != '\0'; text++)
        lines += *text == '\n' ? 1 : 0;
    return lines;
}

uint32_t gnn_text_width(const char *text)
{
    uint32_t most = 0;
    for (size_t length; *text != '\0'; text += length + (text[length] == '\n' ? 1 : 0)) {
        length = strcspn(text, "\n");
        most = gnn_max_u32(most, (uint32_t)length);
    }
    return most;
}

uint32_t gnn_text_wrap(char *text, size_t most)
{
    char *start = text, *blank = NULL;
    for (char *at = text; *at != '\0'; at++) {
        if (*at == ' ')
            blank = at;
        if ((size_t)(at - start) >= most && blank != NULL) {
            *blank = '\n';
            start = blank + 1;
            blank = NULL;
        }
        if (*at == '\n') {
            start = at + 1;
            blank = NULL;
        }
    }
    return gnn_text_lines(text);
}

void gnn_text_list(char *text, size_t text_bytes, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    assert(used < text_bytes);
    if (used > 0)
        used += (size_t)snprintf(text + used, text_bytes - used, ", ");
    if (used >= text_bytes)
        return;
    va_start(args, format);
    (void)vsnprintf(text + used, text_bytes - used, format, args);
    va_end(args);
}

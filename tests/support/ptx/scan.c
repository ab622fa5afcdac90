/* SPDX-License-Identifier: MIT */
#include "tests/support/ptx/scan.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

static bool begins(const struct ptx_scan *s, const char *mark)
{
    return s->end - s->at >= 2 && s->at[0] == mark[0] && s->at[1] == mark[1];
}

static void step(struct ptx_scan *s)
{
    assert(s->at < s->end);
    s->line += *s->at++ == '\n';
}

static void skip_blanks(struct ptx_scan *s)
{
    while (s->at < s->end)
        if (isspace((unsigned char)*s->at)) {
            step(s);
        } else if (begins(s, "//")) {
            while (s->at < s->end && *s->at != '\n')
                step(s);
        } else if (begins(s, "/*")) {
            while (s->at < s->end && !begins(s, "*/"))
                step(s);
            for (int i = 0; i < 2 && s->at < s->end; i++)
                step(s);
        } else {
            return;
        }
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || (c != '\0' && strchr("_$.%", c) != NULL);
}

static struct ptx_token scan_next(struct ptx_scan *s)
{
    skip_blanks(s);
    struct ptx_token t = {PTX_END, s->at, 0, s->line};
    if (s->at == s->end)
        return t;
    if (*s->at == '"') {
        t.kind = PTX_STRING;
        t.text = ++s->at;
        while (s->at < s->end && *s->at != '"' && *s->at != '\n')
            s->at++;
        t.length = (uint32_t)(s->at - t.text);
        s->at += s->at < s->end && *s->at == '"';
        return t;
    }
    if (!in_word(*s->at)) {
        t.kind = PTX_MARK;
        t.length = 1;
        s->at++;
        return t;
    }
    t.kind = isdigit((unsigned char)*s->at) ? PTX_NUMBER : PTX_WORD;
    while (s->at < s->end && in_word(*s->at))
        s->at++;
    t.length = (uint32_t)(s->at - t.text);
    return t;
}

void ptx_scan_open(struct ptx_scan *s, const char *text, size_t bytes)
{
    *s = (struct ptx_scan){.at = text, .end = text + bytes, .line = 1};
    s->next = scan_next(s);
}

struct ptx_token ptx_scan_take(struct ptx_scan *s)
{
    const struct ptx_token t = s->next;
    s->next = scan_next(s);
    return t;
}

bool ptx_token_is(const struct ptx_token *t, const char *word)
{
    return t->kind == PTX_WORD && strlen(word) == t->length && memcmp(t->text, word, t->length) == 0;
}

bool ptx_token_mark(const struct ptx_token *t, char mark)
{
    return t->kind == PTX_MARK && t->text[0] == mark;
}

static bool digits_value(const char *text, uint32_t length, uint32_t base, uint64_t *out)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < length; i++) {
        const int c = tolower((unsigned char)text[i]);
        const uint32_t digit = isdigit(c) ? (uint32_t)c - '0' : c >= 'a' && c <= 'f' ? (uint32_t)c - 'a' + 10 : 99;
        if (digit >= base || value > (UINT64_MAX - digit) / base)
            return false;
        value = value * base + digit;
    }
    *out = value;
    return length > 0;
}

bool ptx_token_value(const struct ptx_token *t, uint64_t *out)
{
    if (t->kind != PTX_NUMBER)
        return false;
    uint32_t length = t->length;
    if (length > 2 && t->text[0] == '0') {
        const int c = tolower((unsigned char)t->text[1]);
        const uint32_t wanted = c == 'f' ? 8 : c == 'd' ? 16 : 0; /* digits of a float's bits */
        if (wanted > 0)
            return length == wanted + 2 && digits_value(t->text + 2, wanted, 16, out);
        if (c == 'x') {
            length -= t->text[length - 1] == 'U';
            return digits_value(t->text + 2, length - 2, 16, out);
        }
    }
    length -= t->text[length - 1] == 'U';
    return digits_value(t->text, length, 10, out);
}

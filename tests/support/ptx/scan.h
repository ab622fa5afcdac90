/* SPDX-License-Identifier: MIT */
/* The words of a PTX text. Comments and white space are skipped. */
#ifndef GNN_TESTS_PTX_SCAN_H
#define GNN_TESTS_PTX_SCAN_H

#include "harness/oocgnn.h"

enum ptx_token_kind { PTX_END, PTX_WORD, PTX_NUMBER, PTX_STRING, PTX_MARK };

struct ptx_token {
    enum ptx_token_kind kind;
    const char *text; /* not terminated; a string without its quotes */
    uint32_t length, line;
};

struct ptx_scan {
    const char *at, *end;
    uint32_t line;
    struct ptx_token next; /* the token after the last one taken */
};

void ptx_scan_open(struct ptx_scan *s, const char *text, size_t bytes);
/* Returns the next token and moves behind it. At the end of the text the token is PTX_END, also when repeated. */
struct ptx_token ptx_scan_take(struct ptx_scan *s);

/* Return whether the token is this word, or this mark. */
bool ptx_token_is(const struct ptx_token *t, const char *word);
bool ptx_token_mark(const struct ptx_token *t, char mark);
/* Reads an integer, or the bits of a float (0f3F800000, 0d3FF0000000000000). Returns false if it is neither. */
bool ptx_token_value(const struct ptx_token *t, uint64_t *out);

#endif

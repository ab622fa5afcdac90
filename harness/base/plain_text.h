/* SPDX-License-Identifier: MIT */
/* Checks, cleans and quotes external texts before a terminal, JSON, a plot or a shell shows them: names in a meta file,
 * or another user's database. */
#ifndef GNN_BASE_PLAIN_TEXT_H
#define GNN_BASE_PLAIN_TEXT_H

#include "harness/oocgnn.h"

/* Returns whether text is valid UTF-8 without control characters. Line ends and escape sequences are control
 * characters. */
bool gnn_text_is_plain(const char *text);

/* Copies text to out, cut at out_bytes, with a question mark for every byte that is not plain. Returns out. */
const char *gnn_text_plain(const char *text, char *out, size_t out_bytes);

/* Replaces every byte of text that is not plain by a question mark, except line ends. */
void gnn_text_make_plain(char *text);

/* Writes `word` to `out` as a shell reads it as one word, in quotes only if it needs them; returns out. A word that
 * does not fit is cut. For commands in messages, which are pasted. */
const char *gnn_shell_word(const char *word, char *out, size_t out_bytes);

enum { GNN_SHORT_NUMBER_BYTES = 32 };

/* Returns `value` as a label shows it. A fraction of more than 12 characters is written to `out` with 12 significant
 * digits, since computed values such as 0.00030000000000000003 have digits that no user chose. Any other text is
 * returned unchanged. */
const char *gnn_text_short_number(const char *value, char out[GNN_SHORT_NUMBER_BYTES]);

/* Appends to a list of parts with commas between them, in text_bytes bytes. What does not fit is cut. */
void gnn_text_list(char *text, size_t text_bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Breaks a text at blanks, so that no line has more than `most` characters unless a word has. Returns the number of
 * lines. */
uint32_t gnn_text_wrap(char *text, size_t most);

/* Return the number of lines of a text, and the characters of its longest line. */
uint32_t gnn_text_lines(const char *text);
uint32_t gnn_text_width(const char *text);

#endif

/* SPDX-License-Identifier: MIT */
/* Texts from outside (names in a meta file, somebody else's database) on their way to a terminal, JSON or a plot. */
#ifndef GNN_BASE_PLAIN_TEXT_H
#define GNN_BASE_PLAIN_TEXT_H

#include "harness/oocgnn.h"

/* Whether text is valid UTF-8 without control characters: line ends and escape sequences are some. */
bool gnn_text_is_plain(const char *text);

/* Copies text, cut at out_bytes, with a question mark for every byte that is not plain; returns out. */
const char *gnn_text_plain(const char *text, char *out, size_t out_bytes);

/* The same in place, line ends kept. */
void gnn_text_make_plain(char *text);

#endif

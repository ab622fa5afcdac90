/* SPDX-License-Identifier: MIT */
/* Short lists of words, which belong to others. */
#ifndef GNN_BASE_WORDS_H
#define GNN_BASE_WORDS_H

#include "harness/oocgnn.h"

#include <stdio.h>
#include <string.h>

enum { GNN_WORDS_MAX = 48 };

struct gnn_words {
    const char *of[GNN_WORDS_MAX];
    uint32_t count;
};

static inline bool gnn_words_has(const struct gnn_words *words, const char *word)
{
    for (uint32_t i = 0; i < words->count; i++)
        if (strcmp(words->of[i], word) == 0)
            return true;
    return false;
}

/* Returns whether a list that ends with NULL has the word; NULL: it has none. */
static inline bool gnn_list_has(const char *const *list, const char *word)
{
    while (list != NULL && *list != NULL && strcmp(*list, word) != 0)
        list++;
    return list != NULL && *list != NULL;
}

/* Adds the word unless the list is full. */
static inline void gnn_words_add(struct gnn_words *words, const char *word)
{
    if (words->count < GNN_WORDS_MAX)
        words->of[words->count++] = word;
}

/* Splits a text in place and adds its words. */
static inline void gnn_words_split(struct gnn_words *words, char *text, const char *separators)
{
    for (char *word = strsep(&text, separators); word != NULL; word = strsep(&text, separators))
        gnn_words_add(words, word);
}

/* Copies the next word of a list with blanks or commas, cut at word_bytes, and moves *rest behind it. Returns false at
 * the end. */
static inline bool gnn_next_word(const char **rest, char *word, size_t word_bytes)
{
    *rest += strspn(*rest, ", ");
    const int length = (int)strcspn(*rest, ", ");
    (void)snprintf(word, word_bytes, "%.*s", length, *rest);
    *rest += length;
    return length > 0;
}

#endif

/* SPDX-License-Identifier: MIT */
#include "harness/base/near_miss.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Levenshtein distance over at most GNN_NAME_MAX bytes of each; capitals count as their small letters. */
static uint32_t edit_distance(const char *a, const char *b)
{
    const uint32_t a_len = (uint32_t)strnlen(a, GNN_NAME_MAX);
    const uint32_t b_len = (uint32_t)strnlen(b, GNN_NAME_MAX);
    uint32_t row[GNN_NAME_MAX + 1];
    for (uint32_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (uint32_t i = 1; i <= a_len; i++) {
        uint32_t diagonal = row[0];
        row[0] = i;
        for (uint32_t j = 1; j <= b_len; j++) {
            const uint32_t above = row[j];
            row[j] = gnn_min_u32(gnn_min_u32(above, row[j - 1]) + 1,
                                 diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1])));
            diagonal = above;
        }
    }
    return row[b_len];
}

void gnn_near_miss_start(struct gnn_near_miss *near, const char *word)
{
    *near = (struct gnn_near_miss){.word = word};
}

void gnn_near_miss_offer(struct gnn_near_miss *near, const char *name)
{
    const size_t word_len = strlen(near->word), known = strlen(near->known);
    (void)snprintf(near->known + known, sizeof near->known - known, "%s%s", known == 0 ? "" : ", ", name);
    /* An abbreviation ("buffer" for "buffer_mult") is as good as one typing error. */
    const bool prefix = word_len >= 2 && strncasecmp(name, near->word, word_len) == 0;
    const uint32_t distance = prefix ? 1 : edit_distance(near->word, name);
    const uint32_t tolerated = word_len < 3 ? 1 : 2 + (uint32_t)(word_len / 8);
    if (distance > tolerated)
        return;
    uint32_t at = near->count;
    assert(near->count <= GNN_NEAR_MISS_MAX);
    while (at > 0 && near->best[at - 1].distance > distance)
        at--;
    if (at == GNN_NEAR_MISS_MAX)
        return;
    if (near->count < GNN_NEAR_MISS_MAX)
        near->count++;
    for (uint32_t i = near->count - 1; i > at; i--)
        near->best[i] = near->best[i - 1];
    (void)snprintf(near->best[at].name, sizeof near->best[at].name, "%s", name);
    near->best[at].distance = distance;
}

const char *gnn_near_miss_text(struct gnn_near_miss *near)
{
    size_t used = 0;
    near->text[0] = '\0';
    for (uint32_t i = 0; i < near->count; i++) {
        const char *const lead = i == 0 ? "; did you mean" : i + 1 == near->count ? " or" : ",";
        const char *const end = i + 1 == near->count ? "?" : "";
        const int wrote =
            snprintf(near->text + used, sizeof near->text - used, "%s \"%s\"%s", lead, near->best[i].name, end);
        used += (size_t)wrote;
        assert(used < sizeof near->text);
    }
    return near->text;
}

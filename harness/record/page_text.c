/* SPDX-License-Identifier: MIT */
#include "harness/record/page.h"

#include <string.h>

void gnn_page_text(const char *text, FILE *out)
{
    static const struct {
        char character;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    for (; *text != '\0'; text++) {
        const char *entity = NULL;
        for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
            if (*text == entities[i].character)
                entity = entities[i].entity;
        if (entity != NULL)
            (void)fputs(entity, out);
        else
            (void)fputc((unsigned char)*text < ' ' && strchr("\n\t", *text) == NULL ? '?' : *text, out);
    }
}

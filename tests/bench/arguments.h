/* SPDX-License-Identifier: MIT */
/* Reads `--name value` pairs into texts and numbers. Included by benches; each is one file. */
#ifndef GNN_TESTS_BENCH_ARGUMENTS_H
#define GNN_TESTS_BENCH_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct bench_option {
    const char *name;  /* with its dashes; NULL ends the table */
    const char **text; /* where the value goes, */
    uint32_t *number;  /* or its number */
};

/* Returns false where an option is unknown or lacks its value. */
static inline bool bench_arguments(const struct bench_option *options, int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const struct bench_option *o = options;
        while (o->name != NULL && strcmp(o->name, argv[i]) != 0)
            o++;
        if (o->name == NULL)
            return false;
        if (o->text != NULL)
            *o->text = argv[i + 1];
        else
            *o->number = (uint32_t)strtoul(argv[i + 1], NULL, 10);
    }
    return argc % 2 == 1;
}

#endif

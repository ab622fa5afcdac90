/* SPDX-License-Identifier: MIT */
/* Runs fio and takes one figure from its JSON output. Included by the benches that compare with it; each is one
 * file.
 *
 * Its buffers lie in large pages, as ours do: malloc asks for them (glibc 2.35 and later), they begin at one, and a
 * block of 2 MiB, of which none is asked for, makes each as large as one. What a virtual disk does depends on it. */
#ifndef GNN_TESTS_BENCH_FIO_H
#define GNN_TESTS_BENCH_FIO_H

#include <jansson.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define FIO_IN_LARGE_PAGES "env", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1", "fio", "--iomem_align=2m"

enum { FIO_BLOCKS_BYTES = 48 };

/* The option for blocks of so many bytes. Those up to a page are one piece of memory anyway, and side by side they are
 * fewer pages. */
static inline void fio_blocks(char option[FIO_BLOCKS_BYTES], unsigned bytes)
{
    (void)snprintf(option, FIO_BLOCKS_BYTES, bytes > 4096 ? "--bssplit=%u/100:2m/0" : "--bs=%u", bytes);
}

/* Runs argv and returns what it printed, to be freed; NULL when it failed. */
static char *output_of(char *const argv[])
{
    int ends[2];
    if (pipe(ends) != 0)
        return NULL;
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_addclose(&actions, ends[0]);
    pid_t child;
    const int rc = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    char *text = NULL;
    size_t text_bytes = 0;
    FILE *from = fdopen(ends[0], "r");
    FILE *into = open_memstream(&text, &text_bytes);
    if (rc == 0 && from != NULL && into != NULL)
        for (int c = fgetc(from); c != EOF; c = fgetc(from))
            (void)fputc(c, into);
    if (from != NULL)
        (void)fclose(from);
    if (into != NULL)
        (void)fclose(into);
    int exit_status = -1;
    if (rc == 0 && waitpid(child, &exit_status, 0) == child && exit_status == 0)
        return text;
    free(text);
    return NULL;
}

/* jobs[0].<direction>.<key>, or jobs[0].<key> if direction is NULL; fio may put notes before the opening brace. A
 * figure may be 0: of a few large reads a second fio's own code takes no tick of the processor. */
static bool figure_of(const char *text, const char *direction, const char *key, double *figure)
{
    const char *const brace = strchr(text, '{');
    json_t *root = brace == NULL ? NULL : json_loads(brace, JSON_DISABLE_EOF_CHECK, NULL);
    const json_t *const job = json_array_get(json_object_get(root, "jobs"), 0);
    const json_t *const value = json_object_get(direction == NULL ? job : json_object_get(job, direction), key);
    const bool found = json_is_number(value);
    *figure = json_number_value(value);
    json_decref(root);
    return found;
}

/* A rate; false where fio told none, or 0. argv ends with NULL and asks for JSON. direction: "read" or "write"; key:
 * "iops", "bw_bytes". */
static inline bool fio_figure(const char *const *argv, const char *direction, const char *key, double *figure)
{
    char *const text = output_of((char *const *)argv);
    const bool found = text != NULL && figure_of(text, direction, key, figure) && *figure > 0;
    free(text);
    return found;
}

#endif

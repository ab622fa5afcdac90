/* SPDX-License-Identifier: MIT */
#include "tests/support/figures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

int figures_set_up(void **state)
{
    if (place_set_up(state) != 0)
        return 1;
    struct place *const place = *state;
    struct process_result r =
        process_shell("D=%s && mkdir -p $D/oocgnn/figures $D/oocgnn/published && cp %s $D/oocgnn-copy && "
                      "cp -r workloads/hardware/* $D/oocgnn/ && cp experiments/papers/tolerances.ini "
                      "$D/oocgnn/figures/",
                      place->dir, place->program);
    const bool made = r.exit_status == 0;
    if (!made)
        print_error("%s", r.err);
    process_free(&r);
    (void)snprintf(place->program, sizeof place->program, "%s/oocgnn-copy", place->dir);
    return made ? 0 : 1;
}

void figure_write(const struct place *place, const char *id, const char *text)
{
    char name[200];
    (void)snprintf(name, sizeof name, "oocgnn/figures/%s.ini", id);
    process_write_file(place->dir, name, 0644, "%s", text);
}

void published_write(const struct place *place, const char *paper, const char *text)
{
    char name[200];
    (void)snprintf(name, sizeof name, "oocgnn/published/%s.csv", paper);
    process_write_file(place->dir, name, 0644, "%s", text);
}

char *figure_file(const char *dir, const char *name, const char *text)
{
    char *path = NULL;
    process_write_file(dir, name, 0644, "%s", text);
    assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
    return path;
}

struct process_result figure_run(const struct place *place, const char *before, const char *words)
{
    return process_shell("export XDG_DATA_HOME=%s; cd /; %s %s figure %s --db %s --out %s/out", place->dir, before,
                         place->program, words, place->db, place->dir);
}

void figure_expect(const struct place *place, const char *words, int exit_status, const char *const *parts)
{
    struct process_result r = figure_run(place, "", words);
    process_expect_all(&r, exit_status, parts);
    process_free(&r);
}

char *figure_read(const struct place *place, const char *name)
{
    struct process_result r = process_shell("cat %s/out/%s", place->dir, name);
    char *const text = strdup(r.out);
    process_free(&r);
    assert_non_null(text);
    return text;
}

/* SPDX-License-Identifier: MIT */
#include "tests/support/place.h"

#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

int place_set_up(void **state)
{
    struct place *const place = calloc(1, sizeof *place);
    assert_non_null(place);
    place->dir = process_temp_dir();
    char *const absolute = realpath(process_program(), NULL);
    assert_non_null(absolute);
    (void)snprintf(place->program, sizeof place->program, "%s", absolute);
    free(absolute);
    (void)snprintf(place->db, sizeof place->db, "%s/runs.db", place->dir);
    *state = place;
    return 0;
}

int place_tear_down(void **state)
{
    struct place *const place = *state;
    process_remove_tree(place->dir);
    free(place->dir);
    free(place);
    return 0;
}

bool place_run(const struct place *place, const char *sections)
{
    process_write_file(place->dir, "runs.ini", 0644, "%s", sections);
    struct process_result r =
        process_shell("%s sweep %s/runs.ini --db %s --json", place->program, place->dir, place->db);
    const bool done = r.exit_status == 0;
    if (!done)
        print_error("%s", r.err);
    process_free(&r);
    return done;
}

/* SPDX-License-Identifier: MIT */
/* Figures of a test's own (tests/support/place.h), and `oocgnn figure` over them. */
#ifndef GNN_TESTS_FIGURES_H
#define GNN_TESTS_FIGURES_H

#include "tests/support/place.h"
#include "tests/support/process.h"

/* cmocka's set-up of a place whose program is a copy that finds the machines of the tree, and no figures and published
 * values but the place's. */
int figures_set_up(void **state);

/* Writes the figure ID; published_write the values of a paper. */
void figure_write(const struct place *place, const char *id, const char *text);
void published_write(const struct place *place, const char *paper, const char *text);

/* The first line of a file of published values. */
#define PUBLISHED_HEADING                                                                                              \
    "figure_id,system,variant,dataset,model,parameter,metric,value,unit,baseline,relation,source\n"

/* Writes dir/NAME. Returns its path; to be freed. */
char *figure_file(const char *dir, const char *name, const char *text);

/* Runs `oocgnn figure WORDS` in /, so that nothing relative is found; records go to place's database, pictures to
 * dir/out. before: what stands in front of the command, "timeout 1" or "PATH=x"; "" nothing. */
struct process_result figure_run(const struct place *place, const char *before, const char *words);

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})
/* Runs it and fails the test unless it ended so and printed the parts, as process_expect_all. */
void figure_expect(const struct place *place, const char *words, int exit_status, const char *const *parts);

/* Reads dir/out/NAME; to be freed. */
char *figure_read(const struct place *place, const char *name);

#endif

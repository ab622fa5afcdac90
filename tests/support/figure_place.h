/* A directory with figures and published values of its own, and `oocgnn figure` over them. */
#ifndef GNN_TESTS_FIGURE_PLACE_H
#define GNN_TESTS_FIGURE_PLACE_H

#include "tests/support/process.h"

struct figure_place {
    char *dir;         /* figures go to its oocgnn/figures, published values to oocgnn/published, results to out */
    char prefix[1500]; /* of every shell command: sets $O to the program, $DB to where results go */
};

/* Set-up and tear-down of a cmocka test; *state is the place. */
int figure_place_make(void **state);
int figure_place_remove(void **state);

/* Writes the figure ID. */
void figure_write(const struct figure_place *p, const char *id, const char *text);

/* Runs `oocgnn figure WORDS`, in / so that nothing relative is found. */
struct process_result figure_run(const struct figure_place *p, const char *words);

/* Fails the test unless it ended so and printed each of the parts, on stdout or stderr. The list ends with NULL. */
void figure_check(const struct process_result *r, int exit_status, const char *const *parts);

/* Both, and frees what it printed. */
void figure_expect(const struct figure_place *p, const char *words, int exit_status, const char *const *parts);
#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Reads dir/NAME; to be freed. */
char *figure_read(const struct figure_place *p, const char *name);

#endif

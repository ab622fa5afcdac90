/* SPDX-License-Identifier: MIT */
/* What a test says when it cannot go on as meant: an error where there must be none, a machine that lacks something. */
#ifndef GNN_TESTS_MUST_H
#define GNN_TESTS_MUST_H

#include "harness/oocgnn.h"

/* Fails the test at the caller's line, with the error's message, unless the status is GNN_OK. */
#define must(status, err) must_at((status), (err), __FILE__, __LINE__)
void must_at(enum gnn_status status, const struct gnn_err *err, const char *file, int line);

/* Fails the test at the caller's line unless `wanted` stands somewhere in the text, which is shown. */
#define must_show(text, wanted) must_show_at((text), (wanted), __FILE__, __LINE__)
void must_show_at(const char *text, const char *wanted, const char *file, int line);

/* Skips the test; the format says why. run_tests.sh shows the line under the program's row. */
#define skip_test(...)                                                                                                 \
    do {                                                                                                               \
        must_tell("skip", __VA_ARGS__);                                                                                \
        skip();                                                                                                        \
    } while (0)

/* Goes on without a part of the test; shown like a skip. */
#define leave_out(...) must_tell("left out", __VA_ARGS__)
void must_tell(const char *word, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

/* What has to succeed before a test can ask its question. */
#ifndef GNN_TESTS_MUST_H
#define GNN_TESTS_MUST_H

#include "harness/oocgnn.h"

/* Fails the test at the caller's line, with the error's message, unless the status is GNN_OK. */
#define must(status, err) must_at((status), (err), __FILE__, __LINE__)
void must_at(enum gnn_status status, const struct gnn_err *err, const char *file, int line);

#endif

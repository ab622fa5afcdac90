/* SPDX-License-Identifier: MIT */
/* A page in headless Chromium, for tests that have to know whether its script runs. */
#ifndef GNN_TESTS_BROWSER_H
#define GNN_TESTS_BROWSER_H

#include "tests/support/process.h"

/* Skips the test where no Chromium is installed. The first call of a test, which leaves nothing behind then. */
void browser_need(void);

/* Loads dir/name and lets its script come to rest. out: the document as it then is; err: what the script threw or wrote
 * to the console, a line each, "" when it was quiet. */
struct process_result browser_load(const char *dir, const char *name);

#endif

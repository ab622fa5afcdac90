/* SPDX-License-Identifier: MIT */
/* A hang is a failure, not a wait. How long a program may compute is judged by scripts/run_tests.sh in processor time,
 * as the clock says nothing on a busy machine. The limits here end what would never end, also outside that script; no
 * test waits for anything with a shorter one. */
#ifndef TESTS_SUPPORT_HANG_H
#define TESTS_SUPPORT_HANG_H

#include "tests/support/sanitizers.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { HANG_SECONDS = SANITIZERS_SHADOW_PERCENT > 0 ? 15000 : 1500, HANG_WAIT_SECONDS = 600 };
#define HANG_TIMEOUT "timeout 600" /* HANG_WAIT_SECONDS, for a command of a shell */

/* Ends this process by SIGALRM if it still runs after HANG_SECONDS; a later call starts the time anew. */
static inline void end_a_hang(void)
{
    (void)alarm(HANG_SECONDS);
}

/* Sleeps for 10 ms between two looks at what has to come. *naps counts them, 0 at first. Returns false after
 * HANG_WAIT_SECONDS: it will not come. */
static inline bool patient(uint32_t *naps)
{
    const struct timespec nap = {.tv_nsec = 10 * 1000 * 1000};
    (void)nanosleep(&nap, NULL);
    return ++*naps < HANG_WAIT_SECONDS * 100;
}

#endif

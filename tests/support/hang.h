/* SPDX-License-Identifier: MIT */
/* A hang is a failure, not a wait. How long a program may compute is judged by scripts/run_tests.sh in processor time,
 * as the clock says nothing on a busy machine. This limit ends what would never end, also outside that script. */
#ifndef TESTS_SUPPORT_HANG_H
#define TESTS_SUPPORT_HANG_H

#include <unistd.h>

enum { HANG_SECONDS = 1500 };

/* Ends this process by SIGALRM if it still runs after HANG_SECONDS; a later call starts the time anew. */
static inline void end_a_hang(void)
{
    (void)alarm(HANG_SECONDS);
}

#endif

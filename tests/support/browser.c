/* SPDX-License-Identifier: MIT */
#include "tests/support/browser.h"

#include "tests/support/hang.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Finds the program's path; false: none is installed. */
static bool find_browser(char *path, size_t bytes)
{
    struct process_result r =
        process_shell("for b in chromium chromium-browser google-chrome; do command -v $b && exit 0; done; exit 1");
    (void)snprintf(path, bytes, "%.*s", (int)strcspn(r.out, "\n"), r.out);
    const bool there = r.exit_status == 0;
    process_free(&r);
    return there;
}

void browser_need(void)
{
    char browser[600];
    if (!find_browser(browser, sizeof browser))
        skip_test("no Chromium here: scripts/setup.sh browser");
}

struct process_result browser_load(const char *dir, const char *name)
{
    char browser[600];
    assert_true(find_browser(browser, sizeof browser));
    struct process_result r = process_shell(
        "cd %s && HOME=$PWD " HANG_TIMEOUT " %s --headless --no-sandbox --disable-gpu --window-size=1200,2000 "
        "--user-data-dir=$PWD/profile --enable-logging=stderr --virtual-time-budget=5000 --dump-dom file://$PWD/%s "
        "2>browser.log; status=$?; grep CONSOLE browser.log >&2; exit $status",
        dir, browser, name);
    if (r.exit_status != 0)
        fail_msg("%s ended with status %d", browser, r.exit_status);
    return r;
}

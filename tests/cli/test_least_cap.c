/* SPDX-License-Identifier: MIT */
/* The least memory a system takes, in the simulated world: below it the plan refuses the run and says what to change,
 * and above it no run is out of memory. */
#include "tests/support/tiny_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Runs under a cap of so many KiB. It ends well, or is refused by its plan: nothing is found out while running. Returns
 * whether it ended well; else *message (600 B) is the reason. */
static bool runs_under(const struct tiny_runs *t, const char *const *variant, uint32_t cap_kib, char *message)
{
    char cap[32];
    (void)snprintf(cap, sizeof cap, "%uK", cap_kib);
    const char *more[26] = {"--world",   "simulated", "--profile",  "gnndrive-paper", "--dim",    "32",
                            "--compute", "cpu",       "--evaluate", "never",          "--memory", cap};
    for (uint32_t i = 0; i < 12 && variant[i] != NULL; i++)
        more[12 + i] = variant[i];
    int exit_status;
    json_t *const run = tiny_runs_json(t, more, &exit_status);
    const char *const status = tiny_runs_text(run, "status");
    const bool ok = strcmp(status, "ok") == 0;
    char *const reasons = json_dumps(json_object_get(run, "reasons"), JSON_ENCODE_ANY);
    if (!ok)
        (void)snprintf(message, 600, "%s", reasons);
    if (!ok && (strcmp(status, "oom") != 0 ||
                (strstr(reasons, "the run needs about") == NULL &&
                 strstr(reasons, "the process itself takes") == NULL && strstr(reasons, "\"dataset: ") == NULL)))
        fail_msg("%s %s under %s: %s: %s", variant[1], variant[2] == NULL ? "" : variant[3], cap, status, reasons);
    free(reasons);
    json_decref(run);
    return ok;
}

/* The least cap a system takes: below it the message says what to change, and from there on every cap is enough. */
static void the_least_cap_is_planned_for(void **state)
{
    const struct tiny_runs *const t = *state;
    /* Few threads: the 48 cores of the profile would be given as many buffers. */
    static const char *const variants[][12] = {
        {"--system", "pygplus", "--set", "pygplus.workers=2", "--set", "pygplus.gather_threads=4"},
        {"--system", "gnndrive", "--set", "gnndrive.samplers=2"},
        {"--system", "gnndrive", "--set", "gnndrive.samplers=2", "--compute", "cuda"},
        {"--system", "ginex", "--set", "ginex.samplers=4", "--set", "ginex.feature_cache=200K"},
        {"--system", "ginex", "--set", "ginex.samplers=4"},
        {"--system", "ginex", "--set", "ginex.samplers=4", "--sample-only"},
        {"--system", "ringsampler", "--set", "ringsampler.threads=2", "--sample-only"},
        {"--system", "ringsampler", "--set", "ringsampler.threads=8", "--sample-only", "--set",
         "ringsampler.io=sorted"},
        {"--system", "ringsampler", "--set", "ringsampler.threads=3", "--set", "ringsampler.io=direct", "--set",
         "ringsampler.dedupe=sort"},
        {"--system", "ringsampler", "--set", "ringsampler.threads=2", "--batch", "100", "--dim", "8", "--scale",
         "1/1000", "--fanout", "10,10,10"},
        {"--system", "agnes", "--set", "agnes.workers=2"},
        {"--system", "agnes", "--set", "agnes.workers=2", "--set", "agnes.hyperbatch=3", "--batch", "8"},
        {"--system", "agnes", "--set", "agnes.workers=2", "--sample-only"},
        {"--system", "diskgnn", "--set", "diskgnn.samplers=2"},
        {"--system", "diskgnn", "--set", "diskgnn.samplers=2", "--set", "diskgnn.segment=4", "--set",
         "diskgnn.disk_rows=2000", "--set", "diskgnn.ring_entries=16"},
        {"--system", "diskgnn", "--set", "diskgnn.samplers=2", "--set", "diskgnn.loader=copies"},
        {"--system", "diskgnn", "--set", "diskgnn.samplers=2", "--sample-only"},
        {"--system", "mariusgnn", "--set", "mariusgnn.loaders=2", "--set", "mariusgnn.edges=in"},
        {"--system", "mariusgnn", "--set", "mariusgnn.loaders=2", "--set", "mariusgnn.policy=replace"},
        {"--system", "mariusgnn", "--set", "mariusgnn.loaders=2", "--sample-only"},
        {"--system", "presort"},
        {"--system", "presort", "--set", "presort.classes=direct", "--batch", "8"},
        {"--system", "presort", "--set", "presort.hot=run"},
        {"--system", "presort", "--set", "presort.reuse=2"},
        {"--system", "presort", "--set", "presort.topology=swept"},
        {"--system", "graphbolt", "--set", "graphbolt.rings=2", "--set", "graphbolt.samplers=2"},
        {"--system", "graphbolt", "--set", "graphbolt.rings=2", "--set", "graphbolt.policy=s3-fifo", "--batch", "8"},
        {"--feature-type", "f16", "--system", "pygplus", "--set", "pygplus.workers=2"},
        {"--feature-type", "f16", "--system", "gnndrive", "--set", "gnndrive.samplers=2"},
        {"--feature-type", "f16", "--system", "gnndrive", "--set", "gnndrive.samplers=2", "--compute", "cuda"},
        {"--feature-type", "f16", "--system", "ginex", "--set", "ginex.samplers=4"},
        {"--feature-type", "f16", "--system", "ringsampler", "--set", "ringsampler.threads=2"},
        {"--feature-type", "f16", "--system", "agnes", "--set", "agnes.workers=2"},
        {"--feature-type", "f16", "--system", "diskgnn", "--set", "diskgnn.samplers=2"},
        {"--feature-type", "f16", "--system", "mariusgnn", "--set", "mariusgnn.loaders=2"},
        {"--feature-type", "f16", "--system", "presort"},
        {"--feature-type", "f16", "--system", "graphbolt", "--set", "graphbolt.rings=2"},
    };
    static const uint32_t above_kib[] = {16, 200, 1500};
    for (size_t v = 0; v < sizeof variants / sizeof variants[0]; v++) {
        uint32_t low = 1000, high = 35000; /* KiB: too little, enough */
        char message[600] = "";
        while (high - low > 600) {
            const uint32_t middle = (low + high) / 2;
            *(runs_under(t, variants[v], middle, message) ? &high : &low) = middle;
        }
        for (size_t i = 0; i < sizeof above_kib / sizeof *above_kib; i++)
            if (!runs_under(t, variants[v], high + above_kib[i], message))
                fail_msg("variant %zu: %u KiB are enough, %u are not: %s", v, high, high + above_kib[i], message);
        if (high == 35000 || strstr(message, "raise --memory or change ") == NULL)
            fail_msg("variant %zu: least cap %u KiB, below it: %s", v, high, message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_cap_is_planned_for),
    };
    return cmocka_run_group_tests(tests, tiny_runs_prepare, tiny_runs_tear_down);
}

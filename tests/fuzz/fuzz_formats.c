/* SPDX-License-Identifier: MIT */
/* libFuzzer's way in: `make fuzz T=60` builds it and runs every target for so many seconds. OOCGNN_FUZZ_TARGET names
 * the one of this process. */
#include "tests/fuzz/fuzz_targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct fuzz_target *target; /* found once */
    const char *const name = getenv("OOCGNN_FUZZ_TARGET");
    for (int t = 0; target == NULL && name != NULL && t < FUZZ_TARGETS; t++)
        if (strcmp(fuzz_targets[t].name, name) == 0)
            target = &fuzz_targets[t];
    if (target == NULL) {
        (void)fprintf(stderr, "OOCGNN_FUZZ_TARGET is none of tests/fuzz/corpus\n");
        exit(2);
    }
    target->run(data, len);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* The bounded fuzzer: what tests/fuzz/corpus holds of a format, as it is and damaged at random, through every parser of
 * outside bytes. $OOCGNN_FUZZ_S seconds (default 0.3) a format. */
#include "harness/base/rng.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/seed.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

enum { INPUT_MAX = 8192, SEEDS_MAX = 256 };

/* Flips, removes, repeats or inserts bytes; what it inserts is mostly what the formats are made of. */
static size_t damage(struct gnn_rng *rng, unsigned char *text, size_t len)
{
    static const char alphabet[] = "0123456789 =.#/'\"(),{}:\n\r\t-GKMGB/sksns.statedfileparamdimsTrueFalse<|\x80\xff";
    for (uint64_t times = 1 + gnn_rng_below(rng, 4); times > 0; times--) {
        const size_t at = len > 0 ? gnn_rng_below(rng, len) : 0;
        const size_t span = len > 0 ? 1 + gnn_rng_below(rng, len - at < 40 ? len - at : 40) : 0;
        switch (gnn_rng_below(rng, 4)) {
        case 0:
            if (len > 0)
                text[at] ^= (unsigned char)(1u << gnn_rng_below(rng, 8));
            break;
        case 1:
            memmove(text + at, text + at + span, len - at - span);
            len -= span;
            break;
        case 2:
            if (len + span <= INPUT_MAX) {
                memmove(text + at + span, text + at, len - at);
                len += span;
            }
            break;
        default:
            if (len < INPUT_MAX) {
                memmove(text + at + 1, text + at, len - at);
                text[at] = (unsigned char)alphabet[gnn_rng_below(rng, sizeof alphabet - 1)];
                len++;
            }
            break;
        }
    }
    return len;
}

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- the corpus ---- */

struct seed {
    size_t len;
    unsigned char bytes[INPUT_MAX];
};

static uint32_t read_corpus(const char *name, struct seed *seeds)
{
    char dir[300], path[800];
    uint32_t count = 0;
    (void)snprintf(dir, sizeof dir, "tests/fuzz/corpus/%s", name);
    DIR *const all = opendir(dir);
    if (all == NULL)
        fail_msg("%s: a target without a corpus", dir);
    for (const struct dirent *entry = readdir(all); entry != NULL; entry = readdir(all)) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        FILE *const file = fopen(path, "rb");
        assert_non_null(file);
        assert_true(count < SEEDS_MAX);
        seeds[count].len = fread(seeds[count].bytes, 1, INPUT_MAX, file);
        if (fgetc(file) != EOF)
            fail_msg("%s: more than %d bytes", path, INPUT_MAX);
        assert_int_equal(fclose(file), 0);
        count++;
    }
    assert_int_equal(closedir(all), 0);
    return count;
}

static void run_exact(const struct fuzz_target *target, const unsigned char *bytes, size_t len)
{
    unsigned char *const exact = malloc(len + 1); /* so that a sanitizer sees the first byte past the end */
    assert_non_null(exact);
    memcpy(exact + 1, bytes, len);
    target->run(exact + 1, len);
    free(exact);
}

static void test_any_bytes_end_in_a_value_or_an_error(void **state)
{
    const struct fuzz_target *const target = *state;
    const char *const limit = getenv("OOCGNN_FUZZ_S");
    const double end_s = now_s() + (limit != NULL ? atof(limit) : 0.3);
    struct seed *const seeds = calloc(SEEDS_MAX, sizeof *seeds);
    struct gnn_rng rng = gnn_rng_at(test_seed());
    uint64_t inputs = 0;
    assert_non_null(seeds);
    const uint32_t count = read_corpus(target->name, seeds);
    assert_true(count > 0);
    for (uint32_t i = 0; i < count; i++)
        run_exact(target, seeds[i].bytes, seeds[i].len);
    for (; inputs % 8 != 0 || now_s() < end_s; inputs++) {
        unsigned char text[INPUT_MAX];
        const struct seed *const seed = &seeds[inputs % count];
        memcpy(text, seed->bytes, seed->len);
        run_exact(target, text, damage(&rng, text, seed->len));
    }
    print_message("%s: %llu inputs from %u\n", target->name, (unsigned long long)inputs, count);
    free(seeds);
}

int main(void)
{
    struct CMUnitTest tests[FUZZ_TARGETS];
    for (int t = 0; t < FUZZ_TARGETS; t++)
        tests[t] = (struct CMUnitTest){.name = fuzz_targets[t].name,
                                       .test_func = test_any_bytes_end_in_a_value_or_an_error,
                                       .initial_state = (void *)(uintptr_t)&fuzz_targets[t]};
    return cmocka_run_group_tests_name("fuzz_formats", tests, NULL, NULL);
}

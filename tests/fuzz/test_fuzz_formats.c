/* The bounded fuzzer: good texts, damaged at random, through every parser of outside bytes. $OOCGNN_FUZZ_S
 * seconds (default 0.6) a format. */
#include "harness/base/rng.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

enum { INPUT_MAX = 2048 };

#define SUM "0123456789abcdef0123456789abcdef"

static const char *const meta_seeds[] = {
    "format = oocgnn-dataset 1\nname = t\norigin = o\nscale = 1/100\nnodes = 4\nedges = 6\nclasses = 2\ndims "
    "= 3 5\n"
    "train = 2\nvalid = 1\ntest = 0\nparam.seed = 7\n# c\nfile.indptr = 40 " SUM "\nfile.indices = 24 " SUM
    "\nfile.features-d3 = 48 " SUM "\nfile.features-d5 = 80 " SUM "\nfile.labels = 16 " SUM "\nfile.train = 8 " SUM
    "\nfile.valid = 4 " SUM "\nfile.test = 0 " SUM "\n",
    "format = oocgnn-dataset 1\nname = t\norigin = o\nscale = 1/1\nnodes = 4\nedges = 6\nclasses = 2\ndims = 3\n"
    "id_bytes = 4 8\ntrain = 2\nvalid = 0\ntest = 0\nfile.indptr = 40 " SUM "\nfile.indices = 24 " SUM
    "\nfile.indices-8 = 48 " SUM "\nfile.features-d3 = 48 " SUM "\nfile.labels = 16 " SUM "\nfile.train = 8 " SUM
    "\nfile.valid = 0 " SUM "\nfile.test = 0 " SUM "\n",
    "format = oocgnn-dataset 1\nname = t\norigin = o\nscale = 1/1\nnodes = 4\nedges = 6\nclasses = 0\ndims =\n"
    "train = 0\nvalid = 0\ntest = 0\nrelations = 2\ntrain_triples = 7\nvalid_triples = 1\ntest_triples = 0\n"
    "node_name_bytes = 9\nrelation_name_bytes = 0\nfile.indptr = 40 " SUM "\nfile.indices = 24 " SUM
    "\nfile.labels = 16 " SUM "\nfile.train = 0 " SUM "\nfile.valid = 0 " SUM "\nfile.test = 0 " SUM
    "\nfile.triples-train = 84 " SUM "\nfile.triples-valid = 12 " SUM "\nfile.triples-test = 0 " SUM
    "\nfile.node-names = 9 " SUM "\n",
    NULL};
static const char *const npy_seeds[] = {
    "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }       \n",
    "{\"shape\": (18446744073709551615,), \"fortran_order\": True, \"descr\": \"|b1\"}", NULL};
/* Two: three figures with everything, and a grid. */
#define PROFILE_HEAD                                                                                                   \
    "[machine]\nmachine_id = f\ntitle = t\nmemory = 8G stated\nprocess = 1M stated\n[storage]\ndevices = 1 "           \
    "stated\nstripe = 64K stated\nsector = 512 stated\ndepth_max = 32 stated\nwrite_latency = 40us "                   \
    "assumed\nwrite_iops = 2k/s stated\nwrite_bandwidth = 4MB/s stated\nreadahead = 0 assumed\n"
#define PROFILE_TAIL                                                                                                   \
    "[cpu]\ncores = 4 stated\nclock = 2.6GHz stated\nsampled_edge = 7ns measured\nhashed_id = 8.5ns "                  \
    "measured\nsorted_key = 5ns measured\ncopied_byte = 70ps measured\ntable_entry = 1ns measured\n"                   \
    "gather_element = 1ns measured\ngather_row = 1ns measured\nfault_minor = 3ns measured\nfault_major = "             \
    "2.5us assumed\nreadahead_page = 3ns measured\nsyscall = 1ns measured\nsubmit = 7ns assumed\ncomplete "            \
    "= 6ns assumed\nbuffered_page = 5ns measured\nlock = 6ns measured\nwake = 3us measured\nwake_latency "             \
    "= 5us measured\nthread_start = 36us measured\n[host]\ngemm = 1GFLOP/s derived\nbandwidth = 1GB/s "                \
    "assumed\nbandwidth_shared = 4GB/s derived\ngather = 4GB/s assumed\nlaunch = 2ns assumed\n"
static const char *const profile_seeds[] = {
    PROFILE_HEAD "read_latency = 80us stated\nread_iops = 9k/s stated\nread_bandwidth = 5MB/s stated\n" PROFILE_TAIL,
    PROFILE_HEAD "read_depths = 1,2,8 measured\nread_us.512 = 8,4.5,4 measured\nread_us.4K = 9,5,4 "
                 "measured\n" PROFILE_TAIL,
    NULL};
static const char *const triple_seeds[] = {"/m/0\t/r/a.b\t/m/1", "12\t0\t999", "a\tb", "\t\t", NULL};
static const char *const snap_seeds[] = {"12 4294967294", "\t0\t 7 ", "# comment", "1 2 3", NULL};

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

static void fuzz(const char *const *seeds, void (*target)(const unsigned char *, size_t))
{
    const char *limit = getenv("OOCGNN_FUZZ_S");
    const double end_s = now_s() + (limit != NULL ? atof(limit) : 0.6);
    struct gnn_rng rng = gnn_rng_at(test_seed());
    uint64_t inputs = 0;
    while (inputs % 256 != 0 || now_s() < end_s) {
        for (const char *const *seed = seeds; *seed != NULL; seed++) {
            size_t len = strlen(*seed);
            unsigned char text[INPUT_MAX];
            memcpy(text, *seed, len);
            len = damage(&rng, text, len);
            unsigned char *exact = malloc(len + 1); /* so that a sanitizer sees the first byte past the end */
            memcpy(exact + 1, text, len);
            target(exact + 1, len);
            free(exact);
        }
        inputs++;
    }
    print_message("%llu inputs a seed text\n", (unsigned long long)inputs);
}

static void test_meta(void **state)
{
    (void)state;
    fuzz(meta_seeds, fuzz_meta);
}

static void test_npy(void **state)
{
    (void)state;
    fuzz(npy_seeds, fuzz_npy);
}

static void test_profile(void **state)
{
    (void)state;
    fuzz(profile_seeds, fuzz_profile);
}

static void test_snap(void **state)
{
    (void)state;
    fuzz(snap_seeds, fuzz_snap);
}

static void test_triple(void **state)
{
    (void)state;
    fuzz(triple_seeds, fuzz_triple);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_meta), cmocka_unit_test(test_npy),
                                       cmocka_unit_test(test_profile), cmocka_unit_test(test_snap),
                                       cmocka_unit_test(test_triple)};
    return cmocka_run_group_tests_name("fuzz_formats", tests, NULL, NULL);
}

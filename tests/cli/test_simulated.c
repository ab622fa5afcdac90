/* SPDX-License-Identifier: MIT */
/* The simulated world from outside, on a machine of round figures (tests/golden/machine.ini): times to the nanosecond,
 * what each switch costs or saves, and what a record says of a run. How runs end is in test_simulated_runs.c. */
#include "tests/support/run_figures.h"
#include "tests/support/tiny_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* On the machine of round figures, with so many threads whatever the defaults are. */
static json_t *golden_run_on(const struct tiny_runs *t, const char *graph, const char *const *more, int *exit_status)
{
    const char *all[TINY_ARGUMENTS_MAX] = {"--world", "simulated", "--profile",  "tests/golden/machine.ini",
                                           "--dim",   "100",       "--generate", graph};
    for (uint32_t i = 0; more[i] != NULL; i++)
        all[8 + i] = more[i];
    return tiny_runs_once(t, all, exit_status);
}

/* Of a graph without a reach every mini-batch brings rows that no cache has yet: what fills, evicts and waits is seen.
 * With papers100m's own, a twentieth of the 27 765 nodes has nearly all accesses. */
static json_t *golden_run(const struct tiny_runs *t, const char *const *more, int *exit_status)
{
    return golden_run_on(t, "reach=0", more, exit_status);
}

#define SET(option) "--set", option
/* Without readahead, so that what a switch does to single reads shows; the defaults stand first below. */
#define PYGPLUS "--system", "pygplus", "--memory", "8M", SET("pygplus.readahead=off")
#define GNNDRIVE "--system", "gnndrive", "--memory", "12M", SET("gnndrive.readahead=off")
#define GINEX "--system", "ginex", "--memory", "24M", SET("ginex.samplers=4"), SET("ginex.readahead=off")
#define GINEX_MISSES                                                                                                   \
    "--system", "ginex", SET("ginex.feature_cache=1M"), SET("ginex.gather_threads=16"), SET("ginex.readahead=off")
#define RELEASED "--costs", "tests/golden/costs.ini"
#define AGNES "--system", "agnes", SET("agnes.hyperbatch=8")
#define AGNES_BLOCKS                                                                                                   \
    "--system", "agnes", "--sample-only", SET("agnes.block=4K"), SET("agnes.graph_buffer=512K"),                       \
        SET("agnes.hyperbatch=8")
#define AGNES_SMALL                                                                                                    \
    "--system", "agnes", SET("agnes.block=4K"), SET("agnes.graph_buffer=64K"), SET("agnes.feature_cache=200K"),        \
        SET("agnes.hyperbatch=4")
#define PRESORT_GROWS "--system", "presort", SET("presort.row_memory=300K")
/* Its first epoch planned whole. */
#define PRESORT PRESORT_GROWS, SET("presort.first=1000")
/* Less memory for rows than its hyperbatches use. */
#define PRESORT_FEW                                                                                                    \
    "--system", "presort", SET("presort.first=1000"), SET("presort.row_memory=1"), "--batch", "4", "--epochs", "3"
#define GRAPHBOLT "--system", "graphbolt", SET("graphbolt.cache=300K")
#define MARIUS "--system", "mariusgnn", SET("mariusgnn.partitions=16"), SET("mariusgnn.capacity=8")
#define RINGSAMPLER "--system", "ringsampler", "--sample-only", SET("ringsampler.threads=2")
#define DISKGNN "--system", "diskgnn"
#define DISKGNN_PAGES                                                                                                  \
    DISKGNN, SET("diskgnn.cache_ratio=0"), SET("diskgnn.segment=5"), SET("diskgnn.disk_rows=4000"),                    \
        SET("diskgnn.ring_entries=8")

struct golden {
    const char *more[20];
    const char *batch_digest;
    json_int_t wall_ns, prepare_ns, device_read_ios;
};

static void expect_golden(const struct tiny_runs *t, const char *graph, const struct golden *cases, size_t count)
{
    int different = 0;
    for (size_t c = 0; c < count; c++) {
        int exit_status;
        json_t *const run = golden_run_on(t, graph, cases[c].more, &exit_status);
        const char *const digest = tiny_runs_text(json_object_get(run, "counters"), "batch_digest");
        assert_string_equal(tiny_runs_text(json_object_get(run, "environment"), "batch_digest.version"), "2");
        const json_int_t wall_ns = first_epoch(run, "wall_ns"), prepare_ns = first_epoch(run, "prepare_ns");
        const json_int_t reads = whole(run, "counters", "device_read_ios");
        if (strcmp(digest, cases[c].batch_digest) != 0 || wall_ns != cases[c].wall_ns ||
            prepare_ns != cases[c].prepare_ns || reads != cases[c].device_read_ios) {
            print_error("%s, case %zu: now \"%s\", %lld, %lld, %lld (%s %s)\n", graph, c, digest, (long long)wall_ns,
                        (long long)prepare_ns, (long long)reads, tiny_runs_text(run, "status"),
                        tiny_runs_text(run, "reasons"));
            different++;
        }
        json_decref(run);
    }
    assert_int_equal(different, 0);
}

/* One seed, one nanosecond, on any machine: what gcc -O2 gave on one x86-64. Other compilers, optimisation levels,
 * sanitizers and address layouts have to give it too, so an entry that differs between two builds of one source is a
 * bug (an address, a rounding or the host's clock got in).
 *
 * To renew an entry after a change that is meant to alter times, run this test and write down what the message says. A
 * digest changes with the generated graph or the sampler alone; where it stays and wall_ns moves, a cost or a policy of
 * the simulated world, or the system's own order of work, has changed: the commit says which. */
static void golden_times(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct golden cases[] = {
        {{"--system", "pygplus", "--memory", "8M"}, "69d702bd77b446b6", 385844250, 0, 13335},
        {{PYGPLUS}, "69d702bd77b446b6", 48243254, 0, 4992},
        {{"--system", "pygplus", "--memory", "8M", "--device-readahead", "0"}, "69d702bd77b446b6", 49036125, 0, 5007},
        {{"--system", "pygplus", "--compute", "cpu"}, "69d702bd77b446b6", 15811471, 0, 236},
        {{"--system", "gnndrive", "--memory", "12M"}, "69d702bd77b446b6", 29268706, 0, 5357},
        {{GNNDRIVE}, "69d702bd77b446b6", 34974098, 0, 5704},
        {{"--system", "gnndrive", "--compute", "cpu", "--model", "gat"}, "69d702bd77b446b6", 33621278, 0, 5357},
        {{GINEX, SET("ginex.readahead=kernel")}, "69d702bd77b446b6", 19637993, 15442025, 684},
        {{GINEX}, "69d702bd77b446b6", 22352157, 18156189, 2919},
        {{GINEX, SET("ginex.superbatch=8")}, "69d702bd77b446b6", 28158290, 22553498, 3396},
        {{GINEX, SET("ginex.superbatch=8"), SET("ginex.overlap=false")}, "69d702bd77b446b6", 29310072, 22557261, 3396},
        {{"--system", "ringsampler", "--memory", "24M"}, "69d702bd77b446b6", 34378549, 0, 6410},
        {{RINGSAMPLER}, "69d702bd77b446b6", 4291439, 0, 297},
        {{RINGSAMPLER, SET("ringsampler.io=direct")}, "69d702bd77b446b6", 9603805, 0, 1827},
        {{RINGSAMPLER, SET("ringsampler.io=sorted")}, "69d702bd77b446b6", 6473447, 0, 241},
        {{AGNES}, "69d702bd77b446b6", 30028189, 0, 418},
        {{AGNES, SET("agnes.workers=16")}, "69d702bd77b446b6", 30399108, 0, 418},
        {{AGNES, SET("agnes.overlap=full")}, "69d702bd77b446b6", 28336375, 0, 418},
        {{AGNES, SET("agnes.overlap=full"), SET("agnes.first=1")}, "69d702bd77b446b6", 55197120, 0, 808},
        {{AGNES, SET("agnes.overlap=epochs"), "--epochs", "2"}, "6570cd7dd6291af8", 41838737, 0, 836},
        {{PYGPLUS, SET("pygplus.transfer=ahead")}, "69d702bd77b446b6", 48941461, 0, 5053},
        {{GINEX, SET("ginex.transfer=ahead")}, "69d702bd77b446b6", 22201698, 18156189, 2919},
        {{AGNES, SET("agnes.transfer=blocking")}, "69d702bd77b446b6", 30136694, 0, 418},
        /* what changes when something happens, or how often, but no mini-batch */
        {{GNNDRIVE, SET("gnndrive.valid=batch")}, "69d702bd77b446b6", 34974044, 0, 5704},
        {{GNNDRIVE, SET("gnndrive.serial_extract=true")}, "69d702bd77b446b6", 37199366, 0, 5704},
        {{GNNDRIVE, SET("gnndrive.lock_submit=true")}, "69d702bd77b446b6", 34969370, 0, 5704},
        {{GNNDRIVE, SET("gnndrive.in_order=true")}, "69d702bd77b446b6", 35979587, 0, 5704},
        {{GNNDRIVE, SET("gnndrive.depth=2")}, "69d702bd77b446b6", 95550891, 0, 5704},
        {{GNNDRIVE, "--dim", "32", SET("gnndrive.coalesce=true")}, "69d702bd77b446b6", 28363832, 0, 4308},
        {{GNNDRIVE, "--dim", "32", SET("gnndrive.transfer=gather")}, "69d702bd77b446b6", 28351080, 0, 4308},
        {{GNNDRIVE, SET("gnndrive.io=buffered")}, "69d702bd77b446b6", 42376004, 0, 4429},
        {{PYGPLUS, RELEASED}, "69d702bd77b446b6", 50631419, 0, 5007},
        {{PYGPLUS, "--compute", "cpu", RELEASED}, "69d702bd77b446b6", 51340035, 0, 5181},
        {{GNNDRIVE, RELEASED}, "69d702bd77b446b6", 36014481, 0, 5704},
        {{GNNDRIVE, RELEASED, SET("gnndrive.serial_extract=true")}, "69d702bd77b446b6", 46288335, 0, 5704},
        {{GINEX, RELEASED}, "69d702bd77b446b6", 23974409, 18156189, 2919},
        {{PYGPLUS, SET("pygplus.gather_threads=1")}, "69d702bd77b446b6", 410153599, 0, 4642},
        {{GINEX, SET("ginex.superbatch=8"), SET("ginex.fill=direct")}, "69d702bd77b446b6", 29778391, 24173599, 1416},
        {{GINEX, SET("ginex.superbatch=8"), SET("ginex.trace_io=direct")},
         "69d702bd77b446b6",
         28751551,
         22710235,
         3436},
        {{GINEX, SET("ginex.superbatch=8"), SET("ginex.hold_ids=false")}, "69d702bd77b446b6", 28168990, 22564198, 3396},
        {{GINEX, SET("ginex.superbatch=8"), SET("ginex.io=buffered")}, "69d702bd77b446b6", 23397481, 17792689, 2442},
        {{GINEX, SET("ginex.superbatch=8"), SET("ginex.samplers=1")}, "69d702bd77b446b6", 28235450, 22545627, 3396},
        {{"--system", "ginex", SET("ginex.feature_cache=1M"), SET("ginex.gather_threads=1"),
          SET("ginex.readahead=off")},
         "69d702bd77b446b6",
         491518703,
         178034337,
         5715},
        {{"--system", "ginex", SET("ginex.feature_cache=1M"), SET("ginex.replacement=lru"), SET("ginex.readahead=off")},
         "69d702bd77b446b6",
         59212417,
         12298584,
         5943},
        {{"--system", "ginex", SET("ginex.feature_cache=1M"), SET("ginex.replacement=static"),
          SET("ginex.readahead=off")},
         "69d702bd77b446b6",
         57535989,
         12267934,
         5928},
        {{RINGSAMPLER, SET("ringsampler.io=direct"), SET("ringsampler.order=drain-first")},
         "69d702bd77b446b6",
         9589083,
         0,
         1827},
        {{RINGSAMPLER, SET("ringsampler.io=direct"), SET("ringsampler.polling=false")},
         "69d702bd77b446b6",
         9631491,
         0,
         1827},
        {{RINGSAMPLER, SET("ringsampler.io=direct"), SET("ringsampler.sqpoll=true")},
         "69d702bd77b446b6",
         9602979,
         0,
         1827},
        {{RINGSAMPLER, SET("ringsampler.dedupe=sort")}, "69d702bd77b446b6", 4317087, 0, 297},
        {{RINGSAMPLER, SET("ringsampler.split=interleaved")}, "69d702bd77b446b6", 4090879, 0, 322},
        {{RINGSAMPLER, SET("ringsampler.requests=100")}, "4c2ee6516fbccee4", 4526396, 0, 286},
        {{"--system", "ringsampler", "--memory", "24M", SET("ringsampler.prefetch=1")},
         "69d702bd77b446b6",
         34386253,
         0,
         6410},
        {{"--system", "ringsampler", "--memory", "24M", SET("ringsampler.extract_depth=2")},
         "69d702bd77b446b6",
         300819208,
         0,
         6410},
        {{"--system", "ringsampler", "--memory", "24M", SET("ringsampler.feature_io=buffered")},
         "69d702bd77b446b6",
         17103894,
         0,
         2424},
        {{"--system", "ringsampler", "--memory", "24M", SET("ringsampler.transfer=blocking")},
         "69d702bd77b446b6",
         34377242,
         0,
         6410},
        {{AGNES_SMALL, SET("agnes.spill=async")}, "69d702bd77b446b6", 46211736, 0, 5379},
        {{AGNES, SET("agnes.setting=2")}, "69d702bd77b446b6", 34388316, 0, 445},
        {{AGNES_SMALL, SET("agnes.policy=clock")}, "69d702bd77b446b6", 49873671, 0, 5379},
        {{AGNES_SMALL, SET("agnes.gbuf_keep=true")}, "69d702bd77b446b6", 49898812, 0, 5373},
        {{AGNES_SMALL, SET("agnes.resident_first=false")}, "69d702bd77b446b6", 50262702, 0, 5427},
        {{AGNES_SMALL, SET("agnes.depth=1")}, "69d702bd77b446b6", 484555147, 0, 5379},
        {{AGNES_SMALL, SET("agnes.io=buffered")}, "69d702bd77b446b6", 22824787, 0, 465},
        {{AGNES_SMALL, SET("agnes.layout=random")}, "69d702bd77b446b6", 50901987, 0, 5675},
        {{AGNES_SMALL}, "69d702bd77b446b6", 49866779, 0, 5379},
        {{DISKGNN}, "69d702bd77b446b6", 3880263, 0, 36},
        {{DISKGNN, "--compute", "cpu"}, "69d702bd77b446b6", 3894989, 0, 36},
        {{DISKGNN, SET("diskgnn.pipeline=false")}, "69d702bd77b446b6", 6189399, 0, 36},
        {{DISKGNN_PAGES}, "69d702bd77b446b6", 6406632, 0, 168},
        {{DISKGNN, SET("diskgnn.assembly=kernel")}, "69d702bd77b446b6", 3861780, 0, 36},
        {{DISKGNN, SET("diskgnn.assembly=scatter"), SET("diskgnn.table_stage=true")},
         "69d702bd77b446b6",
         3005066,
         0,
         36},
        {{DISKGNN, SET("diskgnn.loader=copies"), RELEASED}, "69d702bd77b446b6", 4783853, 0, 36},
        {{DISKGNN_PAGES, SET("diskgnn.loader=copies"), RELEASED}, "69d702bd77b446b6", 7721006, 0, 168},
        {{DISKGNN, SET("diskgnn.pipeline=false"), SET("diskgnn.loader=copies")}, "69d702bd77b446b6", 6744425, 0, 36},
        {{MARIUS}, "9ce748e521213d5d", 9714440, 0, 89},
        {{MARIUS, RELEASED}, "9ce748e521213d5d", 30005162, 0, 89},
        {{MARIUS, RELEASED, "--sample-only"}, "9ce748e521213d5d", 21153438, 0, 38},
        {{MARIUS, RELEASED, "--sample-only", SET("mariusgnn.sampling=team")}, "9ce748e521213d5d", 21746495, 0, 38},
        {{MARIUS, RELEASED, "--sample-only", SET("mariusgnn.policy=memory")}, "5e53bea3c7e3cea5", 9734810, 0, 25},
        {{MARIUS, RELEASED, SET("mariusgnn.keep=false")}, "9ce748e521213d5d", 30685162, 0, 89},
        {{MARIUS, SET("mariusgnn.loaders=1")}, "9ce748e521213d5d", 11068741, 0, 89},
        {{MARIUS, SET("mariusgnn.copied_ids=released")}, "9ce748e521213d5d", 9734754, 0, 89},
        {{MARIUS, SET("mariusgnn.sampling=team")}, "9ce748e521213d5d", 9655799, 0, 89},
        {{MARIUS, SET("mariusgnn.bucket_reads=single")}, "9ce748e521213d5d", 9733982, 0, 121},
        {{MARIUS, SET("mariusgnn.policy=replace")}, "0895633265cb9ffd", 16896661, 0, 221},
        {{MARIUS, SET("mariusgnn.policy=replace"), SET("mariusgnn.prefetch=false")},
         "0895633265cb9ffd",
         20696092,
         0,
         221},
        {{PRESORT}, "69d702bd77b446b6", 17150980, 12368086, 595},
        {{PRESORT_GROWS}, "69d702bd77b446b6", 22336363, 129489, 3333},
        {{PRESORT_GROWS, SET("presort.classes=sorted")}, "69d702bd77b446b6", 30179334, 5851477, 2217},
        {{PRESORT_GROWS, SET("presort.classes=direct")}, "69d702bd77b446b6", 23178552, 127137, 4202},
        {{PRESORT, SET("presort.classes=sorted")}, "69d702bd77b446b6", 16748970, 12896553, 546},
        {{PRESORT, SET("presort.classes=sorted"), SET("presort.write_depth=1"), SET("presort.block=4K")},
         "69d702bd77b446b6",
         49272519,
         35008966,
         1043},
        {{PRESORT, SET("presort.classes=sorted"), SET("presort.sweep_depth=1")},
         "69d702bd77b446b6",
         34950064,
         31097647,
         546},
        {{PRESORT, SET("presort.classes=direct")}, "69d702bd77b446b6", 23503783, 995292, 4124},
        {{PRESORT, SET("presort.classes=direct"), SET("presort.merge=0")}, "69d702bd77b446b6", 29485610, 995292, 5324},
        {{PRESORT, SET("presort.classes=direct"), SET("presort.depth=1"), SET("presort.merge=0")},
         "69d702bd77b446b6",
         518131455,
         995292,
         5324},
        {{PRESORT, SET("presort.hyperbatch=3"), SET("presort.window=1")}, "69d702bd77b446b6", 24784103, 5286142, 3021},
        {{PRESORT, SET("presort.topology=mapped")}, "69d702bd77b446b6", 30840716, 25964828, 975},
        {{PRESORT, SET("presort.topology=swept")}, "69d702bd77b446b6", 19383524, 14610579, 836},
        {{PRESORT, SET("presort.topology=swept"), SET("presort.round_memory=1")},
         "69d702bd77b446b6",
         24109019,
         19335954,
         1720},
        {{PRESORT, SET("presort.io=buffered")}, "69d702bd77b446b6", 15656432, 13965583, 85},
        {{GRAPHBOLT}, "69d702bd77b446b6", 36329761, 0, 6084},
        {{GRAPHBOLT, "--compute", "cpu"}, "69d702bd77b446b6", 36288925, 0, 6084},
        {{GRAPHBOLT, SET("graphbolt.in_flight=1")}, "69d702bd77b446b6", 37941128, 0, 5987},
        {{GRAPHBOLT, SET("graphbolt.group=7")}, "69d702bd77b446b6", 39588286, 0, 6084},
        {{GRAPHBOLT, SET("graphbolt.rings=1")}, "69d702bd77b446b6", 39502854, 0, 6084},
        {{GRAPHBOLT, SET("graphbolt.parts=1")}, "69d702bd77b446b6", 36238426, 0, 6084},
        {{GRAPHBOLT, SET("graphbolt.io=buffered")}, "69d702bd77b446b6", 15362402, 0, 2147},
        {{GRAPHBOLT, SET("graphbolt.gpu_cache=100K")}, "69d702bd77b446b6", 36322161, 0, 6083},
        {{GRAPHBOLT, SET("graphbolt.dependency=4")}, "93b7a3a526ab92eb", 35116895, 0, 5927},
    };
    expect_golden(t, "reach=0", cases, sizeof cases / sizeof cases[0]);
}

/* The same of the registry's own graph: a reach, whose rows come again and again. */
static void golden_times_of_a_reach(void **state)
{
    static const struct golden cases[] = {
        {{PYGPLUS}, "cb3375a71d2e7136", 16700915, 0, 1208},
        {{GNNDRIVE}, "cb3375a71d2e7136", 12364216, 0, 1412},
        {{"--system", "ginex", SET("ginex.feature_cache=300K"), SET("ginex.samplers=4")},
         "cb3375a71d2e7136",
         41104306,
         11605277,
         1511},
        {{"--system", "ringsampler", "--memory", "24M"}, "cb3375a71d2e7136", 18504192, 0, 3373},
        {{AGNES_SMALL}, "cb3375a71d2e7136", 19827772, 0, 2350},
        {{DISKGNN_PAGES}, "cb3375a71d2e7136", 6120866, 0, 352},
        {{PRESORT}, "cb3375a71d2e7136", 6472303, 3009365, 642},
        {{PRESORT_FEW}, "1fd085861cb76eeb", 14829987, 5856892, 1976},
        {{PRESORT_FEW, SET("presort.hot=run")}, "1fd085861cb76eeb", 15777984, 8144046, 1269},
        {{PRESORT_FEW, SET("presort.hot=run"), SET("presort.hyperbatch=30"), SET("presort.classes=sorted")},
         "1fd085861cb76eeb",
         17410536,
         6398217,
         1849},
        {{PRESORT_FEW, SET("presort.reuse=2")}, "6d9371129f1e158d", 14614184, 5946782, 1607},
        {{PRESORT_FEW, SET("presort.topology=swept")}, "1fd085861cb76eeb", 17752952, 7634356, 2644},
        {{PRESORT_FEW, SET("presort.reuse=3"), SET("presort.hyperbatch=30"), SET("presort.classes=sorted")},
         "2456c5a109b1811d",
         16746631,
         6157700,
         1296},
        {{MARIUS}, "1fd6de683f92ec0c", 9693549, 0, 89},
        {{GRAPHBOLT, SET("graphbolt.policy=lru")}, "cb3375a71d2e7136", 14590987, 0, 2251},
        {{GRAPHBOLT, SET("graphbolt.policy=clock")}, "cb3375a71d2e7136", 14836393, 0, 2301},
        {{GRAPHBOLT, SET("graphbolt.policy=sieve")}, "cb3375a71d2e7136", 14834892, 0, 2300},
        {{GRAPHBOLT, SET("graphbolt.policy=s3-fifo")}, "cb3375a71d2e7136", 14845640, 0, 2301},
        {{GRAPHBOLT, SET("graphbolt.policy=s3-fifo"), SET("graphbolt.gpu_cache=100K")},
         "cb3375a71d2e7136",
         14331539,
         0,
         2202},
        {{GRAPHBOLT, SET("graphbolt.dependency=16")}, "3f8fa77d16485c10", 12277309, 0, 1785},
    };
    expect_golden(*state, "reach=-1", cases, sizeof cases / sizeof cases[0]);
}

/* What the modelled GPU did is in the record of an epoch, exact as all virtual time; a run on the CPU has no such
 * figures. Renewed as golden_times is. */
static void what_the_gpu_did_is_recorded(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *more[6];
        json_int_t busy_ns, copy_ns, uploaded_bytes, launches; /* -1: none */
    } cases[] = {
        {{"--system", "pygplus"}, 23406, 309268, 2473932, 240},
        {{"--system", "gnndrive", "--memory", "12M"}, 35064, 87332, 2182724, 250},
        {{"--system", "pygplus", "--compute", "cpu"}, -1, -1, -1, -1},
    };
    int different = 0;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        static const char *const names[] = {"gpu_busy_ns", "gpu_copy_ns", "gpu_uploaded_bytes", "gpu_launches"};
        const json_int_t wanted[] = {cases[c].busy_ns, cases[c].copy_ns, cases[c].uploaded_bytes, cases[c].launches};
        int exit_status;
        json_t *const run = golden_run(t, cases[c].more, &exit_status);
        const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const json_t *const figure = json_object_get(json_object_get(epoch, "figures"), names[i]);
            const json_int_t got = figure == NULL ? -1 : json_integer_value(figure);
            if (got != wanted[i])
                print_error("case %zu: %s is now %lld (%s)\n", c, names[i], (long long)got,
                            tiny_runs_text(run, "status"));
            different += got != wanted[i];
        }
        json_decref(run);
    }
    assert_int_equal(different, 0);
}

/* How many figures of case c's first epoch are not what is expected; -1: there is none of that name. */
static int unlike_figures(const struct tiny_runs *t, size_t c, const char *const *more, const char *const *names,
                          const json_int_t *expected, size_t count)
{
    int different = 0, exit_status;
    json_t *const run = golden_run(t, more, &exit_status);
    const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
    for (size_t i = 0; i < count; i++) {
        const json_t *const figure = json_object_get(json_object_get(epoch, "figures"), names[i]);
        const json_int_t got = figure == NULL ? -1 : json_integer_value(figure);
        if (got != expected[i])
            print_error("case %zu: %s is now %lld (%s)\n", c, names[i], (long long)got, tiny_runs_text(run, "status"));
        different += got != expected[i];
    }
    json_decref(run);
    return different;
}

/* What presort's number of threads was chosen by is in the record of an epoch; where lists are swept there was no
 * choice. Renewed as golden_times is. */
static void what_presort_expects_is_recorded(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const names[] = {
        "threads",          "expected_loads",       "expected_device_ns", "expected_prepare_ns",
        "expected_load_ns", "expected_assemble_ns", "expected_work_ns"};
    static const struct {
        const char *more[12];
        json_int_t figures[sizeof names / sizeof *names]; /* -1: none */
    } cases[] = {
        {{PRESORT}, {1, 3445, 14206500, 14229815, 551200, 1213233, 1055249}},
        {{PRESORT, SET("presort.threads=2")}, {2, 3445, 14206500, 14204558, 551200, 606616, 1055249}},
        {{PRESORT_FEW}, {1, 6011, 16515900, 16070167, 961760, 1321123, 1413850}},
        {{PRESORT, SET("presort.topology=mapped")}, {3, 6801, 19196900, 28434660, 1088160, 480450, 1575016}},
        {{PRESORT, SET("presort.topology=swept")}, {1, -1, -1, -1, -1, -1, -1}},
    };
    int different = 0;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        different += unlike_figures(t, c, cases[c].more, names, cases[c].figures, sizeof names / sizeof *names);
    assert_int_equal(different, 0);
}

/* How long reads took is in the record of an epoch, exact as all virtual time; a run that reads through mappings alone
 * has no such figures. Renewed as golden_times is. */
static void how_long_reads_took_is_recorded(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const names[] = {"reads_timed", "read_p50_ns", "read_p99_ns", "read_p999_ns", "read_max_ns"};
    static const struct {
        const char *more[12];
        json_int_t figures[sizeof names / sizeof *names]; /* -1: none */
    } cases[] = {
        {{PYGPLUS}, {-1, -1, -1, -1, -1}},
        {{GNNDRIVE}, {5309, 1032191, 1671167, 1690862, 1690862}},
        {{GNNDRIVE, "--io", "pool"}, {5309, 1245183, 2031615, 2555903, 2623198}},
        {{GNNDRIVE, "--workers", "2"}, {5359, 1212415, 1898162, 1898162, 1898162}},
        {{GINEX_MISSES}, {4029, 102399, 147455, 167935, 177553}},
        {{RINGSAMPLER}, {6640, 499711, 925111, 925111, 925111}},
        {{DISKGNN}, {30, 106495, 301970, 301970, 301970}},
        {{AGNES_SMALL}, {5379, 112639, 360447, 409599, 423032}},
        {{MARIUS}, {40, 303103, 5792122, 5792122, 5792122}},
    };
    int different = 0;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        different += unlike_figures(t, c, cases[c].more, names, cases[c].figures, sizeof names / sizeof *names);
    assert_int_equal(different, 0);
}

/* How large reads were is in the record too: every read that was asked for has a class, and a run that reads through
 * mappings alone has none. */
static void how_large_reads_were_is_recorded(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const names[] = {"read_bytes_p50", "read_bytes_p90", "read_bytes_p99", "read_bytes_max"};
    static const struct {
        const char *more[12];
        json_int_t figures[sizeof names / sizeof *names];
    } cases[] = {
        {{PYGPLUS}, {0, 0, 0, 0}},
        {{GNNDRIVE}, {1024, 1024, 1024, 1024}},
        {{GNNDRIVE, "--io", "pool"}, {1024, 1024, 1024, 1024}},
        {{GNNDRIVE, "--workers", "2"}, {1024, 1024, 1024, 1024}},
        {{GINEX_MISSES}, {4096, 8192, 8192, 8192}},
        {{RINGSAMPLER}, {4, 4, 4, 4}},
        {{DISKGNN}, {8192, 122880, 122880, 122880}},
        {{AGNES_SMALL}, {4096, 4096, 4096, 4096}},
        {{MARIUS}, {32768, 696320, 696320, 696320}},
    };
    int different = 0;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        int exit_status;
        json_t *const run = golden_run(t, cases[c].more, &exit_status);
        const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const json_int_t got = whole(epoch, "figures", names[i]);
            if (got != cases[c].figures[i])
                print_error("case %zu: %s is now %lld (%s)\n", c, names[i], (long long)got,
                            tiny_runs_text(run, "status"));
            different += got != cases[c].figures[i];
        }
        assert_int_equal(sum_of_figures(epoch, "reads_to_"), whole(epoch, "figures", "reads_timed"));
        json_decref(run);
    }
    assert_int_equal(different, 0);
}

/* What systems read, pack and sort before the first epoch has a row of its own, exact as all virtual time; with the
 * epochs it is the whole run. Renewed as golden_times is. */
static void what_comes_before_the_first_epoch_is_recorded(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const names[] = {"elapsed_ns",
                                        "cpu_ns",
                                        "requested_bytes",
                                        "requested_ios",
                                        "requested_write_bytes",
                                        "requested_write_ios",
                                        "device_read_bytes",
                                        "device_read_ios",
                                        "device_write_bytes"};
    static const struct {
        const char *more[12];
        json_int_t counts[sizeof names / sizeof *names];
    } cases[] = {
        {{PYGPLUS}, {294466, 70020, 0, 0, 0, 0, 0, 0, 0}},
        {{GINEX}, {18179393, 13341455, 3231744, 6, 1953792, 2, 3231744, 28, 1953792}},
        {{AGNES}, {107081179, 81790144, 19185272, 55590, 14838512, 5, 17571840, 555, 13230080}},
        {{DISKGNN}, {31632533, 3881727, 12500992, 46, 2442680, 43, 14055424, 508, 2449408}},
        {{MARIUS}, {42652872, 15587545, 14738432, 58, 14490076, 5, 14738432, 156, 14495744}},
        {{PRESORT}, {3407633, 1707439, 1615872, 8, 0, 0, 1615872, 14, 0}},
        {{PRESORT, SET("presort.topology=mapped")}, {294976, 70530, 0, 0, 0, 0, 0, 0, 0}},
    };
    int different = 0;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        int exit_status;
        json_t *const run = golden_run(t, cases[c].more, &exit_status);
        const json_t *const epochs = json_object_get(run, "epochs");
        json_int_t all_ns = whole(run, "before_first_epoch", "elapsed_ns");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const json_int_t got = whole(run, "before_first_epoch", names[i]);
            if (got != cases[c].counts[i])
                print_error("case %zu: %s is now %lld (%s)\n", c, names[i], (long long)got,
                            tiny_runs_text(run, "status"));
            different += got != cases[c].counts[i];
        }
        for (size_t e = 0; e < json_array_size(epochs); e++)
            all_ns += whole(json_array_get(epochs, e), "counters", "elapsed_ns");
        assert_int_equal(all_ns, whole(run, NULL, "wall_ns"));
        assert_true(whole(run, "before_first_epoch", "elapsed_ns") >=
                    atoll(tiny_runs_text(json_object_get(run, "environment"), "system.open_ns")));
        json_decref(run);
    }
    assert_int_equal(different, 0);
}

/* A time of the first epoch, one of its figures, or a counter of the run. */
static json_int_t of_first_epoch(const json_t *run, const char *what)
{
    const json_t *const epoch = json_array_get(json_object_get(run, "epochs"), 0);
    if (json_object_get(epoch, what) != NULL)
        return whole(epoch, NULL, what);
    if (json_object_get(json_object_get(epoch, "figures"), what) != NULL)
        return whole(epoch, "figures", what);
    return whole(run, "counters", what);
}

/* A switch that does nothing is found here: what each must cost or save, on the machine of round figures. */
static void switches_take_their_time(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *less[20], *more[20];
        const char *what; /* of the run: of_first_epoch */
        double times;     /* more is at least so many times less */
    } pairs[] = {
        {{GINEX}, {GINEX, SET("ginex.overlap=false")}, "wall_ns", 1.02},
        {{PYGPLUS}, {PYGPLUS, RELEASED}, "wall_ns", 1.02},
        {{GNNDRIVE}, {GNNDRIVE, RELEASED}, "wall_ns", 1.02},
        {{GINEX}, {GINEX, RELEASED}, "wall_ns", 1.02},
        {{PYGPLUS, "--model", "gcn", "--compute", "cpu"},
         {PYGPLUS, "--model", "gcn", "--compute", "cpu", "--gcn-maps-sources"},
         "wall_ns",
         1},
        {{GINEX_MISSES}, {GINEX_MISSES, SET("ginex.gather_threads=1")}, "wall_ns", 2},
        {{GINEX}, {GINEX, SET("ginex.superbatch=8")}, "wall_ns", 1.05},
        {{GINEX}, {GINEX, SET("ginex.superbatch=8")}, "prepare_ns", 1},
        {{AGNES, SET("agnes.overlap=full")}, {AGNES}, "wall_ns", 1.02},
        {{AGNES_BLOCKS}, {AGNES_BLOCKS, SET("agnes.resident_first=false")}, "requested_ios", 1.1},
        {{RINGSAMPLER, SET("ringsampler.io=direct")},
         {RINGSAMPLER, SET("ringsampler.io=direct"), SET("ringsampler.coalesce=none")},
         "device_read_ios",
         1.02},
        {{RINGSAMPLER, SET("ringsampler.io=direct"), SET("ringsampler.coalesce=adjacent")},
         {RINGSAMPLER, SET("ringsampler.io=direct")},
         "device_read_ios",
         1.02},
        {{RINGSAMPLER}, {RINGSAMPLER, SET("ringsampler.dedupe=sort")}, "wall_ns", 1},
        /* Two reads in flight a thread instead of eighty; extractors one at a time. */
        {{GNNDRIVE}, {GNNDRIVE, SET("gnndrive.depth=2")}, "wall_ns", 2},
        {{GNNDRIVE}, {GNNDRIVE, SET("gnndrive.serial_extract=true")}, "wall_ns", 1.02},
        {{PYGPLUS}, {PYGPLUS, SET("pygplus.gather_threads=1")}, "wall_ns", 2},
        {{GNNDRIVE, "--dim", "32", SET("gnndrive.coalesce=true")}, {GNNDRIVE, "--dim", "32"}, "wall_ns", 1},
        {{AGNES_SMALL}, {AGNES_SMALL, SET("agnes.depth=1")}, "wall_ns", 1.1},
        {{AGNES_SMALL, SET("agnes.spill=async")}, {AGNES_SMALL}, "wall_ns", 1},
        {{DISKGNN}, {DISKGNN, SET("diskgnn.pipeline=false")}, "wall_ns", 1.1},
        {{DISKGNN, SET("diskgnn.table_stage=true")}, {DISKGNN}, "wall_ns", 1},
        {{DISKGNN}, {DISKGNN, SET("diskgnn.transfer=blocking")}, "wall_ns", 1},
        {{DISKGNN_PAGES}, {DISKGNN_PAGES, SET("diskgnn.rings=1")}, "wall_ns", 1},
        {{DISKGNN_PAGES}, {DISKGNN_PAGES, SET("diskgnn.reorder=off")}, "disk_cache_pages", 1.02},
        {{DISKGNN}, {DISKGNN_PAGES}, "amplification_permille", 1.05},
        {{DISKGNN}, {DISKGNN, SET("diskgnn.packing=individual")}, "pack_prepare_ns", 1.2},
        {{DISKGNN_PAGES}, {DISKGNN, SET("diskgnn.cache_ratio=0")}, "placed_bytes", 1.01},
        {{PRESORT, SET("presort.topology=swept")}, {PRESORT, SET("presort.topology=mapped")}, "wall_ns", 1.4},
        {{PRESORT, SET("presort.topology=swept")},
         {PRESORT, SET("presort.topology=swept"), SET("presort.round_memory=1")},
         "device_read_ios",
         2},
        {{MARIUS}, {MARIUS, SET("mariusgnn.loaders=1")}, "wall_ns", 1.1},
        {{MARIUS}, {MARIUS, SET("mariusgnn.bucket_reads=single")}, "requested_ios", 1.2},
        {{MARIUS, SET("mariusgnn.policy=replace")},
         {MARIUS, SET("mariusgnn.policy=replace"), SET("mariusgnn.prefetch=false")},
         "wall_ns",
         1.1},
    };
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        json_int_t values[2];
        for (int more = 0; more < 2; more++) {
            int exit_status;
            json_t *const run = golden_run(t, more != 0 ? pairs[p].more : pairs[p].less, &exit_status);
            assert_int_equal(exit_status, 0);
            values[more] = of_first_epoch(run, pairs[p].what);
            json_decref(run);
        }
        if (values[0] == values[1] || (double)values[1] < pairs[p].times * (double)values[0])
            fail_msg("pair %zu: %s is %lld, and %lld with the switch", p, pairs[p].what, (long long)values[0],
                     (long long)values[1]);
    }
}

/* Parts of an epoch and of its preparation take virtual time of their own: Ginex' passes over a superbatch, DiskGNN's
 * search for segment and disk cache, its packing row by row. So does the wait for sampled mini-batches. Renewed as
 * golden_times is. */
static void parts_take_their_times(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *more[14];
        struct {
            const char *name;
            json_int_t ns;
        } parts[4];
    } cases[] = {
        {{GINEX, SET("ginex.superbatch=8")},
         {{"pass1_ns", 89690}, {"pass2_ns", 146352}, {"pass3_ns", 306311}, {"fill_ns", 14476133}}},
        {{DISKGNN_PAGES}, {{"search_prepare_ns", 0}, {"place_prepare_ns", 1856398}}},
        {{DISKGNN, SET("diskgnn.pipeline=false")},
         {{"sequential_load_ns", 3524456},
          {"sequential_assemble_ns", 273744},
          {"sequential_graph_ns", 1082378},
          {"sequential_train_ns", 1084468}}},
        {{DISKGNN, SET("diskgnn.packing=individual"), SET("diskgnn.pack_workers=2")}, {{"pack_prepare_ns", 43708858}}},
        {{DISKGNN, SET("diskgnn.cache_ratio=0"), SET("diskgnn.disk_limit=0.2"), SET("diskgnn.search=approximate")},
         {{"search_prepare_ns", 442838}}},
        {{DISKGNN, SET("diskgnn.cache_ratio=0"), SET("diskgnn.disk_limit=0.2"), SET("diskgnn.search=exact")},
         {{"search_prepare_ns", 1108502}}},
        {{DISKGNN, SET("diskgnn.cache_ratio=0"), SET("diskgnn.disk_limit=0.2"), SET("diskgnn.search=brute")},
         {{"search_prepare_ns", 4584948}}},
        {{PYGPLUS}, {{"sample_ns", 32506069}}},
        {{PYGPLUS, RELEASED}, {{"sample_ns", 31787113}}},
        {{PYGPLUS, "--sample-only"}, {{"sample_ns", 19009547}}},
        {{GNNDRIVE}, {{"sample_ns", 13772570}}},
        {{GNNDRIVE, SET("gnndrive.samplers=1")}, {{"sample_ns", 49196814}}},
        {{GNNDRIVE, "--sample-only"}, {{"sample_ns", 9751849}}}, /* the epoch */
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        int exit_status;
        json_t *const run = golden_run(t, cases[c].more, &exit_status);
        assert_int_equal(exit_status, 0);
        for (size_t p = 0; p < 4 && cases[c].parts[p].name != NULL; p++) {
            const json_int_t ns = of_first_epoch(run, cases[c].parts[p].name);
            if (ns != cases[c].parts[p].ns)
                fail_msg("case %zu: %s is %lld", c, cases[c].parts[p].name, (long long)ns);
        }
        json_decref(run);
    }
}

/* Where rows come again and memory does not hold them, the first epoch pays for packing them, and the next one is
 * faster for it; where memory holds them nothing is packed, and what is lost is passes over the set of packed rows. */
static void packed_rows_are_swept_faster(void **state)
{
    const struct tiny_runs *const t = *state;
    static const struct {
        const char *base[18];
        double first, second; /* the epochs with packed rows take so much of the time at most */
    } cases[] = {
        {{PRESORT_FEW}, 1.2, 0.87},
        {{PRESORT_FEW, SET("presort.hyperbatch=30")}, 1.25, 0.9},
        {{PRESORT_FEW, SET("presort.hyperbatch=30"), SET("presort.classes=sorted")}, 0.91, 0.66},
        {{PRESORT, "--epochs", "3", SET("presort.hyperbatch=3"), SET("presort.classes=sorted")}, 1.001, 1.006},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        json_int_t wall_ns[2][2];
        for (int hot = 0; hot < 2; hot++) {
            const char *more[22] = {"--set", hot != 0 ? "presort.hot=run" : "presort.hot=off"};
            int exit_status;
            for (size_t i = 0; cases[c].base[i] != NULL; i++)
                more[2 + i] = cases[c].base[i];
            json_t *const run = golden_run_on(t, "reach=-1", more, &exit_status);
            assert_int_equal(exit_status, 0);
            for (size_t epoch = 0; epoch < 2; epoch++)
                wall_ns[hot][epoch] = whole(json_array_get(json_object_get(run, "epochs"), epoch), NULL, "wall_ns");
            json_decref(run);
        }
        if ((double)wall_ns[1][0] > cases[c].first * (double)wall_ns[0][0] ||
            (double)wall_ns[1][1] > cases[c].second * (double)wall_ns[0][1])
            fail_msg("case %zu: epochs of %lld and %lld, with packed rows %lld and %lld", c, (long long)wall_ns[0][0],
                     (long long)wall_ns[0][1], (long long)wall_ns[1][0], (long long)wall_ns[1][1]);
    }
}

enum { AGNES_EPOCHS = 3 };

/* Gives the times of the epochs of AGNES, whose training takes twice as long as its reads and writes. */
static void agnes_epochs_ns(const struct tiny_runs *t, const char *overlap, const char *first,
                            json_int_t wall_ns[AGNES_EPOCHS])
{
    const char *const more[] = {
        "--system", "agnes", "--batch",  "10",  "--fanout",  "10,10,10",
        "--hidden", "256",   "--epochs", "3",   "--compute", "model:tests/golden/machine.ini/cpu",
        "--set",    overlap, "--set",    first, "--set",     "agnes.hyperbatch=16",
        NULL};
    int exit_status;
    json_t *const run = golden_run(t, more, &exit_status);
    assert_int_equal(exit_status, 0);
    for (size_t epoch = 0; epoch < AGNES_EPOCHS; epoch++)
        wall_ns[epoch] = whole(json_array_get(json_object_get(run, "epochs"), epoch), NULL, "wall_ns");
    json_decref(run);
}

/* What an epoch waits for before its first mini-batch trains: a small hyperbatch; from the second epoch on, none. */
static void agnes_waits_for_a_small_hyperbatch_or_none(void **state)
{
    const struct tiny_runs *const t = *state;
    json_int_t full[AGNES_EPOCHS], small[AGNES_EPOCHS], over[AGNES_EPOCHS], both[AGNES_EPOCHS];
    agnes_epochs_ns(t, "agnes.overlap=full", "agnes.first=0", full);
    agnes_epochs_ns(t, "agnes.overlap=full", "agnes.first=4", small);
    agnes_epochs_ns(t, "agnes.overlap=epochs", "agnes.first=0", over);
    agnes_epochs_ns(t, "agnes.overlap=epochs", "agnes.first=4", both);
    for (size_t epoch = 0; epoch < AGNES_EPOCHS; epoch++) {
        assert_in_range(small[epoch], full[epoch] * 85 / 100, full[epoch] * 97 / 100);
        if (epoch > 0)
            assert_in_range(over[epoch], full[epoch] * 75 / 100, full[epoch] * 82 / 100);
    }
    assert_in_range(over[0], full[0], full[0] * 104 / 100); /* reads for the next one, too */
    assert_in_range(both[0], over[0] * 85 / 100, over[0] * 95 / 100);
}

/* The paper's sixteen workers are no slower than one. */
static void more_workers_never_slow_agnes(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char *const workers[] = {"agnes.workers=1", "agnes.workers=2", "agnes.workers=4", "agnes.workers=16"};
    json_int_t alone_ns = 0;
    for (size_t w = 0; w < sizeof workers / sizeof workers[0]; w++) {
        const char *const more[14] = {AGNES, "--set", workers[w]};
        int exit_status;
        json_t *const run = golden_run(t, more, &exit_status);
        assert_int_equal(exit_status, 0);
        const json_int_t wall_ns = first_epoch(run, "wall_ns");
        alone_ns = w == 0 ? wall_ns : alone_ns;
        if ((double)wall_ns > 1.03 * (double)alone_ns)
            fail_msg("%s: %lld ns, one worker %lld", workers[w], (long long)wall_ns, (long long)alone_ns);
        json_decref(run);
    }
}

/* A record of Ginex with room for so many rows of 400 bytes in its feature cache; the address table takes 4 bytes a
 * node. One batch at a time is sampled, in small blocks, so that the feature cache's phase is the largest, and no
 * change sets are held beside it. */
static json_t *ginex_with_rows(const struct tiny_runs *t, uint64_t nodes, uint64_t rows)
{
    char cache[64];
    int exit_status;
    (void)snprintf(cache, sizeof cache, "ginex.feature_cache=%llu", (unsigned long long)(4 * nodes + 400 * rows));
    const char *const more[] = {"--system",
                                "ginex",
                                SET(cache),
                                SET("ginex.cache_neighbours=false"),
                                SET("ginex.samplers=1"),
                                SET("ginex.trace_block=4K"),
                                SET("ginex.replacement=static"),
                                NULL};
    json_t *const run = golden_run(t, more, &exit_status);
    assert_int_equal(exit_status, 0);
    return run;
}

static json_int_t figure(const json_t *run, const char *name)
{
    return whole(json_array_get(json_object_get(run, "epochs"), 0), "figures", name);
}

static json_int_t allocated(const json_t *run)
{
    return atoll(tiny_runs_text(json_object_get(run, "environment"), "memory.allocated_peak_bytes"));
}

/* A feature cache has min(C, distinct rows) rows: where there is room for more, nothing but the list of the first nodes
 * (4 bytes each, an access each at most) is larger, and no nanosecond changes. */
static void a_cache_holds_no_more_than_is_asked_for(void **state)
{
    const struct tiny_runs *const t = *state;
    enum { NODES = 27765, FEWER = 1000, LIST = 4, ROW = 400, PAGE = 4096 };
    json_t *const roomy = ginex_with_rows(t, NODES, NODES);
    const json_int_t distinct = figure(roomy, "fill_rows");
    assert_int_equal(figure(roomy, "superbatches"), 1);
    assert_int_equal(figure(roomy, "cache_rows"), NODES);
    assert_in_range(distinct, 2 * FEWER, NODES - 2 * FEWER);
    json_t *const exact = ginex_with_rows(t, NODES, (uint64_t)distinct);
    json_t *const small = ginex_with_rows(t, NODES, (uint64_t)distinct - FEWER);
    assert_int_equal(figure(exact, "fill_rows"), distinct);
    assert_int_equal(figure(exact, "cache_rows"), distinct);
    assert_int_equal(whole(exact, "counters", "cache_misses"), 0);
    assert_int_equal(first_epoch(exact, "wall_ns"), first_epoch(roomy, "wall_ns"));
    assert_in_range(allocated(roomy) - allocated(exact), 0, (NODES - distinct) * LIST + PAGE);
    assert_int_equal(figure(small, "fill_rows"), distinct - FEWER);
    assert_true(whole(small, "counters", "cache_misses") > 0);
    assert_in_range(allocated(exact) - allocated(small), FEWER * ROW - PAGE, FEWER * (ROW + LIST) + 2 * PAGE);
    json_decref(small);
    json_decref(exact);
    json_decref(roomy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_times),
        cmocka_unit_test(golden_times_of_a_reach),
        cmocka_unit_test(how_long_reads_took_is_recorded),
        cmocka_unit_test(how_large_reads_were_is_recorded),
        cmocka_unit_test(what_the_gpu_did_is_recorded),
        cmocka_unit_test(what_presort_expects_is_recorded),
        cmocka_unit_test(what_comes_before_the_first_epoch_is_recorded),
        cmocka_unit_test(switches_take_their_time),
        cmocka_unit_test(parts_take_their_times),
        cmocka_unit_test(packed_rows_are_swept_faster),
        cmocka_unit_test(agnes_waits_for_a_small_hyperbatch_or_none),
        cmocka_unit_test(more_workers_never_slow_agnes),
        cmocka_unit_test(a_cache_holds_no_more_than_is_asked_for),
    };
    return cmocka_run_group_tests(tests, tiny_runs_prepare, tiny_runs_tear_down);
}

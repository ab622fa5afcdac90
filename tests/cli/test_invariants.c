/* SPDX-License-Identifier: MIT */
/* What only a whole run under a memory cgroup can show, with the kernel as the witness: device bytes against
 * page faults and against requests, what stays in the page cache, the charge against the plan, and equal
 * losses on a real graph (docs/invariants.md, PyG+: 7, 8, 9; GNNDrive: 7, 8, 12; DiskGNN: 9, 13;
 * docs/invariants-harness.md, Models: 5). */
#include "tests/support/data_files.h"
#include "tests/support/must.h"
#include "tests/support/process.h"
#include "tests/support/sanitizers.h"

#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { ARGUMENTS_MAX = 64, EPOCHS = 3, PAGE_BYTES = 4096, MIB = 1 << 20 };

/* Generated graphs of two sizes. */
#define SMALL "1/4000"
#define MEDIUM "1/1000"

struct fixture {
    char *dir;
    char data[600], db[600];
    bool counted; /* memory cgroups and device counters work here */
};

static void add_words(const char **argv, uint32_t *count, const char *const *words)
{
    while (*words != NULL && *count < ARGUMENTS_MAX - 1)
        argv[(*count)++] = *words++;
    argv[*count] = NULL;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static json_t *run_json(const struct fixture *f, const char *const *what, const char *const *more)
{
    const char *argv[ARGUMENTS_MAX];
    uint32_t count = 0;
    add_words(argv, &count,
              WORDS(process_program(), "run", "--data", f->data, "--db", f->db, "--hidden", "16", "--evaluate", "never",
                    "--json", "--quiet"));
    add_words(argv, &count, what);
    add_words(argv, &count, more);
    struct process_result r = process_run(argv);
    json_t *const run = json_loads(r.out, 0, NULL);
    if (r.exit_status != 0 || run == NULL)
        print_error("exit %d: %s%s\n", r.exit_status, r.out, r.err);
    assert_int_equal(r.exit_status, 0);
    assert_non_null(run);
    process_free(&r);
    return run;
}

/* On the generated graph `scale`, EPOCHS epochs. */
static json_t *run_generated(const struct fixture *f, const char *scale, const char *system, const char *const *more)
{
    json_t *const run =
        run_json(f, WORDS("--dataset", "papers100m", "--scale", scale, "--system", system, "--epochs", "3"), more);
    assert_string_equal(json_string_value(json_object_get(run, "status")), "ok");
    assert_int_equal(json_array_size(json_object_get(run, "epochs")), EPOCHS);
    return run;
}

static uint64_t number_in(const json_t *run, uint32_t epoch, const char *object, const char *key)
{
    const json_t *const e = json_array_get(json_object_get(run, "epochs"), epoch);
    const json_t *const value = json_object_get(json_object_get(e, object), key);
    if (!json_is_integer(value))
        fail_msg("epoch %u: no %s", epoch, key);
    return (uint64_t)json_integer_value(value);
}

static uint64_t counter(const json_t *run, uint32_t epoch, const char *key)
{
    return number_in(run, epoch, "counters", key);
}

static uint64_t fault_bytes(const json_t *run, uint32_t epoch)
{
    return PAGE_BYTES * number_in(run, epoch, "figures", "major_faults");
}

/* Charged to the cgroup at its fullest, page cache left out. */
static uint64_t held_bytes(const json_t *run, uint32_t epoch)
{
    const uint64_t peak = counter(run, epoch, "peak_memory_bytes");
    const uint64_t cached = counter(run, epoch, "page_cache_bytes");
    assert_true(peak > cached);
    return peak - cached;
}

/* The device's counters are everybody's: what another process reads while a run goes on is in them, and can only add. A
 * run whose bytes are as expected was alone; one in TRIES has to be. */
enum { TRIES = 5 };

static bool disturbed(uint64_t found, uint64_t expected)
{
    if (found * 100 <= expected * 102)
        return false;
    print_message("the device delivered %llu bytes, expected %llu: again, if another process reads from it\n",
                  (unsigned long long)found, (unsigned long long)expected);
    return true;
}

static void near(const char *what, uint32_t epoch, uint64_t found, uint64_t expected, uint64_t percent)
{
    const uint64_t gap = found > expected ? found - expected : expected - found;
    if (gap * 100 > expected * percent)
        fail_msg("epoch %u: %s: %llu, expected %llu within %llu %%", epoch, what, (unsigned long long)found,
                 (unsigned long long)expected, (unsigned long long)percent);
}

static void prepare(const char *const *words)
{
    const char *argv[ARGUMENTS_MAX];
    uint32_t count = 0;
    add_words(argv, &count, WORDS(process_program(), "prepare", "--quiet"));
    add_words(argv, &count, words);
    struct process_result r = process_run(argv);
    if (r.exit_status != 0)
        fail_msg("prepare: %s", r.err);
    process_free(&r);
}

static int set_up(void **state)
{
    struct fixture *const f = calloc(1, sizeof *f);
    f->dir = process_temp_dir();
    (void)snprintf(f->data, sizeof f->data, "%s/data", f->dir);
    (void)snprintf(f->db, sizeof f->db, "%s/runs.db", f->dir);
    /* Without a reach: what mini-batches touch of a small graph with one fits every cache here. */
    prepare(WORDS("papers100m", "--scale", SMALL, "--dim", "128", "--reach", "0", "--data", f->data));
    prepare(WORDS("papers100m", "--scale", MEDIUM, "--dim", "128", "--reach", "0", "--data", f->data));
    const char *const doctor[] = {process_program(), "doctor", "--data", f->dir, NULL};
    struct process_result r = process_run(doctor);
    f->counted = SANITIZERS_SHADOW_PERCENT == 0 && strstr(r.out, "ok       memory cgroup") != NULL &&
                 strstr(r.out, "ok       device") != NULL && strstr(r.out, "ok       direct I/O") != NULL;
    process_free(&r);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *const f = *state;
    process_remove_tree(f->dir);
    free(f->dir);
    free(f);
    return 0;
}

static void need_counts(const struct fixture *f)
{
    if (!f->counted)
        skip_test("needs a writable memory control group, a block device with direct I/O, and no sanitizer");
}

/* Pages of a prepared file in the page cache now. */
static uint64_t resident_pages(const struct fixture *f, const char *scale_dir, const char *name)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s/%s", f->data, scale_dir, name);
    const int fd = open(path, O_RDONLY);
    struct stat st;
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    const size_t bytes = (size_t)st.st_size, pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    void *const map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    unsigned char *const in_core = calloc(pages, 1);
    assert_true(map != MAP_FAILED && in_core != NULL);
    assert_int_equal(mincore(map, bytes, in_core), 0);
    uint64_t resident = 0;
    for (size_t i = 0; i < pages; i++)
        resident += in_core[i] & 1;
    free(in_core);
    assert_int_equal(munmap(map, bytes), 0);
    assert_int_equal(close(fd), 0);
    return resident;
}

/* ---- PyG+ ---- */

/* The cap holds a third of the data: every epoch misses, and without readahead a miss reads one page. */
static void a_page_fault_reads_one_page(void **state)
{
    const struct fixture *const f = *state;
    need_counts(f);
    json_t *run = NULL;
    bool again = true;
    for (int k = 0; k < TRIES && again; k++) {
        json_decref(run);
        run =
            run_generated(f, SMALL, "pygplus",
                          WORDS("--batch", "32", "--fanout", "5,5", "--memory", "10M", "--compute-threads", "1",
                                "--set", "pygplus.readahead=off")); /* a thread a core would take what the cap leaves */
        again = false;
        for (uint32_t e = 0; e < EPOCHS; e++)
            again = again || disturbed(counter(run, e, "device_read_bytes"), fault_bytes(run, e));
    }
    for (uint32_t e = 0; e < EPOCHS; e++) {
        const uint64_t read = counter(run, e, "device_read_bytes");
        assert_true(read > 4 * MIB);
        near("device bytes and 4096 x major faults", e, read, fault_bytes(run, e), 2);
        assert_true(counter(run, e, "peak_memory_bytes") <= 10 * MIB);
    }
    json_decref(run);
}

/* Lists are long enough that the first epoch touches every page. */
static void what_fits_is_read_once(void **state)
{
    const struct fixture *const f = *state;
    need_counts(f);
    for (int kernel = 0; kernel < 2; kernel++) {
        json_t *run = NULL;
        uint64_t data = 0;
        bool again = true;
        for (int k = 0; k < TRIES && again; k++) {
            json_decref(run);
            run = run_generated(f, SMALL, "pygplus",
                                WORDS("--batch", "151", "--fanout", "15,15", "--memory", "64M", "--set",
                                      kernel ? "pygplus.readahead=kernel" : "pygplus.readahead=off"));
            data = (uint64_t)json_integer_value(json_object_get(run, "dataset_bytes"));
            again = (!kernel && disturbed(counter(run, 0, "device_read_bytes"), fault_bytes(run, 0))) ||
                    disturbed(counter(run, 1, "device_read_bytes"), data * 29 / 1000) ||
                    disturbed(counter(run, 2, "device_read_bytes"), data * 9 / 1000);
        }
        const uint64_t first = counter(run, 0, "device_read_bytes");
        assert_true(first * 100 > data * 90);
        assert_true(counter(run, 1, "device_read_bytes") * 100 < data * 3);
        assert_true(counter(run, 2, "device_read_bytes") * 100 < data);
        if (kernel) /* one fault brings many pages: the switch is what keeps them apart */
            assert_true(fault_bytes(run, 0) * 4 < first);
        else
            near("device bytes and 4096 x major faults", 0, first, fault_bytes(run, 0), 2);
        json_decref(run);
    }
}

/* ---- before the first epoch ---- */

static uint64_t before(const json_t *run, const char *key)
{
    const json_t *const value = json_object_get(json_object_get(run, "before_first_epoch"), key);
    if (!json_is_integer(value))
        fail_msg("no %s before the first epoch", key);
    return (uint64_t)json_integer_value(value);
}

/* presort reads every neighbour list when it opens: from a cold device, and in no epoch. */
static void what_opening_reads_is_counted(void **state)
{
    const struct fixture *const f = *state;
    need_counts(f);
    json_t *const run = run_generated(f, MEDIUM, "presort",
                                      WORDS("--batch", "16", "--memory", "128M", "--set", "presort.topology=resident"));
    const uint64_t lists_bytes = before(run, "requested_bytes");
    assert_true(lists_bytes > 4 * MIB);
    assert_true(before(run, "device_read_bytes") >= lists_bytes);
    assert_true(before(run, "device_read_bytes") < lists_bytes + 32 * MIB); /* the program's own pages, at most */
    assert_true(before(run, "device_read_ios") > 0);
    assert_true(before(run, "cpu_ns") > 0);
    assert_true(before(run, "elapsed_ns") > 0);
    assert_true(before(run, "elapsed_ns") < (uint64_t)json_integer_value(json_object_get(run, "wall_ns")));
    json_decref(run);
}

/* ---- GNNDrive ---- */

/* Feature reads bypass the page cache; what else comes from the device are the topology's page faults, of a page each
 * without readahead. */
static void device_bytes_are_the_requested_bytes(void **state)
{
    const struct fixture *const f = *state;
    need_counts(f);
    const char *const *const usual =
        WORDS("--batch", "32", "--fanout", "5,5", "--memory", "64M", "--set", "gnndrive.readahead=off");
    json_t *run = NULL;
    bool again = true;
    for (int k = 0; k < TRIES && again; k++) {
        json_decref(run);
        run = run_generated(f, SMALL, "gnndrive", usual);
        again = false;
        for (uint32_t e = 0; e < EPOCHS; e++)
            again = again || disturbed(counter(run, e, "device_read_bytes") - fault_bytes(run, e),
                                       counter(run, e, "requested_bytes"));
    }
    for (uint32_t e = 0; e < EPOCHS; e++) {
        const uint64_t requested = counter(run, e, "requested_bytes");
        assert_true(requested > MIB);
        assert_int_equal(requested, 512 * counter(run, e, "cache_misses"));
        assert_int_equal(counter(run, e, "requested_ios"), counter(run, e, "cache_misses"));
        near("device bytes and requested bytes", e, counter(run, e, "device_read_bytes") - fault_bytes(run, e),
             requested, 2);
    }
    json_decref(run);
    assert_int_equal(resident_pages(f, "papers100m-1_4000", "features-d128"), 0);
    assert_true(resident_pages(f, "papers100m-1_4000", "indices") > 0); /* the cache is the topology's */

    char buffered[] = "gnndrive.io=buffered"; /* and the other way round, or the check above could not fail */
    run = run_generated(f, SMALL, "gnndrive",
                        WORDS("--batch", "32", "--fanout", "5,5", "--memory", "64M", "--set", buffered));
    json_decref(run);
    assert_true(resident_pages(f, "papers100m-1_4000", "features-d128") > 1000);
}

static uint64_t planned_bytes(const json_t *run)
{
    const json_t *const environment = json_object_get(run, "environment");
    const char *const fixed = json_string_value(json_object_get(environment, "plan.fixed_bytes"));
    const char *const batches = json_string_value(json_object_get(environment, "plan.batches_bytes"));
    assert_true(fixed != NULL && batches != NULL);
    return strtoull(fixed, NULL, 10) + strtoull(batches, NULL, 10);
}

/* A run whose buffer has `mult` times the rows that mini-batches in flight need. */
static json_t *run_with_buffer(const struct fixture *f, const char *mult)
{
    json_t *const run = run_generated(f, MEDIUM, "gnndrive",
                                      WORDS("--batch", "16", "--fanout", "10,10", "--memory", "128M", "--set", mult));
    assert_true(counter(run, 1, "cache_evictions") > 0); /* full: every slot was written */
    assert_true(counter(run, 2, "peak_memory_bytes") <= 128 * MIB);
    assert_true(held_bytes(run, 2) < held_bytes(run, 1) + MIB); /* and nothing grows from then on */
    return run;
}

/* The buffer fills in the first two epochs. What the plan adds for a larger one is what the kernel then charges; and
 * what it leaves out altogether (code, stacks, the maths library's own buffers) is little. `null` holds what every run
 * holds: program, topology's offsets, labels. */
static void the_charge_follows_the_plan(void **state)
{
    const struct fixture *const f = *state;
    need_counts(f);
    json_t *const null = run_generated(f, MEDIUM, "null", WORDS("--memory", "128M"));
    json_t *const small = run_with_buffer(f, "gnndrive.buffer_mult=1");
    json_t *const large = run_with_buffer(f, "gnndrive.buffer_mult=4");
    const uint64_t planned = planned_bytes(large) - planned_bytes(small);
    print_message("held %llu and %llu bytes, planned %llu and %llu beside the %llu of a run without a system\n",
                  (unsigned long long)held_bytes(small, 2), (unsigned long long)held_bytes(large, 2),
                  (unsigned long long)planned_bytes(small), (unsigned long long)planned_bytes(large),
                  (unsigned long long)held_bytes(null, EPOCHS - 1));
    assert_true(planned > 16 * MIB);
    near("charge for a larger buffer and plan", 2, held_bytes(large, 2) - held_bytes(small, 2), planned, 3);
    const uint64_t known = planned_bytes(large) + held_bytes(null, EPOCHS - 1);
    assert_true(held_bytes(large, 2) > known - MIB && held_bytes(large, 2) < known + 3 * MIB);
    json_decref(large);
    json_decref(small);
    json_decref(null);
}

/* ---- Ginex ---- */

/* Lists, traces, neighbour cache and rows are asked for one by one; a fill by page faults reads a page per row at most
 * where nothing is read ahead, and nothing else is in the page cache. */
static void ginex_reads_what_it_asks_for(void **state)
{
    const struct fixture *const f = *state;
    need_counts(f);
    for (int direct = 0; direct < 2; direct++) {
        json_t *run = NULL;
        bool again = true;
        for (int k = 0; k < TRIES && again; k++) {
            json_decref(run);
            run = run_generated(f, SMALL, "ginex",
                                WORDS("--batch", "32", "--fanout", "5,5", "--memory", "64M", "--set",
                                      "ginex.superbatch=4", "--set", "ginex.feature_cache=1M", "--set",
                                      "ginex.readahead=off", "--set",
                                      direct ? "ginex.fill=direct" : "ginex.fill=mapped"));
            again = false;
            for (uint32_t e = 0; e < EPOCHS; e++)
                again = again || disturbed(counter(run, e, "device_read_bytes"),
                                           counter(run, e, "requested_bytes") + fault_bytes(run, e));
        }
        for (uint32_t e = 0; e < EPOCHS; e++) {
            const uint64_t requested = counter(run, e, "requested_bytes"), faults = fault_bytes(run, e);
            assert_true(requested > MIB && counter(run, e, "cache_misses") > 0);
            near("device bytes and requested bytes", e, counter(run, e, "device_read_bytes") - faults, requested, 2);
            assert_true(faults <= PAGE_BYTES * (number_in(run, e, "figures", "fill_rows") + 64));
            assert_true(!direct || faults <= PAGE_BYTES * 64);
            assert_true(counter(run, e, "peak_memory_bytes") <= 64 * MIB);
        }
        json_decref(run);
        assert_int_equal(resident_pages(f, "papers100m-1_4000", "indices"), 0);
        if (direct)
            assert_int_equal(resident_pages(f, "papers100m-1_4000", "features-d128"), 0);
    }
}

/* Ginex' traces pass through the page cache. With cgroup v1 nobody counts for the group what the device then takes, so
 * that is unknown. Written directly, it is what was asked for. */
static void writes_are_counted_or_unknown(void **state)
{
    const struct fixture *const f = *state;
    need_counts(f);
    for (int direct = 0; direct < 2; direct++) {
        json_t *const run =
            run_generated(f, SMALL, "ginex",
                          WORDS("--batch", "32", "--fanout", "5,5", "--memory", "64M", "--set", "ginex.superbatch=4",
                                "--set", direct ? "ginex.trace_io=direct" : "ginex.trace_io=buffered"));
        const char *const group = json_string_value(json_object_get(run, "cap_enforcement"));
        for (uint32_t e = 0; e < EPOCHS; e++) {
            const json_t *const counters =
                json_object_get(json_array_get(json_object_get(run, "epochs"), e), "counters");
            const uint64_t requested = counter(run, e, "requested_write_bytes");
            assert_true(requested > 0);
            if (direct)
                near("device writes and requested writes", e, counter(run, e, "device_write_bytes"), requested, 2);
            else if (strcmp(group, "cgroup-v1") == 0)
                assert_true(json_is_null(json_object_get(counters, "device_write_bytes")));
            else
                assert_true(json_is_integer(json_object_get(counters, "device_write_bytes")));
        }
        json_decref(run);
    }
}

/* ---- DiskGNN ---- */

/* Chunks, pages of the disk caches, tables and graph samples pass the page cache by; so does packing before them. */
static void diskgnn_reads_what_it_asks_for(void **state)
{
    const struct fixture *const f = *state;
    need_counts(f);
    json_t *const run = run_generated(f, SMALL, "diskgnn",
                                      WORDS("--batch", "32", "--fanout", "5,5", "--memory", "64M", "--set",
                                            "diskgnn.gpu_cache=1", "--set", "diskgnn.cpu_cache=1", "--set",
                                            "diskgnn.segment=4", "--set", "diskgnn.disk_rows=2000"));
    for (uint32_t e = 0; e < EPOCHS; e++) {
        const uint64_t requested = counter(run, e, "requested_bytes");
        const uint64_t rows = number_in(run, e, "figures", "packed_rows");
        const uint64_t pages = number_in(run, e, "figures", "disk_cache_pages");
        assert_true(requested > MIB && pages > 0);
        near("device bytes and requested bytes", e, counter(run, e, "device_read_bytes") - fault_bytes(run, e),
             requested, 2);
        const uint64_t features =
            number_in(run, e, "figures", "chunk_read_bytes") + number_in(run, e, "figures", "disk_cache_read_bytes");
        near("bytes of features and rows packed and pages", e, features, 512 * rows + PAGE_BYTES * pages, 2);
        assert_true(counter(run, e, "peak_memory_bytes") <= 64 * MIB);
    }
    json_decref(run);
    assert_int_equal(resident_pages(f, "papers100m-1_4000", "features-d128"), 0);
}

/* ---- both on a real graph ---- */

enum { REAL_BATCHES = 3, REAL_EPOCHS = 2 };

static char *trace_of(const struct fixture *f, const char *model, const char *const *system)
{
    char path[700];
    (void)snprintf(path, sizeof path, "%s/trace", f->dir);
    const char *const usual[] = {
        "--dataset",     "fb100", "--model",  model, "--batch",      "64", "--fanout", "10,5,5",
        "--max-batches", "3",     "--epochs", "2",   "--trace-loss", path, NULL};
    json_t *const run = run_json(f, usual, system);
    assert_string_equal(json_string_value(json_object_get(run, "status")), "ok");
    json_decref(run);
    size_t len;
    char *const trace = data_read(f->dir, "trace", &len);
    assert_non_null(trace);
    uint32_t lines = 0;
    for (const char *c = trace; *c != '\0'; c++)
        lines += *c == '\n';
    assert_int_equal(lines, REAL_BATCHES * REAL_EPOCHS);
    return trace;
}

/* Same samples, same initial weights, any number of threads: equal losses in every step, to the bit. */
static void losses_on_a_real_graph_are_equal(void **state)
{
    const struct fixture *const f = *state;
    char from[DATA_PATH];
    if (data_real("fb100-13schools", from) == NULL)
        skip();
    prepare(WORDS("fb100", "--from", from, "--add-reverse", "--data", f->data));
    static const char *const models[] = {"sage", "gcn", "gat"};
    const char *const *const systems[] = {
        WORDS("--system", "pygplus"),
        WORDS("--system", "gnndrive", "--set", "gnndrive.io=buffered", "--set", "gnndrive.in_order=yes", "--set",
              "gnndrive.samplers=1", "--set", "gnndrive.extractors=1"),
        WORDS("--system", "diskgnn", "--set", "diskgnn.io=buffered", "--set", "diskgnn.resample_every=1", "--set",
              "diskgnn.cache_ratio=90"),
        WORDS("--system", "gnndrive", "--set", "gnndrive.io=buffered", "--set", "gnndrive.in_order=yes", "--set",
              "gnndrive.samplers=3", "--set", "gnndrive.extractors=3"),
        WORDS("--system", "pygplus", "--set", "pygplus.workers=3", "--set", "pygplus.gather_threads=3"),
    };
    char *other = NULL;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        char *const expected = trace_of(f, models[m], systems[0]);
        for (size_t s = 1; s < (m == 0 ? 5 : 3); s++) {
            char *const found = trace_of(f, models[m], systems[s]);
            assert_string_equal(found, expected);
            free(found);
        }
        if (other != NULL) /* models differ, so equality says something */
            assert_string_not_equal(expected, other);
        free(other);
        other = expected;
    }
    free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_opening_reads_is_counted),    cmocka_unit_test(a_page_fault_reads_one_page),
        cmocka_unit_test(what_fits_is_read_once),           cmocka_unit_test(device_bytes_are_the_requested_bytes),
        cmocka_unit_test(the_charge_follows_the_plan),      cmocka_unit_test(ginex_reads_what_it_asks_for),
        cmocka_unit_test(writes_are_counted_or_unknown),    cmocka_unit_test(diskgnn_reads_what_it_asks_for),
        cmocka_unit_test(losses_on_a_real_graph_are_equal),
    };
    return cmocka_run_group_tests_name("invariants", tests, set_up, tear_down);
}

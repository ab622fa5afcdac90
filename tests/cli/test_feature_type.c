/* SPDX-License-Identifier: MIT */
/* --feature-type from outside: remedies that work, the same mini-batches in both worlds, reads of half the bytes, and
 * records, captions, `bound` and `stats` that name the type. */
#include "tests/support/tiny_runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static int64_t integer(const json_t *object, const char *key)
{
    const json_t *const value = json_object_get(object, key);
    if (!json_is_integer(value))
        fail_msg("%s is no integer", key);
    return json_integer_value(value);
}

static const json_t *last_epoch(const json_t *record)
{
    const json_t *const epochs = json_object_get(record, "epochs");
    return json_array_get(epochs, json_array_size(epochs) - 1);
}

/* A run that must end well, of rows of this type. */
static json_t *run(const struct tiny_runs *t, const char *type, const char *const *first, const char *const *more)
{
    const char *words[TINY_ARGUMENTS_MAX] = {"--feature-type", type};
    size_t count = 2;
    for (size_t i = 0; first[i] != NULL; i++)
        words[count++] = first[i];
    json_t *const record = tiny_runs_must(t, 0, words, more);
    assert_string_equal(tiny_runs_text(record, "status"), "ok");
    assert_string_equal(tiny_runs_text(json_object_get(record, "config"), "feature-type"), type);
    return record;
}

static void a_type_that_is_not_there_is_refused(void **state)
{
    const struct tiny_runs *const t = *state;
    char part[1500];
    process_expect(process_shell("%s run --system pygplus --dataset papers100m --feature-type f64", process_program()),
                   2, "\"f64\" is none of f32, f16", "run --feature-type f64");
    process_expect(process_shell("%s run --system pygplus --dataset papers100m --scale 1/4000 --data %s --db %s "
                                 "--feature-type f16 --no-cold --quiet",
                                 process_program(), t->data, t->db),
                   2, "no f16 features of any width, but f32 features of width 32; add --feature-type f32",
                   "run --feature-type f16");
    (void)snprintf(part, sizeof part, "`oocgnn prepare papers100m --scale 1/4000 --data %s/none --feature-type f16`",
                   t->dir);
    process_expect(process_shell("%s run --system pygplus --dataset papers100m --scale 1/4000 --data %s/none "
                                 "--feature-type f16",
                                 process_program(), t->dir),
                   2, part, "run without a dataset");
    process_expect(process_shell("%s run --system pygplus --task link --dataset freebase86m --feature-type f16",
                                 process_program()),
                   2, "--task link learns vectors of float32", "run --task link");
    process_expect(process_shell("%s run --world simulated --profile gnndrive-paper --system pygplus --dataset "
                                 "papers100m --scale 1/4000 --generate feature_type=f16",
                                 process_program()),
                   2, "give --dim, --id-bytes and --feature-type as options of the run", "run --generate");
    process_expect(process_shell("%s prepare freebase86m --scale 1/40000 --out %s/k --feature-type f16 --quiet",
                                 process_program(), t->dir),
                   2, "leave out --feature-type f16", "prepare a knowledge graph");
}

/* Adds the rows to the dataset by its directory; then every exact system trains and evaluates alike. */
static void losses_and_accuracies_agree(void **state)
{
    static const char *const systems[] = {"pygplus", "ringsampler", "ginex", "agnes", "presort", "graphbolt"};
    const struct tiny_runs *const t = *state;
    process_expect(process_shell("%s prepare %s/papers100m-1_4000 --feature-type f16 --quiet && "
                                 "%s prepare papers100m --scale 1/4000 --data %s --check --quiet && "
                                 "test $(stat -c %%s %s/papers100m-1_4000/features-d32) = "
                                 "$((2 * $(stat -c %%s %s/papers100m-1_4000/features-f16-d32)))",
                                 process_program(), t->data, process_program(), t->data, t->data, t->data),
                   0, "is sound", "prepare DIR --feature-type f16");
    double loss = 0, accuracy = 0;
    char digest[64] = "";
    int64_t needed = 0;
    for (size_t s = 0; s < sizeof systems / sizeof *systems; s++) {
        json_t *const record =
            run(t, "f16", WORDS("--system", systems[s], "--no-cold"), WORDS("--evaluate", "last", "--epochs", "2"));
        const json_t *const epoch = last_epoch(record), *const counters = json_object_get(epoch, "counters");
        const double its_loss = json_real_value(json_object_get(epoch, "loss"));
        const double its_accuracy = json_real_value(json_object_get(epoch, "test_accuracy"));
        assert_true(json_is_real(json_object_get(epoch, "test_accuracy")));
        if (s == 0) {
            loss = its_loss;
            accuracy = its_accuracy;
            needed = integer(counters, "needed_bytes");
            (void)snprintf(digest, sizeof digest, "%s", tiny_runs_text(counters, "batch_digest"));
        }
        assert_true(its_loss == loss);
        assert_true(its_accuracy == accuracy);
        assert_int_equal(integer(counters, "needed_bytes"), needed);
        assert_string_equal(tiny_runs_text(counters, "batch_digest"), digest);
        json_decref(record);
    }
    process_expect(process_shell("%s report --db %s --last 1 1>&2", process_program(), t->db), 0, "f16 features",
                   "the caption");
    json_t *const wide = run(t, "f32", WORDS("--system", "pygplus", "--no-cold"), WORDS("--epochs", "2"));
    json_t *const blocks = run(t, "f32", WORDS("--system", "agnes", "--no-cold"), WORDS("--epochs", "2"));
    const double its_loss = json_real_value(json_object_get(last_epoch(blocks), "loss")); /* blocks of its own type */
    assert_true(its_loss == json_real_value(json_object_get(last_epoch(wide), "loss")));
    assert_true(its_loss != loss);
    json_decref(blocks);
    const json_t *const counters = json_object_get(last_epoch(wide), "counters");
    assert_string_equal(tiny_runs_text(counters, "batch_digest"), digest);
    assert_int_equal(integer(counters, "needed_bytes") - needed, integer(counters, "sampled_nodes") * 32 * 2);
    json_decref(wide);
}

/* Bytes that the device delivered for the rows of one simulated epoch, and how many rows those were. */
static void row_reads(const struct tiny_runs *t, const char *type, const char *system, const char *dim, int64_t *bytes,
                      int64_t *rows, char digest[64])
{
    json_t *const record =
        run(t, type, WORDS("--world", "simulated", "--profile", "gnndrive-paper", "--system", system),
            WORDS("--dim", dim, "--memory", "60M", "--set", "gnndrive.joint=false", "--set", "gnndrive.slots=6000",
                  "--set", "presort.row_memory=4M", "--set", "presort.classes=direct"));
    const json_t *const counters = json_object_get(last_epoch(record), "counters");
    *bytes = integer(counters, "requested_bytes");
    *rows = integer(counters, "rows_read");
    assert_int_equal(integer(counters, "device_read_bytes") >= *bytes, 1);
    (void)snprintf(digest, 64, "%s", tiny_runs_text(counters, "batch_digest"));
    json_decref(record);
}

/* Rows of 2048 floats are whole sectors of both types: each read has exactly half the bytes. Of 640 columns a row has
 * five sectors of 512 bytes, and its half touches three wherever it begins. */
static void the_device_reads_half_the_bytes(void **state)
{
    static const struct {
        const char *dim;
        int64_t wide, half; /* bytes of one read */
    } cases[] = {{"2048", 8192, 4096}, {"640", 2560, 1536}};
    const struct tiny_runs *const t = *state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int64_t bytes[2], rows[2];
        char digest[2][64];
        row_reads(t, "f32", "gnndrive", cases[c].dim, &bytes[0], &rows[0], digest[0]);
        row_reads(t, "f16", "gnndrive", cases[c].dim, &bytes[1], &rows[1], digest[1]);
        assert_true(rows[0] > 100);
        assert_int_equal(rows[1], rows[0]);
        assert_int_equal(bytes[0], rows[0] * cases[c].wide);
        assert_int_equal(bytes[1], rows[1] * cases[c].half);
        assert_string_equal(digest[0], digest[1]);
    }
}

/* Every system reads and moves fewer bytes, and its memory plan is smaller or leaves more for its cache. */
static void every_system_profits_in_the_simulated_world(void **state)
{
    static const char *const systems[] = {"pygplus", "gnndrive",  "ginex",   "ringsampler", "agnes",
                                          "diskgnn", "mariusgnn", "presort", "graphbolt"};
    static const char *const computes[] = {"model:gnndrive-paper/cpu", "model:gnndrive-paper/gpu"};
    const struct tiny_runs *const t = *state;
    for (size_t s = 0; s < sizeof systems / sizeof *systems; s++)
        for (int gpu = 0; gpu < 2; gpu++) {
            int64_t device[2], moved[2], dataset[2], nodes = 0;
            char digest[2][64];
            for (int half = 0; half < 2; half++) {
                json_t *const record = run(
                    t, half ? "f16" : "f32",
                    WORDS("--world", "simulated", "--profile", "gnndrive-paper", "--system", systems[s]),
                    WORDS("--dim", "512", "--memory", "100M", "--compute", computes[gpu], "--set",
                          "diskgnn.cpu_cache=64K", "--set", "diskgnn.gpu_cache=64K", "--set", "mariusgnn.partitions=16",
                          "--set", "mariusgnn.capacity=6", "--set", "graphbolt.block=512"));
                const json_t *const epoch = last_epoch(record), *const counters = json_object_get(epoch, "counters");
                device[half] = integer(counters, "device_read_bytes");
                moved[half] = gpu ? integer(json_object_get(epoch, "figures"), "gpu_uploaded_bytes") : 0;
                dataset[half] = integer(record, "dataset_bytes");
                nodes = strtol(tiny_runs_text(json_object_get(record, "environment"), "dataset.nodes"), NULL, 10);
                (void)snprintf(digest[half], sizeof digest[half], "%s", tiny_runs_text(counters, "batch_digest"));
                json_decref(record);
            }
            if (device[1] >= device[0])
                fail_msg("%s: the device reads %lld B of f16 and %lld B of f32", systems[s], (long long)device[1],
                         (long long)device[0]);
            assert_true(gpu == 0 || moved[1] <= moved[0]);
            assert_int_equal(dataset[0] - dataset[1], nodes * 512 * 2);
            assert_string_equal(digest[0], digest[1]);
        }
}

/* A sweep adds the rows that a run lacks, estimates their bytes before, and finds the record again. */
static void a_sweep_prepares_the_rows(void **state)
{
    const struct tiny_runs *const t = *state;
    const char *const program = process_program(), *const dir = t->dir;
    process_expect(process_shell("printf '[global]\\ndata = %s/swept\\ndb = %s/swept.db\\nworld = measured\\ndataset = "
                                 "papers100m\\nscale = 1/4000\\ndim = 512\\ncold = no\\nbatch = 32\\nfanout = 5,5\\n"
                                 "[a]\\nsystem = pygplus\\nfeature-type = f16\\n' >%s/job.ini && "
                                 "%s sweep %s/job.ini --dry-run 1>&2",
                                 dir, dir, dir, program, dir),
                   0, " 29.0 MiB", "sweep --dry-run"); /* 27 765 rows of 1 KiB and the topology */
    process_expect(process_shell("%s sweep %s/job.ini 1>&2 && test -e %s/swept/papers100m-1_4000/features-f16-d512 && "
                                 "! test -e %s/swept/papers100m-1_4000/features-d512",
                                 program, dir, dir, dir),
                   0, "is needed: preparing it", "sweep");
    process_expect(process_shell("%s sweep %s/job.ini --resume 1>&2", program, dir), 0, "0 runs made, 1 skipped",
                   "sweep --resume");
    process_expect(
        process_shell("sed -i 's/f16/f32/' %s/job.ini && %s sweep %s/job.ini --dry-run 1>&2", dir, program, dir), 0,
        " 54.2 MiB", "sweep --dry-run of the other type"); /* rows of 2 KiB alone */
}

static void bounds_and_statistics_use_the_smaller_rows(void **state)
{
    const struct tiny_runs *const t = *state;
    static const char what[] = "--scale 1/4000 --dim 2048 --batch 32 --fanout 5,5";
    int64_t bytes[2];
    double ratio[2];
    for (int half = 0; half < 2; half++) {
        json_t *const record =
            run(t, half ? "f16" : "f32",
                WORDS("--world", "simulated", "--profile", "gnndrive-paper", "--system", "presort"),
                WORDS("--dim", "2048", "--memory", "400M", "--bound", "--set", "presort.classes=direct"));
        bytes[half] = integer(record, "bound_bytes");
        ratio[half] = json_real_value(json_object_get(record, "bound_ratio"));
        json_decref(record);
    }
    assert_int_equal(bytes[0], 2 * bytes[1]); /* all distinct rows, once */
    assert_true(ratio[0] >= 1 && ratio[0] == ratio[1]);
    process_expect(process_shell("%s bound --dataset papers100m %s --data %s/none --feature-type f16 1>&2",
                                 process_program(), what, t->dir),
                   0, "f16 rows of 4096 bytes", "bound");
    process_expect(
        process_shell("%s bound --dataset papers100m %s --data %s/none 1>&2", process_program(), what, t->dir), 0,
        "f32 rows of 8192 bytes", "bound of f32");
    process_expect(process_shell("%s stats papers100m %s --data %s/none --feature-type f16 --no-lists 1>&2",
                                 process_program(), what, t->dir),
                   0, "feature rows of 2048 f16, 4096 B", "stats");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_type_that_is_not_there_is_refused),
        cmocka_unit_test(losses_and_accuracies_agree),
        cmocka_unit_test(the_device_reads_half_the_bytes),
        cmocka_unit_test(every_system_profits_in_the_simulated_world),
        cmocka_unit_test(a_sweep_prepares_the_rows),
        cmocka_unit_test(bounds_and_statistics_use_the_smaller_rows),
    };
    return cmocka_run_group_tests_name("feature_type_cli", tests, tiny_runs_prepare, tiny_runs_tear_down);
}

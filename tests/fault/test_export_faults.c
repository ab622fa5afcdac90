/* SPDX-License-Identifier: MIT */
/* Exports whose writes fail or that are stopped, at every write one after the other: the error is told and nothing is
 * left behind. And the memory of an export of arrays, which does not depend on the dataset. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/export/export.h"
#include "harness/world/measured/measured.h"
#include "tests/support/data_files.h"
#include "tests/support/heap_count.h"
#include "tests/support/must.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WRITES_MAX = 500, MEMORY_BYTES = 4 << 20 };

/* ---- a device that fails ---- */

static struct {
    int writes, fail_at, error, stop_at;
    int sync_error;
    atomic_bool stop;
    long heap_most;
} device;

static void note_heap(void)
{
    const long now = atomic_load(&heap_bytes);
    device.heap_most = now > device.heap_most ? now : device.heap_most;
}

/* Precedes the C library's. */
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    device.writes++;
    note_heap();
    if (device.writes == device.stop_at)
        atomic_store(&device.stop, true);
    if (device.writes == device.fail_at) {
        errno = device.error;
        return -1;
    }
    return (ssize_t)syscall(SYS_pwrite64, fd, data, bytes, at);
}

int syncfs(int fd)
{
    (void)fd;
    errno = device.sync_error;
    return device.sync_error == 0 ? 0 : -1;
}

/* ---- exports ---- */

struct place {
    char dataset[DATA_PATH], out[DATA_PATH];
    const char *root;
    struct gnn_world *world;
};

typedef enum gnn_status export_fn(const struct place *place, struct gnn_err *err);

static enum gnn_status arrays_as(const struct place *place, enum gnn_export_format format, struct gnn_err *err)
{
    const struct gnn_export_config config = {.dir = place->dataset, .format = format};
    const struct gnn_prepare_job job = {.out_dir = place->out, .stop = &device.stop};
    struct gnn_export_result result;
    return gnn_export_dataset(&config, &job, &result, err);
}

static enum gnn_status pairs(const struct place *place, struct gnn_err *err)
{
    return arrays_as(place, GNN_EXPORT_NPY, err);
}

static enum gnn_status lists(const struct place *place, struct gnn_err *err)
{
    return arrays_as(place, GNN_EXPORT_CSC, err);
}

static enum gnn_status batches(const struct place *place, struct gnn_err *err)
{
    const struct gnn_export_batches_config config = {
        .dir = place->dataset, .seed = 1, .batch_size = 12, .batches = 5, .fanout = {.count = 2, .values = {3, 3}}};
    const struct gnn_prepare_job job = {.out_dir = place->out, .stop = &device.stop};
    struct gnn_export_batches_result result;
    return gnn_export_batches(place->world, &config, &job, &result, err);
}

static void prepare(const char *dir, uint32_t divisor, uint32_t dim)
{
    const struct gnn_registry_entry *entry;
    struct gnn_generate_options options;
    const struct gnn_prepare_job job = {.out_dir = dir};
    struct gnn_err err = {0};
    gnn_option_defaults(gnn_generate_table, &options);
    options.dim = dim;
    options.threads = 1;
    must(gnn_registry_find("papers100m", &entry, &err), &err);
    must(gnn_prepare_generate(entry, divisor, &options, &job, &err), &err);
}

static void open_place(const char *root, struct place *place)
{
    struct gnn_err err = {0};
    memset(&device, 0, sizeof device);
    place->root = root;
    data_path(place->dataset, root, "dataset");
    data_path(place->out, root, "out");
    prepare(place->dataset, 20000, 8);
    must(gnn_world_measured_open(NULL, &place->world, &err), &err);
}

/* Fails the writes of an export one after the other, until none is left to fail. Returns their number. */
static int fail_each(const struct place *place, export_fn *run, int error, enum gnn_status status, const char *message)
{
    for (int at = 1; at < WRITES_MAX; at++) {
        struct gnn_err err = {0};
        const unsigned before = data_entries("/proc/self/fd");
        device.writes = 0;
        device.fail_at = at;
        device.error = error;
        const enum gnn_status got = run(place, &err);
        assert_int_equal(data_entries("/proc/self/fd"), before);
        if (device.writes < at) { /* all succeeded */
            must(got, &err);
            return at - 1;
        }
        if (got != status || strstr(err.message, message) == NULL)
            fail_msg("write %d: %s '%s', expected \"%s\"", at, gnn_status_name(got), err.message, message);
        assert_int_equal(data_entries(place->root), 1);
    }
    fail_msg("more than %d writes", WRITES_MAX);
    return 0;
}

static void remove_out(const struct place *place)
{
    char path[2 * DATA_PATH];
    DIR *const dir = opendir(place->out);
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        (void)snprintf(path, sizeof path, "%s/%s", place->out, entry->d_name);
        (void)unlink(path);
    }
    (void)closedir(dir);
    assert_int_equal(rmdir(place->out), 0);
}

static export_fn *const exports[] = {pairs, lists, batches};
enum { EXPORTS = sizeof exports / sizeof *exports };

static void test_a_full_disk(void **state)
{
    static const int least[EXPORTS] = {6, 7, 6};
    struct place place;
    open_place(*state, &place);
    for (int i = 0; i < EXPORTS; i++) {
        const int writes = fail_each(&place, exports[i], ENOSPC, GNN_ENOSPC, "the disk is full");
        if (writes < least[i])
            fail_msg("export %d made %d writes, expected at least %d", i, writes, least[i]);
        remove_out(&place);
        (void)fail_each(&place, exports[i], EIO, GNN_EIO, "Input/output error");
        remove_out(&place);
    }
    gnn_world_measured_close(place.world);
}

/* The one sync of all files is the last chance to learn of a failed write. */
static void test_a_failed_sync(void **state)
{
    struct place place;
    open_place(*state, &place);
    for (int i = 0; i < EXPORTS; i++) {
        struct gnn_err err = {0};
        device.sync_error = ENOSPC;
        assert_int_equal(exports[i](&place, &err), GNN_ENOSPC);
        must_show(err.message, "the disk is full");
        assert_int_equal(data_entries(place.root), 1);
    }
    gnn_world_measured_close(place.world);
}

static void test_a_stop(void **state)
{
    struct place place;
    open_place(*state, &place);
    for (int i = 0; i < EXPORTS; i++)
        for (int at = 1; at < 5; at++) {
            struct gnn_err err = {0};
            device.writes = 0;
            device.stop_at = at;
            assert_int_equal(exports[i](&place, &err), GNN_ECANCELLED);
            must_show(err.message, "interrupted during ");
            assert_int_equal(data_entries(place.root), 1);
            atomic_store(&device.stop, false);
        }
    gnn_world_measured_close(place.world);
}

static void test_memory(void **state)
{
    struct place place;
    if (!HEAP_COUNT_WORKS)
        skip_test("a sanitizer has its own allocator");
    open_place(*state, &place);
    prepare(data_path(place.dataset, place.root, "large"), 2000, 200); /* 44 MB of features, 800000 edges */
    for (int i = 0; i < 2; i++) {
        struct gnn_err err = {0};
        const long before = atomic_load(&heap_bytes);
        device.heap_most = before;
        must(exports[i](&place, &err), &err);
        assert_int_equal(atomic_load(&heap_bytes), before);
        if (device.heap_most - before > MEMORY_BYTES)
            fail_msg("export %d took %ld bytes", i, device.heap_most - before);
        remove_out(&place);
    }
    gnn_world_measured_close(place.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_full_disk, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_a_failed_sync, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_a_stop, data_set_up, data_tear_down),
        cmocka_unit_test_setup_teardown(test_memory, data_set_up, data_tear_down),
    };
    return cmocka_run_group_tests_name("faults of exports", tests, NULL, NULL);
}

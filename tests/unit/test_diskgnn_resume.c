/* SPDX-License-Identifier: MIT */
/* Packing that was cut short goes on: killed at any operation that changes the disk, or stopped at any, it is taken up
 * where it was kept, and ends with the bytes of a packing that nobody disturbed (systems/diskgnn/pack_kept.c). */
#include "tests/support/hang.h"
#include "tests/support/prepared.h"

#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct train_graph_config usual = {
    .nodes = 900, .mean_degree = 6, .dim = 100, .classes = 5, .train = 150, .seed = 11};

/* Rows that do not divide a page; several partitions, and several windows of each disk cache. */
static void open_shape(struct fixture *f, struct prepared *p)
{
    prepared_init(f, p);
    p->caches = (struct diskgnn_caches){40, 70};
    p->config.segment = 4;
    p->config.disk_rows = 90;
    p->config.partitions = 6;
    p->config.pack_memory = 40000;
    p->config.checkpoint_bytes = 1;
}

/* ---- a world that ends at a given operation ---- */

static atomic_int_fast64_t operations_left;
static atomic_bool stop;
static bool stops; /* raises the stop flag instead */

static void count_operation(void)
{
    if (atomic_fetch_sub(&operations_left, 1) != 1)
        return;
    if (stops)
        atomic_store(&stop, true);
    else
        (void)raise(SIGKILL);
}

static const struct gnn_world_ops *real;

static int64_t dying_write(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, const void *src,
                           uint64_t len_bytes)
{
    count_operation();
    return real->file_write(w, file, offset_bytes, src, len_bytes);
}

static enum gnn_status dying_sync(struct gnn_world *w, struct gnn_file *file, struct gnn_err *err)
{
    count_operation();
    return real->file_sync(w, file, err);
}

static enum gnn_status dying_rename(struct gnn_world *w, const char *from, const char *to, struct gnn_err *err)
{
    count_operation();
    return real->file_rename(w, from, to, err);
}

static enum gnn_status dying_remove(struct gnn_world *w, const char *path, struct gnn_err *err)
{
    count_operation();
    return real->file_remove(w, path, err);
}

/* Prepares in a world that dies, or stops, at operation `at`. Memory goes to the fixture's own world. */
static enum gnn_status prepare_until(struct fixture *f, struct prepared *p, int64_t at)
{
    struct gnn_world_ops ops = *f->inner->ops;
    struct gnn_world world = {.ops = &ops, .state = f->inner->state};
    real = f->inner->ops;
    ops.file_write = dying_write;
    ops.file_sync = dying_sync;
    ops.file_rename = dying_rename;
    ops.file_remove = dying_remove;
    atomic_store(&operations_left, at);
    atomic_store(&stop, false);
    f->env.world = &world;
    f->env.stop = &stop;
    const enum gnn_status status = prepared_try(f, p);
    f->env.world = f->world;
    f->env.stop = NULL;
    prepared_close(f, p);
    return status;
}

/* ---- files ---- */

static const char *const ends[] = {"-chunks", "-disk", "-cached"};
enum { FILES = sizeof ends / sizeof *ends };

struct bytes {
    unsigned char *data[FILES];
    uint64_t count[FILES];
};

static struct bytes read_packed(struct fixture *f, const struct prepared *p)
{
    struct bytes b;
    struct gnn_file *const files[] = {p->layout.chunks, p->layout.disk, p->layout.cached};
    for (int i = 0; i < FILES; i++) {
        struct gnn_file_info info;
        gnn_file_info(f->inner, files[i], &info);
        assert_true(info.size_bytes > 0);
        b.count[i] = info.size_bytes;
        b.data[i] = aligned_alloc(GNN_PAGE_BYTES, gnn_round_up(info.size_bytes, GNN_PAGE_BYTES));
        must(gnn_read_all(f->inner, files[i], 0, b.data[i], info.size_bytes, &f->err), &f->err);
    }
    return b;
}

static void free_bytes(struct bytes *b)
{
    for (int i = 0; i < FILES; i++)
        free(b->data[i]);
}

static bool same_bytes(const struct bytes *a, const struct bytes *b)
{
    bool same = true;
    for (int i = 0; i < FILES; i++)
        same &= a->count[i] == b->count[i] && memcmp(a->data[i], b->data[i], a->count[i]) == 0;
    return same;
}

static bool ends_with(const char *name, const char *end)
{
    const size_t length = strlen(name), want = strlen(end);
    return length >= want && strcmp(name + length - want, end) == 0;
}

/* Files of the prepared directory whose names end like `end`; removes them when told so. */
static uint32_t files_like(const char *dir, const char *end, bool and_remove)
{
    DIR *const all = opendir(dir);
    uint32_t count = 0;
    assert_non_null(all);
    for (const struct dirent *entry = readdir(all); entry != NULL; entry = readdir(all))
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "lock") != 0 && ends_with(entry->d_name, end)) {
            count++;
            if (and_remove)
                assert_int_equal(unlinkat(dirfd(all), entry->d_name, 0), 0);
        }
    (void)closedir(all);
    return count;
}

/* A preparation that nobody disturbs; *dir: where it lies. Its samples and tables stay, its rows go. */
static struct bytes prepare_undisturbed(struct fixture *f, char dir[700])
{
    struct prepared p;
    open_shape(f, &p);
    prepared_open(f, &p);
    struct bytes b = read_packed(f, &p);
    (void)snprintf(dir, 700, "%s", p.sampled.dir);
    assert_int_equal(p.layout.pack_kept_rows, 0);
    assert_true(p.layout.segments > 1);
    prepared_close(f, &p);
    assert_int_equal(files_like(dir, "", false), 8);
    for (int i = 0; i < FILES; i++)
        assert_int_equal(files_like(dir, ends[i], true), 1);
    return b;
}

/* Goes on, with other partitions than before. Returns the rows that were kept. */
static uint64_t finish(struct fixture *f, const char *dir, const struct bytes *want, int64_t at)
{
    struct prepared p;
    open_shape(f, &p);
    p.config.partitions = 1 + (uint32_t)at % 9;
    prepared_open(f, &p);
    assert_int_equal(p.sampled.prepare_ns, 0);
    assert_int_equal(p.layout.place_ns, 0);
    struct bytes got = read_packed(f, &p);
    if (!same_bytes(&got, want))
        fail_msg("cut off at operation %" PRId64 ": other bytes", at);
    const uint64_t kept = p.layout.pack_kept_rows;
    free_bytes(&got);
    prepared_close(f, &p);
    if (files_like(dir, "", false) != 8)
        fail_msg("cut off at operation %" PRId64 ": something is left", at);
    for (int i = 0; i < FILES; i++)
        assert_int_equal(files_like(dir, ends[i], true), 1);
    return kept;
}

/* Kills a child at an operation; false: it had fewer. */
static bool kill_at(struct fixture *f, int64_t at)
{
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct prepared p;
        open_shape(f, &p);
        _exit(prepare_until(f, &p, at) == GNN_OK ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        assert_int_equal(WTERMSIG(status), SIGKILL);
    else
        assert_int_equal(WEXITSTATUS(status), 0);
    return WIFSIGNALED(status);
}

static void test_a_killed_packing_goes_on(void **state)
{
    (void)state;
    struct fixture f;
    char dir[700];
    uint64_t most = 0;
    uint32_t kills = 0, resumed = 0;
    fixture_open(&f, .graph = &usual);
    struct bytes want = prepare_undisturbed(&f, dir);
    stops = false;
    for (int64_t at = 1; kill_at(&f, at); at += 1 + at / 8) {
        const uint64_t kept = finish(&f, dir, &want, at);
        kills++;
        resumed += kept > 0;
        most = gnn_max_u64(most, kept);
    }
    print_message("%u kills, %u packings went on, with %" PRIu64 " rows at most\n", kills, resumed, most);
    assert_true(kills > 15);
    assert_true(resumed > kills / 4);
    free_bytes(&want);
    fixture_close(&f);
}

/* Twice in a row, and each time a little further. */
static void test_a_packing_that_is_killed_again_goes_on(void **state)
{
    (void)state;
    struct fixture f;
    char dir[700];
    fixture_open(&f, .graph = &usual);
    struct bytes want = prepare_undisturbed(&f, dir);
    stops = false;
    uint32_t kills = 0;
    while (kill_at(&f, 60) && kills < 60)
        kills++;
    assert_in_range(kills, 2, 59); /* it comes to its end, 60 operations at a time */
    for (int i = 0; i < FILES; i++)
        assert_int_equal(files_like(dir, ends[i], false), 1);
    struct prepared p;
    open_shape(&f, &p);
    prepared_open(&f, &p);
    assert_int_equal(p.layout.pack_ns, 0);
    struct bytes got = read_packed(&f, &p);
    assert_true(same_bytes(&got, &want));
    free_bytes(&got);
    prepared_close(&f, &p);
    free_bytes(&want);
    fixture_close(&f);
}

/* Ctrl-C: what was kept stays, and nothing stays that could not be taken up. */
static void test_a_stopped_packing_goes_on(void **state)
{
    (void)state;
    struct fixture f;
    char dir[700];
    uint32_t resumed = 0;
    fixture_open(&f, .graph = &usual);
    struct bytes want = prepare_undisturbed(&f, dir);
    stops = true;
    for (int64_t at = 1;; at += 1 + at / 8) {
        struct prepared p;
        open_shape(&f, &p);
        const enum gnn_status status = prepare_until(&f, &p, at);
        if (status == GNN_OK)
            break;
        assert_int_equal(status, GNN_ECANCELLED);
        f.err = (struct gnn_err){0};
        const uint32_t parts = files_like(dir, ".part", false), kept = files_like(dir, "-packing", false);
        assert_int_equal(parts, kept > 0 ? FILES : 0);
        const uint64_t rows = finish(&f, dir, &want, at);
        assert_int_equal(rows > 0, kept > 0);
        resumed += rows > 0;
    }
    assert_true(resumed > 5);
    free_bytes(&want);
    fixture_close(&f);
}

/* What was kept and is damaged, cut, of a packing with more memory or of a packing row by row is packed anew. */
static void test_what_does_not_fit_is_packed_anew(void **state)
{
    (void)state;
    static const struct {
        const char *damaged, *cut;
        uint64_t memory;
        bool individual, resumes;
    } cases[] = {{NULL, NULL, 40000, false, true},          {"-packing", NULL, 40000, false, false},
                 {NULL, "-packing", 40000, false, false},   {NULL, "-chunks.part", 40000, false, false},
                 {NULL, "-disk.part", 40000, false, false}, {NULL, NULL, 4096, false, false},
                 {NULL, NULL, 40000, true, false}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct fixture f;
        struct prepared p;
        char dir[700], command[900];
        fixture_open(&f, .graph = &usual);
        struct bytes want = prepare_undisturbed(&f, dir);
        stops = false;
        assert_true(kill_at(&f, 60));
        assert_int_equal(files_like(dir, "-packing", false), 1);
        command[0] = '\0';
        if (cases[c].damaged != NULL)
            (void)snprintf(command, sizeof command,
                           "printf x | dd of=$(echo %s/*%s) bs=1 seek=70 conv=notrunc 2>/dev/null", dir,
                           cases[c].damaged);
        if (cases[c].cut != NULL)
            (void)snprintf(command, sizeof command, "truncate -s 512 %s/*%s", dir, cases[c].cut);
        assert_int_equal(command[0] == '\0' ? 0 : system(command), 0); /* NOLINT: of this test's own directory */
        open_shape(&f, &p);
        p.config.pack_memory = cases[c].memory;
        p.config.packing = cases[c].individual ? DISKGNN_PACKING_INDIVIDUAL : DISKGNN_PACKING_BATCHED;
        prepared_open(&f, &p);
        struct bytes got = read_packed(&f, &p);
        assert_true(same_bytes(&got, &want));
        if ((p.layout.pack_kept_rows > 0) != cases[c].resumes)
            fail_msg("case %zu: %" PRIu64 " rows were kept", c, p.layout.pack_kept_rows);
        assert_int_equal(files_like(dir, "", false), 8);
        free_bytes(&got);
        free_bytes(&want);
        prepared_close(&f, &p);
        fixture_close(&f);
    }
}

/* A packing that fails, or is prepared anew, leaves nothing of what was kept. */
static void test_nothing_is_kept_of_what_failed(void **state)
{
    (void)state;
    struct fixture f;
    struct prepared p;
    char dir[700];
    fixture_open(&f, .graph = &usual, .faults = &(struct gnn_fault_plan){.seed = 1, .read_eio_at = 30});
    f.env.world = f.inner;
    struct bytes want = prepare_undisturbed(&f, dir);
    stops = false;
    assert_true(kill_at(&f, 60));
    f.env.world = f.world;
    open_shape(&f, &p);
    assert_int_equal(prepared_try(&f, &p), GNN_EIO);
    prepared_close(&f, &p);
    f.err = (struct gnn_err){0};
    assert_int_equal(files_like(dir, ".part", false) + files_like(dir, "-packing", false), 0);
    f.env.world = f.inner;
    assert_true(kill_at(&f, 60));
    open_shape(&f, &p);
    p.config.reuse = false;
    prepared_open(&f, &p);
    assert_int_equal(p.layout.pack_kept_rows, 0);
    struct bytes got = read_packed(&f, &p);
    assert_true(same_bytes(&got, &want));
    free_bytes(&got);
    free_bytes(&want);
    prepared_close(&f, &p);
    f.env.world = f.world;
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_killed_packing_goes_on),
        cmocka_unit_test(test_a_packing_that_is_killed_again_goes_on),
        cmocka_unit_test(test_a_stopped_packing_goes_on),
        cmocka_unit_test(test_what_does_not_fit_is_packed_anew),
        cmocka_unit_test(test_nothing_is_kept_of_what_failed),
    };
    end_a_hang();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

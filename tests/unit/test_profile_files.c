/* SPDX-License-Identifier: MIT */
/* Files of hardware profiles: costs that several share, released programs' costs, every machine of the papers, names
 * and near misses, digests. */
#include "tests/support/process.h"
#include "tests/support/toy_profile.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const shipped[] = {"workloads/hardware", NULL};

static void remove_files(const char *dir)
{
    DIR *open_dir = opendir(dir);
    assert_non_null(open_dir);
    for (struct dirent *entry; (entry = readdir(open_dir)) != NULL;) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        if (entry->d_name[0] != '.')
            assert_int_equal(unlink(path), 0);
    }
    (void)closedir(open_dir);
    assert_int_equal(rmdir(dir), 0);
}

static void test_costs_scale_with_the_clock(void **state)
{
    (void)state;
    char dir[256];
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(dir, sizeof dir, "%.200s/oocgnn-profile-XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(dir));
    process_write_file(dir, "costs.ini", 0644, "%s", "[cpu]\nclock = 2.6GHz stated\n" COSTS);
    process_write_file(dir, "slow.ini", 0644, "%s",
                       MACHINE "[storage]\n" WRITES CURVE
                               "[cpu]\ncores = 1 stated\nclock = 1.3GHz stated\ncosts = costs.ini\n"
                               "lock = 5ns measured\n" HOST);
    const char *const dirs[] = {"no-such-directory", dir, NULL};
    struct gnn_profile *p = NULL;
    struct gnn_err err = {0};
    must(gnn_profile_open("slow", dirs, &p, &err), &err);
    assert_int_equal(p->cpu.work_ps[GNN_WORK_SAMPLED_EDGE], 14000);
    assert_int_equal(p->cpu.work_ps[GNN_WORK_COPIED_BYTE], 140);
    assert_int_equal(p->cpu.fault_minor_ns, 660);
    assert_int_equal(p->cpu.lock_ns, 5);        /* its own figure wins, unscaled */
    assert_int_equal(p->cpu.ring_cached_ns, 0); /* a cost nobody needs, given by nobody */
    char digest[sizeof p->digest];
    memcpy(digest, p->digest, sizeof digest);
    gnn_profile_close(p);
    process_write_file(dir, "costs.ini", 0644, "%s",
                       "[cpu]\nclock = 2.7GHz stated\nring_cached_read = 650ns measured\n" COSTS);
    assert_int_equal(gnn_profile_open("toy", dirs, &p, &err), GNN_OK); /* by its machine_id */
    assert_string_not_equal(digest, p->digest);                        /* costs belong to it */
    assert_int_equal(p->cpu.work_ps[GNN_WORK_SAMPLED_EDGE], 14538);    /* 7 ns x 2.7 / 1.3, rounded */
    assert_int_equal(p->cpu.ring_cached_ns, 1350);
    assert_int_equal(p->cpu.ring_missed_ns, 0);
    assert_int_equal(p->cpu.ring_cached_ns, 1350);
    assert_int_equal(p->cpu.ring_missed_ns, 0);
    gnn_profile_close(p);
    static const char *const wrong[][2] = {{"[cpu]\n" COSTS, "clock"},
                                           {"[cpu]\nclock = 1GHz stated\nlock = 1ns stated\n", "sampled_edge"},
                                           {"[cpu]\nclock = 1GHz stated\ncores = 2 stated\n" COSTS, "cores"}};
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        process_write_file(dir, "costs.ini", 0644, "%s", wrong[w][0]);
        err = (struct gnn_err){0};
        assert_int_equal(gnn_profile_open("slow", dirs, &p, &err), GNN_EFORMAT);
        assert_non_null(strstr(err.message, "costs.ini"));
        assert_non_null(strstr(err.message, wrong[w][1]));
    }
    remove_files(dir);
}

#define RELEASED                                                                                                       \
    "[released]\nclock = 2.6GHz stated\nframework_edge = 200ns derived\nshared_edge = 60ns derived\n"                  \
    "bitmap_byte = 2ns measured\nsort_step = 5ns measured\n"                                                           \
    "list_take = 1.1us measured\n"                                                                                     \
    "list_evict = 1.3us measured\nlist_put = 0.7us measured\nfresh_page = 500ns derived\n"                             \
    "process_start = 20ms assumed\nstep = 2ms derived\nstep_edge = 40ns derived\ncpu_cores = 1.25cores derived\n"

/* A profile has none of them; from their file they come as cycles, but for the GPU's step and the share of the CPU. */
static void test_released_costs(void **state)
{
    (void)state;
    struct gnn_profile *p =
        parse("toy.ini",
              MACHINE "[storage]\n" WRITES CURVE "[cpu]\ncores = 4 stated\nclock = 1.3GHz stated\n" COSTS HOST GPU BUS);
    struct gnn_err err = {0};
    const uint64_t *const ps = p->cpu.work_ps;
    assert_int_equal(ps[GNN_WORK_FRAMEWORK_EDGE], 7000 + 8500 + 5000); /* drawn, hashed, sorted: nothing else */
    assert_int_equal(ps[GNN_WORK_LIST_TAKE] + ps[GNN_WORK_LIST_EVICT] + ps[GNN_WORK_LIST_PUT], 0);
    assert_int_equal(ps[GNN_WORK_FRESH_PAGE] + ps[GNN_WORK_PROCESS_START] + ps[GNN_WORK_SHARED_EDGE], 0);
    assert_int_equal(ps[GNN_WORK_BITMAP_BYTE] + ps[GNN_WORK_SORT_STEP], 0);
    assert_int_equal(p->framework.step_ns + p->framework.step_edge_ps + p->framework.milli_cores, 0);
    assert_string_equal(p->costs_digest, "");
    must(gnn_profile_parse_costs(p, "costs.ini", RELEASED, &err), &err);
    assert_int_equal(ps[GNN_WORK_FRAMEWORK_EDGE], 400000);
    assert_int_equal(ps[GNN_WORK_SHARED_EDGE], 120000);
    assert_int_equal(ps[GNN_WORK_BITMAP_BYTE], 4000);
    assert_int_equal(ps[GNN_WORK_SORT_STEP], 10000);
    assert_int_equal(ps[GNN_WORK_LIST_TAKE], 2200000);
    assert_int_equal(ps[GNN_WORK_LIST_EVICT], 2600000);
    assert_int_equal(ps[GNN_WORK_LIST_PUT], 1400000);
    assert_int_equal(ps[GNN_WORK_FRESH_PAGE], 1000000);
    assert_int_equal(ps[GNN_WORK_PROCESS_START], UINT64_C(40000000000));
    assert_int_equal(ps[GNN_WORK_SAMPLED_EDGE], 7000);
    assert_int_equal(p->framework.step_ns, 2000000);
    assert_int_equal(p->framework.step_edge_ps, 40000);
    assert_int_equal(p->framework.milli_cores, 1250);
    assert_int_equal(strlen(p->costs_digest), 32);
    gnn_profile_close(p);
}

#define OF_GPU(model) MACHINE "[storage]\n" WRITES CURVE CPU COSTS HOST GPU "model = " model "\n" BUS

/* The step of one model of GPU is that of profiles with such a GPU, wherever its section is; changes come last. */
static void test_a_gpu_has_its_own_step(void **state)
{
    (void)state;
    static const char costs[] =
        "[released Toy 9]\nstep_edge = 15ns derived: its stage times\nstep = 1us measured\n" RELEASED
        "[released Toy 8]\nstep_edge = 7ns derived\n";
    static const struct {
        const char *profile, *changes;
        uint64_t step_ns, edge_ps;
    } cases[] = {{GOOD, "", 2000000, 40000},
                 {OF_GPU("Toy"), "", 2000000, 40000},
                 {OF_GPU("Toy 90"), "", 2000000, 40000},
                 {OF_GPU("Toy 9"), "", 1000, 15000},
                 {OF_GPU("Toy 8"), "", 2000000, 7000},
                 {OF_GPU("Toy 9"), "released.step_edge=41ns", 1000, 41000}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct gnn_profile *p = NULL;
        struct gnn_err err = {0};
        must(gnn_profile_parse_changed("toy.ini", cases[c].profile, cases[c].changes, &p, &err), &err);
        must(gnn_profile_parse_costs(p, "costs.ini", costs, &err), &err);
        assert_int_equal(p->framework.step_ns, cases[c].step_ns);
        assert_int_equal(p->framework.step_edge_ps, cases[c].edge_ps);
        assert_int_equal(p->framework.milli_cores, 1250);
        gnn_profile_close(p);
    }
}

static struct gnn_profile *changed(const char *text, const char *changes)
{
    struct gnn_profile *p = NULL;
    struct gnn_err err = {0};
    must(gnn_profile_parse_changed("here/toy.ini", text, changes, &p, &err), &err);
    return p;
}

/* Values and factors, one after the other; of the clock, the costs that are cycles follow. */
static void test_parameters_are_changed(void **state)
{
    (void)state;
    struct gnn_profile *const plain = parse("toy.ini", GOOD);
    struct gnn_profile *p = changed(GOOD, "");
    struct gnn_err err = {0};
    assert_memory_equal(p, plain, sizeof *p);
    gnn_profile_close(p);
    p = changed(GOOD,
                "storage.read_iops=3k/s,storage.read_latency=x0.5, storage.devices=x2,storage.devices=x2,cpu.lock=9ns,"
                "storage.mixed_bandwidth=2MB/s");
    assert_int_equal(p->storage.read_ps[0][0], UINT64_C(1000000000000) / 3000);
    assert_int_equal(p->storage.read_latency_ps, 40000000);
    assert_int_equal(p->storage.devices, 8);
    assert_int_equal(p->cpu.lock_ns, 9);
    assert_int_equal(p->storage.mixed_bytes_per_s, 2000000); /* which the file lacks */
    assert_int_equal(p->cpu.wake_ns, plain->cpu.wake_ns);
    assert_string_not_equal(p->digest, plain->digest);
    gnn_profile_close(p);
    p = changed(GOOD, "released.list_take=x2");
    assert_int_equal(p->cpu.work_ps[GNN_WORK_LIST_TAKE], 0);
    must(gnn_profile_parse_costs(p, "costs.ini", RELEASED, &err), &err);
    assert_int_equal(p->cpu.work_ps[GNN_WORK_LIST_TAKE], 2200000);
    assert_int_equal(p->cpu.work_ps[GNN_WORK_LIST_PUT], 700000);
    must(gnn_profile_parse_costs(plain, "costs.ini", RELEASED, &err), &err);
    assert_string_not_equal(p->costs_digest, plain->costs_digest);
    gnn_profile_close(p);
    gnn_profile_close(plain);
    assert_true(gnn_profile_changes_section("cpu.lock=1ns,released.step=x2", "released"));
    assert_true(gnn_profile_changes_section("cpu.lock=1ns", "cpu"));
    assert_false(gnn_profile_changes_section("cpu.released=1ns", "released"));
    assert_false(gnn_profile_changes_section("", "released"));
}

static void test_changes_that_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *text, *changes, *part;
    } cases[] = {
        {GOOD, "storage.read_iops", "storage.read_iops: expected SECTION.KEY=VALUE"},
        {GOOD, "storage.read_iop=3/s",
         "storage.read_iop: a profile has no such parameter; did you mean \"storage.read_iops\""},
        {GOOD, "read_iops=3/s", "read_iops: a profile has no such parameter"},
        {GOOD, "storage.read_us.4K=x2", "a profile has no such parameter"},
        {GOOD, "cpu.lock=1ns,storage.read_iops=3000",
         "read_iops=3000: expected a rate as 98000/s, 98k/s or 1.5M/s, or a factor as x0.5"},
        {GOOD, "storage.read_iops=x", "expected a rate"},
        {GOOD, "storage.read_iops=x-2", "expected a rate"},
        {GOOD, "storage.read_iops=xinf", "expected a rate"},
        {GOOD, "storage.read_iops=x2/s", "expected a rate"},
        {GOOD, "storage.read_iops=x1e-9", "too small for a rate"},
        {GOOD, "storage.read_iops=x1e300", "too large for a rate"},
        {GOOD, "storage.devices=300", "too large for a plain integer"},
        {GOOD, "machine.title=x2", "only numbers that a run depends on"},
        {GOOD, "storage.mixed_bandwidth=x2", "profile toy has no value to multiply; give a rate in B/s"},
        {MACHINE "[storage]\n" WRITES CURVE CPU COSTS HOST, "gpu.memory=8G", "the profile has no GPU"},
        {MACHINE "[storage]\n" WRITES "read_depths = 1 measured\nread_us.4K = 80 measured\n" CPU COSTS HOST,
         "storage.read_iops=x2", "a measured grid of reads instead"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_profile *p = NULL;
        struct gnn_err err = {0};
        const enum gnn_status status =
            gnn_profile_parse_changed("here/toy.ini", cases[i].text, cases[i].changes, &p, &err);
        if (status != GNN_EUSAGE || strstr(err.message, cases[i].part) == NULL)
            fail_msg("%s: status %d, %s", cases[i].changes, (int)status, err.message);
    }
}

/* Times, rates and the readahead, which a sensitivity analysis changes; of released costs, all times and rates. */
static void test_assumed_parameters_are_listed(void **state)
{
    (void)state;
    struct gnn_profile *const p = parse("toy.ini", GOOD);
    char text[2048] = "", key[GNN_NAME_MAX], value[GNN_NAME_MAX];
    struct gnn_err err = {0};
    uint32_t at = 0;
    size_t used = 0;
    while (gnn_profile_next_assumed(p, &at, key, value))
        used += (size_t)snprintf(text + used, sizeof text - used, "%s=%s ", key, value);
    assert_string_equal(text,
                        "storage.write_latency=40us storage.readahead=128K cpu.fault_major=2.5us cpu.submit=700ns "
                        "cpu.complete=600ns host.bandwidth=10GB/s host.gather=4GB/s host.launch=200ns "
                        "gpu.launch=3us bus.pageable=8GB/s bus.latency=10us ");
    must(gnn_profile_parse_costs(p, "costs.ini", RELEASED, &err), &err);
    uint32_t released = 0;
    for (at = 0; gnn_profile_next_assumed(p, &at, key, value);)
        released += strncmp(key, "released.", 9) == 0 ? 1 : 0;
    assert_int_equal(released, 12); /* all but the clock */
    assert_string_equal(key, "released.cpu_cores");
    assert_string_equal(value, "1.25cores");
    gnn_profile_close(p);
}

/* What is of a mini-batch or an epoch is divided, to the nearest, and what is of an edge, a row or a page is not. */
static void test_costs_of_a_piece_are_divided(void **state)
{
    (void)state;
    struct gnn_profile *const p = parse("toy.ini", GOOD);
    struct gnn_err err = {0};
    must(gnn_profile_parse_costs(p, "costs.ini", RELEASED, &err), &err);
    struct gnn_profile expected = *p;
    gnn_profile_divide_costs(p, 1);
    assert_memory_equal(p, &expected, sizeof expected);
    gnn_profile_divide_costs(p, 300);
    expected.framework.step_ns = 6667;                       /* of 2 ms */
    expected.cpu.work_ps[GNN_WORK_PROCESS_START] = 66666667; /* of 20 ms */
    assert_memory_equal(p, &expected, sizeof expected);
    gnn_profile_close(p);
}

static void test_released_costs_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words[2];
    } cases[] = {
        {"[released]\nclock = 2.6GHz stated\n", {"c.ini", "framework_edge"}},
        {RELEASED "[cpu]\ncores = 2 stated\n", {"c.ini:15:", "[released], and"}},
        {"[released]\nlist_take = 1us\n", {"c.ini:2:", "source"}},
        {"[released]\ncpu_cores = 2 stated\n", {"c.ini:2:", "1.3cores"}},
        {"[released]\nlist_takes = 1us stated\n", {"c.ini:2:", "list_take"}},
        {RELEASED "[released Toy 9]\nlist_take = 1us stated\n", {"[released Toy 9]", "step_edge alone"}},
        {RELEASED "[released Toy 9]\nstep = 1us\n", {"step", "source"}},
        {RELEASED "[released ]\nstep = 1us stated\n", {"[released MODEL]", "alone"}},
    };
    struct gnn_profile *const p = parse("toy.ini", GOOD);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_err err = {0};
        assert_int_equal(gnn_profile_parse_costs(p, "c.ini", cases[i].text, &err), GNN_EFORMAT);
        for (size_t w = 0; w < 2; w++)
            if (strstr(err.message, cases[i].words[w]) == NULL)
                fail_msg("case %zu: no \"%s\" in: %s", i, cases[i].words[w], err.message);
        assert_int_equal(p->cpu.work_ps[GNN_WORK_LIST_TAKE], 0); /* as it was */
        assert_string_equal(p->costs_digest, "");
    }
    struct gnn_profile *none = NULL;
    struct gnn_err err = {0};
    assert_int_equal(gnn_profile_parse("p.ini", GOOD RELEASED, &none, &err), GNN_EFORMAT);
    assert_non_null(strstr(err.message, "--costs"));
    assert_int_equal(gnn_profile_add_costs(p, "relaesed", shipped, &err), GNN_EUSAGE);
    must(gnn_profile_add_costs(p, "released", shipped, &err), &err);
    assert_true(p->cpu.work_ps[GNN_WORK_FRAMEWORK_EDGE] > 100000); /* several times what drawing takes here */
    gnn_profile_close(p);
}

/* In the order of hardware.csv: every machine of the papers' tables. */
static const char *const machines[] = {"gnndrive-main",        "gnndrive-multigpu",    "diskgnn-g5.48xlarge",
                                       "mariusgnn-p3.2xlarge", "mariusgnn-p3.8xlarge", "mariusgnn-p3.16xlarge",
                                       "ringsampler-main",     "agnes-main",           "agnes-distdgl-node"};
enum { MACHINES = sizeof machines / sizeof *machines };

static void test_every_machine_has_a_profile(void **state)
{
    (void)state;
    char digests[MACHINES][40];
    for (size_t i = 0; i < MACHINES; i++) {
        struct gnn_profile *p = NULL;
        struct gnn_err err = {0};
        must(gnn_profile_open(machines[i], shipped, &p, &err), &err);
        assert_string_equal(p->machine_id, machines[i]);
        assert_int_equal(strlen(p->digest), 32);
        memcpy(digests[i], p->digest, sizeof digests[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(digests[i], digests[j]);
        assert_true(p->cpu.work_ps[GNN_WORK_SAMPLED_EDGE] > 1000);
        assert_true(p->gpu.present == (strcmp(machines[i], "agnes-distdgl-node") != 0));
        /* deeper is never slower, larger never faster */
        for (uint32_t s = 0; s < p->storage.size_count; s++)
            for (uint32_t d = 0; d < p->storage.depth_count; d++) {
                assert_true(d == 0 || p->storage.read_ps[s][d] <= p->storage.read_ps[s][d - 1]);
                assert_true(s == 0 || p->storage.read_ps[s][d] >= p->storage.read_ps[s - 1][d]);
            }
        gnn_profile_close(p);
    }
}

/* The same machine with more drives: nothing else differs, so that figures over drives compare drives. */
static void test_more_drives_are_nothing_else(void **state)
{
    (void)state;
    static const char *const names[] = {"agnes-paper", "agnes-paper-2ssd", "agnes-paper-4ssd"};
    struct gnn_profile *p[3];
    struct gnn_err err = {0};
    for (int i = 0; i < 3; i++)
        must(gnn_profile_open(names[i], shipped, &p[i], &err), &err);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(p[i]->storage.devices, UINT32_C(1) << i);
        p[i]->storage.devices = 1;
        assert_memory_equal(&p[i]->storage.read_ps, &p[0]->storage.read_ps, sizeof p[0]->storage.read_ps);
        assert_memory_equal(&p[i]->cpu, &p[0]->cpu, sizeof p[0]->cpu);
        assert_memory_equal(&p[i]->gpu, &p[0]->gpu, sizeof p[0]->gpu);
        assert_int_equal(p[i]->memory_bytes, p[0]->memory_bytes);
        assert_int_equal(p[i]->process_bytes, p[0]->process_bytes);
        assert_int_equal(p[i]->storage.write_latency_ns, p[0]->storage.write_latency_ns);
        assert_int_equal(p[i]->storage.write_bytes_per_s, p[0]->storage.write_bytes_per_s);
        assert_int_equal(p[i]->storage.readahead_bytes, p[0]->storage.readahead_bytes);
        assert_int_equal(p[i]->kernel, p[0]->kernel);
    }
    for (int i = 0; i < 3; i++)
        gnn_profile_close(p[i]);
}

struct seen {
    uint32_t count;
    char last[256];
};

static void see(void *ctx, const char *path, const struct gnn_profile *profile)
{
    struct seen *seen = ctx;
    assert_true(strcmp(path, seen->last) > 0); /* in order */
    assert_non_null(strstr(path, profile->name));
    (void)snprintf(seen->last, sizeof seen->last, "%s", path);
    seen->count++;
}

static uint32_t count_files(const char *dir)
{
    uint32_t count = 0;
    DIR *open_dir = opendir(dir);
    assert_non_null(open_dir);
    for (struct dirent *entry; (entry = readdir(open_dir)) != NULL;)
        count += strstr(entry->d_name, ".ini") != NULL;
    (void)closedir(open_dir);
    return count;
}

/* The stem of a path is the profile's name. */
static void test_file_names_of_a_fitting_length(void **state)
{
    (void)state;
    static const struct {
        const char *path, *name; /* NULL: refused */
    } cases[] = {
        {"some/where/.ini", ".ini"},
        {"some/where/", NULL},
        {"toy", "toy"},
        {"a/012345678901234567890123456789012345678901234567890123456789012.ini",
         "012345678901234567890123456789012345678901234567890123456789012"},
        {"a/0123456789012345678901234567890123456789012345678901234567890123.ini", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_profile *p = NULL;
        struct gnn_err err = {0};
        assert_int_equal(gnn_profile_parse(cases[i].path, GOOD, &p, &err), cases[i].name != NULL ? GNN_OK : GNN_EUSAGE);
        if (cases[i].name != NULL)
            assert_string_equal(p->name, cases[i].name);
        else
            assert_non_null(strstr(err.message, "1 to 63 bytes"));
        gnn_profile_close(p);
    }
}

static void test_names(void **state)
{
    (void)state;
    static const char *const papers[][2] = {{"gnndrive-paper", "gnndrive-main"},
                                            {"diskgnn-paper", "diskgnn-g5.48xlarge"},
                                            {"mariusgnn-paper", "mariusgnn-p3.2xlarge"},
                                            {"ringsampler-paper", "ringsampler-main"},
                                            {"agnes-paper", "agnes-main"},
                                            {"workloads/hardware/gnndrive-paper.ini", "gnndrive-main"}};
    struct gnn_profile *p = NULL;
    struct gnn_err err = {0};
    for (size_t i = 0; i < sizeof papers / sizeof *papers; i++) {
        assert_int_equal(gnn_profile_open(papers[i][0], shipped, &p, &err), GNN_OK);
        assert_string_equal(p->machine_id, papers[i][1]);
        gnn_profile_close(p);
    }
    p = NULL;
    assert_int_equal(gnn_profile_open("gnndrive-papr", shipped, &p, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "did you mean \"gnndrive-paper\""));
    err = (struct gnn_err){0};
    assert_int_equal(gnn_profile_open("./no-such.ini", shipped, &p, &err), GNN_ENOENT);
    assert_null(p);
    struct seen seen = {0};
    assert_int_equal(gnn_profile_scan(shipped, see, &seen, &err), GNN_OK);
    assert_true(seen.count >= MACHINES);
    assert_int_equal(seen.count, count_files(shipped[0])); /* none that does not parse */
}

static void test_digest_is_of_the_bytes(void **state)
{
    (void)state;
    struct gnn_profile *a = parse("toy.ini", GOOD), *b = parse("other/name.ini", GOOD),
                       *c = parse("toy.ini", GOOD "; more\n");
    assert_string_equal(a->digest, b->digest);
    assert_string_not_equal(a->digest, c->digest);
    gnn_profile_close(a);
    gnn_profile_close(b);
    gnn_profile_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs_scale_with_the_clock),
        cmocka_unit_test(test_released_costs),
        cmocka_unit_test(test_a_gpu_has_its_own_step),
        cmocka_unit_test(test_parameters_are_changed),
        cmocka_unit_test(test_changes_that_are_none),
        cmocka_unit_test(test_assumed_parameters_are_listed),
        cmocka_unit_test(test_costs_of_a_piece_are_divided),
        cmocka_unit_test(test_released_costs_are_refused_by_name),
        cmocka_unit_test(test_every_machine_has_a_profile),
        cmocka_unit_test(test_more_drives_are_nothing_else),
        cmocka_unit_test(test_file_names_of_a_fitting_length),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_digest_is_of_the_bytes),
    };
    return cmocka_run_group_tests_name("profile_files", tests, NULL, NULL);
}

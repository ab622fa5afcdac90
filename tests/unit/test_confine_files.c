/* SPDX-License-Identifier: MIT */
/* Control groups without control groups: the kernel's texts, and machines laid out in a directory. */
#include "harness/base/group_file.h"
#include "harness/base/thread_limits.h"
#include "harness/confine/cgroup.h"
#include "harness/confine/hierarchy.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- texts ---- */

static void limits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"max\n", GNN_UNKNOWN},
        {"335544320\n", 335544320},
        {"0\n", 0},
        {"9223372036854771712\n", GNN_UNKNOWN}, /* v1: LONG_MAX in pages */
        {"", GNN_UNKNOWN},
        {"12x", GNN_UNKNOWN},
        {"-1\n", GNN_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(gnn_group_parse_limit(cases[i].text), cases[i].bytes);
}

static void flat_keys(void **state)
{
    (void)state;
    const char *stat = "anon 4096\nfile 8192\nfile_mapped 12\nworkingset_refault_file 7\npgmajfault 3\n";
    assert_int_equal(gnn_group_parse_flat(stat, "anon"), 4096);
    assert_int_equal(gnn_group_parse_flat(stat, "file"), 8192);
    assert_int_equal(gnn_group_parse_flat(stat, "pgmajfault"), 3);
    assert_int_equal(gnn_group_parse_flat(stat, "fil"), GNN_UNKNOWN);
    assert_int_equal(gnn_group_parse_flat(stat, "shmem"), GNN_UNKNOWN);
    const char *events = "low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\noom_group_kill 0\n";
    assert_int_equal(gnn_group_parse_flat(events, "oom_kill"), 1);
    assert_int_equal(gnn_group_parse_flat("oom_kill_disable 0\nunder_oom 0\noom_kill 4\n", "oom_kill"), 4);
}

static void words(void **state)
{
    (void)state;
    assert_true(gnn_group_has_word("cpuset cpu io memory pids\n", "io"));
    assert_true(gnn_group_has_word("rw,memory", "memory"));
    assert_false(gnn_group_has_word("cpuset cpu\n", "memory"));
    assert_false(gnn_group_has_word("hugememory", "memory"));
    assert_false(gnn_group_has_word("", "memory"));
}

static void io_counts(void **state)
{
    (void)state;
    const char *v1 = "254:0 Read 8192\n254:0 Write 4096\n254:0 Sync 8192\n254:0 Total 12288\n"
                     "7:0 Read 100\n7:0 Write 0\nTotal 12388\n";
    assert_int_equal(gnn_group_parse_devices(v1, "Read", ' ', 0, 0), 8292);
    assert_int_equal(gnn_group_parse_devices(v1, "Read", ' ', 254, 0), 8192);
    assert_int_equal(gnn_group_parse_devices(v1, "Write", ' ', 254, 0), 4096);
    assert_int_equal(gnn_group_parse_devices(v1, "Read", ' ', 8, 0), 0);
    assert_int_equal(gnn_group_parse_devices("Total 0\n", "Read", ' ', 0, 0), 0);
    const char *v2 = "259:0 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n"
                     "253:1 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n";
    assert_int_equal(gnn_group_parse_devices(v2, "rbytes", '=', 259, 0), 1459200);
    assert_int_equal(gnn_group_parse_devices(v2, "rios", '=', 0, 0), 193);
    assert_int_equal(gnn_group_parse_devices(v2, "wbytes", '=', 253, 1), 20);
    assert_int_equal(gnn_group_parse_devices(v2, "dbytes", '=', 0, 0), 0);
    assert_int_equal(gnn_group_parse_devices("", "rbytes", '=', 0, 0), 0);
}

static void cgroup_names(void **state)
{
    (void)state;
    assert_int_equal(gnn_cgroup_owner("oocgnn-123-0"), 123);
    assert_int_equal(gnn_cgroup_owner("oocgnn-9-17"), 9);
    assert_int_equal(gnn_cgroup_owner("oocgnn-9-leaf"), 9);
    assert_int_equal(gnn_cgroup_owner("oocgnn-123-"), 0);
    assert_int_equal(gnn_cgroup_owner("oocgnn-123"), 0);
    assert_int_equal(gnn_cgroup_owner("oocgnn--5-1"), 0);
    assert_int_equal(gnn_cgroup_owner("oocgnn-12-1x"), 0);
    assert_int_equal(gnn_cgroup_owner("docker-12-1"), 0);
}

/* ---- where the controllers are ---- */

static const char hybrid_mounts[] = "25 21 0:22 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
                                    "26 25 0:23 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
                                    "27 25 0:24 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio\n"
                                    "28 25 0:25 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
static const char hybrid_groups[] = "8:blkio:/\n4:memory:/jobs/a\n2:cpu,cpuacct:/x\n0::/\n";
static const char v2_mounts[] = "30 25 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

static void hierarchies(void **state)
{
    (void)state;
    struct gnn_hierarchy at;
    assert_true(gnn_hierarchy_find(hybrid_mounts, hybrid_groups, "memory", &at));
    assert_string_equal(at.mount, "/sys/fs/cgroup/memory");
    assert_string_equal(at.group, "/jobs/a");
    assert_true(gnn_hierarchy_find(hybrid_mounts, hybrid_groups, "blkio", &at));
    assert_string_equal(at.group, "");
    assert_true(gnn_hierarchy_find(hybrid_mounts, hybrid_groups, NULL, &at));
    assert_string_equal(at.mount, "/sys/fs/cgroup/unified");
    assert_false(gnn_hierarchy_find(hybrid_mounts, hybrid_groups, "cpuacct", &at)); /* not mounted */
    assert_false(gnn_hierarchy_find(v2_mounts, "0::/a\n", "memory", &at));
    /* A container that sees its own subtree mounted. */
    const char *bound = "26 25 0:23 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
    assert_true(gnn_hierarchy_find(bound, "4:memory:/docker/ab/in\n", "memory", &at));
    assert_string_equal(at.group, "/in");
    assert_true(gnn_hierarchy_find(bound, "4:memory:/docker/ab\n", "memory", &at));
    assert_string_equal(at.group, "");
    assert_true(gnn_hierarchy_find(bound, "4:memory:/docker/abc\n", "memory", &at));
    assert_string_equal(at.group, "");
}

/* A machine in a temporary directory. */
struct machine {
    char root[64];
};

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int build(void **state)
{
    struct machine *machine = calloc(1, sizeof *machine);
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(machine->root, sizeof machine->root, "%.40s/oocgnn-cg-XXXXXX", tmp == NULL ? "/tmp" : tmp);
    *state = machine;
    return mkdtemp(machine->root) == NULL;
}

static int demolish(void **state)
{
    struct machine *machine = *state;
    (void)nftw(machine->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(machine);
    return 0;
}

/* Writes root/path, making the directories on the way. */
static void put(const struct machine *machine, const char *path, const char *text)
{
    char full[512];
    (void)snprintf(full, sizeof full, "%s/%s", machine->root, path);
    for (char *slash = strchr(full + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void put_group(const struct machine *machine, const char *group, const char *controllers, const char *subtree,
                      const char *procs, const char *memory_max)
{
    static const char *const names[] = {"cgroup.controllers", "cgroup.subtree_control", "cgroup.procs", "memory.max",
                                        "cgroup.type"};
    const char *const texts[] = {controllers, subtree, procs, memory_max, "domain\n"};
    for (size_t i = 0; i < 5; i++) {
        char path[256];
        (void)snprintf(path, sizeof path, "sys/fs/cgroup%s/%s", group, names[i]);
        if (texts[i] != NULL)
            put(machine, path, texts[i]);
    }
}

static void put_v2(const struct machine *machine, const char *self)
{
    put(machine, "proc/self/mountinfo", v2_mounts);
    put(machine, "proc/self/cgroup", self);
    put_group(machine, "", "cpu io memory\n", "cpu io memory\n", "1\n", NULL);
}

static struct gnn_confine detect(const struct machine *machine, long pid)
{
    struct gnn_confine confine;
    struct gnn_err err = {0};
    assert_int_equal(gnn_confine_detect_at(machine->root, pid, &confine, &err), GNN_OK);
    return confine;
}

static void assert_parent(const struct machine *machine, const struct gnn_confine *confine, const char *group)
{
    char dir[512];
    (void)snprintf(dir, sizeof dir, "%s/sys/fs/cgroup%s", machine->root, group);
    assert_true(confine->memory_usable);
    assert_string_equal(confine->memory_parent, dir);
}

static void delegated_scope_alone(void **state)
{
    const struct machine *machine = *state;
    put_v2(machine, "0::/user/run.scope\n");
    put_group(machine, "/user", "io memory\n", "io memory\n", "", "max\n");
    put_group(machine, "/user/run.scope", "io memory\n", "", "77\n", "1073741824\n");
    const struct gnn_confine confine = detect(machine, 77);
    assert_int_equal(confine.memory, GNN_CGROUP_V2);
    assert_int_equal(confine.io, GNN_CGROUP_V2);
    assert_parent(machine, &confine, "/user/run.scope");
    assert_true(confine.needs_leaf);
    assert_true(confine.io_usable);
    assert_int_equal(confine.ancestor_limit_bytes, 1073741824);
    assert_true(gnn_confine_effective_bytes(&confine) <= 1073741824);
    assert_string_equal(confine.remedy, "");
}

/* A shell shares the group: the cgroup goes beside it, since the group limits nothing. */
static void shared_group_climbs(void **state)
{
    const struct machine *machine = *state;
    put_v2(machine, "0::/user/term.scope\n");
    put_group(machine, "/user", "io memory\n", "memory\n", "", "max\n");
    put_group(machine, "/user/term.scope", "io memory\n", "", "70\n77\n", "max\n");
    const struct gnn_confine confine = detect(machine, 77);
    assert_parent(machine, &confine, "/user");
    assert_false(confine.needs_leaf);
}

/* … but never out of a group that limits something. */
static void limited_group_is_not_escaped(void **state)
{
    const struct machine *machine = *state;
    put_v2(machine, "0::/user/term.scope\n");
    put_group(machine, "/user", "io memory\n", "memory\n", "", "max\n");
    put_group(machine, "/user/term.scope", "io memory\n", "", "70\n77\n", "1073741824\n");
    const struct gnn_confine confine = detect(machine, 77);
    assert_false(confine.memory_usable);
    assert_non_null(strstr(confine.remedy, "systemd-run --scope --user -p Delegate=yes"));
    struct gnn_cgroup *cgroup;
    struct gnn_err err = {0};
    const struct gnn_cgroup_config config = {.memory_bytes = 64 << 20};
    assert_int_equal(gnn_cgroup_create(&confine, &config, &cgroup, &err), GNN_EPERM);
    assert_non_null(strstr(err.message, "systemd-run"));
    assert_null(cgroup);
}

static void no_memory_controller(void **state)
{
    const struct machine *machine = *state;
    put(machine, "proc/self/mountinfo", "1 1 0:1 / /sys rw - sysfs sysfs rw\n");
    put(machine, "proc/self/cgroup", "0::/\n");
    const struct gnn_confine confine = detect(machine, 5);
    assert_int_equal(confine.memory, GNN_CGROUP_NONE);
    assert_false(confine.memory_usable);
    struct gnn_cgroup *cgroup;
    struct gnn_err err = {0};
    const struct gnn_cgroup_config config = {.memory_bytes = 64 << 20};
    assert_int_equal(gnn_cgroup_create(&confine, &config, &cgroup, &err), GNN_ENOTSUP);
}

/* The smallest limit counts, wherever it is set, with the count of the group that has it. */
static void limits_of_processes_are_found(void **state)
{
    const struct machine *machine = *state;
    put_v2(machine, "0::/user/run.scope\n");
    put_group(machine, "/user", "io memory\n", "io memory\n", "", "max\n");
    put_group(machine, "/user/run.scope", "io memory\n", "", "77\n", "max\n");
    struct gnn_confine confine = detect(machine, 77);
    assert_int_equal(confine.pids_limit, GNN_UNKNOWN);
    assert_int_equal(confine.pids_used, GNN_UNKNOWN);
    put(machine, "sys/fs/cgroup/user/pids.max", "12\n");
    put(machine, "sys/fs/cgroup/user/pids.current", "9\n");
    put(machine, "sys/fs/cgroup/user/run.scope/pids.max", "max\n");
    confine = detect(machine, 77);
    assert_int_equal(confine.pids_limit, 12);
    assert_int_equal(confine.pids_used, 9);
    put(machine, "sys/fs/cgroup/user/run.scope/pids.max", "11\n");
    put(machine, "sys/fs/cgroup/user/run.scope/pids.current", "3\n");
    confine = detect(machine, 77);
    assert_int_equal(confine.pids_limit, 11);
    assert_int_equal(confine.pids_used, 3);
}

/* What one more thread would meet, of a machine where `pids` limits this process. */
static void read_thread_limits(const struct machine *machine, const char *used, struct gnn_thread_limits *out)
{
    put_v2(machine, "0::/user/run.scope\n");
    put(machine, "sys/fs/cgroup/user/pids.max", "16\n");
    put(machine, "sys/fs/cgroup/user/pids.current", used);
    put(machine, "proc/self/status", "Name:\ttest\nVmPeak:\t 9000 kB\nVmSize:\t 2048 kB\nThreads:\t3\n");
    gnn_thread_limits_read(machine->root, 4096, out);
    assert_int_equal(out->address_used_bytes, 2 << 20);
    assert_int_equal(out->stack_bytes, 4096);
}

/* The limit that was reached is named with its value; threads that ended since leave a margin of 1/8. */
static void a_refused_thread_names_its_limit(void **state)
{
    const struct machine *machine = *state;
    struct gnn_thread_limits limits;
    char why[512];
    read_thread_limits(machine, "14\n", &limits);
    gnn_thread_limits_explain(&limits, why, sizeof why);
    assert_non_null(strstr(why, "/sys/fs/cgroup/user is 16 processes and threads, and 14 are in use"));
    assert_non_null(strstr(why, "pids.max"));
    read_thread_limits(machine, "13\n", &limits);
    gnn_thread_limits_explain(&limits, why, sizeof why);
    assert_non_null(strstr(why, "no limit of this process was reached"));
    assert_non_null(strstr(why, "kernel.threads-max"));
    limits.user_limit = 80;
    limits.user_used = 70;
    gnn_thread_limits_explain(&limits, why, sizeof why);
    assert_non_null(strstr(why, "the limit of this user is 80 processes and threads (ulimit -u), and 70 are in use"));
    limits.address_limit_bytes = limits.address_used_bytes + limits.stack_bytes;
    gnn_thread_limits_explain(&limits, why, sizeof why);
    assert_non_null(strstr(why, "ulimit -u"));
    limits.address_limit_bytes--;
    gnn_thread_limits_explain(&limits, why, sizeof why);
    assert_non_null(strstr(why, "2.00 MiB are in use, and the stack of a thread takes 4.00 KiB; "));
    assert_non_null(strstr(why, "raise ulimit -v"));
}

/* Every visible process of this user counts with its threads; those of others and what is no process do not. */
static void threads_of_this_user_are_counted(void **state)
{
    const struct machine *machine = *state;
    struct gnn_thread_limits limits;
    struct rlimit before, narrow;
    char text[128];
    assert_int_equal(getrlimit(RLIMIT_NPROC, &before), 0);
    narrow = before;
    narrow.rlim_cur = before.rlim_max < 4000 ? before.rlim_max : 4000;
    for (uint32_t i = 0; i < 3; i++) {
        char path[64];
        const unsigned uid = getuid() + (i == 2 ? 1 : 0);
        (void)snprintf(path, sizeof path, "proc/%u/status", 100 + i);
        (void)snprintf(text, sizeof text, "Name:\ta\nUid:\t%u\t0\t0\t0\nThreads:\t%u\n", uid, 5 + i);
        put(machine, path, text);
    }
    put(machine, "proc/fs/status", text);
    assert_int_equal(setrlimit(RLIMIT_NPROC, &narrow), 0);
    read_thread_limits(machine, "1\n", &limits);
    assert_int_equal(setrlimit(RLIMIT_NPROC, &before), 0);
    assert_int_equal(limits.user_limit, narrow.rlim_cur);
    assert_int_equal(limits.user_used, 11);
}

/* An errno that no limit causes stays what it is. */
static void other_errors_of_a_thread_are_memory(void **state)
{
    (void)state;
    struct gnn_err err = {0};
    assert_int_equal(gnn_fail_thread(&err, "worker 2", ENOMEM, 0), GNN_ENOMEM);
    assert_string_equal(err.message, "out of memory: cannot start worker 2: Cannot allocate memory");
    err = (struct gnn_err){0};
    assert_int_equal(gnn_fail_thread(&err, "thread sample", EAGAIN, gnn_thread_stack_bytes()), GNN_ETHREADS);
    assert_ptr_equal(strstr(err.message, "cannot start thread sample: Resource temporarily unavailable: "),
                     err.message);
    assert_true(gnn_thread_stack_bytes() >= 16384);
}

/* memory.high keeps the page cache as small as memory.max does. */
static void the_tightest_memory_limit_is_inherited(void **state)
{
    const struct machine *machine = *state;
    put_v2(machine, "0::/user/run.scope\n");
    put_group(machine, "/user", "io memory\n", "io memory\n", "", "1073741824\n");
    put_group(machine, "/user/run.scope", "io memory\n", "", "77\n", "max\n");
    assert_int_equal(detect(machine, 77).ancestor_limit_bytes, 1 << 30);
    put(machine, "sys/fs/cgroup/user/run.scope/memory.high", "536870912\n");
    assert_int_equal(detect(machine, 77).ancestor_limit_bytes, 1 << 29);
    put(machine, "sys/fs/cgroup/user/memory.max", "268435456\n");
    assert_int_equal(detect(machine, 77).ancestor_limit_bytes, 1 << 28);
}

static void hybrid_prefers_v1(void **state)
{
    const struct machine *machine = *state;
    put(machine, "proc/self/mountinfo", hybrid_mounts);
    put(machine, "proc/self/cgroup", hybrid_groups);
    put(machine, "sys/fs/cgroup/unified/cgroup.controllers", "\n");
    put(machine, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put(machine, "sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "536870912\n");
    put(machine, "sys/fs/cgroup/memory/jobs/a/memory.limit_in_bytes", "1073741824\n");
    put(machine, "sys/fs/cgroup/blkio/cgroup.procs", "");
    const struct gnn_confine confine = detect(machine, 5);
    assert_true(confine.hybrid);
    assert_int_equal(confine.memory, GNN_CGROUP_V1);
    assert_int_equal(confine.io, GNN_CGROUP_V1);
    assert_true(confine.memory_usable && confine.io_usable);
    assert_int_equal(confine.ancestor_limit_bytes, 536870912);
    struct gnn_cgroup *cgroup;
    struct gnn_err err = {0};
    const struct gnn_cgroup_config config = {.memory_bytes = UINT64_C(1) << 30};
    assert_int_equal(gnn_cgroup_create(&confine, &config, &cgroup, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "536870912"));
}

static void read_text(const char *dir, const char *name, char *text, size_t bytes)
{
    assert_int_equal(gnn_group_file_read(dir, name, text, bytes), 0);
}

/* The v2 half step by step, on a directory whose files the kernel would have made. */
static void v2_limits_and_readings(void **state)
{
    const struct machine *machine = *state;
    put_v2(machine, "0::/user/run.scope\n");
    put_group(machine, "/user/run.scope", "io memory\n", "io memory\n", "", "max\n");
    struct gnn_cgroup cgroup = {.confine = detect(machine, 77), .memory_lock_fd = -1, .io_lock_fd = -1};
    cgroup.config = (struct gnn_cgroup_config){.memory_bytes = 335544320, .throttle = {254, 1, 1000000, 500}};
    (void)snprintf(cgroup.name, sizeof cgroup.name, "oocgnn-1-0");
    struct gnn_err err = {0};
    assert_int_equal(gnn_cgroup_v2_prepare_parent(&cgroup, &err), GNN_OK);
    assert_int_equal(gnn_cgroup_v2_make_dir(&cgroup, &err), GNN_OK);
    static const char group[] = "sys/fs/cgroup/user/run.scope/oocgnn-1-0";
    static const char *const files[][2] = {
        {"memory.max", "max\n"},
        {"memory.swap.max", "max\n"},
        {"io.max", ""},
        {"memory.current", "1000\n"},
        {"memory.events", "oom 1\noom_kill 2\n"},
        {"memory.stat", "anon 1\nfile 2\nshmem 3\nworkingset_refault_file 4\npgmajfault 5\n"},
        {"io.stat", "254:1 rbytes=10 wbytes=20 rios=1 wios=2\n254:9 rbytes=99 wbytes=99 rios=99 wios=99\n"},
        {"io.pressure",
         "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[256];
        (void)snprintf(path, sizeof path, "%s/%s", group, files[i][0]);
        put(machine, path, files[i][1]);
    }
    assert_int_equal(gnn_cgroup_v2_set_limits(&cgroup, &err), GNN_OK);
    char text[128];
    read_text(cgroup.memory_dir, "io.max", text, sizeof text);
    assert_string_equal(text, "254:1 rbps=1000000 wbps=1000000 riops=500 wiops=500");
    struct gnn_group_reading reading;
    gnn_group_reading_unknown(&reading);
    gnn_cgroup_v2.read_memory(&cgroup, &reading);
    assert_int_equal(reading.limit_bytes, 335544320);
    assert_int_equal(reading.current_bytes, 1000);
    assert_int_equal(reading.peak_bytes, GNN_UNKNOWN); /* no memory.peak: an older kernel */
    assert_int_equal(reading.oom_kills, 2);
    assert_int_equal(reading.anon_bytes, 1);
    assert_int_equal(reading.file_bytes, 2);
    assert_int_equal(reading.refaults, 4);
    assert_int_equal(reading.read_bytes, 10);
    assert_int_equal(reading.write_ios, 2);
    assert_int_equal(reading.psi_io.full_us, 7);
    assert_int_equal(reading.psi_memory.some_us, GNN_UNKNOWN);
}

static void config_is_checked(void **state)
{
    (void)state;
    const struct gnn_confine confine = {.memory = GNN_CGROUP_V2,
                                        .memory_usable = true,
                                        .memory_parent = "/nonexistent",
                                        .ancestor_limit_bytes = GNN_UNKNOWN};
    static const struct {
        struct gnn_cgroup_config config;
        enum gnn_status status;
        const char *says;
    } cases[] = {
        {{.memory_bytes = 320}, GNN_EUSAGE, "320"},
        {{.memory_bytes = 1 << 26, .throttle = {.bps = 1}}, GNN_ENOTSUP, "block device"},
        {{.memory_bytes = 1 << 26, .throttle = {8, 0, 1, 0}}, GNN_ENOTSUP, "--device-bps"},
        {{.memory_bytes = 1 << 26}, GNN_ENOTSUP, "/nonexistent"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gnn_cgroup *cgroup;
        struct gnn_err err = {0};
        assert_int_equal(gnn_cgroup_create(&confine, &cases[i].config, &cgroup, &err), cases[i].status);
        assert_non_null(strstr(err.message, cases[i].says));
    }
    gnn_cgroup_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits),
        cmocka_unit_test(flat_keys),
        cmocka_unit_test(words),
        cmocka_unit_test(io_counts),
        cmocka_unit_test(cgroup_names),
        cmocka_unit_test(hierarchies),
        cmocka_unit_test_setup_teardown(delegated_scope_alone, build, demolish),
        cmocka_unit_test_setup_teardown(shared_group_climbs, build, demolish),
        cmocka_unit_test_setup_teardown(limited_group_is_not_escaped, build, demolish),
        cmocka_unit_test_setup_teardown(no_memory_controller, build, demolish),
        cmocka_unit_test_setup_teardown(limits_of_processes_are_found, build, demolish),
        cmocka_unit_test_setup_teardown(the_tightest_memory_limit_is_inherited, build, demolish),
        cmocka_unit_test_setup_teardown(a_refused_thread_names_its_limit, build, demolish),
        cmocka_unit_test_setup_teardown(threads_of_this_user_are_counted, build, demolish),
        cmocka_unit_test(other_errors_of_a_thread_are_memory),
        cmocka_unit_test_setup_teardown(hybrid_prefers_v1, build, demolish),
        cmocka_unit_test_setup_teardown(v2_limits_and_readings, build, demolish),
        cmocka_unit_test(config_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
